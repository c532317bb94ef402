/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_LIFECYCLE_H
#define SRDMA_LIFECYCLE_H

#include "tracker.h"

/* A device's life, called by the hook in this order. NULL: no memory. */
struct srdma_dev *srdma_dev_new(struct ib_device *ibdev);
/* Free a device that was not published. */
void srdma_dev_abort(struct srdma_dev *dev);
int srdma_dev_publish(struct srdma_dev *dev);	/* into srdma_devs */
/* Take it out of srdma_devs and accept no more QPs; the wrappers are still in place. */
void srdma_dev_close(struct srdma_dev *dev);
/* After a grace period of the wrappers: drop all QPs. */
void srdma_dev_retire(struct srdma_dev *dev);
/* Drop the rest, once no thread is in a wrapper. */
void srdma_dev_forget(struct srdma_dev *dev);

/*
 * A QP's life, called by the wrappers in this order. prepare(): owner, job, admission; the
 * application gets -EDQUOT, and after -ENOMEM the QP is created without being tracked.
 * publish() or abort(). leave() before the driver's destroy, then gone(), or stay() if the
 * driver refused.
 */
struct srdma_qp *srdma_qp_prepare(struct srdma_dev *dev, struct ib_qp *ibqp,
				  struct ib_qp_init_attr *attr, bool user);
void srdma_qp_publish(struct srdma_qp *q, struct ib_qp_init_attr *attr,
		      struct ib_udata *udata);
void srdma_qp_abort(struct srdma_qp *q);
struct srdma_qp *srdma_qp_leave(struct srdma_dev *dev, struct ib_qp *ibqp);
void srdma_qp_gone(struct srdma_qp *q);
void srdma_qp_stay(struct srdma_qp *q);

/*
 * For adopt.c and devx.c, which make entries themselves, the same steps one by one.
 * insert(): -EEXIST where there is one already.
 */
int srdma_qp_insert(struct srdma_qp *q);
/* The QP is in the table: count it in its UAR and job. */
void srdma_qp_link(struct srdma_qp *q);
/*
 * Drop a QP whose end did not pass a wrapper. False: another thread has dropped it. The
 * caller has a reference and has locked the QP; this unlocks it.
 */
bool srdma_qp_drop(struct srdma_qp *q);

#endif /* SRDMA_LIFECYCLE_H */
