// SPDX-License-Identifier: GPL-2.0
/*
 * What all commands share: messages, permissions of readers, parsing of requests.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/netlink.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "netlink_priv.h"

const struct genl_family *srdma_family;

/* Messages */

static void begin_attrs(struct srdma_msg *m, struct sk_buff *skb, void *hdr)
{
	m->skb = skb;
	m->hdr = hdr;
	m->full = !hdr;
	m->at = skb_tail_pointer(skb);
	m->end = hdr ? m->at + skb_tailroom(skb) : m->at;
}

void srdma_msg_begin(struct srdma_msg *m, struct sk_buff *skb, u32 portid, u32 seq, int flags,
		     u8 cmd)
{
	begin_attrs(m, skb, genlmsg_put(skb, portid, seq, srdma_family, flags, cmd));
}

int srdma_msg_end(struct srdma_msg *m)
{
	if (m->full) {
		genlmsg_cancel(m->skb, m->hdr);
		return -EMSGSIZE;
	}
	skb_put(m->skb, m->at - skb_tail_pointer(m->skb));
	genlmsg_end(m->skb, m->hdr);
	return 0;
}

int srdma_reply_begin(struct srdma_msg *m, struct genl_info *info, size_t size)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);

	if (!skb)
		return -ENOMEM;
	begin_attrs(m, skb, genlmsg_put_reply(skb, info, srdma_family, 0,
					      info->genlhdr->cmd));
	return 0;
}

int srdma_reply_end(struct srdma_msg *m, struct genl_info *info, int ret)
{
	if (!ret)
		ret = srdma_msg_end(m);
	if (!ret)
		return genlmsg_reply(m->skb, info);
	nlmsg_free(m->skb);
	return ret;
}

/* Readers, and what they may do */

struct srdma_reader srdma_reader_of(struct sk_buff *skb)
{
	struct sock *sk = NETLINK_CB(skb).sk;

	return (struct srdma_reader) {
		.admin = netlink_capable(skb, CAP_NET_ADMIN),
		.uid = srdma_sk_uid(sk),
		.net = sock_net(sk),
		.pid_ns = task_active_pid_ns(current),
	};
}

/*
 * Containers without a user namespace of their own share uids, so the owner must also have
 * a number in the reader's pid namespace. A struct pid keeps its numbers after its process
 * has exited.
 */
bool srdma_reader_owns(const struct srdma_reader *who, const struct srdma_owner *o)
{
	if (who->admin)
		return true;
	return o && !srdma_owner_is_kernel(o) && uid_eq(o->uid, who->uid) &&
	       pid_nr_ns(o->pid, who->pid_ns);
}

bool srdma_reader_sees(const struct srdma_reader *who, const struct srdma_dev *dev)
{
	return rdma_dev_access_netns(dev->ibdev, who->net);
}

int srdma_need_admin(const struct srdma_reader *who, struct netlink_ext_ack *extack)
{
	if (who->admin)
		return 0;
	NL_SET_ERR_MSG(extack, "needs CAP_NET_ADMIN in the initial user namespace");
	return -EPERM;
}

/* Requests */

static int refuse_twice(const struct nlattr *head, int len, u64 repeatable,
			struct netlink_ext_ack *extack)
{
	const struct nlattr *nla;
	u64 seen = 0;
	int rem;

	nla_for_each_attr(nla, head, len, rem) {
		u64 bit = BIT_ULL(nla_type(nla) & 63);	/* the policy has bounded it */

		if (seen & bit & ~repeatable) {
			NL_SET_ERR_MSG_ATTR(extack, nla, "attribute given twice");
			return -EINVAL;
		}
		seen |= bit;
	}
	return 0;
}

int srdma_refuse_twice(const struct nlmsghdr *nlh, u64 repeatable,
		       struct netlink_ext_ack *extack)
{
	return refuse_twice(nlmsg_attrdata(nlh, GENL_HDRLEN), nlmsg_attrlen(nlh, GENL_HDRLEN),
			    repeatable, extack);
}

int srdma_set_begin(struct sk_buff *skb, struct genl_info *info, u64 repeatable)
{
	struct srdma_reader who = srdma_reader_of(skb);
	int ret = srdma_need_admin(&who, info->extack);

	if (ret)
		return ret;
	if (!READ_ONCE(srdma_armed)) {
		NL_SET_ERR_MSG(info->extack,
			       "the module is disarmed: reload it to change anything");
		return -ESHUTDOWN;
	}
	return srdma_refuse_twice(info->nlhdr, repeatable, info->extack);
}

int srdma_count_attrs(const struct nlattr *head, int len, int type)
{
	const struct nlattr *nla;
	int rem, n = 0;

	nla_for_each_attr(nla, head, len, rem)
		n += nla_type(nla) == type;
	return n;
}

int srdma_missing(struct netlink_ext_ack *extack, const struct nlattr *nest, int type,
		  const char *why)
{
	srdma_set_why(extack, nest, why);
	NL_SET_ERR_ATTR_MISS(extack, nest, type);
	return -EINVAL;
}

/* Is @s a valid name of a job, origin, policy or signal? The netlink policy bounds its length. */
static bool is_name(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isascii(*s) || !(isalnum(*s) || strchr("_.-", *s)))
			return false;
	return true;
}

static void take_arg(void *member, const struct nlattr *attr, int type)
{
	switch (type) {
	case NLA_U32:
		*(u32 *)member = nla_get_u32(attr);
		break;
	case NLA_U64:
		*(u64 *)member = nla_get_u64(attr);
		break;
	case NLA_FLAG:
		*(bool *)member = true;
		break;
	case NLA_NUL_STRING:
		*(const char **)member = nla_data(attr);
		break;
	}
}

int srdma_take_nest(const struct srdma_args *args, const struct nlattr *nest,
		    struct nlattr **tb, void *obj, struct netlink_ext_ack *extack)
{
	const struct srdma_arg *arg;
	struct nlattr *attr;
	int ret;

	/* The message was validated when it came in. */
	ret = nla_parse_nested(tb, args->max, nest, args->policy, extack);
	if (!ret)
		ret = refuse_twice(nla_data(nest), nla_len(nest), args->repeatable, extack);
	if (ret)
		return ret;
	for (arg = args->arg; arg < args->arg + args->n; arg++) {
		attr = tb[arg->type];
		if (!attr && arg->missing)
			return srdma_missing(extack, nest, arg->type, arg->missing);
		if (!attr)
			continue;
		if (arg->wrong && !(arg->is_name ? is_name(nla_data(attr)) :
				    *(const char *)nla_data(attr))) {
			srdma_set_why(extack, attr, arg->wrong);
			return -EINVAL;
		}
		take_arg(obj + arg->offset, attr, args->policy[arg->type].type);
		if (arg->has)
			*(bool *)(obj + arg->has) = true;
	}
	return 0;
}

static int filter_dev(struct srdma_filter *f, struct nlattr **attrs,
		      const struct srdma_reader *who, struct netlink_ext_ack *extack)
{
	struct nlattr *by_index = attrs[SWIFTRDMA_A_DEV_INDEX];
	struct nlattr *by_name = attrs[SWIFTRDMA_A_DEV_NAME];
	struct srdma_dev *dev = NULL, *named = NULL;
	unsigned long index;

	if (by_index) {
		dev = xa_load(&srdma_devs, nla_get_u32(by_index));
		if (!dev || !srdma_reader_sees(who, dev)) {
			NL_SET_ERR_MSG_ATTR(extack, by_index, "no RDMA device of this index");
			return -ENODEV;
		}
	}
	if (by_name) {
		xa_for_each(&srdma_devs, index, named)
			if (!nla_strcmp(by_name, named->name) &&
			    srdma_reader_sees(who, named))
				break;
		if (!named) {
			NL_SET_ERR_MSG_ATTR(extack, by_name, "no RDMA device of this name");
			return -ENODEV;
		}
		if (dev && dev != named) {
			NL_SET_ERR_MSG_ATTR(extack, by_name,
					    "index and name are two different devices");
			return -EINVAL;
		}
		dev = named;
	}
	if (dev) {
		f->has |= BIT(SWIFTRDMA_A_DEV_INDEX);
		f->dev = dev->index;
	}
	return 0;
}

static int filter_job(struct srdma_filter *f, struct nlattr *attr,
		      const struct srdma_reader *who, struct netlink_ext_ack *extack)
{
	struct srdma_job *job;
	int ret;

	ret = srdma_need_admin(who, extack);
	if (ret)
		return ret;
	mutex_lock(&srdma_ctl_lock);
	job = srdma_job_find(nla_data(attr));
	if (job) {
		f->has |= BIT(SWIFTRDMA_A_JOB);
		f->job = job->id;
	} else {
		NL_SET_ERR_MSG_ATTR(extack, attr, "no such job");
		ret = -ENOENT;
	}
	mutex_unlock(&srdma_ctl_lock);
	return ret;
}

static void filter_u32(struct srdma_filter *f, struct nlattr **attrs, int type, u32 *v)
{
	if (!attrs[type])
		return;
	f->has |= BIT(type);
	*v = nla_get_u32(attrs[type]);
}

int srdma_filter_parse(struct srdma_filter *f, struct nlattr **attrs,
		       const struct srdma_reader *who, struct netlink_ext_ack *extack)
{
	int ret;

	lockdep_assert_held(&srdma_devs_sem);
	memset(f, 0, sizeof(*f));
	ret = filter_dev(f, attrs, who, extack);
	if (!ret && attrs[SWIFTRDMA_A_JOB])
		ret = filter_job(f, attrs[SWIFTRDMA_A_JOB], who, extack);
	if (ret)
		return ret;
	filter_u32(f, attrs, SWIFTRDMA_A_PORT, &f->port);
	filter_u32(f, attrs, SWIFTRDMA_A_UAR, &f->uar);
	filter_u32(f, attrs, SWIFTRDMA_A_QPN, &f->qpn);
	filter_u32(f, attrs, SWIFTRDMA_A_PID, &f->pid);
	if (attrs[SWIFTRDMA_A_SINCE]) {
		f->has |= BIT(SWIFTRDMA_A_SINCE);
		f->since = nla_get_u64(attrs[SWIFTRDMA_A_SINCE]);
	}
	return 0;
}

struct srdma_dev *srdma_filter_dev(const struct srdma_filter *f,
				   struct netlink_ext_ack *extack)
{
	struct srdma_dev *dev;

	lockdep_assert_held(&srdma_devs_sem);
	if (!srdma_filter_has(f, SWIFTRDMA_A_DEV_INDEX))
		return ERR_PTR(srdma_missing(extack, NULL, SWIFTRDMA_A_DEV_INDEX,
					     "which device? DEV_INDEX or DEV_NAME is missing"));
	/* The device exists: the filter was resolved under the same lock. */
	dev = xa_load(&srdma_devs, f->dev);
	return dev ?: ERR_PTR(-ENODEV);
}
