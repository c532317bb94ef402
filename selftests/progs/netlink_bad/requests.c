// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests that are well formed: good ones, and wrong ones with what is said to each. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "netlink_bad.h"

const struct good goods[] = {
	{ SWIFTRDMA_CMD_DEV_GET, DO, "dev_index=$dev dev_name=rxe0 cached", false },
	{ SWIFTRDMA_CMD_DEV_GET, DUMP, "dev_index=$dev dev_name=rxe0 cached", false },
	{ SWIFTRDMA_CMD_PORT_GET, DO, "dev_index=$dev dev_name=rxe0 port=1 cached", false },
	{ SWIFTRDMA_CMD_PORT_GET, DUMP, "dev_index=$dev dev_name=rxe0 port=1 cached", false },
	{ SWIFTRDMA_CMD_UAR_GET, DO, "dev_index=$dev dev_name=rxe0 uar=$uar cached", false },
	{ SWIFTRDMA_CMD_UAR_GET, DUMP, "dev_index=$dev dev_name=rxe0 uar=$uar cached", false },
	{ SWIFTRDMA_CMD_QP_GET, DO,
	  "dev_index=$dev dev_name=rxe0 port=1 uar=$uar qpn=$qpn cached outstanding", false },
	{ SWIFTRDMA_CMD_QP_GET, DUMP,
	  "dev_index=$dev dev_name=rxe0 port=1 uar=$uar qpn=$qpn pid=$pid job=there since=1 cached outstanding",
	  false },
	{ SWIFTRDMA_CMD_JOB_GET, DO, "job=there cached", false },
	{ SWIFTRDMA_CMD_JOB_GET, DUMP, "job=there cached", false },
	{ SWIFTRDMA_CMD_REPORT_GET, DUMP, "dev_index=$dev dev_name=rxe0 since=1 cached", false },
	{ SWIFTRDMA_CMD_PEER_GET, DO, "dev_index=$dev dev_name=rxe0 qpn=$qpn", false },
	{ SWIFTRDMA_CMD_JOB_SET, DO,
	  "job_obj{name=new origin=test class=1 rule{order=7 cgroup=/a/* comm=c exe=e uid=1 pid=1 asked slo_p99_min=1} "
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

const size_t n_goods = ARRAY_SIZE(goods);

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

	{ SWIFTRDMA_CMD_PEER_GET, DO, "qpn=$qpn", EINVAL, SWIFTRDMA_A_DEV_INDEX, "which device" },
	{ SWIFTRDMA_CMD_PEER_GET, DO, "dev_index=$dev", EINVAL, SWIFTRDMA_A_QPN, "which QP" },
	{ SWIFTRDMA_CMD_PEER_GET, DO, "dev_index=$dev ^qpn=1", EINVAL, 0, "no peer" },
	{ SWIFTRDMA_CMD_PEER_GET, DO, "dev_index=$dev ^qpn=$gone", ENOENT, 0, "no such QP" },
	{ SWIFTRDMA_CMD_PEER_GET, DO, "^dev_index=4000 qpn=$qpn", ENODEV, 0, "no RDMA device" },

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
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=2 value=1 job=there}"), ERANGE, 0,
	  "bit_rate is" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=3 value=10000000001 job=there}"), ERANGE, 0,
	  "wr_rate is" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=4 value=101 job=there}"), ERANGE, 0,
	  "a weight is" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=5 value=0 job=there}"), ERANGE, 0,
	  "credits are" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=12 value=3 job=there}"), ERANGE, 0,
	  "place is" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=13 value=65537 job=there}"), ERANGE, 0,
	  "chunk is" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=14 value=2 job=there}"), ERANGE, 0,
	  "huge_pages is" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=15 value=8 job=there}"), ERANGE, 0,
	  "follow is" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=15 value=1 dev_index=$dev qpn=$qpn}"),
	  EOPNOTSUPP, 0, "only level" },
	/* rxe has no scheduling elements, and no process here has a library. */
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=2 value=1000000 job=there}"), EOPNOTSUPP, 0,
	  "no device has scheduling elements, and no process" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=3 value=1 job=there}"), EOPNOTSUPP, 0,
	  "libswiftrdma enforces this" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=4 value=1 job=there}"), EOPNOTSUPP, 0,
	  "no device here has scheduling elements" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{knob=5 value=1 job=there}"), EOPNOTSUPP, 0,
	  "libswiftrdma enforces this" },

#undef MIDDLE
#define MIDDLE(item)	"lease{id=$lease} " GOOD_ITEM " " item " " GOOD_ITEM
#define DECIDED(by)	MIDDLE("action{knob=1 value=1 job=there " by "}")
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=0 value=1 job=there}"), ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=16 value=1 job=there}"), ERANGE, 0, RANGE },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("action{^knob=6 value=1 job=there}"), EOPNOTSUPP, 0,
	  "enforces" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("^action{knob=9 value=1 dev_index=$dev qpn=$qpn}"),
	  ERANGE, 0, "lightest UAR" },
	{ SWIFTRDMA_CMD_ACT, DO, MIDDLE("^action{knob=9 value=0xffffffff dev_index=$dev qpn=$qpn}"),
	  EOPNOTSUPP, 0, "libswiftrdma moves QPs" },
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

static const size_t n_bads = ARRAY_SIZE(bads);

void try_bads(void)
{
	struct rawnl_node *nodes;
	struct rawnl_reply reply;
	uint64_t before, after;
	bool ok;
	int err;

	before = hash_settings();
	for (size_t i = 0; i < n_bads; i++) {
		const struct bad *b = &bads[i];

		nodes = rawnl_parse(b->text, vars);
		rawnl_encode(&req, b->cmd, b->how, nodes, NULL, RAWNL_RIGHT);
		err = rawnl_call(&nl, &req, &reply, NULL, NULL) ?: reply.error;
		rawnl_free(nodes);
		after = hash_settings();
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

/* After all that was bad, what is good must be taken. */
void try_goods(void)
{
	struct rawnl_reply reply;
	uint64_t before, after;
	unsigned int answers;
	int err;

	for (size_t i = 0; i < n_goods; i++) {
		const struct good *g = &goods[i];

		before = hash_settings();
		err = rawnl_do(&nl, g->cmd, g->how, g->text, vars, &reply, NULL, NULL);
		after = hash_settings();
		if (err)
			printf("# error %d \"%s\"\n", err, reply.message);
		/* No process here reports anything. */
		answers = g->cmd == SWIFTRDMA_CMD_REPORT_GET ? 0 : 1;
		point(!err && (g->changes ? after != before :
			       reply.answers == answers && after == before),
		      "%s %s %.100s: done", rawnl_cmd_name(g->cmd), how_name(g->how), g->text);
	}
}
