// SPDX-License-Identifier: GPL-2.0
/*
 * QPs that were made past RDMA core, by a library that sends the NIC's own commands (mlx5's
 * DEVX). They share the NIC's registers and caches with all other QPs, so they are in the
 * same table. They have no ib_qp: they are DEAD from the start, and so everything that
 * changes QPs skips them.
 */
#include <linux/export.h>

#include "debug.h"
#include "devx.h"
#include "find.h"
#include "job.h"
#include "lifecycle.h"
#include "notify.h"
#include "trace.h"
#include "uar.h"

/*
 * Find the user context of a DEVX QP by its UAR page, because the command does not name the
 * context. If the page is known, and the same process owns it or QPs ring it, return the page's
 * context: a page in use stays with its context. Otherwise return the context that the process
 * opened last on this device.
 */
static struct srdma_uar *context_of(struct srdma_dev *dev, const struct srdma_owner *o, u32 page)
{
	struct srdma_uar *u, *found = NULL;
	unsigned long index;

	if (srdma_owner_is_kernel(o))	/* the process that made the QP has exited */
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
	if (!q->owner)	/* the process has exited */
		q->owner = srdma_owner_kernel("exited");
	if (!hw || !q->owner)
		goto err_put;
	WRITE_ONCE(hw->absent, SWIFTRDMA_ABSENT_DEVX);
	RCU_INIT_POINTER(q->job, srdma_job_admit_adopted(dev, q->owner, &q->rules_gen));
	if (d->uar != SRDMA_NO_UAR)
		join_page(q, d->uar);
	/* A concurrent drop waits for this lock until the QP is complete. */
	srdma_qp_lock(q);
	kref_get(&q->ref);	/* for the unlock below */
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
	srdma_notify(qp_created, q);
	srdma_qp_unlock(q);
	srdma_qp_put(q);
	return 0;

err_put:
	srdma_qp_put(q);
	return ret;
}
EXPORT_SYMBOL_GPL(srdma_devx_add);

/* The caller has a reference. */
static void drop_qp(struct srdma_qp *q)
{
	srdma_qp_lock(q);
	srdma_qp_drop(q);
}

bool srdma_devx_del(struct srdma_dev *dev, u32 qpn, u64 at)
{
	bool known = true;
	struct srdma_qp *q;

	if (!atomic_read(&dev->n_devx))
		return true;
	q = srdma_qp_get_by_key(dev, qpn);
	if (!q)
		return true;
	if (test_bit(SRDMA_QP_DEVX, &q->flags)) {
		known = q->since != at;
		if (q->since < at)
			drop_qp(q);
	}
	srdma_qp_put(q);
	return known;
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
	struct srdma_qp *q;

	if (!atomic_read(&dev->n_devx))
		return;
	srdma_for_each_qp(q, dev)
		if (test_bit(SRDMA_QP_DEVX, &q->flags))
			drop_qp(q);
}
EXPORT_SYMBOL_GPL(srdma_devx_drop_all);
