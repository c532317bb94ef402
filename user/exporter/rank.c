// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A new object replaces one of the k only if it exceeds that one by this factor. */
#define STAY	1.25

int rank_init(struct rank *r, size_t k)
{
	*r = (struct rank){ .k = k };
	r->items = calloc(k + 1, sizeof(*r->items));
	r->last = calloc(k + 1, sizeof(*r->last));
	return r->items && r->last ? 0 : -ENOMEM;
}

void rank_free(struct rank *r)
{
	free(r->items);
	free(r->last);
	memset(r, 0, sizeof(*r));
}

static int compare_ids(const void *a, const void *b)
{
	const struct rank_item *x = a, *y = b;

	return ARRAY_CMP_3(&x->id, &y->id, dev, index, since);
}

static int compare_rows(const void *a, const void *b)
{
	const struct rank_item *x = a, *y = b;

	return ARRAY_CMP(x->row, y->row);
}

void rank_begin(struct rank *r)
{
	array_swap(r->items, r->last);
	r->n_last = r->n;
	r->n = 0;
	qsort(r->last, r->n_last, sizeof(*r->last), compare_ids);
}

static bool was_ranked(const struct rank *r, const struct rank_item *item)
{
	return array_lookup(r->n_last, i, compare_ids(&r->last[i], item)) < r->n_last;
}

static bool item_exceeds(const struct rank_item *a, const struct rank_item *b)
{
	for (int i = 0; i < RANK_KEYS; i++)
		if (a->key[i] != b->key[i])
			return a->key[i] > b->key[i];
	return false;
}

/* Keeps the items sorted, the greatest first. */
void rank_offer(struct rank *r, const struct rank_item *item)
{
	struct rank_item is = *item;
	size_t at;

	if (was_ranked(r, item))
		for (int i = 0; i < RANK_KEYS; i++)
			is.key[i] *= STAY;
	if (!r->k || (r->n == r->k && !item_exceeds(&is, &r->items[r->n - 1])))
		return;
	at = array_find(r->n, i, !item_exceeds(&is, &r->items[i]));
	if (r->n < r->k)
		r->n++;
	memmove(&r->items[at + 1], &r->items[at], (r->n - 1 - at) * sizeof(*r->items));
	r->items[at] = is;
}

void rank_end(struct rank *r)
{
	qsort(r->items, r->n, sizeof(*r->items), compare_rows);
}

bool rank_has(const struct rank *r, uint32_t row)
{
	return array_lookup(r->n, i, ARRAY_CMP(r->items[i].row, row)) < r->n;
}
