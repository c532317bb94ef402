/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Clocks, and statistics of measured times. */
#ifndef SELFTESTS_STAT_H
#define SELFTESTS_STAT_H

#include <stddef.h>
#include <stdint.h>

/* CLOCK_MONOTONIC, the clock of the kernel's and the agent's times. */
uint64_t now_ns(void);

/* CPU time of a process, of any user or of the kernel; 0: the caller. */
uint64_t ran_ns(int pid);

/* Idle time of the first CPU. Needs root. */
uint64_t idle_ns(void);

struct samples {
	uint64_t *v;
	size_t n, cap;
};

/* -ENOMEM or 0. */
int samples_add(struct samples *s, uint64_t v);

/*
 * The smallest value that is not below @percent of all values. Sorts the values; 0 without
 * values.
 */
uint64_t samples_quantile(struct samples *s, double percent);

/* A decimal integer from @min to @max; else the program ends with a message. */
uint64_t number(const char *option, const char *arg, uint64_t min, uint64_t max);

#endif
