// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Allocates the arrays of struct truth, between ticks: evaluation never allocates. */
#include "core/truth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool grow_array(void *array, size_t n, size_t size)
{
	void **p = array;
	void *q = realloc(*p, (n ? n : 1) * size);

	if (!q)
		return false;
	*p = q;
	return true;
}

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
	free(t->asks);
	free(t->touched);
	free(t->used);
	free(t->every);
	truth_init(t);
}

static size_t next_capacity(size_t cap, size_t n)
{
	size_t c = cap ? cap : 16;

	while (c < n)
		c *= 2;
	return c;
}

static bool reserve_rows(struct truth_rows *r, size_t n, uint32_t n_mem)
{
	size_t cap = next_capacity(r->cap, n);

	if (n <= r->cap && r->cap)
		return true;
	if (!grow_array(&r->t, cap, sizeof(*r->t)) ||
	    !grow_array(&r->k, cap, sizeof(*r->k)) ||
	    !grow_array(&r->mem, cap * n_mem, sizeof(*r->mem)) ||
	    !grow_array(&r->key, cap, sizeof(*r->key)) ||
	    !grow_array(&r->work, cap, sizeof(*r->work)) ||
	    !grow_array(&r->again, cap, sizeof(*r->again)) ||
	    !grow_array(&r->stamp, cap, sizeof(*r->stamp)))
		return false;
	memset(r->stamp + r->cap, 0, (cap - r->cap) * sizeof(*r->stamp));
	r->cap = cap;
	return true;
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
	memmove(r->mem + to * n_mem, r->mem + from * n_mem,
		n_mem * sizeof(*r->mem));
}

static int compare_keys(const struct signal_key *a, const struct signal_key *b)
{
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return 0;
}

/*
 * Both tables are sorted by key, so two passes in place suffice: forward, which drops
 * rows of objects that are gone, and backward, which moves the others to their new rows.
 */
static void match_rows(struct truth_rows *r, const struct signal_table *now,
		       uint32_t n_mem)
{
	size_t i, o = 0, kept = 0;

	for (i = 0; i < r->n; i++) {
		while (o < now->n && compare_keys(&now->key[o], &r->key[i]) < 0)
			o++;
		if (o < now->n && !compare_keys(&now->key[o], &r->key[i]))
			move_row(r, kept++, i, n_mem);
	}
	for (i = now->n; i > 0; i--) {
		if (kept && !compare_keys(&now->key[i - 1], &r->key[kept - 1])) {
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

static bool fits_program(const struct truth *t, const struct prog *p)
{
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		if (t->n_atoms[k] != p->n_atoms[k] ||
		    t->n_mem[k] != p->n_mem[k])
			return false;
	return t->n_asked == p->n_asked && t->n_aggs == p->n_aggs;
}

static int by_column(const void *a, const void *b)
{
	const struct truth_range *x = a, *y = b;

	return x->col != y->col ? x->col - y->col : x->bit - y->bit;
}

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
				.least = HUGE_VAL, .col = g->col,
				.first = (uint8_t)i,
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

static void sort_atoms(struct truth_rows *r, const struct prog *p,
		       enum obj_kind kind)
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
		g->not = a->cmp == CMP_NE || a->cmp == CMP_GT ||
			 a->cmp == CMP_LT;
		/* ">" is stored as not "<=", "<" as not ">=". */
		if (a->cmp != CMP_GT && a->cmp != CMP_LE)
			g->lo = a->value;
		if (a->cmp != CMP_LT && a->cmp != CMP_GE)
			g->hi = a->value;
		r->n_ranges++;
	}
	qsort(r->range, r->n_ranges, sizeof(r->range[0]), by_column);
	find_columns(r);
}

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
		t->needs[k] = calloc((size_t)p->n_atoms[k] * t->words + 1,
				     sizeof(*t->needs[k]));
		if (!t->needs[k])
			return false;
		for (c = 0; c < p->n_asked; c++)
			for (i = 0; i < p->n_atoms[k]; i++)
				if (p->terms[p->asked[c]].need[k] & 1ULL << i)
					t->needs[k][i * t->words + c / 64] |=
						1ULL << c % 64;
	}
	return true;
}

static bool reserve_aggs(struct truth *t, const struct signals *s)
{
	size_t most = 0, cap, i, n;
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		if (k != OBJ_QP && s->table[k].n > most)
			most = s->table[k].n;
	if (most <= t->cap_agg && t->cap_agg)
		return true;
	cap = next_capacity(t->cap_agg, most);
	for (i = 0; i < t->n_aggs; i++) {
		if (!grow_array(&t->agg[i], cap, sizeof(*t->agg[i])))
			return false;
		for (n = t->cap_agg; n < cap; n++)
			t->agg[i][n] = __builtin_nan("");
	}
	if (!grow_array(&t->agg_due, cap, sizeof(*t->agg_due)))
		return false;
	t->cap_agg = cap;
	return true;
}

static bool reserve_touched(struct truth *t, size_t jobs)
{
	size_t cap;

	if (jobs <= t->cap_touched && t->touched)
		return true;
	cap = next_capacity(t->cap_touched, jobs);
	if (!grow_array(&t->touched, cap, sizeof(*t->touched)) ||
	    !grow_array(&t->used, cap, sizeof(*t->used)))
		return false;
	/* New entries start at 0: no term has been requested for them. */
	memset(t->touched + t->cap_touched, 0,
	       (cap - t->cap_touched) * sizeof(*t->touched));
	memset(t->used + t->cap_touched, 0,
	       (cap - t->cap_touched) * sizeof(*t->used));
	t->cap_touched = cap;
	return true;
}

static bool reserve_asked(struct truth *t, const struct signals *s)
{
	size_t n = s->table[OBJ_QP].n, jobs = s->table[OBJ_JOB].n, cap;
	size_t places = s->place_first[jobs];

	if (!t->words)
		return true;
	if (n > t->cap_qps || !t->queue) {
		cap = next_capacity(t->cap_qps, n);
		if (!grow_array(&t->yes, cap * t->words, sizeof(*t->yes)) ||
		    !grow_array(&t->no, cap * t->words, sizeof(*t->no)) ||
		    !grow_array(&t->pend, cap * t->words, sizeof(*t->pend)) ||
		    !grow_array(&t->queue, cap, sizeof(*t->queue)))
			return false;
		t->cap_qps = cap;
	}
	if (jobs > t->cap_jobs || !t->asks) {
		cap = next_capacity(t->cap_jobs, jobs);
		if (!grow_array(&t->asks, cap * t->words, sizeof(*t->asks)))
			return false;
		t->cap_jobs = cap;
	}
	if (places > t->cap_places || !t->n_yes) {
		cap = next_capacity(t->cap_places, places);
		if (!grow_array(&t->n_yes, cap * t->n_asked, sizeof(*t->n_yes)) ||
		    !grow_array(&t->n_no, cap * t->n_asked, sizeof(*t->n_no)))
			return false;
		t->cap_places = cap;
	}
	return true;
}

int truth_reserve(struct truth *t, const struct prog *p,
		  const struct signals *s)
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
	    !reserve_touched(t, s->table[OBJ_JOB].n))
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
