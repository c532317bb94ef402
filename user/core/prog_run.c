// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Runs programs: each instruction is a loop over the lanes. */
#include "core/prog.h"

#include <string.h>

#define UNKNOWN __builtin_nan("")

/* A program's state for all its lanes. */
struct run {
	const struct prog_env *env;
	const struct prog_lanes *l;
	double stack[PROG_STACK][PROG_LANES];
};

/* The row in the snapshot of a lane's object, by which its memory is found. */
static size_t row_of_lane(const struct run *r, uint32_t i)
{
	return r->l->kind == OBJ_QP ? r->env->s->job_qps[r->l->first + i] : r->l->first + i;
}

static void fill_lanes(double *to, uint32_t n, double v)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		to[i] = v;
}

/* Loads a column of objects of @kind, which has floats if @f is not NULL. */
static void load_column(const struct run *r, enum obj_kind kind, const float *f,
			const double *d, double *to)
{
	const struct prog_lanes *l = r->l;
	uint32_t i, first = l->first;
	int32_t at;

	if (kind == l->kind && f) {
		for (i = 0; i < l->n; i++)
			to[i] = f[first + i];
	} else if (kind == l->kind) {
		memcpy(to, d + first, l->n * sizeof(*to));
	} else if (kind == OBJ_UAR && l->kind == OBJ_QP) {
		for (i = 0; i < l->n; i++) {
			at = r->env->s->uar_of[first + i];
			to[i] = at < 0 ? UNKNOWN : f ? (double)f[at] : d[at];
		}
	} else {
		at = l->at[kind];
		fill_lanes(to, l->n, at < 0 ? UNKNOWN : f ? (double)f[at] : d[at]);
	}
}

static void load_signal(const struct run *r, enum signal_id id, double *to)
{
	enum obj_kind kind = vocab_signals[id].obj;
	union signal_column c = r->env->s->table[kind].column[id - vocab_first(kind)];

	load_column(r, kind, signal_is_float(id) ? c.f : NULL, c.d, to);
}

static void load_aggregate(const struct run *r, uint16_t n, double *to)
{
	if (r->env->agg)
		load_column(r, r->env->p->aggs[n].on, NULL, r->env->agg[n], to);
	else
		fill_lanes(to, r->l->n, UNKNOWN);
}

/* An operator on two numbers of each lane. */
#define EACH_LANE(result) do {						\
	for (i = 0; i < n; i++) {					\
		double x = a[i], y = b[i];				\
									\
		a[i] = (result);					\
	}								\
} while (0)

#define COMPARE(op) EACH_LANE(x != x || y != y ? UNKNOWN : x op y)

static void compare_lanes(enum cmp cmp, double *a, const double *b, uint32_t n)
{
	uint32_t i;

	switch (cmp) {
	case CMP_GT:
		COMPARE(>);
		break;
	case CMP_GE:
		COMPARE(>=);
		break;
	case CMP_LT:
		COMPARE(<);
		break;
	case CMP_LE:
		COMPARE(<=);
		break;
	case CMP_EQ:
		COMPARE(==);
		break;
	case CMP_NE:
		COMPARE(!=);
		break;
	}
}

/* An operator on two numbers, or two truths, of each lane. */
static void combine_lanes(const struct prog_ins *in, double *a, const double *b, uint32_t n)
{
	uint32_t i;

	switch ((enum prog_op)in->op) {
	case PROG_ADD:
		EACH_LANE(x + y);
		break;
	case PROG_SUB:
		EACH_LANE(x - y);
		break;
	case PROG_MUL:
		EACH_LANE(x * y);
		break;
	case PROG_DIV:
		EACH_LANE(y != 0 ? x / y : UNKNOWN);
		break;
	case PROG_AND:
		EACH_LANE(x == 0 || y == 0 ? 0 : x != x || y != y ? UNKNOWN : 1);
		break;
	case PROG_OR:
		EACH_LANE(x == 1 || y == 1 ? 1 : x != x || y != y ? UNKNOWN : 0);
		break;
	default:
		compare_lanes(in->arg, a, b, n);
		break;
	}
}

/* True: the value rose, or fell, since the last tick. */
static double compare_with_memory(const struct prog_ins *in, double *mem, double v)
{
	double was = *mem;

	*mem = v;
	if (v != v || was != was)
		return UNKNOWN;
	return in->op == PROG_RISING ? v > was : v < was;
}

/* True: the truth @v has been 1 for @least ns. */
static double check_held(double *since, double v, double now, double least)
{
	if (v != 1) {
		*since = UNKNOWN;
		return v;
	}
	if (*since != *since)
		*since = now;
	return now - *since >= least;
}

static void remember_lanes(const struct run *r, const struct prog_ins *in, double *a)
{
	const struct prog_env *env = r->env;
	double *mem;
	uint32_t i;

	if (!env->mem || r->l->kind == OBJ_KINDS) {
		fill_lanes(a, r->l->n, UNKNOWN);
		return;
	}
	for (i = 0; i < r->l->n; i++) {
		mem = &env->mem[row_of_lane(r, i) * env->p->n_mem[r->l->kind] + in->mem];
		a[i] = in->op == PROG_HELD ?
		       check_held(mem, a[i], (double)env->now, env->p->k[in->arg]) :
		       compare_with_memory(in, mem, a[i]);
	}
}

/* Returns the result, which is in @r. */
static const double *run_code(struct run *r, struct prog_code code)
{
	const struct prog_ins *in = r->env->p->ins + code.first, *end = in + code.n;
	uint32_t i, n = r->l->n, top = 0;
	double *a;

	for (; in < end; in++) {
		switch ((enum prog_op)in->op) {
		case PROG_CONST:
			fill_lanes(r->stack[top++], n, r->env->p->k[in->arg]);
			break;
		case PROG_SIGNAL:
			load_signal(r, in->arg, r->stack[top++]);
			break;
		case PROG_AGG:
			load_aggregate(r, in->arg, r->stack[top++]);
			break;
		case PROG_NEG:
		case PROG_NOT:
			a = r->stack[top - 1];
			for (i = 0; i < n; i++)
				a[i] = (in->op == PROG_NOT) - a[i];
			break;
		case PROG_RISING:
		case PROG_FALLING:
		case PROG_HELD:
			remember_lanes(r, in, r->stack[top - 1]);
			break;
		default:
			top--;
			combine_lanes(in, r->stack[top - 1], r->stack[top], n);
			break;
		}
	}
	return r->stack[0];
}

void prog_run_lanes(const struct prog_env *env, struct prog_code code,
		    const struct prog_lanes *l, struct prog_result *out)
{
	struct run r;

	r.env = env;
	r.l = l;
	memcpy(out->v, run_code(&r, code), l->n * sizeof(*out->v));
}

double prog_run(const struct prog_env *env, struct prog_code code, const struct binding *b)
{
	struct prog_lanes l = { .kind = OBJ_KINDS, .n = 1 };
	struct run r;

	memcpy(l.at, b->at, sizeof(l.at));
	if (l.at[OBJ_QP] >= 0)
		l.at[OBJ_QP] = (int32_t)env->s->qps[l.at[OBJ_QP]].at;
	r.env = env;
	r.l = &l;
	return run_code(&r, code)[0];
}

/* Calls @lane(is_true, is_false) for a comparison with @bound. Both are 0 for a NaN. */
#define EACH_COMPARISON(cmp, lane) do {					\
	switch (cmp) {							\
	case CMP_GT:							\
		lane(v[i] > bound, v[i] <= bound);			\
		break;							\
	case CMP_GE:							\
		lane(v[i] >= bound, v[i] < bound);			\
		break;							\
	case CMP_LT:							\
		lane(v[i] < bound, v[i] >= bound);			\
		break;							\
	case CMP_LE:							\
		lane(v[i] <= bound, v[i] > bound);			\
		break;							\
	case CMP_EQ:							\
		lane(v[i] == bound, (v[i] < bound) | (v[i] > bound));	\
		break;							\
	case CMP_NE:							\
		lane((v[i] < bound) | (v[i] > bound), v[i] == bound);	\
		break;							\
	}								\
} while (0)

#define AND_LANES(true_, false_) do {					\
	for (i = 0; i < n; i++)						\
		to[i] &= (-(true_) & 2) | (((false_) - 1) & 1);		\
} while (0)

#define OR_LANES(true_, false_) do {					\
	for (i = 0; i < n; i++) {					\
		some_true |= -(true_);					\
		all_false &= -(false_);					\
	}								\
} while (0)

static enum tri make_tri(bool is, bool may)
{
	return (enum tri)(is << 1 | may);
}

#define DEFINE_COMPARISONS(type)					\
PROG_VECTORS								\
static void and_##type##s(enum cmp cmp, const type *restrict v, type bound, uint32_t n,	\
			  int32_t *restrict to)				\
{									\
	uint32_t i;							\
									\
	EACH_COMPARISON(cmp, AND_LANES);				\
}									\
									\
PROG_VECTORS								\
static enum tri or_##type##s(enum cmp cmp, const type *v, type bound, uint32_t n)	\
{									\
	int32_t some_true = 0, all_false = -1;				\
	uint32_t i;							\
									\
	EACH_COMPARISON(cmp, OR_LANES);					\
	return make_tri(some_true, !all_false);				\
}

DEFINE_COMPARISONS(float)
DEFINE_COMPARISONS(double)

void prog_and_atom(const struct prog_env *env, const struct prog_atom *a,
		   const struct prog_lanes *l, int32_t *truth)
{
	union signal_column c;
	const double *v;
	struct run r;
	uint32_t i;

	if (a->simple) {
		c = env->s->table[a->kind].column[a->sig - vocab_first(a->kind)];
		if (signal_is_float(a->sig))
			and_floats(a->cmp, c.f + l->first, (float)a->value, l->n, truth);
		else
			and_doubles(a->cmp, c.d + l->first, a->value, l->n, truth);
		return;
	}
	r.env = env;
	r.l = l;
	v = run_code(&r, a->code);
	for (i = 0; i < l->n; i++)
		truth[i] &= make_tri(v[i] == 1, v[i] != 0);
}

enum tri prog_or_simple(const struct signals *s, const struct prog_atom *a,
			const struct prog_lanes *l)
{
	union signal_column c = s->table[a->kind].column[a->sig - vocab_first(a->kind)];

	return signal_is_float(a->sig) ?
	       or_floats(a->cmp, c.f + l->first, (float)a->value, l->n) :
	       or_doubles(a->cmp, c.d + l->first, a->value, l->n);
}
