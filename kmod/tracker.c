// SPDX-License-Identifier: GPL-2.0
/*
 * What there is: devices and their QPs, from the call that makes one to the call
 * that ends it. uar.c has the contexts, adopt.c what is older than the module.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "adopt.h"
#include "counters.h"
#include "debug.h"
#include "debugfs.h"
#include "devx.h"
#include "enforce.h"
#include "find.h"
#include "hook.h"
#include "mr.h"
#include "netlink.h"
#include "results.h"
#include "trace.h"
#include "tracker.h"
#include "uar.h"

DECLARE_RWSEM(srdma_devs_sem);
DEFINE_XARRAY(srdma_devs);
atomic64_t srdma_generation = ATOMIC64_INIT(1);
EXPORT_SYMBOL_GPL(srdma_generation);

/*
 * A dump may take its generation between the reading here and the stamp. It passes
 * over the QP then, and so would the next one, whose changes are those since that
 * generation. So the stamp is right only if the generation is the same after it.
 */
void srdma_qp_stamp(struct srdma_qp *q)
{
	s64 gen, old;

	do {
		gen = atomic64_read(&srdma_generation);
		srdma_delay(SRDMA_DELAY_STAMP);
		old = atomic64_read(&q->stamp);
		while (old < gen && !atomic64_try_cmpxchg(&q->stamp, &old, gen))
			;
		smp_mb();	/* pairs with atomic64_inc_return() in the dump */
	} while (gen != atomic64_read(&srdma_generation));
}
EXPORT_SYMBOL_GPL(srdma_qp_stamp);

static atomic64_t next_serial;
static struct workqueue_struct *release_wq;

/* Devices */

static void dev_release_work(struct work_struct *work)
{
	struct srdma_dev *dev = container_of(work, struct srdma_dev, release);

	WARN_ON(atomic_read(&dev->n_qps));
	synchronize_rcu();	/* who found a QP or the device without a reference */
	srdma_table_destroy(&dev->qps);
	srdma_ports_exit(dev);
	xa_destroy(&dev->left);
	xa_destroy(&dev->uars);
	xa_destroy(&dev->pages);
	xa_destroy(&dev->jobs);
	kvfree(dev);
}

struct srdma_dev *srdma_dev_new(struct ib_device *ibdev)
{
	struct srdma_dev *dev = kvzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	kref_init(&dev->ref);
	dev->index = ibdev->index;
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	dev->ibdev = ibdev;
	dev->provider = srdma_provider_of(ibdev);
	dev->caps = dev->provider->caps;
	dev->query_is_cheap = dev->provider->query_is_cheap;
	dev->function = srdma_function_of(ibdev);
	dev->since = ktime_get_ns();
	INIT_WORK(&dev->release, dev_release_work);
	mutex_init(&dev->adopt_lock);
	mutex_init(&dev->learn_lock);
	xa_init(&dev->left);
	xa_init_flags(&dev->uars, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	hash_init(dev->uar_hash);
	spin_lock_init(&dev->uar_lock);
	xa_init_flags(&dev->pages, XA_FLAGS_ACCOUNT);
	mutex_init(&dev->page_lock);
	xa_init(&dev->jobs);
	mutex_init(&dev->provider_lock);
	srdma_enforce_dev_init(dev);
	srdma_refresh_init(dev);
	srdma_mr_init(dev);
	if (srdma_ports_init(dev))
		goto err_dev;
	if (srdma_table_init(&dev->qps))
		goto err_ports;
	dev->kernel_uar = srdma_uar_new_kernel(dev);
	if (!dev->kernel_uar) {
		srdma_dev_put(dev);
		return NULL;
	}
	return dev;

err_ports:
	srdma_ports_exit(dev);
err_dev:
	kvfree(dev);
	return NULL;
}

struct srdma_dev *srdma_dev_next(unsigned long *index)
{
	struct srdma_dev *dev;

	down_read(&srdma_devs_sem);
	dev = xa_find(&srdma_devs, index, ULONG_MAX, XA_PRESENT);
	if (dev) {
		srdma_dev_get(dev);
		(*index)++;
	}
	up_read(&srdma_devs_sem);
	return dev;
}

/* A QP may be the last to hold it, and be put in an RCU section. */
static void dev_release(struct kref *ref)
{
	queue_work(release_wq, &container_of(ref, struct srdma_dev, ref)->release);
}

void srdma_dev_put(struct srdma_dev *dev)
{
	kref_put(&dev->ref, dev_release);
}

int srdma_dev_publish(struct srdma_dev *dev)
{
	int ret;

	/* What was asked for until now finds nothing here. */
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
		srdma_debugfs_add(dev);
	up_write(&srdma_devs_sem);
	if (!ret)
		srdma_ports_watch(dev);
	return ret;
}

void srdma_qp_link(struct srdma_qp *q)
{
	if (q->uar) {
		atomic_inc(&q->uar->n_qps);
		atomic64_inc(&q->uar->created);
	}
	srdma_job_join(q);
	trace_srdma_qp_create(q);
}

void srdma_qp_unlink(struct srdma_qp *q)
{
	atomic_dec(&q->dev->n_qps);
	srdma_job_leave(q);
	if (q->uar)
		atomic_dec(&q->uar->n_qps);
	srdma_page_leave(q);
}

/* One that was UNSURE is not any more. The QP is held. */
static bool not_unsure(struct srdma_qp *q)
{
	if (!test_and_clear_bit(SRDMA_QP_UNSURE, &q->flags))
		return false;
	atomic_dec(&q->dev->n_unsure);
	return true;
}

/*
 * Let go of this QP, unless somebody has before: from here on ib_qp is not
 * touched. The entry stays in the table, which only who let go may change.
 */
static bool qp_let_go(struct srdma_qp *q)
{
	bool first;

	srdma_qp_lock(q);
	first = !test_and_set_bit(SRDMA_QP_DEAD, &q->flags) || not_unsure(q);
	if (first)
		srdma_provider_detach(q);
	srdma_qp_unlock(q);
	return first;
}

void srdma_dev_close(struct srdma_dev *dev)
{
	down_write(&srdma_devs_sem);
	xa_erase(&srdma_devs, dev->index);
	up_write(&srdma_devs_sem);
	srdma_batches_passed();	/* none waits for it any more */
	srdma_refresh_stop(dev);
	srdma_ports_unwatch(dev);
	srdma_debugfs_remove(dev);

	srdma_table_close(&dev->qps);
}

/*
 * While the hook is still in place: a destroy that did not pass through it would
 * leave us with a QP that is gone. Whoever put a QP in before the table was closed
 * is out of its wrapper, and so done with it.
 */
void srdma_dev_retire(struct srdma_dev *dev)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;

	while ((q = srdma_walk_get(&w))) {
		if (qp_let_go(q)) {
			srdma_table_del(&dev->qps, q);
			srdma_qp_unlink(q);
			srdma_qp_put(q);	/* the table's */
		}
		srdma_qp_put(q);
	}
	srdma_devx_drop_all(dev);
}

/* The hook is out and nobody is in a wrapper of this device. */
void srdma_dev_forget(struct srdma_dev *dev)
{
	srdma_enforce_dev_stop(dev);
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

static void qp_release(struct kref *ref)
{
	struct srdma_qp *q = container_of(ref, struct srdma_qp, ref);
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	struct srdma_dev *dev = q->dev;
	struct srdma_uar *page;

	srdma_job_dev_put(rcu_dereference_protected(q->job, 1));
	if (!test_bit(SRDMA_QP_UAR_OWNER, &q->flags))
		srdma_owner_put(q->owner);
	srdma_uar_put(q->uar);
	if (hw) {
		page = hw->page;
		WRITE_ONCE(hw->live, false);
		WRITE_ONCE(hw->page, NULL);	/* who found it before is in an RCU section */
		srdma_uar_put(page);
		srdma_element_put(hw->element);
		hw->element = NULL;
	}
	srdma_table_free(&dev->qps, q);
	srdma_dev_put(dev);
}

void srdma_qp_put(struct srdma_qp *q)
{
	kref_put(&q->ref, qp_release);
}
EXPORT_SYMBOL_GPL(srdma_qp_put);

/* Everything but owner, job and UAR; the QP may not have its number yet. */
struct srdma_qp *srdma_qp_alloc(struct srdma_dev *dev, struct ib_qp *ibqp, bool user)
{
	struct srdma_qp *q = srdma_table_alloc(&dev->qps);

	static_assert(!((sizeof(*q) - offsetof(struct srdma_qp, ibqp)) % sizeof(u64)));
	if (!q)
		return NULL;
	/* Somebody may be on the way to find out that it is not what was looked for. */
	set_mask_bits(&q->flags, ~(BIT(SRDMA_QP_LOCKED) | BIT(SRDMA_QP_WANTED)),
		      user ? BIT(SRDMA_QP_USER) : 0);
	memset64((u64 *)&q->ibqp, 0,
		 (sizeof(*q) - offsetof(struct srdma_qp, ibqp)) / sizeof(u64));
	srdma_dev_get(dev);
	q->dev = dev;
	q->ibqp = ibqp;
	/* A driver's own types are beyond what fits, and beyond what has a name. */
	if (ibqp)
		q->type = min_t(u32, ibqp->qp_type, IB_QPT_DRIVER);
	q->since = ktime_get_ns();
	q->serial = atomic64_inc_return(&next_serial);
	q->retry_at = jiffies;
	smp_wmb();	/* pairs with srdma_qp_hold() */
	kref_init(&q->ref);
	return q;
}

struct srdma_qp_hw *srdma_qp_hw_make(struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = q->hw;

	if (!hw) {
		hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
		if (!hw)
			return NULL;
		smp_store_release(&q->hw, hw);	/* pairs with srdma_qp_hw() */
	} else if (hw->live) {
		return hw;
	}
	hw->member = NULL;
	hw->slot = SRDMA_NO_SLOT;
	hw->element = NULL;
	WRITE_ONCE(hw->wrs_since, 0);
	WRITE_ONCE(hw->counted, false);
	WRITE_ONCE(hw->ambiguous, false);
	WRITE_ONCE(hw->sure, false);
	WRITE_ONCE(hw->absent, SWIFTRDMA_ABSENT_NOT_YET);
	memset(hw->path, 0, sizeof(hw->path));
	smp_store_release(&hw->live, true);	/* pairs with srdma_qp_hw() */
	return hw;
}
EXPORT_SYMBOL_GPL(srdma_qp_hw_make);

/* The number and what else only the driver's create_qp could say. */
void srdma_qp_identify(struct srdma_qp *q)
{
	struct ib_qp *ibqp = q->ibqp;

	q->qpn = ibqp->qp_num;
	q->key_port = ibqp->port;
	q->send_cq = ibqp->send_cq ? ibqp->send_cq->res.id : 0;
	q->recv_cq = ibqp->recv_cq ? ibqp->recv_cq->res.id : 0;
}

void srdma_qp_set_caps(struct srdma_qp *q, const struct ib_qp_cap *cap)
{
	q->max_send_wr = cap->max_send_wr;
	q->max_recv_wr = cap->max_recv_wr;
	q->max_send_sge = cap->max_send_sge;
	q->max_recv_sge = cap->max_recv_sge;
	q->max_inline = cap->max_inline_data;
}

struct srdma_qp *srdma_qp_prepare(struct srdma_dev *dev, struct ib_qp *ibqp,
				  struct ib_qp_init_attr *attr, bool user)
{
	struct srdma_job_dev *jd;
	struct srdma_qp *q;

	q = srdma_qp_alloc(dev, ibqp, user);
	if (!q)
		return ERR_PTR(-ENOMEM);
	q->uar = srdma_uar_of(dev, ibqp, user);
	/* Usually who opened the context is also who makes its QPs. */
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

int srdma_qp_insert(struct srdma_qp *q)
{
	int ret = srdma_table_add(&q->dev->qps, q);

	/* One whose end was missed is in the way: the number is this QP's now. */
	if (ret == -EEXIST) {
		srdma_devx_del(q->dev, srdma_qp_key(q), U64_MAX);
		srdma_adopt_forget(q->dev, srdma_qp_key(q));
		ret = srdma_table_add(&q->dev->qps, q);
	}
	if (ret)
		return ret;
	srdma_qp_touch(q);
	atomic_inc(&q->dev->n_qps);
	return 0;
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
		/* The application has its QP all the same; we say we lost it. */
		atomic64_inc(&dev->untracked);
		srdma_qp_abort(q);
		return;
	}
	srdma_delay(SRDMA_DELAY_PUBLISHED);
	srdma_qp_link(q);
	srdma_notify_qp(SWIFTRDMA_CMD_QP_CREATED_NTF, q);
}

/*
 * Out of the table before the driver destroys it, for its number may be another
 * QP's the moment it has. Waits for a live change to give way. NULL: not known.
 * The adoption scan, while it runs, is told not to take in (again) what is about
 * to vanish but may be listed by RDMA core until it has.
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
	if (!q && atomic_read(&dev->n_unsure)) {
		srdma_adopt_used(dev, ibqp);
		q = srdma_qp_find_lock(dev, ibqp);
	}
	if (!q)
		return NULL;
	set_bit(SRDMA_QP_DEAD, &q->flags);
	srdma_provider_detach(q);
	smp_wmb();	/* who does not find it any more finds its handler back */
	srdma_table_del(&dev->qps, q);
	srdma_qp_unlock(q);
	return q;
}

bool srdma_qp_drop(struct srdma_qp *q)
{
	bool first = srdma_qp_in_table(q);

	if (first) {
		not_unsure(q);
		srdma_provider_detach(q);
		srdma_table_del(&q->dev->qps, q);
	}
	srdma_qp_unlock(q);
	if (!first)
		return false;
	trace_srdma_qp_destroy(q);
	srdma_notify_qp(SWIFTRDMA_CMD_QP_DESTROYED_NTF, q);
	srdma_qp_unlink(q);
	srdma_qp_put(q);	/* the table's */
	return true;
}

void srdma_qp_gone(struct srdma_qp *q)
{
	atomic64_inc(&q->dev->destroyed);
	trace_srdma_qp_destroy(q);
	srdma_notify_qp(SWIFTRDMA_CMD_QP_DESTROYED_NTF, q);
	srdma_qp_unlink(q);
	srdma_qp_put(q);	/* the table's */
}

void srdma_qp_stay(struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int ret, part;

	/* Held, so that whoever finds it in the table finds it alive or not. */
	srdma_qp_lock(q);
	atomic_dec(&q->dev->n_qps);
	/* What is in force is worked out for those that are in the table. */
	WRITE_ONCE(q->level, 0);
	for (part = 0; hw && part < SRDMA_PATH_PARTS; part++)
		WRITE_ONCE(hw->path[part].want, 0);
	clear_bit(SRDMA_QP_DEAD, &q->flags);
	clear_bit(SRDMA_QP_LISTED, &q->flags);	/* meanwhile it was not */
	ret = srdma_qp_insert(q);
	if (ret)
		set_bit(SRDMA_QP_DEAD, &q->flags);
	srdma_qp_unlock(q);
	if (!ret) {
		/* Rules, leases and levels may have changed where it was not seen. */
		srdma_job_recheck();
		return;
	}
	atomic64_inc(&q->dev->untracked);
	atomic_inc(&q->dev->n_qps);
	srdma_qp_unlink(q);
	srdma_qp_put(q);
}

int srdma_tracker_init(void)
{
	release_wq = alloc_workqueue("swiftrdma_release", WQ_UNBOUND, 0);
	return release_wq ? 0 : -ENOMEM;
}

void srdma_tracker_exit(void)
{
	destroy_workqueue(release_wq);
	rcu_barrier();
}
