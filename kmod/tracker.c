// SPDX-License-Identifier: GPL-2.0
/*
 * What there is: devices and their QPs, from the call that makes one to the call
 * that ends it. uar.c has the contexts, adopt.c what is older than the module.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "debug.h"
#include "debugfs.h"
#include "enforce.h"
#include "hook.h"
#include "netlink.h"
#include "trace.h"
#include "tracker.h"
#include "uar.h"

DECLARE_RWSEM(srdma_devs_sem);
DEFINE_XARRAY(srdma_devs);
atomic64_t srdma_generation = ATOMIC64_INIT(1);

static atomic64_t next_serial;
static struct kmem_cache *qp_cache;

/* Devices */

struct srdma_dev *srdma_dev_new(struct ib_device *ibdev)
{
	struct srdma_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	kref_init(&dev->ref);
	dev->index = ibdev->index;
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	dev->ibdev = ibdev;
	dev->provider = srdma_provider_of(ibdev);
	dev->since = ktime_get_ns();
	xa_init(&dev->qps);
	mutex_init(&dev->adopt_lock);
	xa_init_flags(&dev->uars, XA_FLAGS_ALLOC);
	hash_init(dev->uar_hash);
	spin_lock_init(&dev->uar_lock);
	xa_init(&dev->jobs);
	dev->kernel_uar = srdma_uar_new_kernel(dev);
	if (!dev->kernel_uar) {
		srdma_dev_put(dev);
		return NULL;
	}
	return dev;
}

static void dev_release(struct kref *ref)
{
	struct srdma_dev *dev = container_of(ref, struct srdma_dev, ref);

	WARN_ON(!xa_empty(&dev->qps));
	xa_destroy(&dev->qps);
	xa_destroy(&dev->uars);
	xa_destroy(&dev->jobs);
	kfree_rcu(dev, rcu);
}

void srdma_dev_put(struct srdma_dev *dev)
{
	kref_put(&dev->ref, dev_release);
}

int srdma_dev_publish(struct srdma_dev *dev)
{
	int ret;

	down_write(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	ret = srdma_job_dev_added(dev);
	if (!ret)
		ret = xa_err(xa_store(&srdma_devs, dev->index, dev, GFP_KERNEL));
	if (!ret)
		srdma_lease_recompute();
	else
		srdma_job_dev_removed(dev);
	mutex_unlock(&srdma_ctl_lock);
	if (!ret)
		srdma_debugfs_add(dev);
	up_write(&srdma_devs_sem);
	return ret;
}

/* What publication counted. */
static void qp_unlink(struct srdma_qp *q)
{
	atomic_dec(&q->dev->n_qps);
	srdma_job_leave(q);
	if (q->uar)
		atomic_dec(&q->uar->n_qps);
}

/*
 * Let go of this QP, unless somebody has before: from here on ib_qp is not
 * touched. The entry stays in the table, which only who let go may change.
 */
static bool qp_let_go(struct srdma_qp *q)
{
	bool first;

	srdma_qp_lock(q);
	first = !test_and_set_bit(SRDMA_QP_DEAD, &q->flags);
	if (first)
		srdma_provider_detach(q);
	srdma_qp_unlock(q);
	return first;
}

/*
 * While the hook is still in place: a destroy that did not pass through it would
 * leave us with a QP that is gone. Those that are created from now on are not
 * taken in.
 */
void srdma_dev_retire(struct srdma_dev *dev)
{
	unsigned long key = 0;
	struct srdma_qp *q;

	down_write(&srdma_devs_sem);
	xa_erase(&srdma_devs, dev->index);
	up_write(&srdma_devs_sem);
	srdma_debugfs_remove(dev);

	xa_lock(&dev->qps);
	dev->retiring = true;
	xa_unlock(&dev->qps);
	while ((q = srdma_qp_next(dev, &key))) {
		if (qp_let_go(q)) {
			xa_erase(&dev->qps, srdma_qp_key(q));
			qp_unlink(q);
			srdma_qp_put(q);	/* the table's */
		}
		srdma_qp_put(q);
	}
}

/* The hook is out and nobody is in a wrapper of this device. */
void srdma_dev_forget(struct srdma_dev *dev)
{
	down_write(&srdma_devs_sem);
	dev->ibdev = NULL;
	up_write(&srdma_devs_sem);
	xa_cmpxchg(&dev->qps, dev->vacant, SRDMA_QP_VACANT, NULL, GFP_KERNEL);
	srdma_uar_drop_all(dev);

	mutex_lock(&srdma_ctl_lock);
	srdma_job_dev_removed(dev);
	mutex_unlock(&srdma_ctl_lock);
}

/* QPs */

unsigned long srdma_qp_key(const struct srdma_qp *q)
{
	/* As restrack numbers them: each port has its own QP 0 and 1. */
	if (q->type == IB_QPT_SMI || q->type == IB_QPT_GSI)
		return q->qpn | (unsigned long)q->key_port << 24;
	return q->qpn;
}

static unsigned long ib_qp_key(const struct ib_qp *ibqp)
{
	if (ibqp->qp_type == IB_QPT_SMI || ibqp->qp_type == IB_QPT_GSI)
		return ibqp->qp_num | (unsigned long)ibqp->port << 24;
	return ibqp->qp_num;
}

struct srdma_qp *srdma_qp_find_rcu(struct srdma_dev *dev, const struct ib_qp *ibqp)
{
	struct srdma_qp *q = xa_load(&dev->qps, ib_qp_key(ibqp));

	if (!q || xa_is_value(q) || q->ibqp != ibqp)
		return NULL;
	return q;
}

static struct srdma_qp *qp_get(struct srdma_dev *dev, const struct ib_qp *ibqp)
{
	struct srdma_qp *q;

	rcu_read_lock();
	q = srdma_qp_find_rcu(dev, ibqp);
	if (q && !kref_get_unless_zero(&q->ref))
		q = NULL;
	rcu_read_unlock();
	return q;
}

struct srdma_qp *srdma_qp_get_by_key(struct srdma_dev *dev, unsigned long key)
{
	struct srdma_qp *q;

	rcu_read_lock();
	q = xa_load(&dev->qps, key);
	if (q && (xa_is_value(q) || !kref_get_unless_zero(&q->ref)))
		q = NULL;
	rcu_read_unlock();
	return q;
}

struct srdma_qp *srdma_qp_next(struct srdma_dev *dev, unsigned long *key)
{
	struct srdma_qp *q;

	rcu_read_lock();
	for (q = xa_find(&dev->qps, key, ULONG_MAX, XA_PRESENT); q;
	     q = xa_find_after(&dev->qps, key, ULONG_MAX, XA_PRESENT)) {
		if (!xa_is_value(q) && kref_get_unless_zero(&q->ref)) {
			(*key)++;
			break;
		}
	}
	rcu_read_unlock();
	return q;
}

static void qp_free(struct rcu_head *rcu)
{
	/* Not kfree_rcu(): rcu_barrier() must see it before the cache goes. */
	kmem_cache_free(qp_cache, container_of(rcu, struct srdma_qp, rcu));
}

static void qp_release(struct kref *ref)
{
	struct srdma_qp *q = container_of(ref, struct srdma_qp, ref);

	srdma_job_dev_put(rcu_dereference_protected(q->job, 1));
	srdma_uar_put(q->uar);
	srdma_owner_put(q->owner);
	srdma_dev_put(q->dev);
	call_rcu(&q->rcu, qp_free);
}

void srdma_qp_put(struct srdma_qp *q)
{
	kref_put(&q->ref, qp_release);
}

bool srdma_qp_trylock(struct srdma_qp *q)
{
	return !test_and_set_bit_lock(SRDMA_QP_LOCKED, &q->flags);
}

void srdma_qp_lock(struct srdma_qp *q)
{
	might_sleep();
	while (!srdma_qp_trylock(q)) {
		/* A live change that holds it sees this and gives way. */
		set_bit(SRDMA_QP_WANTED, &q->flags);
		wait_on_bit(&q->flags, SRDMA_QP_LOCKED, TASK_UNINTERRUPTIBLE);
	}
}

void srdma_qp_unlock(struct srdma_qp *q)
{
	clear_bit(SRDMA_QP_WANTED, &q->flags);
	clear_bit_unlock(SRDMA_QP_LOCKED, &q->flags);
	smp_mb__after_atomic();	/* wake_up_bit() looks for waiters */
	wake_up_bit(&q->flags, SRDMA_QP_LOCKED);
}

/* Everything but owner, job and UAR; the QP may not have its number yet. */
struct srdma_qp *srdma_qp_alloc(struct srdma_dev *dev, struct ib_qp *ibqp, bool user)
{
	struct srdma_qp *q = srdma_fail() ? NULL : kmem_cache_alloc(qp_cache, GFP_KERNEL);

	if (!q)
		return NULL;
	memset64((u64 *)q, 0, sizeof(*q) / sizeof(u64));
	kref_init(&q->ref);
	srdma_dev_get(dev);
	q->dev = dev;
	q->ibqp = ibqp;
	q->type = ibqp->qp_type;
	q->since = ktime_get_ns();
	q->serial = atomic64_inc_return(&next_serial);
	q->retry_at = jiffies;
	INIT_LIST_HEAD(&q->job_node);
	if (user)
		set_bit(SRDMA_QP_USER, &q->flags);
	return q;
}

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
	q->owner = user ? srdma_owner_current() :
			  srdma_owner_kernel(ibqp->res.kern_name);
	if (!q->owner)
		goto err_nomem;
	q->tid = user ? task_pid_nr(current) : 0;
	jd = srdma_job_admit(dev, q->owner, &q->rules_gen);
	if (IS_ERR(jd)) {
		srdma_qp_put(q);
		return ERR_CAST(jd);
	}
	RCU_INIT_POINTER(q->job, jd);
	q->uar = srdma_uar_of(dev, ibqp, user);
	q->state = IB_QPS_RESET;
	set_bit(SRDMA_QP_HAS_STATE, &q->flags);
	return q;

err_nomem:
	srdma_qp_put(q);
	return ERR_PTR(-ENOMEM);
}

void srdma_qp_abort(struct srdma_qp *q)
{
	srdma_job_unadmit(rcu_dereference_protected(q->job, 1));
	srdma_qp_put(q);
}

/*
 * Into the table, in place of a tombstone: the QP that left it is gone, or its
 * number would not have been given again.
 */
int srdma_qp_insert(struct srdma_qp *q)
{
	struct srdma_dev *dev = q->dev;
	unsigned long key = srdma_qp_key(q);
	void *old;
	int ret;

	srdma_qp_touch(q);
	xa_lock(&dev->qps);
	old = xa_load(&dev->qps, key);
	if (dev->retiring)
		ret = -ESHUTDOWN;
	else if (old && !xa_is_value(old))
		ret = -EEXIST;
	else
		ret = xa_err(__xa_store(&dev->qps, key, q, GFP_KERNEL));
	xa_unlock(&dev->qps);
	if (!ret)
		atomic_inc(&dev->n_qps);
	return ret;
}

void srdma_qp_publish(struct srdma_qp *q, struct ib_qp_init_attr *attr)
{
	struct srdma_dev *dev = q->dev;

	srdma_qp_identify(q);
	srdma_qp_set_caps(q, &attr->cap);
	atomic64_inc(&dev->created);
	if (srdma_qp_insert(q)) {
		/* The application has its QP all the same; we say we lost it. */
		atomic64_inc(&dev->untracked);
		srdma_qp_abort(q);
		return;
	}
	if (q->uar) {
		atomic_inc(&q->uar->n_qps);
		atomic64_inc(&q->uar->created);
	}
	srdma_job_join(q);
	trace_srdma_qp_create(q);
	srdma_notify_qp(SWIFTRDMA_CMD_QP_CREATED_NTF, q);
}

/*
 * Take the entry out, but leave its place to the next one that goes: a program
 * that makes and ends QPs by turns would otherwise have the table's node freed and
 * allocated anew each time, which costs more than all the rest of tracking.
 */
static void qp_vacate(struct srdma_dev *dev, unsigned long key)
{
	unsigned long before;

	xa_lock(&dev->qps);
	__xa_clear_mark(&dev->qps, key, SRDMA_QP_DIRTY);
	__xa_store(&dev->qps, key, SRDMA_QP_VACANT, 0);	/* in place: no memory */
	before = dev->vacant;
	dev->vacant = key;
	if (before != key && xa_load(&dev->qps, before) == SRDMA_QP_VACANT)
		__xa_erase(&dev->qps, before);
	xa_unlock(&dev->qps);
}

/*
 * Out of the table before the driver destroys it, for its number may be another
 * QP's the moment it has. Waits for a live change to give way. NULL: not known;
 * then, while the adoption scan runs, a tombstone keeps the scan from taking in
 * a QP that is about to vanish.
 */
struct srdma_qp *srdma_qp_leave(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	struct srdma_qp *q = qp_get(dev, ibqp);

	if (!q && READ_ONCE(dev->adopting)) {
		mutex_lock(&dev->adopt_lock);
		q = qp_get(dev, ibqp);
		if (!q && dev->adopting &&
		    xa_is_err(xa_store(&dev->qps, ib_qp_key(ibqp), SRDMA_QP_TOMBSTONE,
				       GFP_KERNEL)))
			dev->adopt_abort = true;
		mutex_unlock(&dev->adopt_lock);
	}
	if (!q)
		return NULL;
	if (!qp_let_go(q)) {	/* the device is being retired */
		srdma_qp_put(q);
		return NULL;
	}
	qp_vacate(dev, srdma_qp_key(q));
	return q;	/* with qp_get()'s reference */
}

void srdma_qp_gone(struct srdma_qp *q)
{
	atomic64_inc(&q->dev->destroyed);
	trace_srdma_qp_destroy(q);
	srdma_notify_qp(SWIFTRDMA_CMD_QP_DESTROYED_NTF, q);
	qp_unlink(q);
	srdma_qp_put(q);	/* the table's */
}

void srdma_qp_stay(struct srdma_qp *q)
{
	int ret;

	/* Held, so that whoever finds it in the table finds it alive or not. */
	srdma_qp_lock(q);
	atomic_dec(&q->dev->n_qps);
	ret = srdma_qp_insert(q);
	if (!ret)
		clear_bit(SRDMA_QP_DEAD, &q->flags);
	srdma_qp_unlock(q);
	if (!ret)
		return;
	atomic64_inc(&q->dev->untracked);
	atomic_inc(&q->dev->n_qps);
	qp_unlink(q);
	srdma_qp_put(q);
}

/*
 * That there is a constructor keeps the cache from being merged with others, so
 * that its size can be read, and objects from being zeroed twice.
 */
static void qp_construct(void *q)
{
	static_assert(!(sizeof(struct srdma_qp) % sizeof(u64)));
}

int srdma_tracker_init(void)
{
	qp_cache = kmem_cache_create("swiftrdma_qp", sizeof(struct srdma_qp), 0, 0,
				     qp_construct);
	return qp_cache ? 0 : -ENOMEM;
}

void srdma_tracker_exit(void)
{
	rcu_barrier();
	kmem_cache_destroy(qp_cache);
}
