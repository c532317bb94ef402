/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters that no reading has, because what they count comes and goes: the work of all QPs of
 * an owner, of all UARs and QPs that have no series of their own, and the requests of a job
 * that met its target. Each reading adds what was counted since the reading before, so they
 * only grow; what a QP did between the last reading and its end is missing.
 */
#ifndef SRDMA_EXPORTER_TALLY_H
#define SRDMA_EXPORTER_TALLY_H

#include "core/signal.h"
#include "exporter/owner_name.h"
#include "exporter/rank.h"

#define TALLY_OWNERS_DEFAULT	500
/* An owner without a QP is forgotten after this time, ns. */
#define TALLY_FORGET		600000000000ULL

/* Work requests, or WQEBBs where the device counts those, and doorbells. */
struct tally_work {
	uint64_t wrs, doorbells;
	bool has_wrs, has_doorbells;
};

struct tally_owner {
	char device[SNAP_DEVNAME], job[SNAP_NAME], owner[OWNER_NAME];
	bool wqebbs;
	uint32_t qps;
	struct tally_work work;
	uint64_t since, seen;		/* ns */
};

/* UARs and QPs of a device that are not among the ranked ones. */
struct tally_rest {
	char device[SNAP_DEVNAME];
	bool wqebbs;
	uint32_t uars, uar_qps, qps;
	struct tally_work of_uars, of_qps;
	uint64_t sweeps, coactive;	/* of UARs */
	uint64_t since;
};

/* Requests that libraries measured while the job had a target for its p99. */
struct tally_slo {
	char job[SNAP_NAME];
	uint32_t id;
	double requests, met;
	uint64_t since;
};

struct tally {
	size_t max_owners;
	struct tally_owner *owners;	/* by device, job, owner */
	size_t n_owners, cap_owners;
	size_t owners_over;		/* QPs counted for the owner "rest", by the last reading */
	struct tally_rest *rests;	/* by device */
	size_t n_rests, cap_rests;
	struct tally_slo *slos;		/* by id */
	size_t n_slos, cap_slos;
	/* Scratch: names of the snapshot's owners. */
	char (*names)[OWNER_NAME];
	size_t cap_names;
};

void tally_free(struct tally *t);

/**
 * tally_add - add what was counted between two readings
 * @t: the counters
 * @older: the reading before; NULL: there is none, nothing is added
 * @s: signals of the reading, for the targets of jobs
 * @uars: UARs with a series of their own
 * @qps: QPs with a series of their own
 *
 * Return: 0 or -ENOMEM.
 */
int tally_add(struct tally *t, const struct snapshot *older, const struct signals *s,
	      const struct rank *uars, const struct rank *qps);

#endif /* SRDMA_EXPORTER_TALLY_H */
