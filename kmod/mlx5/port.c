// SPDX-License-Identifier: GPL-2.0
/*
 * What goes through a port. RDMA passes the netdev by, where there is one at all, so
 * its bytes are the firmware's to tell: a command for each reading, and what was
 * read last where too many are asked for. The bytes and pauses of each priority, and
 * the notifications of congestion, take nine more, so they are read seldom.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "counters.h"
#include "mlx5.h"

#define DETAIL_NS	NSEC_PER_SEC

/* Both are Ethernet's. PPCNT of old firmware is not listed anywhere, as mlx5e has it. */
void srdma_ports_init(struct srdma_mlx5 *md)
{
	struct ib_device *ibdev = md->dev->ibdev;
	struct srdma_mlx5_port *p;
	u32 port;

	mutex_init(&md->port_lock);
	if (!srdma_mlx5_detail())
		return;
	rdma_for_each_port(ibdev, port) {
		if (port > SRDMA_PORTS ||
		    rdma_port_get_link_layer(ibdev, port) != IB_LINK_LAYER_ETHERNET)
			continue;
		p = &md->port[port - 1];
		p->has_cnp = MLX5_CAP_GEN(md->core, cc_query_allowed);
		p->has_prios = !MLX5_CAP_GEN(md->core, pcam_reg) ||
			       MLX5_CAP_PCAM_REG(md->core, ppcnt);
	}
}

#define SUM(out, dir, what)							\
	(MLX5_GET64(query_vport_counter_out, out, dir##_ib_unicast.what) +	\
	 MLX5_GET64(query_vport_counter_out, out, dir##_ib_multicast.what))

static int query_bytes(struct srdma_mlx5 *md, u32 port, struct srdma_port_stat *st)
{
	u32 in[MLX5_ST_SZ_DW(query_vport_counter_in)] = {};
	int out_size = MLX5_ST_SZ_BYTES(query_vport_counter_out), ret;
	void *out = kzalloc(out_size, GFP_KERNEL);

	if (!out)
		return -ENOMEM;
	MLX5_SET(query_vport_counter_in, in, opcode, MLX5_CMD_OP_QUERY_VPORT_COUNTER);
	if (MLX5_CAP_GEN(md->core, num_ports) == 2)
		MLX5_SET(query_vport_counter_in, in, port_num, port);
	ret = srdma_cmd(md, in, sizeof(in), out, out_size);
	if (!ret) {
		st->tx_bytes = SUM(out, transmitted, octets);
		st->rx_bytes = SUM(out, received, octets);
		st->tx_packets = SUM(out, transmitted, packets);
		st->rx_packets = SUM(out, received, packets);
		st->has_bytes = true;
	}
	kfree(out);
	return ret;
}

#define PRIO(set, field) SRDMA_GET_HALVES(eth_per_prio_grp_data_layout, set, field)

/* Durations are in us: NVIDIA, as in pcie.c, rx_prio{i}_pause_duration. */
static int query_prio(struct srdma_mlx5 *md, u32 port, u32 prio, struct srdma_prio_stat *st)
{
	u32 in[MLX5_ST_SZ_DW(ppcnt_reg)] = {}, out[MLX5_ST_SZ_DW(ppcnt_reg)] = {};
	void *set = MLX5_ADDR_OF(ppcnt_reg, out, counter_set);
	int ret;

	MLX5_SET(ppcnt_reg, in, local_port, port);
	MLX5_SET(ppcnt_reg, in, grp, MLX5_PER_PRIORITY_COUNTERS_GROUP);
	MLX5_SET(ppcnt_reg, in, prio_tc, prio);
	ret = srdma_cmd_read_reg(md, in, out, sizeof(in), MLX5_REG_PPCNT);
	if (ret)
		return ret;
	st->tx_bytes = PRIO(set, tx_octets);
	st->rx_bytes = PRIO(set, rx_octets);
	st->tx_packets = PRIO(set, tx_frames);
	st->rx_packets = PRIO(set, rx_frames);
	st->tx_pauses = PRIO(set, tx_pause);
	st->rx_pauses = PRIO(set, rx_pause);
	st->tx_pause_ns = PRIO(set, tx_pause_duration) * NSEC_PER_USEC;
	st->rx_pause_ns = PRIO(set, rx_pause_duration) * NSEC_PER_USEC;
	return 0;
}

#define CONG(out, field) SRDMA_GET_HALVES(query_cong_statistics_out, out, field)

static int query_cnp(struct srdma_mlx5 *md, struct srdma_port_stat *st)
{
	u32 in[MLX5_ST_SZ_DW(query_cong_statistics_in)] = {};
	int out_size = MLX5_ST_SZ_BYTES(query_cong_statistics_out), ret;
	void *out = kzalloc(out_size, GFP_KERNEL);

	if (!out)
		return -ENOMEM;
	MLX5_SET(query_cong_statistics_in, in, opcode, MLX5_CMD_OP_QUERY_CONG_STATISTICS);
	ret = srdma_cmd(md, in, sizeof(in), out, out_size);
	if (!ret) {
		st->ecn_marked = CONG(out, np_ecn_marked_roce_packets);
		st->cnp_sent = CONG(out, np_cnp_sent);
		st->cnp_handled = CONG(out, rp_cnp_handled);
	}
	kfree(out);
	return ret;
}

/* All or nothing, so that the figures are of one time. What is refused stays unasked. */
static void query_detail(struct srdma_mlx5 *md, u32 port, struct srdma_mlx5_port *p)
{
	u64 now = ktime_get_ns();
	struct srdma_port_stat *st;
	u32 prio;

	if (!p->has_cnp && !p->has_prios)
		return;
	if (p->last.detail_at && now - p->last.detail_at < DETAIL_NS)
		return;
	st = kzalloc(sizeof(*st), GFP_KERNEL);
	if (!st)
		return;
	for (prio = 0; p->has_prios && prio < SRDMA_PRIOS; prio++) {
		if (!srdma_cmd_may(md))
			goto out;
		if (query_prio(md, port, prio, &st->prio[prio]))
			p->has_prios = false;
	}
	if (p->has_cnp) {
		if (!srdma_cmd_may(md))
			goto out;
		if (query_cnp(md, st))
			p->has_cnp = false;
	}
	p->last.has_prios = p->has_prios;
	p->last.has_cnp = p->has_cnp;
	p->last.ecn_marked = st->ecn_marked;
	p->last.cnp_sent = st->cnp_sent;
	p->last.cnp_handled = st->cnp_handled;
	memcpy(p->last.prio, st->prio, sizeof(st->prio));
	p->last.detail_at = now;
out:
	kfree(st);
}

void srdma_mlx5_port_stat(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	struct srdma_port_stat *last;

	if (port > SRDMA_PORTS)
		return;
	last = &md->port[port - 1].last;
	mutex_lock(&md->port_lock);
	if (MLX5_CAP_GEN(md->core, vport_counters) && srdma_cmd_may(md))
		query_bytes(md, port, last);
	query_detail(md, port, &md->port[port - 1]);
	if (last->has_bytes) {
		st->has_bytes = true;
		st->tx_bytes += last->tx_bytes;
		st->rx_bytes += last->rx_bytes;
		st->tx_packets += last->tx_packets;
		st->rx_packets += last->rx_packets;
	}
	st->has_cnp = last->has_cnp;
	st->has_prios = last->has_prios;
	st->detail_at = last->detail_at;
	st->ecn_marked = last->ecn_marked;
	st->cnp_sent = last->cnp_sent;
	st->cnp_handled = last->cnp_handled;
	memcpy(st->prio, last->prio, sizeof(st->prio));
	mutex_unlock(&md->port_lock);
}
