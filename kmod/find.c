// SPDX-License-Identifier: GPL-2.0
/* References on QPs, and waiting for srdma_qp_lock(): the parts of find.h that are not inline. */
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/wait_bit.h>

#include "find.h"

/*
 * A QP with a reference stays the same QP, so the caller checks which one it is after this.
 * A QP that is not in the table is free or still being set up.
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

/* A live change that holds the lock sees WANTED and gives the QP up. */
static bool lock_or_want(struct srdma_qp *q)
{
	if (srdma_qp_trylock(q))
		return true;
	set_bit(SRDMA_QP_WANTED, &q->flags);
	smp_mb__after_atomic();	/* pairs with srdma_qp_unlock() */
	return srdma_qp_trylock(q);
}

/*
 * A waiter sets WANTED before each try, not once: an unlock clears it, and another thread
 * may take the lock before the waiter runs.
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
