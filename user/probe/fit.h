/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * From measured rates to parameters of the contention model (user/model). Pure functions; the
 * unit tests call them with curves that the model computes.
 */
#ifndef SRDMA_PROBE_FIT_H
#define SRDMA_PROBE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/model.h"

#define FIT_POINTS	16

/* Rates (1/s) at so many work requests outstanding, or QPs in use, ascending. */
struct fit_curve {
	double x[FIT_POINTS], rate[FIT_POINTS];
	size_t n;
};

/* What a NIC showed. A member that is 0, or an empty curve, was not measured. */
struct fit_measured {
	uint64_t link_bps;
	double command_ns;
	struct fit_curve depth, qps;
};

/* False: the curve is full. */
bool fit_add(struct fit_curve *c, double x, double rate);

/**
 * fit_knee - where a resource of the NIC is used up
 * @c: rates
 * @penalty: additional time of a request that lacks the resource, in times of one that has it
 * @knee: out
 *
 * Beyond the knee k, a share of 1 - k/x of the requests is slower; x is the measured
 * quantity. Least squares over the points from the greatest rate on. False: the rate does not
 * fall by a tenth, so there is no knee within the measured range.
 */
bool fit_knee(const struct fit_curve *c, double penalty, double *knee);

/* The load for which fit_model_rate() computes the messages per second of a preset. */
struct fit_load {
	uint32_t contenders;	/* on one register; 1: each has its own */
	uint32_t threads, bytes;
	bool host;		/* posting takes a host's CPU time; false: no time */
};

double fit_model_rate(enum model_preset preset, const struct fit_load *load);

/* The two penalties of a preset: a WQE that is fetched again, a QP context that is fetched. */
double fit_wqe_penalty(enum model_preset preset);
double fit_context_penalty(enum model_preset preset);

/*
 * A scenario for `swiftrdma policy simulate` (swiftrdma-scenario(5)) whose nic has what was
 * measured, over a preset; @about goes into its head as a comment.
 */
void fit_write(FILE *f, enum model_preset preset, const struct fit_measured *m, const char *about);

#endif /* SRDMA_PROBE_FIT_H */
