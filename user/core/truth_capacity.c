// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Allocates the arrays of struct truth, between ticks: evaluation never allocates. */
#include "core/truth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void truth_init(struct truth *t)
{
	memset(t, 0, sizeof(*t));
}

void truth_free(struct truth *t)
{
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++) {
		free(t->rows[k].truth);
		free(t->rows[k].mem);
		free(t->rows[k].key);
	}
	for (k = 0; k < PROG_AGGS; k++)
		free(t->agg[k]);
	free(t->members);
	free(t->value);
	free(t->is_false);
	truth_init(t);
}

static void clear_row(struct truth_rows *r, size_t row, uint32_t n_mem)
{
	uint32_t i;

	for (i = 0; i < n_mem; i++)
		r->mem[row * n_mem + i] = __builtin_nan("");
}

static void move_row(struct truth_rows *r, size_t to, size_t from, uint32_t n_mem)
{
	if (to == from)
		return;
	r->key[to] = r->key[from];
	memmove(r->mem + to * n_mem, r->mem + from * n_mem, n_mem * sizeof(*r->mem));
}

/*
 * Moves the memory of each object to the object's row in @now. Both tables are sorted, so two
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
}

/* True: the arrays are laid out for this program. */
static bool fits_program(const struct truth *t, const struct prog *p)
{
	return t->n_aggs == p->n_aggs && !memcmp(t->n_atoms, p->n_atoms, sizeof(t->n_atoms)) &&
	       !memcmp(t->n_mem, p->n_mem, sizeof(t->n_mem));
}

/* The atoms of QPs that remember something. */
static uint64_t find_kept(const struct prog *p)
{
	uint64_t kept = 0;
	uint32_t i, k;

	for (i = 0; i < p->n_atoms[OBJ_QP]; i++) {
		const struct prog_atom *a = &p->atoms[OBJ_QP][i];

		for (k = 0; k < a->code.n; k++) {
			uint8_t op = p->ins[a->code.first + k].op;

			if (op == PROG_RISING || op == PROG_FALLING || op == PROG_HELD)
				kept |= 1ULL << i;
		}
	}
	return kept;
}

static void set_program(struct truth *t, const struct prog *p)
{
	unsigned int k, a, n;

	for (k = 0; k < OBJ_KINDS; k++) {
		struct truth_rows *r = &t->rows[k];

		r->atoms = k == OBJ_QP ? find_kept(p) :
			   p->n_atoms[k] < PROG_ATOMS ? (1ULL << p->n_atoms[k]) - 1 : ~0ULL;
		for (a = 0, n = 0; a < PROG_ATOMS; a++) {
			r->column[a] = (uint8_t)n;
			n += r->atoms >> a & 1;
		}
	}
	t->n_aggs = p->n_aggs;
	memcpy(t->n_atoms, p->n_atoms, sizeof(t->n_atoms));
	memcpy(t->n_mem, p->n_mem, sizeof(t->n_mem));
}

static bool reserve_aggs(struct truth *t, const struct prog *p, const struct signals *s)
{
	struct array_column columns[PROG_AGGS + 1] = { ARRAY_COLUMN(t->members) };
	size_t owners = 0, members = 0;
	uint32_t i;

	for (i = 0; i < p->n_aggs; i++) {
		const struct prog_agg *a = &p->aggs[i];

		if (s->table[a->on].n > owners)
			owners = s->table[a->on].n;
		if (s->table[a->of].n > members)
			members = s->table[a->of].n;
		columns[i + 1] = (struct array_column)ARRAY_COLUMN(t->agg[i]);
	}
	return array_grow(columns, p->n_aggs + 1, &t->cap_agg, owners) &&
	       array_grow_columns(&t->cap_value, members, ARRAY_COLUMN(t->value));
}

static bool reserve_rows(struct truth *t, const struct signals *s, enum obj_kind kind)
{
	struct truth_rows *r = &t->rows[kind];
	size_t n_columns = (size_t)__builtin_popcountll(r->atoms), n = s->table[kind].n, i;

	r->stride = n + 1;
	if (!array_reserve(&r->truth, &r->cap_truth, n_columns * r->stride, sizeof(*r->truth)))
		return false;
	for (i = 0; i < n_columns; i++)
		r->truth[i * r->stride] = TRI_UNKNOWN;
	return !t->n_mem[kind] ||
	       array_grow_columns(&r->cap, n, ARRAY_WIDE_COLUMN(r->mem, t->n_mem[kind]),
				  ARRAY_COLUMN(r->key));
}

int truth_reserve(struct truth *t, const struct prog *p, const struct signals *s)
{
	unsigned int k;

	if (!fits_program(t, p)) {
		truth_free(t);
		set_program(t, p);
	}
	for (k = 0; k < OBJ_KINDS; k++)
		if (!reserve_rows(t, s, k))
			return -ENOMEM;
	if (!reserve_aggs(t, p, s) ||
	    !array_grow_columns(&t->cap_terms, p->n_terms, ARRAY_COLUMN(t->is_false)))
		return -ENOMEM;
	if (t->started && t->topology == s->topology)
		return 0;
	for (k = 0; k < OBJ_KINDS; k++)
		if (t->n_mem[k])
			match_rows(&t->rows[k], &s->table[k], t->n_mem[k]);
	t->started = true;
	t->topology = s->topology;
	return 0;
}
