// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads words of an expression, and builds nodes of its tree. */
#include "policy/cursor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/diag.h"

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

bool parse_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool parse_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t parse_word(const struct cursor *c)
{
	const char *p = c->p;
	bool dot = false;
	size_t n = 0;

	if (!parse_letter(*p))
		return 0;
	for (;; n++) {
		dot |= p[n] == '.';
		/* "best-effort" is one word; "job.qps-1" is a sum without blanks. */
		if (p[n] == '-' && (dot || !parse_letter(p[n + 1])))
			return n;
		if (!parse_letter(p[n]) && !parse_digit(p[n]) && p[n] != '.' &&
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

const char *expr_unit_noun(enum unit unit)
{
	static const char *const nouns[] = {
		[UNIT_COUNT] = "a plain number", [UNIT_TIME] = "a time",
		[UNIT_BITRATE] = "a speed", [UNIT_RATE] = "a rate",
		[UNIT_RATIO] = "a ratio", [UNIT_ID] = "a plain number",
		[UNIT_CLASS] = "a class", [UNIT_STATE] = "a state",
		[UNIT_TYPE] = "a type", [UNIT_BYTES] = "a size",
		[UNIT_PLACE] = "a place", [UNIT_SWITCH] = "yes or no",
		[UNIT_UAR] = "a UAR",
	};

	return nouns[unit];
}

/* --- The tree --------------------------------------------------------------- */

static const char *pick_signal(size_t i, const void *arg)
{
	const struct criteria *cr = arg;

	if (i < SIGNALS)
		return vocab_signals[i].name;
	i -= SIGNALS;
	return cr && i < cr->n ? cr->v[i].name : NULL;
}

void expr_begin(struct expr *x, const char *text, const struct criteria *cr)
{
	x->text = text;
	x->criteria = cr;
	x->count = 0;
	x->signals = 0;
}

int parse_node(struct cursor *c, enum ast_op op, size_t at, int a, int b)
{
	struct expr *x = c->x;
	struct ast *n;

	if (x->count == EXPR_NODES)
		return parse_error(c, at, "too long; split it into several policies");
	n = &x->n[x->count];
	*n = (struct ast){
		.op = op, .truth = op >= AST_CMP, .a = a, .b = b, .at = at, .end = parse_at(c),
	};
	if (a >= 0)
		n->reads |= x->n[a].reads;
	if (b >= 0)
		n->reads |= x->n[b].reads;
	return x->count++;
}

int parse_what(const struct cursor *c, const struct ast *n, const char **s)
{
	size_t len = n->end - n->at;

	*s = c->text + n->at;
	while (len && parse_blank((*s)[len - 1]))
		len--;
	return parse_shown(len);
}

bool parse_want_number(struct cursor *c, int i)
{
	const struct ast *n = &c->x->n[i];
	const char *s;
	int len = parse_what(c, n, &s);

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

bool parse_want_truth(struct cursor *c, int i)
{
	const struct ast *n = &c->x->n[i];
	const char *s;
	int len;

	if (n->truth)
		return true;
	if (n->op == AST_WORD)
		return parse_want_number(c, i);
	len = parse_what(c, n, &s);
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
