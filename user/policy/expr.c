// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parses states: comparisons, "for", "not", "and", "or". */
#include "policy/expr.h"

#include <string.h>

#include "policy/cursor.h"

static bool take_cmp(struct cursor *c, enum cmp *cmp)
{
	static const enum cmp order[] = {
		CMP_GE, CMP_LE, CMP_EQ, CMP_NE, CMP_GT, CMP_LT,
	};
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *name = cmp_name(order[i]);

		if (strncmp(c->p, name, strlen(name)))
			continue;
		*cmp = order[i];
		c->p += strlen(name);
		parse_skip(c);
		return true;
	}
	return false;
}

/* Makes a word a number of the unit of the signal that it is compared with. */
static bool resolve_word(struct cursor *c, int word, int other)
{
	struct ast *w = &c->x->n[word];
	const struct ast *o = &c->x->n[other];
	const char *s, *t;
	int len = parse_what(c, o, &t);
	struct expr_error inner;

	s = c->text + w->at;
	if (!o->plain || o->op != AST_SIGNAL || o->unit < UNIT_CLASS)
		return parse_want_number(c, word);
	if (!expr_value(s, w->end - w->at, o->unit, &w->v, &inner))
		return parse_fail(c, w->at, "%.*s: %s", len, t, inner.msg);
	w->op = AST_NUMBER;
	w->unit = o->unit;
	return true;
}

static bool is_plain_zero(const struct ast *n)
{
	return n->op == AST_NUMBER && n->unit == UNIT_COUNT && n->v == 0;
}

/* False, with an error: the units of @x and @y differ. */
static bool check_comparable(struct cursor *c, const struct ast *x,
			     const struct ast *y, size_t sign)
{
	const char *s, *t;
	int n = parse_what(c, x, &s), m = parse_what(c, y, &t);

	if (x->unit == y->unit || is_plain_zero(x) || is_plain_zero(y))
		return true;
	if (x->unit == UNIT_ID && y->op == AST_NUMBER && y->unit == UNIT_COUNT)
		return true;
	if (parse_dimensionless(x->unit) && parse_dimensionless(y->unit) &&
	    !(x->plain && y->plain))
		return true;
	/* Most often the constant is the mistake. */
	if (y->op == AST_NUMBER)
		return parse_fail(c, y->at, "%.*s: '%.*s' is %s; it should be %s",
				  n, s, m, t, expr_unit_noun(y->unit),
				  units_describe(x->unit));
	if (x->op == AST_NUMBER)
		return parse_fail(c, x->at, "%.*s: '%.*s' is %s; it should be %s",
				  m, t, n, s, expr_unit_noun(x->unit),
				  units_describe(y->unit));
	return parse_fail(c, sign,
			  "'%.*s' is %s and '%.*s' %s: they cannot be compared",
			  n, s, expr_unit_noun(x->unit), m, t,
			  expr_unit_noun(y->unit));
}

static bool check_cmp(struct cursor *c, enum cmp cmp, int a, int b, size_t sign)
{
	const struct ast *x, *y;
	const char *s;
	int n;

	if (c->x->n[a].op == AST_WORD && !resolve_word(c, a, b))
		return false;
	if (c->x->n[b].op == AST_WORD && !resolve_word(c, b, a))
		return false;
	if (!parse_want_number(c, a) || !parse_want_number(c, b))
		return false;
	x = &c->x->n[a];
	y = &c->x->n[b];
	if (!check_comparable(c, x, y, sign))
		return false;
	n = parse_what(c, x, &s);
	if (x->op == AST_SIGNAL && x->unit == UNIT_RATIO &&
	    y->op == AST_NUMBER && (y->v < 0 || y->v > 1))
		return parse_fail(c, y->at, "%.*s: a ratio is between 0%% and 100%%", n, s);
	if (x->unit >= UNIT_ID && cmp != CMP_EQ && cmp != CMP_NE)
		return parse_fail(c, y->at,
				  "%.*s has no order; compare it with == or !=",
				  n, s);
	if (!x->reads && !y->reads)
		return parse_fail(c, x->at,
				  "both sides are constants; one should be a signal");
	return true;
}

/* The comparison of node @a, the text from @at, with the number after the cursor. */
static int parse_bound(struct cursor *c, enum cmp cmp, size_t at, int a, size_t sign)
{
	const struct ast *n = &c->x->n[a];
	int b, i;

	if (!*c->p) {
		if (n->op == AST_WORD && !parse_want_number(c, a))
			return -1;
		return parse_error(c, sign + strlen(cmp_name(cmp)),
				   "%.*s: a value is missing; it should be %s",
				   (int)(n->end - n->at), c->text + n->at,
				   units_describe(n->unit));
	}
	c->unit = n->unit;
	b = parse_sum(c);
	c->unit = UNIT_COUNT;
	if (b < 0 || !check_cmp(c, cmp, a, b, sign))
		return -1;
	i = parse_node(c, AST_CMP, at, a, b);
	if (i >= 0)
		c->x->n[i].arg = cmp;
	return i;
}

/* "rising" or "falling" has been read behind node @a. */
static int parse_trend(struct cursor *c, enum ast_op op, size_t at, int a)
{
	if (!parse_want_number(c, a))
		return -1;
	if (c->agg)
		return parse_error(c, at,
				   "rising and falling are not possible within a quantifier, which keeps no state of its objects");
	if (c->x->n[a].unit >= UNIT_ID || !c->x->n[a].reads)
		return parse_error(c, at, "this neither rises nor falls");
	return parse_node(c, op, at, a, -1);
}

/* The shown length of the text up to the next blank. */
static int shown_rest(const struct cursor *c)
{
	return parse_shown(strcspn(c->p, " \t\n"));
}

/* Reports an operator of other languages. */
static bool fail_foreign(struct cursor *c)
{
	return parse_fail(c, parse_at(c), "'%.*s' is not understood; write '%s'", shown_rest(c),
			  c->p, *c->p == '&' ? "and" : "or");
}

static int parse_cmp(struct cursor *c)
{
	size_t at = parse_at(c), sign;
	int a = parse_sum(c);
	enum cmp cmp;

	if (a < 0)
		return -1;
	sign = parse_at(c);
	if (take_cmp(c, &cmp))
		return parse_bound(c, cmp, at, a, sign);
	parse_take(c, "is");
	if (parse_take(c, "rising"))
		return parse_trend(c, AST_RISING, at, a);
	if (parse_take(c, "falling"))
		return parse_trend(c, AST_FALLING, at, a);
	c->p = c->text + sign;
	if (c->x->n[a].truth || !*c->p || *c->p == ')' || parse_is(c, "and") ||
	    parse_is(c, "or") || parse_is(c, "for") || parse_is(c, "over") ||
	    parse_is(c, "where"))
		return a;
	if (c->x->n[a].op == AST_WORD && !parse_want_number(c, a))
		return -1;
	if (*c->p == '=')
		return parse_error(c, sign, "'=' sets a knob; to compare, write '=='");
	if (*c->p == '&' || *c->p == '|') {
		fail_foreign(c);
		return -1;
	}
	return parse_error(c, sign,
			   "a comparison is expected here, not '%.*s'; it is one of > >= < <= == !=, or rising or falling",
			   shown_rest(c), c->p);
}

static int parse_held(struct cursor *c)
{
	size_t at = parse_at(c);
	int a = parse_cmp(c), t;

	while (a >= 0 && parse_take(c, "for")) {
		if (!parse_want_truth(c, a))
			return -1;
		if (c->agg)
			return parse_error(c, at,
					   "'for' is not possible within a quantifier, which keeps no state of its objects");
		c->unit = UNIT_TIME;
		t = parse_deeper(c, parse_atom);
		c->unit = UNIT_COUNT;
		if (t < 0)
			return -1;
		if (c->x->n[t].op != AST_NUMBER || c->x->n[t].unit != UNIT_TIME)
			return parse_error(c, c->x->n[t].at, "after 'for' comes %s",
					   units_describe(UNIT_TIME));
		a = parse_node(c, AST_FOR, at, a, -1);
		if (a >= 0)
			c->x->n[a].v = c->x->n[t].v;
	}
	return a;
}

static int parse_not(struct cursor *c)
{
	size_t at = parse_at(c);
	int a;

	if (!parse_take(c, "not"))
		return parse_held(c);
	if (++c->depth > EXPR_DEPTH)
		return parse_error(c, at, "nested too deeply");
	a = parse_not(c);
	c->depth--;
	if (a < 0 || !parse_want_truth(c, a))
		return -1;
	return parse_node(c, AST_NOT, at, a, -1);
}

/* Operands that one word ("and" or "or") joins. */
static int parse_joined(struct cursor *c, const char *word, enum ast_op op,
			int (*parse)(struct cursor *c))
{
	size_t at = parse_at(c);
	int a = parse(c), b;

	while (a >= 0 && parse_take(c, word)) {
		if (!parse_want_truth(c, a))
			return -1;
		b = parse(c);
		if (b < 0 || !parse_want_truth(c, b))
			return -1;
		a = parse_node(c, op, at, a, b);
	}
	return a;
}

static int parse_and(struct cursor *c)
{
	return parse_joined(c, "and", AST_AND, parse_not);
}

int parse_or(struct cursor *c)
{
	return parse_joined(c, "or", AST_OR, parse_and);
}

bool expr_state(const char *s, const struct criteria *cr, struct expr *x,
		int *root, struct expr_error *e)
{
	struct cursor c = { .text = s, .p = s, .e = e, .x = x };

	expr_begin(x, s, cr);
	parse_skip(&c);
	if (!*c.p)
		return parse_fail(&c, 0, "an empty state; write for instance 'port.util > 80%%'");
	*root = parse_or(&c);
	if (*root < 0)
		return false;
	if (*c.p == '&' || *c.p == '|')
		return fail_foreign(&c);
	if (*c.p)
		return parse_fail(&c, parse_at(&c),
				  "'%.*s' is not understood here; states are joined by 'and' and 'or'",
				  shown_rest(&c), c.p);
	return parse_want_truth(&c, *root);
}
