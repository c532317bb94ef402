// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Readings over an interval: rates of all of it, and how often together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "unit/fake_io.c"

#include "cli/cli.h"
#include "cli/top.h"
#include "unit/screen_stubs.h"

static struct cli cli;
static const struct io_want want = {
	.devs = true, .uars = true, .qps = true, .jobs = true,
};

static int setup(void **state)
{
	(void)state;
	/* not of this test */
	(void)fake_disarm;
	fake_reset();
	memset(&cli, 0, sizeof(cli));
	signals_init(&cli.sig);
	assert_int_equal(cli_open(&cli), CLI_OK);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	snapshot_free(&cli.snap);
	snapshot_free(&cli.older);
	snapshot_free(&cli.spare);
	signals_free(&cli.sig);
	io_close(cli.io);
	fake_reset();
	return 0;
}

/* A step in which QPs 17 and 18, on UAR 1, post so many. */
static void step(uint64_t a, uint64_t b, bool last)
{
	fake_pass(100, 0);
	fake.scene.qps[0].wrs += a;
	fake.scene.qps[1].wrs += b;
	fake.scene.uars[0].wrs += a + b;
	assert_int_equal(cli_step(&cli, &want, last), 0);
}

static void is_about(enum signal_id id, size_t row, double want)
{
	double v = -1;

	assert_true(signal_get(&cli.sig, id, row, &v));
	if (v < want - 1e-6 || v > want + 1e-6)
		fail_msg("%s is %g, not %g", vocab_signals[id].name, v, want);
}

static void together(void **state)
{
	(void)state;
	assert_int_equal(cli_begin(&cli, &want), 0);
	/* Together in three of ten; over all of it both advanced. */
	for (int i = 0; i < 10; i++)
		step(10, i % 4 == 0 ? 20 : 0, i == 9);
	is_about(SIG_UAR_COACTIVE, 0, 0.3);
	is_about(SIG_UAR_ACTIVE_QPS, 0, 2);
	is_about(SIG_UAR_WR_RATE, 0, 160);
	is_about(SIG_QP_WR_RATE, 1, 60);
	is_about(SIG_UAR_COACTIVE, 1, 0);
	/* The next interval knows nothing of this one. */
	cli_turn(&cli);
	for (int i = 0; i < 5; i++)
		step(0, 10, i == 4);
	is_about(SIG_UAR_COACTIVE, 0, 0);
	is_about(SIG_UAR_WR_RATE, 0, 100);
}

/* The module's own looks, of which a step may have none. */
static void sweeps(void **state)
{
	struct snap_uar *uar = &fake.scene.uars[0];

	(void)state;
	uar->has |= SNAP_SWEEPS;
	uar->sweeps = 1000;
	uar->coactive = 500;
	assert_int_equal(cli_begin(&cli, &want), 0);
	for (int i = 0; i < 10; i++) {
		uar->sweeps += i % 2 * 4;
		uar->coactive += i == 1 ? 4 : 0;
		step(10, 10, i == 9);
	}
	is_about(SIG_UAR_COACTIVE, 0, 0.2);
}

static void steps(void **state)
{
	(void)state;
	assert_int_equal(cli_steps(&cli, 1), 1);
	assert_int_equal(cli_steps(&cli, 100), 5);
	assert_int_equal(cli_steps(&cli, 1000), CLI_STEPS_MAX);
	/* One step is all there is: its QPs did or did not. */
	assert_int_equal(cli_begin(&cli, &want), 0);
	step(1, 1, true);
	is_about(SIG_UAR_COACTIVE, 0, 1);
	/* The module's sweeps of all UARs make readings in between useless. */
	cli.older.uars[0].has |= SNAP_SWEEPS;
	assert_int_equal(cli_steps(&cli, 1000), CLI_STEPS_MAX);
	for (size_t i = 0; i < cli.older.n_uars; i++)
		cli.older.uars[i].has |= SNAP_SWEEPS;
	assert_int_equal(cli_steps(&cli, 1000), 1);
}

/* A port is as fast as the file says that the agent runs by. */
static void port_speed(void **state)
{
	struct signal_speed speed = { .dev = "rxe0", .port = 1, .speed = 10000000 };

	(void)state;
	cli.looked = true;
	assert_int_equal(cli_begin(&cli, &want), 0);
	fake_pass(100, 0.4);
	assert_int_equal(cli_step(&cli, &want, true), 0);
	is_about(SIG_PORT_UTIL, 0, 0.4);
	cli_turn(&cli);
	cli.looked = true;
	cli.running.cfg.speeds = &speed;
	cli.running.cfg.n_speeds = 1;
	fake_pass(100, 0.4);
	assert_int_equal(cli_step(&cli, &want, true), 0);
	is_about(SIG_PORT_UTIL, 0, 0.8);
	is_about(SIG_PORT_SPEED, 0, 10000000);
	cli.running.cfg.speeds = NULL;
}

/* Runs a verb with JSON, which nobody reads. */
static void run_quietly(int (*verb)(struct cli *cli, struct args *args), char **word, int n)
{
	struct args args = { word, n };
	size_t size;
	char *text;

	cli.out.json = true;
	cli.interval_ms = 20;
	cli.out.f = open_memstream(&text, &size);
	memset(&fake.want, 0, sizeof(fake.want));
	assert_int_equal(verb(&cli, &args), CLI_OK);
	fclose(cli.out.f);
	free(text);
	crowd_free(&cli.crowd);
	crowd_init(&cli.crowd);
}

/* Commands that show the time in send queues have the kernel look into them. */
static void explain_looks(void **state)
{
	char *words[] = { "rxe0", "17" };

	(void)state;
	run_quietly(qp_explain, words, 2);
	assert_true(fake.want.outstanding);
}

static void top_looks(void **state)
{
	char *words[] = { "batch", "n", "1" };

	(void)state;
	run_quietly(noun_top.verbs[0].run, words, 3);
	assert_true(fake.want.outstanding);
}

/* job show -i 1s prints how many samples came in the interval, also where p99 takes more. */
static void few_samples(void **state)
{
	struct snap_job_report *r = made_job_report(&fake.scene, 1, 0, 1);
	struct signal_quantile p99;

	(void)state;
	cli.out.rates = true;
	made_latencies(r, 20000, 500, 1);
	assert_int_equal(cli_begin(&cli, &want), 0);
	for (int i = 0; i < 10; i++) {
		made_latencies(r, 20000, 6, 1);
		step(0, 0, i == 9);
	}
	assert_true(view_quantile(&cli, &cli.snap.jobs[1], 0.99, &p99));
	assert_false(p99.has);
	assert_int_equal(p99.samples, 60);
	assert_int_equal(reading_samples_needed(0.99), 100);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(together), TEST(sweeps), TEST(steps), TEST(port_speed), TEST(explain_looks),
		TEST(top_looks), TEST(few_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
