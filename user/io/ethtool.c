// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads a counter of a network interface by ethtool's netlink family: what its Ethernet MAC sent,
 * RDMA's packets among it. The interface's own statistics do not count these.
 */
#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>

#include "io/io.h"
#include "io/query.h"

struct answer {
	uint64_t *frames;
	bool has_frames;
};

/* An attribute of a group is a statistic, and the attribute's type is the statistic's number. */
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

/* Puts the request for the statistics of the group eth-mac. False: no room. */
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
	int err, family = srdma_query_family(ETHTOOL_GENL_NAME);
	struct nl_msg *msg;

	if (family < 0)
		return family == -NLE_OBJ_NOTFOUND ? -EOPNOTSUPP : -EIO;
	msg = nlmsg_alloc();
	if (msg && (!genlmsg_put(msg, 0, 0, family, 0, 0, ETHTOOL_MSG_STATS_GET,
				 ETHTOOL_GENL_VERSION) || !put_request(msg, netdev))) {
		nlmsg_free(msg);
		msg = NULL;
	}
	err = srdma_query(NETLINK_GENERIC, msg, take_answer, &a);
	return err || a.has_frames ? err : -EOPNOTSUPP;
}
