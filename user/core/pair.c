// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* As in enum ib_qp_state and enum rdma_link_layer. */
#define STATE_RTR	2
#define STATE_SQE	5
#define LINK_IB		1

/* The low two bits of the traffic class are ECN, which may differ. */
static uint32_t dscp_of(const struct snap_qp *qp)
{
	return qp->tclass >> 2;
}

bool pair_by_sl(const struct snapshot *snap, const struct snap_qp *qp)
{
	for (size_t i = 0; i < snap->n_ports; i++)
		if (snap->ports[i].dev == qp->dev &&
		    snap->ports[i].index == qp->port)
			return snap->ports[i].link_layer == LINK_IB;
	return false;
}

static bool is_connected(const struct snap_qp *qp)
{
	return snap_has(qp, SNAP_DEST) && snap_has(qp, SNAP_CLASS) &&
	       snap_has(qp, SNAP_STATE) && qp->state >= STATE_RTR &&
	       qp->state <= STATE_SQE;
}

static bool has_gid(const struct snap_qp *qp)
{
	static const uint8_t none[sizeof(qp->dgid)];

	return memcmp(qp->dgid, none, sizeof(none)) != 0;
}

/* True: the QP sends to address @a. */
static bool leads_to(const struct snap_qp *qp, const struct pair_addr *a)
{
	if (has_gid(qp))
		return !a->n_lids && !memcmp(a->gid, qp->dgid, sizeof(a->gid));
	return qp->dlid && qp->dlid >= a->lid && qp->dlid - a->lid < a->n_lids;
}

/* If a number was used again, the QP of the greatest serial is the live one. */
static size_t find_live_qp(const struct snapshot *snap, uint32_t dev, uint32_t qpn)
{
	const struct snap_qp key = { .dev = dev, .qpn = qpn }, *qps = snap->qps;
	size_t end = array_find(snap->n_qps, i, ARRAY_CMP_2(&qps[i], &key, dev, qpn) <= 0);

	return end && !ARRAY_CMP_2(&qps[end - 1], &key, dev, qpn) ? end - 1 : PAIR_NONE;
}

/* True: the peer is connected to @qp, by one of the addresses of this host. */
static bool leads_back(const struct snap_qp *peer, const struct snap_qp *qp,
		       const struct pair_addr *addrs, size_t n)
{
	if (!is_connected(peer) || peer->dest_qpn != qp->qpn)
		return false;
	for (size_t i = 0; i < n; i++)
		if (addrs[i].dev == qp->dev && leads_to(peer, &addrs[i]))
			return true;
	return false;
}

/* Finds the peer of the QP in row @row, and compares their classes. */
static struct pair find_peer(const struct snapshot *snap, size_t row,
			     const struct pair_addr *addrs, size_t n)
{
	const struct snap_qp *qp = &snap->qps[row], *peer;
	struct pair p = { row, PAIR_NONE, PAIR_AWAY };

	if (!has_gid(qp) && !qp->dlid)
		p.verdict = PAIR_NOWHERE;
	/* Two devices may have the same address, for example in network namespaces. */
	for (size_t i = 0; i < n; i++) {
		size_t at;

		if (!leads_to(qp, &addrs[i]))
			continue;
		at = find_live_qp(snap, addrs[i].dev, qp->dest_qpn);
		if (at == PAIR_NONE) {
			if (p.verdict == PAIR_AWAY)
				p.verdict = PAIR_HIDDEN;
			continue;
		}
		peer = &snap->qps[at];
		if (!leads_back(peer, qp, addrs, n)) {
			p.verdict = PAIR_LOOSE;
			continue;
		}
		p.peer = at;
		if (pair_by_sl(snap, qp) ? qp->sl == peer->sl : dscp_of(qp) == dscp_of(peer))
			p.verdict = PAIR_ALIKE;
		else
			p.verdict = PAIR_DIFFER;
		break;
	}
	return p;
}

static int add_pair(struct pairs *p, const struct snapshot *snap, struct pair one)
{
	if (one.peer != PAIR_NONE && !snap_has(&snap->qps[one.qp], SNAP_LEVEL) &&
	    snap_has(&snap->qps[one.peer], SNAP_LEVEL))
		array_swap(one.qp, one.peer);
	if (!array_reserve(&p->pair, &p->cap, p->n + 1, sizeof(one)))
		return -ENOMEM;
	p->pair[p->n++] = one;
	return 0;
}

int pair_find(struct pairs *p, const struct snapshot *snap,
	      const struct pair_addr *addrs, size_t n)
{
	p->n = 0;
	for (size_t i = 0; i < snap->n_qps; i++) {
		struct pair one;

		if (!is_connected(&snap->qps[i]))
			continue;
		one = find_peer(snap, i, addrs, n);
		/* Two ends that found each other make one pair, which the first end adds. */
		if (one.peer != PAIR_NONE && one.peer < i)
			continue;
		if (add_pair(p, snap, one))
			return -ENOMEM;
	}
	return 0;
}

void pair_free(struct pairs *p)
{
	free(p->pair);
	memset(p, 0, sizeof(*p));
}

const struct pair *pair_of(const struct pairs *p, size_t row)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->pair[i].qp == row || p->pair[i].peer == row)
			return &p->pair[i];
	return NULL;
}
