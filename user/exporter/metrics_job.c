// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Metrics of jobs: of a job as a whole, of a job on a device, and what libraries in its
 * processes report. Counters of a job that was deleted and set again restart, and their start times
 * show it.
 */
#include <stdlib.h>

#include "exporter/metrics.h"

#define US	1000ULL
#define MS	1000000ULL
#define SECOND	1000000000ULL

#define STAT(type_, name_, unit_, help_, member_, ...)				\
	{ .family = { "swiftrdma_job_" name_, help_, EXPO_##type_, unit_ },	\
	  MEMBER_OF(struct snap_job_stat, member_), __VA_ARGS__ }
#define REPORT(type_, name_, unit_, help_, member_, ...)			\
	{ .family = { "swiftrdma_job_" name_, help_, EXPO_##type_, unit_ },	\
	  MEMBER_OF(struct snap_job_report, member_), __VA_ARGS__ }
#define HELD(type_, name_, unit_, help_, member_, ...)				\
	{ .family = { "swiftrdma_job_" name_, help_, EXPO_##type_, unit_ },	\
	  MEMBER_OF(struct snap_held, member_), __VA_ARGS__ }
#define OF_JOB(name_, unit_, help_, signal_)					\
	{ .family = { "swiftrdma_job_" name_, help_, EXPO_GAUGE, unit_ },	\
	  .as = AS_SIGNAL, .signal = SIG_##signal_ }

static const struct metric jobs[] = {
	OF_JOB("slo_p99_seconds", "seconds", "Target of the job for its p99 latency.",
	       JOB_SLO_P99),
	OF_JOB("slo_bytes_per_second", NULL, "Target of the job for its throughput.",
	       JOB_SLO_BYTE_RATE),
	OF_JOB("p50_seconds", "seconds", "Median latency over the last seconds.", JOB_P50),
	OF_JOB("p99_seconds", "seconds", "99th percentile of the latency over the last seconds.",
	       JOB_P99),
	OF_JOB("queue_latency_seconds", "seconds",
	       "Mean time of work requests in send queues, where no library measures.",
	       JOB_LATENCY),
};

static const struct metric stats[] = {
	STAT(GAUGE, "qps", NULL, "Queue pairs of the job.", qps),
	STAT(COUNTER, "qp_creations", NULL, "Queue pairs created.", created),
	STAT(COUNTER, "qp_destructions", NULL, "Queue pairs destroyed.", destroyed),
	STAT(COUNTER, "qps_moved", NULL, "Queue pairs that came from another job.", moved),
	STAT(COUNTER, "qps_rejected", NULL, "Queue pairs that the job's limits refused.",
	     rejected),
	STAT(COUNTER, "doorbells", NULL, "Doorbells rung.", doorbells, .has = SNAP_DOORBELLS),
	STAT(COUNTER, "work_requests", NULL, "Work requests posted.", wrs, .has = SNAP_WRS,
	     .of = OF_WRS),
	STAT(COUNTER, "wqebbs", NULL, "Blocks of 64 bytes that posted work requests took.", wrs,
	     .has = SNAP_WRS, .of = OF_WQEBBS),
	STAT(COUNTER, "commands", NULL, "Commands of the job that the firmware executed.", commands,
	     .has = SNAP_COMMANDS),
	STAT(COUNTER, "command_seconds", "seconds", "Time that commands of the job took.",
	     command_time, .as = AS_NS, .has = SNAP_COMMANDS),
	STAT(GAUGE, "level", NULL, "Class level in force.", level, .has = SNAP_LEVEL),
	STAT(GAUGE, "follow_level", NULL,
	     "Highest class level to which queue pairs follow wishes of their peers, in force.",
	     follow, .has = SNAP_FOLLOW),
	STAT(GAUGE, "qps_limit", NULL, "Limit of queue pairs in force.", max_qps,
	     .has = SNAP_MAX_QPS),
	STAT(GAUGE, "qp_creations_per_second_limit", NULL,
	     "Limit of new queue pairs a second in force.", create_rate,
	     .has = SNAP_CREATE_RATE),
	STAT(GAUGE, "bytes_per_second_limit", NULL, "Rate limit in force.", bit_rate,
	     .as = AS_BITS, .has = SNAP_BIT_RATE),
	STAT(GAUGE, "weight", NULL, "Weight in force.", weight, .has = SNAP_WEIGHT),
	STAT(GAUGE, "work_requests_per_second_limit", NULL,
	     "Limit of work requests a second in force.", wr_rate, .has = SNAP_WR_RATE),
	STAT(GAUGE, "credits", NULL, "Limit of outstanding work requests in force.", credits,
	     .has = SNAP_CREDITS),
	STAT(GAUGE, "chunk_bytes", "bytes", "Size above which requests are split, in force.",
	     chunk, .has = SNAP_CHUNK),
	STAT(GAUGE, "mrs", NULL, "Memory regions.", mrs, .has = SNAP_MRS),
	STAT(GAUGE, "mr_bytes", "bytes", "Memory in these regions.", mr_bytes, .has = SNAP_MRS),
	STAT(GAUGE, "mtts", NULL, "Translation entries of these regions.", mtts,
	     .has = SNAP_MTTS),
};

static const struct metric reports[] = {
	REPORT(GAUGE, "library_processes", NULL, "Processes of the job with libswiftrdma.",
	       processes),
	REPORT(GAUGE, "library_distrusted", NULL,
	       "1: a process of the job reported an impossible figure.", distrusted),
	REPORT(COUNTER, "library_work_requests", NULL, "Work requests that libraries saw.",
	       sum.wrs),
	REPORT(COUNTER, "library_calls", NULL, "Calls that posted them.", sum.calls),
	REPORT(COUNTER, "library_bytes", "bytes", "Bytes of them.", sum.bytes),
	REPORT(COUNTER, "library_receives", NULL, "Receive requests that libraries saw.",
	       sum.recv_wrs),
	REPORT(COUNTER, "library_completions", NULL,
	       "Work requests that completed, unsignalled ones included.", sum.done),
	REPORT(COUNTER, "library_errors", NULL, "Completions with an error.", sum.errors),
	REPORT(COUNTER, "library_lost_requests", NULL,
	       "Work requests of which no completion comes: their queue pair was reset or failed.", sum.dropped),
	REPORT(GAUGE, "latency_max_seconds", "seconds", "Greatest latency seen.",
	       sum.latency_max, .as = AS_NS),
};

static const struct metric holds[] = {
	HELD(GAUGE, "knob_processes", NULL, "Processes whose library can enforce the knob.",
	     processes),
	HELD(GAUGE, "knob_processes_in_force", NULL, "Processes whose library enforces the knob.",
	     in_force),
	HELD(COUNTER, "held_calls", NULL, "Calls to post that a library held back.", posts,
	     .has = SNAP_WAITS),
	HELD(COUNTER, "held_work_requests", NULL, "Work requests of calls that were held back.",
	     wrs, .has = SNAP_WAITS),
	HELD(COUNTER, "held_seconds", "seconds", "Time for which calls were held back.", time,
	     .as = AS_NS, .has = SNAP_WAITS),
	HELD(COUNTER, "split_work_requests", NULL, "Work requests that were posted in pieces.",
	     split, .has = SNAP_SPLIT),
	HELD(COUNTER, "whole_work_requests", NULL,
	     "Work requests above the size of job.chunk that were posted whole.", whole,
	     .has = SNAP_SPLIT),
};

/* 1, 2 and 5 of each decade from 1 us to 10 s. */
static const uint64_t latency_bounds[] = {
	1 * US, 2 * US, 5 * US, 10 * US, 20 * US, 50 * US, 100 * US, 200 * US, 500 * US,
	1 * MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS, 50 * MS, 100 * MS, 200 * MS, 500 * MS,
	1 * SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND,
};

#define N_BOUNDS	(sizeof(latency_bounds) / sizeof(latency_bounds[0]))

/*
 * The kernel's buckets are 1/32 of their times wide. One that straddles a bound counts for the
 * bound if more than half of it lies below.
 */
static void write_latency(struct expo *e, const struct metric_row *r)
{
	const struct snap_job_report *report = r->object;
	uint64_t cumulative[N_BOUNDS];
	struct expo_histogram h = {
		.bound = latency_bounds, .cumulative = cumulative, .n = N_BOUNDS,
	};
	size_t b = 0;

	for (uint32_t i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++) {
		uint64_t lo = swiftrdma_hist_floor(i), hi = lo;

		if (i + 1 < SWIFTRDMA_HIST_BUCKETS)
			hi = swiftrdma_hist_floor(i + 1);
		for (; b < N_BOUNDS && (lo + hi) / 2 >= latency_bounds[b]; b++)
			cumulative[b] = h.count;
		h.count += report->bucket[i];
	}
	for (; b < N_BOUNDS; b++)
		cumulative[b] = h.count;
	h.sum = (double)report->sum.latency_sum / SECOND;
	expo_histogram(e, &r->labels, &h, r->created);
}

static void write_reports(const struct figures *f, struct expo *e, const struct metric_rows *rows)
{
	const struct snap_job_report *report;

	METRIC(e, EXPO_HISTOGRAM, "job_latency_seconds", "seconds",
	       "Latencies of work requests, as libraries measured them.");
	for (size_t i = 0; i < rows->n; i++) {
		report = rows->v[i].object;
		if (report->sum.samples)
			write_latency(e, &rows->v[i]);
	}
	METRIC(e, EXPO_SUMMARY, "job_wait_seconds", "seconds",
	       "Time that work requests waited behind others of their queue pair.");
	for (size_t i = 0; i < rows->n; i++) {
		report = rows->v[i].object;
		if (report->sum.hol_wrs)
			expo_summary(e, &rows->v[i].labels, report->sum.hol_wrs,
				     report->sum.hol_sum, rows->v[i].created);
	}
	METRICS_TABLE(f, e, reports, rows);
}

static void write_infos(const struct figures *f, struct expo *e)
{
	const struct snapshot *snap = figures_snap(f);
	struct expo_labels l;

	METRIC(e, EXPO_INFO, "job", NULL, "Class of the job.");
	for (size_t i = 0; i < snap->n_jobs; i++) {
		const char *class = vocab_word_name(UNIT_CLASS, snap->jobs[i].class);

		labels_init(&l);
		labels_add(&l, "job", snap->jobs[i].name);
		labels_add(&l, "class", class ? class : "none");
		expo_u64(e, &l, 1, 0);
	}
}

/* Is the target met? From the p99 of the last window of samples. */
static void write_met(const struct figures *f, struct expo *e, const struct metric_rows *rows)
{
	double p99, target;

	METRIC(e, EXPO_GAUGE, "job_slo_met", NULL,
	       "1: the p99 latency meets the job's target; 0: it does not.");
	for (size_t i = 0; i < rows->n; i++)
		if (signal_get(&f->sig, SIG_JOB_SLO_P99, i, &target) &&
		    signal_get(&f->sig, SIG_JOB_P99, i, &p99))
			expo_u64(e, &rows->v[i].labels, p99 <= target, 0);
}

/* Attainment: of the requests that were measured while there was a target, those within it. */
static void write_attainment(const struct figures *f, struct expo *e)
{
	struct expo_labels l;

	for (int met = 0; met < 2; met++) {
		if (met)
			METRIC(e, EXPO_COUNTER, "job_slo_requests_met", NULL,
			       "Work requests that met the target of the job.");
		else
			METRIC(e, EXPO_COUNTER, "job_slo_requests", NULL,
			       "Work requests measured while the job had a target for its p99.");
		for (size_t i = 0; i < f->tally.n_slos; i++) {
			const struct tally_slo *slo = &f->tally.slos[i];

			labels_init(&l);
			labels_add(&l, "job", slo->job);
			expo_real(e, &l, met ? slo->met : slo->requests,
				  figures_clock(f, slo->since));
		}
	}
}

static bool write_jobs(const struct figures *f, struct expo *e)
{
	const struct snapshot *snap = figures_snap(f);
	struct metric_rows rows = { 0 };
	struct metric_row *r;
	bool ok;

	for (size_t i = 0; i < snap->n_jobs && (r = metric_row_next(&rows)); i++) {
		r->row = i;
		r->created = figures_clock(f, snap->jobs[i].since);
		labels_add(&r->labels, "job", snap->jobs[i].name);
	}
	ok = rows.n == snap->n_jobs;
	if (ok)
		write_met(f, e, &rows);
	write_attainment(f, e);
	METRICS_TABLE(f, e, jobs, &rows);
	METRIC(e, EXPO_GAUGE, "job_start_time_seconds", "seconds",
	       "When the job's counters began, in seconds since 1970.");
	for (size_t i = 0; i < rows.n; i++)
		expo_ns(e, &rows.v[i].labels, (uint64_t)rows.v[i].created, 0);
	free(rows.v);
	return ok;
}

/* NULL: the device or the job is gone, or no memory. */
static struct metric_row *next_row(struct metric_rows *rows, const struct snapshot *snap,
				   const struct snap_job *job, uint32_t dev)
{
	const struct snap_dev *d = reading_dev(snap, dev);
	struct metric_row *r = d && job ? metric_row_next(rows) : NULL;

	if (!r)
		return NULL;
	r->wqebbs = d->caps & SWIFTRDMA_DEV_CAP_WQEBBS;
	labels_add(&r->labels, "device", d->name);
	labels_add(&r->labels, "job", job->name);
	return r;
}

static void write_stats(const struct figures *f, struct expo *e)
{
	const struct snapshot *snap = figures_snap(f);
	struct metric_rows rows = { 0 };

	for (size_t i = 0; i < snap->n_jobs; i++) {
		const struct snap_job *job = &snap->jobs[i];

		for (size_t k = 0; k < job->n_stats; k++) {
			struct metric_row *r = next_row(&rows, snap, job, job->stats[k].dev);

			if (!r)
				continue;
			r->object = &job->stats[k];
			r->has = job->stats[k].has;
			r->created = figures_clock(f, job->since);
		}
	}
	METRICS_TABLE(f, e, stats, &rows);
	free(rows.v);
}

static const struct snap_job *find_job(const struct snapshot *snap, uint32_t id)
{
	size_t at = array_lookup(snap->n_jobs, i, ARRAY_CMP(snap->jobs[i].id, id));

	return at < snap->n_jobs ? &snap->jobs[at] : NULL;
}

static void write_library(const struct figures *f, struct expo *e)
{
	const struct snapshot *snap = figures_snap(f);
	struct metric_rows rows = { 0 }, held = { 0 };

	for (size_t i = 0; i < snap->n_job_reports; i++) {
		const struct snap_job_report *report = &snap->job_reports[i];
		const struct snap_job *job = find_job(snap, report->job);
		struct metric_row *r = next_row(&rows, snap, job, report->dev);

		if (!r)
			continue;
		r->object = report;
		r->created = figures_clock(f, report->sum.since);
		for (uint32_t k = 0; k < report->n_held; k++) {
			const struct vocab_knob *knob = vocab_knob(report->held[k].knob);

			r = next_row(&held, snap, job, report->dev);
			if (!r)
				continue;
			r->object = &report->held[k];
			r->has = report->held[k].has;
			r->created = figures_clock(f, report->sum.since);
			labels_add(&r->labels, "knob", knob ? knob->name : "");
		}
	}
	write_reports(f, e, &rows);
	METRICS_TABLE(f, e, holds, &held);
	free(rows.v);
	free(held.v);
}

bool metrics_jobs(struct figures *f, struct expo *e)
{
	bool ok = write_jobs(f, e);

	write_infos(f, e);
	write_stats(f, e);
	write_library(f, e);
	return ok;
}
