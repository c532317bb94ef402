// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What libraries in processes told of the objects in cli->snap. */
#include <stdlib.h>

#include "cli/cli.h"
#include "core/array.h"

static const struct snap_qp_report *find_report(const struct snapshot *snap,
						const struct snap_qp *qp)
{
	const struct snap_qp_report *r = snap->qp_reports;
	size_t at = array_find(snap->n_qp_reports, i, SNAP_CMP_QP(&r[i], qp) < 0);

	return at < snap->n_qp_reports && !SNAP_CMP_QP(&r[at], qp) ? &r[at] : NULL;
}

const struct snap_qp_report *view_qp_report(const struct cli *cli, const struct snap_qp *qp)
{
	return find_report(&cli->snap, qp);
}

/* Did the totals go on from @was? */
static bool goes_on(const struct snap_figures *was, const struct snap_figures *is)
{
	return was->since == is->since && was->latency_wrs <= is->latency_wrs &&
	       was->latency_sum <= is->latency_sum && was->hol_wrs <= is->hol_wrs &&
	       was->hol_sum <= is->hol_sum;
}

bool view_qp_times(const struct cli *cli, const struct snap_qp *qp, struct snap_figures *f)
{
	const struct snap_qp_report *r = view_qp_report(cli, qp), *old;

	if (!r)
		return false;
	*f = r->sum;
	old = cli->out.rates ? find_report(&cli->older, qp) : NULL;
	if (!old || !goes_on(&old->sum, f))
		return true;
	f->latency_wrs -= old->sum.latency_wrs;
	f->latency_sum -= old->sum.latency_sum;
	f->hol_wrs -= old->sum.hol_wrs;
	f->hol_sum -= old->sum.hol_sum;
	return true;
}

/* Of all that the job's processes told since counting began. */
static struct signal_quantile quantile_of_totals(const struct cli *cli, uint32_t job, double q)
{
	uint64_t bucket[SWIFTRDMA_HIST_BUCKETS] = { 0 };
	struct signal_quantile to = { 0 };

	for (size_t i = 0; i < cli->snap.n_job_reports; i++) {
		const struct snap_job_report *r = &cli->snap.job_reports[i];

		if (r->job != job)
			continue;
		to.samples += r->sum.samples;
		for (size_t k = 0; k < SWIFTRDMA_HIST_BUCKETS; k++)
			bucket[k] += r->bucket[k];
	}
	to.has = to.samples >= view_samples_needed(q) && signals_quantile(bucket, q, &to.ns);
	return to;
}

uint64_t view_samples_needed(double q)
{
	return q > 0.5 ? SIGNAL_P99_SAMPLES : SIGNAL_P50_SAMPLES;
}

bool view_quantile(const struct cli *cli, const struct snap_job *job, double q,
		   struct signal_quantile *to)
{
	const struct signal_latency *l = signals_latency(&cli->sig, job->id);

	if (!l)
		return false;
	if (!cli->out.rates) {
		*to = quantile_of_totals(cli, job->id, q);
		return true;
	}
	*to = q > 0.5 ? l->p99 : l->p50;
	if (!to->has)
		to->samples = l->samples;
	return true;
}

static const struct snap_job_report *find_job_report(const struct snapshot *snap, uint32_t job,
						     uint32_t dev)
{
	for (size_t i = 0; i < snap->n_job_reports; i++)
		if (snap->job_reports[i].job == job && snap->job_reports[i].dev == dev)
			return &snap->job_reports[i];
	return NULL;
}

const struct snap_job_report *view_job_report(const struct cli *cli, uint32_t job, uint32_t dev)
{
	return find_job_report(&cli->snap, job, dev);
}

const struct snap_job_report *view_older_report(const struct cli *cli,
						const struct snap_job_report *r)
{
	const struct snap_job_report *old = find_job_report(&cli->older, r->job, r->dev);

	return old && old->sum.since == r->sum.since ? old : NULL;
}
