// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Signals of what libraries in processes told. A job's totals stay when a process ends, and
 * begin anew with a device or a module; a QP's totals begin anew with each attachment.
 */
#include <string.h>

#include "core/array.h"
#include "core/signal.h"

enum { NOW, BEFORE };

/* --- QPs ------------------------------------------------------------------------- */

static const struct snap_qp_report *find_qp_report(const struct snapshot *snap,
						   const struct snap_qp_report *key)
{
	const struct snap_qp_report *r = snap->qp_reports;
	size_t at = array_find(snap->n_qp_reports, i, SNAP_CMP_QP(&r[i], key) < 0);

	return at < snap->n_qp_reports && !SNAP_CMP_QP(&r[at], key) ? &r[at] : NULL;
}

/*
 * What the totals of @is are compared with. NULL: nothing, as they stepped back, or began
 * before the reading that lacks them.
 */
static const struct snap_figures *figures_before(const struct snap_figures *was,
						 const struct snap_figures *is,
						 const struct snapshot *older)
{
	static const struct snap_figures none;

	if (was && was->since == is->since)
		return was;
	return is->since >= older->time ? &none : NULL;
}

/* The mean head-of-line wait of the requests of this interval; absent if there were none. */
static void set_queue_delay(struct signals *s, size_t row, const struct snap_figures *is,
			    const struct snap_figures *was)
{
	if (was && is->hol_wrs > was->hol_wrs && is->hol_sum >= was->hol_sum)
		signal_set(s, SIG_QP_QUEUE_DELAY, row,
			   (double)(is->hol_sum - was->hol_sum) /
			   (double)(is->hol_wrs - was->hol_wrs));
}

static void read_qp_reports(struct signals *s, const struct snapshot *older)
{
	const struct snapshot *snap = s->snap;
	size_t i = 0, k;

	if (snap->n_owners)
		memset(s->attached, 0, snap->n_owners);
	for (k = 0; k < snap->n_qp_reports; k++) {
		const struct snap_qp_report *r = &snap->qp_reports[k], *old;
		const struct snap_qp *qp;

		while (i < snap->n_qps && SNAP_CMP_QP(&snap->qps[i], r) < 0)
			i++;
		/* The QP came after the QPs were read, or went before. */
		if (i == snap->n_qps || SNAP_CMP_QP(&snap->qps[i], r))
			continue;
		qp = &snap->qps[i];
		if (snap_has(qp, SNAP_OWNER) && qp->owner < snap->n_owners)
			s->attached[qp->owner] = 1;
		if (snap_has(r, SNAP_OUTSTANDING))
			signal_set(s, SIG_QP_OUTSTANDING, i, (double)r->outstanding);
		old = older ? find_qp_report(older, r) : NULL;
		if (older)
			set_queue_delay(s, i, &r->sum,
					figures_before(old ? &old->sum : NULL, &r->sum, older));
	}
}

/* --- rates of jobs --------------------------------------------------------------- */

/* The reports of one job, of several devices. */
struct group {
	const struct snap_job_report *r;
	size_t n;
};

static struct group reports_of(const struct snapshot *snap, uint32_t job)
{
	const struct snap_job_report *r = snap->job_reports;
	size_t from = array_find(snap->n_job_reports, i, r[i].job < job), to = from;

	while (to < snap->n_job_reports && r[to].job == job)
		to++;
	return (struct group){ to > from ? &r[from] : NULL, to - from };
}

static const struct snap_job_report *of_dev(struct group g, uint32_t dev)
{
	size_t i;

	for (i = 0; i < g.n; i++)
		if (g.r[i].dev == dev)
			return &g.r[i];
	return NULL;
}

/* Of the job's QPs on a device: are there any, and do libraries know of all processes? */
static bool has_qps(const struct signals *s, size_t job, uint32_t dev, bool *all_attached)
{
	const struct snapshot *snap = s->snap;
	bool any = false;
	uint32_t k;

	*all_attached = true;
	for (k = s->job_first[job]; k < s->job_first[job + 1]; k++) {
		const struct snap_qp *qp = &snap->qps[s->job_qps[k]];

		if (qp->dev != dev)
			continue;
		any = true;
		if (!snap_has(qp, SNAP_OWNER) || qp->owner >= snap->n_owners ||
		    !s->attached[qp->owner])
			*all_attached = false;
	}
	return any;
}

static uint64_t figure_at(const struct snap_figures *f, size_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)f + offset, sizeof(v));
	return v;
}

enum signal_reported signals_reported_rate(const struct signals *s, const struct snapshot *older,
					   size_t row, uint32_t dev, size_t figure,
					   double *rate)
{
	uint32_t job = s->snap->jobs[row].id;
	const struct snap_job_report *is = of_dev(reports_of(s->snap, job), dev), *old;
	bool all_attached, any = has_qps(s, row, dev, &all_attached);
	const struct snap_figures *was;

	if (!is)
		return any ? REPORTED_IN_PART : REPORTED_NONE;
	if (!all_attached || !older)
		return REPORTED_IN_PART;
	old = of_dev(reports_of(older, job), dev);
	was = figures_before(old ? &old->sum : NULL, &is->sum, older);
	if (!was || !signal_per_second(figure_at(was, figure), figure_at(&is->sum, figure),
				       old ? was->time : older->time, is->sum.time, rate))
		return REPORTED_IN_PART;
	return REPORTED;
}

/* --- latencies of jobs ----------------------------------------------------------- */

/* Which reports they are: another device, or totals that began anew, is another value. */
static uint64_t identify(struct group g)
{
	uint64_t id = g.n;
	size_t i;

	for (i = 0; i < g.n; i++)
		id = (id * 31 + g.r[i].dev) * 1000003 + g.r[i].sum.since;
	return id;
}

static uint64_t bucket_total(struct group g, size_t bucket)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < g.n; i++)
		n += g.r[i].bucket[bucket];
	return n;
}

static uint64_t sample_total(struct group g)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < g.n; i++)
		n += g.r[i].sum.samples;
	return n;
}

static void open_window(struct signal_latency *l, struct group g)
{
	size_t i;

	l->open = true;
	l->since = g.r[0].sum.time;
	l->samples = 0;
	l->base_samples = sample_total(g);
	for (i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++)
		l->base[i] = bucket_total(g, i);
}

/* What came since the window began. False: a total stepped back. */
static bool gather(struct signal_latency *l, struct group g, uint64_t *bucket)
{
	uint64_t samples = sample_total(g);
	size_t i;

	if (samples < l->base_samples)
		return false;
	l->samples = samples - l->base_samples;
	for (i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++) {
		bucket[i] = bucket_total(g, i);
		if (bucket[i] < l->base[i])
			return false;
		bucket[i] -= l->base[i];
	}
	return true;
}

bool signals_quantile(const uint64_t *bucket, double q, double *ns)
{
	double all = 0, below = 0, rank, lo, hi;
	uint32_t i, last = SWIFTRDMA_HIST_BUCKETS - 1;

	for (i = 0; i <= last; i++)
		all += (double)bucket[i];
	if (all <= 0)
		return false;
	rank = q * all;
	for (i = 0; i < last && below + (double)bucket[i] < rank; i++)
		below += (double)bucket[i];
	lo = (double)swiftrdma_hist_floor(i);
	/* The last one has no end. */
	hi = i < last ? (double)swiftrdma_hist_floor(i + 1) : lo;
	*ns = lo;
	if (bucket[i])
		*ns += (rank - below) / (double)bucket[i] * (hi - lo);
	return true;
}

static struct signal_quantile quantile_of(const struct signal_latency *l,
					  const uint64_t *bucket, double q)
{
	struct signal_quantile to = { .samples = l->samples };

	to.has = signals_quantile(bucket, q, &to.ns);
	return to;
}

static void take_quantiles(struct signal_latency *l, struct group g, const uint64_t *bucket,
			   uint64_t window)
{
	bool full = l->samples >= SIGNAL_ENOUGH;
	bool old = g.r[0].sum.time - l->since >= window;

	if (l->samples >= SIGNAL_P50_SAMPLES)
		l->p50 = quantile_of(l, bucket, 0.5);
	else if (old)
		l->p50.has = false;
	if (full || (old && l->samples >= SIGNAL_P99_SAMPLES)) {
		l->p99_prev = l->p99;
		l->p99 = quantile_of(l, bucket, 0.99);
	} else if (old) {
		l->p99.has = l->p99_prev.has = false;
	}
	if (full || old)
		open_window(l, g);
}

static void forget(struct signal_latency *l, uint32_t job, uint64_t reports)
{
	uint64_t *base = l->base;

	memset(l, 0, sizeof(*l));
	l->base = base;
	l->job = job;
	l->reports = reports;
}

static void update_latency(struct signal_latency *l, struct group is, struct group was,
			   uint64_t window)
{
	uint64_t bucket[SWIFTRDMA_HIST_BUCKETS], reports = identify(is);

	if (l->reports != reports)
		forget(l, l->job, reports);
	/* A caller that compares over a longer time than that of the window means that. */
	if (was.n && identify(was) == reports && (!l->open || was.r[0].sum.time < l->since))
		open_window(l, was);
	if (l->open && gather(l, is, bucket)) {
		take_quantiles(l, is, bucket, window);
		return;
	}
	forget(l, l->job, reports);
	open_window(l, is);
}

static void turn_latencies(struct signals *s)
{
	struct signal_latency *p = s->latency[NOW];
	size_t cap = s->cap_latency[NOW];

	s->latency[NOW] = s->latency[BEFORE];
	s->cap_latency[NOW] = s->cap_latency[BEFORE];
	s->latency[BEFORE] = p;
	s->cap_latency[BEFORE] = cap;
	s->n_latency[BEFORE] = s->n_latency[NOW];
	s->n_latency[NOW] = 0;
}

/* The next of this reading, as it was in the reading before. */
static struct signal_latency *carry(struct signals *s, uint32_t job, size_t *before)
{
	struct signal_latency *to = &s->latency[NOW][s->n_latency[NOW]++], tmp;
	struct signal_latency *was = s->latency[BEFORE];

	while (*before < s->n_latency[BEFORE] && was[*before].job < job)
		++*before;
	if (*before == s->n_latency[BEFORE] || was[*before].job != job) {
		forget(to, job, 0);
		return to;
	}
	/* Each keeps one of the two arrays. */
	tmp = *to;
	*to = was[*before];
	was[*before].base = tmp.base;
	return to;
}

static void update_latencies(struct signals *s, const struct snapshot *older, uint64_t window)
{
	const struct snapshot *snap = s->snap;
	size_t i = 0, before = 0;

	turn_latencies(s);
	while (i < snap->n_job_reports) {
		struct group is = reports_of(snap, snap->job_reports[i].job), was = { 0 };

		if (older)
			was = reports_of(older, is.r[0].job);
		update_latency(carry(s, is.r[0].job, &before), is, was, window);
		i += is.n;
	}
}

const struct signal_latency *signals_latency(const struct signals *s, uint32_t job)
{
	const struct signal_latency *l = s->latency[NOW];
	size_t at = array_find(s->n_latency[NOW], i, l[i].job < job);

	return at < s->n_latency[NOW] && l[at].job == job ? &l[at] : NULL;
}

static void set_quantile(struct signals *s, enum signal_id id, size_t row,
			 const struct signal_quantile *q)
{
	if (q->has)
		signal_set(s, id, row, q->ns);
}

void signals_reports(struct signals *s, const struct snapshot *older, uint64_t window)
{
	size_t i;

	read_qp_reports(s, older);
	update_latencies(s, older, window);
	for (i = 0; i < s->snap->n_jobs; i++) {
		const struct signal_latency *l = signals_latency(s, s->snap->jobs[i].id);

		if (!l)
			continue;
		set_quantile(s, SIG_JOB_P50, i, &l->p50);
		set_quantile(s, SIG_JOB_P99, i, &l->p99);
		set_quantile(s, SIG_JOB_P99_PREV, i, &l->p99_prev);
	}
}
