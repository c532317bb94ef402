/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ACT_H
#define SRDMA_ACT_H

#include "lease.h"

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
	"nothing enforces that yet: knobs are level, max_qps, create_rate, bit_rate, wr_rate, credits, weight, udp_sport and lag_port"

/*
 * Validate all items, then put them under the lease. On error nothing is done,
 * *bad is the item (-1: the lease) and *why what is wrong with it. Takes
 * srdma_devs_sem and srdma_ctl_lock. May sleep.
 */
int srdma_act(struct srdma_act_lease *lease, const struct srdma_act_item *items,
	      int n, u64 *batch, int *bad, const char **why);

#endif /* SRDMA_ACT_H */
