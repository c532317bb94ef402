/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The handle, and the way a request goes: what the files of io share. */
#ifndef SRDMA_IO_CONN_H
#define SRDMA_IO_CONN_H

#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "io/answer.h"

/* Readings that a delta may be asked on top of: an agent turns two over. */
#define SRDMA_KNOWN	4

struct srdma_known {
	const struct snapshot *snap;
	uint64_t generation;
	uint32_t epoch;
	size_t owners;		/* right after the last full dump */
};

struct io {
	struct nl_sock *sk;
	int family;
	uint32_t epoch;		/* counts the modules seen: reloads */
	uint32_t seq;
	unsigned char *buf;
	char err[768];

	struct srdma_known known[SRDMA_KNOWN];
	unsigned int next_known;
	struct snap_qp *delta;
	size_t n_delta, cap_delta;

	/* Where answers go of which only the lease, or nothing, is wanted. */
	struct snapshot scratch;
	struct srdma_owners owners;

	struct nl_sock *events;
	unsigned char *event_buf;
	struct snapshot event_snap;
	struct srdma_owners event_owners;
	struct snap_action *event_actions;
	size_t cap_event_actions;
};

#define SRDMA_BUF	(256 * 1024)
/* What a request may take: a full batch, with reasons and decisions. */
#define SRDMA_SEND	(512 * 1024)

/* Note an error in words and return it. */
int srdma_fail(struct io *io, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A request with room for @size bytes of attributes; NULL: out of memory. */
struct nl_msg *srdma_request(struct io *io, int cmd, bool dump, size_t size);

/**
 * srdma_exchange - send a request and take in the whole answer
 * @io: the connection
 * @msg: the request
 * @r: what is read goes there
 * @again: called before an interrupted dump is asked for anew, to drop what
 *	was read; NULL: not a dump
 *
 * 0; -errno, explained; 1: the module was loaded anew since the last request,
 * @msg went nowhere and what the caller knew of the old one is void.
 */
int srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		   void (*again)(struct srdma_reading *r));

/* The same for what does not depend on the module's past. Frees @msg. */
int srdma_call(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
	       void (*again)(struct srdma_reading *r));

/* A reading that goes to the scratch snapshot, emptied. */
int srdma_reading_scratch(struct io *io, struct srdma_reading *r);

/* Look the family up; a new one starts a new epoch. -ENOENT: no module. */
int srdma_resolve(struct io *io);

/* What to do about a module that is not there. */
extern const char srdma_not_loaded[];

/* One datagram of the kernel's into @buf; bytes or -errno. */
ssize_t srdma_recv(struct nl_sock *sk, void *buf, size_t cap, int flags);

void srdma_events_close(struct io *io);

#endif /* SRDMA_IO_CONN_H */
