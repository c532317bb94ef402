/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_LEASE_H
#define SRDMA_LEASE_H

#include <linux/list.h>

#include "override.h"

/**
 * struct srdma_lease - overrides that live and die together
 * @node: in srdma_leases, oldest first
 * @strong_node: in srdma_leases_strong, by rank, the highest first; of equal rank, the
 *	youngest first
 * @overrides: struct srdma_override
 * @id: never reused
 * @expires: ns, CLOCK_MONOTONIC
 * @rank: the override of the lease of highest rank wins
 * @origin: the program that has it, such as "agent" or "cli"
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
extern struct list_head srdma_leases_strong;	/* srdma_ctl_lock */

/* Lease parameters of an ACT request. */
struct srdma_act_lease {
	u64 id;			/* 0: a new one, whose id is stored here */
	u32 ttl_ms;		/* 0: end the lease */
	u32 rank;
	const char *origin;
};

/* The origin of this host's agent, which holds a lease while a peer has a wish. */
#define SRDMA_AGENT	"agent"
/* Has the agent a lease? Any context. */
bool srdma_agent_is_there(void);

void srdma_lease_init(void);
void srdma_lease_exit(void);
/* End all leases; passes take their effect back. */
void srdma_lease_end_all(void);
/*
 * Suspend the expiry of leases, because no lease can be renewed during a disarm. If the disarm
 * succeeds, srdma_lease_end_all() ends all leases.
 */
void srdma_leases_hold(void);
/* Resume expiry after a disarm was refused. Each lease has the time left that it had before. */
void srdma_leases_go_on(void);

/*
 * For act.c, all under srdma_ctl_lock. None of these recomputes: a caller that ends or fills a
 * lease calls srdma_override_recompute() before it releases the lock.
 */
struct srdma_lease *srdma_lease_find(u64 id);
/* A new lease without overrides, with the rank and origin of @ask. NULL: no memory. */
struct srdma_lease *srdma_lease_new(const struct srdma_act_lease *ask);
void srdma_lease_renew(struct srdma_lease *l, u32 ttl_ms);
void srdma_lease_end(struct srdma_lease *l);
/*
 * Put @o into the lease, in place of its override of the same target. @clear: remove that override
 * only. Takes over the caller's reference on @o.
 */
void srdma_lease_set(struct srdma_lease *l, struct srdma_override *o, bool clear);
bool srdma_leases_full(void);
bool srdma_overrides_fit(int n);

#endif /* SRDMA_LEASE_H */
