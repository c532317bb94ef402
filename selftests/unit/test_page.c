// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the exporter's page is told: JSON of made-up readings, trends, events, QPs and
 * explanations.
 */
#include <errno.h>
#include <json-c/json.h>

#include <rdma/swiftrdma.h>

#include "unit/expo_rig.h"

#include "exporter/page_state.h"
#include "exporter/port_class.h"

static struct figures figures;
static struct rank uars;
static struct made scene;
static struct json_object *root;

static int setup(void **state)
{
	(void)state;
	return figures_init(&figures, &rig_options) || rank_init(&uars, PAGE_UARS);
}

static int teardown(void **state)
{
	(void)state;
	json_object_put(root);
	root = NULL;
	rank_free(&uars);
	figures_free(&figures);
	return 0;
}

/* --- reading JSON ----------------------------------------------------------------- */

/* Parses what @expr writes to "j". */
#define PARSE(expr)								\
	do {									\
		struct json writer = { .first = true }, *j = &writer;		\
		char *text = NULL;						\
		size_t len = 0;							\
										\
		writer.f = open_memstream(&text, &len);				\
		assert_non_null(writer.f);					\
		expr;								\
		assert_int_equal(fclose(writer.f), 0);				\
		/* An event of a stream has one line of data. */		\
		assert_null(strchr(text, '\n'));				\
		json_object_put(root);						\
		root = json_tokener_parse(text);				\
		if (!root)							\
			print_error("no JSON: %s\n", text);			\
		free(text);							\
		assert_non_null(root);						\
	} while (0)

/* A member by its path: "jobs>0>p99". NULL: there is none. */
static struct json_object *at(const char *path)
{
	struct json_object *o = root;
	char part[64];

	while (o && *path) {
		size_t n = strcspn(path, ">");

		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, (size_t)atoi(part));
		else
			o = json_object_object_get(o, part);
		path += n + (path[n] == '>');
	}
	return o;
}

#define assert_text(path, want)							\
	do {									\
		if (!at(path))							\
			print_error("no %s in %s\n", path, json_object_to_json_string(root)); \
		assert_non_null(at(path));					\
		assert_string_equal(json_object_get_string(at(path)), want);	\
	} while (0)
#define assert_number(path, want)						\
	do {									\
		if (!at(path))							\
			print_error("no %s in %s\n", path, json_object_to_json_string(root)); \
		assert_non_null(at(path));					\
		assert_float_equal(json_object_get_double(at(path)), want, 0.02 * (want) + 1e-9); \
	} while (0)
#define assert_length(path, want)						\
	assert_int_equal(json_object_array_length(at(path)), want)

/* --- the state -------------------------------------------------------------------- */

/* Two seconds of 20 Mbit/s, of which priority 3 sends a fourth. */
static void take_traffic(uint64_t ms, uint64_t tx_bytes)
{
	made_scene(&scene, ms, tx_bytes);
	scene.devs[0].ports = 1;
	made_prios(&scene);
	scene.prios[0].tx_bytes = tx_bytes / 4 * 3;
	scene.prios[3].tx_bytes = tx_bytes / 4;
	rig_take(&figures, &scene.s);
}

static void ports(void **state)
{
	(void)state;
	take_traffic(1000, 0);
	take_traffic(2000, 2000000);
	PARSE(page_state(&figures, &uars, j));
	assert_text("up", "true");
	assert_text("devs>0>name", "rxe0");
	assert_number("devs>0>qps", 3);
	assert_text("ports>0>dev", "rxe0");
	assert_number("ports>0>speed", 2e7);
	assert_number("ports>0>tx", 1.6e7);
	assert_length("ports>0>classes", 2);
	assert_text("ports>0>classes>0>name", "priority 0");
	assert_number("ports>0>classes>0>tx", 1.2e7);
	assert_text("ports>0>classes>1>name", "priority 3");
	assert_number("ports>0>classes>1>tx", 4e6);
	/* What is not known is absent. */
	assert_null(at("devs>0>qpc_miss"));
	assert_null(at("agent"));
}

/* Without priorities the libraries of jobs tell the classes. */
static void classes_of_jobs(void **state)
{
	(void)state;
	for (uint64_t s = 1; s <= 2; s++) {
		struct snap_job_report *r;

		made_scene(&scene, s * 1000, s * 2000000);
		scene.devs[0].ports = 1;
		for (size_t i = 0; i < 2; i++)
			made_qp_report(&scene, &scene.qps[i]);
		r = made_job_report(&scene, 1, 0, 1);
		r->sum.bytes = s * 500000;
		rig_take(&figures, &scene.s);
	}
	PARSE(page_state(&figures, &uars, j));
	assert_length("ports>0>classes", 2);
	assert_text("ports>0>classes>0>name", "latency jobs");
	assert_number("ports>0>classes>0>tx", 4e6);
	assert_null(at("ports>0>classes>0>rx"));
	assert_text("ports>0>classes>1>name", "other");
	assert_number("ports>0>classes>1>tx", 1.2e7);
}

/* A process chooses its name, so it may be anything. */
static void names(void **state)
{
	(void)state;
	made_scene(&scene, 1000, 0);
	scene.uars[0].has |= SNAP_OWNER;
	scene.uars[0].owner = 0;
	strcpy(scene.owners[0].comm, "a\"b\\\n\x1b\xff");
	rig_take(&figures, &scene.s);
	PARSE(page_state(&figures, &uars, j));
	assert_text("uars>0>comm", "a\"b\\\n\x1b\xef\xbf\xbd");
}

static void jobs(void **state)
{
	(void)state;
	rig_latencies(&figures, &scene, 1000, 1000, 0);
	rig_latencies(&figures, &scene, 7000, 2900, 100);
	scene.stats[1][0].has |= SNAP_LEVEL | SNAP_BIT_RATE;
	PARSE(page_state(&figures, &uars, j));
	assert_number("all_jobs", 3);
	assert_text("jobs>1>name", "kv");
	assert_text("jobs>1>class", "latency");
	assert_number("jobs>1>p99", 300000);
	assert_number("jobs>1>slo_p99", 100000);
	assert_text("jobs>1>met", "false");
	assert_text("jobs>1>library", "true");
	assert_null(at("jobs>2>met"));
	assert_text("jobs>2>library", "false");
	assert_number("points>p99|kv", 300000);
	rig_latencies(&figures, &scene, 14000, 9900, 100);
	PARSE(page_state(&figures, &uars, j));
	assert_text("jobs>1>met", "true");
}

static void in_force(void **state)
{
	(void)state;
	made_scene(&scene, 1000, 0);
	scene.stats[1][0].has |= SNAP_LEVEL | SNAP_BIT_RATE;
	scene.stats[1][0].level = 3;
	scene.stats[1][0].bit_rate = 5000000;
	rig_take(&figures, &scene.s);
	PARSE(page_state(&figures, &uars, j));
	assert_length("jobs>1>in_force", 2);
	assert_text("jobs>1>in_force>0>knob", "job.level");
	assert_text("jobs>1>in_force>0>value", "3");
	assert_text("jobs>1>in_force>1>value", "5 Mbit/s");
	/* A recording does not have the leases; the module tells them. */
	figures.has_actions = false;
	PARSE(page_state(&figures, &uars, j));
	assert_null(at("overrides"));
	figures.has_actions = true;
	figures.actions = calloc(2, sizeof(*figures.actions));
	figures.actions[0] = (struct snap_action){
		.kind = SWIFTRDMA_ACTION_KIND_OVERRIDE, .knob = SWIFTRDMA_KNOB_LEVEL, .value = 3,
		.job = "kv", .in_force = true, .qps = 2, .qps_done = 1, .lease_id = 9,
		.lease_ttl_ms = 1500, .lease_rank = 10, .lease_origin = "agent", .reason = "why",
		.decision = { .policy = "port" },
	};
	figures.actions[1].kind = SWIFTRDMA_ACTION_KIND_PENDING;
	figures.n_actions = 2;
	PARSE(page_state(&figures, &uars, j));
	assert_length("overrides", 1);
	assert_text("overrides>0>job", "kv");
	assert_text("overrides>0>value", "3");
	assert_text("overrides>0>policy", "port");
	assert_text("overrides>0>reason", "why");
	assert_text("overrides>0>origin", "agent");
	assert_number("overrides>0>left_ms", 1500);
	assert_number("overrides>0>done", 1);
}

static void failure(void **state)
{
	struct source s = { .fd = -1, .why = "the module is away" };

	(void)state;
	made_scene(&scene, 1000, 0);
	rig_take(&figures, &scene.s);
	assert_int_equal(figures_take(&figures, &s, SOURCE_FAILED), 0);
	PARSE(page_state(&figures, &uars, j));
	assert_text("up", "false");
	assert_text("why", "the module is away");
	assert_null(at("jobs"));
	PARSE(assert_false(page_explain(&figures, "rxe0", 17, j)); json_begin(j, '{'); json_end(j, '}'));
}

/* --- trends and events ------------------------------------------------------------ */

/* The time of a recording is that since its first reading. */
static void recorded_times(void **state)
{
	(void)state;
	figures.opt.recording = "a.rec";
	take_traffic(5000, 0);
	take_traffic(6500, 2000000);
	PARSE(page_trend(&figures, j));
	assert_length("t", 2);
	assert_text("t>0", "0");
	assert_text("t>1", "1500");
	assert_length("series>tx|rxe0/1", 2);
	assert_null(at("series>tx|rxe0/1>0"));
	assert_number("series>tx|rxe0/1>1", 2000000 * 8 / 1.5);
	assert_number("series>class_tx|rxe0/1|priority 3>1", 2000000 * 2 / 1.5);
	PARSE(page_state(&figures, &uars, j));
	assert_text("recording", "a.rec");
	assert_text("t", "1500");
}

/* The ring keeps the last points, and forgets a series that has none. */
static void ring(void **state)
{
	struct trend t;

	(void)state;
	assert_int_equal(trend_init(&t, 3), 0);
	trend_begin(&t, 1000);
	trend_set(&t, TREND_P99, "gone", NULL, 5);
	trend_set(&t, TREND_P99, "kv", NULL, 1);
	for (int i = 2; i <= 4; i++) {
		trend_begin(&t, i * 1000);
		trend_set(&t, TREND_P99, "kv", NULL, i);
		assert_int_equal(t.n_series, i < 4 ? 2 : 1);
	}
	assert_int_equal(trend_first(&t), 1);
	assert_string_equal(t.series[0].name, "p99|kv");
	for (uint64_t i = 1; i < 4; i++) {
		assert_int_equal(t.ms[i % 3], (i + 1) * 1000);
		assert_float_equal(t.series[0].v[i % 3], i + 1, 0);
	}
	trend_free(&t);
}

static void many_series(void **state)
{
	struct trend t;
	char name[16];

	(void)state;
	assert_int_equal(trend_init(&t, 2), 0);
	trend_begin(&t, 0);
	for (int i = 0; i < TREND_SERIES + 5; i++) {
		snprintf(name, sizeof(name), "job%d", i);
		trend_set(&t, TREND_P99, name, NULL, i);
	}
	assert_int_equal(t.n_series, TREND_SERIES);
	assert_int_equal(t.dropped, 5);
	trend_free(&t);
}

static void tell_event(uint32_t kind, const struct snap_action *a, uint64_t ms)
{
	struct source s = { .fd = -1, .at = ms * MS };

	s.event = (struct reader_event){ .kind = kind, .batch = 7, .index = 2, .lease = 4 };
	if (a)
		s.event.action = *a;
	assert_int_equal(figures_take(&figures, &s, SOURCE_EVENT), 0);
}

static void events(void **state)
{
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .value = 1, .job = "kv", .qps = 2, .qps_done = 2,
		.reason = "because", .decision = { .policy = "port", .n_readings = 3, .readings = {
			{ "port.util", true, 970000 }, { "job.p99", true, 57700000000000 },
			{ "job.latency", false, 0 },
		} },
	};

	(void)state;
	figures.opt.recording = "a.rec";
	made_scene(&scene, 1000, 0);
	rig_take(&figures, &scene.s);
	tell_event(SNAP_EVENT_ACTION, &a, 1250);
	tell_event(SNAP_EVENT_LEASE_END, NULL, 1300);
	a.knob = SWIFTRDMA_KNOB_BIT_RATE;
	a.value = 5000000;
	a.error = -EOPNOTSUPP;
	tell_event(SNAP_EVENT_ACTION, &a, 1400);
	PARSE(page_trend(&figures, j));
	assert_length("events", 3);
	assert_text("events>0>n", "0");
	assert_text("events>0>t", "250");
	assert_text("events>0>kind", "action");
	assert_text("events>0>job", "kv");
	assert_text("events>0>knob", "job.level");
	assert_text("events>0>value", "1");
	assert_text("events>0>policy", "port");
	assert_text("events>0>reason", "because");
	assert_text("events>0>batch", "7");
	assert_text("events>0>values>0>signal", "port.util");
	assert_text("events>0>values>0>value", "97 %");
	assert_text("events>0>values>1>value", "57.7 ms");
	assert_text("events>0>values>2>value", "unknown");
	assert_null(at("events>0>error"));
	assert_text("events>1>kind", "lease_end");
	assert_text("events>2>value", "5 Mbit/s");
	assert_text("events>2>error", "Operation not supported");
	/* A reading brings those that came since the one before. */
	PARSE(json_begin(j, '{'); page_events(&figures, 2, j); json_end(j, '}'));
	assert_length("events", 1);
	/* Older ones than the ring has are gone. */
	for (int i = 0; i < HISTORY_EVENTS; i++)
		tell_event(SNAP_EVENT_LEASE_END, NULL, 2000);
	PARSE(page_trend(&figures, j));
	assert_length("events", HISTORY_EVENTS);
	assert_text("events>0>n", "3");
}

/* --- a click ---------------------------------------------------------------------- */

static void qps(void **state)
{
	const struct page_filter kv = { .job = "kv", .uar = -1 };
	const struct page_filter uar = { .dev = "rxe0", .uar = 1 };
	const struct page_filter gone = { .job = "gone", .uar = -1 };

	(void)state;
	for (uint64_t s = 1; s <= 2; s++) {
		made_scene(&scene, s * 1000, 0);
		scene.qps[0].wrs = 100 * s;
		scene.qps[1].wrs = 5000 * s;
		rig_take(&figures, &scene.s);
	}
	PARSE(assert_true(page_qps(&figures, &kv, j)));
	assert_number("all", 2);
	/* The busiest comes first. */
	assert_number("qps>0>qpn", scene.qps[1].qpn);
	assert_number("qps>0>rate", 5000);
	assert_text("qps>0>unit", "WR");
	assert_text("qps>0>job", "kv");
	assert_text("qps>0>state", "RTS");
	PARSE(assert_true(page_qps(&figures, &uar, j)));
	assert_number("all", 2);
	PARSE(assert_false(page_qps(&figures, &gone, j)); json_begin(j, '{'); json_end(j, '}'));
}

static void explanation(void **state)
{
	(void)state;
	for (uint64_t s = 1; s <= 2; s++) {
		made_scene(&scene, s * 1000, 0);
		strcpy(scene.owners[0].comm, "kv");
		rig_take(&figures, &scene.s);
	}
	figures.opt.recording = "a.rec";
	PARSE(assert_true(page_explain(&figures, "rxe0", scene.qps[0].qpn, j)));
	assert_text("says>qp>0", "QP 17 of rxe0, RC, RTS: of kv, pid 100");
	assert_text("says>advice>0", "nothing: there is no sign of contention that could be avoided");
	PARSE(assert_false(page_explain(&figures, "rxe0", 4711, j)); json_begin(j, '{'); json_end(j, '}'));
	PARSE(assert_false(page_explain(&figures, "other", 17, j)); json_begin(j, '{'); json_end(j, '}'));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(ports), T(classes_of_jobs), T(names), T(jobs), T(in_force), T(failure),
		T(recorded_times), T(ring), T(many_series), T(events), T(qps), T(explanation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
