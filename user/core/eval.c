// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Finds the policies that are due on each job, and the cause that acts. */
#include "core/decide.h"
#include "core/schedule.h"

const char *const cause_names[CAUSES] = {
	[CAUSE_NONE] = "none", [CAUSE_UAR] = "uar", [CAUSE_CACHE] = "cache",
	[CAUSE_PU] = "pu", [CAUSE_HOL] = "hol", [CAUSE_PORT] = "port",
};

/* True: @spot is on the device and port where the policy acted last. */
static bool is_same_place(const struct policy_run *run, const struct signals *s,
			  const struct spot *spot)
{
	const struct snapshot *snap = s->snap;

	return (spot->dev < 0 || snap->devs[spot->dev].index == run->dev) &&
	       (spot->port < 0 || snap->ports[spot->port].index == run->port);
}

/*
 * True: the contrary @not is unknown where the policy acted last. The caller has found that
 * @not is true for no object.
 */
static bool is_blind_there(struct eval *e, const struct cond *not,
			   const struct policy_run *run, uint32_t job)
{
	struct spot spot = { .pos = 0 };

	while (truth_next_spot(e->s, not->kinds, job, &spot))
		if (is_same_place(run, e->s, &spot) &&
		    truth_of_spot(&e->view, not, &spot) == TRI_UNKNOWN)
			return true;
	return false;
}

/*
 * The truth of a condition for every object that the job uses: true if its contrary @not is
 * true for none of them, so also if the job uses no object any more. An object for which @not
 * is unknown does not count; otherwise a port without counters would keep an override for ever.
 * But if @not is unknown at the place where the policy acted, the result is unknown; otherwise a
 * port without a reading for one tick would end an override.
 */
static enum tri holds_for_all(struct eval *e, const struct cond *not,
			      const struct policy_run *run, uint32_t job)
{
	enum tri contrary = truth_some(&e->view, not, job);

	if (contrary == TRI_UNKNOWN && is_blind_there(e, not, run, job))
		return TRI_UNKNOWN;
	return contrary == TRI_TRUE ? TRI_FALSE : TRI_TRUE;
}

/* Records since when @t has been true without a break. Returns whether @t is true. */
static bool note_since(bool *was, uint64_t *since, enum tri t, uint64_t now)
{
	if (t != TRI_TRUE) {
		*was = false;
		return false;
	}
	if (!*was)
		*since = now;
	*was = true;
	return true;
}

/*
 * Evaluates a policy's state and, while that is unknown, its fallbacks. *@by: the state that
 * decided.
 */
static enum tri evaluate_state(struct eval *e, const struct policy *p, uint32_t job,
			       const struct cond **by)
{
	unsigned int i;
	enum tri r;

	*by = &p->when;
	r = truth_some(&e->view, *by, job);
	for (i = 0; r == TRI_UNKNOWN && i < p->n_fallback; i++) {
		*by = &p->fallback[i];
		r = truth_some(&e->view, *by, job);
	}
	return r;
}

/* The same for the state of the undo. */
static enum tri evaluate_undo(struct eval *e, const struct policy *p,
			      const struct policy_run *run, uint32_t job, const struct cond **by)
{
	unsigned int i;
	enum tri r;

	*by = &p->undo_when;
	r = holds_for_all(e, &p->undo_not, run, job);
	for (i = 0; r == TRI_UNKNOWN && i < p->n_undo_fallback; i++) {
		*by = &p->undo_fallback[i];
		r = holds_for_all(e, &p->undo_fallback_not[i], run, job);
	}
	return r;
}

/* Binds the first objects for which @c is true, else the job alone. */
static void bind_first_true(struct eval *e, const struct cond *c, uint32_t job,
			    struct binding *b)
{
	if (truth_first(&e->view, c, job, b))
		return;
	memset(b, 0xff, sizeof(*b));
	b->at[OBJ_JOB] = (int32_t)job;
}

/*
 * True: another policy holds a knob of the action of policy @n, or a knob of it has been set in
 * this tick (@turned).
 */
static bool is_knob_taken(const struct policy *p, const struct policy_slot *slot,
			  uint32_t n, unsigned int turned)
{
	unsigned int i;

	for (i = 0; i < p->n_act; i++) {
		unsigned int knob = p->act[i].knob;

		if (turned & 1u << knob)
			return true;
		if (slot->held[knob] && slot->holder[knob] != n)
			return true;
	}
	return false;
}

/* What evaluate_policy() finds about a policy on a job. */
enum {
	NOT_TRUE,	/* its state is not true */
	NOT_DUE,	/* its state is true, and it cannot act now */
	DUE,
	DUE_AND_BOUND,	/* due, and the objects where its state is true are bound */
};

/* True: the settle time of the last act is not over, so only policies of the same cause act. */
static bool is_settling(const struct eval *e, const struct policy_slot *slot)
{
	return slot->caused.known && e->now - slot->caused.at < e->set->settle &&
	       !e->st->at_once;
}

/* Of the causes with policies that are due on this job, the one with the greatest margin. */
static enum cause find_strongest_cause(struct eval *e, const struct policy_entry *entry,
				       uint8_t *truth, const struct cond **by,
				       struct binding *where)
{
	enum cause best = CAUSE_NONE;
	double best_margin = 0;
	uint32_t i;

	for (i = 0; i < entry->end - entry->first; i++) {
		const struct policy *p =
			&e->set->v[e->st->job_policies[entry->first + i] & ~ENTRY_STALE];
		double m;

		if (truth[i] != DUE || p->cause == CAUSE_NONE)
			continue;
		bind_first_true(e, by[i], entry->job, &where[i]);
		truth[i] = DUE_AND_BOUND;
		m = margin_cond(&e->view, by[i], &where[i]);
		if (best != CAUSE_NONE && m <= best_margin)
			continue;
		best = p->cause;
		best_margin = m;
	}
	return best;
}

/* True: policy @n, whose state is true, can act on the job now. */
static bool could_act(struct eval *e, const struct policy_slot *slot, uint32_t n, uint32_t job)
{
	return !decide_used_up(e, slot, n) && decide_due(e, slot, n, false) &&
	       !is_knob_taken(&e->set->v[n], slot, n, 0) && decide_would_change(e, slot, n, job);
}

/* Evaluates a policy on a job. *@due: an act or an undo may be due. */
static uint8_t evaluate_policy(struct eval *e, struct policy_slot *slot, uint16_t n, uint32_t job,
			       const struct cond **by, bool *due)
{
	struct policy_run *run = &slot->runs[n & ~ENTRY_STALE];

	if (n & ENTRY_STALE ||
	    !note_since(&run->was_true, &run->true_since,
			evaluate_state(e, &e->set->v[n], job, by), e->now)) {
		*due = run->active;
		return NOT_TRUE;
	}
	run->undo_was_true = false;
	*due = could_act(e, slot, n, job);
	return *due ? DUE : NOT_DUE;
}

/* Decides what is due: an act, an undo, or the release of the job. */
static void run_policy(struct eval *e, struct policy_slot *slot, uint16_t n, uint32_t job,
		       uint8_t truth, const struct cond *by, struct binding *b,
		       uint32_t others, unsigned int *turned)
{
	const struct policy *p = &e->set->v[n & ~ENTRY_STALE];
	struct policy_run *run = &slot->runs[n & ~ENTRY_STALE];
	const struct cond *undo;

	if (n & ENTRY_STALE) {
		if (run->active)
			decide_disown(e, slot, n & ~ENTRY_STALE, job, turned);
	} else if (truth != NOT_TRUE) {
		if (is_knob_taken(p, slot, n, *turned) || !decide_budget(e, n))
			return;
		if (truth == DUE)
			bind_first_true(e, by, job, b);
		decide_act(e, slot, n, job, by, b, others, turned);
	} else if (run->active) {
		if (!note_since(&run->undo_was_true, &run->undo_since,
				evaluate_undo(e, p, run, job, &undo), e->now) ||
		    !decide_due(e, slot, n, true))
			return;
		bind_first_true(e, undo, job, b);
		decide_undo(e, slot, n, job, undo, b, turned);
	}
}

static void eval_job(struct eval *e, struct policy_slot *slot, const struct policy_entry *entry)
{
	const uint16_t *list = e->st->job_policies + entry->first;
	const struct cond *by[POLICY_SET_MAX];
	struct binding where[POLICY_SET_MAX];
	uint8_t truth[POLICY_SET_MAX];
	uint16_t due[POLICY_SET_MAX];
	uint32_t i, k, n_due = 0, count = entry->end - entry->first;
	uint32_t others = 0, causes = 0;
	unsigned int turned = 0;
	enum cause cause = CAUSE_NONE;
	bool is_due;

	for (i = 0; i < count; i++) {
		truth[i] = evaluate_policy(e, slot, list[i], entry->job, &by[i], &is_due);
		if (!is_due)
			continue;
		due[n_due++] = (uint16_t)i;
		if (truth[i] == DUE)
			causes |= 1u << e->set->v[list[i]].cause;
	}
	causes &= ~(1u << CAUSE_NONE);
	if (causes && is_settling(e, slot))
		cause = slot->caused.cause;
	else if (causes & (causes - 1))
		cause = find_strongest_cause(e, entry, truth, by, where);
	if (cause != CAUSE_NONE)
		others = causes & ~(1u << cause);
	for (k = 0; k < n_due; k++) {
		const struct policy *p;

		i = due[k];
		p = &e->set->v[list[i] & ~ENTRY_STALE];
		if (e->n + p->n_act > e->cap)
			continue;
		if (truth[i] != NOT_TRUE && p->cause != CAUSE_NONE &&
		    cause != CAUSE_NONE && cause != p->cause)
			continue;
		run_policy(e, slot, list[i], entry->job, truth[i],
			   truth[i] == NOT_TRUE ? NULL : by[i], &where[i], others, &turned);
	}
}

size_t policy_eval(const struct policy_set *set, struct policy_state *st,
		   const struct signals *s, uint64_t now,
		   struct policy_decision *out, size_t cap)
{
	struct eval e = {
		.set = set, .st = st, .s = s, .now = now, .out = out, .cap = cap,
		.view = { .t = &st->truth, .p = &set->prog, .s = s },
	};
	size_t i;

	st->ticks++;
	truth_update(&st->truth, &set->prog, s, now);
	schedule_arrange(&e);
	for (i = 0; i < st->n_order; i++)
		eval_job(&e, &st->slots[st->order[i].slot], &st->order[i]);
	return e.n;
}
