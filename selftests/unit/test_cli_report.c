// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What libraries told, as job show, qp show and qp explain tell it on. */
#include "cli/qp_explain.h"
#include "unit/cli_rig.h"

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
			rows.columns[i].get(&cli, (const char *)rows.base + row * rows.stride, &c);
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

static void set_held(struct made *m, uint64_t posts, uint64_t ns)
{
	struct snap_job_report *r = &m->job_reports[0];

	r->n_held = 2;
	r->held[0] = (struct snap_held){ SWIFTRDMA_KNOB_WR_RATE, 3, 2, posts, posts, ns, 1 };
	r->held[1] = (struct snap_held){ SWIFTRDMA_KNOB_CREDITS, 3, 0, posts, posts, ns, 1 };
}

/* Posts that knobs held, and the knobs. */
static void test_held(void **state)
{
	(void)state;
	set_figures(&was, 1000, 10000, 500);
	set_figures(&is, 2000, 10000, 500);
	read_both();
	is_absent(DEV("held"));
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
	is_about(DEV("held"), 0.3);
	is_about(DEV("held_time"), 500000000);
	is_about(DEV("held_posts"), 600);
	is_about(DEV("held_passed"), 2);
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
	assert_string_equal(JOB("slo_met")->str, "yes");
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
	assert_string_equal(JOB("slo_met")->str, "no");
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
	memset(&e, 0, sizeof(e));
	e.qp = qp;
	explain_qp(&cli, &e);
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
		T(test_explain_few), T(test_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
