/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a QP is found, held and locked.
 */
#ifndef SRDMA_FIND_H
#define SRDMA_FIND_H

#include "tracker.h"

/* QPNs have 24 bits (IBA 10.2.4.3); each port has its own QP 0 and 1. */
static inline u32 srdma_key(u8 type, u32 qpn, u32 port)
{
	if (type == IB_QPT_SMI || type == IB_QPT_GSI)
		return qpn | port << 24;	/* as restrack has it */
	return qpn;
}

static inline u32 srdma_qp_key(const struct srdma_qp *q)
{
	return srdma_key(q->type, q->qpn, q->key_port);
}

/* Of a QP whose driver has made it. */
static inline u32 srdma_ib_qp_key(const struct ib_qp *ibqp)
{
	return srdma_key(min_t(u32, ibqp->qp_type, IB_QPT_DRIVER), ibqp->qp_num, ibqp->port);
}

static inline bool srdma_qp_in_table(const struct srdma_qp *q)
{
	return smp_load_acquire(&q->node.pprev);	/* pairs with srdma_table_add() */
}

/*
 * The next QP of a walk, NULL: there is none. RCU section, or the device held. To
 * pass one over costs some ten instructions: a dump of what changed passes nearly
 * all.
 */
static inline struct srdma_qp *srdma_walk_next(struct srdma_walk *w)
{
	struct srdma_qp *q;

	while (true) {
		if (!w->chunk || w->pos - w->chunk->first >= SRDMA_CHUNK_QPS) {
			w->chunk = xa_load(&w->t->chunks, w->pos / SRDMA_CHUNK_QPS);
			if (!w->chunk)
				return NULL;
		}
		q = &w->chunk->qp[w->pos++ - w->chunk->first];
		if (srdma_qp_in_table(q))
			return q;
	}
}

/* By number, NULL: it is not there. Any context; RCU section, or the device held. */
static inline struct srdma_qp *srdma_table_find(const struct srdma_table *t, u32 key)
{
	u32 chain = srdma_table_chain(key);
	struct hlist_nulls_node *n;
	struct srdma_qp *q;

	do {
		hlist_nulls_for_each_entry_rcu(q, n, &t->bucket[chain], node)
			if (srdma_qp_key(q) == key)
				return q;
		/* Ended on another chain: a QP that was passed had moved there. */
	} while (get_nulls_value(n) != chain);
	return NULL;
}

/*
 * The entry of @ibqp, which lives. Any context; RCU section, or inside a wrapper.
 * Only while the device is being retired it may be another's: srdma_qp_is()
 * tells, asked after what was read.
 */
static inline struct srdma_qp *srdma_qp_find(struct srdma_dev *dev, const struct ib_qp *ibqp)
{
	struct srdma_qp *q = srdma_table_find(&dev->qps, srdma_ib_qp_key(ibqp));

	return q && READ_ONCE(q->ibqp) == ibqp ? q : NULL;
}

static inline bool srdma_qp_is(const struct srdma_qp *q, const struct ib_qp *ibqp)
{
	smp_rmb();	/* what was read is of before; the table has it still */
	return srdma_qp_in_table(q) && READ_ONCE(q->ibqp) == ibqp;
}

/*
 * A reference on a QP that was found or met in a walk; false: it is gone. RCU
 * section, or the device held. What it is it stays from now on: compare again.
 */
bool srdma_qp_hold(struct srdma_qp *q);
/* By number; special QPs by port << 24 | qpn. With a reference. */
struct srdma_qp *srdma_qp_get_by_key(struct srdma_dev *dev, u32 key);
/* The next QP of a walk, with a reference. */
struct srdma_qp *srdma_walk_get(struct srdma_walk *w);

/*
 * One at a time on a QP: the application's modify and destroy, and enforce.c.
 * A bit rather than a mutex, for enforce.c holds many at once and a drain is
 * polled, not slept in. Process context.
 *
 * Part of every modify and destroy, where there is nearly never anything to wait
 * for, nor anybody who does: so both ways are short, and the rest is elsewhere.
 */
void srdma_qp_wait_lock(struct srdma_qp *q);
void srdma_qp_wake(struct srdma_qp *q);

static inline bool srdma_qp_trylock(struct srdma_qp *q)
{
	return !test_and_set_bit_lock(SRDMA_QP_LOCKED, &q->flags);
}

static inline void srdma_qp_lock(struct srdma_qp *q)
{
	__might_sleep(__FILE__, __LINE__);
	if (!srdma_qp_trylock(q))
		srdma_qp_wait_lock(q);
}

static inline void srdma_qp_unlock(struct srdma_qp *q)
{
	clear_bit_unlock(SRDMA_QP_LOCKED, &q->flags);
	smp_mb__after_atomic();	/* pairs with srdma_qp_wait_lock() */
	if (test_bit(SRDMA_QP_WANTED, &q->flags))
		srdma_qp_wake(q);
}

/* As srdma_qp_find(), with srdma_qp_lock() held and not dead. Inside a wrapper. */
static __always_inline struct srdma_qp *srdma_qp_find_lock(struct srdma_dev *dev,
							   const struct ib_qp *ibqp)
{
	struct srdma_qp *q = srdma_table_find(&dev->qps, srdma_ib_qp_key(ibqp));

	if (!q)
		return NULL;
	srdma_qp_lock(q);
	if (srdma_qp_in_table(q) && q->ibqp == ibqp && !test_bit(SRDMA_QP_DEAD, &q->flags))
		return q;
	srdma_qp_unlock(q);
	return NULL;
}

#endif /* SRDMA_FIND_H */
