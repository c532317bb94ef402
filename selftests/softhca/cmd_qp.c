// SPDX-License-Identifier: GPL-2.0
/*
 * Commands on queue pairs: creation, the transitions between states, multicast.
 */
#include <linux/slab.h>

#include "softhca.h"

#define SH_OPT_DSCP	BIT(17)
/* In opt_param_mask_95_32, which these headers do not name, nor the extension of
 * the QPC that comes after it.
 */
#define SH_OPT_QOS_GROUP BIT(1)
#define SH_OPT_UDP_SPORT BIT(2)
#define SH_QPC_EXT	BIT(7)	/* in the byte before the QPN: it is there */
#define SH_EXT_QOS_GROUP 1	/* of the requester; in dwords */

static int sh_qp_buf(struct sh_cmd *c, struct sh_qp *qp, void *qpc)
{
	__be32 *umem = qpc + MLX5_ST_SZ_BYTES(qpc);
	u64 bytes = 0;
	int status;

	/* The receiving end of XRC */
	if (!qp->has_sq && qp->st == MLX5_QPC_ST_XRC)
		return MLX5_CMD_STAT_OK;
	/* The PRM has the record's id in the last dword; these headers do not. */
	status = sh_dbrec(c, &qp->dbrec, MLX5_GET64(qpc, qpc, dbr_addr),
			  MLX5_GET(qpc, qpc, dbr_umem_valid), be32_to_cpu(umem[-1]));
	if (qp->has_rq)
		bytes = 1ULL << (qp->log_rq + qp->log_rq_stride);
	qp->sq_offset = bytes;
	if (qp->has_sq)
		bytes += (u64)MLX5_SEND_WQE_BB << qp->log_sq;
	if (status)
		return status;
	if (!bytes)
		return MLX5_CMD_STAT_OK;
	if (MLX5_GET(create_qp_in, c->in, wq_umem_valid))
		return sh_buf_umem(c, &qp->buf, be32_to_cpu(umem[2]),
				   be64_to_cpup((__be64 *)umem), bytes);
	return sh_buf_load(c, &qp->buf, MLX5_ADDR_OF(create_qp_in, c->in, pas), bytes,
			   MLX5_GET(qpc, qpc, log_page_size) + 12,
			   MLX5_GET(qpc, qpc, page_offset));
}

static bool sh_st_known(u8 st)
{
	return st == MLX5_QPC_ST_RC || st == MLX5_QPC_ST_XRC || st == MLX5_QPC_ST_UC ||
	       st == MLX5_QPC_ST_UD || st == MLX5_QPC_ST_QP0 || st == MLX5_QPC_ST_QP1 ||
	       st == MLX5_QPC_ST_REG_UMR;
}

static int sh_create_qp(struct sh_cmd *c)
{
	void *qpc = MLX5_ADDR_OF(create_qp_in, c->in, qpc);
	u32 scqn = MLX5_GET(qpc, qpc, cqn_snd), rcqn = MLX5_GET(qpc, qpc, cqn_rcv);
	u8 rq_type = MLX5_GET(qpc, qpc, rq_type), st = MLX5_GET(qpc, qpc, st);
	struct sh_uar *uar = sh_find_own(c, SH_UAR, MLX5_GET(qpc, qpc, uar_page));
	struct sh_cq *scq = sh_find_shared(c, SH_CQ, scqn);
	struct sh_cq *rcq = sh_find_shared(c, SH_CQ, rcqn);
	bool tgt = st == MLX5_QPC_ST_XRC && MLX5_GET(qpc, qpc, no_sq);
	struct sh_srq *srq = NULL;
	struct sh_qp *qp;
	int status;

	if (!sh_st_known(st) || MLX5_GET(qpc, qpc, log_sq_size) > 15 ||
	    MLX5_GET(qpc, qpc, log_rq_size) > 15)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (rq_type == MLX5_SRQ_RQ)
		srq = sh_find_shared(c, SH_SRQ, MLX5_GET(qpc, qpc, srqn_rmpn_xrqn));
	if ((!uar && !tgt) || (scqn && !scq) || (rcqn && !rcq) ||
	    (rq_type == MLX5_SRQ_RQ && !srq) ||
	    (st != MLX5_QPC_ST_REG_UMR && !sh_find_own(c, SH_PD, MLX5_GET(qpc, qpc, pd))))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (st == MLX5_QPC_ST_XRC && !sh_find_shared(c, SH_XRCD, MLX5_GET(qpc, qpc, xrcd)))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	qp = sh_new(c, SH_QP, sizeof(*qp), &status);
	if (!qp)
		return status;
	memcpy(qp->qpc, qpc, sizeof(qp->qpc));
	qp->hca = c->hca;
	qp->st = st;
	qp->pd = MLX5_GET(qpc, qpc, pd);
	qp->user_index = MLX5_GET(qpc, qpc, user_index);
	qp->wq_sig = MLX5_GET(qpc, qpc, wq_signature);
	qp->qset = MLX5_GET(qpc, qpc, counter_set_id);
	qp->has_sq = !MLX5_GET(qpc, qpc, no_sq);
	qp->log_sq = MLX5_GET(qpc, qpc, log_sq_size);
	qp->has_rq = rq_type == MLX5_NON_ZERO_RQ;
	if (qp->has_rq) {
		qp->log_rq = MLX5_GET(qpc, qpc, log_rq_size);
		qp->log_rq_stride = MLX5_GET(qpc, qpc, log_rq_stride) + 4;
	}
	qp->uar = uar;
	qp->scq = scq;
	qp->rcq = rcq;
	qp->srq = srq;
	if (st == MLX5_QPC_ST_XRC) {
		/* Each request names its SRQ; the one given here is the driver's own. */
		qp->xrcd = MLX5_GET(qpc, qpc, xrcd);
		qp->rcq = NULL;
		qp->srq = NULL;
	}
	if (tgt) {
		qp->uar = NULL;
		qp->scq = NULL;
		qp->pd = 0;
		qp->user_index = 0;
	}
	status = sh_qp_open(c, qp, sh_qp_buf(c, qp, qpc));
	if (status)
		return status;
	if (st == MLX5_QPC_ST_QP1)
		c->hca->qp1 = qp->obj.id;
	if (st == MLX5_QPC_ST_QP0)
		c->hca->qp0 = qp->obj.id;
	MLX5_SET(create_qp_out, c->out, qpn, qp->obj.id);
	return MLX5_CMD_STAT_OK;
}

static int sh_destroy_qp(struct sh_cmd *c)
{
	struct sh_qp *qp = sh_qp_own(c, MLX5_GET(destroy_qp_in, c->in, qpn));

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sh_qp_free(c->hca, qp);
	return MLX5_CMD_STAT_OK;
}

#define SH_TAKE(field) MLX5_SET(qpc, qp->qpc, field, MLX5_GET(qpc, in, field))

static void sh_take_access(struct sh_qp *qp, void *in, u32 opt)
{
	if (opt & MLX5_QP_OPTPAR_RRE)
		SH_TAKE(rre);
	if (opt & MLX5_QP_OPTPAR_RWE)
		SH_TAKE(rwe);
	if (opt & MLX5_QP_OPTPAR_RAE) {
		SH_TAKE(rae);
		SH_TAKE(atomic_mode);
	}
	if (opt & MLX5_QP_OPTPAR_Q_KEY)
		SH_TAKE(q_key);
	if (opt & MLX5_QP_OPTPAR_RNR_TIMEOUT)
		SH_TAKE(min_rnr_nak);
	if (opt & MLX5_QP_OPTPAR_PM_STATE)
		SH_TAKE(pm_state);
	if (opt & MLX5_QP_OPTPAR_COUNTER_SET_ID) {
		SH_TAKE(counter_set_id);
		qp->qset = MLX5_GET(qpc, qp->qpc, counter_set_id);
	}
}

static void sh_take_init(struct sh_qp *qp, void *in)
{
	void *to = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
	void *from = MLX5_ADDR_OF(qpc, in, primary_address_path);

	SH_TAKE(pm_state);
	SH_TAKE(lag_tx_port_affinity);
	MLX5_SET(ads, to, pkey_index, MLX5_GET(ads, from, pkey_index));
	MLX5_SET(ads, to, vhca_port_num, MLX5_GET(ads, from, vhca_port_num));
	sh_take_access(qp, in, MLX5_QP_OPTPAR_RRE | MLX5_QP_OPTPAR_RWE | MLX5_QP_OPTPAR_RAE |
		       MLX5_QP_OPTPAR_Q_KEY);
	if (MLX5_GET(qpc, in, counter_set_id))
		sh_take_access(qp, in, MLX5_QP_OPTPAR_COUNTER_SET_ID);
}

static void sh_take_rtr(struct sh_qp *qp, void *in, u32 opt)
{
	void *to = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
	void *from = MLX5_ADDR_OF(qpc, in, primary_address_path);
	u32 pkey = MLX5_GET(ads, to, pkey_index);
	u32 port = MLX5_GET(ads, to, vhca_port_num);

	if (opt & MLX5_QP_OPTPAR_PKEY_INDEX)
		pkey = MLX5_GET(ads, from, pkey_index);
	memcpy(to, from, MLX5_ST_SZ_BYTES(ads));
	MLX5_SET(ads, to, pkey_index, pkey);
	if (!MLX5_GET(ads, to, vhca_port_num))
		MLX5_SET(ads, to, vhca_port_num, port);
	SH_TAKE(mtu);
	SH_TAKE(log_msg_max);
	SH_TAKE(remote_qpn);
	SH_TAKE(next_rcv_psn);
	SH_TAKE(log_rra_max);
	SH_TAKE(min_rnr_nak);
	sh_take_access(qp, in, opt);
}

static void sh_take_rts(struct sh_qp *qp, void *in, u32 opt)
{
	void *to = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
	void *from = MLX5_ADDR_OF(qpc, in, primary_address_path);

	MLX5_SET(ads, to, ack_timeout, MLX5_GET(ads, from, ack_timeout));
	SH_TAKE(next_send_psn);
	SH_TAKE(log_sra_max);
	SH_TAKE(retry_count);
	SH_TAKE(rnr_retry);
	sh_take_access(qp, in, opt);
}

/* Live changes: the class a packet travels in, its path through a LAG. */
static void sh_take_live(struct sh_qp *qp, void *in, u32 opt, u32 opt_high)
{
	void *to = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
	void *from = MLX5_ADDR_OF(qpc, in, primary_address_path);

	sh_take_access(qp, in, opt);
	if (opt & MLX5_QP_OPTPAR_RETRY_COUNT)
		SH_TAKE(retry_count);
	if (opt & MLX5_QP_OPTPAR_RNR_RETRY)
		SH_TAKE(rnr_retry);
	if (opt & MLX5_QP_OPTPAR_LAG_TX_AFF && !sh_false(qp->hca, SH_FALSE_LAG_PORT))
		SH_TAKE(lag_tx_port_affinity);
	if (opt & SH_OPT_DSCP && !sh_false(qp->hca, SH_FALSE_DSCP)) {
		MLX5_SET(ads, to, dscp, MLX5_GET(ads, from, dscp));
		sh_contention_modify(qp);
	}
	if (opt_high & SH_OPT_UDP_SPORT && !sh_false(qp->hca, SH_FALSE_UDP_SPORT))
		MLX5_SET(ads, to, udp_sport, MLX5_GET(ads, from, udp_sport));
}

static bool sh_may(u16 op, u8 state)
{
	switch (op) {
	case MLX5_CMD_OP_RST2INIT_QP:
		return state == MLX5_QPC_STATE_RST;
	case MLX5_CMD_OP_INIT2INIT_QP:
	case MLX5_CMD_OP_INIT2RTR_QP:
		return state == MLX5_QPC_STATE_INIT;
	case MLX5_CMD_OP_RTR2RTS_QP:
		return state == MLX5_QPC_STATE_RTR;
	case MLX5_CMD_OP_RTS2RTS_QP:
		return state == MLX5_QPC_STATE_RTS;
	case MLX5_CMD_OP_SQERR2RTS_QP:
		return state == MLX5_QPC_STATE_SQER;
	case MLX5_CMD_OP_SQD_RTS_QP:
		return state == MLX5_QPC_STATE_SQD;
	default:
		return true;
	}
}

/* It is not known whether a ConnectX keeps a QP in its scheduling element when the QP is reset. */
static bool keep_element;
module_param(keep_element, bool, 0644);
MODULE_PARM_DESC(keep_element, "a QP that is reset stays in its scheduling element (N)");

/* The scheduling element that a QP, also a live one, belongs to. */
static int sh_take_group(struct sh_cmd *c, struct sh_qp *qp, const __be32 *opt_high)
{
	const __be32 *ext = opt_high + 2;
	u8 flags = ((u8 *)c->in)[MLX5_BYTE_OFF(rst2init_qp_in, qpn) - 1];

	if ((c->op != MLX5_CMD_OP_INIT2INIT_QP && c->op != MLX5_CMD_OP_RTS2RTS_QP) ||
	    !(flags & SH_QPC_EXT) || !(be32_to_cpu(opt_high[1]) & SH_OPT_QOS_GROUP))
		return MLX5_CMD_STAT_OK;
	return sh_sched_bind(c, qp, be32_to_cpu(ext[SH_EXT_QOS_GROUP]));
}

/* All transitions have the layout of the first. */
static int sh_modify_qp(struct sh_cmd *c)
{
	struct sh_qp *qp = sh_qp_own(c, MLX5_GET(rst2init_qp_in, c->in, qpn));
	u32 opt = MLX5_GET(rst2init_qp_in, c->in, opt_param_mask);
	void *in = MLX5_ADDR_OF(rst2init_qp_in, c->in, qpc);
	__be32 *opt_high = in + MLX5_ST_SZ_BYTES(qpc) + 8;
	int status;

	BUILD_BUG_ON(MLX5_BYTE_OFF(rst2init_qp_in, qpc) != MLX5_BYTE_OFF(rts2rts_qp_in, qpc));
	BUILD_BUG_ON(MLX5_BYTE_OFF(rst2init_qp_in, qpc) != MLX5_BYTE_OFF(init2rtr_qp_in, qpc));
	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (!sh_may(c->op, qp->state))
		return MLX5_CMD_STAT_BAD_QP_STATE_ERR;
	/* IP and UDP are Ethernet's, and so is a LAG. */
	if (c->op == MLX5_CMD_OP_RTS2RTS_QP && !softhca.eth &&
	    (opt & (SH_OPT_DSCP | MLX5_QP_OPTPAR_LAG_TX_AFF) ||
	     be32_to_cpu(opt_high[1]) & SH_OPT_UDP_SPORT))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (c->op == MLX5_CMD_OP_RTS2RTS_QP && opt & MLX5_QP_OPTPAR_LAG_TX_AFF &&
	    MLX5_GET(qpc, in, lag_tx_port_affinity) > SH_LAG_PORTS)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	status = sh_take_group(c, qp, opt_high);
	if (status)
		return status;
	switch (c->op) {
	case MLX5_CMD_OP_RST2INIT_QP:
		sh_take_init(qp, in);
		qp->state = MLX5_QPC_STATE_INIT;
		break;
	case MLX5_CMD_OP_INIT2INIT_QP:
		sh_take_access(qp, in, opt);
		if (opt & MLX5_QP_OPTPAR_PKEY_INDEX)
			MLX5_SET(ads, MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path),
				 pkey_index, MLX5_GET(ads, MLX5_ADDR_OF(qpc, in,
				 primary_address_path), pkey_index));
		break;
	case MLX5_CMD_OP_INIT2RTR_QP:
		sh_take_rtr(qp, in, opt);
		sh_contention_modify(qp);
		qp->state = MLX5_QPC_STATE_RTR;
		break;
	case MLX5_CMD_OP_RTR2RTS_QP:
		sh_take_rts(qp, in, opt);
		sh_contention_modify(qp);
		fallthrough;
	case MLX5_CMD_OP_SQERR2RTS_QP:
	case MLX5_CMD_OP_SQD_RTS_QP:
		qp->state = MLX5_QPC_STATE_RTS;
		sh_qp_kick(qp);
		sh_qp_go(qp);
		break;
	case MLX5_CMD_OP_RTS2RTS_QP:
		sh_take_live(qp, in, opt, be32_to_cpu(opt_high[1]));
		break;
	case MLX5_CMD_OP_2ERR_QP:
		sh_qp_to_err(qp);
		break;
	case MLX5_CMD_OP_2RST_QP:
		sh_qp_reset(qp);
		if (!keep_element)
			return sh_sched_bind(c, qp, 0);
		break;
	}
	return MLX5_CMD_STAT_OK;
}

static int sh_attach_mcg(struct sh_cmd *c)
{
	struct sh_qp *qp = sh_qp_own(c, MLX5_GET(attach_to_mcg_in, c->in, qpn));
	struct sh_mcg *mcg;

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	mcg = kzalloc(sizeof(*mcg), GFP_KERNEL);
	if (!mcg)
		return MLX5_CMD_STAT_INT_ERR;
	mcg->qpn = qp->obj.id;
	memcpy(mcg->gid, MLX5_ADDR_OF(attach_to_mcg_in, c->in, multicast_gid), 16);
	list_add_tail(&mcg->link, &c->hca->mcgs);
	qp->mcgs++;
	return MLX5_CMD_STAT_OK;
}

static int sh_detach_mcg(struct sh_cmd *c)
{
	struct sh_qp *qp = sh_qp_own(c, MLX5_GET(detach_from_mcg_in, c->in, qpn));
	struct sh_mcg *mcg;

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	list_for_each_entry(mcg, &c->hca->mcgs, link) {
		if (mcg->qpn != qp->obj.id ||
		    memcmp(mcg->gid, MLX5_ADDR_OF(detach_from_mcg_in, c->in, multicast_gid), 16))
			continue;
		list_del(&mcg->link);
		kfree(mcg);
		qp->mcgs--;
		return MLX5_CMD_STAT_OK;
	}
	return MLX5_CMD_STAT_BAD_PARAM_ERR;
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_CREATE_QP, sh_create_qp },
	{ MLX5_CMD_OP_DESTROY_QP, sh_destroy_qp },
	{ MLX5_CMD_OP_QUERY_QP, sh_cmd_query_qp },
	{ MLX5_CMD_OP_RST2INIT_QP, sh_modify_qp },
	{ MLX5_CMD_OP_INIT2INIT_QP, sh_modify_qp },
	{ MLX5_CMD_OP_INIT2RTR_QP, sh_modify_qp },
	{ MLX5_CMD_OP_RTR2RTS_QP, sh_modify_qp },
	{ MLX5_CMD_OP_RTS2RTS_QP, sh_modify_qp },
	{ MLX5_CMD_OP_SQERR2RTS_QP, sh_modify_qp },
	{ MLX5_CMD_OP_SQD_RTS_QP, sh_modify_qp },
	{ MLX5_CMD_OP_2ERR_QP, sh_modify_qp },
	{ MLX5_CMD_OP_2RST_QP, sh_modify_qp },
	{ MLX5_CMD_OP_ATTACH_TO_MCG, sh_attach_mcg },
	{ MLX5_CMD_OP_DETACH_FROM_MCG, sh_detach_mcg },
};

sh_cmd_fn sh_cmd_qp(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}
