// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * netlink_bad: every way in which a request can be wrong, and what the module
 * says to it; after each, what was set before is still the same.
 *
 * Needs rxe0 and rxe1. Prints "ok - NAME" and "not ok - NAME", for a suite to
 * number. --fuzz N sends N requests of random bytes instead.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netlink_bad.h"
#include "verbs.h"

struct rawnl nl;
struct rawnl_req req;
bool failed;

struct rawnl_var vars[] = {
	[DEV] = { "dev", 0 }, [QPN] = { "qpn", 0 }, [SERIAL] = { "serial", 0 },
	[UAR] = { "uar", 0 }, [PID] = { "pid", 0 }, [GONE] = { "gone", 0 },
	[GONE_SERIAL] = { "gone_serial", 0 }, [LEASE] = { "lease", 0 }, { NULL, 0 }
};

void point(bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%s - ", ok ? "ok" : "not ok");
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	failed |= !ok;
}

void fail(const char *what, int err)
{
	fprintf(stderr, "netlink_bad: %s: %s\n", what, strerror(-err));
	exit(2);
}

const char *how_name(int how)
{
	return how == DUMP ? "dump" : "do";
}

/* What is set, as a number: of jobs, actions and levels all but times. */
struct digest {
	uint64_t hash;
};

static void hash_bytes(struct digest *d, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		d->hash = (d->hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3ull;
}

static void hash_attrs(struct digest *d, const void *attrs, size_t len, int set)
{
	const struct nlattr *nla = attrs;
	const char *data;
	size_t n;
	int type;

	for (; len >= NLA_HDRLEN; nla = (const void *)((const char *)nla + NLA_ALIGN(n))) {
		n = nla->nla_len;
		type = nla->nla_type & NLA_TYPE_MASK;
		data = (const char *)nla + NLA_HDRLEN;
		hash_bytes(d, &type, sizeof(type));
		if (!set && (type == SWIFTRDMA_A_JOB_OBJ || type == SWIFTRDMA_A_ACTION))
			hash_attrs(d, data, n - NLA_HDRLEN, type);
		else if (set == SWIFTRDMA_A_ACTION && type == SWIFTRDMA_ACTION_A_LEASE)
			hash_attrs(d, data, n - NLA_HDRLEN, SWIFTRDMA_A_LEASE);
		else if (!(set == SWIFTRDMA_A_JOB_OBJ && type == SWIFTRDMA_JOB_A_TIME) &&
			 !(set == SWIFTRDMA_A_LEASE && type == SWIFTRDMA_LEASE_A_TTL_MS))
			hash_bytes(d, data, n - NLA_HDRLEN);
		if ((size_t)NLA_ALIGN(n) >= len)
			break;
		len -= NLA_ALIGN(n);
	}
}

static void hash_answer(const void *attrs, size_t len, void *arg)
{
	hash_attrs(arg, attrs, len, 0);
}

uint64_t hash_settings(void)
{
	static const int what[] = {
		SWIFTRDMA_CMD_JOB_GET, SWIFTRDMA_CMD_ACTION_GET, SWIFTRDMA_CMD_LEVEL_GET
	};
	struct digest d = { 0xcbf29ce484222325ull };
	struct rawnl_reply reply;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
		err = rawnl_do(&nl, what[i], true, "", NULL, &reply, hash_answer, &d);
		if (err)
			fail("what is set cannot be read", err);
		if (!reply.has_count || reply.count != reply.answers)
			fail("a dump that miscounts", -EPROTO);
	}
	return d.hash;
}

void take_lease(const void *attrs, size_t len, void *arg)
{
	size_t n;
	const void *lease = rawnl_find(attrs, len, SWIFTRDMA_A_LEASE, &n);

	if (lease)
		*(uint64_t *)arg = rawnl_u64(lease, n, SWIFTRDMA_LEASE_A_ID);
}

void end_lease(uint64_t id)
{
	struct rawnl_var v[] = { { "id", id }, { NULL, 0 } };
	struct rawnl_reply reply;

	rawnl_do(&nl, SWIFTRDMA_CMD_ACT, false, "lease{id=$id ttl_ms=0}", v, &reply, NULL, NULL);
}

struct seen {
	uint64_t serial;
	uint32_t uar;
};

static void take_qp(const void *attrs, size_t len, void *arg)
{
	struct seen *s = arg;
	size_t n;
	const void *qp = rawnl_find(attrs, len, SWIFTRDMA_A_QP, &n);

	s->serial = rawnl_u64(qp, n, SWIFTRDMA_QP_A_SERIAL);
	s->uar = rawnl_u32(qp, n, SWIFTRDMA_QP_A_UAR);
}

static struct seen look_up_qp(const struct vdev *dev, uint32_t qpn)
{
	struct rawnl_var v[] = { { "dev", dev->index }, { "qpn", qpn }, { NULL, 0 } };
	struct rawnl_reply reply;
	struct seen s = {};
	int err;

	err = rawnl_do(&nl, SWIFTRDMA_CMD_QP_GET, false, "dev_index=$dev qpn=$qpn", v, &reply,
		       take_qp, &s);
	if (err)
		fail("a QP of ours", err);
	return s;
}

static void set_up(struct vdev *dev)
{
	struct ibv_qp *qp, *gone;
	struct rawnl_reply reply;
	struct ibv_cq *cq;
	struct seen s;
	char text[96];
	int err;

	if (vdev_open(dev, "rxe0"))
		exit(2);
	cq = ibv_create_cq(dev->ctx, 16, NULL, NULL, 0);
	qp = cq ? vqp_small(dev, cq) : NULL;
	gone = qp ? vqp_small(dev, cq) : NULL;
	if (!gone || vqp_init(dev, qp))
		fail("QPs", -errno);
	snprintf(text, sizeof(text), "job_obj{name=there origin=test rule{pid=%d}}", getpid());
	err = rawnl_do(&nl, SWIFTRDMA_CMD_JOB_SET, false, text, NULL, &reply, NULL, NULL);
	if (err)
		fail("a job", err);
	err = rawnl_do(&nl, SWIFTRDMA_CMD_ACT, false,
		       "lease{origin=test ttl_ms=3000000} action{knob=1 value=2 job=there}", NULL,
		       &reply, take_lease, &vars[LEASE].value);
	if (err)
		fail("a lease", err);

	vars[DEV].value = dev->index;
	vars[PID].value = getpid();
	vars[QPN].value = qp->qp_num;
	s = look_up_qp(dev, qp->qp_num);
	vars[SERIAL].value = s.serial;
	vars[UAR].value = s.uar;
	vars[GONE].value = gone->qp_num;
	vars[GONE_SERIAL].value = look_up_qp(dev, gone->qp_num).serial;
	if (ibv_destroy_qp(gone))
		fail("destroying a QP", -errno);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "fuzz", required_argument, NULL, 'f' }, { "seed", required_argument, NULL, 's' },
		{ 0 }
	};
	unsigned long n = 0;
	uint64_t seed = 1;
	struct vdev dev;
	int c, err;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'f')
			n = strtoul(optarg, NULL, 10);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	err = rawnl_open(&nl, -1);
	if (err)
		fail("family", err);
	set_up(&dev);
	if (n)
		return fuzz_requests(n, seed);
	try_headers();
	try_shapes();
	try_policies();
	try_bads();
	try_leases();
	try_jobs();
	try_goods();
	end_lease(vars[LEASE].value);
	return failed;
}
