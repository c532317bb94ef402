/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * SMART's measurements of a ConnectX-6 (selftests/data/), and a simulation of each of their
 * points. A thread posts a batch of requests, with a doorbell each, waits for all of them,
 * and begins again. A point is simulated until its rate is steady: the number of rounds of
 * all threads is doubled until the rate no longer changes.
 */
#ifndef SELFTESTS_SMART_H
#define SELFTESTS_SMART_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

#define SMART_POINTS 128
#define SMART_CURVES 8

struct smart_point {
	int threads, depth;
	double mops;	/* measured, M/s */
	double model;	/* simulated */
};

/* Points of a file that were measured in the same way. */
struct smart_curve {
	char mode[32];
	struct smart_point *point;
	int n;
	double error;	/* mean of the absolute errors, % */
};

struct smart_file {
	const char *name;	/* smart-cx6-NAME.csv */
	enum model_op op;
	struct smart_point point[SMART_POINTS];
	struct smart_curve curve[SMART_CURVES];
	int n, n_curves;
	double error;	/* mean over the curves, % */
};

static inline void smart_read(struct smart_file *f, const char *name)
{
	char line[128], mode[32], path[256];
	struct smart_point p = { 0 };
	struct smart_curve *c = NULL;
	FILE *in;

	snprintf(path, sizeof(path), TOP "/selftests/data/smart-cx6-%s.csv", name);
	in = fopen(path, "re");
	if (!in) {
		perror(path);
		exit(1);
	}
	memset(f, 0, sizeof(*f));
	f->name = name;
	f->op = strncmp(name, "write", 5) ? MODEL_READ : MODEL_WRITE;
	while (f->n < SMART_POINTS && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%31[^,],%d,%d,8,%lf", mode, &p.threads, &p.depth,
			   &p.mops) != 4)
			continue;
		if (!c || strcmp(c->mode, mode)) {
			c = &f->curve[f->n_curves++];
			strcpy(c->mode, mode);
			c->point = &f->point[f->n];
		}
		f->point[f->n++] = p;
		c->n++;
	}
	fclose(in);
}

/* Rounds of all threads in the first window, and the least number of WRs in it. */
#define SMART_ROUNDS	8
#define SMART_WRS	4000
#define SMART_STEADY	0.005
#define SMART_NEVER	(1ULL << 24)	/* WRs after which a point is given up */

struct smart_steady {
	uint64_t ns, wrs, until;	/* start of the window, and its end in WRs */
	double rate, before;		/* WRs per ns in the last two windows */
	bool is;
};

static inline bool smart_steady(void *ctx, uint64_t ns, uint64_t wrs)
{
	struct smart_steady *s = ctx;

	if (wrs < s->until)
		return false;
	s->before = s->rate;
	s->rate = (double)(wrs - s->wrs) / (double)(ns - s->ns);
	s->is = s->before > 0 && fabs(s->rate / s->before - 1) <= SMART_STEADY;
	s->wrs = wrs;
	s->ns = ns;
	s->until = 2 * wrs;
	return s->is || wrs > SMART_NEVER;
}

/* Simulates a point until @steady is true. */
static inline struct smart_steady smart_run(const char *mode, enum model_op op,
					    const struct smart_point *p,
					    const struct model_params *nic,
					    const struct model_host *host,
					    bool (*is_steady)(void *, uint64_t, uint64_t))
{
	static struct sim_result res;
	struct smart_steady steady = { 0 };
	struct sim_options opt = { .steady = is_steady, .ctx = &steady };
	struct scenario sc = {
		.name = "smart", .nic = *nic, .host = *host, .seed = 1, .window = 1,
		.n_jobs = 1, .time = 1000000000000, .interval = 50000,
	};
	struct sim_job *j = &sc.jobs[0];
	int share = 1, limit;

	strcpy(j->name, "smart");
	j->class = SWIFTRDMA_JOB_CLASS_THROUGHPUT;
	j->arrival = SIM_BATCH;
	j->op = op;
	j->threads = (uint32_t)p->threads;
	j->depth = (uint32_t)p->depth;
	j->bytes = 8;
	if (!strcmp(mode, "shared-qp"))
		share = p->threads;
	else
		sscanf(mode, "mul-%d", &share);
	j->qps = (uint32_t)((p->threads + share - 1) / share);
	j->used = j->qps;
	if (!strcmp(mode, "per-doorbell") || !strcmp(mode, "work-req-throt"))
		j->uars = j->qps;
	/* SMART's throttle finds how many requests the NIC can hold; here that is known. */
	limit = (int)nic->wqe_limit / p->threads;
	if (!strcmp(mode, "work-req-throt") && p->depth > limit)
		j->depth = (uint32_t)limit;
	steady.until = (uint64_t)SMART_ROUNDS * j->threads * j->depth;
	if (steady.until < SMART_WRS)
		steady.until = SMART_WRS;
	if (sim_run(&sc, &opt, &res) || !steady.is) {
		fprintf(stderr, "%s, %d threads, depth %d: no steady rate\n", mode,
			p->threads, p->depth);
		exit(1);
	}
	return steady;
}

/* Simulates all points of a file; @only: names of curves, or NULL for all. */
static inline double smart_error(struct smart_file *f, const char *only,
				 const struct model_params *nic,
				 const struct model_host *host)
{
	int i, k, n = 0;

	f->error = 0;
	for (i = 0; i < f->n_curves; i++) {
		struct smart_curve *c = &f->curve[i];

		c->error = 0;
		if (only && !strstr(only, c->mode))
			continue;
		for (k = 0; k < c->n; k++) {
			c->point[k].model = 1e3 * smart_run(c->mode, f->op, &c->point[k],
							    nic, host, smart_steady).rate;
			c->error += 100 * fabs(c->point[k].model / c->point[k].mops - 1) / c->n;
		}
		f->error += c->error;
		n++;
	}
	if (n)
		f->error /= n;
	return f->error;
}

#endif
