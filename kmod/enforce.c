// SPDX-License-Identifier: GPL-2.0
/*
 * What lease.c says is in force, made true on the QPs: in the modify wrapper when
 * a QP is connected, and by one work item on those that are connected already.
 *
 * Desired state: a QP is compared with what it should have, never with what was
 * done to it, so raising, lowering and giving back are the same thing, and an
 * attempt that failed is simply still to do.
 *
 * The work holds no lock that an application or a netlink request waits for,
 * except that of the QPs it is changing; and whoever waits for one of those is
 * seen (SRDMA_QP_WANTED) and let go first.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "debug.h"
#include "enforce.h"
#include "hook.h"
#include "netlink.h"
#include "trace.h"

/*
 * A drain ends after about one queueing delay: 0.6 to 25 ms were measured on a
 * port of 20 Mbit/s with 128 KB queued. Four times that is a bound that only a
 * QP that is stuck should meet.
 */
static uint drain_ms = 100;

static int drain_ms_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, 1000);
}

static const struct kernel_param_ops drain_ms_ops = {
	.set = drain_ms_set,
	.get = param_get_uint,
};

module_param_cb(drain_ms, &drain_ms_ops, &drain_ms, 0644);
MODULE_PARM_DESC(drain_ms, "longest pause of a QP whose class is changed, 1 to 1000 ms (100)");

/* QPs changed side by side: each pauses while it drains, not while others do. */
#define ROUND 64

#define RETRY_FIRST_MS	200	/* doubled each time: a stuck QP pauses ever less */
#define RETRY_LAST_MS	3200
#define RETRY_WANTED_MS	10	/* the application only wanted to pass */
#define FAR		(3600 * HZ)	/* nothing waits for so long */

static struct workqueue_struct *wq;
static void enforce_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(work, enforce_work);

/* Batches whose results are to be told; batches_lock, taken inside nothing. */
static LIST_HEAD(batches);
static DEFINE_SPINLOCK(batches_lock);

/* Set while everything is given back: then no retry waits for its time. */
static bool hurry;

/* Jiffies by which the work is to run again; the work's own. */
static unsigned long next_run;

static void run_by(unsigned long when)
{
	if (time_before(when, next_run))
		next_run = when;
}

/* What a QP should have */

bool srdma_qp_desired(const struct srdma_qp *q, struct srdma_class *c)
{
	int level = srdma_qp_level(q);
	struct srdma_level l;

	if (level < 0 || READ_ONCE(q->dev->giving_back)) {
		c->tclass = q->tclass_asked;
		c->sl = q->sl_asked;
		return false;
	}
	l = srdma_level_get(level);
	/* Without a GRH there is no traffic class, and on some links no service level. */
	c->tclass = test_bit(SRDMA_QP_GRH, &q->flags) ? l.dscp << 2 | (q->tclass_asked & 3) : 0;
	c->sl = test_bit(SRDMA_QP_OWN_SL, &q->flags) ? q->sl_asked : l.sl;
	return true;
}

static bool has_class(const struct srdma_qp *q)
{
	if (!test_bit(SRDMA_QP_HAS_AV, &q->flags) || test_bit(SRDMA_QP_DEAD, &q->flags))
		return false;
	return q->state == IB_QPS_RTR || q->state == IB_QPS_RTS || q->state == IB_QPS_SQD ||
	       q->state == IB_QPS_SQE;
}

bool srdma_qp_class_pending(const struct srdma_qp *q)
{
	struct srdma_class c;
	bool pending;

	if (!has_class(q))
		return false;
	rcu_read_lock();
	srdma_qp_desired(q, &c);
	pending = c.tclass != q->tclass || c.sl != q->sl;
	rcu_read_unlock();
	return pending;
}

const char *srdma_class_error_text(int err)
{
	switch (err) {
	case 0:
		return "not tried yet";
	case -EOPNOTSUPP:
		return "the class of such a QP is set when it is connected, not later";
	case -ETIMEDOUT:
		return "the send queue did not drain in time: does the peer post receives?";
	case -EBUSY:
		return "the QP is not in RTS";
	case -EINTR:
		return "the application was modifying or destroying the QP";
	case -ENOTCONN:
		return "the QP is not connected any more";
	default:
		return "the driver refused the new address vector";
	}
}

/* In the modify wrapper */

/* What could not be changed live is not changed when the QP connects either. */
static bool own_sl(const struct srdma_qp *q, const struct rdma_ah_attr *ah)
{
	return ah->type == RDMA_AH_ATTR_TYPE_ROCE && READ_ONCE(q->dev->provider)->roce_tclass_only;
}

static void remember_av(struct srdma_qp *q, const struct rdma_ah_attr *ah)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);

	q->sl_asked = rdma_ah_get_sl(ah);
	q->tclass_asked = 0;
	clear_bit(SRDMA_QP_GRH, &q->flags);
	if (rdma_ah_get_ah_flags(ah) & IB_AH_GRH) {
		q->tclass_asked = grh->traffic_class;
		q->flow_label = grh->flow_label;
		q->sgid_index = grh->sgid_index;
		q->hop_limit = grh->hop_limit;
		memcpy(q->dgid, grh->dgid.raw, sizeof(q->dgid));
		set_bit(SRDMA_QP_GRH, &q->flags);
	}
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE)
		memcpy(q->dmac, ah->roce.dmac, sizeof(q->dmac));
	assign_bit(SRDMA_QP_OWN_SL, &q->flags, own_sl(q, ah));
	set_bit(SRDMA_QP_HAS_AV, &q->flags);
}

static void set_class(struct rdma_ah_attr *ah, const struct srdma_class *c)
{
	rdma_ah_set_sl(ah, c->sl);
	if (rdma_ah_get_ah_flags(ah) & IB_AH_GRH)
		ah->grh.traffic_class = c->tclass;
}

struct ib_qp_attr *srdma_enforce_modify(struct srdma_qp *q, struct ib_qp_attr *attr,
					int mask)
{
	struct ib_qp_attr *forced;
	struct srdma_level l;
	struct srdma_class c;
	int level;

	/* The event of its drain may come before the driver returns. */
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_SQD)
		set_bit(SRDMA_QP_APP_SQD, &q->flags);
	if (!(mask & IB_QP_AV))
		return attr;
	rcu_read_lock();
	level = srdma_qp_level(q);
	rcu_read_unlock();
	if (level < 0 || READ_ONCE(q->dev->giving_back))
		return attr;
	/* Without memory it stays to be done by the work. */
	forced = kmemdup(attr, sizeof(*attr), GFP_KERNEL);
	if (!forced)
		return attr;
	l = srdma_level_get(level);
	c.tclass = l.dscp << 2;
	if (rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH)
		c.tclass |= attr->ah_attr.grh.traffic_class & 3;
	c.sl = own_sl(q, &attr->ah_attr) ? rdma_ah_get_sl(&attr->ah_attr) : l.sl;
	set_class(&forced->ah_attr, &c);
	return forced;
}

static void remember_class(struct srdma_qp *q, const struct rdma_ah_attr *ah)
{
	q->sl = rdma_ah_get_sl(ah);
	q->tclass = rdma_ah_get_ah_flags(ah) & IB_AH_GRH ? ah->grh.traffic_class : 0;
}

void srdma_enforce_refused(struct srdma_qp *q)
{
	assign_bit(SRDMA_QP_APP_SQD, &q->flags, q->state == IB_QPS_SQD);
}

void srdma_enforce_modified(struct srdma_qp *q, const struct ib_qp_attr *asked,
			    const struct ib_qp_attr *used, int mask)
{
	bool look;

	if (mask & IB_QP_PORT)
		q->port = asked->port_num;
	if (mask & IB_QP_DEST_QPN)
		q->dest_qpn = asked->dest_qp_num;
	if (mask & IB_QP_AV) {
		remember_av(q, &asked->ah_attr);
		remember_class(q, &used->ah_attr);
	}
	/*
	 * Otherwise its class is as right or wrong as before; and while it is held,
	 * the work that meets it comes back.
	 */
	look = mask & IB_QP_AV || q->class_error;
	if (mask & IB_QP_STATE) {
		q->state = asked->qp_state;
		set_bit(SRDMA_QP_HAS_STATE, &q->flags);
		assign_bit(SRDMA_QP_APP_SQD, &q->flags, q->state == IB_QPS_SQD);
		q->class_error = 0;
		q->attempts = 0;
		if (q->state == IB_QPS_RESET) {
			clear_bit(SRDMA_QP_HAS_AV, &q->flags);
			q->dest_qpn = 0;
			memset(q->dmac, 0, sizeof(q->dmac));
		}
	}
	if (!look)
		return;
	smp_mb();	/* its class, then the level; a rescan has it reversed */
	if (srdma_qp_class_pending(q))
		srdma_enforce_qp(q);
}

void srdma_enforce_adopt(struct srdma_qp *q, const struct ib_qp_attr *attr)
{
	q->state = attr->qp_state;
	set_bit(SRDMA_QP_HAS_STATE, &q->flags);
	q->port = attr->port_num;
	if (q->state < IB_QPS_RTR || q->state == IB_QPS_ERR ||
	    (q->type != IB_QPT_RC && q->type != IB_QPT_UC))
		return;
	q->dest_qpn = attr->dest_qp_num;
	remember_av(q, &attr->ah_attr);
	remember_class(q, &attr->ah_attr);
}

/* On live QPs */

struct slot {
	struct srdma_qp *q;
	const struct srdma_provider_ops *ops;
	struct srdma_class want;
	u64 begun;
};

static void mark(struct srdma_qp *q)
{
	set_bit(SRDMA_QP_MARKED, &q->flags);
}

static unsigned long backoff(const struct srdma_qp *q, int err)
{
	if (err == -EINTR)
		return msecs_to_jiffies(RETRY_WANTED_MS);
	return msecs_to_jiffies(min(RETRY_FIRST_MS << min_t(u32, q->attempts, 8),
				    RETRY_LAST_MS));
}

static void raise_max(atomic64_t *v, s64 val)
{
	s64 old = atomic64_read(v);

	while (old < val && !atomic64_try_cmpxchg(v, &old, val))
		;
}

/* The end of an attempt; the QP is held and is let go. */
static void finish(struct slot *s, int ret)
{
	struct srdma_qp *q = s->q;
	/* What there is no waiting for pauses nothing: the NIC changes it at once. */
	u64 pause = s->begun && s->ops->class_poll ? ktime_get_ns() - s->begun : 0;

	raise_max(&q->dev->drain_max, pause);
	q->class_error = ret;
	if (!ret) {
		q->tclass = s->want.tclass;
		q->sl = s->want.sl;
		q->attempts = 0;
		atomic64_inc(&q->dev->live_changed);
	} else if (ret != -EOPNOTSUPP) {
		q->retry_at = jiffies + backoff(q, ret);
		if (ret != -EINTR && q->attempts < U16_MAX)
			q->attempts++;
		atomic64_inc(&q->dev->live_failed);
	}
	trace_srdma_class(q, s->want.tclass, s->want.sl, ret, pause);
	srdma_qp_touch(q);
	srdma_qp_unlock(q);
	/* Still, or again; what cannot be done ever is not tried again. */
	if (ret != -EOPNOTSUPP && srdma_qp_class_pending(q)) {
		mark(q);
		run_by(ret ? q->retry_at : jiffies);
	}
	srdma_qp_put(q);
	s->q = NULL;
}

/* Take a QP in hand. False: not now; the slot is free. */
static bool begin(struct slot *s, struct srdma_qp *q)
{
	const struct srdma_provider_ops *p = srdma_dev_provider(q->dev);
	int ret = 0;

	if (!srdma_qp_trylock(q)) {	/* its application has it */
		mark(q);
		run_by(jiffies + msecs_to_jiffies(RETRY_WANTED_MS));
		goto put;
	}
	if (!srdma_qp_class_pending(q))
		goto unlock;
	if (!p->class_commit) {		/* ever: it is not tried again */
		q->class_error = -EOPNOTSUPP;
		goto unlock;
	}
	s->q = q;
	s->ops = p;	/* to its end, even if the device has another one by then */
	s->begun = 0;
	rcu_read_lock();
	srdma_qp_desired(q, &s->want);
	rcu_read_unlock();
	if (p->class_begin) {
		s->begun = ktime_get_ns();
		ret = p->class_begin(q);
	}
	if (!ret)
		return true;
	finish(s, ret);
	return false;

unlock:
	srdma_qp_unlock(q);
put:
	srdma_qp_put(q);
	return false;
}

/* One look at a QP in hand. True: it is done with. */
static bool advance(struct slot *s)
{
	const struct srdma_provider_ops *p = s->ops;
	int ret = srdma_never_drain() ? -EAGAIN : p->class_poll ? p->class_poll(s->q) : 0;

	if (ret == -EAGAIN) {
		if (test_bit(SRDMA_QP_WANTED, &s->q->flags))
			ret = -EINTR;
		else if (ktime_get_ns() - s->begun > (u64)READ_ONCE(drain_ms) * NSEC_PER_MSEC)
			ret = -ETIMEDOUT;
		else
			return false;
	}
	if (ret)
		p->class_abort(s->q);
	else
		ret = p->class_commit(s->q, &s->want);
	finish(s, ret);
	return true;
}

static void run_round(struct slot *slots, int n)
{
	int i;

	while (n) {
		for (i = 0; i < n; ) {
			if (advance(&slots[i]))
				slots[i] = slots[--n];
			else
				i++;
		}
		if (n)
			usleep_range(100, 300);
	}
}

/* The next QP to be tried now, its mark taken off, with a reference. */
static struct srdma_qp *next_marked(struct srdma_walk *w)
{
	struct srdma_qp *q;

	rcu_read_lock();
	while ((q = srdma_walk_next(w))) {
		if (!test_bit(SRDMA_QP_MARKED, &q->flags))
			continue;
		if (q->class_error && time_before(jiffies, q->retry_at) && !READ_ONCE(hurry)) {
			run_by(q->retry_at);
			continue;
		}
		if (!srdma_qp_hold(q))
			continue;
		clear_bit(SRDMA_QP_MARKED, &q->flags);
		break;
	}
	rcu_read_unlock();
	return q;
}

/* Mark whoever is not as it should be. */
static void rescan(struct srdma_dev *dev)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;

	while ((q = srdma_walk_get(&w))) {
		if (srdma_qp_class_pending(q)) {
			mark(q);
			srdma_qp_touch(q);
		}
		srdma_qp_put(q);
		cond_resched();
	}
}

static void shape(struct srdma_dev *dev)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);

	if (!ops->shape || !ops->shape(dev))
		return;
	WRITE_ONCE(dev->reshape, 1);
	run_by(jiffies + msecs_to_jiffies(RETRY_FIRST_MS));
}

static void enforce_dev(struct srdma_dev *dev, struct slot *slots)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;
	int n;

	if (xchg(&dev->rescan, 0)) {
		WRITE_ONCE(dev->reshape, 1);
		rescan(dev);
	}
	if (xchg(&dev->reshape, 0))
		shape(dev);
	do {
		n = 0;
		while (n < ROUND) {
			q = next_marked(&w);
			if (!q)
				break;
			if (begin(&slots[n], q))
				n++;
		}
		run_round(slots, n);
		cond_resched();
	} while (q);
}

/* The next device at or after *index, with a reference. */
static struct srdma_dev *next_dev(unsigned long *index)
{
	struct srdma_dev *dev;

	down_read(&srdma_devs_sem);
	dev = xa_find(&srdma_devs, index, ULONG_MAX, XA_PRESENT);
	if (dev) {
		srdma_dev_get(dev);
		(*index)++;
	}
	up_read(&srdma_devs_sem);
	return dev;
}

/* Results */

static void tally(struct srdma_qp *q, struct srdma_enforce_tally *t)
{
	t->qps++;
	if (!srdma_qp_class_pending(q)) {
		t->done++;
	} else if (q->class_error == -EOPNOTSUPP) {
		t->unsupported++;
		t->error = t->error ?: q->class_error;
	} else {
		t->pending++;
		t->error = q->class_error ?: t->error;
	}
}

void srdma_tally_qp(struct srdma_qp *q, struct srdma_enforce_tally *t)
{
	tally(q, t);
}

void srdma_tally_job(struct srdma_job *job, bool any_dev, u32 index,
		     struct srdma_enforce_tally *t)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long i;
	struct srdma_qp *q;

	xa_for_each(&srdma_devs, i, dev) {
		if (!any_dev && dev->index != index)
			continue;
		rcu_read_lock();
		jd = xa_load(&dev->jobs, job->id);
		if (jd) {
			spin_lock(&jd->lock);
			list_for_each_entry(q, &jd->qps, job_node)
				tally(q, t);
			spin_unlock(&jd->lock);
		}
		rcu_read_unlock();
	}
}

/* Of QPs that are at work those that are in a scheduling element, or in none. */
static void tally_rates(struct srdma_job_dev *jd, struct srdma_enforce_tally *t)
{
	bool want = READ_ONCE(jd->bit_rate) || READ_ONCE(jd->weight), has;
	const struct srdma_qp_hw *hw;
	struct srdma_qp *q;

	spin_lock(&jd->lock);
	list_for_each_entry(q, &jd->qps, job_node) {
		hw = srdma_qp_hw(q);
		has = hw && READ_ONCE(hw->element);
		t->qps++;
		if (!(jd->dev->caps & SWIFTRDMA_DEV_CAP_RATES))
			t->unsupported++;
		else if (has == want || READ_ONCE(q->state) != IB_QPS_RTS)
			t->done++;
		else
			t->pending++;
	}
	spin_unlock(&jd->lock);
}

static void tally_job_rates(const struct srdma_batch_item *item, struct srdma_enforce_tally *t)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long i;

	xa_for_each(&srdma_devs, i, dev) {
		if (!item->any_dev && item->dev != i)
			continue;
		rcu_read_lock();
		jd = xa_load(&dev->jobs, item->job->id);
		if (jd)
			tally_rates(jd, t);
		rcu_read_unlock();
	}
}

static void tell_item(struct srdma_batch *b, int i)
{
	struct srdma_batch_item *item = &b->items[i];
	struct srdma_enforce_tally t = {};
	struct srdma_dev *dev;
	struct srdma_qp *q;

	down_read(&srdma_devs_sem);
	if (item->job && item->knob == SWIFTRDMA_KNOB_LEVEL) {
		srdma_tally_job(item->job, item->any_dev, item->dev, &t);
	} else if (item->job && (item->knob == SWIFTRDMA_KNOB_BIT_RATE ||
				 item->knob == SWIFTRDMA_KNOB_WEIGHT)) {
		tally_job_rates(item, &t);
	} else if (!item->job) {
		dev = xa_load(&srdma_devs, item->dev);
		q = dev ? srdma_qp_get_by_key(dev, item->key) : NULL;
		if (q && q->serial == item->serial)
			srdma_tally_qp(q, &t);
		else
			t.error = -ENOENT;
		if (q)
			srdma_qp_put(q);
	}
	up_read(&srdma_devs_sem);
	srdma_notify_act(b, i, &t);
}

static void tell(struct list_head *done)
{
	struct srdma_batch *b, *next;
	int i;

	list_for_each_entry_safe(b, next, done, node) {
		for (i = 0; i < b->n; i++)
			tell_item(b, i);
		srdma_batch_free(b);
	}
}

static void enforce_work(struct work_struct *w)
{
	struct slot *slots = kcalloc(ROUND, sizeof(*slots), GFP_KERNEL);
	struct srdma_dev *dev;
	unsigned long index = 0;
	LIST_HEAD(done);

	if (!slots) {
		queue_delayed_work(wq, &work, HZ / 10);
		return;
	}
	/* Those asked for before this pass: after it, their results are known. */
	spin_lock(&batches_lock);
	list_splice_init(&batches, &done);
	spin_unlock(&batches_lock);

	next_run = jiffies + 2 * FAR;
	while ((dev = next_dev(&index))) {
		enforce_dev(dev, slots);
		srdma_dev_put(dev);
	}
	kfree(slots);
	tell(&done);
	if (time_before(next_run, jiffies + FAR))
		queue_delayed_work(wq, &work, time_after(next_run, jiffies) ?
				   next_run - jiffies : 1);
}

void srdma_enforce_flush(void)
{
	flush_workqueue(wq);
}

void srdma_enforce_rescan(void)
{
	struct srdma_dev *dev;
	unsigned long index;

	rcu_read_lock();
	xa_for_each(&srdma_devs, index, dev)
		WRITE_ONCE(dev->rescan, 1);
	rcu_read_unlock();
	mod_delayed_work(wq, &work, 0);
}

void srdma_enforce_shape(struct srdma_dev *dev)
{
	WRITE_ONCE(dev->reshape, 1);
	mod_delayed_work(wq, &work, 0);
}
EXPORT_SYMBOL_GPL(srdma_enforce_shape);

void srdma_enforce_qp(struct srdma_qp *q)
{
	mark(q);
	mod_delayed_work(wq, &work, 0);
}

void srdma_enforce_batch(struct srdma_batch *b)
{
	spin_lock(&batches_lock);
	list_add_tail(&b->node, &batches);
	spin_unlock(&batches_lock);
	mod_delayed_work(wq, &work, 0);
}

static int count_pending(void)
{
	struct srdma_dev *dev;
	unsigned long index;
	struct srdma_qp *q;
	int n = 0;

	down_read(&srdma_devs_sem);
	xa_for_each(&srdma_devs, index, dev) {
		struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);

		while ((q = srdma_walk_get(&w))) {
			n += srdma_qp_class_pending(q);
			srdma_qp_put(q);
		}
	}
	up_read(&srdma_devs_sem);
	return n;
}

int srdma_enforce_restore_all(void)
{
	int left, tries;

	WRITE_ONCE(hurry, true);
	for (tries = 0; tries < 5; tries++) {
		srdma_enforce_rescan();
		flush_delayed_work(&work);
		left = count_pending();
		if (!left)
			break;
		msleep(RETRY_WANTED_MS);
	}
	WRITE_ONCE(hurry, false);
	return left;
}

void srdma_enforce_give_back(struct srdma_dev *dev)
{
	WRITE_ONCE(dev->giving_back, true);
	WRITE_ONCE(hurry, true);
	srdma_enforce_rescan();
	flush_delayed_work(&work);
	WRITE_ONCE(hurry, false);
}

int srdma_enforce_init(void)
{
	wq = alloc_ordered_workqueue("swiftrdma", 0);
	return wq ? 0 : -ENOMEM;
}

/* No device is left, and nobody asks for anything any more. */
void srdma_enforce_exit(void)
{
	struct srdma_batch *b, *next;

	cancel_delayed_work_sync(&work);
	destroy_workqueue(wq);
	list_for_each_entry_safe(b, next, &batches, node)
		srdma_batch_free(b);
}
