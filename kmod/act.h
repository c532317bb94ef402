/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ACT_H
#define SRDMA_ACT_H

#include "lease.h"

/**
 * struct srdma_act_item - one item of an ACT, checked for form by netlink
 * @target: without .job and .any_dev, which srdma_act() sets
 * @value: in the knob's unit
 * @clear: remove the override of this target
 * @has_dev: @target.dev is given
 * @has_serial: @target.serial is given
 * @job: name; NULL: the target is a QP
 * @reason: NULL: none
 * @decision: the caller's reference, or NULL
 */
struct srdma_act_item {
	struct srdma_target target;
	u64 value;
	bool clear, has_dev, has_serial;
	const char *job, *reason;
	struct srdma_decision *decision;
};

/*
 * Validate all items, then put them under the lease. On error nothing is done,
 * *bad is the item (-1: the lease) and *why what is wrong with it. Takes
 * srdma_devs_sem and srdma_ctl_lock. May sleep.
 */
int srdma_act(struct srdma_act_lease *lease, const struct srdma_act_item *items,
	      int n, u64 *batch, int *bad, const char **why);

#endif /* SRDMA_ACT_H */
