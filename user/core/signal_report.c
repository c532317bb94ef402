// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Signals from reports of libraries in processes. A job's totals stay when a process ends, and
 * restart with a device or a module; a QP's totals restart with each attachment.
 *
 * A library does not report QPs that DEVX made, that the process inherited by fork or made
 * before it attached, or for which there was no slot. It reports no requests of a QP to which
 * the program writes them itself. If the kernel counts work of a QP and the library reports
 * none, the figures of the QP are unknown rather than 0, and so are the rates of its job.
 */
#include <string.h>

#include <rdma/swiftrdma_share.h>

#include "base/array.h"
#include "core/signal.h"

enum { NOW, BEFORE };

/* Work of a QP that the kernel counts and the QP's report lacks. */
enum unseen {
	UNSEEN_NONE,
	UNSEEN_NEW,	/* since the reading before the kernel's count grew, the report did not */
	UNSEEN_OLD,	/* that was so at an earlier reading; the report has not grown since */
};

/* --- QPs ------------------------------------------------------------------------- */

static const struct snap_qp_report *find_qp_report(const struct snapshot *snap,
						   const struct snap_qp_report *key)
{
	const struct snap_qp_report *r = snap->qp_reports;
	size_t at = array_lookup(snap->n_qp_reports, i, SNAP_CMP_QP(&r[i], key));

	return at < snap->n_qp_reports ? &r[at] : NULL;
}

/* Makes what is unseen in the last reading that of the reading before. */
static void shift_unseen(struct signals *s)
{
	array_swap(s->unseen[NOW], s->unseen[BEFORE]);
	s->unseen_at[BEFORE] = s->unseen_at[NOW];
	s->unseen_at[NOW] = s->snap->time;
}

/*
 * Work of QP @row that its report lacks. Reports are read before QPs, so a request that was
 * posted in between is unseen until the next reading. If the report still lacks it then, the
 * library does not see it.
 */
static enum unseen find_unseen(const struct signals *s, size_t row, const struct snap_figures *is,
			       const struct snap_qp_report *old, const struct snapshot *older)
{
	bool goes_on = old && old->sum.since == is->since;

	if (!older || (goes_on ? is->wrs != old->sum.wrs : is->wrs > 0))
		return UNSEEN_NONE;
	if (goes_on && s->unseen_at[BEFORE] == older->time &&
	    s->unseen[BEFORE][old - older->qp_reports] != UNSEEN_NONE)
		return UNSEEN_OLD;
	return s->advanced[row] == 1 ? UNSEEN_NEW : UNSEEN_NONE;
}

/*
 * The totals to subtract from @is: @was, or zeros if @is began after the reading before. NULL:
 * unknown, because @is began earlier, and the reading before does not have it.
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

	shift_unseen(s);
	memset(s->reported, 0, snap->n_qps);
	memset(s->fixed, 0, snap->n_qps);
	memset(s->own_domain, 0, snap->n_qps);
	for (k = 0; k < snap->n_qp_reports; k++) {
		const struct snap_qp_report *r = &snap->qp_reports[k], *old;

		s->unseen[NOW][k] = UNSEEN_NONE;
		/* The QP was created after the QPs were read, or destroyed before. */
		if (!array_seek(snap->n_qps, i, SNAP_CMP_QP(&snap->qps[i], r)))
			continue;
		s->fixed[i] = !!(r->flags & SWIFTRDMA_SLOT_FIXED);
		s->own_domain[i] = !!(r->flags & SWIFTRDMA_SLOT_DOMAIN);
		old = older ? find_qp_report(older, r) : NULL;
		s->unseen[NOW][k] = (uint8_t)find_unseen(s, i, &r->sum, old, older);
		if (s->unseen[NOW][k] != UNSEEN_NONE)
			continue;
		s->reported[i] = 1;
		if (snap_has(r, SNAP_OUTSTANDING))
			signal_set(s, SIG_QP_OUTSTANDING, i, (double)r->outstanding);
		if (older)
			set_queue_delay(s, i, &r->sum,
					figures_before(old ? &old->sum : NULL, &r->sum, older));
	}
}

/* --- rates of jobs --------------------------------------------------------------- */

/* The reports of one job, one for each device. */
struct group {
	const struct snap_job_report *r;
	size_t n;
};

static struct group find_group(const struct snapshot *snap, uint32_t job)
{
	const struct snap_job_report *r = snap->job_reports;
	size_t from = array_find(snap->n_job_reports, i, r[i].job < job), to = from;

	while (to < snap->n_job_reports && r[to].job == job)
		to++;
	return (struct group){ to > from ? &r[from] : NULL, to - from };
}

static const struct snap_job_report *find_in_group(struct group g, uint32_t dev)
{
	size_t i;

	for (i = 0; i < g.n; i++)
		if (g.r[i].dev == dev)
			return &g.r[i];
	return NULL;
}

/* A QP of type SMI or GSI: the kernel has them on each port, for management. */
static bool is_management_qp(const struct snap_qp *qp)
{
	return qp->type <= 1;
}

/*
 * True: the job has a QP on this device that does work which no library reports. QPs that were
 * created after @read do not count, because no report of that time can have them.
 */
static bool has_unreported(const struct signals *s, size_t job, uint32_t dev, uint64_t read)
{
	uint32_t k, row;

	for (k = s->job_first[job]; k < s->job_first[job + 1]; k++) {
		const struct snap_qp *qp;

		row = s->job_qps[k];
		qp = &s->snap->qps[row];
		if (qp->dev == dev && !s->reported[row] && !is_management_qp(qp) &&
		    qp->since <= read && (signals_may_send(qp) || s->advanced[row] == 1))
			return true;
	}
	return false;
}

static uint64_t read_figure(const struct snap_figures *f, size_t offset)
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
	const struct snap_job_report *is = find_in_group(find_group(s->snap, job), dev), *old;
	const struct snap_figures *was;

	if (has_unreported(s, row, dev, is ? is->sum.time : UINT64_MAX))
		return REPORTED_IN_PART;
	if (!is)
		return REPORTED_NONE;
	if (!older)
		return REPORTED_IN_PART;
	old = find_in_group(find_group(older, job), dev);
	was = figures_before(old ? &old->sum : NULL, &is->sum, older);
	if (!was || !signal_per_second(read_figure(was, figure), read_figure(&is->sum, figure),
				       old ? was->time : older->time, is->sum.time, rate))
		return REPORTED_IN_PART;
	return REPORTED;
}

/* --- latencies of jobs ----------------------------------------------------------- */

/* Hash of the reports' identities: it changes when a device joins or totals restart. */
static uint64_t hash_reports(struct group g)
{
	uint64_t id = g.n;
	size_t i;

	for (i = 0; i < g.n; i++)
		id = (id * 31 + g.r[i].dev) * 1000003 + g.r[i].sum.since;
	return id;
}

static uint64_t sum_bucket(struct group g, size_t bucket)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < g.n; i++)
		n += g.r[i].bucket[bucket];
	return n;
}

static uint64_t sum_samples(struct group g)
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
	l->base_samples = sum_samples(g);
	for (i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++)
		l->base[i] = sum_bucket(g, i);
}

/* Sets @bucket to the samples since the window began. False: a total stepped back. */
static bool subtract_window_base(struct signal_latency *l, struct group g, uint64_t *bucket)
{
	uint64_t samples = sum_samples(g);
	size_t i;

	if (samples < l->base_samples)
		return false;
	l->samples = samples - l->base_samples;
	for (i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++) {
		bucket[i] = sum_bucket(g, i);
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
	/* The last bucket has no upper end. */
	hi = i < last ? (double)swiftrdma_hist_floor(i + 1) : lo;
	*ns = lo;
	if (bucket[i])
		*ns += (rank - below) / (double)bucket[i] * (hi - lo);
	return true;
}

static struct signal_quantile make_quantile(const struct signal_latency *l,
					  const uint64_t *bucket, double q)
{
	struct signal_quantile to = { .samples = l->samples };

	to.has = signals_quantile(bucket, q, &to.ns);
	return to;
}

static void update_quantiles(struct signal_latency *l, struct group g, const uint64_t *bucket,
			     uint64_t window)
{
	const struct signal_quantile too_few = { .samples = l->samples };
	bool full = l->samples >= SIGNAL_ENOUGH;
	bool old = g.r[0].sum.time - l->since >= window;

	if (l->samples >= SIGNAL_P50_SAMPLES)
		l->p50 = make_quantile(l, bucket, 0.5);
	else if (old || !l->p50.has)
		l->p50 = too_few;
	if (full || (old && l->samples >= SIGNAL_P99_SAMPLES)) {
		l->p99_prev = l->p99;
		l->p99 = make_quantile(l, bucket, 0.99);
	} else if (old) {
		l->p99_prev = l->p99 = too_few;
	} else if (!l->p99.has) {
		l->p99.samples = l->samples;
	}
	if (full || old)
		open_window(l, g);
}

static void reset_latency(struct signal_latency *l, uint32_t job, uint64_t reports)
{
	*l = (struct signal_latency){ .base = l->base, .job = job, .reports = reports };
}

static void update_latency(struct signal_latency *l, struct group is, struct group was,
			   uint64_t window)
{
	uint64_t bucket[SWIFTRDMA_HIST_BUCKETS], reports = hash_reports(is);

	if (l->reports != reports)
		reset_latency(l, l->job, reports);
	/*
	 * If the older reading is from before the window, the window starts there: the caller
	 * compares over that longer time.
	 */
	if (was.n && hash_reports(was) == reports && (!l->open || was.r[0].sum.time < l->since))
		open_window(l, was);
	if (l->open && subtract_window_base(l, is, bucket)) {
		update_quantiles(l, is, bucket, window);
		return;
	}
	reset_latency(l, l->job, reports);
	open_window(l, is);
}

/* Makes the latencies of the last reading those of the reading before. */
static void shift_latencies(struct signals *s)
{
	array_swap(s->latency[NOW], s->latency[BEFORE]);
	s->n_latency[BEFORE] = s->n_latency[NOW];
	s->n_latency[NOW] = 0;
}

/*
 * Adds the latencies of @job, as they were in the reading before. Jobs are added in the order
 * of their ids. @at: the first latency of the reading before that has not been passed yet.
 */
static struct signal_latency *carry_latency(struct signals *s, uint32_t job, size_t *at)
{
	struct signal_latency *to = &s->latency[NOW][s->n_latency[NOW]++];
	struct signal_latency *was = s->latency[BEFORE];

	if (!array_seek(s->n_latency[BEFORE], *at, ARRAY_CMP(was[*at].job, job))) {
		reset_latency(to, job, 0);
		return to;
	}
	/* A swap, because each entry owns an array. */
	array_swap(*to, was[*at]);
	++*at;
	return to;
}

static void update_latencies(struct signals *s, const struct snapshot *older, uint64_t window)
{
	const struct snapshot *snap = s->snap;
	size_t i = 0, at = 0;

	shift_latencies(s);
	while (i < snap->n_job_reports) {
		struct group is = find_group(snap, snap->job_reports[i].job), was = { 0 };

		if (older)
			was = find_group(older, is.r[0].job);
		update_latency(carry_latency(s, is.r[0].job, &at), is, was, window);
		i += is.n;
	}
}

const struct signal_latency *signals_latency(const struct signals *s, uint32_t job)
{
	const struct signal_latency *l = s->latency[NOW];
	size_t at = array_lookup(s->n_latency[NOW], i, ARRAY_CMP(l[i].job, job));

	return at < s->n_latency[NOW] ? &l[at] : NULL;
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
