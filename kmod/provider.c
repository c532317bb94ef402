// SPDX-License-Identifier: GPL-2.0
/*
 * Which provider knows a device. Those of this module are asked first, then those
 * that other modules registered, then the generic one, which takes all.
 *
 * A provider that goes while its devices stay is taken from them in this order,
 * each step for one who may still be in its ops:
 *
 *	give back what is in force		it knows how, the generic one does not
 *	the device is the generic provider's	who comes now does not find it
 *	wait for the wrappers			who had it in hand
 *	wait for readers and for enforce.c	the same
 *	detach every QP				meanwhile a QP's end does it itself
 *	wait for the wrappers			those ends
 *	dev_remove
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>

#include "adopt.h"
#include "enforce.h"
#include "find.h"
#include "hook.h"
#include "mr.h"
#include "provider.h"

static const struct srdma_provider_ops *const providers[] = {
	&srdma_provider_rxe,
};

/*
 * Registered ones, and the devices they have. Taken inside RDMA core's client locks
 * and outside srdma_devs_sem.
 */
static DEFINE_MUTEX(providers_lock);
static const struct srdma_provider_ops *registered[4];
static LIST_HEAD(attached);

const struct srdma_provider_ops *srdma_provider_of(struct ib_device *ibdev)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(providers); i++)
		if (providers[i]->match(ibdev))
			return providers[i];
	return &srdma_provider_generic;
}

void srdma_provider_detach(struct srdma_qp *q)
{
	const struct srdma_provider_ops *ops = READ_ONCE(q->dev->attached);

	if (!ops)
		ops = q->dev->provider;
	if (ops->detach)
		ops->detach(q);
}

static void attach(struct srdma_dev *dev, const struct srdma_provider_ops *ops)
{
	int ret;

	if (dev->attached || dev->provider != &srdma_provider_generic || !ops->match(dev->ibdev))
		return;
	dev->caps = ops->caps;
	ret = ops->dev_add(dev);
	if (ret) {
		dev->caps = dev->provider->caps;
		pr_warn("%s: not taken by provider %s: %d\n", dev->name, ops->name, ret);
		return;
	}
	list_add(&dev->provider_node, &attached);
	WRITE_ONCE(dev->attached, ops);
	smp_store_release(&dev->provider, ops);	/* who calls it finds priv */
	srdma_enforce_rescan();	/* it may be able to do what the generic one was not */
}

static void detach_qps(struct srdma_dev *dev)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;

	while ((q = srdma_walk_get(&w))) {
		srdma_qp_lock(q);
		if (!test_bit(SRDMA_QP_DEAD, &q->flags) ||
		    test_bit(SRDMA_QP_UNSURE, &q->flags))
			srdma_provider_detach(q);
		srdma_qp_unlock(q);
		srdma_qp_put(q);
		cond_resched();
	}
}

/* @stays: the device does, with the generic provider. */
static void release(struct srdma_dev *dev, bool stays)
{
	const struct srdma_provider_ops *ops = dev->attached;

	if (!ops)
		return;
	if (stays)
		srdma_enforce_give_back(dev);
	dev->caps = srdma_provider_generic.caps;
	WRITE_ONCE(dev->provider, &srdma_provider_generic);
	srdma_hook_wait();
	down_write(&srdma_devs_sem);	/* who has it for reading is done with the ops */
	up_write(&srdma_devs_sem);
	srdma_enforce_flush();
	detach_qps(dev);
	WRITE_ONCE(dev->attached, NULL);
	srdma_hook_wait();
	ops->dev_remove(dev);
	list_del(&dev->provider_node);
	if (stays) {
		/* What another provider, or a QP's connection, can still do. */
		WRITE_ONCE(dev->giving_back, false);
		srdma_enforce_rescan();
	}
}

int srdma_provider_register(const struct srdma_provider_ops *ops)
{
	struct srdma_dev *dev;
	unsigned long index;
	int i, ret = -ENOSPC;

	mutex_lock(&providers_lock);
	for (i = 0; i < ARRAY_SIZE(registered) && ret; i++) {
		if (registered[i])
			continue;
		registered[i] = ops;
		ret = 0;
	}
	if (!ret) {
		down_read(&srdma_devs_sem);
		xa_for_each(&srdma_devs, index, dev)
			attach(dev, ops);
		up_read(&srdma_devs_sem);
	}
	mutex_unlock(&providers_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(srdma_provider_register);

void srdma_provider_unregister(const struct srdma_provider_ops *ops)
{
	struct srdma_dev *dev, *next;
	int i;

	mutex_lock(&providers_lock);
	for (i = 0; i < ARRAY_SIZE(registered); i++)
		if (registered[i] == ops)
			registered[i] = NULL;
	list_for_each_entry_safe(dev, next, &attached, provider_node)
		if (dev->attached == ops)
			release(dev, true);
	mutex_unlock(&providers_lock);
}
EXPORT_SYMBOL_GPL(srdma_provider_unregister);

void srdma_provider_attach(struct srdma_dev *dev)
{
	int i;

	mutex_lock(&providers_lock);
	for (i = 0; i < ARRAY_SIZE(registered); i++)
		if (registered[i])
			attach(dev, registered[i]);
	mutex_unlock(&providers_lock);
}

void srdma_provider_give_back(struct srdma_dev *dev)
{
	mutex_lock(&providers_lock);
	if (dev->attached)
		srdma_enforce_give_back(dev);
	mutex_unlock(&providers_lock);
}

void srdma_provider_release(struct srdma_dev *dev)
{
	mutex_lock(&providers_lock);
	release(dev, false);
	mutex_unlock(&providers_lock);
}

void srdma_provider_refresh(struct srdma_dev *dev)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);

	lockdep_assert_held(&srdma_devs_sem);
	srdma_adopt_recheck(dev);
	if (ops->learn)
		ops->learn(dev);
	if (ops->refresh)
		ops->refresh(dev);
}

void srdma_provider_ask_all(void)
{
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev)
		srdma_mr_ask(dev);
}

void srdma_provider_refresh_all(void)
{
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev)
		srdma_provider_refresh(dev);
}
