/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files that make up the netlink family share.
 */
#ifndef SRDMA_NETLINK_PRIV_H
#define SRDMA_NETLINK_PRIV_H

#include <linux/pid_namespace.h>
#include <net/genetlink.h>

#include "attr.h"
#include "compat.h"
#include "counters.h"
#include "netlink.h"
#include "uar.h"

/*
 * The family. netlink.c sets it at init, because the files below need it for replies and do
 * not know netlink.c.
 */
extern const struct genl_family *srdma_family;

/* Messages */

/* Begin a message of @cmd in @skb; attributes follow. */
void srdma_msg_begin(struct srdma_msg *m, struct sk_buff *skb, u32 portid, u32 seq, int flags,
		     u8 cmd);
/* End the message. -EMSGSIZE: it did not fit, and @skb is as it was before the message. */
int srdma_msg_end(struct srdma_msg *m);
/* Begin an answer to @info in a new buffer with room for @size bytes. -ENOMEM. */
int srdma_reply_begin(struct srdma_msg *m, struct genl_info *info, size_t size);
/* Send the answer; or free it, if @ret is an error or the message did not fit. */
int srdma_reply_end(struct srdma_msg *m, struct genl_info *info, int ret);

/* Discard everything that was written from @at on. */
static inline void srdma_msg_rewind(struct srdma_msg *m, u8 *at)
{
	m->at = at;
	m->full = false;
}

/* Readers, and what they may do */

/**
 * struct srdma_reader - the sender of a request that reads
 * @admin: has CAP_NET_ADMIN in the initial user namespace, so it sees everything
 * @uid: otherwise it sees what this user owns
 * @net: it sees the devices of this network namespace
 * @pid_ns: process ids are of this namespace; an owner that has none here is not shown
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

/* Requests */

/*
 * nla_parse() takes the last of several: refuse an attribute that is there twice, unless
 * its bit is in @repeatable.
 */
int srdma_refuse_twice(const struct nlmsghdr *nlh, u64 repeatable,
		       struct netlink_ext_ack *extack);
/* The checks with which every command that changes something begins. */
int srdma_set_begin(struct sk_buff *skb, struct genl_info *info, u64 repeatable);
int srdma_count_attrs(const struct nlattr *head, int len, int type);
/* -EINVAL: @type is missing in @nest (NULL: in the message). @why is constant. */
int srdma_missing(struct netlink_ext_ack *extack, const struct nlattr *nest, int type,
		  const char *why);
#define SRDMA_NAME_POLICY	{ .type = NLA_NUL_STRING, .len = SWIFTRDMA_NAME_LEN - 1 }

/* Set an error message that is chosen at run time; @why must be constant. */
static inline void srdma_set_why(struct netlink_ext_ack *extack,
				 const struct nlattr *attr, const char *why)
{
	if (!extack)
		return;
	extack->_msg = why;
	extack->bad_attr = attr;
}

/**
 * struct srdma_arg - an attribute of a request: where it goes, and what it has to be
 * @type: number of the attribute
 * @is_name: it has to be a name: [A-Za-z0-9_.-], 1 to 31 bytes
 * @offset: of the member that takes it: a u32, a u64, a bool for a flag, a pointer for a
 *	string
 * @has: offset of a bool that becomes true with the attribute, 0: there is none
 * @missing: message if the attribute is missing; NULL: it may be left out
 * @wrong: message if it is no name, or an empty string; NULL: it may be either
 */
struct srdma_arg {
	u8 type;
	bool is_name;
	u16 offset, has;
	const char *missing, *wrong;
};

#define SRDMA_ARG(number, s, member, ...)					\
	{ .type = (number), .offset = offsetof(struct s, member), __VA_ARGS__ }
#define SRDMA_HAS(s, member)	.has = offsetof(struct s, member)

/**
 * struct srdma_args - the attributes of a nest, or of a request without one
 * @policy: types and bounds, as the family's strict validation has them
 * @max: number of the last attribute in @policy
 * @repeatable: bits of attributes that may be there more than once
 * @arg: attributes that a structure takes
 * @n: elements of @arg
 */
struct srdma_args {
	const struct nla_policy *policy;
	int max;
	u64 repeatable;
	const struct srdma_arg *arg;
	int n;
};

#define SRDMA_ARGS(policy_, args)						\
	.policy = (policy_), .max = ARRAY_SIZE(policy_) - 1,			\
	.arg = (args), .n = ARRAY_SIZE(args)

/*
 * Parse @nest into @tb, which has @args->max + 1 elements, and into the members of @obj that
 * @args names. @obj is zeroed, but for defaults. Pointers in @obj point into the message.
 * -EINVAL with a message.
 */
int srdma_take_nest(const struct srdma_args *args, const struct nlattr *nest,
		    struct nlattr **tb, void *obj, struct netlink_ext_ack *extack);

/**
 * struct srdma_filter - the objects that a request asks for
 * @has: bits 1 << SWIFTRDMA_A_* of the filters that are set
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

/*
 * Read the filters in @attrs. Needs srdma_devs_sem; takes srdma_ctl_lock if a job is among
 * them.
 */
int srdma_filter_parse(struct srdma_filter *f, struct nlattr **attrs,
		       const struct srdma_reader *who,
		       struct netlink_ext_ack *extack);
/* The device that @f names; a do request has to name one. Needs srdma_devs_sem. */
struct srdma_dev *srdma_filter_dev(const struct srdma_filter *f,
				   struct netlink_ext_ack *extack);

/* Dumps */

/**
 * struct srdma_dump - a dump under way
 * @skb: the buffer that is being filled
 * @cb: netlink's state of the dump
 * @who: the reader, with a reference on its pid namespace; the socket holds @who.net
 * @f: filters
 * @parsed: @f is parsed and figures are refreshed; done at the first message, because an
 *	error has its text there
 * @closed: the snapshot message is written
 * @generation: taken before any object was read
 * @time: ns, when @generation was taken
 * @counted_at: ns: when the figures of the device that is being walked were read
 * @count: objects that match, so far
 * @phase: of a dump that walks more than one table
 * @dev: cursor: index of the device
 * @key: cursor: of the object on it, or in its list
 * @sub: cursor within that object
 */
struct srdma_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct srdma_reader who;
	struct srdma_filter f;
	bool parsed;
	bool closed;
	u64 generation;
	u64 time;
	u64 counted_at;
	u32 count;
	u32 phase;
	unsigned long dev;
	unsigned long key;
	unsigned long sub;
};

/* Move the cursor to the object @key of the device or list, unless it is there. */
static inline void srdma_dump_seek(struct srdma_dump *d, unsigned long key)
{
	if (d->key != key) {
		d->key = key;
		d->sub = 0;
	}
}

/*
 * Write the objects from the cursor on; -EMSGSIZE: the buffer is full and the cursor is at
 * the object that did not fit.
 */
typedef int (*srdma_dump_fn)(struct srdma_dump *d);
typedef int (*srdma_dump_dev_fn)(struct srdma_dump *d, struct srdma_dev *dev);

/**
 * struct srdma_get - how the objects of a command are read
 * @admin: only with CAP_NET_ADMIN
 * @refresh: kinds of figures that are refreshed first, see srdma_refresh()
 * @collect: brings other figures up to date; may sleep, no lock is held. NULL: none
 * @one: write the object that a do request names into its answer; srdma_devs_sem is held
 * @dump: write all objects; srdma_devs_sem is held
 * @dump_dev: or, instead, write all objects of a device
 */
struct srdma_get {
	bool admin;
	u32 refresh;
	void (*collect)(const struct srdma_reader *who);
	int (*one)(struct srdma_msg *m, struct srdma_dev *dev, struct srdma_filter *f,
		   const struct srdma_reader *who, struct genl_info *info);
	srdma_dump_fn dump;
	srdma_dump_dev_fn dump_dev;
};

/* By command. */
extern const struct srdma_get srdma_gets[SWIFTRDMA_CMD_MAX + 1];

/* Kinds of figures that are refreshed for a request with these attributes. */
static inline u32 srdma_get_kinds(const struct srdma_get *get, struct nlattr **attrs)
{
	return get->refresh |
	       (attrs[SWIFTRDMA_A_OUTSTANDING] ? BIT(SRDMA_REFRESH_OUTSTANDING) : 0);
}

/* .start, .dumpit and .done of every command. */
int srdma_dump_start(struct netlink_callback *cb);
int srdma_dump_run(struct sk_buff *skb, struct netlink_callback *cb);
int srdma_dump_done(struct netlink_callback *cb);
/* Call @fn for each device that the reader may see and the filter accepts. */
int srdma_dump_devs(struct srdma_dump *d, srdma_dump_dev_fn fn);
/* Begin a message of a dump. */
void srdma_dump_msg(struct srdma_msg *m, struct srdma_dump *d);
/* End a message of a dump and count its object; -EMSGSIZE. */
int srdma_dump_msg_end(struct srdma_msg *m, struct srdma_dump *d);

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
 * Objects as attributes of a message. @now is when they are read. dev: needs
 * srdma_devs_sem. uar, qp, owner, pending: RCU section or a reference. job, override:
 * both locks.
 */
void srdma_fill_dev(struct srdma_msg *m, struct srdma_dev *dev, u64 now);
void srdma_fill_port(struct srdma_msg *m, const struct srdma_dev *dev, u32 port,
		     const struct srdma_port_stat *st);
/* @recent: work requests of late, in events; NULL: none. */
void srdma_fill_uar(struct srdma_msg *m, const struct srdma_uar *u,
		    const struct srdma_reader *who, u64 now, const u64 *recent);
void srdma_put_owner(struct srdma_msg *m, int type, const struct srdma_owner *o,
		     const struct srdma_reader *who);
void srdma_fill_qp(struct srdma_msg *m, const struct srdma_qp *q,
		   const struct srdma_reader *who, u64 now);
/*
 * A job with its rules from number *@rule on. False: not all of it fits, and *@rule is the first
 * rule that does not. If *@rule has moved, the message is valid without the rules that are left.
 */
bool srdma_fill_job(struct srdma_msg *m, const struct srdma_job *job,
		    const struct srdma_reader *who, unsigned long *rule);
void srdma_fill_level(struct srdma_msg *m, u32 number, const struct srdma_level *level);
void srdma_fill_override(struct srdma_msg *m, const struct srdma_override *o);
void srdma_fill_pending(struct srdma_msg *m, const struct srdma_qp *q, int knob, int err,
			const char *why);
/* Write the result of an item of a batch. */
void srdma_fill_result(struct srdma_msg *m, const struct srdma_batch *b, int item,
		       const struct srdma_tally *t);
void srdma_fill_snapshot(struct srdma_msg *m, const struct srdma_dump *d);

/* netlink_get.c */
int srdma_get_doit(struct sk_buff *skb, struct genl_info *info);
int srdma_job_get_doit(struct sk_buff *skb, struct genl_info *info);
/* The device that a do request names, with a reference, or an error; @f has the filters. */
struct srdma_dev *srdma_hold_named_dev(struct srdma_filter *f, const struct srdma_reader *who,
				       struct genl_info *info);
/* QPNs 0 and 1 are the special QPs, one of each on each port (IBA 3.9.1). */
#define SRDMA_LAST_SPECIAL_QPN 1

/* netlink_peer.c */
int srdma_peer_get_doit(struct sk_buff *skb, struct genl_info *info);

/* netlink_report.c */
void srdma_collect_reports(const struct srdma_reader *who);
int srdma_dump_reports(struct srdma_dump *d);

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

/* netlink_events.c. init(): the multicast group exists. exit(): the group is about to go. */
void srdma_events_init(void);
void srdma_events_exit(void);

#endif /* SRDMA_NETLINK_PRIV_H */
