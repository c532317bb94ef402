// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues. Matching a completion with its request needs the order in which
 * completions were taken from the queue. ibv_poll_cq() keeps this order under .lock. Between
 * start_poll and end_poll the provider's own lock keeps it. There .lock must not be taken, because
 * ibv_poll_cq() takes .lock first and the provider's lock inside. Extended CQs on which QPs may
 * move are polled in another way, see entries.c.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/lib.h"

static struct cq *free_first, *free_last;
static uint32_t free_count;
#define FREE_KEEP 64

/* Placeholder of .last; its number matches no completion. */
static struct qp nobody = { .qpn = QPN_NONE };

static int poll_ordered(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c);
static int poll_counted(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c);

static struct cq *cq_alloc(void)
{
	struct entries *entries = NULL;
	struct cq *c = free_first;
	struct stash *stash = NULL;

	if (free_count <= FREE_KEEP) {
		c = aligned_alloc(CACHE_LINE, sizeof(*c));
	} else {
		free_first = c->next_free;
		free_count--;
		stash = c->stash;
		entries = c->entries_spare;
	}
	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	/* Keep the memory that the recycled struct has: its stash and its struct entries. */
	c->entries_spare = entries;
	if (stash)
		stash->head = stash->tail = 0;
	c->stash = stash;
	return c;
}

void cq_forget_all(void)
{
	free_first = NULL;
	free_count = 0;
}

struct cq *cq_add(struct context *c, struct ibv_cq *cq)
{
	int err = errno;
	struct cq *n;

	if (!lib_lock())
		return NULL;
	n = cq_alloc();
	if (n) {
		n->alive = c->alive;
		n->ctx = c;
		n->key = cq;
		n->last = &nobody;
		n->poll = settings.mode == MODE_LATENCY ? poll_ordered : poll_counted;
		n->poll_cq = c->real.poll_cq;
		n->knobs = &c->dev->knobs;
		n->cqe = cq->cqe > 0 ? (uint32_t)cq->cqe : 0;
		n->has_channel = cq->channel;
		n->notifier_qpn = QPN_NONE;
		if (!table_put(&cqs, cq, n)) {
			free(n);
			n = NULL;
		}
	}
	lib_unlock();
	errno = err;
	return n;
}

/* Called after the CQ was destroyed, when @key may already be another CQ's address. */
void cq_remove(struct ibv_cq *key, struct cq *c)
{
	int err = errno;

	if (*c->alive && lib_lock()) {
		table_drop(&cqs, key, c);
		__atomic_store_n(&c->key, NULL, __ATOMIC_SEQ_CST);
		c->next_free = NULL;
		if (free_first)
			free_last->next_free = c;
		else
			free_first = c;
		free_last = c;
		free_count++;
		lib_unlock();
	}
	errno = err;
}

/* The completions of one poll. */
struct batch {
	struct cq *cq;
	bool ordered;		/* they come in the order of the queue */
	bool mine;		/* this thread alone writes the counters called owner */
	uint64_t now;		/* 0: the clock was not read yet */
};

static noinline struct qp *qp_of_slow(struct cq *c, uint32_t qpn)
{
	struct qp *q = context_qp(c->ctx, qpn);

	if (q)
		atomic_store_explicit(&c->last, q, memory_order_relaxed);
	else
		count_any(&c->ctx->dev->report->unmatched, 1);
	return q;
}

static inline struct qp *qp_of(struct cq *c, uint32_t qpn)
{
	struct qp *q = atomic_load_explicit(&c->last, memory_order_relaxed);

	if (likely(q->qpn == qpn))
		return q;
	return qp_of_slow(c, qpn);
}

/* Matches a completion with the oldest signalled request; wr_id is only a check. */
static inline bool matches_oldest(const struct qp *q, uint64_t wr_id, uint32_t *end)
{
	uint32_t sig = atomic_load_explicit(&q->sig_done, memory_order_relaxed);
	const struct signalled *s = &q->ring[sig & q->ring_mask];

	*end = s->end;
	return sig != atomic_load_explicit(&q->sig_posted, memory_order_acquire) &&
	       s->wr_id == wr_id;
}

static inline void retire_oldest(struct qp *q, uint32_t end)
{
	atomic_store_explicit(&q->done, end, memory_order_relaxed);
	/* Release: a thread that reads this .sig_done sees .done, too. */
	atomic_store_explicit(&q->sig_done,
			      atomic_load_explicit(&q->sig_done, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Whether a sample waits for its completion. */
static inline bool has_samples(const struct qp *q)
{
	return atomic_load_explicit(&q->lat_tail, memory_order_relaxed) !=
	       atomic_load_explicit(&q->sampling.head, memory_order_relaxed);
}

static noinline void account_samples(struct batch *b, struct qp *q, uint32_t end)
{
	if (!b->now)
		b->now = lib_clock();
	qp_completed(q, end, b->now);
}

/* Without a ring there is no biased lock, so the first thread that polls claims the counters. */
static inline bool polls_alone(const struct batch *b, struct qp *q)
{
	return q->ring ? b->mine : claim_owner(&q->poll_owner);
}

static always_inline void account_send(struct batch *b, struct qp *q, uint64_t wr_id)
{
	struct swiftrdma_slot *s = q->slot;
	bool mine = polls_alone(b, q);
	uint32_t end, done;

	count_by_thread(&s->poll_owner.wcs, &s->poll_others.wcs, mine, 1);
	if (!atomic_load_explicit(&q->order, memory_order_relaxed))
		return;
	if (unlikely(!b->ordered || !matches_oldest(q, wr_id, &end))) {
		qp_lose_order(q, 0);
		return;
	}
	done = atomic_load_explicit(&q->done, memory_order_relaxed);
	retire_oldest(q, end);
	count_by_thread(&s->poll_owner.wrs, &s->poll_others.wrs, mine, end - done);
	if (unlikely(has_samples(q)))
		account_samples(b, q, end);
}

static void account_recv(const struct batch *b, struct qp *q, uint32_t bytes)
{
	struct swiftrdma_slot *s = q->slot;
	bool mine = polls_alone(b, q);

	count_by_thread(&s->poll_owner.recv_wcs, &s->poll_others.recv_wcs, mine, 1);
	count_by_thread(&s->poll_owner.recv_bytes, &s->poll_others.recv_bytes, mine, bytes);
}

static void account_error(struct qp *q)
{
	struct swiftrdma_slot *s = q->slot;

	/* The completion may be of either queue, which two threads may poll. */
	count_any(&s->poll_others.errors, 1);
	qp_lose_order(q, SWIFTRDMA_SLOT_ERROR);
}

static bool is_recv(enum ibv_wc_opcode opcode)
{
	return opcode == IBV_WC_RECV || opcode == IBV_WC_RECV_RDMA_WITH_IMM ||
	       opcode == IBV_WC_TM_RECV || opcode == IBV_WC_TM_NO_TAG;
}

/* Completions of tag matching, which belong to no request that is counted. */
static bool is_other(enum ibv_wc_opcode opcode)
{
	return opcode == IBV_WC_TM_ADD || opcode == IBV_WC_TM_DEL || opcode == IBV_WC_TM_SYNC;
}

/* A successful completion of a send queue. */
static inline bool is_sent(const struct ibv_wc *wc)
{
	return wc->status == IBV_WC_SUCCESS && !(wc->opcode & IBV_WC_RECV);
}

/*
 * Whether requests of a send queue have ended. The opcode of an error means nothing; with an error of
 * either queue the QP has nothing outstanding any more.
 */
static inline bool ends_requests(const struct ibv_wc *wc)
{
	return is_sent(wc) || wc->status != IBV_WC_SUCCESS ||
	       !(is_recv(wc->opcode) || is_other(wc->opcode));
}

/* Errors, receives, and completions of tag matching. */
static noinline void account_other(struct batch *b, struct qp *q, const struct ibv_wc *wc)
{
	/* The opcode of an error means nothing. */
	if (wc->status != IBV_WC_SUCCESS)
		account_error(q);
	else if (is_recv(wc->opcode))
		account_recv(b, q, wc->byte_len);
	else if (!is_other(wc->opcode))
		account_send(b, q, wc->wr_id);
}

static always_inline void account_completion(struct batch *b, uint32_t qpn, const struct ibv_wc *wc)
{
	struct qp *q = qp_of(b->cq, qpn);

	if (unlikely(!q))
		return;
	if (likely(is_sent(wc)))
		account_send(b, q, wc->wr_id);
	else
		account_other(b, q, wc);
}

/* Accounts for a completion whose place in the queue is not known; the QP loses its order. */
static noinline void account_unordered(struct cq *c, struct qp *q, const struct ibv_wc *wc)
{
	struct batch b = { .cq = c };

	if (is_sent(wc))
		account_send(&b, q, wc->wr_id);
	else
		account_other(&b, q, wc);
}

static noinline struct cq *find_or_add_cq(struct ibv_cq *cq)
{
	struct cq *c = cq_find(cq);
	struct context *ctx = context_find(cq->context);

	if (!c && *ctx->alive)
		c = cq_add(ctx, cq);
	if (c && *c->alive && c->key == cq)
		cache_cq(c);
	return c;
}

/* Counts completions without matching them with requests. */
static noinline int count_unordered(struct cq *c, const struct ibv_wc *wc, int n)
{
	for (const struct ibv_wc *end = wc + n; wc < end; wc++) {
		struct qp *q = qp_of(c, wc->qp_num);

		if (unlikely(!q))
			continue;
		if (likely(is_sent(wc) && !q->ring))
			count_by_thread(&q->slot->poll_owner.wcs, &q->slot->poll_others.wcs,
					claim_owner(&q->poll_owner), 1);
		else
			account_unordered(c, q, wc);
	}
	return n;
}

/* The usual case: one completion, of a QP without a ring whose counters this thread has. */
static inline bool count_one(const struct cq *c, const struct ibv_wc *wc)
{
	struct qp *q = atomic_load_explicit(&c->last, memory_order_relaxed);

	if (unlikely(q->qpn != wc->qp_num || !is_sent(wc) ||
		     atomic_load_explicit(&q->poll_owner, memory_order_relaxed) != self_thread()))
		return false;
	q->slot->poll_owner.wcs++;
	return true;
}

static noinline int poll_counted(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c)
{
	int got = c->poll_cq(cq, n, wc);

	if (likely(got == 1) && likely(count_one(c, wc)))
		return 1;
	return count_unordered(c, wc, got);
}

static int keep_completions(struct cq *c, struct ibv_wc *wc, int n)
{
	if (c->moves)
		n = *c->alive ? move_keep(c, wc, n) : move_rename(c, wc, n);
	return c->split ? chunk_keep(c, wc, n) : n;
}

/*
 * Turns @got completions that were polled into those of the program. If some were dropped, polls
 * until there are @n or the queue is empty: a poll that returns less means an empty queue.
 */
static noinline int keep_polled(struct cq *c, struct ibv_cq *cq, int n, struct ibv_wc *wc, int got)
{
	int all = 0, kept;

	for (;;) {
		kept = keep_completions(c, wc + all, got);
		all += kept;
		if (kept == got || all == n)
			return all;
		got = c->poll_cq(cq, n - all, wc + all);
		if (got <= 0)
			return all ? all : got;
	}
}

static int poll_provider(struct cq *c, struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got = c->poll_cq(cq, n, wc);

	return unlikely(c->split || c->moves) && got > 0 ? keep_polled(c, cq, n, wc, got) : got;
}

/*
 * For a CQ whose lock is lost, or that the program polls by start_poll, too. Completions in the stash
 * are given out first.
 */
static int poll_unlocked(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c)
{
	int stashed = c->stash ? stash_give(c, n, wc) : 0;

	return stashed ? stashed : count_unordered(c, wc, poll_provider(c, cq, n, wc));
}

static noinline void account_all(struct cq *c, const struct ibv_wc *wc, int n,
				 enum bias_token token)
{
	struct batch b = { .cq = c, .ordered = true, .mine = token == BIAS_OWNER };

	for (int i = 0; i < n; i++)
		account_completion(&b, wc[i].qp_num, &wc[i]);
}

static int poll_and_account(struct cq *c, struct ibv_cq *cq, int n, struct ibv_wc *wc,
			    enum bias_token token)
{
	int got = poll_provider(c, cq, n, wc);

	account_all(c, wc, got, token);
	return got;
}

/*
 * Subtracts the requests of these completions from the sum of outstanding requests. Successful
 * receives are left out: they are no sign that the requests make progress for which posts wait.
 */
static void free_credits(const struct cq *c, const struct ibv_wc *wc, int n)
{
	if (!atomic_load_explicit(&c->knobs->credits, memory_order_relaxed))
		return;
	for (int i = 0; i < n; i++) {
		struct qp *q = ends_requests(&wc[i]) ? context_qp(c->ctx, wc[i].qp_num) : NULL;

		if (q && q->ring)
			credits_done(q);
	}
}

int cq_take(struct cq *c, int n, struct ibv_wc *wc, enum bias_token token)
{
	int got = poll_and_account(c, c->key, n, wc, token);

	free_credits(c, wc, got);
	return got;
}

/*
 * Polls while a bound on credits is in force, and as long as there is a stash. If the provider
 * returns an error, but the stash had completions, returns these: the next poll returns the error
 * again, and would not return the completions again.
 */
static noinline int poll_bounded(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c,
				 enum bias_token token)
{
	int stashed = c->stash ? stash_give(c, n, wc) : 0, got = 0;

	if (stashed < n || !n) {
		got = poll_and_account(c, cq, n - stashed, wc + stashed, token);
		free_credits(c, wc + stashed, got);
	}
	bias_unlock(&c->lock, token);
	return stashed && got < 0 ? stashed : stashed + got;
}

static inline bool is_bounded(const struct cq *c)
{
	return atomic_load_explicit(&c->knobs->credits, memory_order_relaxed) ||
	       atomic_load_explicit(&c->stash, memory_order_relaxed);
}

/* For threads that the lock is not biased to. */
static noinline int poll_ordered_slow(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c)
{
	enum bias_token token = bias_lock_slow(&c->lock);
	int got;

	if (unlikely(token == BIAS_FAILED)) {
		__atomic_store_n(&c->poll, poll_unlocked, __ATOMIC_RELAXED);
		return poll_unlocked(cq, n, wc, c);
	}
	if (unlikely(is_bounded(c)))
		return poll_bounded(cq, n, wc, c, token);
	got = poll_and_account(c, cq, n, wc, token);
	bias_unlock(&c->lock, token);
	return got;
}

/* The usual case: one completion, of the same QP as the one before, and no sample pending. */
static inline bool account_one(const struct cq *c, const struct ibv_wc *wc)
{
	struct qp *q = atomic_load_explicit(&c->last, memory_order_relaxed);
	struct swiftrdma_polled *p;
	uint32_t end;

	if (unlikely(q->qpn != wc->qp_num || !is_sent(wc) ||
		     !atomic_load_explicit(&q->order, memory_order_relaxed) ||
		     !matches_oldest(q, wc->wr_id, &end) || has_samples(q)))
		return false;
	p = &q->slot->poll_owner;
	p->wcs++;
	p->wrs += end - atomic_load_explicit(&q->done, memory_order_relaxed);
	retire_oldest(q, end);
	return true;
}

static int poll_ordered(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c)
{
	int got;

	if (unlikely(!bias_enter(&c->lock)))
		return poll_ordered_slow(cq, n, wc, c);
	if (unlikely(is_bounded(c)))
		return poll_bounded(cq, n, wc, c, BIAS_OWNER);
	got = c->poll_cq(cq, n, wc);
	if (likely(got == 1) && likely(account_one(c, wc))) {
		bias_unlock(&c->lock, BIAS_OWNER);
		return 1;
	}
	if (unlikely(c->split || c->moves) && got > 0)
		got = keep_polled(c, cq, n, wc, got);
	account_all(c, wc, got, BIAS_OWNER);
	bias_unlock(&c->lock, BIAS_OWNER);
	return got;
}

static noinline int poll_slow(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct cq *c = find_or_add_cq(cq);

	if (!c)
		return context_find(cq->context)->real.poll_cq(cq, n, wc);
	return *c->alive ? c->poll(cq, n, wc, c) : poll_provider(c, cq, n, wc);
}

/* Each branch ends in a tail call, so the function saves no registers. */
int lib_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct cq *c = cq_cached(cq);

	return likely(c) ? c->poll(cq, n, wc, c) : poll_slow(cq, n, wc);
}

/* --- ibv_cq_ex ------------------------------------------------------------- */

static void account_entry(struct cq *c, struct ibv_cq_ex *cqx)
{
	struct batch b = { .cq = c, .ordered = true };
	struct ibv_wc wc;

	if (!cqx->read_qp_num)
		return;
	wc.status = cqx->status;
	wc.wr_id = cqx->wr_id;
	wc.opcode = wc.status == IBV_WC_SUCCESS ? cqx->read_opcode(cqx) : IBV_WC_SEND;
	wc.byte_len = is_recv(wc.opcode) && cqx->read_byte_len ? cqx->read_byte_len(cqx) : 0;
	wc.qp_num = cqx->read_qp_num(cqx);
	account_completion(&b, wc.qp_num, &wc);
	free_credits(c, &wc, 1);
}

/* Goes on to the first entry that the program may see. */
static int skip_entries(struct cq *c, struct ibv_cq_ex *cqx, int ret)
{
	while (unlikely(c->split) && !ret && !chunk_keep_entry(c, cqx))
		ret = c->next_poll(cqx);
	return ret;
}

static int lib_start_poll(struct ibv_cq_ex *cqx, struct ibv_poll_cq_attr *attr)
{
	struct cq *c = table_find(&cqs, cqx);
	int began = c->start_poll(cqx, attr), ret = skip_entries(c, cqx, began);

	/* The program calls end_poll only after a start_poll that succeeded. */
	if (ret && !began)
		cqx->end_poll(cqx);
	if (!*c->alive)
		return ret;
	if (unlikely(!atomic_load_explicit(&c->by_entry, memory_order_relaxed))) {
		atomic_store(&c->by_entry, true);
		__atomic_store_n(&c->poll, poll_unlocked, __ATOMIC_RELAXED);
	}
	if (!ret)
		account_entry(c, cqx);
	return ret;
}

static int lib_next_poll(struct ibv_cq_ex *cqx)
{
	struct cq *c = table_find(&cqs, cqx);
	int ret = skip_entries(c, cqx, c->next_poll(cqx));

	if (!ret && *c->alive)
		account_entry(c, cqx);
	return ret;
}

static uint32_t lib_read_byte_len(struct ibv_cq_ex *cqx)
{
	const struct cq *c = table_find(&cqs, cqx);

	return c->entry_split ? c->entry_split->bytes : c->read_byte_len(cqx);
}

void cq_add_room(struct cq *c, uint32_t room)
{
	struct ibv_cq_ex *cqx = c->start_poll ? (struct ibv_cq_ex *)c->key : NULL;

	/* Pieces are recognized by the QP number and wr_id of a completion. */
	if (!room || (cqx && !cqx->read_qp_num))
		return;
	c->added = room;
	c->room = room;
	if (cqx && cqx->read_byte_len && !c->entries) {
		c->read_byte_len = cqx->read_byte_len;
		cqx->read_byte_len = lib_read_byte_len;
	}
}

void cq_patch(struct cq *c, struct ibv_cq_ex *cqx)
{
	if (!cqx->start_poll || !cqx->next_poll)
		return;
	c->start_poll = cqx->start_poll;
	c->next_poll = cqx->next_poll;
	cqx->start_poll = lib_start_poll;
	cqx->next_poll = lib_next_poll;
}
