// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work that waits. Latencies of completed requests alone would hide a job that starves, so a
 * waiting request counts with its age if it has waited for longer than 99 of 100 completed
 * requests took. Requests that have waited for less do not count, because they may still be
 * in time.
 */
#include "sim/host.h"

/* Number of steps that divide the ages of a thread's backlog. */
#define STEPS 32

/* Histograms of all jobs, and the age from which a waiting request counts in each. */
struct ages {
	struct sim_hist *hist[SIM_JOBS];
	uint64_t least[SIM_JOBS];	/* ns */
};

static void count_age(const struct sim *s, const struct ages *a, uint32_t job,
		      uint64_t arrival, uint64_t n)
{
	uint64_t age = (s->now - arrival) / 1000;

	if (age > a->least[job])
		sim_hist_add_n(a->hist[job], age, n);
}

/*
 * Requests that arrived at a thread and have not begun, from the oldest, whose arrival is
 * known, to now. Requests arrive at random with a constant rate, so their ages are
 * distributed evenly.
 */
static void count_backlog(const struct sim *s, const struct ages *a, const struct sim_thread *t)
{
	uint64_t span = s->now - t->came, done = 0, end, i;
	uint64_t steps = t->backlog < STEPS ? t->backlog : STEPS;

	for (i = 0; i < steps; i++) {
		end = (i + 1) * t->backlog / steps;
		count_age(s, a, t->job, t->came + span * i / steps, end - done);
		done = end;
	}
}

static void count_all(struct sim *s, const struct ages *a)
{
	uint32_t i;

	for (i = 0; i < s->n_wrs; i++)
		if (s->wr[i].arrival != MODEL_NEVER)
			count_age(s, a, s->wr[i].job, s->wr[i].arrival, 1);
	for (i = 0; i < s->n_threads; i++) {
		struct sim_thread *t = &s->thread[i];
		const struct sim_job *is = s->job[t->job].is;

		if (s->now < is->start * 1000 || (is->stop && s->now >= is->stop * 1000))
			continue;
		if (t->step != SIM_IDLE)
			count_age(s, a, t->job, t->arrival, 1);
		if (is->arrival != SIM_OPEN)
			continue;
		sim_arrivals(t, is->rate, s->now);
		if (t->backlog)
			count_backlog(s, a, t);
	}
}

static void count_in(struct ages *a, uint32_t job, struct sim_hist *h)
{
	a->hist[job] = h;
	a->least[job] = h->n ? sim_hist_quantile(h, 0.99) : 0;
}

void sim_age_tick(struct sim *s)
{
	struct ages a;
	uint32_t i;

	for (i = 0; i < s->sc->n_jobs; i++)
		count_in(&a, i, &s->job[i].tick);
	count_all(s, &a);
}

void sim_age_all(struct sim *s)
{
	struct ages a;
	uint32_t i;

	for (i = 0; i < s->sc->n_jobs; i++)
		count_in(&a, i, &s->res->job[i].latency);
	count_all(s, &a);
}

/*
 * Targets are judged in ticks in which they can be met, not in ticks that begin during the
 * warm-up or before the job begins, or end after it stops. A tick without arrivals and
 * without waiting requests judges only the rate.
 */
void sim_judge(struct sim *s, uint32_t job, double bit_rate, uint64_t p99)
{
	struct sim_job_result *r = &s->res->job[job];
	const struct sim_job *is = s->job[job].is;

	if (!sim_promised(is) || s->looked < s->warm || s->looked < is->start * 1000 ||
	    (is->stop && s->now > is->stop * 1000) ||
	    (!s->job[job].tick.n && is->slo_byte_rate <= 0))
		return;
	r->ticks++;
	r->met += (!is->slo_p99 || p99 <= is->slo_p99) && bit_rate >= is->slo_byte_rate;
}
