/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Computes signals (rates and ratios) from two snapshots: one row for each object of the
 * newer snapshot, and an index of the QPs and ports of each job.
 *
 * An unknown signal is absent, never zero: the device lacks the counter, the object is
 * new, the counter stepped back because the module was reloaded, or the NIC has not been
 * read for %SIGNAL_HOLD_MAX.
 */
#ifndef SRDMA_CORE_SIGNAL_H
#define SRDMA_CORE_SIGNAL_H

#include "core/snapshot.h"
#include "core/vocab.h"

/*
 * Time constant of the smoothed ratios (port.util, uar.coactive), ns: a first order low pass,
 * which after a step is 63 % of the way within this time and 95 % within three times as long.
 * With two default intervals, a burst shorter than a tick crosses no threshold.
 */
#define SIGNAL_TAU_DEFAULT 200000000ULL

/*
 * Libraries in a job's processes sample its latencies. Samples are gathered over a window,
 * and the quantiles of one window hold until the next has enough samples. A window ends with
 * SIGNAL_ENOUGH samples, of which ten lie beyond p99, or after SIGNAL_WINDOW ns, 50 default
 * intervals, because older samples say nothing about the present. At that end p99 takes
 * SIGNAL_P99_SAMPLES, of which one lies beyond it: a coarse p99 of a job with little traffic
 * is better than none. p50 takes SIGNAL_P50_SAMPLES, of which ten lie on either side. With
 * fewer samples a quantile is absent.
 */
#define SIGNAL_P50_SAMPLES	20
#define SIGNAL_P99_SAMPLES	100
#define SIGNAL_ENOUGH		1000
#define SIGNAL_WINDOW		5000000000ULL
/* The kernel looks into send queues rarely, so this window is longer (signal_queue.c). */
#define SIGNAL_LOOKS_WINDOW	30000000000ULL

/*
 * The greatest age, ns, of figures of a device or port whose signals keep their values because the
 * NIC was not read again. Some figures are read only once a second. Without this bound, policies
 * would act for ever on the last busy moment of a NIC that hangs or refuses to be read.
 */
#define SIGNAL_HOLD_MAX 3000000000ULL

/* The real speed of a port behind a shaper, which the device cannot know. */
struct signal_speed {
	char dev[SNAP_DEVNAME];
	uint32_t port;
	uint64_t speed;		/* bit/s */
};

/* Targets of a job. */
struct signal_slo {
	char job[SNAP_NAME];
	uint64_t p99;		/* ns; 0: none */
	double byte_rate;	/* bit/s; 0: none */
};

struct signal_opts {
	const struct signal_speed *speeds;
	size_t n_speeds;
	const struct signal_slo *slos;
	size_t n_slos;
	uint64_t tau;		/* ns; 0: %SIGNAL_TAU_DEFAULT */
	uint64_t window;	/* of latencies, ns; 0: %SIGNAL_WINDOW */
	uint64_t looks_window;	/* of looks into send queues, ns; 0: %SIGNAL_LOOKS_WINDOW */
};

/* The identity of a row's object. */
struct signal_key {
	uint32_t dev, index;	/* of a QP: its number; of a job: its id */
	uint64_t since;		/* of a QP: its serial */
};

/* The order of rows. */
#define SIGNAL_CMP_KEY(a, b) ARRAY_CMP_3(a, b, dev, index, since)

/* The most signals of one kind of object. */
#define SIGNAL_COLUMNS	32

/* The numbers of one signal, an array. signal_is_float() says which. */
union signal_column {
	float *f;
	double *d;
};

/*
 * Signals of one kind of object, a column for each; NaN: absent. Row i is object i of the
 * snapshot, except for QPs: their rows are in the order of struct signal_qp_ref.at.
 */
struct signal_table {
	union signal_column column[SIGNAL_COLUMNS];
	struct signal_key *key;		/* of object i of the snapshot */
	size_t n, cap;
	unsigned int width;
};

/* A smoothed ratio, by the object's identity. */
struct signal_smooth {
	uint32_t dev, index;
	bool has;
	double v;
};

/* Rows of the objects that a QP belongs to; -1: unknown. */
struct signal_qp_ref {
	int32_t dev, port, uar, job;
	uint32_t at;	/* the QP's row in the columns */
};

/* A port on which a job has QPs, or a device if the port of the QPs is unknown. */
struct signal_place {
	int32_t dev, port;	/* rows; -1: not known */
	/* Rows of these QPs in the columns: first, first + 1, ... end - 1, as in the snapshot. */
	uint32_t first, end;
};

/*
 * A latency from the samples of a window. Without a latency, .samples counts those of the
 * last window, which were too few.
 */
struct signal_quantile {
	bool has;
	double ns;
	uint64_t samples;
};

/* Latencies of a job, and the window in which samples are gathered. */
struct signal_latency {
	uint32_t job;		/* id */
	uint64_t reports;	/* hash of its reports: changes if one comes, goes or restarts */
	bool open;		/* a window is open */
	uint64_t since;		/* when it began, ns */
	uint64_t samples;	/* in the window so far; at its end, those of the whole window */
	struct signal_quantile p50, p99, p99_prev;
	/* Totals when the window began. */
	uint64_t base_samples, *base;	/* SWIFTRDMA_HIST_BUCKETS */
};

/**
 * struct signal_window - looks into the send queues of a QP, or of a job's QPs on a device
 * @dev: the device
 * @index: the QP's number, or the job's id
 * @serial: the QP's serial; 0: the window is a job's
 * @samples: looks at random QPs of these at random times
 * @sum: requests that were outstanding, added up over all looks
 * @squares: squares of these numbers, added up
 * @uncovered_samples: looks that also found out how many requests were complete and not covered
 *	by a CQE
 * @uncovered_sum: these requests, added up
 * @uncovered_squares: squares of these numbers, added up
 * @presence: number of QPs times ns
 * @requests: requests posted
 * @ns: time for which the window has been open
 * @mixed_ns: a QP's: for so long its requests count as requests of different sizes; 0: of one size
 * @latency: latency of the last window that had enough looks, ns; the first window of a job
 *	has the latency over all devices
 * @latency_prev: latency of the window before that
 * @known: @latency is known
 * @known_prev: @latency_prev is known
 * @blind: a QP that was looked at has a send queue that cannot be read
 */
struct signal_window {
	uint32_t dev, index;
	uint64_t serial;
	double samples, sum, squares, presence, requests, ns;
	double uncovered_samples, uncovered_sum, uncovered_squares;
	double mixed_ns;
	double latency, latency_prev;
	bool known, known_prev, blind;
};

/* QPs of a device or UAR of which it is known whether they advanced, and those that did. */
struct signal_activity {
	uint32_t known, active;
};

struct signals {
	const struct snapshot *snap;	/* the newer one */
	uint64_t topology;		/* changes whenever a row becomes another object's */
	uint64_t listed;		/* the topology for which the lists below are; 0: none */
	uint64_t ownership;		/* changes if a QP may belong to another process or thread */
	/* Times of this reading and of the one before, if signals of QPs have rates; else 0. */
	uint64_t read_at, read_before;
	struct signal_table table[OBJ_KINDS];

	struct signal_qp_ref *qps;	/* per QP */
	size_t cap_qps;
	/*
	 * QPs in the order of the columns: by job, then place, and those without a job last.
	 * Rows of the QPs of job j: job_first[j] to job_first[j + 1].
	 */
	uint32_t *job_first, *job_qps;
	int32_t *uar_of;		/* rows of their UARs, in the same order */
	/* The QPs of UAR u: uar_qps[uar_first[u] .. uar_first[u + 1]). */
	uint32_t *uar_first, *uar_qps;
	/* The places of job j; after those of the last job come those of QPs without a job. */
	uint32_t *place_first;
	struct signal_place *places;
	size_t cap_jobs, cap_uars, cap_places;
	/*
	 * Scratch, 0: none. Per port or device: 1 + the last place made for it. Per owner: 1 + the
	 * last UAR that counted it.
	 */
	uint32_t *mark;
	size_t cap_mark;
	uint8_t *advanced;		/* per QP: 0 no, 1 yes, 2 unknown */
	struct signal_activity *dev_activity, *uar_activity;
	size_t cap_devs;

	/*
	 * Arrays for two readings: the last index is 0 for this one, 1 for the one before. The
	 * first index of smoothed ratios is 0 for ports, 1 for UARs.
	 */
	struct signal_smooth *smooth[2][2];
	size_t n_smooth[2][2], cap_smooth[2];
	/* signal_report.c: jobs with a library, sorted by id. */
	struct signal_latency *latency[2];
	size_t n_latency[2], cap_latency;
	/* Per report of a QP: does the kernel count work that the library did not report? */
	uint8_t *unseen[2];
	size_t cap_unseen;
	uint64_t unseen_at[2];		/* times of the readings */
	/* signal_queue.c: the window of each QP, and of each job on each of its devices. */
	struct signal_window *qp_windows[2], *job_windows[2];
	size_t n_qp_windows, cap_qp_windows, n_job_windows, cap_job_windows;
	uint64_t windows_of;		/* the topology of .qp_windows; 0: there are none */

	size_t n_looks;			/* QPs with looks into their send queues */
	uint8_t *reported;		/* per QP: a library reports all its work */
	uint8_t *fixed;			/* per QP: its library can never move it to another UAR */
	uint8_t *own_domain;		/* per QP: it is in a parent domain of its program */
	uint64_t looked;		/* ns, time of the last reading whose looks are in windows */
};

/* signal_capacity.c */
void signals_init(struct signals *s);
void signals_free(struct signals *s);
/* Makes room for a snapshot of @snap's size. 0 or -ENOMEM. */
int signals_reserve(struct signals *s, const struct snapshot *snap);

/**
 * signals_update - compute the signals of @newer
 * @s: the signals
 * @older: the reading before; NULL: rates are absent
 * @newer: the reading
 * @opts: port speeds, targets and times
 *
 * The caller must call signals_reserve() for @newer first, because this function allocates
 * nothing, and must not change @newer while @s is read.
 */
void signals_update(struct signals *s, const struct snapshot *older,
		    const struct snapshot *newer,
		    const struct signal_opts *opts);

/*
 * Signals of QPs and UARs, of which there may be a million, take 4 bytes, of which 24 bits are
 * significant: a rate or a time is known less precisely. Numbers that name something take 8.
 */
static inline bool signal_is_float(enum signal_id id)
{
	enum obj_kind kind = vocab_obj(id);

	return (kind == OBJ_QP || kind == OBJ_UAR) && !vocab_is_id(id);
}

/* The signal of the object at row @at of the columns. NaN: absent. */
static inline double signal_at(const struct signals *s, enum signal_id id, size_t at)
{
	enum obj_kind kind = vocab_obj(id);
	union signal_column c = s->table[kind].column[id - vocab_first(kind)];

	return signal_is_float(id) ? (double)c.f[at] : c.d[at];
}

/* The row of the columns that has object @row of the snapshot. */
static inline size_t signal_row(const struct signals *s, enum obj_kind kind, size_t row)
{
	return kind == OBJ_QP ? s->qps[row].at : row;
}

/* False: absent. @row is the object's place in the snapshot. */
static inline bool signal_get(const struct signals *s, enum signal_id id,
			      size_t row, double *v)
{
	double is;

	if (row >= s->table[vocab_obj(id)].n)
		return false;
	is = signal_at(s, id, signal_row(s, vocab_obj(id), row));
	if (is != is)
		return false;
	*v = is;
	return true;
}

static inline void signal_set(struct signals *s, enum signal_id id, size_t row, double v)
{
	enum obj_kind kind = vocab_obj(id);
	union signal_column c = s->table[kind].column[id - vocab_first(kind)];
	size_t at = signal_row(s, kind, row);

	if (signal_is_float(id))
		c.f[at] = (float)v;
	else
		c.d[at] = v;
}

/*
 * The rate of a counter between two readings. False: the counter stepped back, so it was
 * replaced by another one, or no time passed.
 */
static inline bool signal_per_second(uint64_t was, uint64_t is, uint64_t t0, uint64_t t1,
				     double *rate)
{
	if (is < was || t1 <= t0)
		return false;
	/* Most objects do nothing between two readings, and a division takes long. */
	*rate = is == was ? 0 : (double)(is - was) * 1e9 / (double)(t1 - t0);
	return true;
}

/* Sets a signal to the rate of a counter, if signal_per_second() has one. */
static inline void signal_set_rate(struct signals *s, enum signal_id id, size_t row,
				   uint64_t was, uint64_t is, uint64_t t0, uint64_t t1)
{
	double rate;

	if (signal_per_second(was, is, t0, t1, &rate))
		signal_set(s, id, row, rate);
}

/* Speed of a port of @dev: that of @opts, else that of the device. False: unknown. */
bool signals_port_speed(const struct snap_port *port, const char *dev,
			const struct signal_opts *opts, double *speed);

/* True: the QP has a send queue, and its state lets it send requests. */
bool signals_may_send(const struct snap_qp *qp);
/* Were requests of different sizes seen in the QP's send queue of late? It has no latency then. */
bool signals_mixed_requests(const struct signals *s, size_t qp);

/* @n QPs of a snapshot: all of them, or the rows of @list, which ascend. */
struct signal_rows {
	bool all;
	const uint32_t *list;
	size_t n;
};

static inline size_t signal_row_at(const struct signal_rows *rows, size_t i)
{
	return rows->all ? i : rows->list[i];
}

/* signal_qp.c: signals of these QPs from the QPs themselves. The others keep theirs. */
void signals_qps(struct signals *s, const struct snapshot *older,
		 const struct signal_rows *rows);

/* signal_report.c: signals from reports of libraries, except rates of jobs. */
void signals_reports(struct signals *s, const struct snapshot *older, uint64_t window);

enum signal_reported {
	REPORTED_NONE,		/* the job has neither QPs that send nor a library on the device */
	REPORTED_IN_PART,	/* a QP does work that no library reports, or it is too early */
	REPORTED,
};

/*
 * The rate per second of a figure (the offset of a member of struct snap_figures) of job @row
 * on one device. The caller must call signals_reports() first.
 */
enum signal_reported signals_reported_rate(const struct signals *s, const struct snapshot *older,
					   size_t row, uint32_t dev, size_t figure,
					   double *rate);
/* Latencies of the job with id @job. NULL: it has had no process with a library. */
const struct signal_latency *signals_latency(const struct signals *s, uint32_t job);
/* Value below which the share @q of the weights in @bucket lies, ns. False: all are 0. */
bool signals_quantile(const uint64_t *bucket, double q, double *ns);

/* signal_job.c: rates and targets of jobs. Call signals_reports() first. */
void signals_jobs(struct signals *s, const struct snapshot *older,
		  const struct signal_opts *opts);

/* signal_queue.c: mean time that work requests of QPs and jobs spend in send queues. */
void signals_queues(struct signals *s, const struct snapshot *older, uint64_t window);

/*
 * index.c: finds which objects of s->snap belong together. Only QPs of @changed differ from
 * the reading before. Returns the QPs whose rows of the columns have to be set.
 */
struct signal_rows signals_index(struct signals *s, struct signal_rows changed);
/* Row of the device with index @dev; -1: none. */
int32_t signals_dev_row(const struct snapshot *snap, uint32_t dev);

#endif /* SRDMA_CORE_SIGNAL_H */
