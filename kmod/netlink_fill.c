// SPDX-License-Identifier: GPL-2.0
/*
 * Objects as nests of attributes. What is not known is left out; a nest that
 * does not fit is left out as a whole by the caller, who cancels the message.
 */
#include <linux/cred.h>
#include <rdma/ib_verbs.h>

#include "job.h"
#include "netlink_priv.h"

/* Shorthand of this file: what it does not say is the same every time. */
#define PUT_U64(skb, obj, name, value)						\
	nla_put_u64_64bit(skb, SWIFTRDMA_##obj##_A_##name, value,		\
			  SWIFTRDMA_##obj##_A_PAD)
#define PUT_U32(skb, obj, name, value)						\
	nla_put_u32(skb, SWIFTRDMA_##obj##_A_##name, value)

int srdma_fill_dev(struct sk_buff *skb, struct srdma_dev *dev, u64 now)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_DEV);
	u32 uars;

	if (!nest)
		return -EMSGSIZE;
	uars = srdma_dev_uars(dev);
	if (PUT_U32(skb, DEV, INDEX, dev->index) ||
	    nla_put_string(skb, SWIFTRDMA_DEV_A_NAME, dev->name) ||
	    nla_put_string(skb, SWIFTRDMA_DEV_A_PROVIDER, dev->provider->name) ||
	    PUT_U32(skb, DEV, CAPS, dev->provider->caps) ||
	    PUT_U32(skb, DEV, PORTS, dev->ibdev->phys_port_cnt) ||
	    PUT_U32(skb, DEV, QPS, atomic_read(&dev->n_qps)) ||
	    PUT_U32(skb, DEV, UARS, uars) ||
	    PUT_U32(skb, DEV, CQS, srdma_dev_cqs(dev)) ||
	    PUT_U32(skb, DEV, MRS, srdma_dev_mrs(dev)) ||
	    PUT_U64(skb, DEV, CREATED, atomic64_read(&dev->created)) ||
	    PUT_U64(skb, DEV, CREATE_FAILED, atomic64_read(&dev->create_failed)) ||
	    PUT_U64(skb, DEV, REJECTED, atomic64_read(&dev->rejected)) ||
	    PUT_U64(skb, DEV, DESTROYED, atomic64_read(&dev->destroyed)) ||
	    PUT_U64(skb, DEV, MODIFIED, atomic64_read(&dev->modified)) ||
	    PUT_U64(skb, DEV, ADOPTED, atomic64_read(&dev->adopted)) ||
	    PUT_U64(skb, DEV, UNTRACKED, atomic64_read(&dev->untracked)) ||
	    PUT_U64(skb, DEV, LIVE_CHANGED, atomic64_read(&dev->live_changed)) ||
	    PUT_U64(skb, DEV, LIVE_FAILED, atomic64_read(&dev->live_failed)) ||
	    PUT_U64(skb, DEV, DRAIN_MAX, atomic64_read(&dev->drain_max)) ||
	    PUT_U64(skb, DEV, SINCE, dev->since) ||
	    PUT_U64(skb, DEV, TIME, now))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

int srdma_fill_port(struct sk_buff *skb, const struct srdma_dev *dev, u32 port,
		    const struct srdma_port_stat *st, u64 now)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_PORT_OBJ);

	if (!nest)
		return -EMSGSIZE;
	if (PUT_U32(skb, PORT, DEV_INDEX, dev->index) ||
	    PUT_U32(skb, PORT, INDEX, port) ||
	    PUT_U32(skb, PORT, STATE, st->state) ||
	    PUT_U32(skb, PORT, LINK_LAYER, st->link_layer))
		return -EMSGSIZE;
	if (st->speed && PUT_U64(skb, PORT, SPEED, st->speed))
		return -EMSGSIZE;
	if (st->has_netdev &&
	    (nla_put_string(skb, SWIFTRDMA_PORT_A_NETDEV, st->netdev) ||
	     PUT_U64(skb, PORT, TX_BYTES, st->tx_bytes) ||
	     PUT_U64(skb, PORT, RX_BYTES, st->rx_bytes) ||
	     PUT_U64(skb, PORT, TX_PACKETS, st->tx_packets) ||
	     PUT_U64(skb, PORT, RX_PACKETS, st->rx_packets)))
		return -EMSGSIZE;
	if (PUT_U64(skb, PORT, TIME, now))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

int srdma_fill_uar(struct sk_buff *skb, const struct srdma_uar *u,
		   const struct srdma_reader *who, u64 now)
{
	const struct srdma_dev *dev = u->dev;
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_UAR_OBJ);
	bool kernel = u->kind == SWIFTRDMA_UAR_KIND_KERNEL && dev->wrapped_post_send;

	if (!nest)
		return -EMSGSIZE;
	if (PUT_U32(skb, UAR, DEV_INDEX, dev->index) ||
	    PUT_U32(skb, UAR, INDEX, u->index) ||
	    PUT_U32(skb, UAR, KIND, u->kind) ||
	    PUT_U32(skb, UAR, QPS, atomic_read(&u->n_qps)) ||
	    PUT_U64(skb, UAR, CREATED, atomic64_read(&u->created)))
		return -EMSGSIZE;
	if ((kernel || dev->provider->caps & SWIFTRDMA_DEV_CAP_DOORBELLS) &&
	    PUT_U64(skb, UAR, DOORBELLS, atomic64_read(&u->doorbells)))
		return -EMSGSIZE;
	if ((kernel || dev->provider->caps & SWIFTRDMA_DEV_CAP_WRS) &&
	    PUT_U64(skb, UAR, WRS, atomic64_read(&u->wrs)))
		return -EMSGSIZE;
	if (u->owner && srdma_put_owner(skb, SWIFTRDMA_UAR_A_OWNER, u->owner, who))
		return -EMSGSIZE;
	if (PUT_U64(skb, UAR, SINCE, u->since) || PUT_U64(skb, UAR, TIME, now))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

int srdma_fill_tally(struct sk_buff *skb, const struct srdma_enforce_tally *t)
{
	if (nla_put_s32(skb, SWIFTRDMA_ACTION_A_ERROR, t->error) ||
	    PUT_U32(skb, ACTION, QPS, t->qps) ||
	    PUT_U32(skb, ACTION, QPS_DONE, t->done) ||
	    PUT_U32(skb, ACTION, QPS_PENDING, t->pending) ||
	    PUT_U32(skb, ACTION, QPS_UNSUPPORTED, t->unsupported))
		return -EMSGSIZE;
	return 0;
}

int srdma_fill_snapshot(struct sk_buff *skb, const struct srdma_dump *d)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_SNAPSHOT);

	if (!nest)
		return -EMSGSIZE;
	if (PUT_U64(skb, SNAPSHOT, GENERATION, d->generation) ||
	    PUT_U64(skb, SNAPSHOT, TIME, d->time) ||
	    PUT_U32(skb, SNAPSHOT, COUNT, d->count))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}
