// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What policies would have done with a recording, against what was done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "io/io.h"
#include "sim/replay.h"
#include "unit/snap_build.h"

static const char policies[] =
	"agent: {smoothing: 1ns}\n"
	"levels: [{level: 1, dscp: 8}, {level: 2, dscp: 16}, {level: 3, dscp: 24}]\n"
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
static uint64_t bytes, bulk_credits;

static int setup(void **state)
{
	const struct caps all = caps_all();
	struct diag r;

	(void)state;
	diag_init(&r, "f");
	if (!config_load_text_for(&cfg, &all, policies, strlen(policies), &r)) {
		diag_print(&r, stderr);
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
	st = &m->jobs[2].stats[0];
	st->credits = bulk_credits;
	if (bulk_credits)
		st->has |= SNAP_CREDITS;
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
	assert_true(k->recorded);
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
	assert_null(replay_find(&rp, "kv", SWIFTRDMA_KNOB_QPS));
	assert_null(replay_find(&rp, "bulk", SWIFTRDMA_KNOB_LEVEL));
}

/* --- Events -------------------------------------------------------------------- */

static void happens(uint64_t ms, const struct snap_event *e)
{
	assert_int_equal(replay_event(&rp, (1000 + ms) * MS, e), 0);
}

/* An override of kv's level, of this lease; 0 clears it. */
static void acts(uint64_t ms, uint64_t lease, uint32_t rank, uint64_t level)
{
	const struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .value = level, .clear = !level,
		.has_value = level, .job = "kv", .lease_id = lease,
		.lease_rank = rank,
	};

	happens(ms, &(struct snap_event){ .kind = SNAP_EVENT_ACTION, .action = &a });
}

static void lease_ends(uint64_t ms, uint64_t lease)
{
	happens(ms, &(struct snap_event){ .kind = SNAP_EVENT_LEASE_END, .lease = lease });
}

static bool kv_level(double v)
{
	const struct replay_knob *k = replay_find(&rp, "kv", SWIFTRDMA_KNOB_LEVEL);

	return v != 0 ? k && k->done.has && k->done.v == v : k && !k->done.has;
}

/* What was set and taken back between two readings, which say nothing of it. */
static void test_between(void **state)
{
	const struct replay_knob *k;

	(void)state;
	then(0, 0);
	acts(20, 5, 100, 3);
	assert_int_equal(rp.n_turned, 1);
	assert_true(kv_level(3));
	acts(70, 5, 100, 0);
	assert_int_equal(rp.n_turned, 1);
	assert_true(kv_level(0));
	then(0, 0);
	assert_int_equal(rp.n_turned, 0);
	k = replay_find(&rp, "kv", SWIFTRDMA_KNOB_LEVEL);
	assert_int_equal(k->done.turns, 2);
	assert_int_equal(k->done.first, 20 * MS);
	/* Nobody would have: 20 ms and 30 alike, 50 not. */
	assert_int_equal(k->agreed, 50 * MS);
	assert_int_equal(k->apart, 50 * MS);
	assert_int_equal(rp.events, 2);
	assert_int_equal(rp.readings, 2);
}

/* When it was done, rather than when it was read next; and what a lease held. */
static void test_when(void **state)
{
	const struct replay_knob *k;

	(void)state;
	then(0, 0);
	acts(40, 5, 100, 3);
	then(0, 3);
	assert_int_equal(rp.n_turned, 0);
	k = replay_find(&rp, "kv", SWIFTRDMA_KNOB_LEVEL);
	assert_int_equal(k->done.first, 40 * MS);
	lease_ends(150, 6);
	assert_true(kv_level(3));
	lease_ends(160, 5);
	assert_int_equal(rp.n_turned, 1);
	assert_true(kv_level(0));
	then(0, 0);
	assert_int_equal(k->done.turns, 2);
}

/* The reading was faster than the event: it is the same act. */
static void test_late(void **state)
{
	const struct replay_knob *k;

	(void)state;
	then(0, 0);
	then(0, 2);
	acts(90, 5, 100, 1);	/* and what was before it */
	acts(90, 5, 100, 2);
	assert_true(kv_level(2));
	k = replay_find(&rp, "kv", SWIFTRDMA_KNOB_LEVEL);
	assert_int_equal(k->done.turns, 1);
	assert_int_equal(k->done.first, 100 * MS);
	lease_ends(150, 5);
	assert_true(kv_level(0));
}

/* Who has the higher rank holds, of equals the younger; a reading knows better. */
static void test_ranks(void **state)
{
	(void)state;
	then(0, 0);
	acts(10, 5, 100, 3);
	acts(20, 4, 200, 4);
	assert_true(kv_level(4));
	acts(30, 5, 100, 2);
	assert_true(kv_level(4));
	acts(40, 6, 200, 1);
	assert_true(kv_level(1));
	acts(50, 4, 200, 4);
	assert_true(kv_level(1));
	/* What lies beneath the next reading says; until then nothing was taken back. */
	acts(60, 6, 200, 0);
	assert_true(kv_level(1));
	then(0, 4);
	assert_true(kv_level(4));
	/* Whose that is was not said since. */
	acts(110, 7, 300, 1);
	lease_ends(120, 6);
	assert_true(kv_level(4));
	then(0, 1);
	assert_true(kv_level(1));
}

/* After a loss no lease is known to hold what it held. */
static void test_lost(void **state)
{
	(void)state;
	then(0, 0);
	acts(10, 5, 100, 3);
	happens(20, &(struct snap_event){ .kind = SNAP_EVENT_LOST, .why = "so" });
	lease_ends(30, 5);
	assert_true(kv_level(3));
	assert_int_equal(rp.losses, 1);
	assert_int_equal(rp.events, 2);
	then(0, 0);
	assert_true(kv_level(0));
}

/* What is not in force of a whole job; and events before any reading. */
static void test_not_a_jobs(void **state)
{
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .value = 3, .has_value = true,
		.lease_id = 5, .qpn = 17,
	};
	const struct snap_event e = { .kind = SNAP_EVENT_ACTION, .action = &a };
	const struct snap_qp qp = { .qpn = 17 };

	(void)state;
	happens(0, &(struct snap_event){ .kind = SNAP_EVENT_QP_CREATED, .qp = &qp });
	then(0, 0);
	assert_int_equal(rp.last - rp.first, 0);
	happens(10, &e);
	snprintf(a.job, sizeof(a.job), "kv");
	a.has_dev = true;
	happens(20, &e);
	a.has_dev = false;
	a.knob = SWIFTRDMA_KNOB_QPS;
	happens(30, &e);
	assert_int_equal(rp.n_knobs, 0);
	assert_int_equal(rp.events, 4);
	/* Older than what was read last: time does not run backwards. */
	happens(5, &e);
	assert_int_equal(rp.last - rp.first, 30 * MS);
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
		{ SWIFTRDMA_KNOB_WR_RATE, SNAP_WR_RATE, 74 },
		{ SWIFTRDMA_KNOB_CREDITS, SNAP_CREDITS, 75 },
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
			   SNAP_WEIGHT | SNAP_WR_RATE | SNAP_CREDITS;
		st->max_qps = 7 + 63 * i;
		st->create_rate = 8 + 63 * i;
		st->bit_rate = 9 + 63 * i;
		st->weight = 10 + 63 * (uint32_t)i;
		st->wr_rate = 11 + 63 * i;
		st->credits = 12 + 63 * i;
	}
	assert_int_equal(replay_step(&rp, NULL, &reading[0].s), 0);
	assert_int_equal(rp.n_turned, 6);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		k = replay_find(&rp, "bulk", want[i].knob);
		assert_non_null(k);
		assert_true(k->recorded);
		assert_true(k->done.has && k->done.v == want[i].v);
	}
}

/* Credits that libraries enforced, by readings and by an event, against what would have been set. */
static void test_credits(void **state)
{
	static const char text[] =
		"agent: {smoothing: 1ns}\n"
		"jobs: [{name: bulk, class: throughput, match: [{comm: bulk}]}]\n"
		"policies:\n"
		"- {name: few, for: job bulk, when: port.util > 80%, do: job.credits = 5, undo: {when: port.util < 60%}}\n";
	const struct caps all = caps_all();
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_CREDITS, .value = 5, .has_value = true, .job = "bulk",
		.lease_id = 7, .lease_rank = 10,
	};
	const struct snap_event e = { .kind = SNAP_EVENT_ACTION, .action = &a };
	const struct replay_knob *k;
	struct diag r;

	(void)state;
	replay_end(&rp);
	config_free(&cfg);
	diag_init(&r, "f");
	assert_true(config_load_text_for(&cfg, &all, text, strlen(text), &r));
	assert_int_equal(replay_begin(&rp, &cfg), 0);
	then(0, 0);
	then(0.95, 0);		/* the policy would set 5 at 100 ms */
	k = replay_find(&rp, "bulk", SWIFTRDMA_KNOB_CREDITS);
	assert_non_null(k);
	assert_true(k->recorded && k->would.has && k->would.v == 5);
	assert_false(k->done.has);
	happens(150, &e);
	assert_true(k->done.has && k->done.v == 5);
	assert_int_equal(k->done.first, 150 * MS);
	bulk_credits = 5;
	then(0.95, 0);
	bulk_credits = 0;
	assert_int_equal(k->done.turns, 1);
	/* Neither until 100 ms, and both from 150. */
	assert_int_equal(k->agreed, 150 * MS);
	assert_int_equal(k->apart, 50 * MS);
	then(0.95, 0);
	assert_false(k->done.has);
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
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_against), T(test_done_alone), T(test_knobs),
		T(test_credits), T(test_absent), T(test_between), T(test_when), T(test_late),
		T(test_ranks), T(test_lost), T(test_not_a_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
