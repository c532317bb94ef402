/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a scenario shows: bounds on figures of its runs, without policies and with
 * them; and over which values of what was chosen for it the bounds hold.
 */
#ifndef SRDMA_SIM_CLAIM_H
#define SRDMA_SIM_CLAIM_H

#include "sim/sim.h"

/* p99 and rates of fewer requests, shares of fewer ticks, say nothing. */
#define SIM_SAMPLES	100
#define SIM_TICKS	10

/*
 * The figure that @b bounds. False: void, for want of samples or of a baseline to be
 * compared with.
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

#define SIM_PARAMS	256	/* of a scenario at most */
#define SIM_PARAM_NAME	(SNAP_NAME + 16)

/* Something that a scenario says with a number. */
struct sim_param {
	char name[SIM_PARAM_NAME];	/* "kv.depth", "nic.control_time" */
	unsigned int kind;		/* of sweep.c's table */
	uint32_t job;
};

/* How the claim fares if it is moved, and all else stands still. */
struct sim_range {
	struct sim_param param;
	bool published;			/* it is what was measured: not moved */
	enum unit unit;
	double value;
	double from, to;		/* between these the claim holds */
	double tried_from, tried_to;
	/* What is lost at the first value tried beyond; empty: nothing. */
	char below[128], above[128];
};

/* Lists the numbers of a scenario that are chosen or published, not the calibrated ones. */
size_t sim_params(const struct scenario *sc, struct sim_param *p, size_t cap);
/* -1: there is none of that name. */
int sim_param_named(const struct scenario *sc, const char *name, struct sim_param *p);
double sim_param_get(const struct scenario *sc, const struct sim_param *p);
/* False: out of its range. */
bool sim_param_set(struct scenario *sc, const struct sim_param *p, double v);
enum unit sim_param_unit(const struct sim_param *p);

/*
 * Moves each of them to half and double and four times less and more, or to the values
 * that the scenario says. @ranges: room for SIM_PARAMS; @n: how many there are. 0 or
 * -errno as sim_run().
 */
int sim_sweep(const struct scenario *sc, const struct config *cfg, struct sim_range *ranges,
	      size_t *n, FILE *progress);

#endif /* SRDMA_SIM_CLAIM_H */
