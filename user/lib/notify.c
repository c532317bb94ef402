// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion events of CQs on which QPs move.
 *
 * While a QP moves, the library takes completions out of its CQs and keeps them for the program (stash.c).
 * A program that arms a CQ, and waits for an event before it polls, relies on what mlx5 does: arming a
 * CQ that has completions causes an event at once. The device does not know the completions that the
 * library keeps, so the library causes the event for these.
 *
 * Only the device can put an event into the program's channel. Each CQ with a channel therefore gets a
 * *notifier*, a QP of the library that is never connected. It has one receive posted and goes to ERR; the
 * receive completes as flushed, and causes the event if the CQ is armed. The program does not see this
 * completion.
 *
 * A program may therefore get an event and find no completion. Programs handle that without the library, too:
 * a completion may be polled between the arming of the CQ and the wait for its event.
 */
#include <stdlib.h>

#include "lib/lib.h"

struct notifier {
	pthread_mutex_t lock;		/* of the QP's state; before .lock of the CQ */
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct ibv_qp_attr init;	/* what the QP goes to INIT with */
};

/* --- creation ------------------------------------------------------------------------- */

static bool create_qp(struct notifier *n, const struct cq *c)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = c->key, .recv_cq = c->key,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	/* Not the program's PD, which the program may free before the CQ. */
	n->pd = next.alloc_pd ? next.alloc_pd(c->key->context) : NULL;
	n->qp = n->pd ? next.create_qp(n->pd, &attr) : NULL;
	return n->qp;
}

static void free_notifier(struct notifier *n)
{
	if (n->qp)
		next.destroy_qp(n->qp);
	if (n->pd)
		next.dealloc_pd(n->pd);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

bool notifier_create(struct cq *c, const struct ibv_qp_attr *attr)
{
	struct notifier *n;

	if (!c->has_channel || c->notifier)
		return true;
	n = calloc(1, sizeof(*n));
	if (!n)
		return false;
	pthread_mutex_init(&n->lock, NULL);
	n->init = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_INIT, .port_num = attr->port_num, .pkey_index = attr->pkey_index,
	};
	if (!create_qp(n, c)) {
		free_notifier(n);
		return false;
	}
	c->notifier_qpn = n->qp->qp_num;
	c->notifier_pending = false;
	atomic_store_explicit(&c->notifier, n, memory_order_release);
	return true;
}

/* Takes the completion of the notifier out of the CQ, if it is there. */
static void take_completion(struct cq *c)
{
	if (atomic_load(&c->notifier_pending))
		stash_fill(c, 64, true);
}

bool notifier_destroy(struct cq *c, struct ibv_qp_attr *attr)
{
	struct notifier *n = c->notifier;

	if (!n || !*c->alive)
		return false;
	*attr = n->init;
	take_completion(c);
	atomic_store(&c->notifier, NULL);
	c->notifier_qpn = QPN_NONE;
	free_notifier(n);
	return true;
}

/* --- events ----------------------------------------------------------------------------- */

bool notifier_completed(struct cq *c, uint32_t qpn)
{
	if (!c->has_channel || qpn != c->notifier_qpn)
		return false;
	atomic_store(&c->notifier_pending, false);
	return true;
}

/* Returns an error code. */
static int flush_receive(struct notifier *n, struct cq *c)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET }, error = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { 0 }, *bad;
	int err = next.modify_qp(n->qp, &reset, IBV_QP_STATE);

	if (!err)
		err = next.modify_qp(n->qp, &n->init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS);
	if (!err)
		err = c->ctx->real.post_recv(n->qp, &wr, &bad);
	if (!err)
		err = next.modify_qp(n->qp, &error, IBV_QP_STATE);
	return err;
}

/* Returns an error code if there is no event, after a second try. */
static int cause_event(struct notifier *n, struct cq *c)
{
	int err;

	pthread_mutex_lock(&n->lock);
	take_completion(c);
	atomic_store(&c->notifier_pending, true);
	err = flush_receive(n, c);
	if (err)
		err = flush_receive(n, c);
	if (err)
		atomic_store(&c->notifier_pending, false);
	pthread_mutex_unlock(&n->lock);
	return err;
}

/*
 * The CQ is armed first. A completion that the library polled before that is in the stash when
 * stash_keeps() looks, and one that comes later causes an event of its own. If the device causes no event,
 * the call fails: otherwise the program would wait for an event that never comes.
 */
int lib_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int ret = context_find(cq->context)->real.req_notify_cq(cq, solicited_only), err = errno;
	struct cq *c = cq_find(cq);
	struct notifier *n = c && *c->alive ? atomic_load_explicit(&c->notifier, memory_order_acquire) : NULL;

	if (!ret && n && !c->shown && stash_keeps(c))
		ret = cause_event(n, c);
	errno = err;
	return ret;
}
