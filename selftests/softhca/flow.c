// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of flow tables, groups, entries and counters. flow_match.c reads what they set up.
 */
#include "flow.h"

#define SH_MAX_DESTS	64
#define SH_DISCONNECT	1	/* op_mod: no table is the root */
#define SH_REPLACE	1	/* op_mod: the entry is there already */

/* --- tables ------------------------------------------------------------------------ */

static struct sh_ft *sh_ft_own(struct sh_cmd *c, u8 type, u32 id)
{
	struct sh_ft *ft = sh_find_own(c, SH_FT, id);

	return ft && ft->type == type ? ft : NULL;
}

/* The table that packets see first, and the number of entries in all tables of the type. */
static u32 *sh_root(struct sh_hca *h, u8 type)
{
	return type == SH_NIC_RX ? &h->flow_root : &h->sent_root;
}

static u32 *sh_entries(struct sh_hca *h, u8 type)
{
	return type == SH_NIC_RX ? &h->flows : &h->sent_flows;
}

static bool sh_miss_ok(struct sh_cmd *c, u8 type, void *ctx)
{
	u8 action = MLX5_GET(flow_table_context, ctx, table_miss_action);

	return action == MLX5_FLOW_TABLE_MISS_ACTION_DEF ||
	       (action == MLX5_FLOW_TABLE_MISS_ACTION_FWD &&
		sh_ft_own(c, type, MLX5_GET(flow_table_context, ctx, table_miss_id)));
}

static void sh_set_miss(struct sh_ft *ft, void *ctx)
{
	ft->miss_action = MLX5_GET(flow_table_context, ctx, table_miss_action);
	ft->miss_id = MLX5_GET(flow_table_context, ctx, table_miss_id);
}

static int sh_create_ft(struct sh_cmd *c)
{
	void *ctx = MLX5_ADDR_OF(create_flow_table_in, c->in, flow_table_context);
	u8 type = MLX5_GET(create_flow_table_in, c->in, table_type);
	u8 log = MLX5_GET(flow_table_context, ctx, log_size);
	struct sh_ft *ft;
	int status;

	if (!softhca.eth || (type != SH_NIC_RX && type != SH_RDMA_TX) ||
	    MLX5_GET(create_flow_table_in, c->in, other_vport) || c->op_mod ||
	    log > SH_LOG_MAX_FT || MLX5_GET(flow_table_context, ctx, reformat_en) ||
	    MLX5_GET(flow_table_context, ctx, decap_en) || !sh_miss_ok(c, type, ctx))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	ft = sh_new(c, SH_FT, sizeof(*ft), &status);
	if (!ft)
		return status;
	xa_init(&ft->entries);
	ft->type = type;
	ft->size = 1U << log;
	sh_set_miss(ft, ctx);
	MLX5_SET(create_flow_table_out, c->out, table_id, ft->obj.id);
	return MLX5_CMD_STAT_OK;
}

static int sh_modify_ft(struct sh_cmd *c)
{
	void *ctx = MLX5_ADDR_OF(modify_flow_table_in, c->in, flow_table_context);
	struct sh_ft *ft = sh_ft_own(c, MLX5_GET(modify_flow_table_in, c->in, table_type),
				     MLX5_GET(modify_flow_table_in, c->in, table_id));

	if (!ft)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (MLX5_GET(modify_flow_table_in, c->in, modify_field_select) !=
	    MLX5_MODIFY_FLOW_TABLE_MISS_TABLE_ID || !sh_miss_ok(c, ft->type, ctx))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	sh_set_miss(ft, ctx);
	return MLX5_CMD_STAT_OK;
}

static int sh_set_ft_root(struct sh_cmd *c)
{
	u8 type = MLX5_GET(set_flow_table_root_in, c->in, table_type);
	struct sh_ft *ft = sh_ft_own(c, type, MLX5_GET(set_flow_table_root_in, c->in, table_id));

	if (c->op_mod == SH_DISCONNECT && (type == SH_NIC_RX || type == SH_RDMA_TX)) {
		*sh_root(c->hca, type) = 0;
		return MLX5_CMD_STAT_OK;
	}
	if (!ft)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	*sh_root(c->hca, type) = ft->obj.id;
	return MLX5_CMD_STAT_OK;
}

static void sh_fte_del(struct sh_hca *h, struct sh_ft *ft, u32 index)
{
	struct sh_fte *fte = xa_erase(&ft->entries, index);
	u32 *n;

	if (!fte)
		return;
	kvfree(fte);
	n = sh_entries(h, ft->type);
	WRITE_ONCE(*n, *n - 1);
}

void sh_ft_free(struct sh_hca *h, void *table)
{
	struct sh_ft *ft = table;
	struct sh_fte *fte;
	unsigned long i;

	xa_for_each(&ft->entries, i, fte)
		sh_fte_del(h, ft, i);
	xa_destroy(&ft->entries);
	if (*sh_root(h, ft->type) == ft->obj.id)
		*sh_root(h, ft->type) = 0;
	sh_del(h, SH_FT, ft);
}

static int sh_destroy_ft(struct sh_cmd *c)
{
	struct sh_ft *ft = sh_ft_own(c, MLX5_GET(destroy_flow_table_in, c->in, table_type),
				     MLX5_GET(destroy_flow_table_in, c->in, table_id));

	if (!ft)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (!xa_empty(&ft->entries) || sh_flow_uses(c->hca, SH_FLOW_TABLE, ft->obj.id))
		return MLX5_CMD_STAT_RES_BUSY;
	sh_ft_free(c->hca, ft);
	return MLX5_CMD_STAT_OK;
}

/* --- groups ------------------------------------------------------------------------ */

static int sh_create_fg(struct sh_cmd *c)
{
	u8 criteria = MLX5_GET(create_flow_group_in, c->in, match_criteria_enable);
	u32 first = MLX5_GET(create_flow_group_in, c->in, start_flow_index);
	u32 last = MLX5_GET(create_flow_group_in, c->in, end_flow_index);
	struct sh_ft *ft = sh_ft_own(c, MLX5_GET(create_flow_group_in, c->in, table_type),
				     MLX5_GET(create_flow_group_in, c->in, table_id));
	struct sh_fg *fg;
	int status;

	if (!ft)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (criteria & ~MLX5_MATCH_OUTER_HEADERS || first > last || last >= ft->size)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	fg = sh_new(c, SH_FG, sizeof(*fg), &status);
	if (!fg)
		return status;
	fg->table = ft->obj.id;
	fg->first = first;
	fg->last = last;
	fg->compares = criteria;
	memcpy(fg->mask, MLX5_ADDR_OF(create_flow_group_in, c->in, match_criteria.outer_headers),
	       SH_FIELDS);
	MLX5_SET(create_flow_group_out, c->out, group_id, fg->obj.id);
	return MLX5_CMD_STAT_OK;
}

static int sh_destroy_fg(struct sh_cmd *c)
{
	struct sh_ft *ft = sh_ft_own(c, MLX5_GET(destroy_flow_group_in, c->in, table_type),
				     MLX5_GET(destroy_flow_group_in, c->in, table_id));
	struct sh_fg *fg = sh_find_own(c, SH_FG, MLX5_GET(destroy_flow_group_in, c->in, group_id));
	struct sh_fte *fte;
	unsigned long i;

	if (!ft || !fg || fg->table != ft->obj.id)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	xa_for_each(&ft->entries, i, fte)
		if (fte->group == fg->obj.id)
			return MLX5_CMD_STAT_RES_BUSY;
	sh_del(c->hca, SH_FG, fg);
	return MLX5_CMD_STAT_OK;
}

/* --- entries ----------------------------------------------------------------------- */

static bool sh_dest_ok(struct sh_cmd *c, u8 type, const struct sh_dest *d)
{
	switch (d->type) {
	case SH_FLOW_TABLE:
		return sh_ft_own(c, type, d->id);
	case SH_FLOW_TIR:
		return type == SH_NIC_RX && sh_find_own(c, SH_TIR, d->id);
	default:
		return false;
	}
}

/* Frames that are received go somewhere or nowhere; packets that are sent are counted. */
static bool sh_action_ok(u8 type, u16 action)
{
	if (type == SH_NIC_RX)
		return action == MLX5_FLOW_CONTEXT_ACTION_DROP ||
		       action == MLX5_FLOW_CONTEXT_ACTION_FWD_DEST;
	action &= ~MLX5_FLOW_CONTEXT_ACTION_COUNT;
	return action == MLX5_FLOW_CONTEXT_ACTION_ALLOW ||
	       action == MLX5_FLOW_CONTEXT_ACTION_FWD_DEST;
}

/* The counter of the entry, in the list that follows the destinations. */
static bool sh_counter_ok(struct sh_cmd *c, void *ctx, void *list, u32 *id)
{
	if (MLX5_GET(flow_context, ctx, flow_counter_list_size) != 1 ||
	    list + MLX5_ST_SZ_BYTES(flow_counter_list) > c->in + c->inlen)
		return false;
	*id = MLX5_GET(flow_counter_list, list, flow_counter_id);
	return sh_find_own(c, SH_FC, *id);
}

/* The entry that the command describes. */
static int sh_fte_new(struct sh_cmd *c, u8 type, void *ctx, struct sh_fte **out)
{
	u32 n = MLX5_GET(flow_context, ctx, destination_list_size), i;
	u16 action = MLX5_GET(flow_context, ctx, action);
	void *dest = MLX5_ADDR_OF(flow_context, ctx, destination);
	const size_t step = MLX5_ST_SZ_BYTES(dest_format_struct);
	struct sh_fte *fte;

	if (!sh_action_ok(type, action))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!(action & MLX5_FLOW_CONTEXT_ACTION_FWD_DEST))
		n = 0;
	if (n > SH_MAX_DESTS || dest + n * step > c->in + c->inlen ||
	    MLX5_GET(flow_context, ctx, extended_destination))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	fte = kvzalloc(struct_size(fte, dest, n), GFP_KERNEL);
	if (!fte)
		return MLX5_CMD_STAT_INT_ERR;
	fte->group = MLX5_GET(flow_context, ctx, group_id);
	fte->tag = MLX5_GET(flow_context, ctx, flow_tag);
	fte->drop = action == MLX5_FLOW_CONTEXT_ACTION_DROP;
	memcpy(fte->value, MLX5_ADDR_OF(flow_context, ctx, match_value.outer_headers), SH_FIELDS);
	fte->n = n;
	for (i = 0; i < n; i++, dest += step) {
		fte->dest[i] = (struct sh_dest) {
			.type = MLX5_GET(dest_format_struct, dest, destination_type),
			.id = MLX5_GET(dest_format_struct, dest, destination_id),
		};
		if (!sh_dest_ok(c, type, &fte->dest[i])) {
			kvfree(fte);
			return MLX5_CMD_STAT_BAD_RES_ERR;
		}
	}
	if (action & MLX5_FLOW_CONTEXT_ACTION_COUNT &&
	    !sh_counter_ok(c, ctx, dest, &fte->counter)) {
		kvfree(fte);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	*out = fte;
	return MLX5_CMD_STAT_OK;
}

static int sh_set_fte(struct sh_cmd *c)
{
	void *ctx = MLX5_ADDR_OF(set_fte_in, c->in, flow_context);
	u32 index = MLX5_GET(set_fte_in, c->in, flow_index);
	struct sh_ft *ft = sh_ft_own(c, MLX5_GET(set_fte_in, c->in, table_type),
				     MLX5_GET(set_fte_in, c->in, table_id));
	struct sh_fg *fg = sh_find_own(c, SH_FG, MLX5_GET(flow_context, ctx, group_id));
	struct sh_fte *fte = NULL, *was;
	int status;
	u32 *n;

	if (!ft || !fg || fg->table != ft->obj.id)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (index < fg->first || index > fg->last ||
	    !xa_load(&ft->entries, index) != (c->op_mod != SH_REPLACE))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	status = sh_fte_new(c, ft->type, ctx, &fte);
	if (status)
		return status;
	was = xa_store(&ft->entries, index, fte, GFP_KERNEL);
	if (xa_is_err(was)) {
		kvfree(fte);
		return MLX5_CMD_STAT_INT_ERR;
	}
	n = sh_entries(c->hca, ft->type);
	if (!was)
		WRITE_ONCE(*n, *n + 1);
	kvfree(was);
	return MLX5_CMD_STAT_OK;
}

static int sh_delete_fte(struct sh_cmd *c)
{
	u32 index = MLX5_GET(delete_fte_in, c->in, flow_index);
	struct sh_ft *ft = sh_ft_own(c, MLX5_GET(delete_fte_in, c->in, table_type),
				     MLX5_GET(delete_fte_in, c->in, table_id));

	if (!ft || !xa_load(&ft->entries, index))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sh_fte_del(c->hca, ft, index);
	return MLX5_CMD_STAT_OK;
}

/* True: an entry of a table, or the miss action of a table, forwards frames to @id. */
bool sh_flow_uses(struct sh_hca *h, u8 type, u32 id)
{
	unsigned long t, i;
	struct sh_fte *fte;
	struct sh_ft *ft;
	u32 d;

	xa_for_each(&h->tab[SH_FT].xa, t, ft) {
		if (type == SH_FLOW_TABLE && ft->miss_id == id &&
		    ft->miss_action == MLX5_FLOW_TABLE_MISS_ACTION_FWD)
			return true;
		xa_for_each(&ft->entries, i, fte)
			for (d = 0; d < fte->n; d++)
				if (fte->dest[d].type == type && fte->dest[d].id == id)
					return true;
	}
	return false;
}

/* --- counters ---------------------------------------------------------------------- */

static int sh_alloc_fc(struct sh_cmd *c)
{
	struct sh_fc *fc;
	int status;

	/* One at a time. */
	if (!softhca.eth || MLX5_GET(alloc_flow_counter_in, c->in, flow_counter_bulk) ||
	    MLX5_GET(alloc_flow_counter_in, c->in, flow_counter_bulk_log_size))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	fc = sh_new(c, SH_FC, sizeof(*fc), &status);
	if (fc)
		MLX5_SET(alloc_flow_counter_out, c->out, flow_counter_id, fc->obj.id);
	return status;
}

static bool sh_fc_used(struct sh_hca *h, u32 id)
{
	unsigned long t, i;
	struct sh_fte *fte;
	struct sh_ft *ft;

	xa_for_each(&h->tab[SH_FT].xa, t, ft)
		xa_for_each(&ft->entries, i, fte)
			if (fte->counter == id)
				return true;
	return false;
}

static int sh_dealloc_fc(struct sh_cmd *c)
{
	u32 id = MLX5_GET(dealloc_flow_counter_in, c->in, flow_counter_id);
	struct sh_fc *fc = sh_find_own(c, SH_FC, id);

	if (!fc)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (sh_fc_used(c->hca, id))
		return MLX5_CMD_STAT_RES_BUSY;
	sh_del(c->hca, SH_FC, fc);
	return MLX5_CMD_STAT_OK;
}

static int sh_query_fc(struct sh_cmd *c)
{
	struct sh_fc *fc = sh_find_own(c, SH_FC, MLX5_GET(query_flow_counter_in, c->in,
							  flow_counter_id));
	void *t = MLX5_ADDR_OF(query_flow_counter_out, c->out, flow_statistics);

	if (!fc)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (MLX5_GET(query_flow_counter_in, c->in, num_of_counters) > 1)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	MLX5_SET64(traffic_counter, t, packets, fc->packets);
	MLX5_SET64(traffic_counter, t, octets, fc->octets);
	if (MLX5_GET(query_flow_counter_in, c->in, clear)) {
		fc->packets = 0;
		fc->octets = 0;
	}
	return MLX5_CMD_STAT_OK;
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_CREATE_FLOW_TABLE, sh_create_ft },
	{ MLX5_CMD_OP_MODIFY_FLOW_TABLE, sh_modify_ft },
	{ MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, sh_set_ft_root },
	{ MLX5_CMD_OP_DESTROY_FLOW_TABLE, sh_destroy_ft },
	{ MLX5_CMD_OP_CREATE_FLOW_GROUP, sh_create_fg },
	{ MLX5_CMD_OP_DESTROY_FLOW_GROUP, sh_destroy_fg },
	{ MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, sh_set_fte },
	{ MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY, sh_delete_fte },
	{ MLX5_CMD_OP_ALLOC_FLOW_COUNTER, sh_alloc_fc },
	{ MLX5_CMD_OP_DEALLOC_FLOW_COUNTER, sh_dealloc_fc },
	{ MLX5_CMD_OP_QUERY_FLOW_COUNTER, sh_query_fc },
};

sh_cmd_fn sh_cmd_flow(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}

/* Sets the capabilities that tables of both types have. */
static void sh_caps_tables(void *prop)
{
#define SH_HAS(field) MLX5_SET(flow_table_prop_layout, prop, field, 1)
#define SH_COMPARES(field) SH_HAS(ft_field_support.outer_##field)
	SH_HAS(ft_support);
	SH_HAS(flow_modify_en);
	SH_HAS(modify_root);
	SH_HAS(identified_miss_table_mode);
	SH_HAS(flow_table_modify);
	MLX5_SET(flow_table_prop_layout, prop, log_max_ft_size, SH_LOG_MAX_FT);
	MLX5_SET(flow_table_prop_layout, prop, max_ft_level, SH_MAX_HOPS);
	MLX5_SET(flow_table_prop_layout, prop, log_max_ft_num, 12);
	MLX5_SET(flow_table_prop_layout, prop, log_max_destination, ilog2(SH_MAX_DESTS));
	MLX5_SET(flow_table_prop_layout, prop, log_max_flow, SH_LOG_MAX_FT);
	SH_COMPARES(ether_type);
	SH_COMPARES(ip_version);
	SH_COMPARES(sip);
	SH_COMPARES(dip);
	SH_COMPARES(ip_protocol);
	SH_COMPARES(ip_dscp);
	SH_COMPARES(udp_sport);
	SH_COMPARES(udp_dport);
}

void sh_caps_flow(void *cap)
{
	void *prop = MLX5_ADDR_OF(flow_table_nic_cap, cap, flow_table_properties_nic_transmit_rdma);

	sh_caps_tables(prop);
	SH_HAS(flow_counter);
	prop = MLX5_ADDR_OF(flow_table_nic_cap, cap, flow_table_properties_nic_receive);
	sh_caps_tables(prop);
	MLX5_SET(flow_table_nic_cap, cap, nic_rx_multi_path_tirs, 1);
	SH_COMPARES(dmac);
	SH_COMPARES(smac);
	SH_COMPARES(first_prio);
	SH_COMPARES(first_cfi);
	SH_COMPARES(first_vid);
	SH_COMPARES(frag);
	SH_COMPARES(ip_ecn);
	SH_COMPARES(tcp_sport);
	SH_COMPARES(tcp_dport);
	SH_COMPARES(tcp_flags);
}
