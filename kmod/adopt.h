/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ADOPT_H
#define SRDMA_ADOPT_H

#include "enforce.h"

/* Take in what is older than the module. In the client's add(); may take seconds. */
void srdma_dev_adopt(struct srdma_dev *dev);

/*
 * Take in a QP that is not known, unless there is no memory or somebody else has
 * just done it. In the modify wrapper only: the caller's use keeps the QP alive.
 */
void srdma_adopt(struct srdma_dev *dev, struct ib_qp *ibqp);

/*
 * What the driver knows of a QP that was taken in. It is nobody's yet, or locked. May
 * sleep.
 */
void srdma_adopt_query(struct srdma_qp *q);

/*
 * In the modify wrapper, after the driver: the modify that told of the destination
 * may have been under way when the hook went in.
 */
static inline void srdma_adopt_modified(struct srdma_qp *q)
{
	if (!test_bit(SRDMA_QP_ADOPTED, &q->flags) || test_bit(SRDMA_QP_HAS_AV, &q->flags) ||
	    (q->type != IB_QPT_RC && q->type != IB_QPT_UC) ||
	    q->state < IB_QPS_RTR || q->state > IB_QPS_SQE)
		return;
	srdma_adopt_query(q);
	if (test_bit(SRDMA_QP_HAS_AV, &q->flags))
		srdma_enforce_qp(q);
}

#endif /* SRDMA_ADOPT_H */
