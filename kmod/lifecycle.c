// SPDX-License-Identifier: GPL-2.0
/*
 * The steps in which a device or a QP comes and goes, for hook.c, adopt.c and devx.c. Each step
 * calls the tracker, the provider, the job and the notifiers in the required order.
 */
#include <linux/slab.h>

#include "counters.h"
#include "debug.h"
#include "enforce.h"
#include "find.h"
#include "lifecycle.h"
#include "mr.h"
#include "notify.h"
#include "results.h"
#include "trace.h"
#include "uar.h"

/* QPs in the table */

void srdma_qp_link(struct srdma_qp *q)
{
	if (q->uar) {
		atomic_inc(&q->uar->n_qps);
		atomic64_inc(&q->uar->created);
	}
	srdma_job_join(q);
	trace_srdma_qp_create(q);
}

/* The QP is out of the table: uncount it. The table's reference is the caller's now. */
static void unlink_qp(struct srdma_qp *q)
{
	atomic_dec(&q->dev->n_qps);
	srdma_job_leave(q);
	if (q->uar)
		atomic_dec(&q->uar->n_qps);
	srdma_page_leave(q);
}

/* Resolve UNSURE; true: the QP was UNSURE. srdma_qp_lock() is held. */
static bool resolve_unsure(struct srdma_qp *q)
{
	if (!test_and_clear_bit(SRDMA_QP_UNSURE, &q->flags))
		return false;
	atomic_dec(&q->dev->n_unsure);
	return true;
}

/*
 * Mark the QP DEAD and detach its provider: from here on ib_qp is not touched. True for the
 * first caller only, which alone may take the entry out of the table.
 */
static bool mark_dead_and_detach(struct srdma_qp *q)
{
	bool first;

	srdma_qp_lock(q);
	first = !test_and_set_bit(SRDMA_QP_DEAD, &q->flags) || resolve_unsure(q);
	if (first)
		srdma_provider_detach(q);
	srdma_qp_unlock(q);
	return first;
}

bool srdma_qp_drop(struct srdma_qp *q)
{
	bool first = srdma_qp_in_table(q);

	if (first) {
		/* UNSURE and DEVX tell the provider that there may be no ibqp to follow. */
		srdma_provider_detach(q);
		resolve_unsure(q);
		if (test_bit(SRDMA_QP_DEVX, &q->flags))
			atomic_dec(&q->dev->n_devx);
		srdma_table_del(&q->dev->qps, q);
	}
	srdma_qp_unlock(q);
	if (!first)
		return false;
	trace_srdma_qp_destroy(q);
	srdma_notify(qp_destroyed, q);
	unlink_qp(q);
	srdma_qp_put(q);	/* the table's */
	return true;
}

/* The number is another QP's now: drop the old entry, if the end of its QP passed no wrapper. */
static void drop_stale(struct srdma_dev *dev, u32 key)
{
	struct srdma_qp *q = srdma_qp_get_by_key(dev, key);

	if (!q)
		return;
	srdma_qp_lock(q);
	if (test_bit(SRDMA_QP_DEVX, &q->flags) || test_bit(SRDMA_QP_UNSURE, &q->flags))
		srdma_qp_drop(q);
	else
		srdma_qp_unlock(q);
	srdma_qp_put(q);
}

int srdma_qp_insert(struct srdma_qp *q)
{
	int ret = srdma_table_add(&q->dev->qps, q);

	if (ret == -EEXIST) {
		drop_stale(q->dev, srdma_qp_key(q));
		ret = srdma_table_add(&q->dev->qps, q);
	}
	if (ret)
		return ret;
	srdma_qp_touch(q);
	atomic_inc(&q->dev->n_qps);
	return 0;
}

/* Devices */

struct srdma_dev *srdma_dev_new(struct ib_device *ibdev)
{
	struct srdma_dev *dev = srdma_dev_alloc(ibdev);

	if (!dev)
		return NULL;
	dev->provider = srdma_provider_of(ibdev);
	dev->caps = dev->provider->caps;
	dev->query_is_cheap = dev->provider->query_is_cheap;
	dev->function = srdma_function_of(ibdev);
	srdma_enforce_dev_init(dev);
	srdma_refresh_init(dev);
	if (srdma_ports_init(dev)) {
		srdma_dev_abort(dev);
		return NULL;
	}
	return dev;
}

void srdma_dev_abort(struct srdma_dev *dev)
{
	srdma_uar_drop_all(dev);
	srdma_dev_put(dev);
}

int srdma_dev_publish(struct srdma_dev *dev)
{
	int ret;

	/* Earlier batches have nothing to change on this device. */
	atomic64_set(&dev->enforced, srdma_batches_asked());
	down_write(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	ret = srdma_job_dev_added(dev);
	if (!ret)
		ret = xa_err(xa_store(&srdma_devs, dev->index, dev, GFP_KERNEL));
	if (!ret)
		srdma_override_recompute();
	else
		srdma_job_dev_removed(dev);
	mutex_unlock(&srdma_ctl_lock);
	if (!ret)
		srdma_notify(dev_added, dev);
	up_write(&srdma_devs_sem);
	if (!ret)
		srdma_ports_watch(dev);
	return ret;
}

void srdma_dev_close(struct srdma_dev *dev)
{
	down_write(&srdma_devs_sem);
	xa_erase(&srdma_devs, dev->index);
	up_write(&srdma_devs_sem);
	srdma_batches_passed();	/* batches no longer wait for this device */
	srdma_refresh_stop(dev);
	srdma_ports_unwatch(dev);
	srdma_notify(dev_removed, dev);
	srdma_table_close(&dev->qps);
}

/*
 * The hook is still in place: a destroy that did not pass it would leave an entry whose
 * ib_qp is gone. Threads that added a QP before the table was closed have left their
 * wrappers, and so have finished with it.
 */
void srdma_dev_retire(struct srdma_dev *dev)
{
	struct srdma_qp *q;

	srdma_for_each_qp(q, dev) {
		if (test_bit(SRDMA_QP_DEVX, &q->flags)) {
			srdma_qp_lock(q);
			srdma_qp_drop(q);
		} else if (mark_dead_and_detach(q)) {
			srdma_table_del(&dev->qps, q);
			unlink_qp(q);
			srdma_qp_put(q);	/* the table's */
		}
	}
}

/* The hook is out, and no thread is in a wrapper of this device. */
void srdma_dev_forget(struct srdma_dev *dev)
{
	srdma_pass_dev_stop(dev);
	down_write(&srdma_devs_sem);
	dev->ibdev = NULL;
	up_write(&srdma_devs_sem);
	srdma_uar_drop_all(dev);
	srdma_mr_drop_all(dev);

	mutex_lock(&srdma_ctl_lock);
	srdma_job_dev_removed(dev);
	mutex_unlock(&srdma_ctl_lock);
}

/* QPs */

struct srdma_qp *srdma_qp_prepare(struct srdma_dev *dev, struct ib_qp *ibqp,
				  struct ib_qp_init_attr *attr, bool user)
{
	struct srdma_job_dev *jd;
	struct srdma_qp *q;

	q = srdma_qp_alloc(dev, ibqp, user);
	if (!q)
		return ERR_PTR(-ENOMEM);
	q->uar = srdma_uar_of(dev, ibqp, user);
	/* Usually the process that opened the context also creates its QPs. */
	if (user && q->uar && srdma_owner_is_current(q->uar->owner)) {
		q->owner = q->uar->owner;
		set_bit(SRDMA_QP_UAR_OWNER, &q->flags);
	} else {
		q->owner = user ? srdma_owner_current() :
				  srdma_owner_kernel(ibqp->res.kern_name);
	}
	if (!q->owner)
		goto err_nomem;
	q->tid = user ? task_pid_nr(current) : 0;
	jd = srdma_job_admit(dev, q->owner, &q->rules_gen);
	if (IS_ERR(jd)) {
		srdma_qp_put(q);
		return ERR_CAST(jd);
	}
	RCU_INIT_POINTER(q->job, jd);
	q->state = IB_QPS_RESET;
	set_bit(SRDMA_QP_HAS_STATE, &q->flags);
	return q;

err_nomem:
	srdma_qp_put(q);
	return ERR_PTR(-ENOMEM);
}

void srdma_qp_abort(struct srdma_qp *q)
{
	if (srdma_qp_hw(q)) {
		srdma_provider_detach(q);
		srdma_page_leave(q);
	}
	srdma_job_unadmit(rcu_dereference_protected(q->job, 1));
	srdma_qp_put(q);
}

void srdma_qp_publish(struct srdma_qp *q, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct srdma_dev *dev = q->dev;
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);

	srdma_qp_identify(q);
	srdma_qp_set_caps(q, &attr->cap);
	if (ops->qp_created)
		ops->qp_created(q, attr, udata);
	atomic64_inc(&dev->created);
	if (srdma_qp_insert(q)) {
		/*
		 * The application gets its QP all the same; the device's figures count it
		 * as untracked.
		 */
		atomic64_inc(&dev->untracked);
		srdma_qp_abort(q);
		return;
	}
	srdma_delay(SRDMA_DELAY_PUBLISHED);
	srdma_qp_link(q);
	srdma_notify(qp_created, q);
}

/*
 * Take the QP out of the table before the driver destroys it: after that, its number may be
 * another QP's. Waits for a live change to give way. NULL: the QP is not in the table.
 *
 * While the adoption scan runs, @left keeps it from adopting this QP, which RDMA core may list
 * until it is destroyed.
 */
struct srdma_qp *srdma_qp_leave(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	struct srdma_qp *q;

	if (READ_ONCE(dev->adopting)) {
		mutex_lock(&dev->adopt_lock);
		if (dev->adopting &&
		    xa_is_err(xa_store(&dev->left, srdma_ib_qp_key(ibqp), xa_mk_value(0),
				       GFP_KERNEL)))
			dev->adopt_abort = true;
		mutex_unlock(&dev->adopt_lock);
	}
	q = srdma_qp_find_lock(dev, ibqp);
	if (!q)
		return NULL;
	set_bit(SRDMA_QP_DEAD, &q->flags);
	srdma_provider_detach(q);
	smp_wmb();	/* a thread that does not find the QP any more finds its handler restored */
	srdma_table_del(&dev->qps, q);
	srdma_qp_unlock(q);
	return q;
}

void srdma_qp_gone(struct srdma_qp *q)
{
	atomic64_inc(&q->dev->destroyed);
	trace_srdma_qp_destroy(q);
	srdma_notify(qp_destroyed, q);
	unlink_qp(q);
	srdma_qp_put(q);	/* the table's */
}

void srdma_qp_stay(struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int ret, part;

	/*
	 * Locked, so that a thread that finds the QP in the table sees it either alive or
	 * dead.
	 */
	srdma_qp_lock(q);
	atomic_dec(&q->dev->n_qps);
	/* Overrides are computed for QPs in the table only, so these may be stale. */
	WRITE_ONCE(q->level, 0);
	for (part = 0; hw && part < SRDMA_PATH_PARTS; part++)
		WRITE_ONCE(hw->path[part].want, 0);
	clear_bit(SRDMA_QP_DEAD, &q->flags);
	clear_bit(SRDMA_QP_LISTED, &q->flags);	/* RDMA core may have unlisted it meanwhile */
	ret = srdma_qp_insert(q);
	if (ret)
		set_bit(SRDMA_QP_DEAD, &q->flags);
	srdma_qp_unlock(q);
	if (!ret) {
		/* Rules, leases and levels may have changed while the QP was not in the table. */
		srdma_job_recheck();
		return;
	}
	atomic64_inc(&q->dev->untracked);
	atomic_inc(&q->dev->n_qps);
	unlink_qp(q);
	srdma_qp_put(q);
}
