// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Compiles a checked tree into terms of atoms, and each atom into instructions without
 * jumps. "not" is moved down to the atoms and "or" up to the top, which is as valid in
 * three-valued logic as in two-valued logic.
 */
#include "base/array.h"
#include "policy/codegen.h"

#include <stdlib.h>
#include <string.h>

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

/* --- Atoms -------------------------------------------------------------------- */

/* The kind of object from which the objects of all other kinds in @reads follow. */
static enum obj_kind finest_kind(unsigned int reads)
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

/* Marks the atom as simple if it is `signal cmp constant` or `constant cmp signal`. */
static void compile_simple(const struct expr *x, const struct literal *l,
			   struct prog_atom *a)
{
	const struct ast *n = &x->n[l->node], *s, *k;
	enum cmp cmp = n->arg;

	if (n->op != AST_CMP)
		return;
	s = &x->n[n->a];
	k = &x->n[n->b];
	if (s->op == AST_NUMBER) {
		array_swap(s, k);
		cmp = mirrored[cmp];
	}
	if (s->op != AST_SIGNAL || k->op != AST_NUMBER)
		return;
	a->simple = true;
	a->sig = (uint16_t)s->arg;
	a->cmp = (uint8_t)(l->not ? contrary[cmp] : cmp);
	a->value = k->v;
}

static bool keep_text(struct compiler *c, const char *s, size_t n)
{
	struct prog *p = c->p;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!code_more(c, &p->text, p->n_text, 1))
			return false;
		p->text[p->n_text++] = s[i] == '\n' ? ' ' : s[i];
	}
	return true;
}

static bool keep_bound(struct compiler *c, const struct prog_atom *a)
{
	char buf[64];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	text_add(&t, cmp_name(a->cmp), " ");
	vocab_format(&t, a->value, vocab_signals[a->sig].unit);
	return keep_text(c, buf, t.len);
}

static bool keep_source(struct compiler *c, const struct literal *l)
{
	const struct ast *n = &c->x->n[l->node];
	size_t end = n->end;

	while (end > n->at && strchr(" \t\n", c->x->text[end - 1]))
		end--;
	return (!l->not || keep_text(c, "not ", 4)) &&
	       keep_text(c, c->x->text + n->at, end - n->at);
}

/* Keeps the text of an atom, for reasons. */
static bool keep_atom_text(struct compiler *c, const struct literal *l, struct prog_atom *a)
{
	a->text = c->p->n_text;
	if (!(a->simple ? keep_bound(c, a) : keep_source(c, l)))
		return false;
	a->text_len = c->p->n_text - a->text;
	return true;
}

/* An atom that is equal to @a; -1: there is none. */
static int find_twin(const struct prog *p, const struct prog_atom *a)
{
	const struct prog_atom *o = p->atoms[a->kind];
	uint32_t i;

	for (i = 0; i < p->n_atoms[a->kind]; i++, o++) {
		if (o->simple != a->simple)
			continue;
		if (a->simple ? o->sig == a->sig && o->cmp == a->cmp &&
				o->value == a->value :
				code_same(p, o->code, a->code))
			return (int)i;
	}
	return -1;
}

static bool add_atom(struct compiler *c, const struct literal *l,
		     struct prog_term *term, uint8_t *kinds)
{
	const struct ast *n = &c->x->n[l->node];
	enum obj_kind kind = finest_kind(n->reads);
	struct prog_atom a = {
		.kind = (uint8_t)kind,
		.others = (uint8_t)(n->reads & ~(1u << kind)),
	};
	struct prog *p = c->p;
	uint32_t first = p->n_ins, mem = p->n_mem[kind], text = p->n_text;
	int at;

	compile_simple(c->x, l, &a);
	if (!keep_atom_text(c, l, &a) || !code_node(c, l->node, kind) ||
	    (l->not && !code_emit(c, PROG_NOT, 0, 0)))
		return false;
	a.code.first = (uint16_t)first;
	a.code.n = (uint16_t)(p->n_ins - first);
	at = find_twin(p, &a);
	if (at >= 0) {
		/* The code of the equal atom is used, and this code dropped. */
		p->n_ins = first;
		p->n_mem[kind] = mem;
		p->n_text = text;
	} else {
		if (p->n_atoms[kind] == PROG_ATOMS)
			return code_fail(c, n->at,
					 "more than 64 different conditions on one kind of object; split up the file");
		if (!code_more(c, &p->atoms[kind], p->n_atoms[kind], sizeof(a)))
			return false;
		at = (int)p->n_atoms[kind]++;
		p->atoms[kind][at] = a;
	}
	term->need[kind] |= 1ULL << at;
	*kinds |= (uint8_t)(1u << kind | a.others);
	return true;
}

/* --- Alternatives --------------------------------------------------------------- */

static bool fail_too_many(struct compiler *c, int node)
{
	return code_fail(c, c->x->n[node].at,
			 "too many alternatives; make several policies of it");
}

/* The alternatives of "a and b". */
static bool cross_alternatives(struct compiler *c, int node, const struct alternatives *a,
			       const struct alternatives *b, struct alternatives *out)
{
	unsigned int i, k;

	out->count = 0;
	for (i = 0; i < a->count; i++)
		for (k = 0; k < b->count; k++) {
			struct literal *to = out->v[out->count];

			if (out->count == TERMS_MAX ||
			    a->n[i] + b->n[k] > LITERALS_MAX)
				return fail_too_many(c, node);
			memcpy(to, a->v[i], a->n[i] * sizeof(*to));
			memcpy(to + a->n[i], b->v[k], b->n[k] * sizeof(*to));
			out->n[out->count++] = a->n[i] + b->n[k];
		}
	return true;
}

/* The alternatives of "a or b". */
static bool join_alternatives(struct compiler *c, int node, const struct alternatives *a,
			      const struct alternatives *b, struct alternatives *out)
{
	if (a->count + b->count > TERMS_MAX)
		return fail_too_many(c, node);
	*out = *a;
	memcpy(out->v[out->count], b->v, b->count * sizeof(b->v[0]));
	memcpy(out->n + out->count, b->n, b->count * sizeof(b->n[0]));
	out->count += b->count;
	return true;
}

/* The alternatives of a node, or, if @not, of its negation. */
static bool expand_node(struct compiler *c, int node, bool not, struct alternatives *out)
{
	const struct ast *n = &c->x->n[node];
	struct alternatives *ab;
	bool ok;

	if (n->op == AST_NOT)
		return expand_node(c, n->a, !not, out);
	if (n->op != AST_AND && n->op != AST_OR) {
		out->count = 1;
		out->n[0] = 1;
		out->v[0][0] = (struct literal){ node, not };
		return true;
	}
	ab = malloc(2 * sizeof(*ab));
	if (!ab)
		return code_fail(c, 0, "out of memory");
	ok = expand_node(c, n->a, not, &ab[0]) &&
	     expand_node(c, n->b, not, &ab[1]) &&
	     ((n->op == AST_AND) != not ?
	      cross_alternatives(c, node, &ab[0], &ab[1], out) :
	      join_alternatives(c, node, &ab[0], &ab[1], out));
	free(ab);
	return ok;
}

static bool add_term(struct compiler *c, const struct literal *v,
		     unsigned int n, uint8_t *kinds)
{
	struct prog_term term = { 0 };
	struct prog *p = c->p;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!add_atom(c, &v[i], &term, kinds))
			return false;
	if (code_full(c, p->n_terms) ||
	    !code_more(c, &p->terms, p->n_terms, sizeof(*p->terms)))
		return false;
	p->terms[p->n_terms++] = term;
	return true;
}

/* Restores the counts of @was. The arrays keep their size. */
static void roll_back(struct prog *p, const struct prog *was)
{
	unsigned int k;

	p->n_ins = was->n_ins;
	p->n_k = was->n_k;
	p->n_terms = was->n_terms;
	p->n_aggs = was->n_aggs;
	p->n_text = was->n_text;
	for (k = 0; k < OBJ_KINDS; k++) {
		p->n_atoms[k] = was->n_atoms[k];
		p->n_mem[k] = was->n_mem[k];
	}
}

/* A copy of the tree with quantifiers replaced by numbers. NULL, with an error. */
static struct expr *hoist_quantifiers(struct compiler *c, int root)
{
	struct expr *own = malloc(sizeof(*own));
	int i;

	if (!own) {
		code_fail(c, 0, "out of memory");
		return NULL;
	}
	*own = *c->x;
	for (i = 0; i < own->count; i++)
		if (own->n[i].op == AST_AGG)
			own->n[i].v = 0;
	if (code_hoist(c, own, root))
		return own;
	free(own);
	return NULL;
}

bool compile_state(struct prog *p, const struct expr *x, int root,
		   enum compile_how how, struct cond *out,
		   struct expr_error *e)
{
	struct alternatives *alt = malloc(sizeof(*alt));
	struct compiler c = { .p = p, .x = x, .e = e };
	struct expr *own = NULL;
	struct prog was = *p;
	unsigned int i;
	bool ok = false;

	memset(out, 0, sizeof(*out));
	if (!alt) {
		code_fail(&c, 0, "out of memory");
		goto done;
	}
	own = hoist_quantifiers(&c, root);
	if (!own)
		goto done;
	c.x = own;
	if (!expand_node(&c, root, how == COMPILE_CONTRARY, alt))
		goto done;
	out->terms.first = (uint16_t)p->n_terms;
	for (i = 0; i < alt->count; i++)
		if (!add_term(&c, alt->v[i], alt->n[i], &out->kinds))
			goto done;
	out->terms.n = (uint16_t)alt->count;
	ok = true;
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
	struct compiler c = { .p = p, .x = x, .e = e };
	struct prog was = *p;
	struct expr *own = hoist_quantifiers(&c, root);
	bool ok = false;

	out->first = (uint16_t)p->n_ins;
	if (own) {
		c.x = own;
		ok = code_node(&c, root, OBJ_QP);
	}
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
	for (k = 0; k < OBJ_KINDS; k++)
		free(p->atoms[k]);
	memset(p, 0, sizeof(*p));
}
