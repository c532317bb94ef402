// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libswiftrdma over a provider without a device: what it counts, and that it changes nothing. */
#include <errno.h>
#include <unistd.h>

#include <json-c/json.h>

#include "lib_rig.h"

static void test_counts_singles_and_lists(void **state)
{
	struct swiftrdma_figures f;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(rig_post(rig.qp, 16, 1), 0);
	f = rig_figures(rig.qp);
	assert_int_equal(f.wrs, 260);
	assert_int_equal(f.bytes, 260 * 8);
	assert_int_equal(f.calls, 110);
	assert_int_equal(f.outstanding, 260);
	assert_int_equal(rig_poll(), 260);
	f = rig_figures(rig.qp);
	assert_int_equal(f.wcs, 260);
	assert_int_equal(f.done, 260);
	assert_int_equal(f.outstanding, 0);
	assert_int_equal(f.no_order, 0);
}

static void test_unsignalled_end_with_the_next_signalled(void **state)
{
	struct swiftrdma_figures f;

	(void)state;
	assert_int_equal(rig_post(rig.qp, 5, 0), 0);
	assert_int_equal(rig_poll(), 0);
	assert_int_equal(rig_figures(rig.qp).outstanding, 5);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rig_post(rig.qp, 16, 16), 0);
	assert_int_equal(rig_poll(), 4);
	f = rig_figures(rig.qp);
	assert_int_equal(f.wrs, 69);
	assert_int_equal(f.wcs, 4);
	assert_int_equal(f.done, 69);
	assert_int_equal(f.outstanding, 0);
}

static void test_sig_all_signals_all(void **state)
{
	struct ibv_qp *qp = rig_qp(rig.cq, 1);

	(void)state;
	assert_int_equal(rig_post(qp, 7, 0), 0);
	assert_int_equal(rig_poll(), 7);
	assert_int_equal(rig_figures(qp).done, 7);
	assert_int_equal(rig_figures(qp).stopped, 0);
	ibv_destroy_qp(qp);
}

static void test_latency(void **state)
{
	struct swiftrdma_quantile q;
	const struct swiftrdma_times *t = &rig_slot(rig.qp)->latency;

	(void)state;
	stub.hold = 1;
	for (int i = 1; i <= 100; i++) {
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
		rig.now += (uint64_t)i * 1000;
		stub_complete(rig.qp, 1);
		assert_int_equal(rig_poll(), 1);
	}
	assert_int_equal(t->samples, 100);
	assert_int_equal(t->wrs, 100);
	assert_int_equal(t->sum_ns, 5050 * 1000);
	assert_int_equal(t->max_ns, 100000);
	assert_int_equal(rig_slot(rig.qp)->hol.sum_ns, 0);
	assert_int_equal(swiftrdma_read_quantile(rig.ctx, SWIFTRDMA_TIME_LATENCY, 0.5, &q,
						 sizeof(q)), 0);
	assert_in_range(q.ns, 50000, 50000 * 103 / 100);
	assert_int_equal(q.samples_wanted, 20);
	assert_int_equal(swiftrdma_read_quantile(rig.ctx, SWIFTRDMA_TIME_LATENCY, 0.99, &q,
						 sizeof(q)), 0);
	assert_in_range(q.ns, 99000, 100000);
	assert_int_equal(q.samples, 100);
	assert_int_equal(q.samples_wanted, 1000);
	assert_int_equal(q.mean_ns, 50500);
	assert_int_equal(swiftrdma_read_quantile(rig.ctx, SWIFTRDMA_TIME_LATENCY, 1, &q,
						 sizeof(q)), -EINVAL);
}

/* A long request before a short one: the short one waits for it, and says so. */
static void test_head_of_line_wait(void **state)
{
	const struct swiftrdma_slot *s = rig_slot(rig.qp);

	(void)state;
	stub.hold = 1;
	rig_post(rig.qp, 1, 1);
	rig.now += 1000;
	rig_post(rig.qp, 1, 1);
	rig.now += 70000;
	stub_complete(rig.qp, 1);
	assert_int_equal(rig_poll(), 1);
	assert_int_equal(s->latency.sum_ns, 71000);
	assert_int_equal(s->hol.samples, 2);
	assert_int_equal(s->hol.sum_ns, 70000);
	rig.now += 500;
	stub_complete(rig.qp, 1);
	assert_int_equal(rig_poll(), 1);
	assert_int_equal(s->latency.sum_ns, 71000 + 70500);
	assert_int_equal(s->latency.max_ns, 71000);
	assert_int_equal(s->hol.sum_ns, 70000);
	assert_int_equal(s->coarse[swiftrdma_coarse_bucket(71000)], 2);
}

static void test_weights_add_up(void **state)
{
	const struct swiftrdma_times *t = &rig_slot(rig.qp)->latency;

	(void)state;
	settings.sample_every = 8;
	sampling_reset(&((struct qp *)table_find(&qps, rig.qp))->sampling, 0);
	for (int i = 0; i < 4000; i++) {
		rig_post(rig.qp, 1 + i % 3, 1);
		rig_poll();
	}
	/* All but what was posted since the last sample. */
	assert_in_range(t->wrs, 8000 - 1 - 32, 8000 - 1);
	assert_in_range(t->samples, 850, 1150);
}

static void test_failed_post_is_taken_back(void **state)
{
	struct ibv_send_wr wr[8], *bad = NULL;
	struct swiftrdma_figures f;

	(void)state;
	stub.fail_after = 3;
	assert_int_equal(rig_post_bad(rig.qp, 8, 2, &bad, wr), ENOMEM);
	assert_ptr_equal(bad, &wr[3]);
	stub.fail_after = 0;
	assert_int_equal(rig_post_bad(rig.qp, 8, 2, &bad, wr), ENOMEM);
	assert_ptr_equal(bad, &wr[0]);
	stub.fail_after = -1;
	assert_int_equal(rig_post(rig.qp, 4, 1), 0);
	f = rig_figures(rig.qp);
	assert_int_equal(f.wrs, 7);
	assert_int_equal(f.bytes, 56);
	assert_int_equal(f.calls, 2);
	/* Of the first three the second is signalled. */
	assert_int_equal(rig_poll(), 5);
	f = rig_figures(rig.qp);
	assert_int_equal(f.done, 7);
	assert_int_equal(f.stopped, 0);
	assert_int_equal(rig_slot(rig.qp)->latency.wrs, f.done);
}

/* Wherever in a list the sample lies that was not posted, the next one is not held up by it. */
static void test_failed_sample_holds_up_none(void **state)
{
	struct ibv_send_wr wr[8], *bad = NULL;

	(void)state;
	for (int i = 0; i < 64; i++) {
		struct ibv_qp *qp = rig_qp(rig.cq, 0);

		stub.fail_after = 0;
		rig_post_bad(qp, 8, 1, &bad, wr);
		stub.fail_after = -1;
		rig_post(qp, 1, 1);
		rig.now += 1000;
		assert_int_equal(rig_poll(), 1);
		assert_int_equal(rig_slot(qp)->latency.wrs, 1);
		assert_int_equal(rig_slot(qp)->latency.sum_ns, 1000);
		assert_int_equal(rig_slot(qp)->hol.wrs, 1);
		ibv_destroy_qp(qp);
	}
}

static void test_provider_without_bad_wr(void **state)
{
	struct ibv_send_wr wr[8], *bad = (void *)-1;

	(void)state;
	stub.fail_after = 0;
	stub.leave_bad = 1;
	assert_int_equal(rig_post_bad(rig.qp, 8, 1, &bad, wr), ENOMEM);
	assert_ptr_equal(bad, (void *)-1);
	assert_int_equal(rig_post_bad(rig.qp, 8, 1, NULL, wr), ENOMEM);
	stub.fail_after = -1;
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_int_equal(rig_poll(), 1);
	assert_int_equal(rig_figures(rig.qp).done, 1);
}

static int set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static void test_error_and_reset(void **state)
{
	const struct swiftrdma_slot *s = rig_slot(rig.qp);
	struct swiftrdma_figures f;

	(void)state;
	stub.hold = 1;
	for (int i = 0; i < 10; i++)
		rig_post(rig.qp, 1, 1);
	stub_complete(rig.qp, 4);
	assert_int_equal(rig_poll(), 4);
	set_state(rig.qp, IBV_QPS_ERR);
	stub_complete(rig.qp, 3);
	assert_int_equal(rig_poll(), 3);
	f = rig_figures(rig.qp);
	assert_int_equal(f.errors, 3);
	assert_int_equal(f.done, 4);
	assert_int_equal(f.outstanding, 0);
	assert_int_equal(f.no_order, 1);
	assert_int_equal(f.stopped, 0);
	assert_true(s->id.flags & SWIFTRDMA_SLOT_ERROR);
	assert_int_equal(s->latency.samples, 4);

	set_state(rig.qp, IBV_QPS_RESET);
	f = rig_figures(rig.qp);
	assert_int_equal(f.dropped, 6);
	assert_int_equal(f.no_order, 0);
	rig_post(rig.qp, 1, 1);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(rig_figures(rig.qp).outstanding, 2);
	rig.now += 5000;
	stub_complete(rig.qp, 2);
	assert_int_equal(rig_poll(), 2);
	f = rig_figures(rig.qp);
	assert_int_equal(f.done, 6);
	assert_int_equal(f.outstanding, 0);
	assert_int_equal(s->latency.samples, 6);
	assert_int_equal(s->latency.max_ns, 5000);
}

/* As from a program that also writes requests by itself. */
static void test_unknown_completion_stops_measuring(void **state)
{
	struct swiftrdma_figures f;

	(void)state;
	rig_post(rig.qp, 1, 1);
	stub_push(rig.cq, (struct stub_cqe){
		.wr_id = 77777, .qpn = rig.qp->qp_num, .opcode = IBV_WC_SEND,
	});
	rig_post(rig.qp, 1, 1);
	assert_int_equal(rig_poll(), 3);
	f = rig_figures(rig.qp);
	assert_int_equal(f.wcs, 3);
	assert_int_equal(f.stopped, 1);
	assert_int_equal(f.no_order, 1);
	stub_push(rig.cq, (struct stub_cqe){ .qpn = 0x123456, .opcode = IBV_WC_SEND });
	stub_push(rig.cq, (struct stub_cqe){ .qpn = 0xff123456, .opcode = IBV_WC_SEND });
	assert_int_equal(rig_poll(), 2);
	assert_int_equal(rig_device().unmatched, 2);
}

static void test_receives(void **state)
{
	struct ibv_recv_wr wr[3] = { { .next = &wr[1] }, { .next = &wr[2] } }, *bad;
	struct ibv_srq srq = { .context = rig.ctx };
	struct swiftrdma_figures f;

	(void)state;
	assert_int_equal(ibv_post_recv(rig.qp, wr, &bad), 0);
	stub.fail_after = 1;
	assert_int_equal(ibv_post_recv(rig.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[1]);
	stub.fail_after = -1;
	assert_int_equal(ibv_post_srq_recv(&srq, wr, &bad), 0);
	assert_int_equal(rig_poll(), 4);
	f = rig_figures(rig.qp);
	assert_int_equal(f.recv_wrs, 4);
	assert_int_equal(f.recv_wcs, 4);
	assert_int_equal(f.recv_bytes, 32);
	assert_int_equal(f.wrs, 0);
	assert_int_equal(rig_device().recv_wrs, 7);
}

static void test_bind_mw(void **state)
{
	struct ibv_mw mw = { .context = rig.ctx, .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED };

	(void)state;
	assert_int_equal(rig.ctx->ops.bind_mw(rig.qp, &mw, &bind), 0);
	stub.fail_after = 0;
	assert_int_equal(rig.ctx->ops.bind_mw(rig.qp, &mw, &bind), ENOMEM);
	stub.fail_after = -1;
	rig_post(rig.qp, 1, 1);
	assert_int_equal(rig_poll(), 2);
	assert_int_equal(rig_figures(rig.qp).wrs, 2);
	assert_int_equal(rig_figures(rig.qp).done, 2);
	assert_int_equal(rig_figures(rig.qp).stopped, 0);
}

static void test_errno_is_kept(void **state)
{
	struct ibv_qp *qp;

	(void)state;
	errno = 123;
	rig_post(rig.qp, 1, 1);
	rig_poll();
	qp = rig_qp(rig.cq, 0);
	assert_int_equal(set_state(qp, IBV_QPS_RESET), 0);
	ibv_destroy_qp(qp);
	assert_int_equal(errno, 123);
}

/* More QPs than a report has slots: each is counted, and what is gone stays. */
static void test_more_qps_than_slots(void **state)
{
	enum { QPS = 1500 };
	static struct ibv_qp *qp[QPS];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < QPS; i++) {
			qp[i] = rig_qp(rig.cq, 0);
			assert_int_equal(rig_post(qp[i], 2, 1), 0);
			if (i % 500 == 499)
				assert_int_equal(rig_poll(), 1000);
		}
		for (int i = 0; i < QPS; i++)
			assert_int_equal(rig_figures(qp[i]).done, 2);
		for (int i = 0; i < QPS; i++)
			ibv_destroy_qp(qp[i]);
		assert_int_equal(rig_device().wrs, (round + 1) * QPS * 2);
		assert_int_equal(rig_device().done, (round + 1) * QPS * 2);
		assert_int_equal(rig_device().qps, 1 + (round + 1) * QPS);
		assert_int_equal(rig_device().outstanding, 0);
	}
}

/* One that was there before the library: counted, not measured. */
static void test_attach_late(void **state)
{
	struct ibv_context *ctx = stub_open_device(&stub_device);
	struct ibv_pd pd = { .context = ctx };
	struct ibv_cq *cq = stub_create_cq(ctx, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq };
	struct ibv_qp *qp = stub_create_qp(&pd, &attr);
	struct swiftrdma_figures f;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(swiftrdma_read_device(ctx, &f, sizeof(f)), -ENOENT);
	assert_int_equal(swiftrdma_attach(ctx), 0);
	assert_int_equal(swiftrdma_attach(ctx), 0);
	assert_int_equal(rig_post(qp, 3, 3), 0);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	f = rig_figures(qp);
	assert_int_equal(f.wrs, 3);
	assert_int_equal(f.wcs, 1);
	assert_int_equal(f.no_order, 1);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_close_device(ctx);
}

static void test_count_mode(void **state)
{
	struct swiftrdma_figures f;
	struct ibv_qp *qp;

	(void)state;
	settings.mode = MODE_COUNT;
	qp = rig_qp(rig.cq, 0);
	rig_post(qp, 16, 4);
	assert_int_equal(rig_poll(), 4);
	f = rig_figures(qp);
	assert_int_equal(f.wrs, 16);
	assert_int_equal(f.wcs, 4);
	assert_int_equal(f.done, 0);
	assert_int_equal(f.no_order, 1);
	assert_int_equal(rig_slot(qp)->latency.samples, 0);
	ibv_destroy_qp(qp);
}

static void test_no_module(void **state)
{
	struct swiftrdma_job_info info;

	(void)state;
	assert_int_equal(swiftrdma_ask("a-name-of-a-job-that-is-too-long-for-it", 0), -EINVAL);
	assert_int_equal(swiftrdma_ask("kv", 50000), -ENODEV);
	assert_int_equal(swiftrdma_read_job(rig.ctx, &info, sizeof(info)), -ENODEV);
}

/* What was outstanding when a QP went, or lost its order, is not waited for. */
static void test_dropped(void **state)
{
	struct swiftrdma_figures f;

	(void)state;
	stub.hold = 1;
	for (int i = 0; i < 10; i++)
		rig_post(rig.qp, 1, 1);
	set_state(rig.qp, IBV_QPS_ERR);
	stub_complete(rig.qp, 10);
	rig_poll();
	assert_int_equal(rig_figures(rig.qp).dropped, 10);
	ibv_destroy_qp(rig.qp);
	rig.qp = rig_qp(rig.cq, 0);
	for (int i = 0; i < 7; i++)
		rig_post(rig.qp, 1, 0);
	ibv_destroy_qp(rig.qp);
	rig.qp = NULL;
	f = rig_device();
	assert_int_equal(f.wrs, 17);
	assert_int_equal(f.done, 0);
	assert_int_equal(f.dropped, 17);
}

/* A QP that another process created is not this one's to report. */
static void test_opened_qp(void **state)
{
	struct ibv_qp_open_attr attr = { .qp_num = 0x1234, .qp_type = IBV_QPT_XRC_RECV };
	uint32_t used = devices->report->slots_used;
	struct ibv_qp *qp = ibv_open_qp(rig.ctx, &attr);

	(void)state;
	assert_non_null(table_find(&qps, qp));
	assert_int_equal(devices->report->slots_used, used);
	for (uint32_t i = 0; i < used; i++)
		assert_int_not_equal(devices->slot[i].id.qpn, 0x1234);
	ibv_destroy_qp(qp);
}

/* SWIFTRDMA_STATS is JSON, whatever the program is called. */
static void test_stats_of_any_name(void **state)
{
	char path[] = "/tmp/test_lib.XXXXXX", name[] = "a\"b\\c\n\xff";
	char *was = program_invocation_short_name;
	struct json_object *all, *first;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	rig_post(rig.qp, 3, 1);
	program_invocation_short_name = name;
	settings.stats = path;
	stats_write();
	settings.stats = NULL;
	program_invocation_short_name = was;
	all = json_object_from_file(path);
	unlink(path);
	assert_non_null(all);
	assert_string_equal(json_object_get_string(json_object_object_get(all, "program")),
			    "a\"b\\c\n\xc3\xbf");
	first = json_object_array_get_idx(json_object_object_get(all, "devices"), 0);
	assert_int_equal(json_object_get_int(json_object_object_get(first, "wrs")), 3);
	json_object_put(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_dropped),
		RIG_TEST(test_opened_qp),
		RIG_TEST(test_counts_singles_and_lists),
		RIG_TEST(test_unsignalled_end_with_the_next_signalled),
		RIG_TEST(test_sig_all_signals_all),
		RIG_TEST(test_latency),
		RIG_TEST(test_head_of_line_wait),
		RIG_TEST(test_weights_add_up),
		RIG_TEST(test_failed_post_is_taken_back),
		RIG_TEST(test_failed_sample_holds_up_none),
		RIG_TEST(test_provider_without_bad_wr),
		RIG_TEST(test_error_and_reset),
		RIG_TEST(test_unknown_completion_stops_measuring),
		RIG_TEST(test_receives),
		RIG_TEST(test_bind_mw),
		RIG_TEST(test_errno_is_kept),
		RIG_TEST(test_more_qps_than_slots),
		RIG_TEST(test_attach_late),
		RIG_TEST(test_count_mode),
		RIG_TEST(test_no_module),
		RIG_TEST(test_stats_of_any_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
