// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects by address. Readers take no lock: an entry's key is written once, a table
 * that grew is replaced, and the old one stays for readers that are in it.
 */
#include <stdlib.h>

#include "lib/lib.h"

#define TABLE_MIN 64

struct table *_Atomic qps, *_Atomic cqs;

/* The entry of the key, or the free one where the key belongs; a table is never full. */
static struct table_entry *entry_of(struct table *t, uintptr_t key)
{
	size_t i = table_hash(t, (const void *)key);

	while (t->entry[i].key && t->entry[i].key != key)
		i = (i + 1) & t->mask;
	return &t->entry[i];
}

static struct table *copy_into_larger(struct table *old)
{
	size_t live = 0, size = TABLE_MIN;
	struct table *t;

	for (size_t i = 0; old && i <= old->mask; i++)
		live += !!old->entry[i].value;
	while (size < 4 * live)
		size *= 2;
	t = calloc(1, sizeof(*t) + size * sizeof(t->entry[0]));
	if (!t)
		return NULL;
	t->older = old;
	t->mask = size - 1;
	t->shift = 64 - (uint32_t)__builtin_ctzll(size);
	for (size_t i = 0; old && i <= old->mask; i++) {
		struct table_entry *e;

		if (!old->entry[i].value)
			continue;
		e = entry_of(t, old->entry[i].key);
		e->value = old->entry[i].value;
		e->key = old->entry[i].key;
		t->used++;
	}
	return t;
}

bool table_put(struct table *_Atomic *table, const void *key, void *value)
{
	struct table *t = *table;
	struct table_entry *e;

	if (!t || 2 * (t->used + 1) > t->mask) {
		t = copy_into_larger(t);
		if (!t)
			return false;
		atomic_store_explicit(table, t, memory_order_release);
	}
	e = entry_of(t, (uintptr_t)key);
	atomic_store_explicit(&e->value, value, memory_order_release);
	if (!e->key) {
		t->used++;
		atomic_store_explicit(&e->key, (uintptr_t)key, memory_order_release);
	}
	return true;
}

void table_drop(struct table *_Atomic *table, const void *key, const void *value)
{
	struct table *t = *table;
	struct table_entry *e;

	if (!t)
		return;
	e = entry_of(t, (uintptr_t)key);
	/* The address may already be a newer object's. */
	if (e->key && e->value == value)
		atomic_store_explicit(&e->value, NULL, memory_order_release);
}
