// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libswiftrdma: requests that are posted in pieces. */
#include <pthread.h>

#include "chunk_rig.h"

struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sge[4];
};

/* One SGE; the memory at @at on both sides. */
static void fill(struct request *r, uint64_t id, enum ibv_wr_opcode opcode, uint32_t at,
		 uint32_t bytes, unsigned int flags)
{
	memset(r, 0, sizeof(*r));
	r->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)local + at, .length = bytes };
	r->wr = (struct ibv_send_wr){
		.wr_id = id, .opcode = opcode, .send_flags = flags, .sg_list = r->sge, .num_sge = 1,
		.wr.rdma.remote_addr = (uintptr_t)remote + at,
	};
}

static int post(struct request *r, int n, struct ibv_send_wr **bad)
{
	for (int i = 0; i < n; i++)
		r[i].wr.next = i + 1 < n ? &r[i + 1].wr : NULL;
	return ibv_post_send(qp, &r[0].wr, bad);
}

static void post_one_request(uint64_t id, enum ibv_wr_opcode opcode, uint32_t bytes,
			     unsigned int flags)
{
	struct ibv_send_wr *bad;
	struct request r;

	fill(&r, id, opcode, 0, bytes, flags);
	assert_int_equal(post(&r, 1, &bad), 0);
}

static void test_write_and_read(void **state)
{
	(void)state;
	assert_memory_not_equal(local, remote, 40000);
	post_one_request(7, IBV_WR_RDMA_WRITE, 40000, IBV_SEND_SIGNALED);
	assert_int_equal(stub.wrs, 10);
	assert_int_equal(stub.largest, 4096);
	is_polled(7, IBV_WC_SUCCESS, 40000);
	is_empty();
	assert_memory_equal(local, remote, 40000);
	memset(local, 1, 40000);
	post_one_request(8, IBV_WR_RDMA_READ, 40000, IBV_SEND_SIGNALED);
	is_polled(8, IBV_WC_SUCCESS, 40000);
	assert_memory_equal(local, remote, 40000);
	assert_int_equal(stub.wrs, 20);
	assert_int_equal(ctl.report->chunk_wrs, 2);
	assert_int_equal(ctl.report->chunk_left, 0);
	assert_int_equal(knob_state(CHUNK), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(ctl.report->knob[CHUNK].value, 4096);
	assert_true(rig_slot(qp)->id.flags & SWIFTRDMA_SLOT_CHUNK);
}

/* The figures are those of the program's requests. */
static void test_counts(void **state)
{
	struct swiftrdma_figures f;
	struct swiftrdma_quantile q;

	(void)state;
	stub.hold = 1;
	post_one_request(1, IBV_WR_RDMA_WRITE, 40000, 0);
	post_one_request(2, IBV_WR_RDMA_WRITE, 40000, IBV_SEND_SIGNALED);
	rig.now += 5000;
	stub_complete(qp, 20);
	is_polled(2, IBV_WC_SUCCESS, 40000);
	is_empty();
	f = rig_figures(qp);
	assert_int_equal(f.wrs, 2);
	assert_int_equal(f.bytes, 80000);
	assert_int_equal(f.calls, 2);
	assert_int_equal(f.wcs, 1);
	assert_int_equal(f.done, 2);
	assert_int_equal(f.stopped, 0);
	assert_int_equal(swiftrdma_read_quantile(rig.ctx, SWIFTRDMA_TIME_LATENCY, 0.5, &q, sizeof(q)), 0);
	assert_int_equal(q.wrs, 2);
	assert_int_equal(q.max_ns, 5000);
}

static void test_what_is_not_split(void **state)
{
	struct ibv_send_wr *bad;
	struct request r;

	(void)state;
	post_one_request(1, IBV_WR_RDMA_WRITE, 4096, 0);
	post_one_request(2, IBV_WR_SEND, 40000, 0);
	post_one_request(3, IBV_WR_RDMA_WRITE_WITH_IMM, 40000, 0);
	post_one_request(4, IBV_WR_RDMA_WRITE, 40000, IBV_SEND_INLINE);
	assert_int_equal(stub.wrs, 4);
	ctl_clear(CHUNK);
	post_one_request(5, IBV_WR_RDMA_WRITE, 40000, 0);
	assert_int_equal(stub.wrs, 5);
	assert_int_equal(knob_state(CHUNK), SWIFTRDMA_KNOB_STATE_IDLE);
	/* A lease that ends, and a module that is disarmed. */
	ctl_set_until(CHUNK, 4096, rig.now + 1000);
	post_one_request(6, IBV_WR_RDMA_WRITE, 8192, 0);
	assert_int_equal(stub.wrs, 7);
	rig.now += 1000;
	post_one_request(7, IBV_WR_RDMA_WRITE, 8192, 0);
	assert_int_equal(stub.wrs, 8);
	ctl_set(CHUNK, 4096);
	post_one_request(8, IBV_WR_RDMA_WRITE, 8192, 0);
	assert_int_equal(stub.wrs, 10);
	ctl_state(SWIFTRDMA_CONTROL_ENDED);
	post_one_request(9, IBV_WR_RDMA_WRITE, 8192, IBV_SEND_SIGNALED);
	assert_int_equal(stub.wrs, 11);
	is_polled(9, IBV_WC_SUCCESS, 8192);
	/* More than some devices take in one request: it must fail, or not, as it is. */
	ctl_state(SWIFTRDMA_CONTROL_LIVE);
	stub.hold = 1;
	fill(&r, 10, IBV_WR_RDMA_WRITE, 0, (1u << 30) + 1, 0);
	assert_int_equal(post(&r, 1, &bad), 0);
	assert_int_equal(stub_qp(qp)->posted, 12);
	assert_int_equal(ctl.report->chunk_left, 0);
}

/* Flags as the device gets them. */
static void test_flags(void **state)
{
	const struct stub_wr *w = stub_qp(qp)->wr;

	(void)state;
	stub.hold = 1;
	post_one_request(1, IBV_WR_RDMA_READ, 12288, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	assert_int_equal(stub_qp(qp)->posted, 3);
	assert_false(w[0].signalled || w[1].signalled);
	assert_true(w[2].signalled);
	assert_int_equal(w[0].flags & IBV_SEND_FENCE, IBV_SEND_FENCE);
	assert_int_equal((w[1].flags | w[2].flags) & IBV_SEND_FENCE, 0);
}

static void test_scatter_list(void **state)
{
	static const uint32_t length[4] = { 4000, 0, 5000, 4500 };
	struct ibv_send_wr *bad;
	struct request r;
	uint32_t at = 0;

	(void)state;
	fill(&r, 1, IBV_WR_RDMA_WRITE, 0, 0, IBV_SEND_SIGNALED);
	r.wr.num_sge = 4;
	for (int i = 0; i < 4; at += length[i++])
		r.sge[i] = (struct ibv_sge){ .addr = (uintptr_t)local + at, .length = length[i] };
	assert_int_equal(post(&r, 1, &bad), 0);
	assert_int_equal(stub.wrs, 4);
	assert_int_equal(stub.largest, 4096);
	is_polled(1, IBV_WC_SUCCESS, 13500);
	assert_memory_equal(local, remote, 13500);
}

/* A request that fails in its third piece; one after it is flushed, and what was posted later. */
static void test_error(void **state)
{
	struct swiftrdma_figures f;
	struct ibv_send_wr *bad;
	struct request r[3];

	(void)state;
	fill(&r[0], 5, IBV_WR_RDMA_WRITE, 0, 8192, 0);
	fill(&r[1], 5, IBV_WR_RDMA_WRITE, 8192, 40960, 0);
	fill(&r[2], 5, IBV_WR_RDMA_READ, 0, 40960, IBV_SEND_SIGNALED);
	stub.error_at = 5;
	assert_int_equal(post(r, 3, &bad), 0);
	is_polled(5, IBV_WC_REM_ACCESS_ERR, 0);
	is_polled(5, IBV_WC_WR_FLUSH_ERR, 0);
	is_empty();
	post_one_request(6, IBV_WR_RDMA_WRITE, 40960, 0);
	is_polled(6, IBV_WC_WR_FLUSH_ERR, 0);
	is_empty();
	f = rig_figures(qp);
	assert_int_equal(f.wrs, 4);
	assert_int_equal(f.errors, 3);
	/* After a RESET it is as new. */
	ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, IBV_QP_STATE);
	stub.wrs = 0;
	post_one_request(7, IBV_WR_RDMA_WRITE, 40960, IBV_SEND_SIGNALED);
	assert_int_equal(stub.wrs, 10);
	is_polled(7, IBV_WC_SUCCESS, 40960);
}

/* No poll returns nothing while there is something behind what is dropped. */
static void test_dropped_hide_nothing(void **state)
{
	struct ibv_wc wc[3];

	(void)state;
	stub.hold = 1;
	post_one_request(1, IBV_WR_RDMA_WRITE, 65536, 0);
	post_one_request(2, IBV_WR_RDMA_WRITE, 65536, 0);
	post_one_request(3, IBV_WR_RDMA_WRITE, 8, 0);
	stub_qp(qp)->error = 1;
	stub_complete(qp, 33);
	assert_int_equal(ibv_poll_cq(cq, 3, wc), 3);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(wc[2].wr_id, 3);
	is_empty();
}

/* A QP that is destroyed with completions in the queue, as rxe leaves them there. */
static void test_destroyed(void **state)
{
	struct ibv_wc wc;

	(void)state;
	post_one_request(9, IBV_WR_RDMA_WRITE, 65536, IBV_SEND_SIGNALED);
	ibv_destroy_qp(qp);
	qp = NULL;
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(wc.byte_len, 65536);
}

/* The same, and another QP has its number by then. */
static void test_number_again(void **state)
{
	struct ibv_wc wc;

	(void)state;
	post_one_request(9, IBV_WR_RDMA_WRITE, 65536, IBV_SEND_SIGNALED);
	stub.next_qpn = qp->qp_num;
	ibv_destroy_qp(qp);
	qp = new_qp(cq, 8, IBV_QPT_RC, 0);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(wc.byte_len, 65536);
	/* Memory of queues is found again, of whatever size the QP is. */
	for (int i = 0; i < 8; i++) {
		ibv_destroy_qp(qp);
		qp = new_qp(cq, i % 2 ? 8 : 16, IBV_QPT_RC, 0);
		post_one_request(10, IBV_WR_RDMA_WRITE, 65536, IBV_SEND_SIGNALED);
		is_polled(10, IBV_WC_SUCCESS, 65536);
	}
}

static uint32_t cq_room(void)
{
	return cq_find(cq)->room;
}

/* Completions of pieces may still come after the QP's end, so their entries are not given away. */
static void test_room_of_outstanding(void **state)
{
	uint32_t was = cq_room();

	(void)state;
	stub.hold = 1;
	post_one_request(1, IBV_WR_RDMA_WRITE, 65536, IBV_SEND_SIGNALED);
	ibv_destroy_qp(qp);
	qp = new_qp(cq, 16, IBV_QPT_RC, 0);
	stub.hold = 0;
	assert_int_equal(cq_room(), was - 15);
	/* Of requests that were polled they are. */
	post_one_request(2, IBV_WR_RDMA_WRITE, 65536, IBV_SEND_SIGNALED);
	is_polled(2, IBV_WC_SUCCESS, 65536);
	ibv_destroy_qp(qp);
	qp = new_qp(cq, 16, IBV_QPT_RC, 0);
	assert_int_equal(cq_room(), was - 15);
}

/* The program is told the size that it asked for, and may ask for any. */
static void test_sizes(void **state)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = UINT32_MAX, .max_send_sge = 1 },
	};
	struct chunk_ask ask = chunk_ask(cq_find(cq)->ctx, &attr);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr now;

	(void)state;
	assert_int_equal(ask.room, 0);
	assert_int_equal(attr.cap.max_send_wr, UINT32_MAX);
	assert_int_equal(chunk_cq_room(cq_find(cq)->ctx, INT32_MAX), 0);
	assert_int_equal(chunk_cq_room(cq_find(cq)->ctx, 0), 0);
	assert_int_equal(ibv_query_qp(qp, &now, IBV_QP_CAP, &init), 0);
	assert_int_equal(now.cap.max_send_wr, 16);
	assert_int_equal(init.cap.max_send_wr, 16);
}

/* ibv_resize_cq() keeps the entries that were added for pieces while a QP has some of them. */
static void test_resize(void **state)
{
	struct stub_cq *s = stub_cq(cq);
	uint32_t added = cq_find(cq)->added;

	(void)state;
	assert_int_equal(ibv_resize_cq(cq, 32), 0);
	assert_int_equal(s->size, 32 + added);
	stub.max_cqe = 100;
	assert_int_equal(ibv_resize_cq(cq, 50), EINVAL);
	assert_int_equal(s->size, 32 + added);
	ibv_destroy_qp(qp);
	/* The provider refuses the size, so the CQ keeps its entries. */
	assert_int_equal(ibv_resize_cq(cq, 101), EINVAL);
	assert_int_equal(cq_find(cq)->added, added);
	assert_int_equal(cq_find(cq)->room, added);
	assert_int_equal(ibv_resize_cq(cq, 50), 0);
	stub.max_cqe = 0;
	assert_int_equal(s->size, 50);
	assert_int_equal(cq_find(cq)->added, 0);
	/* QPs that come now have no room. */
	qp = new_qp(cq, 16, IBV_QPT_RC, 0);
	assert_null(((struct qp *)table_find(&qps, qp))->chunk);
}

/* A program that resizes a CQ before it has QPs gets the size that it asked for. */
static void test_resize_unused(void **state)
{
	struct stub_cq *s = stub_cq(cq);

	(void)state;
	ibv_destroy_qp(qp);
	assert_true(cq_find(cq)->added > 0);
	assert_int_equal(ibv_resize_cq(cq, 32), 0);
	assert_int_equal(s->size, 32);
	qp = new_qp(cq, 16, IBV_QPT_RC, 0);
}

/* The provider takes @posted requests of three in 16 + 1 + 2 pieces, and refuses the next. */
static void refused_after(int pieces, int leave_bad, int requests)
{
	struct ibv_send_wr *bad = NULL;
	struct swiftrdma_figures f;
	struct request r[3];
	uint32_t used;

	fill(&r[0], 1, IBV_WR_RDMA_WRITE, 0, 65536, IBV_SEND_SIGNALED);
	fill(&r[1], 2, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
	fill(&r[2], 3, IBV_WR_RDMA_WRITE, 0, 8192, IBV_SEND_SIGNALED);
	stub.hold = 1;
	stub.fail_after = pieces;
	stub.leave_bad = leave_bad;
	assert_int_equal(post(r, 3, &bad), ENOMEM);
	stub.fail_after = -1;
	assert_ptr_equal(bad, leave_bad ? NULL : &r[requests].wr);
	if (leave_bad)
		return;
	f = rig_figures(qp);
	assert_int_equal(f.wrs, requests);
	used = ((struct qp *)table_find(&qps, qp))->chunk->used;
	/* The rest is posted again, as programs do. */
	assert_int_equal(post(r + requests, 3 - requests, &bad), 0);
	stub_complete(qp, 64);
	for (uint64_t id = 1; id <= 3; id++)
		is_polled(id, IBV_WC_SUCCESS, r[id - 1].sge[0].length);
	is_empty();
	assert_int_equal(rig_figures(qp).wrs, 3);
	assert_int_equal(rig_figures(qp).done, 3);
	post_one_request(4, IBV_WR_RDMA_WRITE, 8192, 0);
	assert_int_equal(((struct qp *)table_find(&qps, qp))->chunk->used, 1);
	assert_true(used <= 16);
}

static void test_refused(void **state)
{
	(void)state;
	refused_after(0, 0, 0);
}

static void test_refused_in_pieces(void **state)
{
	(void)state;
	refused_after(5, 0, 0);
}

static void test_refused_between(void **state)
{
	(void)state;
	refused_after(16, 0, 1);
}

static void test_refused_whole_one(void **state)
{
	(void)state;
	refused_after(17, 0, 2);
}

static void test_refused_last_piece(void **state)
{
	(void)state;
	refused_after(18, 0, 2);
}

static void test_refused_without_bad_wr(void **state)
{
	(void)state;
	refused_after(0, 1, 0);
}

/* Pieces of a request that was refused are flushed: the program has its answer already. */
static void test_refused_and_flushed(void **state)
{
	struct ibv_send_wr *bad;
	struct request r;

	(void)state;
	stub.hold = 1;
	stub.fail_after = 5;
	fill(&r, 1, IBV_WR_RDMA_WRITE, 0, 65536, IBV_SEND_SIGNALED);
	assert_int_equal(post(&r, 1, &bad), ENOMEM);
	stub_qp(qp)->error = 1;
	stub_complete(qp, 5);
	is_empty();
}

/* The program's queue is never shorter: 16 requests go at any time, and the rest whole. */
static void test_full_queue(void **state)
{
	struct ibv_send_wr *bad;
	struct request r;

	(void)state;
	stub.hold = 1;
	for (int i = 0; i < 16; i++)
		post_one_request((uint64_t)i, IBV_WR_RDMA_WRITE, 128 * KIB, i == 15 ? IBV_SEND_SIGNALED : 0);
	/* 256 pieces may be added: 8 requests of 32 pieces, and no more of that size. */
	assert_int_equal(stub_qp(qp)->posted, 8 * 32 + 8);
	assert_int_equal(ctl.report->chunk_wrs, 8);
	assert_int_equal(ctl.report->chunk_left, 8);
	stub_complete(qp, 264);
	is_polled(15, IBV_WC_SUCCESS, 128 * KIB);
	for (int i = 0; i < 16; i++)
		post_one_request((uint64_t)i, IBV_WR_RDMA_WRITE, 64 * KIB, 0);
	assert_int_equal(stub_qp(qp)->posted, 264 + 256);
	fill(&r, 1, IBV_WR_RDMA_WRITE, 0, 8, 0);
	assert_int_equal(ctl.report->chunk_left, 8);
	/* All fail: the completion queue has room for each piece. */
	stub_qp(qp)->error = 1;
	stub_complete(qp, 256);
	assert_int_equal(stub.overflows, 0);
	for (uint64_t i = 0; i < 16; i++)
		is_polled(i, IBV_WC_WR_FLUSH_ERR, 0);
	is_empty();
	(void)bad;
}

/* QPs that are left as they are; the report says so. */
static void test_unable(void **state)
{
	struct ibv_qp *first = qp;

	(void)state;
	ibv_destroy_qp(first);
	for (int i = 0; i < 4; i++) {
		stub.wrs = 0;
		stub.refuse_wrs = i == 2 ? 16 : 0;
		qp = new_qp(i == 3 ? rig.cq : cq, 16, i == 0 ? IBV_QPT_UC : IBV_QPT_RC, i == 1);
		post_one_request(1, IBV_WR_RDMA_WRITE, 65536, 0);
		assert_int_equal(stub.wrs, 1);
		assert_false(rig_slot(qp)->id.flags & SWIFTRDMA_SLOT_CHUNK);
		assert_int_equal(ctl.report->chunk_left, i + 1);
		assert_int_equal(knob_state(CHUNK), SWIFTRDMA_KNOB_STATE_UNABLE);
		ibv_destroy_qp(qp);
	}
	qp = new_qp(cq, 16, IBV_QPT_RC, 0);
	assert_int_equal(knob_state(CHUNK), SWIFTRDMA_KNOB_STATE_IN_FORCE);
}

/* The room of a completion queue is shared out, and comes back. */
static void test_shared_cq(void **state)
{
	struct ibv_qp *more[16];

	(void)state;
	/* 4096 entries were added, and each of these takes 256. */
	for (int i = 0; i < 16; i++) {
		more[i] = new_qp(cq, 16, IBV_QPT_RC, 0);
		assert_int_equal(!!(rig_slot(more[i])->id.flags & SWIFTRDMA_SLOT_CHUNK), i < 15);
	}
	ibv_destroy_qp(more[0]);
	more[0] = new_qp(cq, 16, IBV_QPT_RC, 0);
	assert_true(rig_slot(more[0])->id.flags & SWIFTRDMA_SLOT_CHUNK);
	for (int i = 0; i < 16; i++)
		ibv_destroy_qp(more[i]);
}

/* Two QPs that share a CQ of just their requests have room, both. */
static void test_small_cq(void **state)
{
	struct ibv_cq *small = ibv_create_cq(rig.ctx, 4, NULL, NULL, 0);
	struct ibv_qp *two[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		two[i] = new_qp(small, 2, IBV_QPT_RC, 0);
		assert_int_equal(((struct qp *)table_find(&qps, two[i]))->chunk->room, 256);
	}
	for (int i = 0; i < 2; i++)
		ibv_destroy_qp(two[i]);
	ibv_destroy_cq(small);
}

/* SWIFTRDMA_CHUNK=yes: queues have room before the knob comes. */
static void test_room_before_knob(void **state)
{
	(void)state;
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ctl_clear(CHUNK);
	for (int i = 0; i < 2; i++) {
		settings.chunk = i;
		ctl_clear(CHUNK);
		cq = ibv_create_cq(rig.ctx, 64, NULL, NULL, 0);
		qp = new_qp(cq, 16, IBV_QPT_RC, 0);
		stub.wrs = 0;
		post_one_request(1, IBV_WR_RDMA_WRITE, 65536, 0);
		assert_int_equal(stub.wrs, 1);
		ctl_set(CHUNK, 32768);
		post_one_request(2, IBV_WR_RDMA_WRITE, 65536, 0);
		assert_int_equal(stub.wrs, i ? 3 : 2);
		if (!i) {
			ibv_destroy_qp(qp);
			ibv_destroy_cq(cq);
		}
	}
}

static void test_counting_only(void **state)
{
	(void)state;
	settings.mode = MODE_COUNT;
	ibv_destroy_qp(qp);
	qp = new_qp(cq, 16, IBV_QPT_RC, 0);
	ctl_set(CHUNK, 8192);
	post_one_request(1, IBV_WR_RDMA_WRITE, 65536, 0);
	assert_int_equal(stub.wrs, 1);
	assert_int_equal(knob_state(CHUNK), SWIFTRDMA_KNOB_STATE_UNABLE);
}

/* ibv_start_poll(), ibv_next_poll(), on errors, too. */
static void test_by_entry(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 64, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_cq_ex *cqx = ibv_create_cq_ex(rig.ctx, &attr);
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_qp *was = qp;

	(void)state;
	qp = new_qp(ibv_cq_ex_to_cq(cqx), 16, IBV_QPT_RC, 0);
	stub.hold = 1;
	post_one_request(1, IBV_WR_RDMA_READ, 65536, IBV_SEND_SIGNALED);
	post_one_request(2, IBV_WR_RDMA_READ, 8, IBV_SEND_SIGNALED);
	post_one_request(3, IBV_WR_RDMA_READ, 65536, 0);
	post_one_request(4, IBV_WR_RDMA_READ, 65536, 0);
	assert_int_equal(stub_qp(qp)->posted, 49);
	stub_complete(qp, 20);
	assert_int_equal(ibv_start_poll(cqx, &none), 0);
	assert_int_equal(cqx->wr_id, 1);
	assert_int_equal(ibv_wc_read_byte_len(cqx), 65536);
	assert_int_equal(ibv_next_poll(cqx), 0);
	assert_int_equal(cqx->wr_id, 2);
	assert_int_equal(ibv_wc_read_byte_len(cqx), 8);
	assert_int_equal(ibv_next_poll(cqx), ENOENT);
	ibv_end_poll(cqx);
	assert_int_equal(rig_figures(qp).done, 2);
	assert_int_equal(rig_figures(qp).stopped, 0);
	stub_qp(qp)->error = 1;
	stub_complete(qp, 20);
	assert_int_equal(ibv_start_poll(cqx, &none), 0);
	assert_int_equal(cqx->wr_id, 3);
	assert_int_equal(ibv_next_poll(cqx), 0);
	assert_int_equal(cqx->wr_id, 4);
	assert_int_equal(ibv_next_poll(cqx), ENOENT);
	ibv_end_poll(cqx);
	/*
	 * The queue has only entries that the library drops. The poll finds nothing, and leaves
	 * the provider's lock free: a second poll does not hang.
	 */
	stub_complete(qp, 20);
	assert_int_equal(ibv_start_poll(cqx, &none), ENOENT);
	assert_int_equal(ibv_start_poll(cqx, &none), ENOENT);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cqx));
	qp = was;
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
	assert_in_range(rig.now - 1000000, 97 * MS, 100 * MS);
}

/* Completions that a blocked post polled are the program's, too. */
static void complete_all(void)
{
	stub_complete(qp, 64);
}

static void test_stash(void **state)
{
	(void)state;
	is_empty();
	stub.hold = 1;
	ctl_set(SWIFTRDMA_SHARE_KNOB_CREDITS, 1);
	ctl.meanwhile = complete_all;
	for (uint64_t i = 1; i <= 8; i++)
		post_one_request(i, IBV_WR_RDMA_READ, 65536, IBV_SEND_SIGNALED);
	stub_complete(qp, 64);
	for (uint64_t i = 1; i <= 8; i++)
		is_polled(i, IBV_WC_SUCCESS, 65536);
	is_empty();
	assert_int_equal(held(SWIFTRDMA_SHARE_KNOB_CREDITS)->passed, 0);
}

static void *post_many(void *arg)
{
	struct ibv_send_wr *bad;
	struct request r;

	for (int i = 0; i < THREAD_POSTS; i++) {
		/* Data of their own. */
		fill(&r, (uintptr_t)arg, IBV_WR_RDMA_WRITE, (uint32_t)(uintptr_t)arg * 65536, 65536,
		     IBV_SEND_SIGNALED);
		while (post(&r, 1, &bad))
			sched_yield();
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
		CHUNK_TEST(test_write_and_read), CHUNK_TEST(test_counts),
		CHUNK_TEST(test_what_is_not_split), CHUNK_TEST(test_flags),
		CHUNK_TEST(test_scatter_list), CHUNK_TEST(test_error),
		CHUNK_TEST(test_dropped_hide_nothing), CHUNK_TEST(test_destroyed),
		CHUNK_TEST(test_number_again), CHUNK_TEST(test_room_of_outstanding),
		CHUNK_TEST(test_sizes), CHUNK_TEST(test_resize), CHUNK_TEST(test_resize_unused),
		CHUNK_TEST(test_refused), CHUNK_TEST(test_refused_in_pieces),
		CHUNK_TEST(test_refused_between), CHUNK_TEST(test_refused_whole_one),
		CHUNK_TEST(test_refused_last_piece), CHUNK_TEST(test_refused_without_bad_wr),
		CHUNK_TEST(test_refused_and_flushed), CHUNK_TEST(test_full_queue),
		CHUNK_TEST(test_unable), CHUNK_TEST(test_shared_cq), CHUNK_TEST(test_small_cq),
		CHUNK_TEST(test_room_before_knob), CHUNK_TEST(test_counting_only),
		CHUNK_TEST(test_by_entry), CHUNK_TEST(test_other_knobs), CHUNK_TEST(test_stash),
		CHUNK_TEST(test_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
