// SPDX-License-Identifier: GPL-2.0
/*
 * Diagnostic counters. A device lists in its capabilities which ones it has. The commands
 * and their layout are those of public drivers; the kernel's headers lack them.
 *
 * A device has one set of enabled counters, which all users of the device share. The module
 * enables its counters at the first reading with CAP_NET_ADMIN, and disables them when it is
 * unloaded. With the parameter diag=N it does not enable them.
 */
#include <linux/ktime.h>
#include <linux/mlx5/device.h>
#include <linux/module.h>

#include "mlx5.h"

static bool diag = true;
module_param(diag, bool, 0444);
MODULE_PARM_DESC(diag, "read diagnostic counters, at the request of a reader (Y)");

#define OP_SET		0x820
#define OP_QUERY	0x821

/* Dwords of cmd_hca_cap (upper half: how many) and debug_cap (the first of them). */
#define CAP_NUM_DWORD	20
#define CAP_IDS_DWORD	16

/*
 * The ids of the device's L0 cache of translations and of stalled PCI reads, as the public
 * documentation of mlx5 lists them. Lookups of QP contexts have no public ids; those here
 * are the software ConnectX's own, far from the public ones.
 */
static const u16 wanted[SRDMA_DIAGS] = {
	[SRDMA_DIAG_MTT_MISS] = 0x801,
	[SRDMA_DIAG_MTT_HIT] = 0x802,
	[SRDMA_DIAG_READ_STALL] = 0x403,
	[SRDMA_DIAG_QPC_MISS] = 0xf001,
	[SRDMA_DIAG_QPC_HIT] = 0xf002,
};

#define OPCODE_SHIFT	16
/* SET: dword 2 has the number, dword 3 the flags, the ids begin at dword 8. */
#define SET_NUM_SHIFT	16
#define SET_ON_DEMAND	BIT(27)
#define SET_ENABLE	BIT(26)
#define SET_IDS		8
/* QUERY: dword 2 has the number of samples; what comes begins at dword 4. */
#define QUERY_NUM_SHIFT	16
#define QUERY_VALUES	4
#define VALUE_DWORDS	4

struct value {
	__be16 id, sample;
	__be32 stamp, high, low;
};

void srdma_diag_init(struct srdma_mlx5 *md)
{
	const __be32 *gen, *ids;
	u32 n, i, k, room;

	if (!diag || !srdma_mlx5_is_pf(md) || !MLX5_CAP_GEN(md->core, debug))
		return;
	gen = (const __be32 *)md->core->caps.hca[MLX5_CAP_GENERAL]->cur;
	ids = (const __be32 *)md->core->caps.hca[MLX5_CAP_DEBUG]->cur;
	room = MLX5_UN_SZ_DW(hca_cap_union) - CAP_IDS_DWORD;
	n = min_t(u32, be32_to_cpu(gen[CAP_NUM_DWORD]) >> 16, room);
	for (i = 0; i < n; i++)
		for (k = 0; k < SRDMA_DIAGS; k++)
			if ((be32_to_cpu(ids[CAP_IDS_DWORD + i]) & 0xffff) == wanted[k])
				md->diag_has |= BIT(k);
}

static int enable_counters(struct srdma_mlx5 *md, u32 has)
{
	__be32 in[SET_IDS + SRDMA_DIAGS] = {}, out[4] = {};
	u32 n = 0, k;

	for (k = 0; k < SRDMA_DIAGS; k++)
		if (has & BIT(k))
			in[SET_IDS + n++] = cpu_to_be32(wanted[k]);
	in[0] = cpu_to_be32(OP_SET << OPCODE_SHIFT);
	in[2] = cpu_to_be32(n << SET_NUM_SHIFT);
	in[3] = cpu_to_be32(n ? SET_ON_DEMAND | SET_ENABLE : 0);
	return srdma_cmd(md, in, (SET_IDS + n) * sizeof(*in), out, sizeof(out));
}

static void store_counter(struct srdma_mlx5 *md, const struct value *v)
{
	u32 k;

	lockdep_assert_held(&md->told_lock);
	for (k = 0; k < SRDMA_DIAGS; k++)
		if (be16_to_cpu(v->id) == wanted[k])
			md->diag[k] = (u64)be32_to_cpu(v->high) << 32 | be32_to_cpu(v->low);
}

static int read_diag_counters(struct srdma_mlx5 *md)
{
	__be32 in[4] = {}, out[QUERY_VALUES + VALUE_DWORDS * SRDMA_DIAGS] = {};
	u32 n = hweight32(md->diag_has), i;
	u64 now = ktime_get_ns();
	int ret;

	in[0] = cpu_to_be32(OP_QUERY << OPCODE_SHIFT);
	in[2] = cpu_to_be32(1 << QUERY_NUM_SHIFT);
	ret = srdma_cmd(md, in, sizeof(in), out,
			(QUERY_VALUES + VALUE_DWORDS * n) * sizeof(*out));
	if (ret)
		return ret;
	spin_lock(&md->told_lock);
	for (i = 0; i < n; i++)
		store_counter(md, (const struct value *)&out[QUERY_VALUES + VALUE_DWORDS * i]);
	md->diag_at = now;
	spin_unlock(&md->told_lock);
	return 0;
}

/* After a refusal counters are not read again, to spare the firmware the commands. */
void srdma_diag_refresh(struct srdma_mlx5 *md)
{
	int ret = 0;

	if (!md->diag_has || ktime_get_ns() < md->diag_retry_at || !srdma_cmd_may(md))
		return;
	if (!md->diag_on)
		ret = enable_counters(md, md->diag_has);
	if (!ret) {
		WRITE_ONCE(md->diag_on, true);
		ret = read_diag_counters(md);
	}
	if (srdma_may_pass(ret))
		md->diag_retry_at = ktime_get_ns() + SRDMA_RETRY_NS;
	else if (ret)
		WRITE_ONCE(md->diag_has, 0);
}

void srdma_diag_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st)
{
	u32 has = READ_ONCE(md->diag_has);

	spin_lock(&md->told_lock);
	if (md->diag_at) {
		st->diag_at = md->diag_at;
		st->mtt = !(~has & (BIT(SRDMA_DIAG_MTT_MISS) | BIT(SRDMA_DIAG_MTT_HIT)));
		st->mtt_misses = md->diag[SRDMA_DIAG_MTT_MISS];
		st->mtt_hits = md->diag[SRDMA_DIAG_MTT_HIT];
		st->stall = has & BIT(SRDMA_DIAG_READ_STALL);
		st->read_stall = md->diag[SRDMA_DIAG_READ_STALL];
		st->qpc = !(~has & (BIT(SRDMA_DIAG_QPC_MISS) | BIT(SRDMA_DIAG_QPC_HIT)));
		st->qpc_misses = md->diag[SRDMA_DIAG_QPC_MISS];
		st->qpc_hits = md->diag[SRDMA_DIAG_QPC_HIT];
	}
	spin_unlock(&md->told_lock);
}

void srdma_diag_exit(struct srdma_mlx5 *md)
{
	if (md->diag_on)
		enable_counters(md, 0);
}
