// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues.
 */
#include "softhca.h"

#define SH_CQ_CI	0
#define SH_CQ_ARM	1
/* No arm request looks like this. CREATE_CQ writes it to the doorbell record,
 * so that the first request, which is all zeros like a fresh record, shows.
 */
#define SH_NO_ARM	cpu_to_be32(~0)
#define SH_ARM_SOL	BIT(24)
#define SH_CQ_OVERRUN	1
#define SH_CQ_MODIFY_EQN BIT(3)

static u32 sh_cqe_size(const struct sh_cq *cq)
{
	return cq->cqe128 ? 128 : 64;
}

/* The UMEM's offset and id are where the PRM has them, in the reserved bits
 * before cq_umem_valid of these headers.
 */
static int sh_cq_buf(struct sh_cmd *c, struct sh_buf *b, void *cqc)
{
	u64 bytes = (MLX5_GET(cqc, cqc, cqe_sz) ? 128ULL : 64ULL)
		    << MLX5_GET(cqc, cqc, log_cq_size);
	__be32 *umem = cqc + MLX5_ST_SZ_BYTES(cqc);

	BUILD_BUG_ON(MLX5_BYTE_OFF(create_cq_in, pas) != MLX5_BYTE_OFF(modify_cq_in, pas));
	if (MLX5_GET(create_cq_in, c->in, cq_umem_valid))
		return sh_buf_umem(c, b, be32_to_cpu(umem[2]), be64_to_cpup((__be64 *)umem),
				   bytes);
	return sh_buf_load(c, b, MLX5_ADDR_OF(create_cq_in, c->in, pas), bytes,
			   MLX5_GET(cqc, cqc, log_page_size) + 12,
			   MLX5_GET(cqc, cqc, page_offset));
}

int sh_cmd_create_cq(struct sh_cmd *c)
{
	void *cqc = MLX5_ADDR_OF(create_cq_in, c->in, cq_context);
	struct sh_uar *uar = sh_find_own(c, SH_UAR, MLX5_GET(cqc, cqc, uar_page));
	u32 eqn = MLX5_GET(cqc, cqc, c_eqn_or_apu_element);
	struct sh_cq *cq;
	int status;

	if (MLX5_GET(cqc, cqc, log_cq_size) > 22 || MLX5_GET(cqc, cqc, cqe_sz) > 1)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!uar || !sh_find(c->hca, SH_EQ, eqn))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	cq = sh_new(c, SH_CQ, sizeof(*cq), &status);
	if (!cq)
		return status;
	cq->hca = c->hca;
	cq->eqn = eqn;
	cq->log_size = MLX5_GET(cqc, cqc, log_cq_size);
	cq->cqe128 = MLX5_GET(cqc, cqc, cqe_sz);
	cq->oi = MLX5_GET(cqc, cqc, oi);
	memcpy(cq->cqc, cqc, sizeof(cq->cqc));
	/* The record's id sits where the PRM puts it; this kernel's headers do not. */
	status = sh_dbrec(c, &cq->dbrec, MLX5_GET64(cqc, cqc, dbr_addr),
			  MLX5_GET(cqc, cqc, dbr_umem_valid),
			  be32_to_cpu(((__be32 *)cqc)[1]));
	if (status)
		goto err;
	status = sh_cq_buf(c, &cq->buf, cqc);
	if (status)
		goto err;
	cq->arm_seen = SH_NO_ARM;
	cq->dbrec[SH_CQ_ARM] = SH_NO_ARM;
	cq->uar = uar;
	list_add_tail(&cq->on_uar, &uar->cqs);
	MLX5_SET(create_cq_out, c->out, cqn, cq->obj.id);
	return MLX5_CMD_STAT_OK;
err:
	sh_del(c->hca, SH_CQ, cq);
	return status;
}

void sh_cq_free(struct sh_hca *h, struct sh_cq *cq)
{
	list_del(&cq->on_uar);
	sh_contention_forget_cq(cq);
	sh_buf_free(&cq->buf);
	sh_del(h, SH_CQ, cq);
}

int sh_cmd_destroy_cq(struct sh_cmd *c)
{
	struct sh_cq *cq = sh_find_own(c, SH_CQ, MLX5_GET(destroy_cq_in, c->in, cqn));

	if (!cq)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (cq->nqps)
		return MLX5_CMD_STAT_RES_BUSY;
	sh_cq_free(c->hca, cq);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_query_cq(struct sh_cmd *c)
{
	struct sh_cq *cq = sh_find_own(c, SH_CQ, MLX5_GET(query_cq_in, c->in, cqn));
	void *cqc = MLX5_ADDR_OF(query_cq_out, c->out, cq_context);

	if (!cq)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	memcpy(cqc, cq->cqc, sizeof(cq->cqc));
	MLX5_SET(cqc, cqc, status, cq->failed ? 0xa : 0);
	MLX5_SET(cqc, cqc, st, cq->armed ? (cq->armed_sol ? 6 : 9) : 0xa);
	MLX5_SET(cqc, cqc, last_notified_index, cq->last_notified & SH_MASK24);
	MLX5_SET(cqc, cqc, last_solicit_index, cq->sol_pi & SH_MASK24);
	MLX5_SET(cqc, cqc, consumer_counter, be32_to_cpu(cq->dbrec[SH_CQ_CI]) & SH_MASK24);
	MLX5_SET(cqc, cqc, producer_counter, cq->pi & SH_MASK24);
	return MLX5_CMD_STAT_OK;
}

static void *sh_cqe_at(struct sh_cq *cq, u32 index)
{
	u8 *p = sh_buf_at(&cq->buf, (index & ((1U << cq->log_size) - 1)) * sh_cqe_size(cq));

	return p && cq->cqe128 ? p + 64 : p;
}

static void sh_cqe_write(struct sh_cq *cq, struct mlx5_cqe64 *cqe, u8 opcode)
{
	struct mlx5_cqe64 *slot = sh_cqe_at(cq, cq->pi);
	u64 now = ktime_get_ns();

	if (!slot)
		return;
	/* An error's syndrome is where others have the time. */
	if (opcode != MLX5_CQE_REQ_ERR && opcode != MLX5_CQE_RESP_ERR) {
		cqe->timestamp_h = cpu_to_be32(upper_32_bits(now));
		cqe->timestamp_l = cpu_to_be32(lower_32_bits(now));
	}
	memcpy(slot, cqe, offsetof(struct mlx5_cqe64, op_own));
	smp_wmb(); /* the owner bit says that the rest is there */
	WRITE_ONCE(slot->op_own, opcode << 4 | (cq->pi >> cq->log_size & 1));
	cq->pi++;
	cq->hca->cqes++;
}

/* The old buffer ends with a mark, behind which the consumer goes on in the new
 * one.
 */
static int sh_cq_resize(struct sh_cmd *c, struct sh_cq *cq, void *cqc)
{
	u8 log_size = MLX5_GET(cqc, cqc, log_cq_size);
	struct mlx5_cqe64 mark = {};
	struct sh_buf b = {};
	int status;

	if (log_size > 22 || MLX5_GET(cqc, cqc, cqe_sz) > 1)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (((cq->pi - be32_to_cpu(cq->dbrec[SH_CQ_CI])) & SH_MASK24) >= 1U << log_size)
		return MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR;
	status = sh_cq_buf(c, &b, cqc);
	if (status)
		return status;
	sh_cqe_write(cq, &mark, MLX5_CQE_RESIZE_CQ);
	sh_buf_free(&cq->buf);
	cq->buf = b;
	cq->log_size = log_size;
	cq->cqe128 = MLX5_GET(cqc, cqc, cqe_sz);
	MLX5_SET(cqc, cq->cqc, log_cq_size, log_size);
	MLX5_SET(cqc, cq->cqc, log_page_size, MLX5_GET(cqc, cqc, log_page_size));
	MLX5_SET(cqc, cq->cqc, page_offset, MLX5_GET(cqc, cqc, page_offset));
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_modify_cq(struct sh_cmd *c)
{
	struct sh_cq *cq = sh_find_own(c, SH_CQ, MLX5_GET(modify_cq_in, c->in, cqn));
	u32 select = be32_to_cpu(*(__be32 *)MLX5_ADDR_OF(modify_cq_in, c->in,
				 modify_field_select_resize_field_select));
	void *cqc = MLX5_ADDR_OF(modify_cq_in, c->in, cq_context);
	u32 eqn = MLX5_GET(cqc, cqc, c_eqn_or_apu_element);

	if (!cq)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (c->op_mod == MLX5_CQ_OPMOD_RESIZE)
		return sh_cq_resize(c, cq, cqc);
	if (select & MLX5_CQ_MODIFY_PERIOD)
		MLX5_SET(cqc, cq->cqc, cq_period, MLX5_GET(cqc, cqc, cq_period));
	if (select & MLX5_CQ_MODIFY_COUNT)
		MLX5_SET(cqc, cq->cqc, cq_max_count, MLX5_GET(cqc, cqc, cq_max_count));
	if (select & MLX5_CQ_MODIFY_OVERRUN)
		cq->oi = MLX5_GET(cqc, cqc, oi);
	if (select & SH_CQ_MODIFY_EQN) {
		if (!sh_find(c->hca, SH_EQ, eqn))
			return MLX5_CMD_STAT_BAD_RES_ERR;
		cq->eqn = eqn;
	}
	return MLX5_CMD_STAT_OK;
}

static bool sh_after(u32 a, u32 b)
{
	return ((a - b) & SH_MASK24) && ((a - b) & SH_MASK24) < 1U << 23;
}

/* Fires for what the request has not seen, unless an event told it already: who
 * asks again before polling is not told the same twice.
 */
static void sh_cq_notify(struct sh_cq *cq)
{
	u32 end = cq->armed_sol ? cq->sol_pi : cq->pi;
	union ev_data d = { .comp.cqn = cpu_to_be32(cq->obj.id) };
	struct sh_eq *eq;

	if (!cq->armed || !sh_after(end, cq->arm_ci) || !sh_after(end, cq->last_notified))
		return;
	eq = sh_find(cq->hca, SH_EQ, cq->eqn);
	if (eq && !sh_eq_put(cq->hca, eq, MLX5_EVENT_TYPE_COMP, 0, &d)) {
		cq->hca->rescan_cqs = true;
		return;
	}
	cq->armed = false;
	cq->last_notified = cq->pi;
}

/* Someone rang for a CQ on this one's UAR: is there a new arm request here? The
 * same request twice is one request.
 */
void sh_cq_bell(struct sh_cq *cq)
{
	__be32 req = READ_ONCE(cq->dbrec[SH_CQ_ARM]);

	if (req != cq->arm_seen && req != SH_NO_ARM) {
		cq->arm_seen = req;
		cq->armed = true;
		cq->armed_sol = be32_to_cpu(req) & SH_ARM_SOL;
		cq->arm_ci = be32_to_cpu(req) & SH_MASK24;
	}
	sh_cq_notify(cq);
}

/* Everything whose completions were lost stops. */
static void sh_cq_overrun(struct sh_cq *cq)
{
	struct sh_qp *qp;
	unsigned long id;

	cq->failed = true;
	cq->hca->dflt.cq_overflow++;
	sh_event_cq_error(cq, SH_CQ_OVERRUN);
	xa_for_each(&cq->hca->tab[SH_QP].xa, id, qp)
		if (qp->scq == cq || qp->rcq == cq)
			sh_qp_fatal(qp, MLX5_EVENT_TYPE_WQ_CATAS_ERROR);
}

void sh_cq_put(struct sh_cq *cq, struct mlx5_cqe64 *cqe, u8 opcode, bool solicited)
{
	u32 ci = be32_to_cpu(READ_ONCE(cq->dbrec[SH_CQ_CI]));

	if (cq->failed)
		return;
	/* The kernel's own, of management packets, come at any time. */
	if (cq->obj.uid && cq->hca->knob.drop_cqes) {
		cq->hca->knob.drop_cqes--;
		return;
	}
	if (!cq->oi && ((cq->pi - ci) & SH_MASK24) >= 1U << cq->log_size) {
		sh_cq_overrun(cq);
		return;
	}
	sh_cqe_write(cq, cqe, opcode);
	if (solicited)
		cq->sol_pi = cq->pi;
	sh_cq_notify(cq);
}

void sh_cq_put_err(struct sh_cq *cq, struct sh_qp *qp, u8 opcode, u8 syndrome, u16 index,
		   u8 wqe_opcode)
{
	struct mlx5_cqe64 cqe = {};
	struct mlx5_err_cqe *err = (struct mlx5_err_cqe *)&cqe;

	err->srqn = cpu_to_be32(qp->user_index);
	err->syndrome = syndrome;
	err->s_wqe_opcode_qpn = cpu_to_be32((u32)wqe_opcode << 24 | qp->obj.id);
	err->wqe_counter = cpu_to_be16(index);
	sh_cq_put(cq, &cqe, opcode, true);
}
