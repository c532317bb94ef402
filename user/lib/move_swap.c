// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shadows: made, connected, taken for the QP, or dropped; and what the library posts itself. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/random.h>

#include "lib/placed.h"

#define PSN_MASK 0xffffff

#define CONNECT_MASK (IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_AV | \
		      IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_MAX_DEST_RD_ATOMIC | \
		      IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
		      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define OTHER_MASK (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_RATE_LIMIT)

/* --- conditions ------------------------------------------------------------------------ */

/* The library must be able to poll the queue, and to keep what it polls. */
static const char *cannot_poll(const struct cq *c)
{
	const struct stash *s;

	if (c && c->start_poll && !c->entries)
		return "the library cannot keep what its extended completion queue offers";
	if (!c || !*c->alive || !c->moves || !c->move_room)
		return "its completion queue has no room for completions of the library";
	if (c->shown)
		return "the program has had its completion queue shown by mlx5dv_init_obj()";
	if (c->resized)
		return "its completion queue was resized";
	if (c->unlocked_srq)
		return "receives of a shared queue in a parent domain complete in its completion queue";
	if (atomic_load_explicit(&c->lock.owner, memory_order_relaxed) == BIAS_LOST)
		return "a thread left the poll of its completion queue without an end";
	s = atomic_load_explicit(&c->stash, memory_order_acquire);
	if (s ? s->mask + 1 < c->cqe : c->cqe > MOVE_STASH_MAX)
		return "its completion queue is too large";
	return NULL;
}

static const char *cannot_here(struct move *m)
{
	const char *why = cannot_poll(cq_find(m->first->send_cq));

	if (!why)
		why = cannot_poll(cq_find(m->first->recv_cq));
	if (why)
		return why;
	if (m->windows)
		return "memory windows are bound to it";
	if (m->q->stays)
		return m->q->stays;
	if (m->q->chunk)
		return "its requests may be split (job.chunk)";
	if (move_forked)
		return "the process has forked";
	if ((m->attr_mask & CONNECT_MASK) != CONNECT_MASK || m->attr_mask & OTHER_MASK)
		return "it was connected in an unusual way";
	return NULL;
}

const char *move_cannot(struct move *m, int *err)
{
	const char *why = NULL;

	*err = -ENOTCONN;
	if (m->dead || m->now->state != IBV_QPS_RTS)
		return "it is not in RTS";
	*err = -EIO;
	pthread_mutex_lock(&m->lock);
	if (m->broken || !m->q->order)
		why = "a request has failed, or the library has lost sight of its completions";
	pthread_mutex_unlock(&m->lock);
	if (why)
		return why;
	*err = -EOPNOTSUPP;
	return cannot_here(m);
}

/* --- shadows ----------------------------------------------------------------------------- */

static bool name_shadow(struct move *m, struct ibv_qp *qp)
{
	bool ok = false;

	if (lib_lock()) {
		ok = context_put_qpn(m->q->ctx, qp->qp_num, m->q);
		lib_unlock();
	}
	return ok;
}

/*
 * Called before the library destroys a shadow. rxe leaves the completions of a destroyed QP in the completion
 * queue, where the program would find the number of a QP that it did not create. In RESET the shadow causes no
 * further completions, and move_poll() takes those that came while the library still knows the number.
 */
static void reset_and_poll(struct move *m, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	if (qp->state != IBV_QPS_RESET)
		next.modify_qp(qp, &attr, IBV_QP_STATE);
	move_poll(m);
}

static void destroy_shadow(struct move *m, struct ibv_qp *qp, struct place_domain *at)
{
	uint32_t qpn = qp->qp_num;

	if (next.destroy_qp(qp))
		return;
	if (at)
		place_give(m->q->ctx, at);
	/* If another QP has got the number by now, it keeps it. */
	if (lib_lock()) {
		context_drop_qpn(m->q->ctx, qpn, m->q);
		lib_unlock();
	}
}

/* Posts the receive for the peer's mark, as the first one, because the mark is the peer's first message. */
static int post_mark_in(struct move *m, struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)&m->mark_in }, *bad;

	if (m->init.srq)
		return 0;
	return m->q->ctx->real.post_recv(qp, &wr, &bad);
}

static int prepare_shadow(struct move *m, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .pkey_index = m->attr.pkey_index,
		.port_num = m->attr.port_num, .qp_access_flags = m->attr.qp_access_flags,
	};

	if (!name_shadow(m, qp))
		return -ENOMEM;
	if (next.modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   IBV_QP_ACCESS_FLAGS) || post_mark_in(m, qp))
		return -EIO;
	return 0;
}

/*
 * Creates a QP in a register of the library with less to do, if there is one. If not, the provider chooses
 * the register (*@at is NULL), but a move for the knob fails with ENOSPC.
 */
static struct ibv_qp *create_shadow(struct move *m, struct place_domain **at)
{
	struct ibv_qp *qp;

	*at = place_take(m->q->ctx, m->first->pd, move_sharing(m->q));
	if (*at) {
		qp = move_create_like(m, (*at)->pd);
		if (qp)
			return qp;
		place_give(m->q->ctx, *at);
		*at = NULL;
	}
	if (m->by_knob) {
		errno = ENOSPC;
		return NULL;
	}
	return move_create_like(m, m->first->pd);
}

static bool create_notifiers(struct move *m)
{
	return notifier_create(cq_find(m->first->send_cq), &m->attr) &&
	       notifier_create(cq_find(m->first->recv_cq), &m->attr);
}

int move_make_shadow(struct move *m)
{
	struct place_domain *at;
	struct ibv_qp *qp;
	int err;

	if (move_fails_at(MOVE_STEP_SHADOW) || !create_notifiers(m))
		return -ENOMEM;
	qp = create_shadow(m, &at);
	if (!qp)
		return -errno;
	qp->qp_context = m->first->qp_context;
	err = prepare_shadow(m, qp);
	if (err) {
		destroy_shadow(m, qp, at);
		return err;
	}
	m->next_at = at;
	if (getrandom(&m->psn, sizeof(m->psn), GRND_NONBLOCK) != sizeof(m->psn))
		m->psn = (uint32_t)lib_clock();
	m->psn &= PSN_MASK;
	pthread_mutex_lock(&m->lock);
	m->next = qp;
	m->early = 0;
	m->mark_sent = m->mark_failed = m->mark_heard = false;
	pthread_mutex_unlock(&m->lock);
	return 0;
}

int move_connect_shadow(struct move *m)
{
	struct ibv_qp_attr attr = m->attr;
	int ret;

	if (move_fails_at(MOVE_STEP_CONNECT))
		return -EIO;
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
	struct place_domain *at = m->next_at;
	struct ibv_qp *qp = m->next;

	if (qp)
		reset_and_poll(m, qp);
	pthread_mutex_lock(&m->lock);
	m->next = NULL;
	m->next_at = NULL;
	pthread_mutex_unlock(&m->lock);
	if (qp)
		destroy_shadow(m, qp, at);
}

/* --- posts are held ------------------------------------------------------------------------ */

void move_freeze(struct move *m)
{
	m->froze = true;
	m->held_ns = lib_clock();
	m->drained_ns = 0;
	pthread_mutex_lock(&m->lock);
	m->frozen = true;
	m->load = m->accepted - m->q->done;
	pthread_mutex_unlock(&m->lock);
}

void move_thaw(struct move *m)
{
	pthread_mutex_lock(&m->lock);
	m->frozen = false;
	pthread_cond_broadcast(&m->thaw);
	pthread_mutex_unlock(&m->lock);
}

static void poll_queue(struct cq *c)
{
	while (stash_fill(c, 64, true) > 0)
		;
}

void move_poll(struct move *m)
{
	struct cq *send_cq = cq_find(m->first->send_cq), *recv_cq = cq_find(m->first->recv_cq);

	if (send_cq)
		poll_queue(send_cq);
	if (recv_cq && recv_cq != send_cq)
		poll_queue(recv_cq);
}

/*
 * Posts a *fence*: a signalled request of the library after unsignalled ones at the end of the queue. These
 * are complete when the fence is. It moves no data, and is a write or a read, as the peer grants.
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
	if (move_ring(m, &wr, &bad))
		return -ENOSPC;
	m->fence_out = true;
	m->fence_at = m->accepted;
	return 0;
}

int move_drained(struct move *m)
{
	const struct qp *q = m->q;
	int ret = 0;

	move_poll(m);
	pthread_mutex_lock(&m->lock);
	/* The program may have bound a memory window to the QP since move_cannot() looked. */
	if (m->broken || m->windows || !q->order)
		ret = -EIO;
	else if (m->fence_out || m->building)
		ret = 0;
	else if (q->done == m->accepted)
		ret = 1;
	else if (q->sig_done == m->sig_accepted)
		ret = post_fence(m);
	pthread_mutex_unlock(&m->lock);
	/* Once for each move, which looks here until it is drained. */
	if (ret == 1 && move_fails_at(MOVE_STEP_DRAIN))
		return -EIO;
	return ret;
}

bool move_probe(struct move *m)
{
	bool posted = false;

	pthread_mutex_lock(&m->lock);
	/* If a batch is being built, its requests show as well whether the connection works. */
	if (!m->broken && !m->fence_out && !m->building)
		posted = !post_fence(m);
	pthread_mutex_unlock(&m->lock);
	return posted;
}

int move_probed(struct move *m)
{
	int ret;

	pthread_mutex_lock(&m->lock);
	ret = m->fence_out ? 0 : m->broken ? -1 : 1;
	if (ret < 0)
		m->broken = false;
	pthread_mutex_unlock(&m->lock);
	return ret;
}

bool move_has_received(struct move *m, uint64_t sent, uint64_t mask)
{
	bool all;

	move_poll(m);
	pthread_mutex_lock(&m->lock);
	all = (m->received & mask) == (sent & mask);
	pthread_mutex_unlock(&m->lock);
	return all;
}

/* --- the swap ------------------------------------------------------------------------------ */

/* With .lock held. */
static int repost_recvs(struct move *m)
{
	if (move_fails_at(MOVE_STEP_RECVS))
		return -ENOSPC;
	for (uint32_t i = m->recv_tail; i != m->recv_head; i++) {
		const struct move_recv *r = &m->recv[i & m->recv_mask];
		struct ibv_recv_wr wr = {
			.wr_id = r->wr_id, .num_sge = r->num_sge,
			.sg_list = &m->recv_sge[(size_t)(i & m->recv_mask) * m->recv_sges],
		}, *bad;

		if (m->q->ctx->real.post_recv(m->next, &wr, &bad))
			return -ENOSPC;
	}
	return 0;
}

/*
 * The old connection ends here, so a peer that takes it for the one in use gets an error. With .lock held,
 * because libmlx5 sets some functions of the QP anew.
 */
static void end_old(struct move *m)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	bool failed = move_fails_at(MOVE_STEP_RESET) || next.modify_qp(m->old, &attr, IBV_QP_STATE);

	if (failed) {
		attr.qp_state = IBV_QPS_ERR;
		next.modify_qp(m->old, &attr, IBV_QP_STATE);
	}
	if (m->old != m->first)
		return;
	m->first_failed = failed;
	if (m->q->wr_real)
		wr_patch(m->q, (struct ibv_qp_ex *)m->first);
}

/* A message of no bytes; the peer knows by it that this end has swapped. */
static int send_mark(struct move *m)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)&m->mark_out, .send_flags = IBV_SEND_SIGNALED,
		.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl((uint32_t)m->sent),
	}, *bad;

	return move_ring(m, &wr, &bad);
}

/* With .lock held. The mark is sent first, so that the peer goes on while the old QP is reset. */
static void take_shadow(struct move *m)
{
	m->old = m->now;
	m->old_at = m->now_at;
	m->now = m->next;
	m->now_at = m->next_at;
	m->next = NULL;
	m->next_at = NULL;
	m->received += m->early;
	if (!m->peer_srq && send_mark(m))
		m->mark_failed = m->broken = true;
	end_old(m);
	m->first->state = m->now->state;
}

int move_swap(struct move *m)
{
	int ret;

	pthread_mutex_lock(&m->lock);
	ret = m->broken ? -EIO : repost_recvs(m);
	if (!ret)
		take_shadow(m);
	pthread_mutex_unlock(&m->lock);
	if (!ret)
		move_report(m);
	return ret;
}

void move_drop_old(struct move *m)
{
	struct place_domain *at = m->old_at;
	struct ibv_qp *qp = m->old;

	if (qp && qp != m->first)
		reset_and_poll(m, qp);
	pthread_mutex_lock(&m->lock);
	m->old = NULL;
	m->old_at = NULL;
	pthread_mutex_unlock(&m->lock);
	if (qp && qp != m->first)
		destroy_shadow(m, qp, at);
}

void move_back_to_first(struct move *m)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct place_domain *at = m->now_at;
	struct ibv_qp *qp = m->now;

	reset_and_poll(m, qp);
	pthread_mutex_lock(&m->lock);
	m->now = m->first;
	m->now_at = NULL;
	pthread_mutex_unlock(&m->lock);
	move_report(m);
	destroy_shadow(m, qp, at);
	if (m->first_failed)
		m->first_failed = next.modify_qp(m->first, &attr, IBV_QP_STATE);
	m->first->state = IBV_QPS_RESET;
}
