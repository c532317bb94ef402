// SPDX-License-Identifier: GPL-2.0
/*
 * A request: who sends it, what that may see, and what it asks for.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/netlink.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "hook.h"
#include "netlink_priv.h"

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
 * A uid alone does not tell containers apart that have no user namespace of their own.
 * The number that a process had in a namespace stays with its struct pid, so the owner
 * may have exited.
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

int srdma_need_armed(struct netlink_ext_ack *extack)
{
	if (srdma_hook_armed())
		return 0;
	NL_SET_ERR_MSG(extack, "the module is disarmed: reload it to change anything");
	return -ESHUTDOWN;
}

int srdma_refuse_twice(const struct nlattr *head, int len, u64 repeatable,
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

/* What every change has to pass before anything else is looked at. */
int srdma_set_begin(struct sk_buff *skb, struct genl_info *info, u64 repeatable)
{
	struct srdma_reader who = srdma_reader_of(skb);
	int ret;

	ret = srdma_need_admin(&who, info->extack);
	if (!ret)
		ret = srdma_need_armed(info->extack);
	if (!ret)
		ret = srdma_refuse_twice(nlmsg_attrdata(info->nlhdr, GENL_HDRLEN),
					 nlmsg_attrlen(info->nlhdr, GENL_HDRLEN),
					 repeatable, info->extack);
	return ret;
}

/* The message was validated as it came in; this only takes it apart. */
int srdma_parse_nest(struct nlattr **tb, int max, const struct nlattr *nest,
		     const struct nla_policy *policy, u64 repeatable,
		     struct netlink_ext_ack *extack)
{
	int ret = nla_parse_nested(tb, max, nest, policy, extack);

	if (ret)
		return ret;
	return srdma_refuse_twice(nla_data(nest), nla_len(nest), repeatable, extack);
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

bool srdma_is_name(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isascii(*s) || !(isalnum(*s) || strchr("_.-", *s)))
			return false;
	return true;
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
	if (!srdma_filter_has(f, SWIFTRDMA_A_DEV_INDEX)) {
		NL_SET_ERR_MSG(extack, "which device? DEV_INDEX or DEV_NAME is missing");
		NL_SET_ERR_ATTR_MISS(extack, NULL, SWIFTRDMA_A_DEV_INDEX);
		return ERR_PTR(-EINVAL);
	}
	/* There: the filter was made from it under the same lock. */
	dev = xa_load(&srdma_devs, f->dev);
	return dev ?: ERR_PTR(-ENODEV);
}
