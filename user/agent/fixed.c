// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Log lines, one per policy and job, about queue pairs that a policy would move and their library never can. */
#include "agent/agent.h"
#include "agent/log.h"

static bool moves_qps(const struct policy *p)
{
	for (unsigned int i = 0; i < p->n_act; i++)
		if (p->act[i].op == STEP_LIGHTEST)
			return true;
	return false;
}

void agent_tell_fixed(struct agent *a)
{
	const struct policy_set *set = &a->cfg.policies;

	for (size_t n = 0; n < set->n; n++) {
		if (!moves_qps(&set->v[n]))
			continue;
		for (size_t i = 0; i < a->state.n_slots; i++) {
			const struct policy_slot *slot = &a->state.slots[i];
			struct policy_run *run = &slot->runs[n];

			if (!slot->used || !run->fixed || run->fixed_told)
				continue;
			run->fixed_told = true;
			log_msg(LOG_INFO,
				"policy %s: job %s: of the queue pairs for which it is true, %u stay on their UARs, because the library in their process can never move them ('swiftrdma --details qp show': fixed; swiftrdma_move_reason() says why)",
				set->v[n].name, slot->name, run->fixed);
		}
	}
}
