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
	free(st->evidence);
	free(st->budgets);
	free(st->rests);
	free(st->order);
	free(st->whose);
	free(st->answers);
	truth_free(&st->truth);
	policy_state_init(st);
}

static int reserve_slots(struct policy_state *st, const struct policy_set *set,
			 size_t jobs)
{
	struct policy_slot *slots;
	struct policy_run *runs;
	struct policy_evidence *evidence;
	size_t n = st->n_slots ? st->n_slots : 16, i;

	if (jobs <= st->n_slots && st->n_slots)
		return 0;
	while (n < jobs)
		n *= 2;
	slots = calloc(n, sizeof(*slots));
	runs = calloc(n * set->n + 1, sizeof(*runs));
	evidence = calloc(n * set->n + 1, sizeof(*evidence));
	if (!slots || !runs || !evidence) {
		free(slots);
		free(runs);
		free(evidence);
		return -ENOMEM;
	}
	if (st->n_slots) {
		i = st->n_slots * st->n_policies;
		memcpy(slots, st->slots, st->n_slots * sizeof(*slots));
		memcpy(runs, st->runs, i * sizeof(*runs));
		memcpy(evidence, st->evidence, i * sizeof(*evidence));
	}
	for (i = 0; i < n; i++) {
		slots[i].runs = runs + i * set->n;
		slots[i].evidence = evidence + i * set->n;
	}
	free(st->slots);
	free(st->runs);
	free(st->evidence);
	st->slots = slots;
	st->runs = runs;
	st->evidence = evidence;
	st->n_slots = n;
	st->n_policies = set->n;
	return 0;
}

static int reserve_order(struct policy_state *st, const struct policy_set *set)
{
	struct policy_turn *order;
	struct policy_answer *answers;
	uint16_t *whose;

	if (st->cap_order >= st->n_slots)
		return 0;
	order = realloc(st->order, st->n_slots * sizeof(*order));
	if (!order)
		return -ENOMEM;
	st->order = order;
	whose = realloc(st->whose, (st->n_slots * set->n + 1) * sizeof(*whose));
	if (!whose)
		return -ENOMEM;
	st->whose = whose;
	answers = realloc(st->answers,
			  (st->n_slots * set->n + 1) * sizeof(*answers));
	if (!answers)
		return -ENOMEM;
	st->answers = answers;
	/* Answers are found by index, so those of a new set start empty. */
	st->ordered = false;
	st->cap_order = st->n_slots;
	return 0;
}

int policy_state_reserve_jobs(struct policy_state *st,
			      const struct policy_set *set, size_t jobs)
{
	if (reserve_slots(st, set, jobs) || reserve_order(st, set))
		return -ENOMEM;
	if (!st->rests) {
		st->rests = calloc(set->n ? set->n : 1, sizeof(*st->rests));
		if (!st->rests)
			return -ENOMEM;
	}
	if (!st->budgets) {
		st->budgets = calloc(set->n ? set->n : 1,
				     sizeof(*st->budgets));
		if (!st->budgets)
			return -ENOMEM;
	}
	return 0;
}

int policy_state_reserve(struct policy_state *st, const struct policy_set *set,
			 const struct signals *s)
{
	if (policy_state_reserve_jobs(st, set, s->snap->n_jobs))
		return -ENOMEM;
	return truth_reserve(&st->truth, &set->prog, s);
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

/* The QP has not reached its target UAR, or has not left its old one. */
static void move_failed(struct policy_slot *slot,
			const struct policy_decision *d)
{
	uint32_t i;

	for (i = 0; i < slot->n_moved; i++)
		if (slot->moved[i].dev == d->dev_index &&
		    slot->moved[i].qpn == d->qpn)
			break;
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

void policy_failed(struct policy_state *st, const struct policy_decision *d)
{
	struct policy_slot *slot = slot_by_name(st, d->job);
	struct policy_run *run;
	unsigned int i = d->step;

	if (!slot || d->policy >= st->n_policies)
		return;
	/* The policy may hold a knob of a job that it no longer applies to. */
	st->ordered = false;
	if (d->has_qp) {
		move_failed(slot, d);
		return;
	}
	run = &slot->runs[d->policy];
	/*
	 * Keeps .last, so that a failed act is repeated no sooner than the next act after a
	 * success.
	 */
	if (d->undo) {
		slot->held[d->knob] = true;
		slot->holder[d->knob] = d->policy;
		slot->value[d->knob] = d->old;
		run->active = true;
		return;
	}
	if (run->steps)
		run->steps--;
	/*
	 * A held value that could not be set again is not in force; a first step that failed
	 * never was.
	 */
	if ((d->has_old && d->old == d->new) || (run->has_from[i] == d->has_old &&
	     (!d->has_old || run->from[i] == d->old))) {
		slot->held[d->knob] = false;
		run->active = holds_any(slot, d->policy);
		return;
	}
	slot->value[d->knob] = d->old;
}

static void describe(struct policy_decision *d, const struct policy_slot *slot,
		     unsigned int knob)
{
	memset(d, 0, sizeof(*d));
	d->policy = slot->holder[knob];
	d->job_id = slot->job;
	memcpy(d->job, slot->name, sizeof(d->job));
	d->knob = knob;
	d->has_old = true;
	d->old = slot->value[knob];
	d->new = slot->value[knob];
	d->tick = slot->runs[d->policy].tick;
	d->steps_left = UINT32_MAX;
	d->acts_left = UINT32_MAX;
	memcpy(d->reason, slot->evidence[d->policy].reason, sizeof(d->reason));
	d->seen = slot->evidence[d->policy].seen;
}

static void describe_moved(struct policy_decision *d,
			   const struct policy_slot *slot, uint32_t i)
{
	const struct policy_moved *m = &slot->moved[i];

	describe(d, slot, SWIFTRDMA_KNOB_UAR);
	d->has_qp = true;
	d->dev_index = m->dev;
	d->qpn = m->qpn;
	d->serial = m->serial;
	d->old = m->uar;
	d->new = m->uar;
}

/* Entries of a slot: one for each knob, then one for each QP that was moved. */
#define PLACES (POLICY_KNOBS + POLICY_MOVED)

size_t policy_held(const struct policy_set *set, const struct policy_state *st,
		   size_t *pos, struct policy_decision *out, size_t cap)
{
	size_t n = 0;

	(void)set;
	for (; *pos < st->n_slots * PLACES && n < cap; (*pos)++) {
		const struct policy_slot *slot = &st->slots[*pos / PLACES];
		unsigned int at = *pos % PLACES;

		if (!slot->used)
			continue;
		if (at >= POLICY_KNOBS) {
			if (at - POLICY_KNOBS < slot->n_moved)
				describe_moved(&out[n++], slot,
					       at - POLICY_KNOBS);
		} else if (slot->held[at] && at != SWIFTRDMA_KNOB_UAR) {
			describe(&out[n++], slot, at);
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

static const struct policy *successor(const struct policy_set *set,
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
		       const struct policy_set *old_set,
		       const struct policy_slot *from)
{
	unsigned int k;
	size_t i;

	to->used = true;
	to->job = from->job;
	to->since = from->since;
	memcpy(to->name, from->name, sizeof(to->name));
	memcpy(to->turns, from->turns, sizeof(to->turns));
	to->cause = from->cause;
	to->caused = from->caused;
	to->cause_at = from->cause_at;
	for (i = 0; i < old_set->n; i++) {
		const struct policy *p = successor(set, &old_set->v[i]);
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

static void gone(struct policy_decision *d, const struct policy_set *old_set)
{
	struct text t;

	d->undo = true;
	d->release = true;
	text_init(&t, d->reason, sizeof(d->reason));
	text_str(&t, old_set->v[d->policy].name);
	text_str(&t, ": no longer in the policy file: ");
	text_str(&t, vocab_knob(d->knob)->name);
	text_str(&t, " released");
}

/* Lists overrides that a job's old slot held and the new slot does not. */
static size_t let_go(const struct policy_slot *to,
		     const struct policy_slot *from,
		     const struct policy_set *old_set,
		     struct policy_decision *out, size_t n, size_t cap)
{
	unsigned int k;
	uint32_t i, j;

	for (k = 0; k < POLICY_KNOBS; k++) {
		if (!from->held[k] || to->held[k] || k == SWIFTRDMA_KNOB_UAR)
			continue;
		if (n < cap) {
			describe(&out[n], from, k);
			gone(&out[n], old_set);
		}
		n++;
	}
	for (i = 0; i < from->n_moved; i++) {
		for (j = 0; j < to->n_moved; j++)
			if (to->moved[j].dev == from->moved[i].dev &&
			    to->moved[j].qpn == from->moved[i].qpn)
				break;
		if (j < to->n_moved)
			continue;
		if (n < cap) {
			describe_moved(&out[n], from, i);
			gone(&out[n], old_set);
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
	for (i = 0; i < old->n_slots && i < st->n_slots; i++) {
		if (!old->slots[i].used)
			continue;
		carry_slot(set, &st->slots[i], old_set, &old->slots[i]);
		n = let_go(&st->slots[i], &old->slots[i], old_set, out, n,
			   cap);
	}
	return n;
}
