// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"
#include "io/encode.h"

/* Any family id will do, because a player takes the id from the request. */
#define FAMILY		NLMSG_MIN_TYPE
/* Any object but a job or a job's report, with its owner or priorities. */
#define OBJECT_ROOM	4096
#define REPORT_ROOM	(OBJECT_ROOM + sizeof(((struct snap_job_report *)0)->bucket))
#define STAT_ROOM	512
#define RULE_ROOM	512
/* Rules of a job in one message: a nest has at most 64 KiB. */
#define RULES		64

int srdma_bytes_add(struct srdma_bytes *to, const void *p, size_t len)
{
	size_t padding = NLMSG_ALIGN(len) - len;

	if (!array_reserve(&to->p, &to->cap, to->len + len + padding, 1))
		return -ENOMEM;
	memcpy(to->p + to->len, p, len);
	memset(to->p + to->len + len, 0, padding);
	to->len += len + padding;
	return 0;
}

/* --- attributes ------------------------------------------------------------------ */

static bool is_zero(const char *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

static bool is_written(const struct srdma_set *set, size_t type, const char *obj,
		       uint64_t has)
{
	const struct srdma_field *f = &set->fields[type];

	if (set->required & BIT(type))
		return true;
	if (f->has)
		return has & f->has;
	if (f->kind == STR || f->kind == FLAG)
		return obj[f->offset];
	return !is_zero(obj + f->offset, f->size);
}

int srdma_put(struct nl_msg *msg, const struct srdma_set *set, const void *object,
	      uint64_t asked, uint64_t given)
{
	const char *obj = object;
	uint64_t has = 0;
	int err = 0;

	if (set->has_offset != NO_HAS)
		memcpy(&has, obj + set->has_offset, sizeof(has));
	for (size_t type = 0; type < set->n && !err; type++) {
		const struct srdma_field *f = &set->fields[type];
		size_t len = f->size;

		if (f->kind == SKIP || f->kind == NEST)
			continue;
		if (!(asked & BIT(type) ? (given & BIT(type)) != 0
					: is_written(set, type, obj, has)))
			continue;
		if (f->kind == FLAG)
			len = 0;
		else if (f->kind == STR)
			len = strnlen(obj + f->offset, f->size - 1u) + 1;
		err = nla_put(msg, (int)type, (int)len, obj + f->offset);
	}
	return err;
}

/* An object that is all one nest. */
static int put_nest(struct nl_msg *msg, int type, const struct srdma_set *set,
		    const void *obj, uint64_t asked, uint64_t given)
{
	struct nlattr *nest = nla_nest_start(msg, type);
	int err = nest ? srdma_put(msg, set, obj, asked, given) : -NLE_NOMEM;

	if (!err)
		/* An owner without a known figure is not the same as no owner. */
		nla_nest_end_keep_empty(msg, nest);
	return err;
}

int srdma_put_rule(struct nl_msg *msg, int type, const struct snap_rule *rule)
{
	const uint64_t asked = BIT(SWIFTRDMA_RULE_A_ORDER) | BIT(SWIFTRDMA_RULE_A_UID) |
			       BIT(SWIFTRDMA_RULE_A_PID);
	uint64_t given = BIT(SWIFTRDMA_RULE_A_ORDER);

	if (rule->has_uid)
		given |= BIT(SWIFTRDMA_RULE_A_UID);
	if (rule->has_pid)
		given |= BIT(SWIFTRDMA_RULE_A_PID);
	return put_nest(msg, type, &srdma_rule_set, rule, asked, given);
}

int srdma_put_decision(struct nl_msg *msg, const struct snap_decision *d)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_ACTION_A_DECISION);
	int err = nest ? srdma_put(msg, &srdma_decision_set, d, 0, 0) : -NLE_NOMEM;

	for (uint32_t i = 0; i < d->n_readings && !err; i++)
		err = put_nest(msg, SWIFTRDMA_DECISION_A_READING, &srdma_reading_set,
			       &d->readings[i], BIT(SWIFTRDMA_READING_A_VALUE),
			       d->readings[i].known ? BIT(SWIFTRDMA_READING_A_VALUE) : 0);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

int srdma_put_lease(struct nl_msg *msg, int type, const struct srdma_lease *lease)
{
	return put_nest(msg, type, &srdma_lease_set, lease, 0, 0);
}

int srdma_put_action(struct nl_msg *msg, const struct snap_action *a, uint32_t index)
{
	const uint64_t asked = BIT(SWIFTRDMA_ACTION_A_VALUE) | BIT(SWIFTRDMA_ACTION_A_DEV_INDEX);
	const uint64_t given = (a->has_value ? BIT(SWIFTRDMA_ACTION_A_VALUE) : 0) |
			       (a->has_dev ? BIT(SWIFTRDMA_ACTION_A_DEV_INDEX) : 0);
	const struct srdma_action action = { .a = *a, .index = index };
	struct srdma_lease lease = {
		.id = a->lease_id, .ttl_ms = a->lease_ttl_ms, .rank = a->lease_rank,
	};
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_ACTION);
	int err = nest ? srdma_put(msg, &srdma_action_set, &action, asked, given) : -NLE_NOMEM;

	memcpy(lease.origin, a->lease_origin, sizeof(lease.origin));
	if (!err)
		err = srdma_put_lease(msg, SWIFTRDMA_ACTION_A_LEASE, &lease);
	if (!err && a->decision.policy[0])
		err = srdma_put_decision(msg, &a->decision);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

int srdma_put_dev(struct nl_msg *msg, const struct snap_dev *dev)
{
	return put_nest(msg, SWIFTRDMA_A_DEV, &srdma_dev_set, dev, 0, 0);
}

/* An object that may have an owner. */
static int put_owned(struct nl_msg *msg, int type, const struct srdma_set *set,
		     const void *obj, uint64_t asked, uint64_t given, int owner_type,
		     const struct snap_owner *owner)
{
	struct nlattr *nest = nla_nest_start(msg, type);
	int err = nest ? srdma_put(msg, set, obj, asked, given) : -NLE_NOMEM;

	if (!err && owner)
		err = put_nest(msg, owner_type, &srdma_owner_set, owner, 0, 0);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

int srdma_put_uar(struct nl_msg *msg, const struct snap_uar *uar,
		  const struct snap_owner *owner)
{
	return put_owned(msg, SWIFTRDMA_A_UAR_OBJ, &srdma_uar_set, uar, 0, 0,
			 SWIFTRDMA_UAR_A_OWNER, owner);
}

int srdma_put_qp(struct nl_msg *msg, const struct snap_qp *qp,
		 const struct snap_owner *owner)
{
	return put_owned(msg, SWIFTRDMA_A_QP, &srdma_qp_set, qp, SRDMA_CLASS_BITS,
			 snap_has(qp, SNAP_CLASS) ? SRDMA_CLASS_BITS : 0,
			 SWIFTRDMA_QP_A_OWNER, owner);
}

/* --- messages -------------------------------------------------------------------- */

/* The exchange under way: a request and its answers have its command and number. */
struct exchange {
	struct srdma_bytes *to;
	int cmd;
	uint32_t seq;
};

static struct nl_msg *begin_message(const struct exchange *x, int flags, size_t room)
{
	struct nl_msg *msg = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + room);

	if (msg)
		genlmsg_put(msg, 0, x->seq, FAMILY, 0, flags, x->cmd, SWIFTRDMA_GENL_VERSION);
	return msg;
}

/* Appends @msg and frees it. @err: the result of adding its attributes. */
static int end_message(const struct exchange *x, struct nl_msg *msg, int err)
{
	const struct nlmsghdr *nlh = nlmsg_hdr(msg);

	err = err ? -ENOMEM : srdma_bytes_add(x->to, nlh, nlh->nlmsg_len);
	nlmsg_free(msg);
	return err;
}

static int add_request(struct exchange *x, int cmd, const struct snapshot *was)
{
	struct nl_msg *msg;

	x->cmd = cmd;
	x->seq++;
	msg = begin_message(x, NLM_F_REQUEST | NLM_F_DUMP, NLA_HDRLEN + sizeof(uint64_t));
	if (!msg)
		return -ENOMEM;
	return end_message(x, msg, was ? nla_put_u64(msg, SWIFTRDMA_A_SINCE, was->generation) : 0);
}

/* The end of an answer. @error: the kernel's result; -EPERM for an unprivileged caller. */
static int add_done(const struct exchange *x, int error)
{
	const struct {
		struct nlmsghdr nlh;
		int32_t error;
	} done = {
		{
			.nlmsg_len = NLMSG_LENGTH(sizeof(int32_t)), .nlmsg_type = NLMSG_DONE,
			.nlmsg_flags = NLM_F_MULTI, .nlmsg_seq = x->seq,
		}, error,
	};

	return srdma_bytes_add(x->to, &done, sizeof(done));
}

/* A message of at most @room bytes for each of @n objects of @s. */
static int put_each(const struct exchange *x, const struct snapshot *s, size_t n, size_t room,
		    int (*put)(struct nl_msg *msg, const struct snapshot *s, size_t i))
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct nl_msg *msg = begin_message(x, NLM_F_MULTI, room);

		err = msg ? end_message(x, msg, put(msg, s, i)) : -ENOMEM;
	}
	return err;
}

/* A dump of @n objects of @s. */
static int encode_each(struct exchange *x, int cmd, const struct snapshot *s, size_t n,
		       int (*put)(struct nl_msg *msg, const struct snapshot *s, size_t i))
{
	int err = add_request(x, cmd, NULL);

	if (!err)
		err = put_each(x, s, n, OBJECT_ROOM, put);
	return err ? err : add_done(x, 0);
}

static int put_dev(struct nl_msg *msg, const struct snapshot *s, size_t i)
{
	return srdma_put_dev(msg, &s->devs[i]);
}

static int put_port(struct nl_msg *msg, const struct snapshot *s, size_t n)
{
	const struct snap_port *port = &s->ports[n];
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_PORT_OBJ);
	int err = nest ? srdma_put(msg, &srdma_port_set, port, 0, 0) : -NLE_NOMEM;

	for (size_t i = 0; i < s->n_prios && !err; i++)
		if (s->prios[i].dev == port->dev && s->prios[i].port == port->index)
			err = put_nest(msg, SWIFTRDMA_PORT_A_PRIO, &srdma_prio_set,
				       &s->prios[i], 0, 0);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

static int put_uar(struct nl_msg *msg, const struct snapshot *s, size_t i)
{
	const struct snap_uar *u = &s->uars[i];

	return srdma_put_uar(msg, u, snap_has(u, SNAP_OWNER) ? &s->owners[u->owner] : NULL);
}

/* @from: the first rule of the job that is not in an earlier message. */
static int put_job(struct nl_msg *msg, const struct snap_job *job, size_t from)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_JOB_OBJ);
	int err = nest ? srdma_put(msg, &srdma_job_set, job, 0, 0) : -NLE_NOMEM;
	size_t to = job->n_rules - from < RULES ? job->n_rules : from + RULES;

	for (size_t i = from; i < to && !err; i++)
		err = srdma_put_rule(msg, SWIFTRDMA_JOB_A_RULE, &job->rules[i]);
	for (size_t i = 0; i < job->n_stats && !from && !err; i++)
		err = put_nest(msg, SWIFTRDMA_JOB_A_STAT, &srdma_stat_set, &job->stats[i],
			       0, 0);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

static int encode_job(struct exchange *x, const struct snap_job *job)
{
	const size_t room = OBJECT_ROOM + RULES * RULE_ROOM + job->n_stats * STAT_ROOM;
	size_t from = 0;
	int err;

	do {
		struct nl_msg *msg = begin_message(x, NLM_F_MULTI, room);

		err = msg ? end_message(x, msg, put_job(msg, job, from)) : -ENOMEM;
		from += RULES;
	} while (!err && from < job->n_rules);
	return err;
}

static int encode_jobs(struct exchange *x, const struct snapshot *s)
{
	int err = add_request(x, SWIFTRDMA_CMD_JOB_GET, NULL);

	for (size_t i = 0; i < s->n_jobs && s->admin && !err; i++)
		err = encode_job(x, &s->jobs[i]);
	return err ? err : add_done(x, s->admin ? 0 : -EPERM);
}

static int put_job_report(struct nl_msg *msg, const struct snapshot *s, size_t i)
{
	const struct snap_job_report *r = &s->job_reports[i];
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_REPORT);
	int err = nest ? srdma_put(msg, &srdma_job_report_set, r, 0, 0) : -NLE_NOMEM;

	for (uint32_t k = 0; k < r->n_held && !err; k++)
		err = put_nest(msg, SWIFTRDMA_REPORT_A_HELD, &srdma_held_set, &r->held[k], 0, 0);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

static int put_qp_report(struct nl_msg *msg, const struct snapshot *s, size_t i)
{
	return put_nest(msg, SWIFTRDMA_A_REPORT, &srdma_qp_report_set, &s->qp_reports[i], 0, 0);
}

static int encode_reports(struct exchange *x, const struct snapshot *s)
{
	int err;

	if (!s->n_job_reports && !s->n_qp_reports)
		return 0;
	err = add_request(x, SWIFTRDMA_CMD_REPORT_GET, NULL);
	if (!err)
		err = put_each(x, s, s->n_job_reports, REPORT_ROOM, put_job_report);
	if (!err)
		err = put_each(x, s, s->n_qp_reports, OBJECT_ROOM, put_qp_report);
	return err ? err : add_done(x, 0);
}

/* --- QPs ------------------------------------------------------------------------- */

static const struct snap_owner *owner_of(const struct snapshot *s, const struct snap_qp *qp)
{
	return snap_has(qp, SNAP_OWNER) ? &s->owners[qp->owner] : NULL;
}

static bool is_same_owner(const struct snap_owner *a, const struct snap_owner *b)
{
	return a == b || (a && b && !memcmp(a, b, sizeof(*a)));
}

static bool is_same_qp(const struct snapshot *is, const struct snap_qp *qp,
		       const struct snapshot *was, const struct snap_qp *old)
{
	struct snap_qp then = *old;

	then.time = qp->time;
	then.owner = qp->owner;
	return !memcmp(&then, qp, sizeof(then)) &&
	       is_same_owner(owner_of(is, qp), owner_of(was, old));
}

/* Is each QP of @was in @is? Both are sorted. */
static bool has_all_qps(const struct snapshot *is, const struct snapshot *was)
{
	size_t i = 0;

	for (size_t k = 0; k < was->n_qps; k++, i++) {
		while (i < is->n_qps && SNAP_CMP_QP(&is->qps[i], &was->qps[k]) < 0)
			i++;
		if (i == is->n_qps || SNAP_CMP_QP(&is->qps[i], &was->qps[k]))
			return false;
	}
	return true;
}

static int encode_end(struct exchange *x, const struct snapshot *s)
{
	const struct srdma_end count = { s->generation, s->time, (uint32_t)s->n_qps,
					 s->armed };
	struct nl_msg *msg = begin_message(x, NLM_F_MULTI, OBJECT_ROOM);
	int err;

	if (!msg)
		return -ENOMEM;
	err = end_message(x, msg, put_nest(msg, SWIFTRDMA_A_SNAPSHOT, &srdma_end_set, &count, 0, 0));
	return err ? err : add_done(x, 0);
}

static int encode_qps(struct exchange *x, const struct snapshot *s,
		      const struct snapshot *was)
{
	size_t k = 0;
	int err;

	if (was && !has_all_qps(s, was))
		was = NULL;
	err = add_request(x, SWIFTRDMA_CMD_QP_GET, was);
	for (size_t i = 0; i < s->n_qps && !err; i++) {
		const struct snap_qp *qp = &s->qps[i];
		struct nl_msg *msg;

		if (was && k < was->n_qps && !SNAP_CMP_QP(&was->qps[k], qp) &&
		    is_same_qp(s, qp, was, &was->qps[k++]))
			continue;
		msg = begin_message(x, NLM_F_MULTI, OBJECT_ROOM);
		err = msg ? end_message(x, msg, srdma_put_qp(msg, qp, owner_of(s, qp))) : -ENOMEM;
	}
	return err ? err : encode_end(x, s);
}

int srdma_encode(struct srdma_bytes *to, const struct snapshot *s,
		 const struct snapshot *was)
{
	struct exchange x = { .to = to };
	int err = encode_each(&x, SWIFTRDMA_CMD_DEV_GET, s, s->n_devs, put_dev);

	if (!err)
		err = encode_each(&x, SWIFTRDMA_CMD_PORT_GET, s, s->n_ports, put_port);
	if (!err)
		err = encode_each(&x, SWIFTRDMA_CMD_UAR_GET, s, s->n_uars, put_uar);
	if (!err)
		err = encode_jobs(&x, s);
	if (!err)
		err = encode_reports(&x, s);
	return err ? err : encode_qps(&x, s, was);
}
