// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting by ibv_wr_*(). Each QP has function pointers of its own. From wr_start to
 * wr_complete or wr_abort only one thread uses the QP: the provider's lock ensures it, or the
 * program does (thread domains). .sq is held for the same time. It is taken before the provider's
 * lock, as in ibv_post_send().
 */
#include <stdlib.h>

#include "lib/wr_ex.h"

static void note_request(struct qp *q, const struct ibv_qp_ex *qpx)
{
	struct wr_build *b = &q->build;

	if (!*q->alive)
		return;
	b->n++;
	if (!b->order || !(q->sig_all || qpx->wr_flags & IBV_SEND_SIGNALED))
		return;
	qp_push(q, qpx->wr_id, q->sig_posted + b->sig, q->posted + b->n);
	b->sig++;
}

/* --- large requests ------------------------------------------------------------- */

/* Begins the request of @b, or its piece at @off, in the provider, with wr_id and wr_flags of @qpx. */
static void begin_real(const struct qp *q, QPX, const struct chunk_batch *b, uint64_t off)
{
	if (b->opcode == IBV_WR_RDMA_READ)
		q->wr_real->wr_rdma_read(qpx, b->rkey, b->addr + off);
	else
		q->wr_real->wr_rdma_write(qpx, b->rkey, b->addr + off);
}

/* Begins the request whole. Keeps wr_id and wr_flags, which the program may have set for its next one. */
static noinline void begin_deferred(struct qp *q, QPX)
{
	struct chunk_batch *b = &q->build.large;
	unsigned int flags = qpx->wr_flags;
	uint64_t wr_id = qpx->wr_id;

	b->deferred = false;
	qpx->wr_id = b->wr_id;
	qpx->wr_flags = b->flags;
	begin_real(q, qpx, b, 0);
	qpx->wr_id = wr_id;
	qpx->wr_flags = flags;
}

/* The open request, if there is one, gets no SGEs any more that could be split. */
static inline void close_request(struct qp *q, QPX)
{
	if (unlikely(q->build.large.deferred))
		begin_deferred(q, qpx);
	q->build.large.open = false;
}

/* False: the provider must get the call now. */
static noinline bool open_request(struct qp *q, const struct ibv_qp_ex *qpx,
				  enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr)
{
	struct chunk_batch *b = &q->build.large;

	if (!*q->alive || qpx->wr_flags & IBV_SEND_INLINE)
		return false;
	b->open = true;
	b->deferred = b->able;
	b->opcode = opcode;
	b->rkey = rkey;
	b->addr = addr;
	b->wr_id = qpx->wr_id;
	b->flags = qpx->wr_flags;
	return b->deferred;
}

static void post_pieces(struct qp *q, QPX, const struct split *s, const struct ibv_sge *sge,
			bool list)
{
	const struct wr_real *real = q->wr_real;
	struct chunk_batch *b = &q->build.large;
	struct chunk_walk w = { .split = s, .chunk = b->chunk, .flags = b->flags, .sge = sge };
	unsigned int flags = qpx->wr_flags;
	struct ibv_sge *to = q->chunk->sge;
	uint64_t wr_id = qpx->wr_id;
	struct chunk_part part;
	bool more;

	b->deferred = false;
	qpx->wr_id = (uintptr_t)s;
	do {
		more = chunk_next(&w, to, &part);
		qpx->wr_flags = part.flags;
		begin_real(q, qpx, b, part.off);
		if (list)
			real->wr_set_sge_list(qpx, (size_t)part.sges, to);
		else
			real->wr_set_sge(qpx, to->lkey, to->addr, to->length);
	} while (more);
	qpx->wr_id = wr_id;
	qpx->wr_flags = flags;
}

/* The program gives the SGEs of the open request. True: the request was posted in pieces. */
static noinline bool split_request(struct qp *q, QPX, const struct ibv_sge *sge, size_t n, bool list)
{
	struct split *s = NULL;
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += sge[i].length;
	if (*q->alive)
		s = chunk_split(q, bytes, n);
	if (s)
		post_pieces(q, qpx, s, sge, list);
	close_request(q, qpx);
	return s;
}

/* --- the provider's functions, wrapped ---------------------------------------------- */

#define X(name, params, args) \
static void lib_##name params \
{ \
	struct qp *q = find_patched_qp(qpx); \
\
	close_request(q, qpx); \
	q->wr_real->name args; \
	note_request(q, qpx); \
}
WR_WHOLE(X)
#undef X

static inline void begin_large(QPX, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr)
{
	struct qp *q = find_patched_qp(qpx);

	close_request(q, qpx);
	if (likely(!q->build.large.chunk) || !open_request(q, qpx, opcode, rkey, addr))
		begin_real(q, qpx, &(struct chunk_batch){
			.opcode = opcode, .rkey = rkey, .addr = addr,
		}, 0);
	note_request(q, qpx);
}

static void lib_wr_rdma_read(QPX, uint32_t rkey, uint64_t addr)
{
	begin_large(qpx, IBV_WR_RDMA_READ, rkey, addr);
}

static void lib_wr_rdma_write(QPX, uint32_t rkey, uint64_t addr)
{
	begin_large(qpx, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void note_bytes(struct qp *q, uint64_t n)
{
	if (*q->alive)
		q->build.bytes += n;
}

static void lib_wr_set_inline_data(QPX, void *addr, size_t length)
{
	struct qp *q = find_patched_qp(qpx);

	close_request(q, qpx);
	q->wr_real->wr_set_inline_data(qpx, addr, length);
	note_bytes(q, length);
}

static void lib_wr_set_inline_data_list(QPX, size_t n, const struct ibv_data_buf *buf)
{
	struct qp *q = find_patched_qp(qpx);

	close_request(q, qpx);
	q->wr_real->wr_set_inline_data_list(qpx, n, buf);
	for (size_t i = 0; i < n; i++)
		note_bytes(q, buf[i].length);
}

static void lib_wr_set_sge(QPX, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct qp *q = find_patched_qp(qpx);

	if (likely(!q->build.large.open) || !split_request(q, qpx, &(struct ibv_sge){
			.addr = addr, .length = length, .lkey = lkey,
		}, 1, false))
		q->wr_real->wr_set_sge(qpx, lkey, addr, length);
	note_bytes(q, length);
}

static void lib_wr_set_sge_list(QPX, size_t n, const struct ibv_sge *sge)
{
	struct qp *q = find_patched_qp(qpx);

	if (likely(!q->build.large.open) || !split_request(q, qpx, sge, n, true))
		q->wr_real->wr_set_sge_list(qpx, n, sge);
	for (size_t i = 0; i < n; i++)
		note_bytes(q, sge[i].length);
}

static void lib_wr_start(QPX)
{
	struct qp *q = find_patched_qp(qpx);
	enum bias_token token = BIAS_NESTED;
	struct pace_pass pass = { 0 };
	bool knobs = *q->alive && !control_quiet(q);

	if (!*q->alive || (unlikely(knobs) &&
			   !pace_wait(q, atomic_load_explicit(&q->last_batch, memory_order_relaxed),
				      &pass))) {
		q->wr_real->wr_start(qpx);
		/* What the parent was building is not this process's. */
		q->build.large = (struct chunk_batch){ 0 };
		return;
	}
	if (q->order)
		token = bias_lock(&q->sq);
	if (token == BIAS_FAILED)
		qp_lose_order(q, 0);
	q->wr_real->wr_start(qpx);
	q->build = (struct wr_build){ .token = token, .order = q->order, .pass = pass };
	if (unlikely(knobs))
		chunk_begin(q, q->build.order && (token == BIAS_OWNER || token == BIAS_HELD));
}

/* Reads what was built before the provider lets another thread start. */
static int complete_counted(struct qp *q, QPX)
{
	struct wr_build b = q->build;
	int ret;

	ret = q->wr_real->wr_complete(qpx);
	if (!ret && b.n)
		count_posted(q, posts_alone(q, b.token), b.n, b.bytes);
	bias_unlock(&q->sq, b.token);
	return ret;
}

static int complete_ordered(struct qp *q, QPX)
{
	struct wr_build b = q->build;
	uint32_t from = q->posted, sig = q->sig_posted;
	int ret;

	if (b.sig > q->ring_mask + 1)
		qp_lose_order(q, 0);
	qp_about_to_post(q, from, b.n);
	atomic_store_explicit(&q->posted, from + b.n, memory_order_relaxed);
	atomic_store_explicit(&q->sig_posted, sig + b.sig, memory_order_release);
	ret = q->wr_real->wr_complete(qpx);
	if (unlikely(b.large.able))
		chunk_end(q, !ret);
	if (ret) {
		/* The provider posts all requests of a batch, or none. */
		atomic_store_explicit(&q->sig_posted, sig, memory_order_release);
		atomic_store_explicit(&q->posted, from, memory_order_relaxed);
		qp_unsample(q, from);
	} else if (b.n) {
		count_posted(q, posts_alone(q, b.token), b.n, b.bytes);
	}
	bias_unlock(&q->sq, b.token);
	return ret;
}

/* @b is a copy of q->build, which another thread may already overwrite. */
static int charge_completed(struct qp *q, const struct wr_build *b, int ret)
{
	if (!ret && b->n)
		pace_charge(q, b->n, b->bytes, b->pass.held);
	credits_posted(q, b->pass.reserved);
	return ret;
}

static int lib_wr_complete(QPX)
{
	struct qp *q = find_patched_qp(qpx);
	struct wr_build b;
	int ret;

	close_request(q, qpx);
	if (!*q->alive)
		return q->wr_real->wr_complete(qpx);
	b = q->build;
	ret = b.order ? complete_ordered(q, qpx) : complete_counted(q, qpx);
	/* The next wr_start expects a batch of the same size. */
	atomic_store_explicit(&q->last_batch, b.n, memory_order_relaxed);
	return unlikely(!control_quiet(q) || b.pass.reserved) ? charge_completed(q, &b, ret) : ret;
}

static void lib_wr_abort(QPX)
{
	struct qp *q = find_patched_qp(qpx);
	struct wr_build b = q->build;

	q->wr_real->wr_abort(qpx);
	if (!*q->alive)
		return;
	if (unlikely(b.large.able))
		chunk_end(q, false);
	bias_unlock(&q->sq, b.token);
	credits_posted(q, b.pass.reserved);
}

/* Pointers that the provider left empty stay so, because programs test them. */
#define PATCH(name) do { \
	if (qpx->name && qpx->name != lib_##name) { \
		q->wr_real->name = qpx->name; \
		qpx->name = lib_##name; \
	} \
} while (0)

static void patch_placed(struct qp *q)
{
	struct wr_real *real = q->wr_real;
	struct placed_wr wr = {
		.start = real->wr_start, .complete = real->wr_complete, .abort = real->wr_abort,
	};

	placed_patch(q->placed, &wr);
	real->wr_start = wr.start;
	real->wr_complete = wr.complete;
	real->wr_abort = wr.abort;
}

bool wr_patch(struct qp *q, struct ibv_qp_ex *qpx)
{
	/* Only if the provider implements the interface for this QP. */
	if (!qpx->wr_start || !qpx->wr_complete || !qpx->wr_abort)
		return true;
	if (!q->wr_spare)
		q->wr_spare = calloc(1, sizeof(*q->wr_spare));
	if (!q->wr_spare)
		return false;
	/* Written only once: the thread that moves a QP patches it, too, while other threads read .wr_real. */
	if (q->wr_real != q->wr_spare)
		q->wr_real = q->wr_spare;
#define X(name, params, args) PATCH(name);
	WR_STARTERS(X)
#undef X
	PATCH(wr_set_inline_data);
	PATCH(wr_set_inline_data_list);
	PATCH(wr_set_sge);
	PATCH(wr_set_sge_list);
	PATCH(wr_start);
	PATCH(wr_complete);
	PATCH(wr_abort);
	if (q->placed)
		patch_placed(q);
	if (atomic_load_explicit(&q->move, memory_order_relaxed))
		move_wr_patch(q);
	__atomic_fetch_or(&q->slot->id.flags, SWIFTRDMA_SLOT_WR_API, __ATOMIC_RELAXED);
	return true;
}
