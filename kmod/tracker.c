// SPDX-License-Identifier: GPL-2.0
/*
 * Devices and QPs as objects, the set of devices, and the generations of changes.
 * lifecycle.c has the steps in which a device or a QP comes and goes, uar.c the user
 * contexts.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "debug.h"
#include "find.h"
#include "mr.h"
#include "notify.h"
#include "uar.h"

DECLARE_RWSEM(srdma_devs_sem);
DEFINE_XARRAY(srdma_devs);
atomic64_t srdma_generation = ATOMIC64_INIT(1);
EXPORT_SYMBOL_GPL(srdma_generation);

/*
 * A dump may take a new generation between the read of the generation here and the stamp.
 * That dump skips the QP, and the next one, which asks for changes since that generation,
 * would skip it too. So the stamp holds only if the generation is still the same
 * afterwards.
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

bool srdma_armed;

DEFINE_SRCU(srdma_srcu);

void srdma_wrappers_wait(void)
{
	synchronize_srcu(&srdma_srcu);
}

static atomic64_t next_serial;
static struct workqueue_struct *release_wq;

/* Devices */

static void dev_release_work(struct work_struct *work)
{
	struct srdma_dev *dev = container_of(work, struct srdma_dev, release);

	WARN_ON(atomic_read(&dev->n_qps));
	synchronize_rcu();	/* for readers that found the device or a QP without a reference */
	srdma_table_destroy(&dev->qps);
	kvfree(dev->ports);
	xa_destroy(&dev->left);
	xa_destroy(&dev->uars);
	xa_destroy(&dev->pages);
	xa_destroy(&dev->jobs);
	cleanup_srcu_struct(&dev->srcu);
	kvfree(dev);
}

struct srdma_dev *srdma_dev_alloc(struct ib_device *ibdev)
{
	struct srdma_dev *dev = kvzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	kref_init(&dev->ref);
	dev->index = ibdev->index;
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	dev->ibdev = ibdev;
	dev->since = ktime_get_ns();
	INIT_WORK(&dev->release, dev_release_work);
	mutex_init(&dev->adopt_lock);
	mutex_init(&dev->query_lock);
	xa_init(&dev->left);
	xa_init_flags(&dev->uars, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	hash_init(dev->uar_hash);
	spin_lock_init(&dev->uar_lock);
	xa_init_flags(&dev->pages, XA_FLAGS_ACCOUNT);
	mutex_init(&dev->page_lock);
	xa_init(&dev->jobs);
	mutex_init(&dev->provider_lock);
	spin_lock_init(&dev->ports_lock);
	srdma_mr_init(dev);
	if (init_srcu_struct(&dev->srcu))
		goto err;
	if (srdma_table_init(&dev->qps))
		goto err_srcu;
	dev->kernel_uar = srdma_uar_new_kernel(dev);
	if (!dev->kernel_uar) {
		srdma_dev_put(dev);
		return NULL;
	}
	return dev;

err_srcu:
	cleanup_srcu_struct(&dev->srcu);
err:
	kvfree(dev);
	return NULL;
}

/*
 * Hooked devices by ib_device. Readers: RCU. Writers: hooked_lock, a
 * leaf. Every wrapped verb looks its device up here, because RDMA core's client
 * data is an xarray, whose lookup takes longer.
 */
static DEFINE_HASHTABLE(hooked, 4);
static DEFINE_SPINLOCK(hooked_lock);

struct srdma_dev *srdma_dev_of(struct ib_device *ibdev)
{
	struct srdma_dev *dev;

	hash_for_each_possible_rcu_notrace(hooked, dev, hook_node, (unsigned long)ibdev)
		if (dev->ibdev == ibdev)
			return dev;
	return NULL;
}

void srdma_dev_hash(struct srdma_dev *dev)
{
	spin_lock(&hooked_lock);
	hash_add_rcu(hooked, &dev->hook_node, (unsigned long)dev->ibdev);
	spin_unlock(&hooked_lock);
}

void srdma_dev_unhash(struct srdma_dev *dev)
{
	spin_lock(&hooked_lock);
	hash_del_rcu(&dev->hook_node);
	spin_unlock(&hooked_lock);
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

/*
 * The last reference may be a QP's, which may be put in an RCU section: so a work item
 * frees the device, which takes a grace period.
 */
static void dev_release(struct kref *ref)
{
	queue_work(release_wq, &container_of(ref, struct srdma_dev, ref)->release);
}

void srdma_dev_put(struct srdma_dev *dev)
{
	kref_put(&dev->ref, dev_release);
}

/* QPs */

static void qp_release(struct kref *ref)
{
	struct srdma_qp *q = container_of(ref, struct srdma_qp, ref);
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	struct srdma_dev *dev = q->dev;
	struct srdma_uar *page;

	srdma_notify(qp_released, q);
	if (!test_bit(SRDMA_QP_UAR_OWNER, &q->flags))
		srdma_owner_put(q->owner);
	srdma_uar_put(q->uar);
	if (hw) {
		page = hw->page;
		WRITE_ONCE(hw->live, false);
		WRITE_ONCE(hw->page, NULL);	/* earlier readers are in an RCU section */
		srdma_uar_put(page);
		srdma_element_put(hw->element);
		hw->element = NULL;
	}
	srdma_table_free(&dev->qps, q);
	srdma_dev_put(dev);
}

void srdma_qp_put(struct srdma_qp *q)
{
	if (q)
		kref_put(&q->ref, qp_release);
}
EXPORT_SYMBOL_GPL(srdma_qp_put);

/* Sets up everything but owner, job and UAR; the QP may not have its number yet. */
struct srdma_qp *srdma_qp_alloc(struct srdma_dev *dev, struct ib_qp *ibqp, bool user)
{
	struct srdma_qp *q = srdma_table_alloc(&dev->qps);

	static_assert(!((sizeof(*q) - offsetof(struct srdma_qp, ibqp)) % sizeof(u64)));
	if (!q)
		return NULL;
	/*
	 * LOCKED and WANTED stay: a thread may hold the lock for a moment, until it finds
	 * that this is not the QP it looked for.
	 */
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
	hw->binding_unknown = false;
	WRITE_ONCE(hw->wrs_since, 0);
	WRITE_ONCE(hw->counted, false);
	WRITE_ONCE(hw->ambiguous, false);
	WRITE_ONCE(hw->sure, false);
	WRITE_ONCE(hw->absent, SWIFTRDMA_ABSENT_NOT_YET);
	memset(hw->path, 0, sizeof(hw->path));
	if (hw->outstanding)
		memset(hw->outstanding, 0, sizeof(*hw->outstanding));
	smp_store_release(&hw->live, true);	/* pairs with srdma_qp_hw() */
	return hw;
}
EXPORT_SYMBOL_GPL(srdma_qp_hw_make);

struct srdma_outstanding *srdma_qp_outstanding(struct srdma_qp *q)
{
	struct srdma_outstanding *o = q->hw->outstanding;

	if (o)
		return o;
	o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	if (o)
		smp_store_release(&q->hw->outstanding, o);	/* pairs with the reader's */
	return o;
}
EXPORT_SYMBOL_GPL(srdma_qp_outstanding);

/* Copy the number, and what else only the driver's create_qp has set. */
void srdma_qp_identify(struct srdma_qp *q)
{
	struct ib_qp *ibqp = q->ibqp;

	q->qpn = ibqp->qp_num;
	q->key_port = ibqp->port;
	WRITE_ONCE(q->port, ibqp->port);
	q->send_cq = ibqp->send_cq ? ibqp->send_cq->res.id : 0;
	q->recv_cq = ibqp->recv_cq ? ibqp->recv_cq->res.id : 0;
}

void srdma_qp_set_caps(struct srdma_qp *q, const struct ib_qp_cap *cap)
{
	q->max_send_wr = cap->max_send_wr;
	q->max_recv_wr = cap->max_recv_wr;
	q->max_send_sge = min_t(u32, cap->max_send_sge, U8_MAX);
	q->max_recv_sge = min_t(u32, cap->max_recv_sge, U8_MAX);
	q->max_inline = min_t(u32, cap->max_inline_data, U16_MAX);
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
