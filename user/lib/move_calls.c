// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a program does to a QP that can move: changes, reads and destroys it. */
#include <string.h>

#include "lib/lib.h"

#define KEEP(flag, field) do { if (mask & (flag)) m->attr.field = attr->field; } while (0)

/* What a shadow is connected with. */
static void keep_attributes(struct move *m, const struct ibv_qp_attr *attr, int mask)
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
}

/* With .lock held. Nothing is outstanding. */
static void begin_anew(struct move *m)
{
	m->recv_tail = m->recv_head;
	m->sent = m->received = 0;
	m->broken = m->windows = m->fence_out = false;
	m->attr_mask = 0;
	m->accepted = m->q->posted;
	m->sig_accepted = m->q->sig_posted;
}

static int change_state(struct move *m, struct ibv_qp_attr *attr, int mask, bool reset)
{
	int ret;

	if (reset && m->now != m->first) {
		move_back_to_first(m);
		return 0;
	}
	ret = next.modify_qp(m->now, attr, mask);
	if (!ret)
		m->first->state = m->now->state;
	return ret;
}

int move_modify(struct move *m, struct ibv_qp_attr *attr, int mask)
{
	bool reset = mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET;
	bool ends = reset || (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_ERR);
	int cancel = life_lock(m), ret;

	if (ends)
		move_interrupt(m);
	else
		move_settle(m);
	ret = change_state(m, attr, mask, reset);
	if (!ret) {
		keep_attributes(m, attr, mask);
		pthread_mutex_lock(&m->lock);
		if (reset)
			begin_anew(m);
		else if (ends)
			m->broken = true;
		pthread_mutex_unlock(&m->lock);
	}
	life_unlock(m, cancel);
	return ret;
}

int move_query(struct move *m, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	int cancel = life_lock(m), ret;

	ret = next.query_qp(m->now, attr, mask, init);
	if (!ret && m->now != m->first) {
		/* The program knows the peer's QP by the number that it connected to. */
		attr->dest_qp_num = m->attr.dest_qp_num;
		attr->cap.max_recv_wr = init->cap.max_recv_wr =
			m->init.cap.max_recv_wr - !m->init.srq;
	}
	life_unlock(m, cancel);
	return ret;
}

static void bury_move(struct move *m)
{
	m->dead = true;
	m->wanted = false;
	move_interrupt(m);
	/* Sends ABORT while the QP still exists, by which the module finds the peer. */
	move_flush(m);
	pthread_cond_broadcast(&m->ended);
}

void move_destroy(struct move *m)
{
	int cancel = life_lock(m);

	bury_move(m);
	/* As libibverbs: a QP stays until the program has acknowledged its events. */
	while (atomic_load(&m->events))
		pthread_cond_wait(&m->ended, &m->life);
	if (m->now != m->first)
		move_back_to_first(m);
	life_unlock(m, cancel);
}

/* QPs that the program has not destroyed by now are never destroyed, so their moves end here. */
void move_close(const struct context *c)
{
	for (struct qp *q = qp_all(); q; q = q->next_all) {
		struct move *m = atomic_load_explicit(&q->move, memory_order_acquire);
		int cancel;

		if (!m || q->ctx != c || !__atomic_load_n(&q->key, __ATOMIC_ACQUIRE))
			continue;
		cancel = life_lock(m);
		bury_move(m);
		life_unlock(m, cancel);
	}
}
