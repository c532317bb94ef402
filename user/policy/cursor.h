/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A position in an expression, for the parsers of states, numbers and actions. */
#ifndef SRDMA_POLICY_CURSOR_H
#define SRDMA_POLICY_CURSOR_H

#include "policy/expr.h"

struct cursor {
	const char *text, *p;
	struct expr_error *e;
	struct expr *x;
	unsigned int depth;
	bool agg;		/* the cursor is within a quantifier */
	enum unit unit;		/* the unit that a constant should have */
};

/* Sets the error; false. */
bool parse_fail(struct cursor *c, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* As above, for functions that return a node. */
#define parse_error(...) (parse_fail(__VA_ARGS__), -1)
bool parse_blank(char c);
void parse_skip(struct cursor *c);
size_t parse_at(const struct cursor *c);
/* How many of @n bytes a message shows. */
int parse_shown(size_t n);
/* Length of the word at the cursor. */
size_t parse_word(const struct cursor *c);
bool parse_is(const struct cursor *c, const char *w);
/* Skips word @w and the blanks after it, if it is next. */
bool parse_take(struct cursor *c, const char *w);
bool parse_letter(char c);
bool parse_digit(char c);

/*
 * Adds a node for the text from @at to the cursor. @a, @b: its children, or -1. Returns the
 * node; -1, with an error: there are too many.
 */
int parse_node(struct cursor *c, enum ast_op op, size_t at, int a, int b);
/* The text of a node, for messages. Returns its shown length. */
int parse_what(const struct cursor *c, const struct ast *n, const char **s);
/* False, with an error: node @i is not a number, or not a truth. */
bool parse_want_number(struct cursor *c, int i);
bool parse_want_truth(struct cursor *c, int i);

/* Begins a new expression. */
void expr_begin(struct expr *x, const char *text, const struct criteria *cr);

/* expr_number.c, expr.c: return a node, or -1 with an error. */
int parse_sum(struct cursor *c);
int parse_or(struct cursor *c);
int parse_atom(struct cursor *c);
int parse_deeper(struct cursor *c, int (*parse)(struct cursor *c));
/* True: a count or a ratio, which arithmetic may mix. */
bool parse_dimensionless(enum unit u);

#endif /* SRDMA_POLICY_CURSOR_H */
