// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE: the table of addresses, who has the one that a packet goes to, the header
 * that a datagram arrives with; and the vport context of an Ethernet port.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <net/ip.h>

#include "softhca.h"

#define SH_NEXT_IB	0x1b	/* "next header" of a GRH */
#define SH_UDP_BTH	(8 + 12 + 8 + 4)	/* UDP, BTH, DETH, ICRC: around a datagram */

void sh_caps_roce(void *p)
{
	MLX5_SET(roce_cap, p, sw_r_roce_src_udp_port, 1);
	MLX5_SET(roce_cap, p, l3_type,
		 MLX5_ROCE_L3_TYPE_IPV4_CAP | MLX5_ROCE_L3_TYPE_IPV6_CAP);
	MLX5_SET(roce_cap, p, roce_version,
		 MLX5_ROCE_VERSION_1_CAP | MLX5_ROCE_VERSION_2_CAP);
	MLX5_SET(roce_cap, p, r_roce_dest_udp_port, SH_PORT_ROCE);
	MLX5_SET(roce_cap, p, r_roce_min_src_udp_port, SH_ROCE_MIN_SPORT);
	MLX5_SET(roce_cap, p, r_roce_max_src_udp_port, 0xffff);
	MLX5_SET(roce_cap, p, roce_address_table_size, SH_ROCE_GIDS);
}

static bool sh_roce_used(const struct sh_roce_addr *a)
{
	return memchr_inv(a->gid, 0, sizeof(a->gid));
}

/* The HCA that a packet with this source arrives at: by its MAC address, as a switch
 * finds it, and it takes the packet if it has the GID, in the same VLAN and the same
 * version of RoCE. NULL: it is lost.
 */
struct sh_hca *sh_roce_at(struct sh_hca *from, u32 sgid_index, const u8 *gid, const u8 *mac)
{
	const struct sh_roce_addr *src, *a;
	int i, n;

	if (sgid_index >= SH_ROCE_GIDS || !sh_port_active(from) || !from->roce_en)
		return NULL;
	src = &from->roce[sgid_index];
	if (!sh_roce_used(src))
		return NULL;
	for (i = 0; i < softhca.nhcas; i++) {
		struct sh_hca *h = softhca.hca[i];

		if (!sh_port_active(h) || !h->roce_en)
			continue;
		for (n = 0; n < SH_ROCE_GIDS; n++) {
			a = &h->roce[n];
			if (!memcmp(a->gid, gid, sizeof(a->gid)) && a->version == src->version &&
			    a->vlan == src->vlan && ether_addr_equal(a->mac, mac))
				return h;
		}
	}
	return NULL;
}

/* What stands before a datagram in the receiver's memory, 40 bytes of it. Returns
 * what the completion calls it.
 */
u8 sh_roce_head(u8 *head, struct sh_hca *from, const struct mlx5_av *av, u64 len)
{
	u32 word = be32_to_cpu(av->grh_gid_fl);
	const struct sh_roce_addr *src = &from->roce[(word >> 20 & 0xff) % SH_ROCE_GIDS];
	bool v2 = src->version == MLX5_ROCE_VERSION_2;

	memset(head, 0, SH_GRH);
	if (v2 && src->l3_type == MLX5_ROCE_L3_TYPE_IPV4) {
		struct iphdr *ip = (void *)head + SH_GRH - sizeof(*ip);

		ip->version = 4;
		ip->ihl = 5;
		ip->tos = av->tclass;
		ip->tot_len = cpu_to_be16(sizeof(*ip) + SH_UDP_BTH + len);
		ip->frag_off = cpu_to_be16(IP_DF);
		ip->ttl = av->hop_limit;
		ip->protocol = IPPROTO_UDP;
		memcpy(&ip->saddr, src->gid + 12, 4);
		memcpy(&ip->daddr, av->rgid + 12, 4);
		ip->check = ip_fast_csum(ip, ip->ihl);
		return MLX5_CQE_ROCE_L3_HEADER_TYPE_IPV4;
	}
	put_unaligned_be32(6U << 28 | (u32)av->tclass << 20 | (word & 0xfffff), head);
	put_unaligned_be16(len + SH_UDP_BTH - (v2 ? 0 : 8), head + 4);
	head[6] = v2 ? IPPROTO_UDP : SH_NEXT_IB;
	head[7] = av->hop_limit;
	memcpy(head + 8, src->gid, 16);
	memcpy(head + 24, av->rgid, 16);
	return v2 ? MLX5_CQE_ROCE_L3_HEADER_TYPE_IPV6 : MLX5_CQE_ROCE_L3_HEADER_TYPE_GRH;
}

/* --- Commands ------------------------------------------------------------- */

static int sh_set_roce_address(struct sh_cmd *c)
{
	void *in = MLX5_ADDR_OF(set_roce_address_in, c->in, roce_address);
	u32 index = MLX5_GET(set_roce_address_in, c->in, roce_address_index);
	struct sh_roce_addr *a;

	if (index >= SH_ROCE_GIDS)
		return MLX5_CMD_STAT_IX_ERR;
	a = &c->hca->roce[index];
	memcpy(a->gid, MLX5_ADDR_OF(roce_addr_layout, in, source_l3_address), sizeof(a->gid));
	ether_addr_copy(a->mac, MLX5_ADDR_OF(roce_addr_layout, in, source_mac_47_32));
	a->version = MLX5_GET(roce_addr_layout, in, roce_version);
	a->l3_type = MLX5_GET(roce_addr_layout, in, roce_l3_type);
	a->vlan = MLX5_GET(roce_addr_layout, in, vlan_valid) ?
		  MLX5_GET(roce_addr_layout, in, vlan_id) : SH_NO_VLAN;
	return MLX5_CMD_STAT_OK;
}

static int sh_query_roce_address(struct sh_cmd *c)
{
	void *out = MLX5_ADDR_OF(query_roce_address_out, c->out, roce_address);
	u32 index = MLX5_GET(query_roce_address_in, c->in, roce_address_index);
	const struct sh_roce_addr *a;

	if (index >= SH_ROCE_GIDS)
		return MLX5_CMD_STAT_IX_ERR;
	a = &c->hca->roce[index];
	memcpy(MLX5_ADDR_OF(roce_addr_layout, out, source_l3_address), a->gid, sizeof(a->gid));
	ether_addr_copy(MLX5_ADDR_OF(roce_addr_layout, out, source_mac_47_32), a->mac);
	MLX5_SET(roce_addr_layout, out, roce_version, a->version);
	MLX5_SET(roce_addr_layout, out, roce_l3_type, a->l3_type);
	if (sh_roce_used(a) && a->vlan != SH_NO_VLAN) {
		MLX5_SET(roce_addr_layout, out, vlan_valid, 1);
		MLX5_SET(roce_addr_layout, out, vlan_id, a->vlan);
	}
	return MLX5_CMD_STAT_OK;
}

static int sh_query_nic_vport(struct sh_cmd *c)
{
	void *v = MLX5_ADDR_OF(query_nic_vport_context_out, c->out, nic_vport_context);
	struct sh_hca *h = c->hca;

	MLX5_SET(nic_vport_context, v, roce_en, h->roce_en);
	MLX5_SET(nic_vport_context, v, mtu, sh_eth_mtu(h));
	MLX5_SET64(nic_vport_context, v, system_image_guid, h->port.guid);
	MLX5_SET64(nic_vport_context, v, port_guid, h->port.guid);
	MLX5_SET64(nic_vport_context, v, node_guid, h->port.guid);
	ether_addr_copy(MLX5_ADDR_OF(nic_vport_context, v, permanent_address) + 2, h->mac);
	return MLX5_CMD_STAT_OK;
}

/* Whether RoCE is on is all that there is to change. */
static int sh_modify_nic_vport(struct sh_cmd *c)
{
	void *fields = MLX5_ADDR_OF(modify_nic_vport_context_in, c->in, field_select);
	void *v = MLX5_ADDR_OF(modify_nic_vport_context_in, c->in, nic_vport_context);

	if (be32_to_cpup(fields) & ~2U)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (MLX5_GET(modify_nic_vport_field_select, fields, roce_en))
		c->hca->roce_en = MLX5_GET(nic_vport_context, v, roce_en);
	return MLX5_CMD_STAT_OK;
}

/* Each of the LAG's ports is up for as long as the port is; no bond was made of them. */
static int sh_query_lag(struct sh_cmd *c)
{
	void *lag = MLX5_ADDR_OF(query_lag_out, c->out, ctx);

	MLX5_SET(lagc, lag, tx_remap_affinity_1, 1);
	MLX5_SET(lagc, lag, tx_remap_affinity_2, 2);
	return MLX5_CMD_STAT_OK;
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_QUERY_LAG, sh_query_lag },
	{ MLX5_CMD_OP_SET_ROCE_ADDRESS, sh_set_roce_address },
	{ MLX5_CMD_OP_QUERY_ROCE_ADDRESS, sh_query_roce_address },
	{ MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT, sh_query_nic_vport },
	{ MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT, sh_modify_nic_vport },
	{ MLX5_CMD_OP_QUERY_CONG_STATISTICS, sh_cmd_query_cong },
};

sh_cmd_fn sh_cmd_roce(u16 op)
{
	return softhca.eth ? sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op) : NULL;
}
