// SPDX-License-Identifier: GPL-2.0
/*
 * What all dumps share: cursors, and the message that ends them. A cursor is the id of the
 * next object (of a QP, its place in the table), not a count of the objects before it, so
 * an object that comes or goes between two messages does not move the others.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "find.h"
#include "netlink_priv.h"

/* QPs visited before others may run: about as long as a message takes to fill. */
#define WALK_BATCH 1024

static const struct srdma_get *get_of(struct netlink_callback *cb)
{
	return &srdma_gets[genl_dumpit_info(cb)->op.cmd];
}

/* Bring the device that the filter names, or all devices, up to date. */
static void refresh_devs(struct srdma_dump *d, u32 kinds)
{
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
 * Runs in the context of the request's sender. Later messages are filled in the context of
 * the process that reads the socket, so the sender's permissions are recorded here.
 */
int srdma_dump_start(struct netlink_callback *cb)
{
	struct srdma_dump *d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);

	if (!d)
		return -ENOMEM;
	d->who = srdma_reader_of(cb->skb);
	get_pid_ns(d->who.pid_ns);
	*(struct srdma_dump **)cb->ctx = d;
	/* Netlink's own limit for large readers; its default is a page or two. */
	cb->min_dump_alloc = SKB_WITH_OVERHEAD(32768);
	return 0;
}

int srdma_dump_done(struct netlink_callback *cb)
{
	struct srdma_dump *d = *(struct srdma_dump **)cb->ctx;

	put_pid_ns(d->who.pid_ns);
	kfree(d);
	return 0;
}

static int prepare_dump(struct netlink_callback *cb, struct srdma_dump *d)
{
	struct nlattr **attrs = srdma_dump_attrs(cb);
	const struct srdma_get *get = get_of(cb);
	int ret;

	ret = srdma_refuse_twice(cb->nlh, 0, cb->extack);
	if (!ret && get->admin)
		ret = srdma_need_admin(&d->who, cb->extack);
	if (ret)
		return ret;
	down_read(&srdma_devs_sem);
	ret = srdma_filter_parse(&d->f, attrs, &d->who, cb->extack);
	up_read(&srdma_devs_sem);
	if (ret)
		return ret;
	/* After the checks: a refresh sends commands, and not every reader may cause them. */
	if (!attrs[SWIFTRDMA_A_CACHED]) {
		refresh_devs(d, srdma_get_kinds(get, attrs));
		if (get->collect)
			get->collect(&d->who);
	}
	/* After the refresh, so that changes that it found are in this dump, not in the next. */
	d->generation = atomic64_inc_return(&srdma_generation);
	d->time = ktime_get_ns();
	d->parsed = true;
	return 0;
}

void srdma_dump_msg(struct srdma_msg *m, struct srdma_dump *d)
{
	srdma_msg_begin(m, d->skb, NETLINK_CB(d->cb->skb).portid, d->cb->nlh->nlmsg_seq,
			NLM_F_MULTI, genl_dumpit_info(d->cb)->op.cmd);
}

int srdma_dump_msg_end(struct srdma_msg *m, struct srdma_dump *d)
{
	int ret = srdma_msg_end(m);

	d->count += !ret;
	return ret;
}

static int close_dump(struct srdma_dump *d)
{
	struct srdma_msg m;
	int ret;

	srdma_dump_msg(&m, d);
	srdma_fill_snapshot(&m, d);
	ret = srdma_msg_end(&m);
	d->closed = !ret;
	return ret;
}

int srdma_dump_run(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct srdma_dump *d = *(struct srdma_dump **)cb->ctx;
	const struct srdma_get *get = get_of(cb);
	int ret = 0;

	if (d->closed)
		return 0;
	d->skb = skb;
	d->cb = cb;
	if (!d->parsed)
		ret = prepare_dump(cb, d);
	if (ret)
		return ret;
	down_read(&srdma_devs_sem);
	ret = get->dump ? get->dump(d) : srdma_dump_devs(d, get->dump_dev);
	up_read(&srdma_devs_sem);
	if (!ret)
		ret = close_dump(d);
	/* A full message is no error, unless it has no object. */
	return ret == -EMSGSIZE && skb->len ? skb->len : ret;
}

int srdma_dump_devs(struct srdma_dump *d, srdma_dump_dev_fn fn)
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
		if (d->dev != index)
			srdma_dump_seek(d, 0);
		d->dev = index;
		ret = fn(d, dev);
		if (ret)
			return ret;
		d->dev = index + 1;
		srdma_dump_seek(d, 0);
	}
	d->dev = ULONG_MAX;
	return 0;
}

/* Takes no reference on each QP: passing one that did not change takes few instructions. */
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
