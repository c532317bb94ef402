// SPDX-License-Identifier: GPL-2.0
/*
 * QPs that were made past RDMA core: by a library that sends the NIC's own
 * commands (mlx5's DEVX). They share its registers and caches with all others, so
 * they are in the table with them. But there is no ib_qp: from the first they are
 * as those are whose ib_qp is not to be touched any more, and so everything that
 * changes QPs passes them over.
 */
#include <linux/export.h>

#include "debug.h"
#include "devx.h"
#include "find.h"
#include "netlink.h"
#include "trace.h"
#include "uar.h"

/*
 * The UAR stands for a context, and which one made the QP the command does not say:
 * that of the page, if the same process rings it already, or if others' QPs do (then
 * it is shared, or was said to be; it is not taken from them); else the last one
 * that the process opened here.
 */
static struct srdma_uar *context_of(struct srdma_dev *dev, const struct srdma_owner *o, u32 page)
{
	struct srdma_uar *u, *found = NULL;
	unsigned long index;

	if (srdma_owner_is_kernel(o))	/* who made it has gone */
		return NULL;
	rcu_read_lock();
	u = xa_load(&dev->pages, page);
	if (u && (u->owner->pid == o->pid || atomic_read(&u->n_qps))) {
		found = u->context;
	} else {
		xa_for_each(&dev->uars, index, u)
			if (u->owner->pid == o->pid && (!found || u->since > found->since))
				found = u;
	}
	if (found && !kref_get_unless_zero(&found->ref))
		found = NULL;
	rcu_read_unlock();
	return found;
}

static void join_page(struct srdma_qp *q, u32 index)
{
	struct srdma_uar *page;

	q->uar = context_of(q->dev, q->owner, index);
	if (!q->uar)
		return;
	page = srdma_page_get(q->dev, q->uar, index, SWIFTRDMA_UAR_KIND_DYNAMIC);
	if (page)
		srdma_page_join(q, page);
}

int srdma_devx_add(struct srdma_dev *dev, const struct srdma_devx_qp *d)
{
	struct srdma_qp_hw *hw;
	struct srdma_qp *q;
	int ret = -ENOMEM;

	srdma_delay(SRDMA_DELAY_DEVX);
	q = srdma_qp_alloc(dev, NULL, true);
	if (!q)
		return ret;
	set_bit(SRDMA_QP_DEAD, &q->flags);
	set_bit(SRDMA_QP_DEVX, &q->flags);
	q->since = d->at;
	q->qpn = d->qpn;
	q->type = d->type;
	q->tid = d->tid;
	hw = srdma_qp_hw_make(q);
	q->owner = srdma_owner_task(d->task);
	if (!q->owner)	/* its process is gone already */
		q->owner = srdma_owner_kernel("exited");
	if (!hw || !q->owner)
		goto err_put;
	WRITE_ONCE(hw->absent, SWIFTRDMA_ABSENT_DEVX);
	RCU_INIT_POINTER(q->job, srdma_job_admit_adopted(dev, q->owner, &q->rules_gen));
	if (d->uar != SRDMA_NO_UAR)
		join_page(q, d->uar);
	/* Who would drop it waits until all of it is there. */
	srdma_qp_lock(q);
	kref_get(&q->ref);	/* ours, to unlock it */
	atomic_inc(&dev->n_devx);
	ret = srdma_qp_insert(q);
	if (ret) {
		atomic_dec(&dev->n_devx);
		srdma_qp_unlock(q);
		srdma_qp_put(q);
		srdma_qp_abort(q);
		return ret;
	}
	atomic64_inc(&dev->devx_created);
	srdma_qp_link(q);
	srdma_notify_qp(SWIFTRDMA_CMD_QP_CREATED_NTF, q);
	srdma_qp_unlock(q);
	srdma_qp_put(q);
	return 0;

err_put:
	srdma_qp_put(q);
	return ret;
}
EXPORT_SYMBOL_GPL(srdma_devx_add);

/* The caller has a reference. */
static void drop(struct srdma_qp *q)
{
	srdma_qp_lock(q);
	if (srdma_qp_drop(q))
		atomic_dec(&q->dev->n_devx);
}

void srdma_devx_del(struct srdma_dev *dev, u32 qpn, u64 at)
{
	struct srdma_qp *q;

	if (!atomic_read(&dev->n_devx))
		return;
	q = srdma_qp_get_by_key(dev, qpn);
	if (!q)
		return;
	if (test_bit(SRDMA_QP_DEVX, &q->flags) && q->since < at)
		drop(q);
	srdma_qp_put(q);
}
EXPORT_SYMBOL_GPL(srdma_devx_del);

bool srdma_devx_has(struct srdma_dev *dev, u32 qpn)
{
	struct srdma_qp *q;
	bool has;

	if (!atomic_read(&dev->n_devx))
		return false;
	rcu_read_lock();
	q = srdma_table_find(&dev->qps, qpn);
	has = q && test_bit(SRDMA_QP_DEVX, &q->flags);
	rcu_read_unlock();
	return has;
}
EXPORT_SYMBOL_GPL(srdma_devx_has);

void srdma_devx_drop_all(struct srdma_dev *dev)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;

	while (atomic_read(&dev->n_devx) && (q = srdma_walk_get(&w))) {
		if (test_bit(SRDMA_QP_DEVX, &q->flags))
			drop(q);
		srdma_qp_put(q);
		cond_resched();
	}
}
EXPORT_SYMBOL_GPL(srdma_devx_drop_all);
