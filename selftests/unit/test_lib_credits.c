// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libswiftrdma: a bound on outstanding requests. Requests complete when the test says so, most
 * often while a post waits.
 */
#include "credits_rig.h"

static void test_bound_is_kept(void **state)
{
	uint32_t most = 0;
	int polled = 0;

	(void)state;
	poll_nothing();
	hold_until_wait(rig.qp, 1);
	ctl_set(CREDITS, 8);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
		if (in_flight(rig.qp) > most)
			most = in_flight(rig.qp);
		if (i % 50 == 49)
			polled += rig_poll();
	}
	assert_int_equal(most, 8);
	assert_int_equal(held(CREDITS)->posts, 992);
	assert_int_equal(held(CREDITS)->wrs, 992);
	assert_int_equal(held(CREDITS)->passed, 0);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(ctl.report->knob[CREDITS].value, 8);
	stub_complete(rig.qp, 8);
	assert_int_equal(polled + rig_poll(), 1000);
	assert_int_equal(outstanding(), 0);
	assert_int_equal(rig_figures(rig.qp).done, 1000);
	assert_int_equal(rig_figures(rig.qp).stopped, 0);
}

static void test_bound_of_1(void **state)
{
	(void)state;
	poll_nothing();
	hold_until_wait(rig.qp, 1);
	ctl_set(CREDITS, 1);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
		assert_int_equal(in_flight(rig.qp), 1);
	}
	assert_int_equal(held(CREDITS)->passed, 0);
	/* 0 would be no bound to work with. */
	ctl_set(CREDITS, 0);
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_int_equal(in_flight(rig.qp), 1);
	assert_int_equal(held(CREDITS)->passed, 0);
}

/* What the library polled the program gets first, and all in the order of the queue. */
static void test_order_of_the_stash(void **state)
{
	struct ibv_wc wc[7];
	uint64_t first = 0, next = 0;
	int n, total = 0;

	(void)state;
	poll_nothing();
	hold_until_wait(rig.qp, 3);
	ctl_set(CREDITS, 4);
	for (int i = 0; i < 60; i++)
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	stub_complete(rig.qp, 60);
	while ((n = ibv_poll_cq(rig.cq, 7, wc)) > 0) {
		for (int i = 0; i < n; i++) {
			if (!first)
				first = next = wc[i].wr_id;
			assert_int_equal(wc[i].wr_id, next++);
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			assert_int_equal(wc[i].qp_num, rig.qp->qp_num);
		}
		total += n;
	}
	assert_int_equal(total, 60);
	assert_int_equal(rig_figures(rig.qp).wcs, 60);
	assert_int_equal(rig_figures(rig.qp).done, 60);
}

/* The stash is full: the post waits for as long as it may, and loses nothing. */
static void test_full_stash(void **state)
{
	(void)state;
	poll_nothing();
	hold_until_wait(rig.qp, 1);
	ctl_set(CREDITS, 1);
	for (int i = 0; i < 80; i++)
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_true(held(CREDITS)->passed > 0);
	stub_complete(rig.qp, 80);
	assert_int_equal(rig_poll(), 80);
	assert_int_equal(rig_figures(rig.qp).stopped, 0);
}

static void test_receives_in_the_stash(void **state)
{
	struct ibv_recv_wr recv = { .wr_id = 4711 }, *bad;
	struct ibv_wc wc[4];

	(void)state;
	poll_nothing();
	hold_until_wait(rig.qp, 1);
	ctl_set(CREDITS, 1);
	rig_post(rig.qp, 1, 1);
	ibv_post_recv(rig.qp, &recv, &bad);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(ibv_poll_cq(rig.cq, 4, wc), 2);
	assert_int_equal(wc[0].opcode, IBV_WC_RECV);
	assert_int_equal(wc[0].wr_id, 4711);
	assert_int_equal(wc[0].byte_len, 8);
	assert_int_equal(wc[1].opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(rig_figures(rig.qp).recv_wcs, 1);
}

/* A list is not split: with nothing outstanding it goes whole. */
static void test_list_longer_than_the_bound(void **state)
{
	(void)state;
	poll_nothing();
	hold_until_wait(rig.qp, 1);
	ctl_set(CREDITS, 4);
	assert_int_equal(rig_post(rig.qp, 16, 1), 0);
	assert_int_equal(held(CREDITS)->posts, 0);
	assert_int_equal(rig_post(rig.qp, 16, 1), 0);
	assert_int_equal(in_flight(rig.qp), 16);
	assert_int_equal(held(CREDITS)->passed, 0);
	assert_int_equal(rig_poll(), 16);
}

/* The last one is signalled: it must be posted for the others to complete. */
static void test_unsignalled(void **state)
{
	uint64_t from = rig.now;

	(void)state;
	poll_nothing();
	hold_until_wait(rig.qp, 64);
	ctl_set(CREDITS, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rig_post(rig.qp, 1, 0), 0);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	for (int i = 4; i < 15; i++)
		assert_int_equal(rig_post(rig.qp, 1, 0), 0);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_int_equal(rig.now, from);
	assert_int_equal(held(CREDITS)->passed, 12);
	assert_int_equal(held(CREDITS)->posts, 0);
	/* Now one is outstanding that can complete. */
	assert_int_equal(rig_post(rig.qp, 1, 0), 0);
	assert_int_equal(held(CREDITS)->posts, 1);
	assert_int_equal(held(CREDITS)->passed, 12);
	assert_int_equal(in_flight(rig.qp), 1);
	assert_int_equal(rig_poll(), 1);
	assert_int_equal(outstanding(), 1);
	/* The next bound is judged anew. */
	ctl_set(CREDITS, 8);
	assert_int_equal(rig_post(rig.qp, 1, 0), 0);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_IN_FORCE);
}

/* Of a QP whose outstanding requests all are unsignalled, and of another that waits for it. */
static void test_unsignalled_of_another_qp(void **state)
{
	struct ibv_qp *other = rig_qp(rig.cq, 0);
	uint64_t from = rig.now;

	(void)state;
	poll_nothing();
	stub.hold = 1;
	ctl_set(CREDITS, 4);
	assert_int_equal(rig_post(other, 4, 0), 0);
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_int_equal(rig.now, from);
	assert_int_equal(held(CREDITS)->passed, 1);
	ibv_destroy_qp(other);
	assert_int_equal(outstanding(), 1);
}

/* The bound is the device's; one thread with two QPs on two CQs does not wait for itself. */
static void test_two_cqs(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(rig.ctx, 1, NULL, NULL, 0);
	struct ibv_qp *qp = rig_qp(cq, 0);
	struct ibv_wc wc[8];
	uint64_t from;

	(void)state;
	poll_nothing();
	assert_int_equal(ibv_poll_cq(cq, 8, wc), 0);
	hold_until_wait(qp, 1);
	ctl_set(CREDITS, 4);
	assert_int_equal(rig_post(qp, 4, 1), 0);
	from = rig.now;
	assert_int_equal(rig_post(rig.qp, 2, 1), 0);
	assert_in_range(rig.now - from, 1, 2 * MS);
	assert_int_equal(held(CREDITS)->passed, 0);
	assert_int_equal(outstanding(), 4);
	assert_int_equal(ibv_poll_cq(cq, 8, wc), 2);
	ibv_destroy_qp(qp);
	assert_int_equal(outstanding(), 2);
	ibv_destroy_cq(cq);
}

/* What was posted before the bound counts, and what completes after it is gone does not. */
static void test_bound_comes_and_goes(void **state)
{
	(void)state;
	poll_nothing();
	hold_until_wait(rig.qp, 1);
	rig_post(rig.qp, 6, 1);
	ctl_set(CREDITS, 8);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(outstanding(), 7);
	rig_post(rig.qp, 2, 1);
	assert_int_equal(in_flight(rig.qp), 8);
	ctl_clear(CREDITS);
	rig_post(rig.qp, 9, 1);
	stub_complete(rig.qp, 100);
	assert_int_equal(rig_poll(), 18);
	ctl_set(CREDITS, 2);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(outstanding(), 1);
	assert_int_equal(held(CREDITS)->posts, 1);
}

static void raise_bound(void)
{
	ctl_set(CREDITS, 100);
}

static void end_control(void)
{
	ctl_state(SWIFTRDMA_CONTROL_ENDED);
}

static void goes_on_when(void (*happens)(void))
{
	uint64_t from = rig.now;

	poll_nothing();
	stub.hold = 1;
	ctl_set(CREDITS, 1);
	rig_post(rig.qp, 1, 1);
	ctl.meanwhile = happens;
	rig_post(rig.qp, 1, 1);
	assert_in_range(rig.now - from, 1, PACE_SLICE_NS);
	assert_int_equal(held(CREDITS)->passed, 0);
}

static void test_raised_while_waiting(void **state)
{
	(void)state;
	goes_on_when(raise_bound);
}

static void test_ended_while_waiting(void **state)
{
	(void)state;
	goes_on_when(end_control);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_IDLE);
}

static void test_ends_by_itself(void **state)
{
	(void)state;
	poll_nothing();
	stub.hold = 1;
	ctl_set_until(CREDITS, 1, rig.now + 20 * MS);
	rig_post(rig.qp, 1, 1);
	rig_post(rig.qp, 1, 1);
	assert_in_range(rig.now, 20 * MS, 33 * MS);
	assert_int_equal(held(CREDITS)->passed, 0);
}

/* The peer waits for what is blocked: one wait, not one for each post. */
static void test_nothing_completes(void **state)
{
	uint64_t from = rig.now;

	(void)state;
	poll_nothing();
	stub.hold = 1;
	ctl_set(CREDITS, 1);
	for (int i = 0; i < 20; i++)
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_in_range(rig.now - from, S, S + 1);
	assert_int_equal(held(CREDITS)->posts, 1);
	assert_int_equal(held(CREDITS)->passed, 19);
	/* Once something has, the bound holds again. */
	stub_complete(rig.qp, 20);
	assert_int_equal(rig_poll(), 20);
	hold_until_wait(rig.qp, 1);
	rig_post(rig.qp, 1, 1);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(in_flight(rig.qp), 1);
	assert_int_equal(held(CREDITS)->passed, 19);
}

/* The peer sends to us, and nothing that we sent completes. */
static void receive_one(void)
{
	struct ibv_recv_wr wr = { 0 }, *bad;

	if (ctl.waits % 64 == 0)
		assert_int_equal(ibv_post_recv(rig.qp, &wr, &bad), 0);
}

static void test_only_receives_complete(void **state)
{
	uint64_t from = rig.now;

	(void)state;
	poll_nothing();
	stub.hold = 1;
	ctl.meanwhile = receive_one;
	ctl_set(CREDITS, 1);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
		receive_one();
		rig_poll();
	}
	assert_true(rig_figures(rig.qp).recv_wcs > 10);
	assert_in_range(rig.now - from, S, S + 1);
	assert_int_equal(held(CREDITS)->posts, 1);
	assert_int_equal(held(CREDITS)->passed, 19);
	stub_complete(rig.qp, 20);
	assert_int_equal(rig_poll(), 20);
	assert_int_equal(outstanding(), 0);
}

/* A CQ that the program has never polled through the library is left alone. */
static void test_unpolled_cq(void **state)
{
	uint64_t from = rig.now;

	(void)state;
	stub.hold = 1;
	ctl_set(CREDITS, 1);
	for (int i = 0; i < 5; i++)
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_int_equal(rig.now, from);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
	stub_complete(rig.qp, 5);
	assert_int_equal(rig_poll(), 5);
	/* It is kept to from then on. */
	hold_until_wait(rig.qp, 1);
	rig_post(rig.qp, 1, 1);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(in_flight(rig.qp), 1);
}

static void test_qp_without_order(void **state)
{
	struct ibv_qp *qp = rig_qp(rig.cq, 0);

	(void)state;
	poll_nothing();
	stub.hold = 1;
	ctl_set(CREDITS, 2);
	rig_post(qp, 2, 1);
	assert_int_equal(outstanding(), 2);
	qp_lose_order(table_find(&qps, qp), 0);
	assert_int_equal(outstanding(), 0);
	rig_post(qp, 3, 1);
	assert_int_equal(outstanding(), 0);
	assert_int_equal(held(CREDITS)->posts, 0);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
	ibv_destroy_qp(qp);
}

static void test_failed_posts_do_not_count(void **state)
{
	struct ibv_send_wr wr[8], *bad;

	(void)state;
	poll_nothing();
	stub.hold = 1;
	ctl_set(CREDITS, 8);
	stub.fail_after = 3;
	assert_int_equal(rig_post_bad(rig.qp, 8, 1, &bad, wr), ENOMEM);
	assert_int_equal(outstanding(), 3);
	stub.fail_after = 0;
	assert_int_equal(rig_post_bad(rig.qp, 5, 1, &bad, wr), ENOMEM);
	assert_int_equal(outstanding(), 3);
}

/* As with libmlx5, a QP that is reset or gone has no completions any more. */
static void test_reset_and_destroy(void **state)
{
	struct ibv_qp *qp = rig_qp(rig.cq, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc[8];

	(void)state;
	poll_nothing();
	hold_until_wait(qp, 1);
	ctl_set(CREDITS, 2);
	for (int i = 0; i < 5; i++)
		rig_post(qp, 1, 1);
	completing = rig.qp;
	stub_complete(qp, 1);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(outstanding(), 1);
	stub_complete(rig.qp, 1);
	assert_int_equal(ibv_poll_cq(rig.cq, 8, wc), 1);
	assert_int_equal(wc[0].qp_num, rig.qp->qp_num);
	ibv_destroy_qp(qp);
	assert_int_equal(outstanding(), 0);
}

/* --- completion queues that only the program may poll ------------------------------- */

/* An event that a program waits for must find its completion in the queue. */
static void test_channel(void **state)
{
	struct ibv_comp_channel channel = { 0 };
	struct ibv_cq *cq = ibv_create_cq(rig.ctx, 1, NULL, &channel, 0);
	struct ibv_qp *qp = rig_qp(cq, 0);
	uint64_t from = rig.now;
	struct ibv_wc wc[8];

	(void)state;
	assert_int_equal(ibv_poll_cq(cq, 8, wc), 0);
	hold_until_wait(qp, 1);
	ctl_set(CREDITS, 2);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 6; i++)
			assert_int_equal(rig_post(qp, 1, 1), 0);
		stub_complete(qp, 6);
		/* None is in a stash. */
		assert_int_equal(stub_cq(cq)->head - stub_cq(cq)->tail, 6);
		assert_int_equal(ibv_poll_cq(cq, 8, wc), 6);
	}
	assert_in_range(rig.now - from, S, S + 1);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

/* Completions of an extended CQ go to nobody but the program; one fruitless wait is enough. */
static void test_extended_cq(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ibv_cq_ex *cqx = ibv_create_cq_ex(rig.ctx, &attr);
	struct ibv_qp *qp = rig_qp(ibv_cq_ex_to_cq(cqx), 0);
	struct ibv_poll_cq_attr poll = { 0 };
	uint64_t from = rig.now;
	int n = 0;

	(void)state;
	assert_int_equal(ibv_start_poll(cqx, &poll), ENOENT);
	hold_until_wait(qp, 1);
	ctl_set(CREDITS, 1);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4; i++)
			assert_int_equal(rig_post(qp, 1, 1), 0);
		stub_complete(qp, 4);
		for (int ret = ibv_start_poll(cqx, &poll); !ret; ret = ibv_next_poll(cqx))
			n++;
		ibv_end_poll(cqx);
	}
	assert_int_equal(n, 12);
	assert_in_range(rig.now - from, S, S + 1);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cqx));
}

/* A program reads the entries of a queue that it was shown: the library takes none of them. */
static void test_shown_cq(void **state)
{
	uint64_t from = rig.now;

	(void)state;
	poll_nothing();
	cq_find(rig.cq)->shown = true;
	hold_until_wait(rig.qp, 1);
	ctl_set(CREDITS, 2);
	for (int i = 0; i < 6; i++)
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	stub_complete(rig.qp, 6);
	assert_int_equal(stub_cq(rig.cq)->head - stub_cq(rig.cq)->tail, 6);
	assert_false(stash_can(cq_find(rig.cq)));
	assert_int_equal(rig.now, from);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_int_equal(rig_poll(), 6);
}

/* Requests whose completions the library does not see hold up no others. */
static void test_unseen_completions(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(rig.ctx, 1, NULL, NULL, 0);
	struct ibv_qp *qp = rig_qp(cq, 0);
	uint64_t from = rig.now;
	struct ibv_wc wc[16];

	(void)state;
	poll_nothing();
	ctl_set(CREDITS, 4);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 8; i++)
			assert_int_equal(rig_post(qp, 1, 1), 0);
		assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
		assert_int_equal(outstanding(), 0);
		for (int i = 0; i < 20; i++) {
			assert_int_equal(rig_post(rig.qp, 1, 1), 0);
			assert_int_equal(rig_poll(), 1);
		}
		assert_int_equal(rig.now, from);
		/* It is polled, and then read by what the program was shown. */
		assert_int_equal(ibv_poll_cq(cq, 16, wc), 8);
		cq_find(cq)->shown = true;
	}
	assert_int_equal(held(CREDITS)->posts, 0);
	ibv_destroy_qp(qp);
	assert_int_equal(outstanding(), 0);
	ibv_destroy_cq(cq);
}

/*
 * A program closes a context without destroying its QP and its CQ, and goes on with another context of the
 * device. The QP does not count any more, and nobody polls the CQ.
 */
static void test_closed_context(void **state)
{
	struct ibv_qp *qp = rig.qp;
	struct ibv_cq *cq = rig.cq;

	(void)state;
	poll_nothing();
	stub.hold = 1;
	ctl_set(CREDITS, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rig_post(qp, 1, 1), 0);
	stub_complete(qp, 4);
	ibv_close_device(rig.ctx);
	rig.ctx = ibv_open_device(&stub_device);
	rig.pd.context = rig.ctx;
	rig.cq = ibv_create_cq(rig.ctx, 1, NULL, NULL, 0);
	rig.qp = rig_qp(rig.cq, 0);
	poll_nothing();
	hold_until_wait(rig.qp, 1);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
		assert_true(in_flight(rig.qp) <= 4);
	}
	assert_int_equal(held(CREDITS)->passed, 0);
	assert_int_equal(outstanding(), 4);
	assert_int_equal(stub_cq(cq)->head - stub_cq(cq)->tail, 4);
	stub_destroy_qp(qp);
	stub_destroy_cq(cq);
}

/* A poll gives back entries of a shared receive queue, which libmlx5 does not lock in a parent domain. */
static void test_unlocked_srq(void **state)
{
	struct ibv_parent_domain_init_attr domain = { .pd = &rig.pd };
	struct ibv_srq plain = { .context = rig.ctx, .pd = &rig.pd }, srq = { .context = rig.ctx };
	struct ibv_qp_init_attr attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RC, .srq = &plain,
		.cap.max_send_wr = STUB_WRS,
	};
	struct ibv_qp *qp;

	(void)state;
	srq.pd = ibv_alloc_parent_domain(rig.ctx, &domain);
	assert_non_null(srq.pd);
	poll_nothing();
	qp = ibv_create_qp(&rig.pd, &attr);
	assert_true(stash_can(cq_find(rig.cq)));
	ibv_destroy_qp(qp);
	attr.srq = &srq;
	qp = ibv_create_qp(&rig.pd, &attr);
	assert_false(stash_can(cq_find(rig.cq)));
	ibv_destroy_qp(qp);
	ibv_dealloc_pd(srq.pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CTL_TEST(test_bound_is_kept),
		CTL_TEST(test_bound_of_1),
		CTL_TEST(test_order_of_the_stash),
		CTL_TEST(test_full_stash),
		CTL_TEST(test_receives_in_the_stash),
		CTL_TEST(test_list_longer_than_the_bound),
		CTL_TEST(test_unsignalled),
		CTL_TEST(test_unsignalled_of_another_qp),
		CTL_TEST(test_two_cqs),
		CTL_TEST(test_bound_comes_and_goes),
		CTL_TEST(test_raised_while_waiting),
		CTL_TEST(test_ended_while_waiting),
		CTL_TEST(test_ends_by_itself),
		CTL_TEST(test_nothing_completes),
		CTL_TEST(test_only_receives_complete),
		CTL_TEST(test_unpolled_cq),
		CTL_TEST(test_qp_without_order),
		CTL_TEST(test_failed_posts_do_not_count),
		CTL_TEST(test_reset_and_destroy),
		CTL_TEST(test_channel),
		CTL_TEST(test_extended_cq),
		CTL_TEST(test_shown_cq),
		CTL_TEST(test_unseen_completions),
		CTL_TEST(test_closed_context),
		CTL_TEST(test_unlocked_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
