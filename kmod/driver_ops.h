/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of the driver's own ops, past the wrappers. srdma_qp_lock() is held and the QP is not
 * dead.
 */
#ifndef SRDMA_DRIVER_OPS_H
#define SRDMA_DRIVER_OPS_H

#include "tracker.h"

int srdma_driver_modify(struct srdma_qp *q, struct ib_qp_attr *attr, int mask);
/*
 * Is the saved modify_qp the driver's own, and not the wrapper of a module loaded before
 * this one?
 */
bool srdma_driver_modify_is_drivers(const struct srdma_qp *q);
int srdma_driver_query(struct srdma_qp *q, struct ib_qp_attr *attr, int mask,
		       struct ib_qp_init_attr *init);
/* Ring the QP's doorbell without posting: the driver may have missed a doorbell. */
void srdma_driver_kick(struct srdma_qp *q);

#endif /* SRDMA_DRIVER_OPS_H */
