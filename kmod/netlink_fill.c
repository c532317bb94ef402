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

static int put_owner(struct sk_buff *skb, int type, const struct srdma_owner *o,
		     const struct srdma_reader *who)
{
	struct nlattr *nest = nla_nest_start(skb, type);

	if (!nest)
		return -EMSGSIZE;
	if (srdma_owner_is_kernel(o)) {
		if (nla_put_string(skb, SWIFTRDMA_OWNER_A_KERNEL, o->exe))
			return -EMSGSIZE;
		goto out;
	}
	if (PUT_U32(skb, OWNER, PID, pid_nr_ns(o->pid, who->pid_ns)) ||
	    PUT_U32(skb, OWNER, UID, from_kuid(&init_user_ns, o->uid)) ||
	    nla_put_string(skb, SWIFTRDMA_OWNER_A_COMM, o->comm))
		return -EMSGSIZE;
	if (o->exe[0] && nla_put_string(skb, SWIFTRDMA_OWNER_A_EXE, o->exe))
		return -EMSGSIZE;
	if (o->cgroup[0] && nla_put_string(skb, SWIFTRDMA_OWNER_A_CGROUP, o->cgroup))
		return -EMSGSIZE;
	if (o->cgroup_id && PUT_U64(skb, OWNER, CGROUP_ID, o->cgroup_id))
		return -EMSGSIZE;
out:
	nla_nest_end(skb, nest);
	return 0;
}

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
	if (u->owner && put_owner(skb, SWIFTRDMA_UAR_A_OWNER, u->owner, who))
		return -EMSGSIZE;
	if (PUT_U64(skb, UAR, SINCE, u->since) || PUT_U64(skb, UAR, TIME, now))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* What was asked for at creation; of an adopted QP it may not be known. */
static int put_caps(struct sk_buff *skb, const struct srdma_qp *q)
{
	if (q->type != IB_QPT_XRC_TGT && PUT_U32(skb, QP, SEND_CQ, q->send_cq))
		return -EMSGSIZE;
	if (q->type != IB_QPT_XRC_TGT && q->type != IB_QPT_XRC_INI &&
	    PUT_U32(skb, QP, RECV_CQ, q->recv_cq))
		return -EMSGSIZE;
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags) && !q->max_send_wr && !q->max_recv_wr)
		return 0;
	if (PUT_U32(skb, QP, MAX_SEND_WR, q->max_send_wr) ||
	    PUT_U32(skb, QP, MAX_RECV_WR, q->max_recv_wr) ||
	    PUT_U32(skb, QP, MAX_SEND_SGE, q->max_send_sge) ||
	    PUT_U32(skb, QP, MAX_RECV_SGE, q->max_recv_sge) ||
	    PUT_U32(skb, QP, MAX_INLINE, q->max_inline))
		return -EMSGSIZE;
	return 0;
}

static int put_counts(struct sk_buff *skb, const struct srdma_qp *q)
{
	const struct srdma_dev *dev = q->dev;
	u32 caps = dev->provider->caps;

	/* A kernel user posts through ops.post_send even where libraries do not. */
	if (dev->wrapped_post_send && !test_bit(SRDMA_QP_USER, &q->flags))
		caps |= SWIFTRDMA_DEV_CAP_DOORBELLS | SWIFTRDMA_DEV_CAP_WRS;
	if (caps & SWIFTRDMA_DEV_CAP_DOORBELLS &&
	    PUT_U64(skb, QP, DOORBELLS, atomic64_read(&q->doorbells)))
		return -EMSGSIZE;
	if (caps & SWIFTRDMA_DEV_CAP_WRS &&
	    PUT_U64(skb, QP, WRS, atomic64_read(&q->wrs)))
		return -EMSGSIZE;
	return 0;
}

static int put_class(struct sk_buff *skb, const struct srdma_qp *q)
{
	int level = srdma_qp_level(q);
	s16 err = READ_ONCE(q->class_error);

	if (level >= 0 && PUT_U32(skb, QP, LEVEL, level))
		return -EMSGSIZE;
	if (test_bit(SRDMA_QP_HAS_AV, &q->flags)) {
		if (PUT_U32(skb, QP, TCLASS_ASKED, READ_ONCE(q->tclass_asked)) ||
		    PUT_U32(skb, QP, TCLASS, READ_ONCE(q->tclass)) ||
		    PUT_U32(skb, QP, SL_ASKED, READ_ONCE(q->sl_asked)) ||
		    PUT_U32(skb, QP, SL, READ_ONCE(q->sl)) ||
		    PUT_U32(skb, QP, DEST_QPN, READ_ONCE(q->dest_qpn)))
			return -EMSGSIZE;
	}
	if (test_bit(SRDMA_QP_HAS_AV, &q->flags) && test_bit(SRDMA_QP_GRH, &q->flags) &&
	    nla_put(skb, SWIFTRDMA_QP_A_DGID, sizeof(q->dgid), q->dgid))
		return -EMSGSIZE;
	if (srdma_qp_class_pending(q) &&
	    nla_put_flag(skb, SWIFTRDMA_QP_A_CLASS_PENDING))
		return -EMSGSIZE;
	if (err && nla_put_s32(skb, SWIFTRDMA_QP_A_CLASS_ERROR, err))
		return -EMSGSIZE;
	return 0;
}

int srdma_fill_qp(struct sk_buff *skb, const struct srdma_qp *q,
		  const struct srdma_reader *who, u64 now)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_QP);
	const struct srdma_job_dev *jd;
	int ret = -EMSGSIZE;
	u8 port;

	if (!nest)
		return -EMSGSIZE;
	rcu_read_lock();
	jd = rcu_dereference(q->job);
	port = READ_ONCE(q->port);
	if (PUT_U32(skb, QP, DEV_INDEX, q->dev->index) ||
	    PUT_U32(skb, QP, QPN, q->qpn) ||
	    PUT_U64(skb, QP, SERIAL, q->serial) ||
	    PUT_U32(skb, QP, TYPE, q->type) ||
	    (test_bit(SRDMA_QP_HAS_STATE, &q->flags) &&
	     PUT_U32(skb, QP, STATE, READ_ONCE(q->state))) ||
	    (port && PUT_U32(skb, QP, PORT, port)) ||
	    (q->uar && PUT_U32(skb, QP, UAR, q->uar->index)) ||
	    (jd && PUT_U32(skb, QP, JOB, jd->job->id)) ||
	    put_owner(skb, SWIFTRDMA_QP_A_OWNER, q->owner, who))
		goto out;
	/* The thread's id is not kept in a form that other namespaces could read. */
	if (q->tid && who->pid_ns == &init_pid_ns && PUT_U32(skb, QP, TID, q->tid))
		goto out;
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags) &&
	    nla_put_flag(skb, SWIFTRDMA_QP_A_ADOPTED))
		goto out;
	if (put_caps(skb, q) || put_counts(skb, q) || put_class(skb, q) ||
	    PUT_U64(skb, QP, SINCE, q->since) || PUT_U64(skb, QP, TIME, now))
		goto out;
	nla_nest_end(skb, nest);
	ret = 0;
out:
	rcu_read_unlock();
	return ret;
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
