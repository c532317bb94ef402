// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Metrics of made-up snapshots: every kind of object, what is absent, rests and owners that
 * only grow, targets, decisions, and the bound.
 */
#include <rdma/swiftrdma.h>

#include "unit/expo_rig.h"

static struct figures figures;
static struct expo expo;
static struct made scene;

static int setup(void **state)
{
	(void)state;
	memset(&expo, 0, sizeof(expo));
	return figures_init(&figures, &rig_options);
}

static int teardown(void **state)
{
	(void)state;
	figures_free(&figures);
	expo_free(&expo);
	return 0;
}

static void objects(void **state)
{
	char *t;

	(void)state;
	made_scene(&scene, 1000, 250000);
	made_prios(&scene);
	scene.prios[3].rx_pauses = 7;
	scene.prios[3].rx_pause_time = 1500000;
	scene.devs[0].created = 12;
	scene.devs[0].has = SNAP_COMMANDS;
	scene.devs[0].command_time = 2500000000;
	rig_take(&figures, &scene.s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_up", "1");
	assert_metric(t, "swiftrdma_device_info{device=\"rxe0\",work_unit=\"wr\"}", "1");
	assert_metric(t, "swiftrdma_device_qps{device=\"rxe0\"}", "3");
	assert_metric(t, "swiftrdma_device_qp_creations_total{device=\"rxe0\"}", "12");
	assert_metric(t, "swiftrdma_device_command_seconds_total{device=\"rxe0\"}", "2.5");
	assert_metric(t, "swiftrdma_port_transmit_bytes_total{device=\"rxe0\",port=\"1\"}",
		      "250000");
	assert_metric(t, "swiftrdma_port_speed_bytes{device=\"rxe0\",port=\"1\"}", "2500000");
	assert_metric(t, "swiftrdma_priority_receive_pauses_total{device=\"rxe0\",port=\"1\",priority=\"3\"}",
		      "7");
	assert_metric(t, "swiftrdma_priority_receive_paused_seconds_total{device=\"rxe0\",port=\"1\",priority=\"3\"}",
		      "0.0015");
	assert_metric(t, "swiftrdma_job_info{job=\"kv\",class=\"latency\"}", "1");
	assert_metric(t, "swiftrdma_job_qps{device=\"rxe0\",job=\"kv\"}", "2");
	/* What the device does not tell is absent, not zero. */
	assert_null(rig_value(t, "swiftrdma_device_qp_cache_misses_total{device=\"rxe0\"}"));
	assert_null(rig_value(t, "swiftrdma_port_utilization_ratio{device=\"rxe0\",port=\"1\"}"));
	assert_null(rig_value(t, "swiftrdma_job_wqebbs_total{device=\"rxe0\",job=\"kv\"}"));
	assert_null(strstr(t, "_created"));
	free(t);
}

/* What a device counts decides the name, so no sum adds up different things. */
static void units_of_work(void **state)
{
	char *t;

	(void)state;
	made_scene(&scene, 1000, 0);
	scene.devs[0].caps = SWIFTRDMA_DEV_CAP_WQEBBS;
	scene.stats[1][0].wrs = 44;
	rig_take(&figures, &scene.s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_job_wqebbs_total{device=\"rxe0\",job=\"kv\"}", "44");
	assert_null(rig_value(t, "swiftrdma_job_work_requests_total{device=\"rxe0\",job=\"kv\"}"));
	free(t);
}

/* A job that began anew is told by its start. */
static void start_times(void **state)
{
	static const char want[] = "2.5";
	char *t;

	(void)state;
	made_scene(&scene, 5000, 0);
	scene.jobs[1].since = 2500 * MS;
	rig_take(&figures, &scene.s);
	/* rig_take() has a source without a clock, so its epoch is 1970. */
	t = rig_text(&figures, &expo, EXPO_OPENMETRICS);
	assert_metric(t, "swiftrdma_job_qp_creations_created{device=\"rxe0\",job=\"kv\"}", want);
	assert_metric(t, "swiftrdma_job_start_time_seconds{job=\"kv\"}", want);
	assert_string_equal(t + strlen(t) - 6, "# EOF\n");
	free(t);
}

/* Sets the work of QP @i and its UAR. */
static void set_work(struct made *m, size_t i, uint64_t wrs)
{
	m->qps[i].wrs = wrs;
	m->qps[i].doorbells = wrs / 2;
}

/* One QP and one UAR have series of their own; the others are one, which only grows. */
static void rests(void **state)
{
	static const char rest[] = "swiftrdma_qp_work_requests_total{device=\"rxe0\",qpn=\"rest\"}";
	char *t;

	(void)state;
	made_scene(&scene, 1000, 0);
	set_work(&scene, 0, 1000);
	set_work(&scene, 1, 100);
	set_work(&scene, 2, 10);
	rig_take(&figures, &scene.s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, rest, "0");
	assert_metric(t, "swiftrdma_rest_qps{device=\"rxe0\"}", "2");
	free(t);

	made_scene(&scene, 2000, 0);
	set_work(&scene, 0, 9000);
	set_work(&scene, 1, 150);
	set_work(&scene, 2, 17);
	rig_take(&figures, &scene.s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_qp_work_requests_total{device=\"rxe0\",port=\"1\",qpn=\"17\",job=\"kv\",owner=\"unknown\"}",
		      "9000");
	assert_metric(t, rest, "57");
	assert_null(strstr(t, "qpn=\"18\""));
	assert_metric(t, "swiftrdma_uar_qps{device=\"rxe0\",uar=\"rest\"}", "1");
	free(t);

	/* QP 18 is gone: its work stays in the sum. */
	made_scene(&scene, 3000, 0);
	scene.qps[1] = scene.qps[2];
	scene.s.n_qps = 2;
	set_work(&scene, 0, 9500);
	set_work(&scene, 1, 20);
	rig_take(&figures, &scene.s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, rest, "60");
	free(t);
}

static void owners(void **state)
{
	static const char *const names[] = { "/system.slice/kv.service", "/bulk" };
	char *t;
	int i, turn;

	(void)state;
	for (turn = 0; turn < 2; turn++) {
		made_scene(&scene, 1000 + 1000 * (uint64_t)turn, 0);
		for (i = 0; i < 2; i++)
			strcpy(scene.owners[i].cgroup, names[i]);
		for (i = 0; i < 3; i++)
			set_work(&scene, (size_t)i, 100 * (uint64_t)turn * (uint64_t)(i + 1));
		rig_take(&figures, &scene.s);
	}
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_owner_qps{device=\"rxe0\",job=\"kv\",owner=\"unit:kv.service\"}",
		      "2");
	assert_metric(t, "swiftrdma_owner_work_requests_total{device=\"rxe0\",job=\"kv\",owner=\"unit:kv.service\"}",
		      "300");
	assert_metric(t, "swiftrdma_owner_work_requests_total{device=\"rxe0\",job=\"bulk\",owner=\"cgroup:/bulk\"}",
		      "300");
	free(t);
}

/* More owners than have a name of their own. */
static void many_owners(void **state)
{
	char *t;

	(void)state;
	figures.tally.max_owners = 1;
	made_scene(&scene, 1000, 0);
	strcpy(scene.owners[0].cgroup, "/a");
	strcpy(scene.owners[1].cgroup, "/b");
	rig_take(&figures, &scene.s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_owner_qps{device=\"rxe0\",job=\"kv\",owner=\"cgroup:/a\"}", "2");
	assert_metric(t, "swiftrdma_owner_qps{device=\"rxe0\",owner=\"rest\"}", "1");
	assert_metric(t, "swiftrdma_exporter_unnamed_owner_qps", "1");
	free(t);
}

/* Histograms, the target, whether it is met, and the share of requests that met it. */
static void targets(void **state)
{
	char *t;

	(void)state;
	rig_latencies(&figures, &scene, 1000, 1000, 0);
	rig_latencies(&figures, &scene, 7000, 2900, 100);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_job_latency_seconds_bucket{device=\"rxe0\",job=\"kv\",le=\"2e-05\"}",
		      "0");
	assert_metric(t, "swiftrdma_job_latency_seconds_bucket{device=\"rxe0\",job=\"kv\",le=\"5e-05\"}",
		      "5800");
	assert_metric(t, "swiftrdma_job_latency_seconds_bucket{device=\"rxe0\",job=\"kv\",le=\"0.0005\"}",
		      "6000");
	assert_metric(t, "swiftrdma_job_latency_seconds_count{device=\"rxe0\",job=\"kv\"}", "6000");
	assert_metric(t, "swiftrdma_job_latency_seconds_sum{device=\"rxe0\",job=\"kv\"}", "0.234");
	assert_metric(t, "swiftrdma_job_slo_p99_seconds{job=\"kv\"}", "0.0001");
	/* 100 of 2000 samples are above, so the p99 is. */
	assert_metric(t, "swiftrdma_job_slo_met{job=\"kv\"}", "0");
	assert_metric(t, "swiftrdma_job_slo_requests_total{job=\"kv\"}", "4000");
	assert_metric(t, "swiftrdma_job_slo_requests_met_total{job=\"kv\"}", "3800");
	assert_null(rig_value(t, "swiftrdma_job_slo_met{job=\"bulk\"}"));
	free(t);

	rig_latencies(&figures, &scene, 14000, 9900, 100);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_job_slo_met{job=\"kv\"}", "1");
	assert_metric(t, "swiftrdma_job_slo_requests_total{job=\"kv\"}", "18000");
	free(t);
}

static void tell_action(struct snap_action a, uint64_t batch)
{
	struct source s = { .fd = -1 };

	s.event = (struct reader_event){ .kind = SNAP_EVENT_ACTION, .batch = batch, .action = a };
	assert_int_equal(figures_take(&figures, &s, SOURCE_EVENT), 0);
}

static void decisions(void **state)
{
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .job = "kv", .qps = 2, .qps_done = 1,
		.qps_pending = 1, .decision = { .policy = "port" },
	};
	struct source s = { .fd = -1 };
	char *t;

	(void)state;
	/* A result that is told twice is one decision. */
	tell_action(a, 5);
	a.qps_pending = 0;
	tell_action(a, 5);
	a.clear = true;
	tell_action(a, 6);
	a.decision.policy[0] = '\0';
	a.error = -1;
	tell_action(a, 7);
	s.event = (struct reader_event){ .kind = SNAP_EVENT_LEASE_END, .expired = true };
	figures_take(&figures, &s, SOURCE_EVENT);
	s.event = (struct reader_event){ .kind = SNAP_EVENT_LOST };
	figures_take(&figures, &s, SOURCE_EVENT);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_decisions_total{policy=\"port\",job=\"kv\",knob=\"job.level\",act=\"set\"}",
		      "1");
	assert_metric(t, "swiftrdma_decisions_total{policy=\"port\",job=\"kv\",knob=\"job.level\",act=\"release\"}",
		      "1");
	assert_metric(t, "swiftrdma_decisions_total{policy=\"none\",job=\"kv\",knob=\"job.level\",act=\"release\"}",
		      "1");
	assert_metric(t, "swiftrdma_decision_results_total{policy=\"port\",job=\"kv\",knob=\"job.level\",result=\"pending\"}",
		      "1");
	assert_metric(t, "swiftrdma_decision_results_total{policy=\"port\",job=\"kv\",knob=\"job.level\",result=\"done\"}",
		      "2");
	assert_metric(t, "swiftrdma_decision_results_total{policy=\"none\",job=\"kv\",knob=\"job.level\",result=\"refused\"}",
		      "1");
	assert_metric(t, "swiftrdma_lease_ends_total{cause=\"expired\"}", "1");
	assert_metric(t, "swiftrdma_lease_ends_total{cause=\"ended\"}", "0");
	assert_metric(t, "swiftrdma_event_losses_total", "1");
	free(t);
}

/* What is in force: two leases of one origin, and one QP. */
static void in_force(void **state)
{
	const struct snap_action actions[] = {
		{ .knob = SWIFTRDMA_KNOB_LEVEL, .value = 3, .job = "kv", .in_force = true,
		  .lease_id = 4, .lease_ttl_ms = 1500, .lease_rank = 10, .lease_origin = "agent" },
		{ .knob = SWIFTRDMA_KNOB_LEVEL, .value = 1, .job = "kv",
		  .lease_id = 5, .lease_ttl_ms = 500, .lease_rank = 10, .lease_origin = "agent" },
		{ .knob = SWIFTRDMA_KNOB_LEVEL, .value = 1, .qpn = 17, .in_force = true,
		  .lease_id = 5, .lease_ttl_ms = 500, .lease_rank = 10, .lease_origin = "agent" },
		{ .kind = SWIFTRDMA_ACTION_KIND_PENDING, .knob = SWIFTRDMA_KNOB_LEVEL, .job = "kv",
		  .qpn = 17 },
	};
	struct source s = { .fd = -1, .has_actions = true };
	char *t;

	(void)state;
	made_scene(&scene, 1000, 0);
	assert_int_equal(snap_copy(&s.snap, &scene.s), 0);
	s.n_actions = sizeof(actions) / sizeof(actions[0]);
	assert_true(array_reserve(&s.actions, &s.cap_actions, s.n_actions, sizeof(*s.actions)));
	memcpy(s.actions, actions, sizeof(actions));
	assert_int_equal(figures_take(&figures, &s, SOURCE_READING), 0);
	source_close(&s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_leases{origin=\"agent\",rank=\"10\"}", "2");
	assert_metric(t, "swiftrdma_lease_remaining_seconds{origin=\"agent\",rank=\"10\"}", "0.5");
	assert_metric(t, "swiftrdma_override_value{job=\"kv\",knob=\"job.level\",origin=\"agent\",rank=\"10\",lease=\"4\"}",
		      "3");
	assert_metric(t, "swiftrdma_override_in_force{job=\"kv\",knob=\"job.level\",origin=\"agent\",rank=\"10\",lease=\"5\"}",
		      "0");
	assert_metric(t, "swiftrdma_qp_overrides", "1");
	assert_metric(t, "swiftrdma_qps_pending", "1");
	free(t);
}

/* Without the module nothing is told of what it had. */
static void module_away(void **state)
{
	struct source s = { .fd = -1, .why = "away" };
	char *t;

	(void)state;
	made_scene(&scene, 1000, 0);
	rig_take(&figures, &scene.s);
	assert_int_equal(figures_take(&figures, &s, SOURCE_FAILED), 0);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_up", "0");
	assert_null(strstr(t, "swiftrdma_device"));
	assert_null(strstr(t, "swiftrdma_job_qps"));
	assert_metric(t, "swiftrdma_exporter_reading_failures_total", "1");
	free(t);
	/* The counts of a module that was loaded anew are no growth. */
	made_scene(&scene, 500, 0);
	rig_take(&figures, &scene.s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	assert_metric(t, "swiftrdma_up", "1");
	free(t);
}

/* The bound holds, and the exporter's own metrics say what is missing. */
static void series_bound(void **state)
{
	size_t lines = 0;
	char *t;

	(void)state;
	figures.opt.max_series = EXPO_RESERVE + 10;
	made_scene(&scene, 1000, 0);
	rig_take(&figures, &scene.s);
	t = rig_text(&figures, &expo, EXPO_TEXT);
	for (const char *p = t; *p; p = strchr(p, '\n') + 1)
		lines += *p != '#';
	assert_in_range(lines, 20, figures.opt.max_series);
	assert_int_equal(lines, expo.series);
	assert_metric(t, "swiftrdma_exporter_series_limit", "266");
	assert_metric(t, "swiftrdma_exporter_dropped_series{metric=\"swiftrdma_job_qps\"}", "3");
	assert_non_null(rig_value(t, "swiftrdma_exporter_dropped_series_sum_total"));
	assert_non_null(rig_value(t, "process_cpu_seconds_total"));
	free(t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(objects),
		TEST(units_of_work),
		TEST(start_times),
		TEST(rests),
		TEST(owners),
		TEST(many_owners),
		TEST(targets),
		TEST(decisions),
		TEST(in_force),
		TEST(module_away),
		TEST(series_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
