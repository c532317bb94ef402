// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions that a blocked post polled. ibv_poll_cq() gives them out before it polls, so the
 * program gets all completions in the order of the queue. They were accounted for when the
 * library polled them.
 */
#include <stdlib.h>

#include "lib/lib.h"

#define STASH_MIN 64
#define STASH_MAX 4096

bool stash_can(const struct cq *c)
{
	uintptr_t owner = atomic_load_explicit(&c->lock.owner, memory_order_relaxed);

	/*
	 * .start_poll: the program may read the CQ entry by entry, with functions that know only the
	 * provider's entries. .has_channel: a program that waits for an event after each few
	 * completions, as perftest does, would wait in vain, because a stashed completion causes no
	 * event. .shown: the program would never find the entries that the library took. Without an
	 * owner the program has not polled the CQ by ibv_poll_cq() yet.
	 */
	return *c->alive && !c->start_poll && !c->has_channel && !c->shown && !c->unlocked_srq &&
	       settings.mode == MODE_LATENCY && owner && owner != BIAS_LOST;
}

/* Whether this thread may take .lock, and should not leave it to the usual poller. */
static bool may_take_lock(const struct cq *c, bool patient)
{
	uintptr_t me = self_thread(), owner = atomic_load_explicit(&c->lock.owner, memory_order_relaxed);

	/* This is a signal handler that interrupted the poll of this CQ. */
	if (atomic_load_explicit(&c->lock.holder, memory_order_relaxed) == me)
		return false;
	if (owner == me)
		return !atomic_load_explicit(&c->lock.inside, memory_order_relaxed);
	return owner == BIAS_SHARED || patient;
}

/* Creates a stash as large as the CQ, within bounds. */
static struct stash *stash_of(struct cq *c)
{
	uint32_t n = STASH_MIN;
	struct stash *s = c->stash;

	if (s)
		return s;
	while (n < c->cqe && n < (c->moves ? MOVE_STASH_MAX : STASH_MAX))
		n *= 2;
	s = calloc(1, sizeof(*s) + n * sizeof(s->wc[0]));
	if (s) {
		s->mask = n - 1;
		atomic_store_explicit(&c->stash, s, memory_order_release);
	}
	return s;
}

static uint32_t stash_used(const struct stash *s)
{
	return atomic_load_explicit(&s->head, memory_order_relaxed) -
	       atomic_load_explicit(&s->tail, memory_order_relaxed);
}

int stash_fill(struct cq *c, int max, bool patient)
{
	enum bias_token token;
	struct stash *s;
	uint32_t at, room;
	int got = 0;

	if (!may_take_lock(c, patient))
		return 0;
	token = bias_lock(&c->lock);
	if (token != BIAS_OWNER && token != BIAS_HELD)
		return 0;
	s = stash_of(c);
	if (s) {
		at = s->head & s->mask;
		room = s->mask + 1 - stash_used(s);
		if (room > s->mask + 1 - at)
			room = s->mask + 1 - at;
		if ((uint32_t)max > room)
			max = (int)room;
		got = max ? cq_take(c, max, &s->wc[at], token) : 0;
		if (got > 0)
			atomic_store_explicit(&s->head, s->head + (uint32_t)got,
					      memory_order_release);
	}
	bias_unlock(&c->lock, token);
	return got;
}

bool stash_keeps(struct cq *c)
{
	const struct stash *s = atomic_load_explicit(&c->stash, memory_order_acquire);
	enum bias_token token;
	bool keeps;

	if (!s)
		return false;
	token = bias_lock(&c->lock);
	keeps = stash_used(s);
	bias_unlock(&c->lock, token);
	return keeps;
}

int stash_give(struct cq *c, int n, struct ibv_wc *wc)
{
	struct stash *s = atomic_load_explicit(&c->stash, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&s->tail, memory_order_relaxed);
	int got = 0;

	while (got < n && tail != atomic_load_explicit(&s->head, memory_order_acquire)) {
		wc[got] = s->wc[tail & s->mask];
		/* If .lock is lost, another thread may take the same completion. */
		if (atomic_compare_exchange_weak(&s->tail, &tail, tail + 1)) {
			tail++;
			got++;
		}
	}
	return got;
}

void stash_purge(struct ibv_cq *cq, uint32_t qpn)
{
	struct cq *c = cq ? cq_find(cq) : NULL;
	struct stash *s = c && *c->alive ? c->stash : NULL;
	enum bias_token token;
	uint32_t to;

	if (!s || !stash_used(s))
		return;
	token = bias_lock(&c->lock);
	if (token != BIAS_FAILED) {
		to = s->tail;
		for (uint32_t i = s->tail; i != s->head; i++)
			if (s->wc[i & s->mask].qp_num != qpn)
				s->wc[to++ & s->mask] = s->wc[i & s->mask];
		atomic_store(&s->head, to);
	}
	bias_unlock(&c->lock, token);
}
