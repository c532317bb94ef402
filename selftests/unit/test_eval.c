// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Decisions, from signals that are set by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/policy.h"
#include "policy/expr.h"
#include "unit/snap_build.h"

#define DECISIONS 8

static struct made scene;
static struct signals sig;
static struct policy pol[4];
static struct policy_set set;
static struct policy_state st;
static struct policy_decision out[DECISIONS];
static const struct signal_opts no_opts;

static void cond(struct cond *c, const char *s)
{
	struct expr_error e;

	if (!expr_cond(s, c, &e))
		fail_msg("%s: %s", s, e.msg);
}

static void step(struct step *p, const char *s)
{
	struct expr_error e;

	if (!expr_step(s, p, &e))
		fail_msg("%s: %s", s, e.msg);
}

static struct policy *add(const char *name, const char *who, const char *when,
			  const char *act, const char *undo)
{
	struct policy *p = &pol[set.n++];
	struct expr_error e;

	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", name);
	assert_true(expr_binding(who, p, &e));
	cond(&p->when, when);
	step(&p->act, act);
	cond(&p->undo_when, undo);
	p->undo.op = STEP_RELEASE;
	p->undo.knob = p->act.knob;
	p->floor = vocab_knob(p->act.knob)->min;
	p->ceiling = vocab_knob(p->act.knob)->max;
	return p;
}

static int setup(void **state)
{
	(void)state;
	memset(&set, 0, sizeof(set));
	set.v = pol;
	signals_init(&sig);
	policy_state_init(&st);
	made_scene(&scene, 1000, 0);
	assert_int_equal(signals_reserve(&sig, &scene.s), 0);
	signals_update(&sig, NULL, &scene.s, &no_opts);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	signals_free(&sig);
	policy_state_free(&st);
	return 0;
}

static void util(double v)
{
	signal_set(&sig, SIG_PORT_UTIL, 0, v);
}

static void forget(enum signal_id id, size_t row)
{
	struct signal_table *t = &sig.table[vocab_signals[id].obj];

	t->has[row] &= ~(1u << (id - vocab_first(vocab_signals[id].obj)));
}

static size_t eval(uint64_t ms)
{
	assert_int_equal(policy_state_reserve(&st, &set, scene.s.n_jobs), 0);
	return policy_eval(&set, &st, &sig, ms * MS, out, DECISIONS);
}

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
	assert_string_equal(out[0].dev, "rxe0");
	assert_int_equal(out[0].port, 1);
	assert_int_equal(out[0].knob, SWIFTRDMA_KNOB_LEVEL);
	assert_true(out[0].old == 0 && out[0].new == 3);
	assert_true(out[0].values[0] == 0.973 && out[0].values[1] == 2);
	assert_false(out[0].undo);
	assert_string_equal(out[0].reason,
			    "port: port rxe0/1 util 97.3 % > 80 % and job kv qps 2 > 0: level 0 -> 3");
	/* It stays where it is: nothing to say twice. */
	assert_int_equal(eval(1100), 0);
	assert_int_equal(eval(9000), 0);
	assert_int_equal(policy_n_held(&st), 1);
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
	p->ceiling = 3;
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
	p->floor = 10;
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
	step(&p->undo, "job.level -= 1");
	p->ceiling = 2;
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

static void test_conjunction(void **state)
{
	struct binding b = { { 0, 0, 0, 0, 1 } };
	struct cond c;
	double v[COND_MAX];

	(void)state;
	cond(&c, "port.util > 80% and job.qps > 0");
	forget(SIG_PORT_UTIL, 0);
	assert_int_equal(cond_eval(&c, &sig, &b, v), TRI_UNKNOWN);
	assert_true(v[0] != v[0] && v[1] == 2);
	cond(&c, "port.util > 80% and job.qps > 5");
	assert_int_equal(cond_eval(&c, &sig, &b, v), TRI_FALSE);
	cond(&c, "job.qps > 5 and port.util > 80%");
	assert_int_equal(cond_eval(&c, &sig, &b, NULL), TRI_FALSE);
	cond(&c, "job.class == latency and qp.state == RTS");
	assert_int_equal(cond_eval(&c, &sig, &b, NULL), TRI_TRUE);
	b.at[OBJ_QP] = -1;
	assert_int_equal(cond_eval(&c, &sig, &b, NULL), TRI_UNKNOWN);
}

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
	signals_update(&sig, NULL, &scene.s, &no_opts);
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
	assert_int_equal(eval(1100), 1);
	assert_true(out[0].release);
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(1200), 0);
}

static void test_failed(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");

	(void)state;
	p->cooldown = 500 * MS;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	policy_failed(&st, &out[0]);
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(1100), 0);
	assert_int_equal(eval(1500), 1);
	assert_true(out[0].old == 0 && out[0].new == 1);
	assert_int_equal(eval(2000), 1);
	policy_failed(&st, &out[0]);
	assert_int_equal(eval(2500), 1);
	assert_true(out[0].old == 1 && out[0].new == 2);
}

static void test_held_and_carry(void **state)
{
	struct policy_state next;
	struct policy_set fewer;
	size_t pos = 0;

	(void)state;
	add("gone", "job bulk", "port.util > 80%", "job.level = 1",
	    "port.util < 60%");
	add("stays", "job kv", "port.util > 80%", "job.level = 3",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 2);
	assert_int_equal(policy_held(&set, &st, &pos, out, DECISIONS), 2);
	assert_true(out[0].new == 3 && out[1].new == 1);
	assert_non_null(strstr(out[0].reason, "util 90 %"));

	fewer.v = &pol[1];
	fewer.n = 1;
	policy_state_init(&next);
	assert_int_equal(policy_state_reserve(&next, &fewer, st.n_slots), 0);
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
	assert_int_equal(policy_state_reserve(&st, &set, 3), 0);
	pol[0].cooldown = 500 * MS;
	assert_int_equal(policy_eval(&set, &st, &sig, 1000 * MS, out, 1), 1);
	assert_string_equal(out[0].job, "kv");
	assert_int_equal(policy_eval(&set, &st, &sig, 1001 * MS, out, 1), 1);
	assert_string_equal(out[0].job, "bulk");
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
		policy_state_reserve(&st, &set, other.s.n_jobs);
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
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_port_policy), T(test_every_operator),
		T(test_steps_and_bounds), T(test_floor_and_minus),
		T(test_set_zero), T(test_hold), T(test_undo),
		T(test_undo_in_steps), T(test_absent_is_not_true),
		T(test_conjunction), T(test_several_jobs), T(test_one_holder),
		T(test_some_and_all), T(test_idle_job_is_released),
		T(test_job_gone), T(test_class_changed), T(test_failed),
		T(test_held_and_carry), T(test_out_of_room),
		T(test_long_reason_keeps_the_outcome), T(test_no_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
