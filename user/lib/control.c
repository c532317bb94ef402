// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads the job's knobs from control. A thread that finds a change reads the knobs and stores
 * the change counter last. If two threads race, an older counter may remain; the next post then
 * reads control again.
 */
#include <string.h>

#include "lib/huge.h"
#include "lib/lib.h"

#define TRIES 64
/* The knobs that are read. */
#define KNOBS __SWIFTRDMA_SHARE_KNOB_MAX

static const __u64 never;

void control_begin(struct device *dev)
{
	struct device_knobs *h = &dev->knobs;
	uint64_t changes;

	h->changes = &never;
	if (!dev->control || !settings.control)
		return;
	h->job = (const void *)((const char *)dev->control + dev->control->job_off);
	changes = __atomic_load_n(&h->job->changes, __ATOMIC_RELAXED);
	/* The first post reads the knobs. */
	h->quiet = ~changes;
	h->read = ~changes;
	h->changes = &h->job->changes;
	for (uint32_t k = 0; k < SWIFTRDMA_SHARE_HELD; k++)
		control_state(dev, k, SWIFTRDMA_KNOB_STATE_IDLE);
	control_state(dev, SWIFTRDMA_SHARE_KNOB_HUGE_PAGES, huge_state(HUGE_UNSAID));
	/* Outstanding requests are known only in the mode that keeps the order of send queues. */
	if (settings.mode != MODE_LATENCY)
		control_state(dev, SWIFTRDMA_SHARE_KNOB_CREDITS, SWIFTRDMA_KNOB_STATE_UNABLE);
	chunk_report_state(dev);
	control_state(dev, SWIFTRDMA_SHARE_KNOB_UAR, move_knob_state(dev));
}

void control_state(struct device *dev, enum swiftrdma_share_knob k, uint32_t state)
{
	__u32 *to = &dev->report->knob[k].state;

	if (__atomic_load_n(to, __ATOMIC_RELAXED) != state)
		__atomic_store_n(to, state, __ATOMIC_RELAXED);
}

/* Reads a consistent set of the job's knobs; false: the kernel writes faster than that. */
static bool read_knobs(const struct swiftrdma_block *b, struct swiftrdma_knob_value *knob,
		       uint64_t *changes)
{
	for (int i = 0; i < TRIES; i++) {
		*changes = __atomic_load_n(&b->changes, __ATOMIC_ACQUIRE);
		for (uint32_t k = 0; k < KNOBS; k++) {
			const struct swiftrdma_knob_value *v = &b->knob[*changes & 1][k];

			knob[k].value = __atomic_load_n(&v->value, __ATOMIC_RELAXED);
			knob[k].until_ns = __atomic_load_n(&v->until_ns, __ATOMIC_RELAXED);
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&b->changes, __ATOMIC_RELAXED) == *changes)
			return true;
	}
	return false;
}

uint32_t control_state_of(const struct device *dev, enum swiftrdma_share_knob k, uint64_t value)
{
	bool credits = k == SWIFTRDMA_SHARE_KNOB_CREDITS;

	if (credits && (settings.mode != MODE_LATENCY || dev->knobs.unable))
		return SWIFTRDMA_KNOB_STATE_UNABLE;
	if (!credits && pace_is_unable(&dev->knobs.bucket[k], value))
		return SWIFTRDMA_KNOB_STATE_UNABLE;
	return value ? SWIFTRDMA_KNOB_STATE_IN_FORCE : SWIFTRDMA_KNOB_STATE_IDLE;
}

/* @value 0: the knob is not in force. */
static void apply_knob(struct device *dev, enum swiftrdma_share_knob k, uint64_t value,
		       uint64_t now)
{
	struct swiftrdma_knob_report *r = &dev->report->knob[k];

	if (k < BUCKETS)
		pace_set_rate(&dev->knobs.bucket[k], value, now);
	else
		credits_set(dev, value);
	__atomic_store_n(&r->value, value, __ATOMIC_RELAXED);
	control_state(dev, k, control_state_of(dev, k, value));
}

/* For this knob 0 is a value like any other: memory is to be registered as it is. */
static void apply_huge_pages(struct device *dev, const struct swiftrdma_knob_value *v, bool holds)
{
	struct swiftrdma_knob_report *r = &dev->report->knob[SWIFTRDMA_SHARE_KNOB_HUGE_PAGES];
	enum huge_wish wish = !holds ? HUGE_UNSAID : v->value ? HUGE_YES : HUGE_NO;

	if (atomic_exchange_explicit(&dev->knobs.huge, wish, memory_order_relaxed) == wish)
		return;
	__atomic_store_n(&r->value, wish == HUGE_YES, __ATOMIC_RELAXED);
	control_state(dev, SWIFTRDMA_SHARE_KNOB_HUGE_PAGES, huge_state(wish));
}

static void apply_knobs(struct device *dev, const struct swiftrdma_knob_value *knob,
			uint64_t changes, uint32_t state, uint64_t now)
{
	const struct swiftrdma_knob_value *v, *place = &knob[SWIFTRDMA_SHARE_KNOB_PLACE];
	const struct swiftrdma_knob_value *chunk = &knob[SWIFTRDMA_SHARE_KNOB_CHUNK];
	struct device_knobs *h = &dev->knobs;
	uint64_t until = UINT64_MAX;
	bool waiting = false, huge, placing, splitting;

	for (uint32_t k = 0; k < SWIFTRDMA_SHARE_HELD; k++) {
		bool set = knob[k].until_ns > now;
		bool holds = set && state == SWIFTRDMA_CONTROL_LIVE;

		/* No knob stops a process: the least value is 1. */
		apply_knob(dev, k, !holds ? 0 : knob[k].value ? knob[k].value : 1, now);
		if (holds && knob[k].until_ns < until)
			until = knob[k].until_ns;
		waiting |= set && state != SWIFTRDMA_CONTROL_ENDED;
	}
	splitting = chunk->until_ns > now && state == SWIFTRDMA_CONTROL_LIVE;
	chunk_set(dev, splitting ? chunk->value : 0);
	if (splitting && chunk->until_ns < until)
		until = chunk->until_ns;
	waiting |= chunk->until_ns > now && state != SWIFTRDMA_CONTROL_ENDED;
	v = &knob[SWIFTRDMA_SHARE_KNOB_HUGE_PAGES];
	huge = v->until_ns > now && state == SWIFTRDMA_CONTROL_LIVE;
	apply_huge_pages(dev, v, huge);
	/* Registrations look at the clock themselves; no post has to because of this knob. */
	if (huge && v->until_ns < until)
		until = v->until_ns;
	/* PLACE concerns no post: control is read again when a QP is created. */
	placing = place->until_ns > now && state == SWIFTRDMA_CONTROL_LIVE;
	place_set(dev, placing, place->value);
	move_control_changed(dev);
	if (placing && place->until_ns < until)
		until = place->until_ns;
	atomic_store_explicit(&h->until_ns, until, memory_order_relaxed);
	atomic_store_explicit(&h->state, state, memory_order_relaxed);
	__atomic_store_n(&dev->report->control_seen, changes, __ATOMIC_RELAXED);
	/* While a knob is in force, each post reads the clock, because the knob holds only until a point in time. */
	atomic_store_explicit(&h->quiet, waiting ? ~changes : changes, memory_order_release);
	atomic_store_explicit(&h->read, changes, memory_order_release);
}

void control_update(struct device *dev, uint64_t now)
{
	struct swiftrdma_knob_value knob[KNOBS];
	struct device_knobs *h = &dev->knobs;
	uint64_t changes, read, until;
	uint32_t state;

	if (!h->job)
		return;
	state = __atomic_load_n(&dev->control->state, __ATOMIC_RELAXED);
	read = atomic_load_explicit(&h->read, memory_order_relaxed);
	until = atomic_load_explicit(&h->until_ns, memory_order_relaxed);
	if (__atomic_load_n(&h->job->changes, __ATOMIC_RELAXED) == read &&
	    state == atomic_load_explicit(&h->state, memory_order_relaxed) && now < until)
		return;
	if (read_knobs(h->job, knob, &changes)) {
		apply_knobs(dev, knob, changes, state, now);
	} else if (now >= until || state != SWIFTRDMA_CONTROL_LIVE) {
		/* The knobs read last have expired, and the new ones could not be read: none. */
		memset(knob, 0, sizeof(knob));
		apply_knobs(dev, knob, read, state, now);
	}
}
