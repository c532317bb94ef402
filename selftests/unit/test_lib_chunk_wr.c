// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libswiftrdma: requests of ibv_wr_*() that are posted in pieces. */
#include <pthread.h>

#include "chunk_rig.h"

static int wr_setup(void **state)
{
	by_wr = true;
	return setup(state);
}

#define WR_TEST(f) cmocka_unit_test_setup_teardown(f, wr_setup, teardown)

static struct ibv_qp_ex *qpx(void)
{
	return stub_to_qp_ex(qp);
}

/* Begins a request. The program's next request may be announced before the data of this one. */
static void begin(uint64_t id, enum ibv_wr_opcode opcode, uint32_t at, unsigned int flags)
{
	uint64_t to = (uintptr_t)remote + at;

	qpx()->wr_id = id;
	qpx()->wr_flags = flags;
	if (opcode == IBV_WR_RDMA_READ)
		ibv_wr_rdma_read(qpx(), 5, to);
	else if (opcode == IBV_WR_RDMA_WRITE)
		ibv_wr_rdma_write(qpx(), 5, to);
	else if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		ibv_wr_rdma_write_imm(qpx(), 5, to, 0);
	else
		ibv_wr_send(qpx());
}

static void add(uint64_t id, enum ibv_wr_opcode opcode, uint32_t at, uint32_t bytes,
		unsigned int flags)
{
	begin(id, opcode, at, flags);
	ibv_wr_set_sge(qpx(), 0, (uintptr_t)local + at, bytes);
}

static int post_one_request(uint64_t id, enum ibv_wr_opcode opcode, uint32_t bytes,
			    unsigned int flags)
{
	ibv_wr_start(qpx());
	add(id, opcode, 0, bytes, flags);
	return ibv_wr_complete(qpx());
}

static const struct chunk_queue *queue(void)
{
	return ((struct qp *)table_find(&qps, qp))->chunk;
}

static void test_write_and_read(void **state)
{
	(void)state;
	assert_true(rig_slot(qp)->id.flags & SWIFTRDMA_SLOT_CHUNK);
	assert_true(rig_slot(qp)->id.flags & SWIFTRDMA_SLOT_WR_API);
	assert_int_equal(post_one_request(7, IBV_WR_RDMA_WRITE, 40000, IBV_SEND_SIGNALED), 0);
	assert_int_equal(stub.wrs, 10);
	assert_int_equal(stub.largest, 4096);
	is_polled(7, IBV_WC_SUCCESS, 40000);
	is_empty();
	assert_memory_equal(local, remote, 40000);
	memset(local, 1, 40000);
	assert_int_equal(post_one_request(8, IBV_WR_RDMA_READ, 40000, IBV_SEND_SIGNALED), 0);
	is_polled(8, IBV_WC_SUCCESS, 40000);
	assert_memory_equal(local, remote, 40000);
	assert_int_equal(stub.wrs, 20);
	assert_int_equal(ctl.report->chunk_wrs, 2);
	assert_int_equal(ctl.report->chunk_left, 0);
}

/* A batch: flags and numbers are those that each request was begun with. */
static void test_batch(void **state)
{
	static const struct ibv_sge sge[3] = {
		{ .addr = (uintptr_t)local, .length = 5000 }, { .length = 0 },
		{ .addr = (uintptr_t)local + 5000, .length = 4000 },
	};
	const struct stub_wr *w = stub_qp(qp)->wr;
	unsigned int fences = 0, signals = 0;

	(void)state;
	stub.hold = 1;
	ibv_wr_start(qpx());
	add(1, IBV_WR_RDMA_WRITE, 0, 8, 0);
	begin(2, IBV_WR_RDMA_READ, 0, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	/* What the program writes there before the data is for its next request. */
	qpx()->wr_id = 77;
	qpx()->wr_flags = 0;
	ibv_wr_set_sge_list(qpx(), 3, sge);
	assert_int_equal(qpx()->wr_id, 77);
	assert_int_equal(qpx()->wr_flags, 0);
	add(3, IBV_WR_RDMA_WRITE, 16384, 4097, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_wr_complete(qpx()), 0);
	assert_int_equal(stub_qp(qp)->posted, 1 + 3 + 2);
	for (int i = 0; i < 6; i++) {
		fences |= w[i].flags & IBV_SEND_FENCE ? 1u << i : 0;
		signals |= w[i].signalled ? 1u << i : 0;
	}
	assert_int_equal(fences, 1u << 1);
	assert_int_equal(signals, 1u << 3 | 1u << 5);
	assert_int_equal(w[2].sges, 2);
	assert_int_equal(w[2].remote, (uintptr_t)remote + 4096);
	assert_int_equal(w[5].bytes, 1);
	rig.now += 5000;
	stub_complete(qp, 6);
	is_polled(2, IBV_WC_SUCCESS, 9000);
	is_polled(3, IBV_WC_SUCCESS, 4097);
	is_empty();
	assert_memory_equal(local, remote, 9000);
	assert_memory_equal(local + 16384, remote + 16384, 4097);
	assert_int_equal(rig_figures(qp).wrs, 3);
	assert_int_equal(rig_figures(qp).calls, 1);
	assert_int_equal(rig_figures(qp).bytes, 8 + 9000 + 4097);
	assert_int_equal(rig_figures(qp).done, 3);
	assert_int_equal(rig_figures(qp).stopped, 0);
	assert_int_equal(rig_slot(qp)->latency.wrs, 3);
	assert_int_equal(rig_slot(qp)->latency.max_ns, 5000);
	assert_int_equal(ctl.report->chunk_wrs, 2);
}

static void test_what_is_not_split(void **state)
{
	const struct stub_wr *w = stub_qp(qp)->wr;

	(void)state;
	stub.hold = 1;
	ibv_wr_start(qpx());
	add(1, IBV_WR_RDMA_WRITE, 0, 4096, 0);
	add(2, IBV_WR_SEND, 0, 40000, 0);
	add(3, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 40000, 0);
	begin(4, IBV_WR_RDMA_WRITE, 0, IBV_SEND_SIGNALED);
	qpx()->wr_flags = 0;
	qpx()->wr_id = 9;
	ibv_wr_set_inline_data(qpx(), local, 40000);
	/* Without data, and the last one of the batch, too. */
	begin(5, IBV_WR_RDMA_WRITE, 64, 0);
	begin(6, IBV_WR_RDMA_READ, 128, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_wr_complete(qpx()), 0);
	assert_int_equal(stub_qp(qp)->posted, 6);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(w[i].wr_id, i + 1);
	assert_true(w[3].signalled && w[5].signalled);
	assert_int_equal(w[4].opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(w[4].remote, (uintptr_t)remote + 64);
	assert_int_equal(w[5].opcode, IBV_WR_RDMA_READ);
	stub_complete(qp, 6);
	is_polled(4, IBV_WC_SUCCESS, 40000);
	is_polled(6, IBV_WC_SUCCESS, 0);
	is_empty();
	/* More than some devices take in one request, and more than any knob says. */
	assert_int_equal(post_one_request(7, IBV_WR_RDMA_WRITE, (1u << 30) + 1, 0), 0);
	assert_int_equal(stub_qp(qp)->posted, 7);
	assert_int_equal(ctl.report->chunk_left, 0);
	ctl_clear(CHUNK);
	assert_int_equal(post_one_request(8, IBV_WR_RDMA_WRITE, 40000, 0), 0);
	assert_int_equal(stub_qp(qp)->posted, 8);
	assert_int_equal(ctl.report->chunk_left + ctl.report->chunk_wrs, 0);
}

/* The knob comes and goes between wr_start and the data. */
static void test_knob_in_batch(void **state)
{
	(void)state;
	stub.hold = 1;
	ibv_wr_start(qpx());
	begin(1, IBV_WR_RDMA_WRITE, 0, IBV_SEND_SIGNALED);
	ctl_clear(CHUNK);
	ibv_wr_set_sge(qpx(), 0, (uintptr_t)local, 8192);
	assert_int_equal(ibv_wr_complete(qpx()), 0);
	assert_int_equal(stub_qp(qp)->posted, 2);
	ibv_wr_start(qpx());
	begin(2, IBV_WR_RDMA_WRITE, 0, IBV_SEND_SIGNALED);
	ctl_set(CHUNK, 4096);
	ibv_wr_set_sge(qpx(), 0, (uintptr_t)local, 8192);
	assert_int_equal(ibv_wr_complete(qpx()), 0);
	assert_int_equal(stub_qp(qp)->posted, 3);
	stub_complete(qp, 3);
	is_polled(1, IBV_WC_SUCCESS, 8192);
	is_polled(2, IBV_WC_SUCCESS, 8192);
	assert_int_equal(rig_figures(qp).done, 2);
}

/* What was not posted takes no room, and nothing of it is counted. */
static void test_abort_and_refusal(void **state)
{
	(void)state;
	stub.hold = 1;
	for (int i = 0; i < 100; i++) {
		ibv_wr_start(qpx());
		add(1, IBV_WR_RDMA_WRITE, 0, 65536, IBV_SEND_SIGNALED);
		add(2, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
		begin(3, IBV_WR_RDMA_READ, 0, IBV_SEND_SIGNALED);
		if (i % 2) {
			ibv_wr_abort(qpx());
			continue;
		}
		stub.fail_after = 0;
		ibv_wr_set_sge(qpx(), 0, (uintptr_t)local, 8192);
		assert_int_equal(ibv_wr_complete(qpx()), ENOMEM);
		stub.fail_after = -1;
	}
	assert_int_equal(stub_qp(qp)->posted, 0);
	assert_int_equal(queue()->used, 0);
	assert_int_equal(ctl.report->chunk_wrs, 0);
	assert_int_equal(ctl.report->chunk_left, 0);
	assert_int_equal(rig_figures(qp).wrs, 0);
	/* Between requests that are outstanding. */
	assert_int_equal(post_one_request(4, IBV_WR_RDMA_WRITE, 65536, IBV_SEND_SIGNALED), 0);
	ibv_wr_start(qpx());
	add(5, IBV_WR_RDMA_WRITE, 0, 65536, IBV_SEND_SIGNALED);
	ibv_wr_abort(qpx());
	assert_int_equal(post_one_request(6, IBV_WR_RDMA_WRITE, 40960, IBV_SEND_SIGNALED), 0);
	assert_int_equal(queue()->used, 15 + 9);
	stub_complete(qp, 26);
	is_polled(4, IBV_WC_SUCCESS, 65536);
	is_polled(6, IBV_WC_SUCCESS, 40960);
	is_empty();
	assert_int_equal(ctl.report->chunk_wrs, 2);
	assert_int_equal(rig_figures(qp).done, 2);
	assert_int_equal(rig_figures(qp).stopped, 0);
}

/* A request that fails in its third piece, one that is flushed, and a RESET. */
static void test_error(void **state)
{
	(void)state;
	stub.error_at = 5;
	ibv_wr_start(qpx());
	add(5, IBV_WR_RDMA_WRITE, 0, 8192, 0);
	add(5, IBV_WR_RDMA_WRITE, 8192, 40960, 0);
	add(5, IBV_WR_RDMA_READ, 0, 40960, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_wr_complete(qpx()), 0);
	is_polled(5, IBV_WC_REM_ACCESS_ERR, 0);
	is_polled(5, IBV_WC_WR_FLUSH_ERR, 0);
	is_empty();
	/* Without an order requests go whole, and that is counted. */
	assert_int_equal(post_one_request(6, IBV_WR_RDMA_WRITE, 40960, 0), 0);
	is_polled(6, IBV_WC_WR_FLUSH_ERR, 0);
	is_empty();
	assert_int_equal(ctl.report->chunk_left, 1);
	assert_int_equal(rig_figures(qp).wrs, 4);
	assert_int_equal(rig_figures(qp).errors, 3);
	ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, IBV_QP_STATE);
	stub.wrs = 0;
	assert_int_equal(post_one_request(7, IBV_WR_RDMA_WRITE, 40960, IBV_SEND_SIGNALED), 0);
	assert_int_equal(stub.wrs, 10);
	is_polled(7, IBV_WC_SUCCESS, 40960);
}

/* The program's queue is never shorter: 16 requests go at any time, and the rest whole. */
static void test_full_queue(void **state)
{
	(void)state;
	stub.hold = 1;
	ibv_wr_start(qpx());
	for (uint64_t i = 0; i < 16; i++)
		add(i, IBV_WR_RDMA_WRITE, 0, 128 * KIB, i == 15 ? IBV_SEND_SIGNALED : 0);
	assert_int_equal(ibv_wr_complete(qpx()), 0);
	/* 256 pieces may be added: 8 requests of 32 pieces, and no more of that size. */
	assert_int_equal(stub_qp(qp)->posted, 8 * 32 + 8);
	assert_int_equal(ctl.report->chunk_wrs, 8);
	assert_int_equal(ctl.report->chunk_left, 8);
	stub_complete(qp, 264);
	is_polled(15, IBV_WC_SUCCESS, 128 * KIB);
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(post_one_request(i, IBV_WR_RDMA_WRITE, 64 * KIB, 0), 0);
	assert_int_equal(stub_qp(qp)->posted, 264 + 256);
	/* All fail: the completion queue has room for each piece. */
	stub_qp(qp)->error = 1;
	stub_complete(qp, 256);
	assert_int_equal(stub.overflows, 0);
	for (uint64_t i = 0; i < 16; i++)
		is_polled(i, IBV_WC_WR_FLUSH_ERR, 0);
	is_empty();
}

/* QPs that are left as they are; the report says so. */
static void test_unable(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		ibv_destroy_qp(qp);
		stub.wrs = 0;
		stub.refuse_wrs = i == 2 ? 16 : 0;
		qp = new_qp(cq, 16, i == 0 ? IBV_QPT_UC : IBV_QPT_RC, i == 1);
		assert_int_equal(post_one_request(1, IBV_WR_RDMA_WRITE, 65536, 0), 0);
		assert_int_equal(stub.wrs, 1);
		assert_int_equal(ctl.report->chunk_left, i + 1);
		assert_int_equal(ctl.report->chunk_wrs, 0);
		assert_false(rig_slot(qp)->id.flags & SWIFTRDMA_SLOT_CHUNK);
	}
}

/* Credits and rates see the program's requests. */
static void test_other_knobs(void **state)
{
	(void)state;
	is_empty();
	stub.hold = 1;
	ctl_set(SWIFTRDMA_SHARE_KNOB_CREDITS, 4);
	for (uint64_t i = 0; i < 4; i++)
		post_one_request(i, IBV_WR_RDMA_WRITE, 65536, IBV_SEND_SIGNALED);
	assert_int_equal(held(SWIFTRDMA_SHARE_KNOB_CREDITS)->posts, 0);
	assert_int_equal(stub_qp(qp)->posted, 64);
	assert_int_equal(credits_outstanding(((struct qp *)table_find(&qps, qp))->knobs), 4);
	stub_complete(qp, 64);
	for (uint64_t i = 0; i < 4; i++)
		is_polled(i, IBV_WC_SUCCESS, 65536);
	ctl_clear(SWIFTRDMA_SHARE_KNOB_CREDITS);
	stub.hold = 0;
	ctl_set(SWIFTRDMA_SHARE_KNOB_WR_RATE, 1000);
	for (uint64_t i = 0; i < 100; i++) {
		post_one_request(i, IBV_WR_RDMA_WRITE, 65536, IBV_SEND_SIGNALED);
		is_polled(i, IBV_WC_SUCCESS, 65536);
	}
	assert_in_range(rig.now - 1000000, 97 * MS, 101 * MS);
}

static void *post_many(void *arg)
{
	uint64_t id = (uintptr_t)arg;
	uint32_t at = (uint32_t)id * 65536;
	int ret;

	for (int i = 0; i < THREAD_POSTS; i++) {
		do {
			ibv_wr_start(qpx());
			add(id, IBV_WR_RDMA_WRITE, at, 65536, IBV_SEND_SIGNALED);
			/* Now and then the thread thinks better of it. */
			if (i % 16 == 15) {
				ibv_wr_abort(qpx());
				ibv_wr_start(qpx());
				add(id, IBV_WR_RDMA_WRITE, at, 65536, IBV_SEND_SIGNALED);
			}
			ret = ibv_wr_complete(qpx());
			if (ret)
				sched_yield();
		} while (ret);
	}
	return NULL;
}

static void test_two_threads(void **state)
{
	(void)state;
	post_by_two_threads(post_many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WR_TEST(test_write_and_read), WR_TEST(test_batch),
		WR_TEST(test_what_is_not_split), WR_TEST(test_knob_in_batch),
		WR_TEST(test_abort_and_refusal), WR_TEST(test_error),
		WR_TEST(test_full_queue), WR_TEST(test_unable), WR_TEST(test_other_knobs),
		WR_TEST(test_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
