// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The NIC contention model, see model.h. This file drives the model and lays out its memory;
 * the stages of a work request are in uar.c, unit.c with cache.c, and port.c.
 */
#include "model/internal.h"

/* Bounds each size, so that the sum in bytes fits in 32 bits. */
#define SIZE_BOUND	(1U << 22)
/* Bounds the parameters, so that no product of them overflows. */
#define PACKET_BOUND	(1U << 16)
#define REFETCH_BOUND	(1U << 16)
/* A cache line of the CPU. Arrays begin on one, so that a WR is in one and a QP in two. */
#define LINE		64

static MODEL_APART void source_event(struct model *m, uint32_t src)
{
	if (src < SRC_ELEMENT(m))
		model_uar_event(m, src);
	else
		model_element_event(m, src - SRC_ELEMENT(m));
}

/* Order of events at the same time: registers, units, elements, port, pipe. */
static inline void step_to(struct model *m, uint64_t when)
{
	bool unit = model_events_first(&m->units) == when;

	m->now = when;
	if (model_events_first(&m->next) == when &&
	    !(unit && model_events_source(&m->next) >= SRC_ELEMENT(m)))
		source_event(m, model_events_source(&m->next));
	else if (unit)
		model_pu_event(m, model_events_source(&m->units));
	else if (m->port.due == when)
		model_port_event(m);
	else
		model_pipe_event(m);
}

MODEL_WHOLE void model_step(struct model *m, uint64_t when)
{
	m->until = when;
	step_to(m, when);
}

void model_run_until(struct model *m, uint64_t now)
{
	uint64_t when;

	m->until = now;
	while ((when = model_first(m)) <= now && when != MODEL_NEVER)
		step_to(m, when);
	if (m->now < now)
		m->now = now;
}

/* Advances the clock, unless an event before that time is still due. */
int model_advance(struct model *m, uint64_t now)
{
	if (now <= m->now)
		return 0;
	if (model_first(m) < now)
		return -EBUSY;
	m->now = now;
	return 0;
}

MODEL_WHOLE int model_post(struct model *m, uint32_t q, enum model_op op, uint32_t bytes,
	       uint64_t mtt, uint64_t cookie, uint64_t now)
{
	struct model_wr *wr;
	struct model_qp *qp;
	uint32_t w = m->free_wr;
	int err;

	if (q >= m->n.qps || !m->qp[q].open)
		return -EINVAL;
	err = model_advance(m, now);
	if (err)
		return err;
	if (w == MODEL_NONE)
		return -ENOBUFS;
	qp = &m->qp[q];
	wr = &m->wr[w];
	m->free_wr = wr->next;
	*wr = (struct model_wr) {
		.cookie = cookie, .mtt = mtt, .posted = m->now, .qp = q,
		.epoch = qp->epoch, .bytes = bytes, .left = bytes, .held = MODEL_NONE,
		.op = op,
	};
	qp->posted++;
	qp->bytes += bytes;
	m->stats.posted++;
	m->stats.posted_bytes += bytes;
	model_uar_add(m, w);
	return 0;
}

static bool params_ok(const struct model_params *p)
{
	int kind;

	for (kind = 0; kind < MODEL_KINDS; kind++)
		if (p->cache_bytes && !p->entry_bytes[kind])
			return false;
	return (!p->uar_raise || p->uar_clear < p->uar_raise) && p->uar_exp <= MODEL_EXP &&
	       p->wqe_refetch_q8 <= REFETCH_BOUND && p->pus <= MODEL_PUS &&
	       p->jitter_pct <= 100 && p->link_bps <= BPS_BOUND &&
	       p->mtu && p->mtu <= PACKET_BOUND && p->header <= PACKET_BOUND;
}

/* Values that are derived from the parameters once, not for each WR. */
static void take_params(struct model *m, const struct model_params *p)
{
	m->p = *p;
	m->jitter_q16 = (p->jitter_pct << 16) / 100;
	m->port.wire_bytes = 0;
	model_crowd_init(&m->crowd, p->uar_ps, p->uar_exp);
}

int model_set_params(struct model *m, const struct model_params *p)
{
	struct model_params old = m->p;
	uint32_t u;

	if (!params_ok(p))
		return -EINVAL;
	take_params(m, p);
	if (p->seed != old.seed)
		m->rng = p->seed ? p->seed : 1;
	if (p->link_bps != old.link_bps)
		m->port.carry = 0;
	if (m->ctrl_pu >= p->pus)
		m->ctrl_pu = 0;
	model_pu_fit(m);
	if (memcmp(p->entry_bytes, old.entry_bytes, sizeof(old.entry_bytes)))
		model_cache_empty(m);
	model_cache_fit(m);
	for (u = 0; u < m->n.uars; u++)
		model_uar_congestion(m, u);
	return 0;
}

static uint32_t count_buckets(const struct model_sizes *n)
{
	uint32_t b = 1;

	while (b < n->contexts)
		b *= 2;
	return b;
}

/* Four entries for each bucket, so compacting a full ring keeps at most a quarter of it. */
static uint32_t count_uses(const struct model_sizes *n)
{
	return 4 * count_buckets(n);
}

enum part {
	PART_WHEN, PART_SRC, PART_PU_WHEN, PART_PU_SRC, PART_UAR, PART_QP, PART_WR, PART_HELD, PART_ELEMENT,
	PART_CONTEXT, PART_NEXT, PART_BUCKET, PART_USE, PARTS,
};

/* Offset of each array from the first line of the memory; at[PARTS]: the end of the last. */
static void lay_out(const struct model_sizes *n, size_t at[PARTS + 1])
{
	const struct model *m = NULL;
	size_t bytes[PARTS] = {
		[PART_WHEN] = model_events_nodes(SOURCES(n)) * sizeof(*m->next.when),
		[PART_SRC] = model_events_nodes(SOURCES(n)) * sizeof(*m->next.src),
		[PART_PU_WHEN] = model_events_nodes(MODEL_PUS) * sizeof(*m->units.when),
		[PART_PU_SRC] = model_events_nodes(MODEL_PUS) * sizeof(*m->units.src),
		[PART_UAR] = n->uars * sizeof(*m->uar),
		[PART_QP] = n->qps * sizeof(*m->qp),
		[PART_WR] = n->wrs * sizeof(*m->wr),
		[PART_HELD] = n->wrs * sizeof(*m->held),
		[PART_ELEMENT] = n->elements * sizeof(*m->element),
		[PART_CONTEXT] = 2 * n->contexts * sizeof(*m->cache.ctx),
		[PART_NEXT] = 2 * n->contexts * sizeof(*m->cache.next),
		[PART_BUCKET] = count_buckets(n) * sizeof(*m->cache.bucket),
		[PART_USE] = count_uses(n) * sizeof(*m->cache.use),
	};
	int i;

	for (at[0] = 0, i = 0; i < PARTS; i++)
		at[i + 1] = at[i] + (bytes[i] + LINE - 1) / LINE * LINE;
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
	lay_out(n, at);
	return at[PARTS] + LINE - 1;	/* the first line may begin within the memory */
}

int model_init(struct model *m, void *mem, const struct model_sizes *n,
	       const struct model_params *p, const struct model_ops *ops, void *ctx)
{
	size_t at[PARTS + 1];
	char *base = (char *)(((uintptr_t)mem + LINE - 1) / LINE * LINE);
	uint32_t i, c;

	if (!sizes_ok(n) || !params_ok(p))
		return -EINVAL;
	lay_out(n, at);
	memset(base, 0, at[PARTS]);
	memset(m, 0, sizeof(*m));
	m->n = *n;
	m->ops = ops;
	m->ctx = ctx;
	take_params(m, p);
	m->rng = p->seed ? p->seed : 1;
	model_events_init(&m->next, (void *)(base + at[PART_WHEN]),
			  (void *)(base + at[PART_SRC]), SOURCES(n));
	m->units.when = (void *)(base + at[PART_PU_WHEN]);
	m->units.src = (void *)(base + at[PART_PU_SRC]);
	model_pu_fit(m);
	m->uar = (void *)(base + at[PART_UAR]);
	m->qp = (void *)(base + at[PART_QP]);
	m->wr = (void *)(base + at[PART_WR]);
	m->held = (void *)(base + at[PART_HELD]);
	m->element = (void *)(base + at[PART_ELEMENT]);
	m->cache.ctx = (void *)(base + at[PART_CONTEXT]);
	m->cache.bucket = (void *)(base + at[PART_BUCKET]);
	m->cache.next = (void *)(base + at[PART_NEXT]);
	m->cache.mask = count_buckets(n) - 1;
	m->cache.slots = 2 * n->contexts;
	m->cache.use = (void *)(base + at[PART_USE]);
	m->cache.use_mask = count_uses(n) - 1;
	model_cache_init(m);
	for (i = 0; i < n->wrs; i++)
		m->wr[i].next = i + 1 < n->wrs ? i + 1 : MODEL_NONE;
	for (i = 0; i < n->uars; i++) {
		m->uar[i].qps = EMPTY_LIST;
		m->uar[i].last_qp = MODEL_NONE;
	}
	for (i = 0; i < n->elements; i++) {
		m->element[i].weight = 1;
		for (c = 0; c < MODEL_CLASSES; c++)
			m->element[i].group[c].qps = EMPTY_LIST;
	}
	for (i = 0; i < MODEL_PUS; i++)
		m->pu[i].wrs = EMPTY_LIST;
	for (c = 0; c < MODEL_CLASSES; c++)
		m->port.cls[c].groups = EMPTY_LIST;
	m->port.due = MODEL_NEVER;
	m->pipe = EMPTY_LIST;
	m->pipe_due = MODEL_NEVER;
	return 0;
}
