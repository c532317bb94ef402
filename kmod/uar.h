/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_UAR_H
#define SRDMA_UAR_H

#include "tracker.h"

struct srdma_uar *srdma_uar_new_kernel(struct srdma_dev *dev);
void srdma_uar_put(struct srdma_uar *u);

/* The UAR a QP rings, with a reference; NULL: unknown. May sleep. */
struct srdma_uar *srdma_uar_of(struct srdma_dev *dev, struct ib_qp *ibqp, bool user);

/* A user context came or went, as the wrappers see it. */
void srdma_uar_opened(struct srdma_dev *dev, struct ib_ucontext *ctx);
void srdma_uar_closed(struct srdma_dev *dev, struct ib_ucontext *ctx);

/* The device goes: give up the contexts' references. */
void srdma_uar_drop_all(struct srdma_dev *dev);

#endif /* SRDMA_UAR_H */
