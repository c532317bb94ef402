// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests that change or list actions, levels and jobs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/conn.h"

/* Greatest size of the attributes of one item, rounded up. */
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

/* Drops the objects read so far, because an interrupted dump is repeated. */
static void drop_reading(struct srdma_reading *r)
{
	r->n_actions = r->n_levels = 0;
}

/*
 * A lease belongs to the module that granted it. After a reload its id may be that of
 * another lease.
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
 * Sends @msg, which names @lease or 0, and reads the answer into @r. @err: of adding
 * attributes; if not 0, @msg is not sent. Frees @msg. On success the caller frees
 * r->actions.
 */
static int send_request(struct io *io, struct nl_msg *msg, int err,
			struct srdma_reading *r, uint64_t lease)
{
	bool dump = nlmsg_hdr(msg)->nlmsg_flags & NLM_F_DUMP;

	if (err) {
		nlmsg_free(msg);
		return srdma_fail(io, -ENOMEM, "out of memory");
	}
	srdma_reading_scratch(io, r);
	err = lease ? ask_lessor(io, msg, r)
		    : srdma_call(io, msg, r, dump ? drop_reading : NULL);
	if (err)
		free(r->actions);
	return err;
}

/* The same for requests that are only acknowledged. */
static int send_command(struct io *io, struct nl_msg *msg, int err)
{
	struct srdma_reading r;

	err = send_request(io, msg, err, &r, 0);
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
		err = srdma_put_decision(msg, &a->decision);
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
	err = send_request(io, msg, err, &r, *lease);
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
	err = send_request(io, msg, 0, &r, 0);
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
	err = send_request(io, msg, 0, &r, 0);
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
	return send_command(io, msg, err);
}

/*
 * Every dump ends with a flag that says so; a cached dump of devices sends no firmware
 * command.
 */
int io_armed(struct io *io)
{
	struct nl_msg *msg = srdma_request(io, SWIFTRDMA_CMD_DEV_GET, true, NLA_HDRLEN);
	struct srdma_reading r;
	int err;

	if (!msg)
		return -ENOMEM;
	err = send_request(io, msg, nla_put_flag(msg, SWIFTRDMA_A_CACHED), &r, 0);
	if (err)
		return err;
	free(r.actions);
	return r.disarmed ? -ESHUTDOWN : 0;
}

/* A rule has the origin of the request, and the module counts its matches. */
static int put_rule(struct nl_msg *msg, const struct snap_rule *rule)
{
	struct snap_rule asked = *rule;

	asked.origin[0] = '\0';
	asked.matches = 0;
	return srdma_put_rule(msg, SWIFTRDMA_JOB_A_RULE, &asked);
}

/*
 * JOB_SET and JOB_DEL: a job and an origin. @rules NULL: nothing else.
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
	return send_command(io, msg, err);
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
