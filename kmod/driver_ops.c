// SPDX-License-Identifier: GPL-2.0
/* Calls of the driver's own ops. */
#include <linux/module.h>

#include "driver_ops.h"

int srdma_driver_modify(struct srdma_qp *q, struct ib_qp_attr *attr, int mask)
{
	return q->dev->orig.modify_qp(q->ibqp, attr, mask, NULL);
}

bool srdma_driver_modify_is_drivers(const struct srdma_qp *q)
{
	const struct module *driver = q->dev->ibdev->ops.owner;

	/* A driver that is built in belongs to no module. */
	return !driver || within_module((unsigned long)q->dev->orig.modify_qp, driver);
}

int srdma_driver_query(struct srdma_qp *q, struct ib_qp_attr *attr, int mask,
		       struct ib_qp_init_attr *init)
{
	if (!q->ibqp->device->ops.query_qp)
		return -EOPNOTSUPP;
	return q->ibqp->device->ops.query_qp(q->ibqp, attr, mask, init);
}

void srdma_driver_kick(struct srdma_qp *q)
{
	const struct ib_send_wr *bad;

	q->dev->orig.post_send(q->ibqp, NULL, &bad);
}
