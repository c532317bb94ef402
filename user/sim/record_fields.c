// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/record_fields.h"

#include <assert.h>

/*
 * Each structure's members in the order in which they are declared: N() one
 * value, A() an array, O() a value that is left out, S() a structure or several that
 * are. FIELDS() does not compile with a list that is shorter than its structure, so
 * that a new member cannot be forgotten. Older files are read by the same lists: who adds a member, at the end
 * of its structure, raises RECORD_VERSION; who puts it elsewhere, changes a type, or
 * gives a bit of .has another meaning, raises RECORD_OLDEST as well.
 */
#define DEV(N, A, O, S, t)						\
	N(t, has) N(t, index) N(t, caps)				\
	N(t, ports) N(t, qps) N(t, uars) N(t, cqs) N(t, mrs)		\
	A(t, name) A(t, provider)					\
	N(t, created) N(t, create_failed) N(t, rejected)		\
	N(t, destroyed) N(t, modified)					\
	N(t, adopted) N(t, untracked) N(t, live_changed)		\
	N(t, live_failed) N(t, drain_max)				\
	N(t, since) N(t, time)						\
	N(t, qp_limit) N(t, cq_limit) N(t, mr_limit) N(t, uar_limit)	\
	N(t, commands) N(t, command_time)				\
	N(t, sweeps) N(t, sweep_time) N(t, sweep_gap)			\
	N(t, records) N(t, held_pages)					\
	N(t, congestions) N(t, congested_at) N(t, congestion_level)	\
	N(t, mtt_hits) N(t, mtt_misses) N(t, read_stall)		\
	N(t, qpc_hits) N(t, qpc_misses)					\
	N(t, mrs_unknown) N(t, mtts_unknown)				\
	N(t, mr_bytes) N(t, mtts) N(t, mr_page_min) N(t, mr_page_max)	\
	N(t, pcie_stalled_reads) N(t, pcie_stalled_writes)		\
	N(t, pcie_stalled_read_seconds) N(t, pcie_stalled_write_seconds) \
	N(t, devx_qps) N(t, devx_created) N(t, devx_missed)		\
	N(t, diag_time) N(t, pcie_time) N(t, function)

#define PORT(N, A, O, S, t)						\
	N(t, has) N(t, dev) N(t, index) N(t, state) N(t, link_layer)	\
	N(t, speed)							\
	N(t, tx_bytes) N(t, rx_bytes) N(t, tx_packets) N(t, rx_packets)	\
	N(t, time) A(t, netdev)						\
	N(t, detail_time)						\
	N(t, ecn_marked) N(t, cnp_sent) N(t, cnp_handled)

#define PRIO(N, A, O, S, t)						\
	N(t, dev) N(t, port) N(t, index)				\
	N(t, tx_bytes) N(t, rx_bytes) N(t, tx_packets) N(t, rx_packets)	\
	N(t, tx_pauses) N(t, rx_pauses)					\
	N(t, tx_pause_time) N(t, rx_pause_time)

#define UAR(N, A, O, S, t)						\
	N(t, has) N(t, dev) N(t, index) N(t, kind) N(t, qps)		\
	N(t, owner)							\
	N(t, created) N(t, doorbells) N(t, wrs)				\
	N(t, since) N(t, time)						\
	N(t, owners) N(t, threads)					\
	N(t, sweeps) N(t, active) N(t, coactive)			\
	N(t, context_uars) N(t, context_limit) N(t, recent_wrs) N(t, context)

#define QP(N, A, O, S, t)						\
	N(t, has) N(t, dev) N(t, qpn) N(t, serial)			\
	N(t, type) N(t, state) N(t, port) N(t, uar) N(t, job) N(t, tid)	\
	N(t, owner) N(t, send_cq) N(t, recv_cq)				\
	N(t, max_send_wr) N(t, max_recv_wr)				\
	N(t, max_send_sge) N(t, max_recv_sge) N(t, max_inline)		\
	N(t, level) N(t, tclass_asked) N(t, tclass)			\
	N(t, sl_asked) N(t, sl)						\
	N(t, dest_qpn) A(t, dgid)					\
	N(t, adopted) N(t, class_pending) N(t, class_error)		\
	N(t, doorbells) N(t, wrs) N(t, since) N(t, time)		\
	N(t, wrs_since) N(t, wrs_absent) N(t, wrs_ambiguous)		\
	N(t, dlid) N(t, udp_sport) N(t, lag_port) N(t, devx)

#define OWNER(N, A, O, S, t)						\
	N(t, pid) N(t, uid) N(t, cgroup_id)				\
	A(t, comm) A(t, exe) A(t, cgroup) A(t, kernel)

#define JOB(N, A, O, S, t)						\
	N(t, id) N(t, class) A(t, name)					\
	O(t, rules) O(t, n_rules) O(t, stats) N(t, n_stats)		\
	N(t, since) N(t, time)

#define STAT(N, A, O, S, t)						\
	N(t, has) N(t, dev) N(t, qps) N(t, level)			\
	N(t, created) N(t, destroyed) N(t, moved) N(t, rejected)	\
	N(t, doorbells) N(t, wrs)					\
	N(t, max_qps) N(t, create_rate) N(t, bit_rate) N(t, weight)	\
	N(t, mrs) N(t, mtts_unknown)					\
	N(t, mr_bytes) N(t, mtts) N(t, mr_page_min) N(t, mr_page_max)	\
	N(t, creates) N(t, modifies) N(t, commands) N(t, command_time)

#define ACTION(N, A, O, S, t)						\
	N(t, kind) N(t, knob) N(t, value) N(t, clear) A(t, job)		\
	N(t, has_dev) N(t, dev) N(t, qpn) N(t, serial) A(t, reason)	\
	N(t, in_force) N(t, has_value) N(t, error)			\
	N(t, qps) N(t, qps_done) N(t, qps_pending) N(t, qps_unsupported) \
	N(t, lease_id) N(t, lease_ttl_ms) N(t, lease_rank)		\
	A(t, lease_origin) S(t, decision)				\
	N(t, qps_unconnected) N(t, qps_unknown) N(t, syndrome)

/* Its readings follow it. */
#define DECISION(N, A, O, S, t)						\
	N(t, has) A(t, policy) N(t, tick) N(t, cooldown)		\
	N(t, steps_left) N(t, acts_left)				\
	N(t, dev) N(t, port) N(t, uar) N(t, qpn)			\
	N(t, n_readings) S(t, readings)

#define READING(N, A, O, S, t)						\
	A(t, signal) N(t, known) N(t, value)

/* What is behind the head is of its kind: record_event.c. */
#define HEAD(N, A, O, S, t)						\
	N(t, time) N(t, kind) N(t, index) N(t, batch) N(t, lease)	\
	N(t, expired) N(t, has_owner) N(t, uars) A(t, why) N(t, decided)

/* The arrays are record_tables[]. */
#define SNAPSHOT(N, A, O, S, t)						\
	N(t, generation) N(t, time) N(t, admin)				\
	O(t, devs) O(t, n_devs) O(t, cap_devs)				\
	O(t, ports) O(t, n_ports) O(t, cap_ports)			\
	O(t, prios) O(t, n_prios) O(t, cap_prios)			\
	O(t, uars) O(t, n_uars) O(t, cap_uars)				\
	O(t, qps) O(t, n_qps) O(t, cap_qps)				\
	O(t, jobs) O(t, n_jobs) O(t, cap_jobs)				\
	O(t, owners) O(t, n_owners) O(t, cap_owners)

#define ENTRY(t, m) {							\
	.at = offsetof(struct t, m), .size = sizeof(((struct t *)0)->m),	\
	.kind = _Generic(((struct t *)0)->m, bool: RECORD_BOOL,		\
			 char *: RECORD_TEXT, uint8_t *: RECORD_BYTES,	\
			 uint32_t: RECORD_NUMBER, int32_t: RECORD_NUMBER, \
			 uint64_t: RECORD_NUMBER, int64_t: RECORD_NUMBER) },
#define NO_ENTRY(t, m)

#define NOUGHT(t, m) 0,
#define NOUGHTS(t, m) { 0 },
#define NONE(t, m) {},

#define FIELDS(which, list, t)						\
	static const struct record_field which##_fields[] = {		\
		list(ENTRY, ENTRY, NO_ENTRY, NO_ENTRY, t)		\
	};								\
	static_assert(COUNT(which##_fields) <= RECORD_FIELDS_MAX, #t);	\
	/* -Wextra wants an initializer of every member. */		\
	static_assert(sizeof((struct t){				\
		list(NOUGHT, NOUGHTS, NOUGHT, NONE, t)			\
	}) <= RECORD_OBJECT_MAX, #t);

#define COUNT(f) (sizeof(f) / sizeof((f)[0]))
#define OBJECT(which, t) { which##_fields, COUNT(which##_fields), sizeof(struct t) }
#define TABLE(which, t, name)						\
	{ OBJECT(which, t), offsetof(struct snapshot, name),		\
	  offsetof(struct snapshot, n_##name) }

FIELDS(dev, DEV, snap_dev)
FIELDS(port, PORT, snap_port)
FIELDS(prio, PRIO, snap_prio)
FIELDS(uar, UAR, snap_uar)
FIELDS(qp, QP, snap_qp)
FIELDS(owner, OWNER, snap_owner)
FIELDS(job, JOB, snap_job)
FIELDS(stat, STAT, snap_job_stat)
FIELDS(action, ACTION, snap_action)
FIELDS(decision, DECISION, snap_decision)
FIELDS(reading, READING, snap_reading)
FIELDS(head, HEAD, record_event_head)
FIELDS(snapshot, SNAPSHOT, snapshot)

const struct record_table record_tables[RECORD_TABLES] = {
	[RECORD_DEVS] = TABLE(dev, snap_dev, devs),
	[RECORD_PORTS] = TABLE(port, snap_port, ports),
	[RECORD_PRIOS] = TABLE(prio, snap_prio, prios),
	[RECORD_UARS] = TABLE(uar, snap_uar, uars),
	[RECORD_QPS] = TABLE(qp, snap_qp, qps),
	[RECORD_OWNERS] = TABLE(owner, snap_owner, owners),
	[RECORD_JOBS] = TABLE(job, snap_job, jobs),
};

const struct record_object record_stat = OBJECT(stat, snap_job_stat);
const struct record_object record_action = OBJECT(action, snap_action);
const struct record_object record_decision = OBJECT(decision, snap_decision);
const struct record_object record_reading = OBJECT(reading, snap_reading);
const struct record_object record_head = OBJECT(head, record_event_head);
const struct record_object record_snapshot = OBJECT(snapshot, snapshot);
