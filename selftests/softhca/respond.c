// SPDX-License-Identifier: GPL-2.0
/*
 * The responder's half: where a message goes, whether it may, the bytes, the
 * receive completion.
 */
#include <linux/etherdevice.h>

#include "softhca.h"

#define SH_AV_GRH	BIT(30)
#define SH_QKEY_OWN	BIT(31)
#define SH_WQE_SOLICITED 0x02

static struct sh_hca *sh_lid_at(struct sh_hca *from, u16 lid)
{
	int i;

	for (i = 0; i < softhca.nhcas; i++) {
		struct sh_hca *h = softhca.hca[i];

		if (h->port.lid == lid && h->port.up && from->port.up)
			return h;
	}
	return NULL;
}

/* The QP at the other end of a connection, if it is connected with us too. */
struct sh_qp *sh_peer(struct sh_qp *qp)
{
	void *path = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
	struct sh_qp *peer;
	struct sh_hca *h;

	if (softhca.eth)
		h = sh_roce_at(qp->hca, MLX5_GET(ads, path, src_addr_index),
			       MLX5_ADDR_OF(ads, path, rgid_rip),
			       MLX5_ADDR_OF(ads, path, rmac_47_32));
	else
		h = sh_lid_at(qp->hca, MLX5_GET(ads, path, rlid));
	if (!h)
		return NULL;
	peer = sh_find(h, SH_QP, MLX5_GET(qpc, qp->qpc, remote_qpn));
	if (!peer || peer->st != qp->st || (qp->st == MLX5_QPC_ST_XRC && peer->has_sq) ||
	    MLX5_GET(qpc, peer->qpc, remote_qpn) != qp->obj.id)
		return NULL;
	switch (peer->state) {
	case MLX5_QPC_STATE_RTR:
	case MLX5_QPC_STATE_RTS:
	case MLX5_QPC_STATE_SQD:
	case MLX5_QPC_STATE_SQER:
		return peer;
	default:
		return NULL;
	}
}

static void sh_receive(struct sh_qp *peer, struct sh_tx *tx, u8 opcode, u64 bytes)
{
	struct mlx5_cqe64 cqe = {};

	peer->rx->active = false;
	if (!peer->rcq)
		return;
	cqe.srqn = cpu_to_be32(peer->user_index);
	cqe.immediate = tx->imm;
	cqe.byte_cnt = cpu_to_be32(bytes);
	cqe.sop_drop_qpn = cpu_to_be32(peer->obj.id);
	cqe.wqe_counter = cpu_to_be16(peer->rx->index);
	sh_cq_put(peer->rcq, &cqe, opcode, tx->ce_se & SH_WQE_SOLICITED);
}

/* The responder gives up: with the receive request it was at, or with an event. */
static void sh_refuse(struct sh_qp *peer, u8 syndrome, u8 event)
{
	sh_count_syndrome(peer, syndrome, true);
	if (!peer->rx->active) {
		if (sh_qp_reliable(peer))
			sh_qp_fatal(peer, event);
		return;
	}
	peer->rx->active = false;
	if (peer->rcq)
		sh_cq_put_err(peer->rcq, peer, MLX5_CQE_RESP_ERR, syndrome, peer->rx->index, 0);
	sh_qp_to_err(peer);
}

/* Takes the receive request that the message needs. */
static enum sh_result sh_take_rx(struct sh_qp *peer, u64 len, u8 *syndrome)
{
	switch (sh_wqe_load_rx(peer)) {
	case SH_RX_NONE:
		return SH_RNR;
	case SH_RX_BAD:
		peer->rx->active = true;
		sh_refuse(peer, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, 0);
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_OP_ERR;
		return SH_FAIL;
	case SH_RX_OK:
		break;
	}
	peer->rx->active = true;
	if (len > peer->rx->sgl.len) {
		sh_refuse(peer, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, 0);
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
		return SH_FAIL;
	}
	if (len && sh_sgl_check(peer->hca, &peer->rx->sgl, peer->pd, SH_LOCAL_WRITE)) {
		sh_refuse(peer, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, 0);
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_OP_ERR;
		return SH_FAIL;
	}
	return SH_DONE;
}

static enum sh_result sh_more(const struct sh_tx *tx)
{
	return tx->done == tx->sgl.len ? SH_DONE : SH_MORE;
}

static enum sh_result sh_send(struct sh_qp *qp, struct sh_qp *peer, u64 *budget, u8 *syndrome)
{
	struct sh_tx *tx = qp->tx;
	enum sh_result r;
	u8 opcode;

	if (!tx->sent) {
		r = sh_take_rx(peer, tx->sgl.len, syndrome);
		if (r != SH_DONE)
			return r;
		tx->sent = true;
	}
	/* The peer went through reset in the middle of this message. */
	if (!peer->rx->active)
		return SH_LOST;
	while (*budget && tx->done < tx->sgl.len) {
		u64 n = min(*budget, tx->sgl.len - tx->done);
		void *src, *dst;

		src = sh_sgl_map(qp->hca, &tx->sgl, qp->pd, tx->done, SH_LOCAL_READ, &n);
		if (!src) {
			*syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
			return SH_FAIL;
		}
		dst = sh_sgl_map(peer->hca, &peer->rx->sgl, peer->pd, tx->done, SH_LOCAL_WRITE,
				 &n);
		if (!dst) {
			sh_refuse(peer, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, 0);
			*syndrome = MLX5_CQE_SYNDROME_REMOTE_OP_ERR;
			return SH_FAIL;
		}
		memmove(dst, src, n);
		tx->done += n;
		*budget -= n;
	}
	if (sh_more(tx) == SH_MORE)
		return SH_MORE;
	opcode = MLX5_CQE_RESP_SEND;
	if (tx->opcode == MLX5_OPCODE_SEND_IMM)
		opcode = MLX5_CQE_RESP_SEND_IMM;
	if (tx->opcode == MLX5_OPCODE_SEND_INVAL) {
		opcode = MLX5_CQE_RESP_SEND_INV;
		if (sh_mr_remote_inval(peer, be32_to_cpu(tx->imm))) {
			sh_refuse(peer, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR, 0);
			*syndrome = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
			return SH_FAIL;
		}
	}
	sh_receive(peer, tx, opcode, tx->sgl.len);
	return SH_DONE;
}

/* What reads and writes have in common: is it allowed, and all of it there? */
static bool sh_remote_ok(struct sh_qp *qp, struct sh_qp *peer, bool enabled,
			 enum sh_access access, u64 len, u8 *syndrome)
{
	struct sh_tx *tx = qp->tx;

	if (!enabled) {
		sh_refuse(peer, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
			  MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR);
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
		return false;
	}
	/* Nothing is touched, so nothing is checked. */
	if (len && !sh_mr_ok(peer->hca, tx->rkey, peer->pd, tx->raddr, len, access)) {
		sh_refuse(peer, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
			  MLX5_EVENT_TYPE_WQ_ACCESS_ERROR);
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR;
		return false;
	}
	return true;
}

static enum sh_result sh_rdma(struct sh_qp *qp, struct sh_qp *peer, u64 *budget, u8 *syndrome)
{
	bool read = qp->tx->opcode == MLX5_OPCODE_RDMA_READ;
	enum sh_access local = read ? SH_LOCAL_WRITE : SH_LOCAL_READ;
	enum sh_access remote = read ? SH_REMOTE_READ : SH_REMOTE_WRITE;
	struct sh_tx *tx = qp->tx;
	enum sh_result r;

	if (!tx->sent) {
		bool enabled = read ? MLX5_GET(qpc, peer->qpc, rre) :
				      MLX5_GET(qpc, peer->qpc, rwe);

		if (!sh_remote_ok(qp, peer, enabled, remote, tx->sgl.len, syndrome))
			return SH_FAIL;
		tx->sent = true;
		if (read)
			sh_qp_counters(peer)->rx_read_requests++;
		else
			sh_qp_counters(peer)->rx_write_requests++;
	}
	while (*budget && tx->done < tx->sgl.len) {
		u64 n = min(*budget, tx->sgl.len - tx->done);
		u64 addr = tx->raddr + tx->done;
		void *here, *there;

		here = sh_sgl_map(qp->hca, &tx->sgl, qp->pd, tx->done, local, &n);
		if (!here) {
			*syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
			return SH_FAIL;
		}
		there = sh_mr_at(peer->hca, tx->rkey, peer->pd, addr, &n, remote);
		if (!there) {
			sh_refuse(peer, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
				  MLX5_EVENT_TYPE_WQ_ACCESS_ERROR);
			*syndrome = MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR;
			return SH_FAIL;
		}
		if (read)
			memmove(here, there, n);
		else
			memmove(there, here, n);
		tx->done += n;
		*budget -= n;
	}
	if (sh_more(tx) == SH_MORE)
		return SH_MORE;
	if (tx->opcode == MLX5_OPCODE_RDMA_WRITE_IMM) {
		/* Only the last packet needs it; the data are there already. */
		r = sh_take_rx(peer, 0, syndrome);
		if (r != SH_DONE)
			return r;
		sh_receive(peer, tx, MLX5_CQE_RESP_WR_IMM, tx->sgl.len);
	}
	return SH_DONE;
}

static enum sh_result sh_atomic(struct sh_qp *qp, struct sh_qp *peer, u8 *syndrome)
{
	struct sh_tx *tx = qp->tx;
	u64 n = 8, old, *there;
	void *here;

	if (tx->raddr & 7 || tx->sgl.len != 8) {
		sh_refuse(peer, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
			  MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR);
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
		return SH_FAIL;
	}
	if (!sh_remote_ok(qp, peer, MLX5_GET(qpc, peer->qpc, rae), SH_REMOTE_ATOMIC, 8,
			  syndrome))
		return SH_FAIL;
	here = sh_sgl_map(qp->hca, &tx->sgl, qp->pd, 0, SH_LOCAL_WRITE, &n);
	if (!here || n < 8) {
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
		return SH_FAIL;
	}
	there = sh_mr_at(peer->hca, tx->rkey, peer->pd, tx->raddr, &n, SH_REMOTE_ATOMIC);
	if (!there || n < 8) {
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR;
		return SH_FAIL;
	}
	sh_qp_counters(peer)->rx_atomic_requests++;
	if (tx->opcode == MLX5_OPCODE_ATOMIC_CS)
		old = cmpxchg(there, tx->compare, tx->swap_add);
	else
		old = atomic64_fetch_add(tx->swap_add, (atomic64_t *)there);
	memcpy(here, &old, 8);
	tx->done = 8;
	return SH_DONE;
}

static bool sh_is_rdma(u8 opcode)
{
	return opcode == MLX5_OPCODE_RDMA_WRITE || opcode == MLX5_OPCODE_RDMA_WRITE_IMM ||
	       opcode == MLX5_OPCODE_RDMA_READ || opcode == MLX5_OPCODE_ATOMIC_CS ||
	       opcode == MLX5_OPCODE_ATOMIC_FA;
}

static bool sh_takes_rx(u8 opcode)
{
	return opcode == MLX5_OPCODE_RDMA_WRITE_IMM || !sh_is_rdma(opcode);
}

static enum sh_result sh_respond_op(struct sh_qp *qp, struct sh_qp *peer, u64 *budget,
				    u8 *syndrome)
{
	if (peer->st == MLX5_QPC_ST_XRC && !sh_xrc_enter(peer, qp->tx->srqn)) {
		sh_refuse(peer, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
			  MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR);
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
		return SH_FAIL;
	}
	switch (qp->tx->opcode) {
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_RDMA_READ:
		return sh_rdma(qp, peer, budget, syndrome);
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		return sh_atomic(qp, peer, syndrome);
	default:
		return sh_send(qp, peer, budget, syndrome);
	}
}

/* @qp sent a message of @bytes: its LAG port and the flow counters count the packets. */
static void sh_count_sent(struct sh_qp *qp, u64 bytes)
{
	u64 pkts = sh_packets(qp, bytes);

	sh_count_lag(qp, bytes, pkts);
	sh_flow_sent(qp, bytes, pkts);
}

enum sh_result sh_respond(struct sh_qp *qp, struct sh_qp *peer, u64 *budget, u8 *syndrome)
{
	enum sh_result r;

	if (!peer->come && peer->state == MLX5_QPC_STATE_RTR) {
		peer->come = true;
		sh_event_qp(peer, MLX5_EVENT_TYPE_COMM_EST);
	}
	r = sh_respond_op(qp, peer, budget, syndrome);
	if (r == SH_DONE) {
		sh_count_message(qp, peer->hca, qp->tx->sgl.len);
		/* What a read brings was sent by the other end. */
		sh_count_sent(qp->tx->opcode == MLX5_OPCODE_RDMA_READ ? peer : qp, qp->tx->sgl.len);
		sh_contention_received(peer, qp->tx, sh_is_rdma(qp->tx->opcode),
				       sh_takes_rx(qp->tx->opcode));
	}
	if (peer->st == MLX5_QPC_ST_XRC)
		sh_xrc_leave(peer);
	/* An unreliable connection loses what is not wanted, and goes on. */
	if (qp->st != MLX5_QPC_ST_UC)
		return r;
	if (r == SH_FAIL && *syndrome == MLX5_CQE_SYNDROME_LOCAL_PROT_ERR)
		return SH_FAIL;
	return r == SH_MORE ? SH_MORE : SH_DONE;
}

/* A group's address: a LID of its own, or a GID. */
static bool sh_is_multicast(const struct mlx5_av *av)
{
	return softhca.eth ? is_multicast_ether_addr(av->rmac) : be16_to_cpu(av->rlid) >= 0xc000;
}

static void sh_fill_grh(u8 *grh, struct sh_qp *qp, struct sh_hca *to, const struct mlx5_av *av,
			u64 len)
{
	__be64 sgid[2] = { cpu_to_be64(0xfe80000000000000ULL), cpu_to_be64(qp->hca->port.guid) };

	memset(grh, 0, SH_GRH);
	grh[0] = 6 << 4;
	grh[4] = (len + 24) >> 8;
	grh[5] = len + 24;
	grh[6] = 27;
	grh[7] = av->hop_limit;
	memcpy(grh + 8, sgid, 16);
	memcpy(grh + 24, av->rgid, 16);
}

static void sh_deliver_ud(struct sh_qp *qp, struct sh_qp *peer)
{
	struct sh_tx *tx = qp->tx;
	bool grh = softhca.eth || be32_to_cpu(tx->av.grh_gid_fl) & SH_AV_GRH;
	u8 sl = tx->av.stat_rate_sl & 0xf;
	u32 qkey = be32_to_cpu(tx->av.key.qkey.qkey);
	u32 sqpn = MLX5_GET(qpc, qp->qpc, deth_sqpn) ?: qp->obj.id;
	struct mlx5_cqe64 cqe = {};
	u8 head[SH_GRH], syndrome;
	u64 at = 0, total = tx->sgl.len + SH_GRH;

	if (qp->st == MLX5_QPC_ST_QP1)
		sqpn = 1;
	if (qp->st == MLX5_QPC_ST_QP0)
		sqpn = 0;
	if (qkey & SH_QKEY_OWN)
		qkey = MLX5_GET(qpc, qp->qpc, q_key);
	if (peer->st == MLX5_QPC_ST_UD && qkey != MLX5_GET(qpc, peer->qpc, q_key))
		return;
	if (sh_take_rx(peer, total, &syndrome) != SH_DONE) {
		sh_qp_counters(peer)->out_of_buffer++;
		return;
	}
	if (softhca.eth)
		sl = sh_roce_head(head, qp->hca, &tx->av, tx->sgl.len);
	else
		sh_fill_grh(head, qp, peer->hca, &tx->av, tx->sgl.len);
	while (at < total) {
		u64 n = at < SH_GRH ? SH_GRH - at : total - at;
		void *src, *dst;

		if (at < SH_GRH)
			src = head + at;
		else
			src = sh_sgl_map(qp->hca, &tx->sgl, qp->pd, at - SH_GRH, SH_LOCAL_READ,
					 &n);
		dst = src ? sh_sgl_map(peer->hca, &peer->rx->sgl, peer->pd, at, SH_LOCAL_WRITE,
				       &n) : NULL;
		if (!dst) {
			sh_refuse(peer, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, 0);
			return;
		}
		/* Without a GRH those 40 bytes are left as they are. */
		if (at >= SH_GRH || grh)
			memmove(dst, src, n);
		at += n;
	}
	peer->rx->active = false;
	sh_contention_received(peer, tx, false, true);
	if (!peer->rcq)
		return;
	cqe.srqn = cpu_to_be32(peer->user_index);
	cqe.slid = softhca.eth ? 0 : cpu_to_be16(qp->hca->port.lid);
	/* RoCE has the kind of header where InfiniBand has the SL. */
	cqe.flags_rqpn = cpu_to_be32((u32)grh << 28 | (u32)sl << 24 | sqpn);
	if (peer->st == MLX5_QPC_ST_QP1)
		cqe.pkey = cpu_to_be32(0xffff);
	if (tx->opcode == MLX5_OPCODE_SEND_IMM)
		cqe.immediate = tx->imm;
	cqe.byte_cnt = cpu_to_be32(total);
	cqe.sop_drop_qpn = cpu_to_be32(peer->obj.id);
	cqe.wqe_counter = cpu_to_be16(peer->rx->index);
	sh_cq_put(peer->rcq, &cqe, tx->opcode == MLX5_OPCODE_SEND_IMM ?
		  MLX5_CQE_RESP_SEND_IMM : MLX5_CQE_RESP_SEND, tx->ce_se & SH_WQE_SOLICITED);
}

static bool sh_can_receive(const struct sh_qp *qp)
{
	return qp && !sh_qp_connected(qp) && !sh_qp_lone(qp) &&
	       (qp->state == MLX5_QPC_STATE_RTR || qp->state == MLX5_QPC_STATE_RTS ||
		qp->state == MLX5_QPC_STATE_SQER);
}

static void sh_multicast(struct sh_qp *qp)
{
	struct sh_mcg *mcg;
	struct sh_qp *peer;
	int i;

	for (i = 0; i < softhca.nhcas; i++) {
		struct sh_hca *h = softhca.hca[i];

		if (!sh_port_active(h) || !sh_port_active(qp->hca))
			continue;
		list_for_each_entry(mcg, &h->mcgs, link) {
			if (memcmp(mcg->gid, qp->tx->av.rgid, 16))
				continue;
			peer = sh_find(h, SH_QP, mcg->qpn);
			if (!sh_can_receive(peer) || peer == qp)
				continue;
			sh_deliver_ud(qp, peer);
			sh_count_multicast(qp, h);
		}
	}
}

/* A datagram goes where it can; what cannot be delivered is lost. */
void sh_respond_ud(struct sh_qp *qp)
{
	struct sh_tx *tx = qp->tx;
	u32 dqpn = be32_to_cpu(tx->av.dqp_dct) & SH_MASK24;
	struct sh_qp *peer;
	struct sh_hca *h;

	if (sh_is_multicast(&tx->av)) {
		sh_count_multicast(qp, NULL);
		sh_multicast(qp);
		return;
	}
	if (softhca.eth)
		h = sh_roce_at(qp->hca, be32_to_cpu(tx->av.grh_gid_fl) >> 20 & 0xff,
			       tx->av.rgid, tx->av.rmac);
	else
		h = sh_lid_at(qp->hca, be16_to_cpu(tx->av.rlid));
	if (!h)
		return;
	if (dqpn < 2)
		dqpn = dqpn ? h->qp1 : h->qp0;
	peer = sh_find(h, SH_QP, dqpn);
	if (!sh_can_receive(peer))
		return;
	sh_deliver_ud(qp, peer);
	sh_count_message(qp, h, tx->sgl.len);
	sh_count_sent(qp, tx->sgl.len);
}

/* A frame from the wire for a receive queue: lost where no receive is posted. */
void sh_respond_frame(struct sh_qp *rq, const u8 *frame, u32 len, u32 tag)
{
	struct mlx5_cqe64 cqe = {};
	u64 at, n;
	u8 syndrome;
	void *dst;

	if (!rq || rq->st != SH_ST_RQ || rq->state != MLX5_QPC_STATE_RTR)
		return;
	if (sh_take_rx(rq, len, &syndrome) != SH_DONE) {
		sh_qp_counters(rq)->out_of_buffer++;
		return;
	}
	for (at = 0; at < len; at += n) {
		n = len - at;
		dst = sh_sgl_map(rq->hca, &rq->rx->sgl, rq->pd, at, SH_LOCAL_WRITE, &n);
		if (!dst) {
			sh_refuse(rq, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, 0);
			return;
		}
		memcpy(dst, frame + at, n);
	}
	rq->rx->active = false;
	rq->msgs++;
	rq->bytes += len;
	cqe.srqn = cpu_to_be32(rq->user_index);
	cqe.byte_cnt = cpu_to_be32(len);
	/* A frame's completion has the tag of the flow rule in place of the QPN. */
	cqe.sop_drop_qpn = cpu_to_be32(tag);
	cqe.wqe_counter = cpu_to_be16(rq->rx->index);
	sh_cq_put(rq->rcq, &cqe, MLX5_CQE_RESP_SEND, true);
}
