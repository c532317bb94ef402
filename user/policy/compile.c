// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A checked tree becomes terms of atoms, and each atom a straight line of
 * instructions. "not" goes down to the atoms and "or" comes up to the top; in
 * three-valued logic both are as sound as in that of two values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/expr.h"
#include "policy/report.h"

#define TERMS_MAX	16	/* alternatives of one state */
#define LITERALS_MAX	32	/* atoms of one alternative */

struct literal {
	int node;
	bool not;
};

struct alternatives {
	struct literal v[TERMS_MAX][LITERALS_MAX];
	unsigned int n[TERMS_MAX];
	unsigned int count;
};

struct compiler {
	struct prog *p;
	const struct expr *x;
	struct expr_error *e;
};

static bool fail(struct compiler *c, size_t at, const char *msg)
{
	c->e->at = at;
	snprintf(c->e->msg, sizeof(c->e->msg), "%s", msg);
	return false;
}

/* Room for one more: arrays are as long as the next power of two. */
static void *more(struct compiler *c, void *array, uint32_t n, size_t size)
{
	void **p = array;
	void *q;

	if (n & (n - 1))
		return *p;
	q = realloc(*p, (n ? 2 * (size_t)n : 1) * size);
	if (!q) {
		fail(c, 0, "out of memory");
		return NULL;
	}
	*p = q;
	return q;
}

static bool full(struct compiler *c, uint32_t n)
{
	if (n < PROG_CODE)
		return false;
	fail(c, 0, "the policies are too long together; split up the file");
	return true;
}

static bool emit(struct compiler *c, enum prog_op op, unsigned int mem,
		 unsigned int arg)
{
	struct prog *p = c->p;

	if (full(c, p->n_ins) || !more(c, &p->ins, p->n_ins, sizeof(*p->ins)))
		return false;
	p->ins[p->n_ins++] = (struct prog_ins){
		.op = (uint8_t)op, .mem = (uint8_t)mem, .arg = (uint16_t)arg,
	};
	return true;
}

static bool constant(struct compiler *c, double v, unsigned int *which)
{
	struct prog *p = c->p;
	uint32_t i;

	for (i = 0; i < p->n_k; i++)
		if (p->k[i] == v) {
			*which = i;
			return true;
		}
	if (full(c, p->n_k) || !more(c, &p->k, p->n_k, sizeof(*p->k)))
		return false;
	*which = p->n_k;
	p->k[p->n_k++] = v;
	return true;
}

static bool emit_constant(struct compiler *c, double v)
{
	unsigned int which;

	return constant(c, v, &which) && emit(c, PROG_CONST, 0, which);
}

static bool remember(struct compiler *c, const struct ast *n,
		     enum obj_kind kind, unsigned int *mem)
{
	if (c->p->n_mem[kind] == PROG_MEM)
		return fail(c, n->at,
			    "too many of rising, falling and for in one file");
	*mem = c->p->n_mem[kind]++;
	return true;
}

static bool emit_node(struct compiler *c, int i, enum obj_kind kind);

static bool same_code(const struct prog *p, struct prog_code a,
		      struct prog_code b)
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
	       same_code(p, a->value, b->value) &&
	       same_code(p, a->where, b->where);
}

static bool add_agg(struct compiler *c, const struct ast *n,
		    unsigned int *which)
{
	struct prog *p = c->p;
	struct prog_agg *a, agg = {
		.op = (uint8_t)n->arg, .of = (uint8_t)n->of,
		.on = (uint8_t)n->on,
	};
	uint32_t begin = p->n_ins, first = begin;

	if (n->a >= 0) {
		agg.reads |= (uint8_t)c->x->n[n->a].reads;
		if (!emit_node(c, n->a, n->of))
			return false;
		agg.value.first = (uint16_t)first;
		agg.value.n = (uint16_t)(p->n_ins - first);
	}
	first = p->n_ins;
	if (n->b >= 0) {
		agg.reads |= (uint8_t)c->x->n[n->b].reads;
		if (!emit_node(c, n->b, n->of))
			return false;
		agg.where.first = (uint16_t)first;
		agg.where.n = (uint16_t)(p->n_ins - first);
	}
	for (*which = 0; *which < p->n_aggs; (*which)++)
		if (same_agg(p, &p->aggs[*which], &agg)) {
			p->n_ins = begin;
			return true;
		}
	if (p->n_aggs == PROG_AGGS)
		return fail(c, n->at, "too many quantifiers in one file");
	a = more(c, &p->aggs, p->n_aggs, sizeof(*p->aggs));
	if (!a)
		return false;
	*which = p->n_aggs;
	p->aggs[p->n_aggs++] = agg;
	return true;
}

/* Times are in ns and rates in 1/s: their product is not a number yet. */
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
	return by == 1 || (emit_constant(c, by) && emit(c, PROG_MUL, 0, 0));
}

static bool emit_memory(struct compiler *c, const struct ast *n,
			enum obj_kind kind)
{
	unsigned int mem, k = 0;

	if (!remember(c, n, kind, &mem))
		return false;
	if (n->op == AST_FOR && !constant(c, n->v, &k))
		return false;
	return emit(c, n->op == AST_FOR ? PROG_HELD :
		       n->op == AST_RISING ? PROG_RISING : PROG_FALLING,
		    mem, k);
}

static bool emit_node(struct compiler *c, int i, enum obj_kind kind)
{
	const struct ast *n = &c->x->n[i];

	switch (n->op) {
	case AST_AGG:
		return emit(c, PROG_AGG, 0, (unsigned int)n->v - 1);
	case AST_NUMBER:
		return emit_constant(c, n->v);
	case AST_SIGNAL:
		return emit(c, PROG_SIGNAL, 0, n->arg);
	case AST_WORD:
		return fail(c, n->at, "not understood");
	default:
		break;
	}
	if (!emit_node(c, n->a, kind))
		return false;
	if (n->b >= 0 && !emit_node(c, n->b, kind))
		return false;
	switch (n->op) {
	case AST_ADD:
		return emit(c, PROG_ADD, 0, 0);
	case AST_SUB:
		return emit(c, PROG_SUB, 0, 0);
	case AST_MUL:
		return emit(c, PROG_MUL, 0, 0) && emit_scale(c, n);
	case AST_DIV:
		return emit(c, PROG_DIV, 0, 0) && emit_scale(c, n);
	case AST_NEG:
		return emit(c, PROG_NEG, 0, 0);
	case AST_CMP:
		return emit(c, PROG_CMP, 0, n->arg);
	case AST_AND:
		return emit(c, PROG_AND, 0, 0);
	case AST_OR:
		return emit(c, PROG_OR, 0, 0);
	case AST_NOT:
		return emit(c, PROG_NOT, 0, 0);
	default:
		return emit_memory(c, n, kind);
	}
}

/* A copy of the tree, in which each quantifier has become its number. */
static bool hoist(struct compiler *c, struct expr *to, int i)
{
	unsigned int which = 0;
	struct ast *n;

	if (i < 0)
		return true;
	n = &to->n[i];
	if (n->op != AST_AGG)
		return hoist(c, to, n->a) && hoist(c, to, n->b);
	if (n->v != 0)
		return true;
	if (!add_agg(c, n, &which))
		return false;
	/* .v: 1 + which; a quantifier is asked for by that from here on. */
	n->v = 1 + which;
	return true;
}

/* --- Atoms -------------------------------------------------------------------- */

/* The object that everything read belongs to. */
static enum obj_kind finest(unsigned int reads)
{
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		if (reads == 1u << k)
			return k;
	if (!(reads & ~prog_sees(OBJ_PORT)))
		return OBJ_PORT;
	if (!(reads & ~prog_sees(OBJ_UAR)))
		return OBJ_UAR;
	return OBJ_QP;
}

static const enum cmp contrary[] = {
	[CMP_GT] = CMP_LE, [CMP_GE] = CMP_LT, [CMP_LT] = CMP_GE,
	[CMP_LE] = CMP_GT, [CMP_EQ] = CMP_NE, [CMP_NE] = CMP_EQ,
};

static const enum cmp mirrored[] = {
	[CMP_GT] = CMP_LT, [CMP_GE] = CMP_LE, [CMP_LT] = CMP_GT,
	[CMP_LE] = CMP_GE, [CMP_EQ] = CMP_EQ, [CMP_NE] = CMP_NE,
};

/* `signal cmp constant`, whichever way round it was written. */
static bool simple(const struct expr *x, const struct literal *l,
		   struct prog_atom *a)
{
	const struct ast *n = &x->n[l->node], *s, *k;
	enum cmp cmp = n->arg;

	if (n->op != AST_CMP)
		return false;
	s = &x->n[n->a];
	k = &x->n[n->b];
	if (s->op == AST_NUMBER) {
		const struct ast *t = s;

		s = k;
		k = t;
		cmp = mirrored[cmp];
	}
	if (s->op != AST_SIGNAL || k->op != AST_NUMBER)
		return false;
	a->simple = true;
	a->sig = (uint16_t)s->arg;
	a->cmp = (uint8_t)(l->not ? contrary[cmp] : cmp);
	a->value = k->v;
	return true;
}

static bool keep_text(struct compiler *c, const char *s, size_t n)
{
	struct prog *p = c->p;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!more(c, &p->text, p->n_text, 1))
			return false;
		p->text[p->n_text++] = s[i] == '\n' ? ' ' : s[i];
	}
	return true;
}

static bool text_of(struct compiler *c, const struct literal *l,
		    struct prog_atom *a)
{
	const struct ast *n = &c->x->n[l->node];
	size_t end = n->end;

	while (end > n->at && strchr(" \t\n", c->x->text[end - 1]))
		end--;
	a->text = c->p->n_text;
	if (l->not && !keep_text(c, "not ", 4))
		return false;
	if (!keep_text(c, c->x->text + n->at, end - n->at))
		return false;
	a->text_len = c->p->n_text - a->text;
	return true;
}

static int twin(const struct prog *p, const struct prog_atom *a)
{
	const struct prog_atom *o = p->atoms[a->kind];
	uint32_t i;

	for (i = 0; i < p->n_atoms[a->kind]; i++, o++) {
		if (o->simple != a->simple)
			continue;
		if (a->simple ? o->sig == a->sig && o->cmp == a->cmp &&
				o->value == a->value :
				same_code(p, o->code, a->code))
			return (int)i;
	}
	return -1;
}

static bool add_atom(struct compiler *c, const struct literal *l,
		     struct prog_term *term, uint8_t *kinds)
{
	const struct ast *n = &c->x->n[l->node];
	enum obj_kind kind = finest(n->reads);
	struct prog_atom a = {
		.kind = (uint8_t)kind,
		.others = (uint8_t)(n->reads & ~(1u << kind)),
	};
	struct prog *p = c->p;
	uint32_t first = p->n_ins, mem = p->n_mem[kind], text = p->n_text;
	struct prog_atom *to;
	int at;

	simple(c->x, l, &a);
	if (!text_of(c, l, &a) || !emit_node(c, l->node, kind) ||
	    (l->not && !emit(c, PROG_NOT, 0, 0)))
		return false;
	a.code.first = (uint16_t)first;
	a.code.n = (uint16_t)(p->n_ins - first);
	at = twin(p, &a);
	if (at >= 0) {
		/* It is there already: its code is as good as ours. */
		p->n_ins = first;
		p->n_mem[kind] = mem;
		p->n_text = text;
	} else {
		if (p->n_atoms[kind] == PROG_ATOMS)
			return fail(c, n->at,
				    "more than 64 different conditions on one kind of object; split up the file");
		to = more(c, &p->atoms[kind], p->n_atoms[kind], sizeof(*to));
		if (!to)
			return false;
		at = (int)p->n_atoms[kind]++;
		p->atoms[kind][at] = a;
	}
	term->need[kind] |= 1ULL << at;
	*kinds |= (uint8_t)(1u << kind | a.others);
	return true;
}

/* --- Alternatives --------------------------------------------------------------- */

static bool too_many(struct compiler *c, int node)
{
	return fail(c, c->x->n[node].at,
		    "too many alternatives; make several policies of it");
}

static bool cross(struct compiler *c, int node, const struct alternatives *a,
		  const struct alternatives *b, struct alternatives *out)
{
	unsigned int i, k;

	out->count = 0;
	for (i = 0; i < a->count; i++)
		for (k = 0; k < b->count; k++) {
			struct literal *to = out->v[out->count];

			if (out->count == TERMS_MAX ||
			    a->n[i] + b->n[k] > LITERALS_MAX)
				return too_many(c, node);
			memcpy(to, a->v[i], a->n[i] * sizeof(*to));
			memcpy(to + a->n[i], b->v[k], b->n[k] * sizeof(*to));
			out->n[out->count++] = a->n[i] + b->n[k];
		}
	return true;
}

static bool join(struct compiler *c, int node, const struct alternatives *a,
		 const struct alternatives *b, struct alternatives *out)
{
	if (a->count + b->count > TERMS_MAX)
		return too_many(c, node);
	*out = *a;
	memcpy(out->v[out->count], b->v, b->count * sizeof(b->v[0]));
	memcpy(out->n + out->count, b->n, b->count * sizeof(b->n[0]));
	out->count += b->count;
	return true;
}

static bool alternatives(struct compiler *c, int node, bool not,
			 struct alternatives *out)
{
	const struct ast *n = &c->x->n[node];
	struct alternatives *ab;
	bool ok;

	if (n->op == AST_NOT)
		return alternatives(c, n->a, !not, out);
	if (n->op != AST_AND && n->op != AST_OR) {
		out->count = 1;
		out->n[0] = 1;
		out->v[0][0] = (struct literal){ node, not };
		return true;
	}
	ab = malloc(2 * sizeof(*ab));
	if (!ab)
		return fail(c, 0, "out of memory");
	ok = alternatives(c, n->a, not, &ab[0]) &&
	     alternatives(c, n->b, not, &ab[1]) &&
	     ((n->op == AST_AND) != not ?
	      cross(c, node, &ab[0], &ab[1], out) :
	      join(c, node, &ab[0], &ab[1], out));
	free(ab);
	return ok;
}

static bool add_term(struct compiler *c, const struct literal *v,
		     unsigned int n, uint8_t *kinds)
{
	struct prog_term term = { .asked = PROG_UNASKED };
	struct prog *p = c->p;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!add_atom(c, &v[i], &term, kinds))
			return false;
	if (full(c, p->n_terms) ||
	    !more(c, &p->terms, p->n_terms, sizeof(*p->terms)))
		return false;
	p->terms[p->n_terms++] = term;
	return true;
}

/* Once it is known that the state looks at QPs at all. */
static bool ask_of_qps(struct compiler *c, struct cond *out)
{
	struct prog *p = c->p;
	uint32_t i;

	if (!(out->kinds & (1u << OBJ_QP | 1u << OBJ_UAR)))
		return true;
	for (i = 0; i < out->terms.n; i++) {
		uint32_t t = out->terms.first + i;

		if (!more(c, &p->asked, p->n_asked, sizeof(*p->asked)))
			return false;
		p->terms[t].asked = (uint16_t)p->n_asked;
		p->asked[p->n_asked++] = (uint16_t)t;
	}
	return true;
}

/* The program as it was, in what the arrays hold. */
static void roll_back(struct prog *p, const struct prog *was)
{
	unsigned int k;

	p->n_ins = was->n_ins;
	p->n_k = was->n_k;
	p->n_terms = was->n_terms;
	p->n_aggs = was->n_aggs;
	p->n_text = was->n_text;
	p->n_asked = was->n_asked;
	for (k = 0; k < OBJ_KINDS; k++) {
		p->n_atoms[k] = was->n_atoms[k];
		p->n_mem[k] = was->n_mem[k];
	}
}

bool compile_state(struct prog *p, const struct expr *x, int root,
		   enum compile_how how, struct cond *out,
		   struct expr_error *e)
{
	struct expr *own = malloc(sizeof(*own));
	struct alternatives *alt = malloc(sizeof(*alt));
	struct compiler c = { .p = p, .x = x, .e = e };
	struct prog was = *p;
	unsigned int i;
	bool ok = false;

	memset(out, 0, sizeof(*out));
	if (!own || !alt) {
		fail(&c, 0, "out of memory");
		goto done;
	}
	*own = *x;
	for (i = 0; i < (unsigned int)own->count; i++)
		if (own->n[i].op == AST_AGG)
			own->n[i].v = 0;
	if (!hoist(&c, own, root))
		goto done;
	c.x = own;
	if (!alternatives(&c, root, how == COMPILE_CONTRARY, alt))
		goto done;
	out->terms.first = (uint16_t)p->n_terms;
	for (i = 0; i < alt->count; i++)
		if (!add_term(&c, alt->v[i], alt->n[i], &out->kinds))
			goto done;
	out->terms.n = (uint16_t)alt->count;
	ok = how == COMPILE_TELL || ask_of_qps(&c, out);
done:
	if (!ok)
		roll_back(p, &was);
	free(own);
	free(alt);
	return ok;
}

bool compile_number(struct prog *p, const struct expr *x, int root,
		    struct prog_code *out, struct expr_error *e)
{
	struct expr *own = malloc(sizeof(*own));
	struct compiler c = { .p = p, .x = x, .e = e };
	struct prog was = *p;
	bool ok;
	int i;

	if (!own)
		return fail(&c, 0, "out of memory");
	*own = *x;
	for (i = 0; i < own->count; i++)
		if (own->n[i].op == AST_AGG)
			own->n[i].v = 0;
	ok = hoist(&c, own, root);
	out->first = (uint16_t)p->n_ins;
	c.x = own;
	ok = ok && emit_node(&c, root, OBJ_QP);
	out->n = (uint16_t)(p->n_ins - out->first);
	if (!ok)
		roll_back(p, &was);
	free(own);
	return ok;
}

void prog_free(struct prog *p)
{
	unsigned int k;

	free(p->ins);
	free(p->k);
	free(p->terms);
	free(p->aggs);
	free(p->text);
	free(p->asked);
	for (k = 0; k < OBJ_KINDS; k++)
		free(p->atoms[k]);
	memset(p, 0, sizeof(*p));
}

static bool one_state(struct prog *p, struct expr *x, const char *s,
		      const struct criteria *cr, struct cond *c,
		      struct cond *not, struct expr_error *e)
{
	int root;

	return expr_state(s, cr, x, &root, e) &&
	       compile_state(p, x, root, not ? COMPILE_TELL : COMPILE_ASK, c,
			     e) &&
	       (!not || compile_state(p, x, root, COMPILE_CONTRARY, not, e));
}

bool compile_policy(struct prog *p, struct policy *pol, const char *who,
		    const char *when, const char *act, const char *undo,
		    struct expr_error *e)
{
	struct expr *x = malloc(sizeof(*x));
	struct action a[POLICY_STEPS];
	struct criteria cr;
	unsigned int i;
	bool ok;

	criteria_init(&cr);
	ok = x && expr_binding(who, pol, e) &&
	     one_state(p, x, when, &cr, &pol->when, NULL, e) &&
	     one_state(p, x, undo, &cr, &pol->undo_when, &pol->undo_not, e) &&
	     expr_action(act, &cr, x, a, &pol->n_act, e);
	for (i = 0; ok && i < pol->n_act; i++) {
		const struct vocab_knob *k = vocab_knob(a[i].step.knob);

		pol->act[i] = a[i].step;
		pol->act[i].floor = k->min;
		pol->act[i].ceiling = k->max;
		if (a[i].value >= 0)
			ok = compile_number(p, x, a[i].value,
					    &pol->act[i].expr, e);
	}
	free(x);
	return ok;
}
