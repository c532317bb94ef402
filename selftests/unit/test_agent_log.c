// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the agent logs: decisions, their results, advice; and how often. */
#include "unit/agent_rig.h"

/* The record of a decision, as --log-json prints it. */
static void test_logged(void **state)
{
	static const char *const want[] = {
		"{\"event\":\"decision\",\"time\":", ",\"tick\":1,\"dry_run\":false,\"batch\":",
		",\"policy\":\"port\",\"job\":\"kv\",\"dev\":\"rxe0\",\"port\":1,",
		"\"knob\":\"job.level\",\"old\":0,\"new\":1,\"undo\":false,",
		"\"signals\":{\"port.util\":0.95,\"job.qps\":2},\"cooldown\":100000000,",
		"\"reason\":\"port: port rxe0/1 util 95 % > 80 % and job kv qps 2 > 0: level 0 -> 1\"}\n",
	};
	const char *text, *at;
	size_t i;

	(void)state;
	begin_capture(stdout, -1, true);
	tick(0, 0);
	tick(100, 0.95);
	at = text = end_capture();
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		at = strstr(at, want[i]);
		if (!at)
			fail_msg("no %s in\n%s", want[i], text);
		at += strlen(want[i]);
	}
	assert_int_equal(*at, 0);
}

/* What a tick logs, on a busy port. */
static const char *log_of_tick(void)
{
	begin_capture(stdout, -1, true);
	tick(100, 0.95);
	return end_capture();
}

/*
 * Policies that are derived decide by p99 where libraries tell it, and else by the load of
 * the port; the log says by which.
 */
static void test_by_p99(void **state)
{
	static const char text[] =
		"agent: {smoothing: 1ns}\n"
		"jobs:\n"
		"- {name: kv, class: latency, match: [{comm: kv}], slo: {p99: 50us}}\n"
		"- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
		"criteria: {cooldown: 100ms, settle: 1ms}\n"
		"order: kv > bulk\n";
	struct snap_job_report *r = made_job_report(&fake.scene, 1, 0, 1);
	struct config cfg;
	const char *log;

	(void)state;
	load_config(&cfg, text);
	agent_reload(&agent, &cfg);
	tick(0, 0);
	/* The port is busy, and the target is met: no level is raised. */
	made_latencies(r, 10000, 1000, 1);
	log = log_of_tick();
	assert_null(strstr(log, "port-kv"));
	made_latencies(r, 80000, 1000, 1);
	log = log_of_tick();
	assert_says(log, "port-kv: port rxe0/1 util 95 % > 80 % and job.p99 > job.slo_p99 * slo_near (job kv p99 ");
	assert_says(log, "\"job.p99\":8");
	assert_says(log, "\"job.slo_p99\":5");
	assert_null(strstr(log, "fallback"));
	agent_reload(&agent, (load_config(&cfg, text), &cfg));
	/* No library any more. */
	fake.level[1] = -1;
	fake.scene.s.n_job_reports = 0;
	tick(100, 0);
	tick(5000, 0);
	tick(5000, 0);
	log = log_of_tick();
	assert_says(log, "port-kv: port rxe0/1 util 95 % > 80 % and job kv qps 2 > 0, by fallback as job kv p99 unknown");
	assert_says(log, "\"job.p99\":null");
}

/* The kernel looks into kv's send queues: 30 more looks, that saw @depth WQEBBs of 100 a tick. */
static void look_at_kv(uint64_t depth)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		struct snap_qp *qp = &fake.scene.qps[i];

		qp->has |= SNAP_LOOKS;
		qp->outstanding_samples += 30;
		qp->outstanding_sum += 30 * depth;
		qp->outstanding_squares += 30 * depth * depth;
		qp->wrs += 100;
	}
}

/* Of a job without a library on a ConnectX, derived policies use the mean and its trend. */
static void test_by_latency(void **state)
{
	static const char text[] =
		"agent: {smoothing: 1ns}\n"
		"jobs:\n"
		"- {name: kv, class: latency, match: [{comm: kv}]}\n"
		"- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
		"criteria: {cooldown: 100ms, settle: 1ms}\n"
		"order: kv > bulk\n";
	struct config cfg;
	const char *log;
	unsigned int i;

	(void)state;
	load_config(&cfg, text);
	agent_reload(&agent, &cfg);
	fake.scene.devs[0].caps = SWIFTRDMA_DEV_CAP_WRS | SWIFTRDMA_DEV_CAP_WQEBBS;
	look_at_kv(4);
	tick(0, 0);
	assert_true(fake.want.outstanding);
	for (i = 0; i < 2; i++) {
		look_at_kv(4);
		tick(100, 0);
	}
	/* The port is busy, and the mean stays as it was: no level is raised. */
	look_at_kv(4);
	assert_null(strstr(log_of_tick(), "port-kv"));
	/* 6 outstanding, at 1000 a second. */
	look_at_kv(6);
	log = log_of_tick();
	assert_says(log, "port-kv: port rxe0/1 util 95 % > 80 % and job.latency > job.latency_prev (job kv latency 6 ms, job kv latency_prev 4 ms), by fallback as job kv p99 unknown");
	assert_says(log, "\"job.p99\":null");
}

/* Placing changes nothing for a program that has put its QPs in domains of its own: said once, with the reason. */
static void test_passed_over(void **state)
{
	static const char text[] =
		"jobs:\n"
		"- {name: kv, class: latency, match: [{comm: kv}]}\n"
		"policies:\n"
		"- {name: spread, for: job kv, when: job.qps > 0, do: place on lightest uar, cooldown: 100ms,\n"
		"   undo: {when: job.qps == 0, hold: 1s}}\n";
	struct snap_job_report *r = made_job_report(&fake.scene, 1, 0, 1);
	struct config cfg;
	const char *log;
	size_t i;

	(void)state;
	r->n_held = 1;
	r->held[0] = (struct snap_held){ .knob = SWIFTRDMA_KNOB_PLACE, .processes = 1 };
	for (i = 0; i < 2; i++)
		made_qp_report(&fake.scene, &fake.scene.qps[i])->flags = SWIFTRDMA_SLOT_DOMAIN;
	load_config(&cfg, text);
	agent_reload(&agent, &cfg);
	tick(0, 0);
	log = log_of_tick();
	assert_says(log, "{\"event\":\"passed_over\",\"time\":");
	assert_says(log, ",\"policy\":\"spread\",\"job\":\"kv\",\"knob\":\"job.place\",\"qps\":2,\"reason\":\"new queue pairs are not placed, because");
	assert_null(strstr(log, "decision"));
	assert_string_equal(log_of_tick(), "");
	/* And of one QP that it has left to the library something is decided. */
	fake.scene.qp_reports[1].flags = 0;
	log = log_of_tick();
	assert_says(log, "\"event\":\"decision\"");
	assert_says(log, "\"knob\":\"job.place\"");
}

/* An imbalance is logged once when it has lasted, and forgotten when it is long over. */
static void test_imbalance(void **state)
{
	struct agent_crowded *c = NULL;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct snap_qp *qp = made_qp(&fake.scene, 0, 30 + (uint32_t)i, 1);

		qp->uar = 1;
		qp->owner = 0;
	}
	fake.scene.uars[0].qps = 5;
	strcpy(fake.scene.owners[0].comm, "kv\033");
	tick(0, 0);
	for (i = 0; i < 40; i++) {
		/* All QPs of process 100, and the only one of process 200. */
		for (size_t q = 0; q < fake.scene.s.n_qps; q++)
			fake.scene.qps[q].wrs += 10;
		tick(100, 0);
		for (size_t k = 0; k < AGENT_CROWDED; k++) {
			if (!agent.crowded[k].pid)
				continue;
			c = &agent.crowded[k];
			assert_int_equal(c->pid, 100);
		}
		assert_int_equal(c && c->said, i >= 20);
	}
	assert_string_equal(c->comm, "kv?");
	assert_string_equal(c->name, "rxe0");
	assert_int_equal(agent.crowd.procs[0].advice, CROWD_UUARS);
	/* A pause of traffic does not end the imbalance. */
	for (i = 0; i < 90; i++)
		tick(100, 0);
	assert_int_equal(c->pid, 100);
	for (i = 0; i < 40; i++)
		tick(100, 0);
	assert_int_equal(c->pid, 0);
}

/* A job whose rules match no QP is named once, after a minute. */
static void test_hint(void **state)
{
	static const char hint[] = "job kv: its rules have matched no queue pair in a minute";
	const char *text;

	(void)state;
	begin_capture(stderr, LOG_INFO, false);
	tick(0, 0);
	tick(100, 0);
	fake.scene.jobs[1].stats[0].qps = 0;
	tick(30000, 0);
	assert_null(strstr(end_capture(), hint));
	begin_capture(stderr, LOG_INFO, false);
	tick(31000, 0);
	tick(61000, 0);
	text = end_capture();
	assert_says(text, hint);
	assert_null(strstr(strstr(text, hint) + 1, hint));
	assert_null(strstr(text, "job bulk: its rules"));
}

/* A message that repeats is logged a few times, then counted. */
static void test_said_too_often(void **state)
{
	const char *text;
	size_t i, n = 0;

	(void)state;
	begin_capture(stderr, LOG_INFO, false);
	for (i = 0; i < 70; i++)
		log_msg(LOG_ERR, "job %zu is not set", i);
	for (i = 0; i < 30; i++)
		log_msg(LOG_INFO, "job %zu is set", i);
	text = end_capture();
	assert_says(text, "job 19 is not set\n");
	assert_null(strstr(text, "job 20 is not set"));
	assert_says(text, "job 29 is set\n");
	for (i = 0; i < KINDS; i++)
		kinds[i].since -= kinds[i].since ? WINDOW_NS : 0;
	begin_capture(stderr, LOG_INFO, false);
	for (i = 0; i < 2; i++)
		log_msg(LOG_ERR, "job %zu is not set", i);
	text = end_capture();
	assert_says(text, "... and 50 more like the next one\n");
	for (; (text = strstr(text, "is not set")); text++)
		n++;
	assert_int_equal(n, 2);
}

/* More formats than there is room for: those that make way tell how many were left out. */
static void test_too_many_kinds(void **state)
{
	static char others[KINDS][16];
	const char *text;
	size_t i;

	(void)state;
	begin_capture(stderr, LOG_INFO, false);
	for (i = 0; i < 70; i++)
		log_msg(LOG_ERR, "job %zu is gone", i);
	for (i = 0; i < KINDS; i++)
		assert_false(too_often(LOG_WARNING, others[i]));
	text = end_capture();
	assert_says(text, "swiftrdma-agent: ... and 50 more like 'job %zu is gone'\n");
	assert_null(strstr(strstr(text, "more like") + 1, "more like"));
}

/* Text and JSON count the actions of a batch alike. */
static void test_index(void **state)
{
	struct snap_action done = { .knob = SWIFTRDMA_KNOB_LEVEL, .value = 1, .job = "kv" };
	const char *text;

	(void)state;
	begin_capture(stderr, LOG_INFO, false);
	log_result(&done, 7, 1);
	assert_says(end_capture(), "result (batch 7/2): job kv: ");
	begin_capture(stdout, -1, true);
	log_result(&done, 7, 1);
	text = end_capture();
	assert_says(text, "{\"event\":\"result\",\"batch\":7,\"index\":2,\"job\":\"kv\",");
}

static void test_results(void **state)
{
	struct snap_action done = { .knob = SWIFTRDMA_KNOB_LEVEL, .value = 1,
				    .job = "kv", .qps = 2, .qps_done = 2 };

	(void)state;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(agent.n_due, 1);
	fake.event = (struct snap_event){ .kind = SNAP_EVENT_ACTION,
					.action = &done, .batch = 99 };
	fake.events_due = 1;
	agent_events(&agent);
	assert_int_equal(agent.n_due, 1);	/* of another batch */
	fake.event.batch = fake.last_batch;
	fake.events_due = 1;
	agent_events(&agent);
	assert_int_equal(agent.n_due, 0);
}

/* The kernel reports twice of a device that answers late. The agent logs both results. */
static void test_late_results(void **state)
{
	struct snap_action is = { .knob = SWIFTRDMA_KNOB_LEVEL, .value = 1, .job = "kv",
				  .qps = 2, .qps_pending = 2 };
	const char *text;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	fake.event = (struct snap_event){ .kind = SNAP_EVENT_ACTION, .action = &is,
					  .batch = fake.last_batch };
	assert_true(agent_awaits_results(&agent));
	for (unsigned int i = 0; i < 2; i++) {
		is.qps_done = 2 * i;
		is.qps_pending = 2 - 2 * i;
		fake.events_due = 1;
		begin_capture(stderr, LOG_INFO, false);
		agent_events(&agent);
		text = end_capture();
		assert_says(text, i ? "2 QPs, 2 done, 0 to be tried again" : "2 QPs, 0 done, 2 to be tried again");
		assert_false(agent_awaits_results(&agent));
	}
	assert_int_equal(agent.n_due, 0);
}

static const char *lose_events(void)
{
	fake.event = (struct snap_event){ .kind = SNAP_EVENT_LOST,
					.why = "so" };
	fake.events_due = 1;
	begin_capture(stderr, LOG_INFO, false);
	agent_events(&agent);
	return end_capture();
}

static void hold_level(uint64_t value, uint32_t done, uint32_t pending)
{
	fake.held[fake.n_held++] = (struct snap_action){
		.knob = SWIFTRDMA_KNOB_LEVEL, .value = value, .has_value = true,
		.job = "kv", .lease_id = fake.lease, .in_force = true,
		.qps = 2, .qps_done = done, .qps_pending = pending,
	};
}

/* After lost events the results are read from the actions that the kernel holds. */
static void test_results_lost(void **state)
{
	const char *text;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	hold_level(1, 1, 1);
	fake.held[0].error = -EBUSY;
	text = lose_events();
	assert_says(text, "some events were lost: so\n");
	assert_says(text, "result (batch 1/1): job kv: job.level = 1: 2 QPs, 1 done, 1 to be tried again, 0 that cannot change: cannot yet: not in RTS\n");
	/* The result is logged once, although a QP is still pending. */
	assert_int_equal(agent.n_due, 0);
	tick(100, 1);
	assert_int_equal(agent.n_due, 1);
	fake.n_held = 0;
	hold_level(2, 2, 0);
	text = lose_events();
	assert_says(text, "result (batch 2/1): job kv: job.level = 2: 2 QPs, 2 done, 0 to");
	assert_null(strstr(text, "batch 1/"));
	assert_int_equal(agent.n_due, 0);
	assert_says(lose_events(), "some events were lost");
	/* An action under another lease is no result of the agent's. */
	tick(100, 1);
	fake.n_held = 0;
	hold_level(3, 2, 0);
	fake.held[0].lease_id++;
	assert_says(lose_events(), "result (batch 3/1): job kv: the result was lost");
}

/* After a release the kernel lists only QPs that still have the level. */
static void test_release_lost(void **state)
{
	int i;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	agent.n_due = 0;
	agent.batch[0] = (struct snap_action){
		.knob = SWIFTRDMA_KNOB_LEVEL, .clear = true, .job = "kv",
	};
	agent_due_add(&agent, 7, 1);
	fake.held[fake.n_held++] = (struct snap_action){
		.kind = SWIFTRDMA_ACTION_KIND_PENDING, .job = "kv",
		.knob = SWIFTRDMA_KNOB_LEVEL, .has_dev = true, .qpn = 17,
		.error = -EBUSY,
	};
	assert_says(lose_events(), "result (batch 7/1): job kv: job.level released: 2 QPs, 1 done, 1 to be tried again, 0 that cannot change: ");
	assert_int_equal(agent.n_due, 0);
	fake.n_held = 0;
	agent_due_add(&agent, 8, 1);
	assert_says(lose_events(), "result (batch 8/1): job kv: job.level released: 2 QPs, 2 done, 0 to");
	/* The kernel lists no QPs for a limit of a job. */
	agent.batch[0].knob = SWIFTRDMA_KNOB_MAX_QPS;
	agent_due_add(&agent, 9, 1);
	assert_says(lose_events(), "result (batch 9/1): job kv: job.max_qps released");
	assert_int_equal(agent.n_due, 0);
	/* The list of results due is full: the oldest go. */
	for (i = 0; i < 5; i++)
		agent_due_add(&agent, 10 + (uint64_t)i, SWIFTRDMA_BATCH_MAX);
	assert_int_equal(agent.n_due, AGENT_DUE);
	assert_int_equal(agent.due[0].batch, 13);
	assert_int_equal(agent.due[AGENT_DUE - 1].batch, 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_logged), T(test_by_p99), T(test_by_latency), T(test_passed_over), T(test_imbalance),
		T(test_hint), T(test_said_too_often), T(test_too_many_kinds),
		T(test_index),
		T(test_results), T(test_late_results), T(test_results_lost), T(test_release_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
