// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: doorbells, the error state, the end.
 */
#include <linux/slab.h>

#include "softhca.h"

/* The QP of a command, if whoever sent it may touch it. Lone send and receive queues have
 * numbers of the same kind, and commands of their own.
 */
struct sh_qp *sh_qp_own(struct sh_cmd *c, u32 qpn)
{
	struct sh_qp *qp = sh_find_own(c, SH_QP, qpn);

	return qp && !sh_qp_lone(qp) ? qp : NULL;
}

/* The last step of a command that makes a QP, whose queue was loaded with that
 * status: in RST. Where that fails the QP is gone.
 */
int sh_qp_open(struct sh_cmd *c, struct sh_qp *qp, int status)
{
	qp->tx = kzalloc(sizeof(*qp->tx), GFP_KERNEL);
	qp->rx = kzalloc(sizeof(*qp->rx), GFP_KERNEL);
	if (!status && (!qp->tx || !qp->rx || sh_latency_open(qp) || sh_contention_open(qp)))
		status = MLX5_CMD_STAT_INT_ERR;
	if (status) {
		sh_latency_close(qp);
		sh_buf_free(&qp->buf);
		kfree(qp->tx);
		kfree(qp->rx);
		sh_del(c->hca, SH_QP, qp);
		return status;
	}
	INIT_LIST_HEAD(&qp->run);
	INIT_LIST_HEAD(&qp->on_err);
	INIT_LIST_HEAD(&qp->on_uar);
	if (qp->uar) {
		list_add_tail(&qp->on_uar, &qp->uar->qps);
		qp->uar->nqps++;
	}
	if (qp->scq)
		qp->scq->nqps++;
	if (qp->rcq)
		qp->rcq->nqps++;
	if (qp->srq)
		qp->srq->nqps++;
	return MLX5_CMD_STAT_OK;
}

/* Is there a WQE that may be executed? Where sq_go is ahead of what was posted,
 * user space changed the size of a WQE after its doorbell: wait for those behind.
 */
bool sh_qp_ready(const struct sh_qp *qp)
{
	u16 go = qp->sq_go - qp->sq_ci;

	return go && go <= (u16)(qp->sq_pi - qp->sq_ci);
}

/* In RTS with all that is posted. */
void sh_qp_go(struct sh_qp *qp)
{
	sh_contention_post(qp);
	if (sh_qp_ready(qp) && list_empty(&qp->run))
		list_add_tail(&qp->run, &qp->hca->run);
}

/* The doorbell record says how far the send queue is filled. */
void sh_qp_kick(struct sh_qp *qp)
{
	u16 pi;

	if (!qp->has_sq || qp->state == MLX5_QPC_STATE_RST)
		return;
	pi = be32_to_cpu(READ_ONCE(qp->dbrec[MLX5_SND_DBR]));
	if (pi == qp->sq_pi || sh_record_falsified(qp, pi))
		return;
	if ((u16)(pi - qp->sq_ci) > 1U << qp->log_sq) {
		if (qp->state != MLX5_QPC_STATE_ERR)
			sh_qp_fatal(qp, MLX5_EVENT_TYPE_WQ_CATAS_ERROR);
		return;
	}
	qp->uar->wqebbs += (u16)(pi - qp->sq_pi);
	sh_latency_posted(qp, pi);
	qp->sq_pi = pi;
	sh_falsify_record(qp);
	switch (qp->state) {
	case MLX5_QPC_STATE_RTS:
		sh_qp_go(qp);
		break;
	case MLX5_QPC_STATE_ERR:
	case MLX5_QPC_STATE_SQER:
		sh_qp_flush(qp);
		break;
	}
}

static void sh_flush_one(struct sh_qp *qp)
{
	u32 n = 1U << qp->log_sq, bbs = 1, ds;
	struct mlx5_wqe_ctrl_seg *ctrl;
	u16 index = qp->sq_ci;
	u8 opcode = 0;

	ctrl = sh_buf_at(&qp->buf, qp->sq_offset + (index & (n - 1)) * MLX5_SEND_WQE_BB);
	if (ctrl) {
		ds = be32_to_cpu(READ_ONCE(ctrl->qpn_ds)) & MLX5_WQE_CTRL_DS_MASK;
		opcode = be32_to_cpu(READ_ONCE(ctrl->opmod_idx_opcode));
		bbs = max_t(u32, 1, DIV_ROUND_UP(ds * 16, MLX5_SEND_WQE_BB));
	}
	qp->sq_ci += min_t(u16, bbs, qp->sq_pi - qp->sq_ci);
	sh_qp_counters(qp)->req_cqe_flush_error++;
	if (qp->scq)
		sh_cq_put_err(qp->scq, qp, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
			      index, opcode);
}

/* Every send request that is left, signalled or not, comes back flushed. */
void sh_qp_flush(struct sh_qp *qp)
{
	if (!qp->has_sq)
		return;
	qp->tx->active = false;
	sh_contention_flush(qp);
	while (qp->sq_ci != qp->sq_pi)
		sh_flush_one(qp);
	sh_latency_flush(qp);
}

static void sh_flush_rx(struct sh_qp *qp, u16 index)
{
	sh_qp_counters(qp)->resp_cqe_flush_error++;
	if (qp->rcq)
		sh_cq_put_err(qp->rcq, qp, MLX5_CQE_RESP_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
			      index, 0);
}

/* And every receive request; those posted later too, for which nobody rings. */
bool sh_qp_flush_rq(struct sh_qp *qp)
{
	bool any = false;
	u16 posted;

	if (qp->rx->active) {
		qp->rx->active = false;
		sh_flush_rx(qp, qp->rx->index);
		any = true;
	}
	if (!qp->has_rq || qp->srq)
		return any;
	posted = sh_wqe_rq_pi(qp) - qp->rq_ci;
	if (posted > 1U << qp->log_rq)
		return any;
	while (posted--) {
		sh_flush_rx(qp, qp->rq_ci++);
		any = true;
	}
	return any;
}

void sh_qp_to_err(struct sh_qp *qp)
{
	if (qp->state == MLX5_QPC_STATE_ERR)
		return;
	qp->state = MLX5_QPC_STATE_ERR;
	list_del_init(&qp->run);
	if (qp->has_sq) {
		u16 pi = be32_to_cpu(READ_ONCE(qp->dbrec[MLX5_SND_DBR]));

		if ((u16)(pi - qp->sq_ci) <= 1U << qp->log_sq)
			qp->sq_pi = pi;
	}
	sh_qp_flush(qp);
	sh_qp_flush_rq(qp);
	if (qp->srq && qp->st != MLX5_QPC_ST_XRC)
		sh_event_qp(qp, MLX5_EVENT_TYPE_SRQ_LAST_WQE);
	list_add_tail(&qp->on_err, &qp->hca->err);
}

/* An error that no completion tells. */
void sh_qp_fatal(struct sh_qp *qp, u8 event)
{
	if (qp->state == MLX5_QPC_STATE_ERR)
		return;
	sh_qp_to_err(qp);
	sh_event_qp(qp, event);
}

void sh_qp_reset(struct sh_qp *qp)
{
	list_del_init(&qp->run);
	list_del_init(&qp->on_err);
	qp->state = MLX5_QPC_STATE_RST;
	qp->sq_ci = 0;
	qp->sq_pi = 0;
	qp->rq_ci = 0;
	sh_latency_flush(qp);
	sh_contention_flush(qp);
	qp->come = false;
	qp->wake_ns = 0;
	qp->tx->active = false;
	qp->rx->active = false;
}

void sh_qp_free(struct sh_hca *h, struct sh_qp *qp)
{
	struct sh_mcg *mcg, *next;

	if (qp->mcgs) {
		list_for_each_entry_safe(mcg, next, &h->mcgs, link) {
			if (mcg->qpn != qp->obj.id)
				continue;
			list_del(&mcg->link);
			kfree(mcg);
		}
	}
	list_del(&qp->run);
	list_del(&qp->on_err);
	list_del(&qp->on_uar);
	sh_contention_close(qp);
	sh_latency_close(qp);
	sh_sched_unbind(qp);
	if (qp->uar)
		qp->uar->nqps--;
	if (qp->scq)
		qp->scq->nqps--;
	if (qp->rcq)
		qp->rcq->nqps--;
	if (qp->srq)
		qp->srq->nqps--;
	if (h->qp1 == qp->obj.id)
		h->qp1 = 0;
	if (h->qp0 == qp->obj.id)
		h->qp0 = 0;
	sh_buf_free(&qp->buf);
	kfree(qp->tx);
	kfree(qp->rx);
	sh_del(h, SH_QP, qp);
}

struct sh_qset *sh_qp_counters(struct sh_qp *qp)
{
	struct sh_qset *q = qp->qset ? sh_find(qp->hca, SH_QCOUNTER, qp->qset) : NULL;

	return q ?: &qp->hca->dflt;
}
