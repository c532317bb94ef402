// SPDX-License-Identifier: GPL-2.0
/*
 * What the device tells of itself: QUERY_QP, counters of QPs and PCI.
 */
#include <linux/delay.h>

#include "softhca.h"

#define SH_SLOW_MS	100

int sh_cmd_query_qp(struct sh_cmd *c)
{
	struct sh_qp *qp = sh_qp_own(c, MLX5_GET(query_qp_in, c->in, qpn));
	void *qpc = MLX5_ADDR_OF(query_qp_out, c->out, qpc);
	u32 page;

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (sh_false(c->hca, SH_FALSE_COMMANDS))
		msleep(SH_SLOW_MS);
	memcpy(qpc, qp->qpc, sizeof(qp->qpc));
	MLX5_SET(qpc, qpc, state, qp->state);
	/* Completed, with a CQE or without, and known by a doorbell: both of this look. */
	MLX5_SET(qpc, qpc, hw_sq_wqebb_counter,
		 sh_false(c->hca, SH_FALSE_WQE_COUNTERS) ? qp->sq_pi : qp->sq_ci);
	MLX5_SET(qpc, qpc, sw_sq_wqebb_counter, qp->sq_pi);
	MLX5_SET(qpc, qpc, hw_rq_counter, qp->rq_ci);
	MLX5_SET(qpc, qpc, sw_rq_counter, qp->has_rq ? sh_wqe_rq_pi(qp) : 0);
	page = MLX5_GET(qpc, qpc, uar_page);
	if (sh_false(c->hca, SH_FALSE_UAR_PAGE))
		page += qp->obj.id & 1;
	if (sh_false(c->hca, SH_FALSE_UAR_NUMBER))
		page += SH_UARS;
	MLX5_SET(qpc, qpc, uar_page, page);
	return MLX5_CMD_STAT_OK;
}

void sh_count_syndrome(struct sh_qp *qp, u8 syndrome, bool responder)
{
	struct sh_qset *q = sh_qp_counters(qp);

	if (responder)
		q->resp_cqe_error++;
	else
		q->req_cqe_error++;
	switch (syndrome) {
	case MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR:
		if (responder)
			q->resp_local_length_error++;
		else
			q->req_local_length_error++;
		break;
	case MLX5_CQE_SYNDROME_LOCAL_PROT_ERR:
		if (responder)
			q->resp_local_protection++;
		else
			q->req_local_protection++;
		break;
	case MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR:
		q->local_operation_error++;
		break;
	case MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR:
		if (responder)
			q->resp_remote_invalid_request++;
		else
			q->req_remote_invalid_request++;
		break;
	case MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR:
		if (responder)
			q->resp_remote_access_errors++;
		else
			q->req_remote_access_errors++;
		break;
	case MLX5_CQE_SYNDROME_REMOTE_OP_ERR:
		q->req_remote_operation_errors++;
		break;
	case MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR:
		q->req_transport_retries_exceeded++;
		break;
	}
}

static int sh_alloc_q_counter(struct sh_cmd *c)
{
	struct sh_qset *q;
	int status;

	q = sh_new(c, SH_QCOUNTER, sizeof(*q), &status);
	if (q)
		MLX5_SET(alloc_q_counter_out, c->out, counter_set_id, q->obj.id);
	return status;
}

static int sh_dealloc_q_counter(struct sh_cmd *c)
{
	u32 id = MLX5_GET(dealloc_q_counter_in, c->in, counter_set_id);
	struct sh_qset *q = sh_find_own(c, SH_QCOUNTER, id);

	if (!q)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sh_del(c->hca, SH_QCOUNTER, q);
	return MLX5_CMD_STAT_OK;
}

#define SH_Q(field) MLX5_SET(query_q_counter_out, c->out, field, q->field)

static int sh_query_q_counter(struct sh_cmd *c)
{
	u32 id = MLX5_GET(query_q_counter_in, c->in, counter_set_id);
	struct sh_qset *q = id ? sh_find_own(c, SH_QCOUNTER, id) : &c->hca->dflt;
	struct sh_obj obj;

	if (!q)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	SH_Q(rx_write_requests);
	SH_Q(rx_read_requests);
	SH_Q(rx_atomic_requests);
	SH_Q(out_of_buffer);
	SH_Q(rnr_nak_retry_err);
	SH_Q(local_ack_timeout_err);
	SH_Q(resp_local_length_error);
	SH_Q(req_local_length_error);
	SH_Q(local_operation_error);
	SH_Q(resp_local_protection);
	SH_Q(req_local_protection);
	SH_Q(resp_cqe_error);
	SH_Q(req_cqe_error);
	SH_Q(req_remote_invalid_request);
	SH_Q(resp_remote_invalid_request);
	SH_Q(req_remote_access_errors);
	SH_Q(resp_remote_access_errors);
	SH_Q(req_remote_operation_errors);
	SH_Q(req_transport_retries_exceeded);
	SH_Q(cq_overflow);
	SH_Q(resp_cqe_flush_error);
	SH_Q(req_cqe_flush_error);
	if (MLX5_GET(query_q_counter_in, c->in, clear)) {
		obj = q->obj;
		memset(q, 0, sizeof(*q));
		q->obj = obj;
	}
	return MLX5_CMD_STAT_OK;
}

int sh_reg_mpcnt(struct sh_cmd *c, void *reg, bool write)
{
	void *set = MLX5_ADDR_OF(mpcnt_reg, reg, counter_set);
	u32 percent, seconds;

	if (write || MLX5_GET(mpcnt_reg, reg, grp) != MLX5_PCIE_PERFORMANCE_COUNTERS_GROUP)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	/* Reads: the contexts and WQEs that were fetched. It models no writes. */
	sh_contention_stalls(c->hca, &percent, &seconds);
	MLX5_SET(pcie_perf_cntrs_grp_data_layout, set, outbound_stalled_reads, percent);
	MLX5_SET(pcie_perf_cntrs_grp_data_layout, set, outbound_stalled_reads_events, seconds);
	return MLX5_CMD_STAT_OK;
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_ALLOC_Q_COUNTER, sh_alloc_q_counter },
	{ MLX5_CMD_OP_DEALLOC_Q_COUNTER, sh_dealloc_q_counter },
	{ MLX5_CMD_OP_QUERY_Q_COUNTER, sh_query_q_counter },
	{ MLX5_CMD_OP_QUERY_VPORT_COUNTER, sh_cmd_query_vport_counter },
};

sh_cmd_fn sh_cmd_telemetry(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}
