// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "io/owner.h"

#define FIRST_SLOTS	64

/*
 * Hashes the fields, not the structure, most of whose half kilobyte is the unused end of
 * strings. FNV-1a suffices, because no process gains from collisions of owners.
 */
static uint64_t mix(uint64_t h, const void *p, size_t len)
{
	const unsigned char *b = p;

	while (len--)
		h = (h ^ *b++) * 0x100000001b3ull;
	return h;
}

static uint64_t hash(const struct snap_owner *w)
{
	uint64_t h = 0xcbf29ce484222325ull;

	h = mix(h, &w->pid, sizeof(w->pid));
	h = mix(h, &w->uid, sizeof(w->uid));
	h = mix(h, &w->cgroup_id, sizeof(w->cgroup_id));
	h = mix(h, w->comm, strlen(w->comm));
	return mix(h, w->kernel, strlen(w->kernel));
}

static bool same(const struct snap_owner *a, const struct snap_owner *b)
{
	return a->pid == b->pid && a->uid == b->uid &&
	       a->cgroup_id == b->cgroup_id && !strcmp(a->comm, b->comm) &&
	       !strcmp(a->exe, b->exe) && !strcmp(a->cgroup, b->cgroup) &&
	       !strcmp(a->kernel, b->kernel);
}

static void place(struct srdma_owners *o, uint32_t index)
{
	size_t mask = o->n_slots - 1;
	size_t i = hash(&o->snap->owners[index]) & mask;

	while (o->slots[i])
		i = (i + 1) & mask;
	o->slots[i] = index + 1;
}

/* At most half full, so that a probe ends soon. */
static int resize(struct srdma_owners *o, size_t owners)
{
	size_t n = o->n_slots ? o->n_slots : FIRST_SLOTS;
	uint32_t *slots;

	while (n < 2 * (owners + 1))
		n *= 2;
	if (n != o->n_slots) {
		slots = realloc(o->slots, n * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		o->slots = slots;
		o->n_slots = n;
	}
	memset(o->slots, 0, n * sizeof(*o->slots));
	for (size_t i = 0; i < o->snap->n_owners; i++)
		place(o, i);
	return 0;
}

int srdma_owners_attach(struct srdma_owners *o, struct snapshot *snap)
{
	o->snap = snap;
	o->last_len = 0;
	return resize(o, snap->n_owners);
}

void srdma_owners_free(struct srdma_owners *o)
{
	free(o->slots);
	memset(o, 0, sizeof(*o));
}

int srdma_owner_intern(struct srdma_owners *o, const struct snap_owner *owner,
		       uint32_t *index)
{
	struct snapshot *snap = o->snap;
	size_t mask, i;
	int err;

	if (2 * (snap->n_owners + 1) > o->n_slots) {
		err = resize(o, snap->n_owners);
		if (err)
			return err;
	}
	mask = o->n_slots - 1;
	for (i = hash(owner) & mask; o->slots[i]; i = (i + 1) & mask) {
		*index = o->slots[i] - 1;
		if (same(&snap->owners[*index], owner))
			return 0;
	}
	if (!array_reserve(&snap->owners, &snap->cap_owners, snap->n_owners + 1,
			   sizeof(*snap->owners)))
		return -ENOMEM;
	*index = snap->n_owners;
	snap->owners[snap->n_owners++] = *owner;
	o->slots[i] = *index + 1;
	return 0;
}
