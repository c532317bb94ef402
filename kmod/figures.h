/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An object's figures, gathered into a plain structure, and the table that says which
 * attribute each of them is. netlink and debugfs show the same tables: a new figure is a
 * row, and a member for its value.
 */
#ifndef SRDMA_FIGURES_H
#define SRDMA_FIGURES_H

#include "attr.h"
#include "counters.h"
#include "job.h"
#include "uar.h"

/* Of a device, what is not a member of struct srdma_dev: counted, or the provider's. */
struct srdma_dev_figures {
	u32 ports, uars, cqs, mrs, mrs_unknown, mtts_unknown, qp_limit, cq_limit, mr_limit;
	u64 time, mr_bytes, mtts, mr_page_min, mr_page_max;
	bool mtts_known, has_stat, congested, diagnosed;
	struct srdma_dev_stat st;
};

struct srdma_uar_figures {
	u32 dev, index, kind, qps, owners, threads, context_uars, context_limit, context;
	u64 created, doorbells, wrs, since, time, sweeps, active, coactive;
	bool doorbells_known, wrs_known, page_known, sweeps_known;
};

struct srdma_job_figures {
	u32 dev;
	bool doorbells_known, wrs_known, mtts_known;
	u64 mr_page_min, mr_page_max;
	struct srdma_job_stat st;
};

struct srdma_job_report;
struct srdma_share;
struct srdma_share_slot;

/* What libraries reported of a job on a device, beside the sums. */
struct srdma_report_figures {
	u32 processes;
	u64 latency_max, hol_max, p50, p99;
	bool measured, hol_measured, distrusted;
};

/* What a library reported of a QP, beside the sums. */
struct srdma_slot_figures {
	u32 qpn, job, pid;
	u64 serial, outstanding, latency_max, hol_max;
	bool in_job, ordered, measured, hol_measured;
	char flags[40];
};

extern const struct srdma_attr_set srdma_dev_attrs;		/* struct srdma_dev */
extern const struct srdma_attr_set srdma_dev_figure_attrs;	/* struct srdma_dev_figures */
extern const struct srdma_attr_set srdma_port_attrs;		/* struct srdma_port_stat */
extern const struct srdma_attr_set srdma_prio_attrs;		/* struct srdma_prio_stat */
extern const struct srdma_attr_set srdma_uar_attrs;		/* struct srdma_uar_figures */
extern const struct srdma_attr_set srdma_job_attrs;		/* struct srdma_job_figures */
extern const struct srdma_attr_set srdma_report_attrs;		/* struct srdma_job_report */
extern const struct srdma_attr_set srdma_reported_attrs;	/* struct srdma_figures */
extern const struct srdma_attr_set srdma_report_figure_attrs;	/* struct srdma_report_figures */
extern const struct srdma_attr_set srdma_quantile_attrs;	/* the same */
extern const struct srdma_attr_set srdma_slot_figure_attrs;	/* struct srdma_slot_figures */

/* As of @now. srdma_devs_sem is held. */
void srdma_dev_figures(struct srdma_dev *dev, u64 now, struct srdma_dev_figures *f);
/* The same; RCU section, or the caller holds a reference on @u. */
void srdma_uar_figures(const struct srdma_uar *u, u64 now, struct srdma_uar_figures *f);
/* srdma_devs_sem and srdma_ctl_lock are held. May sleep. */
void srdma_job_figures(struct srdma_dev *dev, struct srdma_job_dev *jd,
		       struct srdma_job_figures *f);

/* srdma_share_lock is held. */
void srdma_report_figures(const struct srdma_job_report *r, struct srdma_report_figures *f);
/* The same. False: the QP of the slot is gone. */
bool srdma_slot_figures(const struct srdma_share *s, const struct srdma_share_slot *slot,
			struct srdma_slot_figures *f);

#endif /* SRDMA_FIGURES_H */
