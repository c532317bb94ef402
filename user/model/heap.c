// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What happens next, of many sources that have a time each, or none. */
#include "model/internal.h"

/* By time; at the same time by source, so that the order is always the same. */
static bool sooner(const struct model_heap *h, uint32_t a, uint32_t b)
{
	return h->when[a] != h->when[b] ? h->when[a] < h->when[b] : a < b;
}

static void put(struct model_heap *h, uint32_t at, uint32_t src)
{
	h->heap[at] = src;
	h->where[src] = at;
}

static void sift(struct model_heap *h, uint32_t at, uint32_t src)
{
	uint32_t child;

	while (at && sooner(h, src, h->heap[(at - 1) / 2])) {
		put(h, at, h->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	while ((child = 2 * at + 1) < h->n) {
		if (child + 1 < h->n && sooner(h, h->heap[child + 1], h->heap[child]))
			child++;
		if (!sooner(h, h->heap[child], src))
			break;
		put(h, at, h->heap[child]);
		at = child;
	}
	put(h, at, src);
}

void model_heap_set(struct model_heap *h, uint32_t src, uint64_t when)
{
	uint32_t at = h->where[src];

	h->when[src] = when;
	sift(h, at == MODEL_NONE ? h->n++ : at, src);
}

void model_heap_clear(struct model_heap *h, uint32_t src)
{
	uint32_t at = h->where[src];

	if (at == MODEL_NONE)
		return;
	h->where[src] = MODEL_NONE;
	if (at != --h->n)
		sift(h, at, h->heap[h->n]);
}
