// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "io/merge.h"

#define CACHE_LINE	64

static int by_qp(const void *x, const void *y)
{
	const struct snap_qp *a = x, *b = y;
	int c = SNAP_CMP_QP(a, b);

	return c ? c : ARRAY_CMP(a->time, b->time);
}

static int by_dev(const void *x, const void *y)
{
	const struct snap_dev *a = x, *b = y;

	return ARRAY_CMP(a->index, b->index);
}

static int by_port(const void *x, const void *y)
{
	const struct snap_port *a = x, *b = y;

	return a->dev != b->dev ? ARRAY_CMP(a->dev, b->dev)
				: ARRAY_CMP(a->index, b->index);
}

static int by_prio(const void *x, const void *y)
{
	const struct snap_prio *a = x, *b = y;

	if (a->dev != b->dev)
		return ARRAY_CMP(a->dev, b->dev);
	return a->port != b->port ? ARRAY_CMP(a->port, b->port)
				  : ARRAY_CMP(a->index, b->index);
}

static int by_uar(const void *x, const void *y)
{
	const struct snap_uar *a = x, *b = y;

	return a->dev != b->dev ? ARRAY_CMP(a->dev, b->dev)
				: ARRAY_CMP(a->index, b->index);
}

static int by_job(const void *x, const void *y)
{
	const struct snap_job *a = x, *b = y;

	return ARRAY_CMP(a->id, b->id);
}

static int by_job_report(const void *x, const void *y)
{
	const struct snap_job_report *a = x, *b = y;

	return a->job != b->job ? ARRAY_CMP(a->job, b->job) : ARRAY_CMP(a->dev, b->dev);
}

static int by_qp_report(const void *x, const void *y)
{
	const struct snap_qp_report *a = x, *b = y;

	return SNAP_CMP_QP(a, b);
}

/* Dumps are mostly sorted already; QPs come in the order of their creation. */
static void sort_if_needed(void *base, size_t n, size_t size,
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
	sort_if_needed(qps, n, sizeof(*qps), by_qp);
}

void srdma_sort_others(struct snapshot *snap)
{
	sort_if_needed(snap->devs, snap->n_devs, sizeof(*snap->devs), by_dev);
	sort_if_needed(snap->ports, snap->n_ports, sizeof(*snap->ports), by_port);
	sort_if_needed(snap->prios, snap->n_prios, sizeof(*snap->prios), by_prio);
	sort_if_needed(snap->uars, snap->n_uars, sizeof(*snap->uars), by_uar);
	sort_if_needed(snap->jobs, snap->n_jobs, sizeof(*snap->jobs), by_job);
	sort_if_needed(snap->job_reports, snap->n_job_reports, sizeof(*snap->job_reports),
		       by_job_report);
	sort_if_needed(snap->qp_reports, snap->n_qp_reports, sizeof(*snap->qp_reports),
		       by_qp_report);
}

static bool last_of_key(const struct snap_qp *delta, size_t n, size_t i)
{
	return i + 1 == n || SNAP_CMP_QP(&delta[i], &delta[i + 1]);
}

static uint64_t key_of(const struct snap_qp *qp)
{
	return (uint64_t)qp->dev << 32 | qp->qpn;
}

/*
 * Makes the keys, unless they are there. A search through the QPs themselves, which are large,
 * would read each of them from memory.
 */
static bool make_keys(struct snapshot *snap)
{
	if (snap->n_qp_keys == snap->n_qps)
		return true;
	if (!array_reserve(&snap->qp_key, &snap->cap_qp_keys, snap->n_qps, sizeof(*snap->qp_key)))
		return false;
	for (size_t i = 0; i < snap->n_qps; i++)
		snap->qp_key[i] = key_of(&snap->qps[i]);
	snap->n_qp_keys = snap->n_qps;
	return true;
}

/*
 * The first row from @from on whose key is not below @key. Looks at rows at growing distances,
 * because that row is mostly near @from, and a search through all rows would miss the cache.
 */
static size_t seek_key(const struct snapshot *snap, size_t from, uint64_t key)
{
	size_t step = 1;

	while (from + step < snap->n_qps && snap->qp_key[from + step] < key) {
		from += step;
		step *= 2;
	}
	if (step > snap->n_qps - from)
		step = snap->n_qps - from;
	return from + array_find(step, i, snap->qp_key[from + i] < key);
}

/* Starts to load a row, so that memory is read while others are searched. */
static void prefetch_qp(const struct snapshot *snap, size_t row)
{
	const char *p = (const char *)&snap->qps[row];

	for (size_t i = 0; i < sizeof(*snap->qps); i += CACHE_LINE)
		__builtin_prefetch(p + i, 1);
}

/* The first row whose QP is not before @qp. @row: the first row with the key of @qp. */
static size_t seek_qp(const struct snapshot *snap, size_t row, const struct snap_qp *qp)
{
	while (row < snap->n_qps && SNAP_CMP_QP(&snap->qps[row], qp) < 0)
		row++;
	return row;
}

/*
 * Inserts the new QPs of @delta. Works from the end, so that each element moves once, before it is
 * overwritten. The caller has already replaced the QPs that were in @snap.
 */
static void insert_new(struct snapshot *snap, const struct snap_qp *delta,
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
	size_t fresh = 0, row = 0;

	if (!make_keys(snap) ||
	    !array_reserve(&snap->changed, &snap->cap_changed, n, sizeof(*snap->changed)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		row = seek_key(snap, row, key_of(&delta[i]));
		snap->changed[i] = (uint32_t)row;
		if (row < snap->n_qps)
			prefetch_qp(snap, row);
	}
	for (size_t i = 0; i < n; i++) {
		row = seek_qp(snap, snap->changed[i], &delta[i]);
		snap->changed[i] = (uint32_t)row;
		fresh += last_of_key(delta, n, i) &&
			 (row == snap->n_qps || SNAP_CMP_QP(&snap->qps[row], &delta[i]));
	}
	if (!array_reserve(&snap->qps, &snap->cap_qps, snap->n_qps + fresh,
			   sizeof(*snap->qps)))
		return -ENOMEM;
	snap->n_changed = 0;
	for (size_t i = 0; i < n; i++) {
		row = snap->changed[i];
		if (!last_of_key(delta, n, i) || row == snap->n_qps ||
		    SNAP_CMP_QP(&snap->qps[row], &delta[i]))
			continue;
		snap->qps[row] = delta[i];
		snap->changed[snap->n_changed++] = (uint32_t)row;
	}
	if (fresh) {
		insert_new(snap, delta, n, fresh);
		snap->n_qp_keys = 0;
	}
	return (int)(fresh > 0);
}
