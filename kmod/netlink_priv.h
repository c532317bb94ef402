/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files that make up the netlink family share.
 */
#ifndef SRDMA_NETLINK_PRIV_H
#define SRDMA_NETLINK_PRIV_H

#include <linux/pid_namespace.h>
#include <net/genetlink.h>

#include "compat.h"
#include "counters.h"
#include "netlink.h"
#include "uar.h"

extern struct genl_family srdma_genl_family;

/**
 * struct srdma_reader - on whose behalf something is read
 * @admin: CAP_NET_ADMIN in the initial user namespace: sees everything
 * @uid: else only what this user owns
 * @net: devices are seen as from here
 * @pid_ns: process ids are of this namespace, and so is what a user owns
 */
struct srdma_reader {
	bool admin;
	kuid_t uid;
	struct net *net;
	struct pid_namespace *pid_ns;
};

/* The sender of @skb, a request; in its process context. Takes no reference. */
struct srdma_reader srdma_reader_of(struct sk_buff *skb);
bool srdma_reader_owns(const struct srdma_reader *who, const struct srdma_owner *o);
bool srdma_reader_sees(const struct srdma_reader *who, const struct srdma_dev *dev);

/* -EPERM with a message, or 0. */
int srdma_need_admin(const struct srdma_reader *who, struct netlink_ext_ack *extack);
int srdma_need_armed(struct netlink_ext_ack *extack);

/*
 * nla_parse() takes the last of several: refuse an attribute that is there
 * twice, unless its bit is in @repeatable.
 */
int srdma_refuse_twice(const struct nlattr *head, int len, u64 repeatable,
		       struct netlink_ext_ack *extack);

/* What every change has to pass before anything else is looked at. */
int srdma_set_begin(struct sk_buff *skb, struct genl_info *info, u64 repeatable);
/* nla_parse_nested() and srdma_refuse_twice(). */
int srdma_parse_nest(struct nlattr **tb, int max, const struct nlattr *nest,
		     const struct nla_policy *policy, u64 repeatable,
		     struct netlink_ext_ack *extack);
int srdma_count_attrs(const struct nlattr *head, int len, int type);
/* -EINVAL: @type is missing in @nest (NULL: in the message). @why is constant. */
int srdma_missing(struct netlink_ext_ack *extack, const struct nlattr *nest, int type,
		  const char *why);
/* Of a job or an origin; its length is the policy's affair. */
bool srdma_is_name(const char *s);
#define SRDMA_NAME_POLICY	{ .type = NLA_NUL_STRING, .len = SWIFTRDMA_NAME_LEN - 1 }

/* A message that is set at run time, but constant for all time. */
static inline void srdma_set_why(struct netlink_ext_ack *extack,
				 const struct nlattr *attr, const char *why)
{
	if (!extack)
		return;
	extack->_msg = why;
	extack->bad_attr = attr;
}

/**
 * struct srdma_filter - what a get asks for
 * @has: bits 1 << SWIFTRDMA_A_* of those that are set
 * @dev: device index; a name is resolved to it
 * @port: number
 * @uar: index
 * @qpn: number
 * @pid: in the reader's pid namespace
 * @job: id; a name is resolved to it
 * @since: generation
 */
struct srdma_filter {
	u32 has;
	u32 dev, port, uar, qpn, pid, job;
	u64 since;
};

static inline bool srdma_filter_has(const struct srdma_filter *f, int attr)
{
	return f->has & BIT(attr);
}

/* What of a device a reader of this command wants up to date: srdma_refresh(). */
u32 srdma_refreshed_by(u8 cmd);

/*
 * The filters in @attrs. Needs srdma_devs_sem; takes srdma_ctl_lock if a job is
 * among them.
 */
int srdma_filter_parse(struct srdma_filter *f, struct nlattr **attrs,
		       const struct srdma_reader *who,
		       struct netlink_ext_ack *extack);
/* The device that @f names, which a do request must. Needs srdma_devs_sem. */
struct srdma_dev *srdma_filter_dev(const struct srdma_filter *f,
				   struct netlink_ext_ack *extack);

/**
 * struct srdma_dump - a dump under way
 * @who: references are held
 * @f: filters
 * @parsed: @f is, and what takes commands was found out; done at the first message,
 *	where an error has its text
 * @closed: the snapshot message is out
 * @generation: taken before anything was read
 * @time: ns, at that moment
 * @count: objects that match, so far
 * @phase: of a dump that walks more than one table
 * @dev: cursor: index of the device
 * @key: cursor: of the object on it, or in its list
 * @sub: cursor within that object
 */
struct srdma_dump {
	struct srdma_reader who;
	struct srdma_filter f;
	bool parsed;
	bool closed;
	u64 generation;
	u64 time;
	u32 count;
	u32 phase;
	unsigned long dev;
	unsigned long key;
	unsigned long sub;
};

int srdma_dump_start(struct netlink_callback *cb);
int srdma_dump_done(struct netlink_callback *cb);

static inline struct srdma_dump *srdma_dump_of(struct netlink_callback *cb)
{
	return *(struct srdma_dump **)cb->ctx;
}

/*
 * Emit the objects from the cursor on; -EMSGSIZE: @skb is full and the cursor is
 * at what did not fit.
 */
typedef int (*srdma_dump_fn)(struct sk_buff *skb, struct netlink_callback *cb,
			     struct srdma_dump *d);
typedef int (*srdma_dump_dev_fn)(struct sk_buff *skb, struct netlink_callback *cb,
				 struct srdma_dump *d, struct srdma_dev *dev);

/* A dumpit: filters first, @fn under srdma_devs_sem, the snapshot message last. */
int srdma_dump_run(struct sk_buff *skb, struct netlink_callback *cb, bool admin,
		   srdma_dump_fn fn);
/* @fn for each device that the reader sees and the filter lets through. */
int srdma_dump_devs(struct sk_buff *skb, struct netlink_callback *cb,
		    struct srdma_dump *d, srdma_dump_dev_fn fn);

/* A message of a dump. */
static inline void *srdma_dump_put(struct sk_buff *skb, struct netlink_callback *cb,
				   u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   &srdma_genl_family, NLM_F_MULTI, cmd);
}

/*
 * A visit to one QP; -errno ends the walk with @pos at this QP. RCU section: it
 * must not sleep, and holds the QP (srdma_qp_hold()) to follow its pointers. QPs
 * that have not changed since generation @since are not visited, but added to
 * @passed.
 */
typedef int (*srdma_qp_visit_fn)(struct srdma_qp *q, void *arg);
int srdma_walk_qps(struct srdma_dev *dev, unsigned long *pos, u64 since, u32 *passed,
		   srdma_qp_visit_fn visit, void *arg);

/*
 * Objects as attributes of a message: 0 or -EMSGSIZE. @now is when they are
 * read. dev: needs srdma_devs_sem. uar, qp, owner: RCU section or a reference.
 */
int srdma_fill_dev(struct sk_buff *skb, struct srdma_dev *dev, u64 now);
int srdma_fill_port(struct sk_buff *skb, const struct srdma_dev *dev, u32 port,
		    const struct srdma_port_stat *st);
int srdma_fill_uar(struct sk_buff *skb, const struct srdma_uar *u,
		   const struct srdma_reader *who, u64 now);
int srdma_fill_busy(struct sk_buff *skb, const struct srdma_busy *b,
		    const struct srdma_reader *who, u64 now);
int srdma_put_owner(struct sk_buff *skb, int type, const struct srdma_owner *o,
		    const struct srdma_reader *who);
int srdma_fill_qp(struct sk_buff *skb, const struct srdma_qp *q,
		  const struct srdma_reader *who, u64 now);
int srdma_fill_tally(struct sk_buff *skb, const struct srdma_tally *t);
/* @d: NULL: nothing is filled in. */
int srdma_fill_decision(struct sk_buff *skb, const struct srdma_decision *d);
int srdma_fill_snapshot(struct sk_buff *skb, const struct srdma_dump *d);

/* netlink_get.c */
int srdma_dev_get_doit(struct sk_buff *skb, struct genl_info *info);
int srdma_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int srdma_port_get_doit(struct sk_buff *skb, struct genl_info *info);
int srdma_port_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int srdma_uar_get_doit(struct sk_buff *skb, struct genl_info *info);
int srdma_uar_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int srdma_qp_get_doit(struct sk_buff *skb, struct genl_info *info);
int srdma_qp_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

/* netlink_ctl.c */
int srdma_job_get_doit(struct sk_buff *skb, struct genl_info *info);
int srdma_job_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int srdma_level_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

/* netlink_action.c */
int srdma_action_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

/* netlink_set.c */
extern const struct nla_policy srdma_job_set_policy[SWIFTRDMA_A_JOB_OBJ + 1];
extern const struct nla_policy srdma_job_del_policy[SWIFTRDMA_A_JOB_OBJ + 1];
extern const struct nla_policy srdma_level_set_policy[SWIFTRDMA_A_LEVEL + 1];
int srdma_job_set_doit(struct sk_buff *skb, struct genl_info *info);
int srdma_job_del_doit(struct sk_buff *skb, struct genl_info *info);
int srdma_level_set_doit(struct sk_buff *skb, struct genl_info *info);

/* netlink_act.c */
extern const struct nla_policy srdma_act_policy[SWIFTRDMA_A_ACTION + 1];
int srdma_act_doit(struct sk_buff *skb, struct genl_info *info);

#endif /* SRDMA_NETLINK_PRIV_H */
