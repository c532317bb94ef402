// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues without a QP: of a raw packet QP, which sends frames, or of mlx5_core (since
 * 6.9; before that, mlx5_ib has a QP for that), which finds out by NOPs whether write
 * combining works. Those of mlx5_core name no TIS, and no PD, since NOPs refer to no memory.
 */
#include "softhca.h"

/* A send queue stores the LAG port and the priority of its frames where a QP stores its own. */
void sh_sq_path(struct sh_qp *sq, const struct sh_tis *tis)
{
	void *path = MLX5_ADDR_OF(qpc, sq->qpc, primary_address_path);

	MLX5_SET(qpc, sq->qpc, lag_tx_port_affinity, tis->lag_port);
	MLX5_SET(ads, path, eth_prio, tis->prio);
}

/* Loads the queue of a send or receive queue, and its doorbell record. */
int sh_wq_load(struct sh_cmd *c, struct sh_qp *qp, void *wq, u64 bytes)
{
	int status = sh_dbrec(c, &qp->dbrec, MLX5_GET64(wq, wq, dbr_addr), false, 0);

	return status ?: sh_buf_load(c, &qp->buf, MLX5_ADDR_OF(wq, wq, pas), bytes,
				     MLX5_GET(wq, wq, log_wq_pg_sz) + 12,
				     MLX5_GET(wq, wq, page_offset));
}

/* The state of a send or receive queue; SQs and RQs have the same numbers for it. */
u8 sh_wq_state(const struct sh_qp *qp)
{
	BUILD_BUG_ON((int)MLX5_SQC_STATE_RST != (int)MLX5_RQC_STATE_RST ||
		     (int)MLX5_SQC_STATE_RDY != (int)MLX5_RQC_STATE_RDY ||
		     (int)MLX5_SQC_STATE_ERR != (int)MLX5_RQC_STATE_ERR);
	switch (qp->state) {
	case MLX5_QPC_STATE_RST:
		return MLX5_SQC_STATE_RST;
	case MLX5_QPC_STATE_RTR:
	case MLX5_QPC_STATE_RTS:
		return MLX5_SQC_STATE_RDY;
	default:
		return MLX5_SQC_STATE_ERR;
	}
}

/* Moves a send or receive queue to state @to. The driver may not know yet that the queue
 * failed, so @from, the state that the driver names, counts only for RDY.
 */
int sh_wq_modify(struct sh_qp *qp, u8 from, u8 to)
{
	switch (to) {
	case MLX5_SQC_STATE_RST:
		sh_qp_reset(qp);
		return MLX5_CMD_STAT_OK;
	case MLX5_SQC_STATE_RDY:
		if (from != sh_wq_state(qp) || from == MLX5_SQC_STATE_ERR)
			return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
		qp->state = qp->has_sq ? MLX5_QPC_STATE_RTS : MLX5_QPC_STATE_RTR;
		if (qp->has_sq) {
			sh_qp_kick(qp);
			sh_qp_go(qp);
		}
		return MLX5_CMD_STAT_OK;
	case MLX5_SQC_STATE_ERR:
		sh_qp_to_err(qp);
		return MLX5_CMD_STAT_OK;
	}
	return MLX5_CMD_STAT_BAD_PARAM_ERR;
}

static int sh_create_sq(struct sh_cmd *c)
{
	void *sqc = MLX5_ADDR_OF(create_sq_in, c->in, ctx);
	void *wq = MLX5_ADDR_OF(sqc, sqc, wq);
	struct sh_uar *uar = sh_find_own(c, SH_UAR, MLX5_GET(wq, wq, uar_page));
	struct sh_cq *cq = sh_find_shared(c, SH_CQ, MLX5_GET(sqc, sqc, cqn));
	u32 tisn = MLX5_GET(sqc, sqc, tis_lst_sz) ? MLX5_GET(sqc, sqc, tis_num_0) : 0;
	struct sh_tis *tis = sh_find_own(c, SH_TIS, tisn);
	u8 log = MLX5_GET(wq, wq, log_wq_sz);
	u32 pd = MLX5_GET(wq, wq, pd);
	struct sh_qp *qp;
	int status;

	if (MLX5_GET(wq, wq, wq_type) != MLX5_WQ_TYPE_CYCLIC || log > 15 ||
	    1U << MLX5_GET(wq, wq, log_wq_stride) != MLX5_SEND_WQE_BB ||
	    MLX5_GET(sqc, sqc, state) != MLX5_SQC_STATE_RST ||
	    MLX5_GET(sqc, sqc, hairpin) || MLX5_GET(sqc, sqc, qos_queue_group_id) ||
	    MLX5_GET(wq, wq, dbr_umem_valid) || MLX5_GET(wq, wq, wq_umem_valid))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!uar || !cq || (tisn && (!tis || !sh_find_own(c, SH_PD, pd))))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	qp = sh_new(c, SH_QP, sizeof(*qp), &status);
	if (!qp)
		return status;
	qp->hca = c->hca;
	qp->st = SH_ST_SQ;
	qp->user_index = MLX5_GET(sqc, sqc, user_index);
	qp->has_sq = true;
	qp->log_sq = log;
	qp->uar = uar;
	qp->scq = cq;
	if (tisn) {
		qp->tisn = tisn;
		qp->pd = pd;
		sh_sq_path(qp, tis);
	}
	status = sh_qp_open(c, qp, sh_wq_load(c, qp, wq, (u64)MLX5_SEND_WQE_BB << log));
	if (!status)
		MLX5_SET(create_sq_out, c->out, sqn, qp->obj.id);
	return status;
}

static struct sh_qp *sh_sq_own(struct sh_cmd *c, u32 sqn)
{
	struct sh_qp *qp = sh_find_own(c, SH_QP, sqn);

	return qp && qp->st == SH_ST_SQ ? qp : NULL;
}

static int sh_modify_sq(struct sh_cmd *c)
{
	struct sh_qp *qp = sh_sq_own(c, MLX5_GET(modify_sq_in, c->in, sqn));
	void *sqc = MLX5_ADDR_OF(modify_sq_in, c->in, ctx);

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	/* Rates and scheduling elements */
	if (MLX5_GET64(modify_sq_in, c->in, modify_bitmask))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	return sh_wq_modify(qp, MLX5_GET(modify_sq_in, c->in, sq_state),
			    MLX5_GET(sqc, sqc, state));
}

static int sh_query_sq(struct sh_cmd *c)
{
	struct sh_qp *qp = sh_sq_own(c, MLX5_GET(query_sq_in, c->in, sqn));
	void *sqc = MLX5_ADDR_OF(query_sq_out, c->out, sq_context);

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	MLX5_SET(sqc, sqc, state, sh_wq_state(qp));
	MLX5_SET(sqc, sqc, cqn, qp->scq->obj.id);
	MLX5_SET(sqc, sqc, user_index, qp->user_index);
	MLX5_SET(sqc, sqc, tis_lst_sz, !!qp->tisn);
	MLX5_SET(sqc, sqc, tis_num_0, qp->tisn);
	MLX5_SET(sqc, sqc, wq.log_wq_sz, qp->log_sq);
	MLX5_SET(sqc, sqc, wq.log_wq_stride, ilog2(MLX5_SEND_WQE_BB));
	MLX5_SET(sqc, sqc, wq.pd, qp->pd);
	return MLX5_CMD_STAT_OK;
}

static int sh_destroy_sq(struct sh_cmd *c)
{
	struct sh_qp *qp = sh_sq_own(c, MLX5_GET(destroy_sq_in, c->in, sqn));

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sh_qp_free(c->hca, qp);
	return MLX5_CMD_STAT_OK;
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_CREATE_SQ, sh_create_sq },
	{ MLX5_CMD_OP_MODIFY_SQ, sh_modify_sq },
	{ MLX5_CMD_OP_QUERY_SQ, sh_query_sq },
	{ MLX5_CMD_OP_DESTROY_SQ, sh_destroy_sq },
};

sh_cmd_fn sh_cmd_sq(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}
