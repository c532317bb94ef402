// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Logs, once per policy and job, the number of queue pairs to which an action cannot apply. */
#include "agent/agent.h"
#include "agent/log.h"

/* Finds the knob of an action that may not apply to all queue pairs. False: there is none. */
static bool find_knob(const struct policy *p, unsigned int *knob)
{
	for (unsigned int i = 0; i < p->n_act; i++) {
		*knob = p->act[i].knob;
		if (*knob == SWIFTRDMA_KNOB_UAR || *knob == SWIFTRDMA_KNOB_PLACE)
			return true;
	}
	return false;
}

void agent_log_passed_over(struct agent *a, uint64_t now)
{
	const struct policy_set *set = &a->cfg.policies;
	unsigned int knob;

	for (size_t n = 0; n < set->n; n++) {
		if (!find_knob(&set->v[n], &knob))
			continue;
		for (size_t i = 0; i < a->state.n_slots; i++) {
			const struct policy_slot *slot = &a->state.slots[i];
			struct policy_run *run = &slot->runs[n];

			if (!slot->used || !run->passed_over || run->passed_over_logged)
				continue;
			run->passed_over_logged = true;
			log_passed_over(set->v[n].name, slot->name, knob, run->passed_over, now);
		}
	}
}
