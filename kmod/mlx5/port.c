// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a port. RDMA traffic does not pass the netdev, so only the firmware has the
 * port's bytes. A reading takes one command, within the limit on commands. The bytes and
 * pauses of each priority, and the congestion notifications, take nine more commands, so they
 * are read less often.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "counters.h"
#include "mlx5.h"

#define DETAIL_NS	NSEC_PER_SEC

/*
 * Both registers exist on Ethernet only and count the physical port, so read from another
 * function they would have the sums of all functions. Firmware that is too old to list PPCNT
 * in its capabilities has it nevertheless; mlx5e assumes the same.
 */
void srdma_port_init(struct srdma_mlx5 *md)
{
	struct ib_device *ibdev = md->dev->ibdev;
	struct srdma_mlx5_port *p;
	u32 port;

	/* The command returns figures of its sender's function, not of a representor's port. */
	for (p = md->port; p < md->port + SRDMA_PORTS; p++)
		p->has_bytes = MLX5_CAP_GEN(md->core, vport_counters) &&
			       md->dev->function != SWIFTRDMA_FUNCTION_REPRESENTOR;
	if (!srdma_mlx5_detail() || !srdma_mlx5_is_pf(md))
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

int srdma_mlx5_port_bytes(struct srdma_dev *dev, u32 port, struct srdma_port_bytes *b)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	u32 in[MLX5_ST_SZ_DW(query_vport_counter_in)] = {};
	u32 out[MLX5_ST_SZ_DW(query_vport_counter_out)] = {};
	struct srdma_mlx5_port *p;
	int ret;

	if (!port || port > SRDMA_PORTS)
		return -EOPNOTSUPP;
	p = &md->port[port - 1];
	if (!p->has_bytes)
		return -EOPNOTSUPP;
	if (!srdma_cmd_may(md))
		return -EAGAIN;
	MLX5_SET(query_vport_counter_in, in, opcode, MLX5_CMD_OP_QUERY_VPORT_COUNTER);
	if (MLX5_CAP_GEN(md->core, num_ports) == 2)
		MLX5_SET(query_vport_counter_in, in, port_num, port);
	ret = srdma_cmd(md, in, sizeof(in), out, sizeof(out));
	if (srdma_may_pass(ret))
		return ret;
	p->has_bytes = !ret;
	if (ret)
		return -EOPNOTSUPP;
	b->tx_bytes = SUM(out, transmitted, octets);
	b->rx_bytes = SUM(out, received, octets);
	b->tx_packets = SUM(out, transmitted, packets);
	b->rx_packets = SUM(out, received, packets);
	return 0;
}

#define PRIO(set, field) SRDMA_GET_HALVES(eth_per_prio_grp_data_layout, set, field)

/* Pauses last so many us, as rx_prio{i}_pause_duration in NVIDIA's counter guide (see pcie.c). */
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
	u32 out[MLX5_ST_SZ_DW(query_cong_statistics_out)] = {};
	int ret;

	MLX5_SET(query_cong_statistics_in, in, opcode, MLX5_CMD_OP_QUERY_CONG_STATISTICS);
	ret = srdma_cmd(md, in, sizeof(in), out, sizeof(out));
	if (ret)
		return ret;
	st->ecn_marked = CONG(out, np_ecn_marked_roce_packets);
	st->cnp_sent = CONG(out, np_cnp_sent);
	st->cnp_handled = CONG(out, rp_cnp_handled);
	return 0;
}

/* A query has ended with @ret. True: it is to be sent again after a while. */
static bool is_put_off(struct srdma_mlx5_port *p, int ret, bool *has)
{
	bool again = srdma_may_pass(ret);

	if (again)
		p->retry_at = ktime_get_ns() + SRDMA_RETRY_NS;
	else if (ret)
		*has = false;
	return again;
}

/* Read all figures or none, so that they are of one time. A refused query is not repeated. */
static int query_detail(struct srdma_mlx5 *md, u32 port, struct srdma_port_stat *st)
{
	struct srdma_mlx5_port *p = &md->port[port - 1];
	u32 prio;

	for (prio = 0; p->has_prios && prio < SRDMA_PRIOS; prio++) {
		if (!srdma_cmd_may(md))
			return -EAGAIN;
		if (is_put_off(p, query_prio(md, port, prio, &st->prio[prio]), &p->has_prios))
			return -EAGAIN;
	}
	if (p->has_cnp) {
		if (!srdma_cmd_may(md))
			return -EAGAIN;
		if (is_put_off(p, query_cnp(md, st), &p->has_cnp))
			return -EAGAIN;
	}
	return 0;
}

void srdma_mlx5_port_detail(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	struct srdma_mlx5_port *p;
	struct srdma_port_stat *now;
	u64 at = ktime_get_ns();

	if (!port || port > SRDMA_PORTS)
		return;
	p = &md->port[port - 1];
	if ((!p->has_cnp && !p->has_prios) || at < p->retry_at ||
	    ((st->has_cnp || st->has_prios) && at - st->detail_at < DETAIL_NS))
		return;
	now = kmemdup(st, sizeof(*st), GFP_KERNEL);
	if (now && !query_detail(md, port, now)) {
		now->detail_at = at;
		now->has_prios = p->has_prios;
		now->has_cnp = p->has_cnp;
		*st = *now;
	}
	kfree(now);
}
