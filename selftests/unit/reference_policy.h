/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A plain evaluator of policies: what is decided at a tick, by Documentation/policy.rst and
 * swiftrdma-policy(5). It is slow, and meant to be obviously right: states are evaluated by
 * reference.h, all is looked for by loops, and nothing is kept but what policies did. Of the code
 * under test it uses the parser, and the times and bounds that the loader read.
 */
#ifndef SELFTESTS_UNIT_REFERENCE_POLICY_H
#define SELFTESTS_UNIT_REFERENCE_POLICY_H

#include "unit/reference_act.h"
#include "unit/reference_margin.h"

static inline bool reference_is_over(uint64_t since, uint64_t time)
{
	return reference.at_once || reference.now - since >= time;
}

/* Has the state been true for the hold time, and the cooldown of the last act passed? */
static inline bool reference_is_time(const struct reference_policy *r,
				     const struct reference_job *j, bool undo)
{
	const struct reference_run *run = &j->run[r->p - reference.set->v];
	uint32_t i, damp = 0;

	for (i = 0; !undo && i < r->p->n_act; i++)
		if (j->knob[r->p->act[i].knob].damp > damp)
			damp = j->knob[r->p->act[i].knob].damp;
	return reference_is_over(undo ? run->undo_since : run->since,
				 undo ? r->p->undo_hold : r->p->hold) &&
	       (!run->turned ||
		reference_is_over(run->last,
				  undo ? r->p->undo_cooldown : r->p->cooldown << damp));
}

/* Is each knob of the action free, or held by the policy, and not turned in this tick? */
static inline bool reference_is_free(uint32_t n, const struct reference_job *j)
{
	const struct policy *p = reference.v[n].p;
	unsigned int i;

	for (i = 0; i < p->n_act; i++) {
		const struct reference_knob *k = &j->knob[p->act[i].knob];

		if ((k->held && k->by != n) || reference.turned[p->act[i].knob])
			return false;
	}
	return true;
}

/* Would an act change a knob, as far as the job alone tells? */
static inline bool reference_would_change(const struct reference_policy *r, int32_t job)
{
	const struct binding b = { { -1, -1, -1, -1, job } };
	unsigned int i;

	for (i = 0; i < r->p->n_act; i++) {
		const struct reference_change c = reference_value(r, i, job, &b);

		if (r->p->act[i].op == STEP_LIGHTEST || c.changes || c.unknown)
			return true;
	}
	return false;
}

/* True: the policy has an act left. It begins with those of a second, at least one, and gains by time. */
static inline bool reference_has_left(struct reference_policy *r)
{
	const double most = r->p->rate > 1 ? r->p->rate : 1;

	if (!r->left_at)
		r->left = most;
	else
		r->left += r->p->rate * (double)(reference.now - r->left_at) / 1e9;
	if (r->left > most)
		r->left = most;
	r->left_at = reference.now;
	return r->p->rate <= 0 || r->left >= 1;
}

/* What is found of a policy on a job, before any policy acts on the job. */
struct reference_found {
	bool applies, is, due;
	unsigned int by;
	struct binding b;
};

static inline struct reference_found reference_find(uint32_t n, int32_t job)
{
	const struct reference_policy *r = &reference.v[n];
	const struct snap_job *of = &reference_snap->jobs[job];
	struct reference_job *j = reference_job(job);
	struct reference_run *run = &j->run[n];
	struct reference_found f = { false };

	f.applies = r->p->job[0] ? !strcmp(r->p->job, of->name) :
				   !r->p->classes || r->p->classes >> of->class & 1;
	f.is = f.applies && reference_is_true(r, job, &f.by, &f.b);
	if (f.is && !run->is)
		run->since = reference.now;
	run->is = f.is;
	if (f.is)
		run->undo_is = false;
	f.due = f.is && (!r->p->max_steps || run->acts < r->p->max_steps) &&
		reference_is_time(r, j, false) && reference_is_free(n, j) &&
		reference_would_change(r, job);
	return f;
}

/* The cause to act on, of those in @causes that are due; CAUSE_NONE: any. */
static inline enum cause reference_cause(const struct reference_found *f, uint32_t causes,
					 int32_t job)
{
	const struct reference_job *j = reference_job(job);
	enum cause best = CAUSE_NONE;
	double most = 0, m;
	uint32_t n;

	if (j->cause != CAUSE_NONE && !reference_is_over(j->cause_at, reference.set->settle))
		return j->cause;
	for (n = 0; causes & (causes - 1) && n < reference.set->n; n++) {
		if (!f[n].due || reference.v[n].p->cause == CAUSE_NONE)
			continue;
		m = reference_margin(&reference.v[n].when[f[n].by], &f[n].b);
		if (best != CAUSE_NONE && m <= most)
			continue;
		best = reference.v[n].p->cause;
		most = m;
	}
	return best;
}

static inline void reference_undo_if_due(uint32_t n, int32_t job)
{
	const struct reference_policy *r = &reference.v[n];
	struct reference_run *run = &reference_job(job)->run[n];
	unsigned int by = 0;
	const bool is = reference_undo_is_true(r, run, job, &by);
	struct binding b;

	if (is && !run->undo_is)
		run->undo_since = reference.now;
	run->undo_is = is;
	if (!is || !reference_is_time(r, reference_job(job), true))
		return;
	if (reference_first(&r->undo[by], reference.tick, job, &b) != TRI_TRUE)
		b = (struct binding){ { -1, -1, -1, -1, job } };
	reference_undo(n, job, by, &b, false);
}

static inline void reference_do_job(int32_t job)
{
	struct reference_found f[REFERENCE_POLICIES];
	struct reference_job *j = reference_job(job);
	const struct binding alone = { { -1, -1, -1, -1, job } };
	uint32_t n, causes = 0;
	enum cause cause = CAUSE_NONE;

	memset(reference.turned, 0, sizeof(reference.turned));
	for (n = 0; n < reference.set->n; n++) {
		f[n] = reference_find(n, job);
		if (f[n].due)
			causes |= 1u << reference.v[n].p->cause & ~(1u << CAUSE_NONE);
	}
	if (causes)
		cause = reference_cause(f, causes, job);
	for (n = 0; n < reference.set->n; n++) {
		const enum cause own = reference.v[n].p->cause;

		if (reference.n + reference.v[n].p->n_act > reference.cap)
			continue;
		if (!f[n].applies && j->run[n].holds)
			reference_undo(n, job, 0, &alone, true);
		else if (f[n].applies && !f[n].is && j->run[n].holds)
			reference_undo_if_due(n, job);
		if (!f[n].due || (own != CAUSE_NONE && cause != CAUSE_NONE && own != cause) ||
		    !reference_is_free(n, j) || !reference_has_left(&reference.v[n]))
			continue;
		reference_act(n, job, f[n].by, &f[n].b,
			      cause == CAUSE_NONE ? 0 : causes & ~(1u << cause));
	}
}

static inline uint32_t reference_rank(const char *job)
{
	size_t i;

	for (i = 0; i < reference.set->n_ranks; i++)
		if (!strcmp(reference.set->ranks[i].job, job))
			return reference.set->ranks[i].rank;
	return SCENE_JOBS;
}

/* The number of overrides that policies hold. */
static inline size_t reference_n_held(void)
{
	unsigned int id, k;
	size_t n = 0;

	for (id = 0; id < SCENE_JOBS; id++) {
		for (k = 0; k < POLICY_KNOBS; k++)
			n += k != SWIFTRDMA_KNOB_UAR && reference.jobs[id].knob[k].held;
		n += reference.jobs[id].n_moved;
	}
	return n;
}

/* Decides what is due: job by job in the order of the file, then jobs that it does not name. */
static inline void reference_evaluate(int tick, size_t cap)
{
	const struct snapshot *s = reference_snap;
	uint32_t id, rank;
	size_t i;

	reference.tick = tick;
	reference.now = reference_ticks[tick].now;
	reference.cap = cap;
	reference.n = 0;
	/* A job that is gone has taken with it what policies held of it. */
	for (id = 0; id < SCENE_JOBS; id++) {
		for (i = 0; i < s->n_jobs && s->jobs[i].id != id; i++)
			;
		if (i == s->n_jobs || s->jobs[i].since != reference.jobs[id].since)
			reference.jobs[id] = (struct reference_job){
				.since = i < s->n_jobs ? s->jobs[i].since : 0,
			};
	}
	for (rank = 1; rank <= SCENE_JOBS; rank++)
		for (i = 0; i < s->n_jobs; i++)
			if (s->jobs[i].id && reference_rank(s->jobs[i].name) == rank)
				reference_do_job((int32_t)i);
}

#endif /* SELFTESTS_UNIT_REFERENCE_POLICY_H */
