// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A file's times are those of an agent that looks ten times a second. A simulated NIC
 * is looked at every few hundred microseconds, some hundred times in all; so the times
 * of a file are shortened as the interval between two looks is.
 */
#include "policy/config.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t shorter(uint64_t ns, double by)
{
	return (uint64_t)((double)ns / by);
}

/* "for 1s": its time may be a constant of other expressions too, and gets one of its own. */
static int shorten_held(struct prog *p, double by)
{
	uint32_t i, n = 0;
	double *k;

	for (i = 0; i < p->n_ins; i++)
		n += p->ins[i].op == PROG_HELD;
	if (!n)
		return 0;
	k = p->n_k + n <= PROG_CODE ? realloc(p->k, (p->n_k + n) * sizeof(*k)) : NULL;
	if (!k)
		return -ENOMEM;
	p->k = k;
	for (i = 0; i < p->n_ins; i++) {
		if (p->ins[i].op != PROG_HELD)
			continue;
		k[p->n_k] = k[p->ins[i].arg] / by;
		p->ins[i].arg = (uint16_t)p->n_k++;
	}
	return 0;
}

int config_hurry(struct config *cfg, double by)
{
	struct policy_set *set = &cfg->policies;
	size_t i;

	if (shorten_held(&set->prog, by))
		return -ENOMEM;
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
	return 0;
}
