// SPDX-License-Identifier: GPL-2.0
/*
 * Puts wrappers into RDMA core's ops, and removes them safely. No other file writes ib_device.ops.
 *
 * RDMA core calls this ib_client for every device. The client replaces the ops that create, modify
 * and destroy QPs by wrappers (also those of user contexts and memory regions, and post_send where
 * the provider's doorbells pass through it). ops is a plain writable structure embedded in
 * ib_device, which callers of verbs read without a lock.
 *
 * A thread may have read the pointer to a wrapper and not have entered it yet, be asleep in the
 * driver's op below it, or be about to return from it. The removal has a step for each case:
 *
 *	restore the ops
 *	synchronize_rcu_tasks()		callers that were preempted with the pointer
 *					in hand have entered; synchronize_rcu() the
 *					same for softirq
 *	synchronize_srcu()		wrapper bodies are over
 *	synchronize_rcu_tasks()		their last instructions are over
 *	free
 *
 * When a single device goes, the wrappers' code stays and only the device's data is freed, after
 * a grace period of that device's own SRCU. So a wrapper that sleeps in the driver of one device
 * does not delay the removal of another device. A wrapper that is entered later finds no device,
 * and calls the op that is in ops by then.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <rdma/ib_verbs.h>

#include "adopt.h"
#include "class.h"
#include "compat.h"
#include "counters.h"
#include "debug.h"
#include "enforce.h"
#include "find.h"
#include "hook.h"
#include "lease.h"
#include "lifecycle.h"
#include "mr.h"
#include "notify.h"
#include "peer.h"
#include "trace.h"
#include "uar.h"

/* arm_lock serializes disarms and protects @why. No other lock is held when it is taken. */
static DEFINE_MUTEX(arm_lock);
static char why[256];

static struct ib_client client;

/*
 * A device that went while another module's wrapper had replaced the wrapper of this module. That
 * wrapper still calls this module's wrapper, which finds the driver's op in this entry. Entry and
 * module then stay for good. Added under arm_lock or RDMA core's locks, never removed.
 *
 * RDMA core also takes a device from its clients, and gives it to them again, when the device moves
 * to another network namespace. Its ops still lead to the wrappers then, so it is not hooked again.
 * Another device may get the memory of one that went; @index tells them apart.
 */
struct srdma_orphan {
	struct list_head node;
	struct ib_device *ibdev;
	u32 index;
	void *above;
	struct srdma_orig_ops orig;
};

static LIST_HEAD(orphans);
static DEFINE_SPINLOCK(orphans_lock);

/* The entry of a device that went; NULL: it has none. Any context: entries are never removed. */
static struct srdma_orphan *find_orphan(const struct ib_device *ibdev)
{
	struct srdma_orphan *o;

	list_for_each_entry_rcu(o, &orphans, node, true)
		if (o->ibdev == ibdev && o->index == ibdev->index)
			return o;
	return NULL;
}

/* The wrappers */

/*
 * What srcu_read_lock() returned: for srdma_srcu, which protects the wrappers' code, and for
 * srdma_dev.srcu, which protects the device's data.
 */
struct in_wrapper {
	int code, data;
};

/* A wrapper that finds no device takes srdma_srcu twice, which does no harm. */
static __always_inline struct srcu_struct *data_srcu(struct srdma_dev *dev)
{
	return dev ? &dev->srcu : &srdma_srcu;
}

/*
 * Enter a wrapper's body. Returns the device, or NULL if it is going or gone: the wrapper
 * then calls late_op().
 */
static __always_inline struct srdma_dev *enter_wrapper(struct ib_device *ibdev,
						       struct in_wrapper *in)
{
	struct srdma_dev *dev;

	srdma_delay(SRDMA_DELAY_ENTRY);
	in->code = srcu_read_lock(&srdma_srcu);
	/* client_remove() waits for RCU, and then for the device's SRCU. */
	rcu_read_lock();
	dev = srdma_dev_of(ibdev);
	in->data = srcu_read_lock(data_srcu(dev));
	rcu_read_unlock();
	return dev;
}

/* Leave a wrapper's body. The device may be gone from here on. */
static __always_inline void leave_wrapper(struct srdma_dev *dev, struct in_wrapper *in)
{
	srcu_read_unlock(data_srcu(dev), in->data);
	srcu_read_unlock(&srdma_srcu, in->code);
	srdma_delay(SRDMA_DELAY_EXIT);
}

/*
 * The op that a wrapper calls if it is entered after its device was dropped. ops are restored
 * before that, so it is the op that is there now. On an orphan, ops lead back to the wrapper, so
 * it is the saved op of the driver.
 */
static noinline void *late_op_at(struct ib_device *ibdev, size_t offset, void **now)
{
	struct srdma_orphan *o;

	smp_rmb();	/* pairs with client_remove() */
	o = find_orphan(ibdev);
	return o ? *(void **)((char *)&o->orig + offset) : READ_ONCE(*now);
}

#define late_op(ibdev, op)						\
	((typeof((ibdev)->ops.op))late_op_at(ibdev,			\
		offsetof(struct srdma_orig_ops, op), (void **)&(ibdev)->ops.op))

/* The body of a wrapper of @op: track_@op() while the device is tracked, else late_op(). */
#define run_wrapper(ibdev, op, ...)					\
({									\
	struct ib_device *ibdev_ = (ibdev);				\
	typeof(late_op(ibdev_, op)(__VA_ARGS__)) ret_;			\
	struct in_wrapper in_;						\
	struct srdma_dev *dev_;						\
									\
	dev_ = enter_wrapper(ibdev_, &in_);				\
	ret_ = dev_ ? track_##op(dev_, __VA_ARGS__) :			\
		      late_op(ibdev_, op)(__VA_ARGS__);			\
	leave_wrapper(dev_, &in_);					\
	ret_;								\
})

static int track_create_qp(struct srdma_dev *dev, struct ib_qp *ibqp,
			   struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct srdma_qp *q;
	u64 began;
	int ret;

	srdma_delay(SRDMA_DELAY_INSIDE);
	q = srdma_qp_prepare(dev, ibqp, attr, !!udata);
	if (IS_ERR(q) && PTR_ERR(q) != -ENOMEM) {
		atomic64_inc(&dev->rejected);
		return PTR_ERR(q);
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
	return ret;
}

static int wrap_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	return run_wrapper(ibqp->device, create_qp, ibqp, attr, udata);
}

/* The caller has locked the QP, which also keeps it in the table; this unlocks it. */
static int modify_locked_qp(struct srdma_dev *dev, struct srdma_qp *q, struct ib_qp *ibqp,
			    struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);
	struct ib_qp_attr *used;
	u64 began;
	int ret;

	used = srdma_class_before_modify(q, attr, mask);
	if (ops->qp_modify)
		ops->qp_modify(q, attr, mask);
	srdma_delay(SRDMA_DELAY_LOCKED);
	began = local_clock();
	ret = dev->orig.modify_qp(ibqp, used, mask, udata);
	srdma_job_charge(q, began, true);
	if (ops->qp_modified)
		ops->qp_modified(q, attr, mask, ret);
	if (!ret) {
		srdma_class_modified(q, attr, used, mask);
		srdma_adopt_modified(q);
		atomic64_inc(&dev->modified);
		srdma_qp_touch(q);
	} else {
		srdma_class_refused(q);
	}
	trace_srdma_qp_modify(q, mask, ret);
	srdma_qp_unlock(q);
	if (used != attr)
		kfree(used);
	return ret;
}

/*
 * Adopt an unknown QP and lock it. The scan or another modify may have adopted it first.
 * Not inline, because this is rare and every modify runs the code around the call.
 */
static noinline struct srdma_qp *adopt_lock_qp(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	srdma_delay(SRDMA_DELAY_UNKNOWN);
	srdma_adopt(dev, ibqp);
	return srdma_qp_find_lock(dev, ibqp);
}

static int track_modify_qp(struct srdma_dev *dev, struct ib_qp *ibqp, struct ib_qp_attr *attr,
			   int mask, struct ib_udata *udata)
{
	struct srdma_qp *q;
	int ret;

	srdma_delay(SRDMA_DELAY_INSIDE);
	q = srdma_qp_find_lock(dev, ibqp);
	if (!q)
		q = adopt_lock_qp(dev, ibqp);
	if (q)
		return modify_locked_qp(dev, q, ibqp, attr, mask, udata);
	ret = dev->orig.modify_qp(ibqp, attr, mask, udata);
	if (!ret)
		atomic64_inc(&dev->modified);
	return ret;
}

static int wrap_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	return run_wrapper(ibqp->device, modify_qp, ibqp, attr, mask, udata);
}

/* A destroy proves that an UNSURE QP is in use, so srdma_qp_leave() then finds it. */
static noinline struct srdma_qp *leave_unsure(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	srdma_adopt_used(dev, ibqp);
	return srdma_qp_leave(dev, ibqp);
}

static int track_destroy_qp(struct srdma_dev *dev, struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct srdma_qp *q;
	u64 began;
	int ret;

	srdma_delay(SRDMA_DELAY_INSIDE);
	q = srdma_qp_leave(dev, ibqp);
	if (!q && atomic_read(&dev->n_unsure))
		q = leave_unsure(dev, ibqp);
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
	return ret;
}

static int wrap_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	return run_wrapper(ibqp->device, destroy_qp, ibqp, udata);
}

/* Any context: a kernel user may post from its completion handler. */
static int track_post_send(struct srdma_dev *dev, struct ib_qp *ibqp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad_wr)
{
	const struct ib_send_wr *w;
	struct srdma_qp *q;
	u32 wrs = 0;

	for (w = wr; w; w = w->next)
		wrs++;
	/* While the device is being retired, the QP may go now: the RCU section keeps its UAR. */
	rcu_read_lock();
	q = srdma_qp_find(dev, ibqp);
	/* Count before the driver's call: a completion may end the QP. */
	if (q)
		srdma_count_post(q, wrs);
	rcu_read_unlock();
	return dev->orig.post_send(ibqp, wr, bad_wr);
}

static int wrap_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad_wr)
{
	return run_wrapper(ibqp->device, post_send, ibqp, wr, bad_wr);
}

static int track_alloc_ucontext(struct srdma_dev *dev, struct ib_ucontext *ctx,
				struct ib_udata *udata)
{
	int ret = dev->orig.alloc_ucontext(ctx, udata);

	if (!ret)
		srdma_uar_opened(dev, ctx, udata);
	return ret;
}

static int wrap_alloc_ucontext(struct ib_ucontext *ctx, struct ib_udata *udata)
{
	return run_wrapper(ctx->device, alloc_ucontext, ctx, udata);
}

/* Not by run_wrapper(), which returns what the op returns. */
static void wrap_dealloc_ucontext(struct ib_ucontext *ctx)
{
	struct in_wrapper in;
	struct srdma_dev *dev;

	dev = enter_wrapper(ctx->device, &in);
	if (dev) {
		srdma_uar_closed(dev, ctx);
		dev->orig.dealloc_ucontext(ctx);
	} else {
		late_op(ctx->device, dealloc_ucontext)(ctx);
	}
	leave_wrapper(dev, &in);
}

static struct ib_mr *track_reg_user_mr(struct srdma_dev *dev, struct ib_pd *pd, u64 start,
				       u64 length, u64 iova, int access,
				       SRDMA_DMAH_PARAM struct ib_udata *udata)
{
	struct ib_mr *mr;

	srdma_delay(SRDMA_DELAY_INSIDE);
	mr = dev->orig.reg_user_mr(pd, start, length, iova, access, SRDMA_DMAH_ARG udata);
	if (IS_ERR(mr))
		return mr;
	srdma_mr_added(dev, mr, iova, length, access & IB_ACCESS_ON_DEMAND);
	srdma_notify(mr_registered, dev);
	return mr;
}

static struct ib_mr *wrap_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
				      int access, SRDMA_DMAH_PARAM struct ib_udata *udata)
{
	return run_wrapper(pd->device, reg_user_mr, pd, start, length, iova, access,
			   SRDMA_DMAH_ARG udata);
}

static struct ib_mr *track_reg_user_mr_dmabuf(struct srdma_dev *dev, struct ib_pd *pd, u64 offset,
					      u64 length, u64 iova, int fd, int access,
					      SRDMA_DMAH_PARAM struct srdma_dmabuf_data *data)
{
	struct ib_mr *mr = dev->orig.reg_user_mr_dmabuf(pd, offset, length, iova, fd, access,
							SRDMA_DMAH_ARG data);

	if (!IS_ERR(mr))
		srdma_mr_added(dev, mr, iova, length, access & IB_ACCESS_ON_DEMAND);
	return mr;
}

/* Register another device's memory, for example a GPU's, named by its file. */
static struct ib_mr *wrap_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					     int fd, int access, SRDMA_DMAH_PARAM
					     struct srdma_dmabuf_data *data)
{
	return run_wrapper(pd->device, reg_user_mr_dmabuf, pd, offset, length, iova, fd, access,
			   SRDMA_DMAH_ARG data);
}

/*
 * The driver either changes the region in place, or returns another one; then dereg_mr
 * follows for the old one.
 */
static struct ib_mr *track_rereg_user_mr(struct srdma_dev *dev, struct ib_mr *mr, int flags,
					 u64 start, u64 length, u64 iova, int access,
					 struct ib_pd *pd, struct ib_udata *udata)
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
	return run_wrapper(mr->device, rereg_user_mr, mr, flags, start, length, iova, access, pd,
			   udata);
}

static int track_dereg_mr(struct srdma_dev *dev, struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct srdma_mr *mr;
	int ret;

	srdma_delay(SRDMA_DELAY_INSIDE);
	mr = srdma_mr_leave(dev, ibmr);
	ret = dev->orig.dereg_mr(ibmr, udata);
	if (mr && ret)
		srdma_mr_stay(dev, mr);
	else if (mr)
		srdma_mr_gone(dev, mr);
	return ret;
}

static int wrap_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	return run_wrapper(ibmr->device, dereg_mr, ibmr, udata);
}

/* Installing and removing the wrappers */

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

/* An op that the driver does not have is not wrapped. */
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

/* An op of another module that replaced one of the wrappers, NULL: there is none. */
static void *wrapper_above(struct srdma_dev *dev)
{
	void *above = NULL;

	for_each_op(check_op, dev);
	return above;
}

static int client_add(struct ib_device *ibdev)
{
	const struct srdma_orphan *orphan = find_orphan(ibdev);
	struct srdma_dev *dev;
	int ret;

	if (!ibdev->ops.create_qp || !ibdev->ops.modify_qp || !ibdev->ops.destroy_qp)
		return -EOPNOTSUPP;
	if (orphan) {
		pr_warn("%s: not hooked: %ps stayed above our hook when the device went\n",
			dev_name(&ibdev->dev), orphan->above);
		return -EBUSY;
	}
	dev = srdma_dev_new(ibdev);
	if (!dev)
		return -ENOMEM;
	dev->refresh.learn_qps = srdma_adopt_query_qps;
	dev->adopting = true;
	dev->wrapped_post_send = dev->provider->wrap_post_send;
	ret = srdma_dev_publish(dev);
	if (ret)
		goto err_dev;

	srdma_provider_attach(dev);
	for_each_op(save_op, dev);
	ib_set_client_data(ibdev, &client, dev);
	srdma_dev_hash(dev);
	smp_wmb();	/* a thread that enters a wrapper finds the device */
	for_each_op(wrap_op, dev);
	dev->hooked = true;
	srdma_dev_adopt(dev);
	down_read(&srdma_devs_sem);	/* the provider stays */
	pr_info("%s: hooked, provider %s, %d QPs older than the module\n", dev->name,
		dev->provider->name, (int)atomic64_read(&dev->adopted));
	up_read(&srdma_devs_sem);
	return 0;

err_dev:
	srdma_dev_abort(dev);
	return ret;
}

static void keep_orphan(struct srdma_dev *dev, void *above)
{
	struct srdma_orphan *o = kzalloc(sizeof(*o), GFP_KERNEL | __GFP_NOFAIL);

	pr_warn("%s goes with %ps still above our hook: this module stays\n", dev->name, above);
	o->ibdev = dev->ibdev;
	o->index = dev->ibdev->index;
	o->above = above;
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
	synchronize_srcu(&dev->srcu);
	srdma_dev_retire(dev);
	above = wrapper_above(dev);
	if (above)
		keep_orphan(dev, above);
	else
		for_each_op(restore_op, dev);
	smp_wmb();	/* a thread that does not find the device finds the ops restored */
	dev->hooked = false;
	ib_set_client_data(ibdev, &client, NULL);
	srdma_dev_unhash(dev);
	if (!srdma_skip_grace(SRDMA_GRACE_SRCU)) {
		synchronize_rcu();
		synchronize_srcu(&dev->srcu);
	}
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
	srdma_notify(dev_renamed, dev);
	up_write(&srdma_devs_sem);
}

static struct ib_client client = {
	.name = "swiftrdma",
	.add = client_add,
	.remove = client_remove,
	.rename = client_rename,
	.no_kverbs_req = true,
};

/* Did another module replace any of the wrappers? Says so in @why. srdma_devs_sem. */
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
	if (!srdma_armed) {
		ret = list_empty(&orphans) ? 0 : -EBUSY;
		goto out;
	}
	down_read(&srdma_devs_sem);
	above = anything_above();
	up_read(&srdma_devs_sem);
	if (above)
		goto busy;

	/* Cleared first: srdma_act() checks it under the lock that ends leases. */
	WRITE_ONCE(srdma_armed, false);
	srdma_leases_hold();
	srdma_enforce_suspend(&left);
	if (left.n && !force) {
		scnprintf(why, sizeof(why),
			  "%d QPs cannot get their application's class or rate back, %d of them not before they are connected anew (QP %u of %s: %s); all leases hold as before",
			  left.n, left.never, left.qpn, left.dev,
			  srdma_class_error_text(left.error));
		srdma_leases_go_on();
		srdma_enforce_resume();
		WRITE_ONCE(srdma_armed, true);
		goto busy;
	}
	srdma_peer_wish_settle();
	srdma_lease_end_all();
	if (left.n)
		pr_warn("%d QPs keep a class or rate that is not their application's\n", left.n);

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
	/*
	 * A running rmmod cannot be refused, so this reference keeps it from running while
	 * the hook is in place.
	 */
	__module_get(THIS_MODULE);
	srdma_armed = true;
	return 0;
}

/* The module's reference to itself delays the exit until a disarm, unless rmmod is forced. */
void srdma_hook_exit(void)
{
	if (srdma_armed)
		srdma_hook_disarm(true);
}
