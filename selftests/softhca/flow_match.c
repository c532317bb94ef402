// SPDX-License-Identifier: GPL-2.0
/*
 * Compares packets with the entries of the flow tables. The entries choose the receive queues of a
 * frame that a port received, and count the RoCE packets that a port sends.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "flow.h"

#define SH_SET(fields, field, v) MLX5_SET(fte_match_set_lyr_2_4, fields, field, v)

/* --- fields of a frame --------------------------------------------------------------- */

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

/* A header of layer 4 behind IPv6 extension headers is not found. */
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

/*
 * Writes the fields of the packets that a QP sends: of a connection by its path, of a datagram by
 * its address. Ethernet addresses are left out. Packets of RoCE v1 have no IP and no UDP.
 */
static void sh_fields_sent(void *f, const struct sh_qp *qp)
{
	void *path = MLX5_ADDR_OF(qpc, (void *)qp->qpc, primary_address_path);
	const struct mlx5_av *av = sh_qp_connected(qp) ? NULL : &qp->tx->av;
	u8 index = av ? be32_to_cpu(av->grh_gid_fl) >> 20 : MLX5_GET(ads, path, src_addr_index);
	const u8 *to = av ? av->rgid : MLX5_ADDR_OF(ads, path, rgid_rip);
	const struct sh_roce_addr *src = &qp->hca->roce[index % SH_ROCE_GIDS];
	u16 sport = av ? be16_to_cpu(av->udp_sport) : MLX5_GET(ads, path, udp_sport);

	memset(f, 0, SH_FIELDS);
	if (src->version != MLX5_ROCE_VERSION_2)
		return;
	if (sh_false(qp->hca, SH_FALSE_WIRE_SPORT))
		sport = SH_ROCE_MIN_SPORT;
	if (src->l3_type == MLX5_ROCE_L3_TYPE_IPV4) {
		SH_SET(f, ethertype, ETH_P_IP);
		SH_SET(f, ip_version, 4);
		memcpy(MLX5_ADDR_OF(fte_match_set_lyr_2_4, f,
				    src_ipv4_src_ipv6.ipv4_layout.ipv4), src->gid + 12, 4);
		memcpy(MLX5_ADDR_OF(fte_match_set_lyr_2_4, f,
				    dst_ipv4_dst_ipv6.ipv4_layout.ipv4), to + 12, 4);
	} else {
		SH_SET(f, ethertype, ETH_P_IPV6);
		SH_SET(f, ip_version, 6);
		memcpy(MLX5_ADDR_OF(fte_match_set_lyr_2_4, f, src_ipv4_src_ipv6), src->gid, 16);
		memcpy(MLX5_ADDR_OF(fte_match_set_lyr_2_4, f, dst_ipv4_dst_ipv6), to, 16);
	}
	SH_SET(f, ip_protocol, IPPROTO_UDP);
	SH_SET(f, ip_dscp, av ? av->tclass >> 2 : MLX5_GET(ads, path, dscp));
	SH_SET(f, udp_sport, sport);
	SH_SET(f, udp_dport, SH_PORT_ROCE);
}

/* --- entries ------------------------------------------------------------------------- */

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

/* The entry that a packet with these @fields matches in @table, or, if no entry of that table matches,
 * in the table that its misses go to. *hops counts the tables. NULL: no entry matches.
 */
static const struct sh_fte *sh_find_entry(struct sh_hca *h, u32 table, const u8 *fields,
					  u32 *hops)
{
	const struct sh_fte *fte;
	struct sh_ft *ft;

	while (table && (*hops)++ < SH_MAX_HOPS) {
		ft = sh_find(h, SH_FT, table);
		fte = ft ? sh_ft_match(h, ft, fields) : NULL;
		if (!ft || fte)
			return fte;
		table = ft->miss_action == MLX5_FLOW_TABLE_MISS_ACTION_FWD ? ft->miss_id : 0;
	}
	return NULL;
}

/* Gives a frame to the receive queues of the rules that it matches. @td: the transport domain
 * that sent the frame, whose receive queues do not get it; 0: another HCA sent the frame.
 * False: no queue got the frame, so the netdev gets it.
 */
bool sh_flow_receive(struct sh_hca *h, const u8 *frame, u32 len, u32 td)
{
	u32 table = h->flow_root, hops = 0, i;
	u8 fields[SH_FIELDS] __aligned(8);
	const struct sh_fte *fte;
	bool taken = false;
	struct sh_tir *tir;

	if (!h->flows || len < ETH_HLEN)
		return false;
	sh_fields(fields, frame, len);
	while ((fte = sh_find_entry(h, table, fields, &hops))) {
		table = 0;
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

/* @qp sends @pkts packets, @bytes long in all: the counters of the entries that match count them. */
void sh_flow_sent(struct sh_qp *qp, u64 bytes, u64 pkts)
{
	struct sh_hca *h = qp->hca;
	u32 table = h->sent_root, hops = 0, i;
	u8 fields[SH_FIELDS] __aligned(8);
	const struct sh_fte *fte;
	struct sh_fc *fc;

	if (!h->sent_flows)
		return;
	sh_fields_sent(fields, qp);
	while ((fte = sh_find_entry(h, table, fields, &hops))) {
		table = 0;
		fc = fte->counter ? sh_find(h, SH_FC, fte->counter) : NULL;
		if (fc) {
			fc->packets += pkts;
			fc->octets += bytes;
		}
		for (i = 0; i < fte->n; i++)
			table = fte->dest[i].id;
	}
}
