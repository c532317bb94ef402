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
 * include the QPs that are gone. What a device cannot tell is an attribute
 * that is absent, never a zero. Sizes are bytes, speeds bit/s, times ns unless
 * the name ends in _MS.
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
 *
 * A QP_GET dump with %SWIFTRDMA_A_SINCE set to the generation of an earlier
 * one gives the QPs of which anything (counters included) may have changed
 * since that dump began; a change is never left out, some may come twice. QPs
 * that are gone are not listed: a reader that now holds more QPs than COUNT
 * knows that some went, and dumps in full.
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
 *		SWIFTRDMA_JOB_A_ORIGIN: string	who says so ("agent", "cli")
 *		SWIFTRDMA_JOB_A_CLASS: u32	enum swiftrdma_job_class
 *		SWIFTRDMA_JOB_A_RULE: nest, repeated
 *			SWIFTRDMA_RULE_A_ORDER: u32	lower is asked first
 *			SWIFTRDMA_RULE_A_CGROUP: string	glob on the cgroup path
 *			SWIFTRDMA_RULE_A_COMM: string	exact
 *			SWIFTRDMA_RULE_A_EXE: string	exact, basename
 *			SWIFTRDMA_RULE_A_UID: u32	effective uid
 *			SWIFTRDMA_RULE_A_PID: u32	process, initial pid ns
 *
 * The conditions of one rule must all hold; a rule needs at least one. Over
 * all jobs the matching rule of lowest ORDER wins, the older one among equals.
 * The rules are asked of every QP there is and of every new one. comm and exe
 * are what a program says of itself: rules that grant something should match
 * cgroup or uid.
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
 *
 * The batch is validated as a whole: one bad item and nothing is applied. The
 * lease's time starts anew with each ACT that names it, also one without
 * items, which is how a lease is kept. The answer is the lease (ID, TTL_MS)
 * and
 *
 *	SWIFTRDMA_A_BATCH: u64
 *
 * Changes are applied after the answer; one %SWIFTRDMA_CMD_ACT_NTF per item
 * tells how it went. Overrides are desired state: what holds for a knob is the
 * value of the live lease of highest rank (the younger lease among equals, and
 * a QP's own override before its job's at equal rank), else what the
 * application asked for last. When a lease runs out, what it held is taken
 * back in the same way; QPs that cannot be changed at once are tried again and
 * meanwhile listed by ACTION_GET with the reason.
 *
 * %SWIFTRDMA_CMD_ACTION_GET (dump): overrides in force, and QPs whose class is
 * not yet what it should be.
 *
 * %SWIFTRDMA_CMD_LEVEL_GET (dump), %SWIFTRDMA_CMD_LEVEL_SET (do): the table
 * that says what a class level means on the wire. SET takes one or more
 *
 *	SWIFTRDMA_A_LEVEL: nest, repeated
 *		SWIFTRDMA_LEVEL_A_LEVEL: u32	0 to %SWIFTRDMA_LEVEL_MAX
 *		SWIFTRDMA_LEVEL_A_DSCP: u32	0 to 63
 *		SWIFTRDMA_LEVEL_A_SL: u32	0 to 15
 *
 * Until set, level n is DSCP 8 n (the class selector CSn, RFC 2474 section
 * 4.2.2) and SL n. The two low bits of the traffic class (ECN) stay the
 * application's.
 *
 * Notifications
 * -------------
 *
 * Multicast group %SWIFTRDMA_MCGRP_EVENTS, in the initial network namespace:
 *
 *	SWIFTRDMA_CMD_QP_CREATED_NTF	SWIFTRDMA_A_QP
 *	SWIFTRDMA_CMD_QP_DESTROYED_NTF	SWIFTRDMA_A_QP, with its last figures
 *	SWIFTRDMA_CMD_ACT_NTF		SWIFTRDMA_A_BATCH, SWIFTRDMA_A_ACTION
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
 * and QP_GET show what the socket's opener (its effective uid) owns, and COUNT
 * counts just that.
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
 * QPN is now another QP; -EPERM; -EOPNOTSUPP: the knob is not enforced by the
 * kernel, or not by this device; -E2BIG: too many items; -ENOSPC: a table is
 * full; -ESHUTDOWN: the module is disarmed.
 *
 * Creating a QP beyond a job's max_qps or create_rate fails with -EDQUOT.
 *
 * Versions
 * --------
 *
 * Attributes and commands are only ever added. Unknown attributes in a request
 * are refused (strict validation), unknown ones in an answer must be skipped.
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
#define SWIFTRDMA_JOBS_MAX	1024
#define SWIFTRDMA_RULES_MAX	64	/* of one job and origin */
#define SWIFTRDMA_LEASES_MAX	1024
#define SWIFTRDMA_LEASE_DEF_MS	5000
#define SWIFTRDMA_LEASE_MAX_MS	3600000

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
	__SWIFTRDMA_CMD_MAX
};

#define SWIFTRDMA_CMD_MAX (__SWIFTRDMA_CMD_MAX - 1)

/* Top level of every message. */
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
	__SWIFTRDMA_A_MAX
};

#define SWIFTRDMA_A_MAX (__SWIFTRDMA_A_MAX - 1)

enum swiftrdma_snapshot_attr {
	SWIFTRDMA_SNAPSHOT_A_UNSPEC,
	SWIFTRDMA_SNAPSHOT_A_PAD,
	SWIFTRDMA_SNAPSHOT_A_GENERATION,	/* u64 */
	SWIFTRDMA_SNAPSHOT_A_TIME,		/* u64, ns */
	SWIFTRDMA_SNAPSHOT_A_COUNT,		/* u32 */
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

enum swiftrdma_dev_attr {
	SWIFTRDMA_DEV_A_UNSPEC,
	SWIFTRDMA_DEV_A_PAD,
	SWIFTRDMA_DEV_A_INDEX,		/* u32, as `rdma dev` shows it */
	SWIFTRDMA_DEV_A_NAME,		/* string */
	SWIFTRDMA_DEV_A_PROVIDER,	/* string: "rxe", "generic", ... */
	SWIFTRDMA_DEV_A_CAPS,		/* u32, enum swiftrdma_dev_cap */
	SWIFTRDMA_DEV_A_PORTS,		/* u32 */
	SWIFTRDMA_DEV_A_QPS,		/* u32, alive and tracked */
	SWIFTRDMA_DEV_A_UARS,		/* u32 */
	SWIFTRDMA_DEV_A_CQS,		/* u32 */
	SWIFTRDMA_DEV_A_MRS,		/* u32 */
	SWIFTRDMA_DEV_A_CREATED,	/* u64, QPs created since SINCE */
	SWIFTRDMA_DEV_A_CREATE_FAILED,	/* u64, refused by the driver */
	SWIFTRDMA_DEV_A_REJECTED,	/* u64, refused by admission */
	SWIFTRDMA_DEV_A_DESTROYED,	/* u64 */
	SWIFTRDMA_DEV_A_MODIFIED,	/* u64, successful modify_qp calls */
	SWIFTRDMA_DEV_A_ADOPTED,	/* u64, QPs taken in after they were made */
	SWIFTRDMA_DEV_A_UNTRACKED,	/* u64, QPs lost track of for lack of memory */
	SWIFTRDMA_DEV_A_LIVE_CHANGED,	/* u64, class changes of connected QPs */
	SWIFTRDMA_DEV_A_LIVE_FAILED,	/* u64, attempts that were given up */
	SWIFTRDMA_DEV_A_DRAIN_MAX,	/* u64, ns, the longest pause so caused */
	SWIFTRDMA_DEV_A_SINCE,		/* u64, ns */
	SWIFTRDMA_DEV_A_TIME,		/* u64, ns */
	SWIFTRDMA_DEV_A_QP_LIMIT,	/* u32, how many there can be */
	SWIFTRDMA_DEV_A_CQ_LIMIT,	/* u32 */
	SWIFTRDMA_DEV_A_MR_LIMIT,	/* u32 */
	SWIFTRDMA_DEV_A_UAR_LIMIT,	/* u32, pages, those of drivers included */
	SWIFTRDMA_DEV_A_COMMANDS,	/* u64, that the module sent to the NIC */
	SWIFTRDMA_DEV_A_COMMAND_TIME,	/* u64, ns, of all of these together */
	SWIFTRDMA_DEV_A_SWEEPS,		/* u64, looks at all doorbell records */
	SWIFTRDMA_DEV_A_SWEEP_TIME,	/* u64, ns, that they took */
	SWIFTRDMA_DEV_A_SWEEP_GAP,	/* u64, ns, the longest between two */
	SWIFTRDMA_DEV_A_RECORDS,	/* u32, doorbell records looked at */
	SWIFTRDMA_DEV_A_HELD_PAGES,	/* u32, references to users' pages */
	SWIFTRDMA_DEV_A_CONGESTIONS,	/* u64, doorbell congestion events */
	SWIFTRDMA_DEV_A_CONGESTION_LEVEL, /* u32, of the last one */
	SWIFTRDMA_DEV_A_CONGESTED_AT,	/* u64, ns, when that came */
	SWIFTRDMA_DEV_A_MTT_HITS,	/* u64, in the NIC's cache of translations */
	SWIFTRDMA_DEV_A_MTT_MISSES,	/* u64 */
	SWIFTRDMA_DEV_A_READ_STALL,	/* u64, device cycles that reads over PCI held up */
	/*
	 * Memory regions. Those that processes registered since the module came are
	 * known; of them are all of the following but the first.
	 */
	SWIFTRDMA_DEV_A_MRS_UNKNOWN,	/* u32, of MRS: older ones, and the kernel's */
	SWIFTRDMA_DEV_A_MR_BYTES,	/* u64; without those that are paged on demand */
	SWIFTRDMA_DEV_A_MTTS,		/* u64, translations that they take in the NIC */
	SWIFTRDMA_DEV_A_MTTS_UNKNOWN,	/* u32, MRs that MTTS does not cover (yet) */
	SWIFTRDMA_DEV_A_MR_PAGE_MIN,	/* u64, bytes, smallest page they are mapped in */
	SWIFTRDMA_DEV_A_MR_PAGE_MAX,	/* u64, and largest */
	/* What the PCI bus held up, because the host granted no credits. */
	SWIFTRDMA_DEV_A_PCIE_STALLED_READS,	/* u32, % of the last second */
	SWIFTRDMA_DEV_A_PCIE_STALLED_WRITES,	/* u32, the same of writes */
	SWIFTRDMA_DEV_A_PCIE_STALLED_READ_SECONDS, /* u64, of which that was over 30 % */
	SWIFTRDMA_DEV_A_PCIE_STALLED_WRITE_SECONDS, /* u64 */
	/* QPs made past RDMA core; absent: nobody knows how many there are. */
	SWIFTRDMA_DEV_A_DEVX_QPS,	/* u32, of QPS, made since the provider came */
	SWIFTRDMA_DEV_A_DEVX_CREATED,	/* u64, since then; not in CREATED */
	SWIFTRDMA_DEV_A_DEVX_MISSED,	/* u64, that could not be noted */
	__SWIFTRDMA_DEV_A_MAX
};

#define SWIFTRDMA_DEV_A_MAX (__SWIFTRDMA_DEV_A_MAX - 1)

enum swiftrdma_port_attr {
	SWIFTRDMA_PORT_A_UNSPEC,
	SWIFTRDMA_PORT_A_PAD,
	SWIFTRDMA_PORT_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_PORT_A_INDEX,		/* u32 */
	SWIFTRDMA_PORT_A_STATE,		/* u32, enum ib_port_state (IBA 14.2.5.6) */
	SWIFTRDMA_PORT_A_LINK_LAYER,	/* u32, enum rdma_link_layer: 1 IB, 2 Ethernet */
	SWIFTRDMA_PORT_A_SPEED,		/* u64, bit/s, of all lanes */
	SWIFTRDMA_PORT_A_NETDEV,	/* string, where there is one */
	SWIFTRDMA_PORT_A_TX_BYTES,	/* u64 */
	SWIFTRDMA_PORT_A_RX_BYTES,	/* u64 */
	SWIFTRDMA_PORT_A_TX_PACKETS,	/* u64 */
	SWIFTRDMA_PORT_A_RX_PACKETS,	/* u64 */
	/* Bytes and packets count since the netdev was made, or the NIC reset. */
	SWIFTRDMA_PORT_A_TIME,		/* u64, ns */
	/*
	 * The rest costs the NIC several commands, and is read once a second at
	 * most. Only an Ethernet port has it, since the NIC was reset.
	 */
	SWIFTRDMA_PORT_A_DETAIL_TIME,	/* u64, ns, when it was read */
	SWIFTRDMA_PORT_A_ECN_MARKED,	/* u64, packets that a switch had marked */
	SWIFTRDMA_PORT_A_CNP_SENT,	/* u64, notifications of these to the sender */
	SWIFTRDMA_PORT_A_CNP_HANDLED,	/* u64, such that came, and slowed a QP down */
	SWIFTRDMA_PORT_A_PRIO,		/* nest swiftrdma_prio_attr, repeated: one of each */
	__SWIFTRDMA_PORT_A_MAX
};

#define SWIFTRDMA_PORT_A_MAX (__SWIFTRDMA_PORT_A_MAX - 1)

/*
 * A priority (IEEE 802.1p) of a port. What is paused is that priority alone, by
 * priority flow control: RX is what the port was told, and so could not send; TX
 * what it told the other side.
 */
enum swiftrdma_prio_attr {
	SWIFTRDMA_PRIO_A_UNSPEC,
	SWIFTRDMA_PRIO_A_PAD,
	SWIFTRDMA_PRIO_A_INDEX,		/* u32, 0 to 7 */
	SWIFTRDMA_PRIO_A_TX_BYTES,	/* u64 */
	SWIFTRDMA_PRIO_A_RX_BYTES,	/* u64 */
	SWIFTRDMA_PRIO_A_TX_PACKETS,	/* u64 */
	SWIFTRDMA_PRIO_A_RX_PACKETS,	/* u64 */
	SWIFTRDMA_PRIO_A_TX_PAUSES,	/* u64, frames */
	SWIFTRDMA_PRIO_A_RX_PAUSES,	/* u64, frames */
	SWIFTRDMA_PRIO_A_TX_PAUSE_TIME,	/* u64, ns */
	SWIFTRDMA_PRIO_A_RX_PAUSE_TIME,	/* u64, ns */
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
 * @SWIFTRDMA_UAR_KIND_DEDICATED: such a page with one QP alive: nobody contends.
 *	A page has several doorbell registers and only the library knows which one
 *	a QP rings, so two QPs of one page may or may not
 */
enum swiftrdma_uar_kind {
	SWIFTRDMA_UAR_KIND_HW,
	SWIFTRDMA_UAR_KIND_CONTEXT,
	SWIFTRDMA_UAR_KIND_KERNEL,
	SWIFTRDMA_UAR_KIND_STATIC,
	SWIFTRDMA_UAR_KIND_DYNAMIC,
	SWIFTRDMA_UAR_KIND_DEDICATED,
};

enum swiftrdma_uar_attr {
	SWIFTRDMA_UAR_A_UNSPEC,
	SWIFTRDMA_UAR_A_PAD,
	SWIFTRDMA_UAR_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_UAR_A_INDEX,		/* u32 */
	SWIFTRDMA_UAR_A_KIND,		/* u32, enum swiftrdma_uar_kind */
	SWIFTRDMA_UAR_A_QPS,		/* u32, alive */
	SWIFTRDMA_UAR_A_CREATED,	/* u64, QPs ever placed on it */
	SWIFTRDMA_UAR_A_DOORBELLS,	/* u64 */
	SWIFTRDMA_UAR_A_WRS,		/* u64 */
	SWIFTRDMA_UAR_A_OWNER,		/* nest swiftrdma_owner_attr: who opened it */
	SWIFTRDMA_UAR_A_SINCE,		/* u64, ns */
	SWIFTRDMA_UAR_A_TIME,		/* u64, ns */
	SWIFTRDMA_UAR_A_OWNERS,		/* u32, processes with QPs on it */
	SWIFTRDMA_UAR_A_THREADS,	/* u32, threads that created these */
	/*
	 * Of the device's sweeps since this one is known: all, those in which a QP
	 * of it had advanced, and those in which two or more had.
	 */
	SWIFTRDMA_UAR_A_SWEEPS,		/* u64 */
	SWIFTRDMA_UAR_A_ACTIVE,		/* u64 */
	SWIFTRDMA_UAR_A_COACTIVE,	/* u64 */
	/* Of the context that opened it: pages known, pages for QPs it asked for. */
	SWIFTRDMA_UAR_A_CONTEXT_UARS,	/* u32 */
	SWIFTRDMA_UAR_A_CONTEXT_LIMIT,	/* u32; thread domains take more */
	/* In CONGESTION_NTF: in the last quarter to half second. */
	SWIFTRDMA_UAR_A_RECENT_WRS,	/* u64 */
	__SWIFTRDMA_UAR_A_MAX
};

#define SWIFTRDMA_UAR_A_MAX (__SWIFTRDMA_UAR_A_MAX - 1)

enum swiftrdma_owner_attr {
	SWIFTRDMA_OWNER_A_UNSPEC,
	SWIFTRDMA_OWNER_A_PAD,
	SWIFTRDMA_OWNER_A_PID,		/* u32, process (thread group) */
	SWIFTRDMA_OWNER_A_UID,		/* u32, effective, initial user ns */
	SWIFTRDMA_OWNER_A_COMM,		/* string, of the group leader */
	SWIFTRDMA_OWNER_A_EXE,		/* string, basename */
	SWIFTRDMA_OWNER_A_CGROUP,	/* string, path in the unified hierarchy */
	SWIFTRDMA_OWNER_A_CGROUP_ID,	/* u64 */
	/* A kernel user has this instead of all the others. */
	SWIFTRDMA_OWNER_A_KERNEL,	/* string, its name */
	__SWIFTRDMA_OWNER_A_MAX
};

#define SWIFTRDMA_OWNER_A_MAX (__SWIFTRDMA_OWNER_A_MAX - 1)

/**
 * enum swiftrdma_absent - why the work requests of a QP are not counted
 * @SWIFTRDMA_ABSENT_NONE: they are
 * @SWIFTRDMA_ABSENT_OFF: the sampler is switched off by a module parameter
 * @SWIFTRDMA_ABSENT_NO_QUEUE: the QP has no send queue of its own
 * @SWIFTRDMA_ABSENT_NOT_YET: what was there before the module is asked for a few
 *	QPs at a time, when somebody reads
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

enum swiftrdma_qp_attr {
	SWIFTRDMA_QP_A_UNSPEC,
	SWIFTRDMA_QP_A_PAD,
	SWIFTRDMA_QP_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_QP_A_QPN,		/* u32 */
	SWIFTRDMA_QP_A_SERIAL,		/* u64 */
	SWIFTRDMA_QP_A_TYPE,		/* u32, enum ib_qp_type (IBV_QPT_* equal) */
	SWIFTRDMA_QP_A_STATE,		/* u32, enum ib_qp_state; absent: unknown */
	SWIFTRDMA_QP_A_PORT,		/* u32; absent before INIT */
	SWIFTRDMA_QP_A_UAR,		/* u32; absent: unknown */
	SWIFTRDMA_QP_A_JOB,		/* u32, job id */
	SWIFTRDMA_QP_A_OWNER,		/* nest swiftrdma_owner_attr */
	SWIFTRDMA_QP_A_TID,		/* u32, creating thread; absent: unknown */
	SWIFTRDMA_QP_A_SEND_CQ,		/* u32, id as `rdma res show cq` has it */
	SWIFTRDMA_QP_A_RECV_CQ,		/* u32 */
	SWIFTRDMA_QP_A_MAX_SEND_WR,	/* u32 */
	SWIFTRDMA_QP_A_MAX_RECV_WR,	/* u32 */
	SWIFTRDMA_QP_A_MAX_SEND_SGE,	/* u32 */
	SWIFTRDMA_QP_A_MAX_RECV_SGE,	/* u32 */
	SWIFTRDMA_QP_A_MAX_INLINE,	/* u32, bytes */
	SWIFTRDMA_QP_A_ADOPTED,		/* flag: taken in after it was made */
	SWIFTRDMA_QP_A_DOORBELLS,	/* u64 */
	SWIFTRDMA_QP_A_WRS,		/* u64 */
	SWIFTRDMA_QP_A_LEVEL,		/* u32, class level in force; absent: none */
	SWIFTRDMA_QP_A_TCLASS_ASKED,	/* u32, by the application */
	SWIFTRDMA_QP_A_TCLASS,		/* u32, programmed */
	SWIFTRDMA_QP_A_SL_ASKED,	/* u32 */
	SWIFTRDMA_QP_A_SL,		/* u32 */
	SWIFTRDMA_QP_A_DEST_QPN,	/* u32 */
	SWIFTRDMA_QP_A_DGID,		/* binary, 16 bytes, network order; with a GRH */
	SWIFTRDMA_QP_A_CLASS_PENDING,	/* flag: programmed is not yet desired */
	SWIFTRDMA_QP_A_CLASS_ERROR,	/* s32, -errno of the last attempt */
	SWIFTRDMA_QP_A_SINCE,		/* u64, ns, tracked since */
	SWIFTRDMA_QP_A_TIME,		/* u64, ns */
	/* Where work requests are counted QP by QP: */
	SWIFTRDMA_QP_A_WRS_SINCE,	/* u64, ns, since when */
	SWIFTRDMA_QP_A_WRS_AMBIGUOUS,	/* flag: may have missed a wrap of the record */
	SWIFTRDMA_QP_A_WRS_ABSENT,	/* u32, enum swiftrdma_absent: why WRS is not there */
	SWIFTRDMA_QP_A_DLID,		/* u32, of the peer or its router; InfiniBand */
	/* As overrides have it, and it is programmed: */
	SWIFTRDMA_QP_A_UDP_SPORT,	/* u32 */
	SWIFTRDMA_QP_A_LAG_PORT,	/* u32 */
	/*
	 * By a library's own command (mlx5's DEVX). Type, owner and UAR are known,
	 * nothing else, and nothing of it can be changed.
	 */
	SWIFTRDMA_QP_A_DEVX,		/* flag: made past RDMA core */
	__SWIFTRDMA_QP_A_MAX
};

#define SWIFTRDMA_QP_A_MAX (__SWIFTRDMA_QP_A_MAX - 1)

enum swiftrdma_job_class {
	SWIFTRDMA_JOB_CLASS_NONE,
	SWIFTRDMA_JOB_CLASS_LATENCY,
	SWIFTRDMA_JOB_CLASS_BALANCED,
	SWIFTRDMA_JOB_CLASS_THROUGHPUT,
	SWIFTRDMA_JOB_CLASS_BEST_EFFORT,
	__SWIFTRDMA_JOB_CLASS_MAX
};

#define SWIFTRDMA_JOB_CLASS_MAX (__SWIFTRDMA_JOB_CLASS_MAX - 1)

enum swiftrdma_job_attr {
	SWIFTRDMA_JOB_A_UNSPEC,
	SWIFTRDMA_JOB_A_PAD,
	SWIFTRDMA_JOB_A_ID,		/* u32 */
	SWIFTRDMA_JOB_A_NAME,		/* string */
	SWIFTRDMA_JOB_A_ORIGIN,		/* string, JOB_SET and JOB_DEL only */
	SWIFTRDMA_JOB_A_CLASS,		/* u32, enum swiftrdma_job_class */
	SWIFTRDMA_JOB_A_RULE,		/* nest swiftrdma_rule_attr, repeated */
	SWIFTRDMA_JOB_A_STAT,		/* nest swiftrdma_job_stat_attr, repeated */
	SWIFTRDMA_JOB_A_SINCE,		/* u64, ns */
	SWIFTRDMA_JOB_A_TIME,		/* u64, ns */
	__SWIFTRDMA_JOB_A_MAX
};

#define SWIFTRDMA_JOB_A_MAX (__SWIFTRDMA_JOB_A_MAX - 1)

enum swiftrdma_rule_attr {
	SWIFTRDMA_RULE_A_UNSPEC,
	SWIFTRDMA_RULE_A_PAD,
	SWIFTRDMA_RULE_A_ORDER,		/* u32 */
	SWIFTRDMA_RULE_A_ORIGIN,	/* string, in answers */
	SWIFTRDMA_RULE_A_CGROUP,	/* string, glob */
	SWIFTRDMA_RULE_A_COMM,		/* string */
	SWIFTRDMA_RULE_A_EXE,		/* string */
	SWIFTRDMA_RULE_A_UID,		/* u32 */
	SWIFTRDMA_RULE_A_PID,		/* u32 */
	SWIFTRDMA_RULE_A_MATCHES,	/* u64, QPs it assigned, in answers */
	__SWIFTRDMA_RULE_A_MAX
};

#define SWIFTRDMA_RULE_A_MAX (__SWIFTRDMA_RULE_A_MAX - 1)

/* A job on one device. */
enum swiftrdma_job_stat_attr {
	SWIFTRDMA_JOB_STAT_A_UNSPEC,
	SWIFTRDMA_JOB_STAT_A_PAD,
	SWIFTRDMA_JOB_STAT_A_DEV_INDEX,	/* u32 */
	SWIFTRDMA_JOB_STAT_A_QPS,	/* u32 */
	SWIFTRDMA_JOB_STAT_A_CREATED,	/* u64, QPs that became the job's */
	SWIFTRDMA_JOB_STAT_A_DESTROYED,	/* u64, QPs that ceased to be the job's */
	SWIFTRDMA_JOB_STAT_A_REJECTED,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_DOORBELLS,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_WRS,	/* u64 */
	SWIFTRDMA_JOB_STAT_A_LEVEL,	/* u32; absent: none in force */
	SWIFTRDMA_JOB_STAT_A_MAX_QPS,	/* u64; absent: no limit */
	SWIFTRDMA_JOB_STAT_A_CREATE_RATE, /* u64, 1/s; absent: no limit */
	SWIFTRDMA_JOB_STAT_A_BIT_RATE,	/* u64, bit/s; absent: no limit */
	SWIFTRDMA_JOB_STAT_A_WEIGHT,	/* u32; absent: the device's default */
	/* Memory regions that its processes registered since the module came: */
	SWIFTRDMA_JOB_STAT_A_MRS,	/* u32, alive */
	SWIFTRDMA_JOB_STAT_A_MR_BYTES,	/* u64; without those that are paged on demand */
	SWIFTRDMA_JOB_STAT_A_MTTS,	/* u64, translations that they take in the NIC */
	SWIFTRDMA_JOB_STAT_A_MTTS_UNKNOWN, /* u32, MRs that MTTS does not cover (yet) */
	SWIFTRDMA_JOB_STAT_A_MR_PAGE_MIN, /* u64, bytes, smallest page they are mapped in */
	SWIFTRDMA_JOB_STAT_A_MR_PAGE_MAX, /* u64, and largest */
	__SWIFTRDMA_JOB_STAT_A_MAX
};

#define SWIFTRDMA_JOB_STAT_A_MAX (__SWIFTRDMA_JOB_STAT_A_MAX - 1)

enum swiftrdma_lease_attr {
	SWIFTRDMA_LEASE_A_UNSPEC,
	SWIFTRDMA_LEASE_A_PAD,
	SWIFTRDMA_LEASE_A_ID,		/* u64 */
	SWIFTRDMA_LEASE_A_TTL_MS,	/* u32 */
	SWIFTRDMA_LEASE_A_RANK,		/* u32 */
	SWIFTRDMA_LEASE_A_ORIGIN,	/* string */
	/* In LEASE_NTF: it ran out, rather than being ended by request. */
	SWIFTRDMA_LEASE_A_EXPIRED,	/* flag */
	__SWIFTRDMA_LEASE_A_MAX
};

#define SWIFTRDMA_LEASE_A_MAX (__SWIFTRDMA_LEASE_A_MAX - 1)

/**
 * enum swiftrdma_knob - what can be turned
 * @SWIFTRDMA_KNOB_LEVEL: class level, 0 to %SWIFTRDMA_LEVEL_MAX (job, QP)
 * @SWIFTRDMA_KNOB_BIT_RATE: ceiling, bit/s (job)
 * @SWIFTRDMA_KNOB_WR_RATE: ceiling, WR/s (job)
 * @SWIFTRDMA_KNOB_WEIGHT: share of the job among others (job)
 * @SWIFTRDMA_KNOB_CREDITS: limit on outstanding WRs (job)
 * @SWIFTRDMA_KNOB_QPS: merge onto, or spread over, so many QPs (job)
 * @SWIFTRDMA_KNOB_MAX_QPS: admission: QPs alive per device (job)
 * @SWIFTRDMA_KNOB_CREATE_RATE: admission: new QPs per second and device (job)
 * @SWIFTRDMA_KNOB_UAR: place a QP on this UAR (QP)
 * @SWIFTRDMA_KNOB_UDP_SPORT: UDP source port of its packets, by which routers and
 *	link aggregations spread flows, 1 to 65535 (QP)
 * @SWIFTRDMA_KNOB_LAG_PORT: port of the NIC's own link aggregation that it sends
 *	by, from 1 (QP)
 *
 * The kernel enforces LEVEL, MAX_QPS and CREATE_RATE, and BIT_RATE and WEIGHT on
 * devices with %SWIFTRDMA_DEV_CAP_RATES: a ceiling, in steps of 1 Mbit/s, and a share
 * (1 to 100) of what all jobs of one NIC get together. UDP_SPORT and LAG_PORT it
 * enforces on connected RC and UC QPs of an Ethernet port whose firmware can. The rest
 * is -EOPNOTSUPP, and so is what the device or the QP cannot.
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
	__SWIFTRDMA_KNOB_MAX
};

#define SWIFTRDMA_KNOB_MAX (__SWIFTRDMA_KNOB_MAX - 1)

/**
 * enum swiftrdma_action_kind - what an entry of ACTION_GET stands for
 * @SWIFTRDMA_ACTION_KIND_OVERRIDE: an override of a live lease
 * @SWIFTRDMA_ACTION_KIND_PENDING: a QP whose class, or other KNOB, is not what it
 *	should be; JOB, DEV_INDEX, QPN and QP_SERIAL say which, ERROR and REASON why
 */
enum swiftrdma_action_kind {
	SWIFTRDMA_ACTION_KIND_OVERRIDE,
	SWIFTRDMA_ACTION_KIND_PENDING,
};

enum swiftrdma_action_attr {
	SWIFTRDMA_ACTION_A_UNSPEC,
	SWIFTRDMA_ACTION_A_PAD,
	SWIFTRDMA_ACTION_A_KIND,	/* u32, in answers */
	SWIFTRDMA_ACTION_A_KNOB,	/* u32 */
	SWIFTRDMA_ACTION_A_VALUE,	/* u64 */
	SWIFTRDMA_ACTION_A_CLEAR,	/* flag, in requests and ACT_NTF */
	SWIFTRDMA_ACTION_A_JOB,		/* string */
	SWIFTRDMA_ACTION_A_DEV_INDEX,	/* u32; absent with JOB: every device */
	SWIFTRDMA_ACTION_A_QPN,		/* u32 */
	SWIFTRDMA_ACTION_A_QP_SERIAL,	/* u64 */
	SWIFTRDMA_ACTION_A_REASON,	/* string */
	/* In answers; its TTL_MS is the time left. */
	SWIFTRDMA_ACTION_A_LEASE,	/* nest swiftrdma_lease_attr */
	SWIFTRDMA_ACTION_A_IN_FORCE,	/* flag: not outranked, in answers */
	SWIFTRDMA_ACTION_A_INDEX,	/* u32, place in the batch, in ACT_NTF */
	SWIFTRDMA_ACTION_A_ERROR,	/* s32, 0 or -errno of the worst QP */
	SWIFTRDMA_ACTION_A_QPS,		/* u32, QPs concerned */
	SWIFTRDMA_ACTION_A_QPS_DONE,	/* u32, ... that have what is desired */
	SWIFTRDMA_ACTION_A_QPS_PENDING,	/* u32, ... that will be tried again */
	SWIFTRDMA_ACTION_A_QPS_UNSUPPORTED, /* u32, ... that cannot be changed live */
	__SWIFTRDMA_ACTION_A_MAX
};

#define SWIFTRDMA_ACTION_A_MAX (__SWIFTRDMA_ACTION_A_MAX - 1)

enum swiftrdma_level_attr {
	SWIFTRDMA_LEVEL_A_UNSPEC,
	SWIFTRDMA_LEVEL_A_PAD,
	SWIFTRDMA_LEVEL_A_LEVEL,	/* u32 */
	SWIFTRDMA_LEVEL_A_DSCP,		/* u32 */
	SWIFTRDMA_LEVEL_A_SL,		/* u32 */
	__SWIFTRDMA_LEVEL_A_MAX
};

#define SWIFTRDMA_LEVEL_A_MAX (__SWIFTRDMA_LEVEL_A_MAX - 1)

#endif /* _UAPI_RDMA_SWIFTRDMA_H */
