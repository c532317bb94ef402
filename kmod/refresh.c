// SPDX-License-Identifier: GPL-2.0
/* Refreshes figures that take commands, in a work item of each device. */
#include <linux/jiffies.h>

#include "compat.h"
#include "counters.h"
#include "find.h"
#include "mr.h"
#include "refresh.h"

/*
 * How long a reader waits for a device. Longer than any step (hundreds of commands) takes
 * on a device that works, and short enough for an agent that waits for one device to keep
 * its lease: an agent lets a third of the default 2 s pass before it renews.
 */
#define ANSWER_TIME	(5 * HZ / 4)

static void run_step(struct srdma_dev *dev, enum srdma_refresh_kind kind)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);

	switch (kind) {
	case SRDMA_REFRESH_PORTS:
		srdma_ports_read(dev, ops);
		break;
	case SRDMA_REFRESH_DEV:
		if (ops->refresh)
			ops->refresh(dev);
		break;
	case SRDMA_REFRESH_QPS:
		dev->refresh.learn_qps(dev);
		break;
	case SRDMA_REFRESH_MRS:
		srdma_mr_ask(dev, ops);
		break;
	default:
		break;
	}
}

static void refresh_work(struct work_struct *work)
{
	struct srdma_refresh *r = container_of(work, struct srdma_refresh, work);
	struct srdma_dev *dev = container_of(r, struct srdma_dev, refresh);
	enum srdma_refresh_kind kind;
	s64 asked;

	for (kind = 0; kind < SRDMA_REFRESH_KINDS; kind++) {
		asked = atomic64_read(&r->asked[kind]);
		if (asked == atomic64_read(&r->done[kind]))
			continue;
		WRITE_ONCE(r->step_since, jiffies | 1);
		run_step(dev, kind);
		WRITE_ONCE(r->step_since, 0);
		atomic64_set_release(&r->done[kind], asked);
		wake_up_all(&r->wait);
	}
}

void srdma_refresh_init(struct srdma_dev *dev)
{
	INIT_WORK(&dev->refresh.work, refresh_work);
	init_waitqueue_head(&dev->refresh.wait);
}

void srdma_refresh_stop(struct srdma_dev *dev)
{
	struct srdma_refresh *r = &dev->refresh;
	enum srdma_refresh_kind kind;

	cancel_work_sync(&r->work);
	for (kind = 0; kind < SRDMA_REFRESH_KINDS; kind++)
		atomic64_set(&r->done[kind], S64_MAX);
	wake_up_all(&r->wait);
}

void srdma_refresh_flush(struct srdma_dev *dev)
{
	flush_work(&dev->refresh.work);
}

/* Does the device have figures of this kind to read? */
static bool has_step(struct srdma_dev *dev, const struct srdma_provider_ops *ops,
		     enum srdma_refresh_kind kind)
{
	switch (kind) {
	case SRDMA_REFRESH_DEV:
		return ops->refresh;
	case SRDMA_REFRESH_QPS:
		/* Where queries are commands, QPs that were not adopted are queried, too. */
		return !dev->query_is_cheap || READ_ONCE(dev->unqueried) ||
		       atomic_read(&dev->n_unsure);
	case SRDMA_REFRESH_MRS:
		return ops->mr_shift;
	default:
		return true;
	}
}

/* False: the device is going, or refreshing takes commands and the reader may not cause any. */
static bool may_ask(struct srdma_dev *dev, bool admin)
{
	lockdep_assert_held(&srdma_devs_sem);
	return srdma_dev_is_there(dev) && (admin || dev->query_is_cheap);
}

static bool request_steps(struct srdma_dev *dev, u32 kinds, bool admin)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);
	enum srdma_refresh_kind kind;
	bool any = false;

	if (!may_ask(dev, admin))
		return false;
	for (kind = 0; kind < SRDMA_REFRESH_KINDS; kind++) {
		if (!(kinds & BIT(kind)) || !has_step(dev, ops, kind))
			continue;
		atomic64_inc(&dev->refresh.asked[kind]);
		any = true;
	}
	if (any)
		queue_work(system_dfl_wq, &dev->refresh.work);
	if (kinds & BIT(SRDMA_REFRESH_QPS) && ops->sample)
		ops->sample(dev);
	if (kinds & BIT(SRDMA_REFRESH_OUTSTANDING) && ops->watch)
		ops->watch(dev);
	return true;
}

/* Have all requests up to the numbers in @asked been served? */
static bool is_done(struct srdma_refresh *r, const s64 *asked)
{
	enum srdma_refresh_kind kind;

	for (kind = 0; kind < SRDMA_REFRESH_KINDS; kind++)
		if (atomic64_read_acquire(&r->done[kind]) < asked[kind])
			return false;
	return true;
}

static void wait_until_done(struct srdma_dev *dev, u32 kinds)
{
	struct srdma_refresh *r = &dev->refresh;
	s64 asked[SRDMA_REFRESH_KINDS] = {}, sample = 0;
	unsigned long since = READ_ONCE(r->step_since);
	enum srdma_refresh_kind kind;
	long left;

	for (kind = 0; kind < SRDMA_REFRESH_KINDS; kind++)
		if (kinds & BIT(kind))
			asked[kind] = atomic64_read(&r->asked[kind]);
	if (kinds & BIT(SRDMA_REFRESH_QPS))
		sample = atomic64_read(&r->sample_asked);
	left = wait_event_killable_timeout(r->wait,
					   atomic64_read_acquire(&r->sample_done) >= sample,
					   ANSWER_TIME);
	/*
	 * A reader has waited in vain for the step that runs now: do not wait for that step
	 * again.
	 */
	if (left <= 0 || (since && time_after_eq(jiffies, since + ANSWER_TIME)))
		return;
	wait_event_killable_timeout(r->wait, is_done(r, asked), left);
}

void srdma_refresh(struct srdma_dev *dev, u32 kinds, bool admin)
{
	bool asked;

	down_read(&srdma_devs_sem);
	asked = request_steps(dev, kinds, admin);
	up_read(&srdma_devs_sem);
	if (asked)
		wait_until_done(dev, kinds);
}

/* Request the steps of all devices before waiting for the first one. */
void srdma_refresh_all(u32 kinds, bool admin)
{
	struct srdma_dev *dev;
	unsigned long index;
	bool asked;

	down_read(&srdma_devs_sem);
	xa_for_each(&srdma_devs, index, dev)
		request_steps(dev, kinds, admin);
	up_read(&srdma_devs_sem);
	for (index = 0; (dev = srdma_dev_next(&index)); ) {
		down_read(&srdma_devs_sem);
		asked = may_ask(dev, admin);
		up_read(&srdma_devs_sem);
		if (asked)
			wait_until_done(dev, kinds);
		srdma_dev_put(dev);
	}
}

void srdma_refresh_start(struct srdma_dev *dev, u32 kinds)
{
	down_read(&srdma_devs_sem);
	request_steps(dev, kinds, true);
	up_read(&srdma_devs_sem);
}
