// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues without a QP, for frames, and the objects between queues and the wire. A
 * flow rule names a TIR, and the TIR names the receive queue of the rule's frames. A send
 * queue of frames names a TIS. A TIR receives no frames of a TIS that has the same transport
 * domain.
 */
#include "softhca.h"

/* --- receive queues ------------------------------------------------------------- */

static struct sh_qp *sh_rq_own(struct sh_cmd *c, u32 rqn)
{
	struct sh_qp *rq = sh_find_own(c, SH_QP, rqn);

	return rq && rq->st == SH_ST_RQ ? rq : NULL;
}

static int sh_create_rq(struct sh_cmd *c)
{
	void *rqc = MLX5_ADDR_OF(create_rq_in, c->in, ctx);
	void *wq = MLX5_ADDR_OF(rqc, rqc, wq);
	u8 log = MLX5_GET(wq, wq, log_wq_sz), stride = MLX5_GET(wq, wq, log_wq_stride);
	struct sh_cq *cq = sh_find_shared(c, SH_CQ, MLX5_GET(rqc, rqc, cqn));
	u32 pd = MLX5_GET(wq, wq, pd);
	struct sh_qp *rq;
	int status;

	/* No receives shared with others, no WQE for several frames, no hairpin */
	if (!softhca.eth || MLX5_GET(rqc, rqc, mem_rq_type) ||
	    MLX5_GET(wq, wq, wq_type) != MLX5_WQ_TYPE_CYCLIC || log > 15 || stride < 4 ||
	    stride > ilog2(SH_MAX_WQE) || MLX5_GET(rqc, rqc, state) != MLX5_RQC_STATE_RST ||
	    MLX5_GET(rqc, rqc, hairpin) || MLX5_GET(rqc, rqc, scatter_fcs) ||
	    MLX5_GET(wq, wq, dbr_umem_valid) || MLX5_GET(wq, wq, wq_umem_valid))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!cq || !sh_find_own(c, SH_PD, pd))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	rq = sh_new(c, SH_QP, sizeof(*rq), &status);
	if (!rq)
		return status;
	rq->hca = c->hca;
	rq->st = SH_ST_RQ;
	rq->user_index = MLX5_GET(rqc, rqc, user_index);
	rq->qset = MLX5_GET(rqc, rqc, counter_set_id);
	rq->has_rq = true;
	rq->log_rq = log;
	rq->log_rq_stride = stride;
	rq->pd = pd;
	rq->rcq = cq;
	rq->wq_sig = MLX5_GET(wq, wq, wq_signature);
	status = sh_wq_load(c, rq, wq, 1ULL << (log + stride));
	status = sh_qp_open(c, rq, status);
	if (!status)
		MLX5_SET(create_rq_out, c->out, rqn, rq->obj.id);
	return status;
}

static int sh_modify_rq(struct sh_cmd *c)
{
	struct sh_qp *rq = sh_rq_own(c, MLX5_GET(modify_rq_in, c->in, rqn));
	void *rqc = MLX5_ADDR_OF(modify_rq_in, c->in, ctx);

	if (!rq)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	/* VLAN stripping, FCS, the set of counters */
	if (MLX5_GET64(modify_rq_in, c->in, modify_bitmask))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	return sh_wq_modify(rq, MLX5_GET(modify_rq_in, c->in, rq_state),
			    MLX5_GET(rqc, rqc, state));
}

static int sh_query_rq(struct sh_cmd *c)
{
	struct sh_qp *rq = sh_rq_own(c, MLX5_GET(query_rq_in, c->in, rqn));
	void *rqc = MLX5_ADDR_OF(query_rq_out, c->out, rq_context);

	if (!rq)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	MLX5_SET(rqc, rqc, state, sh_wq_state(rq));
	MLX5_SET(rqc, rqc, cqn, rq->rcq->obj.id);
	MLX5_SET(rqc, rqc, user_index, rq->user_index);
	MLX5_SET(rqc, rqc, wq.log_wq_sz, rq->log_rq);
	MLX5_SET(rqc, rqc, wq.log_wq_stride, rq->log_rq_stride);
	MLX5_SET(rqc, rqc, wq.pd, rq->pd);
	return MLX5_CMD_STAT_OK;
}

static int sh_destroy_rq(struct sh_cmd *c)
{
	struct sh_qp *rq = sh_rq_own(c, MLX5_GET(destroy_rq_in, c->in, rqn));
	struct sh_tir *tir;
	unsigned long i;

	if (!rq)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	xa_for_each(&c->hca->tab[SH_TIR].xa, i, tir)
		if (tir->rqn == rq->obj.id)
			return MLX5_CMD_STAT_RES_BUSY;
	if (sh_rqt_has(c->hca, rq->obj.id))
		return MLX5_CMD_STAT_RES_BUSY;
	sh_qp_free(c->hca, rq);
	return MLX5_CMD_STAT_OK;
}

/* --- TIRs and TISes --------------------------------------------------------------- */

static int sh_create_tir(struct sh_cmd *c)
{
	void *tirc = MLX5_ADDR_OF(create_tir_in, c->in, ctx);
	bool spread = MLX5_GET(tirc, tirc, disp_type) == MLX5_TIRC_DISP_TYPE_INDIRECT;
	u32 rqn = MLX5_GET(tirc, tirc, inline_rqn), rqtn = MLX5_GET(tirc, tirc, indirect_table);
	u32 td = MLX5_GET(tirc, tirc, transport_domain);
	struct sh_tir *tir;
	int status;

	if (MLX5_GET(tirc, tirc, tunneled_offload_en))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!(spread ? sh_find_own(c, SH_RQT, rqtn) : sh_rq_own(c, rqn)) ||
	    !sh_find_shared(c, SH_TD, td))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	tir = sh_new(c, SH_TIR, sizeof(*tir), &status);
	if (!tir)
		return status;
	tir->td = td;
	if (!spread) {
		tir->rqn = rqn;
	} else if (!sh_rss_load(tir, tirc)) {
		sh_del(c->hca, SH_TIR, tir);
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
	MLX5_SET(create_tir_out, c->out, tirn, tir->obj.id);
	return MLX5_CMD_STAT_OK;
}

static int sh_destroy_tir(struct sh_cmd *c)
{
	struct sh_tir *tir = sh_find_own(c, SH_TIR, MLX5_GET(destroy_tir_in, c->in, tirn));

	if (!tir)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (sh_flow_uses(c->hca, SH_FLOW_TIR, tir->obj.id))
		return MLX5_CMD_STAT_RES_BUSY;
	sh_del(c->hca, SH_TIR, tir);
	return MLX5_CMD_STAT_OK;
}

static int sh_create_tis(struct sh_cmd *c)
{
	void *tisc = MLX5_ADDR_OF(create_tis_in, c->in, ctx);
	u32 td = MLX5_GET(tisc, tisc, transport_domain);
	struct sh_tis *tis;
	int status;

	if (!softhca.eth)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!sh_find_shared(c, SH_TD, td))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	tis = sh_new(c, SH_TIS, sizeof(*tis), &status);
	if (!tis)
		return status;
	tis->td = td;
	MLX5_SET(create_tis_out, c->out, tisn, tis->obj.id);
	return MLX5_CMD_STAT_OK;
}

static int sh_modify_tis(struct sh_cmd *c)
{
	struct sh_tis *tis = sh_find_own(c, SH_TIS, MLX5_GET(modify_tis_in, c->in, tisn));
	void *tisc = MLX5_ADDR_OF(modify_tis_in, c->in, ctx);
	struct sh_qp *sq;
	unsigned long i;

	if (!tis)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (MLX5_GET(modify_tis_in, c->in, bitmask.lag_tx_port_affinity))
		tis->lag_port = MLX5_GET(tisc, tisc, lag_tx_port_affinity);
	/* The field has four bits; the lowest is not part of the priority. */
	if (MLX5_GET(modify_tis_in, c->in, bitmask.prio))
		tis->prio = MLX5_GET(tisc, tisc, prio) >> 1;
	xa_for_each(&c->hca->tab[SH_QP].xa, i, sq)
		if (sq->st == SH_ST_SQ && sq->tisn == tis->obj.id)
			sh_sq_path(sq, tis);
	return MLX5_CMD_STAT_OK;
}

static int sh_query_tis(struct sh_cmd *c)
{
	struct sh_tis *tis = sh_find_own(c, SH_TIS, MLX5_GET(query_tis_in, c->in, tisn));
	void *tisc = MLX5_ADDR_OF(query_tis_out, c->out, tis_context);

	if (!tis)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	MLX5_SET(tisc, tisc, lag_tx_port_affinity, tis->lag_port);
	MLX5_SET(tisc, tisc, prio, tis->prio << 1);
	MLX5_SET(tisc, tisc, transport_domain, tis->td);
	return MLX5_CMD_STAT_OK;
}

static int sh_destroy_tis(struct sh_cmd *c)
{
	struct sh_tis *tis = sh_find_own(c, SH_TIS, MLX5_GET(destroy_tis_in, c->in, tisn));
	struct sh_qp *sq;
	unsigned long i;

	if (!tis)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	xa_for_each(&c->hca->tab[SH_QP].xa, i, sq)
		if (sq->st == SH_ST_SQ && sq->tisn == tis->obj.id)
			return MLX5_CMD_STAT_RES_BUSY;
	sh_del(c->hca, SH_TIS, tis);
	return MLX5_CMD_STAT_OK;
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_CREATE_RQ, sh_create_rq },
	{ MLX5_CMD_OP_MODIFY_RQ, sh_modify_rq },
	{ MLX5_CMD_OP_QUERY_RQ, sh_query_rq },
	{ MLX5_CMD_OP_DESTROY_RQ, sh_destroy_rq },
	{ MLX5_CMD_OP_CREATE_TIR, sh_create_tir },
	{ MLX5_CMD_OP_DESTROY_TIR, sh_destroy_tir },
	{ MLX5_CMD_OP_CREATE_TIS, sh_create_tis },
	{ MLX5_CMD_OP_MODIFY_TIS, sh_modify_tis },
	{ MLX5_CMD_OP_QUERY_TIS, sh_query_tis },
	{ MLX5_CMD_OP_DESTROY_TIS, sh_destroy_tis },
};

sh_cmd_fn sh_cmd_rq(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}
