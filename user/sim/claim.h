/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The claim of a scenario: bounds on figures of its runs without and with policies, and the
 * values of chosen numbers over which the bounds hold.
 */
#ifndef SRDMA_SIM_CLAIM_H
#define SRDMA_SIM_CLAIM_H

#include "sim/sim.h"

/* With fewer requests a p99 or a rate is void, with fewer ticks a share. */
#define SIM_SAMPLES	100
#define SIM_TICKS	10

/*
 * The figure that @b bounds. False: the figure is void, because it lacks samples or a
 * baseline.
 */
bool sim_figure(const struct sim_bound *b, const struct sim_result *without,
		const struct sim_result *with, double *v);
enum unit sim_bound_unit(const struct sim_bound *b);
bool sim_holds(const struct sim_bound *b, const struct sim_result *without,
	       const struct sim_result *with);
/* "p99 of j2, times better with than without: 7.13, at least 5"; returns @buf. */
const char *sim_bound_text(const struct scenario *sc, const struct sim_bound *b,
			   const struct sim_result *without,
			   const struct sim_result *with, char *buf, size_t cap);

/* Runs a scenario without policies and with those of @cfg. As sim_run(). */
int sim_run_both(const struct scenario *sc, const struct config *cfg,
		 struct sim_result *without, struct sim_result *with);

/* --- Parameters -------------------------------------------------------------------- */

#define SIM_PARAMS	256	/* the most parameters of a scenario */
#define SIM_PARAM_NAME	(SNAP_NAME + 16)

/* A number of a scenario. */
struct sim_param {
	char name[SIM_PARAM_NAME];	/* "kv.depth", "nic.control_time" */
	unsigned int kind;		/* of sweep.c's table */
	uint32_t job;
};

/* The range of a parameter in which the claim holds, while all others keep their values. */
struct sim_range {
	struct sim_param param;
	bool published;			/* published with the figure, so not varied */
	enum unit unit;
	double value;
	double from, to;		/* between these the claim holds */
	double tried_from, tried_to;
	/* The bound that fails at the first value beyond the range; empty: none. */
	char below[128], above[128];
};

/* Lists the chosen and published numbers of a scenario, not the calibrated ones. */
size_t sim_params(const struct scenario *sc, struct sim_param *p, size_t cap);
/* -1: no parameter has that name. */
int sim_param_named(const struct scenario *sc, const char *name, struct sim_param *p);
double sim_param_get(const struct scenario *sc, const struct sim_param *p);
/* False: the value is out of range. */
bool sim_param_set(struct scenario *sc, const struct sim_param *p, double v);
enum unit sim_param_unit(const struct sim_param *p);

/*
 * Sets each parameter to a quarter, half, twice and four times its value, or to the values
 * in the scenario. @ranges: room for SIM_PARAMS; @n: out, their number. 0 or -errno as
 * sim_run()
 */
int sim_sweep(const struct scenario *sc, const struct config *cfg, struct sim_range *ranges,
	      size_t *n, FILE *progress);

#endif /* SRDMA_SIM_CLAIM_H */
