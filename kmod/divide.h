/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a job's ceiling is divided among its processes: arithmetic only, for the kernel and for
 * the unit tests.
 */
#ifndef SRDMA_DIVIDE_H
#define SRDMA_DIVIDE_H

#include <linux/types.h>

/**
 * struct srdma_use - what a process did with its share since the last look
 * @used: what it took, in the unit of the share; of a rate, per second
 * @held: ns that its posts waited, added up over its threads
 * @window: ns since the last look, not 0
 * @share: what it was allowed
 * @fair: what it would be allowed if all processes needed the same
 */
struct srdma_use {
	__u64 used, held, window, share, fair;
};

/**
 * struct srdma_need - a process among others
 * @next: the next process, NULL: none
 * @want: what it would take if it could
 * @share: what it gets
 * @had: what it got before that
 */
struct srdma_need {
	struct srdma_need *next;
	__u64 want, share, had;
};

/*
 * The module looks at what processes used, and divides anew, every SRDMA_LOOK_MS. If a look
 * moved more than 1/SRDMA_MOVED_PART of the whole to other processes, the next look follows
 * once after SRDMA_LOOK_SOON_MS, so that a process that stopped right before a look does not
 * keep its share for long.
 */
#define SRDMA_LOOK_MS		80
#define SRDMA_LOOK_SOON_MS	20
#define SRDMA_MOVED_PART	16

/* What the process would take if it could, @total at most. That is less than 2^53. */
__u64 srdma_want(const struct srdma_use *u, __u64 total);

/*
 * Divide @total among the processes. What a process does not want goes to those that want more,
 * and what none wants is divided equally. The shares add up to @total, or to more where each has
 * to be at least @least. @turn selects the processes that get the units that cannot be divided; a
 * caller passes another @turn each time, so that the processes take turns. @total is less than
 * 2^53. Returns the sum by which shares have grown.
 */
__u64 srdma_divide(struct srdma_need *first, __u64 total, __u64 least, __u64 turn);

#endif /* SRDMA_DIVIDE_H */
