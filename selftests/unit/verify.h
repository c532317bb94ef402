/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Is a program what prog_run() takes for granted? The compiler makes no other: unit
 * tests and fuzzers hold its output against these rules.
 */
#ifndef SELFTESTS_UNIT_VERIFY_H
#define SELFTESTS_UNIT_VERIFY_H

#include "core/prog.h"


enum kind_of_value {
	IS_NUMBER,
	IS_TRUTH,
};

struct check {
	const struct prog *p;
	const char **why;
	unsigned int reads;	/* kinds of which an object is bound */
	enum obj_kind kind;	/* whose memory is used */
	bool memory, aggs;	/* whether it may be; whether these may be read */
	uint64_t used[OBJ_KINDS];	/* places of memory, a bit each */
	bool stack[PROG_STACK];
	unsigned int depth;
};

static inline bool no(const struct check *c, const char *why)
{
	*c->why = why;
	return false;
}

static inline bool push(struct check *c, enum kind_of_value what)
{
	if (c->depth == PROG_STACK)
		return no(c, "the stack overflows");
	c->stack[c->depth++] = what;
	return true;
}

static inline bool pop(struct check *c, enum kind_of_value what)
{
	if (!c->depth)
		return no(c, "the stack underflows");
	if (c->stack[--c->depth] != what)
		return no(c, "a number is taken for a truth, or a truth for a number");
	return true;
}

static inline bool binary(struct check *c, enum kind_of_value in,
		   enum kind_of_value out)
{
	return pop(c, in) && pop(c, in) && push(c, out);
}

static inline bool remember(struct check *c, uint8_t mem)
{
	if (!c->memory)
		return no(c, "memory where there is none");
	if (mem >= c->p->n_mem[c->kind] || mem >= PROG_MEM)
		return no(c, "no such place in memory");
	if (c->used[c->kind] & 1ULL << mem)
		return no(c, "two instructions use one place in memory");
	c->used[c->kind] |= 1ULL << mem;
	return true;
}

static inline bool check_ins(struct check *c, const struct prog_ins *in)
{
	switch (in->op) {
	case PROG_CONST:
		if (in->arg >= c->p->n_k)
			return no(c, "no such constant");
		return push(c, IS_NUMBER);
	case PROG_SIGNAL:
		if (in->arg >= SIGNALS)
			return no(c, "no such signal");
		if (!(c->reads & 1u << vocab_signals[in->arg].obj))
			return no(c, "a signal of an object that is not bound");
		return push(c, IS_NUMBER);
	case PROG_AGG:
		if (!c->aggs)
			return no(c, "an aggregate within an aggregate");
		if (in->arg >= c->p->n_aggs)
			return no(c, "no such aggregate");
		if (c->p->aggs[in->arg].on >= OBJ_KINDS ||
		    !(c->reads & 1u << c->p->aggs[in->arg].on))
			return no(c, "an aggregate of an object that is not bound");
		return push(c, IS_NUMBER);
	case PROG_ADD:
	case PROG_SUB:
	case PROG_MUL:
	case PROG_DIV:
		return binary(c, IS_NUMBER, IS_NUMBER);
	case PROG_NEG:
		return pop(c, IS_NUMBER) && push(c, IS_NUMBER);
	case PROG_CMP:
		if (in->arg > CMP_NE)
			return no(c, "no such comparison");
		return binary(c, IS_NUMBER, IS_TRUTH);
	case PROG_AND:
	case PROG_OR:
		return binary(c, IS_TRUTH, IS_TRUTH);
	case PROG_NOT:
		return pop(c, IS_TRUTH) && push(c, IS_TRUTH);
	case PROG_RISING:
	case PROG_FALLING:
		return remember(c, in->mem) && pop(c, IS_NUMBER) &&
		       push(c, IS_TRUTH);
	case PROG_HELD:
		if (in->arg >= c->p->n_k)
			return no(c, "no such constant");
		return remember(c, in->mem) && pop(c, IS_TRUTH) &&
		       push(c, IS_TRUTH);
	}
	return no(c, "no such instruction");
}

static inline bool check_code(struct check *c, struct prog_code code, bool truth)
{
	uint32_t i;

	if (!code.n || (uint32_t)code.first + code.n > c->p->n_ins)
		return no(c, "code that is not there");
	c->depth = 0;
	for (i = 0; i < code.n; i++)
		if (!check_ins(c, &c->p->ins[code.first + i]))
			return false;
	if (c->depth != 1)
		return no(c, "not one value is left");
	return pop(c, truth ? IS_TRUTH : IS_NUMBER);
}

static inline bool check_agg(struct check *c, const struct prog_agg *a)
{
	if (a->op > AGG_COUNT || a->of >= OBJ_KINDS || a->on >= OBJ_KINDS ||
	    !prog_has_members(a->on, a->of))
		return no(c, "an aggregate over what does not belong together");
	c->reads = prog_sees(a->of);
	c->memory = false;
	c->aggs = false;
	if (a->op == AGG_COUNT ? a->value.n : !check_code(c, a->value, false))
		return a->op == AGG_COUNT ?
		       no(c, "a count of a value, where objects are counted") :
		       false;
	return !a->where.n || check_code(c, a->where, true);
}

static inline bool check_atom(struct check *c, const struct prog_atom *a,
		       enum obj_kind kind)
{
	if (a->kind != kind)
		return no(c, "an atom among those of another kind");
	if (a->others & ~prog_sees(kind))
		return no(c, "an atom that reads too much");
	if (a->text > c->p->n_text || a->text_len > c->p->n_text - a->text)
		return no(c, "text that is not there");
	if (a->simple && (a->sig >= SIGNALS || a->cmp > CMP_NE ||
			  vocab_signals[a->sig].obj != kind))
		return no(c, "a comparison of something else");
	c->reads = 1u << kind | a->others;
	c->kind = kind;
	c->memory = true;
	c->aggs = true;
	return check_code(c, a->code, true);
}

/*
 * Everything an instruction names exists, the stack neither under- nor overflows,
 * numbers and truths are not confused, memory is used by one instruction only, an atom
 * reads only what belongs to its object, and an aggregate no other aggregate. *@why:
 * what is wrong, where it returns false.
 */
static inline bool prog_verify(const struct prog *p, const char **why)
{
	struct check c = { .p = p, .why = why };
	uint32_t i, o;

	for (o = 0; o < OBJ_KINDS; o++)
		if (p->n_atoms[o] > PROG_ATOMS || p->n_mem[o] > PROG_MEM)
			return no(&c, "more atoms, or memory, than an object has");
	if (p->n_ins > PROG_CODE || p->n_k > PROG_CODE ||
	    p->n_terms > PROG_CODE || p->n_aggs > PROG_AGGS)
		return no(&c, "too long");
	for (i = 0; i < p->n_aggs; i++)
		if (!check_agg(&c, &p->aggs[i]))
			return false;
	for (o = 0; o < OBJ_KINDS; o++)
		for (i = 0; i < p->n_atoms[o]; i++)
			if (!check_atom(&c, &p->atoms[o][i], o))
				return false;
	for (i = 0; i < p->n_terms; i++)
		for (o = 0; o < OBJ_KINDS; o++)
			if (p->n_atoms[o] < 64 &&
			    p->terms[i].need[o] >> p->n_atoms[o])
				return no(&c, "a term needs an atom that is not there");
	return true;
}

/* The same of one piece of code: is it a number, or a truth, of these objects? */
static inline bool prog_verify_code(const struct prog *p, struct prog_code code, bool truth,
		      unsigned int reads, const char **why)
{
	struct check c = { .p = p, .why = why, .reads = reads, .aggs = true };

	return check_code(&c, code, truth);
}

static inline bool prog_verify_cond(const struct prog *p, const struct cond *c,
		      const char **why)
{
	if ((uint32_t)c->terms.first + c->terms.n > p->n_terms) {
		*why = "a condition whose terms are not there";
		return false;
	}
	return true;
}

#endif /* SELFTESTS_UNIT_VERIFY_H */
