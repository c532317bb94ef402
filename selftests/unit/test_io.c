// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The parser: objects in, structures out. */
#include "unit/io_rig.h"

static void put_owner(struct nl_msg *msg, int type, uint32_t pid,
		      const char *comm)
{
	struct nlattr *nest = nla_nest_start(msg, type);

	nla_put_u32(msg, SWIFTRDMA_OWNER_A_PID, pid);
	nla_put_u32(msg, SWIFTRDMA_OWNER_A_UID, 1000);
	nla_put_string(msg, SWIFTRDMA_OWNER_A_COMM, comm);
	nla_put_string(msg, SWIFTRDMA_OWNER_A_CGROUP, "/kv/a");
	nla_nest_end(msg, nest);
}

static void put_end(struct nl_msg *msg, uint32_t count, bool armed)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_SNAPSHOT);

	nla_put_u32(msg, SWIFTRDMA_SNAPSHOT_A_COUNT, count);
	if (armed)
		nla_put_flag(msg, SWIFTRDMA_SNAPSHOT_A_ARMED);
	nla_nest_end(msg, nest);
}

/* A reading is of several dumps: one without the flag is enough. */
static void end_of_dump(void **state)
{
	struct fixture *f = *state;

	put_end(f->msg, 5, true);
	assert_int_equal(parse(f), 0);
	assert_true(f->r.has_end);
	assert_int_equal(f->r.count, 5);
	assert_false(f->r.disarmed);
	put_end(f->msg, 6, false);
	put_end(f->msg, 7, true);
	assert_int_equal(parse(f), 0);
	assert_int_equal(f->r.count, 7);
	assert_true(f->r.disarmed);
}

static struct nlattr *start_qp(struct nl_msg *msg, uint32_t qpn,
			       uint64_t serial)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_QP);

	nla_put_u32(msg, SWIFTRDMA_QP_A_DEV_INDEX, 0);
	nla_put_u32(msg, SWIFTRDMA_QP_A_QPN, qpn);
	nla_put_u64(msg, SWIFTRDMA_QP_A_SERIAL, serial);
	return nest;
}

static void qp_in_full(void **state)
{
	static const uint8_t dgid[16] = { 0xfe, 0x80, [15] = 1 };
	struct fixture *f = *state;
	struct nlattr *qp = start_qp(f->msg, 17, 99);
	const struct snap_qp *got;

	nla_put_u32(f->msg, SWIFTRDMA_QP_A_TYPE, 2);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_STATE, 3);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_UAR, 5);
	put_owner(f->msg, SWIFTRDMA_QP_A_OWNER, 1234, "ib_write_bw");
	nla_put_flag(f->msg, SWIFTRDMA_QP_A_ADOPTED);
	nla_put_u64(f->msg, SWIFTRDMA_QP_A_DOORBELLS, 0x1122334455667788);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_TCLASS_ASKED, 8);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_TCLASS, 104);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_SL_ASKED, 0);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_SL, 3);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_DEST_QPN, 18);
	nla_put(f->msg, SWIFTRDMA_QP_A_DGID, sizeof(dgid), dgid);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_DLID, 7);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_UDP_SPORT, 50000);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_LAG_PORT, 2);
	nla_put_s32(f->msg, SWIFTRDMA_QP_A_CLASS_ERROR, -ETIMEDOUT);
	nla_put_u32(f->msg, 200, 1);	/* of a later module: skipped */
	nla_nest_end(f->msg, qp);

	assert_int_equal(parse(f), 0);
	assert_int_equal(f->snap.n_qps, 1);
	got = f->snap.qps;
	assert_int_equal(got->qpn, 17);
	assert_int_equal(got->serial, 99);
	assert_int_equal(got->uar, 5);
	assert_true(got->adopted);
	assert_false(got->class_pending);
	assert_true(got->doorbells == 0x1122334455667788);
	assert_int_equal(got->tclass, 104);
	assert_int_equal(got->class_error, -ETIMEDOUT);
	assert_memory_equal(got->dgid, dgid, 16);
	assert_int_equal(got->dlid, 7);
	assert_int_equal(got->udp_sport, 50000);
	assert_int_equal(got->lag_port, 2);
	assert_true(snap_has(got, SNAP_DOORBELLS));
	assert_true(snap_has(got, SNAP_CLASS));
	assert_true(snap_has(got, SNAP_OWNER));
	assert_true(snap_has(got, SNAP_STATE));
	assert_false(snap_has(got, SNAP_WRS));
	assert_false(snap_has(got, SNAP_PORT));
	assert_false(snap_has(got, SNAP_LEVEL));
	assert_string_equal(f->snap.owners[got->owner].comm, "ib_write_bw");
	assert_string_equal(f->snap.owners[got->owner].cgroup, "/kv/a");
}

/* Whose they are is the port's to say, wherever it says so. */
static void port_with_priorities(void **state)
{
	struct fixture *f = *state;
	struct nlattr *port, *prio;

	for (uint32_t dev = 0; dev < 2; dev++) {
		port = nla_nest_start(f->msg, SWIFTRDMA_A_PORT_OBJ);
		for (uint32_t i = 0; i < 8; i++) {
			prio = nla_nest_start(f->msg, SWIFTRDMA_PORT_A_PRIO);
			nla_put_u32(f->msg, SWIFTRDMA_PRIO_A_INDEX, i);
			nla_put_u64(f->msg, SWIFTRDMA_PRIO_A_RX_PAUSES, 10 * dev + i);
			nla_nest_end(f->msg, prio);
		}
		nla_put_u64(f->msg, SWIFTRDMA_PORT_A_DETAIL_TIME, 5);
		if (dev) {
			nla_put_u64(f->msg, SWIFTRDMA_PORT_A_ECN_MARKED, 1);
			nla_put_u64(f->msg, SWIFTRDMA_PORT_A_CNP_SENT, 2);
			nla_put_u64(f->msg, SWIFTRDMA_PORT_A_CNP_HANDLED, 3);
		}
		nla_put_u32(f->msg, SWIFTRDMA_PORT_A_DEV_INDEX, dev);
		nla_put_u32(f->msg, SWIFTRDMA_PORT_A_INDEX, 2);
		nla_nest_end(f->msg, port);
	}
	assert_int_equal(parse(f), 0);
	assert_int_equal(f->snap.n_ports, 2);
	assert_int_equal(f->snap.n_prios, 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(f->snap.prios[i].dev, i / 8);
		assert_int_equal(f->snap.prios[i].port, 2);
		assert_int_equal(f->snap.prios[i].index, i % 8);
		assert_int_equal(f->snap.prios[i].rx_pauses, 10 * (i / 8) + i % 8);
	}
	assert_true(snap_has(&f->snap.ports[0], SNAP_DETAIL));
	assert_false(snap_has(&f->snap.ports[0], SNAP_CNP));
	assert_true(snap_has(&f->snap.ports[1], SNAP_CNP));
	assert_int_equal(f->snap.ports[1].cnp_handled, 3);
}

static void port_without_name(void **state)
{
	struct fixture *f = *state;
	struct nlattr *port = nla_nest_start(f->msg, SWIFTRDMA_A_PORT_OBJ), *prio;

	nla_put_u32(f->msg, SWIFTRDMA_PORT_A_DEV_INDEX, 0);
	prio = nla_nest_start(f->msg, SWIFTRDMA_PORT_A_PRIO);
	nla_put_u32(f->msg, SWIFTRDMA_PRIO_A_INDEX, 0);
	nla_nest_end(f->msg, prio);
	nla_nest_end(f->msg, port);
	assert_int_equal(parse(f), -EBADMSG);
	assert_int_equal(f->snap.n_ports, 0);
	assert_int_equal(f->snap.n_prios, 0);
}

/* What was asked for is unknown: then what is programmed is not shown as asked. */
static void class_needs_all_four(void **state)
{
	struct fixture *f = *state;
	struct nlattr *qp = start_qp(f->msg, 17, 99);

	nla_put_u32(f->msg, SWIFTRDMA_QP_A_TCLASS, 104);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_SL, 3);
	nla_nest_end(f->msg, qp);
	assert_int_equal(parse(f), 0);
	assert_false(snap_has(f->snap.qps, SNAP_CLASS));
}

static void owners_once(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 600; i++) {
		struct nlattr *qp = start_qp(f->msg, i, i);

		put_owner(f->msg, SWIFTRDMA_QP_A_OWNER, i % 300, "x");
		nla_nest_end(f->msg, qp);
		assert_int_equal(parse(f), 0);
		f->snap.n_qps = 0;
		nlmsg_hdr(f->msg)->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
	}
	assert_int_equal(f->snap.n_owners, 300);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(f->snap.owners[i].pid, i);
}

static void qp_without_name(void **state)
{
	struct fixture *f = *state;
	struct nlattr *nest = nla_nest_start(f->msg, SWIFTRDMA_A_QP);

	nla_put_u32(f->msg, SWIFTRDMA_QP_A_DEV_INDEX, 0);
	nla_put_u32(f->msg, SWIFTRDMA_QP_A_QPN, 17);
	nla_nest_end(f->msg, nest);
	assert_int_equal(parse(f), -EBADMSG);
	assert_int_equal(f->snap.n_qps, 0);
}

static void bad_lengths(void **state)
{
	struct fixture *f = *state;
	struct nlattr *qp = start_qp(f->msg, 17, 99);

	nla_put_u16(f->msg, SWIFTRDMA_QP_A_TYPE, 2);
	nla_nest_end(f->msg, qp);
	assert_int_equal(parse(f), -EBADMSG);

	nlmsg_hdr(f->msg)->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
	qp = start_qp(f->msg, 17, 99);
	nla_put(f->msg, SWIFTRDMA_QP_A_DGID, 15, "0123456789abcde");
	nla_nest_end(f->msg, qp);
	assert_int_equal(parse(f), -EBADMSG);
}

/* Every length a message can be cut to, in a block of just that size. */
static void truncated(void **state)
{
	struct fixture *f = *state;
	struct nlattr *qp = start_qp(f->msg, 17, 99);
	const char *attrs;
	size_t len;

	put_owner(f->msg, SWIFTRDMA_QP_A_OWNER, 1, "comm");
	nla_put_u64(f->msg, SWIFTRDMA_QP_A_WRS, 1);
	nla_nest_end(f->msg, qp);
	attrs = (char *)nlmsg_data(nlmsg_hdr(f->msg)) + GENL_HDRLEN;
	len = nlmsg_datalen(nlmsg_hdr(f->msg)) - GENL_HDRLEN;
	for (size_t n = 0; n < len; n++) {
		char *cut = malloc(n ? n : 1);
		int err;

		memcpy(cut, attrs, n);
		f->snap.n_qps = 0;
		err = srdma_parse(cut, n, &f->r);
		/* less than a header is padding, more is half an attribute */
		assert_int_equal(err, n < NLA_HDRLEN ? 0 : -EBADMSG);
		assert_int_equal(f->snap.n_qps, 0);
		free(cut);
	}
}

/* The second QP has, where the first one has its owner, an attribute without a length. */
static void no_length_where_a_nest_was(void **state)
{
	struct fixture *f = *state;
	struct nlattr *qp = start_qp(f->msg, 17, 99), *none;

	put_owner(f->msg, SWIFTRDMA_QP_A_OWNER, 1, "comm");
	nla_put_u64(f->msg, SWIFTRDMA_QP_A_WRS, 1);
	nla_nest_end(f->msg, qp);
	qp = start_qp(f->msg, 18, 100);
	none = nla_reserve(f->msg, 0, 4);
	memset(none, 0, NLA_HDRLEN + 4);
	nla_put_u64(f->msg, SWIFTRDMA_QP_A_WRS, 1);
	nla_nest_end(f->msg, qp);
	assert_int_equal(parse(f), -EBADMSG);
	assert_int_equal(f->snap.n_qps, 1);
}

static void strings_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct nlattr *nest = nla_nest_start(f->msg, SWIFTRDMA_A_DEV);
	char name[200];

	memset(name, 'x', sizeof(name));
	nla_put_u32(f->msg, SWIFTRDMA_DEV_A_INDEX, 1);
	nla_put(f->msg, SWIFTRDMA_DEV_A_NAME, sizeof(name), name);
	nla_put(f->msg, SWIFTRDMA_DEV_A_PROVIDER, 3, "rxe");	/* no NUL */
	nla_nest_end(f->msg, nest);
	assert_int_equal(parse(f), 0);
	assert_int_equal(strlen(f->snap.devs[0].name), SNAP_DEVNAME - 1);
	assert_string_equal(f->snap.devs[0].provider, "rxe");
}

static void put_job(struct nl_msg *msg, int rules, int stats)
{
	struct nlattr *job = nla_nest_start(msg, SWIFTRDMA_A_JOB_OBJ), *nest;

	nla_put_u32(msg, SWIFTRDMA_JOB_A_ID, 3);
	nla_put_string(msg, SWIFTRDMA_JOB_A_NAME, "kv");
	for (int i = 0; i < rules; i++) {
		nest = nla_nest_start(msg, SWIFTRDMA_JOB_A_RULE);
		nla_put_u32(msg, SWIFTRDMA_RULE_A_ORDER, i);
		if (i & 1)
			nla_put_u32(msg, SWIFTRDMA_RULE_A_UID, 0);
		else
			nla_put_string(msg, SWIFTRDMA_RULE_A_CGROUP, "/kv/*");
		nla_put_u64(msg, SWIFTRDMA_RULE_A_MATCHES, 10 + i);
		nla_nest_end(msg, nest);
	}
	for (int i = 0; i < stats; i++) {
		nest = nla_nest_start(msg, SWIFTRDMA_JOB_A_STAT);
		nla_put_u32(msg, SWIFTRDMA_JOB_STAT_A_DEV_INDEX, i);
		nla_put_u64(msg, SWIFTRDMA_JOB_STAT_A_MAX_QPS, 64);
		nla_nest_end(msg, nest);
	}
	nla_nest_end(msg, job);
}

/* A place in the array is used again by jobs with more and with fewer rules. */
static void jobs(void **state)
{
	static const int rules[] = { 2, 40, 0, 3 };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		f->snap.n_jobs = 0;
		nlmsg_hdr(f->msg)->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
		put_job(f->msg, rules[i], 3 - i);
		assert_int_equal(parse(f), 0);
		assert_int_equal(f->snap.n_jobs, 1);
		assert_int_equal(f->snap.jobs[0].n_rules, rules[i]);
		assert_int_equal(f->snap.jobs[0].n_stats, 3 - i);
	}
	assert_false(f->snap.jobs[0].rules[0].has_uid);
	assert_string_equal(f->snap.jobs[0].rules[0].cgroup, "/kv/*");
	assert_true(f->snap.jobs[0].rules[1].has_uid);
	assert_string_equal(f->snap.jobs[0].rules[1].cgroup, "");
	assert_int_equal(f->snap.jobs[0].rules[2].matches, 12);
}

/* More rules than a message holds: one job in two messages, and once again. */
static void job_goes_on(void **state)
{
	struct fixture *f = *state;

	for (int round = 0; round < 2; round++) {
		f->snap.n_jobs = 0;
		nlmsg_hdr(f->msg)->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
		put_job(f->msg, 30, 2);
		put_job(f->msg, 12, 2);
		put_job(f->msg, 0, 2);
		assert_int_equal(parse(f), 0);
		assert_int_equal(f->snap.n_jobs, 1);
		assert_int_equal(f->snap.jobs[0].n_rules, 42);
		assert_int_equal(f->snap.jobs[0].n_stats, 2);
		assert_int_equal(f->snap.jobs[0].rules[29].matches, 39);
		assert_int_equal(f->snap.jobs[0].rules[30].matches, 10);
	}
}

static void actions(void **state)
{
	struct fixture *f = *state;
	struct nlattr *nest = nla_nest_start(f->msg, SWIFTRDMA_A_ACTION), *in;

	nla_put_u32(f->msg, SWIFTRDMA_ACTION_A_KNOB, SWIFTRDMA_KNOB_LEVEL);
	nla_put_u64(f->msg, SWIFTRDMA_ACTION_A_VALUE, 0);
	nla_put_string(f->msg, SWIFTRDMA_ACTION_A_JOB, "kv");
	in = nla_nest_start(f->msg, SWIFTRDMA_ACTION_A_LEASE);
	nla_put_u64(f->msg, SWIFTRDMA_LEASE_A_ID, 42);
	nla_put_u32(f->msg, SWIFTRDMA_LEASE_A_RANK, 100);
	nla_nest_end(f->msg, in);
	nla_put_u32(f->msg, SWIFTRDMA_ACTION_A_INDEX, 6);
	nla_put_s32(f->msg, SWIFTRDMA_ACTION_A_ERROR, -EOPNOTSUPP);
	nla_nest_end(f->msg, nest);
	nla_put_u64(f->msg, SWIFTRDMA_A_BATCH, 77);
	assert_int_equal(parse(f), 0);
	assert_int_equal(f->r.n_actions, 1);
	assert_int_equal(f->r.action_index, 6);
	assert_int_equal(f->r.batch, 77);
	assert_true(f->r.actions[0].has_value);
	assert_false(f->r.actions[0].has_dev);
	assert_int_equal(f->r.actions[0].lease_id, 42);
	assert_int_equal(f->r.actions[0].lease_rank, 100);
	assert_int_equal(f->r.actions[0].error, -EOPNOTSUPP);
}

static void put_reading(struct nl_msg *msg, const char *signal, int64_t value)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_DECISION_A_READING);

	nla_put_string(msg, SWIFTRDMA_READING_A_SIGNAL, signal);
	if (value)
		nla_put_s64(msg, SWIFTRDMA_READING_A_VALUE, value);
	nla_nest_end(msg, nest);
}

static void decided(void **state)
{
	struct fixture *f = *state;
	struct nlattr *nest = nla_nest_start(f->msg, SWIFTRDMA_A_ACTION), *in;
	const struct snap_decision *d;

	in = nla_nest_start(f->msg, SWIFTRDMA_ACTION_A_DECISION);
	nla_put_string(f->msg, SWIFTRDMA_DECISION_A_POLICY, "port");
	nla_put_u64(f->msg, SWIFTRDMA_DECISION_A_TICK, 1ull << 40);
	nla_put_u32(f->msg, SWIFTRDMA_DECISION_A_STEPS_LEFT, 0);
	nla_put_u32(f->msg, SWIFTRDMA_DECISION_A_UAR, 9);
	put_reading(f->msg, "port.util", -5);
	put_reading(f->msg, "job.p99", 0);
	nla_nest_end(f->msg, in);
	nla_nest_end(f->msg, nest);
	assert_int_equal(parse(f), 0);
	d = &f->r.actions[0].decision;
	assert_string_equal(d->policy, "port");
	assert_int_equal(d->tick, 1ull << 40);
	assert_int_equal(d->has, SNAP_STEPS_LEFT | SNAP_SEEN_UAR);
	assert_int_equal(d->uar, 9);
	assert_int_equal(d->n_readings, 2);
	assert_string_equal(d->readings[0].signal, "port.util");
	assert_true(d->readings[0].known && d->readings[0].value == -5);
	assert_string_equal(d->readings[1].signal, "job.p99");
	assert_false(d->readings[1].known);
}

static void too_many_readings(void **state)
{
	struct fixture *f = *state;
	struct nlattr *nest = nla_nest_start(f->msg, SWIFTRDMA_A_ACTION), *in;

	in = nla_nest_start(f->msg, SWIFTRDMA_ACTION_A_DECISION);
	nla_put_string(f->msg, SWIFTRDMA_DECISION_A_POLICY, "port");
	nla_put_u64(f->msg, SWIFTRDMA_DECISION_A_TICK, 1);
	for (int i = 0; i <= SWIFTRDMA_READINGS_MAX; i++)
		put_reading(f->msg, "port.util", 1);
	nla_nest_end(f->msg, in);
	nla_nest_end(f->msg, nest);
	assert_int_equal(parse(f), -EBADMSG);
}

static void levels(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 1; i < 4; i++) {
		struct nlattr *nest = nla_nest_start(f->msg, SWIFTRDMA_A_LEVEL);

		nla_put_u32(f->msg, SWIFTRDMA_LEVEL_A_LEVEL, i);
		if (i != 2)
			nla_put_u32(f->msg, SWIFTRDMA_LEVEL_A_DSCP, 8 * i);
		if (i != 3)
			nla_put_u32(f->msg, SWIFTRDMA_LEVEL_A_SL, i);
		nla_nest_end(f->msg, nest);
	}
	assert_int_equal(parse(f), 0);
	assert_int_equal(f->r.n_levels, 3);
	assert_true(f->r.levels[0].has_dscp && f->r.levels[0].has_sl);
	assert_true(f->r.levels[0].dscp == 8 && f->r.levels[0].sl == 1);
	assert_true(!f->r.levels[1].has_dscp && f->r.levels[1].has_sl);
	assert_true(f->r.levels[2].has_dscp && !f->r.levels[2].has_sl);
}

static void too_many_levels(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 9; i++) {
		struct nlattr *nest = nla_nest_start(f->msg, SWIFTRDMA_A_LEVEL);

		nla_put_u32(f->msg, SWIFTRDMA_LEVEL_A_LEVEL, i);
		nla_nest_end(f->msg, nest);
	}
	assert_int_equal(parse(f), -EBADMSG);
	assert_int_equal(f->r.n_levels, 8);
}

/*
 * A QP of the attributes that QPs mostly have. In one of two QPs an attribute lacks, is another
 * one's, or has a wrong size, and one is an owner in the middle.
 */
static void put_random_qp(struct nl_msg *msg)
{
	static const struct { int type, bits; } usual[] = {
		{ SWIFTRDMA_QP_A_DEV_INDEX, 32 }, { SWIFTRDMA_QP_A_QPN, 32 }, { SWIFTRDMA_QP_A_SERIAL, 64 },
		{ SWIFTRDMA_QP_A_TYPE, 32 }, { SWIFTRDMA_QP_A_STATE, 32 }, { SWIFTRDMA_QP_A_OWNER, 0 },
		{ SWIFTRDMA_QP_A_DOORBELLS, 64 }, { SWIFTRDMA_QP_A_WRS, 64 }, { 200, 32 },
		{ SWIFTRDMA_QP_A_TCLASS, 32 }, { SWIFTRDMA_QP_A_CLASS_ERROR, 32 },
		{ SWIFTRDMA_QP_A_TIME, 64 }, { SWIFTRDMA_QP_A_UAR, 32 },
	};
	const size_t n = sizeof(usual) / sizeof(usual[0]);
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_QP);
	size_t odd = rand() % (2 * n), i;

	for (i = 0; i < n; i++) {
		int type = usual[i].type, bits = usual[i].bits;

		if (i == odd && rand() % 2)
			continue;
		if (i == odd && rand() % 20)
			type = usual[rand() % n].type;
		if (i == odd && rand() % 8 == 0)
			bits = bits == 32 ? 64 : 32;
		if (type == SWIFTRDMA_QP_A_OWNER)
			put_owner(msg, type, rand() % 3, "kv");
		else if (bits == 64)
			nla_put_u64(msg, type, (uint64_t)rand() << 32 | rand());
		else
			nla_put_u32(msg, type, rand());
	}
	nla_nest_end(msg, nest);
}

/* What is remembered of a QP's attributes does not show in how the next QP is read. */
static void reading_remembers_nothing(void **state)
{
	struct fixture *whole, *one;
	size_t complete = 0, wrong = 0;

	(void)state;
	srand(1);
	for (int round = 0; round < 500; round++) {
		const struct nlattr *a;
		int left, err, n = 0;

		setup((void **)&whole);
		for (int i = 0; i < 8; i++)
			put_random_qp(whole->msg);
		err = parse(whole);
		a = nlmsg_attrdata(nlmsg_hdr(whole->msg), GENL_HDRLEN);
		left = nlmsg_attrlen(nlmsg_hdr(whole->msg), GENL_HDRLEN);
		for (; nla_ok(a, left) && n <= (int)whole->snap.n_qps; a = nla_next(a, &left), n++) {
			struct snap_qp *got = &whole->snap.qps[n], *alone;

			setup((void **)&one);
			nla_put(one->msg, nla_type(a), nla_len(a), nla_data(a));
			if (n == (int)whole->snap.n_qps) {
				assert_int_equal(parse(one), err);
				wrong++;
			} else {
				assert_int_equal(parse(one), 0);
				alone = one->snap.qps;
				assert_true(snap_has(got, SNAP_OWNER) == snap_has(alone, SNAP_OWNER));
				if (snap_has(got, SNAP_OWNER))
					assert_int_equal(whole->snap.owners[got->owner].pid,
							 one->snap.owners[alone->owner].pid);
				got->owner = alone->owner;
				assert_memory_equal(got, alone, sizeof(*got));
				complete++;
			}
			teardown((void **)&one);
		}
		teardown((void **)&whole);
	}
	assert_true(complete > 1000 && wrong > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IO_TEST(qp_in_full), IO_TEST(end_of_dump),
		IO_TEST(port_with_priorities),
		IO_TEST(port_without_name),
		IO_TEST(class_needs_all_four),
		IO_TEST(owners_once),
		IO_TEST(qp_without_name),
		IO_TEST(bad_lengths),
		IO_TEST(truncated),
		IO_TEST(strings_are_bounded),
		IO_TEST(no_length_where_a_nest_was),
		IO_TEST(jobs),
		IO_TEST(job_goes_on),
		IO_TEST(actions),
		IO_TEST(decided),
		IO_TEST(too_many_readings),
		IO_TEST(levels),
		IO_TEST(too_many_levels),
		cmocka_unit_test(reading_remembers_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
