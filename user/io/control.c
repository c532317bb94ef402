// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parses the objects that are set, not measured: jobs, actions, levels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"
#include "io/attr.h"

static const struct srdma_field rule_fields[] = {
	F(SWIFTRDMA_RULE_A_ORDER, U32, snap_rule, order, 0),
	F(SWIFTRDMA_RULE_A_ORIGIN, STR, snap_rule, origin, 0),
	F(SWIFTRDMA_RULE_A_CGROUP, STR, snap_rule, cgroup, 0),
	F(SWIFTRDMA_RULE_A_COMM, STR, snap_rule, comm, 0),
	F(SWIFTRDMA_RULE_A_EXE, STR, snap_rule, exe, 0),
	F(SWIFTRDMA_RULE_A_UID, U32, snap_rule, uid, 0),
	F(SWIFTRDMA_RULE_A_PID, U32, snap_rule, pid, 0),
	F(SWIFTRDMA_RULE_A_MATCHES, U64, snap_rule, matches, 0),
	F(SWIFTRDMA_RULE_A_ASKED, FLAG, snap_rule, asked, 0),
	F(SWIFTRDMA_RULE_A_SLO_P99_MIN, U64, snap_rule, slo_p99_min, 0),
};

const struct srdma_set srdma_rule_set = {
	FIELDS(rule_fields), 0, NO_HAS, NULL,
};

static const struct srdma_field stat_fields[] = {
	F(SWIFTRDMA_JOB_STAT_A_DEV_INDEX, U32, snap_job_stat, dev, 0),
	F(SWIFTRDMA_JOB_STAT_A_QPS, U32, snap_job_stat, qps, 0),
	F(SWIFTRDMA_JOB_STAT_A_CREATED, U64, snap_job_stat, created, 0),
	F(SWIFTRDMA_JOB_STAT_A_DESTROYED, U64, snap_job_stat, destroyed, 0),
	F(SWIFTRDMA_JOB_STAT_A_MOVED, U64, snap_job_stat, moved, 0),
	F(SWIFTRDMA_JOB_STAT_A_REJECTED, U64, snap_job_stat, rejected, 0),
	F(SWIFTRDMA_JOB_STAT_A_DOORBELLS, U64, snap_job_stat, doorbells,
	  SNAP_DOORBELLS),
	F(SWIFTRDMA_JOB_STAT_A_WRS, U64, snap_job_stat, wrs, SNAP_WRS),
	F(SWIFTRDMA_JOB_STAT_A_LEVEL, U32, snap_job_stat, level, SNAP_LEVEL),
	F(SWIFTRDMA_JOB_STAT_A_MAX_QPS, U64, snap_job_stat, max_qps,
	  SNAP_MAX_QPS),
	F(SWIFTRDMA_JOB_STAT_A_CREATE_RATE, U64, snap_job_stat, create_rate,
	  SNAP_CREATE_RATE),
	F(SWIFTRDMA_JOB_STAT_A_BIT_RATE, U64, snap_job_stat, bit_rate,
	  SNAP_BIT_RATE),
	F(SWIFTRDMA_JOB_STAT_A_WEIGHT, U32, snap_job_stat, weight,
	  SNAP_WEIGHT),
	F(SWIFTRDMA_JOB_STAT_A_MRS, U32, snap_job_stat, mrs, 0),
	F(SWIFTRDMA_JOB_STAT_A_MR_BYTES, U64, snap_job_stat, mr_bytes,
	  SNAP_MRS),
	F(SWIFTRDMA_JOB_STAT_A_MTTS, U64, snap_job_stat, mtts, SNAP_MTTS),
	F(SWIFTRDMA_JOB_STAT_A_MTTS_UNKNOWN, U32, snap_job_stat, mtts_unknown,
	  0),
	F(SWIFTRDMA_JOB_STAT_A_MR_PAGE_MIN, U64, snap_job_stat, mr_page_min, 0),
	F(SWIFTRDMA_JOB_STAT_A_MR_PAGE_MAX, U64, snap_job_stat, mr_page_max,
	  SNAP_MR_PAGES),
	F(SWIFTRDMA_JOB_STAT_A_CREATES, U64, snap_job_stat, creates, 0),
	F(SWIFTRDMA_JOB_STAT_A_MODIFIES, U64, snap_job_stat, modifies, 0),
	F(SWIFTRDMA_JOB_STAT_A_COMMANDS, U64, snap_job_stat, commands,
	  SNAP_COMMANDS),
	F(SWIFTRDMA_JOB_STAT_A_WR_RATE, U64, snap_job_stat, wr_rate, SNAP_WR_RATE),
	F(SWIFTRDMA_JOB_STAT_A_CREDITS, U64, snap_job_stat, credits, SNAP_CREDITS),
	F(SWIFTRDMA_JOB_STAT_A_PLACE, U32, snap_job_stat, place, SNAP_PLACE),
	F(SWIFTRDMA_JOB_STAT_A_CHUNK, U64, snap_job_stat, chunk, SNAP_CHUNK),
	F(SWIFTRDMA_JOB_STAT_A_HUGE_PAGES, U32, snap_job_stat, huge_pages, SNAP_HUGE_PAGES),
	F(SWIFTRDMA_JOB_STAT_A_FOLLOW, U32, snap_job_stat, follow, SNAP_FOLLOW),
	F(SWIFTRDMA_JOB_STAT_A_COMMAND_TIME, U64, snap_job_stat, command_time,
	  0),
};

const struct srdma_set srdma_stat_set = {
	FIELDS(stat_fields), BIT(SWIFTRDMA_JOB_STAT_A_DEV_INDEX),
	offsetof(struct snap_job_stat, has), NULL,
};

static int job_nest(struct srdma_reading *r, void *obj, int type,
		    const void *data, size_t len)
{
	struct snap_job *job = obj;
	uint64_t seen;
	int err;

	if (type == SWIFTRDMA_JOB_A_STAT) {
		struct snap_job_stat *stat = &job->stats[job->n_stats];

		memset(stat, 0, sizeof(*stat));
		err = srdma_fill(&srdma_stat_set, r, stat, data, len, NULL);
		job->n_stats += !err;
	} else {
		struct snap_rule *rule = &job->rules[job->n_rules];

		memset(rule, 0, sizeof(*rule));
		err = srdma_fill(&srdma_rule_set, r, rule, data, len, &seen);
		if (err)
			return err;
		rule->has_uid = seen & BIT(SWIFTRDMA_RULE_A_UID);
		rule->has_pid = seen & BIT(SWIFTRDMA_RULE_A_PID);
		job->n_rules++;
	}
	return err;
}

static const struct srdma_field job_fields[] = {
	F(SWIFTRDMA_JOB_A_ID, U32, snap_job, id, 0),
	F(SWIFTRDMA_JOB_A_NAME, STR, snap_job, name, 0),
	F(SWIFTRDMA_JOB_A_CLASS, U32, snap_job, class, 0),
	N(SWIFTRDMA_JOB_A_RULE, 0),
	N(SWIFTRDMA_JOB_A_STAT, 0),
	F(SWIFTRDMA_JOB_A_SINCE, U64, snap_job, since, 0),
	F(SWIFTRDMA_JOB_A_TIME, U64, snap_job, time, 0),
};

const struct srdma_set srdma_job_set = {
	FIELDS(job_fields),
	BIT(SWIFTRDMA_JOB_A_ID) | BIT(SWIFTRDMA_JOB_A_NAME), NO_HAS, job_nest,
};

static const struct srdma_field lease_fields[] = {
	F(SWIFTRDMA_LEASE_A_ID, U64, srdma_lease, id, 0),
	F(SWIFTRDMA_LEASE_A_TTL_MS, U32, srdma_lease, ttl_ms, 0),
	F(SWIFTRDMA_LEASE_A_RANK, U32, srdma_lease, rank, 0),
	F(SWIFTRDMA_LEASE_A_ORIGIN, STR, srdma_lease, origin, 0),
	F(SWIFTRDMA_LEASE_A_EXPIRED, FLAG, srdma_lease, expired, 0),
};

const struct srdma_set srdma_lease_set = {
	FIELDS(lease_fields), BIT(SWIFTRDMA_LEASE_A_ID), NO_HAS, NULL,
};

static const struct srdma_field reading_fields[] = {
	F(SWIFTRDMA_READING_A_SIGNAL, STR, snap_reading, signal, 0),
	F(SWIFTRDMA_READING_A_VALUE, U64, snap_reading, value, 0),
};

const struct srdma_set srdma_reading_set = {
	FIELDS(reading_fields), BIT(SWIFTRDMA_READING_A_SIGNAL), NO_HAS, NULL,
};

static int decision_nest(struct srdma_reading *r, void *obj, int type,
			 const void *data, size_t len)
{
	struct snap_decision *d = obj;
	struct snap_reading *to;
	uint64_t seen;
	int err;

	(void)type;
	if (d->n_readings >= SNAP_READINGS)
		return -EBADMSG;
	to = &d->readings[d->n_readings];
	err = srdma_fill(&srdma_reading_set, r, to, data, len, &seen);
	if (err)
		return err;
	to->known = seen & BIT(SWIFTRDMA_READING_A_VALUE);
	d->n_readings++;
	return 0;
}

static const struct srdma_field decision_fields[] = {
	F(SWIFTRDMA_DECISION_A_POLICY, STR, snap_decision, policy, 0),
	F(SWIFTRDMA_DECISION_A_TICK, U64, snap_decision, tick, 0),
	F(SWIFTRDMA_DECISION_A_COOLDOWN, U64, snap_decision, cooldown,
	  SNAP_COOLDOWN),
	F(SWIFTRDMA_DECISION_A_STEPS_LEFT, U32, snap_decision, steps_left,
	  SNAP_STEPS_LEFT),
	F(SWIFTRDMA_DECISION_A_ACTS_LEFT, U32, snap_decision, acts_left,
	  SNAP_ACTS_LEFT),
	F(SWIFTRDMA_DECISION_A_DEV_INDEX, U32, snap_decision, dev,
	  SNAP_SEEN_DEV),
	F(SWIFTRDMA_DECISION_A_PORT, U32, snap_decision, port, SNAP_SEEN_PORT),
	F(SWIFTRDMA_DECISION_A_UAR, U32, snap_decision, uar, SNAP_SEEN_UAR),
	F(SWIFTRDMA_DECISION_A_QPN, U32, snap_decision, qpn, SNAP_SEEN_QP),
	N(SWIFTRDMA_DECISION_A_READING, 0),
};

const struct srdma_set srdma_decision_set = {
	FIELDS(decision_fields),
	BIT(SWIFTRDMA_DECISION_A_POLICY) | BIT(SWIFTRDMA_DECISION_A_TICK),
	offsetof(struct snap_decision, has), decision_nest,
};

static int action_nest(struct srdma_reading *r, void *obj, int type,
		       const void *data, size_t len)
{
	struct snap_action *a = obj;
	struct srdma_lease lease = { 0 };
	int err;

	if (type == SWIFTRDMA_ACTION_A_DECISION)
		return srdma_fill(&srdma_decision_set, r, &a->decision, data, len,
				  NULL);
	err = srdma_fill(&srdma_lease_set, r, &lease, data, len, NULL);
	if (err)
		return err;
	a->lease_id = lease.id;
	a->lease_ttl_ms = lease.ttl_ms;
	a->lease_rank = lease.rank;
	memcpy(a->lease_origin, lease.origin, sizeof(a->lease_origin));
	return 0;
}

static const struct srdma_field action_fields[] = {
	F(SWIFTRDMA_ACTION_A_KIND, U32, srdma_action, a.kind, 0),
	F(SWIFTRDMA_ACTION_A_KNOB, U32, srdma_action, a.knob, 0),
	F(SWIFTRDMA_ACTION_A_VALUE, U64, srdma_action, a.value, 0),
	F(SWIFTRDMA_ACTION_A_CLEAR, FLAG, srdma_action, a.clear, 0),
	F(SWIFTRDMA_ACTION_A_JOB, STR, srdma_action, a.job, 0),
	F(SWIFTRDMA_ACTION_A_DEV_INDEX, U32, srdma_action, a.dev, 0),
	F(SWIFTRDMA_ACTION_A_QPN, U32, srdma_action, a.qpn, 0),
	F(SWIFTRDMA_ACTION_A_QP_SERIAL, U64, srdma_action, a.serial, 0),
	F(SWIFTRDMA_ACTION_A_REASON, STR, srdma_action, a.reason, 0),
	N(SWIFTRDMA_ACTION_A_LEASE, 0),
	F(SWIFTRDMA_ACTION_A_IN_FORCE, FLAG, srdma_action, a.in_force, 0),
	F(SWIFTRDMA_ACTION_A_INDEX, U32, srdma_action, index, 0),
	F(SWIFTRDMA_ACTION_A_ERROR, S32, srdma_action, a.error, 0),
	F(SWIFTRDMA_ACTION_A_QPS, U32, srdma_action, a.qps, 0),
	F(SWIFTRDMA_ACTION_A_QPS_DONE, U32, srdma_action, a.qps_done, 0),
	F(SWIFTRDMA_ACTION_A_QPS_PENDING, U32, srdma_action, a.qps_pending, 0),
	F(SWIFTRDMA_ACTION_A_QPS_UNSUPPORTED, U32, srdma_action, a.qps_unsupported,
	  0),
	N(SWIFTRDMA_ACTION_A_DECISION, 0),
	F(SWIFTRDMA_ACTION_A_QPS_UNCONNECTED, U32, srdma_action, a.qps_unconnected,
	  0),
	F(SWIFTRDMA_ACTION_A_QPS_UNKNOWN, U32, srdma_action, a.qps_unknown, 0),
	F(SWIFTRDMA_ACTION_A_SYNDROME, U32, srdma_action, a.syndrome, 0),
};

const struct srdma_set srdma_action_set = {
	FIELDS(action_fields), 0, NO_HAS, action_nest,
};

static const struct srdma_field level_fields[] = {
	F(SWIFTRDMA_LEVEL_A_LEVEL, U32, io_level, level, 0),
	F(SWIFTRDMA_LEVEL_A_DSCP, U32, io_level, dscp, 0),
	F(SWIFTRDMA_LEVEL_A_SL, U32, io_level, sl, 0),
};

static const struct srdma_set level_set = {
	FIELDS(level_fields), BIT(SWIFTRDMA_LEVEL_A_LEVEL), NO_HAS, NULL,
};

_Static_assert(SRDMA_LEVELS == SWIFTRDMA_LEVEL_MAX + 1, "room for all levels");

/* The number of attributes of @type at the top of a nest. */
static size_t count_attrs(const void *pos, size_t left, unsigned int type)
{
	const struct nlattr *a;
	bool bad = false;
	size_t n = 0;

	while ((a = srdma_next_attr(&pos, &left, &bad)))
		n += (a->nla_type & NLA_TYPE_MASK) == type;
	return n;
}

/*
 * The place of a job keeps the arrays of the job that was there in the last
 * reading, of n elements at least.
 */
static bool reserve_array(void **array, size_t n, size_t want, size_t size)
{
	void *p;

	if (want <= n)
		return true;
	p = realloc(*array, want * size);
	if (p)
		*array = p;
	return p;
}

/* A job whose rules do not fit into one message continues in the next, with the same id. */
static int go_on(struct snap_job *job, const struct snap_job *more)
{
	size_t n = job->n_rules + more->n_rules;

	if (!more->n_rules)
		return 0;
	if (!reserve_array((void **)&job->rules, job->n_rules, n,
			   sizeof(*job->rules)))
		return -ENOMEM;
	memcpy(job->rules + job->n_rules, more->rules,
	       more->n_rules * sizeof(*job->rules));
	job->n_rules = n;
	return 0;
}

int srdma_take_job(struct srdma_reading *r, const void *data, size_t len)
{
	struct snapshot *snap = r->snap;
	size_t rules = count_attrs(data, len, SWIFTRDMA_JOB_A_RULE);
	size_t stats = count_attrs(data, len, SWIFTRDMA_JOB_A_STAT);
	size_t had = snap->cap_jobs;
	struct snap_job *job;
	int err;

	if (!array_reserve(&snap->jobs, &snap->cap_jobs, snap->n_jobs + 1,
			   sizeof(*job)))
		return -ENOMEM;
	/* A new entry has no arrays yet. */
	memset(&snap->jobs[had], 0, (snap->cap_jobs - had) * sizeof(*job));
	job = &snap->jobs[snap->n_jobs];
	if (!reserve_array((void **)&job->rules, job->n_rules, rules,
			   sizeof(*job->rules)) ||
	    !reserve_array((void **)&job->stats, job->n_stats, stats,
			   sizeof(*job->stats)))
		return -ENOMEM;
	*job = (struct snap_job){ .rules = job->rules, .stats = job->stats };
	err = srdma_fill(&srdma_job_set, r, job, data, len, NULL);
	if (err)
		return err;
	if (snap->n_jobs && job[-1].id == job->id)
		return go_on(job - 1, job);
	snap->n_jobs++;
	return 0;
}

int srdma_take_action(struct srdma_reading *r, const void *data, size_t len)
{
	struct srdma_action action = { 0 };
	struct snap_action *to;
	uint64_t seen;
	int err;

	err = srdma_fill(&srdma_action_set, r, &action, data, len, &seen);
	if (err)
		return err;
	to = array_next(&r->actions, r->n_actions, &r->cap_actions,
		   sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = action.a;
	to->has_dev = seen & BIT(SWIFTRDMA_ACTION_A_DEV_INDEX);
	to->has_value = seen & BIT(SWIFTRDMA_ACTION_A_VALUE);
	r->action_index = action.index;
	r->n_actions++;
	return 0;
}

int srdma_take_level(struct srdma_reading *r, const void *data, size_t len)
{
	struct io_level level = { 0 };
	uint64_t seen;
	int err = srdma_fill(&level_set, r, &level, data, len, &seen);

	if (err)
		return err;
	level.has_dscp = seen & BIT(SWIFTRDMA_LEVEL_A_DSCP);
	level.has_sl = seen & BIT(SWIFTRDMA_LEVEL_A_SL);
	if (r->n_levels >= SRDMA_LEVELS)
		return -EBADMSG;
	r->levels[r->n_levels++] = level;
	return 0;
}

int srdma_take_lease(struct srdma_reading *r, const void *data, size_t len)
{
	r->has_lease = true;
	r->lease = (struct srdma_lease){ 0 };
	return srdma_fill(&srdma_lease_set, r, &r->lease, data, len, NULL);
}
