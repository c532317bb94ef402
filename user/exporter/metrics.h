/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Metrics by tables: a line says the name, the type, and which member of which structure it
 * is. metrics.c has the order of all; the other files have one kind of object each.
 */
#ifndef SRDMA_EXPORTER_METRICS_H
#define SRDMA_EXPORTER_METRICS_H

#include <rdma/swiftrdma.h>

#include "exporter/figures.h"

enum metric_as {
	AS_NUMBER,
	AS_NS,		/* nanoseconds, written as seconds */
	AS_BITS,	/* bits, or bit/s, written as bytes */
	AS_PERCENT,	/* written as a ratio */
	AS_SIGNAL,	/* a signal of the object, written in its base unit */
};

/* What the device counts; a metric of work has two names. */
enum metric_of {
	OF_ALL,
	OF_WRS,		/* devices that count work requests */
	OF_WQEBBS,	/* devices that count the blocks these take */
};

struct metric {
	struct expo_family family;
	enum metric_as as;
	size_t offset;
	uint8_t size;			/* of the member: 1, 4 or 8 */
	uint64_t has;			/* bit of .has of the structure; 0: always known */
	enum signal_id signal;
	enum metric_of of;
};

#define MEMBER_OF(type, member)							\
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

/* An object whose members are written. */
struct metric_row {
	const void *object;		/* NULL: it has none of these figures */
	uint64_t has;
	size_t row;			/* in the snapshot, for signals */
	int64_t created;		/* ns since 1970; 0: not written */
	bool wqebbs;			/* the device counts WQEBBs */
	struct expo_labels labels;
};

struct metric_rows {
	struct metric_row *v;
	size_t n, cap;
};

/* A new row, zeroed but for its labels, which are empty. NULL: out of memory. */
struct metric_row *metric_row_next(struct metric_rows *rows);

/* Writes each metric of a table, for all rows that have it. */
void metrics_table(const struct figures *f, struct expo *e, const struct metric *metrics,
		   size_t n, const struct metric_rows *rows);

#define METRICS_TABLE(f, e, metrics, rows)					\
	metrics_table(f, e, metrics, sizeof(metrics) / sizeof((metrics)[0]), rows)

/* Starts a family of one sample that is written by hand. */
#define METRIC(e, type_, name_, unit_, help_)					\
	do {									\
		static const struct expo_family family_ = {			\
			.name = "swiftrdma_" name_, .help = help_, .type = type_, .unit = unit_, \
		};								\
		expo_family(e, &family_);					\
	} while (0)

/* False: out of memory. */
bool metrics_devices(struct figures *f, struct expo *e);
bool metrics_jobs(struct figures *f, struct expo *e);
bool metrics_owners(struct figures *f, struct expo *e);
bool metrics_top(struct figures *f, struct expo *e);
void metrics_actions(struct figures *f, struct expo *e);
void metrics_self(struct figures *f, struct expo *e);

#endif /* SRDMA_EXPORTER_METRICS_H */
