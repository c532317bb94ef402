// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The mean time of work requests in send queues, by Little's law: the mean number of
 * outstanding requests divided by the rate at which requests are posted. The kernel counts
 * both in WQEBBs, so a request counts as often as it has blocks of 64 bytes. If all requests
 * of a QP have one size, the result is the mean over requests; else large requests weigh more.
 *
 * The kernel looks at random QPs of a device at random times, so the looks at a job's QPs are
 * a fair sample of these QPs, even if no single QP was looked at often. The mean of the looks
 * times the number of QPs is the mean number of WQEBBs that the job has outstanding on this
 * device; divided by the job's rate it is the mean time over its QPs, weighted by their rates.
 *
 * A window gathers looks until it has enough: SAMPLES_LEAST, and so many that the standard
 * error of the mean is at most ERROR_MOST of it. 95 % of the values are then within twice
 * ERROR_MOST of the true mean. If a window does not have enough after SIGNAL_LOOKS_WINDOW,
 * for instance because the queue is nearly always empty, the value becomes unknown.
 */
#include "core/array.h"
#include "core/signal.h"

#include <rdma/swiftrdma.h>

#define SAMPLES_LEAST	16
#define ERROR_MOST	0.1

enum { OF_QPS, OF_JOBS };
enum { NOW, BEFORE };

enum sending {
	SENDS_NOTHING,	/* the QP has no send queue, or its state lets it send nothing */
	SENDS_UNKNOWN,	/* the QP may send, and the kernel does not count its WQEBBs */
	SENDS_COUNTED,
};

bool signals_may_send(const struct snap_qp *qp)
{
	/* In RTS, SQD and SQE a QP sends, or completes what it has sent. */
	return qp->wrs_absent != SWIFTRDMA_ABSENT_NO_QUEUE &&
	       (!snap_has(qp, SNAP_STATE) || (qp->state >= 3 && qp->state <= 5));
}

static enum sending classify_sending(const struct signals *s, size_t i)
{
	const struct snap_qp *qp = &s->snap->qps[i];
	int32_t dev = s->qps[i].dev;

	if (!signals_may_send(qp))
		return SENDS_NOTHING;
	if (dev < 0 || !(s->snap->devs[dev].caps & SWIFTRDMA_DEV_CAP_WQEBBS) ||
	    !snap_has(qp, SNAP_WRS) || qp->wrs_ambiguous)
		return SENDS_UNKNOWN;
	return SENDS_COUNTED;
}

/*
 * Adds a window to those of this reading, with its contents at the reading before. Windows
 * are added in their order: jobs by job, then device, QPs by device, then number. @at: how
 * far the windows of the reading before have been passed.
 */
static struct signal_window *add_window(struct signals *s, unsigned int kind, uint32_t dev,
					uint32_t index, uint64_t serial, size_t *at)
{
	struct signal_window *w = &s->windows[kind][NOW][s->n_windows[kind][NOW]++];
	const struct signal_window *was = s->windows[kind][BEFORE];
	size_t n = s->n_windows[kind][BEFORE];

	*w = (struct signal_window){ .dev = dev, .index = index, .serial = serial };
	if (kind == OF_JOBS ? array_seek(n, *at, ARRAY_CMP_2(&was[*at], w, index, dev)) :
			      array_seek(n, *at, ARRAY_CMP_3(&was[*at], w, dev, index, serial)))
		*w = was[*at];
	return w;
}

/* Makes the windows of the last reading those of the reading before. */
static void shift_windows(struct signals *s, unsigned int kind)
{
	array_swap(s->windows[kind][NOW], s->windows[kind][BEFORE]);
	s->n_windows[kind][BEFORE] = s->n_windows[kind][NOW];
	s->n_windows[kind][NOW] = 0;
}

/* Begins a new window. @known: the latency of the last one holds on. */
static void empty_window(struct signal_window *w, bool known)
{
	*w = (struct signal_window){
		.dev = w->dev, .index = w->index, .serial = w->serial,
		.latency = w->latency, .known = known && w->known,
		.latency_prev = w->latency_prev, .known_prev = known && w->known_prev,
	};
}

/*
 * Adds the looks at a QP and its WQEBBs between the readings. False: a counter stepped back.
 * The counters of looks are 0 before the first look.
 */
static bool add_qp(struct signal_window *w, const struct snap_qp *was, const struct snap_qp *is,
		   uint64_t dt)
{
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
 * Closes the windows of one object, one for each device, if they have enough looks or are
 * @longest ns long. The mean is stratified: the looks at a device stand for its own QPs.
 */
static void close_windows(struct signal_window *w, size_t n, uint64_t longest)
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
		w[0].latency_prev = w[0].latency;
		w[0].known_prev = w[0].known;
		w[0].latency = outstanding / wqebbs;
		w[0].known = true;
	}
	if (enough || ns > (double)longest)
		for (i = 0; i < n; i++)
			empty_window(&w[i], enough);
}

static void find_older(struct signals *s, const struct snapshot *older)
{
	const struct snapshot *snap = s->snap;
	size_t i, o = 0;

	for (i = 0; i < snap->n_qps; i++)
		s->older[i] = array_seek(older->n_qps, o,
					 SNAP_CMP_QP(&older->qps[o], &snap->qps[i])) ?
			      (int32_t)o : -1;
}

/* @dt: ns between the readings; 0: the windows already have this reading's looks. */
static void set_qp_latencies(struct signals *s, const struct snapshot *older, uint64_t dt,
			     uint64_t window)
{
	const struct snapshot *snap = s->snap;
	struct signal_window *w;
	size_t i, at = 0;

	for (i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i];

		if (!snap_has(qp, SNAP_LOOKS) || classify_sending(s, i) != SENDS_COUNTED)
			continue;
		w = add_window(s, OF_QPS, qp->dev, qp->qpn, qp->serial, &at);
		if (dt && s->older[i] >= 0) {
			if (!add_qp(w, &older->qps[s->older[i]], qp, dt))
				empty_window(w, false);
			w->ns += (double)dt;
			close_windows(w, 1, window);
		}
		if (w->known)
			signal_set(s, SIG_QP_LATENCY, i, w->latency);
	}
}

/* Adds QP @i of the job to the window of its device. False: the QP's work is not known. */
static bool add_member(struct signals *s, struct signal_window *w, size_t n, size_t i,
		       const struct snapshot *older, uint64_t dt)
{
	const struct snap_qp *qp = &s->snap->qps[i];
	size_t k;

	switch (classify_sending(s, i)) {
	case SENDS_NOTHING:
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

static void set_job_latencies(struct signals *s, const struct snapshot *older, uint64_t dt,
			      uint64_t window)
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
			add_window(s, OF_JOBS, job->stats[i].dev, job->id, 0, &at)->ns +=
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
			close_windows(w, n, window);
		if (w[0].known)
			signal_set(s, SIG_JOB_LATENCY, j, w[0].latency);
		if (w[0].known_prev)
			signal_set(s, SIG_JOB_LATENCY_PREV, j, w[0].latency_prev);
	}
}

void signals_queues(struct signals *s, const struct snapshot *older, uint64_t window)
{
	const struct snapshot *snap = s->snap;
	uint64_t dt = 0;

	shift_windows(s, OF_QPS);
	shift_windows(s, OF_JOBS);
	if (!older || !s->n_looks)
		return;
	if (snap->time > older->time && snap->time != s->looked)
		dt = snap->time - older->time;
	s->looked = snap->time;
	find_older(s, older);
	set_qp_latencies(s, older, dt, window);
	set_job_latencies(s, older, dt, window);
}
