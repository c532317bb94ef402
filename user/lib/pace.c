// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Waiting: rates, and the bound on how long a call waits for all knobs together.
 *
 * ibv_post_send() charges a list before it is posted, and gives back what the provider did not
 * take. Between wr_start and wr_complete the provider holds its lock, and only wr_complete knows
 * what there is to charge: so wr_start waits for what was charged before, and wr_complete
 * charges without waiting.
 */
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/lib.h"

/*
 * Below this a thread spins: the kernel may wake a thread 50 us late (its timer slack). The time that a
 * thread sleeps too long is not lost, see PACE_BURST_NS and PACE_LATE_NS.
 */
#define SPIN_NS 100000
/* Held posts after which judge_rate() decides again whether a rate can be kept. */
#define JUDGED_POSTS 16

/* Times of a bucket are in 1/256 ns: at 400 Gbit/s a message of 64 bytes takes 327 of these. */
#define FINE_BITS 8
#define FINE(ns) ((uint64_t)(ns) << FINE_BITS)
/* Fraction bits of a unit's cost, which at one unit a second still fits 64 bits. */
#define COST_BITS 24
/* The most that .due is ahead of the clock, so a post waits for PACE_WAIT_NS at most. */
#define DEBT_MAX FINE(PACE_WAIT_NS + PACE_BURST_NS)
/* The most that a post costs; more than one charge of a bucket, also after time that was not used. */
#define COST_MAX (2 * DEBT_MAX)

static void wait_about(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	if (ns < SPIN_NS)
		cpu_relax();
	else
		/* libc's function would be a cancellation point. */
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

void (*lib_wait)(uint64_t ns) = wait_about;

/* --- waiting ---------------------------------------------------------------- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Decides whether the rate can be kept. It cannot if it allows fewer calls in a second than the process
 * has threads that post: each call then waits for as long as it may, and goes through. Nor can it if one
 * call uses up the rate for longer than the next call may wait.
 */
static void judge_rate(struct device *dev, enum swiftrdma_share_knob k)
{
	const struct swiftrdma_held *r = &dev->report->held[k];
	struct bucket *b = &dev->knobs.bucket[k];
	uint64_t posts = read_counter(&r->posts), passed = read_counter(&r->passed), rate = b->rate;
	uint64_t since = posts - b->judged_posts;

	if (since < JUDGED_POSTS || !rate)
		return;
	b->unable_at = 2 * (passed - b->judged_passed) > since ? rate : 0;
	b->judged_posts = posts;
	b->judged_passed = passed;
	control_state(dev, k, control_state_of(dev, k, rate));
}

bool pace_is_unable(const struct bucket *b, uint64_t rate)
{
	return rate && rate / 2 < atomic_load_explicit(&b->unable_at, memory_order_relaxed);
}

bool hold_on(struct hold *h, enum swiftrdma_share_knob k, uint64_t ns)
{
	struct swiftrdma_held *r = &h->dev->report->held[k];
	uint64_t was = h->now, left;

	if (!h->began)
		h->began = h->now;
	if (h->now - h->began >= PACE_WAIT_NS)
		return false;
	left = PACE_WAIT_NS - (h->now - h->began);
	if (!(h->held & 1u << k)) {
		if (k < BUCKETS)
			judge_rate(h->dev, k);
		h->held |= 1u << k;
		count_any(&r->posts, 1);
		count_any(&r->wrs, h->n);
	}
	lib_wait(min_u64(min_u64(ns, PACE_SLICE_NS), left));
	/* A signal handler may have forked, and this may be the child, in which control is not mapped. */
	if (!*h->q->alive)
		return false;
	h->now = lib_clock();
	count_any(&r->ns, h->now - was);
	control_update(h->dev, h->now);
	return true;
}

void hold_pass(const struct hold *h, enum swiftrdma_share_knob k)
{
	if (*h->q->alive)
		count_any(&h->dev->report->held[k].passed, 1);
}

/* --- a rate ------------------------------------------------------------------ */

static uint64_t unit_cost(uint64_t rate)
{
	return (FINE(1000000000) << COST_BITS) / rate;
}

static uint64_t cost_of(const struct bucket *b, uint64_t units)
{
	unsigned __int128 cost = (unsigned __int128)units *
				 atomic_load_explicit(&b->cost, memory_order_relaxed) >> COST_BITS;

	return cost < COST_MAX ? (uint64_t)cost : COST_MAX;
}

/* How far .due is ahead of @now. A value beyond any debt means that .due is old and has wrapped: 0. */
static int64_t ahead_of(uint64_t due, uint64_t now)
{
	int64_t ahead = (int64_t)(due - FINE(now));

	return ahead > (int64_t)(2 * DEBT_MAX) ? 0 : ahead;
}

/* What is charged of a cost: less than the cost where the debt would be more than DEBT_MAX. */
static uint64_t charge_of(int64_t ahead, uint64_t cost)
{
	int64_t room = (int64_t)DEBT_MAX - ahead;

	return room < 0 ? 0 : min_u64((uint64_t)room, cost);
}

/*
 * Returns .due after @cost is charged. Time before @now that was not used is lost, but a post that
 * waited, and those that follow it at once, may use up to PACE_LATE_NS of it.
 */
static uint64_t due_after(struct bucket *b, int64_t ahead, uint64_t cost, uint64_t now, bool held,
			  uint64_t *charged)
{
	uint64_t late = atomic_load_explicit(&b->late_ns, memory_order_relaxed);

	if (ahead < 0) {
		if (!held && now - late > PACE_BURST_NS)
			ahead = 0;
		else if (ahead < -(int64_t)FINE(PACE_LATE_NS))
			ahead = -(int64_t)FINE(PACE_LATE_NS);
		if (ahead && late != now)
			atomic_store_explicit(&b->late_ns, now, memory_order_relaxed);
	}
	*charged = charge_of(ahead, cost);
	ahead += (int64_t)*charged;
	if (ahead > (int64_t)DEBT_MAX)
		ahead = (int64_t)DEBT_MAX;
	return FINE(now) + (uint64_t)ahead;
}

/* Returns what was charged of @cost. */
static uint64_t charge_bucket(struct bucket *b, uint64_t cost, uint64_t now, bool held)
{
	uint64_t due = atomic_load_explicit(&b->due, memory_order_relaxed), next, charged;

	do
		next = due_after(b, ahead_of(due, now), cost, now, held, &charged);
	while (!atomic_compare_exchange_weak_explicit(&b->due, &due, next, memory_order_relaxed,
						      memory_order_relaxed));
	return charged;
}

/* Returns the ns to wait, or 0: the post may go, and was charged @charged of @cost. */
static uint64_t charge_or_wait(struct bucket *b, uint64_t cost, uint64_t now, bool held,
			       uint64_t *charged)
{
	uint64_t due = atomic_load_explicit(&b->due, memory_order_relaxed), next;
	int64_t ahead;

	do {
		*charged = 0;
		ahead = ahead_of(due, now);
		if (ahead > (int64_t)FINE(PACE_BURST_NS))
			return (((uint64_t)ahead - FINE(PACE_BURST_NS)) >> FINE_BITS) + 1;
		if (!cost)
			break;
		next = due_after(b, ahead, cost, now, held, charged);
	} while (!atomic_compare_exchange_weak_explicit(&b->due, &due, next, memory_order_relaxed,
							memory_order_relaxed));
	return 0;
}

static bool rate_in_force(const struct bucket *b)
{
	return atomic_load_explicit(&b->rate, memory_order_relaxed);
}

/* Converts the debt, which is a time: at another rate the same requests take another time. */
void pace_set_rate(struct bucket *b, uint64_t rate, uint64_t now)
{
	uint64_t was = atomic_load_explicit(&b->rate, memory_order_relaxed), due, next;
	unsigned __int128 ahead;

	/* One of several threads that read the same change converts the debt. */
	if (was == rate || !atomic_compare_exchange_strong(&b->rate, &was, rate) || !rate)
		return;
	atomic_store_explicit(&b->cost, unit_cost(rate), memory_order_relaxed);
	due = atomic_load_explicit(&b->due, memory_order_relaxed);
	do {
		next = FINE(now);
		if (was && ahead_of(due, now) > 0) {
			ahead = (unsigned __int128)ahead_of(due, now) * was / rate;
			next += ahead < DEBT_MAX ? (uint64_t)ahead : DEBT_MAX;
		}
	} while (!atomic_compare_exchange_weak(&b->due, &due, next));
}

/* --- posting ------------------------------------------------------------------ */

static void wait_for_rate(struct hold *h, enum swiftrdma_share_knob k, uint64_t units)
{
	struct bucket *b = &h->dev->knobs.bucket[k];
	uint64_t ns, cost;

	while (rate_in_force(b)) {
		cost = cost_of(b, units);
		ns = charge_or_wait(b, cost, h->now, h->held, &h->charged[k]);
		if (ns && hold_on(h, k, ns))
			continue;
		/*
		 * A post that was charged less than its cost goes before its turn, too: no later
		 * post waits for the rest. If the post was not held, it does not count: the program
		 * may have paused before it, and that time makes up for the rest.
		 */
		if (ns || (h->charged[k] < cost && h->held & 1u << k))
			hold_pass(h, k);
		if (ns && *h->q->alive)
			h->charged[k] = charge_bucket(b, cost, h->now, false);
		return;
	}
}

static bool wait_for_knobs(struct hold *h, uint64_t bits)
{
	int err = errno;

	h->now = lib_clock();
	control_update(h->dev, h->now);
	wait_for_rate(h, SWIFTRDMA_SHARE_KNOB_WR_RATE, h->n);
	if (*h->q->alive)
		wait_for_rate(h, SWIFTRDMA_SHARE_KNOB_BIT_RATE, bits);
	if (*h->q->alive)
		credits_enter(h);
	errno = err;
	if (!*h->q->alive)
		return false;
	/* Each QP has a copy, which its posts find in a cache line that they need anyway. */
	__atomic_store_n(&h->q->quiet, atomic_load_explicit(&h->dev->knobs.quiet,
							    memory_order_acquire),
			 __ATOMIC_RELAXED);
	return true;
}

bool pace_post(struct qp *q, uint32_t n, uint64_t bytes, struct pace_pass *pass,
	       struct pace_bill *bill)
{
	struct hold h = { .q = q, .dev = q->ctx->dev, .n = n, .want = n ? n : 1 };
	bool alive = wait_for_knobs(&h, 8 * bytes);

	*pass = (struct pace_pass){ .reserved = h.reserved, .held = h.held };
	memcpy(bill->charged, h.charged, sizeof(bill->charged));
	return alive;
}

bool pace_wait(struct qp *q, uint32_t likely, struct pace_pass *pass)
{
	struct hold h = { .q = q, .dev = q->ctx->dev, .want = likely ? likely : 1 };
	bool alive = wait_for_knobs(&h, 0);

	*pass = (struct pace_pass){ .reserved = h.reserved, .held = h.held };
	return alive;
}

void pace_charge(struct qp *q, uint32_t n, uint64_t bytes, uint32_t held)
{
	const uint64_t units[BUCKETS] = {
		[SWIFTRDMA_SHARE_KNOB_WR_RATE] = n, [SWIFTRDMA_SHARE_KNOB_BIT_RATE] = 8 * bytes,
	};
	struct device *dev = q->ctx->dev;
	uint64_t now = lib_clock();

	for (uint32_t k = 0; k < BUCKETS; k++) {
		struct bucket *b = &dev->knobs.bucket[k];
		uint64_t cost = cost_of(b, units[k]);

		/* As in wait_for_rate(). */
		if (rate_in_force(b) && charge_bucket(b, cost, now, held) < cost && held & 1u << k)
			count_any(&dev->report->held[k].passed, 1);
	}
	for (uint32_t k = 0; held && k < SWIFTRDMA_SHARE_HELD; k++)
		if (held & 1u << k)
			count_any(&dev->report->held[k].wrs, n);
}

void pace_return(struct qp *q, uint32_t n, uint64_t bytes, const struct pace_bill *bill)
{
	const uint64_t units[BUCKETS] = {
		[SWIFTRDMA_SHARE_KNOB_WR_RATE] = n, [SWIFTRDMA_SHARE_KNOB_BIT_RATE] = 8 * bytes,
	};

	for (uint32_t k = 0; k < BUCKETS; k++) {
		struct bucket *b = &q->ctx->dev->knobs.bucket[k];
		uint64_t cost = cost_of(b, units[k]);

		/* Not more than this post was charged: the rest of .due is the debt of other posts. */
		if (rate_in_force(b) && cost < bill->charged[k])
			atomic_fetch_sub_explicit(&b->due, bill->charged[k] - cost,
						  memory_order_relaxed);
	}
}
