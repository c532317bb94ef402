// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: those of basic verbs (RMP) and of XRC.
 *
 * In a linked list a WQE names the one that follows, in a cyclic queue they follow one
 * another; the producer counts them in the doorbell record.
 */
#include "softhca.h"

/* Where the umem ids and the offset of a wq are, which these headers do not name. */
#define SH_WQ_DBR_UMEM	10	/* in dwords */
#define SH_WQ_UMEM	11
#define SH_WQ_UMEM_AT	6	/* in quadwords */

static int sh_srq_new(struct sh_cmd *c, struct sh_srq **out, u32 pd, u8 log_size, u8 log_stride)
{
	struct sh_srq *srq;
	int status;

	if (log_size > 15 || log_stride < 4 || log_stride > 12)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!sh_find_own(c, SH_PD, pd))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	srq = sh_new(c, SH_SRQ, sizeof(*srq), &status);
	if (!srq)
		return status;
	srq->hca = c->hca;
	srq->pd = pd;
	srq->log_size = log_size;
	srq->log_stride = log_stride;
	*out = srq;
	return MLX5_CMD_STAT_OK;
}

/* The last step of a create, whose queue was loaded with that status. */
static int sh_srq_done(struct sh_cmd *c, struct sh_srq *srq, int status)
{
	if (status)
		sh_srq_free(c->hca, srq);
	return status;
}

static int sh_rmp_buf(struct sh_cmd *c, struct sh_srq *srq, void *wq)
{
	u64 bytes = 1ULL << (srq->log_size + srq->log_stride);
	u32 id = be32_to_cpu(((__be32 *)wq)[SH_WQ_DBR_UMEM]);
	int status;

	status = sh_dbrec(c, &srq->dbrec, MLX5_GET64(wq, wq, dbr_addr),
			  MLX5_GET(wq, wq, dbr_umem_valid), id);
	if (status)
		return status;
	if (MLX5_GET(wq, wq, wq_umem_valid))
		return sh_buf_umem(c, &srq->buf, be32_to_cpu(((__be32 *)wq)[SH_WQ_UMEM]),
				   be64_to_cpu(((__be64 *)wq)[SH_WQ_UMEM_AT]), bytes);
	return sh_buf_load(c, &srq->buf, MLX5_ADDR_OF(wq, wq, pas), bytes,
			   MLX5_GET(wq, wq, log_wq_pg_sz) + 12, MLX5_GET(wq, wq, page_offset));
}

int sh_cmd_create_rmp(struct sh_cmd *c)
{
	void *rmpc = MLX5_ADDR_OF(create_rmp_in, c->in, ctx);
	void *wq = MLX5_ADDR_OF(rmpc, rmpc, wq);
	u8 type = MLX5_GET(wq, wq, wq_type);
	struct sh_srq *srq;
	int status;

	/* No queues whose WQEs take several messages */
	if (type != MLX5_WQ_TYPE_LINKED_LIST && type != MLX5_WQ_TYPE_CYCLIC)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	status = sh_srq_new(c, &srq, MLX5_GET(wq, wq, pd), MLX5_GET(wq, wq, log_wq_sz),
			    MLX5_GET(wq, wq, log_wq_stride));
	if (status)
		return status;
	srq->cyclic = type == MLX5_WQ_TYPE_CYCLIC;
	srq->plain = srq->cyclic && MLX5_GET(rmpc, rmpc, basic_cyclic_rcv_wqe);
	srq->lwm = MLX5_GET(wq, wq, lwm);
	srq->wq_sig = MLX5_GET(wq, wq, wq_signature);
	MLX5_SET(create_rmp_out, c->out, rmpn, srq->obj.id);
	return sh_srq_done(c, srq, sh_rmp_buf(c, srq, wq));
}

int sh_cmd_create_xrc_srq(struct sh_cmd *c)
{
	void *s = MLX5_ADDR_OF(create_xrc_srq_in, c->in, xrc_srq_context_entry);
	u64 dbr = (u64)MLX5_GET(xrc_srqc, s, db_record_addr_h) << 32 |
		  MLX5_GET(xrc_srqc, s, db_record_addr_l) << 2;
	u32 xrcd = MLX5_GET(xrc_srqc, s, xrcd);
	struct sh_cq *cq = sh_find_shared(c, SH_CQ, MLX5_GET(xrc_srqc, s, cqn));
	struct sh_srq *srq;
	int status;

	/* Where the ids of its umems would be is not public. */
	if (MLX5_GET(xrc_srqc, s, dbr_umem_valid))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!cq || !sh_find_shared(c, SH_XRCD, xrcd))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	status = sh_srq_new(c, &srq, MLX5_GET(xrc_srqc, s, pd),
			    MLX5_GET(xrc_srqc, s, log_xrc_srq_size),
			    MLX5_GET(xrc_srqc, s, log_rq_stride) + 4);
	if (status)
		return status;
	srq->xrc = true;
	srq->lwm = MLX5_GET(xrc_srqc, s, lwm);
	srq->xrcd = xrcd;
	srq->user_index = MLX5_GET(xrc_srqc, s, user_index);
	srq->cq = cq;
	cq->nqps++;
	srq->wq_sig = MLX5_GET(xrc_srqc, s, wq_signature);
	MLX5_SET(create_xrc_srq_out, c->out, xrc_srqn, srq->obj.id);
	status = sh_dbrec(c, &srq->dbrec, dbr, false, 0);
	if (!status)
		status = sh_buf_load(c, &srq->buf, MLX5_ADDR_OF(create_xrc_srq_in, c->in, pas),
				     1ULL << (srq->log_size + srq->log_stride),
				     MLX5_GET(xrc_srqc, s, log_page_size) + 12,
				     MLX5_GET(xrc_srqc, s, page_offset));
	return sh_srq_done(c, srq, status);
}

static u8 sh_rmp_state(const struct sh_srq *srq)
{
	return srq->failed ? MLX5_RMPC_STATE_ERR : MLX5_RMPC_STATE_RDY;
}

int sh_cmd_modify_rmp(struct sh_cmd *c)
{
	void *rmpc = MLX5_ADDR_OF(modify_rmp_in, c->in, ctx);
	void *mask = MLX5_ADDR_OF(modify_rmp_in, c->in, bitmask);
	struct sh_srq *srq = sh_find_own(c, SH_SRQ, MLX5_GET(modify_rmp_in, c->in, rmpn));

	if (!srq || srq->xrc)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (MLX5_GET(modify_rmp_in, c->in, rmp_state) != sh_rmp_state(srq))
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	switch (MLX5_GET(rmpc, rmpc, state)) {
	case MLX5_RMPC_STATE_RDY:
		if (srq->failed)
			return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
		break;
	case MLX5_RMPC_STATE_ERR:
		srq->failed = true;
		break;
	default:
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
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
	MLX5_SET(rmpc, rmpc, state, sh_rmp_state(srq));
	MLX5_SET(rmpc, rmpc, basic_cyclic_rcv_wqe, srq->plain);
	MLX5_SET(wq, wq, wq_type, srq->cyclic ? MLX5_WQ_TYPE_CYCLIC : MLX5_WQ_TYPE_LINKED_LIST);
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
	MLX5_SET(xrc_srqc, s, xrcd, srq->xrcd);
	MLX5_SET(xrc_srqc, s, cqn, srq->cq->obj.id);
	MLX5_SET(xrc_srqc, s, user_index, srq->user_index);
	MLX5_SET(xrc_srqc, s, lwm, srq->lwm);
	return MLX5_CMD_STAT_OK;
}

void sh_srq_free(struct sh_hca *h, struct sh_srq *srq)
{
	if (srq->cq)
		srq->cq->nqps--;
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
