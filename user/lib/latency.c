// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sampled latencies. A sample costs two looks at the clock and some atomic additions, so
 * each QP takes about one in SAMPLE_NS. Which request is sampled is random: a fixed
 * distance would meet the same place in a program's pattern each time, as in "every
 * sixteenth is signalled". A sample weighs as many requests as were posted since the one before.
 */
#include <time.h>

#include "lib/lib.h"

#define SAMPLE_NS 500000
/* The distance grows only after this number of samples, so that short programs have some. */
#define RUN 16
#define EVERY_MAX 4096

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t (*lib_clock)(void) = monotonic_ns;

static uint32_t next_random(struct sampling *s)
{
	s->rnd ^= s->rnd << 13;
	s->rnd ^= s->rnd >> 17;
	s->rnd ^= s->rnd << 5;
	return s->rnd;
}

/* Draws 1 to 2 * every - 1, which is every on average. */
static void draw_countdown(struct sampling *s)
{
	s->countdown = s->every > 1 ? (int32_t)(1 + next_random(s) % (2 * s->every - 1)) : 1;
}

void sampling_reset(struct sampling *s, uint32_t seq)
{
	s->every = settings.sample_every ? settings.sample_every : 1;
	s->run = 0;
	if (!s->rnd)
		s->rnd = (uint32_t)((uintptr_t)s >> 6) | 1;
	s->last_ns = 0;
	s->marked = seq;
	draw_countdown(s);
}

static void adapt_sampling(struct sampling *s, uint64_t now)
{
	uint64_t gap = now - s->last_ns;

	s->last_ns = now;
	if (settings.sample_every)
		return;
	s->run++;
	if (gap < SAMPLE_NS / 2 && s->run >= RUN && s->every < EVERY_MAX) {
		s->every *= 2;
		s->run = 0;
	} else if (gap > 2 * SAMPLE_NS && s->every > 1) {
		s->every /= 2;
		s->run = 0;
	}
}

static void raise_max(__u64 *max, uint64_t ns)
{
	__u64 was = read_counter(max);

	while (ns > was && !__atomic_compare_exchange_n(max, &was, ns, true, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		;
}

void hist_add(struct swiftrdma_hist *h, uint64_t ns, uint32_t weight)
{
	count_any(&h->samples, 1);
	count_any(&h->wrs, weight);
	count_any(&h->sum_ns, ns * weight);
	raise_max(&h->max_ns, ns);
	count_any(&h->bucket[swiftrdma_hist_bucket(ns)], weight);
}

static void record_time(struct swiftrdma_hist *h, struct swiftrdma_times *t, uint64_t ns,
			uint32_t wrs)
{
	hist_add(h, ns, wrs);
	count_any(&t->samples, 1);
	count_any(&t->wrs, wrs);
	count_any(&t->sum_ns, ns * wrs);
	raise_max(&t->max_ns, ns);
}

/* Samples one of the @n requests from @from on, which are about to be posted. */
void qp_sample(struct qp *q, uint32_t from, uint32_t n)
{
	struct sampling *s = &q->sampling;
	uint32_t head = atomic_load_explicit(&s->head, memory_order_relaxed);
	struct sample *p = &s->pending[head % PENDING_MAX];
	uint32_t at;

	if (!n)
		return;
	/* .countdown was already reduced by @n. */
	at = s->every <= n ? next_random(s) % n : (uint32_t)(s->countdown + (int32_t)n - 1);
	draw_countdown(s);
	/* No room: the next sample represents these requests, too. */
	if (head - atomic_load_explicit(&q->lat_tail, memory_order_acquire) >= PENDING_MAX ||
	    head - atomic_load_explicit(&q->hol_tail, memory_order_acquire) >= PENDING_MAX)
		return;
	p->posted_ns = lib_clock();
	p->seq = from + at;
	p->weight = from + n - s->marked;
	p->alone = !at && atomic_load_explicit(&q->done, memory_order_relaxed) == from;
	s->marked = from + n;
	adapt_sampling(s, p->posted_ns);
	atomic_store_explicit(&s->head, head + 1, memory_order_release);
}

/* Takes back the sample, or a part of its weight, after the requests from @end on failed. */
void qp_unsample(struct qp *q, uint32_t end)
{
	struct sampling *s = &q->sampling;
	uint32_t head = atomic_load_explicit(&s->head, memory_order_relaxed);
	struct sample *p = &s->pending[(head - 1) % PENDING_MAX];

	if (!head || (int32_t)(s->marked - end) <= 0)
		return;
	if ((int32_t)(p->seq - end) >= 0) {
		/* A poller may be at the sample, so it stays, with a weight of 0. */
		s->marked -= p->weight;
		p->weight = 0;
	} else {
		p->weight -= s->marked - end;
		s->marked = end;
	}
}

/* Records the samples that end when all requests before @done are complete. */
void qp_completed(struct qp *q, uint32_t done, uint64_t now)
{
	struct sampling *s = &q->sampling;
	uint32_t head = atomic_load_explicit(&s->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&q->hol_tail, memory_order_relaxed);
	const struct device *dev = q->ctx->dev;

	for (; tail != head; tail++) {
		const struct sample *p = &s->pending[tail % PENDING_MAX];

		/* The post of this request failed, and a later request got its number. */
		if (!p->weight)
			continue;
		if ((int32_t)(done - p->seq) < 0)
			break;
		record_time(dev->hol, &q->slot->hol, p->alone ? 0 : now - p->posted_ns, p->weight);
	}
	atomic_store_explicit(&q->hol_tail, tail, memory_order_release);
	tail = atomic_load_explicit(&q->lat_tail, memory_order_relaxed);
	for (; tail != head; tail++) {
		const struct sample *p = &s->pending[tail % PENDING_MAX];
		uint64_t ns = now - p->posted_ns;

		if (!p->weight)
			continue;
		if ((int32_t)(done - p->seq) <= 0)
			break;
		record_time(dev->latency, &q->slot->latency, ns, p->weight);
		__atomic_fetch_add(&q->slot->coarse[swiftrdma_coarse_bucket(ns)], p->weight,
				   __ATOMIC_RELAXED);
	}
	atomic_store_explicit(&q->lat_tail, tail, memory_order_release);
}
