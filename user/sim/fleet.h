/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Many simulated hosts under the same policies: each is the scenario with loads
 * and a seed of its own, the same ones whatever the policies are, so that two
 * runs differ by their policies alone. Hosts do not see each other.
 */
#ifndef SRDMA_SIM_FLEET_H
#define SRDMA_SIM_FLEET_H

#include "sim/sim.h"

#define FLEET_HOSTS	100000

struct fleet_job {
	/*
	 * Hosts on which the job met its target in nearly all ticks. A host on which the job
	 * completed no request does not count.
	 */
	uint32_t met;
	double ticks_met;	/* share of ticks, summed up over hosts */
	double rate;		/* requests a second, summed up over hosts */
	struct sim_hist p99;	/* p99 of each host on which requests were done, ns */
};

struct fleet_result {
	struct fleet_job job[SIM_JOBS];
	uint64_t ticks;		/* of all hosts */
	size_t decisions;
	struct sim_cost cost;
};

/* Share of ticks within the target on a host that counts as meeting it. */
#define FLEET_MET 0.99

/* 0 or as sim_run(). @cfg: NULL: without policies. @progress: NULL: none. */
int fleet_run(const struct scenario *sc, const struct config *cfg,
	      uint32_t hosts, FILE *progress, struct fleet_result *res);

/* The scenario of one host. */
void fleet_host(const struct scenario *sc, uint32_t host, struct scenario *to);

#endif /* SRDMA_SIM_FLEET_H */
