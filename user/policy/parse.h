/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the readers of expressions and of actions share. */
#ifndef SRDMA_POLICY_PARSE_H
#define SRDMA_POLICY_PARSE_H

#include "policy/expr.h"

struct cursor {
	const char *text, *p;
	struct expr_error *e;
	struct expr *x;
	unsigned int depth;
	bool agg;		/* within a quantifier */
	enum unit unit;		/* that a constant should have here */
};

bool parse_fail(struct cursor *c, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool parse_blank(char c);
void parse_skip(struct cursor *c);
size_t parse_at(const struct cursor *c);
/* Printable beginning of something that may be long. */
int parse_shown(size_t n);
/* Bytes of the word that begins here. */
size_t parse_word(const struct cursor *c);
bool parse_is(const struct cursor *c, const char *w);
/* Goes past it, and the blanks after it. */
bool parse_take(struct cursor *c, const char *w);

/* Node, or -1 with the error told. */
int parse_sum(struct cursor *c);
int parse_or(struct cursor *c);
int parse_atom_deeper(struct cursor *c);
int parse_or_deeper(struct cursor *c);

#endif /* SRDMA_POLICY_PARSE_H */
