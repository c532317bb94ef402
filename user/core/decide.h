/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by eval.c, which finds the policies that are due, and decide.c, which acts. */
#ifndef SRDMA_CORE_DECIDE_H
#define SRDMA_CORE_DECIDE_H

#include "core/policy.h"

/* Context of an evaluation, to keep argument lists short. */
struct eval {
	const struct policy_set *set;
	struct policy_state *st;
	const struct signals *s;
	uint64_t now;
	struct policy_decision *out;
	size_t cap, n;
	/* Per policy: did a port or device condition change that it depends on? */
	uint8_t turned[POLICY_SET_MAX];
#define WHEN_TURNED	1
#define UNDO_TURNED	2
};

/* Has the policy used all its steps? Only an undo gives them back. */
bool decide_used_up(const struct eval *e, const struct policy_slot *slot,
		    uint32_t n);
/* Have the hold time and the cooldown passed? */
bool decide_due(const struct eval *e, const struct policy_slot *slot,
		uint32_t n, bool undo);
/* Does the policy's rate allow another act? */
bool decide_budget(struct eval *e, uint32_t n);

/*
 * Would an act change anything, judged by the job alone? If not, *@stays is true if that
 * holds for as long as the knobs and the class of the job stay the same.
 */
bool decide_moves(struct eval *e, const struct policy_slot *slot, uint32_t n,
		  uint32_t job, bool *stays);

/* Policy @n acts on @job because @c is true of @b. Adds the knobs to @turned. */
void decide_act(struct eval *e, struct policy_slot *slot, uint32_t n,
		uint32_t job, const struct cond *c, const struct binding *b,
		uint32_t others, unsigned int *turned);
void decide_undo(struct eval *e, struct policy_slot *slot, uint32_t n,
		 uint32_t job, const struct cond *c, const struct binding *b,
		 unsigned int *turned);
/* Releases the knobs of a job whose class the policy no longer covers. */
void decide_disown(struct eval *e, struct policy_slot *slot, uint32_t n,
		   uint32_t job, unsigned int *turned);

#endif /* SRDMA_CORE_DECIDE_H */
