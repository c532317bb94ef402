// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fallbacks, several knobs at once, quotas; what becomes of several contentions
 * at a time, of knobs that turn back and forth, and of who comes last.
 */
#include "unit/eval_rig.h"

static void test_fallback(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80% and job.p99 rising",
			       "job.level = 3", "port.util < 60%");

	(void)state;
	add_fallback(p, "port.util > 90%");
	util(0.85);
	/* Nobody knows the p99: the other state decides. */
	assert_int_equal(eval(1000), 0);
	util(0.95);
	assert_int_equal(eval(1100), 1);
	assert_string_equal(out[0].reason,
			    "p: port rxe0/1 util 95 % > 90 %, by fallback as job kv p99 unknown: level 0 -> 3");
	assert_int_equal(out[0].seen.n_values, 2);
	assert_int_equal(out[0].seen.values[1].sig, SIG_JOB_P99);
	assert_true(__builtin_isnan(out[0].seen.values[1].v));
	util(0.5);
	assert_int_equal(eval(2000), 1);
	/* Now somebody does: then that counts, and it does not rise. */
	signal_set(&sig, SIG_JOB_P99, 1, 5000);
	assert_int_equal(eval(2100), 0);
	util(0.95);
	assert_int_equal(eval(4000), 0);
	signal_set(&sig, SIG_JOB_P99, 1, 6000);
	assert_int_equal(eval(4100), 1);
	assert_non_null(strstr(out[0].reason, "p99"));
	assert_null(strstr(out[0].reason, "fallback"));
}

static void test_undo_fallback(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level = 3", "job.p99 < 40us");

	(void)state;
	add_undo_fallback(p, "port.util < 60%");
	util(0.95);
	assert_int_equal(eval(1000), 1);
	util(0.7);
	assert_int_equal(eval(2000), 0);
	util(0.5);
	assert_int_equal(eval(3000), 1);
	assert_true(out[0].undo && out[0].release);
	assert_non_null(strstr(out[0].reason, "util 50 % < 60 %"));
	util(0.95);
	assert_int_equal(eval(4000), 1);
	util(0.5);
	signal_set(&sig, SIG_JOB_P99, 1, 50000);
	assert_int_equal(eval(5000), 0);
	signal_set(&sig, SIG_JOB_P99, 1, 30000);
	assert_int_equal(eval(6000), 1);
}

/* Of several fallbacks the first whose truth is known decides, also that nothing is done. */
static void test_fallbacks_in_turn(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80% and job.p99 > job.p99_prev",
			       "job.level = 3", "port.util < 60%");

	(void)state;
	add_fallback(p, "port.util > 80% and job.latency > job.latency_prev");
	add_fallback(p, "port.util > 80% and job.qps > 0");
	util(0.95);
	signal_set(&sig, SIG_JOB_LATENCY, 1, 20000);
	signal_set(&sig, SIG_JOB_LATENCY_PREV, 1, 30000);
	assert_int_equal(eval(1000), 0);
	signal_set(&sig, SIG_JOB_LATENCY, 1, 40000);
	assert_int_equal(eval(1100), 1);
	assert_string_equal(out[0].reason,
			    "p: port rxe0/1 util 95 % > 80 % and job.latency > job.latency_prev (job kv latency 40 us, job kv latency_prev 30 us), by fallback as job kv p99 unknown: level 0 -> 3");
	assert_int_equal(out[0].seen.n_values, 5);
	assert_int_equal(out[0].seen.values[3].sig, SIG_JOB_P99);
	assert_true(__builtin_isnan(out[0].seen.values[3].v));
	util(0.5);
	assert_int_equal(eval(2000), 1);
	/* Neither is known: the last one, and what was passed over. */
	util(0.95);
	forget(SIG_JOB_LATENCY, 1);
	forget(SIG_JOB_LATENCY_PREV, 1);
	assert_int_equal(eval(3500), 1);
	assert_string_equal(out[0].reason,
			    "p: port rxe0/1 util 95 % > 80 % and job kv qps 2 > 0, by fallback as job kv p99 unknown, job kv latency unknown: level 0 -> 3");
	util(0.5);
	assert_int_equal(eval(4500), 1);
	/* p99 is known, and does not rise: no fallback is asked. */
	util(0.95);
	signal_set(&sig, SIG_JOB_P99, 1, 5000);
	signal_set(&sig, SIG_JOB_P99_PREV, 1, 6000);
	assert_int_equal(eval(6000), 0);
	signal_set(&sig, SIG_JOB_P99_PREV, 1, 4000);
	assert_int_equal(eval(7000), 1);
	assert_null(strstr(out[0].reason, "fallback"));
}

/* The same of an undo. */
static void test_undo_fallbacks_in_turn(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%", "job.level = 3", "job.p99 < 40us");

	(void)state;
	add_undo_fallback(p, "job.latency < 20us");
	add_undo_fallback(p, "port.util < 60%");
	util(0.95);
	assert_int_equal(eval(1000), 1);
	util(0.5);
	signal_set(&sig, SIG_JOB_LATENCY, 1, 30000);
	assert_int_equal(eval(2000), 0);
	signal_set(&sig, SIG_JOB_LATENCY, 1, 10000);
	assert_int_equal(eval(3000), 1);
	assert_string_equal(out[0].reason,
			    "p: job kv latency 10 us < 20 us, by fallback as job kv p99 unknown: level 3 -> the application's own");
	util(0.95);
	assert_int_equal(eval(4000), 1);
	util(0.5);
	forget(SIG_JOB_LATENCY, 1);
	assert_int_equal(eval(5000), 1);
	assert_non_null(strstr(out[0].reason, "util 50 % < 60 %, by fallback as job kv p99 unknown, job kv latency unknown"));
}

static void test_several_knobs(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level += 1, job.max_qps = 7; job.weight += 2",
			       "port.util < 60%");

	(void)state;
	step(&p->undo[0], "job.weight -= 2");
	p->undo[0].floor = 1;
	p->undo[0].ceiling = 100;
	p->n_undo = 1;
	util(0.9);
	assert_int_equal(eval(1000), 3);
	assert_true(out[0].knob == SWIFTRDMA_KNOB_LEVEL && out[0].new == 1);
	assert_true(out[1].knob == SWIFTRDMA_KNOB_MAX_QPS && out[1].new == 7);
	assert_true(out[2].knob == SWIFTRDMA_KNOB_WEIGHT && out[2].new == 3);
	/* What has arrived stays, the others go on. */
	assert_int_equal(eval(2000), 2);
	assert_true(out[1].knob == SWIFTRDMA_KNOB_WEIGHT && out[1].new == 5);
	assert_int_equal(policy_n_held(&st), 3);
	/* Back: one a step at a time, the others at once. */
	util(0.1);
	assert_int_equal(eval(3000), 3);
	assert_true(out[0].release && out[1].release && !out[2].release);
	assert_int_equal(policy_n_held(&st), 1);
	assert_int_equal(eval(4000), 1);
	assert_true(out[0].release && out[0].old == 3);
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(5000), 0);
}

static void test_value_from_signals(void **state)
{
	(void)state;
	add("p", "job kv", "port.util > 80%", "merge to job.qps / 2",
	    "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_true(out[0].knob == SWIFTRDMA_KNOB_QPS && out[0].new == 1);
	/* From a number that is not known comes nothing. */
	policy_state_free(&st);
	forget(SIG_JOB_QPS, 1);
	assert_int_equal(eval(2000), 0);
}

/* merge and scale both say how many QPs there ought to be. */
static void test_scale(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "scale qps to job.qps * 2 + 1", "port.util < 60%");

	(void)state;
	p->act[0].ceiling = 64;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_true(out[0].knob == SWIFTRDMA_KNOB_QPS && out[0].new == 5);
}

static void test_max_steps(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");

	(void)state;
	p->max_steps = 2;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_int_equal(out[0].steps_left, 1);
	assert_int_equal(eval(2000), 1);
	assert_int_equal(out[0].steps_left, 0);
	assert_int_equal(eval(3000), 0);
	/* After an undo it may begin again. */
	util(0.1);
	assert_int_equal(eval(4000), 1);
	util(0.9);
	assert_int_equal(eval(5000), 1);
	/* What could not be done was no step. */
	policy_failed(&set, &st, &out[0]);
	assert_int_equal(eval(6000), 1);
	assert_int_equal(out[0].steps_left, 1);
}

/* So many acts a second over all jobs, and who matters comes first. */
static void test_rate_and_order(void **state)
{
	static const struct policy_rank ranks[] = { { "bulk", 1 }, { "kv", 2 } };
	struct policy *p = add("p", "job", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");

	(void)state;
	p->rate = 1;
	p->cooldown = 5000 * MS;
	set.ranks = ranks;
	set.n_ranks = 2;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_string_equal(out[0].job, "bulk");
	assert_int_equal(eval(1500), 0);
	assert_int_equal(eval(2000), 1);
	assert_string_equal(out[0].job, "kv");
	assert_int_equal(eval(3000), 0);
	assert_int_equal(eval(6000), 1);
	assert_string_equal(out[0].job, "bulk");
}

/* policy.burst, and not policy.rate, bounds the acts at once: a simulation multiplies the rate. */
static void test_burst(void **state)
{
	struct policy *p = add("p", "job", "port.util > 80%", "job.level += 1", "port.util < 60%");

	(void)state;
	p->rate = 200;
	p->burst = 1;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_int_equal(out[0].acts_left, 0);
	assert_int_equal(eval(1001), 0);
	assert_int_equal(eval(1005), 1);
}

/* The cause whose signals are furthest beyond their bounds. */
static void test_causes(void **state)
{
	struct policy *p = add("port", "job kv", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");
	struct policy *u = add("uar", "job kv", "uar.coactive > 50%",
			       "job.weight += 1", "uar.coactive < 20%");

	(void)state;
	p->cause = CAUSE_PORT;
	u->cause = CAUSE_UAR;
	set.settle = 1000 * MS;
	util(0.88);					/* 10 % beyond */
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);	/* 80 % beyond */
	assert_int_equal(eval(1000), 1);
	assert_int_equal(out[0].policy, 1);
	assert_int_equal(out[0].others, 1u << CAUSE_PORT);
	assert_non_null(strstr(out[0].reason, "(not port, less far beyond its bound)"));
	/* Until that shows, it alone goes on, however things look. */
	util(1);
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.55);
	assert_int_equal(eval(1500), 1);
	assert_int_equal(out[0].policy, 1);
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.4);
	assert_int_equal(eval(1600), 0);
	assert_int_equal(eval(2499), 0);
	assert_int_equal(eval(2500), 1);
	assert_int_equal(out[0].policy, 0);
	/* A policy without a cause is nobody's rival. */
	p->cause = CAUSE_NONE;
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	assert_int_equal(eval(4000), 2);
}

/*
 * An act of which all decisions fail does not make policies of another cause wait, and does not count against
 * the rate. Two policies of one cause fail here in one tick.
 */
static void test_failed_cause(void **state)
{
	struct policy *p = add("port", "job kv", "port.util > 80%", "job.level += 1", "port.util < 60%");
	struct policy *u = add("uar", "job kv", "uar.coactive > 50%", "job.weight += 1; job.credits = 9",
			       "uar.coactive < 20%");
	struct policy *v = add("place", "job kv", "uar.coactive > 50%", "job.max_qps = 7",
			       "uar.coactive < 20%");

	(void)state;
	p->cause = CAUSE_PORT;
	u->cause = v->cause = CAUSE_UAR;
	u->cooldown = v->cooldown = 500 * MS;
	u->rate = 0.1;
	set.settle = 1000 * MS;
	util(0.88);
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	assert_int_equal(eval(1000), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_not_equal(out[i].policy, 0);
		policy_failed(&set, &st, &out[i]);
	}
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(1100), 1);
	assert_int_equal(out[0].policy, 0);
	/* Until the settle time of the port's act is over, no policy of another cause acts. */
	assert_int_equal(eval(1700), 1);
	assert_int_equal(out[0].policy, 0);
	/* The policies of uar act again, though their rate of 0.1/s allows no second act yet. */
	assert_int_equal(eval(2800), 3);
	assert_int_not_equal(out[0].policy, 0);
}

/* An act of which one of two decisions fails counts as a step, and for the cause. */
static void test_failed_in_part(void **state)
{
	struct policy *p = add("port", "job kv", "port.util > 80%", "job.level += 1", "port.util < 60%");
	struct policy *u = add("uar", "job kv", "uar.coactive > 50%", "job.weight += 1; job.max_qps = 7",
			       "uar.coactive < 20%");

	(void)state;
	p->cause = CAUSE_PORT;
	u->cause = CAUSE_UAR;
	u->max_steps = 2;
	set.settle = 1000 * MS;
	util(0.88);
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(eval(1000 + 100 * i), 2);
		assert_int_equal(out[1].policy, 1);
		assert_int_equal(out[1].steps_left, 1 - i);
		policy_failed(&set, &st, &out[1]);
	}
	assert_int_equal(eval(1200), 0);
}

/* A knob that goes back and forth is waited for ever longer. */
static void test_damping(void **state)
{
	struct policy *p = add("p", "job kv", "port.util > 80%",
			       "job.level += 1", "port.util < 60%");
	unsigned int acts = 0, damped = 0, i;

	(void)state;
	p->cooldown = 100 * MS;
	set.turns = 4;
	set.turns_within = 10000 * MS;
	for (i = 0; i < 200; i++) {
		util(i % 2 ? 0.1 : 0.9);
		if (!eval(1000 + i * 100))
			continue;
		acts += !out[0].undo;
		if (out[0].damped > damped) {
			damped = out[0].damped;
			assert_int_equal(out[0].cooldown,
					 (uint64_t)100 * MS << damped);
			assert_non_null(strstr(out[0].reason,
					       "it changed direction too often, waiting"));
		}
	}
	assert_true(damped >= 3);
	assert_true(acts < 60);
	/* Calm for long enough, it is as it was. */
	set.turns_within = 1000 * MS;
	util(0.1);
	eval(30000);
	for (i = 0; i < 8; i++) {
		util(i % 2 ? 0.1 : 0.9);
		eval(1000000 + i * 1000000);
	}
	util(0.9);
	assert_int_equal(eval(20000000), 1);
	assert_int_equal(out[0].damped, 0);
}

static void test_best_effort_is_left_something(void **state)
{
	struct policy *p;

	(void)state;
	scene.jobs[2].class = SWIFTRDMA_JOB_CLASS_BEST_EFFORT;
	scene_changed();
	p = add("p", "job of class best-effort or throughput",
		"port.util > 80%", "job.max_qps -= 60", "port.util < 60%");
	set.least[SWIFTRDMA_KNOB_MAX_QPS] = 30;
	scene.jobs[2].stats[0].has |= SNAP_MAX_QPS;
	scene.jobs[2].stats[0].max_qps = 100;
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_true(out[0].new == 40);
	assert_int_equal(eval(2000), 1);
	assert_true(out[0].new == 30);
	assert_int_equal(eval(3000), 0);
	(void)p;
}

static void add_uar(uint32_t index, uint32_t context)
{
	struct snap_uar *uar = made_uar(&scene, 0, index);

	uar->has |= SNAP_CONTEXT_ID;
	uar->context = context;
}

/* The busiest QP goes to the UAR with least to do, one at a time. */
static void test_migrate(void **state)
{
	size_t pos = 0;

	(void)state;
	add("p", "job kv", "uar.coactive > 50%", "migrate to lightest uar",
	    "uar.coactive < 20%");
	add_uar(3, 1);
	scene_changed();
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	signal_set(&sig, SIG_UAR_WR_RATE, 0, 1000);
	signal_set(&sig, SIG_UAR_WR_RATE, 1, 10);
	signal_set(&sig, SIG_UAR_WR_RATE, 2, 0);
	signal_set(&sig, SIG_QP_WR_RATE, 0, 100);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 900);
	assert_int_equal(eval(1000), 1);
	assert_true(out[0].has_qp);
	assert_int_equal(out[0].qpn, 18);
	assert_int_equal(out[0].serial, 18);
	assert_true(out[0].old == 1 && out[0].new == 3);
	assert_non_null(strstr(out[0].reason, ": qp 18 uar 1 -> 3"));
	/* The next one, and then there is none left. */
	assert_int_equal(eval(2000), 1);
	assert_int_equal(out[0].qpn, 17);
	assert_int_equal(eval(3000), 0);
	assert_int_equal(policy_held(&st, &pos, out, DECISIONS), 2);
	assert_true(out[0].has_qp && out[0].qpn == 18 && out[0].new == 3);
	policy_failed(&set, &st, &(struct policy_decision){
		.job = "kv", .has_qp = true, .dev_index = 0, .qpn = 17, .serial = 17,
		.knob = SWIFTRDMA_KNOB_UAR, .new = 3 });
	assert_int_equal(policy_n_held(&st), 1);
	/* Back the same way. */
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.1);
	assert_int_equal(eval(4000), 1);
	assert_true(out[0].has_qp && out[0].release && out[0].qpn == 18);
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(5000), 0);
}

/* A failed move does not count as a step, so more moves than max_steps may fail. */
static void test_migrate_fails(void **state)
{
	struct policy *p = add("p", "job kv", "uar.coactive > 50%", "migrate to lightest uar",
			       "uar.coactive < 20%");

	(void)state;
	p->max_steps = 2;
	add_uar(3, 1);
	scene_changed();
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	signal_set(&sig, SIG_UAR_WR_RATE, 0, 1000);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(eval(1000 + 100 * i), 1);
		assert_int_equal(out[0].steps_left, 1);
		policy_failed(&set, &st, &out[0]);
	}
	assert_int_equal(policy_n_held(&st), 0);
	assert_int_equal(eval(2000), 1);
	assert_int_equal(eval(2100), 1);
	assert_int_equal(out[0].steps_left, 0);
}

/* However little there is to do on the UARs of others: they are not its own. */
static void test_migrate_within_context(void **state)
{
	(void)state;
	add("p", "job kv", "uar.coactive > 50%", "migrate to lightest uar",
	    "uar.coactive < 20%");
	/* 1 and 4 are kv's; 2 is bulk's, 3 is of another context of kv's process. */
	add_uar(3, 3);
	add_uar(4, 1);
	scene_changed();
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	signal_set(&sig, SIG_UAR_WR_RATE, 0, 1000);
	signal_set(&sig, SIG_UAR_WR_RATE, 1, 1);
	signal_set(&sig, SIG_UAR_WR_RATE, 2, 0);
	signal_set(&sig, SIG_UAR_WR_RATE, 3, 500);
	assert_int_equal(eval(1000), 1);
	assert_true(out[0].old == 1 && out[0].new == 4);
}

static void test_migrate_nowhere(void **state)
{
	(void)state;
	add("p", "job kv", "uar.coactive > 50%", "migrate to lightest uar",
	    "uar.coactive < 20%");
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	signal_set(&sig, SIG_UAR_WR_RATE, 0, 1000);
	signal_set(&sig, SIG_UAR_WR_RATE, 1, 1);
	assert_int_equal(eval(1000), 0);
	/* Nor where it is not known whose they are. */
	add_uar(3, 1);
	scene.uars[0].has &= ~SNAP_CONTEXT_ID;
	scene_changed();
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	assert_int_equal(eval(5000), 0);
}

/* The process finds the UAR, or makes one, so it does not matter which there are. A QP at rest stays. */
static void test_migrate_by_process(void **state)
{
	(void)state;
	add("p", "job kv", "uar.coactive > 50%", "migrate to lightest uar",
	    "uar.coactive < 20%");
	set.lightest_by_process = true;
	scene.qps[1].has |= SNAP_STATE;
	scene.qps[1].state = 0;
	scene_changed();
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	signal_set(&sig, SIG_QP_WR_RATE, 0, 100);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 900);
	assert_int_equal(eval(1000), 1);
	assert_int_equal(out[0].qpn, 17);
	assert_true(out[0].new == SWIFTRDMA_UAR_LIGHTEST);
	assert_non_null(strstr(out[0].reason, ": qp 17 uar 1 -> lightest"));
	assert_int_equal(eval(2000), 0);
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.1);
	assert_int_equal(eval(4000), 1);
	assert_true(out[0].release);
	assert_non_null(strstr(out[0].reason, "lightest -> released, it stays there"));
}

/* QPs crowd on UAR 0, a policy moves them, and the process finds the UAR. */
static void crowd_by_process(void)
{
	add("p", "job kv", "uar.coactive > 50%", "migrate to lightest uar",
	    "uar.coactive < 20%");
	set.lightest_by_process = true;
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
}

static struct policy_slot *slot_of_kv(void)
{
	struct policy_slot *slot = &st.slots[0];

	while (!slot->used || strcmp(slot->name, "kv"))
		slot++;
	return slot;
}

/* A QP that can never move is not asked for, and the slot says how many there are. */
static void test_migrate_fixed(void **state)
{
	struct policy_slot *slot;

	(void)state;
	crowd_by_process();
	signal_set(&sig, SIG_QP_WR_RATE, 0, 100);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 900);
	sig.fixed[0] = sig.fixed[1] = 1;
	assert_int_equal(eval(1000), 0);
	slot = slot_of_kv();
	assert_int_equal(slot->runs[0].passed_over, 2);
	assert_false(slot->held[SWIFTRDMA_KNOB_UAR]);
	/* The busiest one is fixed; the other one moves. */
	sig.fixed[0] = 0;
	assert_int_equal(eval(2000), 1);
	assert_int_equal(out[0].qpn, 17);
	assert_int_equal(slot->runs[0].passed_over, 1);
}

/* A job that has put all its QPs in domains of its own has nothing to gain from "place". */
static void test_place_own_domains(void **state)
{
	struct policy_slot *slot;

	(void)state;
	add("p", "job kv", "uar.coactive > 50%", "place on lightest uar", "uar.coactive < 20%");
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	sig.own_domain[0] = sig.own_domain[1] = 1;
	assert_int_equal(eval(1000), 0);
	slot = slot_of_kv();
	assert_int_equal(slot->runs[0].passed_over, 2);
	assert_false(slot->held[SWIFTRDMA_KNOB_PLACE]);
	/* One of the QPs was left to libmlx5, so others may come, too. */
	sig.own_domain[1] = 0;
	assert_int_equal(eval(2000), 1);
	assert_int_equal(out[0].knob, SWIFTRDMA_KNOB_PLACE);
	assert_int_equal(slot->runs[0].passed_over, 0);
}

/* QPs that are gone make room for others. */
static void test_migrate_forgets(void **state)
{
	struct policy_slot *slot;

	(void)state;
	crowd_by_process();
	assert_int_equal(eval(1000), 1);
	slot = &st.slots[0];
	while (!slot->used || !slot->n_moved)
		slot++;
	for (; slot->n_moved < POLICY_MOVED; slot->n_moved++)
		slot->moved[slot->n_moved] = (struct policy_moved){ .qpn = 9000 + slot->n_moved };
	assert_int_equal(eval(2000), 1);
	assert_int_equal(slot->n_moved, 2);
	assert_int_equal(policy_n_held(&st), 2);
	/* Forgotten moves are counted, and so are the moves of a job that is removed. */
	assert_int_equal(st.forgotten, POLICY_MOVED - 1);
	scene.jobs[1].since++;
	scene_changed();
	eval(2001);
	assert_int_equal(st.forgotten, POLICY_MOVED + 1);
}

/* A QP that got the number of one that was moved has not been moved. */
static void test_migrate_number_again(void **state)
{
	(void)state;
	crowd_by_process();
	assert_int_equal(eval(1000), 1);
	assert_int_equal(eval(2000), 1);
	assert_int_equal(eval(3000), 0);
	assert_int_equal(scene.qps[1].qpn, 18);
	scene.qps[1].serial = 77;
	scene_changed();
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	assert_int_equal(eval(4000), 1);
	assert_int_equal(out[0].qpn, 18);
	assert_int_equal(out[0].serial, 77);
	assert_int_equal(eval(5000), 0);
}

static void test_off(void **state)
{
	(void)state;
	add("p", "job kv", "port.util > 80%", "job.level = 3",
	    "port.util < 60%")->off = true;
	util(0.9);
	assert_int_equal(eval(1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVAL_TEST(test_fallback),
		EVAL_TEST(test_undo_fallback),
		EVAL_TEST(test_fallbacks_in_turn),
		EVAL_TEST(test_undo_fallbacks_in_turn),
		EVAL_TEST(test_several_knobs),
		EVAL_TEST(test_value_from_signals),
		EVAL_TEST(test_scale),
		EVAL_TEST(test_max_steps),
		EVAL_TEST(test_rate_and_order),
		EVAL_TEST(test_burst),
		EVAL_TEST(test_causes),
		EVAL_TEST(test_failed_cause),
		EVAL_TEST(test_failed_in_part),
		EVAL_TEST(test_damping),
		EVAL_TEST(test_best_effort_is_left_something),
		EVAL_TEST(test_migrate),
		EVAL_TEST(test_migrate_fails),
		EVAL_TEST(test_migrate_within_context),
		EVAL_TEST(test_migrate_nowhere),
		EVAL_TEST(test_migrate_by_process),
		EVAL_TEST(test_migrate_fixed),
		EVAL_TEST(test_place_own_domains),
		EVAL_TEST(test_migrate_forgets),
		EVAL_TEST(test_migrate_number_again),
		EVAL_TEST(test_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
