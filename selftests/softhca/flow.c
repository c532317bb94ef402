// SPDX-License-Identifier: GPL-2.0
/*
 * Flow tables pick the receive queues of a frame that a port receives.
 *
 * The entries of a table have numbers, and the first entry that matches decides. A group of
 * entries says which fields of a frame its entries compare: fields of layers 2 to 4 of the
 * outer headers, laid out as fte_match_set_lyr_2_4.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "softhca.h"

#define SH_NIC_RX	0	/* type of a table */
#define SH_MAX_HOPS	64	/* tables that a frame passes at most */
#define SH_MAX_DESTS	64
#define SH_DISCONNECT	1	/* op_mod: no table is the root */
#define SH_REPLACE	1	/* op_mod: the entry is there already */
#define SH_FIELDS	MLX5_ST_SZ_BYTES(fte_match_set_lyr_2_4)
#define SH_SET(fields, field, v) MLX5_SET(fte_match_set_lyr_2_4, fields, field, v)

struct sh_ft {
	struct sh_obj obj;
	u8 miss_action;
	u32 miss_id;
	u32 size;
	struct xarray entries;
};

struct sh_fg {
	struct sh_obj obj;
	u32 table, first, last;
	bool compares;		/* else every frame matches */
	u8 mask[SH_FIELDS];
};

struct sh_dest {
	u8 type;
	u32 id;
};

struct sh_fte {
	u32 group;
	u32 tag;
	bool drop;
	u8 value[SH_FIELDS];
	u32 n;
	struct sh_dest dest[];
};

/* --- tables ------------------------------------------------------------------------ */

static struct sh_ft *sh_ft_own(struct sh_cmd *c, u8 type, u32 id)
{
	return type == SH_NIC_RX ? sh_find_own(c, SH_FT, id) : NULL;
}

static bool sh_miss_ok(struct sh_cmd *c, void *ctx)
{
	u8 action = MLX5_GET(flow_table_context, ctx, table_miss_action);

	return action == MLX5_FLOW_TABLE_MISS_ACTION_DEF ||
	       (action == MLX5_FLOW_TABLE_MISS_ACTION_FWD &&
		sh_find_own(c, SH_FT, MLX5_GET(flow_table_context, ctx, table_miss_id)));
}

static void sh_set_miss(struct sh_ft *ft, void *ctx)
{
	ft->miss_action = MLX5_GET(flow_table_context, ctx, table_miss_action);
	ft->miss_id = MLX5_GET(flow_table_context, ctx, table_miss_id);
}

static int sh_create_ft(struct sh_cmd *c)
{
	void *ctx = MLX5_ADDR_OF(create_flow_table_in, c->in, flow_table_context);
	u8 log = MLX5_GET(flow_table_context, ctx, log_size);
	struct sh_ft *ft;
	int status;

	if (!softhca.eth || MLX5_GET(create_flow_table_in, c->in, table_type) != SH_NIC_RX ||
	    MLX5_GET(create_flow_table_in, c->in, other_vport) || c->op_mod ||
	    log > SH_LOG_MAX_FT || MLX5_GET(flow_table_context, ctx, reformat_en) ||
	    MLX5_GET(flow_table_context, ctx, decap_en) || !sh_miss_ok(c, ctx))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	ft = sh_new(c, SH_FT, sizeof(*ft), &status);
	if (!ft)
		return status;
	xa_init(&ft->entries);
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
	    MLX5_MODIFY_FLOW_TABLE_MISS_TABLE_ID || !sh_miss_ok(c, ctx))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	sh_set_miss(ft, ctx);
	return MLX5_CMD_STAT_OK;
}

static int sh_set_ft_root(struct sh_cmd *c)
{
	struct sh_ft *ft = sh_ft_own(c, MLX5_GET(set_flow_table_root_in, c->in, table_type),
				     MLX5_GET(set_flow_table_root_in, c->in, table_id));

	if (c->op_mod == SH_DISCONNECT) {
		c->hca->flow_root = 0;
		return MLX5_CMD_STAT_OK;
	}
	if (!ft)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	c->hca->flow_root = ft->obj.id;
	return MLX5_CMD_STAT_OK;
}

static void sh_fte_del(struct sh_hca *h, struct sh_ft *ft, u32 index)
{
	struct sh_fte *fte = xa_erase(&ft->entries, index);

	if (!fte)
		return;
	kvfree(fte);
	WRITE_ONCE(h->flows, h->flows - 1);
}

void sh_ft_free(struct sh_hca *h, void *table)
{
	struct sh_ft *ft = table;
	struct sh_fte *fte;
	unsigned long i;

	xa_for_each(&ft->entries, i, fte)
		sh_fte_del(h, ft, i);
	xa_destroy(&ft->entries);
	if (h->flow_root == ft->obj.id)
		h->flow_root = 0;
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

static bool sh_dest_ok(struct sh_cmd *c, const struct sh_dest *d)
{
	switch (d->type) {
	case SH_FLOW_TABLE:
		return sh_find_own(c, SH_FT, d->id);
	case SH_FLOW_TIR:
		return sh_find_own(c, SH_TIR, d->id);
	default:
		return false;
	}
}

/* The entry that the command describes. */
static int sh_fte_new(struct sh_cmd *c, void *ctx, struct sh_fte **out)
{
	u32 n = MLX5_GET(flow_context, ctx, destination_list_size), i;
	u16 action = MLX5_GET(flow_context, ctx, action);
	void *dest = MLX5_ADDR_OF(flow_context, ctx, destination);
	const size_t step = MLX5_ST_SZ_BYTES(dest_format_struct);
	struct sh_fte *fte;

	if (action != MLX5_FLOW_CONTEXT_ACTION_DROP &&
	    action != MLX5_FLOW_CONTEXT_ACTION_FWD_DEST)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (action == MLX5_FLOW_CONTEXT_ACTION_DROP)
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
		if (!sh_dest_ok(c, &fte->dest[i])) {
			kvfree(fte);
			return MLX5_CMD_STAT_BAD_RES_ERR;
		}
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

	if (!ft || !fg || fg->table != ft->obj.id)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (index < fg->first || index > fg->last ||
	    !xa_load(&ft->entries, index) != (c->op_mod != SH_REPLACE))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	status = sh_fte_new(c, ctx, &fte);
	if (status)
		return status;
	was = xa_store(&ft->entries, index, fte, GFP_KERNEL);
	if (xa_is_err(was)) {
		kvfree(fte);
		return MLX5_CMD_STAT_INT_ERR;
	}
	if (!was)
		WRITE_ONCE(c->hca->flows, c->hca->flows + 1);
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

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_CREATE_FLOW_TABLE, sh_create_ft },
	{ MLX5_CMD_OP_MODIFY_FLOW_TABLE, sh_modify_ft },
	{ MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, sh_set_ft_root },
	{ MLX5_CMD_OP_DESTROY_FLOW_TABLE, sh_destroy_ft },
	{ MLX5_CMD_OP_CREATE_FLOW_GROUP, sh_create_fg },
	{ MLX5_CMD_OP_DESTROY_FLOW_GROUP, sh_destroy_fg },
	{ MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, sh_set_fte },
	{ MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY, sh_delete_fte },
};

sh_cmd_fn sh_cmd_flow(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}

void sh_caps_flow(void *cap)
{
#define SH_HAS(field) \
	MLX5_SET(flow_table_nic_cap, cap, flow_table_properties_nic_receive.field, 1)
#define SH_COMPARES(field) SH_HAS(ft_field_support.outer_##field)

	MLX5_SET(flow_table_nic_cap, cap, nic_rx_multi_path_tirs, 1);
	SH_HAS(ft_support);
	SH_HAS(flow_modify_en);
	SH_HAS(modify_root);
	SH_HAS(identified_miss_table_mode);
	SH_HAS(flow_table_modify);
	MLX5_SET(flow_table_nic_cap, cap, flow_table_properties_nic_receive.log_max_ft_size,
		 SH_LOG_MAX_FT);
	MLX5_SET(flow_table_nic_cap, cap, flow_table_properties_nic_receive.max_ft_level,
		 SH_MAX_HOPS);
	MLX5_SET(flow_table_nic_cap, cap, flow_table_properties_nic_receive.log_max_ft_num, 12);
	MLX5_SET(flow_table_nic_cap, cap, flow_table_properties_nic_receive.log_max_destination,
		 ilog2(SH_MAX_DESTS));
	MLX5_SET(flow_table_nic_cap, cap, flow_table_properties_nic_receive.log_max_flow,
		 SH_LOG_MAX_FT);
	SH_COMPARES(dmac);
	SH_COMPARES(smac);
	SH_COMPARES(ether_type);
	SH_COMPARES(ip_version);
	SH_COMPARES(first_prio);
	SH_COMPARES(first_cfi);
	SH_COMPARES(first_vid);
	SH_COMPARES(sip);
	SH_COMPARES(dip);
	SH_COMPARES(frag);
	SH_COMPARES(ip_protocol);
	SH_COMPARES(ip_ecn);
	SH_COMPARES(ip_dscp);
	SH_COMPARES(udp_sport);
	SH_COMPARES(udp_dport);
	SH_COMPARES(tcp_sport);
	SH_COMPARES(tcp_dport);
	SH_COMPARES(tcp_flags);
}

/* --- frames ------------------------------------------------------------------------ */

static void sh_fields_l4(void *f, u8 protocol, const u8 *p, u32 len)
{
	const struct tcphdr *tcp = (const void *)p;
	const struct udphdr *udp = (const void *)p;

	if (protocol == IPPROTO_UDP && len >= sizeof(*udp)) {
		SH_SET(f, udp_sport, ntohs(udp->source));
		SH_SET(f, udp_dport, ntohs(udp->dest));
	} else if (protocol == IPPROTO_TCP && len >= sizeof(*tcp)) {
		SH_SET(f, tcp_sport, ntohs(tcp->source));
		SH_SET(f, tcp_dport, ntohs(tcp->dest));
		SH_SET(f, tcp_flags, ntohs(((const __be16 *)tcp)[6]) & 0x1ff);
	}
}

static void sh_fields_ip4(void *f, const u8 *p, u32 len)
{
	const struct iphdr *ip = (const void *)p;
	u32 head;

	if (len < sizeof(*ip) || ip->version != 4)
		return;
	head = ip->ihl * 4;
	SH_SET(f, ip_version, 4);
	SH_SET(f, ip_protocol, ip->protocol);
	SH_SET(f, ip_dscp, ip->tos >> 2);
	SH_SET(f, ip_ecn, ip->tos & 3);
	SH_SET(f, frag, !!(ip->frag_off & htons(IP_MF | IP_OFFSET)));
	SH_SET(f, src_ipv4_src_ipv6.ipv4_layout.ipv4, ntohl(ip->saddr));
	SH_SET(f, dst_ipv4_dst_ipv6.ipv4_layout.ipv4, ntohl(ip->daddr));
	if (head >= sizeof(*ip) && head <= len && !(ip->frag_off & htons(IP_OFFSET)))
		sh_fields_l4(f, ip->protocol, p + head, len - head);
}

/* IPv6 extension headers are not parsed. */
static void sh_fields_ip6(void *f, const u8 *p, u32 len)
{
	const struct ipv6hdr *ip = (const void *)p;
	u8 traffic;

	if (len < sizeof(*ip) || ip->version != 6)
		return;
	traffic = ip->priority << 4 | ip->flow_lbl[0] >> 4;
	SH_SET(f, ip_version, 6);
	SH_SET(f, ip_protocol, ip->nexthdr);
	SH_SET(f, ip_dscp, traffic >> 2);
	SH_SET(f, ip_ecn, traffic & 3);
	memcpy(MLX5_ADDR_OF(fte_match_set_lyr_2_4, f, src_ipv4_src_ipv6), &ip->saddr, 16);
	memcpy(MLX5_ADDR_OF(fte_match_set_lyr_2_4, f, dst_ipv4_dst_ipv6), &ip->daddr, 16);
	sh_fields_l4(f, ip->nexthdr, p + sizeof(*ip), len - sizeof(*ip));
}

/* Reads the fields that entries may compare. The frame has at least an Ethernet header. */
static void sh_fields(void *f, const u8 *p, u32 len)
{
	const struct ethhdr *eth = (const void *)p;
	u16 type = ntohs(eth->h_proto), tci;

	memset(f, 0, SH_FIELDS);
	memcpy(MLX5_ADDR_OF(fte_match_set_lyr_2_4, f, smac_47_16), eth->h_source, ETH_ALEN);
	memcpy(MLX5_ADDR_OF(fte_match_set_lyr_2_4, f, dmac_47_16), eth->h_dest, ETH_ALEN);
	p += sizeof(*eth);
	len -= sizeof(*eth);
	if ((type == ETH_P_8021Q || type == ETH_P_8021AD) && len >= VLAN_HLEN) {
		tci = ntohs(((const __be16 *)p)[0]);
		SH_SET(f, first_prio, tci >> VLAN_PRIO_SHIFT);
		SH_SET(f, first_cfi, !!(tci & VLAN_CFI_MASK));
		SH_SET(f, first_vid, tci & VLAN_VID_MASK);
		if (type == ETH_P_8021Q)
			SH_SET(f, cvlan_tag, 1);
		else
			SH_SET(f, svlan_tag, 1);
		type = ntohs(((const __be16 *)p)[1]);
		p += VLAN_HLEN;
		len -= VLAN_HLEN;
	}
	SH_SET(f, ethertype, type);
	if (type == ETH_P_IP)
		sh_fields_ip4(f, p, len);
	else if (type == ETH_P_IPV6)
		sh_fields_ip6(f, p, len);
}

static bool sh_matches(const struct sh_fg *fg, const struct sh_fte *fte, const u8 *fields)
{
	u32 i;

	for (i = 0; fg->compares && i < SH_FIELDS; i++)
		if ((fields[i] ^ fte->value[i]) & fg->mask[i])
			return false;
	return true;
}

static const struct sh_fte *sh_ft_match(struct sh_hca *h, struct sh_ft *ft, const u8 *fields)
{
	const struct sh_fte *fte;
	const struct sh_fg *fg;
	unsigned long i;

	xa_for_each(&ft->entries, i, fte) {
		fg = sh_find(h, SH_FG, fte->group);
		if (fg && sh_matches(fg, fte, fields))
			return fte;
	}
	return NULL;
}

/* Gives a frame to the receive queues of the rules that it matches. @td: the transport domain
 * that sent the frame, whose receive queues do not get it; 0: another HCA sent the frame.
 * False: no queue got the frame, so the netdev gets it.
 */
bool sh_flow_receive(struct sh_hca *h, const u8 *frame, u32 len, u32 td)
{
	u32 table = h->flow_root, hops, i;
	u8 fields[SH_FIELDS] __aligned(8);
	const struct sh_fte *fte;
	bool taken = false;
	struct sh_tir *tir;
	struct sh_ft *ft;

	if (!h->flows || len < ETH_HLEN)
		return false;
	sh_fields(fields, frame, len);
	for (hops = 0; table && hops < SH_MAX_HOPS; hops++) {
		ft = sh_find(h, SH_FT, table);
		table = 0;
		if (!ft)
			break;
		fte = sh_ft_match(h, ft, fields);
		if (!fte) {
			if (ft->miss_action == MLX5_FLOW_TABLE_MISS_ACTION_FWD)
				table = ft->miss_id;
			continue;
		}
		if (fte->drop)
			return true;
		for (i = 0; i < fte->n; i++) {
			if (fte->dest[i].type == SH_FLOW_TABLE) {
				table = fte->dest[i].id;
				continue;
			}
			tir = sh_find(h, SH_TIR, fte->dest[i].id);
			if (!tir || (td && tir->td == td))
				continue;
			taken = true;
			sh_respond_frame(sh_rss_pick(h, tir, fields), frame, len, fte->tag);
		}
	}
	return taken;
}
