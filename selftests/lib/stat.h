/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Times and what to say of many of them. */
#ifndef SELFTESTS_STAT_H
#define SELFTESTS_STAT_H

#include <stddef.h>
#include <stdint.h>

/* CLOCK_MONOTONIC: the clock the kernel and the agent stamp with. */
uint64_t now_ns(void);

/* How long a process has run, of any user and the kernel's too; the caller's: 0. */
uint64_t ran_ns(int pid);

/* How long the first CPU has had nothing to do. For root. */
uint64_t idle_ns(void);

struct samples {
	uint64_t *v;
	size_t n, cap;
};

/* -ENOMEM or 0. */
int samples_add(struct samples *s, uint64_t v);

/* The smallest value not below @percent of all; sorts; 0 without any. */
uint64_t samples_quantile(struct samples *s, double percent);

/* A whole decimal number from @min to @max, or the program ends saying why. */
uint64_t number(const char *option, const char *arg, uint64_t min, uint64_t max);

#endif
