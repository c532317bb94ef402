/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_COUNTERS_H
#define SRDMA_COUNTERS_H

#include <linux/ktime.h>

#include "tracker.h"

/* A post of @wrs work requests (0: unknown) rang a doorbell. Any context, RCU. */
void srdma_count_post(struct srdma_qp *q, u32 wrs);

/*
 * When the figures of a device's QPs and UARs were read: the sampler's time, where it
 * counts them.
 */
static inline u64 srdma_counted_at(const struct srdma_dev *dev)
{
	u32 sampled = SWIFTRDMA_DEV_CAP_UARS | SWIFTRDMA_DEV_CAP_WRS;

	return (READ_ONCE(dev->caps) & sampled) == sampled ? atomic64_read(&dev->wrs_at) :
							     ktime_get_ns();
}

#define SRDMA_PRIOS	8	/* IEEE 802.1p */

/* A priority of a port; bytes, ns. */
struct srdma_prio_stat {
	u64 tx_bytes, rx_bytes, tx_packets, rx_packets;
	u64 tx_pauses, rx_pauses, tx_pause_ns, rx_pause_ns;
};

/*
 * What PORT_GET and debugfs show of a port; bit/s, bytes, ns. @at: when bytes and
 * packets were read; of a port that has none, its link.
 */
struct srdma_port_stat {
	u32 state, link_layer;
	u64 speed;
	u64 at;
	bool has_netdev, has_bytes, has_cnp, has_prios;
	char netdev[IFNAMSIZ];
	u64 tx_bytes, rx_bytes, tx_packets, rx_packets;
	u64 detail_at;		/* when what follows was read */
	u64 ecn_marked, cnp_sent, cnp_handled;
	struct srdma_prio_stat prio[SRDMA_PRIOS];
};

/* RDMA bytes and packets, which bypass a port's netdev. */
struct srdma_port_bytes {
	u64 tx_bytes, rx_bytes, tx_packets, rx_packets;
};

/* Allocate the device's ports, which are freed with the device. -ENOMEM. */
int srdma_ports_init(struct srdma_dev *dev);
/* Subscribe to link events of the device's ports, or unsubscribe. */
void srdma_ports_watch(struct srdma_dev *dev);
void srdma_ports_unwatch(struct srdma_dev *dev);
/* Read them all. May send commands and sleep: refresh.c's work only. */
void srdma_ports_read(struct srdma_dev *dev, const struct srdma_provider_ops *ops);
/*
 * Figures of an existing port from the last reading. -errno of the driver; -EAGAIN: the port was
 * not read yet. Process context; does not sleep.
 */
int srdma_port_stat(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st);

/* Objects of a device as RDMA core counts them. Needs srdma_devs_sem. */
u32 srdma_dev_cqs(struct srdma_dev *dev);
u32 srdma_dev_mrs(struct srdma_dev *dev);
u32 srdma_dev_uars(struct srdma_dev *dev);

#endif /* SRDMA_COUNTERS_H */
