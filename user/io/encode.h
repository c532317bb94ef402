/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Plain structures in, netlink attributes out: the inverse of parse.h, by the same
 * tables. Requests are made with it, and the messages that a kernel would have sent
 * for a snapshot that no kernel made. Pure.
 */
#ifndef SRDMA_IO_ENCODE_H
#define SRDMA_IO_ENCODE_H

#include <netlink/msg.h>

#include "core/snapshot.h"
#include "io/attr.h"

/* Bytes that grow: netlink messages, one after the other, each aligned. */
struct srdma_bytes {
	unsigned char *p;
	size_t len, cap;
};

/* Appends whole messages, @len bytes, and aligns the end. 0 or -ENOMEM. */
int srdma_bytes_add(struct srdma_bytes *to, const void *p, size_t len);

/**
 * srdma_put - write the attributes of one object, but for its nests
 * @msg: the message
 * @set: the object's table
 * @obj: the object
 * @asked: attributes (1 << type) that @given decides about
 * @given: those of them that are written
 *
 * Of the others an attribute is written if the set requires it, if the object has its
 * bit in .has, or, where the attribute has no such bit, if its value is not zero: zero
 * is what a reader finds where nothing was written. 0 or a libnl error.
 */
int srdma_put(struct nl_msg *msg, const struct srdma_set *set, const void *obj,
	      uint64_t asked, uint64_t given);

/* Nests of type @type that both requests and answers have. 0 or a libnl error. */
int srdma_put_rule(struct nl_msg *msg, int type, const struct snap_rule *rule);
int srdma_put_decision(struct nl_msg *msg, const struct snap_decision *d);

/* Objects of answers and events, as attributes of a message. 0 or a libnl error. */
int srdma_put_dev(struct nl_msg *msg, const struct snap_dev *dev);
int srdma_put_uar(struct nl_msg *msg, const struct snap_uar *uar,
		  const struct snap_owner *owner);
int srdma_put_qp(struct nl_msg *msg, const struct snap_qp *qp,
		 const struct snap_owner *owner);
int srdma_put_action(struct nl_msg *msg, const struct snap_action *a, uint32_t index);
int srdma_put_lease(struct nl_msg *msg, int type, const struct srdma_lease *lease);

/**
 * srdma_encode - write the requests and answers of a reading that gives @s
 * @to: the messages are appended
 * @s: the snapshot
 * @was: the snapshot that the reader has: a QP is written only if it differs from the QP in
 *	@was in more than the time at which it was read; NULL: all QPs are written
 *
 * If @s lacks a QP of @was, all QPs are written, as in a live reading. 0 or -ENOMEM.
 */
int srdma_encode(struct srdma_bytes *to, const struct snapshot *s,
		 const struct snapshot *was);

#endif /* SRDMA_IO_ENCODE_H */
