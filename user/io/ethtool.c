// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads a counter of a network interface by ethtool's netlink family: what its Ethernet MAC sent,
 * RDMA's packets among it. The interface's own statistics do not count these.
 */
#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <string.h>

#include "io/io.h"

struct answer {
	uint64_t *frames;
	bool has_frames;
	int error;		/* the kernel's */
};

/* The statistics of a group are attributes with the number of the statistic as their type. */
static void take_group(struct nlattr *group, struct answer *a)
{
	struct nlattr *stat, *value;
	int left, inner;

	nla_for_each_nested(stat, group, left) {
		if (nla_type(stat) != ETHTOOL_A_STATS_GRP_STAT)
			continue;
		nla_for_each_nested(value, stat, inner) {
			if (nla_type(value) != ETHTOOL_A_STATS_ETH_MAC_2_TX_PKT ||
			    nla_len(value) != sizeof(*a->frames))
				continue;
			*a->frames = nla_get_u64(value);
			a->has_frames = true;
		}
	}
}

static int take_answer(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *head = genlmsg_hdr(nlmsg_hdr(msg));
	struct nlattr *attr;
	int left;

	nla_for_each_attr(attr, genlmsg_attrdata(head, 0), genlmsg_attrlen(head, 0), left)
		if (nla_type(attr) == ETHTOOL_A_STATS_GRP)
			take_group(attr, arg);
	return NL_STOP;
}

static int take_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	(void)from;
	((struct answer *)arg)->error = e->error ? e->error : -EBADMSG;
	return NL_STOP;
}

/* Asks for the group eth-mac. */
static bool put_request(struct nl_msg *msg, const char *netdev)
{
	struct nlattr *head, *groups, *bits, *bit;

	head = nla_nest_start(msg, ETHTOOL_A_STATS_HEADER);
	if (!head || nla_put_string(msg, ETHTOOL_A_HEADER_DEV_NAME, netdev))
		return false;
	nla_nest_end(msg, head);
	groups = nla_nest_start(msg, ETHTOOL_A_STATS_GROUPS);
	if (!groups || nla_put_flag(msg, ETHTOOL_A_BITSET_NOMASK))
		return false;
	bits = nla_nest_start(msg, ETHTOOL_A_BITSET_BITS);
	bit = bits ? nla_nest_start(msg, ETHTOOL_A_BITSET_BITS_BIT) : NULL;
	if (!bit || nla_put_u32(msg, ETHTOOL_A_BITSET_BIT_INDEX, ETHTOOL_STATS_ETH_MAC))
		return false;
	nla_nest_end(msg, bit);
	nla_nest_end(msg, bits);
	nla_nest_end(msg, groups);
	return true;
}

int io_frames_sent(const char *netdev, uint64_t *frames)
{
	struct answer a = { .frames = frames };
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	struct nl_sock *sk = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	int err = -NLE_NOMEM, family;

	if (!cb || !sk || !msg)
		goto out;
	nl_socket_disable_auto_ack(sk);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, take_answer, &a);
	nl_cb_err(cb, NL_CB_CUSTOM, take_error, &a);
	err = genl_connect(sk);
	family = err ? err : genl_ctrl_resolve(sk, ETHTOOL_GENL_NAME);
	if (family < 0) {
		err = family;
		goto out;
	}
	err = -NLE_NOMEM;
	if (!genlmsg_put(msg, 0, 0, family, 0, 0, ETHTOOL_MSG_STATS_GET, ETHTOOL_GENL_VERSION) ||
	    !put_request(msg, netdev))
		goto out;
	err = nl_send_auto(sk, msg);
	if (err >= 0)
		err = nl_recvmsgs(sk, cb);
out:
	nlmsg_free(msg);
	nl_socket_free(sk);
	nl_cb_put(cb);
	/* take_error() keeps the kernel's error, which libnl replaces by one of its own. */
	if (a.error || a.has_frames)
		return a.error;
	/* No such family, or an answer without the figure. */
	if (err >= 0 || err == -NLE_OBJ_NOTFOUND)
		return -EOPNOTSUPP;
	return err == -NLE_NOMEM ? -ENOMEM : -EIO;
}
