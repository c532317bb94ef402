/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Finds the two QPs of each connection, and whether both have the same class. A requester
 * sends in the class of its own QP; responses (acknowledgements, read data) use the class
 * of the peer's QP. So raising one end helps one direction only.
 *
 * A QP has the address and number of its peer. Addresses are looked up among the ports of
 * this host; the class of a peer on another host is unknown.
 */
#ifndef SRDMA_CORE_PAIR_H
#define SRDMA_CORE_PAIR_H

#include "core/snapshot.h"

/* An address of a port of this host: a GID or a range of LIDs. */
struct pair_addr {
	uint32_t dev, port;
	uint32_t lid, n_lids;	/* .n_lids 0: a GID */
	uint8_t gid[16];
};

enum pair_verdict {
	PAIR_ALIKE,
	PAIR_DIFFER,
	/* The class of the peer is unknown: */
	PAIR_AWAY,	/* the peer is on another host */
	PAIR_HIDDEN,	/* the peer is on this host and not visible, such as another user's */
	PAIR_LOOSE,	/* the peer's QP is not connected to this one */
	PAIR_NOWHERE,	/* the address of the peer is unknown */
	PAIR_VERDICTS
};

#define PAIR_NONE	SIZE_MAX

struct pair {
	size_t qp, peer;	/* rows of the snapshot; .peer PAIR_NONE: unknown */
	enum pair_verdict verdict;
};

/* Each connected QP is in one pair. A QP that is forced to a level comes first. */
struct pairs {
	struct pair *pair;
	size_t n, cap;
};

/**
 * pair_find - find the two QPs of each connection
 * @p: the pairs; zeroed, or of an earlier call
 * @snap: a reading of devices, ports and all QPs
 * @addrs: the addresses of this host
 * @n: number of addresses
 *
 * 0 or -ENOMEM.
 */
int pair_find(struct pairs *p, const struct snapshot *snap,
	      const struct pair_addr *addrs, size_t n);
void pair_free(struct pairs *p);

/* The pair of the QP in row @row; NULL: the QP is not connected. */
const struct pair *pair_of(const struct pairs *p, size_t row);

/* True: the class of the QP is its service level (InfiniBand), not its DSCP (Ethernet). */
bool pair_by_sl(const struct snapshot *snap, const struct snap_qp *qp);

#endif /* SRDMA_CORE_PAIR_H */
