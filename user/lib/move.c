// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* QPs that can move: which QP the program's requests go to, and what waits in it. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "lib/channel.h"
#include "lib/place.h"
#include "lib/placed.h"

/*
 * Structs of QPs that are gone, oldest first, under lib_lock(). So many are kept before one is used
 * again, because a thread that polls may have found one just before.
 */
static struct move *free_first, *free_last;
static uint32_t free_count;
#define FREE_KEEP 256

void move_free(struct move *m)
{
	m->next_free = NULL;
	if (free_first)
		free_last->next_free = m;
	else
		free_first = m;
	free_last = m;
	free_count++;
}

/* --- creation ----------------------------------------------------------------------- */

struct move_ask move_ask(const struct context *c, struct ibv_qp_init_attr *attr)
{
	struct move_ask ask = { .cap = attr->cap };

	if (!settings.move || !c || !*c->alive)
		return ask;
	if (settings.mode != MODE_LATENCY)
		ask.why = "the library only counts (SWIFTRDMA_MODE)";
	else if (attr->qp_type != IBV_QPT_RC)
		ask.why = "it is no RC QP";
	else if (attr->srq && c->special_srqs)
		ask.why = "its context has shared receive queues for XRC or tag matching";
	else if (!attr->cap.max_send_wr)
		ask.why = "it has no send queue";
	ask.on = !ask.why;
	attr->cap.max_send_wr += ask.on;
	return ask;
}

bool move_unask(struct move_ask *ask, struct ibv_qp_init_attr *attr)
{
	if (!ask->on)
		return false;
	ask->on = false;
	ask->why = "the device has no larger send queue";
	attr->cap = ask->cap;
	return true;
}

static bool alloc_recvs(struct move *m, uint32_t wrs, uint32_t sges)
{
	uint32_t n = 4;

	while (n < wrs)
		n *= 2;
	m->recv_mask = n - 1;
	m->recv_sges = sges ? sges : 1;
	m->recv = calloc(n, sizeof(*m->recv));
	m->recv_sge = calloc((size_t)n * m->recv_sges, sizeof(*m->recv_sge));
	return m->recv && m->recv_sge;
}

/* A thread may still take the locks of a struct that is used again, so they are initialized once. */
static struct move *move_alloc(void)
{
	struct move *m = free_first;

	if (free_count > FREE_KEEP) {
		free_first = m->next_free;
		free_count--;
		return m;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	pthread_mutex_init(&m->life, NULL);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->thaw, NULL);
	pthread_cond_init(&m->ended, NULL);
	return m;
}

/* With .life held. A struct that is used again stays .dead until move_new() has set all of it. */
static void clear_move(struct move *m)
{
	free(m->recv);
	free(m->recv_sge);
	m->recv = NULL;
	m->recv_sge = NULL;
	m->now = m->next = m->old = NULL;
	m->now_at = m->next_at = m->old_at = NULL;
	m->knob_from = m->knob_answered = m->by_knob = m->knob_tries = 0;
	m->knob_until = m->knob_again_ns = 0;
	m->attr_mask = 0;
	m->state = MOVE_IDLE;
	m->out.type = 0;
	m->first_failed = m->tries_old = m->peer_srq = false;
	m->wanted = m->frozen = m->silent = m->building = m->broken = m->windows = m->fence_out = false;
	m->result = 0;
	m->why = NULL;
	m->accepted = m->sig_accepted = 0;
	m->sent = m->received = 0;
	m->recv_head = m->recv_tail = 0;
	m->events = 0;
}

static struct move *move_new(struct qp *q, struct ibv_qp *qp, const struct ibv_qp_init_attr *attr,
			     uint64_t ops)
{
	struct move *m = move_alloc();

	if (!m)
		return NULL;
	pthread_mutex_lock(&m->life);
	clear_move(m);
	m->q = q;
	m->ops = ops;
	if (!alloc_recvs(m, attr->cap.max_recv_wr, attr->cap.max_recv_sge) || !move_wr_adopt(m)) {
		m->dead = true;
		pthread_mutex_unlock(&m->life);
		move_free(m);
		return NULL;
	}
	m->first = m->now = qp;
	/* The program may use what the provider gave; the further receive is for the peer's mark. */
	m->init = *attr;
	m->init.cap.max_recv_wr += !attr->srq;
	m->dead = false;
	pthread_mutex_unlock(&m->life);
	return m;
}

/* Makes the QP one that can move. NULL: it can; else why not. */
static const char *try_to_adopt(struct qp *q, struct ibv_qp *qp, const struct ibv_qp_init_attr *attr,
				uint64_t ops)
{
	struct cq *send_cq = cq_find(qp->send_cq), *recv_cq = cq_find(qp->recv_cq);
	const char *single = getenv("MLX5_SINGLE_THREADED");
	struct move *m;

	/* Posts to such QPs do not go through move_post_send(). */
	if (q->placed)
		return "the library has placed it in a register of its own";
	if (q->chunk)
		return "its requests may be split (job.chunk)";
	if (place_knows_pd(qp->pd))
		return "the program has put it in a parent domain, which says on which register it is";
	if (single && !strcmp(single, "1"))
		return "libmlx5 has no locks (MLX5_SINGLE_THREADED), and the library moves QPs in a thread of its own";
	if (!q->ring || !send_cq || !recv_cq)
		return "the library does not see its requests complete";
	if (channel_open(q->ctx->dev))
		return "there is no module that relays messages";
	if (!move_thread_start())
		return "there is no thread for it";
	m = move_new(q, qp, attr, ops);
	if (!m)
		return "out of memory";
	q->post_send = move_post_send;
	q->post_recv = move_post_recv;
	send_cq->moves = true;
	recv_cq->moves = true;
	atomic_store_explicit(&q->move, m, memory_order_release);
	if (q->wr_real)
		move_wr_patch(q);
	return NULL;
}

void move_adopt(struct ibv_qp *qp, struct ibv_qp_init_attr *attr, const struct move_ask *ask)
{
	struct qp *q = qp_find(qp);
	int err = errno;

	if (q && q->ctx->place.able && attr->cap.max_send_wr)
		q->reg = move_register_of(qp);
	if (q && lib_lock()) {
		q->move_why = ask->on ? try_to_adopt(q, qp, attr, ask->ops) : ask->why;
		if (q->move_why)
			move_knob_unable(q);
		lib_unlock();
	}
	/* The entry that was added is the library's. */
	if (ask->on && attr->cap.max_send_wr > ask->cap.max_send_wr) {
		attr->cap.max_send_wr--;
		if (q)
			q->asked_send_wr = attr->cap.max_send_wr;
	}
	errno = err;
}

/* --- posting -------------------------------------------------------------------------- */

static struct move *move_posted_to(const struct ibv_qp *qp, bool *alive)
{
	const struct qp *q = qp_find(qp);

	*alive = *q->alive;
	return atomic_load_explicit(&q->move, memory_order_acquire);
}

static bool takes_receive(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ||
	       wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

struct tally {
	uint32_t n, sig, sent, windows;
};

static struct tally tally_of(const struct move *m, const struct ibv_send_wr *wr)
{
	struct tally t = { 0 };

	for (; wr; wr = wr->next) {
		t.n++;
		t.sig += m->q->sig_all || wr->send_flags & IBV_SEND_SIGNALED;
		t.sent += takes_receive(wr);
		t.windows += wr->opcode == IBV_WR_BIND_MW;
	}
	return t;
}

int life_lock(struct move *m)
{
	int cancel = no_cancel();

	pthread_mutex_lock(&m->life);
	return cancel;
}

void life_unlock(struct move *m, int cancel)
{
	pthread_mutex_unlock(&m->life);
	allow_cancel(cancel);
}

void move_wait_to_post(struct move *m)
{
	int cancel;

	if (!m->frozen && !m->building)
		return;
	/* pthread_cond_wait() is a cancellation point, and a cancelled thread would keep .lock and .sq. */
	cancel = no_cancel();
	while (m->frozen || m->building)
		pthread_cond_wait(&m->thaw, &m->lock);
	allow_cancel(cancel);
}

int move_ring(struct move *m, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct place_register *r = m->now_at ? m->now_at->reg : NULL;
	enum bias_token token;
	int ret;

	if (!r)
		return m->q->ctx->real.post_send(m->now, wr, bad);
	token = ring_lock(r);
	ret = m->q->ctx->real.post_send(m->now, wr, bad);
	bias_unlock(&r->lock, token);
	return ret;
}

/*
 * Counts the list before it posts the list, because afterwards another thread may poll a completion
 * and free the requests that were posted. The provider did not post the requests from *bad on, so
 * this function may still read those.
 */
int move_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *refused = NULL;
	struct tally t, left = { 0 };
	struct move *m;
	bool alive;
	int ret;

	m = move_posted_to(qp, &alive);
	if (!alive)
		return m->q->ctx->real.post_send(m->now, wr, bad);
	t = tally_of(m, wr);
	pthread_mutex_lock(&m->lock);
	move_wait_to_post(m);
	ret = move_ring(m, wr, &refused);
	if (ret && refused) {
		left = tally_of(m, refused);
		if (bad)
			*bad = refused;
	} else if (ret) {
		m->broken = true;	/* how many were posted is not known */
	}
	m->accepted += t.n - left.n;
	m->sig_accepted += t.sig - left.sig;
	m->sent += t.sent - left.sent;
	m->windows |= t.windows > 0;
	pthread_mutex_unlock(&m->lock);
	return ret;
}

/* A window stays bound to the QP that it was bound by, so this one does not move any more. */
int move_bind_mw(struct move *m, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	enum bias_token token = BIAS_NESTED;
	struct place_register *r;
	int ret;

	pthread_mutex_lock(&m->lock);
	move_wait_to_post(m);
	m->windows = true;
	r = m->now_at ? m->now_at->reg : NULL;
	if (r)
		token = ring_lock(r);
	ret = m->q->ctx->real.bind_mw(m->now, mw, bind);
	if (r)
		bias_unlock(&r->lock, token);
	if (!ret) {
		m->accepted++;
		m->sig_accepted += m->q->sig_all || bind->send_flags & IBV_SEND_SIGNALED;
	}
	pthread_mutex_unlock(&m->lock);
	return ret;
}

/* The program has posted as many receives as its own QP takes. The next shadow takes no more either. */
static bool recvs_full(const struct move *m)
{
	return m->recv_head - m->recv_tail >= m->init.cap.max_recv_wr - 1;
}

/* False: there is no room for a copy. */
static bool keep_recv(struct move *m, const struct ibv_recv_wr *wr)
{
	struct move_recv *r = &m->recv[m->recv_head & m->recv_mask];

	if (recvs_full(m) || wr->num_sge < 0 || (uint32_t)wr->num_sge > m->recv_sges)
		return false;
	r->wr_id = wr->wr_id;
	r->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(&m->recv_sge[(size_t)(m->recv_head & m->recv_mask) * m->recv_sges],
		       wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
	m->recv_head++;
	return true;
}

/*
 * Posts a receive, and keeps a copy. A shadow has room for more receives than the program may post, so
 * the library refuses those. The program's own QP refuses by itself what exceeds its queue. If it takes
 * a receive of which there is no copy, the QP cannot move any more.
 */
static int post_one_recv(struct move *m, const struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr one = *wr, *refused;
	uint32_t head = m->recv_head;
	bool kept;
	int ret;

	/*
	 * The library does not count receives that failed as done. After a failure the QP does not move
	 * again, so nothing has to be kept for a shadow.
	 */
	if (!m->broken && m->now != m->first && !m->init.srq && recvs_full(m))
		return ENOMEM;
	one.next = NULL;
	kept = keep_recv(m, wr);
	ret = m->q->ctx->real.post_recv(m->now, &one, &refused);
	if (ret)
		m->recv_head = head;
	else if (!kept)
		m->broken = true;
	return ret;
}

/* Posts the receives one at a time, so that a copy of each is kept before a message can complete it. */
int move_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct move *m;
	bool alive;
	int ret = 0;

	m = move_posted_to(qp, &alive);
	if (!alive)
		return m->q->ctx->real.post_recv(m->now, wr, bad);
	pthread_mutex_lock(&m->lock);
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one_recv(m, wr);
	if (ret && bad)
		*bad = wr;
	pthread_mutex_unlock(&m->lock);
	return ret;
}

/* --- completions ----------------------------------------------------------------------- */

static bool is_receive(const struct ibv_wc *wc)
{
	return wc->opcode == IBV_WC_RECV || wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
}

/* All requests before the fence are complete. With .lock of the CQ held. */
static void end_fence(struct move *m)
{
	struct qp *q = m->q;
	uint32_t done = q->done;

	atomic_store_explicit(&q->done, m->fence_at, memory_order_relaxed);
	count_any(&q->slot->poll_others.wrs, m->fence_at - done);
}

/* A completion of a request of the library; false: it is none. */
static bool take_own(struct move *m, const struct ibv_wc *wc)
{
	bool ok = wc->status == IBV_WC_SUCCESS;

	if (wc->wr_id == (uintptr_t)&m->fence) {
		if (ok && m->fence_out && m->q->order)
			end_fence(m);
		m->fence_out = false;
		m->broken |= !ok;
	} else if (wc->wr_id == (uintptr_t)&m->mark_out) {
		m->mark_sent = ok;
		m->mark_failed = !ok;
		m->broken |= !ok;
	} else if (wc->wr_id == (uintptr_t)&m->mark_in) {
		m->mark_heard |= ok;
		m->mark_imm = ok ? be32toh(wc->imm_data) : 0;
	} else {
		return false;
	}
	return true;
}

/* Receives of an SRQ stay there while the QP moves, so the library keeps no copies. */
static void count_recv(struct move *m)
{
	m->received++;
	if (m->init.srq)
		return;
	if (m->recv_tail == m->recv_head)
		m->broken = true;
	else
		m->recv_tail++;
}

/*
 * If A gives up waiting for B's mark (MARK_TIME), A posts to the new connection before B has followed. A's
 * messages then take receives of B's SRQ.
 */
static bool came_early(const struct move *m, const struct ibv_wc *wc)
{
	return m->init.srq && m->next && wc->qp_num == m->next->qp_num &&
	       wc->status == IBV_WC_SUCCESS && is_receive(wc);
}

/* False: the program is not to see it. */
static bool keep_one(struct qp *q, struct move *m, struct ibv_wc *wc)
{
	bool ok = wc->status == IBV_WC_SUCCESS, keep = true;

	pthread_mutex_lock(&m->lock);
	if (take_own(m, wc)) {
		keep = false;
	} else if (came_early(m, wc)) {
		m->early++;
	} else if (wc->qp_num != m->now->qp_num) {
		/* The QP is not in use. Its flushed receives were posted again on the one in use. */
		keep = ok;
		m->broken |= ok;
	} else if (!ok) {
		m->broken = true;
	} else if (is_receive(wc)) {
		count_recv(m);
	}
	wc->qp_num = q->qpn;
	pthread_mutex_unlock(&m->lock);
	return keep;
}

int move_keep(struct cq *c, struct ibv_wc *wc, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		struct qp *q = context_qp(c->ctx, wc[i].qp_num);
		struct move *m = q ? atomic_load_explicit(&q->move, memory_order_acquire) : NULL;

		if ((m && !keep_one(q, m, &wc[i])) ||
		    (!q && notifier_completed(c, wc[i].qp_num)))
			continue;
		if (kept != i)
			wc[kept] = wc[i];
		kept++;
	}
	return kept;
}

int move_rename(const struct cq *c, struct ibv_wc *wc, int n)
{
	for (int i = 0; i < n; i++) {
		const struct qp *q = context_qp(c->ctx, wc[i].qp_num);

		if (q && atomic_load_explicit(&q->move, memory_order_acquire))
			wc[i].qp_num = q->qpn;
	}
	return n;
}
