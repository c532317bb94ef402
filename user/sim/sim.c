// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/sim.h"
#include "sim/host.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PS_PER_NS 1000ULL

/* libmlx5's registers: the number of a process, and of those that serve one QP each. */
#define UARS 16
#define UARS_OWN 4

/* The NIC's cache has no room for more. */
#define CONTEXTS 65536

static int resolve_jobs(struct sim *s)
{
	const struct scenario *sc = s->sc;
	uint32_t i;

	for (i = 0; i < sc->n_jobs; i++) {
		const struct sim_job *is = &sc->jobs[i];
		struct sim_state *j = &s->job[i];
		bool own = !is->shares[0];

		j->is = is;
		j->owner = own ? i : scenario_job(sc, is->shares);
		if (j->owner == SIM_NO_JOB || (!own && sc->jobs[j->owner].shares[0]))
			return -EINVAL;
		j->at = &s->job[j->owner];
		j->stop = is->stop ? is->stop * PS_PER_NS : MODEL_NEVER;
		s->sharing += !own;
		j->first_qp = s->n_qps;
		j->n_qps = own ? is->qps : 0;
		j->use_qps = own ? is->used : 0;
		j->first_uar = s->n_uars;
		j->n_uars = !own ? 0 : (is->uars ? is->uars : UARS) +
				       is->spare_uars;
		j->first_thread = s->n_threads;
		s->job[j->owner].threads += is->threads;
		j->weight = 1;
		j->most = UINT32_MAX;
		j->create_rate = -1;
		j->head = NONE;
		j->next_control = MODEL_NEVER;
		if (is->control_rate > 0)
			j->next_control = is->start * PS_PER_NS;
		s->n_qps += j->n_qps;
		s->n_uars += j->n_uars;
		s->n_threads += is->threads;
		s->n_wrs += is->threads * is->depth;
		s->n_mrs += is->mrs;
	}
	if (!s->n_threads || s->n_threads > SIM_THREADS || !s->n_qps ||
	    s->n_qps > SIM_QPS)
		return -EINVAL;
	return 0;
}

/* Zeroed memory that begins with a cache line. */
static void *alloc_lines(size_t n, size_t size)
{
	size_t bytes = (n * size + 63) / 64 * 64;
	void *mem = aligned_alloc(64, bytes);

	return mem ? memset(mem, 0, bytes) : NULL;
}

static int alloc_arrays(struct sim *s)
{
	/* A QP has two contexts, a memory region one. */
	const uint32_t contexts = 2 * s->n_qps + s->n_mrs;
	const struct model_sizes sizes = {
		.uars = s->n_uars, .qps = s->n_qps, .wrs = s->n_wrs,
		.elements = SIM_JOBS + 1,
		.contexts = contexts < CONTEXTS ? contexts : CONTEXTS,
	};
	struct model_params p = s->sc->nic;
	static const struct model_ops ops = { .done = sim_done, .sent = sim_sent_bytes };

	/*
	 * Threads and their locks are simulated here, so the model must not charge them
	 * again.
	 */
	p.uar_ps = 0;
	p.uar_raise = 0;
	p.uar_clear = 0;
	p.seed = s->sc->seed;
	s->thread = alloc_lines(s->n_threads, sizeof(*s->thread));
	s->waits = malloc(s->n_threads);
	s->next.n = s->n_threads;
	s->next.node = alloc_lines(2 * s->n_threads, sizeof(*s->next.node));
	s->qp = calloc(s->n_qps, sizeof(*s->qp));
	if (s->sc->device == SIM_ALL)
		s->qp_tick = calloc(s->n_qps, sizeof(*s->qp_tick));
	s->uar = alloc_lines(s->n_uars, sizeof(*s->uar));
	s->wr = alloc_lines(s->n_wrs, sizeof(*s->wr));
	s->mem = malloc(model_bytes(&sizes));
	if (!s->thread || !s->waits || !s->next.node || !s->qp || !s->uar ||
	    !s->wr || !s->mem || (s->sc->device == SIM_ALL && !s->qp_tick))
		return -ENOMEM;
	memset(s->next.node, 0xff, 2 * s->n_threads * sizeof(*s->next.node));
	return model_init(&s->m, s->mem, &sizes, &p, &ops, s);
}

/* The first QPs get registers of their own, each other QP the least used register. */
static uint32_t place_qp(const struct sim *s, const struct sim_state *j,
			 uint32_t q)
{
	uint32_t i, best = UARS_OWN;

	if (j->is->uars)
		return j->first_uar + q % j->is->uars;
	if (q < UARS_OWN)
		return j->first_uar + q;
	for (i = UARS_OWN + 1; i < UARS; i++)
		if (s->uar[j->first_uar + i].users < s->uar[j->first_uar + best].users)
			best = i;
	return j->first_uar + best;
}

static void set_up_job(struct sim *s, uint32_t n)
{
	struct sim_state *j = &s->job[n];
	uint32_t i;

	for (i = 0; i < j->n_uars; i++) {
		s->uar[j->first_uar + i].job = n;
		s->uar[j->first_uar + i].last = NONE;
	}
	for (i = 0; i < j->n_qps; i++) {
		uint32_t q = j->first_qp + i, u = place_qp(s, j, i);
		struct model_qp_attr attr = {
			.qpn = q, .uar = u, .cq = q, .element = j->element,
			.reads = MODEL_READS,
		};

		s->qp[q].job = n;
		s->qp[q].want = u;
		s->uar[u].users++;
		model_qp_open(&s->m, q, &attr);
	}
}

/* CPU time of a WR: more if other cores are busy, and if threads share a core. */
static void set_up_host(struct sim *s)
{
	const struct model_host *h = &s->sc->host;
	uint64_t ps = h->post_ps;
	uint32_t k;

	if (h->cores) {
		ps += ps * h->load_q8 * s->n_threads / h->cores >> 8;
		if (s->n_threads > h->cores)
			ps += (uint64_t)h->post_ps * h->share_q8 *
			      (s->n_threads - h->cores) / h->cores >> 8;
	}
	/*
	 * The CPU time of a WR varies like a unit's time. If it were constant, threads that wait
	 * for one another would synchronise and never contend for a lock.
	 */
	s->post_ps = ps;
	s->post_span = 2 * ps * s->sc->nic.jitter_pct / 100;
	s->post_least = ps - s->post_span / 2;
	model_crowd_init(&s->uar_crowd, h->uar_lock_ps, h->uar_exp);
	model_crowd_init(&s->qp_crowd, h->qp_lock_ps, h->qp_exp);
	s->qp_crowd.ps[1] = h->qp_alone_ps;
	for (k = 0; k < s->sc->n_jobs; k++) {
		struct sim_state *j = &s->job[k];

		j->least_ps = s->sc->nic.pipe_ps + s->sc->nic.pu_ps;
		if (s->sc->nic.link_bps)
			j->least_ps += (uint64_t)j->is->bytes * 8 * 1000000 /
				       (s->sc->nic.link_bps / 1000000);
		if (j->owner == k)
			sim_use_qps(j, j->use_qps);
	}
}

static void set_up_threads(struct sim *s)
{
	uint32_t i, k, t = 0;

	for (k = 0; k < s->sc->n_jobs; k++)
		for (i = 0; i < s->job[k].is->threads; i++, t++) {
			struct sim_thread *th = &s->thread[t];

			th->job = (uint16_t)k;
			th->nth = i;
			th->qp = s->job[s->job[k].owner].first_qp;
			s->waits[t] = true;
			sim_first_arrival(s, th);
			/* Threads start at different times. */
			sim_next_set(&s->next, t,
				     s->job[k].is->start * PS_PER_NS + i * s->post_ps / 24);
		}
	for (i = 0; i < s->n_wrs; i++)
		s->wr[i] = (struct sim_wr){
			.arrival = MODEL_NEVER,
			.next = i + 1 < s->n_wrs ? i + 1 : NONE,
		};
}

/* Chooses the job of the next control verb. */
static void first_control(struct sim *s)
{
	uint32_t i;

	s->control_job = 0;
	for (i = 1; i < s->sc->n_jobs; i++)
		if (s->job[i].next_control < s->job[s->control_job].next_control)
			s->control_job = i;
	s->control_at = s->job[s->control_job].next_control;
}

static int set_up(struct sim *s)
{
	uint32_t i;
	int err = resolve_jobs(s);

	if (!err)
		err = alloc_arrays(s);
	if (err)
		return err;
	for (i = 0; i < s->sc->n_jobs; i++)
		set_up_job(s, i);
	set_up_host(s);
	set_up_threads(s);
	first_control(s);
	return sim_view_init(s);
}

/* Executes a control verb and schedules the next. */
static void run_control(struct sim *s)
{
	struct sim_state *j = &s->job[s->control_job];
	double rate = j->is->control_rate;
	uint64_t done;

	if (j->is->stop && s->now >= j->is->stop * PS_PER_NS) {
		j->next_control = MODEL_NEVER;
		first_control(s);
		return;
	}
	j->next_control = s->now +
			  (uint64_t)(-log(sim_random(s)) * 1e12 / rate);
	first_control(s);
	/* The job asks as often as before; requests beyond the limit are refused. */
	if (j->create_rate >= 0 && sim_random(s) * rate > j->create_rate) {
		j->refused++;
		return;
	}
	model_control(&s->m, 0, s->now, &done);
	j->controls++;
	s->controls++;
}

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Nearly all events: those of the model and of threads before the next control verb or look. */
static void run_model_and_threads(struct sim *s, uint64_t until)
{
	const uint64_t last = earlier_of(earlier_of(s->control_at, s->look_at), until);
	/* Events at the time of a control verb: the model's precede it, and threads' follow it. */
	const uint64_t end = earlier_of(last + 1, s->control_at);
	uint64_t when, at, n = 0;

	for (;; n++) {
		when = model_first(&s->m);
		at = sim_next_time(&s->next);
		if (when <= at) {
			if (when > last)
				break;
			s->now = when;
			model_step(&s->m, when);
		} else {
			if (at >= end)
				break;
			s->now = at;
			sim_thread_event(s, sim_next_thread(&s->next));
		}
	}
	s->res->events += n;
}

/*
 * Processes events in order until @until. Order at the same time: model, control verbs,
 * threads, looks.
 */
static void run_until(struct sim *s, uint64_t until)
{
	for (;;) {
		run_model_and_threads(s, until);
		s->res->events++;
		if (s->look_at < s->control_at && s->look_at <= until) {
			s->now = s->look_at;
			sim_look(s);
		} else if (s->control_at <= until) {
			s->now = s->control_at;
			run_control(s);
		} else {
			break;
		}
	}
	s->now = until;
	model_run_until(&s->m, until);
}

/*
 * The simulation counts work per tick and adds a tick to the results at its end. When the
 * warm-up ends within a tick, this function subtracts what the tick has counted so far. The
 * results may wrap around below 0 until the end of the tick.
 */
static void mark_warm(struct sim *s)
{
	uint32_t i;

	for (i = 0; i < s->sc->n_jobs; i++) {
		sim_hist_subtract(&s->res->job[i].latency, &s->job[i].tick);
		s->res->job[i].bytes -= s->job[i].bytes;
	}
	s->hits_warm = s->m.stats.hits[MODEL_QPC];
	s->misses_warm = s->m.stats.misses[MODEL_QPC];
	s->sent_warm = sim_sent(s);
}

static void sum_up(struct sim *s)
{
	double hits = (double)(s->m.stats.hits[MODEL_QPC] - s->hits_warm);
	double misses = (double)(s->m.stats.misses[MODEL_QPC] -
				 s->misses_warm);
	uint32_t i;

	for (i = 0; i < s->sc->n_jobs; i++)
		s->res->job[i].done = s->res->job[i].latency.n;
	sim_age_all(s);
	s->res->measured = (s->end - s->warm) / PS_PER_NS;
	s->res->lookups = (uint64_t)(hits + misses);
	if (hits + misses > 0)
		s->res->qpc_miss = misses / (hits + misses);
	s->res->tx_bps = (double)(sim_sent(s) - s->sent_warm) * 8e9 /
			 (double)s->res->measured;
}

static void show_progress(const struct sim *s, uint64_t at)
{
	if (s->opt->progress)
		fprintf(s->opt->progress, "\r%3.0f %% ",
			100.0 * (double)at / (double)s->end);
}

int sim_run(const struct scenario *sc, const struct sim_options *opt,
	    struct sim_result *res)
{
	struct sim *s = calloc(1, sizeof(*s));
	const uint64_t step = sc->interval * PS_PER_NS;
	uint64_t at;
	bool warm = false;
	int err;

	if (!s)
		return -ENOMEM;
	memset(res, 0, sizeof(*res));
	s->sc = sc;
	s->opt = opt;
	s->res = res;
	s->rng = sc->seed ? sc->seed : 1;
	s->end = sc->time * PS_PER_NS;
	s->warm = sc->warmup * PS_PER_NS;
	err = step && s->end > s->warm ? set_up(s) : -EINVAL;
	for (at = 0; !err && at < s->end; ) {
		/* If the interval does not divide the time, the last tick is shorter. */
		at = at + step < s->end ? at + step : s->end;
		if (!warm && at > s->warm) {
			run_until(s, s->warm);
			mark_warm(s);
			warm = true;
		}
		run_until(s, at);
		err = sim_view_tick(s);
		show_progress(s, at);
		if (opt->steady && opt->steady(opt->ctx, at / PS_PER_NS, res->wrs))
			s->end = at;
	}
	if (opt->progress)
		fprintf(opt->progress, "\r      \r");
	if (!err)
		sum_up(s);
	sim_view_free(s);
	free(s->thread);
	free(s->waits);
	free(s->next.node);
	free(s->qp);
	free(s->qp_tick);
	free(s->uar);
	free(s->wr);
	free(s->mem);
	free(s);
	return err;
}
