// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The margin of a state: how far its readings are beyond their bounds. Margins rank causes
 * that are true at once.
 *
 * The margin of a comparison is the distance of the reading from the bound, relative to
 * the bound: 5k/s against 1k/s is 4. The margin of "and" is that of its weakest part, of
 * "or" that of its strongest.
 *
 * Some comparisons are no evidence and do not count: a reading below its bound, because a
 * job does not wait for an idle resource (except for the job's own rate below its
 * target); == and !=, which select objects; rising and falling, which have no bound. If all
 * resources that a state compares are idle, its margin is 0: none of them is the cause,
 * however much the job suffers.
 */
#include "base/array.h"
#include "core/policy.h"

#define NO_EVIDENCE __builtin_nan("")
/* Margin of a reading beyond a bound of 0, which has no relative distance. */
#define UNSCALED __builtin_inf()

struct reader {
	const struct prog *p;
	struct prog_env env;
	const struct binding *b;
	bool idle, busy;	/* a comparison found a resource idle; busy */
};

/* One side of a comparison. */
struct side {
	struct prog_code code;
	bool measured;		/* false: constants, targets and earlier readings only */
	bool resource;		/* reads a signal of another object than the job */
	bool yield;		/* reads the job's rate, which should not be low */
};

static unsigned int operand_count(enum prog_op op)
{
	switch (op) {
	case PROG_CONST:
	case PROG_SIGNAL:
	case PROG_AGG:
		return 0;
	case PROG_NEG:
	case PROG_NOT:
	case PROG_RISING:
	case PROG_FALLING:
	case PROG_HELD:
		return 1;
	default:
		return 2;
	}
}

/* The expression that ends before instruction @end. */
static struct prog_code last_expr(const struct prog *p, uint32_t end)
{
	uint32_t at = end, need = 1;

	while (need) {
		at--;
		need += operand_count(p->ins[at].op) - 1;
	}
	return (struct prog_code){ (uint16_t)at, (uint16_t)(end - at) };
}

/* True: a target or an earlier reading, which is a bound on either side of a comparison. */
static bool is_reference(unsigned int sig)
{
	return sig == SIG_JOB_SLO_P99 || sig == SIG_JOB_SLO_BYTE_RATE ||
	       sig == SIG_JOB_P99_PREV || sig == SIG_JOB_LATENCY_PREV || sig == SIG_PORT_SPEED;
}

/* Adds to @side what @code reads. */
static void read_side(const struct prog *p, struct prog_code code, struct side *side)
{
	uint32_t i;

	for (i = 0; i < code.n; i++) {
		const struct prog_ins *in = &p->ins[code.first + i];

		if (in->op == PROG_AGG) {
			side->measured = true;
			side->resource |= p->aggs[in->arg].of != OBJ_JOB;
			read_side(p, p->aggs[in->arg].value, side);
		}
		if (in->op != PROG_SIGNAL)
			continue;
		side->measured |= !is_reference(in->arg);
		side->resource |= vocab_signals[in->arg].obj != OBJ_JOB;
		side->yield |= in->arg == SIG_JOB_BYTE_RATE;
	}
}

static double comparison_margin(struct reader *r, struct prog_code code, bool not)
{
	uint32_t end = code.first + code.n - 1u;
	const struct prog_ins *cmp = &r->p->ins[end];
	struct side left = { 0 }, right = { 0 };
	bool more, less;
	double v, bound, m;

	right.code = last_expr(r->p, end);
	left.code = last_expr(r->p, right.code.first);
	read_side(r->p, left.code, &left);
	read_side(r->p, right.code, &right);
	more = cmp->arg == CMP_GT || cmp->arg == CMP_GE;
	less = cmp->arg == CMP_LT || cmp->arg == CMP_LE;
	if (!more && !less)
		return NO_EVIDENCE;
	more ^= not;
	/* "80% < port.util" */
	if (!left.measured && right.measured) {
		array_swap(left, right);
		more = !more;
	}
	if (!left.measured)
		return NO_EVIDENCE;
	if (!more && !left.yield) {
		r->idle |= left.resource;
		return NO_EVIDENCE;
	}
	r->busy |= left.resource;
	v = prog_run(&r->env, left.code, r->b);
	bound = prog_run(&r->env, right.code, r->b);
	if (bound == 0)
		return more ? UNSCALED : NO_EVIDENCE;
	m = (v - bound) / (bound < 0 ? -bound : bound);
	return more ? m : -m;
}

static double weaker_margin(double a, double b)
{
	return a != a || b < a ? b : a;
}

static double stronger_margin(double a, double b)
{
	return a != a || b > a ? b : a;
}

static double expr_margin(struct reader *r, struct prog_code code, bool not)
{
	uint32_t end = code.first + code.n - 1u;
	const struct prog_ins *in = &r->p->ins[end];
	struct prog_code a, b;
	double x, y;

	switch ((enum prog_op)in->op) {
	case PROG_CMP:
		return comparison_margin(r, code, not);
	case PROG_NOT:
		return expr_margin(r, last_expr(r->p, end), !not);
	case PROG_HELD:
		/* If a condition has not held for long enough, it may still be true now. */
		return not ? NO_EVIDENCE :
			     expr_margin(r, last_expr(r->p, end), false);
	case PROG_AND:
	case PROG_OR:
		b = last_expr(r->p, end);
		a = last_expr(r->p, b.first);
		x = expr_margin(r, a, not);
		y = expr_margin(r, b, not);
		return (in->op == PROG_AND) != not ? weaker_margin(x, y) :
						     stronger_margin(x, y);
	default:
		return NO_EVIDENCE;
	}
}

static double term_margin(struct reader *r, const struct prog_term *term)
{
	double least = NO_EVIDENCE;
	uint64_t need;
	uint32_t o;

	r->idle = r->busy = false;
	for (o = 0; o < OBJ_KINDS; o++)
		for (need = term->need[o]; need; need &= need - 1) {
			const struct prog_atom *a = &r->p->atoms[o][__builtin_ctzll(need)];

			least = weaker_margin(least, expr_margin(r, a->code, false));
		}
	return r->idle && !r->busy ? 0 : least;
}

double margin_cond(const struct truth_view *v, const struct cond *c, const struct binding *b)
{
	struct reader r = {
		.p = v->p, .env = { .p = v->p, .s = v->s, .agg = v->t->agg }, .b = b,
	};
	struct prog_code one = { c->terms.first, 1 };
	double best = NO_EVIDENCE;
	unsigned int i;

	for (i = 0; i < c->terms.n; i++, one.first++)
		if (truth_at(v, one, b) == TRI_TRUE)
			best = stronger_margin(best, term_margin(&r, &v->p->terms[one.first]));
	/* A reading beyond a bound of 0 counts like one of twice its bound. */
	if (best == UNSCALED)
		return 1;
	return best > 0 ? best : 0;
}
