// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signals of jobs: sums over the devices that a job uses, and its targets. */
#include <string.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"
#include "core/signal.h"

static const struct snap_job_stat *find_stat(const struct snap_job *job, uint32_t dev)
{
	size_t i;

	for (i = 0; i < job->n_stats; i++)
		if (job->stats[i].dev == dev)
			return &job->stats[i];
	return NULL;
}

/* False: the MTTs of a region are not known yet, so the sum would be too small. */
static bool sum_mtts(const struct snap_job *job, double *mtts)
{
	size_t i;

	*mtts = 0;
	for (i = 0; i < job->n_stats; i++) {
		const struct snap_job_stat *st = &job->stats[i];

		if (!snap_has(st, SNAP_MTTS) || st->mtts_unknown)
			return false;
		*mtts += (double)st->mtts;
	}
	return job->n_stats > 0;
}

/* --- rates ----------------------------------------------------------------------- */

/* A rate, summed up over devices. */
struct rate_sum {
	enum signal_reported is;
	double rate;
	bool wqebbs;		/* its unit, if .has_unit */
	bool has_unit;
};

static void add_rate(struct rate_sum *sum, enum signal_reported is, double rate)
{
	if (is != REPORTED_NONE)
		sum->is = is;
	if (is == REPORTED)
		sum->rate += rate;
}

/*
 * The kernel counts WQEBBs on some devices, and a library counts requests. A job that uses devices
 * of both kinds has no rate, because the units differ.
 */
static void add_unit(struct rate_sum *sum, bool wqebbs)
{
	if (sum->has_unit && sum->wqebbs != wqebbs)
		sum->is = REPORTED_IN_PART;
	sum->wqebbs = wqebbs;
	sum->has_unit = true;
}

/* Does the kernel count WQEBBs of the job on this device? */
static bool counts_wqebbs(const struct signals *s, const struct snap_job_stat *st)
{
	int32_t dev = signals_dev_row(s->snap, st->dev);

	return snap_has(st, SNAP_WRS) && dev >= 0 &&
	       s->snap->devs[dev].caps & SWIFTRDMA_DEV_CAP_WQEBBS;
}

/* Work requests of a job on a device: the kernel's count, else that of the libraries. */
static enum signal_reported wr_rate(const struct signals *s, size_t i,
				    const struct snapshot *older, const struct snap_job *was,
				    const struct snap_job_stat *st, double *rate)
{
	const struct snap_job_stat *old = find_stat(was, st->dev);

	if (!snap_has(st, SNAP_WRS))
		return signals_reported_rate(s, older, i, st->dev,
					     offsetof(struct snap_figures, wrs), rate);
	/* The older reading has no count, because the provider was not loaded. */
	if (old && !snap_has(old, SNAP_WRS))
		return REPORTED_IN_PART;
	return signal_per_second(old ? old->wrs : 0, st->wrs, was->time,
				 s->snap->jobs[i].time, rate) ? REPORTED : REPORTED_IN_PART;
}

/*
 * Adds up a job's counters over its devices. A new device counts from 0. If a counter stepped
 * back or cannot be known, the sum is unknown.
 */
static void set_rates(struct signals *s, size_t i, const struct snapshot *older,
		      const struct snap_job *was)
{
	const struct snap_job *job = &s->snap->jobs[i];
	struct rate_sum wrs = { 0 }, bytes = { 0 };
	bool doorbells = job->n_stats > 0;
	enum signal_reported is;
	double doorbell_sum = 0, r = 0;
	size_t k;

	for (k = 0; k < job->n_stats; k++) {
		const struct snap_job_stat *st = &job->stats[k], *old = find_stat(was, st->dev);

		if (wrs.is != REPORTED_IN_PART) {
			is = wr_rate(s, i, older, was, st, &r);
			add_rate(&wrs, is, r);
			/* The kernel lists devices that the job does not use. */
			if (is == REPORTED && (st->qps || r > 0))
				add_unit(&wrs, counts_wqebbs(s, st));
		}
		if (bytes.is != REPORTED_IN_PART) {
			is = signals_reported_rate(s, older, i, st->dev,
						   offsetof(struct snap_figures, bytes), &r);
			add_rate(&bytes, is, r);
		}
		doorbells = doorbells && snap_has(st, SNAP_DOORBELLS) &&
			    (!old || snap_has(old, SNAP_DOORBELLS)) &&
			    signal_per_second(old ? old->doorbells : 0, st->doorbells,
					      was->time, job->time, &r);
		if (doorbells)
			doorbell_sum += r;
	}
	if (wrs.is == REPORTED)
		signal_set(s, SIG_JOB_WR_RATE, i, wrs.rate);
	if (bytes.is == REPORTED)
		signal_set(s, SIG_JOB_BYTE_RATE, i, bytes.rate * 8);
	if (doorbells)
		signal_set(s, SIG_JOB_DOORBELL_RATE, i, doorbell_sum);
}

/* --- control path ---------------------------------------------------------------- */

static void add_controls(struct snap_job_stat *sum, const struct snap_job_stat *st)
{
	sum->creates += st->creates + st->rejected;
	sum->modifies += st->modifies;
	sum->commands += st->commands;
	sum->command_time += st->command_time;
}

/*
 * Control path operations of the job's processes on all devices. QPs that admission refused count
 * too; otherwise a storm of creations would seem over while admission limits it.
 */
static void set_controls(struct signals *s, size_t i, const struct snap_job *was)
{
	const struct snap_job *job = &s->snap->jobs[i];
	struct snap_job_stat is = { 0 }, old = { 0 };
	size_t k;

	for (k = 0; k < job->n_stats; k++) {
		const struct snap_job_stat *st = &job->stats[k], *before = find_stat(was, st->dev);

		if (!snap_has(st, SNAP_COMMANDS))
			return;
		add_controls(&is, st);
		if (!before)
			continue;
		/* Stepped back: the device was removed in between. */
		if (!snap_has(before, SNAP_COMMANDS) || before->commands > st->commands)
			return;
		add_controls(&old, before);
	}
	if (!job->n_stats)
		return;
	signal_set_rate(s, SIG_JOB_CREATES, i, old.creates, is.creates, was->time, job->time);
	signal_set_rate(s, SIG_JOB_MODIFIES, i, old.modifies, is.modifies, was->time, job->time);
	if (is.commands > old.commands && is.command_time >= old.command_time)
		signal_set(s, SIG_JOB_COMMAND_TIME, i,
			   (double)(is.command_time - old.command_time) /
			   (double)(is.commands - old.commands));
}

/* --- all of a job ---------------------------------------------------------------- */

/* The strictest objective that was granted to a process of the job; 0: none was. */
static uint64_t granted_p99(const struct snapshot *snap, uint32_t job)
{
	uint64_t p99 = 0;
	size_t i;

	for (i = 0; i < snap->n_job_reports; i++) {
		const struct snap_job_report *r = &snap->job_reports[i];

		if (r->job == job && r->slo_p99 && (!p99 || r->slo_p99 < p99))
			p99 = r->slo_p99;
	}
	return p99;
}

static void set_slo(struct signals *s, size_t i, const struct signal_slo *slo)
{
	if (slo->p99)
		signal_set(s, SIG_JOB_SLO_P99, i, (double)slo->p99);
	if (slo->byte_rate > 0)
		signal_set(s, SIG_JOB_SLO_BYTE_RATE, i, slo->byte_rate);
}

static void set_state(struct signals *s, size_t i, const struct signal_opts *opts)
{
	const struct snap_job *job = &s->snap->jobs[i];
	uint64_t granted = granted_p99(s->snap, job->id);
	double qps = 0, level = -1, mtts;
	size_t k;

	for (k = 0; k < job->n_stats; k++) {
		const struct snap_job_stat *st = &job->stats[k];

		qps += st->qps;
		if (snap_has(st, SNAP_LEVEL) && st->level > level)
			level = st->level;
	}
	signal_set(s, SIG_JOB_QPS, i, qps);
	if (sum_mtts(job, &mtts))
		signal_set(s, SIG_JOB_MTTS, i, mtts);
	if (level >= 0)
		signal_set(s, SIG_JOB_LEVEL, i, level);
	if (job->class)
		signal_set(s, SIG_JOB_CLASS, i, job->class);
	/* A target of the policy file takes precedence over one that a process asked for. */
	if (granted)
		signal_set(s, SIG_JOB_SLO_P99, i, (double)granted);
	for (k = 0; k < opts->n_slos; k++)
		if (!strcmp(opts->slos[k].job, job->name))
			set_slo(s, i, &opts->slos[k]);
}

void signals_jobs(struct signals *s, const struct snapshot *older, const struct signal_opts *opts)
{
	const struct snapshot *snap = s->snap;
	size_t i, o = 0;

	for (i = 0; i < snap->n_jobs; i++) {
		const struct snap_job *job = &snap->jobs[i];

		set_state(s, i, opts);
		if (!older || !array_seek(older->n_jobs, o, ARRAY_CMP(older->jobs[o].id, job->id)) ||
		    older->jobs[o].since != job->since)
			continue;
		set_rates(s, i, older, &older->jobs[o]);
		set_controls(s, i, &older->jobs[o]);
	}
}
