// SPDX-License-Identifier: GPL-2.0
/*
 * The generic-netlink family: its commands and the attributes that each takes.
 * include/uapi/rdma/swiftrdma.h is the contract.
 */
#include <linux/netlink.h>

#include "netlink_priv.h"

static struct netlink_range_validation qpn_range = { .max = 0xffffff };

/*
 * The filters of each command that reads. All arrays have one length, so that code can index the
 * table of attributes without knowing the command; strict validation refuses what is not listed.
 */
#define FILTER_MAX	SWIFTRDMA_A_OUTSTANDING
#define FILTERS(name)	static const struct nla_policy name[FILTER_MAX + 1]
#define FILTER_DEV							\
	[SWIFTRDMA_A_DEV_INDEX]	= { .type = NLA_U32 },			\
	[SWIFTRDMA_A_DEV_NAME]	= { .type = NLA_NUL_STRING,		\
				    .len = SWIFTRDMA_DEVNAME_LEN - 1 },	\
	[SWIFTRDMA_A_CACHED]	= { .type = NLA_FLAG }

FILTERS(dev_policy) = { FILTER_DEV };
FILTERS(port_policy) = { FILTER_DEV, [SWIFTRDMA_A_PORT] = { .type = NLA_U32 } };
FILTERS(uar_policy) = { FILTER_DEV, [SWIFTRDMA_A_UAR] = { .type = NLA_U32 } };
FILTERS(qp_policy) = {
	FILTER_DEV,
	[SWIFTRDMA_A_PORT]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_UAR]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_QPN]	= NLA_POLICY_FULL_RANGE(NLA_U32, &qpn_range),
	[SWIFTRDMA_A_PID]	= NLA_POLICY_MIN(NLA_U32, 1),
	[SWIFTRDMA_A_JOB]	= SRDMA_NAME_POLICY,
	[SWIFTRDMA_A_SINCE]	= { .type = NLA_U64 },
	[SWIFTRDMA_A_OUTSTANDING] = { .type = NLA_FLAG },
};

FILTERS(job_policy) = {
	[SWIFTRDMA_A_JOB]	= SRDMA_NAME_POLICY,
	[SWIFTRDMA_A_CACHED]	= { .type = NLA_FLAG },
};

FILTERS(report_policy) = { FILTER_DEV, [SWIFTRDMA_A_SINCE] = { .type = NLA_U64 } };
FILTERS(no_policy);	/* for commands without filters */
FILTERS(peer_policy) = {
	[SWIFTRDMA_A_DEV_INDEX]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_DEV_NAME]	= { .type = NLA_NUL_STRING, .len = SWIFTRDMA_DEVNAME_LEN - 1 },
	[SWIFTRDMA_A_QPN]	= NLA_POLICY_FULL_RANGE(NLA_U32, &qpn_range),
};

#define OP_GET(command, filters)					\
	.cmd = SWIFTRDMA_CMD_##command, .policy = (filters),		\
	.maxattr = FILTER_MAX, .start = srdma_dump_start,	\
	.dumpit = srdma_dump_run, .done = srdma_dump_done
/* A command without a dump. */
#define OP_SET(command, fn, policy_)					\
	.cmd = SWIFTRDMA_CMD_##command, .doit = (fn),			\
	.policy = (policy_), .maxattr = ARRAY_SIZE(policy_) - 1

/*
 * No GENL_ADMIN_PERM: netlink would refuse without a message, and the module decides
 * object by object what a reader may see.
 */
static const struct genl_ops srdma_genl_ops[] = {
	{ OP_GET(DEV_GET, dev_policy), .doit = srdma_get_doit },
	{ OP_GET(PORT_GET, port_policy), .doit = srdma_get_doit },
	{ OP_GET(UAR_GET, uar_policy), .doit = srdma_get_doit },
	{ OP_GET(QP_GET, qp_policy), .doit = srdma_get_doit },
	{ OP_GET(JOB_GET, job_policy), .doit = srdma_job_get_doit },
	{ OP_GET(ACTION_GET, no_policy) },
	{ OP_GET(LEVEL_GET, no_policy) },
	{ OP_GET(REPORT_GET, report_policy) },
	{ OP_SET(PEER_GET, srdma_peer_get_doit, peer_policy) },
	{ OP_SET(JOB_SET, srdma_job_set_doit, srdma_job_set_policy) },
	{ OP_SET(JOB_DEL, srdma_job_del_doit, srdma_job_del_policy) },
	{ OP_SET(ACT, srdma_act_doit, srdma_act_policy) },
	{ OP_SET(LEVEL_SET, srdma_level_set_doit, srdma_level_set_policy) },
};

#if SRDMA_HAVE_EVENTS
static const struct genl_multicast_group srdma_mcgrps[] = {
	{ .name = SWIFTRDMA_MCGRP_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN },
};
#endif

/*
 * parallel_ops: requests do not wait for the mutex that all families share. What the
 * commands share has locks of its own.
 */
static struct genl_family srdma_genl_family __ro_after_init = {
	.name		= SWIFTRDMA_GENL_NAME,
	.version	= SWIFTRDMA_GENL_VERSION,
	.maxattr	= SWIFTRDMA_A_MAX,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= srdma_genl_ops,
	.n_ops		= ARRAY_SIZE(srdma_genl_ops),
	/* All commands have strict validation. */
	.resv_start_op	= SWIFTRDMA_CMD_UNSPEC + 1,
#if SRDMA_HAVE_EVENTS
	.mcgrps		= srdma_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(srdma_mcgrps),
#endif
};

int __init srdma_netlink_init(void)
{
	int ret;

	srdma_family = &srdma_genl_family;
	ret = genl_register_family(&srdma_genl_family);
	if (!ret)
		srdma_events_init();
	return ret;
}

void srdma_netlink_exit(void)
{
	srdma_events_exit();
	genl_unregister_family(&srdma_genl_family);
}
