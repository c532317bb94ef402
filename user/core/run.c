// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The run state of policies: memory, what is held, and its transfer from one
 * set of policies to the next.
 */
#include "core/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void policy_state_init(struct policy_state *st)
{
	memset(st, 0, sizeof(*st));
}

void policy_state_free(struct policy_state *st)
{
	free(st->slots);
	free(st->runs);
	policy_state_init(st);
}

int policy_state_reserve(struct policy_state *st, const struct policy_set *set,
			 size_t jobs)
{
	struct policy_slot *slots;
	struct policy_run *runs;
	size_t n = st->n_slots ? st->n_slots : 16, i;

	if (jobs <= st->n_slots && st->n_slots)
		return 0;
	while (n < jobs)
		n *= 2;
	slots = calloc(n, sizeof(*slots));
	runs = calloc(n * (set->n ? set->n : 1), sizeof(*runs));
	if (!slots || !runs) {
		free(slots);
		free(runs);
		return -ENOMEM;
	}
	if (st->n_slots) {
		memcpy(slots, st->slots, st->n_slots * sizeof(*slots));
		memcpy(runs, st->runs,
		       st->n_slots * st->n_policies * sizeof(*runs));
	}
	for (i = 0; i < n; i++)
		slots[i].runs = runs + i * set->n;
	free(st->slots);
	free(st->runs);
	st->slots = slots;
	st->runs = runs;
	st->n_slots = n;
	st->n_policies = set->n;
	return 0;
}

static struct policy_slot *slot_by_name(struct policy_state *st,
					const char *job)
{
	size_t i;

	for (i = 0; i < st->n_slots; i++)
		if (st->slots[i].used && !strcmp(st->slots[i].name, job))
			return &st->slots[i];
	return NULL;
}

void policy_failed(struct policy_state *st, const struct policy_decision *d)
{
	struct policy_slot *slot = slot_by_name(st, d->job);
	struct policy_run *run;

	if (!slot || d->policy >= st->n_policies)
		return;
	run = &slot->runs[d->policy];
	/*
	 * .last stays: what failed is tried again no sooner than a success
	 * would have been followed up.
	 */
	if (d->undo) {
		slot->held[d->knob] = true;
		slot->holder[d->knob] = d->policy;
		slot->value[d->knob] = d->old;
		run->active = true;
		return;
	}
	/*
	 * A held value that could not be issued anew is not in force, and what
	 * failed as a first step never was.
	 */
	if ((d->has_old && d->old == d->new) || (run->has_from == d->has_old &&
	     (!d->has_old || run->from == d->old))) {
		slot->held[d->knob] = false;
		run->active = false;
		return;
	}
	slot->value[d->knob] = d->old;
}

static void describe(struct policy_decision *d, const struct policy_set *set,
		     const struct policy_slot *slot, unsigned int knob)
{
	const struct policy_run *run = &slot->runs[slot->holder[knob]];

	(void)set;
	memset(d, 0, sizeof(*d));
	d->policy = slot->holder[knob];
	d->job_id = slot->job;
	memcpy(d->job, slot->name, sizeof(d->job));
	d->knob = knob;
	d->has_old = true;
	d->old = slot->value[knob];
	d->new = slot->value[knob];
	memcpy(d->reason, run->reason, sizeof(d->reason));
}

size_t policy_held(const struct policy_set *set, const struct policy_state *st,
		   size_t *pos, struct policy_decision *out, size_t cap)
{
	size_t n = 0;

	for (; *pos < st->n_slots * POLICY_KNOBS && n < cap; (*pos)++) {
		const struct policy_slot *slot =
			&st->slots[*pos / POLICY_KNOBS];
		unsigned int knob = *pos % POLICY_KNOBS;

		if (slot->used && slot->held[knob])
			describe(&out[n++], set, slot, knob);
	}
	return n;
}

size_t policy_n_held(const struct policy_state *st)
{
	size_t i, n = 0;
	unsigned int k;

	for (i = 0; i < st->n_slots; i++)
		for (k = 0; st->slots[i].used && k < POLICY_KNOBS; k++)
			n += st->slots[i].held[k];
	return n;
}

static const struct policy *successor(const struct policy_set *set,
				      const struct policy *p)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (!strcmp(set->v[i].name, p->name) &&
		    set->v[i].act.knob == p->act.knob)
			return &set->v[i];
	return NULL;
}

static void carry_slot(const struct policy_set *set, struct policy_slot *to,
		       const struct policy_set *old_set,
		       const struct policy_slot *from)
{
	size_t i;

	to->used = true;
	to->job = from->job;
	to->since = from->since;
	memcpy(to->name, from->name, sizeof(to->name));
	for (i = 0; i < old_set->n; i++) {
		const struct policy *p = successor(set, &old_set->v[i]);
		unsigned int knob = old_set->v[i].act.knob;
		size_t n;

		if (!p)
			continue;
		n = (size_t)(p - set->v);
		to->runs[n] = from->runs[i];
		if (from->held[knob] && from->holder[knob] == i) {
			to->held[knob] = true;
			to->holder[knob] = (uint32_t)n;
			to->value[knob] = from->value[knob];
		}
	}
}

size_t policy_carry(const struct policy_set *set, struct policy_state *st,
		    const struct policy_set *old_set,
		    const struct policy_state *old,
		    struct policy_decision *out, size_t cap)
{
	size_t i, n = 0;
	unsigned int k;

	for (i = 0; i < old->n_slots && i < st->n_slots; i++) {
		if (!old->slots[i].used)
			continue;
		carry_slot(set, &st->slots[i], old_set, &old->slots[i]);
		for (k = 0; k < POLICY_KNOBS; k++) {
			struct text t;

			if (!old->slots[i].held[k] || st->slots[i].held[k])
				continue;
			if (n >= cap) {
				n++;
				continue;
			}
			describe(&out[n], old_set, &old->slots[i], k);
			out[n].undo = out[n].release = true;
			text_init(&t, out[n].reason, sizeof(out[n].reason));
			text_str(&t, old_set->v[out[n].policy].name);
			text_str(&t, ": no longer in the policy file: ");
			text_str(&t, vocab_knob(k)->name);
			text_str(&t, " released");
			n++;
		}
	}
	return n;
}
