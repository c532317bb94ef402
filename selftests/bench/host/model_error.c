// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How far the simulator is from measurements of a ConnectX-6 (selftests/data/),
 * and the fit of its parameters on them:
 *
 *   model_error		a row for each curve and file, as in bench/run.sh
 *   model_error --points	every point as well, on stderr
 *   model_error --fit	descent from the preset, in one or two parameters at a time;
 *			prints what is better
 *
 * Nothing is tabled: ten physical parameters, each with its unit, for all curves
 * together. What a curve's error is not fitted on is said to be a prediction.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

#define WRS 16000.0	/* per point, a fifth of it to settle */

struct point {
	char mode[32];
	int threads, depth;
	double mops;
};

static struct point points[256];
static size_t n_points, n_threads_file;

static bool fitted(const char *mode)
{
	return strcmp(mode, "work-req-throt");
}

static void read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[128];

	if (!f) {
		perror(path);
		exit(1);
	}
	while (n_points < 256 && fgets(line, sizeof(line), f)) {
		struct point *p = &points[n_points];

		if (sscanf(line, "%31[^,],%d,%d,8,%lf", p->mode, &p->threads,
			   &p->depth, &p->mops) == 4)
			n_points++;
	}
	fclose(f);
}

/* SMART's workload at one point: a thread posts so many and waits for all. */
static double simulate(const struct point *p, const struct model_params *nic,
		       const struct model_host *host)
{
	static struct sim_result res;
	struct sim_options opt = { 0 };
	struct scenario sc = {
		.name = "smart", .nic = *nic, .host = *host, .seed = 1,
		.window = 1, .n_jobs = 1,
	};
	struct sim_job *j = &sc.jobs[0];
	int share = 1, limit;

	snprintf(j->name, sizeof(j->name), "reads");
	j->class = SWIFTRDMA_JOB_CLASS_THROUGHPUT;
	j->arrival = SIM_BATCH;
	j->threads = (uint32_t)p->threads;
	j->depth = (uint32_t)p->depth;
	j->bytes = 8;
	if (!strcmp(p->mode, "shared-qp"))
		share = p->threads;
	else
		sscanf(p->mode, "mul-%d", &share);
	j->qps = (uint32_t)((p->threads + share - 1) / share);
	j->used = j->qps;
	if (!strcmp(p->mode, "per-doorbell") || !strcmp(p->mode, "work-req-throt"))
		j->uars = j->qps;
	/* SMART's throttle finds what the NIC can hold; here it is known. */
	limit = (int)nic->wqe_limit / p->threads;
	if (!strcmp(p->mode, "work-req-throt") && p->depth > limit)
		j->depth = (uint32_t)limit;
	sc.time = (uint64_t)(WRS * 1000 / p->mops);
	sc.warmup = sc.time / 5;
	sc.interval = sc.time;
	if (sim_run(&sc, &opt, &res)) {
		fprintf(stderr, "model_error: a point cannot be simulated\n");
		exit(1);
	}
	return (double)res.job[0].done * 1e3 / (double)res.measured;
}

struct curve {
	char mode[32];
	double sum;
	int n;
};

/* Mean of the fitted curves' mean absolute errors in one file, %. */
static double file_error(size_t from, size_t to, const struct model_params *nic,
			 const struct model_host *host, struct curve *curves,
			 size_t *n_curves, bool say)
{
	double sum = 0;
	size_t i, n = 0;
	int k = 0;

	for (i = from; i < to; i++) {
		const struct point *p = &points[i];
		double is, error;

		if (!n || strcmp(curves[n - 1].mode, p->mode)) {
			memset(&curves[n], 0, sizeof(*curves));
			snprintf(curves[n++].mode, sizeof(curves[0].mode), "%s",
				 p->mode);
		}
		is = simulate(p, nic, host);
		error = 100 * fabs(is / p->mops - 1);
		curves[n - 1].sum += error;
		curves[n - 1].n++;
		if (say)
			fprintf(stderr, "%-14s threads %2d depth %2d M/s %7.3f model %7.3f %+.1f %%\n",
				p->mode, p->threads, p->depth, p->mops, is,
				100 * (is / p->mops - 1));
	}
	for (i = 0; i < n; i++)
		if (fitted(curves[i].mode)) {
			sum += curves[i].sum / curves[i].n;
			k++;
		}
	*n_curves = n;
	return k ? sum / k : 0;
}

static double both(const struct model_params *nic, const struct model_host *host)
{
	struct curve c[16];
	size_t n;

	return file_error(0, n_threads_file, nic, host, c, &n, false) +
	       file_error(n_threads_file, n_points, nic, host, c, &n, false);
}

static void rows(const char *file, double first, size_t from, size_t to,
		 const struct model_params *nic, const struct model_host *host,
		 bool say)
{
	struct curve c[16];
	size_t n, i;
	double e = file_error(from, to, nic, host, c, &n, say);

	for (i = 0; i < n; i++)
		printf("{\"bench\":\"model_error_%s_%s\",\"value\":%.1f,\"unit\":\"%%\",\"vs\":null,\"ratio\":null,\"simulated\":true,\"fitted\":%s}\n",
		       file, c[i].mode, c[i].sum / c[i].n,
		       fitted(c[i].mode) ? "true" : "false");
	printf("{\"bench\":\"model_error_%s\",\"value\":%.1f,\"unit\":\"%%\",\"vs\":%.1f,\"ratio\":%.2f,\"goal\":\"value < %.1f\",\"ok\":%s,\"simulated\":true,\"rival\":\"a first attempt with the same equations\"}\n",
	       file, e, first, e / first, first, e < first ? "true" : "false");
	fflush(stdout);
}

static struct model_params nic;
static struct model_host host;

/* What may be moved, and what it is. */
static const struct {
	const char *what;
	uint32_t *v;
} knobs[] = {
	{ "post, CPU time of a WR (ps)", &host.post_ps },
	{ "share_q8, more of it where threads share a core (/256)", &host.share_q8 },
	{ "register lock, one contender (ps)", &host.uar_lock_ps },
	{ "register held by who met nobody (ps)", &host.uar_hold_ps },
	{ "QP lock, one contender (ps)", &host.qp_lock_ps },
	{ "a unit's time for a WQE (ps)", &nic.pu_ps },
	{ "WRs that the NIC holds", &nic.wqe_limit },
	{ "a refetch, in WQE times (/256)", &nic.wqe_refetch_q8 },
	{ "pipe, there and back (ps)", &nic.pipe_ps },
	{ "jitter of a unit (%)", &nic.jitter_pct },
};

#define KNOBS (sizeof(knobs) / sizeof(knobs[0]))

/* One of them a step up or down. Returns what it was. */
static uint32_t move(size_t i, double by)
{
	uint32_t was = *knobs[i].v;

	*knobs[i].v = (uint32_t)(was * (1 + by));
	if (knobs[i].v == &nic.jitter_pct && *knobs[i].v > 100)
		*knobs[i].v = 100;
	return was;
}

/*
 * Is there something better a step away, in one knob or, as most of a latency may
 * be CPU time or pipe, in two at once?
 */
static bool improve(double *best, double step, bool pairs)
{
	bool better = false;
	uint32_t was, was2;
	size_t i, k;
	int way;
	double e;

	for (i = 0; i < KNOBS; i++)
		for (k = pairs ? 0 : i; k < (pairs ? i : i + 1); k++)
			for (way = 0; way < (pairs ? 4 : 2); way++) {
				was = move(i, way & 1 ? step : -step);
				was2 = *knobs[k].v;
				if (pairs)
					move(k, way & 2 ? step : -step);
				e = both(&nic, &host);
				if (e < *best) {
					*best = e;
					better = true;
					fprintf(stderr, "fit: %.2f, %s %u, %s %u\n",
						e, knobs[i].what, *knobs[i].v,
						knobs[k].what, *knobs[k].v);
					break;
				}
				if (pairs)
					*knobs[k].v = was2;
				*knobs[i].v = was;
			}
	return better;
}

static void fit(void)
{
	double best = both(&nic, &host), step = 0.08;
	size_t i;

	fprintf(stderr, "fit: begins at %.2f\n", best);
	while (step > 0.008)
		if (!improve(&best, step, false) && !improve(&best, step, true))
			step /= 2;
	for (i = 0; i < KNOBS; i++)
		printf("# %s: %u\n", knobs[i].what, *knobs[i].v);
}

int main(int argc, char **argv)
{
	bool say = argc > 1 && !strcmp(argv[1], "--points");

	read_file(TOP "/selftests/data/smart-cx6-read-threads.csv");
	n_threads_file = n_points;
	read_file(TOP "/selftests/data/smart-cx6-read-depth.csv");
	model_preset(MODEL_CX6, &nic);
	model_preset_host(MODEL_CX6, &host);
	if (argc > 1 && !strcmp(argv[1], "--fit"))
		fit();
	rows("threads", 8.6, 0, n_threads_file, &nic, &host, say);
	rows("depth", 6.0, n_threads_file, n_points, &nic, &host, say);
	return 0;
}
