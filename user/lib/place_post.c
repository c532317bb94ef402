// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting to a QP in a thread domain. libmlx5 then expects one thread at a time, and takes no
 * lock, neither on the queues nor on the register. The locks here are in place of them:
 *
 *  .sq of the QP	where libmlx5 would hold its send queue's: while requests are posted, and from
 *			wr_start to wr_complete or wr_abort;
 *  .lock of the register	inside .sq, while libmlx5 rings the register. Between wr_start and
 *			wr_complete it is free: a thread may build batches of several QPs at once;
 *  .rq of the QP	where libmlx5 would hold its receive queue's.
 *
 * Nothing else guards what they guard, so they are never lost: a thread waits for the holder for
 * as long as it takes, as it would for libmlx5's locks.
 *
 * In a forked child the QP is its parent's, and the child makes the same calls without locks.
 */
#include "lib/placed.h"

static inline struct placed *placed_of(const struct ibv_qp *qp, bool *alive)
{
	const struct qp *q = qp_find(qp);

	*alive = *q->alive;
	return q->placed;
}

int placed_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	enum bias_token sq, reg;
	struct placed *p;
	bool alive;
	int ret;

	p = placed_of(qp, &alive);
	if (unlikely(!alive))
		return p->ctx->real.post_send(qp, wr, bad_wr);
	sq = bias_lock_kept(&p->sq);
	reg = ring_lock(p->reg);
	ret = p->ctx->real.post_send(qp, wr, bad_wr);
	bias_unlock(&p->reg->lock, reg);
	bias_unlock(&p->sq, sq);
	return ret;
}

int placed_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	enum bias_token rq;
	struct placed *p;
	bool alive;
	int ret;

	p = placed_of(qp, &alive);
	if (unlikely(!alive))
		return p->ctx->real.post_recv(qp, wr, bad_wr);
	rq = bias_lock_kept(&p->rq);
	ret = p->ctx->real.post_recv(qp, wr, bad_wr);
	bias_unlock(&p->rq, rq);
	return ret;
}

/* libmlx5 posts the request that binds the window by itself. */
int placed_bind_mw(struct qp *q, struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct placed *p = q->placed;
	enum bias_token sq, reg;
	int ret;

	sq = bias_lock_kept(&p->sq);
	reg = ring_lock(p->reg);
	ret = p->ctx->real.bind_mw(qp, mw, bind);
	bias_unlock(&p->reg->lock, reg);
	bias_unlock(&p->sq, sq);
	return ret;
}

/* --- ibv_wr_*() ------------------------------------------------------------------ */

static void placed_wr_start(struct ibv_qp_ex *qpx)
{
	enum bias_token sq = BIAS_NESTED;
	struct placed *p;
	bool alive;

	p = placed_of(&qpx->qp_base, &alive);
	if (likely(alive))
		sq = bias_lock_kept(&p->sq);
	p->wr.start(qpx);
	p->batch = sq;
}

static int placed_wr_complete(struct ibv_qp_ex *qpx)
{
	enum bias_token sq, reg;
	struct placed *p;
	bool alive;
	int ret;

	p = placed_of(&qpx->qp_base, &alive);
	if (unlikely(!alive))
		return p->wr.complete(qpx);
	sq = p->batch;
	reg = ring_lock(p->reg);
	ret = p->wr.complete(qpx);
	bias_unlock(&p->reg->lock, reg);
	bias_unlock(&p->sq, sq);
	return ret;
}

static void placed_wr_abort(struct ibv_qp_ex *qpx)
{
	enum bias_token sq;
	struct placed *p;
	bool alive;

	p = placed_of(&qpx->qp_base, &alive);
	sq = p->batch;
	p->wr.abort(qpx);
	if (likely(alive))
		bias_unlock(&p->sq, sq);
}

void placed_patch(struct placed *p, struct placed_wr *wr)
{
	if (wr->start != placed_wr_start) {
		p->wr.start = wr->start;
		wr->start = placed_wr_start;
	}
	if (wr->complete != placed_wr_complete) {
		p->wr.complete = wr->complete;
		wr->complete = placed_wr_complete;
	}
	if (wr->abort != placed_wr_abort) {
		p->wr.abort = wr->abort;
		wr->abort = placed_wr_abort;
	}
}
