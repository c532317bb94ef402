/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_LEASE_H
#define SRDMA_LEASE_H

#include <linux/list.h>

#include "override.h"

/**
 * struct srdma_lease - overrides that live and die together
 * @node: in srdma_leases, oldest first
 * @strong_node: in srdma_leases_strong, of higher rank first, of those that are
 *	equal the youngest
 * @overrides: struct srdma_override
 * @id: never reused
 * @expires: ns, CLOCK_MONOTONIC
 * @rank: higher wins
 * @origin: who
 */
struct srdma_lease {
	struct list_head node;
	struct list_head strong_node;
	struct list_head overrides;
	u64 id;
	u64 expires;
	u32 rank;
	char origin[SWIFTRDMA_NAME_LEN];
};

extern struct list_head srdma_leases;		/* srdma_ctl_lock */
extern struct list_head srdma_leases_strong;	/* the same */

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
	struct srdma_decision *decision;	/* the caller's reference, or NULL */
};

#define SRDMA_ENFORCED								\
	"the kernel enforces level, max_qps, create_rate, bit_rate, weight, udp_sport and lag_port only"

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

void srdma_lease_exit(void);
/* End all leases: their effect is taken back by enforce.c. */
void srdma_lease_end_all(void);
/* srdma_ctl_lock is held: forget what targets a job that goes. */
void srdma_lease_forget_job(struct srdma_job *job);

#endif /* SRDMA_LEASE_H */
