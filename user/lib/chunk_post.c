// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pieces of large RDMA READs and WRITEs, for both ways of posting; see chunk.c. */
#include "lib/lib.h"

/* Some devices refuse a larger request, so it is never split: it must not succeed in pieces. */
#define WHOLE_MAX (1ull << 30)

static uint64_t bytes_of(const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;

	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

/* The number of bytes if the request is too large, else 0. */
static uint64_t too_large(const struct ibv_send_wr *wr, uint64_t chunk)
{
	uint64_t bytes;

	if ((wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_READ) ||
	    wr->send_flags & IBV_SEND_INLINE)
		return 0;
	bytes = bytes_of(wr);
	return bytes > chunk && bytes <= WHOLE_MAX ? bytes : 0;
}

bool chunk_wants(const struct qp *q, const struct ibv_send_wr *wr)
{
	uint64_t chunk = chunk_size(q->ctx->dev);

	for (; chunk && wr; wr = wr->next) {
		if (!too_large(wr, chunk))
			continue;
		if (q->chunk && atomic_load_explicit(&q->order, memory_order_relaxed))
			return true;
		count_any(&q->ctx->dev->report->chunk_left, 1);
	}
	return false;
}

/* --- pieces --------------------------------------------------------------------------- */

/* NULL: there is no room for the pieces; counts a request that goes whole. */
static struct split *take_split(struct qp *q, uint64_t chunk, const struct split *want, size_t sges)
{
	struct chunk_queue *k = q->chunk;
	uint32_t more = (uint32_t)((want->bytes - 1) / chunk);
	struct split *s;

	if (more > k->room - k->used - k->lost || sges > k->sges) {
		count_any(&q->ctx->dev->report->chunk_left, 1);
		return NULL;
	}
	s = &k->split[k->head++ & k->mask];
	*s = *want;
	s->more = more;
	k->used += more;
	return s;
}

/* Copies the SGEs of the next @n bytes; returns how many these are. */
static int cut_sges(struct chunk_walk *w, struct ibv_sge *to, uint32_t n)
{
	int sges = 0;

	while (n) {
		uint32_t left = w->sge->length - w->sge_off, part = left < n ? left : n;

		if (part)
			to[sges++] = (struct ibv_sge){
				.addr = w->sge->addr + w->sge_off, .length = part,
				.lkey = w->sge->lkey,
			};
		n -= part;
		w->sge_off += part;
		if (w->sge_off == w->sge->length) {
			w->sge++;
			w->sge_off = 0;
		}
	}
	return sges;
}

bool chunk_next(struct chunk_walk *w, struct ibv_sge *to, struct chunk_part *part)
{
	uint64_t left = w->split->bytes - w->off;
	bool more = left > w->chunk;

	*part = (struct chunk_part){
		.off = w->off, .flags = w->flags,
		.sges = cut_sges(w, to, (uint32_t)(more ? w->chunk : left)),
	};
	/* The first piece has waited for all that the fence waits for. */
	if (w->off)
		part->flags &= ~(unsigned int)IBV_SEND_FENCE;
	if (more)
		part->flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	w->off += w->chunk;
	return more;
}

/* --- lists of ibv_post_send() ------------------------------------------------------------ */

/* Appends the pieces of @wr to the list; returns the last one. */
static struct piece *add_pieces(struct piece *p, struct ibv_send_wr *wr, struct split *s,
				uint64_t chunk, struct ibv_sge **sge)
{
	struct chunk_walk w = {
		.split = s, .chunk = chunk, .flags = wr->send_flags, .sge = wr->sg_list,
	};
	struct chunk_part part;

	for (;; p++) {
		bool more = chunk_next(&w, *sge, &part);

		*p = (struct piece){ .wr = *wr, .of = wr, .split = s };
		p->wr.wr_id = (uintptr_t)s;
		p->wr.wr.rdma.remote_addr += part.off;
		p->wr.send_flags = part.flags;
		p->wr.sg_list = *sge;
		p->wr.num_sge = part.sges;
		*sge += part.sges;
		if (!more)
			return p;
		p->wr.next = &p[1].wr;
	}
}

struct ibv_send_wr *chunk_build(struct qp *q, struct ibv_send_wr *wr, uint32_t from)
{
	uint64_t chunk = chunk_size(q->ctx->dev), bytes;
	struct chunk_queue *k = q->chunk;
	struct ibv_sge *sge = k->sge;
	struct piece *p = k->piece;
	struct ibv_send_wr *w = wr;

	chunk_reap(q, k);
	k->began = k->head;
	/* The knob may have ended since chunk_wants(). A list that exceeds the queue exceeds .piece, too. */
	for (uint32_t n = 0; chunk && w; w = w->next)
		if (++n > k->requests)
			chunk = 0;
	if (!chunk)
		return wr;
	for (w = wr; w; w = w->next, p++) {
		struct split *s = NULL;

		from++;
		bytes = too_large(w, chunk);
		if (bytes)
			s = take_split(q, chunk, &(struct split){
				.wr_id = w->wr_id, .bytes = (uint32_t)bytes, .end = from,
			}, (size_t)w->num_sge);
		if (s)
			p = add_pieces(p, w, s, chunk, &sge);
		else
			*p = (struct piece){ .wr = *w, .of = w };
		p->wr.next = w->next ? &p[1].wr : NULL;
	}
	return &k->piece->wr;
}

/* Takes back the splits from @from on, whose requests were not posted. */
static void forget_splits(struct qp *q, const struct split *from)
{
	struct chunk_queue *k = q->chunk;

	while (k->head != k->tail) {
		struct split *s = &k->split[(k->head - 1) & k->mask];

		k->used -= s->more;
		k->head--;
		if (s == from)
			break;
	}
}

struct ibv_send_wr *chunk_refused(struct qp *q, const struct ibv_send_wr *bad)
{
	struct piece *first = q->chunk->piece, *p = (struct piece *)(uintptr_t)bad, *at;
	struct split *refused = NULL, *orphan = NULL;

	/* If @bad is no request of the list, the whole list counts as not posted. */
	if (p < first || p >= first + q->chunk->requests + q->chunk->room)
		p = first;
	if (p != first && p->split && p[-1].split == p->split)
		orphan = p->split;
	for (at = p; at && !refused; at = (struct piece *)at->wr.next)
		if (at->split != orphan)
			refused = at->split;
	if (refused)
		forget_splits(q, refused);
	/* Some pieces of this request were posted. The program learns from bad_wr that the request failed. */
	if (orphan)
		atomic_store_explicit(&orphan->told, true, memory_order_relaxed);
	return p->of;
}

void chunk_posted(struct qp *q)
{
	count_any(&q->ctx->dev->report->chunk_wrs, q->chunk->head - q->chunk->began);
}

/* --- batches of ibv_wr_*() ---------------------------------------------------------------- */

void chunk_begin(struct qp *q, bool ordered)
{
	struct chunk_batch *b = &q->build.large;
	struct chunk_queue *k = q->chunk;

	b->chunk = chunk_size(q->ctx->dev);
	b->able = b->chunk && k && ordered && !k->busy;
	if (!b->able)
		return;
	chunk_reap(q, k);
	k->began = k->head;
	k->busy = true;
}

struct split *chunk_split(struct qp *q, uint64_t bytes, size_t sges)
{
	const struct chunk_batch *b = &q->build.large;

	if (bytes <= b->chunk || bytes > WHOLE_MAX)
		return NULL;
	if (b->able)
		return take_split(q, b->chunk, &(struct split){
			.wr_id = b->wr_id, .bytes = (uint32_t)bytes,
			.end = atomic_load_explicit(&q->posted, memory_order_relaxed) + q->build.n,
		}, sges);
	count_any(&q->ctx->dev->report->chunk_left, 1);
	return NULL;
}

void chunk_end(struct qp *q, bool posted)
{
	struct chunk_queue *k = q->chunk;

	if (posted)
		chunk_posted(q);
	else if (k->head != k->began)
		forget_splits(q, &k->split[k->began & k->mask]);
	k->busy = false;
}
