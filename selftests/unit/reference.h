/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A plain evaluator of states: it walks the syntax tree for one object after the other, over
 * the readings of all ticks so far. It is slow, and meant to be obviously right.
 */
#ifndef SELFTESTS_UNIT_REFERENCE_H
#define SELFTESTS_UNIT_REFERENCE_H

#include "policy/expr.h"
#include "unit/random_scene.h"

#define REFERENCE_TICKS	160
#define REFERENCE_NAN	__builtin_nan("")

/* A state of the file. */
struct reference_state {
	struct expr x;
	int root;
};

/* A tick: the objects of each kind, what each belongs to, and their readings. */
struct reference_tick {
	uint64_t now;
	int32_t n[OBJ_KINDS];
	struct signal_key key[OBJ_KINDS][SCENE_QPS];
	int32_t before[OBJ_KINDS][SCENE_QPS];	/* the row at the tick before; -1: none */
	struct binding b[OBJ_KINDS][SCENE_QPS];
	double reading[SIGNALS][SCENE_QPS];
};

static struct reference_tick reference_ticks[REFERENCE_TICKS];
static const struct snapshot *reference_snap;	/* of the last of them */

/* The objects that a QP or another object belongs to, by searching. */
static inline struct binding reference_search(enum obj_kind kind, int32_t row)
{
	const struct snapshot *s = reference_snap;
	const struct snap_qp *qp = &s->qps[kind == OBJ_QP ? row : 0];
	uint32_t dev = kind == OBJ_UAR ? s->uars[row].dev : kind == OBJ_PORT ? s->ports[row].dev :
		       kind == OBJ_QP ? qp->dev : UINT32_MAX;
	struct binding b = { { -1, -1, -1, -1, -1 } };
	int32_t i;

	for (i = 0; i < (int32_t)s->n_devs; i++)
		if (s->devs[i].index == dev)
			b.at[OBJ_DEV] = i;
	for (i = 0; kind == OBJ_QP && i < (int32_t)s->n_ports; i++)
		if (snap_has(qp, SNAP_PORT) && s->ports[i].dev == dev &&
		    s->ports[i].index == qp->port)
			b.at[OBJ_PORT] = i;
	for (i = 0; kind == OBJ_QP && i < (int32_t)s->n_uars; i++)
		if (snap_has(qp, SNAP_UAR) && s->uars[i].dev == dev && s->uars[i].index == qp->uar)
			b.at[OBJ_UAR] = i;
	for (i = 0; kind == OBJ_QP && i < (int32_t)s->n_jobs; i++)
		if (s->jobs[i].id == qp->job)
			b.at[OBJ_JOB] = i;
	b.at[kind] = row;
	return b;
}

/* What tells an object from all others, also from one of the same number before it. */
static inline struct signal_key reference_key(enum obj_kind kind, int32_t row)
{
	const struct snapshot *s = reference_snap;

	switch (kind) {
	case OBJ_DEV:
		return (struct signal_key){ .dev = s->devs[row].index };
	case OBJ_PORT:
		return (struct signal_key){ s->ports[row].dev, s->ports[row].index, 0 };
	case OBJ_UAR:
		return (struct signal_key){ s->uars[row].dev, s->uars[row].index,
					    s->uars[row].since };
	case OBJ_QP:
		return (struct signal_key){ s->qps[row].dev, s->qps[row].qpn,
					    s->qps[row].serial };
	default:
		/* A job whose class changes is another one. */
		return (struct signal_key){ s->jobs[row].class, s->jobs[row].id,
					    s->jobs[row].since };
	}
}

static inline void reference_note_object(struct reference_tick *t, int tick, enum obj_kind kind,
					 int32_t row)
{
	const struct reference_tick *was = t - 1;
	int32_t i;

	t->b[kind][row] = reference_search(kind, row);
	t->key[kind][row] = reference_key(kind, row);
	t->before[kind][row] = -1;
	for (i = 0; tick > 0 && i < was->n[kind]; i++)
		if (!SIGNAL_CMP_KEY(&was->key[kind][i], &t->key[kind][row]))
			t->before[kind][row] = i;
}

/* Notes the scene and the readings of a tick. Its objects are those of @m until the next. */
static inline void reference_note(const struct scene *m, const struct signals *s, int tick,
				  uint64_t now)
{
	struct reference_tick *t = &reference_ticks[tick];
	const size_t n[OBJ_KINDS] = {
		[OBJ_DEV] = m->s.n_devs, [OBJ_PORT] = m->s.n_ports, [OBJ_UAR] = m->s.n_uars,
		[OBJ_QP] = m->s.n_qps, [OBJ_JOB] = m->s.n_jobs,
	};
	unsigned int kind;
	enum signal_id id;
	int32_t row;
	double v;

	reference_snap = &m->s;
	t->now = now;
	for (kind = 0; kind < OBJ_KINDS; kind++) {
		t->n[kind] = (int32_t)n[kind];
		for (row = 0; row < t->n[kind]; row++)
			reference_note_object(t, tick, kind, row);
	}
	for (id = 0; id < SIGNALS; id++)
		for (row = 0; row < t->n[vocab_signals[id].obj]; row++)
			t->reading[id][row] = signal_get(s, id, (size_t)row, &v) ?
					      v : REFERENCE_NAN;
}

/* Does the job have a QP on the port? */
static inline bool reference_uses(int tick, int32_t job, int32_t port)
{
	const struct reference_tick *t = &reference_ticks[tick];
	int32_t i;

	for (i = 0; i < t->n[OBJ_QP]; i++)
		if (t->b[OBJ_QP][i].at[OBJ_JOB] == job && t->b[OBJ_QP][i].at[OBJ_PORT] == port)
			return true;
	return false;
}

static inline bool reference_is_member(const struct ast *n, int tick, int32_t member,
				       int32_t owner)
{
	if (n->of == OBJ_PORT && n->on == OBJ_JOB)
		return reference_uses(tick, owner, member);
	if (n->of == OBJ_JOB)
		return reference_uses(tick, member, owner);
	return reference_ticks[tick].b[n->of][member].at[n->on] == owner;
}

static inline double reference_eval(const struct expr *x, int node, enum obj_kind about, int tick,
				    const struct binding *b);

static inline double reference_aggregate(const struct expr *x, const struct ast *n, int tick,
					 int32_t owner)
{
	double sum = 0, least = REFERENCE_NAN, most = REFERENCE_NAN, v;
	unsigned int count = 0;
	int32_t i;

	if (owner < 0)
		return REFERENCE_NAN;
	for (i = 0; i < reference_ticks[tick].n[n->of]; i++) {
		const struct binding *b = &reference_ticks[tick].b[n->of][i];

		if (!reference_is_member(n, tick, i, owner))
			continue;
		if (n->b >= 0 && reference_eval(x, n->b, OBJ_KINDS, tick, b) != 1)
			continue;
		v = n->a >= 0 ? reference_eval(x, n->a, OBJ_KINDS, tick, b) : 1;
		if (v != v)
			continue;
		count++;
		sum += v;
		least = count == 1 || v < least ? v : least;
		most = count == 1 || v > most ? v : most;
	}
	switch ((enum agg_op)n->arg) {
	case AGG_COUNT:
		return count;
	case AGG_SUM:
		return count ? sum : REFERENCE_NAN;
	case AGG_MEAN:
		return count ? sum / count : REFERENCE_NAN;
	case AGG_MIN:
		return least;
	case AGG_MAX:
		return most;
	}
	return REFERENCE_NAN;
}

static inline double reference_compare(enum cmp cmp, double a, double b)
{
	if (a != a || b != b)
		return REFERENCE_NAN;
	switch (cmp) {
	case CMP_GT:
		return a > b;
	case CMP_GE:
		return a >= b;
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_EQ:
		return a == b;
	case CMP_NE:
		return a != b;
	}
	return REFERENCE_NAN;
}

/* The object that what reads @reads is about: what else it reads belongs to that object. */
static inline enum obj_kind reference_kind(unsigned int reads)
{
	const unsigned int dev = 1u << OBJ_DEV;

	if (reads == dev)
		return OBJ_DEV;
	if (reads == 1u << OBJ_JOB)
		return OBJ_JOB;
	if ((reads | dev) == (1u << OBJ_PORT | dev))
		return OBJ_PORT;
	if ((reads | dev) == (1u << OBJ_UAR | dev))
		return OBJ_UAR;
	return OBJ_QP;
}

/*
 * The truth of a node for object @row of kind @about, and what that object belongs to, @back ticks
 * before @tick. NaN: the object was not there.
 */
static inline double reference_earlier(const struct expr *x, int node, enum obj_kind about,
				       int32_t row, int tick, int back)
{
	for (; back > 0 && row >= 0; back--)
		row = tick > 0 ? reference_ticks[tick--].before[about][row] : -1;
	return row < 0 ? REFERENCE_NAN :
	       reference_eval(x, node, about, tick, &reference_ticks[tick].b[about][row]);
}

/* Has the state been true for @ns? */
static inline double reference_held(const struct expr *x, int node, double ns,
				    enum obj_kind about, int32_t row, int tick)
{
	double v = reference_earlier(x, node, about, row, tick, 0);
	int back = 0;

	if (v != 1)
		return v;
	while (reference_earlier(x, node, about, row, tick, back + 1) == 1)
		back++;
	return (double)(reference_ticks[tick].now - reference_ticks[tick - back].now) >= ns;
}

/*
 * What remembers something is about one object, and unknown where that one is not known. Within
 * "(...) for 1s", all is about the object of the whole.
 */
static inline double reference_memory(const struct expr *x, const struct ast *n,
				      enum obj_kind about, int tick, const struct binding *b)
{
	enum obj_kind kind = about == OBJ_KINDS ? reference_kind(n->reads) : about;
	int32_t row = b->at[kind];

	if (n->op == AST_FOR)
		return reference_held(x, n->a, n->v, kind, row, tick);
	return reference_compare(n->op == AST_RISING ? CMP_GT : CMP_LT,
				 reference_earlier(x, n->a, kind, row, tick, 0),
				 reference_earlier(x, n->a, kind, row, tick, 1));
}

/* A number, or a truth: 1, 0, NaN for unknown. @about: of what remembers; OBJ_KINDS: its own. */
static inline double reference_eval(const struct expr *x, int node, enum obj_kind about, int tick,
				    const struct binding *b)
{
	const struct ast *n = &x->n[node];
	double v, w;
	int32_t row;

	switch (n->op) {
	case AST_SIGNAL:
		row = b->at[vocab_signals[n->arg].obj];
		return row < 0 ? REFERENCE_NAN : reference_ticks[tick].reading[n->arg][row];
	case AST_NUMBER:
	case AST_WORD:
		return n->v;
	case AST_AGG:
		return reference_aggregate(x, n, tick, b->at[n->on]);
	case AST_FOR:
	case AST_RISING:
	case AST_FALLING:
		return reference_memory(x, n, about, tick, b);
	case AST_NEG:
		return -reference_eval(x, n->a, about, tick, b);
	case AST_NOT:
		return 1 - reference_eval(x, n->a, about, tick, b);
	default:
		break;
	}
	v = reference_eval(x, n->a, about, tick, b);
	w = reference_eval(x, n->b, about, tick, b);
	switch (n->op) {
	case AST_ADD:
		return v + w;
	case AST_SUB:
		return v - w;
	case AST_MUL:
		return v * w;
	case AST_DIV:
		return w != 0 ? v / w : REFERENCE_NAN;
	case AST_CMP:
		return reference_compare(n->arg, v, w);
	case AST_AND:
		return v == 0 || w == 0 ? 0 : v * w;
	default:
		return v == 1 || w == 1 ? 1 : v + w;
	}
}

/* Bit per kind of the objects that a state is about. */
static inline unsigned int reference_reads(const struct expr *x, int node)
{
	const struct ast *n = &x->n[node];

	if (n->op == AST_NOT)
		return reference_reads(x, n->a);
	if (n->op == AST_AND || n->op == AST_OR)
		return reference_reads(x, n->a) | reference_reads(x, n->b);
	return n->reads | 1u << reference_kind(n->reads);
}

/*
 * The objects that belong together and that the job uses, one after the other, from *@pos 0 on,
 * as far as a state reads them: each of its QPs, else the port of each, else each device on
 * which it has QPs, else the job alone.
 */
static inline bool reference_next(unsigned int reads, int tick, int32_t job, int32_t *pos,
				  struct binding *b)
{
	const bool qps = reads & (1u << OBJ_QP | 1u << OBJ_UAR), ports = reads & 1u << OBJ_PORT;
	const struct reference_tick *t = &reference_ticks[tick];

	while ((qps || ports) && *pos < t->n[OBJ_QP]) {
		*b = t->b[OBJ_QP][(*pos)++];
		if (b->at[OBJ_JOB] != job || (!qps && b->at[OBJ_PORT] < 0))
			continue;
		b->at[OBJ_UAR] = qps ? b->at[OBJ_UAR] : -1;
		b->at[OBJ_QP] = qps ? b->at[OBJ_QP] : -1;
		return true;
	}
	*b = (struct binding){ { -1, -1, -1, -1, job } };
	if (qps || ports)
		return false;
	if (!(reads & 1u << OBJ_DEV))
		return !(*pos)++;
	while (*pos < t->n[OBJ_DEV] && !reference_snap->jobs[job].stats[*pos].qps)
		(*pos)++;
	b->at[OBJ_DEV] = *pos;
	return (*pos)++ < t->n[OBJ_DEV];
}

/* The truth of a state for any object that the job uses, and the first for which it is true. */
static inline enum tri reference_first(const struct reference_state *st, int tick, int32_t job,
				       struct binding *b)
{
	const unsigned int reads = reference_reads(&st->x, st->root);
	enum tri some = TRI_FALSE;
	int32_t pos = 0;
	double v;

	while (reference_next(reads, tick, job, &pos, b)) {
		v = reference_eval(&st->x, st->root, OBJ_KINDS, tick, b);
		if (v == 1)
			return TRI_TRUE;
		if (v != v)
			some = TRI_UNKNOWN;
	}
	return some;
}

#endif /* SELFTESTS_UNIT_REFERENCE_H */
