// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware commands of ours: few, counted, measured. Those that a reader causes are
 * limited in number, for the firmware serves everybody's commands one by one. They
 * carry uid 0, the kernel's own.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "mlx5.h"

/* A burst that takes a few ms of the firmware's time, and so many a second. */
#define BURST	256
#define RATE	1000

void srdma_cmd_init(struct srdma_mlx5 *md)
{
	spin_lock_init(&md->cmd_lock);
	md->tokens = (u64)BURST * NSEC_PER_SEC;
	md->tokens_at = ktime_get_ns();
}

bool srdma_cmd_may(struct srdma_mlx5 *md)
{
	u64 now = ktime_get_ns(), dt;
	bool may;

	spin_lock(&md->cmd_lock);
	dt = min_t(u64, now - md->tokens_at, NSEC_PER_SEC);
	md->tokens = min(md->tokens + dt * RATE, (u64)BURST * NSEC_PER_SEC);
	md->tokens_at = now;
	may = md->tokens >= NSEC_PER_SEC;
	if (may)
		md->tokens -= NSEC_PER_SEC;
	spin_unlock(&md->cmd_lock);
	return may;
}

static void counted(struct srdma_mlx5 *md, u64 start)
{
	atomic64_inc(&md->commands);
	atomic64_add(ktime_get_ns() - start, &md->command_ns);
}

/* By mlx5_cmd_exec(), or by mlx5_cmd_do(), which does not log a refusal. */
static int measured(struct srdma_mlx5 *md,
		    int (*command)(struct mlx5_core_dev *dev, void *in, int in_size, void *out,
				   int out_size),
		    void *in, int in_size, void *out, int out_size)
{
	u64 start = ktime_get_ns();
	int ret = command(md->core, in, in_size, out, out_size);

	counted(md, start);
	return ret;
}

int srdma_cmd(struct srdma_mlx5 *md, void *in, int in_size, void *out, int out_size)
{
	return measured(md, mlx5_cmd_exec, in, in_size, out, out_size);
}

int srdma_cmd_try(struct srdma_mlx5 *md, void *in, int in_size, void *out, int out_size)
{
	return measured(md, mlx5_cmd_do, in, in_size, out, out_size);
}

int srdma_cmd_read_reg(struct srdma_mlx5 *md, void *in, void *out, int size, u16 reg)
{
	u64 start = ktime_get_ns();
	int ret = mlx5_core_access_reg(md->core, in, size, out, size, reg, 0, 0);

	counted(md, start);
	return ret;
}

/*
 * Of a key that may be gone by now, so that a refusal is no error to be logged. With
 * a page size of 0 (a region that the device pages in, or none) there is none.
 */
int srdma_mlx5_mr_shift(struct srdma_dev *dev, u32 lkey)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	u32 in[MLX5_ST_SZ_DW(query_mkey_in)] = {};
	int out_size = MLX5_ST_SZ_BYTES(query_mkey_out), ret;
	void *out;

	if (!srdma_cmd_may(md))
		return -EAGAIN;
	out = kzalloc(out_size, GFP_KERNEL);
	if (!out)
		return -EAGAIN;
	MLX5_SET(query_mkey_in, in, opcode, MLX5_CMD_OP_QUERY_MKEY);
	MLX5_SET(query_mkey_in, in, mkey_index, mlx5_mkey_to_idx(lkey));
	ret = srdma_cmd_try(md, in, sizeof(in), out, out_size);
	if (!ret)
		ret = MLX5_GET(query_mkey_out, out, memory_key_mkey_entry.log_page_size);
	kfree(out);
	return ret;
}

int srdma_cmd_query_qp(struct srdma_mlx5 *md, u32 qpn, struct srdma_qpc *qpc)
{
	u32 in[MLX5_ST_SZ_DW(query_qp_in)] = {};
	int out_size = MLX5_ST_SZ_BYTES(query_qp_out);
	void *out = kzalloc(out_size, GFP_KERNEL), *c;
	int ret;

	if (!out)
		return -ENOMEM;
	MLX5_SET(query_qp_in, in, opcode, MLX5_CMD_OP_QUERY_QP);
	MLX5_SET(query_qp_in, in, qpn, qpn);
	ret = srdma_cmd(md, in, sizeof(in), out, out_size);
	if (!ret) {
		c = MLX5_ADDR_OF(query_qp_out, out, qpc);
		qpc->uar_page = MLX5_GET(qpc, c, uar_page);
		qpc->dbr_addr = MLX5_GET64(qpc, c, dbr_addr);
		qpc->lag_port = MLX5_GET(qpc, c, lag_tx_port_affinity);
		c = MLX5_ADDR_OF(qpc, c, primary_address_path);
		qpc->udp_sport = MLX5_GET(ads, c, udp_sport);
	}
	kfree(out);
	return ret;
}
