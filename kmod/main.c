// SPDX-License-Identifier: GPL-2.0
/*
 * swiftrdma: observes and controls the contention of a shared RDMA NIC.
 *
 * Signals pass hook -> tracker -> counters -> netlink. Actions pass netlink -> lease ->
 * enforce -> provider. Exit undoes what init does, in reverse order. Init installs the hook
 * last, because from then on the applications' calls run this module's code.
 */
#include <linux/module.h>

#include "debugfs.h"
#include "disarm.h"
#include "hook.h"
#include "job.h"
#include "lease.h"
#include "netlink.h"
#include "pass.h"
#include "peer.h"
#include "results.h"
#include "share.h"
#include "tracker.h"

static int __init srdma_init(void)
{
	int ret;

	ret = srdma_tracker_init();
	if (ret)
		return ret;
	ret = srdma_pass_init();
	if (ret)
		goto err_tracker;
	ret = srdma_job_init();
	if (ret)
		goto err_pass;
	srdma_override_init();
	srdma_lease_init();
	srdma_peer_init();
	srdma_disarm_init(srdma_debugfs_init());
	ret = srdma_netlink_init();
	if (ret)
		goto err_debugfs;
	srdma_share_init();
	ret = srdma_attach_init();
	if (ret)
		goto err_netlink;
	ret = srdma_hook_init();
	if (ret)
		goto err_attach;
	return 0;

err_attach:
	srdma_attach_exit();
	srdma_share_exit();
err_netlink:
	srdma_netlink_exit();
err_debugfs:
	srdma_debugfs_exit();
	srdma_peer_exit();
	srdma_lease_exit();
	srdma_job_exit();
err_pass:
	srdma_pass_exit();
err_tracker:
	srdma_tracker_exit();
	return ret;
}

/* Only once disarmed: until then the module holds itself. */
static void __exit srdma_exit(void)
{
	srdma_hook_exit();
	srdma_attach_exit();
	srdma_share_exit();
	srdma_batches_exit();
	srdma_netlink_exit();
	srdma_debugfs_exit();
	srdma_peer_exit();
	srdma_lease_exit();
	srdma_job_exit();
	srdma_pass_exit();
	srdma_tracker_exit();
}

module_init(srdma_init);
module_exit(srdma_exit);

MODULE_DESCRIPTION("SwiftRDMA: contention of a shared RDMA NIC, seen and steered");
MODULE_AUTHOR("SwiftRDMA");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
/*
 * The module has no alias of its netlink family. Any user may look a family up, and with an
 * alias the lookup would load the module, which hooks every RDMA device.
 */
