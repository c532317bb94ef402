/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The language inside a policy's strings: states ("port.util > 80% and job.p99
 * rising"), actions ("job.level += 1, job.weight += 1") and bindings ("job of
 * class latency"). The parser builds a small tree and checks types and units on the
 * way; compile.c makes programs of the tree.
 */
#ifndef SRDMA_POLICY_EXPR_H
#define SRDMA_POLICY_EXPR_H

#include "core/policy.h"
#include "policy/criteria.h"

#define EXPR_NODES	192
#define EXPR_DEPTH	24	/* parentheses */

struct expr_error {
	size_t at;		/* offset in the text */
	char msg[288];
};

enum ast_op {
	AST_NUMBER,
	AST_SIGNAL,
	AST_WORD,	/* "latency": a value of the unit it is compared with */
	AST_AGG,	/* .a: value, .b: where; -1: none */
	AST_ADD,
	AST_SUB,
	AST_MUL,
	AST_DIV,
	AST_NEG,
	AST_CMP,	/* from here on: truths; the others are numbers */
	AST_AND,
	AST_OR,
	AST_NOT,
	AST_RISING,
	AST_FALLING,
	AST_FOR,	/* .v: ns */
};

struct ast {
	enum ast_op op;
	bool truth;		/* false: a number, of .unit */
	bool plain;		/* a single signal or constant, which has a unit of its own */
	enum unit unit;
	unsigned int arg;	/* enum cmp, enum agg_op, enum signal_id */
	double v;
	int a, b;
	enum obj_kind of, on;
	unsigned int reads;	/* bit per kind of object */
	size_t at, end;		/* offsets in the text */
};

struct expr {
	const char *text;
	const struct criteria *criteria;
	struct ast n[EXPR_NODES];
	int count;
	uint64_t signals;	/* bit per signal that it reads */
};

/* All expr_* parse @s; false: @e has the error. *@root: the node of the whole state. */
bool expr_state(const char *s, const struct criteria *c, struct expr *x,
		int *root, struct expr_error *e);

/* One action, with the expression of its value, if any. */
struct action {
	struct step step;
	int value;		/* node; -1: a constant, .step.n */
	size_t at;
};

bool expr_action(const char *s, const struct criteria *c, struct expr *x,
		 struct action *out, unsigned int *n, struct expr_error *e);
bool expr_binding(const char *s, struct policy *p, struct expr_error *e);
/* Reads a constant of @unit, or one of its words. */
bool expr_value(const char *s, size_t n, enum unit unit, double *v,
		struct expr_error *e);

/* A quantity of this unit, in messages: "a time". */
const char *expr_unit_noun(enum unit unit);

enum compile_how {
	COMPILE_STATE,
	COMPILE_CONTRARY,	/* the negation of the state */
};

/*
 * compile.c: appends the state to @p. False, with an error, also if there is no memory
 * or no room.
 */
bool compile_state(struct prog *p, const struct expr *x, int root,
		   enum compile_how how, struct cond *out,
		   struct expr_error *e);
bool compile_number(struct prog *p, const struct expr *x, int root,
		    struct prog_code *out, struct expr_error *e);

/**
 * states_overlap - true: two states can be true for the same readings
 * @p: the program of both
 * @a: a state
 * @b: another state
 * @touch: out: they cannot both be true, but no value lies between them (> 80 %, <= 80 %)
 * @sure: out: both consist only of comparisons of signals with constants
 */
bool states_overlap(const struct prog *p, const struct cond *a,
		    const struct cond *b, bool *touch, bool *sure);
/* True: the state can be true for some readings. */
bool state_possible(const struct prog *p, const struct cond *c);
/* True: it can be true for readings in the range of their signals: ratios to 100 %, levels to 7. */
bool state_in_range(const struct prog *p, const struct cond *c);

#endif /* SRDMA_POLICY_EXPR_H */
