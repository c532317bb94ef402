// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/schedule.h"

#include <string.h>

static void slot_clear(struct policy_state *st, struct policy_slot *slot)
{
	struct policy_slot empty = {
		.runs = slot->runs, .evidence = slot->evidence,
	};

	memset(slot->runs, 0, st->n_policies * sizeof(*slot->runs));
	*slot = empty;
}

static bool slot_is(const struct policy_slot *slot, const struct snap_job *job)
{
	return slot->used && slot->job == job->id &&
	       slot->since == job->since && !strcmp(slot->name, job->name);
}

/*
 * Jobs mostly keep their row from one reading to the next, so @hint is nearly always
 * right; otherwise search all slots.
 */
static struct policy_slot *slot_find(struct policy_state *st,
				     const struct snap_job *job, size_t hint)
{
	size_t i;

	if (hint < st->n_slots && slot_is(&st->slots[hint], job))
		return &st->slots[hint];
	for (i = 0; i < st->n_slots; i++)
		if (slot_is(&st->slots[i], job))
			return &st->slots[i];
	return NULL;
}

/* Clears the slots of jobs that are gone: their overrides are gone too. */
static void slots_sweep(struct eval *e)
{
	const struct snapshot *snap = e->s->snap;
	size_t i;

	for (i = 0; i < e->st->n_slots; i++)
		e->st->slots[i].seen = false;
	for (i = 0; i < snap->n_jobs; i++) {
		struct policy_slot *slot = slot_find(e->st, &snap->jobs[i], i);

		if (slot)
			slot->seen = true;
	}
	for (i = 0; i < e->st->n_slots; i++)
		if (e->st->slots[i].used && !e->st->slots[i].seen)
			slot_clear(e->st, &e->st->slots[i]);
}

static struct policy_slot *slot_get(struct policy_state *st,
				    const struct snap_job *job, size_t hint)
{
	struct policy_slot *slot = slot_find(st, job, hint);
	size_t i;

	if (slot)
		return slot;
	if (hint < st->n_slots && !st->slots[hint].used)
		slot = &st->slots[hint];
	for (i = 0; i < st->n_slots && !slot; i++)
		if (!st->slots[i].used)
			slot = &st->slots[i];
	if (!slot)
		return NULL;
	slot->used = true;
	slot->job = job->id;
	slot->since = job->since;
	memcpy(slot->name, job->name, sizeof(slot->name));
	return slot;
}

bool policy_applies(const struct policy *p, const char *job, uint32_t class)
{
	if (p->job[0])
		return !strcmp(p->job, job);
	return !p->classes || (class < 32 && p->classes & 1u << class);
}

static uint32_t rank_of(const struct policy_set *set, const char *job)
{
	size_t i;

	for (i = 0; i < set->n_ranks; i++)
		if (!strcmp(set->ranks[i].job, job))
			return set->ranks[i].rank;
	return UINT32_MAX;
}

/* Sorts jobs by rank, and jobs of equal rank as the kernel lists them. */
static void order_jobs(struct eval *e)
{
	const struct snapshot *snap = e->s->snap;
	struct policy_state *st = e->st;
	size_t i, k;

	st->n_order = 0;
	for (i = 0; i < snap->n_jobs && i < st->cap_order; i++) {
		uint32_t rank = rank_of(e->set, snap->jobs[i].name);

		for (k = st->n_order++; k > 0; k--) {
			struct policy_turn *before = &st->order[k - 1];

			if (rank_of(e->set, snap->jobs[before->job].name) <=
			    rank)
				break;
			st->order[k] = *before;
		}
		st->order[k].job = (uint32_t)i;
	}
}

static uint32_t list_policies(struct eval *e, const struct policy_slot *slot,
			      const struct snap_job *job, uint32_t at)
{
	size_t n;

	for (n = 0; n < e->set->n; n++) {
		const struct policy *p = &e->set->v[n];

		if (p->off)
			continue;
		if (policy_applies(p, job->name, job->class))
			e->st->whose[at++] = (uint16_t)n;
		else if (slot->runs[n].active)
			e->st->whose[at++] = (uint16_t)n | TURN_STALE;
	}
	return at;
}

static void find_rests(struct eval *e)
{
	const struct prog *prog = &e->set->prog;
	size_t n;

	for (n = 0; n < e->set->n; n++) {
		const struct policy *p = &e->set->v[n];
		struct policy_rest *r = &e->st->rests[n];

		memset(r, 0, sizeof(*r));
		truth_rests_on(&r->when, prog, &p->when);
		truth_rests_on(&r->when, prog, &p->fallback);
		truth_rests_on(&r->undo, prog, &p->undo_not);
		truth_rests_on(&r->undo, prog, &p->undo_fallback_not);
	}
}

static void rest_of(struct eval *e, struct policy_turn *turn)
{
	uint32_t i, o;

	memset(&turn->rest, 0, sizeof(turn->rest));
	for (i = turn->first; i < turn->end; i++) {
		const struct policy_rest *r =
			&e->st->rests[e->st->whose[i] & ~TURN_STALE];

		for (o = 0; o < OBJ_UAR; o++)
			turn->rest.need[o] |= r->when.need[o] |
					      r->undo.need[o];
	}
}

void schedule_find_changed(struct eval *e)
{
	const struct truth *t = &e->st->truth;
	size_t n;

	for (n = 0; n < e->set->n; n++) {
		const struct policy_rest *r = &e->st->rests[n];

		e->turned[n] = 0;
		if (!truth_same_rest(t, &r->when))
			e->turned[n] |= WHEN_TURNED;
		if (!truth_same_rest(t, &r->undo))
			e->turned[n] |= UNDO_TURNED;
	}
}

void schedule_arrange(struct eval *e)
{
	const struct snapshot *snap = e->s->snap;
	struct policy_state *st = e->st;
	size_t i, n = 0;
	uint32_t at = 0;

	if (st->ordered && st->order_of == e->s->topology)
		return;
	find_rests(e);
	slots_sweep(e);
	order_jobs(e);
	for (i = 0; i < st->n_order; i++) {
		const struct snap_job *job = &snap->jobs[st->order[i].job];
		struct policy_slot *slot;

		/* Job 0 has the QPs that match no rule; it has no policies. */
		slot = job->id ? slot_get(st, job, st->order[i].job) : NULL;
		if (!slot)
			continue;
		st->order[n].job = st->order[i].job;
		st->order[n].slot = (uint32_t)(slot - st->slots);
		st->order[n].first = at;
		at = list_policies(e, slot, job, at);
		st->order[n].end = at;
		st->order[n].asked = 0;
		st->order[n].idle = false;
		rest_of(e, &st->order[n++]);
	}
	if (at)
		memset(st->answers, 0, at * sizeof(*st->answers));
	st->n_order = n;
	st->ordered = true;
	st->order_of = e->s->topology;
}
