/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_RESULTS_H
#define SRDMA_RESULTS_H

#include "lease.h"
#include "standing.h"

/**
 * struct srdma_tally - the QPs of a target, counted by standing
 * @n: by enum srdma_standing
 * @error: 0, or -errno of a QP that could not be changed; of several, one that never will be
 * @syndrome: the device's reason, if @error is -EREMOTEIO
 */
struct srdma_tally {
	u32 n[SRDMA_STANDINGS];
	int error;
	u32 syndrome;
};

/*
 * Count the target's QPs by standing. Only for knobs that are applied to QPs: a limit is in
 * force at once, and its tally is empty. srdma_devs_sem; may sleep.
 */
void srdma_tally(const struct srdma_target *target, struct srdma_tally *t);
/*
 * The QP's standing for its job's rate or weight; *error is 0 or -errno. RCU section, or
 * the job's lock.
 */
enum srdma_standing srdma_rate_standing(const struct srdma_qp *q, int *error, u32 *syndrome);

/* An item of a batch whose results will be reported. */
struct srdma_batch_item {
	struct srdma_override *override;	/* reference; NULL: the item was not checked yet */
	bool clear;
};

/**
 * struct srdma_batch - a batch whose results are to be reported
 * @node: in results.c's list
 * @id: as ACT answered it
 * @lease: id of its lease
 * @rank: of that lease
 * @seq: a device has made its pass for the batch once srdma_dev.enforced is at least this
 * @added: jiffies
 * @notified: results were reported once, before all devices had made their pass
 * @over: all devices have made their pass
 * @n: elements of @items
 * @items: in the order of the request
 */
struct srdma_batch {
	struct list_head node;
	u64 id;
	u64 lease;
	u32 rank;
	u64 seq;
	unsigned long added;
	bool notified, over;
	int n;
	struct srdma_batch_item items[];
};

/*
 * Report the results of @b once every device that it concerns has made a pass that begins
 * after this call. If a device does not answer in time, report then, and again when it has.
 * Takes over the batch. srdma_devs_sem.
 */
void srdma_batch_add(struct srdma_batch *b);
/* A batch of @n items without overrides; NULL: no memory. */
struct srdma_batch *srdma_batch_new(int n);
void srdma_batch_free(struct srdma_batch *b);

/*
 * asked(): before a pass: srdma_batch.seq of the youngest batch that the pass will serve.
 * passed(): a pass is over and srdma_dev.enforced is set, or a device has gone.
 */
u64 srdma_batches_asked(void);
void srdma_batches_passed(void);
/* No device is left: free the batches that were not reported. */
void srdma_batches_exit(void);

#endif /* SRDMA_RESULTS_H */
