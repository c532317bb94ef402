/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ADOPT_H
#define SRDMA_ADOPT_H

#include "tracker.h"

/* Take in what is older than the module. In the client's add(); may take seconds. */
void srdma_dev_adopt(struct srdma_dev *dev);

/*
 * Take in a QP that is not known, unless there is no memory or somebody else has
 * just done it. In the modify wrapper only: the caller's use keeps the QP alive.
 */
void srdma_adopt(struct srdma_dev *dev, struct ib_qp *ibqp);

#endif /* SRDMA_ADOPT_H */
