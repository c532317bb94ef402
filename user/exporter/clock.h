/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Clocks, in ns. */
#ifndef SRDMA_EXPORTER_CLOCK_H
#define SRDMA_EXPORTER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* As the times of snapshots. */
static inline uint64_t clock_monotonic(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/* The time of day. */
static inline uint64_t clock_realtime(void)
{
	return clock_read(CLOCK_REALTIME);
}

/* The time of day at time 0 of CLOCK_MONOTONIC. */
static inline int64_t clock_epoch(void)
{
	return (int64_t)(clock_realtime() - clock_monotonic());
}

#endif /* SRDMA_EXPORTER_CLOCK_H */
