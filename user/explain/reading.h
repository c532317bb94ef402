/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A reading of the system and what was computed from it, for code that explains it. The command
 * reads an interval of its own; the exporter uses the reading that it has. The functions find
 * objects of the reading, and compare what libraries reported with what the kernel counted.
 */
#ifndef SRDMA_EXPLAIN_READING_H
#define SRDMA_EXPLAIN_READING_H

#include "core/signal.h"
#include "explain/crowd.h"
#include "policy/running.h"

struct reading {
	const struct snapshot *snap;
	const struct snapshot *older;	/* the reading before; NULL: there is no interval */
	const struct signals *sig;
	const struct crowd *crowd;
	const struct running *running;
};

/* NULL: there is none. */
const struct snap_dev *reading_dev(const struct snapshot *snap, uint32_t index);
const struct snap_job *reading_job(const struct snapshot *snap, uint32_t id);
const struct snap_owner *reading_owner(const struct snapshot *snap, bool has, uint32_t index);
const struct snap_dev *reading_dev_named(const struct snapshot *snap, const char *name);
const struct snap_job *reading_job_named(const struct snapshot *snap, const char *name);
/* The row of the live QP with this number; SIZE_MAX: there is none. */
size_t reading_qp_row(const struct snapshot *snap, uint32_t dev, uint32_t qpn);
/* What the library in the QP's process reported of it. NULL: there is none. */
const struct snap_qp_report *reading_qp_report(const struct snapshot *snap,
					       const struct snap_qp *qp);
/* What libraries in the processes of the job reported on a device. */
const struct snap_job_report *reading_job_report(const struct snapshot *snap, uint32_t job,
						 uint32_t dev);

/* Why the WRs of a QP are not counted, as one word or a sentence; NULL: they are. */
const char *reading_absent(uint32_t why, bool words);
/* The value of a criterion. */
double reading_criterion(const struct reading *r, const char *name);

/* A copy of @is. Its times, and the requests they are of, are those since @was, if not NULL. */
struct snap_figures reading_times_since(const struct snap_figures *was,
					const struct snap_figures *is);
/* Totals of a QP. Its times, and the requests they are of, are the interval's, if there is one. */
bool reading_qp_times(const struct reading *r, const struct snap_qp *qp, struct snap_figures *f);

/* Lower bounds of what the kernel counted of a QP and the library in its process did not. */
struct reading_unseen {
	/* .wrs is known, in the kernel's unit: the units are the same, or the library saw none. */
	bool has_wrs;
	uint64_t wrs;
	/* Doorbells that exceed the calls that posted. A call that failed to post may ring, too. */
	bool has_doorbells;
	uint64_t doorbells;
	bool all;		/* .wrs are all of its requests */
};

/* False: the two cannot be compared, or there is no interval. */
bool reading_unseen(const struct reading *r, const struct snap_qp *qp, struct reading_unseen *u);
/*
 * p50 or p99 (@q) of a job, in the interval if there is one. Without .has, the .samples samples
 * are too few for it. False: no process of the job had a library.
 */
bool reading_quantile(const struct reading *r, const struct snap_job *job, double q,
		      struct signal_quantile *to);
uint64_t reading_samples_needed(double q);

#endif /* SRDMA_EXPLAIN_READING_H */
