// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Lists the numbers of a scenario, and finds the range of each in which the claim holds. */
#include "sim/claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum store {
	STORE_U32,
	STORE_U64,
	STORE_REAL,
};

/* Where a number lies, in units of @scale. */
struct kind {
	const char *name;
	enum unit unit;
	enum store store;
	size_t at;
	double scale, min, max;
};

#define NIC(n, u, s, field, scale, min, max) \
	{ n, UNIT_##u, STORE_##s, offsetof(struct scenario, field), scale, min, max }
#define JOB(n, u, s, field, min, max) \
	{ n, UNIT_##u, STORE_##s, offsetof(struct sim_job, field), 1, min, max }

/* Numbers of the preset are not varied unless the scenario sets them, except the first. */
static const struct kind kinds[] = {
	NIC("nic.control_time", TIME, U32, nic.ctrl_ps, 1000, 1, 4e6),
	NIC("nic.link", BITRATE, U64, nic.link_bps, 1, 1e6, 1e13),
	NIC("nic.cache_bytes", COUNT, U32, nic.cache_bytes, 1, 1024, 1u << 30),
	NIC("nic.wqe_limit", COUNT, U32, nic.wqe_limit, 1, 1, 1u << 20),
	NIC("window", COUNT, U32, window, 1, 1, 4096),
#define FIRST_OF_JOB 5
	JOB("threads", COUNT, U32, threads, 1, SIM_THREADS),
	JOB("qps", COUNT, U32, qps, 1, SIM_QPS),
	JOB("used", COUNT, U32, used, 1, SIM_QPS),
	JOB("depth", COUNT, U32, depth, 1, 1024),
	JOB("size", COUNT, U32, bytes, 1, 1u << 26),
	JOB("rate", RATE, REAL, rate, 1, 1e10),
	JOB("uars", COUNT, U32, uars, 1, 4096),
	JOB("spare_uars", COUNT, U32, spare_uars, 1, 4096),
	JOB("mrs", COUNT, U32, mrs, 1, 1u << 20),
	JOB("control_rate", RATE, REAL, control_rate, 1, 1e10),
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void *param_place(const struct scenario *sc, const struct sim_param *p)
{
	const char *base = p->kind < FIRST_OF_JOB ? (const char *)sc :
			   (const char *)&sc->jobs[p->job];

	return (void *)(uintptr_t)(base + kinds[p->kind].at);
}

double sim_param_get(const struct scenario *sc, const struct sim_param *p)
{
	const struct kind *k = &kinds[p->kind];
	const void *at = param_place(sc, p);

	switch (k->store) {
	case STORE_U32:
		return *(const uint32_t *)at / k->scale;
	case STORE_U64:
		return (double)*(const uint64_t *)at / k->scale;
	default:
		return *(const double *)at / k->scale;
	}
}

static void put_value(struct scenario *sc, const struct sim_param *p, double v)
{
	const struct kind *k = &kinds[p->kind];
	void *at = param_place(sc, p);

	v *= k->scale;
	switch (k->store) {
	case STORE_U32:
		*(uint32_t *)at = (uint32_t)v;
		break;
	case STORE_U64:
		*(uint64_t *)at = (uint64_t)v;
		break;
	default:
		*(double *)at = v;
	}
}

/* Numbers that were equal stay equal: a QP for each thread, a UAR for each QP. */
static void put_along(struct sim_job *j, uint32_t was, uint32_t is)
{
	if (j->uars == was)
		j->uars = is;
	if (j->used == was)
		j->used = is;
	if (j->qps == was)
		j->qps = is;
}

bool sim_param_set(struct scenario *sc, const struct sim_param *p, double v)
{
	const struct kind *k = &kinds[p->kind];
	struct sim_job *j = &sc->jobs[p->job];
	uint32_t was = (uint32_t)sim_param_get(sc, p);

	if (v < k->min || v > k->max || (k->unit == UNIT_COUNT && v != (double)(uint64_t)v))
		return false;
	put_value(sc, p, v);
	if (!strcmp(k->name, "threads") || !strcmp(k->name, "qps"))
		put_along(j, was, (uint32_t)v);
	return j->used <= j->qps;
}

enum unit sim_param_unit(const struct sim_param *p)
{
	return kinds[p->kind].unit;
}

static void name_param(const struct scenario *sc, struct sim_param *p)
{
	struct text t;

	text_init(&t, p->name, sizeof(p->name));
	if (p->kind >= FIRST_OF_JOB) {
		text_str(&t, sc->jobs[p->job].name);
		text_str(&t, ".");
	}
	text_str(&t, kinds[p->kind].name);
}

/* Does the scenario set the number, and can the number matter? */
static bool is_said(const struct scenario *sc, const struct sim_param *p)
{
	const struct sim_job *j = &sc->jobs[p->job];
	const char *what = kinds[p->kind].name;
	size_t i;

	if (p->kind >= FIRST_OF_JOB) {
		/* put_along() changes a number together with the one that it equals. */
		if (!strcmp(what, "qps"))
			return !j->shares[0] && j->qps != j->threads;
		if (!strcmp(what, "used"))
			return j->used != j->qps;
		if (!strcmp(what, "uars"))
			return j->uars && j->uars != j->qps;
		return sim_param_get(sc, p) > 0;
	}
	for (i = 0; i < sc->n_jobs; i++)
		if ((!p->kind && sc->jobs[i].control_rate > 0) ||
		    (!strcmp(what, "window") && sc->jobs[i].shares[0]))
			return true;
	return sc->nic_said & 1u << p->kind;
}

size_t sim_params(const struct scenario *sc, struct sim_param *p, size_t cap)
{
	struct sim_param is = { .job = 0 };
	size_t n = 0;

	for (is.kind = 0; is.kind < FIRST_OF_JOB && n < cap; is.kind++)
		if (is_said(sc, &is)) {
			name_param(sc, &is);
			p[n++] = is;
		}
	for (is.job = 0; is.job < sc->n_jobs; is.job++)
		for (is.kind = FIRST_OF_JOB; is.kind < KINDS && n < cap; is.kind++)
			if (is_said(sc, &is)) {
				name_param(sc, &is);
				p[n++] = is;
			}
	return n;
}

int sim_param_named(const struct scenario *sc, const char *what, struct sim_param *p)
{
	memset(p, 0, sizeof(*p));
	for (p->kind = 0; p->kind < KINDS; p->kind++)
		for (p->job = 0; p->job < (p->kind < FIRST_OF_JOB ? 1 : sc->n_jobs); p->job++) {
			name_param(sc, p);
			if (!strcmp(p->name, what))
				return 0;
		}
	return -1;
}

/* --- Sweep ------------------------------------------------------------------------- */

struct sweep {
	const struct scenario *sc;
	const struct config *cfg;
	struct scenario *moved;
	struct sim_result *without, *with;
	FILE *progress;
	unsigned int runs;
};

static const struct sim_values *values_of(const struct scenario *sc, const char *what)
{
	size_t i;

	for (i = 0; i < sc->n_values; i++)
		if (!strcmp(sc->values[i].name, what))
			return &sc->values[i];
	return NULL;
}

/* -errno; 1: the claim holds; 0: it fails, and @lost names the bound. */
static int try_value(struct sweep *w, const struct sim_param *p, double v, char *lost, size_t cap)
{
	size_t i;
	int err;

	*w->moved = *w->sc;
	if (!sim_param_set(w->moved, p, v))
		return -ERANGE;
	if (w->progress)
		fprintf(w->progress, "\r%-40s %4u runs ", p->name, ++w->runs);
	err = sim_run_both(w->moved, w->cfg, w->without, w->with);
	/* Values with more threads or queue pairs than there is room for are not tried. */
	if (err)
		return err == -EINVAL ? -ERANGE : err;
	for (i = 0; i < w->sc->n_bounds; i++)
		if (!sim_holds(&w->sc->bounds[i], w->without, w->with)) {
			sim_bound_text(w->sc, &w->sc->bounds[i], w->without, w->with,
				       lost, cap);
			return 0;
		}
	return 1;
}

/* From the scenario's value up or down, as far as the claim holds. */
static int walk_range(struct sweep *w, struct sim_range *r, const double *v, size_t n, bool up)
{
	double *held = up ? &r->to : &r->from;
	double *tried = up ? &r->tried_to : &r->tried_from;
	char *lost = up ? r->above : r->below;
	size_t i, k;
	int got;

	for (i = 0; i < n; i++) {
		k = up ? i : n - 1 - i;
		if (up ? v[k] <= r->value : v[k] >= r->value)
			continue;
		got = try_value(w, &r->param, v[k], lost, sizeof(r->above));
		if (got == -ERANGE)
			return 0;
		if (got < 0)
			return got;
		*tried = v[k];
		if (!got)
			return 0;
		*held = v[k];
	}
	return 0;
}

static int sweep_one(struct sweep *w, const struct sim_param *p, struct sim_range *r)
{
	const struct sim_values *said = values_of(w->sc, p->name);
	double v[SIM_VALUES];
	size_t n = 0;
	int err;

	*r = (struct sim_range){ .param = *p, .unit = sim_param_unit(p) };
	r->value = sim_param_get(w->sc, p);
	r->from = r->to = r->tried_from = r->tried_to = r->value;
	if (said && !said->n) {
		r->published = true;
		return 0;
	}
	if (said) {
		n = said->n;
		memcpy(v, said->v, n * sizeof(*v));
	} else {
		for (; n < 4; n++)
			v[n] = r->value * (double[]){ 0.25, 0.5, 2, 4 }[n];
	}
	err = walk_range(w, r, v, n, true);
	return err ? err : walk_range(w, r, v, n, false);
}

int sim_sweep(const struct scenario *sc, const struct config *cfg, struct sim_range *ranges,
	      size_t *n, FILE *progress)
{
	struct sweep w = {
		.sc = sc, .cfg = cfg, .progress = progress,
		.moved = malloc(sizeof(*w.moved)), .without = malloc(sizeof(*w.without)),
		.with = malloc(sizeof(*w.with)),
	};
	struct sim_param *p = calloc(SIM_PARAMS, sizeof(*p));
	int err = p && w.moved && w.without && w.with ? 0 : -ENOMEM;
	size_t i;

	*n = err ? 0 : sim_params(sc, p, SIM_PARAMS);
	for (i = 0; !err && i < *n; i++)
		err = sweep_one(&w, &p[i], &ranges[i]);
	if (progress)
		fprintf(progress, "\r%56s\r", "");
	free(p);
	free(w.moved);
	free(w.without);
	free(w.with);
	return err;
}
