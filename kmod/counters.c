// SPDX-License-Identifier: GPL-2.0
/*
 * Counting, and the figures that are read from elsewhere when somebody asks.
 * What is counted here is only ever added to; rates are user space's.
 */
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

#include "compat.h"
#include "counters.h"
#include "enforce.h"

/*
 * On the path of every doorbell that passes through the kernel: two atomic
 * additions on lines that the posting process owns, and a stamp that is written
 * only once per dump.
 */
void srdma_count_post(struct srdma_qp *q, u32 wrs)
{
	struct srdma_uar *u = READ_ONCE(q->uar);

	/* Whoever posts has not begun to end it. */
	if (test_bit(SRDMA_QP_UNSURE, &q->flags) &&
	    !test_and_set_bit(SRDMA_QP_SEEN, &q->flags)) {
		WRITE_ONCE(q->dev->learn, true);
		srdma_enforce_run();
	}
	atomic64_inc(&q->doorbells);
	if (wrs)
		atomic64_add(wrs, &q->wrs);
	if (u) {
		atomic64_inc(&u->doorbells);
		if (wrs)
			atomic64_add(wrs, &u->wrs);
	}
	srdma_qp_touch(q);
}

/*
 * Mbit/s of one lane, IBA 14.2.5.6 (PortInfo.LinkSpeedActive and its
 * extensions); InfiniBand's three oldest lose a fifth to 8b/10b in their data
 * rate, but a link's speed is quoted as signalled.
 */
static u64 lane_mbps(u16 speed)
{
	switch (speed) {
	case IB_SPEED_SDR:
		return 2500;
	case IB_SPEED_DDR:
		return 5000;
	case IB_SPEED_QDR:
	case IB_SPEED_FDR10:
		return 10000;
	case IB_SPEED_FDR:
		return 14000;
	case IB_SPEED_EDR:
		return 25000;
	case IB_SPEED_HDR:
		return 50000;
	case IB_SPEED_NDR:
		return 100000;
	default:
		return 0;
	}
}

static void netdev_stat(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st)
{
	const struct ib_gid_attr *gid = rdma_get_gid_attr(dev->ibdev, port, 0);
	struct rtnl_link_stats64 stats;
	struct net_device *ndev;

	if (IS_ERR(gid))
		return;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(gid);
	if (!IS_ERR_OR_NULL(ndev))
		dev_hold(ndev);
	rcu_read_unlock();
	rdma_put_gid_attr(gid);
	if (IS_ERR_OR_NULL(ndev))
		return;

	st->has_netdev = true;
	st->has_bytes = true;
	strscpy(st->netdev, ndev->name, sizeof(st->netdev));
	dev_get_stats(ndev, &stats);
	st->tx_bytes = stats.tx_bytes;
	st->rx_bytes = stats.rx_bytes;
	st->tx_packets = stats.tx_packets;
	st->rx_packets = stats.rx_packets;
	dev_put(ndev);
}

int srdma_port_stat(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);
	struct ib_port_attr attr = {};
	int ret, width;

	memset(st, 0, sizeof(*st));
	ret = ib_query_port(dev->ibdev, port, &attr);
	if (ret)
		return ret;
	width = ib_width_enum_to_int(attr.active_width);
	st->state = attr.state;
	st->link_layer = rdma_port_get_link_layer(dev->ibdev, port);
	if (width > 0)
		st->speed = lane_mbps(attr.active_speed) * width * 1000 * 1000;
	netdev_stat(dev, port, st);
	if (ops->port_stat)
		ops->port_stat(dev, port, st);
	return 0;
}

u32 srdma_dev_cqs(struct srdma_dev *dev)
{
	return srdma_restrack_count(dev->ibdev, RDMA_RESTRACK_CQ);
}

u32 srdma_dev_mrs(struct srdma_dev *dev)
{
	return srdma_restrack_count(dev->ibdev, RDMA_RESTRACK_MR);
}

u32 srdma_dev_uars(struct srdma_dev *dev)
{
	unsigned long index;
	struct srdma_uar *u;
	u32 n = 0;

	rcu_read_lock();
	xa_for_each(srdma_dev_uar_table(dev), index, u)
		n++;
	rcu_read_unlock();
	return n;
}
