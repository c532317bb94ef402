/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_HOOK_H
#define SRDMA_HOOK_H

#include "tracker.h"

int srdma_hook_init(void);
void srdma_hook_exit(void);

/*
 * Take the wrappers out of all devices, wait until nobody is in them, and drop
 * the module's reference to itself, so that it can be unloaded. QPs whose class
 * cannot be given back, or a wrapper of another module above ours, are reasons
 * to refuse with -EBUSY and stay armed; @force overrides the former.
 */
int srdma_hook_disarm(bool force);
bool srdma_hook_armed(void);
/* What the last refusal was for, "" if none; into a buffer of @len. */
void srdma_hook_why(char *buf, size_t len);

/* Until whoever is in a wrapper now has left it. */
void srdma_hook_wait(void);

/* The driver's own ops, for those who may not touch ib_device.ops. */
int srdma_orig_modify(struct srdma_qp *q, struct ib_qp_attr *attr, int mask);
/* It is the driver's own, and not the wrapper of a module that came before us. */
bool srdma_orig_modify_is_drivers(const struct srdma_qp *q);
int srdma_orig_query(struct srdma_qp *q, struct ib_qp_attr *attr, int mask,
		     struct ib_qp_init_attr *init);
/* Ring the QP's doorbell without work: a driver may have missed one. */
void srdma_orig_kick(struct srdma_qp *q);

/* The device's entry; caller is in a wrapper or an RCU section. */
struct srdma_dev *srdma_dev_of(struct ib_device *ibdev);

#endif /* SRDMA_HOOK_H */
