// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/lib.h"

/* Longer than a post or a poll that a scheduler interrupts; a lost lock costs as much, once. */
#define WAIT_NS 2000000000ull
#define SPINS 200

struct wait {
	unsigned int spins;
	uint64_t until;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static bool wait_on(struct wait *w)
{
	if (++w->spins < SPINS) {
		__builtin_ia32_pause();
		return true;
	}
	if (!w->until)
		w->until = now() + WAIT_NS;
	else if (now() > w->until)
		return false;
	sched_yield();
	return true;
}

static bool has_membarrier(void)
{
	static _Atomic int has;	/* 1: yes, 2: no */
	int known = atomic_load_explicit(&has, memory_order_relaxed);

	if (!known) {
		known = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) ? 2 : 1;
		atomic_store_explicit(&has, known, memory_order_relaxed);
	}
	return known == 1;
}

static bool spin(struct bias *b, uintptr_t me)
{
	struct wait w = { 0 };
	uintptr_t free = 0;

	while (!atomic_compare_exchange_weak(&b->holder, &free, me)) {
		if (free && !wait_on(&w))
			return false;
		free = 0;
	}
	return true;
}

/* With .holder held: from here on the owner sees that it has to spin too. */
static bool revoke_bias(struct bias *b)
{
	struct wait w = { 0 };

	atomic_store(&b->owner, BIAS_SHARED);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	while (atomic_load(&b->inside)) {
		if (!wait_on(&w))
			return false;
	}
	return true;
}

static enum bias_token take(struct bias *b)
{
	uintptr_t me = self(), was = 0;

	/* A thread that posts from a signal handler, or twice between wr_start and complete. */
	if (atomic_load_explicit(&b->holder, memory_order_relaxed) == me)
		return BIAS_NESTED;
	if (!atomic_load(&b->owner) &&
	    atomic_compare_exchange_strong(&b->owner, &was, has_membarrier() ? me : BIAS_SHARED))
		return bias_lock(b);
	if (!spin(b, me))
		return BIAS_FAILED;
	if (atomic_load(&b->owner) != BIAS_SHARED && !revoke_bias(b)) {
		atomic_store(&b->holder, 0);
		return BIAS_FAILED;
	}
	return BIAS_HELD;
}

enum bias_token bias_lock_slow(struct bias *b)
{
	int err = errno;
	enum bias_token token = take(b);

	errno = err;
	return token;
}
