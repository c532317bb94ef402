// SPDX-License-Identifier: GPL-2.0
/* Requests for a pass over a device's QPs. */
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "pass.h"

/* Unbound: passes of as many devices as there are run side by side. */
static struct workqueue_struct *wq;

/* True while the hook is being removed, and afterwards: see srdma_giving_back(). */
bool srdma_suspended;
EXPORT_SYMBOL_GPL(srdma_suspended);

void srdma_pass_run(struct srdma_dev *dev)
{
	srdma_dev_get(dev);
	/* A work that was queued already has a reference of its own. */
	if (mod_delayed_work(wq, &dev->enforce, 0))
		srdma_dev_put(dev);
}

void srdma_pass_run_later(struct srdma_dev *dev, unsigned long delay)
{
	srdma_dev_get(dev);
	if (!queue_delayed_work(wq, &dev->enforce, delay))
		srdma_dev_put(dev);
}

static void rescan_dev(struct srdma_dev *dev)
{
	WRITE_ONCE(dev->rescan, 1);
	srdma_pass_run(dev);
}

void srdma_pass_rescan(void)
{
	struct srdma_dev *dev;
	unsigned long index;

	rcu_read_lock();
	xa_for_each(&srdma_devs, index, dev)
		rescan_dev(dev);
	rcu_read_unlock();
}

void srdma_pass_shape(struct srdma_dev *dev)
{
	WRITE_ONCE(dev->reshape, 1);
	srdma_pass_run(dev);
}
EXPORT_SYMBOL_GPL(srdma_pass_shape);

void srdma_pass_qp(struct srdma_qp *q)
{
	set_bit(SRDMA_QP_MARKED, &q->flags);
	srdma_pass_run(q->dev);
}

void srdma_pass_flush(struct srdma_dev *dev)
{
	flush_work(&dev->enforce.work);
}

void srdma_pass_give_back(struct srdma_dev *dev)
{
	WRITE_ONCE(dev->giving_back, true);
	/* A modify that began before giving_back was set may still force a class. */
	synchronize_srcu(&dev->srcu);
	WRITE_ONCE(dev->hurry, true);
	rescan_dev(dev);
	flush_delayed_work(&dev->enforce);
	WRITE_ONCE(dev->hurry, false);
}

void srdma_pass_dev_init(struct srdma_dev *dev, work_func_t pass)
{
	INIT_DELAYED_WORK(&dev->enforce, pass);
}

void srdma_pass_dev_stop(struct srdma_dev *dev)
{
	synchronize_rcu();	/* a thread in srdma_pass_rescan() may have found the device */
	if (cancel_delayed_work_sync(&dev->enforce))
		srdma_dev_put(dev);
}

int srdma_pass_init(void)
{
	wq = alloc_workqueue("swiftrdma", WQ_UNBOUND, 0);
	return wq ? 0 : -ENOMEM;
}

/* No device is left, and no pass is requested any more. */
void srdma_pass_exit(void)
{
	destroy_workqueue(wq);
}
