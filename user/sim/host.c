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

static uint32_t random32(struct sim *s)
{
	return model_xorshift(&s->rng);
}

double sim_random(struct sim *s)
{
	return (random32(s) + 0.5) / 4294967296.0;
}

static uint64_t random_below(struct sim *s, uint64_t bound)
{
	return random32(s) * bound >> 32;
}

/* When the thread continues; MODEL_NEVER: when another thread releases a lock. */
static void schedule(struct sim *s, uint32_t thread, uint64_t at)
{
	model_events_set(&s->next, thread, at);
}

/* --- Locks ---------------------------------------------------------------------- */

static void line_up(struct sim *s, struct sim_lock *l, uint32_t thread)
{
	s->thread[thread].next[l->chain] = NONE;
	if (l->n++)
		s->thread[l->tail].next[l->chain] = thread;
	else
		l->head = thread;
	l->tail = thread;
}

static void leave(struct sim *s, struct sim_lock *l, uint64_t now)
{
	l->last = l->head;
	l->free_at = now;
	l->head = s->thread[l->head].next[l->chain];
	l->n--;
}

/* Threads on the way to the register: at the lock of one of its QPs. */
static uint32_t coming(const struct sim_uar *uar)
{
	return uar->at_qps - uar->with_qp;
}

/* Such a thread counts as half a contender of the register. This value is chosen. */
static void serve_uar(struct sim *s, uint32_t u, uint64_t from)
{
	const struct sim_uar *uar = &s->uar[u];
	uint32_t n = uar->lock.n + (coming(uar) + 1) / 2;

	schedule(s, uar->lock.head, from + model_crowd_ps(&s->uar_crowd, n));
}

static void serve_qp(struct sim *s, uint32_t q, uint64_t from)
{
	const struct sim_lock *l = &s->qp[q].lock;

	schedule(s, l->head, from + model_crowd_ps(&s->qp_crowd, l->n));
}

/* --- Posting ----------------------------------------------------------------------- */

static uint32_t take_wr(struct sim *s, uint32_t thread)
{
	struct sim_thread *t = &s->thread[thread];
	uint32_t w = s->free_wr;

	s->free_wr = s->wr[w].next;
	s->wr[w] = (struct sim_wr){
		.thread = thread, .job = t->job, .qp = t->qp,
		.arrival = t->arrival, .next = NONE,
	};
	return w;
}

static void post(struct sim *s, uint32_t w, uint64_t now)
{
	struct sim_wr *wr = &s->wr[w];
	struct sim_state *j = &s->job[wr->job];
	uint32_t bytes = j->is->bytes;
	uint64_t mtt = 0;

	if (j->is->mrs)
		mtt = 1 + ((uint64_t)wr->job << 32 | random_below(s, j->is->mrs));
	/* The model has room for as many WRs as there are records. */
	model_post(&s->m, wr->qp, j->is->op, bytes, mtt, w, now);
	s->qp[wr->qp].wrs++;
	s->qp[wr->qp].out++;
	s->uar[s->qp[wr->qp].uar].wrs++;
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

static void dispatch(struct sim *s, uint32_t q, uint64_t now)
{
	uint32_t owner = s->qp[q].job;

	while (s->qp[q].out < s->sc->window) {
		uint32_t job = next_shared(s, owner), w;
		struct sim_state *j;

		if (job == NONE)
			return;
		j = &s->job[job];
		w = j->head;
		j->head = s->wr[w].next;
		j->turn += (int64_t)(j->is->bytes + 64) * 1024 / j->weight;
		s->wr[w].qp = q;
		post(s, w, now);
	}
}

static void enqueue(struct sim *s, uint32_t w, uint64_t now)
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
	dispatch(s, s->wr[w].qp, now);
}

static bool shared(const struct sim *s, uint32_t job)
{
	uint32_t i;

	for (i = 0; s->sharing && i < s->sc->n_jobs; i++)
		if (i != s->job[i].owner && (s->job[i].owner == job || i == job))
			return true;
	return false;
}

static void ring(struct sim *s, uint32_t thread, uint64_t now)
{
	struct sim_thread *t = &s->thread[thread];
	uint32_t w = take_wr(s, thread);
	struct sim_qp *qp = &s->qp[t->qp];

	t->left--;
	t->out++;
	s->job[t->job].begun--;
	s->job[t->job].out++;
	if (shared(s, t->job))
		enqueue(s, w, now);
	else
		post(s, w, now);
	if (t->has_qp) {
		t->has_qp = false;
		s->uar[qp->uar].at_qps--;
		leave(s, &qp->lock, now);
		if (qp->lock.n)
			serve_qp(s, t->qp, now);
	}
	sim_begin(s, thread, now);
}

static void want_uar(struct sim *s, uint32_t thread, uint64_t now)
{
	struct sim_thread *t = &s->thread[thread];
	uint32_t u = s->qp[t->qp].uar;
	struct sim_uar *uar = &s->uar[u];
	struct sim_lock *l = &uar->lock;

	if (l->users <= 1 || (!l->n && coming(uar) == t->has_qp &&
			      (now >= l->free_at || l->last == thread))) {
		/* The thread is alone, but delays others while it writes. */
		l->last = thread;
		l->free_at = now + s->sc->host.uar_hold_ps;
		ring(s, thread, now);
		return;
	}
	line_up(s, l, thread);
	uar->waits++;
	uar->with_qp += t->has_qp;
	t->step = SIM_UAR_LOCK;
	if (l->n == 1)
		serve_uar(s, u, l->free_at > now ? l->free_at : now);
	else
		schedule(s, thread, MODEL_NEVER);
}

void sim_use_qps(struct sim_state *j, uint32_t qps)
{
	j->use_qps = qps;
	j->sharers = (j->threads + qps - 1) / qps;
	j->spread = qps > j->threads ? qps / j->threads : 1;
}

static bool sole(const struct sim *s, const struct sim_thread *t)
{
	return s->job[s->job[t->job].owner].sharers <= 1;
}

static void move_qp(struct sim *s, uint32_t q)
{
	struct sim_qp *qp = &s->qp[q];
	struct model_qp_attr attr = {
		.qpn = q, .uar = qp->want, .cq = q,
		.element = s->job[qp->job].element,
		.cls = (uint8_t)s->job[qp->job].level, .reads = MODEL_READS,
	};

	s->uar[qp->uar].lock.users--;
	s->uar[qp->want].lock.users++;
	qp->uar = qp->want;
	model_qp_modify(&s->m, q, &attr);
}

/* The QP that the thread uses next: a random one of its own, if it has several. */
static void assign(struct sim *s, struct sim_thread *t)
{
	const struct sim_state *j = &s->job[t->job], *o = &s->job[j->owner];
	struct sim_qp *qp;
	uint32_t nth = t->nth;

	if (o->spread > 1)
		nth += (uint32_t)random_below(s, o->spread) * o->threads;
	t->qp = o->first_qp + (nth < o->use_qps ? nth : nth % o->use_qps);
	model_expect(&s->m, t->qp);
	qp = &s->qp[t->qp];
	if (qp->want != qp->uar && !qp->lock.n && sole(s, t))
		move_qp(s, t->qp);
}

static bool may_post(const struct sim *s, const struct sim_state *j)
{
	return s->free_wr != NONE &&
	       (!j->credits || j->out + j->begun < j->credits);
}

static void next_arrival(struct sim_stream *st, double rate)
{
	st->at += (uint64_t)(-log((model_xorshift(&st->rng) + 0.5) / 4294967296.0) * 1e12 / rate);
}

void sim_first_arrival(struct sim *s, struct sim_thread *t)
{
	const struct sim_job *is = s->job[t->job].is;

	t->come = (struct sim_stream){ .at = is->start * 1000, .rng = random32(s) };
	if (is->arrival == SIM_OPEN)
		next_arrival(&t->come, is->rate);
	t->begun = t->come;
}

void sim_arrivals(struct sim_thread *t, double rate, uint64_t now)
{
	for (; t->come.at <= now; next_arrival(&t->come, rate))
		t->backlog++;
}

/* Starts the next WR of a thread that has become idle. */
void sim_begin(struct sim *s, uint32_t thread, uint64_t now)
{
	struct sim_thread *t = &s->thread[thread];
	struct sim_state *j = &s->job[t->job];
	const struct sim_job *is = j->is;

	if (is->stop && now >= is->stop * 1000) {
		t->step = SIM_IDLE;
		schedule(s, thread, MODEL_NEVER);
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
	if (!t->left || !may_post(s, j) ||
	    (is->arrival == SIM_OPEN && t->out >= is->depth)) {
		t->step = SIM_IDLE;
		schedule(s, thread, is->arrival == SIM_OPEN && !t->left ?
			     t->come.at : MODEL_NEVER);
		return;
	}
	t->arrival = now;
	if (is->arrival == SIM_OPEN) {
		t->backlog--;
		t->arrival = t->begun.at;
		next_arrival(&t->begun, is->rate);
	}
	assign(s, t);
	j->begun++;
	t->step = SIM_CPU;
	schedule(s, thread, now + s->post_least + random_below(s, s->post_span));
}

void sim_thread_event(struct sim *s, uint32_t thread)
{
	struct sim_thread *t = &s->thread[thread];
	uint64_t now = s->now;
	struct sim_lock *l;
	uint32_t u;

	switch (t->step) {
	case SIM_IDLE:
		sim_begin(s, thread, now);
		break;
	case SIM_CPU:
		l = &s->qp[t->qp].lock;
		if (sole(s, t)) {
			want_uar(s, thread, now);
			break;
		}
		/* The QP's state is in another core's cache, which always costs time. */
		line_up(s, l, thread);
		s->uar[s->qp[t->qp].uar].at_qps++;
		t->step = SIM_QP_LOCK;
		if (l->n == 1)
			serve_qp(s, t->qp, now);
		else
			schedule(s, thread, MODEL_NEVER);
		break;
	case SIM_QP_LOCK:
		t->has_qp = true;
		want_uar(s, thread, now);
		break;
	case SIM_UAR_LOCK:
		u = s->qp[t->qp].uar;
		s->uar[u].with_qp -= t->has_qp;
		leave(s, &s->uar[u].lock, now);
		if (s->uar[u].lock.n)
			serve_uar(s, u, now);
		ring(s, thread, now);
		break;
	}
}

/* The batch is posted and not all of it is done, so sim_begin() would do nothing. */
static bool in_batch(const struct sim_thread *t, const struct sim_job *is)
{
	return is->arrival == SIM_BATCH && !t->left && t->out;
}

/* Wakes waiting threads in turn, as far as credits allow. */
void sim_wake_job(struct sim *s, uint32_t job)
{
	struct sim_state *j = &s->job[job];
	uint32_t i, t;

	for (i = 0; i < j->is->threads && may_post(s, j); i++) {
		t = j->first_thread + j->woken;
		j->woken = j->woken + 1 < j->is->threads ? j->woken + 1 : 0;
		if (s->thread[t].step == SIM_IDLE && !in_batch(&s->thread[t], j->is))
			sim_begin(s, t, s->now);
	}
}

void sim_done(void *ctx, const struct model_done *done)
{
	struct sim *s = ctx;
	struct sim_wr *wr = &s->wr[done->cookie];
	struct sim_state *j = &s->job[wr->job];
	struct sim_thread *t = &s->thread[wr->thread];
	struct sim_job_result *r = &s->res->job[wr->job];
	struct sim_qp *qp = &s->qp[wr->qp];
	uint64_t ps = done->at - wr->arrival, ns = ps / 1000;
	bool limited = j->credits && j->out + j->begun >= j->credits;

	s->now = done->at;
	qp->out--;
	qp->done++;
	if (ps > j->least_ps)
		qp->wait_ps += ps - j->least_ps;
	j->done++;
	j->out--;
	t->out--;
	sim_hist_add(&j->tick, ns);
	if (done->at >= s->warm) {
		sim_hist_add(&r->latency, ns);
		r->done++;
	}
	s->res->wrs++;
	wr->arrival = MODEL_NEVER;
	wr->next = s->free_wr;
	s->free_wr = (uint32_t)done->cookie;
	if (shared(s, wr->job))
		dispatch(s, wr->qp, done->at);
	if (limited)
		sim_wake_job(s, wr->job);
	else if (t->step == SIM_IDLE)
		sim_begin(s, wr->thread, done->at);
}

void sim_sent_bytes(void *ctx, uint64_t cookie, uint32_t bytes)
{
	struct sim *s = ctx;
	uint32_t job = s->wr[cookie].job;

	s->job[job].bytes += bytes;
	if (s->m.now >= s->warm)
		s->res->job[job].bytes += bytes;
}
