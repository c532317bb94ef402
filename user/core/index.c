// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who belongs to whom in a snapshot. QPs name their device, port, UAR and job
 * by number; a policy ranges over the QPs and ports of a job. The lists are
 * built by counting, so the cost is one pass over the QPs per list.
 */
#include "core/signal.h"

#include <string.h>

int32_t signals_dev_row(const struct snapshot *snap, uint32_t dev)
{
	size_t lo = 0, hi = snap->n_devs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (snap->devs[mid].index < dev)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < snap->n_devs && snap->devs[lo].index == dev ?
	       (int32_t)lo : -1;
}

static int32_t port_row(const struct snapshot *snap, uint32_t dev,
			uint32_t index)
{
	size_t lo = 0, hi = snap->n_ports;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct snap_port *p = &snap->ports[mid];

		if (p->dev < dev || (p->dev == dev && p->index < index))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < snap->n_ports && snap->ports[lo].dev == dev &&
	       snap->ports[lo].index == index ? (int32_t)lo : -1;
}

static int32_t uar_row(const struct snapshot *snap, uint32_t dev,
		       uint32_t index)
{
	size_t lo = 0, hi = snap->n_uars;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct snap_uar *u = &snap->uars[mid];

		if (u->dev < dev || (u->dev == dev && u->index < index))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < snap->n_uars && snap->uars[lo].dev == dev &&
	       snap->uars[lo].index == index ? (int32_t)lo : -1;
}

static int32_t job_row(const struct snapshot *snap, uint32_t id)
{
	size_t lo = 0, hi = snap->n_jobs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (snap->jobs[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < snap->n_jobs && snap->jobs[lo].id == id ? (int32_t)lo : -1;
}

/* Counts in first[1..n] become the start of each list, in first[0..n]. */
static void prefix_sum(uint32_t *first, size_t n)
{
	size_t i;

	for (i = 1; i <= n; i++)
		first[i] += first[i - 1];
}

/* Undoes what filling the lists did to their starts. */
static void shift_back(uint32_t *first, size_t n)
{
	size_t i;

	for (i = n; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

static void index_qps(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	size_t i;

	memset(s->job_first, 0, (snap->n_jobs + 1) * sizeof(*s->job_first));
	memset(s->uar_first, 0, (snap->n_uars + 1) * sizeof(*s->uar_first));
	for (i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i];
		struct signal_qp_ref *ref = &s->qps[i];

		ref->dev = signals_dev_row(snap, qp->dev);
		ref->port = snap_has(qp, SNAP_PORT) ?
			    port_row(snap, qp->dev, qp->port) : -1;
		ref->uar = snap_has(qp, SNAP_UAR) ?
			   uar_row(snap, qp->dev, qp->uar) : -1;
		ref->job = job_row(snap, qp->job);
		if (ref->job >= 0)
			s->job_first[ref->job + 1]++;
		if (ref->uar >= 0)
			s->uar_first[ref->uar + 1]++;
	}
	prefix_sum(s->job_first, snap->n_jobs);
	prefix_sum(s->uar_first, snap->n_uars);
	for (i = 0; i < snap->n_qps; i++) {
		const struct signal_qp_ref *ref = &s->qps[i];

		if (ref->job >= 0)
			s->job_qps[s->job_first[ref->job]++] = (uint32_t)i;
		if (ref->uar >= 0)
			s->uar_qps[s->uar_first[ref->uar]++] = (uint32_t)i;
	}
	shift_back(s->job_first, snap->n_jobs);
	shift_back(s->uar_first, snap->n_uars);
}

static void index_job_ports(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	uint32_t n = 0, k;
	size_t j;

	memset(s->mark, 0, snap->n_ports * sizeof(*s->mark));
	for (j = 0; j < snap->n_jobs; j++) {
		s->port_first[j] = n;
		for (k = s->job_first[j]; k < s->job_first[j + 1]; k++) {
			int32_t port = s->qps[s->job_qps[k]].port;

			if (port < 0 || s->mark[port] == j + 1)
				continue;
			s->mark[port] = (uint32_t)(j + 1);
			s->job_ports[n++] = (uint32_t)port;
		}
	}
	s->port_first[snap->n_jobs] = n;
}

void signals_index(struct signals *s)
{
	index_qps(s);
	index_job_ports(s);
}
