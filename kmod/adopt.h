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
/* The same of the destroy wrapper. Whatever was UNSURE of it is not any more; is it known? */
bool srdma_adopt_used(struct srdma_dev *dev, struct ib_qp *ibqp);

/*
 * Those that are UNSURE: have they been used since, or have they gone? The device's work of
 * enforce.c or refresh.c.
 */
void srdma_adopt_recheck(struct srdma_dev *dev);
/* One of that number that is UNSURE is gone: its number is another's now. */
void srdma_adopt_forget(struct srdma_dev *dev, u32 key);

/* srdma_provider_ops.learn() by the driver's own query_qp. */
u32 srdma_adopt_learn(struct srdma_dev *dev);

/* Is its state, and its address if it has one, still to be asked for? */
static inline bool srdma_qp_unlearned(const struct srdma_qp *q)
{
	return test_bit(SRDMA_QP_ADOPTED, &q->flags) && !test_bit(SRDMA_QP_ASKED, &q->flags) &&
	       !test_bit(SRDMA_QP_DEAD, &q->flags);
}

/*
 * Is none of its user's calls under way, of those that can change it? Else what one that
 * began before the hook does to it may come after what is asked. The QP is held, alive.
 */
bool srdma_adopt_idle(const struct srdma_qp *q);

/*
 * In the modify wrapper, after the driver: the modify that told of the destination
 * may have been under way when the hook went in.
 */
void srdma_adopt_ask_again(struct srdma_qp *q);
static inline void srdma_adopt_modified(struct srdma_qp *q)
{
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags) && !test_bit(SRDMA_QP_HAS_AV, &q->flags) &&
	    srdma_qp_connectable(q) && q->state >= IB_QPS_RTR && q->state <= IB_QPS_SQE)
		srdma_adopt_ask_again(q);
}

#endif /* SRDMA_ADOPT_H */
