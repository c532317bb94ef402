// SPDX-License-Identifier: GPL-2.0
/*
 * Work queue entries: from queue memory, where user space may change them at any
 * moment, into structures of ours that are checked once.
 */
#include "softhca.h"

#define SH_INLINE	BIT(31)
#define SH_EXTENDED_AV	BIT(31)

static void sh_sgl_add(struct sh_sgl *sgl, void *inl, u64 addr, u32 lkey, u32 len)
{
	if (!len)
		return;
	sgl->seg[sgl->n++] = (struct sh_seg){
		.inl = inl, .addr = addr, .lkey = lkey, .len = len,
	};
	sgl->len += len;
}

/* Appends the segments from p to end to the list. False if they do not parse. */
static bool sh_wqe_segs(struct sh_sgl *sgl, void *p, void *end)
{
	struct mlx5_wqe_data_seg *d;
	u32 n;

	while (p < end) {
		d = p;
		n = be32_to_cpu(d->byte_count);
		if (sgl->n == SH_MAX_SEGS)
			return false;
		if (n & SH_INLINE) {
			n &= MLX5_WQE_INLINE_SEG_BYTE_COUNT_MASK;
			if (p + 4 + n > end)
				return false;
			sh_sgl_add(sgl, p + 4, 0, 0, n);
			p += ALIGN(4 + n, 16);
		} else {
			if (n & SH_INLINE)
				return false;
			sh_sgl_add(sgl, NULL, be64_to_cpu(d->addr), be32_to_cpu(d->lkey), n);
			p += sizeof(*d);
		}
	}
	return true;
}

/* Parses the Ethernet segment of a frame's WQE, and adds the frame's inline first bytes to
 * @sgl. The segment holds two of these bytes, and the rest follows it. Returns where the data
 * segments begin. NULL: the segment does not parse, or asks for an offload; the device offers
 * none.
 */
static void *sh_wqe_eth(struct sh_sgl *sgl, void *p, void *end)
{
	struct mlx5_wqe_eth_seg *eth = p;
	u32 n, more;

	if (p + sizeof(*eth) > end || eth->cs_flags || eth->swp_flags || eth->mss)
		return NULL;
	n = be16_to_cpu(eth->inline_hdr.sz);
	more = n > sizeof(eth->inline_hdr.start) ?
	       ALIGN(n - sizeof(eth->inline_hdr.start), 16) : 0;
	if (p + sizeof(*eth) + more > end)
		return NULL;
	sh_sgl_add(sgl, eth->inline_hdr.start, 0, 0, n);
	return p + sizeof(*eth) + more;
}

static bool sh_wqe_legal(const struct sh_qp *qp, u8 op)
{
	switch (op) {
	case MLX5_OPCODE_NOP:
		return true;
	case MLX5_OPCODE_SEND:
		if (qp->st == SH_ST_SQ)
			return qp->tisn;
		fallthrough;
	case MLX5_OPCODE_SEND_IMM:
		return qp->st != MLX5_QPC_ST_REG_UMR && qp->st != SH_ST_SQ;
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		return sh_qp_connected(qp);
	case MLX5_OPCODE_SEND_INVAL:
	case MLX5_OPCODE_RDMA_READ:
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		return sh_qp_reliable(qp);
	case MLX5_OPCODE_UMR:
		return sh_qp_connected(qp) || qp->st == MLX5_QPC_ST_REG_UMR;
	default:
		return false;
	}
}

/* Copies a WQE of the send queue and takes it apart: 0 or the syndrome. Its index
 * and size are set as far as they can be known.
 */
u8 sh_wqe_load_tx(const struct sh_qp *qp, struct sh_tx *tx, u16 index)
{
	u32 n = 1U << qp->log_sq, i, ds, word, qpn_ds;
	struct mlx5_wqe_ctrl_seg *ctrl;
	void *p, *end, *bb;

	tx->sent = false;
	tx->held = false;
	tx->done = 0;
	tx->index = index;
	tx->bbs = 1;
	tx->sgl.n = 0;
	tx->sgl.len = 0;
	bb = sh_buf_at(&qp->buf, qp->sq_offset + (index & (n - 1)) * MLX5_SEND_WQE_BB);
	if (!bb)
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	memcpy(tx->wqe, bb, MLX5_SEND_WQE_BB);
	ctrl = (void *)tx->wqe;
	word = be32_to_cpu(ctrl->opmod_idx_opcode);
	qpn_ds = be32_to_cpu(ctrl->qpn_ds);
	ds = qpn_ds & MLX5_WQE_CTRL_DS_MASK;
	tx->opcode = word & 0xff;
	tx->ce_se = ctrl->fm_ce_se;
	tx->imm = ctrl->imm;
	if (qpn_ds >> 8 != qp->obj.id || ((word >> 8) & 0xffff) != index || !ds)
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	tx->bbs = DIV_ROUND_UP(ds * 16, MLX5_SEND_WQE_BB);
	if (tx->bbs > (u16)(qp->sq_pi - index)) {
		tx->bbs = (u16)(qp->sq_pi - index);
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	}
	for (i = 1; i < tx->bbs; i++) {
		bb = sh_buf_at(&qp->buf, qp->sq_offset +
			       ((index + i) & (n - 1)) * MLX5_SEND_WQE_BB);
		if (!bb)
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		memcpy(tx->wqe + i * MLX5_SEND_WQE_BB, bb, MLX5_SEND_WQE_BB);
	}
	if (!sh_wqe_legal(qp, tx->opcode))
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	end = tx->wqe + ds * 16;
	p = tx->wqe + sizeof(*ctrl);
	/* A NOP carries nothing; what changes a key is read where it is done. */
	if (tx->opcode == MLX5_OPCODE_NOP || tx->opcode == MLX5_OPCODE_UMR)
		return 0;

	if (qp->st == MLX5_QPC_ST_UD || qp->st == MLX5_QPC_ST_QP0 || qp->st == MLX5_QPC_ST_QP1) {
		struct mlx5_wqe_datagram_seg *dg = p;

		if (p + sizeof(*dg) > end)
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		tx->av = dg->av;
		p += sizeof(*dg);
	}
	if (qp->st == MLX5_QPC_ST_XRC) {
		struct mlx5_wqe_xrc_seg *xrc = p;

		if (p + sizeof(*xrc) > end)
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		tx->srqn = be32_to_cpu(xrc->xrc_srqn) & SH_MASK24;
		p += sizeof(*xrc);
	}
	if (qp->st == SH_ST_SQ) {
		p = sh_wqe_eth(&tx->sgl, p, end);
		if (!p)
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	}
	switch (tx->opcode) {
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_RDMA_READ:
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA: {
		struct mlx5_wqe_raddr_seg *r = p;

		if (p + sizeof(*r) > end)
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		tx->raddr = be64_to_cpu(r->raddr);
		tx->rkey = be32_to_cpu(r->rkey);
		p += sizeof(*r);
		break;
	}
	default:
		break;
	}
	if (tx->opcode == MLX5_OPCODE_ATOMIC_CS || tx->opcode == MLX5_OPCODE_ATOMIC_FA) {
		struct mlx5_wqe_atomic_seg *a = p;

		if (p + sizeof(*a) > end)
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		tx->swap_add = be64_to_cpu(a->swap_add);
		tx->compare = be64_to_cpu(a->compare);
		p += sizeof(*a);
	}
	if (!sh_wqe_segs(&tx->sgl, p, end))
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	return 0;
}

/* Up to where the consumer of this QP's messages has posted. */
u16 sh_wqe_rq_pi(struct sh_qp *qp)
{
	return be32_to_cpu(READ_ONCE(qp->dbrec[MLX5_RCV_DBR]));
}

/* A receive WQE ends early at the lkey that no MR has. */
static bool sh_wqe_parse_rx(struct sh_sgl *sgl, const u8 *wqe, u32 bytes)
{
	const struct mlx5_wqe_data_seg *d = (const void *)wqe;

	sgl->n = 0;
	sgl->len = 0;
	for (; (u8 *)(d + 1) <= wqe + bytes; d++) {
		u32 n = be32_to_cpu(d->byte_count);

		if (be32_to_cpu(d->lkey) == 0x100)
			break;
		if (n & SH_INLINE || sgl->n == SH_MAX_SEGS)
			return false;
		sh_sgl_add(sgl, NULL, be64_to_cpu(d->addr), be32_to_cpu(d->lkey), n);
	}
	return true;
}

static enum sh_rx_status sh_srq_load(struct sh_qp *qp)
{
	struct sh_srq *srq = qp->srq;
	u32 stride = 1U << srq->log_stride, skip = 0;
	struct mlx5_wqe_srq_next_seg *next;
	struct sh_rx *rx = qp->rx;
	u8 wqe[SH_MAX_WQE];
	u16 pi, left;
	void *at;

	pi = be32_to_cpu(READ_ONCE(*srq->dbrec));
	left = pi - srq->taken;
	if (srq->failed || !left || left > 1U << srq->log_size)
		return SH_RX_NONE;
	stride = min_t(u32, stride, sizeof(wqe));
	at = sh_buf_at(&srq->buf, (u32)srq->next << srq->log_stride);
	if (!at)
		return SH_RX_BAD;
	memcpy(wqe, at, stride);
	next = (void *)wqe;
	rx->index = srq->next;
	srq->taken++;
	srq->next = (srq->cyclic ? srq->next + 1 : be16_to_cpu(next->next_wqe_index)) &
		    ((1U << srq->log_size) - 1);
	if (srq->lwm && left - 1 < srq->lwm) {
		srq->lwm = 0;
		sh_event_srq(srq, MLX5_EVENT_TYPE_SRQ_RQ_LIMIT);
	}
	if (!srq->plain)
		skip = sizeof(*next);
	if (!sh_wqe_parse_rx(&rx->sgl, wqe + skip, stride - skip))
		return SH_RX_BAD;
	return SH_RX_OK;
}

/* The next receive WQE of this QP, as qp->rx. */
enum sh_rx_status sh_wqe_load_rx(struct sh_qp *qp)
{
	u32 stride = 1U << qp->log_rq_stride, skip = qp->wq_sig ? 16 : 0;
	u16 posted;
	u8 wqe[SH_MAX_WQE];
	void *at;

	if (qp->srq)
		return sh_srq_load(qp);
	if (!qp->has_rq)
		return SH_RX_NONE;
	posted = sh_wqe_rq_pi(qp) - qp->rq_ci;
	if (!posted || posted > 1U << qp->log_rq)
		return SH_RX_NONE;
	stride = min_t(u32, stride, sizeof(wqe));
	at = sh_buf_at(&qp->buf, (qp->rq_ci & ((1U << qp->log_rq) - 1)) << qp->log_rq_stride);
	if (!at)
		return SH_RX_BAD;
	memcpy(wqe, at, stride);
	qp->rx->index = qp->rq_ci++;
	if (skip >= stride || !sh_wqe_parse_rx(&qp->rx->sgl, wqe + skip, stride - skip))
		return SH_RX_BAD;
	return SH_RX_OK;
}
