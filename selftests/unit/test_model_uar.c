// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The contention model's doorbell registers, and what concerns the whole. */
#include <math.h>

#include "model_rig.h"

static void growth_is_a_power(void **state)
{
	static const uint32_t exps[] = { 1, 290, 357, 500, 1000, MODEL_EXP };
	static struct model_crowd c;
	double want;
	uint32_t n;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(exps) / sizeof(exps[0]); i++) {
		model_crowd_init(&c, 454000, exps[i]);
		assert_int_equal(model_crowd_ps(&c, 0), 0);
		assert_int_equal(model_crowd_ps(&c, 1), 454000);
		for (n = 2; n <= MODEL_CROWD; n++) {
			want = 454000 * pow(n, exps[i] / 1000.0);
			assert_true(fabs(model_crowd_ps(&c, n) / want - 1) < 2e-5);
		}
		assert_int_equal(model_crowd_ps(&c, MODEL_CROWD + 1), c.ps[MODEL_CROWD]);
		assert_int_equal(model_crowd_ps(&c, UINT32_MAX), c.ps[MODEL_CROWD]);
	}
	/* The same for any number: nobody gets in the way of anybody. */
	model_crowd_init(&c, 1000, 0);
	assert_int_equal(model_crowd_ps(&c, MODEL_CROWD), 1000);
	model_crowd_init(&c, UINT32_MAX, MODEL_EXP);
	want = 130.0 * 130 * UINT32_MAX;
	assert_true(fabs(model_crowd_ps(&c, MODEL_CROWD) / want - 1) < 2e-5);
}

static void alone_costs_nothing(void **state)
{
	struct model_params p = rig_params();
	struct rig *r;

	(void)state;
	p.uar_ps = 1000;
	p.uar_hold_ps = 100;
	r = rig_new(&p, 2);
	rig_burst(r, 0, 10, 8, 0);
	assert_int_equal(r->m.inflight, 10);
	assert_int_equal(r->m.ungranted, 0);
	rig_run(r);
	assert_int_equal(r->n_done, 10);
	assert_done(r, 9, 9, 0);
	/* Another one that comes when the register is free again: nothing either. */
	rig_post(r, 1, 8, 100);
	rig_run(r);
	assert_done(r, 10, 10, 100);
	assert_int_equal(r->m.uar[0].contended, 0);
	rig_free(r);
}

static void waiting_grows_with_who_waits(void **state)
{
	struct model_params p = rig_params();
	struct rig *r;
	uint64_t at;

	(void)state;
	p.uar_ps = 1000;
	p.uar_exp = 500;
	p.uar_hold_ps = 100;
	r = rig_new(&p, 4);
	rig_post(r, 0, 8, 0);
	model_run_until(&r->m, 50);
	rig_post(r, 1, 8, 50);
	rig_post(r, 2, 8, 50);
	rig_post(r, 3, 8, 50);
	assert_int_equal(r->m.uar[0].active, 3);
	rig_run(r);
	assert_done(r, 0, 0, 0);
	at = 100 + 1732;	/* the root of 3 */
	assert_done(r, 1, 1, at);
	at += 1414;
	assert_done(r, 2, 2, at);
	at += 1000;
	assert_done(r, 3, 3, at);
	assert_int_equal(r->m.uar[0].contended, 3);
	assert_int_equal(r->m.uar[0].granted, 4);
	assert_int_equal(r->m.uar[0].peak, 3);
	rig_free(r);
}

static void qps_take_turns(void **state)
{
	static const uint64_t order[] = { 0, 1, 4, 2, 3 };
	struct model_params p = rig_params();
	struct rig *r;
	size_t i;

	(void)state;
	p.uar_ps = 1000;
	p.uar_hold_ps = 100;
	r = rig_new(&p, 3);
	rig_post(r, 0, 8, 0);
	rig_post(r, 1, 8, 0);
	rig_post(r, 1, 8, 0);
	rig_post(r, 1, 8, 0);
	rig_post(r, 2, 8, 0);
	rig_run(r);
	assert_int_equal(r->n_done, 5);
	for (i = 0; i < 5; i++)
		assert_int_equal(r->done[i].cookie, order[i]);
	rig_free(r);
}

static void registers_are_apart(void **state)
{
	struct model_params p = rig_params();
	struct model_qp_attr attr = { .qpn = 1, .uar = 1 };
	struct rig *r;

	(void)state;
	p.uar_ps = 1000;
	p.uar_hold_ps = 100;
	r = rig_new(&p, 2);
	assert_int_equal(model_qp_modify(&r->m, 1, &attr), 0);
	assert_int_equal(r->m.uar[0].attached, 1);
	assert_int_equal(r->m.uar[1].attached, 1);
	rig_post(r, 0, 8, 0);
	rig_post(r, 1, 8, 0);
	rig_run(r);
	assert_done(r, 1, 1, 0);
	rig_free(r);
}

static void host_locks_are_not_charged_twice(void **state)
{
	struct model_params p = rig_params();
	struct rig *r;
	uint32_t q;

	(void)state;
	p.uar_hold_ps = 1000000;
	r = rig_new(&p, 16);
	for (q = 0; q < 16; q++)
		rig_post(r, q, 8, 0);
	assert_int_equal(r->m.inflight, 16);
	rig_run(r);
	assert_done(r, 15, 15, 0);
	rig_free(r);
}

static void congestion_has_hysteresis(void **state)
{
	struct model_params p = rig_params();
	struct rig *r;

	(void)state;
	p.uar_ps = 1000;
	p.uar_hold_ps = 100;
	p.uar_raise = 4;
	p.uar_clear = 1;
	r = rig_new(&p, 2);
	rig_post(r, 0, 8, 0);
	rig_burst(r, 1, 3, 8, 0);
	assert_int_equal(r->raised, 0);
	rig_post(r, 1, 8, 0);
	assert_int_equal(r->raised, 1);
	rig_post(r, 1, 8, 0);
	assert_int_equal(r->raised, 1);
	assert_true(r->m.uar[0].congested);
	/* From 5 waiting to 2: still congested, and back to 4: no news. */
	model_run_until(&r->m, 100 + 3 * 1000);
	assert_int_equal(r->m.uar[0].pending, 2);
	assert_int_equal(r->cleared, 0);
	rig_post(r, 1, 8, 3100);
	rig_post(r, 1, 8, 3100);
	assert_int_equal(r->raised, 1);
	rig_run(r);
	assert_int_equal(r->cleared, 1);
	/* Seven waited in all: one is left when the sixth is granted. */
	assert_int_equal(r->last_congestion, 100 + 6 * 1000);
	assert_int_equal(r->m.congested, 0);
	assert_int_equal(r->m.stats.raised, 1);
	assert_int_equal(r->m.stats.cleared, 1);
	rig_free(r);
}

static void thresholds_change_live(void **state)
{
	struct model_params p = rig_params();
	struct rig *r;

	(void)state;
	p.uar_ps = 1000;
	p.uar_hold_ps = 100;
	r = rig_new(&p, 2);
	rig_post(r, 0, 8, 0);
	rig_burst(r, 1, 4, 8, 0);
	assert_int_equal(r->raised, 0);
	p.uar_raise = 2;
	assert_int_equal(model_set_params(&r->m, &p), 0);
	assert_int_equal(r->raised, 1);
	p.uar_raise = 0;
	assert_int_equal(model_set_params(&r->m, &p), 0);
	assert_int_equal(r->cleared, 1);
	rig_free(r);
}

static void moving_waits_for_the_queue(void **state)
{
	struct model_params p = rig_params();
	struct model_qp_attr attr = { .qpn = 1, .uar = 1 };
	struct rig *r;

	(void)state;
	p.uar_ps = 1000;
	p.uar_hold_ps = 100;
	r = rig_new(&p, 2);
	rig_post(r, 0, 8, 0);
	rig_post(r, 1, 8, 0);
	assert_int_equal(model_qp_modify(&r->m, 1, &attr), -EBUSY);
	rig_run(r);
	assert_int_equal(model_qp_modify(&r->m, 1, &attr), 0);
	rig_free(r);
}

static void a_flushed_qp_leaves_the_queue(void **state)
{
	struct model_params p = rig_params();
	struct rig *r;
	uint32_t victim;

	(void)state;
	p.uar_ps = 1000;
	p.uar_hold_ps = 100;
	for (victim = 1; victim <= 3; victim++) {
		r = rig_new(&p, 4);
		rig_post(r, 0, 8, 0);
		rig_post(r, 1, 8, 0);
		rig_post(r, 2, 8, 0);
		rig_post(r, 3, 8, 0);
		/* In service is the first of them, QP 1. */
		model_run_until(&r->m, 200);
		assert_int_equal(model_qp_flush(&r->m, victim), 1);
		assert_int_equal(r->m.uar[0].active, 2);
		assert_int_equal(r->m.uar[0].pending, 2);
		rig_run(r);
		assert_int_equal(r->n_done, 3);
		assert_int_equal(r->m.stats.dropped, 1);
		assert_int_equal(r->m.inflight, 0);
		rig_free(r);
	}
}

static void bad_arguments_are_refused(void **state)
{
	struct model_params p = rig_params(), bad;
	struct model_qp_attr attr = { .uar = 8 };
	struct model_sizes sizes = rig_sizes;
	struct rig *r = rig_new(&p, 1);
	uint64_t done;

	(void)state;
	assert_int_equal(model_qp_open(&r->m, 1, &attr), -EINVAL);
	attr = (struct model_qp_attr) { .element = 4 };
	assert_int_equal(model_qp_open(&r->m, 1, &attr), -EINVAL);
	attr = (struct model_qp_attr) { .cls = 8 };
	assert_int_equal(model_qp_open(&r->m, 1, &attr), -EINVAL);
	attr.cls = 0;
	assert_int_equal(model_qp_open(&r->m, 16, &attr), -EINVAL);
	assert_int_equal(model_qp_open(&r->m, 0, &attr), -EBUSY);
	attr.qpn = 1;
	assert_int_equal(model_qp_modify(&r->m, 0, &attr), -EINVAL);
	assert_int_equal(model_qp_modify(&r->m, 1, &attr), -EINVAL);
	assert_int_equal(model_post(&r->m, 1, MODEL_INLINE, 8, 0, 0, 0), -EINVAL);
	assert_int_equal(model_post(&r->m, 99, MODEL_INLINE, 8, 0, 0, 0), -EINVAL);
	assert_int_equal(model_touch(&r->m, 0, MODEL_KINDS, 0, 0), -EINVAL);
	assert_int_equal(model_element_set(&r->m, 4, 0, 0, 1), -EINVAL);
	assert_int_equal(model_element_set(&r->m, 0, 0, 0, 1001), -EINVAL);
	assert_int_equal(model_qp_flush(&r->m, 99), 0);
	model_qp_close(&r->m, 99);

	bad = p;
	bad.mtu = 0;
	assert_int_equal(model_set_params(&r->m, &bad), -EINVAL);
	bad = p;
	bad.jitter_pct = 101;
	assert_int_equal(model_set_params(&r->m, &bad), -EINVAL);
	bad = p;
	bad.pus = MODEL_PUS + 1;
	assert_int_equal(model_set_params(&r->m, &bad), -EINVAL);
	bad = p;
	bad.cache_bytes = 100;
	assert_int_equal(model_set_params(&r->m, &bad), -EINVAL);
	bad = p;
	bad.uar_raise = 4;
	bad.uar_clear = 4;
	assert_int_equal(model_set_params(&r->m, &bad), -EINVAL);
	bad = p;
	bad.uar_exp = MODEL_EXP + 1;
	assert_int_equal(model_set_params(&r->m, &bad), -EINVAL);
	bad = p;
	bad.link_bps = UINT64_MAX;
	assert_int_equal(model_set_params(&r->m, &bad), -EINVAL);

	sizes.uars = 0;
	assert_int_equal(model_bytes(&sizes), 0);
	assert_int_equal(model_init(&r->m, r->mem, &sizes, &p, NULL, NULL), -EINVAL);
	rig_free(r);

	/* A post may not overtake what is due. */
	p.pipe_ps = 100;
	r = rig_new(&p, 1);
	rig_post(r, 0, 8, 0);
	rig_run(r);
	rig_post(r, 0, 8, 1000);
	assert_int_equal(model_post(&r->m, 0, MODEL_INLINE, 8, 0, 0, 2000), -EBUSY);
	assert_int_equal(model_control(&r->m, 0, 2000, &done), -EBUSY);
	assert_int_equal(model_touch(&r->m, 0, MODEL_QPC, 0, 2000), -EBUSY);
	/* A time that has gone by is taken as now. */
	assert_int_equal(model_post(&r->m, 0, MODEL_INLINE, 8, 0, 2, 500), 0);
	rig_run(r);
	assert_done(r, 2, 2, 1100);
	rig_free(r);
}

static void memory_is_bounded(void **state)
{
	struct model_params p = rig_params();
	struct rig *r;
	uint32_t i;

	(void)state;
	p.pipe_ps = 1000;
	r = rig_new(&p, 1);
	for (i = 0; i < rig_sizes.wrs; i++)
		rig_post(r, 0, 8, 0);
	assert_int_equal(model_post(&r->m, 0, MODEL_INLINE, 8, 0, 0, 0), -ENOBUFS);
	rig_run(r);
	rig_post(r, 0, 8, 5000);
	rig_free(r);
}

static void lateness_is_told(void **state)
{
	struct model_params p = rig_params();
	struct rig *r;

	(void)state;
	p.pipe_ps = 1000;
	p.late_ps = 500;
	r = rig_new(&p, 1);
	rig_post(r, 0, 8, 0);
	model_run_until(&r->m, 1500);
	assert_int_equal(r->m.stats.late, 0);
	rig_post(r, 0, 8, 1500);
	model_run_until(&r->m, 3001);
	assert_int_equal(r->m.stats.late, 1);
	assert_int_equal(r->m.stats.late_max_ps, 501);
	/* The time is the model's, however late it is told. */
	assert_done(r, 1, 1, 2500);
	rig_free(r);
}

static void presets_are_sane(void **state)
{
	struct model_params p;
	struct model_host h;
	struct rig *r;
	int i;

	(void)state;
	assert_int_equal(model_preset_named("off"), MODEL_OFF);
	assert_int_equal(model_preset_named("cx5"), MODEL_CX5);
	assert_int_equal(model_preset_named("cx6"), MODEL_CX6);
	assert_int_equal(model_preset_named("cx7"), -1);
	for (i = 0; i < MODEL_PRESETS; i++) {
		model_preset(i, &p);
		model_preset_host(i, &h);
		assert_int_equal(h.uar_lock_ps, p.uar_ps);
		assert_int_equal(h.uar_exp, p.uar_exp);
		r = rig_new(&p, 2);
		rig_post(r, 0, 1 << 30, 0);
		rig_post(r, 1, 0, 0);
		rig_run(r);
		assert_int_equal(r->n_done, 2);
		if (i == MODEL_OFF)
			assert_int_equal(r->m.now, 0);
		rig_free(r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_is_a_power),
		cmocka_unit_test(alone_costs_nothing),
		cmocka_unit_test(waiting_grows_with_who_waits),
		cmocka_unit_test(qps_take_turns),
		cmocka_unit_test(registers_are_apart),
		cmocka_unit_test(host_locks_are_not_charged_twice),
		cmocka_unit_test(congestion_has_hysteresis),
		cmocka_unit_test(thresholds_change_live),
		cmocka_unit_test(moving_waits_for_the_queue),
		cmocka_unit_test(a_flushed_qp_leaves_the_queue),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(lateness_is_told),
		cmocka_unit_test(presets_are_sane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
