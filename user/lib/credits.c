// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A bound on the outstanding requests of the process's QPs on a device.
 *
 * The device's sum is .outstanding. Each QP has two sequence numbers up to which it is in
 * that sum, .credit_posted and .credit_done. Whoever moves one of them by an atomic exchange
 * adds the difference to the sum, so the sum is always that of all QPs' differences, whatever
 * threads do at once. While the bound is not in force nobody moves them; a walk over all
 * QPs brings them up to date when it comes into force, and before a post waits.
 *
 * A blocked post may be all that keeps the program from polling. It therefore polls the
 * completion queues itself, into stashes (stash.c), and goes through
 *  - when nothing that is outstanding can complete, because no signalled request is
 *    outstanding: neither in this QP nor, if this QP has none at all, in the others;
 *  - when the program has never polled its completion queue through the library, or not in a
 *    wait of PACE_WAIT_NS, and the library may not poll that either;
 *  - after PACE_WAIT_NS. If nothing at all completed in that time, posts do not wait until
 *    something has: the peer may be waiting for them.
 */
#include "lib/lib.h"

/* For so long a blocked post only spins; then it sleeps for a part of what it has waited. */
#define SPIN_NS 200000
#define SLEEP_NS_MAX 1000000
/* For so long the thread that polls a CQ has it to itself. */
#define PATIENCE_NS 1000000

/* With two different sequence numbers of one QP, which are never far from each other. */
static void add(struct device *dev, uint32_t posted, uint32_t done)
{
	int32_t d = (int32_t)(posted - done);

	if (d)
		atomic_fetch_add_explicit(&dev->hands.outstanding, d, memory_order_relaxed);
}

static bool is_counted(struct qp *q)
{
	return atomic_load_explicit(&q->order, memory_order_relaxed) &&
	       __atomic_load_n(&q->key, __ATOMIC_RELAXED);
}

void credits_sync(struct qp *q)
{
	uint32_t posted = atomic_load_explicit(&q->posted, memory_order_relaxed);
	/* Of a QP that is gone, or whose order is, nothing is outstanding. */
	uint32_t done = is_counted(q) ? atomic_load_explicit(&q->done, memory_order_relaxed) : posted;
	struct device *dev = q->ctx->dev;

	add(dev, posted, atomic_exchange(&q->credit_posted, posted));
	add(dev, atomic_exchange(&q->credit_done, done), done);
}

void credits_done(struct qp *q)
{
	uint32_t done = atomic_load_explicit(&q->done, memory_order_relaxed);
	struct hands *h = &q->ctx->dev->hands;

	add(q->ctx->dev, atomic_exchange(&q->credit_done, done), done);
	atomic_fetch_add_explicit(&h->completed, 1, memory_order_relaxed);
	if (atomic_load_explicit(&h->stalled, memory_order_relaxed))
		atomic_store_explicit(&h->stalled, false, memory_order_relaxed);
}

static bool reserve(struct hold *h, uint64_t bound)
{
	_Atomic int64_t *sum = &h->dev->hands.outstanding;
	int64_t was = atomic_load_explicit(sum, memory_order_relaxed);
	int64_t want = h->n ? h->n : 1;

	do {
		/* A list that is longer than the bound goes when nothing is outstanding. */
		if (was > 0 && ((uint64_t)was >= bound || (uint64_t)want > bound - (uint64_t)was))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(sum, &was, was + h->n,
							memory_order_relaxed,
							memory_order_relaxed));
	atomic_fetch_add_explicit(&h->q->credit_posted, h->n, memory_order_relaxed);
	return true;
}

static uint32_t signalled(struct qp *q)
{
	return atomic_load_explicit(&q->sig_posted, memory_order_relaxed) -
	       atomic_load_explicit(&q->sig_done, memory_order_relaxed);
}

static bool is_of(const struct device *dev, struct qp *q)
{
	const struct context *c = q->ctx;

	/* A struct that is being used again has no context yet. */
	return c && c->dev == dev && is_counted(q);
}

static void poll_for(const struct hold *h, const struct ibv_cq *key)
{
	struct cq *c = table_find(key);

	if (c && stash_can(c))
		stash_fill(c, 16, h->now - h->began >= PATIENCE_NS);
}

/* Brings the sum up to date, and polls. False: nothing that is outstanding can complete. */
static bool look(struct hold *h)
{
	const struct ibv_cq *polled = NULL;
	bool some = false;

	credits_sync(h->q);
	for (struct qp *q = qp_all(); q; q = q->next_all) {
		if (!is_of(h->dev, q))
			continue;
		credits_sync(q);
		if (!signalled(q))
			continue;
		some = true;
		/* Most QPs that lie together share a CQ. */
		if (h->began && q->send_cq != polled) {
			polled = q->send_cq;
			poll_for(h, polled);
		}
	}
	return some && (signalled(h->q) || h->q->posted == h->q->done);
}

/* Whether the program, or the library in its stead, polls this QP's completions at all. */
static bool is_polled(const struct hold *h)
{
	const struct hands *hands = &h->dev->hands;
	const struct cq *c = table_find(h->q->send_cq);

	return c && (c->by_entry || c->lock.owner) &&
	       atomic_load_explicit(&c->exempt, memory_order_relaxed) !=
	       atomic_load_explicit(&hands->epoch, memory_order_relaxed);
}

static void unable(struct device *dev)
{
	atomic_store_explicit(&dev->hands.unable, true, memory_order_relaxed);
	control_state(dev, SWIFTRDMA_SHARE_KNOB_CREDITS, SWIFTRDMA_KNOB_STATE_UNABLE);
}

/* The wait was in vain: would the next be, too? */
static void learn(const struct hold *h, uint64_t completed)
{
	struct cq *c = table_find(h->q->send_cq);

	if (atomic_load_explicit(&h->dev->hands.completed, memory_order_relaxed) != completed)
		return;
	atomic_store_explicit(&h->dev->hands.stalled, true, memory_order_relaxed);
	if (c && !stash_can(c)) {
		atomic_store_explicit(&c->exempt, h->dev->hands.epoch, memory_order_relaxed);
		unable(h->dev);
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
	struct hands *hands = &h->dev->hands;
	uint64_t completed = atomic_load_explicit(&hands->completed, memory_order_relaxed);

	for (;;) {
		uint64_t bound = atomic_load_explicit(&hands->credits, memory_order_relaxed);
		bool can = look(h);

		if (!bound || reserve(h, bound))
			return true;
		if (!can || atomic_load_explicit(&hands->stalled, memory_order_relaxed))
			return false;
		if (!is_polled(h)) {
			unable(h->dev);
			return false;
		}
		if (!hold_on(h, SWIFTRDMA_SHARE_KNOB_CREDITS, pause_ns(h))) {
			if (*h->q->alive)
				learn(h, completed);
			return false;
		}
	}
}

void credits_enter(struct hold *h)
{
	uint64_t bound = atomic_load_explicit(&h->dev->hands.credits, memory_order_relaxed);

	if (!bound)
		return;
	if (!atomic_load_explicit(&h->q->order, memory_order_relaxed)) {
		unable(h->dev);
		return;
	}
	if (!reserve(h, bound) && !wait_for_room(h))
		hold_pass(h, SWIFTRDMA_SHARE_KNOB_CREDITS);
}

void credits_set(struct device *dev, uint64_t bound)
{
	struct hands *h = &dev->hands;
	uint64_t was = atomic_exchange(&h->credits, bound);

	if (was == bound)
		return;
	atomic_store_explicit(&h->unable, false, memory_order_relaxed);
	atomic_store_explicit(&h->stalled, false, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->epoch, 1, memory_order_relaxed);
	/* Pollers count from here on; what they missed so far is counted now. */
	if (!was)
		for (struct qp *q = qp_all(); q; q = q->next_all)
			if (is_of(dev, q))
				credits_sync(q);
}
