// SPDX-License-Identifier: GPL-2.0
/*
 * What find.h need not have at hand: who holds a QP, and who waits for its lock.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/wait_bit.h>

#include "find.h"

/*
 * What it is now, it is for as long as it is held, so the caller compares after
 * this. One that is not in the table is nobody's yet.
 */
bool srdma_qp_hold(struct srdma_qp *q)
{
	if (!kref_get_unless_zero(&q->ref))
		return false;
	smp_rmb();	/* pairs with srdma_qp_alloc(): all of it is this QP's */
	if (srdma_qp_in_table(q))
		return true;
	srdma_qp_put(q);
	return false;
}

struct srdma_qp *srdma_qp_get_by_key(struct srdma_dev *dev, u32 key)
{
	struct srdma_qp *q;

	rcu_read_lock();
	q = srdma_table_find(&dev->qps, key);
	if (q && !srdma_qp_hold(q))
		q = NULL;
	rcu_read_unlock();
	if (q && srdma_qp_key(q) != key) {
		srdma_qp_put(q);
		q = NULL;
	}
	return q;
}

struct srdma_qp *srdma_walk_get(struct srdma_walk *w)
{
	struct srdma_qp *q;

	rcu_read_lock();
	do {
		q = srdma_walk_next(w);
	} while (q && !srdma_qp_hold(q));
	rcu_read_unlock();
	return q;
}
EXPORT_SYMBOL_GPL(srdma_walk_get);

/* A live change that holds it sees WANTED and gives way. */
static bool lock_or_want(struct srdma_qp *q)
{
	if (srdma_qp_trylock(q))
		return true;
	set_bit(SRDMA_QP_WANTED, &q->flags);
	smp_mb__after_atomic();	/* pairs with srdma_qp_unlock() */
	return srdma_qp_trylock(q);
}

/*
 * Who waits says so before each look at the lock, not once: an unlock takes the
 * word back, and another may have the lock again before the waiter runs.
 */
void srdma_qp_wait_lock(struct srdma_qp *q)
{
	wait_var_event(&q->flags, lock_or_want(q));
}

void srdma_qp_wake(struct srdma_qp *q)
{
	if (test_and_clear_bit(SRDMA_QP_WANTED, &q->flags))
		wake_up_var(&q->flags);
}
EXPORT_SYMBOL_GPL(srdma_qp_wake);
