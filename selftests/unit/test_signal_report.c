// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signals of what libraries in processes told, from made-up histograms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <rdma/swiftrdma.h>

#include "core/signal.h"
#include "unit/snap_build.h"

#define KV	1	/* row and id of the job with the library */
#define TICK	100	/* ms */

/* Totals of the job and of its first QP, which readings are made of. */
static struct snap_job_report total;
static struct snap_figures qp_total;
static struct made reading[2];
static struct signals sig;
static struct signal_opts opts;
static void (*change)(struct made *m);	/* what a reading has besides; NULL: nothing */
static unsigned int cur;
static uint64_t ms;

static int setup(void **state)
{
	(void)state;
	signals_init(&sig);
	memset(&total, 0, sizeof(total));
	memset(&qp_total, 0, sizeof(qp_total));
	total.processes = 1;
	total.sum.since = qp_total.since = 1;
	opts = (struct signal_opts){ 0 };
	change = NULL;
	ms = 1000;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	signals_free(&sig);
	return 0;
}

/* The scene on a device that counts nothing itself: both QPs of kv are of one process. */
static struct made *make_reading(void)
{
	struct made *m = &reading[cur ^= 1];
	size_t i;

	made_scene(m, ms, 0);
	for (i = 0; i < m->s.n_qps; i++)
		m->qps[i].has &= ~(uint64_t)(SNAP_WRS | SNAP_DOORBELLS);
	for (i = 0; i < m->s.n_jobs; i++)
		m->jobs[i].stats[0].has = 0;
	return m;
}

static void add_reports(struct made *m)
{
	struct snap_job_report *job = made_job_report(m, KV, 0, total.processes);
	struct snap_qp_report *qp = made_qp_report(m, &m->qps[0]);

	*job = total;
	job->job = KV;
	job->sum.time = m->s.time;
	qp->sum = qp_total;
	qp->sum.time = m->s.time;
	qp->outstanding = 5;
	made_qp_report(m, &m->qps[1])->has = 0;
}

static void update(const struct made *was, const struct made *is)
{
	assert_int_equal(signals_reserve(&sig, &is->s), 0);
	signals_update(&sig, was ? &was->s : NULL, &is->s, &opts);
}

/* One tick further. */
static void tick(void)
{
	struct made *was = ms > 1000 ? &reading[cur] : NULL, *is;

	ms += TICK;
	is = make_reading();
	add_reports(is);
	if (change)
		change(is);
	update(was, is);
}

static double get(enum signal_id id, size_t row)
{
	double v;

	if (!signal_get(&sig, id, row, &v))
		fail_msg("%s is absent", vocab_signals[id].name);
	return v;
}

static void is_about(enum signal_id id, size_t row, double want, double part)
{
	double v = get(id, row);

	if (v < want * (1 - part) || v > want * (1 + part))
		fail_msg("%s is %g, not %g", vocab_signals[id].name, v, want);
}

static void is_absent(enum signal_id id, size_t row)
{
	double v;

	if (signal_get(&sig, id, row, &v))
		fail_msg("%s is %g, not absent", vocab_signals[id].name, v);
}

static void no_quantile(void)
{
	is_absent(SIG_JOB_P50, KV);
	is_absent(SIG_JOB_P99, KV);
	is_absent(SIG_JOB_P99_PREV, KV);
}

/* 1000 latencies of 10 us to 20 us, and @late of 1 ms, each for @weight requests. */
static void post(uint64_t late, uint64_t weight)
{
	uint64_t i;

	for (i = 0; i < 1000 - late; i++)
		made_latencies(&total, 10000 + 10 * i, 1, weight);
	made_latencies(&total, 1000000, late, weight);
}

static void test_quantiles(void **state)
{
	(void)state;
	tick();
	no_quantile();
	post(0, 1);
	tick();
	is_about(SIG_JOB_P50, KV, 15000, 0.005);
	is_about(SIG_JOB_P99, KV, 19900, 0.005);
	is_absent(SIG_JOB_P99_PREV, KV);
	is_absent(SIG_JOB_P99, 2);
	/* It is the difference that counts, and the weights that are counted. */
	post(20, 7);
	tick();
	is_about(SIG_JOB_P50, KV, 15000, 0.01);
	is_about(SIG_JOB_P99, KV, 1000000, 0.033);
	is_about(SIG_JOB_P99_PREV, KV, 19900, 0.005);
	assert_int_equal(signals_latency(&sig, KV)->p99.samples, 1000);
	assert_null(signals_latency(&sig, 2));
}

/* Of every value in a bucket the quantile is at most a bucket's width away. */
static void test_interpolation(void **state)
{
	static uint64_t bucket[SWIFTRDMA_HIST_BUCKETS];
	double ns, q;
	uint64_t v;

	(void)state;
	assert_false(signals_quantile(bucket, 0.5, &ns));
	for (v = 1000; v < 3000; v++)
		bucket[swiftrdma_hist_bucket(v)]++;
	for (q = 0.01; q < 1; q += 0.01) {
		double want = 1000 + 2000 * q;

		assert_true(signals_quantile(bucket, q, &ns));
		if (ns < want * 0.99 || ns > want * 1.01)
			fail_msg("quantile %g is %g, not %g", q, ns, want);
	}
	/* What has no end is told by its beginning. */
	memset(bucket, 0, sizeof(bucket));
	bucket[SWIFTRDMA_HIST_BUCKETS - 1] = 3;
	assert_true(signals_quantile(bucket, 0.99, &ns));
	assert_true(ns == (double)(1ULL << SWIFTRDMA_HIST_MAX_BITS));
	memset(bucket, 0, sizeof(bucket));
	bucket[0] = 1;
	assert_true(signals_quantile(bucket, 0.5, &ns));
	assert_true(ns > 0 && ns < 64);
}

/* 100 samples a tick: p50 at once, p99 when ten ticks have brought 1000. */
static void test_window(void **state)
{
	unsigned int i;

	(void)state;
	tick();
	for (i = 1; i < 10; i++) {
		made_latencies(&total, 20000, 100, 3);
		tick();
		is_about(SIG_JOB_P50, KV, 20000, 0.033);
		is_absent(SIG_JOB_P99, KV);
		assert_int_equal(signals_latency(&sig, KV)->p50.samples, 100 * i);
		assert_int_equal(signals_latency(&sig, KV)->samples, 100 * i);
	}
	made_latencies(&total, 20000, 100, 3);
	tick();
	is_about(SIG_JOB_P99, KV, 20000, 0.033);
	is_absent(SIG_JOB_P99_PREV, KV);
	/* The next window; until it is full, what was found holds. */
	for (i = 0; i < 10; i++) {
		is_about(SIG_JOB_P99, KV, 20000, 0.033);
		made_latencies(&total, 90000, 100, 3);
		tick();
	}
	is_about(SIG_JOB_P99, KV, 90000, 0.033);
	is_about(SIG_JOB_P99_PREV, KV, 20000, 0.033);
}

/* A job that does little, and then nothing: no figure is older than two windows. */
static void test_few(void **state)
{
	unsigned int i;

	(void)state;
	tick();
	post(0, 1);
	tick();
	is_about(SIG_JOB_P99, KV, 19900, 0.005);
	made_latencies(&total, 40000, 19, 1);
	tick();
	/* Too few for anything: the median is the last window's. */
	is_about(SIG_JOB_P50, KV, 15000, 0.01);
	for (i = 0; i < SIGNAL_WINDOW / MS / TICK; i++)
		tick();
	no_quantile();
	made_latencies(&total, 40000, 20, 1);
	tick();
	is_about(SIG_JOB_P50, KV, 40000, 0.033);
	is_absent(SIG_JOB_P99, KV);
	for (i = 0; i < SIGNAL_WINDOW / MS / TICK; i++)
		tick();
	/* The window that had 20 is told until the next one ends. */
	for (i = 0; i < SIGNAL_WINDOW / MS / TICK; i++)
		tick();
	no_quantile();
	/* 100 are enough for a p99, when no more came in a whole window. */
	made_latencies(&total, 40000, SIGNAL_P99_SAMPLES, 1);
	tick();
	is_absent(SIG_JOB_P99, KV);
	for (i = 0; i < SIGNAL_WINDOW / MS / TICK; i++)
		tick();
	is_about(SIG_JOB_P99, KV, 40000, 0.033);
	for (i = 0; i < 2 * SIGNAL_WINDOW / MS / TICK; i++)
		tick();
	no_quantile();
}

/* 10 ns are not "no latency", and no request at all is no quantile. */
static void test_no_requests(void **state)
{
	(void)state;
	tick();
	total.sum.samples += 5000;	/* of no request: a process may say anything */
	tick();
	no_quantile();
}

/* The first process of the job attaches between two readings, and leaves again. */
static void test_attach(void **state)
{
	struct made *was, *is;

	(void)state;
	ms += TICK;
	was = make_reading();
	update(NULL, was);
	ms += TICK;
	is = make_reading();
	update(was, is);
	no_quantile();
	is_absent(SIG_JOB_WR_RATE, KV);
	is_absent(SIG_QP_OUTSTANDING, 0);
	/* It counts from 0 since it attached. */
	total.sum.since = qp_total.since = ms * MS + 1;
	total.sum.wrs = 200;
	total.sum.bytes = 200 * 64;
	made_latencies(&total, 30000, 2000, 1);
	tick();
	is_about(SIG_JOB_WR_RATE, KV, 2000, 0.001);
	is_about(SIG_JOB_BYTE_RATE, KV, 2000 * 64 * 8, 0.001);
	is_about(SIG_QP_OUTSTANDING, 0, 5, 0);
	no_quantile();
	made_latencies(&total, 50000, 2000, 1);
	tick();
	is_about(SIG_JOB_P99, KV, 50000, 0.033);
	/* The process ends: its totals stay with the job, and grow no more. */
	was = &reading[cur];
	total.processes = 0;
	ms += TICK;
	is = make_reading();
	is->s.n_qps = 0;
	is->jobs[KV].stats[0].qps = 0;
	*made_job_report(is, KV, 0, 0) = total;
	is->job_reports[0].job = KV;
	is->job_reports[0].sum.time = is->s.time;
	update(was, is);
	is_about(SIG_JOB_P99, KV, 50000, 0.033);
	is_about(SIG_JOB_WR_RATE, KV, 0, 0);
}

/* The module was loaded anew, or the device came again: other totals, from 0. */
static void test_reset(void **state)
{
	(void)state;
	tick();
	post(0, 1);
	qp_total.hol_wrs = 10;
	qp_total.hol_sum = 10000;
	total.sum.wrs = 1000;
	tick();
	is_about(SIG_JOB_P99, KV, 19900, 0.005);
	is_about(SIG_QP_QUEUE_DELAY, 0, 1000, 0.001);
	memset(&total, 0, sizeof(total));
	total.processes = 1;
	total.sum.since = ms * MS - 1;
	qp_total = (struct snap_figures){ .since = 2, .hol_wrs = 20, .hol_sum = 100 };
	tick();
	no_quantile();
	is_absent(SIG_JOB_WR_RATE, KV);
	is_absent(SIG_QP_QUEUE_DELAY, 0);
	post(0, 1);
	tick();
	is_about(SIG_JOB_P99, KV, 19900, 0.005);
}

/* The same totals step back, as where a counter wrapped: unknown, not huge. */
static void test_step_back(void **state)
{
	(void)state;
	total.sum.wrs = 1000;
	qp_total.hol_wrs = 100;
	qp_total.hol_sum = 1000;
	post(0, 1);
	tick();
	post(0, 1);
	tick();
	is_about(SIG_JOB_P99, KV, 19900, 0.005);
	total.bucket[swiftrdma_hist_bucket(15000)] -= 3;
	total.sum.wrs = 999;
	qp_total.hol_wrs = 200;
	qp_total.hol_sum = 900;
	tick();
	no_quantile();
	is_absent(SIG_JOB_WR_RATE, KV);
	is_absent(SIG_QP_QUEUE_DELAY, 0);
	post(0, 1);
	tick();
	is_about(SIG_JOB_P99, KV, 19900, 0.005);
	total.sum.samples -= 2000;
	tick();
	no_quantile();
}

/* Another device begins to report: a window is of the same reports from its beginning. */
static void test_second_device(void **state)
{
	struct made *was, *is;
	unsigned int i;

	(void)state;
	tick();
	was = &reading[cur];
	for (i = 0; i < 2; i++) {
		post(0, 1);
		ms += TICK;
		is = make_reading();
		add_reports(is);
		made_dev(is, 1);
		made_stat(&is->jobs[KV], 1, 0)->has = 0;
		*made_job_report(is, KV, 1, 1) = total;
		is->job_reports[1].job = KV;
		is->job_reports[1].dev = 1;
		is->job_reports[1].sum.time = is->s.time;
		update(was, is);
		if (!i)
			no_quantile();
		was = is;
	}
	is_about(SIG_JOB_P99, KV, 19900, 0.005);
	assert_int_equal(signals_latency(&sig, KV)->p99.samples, 2000);
}

/* A caller that reads in steps compares at last over all of them. */
static void test_steps(void **state)
{
	struct made first;

	(void)state;
	tick();
	first = reading[cur];
	post(0, 1);
	tick();
	made_latencies(&total, 100000, 3000, 1);
	tick();
	is_about(SIG_JOB_P50, KV, 100000, 0.033);
	first.s.job_reports = first.job_reports;
	first.s.qp_reports = first.qp_reports;
	signals_update(&sig, &first.s, &reading[cur].s, &opts);
	assert_int_equal(signals_latency(&sig, KV)->p99.samples, 4000);
	assert_true(signals_quantile(total.bucket, 0.99, &(double){ 0 }));
	is_about(SIG_JOB_P99, KV, 100000, 0.033);
}

/* A process of the job without the library: rates of the rest would be too small. */
static void test_mixed(void **state)
{
	struct made *was, *is;

	(void)state;
	tick();
	total.sum.wrs += 300;
	total.sum.bytes += 300;
	post(0, 1);
	was = &reading[cur];
	ms += TICK;
	is = make_reading();
	add_reports(is);
	is->qps[2].job = KV;
	update(was, is);
	is_absent(SIG_JOB_WR_RATE, KV);
	is_absent(SIG_JOB_BYTE_RATE, KV);
	/* Its latencies are those of the processes that tell them. */
	is_about(SIG_JOB_P99, KV, 19900, 0.005);
	is_absent(SIG_QP_OUTSTANDING, 2);
	/* Where the kernel counts them all, its count is the job's, once. */
	was->jobs[KV].stats[0].has = is->jobs[KV].stats[0].has = SNAP_WRS;
	is->jobs[KV].stats[0].wrs = 500;
	update(was, is);
	is_about(SIG_JOB_WR_RATE, KV, 5000, 0.001);
	is_absent(SIG_JOB_BYTE_RATE, KV);
	/* The older reading has no count, so there is no rate. */
	was->jobs[KV].stats[0].has = 0;
	update(was, is);
	is_absent(SIG_JOB_WR_RATE, KV);
	was->jobs[KV].stats[0].has = SNAP_WRS;
	is->jobs[KV].stats[0].has |= SNAP_DOORBELLS;
	is->jobs[KV].stats[0].doorbells = 700;
	update(was, is);
	is_absent(SIG_JOB_DOORBELL_RATE, KV);
	was->jobs[KV].stats[0].has |= SNAP_DOORBELLS;
	update(was, is);
	is_about(SIG_JOB_DOORBELL_RATE, KV, 7000, 0.001);
	/* All have it, and the kernel counts too. */
	is->qps[2].job = 2;
	update(was, is);
	is_about(SIG_JOB_WR_RATE, KV, 5000, 0.001);
	is_about(SIG_JOB_BYTE_RATE, KV, 3000 * 8, 0.001);
}

/* A QP's report begins anew with each attachment of its process. */
static void test_queue_delay(void **state)
{
	(void)state;
	tick();
	is_absent(SIG_QP_QUEUE_DELAY, 0);
	qp_total.hol_wrs = 4;
	qp_total.hol_sum = 8000;
	tick();
	is_about(SIG_QP_QUEUE_DELAY, 0, 2000, 0.001);
	/* Nothing was posted: there is nothing that could have waited. */
	tick();
	is_absent(SIG_QP_QUEUE_DELAY, 0);
	qp_total = (struct snap_figures){ .since = ms * MS, .hol_wrs = 2, .hol_sum = 6000 };
	tick();
	is_about(SIG_QP_QUEUE_DELAY, 0, 3000, 0.001);
	is_about(SIG_QP_OUTSTANDING, 0, 5, 0);
	/* The order of its send queue is not known. */
	is_absent(SIG_QP_OUTSTANDING, 1);
}

/* --- work that a library does not see ------------------------------------------- */

static uint64_t doorbells;	/* that the kernel counted of kv's first QP */

static void count_doorbells(struct made *m)
{
	m->qps[0].has |= SNAP_DOORBELLS;
	m->qps[0].doorbells = doorbells;
}

/* One tick, in which the kernel counts @kernel and the library reports @library. */
static void work(uint64_t kernel, uint64_t library)
{
	doorbells += kernel;
	total.sum.wrs += library;
	total.sum.bytes += 64 * library;
	qp_total.wrs += library;
	qp_total.hol_wrs += 10;
	qp_total.hol_sum += 10000;
	tick();
}

static void first_qp_known(bool known)
{
	if (known) {
		is_about(SIG_QP_OUTSTANDING, 0, 5, 0);
		is_about(SIG_QP_QUEUE_DELAY, 0, 1000, 0);
		get(SIG_JOB_WR_RATE, KV);
		get(SIG_JOB_BYTE_RATE, KV);
		return;
	}
	is_absent(SIG_QP_OUTSTANDING, 0);
	is_absent(SIG_QP_QUEUE_DELAY, 0);
	is_absent(SIG_JOB_WR_RATE, KV);
	is_absent(SIG_JOB_BYTE_RATE, KV);
}

/* A program writes requests by itself: what its library reports of the QP is unknown, not 0. */
static void test_own_requests(void **state)
{
	(void)state;
	doorbells = 0;
	change = count_doorbells;
	tick();
	work(100, 100);
	first_qp_known(true);
	work(100, 0);
	first_qp_known(false);
	/* What it posted then may still be outstanding while it rests. */
	work(0, 0);
	first_qp_known(false);
	work(100, 0);
	first_qp_known(false);
	/* It posts through the library again. */
	work(100, 100);
	first_qp_known(true);
	is_about(SIG_JOB_BYTE_RATE, KV, 1000 * 64 * 8, 0.001);
	work(0, 0);
	first_qp_known(true);
}

/* Reports are read before QPs: what was posted in between is in the next report. */
static void test_posted_between(void **state)
{
	(void)state;
	doorbells = 0;
	change = count_doorbells;
	tick();
	work(0, 0);
	first_qp_known(true);
	work(1, 0);
	first_qp_known(false);
	work(0, 1);
	first_qp_known(true);
}

/* A QP of the process that has a library too, which does not report it. */
static struct snap_qp unreported;

static void add_unreported(struct made *m)
{
	struct snap_qp *qp = made_qp(m, 0, 60, KV);

	qp->has = unreported.has | SNAP_OWNER;
	qp->owner = 0;
	qp->type = unreported.type;
	qp->state = unreported.state;
	qp->wrs_absent = unreported.wrs_absent;
	qp->devx = unreported.devx;
	if (unreported.since)
		qp->since = m->s.time + unreported.since;
}

static void rates_with(struct snap_qp qp, bool known)
{
	unsigned int i;

	unreported = qp;
	for (i = 0; i < 2; i++) {
		total.sum.wrs += 100;
		total.sum.bytes += 100 * 64;
		tick();
	}
	if (known) {
		is_about(SIG_JOB_WR_RATE, KV, 1000, 0.001);
		is_about(SIG_JOB_BYTE_RATE, KV, 1000 * 64 * 8, 0.001);
	} else {
		is_absent(SIG_JOB_WR_RATE, KV);
		is_absent(SIG_JOB_BYTE_RATE, KV);
	}
	is_absent(SIG_QP_OUTSTANDING, 3);
	is_about(SIG_QP_OUTSTANDING, 0, 5, 0);
}

static void test_qp_without_report(void **state)
{
	(void)state;
	tick();
	change = add_unreported;
	rates_with((struct snap_qp){ .type = 2, .devx = true,
				     .wrs_absent = SWIFTRDMA_ABSENT_DEVX }, false);
	rates_with((struct snap_qp){ .has = SNAP_STATE, .type = 2, .state = 3 }, false);
	/* It came after the reports were read, and is in the next ones. */
	rates_with((struct snap_qp){ .has = SNAP_STATE, .type = 2, .state = 3, .since = 1 }, true);
	/* It cannot have sent anything. */
	rates_with((struct snap_qp){ .has = SNAP_STATE, .type = 2, .state = 1 }, true);
	rates_with((struct snap_qp){ .has = SNAP_STATE, .type = 10, .state = 3,
				     .wrs_absent = SWIFTRDMA_ABSENT_NO_QUEUE }, true);
	/* The kernel's own, for management of the port. */
	rates_with((struct snap_qp){ .has = SNAP_STATE, .type = 0, .state = 3 }, true);
	rates_with((struct snap_qp){ .has = SNAP_STATE, .type = 1, .state = 3 }, true);
	rates_with((struct snap_qp){ .has = SNAP_STATE, .type = 4, .state = 3 }, false);
}

static uint32_t kernels;	/* type of a QP of the kernel's */

/* A program without a job, and a QP of the kernel's in RTS, which no rule matches either. */
static void move_to_unassigned(struct made *m)
{
	struct snap_qp *qp = made_qp(m, 0, 61, 0);

	qp->has = SNAP_STATE | SNAP_OWNER;
	qp->type = kernels;
	qp->owner = 2;
	m->s.n_owners = 3;
	strcpy(m->owners[2].kernel, "ib_core");
	m->qps[0].job = m->qps[1].job = 0;
	m->job_reports[0].job = 0;
	m->jobs[0].stats[0].qps = 3;
}

static void test_unassigned(void **state)
{
	(void)state;
	change = move_to_unassigned;
	tick();
	for (kernels = 0; kernels < 2; kernels++) {
		total.sum.wrs += 100;
		total.sum.bytes += 100 * 64;
		tick();
		is_about(SIG_JOB_WR_RATE, 0, 1000, 0.001);
		is_about(SIG_JOB_BYTE_RATE, 0, 1000 * 64 * 8, 0.001);
	}
	/* Another QP of the kernel's has users that send. */
	tick();
	is_absent(SIG_JOB_WR_RATE, 0);
}

/* --- two devices ---------------------------------------------------------------- */

static uint32_t second_caps, second_qps;
static uint64_t second_wrs;

/* kv on a device whose driver counts, beside the one where its library does. */
static void add_second(struct made *m)
{
	struct snap_job_stat *st;

	made_dev(m, 1)->caps = second_caps;
	st = made_stat(&m->jobs[KV], 1, second_qps);
	st->has = SNAP_WRS;
	st->wrs = second_wrs;
}

static void go_on(uint64_t second)
{
	total.sum.wrs += 100;
	second_wrs += second;
	tick();
}

/* Requests and blocks of a send queue do not add up. */
static void test_units(void **state)
{
	(void)state;
	second_caps = SWIFTRDMA_DEV_CAP_WRS;
	second_qps = 1;
	second_wrs = 0;
	change = add_second;
	tick();
	go_on(50);
	is_about(SIG_JOB_WR_RATE, KV, 1500, 0.001);
	second_caps |= SWIFTRDMA_DEV_CAP_WQEBBS;
	go_on(50);
	is_absent(SIG_JOB_WR_RATE, KV);
	/* Its QPs there do nothing in this tick: still a rate of two units. */
	go_on(0);
	is_absent(SIG_JOB_WR_RATE, KV);
	/* It has none there: the kernel lists every device. */
	second_qps = 0;
	go_on(0);
	is_about(SIG_JOB_WR_RATE, KV, 1000, 0.001);
}

/* The window of swiftrdma -i 1s: what was too few is told, with how few it was. */
static void test_too_few(void **state)
{
	const struct signal_latency *l;

	(void)state;
	opts.window = 1;
	tick();
	made_latencies(&total, 20000, 60, 1);
	tick();
	l = signals_latency(&sig, KV);
	assert_false(l->p99.has);
	assert_int_equal(l->p99.samples, 60);
	assert_int_equal(l->samples, 60);
	assert_true(l->p50.has);
	assert_int_equal(l->p50.samples, 60);
	made_latencies(&total, 20000, 7, 1);
	tick();
	l = signals_latency(&sig, KV);
	assert_false(l->p99.has || l->p50.has);
	assert_int_equal(l->p99.samples, 7);
	assert_int_equal(l->p50.samples, 7);
	/* Of a window that is open, those so far. */
	opts.window = 0;
	made_latencies(&total, 20000, 30, 1);
	tick();
	l = signals_latency(&sig, KV);
	assert_int_equal(l->p99.samples, 30);
	made_latencies(&total, 20000, 30, 1);
	tick();
	assert_int_equal(signals_latency(&sig, KV)->p99.samples, 60);
}

/* Jobs come and go: the windows stay with theirs. */
static void test_jobs(void **state)
{
	struct made *was, *is;
	unsigned int i;

	(void)state;
	tick();
	was = &reading[cur];
	for (i = 0; i < 3; i++) {
		made_latencies(&total, 20000, 500, 1);
		ms += TICK;
		is = make_reading();
		if (i == 1)
			*made_job_report(is, 0, 0, 1) = total;
		add_reports(is);
		update(was, is);
		was = is;
		if (i)
			is_about(SIG_JOB_P99, KV, 20000, 0.033);
		else
			is_absent(SIG_JOB_P99, KV);
		is_absent(SIG_JOB_P99, 0);
	}
}

static void set_flags(struct made *m)
{
	m->s.qp_reports[0].flags |= SWIFTRDMA_SLOT_DOMAIN;
	m->s.qp_reports[1].flags |= SWIFTRDMA_SLOT_FIXED;
}

/* Flags of a report set .fixed and .own_domain of its QP, and a report without them clears both. */
static void test_flags(void **state)
{
	(void)state;
	tick();
	assert_false(sig.fixed[0] || sig.fixed[1]);
	change = set_flags;
	tick();
	assert_true(!sig.fixed[0] && sig.fixed[1]);
	assert_true(sig.own_domain[0] && !sig.own_domain[1]);
	change = NULL;
	tick();
	assert_false(sig.fixed[0] || sig.fixed[1] || sig.own_domain[0]);
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_quantiles), T(test_interpolation), T(test_window), T(test_few),
		T(test_no_requests), T(test_attach), T(test_reset), T(test_step_back),
		T(test_second_device), T(test_steps), T(test_mixed), T(test_queue_delay),
		T(test_jobs), T(test_own_requests), T(test_posted_between),
		T(test_qp_without_report), T(test_unassigned), T(test_units), T(test_too_few),
		T(test_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
