// SPDX-License-Identifier: GPL-2.0
/*
 * What is in force, made true on the QPs that are connected already, by a work item of
 * each device: it meets those that are marked, and tries again until it is done. It
 * waits for its device's firmware commands, and so no other device waits for it.
 *
 * The work holds no lock that an application or a netlink request waits for,
 * except that of the QPs it is changing; and whoever waits for one of those is
 * seen (SRDMA_QP_WANTED) and let go first.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "adopt.h"
#include "debug.h"
#include "enforce.h"
#include "find.h"
#include "results.h"
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

/*
 * QPs changed side by side: each pauses while it drains, not while others do. So
 * many that those which are stuck, each in its place for drain_ms, keep those which
 * are not waiting for less than a second, up to some ten thousand of them.
 */
#define SLOTS 1024
/* Of these so many are begun between two looks, which all in hand wait for. */
#define BURST 64

#define RETRY_FIRST_MS	200	/* doubled each time: a stuck QP pauses ever less */
#define RETRY_LAST_MS	3200
#define RETRY_WANTED_MS	10	/* the application only wanted to pass */
#define FAR		(3600 * HZ)	/* nothing waits for so long */

/* Unbound: passes of as many devices as there are run side by side. */
static struct workqueue_struct *wq;

/* While the hook is to come out, and for good once it is: see srdma_giving_back(). */
bool srdma_suspended;
EXPORT_SYMBOL_GPL(srdma_suspended);

/* The device's work runs again by then. */
static void run_by(struct srdma_dev *dev, unsigned long when)
{
	if (time_before(when, dev->enforce_by))
		dev->enforce_by = when;
}

struct slot {
	struct srdma_qp *q;
	const struct srdma_provider_ops *ops;
	struct srdma_class want;
	int err;	/* given up; -errno */
	bool at_once;	/* it needs no pause: class_change() is next */
	u64 begun;
	u64 looked;	/* when it was last found not to be done with */
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

/* The class that it should have is the one that the device has refused. */
static bool was_refused(const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	struct srdma_class c;

	if (READ_ONCE(q->class_error) != -EREMOTEIO || !hw)
		return false;
	rcu_read_lock();
	srdma_qp_desired(q, &c);
	rcu_read_unlock();
	return hw->no_class.tclass == c.tclass && hw->no_class.sl == c.sl;
}

/* The end of an attempt; the QP is held and is let go. */
static void finish(struct slot *s, int ret)
{
	struct srdma_qp *q = s->q;
	/* What there is no waiting for pauses nothing: the NIC changes it at once. */
	u64 pause = s->begun && s->ops->class_poll ? ktime_get_ns() - s->begun : 0;
	u64 looked = s->looked - s->begun;

	raise_max(&q->dev->drain_max, pause);
	q->class_error = ret;
	if (!ret) {
		q->tclass = s->want.tclass;
		q->sl = s->want.sl;
		q->attempts = 0;
		atomic64_inc(&q->dev->live_changed);
	} else if (ret == -EREMOTEIO) {
		q->hw->no_class = s->want;
		atomic64_inc(&q->dev->live_failed);
	} else if (ret != -EOPNOTSUPP) {
		q->retry_at = jiffies + backoff(q, ret);
		if (ret != -EINTR && q->attempts < U8_MAX)
			q->attempts++;
		atomic64_inc(&q->dev->live_failed);
	}
	trace_srdma_class(q, s->want.tclass, s->want.sl, ret, pause, looked);
	srdma_qp_touch(q);
	srdma_qp_unlock(q);
	/* Still, or again; what cannot be done ever is not tried again, nor what was refused. */
	if (ret != -EOPNOTSUPP && srdma_qp_class_pending(q) && !was_refused(q)) {
		mark(q);
		run_by(q->dev, ret ? q->retry_at : jiffies);
	}
	srdma_qp_put(q);
	s->q = NULL;
}

/* Take a QP in hand. False: not now; the slot is free. */
static bool begin(struct slot *s, struct srdma_qp *q)
{
	const struct srdma_provider_ops *p = srdma_dev_provider(q->dev);
	int level, ret = 0;

	if (!srdma_qp_trylock(q)) {	/* its application has it */
		mark(q);
		run_by(q->dev, jiffies + msecs_to_jiffies(RETRY_WANTED_MS));
		goto put;
	}
	if (!srdma_qp_class_pending(q) || (was_refused(q) && !srdma_giving_back(q->dev)))
		goto unlock;
	if (!p->class_commit) {		/* ever: it is not tried again */
		q->class_error = -EOPNOTSUPP;
		srdma_qp_touch(q);
		goto unlock;
	}
	s->q = q;
	s->ops = p;	/* to its end, even if the device has another one by then */
	s->err = 0;
	s->at_once = false;
	s->begun = 0;
	s->looked = 0;
	rcu_read_lock();
	level = srdma_qp_level(q);	/* first: if it changes now, it is tried again */
	srdma_qp_desired(q, &s->want);
	rcu_read_unlock();
	if (q->tried != level) {
		q->tried = level;
		q->attempts = 0;
	}
	if (p->class_begin) {
		s->begun = ktime_get_ns();
		s->looked = s->begun;
		ret = p->class_begin(q);
	}
	if (ret > 0) {
		s->at_once = true;
		s->begun = 0;
		s->looked = 0;
	}
	if (ret >= 0)
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
	u64 now;

	if (ret == -EAGAIN) {
		now = ktime_get_ns();
		if (test_bit(SRDMA_QP_WANTED, &s->q->flags)) {
			ret = -EINTR;
		} else if (now - s->begun > (u64)READ_ONCE(drain_ms) * NSEC_PER_MSEC) {
			ret = -ETIMEDOUT;
		} else {
			s->looked = now;
			return false;
		}
	}
	s->err = ret;
	if (ret) {
		p->class_abort(s->q);
		return false;
	}
	finish(s, p->class_commit(s->q, &s->want));
	return true;
}

/*
 * Change those in hand that need no pause, no more than were begun since the last
 * look; how many others there are.
 */
static int change_at_once(struct slot *slots, int n)
{
	const struct srdma_provider_ops *p = NULL;
	struct srdma_class_change c[BURST];
	int i, m = 0;

	for (i = 0; i < n; i++) {
		if (!slots[i].at_once)
			continue;
		p = slots[i].ops;
		c[m++] = (struct srdma_class_change) {
			.q = slots[i].q, .want = slots[i].want, .err = -ETIMEDOUT,
		};
	}
	if (!p)
		return n;
	if (!srdma_never_drain())
		p->class_change(c, m);
	/* From the end, so that what takes a place that is free was looked at already. */
	for (i = n - 1; i >= 0; i--) {
		if (slots[i].at_once) {
			finish(&slots[i], c[--m].err);
			slots[i] = slots[--n];
		}
	}
	return n;
}

/*
 * One look at all in hand; how many there still are. Those that are given up go on
 * at once, and wait together for the grace period that class_abort() asks for.
 */
static int look(struct slot *slots, int n)
{
	bool gave_up = false;
	int i;

	for (i = 0; i < n; ) {
		if (advance(&slots[i])) {
			slots[i] = slots[--n];
		} else {
			gave_up |= slots[i].err;
			i++;
		}
	}
	if (!gave_up)
		return n;
	synchronize_rcu_expedited();
	for (i = 0; i < n; ) {
		if (slots[i].err) {
			slots[i].ops->class_abort(slots[i].q);
			finish(&slots[i], slots[i].err);
			slots[i] = slots[--n];
		} else {
			i++;
		}
	}
	return n;
}

/*
 * Not now: it failed a while ago, and what it should have is still the same. A level
 * that means something else by now is met when the time has come.
 */
static bool resting(const struct srdma_qp *q)
{
	return q->class_error && time_before(jiffies, q->retry_at) && !READ_ONCE(q->dev->hurry) &&
	       q->tried == srdma_qp_level(q);
}

/* The next QP to be tried now, its mark taken off, with a reference. */
static struct srdma_qp *next_marked(struct srdma_walk *w)
{
	struct srdma_qp *q;

	rcu_read_lock();
	while ((q = srdma_walk_next(w))) {
		if (!test_bit(SRDMA_QP_MARKED, &q->flags))
			continue;
		if (resting(q)) {
			run_by(q->dev, q->retry_at);
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
		} else if (srdma_class_standing(q) == SRDMA_UNKNOWN) {
			WRITE_ONCE(dev->learn, true);
		}
		srdma_qp_put(q);
		cond_resched();
	}
}

static void shape(struct srdma_dev *dev)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);

	if (!ops->shape || !ops->shape(dev)) {
		dev->shape_ms = 0;
		return;
	}
	dev->shape_ms = dev->shape_ms ? min(2 * dev->shape_ms, RETRY_LAST_MS) : RETRY_FIRST_MS;
	dev->shape_at = jiffies + msecs_to_jiffies(dev->shape_ms);
}

/* On demand, and what could not be done then again, less and less often. */
static void reshape(struct srdma_dev *dev)
{
	if (xchg(&dev->reshape, 0)) {
		dev->shape_ms = 0;
		shape(dev);
	} else if (dev->shape_ms && time_after_eq(jiffies, dev->shape_at)) {
		shape(dev);
	}
	if (dev->shape_ms)
		run_by(dev, dev->shape_at);
}

/* What QPs have of which a class is wanted, and as many later as may not be asked now. */
static void learn(struct srdma_dev *dev)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);

	if (!READ_ONCE(dev->learn))
		return;
	WRITE_ONCE(dev->learn, false);
	srdma_adopt_recheck(dev);
	if (ops->learn && ops->learn(dev)) {
		WRITE_ONCE(dev->learn, true);
		run_by(dev, jiffies + msecs_to_jiffies(RETRY_FIRST_MS));
	}
}

static void enforce_dev(struct srdma_dev *dev, struct slot *slots)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;
	bool more = true;
	int i, n = 0;

	if (xchg(&dev->rescan, 0)) {
		WRITE_ONCE(dev->reshape, 1);
		rescan(dev);
	}
	learn(dev);
	reshape(dev);
	while (more || n) {
		for (i = 0; more && i < BURST && n < SLOTS; i++) {
			q = next_marked(&w);
			more = q;
			if (q && begin(&slots[n], q))
				n++;
		}
		n = look(slots, change_at_once(slots, n));
		if (n)
			usleep_range(100, 300);
		cond_resched();
	}
}

void srdma_enforce_run(struct srdma_dev *dev)
{
	srdma_dev_get(dev);
	/* What is queued already has a reference of its own. */
	if (mod_delayed_work(wq, &dev->enforce, 0))
		srdma_dev_put(dev);
}

/* Again, unless somebody has asked for it to be sooner. */
static void run_later(struct srdma_dev *dev, unsigned long delay)
{
	srdma_dev_get(dev);
	if (!queue_delayed_work(wq, &dev->enforce, delay))
		srdma_dev_put(dev);
}

static void enforce_work(struct work_struct *work)
{
	struct srdma_dev *dev = container_of(to_delayed_work(work), struct srdma_dev, enforce);
	struct slot *slots = kvcalloc(SLOTS, sizeof(*slots), GFP_KERNEL);
	u64 asked = srdma_batches_asked();

	dev->enforce_by = jiffies + 2 * FAR;
	if (slots) {
		enforce_dev(dev, slots);
		kvfree(slots);
		atomic64_set(&dev->enforced, asked);
		srdma_batches_passed();
	} else {
		run_by(dev, jiffies + HZ / 10);
	}
	if (time_before(dev->enforce_by, jiffies + FAR))
		run_later(dev, time_after(dev->enforce_by, jiffies) ?
			  dev->enforce_by - jiffies : 1);
	srdma_dev_put(dev);
}

void srdma_enforce_dev_init(struct srdma_dev *dev)
{
	INIT_DELAYED_WORK(&dev->enforce, enforce_work);
}

void srdma_enforce_dev_stop(struct srdma_dev *dev)
{
	synchronize_rcu();	/* srdma_enforce_rescan() may have found it before */
	if (cancel_delayed_work_sync(&dev->enforce))
		srdma_dev_put(dev);
}

void srdma_enforce_flush(struct srdma_dev *dev)
{
	flush_work(&dev->enforce.work);
}

static void rescan_dev(struct srdma_dev *dev)
{
	WRITE_ONCE(dev->rescan, 1);
	srdma_enforce_run(dev);
}

void srdma_enforce_rescan(void)
{
	struct srdma_dev *dev;
	unsigned long index;

	rcu_read_lock();
	xa_for_each(&srdma_devs, index, dev)
		rescan_dev(dev);
	rcu_read_unlock();
}

void srdma_enforce_shape(struct srdma_dev *dev)
{
	WRITE_ONCE(dev->reshape, 1);
	srdma_enforce_run(dev);
}
EXPORT_SYMBOL_GPL(srdma_enforce_shape);

void srdma_enforce_qp(struct srdma_qp *q)
{
	mark(q);
	srdma_enforce_run(q->dev);
}

static void count_pending(struct srdma_unrestored *left)
{
	struct srdma_dev *dev;
	unsigned long index;
	struct srdma_qp *q;

	memset(left, 0, sizeof(*left));
	down_read(&srdma_devs_sem);
	xa_for_each(&srdma_devs, index, dev) {
		struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);

		while ((q = srdma_walk_get(&w))) {
			bool class = srdma_qp_class_pending(q);
			bool path = srdma_path_pending(q, SRDMA_PATH_SPORT) ||
				    srdma_path_pending(q, SRDMA_PATH_LAG);

			if (class || path) {
				left->n++;
				left->never += !path && srdma_class_standing(q) == SRDMA_CANNOT;
				strscpy(left->dev, dev->name, sizeof(left->dev));
				left->qpn = q->qpn;
				left->error = class ? q->class_error : -EIO;
			}
			srdma_qp_put(q);
		}
	}
	up_read(&srdma_devs_sem);
}

static void hurry_all(bool hurry)
{
	struct srdma_dev *dev;
	unsigned long index;

	rcu_read_lock();
	xa_for_each(&srdma_devs, index, dev)
		WRITE_ONCE(dev->hurry, hurry);
	rcu_read_unlock();
}

void srdma_enforce_suspend(struct srdma_unrestored *left)
{
	struct srdma_dev *dev;
	unsigned long index;
	int tries;

	WRITE_ONCE(srdma_suspended, true);
	hurry_all(true);
	for (tries = 0; tries < 5; tries++) {
		srdma_enforce_rescan();
		for (index = 0; (dev = srdma_dev_next(&index)); ) {
			flush_delayed_work(&dev->enforce);
			srdma_dev_put(dev);
		}
		count_pending(left);
		if (left->n <= left->never)
			break;
		msleep(RETRY_WANTED_MS);
	}
	hurry_all(false);
}

void srdma_enforce_resume(void)
{
	WRITE_ONCE(srdma_suspended, false);
	srdma_enforce_rescan();
}

void srdma_enforce_give_back(struct srdma_dev *dev)
{
	WRITE_ONCE(dev->giving_back, true);
	WRITE_ONCE(dev->hurry, true);
	rescan_dev(dev);
	flush_delayed_work(&dev->enforce);
	WRITE_ONCE(dev->hurry, false);
}

int srdma_enforce_init(void)
{
	wq = alloc_workqueue("swiftrdma", WQ_UNBOUND, 0);
	return wq ? 0 : -ENOMEM;
}

/* No device is left, and nobody asks for anything any more. */
void srdma_enforce_exit(void)
{
	destroy_workqueue(wq);
}
