// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What libraries told, as job show, qp show and qp explain tell it on. */
#include "explain/explain.h"
#include "cli/table.h"
#include "unit/cli_rig.h"

#include <stdlib.h>

#include <rdma/swiftrdma.h>

static struct signal_slo slos[] = { { "kv", 50000, 0 } };
static struct explain e;

static void fill(struct made *m, uint64_t ms)
{
	made_scene(m, ms, 0);
	for (size_t i = 0; i < m->s.n_qps; i++)
		m->qps[i].has &= ~(uint64_t)(SNAP_WRS | SNAP_DOORBELLS);
	for (size_t i = 0; i < m->s.n_jobs; i++)
		m->jobs[i].stats[0].has = 0;
	made_job_report(m, 1, 0, 1);
	made_qp_report(m, &m->qps[0])->outstanding = 7;
	made_qp_report(m, &m->qps[1])->flags = SWIFTRDMA_SLOT_NO_ORDER;
	m->qp_reports[1].has = 0;
}

static int setup(void **state)
{
	(void)state;
	rig_begin();
	fill(&was, 1000);
	fill(&is, 2000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_end();
	return 0;
}

static void set_figures(struct made *m, uint64_t wrs, uint64_t ns, uint64_t wait)
{
	struct snap_figures *qp = &m->qp_reports[0].sum;

	made_latencies(&m->job_reports[0], ns, wrs, 1);
	m->job_reports[0].sum.wrs = wrs;
	m->job_reports[0].sum.bytes = 100 * wrs;
	qp->wrs = qp->latency_wrs = qp->hol_wrs = qp->samples = wrs;
	qp->latency_sum = wrs * ns;
	qp->latency_max = 2 * ns;
	qp->hol_sum = wrs * wait;
}

static void read_both(void)
{
	rig_read();
	cli.older = was.s;
	/* cli_signal_opts() would have them of the agent's file. */
	signals_update(&cli.sig, &was.s, &cli.snap,
		       &(struct signal_opts){ .slos = slos, .n_slos = 1, .tau = 1 });
}

/* Valid until the next call: the cell has the room of its text. */
static struct cell *cell_of(struct rows rows, size_t row, const char *key)
{
	static struct cell c;

	memset(&c, 0, sizeof(c));
	for (size_t i = 0; i < rows.n_columns; i++)
		if (!strcmp(rows.columns[i].key, key)) {
			cell_get(&cli, &rows.columns[i], out_row(&rows, row), &c);
			return &c;
		}
	fail_msg("no column %s", key);
	return &c;
}

static void is_about(const struct cell *c, double want)
{
	double v = c->kind == CELL_U64 ? (double)c->u64 : c->real;

	assert_true(c->kind == CELL_U64 || c->kind == CELL_REAL);
	if (v < want * 0.97 || v > want * 1.03)
		fail_msg("%g, not %g", v, want);
}

static void is_absent(const struct cell *c)
{
	assert_int_equal(c->kind, CELL_ABSENT);
}

#define JOB(key)	cell_of(job_rows(&cli.snap), 1, key)
#define OTHER(key)	cell_of(job_rows(&cli.snap), 2, key)
#define QP(row, key)	cell_of(qp_rows(&cli.snap), row, key)
#define DEV(key)	cell_of(JOB("devs")->table, 0, key)
#define HELD(row, key)	cell_of(DEV("held")->table, row, key)

/* Rows as the command prints them. */
static char *print_rows(struct rows rows, bool json, bool details)
{
	size_t size;
	char *text;

	cli.out.json = json;
	cli.out.details = details;
	cli.out.f = open_memstream(&text, &size);
	assert_int_equal(cli_show(&cli, &rows), CLI_OK);
	fclose(cli.out.f);
	return text;
}

static void prints(struct rows rows, bool json, bool details, const char *has)
{
	char *text = print_rows(rows, json, details);

	if (!strstr(text, has))
		fail_msg("no '%s' in:\n%s", has, text);
	free(text);
}

static void prints_no(struct rows rows, bool json, bool details, const char *lacks)
{
	char *text = print_rows(rows, json, details);

	if (strstr(text, lacks))
		fail_msg("'%s' in:\n%s", lacks, text);
	free(text);
}

static void set_held(struct made *m, uint64_t posts, uint64_t ns)
{
	struct snap_job_report *r = &m->job_reports[0];

	r->n_held = 2;
	r->held[0] = (struct snap_held){
		.has = SNAP_WAITS, .knob = SWIFTRDMA_KNOB_WR_RATE, .processes = 3, .in_force = 2,
		.posts = posts, .wrs = posts, .time = ns, .passed = 1,
	};
	r->held[1] = r->held[0];
	r->held[1].knob = SWIFTRDMA_KNOB_CREDITS;
	r->held[1].in_force = 0;
}

/* Posts that knobs held, and the knobs. */
static void test_held(void **state)
{
	(void)state;
	set_figures(&was, 1000, 10000, 500);
	set_figures(&is, 2000, 10000, 500);
	read_both();
	is_absent(DEV("held"));
	is_absent(DEV("held_share"));
	is_absent(DEV("held_time"));
	is_absent(DEV("enforced_by"));
	is_absent(DEV("wr_rate"));
	is_absent(DEV("credits"));
	set_held(&was, 100, 100000000);
	set_held(&is, 300, 250000000);
	is.jobs[1].stats[0].has |= SNAP_WR_RATE | SNAP_CREDITS;
	is.jobs[1].stats[0].wr_rate = 5000;
	is.jobs[1].stats[0].credits = 32;
	read_both();
	is_about(DEV("wr_rate"), 5000);
	is_about(DEV("credits"), 32);
	assert_string_equal(DEV("enforced_by")->str, "2/3");
	/* Twice 150 ms in the second between the readings. */
	is_about(DEV("held_share"), 0.3);
	is_about(DEV("held_time"), 500000000);
	is_about(DEV("held_posts"), 600);
	is_about(DEV("held_passed"), 2);
}

/* Each knob alone, and what the processes make of it. */
static void test_held_knobs(void **state)
{
	(void)state;
	set_figures(&is, 2000, 10000, 500);
	set_held(&is, 300, 250000000);
	is.job_reports[0].held[1].wrs = 900;
	read_both();
	assert_string_equal(HELD(0, "knob")->str, "wr_rate");
	assert_string_equal(HELD(0, "state")->str, "partly");
	is_about(HELD(0, "posts"), 300);
	is_about(HELD(0, "wrs"), 300);
	is_about(HELD(0, "time"), 250000000);
	is_about(HELD(0, "passed"), 1);
	is_about(HELD(0, "processes"), 3);
	is_about(HELD(0, "in_force"), 2);
	assert_string_equal(HELD(1, "knob")->str, "credits");
	assert_string_equal(HELD(1, "state")->str, "idle");
	is_about(HELD(1, "wrs"), 900);
	is.job_reports[0].held[0].in_force = 3;
	is.job_reports[0].held[1].processes = 0;
	read_both();
	assert_string_equal(HELD(0, "state")->str, "in_force");
	assert_string_equal(HELD(1, "state")->str, "none");
	prints(job_rows(&cli.snap), true, false,
	       "\"held\":[{\"knob\":\"wr_rate\",\"state\":\"in_force\",\"processes\":3,\"in_force\":3,\"posts\":300,");
	prints(job_rows(&cli.snap), false, true, "KNOB     STATE");
	prints_no(job_rows(&cli.snap), false, false, "KNOB");
}

static void set_counts(struct snap_figures *f)
{
	f->hol_wrs = 10;
	f->hol_sum = 30000;
	f->hol_max = 7000;
	f->wrs = 120;
	f->done = 100;
	f->dropped = 12;
	f->errors = 3;
	f->recv_wrs = 55;
}

/* All that the module has of a job on a device, and of a QP. */
static void test_counts(void **state)
{
	(void)state;
	set_counts(&is.job_reports[0].sum);
	set_counts(&is.qp_reports[0].sum);
	read_both();
	is_about(DEV("queue_delay"), 3000);
	is_about(DEV("hol_max"), 7000);
	is_about(DEV("done"), 100);
	is_about(DEV("dropped"), 12);
	is_about(DEV("errors"), 3);
	is_about(DEV("recv_wrs"), 55);
	is_about(QP(0, "queue_delay"), 3000);
	is_about(QP(0, "hol_max"), 7000);
	is_about(QP(0, "done"), 100);
	is_about(QP(0, "dropped"), 12);
	is_about(QP(0, "errors"), 3);
	is_about(QP(0, "recv_wrs"), 55);
	/* A maximum of nothing is not 0. */
	is.job_reports[0].sum.hol_wrs = is.qp_reports[0].sum.hol_wrs = 0;
	read_both();
	is_absent(DEV("hol_max"));
	is_absent(QP(0, "hol_max"));
	is_absent(QP(2, "done"));
	is_absent(QP(2, "recv_wrs"));
	/* Of the interval, as a QP's. */
	set_counts(&was.job_reports[0].sum);
	set_counts(&is.job_reports[0].sum);
	is.job_reports[0].sum.hol_wrs += 10;
	is.job_reports[0].sum.hol_sum += 50000;
	read_both();
	is_about(DEV("queue_delay"), 5000);
	cli.out.rates = false;
	is_about(DEV("queue_delay"), 4000);
}

/* "It only counts" is not "nothing yet". */
static void test_flags(void **state)
{
	(void)state;
	set_figures(&is, 0, 0, 0);
	is.qp_reports[1].flags = SWIFTRDMA_SLOT_NO_ORDER | SWIFTRDMA_SLOT_ERROR |
				 SWIFTRDMA_SLOT_WR_API | SWIFTRDMA_SLOT_DEAD;
	read_both();
	assert_int_equal(QP(0, "library_flags")->kind, CELL_WORDS);
	assert_null(QP(0, "library_flags")->words[0]);
	assert_string_equal(QP(1, "library_flags")->words[0], "no-order");
	assert_string_equal(QP(1, "library_flags")->words[1], "error");
	assert_string_equal(QP(1, "library_flags")->words[2], "wr-api");
	assert_null(QP(1, "library_flags")->words[3]);
	is_absent(QP(2, "library_flags"));
	prints(qp_rows(&cli.snap), true, false, "\"library_flags\":[],");
	prints(qp_rows(&cli.snap), true, false, "\"library_flags\":[\"no-order\",\"error\",\"wr-api\"]");
	prints(qp_rows(&cli.snap), false, true, "no-order,error,wr-api");
}

/* Where no process has the library its columns take no room. */
static void test_room(void **state)
{
	static const char *const heads[] = { "OUTST", "HOL-WAIT", "LATENCY", "LAT-MAX" };

	(void)state;
	set_figures(&was, 1000, 10000, 500);
	set_figures(&is, 2000, 10000, 500);
	read_both();
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		prints(qp_rows(&cli.snap), false, false, heads[i]);
	prints_no(qp_rows(&cli.snap), false, false, "Q-LATENCY");
	prints(job_rows(&cli.snap), false, false, "LIB-PROCS");
	prints(job_rows(&cli.snap), false, false, "P99");
	cli.snap.n_qp_reports = cli.snap.n_job_reports = 0;
	signals_update(&cli.sig, &was.s, &cli.snap, &(struct signal_opts){ .tau = 1 });
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		prints_no(qp_rows(&cli.snap), false, false, heads[i]);
	prints_no(job_rows(&cli.snap), false, false, "LIB-");
	prints_no(job_rows(&cli.snap), false, false, "P99");
	prints(job_rows(&cli.snap), false, false, "MAX-QPS");
}

static void test_interval(void **state)
{
	(void)state;
	set_figures(&was, 1000, 10000, 500);
	set_figures(&is, 1000, 10000, 500);
	set_figures(&is, 2000, 30000, 1500);
	is.job_reports[0].bucket[swiftrdma_hist_bucket(30000)] = 1000;
	is.job_reports[0].sum.samples = 2000;
	read_both();
	is_about(JOB("p50"), 30000);
	is_about(JOB("p99"), 30000);
	is_about(JOB("p99_samples"), 1000);
	is_about(JOB("p99_needs"), SIGNAL_P99_SAMPLES);
	is_about(JOB("slo_p99"), 50000);
	prints(job_rows(&cli.snap), true, false, "\"slo_met\":true");
	prints(job_rows(&cli.snap), false, false, "yes");
	is_about(JOB("wr_rate"), 1000);
	is_about(JOB("byte_rate"), 100 * 8 * 1000);
	is_about(DEV("library_processes"), 1);
	is_about(DEV("latency_max"), 30000);
	is_about(QP(0, "outstanding"), 7);
	/* Of the second 1000 alone: 60 ms less 10 ms, 3 ms less 0.5 ms. */
	is_about(QP(0, "latency"), 50000);
	is_about(QP(0, "queue_delay"), 2500);
	is_about(QP(0, "latency_max"), 60000);
	is_absent(QP(1, "outstanding"));
	is_absent(QP(1, "latency"));
	/* No library: nothing, and not 0. */
	is_absent(OTHER("p50"));
	is_absent(OTHER("p99_samples"));
	is_absent(OTHER("slo_met"));
	is_absent(OTHER("wr_rate"));
	is_absent(QP(2, "outstanding"));
	is_absent(QP(2, "library"));
	assert_int_equal(QP(0, "library")->kind, CELL_FLAG);
}

/* Without an interval: all that was told since counting began. */
static void test_totals(void **state)
{
	(void)state;
	cli.out.rates = false;
	set_figures(&was, 500, 10000, 500);
	set_figures(&is, 2000, 80000, 1500);
	read_both();
	is_about(JOB("p50"), 80000);
	is_about(JOB("p99"), 80000);
	is_about(JOB("p99_samples"), 2000);
	prints(job_rows(&cli.snap), true, false, "\"slo_met\":false");
	prints(job_rows(&cli.snap), false, false, "no");
	is_about(QP(0, "latency"), 80000);
	is_about(QP(0, "queue_delay"), 1500);
}

static void test_few(void **state)
{
	(void)state;
	set_figures(&is, 60, 20000, 100);
	read_both();
	is_about(JOB("p50"), 20000);
	is_absent(JOB("p99"));
	is_absent(JOB("slo_met"));
	is_about(JOB("p99_samples"), 60);
	assert_string_equal(JOB("samples")->str, "60/100");
	cli.out.rates = false;
	is_absent(JOB("p99"));
	is_about(JOB("p50"), 20000);
}

static void says(size_t qp, enum explain_topic topic, const char *text)
{
	struct reading rd;

	memset(&e, 0, sizeof(e));
	e.qp = qp;
	rd = cli_reading(&cli);
	explain_qp(&rd, &e);
	for (size_t i = 0; i < e.n; i++)
		if (e.line[i].topic == topic && strstr(e.line[i].text, text))
			return;
	for (size_t i = 0; i < e.n; i++)
		print_error("%s: %s\n", explain_topics[e.line[i].topic], e.line[i].text);
	fail_msg("%s: nothing says '%s'", explain_topics[topic], text);
}

static void test_explain(void **state)
{
	(void)state;
	set_figures(&is, 2000, 80000, 6000);
	read_both();
	says(0, EXPLAIN_LATENCY, "saw requests take 80 us on average; the longest since it attached, 160 us");
	says(0, EXPLAIN_LATENCY, "7 requests were outstanding");
	says(0, EXPLAIN_LATENCY, "by 2000 samples: the target of 50 us is missed");
	says(0, EXPLAIN_CONTENTION, "send queue: yes, a request waits 6 us on average for those before it (queue_delay: 5 us)");
	says(1, EXPLAIN_UNTOLD, "lost the order of its send queue");
	says(2, EXPLAIN_UNTOLD, "libswiftrdma would tell them, and is not in its process");
	set_figures(&is, 0, 0, 0);
	strcpy(is.owners[1].kernel, "ib_core");
	read_both();
	says(2, EXPLAIN_UNTOLD, "which is not in the kernel");
}

static bool is_said(size_t qp, const char *text)
{
	struct reading rd;

	memset(&e, 0, sizeof(e));
	e.qp = qp;
	rd = cli_reading(&cli);
	explain_qp(&rd, &e);
	for (size_t i = 0; i < e.n; i++)
		if (strstr(e.line[i].text, text))
			return true;
	return false;
}

static void count_wrs(uint32_t caps, uint64_t before, uint64_t now, uint64_t library)
{
	was.devs[0].caps = is.devs[0].caps = caps;
	was.qps[0].has |= SNAP_WRS;
	is.qps[0].has |= SNAP_WRS;
	was.qps[0].wrs = before;
	is.qps[0].wrs = now;
	is.qp_reports[0].sum.wrs = library;
	read_both();
}

/* What the kernel counted and the library did not. */
static void test_unseen(void **state)
{
	(void)state;
	count_wrs(SWIFTRDMA_DEV_CAP_WRS, 500, 900, 480);
	is_about(QP(0, "wrs_unseen"), 20);
	says(0, EXPLAIN_UNTOLD, "20 of its requests: libswiftrdma in its process did not see them");
	/* What is posted between the two counts of one reading is not unseen. */
	count_wrs(SWIFTRDMA_DEV_CAP_WRS, 500, 900, 880);
	is_about(QP(0, "wrs_unseen"), 0);
	assert_false(is_said(0, "did not see"));
	is_absent(QP(2, "wrs_unseen"));
	/* Neither an older QP nor a single reading can tell. */
	is.qp_reports[0].sum.since = 2;
	is_absent(QP(0, "wrs_unseen"));
	is.qp_reports[0].sum.since = 1;
	is.qps[0].adopted = true;
	is_absent(QP(0, "wrs_unseen"));
	is.qps[0].adopted = false;
	cli.out.rates = false;
	is_absent(QP(0, "wrs_unseen"));
	cli.out.rates = true;
}

/* Blocks are not requests, but none of one are none of the other. */
static void test_unseen_blocks(void **state)
{
	const uint32_t caps = SWIFTRDMA_DEV_CAP_WRS | SWIFTRDMA_DEV_CAP_WQEBBS;

	(void)state;
	count_wrs(caps, 500, 900, 480);
	is_absent(QP(0, "wrs_unseen"));
	assert_false(is_said(0, "saw none"));
	count_wrs(caps, 500, 900, 0);
	is_about(QP(0, "wrs_unseen"), 500);
	says(0, EXPLAIN_UNTOLD, "libswiftrdma in its process saw none of them, so the program writes them itself");
	count_wrs(caps, 0, 900, 0);
	assert_false(is_said(0, "saw none"));
}

/* Calls of the library are doorbells of the kernel, and nobody counts the requests. */
static void test_unseen_doorbells(void **state)
{
	(void)state;
	count_wrs(0, 0, 0, 40);
	was.qps[0].has = is.qps[0].has = (is.qps[0].has & ~(uint64_t)SNAP_WRS) | SNAP_DOORBELLS;
	is.qp_reports[0].has |= SNAP_DOORBELLS;
	was.qps[0].doorbells = 23;
	is.qps[0].doorbells = 30;
	is.qp_reports[0].sum.calls = 20;
	read_both();
	is_absent(QP(0, "wrs_unseen"));
	is_about(QP(0, "reported_calls"), 20);
	is_about(QP(0, "doorbells_unseen"), 3);
	says(0, EXPLAIN_UNTOLD, "what was posted with 3 of its doorbells: libswiftrdma in its process did not see it");
	is.qp_reports[0].sum.calls = 27;
	read_both();
	is_about(QP(0, "doorbells_unseen"), 0);
	assert_false(is_said(0, "of its doorbells"));
	/* A module that does not tell them beside the calls is an older one. */
	is.qp_reports[0].has &= ~(uint64_t)SNAP_DOORBELLS;
	is_absent(QP(0, "doorbells_unseen"));
}

static void test_explain_few(void **state)
{
	(void)state;
	set_figures(&is, 60, 20000, 100);
	read_both();
	says(0, EXPLAIN_UNTOLD, "60 latencies were sampled, and it takes 100");
	says(0, EXPLAIN_CONTENTION, "send queue: hardly any, a request waits 100 ns");
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_interval), T(test_totals), T(test_few), T(test_explain),
		T(test_explain_few), T(test_held), T(test_held_knobs), T(test_counts),
		T(test_flags), T(test_room), T(test_unseen), T(test_unseen_blocks), T(test_unseen_doorbells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
