// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* QPs that can move: which QP the program's requests go to, and what waits in it. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/channel.h"
#include "lib/lib.h"
#include "lib/move.h"

#define PSN_MASK 0xffffff

#define CONNECT_MASK (IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_AV | \
		      IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_MAX_DEST_RD_ATOMIC | \
		      IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
		      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

/*
 * Structs of QPs that are gone, oldest first, under lib_lock(). So many are kept before one is used
 * again, because a thread may have found one just before.
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

bool move_ask(const struct context *c, struct ibv_qp_init_attr *attr)
{
	if (!settings.move || settings.mode != MODE_LATENCY || !c || !*c->alive ||
	    attr->qp_type != IBV_QPT_RC || attr->srq || !attr->cap.max_send_wr)
		return false;
	attr->cap.max_send_wr++;
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

static struct move *move_new(struct qp *q, struct ibv_qp *qp, const struct ibv_qp_init_attr *attr)
{
	struct move *m = NULL;

	if (free_count > FREE_KEEP) {
		m = free_first;
		free_first = m->next_free;
		free_count--;
		free(m->recv);
		free(m->recv_sge);
		memset(m, 0, sizeof(*m));
	} else {
		m = calloc(1, sizeof(*m));
	}
	if (!m)
		return NULL;
	if (!alloc_recvs(m, attr->cap.max_recv_wr, attr->cap.max_recv_sge)) {
		move_free(m);
		return NULL;
	}
	pthread_mutex_init(&m->life, NULL);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->thaw, NULL);
	pthread_cond_init(&m->ended, NULL);
	m->q = q;
	m->first = m->now = qp;
	m->init = *attr;
	return m;
}

void move_adopt(struct ibv_qp *qp, const struct ibv_qp_init_attr *attr)
{
	struct cq *send_cq = cq_find(qp->send_cq), *recv_cq = cq_find(qp->recv_cq);
	struct qp *q = qp_find(qp);
	struct move *m;

	/* Posts of other QPs go other ways. */
	if (!q || !q->ring || q->placed || q->chunk || q->wr_real || !send_cq || !recv_cq || !lib_lock())
		return;
	m = !channel_open(q->ctx->dev) && move_thread_start() ? move_new(q, qp, attr) : NULL;
	if (m) {
		q->post_send = move_post_send;
		q->post_recv = move_post_recv;
		send_cq->moves = true;
		recv_cq->moves = true;
		atomic_store_explicit(&q->move, m, memory_order_release);
	}
	lib_unlock();
}

/* --- posting -------------------------------------------------------------------------- */

static struct move *move_of(const struct ibv_qp *qp, bool *alive)
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
	uint32_t n, sig, sent;
};

static struct tally tally_of(const struct move *m, const struct ibv_send_wr *wr)
{
	struct tally t = { 0 };

	for (; wr; wr = wr->next) {
		t.n++;
		t.sig += m->q->sig_all || wr->send_flags & IBV_SEND_SIGNALED;
		t.sent += takes_receive(wr);
	}
	return t;
}

/*
 * The list is counted before it is posted, because a completion that another thread polls may free
 * its requests; those from *bad on have none.
 */
int move_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *refused = NULL;
	struct tally t, left = { 0 };
	struct move *m;
	bool alive;
	int ret;

	m = move_of(qp, &alive);
	if (!alive)
		return m->q->ctx->real.post_send(m->now, wr, bad);
	pthread_mutex_lock(&m->lock);
	while (m->frozen)
		pthread_cond_wait(&m->thaw, &m->lock);
	t = tally_of(m, wr);
	ret = m->q->ctx->real.post_send(m->now, wr, &refused);
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
	pthread_mutex_unlock(&m->lock);
	return ret;
}

static struct ibv_sge *sges_at(const struct move *m, uint32_t i)
{
	return &m->recv_sge[(size_t)(i & m->recv_mask) * m->recv_sges];
}

static void keep_recv(struct move *m, const struct ibv_recv_wr *wr)
{
	struct move_recv *r = &m->recv[m->recv_head & m->recv_mask];

	if (m->recv_head - m->recv_tail > m->recv_mask || wr->num_sge < 0 ||
	    (uint32_t)wr->num_sge > m->recv_sges) {
		m->broken = true;
		return;
	}
	r->wr_id = wr->wr_id;
	r->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(sges_at(m, m->recv_head), wr->sg_list,
		       (size_t)wr->num_sge * sizeof(*wr->sg_list));
	m->recv_head++;
}

/* One at a time: each is known before a message can complete it. */
int move_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct move *m;
	bool alive;
	int ret = 0;

	m = move_of(qp, &alive);
	if (!alive)
		return m->q->ctx->real.post_recv(m->now, wr, bad);
	pthread_mutex_lock(&m->lock);
	for (; wr && !ret; wr = ret ? wr : wr->next) {
		struct ibv_recv_wr one = *wr, *refused;
		uint32_t head = m->recv_head;

		one.next = NULL;
		keep_recv(m, wr);
		ret = m->q->ctx->real.post_recv(m->now, &one, &refused);
		if (ret)
			m->recv_head = head;
	}
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
static void end_fence(struct move *m, bool ok)
{
	struct qp *q = m->q;
	uint32_t done = q->done;

	m->fence_out = false;
	if (!ok) {
		m->broken = true;
		return;
	}
	atomic_store_explicit(&q->done, m->accepted, memory_order_relaxed);
	count_any(&q->slot->poll_others.wrs, m->accepted - done);
}

/* False: the program is not to see it. */
static bool keep_one(struct qp *q, struct move *m, struct ibv_wc *wc)
{
	bool ok = wc->status == IBV_WC_SUCCESS, keep = true;

	wc->qp_num = q->qpn;
	pthread_mutex_lock(&m->lock);
	if (wc->wr_id == (uintptr_t)&m->fence) {
		end_fence(m, ok);
		keep = false;
	} else if (!ok) {
		m->broken = true;
	} else if (is_receive(wc)) {
		m->received++;
		if (m->recv_tail == m->recv_head)
			m->broken = true;
		else
			m->recv_tail++;
	}
	pthread_mutex_unlock(&m->lock);
	return keep;
}

int move_keep(const struct cq *c, struct ibv_wc *wc, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		struct qp *q = context_qp(c->ctx, wc[i].qp_num);
		struct move *m = q ? atomic_load_explicit(&q->move, memory_order_acquire) : NULL;

		if (m && !keep_one(q, m, &wc[i]))
			continue;
		if (kept != i)
			wc[kept] = wc[i];
		kept++;
	}
	return kept;
}

/* --- shadows ----------------------------------------------------------------------------- */

/* The library must be able to poll the queue, and to give completions back. */
static bool can_poll(const struct cq *c)
{
	return c && *c->alive && c->moves && !c->start_poll && !c->has_channel &&
	       !atomic_load_explicit(&c->by_entry, memory_order_relaxed) &&
	       atomic_load_explicit(&c->lock.owner, memory_order_relaxed) != BIAS_LOST;
}

int move_possible(struct move *m)
{
	if (m->dead || m->now->state != IBV_QPS_RTS)
		return -ENOTCONN;
	if (m->broken || !m->q->order)
		return -EIO;
	if (m->q->chunk || m->q->wr_real || move_forked ||
	    (m->attr_mask & CONNECT_MASK) != CONNECT_MASK ||
	    !can_poll(cq_find(m->first->send_cq)) || !can_poll(cq_find(m->first->recv_cq)))
		return -EOPNOTSUPP;
	return 0;
}

static bool name_shadow(struct move *m, struct ibv_qp *qp)
{
	bool ok = false;

	if (lib_lock()) {
		ok = context_put_qpn(m->q->ctx, qp->qp_num, m->q);
		lib_unlock();
	}
	return ok;
}

static void destroy_shadow(struct move *m, struct ibv_qp *qp)
{
	uint32_t qpn = qp->qp_num;

	if (next.destroy_qp(qp))
		return;
	if (lib_lock()) {
		context_drop_qpn(m->q->ctx, qpn, m->q);
		lib_unlock();
	}
}

int move_make_shadow(struct move *m)
{
	struct ibv_qp_init_attr init = m->init;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .pkey_index = m->attr.pkey_index,
		.port_num = m->attr.port_num, .qp_access_flags = m->attr.qp_access_flags,
	};
	struct ibv_qp *qp = next.create_qp(m->first->pd, &init);

	if (!qp)
		return -errno;
	if (!name_shadow(m, qp) ||
	    next.modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   IBV_QP_ACCESS_FLAGS)) {
		destroy_shadow(m, qp);
		return -ENOMEM;
	}
	qp->qp_context = m->first->qp_context;
	if (getrandom(&m->psn, sizeof(m->psn), GRND_NONBLOCK) != sizeof(m->psn))
		m->psn = (uint32_t)lib_clock();
	m->psn &= PSN_MASK;
	pthread_mutex_lock(&m->lock);
	m->next = qp;
	pthread_mutex_unlock(&m->lock);
	return 0;
}

int move_connect_shadow(struct move *m)
{
	struct ibv_qp_attr attr = m->attr;
	int ret;

	attr.qp_state = IBV_QPS_RTR;
	attr.dest_qp_num = m->peer_qpn;
	attr.rq_psn = m->peer_psn;
	ret = next.modify_qp(m->next, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
	if (ret)
		return -ret;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = m->psn;
	ret = next.modify_qp(m->next, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return -ret;
}

void move_drop_shadow(struct move *m)
{
	struct ibv_qp *qp = m->next;

	pthread_mutex_lock(&m->lock);
	m->next = NULL;
	pthread_mutex_unlock(&m->lock);
	if (qp)
		destroy_shadow(m, qp);
}

/* --- the swap ------------------------------------------------------------------------------ */

void move_freeze(struct move *m)
{
	m->frozen_ns = lib_clock();
	pthread_mutex_lock(&m->lock);
	m->frozen = true;
	pthread_mutex_unlock(&m->lock);
}

void move_thaw(struct move *m)
{
	pthread_mutex_lock(&m->lock);
	if (m->frozen && lib_clock() - m->frozen_ns > m->longest_ns)
		m->longest_ns = lib_clock() - m->frozen_ns;
	m->frozen = false;
	pthread_cond_broadcast(&m->thaw);
	pthread_mutex_unlock(&m->lock);
}

/* Takes what has completed out of the CQs, for the program to poll. */
static void poll_queues(const struct move *m)
{
	struct cq *send_cq = cq_find(m->first->send_cq), *recv_cq = cq_find(m->first->recv_cq);

	while (send_cq && stash_fill(send_cq, 64, true) > 0)
		;
	while (recv_cq && recv_cq != send_cq && stash_fill(recv_cq, 64, true) > 0)
		;
}

/*
 * Unsignalled requests at the end of the queue complete with a request of the library after them: one
 * that moves no data, and that the peer has granted.
 */
static int post_fence(struct move *m)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)&m->fence, .send_flags = IBV_SEND_SIGNALED,
		.opcode = m->peer_access & IBV_ACCESS_REMOTE_WRITE ? IBV_WR_RDMA_WRITE :
								     IBV_WR_RDMA_READ,
	}, *bad;

	if (!(m->peer_access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)))
		return -EACCES;
	if (m->q->ctx->real.post_send(m->now, &wr, &bad))
		return -ENOSPC;
	m->fence_out = true;
	return 0;
}

int move_drained(struct move *m)
{
	const struct qp *q = m->q;
	int ret = 0;

	poll_queues(m);
	pthread_mutex_lock(&m->lock);
	if (m->broken || !q->order)
		ret = -EIO;
	else if (m->fence_out)
		ret = 0;
	else if (q->done == m->accepted)
		ret = 1;
	else if (q->sig_done == m->sig_accepted)
		ret = post_fence(m);
	pthread_mutex_unlock(&m->lock);
	return ret;
}

bool move_has_received(struct move *m, uint64_t sent)
{
	bool all;

	poll_queues(m);
	pthread_mutex_lock(&m->lock);
	all = m->received == sent;
	pthread_mutex_unlock(&m->lock);
	return all;
}

/* With .lock held. */
static int repost_recvs(struct move *m)
{
	for (uint32_t i = m->recv_tail; i != m->recv_head; i++) {
		const struct move_recv *r = &m->recv[i & m->recv_mask];
		struct ibv_recv_wr wr = {
			.wr_id = r->wr_id, .num_sge = r->num_sge, .sg_list = sges_at(m, i),
		}, *bad;

		if (m->q->ctx->real.post_recv(m->next, &wr, &bad))
			return -ENOSPC;
	}
	return 0;
}

int move_swap(struct move *m)
{
	int ret;

	pthread_mutex_lock(&m->lock);
	ret = repost_recvs(m);
	if (!ret) {
		m->old = m->now;
		m->now = m->next;
		m->next = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	return ret;
}

void move_drop_old(struct move *m)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp *qp = m->old;

	pthread_mutex_lock(&m->lock);
	m->old = NULL;
	pthread_mutex_unlock(&m->lock);
	if (!qp)
		return;
	if (qp != m->first) {
		destroy_shadow(m, qp);
		return;
	}
	next.modify_qp(qp, &attr, IBV_QP_STATE);
	/* What the program may read is the state of its connection. */
	m->first->state = m->now->state;
}

/* --- calls of the program --------------------------------------------------------------------- */

#define KEEP(flag, field) do { if (mask & (flag)) m->attr.field = attr->field; } while (0)

static void remember(struct move *m, const struct ibv_qp_attr *attr, int mask)
{
	KEEP(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	KEEP(IBV_QP_PKEY_INDEX, pkey_index);
	KEEP(IBV_QP_PORT, port_num);
	KEEP(IBV_QP_AV, ah_attr);
	KEEP(IBV_QP_PATH_MTU, path_mtu);
	KEEP(IBV_QP_DEST_QPN, dest_qp_num);
	KEEP(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	KEEP(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	KEEP(IBV_QP_TIMEOUT, timeout);
	KEEP(IBV_QP_RETRY_CNT, retry_cnt);
	KEEP(IBV_QP_RNR_RETRY, rnr_retry);
	KEEP(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	m->attr_mask |= mask;
	/* A QP that migrates between paths, or has a rate, is another kind of connection. */
	if (mask & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_RATE_LIMIT))
		m->broken = true;
}

/* The program's first QP is in RESET already, and what was in the shadow goes. */
static int back_to_first(struct move *m)
{
	struct ibv_qp *qp = m->now;

	pthread_mutex_lock(&m->lock);
	m->now = m->first;
	pthread_mutex_unlock(&m->lock);
	destroy_shadow(m, qp);
	m->first->state = IBV_QPS_RESET;
	return 0;
}

/* @m->lock is held. Nothing is outstanding. */
static void begin_anew(struct move *m)
{
	m->recv_tail = m->recv_head;
	m->sent = m->received = 0;
	m->broken = false;
	m->fence_out = false;
	m->attr_mask = 0;
	m->accepted = m->q->posted;
	m->sig_accepted = m->q->sig_posted;
}

int move_modify(struct move *m, struct ibv_qp_attr *attr, int mask)
{
	bool reset = mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET;
	int ret;

	pthread_mutex_lock(&m->life);
	move_interrupt(m);
	if (reset && m->now != m->first) {
		ret = back_to_first(m);
	} else {
		ret = next.modify_qp(m->now, attr, mask);
		if (!ret)
			m->first->state = m->now->state;
	}
	if (!ret) {
		remember(m, attr, mask);
		pthread_mutex_lock(&m->lock);
		if (reset)
			begin_anew(m);
		pthread_mutex_unlock(&m->lock);
	}
	pthread_mutex_unlock(&m->life);
	return ret;
}

int move_query(struct move *m, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	int ret;

	pthread_mutex_lock(&m->life);
	ret = next.query_qp(m->now, attr, mask, init);
	if (!ret && m->now != m->first)
		attr->dest_qp_num = m->attr.dest_qp_num;
	pthread_mutex_unlock(&m->life);
	return ret;
}

void move_destroy(struct move *m)
{
	pthread_mutex_lock(&m->life);
	move_interrupt(m);
	m->dead = true;
	m->wanted = false;
	pthread_cond_broadcast(&m->ended);
	if (m->now != m->first)
		back_to_first(m);
	pthread_mutex_unlock(&m->life);
}
