// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Three experiments under load: doorbell registers that are shared or not, as in the paper; more
 * work requests under way, and more QPs in use, as in SMART.
 */
#include <stdio.h>

#include "probe/probe.h"
#include "probe/writers.h"

#define MEASURE_NS	300000000ull
#define MEASURE_SIM_NS	1500000000ull	/* a device in software does little in less */
#define ROUNDS		2	/* the greater rate counts: other traffic only lowers a rate */

/* The paper's experiment: 64 QPs, 512 bytes. A ConnectX-5 lost 57 % of its rate there. */
#define CROWD_QPS_N	64
#define CROWD_BYTES	512
#define CROWD_DEPTH	8
#define CROWD_LOSS	1.2	/* a greater factor between the two rates is not noise */

/* Small messages, so that neither port nor PCI is full before the units are. */
#define SMALL		8

static const uint32_t depths[] = { 1, 4, 8, 12, 16, 32, 64 };
/* QPs times depth is constant, and below the limit of WQEs that the sweep over depths finds. */
static const uint32_t qp_counts[] = { 32, 64, 128, 256, 512 };
#define QPS_WINDOW	512

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* Messages per second. < 0: the rate cannot be measured, and @f says why. */
static double measure_load(struct probe *p, struct probe_finding *f, struct writers_want *want)
{
	double rate, best = 0;
	struct writers_result r;

	want->to = probe_to(p);
	want->measure_ns = p->simulated ? MEASURE_SIM_NS : MEASURE_NS;
	for (int i = 0; i < ROUNDS; i++) {
		if (writers_run(want, &r)) {
			finding_nic(f);
			return -1;
		}
		rate = r.seconds > 0 ? (double)r.messages / r.seconds * p->scale : 0;
		best = rate > best ? rate : best;
	}
	if (best > 0)
		return best;
	finding_cannot(f, "%u QPs with %u writes each do not get through within 20 s", want->qps,
		       want->depth);
	return -1;
}

static void add_rate(struct probe *p, struct probe_finding *f, bool own, uint32_t threads,
		     double rate)
{
	/* A device in software cannot see threads: the QPs are its contenders. */
	const struct fit_load load = {
		.contenders = own ? 1 : p->simulated ? CROWD_QPS_N : threads,
		.threads = threads, .bytes = CROWD_BYTES, .host = !p->simulated,
	};
	struct probe_figure *g = finding_compare(f, PROBE_SHOWN, "1/s", 0, rate,
						 "%s, %u threads", own ? "a register each" :
						 "one register", threads);

	if (g) {
		g->has_model = true;
		g->model = fit_model_rate(p->preset, &load);
	}
}

/* False: not measured, and @f says why. */
static bool measure_both(struct probe *p, struct probe_finding *f, struct nic *bare,
			 uint32_t threads, double rate[2])
{
	for (int own = 0; own < 2; own++) {
		struct writers_want want = {
			.from = own ? &p->nic : bare, .qps = CROWD_QPS_N, .threads = threads,
			.depth = CROWD_DEPTH, .bytes = CROWD_BYTES, .own = own,
		};

		rate[own] = measure_load(p, f, &want);
		if (rate[own] < 0)
			return false;
		add_rate(p, f, own, threads, rate[own]);
	}
	return true;
}

static void compare_registers(struct probe *p, struct probe_finding *f, struct nic *bare)
{
	uint32_t most = writers_threads(), threads = 1;
	double rate[2];

	for (;;) {
		if (!measure_both(p, f, bare, threads, rate))
			return;
		if (threads == most)
			break;
		threads = 2 * threads < most ? 2 * threads : most;
	}
	finding_compare(f, PROBE_AT_LEAST, "times", CROWD_LOSS, rate[1] / rate[0],
			"a register each, to one register");
	finding_say(f, "%d QPs, %u threads: %.2f M/s on one register, %.2f M/s on a register each, %.2f times as fast",
		    CROWD_QPS_N, most, rate[0] / 1e6, rate[1] / 1e6, rate[1] / rate[0]);
}

void check_registers(struct probe *p, struct probe_finding *f)
{
	struct nic bare;

	if (!p->simulated && writers_threads() == 1) {
		finding_cannot(f, "one CPU: no two threads can meet at a register");
		return;
	}
	if (nic_open(&bare, p->nic.name, true)) {
		finding_nic(f);
		return;
	}
	compare_registers(p, f, &bare);
	nic_close(&bare);
}

/* The rate of each point of a sweep. False: not measured, and @f says why. */
static bool sweep_points(struct probe *p, struct probe_finding *f, const uint32_t *points, size_t n,
			 bool of_qps, struct fit_curve *c)
{
	c->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct writers_want want = {
			.from = &p->nic, .threads = writers_threads(), .bytes = SMALL,
			.own = p->mlx5,
			.qps = of_qps ? points[i] : CROWD_QPS_N,
			.depth = of_qps ? QPS_WINDOW / points[i] : points[i],
		};
		double rate = measure_load(p, f, &want);

		if (rate < 0)
			return false;
		fit_add(c, of_qps ? want.qps : want.qps * want.depth, rate);
		finding_compare(f, PROBE_SHOWN, "1/s", 0, rate, "%.0f %s", c->x[i],
				of_qps ? "QPs" : "outstanding");
	}
	return true;
}

void check_depth(struct probe *p, struct probe_finding *f)
{
	struct fit_curve *c = &p->measured.depth;
	struct model_params params;
	double peak = 0, last, knee;

	if (!sweep_points(p, f, depths, N(depths), false, c))
		return;
	for (size_t i = 0; i < c->n; i++)
		peak = c->rate[i] > peak ? c->rate[i] : peak;
	last = c->rate[c->n - 1];
	finding_compare(f, PROBE_AT_MOST, "of the peak", 0.9, last / peak, "rate with %.0f outstanding",
			c->x[c->n - 1]);
	if (fit_knee(c, fit_wqe_penalty(p->preset), &knee)) {
		struct probe_figure *g = finding_compare(f, PROBE_SHOWN, "outstanding", 0, knee,
							 "WQEs that fit the NIC");

		model_preset(p->preset, &params);
		if (g) {
			g->has_model = true;
			g->model = params.wqe_limit;
		}
		finding_say(f, "%.1f M/s at most, %.1f M/s with %.0f outstanding: about %.0f WQEs fit the NIC",
			    peak / 1e6, last / 1e6, c->x[c->n - 1], knee);
	} else {
		finding_say(f, "%.1f M/s at most, %.1f M/s with %.0f outstanding: no limit in this range",
			    peak / 1e6, last / 1e6, c->x[c->n - 1]);
	}
}

void check_qps(struct probe *p, struct probe_finding *f)
{
	struct fit_curve *c = &p->measured.qps;
	double few, many;

	if (!sweep_points(p, f, qp_counts, N(qp_counts), true, c))
		return;
	few = c->rate[1];
	many = c->rate[c->n - 1];
	finding_compare(f, PROBE_NEAR, "of the rate of 64", 1, many / few, "rate of %.0f QPs",
			c->x[c->n - 1]);
	finding_say(f, "%.1f M/s with 64 QPs, %.1f M/s with %.0f, %d requests outstanding in both",
		    few / 1e6, many / 1e6, c->x[c->n - 1], QPS_WINDOW);
}
