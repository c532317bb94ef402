// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posting by ibv_post_send(), ibv_post_recv(), ibv_post_srq_recv() and ibv_bind_mw(). */
#include "lib/lib.h"

/* Counts the requests of a QP whose creation the library did not see. */
static noinline struct qp *adopt_qp(struct ibv_qp *qp)
{
	struct context *c = context_find(qp->context);

	return c && *c->alive ? qp_add(c, qp, &(struct qp_want){ .ring = false }) : NULL;
}

static inline struct qp *find_or_adopt_qp(struct ibv_qp *qp)
{
	struct qp *q = qp_find(qp);

	return likely(q) ? q : adopt_qp(qp);
}

static noinline uint64_t bytes_of_many(const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;

	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

static inline uint64_t bytes_of(const struct ibv_send_wr *wr)
{
	return likely(wr->num_sge == 1) ? wr->sg_list->length : bytes_of_many(wr);
}

/* What a list of requests, or a part of it, contains. */
struct load {
	uint64_t bytes;
	uint32_t n, sig;
};

static inline struct load load_of(const struct qp *q, const struct ibv_send_wr *wr)
{
	struct load l = { 0 };

	for (; wr; wr = wr->next) {
		l.n++;
		l.sig += q->sig_all || wr->send_flags & IBV_SEND_SIGNALED;
		l.bytes += bytes_of(wr);
	}
	return l;
}

/* Stands for a bad_wr that the provider did not write. */
static struct ibv_send_wr unset;

/* A provider need not write bad_wr, and a program need not pass it. */
static inline int call_post(const struct qp *q, struct ibv_qp *qp, struct ibv_send_wr *wr,
			    struct ibv_send_wr **bad_wr, struct ibv_send_wr **bad)
{
	int ret;

	*bad = &unset;
	ret = q->post_send(qp, wr, bad);
	if (unlikely(ret) && *bad != &unset && bad_wr)
		*bad_wr = *bad;
	return ret;
}

/*
 * What was posted of @l before @bad. The requests from @bad on were not posted, so no thread can have
 * polled a completion and freed them.
 */
static noinline struct load posted_of(const struct qp *q, struct load l,
				      const struct ibv_send_wr *bad)
{
	struct load left = bad == &unset ? l : load_of(q, bad);

	if (left.n > l.n)
		left = l;
	return (struct load){
		.n = l.n - left.n, .sig = l.sig - left.sig, .bytes = l.bytes - left.bytes,
	};
}

noinline bool claim_posts(struct qp *q)
{
	return !q->ring && claim_owner(&q->post_owner);
}

void count_posted_others(struct qp *q, uint64_t n, uint64_t bytes)
{
	struct swiftrdma_posted *p = &q->slot->post_others;

	count_any(&p->wrs, n);
	count_any(&p->bytes, bytes);
	count_any(&p->calls, 1);
}

/* The list that most programs post. */
static inline bool is_single(const struct ibv_send_wr *wr)
{
	return likely(wr) && !wr->next && wr->num_sge == 1;
}

/* Reads the list before it is posted, because a completion may free its requests. */
static noinline int post_counted_list(struct ibv_qp *qp, struct ibv_send_wr *wr,
				      struct ibv_send_wr **bad_wr, struct qp *q)
{
	struct load l = load_of(q, wr);
	struct ibv_send_wr *bad;
	int ret = call_post(q, qp, wr, bad_wr, &bad);

	if (unlikely(ret))
		l = posted_of(q, l, bad);
	if (likely(l.n))
		count_posted(q, posts_alone(q, BIAS_FAILED), l.n, l.bytes);
	return ret;
}

int post_counted(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		 struct qp *q)
{
	uint32_t bytes;
	int ret;

	if (unlikely(!is_single(wr)))
		return post_counted_list(qp, wr, bad_wr, q);
	bytes = wr->sg_list->length;
	/* If a list of one request fails, nothing of it was posted. */
	ret = q->post_send(qp, wr, bad_wr);
	if (unlikely(ret))
		return ret;
	count_posted(q, posts_alone(q, BIAS_FAILED), 1, bytes);
	return 0;
}

static inline struct load push_list(struct qp *q, const struct ibv_send_wr *wr, uint32_t from,
				    uint32_t sig)
{
	struct load l = { 0 };

	for (; wr; wr = wr->next) {
		l.n++;
		if (wr->send_flags & IBV_SEND_SIGNALED || q->sig_all)
			qp_push(q, wr->wr_id, sig + l.sig++, from + l.n);
		l.bytes += bytes_of(wr);
	}
	return l;
}

/* False: there are more signalled requests than the ring holds, so the send queue is larger than known. */
static inline bool has_room(const struct qp *q, uint32_t sig)
{
	return sig <= q->ring_mask + 1;
}

/* Makes requests known to the poller, before they are posted. */
static inline void publish_posted(struct qp *q, uint32_t posted, uint32_t sig_posted)
{
	atomic_store_explicit(&q->posted, posted, memory_order_relaxed);
	atomic_store_explicit(&q->sig_posted, sig_posted, memory_order_release);
}

/* Takes back the requests from @posted on, which the provider did not post. */
static noinline void unpublish_posted(struct qp *q, uint32_t posted, uint32_t sig_posted)
{
	publish_posted(q, posted, sig_posted);
	qp_unsample(q, posted);
}

/* Called with .sq held, as is post_one(). */
static noinline int post_list(struct qp *q, struct ibv_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, bool mine)
{
	uint32_t from = atomic_load_explicit(&q->posted, memory_order_relaxed);
	uint32_t sig = atomic_load_explicit(&q->sig_posted, memory_order_relaxed);
	struct load l = push_list(q, wr, from, sig);
	struct ibv_send_wr *bad;
	int ret;

	if (unlikely(!has_room(q, l.sig)))
		qp_lose_order(q, 0);
	qp_about_to_post(q, from, l.n);
	publish_posted(q, from + l.n, sig + l.sig);
	ret = call_post(q, qp, wr, bad_wr, &bad);
	if (unlikely(ret)) {
		l = posted_of(q, l, bad);
		unpublish_posted(q, from + l.n, sig + l.sig);
	}
	if (likely(l.n))
		count_posted(q, mine, l.n, l.bytes);
	return ret;
}

static always_inline int post_one(struct qp *q, struct ibv_qp *qp, struct ibv_send_wr *wr,
				  struct ibv_send_wr **bad_wr, bool mine)
{
	uint32_t from = atomic_load_explicit(&q->posted, memory_order_relaxed);
	uint32_t sig = atomic_load_explicit(&q->sig_posted, memory_order_relaxed);
	uint32_t bytes = wr->sg_list->length;
	int ret;

	if (wr->send_flags & IBV_SEND_SIGNALED || q->sig_all) {
		qp_push(q, wr->wr_id, sig, from + 1);
		publish_posted(q, from + 1, sig + 1);
	} else {
		publish_posted(q, from + 1, sig);
	}
	qp_about_to_post(q, from, 1);
	ret = q->post_send(qp, wr, bad_wr);
	if (likely(!ret))
		count_posted(q, mine, 1, bytes);
	else
		unpublish_posted(q, from, sig);
	return ret;
}

/* For threads that the lock is not biased to. */
static noinline int post_ordered_slow(struct ibv_qp *qp, struct ibv_send_wr *wr,
				      struct ibv_send_wr **bad_wr, struct qp *q)
{
	enum bias_token token = bias_lock_slow(&q->sq);
	int ret;

	if (unlikely(token == BIAS_FAILED)) {
		qp_lose_order(q, 0);
		return post_counted(qp, wr, bad_wr, q);
	}
	/* If the order was lost meanwhile, what is pushed is not read. */
	ret = is_single(wr) ? post_one(q, qp, wr, bad_wr, token == BIAS_OWNER) :
			      post_list(q, qp, wr, bad_wr, token == BIAS_OWNER);
	bias_unlock(&q->sq, token);
	return ret;
}

int post_ordered(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		 struct qp *q)
{
	int ret;

	if (unlikely(!bias_enter(&q->sq)))
		return post_ordered_slow(qp, wr, bad_wr, q);
	ret = is_single(wr) ? post_one(q, qp, wr, bad_wr, true) :
			      post_list(q, qp, wr, bad_wr, true);
	bias_unlock(&q->sq, BIAS_OWNER);
	return ret;
}

/*
 * The provider gets a list in which large requests are in pieces. All else is the same as for
 * the program's list, whose requests are counted and matched.
 */
static noinline int post_in_pieces(struct ibv_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr, struct qp *q)
{
	enum bias_token token = bias_lock(&q->sq);
	uint32_t from = atomic_load_explicit(&q->posted, memory_order_relaxed);
	uint32_t sig = atomic_load_explicit(&q->sig_posted, memory_order_relaxed);
	struct ibv_send_wr *list, *bad;
	struct load l;
	int ret;

	/* .busy: a signal handler posts while its thread posts in pieces; its requests go whole. */
	if (token == BIAS_FAILED || !atomic_load_explicit(&q->order, memory_order_relaxed) ||
	    q->chunk->busy) {
		bias_unlock(&q->sq, token);
		return q->post(qp, wr, bad_wr, q);
	}
	q->chunk->busy = true;
	l = push_list(q, wr, from, sig);
	if (unlikely(!has_room(q, l.sig)))
		qp_lose_order(q, 0);
	list = chunk_build(q, wr, from);
	qp_about_to_post(q, from, l.n);
	publish_posted(q, from + l.n, sig + l.sig);
	ret = call_post(q, qp, list, NULL, &bad);
	if (unlikely(ret)) {
		if (bad != &unset) {
			if (list != wr)
				bad = chunk_refused(q, bad);
			*bad_wr = bad;
		} else if (list != wr) {
			chunk_refused(q, list);
		}
		l = posted_of(q, l, bad);
		unpublish_posted(q, from + l.n, sig + l.sig);
	}
	chunk_posted(q);
	q->chunk->busy = false;
	if (likely(l.n))
		count_posted(q, token == BIAS_OWNER, l.n, l.bytes);
	bias_unlock(&q->sq, token);
	return ret;
}

/*
 * A knob is in force, or has changed. The list is read before the wait, and charged whole; no
 * lock is held while the post waits.
 */
static noinline int post_paced(struct ibv_qp *qp, struct ibv_send_wr *wr,
			       struct ibv_send_wr **bad_wr, struct qp *q)
{
	struct load l = load_of(q, wr), posted;
	struct ibv_send_wr *bad = &unset;
	struct pace_pass pass;
	struct pace_bill bill;
	int ret;

	if (!pace_post(q, l.n, l.bytes, &pass, &bill))
		return q->post_send(qp, wr, bad_wr);
	ret = chunk_wants(q, wr) ? post_in_pieces(qp, wr, &bad, q) : q->post(qp, wr, &bad, q);
	if (unlikely(ret)) {
		posted = posted_of(q, l, bad);
		pace_return(q, posted.n, posted.bytes, &bill);
		if (bad_wr && bad != &unset)
			*bad_wr = bad;
	}
	credits_posted(q, pass.reserved);
	return ret;
}

static always_inline int post_found(struct ibv_qp *qp, struct ibv_send_wr *wr,
				    struct ibv_send_wr **bad_wr, struct qp *q)
{
	if (unlikely(!control_quiet(q)))
		return post_paced(qp, wr, bad_wr, q);
	return q->post(qp, wr, bad_wr, q);
}

static noinline int post_slow(struct ibv_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr)
{
	struct qp *q = find_or_adopt_qp(qp);

	if (!q)
		return context_find(qp->context)->real.post_send(qp, wr, bad_wr);
	return *q->alive ? post_found(qp, wr, bad_wr, q) : q->post_send(qp, wr, bad_wr);
}

/* Each branch ends in a tail call, so the function saves no registers. */
int lib_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct qp *q = qp_cached(qp);

	return likely(q) ? post_found(qp, wr, bad_wr, q) : post_slow(qp, wr, bad_wr);
}

static struct ibv_recv_wr unset_recv;

static uint32_t recv_count(const struct ibv_recv_wr *wr)
{
	uint32_t n = 0;

	for (; wr; wr = wr->next)
		n++;
	return n;
}

/* Returns how many of @n were posted, and hands the provider's bad_wr on. */
static uint32_t recv_posted(uint32_t n, int ret, struct ibv_recv_wr *bad,
			    struct ibv_recv_wr **bad_wr)
{
	uint32_t left = n;

	if (bad != &unset_recv) {
		if (bad_wr)
			*bad_wr = bad;
		left = recv_count(bad);
	}
	return !ret ? n : left < n ? n - left : 0;
}

int lib_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct ibv_recv_wr *bad = &unset_recv;
	struct qp *q = find_or_adopt_qp(qp);
	uint32_t n;
	int ret;

	if (unlikely(!q))
		return context_find(qp->context)->real.post_recv(qp, wr, bad_wr);
	if (unlikely(!*q->alive))
		return q->post_recv(qp, wr, bad_wr);
	n = recv_count(wr);
	ret = q->post_recv(qp, wr, &bad);
	n = recv_posted(n, ret, bad, bad_wr);
	/* .sq is not held here: it is the send queue's. */
	count_by_thread(&q->slot->post_owner.recv_wrs, &q->slot->post_others.recv_wrs,
			claim_owner(&q->recv_owner), n);
	return ret;
}

int lib_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct context *c = context_find(srq->context);
	struct ibv_recv_wr *bad = &unset_recv;
	uint32_t n;
	int ret;

	if (!*c->alive)
		return c->real.post_srq_recv(srq, wr, bad_wr);
	n = recv_count(wr);
	ret = c->real.post_srq_recv(srq, wr, &bad);
	count_any(&c->dev->report->srq_recv_wrs, recv_posted(n, ret, bad, bad_wr));
	return ret;
}

static int call_bind_mw(struct context *c, struct qp *q, struct ibv_qp *qp, struct ibv_mw *mw,
			struct ibv_mw_bind *bind)
{
	struct move *m = move_of(q);

	if (m)
		return move_bind_mw(m, mw, bind);
	return q && q->placed && *q->alive ? placed_bind_mw(q, qp, mw, bind) :
					     c->real.bind_mw(qp, mw, bind);
}

/* A window is bound by a request in the send queue. */
int lib_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct context *c = context_find(qp->context);
	struct qp *q = *c->alive ? find_or_adopt_qp(qp) : NULL;
	struct pace_pass pass = { 0 };
	struct pace_bill bill = { 0 };
	uint32_t sig, signalled;
	enum bias_token token;
	int ret;

	if (!q || (!control_quiet(q) && !pace_post(q, 1, 0, &pass, &bill)))
		return call_bind_mw(c, q, qp, mw, bind);
	token = bias_lock(&q->sq);
	sig = q->sig_posted;
	signalled = q->sig_all || bind->send_flags & IBV_SEND_SIGNALED;
	if (token == BIAS_FAILED)
		qp_lose_order(q, 0);
	if (token != BIAS_FAILED && q->order) {
		if (signalled)
			qp_push(q, bind->wr_id, sig, q->posted + 1);
		q->posted++;
		atomic_store_explicit(&q->sig_posted, sig + signalled, memory_order_release);
		ret = call_bind_mw(c, q, qp, mw, bind);
		if (ret) {
			q->posted--;
			atomic_store_explicit(&q->sig_posted, sig, memory_order_release);
		}
	} else {
		ret = call_bind_mw(c, q, qp, mw, bind);
	}
	if (!ret)
		count_posted(q, posts_alone(q, token), 1, 0);
	bias_unlock(&q->sq, token);
	if (ret)
		pace_return(q, 0, 0, &bill);
	credits_posted(q, pass.reserved);
	return ret;
}
