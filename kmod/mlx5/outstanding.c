// SPDX-License-Identifier: GPL-2.0
/*
 * How many WQEBBs are outstanding in send queues, at random times. QUERY_QP tells in one
 * answer how far the queue was filled (sw_sq_wqebb_counter) and how much of it the device
 * has completed (hw_sq_wqebb_counter); the sampler (sampler.c) counts the throughput. By
 * Little's law the mean of the former divided by the latter is the mean time that a WQEBB
 * spends in the queue, which user space works out from two readings.
 *
 * The law needs an average over time, so neither the time of a look nor the choice of its QP may
 * depend on the traffic: a thread draws one of all records that are swept, with equal probability,
 * at times whose distances are uniformly random. The thread checks the limit on commands before it
 * draws the QP, because a later check could depend on how full the queue is.
 *
 * A command may take longer where queues are full, so the time of a look must not depend on the
 * end of the look before. A time that passes during a look is skipped. The mean distance is at
 * least LOOKS_APART times the duration of a look, so few times are skipped.
 *
 * To a program, a request without a CQE ends with the next one that has a CQE. By the same law, the
 * mean number of WQEBBs that are complete and not covered by a CQE tells the time until then. The
 * queue itself tells this number (sq.c), where its memory can be read.
 *
 * Each look costs a command, or none where the queue was seen empty and nothing has been
 * posted since. The thread sends a share of max_commands at the most, and none unless a
 * reader asked for these figures within the last WATCH_NS.
 */
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>

#include "mlx5.h"
#include "param.h"

SRDMA_PARAM(outstanding_share, 25, 0, 50,
	    "share of max_commands that looks at send queues may take while a reader wants them, 0 to 50 %, 0: none (25)");

/* Longer than the intervals at which agents and people read again. */
#define WATCH_NS	(10ULL * NSEC_PER_SEC)

/* Pause after a command that the device refused, so that it is not repeated at once. */
#define REFUSED_NS	NSEC_PER_SEC

/* Least mean distance between two looks, as a multiple of the duration of a look. */
#define LOOKS_APART	5

/* Looks over which the duration of a look is averaged, as a power of two. */
#define TOOK_SHIFT	6

/* Most draws until a record is in use; few of many records may be in use. */
#define DRAWS		64

static bool is_watched(struct srdma_mlx5 *md)
{
	return ktime_get_ns() < READ_ONCE(md->watched_until) && READ_ONCE(outstanding_share);
}

void srdma_outstanding_watch(struct srdma_mlx5 *md)
{
	WRITE_ONCE(md->watched_until, ktime_get_ns() + WATCH_NS);
	wake_up(&md->looks_wait);
}

/* A reset discards what the last look found, and the doorbell record does not show it. */
void srdma_outstanding_reset(struct srdma_qp *q)
{
	struct srdma_outstanding *o = READ_ONCE(q->hw->outstanding);

	if (o)
		WRITE_ONCE(o->drained, SRDMA_NOT_DRAINED);
}

/* Uniformly random, up to twice the mean. @took: ns that a look takes */
static u64 random_distance(u64 took)
{
	u32 rate = max(srdma_cmd_max() * READ_ONCE(outstanding_share) / 100, 1u);
	u64 mean = max_t(u64, NSEC_PER_SEC / rate, LOOKS_APART * took);

	return mul_u64_u32_shr(2 * mean, get_random_u32(), 32) + 1;
}

/*
 * Only the device's looks_thread() adds to these figures, so the additions need no lock.
 * @uncovered: WQEBBs, or SRDMA_UNCOVERED_UNKNOWN.
 */
static void add_sample(struct srdma_qp *q, struct srdma_outstanding *o, u32 wqebbs, u32 uncovered)
{
	WRITE_ONCE(o->wqebbs, o->wqebbs + wqebbs);
	WRITE_ONCE(o->squares, o->squares + (u64)wqebbs * wqebbs);
	WRITE_ONCE(o->samples, o->samples + 1);
	if (uncovered != SRDMA_UNCOVERED_UNKNOWN) {
		WRITE_ONCE(o->uncovered, o->uncovered + uncovered);
		WRITE_ONCE(o->uncovered_squares,
			   o->uncovered_squares + (u64)uncovered * uncovered);
		WRITE_ONCE(o->uncovered_samples, o->uncovered_samples + 1);
	}
	srdma_qp_touch(q);
}

/*
 * Can the answer be true? The WQEBBs that the device has not completed have to fit the queue. So
 * do those that it does not know of yet, beside those that were posted meanwhile.
 */
static bool is_plausible(const struct srdma_sq *sq, u16 posted_before, u16 posted)
{
	u32 size = 1U << sq->log_size;

	return (u16)(sq->posted - sq->completed) <= size &&
	       (u16)(posted - sq->posted) <= size + (u16)(posted - posted_before);
}

/* A command. -errno: it was refused, or failed. */
static int sample_queue(struct srdma_mlx5 *md, struct srdma_qp *q,
			const struct srdma_posted *before)
{
	struct srdma_outstanding *o = srdma_qp_outstanding(q);
	struct srdma_posted after;
	struct srdma_wqes wqes;
	struct srdma_sq sq;
	int ret = srdma_cmd_query_sq(md, q->qpn, &sq);

	/* The answer may be of another QP by now, or of the time before a RESET. */
	if (!srdma_record_posted(md, q, before->slot, &after))
		return 0;
	if (ret || !o)
		return ret;
	if (!is_plausible(&sq, before->record, after.record))
		return 0;
	if (!srdma_record_wqes(md, q, before->slot, &sq, o->blocks, &wqes))
		return 0;
	WRITE_ONCE(o->readable, wqes.readable);
	WRITE_ONCE(o->blocks, wqes.blocks);
	if (wqes.changed)
		WRITE_ONCE(o->changes, o->changes + 1);
	o->drained_uncovered = wqes.uncovered;
	if (sq.posted == sq.completed)
		o->drained = after.total - (u16)(after.record - sq.posted);
	else
		o->drained = SRDMA_NOT_DRAINED;
	add_sample(q, o, (u16)(sq.posted - sq.completed), wqes.uncovered);
	return 0;
}

/* One look at one QP. -errno: the device does not answer as it should. */
static int take_sample(struct srdma_mlx5 *md)
{
	struct srdma_outstanding *o;
	struct srdma_posted posted;
	struct srdma_qp *q = NULL;
	int draws, ret = 0;

	if (!srdma_cmd_may(md))
		return 0;
	for (draws = 0; !q && draws < DRAWS; draws++)
		q = srdma_record_draw(md, &posted);
	if (!q)
		return 0;
	o = READ_ONCE(q->hw->outstanding);
	if (o && o->samples && o->drained == posted.total)
		add_sample(q, o, 0, o->drained_uncovered);
	else
		ret = sample_queue(md, q, &posted);
	srdma_qp_put(q);
	return ret;
}

static int looks_thread(void *data)
{
	struct srdma_mlx5 *md = data;
	u64 next = 0, took = 0, start;

	while (!kthread_should_stop()) {
		wait_event_idle(md->looks_wait, kthread_should_stop() || is_watched(md));
		start = ktime_get_ns();
		/* Begin anew after a pause without watchers. */
		if (next + WATCH_NS < start)
			next = start;
		while (next <= start)
			next += random_distance(took);
		srdma_sleep_until(next);
		if (kthread_should_stop() || !is_watched(md))
			continue;
		start = ktime_get_ns();
		if (take_sample(md))
			next += REFUSED_NS;
		took += ((s64)(ktime_get_ns() - start) - (s64)took) >> TOOK_SHIFT;
	}
	return 0;
}

int srdma_outstanding_start(struct srdma_mlx5 *md)
{
	init_waitqueue_head(&md->looks_wait);
	/*
	 * A real-time thread: on a busy machine, the times at which any other thread runs would
	 * depend on the traffic.
	 */
	return srdma_thread_start(md, looks_thread, "swiftrdma-sq", &md->looks);
}

void srdma_outstanding_stop(struct srdma_mlx5 *md)
{
	kthread_stop(md->looks);
}
