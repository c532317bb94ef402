/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two ends of a connection in one process, over the devices of move_fabric.h. Both ends use the one
 * library of this process. The test calls move_round() in place of the library's thread.
 */
#ifndef UNIT_MOVE_RIG_H
#define UNIT_MOVE_RIG_H

#include "move_fabric.h"

#define BYTES 8

struct end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct fake_srq srq;
	struct end *peer;
	bool gone;			/* its program does nothing any more */
	bool quiet;			/* it posts no more sends */
	unsigned int polls;
	uint64_t posted, done, recv_posted, received, errors;
	uint64_t in[RING], out[RING], got[RING];
	uint64_t written;		/* by the peer */
	uint64_t number;		/* the peer reads it */
};

static struct end end[2];

static struct move *move_of_end(const struct end *e)
{
	return ((struct qp *)table_find(&qps, e->qp))->move;
}

static bool end_frozen(const struct end *e)
{
	return move_of_end(e) && move_of_end(e)->frozen;
}

static bool end_shares[2];	/* its receives are in a shared receive queue */

static bool end_shared(const struct end *e)
{
	return end_shares[e - end];
}

static void end_post_recv(struct end *e)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&e->in[e->recv_posted % RING], .length = BYTES };
	struct ibv_recv_wr wr = { .wr_id = e->recv_posted, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (end_shared(e) ? ibv_post_srq_recv(&e->srq.srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad)) {
		e->errors++;
		return;
	}
	e->recv_posted++;
}

static bool end_ex;		/* QPs have ibv_wr_*(); each second list is a batch of it */

static void end_build(const struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *qpx = (struct ibv_qp_ex *)e->qp;

	qpx->wr_id = wr->wr_id;
	qpx->wr_flags = wr->send_flags;
	if (wr->opcode == IBV_WR_SEND_WITH_IMM)
		ibv_wr_send_imm(qpx, wr->imm_data);
	else if (wr->opcode == IBV_WR_RDMA_WRITE)
		ibv_wr_rdma_write(qpx, 0, wr->wr.rdma.remote_addr);
	else
		ibv_wr_rdma_read(qpx, 0, wr->wr.rdma.remote_addr);
	ibv_wr_set_sge(qpx, 0, wr->sg_list->addr, wr->sg_list->length);
}

/* By the one way or the other, which a program may mix. */
static int end_send(const struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *qpx = (struct ibv_qp_ex *)e->qp;
	struct ibv_send_wr *bad;

	if (!end_ex || wr->wr_id % 2)
		return ibv_post_send(e->qp, wr, &bad);
	if (wr->wr_id % 8 == 4) {
		ibv_wr_start(qpx);
		end_build(e, wr);
		ibv_wr_abort(qpx);
	}
	ibv_wr_start(qpx);
	end_build(e, wr);
	return ibv_wr_complete(qpx);
}

/*
 * Operation i, of three: a send of i, with immediate data; a write of i, unsignalled; a read of the
 * peer's number, signalled.
 */
static void end_post(struct end *e, unsigned int last_signalled)
{
	uint64_t i = e->posted;
	struct ibv_sge sge = { .addr = (uintptr_t)&e->out[i % RING], .length = BYTES };
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
		.send_flags = i % 6 == 5 || i % 6 == last_signalled ? IBV_SEND_SIGNALED : 0,
	};

	e->out[i % RING] = i;
	switch (i % 3) {
	case 0:
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htonl((uint32_t)i);
		break;
	case 1:
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = (uintptr_t)&e->peer->written;
		break;
	default:
		sge.addr = (uintptr_t)&e->got[i % RING];
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = (uintptr_t)&e->peer->number;
	}
	if (end_send(e, &wr))
		e->errors++;
	else
		e->posted++;
}

static void end_take(struct end *e, const struct ibv_wc *wc)
{
	assert_int_equal(wc->qp_num, e->qp->qp_num);
	if (wc->status) {
		e->errors++;
		return;
	}
	if (wc->opcode == IBV_WC_RECV) {
		assert_int_equal(wc->wr_id, e->received);
		assert_int_equal(ntohl(wc->imm_data), 3 * e->received);
		assert_int_equal(e->in[wc->wr_id % RING], 3 * e->received);
		e->received++;
		/* The write before the send is there, and none of after the next one. */
		assert_true(e->received == 1 || e->written >= 3 * (e->received - 2) + 1);
		end_post_recv(e);
		return;
	}
	assert_true(wc->wr_id >= e->done);
	if (wc->wr_id % 3 == 2)
		assert_int_equal(e->got[wc->wr_id % RING], e->peer->number);
	e->done = wc->wr_id + 1;
}

static uint64_t end_entries;	/* flags of an extended CQ, read entry by entry; 0: an ordinary one */

/* The first error says no more than which request. */
static void end_take_entry(struct end *e, struct ibv_cq_ex *x)
{
	struct ibv_wc wc = { .wr_id = x->wr_id, .status = x->status, .qp_num = ibv_wc_read_qp_num(x) };

	if (!wc.status) {
		wc.opcode = ibv_wc_read_opcode(x);
		wc.byte_len = ibv_wc_read_byte_len(x);
		wc.imm_data = ibv_wc_read_imm_data(x);
		wc.wc_flags = ibv_wc_read_wc_flags(x);
	}
	assert_int_equal(ibv_wc_read_vendor_err(x), (uint32_t)fake_mix(wc.wr_id, 1));
	if (!wc.status && end_entries & IBV_WC_EX_WITH_SL) {
		assert_int_equal(ibv_wc_read_src_qp(x), (uint32_t)fake_mix(wc.wr_id, 2));
		assert_int_equal(ibv_wc_read_slid(x), (uint16_t)fake_mix(wc.wr_id, 3));
		assert_int_equal(ibv_wc_read_sl(x), (uint8_t)fake_mix(wc.wr_id, 4));
		assert_int_equal(ibv_wc_read_dlid_path_bits(x), (uint8_t)fake_mix(wc.wr_id, 5));
	}
	end_take(e, &wc);
}

/* Some at once; what is there after these comes with the next poll. */
static bool end_poll_entries(struct end *e)
{
	struct ibv_cq_ex *x = (struct ibv_cq_ex *)e->cq;
	struct ibv_poll_cq_attr attr = { 0 };
	int ret = ibv_start_poll(x, &attr), n = 0;

	if (ret) {
		assert_int_equal(ret, ENOENT);
		return false;
	}
	do {
		end_take_entry(e, x);
	} while (++n < 5 && !(ret = ibv_next_poll(x)));
	ibv_end_poll(x);
	return true;
}

static struct ibv_comp_channel *end_channel;	/* of the CQs; NULL: programs poll all the time */

/*
 * One completion for each event. A program relies on the event that arming the CQ causes where there
 * are more. It is slow, so the library polls most of what completes while a QP moves.
 */
static void end_wait(struct end *e)
{
	struct fake_cq *cq = (struct fake_cq *)e->cq;
	struct ibv_wc wc;

	if (++e->polls % 8)
		return;
	for (; cq->events; cq->events--) {
		assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
		if (ibv_poll_cq(e->cq, 1, &wc) > 0)
			end_take(e, &wc);
	}
}

static void end_poll_all(struct end *e)
{
	struct ibv_wc wc[4];
	int n;


	/* Each third time by ibv_poll_cq(), which a program may mix. */
	if (end_entries && ++e->polls % 3)
		while (end_poll_entries(e))
			;

	while ((n = ibv_poll_cq(e->cq, 4, wc)) > 0)
		for (int i = 0; i < n; i++)
			end_take(e, &wc[i]);
}

static void end_poll(struct end *e)
{
	if (end_channel)
		end_wait(e);
	else
		end_poll_all(e);
}

static uint32_t end_wrs = WRS;

static void end_create(struct end *e, uintptr_t number)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = end_wrs, .max_recv_wr = WRS,
						.max_send_sge = 1, .max_recv_sge = 1 },
	};

	*e = (struct end){ .peer = &end[1 - number], .number = 77 + number };
	if (end_entries)
		e->cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(rig.ctx, &(struct ibv_cq_init_attr_ex){
			.cqe = 2 * WRS, .cq_context = (void *)number, .wc_flags = end_entries,
			.channel = end_channel,
		}));
	else
		e->cq = ibv_create_cq(rig.ctx, 2 * WRS, (void *)number, end_channel, 0);
	assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
	init.send_cq = init.recv_cq = e->cq;
	e->srq.srq.context = rig.ctx;
	init.srq = end_shared(e) ? &e->srq.srq : NULL;
	if (end_ex) {
		struct ibv_qp_init_attr_ex ex = {
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.pd = &rig.pd, .send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM |
				IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ,
		};

		memcpy(&ex, &init, offsetof(struct ibv_qp_init_attr_ex, comp_mask));
		e->qp = ibv_create_qp_ex(rig.ctx, &ex);
		init.cap = ex.cap;
	} else {
		e->qp = ibv_create_qp(&rig.pd, &init);
	}
	assert_int_equal(init.cap.max_send_wr, end_wrs);
}

static int access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

static void end_connect(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .qp_access_flags = (unsigned int)access_flags,
		.dest_qp_num = e->peer->qp->qp_num, .max_rd_atomic = 1, .max_dest_rd_atomic = 1,
	};

	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS), 0);
	for (int i = 0; i < WRS; i++)
		end_post_recv(e);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				       IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

static inline int move_setup(void **state)
{
	static int tests;

	(void)state;
	memset(&fab, 0, sizeof(fab));
	memset(&ctl, 0, sizeof(ctl));
	next = (struct next){
		.open_device = fake_open_device, .close_device = stub_close_device,
		.create_cq = fake_create_cq, .destroy_cq = fake_destroy_cq,
		.create_qp = fake_create_qp, .modify_qp = fake_modify_qp,
		.query_qp = fake_query_qp, .destroy_qp = fake_destroy_qp,
		.qp_to_qp_ex = fake_to_qp_ex,
		.alloc_pd = fake_alloc_pd, .dealloc_pd = fake_dealloc_pd,
	};
	lib_share = fake_share;
	lib_clock = rig_clock;
	life_begin();
	settings.mode = MODE_LATENCY;
	settings.control = true;
	settings.move = true;
	settings.move_thread = false;
	settings.move_fail = MOVE_STEP_NONE;
	rig.now = 1000 * S;
	snprintf(stub_device.name, sizeof(stub_device.name), "move%d", tests++);
	rig.ctx = ibv_open_device(&stub_device);
	rig.pd.context = rig.ctx;
	end_create(&end[0], 0);
	end_create(&end[1], 1);
	end_connect(&end[0]);
	end_connect(&end[1]);
	return 0;
}

/* What a setup function has set for the ends holds for one test. */
static inline int move_teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		if (end[i].qp)
			ibv_destroy_qp(end[i].qp);
		ibv_destroy_cq(end[i].cq);
	}
	assert_null(fab.qps);
	assert_int_equal(fab.pds, 0);
	assert_int_equal(fab.wrong, 0);
	assert_int_equal(moves_active, 0);
	ibv_close_device(rig.ctx);
	settings.move = false;
	end_ex = false;
	end_entries = 0;
	end_channel = NULL;
	end_shares[0] = end_shares[1] = false;
	return 0;
}

#endif /* UNIT_MOVE_RIG_H */
