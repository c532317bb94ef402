// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reports of libraries: parsed, sorted, and read of modules that have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/snapshot.c"
#include "unit/io_rig.h"

static struct {
	struct nl_msg *answer;	/* of REPORT_GET; NULL: no such command */
	unsigned int asked;
	bool has_dev;
	int error;
} kernel;

int srdma_fail(struct io *io, int err, const char *fmt, ...)
{
	(void)io;
	(void)fmt;
	return err;
}

struct nl_msg *srdma_request(struct io *io, int cmd, bool dump, size_t size)
{
	struct nl_msg *msg = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + size);

	(void)io;
	(void)dump;
	genlmsg_put(msg, 0, 0, FAMILY, 0, 0, cmd, 1);
	return msg;
}

int srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		   void (*again)(struct srdma_reading *r))
{
	const struct genlmsghdr *genl = nlmsg_data(nlmsg_hdr(msg));
	struct nlmsghdr *nlh;

	(void)io;
	(void)again;
	r->has_end = true;
	if (genl->cmd != SWIFTRDMA_CMD_REPORT_GET)
		return 0;
	kernel.asked++;
	kernel.has_dev = nlmsg_find_attr(nlmsg_hdr(msg), GENL_HDRLEN, SWIFTRDMA_A_DEV_NAME);
	if (kernel.error)
		return kernel.error;
	nlh = nlmsg_hdr(kernel.answer);
	return srdma_parse((char *)nlmsg_data(nlh) + GENL_HDRLEN,
			   nlmsg_datalen(nlh) - GENL_HDRLEN, r);
}

static void put_figures(struct nl_msg *msg)
{
	for (int type = SWIFTRDMA_REPORT_A_WRS; type <= SWIFTRDMA_REPORT_A_HOL_MAX; type++)
		if (type != SWIFTRDMA_REPORT_A_OUTSTANDING)
			nla_put_u64(msg, type, 100 + (uint64_t)type);
	nla_put_u64(msg, SWIFTRDMA_REPORT_A_CALLS, 4);
	nla_put_u64(msg, SWIFTRDMA_REPORT_A_SINCE, 5);
	nla_put_u64(msg, SWIFTRDMA_REPORT_A_TIME, 6);
}

static void put_held(struct nl_msg *msg, uint32_t knob, uint64_t job)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_REPORT_A_HELD);

	nla_put_u32(msg, SWIFTRDMA_HELD_A_KNOB, knob);
	nla_put_u32(msg, SWIFTRDMA_HELD_A_PROCESSES, 5);
	nla_put_u32(msg, SWIFTRDMA_HELD_A_IN_FORCE, 4);
	nla_put_u64(msg, SWIFTRDMA_HELD_A_POSTS, 10 * job);
	nla_put_u64(msg, SWIFTRDMA_HELD_A_WRS, 20 * job);
	nla_put_u64(msg, SWIFTRDMA_HELD_A_TIME, 30 * job);
	nla_put_u64(msg, SWIFTRDMA_HELD_A_PASSED, job);
	if (knob == SWIFTRDMA_KNOB_BIT_RATE + 1) {
		nla_put_u64(msg, SWIFTRDMA_HELD_A_SPLIT, 40 * job);
		nla_put_u64(msg, SWIFTRDMA_HELD_A_WHOLE, 2 * job);
	}
	nla_nest_end(msg, nest);
}

static void put_job(struct nl_msg *msg, uint32_t job, uint32_t dev)
{
	static uint64_t buckets[SWIFTRDMA_HIST_BUCKETS];
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_REPORT);

	buckets[swiftrdma_hist_bucket(10000)] = job;
	nla_put_u32(msg, SWIFTRDMA_REPORT_A_DEV_INDEX, dev);
	nla_put_u32(msg, SWIFTRDMA_REPORT_A_JOB, job);
	nla_put_u32(msg, SWIFTRDMA_REPORT_A_PROCESSES, 2);
	put_figures(msg);
	nla_put_flag(msg, SWIFTRDMA_REPORT_A_DISTRUSTED);
	if (job == 2)
		nla_put_u64(msg, SWIFTRDMA_REPORT_A_SLO_P99, 50000);
	nla_put(msg, SWIFTRDMA_REPORT_A_LATENCY, sizeof(buckets), buckets);
	/* One more than there are today. */
	for (uint32_t knob = 0; knob <= SNAP_LIBRARY_KNOBS; knob++)
		put_held(msg, SWIFTRDMA_KNOB_BIT_RATE + knob, job);
	nla_nest_end(msg, nest);
}

static void put_qp(struct nl_msg *msg, uint32_t qpn, bool ordered)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_REPORT);

	nla_put_u32(msg, SWIFTRDMA_REPORT_A_DEV_INDEX, 0);
	nla_put_u32(msg, SWIFTRDMA_REPORT_A_QPN, qpn);
	nla_put_u64(msg, SWIFTRDMA_REPORT_A_QP_SERIAL, qpn);
	nla_put_u32(msg, SWIFTRDMA_REPORT_A_FLAGS, ordered ? 0 : SWIFTRDMA_SLOT_NO_ORDER);
	put_figures(msg);
	if (ordered)
		nla_put_u64(msg, SWIFTRDMA_REPORT_A_OUTSTANDING, 7);
	if (ordered)
		nla_put_u64(msg, SWIFTRDMA_REPORT_A_DOORBELLS, 8);
	nla_nest_end(msg, nest);
}

static void has_figures(const struct snap_figures *f)
{
	assert_int_equal(f->wrs, 100 + SWIFTRDMA_REPORT_A_WRS);
	assert_int_equal(f->bytes, 100 + SWIFTRDMA_REPORT_A_BYTES);
	assert_int_equal(f->done, 100 + SWIFTRDMA_REPORT_A_DONE);
	assert_int_equal(f->samples, 100 + SWIFTRDMA_REPORT_A_SAMPLES);
	assert_int_equal(f->latency_sum, 100 + SWIFTRDMA_REPORT_A_LATENCY_SUM);
	assert_int_equal(f->hol_wrs, 100 + SWIFTRDMA_REPORT_A_HOL_WRS);
	assert_int_equal(f->hol_max, 100 + SWIFTRDMA_REPORT_A_HOL_MAX);
	assert_int_equal(f->calls, 4);
	assert_int_equal(f->since, 5);
	assert_int_equal(f->time, 6);
}

static void has_held(const struct snap_job_report *r)
{
	assert_int_equal(r->n_held, SNAP_LIBRARY_KNOBS);
	assert_int_equal(r->held[0].knob, SWIFTRDMA_KNOB_BIT_RATE);
	assert_int_equal(r->held[2].knob, SWIFTRDMA_KNOB_BIT_RATE + 2);
	assert_int_equal(r->held[2].processes, 5);
	assert_int_equal(r->held[2].in_force, 4);
	assert_int_equal(r->held[2].posts, 10 * r->job);
	assert_int_equal(r->held[2].wrs, 20 * r->job);
	assert_int_equal(r->held[2].time, 30 * r->job);
	assert_int_equal(r->held[2].passed, r->job);
	assert_true(snap_has(&r->held[1], SNAP_SPLIT) && !snap_has(&r->held[2], SNAP_SPLIT));
	assert_int_equal(r->held[1].split, 40 * r->job);
	assert_int_equal(r->held[1].whole, 2 * r->job);
}

static void of_jobs_and_qps(void **state)
{
	struct fixture *f = *state;
	struct io_want want = { .reports = true, .dev = "rxe0" };
	struct io io = { 0 };

	kernel.error = 0;
	kernel.answer = f->msg;
	put_job(f->msg, 2, 0);
	put_job(f->msg, 1, 1);
	put_job(f->msg, 1, 0);
	put_qp(f->msg, 18, false);
	put_qp(f->msg, 17, true);
	assert_int_equal(io_snapshot(&io, &f->snap, &want), 0);
	assert_true(kernel.has_dev);
	assert_int_equal(f->snap.n_job_reports, 3);
	assert_int_equal(f->snap.job_reports[1].job, 1);
	assert_int_equal(f->snap.job_reports[1].dev, 1);
	assert_int_equal(f->snap.job_reports[2].job, 2);
	assert_int_equal(f->snap.job_reports[2].processes, 2);
	assert_true(f->snap.job_reports[2].distrusted);
	assert_int_equal(f->snap.job_reports[2].slo_p99, 50000);
	assert_int_equal(f->snap.job_reports[1].slo_p99, 0);
	assert_int_equal(f->snap.job_reports[2].bucket[swiftrdma_hist_bucket(10000)], 2);
	has_figures(&f->snap.job_reports[2].sum);
	has_held(&f->snap.job_reports[2]);
	assert_int_equal(f->snap.n_qp_reports, 2);
	assert_int_equal(f->snap.qp_reports[0].qpn, 17);
	assert_int_equal(f->snap.qp_reports[0].outstanding, 7);
	assert_int_equal(f->snap.qp_reports[0].doorbells, 8);
	assert_false(snap_has(&f->snap.qp_reports[1], SNAP_DOORBELLS));
	has_figures(&f->snap.qp_reports[0].sum);
	assert_false(snap_has(&f->snap.qp_reports[1], SNAP_OUTSTANDING));
	assert_int_equal(f->snap.qp_reports[1].flags, SWIFTRDMA_SLOT_NO_ORDER);
}

/* A report that names neither a job nor a QP, and a histogram that is cut off. */
static void bad_reports(void **state)
{
	struct fixture *f = *state;
	struct nlattr *nest = nla_nest_start(f->msg, SWIFTRDMA_A_REPORT);

	nla_put_u32(f->msg, SWIFTRDMA_REPORT_A_DEV_INDEX, 0);
	nla_nest_end(f->msg, nest);
	assert_int_equal(parse(f), -EBADMSG);
	nlmsg_free(f->msg);
	f->msg = nlmsg_alloc_size(65536);
	genlmsg_put(f->msg, 0, SEQ, FAMILY, 0, 0, SWIFTRDMA_CMD_REPORT_GET, 1);
	nest = nla_nest_start(f->msg, SWIFTRDMA_A_REPORT);
	nla_put_u32(f->msg, SWIFTRDMA_REPORT_A_DEV_INDEX, 0);
	nla_put_u32(f->msg, SWIFTRDMA_REPORT_A_JOB, 1);
	nla_put(f->msg, SWIFTRDMA_REPORT_A_LATENCY, 8, "1234567");
	nla_nest_end(f->msg, nest);
	assert_int_equal(parse(f), -EBADMSG);
	assert_int_equal(f->snap.n_job_reports, 0);
}

/* No reports are no error, but a real error is one. */
static void older_module(void **state)
{
	struct fixture *f = *state;
	struct io_want want = { .reports = true };
	struct io io = { 0 };

	kernel.error = -EOPNOTSUPP;
	assert_int_equal(io_snapshot(&io, &f->snap, &want), 0);
	assert_int_equal(f->snap.n_job_reports, 0);
	kernel.error = -ENOBUFS;
	assert_int_equal(io_snapshot(&io, &f->snap, &want), -ENOBUFS);
}

static void only_if_wanted(void **state)
{
	struct fixture *f = *state;
	struct io_want want = { .devs = true, .jobs = true, .qps = true };
	struct io io = { 0 };

	kernel.error = 0;
	kernel.answer = f->msg;
	kernel.asked = 0;
	assert_int_equal(io_snapshot(&io, &f->snap, &want), 0);
	assert_int_equal(kernel.asked, 0);
	assert_int_equal(io_snapshot(&io, &f->snap, NULL), 0);
	assert_int_equal(kernel.asked, 1);
	assert_false(kernel.has_dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IO_TEST(of_jobs_and_qps), IO_TEST(bad_reports), IO_TEST(older_module),
		IO_TEST(only_if_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
