// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Policies and jobs together: who holds a knob, and what becomes of it. */
#include "unit/eval_rig.h"

static void test_several_jobs(void **state)
{
	(void)state;
	add("p", "each job", "port.util > 80%", "job.level += 1",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 2);
	assert_string_equal(out[0].job, "kv");
	assert_string_equal(out[1].job, "bulk");
}

/* One policy at a time holds a knob, the first in the file if both want it. */
static void test_one_holder(void **state)
{
	(void)state;
	add("first", "job kv", "port.util > 80%", "job.level = 3",
	    "port.util < 60%");
	add("second", "job kv", "job.qps > 0", "job.level = 5",
	    "job.qps == 0");
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_int_equal(out[0].policy, 0);
	assert_int_equal(eval(2000), 0);
	util(0.1);
	assert_int_equal(eval(3000), 1);
	assert_true(out[0].release);
	/* Not in the same breath, but at the next tick. */
	assert_int_equal(eval(3100), 1);
	assert_int_equal(out[0].policy, 1);
	assert_true(out[0].new == 5);
}

/* For some QP to act, for all to undo. */
static void test_some_and_all(void **state)
{
	(void)state;
	add("p", "job kv", "qp.wr_rate > 100/s", "job.level = 2",
	    "qp.wr_rate < 50/s");
	signal_set(&sig, SIG_QP_WR_RATE, 0, 10);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 500);
	assert_int_equal(eval(1000), 1);
	assert_string_equal(out[0].reason,
			    "p: qp rxe0/18 wr_rate 500/s > 100/s: level 0 -> 2");
	signal_set(&sig, SIG_QP_WR_RATE, 1, 60);
	assert_int_equal(eval(2000), 0);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 40);
	assert_int_equal(eval(3000), 1);
	assert_true(out[0].release);
}

static void test_idle_job_is_released(void **state)
{
	(void)state;
	add("p", "job kv", "port.util > 80%", "job.level = 2",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 1);
	scene.s.n_qps = 0;
	scene_changed();
	assert_int_equal(eval(2000), 1);
	assert_true(out[0].release);
	assert_string_equal(out[0].reason,
			    "p: job kv uses nothing any more: level 2 -> the application's own");
}

static void test_job_gone(void **state)
{
	(void)state;
	add("p", "job kv", "port.util > 80%", "job.level = 2",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 1);
	scene.jobs[1].since = 77;	/* made anew: it begins at nought */
	scene_changed();
	util(0.9);
	assert_int_equal(eval(1100), 1);
	assert_true(out[0].old == 0);
	assert_int_equal(policy_n_held(&st), 1);
}

static void test_class_changed(void **state)
{
	(void)state;
	add("p", "job of class latency", "port.util > 80%", "job.level = 2",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 1);
	scene.jobs[1].class = 3;
	scene_changed();
	util(0.9);
	assert_int_equal(eval(1100), 1);
	assert_true(out[0].release);
	assert_int_equal(policy_n_held(&st), 0);
	scene.s.n_qps--;
	scene_changed();
	assert_int_equal(eval(1200), 0);
	/* The kernel could not let go of it: until it can. */
	policy_failed(&set, &st, &(struct policy_decision){
		.knob = SWIFTRDMA_KNOB_LEVEL, .job = "kv", .undo = true,
		.release = true, .has_old = true, .old = 2,
	});
	assert_int_equal(policy_n_held(&st), 1);
	assert_int_equal(eval(1300), 1);
	assert_true(out[0].release && out[0].old == 2);
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(1400), 0);
}

/* Parts of a state about a port and about QPs are true together on one port. */
static void test_two_ports(void **state)
{
	(void)state;
	add("p", "job kv", "port.util > 80% and qp.outstanding > 5",
	    "job.credits = 4", "port.util < 10%");
	made_port(&scene, 0, 0)->index = 2;
	scene.qps[1].port = 2;
	scene_changed();
	util(0.9);
	signal_set(&sig, SIG_PORT_UTIL, 1, 0.2);
	signal_set(&sig, SIG_QP_OUTSTANDING, 0, 1);
	signal_set(&sig, SIG_QP_OUTSTANDING, 1, 9);
	assert_int_equal(eval(1000), 0);
	signal_set(&sig, SIG_PORT_UTIL, 0, 0.2);
	signal_set(&sig, SIG_PORT_UTIL, 1, 0.3);
	assert_int_equal(eval(1100), 0);
	signal_set(&sig, SIG_PORT_UTIL, 1, 0.9);
	assert_int_equal(eval(1200), 1);
	assert_true(out[0].seen.has_port && out[0].seen.port == 2);
	assert_non_null(strstr(out[0].reason, "port rxe0/2 util 90 %"));
}

/* Of a QP whose port is not known nothing is said that is about its port. */
static void test_unknown_port(void **state)
{
	(void)state;
	add("p", "job kv", "port.util > 80% and qp.outstanding > 5",
	    "job.credits = 4", "port.util < 10%");
	add("q", "job kv", "dev.qps > 2 and qp.outstanding > 5",
	    "job.weight = 4", "dev.qps < 2");
	scene.qps[1].has &= ~SNAP_PORT;
	scene_changed();
	util(0.9);
	signal_set(&sig, SIG_QP_OUTSTANDING, 0, 1);
	signal_set(&sig, SIG_QP_OUTSTANDING, 1, 9);
	assert_int_equal(eval(1000), 1);
	assert_int_equal(out[0].knob, SWIFTRDMA_KNOB_WEIGHT);
	assert_false(out[0].seen.has_port);
	signal_set(&sig, SIG_QP_OUTSTANDING, 0, 9);
	assert_int_equal(eval(1100), 1);
	assert_int_equal(out[0].knob, SWIFTRDMA_KNOB_CREDITS);
}

static void test_failed(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");

	(void)state;
	p->cooldown = 500 * MS;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	policy_failed(&set, &st, &out[0]);
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(1100), 0);
	assert_int_equal(eval(1500), 1);
	assert_true(out[0].old == 0 && out[0].new == 1);
	assert_int_equal(eval(2000), 1);
	policy_failed(&set, &st, &out[0]);
	assert_int_equal(eval(2500), 1);
	assert_true(out[0].old == 1 && out[0].new == 2);
}

static void test_held_and_carry(void **state)
{
	struct policy_state next;
	struct policy_set fewer = { 0 };
	size_t pos = 0;

	(void)state;
	add("gone", "job bulk", "port.util > 80%", "job.level = 1",
	    "port.util < 60%");
	add("stays", "job kv", "port.util > 80%", "job.level = 3",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 2);
	assert_int_equal(policy_held(&st, &pos, out, DECISIONS), 2);
	assert_true(out[0].new == 3 && out[1].new == 1);
	assert_non_null(strstr(out[0].reason, "util 90 %"));

	fewer.v = &pol[1];
	fewer.n = 1;
	policy_state_init(&next);
	fewer.prog = set.prog;
	assert_int_equal(policy_state_reserve(&next, &fewer, &sig), 0);
	assert_int_equal(policy_carry(&fewer, &next, &set, &st, out,
				      DECISIONS), 1);
	assert_string_equal(out[0].job, "bulk");
	assert_true(out[0].release);
	assert_int_equal(policy_n_held(&next), 1);
	/* Counted also where there is no room. */
	assert_int_equal(policy_carry(&fewer, &next, &set, &st, out, 0), 1);
	assert_int_equal(policy_eval(&fewer, &next, &sig, 2000 * MS, out,
				     DECISIONS), 0);
	policy_state_free(&next);
}

static void test_out_of_room(void **state)
{
	(void)state;
	add("p", "job", "port.util > 80%", "job.level += 1",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(policy_state_reserve(&st, &set, &sig), 0);
	pol[0].cooldown = 500 * MS;
	assert_int_equal(policy_eval(&set, &st, &sig, 1000 * MS, out, 1), 1);
	assert_string_equal(out[0].job, "kv");
	assert_int_equal(policy_eval(&set, &st, &sig, 1001 * MS, out, 1), 1);
	assert_string_equal(out[0].job, "bulk");
}

static unsigned int allocations;

#ifdef __SANITIZE_ADDRESS__
static bool counting;

/* Of the sanitizer's runtime; gcc does not ship its header. */
int __sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *, size_t),
	void (*on_free)(const volatile void *));

static void on_malloc(const volatile void *p, size_t n)
{
	(void)p;
	(void)n;
	allocations += counting;
}

static void on_free(const volatile void *p)
{
	(void)p;
}
#endif

static void test_no_allocation(void **state)
{
	struct made other;
	unsigned int i;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	add("p", "job", "port.util > 80%", "job.level += 1",
	    "port.util < 60%");
	made_scene(&other, 1100, 250000);
	assert_int_equal(eval(1), 0);
	__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
	counting = true;
	for (i = 0; i < 100; i++) {
		signals_reserve(&sig, &other.s);
		signals_update(&sig, &scene.s, &other.s, &no_opts);
		policy_state_reserve(&st, &set, &sig);
		policy_eval(&set, &st, &sig, (1000 + i) * MS, out, DECISIONS);
	}
	counting = false;
	assert_int_equal(allocations, 0);
	assert_true(policy_n_held(&st) > 0);
#else
	(void)other;
	(void)i;
	(void)allocations;
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVAL_TEST(test_several_jobs),
		EVAL_TEST(test_one_holder),
		EVAL_TEST(test_some_and_all),
		EVAL_TEST(test_idle_job_is_released),
		EVAL_TEST(test_job_gone),
		EVAL_TEST(test_class_changed),
		EVAL_TEST(test_two_ports),
		EVAL_TEST(test_unknown_port),
		EVAL_TEST(test_failed),
		EVAL_TEST(test_held_and_carry),
		EVAL_TEST(test_out_of_room),
		EVAL_TEST(test_no_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
