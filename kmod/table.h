/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_TABLE_H
#define SRDMA_TABLE_H

#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rculist_nulls.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

struct srdma_chunk;
struct srdma_qp;

/**
 * struct srdma_table - the QPs of a device, and the memory they are in
 * @bucket: chains of those that are in the table, by srdma_qp_key()
 * @chunks: struct srdma_chunk by number from 0, without holes. Chunks are only added
 *	until the table is destroyed, so they hold as many QPs as the device ever had
 *	at one time.
 * @n_chunks: of @chunks; written under @grow_lock
 * @grow_lock: makes one caller at a time add a chunk; taken inside srdma_dev.adopt_lock,
 *	outside @lock, may sleep for memory
 * @free: free QPs, linked by srdma_qp.free; under @lock
 * @spare: one more free QP, or NULL. Taken and put back without the lock, which serves a
 *	program that creates and destroys one QP after the other.
 * @closed: no QP is added any more; under @lock
 * @lock: protects @free, @closed, and the chains against other writers; a leaf; taken in process
 *	context, also in RCU sections
 *
 * Every create and destroy of a QP pays for the table. A hash and a list of free QPs take
 * some fifty instructions each; table.c says what the slab allocator, a grace period and an
 * index sorted by QPN would cost.
 *
 * The number of chains is fixed. On a device with a hundred times as many QPs a lookup takes some
 * dozens of instructions more, which no verb would notice. A table that is resized would make
 * every lookup slower.
 *
 * The memory is type-stable: a thread in an RCU section, or with a reference on the device,
 * may read any QP that it found here, but the memory may hold another QP by then. See
 * srdma_qp_hold().
 */
struct srdma_table {
	struct hlist_nulls_head *bucket;
	struct xarray chunks;
	u32 n_chunks;
	struct mutex grow_lock;	/* @n_chunks */
	struct srdma_qp *free;
	struct srdma_qp *spare;
	bool closed;
	spinlock_t lock;	/* @free, @closed, chains */
};

#define SRDMA_CHAIN_BITS	13

static inline u32 srdma_table_chain(u32 key)
{
	return hash_32(key, SRDMA_CHAIN_BITS);
}

int srdma_table_init(struct srdma_table *t);
/* The table is empty, no thread can find it, and a grace period has passed since its last use. */
void srdma_table_destroy(struct srdma_table *t);

/* Take a free QP out of the table's memory; NULL: no memory. May sleep. */
struct srdma_qp *srdma_table_alloc(struct srdma_table *t);
void srdma_table_free(struct srdma_table *t, struct srdma_qp *q);

/* Add @q, to be found from now on. 0, -EEXIST, or -ESHUTDOWN: the table is closed. */
int srdma_table_add(struct srdma_table *t, struct srdma_qp *q);
/* Once for each QP that was added. */
void srdma_table_del(struct srdma_table *t, struct srdma_qp *q);
/* No QP is added from now on; walks that begin later see all that were added. */
void srdma_table_close(struct srdma_table *t);

/* Bytes of the table, QPs included. */
size_t srdma_table_bytes(const struct srdma_table *t);

/**
 * struct srdma_walk - a walk over a table, in order of place in memory
 * @t: the table
 * @pos: place to look at next. A walk may start anywhere. A later walk that starts from
 *	here goes on where this one ended, whichever QPs came or went in between.
 * @chunk: that of @pos, or NULL
 */
struct srdma_walk {
	struct srdma_table *t;
	unsigned long pos;
	struct srdma_chunk *chunk;
};

#define SRDMA_WALK(table, from)	{ .t = (table), .pos = (from) }

#endif /* SRDMA_TABLE_H */
