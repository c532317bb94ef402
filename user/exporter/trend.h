/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Figures at the last readings, for plots: a ring of times, and for each series a ring of values at
 * these times. A viewer that connects later sees the same minutes as all others.
 *
 * The number of series is bounded. A series without a value in the whole ring is forgotten.
 */
#ifndef SRDMA_EXPORTER_TREND_H
#define SRDMA_EXPORTER_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/snapshot.h"

#define TREND_POINTS		600	/* readings of a module */
#define TREND_REPLAY_POINTS	20000	/* readings of a recording */
#define TREND_SERIES		1024
#define TREND_NAME		(SNAP_DEVNAME + 2 * SNAP_NAME)

/* What a series is of, which its name begins with. */
enum trend_kind {
	TREND_TX,		/* bit/s of a port: "tx|mlx5_0/1" */
	TREND_RX,
	TREND_CLASS_TX,		/* bit/s of a class of a port: "class_tx|mlx5_0/1|priority 3" */
	TREND_CLASS_RX,
	TREND_P99,		/* ns: "p99|kv" */
	TREND_SLO,		/* ns, the target of p99 */
	TREND_KINDS,
};

struct trend_series {
	char name[TREND_NAME];
	float *v;		/* NaN: unknown */
	uint64_t last;		/* number of the point with the last value */
};

struct trend {
	size_t cap;		/* points of the ring */
	uint64_t n;		/* points that were added; point i is at i % cap */
	int64_t *ms;		/* time of each point */
	struct trend_series *series;	/* by name */
	size_t n_series, cap_series;
	uint64_t dropped;	/* values without a series, because there are too many series */
};

/* 0 or -ENOMEM. */
int trend_init(struct trend *t, size_t points);
void trend_free(struct trend *t);

/* A point at time @ms, at which all series are unknown. Forgets series without a value. */
void trend_begin(struct trend *t, int64_t ms);
/*
 * The value of a series at the point that was begun. @object: "mlx5_0/1", or a job; @part: a
 * class, or NULL. Without memory the value stays unknown.
 */
void trend_set(struct trend *t, enum trend_kind kind, const char *object, const char *part,
	       double v);

/* The first point that is still there; points end before .n. */
static inline uint64_t trend_first(const struct trend *t)
{
	return t->n > t->cap ? t->n - t->cap : 0;
}

#endif /* SRDMA_EXPORTER_TREND_H */
