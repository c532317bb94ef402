// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What libraries in processes told of the objects in cli->snap. */
#include <stdlib.h>

#include <rdma/swiftrdma.h>

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

/* @is; its times are those since @was, if there is one. */
static struct snap_figures times_since(const struct snap_figures *was,
				       const struct snap_figures *is)
{
	struct snap_figures f = *is;

	if (!was || !goes_on(was, is))
		return f;
	f.latency_wrs -= was->latency_wrs;
	f.latency_sum -= was->latency_sum;
	f.hol_wrs -= was->hol_wrs;
	f.hol_sum -= was->hol_sum;
	return f;
}

bool view_qp_times(const struct cli *cli, const struct snap_qp *qp, struct snap_figures *f)
{
	const struct snap_qp_report *r = view_qp_report(cli, qp), *old;

	if (!r)
		return false;
	old = cli->out.rates ? find_report(&cli->older, qp) : NULL;
	*f = times_since(old ? &old->sum : NULL, &r->sum);
	return true;
}

static const struct snap_qp *find_older_qp(const struct cli *cli, const struct snap_qp *qp)
{
	const struct snap_qp *qps = cli->older.qps;
	size_t at = array_find(cli->older.n_qps, i, SNAP_CMP_QP(&qps[i], qp) < 0);

	return at < cli->older.n_qps && !SNAP_CMP_QP(&qps[at], qp) ? &qps[at] : NULL;
}

/*
 * The kernel's count of the reading before against the library's count of now, because two
 * counts of one reading are not of the same moment: what was posted between them would pass
 * for unseen.
 */
bool view_unseen(const struct cli *cli, const struct snap_qp *qp, struct view_unseen *u)
{
	const struct snap_qp_report *r = view_qp_report(cli, qp);
	const struct snap_qp *was = r && cli->out.rates ? find_older_qp(cli, qp) : NULL;
	int32_t dev = signals_dev_row(&cli->snap, qp->dev);
	bool blocks;

	/* Both must have counted since the QP was created. */
	if (!was || dev < 0 || qp->adopted || r->sum.since > qp->since)
		return false;
	blocks = cli->snap.devs[dev].caps & SWIFTRDMA_DEV_CAP_WQEBBS;
	*u = (struct view_unseen){
		.has_wrs = snap_has(was, SNAP_WRS) && (!blocks || !r->sum.wrs),
		.has_doorbells = snap_has(was, SNAP_DOORBELLS) && snap_has(r, SNAP_DOORBELLS),
	};
	if (u->has_wrs && was->wrs > r->sum.wrs)
		u->wrs = was->wrs - r->sum.wrs;
	if (u->has_doorbells && was->doorbells > r->sum.calls)
		u->doorbells = was->doorbells - r->sum.calls;
	u->all = u->wrs && !r->sum.wrs;
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

struct snap_figures view_job_times(const struct cli *cli, const struct snap_job_report *r)
{
	const struct snap_job_report *old = cli->out.rates ? view_older_report(cli, r) : NULL;

	return times_since(old ? &old->sum : NULL, &r->sum);
}

const struct snap_job_report *view_older_report(const struct cli *cli,
						const struct snap_job_report *r)
{
	const struct snap_job_report *old = find_job_report(&cli->older, r->job, r->dev);

	return old && old->sum.since == r->sum.since ? old : NULL;
}
