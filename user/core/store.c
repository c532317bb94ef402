// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of the signals: all growth happens here, between readings, so that
 * computing them never allocates.
 */
#include "core/signal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Doubling, so that a slowly growing number of QPs is not a realloc a tick. */
static size_t grown(size_t cap, size_t want)
{
	size_t n = cap ? cap : 16;

	while (n < want)
		n *= 2;
	return n;
}

static bool grow(void *array, size_t n, size_t size)
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
	for (k = 0; k < 4; k++)
		free(s->smooth[k / 2][k % 2]);
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
	n = grown(t->cap, want);
	if (!grow(&t->has, n, sizeof(*t->has)) ||
	    !grow(&t->v, n * t->width, sizeof(*t->v)) ||
	    !grow(&t->key, n, sizeof(*t->key)) ||
	    !grow(&t->fresh, n, sizeof(*t->fresh)) ||
	    !grow(&t->moved, n, sizeof(*t->moved)) ||
	    !grow(&t->list, n, sizeof(*t->list)))
		return false;
	memset(t->moved + t->cap, 0, n - t->cap);
	t->cap = n;
	return true;
}

static bool reserve_smooth(struct signals *s, unsigned int kind, size_t want)
{
	unsigned int b;
	size_t n;

	for (b = 0; b < 2; b++) {
		if (want <= s->cap_smooth[kind][b])
			continue;
		n = grown(s->cap_smooth[kind][b], want);
		if (!grow(&s->smooth[kind][b], n, sizeof(*s->smooth[0][0])))
			return false;
		s->cap_smooth[kind][b] = n;
	}
	return true;
}

static bool reserve_qps(struct signals *s, size_t want)
{
	size_t n;

	if (want <= s->cap_qps && s->qps)
		return true;
	n = grown(s->cap_qps, want);
	if (!grow(&s->qps, n, sizeof(*s->qps)) ||
	    !grow(&s->job_qps, n, sizeof(*s->job_qps)) ||
	    !grow(&s->uar_qps, n, sizeof(*s->uar_qps)) ||
	    !grow(&s->advanced, n, sizeof(*s->advanced)))
		return false;
	s->cap_qps = n;
	return true;
}

/* The lists have one more start than there are jobs or UARs. */
static bool reserve_lists(struct signals *s, const struct snapshot *snap)
{
	size_t n;

	if (snap->n_jobs >= s->cap_jobs) {
		n = grown(s->cap_jobs, snap->n_jobs + 1);
		if (!grow(&s->job_first, n, sizeof(*s->job_first)) ||
		    !grow(&s->port_first, n, sizeof(*s->port_first)) ||
		    !grow(&s->place_first, n, sizeof(*s->place_first)))
			return false;
		s->cap_jobs = n;
	}
	if (snap->n_uars >= s->cap_uars) {
		n = grown(s->cap_uars, snap->n_uars + 1);
		if (!grow(&s->uar_first, n, sizeof(*s->uar_first)))
			return false;
		s->cap_uars = n;
	}
	/* A job uses at most as many as it has QPs. */
	if (snap->n_qps > s->cap_places || !s->job_ports) {
		n = grown(s->cap_places, snap->n_qps);
		if (!grow(&s->job_ports, n, sizeof(*s->job_ports)) ||
		    !grow(&s->places, n, sizeof(*s->places)))
			return false;
		s->cap_places = n;
	}
	n = snap->n_ports + snap->n_devs + 1;
	if (snap->n_owners > n)
		n = snap->n_owners;
	if (n > s->cap_mark || !s->mark) {
		n = grown(s->cap_mark, n);
		if (!grow(&s->mark, n, sizeof(*s->mark)))
			return false;
		s->cap_mark = n;
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
	    !reserve_qps(s, snap->n_qps) || !reserve_lists(s, snap))
		return -ENOMEM;
	return 0;
}
