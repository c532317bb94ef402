// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "policy.h"

static uint64_t number(struct nlattr *a, uint64_t otherwise)
{
	uint64_t v = 0;

	if (!a)
		return otherwise;
	memcpy(&v, nla_data(a), nla_len(a) < 8 ? nla_len(a) : 8);
	return v;
}

static void take_attr(struct policy_attr *to, struct nlattr *nest)
{
	struct nlattr *tb[NL_POLICY_TYPE_ATTR_MAX + 1];

	if (nla_parse_nested(tb, NL_POLICY_TYPE_ATTR_MAX, nest, NULL))
		return;
	to->type = number(tb[NL_POLICY_TYPE_ATTR_TYPE], 0);
	to->min = number(tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U], 0);
	to->max = number(tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U], UINT64_MAX);
	to->max_len = number(tb[NL_POLICY_TYPE_ATTR_MAX_LENGTH], 0);
	to->nest = number(tb[NL_POLICY_TYPE_ATTR_POLICY_IDX], 0);
}

static int take_message(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[CTRL_ATTR_MAX + 1], *set, *attr, *top;
	struct policy *p = arg;
	int rem, rem2;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, tb, CTRL_ATTR_MAX, NULL))
		return NL_SKIP;
	if (tb[CTRL_ATTR_OP_POLICY])
		nla_for_each_nested(set, tb[CTRL_ATTR_OP_POLICY], rem)
			nla_for_each_nested(top, set, rem2)
				p->top = nla_get_u32(top);	/* do and dump have one */
	if (tb[CTRL_ATTR_POLICY])
		nla_for_each_nested(set, tb[CTRL_ATTR_POLICY], rem)
			nla_for_each_nested(attr, set, rem2)
				if (nla_type(set) < POLICY_SETS && nla_type(attr) < POLICY_TYPES)
					take_attr(&p->set[nla_type(set)][nla_type(attr)], attr);
	return NL_OK;
}

int policy_get(uint16_t family, int cmd, struct policy *p)
{
	struct nl_sock *sk = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	int err = -ENOMEM;

	memset(p, 0, sizeof(*p));
	if (!sk || !msg || genl_connect(sk))
		goto out;
	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, take_message, p);
	genlmsg_put(msg, 0, 0, GENL_ID_CTRL, 0, NLM_F_DUMP, CTRL_CMD_GETPOLICY, 1);
	nla_put_u16(msg, CTRL_ATTR_FAMILY_ID, family);
	nla_put_u32(msg, CTRL_ATTR_OP, cmd);
	err = nl_send_auto(sk, msg);
	if (err >= 0)
		err = nl_recvmsgs_default(sk);
	if (err < 0)
		err = -EIO;
out:
	nlmsg_free(msg);
	nl_socket_free(sk);
	return err;
}
