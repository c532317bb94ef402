// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "io/owner.h"

#define FIRST_SLOTS	64

/* The attributes of an owner, as they came. */
struct nest {
	uint64_t hash;
	size_t len, cap;
	unsigned char *bytes;
};

/* A hash table with open addressing. */
struct owner_index {
	uint32_t *slots;	/* index of an owner + 1; 0: free */
	size_t n_slots;		/* a power of two, at least twice the number of owners */
	size_t n;		/* owners */
	struct nest *nests;	/* of each owner */
	size_t cap_nests;
	uint32_t last;		/* found last: QPs of one process often arrive in a row */
};

/* FNV-1a of whole words suffices, because no process gains from collisions of owners. */
static uint64_t hash_bytes(const void *bytes, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull, word;
	const char *p = bytes;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * 0x100000001b3ull;
		h ^= h >> 32;
	}
	while (len--)
		h = (h ^ (unsigned char)*p++) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static bool is_nest(const struct nest *nest, const void *bytes, size_t len)
{
	return nest->len == len && (!len || !memcmp(nest->bytes, bytes, len));
}

/* The slot of the owner, or the free slot where it belongs. */
static uint32_t *find_slot(const struct owner_index *x, uint64_t hash, const void *bytes,
			   size_t len)
{
	size_t mask = x->n_slots - 1, i = hash & mask;

	for (; x->slots[i]; i = (i + 1) & mask) {
		const struct nest *nest = &x->nests[x->slots[i] - 1];

		if (nest->hash == hash && is_nest(nest, bytes, len))
			break;
	}
	return &x->slots[i];
}

static bool double_slots(struct owner_index *x)
{
	size_t n = 2 * x->n_slots;
	uint32_t *slots = realloc(x->slots, n * sizeof(*slots));

	if (!slots)
		return false;
	memset(slots, 0, n * sizeof(*slots));
	x->slots = slots;
	x->n_slots = n;
	for (size_t i = 0; i < x->n; i++) {
		const struct nest *nest = &x->nests[i];

		*find_slot(x, nest->hash, nest->bytes, nest->len) = (uint32_t)i + 1;
	}
	return true;
}

/* The index of @snap, emptied if the owners were dropped by .n_owners = 0. NULL: out of memory. */
static struct owner_index *get_index(struct snapshot *snap)
{
	struct owner_index *x = snap->owner_index;

	if (!x) {
		x = calloc(1, sizeof(*x));
		snap->owner_index = x;
	}
	if (x && !x->slots) {
		x->slots = calloc(FIRST_SLOTS, sizeof(*x->slots));
		x->n_slots = FIRST_SLOTS;
	}
	if (!x || !x->slots)
		return NULL;
	if (x->n != snap->n_owners) {
		memset(x->slots, 0, x->n_slots * sizeof(*x->slots));
		x->n = 0;
	}
	return x;
}

void srdma_owners_free(struct snapshot *snap)
{
	struct owner_index *x = snap->owner_index;

	free(snap->owners);
	if (!x)
		return;
	for (size_t i = 0; i < x->cap_nests; i++)
		free(x->nests[i].bytes);
	free(x->nests);
	free(x->slots);
	free(x);
}

/* Keeps the bytes of the next owner, in the memory of an owner that was dropped. */
static bool keep_nest(struct owner_index *x, const void *bytes, size_t len)
{
	size_t had = x->cap_nests;
	struct nest *nest;

	if (!array_reserve(&x->nests, &x->cap_nests, x->n + 1, sizeof(*x->nests)))
		return false;
	memset(&x->nests[had], 0, (x->cap_nests - had) * sizeof(*x->nests));
	nest = &x->nests[x->n];
	if (!array_reserve(&nest->bytes, &nest->cap, len, 1))
		return false;
	if (len)
		memcpy(nest->bytes, bytes, len);
	nest->len = len;
	nest->hash = hash_bytes(bytes, len);
	return true;
}

bool srdma_owner_find(struct snapshot *snap, const void *bytes, size_t len, uint32_t *index)
{
	struct owner_index *x = snap->owner_index;
	uint32_t slot;

	if (!x || !x->n || x->n != snap->n_owners)
		return false;
	if (x->last >= x->n || !is_nest(&x->nests[x->last], bytes, len)) {
		slot = *find_slot(x, hash_bytes(bytes, len), bytes, len);
		if (!slot)
			return false;
		x->last = slot - 1;
	}
	*index = x->last;
	return true;
}

int srdma_owner_add(struct snapshot *snap, const struct snap_owner *owner, const void *bytes,
		    size_t len, uint32_t *index)
{
	struct owner_index *x = get_index(snap);

	if (!x || (2 * (x->n + 1) > x->n_slots && !double_slots(x)) ||
	    !keep_nest(x, bytes, len) ||
	    !array_reserve(&snap->owners, &snap->cap_owners, x->n + 1, sizeof(*snap->owners)))
		return -ENOMEM;
	*index = (uint32_t)x->n;
	*find_slot(x, x->nests[x->n].hash, bytes, len) = *index + 1;
	snap->owners[*index] = *owner;
	snap->n_owners = ++x->n;
	return 0;
}
