/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_COUNTERS_H
#define SRDMA_COUNTERS_H

#include "tracker.h"

/* A post of @wrs work requests (0: unknown) rang a doorbell. Any context, RCU. */
void srdma_count_post(struct srdma_qp *q, u32 wrs);

/* What PORT_GET and debugfs show of a port; bit/s, bytes. */
struct srdma_port_stat {
	u32 state, link_layer;
	u64 speed;
	bool has_netdev, has_bytes;
	char netdev[IFNAMSIZ];
	u64 tx_bytes, rx_bytes, tx_packets, rx_packets;
};

/* Needs srdma_devs_sem. May sleep. -errno of the driver. */
int srdma_port_stat(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st);

/* Objects of a device as RDMA core counts them. Needs srdma_devs_sem. */
u32 srdma_dev_cqs(struct srdma_dev *dev);
u32 srdma_dev_mrs(struct srdma_dev *dev);
u32 srdma_dev_uars(struct srdma_dev *dev);

#endif /* SRDMA_COUNTERS_H */
