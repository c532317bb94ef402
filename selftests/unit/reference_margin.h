/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The plain evaluator of policies: how far readings are beyond the bounds of a state that is true,
 * which tells the cause to act on.
 */
#ifndef SELFTESTS_UNIT_REFERENCE_MARGIN_H
#define SELFTESTS_UNIT_REFERENCE_MARGIN_H

#include "unit/reference_run.h"

/* One side of a comparison. */
struct reference_side {
	bool measured, resource, yield;
};

static inline void reference_read_side(const struct expr *x, int node, struct reference_side *s)
{
	const struct ast *n = &x->n[node];
	const bool bound = n->arg == SIG_JOB_SLO_P99 || n->arg == SIG_JOB_SLO_BYTE_RATE ||
			   n->arg == SIG_JOB_P99_PREV || n->arg == SIG_JOB_LATENCY_PREV ||
			   n->arg == SIG_PORT_SPEED;

	if (n->op == AST_SIGNAL) {
		s->measured |= !bound;
		s->resource |= vocab_signals[n->arg].obj != OBJ_JOB;
		s->yield |= n->arg == SIG_JOB_BYTE_RATE;
	}
	if (n->op == AST_AGG) {
		s->measured = true;
		s->resource |= n->of != OBJ_JOB;
	}
	if (n->op != AST_SIGNAL && n->op != AST_NUMBER && n->a >= 0)
		reference_read_side(x, n->a, s);
	if (n->op >= AST_ADD && n->op <= AST_DIV)
		reference_read_side(x, n->b, s);
}

/* What comparisons say of resources. */
struct reference_resources {
	bool idle, busy;
};

/* The excess as a share of the bound. NaN: the comparison does not count. */
static inline double reference_excess(const struct expr *x, const struct ast *n, bool not,
				      const struct binding *b, struct reference_resources *res)
{
	struct reference_side left = { 0 }, right = { 0 };
	const bool has_order = n->arg != CMP_EQ && n->arg != CMP_NE;
	bool more = (n->arg == CMP_GT || n->arg == CMP_GE) != not, turn;
	double v, bound;

	reference_read_side(x, n->a, &left);
	reference_read_side(x, n->b, &right);
	turn = !left.measured && right.measured;
	if (turn) {
		left = right;
		more = !more;
	}
	if (!has_order || !left.measured)
		return REFERENCE_NAN;
	if (!more && !left.yield) {
		res->idle |= left.resource;
		return REFERENCE_NAN;
	}
	res->busy |= left.resource;
	v = reference_eval(x, turn ? n->b : n->a, OBJ_KINDS, reference.tick, b);
	bound = reference_eval(x, turn ? n->a : n->b, OBJ_KINDS, reference.tick, b);
	if (bound == 0)
		return more ? __builtin_inf() : REFERENCE_NAN;
	return (more ? v - bound : bound - v) / __builtin_fabs(bound);
}

/* The excess of a part: "and" is as strong as its weakest part, "or" as its strongest. */
static inline double reference_strength(const struct expr *x, int node, bool not,
					const struct binding *b, struct reference_resources *res)
{
	const struct ast *n = &x->n[node];
	double v, w;

	if (n->op == AST_CMP)
		return reference_excess(x, n, not, b, res);
	if (n->op == AST_NOT)
		return reference_strength(x, n->a, !not, b, res);
	if (n->op == AST_FOR && !not)
		return reference_strength(x, n->a, false, b, res);
	if (n->op != AST_AND && n->op != AST_OR)
		return REFERENCE_NAN;
	v = reference_strength(x, n->a, not, b, res);
	w = reference_strength(x, n->b, not, b, res);
	if (v != v || w != w)
		return v != v ? w : v;
	return (v < w) == ((n->op == AST_AND) != not) ? v : w;
}

/* One of the alternatives of a state: parts that are joined by "and". */
struct reference_way {
	int node[64];
	bool not[64];
	unsigned int n;
};

/* Adds to each of the @n alternatives those of a node. Returns their number. */
static inline unsigned int reference_ways(const struct expr *x, int node, bool not,
					  struct reference_way *w, unsigned int n)
{
	static struct reference_way was[8][64];
	static unsigned int depth;
	const struct ast *a = &x->n[node];
	unsigned int i, m;

	if (a->op == AST_NOT)
		return reference_ways(x, a->a, !not, w, n);
	if ((a->op == AST_AND || a->op == AST_OR) && (a->op == AST_AND) != not)
		return reference_ways(x, a->b, not, w, reference_ways(x, a->a, not, w, n));
	if (a->op == AST_AND || a->op == AST_OR) {
		memcpy(was[depth++], w, n * sizeof(*w));
		m = reference_ways(x, a->a, not, w, n);
		memcpy(w + m, was[--depth], n * sizeof(*w));
		return m + reference_ways(x, a->b, not, w + m, n);
	}
	for (i = 0; i < n; i++) {
		w[i].node[w[i].n] = node;
		w[i].not[w[i].n++] = not;
	}
	return n;
}

/* How far the readings are beyond the bounds of a state that is true. */
static inline double reference_margin(const struct reference_state *st, const struct binding *b)
{
	static struct reference_way w[64];
	unsigned int i, k, n;
	double best = 0;

	w[0].n = 0;
	n = reference_ways(&st->x, st->root, false, w, 1);
	for (i = 0; i < n; i++) {
		struct reference_resources res = { false, false };
		double least = REFERENCE_NAN, v;
		bool is = true;

		for (k = 0; k < w[i].n; k++) {
			v = reference_eval(&st->x, w[i].node[k], OBJ_KINDS, reference.tick, b);
			is = is && v == !w[i].not[k];
			v = reference_strength(&st->x, w[i].node[k], w[i].not[k], b, &res);
			if (v == v && !(v >= least))
				least = v;
		}
		/* If all resources are idle, none of them is the cause. */
		if (is && least > best && (res.busy || !res.idle))
			best = least;
	}
	return best == __builtin_inf() ? 1 : best;
}

#endif /* SELFTESTS_UNIT_REFERENCE_MARGIN_H */
