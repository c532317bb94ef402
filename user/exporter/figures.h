/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * All figures after the last reading: the snapshot, signals, and sums since the exporter was
 * started. /metrics is written from these figures, and so is all else that is served over HTTP.
 */
#ifndef SRDMA_EXPORTER_FIGURES_H
#define SRDMA_EXPORTER_FIGURES_H

#include "explain/crowd.h"
#include "exporter/expo.h"
#include "exporter/history.h"
#include "exporter/rank.h"
#include "exporter/source.h"
#include "exporter/tally.h"
#include "exporter/trend.h"
#include "explain/reading.h"

/*
 * Time constant of smoothed ratios, ns. A scrape sees only the last value, so the value has to
 * stand for the time since the last scrape: Prometheus' default is once in 15 s.
 */
#define FIGURES_TAU	10000000000ULL
/* Upper bounds of the buckets of durations of readings and scrapes. */
#define FIGURES_BOUNDS	12

struct figures_options {
	size_t top_uars, top_qps;	/* with a series of their own */
	size_t max_owners;
	size_t max_series;
	const char *run_file;		/* RUNNING_FILE; NULL: none */
	const char *policy_file;	/* the targets while no agent runs; NULL: none */
	const char *recording;		/* its name; NULL: the module is read */
};

/* Durations of the exporter's own work. */
struct figures_times {
	uint64_t bucket[FIGURES_BOUNDS + 1];
	uint64_t count, sum;		/* ns */
};

/* The cost of the page. The number of encodings does not depend on the number of viewers. */
struct figures_page {
	uint64_t viewers;		/* now */
	uint64_t encodings, bytes;	/* messages, and their length */
	uint64_t dropped;		/* viewers that did not read fast enough */
};

struct figures {
	struct figures_options opt;
	struct snapshot snap[2];
	unsigned int cur;		/* the newer of the two */
	uint64_t readings, failures;	/* since the start */
	bool up;			/* the last reading succeeded */
	bool has_older;			/* the next reading can be compared with this one */
	bool compared;			/* this one was compared with the one before */
	char why[READER_WHY];		/* why the last reading failed */
	int64_t epoch;			/* as in struct source */
	uint64_t read_at, began;	/* ns, CLOCK_MONOTONIC; began: start of the exporter */
	uint64_t reader_cpu;		/* ns */
	struct snap_action *actions;	/* in force */
	size_t n_actions, cap_actions;
	bool has_actions;

	struct running running;		/* the agent's settings, else the policy file's */
	bool agent;			/* an agent runs */
	bool by_policy;			/* .running is of the policy file, or there is none */
	struct signals sig;
	struct crowd crowd;
	struct rank uars, qps;
	struct tally tally;
	struct history history;
	struct trend trend;
	uint64_t first;			/* time of the first reading, ns */
	struct figures_times reading, scrape;
	struct figures_page page;
	size_t series, dropped;		/* of the last scrape */
	uint64_t dropped_total;
};

extern const uint64_t figures_bounds[FIGURES_BOUNDS];

/* 0 or -ENOMEM. */
int figures_init(struct figures *f, const struct figures_options *opt);
void figures_free(struct figures *f);

/* Takes what @s has read: @kind is what source_next() returned. 0 or -ENOMEM. */
int figures_take(struct figures *f, struct source *s, int kind);
void figures_time(struct figures_times *t, uint64_t ns);

static inline const struct snapshot *figures_snap(const struct figures *f)
{
	return &f->snap[f->cur];
}

/* The reading before; NULL: there is none to compare with. */
static inline const struct snapshot *figures_older(const struct figures *f)
{
	return f->compared ? &f->snap[!f->cur] : NULL;
}

/* The last reading, to be explained. */
static inline struct reading figures_reading(const struct figures *f)
{
	return (struct reading){
		.snap = figures_snap(f), .older = figures_older(f), .sig = &f->sig,
		.crowd = &f->crowd, .running = &f->running,
	};
}

/* The time of day of a snapshot's time, ns since 1970. */
static inline int64_t figures_clock(const struct figures *f, uint64_t ns)
{
	return f->epoch + (int64_t)ns;
}

/*
 * The time for people, ms: since 1970, or of a recording, which has no time of day, since its
 * first reading.
 */
static inline int64_t figures_ms(const struct figures *f, uint64_t ns)
{
	return (f->opt.recording ? (int64_t)(ns - f->first) : figures_clock(f, ns)) / 1000000;
}

/* Ranks UARs by contention, then by work, then by QPs. */
void figures_rank_uars(const struct figures *f, struct rank *r);

/* metrics.c: writes all metrics. False: out of memory. */
bool metrics_write(struct figures *f, struct expo *e, enum expo_format format);

#endif /* SRDMA_EXPORTER_FIGURES_H */
