// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA READs and WRITEs that are posted in pieces, so that requests of other QPs get their turn
 * on the device in between: the queues' room for pieces, the knob, and completions. chunk_post.c
 * makes the pieces.
 *
 * Pieces follow each other in the send queue, unsignalled but for the last one. So a request that
 * succeeds completes once, when all of it is done. One that fails, or is flushed, completes once
 * for each piece that was left, because errors complete unsignalled requests, too: the first of
 * these is the program's, and the others are dropped.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/lib.h"

/* Room for pieces in a queue of n requests: 16 entries for each request, within these bounds. */
#define PIECES_EACH 16
#define QUEUE_MIN 256
#define QUEUE_MAX 2048
/* As many QPs may share a small CQ as it has entries. It gets room for QUEUE_MIN of each. */
#define CQ_SHARED 4096
#define CQ_MAX 16384

static uint32_t room_for(uint32_t n, uint32_t min, uint32_t max)
{
	uint64_t room = (uint64_t)PIECES_EACH * n;

	return room < min ? min : room > max ? max : (uint32_t)room;
}

static uint32_t cq_room_for(uint32_t cqe)
{
	uint32_t min = cqe < CQ_SHARED / QUEUE_MIN ? cqe * QUEUE_MIN : CQ_SHARED;

	return room_for(cqe, min, CQ_MAX);
}

uint64_t chunk_size(const struct device *dev)
{
	return atomic_load_explicit(&dev->knobs.chunk, memory_order_relaxed);
}

/* --- creation ------------------------------------------------------------------- */

static bool is_on(struct context *c)
{
	if (!*c->alive || settings.mode != MODE_LATENCY)
		return false;
	control_update(c->dev, lib_clock());
	return settings.chunk || chunk_size(c->dev);
}

uint32_t chunk_cq_room(struct context *c, uint32_t cqe)
{
	return cqe && cqe <= INT32_MAX - CQ_MAX && is_on(c) ? cq_room_for(cqe) : 0;
}

/* Requests of other QPs are left whole. With .sq_sig_all each piece would complete by itself. */
static bool can_split(const struct ibv_qp_init_attr *attr)
{
	return attr->qp_type == IBV_QPT_RC && !attr->sq_sig_all && attr->cap.max_send_wr &&
	       attr->cap.max_send_wr <= RING_WRS_MAX - QUEUE_MAX && attr->send_cq;
}

struct chunk_ask chunk_ask(struct context *c, struct ibv_qp_init_attr *attr)
{
	struct chunk_ask ask = { .cap = attr->cap };
	const struct cq *cq;

	if (!can_split(attr) || !is_on(c))
		return ask;
	cq = cq_find(attr->send_cq);
	ask.room = room_for(attr->cap.max_send_wr, QUEUE_MIN, QUEUE_MAX);
	if (!cq || cq->ctx != c)
		ask.room = 0;
	else if (ask.room > cq->room)
		ask.room = cq->room;
	attr->cap.max_send_wr += ask.room;
	return ask;
}

bool chunk_unask(struct chunk_ask *ask, struct ibv_qp_init_attr *attr)
{
	bool was = ask->room;

	if (was)
		attr->cap = ask->cap;
	ask->room = 0;
	return was;
}

static void *map_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Between these addresses are all structs split. Written with lib_lock() held. */
static _Atomic uint64_t lowest_split = UINT64_MAX, highest_split;

static void note_splits(const struct chunk_queue *k)
{
	uint64_t first = (uintptr_t)k->split, last = (uintptr_t)&k->split[k->mask];

	if (first < lowest_split)
		lowest_split = first;
	if (last > highest_split)
		highest_split = last;
}

static struct chunk_queue *queue_new(uint32_t room, const struct ibv_qp_cap *cap)
{
	struct chunk_queue *k = calloc(1, sizeof(*k));
	uint32_t n = 4;

	if (!k)
		return NULL;
	/* Twice the room: completions from before a RESET may come late. */
	while (n < 2 * room)
		n *= 2;
	k->requests = cap->max_send_wr;
	k->sges = cap->max_send_sge;
	k->room = room;
	k->mask = n - 1;
	/* Most of this is never touched: lists are short. */
	k->split = map_pages(n * sizeof(*k->split));
	k->piece = map_pages((size_t)(k->requests + room) * sizeof(*k->piece));
	k->sge = map_pages((size_t)room * (k->sges + 2) * sizeof(*k->sge));
	if (k->split && k->piece && k->sge) {
		note_splits(k);
		return k;
	}
	if (k->split)
		munmap(k->split, n * sizeof(*k->split));
	if (k->piece)
		munmap(k->piece, (size_t)(k->requests + room) * sizeof(*k->piece));
	if (k->sge)
		munmap(k->sge, (size_t)room * (k->sges + 2) * sizeof(*k->sge));
	free(k);
	return NULL;
}

/*
 * Finds a queue of these sizes among those that earlier QPs of the struct had, or makes one. NULL:
 * there is no memory.
 */
static struct chunk_queue *queue_fit(struct qp *q, uint32_t room, const struct ibv_qp_cap *cap)
{
	struct chunk_queue *k = q->chunk_spare;

	while (k && (k->room != room || k->requests != cap->max_send_wr ||
		     k->sges != cap->max_send_sge))
		k = k->older;
	if (!k) {
		k = queue_new(room, cap);
		if (!k)
			return NULL;
		k->older = q->chunk_spare;
		__atomic_store_n(&q->chunk_spare, k, __ATOMIC_RELEASE);
	}
	k->tail = k->head;
	k->used = 0;
	k->lost = 0;
	return k;
}

void chunk_give(struct ibv_qp *qp, struct ibv_qp_init_attr *attr, const struct chunk_ask *ask)
{
	struct cq *cq = cq_find(qp->send_cq);
	struct qp *q = qp_find(qp);
	uint32_t got = attr->cap.max_send_wr;
	struct ibv_qp_cap cap = ask->cap;
	struct chunk_queue *k;
	int err = errno;

	/* The entries beyond the program's size are for pieces. */
	if (ask->room)
		attr->cap.max_send_wr = ask->cap.max_send_wr;
	if (ask->room && q)
		q->asked_send_wr = ask->cap.max_send_wr;
	if (ask->room && q && q->ring && cq && got >= ask->cap.max_send_wr + ask->room && lib_lock()) {
		if (cap.max_send_sge < attr->cap.max_send_sge)
			cap.max_send_sge = attr->cap.max_send_sge;
		k = cq->room >= ask->room ? queue_fit(q, ask->room, &cap) : NULL;
		if (k) {
			k->cq = cq;
			cq->room -= ask->room;
			cq->split = true;
			q->chunk = k;
			__atomic_fetch_or(&q->slot->id.flags, SWIFTRDMA_SLOT_CHUNK,
					  __ATOMIC_RELAXED);
		}
		lib_unlock();
	}
	if (q)
		chunk_report_state(q->ctx->dev);
	errno = err;
}

void chunk_reap(const struct qp *q, struct chunk_queue *k)
{
	uint32_t done = atomic_load_explicit(&q->done, memory_order_relaxed);

	for (; k->tail != k->head; k->tail++) {
		const struct split *s = &k->split[k->tail & k->mask];

		if ((int32_t)(done - s->end) < 0)
			break;
		k->used -= s->more;
	}
}

/*
 * The QP ends or begins anew. Error completions of pieces may be in the completion queue still,
 * so the room of requests that the library did not see complete is never used again.
 */
static void lose_outstanding(const struct qp *q)
{
	struct chunk_queue *k = q->chunk;

	chunk_reap(q, k);
	k->lost += k->used;
	k->used = 0;
	k->tail = k->head;
}

void chunk_take_back(struct qp *q)
{
	struct cq *cq = q->chunk ? cq_find(q->send_cq) : NULL;

	if (!q->chunk)
		return;
	lose_outstanding(q);
	/* If the library did not see the QP destroyed, another CQ may have the address by now. */
	if (cq && cq == q->chunk->cq)
		cq->room += q->chunk->room - q->chunk->lost;
}

void chunk_reset(struct qp *q)
{
	if (q->chunk)
		lose_outstanding(q);
}

/* --- the knob --------------------------------------------------------------------- */

/* Whether any QP can be split, unless there is none yet. */
static bool is_able(const struct device *dev)
{
	bool any = false;

	if (settings.mode != MODE_LATENCY)
		return false;
	for (struct qp *q = qp_all(); q; q = q->next_all) {
		if (!__atomic_load_n(&q->key, __ATOMIC_RELAXED) || q->ctx->dev != dev)
			continue;
		if (q->chunk)
			return true;
		any = true;
	}
	return !any;
}

void chunk_report_state(struct device *dev)
{
	uint32_t state = chunk_size(dev) ? SWIFTRDMA_KNOB_STATE_IN_FORCE : SWIFTRDMA_KNOB_STATE_IDLE;

	if (!dev->knobs.job)
		return;
	if ((chunk_size(dev) || settings.mode != MODE_LATENCY) && !is_able(dev))
		state = SWIFTRDMA_KNOB_STATE_UNABLE;
	control_state(dev, SWIFTRDMA_SHARE_KNOB_CHUNK, state);
}

void chunk_set(struct device *dev, uint64_t bytes)
{
	struct swiftrdma_knob_report *r = &dev->report->knob[SWIFTRDMA_SHARE_KNOB_CHUNK];

	atomic_store_explicit(&dev->knobs.chunk, bytes, memory_order_relaxed);
	__atomic_store_n(&r->value, bytes, __ATOMIC_RELAXED);
	chunk_report_state(dev);
}

/* --- polling -------------------------------------------------------------------------- */

static struct split *split_in(const struct qp *q, uint64_t wr_id)
{
	const struct chunk_queue *k = __atomic_load_n(&q->chunk_spare, __ATOMIC_ACQUIRE);

	for (; k; k = k->older)
		if (wr_id - (uintptr_t)k->split < (k->mask + 1ull) * sizeof(*k->split))
			return (struct split *)(uintptr_t)wr_id;
	return NULL;
}

/*
 * A wr_id of the program is taken to be never the address of a struct split. The completion may be
 * of a QP that was destroyed and whose number another QP has now; then all QPs are searched.
 */
static struct split *split_of(const struct cq *c, uint32_t qpn, uint64_t wr_id)
{
	const struct qp *q = context_qp(c->ctx, qpn);
	struct split *s = q ? split_in(q, wr_id) : NULL;

	if (s || wr_id < atomic_load_explicit(&lowest_split, memory_order_relaxed) ||
	    wr_id > atomic_load_explicit(&highest_split, memory_order_relaxed))
		return s;
	for (q = qp_all(); q && !s; q = q->next_all)
		s = split_in(q, wr_id);
	return s;
}

/* Whether the program must see a completion of the request. */
static bool is_to_be_told(struct split *s, enum ibv_wc_status status)
{
	return status == IBV_WC_SUCCESS || !atomic_exchange(&s->told, true);
}

int chunk_keep(const struct cq *c, struct ibv_wc *wc, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		struct split *s = split_of(c, wc[i].qp_num, wc[i].wr_id);

		if (s && !is_to_be_told(s, wc[i].status))
			continue;
		wc[kept] = wc[i];
		if (s) {
			wc[kept].wr_id = s->wr_id;
			wc[kept].byte_len = s->bytes;
		}
		kept++;
	}
	return kept;
}

bool chunk_keep_entry(struct cq *c, struct ibv_cq_ex *cqx)
{
	struct split *s = split_of(c, cqx->read_qp_num(cqx), cqx->wr_id);

	c->entry_split = s;
	if (!s)
		return true;
	if (!is_to_be_told(s, cqx->status))
		return false;
	cqx->wr_id = s->wr_id;
	return true;
}
