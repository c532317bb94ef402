// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The simulator: each scenario that is shipped, without policies and with those
 * derived from jobs and order, and whether it shows what it says. All of it is a
 * model's word; the published figures are in the scenarios.
 */
#include <math.h>
#include <stdlib.h>

#include "unit/sim_rig.h"

#define POLICIES "sim/policy"

static void test_claims(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < SCENARIOS; i++) {
		load(scenarios[i], POLICIES);
		run_both();
		claims_hold();
	}
}

/* Both of Husky's points, and nothing but the number of queue pairs between the two. */
static void test_cache(void **state)
{
	static const struct {
		uint32_t qps;
		double misses, gbits;
	} points[] = { { 4510, 0.172, 96.6 }, { 7300, 0.491, 48 } };
	struct sim_options opt = { 0 };
	size_t i;

	(void)state;
	load("cache", POLICIES);
	config_free(&cfg);
	for (i = 0; i < 2; i++) {
		sc.jobs[0].qps = sc.jobs[0].used = sc.jobs[0].mrs = points[i].qps;
		assert_int_equal(sim_run(&sc, &opt, &without), 0);
		printf("# cache: %.1f %% misses, %.1f Gbit/s; published %.1f %%, %.1f\n",
		       without.qpc_miss * 100, without.tx_bps / 1e9, points[i].misses * 100,
		       points[i].gbits);
		assert_true(fabs(without.qpc_miss - points[i].misses) < 0.01);
		assert_true(fabs(without.tx_bps / 1e9 / points[i].gbits - 1) < 0.05);
	}
}

/* Registers are crowded on or not: what the cure gains goes with the placement. */
static void test_uar(void **state)
{
	static const uint32_t uars[] = { 16, 9, 7, 4, 1 };
	double gain, was = 0;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(uars) / sizeof(uars[0]); i++) {
		load("uar", POLICIES);
		sc.jobs[0].uars = uars[i];
		run_both();
		gain = done(&with, "kv") / done(&without, "kv");
		printf("# uar: 64 queue pairs on %u registers: %.2f times\n", uars[i], gain);
		assert_true(gain > was);
		was = gain;
	}
}

/*
 * Policies that come from an order move the QPs of a register that was crowded from the beginning. Threads
 * that wait make such a register slow, so criterion uar_wr_rate has to be below the rate that is left.
 */
static void test_uar_library(void **state)
{
	static const char text[] =
		"agent: {interval: 1s, lease: 10s}\n"
		"levels: [{level: 1, dscp: 8}]\n"
		"jobs:\n"
		"  - {name: kv, class: latency, match: [{cgroup: /kv}]}\n"
		"  - {name: batch, class: best-effort, match: [{cgroup: /batch}]}\n"
		"order: kv > batch\n";
	struct caps caps = sim_caps(SIM_MLX5_LIBRARY);
	struct diag r;

	(void)state;
	load("uar", POLICIES);
	config_free(&cfg);
	sc.device = SIM_MLX5_LIBRARY;
	sc.jobs[0].uars = 1;
	diag_init(&r, "text");
	assert_true(config_load_text_for(&cfg, &caps, text, strlen(text), &r));
	assert_int_equal(config_shorten_times(&cfg, sim_hurry(&sc, &cfg)), 0);
	run_both();
	HOLDS("requests, times", done(&with, "kv") / done(&without, "kv"), >=, 2);
}

/* Where nobody measures rates, that others send on a busy port will do. */
static void test_rate(void **state)
{
	struct sim_options opt = { .cfg = &cfg };

	(void)state;
	load("rate", POLICIES);
	sc.device = SIM_MLX5_LIBRARY;
	run_both();
	HOLDS("train's target met, where rates are measured", met(&with, "train"), >=, 0.95);
	/* It takes one step, since that was what it lacked. */
	HOLDS("decisions", with.decisions, ==, 1);
	/* It fills the port alone. */
	load("rate", POLICIES);
	sc.n_jobs = 1;
	sc.jobs[0].rate *= 3;
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	HOLDS("the port, of train alone", with.tx_bps / (double)sc.nic.link_bps, >=, 0.95);
	HOLDS("decisions", with.decisions, ==, 0);
	config_free(&cfg);
}

/* Who storms is limited, once and for as long as it does, and nobody else is. */
static void test_storm_alone(void **state)
{
	struct sim_options opt = { .cfg = &cfg };
	char *log = NULL;
	size_t len = 0;

	(void)state;
	load("storm", POLICIES);
	opt.log = open_memstream(&log, &len);
	assert_non_null(opt.log);
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	fclose(opt.log);
	config_free(&cfg);
	if (!strstr(log, "job batch: storm-batch: ") ||
	    !strstr(log, "create_rate none -> 100/s"))
		fail_msg("batch is not limited:\n%s", log);
	if (strstr(strstr(log, "storm-batch") + 1, "storm-") ||
	    strstr(log, "job nfs"))
		fail_msg("more than that:\n%s", log);
	free(log);
}

/* How often the knob job.qps of a job changed, and what it came to. */
static unsigned int turns(const char *csv, const char *name, unsigned int *last)
{
	char line[256], who[SNAP_NAME];
	unsigned int v, n = 0;
	const char *end;

	*last = 0;
	for (; (end = strchr(csv, '\n')); csv = end + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)(end - csv), csv);
		if (sscanf(line, "%*f,%31[^,],%*f,%*f,%*u,%*f,%*u,%*u,%*u,%u",
			   who, &v) != 2 || strcmp(who, name))
			continue;
		n += *last && v != *last;
		*last = v;
	}
	return n;
}

static void test_scale(void **state)
{
	struct sim_options opt = { 0 };
	unsigned int qps;
	char *csv;
	size_t len;

	(void)state;
	load("scale", POLICIES);
	assert_int_equal(sim_run(&sc, &opt, &without), 0);
	opt.cfg = &cfg;
	opt.csv = open_memstream(&csv, &len);
	assert_non_null(opt.csv);
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	fclose(opt.csv);
	/* More for the one, fewer for the other, and there they stay. */
	HOLDS("kv's QPs changed", turns(csv, "kv", &qps), ==, 1);
	assert_true(qps > 2);
	HOLDS("dlrm's QPs changed", turns(csv, "dlrm", &qps), ==, 1);
	assert_true(qps < 7232);
	free(csv);
	config_free(&cfg);
}

/* The same seed, the same answer; another one, another. */
static void test_deterministic(void **state)
{
	struct sim_options opt = { 0 };
	struct sim_result again;

	(void)state;
	load("storm", POLICIES);
	opt.cfg = &cfg;
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	assert_int_equal(sim_run(&sc, &opt, &again), 0);
	assert_memory_equal(&with, &again, sizeof(with));
	sc.seed = 2;
	assert_int_equal(sim_run(&sc, &opt, &again), 0);
	assert_true(memcmp(&with, &again, sizeof(with)) != 0);
	config_free(&cfg);
}

static void run_from_to(uint64_t warmup, uint64_t time, struct sim_result *res)
{
	const struct sim_options opt = { 0 };

	sc.warmup = warmup;
	sc.time = time;
	assert_int_equal(sim_run(&sc, &opt, res), 0);
	/* All of it, and what still waits at the end. */
	assert_true(res->job[0].done > 1000 && res->job[0].latency.n >= res->job[0].done);
}

/* The warm-up may end within a tick: the work of two spans is that of both together. */
static void test_warmup(void **state)
{
	static struct sim_result all, first, second;
	size_t i;

	(void)state;
	load("uar", POLICIES);
	config_free(&cfg);
	assert_int_equal(sc.interval, 250000);
	run_from_to(300001, 1100001, &first);
	run_from_to(1100001, 2000000, &second);
	run_from_to(300001, 2000000, &all);
	for (i = 0; i < sc.n_jobs; i++) {
		assert_int_equal(first.job[i].done + second.job[i].done, all.job[i].done);
		assert_int_equal(first.job[i].bytes + second.job[i].bytes, all.job[i].bytes);
	}
	/* What was done before the warm-up ended counts nowhere else. */
	assert_int_equal(all.wrs - first.wrs, second.job[0].done);
}

static void test_quantiles(void **state)
{
	struct sim_hist h = { 0 };
	uint64_t i, q;

	(void)state;
	for (i = 1; i <= 100000; i++)
		sim_hist_add(&h, i);
	for (i = 1; i < 100; i++) {
		q = sim_hist_quantile(&h, (double)i / 100);
		assert_true(q >= i * 1000 * 96 / 100 && q <= i * 1000 * 104 / 100);
	}
	memset(&h, 0, sizeof(h));
	assert_int_equal(sim_hist_quantile(&h, 0.99), 0);
	sim_hist_add(&h, UINT64_MAX);
	assert_true(sim_hist_quantile(&h, 0.99) > UINT64_MAX / 16 * 15);
}

/* A difference may be below 0 until more is merged. */
static void test_merge(void **state)
{
	static struct sim_hist sum, part, want;
	uint64_t i;

	(void)state;
	for (i = 1; i <= 1000; i++) {
		sim_hist_add(&part, i);
		sim_hist_add_n(&want, i, 2);
	}
	sim_hist_subtract(&sum, &part);
	for (i = 0; i < 3; i++)
		sim_hist_merge(&sum, &part);
	assert_memory_equal(&sum, &want, sizeof(sum));
}

static void says(const char *text, const char *want)
{
	struct diag r;
	char line[512];

	diag_init(&r, "s");
	assert_false(scenario_load_text(&sc, text, strlen(text), &r));
	diag_line(&r, 0, line, sizeof(line));
	if (strcmp(line, want))
		fail_msg("\n said: %s\nought: %s", line, want);
}

/* And it is the only one: one mistake is not told twice. */
static void says_once(const char *text, const char *want)
{
	struct diag r;

	says(text, want);
	diag_init(&r, "s");
	assert_false(scenario_load_text(&sc, text, strlen(text), &r));
	assert_int_equal(r.total, 1);
}

static void test_mistakes(void **state)
{
	(void)state;
	says("# nothing\n", "s: the file is empty; a scenario has 'name:', 'nic:' and 'jobs:'");
	says_once("name: a\nnic: {preset: cx9}\njobs: [{name: k, class: latency, size: 64}]\n",
		  "s:2:15: 'cx9' is not a preset; presets are off, cx5 and cx6");
	says("name: a\n", "s:1:1: a scenario lacks 'nic:'; for instance 'nic: {preset: cx5}'");
	says("name: a\nnic: {preset: cx5, control_time: 5ms}\njobs: [{name: k, class: latency, size: 64}]\n",
	     "s:2:34: control_time 5ms is out of range; it is 1 ns to 4 ms");
	says("name: a\nnic: {preset: 'off'}\njobs: [{name: k, class: latency, size: 64}]\n",
	     "s:3:8: requests take no time on this NIC, so a job that posts as soon as it can would never end; use 'arrival: open'");
	says("name: a\nnic: {preset: cx5}\njobs: [{name: k, class: latency, size: 64, arrival: soon}]\n",
	     "s:3:53: 'soon' is not a value of 'arrival'; values are closed, batch and open");
	says("name: a\nnic: {preset: cx5}\ntime: 2s\ninterval: 1us\njobs: [{name: k, class: latency, size: 64}]\n",
	     "s:1:1: more than a million ticks; make 'interval' longer");
	says("name: a\nnic: {preset: cx5}\njobs: []\n", "s:3:7: a scenario has 1 to 32 jobs");
	says("name: a\nnic: {preset: cx5}\njobs: [{name: k, class: latency, size: 64, arrival: open}]\n",
	     "s:3:8: open arrivals need a rate, as in 'rate: 100k/s'");
	says("name: a\nnic: {preset: cx5}\njobs: [{name: k, class: latency, size: 64, shares: l}]\n",
	     "s:3:52: no job 'l' before this one to share QPs with");
	says("name: a\nnic: {preset: cx5}\ntime: 1ms\nwarmup: 2ms\njobs: [{name: k, class: latency, size: 64}]\n",
	     "s:1:1: nothing is measured: 'warmup' takes all of 'time'");
	/* All jobs share what there is. */
	says_once("name: a\nnic: {preset: cx5}\njobs:\n- {name: k, class: latency, size: 64, threads: 4096}\n- {name: l, class: latency, size: 64, threads: 4096}\n- {name: m, class: latency, size: 64}\n",
		  "s:5:3: 8192 threads up to here; all jobs together have at most 4096: give some of them fewer 'threads:'");
	says_once("name: a\nnic: {preset: cx5}\njobs:\n- {name: k, class: latency, size: 64, qps: 60000}\n- {name: l, class: latency, size: 64, qps: 60000}\n",
		  "s:5:3: 120000 queue pairs up to here; all jobs together have at most 65536: give some of them fewer 'qps:', or 'shares:'");
	says_once("name: a\nnic: {preset: cx5}\njobs:\n- {name: k, class: latency, size: 64}\n- {name: l, class: latency, size: 64, shares: k}\n- {name: m, class: latency, size: 64, shares: l}\n",
		  "s:6:47: job 'l' has no QPs of its own; share those of 'k', which it shares");
}

static void judged(const char *job)
{
	struct sim_options opt = { 0 };
	struct diag r;
	char text[512];

	snprintf(text, sizeof(text),
		 "name: a\nnic: {preset: %s}\ntime: 20ms\nwarmup: 2ms\ninterval: 1ms\n"
		 "jobs: [{name: k, threads: 1, depth: 1, size: 64, %s}]\n",
		 strstr(job, "open") ? "'off'" : "cx6", job);
	diag_init(&r, "s");
	if (!scenario_load_text(&sc, text, strlen(text), &r)) {
		diag_print(&r, stderr);
		fail();
	}
	assert_int_equal(sim_run(&sc, &opt, &without), 0);
}

/* A promise is judged in the ticks in which it could be kept, and no other. */
static void test_judged(void **state)
{
	(void)state;
	/* No time at all is a latency too. */
	judged("class: latency, slo: 12us, arrival: open, rate: 10k/s");
	assert_int_equal(without.job[0].ticks, 18);
	assert_int_equal(without.job[0].met, 18);
	judged("class: throughput, byte_rate: 1Mbit/s, start: 10ms, stop: 15ms");
	assert_int_equal(without.job[0].ticks, 5);
	assert_int_equal(without.job[0].met, 5);
	judged("class: throughput, byte_rate: 1Tbit/s");
	assert_int_equal(without.job[0].ticks, 18);
	assert_int_equal(without.job[0].met, 0);
}

struct seen {
	uint32_t of_kv, of_bulk;	/* QPs in the last reading */
	uint32_t moved, moved_raised;	/* QPs that are not on their first register; at level 3 */
};

static int look(void *arg, const struct snapshot *s)
{
	struct seen *seen = arg;

	*seen = (struct seen){
		.of_bulk = s->jobs[1].stats[0].qps, .of_kv = s->jobs[2].stats[0].qps,
	};
	for (size_t i = 0; i < s->n_qps; i++) {
		seen->moved += s->qps[i].uar != 0;
		seen->moved_raised += s->qps[i].uar != 0 && s->qps[i].level == 3;
	}
	return 0;
}

/*
 * A job of class latency uses the QPs of a job that has no class. Policies see them as QPs of the latency
 * job, and a QP that moves to another register keeps the level that the latency job has given it.
 */
static void test_shared(void **state)
{
	static const char scenario[] =
		"name: a\ndevice: mlx5-library\nnic: {preset: cx5}\ntime: 40ms\nwarmup: 2ms\ninterval: 250us\n"
		"jobs:\n"
		"- {name: bulk, class: balanced, arrival: batch, threads: 32, qps: 64, depth: 8, size: 512, uars: 1, spare_uars: 64}\n"
		"- {name: kv, class: latency, size: 64, shares: bulk}\n";
	static const char policies[] =
		"agent: {interval: 1s, lease: 10s}\n"
		"levels: [{level: 3, dscp: 24}]\n"
		"jobs: [{name: kv, class: latency, match: [{cgroup: /kv}]}]\n"
		"policies:\n"
		"- {name: up, for: job of class latency, when: job.qps > 0, do: job.level = 3, undo: {when: job.qps == 0}}\n"
		"- name: away\n"
		"  for: job of class latency\n"
		"  when: job.qps > 0 and uar.active_qps >= 2\n"
		"  do: migrate to lightest uar\n"
		"  max_steps: 16\n"
		"  undo: {when: job.qps == 0}\n";
	struct caps caps = sim_caps(SIM_MLX5_LIBRARY);
	struct seen seen = { 0 };
	struct sim_options opt = { .cfg = &cfg, .on_snapshot = look, .on_snapshot_arg = &seen };
	struct diag r;

	(void)state;
	diag_init(&r, "s");
	if (!scenario_load_text(&sc, scenario, strlen(scenario), &r) ||
	    !config_load_text_for(&cfg, &caps, policies, strlen(policies), &r)) {
		diag_print(&r, stderr);
		fail();
	}
	assert_int_equal(config_shorten_times(&cfg, sim_hurry(&sc, &cfg)), 0);
	sc.jobs[0].class = 0;	/* as in a policy file that gives the job no class */
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	config_free(&cfg);
	assert_int_equal(seen.of_kv, 64);
	assert_int_equal(seen.of_bulk, 0);
	assert_true(seen.moved > 0);
	assert_int_equal(seen.moved_raised, seen.moved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_warmup),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_judged),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_uar),
		cmocka_unit_test(test_uar_library),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_storm_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
