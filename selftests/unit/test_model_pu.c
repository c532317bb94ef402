// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The contention model's processing units and its cache. */
#include <math.h>
#include <stdio.h>

#include "model_rig.h"

static struct model_params pu_params(uint32_t pus)
{
	struct model_params p = rig_params();

	p.pus = pus;
	p.pu_ps = 1000;
	return p;
}

static void units_work_side_by_side(void **state)
{
	struct model_params p = pu_params(2);
	struct rig *r = rig_new(&p, 3);

	(void)state;
	rig_post(r, 0, 8, 0);
	rig_post(r, 1, 8, 0);
	rig_post(r, 2, 8, 0);	/* shares QP 0's unit */
	rig_run(r);
	assert_done(r, 0, 0, 1000);
	assert_done(r, 1, 1, 1000);
	assert_done(r, 2, 2, 2000);
	assert_int_equal(r->m.pu[0].busy_ps, 2000);
	assert_int_equal(r->m.pu[1].busy_ps, 1000);
	rig_free(r);
}

static void beyond_the_limit_wqes_displace_one_another(void **state)
{
	struct model_params p = pu_params(1);
	uint64_t ps, last = 0;
	unsigned int again = 0, i;
	struct rig *r;

	(void)state;
	p.wqe_limit = 2;
	p.wqe_refetch_q8 = 128;
	p.pipe_ps = 10;
	r = rig_new(&p, 1);
	rig_burst(r, 0, 2, 8, 0);
	assert_int_equal(r->m.n_held, 2);
	rig_run(r);
	assert_done(r, 1, 1, 2010);
	assert_int_equal(r->m.n_held, 0);
	assert_int_equal(r->m.stats.refetched, 0);

	/* The first is executed at once; of the four two are there when it is their turn. */
	rig_burst(r, 0, 4, 8, 10000);
	assert_int_equal(r->m.inflight, 4);
	assert_int_equal(r->m.n_held, 2);
	rig_run(r);
	for (i = 2; i < 6; i++) {
		ps = r->done[i].at - (i == 2 ? 10010 : last);
		assert_true(ps == 1000 || ps == 1500);
		again += ps == 1500;
		last = r->done[i].at;
	}
	assert_in_range(again, 1, 2);
	assert_int_equal(r->m.stats.refetched, again);
	assert_int_equal(r->m.stats.refetch_ps, again * 500);
	/* A smaller limit holds from the next WR on. */
	rig_burst(r, 0, 2, 8, 20000);
	p.wqe_limit = 1;
	assert_int_equal(model_set_params(&r->m, &p), 0);
	rig_post(r, 0, 8, 20000);
	assert_int_equal(r->m.n_held, 1);
	rig_run(r);
	assert_int_equal(r->m.n_held, 0);
	rig_free(r);
}

/*
 * Of so many WRs in the NIC as there is room for, none is fetched again; beyond, a
 * share that grows from nothing: m = 1 - e^(-m n / limit), as a WQE that stays for n
 * others meets m n that displace one.
 */
static void the_knee_is_no_cliff(void **state)
{
	struct model_params p = pu_params(1);
	double share, want;
	uint64_t when;
	size_t done;
	struct rig *r;
	uint32_t n, i;

	(void)state;
	p.wqe_limit = 200;
	for (n = 180; n <= 600; n += 60) {
		r = rig_new(&p, 1);
		rig_burst(r, 0, n, 8, 0);
		for (done = 0; done < 20000; ) {
			if (done == 5000)
				memset(&r->m.stats, 0, sizeof(r->m.stats));
			assert_true(model_next(&r->m, &when));
			model_run_until(&r->m, when);
			for (; done < r->n_done; done++)
				rig_post(r, 0, 8, when);
		}
		share = (double)r->m.stats.refetched / r->m.stats.done;
		for (want = 1, i = 0; i < 1000; i++)
			want = 1 - exp(-want * n / 200);
		printf("# %u WRs, room for 200: %.3f fetched again, %.3f by theory\n", n, share,
		       want);
		if (n <= 200)
			assert_int_equal(r->m.stats.refetched, 0);
		else
			assert_true(fabs(share - want) < 0.04);
		rig_free(r);
	}
}

static void payloads_are_fetched(void **state)
{
	struct model_params p = pu_params(1);
	struct rig *r;

	(void)state;
	p.payload_ps = 300;
	r = rig_new(&p, 1);
	assert_int_equal(model_post(&r->m, 0, MODEL_WRITE, 8, 0, 0, 0), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_WRITE, 0, 0, 1, 0), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 2, 0), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_INLINE, 8, 0, 3, 0), 0);
	rig_run(r);
	assert_done(r, 0, 0, 1300);
	assert_done(r, 1, 1, 2300);
	assert_done(r, 2, 2, 3300);
	assert_done(r, 3, 3, 4300);
	rig_free(r);
}

static void reads_hold_slots(void **state)
{
	struct model_qp_attr attr = { .qpn = 0, .cq = 0, .reads = 2 };
	struct model_params p = pu_params(1);
	struct rig *r;

	(void)state;
	p.pipe_ps = 10000;
	p.wqe_limit = 100;
	p.wqe_refetch_q8 = 64;
	r = rig_new(&p, 2);
	assert_int_equal(model_qp_modify(&r->m, 0, &attr), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 0, 0), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 1, 0), 0);
	/* No slot for the third, and the WRITE may not overtake it; other QPs go on. */
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 2, 0), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_WRITE, 8, 0, 3, 0), 0);
	assert_int_equal(model_post(&r->m, 1, MODEL_READ, 8, 0, 4, 0), 0);
	assert_int_equal(r->m.inflight, 5);
	assert_int_equal(r->m.n_held, 3);
	assert_int_equal(r->m.qp[0].slots, 2);
	assert_int_equal(r->m.stats.stalled, 2);
	rig_run(r);
	assert_done(r, 0, 0, 11000);
	assert_done(r, 1, 1, 12000);
	assert_done(r, 2, 4, 13000);
	/* Both were out of the NIC, and are fetched again. */
	assert_done(r, 3, 2, 11000 + 1250 + 10000);
	assert_done(r, 4, 3, 11000 + 2500 + 10000);
	assert_int_equal(r->m.stats.refetched, 2);
	assert_int_equal(r->m.qp[0].slots, 0);

	/* WRITEs want no slot, and a flushed QP has all of its own again. */
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 5, 50000), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 6, 50000), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_WRITE, 8, 0, 7, 50000), 0);
	assert_int_equal(r->m.stats.stalled, 2);
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 8, 50000), 0);
	assert_int_equal(r->m.stats.stalled, 3);
	assert_int_equal(model_qp_flush(&r->m, 0), 4);
	assert_int_equal(r->m.inflight, 3);
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 9, 50000), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_READ, 8, 0, 10, 50000), 0);
	assert_int_equal(r->m.stats.stalled, 3);
	rig_run(r);
	assert_int_equal(r->n_done, 7);
	assert_int_equal(r->m.inflight, 0);
	assert_int_equal(r->m.n_held, 0);
	rig_free(r);
}

static void jitter_is_uniform_and_repeatable(void **state)
{
	uint64_t last[2] = { 0, 0 }, sum, least, most, at;
	struct model_params p = pu_params(1);
	struct rig *r;
	int run, i;

	(void)state;
	p.jitter_pct = 50;
	p.pu_ps = 100000;
	p.seed = 42;
	for (run = 0; run < 2; run++) {
		r = rig_new(&p, 1);
		rig_burst(r, 0, 4000, 8, 0);
		rig_run(r);
		sum = 0;
		most = 0;
		least = UINT64_MAX;
		for (i = 0; i < 4000; i++) {
			at = r->done[i].at - (i ? r->done[i - 1].at : 0);
			sum += at;
			least = at < least ? at : least;
			most = at > most ? at : most;
		}
		assert_true(least >= 50000 && least < 51000);
		assert_true(most <= 150000 && most > 149000);
		assert_in_range(sum / 4000, 98000, 102000);
		last[run] = r->done[3999].at;
		rig_free(r);
	}
	assert_int_equal(last[0], last[1]);
	p.seed = 43;
	r = rig_new(&p, 1);
	rig_burst(r, 0, 4000, 8, 0);
	rig_run(r);
	assert_int_not_equal(r->done[3999].at, last[0]);
	rig_free(r);
}

static void control_verbs_take_their_share(void **state)
{
	struct model_params p = pu_params(2);
	struct rig *r;
	uint64_t done;

	(void)state;
	p.ctrl_ps = 5000;
	r = rig_new(&p, 2);
	assert_int_equal(model_control(&r->m, 0, 0, &done), 0);
	assert_int_equal(done, 5000);
	rig_post(r, 0, 8, 0);
	rig_post(r, 1, 8, 0);
	rig_run(r);
	assert_done(r, 0, 1, 1000);
	assert_done(r, 1, 0, 6000);

	/* In turn, and after what is in work, but before what waits. */
	rig_post(r, 1, 8, 10000);
	rig_post(r, 1, 8, 10000);
	assert_int_equal(model_control(&r->m, 300, 10000, &done), 0);
	assert_int_equal(done, 11300);
	rig_run(r);
	assert_done(r, 2, 2, 11000);
	assert_done(r, 3, 3, 12300);
	assert_int_equal(r->m.stats.ctrl, 2);
	assert_int_equal(r->m.stats.ctrl_ps, 5300);
	rig_free(r);
}

static void units_change_live_in_order(void **state)
{
	struct model_params p = pu_params(4);
	struct rig *r = rig_new(&p, 16);
	uint64_t seen[16] = { 0 };
	uint32_t q, i, k;

	(void)state;
	for (k = 0; k < 8; k++) {
		for (q = 0; q < 16; q++)
			rig_burst(r, q, 10, 8, k * 3000);
		model_run_until(&r->m, (k + 1) * 3000);
		p.pus = k == 3 ? 0 : 1 + (k * 5) % 7;
		assert_int_equal(model_set_params(&r->m, &p), 0);
	}
	rig_run(r);
	assert_int_equal(r->n_done, 8 * 160);
	for (i = 0; i < r->n_done; i++) {
		assert_true(r->done[i].cookie >= seen[r->done[i].qp]);
		seen[r->done[i].qp] = r->done[i].cookie;
	}
	rig_free(r);
}

static struct model_params cache_params(uint32_t bytes)
{
	struct model_params p = pu_params(1);

	p.cache_bytes = bytes;
	p.entry_bytes[MODEL_QPC] = 100;
	p.entry_bytes[MODEL_MTT] = 50;
	p.entry_bytes[MODEL_CQC] = 25;
	p.fetch_ps = 7000;
	return p;
}

static void a_miss_costs_a_fetch(void **state)
{
	struct model_params p = cache_params(1000);
	struct rig *r = rig_new(&p, 2);

	(void)state;
	assert_int_equal(model_post(&r->m, 0, MODEL_INLINE, 8, 77, 0, 0), 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_INLINE, 8, 77, 1, 0), 0);
	assert_int_equal(model_post(&r->m, 1, MODEL_INLINE, 8, 77, 2, 0), 0);
	assert_int_equal(model_post(&r->m, 1, MODEL_INLINE, 8, 0, 3, 0), 0);
	rig_run(r);
	assert_done(r, 0, 0, 1000 + 3 * 7000);
	assert_done(r, 1, 1, 22000 + 1000);
	assert_done(r, 2, 2, 23000 + 1000 + 2 * 7000);
	assert_done(r, 3, 3, 38000 + 1000);
	assert_int_equal(r->m.stats.misses[MODEL_QPC], 2);
	assert_int_equal(r->m.stats.misses[MODEL_MTT], 1);
	assert_int_equal(r->m.stats.misses[MODEL_CQC], 2);
	assert_int_equal(r->m.stats.hits[MODEL_QPC], 2);
	assert_int_equal(r->m.stats.hits[MODEL_MTT], 2);
	assert_int_equal(r->m.stats.hits[MODEL_CQC], 2);
	assert_int_equal(r->m.stats.fetch_ps, 5 * 7000);
	assert_int_equal(r->m.cache.bytes, 2 * 100 + 50 + 2 * 25);
	rig_free(r);
}

/* Husky's point, as the presets have it: 7 WQE times for a miss rate of 1. */
static void misses_cost_what_was_measured(void **state)
{
	uint64_t misses, lookups, ps[2];
	uint32_t t, i, k, rng = 1;
	struct model_params p;
	struct rig *r;

	(void)state;
	model_preset(MODEL_CX5, &p);
	p.uar_ps = 0;
	p.link_bps = 0;
	p.jitter_pct = 0;
	p.wqe_limit = 0;
	p.pus = 1;
	for (k = 0; k < MODEL_KINDS; k++)
		p.entry_bytes[k] = 1;
	for (t = 0; t < 2; t++) {
		/* Uniformly of 48 contexts: what does not fit is the miss rate. */
		p.cache_bytes = t ? 24 : 40;
		r = rig_new(&p, 16);
		for (i = 0; i < 4000; i++) {
			rng = rng * 1664525 + 1013904223;
			model_post(&r->m, rng >> 28, MODEL_INLINE, 8, 1 + (rng >> 24 & 15), i, 0);
		}
		rig_run(r);
		misses = 0;
		lookups = 0;
		for (k = 0; k < MODEL_KINDS; k++) {
			misses += r->m.stats.misses[k];
			lookups += r->m.stats.misses[k] + r->m.stats.hits[k];
		}
		assert_int_equal(lookups, 3 * 4000);
		assert_in_range(100 * misses / lookups, t ? 47 : 13, t ? 52 : 19);
		ps[t] = r->m.pu[0].busy_ps / 4000;
		/* 1 + 7 * miss rate, in thousandths */
		assert_in_range(ps[t] * 1000 / p.pu_ps, 995 + 7000 * misses / lookups,
				1005 + 7000 * misses / lookups);
		rig_free(r);
	}
	/* 96.6 / 48 = 2.01, with misses at 17 and 49 %; here nearly those */
	assert_in_range(ps[1] * 100 / ps[0], 190, 225);
}

static void the_receiver_stalls_its_unit(void **state)
{
	struct model_params p = cache_params(1000);
	struct rig *r = rig_new(&p, 1);

	(void)state;
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 0, 0), 1);
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 0, 0), 0);
	assert_int_equal(model_touch(&r->m, 0, MODEL_CQC, 0, 0), 1);
	rig_post(r, 0, 8, 0);
	rig_run(r);
	assert_done(r, 0, 0, 2 * 7000 + 1000);
	/* Gone, and fetched again. */
	model_forget(&r->m, MODEL_QPC, 0);
	model_forget(&r->m, MODEL_QPC, 12345);
	assert_int_equal(r->m.cache.bytes, 25);
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 0, 20000), 1);
	rig_free(r);
}

static void what_never_fits_is_always_a_miss(void **state)
{
	struct model_params p = cache_params(60);
	struct rig *r = rig_new(&p, 1);

	(void)state;
	assert_int_equal(model_touch(&r->m, 0, MODEL_MTT, 5, 0), 1);
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 0, 0), 1);
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 0, 0), 1);
	/* It did not push out what does fit. */
	assert_int_equal(model_touch(&r->m, 0, MODEL_MTT, 5, 0), 0);
	rig_free(r);
}

/* The same by the book: an array, the least recently used first. */
struct naive {
	struct {
		uint64_t key;
		int kind;
	} v[256];
	size_t n, bytes, evictions;
};

static void naive_drop(struct naive *c, const struct model_params *p, size_t i)
{
	c->bytes -= p->entry_bytes[c->v[i].kind];
	memmove(&c->v[i], &c->v[i + 1], (--c->n - i) * sizeof(c->v[0]));
}

static size_t naive_find(const struct naive *c, int kind, uint64_t key)
{
	size_t i;

	for (i = 0; i < c->n && (c->v[i].key != key || c->v[i].kind != kind); i++)
		;
	return i;
}

static int naive_use(struct naive *c, const struct model_params *p, int kind, uint64_t key)
{
	size_t i = naive_find(c, kind, key);
	int miss = i == c->n;

	if (!miss)
		naive_drop(c, p, i);
	while (c->bytes + p->entry_bytes[kind] > p->cache_bytes || c->n == rig_sizes.contexts) {
		naive_drop(c, p, 0);
		c->evictions++;
	}
	c->v[c->n].key = key;
	c->v[c->n++].kind = kind;
	c->bytes += p->entry_bytes[kind];
	return miss;
}

static void lru_is_exact(void **state)
{
	/* The first is bound by bytes, the last by the contexts there is memory for. */
	static const uint32_t sizes[] = { 300, 1000, 2000, 100000 };
	struct naive naive;
	uint32_t i, rng, kind, t;
	struct model_params p;
	struct rig *r;
	uint64_t key;

	(void)state;
	for (t = 0; t < 4; t++) {
		p = cache_params(sizes[t]);
		r = rig_new(&p, 1);
		memset(&naive, 0, sizeof(naive));
		rng = 1;
		for (i = 0; i < 20000; i++) {
			rng = rng * 1664525 + 1013904223;
			kind = (rng >> 8) % MODEL_KINDS;
			/* half of it to a few keys */
			key = rng >> 31 ? (rng >> 12) % 8 : (rng >> 12) % 64;
			if (rng % 97 == 0) {
				size_t at = naive_find(&naive, kind, key);

				model_forget(&r->m, kind, key);
				if (at < naive.n)
					naive_drop(&naive, &p, at);
				continue;
			}
			assert_int_equal(model_touch(&r->m, 0, kind, key, 0),
					 naive_use(&naive, &p, kind, key));
			assert_int_equal(r->m.cache.bytes, naive.bytes);
			assert_int_equal(r->m.cache.n, naive.n);
		}
		assert_int_equal(r->m.stats.evictions, naive.evictions);
		assert_true(naive.evictions > 100);
		rig_free(r);
	}
}

static void a_smaller_cache_lets_go_of_the_oldest(void **state)
{
	struct model_params p = cache_params(1000);
	struct rig *r = rig_new(&p, 1);
	uint64_t key;

	(void)state;
	for (key = 1; key <= 10; key++)
		model_touch(&r->m, 0, MODEL_QPC, key, 0);
	p.cache_bytes = 300;
	assert_int_equal(model_set_params(&r->m, &p), 0);
	assert_int_equal(r->m.cache.n, 3);
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 8, 0), 0);
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 7, 0), 1);
	p.entry_bytes[MODEL_QPC] = 10;
	assert_int_equal(model_set_params(&r->m, &p), 0);
	assert_int_equal(r->m.cache.bytes, 0);
	p.cache_bytes = 0;
	assert_int_equal(model_set_params(&r->m, &p), 0);
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 7, 0), 0);
	rig_free(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_work_side_by_side),
		cmocka_unit_test(beyond_the_limit_wqes_displace_one_another),
		cmocka_unit_test(the_knee_is_no_cliff),
		cmocka_unit_test(payloads_are_fetched),
		cmocka_unit_test(reads_hold_slots),
		cmocka_unit_test(jitter_is_uniform_and_repeatable),
		cmocka_unit_test(control_verbs_take_their_share),
		cmocka_unit_test(units_change_live_in_order),
		cmocka_unit_test(a_miss_costs_a_fetch),
		cmocka_unit_test(misses_cost_what_was_measured),
		cmocka_unit_test(the_receiver_stalls_its_unit),
		cmocka_unit_test(what_never_fits_is_always_a_miss),
		cmocka_unit_test(lru_is_exact),
		cmocka_unit_test(a_smaller_cache_lets_go_of_the_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
