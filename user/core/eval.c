// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/decide.h"
#include "core/policy.h"
#include "core/schedule.h"

const char *const cause_names[CAUSES] = {
	[CAUSE_NONE] = "none", [CAUSE_UAR] = "uar", [CAUSE_CACHE] = "cache",
	[CAUSE_PU] = "pu", [CAUSE_HOL] = "hol", [CAUSE_PORT] = "port",
};

static bool same_place(const struct policy_run *run, const struct signals *s,
		       const struct binding *b)
{
	const struct snapshot *snap = s->snap;

	if (b->at[OBJ_DEV] >= 0 && snap->devs[b->at[OBJ_DEV]].index != run->dev)
		return false;
	return b->at[OBJ_PORT] < 0 ||
	       snap->ports[b->at[OBJ_PORT]].index == run->port;
}

/* Is the contrary unknown at the place where the state was seen true? */
static bool is_blind_there(struct eval *e, const struct cond *not,
			   const struct policy_run *run, uint32_t job)
{
	struct binding b;
	struct span sp;

	span_init(&sp, e->s, job, not->kinds);
	while (span_next(&sp, &b))
		if (same_place(run, e->s, &b) &&
		    truth_at(&e->st->truth, &e->set->prog, not->terms, &b) ==
			    TRI_UNKNOWN)
			return true;
	return false;
}

/*
 * Is the condition true for every object that the job uses, that is, is its contrary @not
 * true for none? Also true if the job uses no object any more. An object for which it is
 * unknown does not count, or a port without counters would keep an override for ever. But
 * unknown at the place where the state was seen true gives unknown, or a port without a
 * reading for one tick would end an override.
 */
static enum tri holds_for_all(struct eval *e, const struct cond *not,
			      const struct policy_run *run, uint32_t job)
{
	switch (truth_some(&e->st->truth, &e->set->prog, e->s, not, job)) {
	case TRI_TRUE:
		return TRI_FALSE;
	case TRI_UNKNOWN:
		if (is_blind_there(e, not, run, job))
			return TRI_UNKNOWN;
		return TRI_TRUE;
	default:
		return TRI_TRUE;
	}
}

/* Records since when @t has been true without a break. */
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

/* Evaluates the state, or its fallback if the state is unknown. @by: which one. */
static enum tri ask_state(struct eval *e, struct policy_answer *a, bool same,
			  uint32_t n, uint32_t job, const struct cond **by)
{
	const struct policy *p = &e->set->v[n];
	const struct truth *t = &e->st->truth;
	const struct prog *prog = &e->set->prog;
	enum tri r;

	if (!same) {
		r = truth_some(t, prog, e->s, &p->when, job);
		a->by_fallback = r == TRI_UNKNOWN && p->fallback.terms.n;
		if (a->by_fallback)
			r = truth_some(t, prog, e->s, &p->fallback, job);
		a->is = (uint8_t)r;
	}
	*by = a->by_fallback ? &p->fallback : &p->when;
	return a->is;
}

static enum tri ask_undo(struct eval *e, struct policy_answer *a,
			 const struct policy_run *run, uint32_t n, uint32_t job,
			 const struct cond **by)
{
	const struct policy *p = &e->set->v[n];
	const struct truth *t = &e->st->truth;
	enum tri r;

	if (e->turned[n] & UNDO_TURNED ||
	    !truth_same_job(t, job, a->undo_asked)) {
		r = holds_for_all(e, &p->undo_not, run, job);
		a->undo_by_fallback = r == TRI_UNKNOWN &&
				      p->undo_fallback.terms.n;
		if (a->undo_by_fallback)
			r = holds_for_all(e, &p->undo_fallback_not, run, job);
		a->undo_is = (uint8_t)r;
	}
	a->undo_asked = t->tick;
	*by = a->undo_by_fallback ? &p->undo_fallback : &p->undo_when;
	return a->undo_is;
}

static bool first_true(struct eval *e, const struct cond *c, uint32_t job,
		       struct binding *b)
{
	if (truth_first(&e->st->truth, &e->set->prog, e->s, c, job, b))
		return true;
	memset(b, 0xff, sizeof(*b));
	b->at[OBJ_JOB] = (int32_t)job;
	return false;
}

/* Does another policy hold a knob of this policy's action? */
static bool knob_taken(const struct policy *p, const struct policy_slot *slot,
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

/* A policy on a job: state not true; true; true and due; due, and the place is known. */
enum { FALSE, HOLDS, ACTS, FOUND };

/* Is the settle time of the last act still running? Until then only its cause acts. */
static bool is_settling(const struct eval *e, const struct policy_slot *slot)
{
	return slot->caused && e->now - slot->cause_at < e->set->settle &&
	       !e->st->at_once;
}

/*
 * Of the causes with policies that are due on this job, the one with the greatest
 * margin.
 */
static enum cause strongest_cause(struct eval *e, const struct policy_turn *turn,
				  uint8_t *truth, const struct cond **by,
				  struct binding *where)
{
	enum cause best = CAUSE_NONE;
	double best_margin = 0;
	uint32_t i;

	for (i = 0; i < turn->end - turn->first; i++) {
		const struct policy *p =
			&e->set->v[e->st->whose[turn->first + i] & ~TURN_STALE];
		double m;

		if (truth[i] != ACTS || p->cause == CAUSE_NONE)
			continue;
		first_true(e, by[i], turn->job, &where[i]);
		truth[i] = FOUND;
		m = margin_cond(&e->set->prog, &e->st->truth, by[i], e->s,
				&where[i]);
		if (best != CAUSE_NONE && m <= best_margin)
			continue;
		best = p->cause;
		best_margin = m;
	}
	return best;
}

/*
 * Can policy @n, whose state is true, act on the job now? If its knobs are held by another
 * policy or at their bounds, it cannot before a knob of the job changes.
 */
static bool could_act(struct eval *e, const struct policy_slot *slot,
		      struct policy_answer *a, uint32_t n, uint32_t job)
{
	bool moves, stays;

	/* Only an undo gives steps back. */
	a->idle = decide_used_up(e, slot, n);
	if (a->idle || !decide_due(e, slot, n, false))
		return false;
	moves = !knob_taken(&e->set->v[n], slot, n, 0);
	stays = true;
	if (moves)
		moves = decide_moves(e, slot, n, job, &stays);
	a->idle = !moves && stays;
	return moves;
}

/*
 * Evaluates a policy's state on a job. *@due: an act, or an undo, may be due. @same: the
 * last answer still holds.
 */
static uint8_t check_policy(struct eval *e, struct policy_slot *slot,
			    const struct policy_turn *turn, uint32_t i, bool same,
			    const struct cond **by, bool *due)
{
	struct policy_answer *a = &e->st->answers[turn->first + i];
	uint16_t n = e->st->whose[turn->first + i];
	struct policy_run *run = &slot->runs[n & ~TURN_STALE];

	if (n & TURN_STALE ||
	    !note_since(&run->was_true, &run->true_since,
			ask_state(e, a, same, n, turn->job, by), e->now)) {
		a->idle = !run->active;
		*due = run->active;
		return FALSE;
	}
	run->undo_was_true = false;
	*due = could_act(e, slot, a, n, turn->job);
	return *due ? ACTS : HOLDS;
}

/* Carries out what is due: an act, an undo, or the release of a job. */
static void run_policy(struct eval *e, struct policy_slot *slot,
		       const struct policy_turn *turn, uint32_t i, uint8_t truth,
		       const struct cond *by, struct binding *b,
		       uint32_t others, unsigned int *turned)
{
	struct policy_answer *a = &e->st->answers[turn->first + i];
	uint16_t n = e->st->whose[turn->first + i];
	const struct policy *p = &e->set->v[n & ~TURN_STALE];
	struct policy_run *run = &slot->runs[n & ~TURN_STALE];
	const struct cond *undo;
	enum tri back;

	if (n & TURN_STALE) {
		if (run->active)
			decide_disown(e, slot, n & ~TURN_STALE, turn->job,
				      turned);
	} else if (truth != FALSE) {
		if (knob_taken(p, slot, n, *turned) || !decide_budget(e, n))
			return;
		if (truth == ACTS)
			first_true(e, by, turn->job, b);
		decide_act(e, slot, n, turn->job, by, b, others, turned);
		/* The undo depends on the place of the act: evaluate it again. */
		a->undo_asked = 0;
	} else if (run->active) {
		back = ask_undo(e, a, run, n, turn->job, &undo);
		a->idle = back != TRI_TRUE;
		if (!note_since(&run->undo_was_true, &run->undo_since, back,
				e->now) ||
		    knob_taken(p, slot, n, *turned) ||
		    !decide_due(e, slot, n, true))
			return;
		first_true(e, undo, turn->job, b);
		decide_undo(e, slot, n, turn->job, undo, b, turned);
	}
}

static void eval_job(struct eval *e, struct policy_slot *slot,
		     struct policy_turn *turn)
{
	struct policy_answer *answers = e->st->answers + turn->first;
	const struct truth *t = &e->st->truth;
	const uint16_t *whose = e->st->whose + turn->first;
	const struct cond *by[POLICY_SET_MAX];
	struct binding where[POLICY_SET_MAX];
	uint8_t truth[POLICY_SET_MAX];
	uint16_t due[POLICY_SET_MAX];
	uint32_t i, k, n_due = 0, count = turn->end - turn->first;
	uint32_t others = 0, causes = 0;
	unsigned int turned = 0;
	enum cause cause = CAUSE_NONE;
	bool same_job, same, is_due;

	same_job = truth_same_job(t, turn->job, turn->asked);
	turn->asked = t->tick;
	if (same_job && turn->idle && truth_same_rest(t, &turn->rest))
		return;
	for (i = 0; i < count; i++) {
		uint8_t rest = e->turned[whose[i] & ~TURN_STALE];

		truth[i] = FALSE;
		if (same_job && answers[i].idle && !rest)
			continue;
		same = same_job && !(rest & WHEN_TURNED);
		truth[i] = check_policy(e, slot, turn, i, same, &by[i], &is_due);
		if (!is_due)
			continue;
		due[n_due++] = (uint16_t)i;
		if (truth[i] == ACTS)
			causes |= 1u << e->set->v[whose[i]].cause;
	}
	causes &= ~(1u << CAUSE_NONE);
	if (causes && is_settling(e, slot))
		cause = slot->cause;
	else if (causes & (causes - 1))
		cause = strongest_cause(e, turn, truth, by, where);
	if (cause != CAUSE_NONE)
		others = causes & ~(1u << cause);
	for (k = 0; k < n_due; k++) {
		const struct policy *p;

		i = due[k];
		p = &e->set->v[whose[i] & ~TURN_STALE];
		if (e->n + p->n_act > e->cap)
			continue;
		if (truth[i] != FALSE && p->cause != CAUSE_NONE &&
		    cause != CAUSE_NONE && cause != p->cause)
			continue;
		run_policy(e, slot, turn, i, truth[i],
			   truth[i] == FALSE ? NULL : by[i], &where[i], others,
			   &turned);
	}
	for (i = 0; i < count && turned; i++)
		answers[i].idle = false;
	i = 0;
	while (i < count && answers[i].idle)
		i++;
	turn->idle = i == count;
}

/* Subscribes each job to the terms of its policies; others need no evaluation per QP. */
static void ask_about(struct eval *e)
{
	const struct snapshot *snap = e->s->snap;
	struct truth *t = &e->st->truth;
	const struct prog *prog = &e->set->prog;
	uint32_t j, n;

	if (truth_asks(t, e->s))
		return;
	truth_ask_none(t, e->s);
	for (j = 0; j < snap->n_jobs; j++)
		for (n = 0; n < e->set->n; n++) {
			const struct policy *p = &e->set->v[n];

			if (p->off || !policy_applies(p, snap->jobs[j].name,
						      snap->jobs[j].class))
				continue;
			truth_ask(t, prog, j, &p->when);
			truth_ask(t, prog, j, &p->fallback);
			truth_ask(t, prog, j, &p->undo_not);
			truth_ask(t, prog, j, &p->undo_fallback_not);
		}
}

size_t policy_eval(const struct policy_set *set, struct policy_state *st,
		   const struct signals *s, uint64_t now,
		   struct policy_decision *out, size_t cap)
{
	struct eval e = {
		.set = set, .st = st, .s = s, .now = now,
		.out = out, .cap = cap,
	};
	size_t i;

	st->ticks++;
	ask_about(&e);
	truth_update(&st->truth, &set->prog, s, now);
	schedule_arrange(&e);
	schedule_find_changed(&e);
	for (i = 0; i < st->n_order; i++)
		eval_job(&e, &st->slots[st->order[i].slot], &st->order[i]);
	return e.n;
}
