// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What happens next, of many sources that have a time each, or none. Four children
 * to a parent: most changes move a source later, and this way down is half as long.
 */
#include "model/internal.h"

#define CHILDREN 4

/* By time; at the same time by source, so that the order is always the same. */
static bool sooner(const struct model_event *a, const struct model_event *b)
{
	return a->when != b->when ? a->when < b->when : a->src < b->src;
}

static void put(struct model_heap *h, uint32_t at, struct model_event e)
{
	h->event[at] = e;
	h->where[e.src] = at;
}

static void sift_up(struct model_heap *h, uint32_t at, struct model_event e)
{
	uint32_t parent;

	while (at) {
		parent = (at - 1) / CHILDREN;
		if (!sooner(&e, &h->event[parent]))
			break;
		put(h, at, h->event[parent]);
		at = parent;
	}
	put(h, at, e);
}

static void sift_down(struct model_heap *h, uint32_t at, struct model_event e)
{
	uint32_t child, end, best;

	while ((child = CHILDREN * at + 1) < h->n) {
		end = child + CHILDREN < h->n ? child + CHILDREN : h->n;
		for (best = child++; child < end; child++)
			if (sooner(&h->event[child], &h->event[best]))
				best = child;
		if (!sooner(&h->event[best], &e))
			break;
		put(h, at, h->event[best]);
		at = best;
	}
	put(h, at, e);
}

void model_heap_init(struct model_heap *h, struct model_event *event, uint32_t *where,
		     uint32_t sources)
{
	uint32_t i;

	h->event = event;
	h->where = where;
	h->n = 0;
	h->event[0].when = MODEL_NEVER;
	for (i = 0; i < sources; i++)
		where[i] = MODEL_NONE;
}

void model_heap_set(struct model_heap *h, uint32_t src, uint64_t when)
{
	struct model_event e = { .when = when, .src = src };
	uint32_t at = h->where[src];

	if (at == MODEL_NONE)
		sift_up(h, h->n++, e);
	else if (when > h->event[at].when)
		sift_down(h, at, e);
	else
		sift_up(h, at, e);
}

void model_heap_clear(struct model_heap *h, uint32_t src)
{
	uint32_t at = h->where[src];
	struct model_event last;

	if (at == MODEL_NONE)
		return;
	h->where[src] = MODEL_NONE;
	last = h->event[--h->n];
	if (at != h->n) {
		if (at && sooner(&last, &h->event[(at - 1) / CHILDREN]))
			sift_up(h, at, last);
		else
			sift_down(h, at, last);
	}
	if (!h->n)
		h->event[0].when = MODEL_NEVER;
}
