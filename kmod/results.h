/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_RESULTS_H
#define SRDMA_RESULTS_H

#include "enforce.h"
#include "lease.h"

/**
 * struct srdma_tally - how the QPs of a target stand to what is wanted of them
 * @n: how many, by enum srdma_standing
 * @error: 0 or -errno of one that could not be changed, rather of one that never will be
 * @syndrome: the device's reason, where that is -EREMOTEIO
 */
struct srdma_tally {
	u32 n[SRDMA_STANDINGS];
	int error;
	u32 syndrome;
};

/**
 * struct srdma_target - what an override is of
 * @knob: enum swiftrdma_knob
 * @job: a job, or NULL: a QP
 * @any_dev: on every device
 * @dev: else on this one, by index
 * @key: srdma_qp_key() of the QP
 * @serial: of the QP
 */
struct srdma_target {
	u32 knob;
	struct srdma_job *job;
	bool any_dev;
	u32 dev;
	u32 key;
	u64 serial;
};

/*
 * Count the target's QPs by standing. Only for knobs that are applied to QPs: a limit is in
 * force at once, and its tally is empty. srdma_devs_sem; may sleep.
 */
void srdma_tally(const struct srdma_target *target, struct srdma_tally *t);
bool srdma_tallied(u32 knob);
/*
 * The QP's standing for its job's rate or weight; *error is 0 or -errno. RCU section, or
 * the job's lock.
 */
enum srdma_standing srdma_rate_standing(const struct srdma_qp *q, int *error, u32 *syndrome);

/* An item of a batch whose results will be reported. */
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

/**
 * struct srdma_batch - a batch whose results are to be told
 * @node: in results.c's list
 * @id: as ACT answered it
 * @lease: its lease, but for the origin
 * @seq: devices that it concerns have reached it when their srdma_dev.enforced has
 * @added: jiffies
 * @told: once, as far as it went, for a device has not answered for long
 * @over: all devices have reached it
 * @n: how many items
 * @items: they belong to it
 */
struct srdma_batch {
	struct list_head node;
	u64 id;
	struct srdma_act_lease lease;
	u64 seq;
	unsigned long added;
	bool told, over;
	int n;
	struct srdma_batch_item items[];
};

/*
 * Report the results of @b once every device that it concerns has made a pass that begins
 * after this call. If a device does not answer in time, report then, and again when it has.
 * Takes over the batch. srdma_devs_sem.
 */
void srdma_batch_add(struct srdma_batch *b);
void srdma_batch_free(struct srdma_batch *b);

/*
 * enforce.c: asked(): before a pass: srdma_batch.seq of the youngest that it will have
 * reached. passed(): after one, when srdma_dev.enforced says so; or a device has gone.
 */
u64 srdma_batches_asked(void);
void srdma_batches_passed(void);
/* No device is left: free the batches that were not reported. */
void srdma_batches_exit(void);

#endif /* SRDMA_RESULTS_H */
