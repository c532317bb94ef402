/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A decision in one line, as it goes to the kernel with the action: what the
 * kernel hands out with the override and with its result is all that is known of
 * it to whoever asks later, be the agent gone or deaf.
 *
 *   POLICY: EVIDENCE: KNOB OLD -> NEW [tick N, next in TIME, N steps left, N acts left]
 *
 * What the policy does not bound is left out of the brackets, but for the tick.
 */
#ifndef SRDMA_CORE_TOLD_H
#define SRDMA_CORE_TOLD_H

#include "core/policy.h"

struct told {
	char policy[SNAP_NAME];
	uint64_t tick;
	bool has_cooldown;
	uint64_t cooldown;	/* ns until the policy may turn it again */
	uint32_t steps_left;	/* UINT32_MAX: no limit, as in a decision */
	uint32_t acts_left;
};

/* Cut where it must be in the evidence: what was done and what is left fits. */
void told_write(char *buf, size_t cap, const struct policy_decision *d);
/* False: these are somebody's own words. */
bool told_read(const char *reason, struct told *t);

#endif /* SRDMA_CORE_TOLD_H */
