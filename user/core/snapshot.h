/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state of the kernel's objects at one moment: plain data, filled by io. No structure
 * depends on netlink.
 *
 * Units: times in ns of CLOCK_MONOTONIC, sizes in bytes, speeds in bit/s. Counters are
 * cumulative. A field is valid only if its bit in .has is set: check snap_has() first.
 *
 * Arrays are sorted: devs by index, ports and uars by (dev, index), prios by (dev, port,
 * index), qps and qp_reports by (dev, qpn, serial), jobs by id, job_reports by (job, dev).
 * So a reader may search them, or walk through two snapshots in one pass (base/array.h).
 */
#ifndef SRDMA_CORE_SNAPSHOT_H
#define SRDMA_CORE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/swiftrdma_share.h>

#include "base/array.h"

#define SNAP_NAME	32	/* job, origin */
#define SNAP_DEVNAME	64
#define SNAP_COMM	16
#define SNAP_EXE	64
#define SNAP_PATH	256
#define SNAP_REASON	256

/* Bits of .has. Objects of several kinds use the same bit for a figure of the same name. */
enum snap_field {
	SNAP_DOORBELLS	= 1ull << 0,
	SNAP_WRS	= 1ull << 1,
	SNAP_STATE	= 1ull << 2,
	SNAP_PORT	= 1ull << 3,
	SNAP_UAR	= 1ull << 4,
	SNAP_TID	= 1ull << 5,
	SNAP_CLASS	= 1ull << 6,	/* tclass, sl and what was asked */
	SNAP_LEVEL	= 1ull << 7,
	SNAP_DEST	= 1ull << 8,	/* dest_qpn; dgid, dlid where not 0 */
	SNAP_BYTES	= 1ull << 9,	/* tx/rx bytes and packets of a port */
	SNAP_SPEED	= 1ull << 10,
	SNAP_MAX_QPS	= 1ull << 11,
	SNAP_CREATE_RATE = 1ull << 12,
	SNAP_OWNER	= 1ull << 13,
	SNAP_NETDEV	= 1ull << 14,
	SNAP_CAP	= 1ull << 15,	/* qp: queue capacities */
	SNAP_CLASS_ERROR = 1ull << 16,
	SNAP_OWNERS	= 1ull << 17,	/* uar: owners, threads */
	SNAP_SWEEPS	= 1ull << 18,	/* uar: sweeps, active, coactive; dev: sweep_* */
	SNAP_LIMIT	= 1ull << 19,	/* uar: context_limit; dev: qp, cq, mr_limit */
	SNAP_CONTEXT	= 1ull << 20,	/* uar: context_uars */
	SNAP_UAR_LIMIT	= 1ull << 21,
	SNAP_COMMANDS	= 1ull << 22,	/* dev, job: commands, command_time; job: creates, modifies */
	SNAP_CONGESTION	= 1ull << 23,	/* dev: congestions */
	SNAP_CONGESTED	= 1ull << 24,	/* dev: congestion_level, congested_at */
	SNAP_MTT	= 1ull << 25,	/* dev: mtt_hits, mtt_misses */
	SNAP_READ_STALL	= 1ull << 26,
	SNAP_ABSENT	= 1ull << 27,	/* qp: wrs_absent says why there are no wrs */
	SNAP_WRS_SINCE	= 1ull << 28,
	SNAP_RECENT	= 1ull << 29,	/* uar of a congestion event: recent_wrs */
	SNAP_BIT_RATE	= 1ull << 30,	/* job on a device */
	SNAP_WEIGHT	= 1ull << 31,	/* the same */
	SNAP_MTTS	= 1ull << 32,	/* dev, job on one: mtts, mtts_unknown */
	SNAP_MR_PAGES	= 1ull << 33,	/* the same: mr_page_min, mr_page_max */
	SNAP_MRS	= 1ull << 34,	/* mr_bytes; dev: mrs_unknown; job: mrs */
	SNAP_PCIE	= 1ull << 35,	/* dev: pcie_* */
	SNAP_CNP	= 1ull << 36,	/* port: ecn_marked, cnp_sent, cnp_handled */
	SNAP_DETAIL	= 1ull << 37,	/* port: detail_time */
	SNAP_DEVX	= 1ull << 38,	/* dev: devx_* */
	SNAP_SEND_CQ	= 1ull << 39,	/* qp */
	SNAP_RECV_CQ	= 1ull << 40,	/* qp */
	SNAP_CONTEXT_ID	= 1ull << 41,	/* uar: context */
	SNAP_QPC	= 1ull << 42,	/* dev: qpc_hits, qpc_misses */
	SNAP_OUTSTANDING = 1ull << 43,	/* report of a QP */
	SNAP_LOOKS	= 1ull << 44,	/* qp: outstanding_* */
	SNAP_WR_RATE	= 1ull << 45,	/* job on a device */
	SNAP_CREDITS	= 1ull << 46,	/* the same */
	SNAP_PLACE	= 1ull << 47,	/* the same */
	SNAP_CHUNK	= 1ull << 48,	/* the same */
	SNAP_HUGE_PAGES	= 1ull << 49,	/* the same */
	SNAP_WAITS	= 1ull << 50,	/* knob of libraries: posts, wrs, time, passed */
	SNAP_SPLIT	= 1ull << 51,	/* the same: split, whole */
	SNAP_FOLLOW	= 1ull << 52,	/* job on a device */
	SNAP_PEER_WISH	= 1ull << 53,	/* qp */
	SNAP_PEER_LEVEL	= 1ull << 54,	/* qp */
	SNAP_REQUESTS	= 1ull << 55,	/* qp: request_*, uncovered_* */
};

#define snap_has(obj, field) (((obj)->has & (field)) != 0)

/* Compare ports and UARs; QPs. */
#define SNAP_CMP_INDEX(a, b) ARRAY_CMP_2(a, b, dev, index)
#define SNAP_CMP_QP(a, b) ARRAY_CMP_3(a, b, dev, qpn, serial)

struct snap_dev {
	uint64_t has;
	uint32_t index;
	uint32_t caps;		/* enum swiftrdma_dev_cap */
	uint32_t ports, qps, uars, cqs, mrs;
	char name[SNAP_DEVNAME];
	char provider[SNAP_NAME];
	uint64_t created, create_failed, rejected, destroyed, modified;
	uint64_t adopted, untracked, live_changed, live_failed, drain_max;
	uint64_t since, time;
	uint32_t qp_limit, cq_limit, mr_limit, uar_limit;
	uint64_t commands, command_time;
	uint64_t sweeps, sweep_time, sweep_gap;
	uint32_t records, held_pages;
	uint64_t congestions, congested_at;
	uint32_t congestion_level;
	uint64_t mtt_hits, mtt_misses, read_stall, qpc_hits, qpc_misses;
	uint32_t mrs_unknown, mtts_unknown;
	uint64_t mr_bytes, mtts, mr_page_min, mr_page_max;
	uint32_t pcie_stalled_reads, pcie_stalled_writes;	/* %, of the last second */
	uint64_t pcie_stalled_read_seconds, pcie_stalled_write_seconds;
	uint32_t devx_qps;	/* created by DEVX, among qps */
	uint64_t devx_created, devx_missed;
	uint64_t diag_time, pcie_time;	/* when mtt_* to qpc_* were read; pcie_* */
	uint32_t function;	/* enum swiftrdma_function; 0: not known */
};

struct snap_port {
	uint64_t has;
	uint32_t dev, index;
	uint32_t state, link_layer;
	uint64_t speed;
	uint64_t tx_bytes, rx_bytes, tx_packets, rx_packets;
	uint64_t time;
	char netdev[SNAP_NAME];
	uint64_t detail_time;
	uint64_t ecn_marked, cnp_sent, cnp_handled;
};

/* A priority of an Ethernet port, read at the port's detail_time. */
struct snap_prio {
	uint32_t dev, port, index;
	uint64_t tx_bytes, rx_bytes, tx_packets, rx_packets;
	uint64_t tx_pauses, rx_pauses;			/* frames */
	uint64_t tx_pause_time, rx_pause_time;		/* ns */
};

struct snap_owner {
	uint32_t pid, uid;
	uint64_t cgroup_id;
	char comm[SNAP_COMM];
	char exe[SNAP_EXE];
	char cgroup[SNAP_PATH];
	char kernel[SNAP_EXE];	/* not empty: a kernel user, nothing else set */
};

struct snap_uar {
	uint64_t has;
	uint32_t dev, index, kind, qps;
	uint32_t owner;		/* index into snapshot.owners */
	uint32_t context;	/* number of the user context; only its QPs can ring the UAR */
	uint64_t created, doorbells, wrs;
	uint64_t since, time;
	uint32_t owners, threads;
	uint64_t sweeps, active, coactive;
	uint32_t context_uars, context_limit;
	uint64_t recent_wrs;
};

struct snap_qp {
	/* Members that are examined at each reading, near each other in memory: */
	uint64_t has;
	uint32_t dev, qpn;
	uint64_t serial;
	uint64_t since, wrs, doorbells, time;
	uint32_t owner;		/* index into snapshot.owners */
	uint32_t tid;
	uint32_t type, state, port, uar, job;
	uint32_t level, tclass, sl;
	/* Looks into the send queue; sums of the WQEBBs that were outstanding and of their squares. */
	uint64_t outstanding_samples, outstanding_sum, outstanding_squares;
	/* The same of the WQEBBs that were complete and that no CQE covered yet. */
	uint64_t uncovered_samples, uncovered_sum, uncovered_squares;
	uint64_t request_changes;	/* looks that saw requests of different sizes */
	uint32_t request_blocks;	/* WQEBBs of a request */
	uint32_t wrs_absent;	/* enum swiftrdma_absent */
	bool wrs_ambiguous;

	bool adopted, class_pending;
	bool devx;		/* created by DEVX, past RDMA core */
	uint32_t tclass_asked, sl_asked;
	int32_t class_error;	/* -errno */
	uint32_t send_cq, recv_cq;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
	uint32_t max_inline;
	uint32_t dest_qpn, dlid;
	uint32_t udp_sport, lag_port;	/* 0: not set */
	uint8_t dgid[16];
	uint64_t wrs_since;
	/* Both ends of its connection. */
	uint32_t ends;		/* enum swiftrdma_ends */
	uint32_t peer_wish;	/* level that the peer wishes it to have */
	uint32_t peer_level;	/* level in force there */
	bool follows;		/* .level is in force because the peer wishes it */
};

struct snap_rule {
	uint32_t order;
	bool has_uid, has_pid;
	bool asked;		/* for processes that ask for the job by name */
	uint32_t uid, pid;
	uint64_t slo_p99_min;	/* ns, the least p99 that a process may ask for; 0: none */
	char origin[SNAP_NAME];
	char cgroup[SNAP_PATH];	/* empty strings: no such condition */
	char comm[SNAP_COMM];
	char exe[SNAP_EXE];
	uint64_t matches;
};

/* A job on one device. */
struct snap_job_stat {
	uint64_t has;
	uint32_t dev, qps, level, follow;
	uint64_t created, destroyed, moved, rejected, doorbells, wrs;
	uint64_t max_qps, create_rate;
	uint64_t bit_rate, wr_rate, credits, chunk;
	uint32_t weight, place, huge_pages;
	uint32_t mrs, mtts_unknown;
	uint64_t mr_bytes, mtts, mr_page_min, mr_page_max;
	/* Operations of its processes; moved and adopted QPs do not count. */
	uint64_t creates, modifies, commands, command_time;
};

struct snap_job {
	uint32_t id, class;	/* enum swiftrdma_job_class */
	char name[SNAP_NAME];
	struct snap_rule *rules;
	size_t n_rules;
	struct snap_job_stat *stats;
	size_t n_stats;
	uint64_t since, time;
};

/*
 * Figures that libraries in processes count and measure. The sums of times are those of
 * .latency_wrs and .hol_wrs work requests, estimated from .samples requests.
 */
struct snap_figures {
	uint64_t wrs, calls, bytes, recv_wrs, done, dropped, errors;
	uint64_t samples, latency_wrs, latency_sum, latency_max;
	uint64_t hol_wrs, hol_sum, hol_max;
	uint64_t since, time;
};

/*
 * Knobs that libraries enforce: job.wr_rate, job.bit_rate, job.credits, qp.uar, job.place,
 * job.chunk and job.huge_pages.
 */
#define SNAP_LIBRARY_KNOBS	7

/* How the libraries in a job's processes enforce such a knob on a device. */
struct snap_held {
	uint64_t has;
	uint32_t knob;		/* enum swiftrdma_knob */
	uint32_t processes;	/* that can enforce the knob */
	uint32_t in_force;	/* those of them that do */
	/* Calls that waited, their WRs, the time over all threads, ns. */
	uint64_t posts, wrs, time;
	uint64_t passed;	/* those of the calls that waited as long as a call may */
	/* Requests larger than job.chunk: how many were posted in pieces, how many whole. */
	uint64_t split, whole;
};

/* A job on a device, if it has or had a process with the library; ended processes count. */
struct snap_job_report {
	uint32_t dev, job;
	uint32_t processes;	/* attached now */
	bool distrusted;	/* a process reported an impossible figure */
	uint64_t slo_p99;	/* ns, strictest objective granted to a process; 0: none */
	struct snap_figures sum;
	uint32_t n_held;
	struct snap_held held[SNAP_LIBRARY_KNOBS];
	uint64_t bucket[SWIFTRDMA_HIST_BUCKETS];	/* latencies, by swiftrdma_hist_bucket() */
};

/* A live QP of a process with the library. */
struct snap_qp_report {
	uint64_t has;
	uint32_t dev, qpn;
	uint64_t serial;
	uint32_t flags;		/* enum swiftrdma_slot_flags */
	uint32_t now_qpn;	/* the QP that carries its requests; 0: itself */
	uint64_t outstanding;
	uint64_t doorbells;	/* the kernel's count, SNAP_DOORBELLS; compare sum.calls */
	struct snap_figures sum;
};

/*
 * Arrays grow by doubling and are reused by the next reading, so a steady state allocates
 * nothing.
 */
struct snapshot {
	uint64_t generation;	/* of the QP dump */
	uint64_t time;
	bool admin;		/* the reader is privileged: it sees jobs, and all QPs */
	bool armed;		/* the module accepted changes at that time */
	struct snap_dev *devs;		size_t n_devs, cap_devs;
	struct snap_port *ports;	size_t n_ports, cap_ports;
	struct snap_prio *prios;	size_t n_prios, cap_prios;
	struct snap_uar *uars;		size_t n_uars, cap_uars;
	struct snap_qp *qps;		size_t n_qps, cap_qps;
	/*
	 * Not 0: this reading fetched only the QPs that changed since the reading of that time,
	 * which this structure held before. No QP was created or destroyed, and the rows of the
	 * other QPs were not touched.
	 */
	uint64_t qps_since;
	uint32_t *changed;		size_t n_changed, cap_changed;	/* rows, ascending */
	/* Private to io: dev << 32 | qpn of each QP; .n_qp_keys 0: not made yet. */
	uint64_t *qp_key;		size_t n_qp_keys, cap_qp_keys;
	struct snap_job *jobs;		size_t n_jobs, cap_jobs;
	struct snap_owner *owners;	size_t n_owners, cap_owners;
	struct owner_index *owner_index;	/* io's: finds an owner */
	struct snap_job_report *job_reports;	size_t n_job_reports, cap_job_reports;
	struct snap_qp_report *qp_reports;	size_t n_qp_reports, cap_qp_reports;
};

#define SNAP_READINGS	12	/* SWIFTRDMA_READINGS_MAX */

/* The value of a signal when a decision was made. */
struct snap_reading {
	char signal[SNAP_NAME];
	bool known;
	int64_t value;		/* in millionths of its unit */
};

/* Bits of .has of a decision. */
enum snap_decision_field {
	SNAP_COOLDOWN	= 1ull << 0,
	SNAP_STEPS_LEFT	= 1ull << 1,
	SNAP_ACTS_LEFT	= 1ull << 2,
	SNAP_SEEN_DEV	= 1ull << 3,
	SNAP_SEEN_PORT	= 1ull << 4,
	SNAP_SEEN_UAR	= 1ull << 5,
	SNAP_SEEN_QP	= 1ull << 6,
};

/* Why a policy decided an action: where its state was true, and the readings there. */
struct snap_decision {
	uint64_t has;
	char policy[SNAP_NAME];	/* empty: unknown */
	uint64_t tick, cooldown;
	uint32_t steps_left, acts_left;
	uint32_t dev, port, uar, qpn;
	uint32_t n_readings;
	struct snap_reading readings[SNAP_READINGS];
};

/* One knob change asked for, or found in force. */
struct snap_action {
	uint32_t kind;		/* enum swiftrdma_action_kind */
	uint32_t knob;		/* enum swiftrdma_knob */
	uint64_t value;
	bool clear;
	char job[SNAP_NAME];	/* empty: the target is a QP */
	bool has_dev;
	uint32_t dev, qpn;
	uint64_t serial;	/* 0: any */
	char reason[SNAP_REASON];
	/* In answers only. */
	bool in_force, has_value;
	int32_t error;		/* -errno */
	uint32_t qps, qps_done, qps_pending, qps_unsupported;
	uint64_t lease_id;
	uint32_t lease_ttl_ms, lease_rank;
	char lease_origin[SNAP_NAME];
	struct snap_decision decision;
	uint32_t qps_unconnected, qps_unknown;
	uint32_t syndrome;	/* of the device, with -EREMOTEIO */
};

#endif /* SRDMA_CORE_SNAPSHOT_H */
