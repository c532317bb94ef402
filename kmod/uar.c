// SPDX-License-Identifier: GPL-2.0
/*
 * UARs: on a device that has none that we can see, the user context stands for
 * one, since on a device that has them they belong to one context each.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "uar.h"

static void uar_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct srdma_uar, rcu));
}

static void uar_release(struct kref *ref)
{
	struct srdma_uar *u = container_of(ref, struct srdma_uar, ref);

	srdma_owner_put(u->owner);
	srdma_dev_put(u->dev);
	call_rcu(&u->rcu, uar_free);
}

void srdma_uar_put(struct srdma_uar *u)
{
	if (u)
		kref_put(&u->ref, uar_release);
}

static struct srdma_uar *uar_alloc(struct srdma_dev *dev, void *ctx,
				   struct srdma_owner *owner, u8 kind)
{
	struct srdma_uar *u = kzalloc(sizeof(*u), GFP_KERNEL);

	if (!u)
		return NULL;
	kref_init(&u->ref);
	u->dev = dev;
	u->ctx = ctx;
	u->owner = owner;
	u->kind = kind;
	u->since = ktime_get_ns();
	return u;
}

struct srdma_uar *srdma_uar_new_kernel(struct srdma_dev *dev)
{
	struct srdma_owner *owner = srdma_owner_kernel("kernel");
	struct srdma_uar *u;

	if (!owner)
		return NULL;
	u = uar_alloc(dev, NULL, owner, SWIFTRDMA_UAR_KIND_KERNEL);
	if (!u || xa_alloc(&dev->uars, &u->index, u, xa_limit_31b, GFP_KERNEL)) {
		srdma_owner_put(owner);
		kfree(u);
		return NULL;
	}
	srdma_dev_get(dev);
	return u;
}

/* With a reference. Under @uar_lock or RCU. */
static struct srdma_uar *uar_find(struct srdma_dev *dev, void *ctx)
{
	struct srdma_uar *u;

	hash_for_each_possible_rcu_notrace(dev->uar_hash, u, node, (unsigned long)ctx)
		if (u->ctx == ctx && kref_get_unless_zero(&u->ref))
			return u;
	return NULL;
}

/* The context's UAR, made if need be, with a reference. @task: who opened it. */
static struct srdma_uar *uar_of_ctx(struct srdma_dev *dev, struct ib_ucontext *ctx,
				    struct task_struct *task)
{
	struct srdma_owner *owner;
	struct srdma_uar *u, *old;

	rcu_read_lock();
	u = uar_find(dev, ctx);
	rcu_read_unlock();
	if (u)
		return u;

	owner = task ? srdma_owner_task(task) : NULL;
	if (!owner)
		owner = srdma_owner_current(NULL);
	if (!owner)
		return NULL;
	u = uar_alloc(dev, ctx, owner, SWIFTRDMA_UAR_KIND_CONTEXT);
	if (!u)
		goto err_owner;
	if (xa_alloc(&dev->uars, &u->index, NULL, xa_limit_31b, GFP_KERNEL))
		goto err_uar;

	spin_lock(&dev->uar_lock);
	old = uar_find(dev, ctx);
	if (!old) {
		srdma_dev_get(dev);
		hash_add_rcu(dev->uar_hash, &u->node, (unsigned long)ctx);
		kref_get(&u->ref);
	}
	spin_unlock(&dev->uar_lock);
	if (old) {
		xa_release(&dev->uars, u->index);
		srdma_owner_put(owner);
		kfree(u);
		return old;
	}
	/* The index is reserved: this cannot fail for lack of memory. */
	xa_store(&dev->uars, u->index, u, GFP_KERNEL);
	return u;

err_uar:
	kfree(u);
err_owner:
	srdma_owner_put(owner);
	return NULL;
}

struct srdma_uar *srdma_uar_of(struct srdma_dev *dev, struct ib_qp *ibqp, bool user)
{
	struct ib_uobject *uobj;

	if (!user) {
		kref_get(&dev->kernel_uar->ref);
		return dev->kernel_uar;
	}
	/* An XRC target has no PD of its own, so nobody rings for it. */
	uobj = ibqp->pd ? ibqp->pd->uobject : NULL;
	if (!uobj || !uobj->context)
		return NULL;
	return uar_of_ctx(dev, uobj->context,
			  ibqp->res.task ? ibqp->res.task : current);
}

void srdma_uar_opened(struct srdma_dev *dev, struct ib_ucontext *ctx)
{
	srdma_uar_put(uar_of_ctx(dev, ctx, current));
}

/* The entry goes with its context; QPs that outlive it keep the object. */
static void uar_unhash(struct srdma_dev *dev, struct srdma_uar *u)
{
	xa_erase(&dev->uars, u->index);
	srdma_uar_put(u);
}

void srdma_uar_closed(struct srdma_dev *dev, struct ib_ucontext *ctx)
{
	struct srdma_uar *u;

	spin_lock(&dev->uar_lock);
	u = uar_find(dev, ctx);
	if (u)
		hash_del_rcu(&u->node);
	spin_unlock(&dev->uar_lock);
	if (!u)
		return;
	uar_unhash(dev, u);
	srdma_uar_put(u);
}

void srdma_uar_drop_all(struct srdma_dev *dev)
{
	unsigned long index;
	struct srdma_uar *u;

	spin_lock(&dev->uar_lock);
	hash_init(dev->uar_hash);
	spin_unlock(&dev->uar_lock);
	xa_for_each(&dev->uars, index, u)
		uar_unhash(dev, u);
	dev->kernel_uar = NULL;
}
