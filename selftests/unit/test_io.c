// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The parser, the answers and the merge, on messages made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/answer.h"
#include "io/merge.h"
#include "io/parse.h"

#define FAMILY	29
#define SEQ	7

struct fixture {
	struct snapshot snap;
	struct srdma_owners owners;
	struct srdma_reading r;
	struct nl_msg *msg;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->r = (struct srdma_reading){
		.snap = &f->snap,
		.qps = &f->snap.qps, .n_qps = &f->snap.n_qps,
		.cap_qps = &f->snap.cap_qps, .owners = &f->owners,
	};
	assert_int_equal(srdma_owners_attach(&f->owners, &f->snap), 0);
	f->msg = nlmsg_alloc_size(65536);
	genlmsg_put(f->msg, 0, SEQ, FAMILY, 0, 0, SWIFTRDMA_CMD_QP_GET, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	snapshot_free(&f->snap);
	srdma_owners_free(&f->owners);
	free(f->r.actions);
	nlmsg_free(f->msg);
	free(f);
	return 0;
}

static int parse(struct fixture *f)
{
	struct nlmsghdr *nlh = nlmsg_hdr(f->msg);

	return srdma_parse((char *)nlmsg_data(nlh) + GENL_HDRLEN,
			   nlmsg_datalen(nlh) - GENL_HDRLEN, &f->r);
}

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

/* An error message as the kernel writes it, with and without the request. */
static size_t put_error(char *buf, bool capped, int error, const char *text)
{
	struct nl_msg *msg = nlmsg_alloc_size(1024);
	struct nlmsgerr e = { .error = error };
	struct nlmsghdr *nlh = nlmsg_put(msg, 0, SEQ, NLMSG_ERROR, 0,
					 NLM_F_ACK_TLVS |
					 (capped ? NLM_F_CAPPED : 0));
	size_t len;

	e.msg.nlmsg_len = NLMSG_HDRLEN + 20;
	nlmsg_append(msg, &e, sizeof(e), NLMSG_ALIGNTO);
	if (!capped)
		nlmsg_append(msg, "the request, 20 byte", 20, NLMSG_ALIGNTO);
	nla_put_string(msg, NLMSGERR_ATTR_MSG, text);
	nla_put_u32(msg, NLMSGERR_ATTR_OFFS, 24);
	nlh = nlmsg_hdr(msg);
	len = nlh->nlmsg_len;
	memcpy(buf, nlh, len);
	nlmsg_free(msg);
	return len;
}

static void errors(void **state)
{
	struct fixture *f = *state;
	char *buf = malloc(2048);

	for (int capped = 0; capped < 2; capped++) {
		struct srdma_answer a = { 0 };
		size_t len = put_error(buf, capped, -ENOENT, "no such job");

		assert_int_equal(srdma_answer(buf, len, FAMILY, SEQ, &f->r,
					      &a), 0);
		assert_true(a.done);
		assert_int_equal(a.error, -ENOENT);
		assert_string_equal(a.message, "no such job");
		assert_true(a.has_offset);
		assert_int_equal(a.offset, 24);
		/* of another request: not ours to read */
		memset(&a, 0, sizeof(a));
		assert_int_equal(srdma_answer(buf, len, FAMILY, SEQ + 1,
					      &f->r, &a), 0);
		assert_false(a.done);
		for (size_t n = 0; n < len; n++) {
			char *cut = malloc(n ? n : 1);

			memcpy(cut, buf, n);
			memset(&a, 0, sizeof(a));
			srdma_answer(cut, n, FAMILY, SEQ, &f->r, &a);
			assert_false(a.done);
			free(cut);
		}
	}
	free(buf);
}

static void no_errno(void **state)
{
	static const int bad[] = { 1, -4096, INT_MIN };
	struct fixture *f = *state;
	_Alignas(struct nlmsghdr) char buf[2048];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct srdma_answer a = { 0 };
		size_t len = put_error(buf, true, bad[i], "?");

		assert_int_equal(srdma_answer(buf, len, FAMILY, SEQ, &f->r,
					      &a), -EBADMSG);
		((struct nlmsghdr *)buf)->nlmsg_type = NLMSG_DONE;
		assert_int_equal(srdma_answer(buf, len, FAMILY, SEQ, &f->r,
					      &a), -EBADMSG);
	}
}

static void interrupted(void **state)
{
	struct fixture *f = *state;
	struct srdma_answer a = { 0 };
	struct nlmsghdr *nlh = nlmsg_hdr(f->msg);

	nlh->nlmsg_flags |= NLM_F_DUMP_INTR;
	assert_int_equal(srdma_answer(nlh, nlh->nlmsg_len, FAMILY, SEQ, &f->r,
				      &a), 0);
	assert_true(a.interrupted);
	assert_false(a.done);
}

/* The kernel points at an attribute; a name is what a person can use. */
static void attribute_names(void **state)
{
	struct fixture *f = *state;
	struct nlattr *nest, *value, *second;
	struct nlmsghdr *nlh;
	char name[64];

	nest = nla_nest_start(f->msg, SWIFTRDMA_A_LEASE);
	nla_put_u32(f->msg, SWIFTRDMA_LEASE_A_TTL_MS, 1);
	nla_nest_end(f->msg, nest);
	for (int i = 0; i < 2; i++) {
		nest = nla_nest_start(f->msg, SWIFTRDMA_A_ACTION);
		nla_put_u32(f->msg, SWIFTRDMA_ACTION_A_KNOB, 1);
		nla_put_u64(f->msg, SWIFTRDMA_ACTION_A_VALUE, 99);
		nla_nest_end(f->msg, nest);
	}
	nlh = nlmsg_hdr(f->msg);
	second = nest;
	value = nla_find(nla_data(second), nla_len(second),
			 SWIFTRDMA_ACTION_A_VALUE);
	srdma_attr_name(nlh, nlh->nlmsg_len, (char *)value - (char *)nlh, name,
			sizeof(name));
	assert_string_equal(name, "action[2].value");
	srdma_missing_name(nlh, nlh->nlmsg_len, (char *)second - (char *)nlh,
			   SWIFTRDMA_ACTION_A_JOB, name, sizeof(name));
	assert_string_equal(name, "action[2].job");
	srdma_missing_name(nlh, nlh->nlmsg_len, 0, SWIFTRDMA_A_LEASE, name,
			   sizeof(name));
	assert_string_equal(name, "lease");
	for (uint32_t i = 0; i < nlh->nlmsg_len + 8; i++)
		srdma_attr_name(nlh, nlh->nlmsg_len, i, name, 12);
	srdma_attr_name(nlh, nlh->nlmsg_len, 21, name, sizeof(name));
	assert_string_equal(name, "");
}

static struct snap_qp qp(uint32_t qpn, uint64_t serial, uint64_t wrs)
{
	return (struct snap_qp){
		.qpn = qpn, .serial = serial, .wrs = wrs, .time = wrs,
	};
}

static void merge(void **state)
{
	struct fixture *f = *state;
	/* 5 changed twice; 1, 7 and 20 are new, 7 under a QPN that was there */
	struct snap_qp delta[] = {
		qp(20, 9, 1), qp(5, 2, 60), qp(7, 8, 1), qp(5, 2, 50),
		qp(1, 7, 1),
	};
	static const uint32_t qpns[] = { 1, 3, 5, 7, 7, 9, 20 };
	struct snap_qp *had = calloc(4, sizeof(*had));

	had[0] = qp(3, 1, 30);
	had[1] = qp(5, 2, 40);
	had[2] = qp(7, 3, 70);
	had[3] = qp(9, 4, 90);
	f->snap.qps = had;
	f->snap.n_qps = f->snap.cap_qps = 4;
	srdma_sort_qps(delta, 5);
	assert_int_equal(srdma_merge_qps(&f->snap, delta, 5), 0);
	assert_int_equal(f->snap.n_qps, 7);
	for (int i = 0; i < 7; i++)
		assert_int_equal(f->snap.qps[i].qpn, qpns[i]);
	assert_int_equal(f->snap.qps[2].wrs, 60);
	assert_int_equal(f->snap.qps[3].serial, 3);
	assert_int_equal(f->snap.qps[4].serial, 8);
	assert_int_equal(srdma_merge_qps(&f->snap, NULL, 0), 0);
	assert_int_equal(f->snap.n_qps, 7);
}

/* Against the obvious way: everything in one heap, sorted, the newest kept. */
static void merge_random(void **state)
{
	struct fixture *f = *state;
	struct snap_qp delta[64];
	uint64_t newest[64];

	srand(1);
	for (int round = 0; round < 200; round++) {
		size_t n = rand() % 64, known = 0;

		f->snap.n_qps = 0;
		memset(newest, 0, sizeof(newest));
		for (int step = 0; step < 3; step++) {
			for (size_t i = 0; i < n; i++) {
				uint32_t k = rand() % 64;

				delta[i] = qp(k, k, step * 1000 + i + 1);
				newest[k] = step * 1000 + i + 1;
			}
			srdma_sort_qps(delta, n);
			assert_int_equal(srdma_merge_qps(&f->snap, delta, n),
					 0);
		}
		for (uint32_t k = 0; k < 64; k++) {
			if (!newest[k])
				continue;
			assert_true(known < f->snap.n_qps);
			assert_int_equal(f->snap.qps[known].qpn, k);
			assert_int_equal(f->snap.qps[known++].wrs, newest[k]);
		}
		assert_int_equal(known, f->snap.n_qps);
	}
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(qp_in_full), T(class_needs_all_four), T(owners_once),
		T(qp_without_name), T(bad_lengths), T(truncated),
		T(strings_are_bounded), T(jobs), T(job_goes_on),
		T(actions),
		T(too_many_levels), T(errors), T(no_errno), T(interrupted),
		T(attribute_names), T(merge), T(merge_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
