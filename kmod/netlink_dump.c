// SPDX-License-Identifier: GPL-2.0
/*
 * What all dumps share: cursors, and the message that closes them. A cursor is the
 * id (of a QP: the place) of the next object, not a count of those before it, so
 * what comes and goes between two messages moves nothing else.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "find.h"
#include "netlink_priv.h"

/* QPs visited before others may run: about as long as a message takes to fill. */
#define WALK_BATCH 1024

u32 srdma_refreshed_by(u8 cmd)
{
	switch (cmd) {
	case SWIFTRDMA_CMD_DEV_GET:
		return BIT(SRDMA_REFRESH_DEV) | BIT(SRDMA_REFRESH_MRS);
	case SWIFTRDMA_CMD_PORT_GET:
		return BIT(SRDMA_REFRESH_PORTS);
	case SWIFTRDMA_CMD_UAR_GET:
	case SWIFTRDMA_CMD_QP_GET:
		return BIT(SRDMA_REFRESH_QPS);
	case SWIFTRDMA_CMD_JOB_GET:
		return BIT(SRDMA_REFRESH_QPS) | BIT(SRDMA_REFRESH_MRS);
	default:
		return 0;
	}
}

/* Of the one device that is asked for, or of all. */
static void refresh(struct srdma_dump *d, u8 cmd)
{
	u32 kinds = srdma_refreshed_by(cmd);
	struct srdma_dev *dev;

	if (!kinds)
		return;
	if (!srdma_filter_has(&d->f, SWIFTRDMA_A_DEV_INDEX)) {
		srdma_refresh_all(kinds, d->who.admin);
		return;
	}
	down_read(&srdma_devs_sem);
	dev = xa_load(&srdma_devs, d->f.dev);
	if (dev)
		srdma_dev_get(dev);
	up_read(&srdma_devs_sem);
	if (!dev)
		return;
	srdma_refresh(dev, kinds, d->who.admin);
	srdma_dev_put(dev);
}

/*
 * The sender's context: later messages are made in that of whoever reads them,
 * so what the sender may see is settled here.
 */
int srdma_dump_start(struct netlink_callback *cb)
{
	struct srdma_dump *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	d->who = srdma_reader_of(cb->skb);
	get_pid_ns(d->who.pid_ns);
	*(struct srdma_dump **)cb->ctx = d;
	/*
	 * Fewer and fuller messages than the default of a page or two; still what
	 * netlink itself would use for a reader with a buffer of this size.
	 */
	cb->min_dump_alloc = SKB_WITH_OVERHEAD(32768);
	return 0;
}

int srdma_dump_done(struct netlink_callback *cb)
{
	struct srdma_dump *d = srdma_dump_of(cb);

	put_pid_ns(d->who.pid_ns);
	kfree(d);
	return 0;
}

static int dump_prepare(struct netlink_callback *cb, struct srdma_dump *d, bool admin)
{
	struct nlattr **attrs = srdma_dump_attrs(cb);
	const struct nlmsghdr *nlh = cb->nlh;
	int ret;

	ret = srdma_refuse_twice(nlmsg_attrdata(nlh, GENL_HDRLEN),
				 nlmsg_attrlen(nlh, GENL_HDRLEN), 0, cb->extack);
	if (!ret && admin)
		ret = srdma_need_admin(&d->who, cb->extack);
	if (ret)
		return ret;
	down_read(&srdma_devs_sem);
	ret = srdma_filter_parse(&d->f, attrs, &d->who, cb->extack);
	up_read(&srdma_devs_sem);
	if (ret)
		return ret;
	/* Not sooner: it costs commands, and not everybody may have them sent. */
	if (!attrs[SWIFTRDMA_A_CACHED])
		refresh(d, genl_dumpit_info(cb)->op.cmd);
	/* Not later: what that found belongs to this dump, not to the next. */
	d->generation = atomic64_inc_return(&srdma_generation);
	d->time = ktime_get_ns();
	d->parsed = true;
	return 0;
}

static int dump_close(struct sk_buff *skb, struct netlink_callback *cb,
		      struct srdma_dump *d)
{
	void *hdr = srdma_dump_put(skb, cb, genl_dumpit_info(cb)->op.cmd);

	if (!hdr || srdma_fill_snapshot(skb, d)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	d->closed = true;
	return 0;
}

int srdma_dump_run(struct sk_buff *skb, struct netlink_callback *cb, bool admin,
		   srdma_dump_fn fn)
{
	struct srdma_dump *d = srdma_dump_of(cb);
	int ret = 0;

	if (d->closed)
		return 0;
	if (!d->parsed)
		ret = dump_prepare(cb, d, admin);
	if (ret)
		return ret;
	down_read(&srdma_devs_sem);
	ret = fn(skb, cb, d);
	up_read(&srdma_devs_sem);
	if (!ret)
		ret = dump_close(skb, cb, d);
	/* Full is not an error, unless not even one object fits. */
	return ret == -EMSGSIZE && skb->len ? skb->len : ret;
}

int srdma_dump_devs(struct sk_buff *skb, struct netlink_callback *cb,
		    struct srdma_dump *d, srdma_dump_dev_fn fn)
{
	unsigned long index = d->dev;
	struct srdma_dev *dev;
	int ret;

	lockdep_assert_held(&srdma_devs_sem);
	for (dev = xa_find(&srdma_devs, &index, ULONG_MAX, XA_PRESENT); dev;
	     dev = xa_find_after(&srdma_devs, &index, ULONG_MAX, XA_PRESENT)) {
		if (!srdma_reader_sees(&d->who, dev) ||
		    (srdma_filter_has(&d->f, SWIFTRDMA_A_DEV_INDEX) &&
		     d->f.dev != dev->index))
			continue;
		if (d->dev != index) {
			d->dev = index;
			d->key = 0;
		}
		ret = fn(skb, cb, d, dev);
		if (ret)
			return ret;
		d->dev = index + 1;
		d->key = 0;
	}
	d->dev = ULONG_MAX;
	return 0;
}

/*
 * QPs are not referenced one by one: skipping what has not changed must cost next
 * to nothing.
 */
int srdma_walk_qps(struct srdma_dev *dev, unsigned long *pos, u64 since, u32 *passed,
		   srdma_qp_visit_fn visit, void *arg)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, *pos);
	struct srdma_qp *q;
	int ret = 0, n = 0;

	rcu_read_lock();
	while ((q = srdma_walk_next(&w))) {
		if (atomic64_read(&q->stamp) < since) {
			++*passed;
		} else {
			ret = visit(q, arg);
			if (ret) {
				w.pos--;
				break;
			}
		}
		if (++n % WALK_BATCH)
			continue;
		rcu_read_unlock();
		cond_resched();
		rcu_read_lock();
	}
	rcu_read_unlock();
	*pos = w.pos;
	return ret;
}
