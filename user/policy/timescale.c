// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Divides the times of a policy file, and the windows in which latencies are gathered, for
 * simulations. Policy files are written for an agent with ten ticks a second. A simulation has
 * a tick every few hundred microseconds and some hundred ticks in all, so the times are
 * divided by the ratio of the ticks.
 */
#include "policy/config.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t shorten_time(uint64_t ns, double by)
{
	return (uint64_t)((double)ns / by);
}

/* Shortens a time for which 0 means @or. */
static void shorten_default(uint64_t *ns, uint64_t or, double by)
{
	*ns = shorten_time(*ns ? *ns : or, by);
	if (!*ns)
		*ns = 1;
}

/*
 * Shortens the times of "for 1s". Other expressions may use the same constants, so each time
 * gets a constant of its own.
 */
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

int config_shorten_times(struct config *cfg, double by)
{
	struct policy_set *set = &cfg->policies;
	size_t i;

	if (shorten_held(&set->prog, by))
		return -ENOMEM;
	shorten_default(&cfg->smoothing, SIGNAL_TAU_DEFAULT, by);
	shorten_default(&cfg->window, SIGNAL_WINDOW, by);
	shorten_default(&cfg->looks_window, SIGNAL_LOOKS_WINDOW, by);
	cfg->interval = shorten_time(cfg->interval, by);
	set->settle = shorten_time(set->settle, by);
	set->turns_within = shorten_time(set->turns_within, by);
	for (i = 0; i < set->n; i++) {
		struct policy *p = &set->v[i];

		p->hold = shorten_time(p->hold, by);
		p->cooldown = shorten_time(p->cooldown, by);
		p->undo_hold = shorten_time(p->undo_hold, by);
		p->undo_cooldown = shorten_time(p->undo_cooldown, by);
		p->rate *= by;
	}
	return 0;
}
