/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_LEASE_H
#define SRDMA_LEASE_H

#include <linux/list.h>

#include "job.h"

/*
 * Overrides are desired state. Each belongs to a lease; recomputing what is in
 * force is a pass over all of them, under srdma_ctl_lock, whenever the set
 * changes. Applying it is enforce.c's, later and without that lock.
 */

/**
 * struct srdma_override - one knob of one target, wanted by one lease
 * @node: in srdma_lease.overrides
 * @lease: whose
 * @knob: enum swiftrdma_knob
 * @value: in the knob's unit
 * @job: target, with a reference; NULL: a QP
 * @any_dev: the job on every device
 * @dev: device index, unless @any_dev
 * @key: srdma_qp_key() of the QP
 * @serial: of the QP
 * @in_force: not outranked on at least one device
 * @reason: as given
 */
struct srdma_override {
	struct list_head node;
	struct srdma_lease *lease;
	u32 knob;
	u64 value;
	struct srdma_job *job;
	bool any_dev;
	u32 dev;
	u32 key;
	u64 serial;
	bool in_force;
	char reason[SWIFTRDMA_REASON_LEN];
};

/**
 * struct srdma_lease - overrides that live and die together
 * @node: in srdma_leases, oldest first
 * @overrides: struct srdma_override
 * @id: never reused
 * @expires: ns, CLOCK_MONOTONIC
 * @rank: higher wins
 * @origin: who
 */
struct srdma_lease {
	struct list_head node;
	struct list_head overrides;
	u64 id;
	u64 expires;
	u32 rank;
	char origin[SWIFTRDMA_NAME_LEN];
};

extern struct list_head srdma_leases;		/* srdma_ctl_lock */

/* One item of an ACT, checked for form by netlink. */
struct srdma_act_item {
	u32 knob;
	u64 value;
	bool clear;
	const char *job;	/* or a QP: */
	bool has_dev, has_serial;
	u32 dev;
	u32 qpn;
	u64 serial;
	const char *reason;	/* NULL: none */
};

/* What ACT asks of its lease. */
struct srdma_act_lease {
	u64 id;			/* 0: a new one; out: which */
	u32 ttl_ms;		/* out too */
	u32 rank;
	const char *origin;
};

/*
 * Validate all items, then put them under the lease. On error nothing is done,
 * *bad is the item (-1: the lease) and *why what is wrong with it. Takes
 * srdma_devs_sem and srdma_ctl_lock. May sleep.
 */
int srdma_act(struct srdma_act_lease *lease, const struct srdma_act_item *items,
	      int n, u64 *batch, int *bad, const char **why);

/* Is there a device that enforces rates and weights of jobs? Takes srdma_devs_sem. */
bool srdma_rates_possible(void);

int srdma_lease_init(void);
void srdma_lease_exit(void);
/* End all leases: their effect is taken back by enforce.c. */
void srdma_lease_end_all(void);
/* srdma_ctl_lock is held: forget what targets a job that goes. */
void srdma_lease_forget_job(struct srdma_job *job);
/* srdma_ctl_lock is held: a device came, so jobs have to be looked at anew. */
void srdma_lease_recompute(void);

/*
 * Class level packed into a word, so that it is read whole: bit 31 set, rank in
 * bits 8..15, level in bits 0..7. 0: no override.
 */
static inline u32 srdma_level_pack(u32 rank, u32 level)
{
	return BIT(31) | rank << 8 | level;
}

static inline u32 srdma_level_rank(u32 packed)
{
	return packed >> 8 & 0xff;
}

static inline int srdma_level_of(u32 packed)
{
	return packed ? (int)(packed & 0xff) : -1;
}

/* The level in force for a QP, -1: none. RCU section. */
int srdma_qp_level(const struct srdma_qp *q);

/* The level table. get: any context. set: validated by the caller. */
struct srdma_level {
	u8 dscp, sl;
};

struct srdma_level srdma_level_get(u32 level);
struct srdma_level_row {
	u32 level, dscp, sl;
};

void srdma_levels_set(const struct srdma_level_row *rows, int n);

#endif /* SRDMA_LEASE_H */
