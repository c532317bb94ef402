// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "probe/fit.h"

#include <inttypes.h>
#include <math.h>

#define FALLS		0.9	/* of the greatest rate: a curve that ends below has a knee */
#define STEP		1.01	/* between two knees that are tried */
/* What a scenario accepts (user/sim/scenario.c). */
#define WQES_MAX	(1u << 20)
#define CACHE_MIN	1024
#define CACHE_MAX	(1u << 30)
#define CONTROL_MAX_NS	4000000

bool fit_add(struct fit_curve *c, double x, double rate)
{
	if (c->n == FIT_POINTS)
		return false;
	c->x[c->n] = x;
	c->rate[c->n++] = rate;
	return true;
}

static size_t find_peak(const struct fit_curve *c)
{
	size_t best = 0;

	for (size_t i = 1; i < c->n; i++)
		if (c->rate[i] > c->rate[best])
			best = i;
	return best;
}

/* The square error of the best curve with this knee, relative to the rates. */
static double knee_error(const struct fit_curve *c, size_t from, double penalty, double knee)
{
	double a = 0, b = 0, error = 0, scale;

	/* rate = scale * g(x); the best scale has a closed form. */
	for (int pass = 0; pass < 2; pass++) {
		scale = b > 0 ? a / b : 0;
		for (size_t i = from; i < c->n; i++) {
			double over = c->x[i] > knee ? 1 - knee / c->x[i] : 0;
			double g = 1 / (1 + penalty * over) / c->rate[i];

			if (pass) {
				error += (scale * g - 1) * (scale * g - 1);
			} else {
				a += g;
				b += g * g;
			}
		}
	}
	return error;
}

bool fit_knee(const struct fit_curve *c, double penalty, double *knee)
{
	size_t peak = find_peak(c);
	double best = INFINITY;

	if (!c->n || c->rate[c->n - 1] <= 0 || c->rate[c->n - 1] >= FALLS * c->rate[peak])
		return false;
	for (double k = c->x[0] / 2; k <= c->x[c->n - 1]; k *= STEP) {
		double error = knee_error(c, peak, penalty, k);

		if (error >= best)
			continue;
		best = error;
		*knee = k;
	}
	return true;
}

double fit_wqe_penalty(enum model_preset preset)
{
	struct model_params p;

	model_preset(preset, &p);
	return p.wqe_refetch_q8 / 256.0;
}

double fit_context_penalty(enum model_preset preset)
{
	struct model_params p;

	model_preset(preset, &p);
	return p.pu_ps ? (double)p.fetch_ps / p.pu_ps : 0;
}

static double smaller_of(double a, double b)
{
	return a < b ? a : b;
}

double fit_model_rate(enum model_preset preset, const struct fit_load *l)
{
	struct model_params p;
	struct model_host h;
	double rate, port;

	model_preset(preset, &p);
	model_preset_host(preset, &h);
	rate = p.pus * 1e12 / (p.pu_ps + p.payload_ps);
	port = (double)p.link_bps / ((l->bytes + p.header) * 8.0);
	rate = smaller_of(rate, port);
	if (l->host && h.post_ps)
		rate = smaller_of(rate, l->threads * 1e12 / h.post_ps);
	if (l->contenders > 1)
		rate = smaller_of(rate, 1e12 / (p.uar_ps * pow(l->contenders, p.uar_exp / 1000.0)));
	return rate;
}

static double clamp_to(double v, double least, double most)
{
	return v < least ? least : v > most ? most : v;
}

void fit_write(FILE *f, enum model_preset preset, const struct fit_measured *m, const char *about)
{
	struct model_params p;
	double knee;

	model_preset(preset, &p);
	fprintf(f, "# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB\n# %s\n", about);
	fputs("# What is not set here was not measured, or showed no limit: it is the preset's.\n", f);
	fputs("name: probed\n", f);
	fprintf(f, "nic:\n  preset: %s\n", preset == MODEL_CX5 ? "cx5" : "cx6");
	if (m->link_bps)
		fprintf(f, "  link: %" PRIu64 "Mbit/s\n", m->link_bps / 1000000);
	if (fit_knee(&m->depth, fit_wqe_penalty(preset), &knee))
		fprintf(f, "  wqe_limit: %.0f\n", clamp_to(knee, 1, WQES_MAX));
	if (fit_knee(&m->qps, fit_context_penalty(preset), &knee))
		fprintf(f, "  cache_bytes: %.0f\n",
			clamp_to(knee * p.entry_bytes[MODEL_QPC], CACHE_MIN, CACHE_MAX));
	if (m->command_ns > 0)
		fprintf(f, "  control_time: %.0fns\n", clamp_to(m->command_ns, 1, CONTROL_MAX_NS));
	fputs("time: 2ms\njobs:\n  - {name: crowd, class: throughput, arrival: closed, op: write, threads: 16, qps: 64, depth: 8, size: 512, uars: 16}\n",
	      f);
}
