// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/schedule.h"

#include <string.h>

static void clear_slot(struct policy_state *st, struct policy_slot *slot)
{
	st->forgotten += slot->n_moved;
	memset(slot->runs, 0, st->n_policies * sizeof(*slot->runs));
	*slot = (struct policy_slot){ .runs = slot->runs, .evidence = slot->evidence };
}

static bool is_slot_of(const struct policy_slot *slot, const struct snap_job *job)
{
	return slot->used && slot->job == job->id &&
	       slot->since == job->since && !strcmp(slot->name, job->name);
}

/*
 * Tries the slot @hint first, the row of the job, because jobs mostly keep their row from one
 * reading to the next.
 */
static struct policy_slot *find_slot(struct policy_state *st, const struct snap_job *job,
				     size_t hint)
{
	size_t i;

	if (hint < st->n_slots && is_slot_of(&st->slots[hint], job))
		return &st->slots[hint];
	for (i = 0; i < st->n_slots; i++)
		if (is_slot_of(&st->slots[i], job))
			return &st->slots[i];
	return NULL;
}

/* Clears the slots of removed jobs. The kernel keeps only the overrides of QPs that have moved. */
static void sweep_slots(struct eval *e)
{
	const struct snapshot *snap = e->s->snap;
	size_t i;

	for (i = 0; i < e->st->n_slots; i++)
		e->st->slots[i].seen = false;
	for (i = 0; i < snap->n_jobs; i++) {
		struct policy_slot *slot = find_slot(e->st, &snap->jobs[i], i);

		if (slot)
			slot->seen = true;
	}
	for (i = 0; i < e->st->n_slots; i++)
		if (e->st->slots[i].used && !e->st->slots[i].seen)
			clear_slot(e->st, &e->st->slots[i]);
}

struct policy_slot *schedule_slot(struct policy_state *st, const struct snap_job *job,
				  size_t hint)
{
	struct policy_slot *slot = find_slot(st, job, hint);
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

static uint32_t find_rank(const struct policy_set *set, const char *job)
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
		uint32_t rank = find_rank(e->set, snap->jobs[i].name);

		for (k = st->n_order++; k > 0; k--) {
			struct policy_entry *before = &st->order[k - 1];

			if (find_rank(e->set, snap->jobs[before->job].name) <= rank)
				break;
			st->order[k] = *before;
		}
		st->order[k].job = (uint32_t)i;
	}
}

/* Lists the policies of a job at .job_policies[@at]. Returns the place after them. */
static uint32_t list_policies(struct eval *e, const struct policy_slot *slot,
			      const struct snap_job *job, uint32_t at)
{
	size_t n;

	for (n = 0; n < e->set->n; n++) {
		const struct policy *p = &e->set->v[n];

		if (p->off)
			continue;
		if (policy_applies(p, job->name, job->class)) {
			e->st->job_policies[at++] = (uint16_t)n;
			continue;
		}
		/* The state is not evaluated now, so its hold time will restart. */
		slot->runs[n].was_true = false;
		if (slot->runs[n].active)
			e->st->job_policies[at++] = (uint16_t)n | ENTRY_STALE;
	}
	return at;
}

void schedule_arrange(struct eval *e)
{
	const struct snapshot *snap = e->s->snap;
	struct policy_state *st = e->st;
	size_t i, n = 0;
	uint32_t at = 0;

	if (st->ordered && st->order_of == e->s->topology)
		return;
	sweep_slots(e);
	order_jobs(e);
	for (i = 0; i < st->n_order; i++) {
		uint32_t row = st->order[i].job;
		const struct snap_job *job = &snap->jobs[row];
		struct policy_entry *entry = &st->order[n];
		struct policy_slot *slot;

		/* Job 0 has the QPs that match no rule; it has no policies. */
		slot = job->id ? schedule_slot(st, job, row) : NULL;
		if (!slot)
			continue;
		*entry = (struct policy_entry){
			.job = row, .slot = (uint32_t)(slot - st->slots), .first = at,
		};
		at = list_policies(e, slot, job, at);
		entry->end = at;
		n++;
	}
	st->n_order = n;
	st->ordered = true;
	st->order_of = e->s->topology;
}
