/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ADOPT_H
#define SRDMA_ADOPT_H

#include "class.h"

/* Adopt the QPs that are older than the module. In the client's add(); may take seconds. */
void srdma_dev_adopt(struct srdma_dev *dev);

/*
 * Adopt a QP that is not in the table, unless there is no memory or another thread has just
 * adopted it. In the modify wrapper only: the modify keeps the QP alive.
 */
void srdma_adopt(struct srdma_dev *dev, struct ib_qp *ibqp);
/* In the destroy wrapper: the QP is in use, so it becomes sure. True: it is in the table. */
bool srdma_adopt_used(struct srdma_dev *dev, struct ib_qp *ibqp);

/*
 * Asks the device for the state and the address of adopted QPs. Each call sends a limited number of
 * commands and returns how many QPs remain. enforce.c and refresh.c call this function through
 * srdma_refresh.learn_qps.
 */
u32 srdma_adopt_query_qps(struct srdma_dev *dev);

/* Are the QP's state and address, if it has one, still unknown? */
static inline bool srdma_qp_unqueried(const struct srdma_qp *q)
{
	return test_bit(SRDMA_QP_ADOPTED, &q->flags) && !test_bit(SRDMA_QP_QUERIED, &q->flags) &&
	       !test_bit(SRDMA_QP_DEAD, &q->flags);
}

/*
 * Is no call of the QP's user under way that can change the QP? A call that began before
 * the hook could change the QP after it was queried. srdma_qp_lock() is held, the QP is not
 * dead.
 */
bool srdma_adopt_idle(const struct srdma_qp *q);

/*
 * In the modify wrapper, after the driver: the modify to RTR may have been under way when
 * the hook was put in place, so the address is queried again.
 */
void srdma_adopt_ask_again(struct srdma_qp *q);
static inline void srdma_adopt_modified(struct srdma_qp *q)
{
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags) && !test_bit(SRDMA_QP_HAS_AV, &q->flags) &&
	    srdma_qp_connectable(q) && q->state >= IB_QPS_RTR && q->state <= IB_QPS_SQE)
		srdma_adopt_ask_again(q);
}

#endif /* SRDMA_ADOPT_H */
