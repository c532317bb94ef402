/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_REFRESH_H
#define SRDMA_REFRESH_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct srdma_dev;

/*
 * Figures that take firmware commands, or a while, to read. A work item of each device
 * reads them when a reader asks. The reader waits for that work with no lock held and for a
 * bounded time, and then takes the last figures that were read, with their time. So a
 * device that does not answer does not keep readers from another one, and no lock that a
 * reader takes is held over a command.
 */
enum srdma_refresh_kind {
	SRDMA_REFRESH_PORTS,	/* ports: link, bytes, priorities, congestion */
	SRDMA_REFRESH_DEV,	/* figures of the device alone */
	SRDMA_REFRESH_QPS,	/* what is not known of QPs yet, and work requests */
	SRDMA_REFRESH_MRS,	/* how memory regions are mapped */
	SRDMA_REFRESH_KINDS,
	/* No reader waits for these: */
	SRDMA_REFRESH_OUTSTANDING = SRDMA_REFRESH_KINDS,	/* srdma_provider_ops.watch */
};

/*
 * May a query that failed with @err succeed later, although its object has not changed? A query
 * that the device or the driver has refused is not repeated.
 */
static inline bool srdma_may_pass(int err)
{
	switch (err) {
	case -EAGAIN:
	case -EBUSY:
	case -EINTR:
	case -ENOMEM:
	case -ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

/**
 * struct srdma_refresh - the work that refreshes a device's figures, and its requests
 * @learn_qps: queries QPs of which something is unknown, a limited number in each call; returns
 *	how many remain. srdma_adopt_query_qps(), set by hook.c.
 * @work: runs one step for each kind with requests
 * @wait: readers
 * @asked: by kind: number of the last request
 * @done: by kind: number of the last request that was served
 * @step_since: jiffies when the step that runs now began, 0: none runs
 * @sample_asked: requests to the provider's sampler; it counts work requests without
 *	commands, by itself, so its readers do not wait for @work
 * @sample_done: the last of these requests that was served
 */
struct srdma_refresh {
	u32 (*learn_qps)(struct srdma_dev *dev);
	struct work_struct work;
	wait_queue_head_t wait;
	atomic64_t asked[SRDMA_REFRESH_KINDS], done[SRDMA_REFRESH_KINDS];
	unsigned long step_since;
	atomic64_t sample_asked, sample_done;
};

void srdma_refresh_init(struct srdma_dev *dev);
/* The device is out of srdma_devs. Waits for the running step. */
void srdma_refresh_stop(struct srdma_dev *dev);
/* The device has another provider: wait for a step that runs with the former one. */
void srdma_refresh_flush(struct srdma_dev *dev);

/*
 * Bring the figures of @kinds (BIT(enum srdma_refresh_kind)) up to date: of @dev, to
 * which the caller has a reference, or of all devices. Returns when they are, or when
 * the device has not answered for a while. Takes srdma_devs_sem; the caller holds no
 * lock. start() does not wait; its caller may hold srdma_dev.provider_lock and RDMA core's
 * client locks.
 *
 * A reader without privileges (@admin false) causes no command: where commands are needed,
 * it gets the figures that were read last.
 */
void srdma_refresh(struct srdma_dev *dev, u32 kinds, bool admin);
void srdma_refresh_all(u32 kinds, bool admin);
void srdma_refresh_start(struct srdma_dev *dev, u32 kinds);

#endif /* SRDMA_REFRESH_H */
