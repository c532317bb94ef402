// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The simulator decides as the agent does: with what a device of that kind tells, what
 * the policy file says of jobs, and the file's times. And its figures count what waits.
 */
#include <math.h>
#include <stdlib.h>

#include "io/recording.h"
#include "sim/replay.h"
#include "unit/sim_rig.h"

#define POLICIES "sim/policy"

/* "12.500 ms  job kv: why", as the simulator's log has it. */
static void log_replayed(FILE *log, const struct replay *rp, uint64_t time)
{
	size_t i;

	for (i = 0; i < rp->n_out; i++)
		fprintf(log, "%9.3f ms  job %s: %s\n", (double)time / 1e6, rp->out[i].job,
			rp->out[i].reason);
}

/* What would be decided over a recording, in the words of the simulator's log. */
static char *replayed(FILE *recording)
{
	struct player *is, *was;
	struct replay rp;
	char *text = NULL;
	size_t len = 0;
	bool first = true;
	FILE *log = open_memstream(&text, &len), *again = tmpfile();
	char buf[4096];
	size_t n;

	assert_non_null(log);
	assert_non_null(again);
	rewind(recording);
	while ((n = fread(buf, 1, sizeof(buf), recording)))
		fwrite(buf, 1, n, again);
	rewind(recording);
	rewind(again);
	assert_int_equal(player_open(&is, recording, NULL), 0);
	assert_int_equal(player_open(&was, again, NULL), 0);
	assert_int_equal(replay_begin(&rp, &cfg), 0);
	while (player_next(is) == PLAYER_READING) {
		assert_int_equal(replay_step(&rp, first ? NULL : player_snapshot(was),
					     player_snapshot(is)), 0);
		log_replayed(log, &rp, player_snapshot(is)->time);
		assert_int_equal(player_next(was), PLAYER_READING);
		first = false;
	}
	replay_end(&rp);
	player_close(is);
	player_close(was);
	fclose(again);
	fclose(log);
	return text;
}

static int keep(void *recorder, const struct snapshot *s)
{
	recorder_snapshot(recorder, s);
	return 0;
}

/* Runs what was loaded, and replays it. Returns the simulator's log, to be freed. */
static char *run_and_replay(void)
{
	struct sim_options opt = { .cfg = &cfg };
	struct recorder *rec;
	FILE *f = tmpfile();
	char *log = NULL, *again;
	size_t len = 0;

	assert_non_null(f);
	opt.log = open_memstream(&log, &len);
	rec = recorder_open(f);
	assert_non_null(rec);
	opt.on_snapshot = keep;
	opt.on_snapshot_arg = rec;
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	assert_int_equal(recorder_close(rec), 0);
	fclose(opt.log);
	again = replayed(f);
	if (strcmp(log, again))
		fail_msg("%s, device %s, simulated:\n%s\nreplayed:\n%s", sc.name,
			 sim_device_name(sc.device), log, again);
	printf("# %s, device %s: %zu decisions, and the replay's are the same\n", sc.name,
	       sim_device_name(sc.device), with.decisions);
	free(again);
	fclose(f);
	config_free(&cfg);
	return log;
}

static size_t alike(const char *name, enum sim_device device)
{
	load(name, POLICIES);
	config_free(&cfg);
	sc.device = device;
	load_policies_for(POLICIES);
	free(run_and_replay());
	return with.decisions;
}

/*
 * Tick by tick: what it decided, and what the replay of its recording decides. Every third scenario is
 * run with libraries, with which most is decided, and every fifth on the other devices; all of them with
 * FULL=1.
 */
static void test_replays_alike(void **state)
{
	size_t i, mlx5 = 0, library = 0, rxe = 0, step = getenv("FULL") ? 1 : 5;

	(void)state;
	for (i = 0; i < SCENARIOS; i += step / 2 + 1)
		library += alike(scenarios[i], SIM_MLX5_LIBRARY);
	for (i = 0; i < SCENARIOS; i += step) {
		mlx5 += alike(scenarios[i], SIM_MLX5);
		rxe += alike(scenarios[i], SIM_RXE);
	}
	assert_true(mlx5 > 10 && library > mlx5 && rxe > 10);
}

/* --- Waiting ------------------------------------------------------------------------- */

static void text(const char *s)
{
	struct diag r;

	diag_init(&r, "s");
	if (!scenario_load_text(&sc, s, strlen(s), &r)) {
		diag_print(&r, stderr);
		fail();
	}
}

/* Requests that four threads get done on a device, under a policy that limits their rate. */
static double done_under(enum sim_device device, const char *undo)
{
	static const char begin[] =
		"levels: [{level: 1, dscp: 10}]\n"
		"jobs:\n- {name: k, class: throughput, match: [{uid: 1}]}\n"
		"policies:\n- {name: p, for: job k, when: job.wr_rate > 500k/s, hold: 0s, cooldown: 0s, "
		"do: job.wr_rate = 100k/s, undo: {when: ";
	struct sim_options opt = { .cfg = &cfg };
	char policy[512];
	struct diag r;
	struct caps caps;

	text("name: a\nnic: {preset: cx6}\ntime: 20ms\ninterval: 1ms\n"
	     "jobs: [{name: k, class: throughput, arrival: closed, threads: 4, qps: 4, depth: 4, size: 64}]\n");
	sc.device = device;
	caps = sim_caps(device);
	diag_init(&r, "policy.yaml");
	snprintf(policy, sizeof(policy), "%s%s, cooldown: 0s}}\n", begin, undo);
	assert_true(config_load_text_for(&cfg, &caps, policy, strlen(policy), &r));
	assert_int_equal(sim_run(&sc, &opt, &with), 0);
	config_free(&cfg);
	return (double)with.job[0].done;
}

/*
 * Threads under libswiftrdma keep to a rate, and are as fast as before when it is taken back.
 * Without the library nobody enforces it.
 */
static void test_library_keeps_a_rate(void **state)
{
	double without_library = done_under(SIM_MLX5, "job.wr_rate < 10k/s, hold: 0s");
	double kept = done_under(SIM_MLX5_LIBRARY, "job.wr_rate < 10k/s, hold: 0s");
	double taken_back = done_under(SIM_MLX5_LIBRARY, "job.wr_rate < 200k/s, hold: 4ms");

	(void)state;
	/* The first decisions fall into the warm-up. */
	HOLDS("requests at 100k/s", kept, >=, 1e-4 * (double)with.measured * 0.97);
	HOLDS("requests at 100k/s", kept, <=, 1e-4 * (double)with.measured * 1.03);
	/* Of five or six ticks the rate holds for all but one. */
	HOLDS("taken back after 4 ms", taken_back, >=, without_library / 7);
	HOLDS("taken back after 4 ms", taken_back, <=, without_library / 4);
}

/*
 * A simulated ConnectX is looked at as the module looks at one: the job has a mean latency, and
 * when another fills the port, derived policies see it rise.
 */
static void test_looks(void **state)
{
	static const char order[] =
		"levels: [{level: 1, dscp: 10}]\n"
		"jobs:\n- {name: kv, class: latency, match: [{uid: 1}]}\n"
		"- {name: bulk, class: throughput, match: [{uid: 2}]}\norder: kv > bulk\n";
	static const enum sim_device devices[] = { SIM_MLX5, SIM_RXE };
	struct diag r;
	struct caps caps;
	char *log;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		text("name: looks\nnic: {preset: cx5}\ntime: 40ms\ninterval: 500us\njobs:\n"
		     "- {name: kv, class: latency, arrival: closed, threads: 2, depth: 8, size: 64}\n"
		     "- {name: bulk, class: throughput, arrival: closed, threads: 4, depth: 4, size: 1048576, start: 20ms}\n");
		sc.device = devices[i];
		caps = sim_caps(sc.device);
		diag_init(&r, "policy.yaml");
		assert_true(config_load_text_for(&cfg, &caps, order, strlen(order), &r));
		assert_int_equal(config_shorten_times(&cfg, sim_hurry(&sc, &cfg)), 0);
		scenario_take_jobs(&sc, &cfg, &r);
		log = run_and_replay();
		if (!strstr(log, i ? "job kv qps 2 > 0, by fallback as job kv p99 unknown, job kv latency unknown: level 0 -> 1" :
				     ", by fallback as job kv p99 unknown: level 0 -> 1") ||
		    !strstr(log, i ? " > 80 % and " : "job.latency > job.latency_prev (job kv latency "))
			fail_msg("device %s decided:\n%s", sim_device_name(sc.device), log);
		free(log);
	}
}

static void run_alone(void)
{
	struct sim_options opt = { 0 };

	assert_int_equal(sim_run(&sc, &opt, &without), 0);
}

/* Of 5 M requests a second one thread posts a few hundred thousand: the rest waits. */
static void test_overload_is_late(void **state)
{
	(void)state;
	text("name: a\nnic: {preset: cx6}\ntime: 20ms\ninterval: 1ms\n"
	     "jobs: [{name: k, class: latency, slo: 100us, arrival: open, rate: 5M/s, threads: 1, depth: 1, size: 64}]\n");
	run_alone();
	assert_true(without.job[0].done > 1000);
	/* At the end the oldest that waits came 18 or more of 20 ms ago. */
	HOLDS("p99, us", p99(&without, "k"), >=, 15000);
	HOLDS("target met", met(&without, "k"), <=, 0.05);
	/* With a twentieth of that nothing waits. */
	sc.jobs[0].rate = 50000;
	run_alone();
	HOLDS("p99, us, at ease", p99(&without, "k"), <=, 20);
	HOLDS("target met", met(&without, "k"), >=, 0.99);
}

/* Nothing of the job is ever done: strict classes let nobody else go. */
static void test_starved_is_late(void **state)
{
	uint32_t i;

	(void)state;
	text("name: a\nnic: {preset: cx5, link: 1Gbit/s, classes: strict}\ntime: 40ms\nwarmup: 10ms\ninterval: 1ms\n"
	     "jobs:\n- {name: hog, class: throughput, threads: 16, depth: 16, size: 1048576}\n"
	     "- {name: k, class: latency, slo: 100us, arrival: open, rate: 10k/s, threads: 1, depth: 4, size: 1048576}\n");
	sc.jobs[1].start = 5000000;
	run_alone();
	assert_int_equal(without.job[1].done, 0);
	HOLDS("p99 of k, us", p99(&without, "k"), >=, 20000);
	assert_true(without.job[1].ticks >= 25);
	assert_int_equal(without.job[1].met, 0);
	for (i = 0; i < 2; i++)
		assert_true(without.job[i].latency.n > 0);
}

/* --- Windows ------------------------------------------------------------------------- */

#define BULK "jobs: [{name: k, class: throughput, threads: 64, depth: 2, size: 1048576}]\n"

/* What left in the time that is measured, whatever ended in it; no port sends more. */
static void test_windows(void **state)
{
	static const char *const times[] = {
		"time: 10ms\nwarmup: 1ms\ninterval: 1ms\n",
		"time: 10ms\nwarmup: 9ms\ninterval: 1ms\n",
		"time: 10ms\nwarmup: 3333us\ninterval: 700us\n",
		"time: 10ms\nwarmup: 0ns\ninterval: 10ms\n",
		"time: 9999us\nwarmup: 9500us\ninterval: 3ms\n",
	};
	char s[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		snprintf(s, sizeof(s), "name: a\nnic: {preset: cx5}\n%s" BULK, times[i]);
		text(s);
		run_alone();
		assert_int_equal(without.measured, sc.time - sc.warmup);
		HOLDS("data, Gbit/s", without.job[0].bytes * 8.0 / without.measured, <=, 100);
		HOLDS("data, Gbit/s", without.job[0].bytes * 8.0 / without.measured, >=, 90);
		HOLDS("sent, Gbit/s", without.tx_bps / 1e9, <=, 100.1);
	}
}

/* --- The file's jobs ----------------------------------------------------------------- */

static void test_file_counts(void **state)
{
	static const char policies[] =
		"jobs:\n- {name: k, class: latency, slo: {p99: 1us}, match: [{uid: 1}]}\n"
		"policies:\n- {name: p, for: job k, when: port.util > 99%, do: job.max_qps = 1, undo: {when: port.util < 1%}}\n";
	struct diag r;

	(void)state;
	text("name: a\nnic: {preset: cx6}\njobs:\n"
	     "- {name: k, class: throughput, slo: 1s, arrival: open, rate: 10k/s, size: 64}\n"
	     "- {name: other, class: latency, arrival: open, rate: 10k/s, size: 64}\n");
	diag_init(&r, "policy.yaml");
	assert_true(config_load_text(&cfg, policies, strlen(policies), &r));
	diag_init(&r, "policy.yaml");
	scenario_take_jobs(&sc, &cfg, &r);
	assert_int_equal(sc.jobs[0].slo_p99, 1000);
	assert_int_equal(sc.jobs[0].class, SWIFTRDMA_JOB_CLASS_LATENCY);
	assert_int_equal(r.total, 0);
	assert_int_equal(r.warnings, 1);
	assert_string_equal(r.v[0].msg,
			    "the policy file does not have job 'other' of the scenario, so no policy is for it");
	run_alone();
	assert_int_equal(without.job[0].met, 0);
	config_free(&cfg);
}

/* A file's times are shortened as much as a tick is shorter than the agent's. */
static void test_hurry(void **state)
{
	static const char policies[] =
		"agent: {interval: 200ms, smoothing: 400ms}\ncriteria: {settle: 2s}\n"
		"jobs: [{name: k, class: latency, match: [{uid: 1}]}]\n"
		"policies:\n- {name: p, for: job k, when: port.util > 99% for 1s, do: job.max_qps = 1, cooldown: 10s, rate: 3/s, undo: {when: port.util < 1%, hold: 5s}}\n";
	struct policy *p;
	struct diag r;
	double held = 0;
	uint32_t i;

	(void)state;
	text("name: a\nnic: {preset: cx6}\ntime: 10ms\ninterval: 1ms\njobs: [{name: k, class: latency, size: 64}]\n");
	diag_init(&r, "policy.yaml");
	if (!config_load_text(&cfg, policies, strlen(policies), &r)) {
		diag_print(&r, stderr);
		fail();
	}
	assert_true(sim_hurry(&sc, &cfg) == 200);
	assert_int_equal(config_shorten_times(&cfg, 200), 0);
	p = &cfg.policies.v[0];
	assert_int_equal(cfg.interval, 1000000);
	assert_int_equal(cfg.smoothing, 2000000);
	assert_int_equal(cfg.policies.settle, 10000000);
	/* What signals are gathered for, too. */
	assert_int_equal(config_signal_opts(&cfg).tau, 2000000);
	assert_int_equal(config_signal_opts(&cfg).window, SIGNAL_WINDOW / 200);
	assert_int_equal(config_signal_opts(&cfg).looks_window, SIGNAL_LOOKS_WINDOW / 200);
	for (i = 0; i < cfg.policies.prog.n_ins; i++)
		if (cfg.policies.prog.ins[i].op == PROG_HELD)
			held = cfg.policies.prog.k[cfg.policies.prog.ins[i].arg];
	assert_true(held == 5000000);
	assert_int_equal(p->cooldown, 50000000);
	assert_int_equal(p->undo_hold, 25000000);
	assert_true(p->rate == 600 && p->burst == 3);
	config_free(&cfg);
}

/* --- Classes ------------------------------------------------------------------------- */

/* Weighted classes share; strict ones do not. */
static void test_classes(void **state)
{
	static const char jobs[] =
		"jobs:\n- {name: a, class: throughput, threads: 16, depth: 4, size: 65536}\n"
		"- {name: b, class: throughput, threads: 16, depth: 4, size: 65536}\n";
	char s[512];
	int strict;

	(void)state;
	for (strict = 0; strict < 2; strict++) {
		struct sim_options opt = { .cfg = &cfg };
		struct diag r;
		static const char policies[] =
			"levels: [{level: 1, dscp: 10}]\n"
			"jobs: [{name: a, class: throughput, match: [{uid: 1}]}, {name: b, class: throughput, match: [{uid: 2}]}]\n"
			"policies:\n- {name: p, for: job a, when: port.util > 10%, do: job.level = 1, undo: {when: port.util < 1%}}\n";

		snprintf(s, sizeof(s), "name: a\nnic: {preset: cx5%s}\ntime: 20ms\nwarmup: 10ms\ninterval: 1ms\n%s",
			 strict ? ", classes: strict" : "", jobs);
		text(s);
		diag_init(&r, "policy.yaml");
		assert_true(config_load_text(&cfg, policies, strlen(policies), &r));
		assert_int_equal(config_shorten_times(&cfg, 100), 0);
		assert_int_equal(sim_run(&sc, &opt, &with), 0);
		config_free(&cfg);
		assert_true(with.decisions > 0);
		if (strict)
			HOLDS("b beside a's strict class", done(&with, "b") / done(&with, "a"), <=, 0.01);
		else
			HOLDS("b beside a's weighted class", fabs(done(&with, "b") / done(&with, "a") - 1), <=, 0.05);
	}
}

/* --- Claims -------------------------------------------------------------------------- */

static void test_void_fails(void **state)
{
	struct sim_bound b = {
		.figure = SIM_P99, .of = SIM_GAIN, .at_least = 0, .at_most = SIM_UNBOUNDED,
	};
	char buf[160];
	double v;
	int i;

	(void)state;
	text("name: a\nnic: {preset: cx6}\njobs: [{name: k, class: latency, size: 64}]\n");
	memset(&with, 0, sizeof(with));
	with.measured = 1000000;
	without = with;
	for (i = 0; i < 1000; i++)
		sim_hist_add(&with.job[0].latency, 1000);
	/* Nothing without: not infinitely better. */
	assert_false(sim_figure(&b, &without, &with, &v));
	assert_false(sim_holds(&b, &without, &with));
	assert_string_equal(sim_bound_text(&sc, &b, &without, &with, buf, sizeof(buf)),
			    "p99 of k, times better with than without: void, too few samples");
	for (i = 0; i < SIM_SAMPLES - 1; i++)
		sim_hist_add(&without.job[0].latency, 2000);
	assert_false(sim_holds(&b, &without, &with));
	sim_hist_add(&without.job[0].latency, 2000);
	assert_true(sim_figure(&b, &without, &with, &v));
	assert_true(fabs(v - 2) < 0.1);
	b.figure = SIM_SLO_MET;
	b.of = SIM_WITH;
	assert_false(sim_holds(&b, &without, &with));
	b.figure = SIM_MISSES;
	assert_false(sim_holds(&b, &without, &with));
}

static const struct sim_range *range(const struct sim_range *r, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(r[i].param.name, name))
			return &r[i];
	fail_msg("%s is not swept", name);
	return NULL;
}

/* A claim holds as far as it does, and the sweep says where it ends. */
static void test_sweep(void **state)
{
	struct sim_range *r = calloc(SIM_PARAMS, sizeof(*r));
	const struct sim_range *is;
	size_t n;

	(void)state;
	load("storm", POLICIES);
	assert_int_equal(sim_sweep(&sc, &cfg, r, &n, NULL), 0);
	is = range(r, n, "nic.control_time");
	printf("# storm: holds for a control_time of %g to %g us, tried %g to %g\n",
	       is->from / 1e3, is->to / 1e3, is->tried_from / 1e3, is->tried_to / 1e3);
	assert_true(is->value == 40000 && is->to == 160000 && is->tried_to == 160000);
	assert_true(is->from > 5000 && is->tried_from < is->from);
	assert_non_null(strstr(is->below, "p99 of kv"));
	assert_string_equal(is->above, "");
	config_free(&cfg);
	load("uar", POLICIES);
	assert_int_equal(sim_sweep(&sc, &cfg, r, &n, NULL), 0);
	assert_true(range(r, n, "kv.size")->published);
	assert_true(!range(r, n, "kv.uars")->published);
	config_free(&cfg);
	free(r);
}

static void says(const char *line, const char *want)
{
	struct diag r;
	char s[512], is[512];

	snprintf(s, sizeof(s), "name: a\nnic: {preset: cx5}\n%s\njobs: [{name: k, class: latency, size: 64}]\n",
		 line);
	diag_init(&r, "s");
	assert_false(scenario_load_text(&sc, s, strlen(s), &r));
	diag_line(&r, 0, is, sizeof(is));
	if (strcmp(is, want))
		fail_msg("\n said: %s\nought: %s", is, want);
}

static void test_mistakes(void **state)
{
	(void)state;
	says("device: cx9", "s:3:9: 'cx9' is not a value of 'device'; values are mlx5, mlx5-library, rxe and all");
	says("shows: [{figure: p98, of: gain}]",
	     "s:3:18: 'p98' is not a value of 'figure'; values are p99, wr_rate, byte_rate, slo_met, misses and port");
	says("shows: [{figure: p99, of: gain, job: x, at_least: 1}]",
	     "s:3:38: the scenario has no job 'x'");
	says("shows: [{figure: p99, of: gain, job: k}]",
	     "s:3:9: a bound is missing: 'at_least', 'at_most', or both");
	says("shows: [{figure: misses, of: with, job: k, at_most: 1%}]",
	     "s:3:41: 'misses' is a figure of all jobs together; leave 'job:' out");
	says("published: [k.deep]",
	     "s:3:13: 'k.deep' is not a number of this scenario; numbers are, for instance, 'kv.depth', 'nic.link' or 'window'");
	says("published: [k.size, k.size]", "s:3:21: 'k.size' is already listed");
	says("sweep: {k.size: [64, 32]}",
	     "s:3:22: values must increase; this one is not above the one before");
	says("interval: 1s", "s:1:1: policies would never be evaluated: 'interval' is longer than 'time'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replays_alike),
		cmocka_unit_test(test_library_keeps_a_rate),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_overload_is_late),
		cmocka_unit_test(test_starved_is_late),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_file_counts),
		cmocka_unit_test(test_hurry),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_void_fails),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
