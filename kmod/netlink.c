// SPDX-License-Identifier: GPL-2.0
/*
 * The generic-netlink family: its commands, who may use them, and its events.
 * include/uapi/rdma/swiftrdma.h is the contract.
 */
#include <linux/export.h>
#include <linux/netlink.h>
#include <net/net_namespace.h>

#include "netlink_priv.h"

static struct netlink_range_validation qpn_range = { .max = 0xffffff };

/*
 * All of one length, so that the table of what was given can be looked at
 * without knowing the command; strict validation refuses what is not listed.
 */
static const struct nla_policy dev_policy[SWIFTRDMA_A_CACHED + 1] = {
	[SWIFTRDMA_A_DEV_INDEX]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_DEV_NAME]	= { .type = NLA_NUL_STRING,
				    .len = SWIFTRDMA_DEVNAME_LEN - 1 },
	[SWIFTRDMA_A_CACHED]	= { .type = NLA_FLAG },
};

static const struct nla_policy port_policy[SWIFTRDMA_A_CACHED + 1] = {
	[SWIFTRDMA_A_DEV_INDEX]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_DEV_NAME]	= { .type = NLA_NUL_STRING,
				    .len = SWIFTRDMA_DEVNAME_LEN - 1 },
	[SWIFTRDMA_A_PORT]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_CACHED]	= { .type = NLA_FLAG },
};

static const struct nla_policy uar_policy[SWIFTRDMA_A_CACHED + 1] = {
	[SWIFTRDMA_A_DEV_INDEX]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_DEV_NAME]	= { .type = NLA_NUL_STRING,
				    .len = SWIFTRDMA_DEVNAME_LEN - 1 },
	[SWIFTRDMA_A_UAR]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_CACHED]	= { .type = NLA_FLAG },
};

static const struct nla_policy qp_policy[SWIFTRDMA_A_CACHED + 1] = {
	[SWIFTRDMA_A_DEV_INDEX]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_DEV_NAME]	= { .type = NLA_NUL_STRING,
				    .len = SWIFTRDMA_DEVNAME_LEN - 1 },
	[SWIFTRDMA_A_PORT]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_UAR]	= { .type = NLA_U32 },
	[SWIFTRDMA_A_QPN]	= NLA_POLICY_FULL_RANGE(NLA_U32, &qpn_range),
	[SWIFTRDMA_A_PID]	= NLA_POLICY_MIN(NLA_U32, 1),
	[SWIFTRDMA_A_JOB]	= { .type = NLA_NUL_STRING,
				    .len = SWIFTRDMA_NAME_LEN - 1 },
	[SWIFTRDMA_A_SINCE]	= { .type = NLA_U64 },
	[SWIFTRDMA_A_CACHED]	= { .type = NLA_FLAG },
};

static const struct nla_policy job_policy[SWIFTRDMA_A_CACHED + 1] = {
	[SWIFTRDMA_A_JOB]	= { .type = NLA_NUL_STRING,
				    .len = SWIFTRDMA_NAME_LEN - 1 },
	[SWIFTRDMA_A_CACHED]	= { .type = NLA_FLAG },
};

/* A command that takes no attribute. */
static const struct nla_policy no_policy[SWIFTRDMA_A_CACHED + 1];

#define OP_FILTERS(p)	.policy = (p), .maxattr = SWIFTRDMA_A_CACHED
#define OP_DUMP(fn)	.start = srdma_dump_start, .dumpit = (fn), .done = srdma_dump_done

/*
 * Permissions are not left to GENL_ADMIN_PERM: that refuses without a word, and
 * what a reader may see is decided object by object.
 */
static const struct genl_ops srdma_genl_ops[] = {
	{ .cmd = SWIFTRDMA_CMD_DEV_GET, .doit = srdma_dev_get_doit,
	  OP_DUMP(srdma_dev_get_dumpit), OP_FILTERS(dev_policy) },
	{ .cmd = SWIFTRDMA_CMD_PORT_GET, .doit = srdma_port_get_doit,
	  OP_DUMP(srdma_port_get_dumpit), OP_FILTERS(port_policy) },
	{ .cmd = SWIFTRDMA_CMD_UAR_GET, .doit = srdma_uar_get_doit,
	  OP_DUMP(srdma_uar_get_dumpit), OP_FILTERS(uar_policy) },
	{ .cmd = SWIFTRDMA_CMD_QP_GET, .doit = srdma_qp_get_doit,
	  OP_DUMP(srdma_qp_get_dumpit), OP_FILTERS(qp_policy) },
	{ .cmd = SWIFTRDMA_CMD_JOB_GET, .doit = srdma_job_get_doit,
	  OP_DUMP(srdma_job_get_dumpit), OP_FILTERS(job_policy) },
	{ .cmd = SWIFTRDMA_CMD_JOB_SET, .doit = srdma_job_set_doit,
	  .policy = srdma_job_set_policy, .maxattr = SWIFTRDMA_A_JOB_OBJ },
	{ .cmd = SWIFTRDMA_CMD_JOB_DEL, .doit = srdma_job_del_doit,
	  .policy = srdma_job_del_policy, .maxattr = SWIFTRDMA_A_JOB_OBJ },
	{ .cmd = SWIFTRDMA_CMD_ACT, .doit = srdma_act_doit,
	  .policy = srdma_act_policy, .maxattr = SWIFTRDMA_A_ACTION },
	{ .cmd = SWIFTRDMA_CMD_ACTION_GET, OP_DUMP(srdma_action_get_dumpit),
	  OP_FILTERS(no_policy) },
	{ .cmd = SWIFTRDMA_CMD_LEVEL_GET, OP_DUMP(srdma_level_get_dumpit),
	  OP_FILTERS(no_policy) },
	{ .cmd = SWIFTRDMA_CMD_LEVEL_SET, .doit = srdma_level_set_doit,
	  .policy = srdma_level_set_policy, .maxattr = SWIFTRDMA_A_LEVEL },
};

#if SRDMA_HAVE_EVENTS
static const struct genl_multicast_group srdma_mcgrps[] = {
	{ .name = SWIFTRDMA_MCGRP_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN },
};
#endif

/*
 * parallel_ops: otherwise every request would wait for the one mutex of all
 * generic netlink, behind other families and behind drivers that PORT_GET asks.
 * What the commands share has locks of its own.
 */
struct genl_family srdma_genl_family __ro_after_init = {
	.name		= SWIFTRDMA_GENL_NAME,
	.version	= SWIFTRDMA_GENL_VERSION,
	.maxattr	= SWIFTRDMA_A_MAX,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= srdma_genl_ops,
	.n_ops		= ARRAY_SIZE(srdma_genl_ops),
	/* Nothing is older than strict validation here. */
	.resv_start_op	= SWIFTRDMA_CMD_UNSPEC + 1,
#if SRDMA_HAVE_EVENTS
	.mcgrps		= srdma_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(srdma_mcgrps),
#endif
};

#if SRDMA_HAVE_EVENTS
/* The group exists; devices that go at unload find that it does not. */
static bool events_on;

static bool anybody_listens(void)
{
	return READ_ONCE(events_on) && genl_has_listeners(&srdma_genl_family, &init_net, 0);
}

/*
 * Events go to the initial network namespace, and so to those who have
 * CAP_NET_ADMIN there. Between these two a message is built and sent.
 */
static struct sk_buff *event_new(u8 cmd, void **hdr)
{
	struct sk_buff *skb;

	if (!anybody_listens())
		return NULL;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		goto lost;
	*hdr = genlmsg_put(skb, 0, 0, &srdma_genl_family, 0, cmd);
	if (*hdr)
		return skb;
	nlmsg_free(skb);
lost:
	/* The listeners see ENOBUFS, and so that they missed something. */
	genl_set_err(&srdma_genl_family, &init_net, 0, 0, -ENOBUFS);
	return NULL;
}

static void event_send(struct sk_buff *skb, void *hdr)
{
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&srdma_genl_family, &init_net, skb, 0, 0, GFP_KERNEL);
}

static const struct srdma_reader event_reader = {
	.admin = true,
	.net = &init_net,
	.pid_ns = &init_pid_ns,
};

static noinline void tell_qp(u8 cmd, struct srdma_qp *q)
{
	struct sk_buff *skb;
	void *hdr;

	skb = event_new(cmd, &hdr);
	if (!skb)
		return;
	if (srdma_fill_qp(skb, q, &event_reader, ktime_get_ns()))
		nlmsg_free(skb);
	else
		event_send(skb, hdr);
}

/* Part of every QP's creation and end, and usually nobody listens. */
void srdma_notify_qp(u8 cmd, struct srdma_qp *q)
{
	if (anybody_listens())
		tell_qp(cmd, q);
}

void srdma_notify_lease(const struct srdma_lease *lease, bool expired)
{
	struct nlattr *nest;
	struct sk_buff *skb;
	void *hdr;

	skb = event_new(SWIFTRDMA_CMD_LEASE_NTF, &hdr);
	if (!skb)
		return;
	nest = nla_nest_start(skb, SWIFTRDMA_A_LEASE);
	if (!nest ||
	    nla_put_u64_64bit(skb, SWIFTRDMA_LEASE_A_ID, lease->id,
			      SWIFTRDMA_LEASE_A_PAD) ||
	    nla_put_u32(skb, SWIFTRDMA_LEASE_A_RANK, lease->rank) ||
	    nla_put_string(skb, SWIFTRDMA_LEASE_A_ORIGIN, lease->origin) ||
	    (expired && nla_put_flag(skb, SWIFTRDMA_LEASE_A_EXPIRED))) {
		nlmsg_free(skb);
		return;
	}
	nla_nest_end(skb, nest);
	event_send(skb, hdr);
}

static int put_item(struct sk_buff *skb, const struct srdma_batch *b, int item,
		    const struct srdma_tally *t)
{
	const struct srdma_batch_item *i = &b->items[item];
	struct nlattr *nest, *lease;

	if (nla_put_u64_64bit(skb, SWIFTRDMA_A_BATCH, b->id, SWIFTRDMA_A_PAD))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SWIFTRDMA_A_ACTION);
	if (!nest || nla_put_u32(skb, SWIFTRDMA_ACTION_A_INDEX, item) ||
	    nla_put_u32(skb, SWIFTRDMA_ACTION_A_KNOB, i->knob))
		return -EMSGSIZE;
	if (i->clear ? nla_put_flag(skb, SWIFTRDMA_ACTION_A_CLEAR) :
	    nla_put_u64_64bit(skb, SWIFTRDMA_ACTION_A_VALUE, i->value,
			      SWIFTRDMA_ACTION_A_PAD))
		return -EMSGSIZE;
	if (i->job && nla_put_string(skb, SWIFTRDMA_ACTION_A_JOB, i->job->name))
		return -EMSGSIZE;
	if (!(i->job && i->any_dev) &&
	    nla_put_u32(skb, SWIFTRDMA_ACTION_A_DEV_INDEX, i->dev))
		return -EMSGSIZE;
	if (!i->job &&
	    (nla_put_u32(skb, SWIFTRDMA_ACTION_A_QPN, i->key & 0xffffff) ||
	     nla_put_u64_64bit(skb, SWIFTRDMA_ACTION_A_QP_SERIAL, i->serial,
			       SWIFTRDMA_ACTION_A_PAD)))
		return -EMSGSIZE;
	if (i->reason[0] &&
	    nla_put_string(skb, SWIFTRDMA_ACTION_A_REASON, i->reason))
		return -EMSGSIZE;
	if (srdma_fill_decision(skb, i->decision))
		return -EMSGSIZE;
	lease = nla_nest_start(skb, SWIFTRDMA_ACTION_A_LEASE);
	if (!lease ||
	    nla_put_u64_64bit(skb, SWIFTRDMA_LEASE_A_ID, b->lease.id,
			      SWIFTRDMA_LEASE_A_PAD) ||
	    nla_put_u32(skb, SWIFTRDMA_LEASE_A_RANK, b->lease.rank))
		return -EMSGSIZE;
	nla_nest_end(skb, lease);
	if (srdma_fill_tally(skb, t))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

void srdma_notify_act(const struct srdma_batch *b, int item,
		      const struct srdma_tally *t)
{
	struct sk_buff *skb;
	void *hdr;

	skb = event_new(SWIFTRDMA_CMD_ACT_NTF, &hdr);
	if (!skb)
		return;
	if (put_item(skb, b, item, t))
		nlmsg_free(skb);
	else
		event_send(skb, hdr);
}

/* Of the UARs as many as there is room for. */
void srdma_notify_congestion(struct srdma_dev *dev, const struct srdma_busy *top, int n)
{
	u64 now = ktime_get_ns();
	struct sk_buff *skb;
	unsigned int whole;
	void *hdr;
	int i, ret;

	skb = event_new(SWIFTRDMA_CMD_CONGESTION_NTF, &hdr);
	if (!skb)
		return;
	down_read(&srdma_devs_sem);
	ret = srdma_dev_is_there(dev) ? srdma_fill_dev(skb, dev, now) : -ENODEV;
	up_read(&srdma_devs_sem);
	if (ret) {
		nlmsg_free(skb);
		return;
	}
	for (i = 0; i < n; i++) {
		whole = skb->len;
		if (srdma_fill_busy(skb, &top[i], &event_reader, now)) {
			skb_trim(skb, whole);
			break;
		}
	}
	event_send(skb, hdr);
}
EXPORT_SYMBOL_GPL(srdma_notify_congestion);

static void events_set(bool on)
{
	WRITE_ONCE(events_on, on);
}
#else
void srdma_notify_congestion(struct srdma_dev *dev, const struct srdma_busy *top, int n)
{
}
EXPORT_SYMBOL_GPL(srdma_notify_congestion);

void srdma_notify_qp(u8 cmd, struct srdma_qp *q)
{
}

void srdma_notify_lease(const struct srdma_lease *lease, bool expired)
{
}

void srdma_notify_act(const struct srdma_batch *b, int item,
		      const struct srdma_tally *t)
{
}

static void events_set(bool on)
{
}
#endif

int __init srdma_netlink_init(void)
{
	int ret = genl_register_family(&srdma_genl_family);

	if (!ret)
		events_set(true);
	return ret;
}

void srdma_netlink_exit(void)
{
	events_set(false);
	genl_unregister_family(&srdma_genl_family);
}
