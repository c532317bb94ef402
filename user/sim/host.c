// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads and their locks. Posting a WR takes CPU time, more where threads share cores; then
 * the lock of the QP, if several threads use it; and within it the lock of the doorbell
 * register, if several QPs use it. Locks are fair. They take longer the more threads
 * contend, because their cache line moves between cores.
 */
#include "sim/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t draw_random(struct sim *s)
{
	return model_xorshift(&s->rng);
}

double sim_random(struct sim *s)
{
	return (draw_random(s) + 0.5) / 4294967296.0;
}

static uint64_t random_below(struct sim *s, uint64_t bound)
{
	return draw_random(s) * bound >> 32;
}

/* Sets when the thread continues. MODEL_NEVER: a later event wakes it, such as an unlock. */
static void schedule_thread(struct sim *s, uint32_t thread, uint64_t at)
{
	sim_next_set(&s->next, thread, at);
}

/* --- Locks ---------------------------------------------------------------------- */

static void line_up(struct sim *s, struct sim_line *l, enum sim_link link, uint32_t thread)
{
	if (l->n++)
		s->thread[l->tail].next[link] = thread;
	else
		l->head = thread;
	l->tail = thread;
}

static void leave_line(struct sim *s, struct sim_line *l, enum sim_link link)
{
	l->head = s->thread[l->head].next[link];
	l->n--;
}

/* Threads that need the register next: at the lock of one of its QPs, not yet at its own. */
static uint32_t threads_coming(const struct sim_uar *uar)
{
	return uar->at_qps - uar->with_qp;
}

/* A thread of threads_coming() counts as half a contender. The half is an assumption. */
static void serve_uar(struct sim *s, uint32_t u, uint64_t from)
{
	const struct sim_uar *uar = &s->uar[u];
	uint32_t n = uar->line.n + (threads_coming(uar) + 1) / 2;

	schedule_thread(s, uar->line.head, from + model_crowd_ps(&s->uar_crowd, n));
}

static void serve_qp(struct sim *s, uint32_t q, uint64_t from)
{
	const struct sim_line *l = &s->qp[q].line;

	schedule_thread(s, l->head, from + model_crowd_ps(&s->qp_crowd, l->n));
}

/* --- Posting ----------------------------------------------------------------------- */

/* A record is free: a thread has at most as many WRs as its job's depth, and a record for each. */
static uint32_t take_wr(struct sim *s, uint32_t thread)
{
	struct sim_thread *t = &s->thread[thread];
	uint32_t w = s->free_wr;

	s->free_wr = s->wr[w].next;
	s->wr[w] = (struct sim_wr){
		.arrival = t->arrival, .next = NONE, .thread = (uint16_t)thread, .job = t->job,
	};
	return w;
}

static void post_wr(struct sim *s, uint32_t q, uint32_t w, uint64_t now)
{
	const struct sim_wr *wr = &s->wr[w];
	struct sim_state *j = &s->job[wr->job];
	uint64_t mtt = 0;

	if (j->is->mrs)
		mtt = 1 + ((uint64_t)wr->job << 32 | random_below(s, j->is->mrs));
	/* The model has room for as many WRs as there are records. */
	model_post(&s->m, q, j->is->op, j->is->bytes, mtt, sim_cookie(wr, w), now);
	s->uar[s->m.qp[q].uar].wrs++;
	j->wrs++;
}

/*
 * The queue in front of a shared QP: first come, first served; with weights, the job that
 * got the least for its weight goes first.
 */
static uint32_t next_shared(struct sim *s, uint32_t owner)
{
	uint32_t best = NONE, i;
	bool weighed = false;

	for (i = 0; i < s->sc->n_jobs; i++)
		weighed |= s->job[i].owner == owner && s->job[i].weighed;
	for (i = 0; i < s->sc->n_jobs; i++) {
		const struct sim_state *j = &s->job[i];

		if (j->owner != owner || j->head == NONE)
			continue;
		if (best == NONE ||
		    (weighed ? j->turn < s->job[best].turn :
		     s->wr[j->head].arrival < s->wr[s->job[best].head].arrival))
			best = i;
	}
	return best;
}

static SIM_APART void dispatch(struct sim *s, uint32_t q, uint64_t now)
{
	uint32_t owner = s->qp[q].job;

	while (sim_out(s, q) < s->sc->window) {
		uint32_t job = next_shared(s, owner), w;
		struct sim_state *j;

		if (job == NONE)
			return;
		j = &s->job[job];
		w = j->head;
		j->head = s->wr[w].next;
		j->turn += (int64_t)(j->is->bytes + 64) * 1024 / j->weight;
		post_wr(s, q, w, now);
	}
}

static SIM_APART void enqueue(struct sim *s, uint32_t q, uint32_t w, uint64_t now)
{
	struct sim_state *j = &s->job[s->wr[w].job], *o;
	uint32_t i;

	if (j->head == NONE) {
		/* A job that posted nothing does not save up its share. */
		for (i = 0; i < s->sc->n_jobs; i++) {
			o = &s->job[i];
			if (o != j && o->owner == j->owner &&
			    o->head != NONE && j->turn < o->turn)
				j->turn = o->turn - (int64_t)1024;
		}
		j->head = w;
	} else {
		s->wr[j->tail].next = w;
	}
	j->tail = w;
	dispatch(s, q, now);
}

static bool is_shared(const struct sim *s, uint32_t job)
{
	uint32_t i;

	for (i = 0; s->sharing && i < s->sc->n_jobs; i++)
		if (i != s->job[i].owner && (s->job[i].owner == job || i == job))
			return true;
	return false;
}

static void ring_doorbell(struct sim *s, uint32_t thread, uint64_t now)
{
	struct sim_thread *t = &s->thread[thread];
	uint32_t w = take_wr(s, thread);
	struct sim_line *l;

	t->left--;
	t->out++;
	if (is_shared(s, t->job))
		enqueue(s, t->qp, w, now);
	else
		post_wr(s, t->qp, w, now);
	if (t->has_qp) {
		l = &s->qp[t->qp].line;
		t->has_qp = false;
		s->uar[s->m.qp[t->qp].uar].at_qps--;
		leave_line(s, l, SIM_QP_LINE);
		if (l->n)
			serve_qp(s, t->qp, now);
	}
	sim_begin(s, thread, now);
}

static void want_uar(struct sim *s, uint32_t thread, uint64_t now)
{
	struct sim_thread *t = &s->thread[thread];
	uint32_t u = s->m.qp[t->qp].uar;
	struct sim_uar *uar = &s->uar[u];

	if (uar->users <= 1 || (!uar->line.n && threads_coming(uar) == t->has_qp &&
				(now >= uar->free_at || uar->last == thread))) {
		/* The thread is alone, but delays others while it writes. */
		uar->last = thread;
		uar->free_at = now + s->sc->host.uar_hold_ps;
		ring_doorbell(s, thread, now);
		return;
	}
	line_up(s, &uar->line, SIM_UAR_LINE, thread);
	uar->waits++;
	uar->with_qp += t->has_qp;
	t->step = SIM_UAR_LOCK;
	if (uar->line.n == 1)
		serve_uar(s, u, uar->free_at > now ? uar->free_at : now);
	else
		schedule_thread(s, thread, MODEL_NEVER);
}

void sim_use_qps(struct sim_state *j, uint32_t qps)
{
	j->use_qps = qps;
	j->sharers = (j->threads + qps - 1) / qps;
	j->spread = qps > j->threads ? qps / j->threads : 1;
}

static bool is_sole(const struct sim *s, const struct sim_thread *t)
{
	return s->job[t->job].at->sharers <= 1;
}

static void move_qp(struct sim *s, uint32_t q)
{
	struct sim_qp *qp = &s->qp[q];
	struct model_qp_attr attr = {
		.qpn = q, .uar = qp->want, .cq = q,
		/* The class may be that of another job, which shares the QP. */
		.element = s->m.qp[q].element, .cls = s->m.qp[q].cls,
		.reads = MODEL_READS,
	};

	s->uar[s->m.qp[q].uar].users--;
	s->uar[qp->want].users++;
	s->moving--;
	model_qp_modify(&s->m, q, &attr);
}

/* The QP that the thread uses next: a random one of its own, if it has several. */
static void pick_qp(struct sim *s, struct sim_thread *t)
{
	const struct sim_state *o = s->job[t->job].at;
	uint32_t nth = t->nth;

	if (o->spread > 1)
		nth += (uint32_t)random_below(s, o->spread) * o->threads;
	t->qp = o->first_qp + (nth < o->use_qps ? nth : nth % o->use_qps);
	model_expect(&s->m, t->qp);
	if (s->moving && s->qp[t->qp].want != s->m.qp[t->qp].uar && !s->qp[t->qp].line.n &&
	    is_sole(s, t))
		move_qp(s, t->qp);
}

/* True: the credits of the job allow one more WR. */
static bool may_post(const struct sim_state *j)
{
	return j->going < j->most;
}

/* ps from one arrival to the next */
static uint64_t arrival_gap(uint32_t *rng, double rate)
{
	return (uint64_t)(-log((model_xorshift(rng) + 0.5) / 4294967296.0) * 1e12 / rate);
}

void sim_first_arrival(struct sim *s, struct sim_thread *t)
{
	const struct sim_job *is = s->job[t->job].is;

	t->comes = is->start * 1000;
	t->comes_rng = draw_random(s);
	if (is->arrival == SIM_OPEN)
		t->comes += arrival_gap(&t->comes_rng, is->rate);
	t->came = t->comes;
	t->came_rng = t->comes_rng;
}

void sim_arrivals(struct sim_thread *t, double rate, uint64_t now)
{
	for (; t->comes <= now; t->comes += arrival_gap(&t->comes_rng, rate))
		t->backlog++;
}

/* False: the thread waits for the rest of its batch, so a credit would not make it post. */
static bool may_begin(const struct sim_thread *t, const struct sim_job *is)
{
	return is->arrival != SIM_BATCH || t->left || !t->out;
}

static void become_idle(struct sim *s, uint32_t thread, uint64_t until)
{
	struct sim_thread *t = &s->thread[thread];

	t->step = SIM_IDLE;
	s->waits[thread] = may_begin(t, s->job[t->job].is);
	schedule_thread(s, thread, until);
}

/* Starts the next WR of a thread that has become idle. */
void sim_begin(struct sim *s, uint32_t thread, uint64_t now)
{
	struct sim_thread *t = &s->thread[thread];
	struct sim_state *j = &s->job[t->job];
	const struct sim_job *is = j->is;

	if (now >= j->stop) {
		become_idle(s, thread, MODEL_NEVER);
		return;
	}
	if (is->arrival == SIM_OPEN) {
		sim_arrivals(t, is->rate, now);
		t->left = t->backlog;
	} else if (is->arrival == SIM_CLOSED) {
		t->left = is->depth - t->out;
	} else if (!t->left && !t->out) {
		t->left = is->depth;
	}
	if (!t->left || !may_post(j) ||
	    (is->arrival == SIM_OPEN && t->out >= is->depth)) {
		become_idle(s, thread, is->arrival == SIM_OPEN && !t->left ?
				       t->comes : MODEL_NEVER);
		return;
	}
	if (j->wr_rate > 0) {
		if (now < j->next_begin) {
			become_idle(s, thread, j->next_begin);
			return;
		}
		j->next_begin = now + (uint64_t)(1e12 / j->wr_rate);
	}
	s->waits[thread] = false;
	t->arrival = now;
	if (is->arrival == SIM_OPEN) {
		t->backlog--;
		t->arrival = t->came;
		t->came += arrival_gap(&t->came_rng, is->rate);
	}
	pick_qp(s, t);
	j->going++;
	t->step = SIM_CPU;
	schedule_thread(s, thread, now + s->post_least + random_below(s, s->post_span));
}

SIM_WHOLE void sim_thread_event(struct sim *s, uint32_t thread)
{
	struct sim_thread *t = &s->thread[thread];
	uint64_t now = s->now;
	struct sim_line *l;
	uint32_t u;

	switch (t->step) {
	case SIM_IDLE:
		sim_begin(s, thread, now);
		break;
	case SIM_CPU:
		if (is_sole(s, t)) {
			want_uar(s, thread, now);
			break;
		}
		/* The QP's state is in another core's cache, which always costs time. */
		l = &s->qp[t->qp].line;
		line_up(s, l, SIM_QP_LINE, thread);
		s->uar[s->m.qp[t->qp].uar].at_qps++;
		t->step = SIM_QP_LOCK;
		if (l->n == 1)
			serve_qp(s, t->qp, now);
		else
			schedule_thread(s, thread, MODEL_NEVER);
		break;
	case SIM_QP_LOCK:
		t->has_qp = true;
		want_uar(s, thread, now);
		break;
	case SIM_UAR_LOCK:
		u = s->m.qp[t->qp].uar;
		s->uar[u].with_qp -= t->has_qp;
		s->uar[u].last = thread;
		s->uar[u].free_at = now;
		leave_line(s, &s->uar[u].line, SIM_UAR_LINE);
		if (s->uar[u].line.n)
			serve_uar(s, u, now);
		ring_doorbell(s, thread, now);
		break;
	}
}

/* The first of threads @from to @to - 1 that waits; NULL: none. Often it is the first. */
static inline const uint8_t *next_waiting(const uint8_t *waits, uint32_t from, uint32_t to)
{
	if (from < to && waits[from])
		return waits + from;
	return memchr(waits + from, true, to - from);
}

/*
 * Wakes those of the job's threads @from to @to - 1 that wait, in turn. True: the credits are
 * used up, and j->woken is the thread from which the next call starts.
 */
static bool wake_some(struct sim *s, struct sim_state *j, uint32_t from, uint32_t to)
{
	const uint8_t *waits = &s->waits[j->first_thread], *next;

	do {
		next = next_waiting(waits, from, to);
		if (!next)
			return false;
		from = (uint32_t)(next - waits) + 1;
		sim_begin(s, j->first_thread + from - 1, s->now);
	} while (may_post(j));
	j->woken = from < j->is->threads ? from : 0;
	return true;
}

/* Wakes waiting threads in turn, from j->woken on, which stays if credits are left after all. */
void sim_wake_job(struct sim *s, uint32_t job)
{
	struct sim_state *j = &s->job[job];

	if (may_post(j) && !wake_some(s, j, j->woken, j->is->threads))
		wake_some(s, j, 0, j->woken);
}

SIM_WHOLE void sim_done(void *ctx, const struct model_done *done)
{
	struct sim *s = ctx;
	uint32_t w = sim_cookie_wr(done->cookie), thread = sim_cookie_thread(done->cookie);
	uint32_t job = sim_cookie_job(done->cookie);
	struct sim_wr *wr = &s->wr[w];
	struct sim_state *j = &s->job[job];
	struct sim_thread *t = &s->thread[thread];
	uint64_t ps = done->at - wr->arrival, ns = ps / 1000;
	bool limited = !may_post(j), idle;

	s->now = done->at;
	if (s->qp_tick && ps > j->least_ps)
		s->qp_tick[done->qp].wait_ps += ps - j->least_ps;
	if (s->job_report)
		sim_library_done(s, job, done);
	j->done++;
	j->going--;
	t->out--;
	sim_hist_add(&j->tick, ns);
	s->res->wrs++;
	wr->arrival = MODEL_NEVER;
	wr->next = s->free_wr;
	s->free_wr = w;
	if (is_shared(s, job))
		dispatch(s, done->qp, done->at);
	idle = t->step == SIM_IDLE && may_begin(t, j->is);
	if (limited) {
		s->waits[thread] = idle;
		sim_wake_job(s, job);
	} else if (idle) {
		sim_begin(s, thread, done->at);
	}
}

void sim_sent_bytes(void *ctx, uint64_t cookie, uint32_t bytes)
{
	struct sim *s = ctx;

	s->job[sim_cookie_job(cookie)].bytes += bytes;
}
