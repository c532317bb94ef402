// SPDX-License-Identifier: GPL-2.0
/*
 * swiftrdma: contention of a shared RDMA NIC, seen and steered.
 *
 * A signal's way: hook -> tracker -> counters -> netlink, and back: netlink ->
 * lease -> enforce -> provider. init is a ladder in that order, exit its mirror;
 * the hook comes last, since with it applications start to pass through here.
 */
#include <linux/module.h>

#include "debugfs.h"
#include "enforce.h"
#include "hook.h"
#include "job.h"
#include "lease.h"
#include "netlink.h"
#include "results.h"
#include "tracker.h"

static int __init srdma_init(void)
{
	int ret;

	ret = srdma_tracker_init();
	if (ret)
		return ret;
	ret = srdma_enforce_init();
	if (ret)
		goto err_tracker;
	ret = srdma_job_init();
	if (ret)
		goto err_enforce;
	srdma_debugfs_init();
	ret = srdma_netlink_init();
	if (ret)
		goto err_debugfs;
	ret = srdma_hook_init();
	if (ret)
		goto err_netlink;
	return 0;

err_netlink:
	srdma_netlink_exit();
err_debugfs:
	srdma_debugfs_exit();
	srdma_lease_exit();
	srdma_job_exit();
err_enforce:
	srdma_enforce_exit();
err_tracker:
	srdma_tracker_exit();
	return ret;
}

/* Only once disarmed: until then the module holds itself. */
static void __exit srdma_exit(void)
{
	srdma_hook_exit();
	srdma_batches_exit();
	srdma_netlink_exit();
	srdma_debugfs_exit();
	srdma_lease_exit();
	srdma_job_exit();
	srdma_enforce_exit();
	srdma_tracker_exit();
}

module_init(srdma_init);
module_exit(srdma_exit);

MODULE_DESCRIPTION("SwiftRDMA: contention of a shared RDMA NIC, seen and steered");
MODULE_AUTHOR("SwiftRDMA");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
/*
 * No alias of the netlink family: anybody may look a family up, and whoever does would
 * load the module, and with that hook every RDMA device.
 */
