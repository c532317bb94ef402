// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parses numbers with a unit: constants, signals, quantifiers, arithmetic. */
#include <errno.h>
#include <string.h>

#include "policy/cursor.h"
#include "policy/diag.h"

/* Reads the @n bytes at offset @at as a number; an error if its unit is not @unit. */
static bool read_quantity(struct cursor *c, size_t at, size_t n, enum unit unit,
			  struct quantity *q)
{
	const char *s = c->text + at, *near;
	size_t unit_at = 0;

	switch (units_parse(s, n, q, &unit_at)) {
	case 0:
		return true;
	case -ENOENT:
		break;
	case -ERANGE:
		return parse_fail(c, at,
				  "'%.*s' has too many digits; 15 are enough",
				  parse_shown(n), s);
	default:
		return parse_fail(c, at,
				  "'%.*s' is not a number; it should be %s",
				  parse_shown(n), s, units_describe(unit));
	}
	s += unit_at;
	n -= unit_at;
	near = units_suggest(s, n);
	if (near)
		return parse_fail(c, at + unit_at,
				  "unknown unit '%.*s'; write '%s'",
				  parse_shown(n), s, near);
	return parse_fail(c, at + unit_at,
			  "unknown unit '%.*s'; this should be %s",
			  parse_shown(n), s, units_describe(unit));
}

static const char *pick_word(size_t i, const void *arg)
{
	const enum unit *unit = arg;
	size_t k;

	for (k = 0; k < vocab_n_words; k++)
		if (vocab_words[k].unit == *unit && !i--)
			return vocab_words[k].name;
	return NULL;
}

/* Reports an unknown word. */
static bool fail_word(const char *s, size_t n, enum unit unit, struct cursor *c)
{
	const char *near = suggest(s, n, pick_word, &unit);

	if (near)
		return parse_fail(c, 0, "'%.*s' is not %s; did you mean '%s'?",
				  parse_shown(n), s, expr_unit_noun(unit),
				  near);
	return parse_fail(c, 0, "'%.*s' is not %s", parse_shown(n), s,
			  units_describe(unit));
}

bool expr_value(const char *s, size_t n, enum unit unit, double *v,
		struct expr_error *e)
{
	struct cursor c = { .text = s, .p = s, .e = e };
	struct quantity q;

	if (!n)
		return parse_fail(&c, 0, "a value is missing; it should be %s",
				  units_describe(unit));
	if (unit >= UNIT_CLASS)
		return !vocab_word(unit, s, n, v) || fail_word(s, n, unit, &c);
	if (!read_quantity(&c, 0, n, unit, &q))
		return false;
	if (q.unit == UNIT_COUNT && unit == UNIT_ID)
		q.unit = UNIT_ID;
	/* 0 needs no unit. */
	if (q.unit != unit && !(q.unit == UNIT_COUNT && q.v == 0))
		return parse_fail(&c, 0, "'%.*s' is %s; it should be %s",
				  parse_shown(n), s, expr_unit_noun(q.unit),
				  units_describe(unit));
	*v = q.v;
	return true;
}

/*
 * Length of a constant: digits, and a unit directly behind them or after blanks. "100/s" is a
 * rate, "100 / uar.qps" a quotient.
 */
static size_t constant_length(const char *s)
{
	size_t n = 0, gap = 0, len;

	while (parse_digit(s[n]) || (s[n] == '.' && parse_digit(s[n + 1])))
		n++;
	while (parse_blank(s[n + gap]))
		gap++;
	len = units_length(s + n + gap);
	if (len)
		return n + gap + len;
	/* An unknown unit: letters directly after the number, */
	if (parse_letter(s[n]) || (unsigned char)s[n] >= 0x80)
		while (parse_letter(s[n]) || parse_digit(s[n]) || s[n] == '/' ||
		       (unsigned char)s[n] >= 0x80)
			n++;
	/* or a word after a blank that resembles a unit, as in "100 msec". */
	else if (gap && parse_letter(s[n + gap]) &&
		 units_suggest(s + n + gap, strcspn(s + n + gap, " \t\n)")))
		n += gap + strcspn(s + n + gap, " \t\n)");
	return n;
}

static int parse_constant(struct cursor *c)
{
	size_t at = parse_at(c), n = constant_length(c->p);
	struct quantity q;
	int i;

	if (!read_quantity(c, at, n, c->unit, &q))
		return -1;
	c->p += n;
	i = parse_node(c, AST_NUMBER, at, -1, -1);
	if (i >= 0) {
		c->x->n[i].v = q.v;
		c->x->n[i].unit = q.unit;
		c->x->n[i].plain = true;
		parse_skip(c);
	}
	return i;
}

/* A signal, a criterion, or a word whose meaning depends on what it is compared with. */
static int parse_name(struct cursor *c)
{
	size_t at = parse_at(c), n = parse_word(c), k;
	const struct criterion *cr;
	int i;

	for (k = 0; k < SIGNALS; k++)
		if (strlen(vocab_signals[k].name) == n &&
		    !memcmp(vocab_signals[k].name, c->p, n))
			break;
	cr = criteria_find(c->x->criteria, c->p, n);
	c->p += n;
	i = parse_node(c, k < SIGNALS ? AST_SIGNAL : cr ? AST_NUMBER : AST_WORD,
		       at, -1, -1);
	if (i < 0)
		return -1;
	c->x->n[i].plain = true;
	if (k < SIGNALS) {
		c->x->n[i].unit = vocab_signals[k].unit;
		c->x->n[i].arg = (unsigned int)k;
		c->x->n[i].reads = 1u << vocab_signals[k].obj;
		c->x->signals |= 1ULL << k;
	} else if (cr) {
		c->x->n[i].unit = cr->unit;
		c->x->n[i].v = cr->v;
	}
	parse_skip(c);
	return i;
}

/* A kind of object, in the plural if @many. */
static bool parse_kind(struct cursor *c, bool many, enum obj_kind *kind)
{
	static const char *const plural[OBJ_KINDS] = {
		[OBJ_DEV] = "devs", [OBJ_PORT] = "ports", [OBJ_UAR] = "uars",
		[OBJ_QP] = "qps", [OBJ_JOB] = "jobs",
	};
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		if (parse_take(c, many ? plural[k] : vocab_objs[k])) {
			*kind = k;
			return true;
		}
	return parse_fail(c, parse_at(c), many ?
			  "objects are expected here: qps, uars, ports or jobs" :
			  "an object is expected here: uar, port, dev or job");
}

/* max(qp.queue_delay over qps of uar where qp.wr_rate > 0/s) */
static int parse_agg(struct cursor *c, enum agg_op op)
{
	size_t at = parse_at(c);
	int value = -1, where = -1, i;
	enum obj_kind of, on;

	c->p += parse_word(c);
	parse_skip(c);
	if (*c->p != '(')
		return parse_error(c, parse_at(c), op == AGG_COUNT ?
				   "write 'count(qps of uar)'" :
				   "write 'max(qp.queue_delay over qps of uar)'");
	if (c->agg)
		return parse_error(c, at, "a quantifier within a quantifier is not possible");
	c->agg = true;
	c->p++;
	parse_skip(c);
	if (op != AGG_COUNT) {
		value = parse_sum(c);
		if (value < 0 || !parse_want_number(c, value))
			return -1;
		if (!parse_take(c, "over"))
			return parse_error(c, parse_at(c),
					   "'over' is expected here, as in 'max(qp.queue_delay over qps of uar)'");
	}
	if (!parse_kind(c, true, &of))
		return -1;
	if (!parse_take(c, "of") && !parse_take(c, "on"))
		return parse_error(c, parse_at(c),
				   "'of' and an object are expected here, as in 'qps of uar'");
	if (!parse_kind(c, false, &on))
		return -1;
	if (!prog_has_members(on, of))
		return parse_error(c, at,
				   "no %ss belong to a %s; possible are qps of uar, port, dev or job, uars of dev, ports of dev or job, jobs of port",
				   vocab_objs[of], vocab_objs[on]);
	if (parse_take(c, "where")) {
		where = parse_or(c);
		if (where < 0 || !parse_want_truth(c, where))
			return -1;
	}
	if (*c->p != ')')
		return parse_error(c, parse_at(c), "')' is expected here");
	c->p++;
	c->agg = false;
	i = parse_node(c, AST_AGG, at, value, where);
	if (i < 0)
		return -1;
	if (c->x->n[i].reads & ~prog_sees(of))
		return parse_error(c, at,
				   "the %ss of a %s are not of one of these each; look at what a %s belongs to",
				   vocab_objs[of], vocab_objs[on], vocab_objs[of]);
	c->x->n[i].arg = op;
	c->x->n[i].of = of;
	c->x->n[i].on = on;
	c->x->n[i].reads = 1u << on;
	c->x->n[i].unit = value >= 0 ? c->x->n[value].unit : UNIT_COUNT;
	parse_skip(c);
	return i;
}

/* "- PRODUCT" */
static int parse_negative(struct cursor *c, size_t at)
{
	int a, i;

	c->p++;
	parse_skip(c);
	a = parse_deeper(c, parse_atom);
	if (a < 0 || !parse_want_number(c, a))
		return -1;
	i = parse_node(c, AST_NEG, at, a, -1);
	if (i >= 0)
		c->x->n[i].unit = c->x->n[a].unit;
	return i;
}

/* "(" ... ")" */
static int parse_group(struct cursor *c, size_t at)
{
	int i;

	c->p++;
	parse_skip(c);
	i = parse_deeper(c, parse_or);
	if (i < 0)
		return -1;
	if (*c->p != ')')
		return parse_error(c, parse_at(c), "')' is expected here");
	c->p++;
	c->x->n[i].plain = false;
	c->x->n[i].at = at;
	c->x->n[i].end = parse_at(c);
	parse_skip(c);
	return i;
}

int parse_atom(struct cursor *c)
{
	static const char *const aggs[] = {
		[AGG_MAX] = "max", [AGG_MIN] = "min", [AGG_SUM] = "sum",
		[AGG_MEAN] = "mean", [AGG_COUNT] = "count",
	};
	size_t at = parse_at(c), k;

	if (parse_digit(*c->p))
		return parse_constant(c);
	if (*c->p == '-')
		return parse_negative(c, at);
	if (*c->p == '(')
		return parse_group(c, at);
	for (k = 0; k < sizeof(aggs) / sizeof(aggs[0]); k++)
		if (parse_is(c, aggs[k]))
			return parse_agg(c, k);
	if (parse_word(c))
		return parse_name(c);
	if (!*c->p)
		return parse_error(c, at,
				   "something is missing here: a signal, a number or a criterion");
	if (*c->p == '!' || *c->p == '&' || *c->p == '|')
		return parse_error(c, at, "'%c' is not understood; write '%s'", *c->p,
				   *c->p == '!' ? "not" : *c->p == '&' ? "and" : "or");
	return parse_error(c, at,
			   "'%.*s' is not understood here; a signal, a number or a criterion is expected",
			   text_utf8(c->p) ? (int)text_utf8(c->p) : 1,
			   text_utf8(c->p) || (unsigned char)*c->p < 0x80 ? c->p : "?");
}

int parse_deeper(struct cursor *c, int (*parse)(struct cursor *c))
{
	int i;

	if (++c->depth > EXPR_DEPTH)
		return parse_error(c, parse_at(c), "nested too deeply");
	i = parse(c);
	c->depth--;
	return i;
}

bool parse_dimensionless(enum unit u)
{
	return u == UNIT_COUNT || u == UNIT_RATIO;
}

/* The unit of a product or quotient. False: the result has no meaning. */
static bool combine_units(enum ast_op op, enum unit a, enum unit b, enum unit *u)
{
	if (a >= UNIT_ID || b >= UNIT_ID)
		return false;
	if (op == AST_MUL) {
		if (parse_dimensionless(a) && parse_dimensionless(b))
			*u = a == UNIT_RATIO && b == UNIT_RATIO ? UNIT_RATIO :
								  UNIT_COUNT;
		else if (parse_dimensionless(a) || parse_dimensionless(b))
			*u = parse_dimensionless(a) ? b : a;
		else if ((a == UNIT_RATE && b == UNIT_TIME) ||
			 (a == UNIT_TIME && b == UNIT_RATE))
			*u = UNIT_COUNT;
		else
			return false;
		return true;
	}
	if (a == b || (parse_dimensionless(a) && parse_dimensionless(b)))
		*u = UNIT_RATIO;
	else if (parse_dimensionless(b))
		*u = a;
	else if (a == UNIT_COUNT && b == UNIT_TIME)
		*u = UNIT_RATE;
	else if (a == UNIT_COUNT && b == UNIT_RATE)
		*u = UNIT_TIME;
	else if (a == UNIT_BITRATE && b == UNIT_RATE)
		*u = UNIT_COUNT;
	else
		return false;
	return true;
}

static int build_arithmetic(struct cursor *c, enum ast_op op, size_t sign, int a, int b)
{
	const struct ast *x, *y;
	enum unit u;
	int i;

	if (!parse_want_number(c, a) || !parse_want_number(c, b))
		return -1;
	x = &c->x->n[a];
	y = &c->x->n[b];
	u = x->unit;
	if (op == AST_MUL || op == AST_DIV) {
		if (!combine_units(op, x->unit, y->unit, &u))
			return parse_error(c, sign, "%s %s %s has no meaning here",
					   expr_unit_noun(x->unit),
					   op == AST_MUL ? "times" : "divided by",
					   expr_unit_noun(y->unit));
	} else if (x->unit >= UNIT_ID || y->unit >= UNIT_ID) {
		return parse_error(c, sign, "%s cannot be calculated with",
				   expr_unit_noun(x->unit >= UNIT_ID ? x->unit : y->unit));
	} else if (x->unit != y->unit && !(parse_dimensionless(x->unit) &&
					   parse_dimensionless(y->unit) &&
					   !(x->plain && y->plain))) {
		return parse_error(c, sign, "%s and %s cannot be %s", expr_unit_noun(x->unit),
				   expr_unit_noun(y->unit), op == AST_ADD ? "added" : "subtracted");
	}
	i = parse_node(c, op, x->at, a, b);
	if (i >= 0)
		c->x->n[i].unit = u;
	return i;
}

/* Operands of @operand that are joined by one of the two characters of @signs. */
static int parse_chain(struct cursor *c, const char *signs, const enum ast_op *ops,
		       int (*operand)(struct cursor *c))
{
	int a = operand(c), b;

	while (a >= 0 && (*c->p == signs[0] || *c->p == signs[1]) && c->p[1] != '=') {
		enum ast_op op = ops[*c->p == signs[1]];
		size_t sign = parse_at(c);

		c->p++;
		parse_skip(c);
		b = operand(c);
		if (b < 0)
			return -1;
		a = build_arithmetic(c, op, sign, a, b);
	}
	return a;
}

static int parse_factor(struct cursor *c)
{
	return parse_deeper(c, parse_atom);
}

static int parse_product(struct cursor *c)
{
	static const enum ast_op ops[] = { AST_MUL, AST_DIV };

	return parse_chain(c, "*/", ops, parse_factor);
}

int parse_sum(struct cursor *c)
{
	static const enum ast_op ops[] = { AST_ADD, AST_SUB };

	return parse_chain(c, "+-", ops, parse_product);
}
