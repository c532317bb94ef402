/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_DEVX_H
#define SRDMA_DEVX_H

#include "tracker.h"

/**
 * struct srdma_devx_qp - what is known of a QP that was created without RDMA core
 * @task: the task that created it; the caller has a reference
 * @at: ns, when it was made
 * @qpn: number
 * @uar: page that it rings; SRDMA_NO_UAR: none
 * @tid: thread that made it, initial pid namespace
 * @type: enum ib_qp_type
 */
struct srdma_devx_qp {
	struct task_struct *task;
	u64 at;
	u32 qpn;
	u32 uar;
	u32 tid;
	u8 type;
};

#define SRDMA_NO_UAR	U32_MAX

/*
 * For the provider, which sees such QPs come and go. Process context, may sleep. add(): one caller
 * at a time on a device; -EEXIST: RDMA core has made the QP, -ENOMEM, -ESHUTDOWN. del(): drop the
 * QP of this number that was made before @at (ns); a younger QP may have the number by now. False:
 * the QP of this number was made at @at, so a coarse clock cannot tell whether it is younger, and
 * the QP stays. Before the provider leaves a device, it drops all such QPs.
 */
int srdma_devx_add(struct srdma_dev *dev, const struct srdma_devx_qp *d);
bool srdma_devx_del(struct srdma_dev *dev, u32 qpn, u64 at);
void srdma_devx_drop_all(struct srdma_dev *dev);
/* Is there a DEVX QP of this number? Any context. */
bool srdma_devx_has(struct srdma_dev *dev, u32 qpn);

#endif /* SRDMA_DEVX_H */
