/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keeps each owner of QPs and UARs once. A process has many QPs, and the message of each QP
 * contains its owner in full. An owner is found by the bytes of its attributes, which is
 * cheaper than parsing them.
 */
#ifndef SRDMA_IO_OWNER_H
#define SRDMA_IO_OWNER_H

#include "core/snapshot.h"

/* Frees the owners of @snap. */
void srdma_owners_free(struct snapshot *snap);

/* Finds the owner whose attributes are these @len bytes. False: @snap does not have it. */
bool srdma_owner_find(struct snapshot *snap, const void *bytes, size_t len, uint32_t *index);
/* Adds @owner, whose attributes are these @len bytes. 0 or -ENOMEM. */
int srdma_owner_add(struct snapshot *snap, const struct snap_owner *owner, const void *bytes,
		    size_t len, uint32_t *index);

#endif /* SRDMA_IO_OWNER_H */
