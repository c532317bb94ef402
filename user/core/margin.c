// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How strongly a state holds, so that causes that are true at once can be ranked.
 *
 * A comparison has a margin: by how much of its own bound the reading is beyond it.
 * 5k/s is four times beyond 1k/s, whatever was added up or multiplied on the way.
 * "and" is as strong as its weakest part, "or" as its strongest.
 *
 * Some parts are no evidence and count neither for nor against: that there is less
 * of something than a bound, since a resource that is idle is not what a job waits
 * for; == and !=, which pick objects; rising and falling, which have no bound. Only
 * a job that sends less than it was promised suffers by what it lacks. A state that
 * says of resources nothing but that they are idle has a margin of 0, however much
 * its job suffers: it is not that resource.
 */
#include "core/policy.h"

#define NO_EVIDENCE __builtin_nan("")
/* Beyond a bound of zero, of which no reading is a multiple. */
#define UNSCALED __builtin_inf()

struct reader {
	const struct prog *p;
	struct prog_env env;
	const struct binding *b;
	bool idle, busy;	/* a resource was seen to be so */
};

/* What an expression reads. */
struct side {
	struct prog_code code;
	bool measured;		/* else constants, and what should be or has been */
	bool resource;		/* of it, more than what the job has and gets */
	bool yield;		/* what a job gets, of which less is worse */
};

static unsigned int arity(enum prog_op op)
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

/* The expression whose last instruction is the one before @end. */
static struct prog_code last_expr(const struct prog *p, uint32_t end)
{
	uint32_t at = end, need = 1;

	while (need) {
		at--;
		need += arity(p->ins[at].op);
		need--;
	}
	return (struct prog_code){ (uint16_t)at, (uint16_t)(end - at) };
}

/* What should be, or has been: a bound, on whichever side it stands. */
static bool is_reference(unsigned int sig)
{
	return sig == SIG_JOB_SLO_P99 || sig == SIG_JOB_SLO_BYTE_RATE ||
	       sig == SIG_JOB_P99_PREV || sig == SIG_PORT_SPEED;
}

static void read_side(const struct prog *p, struct prog_code code,
		      struct side *side)
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

static double comparison(struct reader *r, struct prog_code code, bool not)
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
		struct side t = left;

		left = right;
		right = t;
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

static double weaker(double a, double b)
{
	return a != a || b < a ? b : a;
}

static double stronger(double a, double b)
{
	return a != a || b > a ? b : a;
}

static double margin(struct reader *r, struct prog_code code, bool not)
{
	uint32_t end = code.first + code.n - 1u;
	const struct prog_ins *in = &r->p->ins[end];
	struct prog_code a, b;
	double x, y;

	switch ((enum prog_op)in->op) {
	case PROG_CMP:
		return comparison(r, code, not);
	case PROG_NOT:
		return margin(r, last_expr(r->p, end), !not);
	case PROG_HELD:
		/* What has not held for so long may be true or false now. */
		return not ? NO_EVIDENCE :
			     margin(r, last_expr(r->p, end), false);
	case PROG_AND:
	case PROG_OR:
		b = last_expr(r->p, end);
		a = last_expr(r->p, b.first);
		x = margin(r, a, not);
		y = margin(r, b, not);
		return (in->op == PROG_AND) != not ? weaker(x, y) :
						     stronger(x, y);
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
			const struct prog_atom *a =
				&r->p->atoms[o][__builtin_ctzll(need)];

			least = weaker(least, margin(r, a->code, false));
		}
	return r->idle && !r->busy ? 0 : least;
}

double margin_cond(const struct prog *p, const struct truth *tr,
		   const struct cond *c, const struct signals *s,
		   const struct binding *b)
{
	struct reader r = {
		.p = p, .env = { .p = p, .s = s, .agg = tr->agg }, .b = b,
	};
	struct prog_code one = { c->terms.first, 1 };
	double best = NO_EVIDENCE;
	unsigned int i;

	for (i = 0; i < c->terms.n; i++, one.first++)
		if (truth_at(tr, p, one, b) == TRI_TRUE)
			best = stronger(best, term_margin(&r, &p->terms[one.first]));
	/* There is some of what should not be: as much as twice a bound. */
	if (best == UNSCALED)
		return 1;
	return best > 0 ? best : 0;
}
