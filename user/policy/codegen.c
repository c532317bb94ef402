// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Compiles an expression into instructions without jumps. */
#include "policy/codegen.h"

#include <stdio.h>
#include <stdlib.h>

bool code_fail(struct compiler *c, size_t at, const char *msg)
{
	c->e->at = at;
	snprintf(c->e->msg, sizeof(c->e->msg), "%s", msg);
	return false;
}

/* The capacity is the count rounded up to a power of two, so it is not stored. */
void *code_more(struct compiler *c, void *array, uint32_t n, size_t size)
{
	void **p = array;
	void *q;

	if (n & (n - 1))
		return *p;
	q = realloc(*p, (n ? 2 * (size_t)n : 1) * size);
	if (!q) {
		code_fail(c, 0, "out of memory");
		return NULL;
	}
	*p = q;
	return q;
}

bool code_full(struct compiler *c, uint32_t n)
{
	if (n < PROG_CODE)
		return false;
	code_fail(c, 0, "the policies are too long together; split up the file");
	return true;
}

bool code_emit(struct compiler *c, enum prog_op op, unsigned int mem,
	       unsigned int arg)
{
	struct prog *p = c->p;

	if (code_full(c, p->n_ins) ||
	    !code_more(c, &p->ins, p->n_ins, sizeof(*p->ins)))
		return false;
	p->ins[p->n_ins++] = (struct prog_ins){
		.op = (uint8_t)op, .mem = (uint8_t)mem, .arg = (uint16_t)arg,
	};
	return true;
}

/* The place of a constant, which is added if it is new. */
static bool find_constant(struct compiler *c, double v, unsigned int *which)
{
	struct prog *p = c->p;
	uint32_t i;

	for (i = 0; i < p->n_k; i++)
		if (p->k[i] == v) {
			*which = i;
			return true;
		}
	if (code_full(c, p->n_k) || !code_more(c, &p->k, p->n_k, sizeof(*p->k)))
		return false;
	*which = p->n_k;
	p->k[p->n_k++] = v;
	return true;
}

static bool emit_constant(struct compiler *c, double v)
{
	unsigned int which;

	return find_constant(c, v, &which) && code_emit(c, PROG_CONST, 0, which);
}

static bool reserve_memory(struct compiler *c, const struct ast *n,
			   enum obj_kind kind, unsigned int *mem)
{
	if (c->p->n_mem[kind] == PROG_MEM)
		return code_fail(c, n->at,
				 "more than 64 of rising, falling and for on one kind of object; split up the file");
	*mem = c->p->n_mem[kind]++;
	return true;
}

bool code_same(const struct prog *p, struct prog_code a, struct prog_code b)
{
	uint32_t i;

	if (a.n != b.n)
		return false;
	for (i = 0; i < a.n; i++) {
		const struct prog_ins *x = &p->ins[a.first + i];
		const struct prog_ins *y = &p->ins[b.first + i];

		if (x->op != y->op || x->arg != y->arg)
			return false;
	}
	return true;
}

static bool same_agg(const struct prog *p, const struct prog_agg *a,
		     const struct prog_agg *b)
{
	return a->op == b->op && a->of == b->of && a->on == b->on &&
	       code_same(p, a->value, b->value) &&
	       code_same(p, a->where, b->where);
}

/* Emits the value or the condition of a quantifier over objects of kind @of; node -1: none. */
static bool emit_part(struct compiler *c, int node, enum obj_kind of,
		      struct prog_code *code)
{
	code->first = (uint16_t)c->p->n_ins;
	if (node < 0)
		return true;
	if (!code_node(c, node, of))
		return false;
	code->n = (uint16_t)(c->p->n_ins - code->first);
	return true;
}

/* Adds a quantifier, or finds an equal one. */
static bool add_agg(struct compiler *c, const struct ast *n, unsigned int *which)
{
	struct prog *p = c->p;
	struct prog_agg agg = {
		.op = (uint8_t)n->arg, .of = (uint8_t)n->of, .on = (uint8_t)n->on,
	};
	uint32_t begin = p->n_ins;

	if (!emit_part(c, n->a, n->of, &agg.value) ||
	    !emit_part(c, n->b, n->of, &agg.where))
		return false;
	for (*which = 0; *which < p->n_aggs; (*which)++)
		if (same_agg(p, &p->aggs[*which], &agg)) {
			p->n_ins = begin;
			return true;
		}
	if (p->n_aggs == PROG_AGGS)
		return code_fail(c, n->at,
				 "more than 64 different quantifiers; split up the file");
	if (!code_more(c, &p->aggs, p->n_aggs, sizeof(agg)))
		return false;
	*which = p->n_aggs;
	p->aggs[p->n_aggs++] = agg;
	return true;
}

/* Times are in ns and rates in 1/s, so their product has to be divided by 1e9. */
static bool emit_scale(struct compiler *c, const struct ast *n)
{
	enum unit a = c->x->n[n->a].unit, b = c->x->n[n->b].unit;
	double by = 1;

	if (n->op == AST_MUL && ((a == UNIT_RATE && b == UNIT_TIME) ||
				 (a == UNIT_TIME && b == UNIT_RATE)))
		by = 1e-9;
	if (n->op == AST_DIV && a == UNIT_COUNT &&
	    (b == UNIT_TIME || b == UNIT_RATE))
		by = 1e9;
	return by == 1 || (emit_constant(c, by) && code_emit(c, PROG_MUL, 0, 0));
}

/* Emits an instruction that remembers a number for each object. */
static bool emit_memory(struct compiler *c, const struct ast *n, enum obj_kind kind)
{
	unsigned int mem, k = 0;

	if (!reserve_memory(c, n, kind, &mem))
		return false;
	if (n->op == AST_FOR && !find_constant(c, n->v, &k))
		return false;
	return code_emit(c, n->op == AST_FOR ? PROG_HELD :
		       n->op == AST_RISING ? PROG_RISING : PROG_FALLING,
		    mem, k);
}

/* @depth: values on the stack when the node's code begins. */
static bool emit_node(struct compiler *c, int i, enum obj_kind kind, unsigned int depth)
{
	static const enum prog_op ops[] = {
		[AST_ADD] = PROG_ADD, [AST_SUB] = PROG_SUB, [AST_MUL] = PROG_MUL,
		[AST_DIV] = PROG_DIV, [AST_NEG] = PROG_NEG, [AST_CMP] = PROG_CMP,
		[AST_AND] = PROG_AND, [AST_OR] = PROG_OR, [AST_NOT] = PROG_NOT,
	};
	const struct ast *n = &c->x->n[i];

	/* A node pushes one value. A product or a quotient may push a scale factor on top of it. */
	if (depth + 1 + (n->op == AST_MUL || n->op == AST_DIV) > PROG_STACK)
		return code_fail(c, n->at, "nested too deeply");
	switch (n->op) {
	case AST_AGG:
		return code_emit(c, PROG_AGG, 0, (unsigned int)n->v - 1);
	case AST_NUMBER:
		return emit_constant(c, n->v);
	case AST_SIGNAL:
		return code_emit(c, PROG_SIGNAL, 0, n->arg);
	case AST_WORD:
		return code_fail(c, n->at, "not understood");
	default:
		break;
	}
	if (!emit_node(c, n->a, kind, depth))
		return false;
	if (n->b >= 0 && !emit_node(c, n->b, kind, depth + 1))
		return false;
	switch (n->op) {
	case AST_MUL:
	case AST_DIV:
		return code_emit(c, ops[n->op], 0, 0) && emit_scale(c, n);
	case AST_RISING:
	case AST_FALLING:
	case AST_FOR:
		return emit_memory(c, n, kind);
	default:
		return code_emit(c, ops[n->op], 0, n->op == AST_CMP ? n->arg : 0);
	}
}

bool code_node(struct compiler *c, int i, enum obj_kind kind)
{
	return emit_node(c, i, kind, 0);
}

bool code_hoist(struct compiler *c, struct expr *to, int i)
{
	unsigned int which = 0;
	struct ast *n;

	if (i < 0)
		return true;
	n = &to->n[i];
	if (n->op != AST_AGG)
		return code_hoist(c, to, n->a) && code_hoist(c, to, n->b);
	if (n->v != 0)
		return true;
	if (!add_agg(c, n, &which))
		return false;
	/* From here on .v refers to the quantifier, by its number plus 1. */
	n->v = 1 + which;
	return true;
}
