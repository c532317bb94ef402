/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_RESULTS_H
#define SRDMA_RESULTS_H

#include "lease.h"

/*
 * How the class change of a target stands; srdma_devs_sem for a job's, a reference
 * for a QP's.
 */
struct srdma_tally {
	u32 qps, done, pending, unsupported;
	int error;
};

void srdma_tally_job(struct srdma_job *job, bool any_dev, u32 dev,
		     struct srdma_tally *t);
void srdma_tally_qp(struct srdma_qp *q, struct srdma_tally *t);
/* The same of a part of its path. */
void srdma_tally_path(struct srdma_qp *q, enum srdma_path_part part, struct srdma_tally *t);

/* A batch whose results are to be told after the next pass; owns @items. */
struct srdma_batch_item {
	u32 knob;
	u64 value;
	bool clear;
	struct srdma_job *job;		/* reference, or NULL */
	bool any_dev;
	u32 dev;
	u32 key;
	u64 serial;
	char reason[SWIFTRDMA_REASON_LEN];
	struct srdma_decision *decision;	/* reference, or NULL */
};

struct srdma_batch {
	struct list_head node;
	u64 id;
	struct srdma_act_lease lease;	/* origin is not kept */
	int n;
	struct srdma_batch_item items[];
};

/* To be told after a pass that begins from now on. */
void srdma_batch_add(struct srdma_batch *b);
void srdma_batch_free(struct srdma_batch *b);

/* enforce.c: those added before its pass, and after it tell and free them. */
void srdma_batches_take(struct list_head *taken);
void srdma_batches_tell(struct list_head *taken);
/* The work is gone: free those that nobody will be told of. */
void srdma_batches_drop(void);

#endif /* SRDMA_RESULTS_H */
