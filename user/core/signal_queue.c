// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The mean time of work requests in send queues, by Little's law: the mean number of
 * outstanding requests divided by the rate at which requests are posted. A request without a
 * CQE is outstanding until a CQE covers it. The kernel counts in WQEBBs, blocks of 64 bytes, and
 * tells how many a request of a QP has. If a QP has requests of different sizes, the numbers of
 * blocks do not tell numbers of requests, and neither the QP nor its job has a latency. Where the
 * kernel cannot read a send queue, a request counts as one block, and ends when the device has
 * completed it.
 *
 * The kernel looks at random QPs of a device at random times, so the looks at a job's QPs are
 * a fair sample of these QPs, even if no single QP was looked at often. The mean of the looks
 * times the number of QPs is the mean number of requests that the job has outstanding on this
 * device; divided by the job's rate it is the mean time over its QPs, weighted by their rates.
 *
 * A window gathers looks until it has enough: SAMPLES_LEAST, and so many that the standard
 * error of the mean is at most ERROR_MOST of it. 95 % of the values are then within twice
 * ERROR_MOST of the true mean. If a window does not have enough after SIGNAL_LOOKS_WINDOW,
 * for instance because the queue is nearly always empty, the value becomes unknown.
 */
#include "base/array.h"
#include "core/signal.h"

#include <rdma/swiftrdma.h>

#define SAMPLES_LEAST	16
#define ERROR_MOST	0.1

/*
 * The kernel reads only a part of a large queue, so only some looks tell how many requests no CQE
 * covers. If fewer than one look in LOOKS_PER_UNCOVERED does, the latency lacks the time of these.
 */
#define LOOKS_PER_UNCOVERED	16

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

/* Begins a new window. @known: the latency of the last window stays valid. */
static void empty_window(struct signal_window *w, bool known)
{
	*w = (struct signal_window){
		.dev = w->dev, .index = w->index, .serial = w->serial,
		.latency = w->latency, .known = known && w->known,
		.latency_prev = w->latency_prev, .known_prev = known && w->known_prev,
		.mixed_ns = w->mixed_ns,
	};
}

/*
 * Does QP @is have requests of different sizes? It counts as such from the look that saw it until
 * no look has seen it again for @longest ns, because in a short time few looks see large requests
 * that are rare.
 */
static bool has_mixed_requests(struct signal_window *w, const struct snap_qp *was,
			       const struct snap_qp *is, uint64_t dt, uint64_t longest)
{
	if (was && is->request_changes > was->request_changes)
		w->mixed_ns = (double)longest;
	else
		w->mixed_ns = w->mixed_ns > (double)dt ? w->mixed_ns - (double)dt : 0;
	return w->mixed_ns > 0;
}

bool signals_mixed_requests(const struct signals *s, size_t qp)
{
	return qp < s->n_qp_windows && s->qp_windows[NOW][qp].mixed_ns > 0;
}

/*
 * Adds the looks at a QP and its requests between the readings. False: a counter stepped back.
 * The counters of looks are 0 before the first look.
 */
static bool add_qp(struct signal_window *w, const struct snap_qp *was, const struct snap_qp *is,
		   uint64_t dt)
{
	double blocks = snap_has(is, SNAP_REQUESTS) && is->request_blocks ? is->request_blocks : 1;

	if (is->wrs < was->wrs || is->outstanding_samples < was->outstanding_samples ||
	    is->outstanding_sum < was->outstanding_sum ||
	    is->outstanding_squares < was->outstanding_squares ||
	    is->uncovered_samples < was->uncovered_samples ||
	    is->uncovered_sum < was->uncovered_sum ||
	    is->uncovered_squares < was->uncovered_squares)
		return false;
	w->samples += (double)(is->outstanding_samples - was->outstanding_samples);
	w->sum += (double)(is->outstanding_sum - was->outstanding_sum) / blocks;
	w->squares += (double)(is->outstanding_squares - was->outstanding_squares) /
		      (blocks * blocks);
	w->uncovered_samples += (double)(is->uncovered_samples - was->uncovered_samples);
	w->uncovered_sum += (double)(is->uncovered_sum - was->uncovered_sum) / blocks;
	w->uncovered_squares += (double)(is->uncovered_squares - was->uncovered_squares) /
				(blocks * blocks);
	w->requests += (double)(is->wrs - was->wrs) / blocks;
	w->presence += (double)dt;
	w->blind |= !snap_has(is, SNAP_REQUESTS) &&
		    is->outstanding_samples > was->outstanding_samples;
	return true;
}

/* A mean number of requests, times QPs and ns, and the square of its standard error. */
struct estimate {
	double sum, variance;
};

static void add_estimate(struct estimate *e, double samples, double sum, double squares,
			 double presence)
{
	double mean = sum / samples;

	e->sum += mean * presence;
	e->variance += presence * presence * (squares / samples - mean * mean) / (samples - 1);
}

/* Adds what a window tells of its QPs. False: it needs more looks. */
static bool add_window(struct estimate *e, const struct signal_window *w)
{
	bool rare = w->samples >= LOOKS_PER_UNCOVERED * SAMPLES_LEAST;

	if (w->samples < SAMPLES_LEAST)
		return false;
	add_estimate(e, w->samples, w->sum, w->squares, w->presence);
	if (w->blind)
		return true;
	if (w->uncovered_samples < SAMPLES_LEAST)
		return rare;
	add_estimate(e, w->uncovered_samples, w->uncovered_sum, w->uncovered_squares,
		     w->presence);
	return true;
}

/*
 * Closes the windows of one object, one for each device, if they have enough looks or are
 * @longest ns long. The mean is stratified: the looks at a device stand for its own QPs.
 */
static void close_windows(struct signal_window *w, size_t n, uint64_t longest)
{
	struct estimate outstanding = { .sum = 0 };
	double requests = 0, ns = 0, most;
	bool enough = n > 0;
	size_t i;

	for (i = 0; i < n; i++) {
		ns = w[i].ns > ns ? w[i].ns : ns;
		requests += w[i].requests;
		if (w[i].presence > 0)
			enough &= add_window(&outstanding, &w[i]);
	}
	most = ERROR_MOST * outstanding.sum;
	enough = enough && requests > 0 && outstanding.sum > 0 &&
		 outstanding.variance <= most * most;
	if (enough) {
		w[0].latency_prev = w[0].latency;
		w[0].known_prev = w[0].known;
		w[0].latency = outstanding.sum / requests;
		w[0].known = true;
	}
	if (enough || ns > (double)longest)
		for (i = 0; i < n; i++)
			empty_window(&w[i], enough);
}

/*
 * Gives each QP its window, in .qp_windows at the QP's row. Rows move only with the topology, so
 * mostly the windows are where they were.
 */
static void match_qp_windows(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	const struct signal_window *was;
	size_t i, n = s->n_qp_windows, at = 0;

	if (s->windows_of == s->topology)
		return;
	array_swap(s->qp_windows[NOW], s->qp_windows[BEFORE]);
	was = s->qp_windows[BEFORE];
	for (i = 0; i < snap->n_qps; i++) {
		struct signal_window *w = &s->qp_windows[NOW][i];

		*w = (struct signal_window){
			.dev = snap->qps[i].dev, .index = snap->qps[i].qpn,
			.serial = snap->qps[i].serial,
		};
		if (array_seek(n, at, ARRAY_CMP_3(&was[at], w, dev, index, serial)))
			*w = was[at];
	}
	s->n_qp_windows = snap->n_qps;
	s->windows_of = s->topology;
}

/* Gives each job a window for each device, in the order of jobs and their devices. */
static void match_job_windows(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	const struct signal_window *was;
	size_t i, k, n = s->n_job_windows, at = 0, end = 0;

	array_swap(s->job_windows[NOW], s->job_windows[BEFORE]);
	was = s->job_windows[BEFORE];
	for (i = 0; i < snap->n_jobs; i++)
		for (k = 0; k < snap->jobs[i].n_stats; k++) {
			struct signal_window *w = &s->job_windows[NOW][end++];

			*w = (struct signal_window){
				.dev = snap->jobs[i].stats[k].dev, .index = snap->jobs[i].id,
			};
			if (array_seek(n, at, ARRAY_CMP_2(&was[at], w, index, dev)))
				*w = was[at];
		}
	s->n_job_windows = end;
}

/* The windows of a job, one for each of @n devices. */
struct job_windows {
	struct signal_window *w;
	size_t n;
	bool known;	/* so far the work of all its QPs is known */
};

static void add_to_job(struct job_windows *job, const struct snap_qp *was,
		       const struct snap_qp *is, uint64_t dt)
{
	size_t k;

	for (k = 0; k < job->n; k++)
		if (job->w[k].dev == is->dev) {
			job->known &= add_qp(&job->w[k], was, is, dt);
			return;
		}
	job->known = false;
}

/*
 * Adds what QP @i did between the readings to its own window and to its job's. @dt: ns between
 * the readings; 0: the windows already have this reading's looks.
 */
static void add_looks(struct signals *s, size_t i, struct job_windows *job,
		      const struct snapshot *older, uint64_t dt, uint64_t longest)
{
	const struct snap_qp *is = &s->snap->qps[i], *was = NULL;
	struct signal_window *w = &s->qp_windows[NOW][i];
	enum sending sending = classify_sending(s, i);
	size_t n = older->n_qps, at;

	if (dt) {
		at = array_lookup_near(n, i, o, SNAP_CMP_QP(&older->qps[o], is));
		was = at < n ? &older->qps[at] : NULL;
	}
	if (sending == SENDS_COUNTED && has_mixed_requests(w, was, is, dt, longest))
		sending = SENDS_UNKNOWN;
	job->known &= sending != SENDS_UNKNOWN;
	if (sending != SENDS_COUNTED || !snap_has(is, SNAP_LOOKS))
		empty_window(w, false);
	if (sending != SENDS_COUNTED)
		return;
	if (was && job->known)
		add_to_job(job, was, is, dt);
	if (!snap_has(is, SNAP_LOOKS))
		return;
	if (was) {
		if (!add_qp(w, was, is, dt))
			empty_window(w, false);
		w->ns += (double)dt;
		close_windows(w, 1, longest);
	}
	if (w->known)
		signal_set(s, SIG_QP_LATENCY, i, w->latency);
}

static void set_job_latency(struct signals *s, size_t j, struct job_windows *job, uint64_t dt,
			    uint64_t longest)
{
	struct signal_window *w = job->w;
	size_t i;

	if (!job->known) {
		for (i = 0; i < job->n; i++)
			empty_window(&w[i], false);
		return;
	}
	if (dt)
		close_windows(w, job->n, longest);
	if (w->known)
		signal_set(s, SIG_JOB_LATENCY, j, w->latency);
	if (w->known_prev)
		signal_set(s, SIG_JOB_LATENCY_PREV, j, w->latency_prev);
}

void signals_queues(struct signals *s, const struct snapshot *older, uint64_t longest)
{
	const struct snapshot *snap = s->snap;
	struct job_windows job = { .n = 0 };
	uint64_t dt = 0;
	uint32_t k;
	size_t i, j;

	if (!older || !s->n_looks) {
		s->n_qp_windows = 0;
		s->n_job_windows = 0;
		s->windows_of = 0;
		return;
	}
	if (snap->time > older->time && snap->time != s->looked)
		dt = snap->time - older->time;
	s->looked = snap->time;
	match_qp_windows(s);
	match_job_windows(s);
	job.w = s->job_windows[NOW];
	/* The last list is that of QPs without a job. */
	for (j = 0; j <= snap->n_jobs; j++) {
		job.w += job.n;
		job.n = j < snap->n_jobs ? snap->jobs[j].n_stats : 0;
		job.known = job.n > 0;
		for (i = 0; i < job.n; i++)
			job.w[i].ns += (double)dt;
		for (k = s->job_first[j]; k < s->job_first[j + 1]; k++)
			add_looks(s, s->job_qps[k], &job, older, dt, longest);
		if (j < snap->n_jobs)
			set_job_latency(s, j, &job, dt, longest);
	}
}
