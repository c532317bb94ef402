// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/lib.h"

/*
 * Longer than a post or a poll that a scheduler interrupts. Only time in which the waiting thread
 * runs counts: where the whole process was stopped, by a signal, a debugger or a freezer, the
 * holder was, too.
 */
#define LOCK_PATIENCE_NS 2000000000ull
/* The most that one step of waiting counts for. */
#define STEP_NS_MAX 10000000ull
#define SPINS 200
#define YIELDS 1000
/* A thread of a real-time priority that only yields would keep the holder from running. */
#define NAP_NS 50000

struct wait {
	bool kept;	/* waits without a limit */
	unsigned int steps;
	uint64_t last_ns, waited_ns;
};

static void pause_thread(unsigned int steps)
{
	struct timespec nap = { .tv_nsec = NAP_NS };

	if (steps < YIELDS)
		sched_yield();
	else
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
}

/* False: the thread has waited for long enough. */
static bool wait_a_moment(struct wait *w)
{
	uint64_t now, step;

	if (++w->steps < SPINS) {
		cpu_relax();
		return true;
	}
	now = lib_clock();
	step = w->last_ns ? now - w->last_ns : 0;
	w->last_ns = now;
	w->waited_ns += step < STEP_NS_MAX ? step : STEP_NS_MAX;
	if (w->waited_ns > LOCK_PATIENCE_NS && !w->kept)
		return false;
	pause_thread(w->steps);
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

static bool spin_for_holder(struct bias *b, uintptr_t me, bool kept)
{
	struct wait w = { .kept = kept };
	uintptr_t free = 0;

	while (!atomic_compare_exchange_weak(&b->holder, &free, me)) {
		if (atomic_load(&b->owner) == BIAS_LOST || (free && !wait_a_moment(&w)))
			return false;
		free = 0;
	}
	return true;
}

/*
 * With .holder held. After the membarrier the owner sees BIAS_SHARED, and takes .holder, too. False:
 * the owner did not leave in time, or the membarrier failed, so that nothing orders the owner's
 * accesses with those of this thread.
 */
static bool revoke_bias(struct bias *b, bool kept)
{
	struct wait w = { .kept = kept };

	atomic_store(&b->owner, BIAS_SHARED);
	while (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)) {
		/* The kernel may be out of memory. */
		if (!kept)
			return false;
		pause_thread(YIELDS);
	}
	while (atomic_load(&b->inside)) {
		if (!wait_a_moment(&w))
			return false;
	}
	return true;
}

static enum bias_token lose_lock(struct bias *b)
{
	atomic_store(&b->owner, BIAS_LOST);
	return BIAS_FAILED;
}

static enum bias_token acquire_slow(struct bias *b, bool kept)
{
	uintptr_t me = self_thread(), was = 0;

	if (atomic_load(&b->owner) == BIAS_LOST)
		return BIAS_FAILED;
	/* A thread that posts from a signal handler, or twice between wr_start and complete. */
	if (atomic_load_explicit(&b->holder, memory_order_relaxed) == me)
		return BIAS_NESTED;
	if (!atomic_load(&b->owner) &&
	    atomic_compare_exchange_strong(&b->owner, &was, has_membarrier() ? me : BIAS_SHARED))
		return bias_enter(b) ? BIAS_OWNER : acquire_slow(b, kept);
	if (!spin_for_holder(b, me, kept))
		return lose_lock(b);
	was = atomic_load(&b->owner);
	/* .holder stays taken where the lock is lost: no thread gets in by it. */
	if (was == BIAS_LOST || (was != BIAS_SHARED && !revoke_bias(b, kept)))
		return lose_lock(b);
	return BIAS_HELD;
}

enum bias_token bias_lock_slow(struct bias *b)
{
	int err = errno;
	enum bias_token token = acquire_slow(b, false);

	errno = err;
	return token;
}

enum bias_token bias_lock_kept_slow(struct bias *b)
{
	int err = errno;
	enum bias_token token = acquire_slow(b, true);

	errno = err;
	return token;
}
