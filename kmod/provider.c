// SPDX-License-Identifier: GPL-2.0
/*
 * The provider of each device. Providers of this module are tried first, then those that other
 * modules registered, then the generic one, which takes all devices.
 *
 * A provider that is unregistered while its devices stay leaves them in these steps,
 * each of which waits for threads that may still be in its ops:
 *
 *	give back what is in force		only this provider can
 *	hand the device to the generic one	new callers do not find the provider
 *	wait for the wrappers			callers that had found it
 *	wait for readers, refresh.c, enforce.c	the same
 *	detach every QP				a QP destroyed meanwhile is detached by its destroy
 *	wait for the wrappers			these destroys
 *	dev_remove
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "find.h"
#include "pass.h"
#include "provider.h"
#include "refresh.h"

static const struct srdma_provider_ops *const providers[] = {
	&srdma_provider_rxe,
};

/* Stands in the place of a provider that is being unregistered. */
static const struct srdma_provider_ops going;

/*
 * Protects the registered providers and the lists of their devices. Taken inside
 * srdma_dev.provider_lock, takes nothing.
 */
static DEFINE_MUTEX(providers_lock);
static struct registration {
	const struct srdma_provider_ops *ops;	/* NULL: a free place */
	struct list_head devs;			/* srdma_dev.provider_node */
} registered[4];

const struct srdma_provider_ops *srdma_provider_of(struct ib_device *ibdev)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(providers); i++)
		if (providers[i]->match(ibdev))
			return providers[i];
	return &srdma_provider_generic;
}

/*
 * In a guest a virtual function looks like a physical one, so only a function that the bus
 * calls virtual is known here. Scalable functions are devices of the auxiliary bus, whose
 * names say so.
 */
u8 srdma_function_of(const struct ib_device *ibdev)
{
	struct device *parent = ibdev->dev.parent;

	if (!parent)
		return SWIFTRDMA_FUNCTION_UNSPEC;
	if (dev_is_pci(parent) && to_pci_dev(parent)->is_virtfn)
		return SWIFTRDMA_FUNCTION_VF;
	if (strstr(dev_name(parent), "_core.sf."))
		return SWIFTRDMA_FUNCTION_SF;
	return SWIFTRDMA_FUNCTION_UNSPEC;
}

void srdma_provider_detach(struct srdma_qp *q)
{
	const struct srdma_provider_ops *ops;
	int idx;

	/* Not every caller is in a wrapper; release_provider() waits for the section, too. */
	idx = srcu_read_lock(&q->dev->srcu);
	ops = READ_ONCE(q->dev->attached);
	if (!ops)
		ops = q->dev->provider;
	if (ops->detach)
		ops->detach(q);
	srcu_read_unlock(&q->dev->srcu, idx);
}

static struct registration *registration_of(const struct srdma_provider_ops *ops)
{
	int i;

	lockdep_assert_held(&providers_lock);
	for (i = 0; i < ARRAY_SIZE(registered); i++)
		if (registered[i].ops == ops)
			return &registered[i];
	return NULL;
}

/*
 * Put the device into its provider's list; unregistering waits for all devices in it.
 * False: the provider is being unregistered.
 */
static bool claim_dev(struct srdma_dev *dev, const struct srdma_provider_ops *ops)
{
	struct registration *r;

	mutex_lock(&providers_lock);
	r = registration_of(ops);
	if (r)
		list_add(&dev->provider_node, &r->devs);
	mutex_unlock(&providers_lock);
	return r;
}

static void unclaim_dev(struct srdma_dev *dev)
{
	mutex_lock(&providers_lock);
	list_del(&dev->provider_node);
	mutex_unlock(&providers_lock);
}

static void attach_provider(struct srdma_dev *dev, const struct srdma_provider_ops *ops)
{
	int ret;

	lockdep_assert_held(&dev->provider_lock);
	if (dev->provider_closed || dev->attached || dev->provider != &srdma_provider_generic ||
	    !claim_dev(dev, ops))
		return;
	if (!ops->match(dev->ibdev)) {
		unclaim_dev(dev);
		return;
	}
	dev->caps = ops->caps;
	ret = ops->dev_add(dev);
	if (ret) {
		dev->caps = dev->provider->caps;
		pr_warn("%s: not taken by provider %s: %d\n", dev->name, ops->name, ret);
		unclaim_dev(dev);
		return;
	}
	WRITE_ONCE(dev->attached, ops);
	smp_store_release(&dev->provider, ops);	/* a caller of an op finds @priv */
	srdma_pass_rescan();	/* the new provider may apply more than the generic one */
	srdma_refresh_start(dev, BIT(SRDMA_REFRESH_PORTS));
}

static void detach_qps(struct srdma_dev *dev)
{
	struct srdma_qp *q;

	srdma_for_each_qp(q, dev) {
		srdma_qp_lock(q);
		if (!test_bit(SRDMA_QP_DEAD, &q->flags) ||
		    test_bit(SRDMA_QP_UNSURE, &q->flags))
			srdma_provider_detach(q);
		srdma_qp_unlock(q);
	}
}

/* @stays: the device stays, with the generic provider. */
static void release_provider(struct srdma_dev *dev, bool stays)
{
	const struct srdma_provider_ops *ops = dev->attached;

	lockdep_assert_held(&dev->provider_lock);
	if (!ops)
		return;
	if (stays)
		srdma_pass_give_back(dev);
	dev->caps = srdma_provider_generic.caps;
	dev->function = srdma_function_of(dev->ibdev);
	WRITE_ONCE(dev->provider, &srdma_provider_generic);
	synchronize_srcu(&dev->srcu);
	down_write(&srdma_devs_sem);	/* readers of the semaphore have finished with the ops */
	up_write(&srdma_devs_sem);
	srdma_refresh_flush(dev);
	srdma_pass_flush(dev);
	detach_qps(dev);
	WRITE_ONCE(dev->attached, NULL);
	synchronize_srcu(&dev->srcu);
	ops->dev_remove(dev);
	unclaim_dev(dev);
	if (stays && !dev->provider_closed) {
		/* Another provider, or a QP's connect, may apply overrides again. */
		WRITE_ONCE(dev->giving_back, false);
		srdma_pass_rescan();
	}
}

int srdma_provider_register(const struct srdma_provider_ops *ops)
{
	struct registration *r;
	unsigned long index = 0;
	struct srdma_dev *dev;

	mutex_lock(&providers_lock);
	r = registration_of(NULL);
	if (r) {
		INIT_LIST_HEAD(&r->devs);
		r->ops = ops;
	}
	mutex_unlock(&providers_lock);
	if (!r)
		return -ENOSPC;
	while ((dev = srdma_dev_next(&index))) {
		mutex_lock(&dev->provider_lock);
		attach_provider(dev, ops);
		mutex_unlock(&dev->provider_lock);
		srdma_dev_put(dev);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(srdma_provider_register);

/* A device of provider @r, with a reference; NULL: there is none. */
static struct srdma_dev *first_claimed(struct registration *r)
{
	struct srdma_dev *dev;

	mutex_lock(&providers_lock);
	dev = list_first_entry_or_null(&r->devs, struct srdma_dev, provider_node);
	if (dev)
		srdma_dev_get(dev);
	mutex_unlock(&providers_lock);
	return dev;
}

void srdma_provider_unregister(const struct srdma_provider_ops *ops)
{
	struct registration *r;
	struct srdma_dev *dev;

	/* The place stays in use until all devices are out of its list. */
	mutex_lock(&providers_lock);
	r = registration_of(ops);
	r->ops = &going;
	mutex_unlock(&providers_lock);
	while ((dev = first_claimed(r))) {
		mutex_lock(&dev->provider_lock);
		release_provider(dev, true);
		mutex_unlock(&dev->provider_lock);
		srdma_dev_put(dev);
	}
	WRITE_ONCE(r->ops, NULL);
}
EXPORT_SYMBOL_GPL(srdma_provider_unregister);

void srdma_provider_attach(struct srdma_dev *dev)
{
	const struct srdma_provider_ops *ops;
	int i;

	mutex_lock(&dev->provider_lock);
	for (i = 0; i < ARRAY_SIZE(registered); i++) {
		ops = READ_ONCE(registered[i].ops);
		if (ops && ops != &going)
			attach_provider(dev, ops);
	}
	mutex_unlock(&dev->provider_lock);
	/* Read the ports once now: a reader without privileges cannot have them read. */
	srdma_refresh_start(dev, BIT(SRDMA_REFRESH_PORTS));
}

void srdma_provider_give_back(struct srdma_dev *dev)
{
	mutex_lock(&dev->provider_lock);
	dev->provider_closed = true;
	if (dev->attached)
		srdma_pass_give_back(dev);
	mutex_unlock(&dev->provider_lock);
}

void srdma_provider_release(struct srdma_dev *dev)
{
	mutex_lock(&dev->provider_lock);
	release_provider(dev, false);
	mutex_unlock(&dev->provider_lock);
}
