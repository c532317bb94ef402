/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_COUNTERS_H
#define SRDMA_COUNTERS_H

#include "tracker.h"

/* A post of @wrs work requests (0: unknown) rang a doorbell. Any context, RCU. */
void srdma_count_post(struct srdma_qp *q, u32 wrs);

#define SRDMA_PRIOS	8	/* IEEE 802.1p */

/* A priority of a port; bytes, ns. */
struct srdma_prio_stat {
	u64 tx_bytes, rx_bytes, tx_packets, rx_packets;
	u64 tx_pauses, rx_pauses, tx_pause_ns, rx_pause_ns;
};

/* What PORT_GET and debugfs show of a port; bit/s, bytes, ns. */
struct srdma_port_stat {
	u32 state, link_layer;
	u64 speed;
	bool has_netdev, has_bytes, has_cnp, has_prios;
	char netdev[IFNAMSIZ];
	u64 tx_bytes, rx_bytes, tx_packets, rx_packets;
	u64 detail_at;		/* when what follows was read */
	u64 ecn_marked, cnp_sent, cnp_handled;
	struct srdma_prio_stat prio[SRDMA_PRIOS];
};

/* Needs srdma_devs_sem. May sleep. -errno of the driver. */
int srdma_port_stat(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st);

/* Objects of a device as RDMA core counts them. Needs srdma_devs_sem. */
u32 srdma_dev_cqs(struct srdma_dev *dev);
u32 srdma_dev_mrs(struct srdma_dev *dev);
u32 srdma_dev_uars(struct srdma_dev *dev);

#endif /* SRDMA_COUNTERS_H */
