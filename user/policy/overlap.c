// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decides whether a state can be true at all, and whether two can be true at once, by the
 * intervals that they leave of each signal. Only comparisons of a signal with a constant
 * count; all other atoms are assumed to be possible.
 */
#include <float.h>

#include "policy/expr.h"

struct interval {
	double lo, hi;
	bool lo_open, hi_open;
};

static void narrow_interval(struct interval *in, enum cmp cmp, double v)
{
	bool open = cmp == CMP_GT || cmp == CMP_LT;

	if (cmp == CMP_GT || cmp == CMP_GE || cmp == CMP_EQ) {
		if (v > in->lo || (v == in->lo && open)) {
			in->lo = v;
			in->lo_open = open;
		}
	}
	if (cmp == CMP_LT || cmp == CMP_LE || cmp == CMP_EQ) {
		if (v < in->hi || (v == in->hi && open)) {
			in->hi = v;
			in->hi_open = open;
		}
	}
}

/* What is left of the values of a signal. */
enum left {
	LEFT_SOME,
	LEFT_TOUCH,	/* none, but no value lies between the two intervals */
	LEFT_NONE,
};

/* The greatest possible reading. */
static double highest_reading(enum signal_id sig)
{
	if (sig == SIG_QP_LEVEL || sig == SIG_JOB_LEVEL)
		return SWIFTRDMA_LEVEL_MAX;
	/* A port may be faster than the file says. */
	if (vocab_signals[sig].unit == UNIT_RATIO && sig != SIG_PORT_UTIL)
		return 1;
	return DBL_MAX;
}

/* The values of one signal, up to @highest, for which both terms are true. @b may be NULL. */
static enum left signal_left(const struct prog *p, const struct prog_term *a,
			     const struct prog_term *b, enum signal_id sig,
			     double highest)
{
	const struct vocab_signal *vs = &vocab_signals[sig];
	uint64_t need = a->need[vs->obj] | (b ? b->need[vs->obj] : 0);
	/* No signal is negative. */
	struct interval in = { 0, highest, false, false };
	bool not = false;
	uint32_t i;

	for (i = 0; i < p->n_atoms[vs->obj]; i++) {
		const struct prog_atom *at = &p->atoms[vs->obj][i];

		if (need & 1ULL << i && at->simple && at->sig == sig)
			narrow_interval(&in, at->cmp, at->value);
	}
	if (in.lo > in.hi)
		return LEFT_NONE;
	/* No count lies between two successive counts. */
	if (vs->unit == UNIT_COUNT && in.lo_open && in.hi_open &&
	    in.hi - in.lo <= 1)
		return LEFT_NONE;
	if (in.lo < in.hi)
		return LEFT_SOME;
	/* Successive counts or words have no values between them, so intervals do not touch. */
	if (in.lo_open || in.hi_open)
		return vs->unit == UNIT_COUNT || vs->unit >= UNIT_ID ?
		       LEFT_NONE : LEFT_TOUCH;
	/* Only one value is left: `x != 3` in a term excludes it. */
	for (i = 0; i < p->n_atoms[vs->obj]; i++) {
		const struct prog_atom *at = &p->atoms[vs->obj][i];

		not |= need & 1ULL << i && at->simple && at->sig == sig &&
		       at->cmp == CMP_NE && at->value == in.lo;
	}
	return not ? LEFT_NONE : LEFT_SOME;
}

static enum left terms_left(const struct prog *p, const struct prog_term *a,
			    const struct prog_term *b, bool in_range)
{
	enum left least = LEFT_SOME, l;
	unsigned int sig;

	for (sig = 0; sig < SIGNALS; sig++) {
		l = signal_left(p, a, b, sig,
				in_range ? highest_reading(sig) : DBL_MAX);
		if (l == LEFT_NONE)
			return l;
		if (l == LEFT_TOUCH)
			least = l;
	}
	return least;
}

static bool all_simple(const struct prog *p, const struct prog_term *t)
{
	uint32_t i, o;

	for (o = 0; o < OBJ_KINDS; o++)
		for (i = 0; i < p->n_atoms[o]; i++)
			if (t->need[o] & 1ULL << i && !p->atoms[o][i].simple)
				return false;
	return true;
}

bool states_overlap(const struct prog *p, const struct cond *a,
		    const struct cond *b, bool *touch, bool *sure)
{
	bool overlap = false;
	unsigned int i, k;

	*touch = false;
	*sure = true;
	for (i = 0; i < a->terms.n; i++)
		for (k = 0; k < b->terms.n; k++) {
			const struct prog_term *x = &p->terms[a->terms.first + i];
			const struct prog_term *y = &p->terms[b->terms.first + k];
			enum left l = terms_left(p, x, y, false);

			if (l == LEFT_NONE)
				continue;
			*sure &= all_simple(p, x) && all_simple(p, y);
			overlap |= l == LEFT_SOME;
			*touch |= l == LEFT_TOUCH;
		}
	if (overlap)
		*touch = false;
	return overlap;
}

static bool some_left(const struct prog *p, const struct cond *c, bool in_range)
{
	unsigned int i;

	for (i = 0; i < c->terms.n; i++)
		if (terms_left(p, &p->terms[c->terms.first + i], NULL,
			       in_range) == LEFT_SOME)
			return true;
	return false;
}

bool state_possible(const struct prog *p, const struct cond *c)
{
	return some_left(p, c, false);
}

bool state_in_range(const struct prog *p, const struct cond *c)
{
	return some_left(p, c, true);
}
