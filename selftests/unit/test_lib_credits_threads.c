// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libswiftrdma: a bound on outstanding requests, with batches of ibv_wr_*() and several threads. */
#include <sched.h>

#include "credits_rig.h"

static struct ibv_qp_ex *new_qpx(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RC, .pd = &rig.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND, .cap.max_send_wr = 64,
	};

	return stub_to_qp_ex(ibv_create_qp_ex(rig.ctx, &attr));
}

static void test_wr_api(void **state)
{
	struct ibv_qp_ex *qpx = new_qpx();
	struct ibv_qp *qp = &qpx->qp_base;

	(void)state;
	poll_nothing();
	hold_until_wait(qp, 1);
	ctl_set(CREDITS, 4);
	for (int i = 0; i < 20; i++) {
		ibv_wr_start(qpx);
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(qpx);
		assert_int_equal(ibv_wr_complete(qpx), 0);
		assert_true(in_flight(qp) <= 4);
	}
	assert_int_equal(held(CREDITS)->posts, 16);
	assert_int_equal(held(CREDITS)->wrs, 16);
	assert_int_equal(held(CREDITS)->passed, 0);
	assert_int_equal(rig_poll(), 16);
	ibv_destroy_qp(qp);
	assert_int_equal(outstanding(), 0);
}

static void wr_begin(struct ibv_qp_ex *qpx)
{
	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qpx);
}

/* A thread does not wait for a batch that it has open itself. */
static void test_two_batches_of_one_thread(void **state)
{
	struct ibv_qp_ex *a = new_qpx(), *b = new_qpx();
	uint64_t from = rig.now;

	(void)state;
	poll_nothing();
	ctl_set(CREDITS, 1);
	for (int round = 0; round < 5; round++) {
		wr_begin(a);
		wr_begin(b);
		assert_int_equal(ibv_wr_complete(b), 0);
		assert_int_equal(ibv_wr_complete(a), 0);
		assert_int_equal(rig_poll(), 2);
	}
	assert_int_equal(rig.now, from);
	assert_int_equal(held(CREDITS)->posts, 0);
	assert_int_equal(held(CREDITS)->passed, 5);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
	/* But for what else is outstanding, which completes. */
	hold_until_wait(&a->qp_base, 1);
	ctl_set(CREDITS, 2);
	wr_begin(a);
	assert_int_equal(ibv_wr_complete(a), 0);
	wr_begin(a);
	wr_begin(b);
	assert_int_equal(held(CREDITS)->posts, 1);
	assert_int_equal(held(CREDITS)->passed, 5);
	assert_int_equal(ibv_wr_complete(b), 0);
	assert_int_equal(ibv_wr_complete(a), 0);
	assert_in_range(rig.now - from, 1, MS);
	stub_complete(&a->qp_base, 1);
	stub_complete(&b->qp_base, 1);
	assert_int_equal(rig_poll(), 3);
	ibv_destroy_qp(&a->qp_base);
	ibv_destroy_qp(&b->qp_base);
	assert_int_equal(outstanding(), 0);
}

/* The library expects of an open batch as many requests as the batch before had. */
static void test_wr_batches(void **state)
{
	struct ibv_qp_ex *qpx = new_qpx();
	struct ibv_qp *qp = &qpx->qp_base;
	uint32_t most = 0;

	(void)state;
	poll_nothing();
	hold_until_wait(qp, 1);
	ctl_set(CREDITS, 24);
	for (int i = 0; i < 20; i++) {
		ibv_wr_start(qpx);
		for (int k = 0; k < 16; k++) {
			qpx->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_send(qpx);
		}
		if (i % 5 == 4)
			ibv_wr_abort(qpx);
		else
			assert_int_equal(ibv_wr_complete(qpx), 0);
		if (in_flight(qp) > most)
			most = in_flight(qp);
		rig_poll();
	}
	/* The first batch has all the room. */
	assert_in_range(most, 16, 24);
	assert_int_equal(held(CREDITS)->passed, 0);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	stub_complete(qp, 24);
	rig_poll();
	assert_int_equal(outstanding(), 0);
	ibv_destroy_qp(qp);
}

#define ROUNDS 20000

static _Atomic int stop, polled, posted;

static void *poll_always(void *arg)
{
	(void)arg;
	while (!stop)
		polled += rig_poll();
	return NULL;
}

static void *post_always(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		rig_post(arg, 1 + i % 3, 1 + i % 3);
		/* A send queue has so many. */
		for (posted++; posted - polled > STUB_WRS / 4;)
			sched_yield();
	}
	return NULL;
}

static void real_wait(uint64_t ns)
{
	usleep((useconds_t)(ns / 1000));
}

static uint64_t real_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

/* Two threads post and one polls, with a bound and without: nothing is lost. */
static void test_polling_in_another_thread(void **state)
{
	pthread_t poster[2], poller;

	(void)state;
	lib_clock = real_clock;
	lib_wait = real_wait;
	stop = polled = posted = 0;
	poll_nothing();
	ctl_set(CREDITS, 4);
	pthread_create(&poller, NULL, poll_always, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&poster[i], NULL, post_always, rig.qp);
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		if (i % 2)
			ctl_clear(CREDITS);
		else
			ctl_set(CREDITS, (uint64_t)(1 + i % 5));
	}
	ctl_set(CREDITS, 2);
	for (int i = 0; i < 2; i++)
		pthread_join(poster[i], NULL);
	stop = 1;
	pthread_join(poller, NULL);
	polled += rig_poll();
	assert_int_equal(polled, 2 * ROUNDS);
	assert_int_equal(rig_figures(rig.qp).done, rig_figures(rig.qp).wrs);
	assert_int_equal(rig_figures(rig.qp).stopped, 0);
	assert_int_equal(rig_figures(rig.qp).outstanding, 0);
	assert_int_equal(outstanding(), 0);
}

/* Each thread posts and polls for itself, on one CQ: completions go through the stash. */
static void *post_and_poll(void *arg)
{
	struct ibv_wc wc[4];

	for (int i = 0; i < ROUNDS; i++) {
		rig_post(arg, 1, 1);
		if (i % 4 == 3)
			polled += ibv_poll_cq(rig.cq, 4, wc);
	}
	return NULL;
}

static void test_threads_that_post_and_poll(void **state)
{
	struct ibv_qp *qp = rig_qp(rig.cq, 0);
	pthread_t t[2];

	(void)state;
	lib_clock = real_clock;
	lib_wait = real_wait;
	polled = 0;
	poll_nothing();
	ctl_set(CREDITS, 2);
	pthread_create(&t[0], NULL, post_and_poll, rig.qp);
	pthread_create(&t[1], NULL, post_and_poll, qp);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	polled += rig_poll();
	assert_int_equal(polled, 2 * ROUNDS);
	assert_int_equal(rig_figures(rig.qp).done, ROUNDS);
	assert_int_equal(rig_figures(qp).done, ROUNDS);
	assert_int_equal(rig_figures(qp).stopped, 0);
	assert_int_equal(outstanding(), 0);
	ibv_destroy_qp(qp);
}

static _Atomic int flying, over;
static struct ibv_qp *flying_qps[4];

static int count_flying(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	if (++flying > 4)
		over++;
	return stub_post_send(qp, wr, bad);
}

static void *complete_always(void *arg)
{
	while (!stop) {
		for (int i = 0; i < 4; i++) {
			struct stub_qp *q = stub_qp(flying_qps[i]);

			pthread_spin_lock(&q->lock);
			if (q->posted != q->done) {
				flying--;
				stub_complete(flying_qps[i], 1);
			}
			pthread_spin_unlock(&q->lock);
		}
	}
	return arg;
}

/* No post waits for too long, however busy the machine is: a thread's clock is its looks at it. */
static uint64_t slow_clock(void)
{
	static _Thread_local uint64_t now = S;

	return now += 1000;
}

/* The device completes at any moment: no post finds more outstanding than the bound. */
static void test_bound_of_threads(void **state)
{
	pthread_t poster[4], device;

	(void)state;
	lib_clock = slow_clock;
	lib_wait = real_wait;
	stub.hold = 1;
	stop = flying = over = 0;
	poll_nothing();
	for (int i = 0; i < 4; i++) {
		flying_qps[i] = rig_qp(rig.cq, 0);
		((struct qp *)table_find(&qps, flying_qps[i]))->post_send = count_flying;
	}
	ctl_set(CREDITS, 4);
	pthread_create(&device, NULL, complete_always, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&poster[i], NULL, post_and_poll, flying_qps[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(poster[i], NULL);
	stop = 1;
	pthread_join(device, NULL);
	assert_int_equal(over, 0);
	assert_int_equal(held(CREDITS)->passed, 0);
	for (int i = 0; i < 4; i++) {
		stub_complete(flying_qps[i], STUB_WRS);
		rig_poll();
		assert_int_equal(rig_figures(flying_qps[i]).done, ROUNDS);
		ibv_destroy_qp(flying_qps[i]);
	}
	assert_int_equal(outstanding(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CTL_TEST(test_wr_api),
		CTL_TEST(test_two_batches_of_one_thread),
		CTL_TEST(test_wr_batches),
		CTL_TEST(test_polling_in_another_thread),
		CTL_TEST(test_threads_that_post_and_poll),
		CTL_TEST(test_bound_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
