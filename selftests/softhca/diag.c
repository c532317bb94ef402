// SPDX-License-Identifier: GPL-2.0
/*
 * Diagnostic counters: what the contention model did, by the numbers that a
 * ConnectX has for such things. There are public numbers for few of them; lookups of QP
 * contexts have numbers that are this device's own.
 *
 * The commands are those of public drivers; these headers do not have them. A
 * user may not send them, only a kernel driver. Values are taken on demand, when
 * they are asked for.
 */
#include <linux/math64.h>

#include "contention.h"

#define SH_OP_QUERY_DIAG_PARAMS	0x819
#define SH_OP_SET_DIAG_PARAMS	0x820
#define SH_OP_QUERY_DIAG	0x821

struct mlx5_ifc_sh_diag_params_bits {
	u8 num_of_counters[0x10];
	u8 reserved_at_10[0x8];
	u8 log_num_of_samples[0x8];

	u8 single[0x1];
	u8 repetitive[0x1];
	u8 sync[0x1];
	u8 clear[0x1];
	u8 on_demand[0x1];
	u8 enable[0x1];
	u8 reserved_at_26[0x12];
	u8 log_sample_period[0x8];

	u8 reserved_at_40[0x80];

	u8 counter[][0x20];
};

struct mlx5_ifc_sh_diag_set_in_bits {
	u8 hdr[0x40];
	struct mlx5_ifc_sh_diag_params_bits params;
};

struct mlx5_ifc_sh_diag_query_in_bits {
	u8 hdr[0x40];
	u8 num_of_samples[0x10];
	u8 sample_index[0x10];
	u8 reserved_at_60[0x20];
};

struct mlx5_ifc_sh_diag_value_bits {
	u8 counter_id[0x10];
	u8 sample_id[0x10];
	u8 time_stamp[0x20];
	u8 value_h[0x20];
	u8 value_l[0x20];
};

struct mlx5_ifc_sh_diag_query_out_bits {
	u8 hdr[0x80];
	struct mlx5_ifc_sh_diag_value_bits value[];
};

#define SH_NO_COUNTER	0xf0ff	/* an id that this device does not know */

/* Where in the capabilities these are, past what the headers know. */
#define SH_CAP_NUM_DWORD	20	/* of cmd_hca_cap, its upper half */
#define SH_CAP_IDS_DWORD	16	/* of debug_cap */

static u64 sh_mtt_misses(const struct model *m)
{
	return m->stats.misses[MODEL_MTT];
}

static u64 sh_mtt_hits(const struct model *m)
{
	return m->stats.hits[MODEL_MTT];
}

static u64 sh_qpc_misses(const struct model *m)
{
	return m->stats.misses[MODEL_QPC];
}

static u64 sh_qpc_hits(const struct model *m)
{
	return m->stats.hits[MODEL_QPC];
}

/* In cycles, of which there are 1000 in a microsecond. */
static u64 sh_read_stalls(const struct model *m)
{
	return div_u64(m->stats.fetch_ps + m->stats.refetch_ps, 1000);
}

static u64 sh_work_done(const struct model *m)
{
	return m->stats.done;
}

static u64 sh_limited(const struct model *m)
{
	u64 n = 0;
	u32 i;

	for (i = 0; i < m->n.elements; i++)
		n += m->element[i].blocks;
	return n;
}

static const struct {
	u16 id;
	u64 (*get)(const struct model *m);
} sh_diag[SH_DIAGS] = {
	{ 0x0403, sh_read_stalls },	/* pxd_ready_bp: reads over PCI hold work up */
	{ 0x0801, sh_mtt_misses },	/* L0 MTT miss */
	{ 0x0802, sh_mtt_hits },	/* L0 MTT hit */
	{ 0x2003, sh_work_done },	/* sxw_qp_done_due_to_work_done */
	{ 0x2004, sh_limited },		/* sxw_qp_done_due_to_limited */
	{ 0xf001, sh_qpc_misses },	/* of our own, there is no public id; */
	{ 0xf002, sh_qpc_hits },	/* nor for this */
};

void sh_diag_caps_general(__be32 *cap)
{
	cap[SH_CAP_NUM_DWORD] |= cpu_to_be32(SH_DIAGS << 16);
}

void sh_diag_caps(const struct sh_hca *h, __be32 *cap)
{
	int i;

	for (i = 0; i < SH_DIAGS; i++)
		cap[SH_CAP_IDS_DWORD + i] = cpu_to_be32(sh_diag[i].id);
	if (sh_false(h, SH_FALSE_DIAG))
		cap[SH_CAP_IDS_DWORD] = cpu_to_be32(SH_NO_COUNTER);
}

static int sh_diag_find(u32 id)
{
	int i;

	for (i = 0; i < SH_DIAGS; i++)
		if (sh_diag[i].id == id)
			return i;
	return -ENOENT;
}

static int sh_set_diag(struct sh_cmd *c)
{
	void *p = MLX5_ADDR_OF(sh_diag_set_in, c->in, params);
	__be32 *ids = MLX5_ADDR_OF(sh_diag_params, p, counter);
	u32 n = MLX5_GET(sh_diag_params, p, num_of_counters), i;
	struct sh_contention *m = c->hca->contention;
	u8 chosen[SH_DIAGS];
	int at;

	if (!m)
		return MLX5_CMD_STAT_BAD_OP_ERR;
	if (n > SH_DIAGS || MLX5_GET(sh_diag_params, p, single) ||
	    MLX5_GET(sh_diag_params, p, repetitive) ||
	    MLX5_GET(sh_diag_params, p, log_num_of_samples))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	for (i = 0; i < n; i++) {
		at = sh_diag_find(be32_to_cpu(ids[i]) & 0xffff);
		if (at < 0)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		chosen[i] = at;
	}
	m->diag_n = MLX5_GET(sh_diag_params, p, enable) ? n : 0;
	memcpy(m->diag, chosen, n);
	if (MLX5_GET(sh_diag_params, p, clear))
		for (i = 0; i < SH_DIAGS; i++)
			m->diag_base[i] = sh_diag[i].get(&m->model);
	return MLX5_CMD_STAT_OK;
}

static int sh_query_diag_params(struct sh_cmd *c)
{
	void *p = MLX5_ADDR_OF(sh_diag_set_in, c->out, params);
	__be32 *ids = MLX5_ADDR_OF(sh_diag_params, p, counter);
	struct sh_contention *m = c->hca->contention;
	u32 i;

	if (!m)
		return MLX5_CMD_STAT_BAD_OP_ERR;
	MLX5_SET(sh_diag_params, p, num_of_counters, m->diag_n);
	MLX5_SET(sh_diag_params, p, on_demand, 1);
	MLX5_SET(sh_diag_params, p, enable, !!m->diag_n);
	for (i = 0; i < m->diag_n; i++)
		ids[i] = cpu_to_be32(sh_diag[m->diag[i]].id);
	return MLX5_CMD_STAT_OK;
}

static int sh_query_diag(struct sh_cmd *c)
{
	struct sh_contention *m = c->hca->contention;
	u32 i;

	if (!m)
		return MLX5_CMD_STAT_BAD_OP_ERR;
	if (!m->diag_n || MLX5_GET(sh_diag_query_in, c->in, num_of_samples) != 1 ||
	    MLX5_GET(sh_diag_query_in, c->in, sample_index))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	for (i = 0; i < m->diag_n; i++) {
		void *v = MLX5_ADDR_OF(sh_diag_query_out, c->out, value[i]);
		u32 at = m->diag[i];
		u64 value = sh_diag[at].get(&m->model) - m->diag_base[at];

		MLX5_SET(sh_diag_value, v, counter_id, sh_diag[at].id);
		MLX5_SET(sh_diag_value, v, time_stamp, lower_32_bits(ktime_get_ns()));
		MLX5_SET(sh_diag_value, v, value_h, upper_32_bits(value));
		MLX5_SET(sh_diag_value, v, value_l, lower_32_bits(value));
	}
	return MLX5_CMD_STAT_OK;
}

static const struct sh_cmd_entry sh_table[] = {
	{ SH_OP_QUERY_DIAG_PARAMS, sh_query_diag_params },
	{ SH_OP_SET_DIAG_PARAMS, sh_set_diag },
	{ SH_OP_QUERY_DIAG, sh_query_diag },
};

sh_cmd_fn sh_cmd_diag(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}
