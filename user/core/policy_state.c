// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The run state of policies: its memory, the overrides that policies hold, and the transfer
 * from one set of policies to the next.
 */
#include "core/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void policy_state_init(struct policy_state *st)
{
	memset(st, 0, sizeof(*st));
}

void policy_state_free(struct policy_state *st)
{
	free(st->slots);
	free(st->runs);
	free(st->evidence);
	free(st->budgets);
	free(st->order);
	free(st->job_policies);
	truth_free(&st->truth);
	policy_state_init(st);
}

int policy_state_reserve_jobs(struct policy_state *st,
			      const struct policy_set *set, size_t jobs)
{
	size_t had = st->n_slots, i;

	if (!array_grow_columns(&st->n_slots, jobs, ARRAY_COLUMN(st->slots),
				ARRAY_WIDE_COLUMN(st->runs, set->n),
				ARRAY_WIDE_COLUMN(st->evidence, set->n)) ||
	    !array_grow_columns(&st->cap_order, st->n_slots, ARRAY_COLUMN(st->order),
				ARRAY_WIDE_COLUMN(st->job_policies, set->n)) ||
	    !array_grow_columns(&st->cap_policies, set->n, ARRAY_COLUMN(st->budgets)))
		return -ENOMEM;
	/* A slot without .runs is one of a growth that failed halfway. */
	if (st->n_slots == had && (!had || st->slots[had - 1].runs))
		return 0;
	for (i = 0; i < st->n_slots; i++) {
		st->slots[i].runs = st->runs + i * set->n;
		st->slots[i].evidence = st->evidence + i * set->n;
	}
	st->n_policies = set->n;
	st->ordered = false;
	return 0;
}

int policy_state_reserve(struct policy_state *st, const struct policy_set *set,
			 const struct signals *s)
{
	if (policy_state_reserve_jobs(st, set, s->snap->n_jobs))
		return -ENOMEM;
	return truth_reserve(&st->truth, &set->prog, s);
}

static struct policy_slot *find_slot_by_name(struct policy_state *st, const char *job)
{
	size_t i;

	for (i = 0; i < st->n_slots; i++)
		if (st->slots[i].used && !strcmp(st->slots[i].name, job))
			return &st->slots[i];
	return NULL;
}

/* The place of a QP in .moved; .n_moved: the QP was not moved. */
static uint32_t find_moved(const struct policy_slot *slot, uint32_t dev, uint32_t qpn,
			   uint64_t serial)
{
	uint32_t i = 0;

	while (i < slot->n_moved && (slot->moved[i].dev != dev || slot->moved[i].qpn != qpn ||
				     slot->moved[i].serial != serial))
		i++;
	return i;
}

/* Notes that a QP has not reached the UAR to which a policy moved it, or has not left it. */
static void note_failed_move(struct policy_slot *slot, const struct policy_decision *d)
{
	uint32_t i = find_moved(slot, d->dev_index, d->qpn, d->serial);

	if (!d->release && i < slot->n_moved)
		slot->moved[i] = slot->moved[--slot->n_moved];
	if (d->release && i == slot->n_moved && i < POLICY_MOVED)
		slot->moved[slot->n_moved++] = (struct policy_moved){
			.dev = d->dev_index, .qpn = d->qpn,
			.serial = d->serial, .uar = (uint32_t)d->old,
			.policy = d->policy,
		};
	slot->held[d->knob] = slot->n_moved > 0;
	slot->holder[d->knob] = d->policy;
	slot->runs[d->policy].active = slot->n_moved > 0;
}

static bool holds_any(const struct policy_slot *slot, uint32_t policy)
{
	unsigned int k;

	for (k = 0; k < POLICY_KNOBS; k++)
		if (slot->held[k] && slot->holder[k] == policy)
			return true;
	return false;
}

/* Takes back the last act of policy @n, of which no decision was carried out. */
static void take_back_act(const struct policy_set *set, struct policy_state *st,
			  struct policy_slot *slot, uint32_t n)
{
	const struct policy *p = &set->v[n];
	struct policy_run *run = &slot->runs[n];

	if (run->steps)
		run->steps--;
	if (p->rate > 0)
		st->budgets[n].left += 1;
	if (p->cause != CAUSE_NONE && slot->caused.at == run->last && slot->cause_acts &&
	    !--slot->cause_acts)
		slot->caused = slot->caused_before;
}

void policy_failed(const struct policy_set *set, struct policy_state *st,
		   const struct policy_decision *d)
{
	struct policy_slot *slot = find_slot_by_name(st, d->job);
	struct policy_run *run;
	unsigned int i = d->step;

	if (!slot || d->policy >= st->n_policies)
		return;
	/* A policy that no longer applies to the job may hold a knob again. */
	st->ordered = false;
	run = &slot->runs[d->policy];
	/* .last stays, so a failed act is repeated only after the cooldown. */
	if (!d->undo && !d->release && d->tick == run->tick && run->standing && !--run->standing)
		take_back_act(set, st, slot, d->policy);
	if (d->has_qp) {
		note_failed_move(slot, d);
		return;
	}
	if (d->undo) {
		slot->held[d->knob] = true;
		slot->holder[d->knob] = d->policy;
		slot->value[d->knob] = d->old;
		run->active = true;
		return;
	}
	/* Nothing is held if a held value could not be set again, or a first step failed. */
	if ((d->has_old && d->old == d->new) ||
	    (run->has_from[i] == d->has_old && (!d->has_old || run->from[i] == d->old))) {
		slot->held[d->knob] = false;
		run->active = holds_any(slot, d->policy);
		return;
	}
	slot->value[d->knob] = d->old;
}

/* The decision that put a held knob in force. */
static void describe_held(struct policy_decision *d, const struct policy_slot *slot,
			  unsigned int knob)
{
	uint32_t policy = slot->holder[knob];
	const struct policy_evidence *evidence = &slot->evidence[policy];

	*d = (struct policy_decision){
		.policy = policy, .job_id = slot->job, .knob = knob, .has_old = true,
		.old = slot->value[knob], .new = slot->value[knob],
		.tick = slot->runs[policy].tick, .seen = evidence->seen,
		.steps_left = UINT32_MAX, .acts_left = UINT32_MAX,
	};
	memcpy(d->job, slot->name, sizeof(d->job));
	memcpy(d->reason, evidence->reason, sizeof(d->reason));
}

static void describe_moved(struct policy_decision *d, const struct policy_slot *slot,
			   uint32_t i)
{
	const struct policy_moved *m = &slot->moved[i];

	describe_held(d, slot, SWIFTRDMA_KNOB_UAR);
	d->has_qp = true;
	d->dev_index = m->dev;
	d->qpn = m->qpn;
	d->serial = m->serial;
	d->old = m->uar;
	d->new = m->uar;
}

/* Entries of a slot: one for each knob, then one for each QP that was moved. */
#define PLACES (POLICY_KNOBS + POLICY_MOVED)

size_t policy_held(const struct policy_state *st, size_t *pos, struct policy_decision *out,
		   size_t cap)
{
	size_t n = 0;

	for (; *pos < st->n_slots * PLACES && n < cap; (*pos)++) {
		const struct policy_slot *slot = &st->slots[*pos / PLACES];
		unsigned int at = *pos % PLACES;

		if (!slot->used)
			continue;
		if (at >= POLICY_KNOBS) {
			if (at - POLICY_KNOBS < slot->n_moved)
				describe_moved(&out[n++], slot, at - POLICY_KNOBS);
		} else if (slot->held[at] && at != SWIFTRDMA_KNOB_UAR) {
			describe_held(&out[n++], slot, at);
		}
	}
	return n;
}

size_t policy_n_held(const struct policy_state *st)
{
	size_t i, n = 0;
	unsigned int k;

	for (i = 0; i < st->n_slots; i++) {
		if (!st->slots[i].used)
			continue;
		for (k = 0; k < POLICY_KNOBS; k++)
			n += st->slots[i].held[k] && k != SWIFTRDMA_KNOB_UAR;
		n += st->slots[i].n_moved;
	}
	return n;
}

static bool same_knobs(const struct policy *a, const struct policy *b)
{
	unsigned int i;

	if (a->n_act != b->n_act)
		return false;
	for (i = 0; i < a->n_act; i++)
		if (a->act[i].knob != b->act[i].knob)
			return false;
	return true;
}

/* The policy of the name and the knobs of @p; NULL: there is none. */
static const struct policy *find_same_policy(const struct policy_set *set,
					     const struct policy *p)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (!strcmp(set->v[i].name, p->name) && !set->v[i].off &&
		    same_knobs(&set->v[i], p))
			return &set->v[i];
	return NULL;
}

static void carry_moved(struct policy_slot *to, const struct policy_slot *from,
			uint32_t was, uint32_t is)
{
	uint32_t i;

	for (i = 0; i < from->n_moved; i++) {
		if (from->moved[i].policy != was)
			continue;
		to->moved[to->n_moved] = from->moved[i];
		to->moved[to->n_moved++].policy = is;
	}
}

static void carry_slot(const struct policy_set *set, struct policy_slot *to,
		       const struct policy_set *old_set, const struct policy_slot *from)
{
	unsigned int k;
	size_t i;

	to->used = true;
	to->job = from->job;
	to->since = from->since;
	memcpy(to->name, from->name, sizeof(to->name));
	memcpy(to->turns, from->turns, sizeof(to->turns));
	to->caused = from->caused;
	for (i = 0; i < old_set->n; i++) {
		const struct policy *p = find_same_policy(set, &old_set->v[i]);
		size_t n;

		if (!p)
			continue;
		n = (size_t)(p - set->v);
		to->runs[n] = from->runs[i];
		to->evidence[n] = from->evidence[i];
		for (k = 0; k < POLICY_KNOBS; k++) {
			if (!from->held[k] || from->holder[k] != i)
				continue;
			to->held[k] = true;
			to->holder[k] = (uint32_t)n;
			to->value[k] = from->value[k];
		}
		carry_moved(to, from, (uint32_t)i, (uint32_t)n);
	}
}

/* Turns the description of an override into that of its release. */
static void explain_release(struct policy_decision *d, const struct policy_set *old_set)
{
	struct text t;

	d->undo = true;
	d->release = true;
	text_init(&t, d->reason, sizeof(d->reason));
	text_add(&t, old_set->v[d->policy].name, ": no longer in the policy file: ",
		 vocab_knob(d->knob)->name, " released");
}

/* Adds to @out releases of overrides that a job's old slot held and the new slot does not. */
static size_t list_releases(const struct policy_slot *to, const struct policy_slot *from,
			    const struct policy_set *old_set,
			    struct policy_decision *out, size_t n, size_t cap)
{
	unsigned int k;
	uint32_t i;

	for (k = 0; k < POLICY_KNOBS; k++) {
		if (!from->held[k] || to->held[k] || k == SWIFTRDMA_KNOB_UAR)
			continue;
		if (n < cap) {
			describe_held(&out[n], from, k);
			explain_release(&out[n], old_set);
		}
		n++;
	}
	for (i = 0; i < from->n_moved; i++) {
		if (find_moved(to, from->moved[i].dev, from->moved[i].qpn,
			       from->moved[i].serial) < to->n_moved)
			continue;
		if (n < cap) {
			describe_moved(&out[n], from, i);
			explain_release(&out[n], old_set);
		}
		n++;
	}
	return n;
}

size_t policy_carry(const struct policy_set *set, struct policy_state *st,
		    const struct policy_set *old_set,
		    const struct policy_state *old,
		    struct policy_decision *out, size_t cap)
{
	size_t i, n = 0;

	st->ticks = old->ticks;
	st->forgotten = old->forgotten;
	for (i = 0; i < old->n_slots && i < st->n_slots; i++) {
		if (!old->slots[i].used)
			continue;
		carry_slot(set, &st->slots[i], old_set, &old->slots[i]);
		n = list_releases(&st->slots[i], &old->slots[i], old_set, out, n, cap);
	}
	return n;
}
