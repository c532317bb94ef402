// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler: a thread of each device that reads the doorbell records of all QPs that can
 * send, again and again. A record counts to 65535 and begins anew, so a QP that posts max_rate
 * WQEBBs a second has to be read every 65536 / max_rate seconds. The count of a QP that was
 * read later than that is marked as ambiguous, for good.
 *
 * The sampler runs while any QP can send, whether or not there is a reader. If it stopped
 * without readers, the wraps in the pause would be lost, and with them the count of each QP
 * since its creation, of each QP that was destroyed in the pause, and of their UARs and jobs.
 *
 * Its share of one CPU is bounded by budget: the more QPs, the longer the thread sleeps. It
 * is a real-time thread of the lowest priority, because its figures matter most on a busy
 * machine; the budget bounds that, too.
 *
 * While a QP can send, no other thread adds to its count, but for a modify or destroy of the QP. A
 * reader of figures waits for a sweep that began after its request; many readers share one.
 * Without requests, the counts are added to QPs and UARs four times a second.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "mlx5.h"
#include "param.h"

static bool sampler = true;
module_param(sampler, bool, 0444);
MODULE_PARM_DESC(sampler, "read doorbell records, to count work requests (Y)");

SRDMA_PARAM(period_us, 4000, 100, 1000000,
	    "time between two sweeps, 100 to 1000000 us (4000)");
SRDMA_PARAM(budget, 2, 1, 50, "most that sweeps may take of one CPU, 1 to 50 % (2)");
SRDMA_PARAM(max_rate, 10000000, 1000, 1000000000,
	    "WQEBBs a second that one QP can post, 1000 to 1000000000 (10000000)");

/* Stretch of time over which srdma_sampler_recent() counts. */
#define WINDOW_NS	(NSEC_PER_SEC / 4)

/* Interval of updates without a request: readers without privileges cannot request one. */
#define PUSH_NS		(NSEC_PER_SEC / 4)

bool srdma_sampler_wanted(void)
{
	return sampler;
}

/* How long an entry that is ON may go without a look, ns. */
static u64 gap_limit(void)
{
	return div_u64(65536ULL * NSEC_PER_SEC, READ_ONCE(max_rate));
}

/* A QP of the page has moved in this sweep: count the first one and the second one. */
static void count_active_sweep(struct srdma_uar *page, u64 sweep, u64 window, u16 delta)
{
	if (page->mark != sweep) {
		page->mark = sweep;
		page->twice = false;
		WRITE_ONCE(page->active, page->active + 1);
	} else if (!page->twice) {
		page->twice = true;
		WRITE_ONCE(page->coactive, page->coactive + 1);
	}
	if (page->window != window) {
		page->before = page->window + 1 == window ? page->now : 0;
		page->now = 0;
		page->window = window;
	}
	page->now += delta;
}

u64 srdma_sampler_recent(const struct srdma_uar *page)
{
	u64 window = div_u64(ktime_get_ns(), WINDOW_NS);

	if (READ_ONCE(page->window) == window)
		return READ_ONCE(page->now) + READ_ONCE(page->before);
	return READ_ONCE(page->window) + 1 == window ? READ_ONCE(page->now) : 0;
}

static void sweep_entry(struct srdma_block *b, u32 i, bool push, bool late, u64 sweep, u64 window)
{
	struct srdma_entry *e = &b->entry[i];
	u16 delta;

	if (e->state == SRDMA_ENTRY_OFF)
		return;
	if (late && e->state == SRDMA_ENTRY_ON)
		e->ambiguous = true;
	if ((push || e->state == SRDMA_ENTRY_ON) && srdma_record_look(e, &delta) && e->page)
		count_active_sweep(e->page, sweep, window, delta);
	if (push)
		srdma_record_push(e, &b->slot[i]);
}

/* Read all records, 128 at a time without being preempted. @push: add the counts to the QPs. */
static void sweep_records(struct srdma_mlx5 *md, bool push)
{
	u64 number = atomic64_read(&md->dev->sweeps) + 1, limit = gap_limit();
	u32 n, i, blocks = smp_load_acquire(&md->n_blocks);	/* pairs with add_block() */
	struct srdma_block *b;
	u64 now, gap, window;

	for (n = 0; n < blocks; n++) {
		b = xa_load(&md->blocks, n);
		spin_lock(&b->lock);
		now = ktime_get_ns();
		window = div_u64(now, WINDOW_NS);
		gap = now - b->swept;
		if (b->n_on && gap > md->gap_ns)
			WRITE_ONCE(md->gap_ns, gap);
		if (b->n_on || push)
			for (i = 0; i < SRDMA_BLOCK; i++)
				sweep_entry(b, i, push, b->n_on && gap > limit, number, window);
		b->swept = now;
		spin_unlock(&b->lock);
		cond_resched();
	}
	atomic64_set(&md->dev->sweeps, number);
}

static bool is_asked(struct srdma_mlx5 *md)
{
	struct srdma_refresh *r = &md->dev->refresh;

	return atomic64_read(&r->sample_asked) != atomic64_read(&r->sample_done);
}

void srdma_sleep_until(u64 ns)
{
	ktime_t until = ns_to_ktime(ns);

	set_current_state(TASK_IDLE);
	if (!kthread_should_stop())
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	__set_current_state(TASK_RUNNING);
}

/* Sleep for @ns, unless a reader asks. */
static void sleep_until_asked(struct srdma_mlx5 *md, u64 ns)
{
	ktime_t until = ktime_add_ns(ktime_get(), ns);
	DEFINE_WAIT(wait);

	prepare_to_wait(&md->wait, &wait, TASK_IDLE);
	if (!kthread_should_stop() && !is_asked(md))
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	finish_wait(&md->wait, &wait);
}

/* Wait for a QP that can send, or for a reader. True: sweep now. */
static bool wait_for_work(struct srdma_mlx5 *md)
{
	bool idle = !atomic_read(&md->n_on);

	wait_event_idle(md->wait, kthread_should_stop() || is_asked(md) || atomic_read(&md->n_on));
	/*
	 * A QP that has just become able to send has posted nothing yet, and may not live
	 * long.
	 */
	if (idle && !is_asked(md))
		sleep_until_asked(md, (u64)READ_ONCE(period_us) * NSEC_PER_USEC);
	return is_asked(md) || atomic_read(&md->n_on);
}

static int sampler_thread(void *data)
{
	struct srdma_mlx5 *md = data;
	struct srdma_dev *dev = md->dev;
	struct srdma_refresh *r = &dev->refresh;
	u64 start, cost, due, period;
	s64 asked;
	bool push;

	while (!kthread_should_stop()) {
		if (!wait_for_work(md))
			continue;
		asked = atomic64_read(&r->sample_asked);
		start = ktime_get_ns();
		push = asked != atomic64_read(&r->sample_done) ||
		       start - atomic64_read(&dev->wrs_at) >= PUSH_NS;
		sweep_records(md, push);
		cost = ktime_get_ns() - start;
		WRITE_ONCE(md->sweep_ns, md->sweep_ns + cost);
		if (push) {
			atomic64_set(&dev->wrs_at, start);
			atomic64_set_release(&r->sample_done, asked);
			wake_up_all(&r->wait);
		}
		due = div_u64(cost * (100 - READ_ONCE(budget)), READ_ONCE(budget));
		period = (u64)READ_ONCE(period_us) * NSEC_PER_USEC;
		/* Keep to the budget, even if a reader asks meanwhile. */
		srdma_sleep_until(ktime_get_ns() + due);
		if (due < period)
			sleep_until_asked(md, period - due);
	}
	/* Release all waiting readers. */
	atomic64_set(&r->sample_done, S64_MAX);
	wake_up_all(&r->wait);
	return 0;
}

s64 srdma_sampler_ask(struct srdma_mlx5 *md)
{
	s64 number = atomic64_inc_return(&md->dev->refresh.sample_asked);

	wake_up(&md->wait);
	return number;
}

void srdma_sampler_refresh(struct srdma_mlx5 *md)
{
	struct srdma_refresh *r = &md->dev->refresh;
	s64 number = srdma_sampler_ask(md);

	wait_event(r->wait, atomic64_read_acquire(&r->sample_done) >= number);
}

int srdma_thread_start(struct srdma_mlx5 *md, int (*fn)(void *md), const char *name,
		       struct task_struct **thread)
{
	struct task_struct *t = kthread_create(fn, md, "%s/%s", name, md->dev->name);

	if (IS_ERR(t))
		return PTR_ERR(t);
	sched_set_fifo_low(t);
	*thread = t;
	wake_up_process(t);
	return 0;
}

int srdma_sampler_start(struct srdma_mlx5 *md)
{
	struct srdma_refresh *r = &md->dev->refresh;

	init_waitqueue_head(&md->wait);
	/* Readers that waited for an earlier sampler were released when it stopped. */
	atomic64_set(&r->sample_done, atomic64_read(&r->sample_asked));
	atomic64_set(&md->dev->wrs_at, ktime_get_ns());
	return srdma_thread_start(md, sampler_thread, "swiftrdma", &md->thread);
}

/* No reader is left. */
void srdma_sampler_stop(struct srdma_mlx5 *md)
{
	kthread_stop(md->thread);
}
