// SPDX-License-Identifier: GPL-2.0
/*
 * DEV_GET, PORT_GET, UAR_GET, QP_GET: one object, or all that the reader sees.
 */
#include <linux/ktime.h>
#include <rdma/ib_verbs.h>

#include "find.h"
#include "mr.h"
#include "netlink_priv.h"

/* QPNs 0 and 1 are the special QPs, one of each on each port (IBA 3.9.1). */
#define LAST_SPECIAL_QPN 1

/**
 * struct get - a do request: its reader, its filters, and its answer
 * @who: the sender
 * @f: what it asks for
 * @dev: the device; every do request names one
 * @skb: the answer
 * @hdr: its header
 */
struct get {
	struct srdma_reader who;
	struct srdma_filter f;
	struct srdma_dev *dev;
	struct sk_buff *skb;
	void *hdr;
};

/* The device that the request names, with a reference. */
static struct srdma_dev *get_dev(struct get *g, struct genl_info *info)
{
	struct srdma_dev *dev;
	int ret;

	down_read(&srdma_devs_sem);
	ret = srdma_filter_parse(&g->f, info->attrs, &g->who, info->extack);
	dev = ret ? ERR_PTR(ret) : srdma_filter_dev(&g->f, info->extack);
	if (!IS_ERR(dev))
		srdma_dev_get(dev);
	up_read(&srdma_devs_sem);
	return dev;
}

/* On success srdma_devs_sem is held until get_end(). */
static int get_begin(struct get *g, struct sk_buff *skb, struct genl_info *info)
{
	const struct nlmsghdr *nlh = info->nlhdr;
	int ret;

	g->who = srdma_reader_of(skb);
	ret = srdma_refuse_twice(nlmsg_attrdata(nlh, GENL_HDRLEN),
				 nlmsg_attrlen(nlh, GENL_HDRLEN), 0, info->extack);
	if (ret)
		return ret;
	g->skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!g->skb)
		return -ENOMEM;
	g->hdr = genlmsg_put_reply(g->skb, info, &srdma_genl_family, 0,
				   info->genlhdr->cmd);
	if (WARN_ON(!g->hdr)) {
		ret = -EMSGSIZE;
		goto err;
	}

	g->dev = get_dev(g, info);
	if (IS_ERR(g->dev)) {
		ret = PTR_ERR(g->dev);
		goto err;
	}
	if (!info->attrs[SWIFTRDMA_A_CACHED])
		srdma_refresh(g->dev, srdma_refreshed_by(info->genlhdr->cmd), g->who.admin);
	down_read(&srdma_devs_sem);
	if (srdma_dev_is_there(g->dev))
		return 0;
	up_read(&srdma_devs_sem);
	srdma_dev_put(g->dev);
	NL_SET_ERR_MSG(info->extack, "the device has just gone");
	ret = -ENODEV;
err:
	nlmsg_free(g->skb);
	return ret;
}

static int get_end(struct get *g, struct genl_info *info, int ret)
{
	up_read(&srdma_devs_sem);
	srdma_dev_put(g->dev);
	if (ret) {
		nlmsg_free(g->skb);
		return ret;
	}
	genlmsg_end(g->skb, g->hdr);
	return genlmsg_reply(g->skb, info);
}

/* DEV_GET */

int srdma_dev_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct get g;
	int ret;

	ret = get_begin(&g, skb, info);
	if (ret)
		return ret;
	return get_end(&g, info, srdma_fill_dev(g.skb, g.dev, ktime_get_ns()));
}

static int dump_dev(struct sk_buff *skb, struct netlink_callback *cb,
		    struct srdma_dump *d, struct srdma_dev *dev)
{
	void *hdr = srdma_dump_put(skb, cb, SWIFTRDMA_CMD_DEV_GET);

	if (!hdr || srdma_fill_dev(skb, dev, ktime_get_ns())) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	d->count++;
	return 0;
}

static int dump_all_devs(struct sk_buff *skb, struct netlink_callback *cb,
			 struct srdma_dump *d)
{
	return srdma_dump_devs(skb, cb, d, dump_dev);
}

int srdma_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return srdma_dump_run(skb, cb, false, dump_all_devs);
}

/* PORT_GET */

int srdma_port_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct srdma_port_stat st;
	struct get g;
	int ret;

	ret = get_begin(&g, skb, info);
	if (ret)
		return ret;
	if (!srdma_filter_has(&g.f, SWIFTRDMA_A_PORT)) {
		NL_SET_ERR_MSG(info->extack, "which port? PORT is missing");
		NL_SET_ERR_ATTR_MISS(info->extack, NULL, SWIFTRDMA_A_PORT);
		ret = -EINVAL;
	} else if (!rdma_is_port_valid(g.dev->ibdev, g.f.port)) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SWIFTRDMA_A_PORT],
				    "the device has no such port");
		ret = -ENOENT;
	} else {
		ret = srdma_port_stat(g.dev, g.f.port, &st);
		if (ret == -EAGAIN)
			NL_SET_ERR_MSG(info->extack, "the device has not told of its ports yet");
		else if (ret)
			NL_SET_ERR_MSG(info->extack, "the driver cannot tell the port's state");
		else
			ret = srdma_fill_port(g.skb, g.dev, g.f.port, &st);
	}
	return get_end(&g, info, ret);
}

static int dump_port(struct sk_buff *skb, struct netlink_callback *cb,
		     struct srdma_dump *d, struct srdma_dev *dev, u32 port)
{
	struct srdma_port_stat st;
	void *hdr;

	/* One port that its driver cannot read, or has not yet, must not hide the others. */
	if (srdma_port_stat(dev, port, &st))
		return 0;
	hdr = srdma_dump_put(skb, cb, SWIFTRDMA_CMD_PORT_GET);
	if (!hdr || srdma_fill_port(skb, dev, port, &st)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	d->count++;
	return 0;
}

static int dump_ports(struct sk_buff *skb, struct netlink_callback *cb,
		      struct srdma_dump *d, struct srdma_dev *dev)
{
	u32 port;
	int ret;

	rdma_for_each_port(dev->ibdev, port) {
		if (port < d->key || (srdma_filter_has(&d->f, SWIFTRDMA_A_PORT) &&
				      port != d->f.port))
			continue;
		ret = dump_port(skb, cb, d, dev, port);
		if (ret)
			return ret;
		d->key = port + 1;
	}
	return 0;
}

static int dump_all_ports(struct sk_buff *skb, struct netlink_callback *cb,
			  struct srdma_dump *d)
{
	return srdma_dump_devs(skb, cb, d, dump_ports);
}

int srdma_port_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return srdma_dump_run(skb, cb, false, dump_all_ports);
}

/* UAR_GET */

int srdma_uar_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct srdma_uar *u;
	struct get g;
	int ret;

	ret = get_begin(&g, skb, info);
	if (ret)
		return ret;
	if (!srdma_filter_has(&g.f, SWIFTRDMA_A_UAR)) {
		NL_SET_ERR_MSG(info->extack, "which UAR? UAR is missing");
		NL_SET_ERR_ATTR_MISS(info->extack, NULL, SWIFTRDMA_A_UAR);
		return get_end(&g, info, -EINVAL);
	}
	rcu_read_lock();
	u = xa_load(srdma_dev_uar_table(g.dev), g.f.uar);
	/* Another's looks like none: whether it exists is not the reader's either. */
	if (u && srdma_reader_owns(&g.who, u->owner)) {
		ret = srdma_fill_uar(g.skb, u, &g.who, srdma_counted_at(g.dev));
	} else {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SWIFTRDMA_A_UAR],
				    "no such UAR, or not yours");
		ret = -ENOENT;
	}
	rcu_read_unlock();
	return get_end(&g, info, ret);
}

static int dump_uars(struct sk_buff *skb, struct netlink_callback *cb,
		     struct srdma_dump *d, struct srdma_dev *dev)
{
	struct xarray *uars = srdma_dev_uar_table(dev);
	u64 now = srdma_counted_at(dev);
	struct srdma_uar *u;
	int ret = 0;
	void *hdr;

	rcu_read_lock();
	for (u = xa_find(uars, &d->key, ULONG_MAX, XA_PRESENT); u;
	     u = xa_find_after(uars, &d->key, ULONG_MAX, XA_PRESENT)) {
		if (!srdma_reader_owns(&d->who, u->owner) ||
		    (srdma_filter_has(&d->f, SWIFTRDMA_A_UAR) && u->index != d->f.uar))
			continue;
		hdr = srdma_dump_put(skb, cb, SWIFTRDMA_CMD_UAR_GET);
		if (!hdr || srdma_fill_uar(skb, u, &d->who, now)) {
			genlmsg_cancel(skb, hdr);
			ret = -EMSGSIZE;
			break;
		}
		genlmsg_end(skb, hdr);
		d->count++;
	}
	rcu_read_unlock();
	return ret;
}

static int dump_all_uars(struct sk_buff *skb, struct netlink_callback *cb,
			 struct srdma_dump *d)
{
	return srdma_dump_devs(skb, cb, d, dump_uars);
}

int srdma_uar_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return srdma_dump_run(skb, cb, false, dump_all_uars);
}

/* QP_GET */

/* Of the filters, those that the walk itself does not look at. */
static bool qp_filtered(const struct srdma_filter *f)
{
	return f->has & ~(BIT(SWIFTRDMA_A_DEV_INDEX) | BIT(SWIFTRDMA_A_SINCE));
}

/* A QP that is held; RCU section. */
static bool qp_matches(const struct srdma_qp *q, const struct srdma_filter *f,
		       const struct srdma_reader *who)
{
	const struct srdma_job_dev *jd;
	const struct srdma_uar *uar;

	if (!who->admin && !srdma_reader_owns(who, q->owner))
		return false;
	if (!qp_filtered(f))
		return true;
	if (srdma_filter_has(f, SWIFTRDMA_A_PORT) && READ_ONCE(q->port) != f->port)
		return false;
	if (srdma_filter_has(f, SWIFTRDMA_A_UAR)) {
		uar = srdma_qp_uar(q);
		if (!uar || uar->index != f->uar)
			return false;
	}
	if (srdma_filter_has(f, SWIFTRDMA_A_QPN) && q->qpn != f->qpn)
		return false;
	if (srdma_filter_has(f, SWIFTRDMA_A_PID) &&
	    pid_nr_ns(q->owner->pid, who->pid_ns) != f->pid)
		return false;
	if (srdma_filter_has(f, SWIFTRDMA_A_JOB)) {
		jd = rcu_dereference(q->job);
		if (!jd || jd->job->id != f->job)
			return false;
	}
	return true;
}

/* What of a do request can only mean something in a dump, or is missing. */
static int qp_do_check(const struct srdma_filter *f, struct genl_info *info)
{
	static const u16 dump_only[] = {
		SWIFTRDMA_A_PID, SWIFTRDMA_A_JOB, SWIFTRDMA_A_SINCE,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(dump_only); i++) {
		if (!info->attrs[dump_only[i]])
			continue;
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[dump_only[i]],
				    "a filter of dumps only");
		return -EINVAL;
	}
	if (!srdma_filter_has(f, SWIFTRDMA_A_QPN)) {
		NL_SET_ERR_MSG(info->extack, "which QP? QPN is missing");
		NL_SET_ERR_ATTR_MISS(info->extack, NULL, SWIFTRDMA_A_QPN);
		return -EINVAL;
	}
	if (f->qpn <= LAST_SPECIAL_QPN && !srdma_filter_has(f, SWIFTRDMA_A_PORT)) {
		NL_SET_ERR_MSG(info->extack, "every port has QPs 0 and 1: PORT is missing");
		NL_SET_ERR_ATTR_MISS(info->extack, NULL, SWIFTRDMA_A_PORT);
		return -EINVAL;
	}
	return 0;
}

int srdma_qp_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	u32 key;
	struct srdma_qp *q;
	struct get g;
	int ret;

	ret = get_begin(&g, skb, info);
	if (ret)
		return ret;
	ret = qp_do_check(&g.f, info);
	if (ret)
		return get_end(&g, info, ret);
	key = g.f.qpn;
	if (g.f.qpn <= LAST_SPECIAL_QPN) {
		key |= (u32)g.f.port << 24;
		g.f.has &= ~BIT(SWIFTRDMA_A_PORT);	/* the key has it */
	}
	q = srdma_qp_get_by_key(g.dev, key);
	rcu_read_lock();
	if (q && qp_matches(q, &g.f, &g.who)) {
		ret = srdma_fill_qp(g.skb, q, &g.who, srdma_counted_at(g.dev));
	} else {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SWIFTRDMA_A_QPN],
				    "no such QP, or not yours");
		ret = -ENOENT;
	}
	rcu_read_unlock();
	if (q)
		srdma_qp_put(q);
	return get_end(&g, info, ret);
}

struct qp_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct srdma_dump *d;
	u64 now;
};

static int dump_qp(struct srdma_qp *q, void *arg)
{
	struct qp_dump *qd = arg;
	struct srdma_dump *d = qd->d;
	/* Without SINCE this is 0, and no stamp is less. */
	bool changed = atomic64_read(&q->stamp) >= d->f.since;
	int ret = 0;
	void *hdr;

	if (!srdma_qp_hold(q))
		return 0;
	if (!qp_matches(q, &d->f, &d->who))
		goto out;
	if (changed) {
		hdr = srdma_dump_put(qd->skb, qd->cb, SWIFTRDMA_CMD_QP_GET);
		if (!hdr || srdma_fill_qp(qd->skb, q, &d->who, qd->now)) {
			genlmsg_cancel(qd->skb, hdr);
			ret = -EMSGSIZE;
			goto out;
		}
		genlmsg_end(qd->skb, hdr);
	}
	d->count++;
out:
	srdma_qp_put(q);
	return ret;
}

static int dump_qps(struct sk_buff *skb, struct netlink_callback *cb,
		    struct srdma_dump *d, struct srdma_dev *dev)
{
	struct qp_dump qd = {
		.skb = skb,
		.cb = cb,
		.d = d,
		.now = srdma_counted_at(dev),
	};
	u64 since = 0;

	/* Where every QP is in the dump's set, those that did not change are only counted. */
	if (d->who.admin && !qp_filtered(&d->f))
		since = d->f.since;
	return srdma_walk_qps(dev, &d->key, since, &d->count, dump_qp, &qd);
}

static int dump_all_qps(struct sk_buff *skb, struct netlink_callback *cb,
			struct srdma_dump *d)
{
	return srdma_dump_devs(skb, cb, d, dump_qps);
}

int srdma_qp_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return srdma_dump_run(skb, cb, false, dump_all_qps);
}
