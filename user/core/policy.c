// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/policy.h"

#include <string.h>

/* Everything one decision is made of, to keep argument lists short. */
struct eval {
	const struct policy_set *set;
	struct policy_state *st;
	const struct signals *s;
	uint64_t now;
	struct policy_decision *out;
	size_t cap, n;
};

static void slot_clear(struct policy_state *st, struct policy_slot *slot)
{
	struct policy_run *runs = slot->runs;

	memset(runs, 0, st->n_policies * sizeof(*runs));
	memset(slot, 0, sizeof(*slot));
	slot->runs = runs;
}

static bool slot_is(const struct policy_slot *slot, const struct snap_job *job)
{
	return slot->used && slot->job == job->id &&
	       slot->since == job->since && !strcmp(slot->name, job->name);
}

/*
 * Jobs keep their order from one reading to the next, so the place of the one
 * before is nearly always right; else all slots are looked through.
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

/* A job that is gone took its overrides with it. */
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

static bool applies(const struct policy *p, const struct snap_job *job)
{
	if (p->job[0])
		return !strcmp(p->job, job->name);
	return !p->class || p->class == job->class;
}

/* True for some object the job uses; @b is then the first one. */
static enum tri for_some(const struct cond *c, const struct signals *s,
			 uint32_t job, struct binding *b)
{
	enum tri some = TRI_FALSE;
	struct span sp;

	span_init(&sp, s, job, cond_kinds(c));
	while (span_next(&sp, b)) {
		enum tri t = cond_eval(c, s, b, NULL);

		if (t == TRI_TRUE)
			return t;
		if (t == TRI_UNKNOWN)
			some = t;
	}
	return some;
}

static bool at_witness(const struct policy_run *run, const struct signals *s,
		       const struct binding *b)
{
	const struct snapshot *snap = s->snap;

	if (b->at[OBJ_DEV] >= 0 && snap->devs[b->at[OBJ_DEV]].index != run->dev)
		return false;
	return b->at[OBJ_PORT] < 0 ||
	       snap->ports[b->at[OBJ_PORT]].index == run->port;
}

/*
 * True for every object the job uses, also if it uses none any more. An object
 * that cannot tell does not stand in the way, unless it is the one where the
 * state had been seen: a port without counters must not keep an override in
 * force for ever, and a port that lost sight for a tick must not end one.
 */
static enum tri for_all(const struct cond *c, const struct policy_run *run,
			const struct signals *s, uint32_t job,
			struct binding *b)
{
	enum tri all = TRI_TRUE;
	struct binding at;
	struct span sp;

	memset(b, 0xff, sizeof(*b));
	b->at[OBJ_JOB] = (int32_t)job;
	span_init(&sp, s, job, cond_kinds(c));
	while (span_next(&sp, &at)) {
		enum tri t = cond_eval(c, s, &at, NULL);

		if (t == TRI_FALSE)
			return t;
		if (t == TRI_UNKNOWN && at_witness(run, s, &at))
			all = t;
		if (t == TRI_TRUE)
			*b = at;
	}
	return all;
}

/* Where a knob stands before anything of ours holds it. */
static bool knob_base(const struct snap_job *job, unsigned int knob, double *v)
{
	size_t i;

	if (knob == SWIFTRDMA_KNOB_LEVEL) {
		*v = 0;
		return true;
	}
	for (i = 0; i < job->n_stats; i++) {
		const struct snap_job_stat *st = &job->stats[i];

		if (knob == SWIFTRDMA_KNOB_MAX_QPS &&
		    snap_has(st, SNAP_MAX_QPS)) {
			*v = (double)st->max_qps;
			return true;
		}
		if (knob == SWIFTRDMA_KNOB_CREATE_RATE &&
		    snap_has(st, SNAP_CREATE_RATE)) {
			*v = (double)st->create_rate;
			return true;
		}
	}
	return false;
}

/* False: there is no value to add to. */
static bool step_apply(const struct policy *p, const struct step *step,
		       bool has_old, double old, double *new)
{
	if (step->op == STEP_SET)
		*new = step->n;
	else if (!has_old)
		return false;
	else
		*new = step->op == STEP_ADD ? old + step->n : old - step->n;
	if (*new < p->floor)
		*new = p->floor;
	if (*new > p->ceiling)
		*new = p->ceiling;
	return true;
}

static void reason(struct policy_decision *d, const struct policy *p,
		   const struct cond *c, const struct signals *s,
		   const struct binding *b)
{
	const struct vocab_knob *k = vocab_knob(d->knob);
	char tail[96];
	struct text t, end;

	text_init(&end, tail, sizeof(tail));
	text_str(&end, ": ");
	text_str(&end, strchr(k->name, '.') + 1);
	text_str(&end, " ");
	if (d->has_old)
		vocab_format(&end, d->old, k->unit);
	else
		text_str(&end, "none");
	text_str(&end, " -> ");
	if (d->release)
		text_str(&end, "the application's own");
	else
		vocab_format(&end, d->new, k->unit);

	/* However many clauses there are, what came of them must fit. */
	text_init(&t, d->reason, sizeof(d->reason) - end.len - 3);
	text_str(&t, p->name);
	text_str(&t, ": ");
	if (d->undo && b->at[OBJ_DEV] < 0 && cond_kinds(c) & ~(1u << OBJ_JOB)) {
		text_str(&t, "job ");
		text_str(&t, d->job);
		text_str(&t, " uses nothing any more");
	} else {
		cond_reason(&t, c, s, b);
	}
	t.cap = sizeof(d->reason);
	if (t.cut)
		text_str(&t, "...");
	text_mem(&t, tail, end.len);
}

static void decide(struct eval *e, struct policy_slot *slot, uint32_t n,
		   uint32_t job, const struct binding *b,
		   struct policy_decision *d)
{
	const struct policy *p = &e->set->v[n];
	const struct cond *c = d->undo ? &p->undo_when : &p->when;
	const struct snapshot *snap = e->s->snap;
	struct policy_run *run = &slot->runs[n];

	d->policy = n;
	d->job_id = snap->jobs[job].id;
	memcpy(d->job, snap->jobs[job].name, sizeof(d->job));
	if (b->at[OBJ_DEV] >= 0) {
		d->has_dev = true;
		memcpy(d->dev, snap->devs[b->at[OBJ_DEV]].name,
		       sizeof(d->dev));
	}
	if (b->at[OBJ_PORT] >= 0) {
		d->has_port = true;
		d->port = snap->ports[b->at[OBJ_PORT]].index;
	}
	d->n_values = c->n;
	cond_eval(c, e->s, b, d->values);
	d->cooldown = d->undo ? p->undo_cooldown : p->cooldown;
	reason(d, p, c, e->s, b);

	if (!d->undo && !run->active) {
		run->has_from = d->has_old;
		run->from = d->old;
	}
	run->active = !d->release;
	run->acted = true;
	run->last = e->now;
	if (!d->undo) {
		run->dev = b->at[OBJ_DEV] >= 0 ?
			   snap->devs[b->at[OBJ_DEV]].index : 0;
		run->port = d->port;
	}
	memcpy(run->reason, d->reason, sizeof(run->reason));
	slot->held[d->knob] = !d->release;
	slot->holder[d->knob] = n;
	slot->value[d->knob] = d->new;
	e->n++;
}

static bool due(const struct eval *e, const struct policy_run *run,
		uint64_t since, uint64_t hold, uint64_t cooldown)
{
	if (e->st->at_once)
		return true;
	return e->now - since >= hold &&
	       (!run->acted || e->now - run->last >= cooldown);
}

static void try_act(struct eval *e, struct policy_slot *slot, uint32_t n,
		    uint32_t job, const struct binding *b)
{
	const struct policy *p = &e->set->v[n];
	struct policy_run *run = &slot->runs[n];
	struct policy_decision *d = &e->out[e->n];
	unsigned int knob = p->act.knob;

	if (!due(e, run, run->true_since, p->hold, p->cooldown))
		return;
	memset(d, 0, sizeof(*d));
	d->knob = knob;
	d->has_old = slot->held[knob];
	d->old = slot->value[knob];
	if (!d->has_old)
		d->has_old = knob_base(&e->s->snap->jobs[job], knob, &d->old);
	if (!d->has_old)
		d->old = 0;
	if (!step_apply(p, &p->act, d->has_old, d->old, &d->new))
		return;
	/*
	 * Nothing would change. But setting a knob that nobody holds does, even
	 * to the value it counts from: the application may have asked for more.
	 */
	if (d->has_old && d->new == d->old &&
	    (slot->held[knob] || p->act.op != STEP_SET))
		return;
	decide(e, slot, n, job, b, d);
}

/* Has stepping back come to where the policy began, or beyond? */
static bool back_home(const struct policy_run *run, double old, double new)
{
	if (new == old)
		return true;
	if (!run->has_from)
		return false;
	return old >= run->from ? new <= run->from : new >= run->from;
}

static void try_undo(struct eval *e, struct policy_slot *slot, uint32_t n,
		     uint32_t job, const struct binding *b)
{
	const struct policy *p = &e->set->v[n];
	struct policy_run *run = &slot->runs[n];
	struct policy_decision *d = &e->out[e->n];
	unsigned int knob = p->act.knob;

	if (!due(e, run, run->undo_since, p->undo_hold, p->undo_cooldown))
		return;
	memset(d, 0, sizeof(*d));
	d->undo = true;
	d->knob = knob;
	d->has_old = true;
	d->old = slot->value[knob];
	if (p->undo.op == STEP_RELEASE)
		d->release = true;
	else
		step_apply(p, &p->undo, true, d->old, &d->new);
	if (!d->release && back_home(run, d->old, d->new))
		d->release = true;
	if (d->release)
		d->new = 0;
	decide(e, slot, n, job, b, d);
}

/* Remembers since when something has been true without a break. */
static bool note(bool *was, uint64_t *since, enum tri t, uint64_t now)
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

/* The job became one of another class while the policy held a knob of it. */
static void disown(struct eval *e, struct policy_slot *slot, uint32_t n,
		   uint32_t job, unsigned int *turned)
{
	const struct policy *p = &e->set->v[n];
	struct policy_decision *d = &e->out[e->n];
	struct text t;

	memset(d, 0, sizeof(*d));
	d->policy = n;
	d->undo = d->release = true;
	d->knob = p->act.knob;
	d->has_old = true;
	d->old = slot->value[d->knob];
	d->job_id = slot->job;
	memcpy(d->job, slot->name, sizeof(d->job));
	text_init(&t, d->reason, sizeof(d->reason));
	text_str(&t, p->name);
	text_str(&t, ": job ");
	text_str(&t, d->job);
	text_str(&t, " is now of class ");
	vocab_format(&t, e->s->snap->jobs[job].class, UNIT_CLASS);
	text_str(&t, ", which this policy is not for: ");
	text_str(&t, vocab_knob(d->knob)->name);
	text_str(&t, " released");
	slot->held[d->knob] = false;
	memset(&slot->runs[n], 0, sizeof(slot->runs[n]));
	*turned |= 1u << d->knob;
	e->n++;
}

static void eval_one(struct eval *e, struct policy_slot *slot, uint32_t n,
		     uint32_t job, unsigned int *turned)
{
	const struct policy *p = &e->set->v[n];
	struct policy_run *run = &slot->runs[n];
	unsigned int bit = 1u << p->act.knob;
	bool is_true, free;
	struct binding b;
	size_t before = e->n;

	is_true = note(&run->was_true, &run->true_since,
		       for_some(&p->when, e->s, job, &b), e->now);
	free = !slot->held[p->act.knob] || slot->holder[p->act.knob] == n;
	if (is_true) {
		run->undo_was_true = false;
		if (free && !(*turned & bit))
			try_act(e, slot, n, job, &b);
	} else if (run->active &&
		   note(&run->undo_was_true, &run->undo_since,
			for_all(&p->undo_when, run, e->s, job, &b), e->now) &&
		   !(*turned & bit)) {
		try_undo(e, slot, n, job, &b);
	}
	if (e->n != before)
		*turned |= bit;
}

size_t policy_eval(const struct policy_set *set, struct policy_state *st,
		   const struct signals *s, uint64_t now,
		   struct policy_decision *out, size_t cap)
{
	struct eval e = {
		.set = set, .st = st, .s = s, .now = now,
		.out = out, .cap = cap,
	};
	uint32_t j, n;

	slots_sweep(&e);
	for (j = 0; j < s->snap->n_jobs; j++) {
		const struct snap_job *job = &s->snap->jobs[j];
		unsigned int turned = 0;
		struct policy_slot *slot;

		/* Job 0 stands for those that no rule claimed. */
		if (!job->id)
			continue;
		slot = slot_get(st, job, j);
		for (n = 0; slot && n < set->n && e.n < cap; n++) {
			if (applies(&set->v[n], job))
				eval_one(&e, slot, n, j, &turned);
			else if (slot->runs[n].active)
				disown(&e, slot, n, j, &turned);
		}
	}
	return e.n;
}
