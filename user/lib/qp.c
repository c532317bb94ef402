// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs. A QP with an order has a ring of its signalled requests that are
 * outstanding, in the order of the send queue. A request is pushed before it is posted,
 * since another thread may poll its completion before the post returns. A successful
 * completion pops one entry, and with it the unsignalled requests before it.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/lib.h"

/*
 * QPs that are gone, oldest first. So many are kept before one is used again: a thread
 * that was interrupted while it accounted for a QP then finds it dead, and not cleared.
 */
static struct qp *free_first, *free_last;
static uint32_t free_count;
#define FREE_KEEP 1024

static struct qp *_Atomic all;

struct qp *qp_all(void)
{
	return atomic_load_explicit(&all, memory_order_acquire);
}

/* Returns a cleared struct that keeps the memory it had. */
static struct qp *qp_alloc(void)
{
	struct qp *q = free_first;

	if (free_count > FREE_KEEP) {
		free_first = q->next_free;
		free_count--;
		/*
		 * A walk over all QPs may be at this one, so its link stays, and a thread that
		 * found it long ago may still follow the pointers before .qpn.
		 */
		memset((char *)q + offsetof(struct qp, qpn), 0,
		       offsetof(struct qp, wr_spare) - offsetof(struct qp, qpn));
		return q;
	}
	q = aligned_alloc(CACHE_LINE, sizeof(*q));
	if (!q)
		return NULL;
	memset(q, 0, sizeof(*q));
	q->next_all = all;
	atomic_store_explicit(&all, q, memory_order_release);
	return q;
}

static void qp_free(struct qp *q)
{
	q->next_free = NULL;
	if (free_first)
		free_last->next_free = q;
	else
		free_first = q;
	free_last = q;
	free_count++;
}

void qp_forget_all(void)
{
	all = NULL;
	free_first = NULL;
	free_count = 0;
}

/* The rings of a struct qp, the largest first. A poller may still read an older one. */
struct ring {
	struct ring *older;
	uint32_t mask;
	struct signalled entry[];
};

static struct ring *ring_new(struct ring *older, uint32_t n)
{
	struct ring *r = calloc(1, sizeof(*r) + n * sizeof(r->entry[0]));

	if (r) {
		r->older = older;
		r->mask = n - 1;
	}
	return r;
}

/* Uses the ring that the struct had before, if that is large enough. */
static bool ring_fit(struct qp *q, const struct qp_want *want)
{
	uint32_t n = 4;
	struct ring *r;

	if (!want->ring || settings.mode != MODE_LATENCY || want->max_send_wr > RING_WRS_MAX)
		return false;
	while (n < 2 * want->max_send_wr)
		n *= 2;
	if (!q->rings || q->rings->mask < n - 1) {
		r = ring_new(q->rings, n);
		if (!r)
			return false;
		q->rings = r;
	}
	q->ring = q->rings->entry;
	q->ring_mask = q->rings->mask;
	return true;
}

static void set_order(struct qp *q, bool order)
{
	atomic_store(&q->order, order);
	__atomic_store_n(&q->post, order ? post_ordered : post_counted, __ATOMIC_RELAXED);
}

static void slot_fill(struct qp *q, const struct ibv_qp *qp, const struct qp_want *want)
{
	struct device *dev = q->ctx->dev;
	struct swiftrdma_slot *s = q->slot;

	s->id.qpn = qp->qp_num;
	s->id.type = qp->qp_type;
	s->id.flags = (q->order ? 0 : SWIFTRDMA_SLOT_NO_ORDER) |
		      (want->own_domain ? SWIFTRDMA_SLOT_DOMAIN : 0);
	s->id.max_send_wr = want->max_send_wr;
	s->id.created_ns = lib_clock();
	__atomic_store_n(&s->id.generation, ++dev->generation, __ATOMIC_RELEASE);
}

/* A QP for which the report has no slot is counted in a slot of its own. */
static bool own_slot(struct qp *q)
{
	if (!q->spare_slot)
		q->spare_slot = aligned_alloc(CACHE_LINE, sizeof(*q->spare_slot));
	if (!q->spare_slot)
		return false;
	q->slot = memset(q->spare_slot, 0, sizeof(*q->spare_slot));
	q->own_slot = true;
	q->ctx->dev->report->qps_unslotted++;
	return true;
}

static struct qp *qp_new(struct context *c, struct ibv_qp *qp, const struct qp_want *want)
{
	struct device *dev = c->dev;
	struct qp *q = qp_alloc();

	if (!q)
		return NULL;
	q->alive = c->alive;
	q->ctx = c;
	q->knobs = &dev->knobs;
	q->changes = dev->knobs.changes;
	q->quiet = dev->knobs.quiet;
	q->key = qp;
	q->qpn = qp->qp_num;
	q->placed = want->placed;
	q->post_send = q->placed ? placed_post_send : c->real.post_send;
	q->post_recv = q->placed ? placed_post_recv : c->real.post_recv;
	q->send_cq = qp->send_cq;
	q->sig_all = want->sig_all;
	q->ring = NULL;
	set_order(q, ring_fit(q, want));
	sampling_reset(&q->sampling, 0);
	q->slot = want->opened ? NULL : slot_take(dev);
	if (!q->slot && !own_slot(q)) {
		qp_free(q);
		return NULL;
	}
	dev->report->qps++;
	if (qp->srq && place_knows_pd(qp->srq->pd) && cq_find(qp->recv_cq))
		cq_find(qp->recv_cq)->unlocked_srq = true;
	q->by_default = !want->placed && !want->opened && !want->own_domain;
	c->place.by_default += q->by_default;
	slot_fill(q, qp, want);
	return q;
}

/* Counts the outstanding requests of @q as dropped: they will not complete any more. */
static void drop_outstanding(struct qp *q)
{
	struct swiftrdma_figures f;

	if (!q->ring)
		return;
	figures_of_slot(&f, q->slot);
	if (f.wrs > f.done + f.dropped)
		count_any(&q->slot->poll_others.dropped, f.wrs - f.done - f.dropped);
}

/* Called with lib_lock() held. The QP's counts stay, in its slot or in the sums. */
static void retire_qp(struct qp *q)
{
	struct device *dev = q->ctx->dev;
	struct move *m;

	table_drop(&qps, q->key, q);
	context_drop_qpn(q->ctx, q->qpn, q);
	__atomic_store_n(&q->key, NULL, __ATOMIC_SEQ_CST);
	q->qpn = QPN_NONE;
	/* The context may have been closed, and its struct used again for another one. */
	if (q->ctx->place.by_default)
		q->ctx->place.by_default -= q->by_default;
	chunk_take_back(q);
	m = atomic_exchange(&q->move, NULL);
	if (m)
		move_free(m);
	drop_outstanding(q);
	credits_sync(q);
	__atomic_fetch_or(&q->slot->id.flags, SWIFTRDMA_SLOT_DEAD, __ATOMIC_RELAXED);
	if (q->own_slot)
		slot_add(&dev->report->gone, q->slot);
	else
		slot_give(dev, q->slot);
	qp_free(q);
}

struct qp *qp_add(struct context *c, struct ibv_qp *qp, const struct qp_want *want)
{
	int err = errno;
	struct qp *q;

	if (!lib_lock())
		return NULL;
	q = table_find(&qps, qp);
	if (!q || q->qpn != qp->qp_num || q->ctx != c) {
		/* The library did not see that QP's destruction. */
		if (q && *q->alive)
			retire_qp(q);
		q = qp_new(c, qp, want);
		if (q && !(context_put_qpn(c, q->qpn, q) && table_put(&qps, qp, q))) {
			retire_qp(q);
			q = NULL;
		}
	}
	lib_unlock();
	errno = err;
	return q;
}

/* Called after the QP was destroyed, when another may have its address and number. */
void qp_remove(struct qp *q)
{
	int err = errno;

	if (*q->alive && lib_lock()) {
		if (q->key)
			retire_qp(q);
		lib_unlock();
	}
	errno = err;
}

void qp_remove_all(struct context *c)
{
	int err = errno;

	if (lib_lock()) {
		for (struct qp *q = all; q; q = q->next_all)
			if (q->ctx == c && q->key)
				retire_qp(q);
		lib_unlock();
	}
	errno = err;
}

struct qp *qp_find_slow(const struct ibv_qp *qp)
{
	struct qp *q = table_find(&qps, qp);

	if (!q || q->qpn != qp->qp_num)
		return NULL;
	/* The key is NULL where another thread has just destroyed the QP. */
	if (*q->alive && q->key == qp)
		cache_qp(q);
	return q;
}

static void set_flag(struct qp *q, uint32_t flag)
{
	__atomic_fetch_or(&q->slot->id.flags, flag, __ATOMIC_RELAXED);
}

void qp_lose_order(struct qp *q, uint32_t flag)
{
	set_flag(q, flag);
	if (!atomic_exchange(&q->order, false))
		return;
	set_order(q, false);
	drop_outstanding(q);
	credits_sync(q);
	set_flag(q, SWIFTRDMA_SLOT_NO_ORDER);
	if (!(flag & SWIFTRDMA_SLOT_ERROR))
		count_any(&q->slot->id.stopped, 1);
}

/*
 * The program posts nothing meanwhile, but the completion queue may be polled for other
 * QPs. A completion from before the RESET that comes later makes the QP lose its order again.
 */
void qp_reset(struct qp *q)
{
	struct cq *cq = q->send_cq ? cq_find(q->send_cq) : NULL;
	enum bias_token post = bias_lock(&q->sq);
	enum bias_token poll = cq ? bias_lock(&cq->lock) : BIAS_NESTED;
	uint32_t posted = q->posted;

	if (q->ring && post != BIAS_FAILED && poll != BIAS_FAILED) {
		chunk_reset(q);
		drop_outstanding(q);
		q->done = posted;
		q->sig_done = q->sig_posted;
		q->hol_tail = q->lat_tail = q->sampling.head;
		sampling_reset(&q->sampling, posted);
		__atomic_fetch_and(&q->slot->id.flags,
				   ~(uint32_t)(SWIFTRDMA_SLOT_NO_ORDER | SWIFTRDMA_SLOT_ERROR),
				   __ATOMIC_RELAXED);
		set_order(q, true);
		credits_sync(q);
	}
	if (cq)
		bias_unlock(&cq->lock, poll);
	bias_unlock(&q->sq, post);
}
