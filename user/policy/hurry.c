// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A file's times are those of an agent that looks ten times a second. A simulated NIC
 * is looked at every few hundred microseconds, some hundred times in all; so the times
 * of a file are shortened as the interval between two looks is.
 */
#include "policy/config.h"

static uint64_t shorter(uint64_t ns, double by)
{
	return (uint64_t)((double)ns / by);
}

void config_hurry(struct config *cfg, double by)
{
	struct policy_set *set = &cfg->policies;
	size_t i;

	cfg->smoothing = shorter(cfg->smoothing ? cfg->smoothing : SIGNAL_TAU_DEFAULT, by);
	/* 0 would be the default again. */
	if (!cfg->smoothing)
		cfg->smoothing = 1;
	cfg->interval = shorter(cfg->interval, by);
	set->settle = shorter(set->settle, by);
	set->turns_within = shorter(set->turns_within, by);
	for (i = 0; i < set->n; i++) {
		struct policy *p = &set->v[i];

		p->hold = shorter(p->hold, by);
		p->cooldown = shorter(p->cooldown, by);
		p->undo_hold = shorter(p->undo_hold, by);
		p->undo_cooldown = shorter(p->undo_cooldown, by);
		p->rate *= by;
	}
}
