// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libswiftrdma: threads, forks, ibv_wr_*() and ibv_cq_ex. */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_rig.h"

/* --- threads ----------------------------------------------------------------------- */

#define ROUNDS 20000

static _Atomic int polled;
static int list, every;

static void *post_and_poll(void *arg)
{
	struct ibv_wc wc[16];
	int n;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		rig_post(rig.qp, list, every);
		n = ibv_poll_cq(rig.cq, 16, wc);
		polled += n;
		/* Else the other thread never meets one that is inside. */
		if (i % 64 == 0)
			sched_yield();
	}
	while ((n = ibv_poll_cq(rig.cq, 16, wc)) > 0)
		polled += n;
	return NULL;
}

static void two_threads(int n, int each)
{
	struct swiftrdma_figures before = rig_figures(rig.qp), f;
	uint64_t signalled = 2ull * ROUNDS * (uint64_t)(n / each);
	pthread_t t[2];

	list = n;
	every = each;
	polled = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, post_and_poll, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	polled += rig_poll();
	assert_int_equal(polled, signalled);
	f = rig_figures(rig.qp);
	assert_int_equal(f.wrs - before.wrs, 2ull * ROUNDS * (uint64_t)n);
	assert_int_equal(f.bytes - before.bytes, 2ull * ROUNDS * 8 * (uint64_t)n);
	assert_int_equal(f.calls - before.calls, 2 * ROUNDS);
	assert_int_equal(f.wcs - before.wcs, signalled);
	assert_int_equal(f.stopped, 0);
	assert_int_equal(f.errors, 0);
}

static void test_two_threads_on_one_qp_and_cq(void **state)
{
	(void)state;
	two_threads(1, 1);
	assert_int_equal(rig_figures(rig.qp).outstanding, 0);
	two_threads(4, 4);
	assert_int_equal(rig_figures(rig.qp).outstanding, 0);
	assert_int_equal(rig_figures(rig.qp).done, 2 * ROUNDS * 5);
}

static void test_two_threads_counting(void **state)
{
	(void)state;
	ibv_destroy_qp(rig.qp);
	settings.mode = MODE_COUNT;
	rig.qp = rig_qp(rig.cq, 0);
	two_threads(1, 1);
}

/* Two pollers and two QPs each on one CQ, while others come and go. */
static void *churn(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++) {
		struct ibv_qp *qp = rig_qp(rig.cq, 0);

		rig_post(qp, 3, 0);
		ibv_destroy_qp(qp);
	}
	return NULL;
}

static void test_qps_come_and_go_meanwhile(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, churn, NULL), 0);
	two_threads(1, 1);
	pthread_join(t, NULL);
	assert_int_equal(rig_device().wrs, 2000 * 3 + 2 * ROUNDS);
	assert_int_equal(rig_device().qps, 2001);
}

static void *hold_lock(void *arg)
{
	struct bias *b = arg;
	enum bias_token token = bias_lock(b);

	assert_int_equal(token, BIAS_OWNER);
	polled = 1;
	while (polled != 2)
		sched_yield();
	usleep(20000);
	polled = 3;
	bias_unlock(b, token);
	return NULL;
}

/* The second thread gets the lock only after the first, biased one, has left it. */
static void test_bias_is_revoked(void **state)
{
	struct bias b = { 0 };
	enum bias_token token;
	pthread_t t;

	(void)state;
	polled = 0;
	assert_int_equal(pthread_create(&t, NULL, hold_lock, &b), 0);
	while (polled != 1)
		sched_yield();
	polled = 2;
	token = bias_lock(&b);
	assert_int_equal(polled, 3);
	assert_int_equal(token, BIAS_HELD);
	assert_int_equal(bias_lock(&b), BIAS_NESTED);
	bias_unlock(&b, BIAS_NESTED);
	bias_unlock(&b, token);
	pthread_join(t, NULL);
	assert_int_equal(b.holder, 0);
}

/* --- forks ------------------------------------------------------------------------- */

/* The child uses what it inherited, and devices of its own; nothing reaches the parent. */
static void child(void)
{
	struct swiftrdma_figures f;
	struct ibv_context *ctx;

	if (rig_post(rig.qp, 5, 1) || rig_poll() != 5)
		_exit(1);
	if (swiftrdma_read_qp(rig.qp, &f, sizeof(f)) != -ENOENT)
		_exit(2);
	ctx = rig.ctx;
	snprintf(stub_device.name, sizeof(stub_device.name), "child");
	rig.ctx = ibv_open_device(&stub_device);
	rig.pd.context = rig.ctx;
	rig.cq = ibv_create_cq(rig.ctx, 1, NULL, NULL, 0);
	ibv_destroy_qp(rig.qp);
	rig.qp = rig_qp(rig.cq, 0);
	if (rig_post(rig.qp, 7, 7) || rig_poll() != 1)
		_exit(3);
	if (swiftrdma_read_qp(rig.qp, &f, sizeof(f)) || f.wrs != 7 || f.done != 7)
		_exit(4);
	if (!swiftrdma_read_device(ctx, &f, sizeof(f)))
		_exit(5);
	ibv_close_device(ctx);
	_exit(0);
}

static void forks(pid_t (*how)(void))
{
	pid_t pid;
	int status;

	rig_post(rig.qp, 3, 1);
	rig_poll();
	pid = how();
	assert_true(pid >= 0);
	if (!pid)
		child();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(rig_figures(rig.qp).wrs, 3);
	rig_post(rig.qp, 1, 1);
	rig_poll();
	assert_int_equal(rig_figures(rig.qp).done, 4);
	assert_int_equal(rig_device().wrs, 4);
}

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void test_fork(void **state)
{
	(void)state;
	forks(fork);
}

static void test_raw_clone(void **state)
{
	(void)state;
	forks(raw_clone);
}

/* --- ibv_wr_*(), ibv_cq_ex ------------------------------------------------------------ */

static struct ibv_qp *qp_with_wr_api(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .pd = &rig.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND,
		.cap.max_send_wr = 64,
	};

	return ibv_create_qp_ex(rig.ctx, &attr);
}

/* @n requests, the last one signalled. */
static int wr_post(struct ibv_qp_ex *qpx, int n)
{
	ibv_wr_start(qpx);
	for (int i = 0; i < n; i++) {
		qpx->wr_id = (uint64_t)i;
		qpx->wr_flags = i == n - 1 ? IBV_SEND_SIGNALED : 0;
		if (i % 2)
			ibv_wr_send(qpx);
		else
			ibv_wr_rdma_write(qpx, 0, 0);
		ibv_wr_set_sge(qpx, 0, 0, 8);
	}
	return ibv_wr_complete(qpx);
}

static void test_wr_api(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_qp *qp = qp_with_wr_api(rig.cq);
	struct ibv_qp_ex *qpx = stub_to_qp_ex(qp);
	struct swiftrdma_figures f;

	(void)state;
	assert_int_equal(wr_post(qpx, 4), 0);
	assert_int_equal(rig_poll(), 1);
	/* The provider sets wr_complete anew. */
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(wr_post(qpx, 3), 0);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_abort(qpx);
	stub.fail_after = 0;
	assert_int_equal(wr_post(qpx, 3), ENOMEM);
	stub.fail_after = -1;
	assert_int_equal(rig_post(qp, 2, 2), 0);
	assert_int_equal(rig_poll(), 2);
	f = rig_figures(qp);
	assert_int_equal(f.wrs, 9);
	assert_int_equal(f.bytes, 72);
	assert_int_equal(f.calls, 3);
	assert_int_equal(f.done, 9);
	assert_int_equal(f.stopped, 0);
	assert_int_equal(rig_slot(qp)->latency.wrs, 9);
	assert_true(rig_slot(qp)->id.flags & SWIFTRDMA_SLOT_WR_API);
	assert_null(qpx->wr_atomic_fetch_add);
	ibv_destroy_qp(qp);
}

static void *wr_thread(void *arg)
{
	struct ibv_wc wc[16];

	for (int i = 0; i < ROUNDS; i++) {
		wr_post(arg, 3);
		polled += ibv_poll_cq(rig.cq, 16, wc);
		rig_post(arg, 2, 1);
		polled += ibv_poll_cq(rig.cq, 16, wc);
	}
	return NULL;
}

static void test_both_apis_from_two_threads(void **state)
{
	struct ibv_qp *qp = qp_with_wr_api(rig.cq);
	struct swiftrdma_figures f;
	pthread_t t[2];

	(void)state;
	polled = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, wr_thread, stub_to_qp_ex(qp)), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	polled += rig_poll();
	f = rig_figures(qp);
	assert_int_equal(polled, 2 * ROUNDS * 3);
	assert_int_equal(f.wrs, 2 * ROUNDS * 5);
	assert_int_equal(f.done, 2 * ROUNDS * 5);
	assert_int_equal(f.stopped, 0);
	ibv_destroy_qp(qp);
}

static void test_cq_ex(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ibv_cq_ex *cqx = ibv_create_cq_ex(rig.ctx, &attr);
	struct ibv_cq *cq = ibv_cq_ex_to_cq(cqx);
	struct ibv_qp *qp = rig_qp(cq, 0);
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct swiftrdma_figures f;
	int n = 0;

	(void)state;
	assert_int_equal(attr.wc_flags, 0);
	assert_int_equal(ibv_start_poll(cqx, &poll), ENOENT);
	rig_post(qp, 6, 2);
	ibv_post_recv(qp, &wr, &bad);
	assert_int_equal(ibv_start_poll(cqx, &poll), 0);
	do
		n++;
	while (!ibv_next_poll(cqx));
	ibv_end_poll(cqx);
	assert_int_equal(n, 4);
	f = rig_figures(qp);
	assert_int_equal(f.wcs, 3);
	assert_int_equal(f.done, 6);
	assert_int_equal(f.recv_wcs, 1);
	assert_int_equal(f.recv_bytes, 8);
	assert_int_equal(f.stopped, 0);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

/* The older way of polling the newer kind. */
static void test_cq_ex_polled_as_a_list(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ibv_cq *cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(rig.ctx, &attr));
	struct ibv_qp *qp = rig_qp(cq, 0);
	struct ibv_wc wc[8];

	(void)state;
	rig_post(qp, 4, 1);
	assert_int_equal(ibv_poll_cq(cq, 8, wc), 4);
	assert_int_equal(rig_figures(qp).done, 4);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_two_threads_on_one_qp_and_cq),
		RIG_TEST(test_two_threads_counting),
		RIG_TEST(test_qps_come_and_go_meanwhile),
		RIG_TEST(test_bias_is_revoked),
		RIG_TEST(test_fork),
		RIG_TEST(test_raw_clone),
		RIG_TEST(test_wr_api),
		RIG_TEST(test_both_apis_from_two_threads),
		RIG_TEST(test_cq_ex),
		RIG_TEST(test_cq_ex_polled_as_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
