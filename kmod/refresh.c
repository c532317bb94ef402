// SPDX-License-Identifier: GPL-2.0
/*
 * What refresh.h says: figures that take commands are found out by a work item of
 * each device.
 */
#include <linux/jiffies.h>

#include "adopt.h"
#include "compat.h"
#include "counters.h"
#include "find.h"
#include "mr.h"
#include "refresh.h"

/*
 * Longer than any of the steps takes on a device that works: hundreds of commands.
 * And short enough for an agent that had to wait for one to keep its lease.
 */
#define ANSWER_TIME	(2 * HZ)

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
		srdma_adopt_recheck(dev);
		if (ops->learn)
			ops->learn(dev);
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

/* Is there anything that this step would find out? */
static bool has_step(struct srdma_dev *dev, const struct srdma_provider_ops *ops,
		     enum srdma_refresh_kind kind)
{
	switch (kind) {
	case SRDMA_REFRESH_DEV:
		return ops->refresh;
	case SRDMA_REFRESH_QPS:
		/* Where asking costs, the provider has more to find out than these. */
		return !dev->query_is_cheap || READ_ONCE(dev->unlearned) ||
		       atomic_read(&dev->n_unsure);
	case SRDMA_REFRESH_MRS:
		return ops->mr_shift;
	default:
		return true;
	}
}

/* False: the device goes, or it takes commands and the reader may cause none. */
static bool may_ask(struct srdma_dev *dev, bool admin)
{
	lockdep_assert_held(&srdma_devs_sem);
	return srdma_dev_is_there(dev) && (admin || dev->query_is_cheap);
}

static bool ask(struct srdma_dev *dev, u32 kinds, bool admin)
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
	return true;
}

/* Are all requests served of which @asked has the numbers? */
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

	for (kind = 0; kind < SRDMA_REFRESH_KINDS; kind++)
		if (kinds & BIT(kind))
			asked[kind] = atomic64_read(&r->asked[kind]);
	if (kinds & BIT(SRDMA_REFRESH_QPS))
		sample = atomic64_read(&r->sample_asked);
	wait_event_killable_timeout(r->wait, atomic64_read_acquire(&r->sample_done) >= sample,
				    ANSWER_TIME);
	/* One reader has waited for it in vain: the others do not. */
	if (since && time_after_eq(jiffies, since + ANSWER_TIME))
		return;
	wait_event_killable_timeout(r->wait, is_done(r, asked), ANSWER_TIME);
}

void srdma_refresh(struct srdma_dev *dev, u32 kinds, bool admin)
{
	bool asked;

	down_read(&srdma_devs_sem);
	asked = ask(dev, kinds, admin);
	up_read(&srdma_devs_sem);
	if (asked)
		wait_until_done(dev, kinds);
}

/* All are asked before the first one is waited for. */
void srdma_refresh_all(u32 kinds, bool admin)
{
	struct srdma_dev *dev;
	unsigned long index;
	bool asked;

	down_read(&srdma_devs_sem);
	xa_for_each(&srdma_devs, index, dev)
		ask(dev, kinds, admin);
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
	ask(dev, kinds, true);
	up_read(&srdma_devs_sem);
}
