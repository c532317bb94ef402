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
 * @chunks: struct srdma_chunk by number from 0, without holes: all QPs there are
 *	or were. Only added to until the table goes, so they are as many as the
 *	device ever had at once.
 * @n_chunks: of @chunks; written under @grow_lock
 * @grow_lock: makes one caller at a time add a chunk; taken inside srdma_dev.adopt_lock,
 *	outside @lock, may sleep for memory
 * @free: QPs that are nobody's, linked by srdma_qp.free; under @lock
 * @spare: one more of them, or NULL: taken and put back without the lock, for who
 *	makes and ends one QP after the other
 * @closed: nothing goes in any more; under @lock
 * @lock: protects @free, @closed, and the chains against other writers; a leaf,
 *	process context or an RCU section of it
 *
 * A program that makes and ends QPs pays for the table with every one of them,
 * so it is a hash and a list of free objects, some fifty instructions each way;
 * slab, grace period and an index sorted by QPN would cost ten times that.
 *
 * The number of chains is fixed. A device with a hundred times as many QPs costs
 * a lookup some dozens of instructions more, which no verb would notice; a table
 * that is resized costs every one of them.
 *
 * The memory is type-stable: whoever is in an RCU section, or holds the device,
 * may look at any QP found here, but by then it may be another one. See
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
/* It is empty, nobody can find it, and it has never been used or a grace period is over. */
void srdma_table_destroy(struct srdma_table *t);

/* A QP that is nobody's, NULL: no memory. May sleep. */
struct srdma_qp *srdma_table_alloc(struct srdma_table *t);
void srdma_table_free(struct srdma_table *t, struct srdma_qp *q);

/* To be found from now on. 0, -EEXIST, or -ESHUTDOWN: closed. */
int srdma_table_add(struct srdma_table *t, struct srdma_qp *q);
/* Once for each QP that was added. */
void srdma_table_del(struct srdma_table *t, struct srdma_qp *q);
/* Nothing is added from now on; what was is to be seen by the walks. */
void srdma_table_close(struct srdma_table *t);

/* Bytes of the table, QPs included. */
size_t srdma_table_bytes(const struct srdma_table *t);

/**
 * struct srdma_walk - a walk over a table, in order of place in memory
 * @t: the table
 * @pos: of the place to be looked at next. Start anywhere; kept between walks it
 *	says where to go on, whatever came and went.
 * @chunk: that of @pos, or NULL
 */
struct srdma_walk {
	struct srdma_table *t;
	unsigned long pos;
	struct srdma_chunk *chunk;
};

#define SRDMA_WALK(table, from)	{ .t = (table), .pos = (from) }

#endif /* SRDMA_TABLE_H */
