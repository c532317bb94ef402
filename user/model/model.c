// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The NIC contention model: see model.h for what it is and growth.h for the
 * table. In the order of a work request's way: doorbell register, processing
 * unit with the cache, port, pipe; then what drives them and the interface.
 */
#include "model/model.h"
#include "model/growth.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>

static inline uint64_t div64_u64_rem(uint64_t a, uint64_t b, uint64_t *rem)
{
	*rem = a % b;
	return a / b;
}

static inline uint64_t div_u64(uint64_t a, uint32_t b)
{
	return a / b;
}
#endif

/* Sources of events: the UARs, then the units, the elements, and these two. */
#define SRC_PU(m)	((m)->n.uars)
#define SRC_ELEMENT(m)	(SRC_PU(m) + MODEL_PUS)
#define SRC_PORT(m)	(SRC_ELEMENT(m) + (m)->n.elements)
#define SRC_PIPE(m)	(SRC_PORT(m) + 1)
#define SOURCES(n)	((n)->uars + MODEL_PUS + (n)->elements + 2)

/* A sane bound on each size, so that the sum in bytes fits in 32 bits. */
#define SIZE_BOUND	(1U << 22)
/* And on parameters, so that no product of them overflows: 10 Tbit/s, ... */
#define BPS_BOUND	(10 * MODEL_PS)
#define PACKET_BOUND	(1U << 16)
#define WEIGHT_BOUND	1000U
#define REFETCH_BOUND	(1U << 16)

/* --- The heap of what happens next ---------------------------------------- */

/* By time; at the same time by source, so that the order is always the same. */
static bool sooner(const struct model *m, uint32_t a, uint32_t b)
{
	return m->when[a] != m->when[b] ? m->when[a] < m->when[b] : a < b;
}

static void heap_put(struct model *m, uint32_t at, uint32_t src)
{
	m->heap[at] = src;
	m->where[src] = at;
}

static void heap_sift(struct model *m, uint32_t at, uint32_t src)
{
	uint32_t child;

	while (at && sooner(m, src, m->heap[(at - 1) / 2])) {
		heap_put(m, at, m->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	while ((child = 2 * at + 1) < m->heap_n) {
		if (child + 1 < m->heap_n && sooner(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!sooner(m, m->heap[child], src))
			break;
		heap_put(m, at, m->heap[child]);
		at = child;
	}
	heap_put(m, at, src);
}

static void schedule(struct model *m, uint32_t src, uint64_t when)
{
	uint32_t at = m->where[src];

	m->when[src] = when;
	heap_sift(m, at == MODEL_NONE ? m->heap_n++ : at, src);
}

static void unschedule(struct model *m, uint32_t src)
{
	uint32_t at = m->where[src];

	if (at == MODEL_NONE)
		return;
	m->where[src] = MODEL_NONE;
	if (at != --m->heap_n)
		heap_sift(m, at, m->heap[m->heap_n]);
}

/* --- Lists and numbers ---------------------------------------------------- */

static const struct model_list empty = { MODEL_NONE, MODEL_NONE };

static void wr_push(struct model *m, struct model_list *l, uint32_t wr)
{
	m->wr[wr].next = MODEL_NONE;
	if (l->head == MODEL_NONE)
		l->head = wr;
	else
		m->wr[l->tail].next = wr;
	l->tail = wr;
}

static uint32_t wr_pop(struct model *m, struct model_list *l)
{
	uint32_t wr = l->head;

	l->head = m->wr[wr].next;
	return wr;
}

static void wr_free(struct model *m, uint32_t wr)
{
	m->wr[wr].next = m->free_wr;
	m->free_wr = wr;
}

/* Its QP was flushed or closed since. */
static bool wr_dead(const struct model *m, const struct model_wr *wr)
{
	return wr->epoch != m->qp[wr->qp].epoch;
}

/* Time of @bytes at @bps; the remainder stays in @carry for the next ones. */
static uint64_t wire_ps(uint64_t bytes, uint64_t bps, uint64_t *carry)
{
	/* 2^20 bytes a go keep the product in 64 bits. */
	uint64_t ps = 0, part;

	while (bytes) {
		part = bytes < 1 << 20 ? bytes : 1 << 20;
		ps += div64_u64_rem(part * 8 * MODEL_PS + *carry, bps, carry);
		bytes -= part;
	}
	return ps;
}

/* Marsaglia's xorshift32 */
static uint32_t rnd(struct model *m)
{
	m->rng ^= m->rng << 13;
	m->rng ^= m->rng >> 17;
	m->rng ^= m->rng << 5;
	return m->rng;
}

uint64_t model_growth(enum model_lock lock, uint32_t one, uint32_t n)
{
	if (!n)
		return 0;
	if (n > GROWTH_MAX)
		n = GROWTH_MAX;
	return (uint64_t)one * model_growth_q16[lock][n] >> 16;
}

/* --- Cache ---------------------------------------------------------------- */

static uint32_t cache_bucket(const struct model_cache *c, enum model_kind kind, uint64_t key)
{
	/* Knuth's multiplicative hash, 2^64 / golden ratio */
	return ((key * MODEL_KINDS + kind) * 0x9e3779b97f4a7c15ULL >> 32) & c->mask;
}

static uint32_t *cache_slot(struct model_cache *c, enum model_kind kind, uint64_t key)
{
	uint32_t *slot = &c->bucket[cache_bucket(c, kind, key)];

	while (*slot != MODEL_NONE && (c->ctx[*slot].key != key || c->ctx[*slot].kind != kind))
		slot = &c->ctx[*slot].hash_next;
	return slot;
}

static void age_unlink(struct model_cache *c, uint32_t i)
{
	struct model_context *x = &c->ctx[i];

	*(x->prev == MODEL_NONE ? &c->age.head : &c->ctx[x->prev].next) = x->next;
	*(x->next == MODEL_NONE ? &c->age.tail : &c->ctx[x->next].prev) = x->prev;
}

static void age_append(struct model_cache *c, uint32_t i)
{
	struct model_context *x = &c->ctx[i];

	x->next = MODEL_NONE;
	x->prev = c->age.tail;
	*(x->prev == MODEL_NONE ? &c->age.head : &c->ctx[x->prev].next) = i;
	c->age.tail = i;
}

static void cache_drop(struct model *m, uint32_t *slot)
{
	struct model_cache *c = &m->cache;
	uint32_t i = *slot;

	*slot = c->ctx[i].hash_next;
	age_unlink(c, i);
	c->bytes -= m->p.entry_bytes[c->ctx[i].kind];
	c->n--;
	c->ctx[i].next = c->free;
	c->free = i;
}

static void cache_evict(struct model *m)
{
	struct model_context *x = &m->cache.ctx[m->cache.age.head];

	cache_drop(m, cache_slot(&m->cache, x->kind, x->key));
	m->stats.evictions++;
}

/* False: a miss, now fetched. */
static bool cache_use(struct model *m, enum model_kind kind, uint64_t key)
{
	struct model_cache *c = &m->cache;
	uint32_t need = m->p.entry_bytes[kind];
	uint32_t *slot = cache_slot(c, kind, key);
	uint32_t i = *slot;

	if (i != MODEL_NONE) {
		m->stats.hits[kind]++;
		age_unlink(c, i);
		age_append(c, i);
		return true;
	}
	m->stats.misses[kind]++;
	if (need > m->p.cache_bytes)
		return false;	/* never fits: each use is a fetch */
	while (c->free == MODEL_NONE || c->bytes + need > m->p.cache_bytes)
		cache_evict(m);
	i = c->free;
	c->free = c->ctx[i].next;
	c->ctx[i].key = key;
	c->ctx[i].kind = kind;
	/* Eviction may have changed the chain. */
	slot = &c->bucket[cache_bucket(c, kind, key)];
	c->ctx[i].hash_next = *slot;
	*slot = i;
	age_append(c, i);
	c->bytes += need;
	c->n++;
	return false;
}

static void cache_init(struct model *m)
{
	struct model_cache *c = &m->cache;
	uint32_t i;

	for (i = 0; i <= c->mask; i++)
		c->bucket[i] = MODEL_NONE;
	for (i = 0; i < m->n.contexts; i++)
		c->ctx[i].next = i + 1 < m->n.contexts ? i + 1 : MODEL_NONE;
	c->free = 0;
	c->age.head = MODEL_NONE;
	c->age.tail = MODEL_NONE;
	c->n = 0;
	c->bytes = 0;
}

/* --- Processing units ----------------------------------------------------- */

/* What the contexts of @wr cost that are not in the cache. */
static uint64_t fetch_contexts(struct model *m, const struct model_wr *wr)
{
	const struct model_qp *qp = &m->qp[wr->qp];
	unsigned int misses;

	if (!m->p.cache_bytes)
		return 0;
	misses = !cache_use(m, MODEL_QPC, qp->qpn);
	if (wr->mtt)
		misses += !cache_use(m, MODEL_MTT, wr->mtt);
	misses += !cache_use(m, MODEL_CQC, qp->cq);
	m->stats.fetch_ps += (uint64_t)misses * m->p.fetch_ps;
	return (uint64_t)misses * m->p.fetch_ps;
}

/*
 * A unit's time for a WQE. Of O WRs in the NIC the WQEs of the last O - C were
 * overwritten before their turn: that share of all is fetched again.
 */
static uint64_t wqe_ps(struct model *m)
{
	uint64_t ps = m->p.pu_ps, again = 0, swing;
	uint32_t o = m->inflight, c = m->p.wqe_limit;

	if (c && o > c) {
		again = div_u64((uint64_t)(o - c) << 16, o);
		again = (ps * m->p.wqe_refetch_q8 >> 8) * again >> 16;
		m->stats.refetch_ps += again;
		m->stats.refetched++;
		ps += again;
	}
	if (m->p.jitter_pct) {
		swing = div_u64(ps * m->p.jitter_pct, 100);
		ps = ps - swing + (2 * swing * (rnd(m) >> 16) >> 16);
	}
	return ps;
}

static void pu_start(struct model *m, uint32_t k)
{
	struct model_pu *pu = &m->pu[k];
	uint64_t ps = 0;

	if (pu->busy)
		return;
	pu->stalled = pu->stall_ps != 0;
	if (pu->stalled) {
		ps = pu->stall_ps;
		pu->stall_ps = 0;
	} else if (pu->wrs.head == MODEL_NONE) {
		return;
	} else if (!wr_dead(m, &m->wr[pu->wrs.head])) {
		ps = wqe_ps(m) + fetch_contexts(m, &m->wr[pu->wrs.head]);
	}
	pu->busy = true;
	pu->busy_ps += ps;
	pu->free_at = m->now + ps;
	schedule(m, SRC_PU(m) + k, pu->free_at);
}

static void pu_stall(struct model *m, uint32_t k, uint64_t ps)
{
	m->pu[k].stall_ps += ps;
	pu_start(m, k);
}

static void port_add(struct model *m, uint32_t w);

static void pu_event(struct model *m, uint32_t k)
{
	struct model_pu *pu = &m->pu[k];
	uint32_t wr;

	pu->busy = false;
	if (!pu->stalled) {
		wr = wr_pop(m, &pu->wrs);
		pu->done++;
		if (wr_dead(m, &m->wr[wr])) {
			m->inflight--;
			wr_free(m, wr);
		} else {
			m->qp[m->wr[wr].qp].in_pu--;
			port_add(m, wr);
		}
	}
	pu_start(m, k);
}

/* --- Doorbell registers --------------------------------------------------- */

/* The WR is in the NIC. */
static void grant(struct model *m, uint32_t wr)
{
	struct model_qp *qp = &m->qp[m->wr[wr].qp];

	m->inflight++;
	qp->inflight++;
	m->uar[qp->uar].granted++;
	/* Another unit, or none, only between WRs, or they could overtake one another. */
	if (!qp->in_pu) {
		if (!m->p.pus) {
			port_add(m, wr);
			return;
		}
		qp->pu = qp->qpn % m->p.pus;
	}
	qp->in_pu++;
	wr_push(m, &m->pu[qp->pu].wrs, wr);
	pu_start(m, qp->pu);
}

static void uar_congestion(struct model *m, uint32_t u)
{
	struct model_uar *uar = &m->uar[u];

	if (!uar->congested && m->p.uar_raise && uar->pending >= m->p.uar_raise) {
		uar->congested = true;
		m->congested++;
		m->stats.raised++;
	} else if (uar->congested && (!m->p.uar_raise || uar->pending <= m->p.uar_clear)) {
		uar->congested = false;
		m->congested--;
		m->stats.cleared++;
	} else {
		return;
	}
	if (m->ops && m->ops->congestion)
		m->ops->congestion(m->ctx, u, uar->congested, m->now);
}

/* The first QP of the list has the register now. */
static void uar_serve(struct model *m, uint32_t u)
{
	struct model_uar *uar = &m->uar[u];

	uar->serving = true;
	uar->free_at = m->now + model_growth(MODEL_LOCK_UAR, m->p.uar_ps, uar->active);
	schedule(m, u, uar->free_at);
}

static void uar_list(struct model *m, struct model_uar *uar, uint32_t q)
{
	m->qp[q].uar_next = MODEL_NONE;
	if (uar->qps.head == MODEL_NONE)
		uar->qps.head = q;
	else
		m->qp[uar->qps.tail].uar_next = q;
	uar->qps.tail = q;
	uar->active++;
}

static uint32_t uar_unlist(struct model *m, struct model_uar *uar)
{
	uint32_t q = uar->qps.head;

	uar->qps.head = m->qp[q].uar_next;
	uar->active--;
	return q;
}

/*
 * A thread alone at a register pays nothing that its own posting did not
 * include; threads take turns, as with a fair lock, one WR each.
 */
static void uar_add(struct model *m, uint32_t wr)
{
	uint32_t q = m->wr[wr].qp;
	struct model_qp *qp = &m->qp[q];
	struct model_uar *uar = &m->uar[qp->uar];
	bool waits = qp->ungranted.head != MODEL_NONE;

	if (!waits && (!m->p.uar_ps || (!uar->active &&
					(m->now >= uar->free_at || uar->last_qp == q)))) {
		uar->last_qp = q;
		uar->free_at = m->now + m->p.uar_hold_ps;
		grant(m, wr);
		return;
	}
	wr_push(m, &qp->ungranted, wr);
	uar->pending++;
	m->ungranted++;
	if (uar->pending > uar->peak)
		uar->peak = uar->pending;
	if (!waits) {
		uar_list(m, uar, q);
		if (uar->active == 1)
			schedule(m, qp->uar, uar->free_at > m->now ? uar->free_at : m->now);
	}
	uar_congestion(m, qp->uar);
}

static void uar_event(struct model *m, uint32_t u)
{
	struct model_uar *uar = &m->uar[u];
	struct model_qp *qp;
	uint32_t q, wr;

	if (uar->serving) {
		uar->serving = false;
		q = uar_unlist(m, uar);
		qp = &m->qp[q];
		wr = wr_pop(m, &qp->ungranted);
		if (qp->ungranted.head != MODEL_NONE)
			uar_list(m, uar, q);
		uar->pending--;
		m->ungranted--;
		uar->last_qp = q;
		uar->contended++;
		uar->wait_ps += m->now - m->wr[wr].posted;
		grant(m, wr);
	}
	if (uar->active)
		uar_serve(m, u);
	uar_congestion(m, u);
}

/* --- Port ----------------------------------------------------------------- */

static struct model_group *group_of(struct model *m, uint32_t g)
{
	return &m->element[g / MODEL_CLASSES].group[g % MODEL_CLASSES];
}

/* The most a packet takes on the wire; what a turn is measured in. */
static uint32_t packet_bytes(const struct model *m)
{
	return m->p.mtu + m->p.header;
}

static void group_list(struct model *m, uint32_t g)
{
	struct model_class *cls = &m->port.cls[g % MODEL_CLASSES];
	struct model_group *group = group_of(m, g);

	group->next = MODEL_NONE;
	group->prev = cls->groups.tail;
	if (group->prev == MODEL_NONE) {
		cls->groups.head = g;
		/* A class that was silent does not save up its share. */
		if (cls->turn - m->port.turn < 0)
			cls->turn = m->port.turn;
	} else {
		group_of(m, group->prev)->next = g;
	}
	cls->groups.tail = g;
	group->listed = true;
}

static void group_unlist(struct model *m, uint32_t g)
{
	struct model_class *cls = &m->port.cls[g % MODEL_CLASSES];
	struct model_group *group = group_of(m, g);

	*(group->prev == MODEL_NONE ? &cls->groups.head : &group_of(m, group->prev)->next) =
		group->next;
	*(group->next == MODEL_NONE ? &cls->groups.tail : &group_of(m, group->next)->prev) =
		group->prev;
	group->listed = false;
}

static void ready_link(struct model *m, uint32_t g, uint32_t q)
{
	struct model_group *group = group_of(m, g);
	struct model_qp *qp = &m->qp[q];

	qp->ready_next = MODEL_NONE;
	qp->ready_prev = group->qps.tail;
	*(qp->ready_prev == MODEL_NONE ? &group->qps.head : &m->qp[qp->ready_prev].ready_next) = q;
	group->qps.tail = q;
}

static void ready_unlink(struct model *m, uint32_t g, uint32_t q)
{
	struct model_group *group = group_of(m, g);
	struct model_qp *qp = &m->qp[q];

	*(qp->ready_prev == MODEL_NONE ? &group->qps.head : &m->qp[qp->ready_prev].ready_next) =
		qp->ready_next;
	*(qp->ready_next == MODEL_NONE ? &group->qps.tail : &m->qp[qp->ready_next].ready_prev) =
		qp->ready_prev;
}

/* The QP has something to send, in its class and element. */
static void qp_list(struct model *m, uint32_t q)
{
	struct model_qp *qp = &m->qp[q];
	uint32_t g = qp->element * MODEL_CLASSES + qp->cls;
	struct model_group *group = group_of(m, g);

	qp->listed = true;
	qp->deficit = (int32_t)packet_bytes(m);
	ready_link(m, g, q);
	if (!group->listed && !m->element[qp->element].blocked) {
		group->deficit = (int32_t)(packet_bytes(m) * m->element[qp->element].weight);
		group_list(m, g);
	}
}

static void qp_unlist(struct model *m, uint32_t q)
{
	struct model_qp *qp = &m->qp[q];
	uint32_t g = qp->element * MODEL_CLASSES + qp->cls;
	struct model_group *group = group_of(m, g);

	qp->listed = false;
	ready_unlink(m, g, q);
	if (group->listed && group->qps.head == MODEL_NONE)
		group_unlist(m, g);
}

static bool class_may(const struct model *m, int c)
{
	return m->port.cls[c].groups.head != MODEL_NONE && !(m->port.paused & 1 << c);
}

/* Strict classes from the highest, else the one that had least of its share. */
static int class_pick(const struct model *m)
{
	const struct model_class *cls = m->port.cls;
	int c, best = -1;

	for (c = MODEL_CLASSES - 1; c >= 0; c--)
		if (m->p.strict & 1 << c && class_may(m, c))
			return c;
	for (c = MODEL_CLASSES - 1; c >= 0; c--)
		if (class_may(m, c) &&
		    (best < 0 || cls[c].turn - cls[best].turn < 0))
			best = c;
	return best;
}

static void element_unblock(struct model *m, uint32_t e)
{
	struct model_element *el = &m->element[e];
	uint32_t c;

	if (!el->blocked)
		return;
	el->blocked = false;
	unschedule(m, SRC_ELEMENT(m) + e);
	for (c = 0; c < MODEL_CLASSES; c++)
		if (el->group[c].qps.head != MODEL_NONE) {
			el->group[c].deficit = (int32_t)(packet_bytes(m) * el->weight);
			group_list(m, e * MODEL_CLASSES + c);
		}
}

/* The element sent @wire bytes: it may be too far ahead of its rate now. */
static void element_charge(struct model *m, uint32_t e, uint64_t wire)
{
	struct model_element *el = &m->element[e];
	uint32_t c;

	el->sent_bytes += wire;
	if (!el->max_bps)
		return;
	if (el->tat < m->now) {
		el->tat = m->now;
		el->carry = 0;
	}
	el->tat += wire_ps(wire, el->max_bps, &el->carry);
	if (el->tat <= m->now + el->burst_ps)
		return;
	el->blocked = true;
	el->blocks++;
	for (c = 0; c < MODEL_CLASSES; c++)
		if (el->group[c].listed)
			group_unlist(m, e * MODEL_CLASSES + c);
	schedule(m, SRC_ELEMENT(m) + e, el->tat - el->burst_ps);
}

/*
 * Byte-deficit round robin on both levels: whoever sends may go below zero by
 * one packet, pays for it in its next turn, and then is the last in the list.
 */
static void charge(struct model *m, uint32_t q, uint64_t wire)
{
	/* More than a packet goes only where it takes no time, and shares nothing. */
	int32_t turn = (int32_t)(wire < packet_bytes(m) ? wire : packet_bytes(m));
	struct model_qp *qp = &m->qp[q];
	uint32_t g = qp->element * MODEL_CLASSES + qp->cls;
	struct model_group *group = group_of(m, g);
	struct model_class *cls = &m->port.cls[qp->cls];
	uint32_t weight = m->p.weight[qp->cls] ? m->p.weight[qp->cls] : 1;

	cls->sent_bytes += wire;
	cls->packets++;
	if (!(m->p.strict & 1 << qp->cls)) {
		m->port.turn = cls->turn;
		/* In 1/256 bytes; differences count, so it may wrap around. */
		cls->turn += div_u64((uint64_t)turn << 8, weight);
	}
	qp->deficit -= turn;
	if (qp->deficit <= 0) {
		qp->deficit += packet_bytes(m);
		ready_unlink(m, g, q);
		ready_link(m, g, q);
	}
	group->deficit -= turn;
	if (group->deficit <= 0) {
		group->deficit += packet_bytes(m) * m->element[qp->element].weight;
		group_unlist(m, g);
		group_list(m, g);
	}
	element_charge(m, qp->element, wire);
}

/* The port sends, or cannot: time in which only pauses keep it from it is counted. */
static void port_stall(struct model *m, bool sends)
{
	struct model_port *port = &m->port;
	bool stalled = false;
	int c;

	for (c = 0; !sends && c < MODEL_CLASSES; c++)
		stalled |= port->cls[c].groups.head != MODEL_NONE;
	if (port->stalled && !stalled)
		port->stalled_ps += m->now - port->stalled_at;
	if (!port->stalled && stalled)
		port->stalled_at = m->now;
	port->stalled = stalled;
}

/* Puts the next packet on the wire; whoever sends it is charged at once. */
static void port_start(struct model *m)
{
	struct model_port *port = &m->port;
	struct model_class *cls;
	struct model_qp *qp;
	struct model_wr *wr;
	uint32_t q, bytes;
	uint64_t ps, wire;
	int c;

	if (port->busy)
		return;
	c = class_pick(m);
	port_stall(m, c >= 0);
	if (c < 0)
		return;
	cls = &port->cls[c];
	q = group_of(m, cls->groups.head)->qps.head;
	qp = &m->qp[q];
	wr = &m->wr[qp->ready.head];
	bytes = wr->left;
	if (bytes > m->p.mtu && (m->p.link_bps || m->element[qp->element].max_bps))
		bytes = m->p.mtu;
	wire = (uint64_t)bytes + m->p.header;
	if (!wire)
		wire = 1;	/* or a QP that sends nothing kept its turn for ever */
	ps = m->p.link_bps ? wire_ps(wire, m->p.link_bps, &port->carry) : 0;

	wr->left -= bytes;
	cls->backlog -= bytes;
	qp->ready_bytes -= bytes;
	charge(m, q, wire);
	port->last = MODEL_NONE;
	if (!wr->left) {
		port->last = wr_pop(m, &qp->ready);
		cls->waiting--;
		qp->n_ready--;
		if (qp->ready.head == MODEL_NONE)
			qp_unlist(m, q);
	}
	port->busy = true;
	port->busy_ps += ps;
	port->free_at = m->now + ps;
	schedule(m, SRC_PORT(m), port->free_at);
}

static void port_add(struct model *m, uint32_t w)
{
	struct model_wr *wr = &m->wr[w];
	struct model_qp *qp = &m->qp[wr->qp];

	wr_push(m, &qp->ready, w);
	qp->n_ready++;
	qp->ready_bytes += wr->bytes;
	m->port.cls[qp->cls].backlog += wr->bytes;
	m->port.cls[qp->cls].waiting++;
	if (!qp->listed)
		qp_list(m, wr->qp);
	port_start(m);
}

static void port_event(struct model *m)
{
	uint32_t wr = m->port.last;
	uint64_t due = m->now + m->p.pipe_ps;

	m->port.busy = false;
	if (wr != MODEL_NONE) {
		/* The pipe may have been shortened meanwhile: still in order. */
		if (m->pipe.head != MODEL_NONE && due < m->wr[m->pipe.tail].due)
			due = m->wr[m->pipe.tail].due;
		m->wr[wr].due = due;
		if (m->pipe.head == MODEL_NONE)
			schedule(m, SRC_PIPE(m), due);
		wr_push(m, &m->pipe, wr);
	}
	port_start(m);
}

/* --- Completion ----------------------------------------------------------- */

static void pipe_event(struct model *m)
{
	uint32_t w = wr_pop(m, &m->pipe);
	struct model_wr *wr = &m->wr[w];
	struct model_qp *qp = &m->qp[wr->qp];
	struct model_done done = {
		.cookie = wr->cookie, .at = m->now, .posted = wr->posted,
		.qp = wr->qp, .bytes = wr->bytes,
	};
	bool dead = wr_dead(m, wr);

	if (m->pipe.head != MODEL_NONE)
		schedule(m, SRC_PIPE(m), m->wr[m->pipe.head].due);
	m->inflight--;
	wr_free(m, w);
	if (dead)
		return;
	qp->inflight--;
	qp->done++;
	qp->done_bytes += done.bytes;
	qp->last_done = m->now;
	m->stats.done++;
	m->stats.done_bytes += done.bytes;
	if (m->told - m->now > m->p.late_ps)
		m->stats.late++;
	if (m->told - m->now > m->stats.late_max_ps)
		m->stats.late_max_ps = m->told - m->now;
	if (m->ops && m->ops->done)
		m->ops->done(m->ctx, &done);
}

bool model_next(const struct model *m, uint64_t *when)
{
	*when = m->heap_n ? m->when[m->heap[0]] : MODEL_NEVER;
	return m->heap_n;
}

void model_run_until(struct model *m, uint64_t now)
{
	uint32_t src;

	m->told = now;
	while (m->heap_n && m->when[m->heap[0]] <= now) {
		src = m->heap[0];
		m->now = m->when[src];
		unschedule(m, src);
		if (src < SRC_PU(m)) {
			uar_event(m, src);
		} else if (src < SRC_ELEMENT(m)) {
			pu_event(m, src - SRC_PU(m));
		} else if (src == SRC_PORT(m)) {
			port_event(m);
		} else if (src == SRC_PIPE(m)) {
			pipe_event(m);
		} else {
			element_unblock(m, src - SRC_ELEMENT(m));
			port_start(m);
		}
	}
	if (m->now < now)
		m->now = now;
}

/* Moves the clock, unless an event would be left behind. */
static int advance(struct model *m, uint64_t now)
{
	if (now <= m->now)
		return 0;
	if (m->heap_n && m->when[m->heap[0]] < now)
		return -EBUSY;
	m->now = now;
	return 0;
}

/* --- Interface ------------------------------------------------------------ */

int model_post(struct model *m, uint32_t q, uint32_t bytes, uint64_t mtt,
	       uint64_t cookie, uint64_t now)
{
	struct model_wr *wr;
	struct model_qp *qp;
	uint32_t w = m->free_wr;
	int err;

	if (q >= m->n.qps || !m->qp[q].open)
		return -EINVAL;
	err = advance(m, now);
	if (err)
		return err;
	if (w == MODEL_NONE)
		return -ENOBUFS;
	qp = &m->qp[q];
	wr = &m->wr[w];
	m->free_wr = wr->next;
	*wr = (struct model_wr) {
		.cookie = cookie, .mtt = mtt, .posted = m->now, .qp = q,
		.epoch = qp->epoch, .bytes = bytes, .left = bytes,
	};
	qp->posted++;
	qp->posted_bytes += bytes;
	m->stats.posted++;
	m->stats.posted_bytes += bytes;
	uar_add(m, w);
	return 0;
}

int model_control(struct model *m, uint64_t ps, uint64_t now, uint64_t *done)
{
	struct model_pu *pu = &m->pu[m->ctrl_pu];
	int err = advance(m, now);

	if (err)
		return err;
	m->stats.ctrl++;
	*done = m->now;
	if (!m->p.pus)
		return 0;
	if (!ps)
		ps = m->p.ctrl_ps;
	m->stats.ctrl_ps += ps;
	*done = (pu->busy ? pu->free_at : m->now) + pu->stall_ps + ps;
	pu_stall(m, m->ctrl_pu, ps);
	m->ctrl_pu = (m->ctrl_pu + 1) % m->p.pus;
	return 0;
}

int model_pause(struct model *m, uint8_t classes, uint64_t now)
{
	int err = advance(m, now);

	if (err)
		return err;
	m->port.paused = classes;
	port_start(m);
	return 0;
}

int model_touch(struct model *m, uint32_t q, enum model_kind kind, uint64_t key,
		uint64_t now)
{
	int err;

	if (q >= m->n.qps || !m->qp[q].open || kind >= MODEL_KINDS)
		return -EINVAL;
	err = advance(m, now);
	if (err)
		return err;
	if (!m->p.cache_bytes || cache_use(m, kind, key))
		return 0;
	m->stats.fetch_ps += m->p.fetch_ps;
	if (m->p.pus)
		pu_stall(m, m->qp[q].qpn % m->p.pus, m->p.fetch_ps);
	return 1;
}

void model_forget(struct model *m, enum model_kind kind, uint64_t key)
{
	uint32_t *slot = cache_slot(&m->cache, kind, key);

	if (*slot != MODEL_NONE)
		cache_drop(m, slot);
}

static bool attr_ok(const struct model *m, const struct model_qp_attr *a)
{
	return a->uar < m->n.uars && a->element < m->n.elements && a->cls < MODEL_CLASSES;
}

int model_qp_open(struct model *m, uint32_t q, const struct model_qp_attr *a)
{
	struct model_qp *qp;
	uint32_t epoch;

	if (q >= m->n.qps || !attr_ok(m, a))
		return -EINVAL;
	qp = &m->qp[q];
	if (qp->open)
		return -EBUSY;
	epoch = qp->epoch;
	*qp = (struct model_qp) {
		.qpn = a->qpn, .uar = a->uar, .cq = a->cq, .element = a->element,
		.cls = a->cls, .open = true, .epoch = epoch,
		.pu = m->p.pus ? a->qpn % m->p.pus : 0,
		.ungranted = empty, .ready = empty,
	};
	m->uar[a->uar].attached++;
	return 0;
}

int model_qp_modify(struct model *m, uint32_t q, const struct model_qp_attr *a)
{
	struct model_qp *qp;
	bool listed;

	if (q >= m->n.qps || !m->qp[q].open || !attr_ok(m, a) || a->qpn != m->qp[q].qpn)
		return -EINVAL;
	qp = &m->qp[q];
	if (a->uar != qp->uar && qp->ungranted.head != MODEL_NONE)
		return -EBUSY;
	m->uar[qp->uar].attached--;
	m->uar[a->uar].attached++;
	qp->uar = a->uar;
	qp->cq = a->cq;
	if (a->element == qp->element && a->cls == qp->cls)
		return 0;
	listed = qp->listed;
	if (listed)
		qp_unlist(m, q);
	m->port.cls[qp->cls].backlog -= qp->ready_bytes;
	m->port.cls[qp->cls].waiting -= qp->n_ready;
	qp->element = a->element;
	qp->cls = a->cls;
	m->port.cls[qp->cls].backlog += qp->ready_bytes;
	m->port.cls[qp->cls].waiting += qp->n_ready;
	if (listed)
		qp_list(m, q);
	port_start(m);
	return 0;
}

/* Takes @q out of the register's queue, wherever in it. */
static void uar_forget(struct model *m, uint32_t q)
{
	struct model_qp *qp = &m->qp[q];
	struct model_uar *uar = &m->uar[qp->uar];
	uint32_t turns = uar->active, n = 0, other;

	if (qp->ungranted.head == MODEL_NONE)
		return;
	while (qp->ungranted.head != MODEL_NONE) {
		wr_free(m, wr_pop(m, &qp->ungranted));
		n++;
	}
	uar->pending -= n;
	m->ungranted -= n;
	if (uar->qps.head == q && uar->serving) {
		uar->serving = false;
		schedule(m, qp->uar, m->now);
	}
	while (turns--) {
		other = uar_unlist(m, uar);
		if (other != q)
			uar_list(m, uar, other);
	}
	if (!uar->active)
		unschedule(m, qp->uar);
	uar_congestion(m, qp->uar);
}

uint32_t model_qp_flush(struct model *m, uint32_t q)
{
	struct model_qp *qp;
	uint64_t lost;

	if (q >= m->n.qps || !m->qp[q].open)
		return 0;
	qp = &m->qp[q];
	lost = qp->posted - qp->done - qp->dropped;
	m->stats.dropped += lost;
	m->stats.dropped_bytes += qp->posted_bytes - qp->done_bytes - qp->dropped_bytes;
	qp->dropped += lost;
	qp->dropped_bytes = qp->posted_bytes - qp->done_bytes;
	uar_forget(m, q);
	if (qp->listed)
		qp_unlist(m, q);
	m->port.cls[qp->cls].backlog -= qp->ready_bytes;
	m->port.cls[qp->cls].waiting -= qp->n_ready;
	while (qp->ready.head != MODEL_NONE) {
		wr_free(m, wr_pop(m, &qp->ready));
		m->inflight--;
	}
	/* Those on a unit, on the wire and in the pipe are freed on their way. */
	qp->epoch++;
	qp->ready_bytes = 0;
	qp->n_ready = 0;
	qp->in_pu = 0;
	qp->inflight = 0;
	return (uint32_t)lost;
}

void model_qp_close(struct model *m, uint32_t q)
{
	if (q >= m->n.qps || !m->qp[q].open)
		return;
	model_qp_flush(m, q);
	m->uar[m->qp[q].uar].attached--;
	m->qp[q].open = false;
}

int model_element_set(struct model *m, uint32_t e, uint64_t max_bps, uint32_t burst,
		      uint32_t weight)
{
	struct model_element *el;
	uint64_t carry = 0;

	if (e >= m->n.elements || max_bps > BPS_BOUND || weight > WEIGHT_BOUND)
		return -EINVAL;
	el = &m->element[e];
	el->weight = weight ? weight : 1;
	el->max_bps = max_bps;
	el->burst_ps = max_bps ? wire_ps(burst, max_bps, &carry) : 0;
	el->tat = m->now;
	el->carry = 0;
	element_unblock(m, e);
	port_start(m);
	return 0;
}

static bool params_ok(const struct model_params *p)
{
	int kind;

	for (kind = 0; kind < MODEL_KINDS; kind++)
		if (p->cache_bytes && !p->entry_bytes[kind])
			return false;
	return (!p->uar_raise || p->uar_clear < p->uar_raise) &&
	       p->wqe_refetch_q8 <= REFETCH_BOUND && p->pus <= MODEL_PUS &&
	       p->jitter_pct <= 100 && p->link_bps <= BPS_BOUND &&
	       p->mtu && p->mtu <= PACKET_BOUND && p->header <= PACKET_BOUND;
}

int model_set_params(struct model *m, const struct model_params *p)
{
	struct model_params old = m->p;
	uint32_t u;

	if (!params_ok(p))
		return -EINVAL;
	m->p = *p;
	if (p->seed != old.seed)
		m->rng = p->seed ? p->seed : 1;
	if (p->link_bps != old.link_bps)
		m->port.carry = 0;
	if (m->ctrl_pu >= p->pus)
		m->ctrl_pu = 0;
	if (memcmp(p->entry_bytes, old.entry_bytes, sizeof(old.entry_bytes)))
		cache_init(m);
	while (m->cache.bytes > p->cache_bytes)
		cache_evict(m);
	for (u = 0; u < m->n.uars; u++)
		uar_congestion(m, u);
	return 0;
}

static uint32_t buckets(const struct model_sizes *n)
{
	uint32_t b = 1;

	while (b < n->contexts)
		b *= 2;
	return b;
}

enum part {
	PART_WHEN, PART_HEAP, PART_WHERE, PART_UAR, PART_QP, PART_WR, PART_ELEMENT,
	PART_CONTEXT, PART_BUCKET, PARTS,
};

/* Where each array begins, in the caller's memory; at[PARTS]: where it ends. */
static void layout(const struct model_sizes *n, size_t at[PARTS + 1])
{
	const struct model *m = NULL;
	size_t sources = SOURCES(n);
	size_t bytes[PARTS] = {
		[PART_WHEN] = sources * sizeof(*m->when),
		[PART_HEAP] = sources * sizeof(*m->heap),
		[PART_WHERE] = sources * sizeof(*m->where),
		[PART_UAR] = n->uars * sizeof(*m->uar),
		[PART_QP] = n->qps * sizeof(*m->qp),
		[PART_WR] = n->wrs * sizeof(*m->wr),
		[PART_ELEMENT] = n->elements * sizeof(*m->element),
		[PART_CONTEXT] = n->contexts * sizeof(*m->cache.ctx),
		[PART_BUCKET] = buckets(n) * sizeof(*m->cache.bucket),
	};
	int i;

	for (at[0] = 0, i = 0; i < PARTS; i++)
		at[i + 1] = at[i] + (bytes[i] + sizeof(uint64_t) - 1) / sizeof(uint64_t) *
				    sizeof(uint64_t);
}

static bool sizes_ok(const struct model_sizes *n)
{
	return n->uars && n->uars <= SIZE_BOUND && n->qps && n->qps <= SIZE_BOUND &&
	       n->wrs && n->wrs <= SIZE_BOUND && n->elements && n->elements <= SIZE_BOUND &&
	       n->contexts && n->contexts <= SIZE_BOUND;
}

size_t model_bytes(const struct model_sizes *n)
{
	size_t at[PARTS + 1];

	if (!sizes_ok(n))
		return 0;
	layout(n, at);
	return at[PARTS];
}

int model_init(struct model *m, void *mem, const struct model_sizes *n,
	       const struct model_params *p, const struct model_ops *ops, void *ctx)
{
	size_t at[PARTS + 1];
	char *base = mem;
	uint32_t i, c;

	if (!sizes_ok(n) || !params_ok(p))
		return -EINVAL;
	layout(n, at);
	memset(mem, 0, at[PARTS]);
	memset(m, 0, sizeof(*m));
	m->n = *n;
	m->p = *p;
	m->ops = ops;
	m->ctx = ctx;
	m->rng = p->seed ? p->seed : 1;
	m->when = (void *)(base + at[PART_WHEN]);
	m->heap = (void *)(base + at[PART_HEAP]);
	m->where = (void *)(base + at[PART_WHERE]);
	m->uar = (void *)(base + at[PART_UAR]);
	m->qp = (void *)(base + at[PART_QP]);
	m->wr = (void *)(base + at[PART_WR]);
	m->element = (void *)(base + at[PART_ELEMENT]);
	m->cache.ctx = (void *)(base + at[PART_CONTEXT]);
	m->cache.bucket = (void *)(base + at[PART_BUCKET]);
	m->cache.mask = buckets(n) - 1;
	cache_init(m);
	for (i = 0; i < SOURCES(n); i++)
		m->where[i] = MODEL_NONE;
	for (i = 0; i < n->wrs; i++)
		m->wr[i].next = i + 1 < n->wrs ? i + 1 : MODEL_NONE;
	for (i = 0; i < n->uars; i++) {
		m->uar[i].qps = empty;
		m->uar[i].last_qp = MODEL_NONE;
	}
	for (i = 0; i < n->elements; i++) {
		m->element[i].weight = 1;
		for (c = 0; c < MODEL_CLASSES; c++)
			m->element[i].group[c].qps = empty;
	}
	for (i = 0; i < MODEL_PUS; i++)
		m->pu[i].wrs = empty;
	for (c = 0; c < MODEL_CLASSES; c++)
		m->port.cls[c].groups = empty;
	m->port.last = MODEL_NONE;
	m->pipe = empty;
	return 0;
}

/* --- Presets -------------------------------------------------------------- */

static const char *const preset_names[MODEL_PRESETS] = {
	[MODEL_OFF] = "off", [MODEL_CX5] = "cx5", [MODEL_CX6] = "cx6",
};

int model_preset_named(const char *name)
{
	int i;

	for (i = 0; i < MODEL_PRESETS; i++)
		if (!strcmp(name, preset_names[i]))
			return i;
	return -1;
}

/*
 * Fitted on SMART's measurements of a ConnectX-6 (selftests/data/), all curves
 * at once; test_model_smart says how well. Nobody published such curves of a
 * ConnectX-5, so that preset differs only by its link.
 */
#define CX_PUS		16
#define CX_PU_PS	147465		/* 16 units do 108.5 M WQEs/s */
#define CX_JITTER_PCT	50		/* without, the knees are too sharp */
#define CX_WQES		836
#define CX_REFETCH_Q8	461		/* 1.8 */
#define CX_PIPE_PS	2438000		/* of a READ, there and back */
#define CX_UAR_PS	452000		/* exponent in growth.h, as the next one's */
#define CX_QP_PS	1054000
#define CX_POST_PS	211000		/* CPU time */
#define CX_HOLD_PS	180000		/* of it, with a register's lock held */
#define CX_CORES	48		/* of SMART's hosts, with two threads each */
#define CX_SHARE_Q8	127		/* 0.5 */

/*
 * The measurement that the paper cites in 3.2 (Husky): 96.6 and 48 Gbit/s at
 * 17.2 and 49.1 % misses. With a WQE time as the unit, (1 + 0.491 r) /
 * (1 + 0.172 r) is 2.01 if r is 7; a WQE needs three contexts, so that each
 * fetch is a third of it, 0.34 us, as a read over PCIe is.
 */
#define CX_FETCH_PS	(7 * CX_PU_PS / 3)

/* What is in NIC memory, in the paper's 3.2, for a ConnectX-5. */
#define CX_CACHE_BYTES	(2U << 20)
/*
 * And what a context takes of it: 375 bytes of a connection (Kalia et al.,
 * NSDI'19, the source of the paper's figure), the CQ and memory key contexts of
 * mlx5_ifc.h (cqc, mkc: 64 bytes each), and a line of translations.
 */
#define CX_QPC_BYTES	375
#define CX_MTT_BYTES	(64 + 64)
#define CX_CQC_BYTES	64

/*
 * Congestion: a doorbell that would wait 5 us, the paper's bound of queueing
 * delay in section 4, even if one QP alone waited; cleared at half of that.
 */
#define CX_RAISE	(5000000 / CX_UAR_PS)
#define CX_CLEAR	(CX_RAISE / 2)

/* Assumed, for want of a published figure: some tens of WQEs' time. */
#define CX_CTRL_PS	5000000

void model_preset(enum model_preset preset, struct model_params *p)
{
	memset(p, 0, sizeof(*p));
	p->seed = 1;
	p->mtu = 4096;		/* the largest of InfiniBand and RoCE */
	p->strict = 0xff;
	if (preset == MODEL_OFF)
		return;
	/* LRH, BTH, ICRC, VCRC: what each InfiniBand packet has (IBTA vol. 1, ch. 5) */
	p->header = 8 + 12 + 4 + 2;
	p->link_bps = preset == MODEL_CX5 ? 100000000000ULL : 200000000000ULL;
	p->uar_ps = CX_UAR_PS;
	p->uar_hold_ps = CX_HOLD_PS;
	p->uar_raise = CX_RAISE;
	p->uar_clear = CX_CLEAR;
	p->cache_bytes = CX_CACHE_BYTES;
	p->entry_bytes[MODEL_QPC] = CX_QPC_BYTES;
	p->entry_bytes[MODEL_MTT] = CX_MTT_BYTES;
	p->entry_bytes[MODEL_CQC] = CX_CQC_BYTES;
	p->fetch_ps = CX_FETCH_PS;
	p->wqe_limit = CX_WQES;
	p->wqe_refetch_q8 = CX_REFETCH_Q8;
	p->pus = CX_PUS;
	p->pu_ps = CX_PU_PS;
	p->jitter_pct = CX_JITTER_PCT;
	p->ctrl_ps = CX_CTRL_PS;
	p->pipe_ps = CX_PIPE_PS;
	p->late_ps = CX_PIPE_PS;	/* late by a round trip */
}

void model_preset_host(enum model_preset preset, struct model_host *h)
{
	memset(h, 0, sizeof(*h));
	if (preset == MODEL_OFF)
		return;
	h->post_ps = CX_POST_PS;
	h->cores = CX_CORES;
	h->share_q8 = CX_SHARE_Q8;
	h->uar_lock_ps = CX_UAR_PS;
	h->uar_hold_ps = CX_HOLD_PS;
	h->qp_lock_ps = CX_QP_PS;
}
