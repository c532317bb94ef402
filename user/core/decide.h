/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Between policy.c, which says what is due, and decide.c, which acts. */
#ifndef SRDMA_CORE_DECIDE_H
#define SRDMA_CORE_DECIDE_H

#include "core/policy.h"

/* Everything one decision is made of, to keep argument lists short. */
struct eval {
	const struct policy_set *set;
	struct policy_state *st;
	const struct signals *s;
	uint64_t now;
	struct policy_decision *out;
	size_t cap, n;
	/* Per policy: did something turn that it rests on besides the job? */
	uint8_t turned[POLICY_SET_MAX];
#define WHEN_TURNED	1
#define UNDO_TURNED	2
};

/* No steps left before an undo? */
bool decide_used_up(const struct eval *e, const struct policy_slot *slot,
		    uint32_t n);
/* Held long enough, cooled down? */
bool decide_due(const struct eval *e, const struct policy_slot *slot,
		uint32_t n, bool undo);
/* Is there an act left of so many a second? */
bool decide_budget(struct eval *e, uint32_t n);

/*
 * Would its act change anything? Without looking at more than the job. If not,
 * *@stays: nor will it, as long as the job's knobs, and its class, are the same.
 */
bool decide_moves(struct eval *e, const struct policy_slot *slot, uint32_t n,
		  uint32_t job, bool *stays);

/* Policy @n on @job, since @c is true of @b. Adds what it turned to @turned. */
void decide_act(struct eval *e, struct policy_slot *slot, uint32_t n,
		uint32_t job, const struct cond *c, const struct binding *b,
		uint32_t others, unsigned int *turned);
void decide_undo(struct eval *e, struct policy_slot *slot, uint32_t n,
		 uint32_t job, const struct cond *c, const struct binding *b,
		 unsigned int *turned);
/* The job became one of another class while the policy held a knob of it. */
void decide_disown(struct eval *e, struct policy_slot *slot, uint32_t n,
		   uint32_t job, unsigned int *turned);

#endif /* SRDMA_CORE_DECIDE_H */
