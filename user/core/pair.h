/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which QPs talk to each other, and whether both ends have the same class. What a
 * requester sends goes in its own QP's class, and what answers it (acknowledgements,
 * the data of reads) in the class of the other one: a class that is raised at one end
 * only helps in one direction.
 *
 * A QP knows its peer by address and number. Whose the address is the host's own
 * ports say; a peer that is elsewhere cannot be seen from here.
 */
#ifndef SRDMA_CORE_PAIR_H
#define SRDMA_CORE_PAIR_H

#include "core/snapshot.h"

/* How a port of this host can be reached: by a GID, or by LIDs. */
struct pair_addr {
	uint32_t dev, port;
	uint32_t lid, n_lids;	/* .n_lids 0: a GID */
	uint8_t gid[16];
};

enum pair_verdict {
	PAIR_ALIKE,
	PAIR_DIFFER,
	/* What the peer has is unknown: */
	PAIR_AWAY,	/* its address is none of this host's */
	PAIR_HIDDEN,	/* no such QP is seen there: another user's, or not by verbs */
	PAIR_LOOSE,	/* the QP there is not connected to this one */
	PAIR_NOWHERE,	/* it is not told where the peer is */
	PAIR_VERDICTS
};

#define PAIR_NONE	SIZE_MAX

struct pair {
	size_t qp, peer;	/* rows of the snapshot; .peer PAIR_NONE: unknown */
	enum pair_verdict verdict;
};

/* Each connected QP is in one of them, the end that is forced to a level first. */
struct pairs {
	struct pair *pair;
	size_t n, cap;
};

/**
 * pair_find - find who talks to whom
 * @p: zeroed, or of an earlier call
 * @snap: with devices, ports and all QPs
 * @addrs: of this host
 * @n: how many
 *
 * 0 or -ENOMEM.
 */
int pair_find(struct pairs *p, const struct snapshot *snap,
	      const struct pair_addr *addrs, size_t n);
void pair_free(struct pairs *p);

/* The one that QP @row is in, NULL: it is not connected. */
const struct pair *pair_of(const struct pairs *p, size_t row);

/* On InfiniBand the class is the service level, on Ethernet the DSCP. */
bool pair_by_sl(const struct snapshot *snap, const struct snap_qp *qp);

#endif /* SRDMA_CORE_PAIR_H */
