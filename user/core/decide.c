// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The acts and undos of one policy on one job: steps, bounds, quotas. */
#include "core/decide.h"

#include <string.h>

#include <rdma/swiftrdma_share.h>

#define NSEC_PER_SEC 1e9
/* The greatest policy_turns.damp. */
#define DAMP_MAX 6
/* As enum ib_qp_state. */
#define QP_RESET 0

bool decide_base_value(const struct snap_job *job, unsigned int knob, double *v)
{
	size_t i;

	if (knob == SWIFTRDMA_KNOB_LEVEL) {
		*v = 0;
		return true;
	}
	/* By default all tasks on a shared QP have the same weight. */
	if (knob == SWIFTRDMA_KNOB_WEIGHT) {
		*v = 1;
		return true;
	}
	if (knob == SWIFTRDMA_KNOB_PLACE) {
		*v = SWIFTRDMA_PLACE_DEFAULT;
		return true;
	}
	for (i = 0; i < job->n_stats; i++) {
		const struct snap_job_stat *st = &job->stats[i];

		if (knob == SWIFTRDMA_KNOB_MAX_QPS && snap_has(st, SNAP_MAX_QPS)) {
			*v = (double)st->max_qps;
			return true;
		}
		if (knob == SWIFTRDMA_KNOB_CREATE_RATE && snap_has(st, SNAP_CREATE_RATE)) {
			*v = (double)st->create_rate;
			return true;
		}
	}
	return false;
}

static double truncate_value(double v)
{
	return v < 0 ? -(double)(uint64_t)-v : (double)(uint64_t)v;
}

/*
 * Moves *@v in the direction of the step to a class level that is set; without one, *@v stays
 * at the last level that is set. False: no level in the bounds is set.
 */
static bool move_to_level(const struct policy_set *set, const struct step *step, double *v)
{
	uint32_t from = (uint32_t)step->floor, to = (uint32_t)step->ceiling;
	uint32_t l = (uint32_t)*v, up;

	for (up = l; step->op != STEP_SUB && up <= to; up++)
		if (set->levels & 1u << up) {
			*v = up;
			return true;
		}
	while (!(set->levels & 1u << l)) {
		if (l-- == from)
			return false;
	}
	*v = l;
	return true;
}

/* The value after a step, within its bounds. False: the old or the new value is unknown. */
static bool apply_step(struct eval *e, const struct step *step, uint32_t job,
		       const struct binding *b, bool has_old, double old, double *new)
{
	double n = step->n, least = 0;

	if (step->expr.n) {
		struct prog_env env = {
			.p = &e->set->prog, .s = e->s, .agg = e->st->truth.agg, .now = e->now,
		};

		n = prog_run(&env, step->expr, b);
		if (n != n || n > 1e15 || n < -1e15)
			return false;
		n = truncate_value(n);
	}
	if (step->op == STEP_SET)
		*new = n;
	else if (!has_old)
		return false;
	else
		*new = step->op == STEP_ADD ? old + n : old - n;
	if (e->s->snap->jobs[job].class == SWIFTRDMA_JOB_CLASS_BEST_EFFORT)
		least = e->set->least[step->knob];
	if (*new < step->floor)
		*new = step->floor;
	if (*new < least)
		*new = least;
	if (*new > step->ceiling)
		*new = step->ceiling;
	return step->knob != SWIFTRDMA_KNOB_LEVEL || !e->set->levels ||
	       move_to_level(e->set, step, new);
}

bool decide_used_up(const struct eval *e, const struct policy_slot *slot, uint32_t n)
{
	const struct policy *p = &e->set->v[n];

	return p->max_steps && slot->runs[n].steps >= p->max_steps;
}

bool decide_due(const struct eval *e, const struct policy_slot *slot, uint32_t n, bool undo)
{
	const struct policy *p = &e->set->v[n];
	const struct policy_run *run = &slot->runs[n];
	uint64_t since = undo ? run->undo_since : run->true_since;
	uint64_t hold = undo ? p->undo_hold : p->hold;
	uint64_t cooldown = undo ? p->undo_cooldown : p->cooldown;
	unsigned int i, damp = 0;

	if (e->st->at_once)
		return true;
	/* An undo is never damped, or overrides would stay that are not needed. */
	for (i = 0; !undo && i < p->n_act; i++)
		if (slot->turns[p->act[i].knob].damp > damp)
			damp = slot->turns[p->act[i].knob].damp;
	return e->now - since >= hold &&
	       (!run->acted || e->now - run->last >= cooldown << damp);
}

bool decide_budget(struct eval *e, uint32_t n)
{
	const struct policy *p = &e->set->v[n];
	struct policy_budget *b = &e->st->budgets[n];
	double most = p->burst > 1 ? p->burst : 1;

	if (p->rate <= 0)
		return true;
	if (!b->at)
		b->left = most;
	else
		b->left += p->rate * (double)(e->now - b->at) / NSEC_PER_SEC;
	if (b->left > most)
		b->left = most;
	b->at = e->now ? e->now : 1;
	return b->left >= 1;
}

/* The direction of a change: 1, -1, or 0 for none. */
static int direction_of(double from, double to)
{
	return (to > from) - (to < from);
}

/*
 * Counts the changes of direction of a knob. Policies that work against each other may cause them,
 * and so may the load. Returns the damping.
 */
static unsigned int note_turn(struct eval *e, struct policy_slot *slot,
			      unsigned int knob, int way)
{
	struct policy_turns *t = &slot->turns[knob];
	const struct policy_set *set = e->set;

	if (!set->turns || !way)
		return t->damp;
	if (t->damp && e->now - t->last > set->turns_within << t->damp)
		t->damp--;
	if (t->n && e->now - t->since > set->turns_within)
		t->n = 0;
	if (t->way && t->way != way) {
		if (!t->n++)
			t->since = e->now;
		if (t->n > set->turns) {
			t->damp += t->damp < DAMP_MAX;
			t->n = 0;
		}
		t->last = e->now;
	}
	t->way = (int8_t)way;
	return t->damp;
}

/*
 * Sets the fields common to all decisions of one act. The state that decided is @c, which is true
 * for @b. @c NULL: no state decided.
 */
static struct policy_decision *begin_decision(struct eval *e, const struct policy_slot *slot,
					      uint32_t n, const struct cond *c,
					      const struct binding *b, bool undo)
{
	const struct policy *p = &e->set->v[n];
	struct policy_decision *d = &e->out[e->n];

	memset(d, 0, offsetof(struct policy_decision, seen));
	d->reason[0] = '\0';
	d->tick = e->st->ticks;
	d->policy = n;
	d->undo = undo;
	d->steps_left = UINT32_MAX;
	d->acts_left = UINT32_MAX;
	d->job_id = slot->job;
	d->cooldown = undo ? p->undo_cooldown : p->cooldown;
	memcpy(d->job, slot->name, sizeof(d->job));
	d->slot = (uint32_t)(slot - e->st->slots);
	d->cond = c;
	d->at = *b;
	return d;
}

/* Notes in the slot whether the knob of a decision is held, and its value. */
static void note_held(struct policy_slot *slot, const struct policy_decision *d)
{
	slot->held[d->knob] = d->has_qp ? slot->n_moved > 0 : !d->release;
	slot->holder[d->knob] = d->policy;
	slot->value[d->knob] = d->new;
}

static bool is_there(const struct snapshot *snap, const struct policy_moved *m)
{
	size_t n = snap->n_qps;

	return array_lookup(n, i, SNAP_CMP_QP(&snap->qps[i], m)) < n;
}

/* Drops the entries of QPs that were destroyed, and counts them in .forgotten. */
static void forget_gone(struct policy_state *st, struct policy_slot *slot,
			const struct snapshot *snap)
{
	uint32_t i, n = 0;

	for (i = 0; i < slot->n_moved; i++)
		if (is_there(snap, &slot->moved[i]))
			slot->moved[n++] = slot->moved[i];
	st->forgotten += slot->n_moved - n;
	slot->n_moved = n;
	slot->held[SWIFTRDMA_KNOB_UAR] = n > 0;
}

static bool is_moved(const struct policy_slot *slot, const struct snap_qp *qp)
{
	uint32_t i;

	for (i = 0; i < slot->n_moved; i++)
		if (slot->moved[i].dev == qp->dev && slot->moved[i].qpn == qp->qpn &&
		    slot->moved[i].serial == qp->serial)
			return true;
	return false;
}

/*
 * True: the QP is in RESET, where it rings no UAR. When a library moves a QP, another QP takes over
 * its work, and the application's QP stays in RESET.
 */
static bool is_at_rest(const struct snap_qp *qp)
{
	return snap_has(qp, SNAP_STATE) && qp->state == QP_RESET;
}

/*
 * The QP to move: the busiest one for which the condition is true, and the first of equally busy
 * ones. *@passed_over becomes the number of QPs for which it is true and that can never move.
 */
static int32_t find_busiest_qp(struct eval *e, const struct policy_slot *slot,
			       const struct cond *c, uint32_t job, uint32_t *passed_over)
{
	const uint32_t *first = e->s->job_first + job;
	double most = -1, rate;
	int32_t best = -1, qp;
	struct binding b;
	uint32_t i;

	*passed_over = 0;
	for (i = first[0]; i < first[1]; i++) {
		qp = (int32_t)e->s->job_qps[i];
		rate = signal_at(e->s, SIG_QP_WR_RATE, i);
		if (rate != rate)
			rate = 0;
		if (!e->s->fixed[qp] && (rate < most || (rate == most && qp > best)))
			continue;
		if (is_at_rest(&e->s->snap->qps[qp]) || is_moved(slot, &e->s->snap->qps[qp]))
			continue;
		binding_of(e->s, OBJ_QP, (uint32_t)qp, &b);
		if (truth_at(&e->view, c->terms, &b) != TRI_TRUE)
			continue;
		if (e->s->fixed[qp]) {
			++*passed_over;
			continue;
		}
		most = rate;
		best = qp;
	}
	return best;
}

/*
 * The UAR of the QP's context with the least work requests, then QPs. A QP cannot use the
 * UARs of another context.
 */
static int32_t find_lightest_uar(struct eval *e, int32_t qp)
{
	const struct signals *s = e->s;
	const struct snap_uar *uars = s->snap->uars;
	int32_t best = -1, own = s->qps[qp].uar;
	double least_rate = 0, least_qps = 0;
	size_t i;

	if (own < 0 || !snap_has(&uars[own], SNAP_CONTEXT_ID))
		return -1;
	for (i = 0; i < s->snap->n_uars; i++) {
		double rate = 0, qps = 0;

		if (!snap_has(&uars[i], SNAP_CONTEXT_ID) || uars[i].dev != uars[own].dev ||
		    uars[i].context != uars[own].context)
			continue;
		signal_get(s, SIG_UAR_WR_RATE, i, &rate);
		signal_get(s, SIG_UAR_QPS, i, &qps);
		if (best >= 0 && (rate > least_rate ||
				  (rate == least_rate && qps >= least_qps)))
			continue;
		best = (int32_t)i;
		least_rate = rate;
		least_qps = qps;
	}
	return best == own ? -1 : best;
}

/* Decides which QP moves to which UAR. False: there is none. */
static bool decide_migration(struct eval *e, struct policy_slot *slot, const struct cond *c,
			     uint32_t job, struct policy_decision *d)
{
	const struct snapshot *snap = e->s->snap;
	uint32_t to = SWIFTRDMA_UAR_LIGHTEST;
	int32_t qp, uar;

	if (slot->n_moved == POLICY_MOVED)
		forget_gone(e->st, slot, snap);
	if (slot->n_moved == POLICY_MOVED)
		return false;
	qp = find_busiest_qp(e, slot, c, job, &slot->runs[d->policy].passed_over);
	if (qp < 0)
		return false;
	if (!e->set->lightest_by_process) {
		uar = find_lightest_uar(e, qp);
		if (uar < 0)
			return false;
		to = snap->uars[uar].index;
	}
	d->has_qp = true;
	d->dev_index = snap->qps[qp].dev;
	d->qpn = snap->qps[qp].qpn;
	d->serial = snap->qps[qp].serial;
	d->has_old = snap_has(&snap->qps[qp], SNAP_UAR);
	d->old = snap->qps[qp].uar;
	d->new = to;
	slot->moved[slot->n_moved++] = (struct policy_moved){
		.dev = d->dev_index, .qpn = d->qpn, .serial = d->serial,
		.uar = to, .policy = d->policy,
	};
	return true;
}

/* Decides the new value of a knob. False: it is unknown, or the act would change nothing. */
static bool decide_value(struct eval *e, const struct policy_slot *slot,
			 const struct step *step, uint32_t job,
			 const struct binding *b, struct policy_decision *d)
{
	unsigned int knob = step->knob;

	d->new = __builtin_nan("");
	d->has_old = slot->held[knob];
	d->old = slot->value[knob];
	if (!d->has_old)
		d->has_old = decide_base_value(&e->s->snap->jobs[job], knob, &d->old);
	if (!d->has_old)
		d->old = 0;
	if (!apply_step(e, step, job, b, d->has_old, d->old, &d->new))
		return false;
	/*
	 * Setting a knob that no policy holds changes it even if the value is the base value:
	 * the application may have asked for more.
	 */
	return !d->has_old || d->new != d->old ||
	       (!slot->held[knob] && step->op == STEP_SET);
}

/*
 * True: new QPs of the job can be placed. False: the program has put each QP for which the
 * condition is true in a domain of its own; *@passed_over becomes the number of these QPs.
 */
static bool can_place(struct eval *e, const struct cond *c, uint32_t job, uint32_t *passed_over)
{
	const uint32_t *first = e->s->job_first + job;
	uint32_t own = 0, i;
	struct binding b;

	*passed_over = 0;
	for (i = first[0]; i < first[1]; i++) {
		binding_of(e->s, OBJ_QP, e->s->job_qps[i], &b);
		if (truth_at(&e->view, c->terms, &b) != TRI_TRUE)
			continue;
		if (!e->s->own_domain[e->s->job_qps[i]])
			return true;
		own++;
	}
	*passed_over = own;
	return !own;
}

/* False: the step has nothing to change. */
static bool decide_step(struct eval *e, struct policy_slot *slot, const struct step *step,
			const struct cond *c, uint32_t job, const struct binding *b,
			struct policy_decision *d)
{
	if (step->op == STEP_LIGHTEST)
		return decide_migration(e, slot, c, job, d);
	if (step->knob == SWIFTRDMA_KNOB_PLACE &&
	    !can_place(e, c, job, &slot->runs[d->policy].passed_over))
		return false;
	return decide_value(e, slot, step, job, b, d);
}

bool decide_would_change(struct eval *e, const struct policy_slot *slot, uint32_t n, uint32_t job)
{
	const struct policy *p = &e->set->v[n];
	struct policy_decision d;
	struct binding b;
	unsigned int i;

	memset(&b, 0xff, sizeof(b));
	b.at[OBJ_JOB] = (int32_t)job;
	for (i = 0; i < p->n_act; i++) {
		const struct step *step = &p->act[i];

		/* A value that is computed from other objects needs an evaluation. */
		if (step->op == STEP_LIGHTEST || decide_value(e, slot, step, job, &b, &d) ||
		    (step->expr.n && d.new != d.new))
			return true;
	}
	return false;
}

/* Records the cause of an act, so that the policies of other causes wait until its effect shows. */
static void note_cause(struct policy_slot *slot, enum cause cause, uint64_t now)
{
	if (!slot->caused.known || slot->caused.at != now) {
		slot->caused_before = slot->caused;
		slot->cause_acts = 0;
	}
	slot->caused = (struct policy_caused){ .known = true, .cause = cause, .at = now };
	slot->cause_acts++;
}

void decide_act(struct eval *e, struct policy_slot *slot, uint32_t n,
		uint32_t job, const struct cond *c, const struct binding *b,
		uint32_t others, unsigned int *turned)
{
	const struct policy *p = &e->set->v[n];
	struct policy_run *run = &slot->runs[n];
	unsigned int i, done = 0;

	for (i = 0; i < p->n_act && e->n < e->cap; i++) {
		const struct step *step = &p->act[i];
		struct policy_decision *d = begin_decision(e, slot, n, c, b, false);

		d->knob = step->knob;
		d->step = i;
		d->others = others;
		if (!decide_step(e, slot, step, c, job, b, d))
			continue;
		if (!slot->held[d->knob]) {
			run->has_from[i] = d->has_old;
			run->from[i] = d->old;
		}
		d->damped = note_turn(e, slot, d->knob, d->has_qp ? 0 :
				      direction_of(d->old, d->new));
		d->cooldown <<= d->damped;
		if (p->max_steps)
			d->steps_left = p->max_steps - run->steps - 1;
		if (p->rate > 0)
			d->acts_left = (uint32_t)(e->st->budgets[n].left - 1);
		note_held(slot, d);
		*turned |= 1u << d->knob;
		e->n++;
		done++;
	}
	/* The cooldown starts even if nothing was found, or each tick would search. */
	run->acted = true;
	run->last = e->now;
	if (!done)
		return;
	run->tick = e->st->ticks;
	run->active = true;
	run->steps++;
	run->dev = b->at[OBJ_DEV] >= 0 ?
		   e->s->snap->devs[b->at[OBJ_DEV]].index : POLICY_NO_PLACE;
	run->port = b->at[OBJ_PORT] >= 0 ?
		    e->s->snap->ports[b->at[OBJ_PORT]].index : POLICY_NO_PLACE;
	if (p->rate > 0)
		e->st->budgets[n].left -= 1;
	run->standing = done;
	if (p->cause != CAUSE_NONE)
		note_cause(slot, p->cause, e->now);
}

/* True: an undo has reached the value from before the policy's first act. */
static bool is_back_home(const struct policy_run *run, unsigned int i, double old,
		      double new)
{
	if (new == old)
		return true;
	if (!run->has_from[i])
		return false;
	return old >= run->from[i] ? new <= run->from[i] : new >= run->from[i];
}

static const struct step *find_undo_step(const struct policy *p, unsigned int knob)
{
	unsigned int i;

	for (i = 0; i < p->n_undo; i++)
		if (p->undo[i].knob == knob && p->undo[i].op != STEP_RELEASE)
			return &p->undo[i];
	return NULL;
}

/* Decides to move back the QP that was moved last. */
static void move_back_qp(struct policy_slot *slot, struct policy_decision *d)
{
	const struct policy_moved *m = &slot->moved[--slot->n_moved];

	d->has_qp = true;
	d->dev_index = m->dev;
	d->qpn = m->qpn;
	d->serial = m->serial;
	d->has_old = true;
	d->old = m->uar;
	d->release = true;
}

void decide_undo(struct eval *e, struct policy_slot *slot, uint32_t n,
		 uint32_t job, const struct cond *c, const struct binding *b,
		 unsigned int *turned)
{
	const struct policy *p = &e->set->v[n];
	struct policy_run *run = &slot->runs[n];
	bool left = false;
	unsigned int i;

	for (i = 0; i < p->n_act && e->n < e->cap; i++) {
		unsigned int knob = p->act[i].knob;
		const struct step *step = find_undo_step(p, knob);
		struct policy_decision *d;

		if (!slot->held[knob] || slot->holder[knob] != n)
			continue;
		d = begin_decision(e, slot, n, c, b, true);
		d->knob = knob;
		d->step = i;
		if (knob == SWIFTRDMA_KNOB_UAR) {
			move_back_qp(slot, d);
		} else {
			d->has_old = true;
			d->old = slot->value[knob];
			if (!step || !apply_step(e, step, job, b, true, d->old, &d->new) ||
			    is_back_home(run, i, d->old, d->new))
				d->release = true;
		}
		if (d->release)
			d->new = 0;
		note_turn(e, slot, knob, knob == SWIFTRDMA_KNOB_UAR ? 0 :
			  direction_of(d->old, d->release ? run->from[i] : d->new));
		note_held(slot, d);
		*turned |= 1u << knob;
		left |= slot->held[knob];
		e->n++;
	}
	run->acted = true;
	run->last = e->now;
	run->tick = e->st->ticks;
	run->standing = 0;
	run->active = left;
	if (!left)
		run->steps = 0;
}

void decide_disown(struct eval *e, struct policy_slot *slot, uint32_t n,
		   uint32_t job, unsigned int *turned)
{
	const struct policy *p = &e->set->v[n];
	struct binding b;
	unsigned int i;

	binding_of(e->s, OBJ_JOB, job, &b);

	for (i = 0; i < p->n_act; i++) {
		unsigned int knob = p->act[i].knob;
		struct policy_decision *d;

		while (slot->held[knob] && slot->holder[knob] == n && e->n < e->cap) {
			d = begin_decision(e, slot, n, NULL, &b, true);
			d->release = true;
			d->knob = knob;
			d->has_old = true;
			d->old = slot->value[knob];
			if (knob == SWIFTRDMA_KNOB_UAR)
				move_back_qp(slot, d);
			note_held(slot, d);
			*turned |= 1u << knob;
			e->n++;
		}
		if (slot->held[knob] && slot->holder[knob] == n)
			return;		/* the rest at the next tick */
	}
	memset(&slot->runs[n], 0, sizeof(slot->runs[n]));
}
