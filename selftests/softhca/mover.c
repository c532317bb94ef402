// SPDX-License-Identifier: GPL-2.0
/*
 * The requester's half: whose turn it is, its next piece of a message, its
 * completion.
 */
#include "softhca.h"

/* What a QP gets per turn, in bytes and in WQEs, and all of them per look. */
#define SH_TURN_BYTES	(64 << 10)
#define SH_TURN_WQES	8
#define SH_LOOK_TURNS	64
#define SH_CE_MASK	0x0c
#define SH_CE_ALWAYS	0x08
#define SH_NO_TIMEOUT_NS (10 * NSEC_PER_MSEC)

static const u32 sh_rnr_us[32] = {
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560,
	3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840,
	245760, 327680, 491520,
};

static void sh_complete(struct sh_qp *qp)
{
	struct sh_tx *tx = qp->tx;
	struct mlx5_cqe64 cqe = {};
	/* A NOP always completes: its BlueFlame copy, by which the driver finds out
	 * whether write combining works, asks for it, and every copy arrives here.
	 */
	bool tell = (tx->ce_se & SH_CE_MASK) == SH_CE_ALWAYS || tx->opcode == MLX5_OPCODE_NOP;

	tx->active = false;
	qp->retries = 0;
	qp->rnr_retries = 0;
	qp->sq_ci += tx->bbs;
	qp->msgs++;
	sh_contention_executed(qp, tx->index);
	sh_latency_done(qp, tx->index, tell);
	if (!tell || !qp->scq)
		return;
	cqe.srqn = cpu_to_be32(qp->user_index);
	cqe.byte_cnt = cpu_to_be32(tx->sgl.len);
	cqe.sop_drop_qpn = cpu_to_be32((u32)tx->opcode << 24 | qp->obj.id);
	cqe.wqe_counter = cpu_to_be16(tx->index);
	sh_cq_put(qp->scq, &cqe, MLX5_CQE_REQ, false);
}

/* Its completion comes later, and with it whatever is behind it in its queue. */
static bool sh_hold(struct sh_qp *qp, u64 now)
{
	u32 us = qp->hca->knob.hold_us;

	if (!us)
		return false;
	qp->tx->held = true;
	qp->wake_ns = now + us * NSEC_PER_USEC;
	return true;
}

/* The request fails. A connection ends with it, a datagram QP's send queue. */
static void sh_fail(struct sh_qp *qp, u8 syndrome)
{
	struct sh_tx *tx = qp->tx;

	tx->active = false;
	qp->sq_ci += tx->bbs;
	sh_count_syndrome(qp, syndrome, false);
	if (qp->scq)
		sh_cq_put_err(qp->scq, qp, MLX5_CQE_REQ_ERR, syndrome, tx->index, tx->opcode);
	if (sh_qp_reliable(qp)) {
		sh_qp_to_err(qp);
	} else if (qp->state == MLX5_QPC_STATE_RTS) {
		qp->state = MLX5_QPC_STATE_SQER;
		list_del_init(&qp->run);
		sh_qp_flush(qp);
	}
}

/* No receive was posted at the other end: again after the time it asks for. */
static void sh_rnr(struct sh_qp *qp, struct sh_qp *peer, u64 now)
{
	u8 limit = MLX5_GET(qpc, qp->qpc, rnr_retry);

	sh_qp_counters(peer)->out_of_buffer++;
	if (limit != 7 && qp->rnr_retries >= limit) {
		sh_qp_counters(qp)->rnr_nak_retry_err++;
		sh_fail(qp, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
		return;
	}
	if (limit != 7)
		qp->rnr_retries++;
	qp->wake_ns = now + sh_rnr_us[MLX5_GET(qpc, peer->qpc, min_rnr_nak)] * 1000ULL;
}

/* Nobody answers. */
static void sh_lost(struct sh_qp *qp, u64 now)
{
	void *path = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
	u8 timeout = MLX5_GET(ads, path, ack_timeout);

	if (!timeout) {
		qp->wake_ns = now + SH_NO_TIMEOUT_NS;
		return;
	}
	if (qp->wake_ns)
		sh_qp_counters(qp)->local_ack_timeout_err++;
	if (qp->wake_ns && qp->retries++ >= MLX5_GET(qpc, qp->qpc, retry_count)) {
		sh_fail(qp, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
		return;
	}
	qp->wake_ns = now + (4096ULL << timeout);
}

/* A key change is done on this side alone. */
static u8 sh_umr(struct sh_qp *qp)
{
	struct sh_tx *tx = qp->tx;
	u32 key = be32_to_cpu(tx->imm);
	u32 ds = be32_to_cpu(((struct mlx5_wqe_ctrl_seg *)tx->wqe)->qpn_ds) &
		 MLX5_WQE_CTRL_DS_MASK;
	u32 skip = sizeof(struct mlx5_wqe_ctrl_seg);

	return sh_mr_umr(qp, tx->wqe + skip, ds * 16 - skip, key);
}

static enum sh_result sh_step_rc(struct sh_qp *qp, u64 *budget, u8 *syndrome, struct sh_qp **peer)
{
	struct sh_tx *tx = qp->tx;
	enum sh_access access = SH_LOCAL_READ;

	if (tx->sgl.len > 1ULL << MLX5_GET(qpc, qp->qpc, log_msg_max)) {
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
		return SH_FAIL;
	}
	if (tx->opcode == MLX5_OPCODE_RDMA_READ || tx->opcode == MLX5_OPCODE_ATOMIC_CS ||
	    tx->opcode == MLX5_OPCODE_ATOMIC_FA)
		access = SH_LOCAL_WRITE;
	if (!tx->sent) {
		*syndrome = sh_sgl_check(qp->hca, &tx->sgl, qp->pd, access);
		if (*syndrome)
			return SH_FAIL;
	}
	*peer = sh_peer(qp);
	if (!*peer)
		return qp->st == MLX5_QPC_ST_UC ? SH_DONE : SH_LOST;
	return sh_respond(qp, *peer, budget, syndrome);
}

/* One piece of the request at the head. True while there may be more to do. */
static bool sh_step(struct sh_qp *qp, u64 now, u64 *budget)
{
	struct sh_tx *tx = qp->tx;
	struct sh_qp *peer = NULL;
	u8 syndrome = 0;

	if (!tx->active) {
		if (!sh_qp_ready(qp))
			return false;
		tx->active = true;
		qp->wake_ns = 0;
		syndrome = sh_wqe_load_tx(qp, tx, qp->sq_ci);
		if (syndrome) {
			sh_fail(qp, syndrome);
			return false;
		}
	}
	if (tx->held || tx->opcode == MLX5_OPCODE_NOP) {
		sh_complete(qp);
		return true;
	}
	if (tx->opcode == MLX5_OPCODE_UMR) {
		syndrome = sh_umr(qp);
		if (syndrome)
			sh_fail(qp, syndrome);
		else
			sh_complete(qp);
		return !syndrome;
	}
	if (qp->st == SH_ST_SQ) {
		*budget -= min(*budget, tx->sgl.len);
		syndrome = sh_frame_send(qp);
		if (syndrome) {
			sh_fail(qp, syndrome);
			return false;
		}
		if (sh_hold(qp, now))
			return false;
		sh_complete(qp);
		return true;
	}
	if (!sh_qp_connected(qp)) {
		if (tx->sgl.len > SH_MTU)
			syndrome = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
		else
			syndrome = sh_sgl_check(qp->hca, &tx->sgl, qp->pd, SH_LOCAL_READ);
		if (syndrome) {
			sh_fail(qp, syndrome);
			return false;
		}
		*budget -= min(*budget, tx->sgl.len);
		sh_respond_ud(qp);
		if (sh_hold(qp, now))
			return false;
		sh_complete(qp);
		return true;
	}
	switch (sh_step_rc(qp, budget, &syndrome, &peer)) {
	case SH_DONE:
		if (sh_hold(qp, now))
			return false;
		sh_complete(qp);
		return qp->state == MLX5_QPC_STATE_RTS;
	case SH_MORE:
		return true;
	case SH_RNR:
		sh_rnr(qp, peer, now);
		return false;
	case SH_LOST:
		sh_lost(qp, now);
		return false;
	case SH_FAIL:
		sh_fail(qp, syndrome);
		return false;
	}
	return false;
}

/* A QP's turn: not longer than another's, so that none waits for a bulk one. */
static void sh_turn(struct sh_qp *qp, u64 now)
{
	u64 budget = SH_TURN_BYTES;
	int wqes = SH_TURN_WQES;

	while (budget && wqes && sh_step(qp, now, &budget))
		if (!qp->tx->active)
			wqes--;
	if (qp->state != MLX5_QPC_STATE_RTS)
		return;
	if (qp->tx->active || sh_qp_ready(qp))
		list_move_tail(&qp->run, &qp->hca->run);
	else
		list_del_init(&qp->run);
}

bool sh_move(struct sh_hca *h, u64 now)
{
	struct sh_qp *qp, *next;
	int turns = SH_LOOK_TURNS;
	bool busy = false;
	LIST_HEAD(round);

	list_splice_init(&h->run, &round);
	while (turns && !list_empty(&round)) {
		qp = list_first_entry(&round, struct sh_qp, run);
		if (qp->tx->active && qp->wake_ns > now) {
			/* Waits, and its time may come before the next long sleep. */
			list_move_tail(&qp->run, &h->run);
			busy = true;
			continue;
		}
		turns--;
		busy = true;
		sh_turn(qp, now);
	}
	list_splice(&round, &h->run);
	list_for_each_entry_safe(qp, next, &h->err, on_err)
		busy |= sh_qp_flush_rq(qp);
	return busy;
}
