// SPDX-License-Identifier: GPL-2.0
/*
 * Any RDMA device, with only what RDMA core itself offers. Doorbells bypass the kernel, and a
 * class is set when a QP is connected, not later.
 */
#include "tracker.h"

static bool generic_match(struct ib_device *ibdev)
{
	return true;
}

const struct srdma_provider_ops srdma_provider_generic = {
	.name = "generic",
	.caps = SWIFTRDMA_DEV_CAP_CONTEXTS,
	.match = generic_match,
};
