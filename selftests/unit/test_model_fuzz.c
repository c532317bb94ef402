// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The contention model under random calls, after each of which its books must
 * balance: every WR and byte posted is done once, dropped once or in there.
 */
#include "model_rig.h"

#define COOKIES 200000

static const struct model_sizes sizes = {
	.uars = 3, .qps = 12, .wrs = 300, .elements = 4, .contexts = 40,
};

enum fate { UNPOSTED, POSTED, DONE, DROPPED };

struct world {
	struct model m;
	uint32_t rng;
	uint64_t cookies;
	uint8_t fate[COOKIES];
	uint8_t qp_of[COOKIES];
	uint64_t next_of[12];	/* the QP's next completion is not before that one */
	uint64_t last;		/* time of the last one told */
	uint64_t done, done_bytes;
	int congested[3];
	unsigned int echo;	/* of 8 completions, how many post another */
};

static uint32_t rnd(struct world *w, uint32_t bound)
{
	w->rng = w->rng * 1664525 + 1013904223;
	return (w->rng >> 8) % bound;
}

static uint32_t rnd_bytes(struct world *w)
{
	static const uint32_t bound[] = { 2, 100, 5000, 100000 };

	return rnd(w, bound[rnd(w, 4)]);
}

static void post(struct world *w, uint32_t qp, uint64_t now)
{
	int err;

	if (w->cookies == COOKIES)
		return;
	err = model_post(&w->m, qp, rnd(w, 3), rnd_bytes(w), rnd(w, 30), w->cookies, now);
	if (err) {
		assert_true(err == -ENOBUFS || (err == -EINVAL && !w->m.qp[qp].open));
		return;
	}
	w->qp_of[w->cookies] = qp;
	w->fate[w->cookies++] = POSTED;
}

static void on_done(void *ctx, const struct model_done *done)
{
	struct world *w = ctx;

	assert_true(done->cookie < w->cookies);
	assert_int_equal(w->fate[done->cookie], POSTED);
	assert_int_equal(w->qp_of[done->cookie], done->qp);
	assert_true(done->at >= w->last && done->at >= done->posted);
	assert_int_equal(done->at, w->m.now);
	/* In the order in which they were posted. */
	assert_true(done->cookie >= w->next_of[done->qp]);
	w->next_of[done->qp] = done->cookie + 1;
	w->fate[done->cookie] = DONE;
	w->last = done->at;
	w->done++;
	w->done_bytes += done->bytes;
	if (rnd(w, 8) < w->echo)
		post(w, done->qp, done->at);
}

static void on_congestion(void *ctx, uint32_t uar, bool congested, uint64_t at)
{
	struct world *w = ctx;

	(void)at;
	/* Never raised or cleared twice in a row. */
	assert_int_equal(w->congested[uar], !congested);
	w->congested[uar] = congested;
}

static const struct model_ops ops = {
	.done = on_done, .congestion = on_congestion,
};

/* WRs of a QP in the NIC: granted, not done. */
static uint64_t inflight(const struct model *m, const struct model_qp *qp)
{
	uint64_t n = qp->posted - qp->done;
	uint32_t w;

	for (w = qp->ungranted.head; w != MODEL_NONE; w = m->wr[w].next) {
		assert_true(n);
		n--;
	}
	return n;
}

static void check_tree(const struct model *m, const struct model_events *e)
{
	uint32_t i, winner;

	for (i = 1; i < e->leaf; i++) {
		winner = 2 * i + (e->when[2 * i + 1] < e->when[2 * i]);
		assert_true(e->when[i] == e->when[winner]);
		assert_true(e->when[i] == MODEL_NEVER || e->src[i] == e->src[winner]);
	}
	for (; i < 2 * e->leaf; i++) {
		assert_true(e->when[i] >= m->now);
		assert_true(e->when[i] == MODEL_NEVER || e->src[i] == i - e->leaf);
	}
}

static void check_events(const struct model *m)
{
	check_tree(m, &m->next);
	check_tree(m, &m->units);
	assert_true(m->port.due >= m->now && m->pipe_due >= m->now);
	assert_int_equal(m->pipe_due == MODEL_NEVER, m->pipe.head == MODEL_NONE);
	assert_true(m->pipe.head == MODEL_NONE || m->pipe_due == m->wr[m->pipe.head].due);
}

static void check_port(const struct model *m)
{
	uint64_t backlog[MODEL_CLASSES] = { 0 }, bytes;
	uint32_t waiting[MODEL_CLASSES] = { 0 }, q, w, n, c, e, g, listed = 0, qps = 0;

	for (q = 0; q < m->n.qps; q++) {
		const struct model_qp *qp = &m->qp[q];

		if (!qp->open)
			continue;
		bytes = 0;
		n = 0;
		for (w = qp->ready.head; w != MODEL_NONE; w = m->wr[w].next, n++)
			bytes += m->wr[w].left;
		assert_int_equal(bytes, qp->ready_bytes);
		assert_int_equal(n, qp->n_ready);
		assert_int_equal(qp->listed, n != 0);
		assert_true(inflight(m, qp) >= n + qp->in_pu);
		backlog[qp->cls] += bytes;
		waiting[qp->cls] += n;
		listed += qp->listed;
	}
	for (c = 0; c < MODEL_CLASSES; c++) {
		assert_int_equal(m->port.cls[c].backlog, backlog[c]);
		assert_int_equal(m->port.cls[c].waiting, waiting[c]);
		assert_int_equal(m->port.listed >> c & 1,
				 m->port.cls[c].groups.head != MODEL_NONE);
		for (g = m->port.cls[c].groups.head; g != MODEL_NONE;
		     g = m->element[g / MODEL_CLASSES].group[c].next) {
			assert_int_equal(g % MODEL_CLASSES, c);
			assert_true(m->element[g / MODEL_CLASSES].group[c].listed);
		}
		for (e = 0; e < m->n.elements; e++) {
			const struct model_group *group = &m->element[e].group[c];

			for (q = group->qps.head; q != MODEL_NONE; q = m->qp[q].ready_next, qps++) {
				assert_int_equal(m->qp[q].cls, c);
				assert_int_equal(m->qp[q].element, e);
			}
			assert_int_equal(group->listed, group->qps.head != MODEL_NONE &&
							!m->element[e].blocked);
		}
	}
	assert_int_equal(qps, listed);
	/* Work conserving: with anything to send, the port looks when the wire is free. */
	if (m->port.listed)
		assert_int_equal(m->port.due, m->port.free_at);
}

/* WQEs that the NIC has are those of WRs in it; slots those of READs that go. */
static void check_wqes(const struct model *m)
{
	uint32_t i, w, n;

	assert_true(m->n_held <= m->inflight);
	for (i = 0; i < m->n_held; i++)
		assert_int_equal(m->wr[m->held[i]].held, i);
	for (i = 0; i < m->n.qps; i++) {
		const struct model_qp *qp = &m->qp[i];

		if (!qp->open)
			continue;
		for (w = qp->stalled.head, n = 0; w != MODEL_NONE; w = m->wr[w].next, n++)
			assert_int_equal(m->wr[w].held, MODEL_NONE);
		assert_true(qp->slots + n <= inflight(m, qp));
		/* What stands first has no slot, or it would go. */
		assert_true(!n || qp->slots);
	}
}

static void check_books(const struct world *w)
{
	const struct model *m = &w->m;
	uint32_t i, k, wr, used = 0, ungranted = 0, live = 0, congested = 0;
	uint64_t live_bytes = 0;

	for (i = m->free_wr; i != MODEL_NONE; i = m->wr[i].next)
		used++;
	used = m->n.wrs - used;
	assert_int_equal(used, m->inflight + m->ungranted);
	for (i = 0; i < m->n.uars; i++) {
		ungranted += m->uar[i].pending;
		congested += m->uar[i].congested;
		assert_int_equal(m->uar[i].congested, w->congested[i]);
		k = 0;
		for (wr = m->uar[i].qps.head; m->uar[i].active > k; wr = m->qp[wr].uar_next)
			k++;
		assert_true(!k == !m->uar[i].pending);
		assert_true(!k || m->next.when[m->next.leaf + i] != MODEL_NEVER);
	}
	assert_int_equal(ungranted, m->ungranted);
	assert_int_equal(congested, m->congested);
	for (i = 0; i < m->n.qps; i++)
		if (m->qp[i].open) {
			live += (uint32_t)(m->qp[i].posted - m->qp[i].done);
			live_bytes += m->qp[i].bytes;
		}
	assert_true(used >= live);
	assert_int_equal(m->stats.posted, w->cookies);
	assert_int_equal(m->stats.done, w->done);
	assert_int_equal(m->stats.done_bytes, w->done_bytes);
	assert_int_equal(m->stats.posted, m->stats.done + m->stats.dropped + live);
	assert_int_equal(m->stats.posted_bytes,
			 m->stats.done_bytes + m->stats.dropped_bytes + live_bytes);
	assert_true(m->cache.bytes <= m->p.cache_bytes && m->cache.n <= m->n.contexts);
}

static void rnd_params(struct world *w, struct model_params *p)
{
	uint32_t i;

	memset(p, 0, sizeof(*p));
	p->seed = rnd(w, 4);
	p->uar_ps = rnd(w, 2) * rnd(w, 500000);
	p->uar_exp = rnd(w, 2) * rnd(w, MODEL_EXP + 1);
	p->uar_hold_ps = rnd(w, 2) * rnd(w, 200000);
	p->uar_raise = rnd(w, 3) * (1 + rnd(w, 20));
	p->uar_clear = p->uar_raise ? rnd(w, p->uar_raise) : 0;
	p->cache_bytes = rnd(w, 3) * rnd(w, 3000);
	for (i = 0; i < MODEL_KINDS; i++)
		p->entry_bytes[i] = 1 + rnd(w, 400);
	p->fetch_ps = rnd(w, 2) * 1000000;
	p->wqe_limit = rnd(w, 2) * rnd(w, 100);
	p->wqe_refetch_q8 = rnd(w, 1000);
	p->pus = rnd(w, 4) * rnd(w, 9);
	p->pu_ps = rnd(w, 300000);
	p->payload_ps = rnd(w, 2) * rnd(w, 300000);
	p->jitter_pct = rnd(w, 101);
	p->ctrl_ps = rnd(w, 5000000);
	p->link_bps = rnd(w, 4) ? 1000000000ULL * (1 + rnd(w, 400)) : 0;
	p->mtu = 256 << rnd(w, 5);
	p->header = rnd(w, 60);
	p->whole_messages = rnd(w, 2);
	p->strict = rnd(w, 256);
	for (i = 0; i < MODEL_CLASSES; i++)
		p->weight[i] = rnd(w, 101);
	p->pipe_ps = rnd(w, 2) * rnd(w, 3000000);
	p->late_ps = rnd(w, 1000);
}

/* @qp's WRs of whom nothing was told are not to be told of any more. */
static void drop(struct world *w, uint32_t qp, uint32_t told)
{
	uint64_t i;
	uint32_t n = 0;

	/* Not more than there is memory for can be in there. */
	for (i = w->next_of[qp]; i < w->cookies; i++)
		if (w->fate[i] == POSTED && w->qp_of[i] == qp) {
			w->fate[i] = DROPPED;
			n++;
		}
	assert_int_equal(n, told);
	w->next_of[qp] = w->cookies;
}

static void act(struct world *w)
{
	struct model_params params;
	struct model_qp_attr attr;
	uint64_t when, bps, now = w->m.now;
	uint32_t qp = rnd(w, sizes.qps), i;

	switch (rnd(w, 40)) {
	case 0:
		rnd_params(w, &params);
		assert_int_equal(model_set_params(&w->m, &params), 0);
		break;
	case 1:
		drop(w, qp, model_qp_flush(&w->m, qp));
		break;
	case 2:
		if (w->m.qp[qp].open) {
			drop(w, qp, model_qp_flush(&w->m, qp));
			model_qp_close(&w->m, qp);
		}
		break;
	case 3:
	case 4:
	case 5:
		attr = (struct model_qp_attr) {
			.qpn = w->m.qp[qp].open ? w->m.qp[qp].qpn : rnd(w, 1000),
			.uar = rnd(w, sizes.uars), .cq = rnd(w, 10),
			.element = rnd(w, sizes.elements), .cls = rnd(w, MODEL_CLASSES),
			.reads = rnd(w, 6),
		};
		if (w->m.qp[qp].open)
			model_qp_modify(&w->m, qp, &attr);
		else
			assert_int_equal(model_qp_open(&w->m, qp, &attr), 0);
		break;
	case 6:
		bps = rnd(w, 2) * (1000000000ULL + rnd(w, 1 << 24) * 5000ULL);
		assert_int_equal(model_element_set(&w->m, rnd(w, sizes.elements), bps,
						   rnd_bytes(w), rnd(w, 10)), 0);
		break;
	case 7:
		assert_int_equal(model_control(&w->m, rnd(w, 2) * rnd(w, 1000000), now, &when), 0);
		assert_true(when >= now);
		break;
	case 8:
		model_touch(&w->m, qp, rnd(w, MODEL_KINDS), rnd(w, 50), now);
		break;
	case 9:
		model_forget(&w->m, rnd(w, MODEL_KINDS), rnd(w, 50));
		break;
	default:
		if (rnd(w, 2)) {
			for (i = rnd(w, 10); i; i--)
				post(w, qp, now);
			break;
		}
		/* To the next event, or some time on whatever there is. */
		if (!rnd(w, 2) || !model_next(&w->m, &when))
			when = now + rnd(w, 3000000);
		assert_true(when >= now);
		model_run_until(&w->m, when);
		assert_int_equal(w->m.now, when);
		assert_true(!model_next(&w->m, &now) || now > when);
		break;
	}
}

static void books_balance(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct model_params params;
	uint64_t when, total = 0;
	uint32_t seed, i;
	void *mem;

	(void)state;
	assert_non_null(w);
	mem = malloc(model_bytes(&sizes));
	assert_non_null(mem);
	for (seed = 1; seed <= 60; seed++) {
		memset(w, 0, sizeof(*w));
		w->rng = seed;
		w->echo = rnd(w, 8);
		rnd_params(w, &params);
		assert_int_equal(model_init(&w->m, mem, &sizes, &params, &ops, w), 0);
		for (i = 0; i < 2500; i++) {
			act(w);
			check_events(&w->m);
			check_port(&w->m);
			check_wqes(&w->m);
			check_books(w);
		}
		w->echo = 0;
		while (model_next(&w->m, &when))
			model_run_until(&w->m, when);
		check_books(w);
		/* Everything came out: nothing waits for ever, nothing was lost. */
		assert_int_equal(w->m.inflight, 0);
		assert_int_equal(w->m.n_held, 0);
		assert_int_equal(w->m.ungranted, 0);
		for (i = 0; i < w->cookies; i++)
			assert_true(w->fate[i] == DONE || w->fate[i] == DROPPED);
		total += w->done;
	}
	assert_true(total > 100000);
	free(mem);
	free(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(books_balance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
