/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pass: a device's work item compares its QPs with the overrides in force. Any file may
 * request one; enforce.c makes it.
 */
#ifndef SRDMA_PASS_H
#define SRDMA_PASS_H

#include "tracker.h"

int srdma_pass_init(void);
void srdma_pass_exit(void);

/*
 * A device's work. init(): @pass is called with a reference to the device, which it puts.
 * stop(): the device is out of srdma_devs, and no thread is in its wrappers or its
 * provider's ops. flush(): wait until the pass that is running is over.
 */
void srdma_pass_dev_init(struct srdma_dev *dev, work_func_t pass);
void srdma_pass_dev_stop(struct srdma_dev *dev);
void srdma_pass_flush(struct srdma_dev *dev);

/* Request a pass over this device. Any context. */
void srdma_pass_run(struct srdma_dev *dev);
/* Run a pass in @delay jiffies, unless one is to run sooner. */
void srdma_pass_run_later(struct srdma_dev *dev, unsigned long delay);
/* Request a pass over every device that compares every QP. Any process context. */
void srdma_pass_rescan(void);
/* Request a pass that sets rates and weights on this device. Any process context. */
void srdma_pass_shape(struct srdma_dev *dev);
/* Request a pass that compares this QP. Any process context. */
void srdma_pass_qp(struct srdma_qp *q);

/*
 * The device's provider, or the device, is about to go: give back what can be given
 * back, once, and put nothing in force until srdma_dev.giving_back is reset. Blocks.
 */
void srdma_pass_give_back(struct srdma_dev *dev);

extern bool srdma_suspended;
/* Are all overrides on @dev suspended? Any context. */
static inline bool srdma_giving_back(const struct srdma_dev *dev)
{
	return READ_ONCE(dev->giving_back) || READ_ONCE(srdma_suspended);
}

#endif /* SRDMA_PASS_H */
