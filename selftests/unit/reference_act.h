/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The plain evaluator of policies: the decisions of an act and of an undo. */
#ifndef SELFTESTS_UNIT_REFERENCE_ACT_H
#define SELFTESTS_UNIT_REFERENCE_ACT_H

#include "unit/reference_run.h"

static inline struct reference_job *reference_job(int32_t job)
{
	return &reference.jobs[reference_snap->jobs[job].id];
}

static inline struct policy_decision *reference_decide(uint32_t n, int32_t job, bool undo,
						       unsigned int step, const struct binding *b,
						       const struct cond *cond)
{
	const struct policy *p = reference.v[n].p;
	struct policy_decision *d = &reference.out[reference.n++];

	*d = (struct policy_decision){
		.tick = (uint64_t)reference.tick + 1, .policy = n, .undo = undo, .step = step,
		.knob = p->act[step].knob, .job_id = reference_snap->jobs[job].id,
		.cooldown = undo ? p->undo_cooldown : p->cooldown, .at = *b, .cond = cond,
		.steps_left = UINT32_MAX, .acts_left = UINT32_MAX,
	};
	memcpy(d->job, reference_snap->jobs[job].name, SNAP_NAME);
	return d;
}

/* Damping: a knob that changes its direction too often. Returns how often cooldowns double. */
static inline uint32_t reference_turn(struct reference_knob *k, double from, double to)
{
	const struct policy_set *set = reference.set;
	const int way = (to > from) - (to < from);

	if (!set->turns || !way)
		return k->damp;
	if (k->damp && reference.now - k->last_turn > set->turns_within << k->damp)
		k->damp--;
	if (k->turns && reference.now - k->first_turn > set->turns_within)
		k->turns = 0;
	if (k->way == -way) {
		k->first_turn = k->turns ? k->first_turn : reference.now;
		k->last_turn = reference.now;
		if (++k->turns > set->turns) {
			k->damp = k->damp < 6 ? k->damp + 1 : 6;
			k->turns = 0;
		}
	}
	k->way = way;
	return k->damp;
}

static inline bool reference_has_qp(const struct policy_moved *m)
{
	size_t i;

	for (i = 0; i < reference_snap->n_qps; i++)
		if (reference_snap->qps[i].dev == m->dev && reference_snap->qps[i].qpn == m->qpn &&
		    reference_snap->qps[i].serial == m->serial)
			return true;
	return false;
}

/* At most 64 QPs of a job are moved, but for those that are gone. */
static inline void reference_forget_moved(struct reference_job *j)
{
	uint32_t i, n = 0;

	for (i = 0; j->n_moved == POLICY_MOVED && i < POLICY_MOVED; i++)
		if (reference_has_qp(&j->moved[i]))
			j->moved[n++] = j->moved[i];
	if (j->n_moved == POLICY_MOVED)
		j->n_moved = n;
	j->knob[SWIFTRDMA_KNOB_UAR].held = j->n_moved > 0;
}

/* The QP to move: the busiest for which the state is true, that has not moved yet. -1: none. */
static inline int32_t reference_busiest(const struct reference_job *j,
					const struct reference_state *st, int32_t job)
{
	const struct reference_tick *t = &reference_ticks[reference.tick];
	double most = -1, rate;
	int32_t i, best = -1;
	uint32_t k;

	for (i = 0; i < t->n[OBJ_QP]; i++) {
		const struct snap_qp *qp = &reference_snap->qps[i];

		for (k = 0; k < j->n_moved; k++)
			if (j->moved[k].dev == qp->dev && j->moved[k].qpn == qp->qpn &&
			    j->moved[k].serial == qp->serial)
				break;
		if (k < j->n_moved || (snap_has(qp, SNAP_STATE) && qp->state == 0) ||
		    t->b[OBJ_QP][i].at[OBJ_JOB] != job ||
		    reference_eval(&st->x, st->root, OBJ_KINDS, reference.tick,
				   &t->b[OBJ_QP][i]) != 1)
			continue;
		rate = t->reading[SIG_QP_WR_RATE][i];
		rate = rate == rate ? rate : 0;
		if (rate > most) {
			most = rate;
			best = i;
		}
	}
	return best;
}

static inline double reference_uar_load(int32_t uar, enum signal_id id)
{
	double v = reference_ticks[reference.tick].reading[id][uar];

	return v == v ? v : 0;
}

/* Of the UARs of the QP's context that with the fewest requests, then QPs. -1: it has that one. */
static inline int32_t reference_lightest(int32_t qp)
{
	const int32_t own = reference_ticks[reference.tick].b[OBJ_QP][qp].at[OBJ_UAR];
	const struct snap_uar *uars = reference_snap->uars;
	int32_t i, best = -1;

	for (i = 0; own >= 0 && i < (int32_t)reference_snap->n_uars; i++) {
		double less;

		if (!snap_has(&uars[own], SNAP_CONTEXT_ID) ||
		    !snap_has(&uars[i], SNAP_CONTEXT_ID) ||
		    uars[i].dev != uars[own].dev || uars[i].context != uars[own].context)
			continue;
		less = best < 0 ? 1 : reference_uar_load(best, SIG_UAR_WR_RATE) -
				      reference_uar_load(i, SIG_UAR_WR_RATE);
		if (less == 0)
			less = reference_uar_load(best, SIG_UAR_QPS) -
			       reference_uar_load(i, SIG_UAR_QPS);
		if (less > 0)
			best = i;
	}
	return best == own ? -1 : best;
}

/* Decides to move a QP. False: there is none to move, or no better UAR. */
static inline bool reference_move(uint32_t n, int32_t job, unsigned int step, unsigned int by,
				  const struct binding *b)
{
	const struct reference_policy *r = &reference.v[n];
	struct reference_job *j = reference_job(job);
	const struct snap_qp *qp;
	struct policy_decision *d;
	int32_t row, uar = -1;

	reference_forget_moved(j);
	row = j->n_moved < POLICY_MOVED ? reference_busiest(j, &r->when[by], job) : -1;
	if (row >= 0 && !reference.set->lightest_by_process)
		uar = reference_lightest(row);
	if (row < 0 || (uar < 0 && !reference.set->lightest_by_process))
		return false;
	qp = &reference_snap->qps[row];
	d = reference_decide(n, job, false, step, b, by ? &r->p->fallback[by - 1] : &r->p->when);
	d->has_qp = true;
	d->dev_index = qp->dev;
	d->qpn = qp->qpn;
	d->serial = qp->serial;
	d->has_old = snap_has(qp, SNAP_UAR);
	d->old = qp->uar;
	d->new = uar < 0 ? SWIFTRDMA_UAR_LIGHTEST : reference_snap->uars[uar].index;
	j->moved[j->n_moved++] = (struct policy_moved){
		qp->dev, qp->qpn, qp->serial, (uint32_t)d->new, n,
	};
	return true;
}

/* Decides to set a knob. False: nothing changes. */
static inline bool reference_set_knob(uint32_t n, int32_t job, unsigned int step, unsigned int by,
				      const struct binding *b)
{
	const struct reference_policy *r = &reference.v[n];
	const struct reference_change c = reference_value(r, step, job, b);
	struct policy_decision *d;

	if (!c.changes)
		return false;
	d = reference_decide(n, job, false, step, b, by ? &r->p->fallback[by - 1] : &r->p->when);
	d->has_old = c.has_old;
	d->old = c.old;
	d->new = c.new;
	return true;
}

static inline void reference_act(uint32_t n, int32_t job, unsigned int by,
				 const struct binding *b, uint32_t others)
{
	struct reference_policy *r = &reference.v[n];
	struct reference_job *j = reference_job(job);
	struct reference_run *run = &j->run[n];
	const size_t before = reference.n;
	unsigned int i;

	for (i = 0; i < r->p->n_act; i++) {
		const unsigned int knob = r->p->act[i].knob;
		struct reference_knob *k = &j->knob[knob];
		struct policy_decision *d = &reference.out[reference.n];

		if (!(r->p->act[i].op == STEP_LIGHTEST ? reference_move(n, job, i, by, b) :
							 reference_set_knob(n, job, i, by, b)))
			continue;
		d->others = others;
		d->damped = d->has_qp ? k->damp : reference_turn(k, d->old, d->new);
		d->cooldown <<= d->damped;
		if (r->p->max_steps)
			d->steps_left = r->p->max_steps - run->acts - 1;
		if (r->p->rate > 0)
			d->acts_left = (uint32_t)(r->left - 1);
		if (!k->held) {
			run->has_from[knob] = d->has_old;
			run->from[knob] = d->old;
		}
		k->held = true;
		k->by = n;
		k->v = d->new;
		reference.turned[knob] = true;
	}
	/* A policy that finds nothing to change looks again after its cooldown. */
	run->turned = true;
	run->last = reference.now;
	if (reference.n == before)
		return;
	run->holds = true;
	run->acts++;
	run->dev = b->at[OBJ_DEV];
	run->port = b->at[OBJ_PORT];
	r->left -= 1;
	if (r->p->cause != CAUSE_NONE) {
		j->cause = r->p->cause;
		j->cause_at = reference.now;
	}
}

/* Decides to end the move of the QP that was moved last. */
static inline void reference_move_back(struct reference_job *j, struct policy_decision *d)
{
	const struct policy_moved *m = &j->moved[--j->n_moved];

	d->has_qp = true;
	d->dev_index = m->dev;
	d->qpn = m->qpn;
	d->serial = m->serial;
	d->old = m->uar;
	j->knob[SWIFTRDMA_KNOB_UAR].held = j->n_moved > 0;
}

/* The value after a step back. NaN: the knob is released, also if it is back where it began. */
static inline double reference_step_back(const struct reference_policy *r, unsigned int knob,
					 const struct reference_run *run, int32_t job,
					 const struct binding *b, double old)
{
	const struct policy *p = r->p;
	double v = REFERENCE_NAN, from = run->from[knob], n;
	unsigned int i;

	for (i = 0; i < p->n_undo; i++)
		if (p->undo[i].knob == knob && p->undo[i].op != STEP_RELEASE)
			v = reference_step(&p->undo[i], &r->undo_act, r->undo_value[i], job, b,
					   true, old, &n);
	if (v == old || (run->has_from[knob] && (old >= from ? v <= from : v >= from)))
		return REFERENCE_NAN;
	return v;
}

/* @disown: the policy is not for the job any more, and all that it holds is released at once. */
static inline void reference_undo(uint32_t n, int32_t job, unsigned int by,
				  const struct binding *b, bool disown)
{
	const struct reference_policy *r = &reference.v[n];
	struct reference_job *j = reference_job(job);
	struct reference_run *run = &j->run[n];
	const struct policy *p = r->p;
	bool holds = false;
	unsigned int i;

	for (i = 0; i < p->n_act; i++) {
		const unsigned int knob = p->act[i].knob;
		struct reference_knob *k = &j->knob[knob];
		struct policy_decision *d;
		double v = REFERENCE_NAN;

		while (k->held && k->by == n && reference.n < reference.cap) {
			d = reference_decide(n, job, true, i, b, disown ? NULL :
					     by ? &p->undo_fallback[by - 1] : &p->undo_when);
			d->step = disown ? 0 : i;
			d->has_old = true;
			d->old = k->v;
			if (knob == SWIFTRDMA_KNOB_UAR) {
				reference_move_back(j, d);
			} else {
				if (!disown)
					v = reference_step_back(r, knob, run, job, b, d->old);
				k->held = v == v;
				k->v = k->held ? v : 0;
				if (!disown)
					reference_turn(k, d->old, k->held ? v : run->from[knob]);
			}
			d->release = knob == SWIFTRDMA_KNOB_UAR || !k->held;
			d->new = k->v = d->release ? 0 : v;
			reference.turned[knob] = true;
			if (!disown)
				break;
		}
		holds = holds || (k->held && k->by == n);
	}
	if (disown && !holds)
		*run = (struct reference_run){ 0 };
	if (disown)
		return;
	run->turned = true;
	run->last = reference.now;
	run->holds = holds;
	run->acts = holds ? run->acts : 0;
}

#endif /* SELFTESTS_UNIT_REFERENCE_ACT_H */
