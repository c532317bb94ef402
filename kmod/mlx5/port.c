// SPDX-License-Identifier: GPL-2.0
/*
 * What goes through a port. RDMA passes the netdev by, where there is one at all, so
 * its bytes are the firmware's to tell: a command for each reading, and what was
 * read last where too many are asked for.
 */
#include <linux/slab.h>

#include "counters.h"
#include "mlx5.h"

#define SUM(out, dir, what)							\
	(MLX5_GET64(query_vport_counter_out, out, dir##_ib_unicast.what) +	\
	 MLX5_GET64(query_vport_counter_out, out, dir##_ib_multicast.what))

static int query(struct srdma_mlx5 *md, u32 port, struct srdma_mlx5_port *p)
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
		p->tx_bytes = SUM(out, transmitted, octets);
		p->rx_bytes = SUM(out, received, octets);
		p->tx_packets = SUM(out, transmitted, packets);
		p->rx_packets = SUM(out, received, packets);
	}
	kfree(out);
	return ret;
}

void srdma_mlx5_port_stat(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	struct srdma_mlx5_port *p;

	if (!MLX5_CAP_GEN(md->core, vport_counters) || port > SRDMA_PORTS)
		return;
	p = &md->port[port - 1];
	mutex_lock(&md->port_lock);
	if (srdma_cmd_may(md) && !query(md, port, p))
		p->known = true;
	if (p->known) {
		st->has_bytes = true;
		st->tx_bytes += p->tx_bytes;
		st->rx_bytes += p->rx_bytes;
		st->tx_packets += p->tx_packets;
		st->rx_packets += p->rx_packets;
	}
	mutex_unlock(&md->port_lock);
}
