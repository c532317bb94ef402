// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "probe/writers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE_POLLS	200
#define IDLE_US		20
#define LOOK_US		1000
#define WARM_NS		20000000000ull	/* for the first windows, and for the last */

struct member {
	struct nic_pair pair;
	struct ibv_td *td;
	struct ibv_pd *pd;
};

struct writers;

struct worker {
	struct writers *all;
	pthread_t thread;
	struct ibv_cq *cq;
	uint32_t first;		/* its QPs: this one, and every .threads-th after it */
	atomic_ullong done, posted;
	int error;
	char words[200];
};

struct writers {
	const struct writers_want *want;
	struct member *member;
	struct worker *worker;
	uint32_t threads;	/* that were started */
	atomic_bool stop, failed;
};

static void give_up(struct worker *w, int error)
{
	w->error = error;
	strncpy(w->words, nic_words(), sizeof(w->words) - 1);
	atomic_store(&w->all->failed, true);
}

static int post_write(struct worker *w, struct nic_pair *pair)
{
	int err = nic_write(pair, 1, w->all->want->bytes, false);

	if (!err)
		atomic_fetch_add(&w->posted, 1);
	return err;
}

/* The first window of each of the thread's QPs. */
static int fill_queues(struct worker *w)
{
	const struct writers_want *want = w->all->want;
	int err = 0;

	for (uint32_t i = w->first; i < want->qps && !err; i += want->threads)
		for (uint32_t k = 0; k < want->depth && !err; k++)
			err = post_write(w, &w->all->member[i].pair);
	return err;
}

/*
 * Takes completions, and posts on the QP of each as long as the time is not over. Returns their
 * number or -errno. A pass over all QPs instead would make many QPs slower by itself.
 */
static int turn_over(struct worker *w, bool stop)
{
	struct ibv_wc wc[32];
	int n = nic_poll(w->cq, wc, 32), err = 0;

	for (int i = 0; i < n && !err; i++) {
		struct nic_pair *pair = (struct nic_pair *)(uintptr_t)wc[i].wr_id;

		pair->outstanding--;
		if (!stop)
			err = post_write(w, pair);
	}
	if (n > 0)
		atomic_fetch_add(&w->done, (unsigned long long)n);
	return err ? err : n;
}

static void *writer_main(void *arg)
{
	struct worker *w = arg;
	int n = fill_queues(w);
	uint32_t idle = 0;
	uint64_t end = 0;

	while (n >= 0) {
		bool stop = atomic_load(&w->all->stop);

		if (stop && atomic_load(&w->done) == atomic_load(&w->posted))
			break;
		if (stop && !end)
			end = nic_now() + WARM_NS;
		if (stop && nic_now() > end)
			break;	/* the QPs are destroyed with what is left */
		n = turn_over(w, stop);
		idle = n ? 0 : idle + 1;
		if (idle >= IDLE_POLLS)
			nic_sleep_us(IDLE_US);
	}
	if (n < 0)
		give_up(w, n);
	return NULL;
}

static int add_member(struct writers *c, uint32_t i)
{
	const struct writers_want *want = c->want;
	struct member *m = &c->member[i];
	struct nic_want w = { .depth = want->depth, .cq = c->worker[i % want->threads].cq };

	if (want->own) {
		m->pd = nic_own_register(want->from, &m->td);
		if (!m->pd)
			return -ENOMEM;
		w.pd = m->pd;
	}
	return nic_pair_open(&m->pair, want->from, want->to, &w);
}

static int open_writers(struct writers *c)
{
	const struct writers_want *want = c->want;
	int cqes = (int)(want->depth * (want->qps / want->threads + 1)), err = 0;

	c->member = calloc(want->qps, sizeof(*c->member));
	c->worker = calloc(want->threads, sizeof(*c->worker));
	if (!c->member || !c->worker) {
		nic_say("out of memory");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < want->threads; i++) {
		c->worker[i].all = c;
		c->worker[i].first = i;
		c->worker[i].cq = ibv_create_cq(want->from->ctx, cqes, NULL, NULL, 0);
		if (!c->worker[i].cq) {
			nic_say("a thread gets no CQ");
			return errno ? -errno : -EIO;
		}
	}
	for (uint32_t i = 0; i < want->qps && !err; i++)
		err = add_member(c, i);
	return err;
}

static void close_writers(struct writers *c)
{
	const struct writers_want *want = c->want;

	for (uint32_t i = 0; c->member && i < want->qps; i++) {
		nic_pair_close(&c->member[i].pair);
		if (c->member[i].pd)
			ibv_dealloc_pd(c->member[i].pd);
		if (c->member[i].td)
			ibv_dealloc_td(c->member[i].td);
	}
	for (uint32_t i = 0; c->worker && i < want->threads; i++)
		if (c->worker[i].cq)
			ibv_destroy_cq(c->worker[i].cq);
	free(c->member);
	free(c->worker);
}

static uint64_t count_done(const struct writers *c)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < c->threads; i++)
		n += atomic_load(&c->worker[i].done);
	return n;
}

/* Measures until the time is over, and stops the threads. */
static void measure_writers(struct writers *c, struct writers_result *r)
{
	const struct writers_want *want = c->want;
	uint64_t warm = (uint64_t)want->qps * want->depth, start = nic_now(), began = 0, first = 0;
	uint64_t now = start;

	while (!atomic_load(&c->failed)) {
		nic_sleep_us(LOOK_US);
		r->enough = want->enough && want->enough(want->arg);
		now = nic_now();
		if (!began && count_done(c) >= warm) {
			began = now;
			first = count_done(c);
		}
		if (r->enough || (began && now - began >= want->measure_ns) ||
		    now - start >= want->measure_ns + WARM_NS)
			break;
	}
	if (began) {
		r->messages = count_done(c) - first;
		r->seconds = (double)(nic_now() - began) / 1e9;
	}
	atomic_store(&c->stop, true);
}

static int start_threads(struct writers *c)
{
	int err = 0;

	while (c->threads < c->want->threads && !err) {
		struct worker *w = &c->worker[c->threads];

		err = pthread_create(&w->thread, NULL, writer_main, w);
		c->threads += !err;
	}
	return -err;
}

static int join_threads(struct writers *c, struct writers_result *r, const char **words)
{
	int err = 0;

	for (uint32_t i = 0; i < c->threads; i++) {
		struct worker *w = &c->worker[i];

		pthread_join(w->thread, NULL);
		r->posted += atomic_load(&w->posted);
		if (w->error)
			*words = w->words;
		err = w->error ? w->error : err;
	}
	return err;
}

uint32_t writers_threads(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : cpus > WRITERS_MAX ? WRITERS_MAX : (uint32_t)cpus;
}

int writers_run(const struct writers_want *want, struct writers_result *r)
{
	struct writers c = { .want = want };
	const char *words = NULL;
	int err, failed;

	memset(r, 0, sizeof(*r));
	err = open_writers(&c);
	if (!err)
		err = start_threads(&c);
	if (err)
		atomic_store(&c.stop, true);
	else
		measure_writers(&c, r);
	failed = join_threads(&c, r, &words);
	if (words)
		nic_say(words);
	close_writers(&c);
	return err ? err : failed;
}
