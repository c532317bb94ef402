/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_NETLINK_H
#define SRDMA_NETLINK_H

#include "results.h"

int srdma_netlink_init(void);
void srdma_netlink_exit(void);

/*
 * Events. Process context, may sleep; cheap when nobody listens. A QP's event
 * carries its figures of this moment.
 */
void srdma_notify_qp(u8 cmd, struct srdma_qp *q);
void srdma_notify_lease(const struct srdma_lease *lease, bool expired);
void srdma_notify_act(const struct srdma_batch *b, int item,
		      const struct srdma_tally *t);

/* A UAR that was busy when doorbells were congested. */
struct srdma_busy {
	struct srdma_uar *uar;
	u64 recent;
};

#define SRDMA_BUSY_MAX	8

/* @top: busiest first, held by the caller. */
void srdma_notify_congestion(struct srdma_dev *dev, const struct srdma_busy *top, int n);

#endif /* SRDMA_NETLINK_H */
