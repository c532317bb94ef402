// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processing units: execute WQEs, fetch contexts that the cache lacks, execute control
 * verbs.
 */
#include "model/internal.h"

/* The cost of the contexts of @wr that are not in the cache. */
static uint64_t fetch_contexts(struct model *m, const struct model_wr *wr)
{
	uint64_t ps;

	if (!m->p.cache_bytes)
		return 0;
	ps = (uint64_t)model_cache_misses(m, &m->qp[wr->qp], wr->mtt) * m->p.fetch_ps;
	m->stats.fetch_ps += ps;
	return ps;
}

/*
 * A unit's time for a WQE and its payload, and for fetching the WQE again if it was
 * displaced.
 */
static uint64_t wqe_ps(struct model *m, const struct model_wr *wr)
{
	/* Added up without branches, which could not be predicted. */
	unsigned int fetches = wr->stalled + (!!m->p.wqe_limit & (wr->held == MODEL_NONE));
	uint64_t ps = m->p.pu_ps, again, swing;

	if (wr->op == MODEL_WRITE && wr->bytes)
		ps += m->p.payload_ps;
	again = ((uint64_t)m->p.pu_ps * m->p.wqe_refetch_q8 >> 8) * fetches;
	m->stats.refetch_ps += again;
	m->stats.refetched += fetches;
	ps += again;
	if (m->jitter_q16) {
		swing = ps * m->jitter_q16 >> 16;
		ps = ps - swing + (2 * swing * (model_random(m) >> 16) >> 16);
	}
	return ps;
}

/*
 * Prefetches what the WRs that follow @wr on its unit need from the cache of contexts: for the next
 * WR its contexts, and for the WR after it the data that locates its contexts. With many QPs, the
 * CPU's caches would evict data that was prefetched earlier before it is used.
 */
static inline void expect_state(const struct model *m, const struct model_wr *wr)
{
	const struct model_wr *next;

	if (!m->p.cache_bytes || wr->next == MODEL_NONE)
		return;
	next = &m->wr[wr->next];
	model_cache_expect(m, &m->qp[next->qp], next->mtt);
	if (next->next == MODEL_NONE)
		return;
	next = &m->wr[next->next];
	model_prefetch(&m->qp[next->qp]);
	model_cache_expect_mtt(m, next->mtt);
}

/* Starts the next work of an idle unit. */
static inline void pu_start(struct model *m, uint32_t k)
{
	struct model_pu *pu = &m->pu[k];
	uint64_t ps = 0;

	pu->stalled = pu->stall_ps != 0;
	if (pu->stalled) {
		ps = pu->stall_ps;
		pu->stall_ps = 0;
	} else if (pu->wrs.head == MODEL_NONE) {
		model_events_set(&m->units, k, MODEL_NEVER);
		return;
	} else if (!wr_dead(m, &m->wr[pu->wrs.head])) {
		ps = wqe_ps(m, &m->wr[pu->wrs.head]) +
		     fetch_contexts(m, &m->wr[pu->wrs.head]);
		expect_state(m, &m->wr[pu->wrs.head]);
	}
	pu->busy = true;
	pu->busy_ps += ps;
	pu->free_at = m->now + ps;
	model_events_set(&m->units, k, pu->free_at);
}

/* Starts a unit that had no work. It is MODEL_APART because most units always have work. */
static MODEL_APART void pu_wake(struct model *m, uint32_t k)
{
	pu_start(m, k);
}

void model_pu_add(struct model *m, uint32_t wr)
{
	struct model_qp *qp = &m->qp[m->wr[wr].qp];

	/*
	 * A QP changes its unit only when it has no WR there; else WRs could overtake one
	 * another.
	 */
	if (!qp->in_pu) {
		if (!m->p.pus) {
			model_port_add(m, wr);
			return;
		}
		qp->pu = (uint8_t)(qp->qpn % m->p.pus);
	}
	qp->in_pu++;
	wr_push(m, &m->pu[qp->pu].wrs, wr);
	if (!m->pu[qp->pu].busy)
		pu_wake(m, qp->pu);
}

static void pu_stall(struct model *m, uint32_t k, uint64_t ps)
{
	m->pu[k].stall_ps += ps;
	if (!m->pu[k].busy)
		pu_wake(m, k);
}

void model_pu_event(struct model *m, uint32_t k)
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
			model_port_add(m, wr);
		}
	}
	pu_start(m, k);
}

void model_pu_fit(struct model *m)
{
	uint32_t n = m->p.pus, k;

	/* A busy unit that the parameters removed still completes its work. */
	for (k = n; k < MODEL_PUS; k++)
		if (m->pu[k].busy)
			n = k + 1;
	model_events_init(&m->units, m->units.when, m->units.src, n);
	for (k = 0; k < n; k++)
		if (m->pu[k].busy)
			model_events_set(&m->units, k, m->pu[k].free_at);
}

int model_control(struct model *m, uint64_t ps, uint64_t now, uint64_t *done)
{
	struct model_pu *pu = &m->pu[m->ctrl_pu];
	int err = model_advance(m, now);

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

int model_touch(struct model *m, uint32_t q, enum model_kind kind, uint64_t key,
		uint64_t now)
{
	int err;

	if (q >= m->n.qps || !m->qp[q].open || kind >= MODEL_KINDS)
		return -EINVAL;
	err = model_advance(m, now);
	if (err)
		return err;
	if (!m->p.cache_bytes || model_cache_use(m, kind, key))
		return 0;
	m->stats.fetch_ps += m->p.fetch_ps;
	if (m->p.pus)
		pu_stall(m, m->qp[q].qpn % m->p.pus, m->p.fetch_ps);
	return 1;
}
