/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Writes metrics in Prometheus' text format (version 0.0.4) or in OpenMetrics 1.0.
 *
 * The caller writes one family after the other: expo_family(), then its samples. A family
 * without a sample is left out. The number of series is bounded; a sample beyond the bound is
 * dropped and counted for its family. Series of the exporter itself are within a reserve, so
 * they are always there (expo_release()).
 */
#ifndef SRDMA_EXPORTER_EXPO_H
#define SRDMA_EXPORTER_EXPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum expo_format {
	EXPO_TEXT,
	EXPO_OPENMETRICS,
	EXPO_FORMATS,
	/* All families, also those without a sample: name, type and meaning, a line each. */
	EXPO_LIST = EXPO_FORMATS,
};

enum expo_type {
	EXPO_GAUGE,
	EXPO_COUNTER,
	EXPO_INFO,
	EXPO_HISTOGRAM,
	EXPO_SUMMARY,	/* a sum and a count, without quantiles */
};

/*
 * @name has the unit, but not "_total" or "_info"; @unit is its last word or words, as in
 * "seconds", or NULL.
 */
struct expo_family {
	const char *name;
	const char *help;
	enum expo_type type;
	const char *unit;
};

#define EXPO_LABELS	768
#define EXPO_RESERVE	256	/* series */
#define EXPO_DROPPED	64	/* families whose dropped series are counted */

/* Labels of a sample: device="rxe0",port="1" */
struct expo_labels {
	char text[EXPO_LABELS];
	size_t len;
};

/* A histogram's buckets: those at most bound[i] ns have cumulative[i] of .count values. */
struct expo_histogram {
	const uint64_t *bound;
	const uint64_t *cumulative;
	size_t n;
	uint64_t count;
	double sum;		/* s */
};

struct expo {
	enum expo_format format;
	char *buf;
	size_t len, cap;
	bool no_memory;
	const struct expo_family *family;
	bool headed;			/* the family has its header */
	size_t limit, series;
	struct {
		const struct expo_family *family;
		size_t n;
	} dropped[EXPO_DROPPED];
	size_t n_dropped, all_dropped;
};

/* @limit: series; the reserve is part of it. Keeps the buffer of the last time. */
void expo_begin(struct expo *e, enum expo_format format, size_t limit);
/* From now on the reserve may be used. */
void expo_release(struct expo *e);
/* False: out of memory. */
bool expo_end(struct expo *e);
void expo_free(struct expo *e);
/* Value of the header Content-Type. */
const char *expo_content_type(enum expo_format format);
/* The format that the header Accept prefers; @accept NULL: there is no such header. */
enum expo_format expo_negotiate(const char *accept);

void labels_init(struct expo_labels *l);
/* @value may be any bytes. An empty value is no label, which is the same to Prometheus. */
void labels_add(struct expo_labels *l, const char *name, const char *value);
void labels_add_u64(struct expo_labels *l, const char *name, uint64_t value);

void expo_family(struct expo *e, const struct expo_family *family);

/*
 * @created: when the value began to count, ns since 1970, or 0; written only in OpenMetrics, for
 * counters, histograms and summaries.
 */
void expo_u64(struct expo *e, const struct expo_labels *l, uint64_t v, int64_t created);
/* Nanoseconds, written as seconds. */
void expo_ns(struct expo *e, const struct expo_labels *l, uint64_t ns, int64_t created);
void expo_real(struct expo *e, const struct expo_labels *l, double v, int64_t created);
void expo_histogram(struct expo *e, const struct expo_labels *l, const struct expo_histogram *h,
		    int64_t created);
void expo_summary(struct expo *e, const struct expo_labels *l, uint64_t count, uint64_t sum_ns,
		  int64_t created);

#endif /* SRDMA_EXPORTER_EXPO_H */
