// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs that can move, and to which the program posts by ibv_wr_*(): the calls of a batch go to the QP that
 * is in use when the batch begins.
 *
 * The batch keeps it in use: .building of the move is set from wr_start to wr_complete or wr_abort, no
 * QP is swapped meanwhile, and other posts wait. .lock is not held as long, because the program may
 * poll, and post receives, while it builds a batch.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/placed.h"
#include "lib/wr_ex.h"

static struct move *move_built(const struct ibv_qp_ex *qpx, bool *alive)
{
	const struct qp *q = find_patched_qp(qpx);

	*alive = *q->alive;
	return atomic_load_explicit(&q->move, memory_order_acquire);
}

/*
 * Whether the program's own QP is in use. The provider's functions of this QP are in .wr of the move, because
 * wr_ex.c has replaced them; a shadow has the provider's own.
 */
static bool is_first(const struct move *m)
{
	return m->now == m->first;
}

static struct ibv_qp_ex *ex_now(const struct move *m)
{
	return (struct ibv_qp_ex *)m->now;
}

/* --- the requests of a batch ------------------------------------------------------------ */

static bool takes_receive(size_t starter)
{
	return starter == offsetof(struct wr_real, wr_send) ||
	       starter == offsetof(struct wr_real, wr_send_imm) ||
	       starter == offsetof(struct wr_real, wr_send_inv) ||
	       starter == offsetof(struct wr_real, wr_rdma_write_imm);
}

/* @starter: the place of the function in struct wr_real. */
static inline void note_built(struct move *m, unsigned int flags, size_t starter)
{
	m->batch.n++;
	m->batch.sig += m->q->sig_all || flags & IBV_SEND_SIGNALED;
	m->batch.sent += takes_receive(starter);
	m->batch.windows |= starter == offsetof(struct wr_real, wr_bind_mw);
}

#define X(name, params, args) \
static void moved_##name params \
{ \
	unsigned int flags = qpx->wr_flags; \
	uint64_t wr_id = qpx->wr_id; \
	struct move *m; \
	bool alive; \
\
	m = move_built(qpx, &alive); \
	if (is_first(m)) { \
		m->wr->name args; \
	} else { \
		qpx = ex_now(m); \
		qpx->wr_id = wr_id; \
		qpx->wr_flags = flags; \
		qpx->name args; \
	} \
	if (alive) \
		note_built(m, flags, offsetof(struct wr_real, name)); \
}
WR_STARTERS(X)
#undef X

#define X(name, params, args) \
static void moved_##name params \
{ \
	struct move *m; \
	bool alive; \
\
	m = move_built(qpx, &alive); \
	if (is_first(m)) { \
		m->wr->name args; \
	} else { \
		qpx = ex_now(m); \
		qpx->name args; \
	} \
}
WR_SETTERS(X)
#undef X

/* --- its begin and end ------------------------------------------------------------------- */

static void start_now(struct move *m, struct ibv_qp_ex *qpx)
{
	if (is_first(m))
		m->wr->wr_start(qpx);
	else
		ex_now(m)->wr_start(ex_now(m));
}

static int complete_now(struct move *m, struct ibv_qp_ex *qpx)
{
	return is_first(m) ? m->wr->wr_complete(qpx) : ex_now(m)->wr_complete(ex_now(m));
}

static void abort_now(struct move *m, struct ibv_qp_ex *qpx)
{
	if (is_first(m))
		m->wr->wr_abort(qpx);
	else
		ex_now(m)->wr_abort(ex_now(m));
}

static void moved_wr_start(struct ibv_qp_ex *qpx)
{
	struct move *m;
	bool alive;

	m = move_built(qpx, &alive);
	if (alive) {
		pthread_mutex_lock(&m->lock);
		move_wait_to_post(m);
		m->building = true;
		m->batch = (struct move_batch){ 0 };
		pthread_mutex_unlock(&m->lock);
	}
	start_now(m, qpx);
}

/* With .lock held, which it releases. */
static void end_batch(struct move *m)
{
	m->building = false;
	pthread_cond_broadcast(&m->thaw);
	pthread_mutex_unlock(&m->lock);
}

/* The provider posts the whole batch, or nothing. */
static int moved_wr_complete(struct ibv_qp_ex *qpx)
{
	enum bias_token token = BIAS_NESTED;
	struct place_register *r;
	struct move *m;
	bool alive;
	int ret;

	m = move_built(qpx, &alive);
	if (!alive)
		return complete_now(m, qpx);
	/* Under .lock, so that no completion of the batch is looked at before the batch has been counted. */
	pthread_mutex_lock(&m->lock);
	r = m->now_at ? m->now_at->reg : NULL;
	if (r)
		token = ring_lock(r);
	ret = complete_now(m, qpx);
	if (r)
		bias_unlock(&r->lock, token);
	if (!ret) {
		m->accepted += m->batch.n;
		m->sig_accepted += m->batch.sig;
		m->sent += m->batch.sent;
		m->windows |= m->batch.windows;
	}
	end_batch(m);
	return ret;
}

static void moved_wr_abort(struct ibv_qp_ex *qpx)
{
	struct move *m;
	bool alive;

	m = move_built(qpx, &alive);
	abort_now(m, qpx);
	if (!alive)
		return;
	pthread_mutex_lock(&m->lock);
	end_batch(m);
}

/* --- creation ---------------------------------------------------------------------------- */

/* Replaces the provider's function, unless that was done before. */
#define PATCH(name) do { \
	if (real->name && real->name != moved_##name) { \
		m->wr->name = real->name; \
		real->name = moved_##name; \
	} \
} while (0)

void move_wr_patch(struct qp *q)
{
	struct move *m = atomic_load_explicit(&q->move, memory_order_relaxed);
	struct wr_real *real = q->wr_real;

#define X(name, params, args) PATCH(name);
	WR_STARTERS(X)
	WR_SETTERS(X)
#undef X
	PATCH(wr_start);
	PATCH(wr_complete);
	PATCH(wr_abort);
}

bool move_wr_adopt(struct move *m)
{
	if (!m->q->wr_real)
		return true;
	if (!m->wr)
		m->wr = calloc(1, sizeof(*m->wr));
	return m->wr;
}

#define PLAIN_ATTRS (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
#define KNOWN_OPS (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
		   IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | \
		   IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | \
		   IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV | \
		   IBV_QP_EX_WITH_TSO)

struct move_ask move_ask_ex(const struct context *c, struct ibv_qp_init_attr_ex *attr)
{
	struct move_ask ask = { .cap = attr->cap };
	uint64_t ops = 0;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->comp_mask & ~PLAIN_ATTRS) {
		ask.why = "it was created with further attributes";
		return ask;
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ops = attr->send_ops_flags;
	/* The functions of other operations stay the provider's, and post to the QP that they are called for. */
	if (ops & ~(uint64_t)KNOWN_OPS) {
		ask.why = "it was created with operations that the library does not know";
		return ask;
	}
	ask = move_ask(c, (struct ibv_qp_init_attr *)attr);
	ask.ops = ops;
	return ask;
}

struct ibv_qp *move_create_like(const struct move *m, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = m->init;
	struct ibv_qp_init_attr_ex ex = { 0 };

	if (!m->ops)
		return next.create_qp(pd, &init);
	memcpy(&ex, &init, offsetof(struct ibv_qp_init_attr_ex, comp_mask));
	ex.comp_mask = PLAIN_ATTRS;
	ex.pd = pd;
	ex.send_ops_flags = m->ops;
	return m->q->ctx->create_qp_ex(pd->context, &ex);
}
