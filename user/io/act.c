// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Actions, levels and jobs: what is asked of the module. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/conn.h"

/* Attributes of one item at their longest, rounded up. */
#define READING_ROOM	(SWIFTRDMA_NAME_LEN + 32)
#define DECISION_ROOM	(SWIFTRDMA_NAME_LEN + 128 + \
			 SWIFTRDMA_READINGS_MAX * READING_ROOM)
#define ACTION_ROOM	(SWIFTRDMA_REASON_LEN + SWIFTRDMA_NAME_LEN + 128 + \
			 DECISION_ROOM)
#define RULE_ROOM	(SWIFTRDMA_PATH_LEN + SWIFTRDMA_EXE_LEN + \
			 SWIFTRDMA_COMM_LEN + 96)
#define LEASE_ROOM	128

_Static_assert(LEASE_ROOM + SWIFTRDMA_BATCH_MAX * ACTION_ROOM < SRDMA_SEND,
	       "a full batch fits the socket");
_Static_assert(SNAP_READINGS == SWIFTRDMA_READINGS_MAX, "room for all readings");

/* An interrupted dump begins anew. */
static void drop(struct srdma_reading *r)
{
	r->n_actions = r->n_levels = 0;
}

/*
 * A lease is the module's that gave it: after a reload the number may be
 * somebody else's.
 */
static int ask_lessor(struct io *io, struct nl_msg *msg,
		      struct srdma_reading *r)
{
	int err = srdma_exchange(io, msg, r, NULL);

	nlmsg_free(msg);
	if (err == 1)
		err = srdma_fail(io, -ENODEV,
				 "the module was loaded anew: the lease went with the old one");
	return err;
}

/*
 * Send @msg, which names a @lease or 0, and take in what comes back; not sent
 * if @err says that it did not take all its attributes. Frees @msg. r->actions
 * is the caller's to free on success.
 */
static int ask(struct io *io, struct nl_msg *msg, int err,
	       struct srdma_reading *r, uint64_t lease)
{
	bool dump = nlmsg_hdr(msg)->nlmsg_flags & NLM_F_DUMP;

	if (!err)
		err = srdma_reading_scratch(io, r);
	if (err) {
		nlmsg_free(msg);
		return srdma_fail(io, -ENOMEM, "out of memory");
	}
	err = lease ? ask_lessor(io, msg, r)
		    : srdma_call(io, msg, r, dump ? drop : NULL);
	if (err)
		free(r->actions);
	return err;
}

/* The same for what is answered with nothing but an acknowledgement. */
static int command(struct io *io, struct nl_msg *msg, int err)
{
	struct srdma_reading r;

	err = ask(io, msg, err, &r, 0);
	if (!err)
		free(r.actions);
	return err;
}

static int put_lease(struct nl_msg *msg, uint64_t id, uint32_t ttl_ms,
		     uint32_t rank, const char *origin)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_LEASE);
	int err = nest ? 0 : -NLE_NOMEM;

	if (!err && id)
		err = nla_put_u64(msg, SWIFTRDMA_LEASE_A_ID, id);
	if (!err)
		err = nla_put_u32(msg, SWIFTRDMA_LEASE_A_TTL_MS, ttl_ms);
	if (!err && !id)
		err = nla_put_u32(msg, SWIFTRDMA_LEASE_A_RANK, rank);
	if (!err && !id && origin)
		err = nla_put_string(msg, SWIFTRDMA_LEASE_A_ORIGIN, origin);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

static int put_target(struct nl_msg *msg, const struct snap_action *a)
{
	int err = 0;

	if (a->job[0])
		err = nla_put_string(msg, SWIFTRDMA_ACTION_A_JOB, a->job);
	if (!err && (a->has_dev || !a->job[0]))
		err = nla_put_u32(msg, SWIFTRDMA_ACTION_A_DEV_INDEX, a->dev);
	if (!err && !a->job[0])
		err = nla_put_u32(msg, SWIFTRDMA_ACTION_A_QPN, a->qpn);
	if (!err && !a->job[0] && a->serial)
		err = nla_put_u64(msg, SWIFTRDMA_ACTION_A_QP_SERIAL, a->serial);
	return err;
}

static int put_reading(struct nl_msg *msg, const struct snap_reading *rd)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_DECISION_A_READING);
	int err = nest ? 0 : -NLE_NOMEM;

	if (!err)
		err = nla_put_string(msg, SWIFTRDMA_READING_A_SIGNAL, rd->signal);
	if (!err && rd->known)
		err = nla_put_s64(msg, SWIFTRDMA_READING_A_VALUE, rd->value);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

static int put_seen(struct nl_msg *msg, const struct snap_decision *d)
{
	int err = 0;

	if (snap_has(d, SNAP_SEEN_DEV))
		err = nla_put_u32(msg, SWIFTRDMA_DECISION_A_DEV_INDEX, d->dev);
	if (!err && snap_has(d, SNAP_SEEN_PORT))
		err = nla_put_u32(msg, SWIFTRDMA_DECISION_A_PORT, d->port);
	if (!err && snap_has(d, SNAP_SEEN_UAR))
		err = nla_put_u32(msg, SWIFTRDMA_DECISION_A_UAR, d->uar);
	if (!err && snap_has(d, SNAP_SEEN_QP))
		err = nla_put_u32(msg, SWIFTRDMA_DECISION_A_QPN, d->qpn);
	return err;
}

static int put_decision(struct nl_msg *msg, const struct snap_decision *d)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_ACTION_A_DECISION);
	int err = nest ? 0 : -NLE_NOMEM;

	if (!err)
		err = nla_put_string(msg, SWIFTRDMA_DECISION_A_POLICY, d->policy);
	if (!err)
		err = nla_put_u64(msg, SWIFTRDMA_DECISION_A_TICK, d->tick);
	if (!err && snap_has(d, SNAP_COOLDOWN))
		err = nla_put_u64(msg, SWIFTRDMA_DECISION_A_COOLDOWN, d->cooldown);
	if (!err && snap_has(d, SNAP_STEPS_LEFT))
		err = nla_put_u32(msg, SWIFTRDMA_DECISION_A_STEPS_LEFT, d->steps_left);
	if (!err && snap_has(d, SNAP_ACTS_LEFT))
		err = nla_put_u32(msg, SWIFTRDMA_DECISION_A_ACTS_LEFT, d->acts_left);
	if (!err)
		err = put_seen(msg, d);
	for (uint32_t i = 0; i < d->n_readings && !err; i++)
		err = put_reading(msg, &d->readings[i]);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

static int put_action(struct nl_msg *msg, const struct snap_action *a)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_ACTION);
	int err = nest ? 0 : -NLE_NOMEM;

	if (!err)
		err = nla_put_u32(msg, SWIFTRDMA_ACTION_A_KNOB, a->knob);
	if (!err)
		err = a->clear
			? nla_put_flag(msg, SWIFTRDMA_ACTION_A_CLEAR)
			: nla_put_u64(msg, SWIFTRDMA_ACTION_A_VALUE, a->value);
	if (!err)
		err = put_target(msg, a);
	if (!err && a->reason[0])
		err = nla_put_string(msg, SWIFTRDMA_ACTION_A_REASON,
				     a->reason);
	if (!err && a->decision.policy[0])
		err = put_decision(msg, &a->decision);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

int io_act(struct io *io, uint64_t *lease, uint32_t ttl_ms, uint32_t rank,
	   const char *origin, const struct snap_action *actions, size_t n,
	   uint64_t *batch)
{
	struct srdma_reading r;
	struct nl_msg *msg;
	int err;

	if (n > SWIFTRDMA_BATCH_MAX)
		return srdma_fail(io, -E2BIG,
				  "%zu actions in a batch: at most %d", n,
				  SWIFTRDMA_BATCH_MAX);
	msg = srdma_request(io, SWIFTRDMA_CMD_ACT, false,
			    LEASE_ROOM + n * ACTION_ROOM);
	if (!msg)
		return -ENOMEM;
	err = put_lease(msg, *lease, ttl_ms, rank, origin);
	for (size_t i = 0; i < n && !err; i++)
		err = put_action(msg, &actions[i]);
	err = ask(io, msg, err, &r, *lease);
	if (err)
		return err;
	free(r.actions);
	if (!r.has_lease)
		return srdma_fail(io, -EBADMSG,
				  "the module's answer names no lease");
	*lease = r.lease.id;
	if (batch)
		*batch = r.batch;
	return 0;
}

int io_actions(struct io *io, struct snap_action **actions, size_t *n)
{
	struct srdma_reading r;
	struct nl_msg *msg;
	int err;

	*actions = NULL;
	*n = 0;
	msg = srdma_request(io, SWIFTRDMA_CMD_ACTION_GET, true, 0);
	if (!msg)
		return -ENOMEM;
	err = ask(io, msg, 0, &r, 0);
	if (err)
		return err;
	*actions = r.actions;
	*n = r.n_actions;
	return 0;
}

int io_levels(struct io *io, struct io_level *levels, size_t cap)
{
	struct srdma_reading r;
	struct nl_msg *msg;
	int err;

	msg = srdma_request(io, SWIFTRDMA_CMD_LEVEL_GET, true, 0);
	if (!msg)
		return -ENOMEM;
	err = ask(io, msg, 0, &r, 0);
	if (err)
		return err;
	free(r.actions);
	if (cap > r.n_levels)
		cap = r.n_levels;
	memcpy(levels, r.levels, cap * sizeof(*levels));
	return cap;
}

int io_levels_set(struct io *io, const struct io_level *levels, size_t n)
{
	struct nl_msg *msg = srdma_request(io, SWIFTRDMA_CMD_LEVEL_SET, false,
					   n * 64);
	int err = 0;

	if (!msg)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_LEVEL);

		err = !nest ||
		      nla_put_u32(msg, SWIFTRDMA_LEVEL_A_LEVEL,
				  levels[i].level) ||
		      (levels[i].has_dscp &&
		       nla_put_u32(msg, SWIFTRDMA_LEVEL_A_DSCP,
				   levels[i].dscp)) ||
		      (levels[i].has_sl &&
		       nla_put_u32(msg, SWIFTRDMA_LEVEL_A_SL, levels[i].sl));
		if (!err)
			nla_nest_end(msg, nest);
	}
	return command(io, msg, err);
}

/*
 * A change of nothing: refused in any case, but before it is looked at if no
 * change is taken at all.
 */
int io_armed(struct io *io)
{
	int err = io_levels_set(io, NULL, 0);

	return err == -EINVAL ? 0 : err;
}

static int put_rule(struct nl_msg *msg, const struct snap_rule *rule)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_JOB_A_RULE);
	int err = nest ? 0 : -NLE_NOMEM;

	if (!err)
		err = nla_put_u32(msg, SWIFTRDMA_RULE_A_ORDER, rule->order);
	if (!err && rule->cgroup[0])
		err = nla_put_string(msg, SWIFTRDMA_RULE_A_CGROUP,
				     rule->cgroup);
	if (!err && rule->comm[0])
		err = nla_put_string(msg, SWIFTRDMA_RULE_A_COMM, rule->comm);
	if (!err && rule->exe[0])
		err = nla_put_string(msg, SWIFTRDMA_RULE_A_EXE, rule->exe);
	if (!err && rule->has_uid)
		err = nla_put_u32(msg, SWIFTRDMA_RULE_A_UID, rule->uid);
	if (!err && rule->has_pid)
		err = nla_put_u32(msg, SWIFTRDMA_RULE_A_PID, rule->pid);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

/*
 * JOB_SET and JOB_DEL name a job and an origin; @rules NULL: no more than that.
 */
static int job_request(struct io *io, int cmd, const char *name,
		       const char *origin, uint32_t class,
		       const struct snap_rule *rules, size_t n)
{
	struct nl_msg *msg = srdma_request(io, cmd, false,
					   strlen(name) + strlen(origin) + 64 +
					   n * RULE_ROOM);
	struct nlattr *nest;
	int err;

	if (!msg)
		return -ENOMEM;
	nest = nla_nest_start(msg, SWIFTRDMA_A_JOB_OBJ);
	err = !nest || nla_put_string(msg, SWIFTRDMA_JOB_A_NAME, name) ||
	      nla_put_string(msg, SWIFTRDMA_JOB_A_ORIGIN, origin);
	if (!err && rules)
		err = nla_put_u32(msg, SWIFTRDMA_JOB_A_CLASS, class);
	for (size_t i = 0; i < n && !err; i++)
		err = put_rule(msg, &rules[i]);
	if (!err)
		nla_nest_end(msg, nest);
	return command(io, msg, err);
}

int io_job_set(struct io *io, const char *name, const char *origin,
	       uint32_t class, const struct snap_rule *rules, size_t n)
{
	if (n > SWIFTRDMA_RULES_MAX)
		return srdma_fail(io, -E2BIG, "%zu rules: a job has at most %d",
				  n, SWIFTRDMA_RULES_MAX);
	return job_request(io, SWIFTRDMA_CMD_JOB_SET, name, origin, class,
			   rules, n);
}

int io_job_del(struct io *io, const char *name, const char *origin)
{
	return job_request(io, SWIFTRDMA_CMD_JOB_DEL, name, origin, 0, NULL, 0);
}
