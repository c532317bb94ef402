// SPDX-License-Identifier: GPL-2.0
/*
 * The class of a connected QP. On Ethernet RTS2RTS_QP changes the DSCP, without a
 * pause, if the firmware has that capability. On InfiniBand the class is the service level,
 * which cannot be changed after the QP was connected.
 *
 * A QP belongs to the user context (uid) that created it, and no kernel interface tells
 * that uid. The command has uid 0, the kernel's. A firmware that accepts only the QP's own
 * uid refuses the command, and the action's result has the refusal.
 */
#include <linux/mlx5/qp.h>
#include <rdma/ib_verbs.h>

#include "class.h"
#include "mlx5.h"

/* Missing in the kernel's headers: a capability, and a bit of opt_param_mask. */
#define CAP_DWORD		11
#define CAP_RTS2RTS_DSCP	BIT(21)	/* bit 0x16a of cmd_hca_cap */
#define OPT_DSCP		BIT(17)

bool srdma_class_can(struct srdma_mlx5 *md)
{
	const __be32 *cap = (const __be32 *)md->core->caps.hca[MLX5_CAP_GENERAL]->cur;

	return be32_to_cpu(cap[CAP_DWORD]) & CAP_RTS2RTS_DSCP;
}

int srdma_mlx5_class_begin(struct srdma_qp *q)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(q->dev);

	if (!md->live_class || q->type != IB_QPT_RC || !srdma_qp_keeps_sl(q))
		return -EOPNOTSUPP;
	/* The QP was connected under another provider, which set the service level as well. */
	if (q->sl != q->sl_asked)
		return -EOPNOTSUPP;
	return q->state == IB_QPS_RTS ? 0 : -EBUSY;
}

int srdma_mlx5_class_commit(struct srdma_qp *q, const struct srdma_class *c)
{
	u32 in[MLX5_ST_SZ_DW(rts2rts_qp_in)] = {};
	void *qpc = MLX5_ADDR_OF(rts2rts_qp_in, in, qpc);

	MLX5_SET(rts2rts_qp_in, in, opt_param_mask, OPT_DSCP);
	MLX5_SET(ads, MLX5_ADDR_OF(qpc, qpc, primary_address_path), dscp, c->tclass >> 2);
	return srdma_cmd_rts2rts(srdma_mlx5_of(q->dev), q, in, sizeof(in), "another DSCP");
}
