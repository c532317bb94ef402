// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of posts, and port figures that are read from the driver on request. Counters
 * only grow; user space computes rates from them.
 */
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

#include "compat.h"
#include "counters.h"
#include "pass.h"

/*
 * On the path of every doorbell that passes through the kernel: two atomic
 * additions on lines that the posting process owns, and a stamp that is written
 * only once per dump.
 */
void srdma_count_post(struct srdma_qp *q, u32 wrs)
{
	struct srdma_uar *u = READ_ONCE(q->uar);

	/* A post proves that no destroy of the QP has begun. */
	if (test_bit(SRDMA_QP_UNSURE, &q->flags) &&
	    !test_and_set_bit(SRDMA_QP_SEEN, &q->flags)) {
		WRITE_ONCE(q->dev->query_wanted, true);
		srdma_pass_run(q->dev);
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

/**
 * struct srdma_port - a port, as it was read last
 * @st: the figures
 * @error: -errno of the driver
 * @link_at: jiffies when its link was read, for refresh.c's work alone
 *
 * Under srdma_dev.ports_lock, but for @link_at. Only that work writes it.
 */
struct srdma_port {
	struct srdma_port_stat st;
	int error;
	unsigned long link_at;
};

/*
 * Time after which a link is read again without an event: not all drivers send one when
 * only the speed changes.
 */
#define LINK_TIME	(10 * HZ)

/* Ports are kept in the order of their numbers, which begin with 0 on a switch. */
static struct srdma_port *port_of(struct srdma_dev *dev, u32 port)
{
	return &dev->ports[port - rdma_start_port(dev->ibdev)];
}

static void link_changed(struct ib_event_handler *handler, struct ib_event *event)
{
	struct srdma_dev *dev = container_of(handler, struct srdma_dev, link_event);

	WRITE_ONCE(dev->link_stale, 1);
}

int srdma_ports_init(struct srdma_dev *dev)
{
	u32 n = rdma_end_port(dev->ibdev) - rdma_start_port(dev->ibdev) + 1, i;

	dev->ports = kvcalloc(n, sizeof(*dev->ports), GFP_KERNEL);
	if (!dev->ports)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		dev->ports[i].error = -EAGAIN;
	return 0;
}

void srdma_ports_watch(struct srdma_dev *dev)
{
	INIT_IB_EVENT_HANDLER(&dev->link_event, dev->ibdev, link_changed);
	ib_register_event_handler(&dev->link_event);
}

void srdma_ports_unwatch(struct srdma_dev *dev)
{
	ib_unregister_event_handler(&dev->link_event);
}

/*
 * Does RDMA traffic pass the netdev? In hardware it does not, so the netdev's bytes alone say
 * nothing of the port.
 */
static bool netdev_has_rdma(const struct srdma_dev *dev)
{
	u32 driver = dev->ibdev->ops.driver_id;

	return driver == RDMA_DRIVER_RXE || driver == RDMA_DRIVER_SIW;
}

static void add_netdev_bytes(struct net_device *ndev, struct srdma_port_stat *st)
{
	struct rtnl_link_stats64 stats;

	dev_get_stats(ndev, &stats);
	st->has_bytes = true;
	st->tx_bytes += stats.tx_bytes;
	st->rx_bytes += stats.rx_bytes;
	st->tx_packets += stats.tx_packets;
	st->rx_packets += stats.rx_packets;
}

static void read_netdev(struct srdma_dev *dev, u32 port, bool bytes, struct srdma_port_stat *st)
{
	const struct ib_gid_attr *gid = rdma_get_gid_attr(dev->ibdev, port, 0);
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
	strscpy(st->netdev, ndev->name, sizeof(st->netdev));
	if (bytes)
		add_netdev_bytes(ndev, st);
	dev_put(ndev);
}

static int read_link(struct srdma_dev *dev, const struct srdma_provider_ops *ops, u32 port,
		     struct srdma_port_stat *st)
{
	struct ib_port_attr attr = {};
	int ret, width;

	ret = ops->query_port ? ops->query_port(dev, port, &attr) :
				ib_query_port(dev->ibdev, port, &attr);
	if (ret)
		return ret;
	width = ib_width_enum_to_int(attr.active_width);
	st->state = attr.state;
	st->link_layer = rdma_port_get_link_layer(dev->ibdev, port);
	st->speed = width > 0 ? lane_mbps(attr.active_speed) * width * 1000 * 1000 : 0;
	return 0;
}

/*
 * Read the netdev's bytes and the RDMA bytes that bypass it. If either fails, the former figures
 * stay, with their time. Without the RDMA bytes the port shows none at all: those of the netdev
 * alone would make a busy port look idle.
 */
static void read_bytes(struct srdma_dev *dev, const struct srdma_provider_ops *ops, u32 port,
		       struct srdma_port_stat *st)
{
	struct srdma_port_bytes more = {};
	int ret = ops->port_bytes ? ops->port_bytes(dev, port, &more) : -EOPNOTSUPP;

	if (ret && ret != -EOPNOTSUPP)
		return;
	st->at = ktime_get_ns();
	st->has_netdev = false;
	st->has_bytes = !ret;
	st->tx_bytes = more.tx_bytes;
	st->rx_bytes = more.rx_bytes;
	st->tx_packets = more.tx_packets;
	st->rx_packets = more.rx_packets;
	read_netdev(dev, port, !ret || netdev_has_rdma(dev), st);
}

static void read_port(struct srdma_dev *dev, const struct srdma_provider_ops *ops, u32 port,
		      bool link)
{
	struct srdma_port *p = port_of(dev, port);
	struct srdma_port_stat st = p->st;
	int ret = 0;

	if (link || p->error || time_after(jiffies, p->link_at + LINK_TIME)) {
		p->link_at = jiffies;
		ret = read_link(dev, ops, port, &st);
	}
	if (!ret) {
		read_bytes(dev, ops, port, &st);
		if (ops->port_detail) {
			ops->port_detail(dev, port, &st);
		} else {	/* the former figures came from another provider */
			st.has_cnp = false;
			st.has_prios = false;
		}
	}
	spin_lock(&dev->ports_lock);
	p->error = ret;
	p->st = st;
	spin_unlock(&dev->ports_lock);
}

void srdma_ports_read(struct srdma_dev *dev, const struct srdma_provider_ops *ops)
{
	bool link = xchg(&dev->link_stale, 0) || dev->query_is_cheap;
	u32 port;

	rdma_for_each_port(dev->ibdev, port)
		read_port(dev, ops, port, link);
}

int srdma_port_stat(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st)
{
	struct srdma_port *p = port_of(dev, port);
	int ret;

	spin_lock(&dev->ports_lock);
	*st = p->st;
	ret = p->error;
	spin_unlock(&dev->ports_lock);
	return ret;
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
