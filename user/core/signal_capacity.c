// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Allocates the columns of struct signals, between readings: computing signals never
 * allocates.
 */
#include "core/signal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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
	size_t i;

	for (k = 0; k < OBJ_KINDS; k++) {
		for (i = 0; i < s->table[k].width; i++)
			free(s->table[k].column[i].d);
		free(s->table[k].key);
	}
	for (k = 0; k < 2; k++) {
		free(s->smooth[0][k]);
		free(s->smooth[1][k]);
		free(s->qp_windows[k]);
		free(s->job_windows[k]);
		for (i = 0; i < s->cap_latency; i++)
			free(s->latency[k][i].base);
		free(s->latency[k]);
		free(s->unseen[k]);
	}
	free(s->reported);
	free(s->fixed);
	free(s->own_domain);
	free(s->qps);
	free(s->job_first);
	free(s->job_qps);
	free(s->uar_of);
	free(s->uar_first);
	free(s->uar_qps);
	free(s->place_first);
	free(s->places);
	free(s->mark);
	free(s->advanced);
	free(s->dev_activity);
	free(s->uar_activity);
	signals_init(s);
}

static bool reserve_table(struct signals *s, enum obj_kind kind, size_t want)
{
	struct signal_table *t = &s->table[kind];
	struct array_column columns[SIGNAL_COLUMNS + 1] = { ARRAY_COLUMN(t->key) };
	unsigned int k;

	for (k = 0; k < t->width; k++) {
		bool is_float = signal_is_float(vocab_first(kind) + k);

		columns[k + 1] = (struct array_column){
			&t->column[k], is_float ? sizeof(float) : sizeof(double),
		};
	}
	return array_grow(columns, t->width + 1, &t->cap, want);
}

static bool reserve_smooth(struct signals *s, unsigned int kind, size_t want)
{
	return array_grow_columns(&s->cap_smooth[kind], want, ARRAY_COLUMN(s->smooth[kind][0]),
				  ARRAY_COLUMN(s->smooth[kind][1]));
}

/* Windows need room only if the kernel looked into a send queue. */
static bool reserve_windows(struct signals *s, const struct snapshot *snap)
{
	bool by_delta = snap->qps_since && snap->qps_since == s->read_before;
	size_t i, jobs = 0;
	bool any = by_delta && s->n_looks + snap->n_changed;

	for (i = 0; i < snap->n_qps && !by_delta && !any; i++)
		any = snap_has(&snap->qps[i], SNAP_LOOKS);
	for (i = 0; i < snap->n_jobs && any; i++)
		jobs += snap->jobs[i].n_stats;
	return array_grow_columns(&s->cap_qp_windows, any ? snap->n_qps : 0,
				  ARRAY_COLUMN(s->qp_windows[0]),
				  ARRAY_COLUMN(s->qp_windows[1])) &&
	       array_grow_columns(&s->cap_job_windows, jobs, ARRAY_COLUMN(s->job_windows[0]),
				  ARRAY_COLUMN(s->job_windows[1]));
}

static bool reserve_qps(struct signals *s, size_t want)
{
	return array_grow_columns(&s->cap_qps, want, ARRAY_COLUMN(s->qps),
				  ARRAY_COLUMN(s->job_qps), ARRAY_COLUMN(s->uar_of),
				  ARRAY_COLUMN(s->uar_qps), ARRAY_COLUMN(s->advanced),
				  ARRAY_COLUMN(s->reported), ARRAY_COLUMN(s->fixed),
				  ARRAY_COLUMN(s->own_domain));
}

static bool reserve_lists(struct signals *s, const struct snapshot *snap)
{
	size_t marks = snap->n_ports + snap->n_devs + 1;

	if (snap->n_owners > marks)
		marks = snap->n_owners;
	/*
	 * .job_first and .place_first have two elements more than there are jobs: one for QPs
	 * without a job, one for the end of the last list. .uar_first has one element more than
	 * there are UARs. There are at most as many places as QPs.
	 */
	return array_grow_columns(&s->cap_jobs, snap->n_jobs + 2, ARRAY_COLUMN(s->job_first),
				  ARRAY_COLUMN(s->place_first)) &&
	       array_grow_columns(&s->cap_uars, snap->n_uars + 1, ARRAY_COLUMN(s->uar_first),
				  ARRAY_COLUMN(s->uar_activity)) &&
	       array_grow_columns(&s->cap_devs, snap->n_devs, ARRAY_COLUMN(s->dev_activity)) &&
	       array_grow_columns(&s->cap_places, snap->n_qps, ARRAY_COLUMN(s->places)) &&
	       array_grow_columns(&s->cap_mark, marks, ARRAY_COLUMN(s->mark));
}

/* Only jobs with a library have latencies: each takes two histograms. */
static bool reserve_latencies(struct signals *s, const struct snapshot *snap)
{
	size_t want = 0, i;

	for (i = 0; i < snap->n_job_reports; i++)
		want += !i || snap->job_reports[i].job != snap->job_reports[i - 1].job;
	if (!array_grow_columns(&s->cap_latency, want, ARRAY_COLUMN(s->latency[0]),
				ARRAY_COLUMN(s->latency[1])))
		return false;
	for (i = 0; i < 2 * want; i++) {
		struct signal_latency *l = &s->latency[i % 2][i / 2];

		if (!l->base)
			l->base = malloc(SWIFTRDMA_HIST_BUCKETS * sizeof(*l->base));
		if (!l->base)
			return false;
	}
	return array_grow_columns(&s->cap_unseen, snap->n_qp_reports, ARRAY_COLUMN(s->unseen[0]),
				  ARRAY_COLUMN(s->unseen[1]));
}

int signals_reserve(struct signals *s, const struct snapshot *snap)
{
	if (!reserve_table(s, OBJ_DEV, snap->n_devs) ||
	    !reserve_table(s, OBJ_PORT, snap->n_ports) ||
	    !reserve_table(s, OBJ_UAR, snap->n_uars) ||
	    !reserve_table(s, OBJ_QP, snap->n_qps) ||
	    !reserve_table(s, OBJ_JOB, snap->n_jobs) ||
	    !reserve_smooth(s, 0, snap->n_ports) || !reserve_smooth(s, 1, snap->n_uars) ||
	    !reserve_qps(s, snap->n_qps) || !reserve_lists(s, snap) ||
	    !reserve_latencies(s, snap) || !reserve_windows(s, snap))
		return -ENOMEM;
	return 0;
}
