// SPDX-License-Identifier: GPL-2.0
/*
 * The path of a connected QP: the UDP source port, by which routers spread flows, and
 * the port of the NIC's own link aggregation. RTS2RTS_QP changes them, without a pause, if the
 * firmware has that capability. The QP's own value is queried before the first change, and
 * programmed again when no override is in force any more.
 *
 * Firmware may accept a LAG port without effect, so the value is read back after each change.
 * As in class.c, the commands have uid 0.
 */
#include <linux/mlx5/qp.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "find.h"
#include "mlx5.h"
#include "override.h"
#include "pass.h"
#include "path.h"

/* Missing in the kernel's headers: capabilities, and bits of opt_param_mask_95_32. */
#define CAP_DWORD		10
#define CAP_RTS2RTS_SPORT	BIT(14)	/* bit 0x151 of cmd_hca_cap */
#define CAP_RTS2RTS_LAG		BIT(13)	/* bit 0x152 */
#define OPT_SPORT		BIT(2)
#define TAIL_BYTES		16	/* up to that mask */

static bool firmware_can(struct srdma_mlx5 *md, u32 bit)
{
	const __be32 *cap = (const __be32 *)md->core->caps.hca[MLX5_CAP_GENERAL]->cur;

	return be32_to_cpu(cap[CAP_DWORD]) & bit;
}

static int check_sport(struct srdma_mlx5 *md, u64 value, const char **why)
{
	*why = "this device's firmware cannot change the UDP source port of a connected QP";
	if (!firmware_can(md, CAP_RTS2RTS_SPORT))
		return -EOPNOTSUPP;
	*why = "this device sends from UDP source ports of its range only, mostly 49152 to 65535";
	if (value < MLX5_CAP_ROCE(md->core, r_roce_min_src_udp_port) ||
	    value > MLX5_CAP_ROCE(md->core, r_roce_max_src_udp_port))
		return -ERANGE;
	return 0;
}

/* Uses the capabilities by which mlx5_ib decides to spread its QPs over the LAG ports. */
static int check_lag(struct srdma_mlx5 *md, u64 value, const char **why)
{
	u32 ports = MLX5_CAP_GEN(md->core, num_lag_ports);

	*why = "this device has no link aggregation of its own";
	if (!MLX5_CAP_GEN(md->core, lag_tx_port_affinity) || ports < 2)
		return -EOPNOTSUPP;
	*why = "this device's firmware cannot change the LAG port of a connected QP";
	if (!firmware_can(md, CAP_RTS2RTS_LAG))
		return -EOPNOTSUPP;
	*why = "the device's link aggregation has fewer ports";
	return value > ports ? -ERANGE : 0;
}

int srdma_mlx5_path_check(const struct srdma_qp *q, enum srdma_path_part part, u64 value,
			  const char **why)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(q->dev);
	u8 port = READ_ONCE(q->port) ?: 1;

	*why = "only RC and UC QPs have one path, which could be changed";
	if (q->type != IB_QPT_RC && q->type != IB_QPT_UC)
		return -EOPNOTSUPP;
	*why = "UDP ports and link aggregation are Ethernet's, this is an InfiniBand port";
	if (rdma_port_get_link_layer(q->dev->ibdev, port) != IB_LINK_LAYER_ETHERNET)
		return -EOPNOTSUPP;
	return part == SRDMA_PATH_SPORT ? check_sport(md, value, why) : check_lag(md, value, why);
}

static int query_path(struct srdma_mlx5 *md, const struct srdma_qp *q, enum srdma_path_part part,
		      u16 *value)
{
	struct srdma_qpc qpc;
	int ret = srdma_cmd_query_qp(md, q->qpn, &qpc);

	if (!ret)
		*value = part == SRDMA_PATH_SPORT ? qpc.udp_sport : qpc.lag_port;
	return ret;
}

static int program_path(struct srdma_mlx5 *md, struct srdma_qp *q, enum srdma_path_part part,
			u16 value)
{
	u32 in[(SRDMA_RTS2RTS_BYTES + TAIL_BYTES) / sizeof(u32)] = {};
	void *qpc = MLX5_ADDR_OF(rts2rts_qp_in, in, qpc);

	if (part == SRDMA_PATH_SPORT) {
		srdma_rts2rts_tail(in)[SRDMA_RTS2RTS_MASK] = cpu_to_be32(OPT_SPORT);
		MLX5_SET(ads, MLX5_ADDR_OF(qpc, qpc, primary_address_path), udp_sport, value);
	} else {
		MLX5_SET(rts2rts_qp_in, in, opt_param_mask, MLX5_QP_OPTPAR_LAG_TX_AFF);
		MLX5_SET(qpc, qpc, lag_tx_port_affinity, value);
	}
	return srdma_cmd_rts2rts(md, q, in, sizeof(in), part == SRDMA_PATH_SPORT ?
				 "another UDP source port" : "another LAG port");
}

static void set_ours(struct srdma_mlx5 *md, struct srdma_path *p, bool set)
{
	if (set != p->set)
		atomic_add(set ? 1 : -1, &md->n_paths);
	WRITE_ONCE(p->set, set);
}

/* srdma_qp_lock() is held, the QP is not dead and may be in RTS. */
static int change_path(struct srdma_mlx5 *md, struct srdma_qp *q, enum srdma_path_part part,
		       struct srdma_path *p, u32 want)
{
	u16 value = want ? srdma_packed_value(want) : p->own, is;
	int ret = 0;

	if (!p->set)
		ret = query_path(md, q, part, &p->own);
	if (!ret)
		ret = program_path(md, q, part, value);
	if (!ret) {
		is = p->own;
		ret = query_path(md, q, part, &is);
		if (!ret && is != value)
			ret = -EIO;
		WRITE_ONCE(p->value, is);
		/* After an error the value may have changed, so it has to be taken back. */
		set_ours(md, p, want || ret);
	}
	p->refused = value;
	WRITE_ONCE(p->error, ret);
	srdma_qp_touch(q);
	return ret;
}

/* Returns how much is to be tried again. srdma_qp_lock() is held, the QP is not dead. */
static u32 program_wanted_paths(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	u32 left = 0, want;
	int part, ret;

	for (part = 0; part < SRDMA_PATH_PARTS; part++) {
		struct srdma_path *p = &hw->path[part];

		want = srdma_giving_back(md->dev) ? 0 : READ_ONCE(p->want);
		if (!srdma_path_pending(q, part))
			continue;
		/*
		 * Before RTS the path cannot be changed; the modify to RTS requests another
		 * pass.
		 */
		if (test_bit(SRDMA_QP_HAS_STATE, &q->flags) && q->state != IB_QPS_RTS)
			continue;
		/* The device would refuse the same again. */
		if ((p->error == -EREMOTEIO || p->error == -EIO) && !srdma_giving_back(md->dev) &&
		    p->refused == (want ? srdma_packed_value(want) : p->own))
			continue;
		ret = change_path(md, q, part, p, want);
		left += ret == -ENOMEM || ret == -EAGAIN;
	}
	return left;
}

static bool has_pending_path(const struct srdma_qp *q)
{
	return srdma_path_pending(q, SRDMA_PATH_SPORT) || srdma_path_pending(q, SRDMA_PATH_LAG);
}

u32 srdma_mlx5_paths(struct srdma_mlx5 *md)
{
	struct srdma_qp *q;
	u32 left = 0;

	if (!READ_ONCE(md->dev->path_wants) && !atomic_read(&md->n_paths))
		return 0;
	srdma_for_each_qp(q, md->dev) {
		if (!has_pending_path(q))
			continue;	/* nearly all QPs */
		if (!srdma_qp_trylock(q)) {
			left++;
			continue;
		}
		if (!test_bit(SRDMA_QP_DEAD, &q->flags))
			left += program_wanted_paths(md, q);
		srdma_qp_unlock(q);
	}
	return left;
}

void srdma_path_lost(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int part;

	for (part = 0; part < SRDMA_PATH_PARTS; part++) {
		set_ours(md, &hw->path[part], false);
		WRITE_ONCE(hw->path[part].error, 0);
	}
}
