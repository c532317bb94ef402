// SPDX-License-Identifier: GPL-2.0
/*
 * Applies overrides to QPs that are connected already. A work item of each device visits
 * the marked QPs, and retries until all have what they should have. The work waits for its
 * own device's firmware commands, so a slow device delays no other.
 *
 * The work holds no lock that an application or a netlink request waits for, except
 * srdma_qp_lock() of the QPs that it is changing. A thread that waits for one of those sets
 * SRDMA_QP_WANTED. Where a change drains the send queue, the work then gives that QP up;
 * where a change is a firmware command, the thread may wait for the commands of the QPs
 * that were begun with it, at most BURST.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "class.h"
#include "debug.h"
#include "enforce.h"
#include "find.h"
#include "notify.h"
#include "param.h"
#include "pass.h"
#include "path.h"
#include "results.h"
#include "trace.h"

/*
 * A drain ends after about one queueing delay: 0.6 to 25 ms were measured on a
 * port of 20 Mbit/s with 128 KB queued. Four times that is a bound that only a
 * QP that is stuck should meet.
 */
SRDMA_PARAM(drain_ms, 100, 1, 1000,
	    "longest pause of a QP whose class is changed, 1 to 1000 ms (100)");

/*
 * QPs that are changed at the same time; each pauses only while it drains itself. A stuck
 * QP occupies its slot for drain_ms: with this many slots, ten thousand stuck QPs delay the
 * others by less than a second.
 */
#define SLOTS 1024
/* Changes that are begun between two polls; all QPs in slots wait for these. */
#define BURST 64

#define RETRY_FIRST_MS	200	/* doubled each time, so a stuck QP pauses less and less often */
#define RETRY_LAST_MS	3200
#define RETRY_WANTED_MS	10	/* the application's own call goes first */
#define FAR		(3600 * HZ)	/* longer than any timeout in this file */

/* Have the device's work run again by @when. */
static void request_run_by(struct srdma_dev *dev, unsigned long when)
{
	if (time_before(when, dev->enforce_by))
		dev->enforce_by = when;
}

/* A QP whose class is being changed. */
struct slot {
	struct srdma_qp *q;
	const struct srdma_provider_ops *ops;
	struct srdma_class want;
	int err;	/* -errno if the change was given up */
	bool at_once;	/* the change needs no pause, so class_change() makes it */
	u64 begun;	/* ns */
	u64 looked;	/* ns, when the change was last found unfinished */
};

static void mark_qp(struct srdma_qp *q)
{
	set_bit(SRDMA_QP_MARKED, &q->flags);
}

static unsigned long retry_delay(const struct srdma_qp *q, int err)
{
	if (err == -EINTR)
		return msecs_to_jiffies(RETRY_WANTED_MS);
	return msecs_to_jiffies(min(RETRY_FIRST_MS << min_t(u32, q->attempts, 8),
				    RETRY_LAST_MS));
}

/*
 * Returns the jiffies until the QP's retry time, 0: it has passed. @retry_at holds the low bits
 * of a time, so after half a year an old one appears to lie ahead. No delay is longer than
 * RETRY_LAST_MS, so a time that is further ahead has passed.
 */
static unsigned long time_to_retry(const struct srdma_qp *q)
{
	u32 left = q->retry_at - (u32)jiffies;

	return left <= msecs_to_jiffies(RETRY_LAST_MS) ? left : 0;
}

static void raise_max(atomic64_t *v, s64 val)
{
	s64 old = atomic64_read(v);

	while (old < val && !atomic64_try_cmpxchg(v, &old, val))
		;
}

/* Did the device refuse the very class that the QP should have? */
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

/* End an attempt: record the result and unlock the QP. */
static void finish_change(struct slot *s, int ret)
{
	struct srdma_qp *q = s->q;
	/* A provider without class_poll() changes the class at once, without a pause. */
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
		q->retry_at = jiffies + retry_delay(q, ret);
		if (ret != -EINTR && q->attempts < U8_MAX)
			q->attempts++;
		atomic64_inc(&q->dev->live_failed);
	}
	trace_srdma_class(q, s->want.tclass, s->want.sl, ret, pause, looked);
	srdma_qp_touch(q);
	srdma_qp_unlock(q);
	/*
	 * Retry if the class is still wrong, or wrong again, unless the change is
	 * impossible or was refused.
	 */
	if (ret != -EOPNOTSUPP && srdma_qp_class_pending(q) && !was_refused(q)) {
		mark_qp(q);
		request_run_by(q->dev, jiffies + (ret ? time_to_retry(q) : 0));
	}
	srdma_qp_put(q);
	s->q = NULL;
}

/* Begin to change a QP. False: nothing was begun, and the slot is free. */
static bool begin_change(struct slot *s, struct srdma_qp *q)
{
	const struct srdma_provider_ops *p = srdma_dev_provider(q->dev);
	int level, ret = 0;

	if (!srdma_qp_trylock(q)) {	/* its application is in a call */
		mark_qp(q);
		request_run_by(q->dev, jiffies + msecs_to_jiffies(RETRY_WANTED_MS));
		goto put;
	}
	if (!srdma_qp_class_pending(q) || (was_refused(q) && !srdma_giving_back(q->dev)))
		goto unlock;
	if (!p->class_commit) {		/* impossible: not retried */
		q->class_error = -EOPNOTSUPP;
		srdma_qp_touch(q);
		goto unlock;
	}
	/* This provider finishes the change even if the device gets another one. */
	*s = (struct slot){ .q = q, .ops = p };
	rcu_read_lock();
	level = srdma_qp_level(q);	/* read first: a level that changes after this is retried */
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
	finish_change(s, ret);
	return false;

unlock:
	srdma_qp_unlock(q);
put:
	srdma_qp_put(q);
	return false;
}

static void abort_change(struct slot *s)
{
	if (s->ops->class_abort)
		s->ops->class_abort(s->q);
}

/* Poll a change that was begun. True: it has ended. */
static bool advance_change(struct slot *s)
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
		abort_change(s);
		return false;
	}
	finish_change(s, p->class_commit(s->q, &s->want));
	return true;
}

/*
 * Make the changes that need no pause, at most BURST of them. Returns how many other slots
 * are in use.
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
	/* From the end: the slot that moves into a free place was visited already. */
	for (i = n - 1; i >= 0; i--) {
		if (slots[i].at_once) {
			finish_change(&slots[i], c[--m].err);
			slots[i] = slots[--n];
		}
	}
	return n;
}

/*
 * Poll all changes and return how many are left. Those that are given up are aborted
 * together, because class_abort() waits for a grace period.
 */
static int poll_changes(struct slot *slots, int n)
{
	bool gave_up = false;
	int i;

	for (i = 0; i < n; ) {
		if (advance_change(&slots[i])) {
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
			abort_change(&slots[i]);
			finish_change(&slots[i], slots[i].err);
			slots[i] = slots[--n];
		} else {
			i++;
		}
	}
	return n;
}

/*
 * Does the QP wait for its retry time? Only as long as its level stays the same as at the
 * failed attempt. A level whose meaning changed is applied at the retry.
 */
static bool waits_for_retry(const struct srdma_qp *q)
{
	return q->class_error && time_to_retry(q) && !READ_ONCE(q->dev->hurry) &&
	       q->tried == srdma_qp_level(q);
}

/* The next marked QP that is due, unmarked, with a reference; NULL: there is none. */
static struct srdma_qp *next_marked(struct srdma_walk *w)
{
	struct srdma_qp *q;

	rcu_read_lock();
	while ((q = srdma_walk_next(w))) {
		if (!test_bit(SRDMA_QP_MARKED, &q->flags))
			continue;
		if (waits_for_retry(q)) {
			request_run_by(q->dev, jiffies + time_to_retry(q));
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

/* Mark each QP whose class is not what it should be. */
static void mark_pending(struct srdma_dev *dev)
{
	struct srdma_qp *q;

	srdma_for_each_qp(q, dev) {
		if (srdma_qp_class_pending(q)) {
			mark_qp(q);
			srdma_qp_touch(q);
		} else if (srdma_class_standing(q) == SRDMA_UNKNOWN) {
			WRITE_ONCE(dev->query_wanted, true);
		}
	}
}

static void shape_jobs(struct srdma_dev *dev)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);

	if (!ops->shape || !ops->shape(dev)) {
		dev->shape_ms = 0;
		return;
	}
	dev->shape_ms = dev->shape_ms ? min(2 * dev->shape_ms, RETRY_LAST_MS) : RETRY_FIRST_MS;
	dev->shape_at = jiffies + msecs_to_jiffies(dev->shape_ms);
}

/* Have the provider shape jobs: on request, and again, less and less often, while it fails. */
static void shape_if_due(struct srdma_dev *dev)
{
	if (xchg(&dev->reshape, 0)) {
		dev->shape_ms = 0;
		shape_jobs(dev);
	} else if (dev->shape_ms && time_after_eq(jiffies, dev->shape_at)) {
		shape_jobs(dev);
	}
	if (dev->shape_ms)
		request_run_by(dev, dev->shape_at);
}

/* Query QPs whose class is unknown and should change; the next pass queries what is left. */
static void learn_classes(struct srdma_dev *dev)
{
	if (!READ_ONCE(dev->query_wanted))
		return;
	WRITE_ONCE(dev->query_wanted, false);
	if (dev->refresh.learn_qps(dev)) {
		WRITE_ONCE(dev->query_wanted, true);
		request_run_by(dev, jiffies + msecs_to_jiffies(RETRY_FIRST_MS));
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
		mark_pending(dev);
		srdma_notify(levels_changed);
	}
	learn_classes(dev);
	shape_if_due(dev);
	while (more || n) {
		for (i = 0; more && i < BURST && n < SLOTS; i++) {
			q = next_marked(&w);
			more = q;
			if (q && begin_change(&slots[n], q))
				n++;
		}
		n = poll_changes(slots, change_at_once(slots, n));
		if (n)
			usleep_range(100, 300);
		cond_resched();
	}
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
		request_run_by(dev, jiffies + HZ / 10);
	}
	if (time_before(dev->enforce_by, jiffies + FAR))
		srdma_pass_run_later(dev, time_after(dev->enforce_by, jiffies) ?
			  dev->enforce_by - jiffies : 1);
	srdma_dev_put(dev);
}

void srdma_enforce_dev_init(struct srdma_dev *dev)
{
	srdma_pass_dev_init(dev, enforce_work);
}

/*
 * Is the QP in a scheduling element, which no application asks for? @error: why; -EAGAIN: the
 * next pass tries to unbind it again. A QP may stay in its element over a RESET, and no command
 * unbinds it before it is in RTS again.
 */
static bool has_element(const struct srdma_qp *q, int *error)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	bool known = test_bit(SRDMA_QP_HAS_STATE, &q->flags);

	if (!hw || !READ_ONCE(hw->element) || test_bit(SRDMA_QP_DEAD, &q->flags))
		return false;
	*error = known && READ_ONCE(q->state) != IB_QPS_RTS ? -EBUSY :
		 READ_ONCE(hw->no_element) == SRDMA_LEAVE ? -EREMOTEIO : -EAGAIN;
	return true;
}

static void count_pending(struct srdma_unrestored *left)
{
	struct srdma_dev *dev;
	unsigned long index;
	struct srdma_qp *q;
	int stays = 0;

	memset(left, 0, sizeof(*left));
	down_read(&srdma_devs_sem);
	xa_for_each(&srdma_devs, index, dev) {
		srdma_for_each_qp(q, dev) {
			bool class = srdma_qp_class_pending(q);
			bool path = srdma_path_pending(q, SRDMA_PATH_SPORT) ||
				    srdma_path_pending(q, SRDMA_PATH_LAG);
			bool rate = has_element(q, &stays);

			if (!class && !path && !rate)
				continue;
			left->n++;
			left->never += !path && (!rate || stays != -EAGAIN) &&
				       (!class || srdma_class_standing(q) == SRDMA_CANNOT);
			strscpy(left->dev, dev->name, sizeof(left->dev));
			left->qpn = q->qpn;
			left->error = class ? q->class_error : path ? -EIO : stays;
		}
	}
	up_read(&srdma_devs_sem);
}

static void skip_retry_delays(bool hurry)
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
	/*
	 * An application may stay in a verb for long. The QPs of others get their class back
	 * meanwhile.
	 */
	srdma_pass_rescan();
	/* A modify that began before srdma_suspended was set may still force a class. */
	srdma_wrappers_wait();
	skip_retry_delays(true);
	for (tries = 0; tries < 5; tries++) {
		srdma_pass_rescan();
		for (index = 0; (dev = srdma_dev_next(&index)); ) {
			flush_delayed_work(&dev->enforce);
			srdma_dev_put(dev);
		}
		count_pending(left);
		if (left->n <= left->never)
			break;
		msleep(RETRY_WANTED_MS);
	}
	skip_retry_delays(false);
}

void srdma_enforce_resume(void)
{
	WRITE_ONCE(srdma_suspended, false);
	srdma_pass_rescan();
}
