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
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "rawnl.h"
#include "verbs.h"

enum { DO, DUMP };

/* A good request, of which bad ones are made. */
struct good {
	int cmd, how;
	const char *text;
	bool changes;
};

static const struct good goods[] = {
	{ SWIFTRDMA_CMD_DEV_GET, DO, "dev_index=$dev dev_name=rxe0", false },
	{ SWIFTRDMA_CMD_DEV_GET, DUMP, "dev_index=$dev dev_name=rxe0", false },
	{ SWIFTRDMA_CMD_PORT_GET, DO, "dev_index=$dev dev_name=rxe0 port=1", false },
	{ SWIFTRDMA_CMD_PORT_GET, DUMP, "dev_index=$dev dev_name=rxe0 port=1", false },
	{ SWIFTRDMA_CMD_UAR_GET, DO, "dev_index=$dev dev_name=rxe0 uar=$uar", false },
	{ SWIFTRDMA_CMD_UAR_GET, DUMP, "dev_index=$dev dev_name=rxe0 uar=$uar", false },
	{ SWIFTRDMA_CMD_QP_GET, DO,
	  "dev_index=$dev dev_name=rxe0 port=1 uar=$uar qpn=$qpn", false },
	{ SWIFTRDMA_CMD_QP_GET, DUMP,
	  "dev_index=$dev dev_name=rxe0 port=1 uar=$uar qpn=$qpn pid=$pid job=there since=1",
	  false },
	{ SWIFTRDMA_CMD_JOB_GET, DO, "job=there", false },
	{ SWIFTRDMA_CMD_JOB_GET, DUMP, "job=there", false },
	{ SWIFTRDMA_CMD_JOB_SET, DO,
	  "job_obj{name=new origin=test class=1 rule{order=7 cgroup=/a/* comm=c exe=e uid=1 pid=1} "
	  "rule{uid=2}}", true },
	{ SWIFTRDMA_CMD_JOB_DEL, DO, "job_obj{name=new origin=test}", true },
	{ SWIFTRDMA_CMD_ACT, DO,
	  "lease{ttl_ms=60000 rank=9 origin=test} "
	  "action{knob=1 value=3 job=there dev_index=$dev reason=why "
	  "decision{policy=p tick=1 cooldown=2 steps_left=3 acts_left=4 dev_index=$dev port=1 "
	  "uar=$uar qpn=$qpn reading{signal=port.util value=1} reading{signal=job.qps}}} "
	  "action{knob=1 value=3 dev_index=$dev qpn=$qpn qp_serial=$serial}", true },
	{ SWIFTRDMA_CMD_ACT, DO,
	  "lease{id=$lease ttl_ms=60000} action{knob=1 clear job=there reason=why}", true },
	{ SWIFTRDMA_CMD_LEVEL_SET, DO,
	  "level{level=3 dscp=11 sl=5} level{level=4 dscp=63 sl=15}", true },
};

/*
 * What netlink itself says of an attribute that the policy refuses (lib/nlattr.c):
 * the same words in 6.1 and in kernels after it.
 */
#define RANGE		"integer out of range"
#define LENGTH		"invalid attribute length"
#define INVALID		"Attribute failed policy validation"
#define NO_NEST		"NLA_F_NESTED not expected"
#define NEST_MISSING	"NLA_F_NESTED is missing"
#define UNSUPPORTED	"Unsupported attribute"
#define UNKNOWN		"Unknown attribute type"
#define LEFTOVER	"bytes leftover after parsing attributes"

/* A request that is well formed and wrong. */
struct bad {
	int cmd, how;
	const char *text;	/* ^: the attribute, or the nest that lacks one */
	int error;
	int missing;		/* type, or 0 */
	const char *says;
};

#define GOOD_ITEM	"action{knob=1 value=6 job=there}"
#define MIDDLE(item)	"lease{id=$lease} " GOOD_ITEM " ^" item " " GOOD_ITEM

static const struct bad bads[] = {
	{ SWIFTRDMA_CMD_DEV_GET, DO, "", EINVAL, SWIFTRDMA_A_DEV_INDEX, "which device" },
	{ SWIFTRDMA_CMD_DEV_GET, DO, "^dev_index=4000", ENODEV, 0, "no RDMA device" },
	{ SWIFTRDMA_CMD_DEV_GET, DO, "^dev_name=none0", ENODEV, 0, "no RDMA device" },
	{ SWIFTRDMA_CMD_DEV_GET, DO, "dev_index=$dev ^dev_name=rxe1", EINVAL, 0, "two different" },
	{ SWIFTRDMA_CMD_DEV_GET, DUMP, "dev_index=4000", ENODEV, 0, "no RDMA device" },
	{ SWIFTRDMA_CMD_DEV_GET, DUMP, "dev_name=none0", ENODEV, 0, "no RDMA device" },
	{ SWIFTRDMA_CMD_DEV_GET, DUMP, "dev_index=$dev dev_name=rxe1", EINVAL, 0, "two different" },
	{ SWIFTRDMA_CMD_DEV_GET, DO, "dev_index=$dev ^port=1", EINVAL, 0, UNSUPPORTED },

	{ SWIFTRDMA_CMD_PORT_GET, DO, "port=1", EINVAL, SWIFTRDMA_A_DEV_INDEX, "which device" },
	{ SWIFTRDMA_CMD_PORT_GET, DO, "dev_index=$dev", EINVAL, SWIFTRDMA_A_PORT, "which port" },
	{ SWIFTRDMA_CMD_PORT_GET, DO, "dev_index=$dev ^port=0", ENOENT, 0, "no such port" },
	{ SWIFTRDMA_CMD_PORT_GET, DO, "dev_index=$dev ^port=2", ENOENT, 0, "no such port" },
	{ SWIFTRDMA_CMD_PORT_GET, DO, "^dev_index=4000 port=1", ENODEV, 0, "no RDMA device" },
	{ SWIFTRDMA_CMD_PORT_GET, DUMP, "dev_index=4000", ENODEV, 0, "no RDMA device" },

	{ SWIFTRDMA_CMD_UAR_GET, DO, "uar=1", EINVAL, SWIFTRDMA_A_DEV_INDEX, "which device" },
	{ SWIFTRDMA_CMD_UAR_GET, DO, "dev_index=$dev", EINVAL, SWIFTRDMA_A_UAR, "which UAR" },
	{ SWIFTRDMA_CMD_UAR_GET, DO, "dev_index=$dev ^uar=99999", ENOENT, 0, "no such UAR" },
	{ SWIFTRDMA_CMD_UAR_GET, DUMP, "dev_index=4000", ENODEV, 0, "no RDMA device" },

	{ SWIFTRDMA_CMD_QP_GET, DO, "qpn=$qpn", EINVAL, SWIFTRDMA_A_DEV_INDEX, "which device" },
	{ SWIFTRDMA_CMD_QP_GET, DO, "dev_index=$dev", EINVAL, SWIFTRDMA_A_QPN, "which QP" },
	{ SWIFTRDMA_CMD_QP_GET, DO, "dev_index=$dev qpn=1", EINVAL, SWIFTRDMA_A_PORT, "PORT" },
	{ SWIFTRDMA_CMD_QP_GET, DO, "dev_index=$dev ^qpn=$gone", ENOENT, 0, "no such QP" },
	{ SWIFTRDMA_CMD_QP_GET, DO, "dev_index=$dev ^qpn=$qpn port=2", ENOENT, 0, "no such QP" },
	{ SWIFTRDMA_CMD_QP_GET, DO, "dev_index=$dev ^qpn=0x1000000", ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_QP_GET, DO, "dev_index=$dev qpn=$qpn ^pid=1", EINVAL, 0, "dumps only" },
	{ SWIFTRDMA_CMD_QP_GET, DO, "dev_index=$dev qpn=$qpn ^job=there", EINVAL, 0, "dumps only" },
	{ SWIFTRDMA_CMD_QP_GET, DO, "dev_index=$dev qpn=$qpn ^since=1", EINVAL, 0, "dumps only" },
	{ SWIFTRDMA_CMD_QP_GET, DUMP, "^qpn=0x1000000", ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_QP_GET, DUMP, "^pid=0", ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_QP_GET, DUMP, "job=none", ENOENT, 0, "no such job" },
	{ SWIFTRDMA_CMD_QP_GET, DUMP, "dev_name=none0", ENODEV, 0, "no RDMA device" },

	{ SWIFTRDMA_CMD_JOB_GET, DO, "", EINVAL, SWIFTRDMA_A_JOB, "which job" },
	{ SWIFTRDMA_CMD_JOB_GET, DO, "^job=none", ENOENT, 0, "no such job" },
	{ SWIFTRDMA_CMD_JOB_GET, DUMP, "job=none", ENOENT, 0, "no such job" },

	{ SWIFTRDMA_CMD_JOB_SET, DO, "", EINVAL, SWIFTRDMA_A_JOB_OBJ, "JOB_OBJ is missing" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "^job_obj{origin=t rule{uid=1}}", EINVAL,
	  SWIFTRDMA_JOB_A_NAME, "NAME is missing" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "^job_obj{name=x rule{uid=1}}", EINVAL,
	  SWIFTRDMA_JOB_A_ORIGIN, "ORIGIN is missing" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "^job_obj{name=there origin=test}", EINVAL,
	  SWIFTRDMA_JOB_A_RULE, "needs a RULE" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{^name= origin=t rule{uid=1}}", EINVAL, 0, "1 to 31" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{^name=a/b origin=t rule{uid=1}}", EINVAL, 0,
	  "A-Z a-z 0-9" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{^name=\xc3\xa9 origin=t rule{uid=1}}", EINVAL, 0,
	  "A-Z a-z 0-9" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=x ^origin=a\tb rule{uid=1}}", EINVAL, 0,
	  "an origin is" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{^name=unassigned origin=t rule{uid=1}}", EINVAL, 0,
	  "unassigned" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test ^class=5 rule{uid=1}}", ERANGE,
	  0, RANGE },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test ^rule}", EINVAL, 0,
	  "needs a condition" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test ^rule{order=3}}", EINVAL, 0,
	  "needs a condition" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test rule{uid=1} ^rule{order=3}}",
	  EINVAL, 0, "needs a condition" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test rule{uid=1 ^comm=}}", EINVAL, 0,
	  "empty condition" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test rule{uid=1 ^exe=}}", EINVAL, 0,
	  "empty condition" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test rule{uid=1 ^cgroup=}}", EINVAL,
	  0, "empty condition" },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test rule{^uid=0xffffffff}}", ERANGE,
	  0, RANGE },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "job_obj{name=there origin=test rule{^pid=0}}", ERANGE, 0,
	  RANGE },
	{ SWIFTRDMA_CMD_JOB_SET, DO, "^job_obj{name=there origin=test rule{uid=1}@65}", E2BIG, 0,
	  "64 rules" },

	{ SWIFTRDMA_CMD_JOB_DEL, DO, "", EINVAL, SWIFTRDMA_A_JOB_OBJ, "JOB_OBJ is missing" },
	{ SWIFTRDMA_CMD_JOB_DEL, DO, "^job_obj{origin=test}", EINVAL, SWIFTRDMA_JOB_A_NAME,
	  "NAME is missing" },
	{ SWIFTRDMA_CMD_JOB_DEL, DO, "^job_obj{name=there}", EINVAL, SWIFTRDMA_JOB_A_ORIGIN,
	  "ORIGIN is missing" },
	{ SWIFTRDMA_CMD_JOB_DEL, DO, "job_obj{^name=none origin=test}", ENOENT, 0, "no such job" },
	{ SWIFTRDMA_CMD_JOB_DEL, DO, "job_obj{^name=there origin=other}", ENOENT, 0,
	  "none of its rules" },
	{ SWIFTRDMA_CMD_JOB_DEL, DO, "job_obj{^name=a/b origin=test}", EINVAL, 0, "A-Z a-z 0-9" },
	{ SWIFTRDMA_CMD_JOB_DEL, DO, "job_obj{name=there origin=test ^class=1}", EINVAL, 0,
	  UNKNOWN },

	{ SWIFTRDMA_CMD_ACT, DO, "", EINVAL, SWIFTRDMA_A_LEASE, "LEASE is missing" },
	{ SWIFTRDMA_CMD_ACT, DO, GOOD_ITEM, EINVAL, SWIFTRDMA_A_LEASE, "LEASE is missing" },
	{ SWIFTRDMA_CMD_ACT, DO, "^lease", EINVAL, SWIFTRDMA_LEASE_A_ORIGIN, "ORIGIN" },
	{ SWIFTRDMA_CMD_ACT, DO, "^lease{ttl_ms=0 origin=t}", EINVAL, SWIFTRDMA_LEASE_A_ID,
	  "ID is missing" },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{ttl_ms=1 ^origin=}", EINVAL, 0, "an origin is" },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{ttl_ms=1 ^origin=a/b}", EINVAL, 0, "an origin is" },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{^id=0}", ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_ACT, DO, "^lease{id=999999}", ENOENT, 0, "no such lease" },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{id=$lease ^ttl_ms=3600001}", ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{id=$lease ^ttl_ms=0} " GOOD_ITEM, EINVAL, 0,
	  "takes no ACTION" },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{id=$lease ^rank=1}", EINVAL, 0, "given once" },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{id=$lease ^origin=t}", EINVAL, 0, "given once" },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{origin=t ^rank=256}", ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_ACT, DO, "lease{id=$lease} action{knob=1 value=6 job=there}@256 "
	  "^action{knob=1 value=6 job=there}", E2BIG, 0, "256 items" },

	/* One of three items; the others must not be applied. */
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action"), EINVAL, SWIFTRDMA_ACTION_A_KNOB, "which knob" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1}"), EINVAL, SWIFTRDMA_ACTION_A_JOB,
	  "no target" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 qpn=$qpn}"), EINVAL,
	  SWIFTRDMA_ACTION_A_DEV_INDEX, "DEV_INDEX is missing" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 job=there}"), EINVAL,
	  SWIFTRDMA_ACTION_A_VALUE, "VALUE" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 job=none}"), ENOENT, 0,
	  "no such job" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 job=there dev_index=4000}"), ENODEV,
	  0, "no such device" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 qpn=$qpn dev_index=4000}"), ENODEV,
	  0, "no such device" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 dev_index=$dev qpn=$gone}"), ENOENT,
	  0, "no such QP" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 clear dev_index=$dev qpn=$gone}"), ENOENT,
	  0, "no such QP" },
	{ SWIFTRDMA_CMD_ACT, DO,
	  MIDDLE("action{knob=1 value=1 dev_index=$dev qpn=$gone qp_serial=$gone_serial}"), ENOENT,
	  0, "no such QP" },
	{ SWIFTRDMA_CMD_ACT, DO,
	  MIDDLE("action{knob=1 value=1 dev_index=$dev qpn=$qpn qp_serial=$gone_serial}"), ESTALE,
	  0, "another QP's now" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=7 value=1 dev_index=$dev qpn=$qpn}"),
	  EOPNOTSUPP, 0, "single QP" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=8 value=1 dev_index=$dev qpn=$qpn}"),
	  EOPNOTSUPP, 0, "single QP" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=10 value=50000 job=there}"), EOPNOTSUPP, 0,
	  "single QP" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=11 value=1 job=there}"), EOPNOTSUPP, 0,
	  "single QP" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=10 value=50000 dev_index=$dev qpn=$qpn}"),
	  EOPNOTSUPP, 0, "on this device" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=11 value=1 dev_index=$dev qpn=$qpn}"),
	  EOPNOTSUPP, 0, "on this device" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=10 value=65536 dev_index=$dev qpn=$qpn}"),
	  ERANGE, 0, "1 to 65535" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=11 value=0 dev_index=$dev qpn=$qpn}"), ERANGE,
	  0, "1 to 15" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=7 value=0x100000000 job=there}"), ERANGE, 0,
	  "max_qps is" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=8 value=1000001 job=there}"), ERANGE, 0,
	  "create_rate is" },

#undef MIDDLE
#define MIDDLE(item)	"lease{id=$lease} " GOOD_ITEM " " item " " GOOD_ITEM
#define DECIDED(by)	MIDDLE("action{knob=1 value=1 job=there " by "}")
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=0 value=1 job=there}"), ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=12 value=1 job=there}"), ERANGE, 0, RANGE },
	/* rxe has no such elements, so nobody gets to the range of a rate or a weight. */
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=2 value=1 job=there}"), EOPNOTSUPP, 0,
	  "it takes scheduling elements" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=3 value=1 job=there}"), EOPNOTSUPP, 0,
	  "enforces" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=4 value=1 job=there}"), EOPNOTSUPP, 0,
	  "it takes scheduling elements" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=5 value=1 job=there}"), EOPNOTSUPP, 0,
	  "enforces" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=6 value=1 job=there}"), EOPNOTSUPP, 0,
	  "enforces" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=9 value=1 dev_index=$dev qpn=$qpn}"),
	  EOPNOTSUPP, 0, "enforces" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 ^value=8 job=there}"), ERANGE, 0, "0 to 7" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 ^clear job=there}"), EINVAL, 0,
	  "either a VALUE or CLEAR" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 job=there dev_index=$dev ^qpn=$qpn}"),
	  EINVAL, 0, "either a JOB or a QPN" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 job=there ^qp_serial=$serial}"),
	  EINVAL, 0, "goes with a QPN" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=1 value=1 dev_index=$dev ^qpn=0x1000000}"),
	  ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_ACT, DO, DECIDED("^decision{tick=1}"), EINVAL,
	  SWIFTRDMA_DECISION_A_POLICY, "POLICY is missing" },
	{ SWIFTRDMA_CMD_ACT, DO, DECIDED("^decision{policy=p}"), EINVAL,
	  SWIFTRDMA_DECISION_A_TICK, "TICK is missing" },
	{ SWIFTRDMA_CMD_ACT, DO, DECIDED("decision{^policy=a:b tick=1}"), EINVAL, 0,
	  "a policy is" },
	{ SWIFTRDMA_CMD_ACT, DO, DECIDED("decision{policy=p tick=1 ^qpn=0x1000000}"), ERANGE, 0,
	  RANGE },
	{ SWIFTRDMA_CMD_ACT, DO, DECIDED("decision{policy=p tick=1 ^reading{value=1}}"), EINVAL,
	  SWIFTRDMA_READING_A_SIGNAL, "SIGNAL is missing" },
	{ SWIFTRDMA_CMD_ACT, DO, DECIDED("decision{policy=p tick=1 reading{^signal=a/b}}"), EINVAL,
	  0, "a signal is" },
	{ SWIFTRDMA_CMD_ACT, DO,
	  DECIDED("decision{policy=p tick=1 reading{signal=job.qps value=1}@12 ^reading{signal=a}}"),
	  E2BIG, 0, "more than 12 readings" },

	{ SWIFTRDMA_CMD_ACTION_GET, DUMP, "^dev_index=1", EINVAL, 0, UNSUPPORTED },
	{ SWIFTRDMA_CMD_LEVEL_GET, DUMP, "^job=there", EINVAL, 0, UNSUPPORTED },

	{ SWIFTRDMA_CMD_LEVEL_SET, DO, "", EINVAL, SWIFTRDMA_A_LEVEL, "no LEVEL" },
	{ SWIFTRDMA_CMD_LEVEL_SET, DO, "level{level=2 dscp=1 sl=1} ^level{dscp=1 sl=1}", EINVAL,
	  SWIFTRDMA_LEVEL_A_LEVEL, "which level" },
	{ SWIFTRDMA_CMD_LEVEL_SET, DO, "level{level=2 dscp=1 sl=1} ^level{level=1}", EINVAL,
	  SWIFTRDMA_LEVEL_A_DSCP, "a DSCP, an SL or both" },
	{ SWIFTRDMA_CMD_LEVEL_SET, DO, "level{level=2 dscp=1 sl=1} level{^level=8 dscp=1 sl=1}",
	  ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_LEVEL_SET, DO, "level{level=2 dscp=1 sl=1} level{level=1 ^dscp=64 sl=1}",
	  ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_LEVEL_SET, DO, "level{level=2 dscp=1 sl=1} level{level=1 dscp=1 ^sl=16}",
	  ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_LEVEL_SET, DO, "level{level=2 dscp=1 sl=1} ^level{level=2 dscp=1 sl=1}",
	  EINVAL, 0, "twice" },
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static struct rawnl nl;
static struct rawnl_req req;
static bool failed;

enum { DEV, QPN, SERIAL, UAR, PID, GONE, GONE_SERIAL, LEASE };
static struct rawnl_var vars[] = {
	[DEV] = { "dev", 0 }, [QPN] = { "qpn", 0 }, [SERIAL] = { "serial", 0 },
	[UAR] = { "uar", 0 }, [PID] = { "pid", 0 }, [GONE] = { "gone", 0 },
	[GONE_SERIAL] = { "gone_serial", 0 }, [LEASE] = { "lease", 0 }, { NULL, 0 }
};

static void point(bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%s - ", ok ? "ok" : "not ok");
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	failed |= !ok;
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "netlink_bad: %s: %s\n", what, strerror(-err));
	exit(2);
}

static const char *how_name(int how)
{
	return how == DUMP ? "dump" : "do";
}

/* What is set, as a number: of jobs, actions and levels all but times. */

struct digest {
	uint64_t hash;
};

static void mix(struct digest *d, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		d->hash = (d->hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3ull;
}

static void digest_set(struct digest *d, const void *attrs, size_t len, int set)
{
	const struct nlattr *nla = attrs;
	const char *data;
	size_t n;
	int type;

	for (; len >= NLA_HDRLEN; nla = (const void *)((const char *)nla + NLA_ALIGN(n))) {
		n = nla->nla_len;
		type = nla->nla_type & NLA_TYPE_MASK;
		data = (const char *)nla + NLA_HDRLEN;
		mix(d, &type, sizeof(type));
		if (!set && (type == SWIFTRDMA_A_JOB_OBJ || type == SWIFTRDMA_A_ACTION))
			digest_set(d, data, n - NLA_HDRLEN, type);
		else if (set == SWIFTRDMA_A_ACTION && type == SWIFTRDMA_ACTION_A_LEASE)
			digest_set(d, data, n - NLA_HDRLEN, SWIFTRDMA_A_LEASE);
		else if (!(set == SWIFTRDMA_A_JOB_OBJ && type == SWIFTRDMA_JOB_A_TIME) &&
			 !(set == SWIFTRDMA_A_LEASE && type == SWIFTRDMA_LEASE_A_TTL_MS))
			mix(d, data, n - NLA_HDRLEN);
		if ((size_t)NLA_ALIGN(n) >= len)
			break;
		len -= NLA_ALIGN(n);
	}
}

static void take_digest(const void *attrs, size_t len, void *arg)
{
	digest_set(arg, attrs, len, 0);
}

static uint64_t digest(void)
{
	static const int what[] = {
		SWIFTRDMA_CMD_JOB_GET, SWIFTRDMA_CMD_ACTION_GET, SWIFTRDMA_CMD_LEVEL_GET
	};
	struct digest d = { 0xcbf29ce484222325ull };
	struct rawnl_reply reply;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
		err = rawnl_do(&nl, what[i], true, "", NULL, &reply, take_digest, &d);
		if (err)
			fail("what is set cannot be read", err);
		if (!reply.has_count || reply.count != reply.answers)
			fail("a dump that miscounts", -EPROTO);
	}
	return d.hash;
}

/* Bad requests by rule */

static int expected(const struct rawnl_attr *a, enum rawnl_wrong wrong)
{
	switch (wrong) {
	case RAWNL_SHORT:
		return a->kind == RAWNL_NEST ? -ERANGE : -EINVAL;
	case RAWNL_LONG:
		return a->kind == RAWNL_FLAG ? -ERANGE : -EINVAL;
	default:
		return -EINVAL;
	}
}

static const char *expected_words(const struct rawnl_attr *a, enum rawnl_wrong wrong)
{
	switch (wrong) {
	case RAWNL_OTHER:
		return a->kind == RAWNL_NEST ? NEST_MISSING : NO_NEST;
	case RAWNL_TWICE:
		return "attribute given twice";
	case RAWNL_UNKNOWN:
		return UNKNOWN;
	default:
		if (a->kind == RAWNL_U32 || a->kind == RAWNL_U64)
			return LENGTH;
		return a->kind == RAWNL_NEST && wrong == RAWNL_LONG ? LEFTOVER : INVALID;
	}
}

static bool applies(const struct rawnl_node *node, enum rawnl_wrong wrong)
{
	enum rawnl_kind kind = node->attr->kind;

	switch (wrong) {
	case RAWNL_SHORT:
		return kind != RAWNL_FLAG;
	case RAWNL_EMPTY:	/* of a nest: that it lacks something, see bads[] */
		return kind != RAWNL_FLAG && kind != RAWNL_NEST;
	case RAWNL_TWICE:
		return !node->attr->repeats;
	default:
		return true;
	}
}

static bool offset_promised(const struct good *g, const struct rawnl_node *node,
			    enum rawnl_wrong wrong)
{
	/* The end of a dump has words only; bytes that are left over are no attribute. */
	if (wrong == RAWNL_TWICE)
		return g->how == DO;
	return !(wrong == RAWNL_LONG && node->attr->kind == RAWNL_NEST);
}

static bool try_wrong(const struct good *g, const struct rawnl_node *nodes,
		      const struct rawnl_node *node, enum rawnl_wrong wrong)
{
	static const char *const names[] = {
		[RAWNL_SHORT] = "too short", [RAWNL_LONG] = "too long", [RAWNL_EMPTY] = "empty",
		[RAWNL_OTHER] = "the wrong kind", [RAWNL_TWICE] = "there twice",
		[RAWNL_UNKNOWN] = "next to one that does not exist",
	};
	const char *words = expected_words(node->attr, wrong);
	int wanted = expected(node->attr, wrong);
	struct rawnl_reply reply;
	int err;

	rawnl_encode(&req, g->cmd, g->how, nodes, node, wrong);
	err = rawnl_call(&nl, &req, &reply, NULL, NULL) ?: reply.error;
	if (err == wanted && !strcmp(reply.message, words) && !reply.answers &&
	    (!offset_promised(g, node, wrong) || reply.offset == req.offset))
		return true;
	printf("# %s: error %d, wanted %d; offset %u, wanted %u; \"%s\", wanted \"%s\"\n",
	       names[wrong], err, wanted, reply.offset, req.offset, reply.message, words);
	return false;
}

static void try_nodes(const struct good *g, const struct rawnl_node *all,
		      const struct rawnl_node *nodes, const char *path)
{
	const struct rawnl_node *node;
	enum rawnl_wrong wrong;
	uint64_t before;
	char name[256];
	bool ok;

	for (node = nodes; node; node = node->next) {
		snprintf(name, sizeof(name), "%s%s", path, node->attr->name);
		before = digest();
		ok = true;
		for (wrong = RAWNL_RIGHT + 1; wrong < RAWNL_WRONGS; wrong++)
			if (applies(node, wrong))
				ok &= try_wrong(g, all, node, wrong);
		if (digest() != before) {
			printf("# something was applied\n");
			ok = false;
		}
		point(ok, "%s %s: %s in every wrong shape", rawnl_cmd_name(g->cmd),
		      how_name(g->how), name);
		strcat(name, ".");
		try_nodes(g, all, node->child, name);
	}
}

static void try_shapes(void)
{
	struct rawnl_node *nodes;

	for (size_t i = 0; i < ARRAY_SIZE(goods); i++) {
		nodes = rawnl_parse(goods[i].text, vars);
		try_nodes(&goods[i], nodes, nodes, "");
		rawnl_free(nodes);
	}
}

static void try_bads(void)
{
	struct rawnl_node *nodes;
	struct rawnl_reply reply;
	uint64_t before, after;
	bool ok;
	int err;

	before = digest();
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++) {
		const struct bad *b = &bads[i];

		nodes = rawnl_parse(b->text, vars);
		rawnl_encode(&req, b->cmd, b->how, nodes, NULL, RAWNL_RIGHT);
		err = rawnl_call(&nl, &req, &reply, NULL, NULL) ?: reply.error;
		rawnl_free(nodes);
		after = digest();
		ok = err == -b->error && strstr(reply.message, b->says) &&
		     !reply.answers && after == before && (int)reply.missing == b->missing;
		if (b->missing)
			ok = ok && reply.missing_nest == req.offset;
		else if (req.offset)
			ok = ok && reply.offset == req.offset;
		if (!ok)
			printf("# error %d, wanted %d; offset %u, nest %u, wanted %u; missing %u, wanted %d; %s; \"%s\", wanted \"%s\"\n",
			       err, -b->error, reply.offset, reply.missing_nest, req.offset,
			       reply.missing, b->missing,
			       after == before ? "nothing applied" : "APPLIED", reply.message,
			       b->says);
		before = after;
		point(ok, "%s %s %.100s: %s", rawnl_cmd_name(b->cmd), how_name(b->how), b->text,
		      strerrorname_np(b->error));
	}
}

/* The header before the attributes. @says: NULL: perhaps nothing. */
static void try_header(const char *name, void (*spoil)(struct rawnl_req *), int wanted,
		       const char *says)
{
	struct rawnl_reply reply;
	bool ok;
	int err;

	rawnl_encode(&req, SWIFTRDMA_CMD_DEV_GET, true, NULL, NULL, RAWNL_RIGHT);
	spoil(&req);
	err = rawnl_call(&nl, &req, &reply, NULL, NULL) ?: reply.error;
	ok = err == wanted && (!says || !strcmp(reply.message, says));
	if (!ok)
		printf("# error %d, wanted %d; \"%s\", wanted \"%s\"\n", err, wanted,
		       reply.message, says ?: "");
	point(ok, "%s", name);
}

static struct genlmsghdr *genl_of(struct rawnl_req *r)
{
	return (void *)(r->buf + NLMSG_HDRLEN);
}

static void spoil_cmd(struct rawnl_req *r)
{
	genl_of(r)->cmd = 200;
}

static void spoil_event(struct rawnl_req *r)
{
	genl_of(r)->cmd = SWIFTRDMA_CMD_QP_CREATED_NTF;
}

static void spoil_reserved(struct rawnl_req *r)
{
	genl_of(r)->reserved = 1;
}

static void spoil_dump(struct rawnl_req *r)
{
	genl_of(r)->cmd = SWIFTRDMA_CMD_JOB_SET;
}

static void spoil_length(struct rawnl_req *r)
{
	r->len -= 2;
}

static void spoil_tail(struct rawnl_req *r)
{
	memset(r->buf + r->len, 0xff, 2);
	r->len += 2;
}

static void try_headers(void)
{
	/* These are refused by the netlink core, some without a word. */
	try_header("a command that does not exist", spoil_cmd, -EOPNOTSUPP, NULL);
	try_header("an event as a request", spoil_event, -EOPNOTSUPP, NULL);
	try_header("a dump of what has none", spoil_dump, -EOPNOTSUPP, NULL);
	try_header("a header that is cut short", spoil_length, -EINVAL, NULL);
	try_header("reserved bits in the header", spoil_reserved, -EINVAL,
		   "genlmsghdr.reserved field is not 0");
	try_header("bytes after the last attribute", spoil_tail, -EINVAL, LEFTOVER);
}

/* Tables that are full. */

static void take_lease(const void *attrs, size_t len, void *arg)
{
	size_t n;
	const void *lease = rawnl_find(attrs, len, SWIFTRDMA_A_LEASE, &n);

	if (lease)
		*(uint64_t *)arg = rawnl_u64(lease, n, SWIFTRDMA_LEASE_A_ID);
}

static void end_lease(uint64_t id)
{
	struct rawnl_var v[] = { { "id", id }, { NULL, 0 } };
	struct rawnl_reply reply;

	rawnl_do(&nl, SWIFTRDMA_CMD_ACT, false, "lease{id=$id ttl_ms=0}", v, &reply, NULL, NULL);
}

/* There is one lease already. */
static void try_leases(void)
{
	static uint64_t ids[SWIFTRDMA_LEASES_MAX + 1];
	struct rawnl_reply reply;
	int n, err = 0;

	for (n = 0; n <= SWIFTRDMA_LEASES_MAX; n++) {
		err = rawnl_do(&nl, SWIFTRDMA_CMD_ACT, false, "lease{origin=full ttl_ms=600000}",
			       NULL, &reply, take_lease, &ids[n]);
		if (err)
			break;
	}
	printf("# %d leases more, then %d \"%s\"\n", n, err, reply.message);
	point(n == SWIFTRDMA_LEASES_MAX - 1 && err == -ENOSPC && reply.message[0],
	      "leases: as many as there can be, then ENOSPC");
	while (n--)
		end_lease(ids[n]);
}

/* There are "unassigned" and one job already. */
static void try_jobs(void)
{
	char text[128];
	struct rawnl_reply reply;
	int n, err = 0;

	for (n = 0; n <= SWIFTRDMA_JOBS_MAX; n++) {
		snprintf(text, sizeof(text), "job_obj{name=full%d origin=full rule{uid=12345}}", n);
		err = rawnl_do(&nl, SWIFTRDMA_CMD_JOB_SET, false, text, NULL, &reply, NULL, NULL);
		if (err)
			break;
	}
	printf("# %d jobs more, then %d \"%s\"\n", n, err, reply.message);
	point(n == SWIFTRDMA_JOBS_MAX - 2 && err == -ENOSPC && reply.message[0],
	      "jobs: as many as there can be, then ENOSPC");
	err = rawnl_do(&nl, SWIFTRDMA_CMD_JOB_GET, true, "", NULL, &reply, NULL, NULL);
	point(!err && reply.answers == SWIFTRDMA_JOBS_MAX && reply.count == SWIFTRDMA_JOBS_MAX,
	      "a dump of them is complete");
	while (n--) {
		snprintf(text, sizeof(text), "job_obj{name=full%d origin=full}", n);
		rawnl_do(&nl, SWIFTRDMA_CMD_JOB_DEL, false, text, NULL, &reply, NULL, NULL);
	}
}

/* After all that was bad, what is good must be taken. */
static void try_goods(void)
{
	struct rawnl_reply reply;
	uint64_t before, after;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(goods); i++) {
		const struct good *g = &goods[i];

		before = digest();
		err = rawnl_do(&nl, g->cmd, g->how, g->text, vars, &reply, NULL, NULL);
		after = digest();
		if (err)
			printf("# error %d \"%s\"\n", err, reply.message);
		point(!err && (g->changes ? after != before : reply.answers == 1 && after == before),
		      "%s %s %.100s: done", rawnl_cmd_name(g->cmd), how_name(g->how), g->text);
	}
}

/* Fuzzing */

static uint64_t rng;

static uint32_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng >> 16;
}

/* A good request with some bytes changed, lost or added. */
static void spoil(void)
{
	size_t body = NLMSG_HDRLEN + GENL_HDRLEN, at;
	unsigned int changes = rnd() % 8;
	struct nlattr nla;

	while (changes--) {
		at = NLMSG_HDRLEN + rnd() % (req.len - NLMSG_HDRLEN + 1);
		switch (rnd() % 5) {
		case 0:
			req.buf[at] = rnd();
			break;
		case 1:
			req.buf[at] ^= 1u << rnd() % 8;
			break;
		case 2:
			if (req.len > body)
				req.len -= rnd() % (req.len - body + 1);
			break;
		case 3:		/* a header, where one may be */
			nla.nla_len = rnd() % 64;
			nla.nla_type = (rnd() % 24) | (rnd() & NLA_F_NESTED);
			at = body + (at - NLMSG_HDRLEN) / 4 * 4;
			memcpy(req.buf + at, &nla, sizeof(nla));
			if (at + sizeof(nla) > req.len)
				req.len = at + sizeof(nla);
			break;
		case 4:
			for (at = rnd() % 64; at; at--)
				req.buf[req.len++] = rnd();
			break;
		}
	}
}

static int fuzz(unsigned long n, uint64_t seed)
{
	unsigned long refused = 0, wordless = 0, done = 0;
	struct rawnl_node *nodes[ARRAY_SIZE(goods)];
	struct rawnl_reply reply;
	const struct good *g;
	int err;

	rng = seed | 1;
	for (size_t i = 0; i < ARRAY_SIZE(goods); i++)
		nodes[i] = rawnl_parse(goods[i].text, vars);
	while (n--) {
		size_t i = rnd() % ARRAY_SIZE(goods);

		g = &goods[i];
		rawnl_encode(&req, g->cmd, g->how, nodes[i], NULL, RAWNL_RIGHT);
		spoil();
		/* Any other command, now and then. */
		if (!(rnd() % 16))
			genl_of(&req)->cmd = rnd() % (SWIFTRDMA_CMD_MAX + 2);
		err = rawnl_call(&nl, &req, &reply, NULL, NULL);
		if (err) {
			printf("# no answer: %s\n", strerror(-err));
			break;
		}
		if (!reply.error)
			done++;
		else if (reply.message[0])
			refused++;
		else
			wordless++;
	}
	printf("# seed %llu: %lu done, %lu refused in words, %lu without\n",
	       (unsigned long long)seed, done, refused, wordless);
	point(n == -1UL && refused && done, "requests of random bytes, each answered");
	for (size_t i = 0; i < ARRAY_SIZE(goods); i++)
		rawnl_free(nodes[i]);
	return failed;
}

/* What the requests speak of. */

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

static struct seen look_up(const struct vdev *dev, uint32_t qpn)
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
	s = look_up(dev, qp->qp_num);
	vars[SERIAL].value = s.serial;
	vars[UAR].value = s.uar;
	vars[GONE].value = gone->qp_num;
	vars[GONE_SERIAL].value = look_up(dev, gone->qp_num).serial;
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
		return fuzz(n, seed);
	try_headers();
	try_shapes();
	try_bads();
	try_leases();
	try_jobs();
	try_goods();
	end_lease(vars[LEASE].value);
	return failed;
}
