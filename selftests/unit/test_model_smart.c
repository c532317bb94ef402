// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The contention model against measurements of a ConnectX-6, selftests/data/:
 * SMART's workload replayed, each curve's mean absolute error printed and
 * bounded. A thread posts so many 8-byte READs, with a doorbell each, waits for
 * all of them, and begins again.
 *
 * Threads and their locks are the host's, so they are modelled here, and the
 * NIC's registers take no time.
 */
#include <stdio.h>

#include "model_rig.h"

#define THREADS 96
#define WRS_EACH 64

/* Measured over so many WRs, after a fifth of that to settle. */
#define WRS 16000

/* libmlx5's registers: how many there are, and the first of these for one QP. */
#define UARS 16
#define UARS_OWN 4

/* A fair lock, taken by threads. The first in line has it. */
struct lock {
	int line[THREADS];
	int n;
	int users;	/* what may take it: alone, it costs nothing */
	int last;	/* who had it last */
	uint64_t free_at;	/* and until then has, if nobody is in line */
};

enum step { IDLE, CPU, QP_LOCK, UAR_LOCK };

struct thread {
	enum step step;
	uint64_t at;	/* ps: when it is over; MODEL_NEVER: when another lets go */
	int qp;
	int left, out;	/* WRs to post; posted and not done */
	bool has_qp;
};

struct host {
	struct model m;
	struct model_host p;
	struct thread thread[THREADS];
	struct lock qp[THREADS], uar[THREADS];
	int uar_of[THREADS];
	int threads, depth, credits;
	uint64_t post_ps;
	uint64_t done;
};

static void begin_post(struct host *h, struct thread *t, uint64_t now)
{
	bool may = t->left && t->out < h->credits;

	t->step = may ? CPU : IDLE;
	t->at = may ? now + h->post_ps : MODEL_NEVER;
}

static void on_done(void *ctx, const struct model_done *done)
{
	struct host *h = ctx;
	struct thread *t = &h->thread[done->cookie];

	h->done++;
	t->out--;
	if (!t->left && !t->out)
		t->left = h->depth;
	if (t->step == IDLE)
		begin_post(h, t, done->at);
}

static const struct model_ops ops = { .done = on_done };

/* Threads that want the register: at its own lock, or on the way at a QP's. */
static uint32_t wanting(const struct host *h, int uar)
{
	const struct lock *l = &h->uar[uar];
	int n = l->n, q, i;

	for (q = 0; q < h->threads && h->qp[q].users; q++)
		if (h->uar_of[q] == uar)
			n += h->qp[q].n;
	/* Those that came through a QP's lock were counted twice. */
	for (i = 0; i < l->n; i++)
		n -= h->thread[l->line[i]].has_qp;
	return n;
}

static void serve_uar(struct host *h, int uar, uint64_t from)
{
	struct thread *t = &h->thread[h->uar[uar].line[0]];

	t->at = from + model_growth(MODEL_LOCK_UAR, h->p.uar_lock_ps, wanting(h, uar));
}

static void serve_qp(struct host *h, int qp, uint64_t from)
{
	struct lock *l = &h->qp[qp];

	h->thread[l->line[0]].at = from + model_growth(MODEL_LOCK_QP, h->p.qp_lock_ps, l->n);
}

static void leave(struct lock *l, uint64_t now)
{
	l->last = l->line[0];
	l->free_at = now;
	memmove(l->line, l->line + 1, --l->n * sizeof(l->line[0]));
}

/* Has both locks: the doorbell. */
static void ring(struct host *h, int who, uint64_t now)
{
	struct thread *t = &h->thread[who];

	assert_int_equal(model_post(&h->m, t->qp, 8, 0, who, now), 0);
	t->left--;
	t->out++;
	if (t->has_qp) {
		t->has_qp = false;
		leave(&h->qp[t->qp], now);
		if (h->qp[t->qp].n)
			serve_qp(h, t->qp, now);
	}
	begin_post(h, t, now);
}

static void want_uar(struct host *h, int who, uint64_t now)
{
	struct thread *t = &h->thread[who];
	int uar = h->uar_of[t->qp];
	struct lock *l = &h->uar[uar];

	if (l->users == 1 || (!l->n && (now >= l->free_at || l->last == who))) {
		/* Nobody meets it; but others meet it, while it writes. */
		l->last = who;
		l->free_at = now + h->p.uar_hold_ps;
		ring(h, who, now);
		return;
	}
	l->line[l->n++] = who;
	t->step = UAR_LOCK;
	t->at = MODEL_NEVER;
	if (l->n == 1)
		serve_uar(h, uar, l->free_at > now ? l->free_at : now);
}

static void thread_event(struct host *h, int who, uint64_t now)
{
	struct thread *t = &h->thread[who];
	struct lock *l = &h->qp[t->qp];
	int uar = h->uar_of[t->qp];

	switch (t->step) {
	case CPU:
		if (l->users == 1) {
			want_uar(h, who, now);
			break;
		}
		/* The QP's state is in another core's cache: it always costs. */
		l->line[l->n++] = who;
		t->step = QP_LOCK;
		t->at = MODEL_NEVER;
		if (l->n == 1)
			serve_qp(h, t->qp, now);
		break;
	case QP_LOCK:
		t->has_qp = true;
		want_uar(h, who, now);
		break;
	case UAR_LOCK:
		leave(&h->uar[uar], now);
		if (h->uar[uar].n)
			serve_uar(h, uar, now);
		ring(h, who, now);
		break;
	default:
		fail();
	}
}

/* As libmlx5 does it: the first have one of their own, the others the least used. */
static int place(const struct host *h, int qp, bool own)
{
	int i, best = UARS_OWN;

	if (own || qp < UARS_OWN)
		return qp;
	for (i = UARS_OWN + 1; i < UARS; i++)
		if (h->uar[i].users < h->uar[best].users)
			best = i;
	return best;
}

static void set_up(struct host *h, const char *mode, int threads, int depth)
{
	int share = 1, qps, i;
	bool own = !strcmp(mode, "per-doorbell") || !strcmp(mode, "work-req-throt");

	if (!strcmp(mode, "shared-qp"))
		share = threads;
	else
		sscanf(mode, "mul-%d", &share);
	qps = (threads + share - 1) / share;

	model_preset_host(MODEL_CX6, &h->p);
	h->threads = threads;
	h->depth = depth;
	h->credits = depth;
	/* SMART's throttle finds what the NIC can hold; here it is known. */
	if (!strcmp(mode, "work-req-throt") && depth > (int)h->m.p.wqe_limit / threads)
		h->credits = h->m.p.wqe_limit / threads;
	h->post_ps = h->p.post_ps;
	if (threads > (int)h->p.cores)
		h->post_ps += h->post_ps * h->p.share_q8 * (threads - h->p.cores) / h->p.cores >> 8;
	for (i = 0; i < qps; i++) {
		struct model_qp_attr attr = { .qpn = i, .uar = place(h, i, own) };

		h->uar_of[i] = attr.uar;
		h->uar[attr.uar].users++;
		assert_int_equal(model_qp_open(&h->m, i, &attr), 0);
	}
	for (i = 0; i < threads; i++) {
		h->thread[i].qp = i % qps;
		h->qp[i % qps].users++;
		h->thread[i].left = depth;
		/* They do not start all at once. */
		begin_post(h, &h->thread[i], i * h->post_ps / 24);
	}
}

/* Millions of WRs a second. */
static double rate(void *mem, const struct model_sizes *sizes, const char *mode,
		   int threads, int depth)
{
	struct host *h = calloc(1, sizeof(*h));
	uint64_t when, now = 0, from = 0, settled = 0;
	struct model_params p;
	double mops;
	int i, next;

	assert_non_null(h);
	model_preset(MODEL_CX6, &p);
	p.uar_ps = 0;
	assert_int_equal(model_init(&h->m, mem, sizes, &p, &ops, h), 0);
	set_up(h, mode, threads, depth);
	while (h->done < WRS) {
		for (next = 0, i = 1; i < threads; i++)
			if (h->thread[i].at < h->thread[next].at)
				next = i;
		if (model_next(&h->m, &when) && when <= h->thread[next].at) {
			now = when;
			model_run_until(&h->m, now);
		} else {
			now = h->thread[next].at;
			thread_event(h, next, now);
		}
		if (!settled && h->done >= WRS / 5) {
			settled = h->done;
			from = now;
		}
	}
	mops = (double)(h->done - settled) * 1e6 / (double)(now - from);
	free(h);
	return mops;
}

struct curve {
	char mode[32];
	double error;
	int points;
};

/* No parameter was fitted on this one: a prediction. */
static bool predicted(const struct curve *c)
{
	return !strcmp(c->mode, "work-req-throt");
}

/* Mean of the fitted curves' mean absolute errors, %. */
static double replay(const char *file, struct curve *curve, bool verbose)
{
	static const struct model_sizes sizes = {
		.uars = THREADS, .qps = THREADS, .wrs = THREADS * WRS_EACH,
		.elements = 1, .contexts = 4096,
	};
	void *mem = malloc(model_bytes(&sizes));
	int threads, depth, n = -1, i, fitted = 0;
	char line[128], mode[32];
	double mops, is, sum = 0;
	FILE *f = fopen(file, "r");

	assert_non_null(f);
	assert_non_null(mem);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%31[^,],%d,%d,8,%lf", mode, &threads, &depth, &mops) != 4)
			continue;
		if (n < 0 || strcmp(curve[n].mode, mode)) {
			n++;
			strcpy(curve[n].mode, mode);
		}
		is = rate(mem, &sizes, mode, threads, depth);
		curve[n].points++;
		curve[n].error += 100 * (is > mops ? is / mops - 1 : 1 - is / mops);
		if (verbose)
			printf("# %-14s threads %2d depth %2d M/s %7.3f model %7.3f %+.1f %%\n",
			       mode, threads, depth, mops, is, 100 * (is / mops - 1));
	}
	fclose(f);
	free(mem);
	for (i = 0; i <= n; i++) {
		curve[i].error /= curve[i].points;
		printf("# %s: mean absolute error %.1f %%%s\n", curve[i].mode, curve[i].error,
		       predicted(&curve[i]) ? ", not fitted" : "");
		assert_true(curve[i].error <= 20);
		if (!predicted(&curve[i])) {
			sum += curve[i].error;
			fitted++;
		}
	}
	return sum / fitted;
}

static void by_threads(void **state)
{
	struct curve curve[8] = { 0 };
	double error;

	(void)state;
	error = replay(TOP "/selftests/data/smart-cx6-read-threads.csv", curve, getenv("V"));
	printf("# model_error_threads %.1f %%\n", error);
	assert_true(error <= 10);
}

static void by_depth(void **state)
{
	struct curve curve[8] = { 0 };
	double error;

	(void)state;
	error = replay(TOP "/selftests/data/smart-cx6-read-depth.csv", curve, getenv("V"));
	printf("# model_error_depth %.1f %%\n", error);
	assert_true(error <= 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_threads),
		cmocka_unit_test(by_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
