/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * SwiftRDMA: contention of a shared RDMA NIC, seen and steered.
 *
 * Documentation
 * =============
 *
 * The generic-netlink family %SWIFTRDMA_GENL_NAME, version
 * %SWIFTRDMA_GENL_VERSION, is the whole contract between swiftrdma.ko and
 * user space. The same contract, for tools that read the kernel's
 * netlink-spec form, is Documentation/netlink/specs/swiftrdma.yaml.
 *
 * Objects
 * -------
 *
 * A *device* is an RDMA device; a *port* one of its ports; a *UAR* the page
 * whose doorbell registers a QP rings, or, on a device without UARs, the user
 * context (%SWIFTRDMA_UAR_A_KIND says which); a *QP* a queue pair; a *job* a
 * name for the owners that a list of rules matches. Job id 0 is "unassigned".
 *
 * QPNs are reused. A QP is named by device, QPN and, where it must not be
 * mistaken for a later one, %SWIFTRDMA_QP_A_SERIAL, which is never reused.
 *
 * Figures
 * -------
 *
 * The kernel computes no rates. Counters are cumulative u64 and never step
 * back while the object lives; %..._A_SINCE says since when they count and
 * %..._A_TIME when they were read, both CLOCK_MONOTONIC in ns. Job counters
 * include the QPs that are gone. If a device cannot report a figure, its
 * attribute is absent, never zero. Sizes are bytes, speeds bit/s, times ns unless
 * the name ends in _MS.
 *
 * Some figures take firmware commands: those of ports, those of DEV_GET that have a
 * time of their own, UARs of QPs that are older than the module, translations of memory
 * regions. The module sends these commands when a reader with CAP_NET_ADMIN asks for the
 * object without %SWIFTRDMA_A_CACHED; the answer waits for the device, 1.25 s at the most.
 * After that no reader waits for this device until it has answered. The module bounds how
 * many commands it sends; a figure that was not read anew is the last one, with its time.
 * So a rate is the difference of two figures divided by the difference of their own times,
 * and unknown where these times are equal.
 *
 * The module learns by a firmware command how much is outstanding in a send queue. Where a
 * device can tell (a ConnectX), the module looks at one random QP at a time, at random times,
 * for 10 s from each QP_GET with %SWIFTRDMA_A_OUTSTANDING of a reader with CAP_NET_ADMIN.
 * Between two readings that are not further apart, the mean of what it saw (SUM / SAMPLES)
 * divided by the rate of WRS is the mean time of a WQEBB in the queue (Little's law), and
 * SQUARES says how large the error of that mean may be. A program regards a request without a CQE
 * as complete when a later request has a CQE. The mean of this additional time is UNCOVERED_SUM /
 * UNCOVERED_SAMPLES divided by the same rate. If REQUEST_CHANGES grows, the QP has requests of
 * different sizes, and times of WQEBBs are not times of requests.
 *
 * Attributes
 * ----------
 *
 * The comment at an entry of an attribute enum is its type; the one above the enum
 * says what it means, and in what unit it is.
 *
 * Commands
 * --------
 *
 * %SWIFTRDMA_CMD_DEV_GET, %SWIFTRDMA_CMD_PORT_GET, %SWIFTRDMA_CMD_UAR_GET,
 * %SWIFTRDMA_CMD_QP_GET: do (one object) and dump (all). A do request names
 * its object; a dump request may carry the same attributes as filters:
 *
 *	SWIFTRDMA_A_DEV_INDEX: u32	one device, by index
 *	SWIFTRDMA_A_DEV_NAME: string	one device, by name
 *	SWIFTRDMA_A_PORT: u32		one port (PORT_GET, QP_GET)
 *	SWIFTRDMA_A_UAR: u32		one UAR (UAR_GET, QP_GET)
 *	SWIFTRDMA_A_QPN: u32		one QP (QP_GET)
 *	SWIFTRDMA_A_PID: u32		QPs of one process (QP_GET, dump)
 *	SWIFTRDMA_A_JOB: string		QPs of one job (QP_GET, dump); a job
 *	SWIFTRDMA_A_SINCE: u64		only what changed (QP_GET, dump)
 *	SWIFTRDMA_A_CACHED: flag	what was read last (and JOB_GET)
 *	SWIFTRDMA_A_OUTSTANDING: flag	look into send queues from now on (QP_GET)
 *
 * Each answer carries one object:
 *
 *	SWIFTRDMA_A_DEV | _PORT_OBJ | _UAR_OBJ | _QP | _JOB_OBJ | _ACTION |
 *	_LEVEL: nest
 *
 * Every dump ends, before NLMSG_DONE, with a message that carries
 *
 *	SWIFTRDMA_A_SNAPSHOT: nest
 *		SWIFTRDMA_SNAPSHOT_A_GENERATION: u64
 *		SWIFTRDMA_SNAPSHOT_A_TIME: u64
 *		SWIFTRDMA_SNAPSHOT_A_COUNT: u32	objects that match the filters,
 *						whether or not they changed
 *		SWIFTRDMA_SNAPSHOT_A_ARMED: flag	the module takes changes
 *
 * A QP_GET dump with %SWIFTRDMA_A_SINCE set to the generation of an earlier
 * one gives the QPs of which anything (counters included) may have changed
 * since that dump began; a change is never left out, some may come twice. QPs
 * that are gone are not listed: a reader that now holds more QPs than COUNT
 * knows that some went, and dumps in full.
 *
 * A disarmed module still answers, but it has no devices, no leases and no overrides any more.
 * It is disarmed before its devices go. So if the message that ends a dump has ARMED, the
 * module was armed while the dump was read.
 *
 * Dumps walk in order of id, QPs in that of their places in the module's table,
 * so an object that lives through the dump comes exactly once whatever is created
 * or destroyed meanwhile.
 *
 * %SWIFTRDMA_CMD_JOB_GET (do, dump): jobs with their rules and their figures,
 * one nest per device. In a dump, a job whose rules do not fit one message goes
 * on in the next, under the same id and counted once.
 *
 * %SWIFTRDMA_CMD_JOB_SET (do): creates a job, or replaces the rules that one
 * origin gave it:
 *
 *	SWIFTRDMA_A_JOB_OBJ: nest
 *		SWIFTRDMA_JOB_A_NAME: string, [A-Za-z0-9_.-], 1 to 31 bytes
 *		SWIFTRDMA_JOB_A_ORIGIN: string	the program that set it ("agent", "cli")
 *		SWIFTRDMA_JOB_A_CLASS: u32	enum swiftrdma_job_class
 *		SWIFTRDMA_JOB_A_RULE: nest, repeated
 *			SWIFTRDMA_RULE_A_ORDER: u32	lower is matched first
 *			SWIFTRDMA_RULE_A_CGROUP: string	glob on the cgroup path
 *			SWIFTRDMA_RULE_A_COMM: string	exact
 *			SWIFTRDMA_RULE_A_EXE: string	exact, basename
 *			SWIFTRDMA_RULE_A_UID: u32	effective uid
 *			SWIFTRDMA_RULE_A_PID: u32	process, initial pid ns
 *			SWIFTRDMA_RULE_A_ASKED: flag	its process asked for this job
 *			SWIFTRDMA_RULE_A_SLO_P99_MIN: u64	ns; not a condition
 *
 * An owner matches a rule if all conditions of the rule hold; a rule needs at least one.
 * Over all jobs the matching rule of lowest ORDER wins, the older one among equals.
 * The module matches every QP there is and every new one. A program sets its comm and exe
 * itself: rules that grant something should match cgroup or uid.
 *
 * With %SWIFTRDMA_IOC_ASK (swiftrdma_share.h) a process asks for a job by name, and for an
 * objective. A rule with ASKED matches only the owners whose process asked for the
 * rule's job; its other conditions decide which processes get what they ask for. The process
 * is granted its objective if the rule that matches it has SLO_P99_MIN, and the objective is
 * not less than that. The strictest objective that is granted in a job is in the job's report
 * (%SWIFTRDMA_REPORT_A_SLO_P99).
 *
 * %SWIFTRDMA_CMD_JOB_DEL (do): takes back the rules one origin gave a job
 * (SWIFTRDMA_JOB_A_NAME, SWIFTRDMA_JOB_A_ORIGIN). A job without rules goes;
 * its QPs are matched anew, its overrides are dropped.
 *
 * %SWIFTRDMA_CMD_ACT (do): a batch of knob changes under a lease:
 *
 *	SWIFTRDMA_A_LEASE: nest
 *		SWIFTRDMA_LEASE_A_ID: u64	absent: a new lease
 *		SWIFTRDMA_LEASE_A_TTL_MS: u32	1 to %SWIFTRDMA_LEASE_MAX_MS,
 *						default %SWIFTRDMA_LEASE_DEF_MS;
 *						0 with an ID ends the lease
 *		SWIFTRDMA_LEASE_A_RANK: u32	0 to 255, of a new lease
 *		SWIFTRDMA_LEASE_A_ORIGIN: string	of a new lease
 *	SWIFTRDMA_A_ACTION: nest, repeated, up to %SWIFTRDMA_BATCH_MAX
 *		SWIFTRDMA_ACTION_A_KNOB: u32	enum swiftrdma_knob
 *		SWIFTRDMA_ACTION_A_VALUE: u64	or
 *		SWIFTRDMA_ACTION_A_CLEAR: flag	drop this lease's override
 *		SWIFTRDMA_ACTION_A_JOB: string	target: a job,
 *		SWIFTRDMA_ACTION_A_DEV_INDEX: u32	on one device, or
 *		SWIFTRDMA_ACTION_A_QPN: u32	target: a QP of that device
 *		SWIFTRDMA_ACTION_A_QP_SERIAL: u64	that very QP, or -ESTALE;
 *							with CLEAR it may be gone
 *		SWIFTRDMA_ACTION_A_REASON: string	logged and shown
 *		SWIFTRDMA_ACTION_A_DECISION: nest	why a policy decided it
 *			SWIFTRDMA_DECISION_A_POLICY: string, [A-Za-z0-9_.-]
 *			SWIFTRDMA_DECISION_A_TICK: u64
 *			SWIFTRDMA_DECISION_A_COOLDOWN: u64
 *			SWIFTRDMA_DECISION_A_STEPS_LEFT: u32
 *			SWIFTRDMA_DECISION_A_ACTS_LEFT: u32
 *			SWIFTRDMA_DECISION_A_DEV_INDEX: u32
 *			SWIFTRDMA_DECISION_A_PORT: u32
 *			SWIFTRDMA_DECISION_A_UAR: u32
 *			SWIFTRDMA_DECISION_A_QPN: u32
 *			SWIFTRDMA_DECISION_A_READING: nest, repeated, up to
 *						%SWIFTRDMA_READINGS_MAX
 *				SWIFTRDMA_READING_A_SIGNAL: string
 *				SWIFTRDMA_READING_A_VALUE: s64
 *
 * The module does not use a DECISION. The module keeps it with the override and repeats it
 * unchanged in ACT_NTF and ACTION_GET. A DECISION must have POLICY and TICK.
 *
 * The module validates the batch as a whole: if one item is bad, no item is applied. Each
 * ACT that names a lease starts the lease's time anew; an ACT without items keeps the lease
 * alive. The answer is the lease (ID, TTL_MS) and
 *
 *	SWIFTRDMA_A_BATCH: u64
 *
 * Changes are applied after the answer. One %SWIFTRDMA_CMD_ACT_NTF per item reports the result
 * when the module has gone over all devices that the batch concerns, and the libraries that
 * enforce a knob have answered; the module waits 3 s for the libraries. If a device does not
 * answer for 3 s, the module reports the results without that device, with its QPs as pending,
 * and reports them once more when the device answers.
 *
 * An override is desired state. What holds for a knob is the value of the live lease
 * of highest rank (the younger lease among equals, and a QP's own override before its
 * job's at equal rank), else what the application asked for last. When a lease runs
 * out, the module takes back what the lease held in the same way. It tries QPs that
 * cannot be changed at once again; meanwhile ACTION_GET lists them with the reason.
 *
 * %SWIFTRDMA_CMD_ACTION_GET (dump): overrides in force, and QPs whose class is
 * not what it should be.
 *
 * %SWIFTRDMA_CMD_LEVEL_GET (dump), %SWIFTRDMA_CMD_LEVEL_SET (do): the table
 * that says what a class level means on the wire. SET replaces the meaning of one
 * or more, each a DSCP, a service level or both,
 *
 *	SWIFTRDMA_A_LEVEL: nest, repeated
 *		SWIFTRDMA_LEVEL_A_LEVEL: u32	0 to %SWIFTRDMA_LEVEL_MAX
 *		SWIFTRDMA_LEVEL_A_DSCP: u32	0 to 63
 *		SWIFTRDMA_LEVEL_A_SL: u32	0 to 15
 *
 * and GET lists the levels that are set. A level that was never set has no meaning, and
 * an ACT that asks for it is refused (-ENODATA): each site decides which DSCP is lossless
 * and goes before others, and which SL the subnet manager has a path for. Where a level
 * has no DSCP, or no SL, the application's own stays; so do the two low bits of the traffic
 * class (ECN). A level that was set stays set until the module is unloaded.
 *
 * %SWIFTRDMA_CMD_REPORT_GET (dump, SINCE, one device or all): what libraries in processes
 * reported by the memory that rdma/swiftrdma_share.h describes. The module reads all
 * reports when the dump begins, unless CACHED is there. First comes a message for each job
 * and device that a process with the library was in, for readers with CAP_NET_ADMIN:
 *
 *	SWIFTRDMA_A_REPORT: nest
 *		SWIFTRDMA_REPORT_A_DEV_INDEX, SWIFTRDMA_REPORT_A_JOB, figures,
 *		SWIFTRDMA_REPORT_A_LATENCY: the histogram
 *		SWIFTRDMA_REPORT_A_HELD: nest, repeated: posts that a knob held
 *
 * then one for each QP that is alive and that a library of its own process reports on:
 *
 *	SWIFTRDMA_A_REPORT: nest
 *		SWIFTRDMA_REPORT_A_DEV_INDEX, SWIFTRDMA_REPORT_A_QPN,
 *		SWIFTRDMA_REPORT_A_QP_SERIAL, figures
 *
 * The figures are the processes' own. The module makes sure that they only grow, and by no
 * more than a NIC can do; where it counts the same (QP_GET, JOB_GET), its own figure holds.
 * What a process reported stays in the sums of its job when the process is gone.
 *
 * %SWIFTRDMA_CMD_PEER_GET (do): what the module at the other end of a connection says of its
 * QP. The request names a device and QPN, and needs CAP_NET_ADMIN. The module sends management
 * datagrams on QP 1 to the module of the peer's host, by the address vector of the QP, and waits
 * 2 s at most for a reply. The answer is
 *
 *	SWIFTRDMA_A_PEER: nest
 *
 * whose STATUS says whether the peer answered. The attributes from TCLASS_ASKED on are there if
 * it did. To forge a reply, an attacker must be able to receive the packets that are sent to the
 * peer's address.
 *
 * While an override gives a connected QP a LEVEL above 0, this host's module sends the module of
 * the peer's host a wish: the peer's QP should have the same level. The wish is repeated, and
 * lapses 20 s after it came last. PEER_WISH of a QP is the level that its peer wishes. A wish
 * changes the class of the QP only as far as an override of %SWIFTRDMA_KNOB_FOLLOW allows, and a
 * level that FOLLOW puts in force causes no wish. %SWIFTRDMA_QP_A_ENDS says whether both ends are
 * raised, and if not, why.
 *
 * Notifications
 * -------------
 *
 * Multicast group %SWIFTRDMA_MCGRP_EVENTS, in the initial network namespace:
 *
 *	SWIFTRDMA_CMD_QP_CREATED_NTF	SWIFTRDMA_A_QP
 *	SWIFTRDMA_CMD_QP_DESTROYED_NTF	SWIFTRDMA_A_QP, with its last figures
 *	SWIFTRDMA_CMD_ACT_NTF		SWIFTRDMA_A_BATCH, SWIFTRDMA_A_ACTION; once,
 *					or twice where a device is slow
 *	SWIFTRDMA_CMD_LEASE_NTF		SWIFTRDMA_A_LEASE: it ended
 *	SWIFTRDMA_CMD_CONGESTION_NTF	SWIFTRDMA_A_DEV: doorbells congested;
 *					SWIFTRDMA_A_UAR_OBJ, repeated: the UARs
 *					that were busiest then, busiest first
 *
 * A listener that gets ENOBUFS lost some and should dump.
 *
 * Permissions and namespaces
 * --------------------------
 *
 * CAP_NET_ADMIN in the initial user namespace (of the socket's opener and of
 * the sender) is needed to change anything, to read jobs, actions and levels,
 * and to hear events. Without it DEV_GET and PORT_GET answer in full, UAR_GET
 * and QP_GET show what the socket's opener (its effective uid) owns, of processes
 * that are, or were, in the reader's pid namespace or one below it, and COUNT counts
 * just that. So root of a container sees the container's, also where that has no user
 * namespace of its own. Such a reader is shown no cgroup, because cgroup paths are the
 * host's. For it the module sends no command to a NIC: it gets the figures that were read
 * last.
 *
 * The family is there in every network namespace; a device is seen where RDMA
 * core lets it be used. A process id is that of the reader's pid namespace and
 * 0 where the process is not in it; cgroup paths are as the initial cgroup
 * namespace sees them.
 *
 * Errors
 * ------
 *
 * Each comes with an extack message, and with the offending attribute where
 * there is one. -EINVAL: malformed, missing or contradictory; -ERANGE: a value
 * out of bounds; -ENODEV, -ENOENT: no such device, no such object; -ESTALE: the
 * QPN is now another QP; -ENODATA: a class level that was never set; -EPERM;
 * -EOPNOTSUPP: the knob is not enforced by the
 * kernel, or not by this device, or by no library in the job's processes; -E2BIG: too many
 * items; -ENOSPC: a table is full; -EAGAIN: the port was not read yet; -ESHUTDOWN: the module
 * is disarmed.
 *
 * Creating a QP beyond a job's max_qps or create_rate fails with -EDQUOT.
 *
 * Versions
 * --------
 *
 * Attributes and commands are only ever added; Documentation/ABI/netlink-names lists
 * their numbers. The module refuses unknown attributes in a request (strict validation);
 * a reader must skip unknown ones in an answer.
 */
#ifndef _UAPI_RDMA_SWIFTRDMA_H
#define _UAPI_RDMA_SWIFTRDMA_H

#include <linux/types.h>

#define SWIFTRDMA_GENL_NAME	"swiftrdma"
#define SWIFTRDMA_GENL_VERSION	1
#define SWIFTRDMA_MCGRP_EVENTS	"events"

/* Bounds. Strings count their terminating NUL. */
#define SWIFTRDMA_NAME_LEN	32	/* job, origin */
#define SWIFTRDMA_COMM_LEN	16	/* TASK_COMM_LEN */
#define SWIFTRDMA_EXE_LEN	64
#define SWIFTRDMA_PATH_LEN	256	/* cgroup path or glob */
#define SWIFTRDMA_REASON_LEN	256
#define SWIFTRDMA_DEVNAME_LEN	64	/* IB_DEVICE_NAME_MAX */
#define SWIFTRDMA_LEVEL_MAX	7
#define SWIFTRDMA_RANK_MAX	255
#define SWIFTRDMA_BATCH_MAX	256	/* items of one ACT */
#define SWIFTRDMA_READINGS_MAX	12	/* of one decision */
#define SWIFTRDMA_JOBS_MAX	1024
#define SWIFTRDMA_RULES_MAX	64	/* of one job and origin */
#define SWIFTRDMA_LEASES_MAX	1024
#define SWIFTRDMA_LEASE_DEF_MS	5000
#define SWIFTRDMA_LEASE_MAX_MS	3600000

/**
 * enum swiftrdma_cmd - commands and events
 * @SWIFTRDMA_CMD_UNSPEC: not used
 * @SWIFTRDMA_CMD_DEV_GET: devices (do, dump)
 * @SWIFTRDMA_CMD_PORT_GET: ports (do, dump)
 * @SWIFTRDMA_CMD_UAR_GET: UARs (do, dump)
 * @SWIFTRDMA_CMD_QP_GET: QPs (do, dump)
 * @SWIFTRDMA_CMD_JOB_GET: jobs, with their rules and figures (do, dump)
 * @SWIFTRDMA_CMD_JOB_SET: create a job, or replace the rules that one origin gave
 *	it (do)
 * @SWIFTRDMA_CMD_JOB_DEL: take back the rules that one origin gave a job (do)
 * @SWIFTRDMA_CMD_ACT: change knobs; keep or end a lease (do)
 * @SWIFTRDMA_CMD_ACTION_GET: overrides, and QPs that are not yet as they should be
 *	(dump)
 * @SWIFTRDMA_CMD_LEVEL_GET: what class levels mean on the wire (dump)
 * @SWIFTRDMA_CMD_LEVEL_SET: say what they mean (do)
 * @SWIFTRDMA_CMD_QP_CREATED_NTF: event: there is a new QP
 * @SWIFTRDMA_CMD_QP_DESTROYED_NTF: event: a QP is gone
 * @SWIFTRDMA_CMD_ACT_NTF: event: how one item of an ACT went
 * @SWIFTRDMA_CMD_LEASE_NTF: event: a lease ended
 * @SWIFTRDMA_CMD_CONGESTION_NTF: event: doorbells of a device are congested
 * @SWIFTRDMA_CMD_REPORT_GET: what libraries in processes reported (dump)
 * @SWIFTRDMA_CMD_PEER_GET: what the other end of a connection says (do)
 * @__SWIFTRDMA_CMD_MAX: one past the last
 *
 * What each takes and answers is in the opening comment.
 */
enum swiftrdma_cmd {
	SWIFTRDMA_CMD_UNSPEC,
	SWIFTRDMA_CMD_DEV_GET,
	SWIFTRDMA_CMD_PORT_GET,
	SWIFTRDMA_CMD_UAR_GET,
	SWIFTRDMA_CMD_QP_GET,
	SWIFTRDMA_CMD_JOB_GET,
	SWIFTRDMA_CMD_JOB_SET,
	SWIFTRDMA_CMD_JOB_DEL,
	SWIFTRDMA_CMD_ACT,
	SWIFTRDMA_CMD_ACTION_GET,
	SWIFTRDMA_CMD_LEVEL_GET,
	SWIFTRDMA_CMD_LEVEL_SET,
	SWIFTRDMA_CMD_QP_CREATED_NTF,
	SWIFTRDMA_CMD_QP_DESTROYED_NTF,
	SWIFTRDMA_CMD_ACT_NTF,
	SWIFTRDMA_CMD_LEASE_NTF,
	SWIFTRDMA_CMD_CONGESTION_NTF,
	SWIFTRDMA_CMD_REPORT_GET,
	SWIFTRDMA_CMD_PEER_GET,
	__SWIFTRDMA_CMD_MAX
};

#define SWIFTRDMA_CMD_MAX (__SWIFTRDMA_CMD_MAX - 1)

/**
 * enum swiftrdma_attr - top level of every message
 * @SWIFTRDMA_A_UNSPEC: not used
 * @SWIFTRDMA_A_PAD: aligns a u64
 * @SWIFTRDMA_A_DEV_INDEX: request: the device, as `rdma dev` numbers it
 * @SWIFTRDMA_A_DEV_NAME: request: the device, by name
 * @SWIFTRDMA_A_PORT: request: the port
 * @SWIFTRDMA_A_UAR: request: the UAR, by index
 * @SWIFTRDMA_A_QPN: request: the QP, by number
 * @SWIFTRDMA_A_PID: dump request: QPs of this process, in the reader's pid
 *	namespace
 * @SWIFTRDMA_A_JOB: request: the job, by name
 * @SWIFTRDMA_A_SINCE: dump request: QPs that may have changed since the dump of
 *	this generation
 * @SWIFTRDMA_A_SNAPSHOT: ends a dump
 * @SWIFTRDMA_A_DEV: a device
 * @SWIFTRDMA_A_PORT_OBJ: a port
 * @SWIFTRDMA_A_UAR_OBJ: a UAR
 * @SWIFTRDMA_A_QP: a QP
 * @SWIFTRDMA_A_JOB_OBJ: a job
 * @SWIFTRDMA_A_LEASE: a lease
 * @SWIFTRDMA_A_ACTION: an item of an ACT, and what became of it; an entry of
 *	ACTION_GET
 * @SWIFTRDMA_A_LEVEL: a class level
 * @SWIFTRDMA_A_BATCH: number of an ACT, which its events bear
 * @SWIFTRDMA_A_CACHED: request: what was read last; no device is asked for anything
 * @SWIFTRDMA_A_REPORT: what libraries reported of a job on a device, or of a QP
 * @SWIFTRDMA_A_OUTSTANDING: request: look into send queues for 10 s from now; the answer has
 *	what was seen until now. Ignored if the reader has no CAP_NET_ADMIN, and with CACHED.
 * @SWIFTRDMA_A_PEER: the other end of a connection
 * @__SWIFTRDMA_A_MAX: one past the last
 */
enum swiftrdma_attr {
	SWIFTRDMA_A_UNSPEC,
	SWIFTRDMA_A_PAD,
	SWIFTRDMA_A_DEV_INDEX,		/* u32 */
	SWIFTRDMA_A_DEV_NAME,		/* string */
	SWIFTRDMA_A_PORT,		/* u32 */
	SWIFTRDMA_A_UAR,		/* u32 */
	SWIFTRDMA_A_QPN,		/* u32 */
	SWIFTRDMA_A_PID,		/* u32 */
	SWIFTRDMA_A_JOB,		/* string */
	SWIFTRDMA_A_SINCE,		/* u64 */
	SWIFTRDMA_A_SNAPSHOT,		/* nest swiftrdma_snapshot_attr */
	SWIFTRDMA_A_DEV,		/* nest swiftrdma_dev_attr */
	SWIFTRDMA_A_PORT_OBJ,		/* nest swiftrdma_port_attr */
	SWIFTRDMA_A_UAR_OBJ,		/* nest swiftrdma_uar_attr, repeated in events */
	SWIFTRDMA_A_QP,			/* nest swiftrdma_qp_attr */
	SWIFTRDMA_A_JOB_OBJ,		/* nest swiftrdma_job_attr */
	SWIFTRDMA_A_LEASE,		/* nest swiftrdma_lease_attr */
	SWIFTRDMA_A_ACTION,		/* nest swiftrdma_action_attr */
	SWIFTRDMA_A_LEVEL,		/* nest swiftrdma_level_attr */
	SWIFTRDMA_A_BATCH,		/* u64 */
	SWIFTRDMA_A_CACHED,		/* flag */
	SWIFTRDMA_A_REPORT,		/* nest swiftrdma_report_attr */
	SWIFTRDMA_A_OUTSTANDING,	/* flag */
	SWIFTRDMA_A_PEER,		/* nest swiftrdma_peer_attr */
	__SWIFTRDMA_A_MAX
};

#define SWIFTRDMA_A_MAX (__SWIFTRDMA_A_MAX - 1)

/**
 * enum swiftrdma_report_attr - what libraries reported
 * @SWIFTRDMA_REPORT_A_UNSPEC: not used
 * @SWIFTRDMA_REPORT_A_PAD: aligns a u64
 * @SWIFTRDMA_REPORT_A_DEV_INDEX: device
 * @SWIFTRDMA_REPORT_A_JOB: id of the job; absent: this is a QP's
 * @SWIFTRDMA_REPORT_A_QPN: the QP
 * @SWIFTRDMA_REPORT_A_QP_SERIAL: the same, as %SWIFTRDMA_QP_A_SERIAL
 * @SWIFTRDMA_REPORT_A_FLAGS: of a QP, enum swiftrdma_slot_flags
 * @SWIFTRDMA_REPORT_A_PROCESSES: of a job: processes that are attached
 * @SWIFTRDMA_REPORT_A_WRS: work requests that send queues took
 * @SWIFTRDMA_REPORT_A_BYTES: bytes of these
 * @SWIFTRDMA_REPORT_A_RECV_WRS: work requests that receive queues took, shared ones not
 *	included
 * @SWIFTRDMA_REPORT_A_DONE: work requests of send queues that are complete
 * @SWIFTRDMA_REPORT_A_DROPPED: those whose completion the library will not see
 * @SWIFTRDMA_REPORT_A_ERRORS: completions with an error, of both queues
 * @SWIFTRDMA_REPORT_A_OUTSTANDING: of a QP, work requests that are not complete; absent
 *	where the library cannot know
 * @SWIFTRDMA_REPORT_A_SAMPLES: latencies that were measured
 * @SWIFTRDMA_REPORT_A_LATENCY_WRS: work requests that these samples stand for
 * @SWIFTRDMA_REPORT_A_LATENCY_SUM: sum of the latencies of LATENCY_WRS, ns
 * @SWIFTRDMA_REPORT_A_LATENCY_MAX: the greatest latency since SINCE, ns
 * @SWIFTRDMA_REPORT_A_HOL_WRS: work requests whose head-of-line wait is in HOL_SUM
 * @SWIFTRDMA_REPORT_A_HOL_SUM: sum of these waits, ns
 * @SWIFTRDMA_REPORT_A_HOL_MAX: the greatest one since SINCE, ns
 * @SWIFTRDMA_REPORT_A_LATENCY: of a job: %SWIFTRDMA_HIST_BUCKETS u64 in the host's byte
 *	order, the latencies by swiftrdma_hist_bucket(), each with the number of work
 *	requests that it stands for
 * @SWIFTRDMA_REPORT_A_DISTRUSTED: a process of the job reported more than a NIC can do; the
 *	figures include only what is possible
 * @SWIFTRDMA_REPORT_A_SINCE: when counting began, ns
 * @SWIFTRDMA_REPORT_A_TIME: when this was read, ns
 * @SWIFTRDMA_REPORT_A_HELD: of a job, one for each knob that a library can enforce or has
 *	enforced: what became of it
 * @SWIFTRDMA_REPORT_A_SLO_P99: of a job: the strictest objective that is granted to a process
 *	which is attached, ns; absent: none is
 * @SWIFTRDMA_REPORT_A_CALLS: calls that posted at least one work request to a send queue
 * @SWIFTRDMA_REPORT_A_DOORBELLS: of a QP, doorbells that the kernel counted since the QP was
 *	created, read right after CALLS; absent where the kernel does not see them. Each call
 *	rings once, so what exceeds CALLS was posted past the library, or is on its way
 * @SWIFTRDMA_REPORT_A_NOW_QPN: of a QP, the one that carries its requests since it has moved;
 *	absent: itself. The application's QP is in RESET then. Both are QPs of its job, and
 *	DOORBELLS has those of both
 * @__SWIFTRDMA_REPORT_A_MAX: one past the last
 */
enum swiftrdma_report_attr {
	SWIFTRDMA_REPORT_A_UNSPEC,
	SWIFTRDMA_REPORT_A_PAD,
	SWIFTRDMA_REPORT_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_REPORT_A_JOB,		/* u32 */
	SWIFTRDMA_REPORT_A_QPN,		/* u32 */
	SWIFTRDMA_REPORT_A_QP_SERIAL,	/* u64 */
	SWIFTRDMA_REPORT_A_FLAGS,	/* u32 */
	SWIFTRDMA_REPORT_A_PROCESSES,	/* u32 */
	SWIFTRDMA_REPORT_A_WRS,		/* u64 */
	SWIFTRDMA_REPORT_A_BYTES,	/* u64 */
	SWIFTRDMA_REPORT_A_RECV_WRS,	/* u64 */
	SWIFTRDMA_REPORT_A_DONE,	/* u64 */
	SWIFTRDMA_REPORT_A_DROPPED,	/* u64 */
	SWIFTRDMA_REPORT_A_ERRORS,	/* u64 */
	SWIFTRDMA_REPORT_A_OUTSTANDING,	/* u64 */
	SWIFTRDMA_REPORT_A_SAMPLES,	/* u64 */
	SWIFTRDMA_REPORT_A_LATENCY_WRS,	/* u64 */
	SWIFTRDMA_REPORT_A_LATENCY_SUM,	/* u64 */
	SWIFTRDMA_REPORT_A_LATENCY_MAX,	/* u64 */
	SWIFTRDMA_REPORT_A_HOL_WRS,	/* u64 */
	SWIFTRDMA_REPORT_A_HOL_SUM,	/* u64 */
	SWIFTRDMA_REPORT_A_HOL_MAX,	/* u64 */
	SWIFTRDMA_REPORT_A_LATENCY,	/* binary */
	SWIFTRDMA_REPORT_A_DISTRUSTED,	/* flag */
	SWIFTRDMA_REPORT_A_SINCE,	/* u64 */
	SWIFTRDMA_REPORT_A_TIME,	/* u64 */
	SWIFTRDMA_REPORT_A_HELD,	/* nest swiftrdma_held_attr, repeated */
	SWIFTRDMA_REPORT_A_SLO_P99,	/* u64 */
	SWIFTRDMA_REPORT_A_CALLS,	/* u64 */
	SWIFTRDMA_REPORT_A_DOORBELLS,	/* u64 */
	SWIFTRDMA_REPORT_A_NOW_QPN,	/* u32 */
	__SWIFTRDMA_REPORT_A_MAX
};

#define SWIFTRDMA_REPORT_A_MAX (__SWIFTRDMA_REPORT_A_MAX - 1)

/**
 * enum swiftrdma_held_attr - a knob that the libraries in a job's processes enforce, on a device
 * @SWIFTRDMA_HELD_A_UNSPEC: not used
 * @SWIFTRDMA_HELD_A_PAD: aligns a u64
 * @SWIFTRDMA_HELD_A_KNOB: WR_RATE, BIT_RATE, CREDITS, UAR, PLACE, CHUNK or HUGE_PAGES
 * @SWIFTRDMA_HELD_A_PROCESSES: processes, attached now, whose library can enforce it
 * @SWIFTRDMA_HELD_A_IN_FORCE: of these, those in which it is in force
 * @SWIFTRDMA_HELD_A_POSTS: calls that waited for it; absent, like WRS, TIME and PASSED: no call
 *	waits for this knob
 * @SWIFTRDMA_HELD_A_WRS: work requests of these
 * @SWIFTRDMA_HELD_A_TIME: how long they waited, added up over all threads, ns
 * @SWIFTRDMA_HELD_A_PASSED: calls of POSTS that were let through before their turn, because a call
 *	waits for 1 s at most; what they posted is charged all the same
 * @SWIFTRDMA_HELD_A_SPLIT: work requests that were posted in pieces; of CHUNK only
 * @SWIFTRDMA_HELD_A_WHOLE: work requests above the size of CHUNK that were posted whole, for a
 *	lack of room or of order; of CHUNK only
 * @__SWIFTRDMA_HELD_A_MAX: one past the last
 */
enum swiftrdma_held_attr {
	SWIFTRDMA_HELD_A_UNSPEC,
	SWIFTRDMA_HELD_A_PAD,
	SWIFTRDMA_HELD_A_KNOB,		/* u32, enum swiftrdma_knob */
	SWIFTRDMA_HELD_A_PROCESSES,	/* u32 */
	SWIFTRDMA_HELD_A_IN_FORCE,	/* u32 */
	SWIFTRDMA_HELD_A_POSTS,		/* u64 */
	SWIFTRDMA_HELD_A_WRS,		/* u64 */
	SWIFTRDMA_HELD_A_TIME,		/* u64 */
	SWIFTRDMA_HELD_A_PASSED,	/* u64 */
	SWIFTRDMA_HELD_A_SPLIT,		/* u64 */
	SWIFTRDMA_HELD_A_WHOLE,		/* u64 */
	__SWIFTRDMA_HELD_A_MAX
};

#define SWIFTRDMA_HELD_A_MAX (__SWIFTRDMA_HELD_A_MAX - 1)

/**
 * enum swiftrdma_snapshot_attr - what ends a dump
 * @SWIFTRDMA_SNAPSHOT_A_UNSPEC: not used
 * @SWIFTRDMA_SNAPSHOT_A_PAD: aligns a u64
 * @SWIFTRDMA_SNAPSHOT_A_GENERATION: of this dump: %SWIFTRDMA_A_SINCE of a later one
 * @SWIFTRDMA_SNAPSHOT_A_TIME: when it began, ns
 * @SWIFTRDMA_SNAPSHOT_A_COUNT: objects that match the filters, whether or not they
 *	changed
 * @SWIFTRDMA_SNAPSHOT_A_ARMED: the module's wrappers are in place and it takes changes;
 *	absent: it is disarmed, and every change is refused with -ESHUTDOWN
 * @__SWIFTRDMA_SNAPSHOT_A_MAX: one past the last
 */
enum swiftrdma_snapshot_attr {
	SWIFTRDMA_SNAPSHOT_A_UNSPEC,
	SWIFTRDMA_SNAPSHOT_A_PAD,
	SWIFTRDMA_SNAPSHOT_A_GENERATION, /* u64 */
	SWIFTRDMA_SNAPSHOT_A_TIME,	/* u64 */
	SWIFTRDMA_SNAPSHOT_A_COUNT,	/* u32 */
	SWIFTRDMA_SNAPSHOT_A_ARMED,	/* flag */
	__SWIFTRDMA_SNAPSHOT_A_MAX
};

#define SWIFTRDMA_SNAPSHOT_A_MAX (__SWIFTRDMA_SNAPSHOT_A_MAX - 1)

/**
 * enum swiftrdma_dev_cap - what a device's provider can tell and do
 * @SWIFTRDMA_DEV_CAP_DOORBELLS: doorbells of user QPs are counted
 * @SWIFTRDMA_DEV_CAP_WRS: work requests of user QPs are counted
 * @SWIFTRDMA_DEV_CAP_LIVE_CLASS: the class of a connected QP can be changed
 * @SWIFTRDMA_DEV_CAP_CONTEXTS: user contexts are seen from their opening on
 * @SWIFTRDMA_DEV_CAP_UARS: UARs are pages of the NIC, known QP by QP
 * @SWIFTRDMA_DEV_CAP_WQEBBS: what ..._WRS counts are the 64-byte blocks that work
 *	requests take in the send queue, one or more each
 * @SWIFTRDMA_DEV_CAP_CONGESTION: the device tells when doorbells are congested
 * @SWIFTRDMA_DEV_CAP_RATES: rates and weights of jobs are enforced by the device
 */
enum swiftrdma_dev_cap {
	SWIFTRDMA_DEV_CAP_DOORBELLS	= 1 << 0,
	SWIFTRDMA_DEV_CAP_WRS		= 1 << 1,
	SWIFTRDMA_DEV_CAP_LIVE_CLASS	= 1 << 2,
	SWIFTRDMA_DEV_CAP_CONTEXTS	= 1 << 3,
	SWIFTRDMA_DEV_CAP_UARS		= 1 << 4,
	SWIFTRDMA_DEV_CAP_WQEBBS	= 1 << 5,
	SWIFTRDMA_DEV_CAP_CONGESTION	= 1 << 6,
	SWIFTRDMA_DEV_CAP_RATES		= 1 << 7,
};

/**
 * enum swiftrdma_function - which function of a NIC a device is
 * @SWIFTRDMA_FUNCTION_UNSPEC: not used
 * @SWIFTRDMA_FUNCTION_PF: a physical function
 * @SWIFTRDMA_FUNCTION_VF: a virtual function
 * @SWIFTRDMA_FUNCTION_SF: a scalable function
 * @SWIFTRDMA_FUNCTION_REPRESENTOR: a physical function in switchdev mode, each of whose
 *	ports stands for a port of the NIC's switch
 */
enum swiftrdma_function {
	SWIFTRDMA_FUNCTION_UNSPEC,
	SWIFTRDMA_FUNCTION_PF,
	SWIFTRDMA_FUNCTION_VF,
	SWIFTRDMA_FUNCTION_SF,
	SWIFTRDMA_FUNCTION_REPRESENTOR,
};

/**
 * enum swiftrdma_dev_attr - a device
 * @SWIFTRDMA_DEV_A_UNSPEC: not used
 * @SWIFTRDMA_DEV_A_PAD: aligns a u64
 * @SWIFTRDMA_DEV_A_INDEX: as `rdma dev` shows it
 * @SWIFTRDMA_DEV_A_NAME: name
 * @SWIFTRDMA_DEV_A_PROVIDER: "rxe", "generic", ...
 * @SWIFTRDMA_DEV_A_CAPS: bits
 * @SWIFTRDMA_DEV_A_PORTS: how many ports it has
 * @SWIFTRDMA_DEV_A_QPS: QPs alive and tracked
 * @SWIFTRDMA_DEV_A_UARS: UARs known
 * @SWIFTRDMA_DEV_A_CQS: CQs alive
 * @SWIFTRDMA_DEV_A_MRS: memory regions alive
 * @SWIFTRDMA_DEV_A_CREATED: QPs created since SINCE
 * @SWIFTRDMA_DEV_A_CREATE_FAILED: QPs refused by the driver
 * @SWIFTRDMA_DEV_A_REJECTED: QPs refused by admission
 * @SWIFTRDMA_DEV_A_DESTROYED: QPs destroyed
 * @SWIFTRDMA_DEV_A_MODIFIED: successful modify_qp calls
 * @SWIFTRDMA_DEV_A_ADOPTED: QPs that the module tracks without having seen their creation
 * @SWIFTRDMA_DEV_A_UNTRACKED: QPs lost track of for lack of memory
 * @SWIFTRDMA_DEV_A_LIVE_CHANGED: class changes of connected QPs
 * @SWIFTRDMA_DEV_A_LIVE_FAILED: attempts at such a change that were given up
 * @SWIFTRDMA_DEV_A_DRAIN_MAX: the longest pause that such a change caused, ns
 * @SWIFTRDMA_DEV_A_SINCE: when counting began, ns
 * @SWIFTRDMA_DEV_A_TIME: when the figures without a time of their own were read, ns
 * @SWIFTRDMA_DEV_A_QP_LIMIT: how many QPs there can be
 * @SWIFTRDMA_DEV_A_CQ_LIMIT: how many CQs
 * @SWIFTRDMA_DEV_A_MR_LIMIT: how many memory regions
 * @SWIFTRDMA_DEV_A_UAR_LIMIT: how many UAR pages, those of drivers included
 * @SWIFTRDMA_DEV_A_COMMANDS: firmware commands that the module sent to the NIC, and that
 *	the NIC's driver sent because the module called it; not the latter where the kernel
 *	has no probes, or with parameter devx=0
 * @SWIFTRDMA_DEV_A_COMMAND_TIME: how long these commands took together, ns
 * @SWIFTRDMA_DEV_A_SWEEPS: sweeps of the sampler: it read all doorbell records once in each
 * @SWIFTRDMA_DEV_A_SWEEP_TIME: how long all sweeps took together, ns
 * @SWIFTRDMA_DEV_A_SWEEP_GAP: the longest time between two sweeps, ns
 * @SWIFTRDMA_DEV_A_RECORDS: doorbell records that a sweep reads
 * @SWIFTRDMA_DEV_A_HELD_PAGES: references to users' pages
 * @SWIFTRDMA_DEV_A_CONGESTIONS: doorbell congestion events
 * @SWIFTRDMA_DEV_A_CONGESTION_LEVEL: level of the last of these events
 * @SWIFTRDMA_DEV_A_CONGESTED_AT: when that event came, ns
 * @SWIFTRDMA_DEV_A_MTT_HITS: hits in the NIC's cache of translations
 * @SWIFTRDMA_DEV_A_MTT_MISSES: misses in that cache
 * @SWIFTRDMA_DEV_A_READ_STALL: device cycles that reads over PCI held up
 * @SWIFTRDMA_DEV_A_MRS_UNKNOWN: of MRS: those older than the module, and the
 *	kernel's
 * @SWIFTRDMA_DEV_A_MR_BYTES: bytes of the other regions, without those paged on demand
 * @SWIFTRDMA_DEV_A_MTTS: translations that these regions take in the NIC
 * @SWIFTRDMA_DEV_A_MTTS_UNKNOWN: memory regions that MTTS does not cover (yet)
 * @SWIFTRDMA_DEV_A_MR_PAGE_MIN: the smallest page that these regions are mapped in, bytes
 * @SWIFTRDMA_DEV_A_MR_PAGE_MAX: the largest such page, bytes
 * @SWIFTRDMA_DEV_A_PCIE_STALLED_READS: share of the last second in which the PCI
 *	bus held reads up, because the host granted no credits, %
 * @SWIFTRDMA_DEV_A_PCIE_STALLED_WRITES: the same share for writes, %
 * @SWIFTRDMA_DEV_A_PCIE_STALLED_READ_SECONDS: seconds in which the share for reads was over
 *	30 %
 * @SWIFTRDMA_DEV_A_PCIE_STALLED_WRITE_SECONDS: seconds in which the share for writes was over
 *	30 %
 * @SWIFTRDMA_DEV_A_DEVX_QPS: of QPS, those made past RDMA core since the provider was
 *	loaded; absent: the module does not see such QPs
 * @SWIFTRDMA_DEV_A_DEVX_CREATED: QPs made past RDMA core since then; not in CREATED
 * @SWIFTRDMA_DEV_A_DEVX_MISSED: of such QPs, the most that the module may have missed
 * @SWIFTRDMA_DEV_A_DIAG_TIME: when MTT_HITS, MTT_MISSES, READ_STALL, QPC_HITS and
 *	QPC_MISSES were read, ns
 * @SWIFTRDMA_DEV_A_PCIE_TIME: when PCIE_STALLED_... were read, ns
 * @SWIFTRDMA_DEV_A_FUNCTION: which function of its NIC the device is; absent: not known,
 *	or the device is no function of a NIC
 * @SWIFTRDMA_DEV_A_QPC_HITS: hits in the NIC's cache of QP contexts; absent: the NIC does
 *	not count them, and no ConnectX is known to
 * @SWIFTRDMA_DEV_A_QPC_MISSES: misses in that cache
 * @__SWIFTRDMA_DEV_A_MAX: one past the last
 *
 * Only a physical function has the figures that are counted for a whole NIC: MTT_HITS to
 * READ_STALL, QPC_... and PCIE_STALLED_....
 */
enum swiftrdma_dev_attr {
	SWIFTRDMA_DEV_A_UNSPEC,
	SWIFTRDMA_DEV_A_PAD,
	SWIFTRDMA_DEV_A_INDEX,		/* u32 */
	SWIFTRDMA_DEV_A_NAME,		/* string */
	SWIFTRDMA_DEV_A_PROVIDER,	/* string */
	SWIFTRDMA_DEV_A_CAPS,		/* u32, enum swiftrdma_dev_cap */
	SWIFTRDMA_DEV_A_PORTS,		/* u32 */
	SWIFTRDMA_DEV_A_QPS,		/* u32 */
	SWIFTRDMA_DEV_A_UARS,		/* u32 */
	SWIFTRDMA_DEV_A_CQS,		/* u32 */
	SWIFTRDMA_DEV_A_MRS,		/* u32 */
	SWIFTRDMA_DEV_A_CREATED,	/* u64 */
	SWIFTRDMA_DEV_A_CREATE_FAILED,	/* u64 */
	SWIFTRDMA_DEV_A_REJECTED,	/* u64 */
	SWIFTRDMA_DEV_A_DESTROYED,	/* u64 */
	SWIFTRDMA_DEV_A_MODIFIED,	/* u64 */
	SWIFTRDMA_DEV_A_ADOPTED,	/* u64 */
	SWIFTRDMA_DEV_A_UNTRACKED,	/* u64 */
	SWIFTRDMA_DEV_A_LIVE_CHANGED,	/* u64 */
	SWIFTRDMA_DEV_A_LIVE_FAILED,	/* u64 */
	SWIFTRDMA_DEV_A_DRAIN_MAX,	/* u64 */
	SWIFTRDMA_DEV_A_SINCE,		/* u64 */
	SWIFTRDMA_DEV_A_TIME,		/* u64 */
	SWIFTRDMA_DEV_A_QP_LIMIT,	/* u32 */
	SWIFTRDMA_DEV_A_CQ_LIMIT,	/* u32 */
	SWIFTRDMA_DEV_A_MR_LIMIT,	/* u32 */
	SWIFTRDMA_DEV_A_UAR_LIMIT,	/* u32 */
	SWIFTRDMA_DEV_A_COMMANDS,	/* u64 */
	SWIFTRDMA_DEV_A_COMMAND_TIME,	/* u64 */
	SWIFTRDMA_DEV_A_SWEEPS,		/* u64 */
	SWIFTRDMA_DEV_A_SWEEP_TIME,	/* u64 */
	SWIFTRDMA_DEV_A_SWEEP_GAP,	/* u64 */
	SWIFTRDMA_DEV_A_RECORDS,	/* u32 */
	SWIFTRDMA_DEV_A_HELD_PAGES,	/* u32 */
	SWIFTRDMA_DEV_A_CONGESTIONS,	/* u64 */
	SWIFTRDMA_DEV_A_CONGESTION_LEVEL, /* u32 */
	SWIFTRDMA_DEV_A_CONGESTED_AT,	/* u64 */
	SWIFTRDMA_DEV_A_MTT_HITS,	/* u64 */
	SWIFTRDMA_DEV_A_MTT_MISSES,	/* u64 */
	SWIFTRDMA_DEV_A_READ_STALL,	/* u64 */
	SWIFTRDMA_DEV_A_MRS_UNKNOWN,	/* u32 */
	SWIFTRDMA_DEV_A_MR_BYTES,	/* u64 */
	SWIFTRDMA_DEV_A_MTTS,		/* u64 */
	SWIFTRDMA_DEV_A_MTTS_UNKNOWN,	/* u32 */
	SWIFTRDMA_DEV_A_MR_PAGE_MIN,	/* u64 */
	SWIFTRDMA_DEV_A_MR_PAGE_MAX,	/* u64 */
	SWIFTRDMA_DEV_A_PCIE_STALLED_READS, /* u32 */
	SWIFTRDMA_DEV_A_PCIE_STALLED_WRITES, /* u32 */
	SWIFTRDMA_DEV_A_PCIE_STALLED_READ_SECONDS, /* u64 */
	SWIFTRDMA_DEV_A_PCIE_STALLED_WRITE_SECONDS, /* u64 */
	SWIFTRDMA_DEV_A_DEVX_QPS,	/* u32 */
	SWIFTRDMA_DEV_A_DEVX_CREATED,	/* u64 */
	SWIFTRDMA_DEV_A_DEVX_MISSED,	/* u64 */
	SWIFTRDMA_DEV_A_DIAG_TIME,	/* u64 */
	SWIFTRDMA_DEV_A_PCIE_TIME,	/* u64 */
	SWIFTRDMA_DEV_A_FUNCTION,	/* u32, enum swiftrdma_function */
	SWIFTRDMA_DEV_A_QPC_HITS,	/* u64 */
	SWIFTRDMA_DEV_A_QPC_MISSES,	/* u64 */
	__SWIFTRDMA_DEV_A_MAX
};

#define SWIFTRDMA_DEV_A_MAX (__SWIFTRDMA_DEV_A_MAX - 1)

/**
 * enum swiftrdma_port_attr - a port
 * @SWIFTRDMA_PORT_A_UNSPEC: not used
 * @SWIFTRDMA_PORT_A_PAD: aligns a u64
 * @SWIFTRDMA_PORT_A_DEV_INDEX: its device
 * @SWIFTRDMA_PORT_A_INDEX: its number, from 1
 * @SWIFTRDMA_PORT_A_STATE: IBA 14.2.5.6
 * @SWIFTRDMA_PORT_A_LINK_LAYER: 1 InfiniBand, 2 Ethernet
 * @SWIFTRDMA_PORT_A_SPEED: of all lanes, bit/s
 * @SWIFTRDMA_PORT_A_NETDEV: name, where there is one
 * @SWIFTRDMA_PORT_A_TX_BYTES: bytes sent
 * @SWIFTRDMA_PORT_A_RX_BYTES: bytes received
 * @SWIFTRDMA_PORT_A_TX_PACKETS: packets sent
 * @SWIFTRDMA_PORT_A_RX_PACKETS: packets received
 * @SWIFTRDMA_PORT_A_TIME: when bytes and packets were read, or of a port that has none,
 *	its link, ns
 * @SWIFTRDMA_PORT_A_DETAIL_TIME: when the following was read, ns
 * @SWIFTRDMA_PORT_A_ECN_MARKED: packets that came marked by a switch
 * @SWIFTRDMA_PORT_A_CNP_SENT: congestion notifications sent for these packets
 * @SWIFTRDMA_PORT_A_CNP_HANDLED: congestion notifications that came and slowed a QP down
 * @SWIFTRDMA_PORT_A_PRIO: one of each priority
 * @__SWIFTRDMA_PORT_A_MAX: one past the last
 *
 * STATE and SPEED are read anew when the driver tells that they have changed, and every
 * 10 s.
 *
 * Bytes and packets are the traffic of the device's own function, RDMA and netdev together, since
 * the netdev was made, or the NIC reset. A port has none if its RDMA traffic is not counted: a
 * representor, hardware with the generic provider, and a device that refuses to tell.
 *
 * The attributes after DETAIL_TIME cost the NIC several commands, so the module reads them once a
 * second at most. Only Ethernet ports of physical functions have these attributes. They count
 * since the NIC was reset.
 */
enum swiftrdma_port_attr {
	SWIFTRDMA_PORT_A_UNSPEC,
	SWIFTRDMA_PORT_A_PAD,
	SWIFTRDMA_PORT_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_PORT_A_INDEX,		/* u32 */
	SWIFTRDMA_PORT_A_STATE,		/* u32, enum ib_port_state */
	SWIFTRDMA_PORT_A_LINK_LAYER,	/* u32, enum rdma_link_layer */
	SWIFTRDMA_PORT_A_SPEED,		/* u64 */
	SWIFTRDMA_PORT_A_NETDEV,	/* string */
	SWIFTRDMA_PORT_A_TX_BYTES,	/* u64 */
	SWIFTRDMA_PORT_A_RX_BYTES,	/* u64 */
	SWIFTRDMA_PORT_A_TX_PACKETS,	/* u64 */
	SWIFTRDMA_PORT_A_RX_PACKETS,	/* u64 */
	SWIFTRDMA_PORT_A_TIME,		/* u64 */
	SWIFTRDMA_PORT_A_DETAIL_TIME,	/* u64 */
	SWIFTRDMA_PORT_A_ECN_MARKED,	/* u64 */
	SWIFTRDMA_PORT_A_CNP_SENT,	/* u64 */
	SWIFTRDMA_PORT_A_CNP_HANDLED,	/* u64 */
	SWIFTRDMA_PORT_A_PRIO,		/* nest swiftrdma_prio_attr, repeated */
	__SWIFTRDMA_PORT_A_MAX
};

#define SWIFTRDMA_PORT_A_MAX (__SWIFTRDMA_PORT_A_MAX - 1)

/**
 * enum swiftrdma_prio_attr - a priority (IEEE 802.1p) of a port
 * @SWIFTRDMA_PRIO_A_UNSPEC: not used
 * @SWIFTRDMA_PRIO_A_PAD: aligns a u64
 * @SWIFTRDMA_PRIO_A_INDEX: 0 to 7
 * @SWIFTRDMA_PRIO_A_TX_BYTES: bytes sent
 * @SWIFTRDMA_PRIO_A_RX_BYTES: bytes received
 * @SWIFTRDMA_PRIO_A_TX_PACKETS: packets sent
 * @SWIFTRDMA_PRIO_A_RX_PACKETS: packets received
 * @SWIFTRDMA_PRIO_A_TX_PAUSES: pause frames sent
 * @SWIFTRDMA_PRIO_A_RX_PAUSES: pause frames received
 * @SWIFTRDMA_PRIO_A_TX_PAUSE_TIME: how long the pauses sent held for, ns
 * @SWIFTRDMA_PRIO_A_RX_PAUSE_TIME: how long the pauses received held for, ns
 * @__SWIFTRDMA_PRIO_A_MAX: one past the last
 *
 * These are pauses of one priority (priority flow control). RX: the other side paused
 * this port, which then did not send; TX: this port paused the other side.
 */
enum swiftrdma_prio_attr {
	SWIFTRDMA_PRIO_A_UNSPEC,
	SWIFTRDMA_PRIO_A_PAD,
	SWIFTRDMA_PRIO_A_INDEX,		/* u32 */
	SWIFTRDMA_PRIO_A_TX_BYTES,	/* u64 */
	SWIFTRDMA_PRIO_A_RX_BYTES,	/* u64 */
	SWIFTRDMA_PRIO_A_TX_PACKETS,	/* u64 */
	SWIFTRDMA_PRIO_A_RX_PACKETS,	/* u64 */
	SWIFTRDMA_PRIO_A_TX_PAUSES,	/* u64 */
	SWIFTRDMA_PRIO_A_RX_PAUSES,	/* u64 */
	SWIFTRDMA_PRIO_A_TX_PAUSE_TIME,	/* u64 */
	SWIFTRDMA_PRIO_A_RX_PAUSE_TIME,	/* u64 */
	__SWIFTRDMA_PRIO_A_MAX
};

#define SWIFTRDMA_PRIO_A_MAX (__SWIFTRDMA_PRIO_A_MAX - 1)

/**
 * enum swiftrdma_uar_kind - what a UAR object stands for
 * @SWIFTRDMA_UAR_KIND_HW: a UAR page of the NIC, of which no more is known
 * @SWIFTRDMA_UAR_KIND_CONTEXT: the device has no UARs: a user context
 * @SWIFTRDMA_UAR_KIND_KERNEL: the kernel's own QPs, on one page or on such a device
 * @SWIFTRDMA_UAR_KIND_STATIC: a page that the driver gave the context when it was
 *	opened, and on which it places QPs
 * @SWIFTRDMA_UAR_KIND_DYNAMIC: a page that the library asked for, and on which it
 *	places QPs
 * @SWIFTRDMA_UAR_KIND_DEDICATED: such a page with one QP alive: no other QP contends.
 *	A page has several doorbell registers and only the library knows which one
 *	a QP rings, so two QPs of one page may or may not contend
 */
enum swiftrdma_uar_kind {
	SWIFTRDMA_UAR_KIND_HW,
	SWIFTRDMA_UAR_KIND_CONTEXT,
	SWIFTRDMA_UAR_KIND_KERNEL,
	SWIFTRDMA_UAR_KIND_STATIC,
	SWIFTRDMA_UAR_KIND_DYNAMIC,
	SWIFTRDMA_UAR_KIND_DEDICATED,
};

/**
 * enum swiftrdma_uar_attr - a UAR, or the user context that stands for one
 * @SWIFTRDMA_UAR_A_UNSPEC: not used
 * @SWIFTRDMA_UAR_A_PAD: aligns a u64
 * @SWIFTRDMA_UAR_A_DEV_INDEX: its device
 * @SWIFTRDMA_UAR_A_INDEX: its number on that device
 * @SWIFTRDMA_UAR_A_KIND: what it is
 * @SWIFTRDMA_UAR_A_QPS: QPs alive on it
 * @SWIFTRDMA_UAR_A_CREATED: QPs ever placed on it
 * @SWIFTRDMA_UAR_A_DOORBELLS: doorbells rung on it
 * @SWIFTRDMA_UAR_A_WRS: work requests posted on it; WQEBBs with
 *	%SWIFTRDMA_DEV_CAP_WQEBBS
 * @SWIFTRDMA_UAR_A_OWNER: the process that opened it
 * @SWIFTRDMA_UAR_A_SINCE: since when it is known, ns
 * @SWIFTRDMA_UAR_A_TIME: when this was read, ns; where a sampler counts WRS, when the
 *	sampler last wrote its counts, four times a second and for each reader
 * @SWIFTRDMA_UAR_A_OWNERS: processes with QPs on it
 * @SWIFTRDMA_UAR_A_THREADS: threads that created these QPs
 * @SWIFTRDMA_UAR_A_SWEEPS: sweeps of the device since the UAR is known
 * @SWIFTRDMA_UAR_A_ACTIVE: of these sweeps, those in which a QP on the UAR had advanced
 * @SWIFTRDMA_UAR_A_COACTIVE: of these sweeps, those in which two or more QPs had
 * @SWIFTRDMA_UAR_A_CONTEXT_UARS: pages known of the context that opened it
 * @SWIFTRDMA_UAR_A_CONTEXT_LIMIT: pages for QPs that the context asked for; thread
 *	domains take more
 * @SWIFTRDMA_UAR_A_RECENT_WRS: of WRS, those of the last quarter to half second; in
 *	CONGESTION_NTF
 * @SWIFTRDMA_UAR_A_CONTEXT: number on its device of the user context that it belongs
 *	to: QPs of another context cannot ring it; absent for the kernel's
 * @__SWIFTRDMA_UAR_A_MAX: one past the last
 */
enum swiftrdma_uar_attr {
	SWIFTRDMA_UAR_A_UNSPEC,
	SWIFTRDMA_UAR_A_PAD,
	SWIFTRDMA_UAR_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_UAR_A_INDEX,		/* u32 */
	SWIFTRDMA_UAR_A_KIND,		/* u32, enum swiftrdma_uar_kind */
	SWIFTRDMA_UAR_A_QPS,		/* u32 */
	SWIFTRDMA_UAR_A_CREATED,	/* u64 */
	SWIFTRDMA_UAR_A_DOORBELLS,	/* u64 */
	SWIFTRDMA_UAR_A_WRS,		/* u64 */
	SWIFTRDMA_UAR_A_OWNER,		/* nest swiftrdma_owner_attr */
	SWIFTRDMA_UAR_A_SINCE,		/* u64 */
	SWIFTRDMA_UAR_A_TIME,		/* u64 */
	SWIFTRDMA_UAR_A_OWNERS,		/* u32 */
	SWIFTRDMA_UAR_A_THREADS,	/* u32 */
	SWIFTRDMA_UAR_A_SWEEPS,		/* u64 */
	SWIFTRDMA_UAR_A_ACTIVE,		/* u64 */
	SWIFTRDMA_UAR_A_COACTIVE,	/* u64 */
	SWIFTRDMA_UAR_A_CONTEXT_UARS,	/* u32 */
	SWIFTRDMA_UAR_A_CONTEXT_LIMIT,	/* u32 */
	SWIFTRDMA_UAR_A_RECENT_WRS,	/* u64 */
	SWIFTRDMA_UAR_A_CONTEXT,	/* u32 */
	__SWIFTRDMA_UAR_A_MAX
};

#define SWIFTRDMA_UAR_A_MAX (__SWIFTRDMA_UAR_A_MAX - 1)

/**
 * enum swiftrdma_owner_attr - the process or kernel user that has a QP or opened a UAR
 * @SWIFTRDMA_OWNER_A_UNSPEC: not used
 * @SWIFTRDMA_OWNER_A_PAD: aligns a u64
 * @SWIFTRDMA_OWNER_A_PID: process (thread group), in the reader's pid namespace
 * @SWIFTRDMA_OWNER_A_UID: effective, initial user namespace
 * @SWIFTRDMA_OWNER_A_COMM: comm of the group leader
 * @SWIFTRDMA_OWNER_A_EXE: basename of the executable
 * @SWIFTRDMA_OWNER_A_CGROUP: cgroup path in the unified hierarchy; with CAP_NET_ADMIN
 * @SWIFTRDMA_OWNER_A_CGROUP_ID: id of that cgroup; with CAP_NET_ADMIN
 * @SWIFTRDMA_OWNER_A_KERNEL: name of a kernel user; such an owner has no other attribute
 * @__SWIFTRDMA_OWNER_A_MAX: one past the last
 */
enum swiftrdma_owner_attr {
	SWIFTRDMA_OWNER_A_UNSPEC,
	SWIFTRDMA_OWNER_A_PAD,
	SWIFTRDMA_OWNER_A_PID,		/* u32 */
	SWIFTRDMA_OWNER_A_UID,		/* u32 */
	SWIFTRDMA_OWNER_A_COMM,		/* string */
	SWIFTRDMA_OWNER_A_EXE,		/* string */
	SWIFTRDMA_OWNER_A_CGROUP,	/* string */
	SWIFTRDMA_OWNER_A_CGROUP_ID,	/* u64 */
	SWIFTRDMA_OWNER_A_KERNEL,	/* string */
	__SWIFTRDMA_OWNER_A_MAX
};

#define SWIFTRDMA_OWNER_A_MAX (__SWIFTRDMA_OWNER_A_MAX - 1)

/**
 * enum swiftrdma_absent - why the work requests of a QP are not counted
 * @SWIFTRDMA_ABSENT_NONE: they are
 * @SWIFTRDMA_ABSENT_OFF: the sampler is switched off by a module parameter
 * @SWIFTRDMA_ABSENT_NO_QUEUE: the QP has no send queue of its own
 * @SWIFTRDMA_ABSENT_NOT_YET: the QP is older than the module, which queries a few such QPs
 *	each time that a reader asks
 * @SWIFTRDMA_ABSENT_NO_PAGE: the page with the doorbell record cannot be held
 * @SWIFTRDMA_ABSENT_NO_ADDRESS: an IOMMU hides where the record is
 * @SWIFTRDMA_ABSENT_REFUSED: the device did not answer
 * @SWIFTRDMA_ABSENT_NO_MEMORY: there was no memory
 * @SWIFTRDMA_ABSENT_DEVX: it was made past RDMA core, by a library's own command
 */
enum swiftrdma_absent {
	SWIFTRDMA_ABSENT_NONE,
	SWIFTRDMA_ABSENT_OFF,
	SWIFTRDMA_ABSENT_NO_QUEUE,
	SWIFTRDMA_ABSENT_NOT_YET,
	SWIFTRDMA_ABSENT_NO_PAGE,
	SWIFTRDMA_ABSENT_NO_ADDRESS,
	SWIFTRDMA_ABSENT_REFUSED,
	SWIFTRDMA_ABSENT_NO_MEMORY,
	SWIFTRDMA_ABSENT_DEVX,
};

/**
 * enum swiftrdma_ends - whether both ends of a connection are raised
 * @SWIFTRDMA_ENDS_UNSPEC: no level is in force here that the other end should have, and the
 *	other end wishes none
 * @SWIFTRDMA_ENDS_WAITING: not known yet, or the class of the other end is being changed
 * @SWIFTRDMA_ENDS_BOTH: both ends have at least the level that one of them wishes
 * @SWIFTRDMA_ENDS_NO_AGENT: the host of the end that should follow has no agent that has seen
 *	the wish
 * @SWIFTRDMA_ENDS_NOT_FOLLOWED: the policies there do not follow wishes of peers for the QP's job
 * @SWIFTRDMA_ENDS_REFUSED: the policies there follow, but allow the job only a lower level
 * @SWIFTRDMA_ENDS_NO_LEVEL: the level has no meaning there (LEVEL_SET)
 * @SWIFTRDMA_ENDS_CANNOT: the class of the QP there cannot be changed
 * @SWIFTRDMA_ENDS_UNKNOWN: the module there knows no QP that is connected to this one: the QP is
 *	older than that module, or it is gone
 * @SWIFTRDMA_ENDS_NO_ADDRESS: as %SWIFTRDMA_PEER_NO_ADDRESS
 * @SWIFTRDMA_ENDS_NO_CHANNEL: as %SWIFTRDMA_PEER_NO_CHANNEL
 * @SWIFTRDMA_ENDS_UNREACHABLE: as %SWIFTRDMA_PEER_UNREACHABLE
 * @SWIFTRDMA_ENDS_NO_MODULE: as %SWIFTRDMA_PEER_NO_MODULE
 * @SWIFTRDMA_ENDS_VERSION: its module speaks another version, or takes no wishes yet
 * @SWIFTRDMA_ENDS_SILENT: as %SWIFTRDMA_PEER_SILENT
 * @__SWIFTRDMA_ENDS_MAX: one past the last
 *
 * The numbers are also those of the messages between modules.
 */
enum swiftrdma_ends {
	SWIFTRDMA_ENDS_UNSPEC,
	SWIFTRDMA_ENDS_WAITING,
	SWIFTRDMA_ENDS_BOTH,
	SWIFTRDMA_ENDS_NO_AGENT,
	SWIFTRDMA_ENDS_NOT_FOLLOWED,
	SWIFTRDMA_ENDS_REFUSED,
	SWIFTRDMA_ENDS_NO_LEVEL,
	SWIFTRDMA_ENDS_CANNOT,
	SWIFTRDMA_ENDS_UNKNOWN,
	SWIFTRDMA_ENDS_NO_ADDRESS,
	SWIFTRDMA_ENDS_NO_CHANNEL,
	SWIFTRDMA_ENDS_UNREACHABLE,
	SWIFTRDMA_ENDS_NO_MODULE,
	SWIFTRDMA_ENDS_VERSION,
	SWIFTRDMA_ENDS_SILENT,
	__SWIFTRDMA_ENDS_MAX
};

/**
 * enum swiftrdma_qp_attr - a QP
 * @SWIFTRDMA_QP_A_UNSPEC: not used
 * @SWIFTRDMA_QP_A_PAD: aligns a u64
 * @SWIFTRDMA_QP_A_DEV_INDEX: its device
 * @SWIFTRDMA_QP_A_QPN: its number
 * @SWIFTRDMA_QP_A_SERIAL: never reused
 * @SWIFTRDMA_QP_A_TYPE: type; the numbers of IBV_QPT_* are the same
 * @SWIFTRDMA_QP_A_STATE: last set by the application; absent: unknown
 * @SWIFTRDMA_QP_A_PORT: absent before INIT
 * @SWIFTRDMA_QP_A_UAR: index; absent: unknown
 * @SWIFTRDMA_QP_A_JOB: id
 * @SWIFTRDMA_QP_A_OWNER: the process or kernel user that made it
 * @SWIFTRDMA_QP_A_TID: the thread that made it; absent: unknown
 * @SWIFTRDMA_QP_A_SEND_CQ: CQ of its sends, by the id of `rdma res show cq`
 * @SWIFTRDMA_QP_A_RECV_CQ: CQ of its receives, by the same id
 * @SWIFTRDMA_QP_A_MAX_SEND_WR: work requests that the send queue holds
 * @SWIFTRDMA_QP_A_MAX_RECV_WR: work requests that the receive queue holds
 * @SWIFTRDMA_QP_A_MAX_SEND_SGE: pieces of memory of one send request
 * @SWIFTRDMA_QP_A_MAX_RECV_SGE: pieces of memory of one receive request
 * @SWIFTRDMA_QP_A_MAX_INLINE: bytes of inline data of one send request
 * @SWIFTRDMA_QP_A_ADOPTED: the module tracks it without having seen its creation
 * @SWIFTRDMA_QP_A_DOORBELLS: doorbells rung
 * @SWIFTRDMA_QP_A_WRS: work requests posted; WQEBBs with %SWIFTRDMA_DEV_CAP_WQEBBS
 * @SWIFTRDMA_QP_A_LEVEL: class level in force; absent: none
 * @SWIFTRDMA_QP_A_TCLASS_ASKED: traffic class, by the application
 * @SWIFTRDMA_QP_A_TCLASS: traffic class, programmed
 * @SWIFTRDMA_QP_A_SL_ASKED: service level, by the application
 * @SWIFTRDMA_QP_A_SL: service level, programmed
 * @SWIFTRDMA_QP_A_DEST_QPN: number of the peer's QP
 * @SWIFTRDMA_QP_A_DGID: the peer's address, network order; with a GRH
 * @SWIFTRDMA_QP_A_CLASS_PENDING: the class that is programmed is not yet the
 *	desired one
 * @SWIFTRDMA_QP_A_CLASS_ERROR: -errno of the last attempt to change the class; -EBUSY: this
 *	device changes it in RTS only, and the QP is not in RTS
 * @SWIFTRDMA_QP_A_SINCE: since when it is tracked, ns
 * @SWIFTRDMA_QP_A_TIME: as %SWIFTRDMA_UAR_A_TIME
 * @SWIFTRDMA_QP_A_WRS_SINCE: since when a sampler counts WRS of this QP, ns
 * @SWIFTRDMA_QP_A_WRS_AMBIGUOUS: the sampler may have missed a wrap of the doorbell record
 * @SWIFTRDMA_QP_A_WRS_ABSENT: why WRS is absent
 * @SWIFTRDMA_QP_A_DLID: LID of the peer or of its router; InfiniBand
 * @SWIFTRDMA_QP_A_UDP_SPORT: UDP source port that an override has programmed
 * @SWIFTRDMA_QP_A_LAG_PORT: port of the NIC's link aggregation that an override has
 *	programmed
 * @SWIFTRDMA_QP_A_DEVX: made past RDMA core, by a library's own command (mlx5's
 *	DEVX)
 * @SWIFTRDMA_QP_A_OUTSTANDING_SAMPLES: looks into its send queue at random times; absent: none
 * @SWIFTRDMA_QP_A_OUTSTANDING_SUM: WQEBBs that were posted and not completed, summed over these
 * @SWIFTRDMA_QP_A_OUTSTANDING_SQUARES: the sum of their squares
 * @SWIFTRDMA_QP_A_PEER_WISH: level that the peer wishes this QP to have; absent: none
 * @SWIFTRDMA_QP_A_FOLLOWS: LEVEL is in force because the peer wishes it
 * @SWIFTRDMA_QP_A_ENDS: whether both ends are raised; absent: %SWIFTRDMA_ENDS_UNSPEC
 * @SWIFTRDMA_QP_A_PEER_LEVEL: level in force at the peer, as it said when it was last told
 *	which level is wished; absent: none, or not known
 * @SWIFTRDMA_QP_A_REQUEST_BLOCKS: WQEBBs of a request, as the last of these looks saw it, 0: none
 *	saw one; absent, with the four that follow: the send queue cannot be read
 * @SWIFTRDMA_QP_A_REQUEST_CHANGES: looks that saw requests of different numbers of WQEBBs
 * @SWIFTRDMA_QP_A_UNCOVERED_SAMPLES: looks that found out how many WQEBBs were completed without
 *	a CQE, with no CQE after them yet
 * @SWIFTRDMA_QP_A_UNCOVERED_SUM: these WQEBBs, summed over these looks
 * @SWIFTRDMA_QP_A_UNCOVERED_SQUARES: the sum of their squares
 * @__SWIFTRDMA_QP_A_MAX: one past the last
 *
 * A QP with DEVX has type, owner and UAR, no other attribute, and no knob.
 */
enum swiftrdma_qp_attr {
	SWIFTRDMA_QP_A_UNSPEC,
	SWIFTRDMA_QP_A_PAD,
	SWIFTRDMA_QP_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_QP_A_QPN,		/* u32 */
	SWIFTRDMA_QP_A_SERIAL,		/* u64 */
	SWIFTRDMA_QP_A_TYPE,		/* u32, enum ib_qp_type */
	SWIFTRDMA_QP_A_STATE,		/* u32, enum ib_qp_state */
	SWIFTRDMA_QP_A_PORT,		/* u32 */
	SWIFTRDMA_QP_A_UAR,		/* u32 */
	SWIFTRDMA_QP_A_JOB,		/* u32 */
	SWIFTRDMA_QP_A_OWNER,		/* nest swiftrdma_owner_attr */
	SWIFTRDMA_QP_A_TID,		/* u32 */
	SWIFTRDMA_QP_A_SEND_CQ,		/* u32 */
	SWIFTRDMA_QP_A_RECV_CQ,		/* u32 */
	SWIFTRDMA_QP_A_MAX_SEND_WR,	/* u32 */
	SWIFTRDMA_QP_A_MAX_RECV_WR,	/* u32 */
	SWIFTRDMA_QP_A_MAX_SEND_SGE,	/* u32 */
	SWIFTRDMA_QP_A_MAX_RECV_SGE,	/* u32 */
	SWIFTRDMA_QP_A_MAX_INLINE,	/* u32 */
	SWIFTRDMA_QP_A_ADOPTED,		/* flag */
	SWIFTRDMA_QP_A_DOORBELLS,	/* u64 */
	SWIFTRDMA_QP_A_WRS,		/* u64 */
	SWIFTRDMA_QP_A_LEVEL,		/* u32 */
	SWIFTRDMA_QP_A_TCLASS_ASKED,	/* u32 */
	SWIFTRDMA_QP_A_TCLASS,		/* u32 */
	SWIFTRDMA_QP_A_SL_ASKED,	/* u32 */
	SWIFTRDMA_QP_A_SL,		/* u32 */
	SWIFTRDMA_QP_A_DEST_QPN,	/* u32 */
	SWIFTRDMA_QP_A_DGID,		/* binary, 16 bytes */
	SWIFTRDMA_QP_A_CLASS_PENDING,	/* flag */
	SWIFTRDMA_QP_A_CLASS_ERROR,	/* s32 */
	SWIFTRDMA_QP_A_SINCE,		/* u64 */
	SWIFTRDMA_QP_A_TIME,		/* u64 */
	SWIFTRDMA_QP_A_WRS_SINCE,	/* u64 */
	SWIFTRDMA_QP_A_WRS_AMBIGUOUS,	/* flag */
	SWIFTRDMA_QP_A_WRS_ABSENT,	/* u32, enum swiftrdma_absent */
	SWIFTRDMA_QP_A_DLID,		/* u32 */
	SWIFTRDMA_QP_A_UDP_SPORT,	/* u32 */
	SWIFTRDMA_QP_A_LAG_PORT,	/* u32 */
	SWIFTRDMA_QP_A_DEVX,		/* flag */
	SWIFTRDMA_QP_A_OUTSTANDING_SAMPLES,	/* u64 */
	SWIFTRDMA_QP_A_OUTSTANDING_SUM,	/* u64 */
	SWIFTRDMA_QP_A_OUTSTANDING_SQUARES,	/* u64 */
	SWIFTRDMA_QP_A_PEER_WISH,	/* u32 */
	SWIFTRDMA_QP_A_FOLLOWS,		/* flag */
	SWIFTRDMA_QP_A_ENDS,		/* u32, enum swiftrdma_ends */
	SWIFTRDMA_QP_A_PEER_LEVEL,	/* u32 */
	SWIFTRDMA_QP_A_REQUEST_BLOCKS,	/* u32 */
	SWIFTRDMA_QP_A_REQUEST_CHANGES,	/* u64 */
	SWIFTRDMA_QP_A_UNCOVERED_SAMPLES,	/* u64 */
	SWIFTRDMA_QP_A_UNCOVERED_SUM,	/* u64 */
	SWIFTRDMA_QP_A_UNCOVERED_SQUARES,	/* u64 */
	__SWIFTRDMA_QP_A_MAX
};

#define SWIFTRDMA_QP_A_MAX (__SWIFTRDMA_QP_A_MAX - 1)

/**
 * enum swiftrdma_job_class - what matters to a job
 * @SWIFTRDMA_JOB_CLASS_NONE: the job has no class
 * @SWIFTRDMA_JOB_CLASS_LATENCY: how long a message takes
 * @SWIFTRDMA_JOB_CLASS_BALANCED: both
 * @SWIFTRDMA_JOB_CLASS_THROUGHPUT: how much gets through
 * @SWIFTRDMA_JOB_CLASS_BEST_EFFORT: neither: it takes what is left
 * @__SWIFTRDMA_JOB_CLASS_MAX: one past the last
 *
 * Policies use the class. The kernel keeps it, and treats all classes alike.
 */
enum swiftrdma_job_class {
	SWIFTRDMA_JOB_CLASS_NONE,
	SWIFTRDMA_JOB_CLASS_LATENCY,
	SWIFTRDMA_JOB_CLASS_BALANCED,
	SWIFTRDMA_JOB_CLASS_THROUGHPUT,
	SWIFTRDMA_JOB_CLASS_BEST_EFFORT,
	__SWIFTRDMA_JOB_CLASS_MAX
};

#define SWIFTRDMA_JOB_CLASS_MAX (__SWIFTRDMA_JOB_CLASS_MAX - 1)

/**
 * enum swiftrdma_job_attr - a job
 * @SWIFTRDMA_JOB_A_UNSPEC: not used
 * @SWIFTRDMA_JOB_A_PAD: aligns a u64
 * @SWIFTRDMA_JOB_A_ID: 0: "unassigned"
 * @SWIFTRDMA_JOB_A_NAME: [A-Za-z0-9_.-], 1 to 31 bytes
 * @SWIFTRDMA_JOB_A_ORIGIN: program that gives the rules; JOB_SET and JOB_DEL only
 * @SWIFTRDMA_JOB_A_CLASS: as the last JOB_SET gave it
 * @SWIFTRDMA_JOB_A_RULE: which owners are in the job; in answers the oldest first
 * @SWIFTRDMA_JOB_A_STAT: its figures, one of each device
 * @SWIFTRDMA_JOB_A_SINCE: when it was created, ns
 * @SWIFTRDMA_JOB_A_TIME: when this was read, ns
 * @__SWIFTRDMA_JOB_A_MAX: one past the last
 */
enum swiftrdma_job_attr {
	SWIFTRDMA_JOB_A_UNSPEC,
	SWIFTRDMA_JOB_A_PAD,
	SWIFTRDMA_JOB_A_ID,		/* u32 */
	SWIFTRDMA_JOB_A_NAME,		/* string */
	SWIFTRDMA_JOB_A_ORIGIN,		/* string */
	SWIFTRDMA_JOB_A_CLASS,		/* u32, enum swiftrdma_job_class */
	SWIFTRDMA_JOB_A_RULE,		/* nest swiftrdma_rule_attr, repeated */
	SWIFTRDMA_JOB_A_STAT,		/* nest swiftrdma_job_stat_attr, repeated */
	SWIFTRDMA_JOB_A_SINCE,		/* u64 */
	SWIFTRDMA_JOB_A_TIME,		/* u64 */
	__SWIFTRDMA_JOB_A_MAX
};

#define SWIFTRDMA_JOB_A_MAX (__SWIFTRDMA_JOB_A_MAX - 1)

/**
 * enum swiftrdma_rule_attr - a rule of a job: conditions on an owner
 * @SWIFTRDMA_RULE_A_UNSPEC: not used
 * @SWIFTRDMA_RULE_A_PAD: aligns a u64
 * @SWIFTRDMA_RULE_A_ORDER: rules of lower order are matched first
 * @SWIFTRDMA_RULE_A_ORIGIN: program that gave the rule; in answers
 * @SWIFTRDMA_RULE_A_CGROUP: glob on the cgroup path
 * @SWIFTRDMA_RULE_A_COMM: exact
 * @SWIFTRDMA_RULE_A_EXE: exact, basename
 * @SWIFTRDMA_RULE_A_UID: effective, initial user namespace
 * @SWIFTRDMA_RULE_A_PID: process, initial pid namespace
 * @SWIFTRDMA_RULE_A_MATCHES: QPs that this rule assigned to its job since the job
 *	was last set; kept when other jobs change; in answers
 * @SWIFTRDMA_RULE_A_ASKED: the process asked for the rule's job by name
 * @SWIFTRDMA_RULE_A_SLO_P99_MIN: not a condition: the least p99 that a process which matches
 *	may have as its objective, ns; absent: it gets no objective
 * @__SWIFTRDMA_RULE_A_MAX: one past the last
 */
enum swiftrdma_rule_attr {
	SWIFTRDMA_RULE_A_UNSPEC,
	SWIFTRDMA_RULE_A_PAD,
	SWIFTRDMA_RULE_A_ORDER,		/* u32 */
	SWIFTRDMA_RULE_A_ORIGIN,	/* string */
	SWIFTRDMA_RULE_A_CGROUP,	/* string */
	SWIFTRDMA_RULE_A_COMM,		/* string */
	SWIFTRDMA_RULE_A_EXE,		/* string */
	SWIFTRDMA_RULE_A_UID,		/* u32 */
	SWIFTRDMA_RULE_A_PID,		/* u32 */
	SWIFTRDMA_RULE_A_MATCHES,	/* u64 */
	SWIFTRDMA_RULE_A_ASKED,		/* flag */
	SWIFTRDMA_RULE_A_SLO_P99_MIN,	/* u64 */
	__SWIFTRDMA_RULE_A_MAX
};

#define SWIFTRDMA_RULE_A_MAX (__SWIFTRDMA_RULE_A_MAX - 1)

/**
 * enum swiftrdma_job_stat_attr - a job on one device
 * @SWIFTRDMA_JOB_STAT_A_UNSPEC: not used
 * @SWIFTRDMA_JOB_STAT_A_PAD: aligns a u64
 * @SWIFTRDMA_JOB_STAT_A_DEV_INDEX: the device
 * @SWIFTRDMA_JOB_STAT_A_QPS: QPs alive
 * @SWIFTRDMA_JOB_STAT_A_CREATED: QPs that became the job's
 * @SWIFTRDMA_JOB_STAT_A_DESTROYED: QPs of the job that were destroyed
 * @SWIFTRDMA_JOB_STAT_A_REJECTED: QPs refused by admission
 * @SWIFTRDMA_JOB_STAT_A_DOORBELLS: doorbells rung
 * @SWIFTRDMA_JOB_STAT_A_WRS: work requests posted; WQEBBs with
 *	%SWIFTRDMA_DEV_CAP_WQEBBS
 * @SWIFTRDMA_JOB_STAT_A_LEVEL: class level; absent: none in force
 * @SWIFTRDMA_JOB_STAT_A_MAX_QPS: most QPs alive; absent: no limit
 * @SWIFTRDMA_JOB_STAT_A_CREATE_RATE: most new QPs, 1/s; absent: no limit
 * @SWIFTRDMA_JOB_STAT_A_BIT_RATE: ceiling, bit/s; absent: no limit
 * @SWIFTRDMA_JOB_STAT_A_WEIGHT: share, 1 to 100; absent: the device's default
 * @SWIFTRDMA_JOB_STAT_A_MRS: memory regions alive that its processes registered
 *	since the module came
 * @SWIFTRDMA_JOB_STAT_A_MR_BYTES: bytes of these, without those that are paged on demand
 * @SWIFTRDMA_JOB_STAT_A_MTTS: translations that they take in the NIC
 * @SWIFTRDMA_JOB_STAT_A_MTTS_UNKNOWN: memory regions that MTTS does not cover (yet)
 * @SWIFTRDMA_JOB_STAT_A_MR_PAGE_MIN: the smallest page that they are mapped in,
 *	bytes
 * @SWIFTRDMA_JOB_STAT_A_MR_PAGE_MAX: the largest, bytes
 * @SWIFTRDMA_JOB_STAT_A_MOVED: QPs that became another job's: QPS is CREATED - MOVED -
 *	DESTROYED
 * @SWIFTRDMA_JOB_STAT_A_CREATES: QPs that its processes created; CREATED has those
 *	that were moved to it or are older than the module, too
 * @SWIFTRDMA_JOB_STAT_A_MODIFIES: calls of modify of its QPs, by their application
 * @SWIFTRDMA_JOB_STAT_A_COMMANDS: calls of its processes by which the driver was to create,
 *	modify or destroy a QP, whether or not it did
 * @SWIFTRDMA_JOB_STAT_A_COMMAND_TIME: spent by the driver in these, ns
 * @SWIFTRDMA_JOB_STAT_A_WR_RATE: ceiling, WR/s; absent: no limit
 * @SWIFTRDMA_JOB_STAT_A_CREDITS: most WRs outstanding; absent: no limit
 * @SWIFTRDMA_JOB_STAT_A_PLACE: where new QPs go, enum swiftrdma_place; absent: not set
 * @SWIFTRDMA_JOB_STAT_A_CHUNK: size above which writes and reads are split, bytes; absent:
 *	not set
 * @SWIFTRDMA_JOB_STAT_A_HUGE_PAGES: 1: memory is collapsed before it is registered; absent: not
 *	set
 * @SWIFTRDMA_JOB_STAT_A_FOLLOW: the highest level to which its QPs follow the wishes of their
 *	peers; absent: they do not follow them
 * @__SWIFTRDMA_JOB_STAT_A_MAX: one past the last
 */
enum swiftrdma_job_stat_attr {
	SWIFTRDMA_JOB_STAT_A_UNSPEC,
	SWIFTRDMA_JOB_STAT_A_PAD,
	SWIFTRDMA_JOB_STAT_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_JOB_STAT_A_QPS,	/* u32 */
	SWIFTRDMA_JOB_STAT_A_CREATED,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_DESTROYED,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_REJECTED,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_DOORBELLS,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_WRS,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_LEVEL,	/* u32 */
	SWIFTRDMA_JOB_STAT_A_MAX_QPS,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_CREATE_RATE, /* u64 */
	SWIFTRDMA_JOB_STAT_A_BIT_RATE,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_WEIGHT,	/* u32 */
	SWIFTRDMA_JOB_STAT_A_MRS,	/* u32 */
	SWIFTRDMA_JOB_STAT_A_MR_BYTES,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_MTTS,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_MTTS_UNKNOWN, /* u32 */
	SWIFTRDMA_JOB_STAT_A_MR_PAGE_MIN, /* u64 */
	SWIFTRDMA_JOB_STAT_A_MR_PAGE_MAX, /* u64 */
	SWIFTRDMA_JOB_STAT_A_MOVED,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_CREATES,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_MODIFIES,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_COMMANDS,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_COMMAND_TIME, /* u64 */
	SWIFTRDMA_JOB_STAT_A_WR_RATE,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_CREDITS,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_PLACE,	/* u32 */
	SWIFTRDMA_JOB_STAT_A_CHUNK,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_HUGE_PAGES, /* u32 */
	SWIFTRDMA_JOB_STAT_A_FOLLOW,	/* u32 */
	__SWIFTRDMA_JOB_STAT_A_MAX
};

#define SWIFTRDMA_JOB_STAT_A_MAX (__SWIFTRDMA_JOB_STAT_A_MAX - 1)

/**
 * enum swiftrdma_lease_attr - a lease
 * @SWIFTRDMA_LEASE_A_UNSPEC: not used
 * @SWIFTRDMA_LEASE_A_PAD: aligns a u64
 * @SWIFTRDMA_LEASE_A_ID: never reused
 * @SWIFTRDMA_LEASE_A_TTL_MS: lifetime from now, ms; in ACTION_GET the time that is left
 * @SWIFTRDMA_LEASE_A_RANK: 0 to %SWIFTRDMA_RANK_MAX; the highest holds
 * @SWIFTRDMA_LEASE_A_ORIGIN: program that holds it
 * @SWIFTRDMA_LEASE_A_EXPIRED: in LEASE_NTF: it ran out, rather than being ended by
 *	request
 * @__SWIFTRDMA_LEASE_A_MAX: one past the last
 */
enum swiftrdma_lease_attr {
	SWIFTRDMA_LEASE_A_UNSPEC,
	SWIFTRDMA_LEASE_A_PAD,
	SWIFTRDMA_LEASE_A_ID,		/* u64 */
	SWIFTRDMA_LEASE_A_TTL_MS,	/* u32 */
	SWIFTRDMA_LEASE_A_RANK,		/* u32 */
	SWIFTRDMA_LEASE_A_ORIGIN,	/* string */
	SWIFTRDMA_LEASE_A_EXPIRED,	/* flag */
	__SWIFTRDMA_LEASE_A_MAX
};

#define SWIFTRDMA_LEASE_A_MAX (__SWIFTRDMA_LEASE_A_MAX - 1)

/**
 * enum swiftrdma_knob - what can be turned
 * @SWIFTRDMA_KNOB_UNSPEC: not used
 * @SWIFTRDMA_KNOB_LEVEL: class level, 0 to %SWIFTRDMA_LEVEL_MAX, one that LEVEL_SET
 *	has given a meaning (job, QP)
 * @SWIFTRDMA_KNOB_BIT_RATE: ceiling, bit/s (job)
 * @SWIFTRDMA_KNOB_WR_RATE: ceiling, WR/s (job)
 * @SWIFTRDMA_KNOB_WEIGHT: share of the job among others (job)
 * @SWIFTRDMA_KNOB_CREDITS: limit on outstanding WRs (job)
 * @SWIFTRDMA_KNOB_QPS: merge onto, or spread over, so many QPs (job)
 * @SWIFTRDMA_KNOB_MAX_QPS: admission: QPs alive per device (job)
 * @SWIFTRDMA_KNOB_CREATE_RATE: admission: new QPs per second and device (job)
 * @SWIFTRDMA_KNOB_UAR: move a QP to another UAR; the only value is %SWIFTRDMA_UAR_LIGHTEST (QP)
 * @SWIFTRDMA_KNOB_UDP_SPORT: UDP source port of its packets, by which routers and
 *	link aggregations spread flows, 1 to 65535 (QP)
 * @SWIFTRDMA_KNOB_LAG_PORT: port of the NIC's own link aggregation that it sends
 *	by, from 1 (QP)
 * @SWIFTRDMA_KNOB_PLACE: where QPs that its processes create from now on go, enum
 *	swiftrdma_place (job)
 * @SWIFTRDMA_KNOB_CHUNK: RDMA READs, and RDMA WRITEs without immediate data, of more bytes
 *	than this are split; a power of two, 4096 to 2^30 (job)
 * @SWIFTRDMA_KNOB_HUGE_PAGES: 1: memory is collapsed to huge pages before it is registered,
 *	from now on; 0: it is registered as it is (job)
 * @SWIFTRDMA_KNOB_FOLLOW: the highest class level to which a QP of the job is raised because
 *	the peer of the QP wishes it, 0 to %SWIFTRDMA_LEVEL_MAX (job)
 * @__SWIFTRDMA_KNOB_MAX: one past the last
 *
 * The kernel enforces LEVEL, FOLLOW, MAX_QPS and CREATE_RATE, and BIT_RATE and WEIGHT on
 * devices with %SWIFTRDMA_DEV_CAP_RATES: a ceiling, in steps of 1 Mbit/s, and a share
 * (1 to 100) of what all jobs of one NIC get together. UDP_SPORT and LAG_PORT it
 * enforces on connected RC and UC QPs of an Ethernet port whose firmware can.
 *
 * WR_RATE and CREDITS, and BIT_RATE on other devices, are enforced by the libraries in the
 * processes of the job (rdma/swiftrdma_share.h). The value is for each device: the module divides
 * it among the job's processes on the device, as they need it. At least one process must be
 * attached, on a device of the action, whose library can enforce the knob. A QP whose process has
 * no such library is counted in QPS_UNSUPPORTED.
 *
 * PLACE, CHUNK and HUGE_PAGES are enforced by these libraries in the same way; each process has
 * the whole value. PLACE and HUGE_PAGES change nothing that exists, neither QPs nor memory
 * regions: a QP counts in QPS_DONE if what its process creates next will be as desired. A value
 * of 0 is a value, and holds like any other. Without PLACE or HUGE_PAGES a library does what the
 * environment of its process says, and as for 0 if that says nothing; without CHUNK it splits
 * nothing.
 *
 * libswiftrdma in the QP's process enforces %SWIFTRDMA_KNOB_UAR, if the process was started with
 * SWIFTRDMA_MOVE=yes. Otherwise setting the knob fails with -EOPNOTSUPP. UAR asks for one move of a
 * connected RC QP to the UAR of its context with least to do, or to a new one. Another QP, with a
 * new number, carries the requests from then on (%SWIFTRDMA_REPORT_A_NOW_QPN). Either number names
 * the QP that the application has. The same number does not move the QP again: neither when the
 * knob is set anew, nor when its lease is renewed. A QP that has its UAR for itself stays, and is
 * counted in QPS_DONE. Unlike other overrides, UAR changes nothing back when it is cleared or when
 * its lease ends: the QP stays where it is.
 *
 * FOLLOW raises a QP to %SWIFTRDMA_QP_A_PEER_WISH or to its value, whichever is lower, and
 * lowers no QP. Without FOLLOW the wishes of peers have no effect. A LEVEL of a lease of
 * higher rank holds alone.
 *
 * Any other knob is refused with -EOPNOTSUPP, as is one that the device, the QP or the processes
 * cannot enforce.
 */
enum swiftrdma_knob {
	SWIFTRDMA_KNOB_UNSPEC,
	SWIFTRDMA_KNOB_LEVEL,
	SWIFTRDMA_KNOB_BIT_RATE,
	SWIFTRDMA_KNOB_WR_RATE,
	SWIFTRDMA_KNOB_WEIGHT,
	SWIFTRDMA_KNOB_CREDITS,
	SWIFTRDMA_KNOB_QPS,
	SWIFTRDMA_KNOB_MAX_QPS,
	SWIFTRDMA_KNOB_CREATE_RATE,
	SWIFTRDMA_KNOB_UAR,
	SWIFTRDMA_KNOB_UDP_SPORT,
	SWIFTRDMA_KNOB_LAG_PORT,
	SWIFTRDMA_KNOB_PLACE,
	SWIFTRDMA_KNOB_CHUNK,
	SWIFTRDMA_KNOB_HUGE_PAGES,
	SWIFTRDMA_KNOB_FOLLOW,
	__SWIFTRDMA_KNOB_MAX
};

#define SWIFTRDMA_KNOB_MAX (__SWIFTRDMA_KNOB_MAX - 1)

/* The value of %SWIFTRDMA_KNOB_UAR; no UAR has this index. */
#define SWIFTRDMA_UAR_LIGHTEST		0xffffffffU

/**
 * enum swiftrdma_action_kind - what an entry of ACTION_GET describes
 * @SWIFTRDMA_ACTION_KIND_OVERRIDE: an override of a live lease
 * @SWIFTRDMA_ACTION_KIND_PENDING: a QP whose class, or other KNOB, is not what it
 *	should be, or not known; JOB, DEV_INDEX, QPN and QP_SERIAL say which, ERROR and
 *	REASON why. QPs that are not connected are not listed.
 */
enum swiftrdma_action_kind {
	SWIFTRDMA_ACTION_KIND_OVERRIDE,
	SWIFTRDMA_ACTION_KIND_PENDING,
};

/**
 * enum swiftrdma_action_attr - an item of an ACT, or an entry of ACTION_GET
 * @SWIFTRDMA_ACTION_A_UNSPEC: not used
 * @SWIFTRDMA_ACTION_A_PAD: aligns a u64
 * @SWIFTRDMA_ACTION_A_KIND: in ACTION_GET
 * @SWIFTRDMA_ACTION_A_KNOB: the knob
 * @SWIFTRDMA_ACTION_A_VALUE: its new value, in the knob's unit
 * @SWIFTRDMA_ACTION_A_CLEAR: drop this lease's override instead; in requests and
 *	ACT_NTF
 * @SWIFTRDMA_ACTION_A_JOB: target: a job, by name
 * @SWIFTRDMA_ACTION_A_DEV_INDEX: the device; absent with JOB: every device
 * @SWIFTRDMA_ACTION_A_QPN: target: a QP of it
 * @SWIFTRDMA_ACTION_A_QP_SERIAL: that very QP
 * @SWIFTRDMA_ACTION_A_REASON: for people
 * @SWIFTRDMA_ACTION_A_LEASE: the lease that the override belongs to; in answers, where its
 *	TTL_MS is the time left
 * @SWIFTRDMA_ACTION_A_IN_FORCE: not outranked; in answers
 * @SWIFTRDMA_ACTION_A_INDEX: place in the batch; in ACT_NTF
 * @SWIFTRDMA_ACTION_A_ERROR: 0 or -errno of the worst QP; -EREMOTEIO: the device refuses
 * @SWIFTRDMA_ACTION_A_QPS: QPs concerned: the sum of all QPS_... below
 * @SWIFTRDMA_ACTION_A_QPS_DONE: of these, those that have what is desired
 * @SWIFTRDMA_ACTION_A_QPS_PENDING: of these, those that will be tried again
 * @SWIFTRDMA_ACTION_A_QPS_UNSUPPORTED: of these, those that will not have it as they are:
 *	they cannot be changed while they are connected, or not at all, or the level has no
 *	value that their link uses, or the device has refused the change
 * @SWIFTRDMA_ACTION_A_DECISION: why a policy decided the change; absent: not given
 * @SWIFTRDMA_ACTION_A_QPS_UNCONNECTED: of these, those that are not connected and will have
 *	what is desired when they are
 * @SWIFTRDMA_ACTION_A_QPS_UNKNOWN: of these, those whose present value the module does not
 *	know (yet), because they are older than the module
 * @SWIFTRDMA_ACTION_A_SYNDROME: with an ERROR of -EREMOTEIO: the reason that the device gave
 *	for its refusal, in its firmware's numbers. It is asked again only when something
 *	changes: what is desired, or the QP's state
 * @__SWIFTRDMA_ACTION_A_MAX: one past the last
 */
enum swiftrdma_action_attr {
	SWIFTRDMA_ACTION_A_UNSPEC,
	SWIFTRDMA_ACTION_A_PAD,
	SWIFTRDMA_ACTION_A_KIND,	/* u32, enum swiftrdma_action_kind */
	SWIFTRDMA_ACTION_A_KNOB,	/* u32, enum swiftrdma_knob */
	SWIFTRDMA_ACTION_A_VALUE,	/* u64 */
	SWIFTRDMA_ACTION_A_CLEAR,	/* flag */
	SWIFTRDMA_ACTION_A_JOB,		/* string */
	SWIFTRDMA_ACTION_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_ACTION_A_QPN,		/* u32 */
	SWIFTRDMA_ACTION_A_QP_SERIAL,	/* u64 */
	SWIFTRDMA_ACTION_A_REASON,	/* string */
	SWIFTRDMA_ACTION_A_LEASE,	/* nest swiftrdma_lease_attr */
	SWIFTRDMA_ACTION_A_IN_FORCE,	/* flag */
	SWIFTRDMA_ACTION_A_INDEX,	/* u32 */
	SWIFTRDMA_ACTION_A_ERROR,	/* s32 */
	SWIFTRDMA_ACTION_A_QPS,		/* u32 */
	SWIFTRDMA_ACTION_A_QPS_DONE,	/* u32 */
	SWIFTRDMA_ACTION_A_QPS_PENDING,	/* u32 */
	SWIFTRDMA_ACTION_A_QPS_UNSUPPORTED, /* u32 */
	SWIFTRDMA_ACTION_A_DECISION,	/* nest swiftrdma_decision_attr */
	SWIFTRDMA_ACTION_A_QPS_UNCONNECTED, /* u32 */
	SWIFTRDMA_ACTION_A_QPS_UNKNOWN,	/* u32 */
	SWIFTRDMA_ACTION_A_SYNDROME,	/* u32 */
	__SWIFTRDMA_ACTION_A_MAX
};

#define SWIFTRDMA_ACTION_A_MAX (__SWIFTRDMA_ACTION_A_MAX - 1)

/**
 * enum swiftrdma_decision_attr - why a policy decided an action
 * @SWIFTRDMA_DECISION_A_UNSPEC: not used
 * @SWIFTRDMA_DECISION_A_PAD: aligns a u64
 * @SWIFTRDMA_DECISION_A_POLICY: its name, [A-Za-z0-9_.-], 1 to 31 bytes
 * @SWIFTRDMA_DECISION_A_TICK: tick of the agent in which the policy decided
 * @SWIFTRDMA_DECISION_A_COOLDOWN: until the policy may act on this job again, ns
 * @SWIFTRDMA_DECISION_A_STEPS_LEFT: further acts of the policy on this job before it undoes them;
 *	absent: no limit
 * @SWIFTRDMA_DECISION_A_ACTS_LEFT: acts on all jobs that the policy's rate still permits; absent:
 *	no limit
 * @SWIFTRDMA_DECISION_A_DEV_INDEX: the device for which the policy's state was true
 * @SWIFTRDMA_DECISION_A_PORT: the port of it
 * @SWIFTRDMA_DECISION_A_UAR: the UAR of it
 * @SWIFTRDMA_DECISION_A_QPN: the QP of it
 * @SWIFTRDMA_DECISION_A_READING: a signal that the policy's state compares
 * @__SWIFTRDMA_DECISION_A_MAX: one past the last
 */
enum swiftrdma_decision_attr {
	SWIFTRDMA_DECISION_A_UNSPEC,
	SWIFTRDMA_DECISION_A_PAD,
	SWIFTRDMA_DECISION_A_POLICY,	/* string */
	SWIFTRDMA_DECISION_A_TICK,	/* u64 */
	SWIFTRDMA_DECISION_A_COOLDOWN,	/* u64 */
	SWIFTRDMA_DECISION_A_STEPS_LEFT, /* u32 */
	SWIFTRDMA_DECISION_A_ACTS_LEFT,	/* u32 */
	SWIFTRDMA_DECISION_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_DECISION_A_PORT,	/* u32 */
	SWIFTRDMA_DECISION_A_UAR,	/* u32 */
	SWIFTRDMA_DECISION_A_QPN,	/* u32 */
	SWIFTRDMA_DECISION_A_READING,	/* nest swiftrdma_reading_attr, repeated */
	__SWIFTRDMA_DECISION_A_MAX
};

#define SWIFTRDMA_DECISION_A_MAX (__SWIFTRDMA_DECISION_A_MAX - 1)

/**
 * enum swiftrdma_reading_attr - a signal, as a decision saw it
 * @SWIFTRDMA_READING_A_UNSPEC: not used
 * @SWIFTRDMA_READING_A_PAD: aligns an s64
 * @SWIFTRDMA_READING_A_SIGNAL: its name in policy files, "port.util"
 * @SWIFTRDMA_READING_A_VALUE: in millionths of its unit (1, 1/s, bit/s, bytes, ns);
 *	absent: it was unknown
 * @__SWIFTRDMA_READING_A_MAX: one past the last
 */
enum swiftrdma_reading_attr {
	SWIFTRDMA_READING_A_UNSPEC,
	SWIFTRDMA_READING_A_PAD,
	SWIFTRDMA_READING_A_SIGNAL,	/* string */
	SWIFTRDMA_READING_A_VALUE,	/* s64 */
	__SWIFTRDMA_READING_A_MAX
};

#define SWIFTRDMA_READING_A_MAX (__SWIFTRDMA_READING_A_MAX - 1)

/**
 * enum swiftrdma_level_attr - what a class level means on the wire
 * @SWIFTRDMA_LEVEL_A_UNSPEC: not used
 * @SWIFTRDMA_LEVEL_A_PAD: aligns a u64
 * @SWIFTRDMA_LEVEL_A_LEVEL: 0 to %SWIFTRDMA_LEVEL_MAX
 * @SWIFTRDMA_LEVEL_A_DSCP: 0 to 63; absent: as the application asked for
 * @SWIFTRDMA_LEVEL_A_SL: 0 to 15; absent: the same
 * @__SWIFTRDMA_LEVEL_A_MAX: one past the last
 */
enum swiftrdma_level_attr {
	SWIFTRDMA_LEVEL_A_UNSPEC,
	SWIFTRDMA_LEVEL_A_PAD,
	SWIFTRDMA_LEVEL_A_LEVEL,	/* u32 */
	SWIFTRDMA_LEVEL_A_DSCP,		/* u32 */
	SWIFTRDMA_LEVEL_A_SL,		/* u32 */
	__SWIFTRDMA_LEVEL_A_MAX
};

#define SWIFTRDMA_LEVEL_A_MAX (__SWIFTRDMA_LEVEL_A_MAX - 1)

/**
 * enum swiftrdma_peer_status - what came of asking the other end of a connection
 * @SWIFTRDMA_PEER_UNSPEC: not used
 * @SWIFTRDMA_PEER_ANSWERED: it answered
 * @SWIFTRDMA_PEER_UNCONNECTED: the QP is not connected, or a QP of this type never is
 * @SWIFTRDMA_PEER_NO_ADDRESS: where the QP's peer is, is not known, because the QP is older
 *	than the module
 * @SWIFTRDMA_PEER_NO_CHANNEL: the port has no channel: the module was loaded with peer=0, or the
 *	port has no QP 1
 * @SWIFTRDMA_PEER_UNREACHABLE: nothing could be sent there
 * @SWIFTRDMA_PEER_NO_MODULE: its host has no module, or that has peer=0
 * @SWIFTRDMA_PEER_VERSION: its module speaks another version, which is VERSION
 * @SWIFTRDMA_PEER_SILENT: it did not answer: it has no QP that is connected to this one, its
 *	QP is older than its module, or messages were lost
 */
enum swiftrdma_peer_status {
	SWIFTRDMA_PEER_UNSPEC,
	SWIFTRDMA_PEER_ANSWERED,
	SWIFTRDMA_PEER_UNCONNECTED,
	SWIFTRDMA_PEER_NO_ADDRESS,
	SWIFTRDMA_PEER_NO_CHANNEL,
	SWIFTRDMA_PEER_UNREACHABLE,
	SWIFTRDMA_PEER_NO_MODULE,
	SWIFTRDMA_PEER_VERSION,
	SWIFTRDMA_PEER_SILENT,
};

/**
 * enum swiftrdma_peer_attr - the other end of a connection
 * @SWIFTRDMA_PEER_A_UNSPEC: not used
 * @SWIFTRDMA_PEER_A_PAD: aligns a u64
 * @SWIFTRDMA_PEER_A_DEV_INDEX: device of the QP at this end
 * @SWIFTRDMA_PEER_A_QPN: that QP
 * @SWIFTRDMA_PEER_A_QP_SERIAL: the same, as %SWIFTRDMA_QP_A_SERIAL
 * @SWIFTRDMA_PEER_A_STATUS: what came of asking
 * @SWIFTRDMA_PEER_A_VERSION: version of the messages that its module speaks; absent: not known
 * @SWIFTRDMA_PEER_A_TRIES: messages that were sent to it
 * @SWIFTRDMA_PEER_A_TCLASS_ASKED: traffic class that its application asked for. This and all
 *	that follows is there if the peer answered.
 * @SWIFTRDMA_PEER_A_TCLASS: traffic class that is programmed there
 * @SWIFTRDMA_PEER_A_SL_ASKED: service level that its application asked for
 * @SWIFTRDMA_PEER_A_SL: service level that is programmed there
 * @SWIFTRDMA_PEER_A_LEVEL: class level in force there; absent: none
 * @SWIFTRDMA_PEER_A_LEVEL_TCLASS: traffic class that LEVEL means there for the QP
 * @SWIFTRDMA_PEER_A_LEVEL_SL: service level that LEVEL means there for the QP
 * @SWIFTRDMA_PEER_A_CLASS_PENDING: its class is not (yet) what it should be
 * @SWIFTRDMA_PEER_A_CLASS_ERROR: -errno of the last attempt to change its class
 * @__SWIFTRDMA_PEER_A_MAX: one past the last
 */
enum swiftrdma_peer_attr {
	SWIFTRDMA_PEER_A_UNSPEC,
	SWIFTRDMA_PEER_A_PAD,
	SWIFTRDMA_PEER_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_PEER_A_QPN,		/* u32 */
	SWIFTRDMA_PEER_A_QP_SERIAL,	/* u64 */
	SWIFTRDMA_PEER_A_STATUS,	/* u32, enum swiftrdma_peer_status */
	SWIFTRDMA_PEER_A_VERSION,	/* u32 */
	SWIFTRDMA_PEER_A_TRIES,		/* u32 */
	SWIFTRDMA_PEER_A_TCLASS_ASKED,	/* u32 */
	SWIFTRDMA_PEER_A_TCLASS,	/* u32 */
	SWIFTRDMA_PEER_A_SL_ASKED,	/* u32 */
	SWIFTRDMA_PEER_A_SL,		/* u32 */
	SWIFTRDMA_PEER_A_LEVEL,		/* u32 */
	SWIFTRDMA_PEER_A_LEVEL_TCLASS,	/* u32 */
	SWIFTRDMA_PEER_A_LEVEL_SL,	/* u32 */
	SWIFTRDMA_PEER_A_CLASS_PENDING,	/* flag */
	SWIFTRDMA_PEER_A_CLASS_ERROR,	/* s32 */
	__SWIFTRDMA_PEER_A_MAX
};

#define SWIFTRDMA_PEER_A_MAX (__SWIFTRDMA_PEER_A_MAX - 1)

#endif /* _UAPI_RDMA_SWIFTRDMA_H */
