// SPDX-License-Identifier: GPL-2.0
/*
 * The netdev of an Ethernet port.
 *
 * mlx5_core's own netdev wants receive and send queues, flow tables and much else
 * that has nothing to do with RDMA; without the capabilities for these it makes
 * none. mlx5_ib takes this one in its place (see sh_be_uplink()), which is enough for
 * addresses: its frames (ARP, and TCP for whoever uses it)
 * go to the other HCAs' netdevs, while RoCE's packets never become frames. Where an HCA has
 * flow rules, its poller sees the frames before its netdev (frame.c).
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "softhca.h"

static bool lag_netdev;
module_param(lag_netdev, bool, 0444);
MODULE_PARM_DESC(lag_netdev, "netdevs hca0p2, ... with the counters of the LAGs' second ports (N)");

/* With RoCE's headers, 4096 bytes fit. */
#define SH_ETH_MTU	4200
#define SH_ETH_MAX_MTU	9978
/* Frames that may wait for the poller; it takes 64 in each look. */
#define SH_MAX_QUEUED	1024

static bool sh_eth_takes(const struct net_device *to, const u8 *dest)
{
	return netif_running(to) && netif_carrier_ok(to) &&
	       (is_multicast_ether_addr(dest) || ether_addr_equal(to->dev_addr, dest));
}

/* A frame that no flow rule wants arrives at the netdev, if it is for that one. */
void sh_eth_receive(struct sh_hca *h, struct sk_buff *skb)
{
	const struct ethhdr *eth = (void *)skb->data;
	struct net_device *to = h->netdev;
	u32 len = skb->len;

	if (!to || !sh_eth_takes(to, eth->h_dest)) {
		kfree_skb(skb);
		return;
	}
	/* dev_forward_skb() reads the sender's netdev; frames of raw packet QPs have none. */
	if (!skb->dev)
		skb->dev = to;
	if (dev_forward_skb(to, skb) != NET_RX_SUCCESS)
		to->stats.rx_dropped++;
	else
		dev_sw_netstats_rx_add(to, len);
}

static netdev_tx_t sh_eth_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct sk_buff *copy;
	int i;

	dev_sw_netstats_tx_add(dev, 1, skb->len);
	skb_tx_timestamp(skb);
	for (i = 0; i < softhca.nhcas; i++) {
		struct sh_hca *h = softhca.hca[i];

		if (!h->netdev || h->netdev == dev)
			continue;
		copy = skb_queue_len_lockless(&h->frames) < SH_MAX_QUEUED ?
		       skb_clone(skb, GFP_ATOMIC) : NULL;
		if (!copy)
			h->netdev->stats.rx_dropped++;
		else if (READ_ONCE(h->flows))
			skb_queue_tail(&h->frames, copy);
		else
			sh_eth_receive(h, copy);
	}
	consume_skb(skb);
	return NETDEV_TX_OK;
}

static int sh_eth_init(struct net_device *dev)
{
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	return dev->tstats ? 0 : -ENOMEM;
}

static void sh_eth_uninit(struct net_device *dev)
{
	free_percpu(dev->tstats);
}

static int sh_eth_open(struct net_device *dev)
{
	netif_start_queue(dev);
	return 0;
}

static int sh_eth_stop(struct net_device *dev)
{
	netif_stop_queue(dev);
	return 0;
}

static const struct net_device_ops sh_eth_ops = {
	.ndo_init = sh_eth_init,
	.ndo_uninit = sh_eth_uninit,
	.ndo_open = sh_eth_open,
	.ndo_stop = sh_eth_stop,
	.ndo_start_xmit = sh_eth_xmit,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_validate_addr = eth_validate_addr,
};

static int sh_eth_ksettings(struct net_device *dev, struct ethtool_link_ksettings *k)
{
	k->base.speed = SPEED_100000;
	k->base.duplex = DUPLEX_FULL;
	return 0;
}

/*
 * The LAG's first port sends the frames of the netdev, the multicasts, and the packets of each QP
 * that did not choose the second port.
 */
static void sh_eth_mac_stats(struct net_device *dev, struct ethtool_eth_mac_stats *s)
{
	struct sh_hca *h = ((struct sh_dcb *)netdev_priv(dev))->hca;
	struct rtnl_link_stats64 own = {};

	dev_get_stats(dev, &own);
	mutex_lock(&softhca.lock);
	s->FramesTransmittedOK = h->lag[0].pkts + h->lag[1].pkts + h->port.tx_mc + own.tx_packets;
	mutex_unlock(&softhca.lock);
}

static const struct ethtool_ops sh_eth_ethtool_ops = {
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = sh_eth_ksettings,
	.get_eth_mac_stats = sh_eth_mac_stats,
};

/* --- the LAG's second port ----------------------------------------------------------- */

struct sh_lag_dev {
	struct sh_hca *hca;
};

static netdev_tx_t sh_lag_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev->stats.tx_dropped++;
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops sh_lag_ops = {
	.ndo_start_xmit = sh_lag_xmit,
};

static void sh_lag_mac_stats(struct net_device *dev, struct ethtool_eth_mac_stats *s)
{
	struct sh_hca *h = ((struct sh_lag_dev *)netdev_priv(dev))->hca;

	mutex_lock(&softhca.lock);
	s->FramesTransmittedOK = h->lag[2].pkts;
	mutex_unlock(&softhca.lock);
}

static const struct ethtool_ops sh_lag_ethtool_ops = {
	.get_eth_mac_stats = sh_lag_mac_stats,
};

/*
 * On a ConnectX the second port has a PCI function, and so a netdev, of its own. This netdev
 * has the port's counter of frames, and drops what it is to send. The netdev has no parent, or
 * mlx5_ib would take it for the HCA's.
 */
static int sh_lag_add(struct sh_hca *h)
{
	struct net_device *dev;
	char name[IFNAMSIZ];
	int err;

	snprintf(name, sizeof(name), "hca%dp2", h->index);
	dev = alloc_netdev(sizeof(struct sh_lag_dev), name, NET_NAME_ENUM, ether_setup);
	if (!dev)
		return -ENOMEM;
	((struct sh_lag_dev *)netdev_priv(dev))->hca = h;
	dev->netdev_ops = &sh_lag_ops;
	dev->ethtool_ops = &sh_lag_ethtool_ops;
	eth_hw_addr_random(dev);
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	h->lag_netdev = dev;
	return 0;
}

static void sh_lag_remove(struct sh_hca *h)
{
	if (!h->lag_netdev)
		return;
	unregister_netdev(h->lag_netdev);
	free_netdev(h->lag_netdev);
	h->lag_netdev = NULL;
}

/* --- the port ------------------------------------------------------------------------ */

/* Before drivers find the device, which then has its netdev from the start. */
int sh_eth_add(struct sh_hca *h, struct device *parent)
{
	struct net_device *dev;
	int err;

	dev = alloc_netdev(sizeof(struct sh_dcb), "hca%d", NET_NAME_ENUM, ether_setup);
	if (!dev)
		return -ENOMEM;
	SET_NETDEV_DEV(dev, parent);
	dev->netdev_ops = &sh_eth_ops;
	dev->ethtool_ops = &sh_eth_ethtool_ops;
	dev->mtu = SH_ETH_MTU;
	dev->max_mtu = SH_ETH_MAX_MTU;
	eth_hw_addr_set(dev, h->mac);
	sh_dcb_init(dev, h);
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	rtnl_lock();
	sh_dcb_start(dev);
	rtnl_unlock();
	h->netdev = dev;
	return lag_netdev ? sh_lag_add(h) : 0;
}

void sh_eth_remove_all(void)
{
	int i;

	for (i = 0; i < softhca.nhcas; i++) {
		struct net_device *dev = softhca.hca[i]->netdev;

		sh_lag_remove(softhca.hca[i]);
		if (!dev)
			continue;
		rtnl_lock();
		sh_dcb_stop(dev);
		unregister_netdevice(dev);
		rtnl_unlock();
	}
	/* Only now does none send to another any more. */
	for (i = 0; i < softhca.nhcas; i++) {
		struct net_device *dev = softhca.hca[i]->netdev;

		mutex_lock(&softhca.lock);
		softhca.hca[i]->netdev = NULL;
		mutex_unlock(&softhca.lock);
		if (dev)
			free_netdev(dev);
	}
}

/* A cable that is pulled takes both with it, the netdev and RoCE. */
void sh_eth_link(struct sh_hca *h)
{
	if (!h->netdev)
		return;
	if (h->port.up)
		netif_carrier_on(h->netdev);
	else
		netif_carrier_off(h->netdev);
}

/* The cable is in, and nobody set the interface down. */
bool sh_port_active(const struct sh_hca *h)
{
	return h->port.up && (!h->netdev || netif_running(h->netdev));
}

u32 sh_eth_mtu(const struct sh_hca *h)
{
	return h->netdev ? READ_ONCE(h->netdev->mtu) : 0;
}

void sh_eth_stats(const struct sh_hca *h, struct sh_frames *f)
{
	struct rtnl_link_stats64 s = {};

	if (h->netdev)
		dev_get_stats(h->netdev, &s);
	*f = (struct sh_frames) {
		.tx = h->raw.tx + s.tx_packets, .rx = h->raw.rx + s.rx_packets,
		.tx_bytes = h->raw.tx_bytes + s.tx_bytes,
		.rx_bytes = h->raw.rx_bytes + s.rx_bytes,
	};
}
