/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the readers of expressions, numbers and actions share. */
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
bool parse_letter(char c);
bool parse_digit(char c);

/* The tree: of two nodes or none (-1) a new one, from @at to here. */
int parse_node(struct cursor *c, enum ast_op op, size_t at, int a, int b);
/* How a node is written, "port.util", for messages: its shown length. */
int parse_what(const struct cursor *c, const struct ast *n, const char **s);
/* False: it is something else, and the error says what. */
bool parse_want_number(struct cursor *c, int i);
bool parse_want_truth(struct cursor *c, int i);

/* number.c, expr.c: a node, or -1 with the error told. */
int parse_sum(struct cursor *c);
int parse_or(struct cursor *c);
int parse_atom(struct cursor *c);
int parse_deeper(struct cursor *c, int (*parse)(struct cursor *c));
/* A count or a ratio: what both can be calculated with. */
bool parse_dimensionless(enum unit u);

#endif /* SRDMA_POLICY_PARSE_H */
