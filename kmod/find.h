/* SPDX-License-Identifier: GPL-2.0 */
/* Finding, holding and locking a QP. */
#ifndef SRDMA_FIND_H
#define SRDMA_FIND_H

#include <linux/sched.h>

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

/* The key of @ibqp, which its driver has already numbered. */
static inline u32 srdma_ib_qp_key(const struct ib_qp *ibqp)
{
	return srdma_key(min_t(u32, ibqp->qp_type, IB_QPT_DRIVER), ibqp->qp_num, ibqp->port);
}

static inline bool srdma_qp_in_table(const struct srdma_qp *q)
{
	return smp_load_acquire(&q->node.pprev);	/* pairs with srdma_table_add() */
}

/*
 * The next QP of a walk; NULL: there is none. RCU section, or a reference on the device. A
 * step takes some ten instructions, because a dump of changes skips nearly all QPs.
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

/* The QP of @key; NULL: there is none. Any context; RCU section, or a reference on the device. */
static inline struct srdma_qp *srdma_table_find(const struct srdma_table *t, u32 key)
{
	u32 chain = srdma_table_chain(key);
	struct hlist_nulls_node *n;
	struct srdma_qp *q;

	do {
		hlist_nulls_for_each_entry_rcu(q, n, &t->bucket[chain], node)
			if (srdma_qp_key(q) == key)
				return q;
		/* The walk ended on another chain: a QP that it passed was reused there. */
	} while (get_nulls_value(n) != chain);
	return NULL;
}

/*
 * The entry of @ibqp, which is alive; NULL: there is none. Any context; RCU section, or inside a
 * wrapper. The entry can become another QP's only while the device is being retired;
 * srdma_qp_is(), called after the entry was read, is false then.
 */
static inline struct srdma_qp *srdma_qp_find(struct srdma_dev *dev, const struct ib_qp *ibqp)
{
	struct srdma_qp *q = srdma_table_find(&dev->qps, srdma_ib_qp_key(ibqp));

	return q && READ_ONCE(q->ibqp) == ibqp ? q : NULL;
}

static inline bool srdma_qp_is(const struct srdma_qp *q, const struct ib_qp *ibqp)
{
	smp_rmb();	/* what the caller read, it read before this check */
	return srdma_qp_in_table(q) && READ_ONCE(q->ibqp) == ibqp;
}

/*
 * Take a reference on a QP that was found or visited by a walk; false: the QP is gone. RCU
 * section, or a reference on the device. The QP stays the same from now on, but may have
 * changed before: check again which one it is.
 */
bool srdma_qp_hold(struct srdma_qp *q);
/* The QP of @key (of special QPs port << 24 | qpn), with a reference; or NULL. */
struct srdma_qp *srdma_qp_get_by_key(struct srdma_dev *dev, u32 key);
/* The next QP of a walk, with a reference; NULL: there is none. */
struct srdma_qp *srdma_walk_get(struct srdma_walk *w);

static inline void srdma_end_visit(struct srdma_qp *q)
{
	srdma_qp_put(q);
	cond_resched();
}

/*
 * Visit each QP of @dev, with a reference that ends with the visit: a break out of the loop
 * would leak it. Sleeps between visits.
 */
#define srdma_for_each_qp(q, dev)						\
	for (struct srdma_walk walk_ = SRDMA_WALK(&(dev)->qps, 0);		\
	     ((q) = srdma_walk_get(&walk_)); srdma_end_visit(q))

/*
 * The lock of a QP, which excludes the application's modify and destroy and enforce.c from
 * each other. It is a bit and not a mutex, because enforce.c holds many at once, and polls
 * a drain instead of sleeping in it. Process context.
 *
 * Every modify and destroy takes it, and nearly always without contention: so the fast
 * paths are inline, and waiting and waking are in find.c.
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

/*
 * As srdma_qp_find(), and locked with srdma_qp_lock(); NULL if the QP is dead. Inside a
 * wrapper.
 */
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
