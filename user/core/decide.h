/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by eval.c, which finds the policies that are due, and decide.c, which acts. */
#ifndef SRDMA_CORE_DECIDE_H
#define SRDMA_CORE_DECIDE_H

#include "core/policy.h"

/* One evaluation. */
struct eval {
	const struct policy_set *set;
	struct policy_state *st;
	const struct signals *s;
	uint64_t now;
	struct truth_view view;		/* for queries */
	struct policy_decision *out;
	size_t cap, n;
};

/* The value of a knob without any override. False: it is not known. */
bool decide_base_value(const struct snap_job *job, unsigned int knob, double *v);

/* True: the policy has used all its steps. Only an undo gives them back. */
bool decide_used_up(const struct eval *e, const struct policy_slot *slot, uint32_t n);
/* True: the hold time and the cooldown have passed. */
bool decide_due(const struct eval *e, const struct policy_slot *slot, uint32_t n, bool undo);
/* True: the policy's rate allows another act. */
bool decide_budget(struct eval *e, uint32_t n);

/* True: an act would change something, judged by the job alone. */
bool decide_would_change(struct eval *e, const struct policy_slot *slot, uint32_t n, uint32_t job);

/* Policy @n acts on @job because @c is true for @b. Adds the knobs to @turned. */
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
