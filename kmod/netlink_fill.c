// SPDX-License-Identifier: GPL-2.0
/*
 * Objects as nests of attributes. What is not known is left out; a nest that
 * does not fit is left out as a whole by the caller, who cancels the message.
 */
#include <linux/cred.h>
#include <rdma/ib_verbs.h>

#include "debug.h"
#include "job.h"
#include "mr.h"
#include "netlink_priv.h"

/* Shorthand of this file: what it does not say is the same every time. */
#define PUT_U64(skb, obj, name, value)						\
	nla_put_u64_64bit(skb, SWIFTRDMA_##obj##_A_##name, value,		\
			  SWIFTRDMA_##obj##_A_PAD)
#define PUT_U32(skb, obj, name, value)						\
	nla_put_u32(skb, SWIFTRDMA_##obj##_A_##name, value)

static int put_limits(struct sk_buff *skb, const struct ib_device_attr *attr)
{
	if (PUT_U32(skb, DEV, QP_LIMIT, attr->max_qp) ||
	    PUT_U32(skb, DEV, CQ_LIMIT, attr->max_cq) ||
	    PUT_U32(skb, DEV, MR_LIMIT, attr->max_mr))
		return -EMSGSIZE;
	return 0;
}

/* Those that are not users', or older than the hook, are among the unknown. */
static int put_mrs(struct sk_buff *skb, struct srdma_dev *dev)
{
	struct srdma_mr_sum sum;
	u64 smallest, largest;
	u32 mrs;

	srdma_mr_sum(dev, NULL, &sum);
	mrs = srdma_dev_mrs(dev);
	if (PUT_U32(skb, DEV, MRS, mrs) ||
	    PUT_U32(skb, DEV, MRS_UNKNOWN, mrs > sum.n ? mrs - sum.n : 0) ||
	    PUT_U64(skb, DEV, MR_BYTES, sum.bytes))
		return -EMSGSIZE;
	if (srdma_mr_askable(dev) && (PUT_U64(skb, DEV, MTTS, sum.mtts) ||
				      PUT_U32(skb, DEV, MTTS_UNKNOWN, sum.unasked)))
		return -EMSGSIZE;
	if (srdma_mr_pages(&sum, &smallest, &largest) &&
	    (PUT_U64(skb, DEV, MR_PAGE_MIN, smallest) ||
	     PUT_U64(skb, DEV, MR_PAGE_MAX, largest)))
		return -EMSGSIZE;
	return 0;
}

static int put_dev_stat(struct sk_buff *skb, const struct srdma_dev_stat *st)
{
	if ((st->uar_limit && PUT_U32(skb, DEV, UAR_LIMIT, st->uar_limit)) ||
	    PUT_U64(skb, DEV, COMMANDS, st->commands) ||
	    PUT_U64(skb, DEV, COMMAND_TIME, st->command_ns))
		return -EMSGSIZE;
	if (st->sampled &&
	    (PUT_U64(skb, DEV, SWEEPS, st->sweeps) ||
	     PUT_U64(skb, DEV, SWEEP_TIME, st->sweep_ns) ||
	     PUT_U64(skb, DEV, SWEEP_GAP, st->gap_ns) ||
	     PUT_U32(skb, DEV, RECORDS, st->records) ||
	     PUT_U32(skb, DEV, HELD_PAGES, st->pages)))
		return -EMSGSIZE;
	if (st->congestion && PUT_U64(skb, DEV, CONGESTIONS, st->congestions))
		return -EMSGSIZE;
	if (st->congestion && st->congested_at &&
	    (PUT_U32(skb, DEV, CONGESTION_LEVEL, st->congestion_level) ||
	     PUT_U64(skb, DEV, CONGESTED_AT, st->congested_at)))
		return -EMSGSIZE;
	if ((st->mtt || st->stall || st->qpc) && PUT_U64(skb, DEV, DIAG_TIME, st->diag_at))
		return -EMSGSIZE;
	if (st->mtt && (PUT_U64(skb, DEV, MTT_HITS, st->mtt_hits) ||
			PUT_U64(skb, DEV, MTT_MISSES, st->mtt_misses)))
		return -EMSGSIZE;
	if (st->stall && PUT_U64(skb, DEV, READ_STALL, st->read_stall))
		return -EMSGSIZE;
	if (st->qpc && (PUT_U64(skb, DEV, QPC_HITS, st->qpc_hits) ||
			PUT_U64(skb, DEV, QPC_MISSES, st->qpc_misses)))
		return -EMSGSIZE;
	if (st->pcie &&
	    (PUT_U64(skb, DEV, PCIE_TIME, st->pcie_at) ||
	     PUT_U32(skb, DEV, PCIE_STALLED_READS, st->stalled_reads) ||
	     PUT_U32(skb, DEV, PCIE_STALLED_WRITES, st->stalled_writes) ||
	     PUT_U64(skb, DEV, PCIE_STALLED_READ_SECONDS, st->stalled_read_s) ||
	     PUT_U64(skb, DEV, PCIE_STALLED_WRITE_SECONDS, st->stalled_write_s)))
		return -EMSGSIZE;
	if (st->devx &&
	    (PUT_U32(skb, DEV, DEVX_QPS, st->devx_qps) ||
	     PUT_U64(skb, DEV, DEVX_CREATED, st->devx_created) ||
	     PUT_U64(skb, DEV, DEVX_MISSED, st->devx_missed)))
		return -EMSGSIZE;
	return 0;
}

int srdma_fill_dev(struct sk_buff *skb, struct srdma_dev *dev, u64 now)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_DEV);
	struct srdma_dev_stat st = {};
	u32 uars;

	if (!nest)
		return -EMSGSIZE;
	uars = srdma_dev_uars(dev);
	if (PUT_U32(skb, DEV, INDEX, dev->index) ||
	    nla_put_string(skb, SWIFTRDMA_DEV_A_NAME, dev->name) ||
	    nla_put_string(skb, SWIFTRDMA_DEV_A_PROVIDER, ops->name) ||
	    PUT_U32(skb, DEV, CAPS, dev->caps) ||
	    PUT_U32(skb, DEV, PORTS, dev->ibdev->phys_port_cnt) ||
	    PUT_U32(skb, DEV, QPS, atomic_read(&dev->n_qps)) ||
	    PUT_U32(skb, DEV, UARS, uars) ||
	    PUT_U32(skb, DEV, CQS, srdma_dev_cqs(dev)) ||
	    put_mrs(skb, dev) ||
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
	    PUT_U64(skb, DEV, TIME, now) ||
	    put_limits(skb, &dev->ibdev->attrs))
		return -EMSGSIZE;
	if (dev->function && PUT_U32(skb, DEV, FUNCTION, dev->function))
		return -EMSGSIZE;
	if (ops->dev_stat) {
		srdma_delay(SRDMA_DELAY_STAT);
		ops->dev_stat(dev, &st);
		if (put_dev_stat(skb, &st))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int put_prio(struct sk_buff *skb, u32 index, const struct srdma_prio_stat *st)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_PORT_A_PRIO);

	if (!nest || PUT_U32(skb, PRIO, INDEX, index) ||
	    PUT_U64(skb, PRIO, TX_BYTES, st->tx_bytes) ||
	    PUT_U64(skb, PRIO, RX_BYTES, st->rx_bytes) ||
	    PUT_U64(skb, PRIO, TX_PACKETS, st->tx_packets) ||
	    PUT_U64(skb, PRIO, RX_PACKETS, st->rx_packets) ||
	    PUT_U64(skb, PRIO, TX_PAUSES, st->tx_pauses) ||
	    PUT_U64(skb, PRIO, RX_PAUSES, st->rx_pauses) ||
	    PUT_U64(skb, PRIO, TX_PAUSE_TIME, st->tx_pause_ns) ||
	    PUT_U64(skb, PRIO, RX_PAUSE_TIME, st->rx_pause_ns))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_port_detail(struct sk_buff *skb, const struct srdma_port_stat *st)
{
	u32 prio;

	if (!st->has_cnp && !st->has_prios)
		return 0;
	if (PUT_U64(skb, PORT, DETAIL_TIME, st->detail_at))
		return -EMSGSIZE;
	if (st->has_cnp &&
	    (PUT_U64(skb, PORT, ECN_MARKED, st->ecn_marked) ||
	     PUT_U64(skb, PORT, CNP_SENT, st->cnp_sent) ||
	     PUT_U64(skb, PORT, CNP_HANDLED, st->cnp_handled)))
		return -EMSGSIZE;
	for (prio = 0; st->has_prios && prio < SRDMA_PRIOS; prio++)
		if (put_prio(skb, prio, &st->prio[prio]))
			return -EMSGSIZE;
	return 0;
}

int srdma_fill_port(struct sk_buff *skb, const struct srdma_dev *dev, u32 port,
		    const struct srdma_port_stat *st)
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
	if (st->has_netdev && nla_put_string(skb, SWIFTRDMA_PORT_A_NETDEV, st->netdev))
		return -EMSGSIZE;
	if (st->has_bytes &&
	    (PUT_U64(skb, PORT, TX_BYTES, st->tx_bytes) ||
	     PUT_U64(skb, PORT, RX_BYTES, st->rx_bytes) ||
	     PUT_U64(skb, PORT, TX_PACKETS, st->tx_packets) ||
	     PUT_U64(skb, PORT, RX_PACKETS, st->rx_packets)))
		return -EMSGSIZE;
	if (PUT_U64(skb, PORT, TIME, st->at) || put_port_detail(skb, st))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_uar_page(struct sk_buff *skb, const struct srdma_uar *u)
{
	const struct srdma_uar *ctx = u->context;
	const struct srdma_dev *dev = u->dev;
	u32 limit = READ_ONCE(ctx->limit);

	if (PUT_U32(skb, UAR, OWNERS, READ_ONCE(u->n_owners)) ||
	    PUT_U32(skb, UAR, THREADS, READ_ONCE(u->n_members)))
		return -EMSGSIZE;
	if (dev->caps & SWIFTRDMA_DEV_CAP_WRS &&
	    (PUT_U64(skb, UAR, SWEEPS, atomic64_read(&dev->sweeps) - u->sweeps0) ||
	     PUT_U64(skb, UAR, ACTIVE, READ_ONCE(u->active)) ||
	     PUT_U64(skb, UAR, COACTIVE, READ_ONCE(u->coactive))))
		return -EMSGSIZE;
	if (ctx->kind == SWIFTRDMA_UAR_KIND_CONTEXT &&
	    (PUT_U32(skb, UAR, CONTEXT_UARS, READ_ONCE(ctx->n_pages)) ||
	     (limit && PUT_U32(skb, UAR, CONTEXT_LIMIT, limit))))
		return -EMSGSIZE;
	return 0;
}

static int fill_uar(struct sk_buff *skb, const struct srdma_uar *u,
		    const struct srdma_reader *who, u64 now, const u64 *recent)
{
	const struct srdma_dev *dev = u->dev;
	const struct srdma_uar *context = u->context ? u->context : u;
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_UAR_OBJ);
	bool kernel = u->kind == SWIFTRDMA_UAR_KIND_KERNEL && dev->wrapped_post_send;

	if (!nest)
		return -EMSGSIZE;
	if (PUT_U32(skb, UAR, DEV_INDEX, dev->index) ||
	    PUT_U32(skb, UAR, INDEX, u->index) ||
	    PUT_U32(skb, UAR, KIND, srdma_uar_kind(u)) ||
	    PUT_U32(skb, UAR, QPS, atomic_read(&u->n_qps)) ||
	    PUT_U64(skb, UAR, CREATED, atomic64_read(&u->created)))
		return -EMSGSIZE;
	if ((kernel || dev->caps & SWIFTRDMA_DEV_CAP_DOORBELLS) &&
	    PUT_U64(skb, UAR, DOORBELLS, atomic64_read(&u->doorbells)))
		return -EMSGSIZE;
	if ((kernel || dev->caps & SWIFTRDMA_DEV_CAP_WRS) &&
	    PUT_U64(skb, UAR, WRS, atomic64_read(&u->wrs)))
		return -EMSGSIZE;
	if (u->owner && srdma_put_owner(skb, SWIFTRDMA_UAR_A_OWNER, u->owner, who))
		return -EMSGSIZE;
	if (PUT_U64(skb, UAR, SINCE, u->since) || PUT_U64(skb, UAR, TIME, now))
		return -EMSGSIZE;
	if (u->context && put_uar_page(skb, u))
		return -EMSGSIZE;
	if (recent && PUT_U64(skb, UAR, RECENT_WRS, *recent))
		return -EMSGSIZE;
	if (context->kind == SWIFTRDMA_UAR_KIND_CONTEXT &&
	    PUT_U32(skb, UAR, CONTEXT, context->index))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

int srdma_fill_uar(struct sk_buff *skb, const struct srdma_uar *u,
		   const struct srdma_reader *who, u64 now)
{
	return fill_uar(skb, u, who, now, NULL);
}

int srdma_fill_busy(struct sk_buff *skb, const struct srdma_busy *b,
		    const struct srdma_reader *who, u64 now)
{
	return fill_uar(skb, b->uar, who, now, &b->recent);
}

int srdma_fill_tally(struct sk_buff *skb, const struct srdma_tally *t)
{
	const u32 *n = t->n;
	u32 all = 0;
	int i;

	for (i = 0; i < SRDMA_STANDINGS; i++)
		all += n[i];
	if (nla_put_s32(skb, SWIFTRDMA_ACTION_A_ERROR, t->error) ||
	    PUT_U32(skb, ACTION, QPS, all) ||
	    PUT_U32(skb, ACTION, QPS_DONE, n[SRDMA_DONE]) ||
	    PUT_U32(skb, ACTION, QPS_PENDING, n[SRDMA_PENDING]) ||
	    PUT_U32(skb, ACTION, QPS_UNSUPPORTED, n[SRDMA_CANNOT]) ||
	    PUT_U32(skb, ACTION, QPS_UNCONNECTED, n[SRDMA_UNCONNECTED]) ||
	    PUT_U32(skb, ACTION, QPS_UNKNOWN, n[SRDMA_UNKNOWN]))
		return -EMSGSIZE;
	if (t->error == -EREMOTEIO && PUT_U32(skb, ACTION, SYNDROME, t->syndrome))
		return -EMSGSIZE;
	return 0;
}

int srdma_fill_decision(struct sk_buff *skb, const struct srdma_decision *d)
{
	if (!d)
		return 0;
	return nla_put(skb, SWIFTRDMA_ACTION_A_DECISION | NLA_F_NESTED, d->len, d->attrs);
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
