// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "explain/reading.h"

#include <string.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"

/* --- objects ---------------------------------------------------------------------- */

const struct snap_dev *reading_dev(const struct snapshot *snap, uint32_t index)
{
	int32_t row = signals_dev_row(snap, index);

	return row < 0 ? NULL : &snap->devs[row];
}

const struct snap_job *reading_job(const struct snapshot *snap, uint32_t id)
{
	const struct snap_job *jobs = snap->jobs;
	size_t at = array_find(snap->n_jobs, i, jobs[i].id < id);

	return at < snap->n_jobs && jobs[at].id == id ? &jobs[at] : NULL;
}

const struct snap_owner *reading_owner(const struct snapshot *snap, bool has, uint32_t index)
{
	return has && index < snap->n_owners ? &snap->owners[index] : NULL;
}

const struct snap_dev *reading_dev_named(const struct snapshot *snap, const char *name)
{
	for (size_t i = 0; i < snap->n_devs; i++)
		if (!strcmp(snap->devs[i].name, name))
			return &snap->devs[i];
	return NULL;
}

const struct snap_job *reading_job_named(const struct snapshot *snap, const char *name)
{
	for (size_t i = 0; i < snap->n_jobs; i++)
		if (!strcmp(snap->jobs[i].name, name))
			return &snap->jobs[i];
	return NULL;
}

/* A QPN may be reused: of several entries the last one is the live QP. */
size_t reading_qp_row(const struct snapshot *snap, uint32_t dev, uint32_t qpn)
{
	for (size_t i = snap->n_qps; i-- > 0;)
		if (snap->qps[i].dev == dev && snap->qps[i].qpn == qpn)
			return i;
	return SIZE_MAX;
}

const struct snap_qp_report *reading_qp_report(const struct snapshot *snap,
					       const struct snap_qp *qp)
{
	const struct snap_qp_report *r = snap->qp_reports;
	size_t at = array_find(snap->n_qp_reports, i, SNAP_CMP_QP(&r[i], qp) < 0);

	return at < snap->n_qp_reports && !SNAP_CMP_QP(&r[at], qp) ? &r[at] : NULL;
}

const struct snap_job_report *reading_job_report(const struct snapshot *snap, uint32_t job,
						 uint32_t dev)
{
	for (size_t i = 0; i < snap->n_job_reports; i++)
		if (snap->job_reports[i].job == job && snap->job_reports[i].dev == dev)
			return &snap->job_reports[i];
	return NULL;
}

/* --- what is judged --------------------------------------------------------------- */

const char *reading_absent(uint32_t why, bool words)
{
	static const struct {
		const char *name, *words;
	} whys[] = {
		[SWIFTRDMA_ABSENT_NONE] = { NULL, NULL },
		[SWIFTRDMA_ABSENT_OFF] = {
			"off", "the sampler is switched off by a module parameter" },
		[SWIFTRDMA_ABSENT_NO_QUEUE] = {
			"no-queue", "this QP has no send queue of its own" },
		[SWIFTRDMA_ABSENT_NOT_YET] = {
			"not-yet", "the QP is older than the module, which examines such QPs a few at a time: read again" },
		[SWIFTRDMA_ABSENT_NO_PAGE] = {
			"no-page", "the page with its doorbell record cannot be held" },
		[SWIFTRDMA_ABSENT_NO_ADDRESS] = {
			"no-address", "an IOMMU hides where its doorbell record is" },
		[SWIFTRDMA_ABSENT_REFUSED] = {
			"refused", "the device did not say where its doorbell record is" },
		[SWIFTRDMA_ABSENT_NO_MEMORY] = {
			"no-memory", "memory ran out" },
		[SWIFTRDMA_ABSENT_DEVX] = {
			"devx", "this QP was created without RDMA core (DEVX)" },
	};

	if (why >= sizeof(whys) / sizeof(whys[0]))
		return words ? "for a reason this command does not know" : "?";
	return words ? whys[why].words : whys[why].name;
}

double reading_criterion(const struct reading *r, const char *name)
{
	return criteria_value(&r->running->cfg.criteria, name);
}

/* True: the totals of @is continue those of @was. False: counting began anew in between. */
static bool goes_on(const struct snap_figures *was, const struct snap_figures *is)
{
	return was->since == is->since && was->latency_wrs <= is->latency_wrs &&
	       was->latency_sum <= is->latency_sum && was->hol_wrs <= is->hol_wrs &&
	       was->hol_sum <= is->hol_sum;
}

struct snap_figures reading_times_since(const struct snap_figures *was,
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

bool reading_qp_times(const struct reading *r, const struct snap_qp *qp, struct snap_figures *f)
{
	const struct snap_qp_report *is = reading_qp_report(r->snap, qp), *was;

	if (!is)
		return false;
	was = r->older ? reading_qp_report(r->older, qp) : NULL;
	*f = reading_times_since(was ? &was->sum : NULL, &is->sum);
	return true;
}

static const struct snap_qp *find_older_qp(const struct snapshot *older, const struct snap_qp *qp)
{
	const struct snap_qp *qps = older->qps;
	size_t at = array_find(older->n_qps, i, SNAP_CMP_QP(&qps[i], qp) < 0);

	return at < older->n_qps && !SNAP_CMP_QP(&qps[at], qp) ? &qps[at] : NULL;
}

/*
 * Compares the kernel's count in the reading before with the library's count in this reading.
 * The two counts of one reading are not taken at the same moment, so requests that were posted
 * between the two would be counted as unseen.
 */
bool reading_unseen(const struct reading *rd, const struct snap_qp *qp, struct reading_unseen *u)
{
	const struct snap_qp_report *r = reading_qp_report(rd->snap, qp);
	const struct snap_qp *was = r && rd->older ? find_older_qp(rd->older, qp) : NULL;
	int32_t dev = signals_dev_row(rd->snap, qp->dev);
	bool blocks;

	/* Both must have counted since the QP was created. */
	if (!was || dev < 0 || qp->adopted || r->sum.since > qp->since)
		return false;
	blocks = rd->snap->devs[dev].caps & SWIFTRDMA_DEV_CAP_WQEBBS;
	*u = (struct reading_unseen){
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

/* The quantile of all samples that the job's processes reported since counting began. */
static struct signal_quantile quantile_of_totals(const struct snapshot *snap, uint32_t job,
						 double q)
{
	uint64_t bucket[SWIFTRDMA_HIST_BUCKETS] = { 0 };
	struct signal_quantile to = { 0 };

	for (size_t i = 0; i < snap->n_job_reports; i++) {
		const struct snap_job_report *r = &snap->job_reports[i];

		if (r->job != job)
			continue;
		to.samples += r->sum.samples;
		for (size_t k = 0; k < SWIFTRDMA_HIST_BUCKETS; k++)
			bucket[k] += r->bucket[k];
	}
	to.has = to.samples >= reading_samples_needed(q) && signals_quantile(bucket, q, &to.ns);
	return to;
}

uint64_t reading_samples_needed(double q)
{
	return q > 0.5 ? SIGNAL_P99_SAMPLES : SIGNAL_P50_SAMPLES;
}

bool reading_quantile(const struct reading *r, const struct snap_job *job, double q,
		      struct signal_quantile *to)
{
	const struct signal_latency *l = signals_latency(r->sig, job->id);

	if (!l)
		return false;
	if (!r->older) {
		*to = quantile_of_totals(r->snap, job->id, q);
		return true;
	}
	*to = q > 0.5 ? l->p99 : l->p50;
	if (!to->has)
		to->samples = l->samples;
	return true;
}
