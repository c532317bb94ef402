// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of the port: PPCNT in groups, and the vport's. What counts messages is in
 * here, too. Errors of the link are 0, for it makes none; what the device does not
 * model has no bits set where a driver would look.
 */
#include <linux/math64.h>

#include "contention.h"

/* Ethernet, IPv4, UDP, BTH, ICRC, FCS: around each packet of RoCE v2. */
#define SH_ROCE_HEADER	(14 + 20 + 8 + 12 + 4 + 4)
#define SH_FCS		4
#define SH_PS_PER_US	1000000
#define SH_PS_PER_TICK	4000	/* of PortXmitWait, on a link of EDR's speed */

static void sh_count(struct sh_port *p, bool tx, bool mc, u8 prio, u64 bytes, u64 pkts)
{
	struct sh_prio *q = &p->prio[prio];

	if (tx) {
		q->tx_bytes += bytes;
		q->tx_pkts += pkts;
		*(mc ? &p->tx_mc_bytes : &p->tx_bytes) += bytes;
		*(mc ? &p->tx_mc : &p->tx_pkts) += pkts;
	} else {
		q->rx_bytes += bytes;
		q->rx_pkts += pkts;
		*(mc ? &p->rx_mc_bytes : &p->rx_bytes) += bytes;
		*(mc ? &p->rx_mc : &p->rx_pkts) += pkts;
	}
}

/* Packets that a message of @bytes makes at the MTU of its path. */
u64 sh_packets(const struct sh_qp *qp, u64 bytes)
{
	u32 mtu = 128U << MLX5_GET(qpc, (void *)qp->qpc, mtu);

	return max_t(u64, 1, DIV_ROUND_UP_ULL(bytes, mtu));
}

/* What the packets have besides is counted where the port's bytes are Ethernet's. */
static u64 sh_on_wire(u64 bytes, u64 pkts)
{
	return softhca.eth ? bytes + pkts * SH_ROCE_HEADER : bytes;
}

void sh_count_message(struct sh_qp *qp, struct sh_hca *to, u64 bytes)
{
	struct sh_hca *from = qp->hca;
	u64 pkts = sh_packets(qp, bytes), wire = sh_on_wire(bytes, pkts);

	qp->bytes += bytes;
	/* A read's data come from there. */
	if (qp->tx->opcode == MLX5_OPCODE_RDMA_READ)
		swap(from, to);
	sh_count(&from->port, true, false, sh_qos_prio(from, qp, qp->tx), wire, pkts);
	sh_count(&to->port, false, false, sh_qos_prio(to, qp, qp->tx), wire, pkts);
}

/* Counts what @qp sends at the LAG port that the QP was given; entry 0 is for no port. */
void sh_count_lag(struct sh_qp *qp, u64 bytes, u64 pkts)
{
	u8 port = MLX5_GET(qpc, qp->qpc, lag_tx_port_affinity);
	struct sh_lag *lag;

	if (sh_false(qp->hca, SH_FALSE_WIRE_LAG))
		port = 1;
	lag = &qp->hca->lag[port <= SH_LAG_PORTS ? port : 0];
	lag->msgs++;
	lag->bytes += bytes;
	lag->pkts += pkts;
}

/* Sent once, received (by @to) as often as somebody listens. */
void sh_count_multicast(struct sh_qp *qp, struct sh_hca *to)
{
	u64 bytes = qp->tx->sgl.len, wire = sh_on_wire(bytes, 1);

	if (!to)
		qp->bytes += bytes;
	sh_count(to ? &to->port : &qp->hca->port, !to, true,
		 sh_qos_prio(to ?: qp->hca, qp, qp->tx), wire, 1);
}

/* The port's bytes and packets, the netdev's own frames among them. */
static struct sh_port sh_port_totals(const struct sh_hca *h)
{
	struct sh_port p = h->port;
	struct sh_frames f;

	sh_eth_stats(h, &f);
	sh_count(&p, true, false, 0, f.tx_bytes + f.tx * SH_FCS, f.tx);
	sh_count(&p, false, false, 0, f.rx_bytes + f.rx * SH_FCS, f.rx);
	return p;
}

int sh_cmd_query_vport_counter(struct sh_cmd *c)
{
	struct sh_port *p = &c->hca->port;
	struct sh_frames f;
	void *t;

#define SH_TRAFFIC(field, pkts, bytes)							\
	do {										\
		t = MLX5_ADDR_OF(query_vport_counter_out, c->out, field);		\
		MLX5_SET64(traffic_counter, t, packets, pkts);				\
		MLX5_SET64(traffic_counter, t, octets, bytes);				\
	} while (0)
	SH_TRAFFIC(received_ib_unicast, p->rx_pkts, p->rx_bytes);
	SH_TRAFFIC(transmitted_ib_unicast, p->tx_pkts, p->tx_bytes);
	SH_TRAFFIC(received_ib_multicast, p->rx_mc, p->rx_mc_bytes);
	SH_TRAFFIC(transmitted_ib_multicast, p->tx_mc, p->tx_mc_bytes);
	if (softhca.eth) {
		sh_eth_stats(c->hca, &f);
		SH_TRAFFIC(received_eth_unicast, f.rx, f.rx_bytes);
		SH_TRAFFIC(transmitted_eth_unicast, f.tx, f.tx_bytes);
	}
#undef SH_TRAFFIC
	return MLX5_CMD_STAT_OK;
}

/* --- PPCNT ---------------------------------------------------------------- */

#define SH_PUT(layout, field, value)							\
	do {										\
		MLX5_SET(layout, set, field##_high, upper_32_bits(value));		\
		MLX5_SET(layout, set, field##_low, lower_32_bits(value));		\
	} while (0)

static void sh_ppcnt_802_3(const struct sh_port *p, void *set)
{
	u64 rx_pause = 0, tx_pause = 0;
	int i;

	for (i = 0; i < 8; i++) {
		rx_pause += p->prio[i].rx_pause;
		tx_pause += p->prio[i].tx_pause;
	}
#define SH_802_3(field, value) SH_PUT(eth_802_3_cntrs_grp_data_layout, field, value)
	SH_802_3(a_frames_transmitted_ok, p->tx_pkts + p->tx_mc);
	SH_802_3(a_frames_received_ok, p->rx_pkts + p->rx_mc);
	SH_802_3(a_octets_transmitted_ok, p->tx_bytes + p->tx_mc_bytes);
	SH_802_3(a_octets_received_ok, p->rx_bytes + p->rx_mc_bytes);
	SH_802_3(a_multicast_frames_xmitted_ok, p->tx_mc);
	SH_802_3(a_multicast_frames_received_ok, p->rx_mc);
	SH_802_3(a_mac_control_frames_transmitted, tx_pause);
	SH_802_3(a_mac_control_frames_received, rx_pause);
	SH_802_3(a_pause_mac_ctrl_frames_transmitted, tx_pause);
	SH_802_3(a_pause_mac_ctrl_frames_received, rx_pause);
}

static void sh_ppcnt_2863(const struct sh_port *p, void *set)
{
#define SH_2863(field, value) SH_PUT(eth_2863_cntrs_grp_data_layout, field, value)
	SH_2863(if_in_octets, p->rx_bytes + p->rx_mc_bytes);
	SH_2863(if_in_ucast_pkts, p->rx_pkts);
	SH_2863(if_in_multicast_pkts, p->rx_mc);
	SH_2863(if_out_octets, p->tx_bytes + p->tx_mc_bytes);
	SH_2863(if_out_ucast_pkts, p->tx_pkts);
	SH_2863(if_out_multicast_pkts, p->tx_mc);
}

static void sh_ppcnt_2819(const struct sh_port *p, void *set)
{
#define SH_2819(field, value) SH_PUT(eth_2819_cntrs_grp_data_layout, field, value)
	SH_2819(ether_stats_octets, p->rx_bytes + p->rx_mc_bytes);
	SH_2819(ether_stats_pkts, p->rx_pkts + p->rx_mc);
	SH_2819(ether_stats_multicast_pkts, p->rx_mc);
}

/* How long the port had something to send and had to wait. */
static void sh_ppcnt_extended(const struct sh_hca *h, void *set)
{
	u64 ps = h->contention ? h->contention->model.port.stalled_ps : 0;

	SH_PUT(eth_extended_cntrs_grp_data_layout, port_transmit_wait,
	       div_u64(ps, SH_PS_PER_TICK));
}

static void sh_ppcnt_prio(const struct sh_prio *p, void *set)
{
#define SH_PRIO(field, value) SH_PUT(eth_per_prio_grp_data_layout, field, value)
	SH_PRIO(rx_octets, p->rx_bytes);
	SH_PRIO(rx_frames, p->rx_pkts);
	SH_PRIO(tx_octets, p->tx_bytes);
	SH_PRIO(tx_frames, p->tx_pkts);
	SH_PRIO(rx_pause, p->rx_pause);
	SH_PRIO(rx_pause_duration, div_u64(p->rx_pause_ps, SH_PS_PER_US));
	SH_PRIO(rx_pause_transition, p->rx_pause_transition);
	SH_PRIO(tx_pause, p->tx_pause);
	SH_PRIO(tx_pause_duration, div_u64(p->tx_pause_ps, SH_PS_PER_US));
}

/* Bytes that wait for the wire, of the class that a traffic class is. */
static void sh_ppcnt_tc(const struct sh_hca *h, u8 tc, void *set)
{
	u8 cls = softhca.eth ? h->qos.cls[tc] : tc;

	if (h->contention)
		SH_PUT(eth_per_tc_prio_grp_data_layout, transmit_queue,
		       h->contention->model.port.cls[cls].backlog);
}

static void sh_ppcnt_physical(const struct sh_hca *h, void *set)
{
	u64 ms = div_u64(ktime_get_ns() - h->born_ns, NSEC_PER_MSEC);

	SH_PUT(phys_layer_cntrs, time_since_last_clear, ms);
	MLX5_SET(phys_layer_cntrs, set, link_down_events, h->port.link_downs);
}

static void sh_ppcnt_statistical(const struct sh_hca *h, const struct sh_port *p, void *set)
{
	u64 ms = div_u64(ktime_get_ns() - h->born_ns, NSEC_PER_MSEC);

	SH_PUT(phys_layer_statistical_cntrs, time_since_last_clear, ms);
	SH_PUT(phys_layer_statistical_cntrs, phy_received_bits,
	       (p->rx_bytes + p->rx_mc_bytes) * 8);
}

int sh_reg_ppcnt(struct sh_cmd *c, void *reg, bool write)
{
	void *set = MLX5_ADDR_OF(ppcnt_reg, reg, counter_set);
	u8 which = MLX5_GET(ppcnt_reg, reg, prio_tc) & 7;
	u8 group = MLX5_GET(ppcnt_reg, reg, grp);
	struct sh_hca *h = c->hca;
	struct sh_port p;

	if (write)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	p = sh_port_totals(h);
	switch (group) {
	case MLX5_IEEE_802_3_COUNTERS_GROUP:
	case MLX5_RFC_2863_COUNTERS_GROUP:
	case MLX5_RFC_2819_COUNTERS_GROUP:
		if (!softhca.eth)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		if (group == MLX5_IEEE_802_3_COUNTERS_GROUP)
			sh_ppcnt_802_3(&p, set);
		else if (group == MLX5_RFC_2863_COUNTERS_GROUP)
			sh_ppcnt_2863(&p, set);
		else
			sh_ppcnt_2819(&p, set);
		return MLX5_CMD_STAT_OK;
	case MLX5_ETHERNET_EXTENDED_COUNTERS_GROUP:
		sh_ppcnt_extended(h, set);
		return MLX5_CMD_STAT_OK;
	case MLX5_PER_PRIORITY_COUNTERS_GROUP:
		sh_ppcnt_prio(&p.prio[which], set);
		return MLX5_CMD_STAT_OK;
	case MLX5_PER_TRAFFIC_CLASS_COUNTERS_GROUP:
		sh_ppcnt_tc(h, which, set);
		return MLX5_CMD_STAT_OK;
	case MLX5_PHYSICAL_LAYER_COUNTERS_GROUP:
		sh_ppcnt_physical(h, set);
		return MLX5_CMD_STAT_OK;
	case MLX5_PHYSICAL_LAYER_STATISTICAL_GROUP:
		sh_ppcnt_statistical(h, &p, set);
		return MLX5_CMD_STAT_OK;
	case MLX5_INFINIBAND_PORT_COUNTERS_GROUP:
		MLX5_SET(ib_port_cntrs_grp_data_layout, set, link_downed_counter,
			 min(h->port.link_downs, 0xffU));
		return MLX5_CMD_STAT_OK;
	default:
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
}
