// SPDX-License-Identifier: GPL-2.0
/*
 * UARs. On a device whose UAR pages are not visible, each user context stands for one,
 * because a page belongs to one context only. Where a provider knows the pages, each page
 * is an object of its own. It stays until its context is closed, so that its figures
 * outlive its QPs.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "notify.h"
#include "uar.h"

static void uar_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct srdma_uar, rcu));
}

/* Recurses once at most: a context has no context. */
static void uar_release(struct kref *ref)
{
	struct srdma_uar *u = container_of(ref, struct srdma_uar, ref);

	srdma_owner_put(u->owner);
	kfree(u->spare);
	srdma_uar_put(u->context);
	srdma_dev_put(u->dev);
	call_rcu(&u->rcu, uar_free);
}

void srdma_uar_put(struct srdma_uar *u)
{
	if (u)
		kref_put(&u->ref, uar_release);
}
EXPORT_SYMBOL_GPL(srdma_uar_put);

static struct srdma_uar *uar_alloc(struct srdma_dev *dev, void *ctx,
				   struct srdma_owner *owner, u8 kind)
{
	struct srdma_uar *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);

	if (!u)
		return NULL;
	kref_init(&u->ref);
	u->dev = dev;
	u->ctx = ctx;
	u->owner = owner;
	u->kind = kind;
	u->since = ktime_get_ns();
	INIT_LIST_HEAD(&u->pages);
	INIT_LIST_HEAD(&u->page_node);
	INIT_LIST_HEAD(&u->members);
	spin_lock_init(&u->lock);
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

/* The context's UAR, made if need be, with a reference. @task: the thread that opened it. */
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
		owner = srdma_owner_current();
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
	/* An XRC target has no PD of its own, and posts nothing. */
	uobj = ibqp->pd ? ibqp->pd->uobject : NULL;
	if (!uobj || !uobj->context)
		return NULL;
	return uar_of_ctx(dev, uobj->context,
			  ibqp->res.task ? ibqp->res.task : current);
}

void srdma_uar_opened(struct srdma_dev *dev, struct ib_ucontext *ctx, struct ib_udata *udata)
{
	const struct srdma_provider_ops *ops = READ_ONCE(dev->provider);
	struct srdma_uar *u = uar_of_ctx(dev, ctx, current);

	if (u && ops->context_pages)
		WRITE_ONCE(u->limit, ops->context_pages(udata));
	srdma_uar_put(u);
}

/* Pages */

/* Drop a page that has left the table; QPs on it keep the object. @page_lock. */
static void page_drop(struct srdma_dev *dev, struct srdma_uar *page)
{
	lockdep_assert_held(&dev->page_lock);
	list_del(&page->page_node);
	WRITE_ONCE(page->context->n_pages, page->context->n_pages - 1);
	srdma_uar_put(page);
}

static void page_drop_all(struct srdma_dev *dev, struct srdma_uar *context)
{
	struct srdma_uar *page, *next;

	mutex_lock(&dev->page_lock);
	context->closed = true;
	list_for_each_entry_safe(page, next, &context->pages, page_node) {
		xa_erase(&dev->pages, page->index);
		page_drop(dev, page);
	}
	mutex_unlock(&dev->page_lock);
}

/*
 * An older entry of this index is another context's, which has returned the page to the
 * device.
 */
static struct srdma_uar *page_make(struct srdma_dev *dev, struct srdma_uar *context, u32 index,
				   u8 kind)
{
	struct srdma_uar *page, *old;

	lockdep_assert_held(&dev->page_lock);
	/* The close of the context, which drops its pages, is over. */
	if (context->closed)
		return NULL;
	page = uar_alloc(dev, NULL, context->owner, kind);
	if (!page)
		return NULL;
	page->index = index;
	page->context = context;
	page->sweeps0 = atomic64_read(&dev->sweeps);
	old = xa_store(&dev->pages, index, page, GFP_KERNEL);
	if (xa_is_err(old)) {
		kfree(page);
		return NULL;
	}
	srdma_owner_get(page->owner);
	srdma_dev_get(dev);
	kref_get(&context->ref);
	list_add(&page->page_node, &context->pages);
	WRITE_ONCE(context->n_pages, context->n_pages + 1);
	if (old)
		page_drop(dev, old);
	return page;
}

struct srdma_uar *srdma_page_get(struct srdma_dev *dev, struct srdma_uar *context, u32 index,
				 u8 kind)
{
	struct srdma_uar *page;

	rcu_read_lock();
	page = xa_load(&dev->pages, index);
	if (page && (page->context != context || !kref_get_unless_zero(&page->ref)))
		page = NULL;
	rcu_read_unlock();
	if (page)
		return page;

	mutex_lock(&dev->page_lock);
	page = xa_load(&dev->pages, index);
	if (!page || page->context != context)
		page = page_make(dev, context, index, kind);
	if (page)
		kref_get(&page->ref);
	mutex_unlock(&dev->page_lock);
	return page;
}
EXPORT_SYMBOL_GPL(srdma_page_get);

/* The page's member for @owner and @tid, or NULL; and whether any member has this owner. */
static struct srdma_member *member_find(struct srdma_uar *page, const struct srdma_owner *owner,
					u32 tid, bool *owner_known)
{
	struct srdma_member *m;

	*owner_known = false;
	list_for_each_entry(m, &page->members, node) {
		if (m->owner != owner)
			continue;
		*owner_known = true;
		if (m->tid == tid)
			return m;
	}
	return NULL;
}

void srdma_page_join(struct srdma_qp *q, struct srdma_uar *page)
{
	struct srdma_member *m, *fresh = NULL;
	bool known;

	while (true) {
		spin_lock(&page->lock);
		m = member_find(page, q->owner, q->tid, &known);
		if (!m && !fresh)
			swap(fresh, page->spare);
		if (m || fresh)
			break;
		spin_unlock(&page->lock);
		fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
		if (!fresh) {
			spin_lock(&page->lock);
			break;
		}
	}
	if (!m && fresh) {
		m = fresh;
		fresh = NULL;
		srdma_owner_get(q->owner);
		m->owner = q->owner;
		m->tid = q->tid;
		list_add(&m->node, &page->members);
		page->n_members++;
		page->n_owners += !known;
	}
	if (m)
		m->n++;
	spin_unlock(&page->lock);
	kfree(fresh);
	atomic_inc(&page->n_qps);
	atomic64_inc(&page->created);
	q->hw->member = m;
	smp_store_release(&q->hw->page, page);	/* a reader that finds the page may read it */
}
EXPORT_SYMBOL_GPL(srdma_page_join);

void srdma_page_leave(struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	struct srdma_uar *page = hw ? hw->page : NULL;
	struct srdma_member *m = page ? hw->member : NULL;
	struct srdma_owner *owner;
	bool known;

	if (!page)
		return;
	atomic_dec(&page->n_qps);
	if (!m)
		return;
	hw->member = NULL;
	spin_lock(&page->lock);
	if (--m->n) {
		spin_unlock(&page->lock);
		return;
	}
	owner = m->owner;
	list_del(&m->node);
	page->n_members--;
	member_find(page, owner, m->tid, &known);
	page->n_owners -= !known;
	/* Keep it for the next QP, which most likely needs one. */
	if (!page->spare)
		swap(m, page->spare);
	spin_unlock(&page->lock);
	srdma_owner_put(owner);
	kfree(m);
}

u8 srdma_uar_kind(const struct srdma_uar *u)
{
	if (u->kind == SWIFTRDMA_UAR_KIND_DYNAMIC && atomic_read(&u->n_qps) == 1)
		return SWIFTRDMA_UAR_KIND_DEDICATED;
	return u->kind;
}

/* Closing contexts */

/* Take a context's entry out of the table; QPs that outlive it keep the object. */
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
	page_drop_all(dev, u);
	uar_unhash(dev, u);
	srdma_notify(context_closed, dev, u->owner);
	srdma_uar_put(u);
}

void srdma_uar_drop_all(struct srdma_dev *dev)
{
	unsigned long index;
	struct srdma_uar *u;

	spin_lock(&dev->uar_lock);
	hash_init(dev->uar_hash);
	spin_unlock(&dev->uar_lock);
	xa_for_each(&dev->uars, index, u) {
		page_drop_all(dev, u);
		uar_unhash(dev, u);
	}
	dev->kernel_uar = NULL;
}
