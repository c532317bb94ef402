// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/merge.h"

static int by_qp(const void *x, const void *y)
{
	const struct snap_qp *a = x, *b = y;
	int c = SNAP_CMP_QP(a, b);

	return c ? c : SNAP_CMP(a->time, b->time);
}

static int by_dev(const void *x, const void *y)
{
	const struct snap_dev *a = x, *b = y;

	return SNAP_CMP(a->index, b->index);
}

static int by_port(const void *x, const void *y)
{
	const struct snap_port *a = x, *b = y;

	return a->dev != b->dev ? SNAP_CMP(a->dev, b->dev)
				: SNAP_CMP(a->index, b->index);
}

static int by_prio(const void *x, const void *y)
{
	const struct snap_prio *a = x, *b = y;

	if (a->dev != b->dev)
		return SNAP_CMP(a->dev, b->dev);
	return a->port != b->port ? SNAP_CMP(a->port, b->port)
				  : SNAP_CMP(a->index, b->index);
}

static int by_uar(const void *x, const void *y)
{
	const struct snap_uar *a = x, *b = y;

	return a->dev != b->dev ? SNAP_CMP(a->dev, b->dev)
				: SNAP_CMP(a->index, b->index);
}

static int by_job(const void *x, const void *y)
{
	const struct snap_job *a = x, *b = y;

	return SNAP_CMP(a->id, b->id);
}

/* Dumps mostly come in the order wanted, QPs as they were created. */
static void sort(void *base, size_t n, size_t size,
		 int (*cmp)(const void *, const void *))
{
	const char *p = base;

	for (size_t i = 1; i < n; i++, p += size) {
		if (cmp(p, p + size) > 0) {
			qsort(base, n, size, cmp);
			return;
		}
	}
}

void srdma_sort_qps(struct snap_qp *qps, size_t n)
{
	sort(qps, n, sizeof(*qps), by_qp);
}

void srdma_sort_others(struct snapshot *snap)
{
	sort(snap->devs, snap->n_devs, sizeof(*snap->devs), by_dev);
	sort(snap->ports, snap->n_ports, sizeof(*snap->ports), by_port);
	sort(snap->prios, snap->n_prios, sizeof(*snap->prios), by_prio);
	sort(snap->uars, snap->n_uars, sizeof(*snap->uars), by_uar);
	sort(snap->jobs, snap->n_jobs, sizeof(*snap->jobs), by_job);
}

static bool reserve(struct snapshot *snap, size_t n)
{
	size_t cap = snap->cap_qps ? snap->cap_qps : 16;
	void *p;

	if (n <= snap->cap_qps)
		return true;
	while (cap < n)
		cap *= 2;
	p = realloc(snap->qps, cap * sizeof(*snap->qps));
	if (!p)
		return false;
	snap->qps = p;
	snap->cap_qps = cap;
	return true;
}

static bool last_of_key(const struct snap_qp *delta, size_t n, size_t i)
{
	return i + 1 == n || SNAP_CMP_QP(&delta[i], &delta[i + 1]);
}

static struct snap_qp *find(struct snapshot *snap, const struct snap_qp *key)
{
	size_t lo = 0, hi = snap->n_qps;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = SNAP_CMP_QP(&snap->qps[mid], key);

		if (!c)
			return &snap->qps[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/*
 * From the end, so that every element moves once and none is overwritten
 * before it moved. Those found are already in place.
 */
static void insert(struct snapshot *snap, const struct snap_qp *delta,
		   size_t n, size_t fresh)
{
	size_t from = snap->n_qps, to = from + fresh, i = n;

	snap->n_qps = to;
	while (to > from) {
		const struct snap_qp *d = &delta[i - 1];
		int c = from ? SNAP_CMP_QP(&snap->qps[from - 1], d) : -1;

		if (c > 0) {
			snap->qps[--to] = snap->qps[--from];
			continue;
		}
		if (c < 0 && last_of_key(delta, n, i - 1))
			snap->qps[--to] = *d;
		i--;
	}
}

int srdma_merge_qps(struct snapshot *snap, const struct snap_qp *delta,
		    size_t n)
{
	size_t fresh = 0;

	for (size_t i = 0; i < n; i++)
		if (last_of_key(delta, n, i) && !find(snap, &delta[i]))
			fresh++;
	if (!reserve(snap, snap->n_qps + fresh))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct snap_qp *qp = find(snap, &delta[i]);

		if (qp && last_of_key(delta, n, i))
			*qp = delta[i];
	}
	if (fresh)
		insert(snap, delta, n, fresh);
	return 0;
}
