/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ADOPT_H
#define SRDMA_ADOPT_H

#include "tracker.h"

/* Take in what is older than the module. In the client's add(); may take seconds. */
void srdma_dev_adopt(struct srdma_dev *dev);

/*
 * The entry of @ibqp, adopted if it was not known, with a reference; NULL: no
 * memory. In the modify wrapper only: the caller's use of the QP keeps it alive.
 */
struct srdma_qp *srdma_qp_get_or_adopt(struct srdma_dev *dev, struct ib_qp *ibqp);

#endif /* SRDMA_ADOPT_H */
