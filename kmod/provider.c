// SPDX-License-Identifier: GPL-2.0
/* Which provider knows a device: asked in this order. */
#include <linux/kernel.h>

#include "provider.h"
#include "tracker.h"

static const struct srdma_provider_ops *const providers[] = {
	&srdma_provider_rxe,
	&srdma_provider_generic,
};

const struct srdma_provider_ops *srdma_provider_of(struct ib_device *ibdev)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(providers) - 1; i++)
		if (providers[i]->match(ibdev))
			return providers[i];
	return providers[i];
}

void srdma_provider_detach(struct srdma_qp *q)
{
	if (q->dev->provider->detach)
		q->dev->provider->detach(q);
}
