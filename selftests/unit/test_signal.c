// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signals from two made-up snapshots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <rdma/swiftrdma.h>

#include "core/signal.h"
#include "unit/snap_build.h"

static struct made was, is;
static struct signals sig;
static const struct signal_opts no_opts;

static int setup(void **state)
{
	(void)state;
	signals_init(&sig);
	made_scene(&was, 1000, 0);
	made_scene(&is, 1100, 250000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	signals_free(&sig);
	return 0;
}

static void run(const struct signal_opts *opts)
{
	assert_int_equal(signals_reserve(&sig, &is.s), 0);
	signals_update(&sig, &was.s, &is.s, opts);
}

static void is_about(enum signal_id id, size_t row, double want)
{
	double v;

	assert_true(signal_get(&sig, id, row, &v));
	if (v < want * 0.999 - 1e-9 || v > want * 1.001 + 1e-9)
		fail_msg("%s is %g, not %g", vocab_signals[id].name, v, want);
}

static void is_absent(enum signal_id id, size_t row)
{
	double v;

	if (signal_get(&sig, id, row, &v))
		fail_msg("%s is %g, not absent", vocab_signals[id].name, v);
}

static void test_rates(void **state)
{
	(void)state;
	is.devs[0].created = 10;
	is.devs[0].modified = 30;
	is.qps[0].wrs = 500;
	is.qps[0].doorbells = 200;
	is.uars[0].doorbells = 200;
	is.jobs[1].stats[0].doorbells = 200;
	is.jobs[1].stats[0].wrs = 500;
	run(&no_opts);
	is_about(SIG_DEV_QPS, 0, 3);
	is_about(SIG_DEV_CREATE_RATE, 0, 100);
	is_about(SIG_DEV_MODIFY_RATE, 0, 300);
	is_about(SIG_DEV_ACTIVE_QPS, 0, 1);
	is_about(SIG_PORT_TX_RATE, 0, 20e6);
	is_about(SIG_PORT_UTIL, 0, 1);
	is_about(SIG_QP_WR_RATE, 0, 5000);
	is_about(SIG_QP_DOORBELL_RATE, 0, 2000);
	is_about(SIG_QP_WR_RATE, 1, 0);
	is_about(SIG_QP_PID, 2, 200);
	is_about(SIG_UAR_DOORBELL_RATE, 0, 2000);
	is_about(SIG_UAR_ACTIVE_QPS, 0, 1);
	is_about(SIG_UAR_OWNERS, 0, 1);
	is_about(SIG_UAR_COACTIVE, 0, 0);
	is_about(SIG_JOB_QPS, 1, 2);
	is_about(SIG_JOB_DOORBELL_RATE, 1, 2000);
	is_about(SIG_JOB_WR_RATE, 1, 5000);
	is_about(SIG_JOB_CLASS, 1, 1);
	is_absent(SIG_JOB_CLASS, 0);
	is_absent(SIG_JOB_LEVEL, 1);
	is_absent(SIG_JOB_SLO_P99, 1);
}

static void test_first_reading(void **state)
{
	(void)state;
	assert_int_equal(signals_reserve(&sig, &is.s), 0);
	signals_update(&sig, NULL, &is.s, &no_opts);
	is_about(SIG_DEV_QPS, 0, 3);
	is_about(SIG_PORT_SPEED, 0, 20e6);
	is_absent(SIG_DEV_CREATE_RATE, 0);
	is_absent(SIG_DEV_ACTIVE_QPS, 0);
	is_absent(SIG_PORT_UTIL, 0);
	is_absent(SIG_QP_WR_RATE, 0);
	is_absent(SIG_UAR_COACTIVE, 0);
	is_absent(SIG_JOB_WR_RATE, 1);
}

static void controls(struct made *m, uint64_t creates, uint64_t rejected,
		     uint64_t modifies, uint64_t commands, uint64_t ns)
{
	struct snap_job_stat *st = &m->jobs[1].stats[0];

	st->has |= SNAP_COMMANDS;
	st->creates = creates;
	st->rejected = rejected;
	st->modifies = modifies;
	st->commands = commands;
	st->command_time = ns;
}

/* What a job asks of the control path, whoever's its QPs have become. */
static void test_controls(void **state)
{
	(void)state;
	controls(&was, 100, 10, 1000, 500, 5000000);
	controls(&is, 120, 15, 1030, 550, 5100000);
	is.jobs[1].stats[0].created = 9999;
	run(&no_opts);
	/* In 100 ms: 20 and 5 refused; 50 commands that took 2 us each. */
	is_about(SIG_JOB_CREATES, 1, 250);
	is_about(SIG_JOB_MODIFIES, 1, 300);
	is_about(SIG_JOB_COMMAND_TIME, 1, 2000);
	/* An older module does not say. */
	is_absent(SIG_JOB_CREATES, 2);
	/* Nothing was asked. */
	controls(&is, 100, 10, 1000, 500, 5000000);
	run(&no_opts);
	is_about(SIG_JOB_CREATES, 1, 0);
	is_absent(SIG_JOB_COMMAND_TIME, 1);
	/* The device was pulled out and came again. */
	controls(&is, 3, 0, 5, 8, 1000);
	run(&no_opts);
	is_absent(SIG_JOB_CREATES, 1);
	is_absent(SIG_JOB_MODIFIES, 1);
	is_absent(SIG_JOB_COMMAND_TIME, 1);
}

/* The module was loaded anew: counters stepped back, or count since later. */
static void test_step_back(void **state)
{
	(void)state;
	was.ports[0].tx_bytes = 300000;
	was.qps[0].wrs = 9;
	was.qps[0].doorbells = 9;
	was.devs[0].created = 9;
	was.jobs[1].stats[0].wrs = 9;
	is.uars[0].since = 2;
	is.uars[0].wrs = 5;
	is.qps[1].since = 2;
	is.qps[1].wrs = 5;
	run(&no_opts);
	is_absent(SIG_PORT_TX_RATE, 0);
	is_absent(SIG_PORT_UTIL, 0);
	is_absent(SIG_QP_WR_RATE, 0);
	is_absent(SIG_QP_WR_RATE, 1);
	is_absent(SIG_DEV_CREATE_RATE, 0);
	is_absent(SIG_JOB_WR_RATE, 1);
	is_about(SIG_JOB_DOORBELL_RATE, 1, 0);
	is_absent(SIG_UAR_WR_RATE, 0);
	is_about(SIG_JOB_QPS, 1, 2);
}

static void test_absent_figures(void **state)
{
	size_t i;

	(void)state;
	is.ports[0].has = 0;
	for (i = 0; i < 3; i++)
		is.qps[i].has &= ~(SNAP_WRS | SNAP_DOORBELLS | SNAP_STATE);
	is.uars[0].has = 0;
	is.jobs[1].stats[0].has = 0;
	run(&no_opts);
	is_absent(SIG_PORT_UTIL, 0);
	is_absent(SIG_PORT_SPEED, 0);
	is_absent(SIG_QP_WR_RATE, 0);
	is_absent(SIG_QP_STATE, 0);
	is_absent(SIG_DEV_ACTIVE_QPS, 0);
	is_absent(SIG_UAR_WR_RATE, 0);
	is_absent(SIG_UAR_ACTIVE_QPS, 0);
	is_absent(SIG_UAR_COACTIVE, 0);
	is_absent(SIG_JOB_WR_RATE, 1);
}

static void test_overridden_speed(void **state)
{
	struct signal_speed speed = { .dev = "rxe0", .port = 1,
				      .speed = 40000000 };
	struct signal_slo slos[] = {
		{ .job = "kv", .p99 = 50000 }, { .job = "bulk", .byte_rate = 5e9 },
	};
	struct signal_opts opts = { .speeds = &speed, .n_speeds = 1,
				    .slos = slos, .n_slos = 2 };

	(void)state;
	run(&opts);
	is_about(SIG_PORT_SPEED, 0, 40e6);
	is_about(SIG_PORT_UTIL, 0, 0.5);
	is_about(SIG_JOB_SLO_P99, 1, 50000);
	is_absent(SIG_JOB_SLO_BYTE_RATE, 1);
	is_about(SIG_JOB_SLO_BYTE_RATE, 2, 5e9);
	is_absent(SIG_JOB_SLO_P99, 2);
}

/* The strictest objective that processes were granted is the job's, where the file has none. */
static void test_granted_slo(void **state)
{
	struct signal_slo slo = { .job = "kv", .byte_rate = 5e9 };
	struct signal_opts opts = { .slos = &slo, .n_slos = 1 };

	(void)state;
	made_job_report(&is, 1, 0, 1)->slo_p99 = 70000;
	made_job_report(&is, 1, 1, 1)->slo_p99 = 60000;
	made_job_report(&is, 2, 0, 1);
	run(&opts);
	is_about(SIG_JOB_SLO_P99, 1, 60000);
	is_about(SIG_JOB_SLO_BYTE_RATE, 1, 5e9);
	is_absent(SIG_JOB_SLO_P99, 2);
	slo.p99 = 90000;
	run(&opts);
	is_about(SIG_JOB_SLO_P99, 1, 90000);
}

static void test_busier_direction(void **state)
{
	(void)state;
	is.ports[0].tx_bytes = 1000;
	is.ports[0].rx_bytes = 125000;
	run(&no_opts);
	is_about(SIG_PORT_UTIL, 0, 0.5);
}

/* From 100 % to idle: a step of 100 ms at 200 ms goes a third of the way. */
static void test_smoothing(void **state)
{
	struct signal_opts opts = { .tau = 200 * MS };

	(void)state;
	run(&opts);
	is_about(SIG_PORT_UTIL, 0, 1);
	was = is;
	is.s.time = is.ports[0].time = 1200 * MS;
	was.s.ports = was.ports;
	signals_update(&sig, &was.s, &is.s, &opts);
	is_about(SIG_PORT_UTIL, 0, 2.0 / 3);
	was.ports[0].time = 1200 * MS;
	is.ports[0].time = 1300 * MS;
	signals_update(&sig, &was.s, &is.s, &opts);
	is_about(SIG_PORT_UTIL, 0, 4.0 / 9);
}

static void test_coactive(void **state)
{
	(void)state;
	is.qps[0].doorbells = 3;
	is.qps[1].doorbells = 4;
	is.qps[2].doorbells = 5;
	is.qps[1].owner = 1;
	run(&no_opts);
	is_about(SIG_UAR_COACTIVE, 0, 1);
	is_about(SIG_UAR_COACTIVE, 1, 0);
	is_about(SIG_UAR_ACTIVE_QPS, 0, 2);
	is_about(SIG_UAR_OWNERS, 0, 2);
	is_about(SIG_UAR_OWNERS, 1, 1);
	is_about(SIG_DEV_ACTIVE_QPS, 0, 3);
}

/* Where the module itself looks often, its word counts, not that of two readings. */
static void test_sweeps(void **state)
{
	(void)state;
	was.uars[0].has |= SNAP_SWEEPS;
	was.uars[0].sweeps = 100;
	was.uars[0].coactive = 10;
	is.uars[0].has |= SNAP_SWEEPS | SNAP_OWNERS;
	is.uars[0].sweeps = 140;
	is.uars[0].coactive = 20;
	is.uars[0].owners = 7;
	is.qps[0].doorbells = 3;
	is.qps[1].doorbells = 4;
	run(&no_opts);
	is_about(SIG_UAR_COACTIVE, 0, 0.25);
	is_about(SIG_UAR_OWNERS, 0, 7);
	/* No sweep went by: nothing is known. */
	is.uars[0].sweeps = 100;
	is.uars[0].coactive = 10;
	run(&no_opts);
	is_absent(SIG_UAR_COACTIVE, 0);
}

static void test_dev_contention(void **state)
{
	(void)state;
	was.devs[0].has = is.devs[0].has = SNAP_CONGESTION | SNAP_MTT | SNAP_QPC;
	was.devs[0].congestions = 5;
	is.devs[0].congestions = 8;
	was.devs[0].mtt_hits = is.devs[0].mtt_hits = 10;
	run(&no_opts);
	is_about(SIG_DEV_DB_CONGESTION, 0, 30);
	/* No translation was asked for, which is no ratio. */
	is_absent(SIG_DEV_MTT_MISS, 0);
	is.devs[0].mtt_hits = 40;
	is.devs[0].mtt_misses = 10;
	run(&no_opts);
	is_about(SIG_DEV_MTT_MISS, 0, 0.25);
	is_absent(SIG_DEV_QPC_MISS, 0);
	was.devs[0].qpc_hits = 100;
	was.devs[0].qpc_misses = 1000;
	is.devs[0].qpc_hits = 160;
	is.devs[0].qpc_misses = 1040;
	run(&no_opts);
	is_about(SIG_DEV_QPC_MISS, 0, 0.4);
	/* The device was switched off in between. */
	is.devs[0].qpc_misses = 40;
	run(&no_opts);
	is_absent(SIG_DEV_QPC_MISS, 0);
	is.devs[0].has = 0;
	run(&no_opts);
	is_absent(SIG_DEV_DB_CONGESTION, 0);
	is_absent(SIG_DEV_MTT_MISS, 0);
}

/*
 * Translations are known where the device was asked for each region; a sum that
 * lacks some is too small, which is not known.
 */
static void test_mtts(void **state)
{
	struct snap_job_stat *st = &is.jobs[1].stats[0];

	(void)state;
	run(&no_opts);
	is_absent(SIG_DEV_MTTS, 0);
	is_absent(SIG_JOB_MTTS, 1);
	is.devs[0].has |= SNAP_MTTS;
	is.devs[0].mtts = 956;
	st->has |= SNAP_MTTS;
	st->mtts = 600;
	run(&no_opts);
	is_about(SIG_DEV_MTTS, 0, 956);
	is_about(SIG_JOB_MTTS, 1, 600);
	/* On two devices it has what it has on both. */
	st = made_stat(&is.jobs[1], 1, 1);
	run(&no_opts);
	is_absent(SIG_JOB_MTTS, 1);
	st->has |= SNAP_MTTS;
	st->mtts = 12;
	run(&no_opts);
	is_about(SIG_JOB_MTTS, 1, 612);
	st->mtts_unknown = 1;
	is.devs[0].mtts_unknown = 1;
	run(&no_opts);
	is_absent(SIG_DEV_MTTS, 0);
	is_absent(SIG_JOB_MTTS, 1);
}

/* Created between the readings: it counts from nought at its own beginning. */
static void test_new_and_reused(void **state)
{
	struct snap_qp *qp = made_qp(&is, 0, 40, 1);

	(void)state;
	qp->since = 1050 * MS;
	qp->wrs = 100;
	is.qps[0].serial = 99;	/* same QPN, another QP */
	is.qps[0].since = 1090 * MS;
	is.qps[0].wrs = 10;
	is.qps[1].serial = 98;	/* claims to be old, yet was not there */
	is.qps[1].wrs = 10;
	run(&no_opts);
	is_about(SIG_QP_WR_RATE, 3, 2000);
	is_about(SIG_QP_WR_RATE, 0, 1000);
	is_absent(SIG_QP_WR_RATE, 1);
}

/* A reading of changes leaves a quiet QP as it was read long ago. */
static void test_quiet_qp(void **state)
{
	(void)state;
	was.qps[0].time = is.qps[0].time = 10 * MS;
	was.qps[0].wrs = is.qps[0].wrs = 7;
	was.qps[1].time = 10 * MS;
	is.qps[1].wrs = 50;
	run(&no_opts);
	is_about(SIG_QP_WR_RATE, 0, 0);
	is_about(SIG_QP_WR_RATE, 1, 500);
	is_about(SIG_DEV_ACTIVE_QPS, 0, 1);
}

static void test_index(void **state)
{
	(void)state;
	made_dev(&is, 1);
	made_port(&is, 1, 0);
	made_qp(&is, 1, 20, 1);
	made_qp(&is, 1, 21, 7);		/* a job that is not there */
	is.qps[4].has = 0;
	run(&no_opts);
	assert_int_equal(sig.job_first[1], 0);
	assert_int_equal(sig.job_first[2] - sig.job_first[1], 3);
	assert_int_equal(sig.job_first[3] - sig.job_first[2], 1);
	assert_int_equal(sig.place_first[2] - sig.place_first[1], 2);
	assert_int_equal(sig.place_first[3] - sig.place_first[2], 1);
	assert_int_equal(sig.qps[4].job, -1);
	assert_int_equal(sig.qps[4].port, -1);
	assert_int_equal(sig.qps[3].port, 1);
}

static void test_empty(void **state)
{
	(void)state;
	made_init(&was, 1);
	made_init(&is, 2);
	run(&no_opts);
	is_absent(SIG_DEV_QPS, 0);
}

/* What the NIC tells once a second holds until it is told anew. */
static void test_port_details(void **state)
{
	(void)state;
	made_prios(&was);
	made_prios(&is);
	was.prios[3].rx_pauses = 10;
	was.ports[0].cnp_handled = 7;
	is.prios[3].rx_pauses = 30;
	is.prios[5].rx_pauses = 5;
	is.prios[5].tx_pauses = 1000;
	is.ports[0].cnp_handled = 12;
	is.ports[0].cnp_sent = 1000;
	run(&no_opts);
	is_about(SIG_PORT_PAUSE_RATE, 0, 250);
	is_about(SIG_PORT_CNP_RATE, 0, 50);

	was.s.time = is.s.time;
	was.ports[0] = is.ports[0];
	memcpy(was.prios, is.prios, sizeof(was.prios));
	is.s.time += 100 * MS;
	is.ports[0].time += 100 * MS;
	run(&no_opts);
	is_about(SIG_PORT_PAUSE_RATE, 0, 250);
	is_about(SIG_PORT_CNP_RATE, 0, 50);

	is.ports[0].detail_time += 1000 * MS;
	is.prios[3].rx_pauses += 10;
	run(&no_opts);
	is_about(SIG_PORT_PAUSE_RATE, 0, 10);
	is_about(SIG_PORT_CNP_RATE, 0, 0);

	/* Its provider went. */
	is.ports[0].has &= ~(SNAP_DETAIL | SNAP_CNP);
	is.s.n_prios = 0;
	run(&no_opts);
	is_absent(SIG_PORT_PAUSE_RATE, 0);
	is_absent(SIG_PORT_CNP_RATE, 0);
}

/* A port that was not read anew: its figures are of the reading before, and hold. */
static void test_port_not_read(void **state)
{
	double util, again;

	(void)state;
	run(&no_opts);
	is_about(SIG_PORT_TX_RATE, 0, 20e6);
	assert_true(signal_get(&sig, SIG_PORT_UTIL, 0, &util));

	was.s.time = is.s.time;
	was.ports[0] = is.ports[0];
	is.s.time += 100 * MS;
	run(&no_opts);
	is_about(SIG_PORT_TX_RATE, 0, 20e6);
	assert_true(signal_get(&sig, SIG_PORT_UTIL, 0, &again));
	assert_true(again == util);

	/* What came meanwhile is divided by the whole time. */
	was.s.time = is.s.time;
	is.s.time += 100 * MS;
	is.ports[0].time += 200 * MS;
	is.ports[0].tx_bytes += 500000;
	run(&no_opts);
	is_about(SIG_PORT_TX_RATE, 0, 20e6);
	assert_true(signal_get(&sig, SIG_PORT_UTIL, 0, &again));
	is_about(SIG_PORT_UTIL, 0, util);
}

/* The next reading, @ms later, in which the NIC told nothing anew. */
static void read_nothing(uint64_t ms)
{
	was.s.time = is.s.time;
	was.devs[0] = is.devs[0];
	was.ports[0] = is.ports[0];
	memcpy(was.prios, is.prios, sizeof(was.prios));
	is.s.time += ms * MS;
	run(&no_opts);
}

/* What a NIC that is not read any more told last holds for a while, not for ever. */
static void test_not_read_for_long(void **state)
{
	static const enum signal_id ids[] = {
		SIG_PORT_TX_RATE, SIG_PORT_RX_RATE, SIG_PORT_UTIL, SIG_PORT_PAUSE_RATE,
		SIG_PORT_CNP_RATE, SIG_DEV_MTT_MISS, SIG_DEV_PCIE_STALL,
	};
	double v;

	(void)state;
	made_prios(&was);
	made_prios(&is);
	is.prios[3].rx_pauses = 30;
	is.ports[0].cnp_handled = 12;
	is.ports[0].detail_time = is.s.time;
	was.devs[0].has |= SNAP_MTT;
	is.devs[0].has |= SNAP_MTT | SNAP_PCIE;
	was.devs[0].diag_time = was.s.time;
	is.devs[0].diag_time = is.s.time;
	is.devs[0].pcie_time = is.s.time;
	is.devs[0].mtt_hits = is.devs[0].mtt_misses = 10;
	run(&no_opts);
	for (int i = 0; i < 30; i++)
		read_nothing(100);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (!signal_get(&sig, ids[i], 0, &v))
			fail_msg("%s is absent", vocab_signals[ids[i]].name);
	read_nothing(100);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		is_absent(ids[i], 0);
	/* The link is not slower for that. */
	is_about(SIG_PORT_SPEED, 0, 20e6);
	read_nothing(100);
	is_absent(SIG_PORT_UTIL, 0);
	/* It is read again: the mean over the whole time, without what was smoothed before. */
	was.s.time = is.s.time;
	is.s.time += 800 * MS;
	is.ports[0].time += 4000 * MS;
	is.ports[0].tx_bytes += 1000000;
	run(&no_opts);
	is_about(SIG_PORT_TX_RATE, 0, 2e6);
	is_about(SIG_PORT_UTIL, 0, 0.1);
}

/* Held values are a port's, not a row's. */
static void test_port_details_row(void **state)
{
	(void)state;
	made_prios(&was);
	made_prios(&is);
	is.prios[3].rx_pauses = 5;
	run(&no_opts);
	is_about(SIG_PORT_PAUSE_RATE, 0, 50);
	was.ports[1] = is.ports[0];
	was.ports[0].dev = 0;
	was.ports[0].index = 0;
	was.s.n_ports = 2;
	memcpy(was.prios, is.prios, sizeof(was.prios));
	run(&no_opts);
	is_absent(SIG_PORT_PAUSE_RATE, 0);
}

static void test_dev_details(void **state)
{
	(void)state;
	was.devs[0].has = is.devs[0].has = SNAP_COMMANDS | SNAP_PCIE;
	was.devs[0].commands = 100;
	was.devs[0].command_time = 5000;
	is.devs[0].commands = 104;
	is.devs[0].command_time = 45000;
	is.devs[0].pcie_stalled_reads = 35;
	run(&no_opts);
	is_about(SIG_DEV_COMMAND_TIME, 0, 10000);
	is_about(SIG_DEV_PCIE_STALL, 0, 0.35);
	/* No command, no time of one. */
	is.devs[0].commands = 100;
	is.devs[0].command_time = 5000;
	is.devs[0].has = SNAP_COMMANDS;
	run(&no_opts);
	is_absent(SIG_DEV_COMMAND_TIME, 0);
	is_absent(SIG_DEV_PCIE_STALL, 0);
}

/*
 * Looks into the send queues of both QPs of kv, which are on a ConnectX now. Of each were
 * @n looks, each of which saw @depth WQEBBs.
 */
static void look_at_kv(struct made *m, uint64_t n, uint64_t depth, uint64_t wrs)
{
	size_t i;

	m->devs[0].caps |= SWIFTRDMA_DEV_CAP_WRS | SWIFTRDMA_DEV_CAP_WQEBBS;
	for (i = 0; i < 2; i++) {
		m->qps[i].has |= SNAP_LOOKS;
		m->qps[i].outstanding_samples = n;
		m->qps[i].outstanding_sum = n * depth;
		m->qps[i].outstanding_squares = n * depth * depth;
		m->qps[i].wrs = wrs;
	}
}

/* 100 ms, 500 WQEBBs of each QP, 4 outstanding at any time: 4 / 5000/s. */
static void test_latency(void **state)
{
	(void)state;
	look_at_kv(&was, 10, 1, 1000);
	look_at_kv(&is, 40, 0, 1500);
	is.qps[0].outstanding_sum = is.qps[1].outstanding_sum = 10 + 30 * 4;
	is.qps[0].outstanding_squares = is.qps[1].outstanding_squares = 10 + 30 * 16;
	run(&no_opts);
	is_about(SIG_QP_LATENCY, 0, 800e3);
	is_about(SIG_QP_LATENCY, 1, 800e3);
	is_about(SIG_JOB_LATENCY, 1, 800e3);
	is_absent(SIG_QP_LATENCY, 2);
	is_absent(SIG_JOB_LATENCY, 2);
	/* The same reading once more tells nothing new, and nothing else. */
	signals_update(&sig, &was.s, &is.s, &no_opts);
	is_about(SIG_QP_LATENCY, 0, 800e3);
	is_about(SIG_JOB_LATENCY, 1, 800e3);
}

/* The value of the window before, for a trend; while there is one. */
static void test_latency_prev(void **state)
{
	static const uint64_t depth[] = { 4, 6, 6 };
	const double latency[] = { 4e6, 6e6, 6e6 };
	struct signal_opts opts = { .looks_window = 200 * MS };
	uint64_t looks = 0, sum = 0, squares = 0;
	unsigned int i, k;

	(void)state;
	look_at_kv(&was, 0, 0, 0);
	for (i = 0; i < 3; i++) {
		looks += 100;
		sum += 100 * depth[i];
		squares += 100 * depth[i] * depth[i];
		look_at_kv(&is, looks, 0, 100 * (i + 1));
		for (k = 0; k < 2; k++) {
			is.qps[k].outstanding_sum = sum;
			is.qps[k].outstanding_squares = squares;
		}
		run(&opts);
		is_about(SIG_JOB_LATENCY, 1, latency[i]);
		if (i)
			is_about(SIG_JOB_LATENCY_PREV, 1, latency[i - 1]);
		else
			is_absent(SIG_JOB_LATENCY_PREV, 1);
		is_absent(SIG_JOB_LATENCY_PREV, 2);
		look_at_kv(&was, looks, 0, 100 * (i + 1));
		for (k = 0; k < 2; k++) {
			was.qps[k].outstanding_sum = sum;
			was.qps[k].outstanding_squares = squares;
		}
		was.s.time = is.s.time;
		is.s.time += 100 * MS;
	}
	/* No more looks: the window that the caller allows passes without a value. */
	run(&opts);
	is_about(SIG_JOB_LATENCY, 1, 6e6);
	is_about(SIG_JOB_LATENCY_PREV, 1, 6e6);
	was.s.time = is.s.time;
	is.s.time += 300 * MS;
	run(&opts);
	is_absent(SIG_JOB_LATENCY, 1);
	is_absent(SIG_JOB_LATENCY_PREV, 1);
}

/* A slow QP that does little and a fast one that does much: by their rates. */
static void test_latency_weighted(void **state)
{
	(void)state;
	look_at_kv(&was, 0, 0, 0);
	look_at_kv(&is, 50, 9, 100);
	is.qps[1].outstanding_sum = 50;
	is.qps[1].outstanding_squares = 50;
	is.qps[1].wrs = 900;
	run(&no_opts);
	is_about(SIG_QP_LATENCY, 0, 9e6);
	is_about(SIG_QP_LATENCY, 1, 1e6 / 9);
	/* (9 + 1) outstanding, 1000 in 100 ms: (9 ms * 100 + 0.11 ms * 900) / 1000 */
	is_about(SIG_JOB_LATENCY, 1, 1e6);
}

/* Looks add up over readings until there are enough; of the job there are so sooner. */
static void test_latency_gathers(void **state)
{
	(void)state;
	look_at_kv(&was, 1, 2, 0);
	look_at_kv(&is, 9, 2, 100);
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_about(SIG_JOB_LATENCY, 1, 2e6);
	look_at_kv(&was, 9, 2, 100);
	look_at_kv(&is, 17, 2, 200);
	was.s.time = is.s.time;
	is.s.time += 100 * MS;
	run(&no_opts);
	is_about(SIG_QP_LATENCY, 0, 2e6);
	/* It holds while the next is gathered, and then for 30 s. */
	was.s.time = is.s.time;
	is.s.time += 100 * MS;
	was = is;
	memcpy(&was.s, &is.s, sizeof(was.s));
	was.s.devs = was.devs;
	was.s.ports = was.ports;
	was.s.uars = was.uars;
	was.s.qps = was.qps;
	was.s.jobs = was.jobs;
	was.s.owners = was.owners;
	is.s.time += 10000 * MS;
	run(&no_opts);
	is_about(SIG_QP_LATENCY, 0, 2e6);
	was.s.time = is.s.time;
	is.s.time += 30000 * MS;
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_absent(SIG_JOB_LATENCY, 1);
}

/* One in ten looks sees something: a hundred looks leave an error of 30 %. */
static void test_latency_error(void **state)
{
	(void)state;
	look_at_kv(&was, 0, 0, 0);
	look_at_kv(&is, 100, 0, 1000);
	is.qps[0].outstanding_sum = is.qps[0].outstanding_squares = 10;
	is.qps[1].outstanding_sum = is.qps[1].outstanding_squares = 10;
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_absent(SIG_JOB_LATENCY, 1);
	look_at_kv(&was, 100, 0, 1000);
	look_at_kv(&is, 1000, 0, 10000);
	was.qps[0].outstanding_sum = was.qps[0].outstanding_squares = 10;
	was.qps[1].outstanding_sum = was.qps[1].outstanding_squares = 10;
	is.qps[0].outstanding_sum = is.qps[0].outstanding_squares = 100;
	is.qps[1].outstanding_sum = is.qps[1].outstanding_squares = 100;
	was.s.time = is.s.time;
	is.s.time += 900 * MS;
	run(&no_opts);
	/* 0.1 outstanding, 10000 a second */
	is_about(SIG_QP_LATENCY, 0, 10e3);
	is_about(SIG_JOB_LATENCY, 1, 10e3);
}

static void latency_again(void)
{
	signals_free(&sig);
	signals_init(&sig);
	made_scene(&was, 1000, 0);
	made_scene(&is, 1100, 0);
	look_at_kv(&was, 0, 0, 0);
	look_at_kv(&is, 100, 4, 100);
}

static void test_latency_unknown(void **state)
{
	(void)state;
	latency_again();
	run(&no_opts);
	is_about(SIG_JOB_LATENCY, 1, 4e6);
	/* Of one QP the count is ambiguous, so of the job it is unknown. */
	latency_again();
	is.qps[0].wrs_ambiguous = true;
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_about(SIG_QP_LATENCY, 1, 4e6);
	is_absent(SIG_JOB_LATENCY, 1);
	/* ... or it is not counted, but by a wrapper of a device that tells no WQEBBs. */
	latency_again();
	is.qps[0].has &= ~SNAP_WRS;
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_absent(SIG_JOB_LATENCY, 1);
	latency_again();
	is.devs[0].caps = SWIFTRDMA_DEV_CAP_WRS;
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_absent(SIG_JOB_LATENCY, 1);
	/* One that sends nothing does not count. */
	latency_again();
	is.qps[0].has &= ~(SNAP_WRS | SNAP_LOOKS);
	is.qps[0].state = 2;
	run(&no_opts);
	is_about(SIG_JOB_LATENCY, 1, 4e6);
	/* Nothing was posted: no rate to divide by. */
	latency_again();
	is.qps[0].wrs = is.qps[1].wrs = 0;
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_absent(SIG_JOB_LATENCY, 1);
	/* Nobody looked. */
	latency_again();
	is.qps[0].has &= ~SNAP_LOOKS;
	is.qps[1].has &= ~SNAP_LOOKS;
	run(&no_opts);
	is_absent(SIG_JOB_LATENCY, 1);
	/* A counter stepped back: another QP's. */
	latency_again();
	was.qps[0].outstanding_samples = 1000;
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_absent(SIG_JOB_LATENCY, 1);
}

/* What looks into the memory of the queue of QP @i of kv told: @uncovered at each of @n looks. */
static void read_queue(struct made *m, unsigned int i, uint64_t n, uint32_t blocks,
		       uint64_t changes, uint64_t uncovered)
{
	m->qps[i].has |= SNAP_REQUESTS;
	m->qps[i].request_blocks = blocks;
	m->qps[i].request_changes = changes;
	m->qps[i].uncovered_samples = n;
	m->qps[i].uncovered_sum = n * uncovered;
	m->qps[i].uncovered_squares = n * uncovered * uncovered;
}

/* 100 requests of one block took 4 ms, 50 of two blocks 8 ms each. */
static void test_latency_blocks(void **state)
{
	(void)state;
	latency_again();
	read_queue(&is, 0, 100, 1, 0, 0);
	read_queue(&is, 1, 100, 2, 0, 0);
	is.qps[1].outstanding_sum = 100 * 8;
	is.qps[1].outstanding_squares = 100 * 64;
	run(&no_opts);
	is_about(SIG_QP_LATENCY, 0, 4e6);
	is_about(SIG_QP_LATENCY, 1, 8e6);
	is_about(SIG_JOB_LATENCY, 1, (100 * 4e6 + 50 * 8e6) / 150);
}

/* Two more requests than the device works on wait for the CQE that covers them. */
static void test_latency_uncovered(void **state)
{
	(void)state;
	latency_again();
	read_queue(&is, 0, 100, 1, 0, 2);
	read_queue(&is, 1, 100, 2, 0, 4);
	run(&no_opts);
	is_about(SIG_QP_LATENCY, 0, 6e6);
	is_about(SIG_QP_LATENCY, 1, 8e6);
	is_about(SIG_JOB_LATENCY, 1, (100 * 6e6 + 50 * 8e6) / 150);
	/* One queue cannot be read, so of its job's QPs the mean of these is not known. */
	latency_again();
	read_queue(&is, 0, 100, 1, 0, 2);
	run(&no_opts);
	is_about(SIG_QP_LATENCY, 0, 6e6);
	is_about(SIG_QP_LATENCY, 1, 4e6);
	is_about(SIG_JOB_LATENCY, 1, 4e6);
	/* Few looks tell: more are waited for. */
	latency_again();
	read_queue(&is, 0, 10, 1, 0, 2);
	read_queue(&is, 1, 10, 1, 0, 2);
	run(&no_opts);
	is_absent(SIG_QP_LATENCY, 0);
	is_about(SIG_JOB_LATENCY, 1, 6e6);
	/* Hardly any do, as of a large queue: the value is without that time. */
	latency_again();
	look_at_kv(&is, 1000, 4, 100);
	read_queue(&is, 0, 10, 1, 0, 2);
	read_queue(&is, 1, 10, 1, 0, 2);
	run(&no_opts);
	is_about(SIG_QP_LATENCY, 0, 4e6);
}

/* A QP with requests of different sizes has no latency until none was seen for the whole window. */
static void test_latency_mixed(void **state)
{
	struct signal_opts opts = { .looks_window = 200 * MS };
	unsigned int i;

	(void)state;
	latency_again();
	read_queue(&was, 0, 0, 1, 3, 0);
	read_queue(&is, 0, 100, 2, 4, 0);
	read_queue(&is, 1, 100, 1, 0, 0);
	for (i = 0; i < 4; i++) {
		run(&opts);
		if (i < 2) {
			is_absent(SIG_QP_LATENCY, 0);
			is_absent(SIG_JOB_LATENCY, 1);
		} else {
			is_about(SIG_QP_LATENCY, 0, 4e6 * 2 / 2);
		}
		is_about(SIG_QP_LATENCY, 1, 4e6);
		look_at_kv(&was, 100 * (i + 1), 4, 100 * (i + 1));
		look_at_kv(&is, 100 * (i + 2), 4, 100 * (i + 2));
		read_queue(&was, 0, 100 * (i + 1), 2, 4, 0);
		read_queue(&is, 0, 100 * (i + 2), 2, 4, 0);
		read_queue(&was, 1, 100 * (i + 1), 1, 0, 0);
		read_queue(&is, 1, 100 * (i + 2), 1, 0, 0);
		was.s.time = is.s.time;
		is.s.time += 100 * MS;
	}
	is_about(SIG_JOB_LATENCY, 1, 4e6);
}

/* Two devices are looked at in turns of their own: each stands for its QPs. */
static void test_latency_devices(void **state)
{
	(void)state;
	latency_again();
	made_dev(&was, 1)->caps = SWIFTRDMA_DEV_CAP_WQEBBS;
	made_dev(&is, 1)->caps = SWIFTRDMA_DEV_CAP_WQEBBS;
	made_stat(&was.jobs[1], 1, 1);
	made_stat(&is.jobs[1], 1, 1);
	*made_qp(&was, 1, 1000, is.qps[0].job) = (struct snap_qp){
		.has = SNAP_WRS | SNAP_STATE, .dev = 1, .qpn = 1000, .serial = 1000, .state = 3,
		.job = is.qps[0].job, .since = 1,
	};
	is.qps[is.s.n_qps++] = was.qps[was.s.n_qps - 1];
	is.qps[is.s.n_qps - 1].has |= SNAP_LOOKS;
	is.qps[is.s.n_qps - 1].outstanding_samples = 10000;
	is.qps[is.s.n_qps - 1].outstanding_sum = 20000;
	is.qps[is.s.n_qps - 1].outstanding_squares = 40000;
	is.qps[is.s.n_qps - 1].wrs = 800;
	run(&no_opts);
	/* 2 * 4 + 2 outstanding; 2 * 100 + 800 in 100 ms */
	is_about(SIG_JOB_LATENCY, 1, 1e6);
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_rates), T(test_first_reading), T(test_port_details), T(test_port_details_row),
		T(test_controls),
		T(test_port_not_read), T(test_not_read_for_long),
		T(test_dev_details), T(test_step_back),
		T(test_absent_figures), T(test_overridden_speed), T(test_granted_slo),
		T(test_busier_direction), T(test_smoothing), T(test_coactive),
		T(test_sweeps), T(test_dev_contention), T(test_mtts),
		T(test_new_and_reused), T(test_quiet_qp), T(test_index), T(test_empty),
		T(test_latency), T(test_latency_prev), T(test_latency_weighted),
		T(test_latency_gathers),
		T(test_latency_error), T(test_latency_unknown), T(test_latency_blocks),
		T(test_latency_uncovered), T(test_latency_mixed), T(test_latency_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
