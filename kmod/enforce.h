/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ENFORCE_H
#define SRDMA_ENFORCE_H

#include "pass.h"

/* The passes over a device's QPs are made here: see pass.h. */
void srdma_enforce_dev_init(struct srdma_dev *dev);

/**
 * struct srdma_unrestored - QPs without the class, path or rate that their applications asked for
 * @n: how many
 * @never: of these, those of which this cannot be restored while they are connected
 * @dev: name of the device of one such QP
 * @qpn: number of that QP
 * @error: -errno of the last attempt on that QP
 */
struct srdma_unrestored {
	int n, never;
	char dev[IB_DEVICE_NAME_MAX];
	u32 qpn;
	int error;
};

/*
 * Give every QP the class, path and rate that its application asked for, and report in @left
 * which QPs could not get it. Leases stay, but have no effect until srdma_enforce_resume(). Blocks
 * until a pass that begins after this call is over.
 */
void srdma_enforce_suspend(struct srdma_unrestored *left);
void srdma_enforce_resume(void);

#endif /* SRDMA_ENFORCE_H */
