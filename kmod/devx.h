/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_DEVX_H
#define SRDMA_DEVX_H

#include "tracker.h"

/**
 * struct srdma_devx_qp - what is known of a QP that was made past RDMA core
 * @task: who made it; the caller has a reference
 * @qpn: number
 * @uar: page that it rings; SRDMA_NO_UAR: none
 * @tid: thread that made it, initial pid namespace
 * @type: enum ib_qp_type
 */
struct srdma_devx_qp {
	struct task_struct *task;
	u32 qpn;
	u32 uar;
	u32 tid;
	u8 type;
};

#define SRDMA_NO_UAR	U32_MAX

/*
 * For the provider, which sees such QPs come and go, one caller at a time on a
 * device. Process context, may sleep. add(): 0, -EEXIST: RDMA core made it after
 * all, -ENOMEM, -ESHUTDOWN. Before it forgets the device, the provider drops all.
 */
int srdma_devx_add(struct srdma_dev *dev, const struct srdma_devx_qp *d);
void srdma_devx_del(struct srdma_dev *dev, u32 qpn);
/*
 * The same in two steps: end() in any context, raw spinlocks held; true: there was
 * one, so drop_ended() has something to do.
 */
bool srdma_devx_end(struct srdma_dev *dev, u32 qpn);
void srdma_devx_drop_ended(struct srdma_dev *dev);
void srdma_devx_drop_all(struct srdma_dev *dev);

#endif /* SRDMA_DEVX_H */
