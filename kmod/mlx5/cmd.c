// SPDX-License-Identifier: GPL-2.0
/*
 * The module's firmware commands, counted and timed. Commands that a reader causes are
 * limited in number, because the firmware serves the commands of all users one by one. They
 * have uid 0, the kernel's. Commands that the driver sends because this module called it are
 * counted by the probes of devx.c (srdma_mlx5.causes).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mlx5/qp.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "debug.h"
#include "mlx5.h"
#include "param.h"

static bool detail = true;
module_param(detail, bool, 0444);
MODULE_PARM_DESC(detail, "read what takes more commands, at the request of a reader, once a second: stalls of PCIe, priorities and congestion of ports (Y)");

bool srdma_mlx5_detail(void)
{
	return detail;
}

SRDMA_PARAM(max_commands, 1000, 1, 100000,
	    "most firmware commands that readers may cause on a device, 1 to 100000 a second, a quarter of them at once (1000)");

u32 srdma_cmd_max(void)
{
	return READ_ONCE(max_commands);
}

/*
 * Commands that may be sent at once: a quarter second's worth, a few ms of the firmware's
 * time.
 */
static u32 burst_commands(void)
{
	return max(READ_ONCE(max_commands) / 4, 1u);
}

static u64 burst_tokens(void)
{
	return burst_commands() * (u64)NSEC_PER_SEC;
}

void srdma_cmd_init(struct srdma_mlx5 *md)
{
	spin_lock_init(&md->cmd_lock);
	md->tokens = burst_tokens();
	md->tokens_at = ktime_get_ns();
}

/*
 * Commands that queries of single objects leave for the figures of ports and of the device. A
 * process decides how many memory regions and QPs there are to be queried, and policies depend
 * on the figures of ports. A port takes ten commands, the device two, so this is enough for
 * two readings of two ports. It is at most half of what may be sent at once.
 */
#define RESERVE		64

/* May a command be sent that leaves at least @keep tokens? */
static bool take_token(struct srdma_mlx5 *md, u64 keep)
{
	u64 now = ktime_get_ns(), dt;
	bool may;

	if (srdma_no_commands())
		return false;
	spin_lock(&md->cmd_lock);
	dt = min_t(u64, now - md->tokens_at, NSEC_PER_SEC);
	md->tokens = min(md->tokens + dt * READ_ONCE(max_commands), burst_tokens());
	md->tokens_at = now;
	may = md->tokens >= NSEC_PER_SEC + keep;
	if (may)
		md->tokens -= NSEC_PER_SEC;
	spin_unlock(&md->cmd_lock);
	return may;
}

bool srdma_cmd_may(struct srdma_mlx5 *md)
{
	return take_token(md, 0);
}

bool srdma_cmd_may_query(struct srdma_mlx5 *md)
{
	return take_token(md, min_t(u32, RESERVE, burst_commands() / 2) * (u64)NSEC_PER_SEC);
}

static void count_command(struct srdma_mlx5 *md, u64 start)
{
	atomic64_inc(&md->commands);
	atomic64_add(ktime_get_ns() - start, &md->command_ns);
}

/* Send by mlx5_cmd_exec(), or by mlx5_cmd_do(), which does not log a refusal. */
static int run_measured(struct srdma_mlx5 *md,
			int (*command)(struct mlx5_core_dev *dev, void *in, int in_size,
				       void *out, int out_size),
			void *in, int in_size, void *out, int out_size)
{
	u64 start = ktime_get_ns();
	int ret = command(md->core, in, in_size, out, out_size);

	count_command(md, start);
	return ret;
}

int srdma_cmd(struct srdma_mlx5 *md, void *in, int in_size, void *out, int out_size)
{
	return run_measured(md, mlx5_cmd_exec, in, in_size, out, out_size);
}

/* Was the command refused because of other users of the device, and not for its contents? */
static bool is_transient(u8 status)
{
	switch (status) {
	case MLX5_CMD_STAT_RES_BUSY:
	case MLX5_CMD_STAT_LIM_ERR:
	case MLX5_CMD_STAT_NO_RES_ERR:
		return true;
	default:
		return false;
	}
}

int srdma_cmd_try(struct srdma_mlx5 *md, void *in, int in_size, void *out, int out_size,
		  u32 *syndrome)
{
	int ret = run_measured(md, mlx5_cmd_do, in, in_size, out, out_size);

	if (syndrome)
		*syndrome = 0;
	if (ret != -EREMOTEIO)
		return ret;
	/* Every answer begins with status and syndrome. */
	if (syndrome)
		*syndrome = MLX5_GET(query_qp_out, out, syndrome);
	return is_transient(MLX5_GET(query_qp_out, out, status)) ? -EAGAIN : ret;
}

int srdma_cmd_read_reg(struct srdma_mlx5 *md, void *in, void *out, int size, u16 reg)
{
	u64 start = ktime_get_ns();
	int ret = mlx5_core_access_reg(md->core, in, size, out, size, reg, 0, 0);

	count_command(md, start);
	return ret;
}

/* RTS2RTS_QP was refused: find out why. */
static int explain_refusal(struct srdma_mlx5 *md, struct srdma_qp *q, const char *what,
			   u32 syndrome)
{
	struct srdma_qp_hw *hw = srdma_qp_hw_make(q);
	struct srdma_qpc qpc;

	/* If the QP has failed, the device knows it before the driver does. */
	if (!srdma_cmd_query_qp(md, q->qpn, &qpc) && qpc.state != IB_QPS_RTS) {
		WRITE_ONCE(q->state, qpc.state);
		srdma_qp_touch(q);
		return -ENOTCONN;
	}
	if (!hw)
		return -ENOMEM;
	WRITE_ONCE(hw->syndrome, syndrome);
	pr_warn_ratelimited("%s: QP %u: the device refuses %s, syndrome 0x%08x\n", md->dev->name,
			    q->qpn, what, syndrome);
	return -EREMOTEIO;
}

int srdma_cmd_rts2rts(struct srdma_mlx5 *md, struct srdma_qp *q, void *in, int size,
		      const char *what)
{
	u32 out[MLX5_ST_SZ_DW(rts2rts_qp_out)] = {};
	u32 syndrome;
	int ret;

	MLX5_SET(rts2rts_qp_in, in, opcode, MLX5_CMD_OP_RTS2RTS_QP);
	MLX5_SET(rts2rts_qp_in, in, qpn, q->qpn);
	ret = srdma_cmd_try(md, in, size, out, sizeof(out), &syndrome);
	return ret == -EREMOTEIO ? explain_refusal(md, q, what, syndrome) : ret;
}

void srdma_cmd_count_begin(struct srdma_mlx5 *md)
{
	md->caused_at = ktime_get_ns();
	WRITE_ONCE(md->causes, current);
}

void srdma_cmd_count_end(struct srdma_mlx5 *md)
{
	WRITE_ONCE(md->causes, NULL);
	atomic64_add(ktime_get_ns() - md->caused_at, &md->command_ns);
}

/* The driver sends several commands for this: state, speed and more. */
int srdma_mlx5_query_port(struct srdma_dev *dev, u32 port, struct ib_port_attr *attr)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	int ret;

	srdma_cmd_count_begin(md);
	ret = ib_query_port(dev->ibdev, port, attr);
	srdma_cmd_count_end(md);
	return ret;
}

/*
 * Page size of the region of @lkey. The region may be gone by now, so a refusal is not
 * logged. A page size of 0 (a region that the device pages in, or no region) has no shift.
 */
int srdma_mlx5_mr_shift(struct srdma_dev *dev, u32 lkey)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	u32 in[MLX5_ST_SZ_DW(query_mkey_in)] = {}, out[MLX5_ST_SZ_DW(query_mkey_out)] = {};
	int ret;

	if (!srdma_cmd_may_query(md))
		return -EAGAIN;
	MLX5_SET(query_mkey_in, in, opcode, MLX5_CMD_OP_QUERY_MKEY);
	MLX5_SET(query_mkey_in, in, mkey_index, mlx5_mkey_to_idx(lkey));
	ret = srdma_cmd_try(md, in, sizeof(in), out, sizeof(out), NULL);
	return ret ?: MLX5_GET(query_mkey_out, out, memory_key_mkey_entry.log_page_size);
}

static u8 ib_state(u8 state)
{
	static const u8 states[] = {
		[MLX5_QP_STATE_RST] = IB_QPS_RESET, [MLX5_QP_STATE_INIT] = IB_QPS_INIT,
		[MLX5_QP_STATE_RTR] = IB_QPS_RTR, [MLX5_QP_STATE_RTS] = IB_QPS_RTS,
		[MLX5_QP_STATE_SQER] = IB_QPS_SQE, [MLX5_QP_STATE_SQD] = IB_QPS_SQD,
		[MLX5_QP_STATE_ERR] = IB_QPS_ERR, [MLX5_QP_STATE_SQ_DRAINING] = IB_QPS_SQD,
	};

	return state < ARRAY_SIZE(states) ? states[state] : IB_QPS_ERR;
}

static void read_qpc(const void *c, struct srdma_qpc *qpc)
{
	const void *path = MLX5_ADDR_OF(qpc, c, primary_address_path);

	qpc->uar_page = MLX5_GET(qpc, c, uar_page);
	qpc->dbr_addr = MLX5_GET64(qpc, c, dbr_addr);
	qpc->lag_port = MLX5_GET(qpc, c, lag_tx_port_affinity);
	qpc->state = ib_state(MLX5_GET(qpc, c, state));
	qpc->dest_qpn = MLX5_GET(qpc, c, remote_qpn);
	qpc->udp_sport = MLX5_GET(ads, path, udp_sport);
	qpc->port = MLX5_GET(ads, path, vhca_port_num);
	qpc->dlid = MLX5_GET(ads, path, rlid);
	qpc->sl = MLX5_GET(ads, path, sl);
	qpc->dscp = MLX5_GET(ads, path, dscp);
	qpc->eth_prio = MLX5_GET(ads, path, eth_prio);
	qpc->grh = MLX5_GET(ads, path, grh);
	qpc->tclass = MLX5_GET(ads, path, tclass);
	qpc->flow_label = MLX5_GET(ads, path, flow_label);
	qpc->hop_limit = MLX5_GET(ads, path, hop_limit);
	qpc->sgid_index = MLX5_GET(ads, path, src_addr_index);
	memcpy(qpc->dgid, MLX5_ADDR_OF(ads, path, rgid_rip), sizeof(qpc->dgid));
	memcpy(qpc->dmac, MLX5_ADDR_OF(ads, path, rmac_47_32), sizeof(qpc->dmac));
}

static void read_sq(const void *c, struct srdma_sq *sq)
{
	sq->posted = MLX5_GET(qpc, c, sw_sq_wqebb_counter);
	sq->completed = MLX5_GET(qpc, c, hw_sq_wqebb_counter);
	sq->log_size = MLX5_GET(qpc, c, log_sq_size);
}

/* Send QUERY_QP, and read @qpc or @sq from the answer. */
static int query_qp(struct srdma_mlx5 *md, u32 qpn, struct srdma_qpc *qpc, struct srdma_sq *sq)
{
	u32 in[MLX5_ST_SZ_DW(query_qp_in)] = {}, out[MLX5_ST_SZ_DW(query_qp_out)] = {};
	int ret;

	MLX5_SET(query_qp_in, in, opcode, MLX5_CMD_OP_QUERY_QP);
	MLX5_SET(query_qp_in, in, qpn, qpn);
	ret = srdma_cmd_try(md, in, sizeof(in), out, sizeof(out), NULL);
	if (!ret && qpc)
		read_qpc(MLX5_ADDR_OF(query_qp_out, out, qpc), qpc);
	if (!ret && sq)
		read_sq(MLX5_ADDR_OF(query_qp_out, out, qpc), sq);
	return ret;
}

int srdma_cmd_query_qp(struct srdma_mlx5 *md, u32 qpn, struct srdma_qpc *qpc)
{
	return query_qp(md, qpn, qpc, NULL);
}

int srdma_cmd_query_sq(struct srdma_mlx5 *md, u32 qpn, struct srdma_sq *sq)
{
	return query_qp(md, qpn, NULL, sq);
}
