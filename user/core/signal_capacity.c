// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Allocates the columns of struct signals, between readings: computing signals never
 * allocates.
 */
#include "core/signal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Doubles, so that slow growth of QPs does not reallocate at every tick. */
static size_t next_capacity(size_t cap, size_t want)
{
	size_t n = cap ? cap : 16;

	while (n < want)
		n *= 2;
	return n;
}

static bool grow_array(void *array, size_t n, size_t size)
{
	void **p = array;
	void *q = realloc(*p, n * size);

	if (!q)
		return false;
	*p = q;
	return true;
}

void signals_init(struct signals *s)
{
	unsigned int k;

	memset(s, 0, sizeof(*s));
	for (k = 0; k < OBJ_KINDS; k++)
		s->table[k].width = vocab_width(k);
}

static void free_latencies(struct signal_latency *l, size_t cap)
{
	size_t i;

	for (i = 0; i < cap; i++)
		free(l[i].base);
	free(l);
}

void signals_free(struct signals *s)
{
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++) {
		free(s->table[k].has);
		free(s->table[k].v);
		free(s->table[k].key);
		free(s->table[k].fresh);
		free(s->table[k].moved);
		free(s->table[k].list);
	}
	for (k = 0; k < 4; k++) {
		free(s->smooth[k / 2][k % 2]);
		free(s->windows[k / 2][k % 2]);
	}
	free(s->older);
	for (k = 0; k < 2; k++)
		free_latencies(s->latency[k], s->cap_latency[k]);
	free(s->attached);
	free(s->qps);
	free(s->job_first);
	free(s->job_qps);
	free(s->uar_first);
	free(s->uar_qps);
	free(s->port_first);
	free(s->job_ports);
	free(s->place_first);
	free(s->places);
	free(s->mark);
	free(s->advanced);
	signals_init(s);
}

static bool reserve_table(struct signal_table *t, size_t want)
{
	size_t n;

	if (want <= t->cap)
		return true;
	n = next_capacity(t->cap, want);
	if (!grow_array(&t->has, n, sizeof(*t->has)) ||
	    !grow_array(&t->v, n * t->width, sizeof(*t->v)) ||
	    !grow_array(&t->key, n, sizeof(*t->key)) ||
	    !grow_array(&t->fresh, n, sizeof(*t->fresh)) ||
	    !grow_array(&t->moved, n, sizeof(*t->moved)) ||
	    !grow_array(&t->list, n, sizeof(*t->list)))
		return false;
	memset(t->moved + t->cap, 0, n - t->cap);
	t->cap = n;
	return true;
}

static bool reserve_array(void *array, size_t *cap, size_t want, size_t size)
{
	size_t n;

	if (want <= *cap)
		return true;
	n = next_capacity(*cap, want);
	if (!grow_array(array, n, size))
		return false;
	*cap = n;
	return true;
}

static bool reserve_smooth(struct signals *s, unsigned int kind, size_t want)
{
	size_t *cap = s->cap_smooth[kind], size = sizeof(*s->smooth[0][0]);

	return reserve_array(&s->smooth[kind][0], &cap[0], want, size) &&
	       reserve_array(&s->smooth[kind][1], &cap[1], want, size);
}

static bool reserve_windows(struct signals *s, unsigned int kind, size_t want)
{
	size_t *cap = s->cap_windows[kind], size = sizeof(*s->windows[0][0]);

	return reserve_array(&s->windows[kind][0], &cap[0], want, size) &&
	       reserve_array(&s->windows[kind][1], &cap[1], want, size);
}

/* Only QPs whose send queue was looked into have a window, and jobs one for each device. */
static bool reserve_looks(struct signals *s, const struct snapshot *snap)
{
	size_t i, qps = 0, jobs = 0;

	for (i = 0; i < snap->n_qps; i++)
		qps += snap_has(&snap->qps[i], SNAP_LOOKS);
	for (i = 0; i < snap->n_jobs && qps; i++)
		jobs += snap->jobs[i].n_stats;
	return reserve_windows(s, 0, qps) && reserve_windows(s, 1, jobs);
}

static bool reserve_qps(struct signals *s, size_t want)
{
	size_t n;

	if (want <= s->cap_qps && s->qps)
		return true;
	n = next_capacity(s->cap_qps, want);
	if (!grow_array(&s->qps, n, sizeof(*s->qps)) ||
	    !grow_array(&s->job_qps, n, sizeof(*s->job_qps)) ||
	    !grow_array(&s->uar_qps, n, sizeof(*s->uar_qps)) ||
	    !grow_array(&s->advanced, n, sizeof(*s->advanced)) ||
	    !grow_array(&s->older, n, sizeof(*s->older)))
		return false;
	s->cap_qps = n;
	return true;
}

/* Lists have one more start than jobs or UARs, for the end of the last. */
static bool reserve_lists(struct signals *s, const struct snapshot *snap)
{
	size_t n;

	if (snap->n_jobs >= s->cap_jobs) {
		n = next_capacity(s->cap_jobs, snap->n_jobs + 1);
		if (!grow_array(&s->job_first, n, sizeof(*s->job_first)) ||
		    !grow_array(&s->port_first, n, sizeof(*s->port_first)) ||
		    !grow_array(&s->place_first, n, sizeof(*s->place_first)))
			return false;
		s->cap_jobs = n;
	}
	if (snap->n_uars >= s->cap_uars) {
		n = next_capacity(s->cap_uars, snap->n_uars + 1);
		if (!grow_array(&s->uar_first, n, sizeof(*s->uar_first)))
			return false;
		s->cap_uars = n;
	}
	/* Places of all jobs are at most as many as QPs. */
	if (snap->n_qps > s->cap_places || !s->job_ports) {
		n = next_capacity(s->cap_places, snap->n_qps);
		if (!grow_array(&s->job_ports, n, sizeof(*s->job_ports)) ||
		    !grow_array(&s->places, n, sizeof(*s->places)))
			return false;
		s->cap_places = n;
	}
	n = snap->n_ports + snap->n_devs + 1;
	if (snap->n_owners > n)
		n = snap->n_owners;
	if (n > s->cap_mark || !s->mark) {
		n = next_capacity(s->cap_mark, n);
		if (!grow_array(&s->mark, n, sizeof(*s->mark)))
			return false;
		s->cap_mark = n;
	}
	return true;
}

/* Of jobs with a library only: each takes two histograms. */
static bool reserve_latencies(struct signals *s, const struct snapshot *snap)
{
	size_t want = 0, i;
	unsigned int k;

	for (i = 0; i < snap->n_job_reports; i++)
		want += !i || snap->job_reports[i].job != snap->job_reports[i - 1].job;
	for (k = 0; k < 2; k++) {
		size_t *cap = &s->cap_latency[k];

		if (want > *cap && !grow_array(&s->latency[k], want, sizeof(*s->latency[k])))
			return false;
		for (; *cap < want; ++*cap) {
			struct signal_latency *l = &s->latency[k][*cap];

			memset(l, 0, sizeof(*l));
			l->base = malloc(SWIFTRDMA_HIST_BUCKETS * sizeof(*l->base));
			if (!l->base)
				return false;
		}
	}
	if (snap->n_owners > s->cap_attached) {
		i = next_capacity(s->cap_attached, snap->n_owners);
		if (!grow_array(&s->attached, i, sizeof(*s->attached)))
			return false;
		s->cap_attached = i;
	}
	return true;
}

int signals_reserve(struct signals *s, const struct snapshot *snap)
{
	if (!reserve_table(&s->table[OBJ_DEV], snap->n_devs) ||
	    !reserve_table(&s->table[OBJ_PORT], snap->n_ports) ||
	    !reserve_table(&s->table[OBJ_UAR], snap->n_uars) ||
	    !reserve_table(&s->table[OBJ_QP], snap->n_qps) ||
	    !reserve_table(&s->table[OBJ_JOB], snap->n_jobs) ||
	    !reserve_smooth(s, 0, snap->n_ports) ||
	    !reserve_smooth(s, 1, snap->n_uars) ||
	    !reserve_qps(s, snap->n_qps) || !reserve_lists(s, snap) ||
	    !reserve_latencies(s, snap) || !reserve_looks(s, snap))
		return -ENOMEM;
	return 0;
}
