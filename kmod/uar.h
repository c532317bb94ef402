/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_UAR_H
#define SRDMA_UAR_H

#include "tracker.h"

struct srdma_uar *srdma_uar_new_kernel(struct srdma_dev *dev);
void srdma_uar_put(struct srdma_uar *u);

/* The UAR a QP rings, with a reference; NULL: unknown. May sleep. */
struct srdma_uar *srdma_uar_of(struct srdma_dev *dev, struct ib_qp *ibqp, bool user);

/* A user context came or went, as the wrappers see it. */
void srdma_uar_opened(struct srdma_dev *dev, struct ib_ucontext *ctx, struct ib_udata *udata);
void srdma_uar_closed(struct srdma_dev *dev, struct ib_ucontext *ctx);

/*
 * The page of this index, made if need be, of @context, which the caller holds.
 * With a reference, NULL: no memory. May sleep.
 */
struct srdma_uar *srdma_page_get(struct srdma_dev *dev, struct srdma_uar *context, u32 index,
				 u8 kind);
/* @q rings this page, of which it takes over the reference. May sleep. */
void srdma_page_join(struct srdma_qp *q, struct srdma_uar *page);
/* Undo srdma_page_join(): @q is being destroyed. */
void srdma_page_leave(struct srdma_qp *q);

/* Current enum swiftrdma_uar_kind: a dynamic page is dedicated while exactly one QP is on it. */
u8 srdma_uar_kind(const struct srdma_uar *u);

/* A UAR that was busy when doorbells were congested. */
struct srdma_busy {
	struct srdma_uar *uar;
	u64 recent;
};

#define SRDMA_BUSY_MAX	8

/* The device goes: drop all contexts and pages. */
void srdma_uar_drop_all(struct srdma_dev *dev);

#endif /* SRDMA_UAR_H */
