// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Allocates the arrays of struct truth, between ticks: evaluation never allocates. */
#include "core/truth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"

void truth_init(struct truth *t)
{
	memset(t, 0, sizeof(*t));
}

void truth_free(struct truth *t)
{
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++) {
		struct truth_rows *r = &t->rows[k];

		free(r->t);
		free(r->k);
		free(r->mem);
		free(r->key);
		free(r->work);
		free(r->again);
		free(r->stamp);
		free(t->needs[k]);
	}
	for (k = 0; k < PROG_AGGS; k++)
		free(t->agg[k]);
	free(t->agg_due);
	free(t->yes);
	free(t->no);
	free(t->pend);
	free(t->queue);
	free(t->n_yes);
	free(t->n_no);
	free(t->subscribed);
	free(t->touched);
	free(t->used);
	free(t->every);
	truth_init(t);
}

static bool reserve_rows(struct truth_rows *r, size_t n, uint32_t n_mem)
{
	return array_grow_columns(&r->cap, n, ARRAY_COLUMN(r->t), ARRAY_COLUMN(r->k),
				  ARRAY_WIDE_COLUMN(r->mem, n_mem), ARRAY_COLUMN(r->key),
				  ARRAY_COLUMN(r->work), ARRAY_COLUMN(r->again),
				  ARRAY_COLUMN(r->stamp));
}

static void clear_row(struct truth_rows *r, size_t row, uint32_t n_mem)
{
	uint32_t i;

	r->t[row] = 0;
	r->k[row] = 0;
	for (i = 0; i < n_mem; i++)
		r->mem[row * n_mem + i] = __builtin_nan("");
}

static void move_row(struct truth_rows *r, size_t to, size_t from, uint32_t n_mem)
{
	if (to == from)
		return;
	r->key[to] = r->key[from];
	r->t[to] = r->t[from];
	r->k[to] = r->k[from];
	memmove(r->mem + to * n_mem, r->mem + from * n_mem, n_mem * sizeof(*r->mem));
}

/*
 * Gives each row to the object that it is about in @now. Both tables are sorted by key, so two
 * passes in place suffice: a forward one, which drops the rows of objects that are gone, and a
 * backward one, which moves the others to their new places.
 */
static void match_rows(struct truth_rows *r, const struct signal_table *now, uint32_t n_mem)
{
	size_t i, o = 0, kept = 0;

	for (i = 0; i < r->n; i++)
		if (array_seek(now->n, o, SIGNAL_CMP_KEY(&now->key[o], &r->key[i])))
			move_row(r, kept++, i, n_mem);
	for (i = now->n; i > 0; i--) {
		if (kept && !SIGNAL_CMP_KEY(&now->key[i - 1], &r->key[kept - 1])) {
			move_row(r, i - 1, --kept, n_mem);
		} else {
			clear_row(r, i - 1, n_mem);
			r->key[i - 1] = now->key[i - 1];
		}
	}
	r->n = now->n;
	r->n_again = 0;
	r->n_work = 0;
}

/* True: the arrays are laid out for this program. */
static bool fits_program(const struct truth *t, const struct prog *p)
{
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		if (t->n_atoms[k] != p->n_atoms[k] ||
		    t->n_mem[k] != p->n_mem[k])
			return false;
	return t->n_asked == p->n_asked && t->n_aggs == p->n_aggs;
}

static int compare_columns(const void *a, const void *b)
{
	const struct truth_range *x = a, *y = b;

	return x->col != y->col ? x->col - y->col : x->bit - y->bit;
}

/* Makes a column of the ranges of each signal. */
static void find_columns(struct truth_rows *r)
{
	struct truth_column *c = NULL;
	unsigned int i;

	r->n_columns = 0;
	for (i = 0; i < r->n_ranges; i++) {
		const struct truth_range *g = &r->range[i];
		double v = g->lo > -HUGE_VAL ? g->lo : g->hi;

		if (!c || c->col != g->col) {
			c = &r->column[r->n_columns++];
			*c = (struct truth_column){
				.least = HUGE_VAL, .col = g->col, .first = (uint8_t)i,
			};
		}
		c->n++;
		c->bits |= 1ULL << g->bit;
		if ((g->lo > -HUGE_VAL) == g->not)
			c->low |= 1ULL << g->bit;
		if (v < c->least)
			c->least = v;
	}
}

/* Divides the atoms into ranges, sorted by signal, and those that need their program. */
static void sort_atoms(struct truth_rows *r, const struct prog *p, enum obj_kind kind)
{
	uint32_t i;

	r->n_ranges = 0;
	r->n_others = 0;
	for (i = 0; i < p->n_atoms[kind]; i++) {
		const struct prog_atom *a = &p->atoms[kind][i];
		struct truth_range *g = &r->range[r->n_ranges];

		if (!a->simple) {
			r->other[r->n_others++] = (uint8_t)i;
			continue;
		}
		g->col = (uint8_t)(a->sig - vocab_first(kind));
		g->bit = (uint8_t)i;
		g->lo = -HUGE_VAL;
		g->hi = HUGE_VAL;
		g->not = a->cmp == CMP_NE || a->cmp == CMP_GT || a->cmp == CMP_LT;
		/* ">" is stored as not "<=", "<" as not ">=". */
		if (a->cmp != CMP_GT && a->cmp != CMP_LE)
			g->lo = a->value;
		if (a->cmp != CMP_LT && a->cmp != CMP_GE)
			g->hi = a->value;
		r->n_ranges++;
	}
	qsort(r->range, r->n_ranges, sizeof(r->range[0]), compare_columns);
	find_columns(r);
}

/* Lays out what depends on the program alone. */
static bool map_terms(struct truth *t, const struct prog *p)
{
	uint32_t i, c;
	unsigned int k;

	t->n_asked = p->n_asked;
	t->n_aggs = p->n_aggs;
	t->words = (p->n_asked + 63) / 64;
	t->every = calloc(t->words + 1, sizeof(*t->every));
	if (!t->every)
		return false;
	for (c = 0; c < p->n_asked; c++)
		t->every[c / 64] |= 1ULL << c % 64;
	for (k = 0; k < OBJ_KINDS; k++) {
		t->n_atoms[k] = p->n_atoms[k];
		t->n_mem[k] = p->n_mem[k];
		sort_atoms(&t->rows[k], p, k);
		t->needs[k] = calloc((size_t)p->n_atoms[k] * t->words + 1, sizeof(*t->needs[k]));
		if (!t->needs[k])
			return false;
		for (c = 0; c < p->n_asked; c++)
			for (i = 0; i < p->n_atoms[k]; i++)
				if (p->terms[p->asked[c]].need[k] & 1ULL << i)
					t->needs[k][i * t->words + c / 64] |= 1ULL << c % 64;
	}
	return true;
}

static bool reserve_aggs(struct truth *t, const struct signals *s)
{
	struct array_column columns[PROG_AGGS + 1] = { ARRAY_COLUMN(t->agg_due) };
	size_t most = 0, had = t->cap_agg, i, n;
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		if (k != OBJ_QP && s->table[k].n > most)
			most = s->table[k].n;
	for (i = 0; i < t->n_aggs; i++)
		columns[i + 1] = (struct array_column)ARRAY_COLUMN(t->agg[i]);
	if (!array_grow(columns, t->n_aggs + 1, &t->cap_agg, most))
		return false;
	for (i = 0; i < t->n_aggs; i++)
		for (n = had; n < t->cap_agg; n++)
			t->agg[i][n] = __builtin_nan("");
	return true;
}

/* Room for what is kept for each QP, job and place about the terms that are counted per QP. */
static bool reserve_asked(struct truth *t, const struct signals *s)
{
	size_t jobs = s->table[OBJ_JOB].n;

	return !t->words ||
	       (array_grow_columns(&t->cap_qps, s->table[OBJ_QP].n,
				   ARRAY_WIDE_COLUMN(t->yes, t->words),
				   ARRAY_WIDE_COLUMN(t->no, t->words),
				   ARRAY_WIDE_COLUMN(t->pend, t->words), ARRAY_COLUMN(t->queue)) &&
		array_grow_columns(&t->cap_jobs, jobs, ARRAY_WIDE_COLUMN(t->subscribed, t->words)) &&
		array_grow_columns(&t->cap_places, s->place_first[jobs],
				   ARRAY_WIDE_COLUMN(t->n_yes, t->n_asked),
				   ARRAY_WIDE_COLUMN(t->n_no, t->n_asked)));
}

int truth_reserve(struct truth *t, const struct prog *p, const struct signals *s)
{
	unsigned int k;

	if (!fits_program(t, p)) {
		truth_free(t);
		if (!map_terms(t, p))
			return -ENOMEM;
	}
	for (k = 0; k < OBJ_KINDS; k++)
		if (!reserve_rows(&t->rows[k], s->table[k].n, p->n_mem[k]))
			return -ENOMEM;
	if (!reserve_aggs(t, s) || !reserve_asked(t, s) ||
	    !array_grow_columns(&t->cap_touched, s->table[OBJ_JOB].n, ARRAY_COLUMN(t->touched),
				ARRAY_COLUMN(t->used)))
		return -ENOMEM;
	if (t->started && t->topology == s->topology)
		return 0;
	for (k = 0; k < OBJ_KINDS; k++)
		match_rows(&t->rows[k], &s->table[k], p->n_mem[k]);
	return 0;
}

size_t truth_qp_bytes(const struct truth *t)
{
	const struct truth_rows *r = &t->rows[OBJ_QP];

	return sizeof(*r->t) + sizeof(*r->k) +
	       t->n_mem[OBJ_QP] * sizeof(*r->mem) + sizeof(*r->key) +
	       sizeof(*r->work) + sizeof(*r->again) + sizeof(*r->stamp) +
	       t->words * 3 * sizeof(*t->yes) + sizeof(*t->queue);
}
