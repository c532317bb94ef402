// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A bound on the outstanding requests of the process's QPs on a device.
 *
 * The sum for a device is in .outstanding. Each QP has two sequence numbers up to which its
 * requests are in that sum, .credit_posted and .credit_done; credits_sync() brings them up to
 * what is posted and done, under a lock of the QP. While no bound is in force, no post or poll calls it.
 * When a bound comes into force, and before a post waits, it is called for all QPs.
 *
 * A post reserves its requests in the sum before it posts them, and ends the reservation after
 * they are in the sum as posted ones. So the sum may be too large meanwhile, and never too
 * small.
 *
 * The program may be unable to poll until its blocked post returns. The post therefore polls the
 * completion queues itself, into stashes (stash.c), and goes through
 *  - when requests are outstanding in this QP, and none of them is signalled: they complete only
 *    with a later request;
 *  - when no QP has a signalled request outstanding, or a post under way. A batch that the posting
 *    thread has open on another QP does not count: the thread cannot post it while it waits;
 *  - when the program has never polled this QP's completion queue through the library, or reads the
 *    queue itself (mlx5dv_init_obj()): such requests are not in the sum;
 *  - when nothing completed in an earlier wait of PACE_WAIT_NS, and the library may not poll this
 *    QP's completion queue;
 *  - after PACE_WAIT_NS. If nothing at all completed in that time, further posts go through at once
 *    until a request completes: the peer may be waiting for what the posts hold back.
 */
#include "lib/lib.h"

/* A blocked post spins for this time; then it sleeps for a part of what it has waited. */
#define SPIN_NS 200000
#define SLEEP_NS_MAX 1000000
/* Time in which only the usual poller of a CQ polls it. */
#define PATIENCE_NS 1000000

/* .outstanding has the sum in its low bits, and above them a count of reservations. */
#define SUM_BITS 40

static int64_t sum_of(uint64_t outstanding)
{
	return (int64_t)(outstanding << (64 - SUM_BITS)) >> (64 - SUM_BITS);
}

static uint64_t reservations_of(uint64_t outstanding)
{
	return (outstanding - (uint64_t)sum_of(outstanding)) >> SUM_BITS;
}

int64_t credits_outstanding(const struct device_knobs *knobs)
{
	return sum_of(atomic_load_explicit(&knobs->outstanding, memory_order_relaxed));
}

static void add_outstanding(struct device *dev, int64_t n)
{
	if (n)
		atomic_fetch_add(&dev->knobs.outstanding, (uint64_t)n);
}

/*
 * Whether the program polls the QP's completions through the library. If not, the library does not
 * know when requests complete: they would stay in the sum, and hold up all other QPs, for ever.
 */
static bool is_seen(const struct qp *q)
{
	const struct cq *c = cq_find(q->send_cq);

	return c && !c->shown && (c->by_entry || c->lock.owner);
}

static bool is_counted(struct qp *q)
{
	return atomic_load_explicit(&q->order, memory_order_relaxed) &&
	       __atomic_load_n(&q->key, __ATOMIC_RELAXED) && is_seen(q);
}

void credits_sync(struct qp *q)
{
	enum bias_token token = bias_lock(&q->credit_lock);
	uint32_t posted, done;

	/* The lock is lost, or this is a signal handler that interrupted credits_sync(), which goes on after it. */
	if (token != BIAS_OWNER && token != BIAS_HELD)
		return;
	posted = atomic_load_explicit(&q->posted, memory_order_relaxed);
	/* A QP that was destroyed, has lost its order or is not seen has nothing outstanding. */
	done = is_counted(q) ? atomic_load_explicit(&q->done, memory_order_relaxed) : posted;
	add_outstanding(q->ctx->dev, (int64_t)(int32_t)(posted - q->credit_posted) -
				     (int32_t)(done - q->credit_done));
	q->credit_posted = posted;
	q->credit_done = done;
	bias_unlock(&q->credit_lock, token);
}

void credits_posted(struct qp *q, uint32_t reserved)
{
	if (reserved || atomic_load_explicit(&q->knobs->credits, memory_order_relaxed))
		credits_sync(q);
	if (!reserved)
		return;
	add_outstanding(q->ctx->dev, -(int64_t)reserved);
	atomic_fetch_sub(&q->reserved, reserved);
}

void credits_done(struct qp *q)
{
	struct device_knobs *knobs = &q->ctx->dev->knobs;

	credits_sync(q);
	atomic_fetch_add_explicit(&knobs->completed, 1, memory_order_relaxed);
	if (atomic_load_explicit(&knobs->stalled, memory_order_relaxed))
		atomic_store_explicit(&knobs->stalled, false, memory_order_relaxed);
}

static bool reserve_credits(struct hold *h, uint64_t bound)
{
	_Atomic uint64_t *outstanding = &h->dev->knobs.outstanding;
	uint64_t was = atomic_load_explicit(outstanding, memory_order_relaxed), room;
	int64_t sum;

	do {
		sum = sum_of(was);
		room = sum <= 0 ? UINT64_MAX : (uint64_t)sum < bound ? bound - (uint64_t)sum : 0;
		/* A list that is longer than the bound goes when nothing is outstanding. */
		if (h->want > room)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(outstanding, &was,
							was + h->want + (1ull << SUM_BITS),
							memory_order_relaxed,
							memory_order_relaxed));
	atomic_fetch_add(&h->q->reserved, h->want);
	h->reserved = h->want;
	return true;
}

static uint32_t count_signalled(struct qp *q)
{
	/* Acquire: .done is not older than .sig_done, see retire_oldest(). */
	uint32_t done = atomic_load_explicit(&q->sig_done, memory_order_acquire);

	return atomic_load_explicit(&q->sig_posted, memory_order_relaxed) - done;
}

static bool qp_is_on_device(const struct device *dev, struct qp *q)
{
	const struct context *c = q->ctx;

	/* A struct that was never used has no context. */
	return c && c->dev == dev && __atomic_load_n(&q->key, __ATOMIC_RELAXED);
}

static void poll_cq_of(const struct hold *h, const struct ibv_cq *key)
{
	struct cq *c = cq_find(key);

	if (c && stash_can(c))
		stash_fill(c, 16, h->now - h->began >= PATIENCE_NS);
}

/*
 * Whether this thread has a batch of ibv_wr_*() open on the QP, with .sq held. The batch cannot be
 * posted while the thread waits.
 */
static bool builds_batch(const struct qp *q)
{
	const struct bias *b = &q->sq;
	uintptr_t me = self_thread();

	if (atomic_load_explicit(&b->holder, memory_order_relaxed) == me)
		return true;
	return atomic_load_explicit(&b->owner, memory_order_relaxed) == me &&
	       atomic_load_explicit(&b->inside, memory_order_relaxed);
}

/* Brings the sum up to date, and polls. False: nothing that is outstanding can complete. */
static bool poll_for_credits(struct hold *h)
{
	const struct ibv_cq *polled = NULL;
	bool some = false;

	credits_sync(h->q);
	for (struct qp *q = qp_all(); q; q = q->next_all) {
		if (!qp_is_on_device(h->dev, q))
			continue;
		credits_sync(q);
		if (!is_counted(q))
			continue;
		/* A post that holds credits will soon be outstanding, unless it is a batch of this thread. */
		some |= atomic_load_explicit(&q->reserved, memory_order_relaxed) && !builds_batch(q);
		if (!count_signalled(q))
			continue;
		some = true;
		/* Neighbours in the list mostly share a CQ, which is then polled once. */
		if (h->began && q->send_cq != polled) {
			polled = q->send_cq;
			poll_cq_of(h, polled);
		}
	}
	return some && (count_signalled(h->q) || h->q->posted == h->q->done);
}

/* Whether the program polls this QP's completions, or the library may do so instead. */
static bool is_polled(const struct hold *h)
{
	const struct device_knobs *knobs = &h->dev->knobs;
	const struct cq *c = cq_find(h->q->send_cq);

	return is_seen(h->q) &&
	       atomic_load_explicit(&c->exempt, memory_order_relaxed) !=
	       atomic_load_explicit(&knobs->epoch, memory_order_relaxed);
}

static void report_unable(struct device *dev)
{
	atomic_store_explicit(&dev->knobs.unable, true, memory_order_relaxed);
	control_state(dev, SWIFTRDMA_SHARE_KNOB_CREDITS, SWIFTRDMA_KNOB_STATE_UNABLE);
}

/*
 * After a wait without a completion: decides whether posts stop waiting, and whether this CQ
 * cannot be bounded.
 */
static void note_vain_wait(const struct hold *h, uint64_t completed)
{
	struct cq *c = cq_find(h->q->send_cq);

	if (atomic_load_explicit(&h->dev->knobs.completed, memory_order_relaxed) != completed)
		return;
	atomic_store_explicit(&h->dev->knobs.stalled, true, memory_order_relaxed);
	if (c && !stash_can(c)) {
		atomic_store_explicit(&c->exempt, h->dev->knobs.epoch, memory_order_relaxed);
		report_unable(h->dev);
	}
}

static uint64_t pause_ns(const struct hold *h)
{
	uint64_t waited = h->began ? h->now - h->began : 0;

	if (waited < SPIN_NS)
		return 1;
	return waited / 8 < SLEEP_NS_MAX ? waited / 8 : SLEEP_NS_MAX;
}

/* Waits until there is room; false: there is none, and the call goes through. */
static bool wait_for_room(struct hold *h)
{
	struct device_knobs *knobs = &h->dev->knobs;
	uint64_t completed = atomic_load_explicit(&knobs->completed, memory_order_relaxed);

	for (;;) {
		uint64_t bound = atomic_load_explicit(&knobs->credits, memory_order_relaxed);
		uint64_t was = atomic_load(&knobs->outstanding);
		bool can = poll_for_credits(h);

		if (!bound || reserve_credits(h, bound))
			return true;
		/* Another post has taken the room meanwhile, and its requests can complete. */
		can |= reservations_of(was) != reservations_of(atomic_load(&knobs->outstanding));
		/* The outstanding requests complete only with later ones, or the library does not see them complete. */
		if (!can || !is_polled(h)) {
			report_unable(h->dev);
			return false;
		}
		if (atomic_load_explicit(&knobs->stalled, memory_order_relaxed))
			return false;
		if (!hold_on(h, SWIFTRDMA_SHARE_KNOB_CREDITS, pause_ns(h))) {
			if (*h->q->alive)
				note_vain_wait(h, completed);
			return false;
		}
	}
}

/*
 * The program has not polled the completion queue yet, or the library does not see that it does. The
 * post never waits; if the QP then has more requests than the bound, the knob is reported as unable.
 */
static void enter_unseen(const struct hold *h, uint64_t bound)
{
	uint32_t open = atomic_load_explicit(&h->q->posted, memory_order_relaxed) -
			atomic_load_explicit(&h->q->done, memory_order_relaxed);

	if (open && (uint64_t)open + h->want > bound) {
		report_unable(h->dev);
		hold_pass(h, SWIFTRDMA_SHARE_KNOB_CREDITS);
	}
}

void credits_enter(struct hold *h)
{
	uint64_t bound = atomic_load_explicit(&h->dev->knobs.credits, memory_order_relaxed);

	if (!bound)
		return;
	if (!atomic_load_explicit(&h->q->order, memory_order_relaxed)) {
		report_unable(h->dev);
		return;
	}
	if (!is_seen(h->q)) {
		enter_unseen(h, bound);
		return;
	}
	if (!reserve_credits(h, bound) && !wait_for_room(h))
		hold_pass(h, SWIFTRDMA_SHARE_KNOB_CREDITS);
}

void credits_set(struct device *dev, uint64_t bound)
{
	struct device_knobs *h = &dev->knobs;
	uint64_t was = atomic_exchange(&h->credits, bound);

	if (was == bound)
		return;
	atomic_store_explicit(&h->unable, false, memory_order_relaxed);
	atomic_store_explicit(&h->stalled, false, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->epoch, 1, memory_order_relaxed);
	/* Pollers update the sum only while a bound is in force; what they missed is added now. */
	if (!was)
		for (struct qp *q = qp_all(); q; q = q->next_all)
			if (qp_is_on_device(dev, q))
				credits_sync(q);
}
