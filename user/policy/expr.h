/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The language inside a policy's strings: states ("port.util > 80% and job.p99
 * rising"), actions ("job.level += 1, job.weight += 1") and bindings ("job of
 * class latency"). Read into a small tree whose types and units are checked
 * while it grows; compile.c makes programs of it.
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
	AST_WORD,	/* "latency": a value once it is known of what */
	AST_AGG,	/* .a: value, .b: where; -1: none */
	AST_ADD,
	AST_SUB,
	AST_MUL,
	AST_DIV,
	AST_NEG,
	AST_CMP,
	AST_AND,
	AST_OR,
	AST_NOT,
	AST_RISING,
	AST_FALLING,
	AST_FOR,	/* .v: ns */
};

struct ast {
	enum ast_op op;
	bool truth;		/* else a number, of .unit */
	bool plain;		/* a signal or a constant as such: its unit is meant */
	enum unit unit;
	unsigned int arg;	/* enum cmp, enum agg_op, enum signal_id */
	double v;
	int a, b;
	enum obj_kind of, on;
	unsigned int reads;	/* bit per kind of object */
	size_t at, end;		/* where it stands */
};

struct expr {
	const char *text;
	const struct criteria *criteria;
	struct ast n[EXPR_NODES];
	int count;
	uint64_t signals;	/* bit per signal it reads */
};

/* All return false with @e filled in. A state's root is the return value's node. */
bool expr_state(const char *s, const struct criteria *c, struct expr *x,
		int *root, struct expr_error *e);

/* One action: what is to be done, and, if it is worked out, from what. */
struct action {
	struct step step;
	int value;		/* node; -1: .step.n is it */
	size_t at;
};

bool expr_action(const char *s, const struct criteria *c, struct expr *x,
		 struct action *out, unsigned int *n, struct expr_error *e);
bool expr_binding(const char *s, struct policy *p, struct expr_error *e);
/* A constant that must have @unit; words where the unit has them. */
bool expr_value(const char *s, size_t n, enum unit unit, double *v,
		struct expr_error *e);

/* "a time": what a quantity of this unit is called. */
const char *expr_unit_noun(enum unit unit);

enum compile_how {
	COMPILE_ASK,
	COMPILE_TELL,		/* for truth_at() and words, not for truth_some() */
	COMPILE_CONTRARY,	/* of the state, to be asked */
};

/*
 * compile.c: into @p, after what it has. Also false if there is no memory, or
 * no room.
 */
bool compile_state(struct prog *p, const struct expr *x, int root,
		   enum compile_how how, struct cond *out,
		   struct expr_error *e);
bool compile_number(struct prog *p, const struct expr *x, int root,
		    struct prog_code *out, struct expr_error *e);

/**
 * states_overlap - can both hold for the same readings?
 * @p: has their code
 * @a: one
 * @b: the other
 * @touch: out: they cannot, but only a single value apart (> 80 %, <= 80 %)
 * @sure: out: nothing but comparisons of signals with constants went into it
 */
bool states_overlap(const struct prog *p, const struct cond *a,
		    const struct cond *b, bool *touch, bool *sure);
/* Can it be true at all? */
bool state_possible(const struct prog *p, const struct cond *c);
/* And for readings that there can be: ratios up to 100 %, levels up to 7? */
bool state_in_range(const struct prog *p, const struct cond *c);

#endif /* SRDMA_POLICY_EXPR_H */
