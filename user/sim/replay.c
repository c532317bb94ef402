// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int replay_begin(struct replay *rp, const struct config *cfg)
{
	memset(rp, 0, sizeof(*rp));
	rp->cfg = cfg;
	signals_init(&rp->sig);
	policy_state_init(&rp->st);
	rp->out = calloc(REPLAY_DECISIONS, sizeof(*rp->out));
	return rp->out ? 0 : -ENOMEM;
}

void replay_end(struct replay *rp)
{
	signals_free(&rp->sig);
	policy_state_free(&rp->st);
	free(rp->out);
	free(rp->knobs);
	free(rp->turned);
	memset(rp, 0, sizeof(*rp));
}

/* --- What was in force ----------------------------------------------------------- */

static const struct {
	unsigned int knob;
	uint64_t field;
} recorded[] = {
	{ SWIFTRDMA_KNOB_LEVEL, SNAP_LEVEL },
	{ SWIFTRDMA_KNOB_MAX_QPS, SNAP_MAX_QPS },
	{ SWIFTRDMA_KNOB_CREATE_RATE, SNAP_CREATE_RATE },
	{ SWIFTRDMA_KNOB_BIT_RATE, SNAP_BIT_RATE },
	{ SWIFTRDMA_KNOB_WEIGHT, SNAP_WEIGHT },
	{ SWIFTRDMA_KNOB_WR_RATE, SNAP_WR_RATE },
	{ SWIFTRDMA_KNOB_CREDITS, SNAP_CREDITS },
	{ SWIFTRDMA_KNOB_PLACE, SNAP_PLACE },
};

#define N_RECORDED (sizeof(recorded) / sizeof(recorded[0]))

static bool is_recorded(unsigned int knob)
{
	size_t i;

	for (i = 0; i < N_RECORDED; i++)
		if (recorded[i].knob == knob)
			return true;
	return false;
}

static double stat_value(const struct snap_job_stat *st, unsigned int knob)
{
	switch (knob) {
	case SWIFTRDMA_KNOB_LEVEL:
		return st->level;
	case SWIFTRDMA_KNOB_MAX_QPS:
		return (double)st->max_qps;
	case SWIFTRDMA_KNOB_CREATE_RATE:
		return (double)st->create_rate;
	case SWIFTRDMA_KNOB_BIT_RATE:
		return (double)st->bit_rate;
	case SWIFTRDMA_KNOB_WR_RATE:
		return (double)st->wr_rate;
	case SWIFTRDMA_KNOB_CREDITS:
		return (double)st->credits;
	case SWIFTRDMA_KNOB_PLACE:
		return st->place;
	default:
		return st->weight;
	}
}

/* The greatest value on any device of the job. */
static bool in_force(const struct snap_job *job, size_t which, double *v)
{
	bool has = false;
	size_t i;

	*v = 0;
	for (i = 0; i < job->n_stats; i++) {
		const struct snap_job_stat *st = &job->stats[i];
		double is = stat_value(st, recorded[which].knob);

		if (!(st->has & recorded[which].field) || (has && is <= *v))
			continue;
		has = true;
		*v = is;
	}
	return has;
}

/* --- Knobs ------------------------------------------------------------------------ */

static struct replay_knob *find_knob(const struct replay *rp, const char *job,
				     unsigned int knob)
{
	size_t i;

	for (i = 0; i < rp->n_knobs; i++)
		if (rp->knobs[i].knob == knob && !strcmp(rp->knobs[i].job, job))
			return &rp->knobs[i];
	return NULL;
}

const struct replay_knob *replay_find(const struct replay *rp, const char *job,
				      unsigned int knob)
{
	return find_knob(rp, job, knob);
}

/* Until now neither side had touched the knob, which counts as agreement. */
static struct replay_knob *get_knob(struct replay *rp, const char *job,
				    unsigned int knob)
{
	struct replay_knob *k = find_knob(rp, job, knob);
	struct text t;

	if (k)
		return k;
	k = array_next(&rp->knobs, rp->n_knobs, &rp->cap_knobs, sizeof(*k));
	if (!k)
		return NULL;
	rp->n_knobs++;
	text_init(&t, k->job, sizeof(k->job));
	text_str(&t, job);
	k->knob = knob;
	k->recorded = is_recorded(knob);
	k->agreed = rp->last - rp->first;
	k->would.first = REPLAY_NEVER;
	k->done.first = REPLAY_NEVER;
	return k;
}

static bool same_value(const struct replay_side *a, const struct replay_side *b)
{
	return a->has == b->has && (!a->has || a->v == b->v);
}

/* False: the value did not change. */
static bool turn_knob(struct replay *rp, struct replay_side *side, bool has, double v)
{
	const struct replay_side to = { .has = has, .v = v };

	if (same_value(side, &to))
		return false;
	if (side->first == REPLAY_NEVER)
		side->first = rp->last - rp->first;
	side->has = has;
	side->v = v;
	side->turns++;
	return true;
}

/* Adds the time since the last change, under the values that both sides had. */
static void advance_to(struct replay *rp, uint64_t now)
{
	size_t i;

	/* An event may be older than the reading before it. */
	if (now < rp->last)
		return;
	for (i = 0; i < rp->n_knobs; i++) {
		struct replay_knob *k = &rp->knobs[i];

		*(same_value(&k->would, &k->done) ? &k->agreed : &k->apart) +=
			now - rp->last;
	}
	rp->last = now;
}

/* Sets the recorded value of a knob. If the value changed, adds the knob to .turned. */
static int turn_done(struct replay *rp, struct replay_knob *k, bool has, double v)
{
	size_t *t;

	if (!turn_knob(rp, &k->done, has, v))
		return 0;
	t = array_next(&rp->turned, rp->n_turned, &rp->cap_turned, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (size_t)(k - rp->knobs);
	rp->n_turned++;
	return 0;
}

/* A reading overrules the events: events cannot explain a value that differs. */
static int note_reading(struct replay *rp, const struct snapshot *is)
{
	const struct replay_side *done;
	struct replay_knob *k;
	size_t i, r;
	double v;
	bool has;

	for (i = 0; i < is->n_jobs; i++)
		for (r = 0; r < N_RECORDED; r++) {
			has = in_force(&is->jobs[i], r, &v);
			if (!has && !find_knob(rp, is->jobs[i].name,
					       recorded[r].knob))
				continue;
			k = get_knob(rp, is->jobs[i].name, recorded[r].knob);
			if (!k)
				return -ENOMEM;
			done = &k->done;
			if (done->has != has || (has && done->v != v))
				k->lease = 0;
			k->several &= has;
			if (turn_done(rp, k, has, v))
				return -ENOMEM;
		}
	return 0;
}

/*
 * An override is in force unless another lease of higher rank, or a younger lease of equal
 * rank, sets the knob. The lease of a value from before the recording is not known, so only
 * the next reading tells whether that value gives way.
 */
static bool action_prevails(const struct replay_knob *k, const struct snap_action *a)
{
	if (!k->done.has)
		return true;
	if (!k->lease)
		return k->done.v == (double)a->value;
	return a->lease_rank > k->rank ||
	       (a->lease_rank == k->rank && a->lease_id >= k->lease);
}

/* The lease sets the knob no longer. If others do, the next reading has the value that remains. */
static int take_back(struct replay *rp, struct replay_knob *k)
{
	k->lease = 0;
	return k->several ? 0 : turn_done(rp, k, false, 0);
}

static int note_action(struct replay *rp, const struct snap_action *a)
{
	struct replay_knob *k;

	/* Overrides of a QP or of one device are not the value in force for the job. */
	if (!a->job[0] || a->has_dev || (!a->clear && !a->has_value))
		return 0;
	if (!is_recorded(a->knob))
		return 0;
	k = get_knob(rp, a->job, a->knob);
	if (!k)
		return -ENOMEM;
	if (a->clear) {
		if (!k->lease || k->lease != a->lease_id)
			return 0;
		return take_back(rp, k);
	}
	k->several |= k->done.has && k->lease && k->lease != a->lease_id;
	if (!action_prevails(k, a))
		return 0;
	k->lease = a->lease_id;
	k->rank = a->lease_rank;
	return turn_done(rp, k, true, (double)a->value);
}

static int note_lease_end(struct replay *rp, uint64_t lease)
{
	size_t i;

	for (i = 0; i < rp->n_knobs; i++) {
		struct replay_knob *k = &rp->knobs[i];

		if (lease && k->lease == lease && take_back(rp, k))
			return -ENOMEM;
	}
	return 0;
}

int replay_event(struct replay *rp, uint64_t time, const struct snap_event *e)
{
	size_t i;

	rp->n_out = rp->n_turned = 0;
	if (rp->readings)
		advance_to(rp, time);
	rp->events += e->kind != SNAP_EVENT_LOST;
	switch (e->kind) {
	case SNAP_EVENT_ACTION:
		return note_action(rp, e->action);
	case SNAP_EVENT_LEASE_END:
		return note_lease_end(rp, e->lease);
	case SNAP_EVENT_LOST:
		rp->losses++;
		for (i = 0; i < rp->n_knobs; i++)
			rp->knobs[i].lease = 0;
		return 0;
	default:
		return 0;
	}
}

static int note_would(struct replay *rp)
{
	struct replay_knob *k;
	size_t i;

	for (i = 0; i < rp->n_out; i++) {
		const struct policy_decision *d = &rp->out[i];

		k = get_knob(rp, d->job, d->knob);
		if (!k)
			return -ENOMEM;
		turn_knob(rp, &k->would, !d->release, d->new);
	}
	return 0;
}

/* --- Readings and events ----------------------------------------------------------- */

/* Notes the signals that some object has. */
static void note_known(struct replay *rp)
{
	enum signal_id id;
	double v;
	size_t i;

	for (id = 0; id < SIGNALS; id++)
		for (i = 0; !(rp->known >> id & 1) && i < rp->sig.table[vocab_obj(id)].n; i++)
			if (signal_get(&rp->sig, id, i, &v))
				rp->known |= 1ULL << id;
}

uint64_t replay_lacks(const struct replay *rp, size_t n)
{
	const struct policy_set *set = &rp->cfg->policies;
	const struct policy *p = &set->v[n];

	return (caps_reads(&set->prog, &p->when) |
		caps_reads(&set->prog, &p->undo_when)) & ~rp->known;
}

int replay_step(struct replay *rp, const struct snapshot *was,
		const struct snapshot *is)
{
	const struct signal_opts opts = config_signal_opts(rp->cfg);

	rp->n_out = rp->n_turned = 0;
	if (signals_reserve(&rp->sig, is))
		return -ENOMEM;
	signals_update(&rp->sig, was, is, &opts);
	if (policy_state_reserve(&rp->st, &rp->cfg->policies, &rp->sig))
		return -ENOMEM;
	if (!rp->readings++)
		rp->first = rp->last = is->time;
	advance_to(rp, is->time);
	note_known(rp);
	if (note_reading(rp, is))
		return -ENOMEM;
	/* As in the agent, rates need two readings. */
	if (!was)
		return 0;
	rp->n_out = policy_eval(&rp->cfg->policies, &rp->st, &rp->sig, is->time,
				rp->out, REPLAY_DECISIONS);
	policy_explain(&rp->cfg->policies, &rp->st, &rp->sig, rp->out, rp->n_out);
	rp->decisions += rp->n_out;
	return note_would(rp);
}
