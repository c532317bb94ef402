// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The mean time of work requests in send queues, by Little's law: the mean number that is
 * outstanding divided by the rate at which they are posted. The kernel counts both in WQEBBs,
 * so a request counts as often as it has blocks of 64 bytes. Of a QP whose requests are of
 * one size that is the mean of requests; else large ones weigh more.
 *
 * The kernel looks at random QPs of a device at random times, so the looks at a job's QPs are
 * a fair sample of all of them, also where no single QP was looked at often: their mean times
 * the number of QPs is the mean of what the job has outstanding on this device, and divided
 * by the job's rate it is the mean over its QPs weighted by their rates.
 *
 * Looks are gathered in a window until they are enough: SAMPLES_LEAST, and so many that the
 * standard error of the mean is no more than ERROR_MOST of it. Of twenty values nineteen then
 * are within twice that of the true mean. A window that is not done after WINDOW_MOST makes
 * the value unknown, as of a queue that is nearly always empty.
 */
#include "core/signal.h"

#include <rdma/swiftrdma.h>

#define SAMPLES_LEAST	16
#define ERROR_MOST	0.1
#define WINDOW_MOST	30e9

enum { OF_QPS, OF_JOBS };
enum { NOW, BEFORE };

enum known {
	SENDS_NOT,	/* it has no send queue, or is in a state in which it sends nothing */
	SENDS_UNKNOWN,	/* it may send what nobody counts */
	SENDS_COUNTED,
};

static enum known how_known(const struct signals *s, size_t i)
{
	const struct snap_qp *qp = &s->snap->qps[i];
	int32_t dev = s->qps[i].dev;

	if (qp->wrs_absent == SWIFTRDMA_ABSENT_NO_QUEUE)
		return SENDS_NOT;
	/* RTS, SQD and SQE send, or complete what was sent. */
	if (snap_has(qp, SNAP_STATE) && (qp->state < 3 || qp->state > 5))
		return SENDS_NOT;
	if (dev < 0 || !(s->snap->devs[dev].caps & SWIFTRDMA_DEV_CAP_WQEBBS) ||
	    !snap_has(qp, SNAP_WRS) || qp->wrs_ambiguous)
		return SENDS_UNKNOWN;
	return SENDS_COUNTED;
}

static int compare_windows(const struct signal_window *a, const struct signal_window *b,
			   unsigned int kind)
{
	if (kind == OF_JOBS && a->index != b->index)
		return a->index < b->index ? -1 : 1;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	if (a->serial != b->serial)
		return a->serial < b->serial ? -1 : 1;
	return 0;
}

/* The next window, in their order, as it was at the reading before; @at: how far that was. */
static struct signal_window *open_window(struct signals *s, unsigned int kind, uint32_t dev,
					 uint32_t index, uint64_t serial, size_t *at)
{
	struct signal_window *w = &s->windows[kind][NOW][s->n_windows[kind][NOW]++];
	const struct signal_window *was = s->windows[kind][BEFORE];
	size_t n = s->n_windows[kind][BEFORE];

	*w = (struct signal_window){ .dev = dev, .index = index, .serial = serial };
	while (*at < n && compare_windows(&was[*at], w, kind) < 0)
		++*at;
	if (*at < n && !compare_windows(&was[*at], w, kind))
		*w = was[*at];
	return w;
}

static void turn_windows(struct signals *s, unsigned int kind)
{
	struct signal_window *w = s->windows[kind][NOW];
	size_t cap = s->cap_windows[kind][NOW];

	s->windows[kind][NOW] = s->windows[kind][BEFORE];
	s->cap_windows[kind][NOW] = s->cap_windows[kind][BEFORE];
	s->windows[kind][BEFORE] = w;
	s->cap_windows[kind][BEFORE] = cap;
	s->n_windows[kind][BEFORE] = s->n_windows[kind][NOW];
	s->n_windows[kind][NOW] = 0;
}

static void empty_window(struct signal_window *w, bool known)
{
	*w = (struct signal_window){
		.dev = w->dev, .index = w->index, .serial = w->serial,
		.latency = w->latency, .known = known && w->known,
	};
}

/* What a QP did between the readings. False: a counter stepped back. */
static bool add_qp(struct signal_window *w, const struct snap_qp *was, const struct snap_qp *is,
		   uint64_t dt)
{
	/* Before the first look there was none. */
	if (is->wrs < was->wrs || is->outstanding_samples < was->outstanding_samples ||
	    is->outstanding_sum < was->outstanding_sum ||
	    is->outstanding_squares < was->outstanding_squares)
		return false;
	w->samples += (double)(is->outstanding_samples - was->outstanding_samples);
	w->sum += (double)(is->outstanding_sum - was->outstanding_sum);
	w->squares += (double)(is->outstanding_squares - was->outstanding_squares);
	w->wqebbs += (double)(is->wrs - was->wrs);
	w->presence += (double)dt;
	return true;
}

/*
 * Closes the windows of one object, one for each device, if they have enough. A stratified
 * mean: each device's looks stand for its own QPs.
 */
static void close_windows(struct signal_window *w, size_t n)
{
	double outstanding = 0, variance = 0, wqebbs = 0, ns = 0, mean, most;
	bool enough = n > 0;
	size_t i;

	for (i = 0; i < n; i++) {
		ns = w[i].ns > ns ? w[i].ns : ns;
		wqebbs += w[i].wqebbs;
		if (w[i].presence <= 0)
			continue;
		if (w[i].samples < SAMPLES_LEAST) {
			enough = false;
			continue;
		}
		mean = w[i].sum / w[i].samples;
		outstanding += mean * w[i].presence;
		variance += w[i].presence * w[i].presence *
			    (w[i].squares / w[i].samples - mean * mean) / (w[i].samples - 1);
	}
	most = ERROR_MOST * outstanding;
	enough = enough && wqebbs > 0 && outstanding > 0 && variance <= most * most;
	if (enough) {
		w[0].latency = outstanding / wqebbs;
		w[0].known = true;
	}
	if (enough || ns > WINDOW_MOST)
		for (i = 0; i < n; i++)
			empty_window(&w[i], enough);
}

static void find_older(struct signals *s, const struct snapshot *older)
{
	const struct snapshot *snap = s->snap;
	size_t i, o = 0;

	for (i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i];

		while (o < older->n_qps && SNAP_CMP_QP(&older->qps[o], qp) < 0)
			o++;
		s->older[i] = o < older->n_qps && !SNAP_CMP_QP(&older->qps[o], qp) ?
			      (int32_t)o : -1;
	}
}

/* @dt 0: this reading's looks are in the windows already. */
static void qp_latency(struct signals *s, const struct snapshot *older, uint64_t dt)
{
	const struct snapshot *snap = s->snap;
	struct signal_window *w;
	size_t i, at = 0;

	for (i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i];

		if (!snap_has(qp, SNAP_LOOKS) || how_known(s, i) != SENDS_COUNTED)
			continue;
		w = open_window(s, OF_QPS, qp->dev, qp->qpn, qp->serial, &at);
		if (dt && s->older[i] >= 0) {
			if (!add_qp(w, &older->qps[s->older[i]], qp, dt))
				empty_window(w, false);
			w->ns += (double)dt;
			close_windows(w, 1);
		}
		if (w->known)
			signal_set(s, SIG_QP_LATENCY, i, w->latency);
	}
}

/* Adds a QP of the job. False: what it does is not known. */
static bool add_member(struct signals *s, struct signal_window *w, size_t n, size_t i,
		       const struct snapshot *older, uint64_t dt)
{
	const struct snap_qp *qp = &s->snap->qps[i];
	size_t k;

	switch (how_known(s, i)) {
	case SENDS_NOT:
		return true;
	case SENDS_UNKNOWN:
		return false;
	case SENDS_COUNTED:
		break;
	}
	if (!dt || s->older[i] < 0)
		return true;
	for (k = 0; k < n; k++)
		if (w[k].dev == qp->dev)
			return add_qp(&w[k], &older->qps[s->older[i]], qp, dt);
	return false;
}

static void job_latency(struct signals *s, const struct snapshot *older, uint64_t dt)
{
	const struct snapshot *snap = s->snap;
	size_t j, n, i, at = 0;
	uint32_t k;
	bool known;

	for (j = 0; j < snap->n_jobs; j++) {
		const struct snap_job *job = &snap->jobs[j];
		struct signal_window *w = &s->windows[OF_JOBS][NOW][s->n_windows[OF_JOBS][NOW]];

		n = job->n_stats;
		for (i = 0; i < n; i++)
			open_window(s, OF_JOBS, job->stats[i].dev, job->id, 0, &at)->ns +=
				(double)dt;
		known = n > 0;
		for (k = s->job_first[j]; k < s->job_first[j + 1] && known; k++)
			known = add_member(s, w, n, s->job_qps[k], older, dt);
		if (!known) {
			for (i = 0; i < n; i++)
				empty_window(&w[i], false);
			continue;
		}
		if (dt)
			close_windows(w, n);
		if (w[0].known)
			signal_set(s, SIG_JOB_LATENCY, j, w[0].latency);
	}
}

void signals_queues(struct signals *s, const struct snapshot *older)
{
	const struct snapshot *snap = s->snap;
	uint64_t dt = 0;
	size_t i = 0;

	turn_windows(s, OF_QPS);
	turn_windows(s, OF_JOBS);
	while (i < snap->n_qps && !snap_has(&snap->qps[i], SNAP_LOOKS))
		i++;
	if (!older || i == snap->n_qps)
		return;
	if (snap->time > older->time && snap->time != s->looked)
		dt = snap->time - older->time;
	s->looked = snap->time;
	find_older(s, older);
	qp_latency(s, older, dt);
	job_latency(s, older, dt);
}
