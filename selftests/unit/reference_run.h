/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The plain evaluator of policies: what it keeps of them, whether their states are true, and what
 * their steps make of a knob. Numbers are walked in their syntax trees.
 */
#ifndef SELFTESTS_UNIT_REFERENCE_RUN_H
#define SELFTESTS_UNIT_REFERENCE_RUN_H

#include "unit/reference.h"

#define REFERENCE_POLICIES	8
#define REFERENCE_OUT		1024
#define REFERENCE_STATES	(POLICY_FALLBACKS + 1)

/* A policy: its state and fallbacks, those of its undo, and the values of both its actions. */
struct reference_policy {
	const struct policy *p;
	struct reference_state when[REFERENCE_STATES], undo[REFERENCE_STATES];
	unsigned int n_when, n_undo;
	struct expr act, undo_act;
	int value[POLICY_STEPS], undo_value[POLICY_STEPS];	/* nodes; -1: a constant */
	double left;		/* of its rate */
	uint64_t left_at;	/* 0: nobody asked yet */
};

/* A policy on a job. */
struct reference_run {
	bool holds;		/* acted, and is not undone */
	bool turned;		/* acted or was undone at .last */
	uint64_t last;
	bool is, undo_is;	/* its state is true, that of its undo */
	uint64_t since, undo_since;
	uint32_t acts;
	bool has_from[POLICY_KNOBS];
	double from[POLICY_KNOBS];	/* the value of a knob before the first act on it */
	int32_t dev, port;	/* where its state was true at its last act */
};

struct reference_knob {
	bool held;
	uint32_t by;
	double v;
	int way;		/* direction of the last change */
	uint32_t turns, damp;
	uint64_t first_turn, last_turn;
};

struct reference_job {
	uint64_t since;		/* tells it from another job of the same number */
	struct reference_run run[REFERENCE_POLICIES];
	struct reference_knob knob[POLICY_KNOBS];
	struct policy_moved moved[POLICY_MOVED];
	uint32_t n_moved;
	enum cause cause;	/* of the last act; CAUSE_NONE: there was none */
	uint64_t cause_at;
};

static struct reference {
	const struct policy_set *set;
	struct reference_policy v[REFERENCE_POLICIES];
	struct reference_job jobs[SCENE_JOBS];	/* by number */
	bool at_once;		/* times do not count */
	uint64_t now;
	int tick;
	/* Of this tick. */
	struct policy_decision out[REFERENCE_OUT];
	size_t n, cap;
	bool turned[POLICY_KNOBS];	/* knobs of the job that is looked at */
} reference;

/* --- The file ------------------------------------------------------------------- */

static inline void reference_parse_state(struct reference_state *st, const char *text,
					 const struct config *cfg)
{
	struct expr_error e;

	if (!expr_state(text, &cfg->criteria, &st->x, &st->root, &e))
		fail_msg("%s: %s", text, e.msg);
}

static inline unsigned int reference_parse_states(struct reference_state *to, const char *first,
						  char *const *fallback, const struct config *cfg)
{
	unsigned int n = 1;

	reference_parse_state(&to[0], first, cfg);
	for (; fallback[n - 1]; n++)
		reference_parse_state(&to[n], fallback[n - 1], cfg);
	return n;
}

static inline void reference_parse_action(struct expr *x, int *value, const char *text,
					  const struct config *cfg)
{
	struct action a[POLICY_STEPS];
	struct expr_error e;
	unsigned int i, n;

	if (!expr_action(text, &cfg->criteria, x, a, &n, &e))
		fail_msg("%s: %s", text, e.msg);
	for (i = 0; i < n; i++)
		value[i] = a[i].value;
}

static inline void reference_begin(const struct config *cfg, bool at_once)
{
	uint32_t i;

	memset(&reference, 0, sizeof(reference));
	reference.set = &cfg->policies;
	reference.at_once = at_once;
	for (i = 0; i < cfg->policies.n; i++) {
		const struct config_policy *text = &cfg->texts[i];
		struct reference_policy *r = &reference.v[i];

		r->p = &cfg->policies.v[i];
		r->n_when = reference_parse_states(r->when, text->when, text->fallback, cfg);
		r->n_undo = reference_parse_states(r->undo, text->undo_when, text->undo_fallback,
						   cfg);
		reference_parse_action(&r->act, r->value, text->act, cfg);
		if (text->undo_act)
			reference_parse_action(&r->undo_act, r->undo_value, text->undo_act, cfg);
	}
}

/* --- States --------------------------------------------------------------------- */

/* Each state is asked where those before it are unknown. *@by: the one that decided. */
static inline bool reference_is_true(const struct reference_policy *r, int32_t job,
				     unsigned int *by, struct binding *b)
{
	enum tri is = TRI_UNKNOWN;
	unsigned int i;

	for (i = 0; is == TRI_UNKNOWN && i < r->n_when; i++) {
		is = reference_first(&r->when[i], reference.tick, job, b);
		*by = i;
	}
	return is == TRI_TRUE;
}

/* Was the policy's state true at this place, when it acted last? */
static inline bool reference_acted_there(const struct reference_run *run, const struct binding *b)
{
	return (b->at[OBJ_DEV] < 0 || b->at[OBJ_DEV] == run->dev) &&
	       (b->at[OBJ_PORT] < 0 || b->at[OBJ_PORT] == run->port);
}

/*
 * Is the state true for everything that the job uses? Objects for which it is unknown do not
 * count, but for those where the policy acted.
 */
static inline enum tri reference_all(const struct reference_state *st,
				     const struct reference_run *run, int32_t job)
{
	const unsigned int reads = reference_reads(&st->x, st->root);
	enum tri all = TRI_TRUE;
	struct binding b;
	int32_t pos = 0;
	double v;

	while (reference_next(reads, reference.tick, job, &pos, &b)) {
		v = reference_eval(&st->x, st->root, OBJ_KINDS, reference.tick, &b);
		if (v == 0)
			return TRI_FALSE;
		if (v != v && reference_acted_there(run, &b))
			all = TRI_UNKNOWN;
	}
	return all;
}

static inline bool reference_undo_is_true(const struct reference_policy *r,
					  const struct reference_run *run, int32_t job,
					  unsigned int *by)
{
	enum tri is = TRI_UNKNOWN;
	unsigned int i;

	for (i = 0; is == TRI_UNKNOWN && i < r->n_undo; i++) {
		is = reference_all(&r->undo[i], run, job);
		*by = i;
	}
	return is == TRI_TRUE;
}

/* --- Values --------------------------------------------------------------------- */

/* The value of a knob that no policy holds. False: not known. */
static inline bool reference_base(const struct snap_job *job, unsigned int knob, double *v)
{
	size_t i;

	*v = knob == SWIFTRDMA_KNOB_WEIGHT ? 1 : 0;
	if (knob == SWIFTRDMA_KNOB_LEVEL || knob == SWIFTRDMA_KNOB_WEIGHT ||
	    knob == SWIFTRDMA_KNOB_PLACE)
		return true;
	for (i = 0; i < job->n_stats; i++) {
		const struct snap_job_stat *st = &job->stats[i];

		*v = knob == SWIFTRDMA_KNOB_MAX_QPS ? (double)st->max_qps :
						      (double)st->create_rate;
		if ((knob == SWIFTRDMA_KNOB_MAX_QPS && snap_has(st, SNAP_MAX_QPS)) ||
		    (knob == SWIFTRDMA_KNOB_CREATE_RATE && snap_has(st, SNAP_CREATE_RATE)))
			return true;
	}
	*v = 0;
	return false;
}

/*
 * A step leads to the next level of the file in its direction, else to the last before its
 * bound. NaN: there is none.
 */
static inline double reference_level(const struct step *step, double v)
{
	double below = REFERENCE_NAN;
	int l;

	for (l = (int)step->floor; l <= (int)step->ceiling; l++) {
		if (!(reference.set->levels >> l & 1))
			continue;
		if (l <= v)
			below = l;
		if (step->op != STEP_SUB && l >= v)
			return l;
	}
	return below;
}

/* The value after a step. NaN: it is not known, or there is none. *@n: what is added or set. */
static inline double reference_step(const struct step *step, const struct expr *x, int node,
				    int32_t job, const struct binding *b, bool has_old,
				    double old, double *n)
{
	const bool least = reference_snap->jobs[job].class == SWIFTRDMA_JOB_CLASS_BEST_EFFORT;
	double v;

	*n = node < 0 ? step->n :
	     __builtin_trunc(reference_eval(x, node, OBJ_KINDS, reference.tick, b));
	if (*n > 1e15 || *n < -1e15)
		*n = REFERENCE_NAN;
	if (*n != *n || (step->op != STEP_SET && !has_old))
		return REFERENCE_NAN;
	v = step->op == STEP_SET ? *n : step->op == STEP_ADD ? old + *n : old - *n;
	if (v < step->floor)
		v = step->floor;
	if (least && v < reference.set->least[step->knob])
		v = reference.set->least[step->knob];
	if (v > step->ceiling)
		v = step->ceiling;
	return step->knob == SWIFTRDMA_KNOB_LEVEL ? reference_level(step, v) : v;
}

/* What the policy makes of the knob of its step @i. */
struct reference_change {
	bool has_old, changes, unknown;
	double old, new;
};

static inline struct reference_change reference_value(const struct reference_policy *r,
						      unsigned int i, int32_t job,
						      const struct binding *b)
{
	const struct snap_job *of = &reference_snap->jobs[job];
	const struct step *step = &r->p->act[i];
	const struct reference_knob *k = &reference.jobs[of->id].knob[step->knob];
	struct reference_change c = { .has_old = k->held, .old = k->v };
	double n;

	if (!k->held)
		c.has_old = reference_base(of, step->knob, &c.old);
	c.new = reference_step(step, &r->act, r->value[i], job, b, c.has_old, c.old, &n);
	c.unknown = r->value[i] >= 0 && (n != n || (step->op != STEP_SET && !c.has_old));
	/* Who asked for more than the base value is set to it all the same. */
	c.changes = c.new == c.new && (!c.has_old || c.new != c.old ||
				       (!k->held && step->op == STEP_SET));
	return c;
}

#endif /* SELFTESTS_UNIT_REFERENCE_RUN_H */
