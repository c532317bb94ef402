// SPDX-License-Identifier: GPL-2.0
/*
 * The way into RDMA core, and safely out again. The only file that writes
 * ib_device.ops.
 *
 * An ib_client hears of every device and puts wrappers over the ops that make,
 * modify and end QPs (user contexts and memory regions too; and post_send where the
 * provider's doorbells pass through it). ops is a plain writable structure embedded in
 * ib_device, read without a lock by whoever calls a verb.
 *
 * A caller may have read a pointer of ours and not be in the wrapper yet, be
 * asleep in the driver's op below it, or be on its way out of it. So the way out
 * is, each step for one of these:
 *
 *	restore the ops
 *	synchronize_rcu_tasks()		callers that were preempted with the pointer
 *					in hand have entered; synchronize_rcu() the
 *					same for softirq
 *	synchronize_srcu()		wrapper bodies are over
 *	synchronize_rcu_tasks()		and so are their last instructions
 *	free
 *
 * When a single device goes, the text stays, so only its data must be waited
 * for: wrappers find the device under SRCU, and one that comes too late finds none
 * and calls what then stands in ops.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <rdma/ib_verbs.h>

#include "adopt.h"
#include "compat.h"
#include "counters.h"
#include "debugfs.h"
#include "debug.h"
#include "enforce.h"
#include "find.h"
#include "hook.h"
#include "mr.h"
#include "trace.h"
#include "uar.h"

DEFINE_STATIC_SRCU(srdma_srcu);

/* Arming and disarming, and @why; taken outside everything else of ours. */
static DEFINE_MUTEX(arm_lock);
static bool armed;
static char why[256];

static struct ib_client client;

/*
 * Hooked devices by ib_device. Readers: RCU or srdma_srcu. Writers: devs_lock,
 * taken inside nothing. Asked on every verb that is wrapped, and so not RDMA
 * core's client data, which is an index to be descended.
 */
static DEFINE_HASHTABLE(devs, 4);
static DEFINE_SPINLOCK(devs_lock);

struct srdma_dev *srdma_dev_of(struct ib_device *ibdev)
{
	struct srdma_dev *dev;

	hash_for_each_possible_rcu_notrace(devs, dev, hook_node, (unsigned long)ibdev)
		if (dev->ibdev == ibdev)
			return dev;
	return NULL;
}

static void devs_add(struct srdma_dev *dev)
{
	spin_lock(&devs_lock);
	hash_add_rcu(devs, &dev->hook_node, (unsigned long)dev->ibdev);
	spin_unlock(&devs_lock);
}

static void devs_del(struct srdma_dev *dev)
{
	spin_lock(&devs_lock);
	hash_del_rcu(&dev->hook_node);
	spin_unlock(&devs_lock);
}

/*
 * A device that went while another module's wrapper stood above ours. Ours is
 * still called through that, so it must know where to go on to; it and this
 * module then stay for good. Added under arm_lock or ib_core's locks, never
 * removed.
 */
struct srdma_orphan {
	struct list_head node;
	struct ib_device *ibdev;
	struct srdma_orig_ops orig;
};

static LIST_HEAD(orphans);
static DEFINE_SPINLOCK(orphans_lock);

/* The wrappers */

/* Into a body: the device, or NULL if it goes or is gone. Then late_op(). */
static __always_inline struct srdma_dev *enter(struct ib_device *ibdev, int *idx)
{
	srdma_delay(SRDMA_DELAY_ENTRY);
	*idx = srcu_read_lock(&srdma_srcu);
	return srdma_dev_of(ibdev);
}

/* Out of it. The device may be gone from here on. */
static __always_inline void leave(int idx)
{
	srcu_read_unlock(&srdma_srcu, idx);
	srdma_delay(SRDMA_DELAY_EXIT);
}

/*
 * A wrapper that was entered after its device was let go passes on to what is
 * in ops now: they are restored before the device is let go. On an orphan they
 * lead back here, so there it is the driver's own.
 */
static noinline void *late_op_at(struct ib_device *ibdev, size_t offset, void **now)
{
	struct srdma_orphan *o;

	smp_rmb();	/* pairs with client_remove() */
	list_for_each_entry_rcu(o, &orphans, node, srcu_read_lock_held(&srdma_srcu))
		if (o->ibdev == ibdev)
			return *(void **)((char *)&o->orig + offset);
	return READ_ONCE(*now);
}

#define late_op(ibdev, op)						\
	((typeof((ibdev)->ops.op))late_op_at(ibdev,			\
		offsetof(struct srdma_orig_ops, op), (void **)&(ibdev)->ops.op))

static int wrap_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	struct srdma_dev *dev;
	struct srdma_qp *q;
	int idx, ret;
	u64 began;

	dev = enter(ibqp->device, &idx);
	if (!dev) {
		ret = late_op(ibqp->device, create_qp)(ibqp, attr, udata);
		goto out;
	}
	srdma_delay(SRDMA_DELAY_INSIDE);
	q = srdma_qp_prepare(dev, ibqp, attr, !!udata);
	if (IS_ERR(q) && PTR_ERR(q) != -ENOMEM) {
		atomic64_inc(&dev->rejected);
		ret = PTR_ERR(q);
		goto out;
	}
	began = local_clock();
	ret = dev->orig.create_qp(ibqp, attr, udata);
	if (!IS_ERR(q))
		srdma_job_charge(q, began, false);
	if (ret) {
		atomic64_inc(&dev->create_failed);
		if (!IS_ERR(q))
			srdma_qp_abort(q);
	} else if (!IS_ERR(q)) {
		srdma_qp_publish(q, attr, udata);
	} else {
		atomic64_inc(&dev->created);
		atomic64_inc(&dev->untracked);
	}
out:
	leave(idx);
	return ret;
}

/* The QP comes locked, which also keeps it in the table, and leaves unlocked. */
static int modify_tracked(struct srdma_dev *dev, struct srdma_qp *q, struct ib_qp *ibqp,
			  struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);
	struct ib_qp_attr *used;
	u64 began;
	int ret;

	srdma_delay(SRDMA_DELAY_LOCKED);
	used = srdma_enforce_modify(q, attr, mask);
	if (ops->qp_modify)
		ops->qp_modify(q, attr, mask);
	began = local_clock();
	ret = dev->orig.modify_qp(ibqp, used, mask, udata);
	srdma_job_charge(q, began, true);
	if (ops->qp_modified)
		ops->qp_modified(q, attr, mask, ret);
	if (!ret) {
		srdma_enforce_modified(q, attr, used, mask);
		srdma_adopt_modified(q);
		atomic64_inc(&dev->modified);
		srdma_qp_touch(q);
	} else {
		srdma_enforce_refused(q);
	}
	trace_srdma_qp_modify(q, mask, ret);
	srdma_qp_unlock(q);
	if (used != attr)
		kfree(used);
	return ret;
}

/*
 * By us, or by the scan or another modify that was faster. Not inline, as all that
 * is rare: each modify goes through what is.
 */
static noinline struct srdma_qp *adopt_lock_qp(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	srdma_delay(SRDMA_DELAY_UNKNOWN);
	srdma_adopt(dev, ibqp);
	return srdma_qp_find_lock(dev, ibqp);
}

static int wrap_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct srdma_dev *dev;
	struct srdma_qp *q;
	int idx, ret;

	dev = enter(ibqp->device, &idx);
	if (!dev) {
		ret = late_op(ibqp->device, modify_qp)(ibqp, attr, mask, udata);
		goto out;
	}
	srdma_delay(SRDMA_DELAY_INSIDE);
	q = srdma_qp_find_lock(dev, ibqp);
	if (!q)
		q = adopt_lock_qp(dev, ibqp);
	if (q) {
		ret = modify_tracked(dev, q, ibqp, attr, mask, udata);
	} else {
		ret = dev->orig.modify_qp(ibqp, attr, mask, udata);
		if (!ret)
			atomic64_inc(&dev->modified);
	}
out:
	leave(idx);
	return ret;
}

static int wrap_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct srdma_dev *dev;
	struct srdma_qp *q;
	int idx, ret;
	u64 began;

	dev = enter(ibqp->device, &idx);
	if (!dev) {
		ret = late_op(ibqp->device, destroy_qp)(ibqp, udata);
		goto out;
	}
	srdma_delay(SRDMA_DELAY_INSIDE);
	q = srdma_qp_leave(dev, ibqp);
	srdma_delay(SRDMA_DELAY_LEFT);
	began = local_clock();
	ret = dev->orig.destroy_qp(ibqp, udata);
	if (q) {
		srdma_job_charge(q, began, false);
		if (ret)
			srdma_qp_stay(q);
		else
			srdma_qp_gone(q);
	} else if (!ret) {
		atomic64_inc(&dev->destroyed);
	}
out:
	leave(idx);
	return ret;
}

/* Any context: a kernel user may post from its completion handler. */
static int wrap_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad_wr)
{
	const struct ib_send_wr *w;
	struct srdma_dev *dev;
	struct srdma_qp *q;
	u32 wrs = 0;
	int idx, ret;

	dev = enter(ibqp->device, &idx);
	if (!dev) {
		ret = late_op(ibqp->device, post_send)(ibqp, wr, bad_wr);
		goto out;
	}
	for (w = wr; w; w = w->next)
		wrs++;
	/* For the UAR: while the device is being retired, the QP may just have gone. */
	rcu_read_lock();
	q = srdma_qp_find(dev, ibqp);
	/* Before the driver's: a completion may end the QP. */
	if (q)
		srdma_count_post(q, wrs);
	rcu_read_unlock();
	ret = dev->orig.post_send(ibqp, wr, bad_wr);
out:
	leave(idx);
	return ret;
}

static int wrap_alloc_ucontext(struct ib_ucontext *ctx, struct ib_udata *udata)
{
	struct srdma_dev *dev;
	int idx, ret;

	dev = enter(ctx->device, &idx);
	if (dev) {
		ret = dev->orig.alloc_ucontext(ctx, udata);
		if (!ret)
			srdma_uar_opened(dev, ctx, udata);
	} else {
		ret = late_op(ctx->device, alloc_ucontext)(ctx, udata);
	}
	leave(idx);
	return ret;
}

static void wrap_dealloc_ucontext(struct ib_ucontext *ctx)
{
	struct srdma_dev *dev;
	int idx;

	dev = enter(ctx->device, &idx);
	if (dev) {
		srdma_uar_closed(dev, ctx);
		dev->orig.dealloc_ucontext(ctx);
	} else {
		late_op(ctx->device, dealloc_ucontext)(ctx);
	}
	leave(idx);
}

static struct ib_mr *wrap_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
				      int access, SRDMA_DMAH_PARAM struct ib_udata *udata)
{
	struct srdma_dev *dev;
	struct ib_mr *mr;
	int idx;

	dev = enter(pd->device, &idx);
	if (dev) {
		srdma_delay(SRDMA_DELAY_INSIDE);
		mr = dev->orig.reg_user_mr(pd, start, length, iova, access, SRDMA_DMAH_ARG udata);
		if (!IS_ERR(mr))
			srdma_mr_added(dev, mr, iova, length, access & IB_ACCESS_ON_DEMAND);
	} else {
		mr = late_op(pd->device, reg_user_mr)(pd, start, length, iova, access,
						      SRDMA_DMAH_ARG udata);
	}
	leave(idx);
	return mr;
}

/* Another device's memory, a GPU's for one; its file says which. */
static struct ib_mr *wrap_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					     int fd, int access, SRDMA_DMAH_PARAM
					     struct srdma_dmabuf_data *data)
{
	struct srdma_dev *dev;
	struct ib_mr *mr;
	int idx;

	dev = enter(pd->device, &idx);
	if (dev) {
		mr = dev->orig.reg_user_mr_dmabuf(pd, offset, length, iova, fd, access,
						  SRDMA_DMAH_ARG data);
		if (!IS_ERR(mr))
			srdma_mr_added(dev, mr, iova, length, access & IB_ACCESS_ON_DEMAND);
	} else {
		mr = late_op(pd->device, reg_user_mr_dmabuf)(pd, offset, length, iova, fd, access,
							     SRDMA_DMAH_ARG data);
	}
	leave(idx);
	return mr;
}

/* In place, or another region in its stead: then the old one's end comes by dereg_mr. */
static struct ib_mr *rereg_tracked(struct srdma_dev *dev, struct ib_mr *mr, int flags, u64 start,
				   u64 length, u64 iova, int access, struct ib_pd *pd,
				   struct ib_udata *udata)
{
	bool moves = flags & IB_MR_REREG_TRANS;
	u64 old_iova = 0, old_length = 0;
	bool known = srdma_mr_where(dev, mr, &old_iova, &old_length);
	bool paged = flags & IB_MR_REREG_ACCESS ? access & IB_ACCESS_ON_DEMAND :
						  known && !old_length;
	struct ib_mr *new = dev->orig.rereg_user_mr(mr, flags, start, length, iova, access, pd,
						    udata);

	if (IS_ERR(new))
		return new;
	if (new && (moves || known))
		srdma_mr_added(dev, new, moves ? iova : old_iova, moves ? length : old_length,
			       paged);
	else if (!new && moves)
		srdma_mr_changed(dev, mr, iova, length, paged);
	return new;
}

static struct ib_mr *wrap_rereg_user_mr(struct ib_mr *mr, int flags, u64 start, u64 length,
					u64 iova, int access, struct ib_pd *pd,
					struct ib_udata *udata)
{
	struct ib_device *ibdev = mr->device;
	struct srdma_dev *dev;
	struct ib_mr *new;
	int idx;

	dev = enter(ibdev, &idx);
	if (dev)
		new = rereg_tracked(dev, mr, flags, start, length, iova, access, pd, udata);
	else
		new = late_op(ibdev, rereg_user_mr)(mr, flags, start, length, iova, access, pd,
						    udata);
	leave(idx);
	return new;
}

static int wrap_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct srdma_dev *dev;
	struct srdma_mr *mr;
	int idx, ret;

	dev = enter(ibmr->device, &idx);
	if (!dev) {
		ret = late_op(ibmr->device, dereg_mr)(ibmr, udata);
		goto out;
	}
	srdma_delay(SRDMA_DELAY_INSIDE);
	mr = srdma_mr_leave(dev, ibmr);
	ret = dev->orig.dereg_mr(ibmr, udata);
	if (mr && ret)
		srdma_mr_stay(dev, mr);
	else if (mr)
		srdma_mr_gone(dev, mr);
out:
	leave(idx);
	return ret;
}

/* For those who may not know ops */

int srdma_orig_modify(struct srdma_qp *q, struct ib_qp_attr *attr, int mask)
{
	return q->dev->orig.modify_qp(q->ibqp, attr, mask, NULL);
}

bool srdma_orig_modify_is_drivers(const struct srdma_qp *q)
{
	const struct module *driver = q->dev->ibdev->ops.owner;

	/* A driver that is built in belongs to no module. */
	return !driver || within_module((unsigned long)q->dev->orig.modify_qp, driver);
}

int srdma_orig_query(struct srdma_qp *q, struct ib_qp_attr *attr, int mask,
		     struct ib_qp_init_attr *init)
{
	if (!q->ibqp->device->ops.query_qp)
		return -EOPNOTSUPP;
	return q->ibqp->device->ops.query_qp(q->ibqp, attr, mask, init);
}

void srdma_orig_kick(struct srdma_qp *q)
{
	const struct ib_send_wr *bad;

	q->dev->orig.post_send(q->ibqp, NULL, &bad);
}

void srdma_hook_wait(void)
{
	synchronize_srcu(&srdma_srcu);
}

/* In and out */

#define for_each_op(X, dev)						\
	do {								\
		X(dev, create_qp, wrap_create_qp);			\
		X(dev, modify_qp, wrap_modify_qp);			\
		X(dev, destroy_qp, wrap_destroy_qp);			\
		X(dev, alloc_ucontext, wrap_alloc_ucontext);		\
		X(dev, dealloc_ucontext, wrap_dealloc_ucontext);	\
		X(dev, reg_user_mr, wrap_reg_user_mr);			\
		X(dev, reg_user_mr_dmabuf, wrap_reg_user_mr_dmabuf);	\
		X(dev, rereg_user_mr, wrap_rereg_user_mr);		\
		X(dev, dereg_mr, wrap_dereg_mr);			\
		if ((dev)->wrapped_post_send)				\
			X(dev, post_send, wrap_post_send);		\
	} while (0)

/* A driver without the op keeps being without it. */
#define save_op(dev, op, wrapper)					\
	((dev)->orig.op = (dev)->ibdev->ops.op)
#define wrap_op(dev, op, wrapper)					\
	do {								\
		if ((dev)->orig.op)					\
			WRITE_ONCE((dev)->ibdev->ops.op, wrapper);	\
	} while (0)
#define restore_op(dev, op, wrapper)					\
	do {								\
		if ((dev)->orig.op)					\
			WRITE_ONCE((dev)->ibdev->ops.op, (dev)->orig.op); \
	} while (0)
#define check_op(dev, op, wrapper)					\
	do {								\
		void *now_ = READ_ONCE((dev)->ibdev->ops.op);		\
									\
		if ((dev)->orig.op && now_ != (wrapper))		\
			above = now_;					\
	} while (0)

/* What stands above one of our wrappers, NULL: nothing. */
static void *wrapper_above(struct srdma_dev *dev)
{
	void *above = NULL;

	for_each_op(check_op, dev);
	return above;
}

static int client_add(struct ib_device *ibdev)
{
	struct srdma_dev *dev;
	int ret;

	if (!ibdev->ops.create_qp || !ibdev->ops.modify_qp || !ibdev->ops.destroy_qp)
		return -EOPNOTSUPP;
	dev = srdma_dev_new(ibdev);
	if (!dev)
		return -ENOMEM;
	dev->adopting = true;
	dev->wrapped_post_send = dev->provider->wrap_post_send;
	ret = srdma_dev_publish(dev);
	if (ret)
		goto err_dev;

	srdma_provider_attach(dev);
	for_each_op(save_op, dev);
	ib_set_client_data(ibdev, &client, dev);
	devs_add(dev);
	smp_wmb();	/* who meets a wrapper finds the device */
	for_each_op(wrap_op, dev);
	dev->hooked = true;
	srdma_dev_adopt(dev);
	down_read(&srdma_devs_sem);	/* the provider stays */
	pr_info("%s: hooked, provider %s, %d QPs older than the module\n", dev->name,
		dev->provider->name, (int)atomic64_read(&dev->adopted));
	up_read(&srdma_devs_sem);
	return 0;

err_dev:
	srdma_uar_drop_all(dev);
	srdma_dev_put(dev);
	return ret;
}

static void orphan(struct srdma_dev *dev, void *above)
{
	struct srdma_orphan *o = kzalloc(sizeof(*o), GFP_KERNEL | __GFP_NOFAIL);

	pr_warn("%s goes with %ps still above our hook: this module stays\n", dev->name, above);
	o->ibdev = dev->ibdev;
	o->orig = dev->orig;
	spin_lock(&orphans_lock);
	list_add_rcu(&o->node, &orphans);
	spin_unlock(&orphans_lock);
}

static void client_remove(struct ib_device *ibdev, void *data)
{
	struct srdma_dev *dev = data;
	void *above;

	if (!dev)
		return;
	srdma_provider_give_back(dev);
	srdma_dev_close(dev);
	synchronize_srcu(&srdma_srcu);
	srdma_dev_retire(dev);
	above = wrapper_above(dev);
	if (above)
		orphan(dev, above);
	else
		for_each_op(restore_op, dev);
	smp_wmb();	/* who does not find the device finds the ops restored */
	dev->hooked = false;
	ib_set_client_data(ibdev, &client, NULL);
	devs_del(dev);
	if (!srdma_skip_grace(SRDMA_GRACE_SRCU))
		synchronize_srcu(&srdma_srcu);
	srdma_provider_release(dev);
	srdma_dev_forget(dev);
	srdma_dev_put(dev);
}

static void client_rename(struct ib_device *ibdev, void *data)
{
	struct srdma_dev *dev = data;

	if (!dev)
		return;
	down_write(&srdma_devs_sem);
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	srdma_debugfs_rename(dev);
	up_write(&srdma_devs_sem);
}

static struct ib_client client = {
	.name = "swiftrdma",
	.add = client_add,
	.remove = client_remove,
	.rename = client_rename,
	.no_kverbs_req = true,
};

/* Wrappers above ours, into @why. srdma_devs_sem. */
static bool anything_above(void)
{
	unsigned long index;
	struct srdma_dev *dev;
	void *above;

	xa_for_each(&srdma_devs, index, dev) {
		above = wrapper_above(dev);
		if (above) {
			scnprintf(why, sizeof(why),
				  "%s: %ps was put above our hook; take that out first",
				  dev->name, above);
			return true;
		}
	}
	return false;
}

int srdma_hook_disarm(bool force)
{
	struct srdma_unrestored left;
	bool above;
	int ret = 0;

	mutex_lock(&arm_lock);
	if (!armed) {
		ret = list_empty(&orphans) ? 0 : -EBUSY;
		goto out;
	}
	down_read(&srdma_devs_sem);
	above = anything_above();
	up_read(&srdma_devs_sem);
	if (above)
		goto busy;

	/* First: srdma_act() looks at it under the lock that ends leases. */
	WRITE_ONCE(armed, false);
	srdma_enforce_suspend(&left);
	if (left.n && !force) {
		scnprintf(why, sizeof(why),
			  "%d QPs cannot get their application's class back, %d of them not before they are connected anew (QP %u of %s: %s); all leases hold as before",
			  left.n, left.never, left.qpn, left.dev,
			  srdma_class_error_text(left.error));
		srdma_enforce_resume();
		WRITE_ONCE(armed, true);
		goto busy;
	}
	srdma_lease_end_all();
	if (left.n)
		pr_warn("%d QPs keep a class that is not their application's\n", left.n);

	ib_unregister_client(&client);
	if (!list_empty(&orphans)) {
		scnprintf(why, sizeof(why), "a device went with another hook above ours");
		ret = -EBUSY;
		goto out;
	}
	if (!srdma_skip_grace(SRDMA_GRACE_TASKS_ENTRY)) {
		synchronize_rcu_tasks();
		synchronize_rcu();
	}
	if (!srdma_skip_grace(SRDMA_GRACE_SRCU))
		synchronize_srcu(&srdma_srcu);
	if (!srdma_skip_grace(SRDMA_GRACE_TASKS_EXIT))
		synchronize_rcu_tasks();
	why[0] = '\0';
	pr_info("disarmed\n");
	module_put(THIS_MODULE);
out:
	mutex_unlock(&arm_lock);
	return ret;
busy:
	pr_warn("not disarmed: %s\n", why);
	mutex_unlock(&arm_lock);
	return -EBUSY;
}

bool srdma_hook_armed(void)
{
	return READ_ONCE(armed);
}

void srdma_hook_why(char *buf, size_t len)
{
	mutex_lock(&arm_lock);
	strscpy(buf, why, len);
	mutex_unlock(&arm_lock);
}

int srdma_hook_init(void)
{
	int ret = ib_register_client(&client);

	if (ret)
		return ret;
	/* rmmod cannot be refused once it runs: from now on it must not. */
	__module_get(THIS_MODULE);
	armed = true;
	return 0;
}

/* Reached only disarmed, or from an init that failed. */
void srdma_hook_exit(void)
{
	if (armed)
		srdma_hook_disarm(true);
}
