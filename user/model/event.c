// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What happens next: a heap of sources, each with one time at most. By time; at
 * the same time by source, so that the order is always the same.
 */
#include "model/internal.h"

/* By time; at the same time by source, so that the order is always the same. */
static bool sooner(const struct model *m, uint32_t a, uint32_t b)
{
	return m->when[a] != m->when[b] ? m->when[a] < m->when[b] : a < b;
}

static void heap_put(struct model *m, uint32_t at, uint32_t src)
{
	m->heap[at] = src;
	m->where[src] = at;
}

static void heap_sift(struct model *m, uint32_t at, uint32_t src)
{
	uint32_t child;

	while (at && sooner(m, src, m->heap[(at - 1) / 2])) {
		heap_put(m, at, m->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	while ((child = 2 * at + 1) < m->heap_n) {
		if (child + 1 < m->heap_n && sooner(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!sooner(m, m->heap[child], src))
			break;
		heap_put(m, at, m->heap[child]);
		at = child;
	}
	heap_put(m, at, src);
}

void model_schedule(struct model *m, uint32_t src, uint64_t when)
{
	uint32_t at = m->where[src];

	m->when[src] = when;
	heap_sift(m, at == MODEL_NONE ? m->heap_n++ : at, src);
}

void model_unschedule(struct model *m, uint32_t src)
{
	uint32_t at = m->where[src];

	if (at == MODEL_NONE)
		return;
	m->where[src] = MODEL_NONE;
	if (at != --m->heap_n)
		heap_sift(m, at, m->heap[m->heap_n]);
}
