/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_NOTIFY_H
#define SRDMA_NOTIFY_H

#include <linux/stddef.h>
#include <linux/types.h>

struct srdma_batch;
struct srdma_busy;
struct srdma_dev;
struct srdma_job;
struct srdma_lease;
struct srdma_owner;
struct srdma_qp;
struct srdma_tally;

/**
 * struct srdma_notifier - functions that an upper layer registers and a lower one calls
 * @dev_added: a device is in srdma_devs. srdma_devs_sem is held for writing.
 * @dev_renamed: srdma_dev.name has changed. srdma_devs_sem is held for writing.
 * @dev_removed: a device has left srdma_devs; its QPs are still there. No lock is held but RDMA
 *	core's client locks, and arm_lock at a disarm.
 * @context_closed: a user context of a device was closed. In the application's call, or in
 *	its exit. No lock is held.
 * @qp_created: a QP is in the table and a member of its job. In the application's
 *	create_qp, or where a QP made past RDMA core is entered, then inside
 *	srdma_qp_lock().
 * @qp_destroyed: a QP has left the table and is still a member of its job. In the
 *	application's destroy_qp, or where a QP is found to have gone. No spinlock is held;
 *	srdma_dev.adopt_lock may be, srdma_qp_lock() of another QP, and where the device or
 *	its provider goes srdma_dev.provider_lock and RDMA core's client locks.
 * @qp_released: the last reference to a QP was dropped. Process context, also in RCU sections, so
 *	the function must not sleep.
 * @mr_registered: the calling process has registered memory of its own for a device. No lock
 *	is held.
 * @jobs_rechecked: every QP is about to be matched against the rules again.
 *	srdma_devs_sem (reading) and srdma_ctl_lock are held.
 * @jobs_assigned: every QP was matched against the rules again.
 *	srdma_devs_sem (reading) and srdma_ctl_lock are held.
 * @job_removed: a job is about to go. srdma_devs_sem (reading) and srdma_ctl_lock are held.
 * @lease_ended: a lease is about to go, because its time is over or on request.
 *	srdma_devs_sem (reading) and srdma_ctl_lock are held.
 * @action_done: the result of an item of a batch. In a work, without a lock.
 * @levels_changed: the level in force may have changed of any QP, or a QP with a level was
 *	connected. In a work, or in the application's modify inside srdma_qp_lock().
 * @congested: doorbells of a device were congested; its UARs that were busy then, the
 *	busiest first, held by the caller. In a work of the provider, without a lock.
 *
 * All are called in process context, and all but @qp_released may sleep. NULL: not called.
 * Notifiers are called in the order in which they were registered. The structure has no other
 * members, so srdma_notify_register() copies it as an array.
 */
struct srdma_notifier {
	void (*dev_added)(struct srdma_dev *dev);
	void (*dev_renamed)(struct srdma_dev *dev);
	void (*dev_removed)(struct srdma_dev *dev);
	void (*context_closed)(struct srdma_dev *dev, struct srdma_owner *owner);
	void (*qp_created)(struct srdma_qp *q);
	void (*qp_destroyed)(struct srdma_qp *q);
	void (*qp_released)(struct srdma_qp *q);
	void (*mr_registered)(struct srdma_dev *dev);
	void (*jobs_rechecked)(void);
	void (*jobs_assigned)(void);
	void (*job_removed)(struct srdma_job *job);
	void (*lease_ended)(const struct srdma_lease *lease, bool expired);
	void (*action_done)(const struct srdma_batch *batch, int item,
			    const struct srdma_tally *tally);
	void (*levels_changed)(void);
	void (*congested)(struct srdma_dev *dev, const struct srdma_busy *top, int n);
};

typedef void (*srdma_notifier_fn)(void);

#define SRDMA_NOTIFIERS		8
#define SRDMA_NOTIFIER_EVENTS	(sizeof(struct srdma_notifier) / sizeof(srdma_notifier_fn))

/*
 * The functions to call, by event in the order of struct srdma_notifier; NULL ends each
 * row. So an event with one listener costs one call, also on the path that creates a QP.
 * Constant once the module has been initialised.
 */
extern srdma_notifier_fn srdma_notifiers[SRDMA_NOTIFIER_EVENTS][SRDMA_NOTIFIERS + 1];

/* In the module's init, before the hook is in place: from then on until the module goes. */
void srdma_notify_register(const struct srdma_notifier *n);

/* Call every listener of an event: srdma_notify(dev_added, dev). */
#define srdma_notify(event, ...)					\
	do {								\
		typeof(&(*(struct srdma_notifier *)0).event) f_ = (void *) \
			srdma_notifiers[offsetof(struct srdma_notifier, event) / \
					sizeof(srdma_notifier_fn)];	\
									\
		for (; *f_; f_++)					\
			(*f_)(__VA_ARGS__);				\
	} while (0)

#endif /* SRDMA_NOTIFY_H */
