// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A random number between @lo and @hi. */
static double random_between(uint64_t *state, double lo, double hi)
{
	uint64_t v = *state += 0x9e3779b97f4a7c15ULL;

	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ULL;
	v = (v ^ v >> 27) * 0x94d049bb133111ebULL;
	v ^= v >> 31;
	return lo + (hi - lo) * (double)(v >> 11) / 9007199254740992.0;
}

void fleet_host(const struct scenario *sc, uint32_t host, struct scenario *to)
{
	uint64_t state = (uint64_t)sc->seed << 32 | host;
	size_t i;

	*to = *sc;
	to->seed = 1 + (uint32_t)random_between(&state, 0, 4294967290.0);
	/*
	 * Each job gets a random load: an open loop half to one and a half times its rate, any
	 * other job one to all of its threads.
	 */
	for (i = 0; i < to->n_jobs; i++) {
		struct sim_job *j = &to->jobs[i];
		double load = random_between(&state, 0.5, 1.5);

		if (j->arrival == SIM_OPEN)
			j->rate *= load;
		else
			j->threads = 1 + (uint32_t)(j->threads * (load - 0.5));
		if (j->threads > sc->jobs[i].threads)
			j->threads = sc->jobs[i].threads;
	}
}

static void add_host(struct fleet_result *res, const struct scenario *sc,
		     const struct sim_result *r)
{
	size_t i;

	for (i = 0; i < sc->n_jobs; i++) {
		const struct sim_job_result *j = &r->job[i];
		struct fleet_job *f = &res->job[i];
		double met = j->ticks ? (double)j->met / j->ticks : 0;

		f->rate += (double)j->done * 1e9 / (double)r->measured;
		if (!j->latency.n)
			continue;
		f->ticks_met += met;
		f->met += met >= FLEET_MET;
		sim_hist_add(&f->p99, sim_hist_quantile(&j->latency, 0.99));
	}
	res->ticks += sc->time / sc->interval;
	res->decisions += r->decisions;
}

int fleet_run(const struct scenario *sc, const struct config *cfg,
	      uint32_t hosts, FILE *progress, struct fleet_result *res)
{
	struct sim_result *r = malloc(sizeof(*r));
	struct scenario *own = malloc(sizeof(*own));
	struct sim_options opt = { .cfg = cfg, .cost = &res->cost };
	int err = r && own ? 0 : -ENOMEM;
	uint32_t i;

	memset(res, 0, sizeof(*res));
	for (i = 0; !err && i < hosts; i++) {
		fleet_host(sc, i, own);
		err = sim_run(own, &opt, r);
		if (!err)
			add_host(res, own, r);
		if (progress)
			fprintf(progress, "\r%u of %u hosts ", i + 1, hosts);
	}
	if (progress)
		fprintf(progress, "\r                        \r");
	free(r);
	free(own);
	return err;
}
