/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A plain evaluator of states: it walks the syntax tree for one object after the other, over
 * the readings of all ticks so far. It is slow, and meant to be obviously right.
 */
#ifndef SELFTESTS_UNIT_REFERENCE_H
#define SELFTESTS_UNIT_REFERENCE_H

#include "policy/expr.h"
#include "unit/random_policies.h"

#define REFERENCE_TICKS	64
#define REFERENCE_NAN	__builtin_nan("")

/* Readings: of each tick, a number for each signal and row. The objects are always the same. */
static double reference_reading[REFERENCE_TICKS][SIGNALS][64];
static const struct snapshot *reference_snap;
static const struct expr *reference_expr;

/* The objects that a QP or another object belongs to, by searching. */
static inline struct binding reference_binding(enum obj_kind kind, int32_t row)
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

/* Does the job have a QP on the port? */
static inline bool reference_uses(int32_t job, int32_t port)
{
	struct binding b;
	size_t i;

	for (i = 0; i < reference_snap->n_qps; i++) {
		b = reference_binding(OBJ_QP, (int32_t)i);
		if (b.at[OBJ_JOB] == job && b.at[OBJ_PORT] == port)
			return true;
	}
	return false;
}

static inline bool reference_is_member(const struct ast *n, int32_t member, int32_t owner)
{
	if (n->of == OBJ_PORT && n->on == OBJ_JOB)
		return reference_uses(owner, member);
	if (n->of == OBJ_JOB)
		return reference_uses(member, owner);
	return reference_binding(n->of, member).at[n->on] == owner;
}

static inline double reference_eval(int node, int tick, const struct binding *b);

static inline double reference_aggregate(const struct ast *n, int tick, int32_t owner)
{
	const size_t rows[OBJ_KINDS] = {
		[OBJ_DEV] = reference_snap->n_devs, [OBJ_PORT] = reference_snap->n_ports,
		[OBJ_UAR] = reference_snap->n_uars, [OBJ_QP] = reference_snap->n_qps,
		[OBJ_JOB] = reference_snap->n_jobs,
	};
	double sum = 0, least = REFERENCE_NAN, most = REFERENCE_NAN, v;
	unsigned int count = 0;
	int32_t i;

	if (owner < 0)
		return REFERENCE_NAN;
	for (i = 0; i < (int32_t)rows[n->of]; i++) {
		struct binding b = reference_binding(n->of, i);

		if (!reference_is_member(n, i, owner))
			continue;
		if (n->b >= 0 && reference_eval(n->b, tick, &b) != 1)
			continue;
		v = n->a >= 0 ? reference_eval(n->a, tick, &b) : 1;
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

/* Has the state been true for @ns? Ticks are 100 ms apart. */
static inline double reference_held(int node, double ns, int tick, const struct binding *b)
{
	double v = reference_eval(node, tick, b);
	int since = tick;

	if (v != 1)
		return v;
	while (since > 0 && reference_eval(node, since - 1, b) == 1)
		since--;
	return (tick - since) * 100e6 >= ns;
}

/* A number, or a truth: 1, 0, NaN for unknown. */
static inline double reference_eval(int node, int tick, const struct binding *b)
{
	const struct ast *n = &reference_expr->n[node];
	double x = REFERENCE_NAN, y = REFERENCE_NAN;
	int32_t row;

	if (n->op == AST_SIGNAL) {
		row = b->at[vocab_signals[n->arg].obj];
		return row < 0 ? REFERENCE_NAN : reference_reading[tick][n->arg][row];
	}
	if (n->op == AST_NUMBER || n->op == AST_WORD)
		return n->v;
	if (n->op == AST_AGG)
		return reference_aggregate(n, tick, b->at[n->on]);
	if (n->op == AST_FOR)
		return reference_held(n->a, n->v, tick, b);
	x = reference_eval(n->a, tick, b);
	if (n->op == AST_RISING || n->op == AST_FALLING) {
		if (tick > 0)
			y = reference_eval(n->a, tick - 1, b);
		return reference_compare(n->op == AST_RISING ? CMP_GT : CMP_LT, x, y);
	}
	if (n->op == AST_NEG)
		return -x;
	if (n->op == AST_NOT)
		return 1 - x;
	y = reference_eval(n->b, tick, b);
	switch (n->op) {
	case AST_ADD:
		return x + y;
	case AST_SUB:
		return x - y;
	case AST_MUL:
		return x * y;
	case AST_DIV:
		return y != 0 ? x / y : REFERENCE_NAN;
	case AST_CMP:
		return reference_compare(n->arg, x, y);
	case AST_AND:
		return x == 0 || y == 0 ? 0 : x * y;
	default:
		return x == 1 || y == 1 ? 1 : x + y;
	}
}

/* The truth of a state that reads @kinds, for any object that the job uses. */
static inline enum tri reference_some(int root, int tick, unsigned int kinds, int32_t job)
{
	const bool qps = kinds & (1u << OBJ_QP | 1u << OBJ_UAR);
	const struct snapshot *s = reference_snap;
	enum obj_kind kind = qps ? OBJ_QP : kinds & 1u << OBJ_PORT ? OBJ_PORT :
			     kinds & 1u << OBJ_DEV ? OBJ_DEV : OBJ_JOB;
	size_t n = qps ? s->n_qps : kind == OBJ_PORT ? s->n_ports :
		   kind == OBJ_DEV ? s->n_devs : s->n_jobs;
	enum tri some = TRI_FALSE;
	int32_t i;
	double v;

	for (i = 0; i < (int32_t)n; i++) {
		struct binding b = reference_binding(kind, i);

		if (kind == OBJ_PORT && !reference_uses(job, i))
			continue;
		if (kind == OBJ_DEV && !s->jobs[job].stats[i].qps)
			continue;
		if ((kind == OBJ_JOB || kind == OBJ_QP) && b.at[OBJ_JOB] != job)
			continue;
		b.at[OBJ_JOB] = job;
		v = reference_eval(root, tick, &b);
		if (v == 1)
			return TRI_TRUE;
		if (v != v)
			some = TRI_UNKNOWN;
	}
	return some;
}

#endif /* SELFTESTS_UNIT_REFERENCE_H */
