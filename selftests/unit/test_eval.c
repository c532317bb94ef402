// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What one policy decides for one job: states, steps, bounds, undo. */
#include "unit/eval_rig.h"

static void test_port_policy(void **state)
{
	struct policy *p = add("port", "job of class latency",
			       "port.util > 80% and job.qps > 0",
			       "job.level = 3", "port.util < 60%");

	(void)state;
	p->cooldown = 500 * MS;
	util(0.973);
	assert_int_equal(eval(1000), 1);
	assert_string_equal(out[0].job, "kv");
	assert_string_equal(out[0].seen.dev, "rxe0");
	assert_int_equal(out[0].seen.port, 1);
	assert_int_equal(out[0].knob, SWIFTRDMA_KNOB_LEVEL);
	assert_true(out[0].old == 0 && out[0].new == 3);
	assert_true(out[0].seen.values[0].v == 0.973 && out[0].seen.values[1].v == 2);
	assert_false(out[0].undo);
	assert_string_equal(out[0].reason,
			    "port: port rxe0/1 util 97.3 % > 80 % and job kv qps 2 > 0: level 0 -> 3");
	/* It stays where it is: nothing to say twice. */
	assert_int_equal(eval(1100), 0);
	assert_int_equal(eval(9000), 0);
	assert_int_equal(policy_n_held(&st), 1);
}

static double level_at(uint64_t ms)
{
	assert_int_equal(eval(ms), 1);
	return out[0].release ? -1 : out[0].new;
}

/* Up and down by those levels that are set. */
static void test_levels_that_are_set(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");

	(void)state;
	step(&p->undo[0], "job.level -= 1");
	p->n_undo = 1;
	p->undo[0].ceiling = SWIFTRDMA_LEVEL_MAX;
	set.levels = 1u << 2 | 1u << 5;
	util(0.9);
	assert_true(level_at(1000) == 2);
	assert_true(level_at(2000) == 5);
	/* The last one it is. */
	assert_int_equal(eval(3000), 0);
	util(0.1);
	assert_true(level_at(4000) == 2);
	assert_true(level_at(5000) == -1);
	/* Not beyond the ceiling: the one below it that is set. */
	p->act[0].ceiling = 4;
	p->act[0].n = 3;
	util(0.9);
	assert_true(level_at(6000) == 2);
	assert_int_equal(eval(7000), 0);
	util(0.1);
	assert_true(level_at(8000) == -1);
	/* None that it may set. */
	p->act[0].ceiling = 1;
	util(0.9);
	assert_int_equal(eval(9000), 0);
}

/* A QP whose job is not among those that were read asks nothing of nobody. */
static void test_unknown_job(void **state)
{
	(void)state;
	add("p", "job kv", "qp.outstanding > 5", "job.credits = 4",
	    "qp.outstanding < 2");
	signal_set(&sig, SIG_QP_OUTSTANDING, 2, 9);
	assert_int_equal(eval(1000), 0);
	scene.qps[2].job = 99;
	scene_changed();
	signal_set(&sig, SIG_QP_OUTSTANDING, 2, 10);
	assert_int_equal(eval(2000), 0);
	signal_set(&sig, SIG_QP_OUTSTANDING, 2, 1);
	assert_int_equal(eval(3000), 0);
	signal_set(&sig, SIG_QP_OUTSTANDING, 2, 10);
	assert_int_equal(eval(4000), 0);
	signal_set(&sig, SIG_QP_OUTSTANDING, 1, 9);
	assert_int_equal(eval(5000), 1);
}

static void test_every_operator(void **state)
{
	static const struct {
		const char *when;
		double v;
		bool want;
	} cases[] = {
		{ "port.util > 80%", 0.8, false },
		{ "port.util > 80%", 0.81, true },
		{ "port.util >= 80%", 0.8, true },
		{ "port.util >= 80%", 0.79, false },
		{ "port.util < 80%", 0.8, false },
		{ "port.util < 80%", 0.79, true },
		{ "port.util <= 80%", 0.8, true },
		{ "port.util <= 80%", 0.81, false },
		{ "port.util == 80%", 0.8, true },
		{ "port.util == 80%", 0.81, false },
		{ "port.util != 80%", 0.81, true },
		{ "port.util != 80%", 0.8, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set.n = 0;
		prog_free(&set.prog);
		policy_state_free(&st);
		add("p", "job kv", cases[i].when, "job.level += 1",
		    "job.qps == 99");
		util(cases[i].v);
		if ((eval(1000) == 1) != cases[i].want)
			fail_msg("%s at %g", cases[i].when, cases[i].v);
	}
}

static void test_steps_and_bounds(void **state)
{
	struct policy *p = add("p", "job of class latency", "port.util > 80%",
			       "job.level += 2", "port.util < 60%");

	(void)state;
	p->act[0].ceiling = 3;
	p->cooldown = 500 * MS;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_true(out[0].new == 2);
	assert_int_equal(eval(1499), 0);
	assert_int_equal(eval(1500), 1);
	assert_true(out[0].old == 2 && out[0].new == 3);
	assert_int_equal(eval(5000), 0);
}

static void test_floor_and_minus(void **state)
{
	struct policy *p = add("p", "job of class throughput",
			       "dev.qps > 2", "job.max_qps -= 60",
			       "dev.qps < 2");

	(void)state;
	/* No value to subtract from: no decision, whatever is true. */
	assert_int_equal(eval(1000), 0);
	scene.jobs[2].stats[0].has |= SNAP_MAX_QPS;
	scene.jobs[2].stats[0].max_qps = 100;
	p->act[0].floor = 10;
	assert_int_equal(eval(2000), 1);
	assert_true(out[0].old == 100 && out[0].new == 40);
	assert_int_equal(eval(3000), 1);
	assert_true(out[0].new == 10);
	assert_int_equal(eval(4000), 0);
}

/* To set a free knob to where it counts from is still a change. */
static void test_set_zero(void **state)
{
	(void)state;
	add("p", "job bulk", "port.util > 80%", "job.level = 0",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_true(out[0].new == 0 && !out[0].release);
	assert_int_equal(eval(2000), 0);
}

static void test_hold(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");

	(void)state;
	p->hold = 200 * MS;
	util(0.9);
	assert_int_equal(eval(1000), 0);
	assert_int_equal(eval(1100), 0);
	util(0.7);
	assert_int_equal(eval(1150), 0);
	util(0.9);
	assert_int_equal(eval(1200), 0);
	assert_int_equal(eval(1399), 0);
	assert_int_equal(eval(1400), 1);
}

static void test_undo(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level = 3", "port.util < 60%");

	(void)state;
	p->undo_hold = 1000 * MS;
	p->undo_cooldown = 100 * MS;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	/* Between the two states nothing moves, in either direction. */
	util(0.7);
	assert_int_equal(eval(2000), 0);
	util(0.5);
	assert_int_equal(eval(2100), 0);
	util(0.7);
	assert_int_equal(eval(2200), 0);
	util(0.5);
	assert_int_equal(eval(2300), 0);
	assert_int_equal(eval(3299), 0);
	assert_int_equal(eval(3300), 1);
	assert_true(out[0].undo && out[0].release && out[0].old == 3);
	assert_string_equal(out[0].reason,
			    "p: port rxe0/1 util 50 % < 60 %: level 3 -> the application's own");
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(9000), 0);
}

static void test_undo_in_steps(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");

	(void)state;
	step(&p->undo[0], "job.level -= 1");
	p->undo[0].ceiling = 7;
	p->n_undo = 1;
	p->act[0].ceiling = 2;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_int_equal(eval(2000), 1);
	util(0.1);
	assert_int_equal(eval(3000), 1);
	assert_true(!out[0].release && out[0].new == 1);
	assert_int_equal(eval(4000), 1);
	assert_true(out[0].release);
	assert_int_equal(policy_n_held(&st), 0);
}

static void test_absent_is_not_true(void **state)
{
	(void)state;
	add("p", "job kv", "port.util < 80% and job.qps > 0", "job.level = 3",
	    "port.util > 90%");
	forget(SIG_PORT_UTIL, 0);
	assert_int_equal(eval(1000), 0);
	util(0.5);
	assert_int_equal(eval(1100), 1);
	/* Nor does what is absent undo anything. */
	forget(SIG_PORT_UTIL, 0);
	assert_int_equal(eval(9000), 0);
	util(0.95);
	assert_int_equal(eval(9100), 1);
	assert_true(out[0].undo);
}

static void test_long_reason_keeps_the_outcome(void **state)
{
	struct policy *p = add("p", "job kv",
			       "port.util > 1% and port.util > 2% and port.util > 3% and port.util > 4% and port.util > 5% and port.util > 6% and port.util > 7% and port.util > 8% and port.util > 9%",
			       "job.level = 3", "port.util < 1%");
	const char *end = "...: level 0 -> 3";
	size_t len;

	(void)state;
	(void)p;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	len = strlen(out[0].reason);
	assert_true(len == sizeof(out[0].reason) - 1);
	assert_string_equal(out[0].reason + len - strlen(end), end);
}

/* Evaluation alone writes nothing; of two decisions one may be explained without the other. */
static void test_reasons_on_demand(void **state)
{
	struct policy_decision held[2];
	size_t pos = 0;

	(void)state;
	add("p", "job", "port.util > 80%", "job.level = 3", "port.util < 60%");
	util(0.9);
	assert_int_equal(policy_state_reserve(&st, &set, &sig), 0);
	assert_int_equal(policy_eval(&set, &st, &sig, 1000 * MS, out, DECISIONS), 2);
	assert_string_equal(out[0].reason, "");
	assert_string_equal(out[1].reason, "");
	policy_explain(&set, &st, &sig, &out[1], 1);
	assert_string_equal(out[0].reason, "");
	assert_string_equal(out[1].reason, "p: port rxe0/1 util 90 % > 80 %: level 0 -> 3");
	assert_true(out[1].seen.has_port && out[1].seen.n_values == 1);
	policy_explain(&set, &st, &sig, &out[0], 1);
	assert_string_equal(out[0].reason, out[1].reason);
	/* Overrides that are issued anew have the reasons, too. */
	assert_int_equal(policy_held(&st, &pos, held, 2), 2);
	assert_string_equal(held[0].reason, out[0].reason);
	assert_string_equal(held[1].reason, out[0].reason);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVAL_TEST(test_port_policy),
		EVAL_TEST(test_levels_that_are_set),
		EVAL_TEST(test_unknown_job),
		EVAL_TEST(test_every_operator),
		EVAL_TEST(test_steps_and_bounds),
		EVAL_TEST(test_floor_and_minus),
		EVAL_TEST(test_set_zero),
		EVAL_TEST(test_hold),
		EVAL_TEST(test_undo),
		EVAL_TEST(test_undo_in_steps),
		EVAL_TEST(test_absent_is_not_true),
		EVAL_TEST(test_long_reason_keeps_the_outcome),
		EVAL_TEST(test_reasons_on_demand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
