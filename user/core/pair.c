// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As in enum ib_qp_state and enum rdma_link_layer. */
#define STATE_RTR	2
#define STATE_SQE	5
#define LINK_IB		1

/* What both ends have of it is what each set; its low bits are ECN. */
static uint32_t dscp(const struct snap_qp *qp)
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

static bool connected(const struct snap_qp *qp)
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

/* Is that where this QP sends to? */
static bool leads_to(const struct snap_qp *qp, const struct pair_addr *a)
{
	if (has_gid(qp))
		return !a->n_lids && !memcmp(a->gid, qp->dgid, sizeof(a->gid));
	return qp->dlid && qp->dlid >= a->lid && qp->dlid - a->lid < a->n_lids;
}

/* Of two with that number the later one, which is the one alive. */
static size_t find_qp(const struct snapshot *snap, uint32_t dev, uint32_t qpn)
{
	size_t lo = 0, hi = snap->n_qps;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct snap_qp *qp = &snap->qps[mid];

		if (qp->dev < dev || (qp->dev == dev && qp->qpn <= qpn))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || snap->qps[lo - 1].dev != dev || snap->qps[lo - 1].qpn != qpn)
		return PAIR_NONE;
	return lo - 1;
}

static bool leads_back(const struct snap_qp *peer, const struct snap_qp *qp,
		       const struct pair_addr *addrs, size_t n)
{
	if (!connected(peer) || peer->dest_qpn != qp->qpn)
		return false;
	for (size_t i = 0; i < n; i++)
		if (addrs[i].dev == qp->dev && leads_to(peer, &addrs[i]))
			return true;
	return false;
}

static struct pair look(const struct snapshot *snap, size_t row,
			const struct pair_addr *addrs, size_t n)
{
	const struct snap_qp *qp = &snap->qps[row], *peer;
	struct pair p = { row, PAIR_NONE, PAIR_AWAY };

	if (!has_gid(qp) && !qp->dlid)
		p.verdict = PAIR_NOWHERE;
	/* Two devices may have the same address, in namespaces for instance. */
	for (size_t i = 0; i < n; i++) {
		size_t at;

		if (!leads_to(qp, &addrs[i]))
			continue;
		at = find_qp(snap, addrs[i].dev, qp->dest_qpn);
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
		if (pair_by_sl(snap, qp))
			p.verdict = qp->sl == peer->sl ? PAIR_ALIKE
						       : PAIR_DIFFER;
		else
			p.verdict = dscp(qp) == dscp(peer) ? PAIR_ALIKE
							   : PAIR_DIFFER;
		break;
	}
	return p;
}

static int add(struct pairs *p, const struct snapshot *snap, struct pair one)
{
	if (one.peer != PAIR_NONE && !snap_has(&snap->qps[one.qp], SNAP_LEVEL) &&
	    snap_has(&snap->qps[one.peer], SNAP_LEVEL)) {
		size_t tmp = one.qp;

		one.qp = one.peer;
		one.peer = tmp;
	}
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		struct pair *more = realloc(p->pair, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->pair = more;
		p->cap = cap;
	}
	p->pair[p->n++] = one;
	return 0;
}

int pair_find(struct pairs *p, const struct snapshot *snap,
	      const struct pair_addr *addrs, size_t n)
{
	p->n = 0;
	for (size_t i = 0; i < snap->n_qps; i++) {
		struct pair one;

		if (!connected(&snap->qps[i]))
			continue;
		one = look(snap, i, addrs, n);
		/* Of two ends that found each other the first one tells. */
		if (one.peer != PAIR_NONE && one.peer < i)
			continue;
		if (add(p, snap, one))
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
