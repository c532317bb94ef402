// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What policies would have done with a recording, against what was done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/replay.h"
#include "unit/snap_build.h"

static const char policies[] =
	"agent: {smoothing: 1ns}\n"
	"jobs:\n"
	"- {name: kv, class: latency, slo: {p99: 50us}, match: [{comm: kv}]}\n"
	"- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
	"policies:\n"
	"- {name: port, for: job of class latency, when: port.util > 80% and job.p99 > 50us,\n"
	"   fallback: port.util > 80%, do: job.level += 1, ceiling: 3, cooldown: 100ms,\n"
	"   undo: {when: port.util < 60%, hold: 1ms}}\n"
	"- {name: late, for: job of class latency, when: qp.queue_delay > 5us,\n"
	"   do: job.credits = 5, undo: {when: qp.queue_delay < 1us}}\n";

static struct config cfg;
static struct replay rp;
static struct made reading[8];
static unsigned int n;
static uint64_t bytes;

static int setup(void **state)
{
	const struct caps all = caps_all();
	struct report r;

	(void)state;
	report_init(&r, "f");
	if (!config_load_text_for(&cfg, &all, policies, strlen(policies), &r)) {
		report_print(&r, stderr);
		fail();
	}
	assert_int_equal(replay_begin(&rp, &cfg), 0);
	n = 0;
	bytes = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	replay_end(&rp);
	config_free(&cfg);
	return 0;
}

/* 100 ms later: the port was so busy, and kv's level, 0 for none, in force. */
static void then(double util, uint32_t level)
{
	struct made *m = &reading[n];
	struct snap_job_stat *st;

	bytes += (uint64_t)(util * 250000);
	made_scene(m, 1000 + 100 * n, bytes);
	st = &m->jobs[1].stats[0];
	st->level = level;
	if (level)
		st->has |= SNAP_LEVEL;
	else
		st->has &= ~(uint64_t)SNAP_LEVEL;
	assert_int_equal(replay_step(&rp, n ? &reading[n - 1].s : NULL, &m->s), 0);
	n++;
}

static void test_against(void **state)
{
	const struct replay_knob *k;

	(void)state;
	then(0, 0);
	then(0.5, 0);
	assert_int_equal(rp.n_knobs, 0);
	assert_int_equal(rp.n_out + rp.n_turned, 0);
	then(0.95, 0);		/* the policies would act at 200 ms */
	assert_int_equal(rp.n_out, 1);
	k = replay_find(&rp, "kv", SWIFTRDMA_KNOB_LEVEL);
	assert_non_null(k);
	assert_true(k->told);
	then(0.95, 2);		/* somebody did at 300 */
	assert_int_equal(rp.n_turned, 1);
	assert_ptr_equal(&rp.knobs[rp.turned[0]], k);
	assert_true(k->done.has && k->done.v == 2);
	/* Both at 2 now: what was said of the time before has not changed. */
	assert_true(k->would.has && k->would.v == 2);
	then(0.7, 2);
	assert_int_equal(rp.n_out + rp.n_turned, 0);
	assert_int_equal(k->would.first, 200 * MS);
	assert_int_equal(k->done.first, 300 * MS);
	assert_int_equal(k->would.turns, 2);
	assert_int_equal(k->done.turns, 1);
	/* 0 to 200 neither, 200 to 300 they alone, from then on both. */
	assert_int_equal(k->agreed, 300 * MS);
	assert_int_equal(k->apart, 100 * MS);
	then(0.1, 0);
	assert_false(k->done.has);
	assert_int_equal(k->done.turns, 2);
	assert_int_equal(rp.readings, 6);
	assert_int_equal(rp.decisions, 2 + rp.n_out);
}

/* What was in force from the beginning; and what nobody records. */
static void test_done_alone(void **state)
{
	const struct replay_knob *k;

	(void)state;
	then(0, 3);
	k = replay_find(&rp, "kv", SWIFTRDMA_KNOB_LEVEL);
	assert_non_null(k);
	assert_int_equal(k->done.first, 0);
	assert_int_equal(k->would.first, REPLAY_NEVER);
	then(0.1, 3);
	assert_int_equal(k->agreed, 0);
	assert_int_equal(k->apart, 100 * MS);
	assert_null(replay_find(&rp, "kv", SWIFTRDMA_KNOB_CREDITS));
	assert_null(replay_find(&rp, "bulk", SWIFTRDMA_KNOB_LEVEL));
}

/* Other knobs, and of two devices the one that has more. */
static void test_knobs(void **state)
{
	static const struct {
		unsigned int knob;
		uint64_t bit;
		double v;
	} want[] = {
		{ SWIFTRDMA_KNOB_MAX_QPS, SNAP_MAX_QPS, 70 },
		{ SWIFTRDMA_KNOB_CREATE_RATE, SNAP_CREATE_RATE, 71 },
		{ SWIFTRDMA_KNOB_BIT_RATE, SNAP_BIT_RATE, 72 },
		{ SWIFTRDMA_KNOB_WEIGHT, SNAP_WEIGHT, 73 },
	};
	const struct replay_knob *k;
	struct snap_job_stat *st;
	size_t i;

	(void)state;
	made_scene(&reading[0], 1000, 0);
	made_dev(&reading[0], 1);
	st = &reading[0].jobs[2].stats[0];
	made_stat(&reading[0].jobs[2], 1, 0);
	for (i = 0; i < 2; i++, st++) {
		st->has |= SNAP_MAX_QPS | SNAP_CREATE_RATE | SNAP_BIT_RATE |
			   SNAP_WEIGHT;
		st->max_qps = 7 + 63 * i;
		st->create_rate = 8 + 63 * i;
		st->bit_rate = 9 + 63 * i;
		st->weight = 10 + 63 * (uint32_t)i;
	}
	assert_int_equal(replay_step(&rp, NULL, &reading[0].s), 0);
	assert_int_equal(rp.n_turned, 4);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		k = replay_find(&rp, "bulk", want[i].knob);
		assert_non_null(k);
		assert_true(k->done.has && k->done.v == want[i].v);
	}
}

/* Which signals there were none of, and who asked for them. */
static void test_absent(void **state)
{
	uint64_t p99 = 1ULL << SIG_JOB_P99, delay = 1ULL << SIG_QP_QUEUE_DELAY;

	(void)state;
	then(0, 0);
	/* Rates take two readings. */
	assert_true(replay_lacks(&rp, 0) == (p99 | 1ULL << SIG_PORT_UTIL));
	then(0.5, 0);
	assert_true(replay_lacks(&rp, 0) == p99);
	assert_true(replay_lacks(&rp, 1) == delay);
	assert_int_equal(rp.n_jobs, 2);
	assert_false(rp.jobs[0].has_p99);
	assert_false(rp.jobs[0].has_delay);
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_against), T(test_done_alone), T(test_knobs),
		T(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
