/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keeps each owner of QPs and UARs once. A process has many QPs, and the message of each QP
 * contains its owner in full.
 */
#ifndef SRDMA_IO_OWNER_H
#define SRDMA_IO_OWNER_H

#include "core/snapshot.h"

/* The greatest size of an owner nest: four strings, three numbers, headers. */
#define SRDMA_OWNER_NEST	512

struct srdma_owners {
	struct snapshot *snap;		/* the snapshot whose .owners is filled */
	uint32_t *slots;		/* index + 1; 0: free */
	size_t n_slots;
	/*
	 * The bytes of the last nest. QPs of one process arrive in a row, and comparing
	 * bytes is cheaper than parsing them.
	 */
	unsigned char last[SRDMA_OWNER_NEST];
	size_t last_len;
	uint32_t last_index;
};

/* Start on @snap, with the owners it holds. 0 or -ENOMEM. */
int srdma_owners_attach(struct srdma_owners *o, struct snapshot *snap);
void srdma_owners_free(struct srdma_owners *o);

/* Index of @owner in the snapshot, which gets it if it is new; or -ENOMEM. */
int srdma_owner_intern(struct srdma_owners *o, const struct snap_owner *owner,
		       uint32_t *index);

#endif /* SRDMA_IO_OWNER_H */
