// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The simulator: each scenario that is shipped, without policies and with those
 * derived from jobs and order, and what it claims as a bound. All of it is a
 * model's word; the published figures are in the scenarios.
 */
#include <stdlib.h>

#include "unit/sim_rig.h"

#define POLICIES "sim/policy"

static void run(const char *name)
{
	load(name, POLICIES);
	run_both();
}

static void test_uar(void **state)
{
	(void)state;
	run("uar");
	/* 57 % lost, 2.22 times gained. */
	HOLDS("gain", done(&with, "kv") / done(&without, "kv"), >=, 1.9);
	HOLDS("gain", done(&with, "kv") / done(&without, "kv"), <=, 2.6);
}

static void test_cache(void **state)
{
	(void)state;
	run("cache");
	/* 48 Gbit/s at 49.1 % misses; 96.6 at 17.2 %. */
	HOLDS("misses without", without.qpc_miss, >=, 0.4);
	HOLDS("Gbit/s without", without.tx_bps / 1e9, <=, 56);
	HOLDS("misses with", with.qpc_miss, <=, 0.172);
	HOLDS("Gbit/s with", with.tx_bps / 1e9, >=, 90);
	HOLDS("kv's target met", met(&with, "kv"), >=, 0.99);
	HOLDS("... without", met(&without, "kv"), <=, 0.1);
}

static void test_pages(void **state)
{
	(void)state;
	run("pages");
	HOLDS("kv p99, without to with", p99(&without, "kv") / p99(&with, "kv"), >=, 5);
	HOLDS("kv's target met", met(&with, "kv"), >=, 0.99);
	HOLDS("... without", met(&without, "kv"), <=, 0.1);
	/* What it costs: who overflows the cache is slowed down. */
	HOLDS("dlrm's rate", done(&with, "dlrm") / done(&without, "dlrm"), >=, 0.2);
}

static void test_thrash(void **state)
{
	double s;

	(void)state;
	run("thrash");
	s = (double)with.measured / 1e9;
	/* 55 and 109 M/s */
	HOLDS("M/s without", done(&without, "reads") / s / 1e6, <=, 60);
	HOLDS("M/s with", done(&with, "reads") / s / 1e6, >=, 100);
}

static void test_port(void **state)
{
	(void)state;
	run("port");
	HOLDS("j2 p99, without to with", p99(&without, "j2") / p99(&with, "j2"), >=, 5);
	HOLDS("j2's target met", met(&with, "j2"), >=, 0.99);
	HOLDS("... without", met(&without, "j2"), <=, 0.1);
	/* Who fills the port loses next to nothing by it. */
	HOLDS("j1's rate", done(&with, "j1") / done(&without, "j1"), >=, 0.95);
	HOLDS("the port", with.tx_bps / (double)sc.nic.link_bps, >=, 0.95);
	/* j2 > j3 */
	HOLDS("j3 behind j2", p99(&with, "j3") / p99(&with, "j2"), >=, 1);
}

/* Who was promised a rate gets it, and takes no more than it has to send. */
static void test_rate(void **state)
{
	const struct caps here = caps_here();
	struct sim_options opt = { .cfg = &cfg };
	struct report r;
	double s;

	(void)state;
	run("rate");
	s = (double)with.measured / 1e9;
	HOLDS("train's Gbit/s, without", done(&without, "train") * 65536 * 8e-9 / s, <=, 15);
	HOLDS("... with", done(&with, "train") * 65536 * 8e-9 / s, >=, 40);
	HOLDS("train's target met, without", met(&without, "train"), <=, 0.01);
	HOLDS("... with", met(&with, "train"), >=, 0.95);
	HOLDS("bulk's Gbit/s, with", done(&with, "bulk") * 1048576 * 8e-9 / s, >=, 40);
	HOLDS("the port", with.tx_bps / (double)sc.nic.link_bps, >=, 0.95);
	/* It takes one step, since that was what it lacked. */
	HOLDS("decisions", with.decisions, ==, 1);
	/* Where nobody measures rates: that others send on a busy port will do. */
	report_init(&r, "policy.yaml");
	assert_true(config_load_file_for(&cfg, &here, TOP "/user/sim/policy.yaml", &r));
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	HOLDS("train's target met, by the fallback", met(&with, "train"), >=, 0.95);
	/* It fills the port alone. */
	sc.n_jobs = 1;
	sc.jobs[0].rate *= 3;
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	HOLDS("the port, of train alone", with.tx_bps / (double)sc.nic.link_bps, >=, 0.95);
	HOLDS("decisions", with.decisions, ==, 0);
	config_free(&cfg);
}

static void test_hol(void **state)
{
	(void)state;
	run("hol");
	HOLDS("j2 p99, without to with", p99(&without, "j2") / p99(&with, "j2"), >=, 1.3);
	HOLDS("j2's target met", met(&with, "j2") - met(&without, "j2"), >, 0);
	HOLDS("j1's rate", done(&with, "j1") / done(&without, "j1"), >=, 0.98);
}

static void test_storm(void **state)
{
	(void)state;
	run("storm");
	HOLDS("kv p99, without to with", p99(&without, "kv") / p99(&with, "kv"), >=, 5);
	HOLDS("kv's target met", met(&with, "kv"), >=, 0.99);
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

static void test_neighbour(void **state)
{
	(void)state;
	run("neighbour");
	HOLDS("heartbeats in time, without", met(&without, "heartbeat"), <=, 0.1);
	HOLDS("... with", met(&with, "heartbeat"), >=, 0.99);
	HOLDS("nfs's rate", done(&with, "nfs") / done(&without, "nfs"), >=, 0.95);
}

static void test_all(void **state)
{
	(void)state;
	run("all");
	HOLDS("kv p99, without to with", p99(&without, "kv") / p99(&with, "kv"), >=, 2);
	HOLDS("web p99, without to with", p99(&without, "web") / p99(&with, "web"), >=, 2);
	HOLDS("bulk's rate", done(&with, "bulk") / done(&without, "bulk"), >=, 0.9);
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
	HOLDS("kv's target met", met(&with, "kv"), >=, 0.99);
	HOLDS("... without", met(&without, "kv"), <=, 0.1);
	HOLDS("kv's rate", done(&with, "kv") / done(&without, "kv"), >=, 4);
	HOLDS("dlrm's rate", done(&with, "dlrm") / done(&without, "dlrm"), >=, 2);
	HOLDS("misses with", with.qpc_miss, <=, 0.15);
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

static void says(const char *text, const char *want)
{
	struct report r;
	char line[512];

	report_init(&r, "s");
	assert_false(scenario_load_text(&sc, text, strlen(text), &r));
	report_line(&r, 0, line, sizeof(line));
	if (strcmp(line, want))
		fail_msg("\n said: %s\nought: %s", line, want);
}

/* And it is the only one: one mistake is not told twice. */
static void says_once(const char *text, const char *want)
{
	struct report r;

	says(text, want);
	report_init(&r, "s");
	assert_false(scenario_load_text(&sc, text, strlen(text), &r));
	assert_int_equal(r.total, 1);
}

static void test_mistakes(void **state)
{
	(void)state;
	says("# nothing\n", "s: the file is empty; a scenario has 'name:', 'nic:' and 'jobs:'");
	says_once("name: a\nnic: {preset: cx9}\njobs: [{name: k, class: latency, size: 64}]\n",
		  "s:2:15: 'cx9' is no preset; there are off, cx5 and cx6");
	says("name: a\n", "s:1:1: a scenario lacks 'nic:'; for instance 'nic: {preset: cx5}'");
	says("name: a\nnic: {preset: cx5, control_time: 5ms}\njobs: [{name: k, class: latency, size: 64}]\n",
	     "s:2:34: control_time 5ms is out of range; it is 1 ns to 4 ms");
	says("name: a\nnic: {preset: 'off'}\njobs: [{name: k, class: latency, size: 64}]\n",
	     "s:3:8: this NIC takes no time, and a job that posts as soon as it can would not end; it may have 'arrival: open'");
	says("name: a\nnic: {preset: cx5}\njobs: [{name: k, class: latency, size: 64, arrival: soon}]\n",
	     "s:3:53: 'soon' is no arrival; there are closed, batch and open");
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
	struct report r;
	char text[512];

	snprintf(text, sizeof(text),
		 "name: a\nnic: {preset: %s}\ntime: 20ms\nwarmup: 2ms\ninterval: 1ms\n"
		 "jobs: [{name: k, threads: 1, depth: 1, size: 64, %s}]\n",
		 strstr(job, "open") ? "'off'" : "cx6", job);
	report_init(&r, "s");
	if (!scenario_load_text(&sc, text, strlen(text), &r)) {
		report_print(&r, stderr);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_judged),
		cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_uar),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_thrash),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_hol),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_storm_alone),
		cmocka_unit_test(test_neighbour),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
