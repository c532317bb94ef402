// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/expr.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/parse.h"
#include "policy/report.h"

bool parse_fail(struct cursor *c, size_t at, const char *fmt, ...)
{
	va_list ap;

	c->e->at = at;
	va_start(ap, fmt);
	vsnprintf(c->e->msg, sizeof(c->e->msg), fmt, ap);
	va_end(ap);
	return false;
}

bool parse_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

void parse_skip(struct cursor *c)
{
	while (parse_blank(*c->p))
		c->p++;
}

size_t parse_at(const struct cursor *c)
{
	return (size_t)(c->p - c->text);
}

int parse_shown(size_t n)
{
	return n > 40 ? 40 : (int)n;
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t parse_word(const struct cursor *c)
{
	const char *p = c->p;
	bool dot = false;
	size_t n = 0;

	if (!letter(*p))
		return 0;
	for (;; n++) {
		dot |= p[n] == '.';
		/* "best-effort" is a word, "job.qps-1" a sum without blanks. */
		if (p[n] == '-' && (dot || !letter(p[n + 1])))
			return n;
		if (!letter(p[n]) && !digit(p[n]) && p[n] != '.' &&
		    p[n] != '-')
			return n;
	}
}

bool parse_is(const struct cursor *c, const char *w)
{
	size_t n = parse_word(c);

	return n == strlen(w) && !memcmp(c->p, w, n);
}

bool parse_take(struct cursor *c, const char *w)
{
	if (!parse_is(c, w))
		return false;
	c->p += strlen(w);
	parse_skip(c);
	return true;
}

static const char *pick_signal(size_t i, const void *arg)
{
	const struct criteria *cr = arg;

	if (i < SIGNALS)
		return vocab_signals[i].name;
	i -= SIGNALS;
	return cr && i < cr->n ? cr->v[i].name : NULL;
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

const char *expr_unit_noun(enum unit unit)
{
	static const char *const nouns[] = {
		[UNIT_COUNT] = "a plain number", [UNIT_TIME] = "a time",
		[UNIT_BITRATE] = "a speed", [UNIT_RATE] = "a rate",
		[UNIT_RATIO] = "a ratio", [UNIT_ID] = "a plain number",
		[UNIT_CLASS] = "a class", [UNIT_STATE] = "a state",
		[UNIT_TYPE] = "a type",
	};

	return nouns[unit];
}

static bool bad_unit(const char *s, size_t n, size_t unit_at, enum unit unit,
		     struct cursor *c)
{
	const char *near = units_suggest(s + unit_at, n - unit_at);

	if (near)
		return parse_fail(c, unit_at, "unknown unit '%.*s'; write '%s'",
				  parse_shown(n - unit_at), s + unit_at, near);
	return parse_fail(c, unit_at, "unknown unit '%.*s'; this should be %s",
			  parse_shown(n - unit_at), s + unit_at,
			  units_describe(unit));
}

static bool bad_word(const char *s, size_t n, enum unit unit, struct cursor *c)
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
	size_t unit_at = 0;

	if (!n)
		return parse_fail(&c, 0, "a value is missing; it should be %s",
				  units_describe(unit));
	if (unit >= UNIT_CLASS)
		return !vocab_word(unit, s, n, v) || bad_word(s, n, unit, &c);
	switch (units_parse(s, n, &q, &unit_at)) {
	case 0:
		break;
	case -ENOENT:
		return bad_unit(s, n, unit_at, unit, &c);
	case -ERANGE:
		return parse_fail(&c, 0,
				  "'%.*s' has too many digits; 15 are enough",
				  parse_shown(n), s);
	default:
		return parse_fail(&c, 0,
				  "'%.*s' is not a number; it should be %s",
				  parse_shown(n), s, units_describe(unit));
	}
	if (q.unit == UNIT_COUNT && unit == UNIT_ID)
		q.unit = UNIT_ID;
	/* Nought is nought in every unit. */
	if (q.unit != unit && !(q.unit == UNIT_COUNT && q.v == 0))
		return parse_fail(&c, 0, "'%.*s' is %s; it should be %s",
				  parse_shown(n), s, expr_unit_noun(q.unit),
				  units_describe(unit));
	*v = q.v;
	return true;
}

/* --- The tree --------------------------------------------------------------- */

static int node(struct cursor *c, enum ast_op op, size_t at, int a, int b)
{
	struct expr *x = c->x;
	struct ast *n;

	if (x->count == EXPR_NODES) {
		parse_fail(c, at, "too long; split it into several policies");
		return -1;
	}
	n = &x->n[x->count];
	memset(n, 0, sizeof(*n));
	n->op = op;
	n->a = a;
	n->b = b;
	n->at = at;
	n->end = parse_at(c);
	if (a >= 0)
		n->reads |= x->n[a].reads;
	if (b >= 0)
		n->reads |= x->n[b].reads;
	return x->count++;
}

/* "port.util", "the sum": for messages. */
static int what(const struct cursor *c, const struct ast *n, const char **s)
{
	size_t len = n->end - n->at;

	*s = c->text + n->at;
	while (len && parse_blank((*s)[len - 1]))
		len--;
	return parse_shown(len);
}

static bool want_number(struct cursor *c, int i)
{
	const struct ast *n = &c->x->n[i];
	const char *s;
	int len = what(c, n, &s);

	if (n->op == AST_WORD) {
		size_t w = n->end - n->at;
		const char *near = suggest(s, w, pick_signal, c->x->criteria);

		if (near)
			return parse_fail(c, n->at,
					  "unknown %s '%.*s'; did you mean '%s'?",
					  memchr(s, '.', w) ? "signal" : "name",
					  len, s, near);
		return parse_fail(c, n->at,
				  "unknown signal '%.*s'; swiftrdma-policy(5) lists them all, for instance port.util and job.qps",
				  len, s);
	}
	if (n->truth)
		return parse_fail(c, n->at,
				  "'%.*s' is true or false, and a number is expected here",
				  len, s);
	return true;
}

static bool want_truth(struct cursor *c, int i)
{
	const struct ast *n = &c->x->n[i];
	const char *s;
	int len;

	if (n->truth)
		return true;
	if (n->op == AST_WORD)
		return want_number(c, i);
	len = what(c, n, &s);
	c->p = c->text + n->end;
	return parse_fail(c, n->end,
			  "'%.*s' is %s, not true or false; compare it, as in '%.*s %s'",
			  len, s, expr_unit_noun(n->unit), len, s,
			  n->unit == UNIT_RATIO ? "> 80%" :
			  n->unit == UNIT_TIME ? "> 5us" :
			  n->unit == UNIT_BITRATE ? "> 1Gbit/s" :
			  n->unit == UNIT_RATE ? "> 100/s" :
			  n->unit == UNIT_CLASS ? "== latency" : "> 1");
}

/* --- Numbers ----------------------------------------------------------------- */

/*
 * How far a constant reaches: digits, and a unit that follows at once or after
 * a blank. "100/s" is a rate, "100 / uar.qps" a quotient.
 */
static size_t constant(const char *s)
{
	static const char *const units[] = {
		"kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "bit/s", "k/s", "M/s",
		"/s", "ns", "us", "ms", "s", "%", "k", "M",
	};
	size_t n = 0, gap = 0, i;

	while (digit(s[n]) || (s[n] == '.' && digit(s[n + 1])))
		n++;
	while (parse_blank(s[n + gap]))
		gap++;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i]);
		char after;

		if (strncmp(s + n + gap, units[i], len))
			continue;
		after = s[n + gap + len];
		if (units[i][len - 1] == '%' ||
		    !(letter(after) || digit(after) || after == '.' ||
		      (after == '/' && units[i][0] != '/')))
			return n + gap + len;
	}
	/* What follows at once and is no unit was meant as one. */
	if (letter(s[n]) || (unsigned char)s[n] >= 0x80)
		while (letter(s[n]) || digit(s[n]) || s[n] == '/' ||
		       (unsigned char)s[n] >= 0x80)
			n++;
	/* "100 msec": a word after a number is no operator either. */
	else if (gap && letter(s[n + gap]) &&
		 units_suggest(s + n + gap, strcspn(s + n + gap, " \t\n)")))
		n += gap + strcspn(s + n + gap, " \t\n)");
	return n;
}

static int parse_constant(struct cursor *c)
{
	size_t at = parse_at(c), n = constant(c->p), unit_at = 0;
	struct quantity q;
	int i;

	switch (units_parse(c->p, n, &q, &unit_at)) {
	case 0:
		break;
	case -ENOENT:
		bad_unit(c->p, n, unit_at, c->unit, c);
		c->e->at += at;
		return -1;
	case -ERANGE:
		parse_fail(c, at, "'%.*s' has too many digits; 15 are enough",
			   parse_shown(n), c->p);
		return -1;
	default:
		parse_fail(c, at, "'%.*s' is not a number; it should be %s",
			   parse_shown(n), c->p, units_describe(c->unit));
		return -1;
	}
	c->p += n;
	i = node(c, AST_NUMBER, at, -1, -1);
	if (i < 0)
		return -1;
	c->x->n[i].v = q.v;
	c->x->n[i].unit = q.unit;
	c->x->n[i].plain = true;
	parse_skip(c);
	return i;
}

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
	i = node(c, k < SIGNALS ? AST_SIGNAL : cr ? AST_NUMBER : AST_WORD, at,
		 -1, -1);
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
	uint64_t signals = c->x->signals;

	(void)signals;
	c->p += parse_word(c);
	parse_skip(c);
	if (*c->p != '(') {
		parse_fail(c, parse_at(c),
			   op == AGG_COUNT ? "write 'count(qps of uar)'" :
			   "write 'max(qp.queue_delay over qps of uar)'");
		return -1;
	}
	if (c->agg) {
		parse_fail(c, at,
			   "a quantifier within a quantifier is not possible");
		return -1;
	}
	c->agg = true;
	c->p++;
	parse_skip(c);
	if (op != AGG_COUNT) {
		value = parse_sum(c);
		if (value < 0 || !want_number(c, value))
			return -1;
		if (!parse_take(c, "over")) {
			parse_fail(c, parse_at(c),
				   "'over' is expected here, as in 'max(qp.queue_delay over qps of uar)'");
			return -1;
		}
	}
	if (!parse_kind(c, true, &of))
		return -1;
	if (!parse_take(c, "of") && !parse_take(c, "on")) {
		parse_fail(c, parse_at(c),
			   "'of' and whose they are is expected here, as in 'qps of uar'");
		return -1;
	}
	if (!parse_kind(c, false, &on))
		return -1;
	if (!prog_has_members(on, of)) {
		parse_fail(c, at,
			   "no %ss belong to a %s; possible are qps of uar, port, dev or job, uars of dev, ports of dev or job, jobs of port",
			   vocab_objs[of], vocab_objs[on]);
		return -1;
	}
	if (parse_take(c, "where")) {
		where = parse_or(c);
		if (where < 0 || !want_truth(c, where))
			return -1;
	}
	if (*c->p != ')') {
		parse_fail(c, parse_at(c), "')' is expected here");
		return -1;
	}
	c->p++;
	c->agg = false;
	i = node(c, AST_AGG, at, value, where);
	if (i < 0)
		return -1;
	if (c->x->n[i].reads & ~prog_sees(of)) {
		parse_fail(c, at,
			   "the %ss of a %s are not of one of these each; look at what a %s belongs to",
			   vocab_objs[of], vocab_objs[on], vocab_objs[of]);
		return -1;
	}
	c->x->n[i].arg = op;
	c->x->n[i].of = of;
	c->x->n[i].on = on;
	c->x->n[i].reads = 1u << on;
	c->x->n[i].unit = value >= 0 ? c->x->n[value].unit : UNIT_COUNT;
	parse_skip(c);
	return i;
}

static int parse_atom(struct cursor *c)
{
	static const char *const aggs[] = {
		[AGG_MAX] = "max", [AGG_MIN] = "min", [AGG_SUM] = "sum",
		[AGG_MEAN] = "mean", [AGG_COUNT] = "count",
	};
	size_t at = parse_at(c), k;
	int i;

	if (digit(*c->p))
		return parse_constant(c);
	if (*c->p == '-') {
		c->p++;
		parse_skip(c);
		i = parse_atom_deeper(c);
		if (i < 0 || !want_number(c, i))
			return -1;
		k = (size_t)i;
		i = node(c, AST_NEG, at, i, -1);
		if (i >= 0)
			c->x->n[i].unit = c->x->n[k].unit;
		return i;
	}
	if (*c->p == '(') {
		c->p++;
		parse_skip(c);
		i = parse_or_deeper(c);
		if (i < 0)
			return -1;
		if (*c->p != ')') {
			parse_fail(c, parse_at(c), "')' is expected here");
			return -1;
		}
		c->p++;
		c->x->n[i].plain = false;
		c->x->n[i].at = at;
		c->x->n[i].end = parse_at(c);
		parse_skip(c);
		return i;
	}
	for (k = 0; k < sizeof(aggs) / sizeof(aggs[0]); k++)
		if (parse_is(c, aggs[k]))
			return parse_agg(c, k);
	if (parse_word(c))
		return parse_name(c);
	if (!*c->p)
		parse_fail(c, at,
			   "something is missing here: a signal, a number or a criterion");
	else if (*c->p == '!' || *c->p == '&' || *c->p == '|')
		parse_fail(c, at, "'%c' is not understood; write '%s'", *c->p,
			   *c->p == '!' ? "not" : *c->p == '&' ? "and" : "or");
	else
		parse_fail(c, at,
			   "'%.1s' is not understood here; a signal, a number or a criterion is expected",
			   text_utf8(c->p) || (unsigned char)*c->p < 0x80 ?
			   c->p : "?");
	return -1;
}

int parse_atom_deeper(struct cursor *c)
{
	int i;

	if (++c->depth > EXPR_DEPTH) {
		parse_fail(c, parse_at(c), "nested too deeply");
		return -1;
	}
	i = parse_atom(c);
	c->depth--;
	return i;
}

int parse_or_deeper(struct cursor *c)
{
	int i;

	if (++c->depth > EXPR_DEPTH) {
		parse_fail(c, parse_at(c), "nested too deeply");
		return -1;
	}
	i = parse_or(c);
	c->depth--;
	return i;
}

static bool dimensionless(enum unit u)
{
	return u == UNIT_COUNT || u == UNIT_RATIO;
}

/* Unit of a product or quotient; false: it has no meaning. */
static bool unit_of(enum ast_op op, enum unit a, enum unit b, enum unit *u)
{
	if (a >= UNIT_ID || b >= UNIT_ID)
		return false;
	if (op == AST_MUL) {
		if (dimensionless(a) && dimensionless(b))
			*u = a == UNIT_RATIO && b == UNIT_RATIO ? UNIT_RATIO :
								  UNIT_COUNT;
		else if (dimensionless(a) || dimensionless(b))
			*u = dimensionless(a) ? b : a;
		else if ((a == UNIT_RATE && b == UNIT_TIME) ||
			 (a == UNIT_TIME && b == UNIT_RATE))
			*u = UNIT_COUNT;
		else
			return false;
		return true;
	}
	if (a == b || (dimensionless(a) && dimensionless(b)))
		*u = UNIT_RATIO;
	else if (dimensionless(b))
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

static int arithmetic(struct cursor *c, enum ast_op op, size_t sign, int a,
		      int b)
{
	const struct ast *x, *y;
	enum unit u;
	int i;

	if (!want_number(c, a) || !want_number(c, b))
		return -1;
	x = &c->x->n[a];
	y = &c->x->n[b];
	u = x->unit;
	if (op == AST_MUL || op == AST_DIV) {
		if (!unit_of(op, x->unit, y->unit, &u)) {
			parse_fail(c, sign, "%s %s %s has no meaning here",
				   expr_unit_noun(x->unit),
				   op == AST_MUL ? "times" : "divided by",
				   expr_unit_noun(y->unit));
			return -1;
		}
	} else if (x->unit >= UNIT_ID || y->unit >= UNIT_ID) {
		parse_fail(c, sign, "%s cannot be calculated with",
			   expr_unit_noun(x->unit >= UNIT_ID ? x->unit :
							       y->unit));
		return -1;
	} else if (x->unit != y->unit && !(dimensionless(x->unit) &&
					   dimensionless(y->unit) &&
					   !(x->plain && y->plain))) {
		parse_fail(c, sign, "%s and %s cannot be %s",
			   expr_unit_noun(x->unit), expr_unit_noun(y->unit),
			   op == AST_ADD ? "added" : "subtracted");
		return -1;
	}
	i = node(c, op, x->at, a, b);
	if (i >= 0)
		c->x->n[i].unit = u;
	return i;
}

static int parse_product(struct cursor *c)
{
	int a = parse_atom_deeper(c), b;

	while (a >= 0 && (*c->p == '*' || *c->p == '/')) {
		enum ast_op op = *c->p == '*' ? AST_MUL : AST_DIV;
		size_t sign = parse_at(c);

		c->p++;
		parse_skip(c);
		b = parse_atom_deeper(c);
		if (b < 0)
			return -1;
		a = arithmetic(c, op, sign, a, b);
	}
	return a;
}

int parse_sum(struct cursor *c)
{
	int a = parse_product(c), b;

	while (a >= 0 && (*c->p == '+' || *c->p == '-') && c->p[1] != '=') {
		enum ast_op op = *c->p == '+' ? AST_ADD : AST_SUB;
		size_t sign = parse_at(c);

		c->p++;
		parse_skip(c);
		b = parse_product(c);
		if (b < 0)
			return -1;
		a = arithmetic(c, op, sign, a, b);
	}
	return a;
}

/* --- Truths ------------------------------------------------------------------ */

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

/* A word is a value of the unit that it is compared with. */
static bool settle_word(struct cursor *c, int word, int other)
{
	struct ast *w = &c->x->n[word];
	const struct ast *o = &c->x->n[other];
	const char *s, *t;
	int len = what(c, o, &t);
	struct expr_error inner;

	s = c->text + w->at;
	if (o->op == AST_WORD || o->truth || !(o->plain &&
					       o->op == AST_SIGNAL))
		return want_number(c, word);
	if (o->unit < UNIT_CLASS)
		return want_number(c, word);
	if (!expr_value(s, w->end - w->at, o->unit, &w->v, &inner))
		return parse_fail(c, w->at, "%.*s: %s", len, t, inner.msg);
	w->op = AST_NUMBER;
	w->unit = o->unit;
	return true;
}

static bool zero(const struct ast *n)
{
	return n->op == AST_NUMBER && n->unit == UNIT_COUNT && n->v == 0;
}

/* Can these be compared, and how is it said if they cannot? */
static bool comparable(struct cursor *c, const struct ast *x,
		       const struct ast *y, size_t sign)
{
	const char *s, *t;
	int n = what(c, x, &s), m = what(c, y, &t);

	if (x->unit == y->unit || zero(x) || zero(y))
		return true;
	if (x->unit == UNIT_ID && y->op == AST_NUMBER && y->unit == UNIT_COUNT)
		return true;
	if (dimensionless(x->unit) && dimensionless(y->unit) &&
	    !(x->plain && y->plain))
		return true;
	/* What is wrong is most often the constant. */
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

static bool sound_cmp(struct cursor *c, enum cmp cmp, int a, int b,
		      size_t sign)
{
	const struct ast *x, *y;
	const char *s;
	int n;

	if (c->x->n[a].op == AST_WORD && !settle_word(c, a, b))
		return false;
	if (c->x->n[b].op == AST_WORD && !settle_word(c, b, a))
		return false;
	if (!want_number(c, a) || !want_number(c, b))
		return false;
	x = &c->x->n[a];
	y = &c->x->n[b];
	if (!comparable(c, x, y, sign))
		return false;
	n = what(c, x, &s);
	if (x->op == AST_SIGNAL && x->unit == UNIT_RATIO &&
	    y->op == AST_NUMBER && (y->v < 0 || y->v > 1))
		return parse_fail(c, y->at,
				  "%.*s: a ratio is between 0%% and 100%%", n,
				  s);
	if (x->unit >= UNIT_ID && cmp != CMP_EQ && cmp != CMP_NE)
		return parse_fail(c, y->at,
				  "%.*s has no order; compare it with == or !=",
				  n, s);
	if (!x->reads && !y->reads)
		return parse_fail(c, x->at,
				  "both sides are constants; one should be a signal");
	return true;
}

static int parse_cmp(struct cursor *c)
{
	size_t at = parse_at(c), sign, n = 0;
	int a = parse_sum(c), b, i;
	enum cmp cmp;
	bool rising;

	if (a < 0)
		return -1;
	sign = parse_at(c);
	if (take_cmp(c, &cmp)) {
		if (!*c->p) {
			if (c->x->n[a].op == AST_WORD && !want_number(c, a))
				return -1;
			parse_fail(c, sign + strlen(cmp_name(cmp)),
				   "%.*s: a value is missing; it should be %s",
				   (int)(c->x->n[a].end - c->x->n[a].at),
				   c->text + c->x->n[a].at,
				   units_describe(c->x->n[a].unit));
			return -1;
		}
		c->unit = c->x->n[a].unit;
		b = parse_sum(c);
		c->unit = UNIT_COUNT;
		if (b < 0 || !sound_cmp(c, cmp, a, b, sign))
			return -1;
		i = node(c, AST_CMP, at, a, b);
		if (i < 0)
			return -1;
		c->x->n[i].arg = cmp;
		c->x->n[i].truth = true;
		return i;
	}
	parse_take(c, "is");
	rising = parse_take(c, "rising");
	if (rising || parse_take(c, "falling")) {
		if (!want_number(c, a))
			return -1;
		if (c->agg || c->x->n[a].unit >= UNIT_ID || !c->x->n[a].reads) {
			parse_fail(c, at, c->agg ?
				   "nothing is remembered of each object of a quantifier; rising and falling are not possible in it" :
				   "this neither rises nor falls");
			return -1;
		}
		i = node(c, rising ? AST_RISING : AST_FALLING, at, a, -1);
		if (i >= 0)
			c->x->n[i].truth = true;
		return i;
	}
	if (c->p != c->text + sign)
		c->p = c->text + sign;
	if (c->x->n[a].truth || !*c->p || *c->p == ')' || parse_is(c, "and") ||
	    parse_is(c, "or") || parse_is(c, "for") || parse_is(c, "over") ||
	    parse_is(c, "where"))
		return a;
	if (c->x->n[a].op == AST_WORD && !want_number(c, a))
		return -1;
	while (c->p[n] && !parse_blank(c->p[n]))
		n++;
	if (*c->p == '=')
		parse_fail(c, sign,
			   "'=' sets a knob; to compare, write '=='");
	else if (*c->p == '&' || *c->p == '|')
		parse_fail(c, sign, "'%.*s' is not understood; write '%s'",
			   parse_shown(n), c->p, *c->p == '&' ? "and" : "or");
	else
		parse_fail(c, sign,
			   "a comparison is expected here, not '%.*s'; it is one of > >= < <= == !=, or rising or falling",
			   parse_shown(n), c->p);
	return -1;
}

static int parse_held(struct cursor *c)
{
	size_t at = parse_at(c);
	int a = parse_cmp(c), t;

	while (a >= 0 && parse_take(c, "for")) {
		if (!want_truth(c, a))
			return -1;
		if (c->agg) {
			parse_fail(c, at,
				   "nothing is remembered of each object of a quantifier; 'for' is not possible in it");
			return -1;
		}
		c->unit = UNIT_TIME;
		t = parse_atom_deeper(c);
		c->unit = UNIT_COUNT;
		if (t < 0)
			return -1;
		if (c->x->n[t].op != AST_NUMBER ||
		    c->x->n[t].unit != UNIT_TIME) {
			parse_fail(c, c->x->n[t].at,
				   "after 'for' comes %s",
				   units_describe(UNIT_TIME));
			return -1;
		}
		a = node(c, AST_FOR, at, a, -1);
		if (a < 0)
			return -1;
		c->x->n[a].v = c->x->n[t].v;
		c->x->n[a].truth = true;
	}
	return a;
}

static int parse_not(struct cursor *c)
{
	size_t at = parse_at(c);
	int a;

	if (!parse_take(c, "not"))
		return parse_held(c);
	if (++c->depth > EXPR_DEPTH) {
		parse_fail(c, at, "nested too deeply");
		return -1;
	}
	a = parse_not(c);
	c->depth--;
	if (a < 0 || !want_truth(c, a))
		return -1;
	a = node(c, AST_NOT, at, a, -1);
	if (a >= 0)
		c->x->n[a].truth = true;
	return a;
}

static int parse_and(struct cursor *c)
{
	size_t at = parse_at(c);
	int a = parse_not(c), b;

	while (a >= 0 && parse_take(c, "and")) {
		if (!want_truth(c, a))
			return -1;
		b = parse_not(c);
		if (b < 0 || !want_truth(c, b))
			return -1;
		a = node(c, AST_AND, at, a, b);
		if (a >= 0)
			c->x->n[a].truth = true;
	}
	return a;
}

int parse_or(struct cursor *c)
{
	size_t at = parse_at(c);
	int a = parse_and(c), b;

	while (a >= 0 && parse_take(c, "or")) {
		if (!want_truth(c, a))
			return -1;
		b = parse_and(c);
		if (b < 0 || !want_truth(c, b))
			return -1;
		a = node(c, AST_OR, at, a, b);
		if (a >= 0)
			c->x->n[a].truth = true;
	}
	return a;
}

bool expr_state(const char *s, const struct criteria *cr, struct expr *x,
		int *root, struct expr_error *e)
{
	struct cursor c = { .text = s, .p = s, .e = e, .x = x };
	size_t n = 0;

	memset(x, 0, offsetof(struct expr, n));
	x->count = 0;
	x->signals = 0;
	x->text = s;
	x->criteria = cr;
	parse_skip(&c);
	if (!*c.p)
		return parse_fail(&c, 0,
				  "an empty state; write for instance 'port.util > 80%%'");
	*root = parse_or(&c);
	if (*root < 0)
		return false;
	if (*c.p) {
		while (c.p[n] && !parse_blank(c.p[n]))
			n++;
		if (*c.p == '&' || *c.p == '|')
			return parse_fail(&c, parse_at(&c),
					  "'%.*s' is not understood; write '%s'",
					  parse_shown(n), c.p,
					  *c.p == '&' ? "and" : "or");
		return parse_fail(&c, parse_at(&c),
				  "'%.*s' is not understood here; states are joined by 'and' and 'or'",
				  parse_shown(n), c.p);
	}
	return want_truth(&c, *root);
}
