// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: those of basic verbs (RMP) and of XRC.
 *
 * A WQE names the one that follows; the producer counts them in the doorbell
 * record.
 */
#include "softhca.h"

static int sh_srq_new(struct sh_cmd *c, struct sh_srq **out, const __be64 *pas, u64 dbr,
		      u8 log_size, u8 log_stride, u8 shift, u32 offset)
{
	struct sh_srq *srq;
	int status;

	if (log_size > 15 || log_stride < 4 || log_stride > 12)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	srq = sh_new(c, SH_SRQ, sizeof(*srq), &status);
	if (!srq)
		return status;
	srq->hca = c->hca;
	srq->log_size = log_size;
	srq->log_stride = log_stride;
	srq->dbrec = dbr & 3 ? NULL : sh_virt(dbr, 4);
	status = srq->dbrec ? sh_buf_load(c, &srq->buf, pas, 1ULL << (log_size + log_stride),
					  shift, offset) : MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (status) {
		sh_del(c->hca, SH_SRQ, srq);
		return status;
	}
	*out = srq;
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_create_rmp(struct sh_cmd *c)
{
	void *rmpc = MLX5_ADDR_OF(create_rmp_in, c->in, ctx);
	void *wq = MLX5_ADDR_OF(rmpc, rmpc, wq);
	struct sh_srq *srq;
	int status;

	status = sh_srq_new(c, &srq, MLX5_ADDR_OF(wq, wq, pas), MLX5_GET64(wq, wq, dbr_addr),
			    MLX5_GET(wq, wq, log_wq_sz), MLX5_GET(wq, wq, log_wq_stride),
			    MLX5_GET(wq, wq, log_wq_pg_sz) + 12,
			    MLX5_GET(wq, wq, page_offset));
	if (status)
		return status;
	srq->pd = MLX5_GET(wq, wq, pd);
	srq->lwm = MLX5_GET(wq, wq, lwm);
	srq->wq_sig = MLX5_GET(wq, wq, wq_signature);
	MLX5_SET(create_rmp_out, c->out, rmpn, srq->obj.id);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_create_xrc_srq(struct sh_cmd *c)
{
	void *s = MLX5_ADDR_OF(create_xrc_srq_in, c->in, xrc_srq_context_entry);
	u64 dbr = (u64)MLX5_GET(xrc_srqc, s, db_record_addr_h) << 32 |
		  MLX5_GET(xrc_srqc, s, db_record_addr_l) << 2;
	struct sh_srq *srq;
	int status;

	status = sh_srq_new(c, &srq, MLX5_ADDR_OF(create_xrc_srq_in, c->in, pas), dbr,
			    MLX5_GET(xrc_srqc, s, log_xrc_srq_size),
			    MLX5_GET(xrc_srqc, s, log_rq_stride) + 4,
			    MLX5_GET(xrc_srqc, s, log_page_size) + 12,
			    MLX5_GET(xrc_srqc, s, page_offset));
	if (status)
		return status;
	srq->xrc = true;
	srq->pd = MLX5_GET(xrc_srqc, s, pd);
	srq->lwm = MLX5_GET(xrc_srqc, s, lwm);
	srq->cqn = MLX5_GET(xrc_srqc, s, cqn);
	srq->wq_sig = MLX5_GET(xrc_srqc, s, wq_signature);
	MLX5_SET(create_xrc_srq_out, c->out, xrc_srqn, srq->obj.id);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_modify_rmp(struct sh_cmd *c)
{
	void *rmpc = MLX5_ADDR_OF(modify_rmp_in, c->in, ctx);
	void *mask = MLX5_ADDR_OF(modify_rmp_in, c->in, bitmask);
	struct sh_srq *srq = sh_find_own(c, SH_SRQ, MLX5_GET(modify_rmp_in, c->in, rmpn));

	if (!srq || srq->xrc)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (MLX5_GET(rmp_bitmask, mask, lwm))
		srq->lwm = MLX5_GET(wq, MLX5_ADDR_OF(rmpc, rmpc, wq), lwm);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_arm_xrc_srq(struct sh_cmd *c)
{
	struct sh_srq *srq = sh_find_own(c, SH_SRQ, MLX5_GET(arm_xrc_srq_in, c->in, xrc_srqn));

	if (!srq || !srq->xrc)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	srq->lwm = MLX5_GET(arm_xrc_srq_in, c->in, lwm);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_query_rmp(struct sh_cmd *c)
{
	struct sh_srq *srq = sh_find_own(c, SH_SRQ, MLX5_GET(query_rmp_in, c->in, rmpn));
	void *rmpc = MLX5_ADDR_OF(query_rmp_out, c->out, rmp_context);
	void *wq = MLX5_ADDR_OF(rmpc, rmpc, wq);

	if (!srq || srq->xrc)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	MLX5_SET(rmpc, rmpc, state, srq->failed ? 3 : MLX5_RMPC_STATE_RDY);
	MLX5_SET(wq, wq, log_wq_sz, srq->log_size);
	MLX5_SET(wq, wq, log_wq_stride, srq->log_stride);
	MLX5_SET(wq, wq, pd, srq->pd);
	MLX5_SET(wq, wq, lwm, srq->lwm);
	MLX5_SET(wq, wq, hw_counter, srq->taken);
	MLX5_SET(wq, wq, sw_counter, be32_to_cpu(*srq->dbrec) & 0xffff);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_query_xrc_srq(struct sh_cmd *c)
{
	struct sh_srq *srq = sh_find_own(c, SH_SRQ,
					 MLX5_GET(query_xrc_srq_in, c->in, xrc_srqn));
	void *s = MLX5_ADDR_OF(query_xrc_srq_out, c->out, xrc_srq_context_entry);

	if (!srq || !srq->xrc)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	MLX5_SET(xrc_srqc, s, state, srq->failed ? MLX5_XRC_SRQC_STATE_ERROR : 0);
	MLX5_SET(xrc_srqc, s, log_xrc_srq_size, srq->log_size);
	MLX5_SET(xrc_srqc, s, pd, srq->pd);
	MLX5_SET(xrc_srqc, s, lwm, srq->lwm);
	return MLX5_CMD_STAT_OK;
}

void sh_srq_free(struct sh_hca *h, struct sh_srq *srq)
{
	sh_buf_free(&srq->buf);
	sh_del(h, SH_SRQ, srq);
}

int sh_cmd_destroy_srq(struct sh_cmd *c)
{
	u32 id = c->op == MLX5_CMD_OP_DESTROY_RMP ? MLX5_GET(destroy_rmp_in, c->in, rmpn) :
		 MLX5_GET(destroy_xrc_srq_in, c->in, xrc_srqn);
	struct sh_srq *srq = sh_find_own(c, SH_SRQ, id);
	bool xrc = c->op == MLX5_CMD_OP_DESTROY_XRC_SRQ;

	if (!srq || srq->xrc != xrc)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (srq->nqps)
		return MLX5_CMD_STAT_RES_BUSY;
	sh_srq_free(c->hca, srq);
	return MLX5_CMD_STAT_OK;
}
