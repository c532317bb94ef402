// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parses a message's attributes, and the objects that are measured. */
#include <errno.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"
#include "io/attr.h"

static int take_record(const struct srdma_set *set, struct srdma_reading *r, void **array,
		       size_t *n, size_t *cap, size_t size, const void *data,
		       size_t len)
{
	void *obj = array_next(array, *n, cap, size);
	int err = obj ? srdma_fill(set, r, obj, data, len, NULL) : -ENOMEM;

	*n += !err;
	return err;
}

#define TAKE(set, array, data, len)					\
	take_record(set, r, (void **)&r->snap->array, &r->snap->n_##array,	\
		    &r->snap->cap_##array, sizeof(*r->snap->array), data, len)

static const struct srdma_field owner_fields[] = {
	F(SWIFTRDMA_OWNER_A_PID, U32, snap_owner, pid, 0),
	F(SWIFTRDMA_OWNER_A_UID, U32, snap_owner, uid, 0),
	F(SWIFTRDMA_OWNER_A_COMM, STR, snap_owner, comm, 0),
	F(SWIFTRDMA_OWNER_A_EXE, STR, snap_owner, exe, 0),
	F(SWIFTRDMA_OWNER_A_CGROUP, STR, snap_owner, cgroup, 0),
	F(SWIFTRDMA_OWNER_A_CGROUP_ID, U64, snap_owner, cgroup_id, 0),
	F(SWIFTRDMA_OWNER_A_KERNEL, STR, snap_owner, kernel, 0),
};

const struct srdma_set srdma_owner_set = {
	FIELDS(owner_fields), 0, NO_HAS, NULL,
};

/* Not inlined into take_owner(), which would then clear @owner at each call. */
static __attribute__((noinline)) int add_owner(struct srdma_reading *r, uint32_t *index,
					       const void *data, size_t len)
{
	struct snap_owner owner = { 0 };
	int err = srdma_fill(&srdma_owner_set, r, &owner, data, len, NULL);

	return err ? err : srdma_owner_add(r->snap, &owner, data, len, index);
}

static int take_owner(struct srdma_reading *r, uint32_t *index,
		      const void *data, size_t len)
{
	return srdma_owner_find(r->snap, data, len, index) ? 0 : add_owner(r, index, data, len);
}

static const struct srdma_field dev_fields[] = {
	F(SWIFTRDMA_DEV_A_INDEX, U32, snap_dev, index, 0),
	F(SWIFTRDMA_DEV_A_NAME, STR, snap_dev, name, 0),
	F(SWIFTRDMA_DEV_A_PROVIDER, STR, snap_dev, provider, 0),
	F(SWIFTRDMA_DEV_A_CAPS, U32, snap_dev, caps, 0),
	F(SWIFTRDMA_DEV_A_PORTS, U32, snap_dev, ports, 0),
	F(SWIFTRDMA_DEV_A_QPS, U32, snap_dev, qps, 0),
	F(SWIFTRDMA_DEV_A_UARS, U32, snap_dev, uars, 0),
	F(SWIFTRDMA_DEV_A_CQS, U32, snap_dev, cqs, 0),
	F(SWIFTRDMA_DEV_A_MRS, U32, snap_dev, mrs, 0),
	F(SWIFTRDMA_DEV_A_CREATED, U64, snap_dev, created, 0),
	F(SWIFTRDMA_DEV_A_CREATE_FAILED, U64, snap_dev, create_failed, 0),
	F(SWIFTRDMA_DEV_A_REJECTED, U64, snap_dev, rejected, 0),
	F(SWIFTRDMA_DEV_A_DESTROYED, U64, snap_dev, destroyed, 0),
	F(SWIFTRDMA_DEV_A_MODIFIED, U64, snap_dev, modified, 0),
	F(SWIFTRDMA_DEV_A_ADOPTED, U64, snap_dev, adopted, 0),
	F(SWIFTRDMA_DEV_A_UNTRACKED, U64, snap_dev, untracked, 0),
	F(SWIFTRDMA_DEV_A_LIVE_CHANGED, U64, snap_dev, live_changed, 0),
	F(SWIFTRDMA_DEV_A_LIVE_FAILED, U64, snap_dev, live_failed, 0),
	F(SWIFTRDMA_DEV_A_DRAIN_MAX, U64, snap_dev, drain_max, 0),
	F(SWIFTRDMA_DEV_A_SINCE, U64, snap_dev, since, 0),
	F(SWIFTRDMA_DEV_A_TIME, U64, snap_dev, time, 0),
	F(SWIFTRDMA_DEV_A_QP_LIMIT, U32, snap_dev, qp_limit, SNAP_LIMIT),
	F(SWIFTRDMA_DEV_A_CQ_LIMIT, U32, snap_dev, cq_limit, 0),
	F(SWIFTRDMA_DEV_A_MR_LIMIT, U32, snap_dev, mr_limit, 0),
	F(SWIFTRDMA_DEV_A_UAR_LIMIT, U32, snap_dev, uar_limit, SNAP_UAR_LIMIT),
	F(SWIFTRDMA_DEV_A_COMMANDS, U64, snap_dev, commands, SNAP_COMMANDS),
	F(SWIFTRDMA_DEV_A_COMMAND_TIME, U64, snap_dev, command_time, 0),
	F(SWIFTRDMA_DEV_A_SWEEPS, U64, snap_dev, sweeps, SNAP_SWEEPS),
	F(SWIFTRDMA_DEV_A_SWEEP_TIME, U64, snap_dev, sweep_time, 0),
	F(SWIFTRDMA_DEV_A_SWEEP_GAP, U64, snap_dev, sweep_gap, 0),
	F(SWIFTRDMA_DEV_A_RECORDS, U32, snap_dev, records, 0),
	F(SWIFTRDMA_DEV_A_HELD_PAGES, U32, snap_dev, held_pages, 0),
	F(SWIFTRDMA_DEV_A_CONGESTIONS, U64, snap_dev, congestions,
	  SNAP_CONGESTION),
	F(SWIFTRDMA_DEV_A_CONGESTION_LEVEL, U32, snap_dev, congestion_level,
	  0),
	F(SWIFTRDMA_DEV_A_CONGESTED_AT, U64, snap_dev, congested_at,
	  SNAP_CONGESTED),
	F(SWIFTRDMA_DEV_A_MTT_HITS, U64, snap_dev, mtt_hits, 0),
	F(SWIFTRDMA_DEV_A_MTT_MISSES, U64, snap_dev, mtt_misses, SNAP_MTT),
	F(SWIFTRDMA_DEV_A_READ_STALL, U64, snap_dev, read_stall,
	  SNAP_READ_STALL),
	F(SWIFTRDMA_DEV_A_MRS_UNKNOWN, U32, snap_dev, mrs_unknown, 0),
	F(SWIFTRDMA_DEV_A_MR_BYTES, U64, snap_dev, mr_bytes, SNAP_MRS),
	F(SWIFTRDMA_DEV_A_MTTS, U64, snap_dev, mtts, SNAP_MTTS),
	F(SWIFTRDMA_DEV_A_MTTS_UNKNOWN, U32, snap_dev, mtts_unknown, 0),
	F(SWIFTRDMA_DEV_A_MR_PAGE_MIN, U64, snap_dev, mr_page_min, 0),
	F(SWIFTRDMA_DEV_A_MR_PAGE_MAX, U64, snap_dev, mr_page_max,
	  SNAP_MR_PAGES),
	F(SWIFTRDMA_DEV_A_PCIE_STALLED_READS, U32, snap_dev,
	  pcie_stalled_reads, SNAP_PCIE),
	F(SWIFTRDMA_DEV_A_PCIE_STALLED_WRITES, U32, snap_dev,
	  pcie_stalled_writes, 0),
	F(SWIFTRDMA_DEV_A_PCIE_STALLED_READ_SECONDS, U64, snap_dev,
	  pcie_stalled_read_seconds, 0),
	F(SWIFTRDMA_DEV_A_PCIE_STALLED_WRITE_SECONDS, U64, snap_dev,
	  pcie_stalled_write_seconds, 0),
	F(SWIFTRDMA_DEV_A_DEVX_QPS, U32, snap_dev, devx_qps, SNAP_DEVX),
	F(SWIFTRDMA_DEV_A_DEVX_CREATED, U64, snap_dev, devx_created, 0),
	F(SWIFTRDMA_DEV_A_DEVX_MISSED, U64, snap_dev, devx_missed, 0),
	F(SWIFTRDMA_DEV_A_DIAG_TIME, U64, snap_dev, diag_time, 0),
	F(SWIFTRDMA_DEV_A_PCIE_TIME, U64, snap_dev, pcie_time, 0),
	F(SWIFTRDMA_DEV_A_FUNCTION, U32, snap_dev, function, 0),
	F(SWIFTRDMA_DEV_A_QPC_HITS, U64, snap_dev, qpc_hits, 0),
	F(SWIFTRDMA_DEV_A_QPC_MISSES, U64, snap_dev, qpc_misses, SNAP_QPC),
};

const struct srdma_set srdma_dev_set = {
	FIELDS(dev_fields),
	BIT(SWIFTRDMA_DEV_A_INDEX) | BIT(SWIFTRDMA_DEV_A_NAME),
	offsetof(struct snap_dev, has), NULL,
};

static const struct srdma_field prio_fields[] = {
	F(SWIFTRDMA_PRIO_A_INDEX, U32, snap_prio, index, 0),
	F(SWIFTRDMA_PRIO_A_TX_BYTES, U64, snap_prio, tx_bytes, 0),
	F(SWIFTRDMA_PRIO_A_RX_BYTES, U64, snap_prio, rx_bytes, 0),
	F(SWIFTRDMA_PRIO_A_TX_PACKETS, U64, snap_prio, tx_packets, 0),
	F(SWIFTRDMA_PRIO_A_RX_PACKETS, U64, snap_prio, rx_packets, 0),
	F(SWIFTRDMA_PRIO_A_TX_PAUSES, U64, snap_prio, tx_pauses, 0),
	F(SWIFTRDMA_PRIO_A_RX_PAUSES, U64, snap_prio, rx_pauses, 0),
	F(SWIFTRDMA_PRIO_A_TX_PAUSE_TIME, U64, snap_prio, tx_pause_time, 0),
	F(SWIFTRDMA_PRIO_A_RX_PAUSE_TIME, U64, snap_prio, rx_pause_time, 0),
};

const struct srdma_set srdma_prio_set = {
	FIELDS(prio_fields), BIT(SWIFTRDMA_PRIO_A_INDEX), NO_HAS, NULL,
};

static int port_nest(struct srdma_reading *r, void *obj, int type,
		     const void *data, size_t len)
{
	(void)obj, (void)type;
	return TAKE(&srdma_prio_set, prios, data, len);
}

static const struct srdma_field port_fields[] = {
	F(SWIFTRDMA_PORT_A_DEV_INDEX, U32, snap_port, dev, 0),
	F(SWIFTRDMA_PORT_A_INDEX, U32, snap_port, index, 0),
	F(SWIFTRDMA_PORT_A_STATE, U32, snap_port, state, SNAP_STATE),
	F(SWIFTRDMA_PORT_A_LINK_LAYER, U32, snap_port, link_layer, 0),
	F(SWIFTRDMA_PORT_A_SPEED, U64, snap_port, speed, SNAP_SPEED),
	F(SWIFTRDMA_PORT_A_NETDEV, STR, snap_port, netdev, SNAP_NETDEV),
	F(SWIFTRDMA_PORT_A_TX_BYTES, U64, snap_port, tx_bytes, SNAP_BYTES),
	F(SWIFTRDMA_PORT_A_RX_BYTES, U64, snap_port, rx_bytes, SNAP_BYTES),
	F(SWIFTRDMA_PORT_A_TX_PACKETS, U64, snap_port, tx_packets, 0),
	F(SWIFTRDMA_PORT_A_RX_PACKETS, U64, snap_port, rx_packets, 0),
	F(SWIFTRDMA_PORT_A_TIME, U64, snap_port, time, 0),
	F(SWIFTRDMA_PORT_A_DETAIL_TIME, U64, snap_port, detail_time,
	  SNAP_DETAIL),
	F(SWIFTRDMA_PORT_A_ECN_MARKED, U64, snap_port, ecn_marked, SNAP_CNP),
	F(SWIFTRDMA_PORT_A_CNP_SENT, U64, snap_port, cnp_sent, 0),
	F(SWIFTRDMA_PORT_A_CNP_HANDLED, U64, snap_port, cnp_handled, 0),
	N(SWIFTRDMA_PORT_A_PRIO, 0),
};

const struct srdma_set srdma_port_set = {
	FIELDS(port_fields),
	BIT(SWIFTRDMA_PORT_A_DEV_INDEX) | BIT(SWIFTRDMA_PORT_A_INDEX),
	offsetof(struct snap_port, has), port_nest,
};

/* Keeps the priorities of the port only if the whole port could be parsed. */
static int take_port(struct srdma_reading *r, const void *data, size_t len)
{
	struct snapshot *snap = r->snap;
	size_t i = snap->n_prios;
	int err = TAKE(&srdma_port_set, ports, data, len);

	if (err) {
		snap->n_prios = i;
		return err;
	}
	for (; i < snap->n_prios; i++) {
		snap->prios[i].dev = snap->ports[snap->n_ports - 1].dev;
		snap->prios[i].port = snap->ports[snap->n_ports - 1].index;
	}
	return 0;
}

static int uar_nest(struct srdma_reading *r, void *obj, int type,
		    const void *data, size_t len)
{
	(void)type;
	return take_owner(r, &((struct snap_uar *)obj)->owner, data, len);
}

static const struct srdma_field uar_fields[] = {
	F(SWIFTRDMA_UAR_A_DEV_INDEX, U32, snap_uar, dev, 0),
	F(SWIFTRDMA_UAR_A_INDEX, U32, snap_uar, index, 0),
	F(SWIFTRDMA_UAR_A_KIND, U32, snap_uar, kind, 0),
	F(SWIFTRDMA_UAR_A_QPS, U32, snap_uar, qps, 0),
	F(SWIFTRDMA_UAR_A_CREATED, U64, snap_uar, created, 0),
	F(SWIFTRDMA_UAR_A_DOORBELLS, U64, snap_uar, doorbells, SNAP_DOORBELLS),
	F(SWIFTRDMA_UAR_A_WRS, U64, snap_uar, wrs, SNAP_WRS),
	N(SWIFTRDMA_UAR_A_OWNER, SNAP_OWNER),
	F(SWIFTRDMA_UAR_A_SINCE, U64, snap_uar, since, 0),
	F(SWIFTRDMA_UAR_A_TIME, U64, snap_uar, time, 0),
	F(SWIFTRDMA_UAR_A_OWNERS, U32, snap_uar, owners, SNAP_OWNERS),
	F(SWIFTRDMA_UAR_A_THREADS, U32, snap_uar, threads, 0),
	F(SWIFTRDMA_UAR_A_SWEEPS, U64, snap_uar, sweeps, SNAP_SWEEPS),
	F(SWIFTRDMA_UAR_A_ACTIVE, U64, snap_uar, active, 0),
	F(SWIFTRDMA_UAR_A_COACTIVE, U64, snap_uar, coactive, 0),
	F(SWIFTRDMA_UAR_A_CONTEXT_UARS, U32, snap_uar, context_uars,
	  SNAP_CONTEXT),
	F(SWIFTRDMA_UAR_A_CONTEXT_LIMIT, U32, snap_uar, context_limit,
	  SNAP_LIMIT),
	F(SWIFTRDMA_UAR_A_RECENT_WRS, U64, snap_uar, recent_wrs, SNAP_RECENT),
	F(SWIFTRDMA_UAR_A_CONTEXT, U32, snap_uar, context, SNAP_CONTEXT_ID),
};

const struct srdma_set srdma_uar_set = {
	FIELDS(uar_fields),
	BIT(SWIFTRDMA_UAR_A_DEV_INDEX) | BIT(SWIFTRDMA_UAR_A_INDEX),
	offsetof(struct snap_uar, has), uar_nest,
};

static int qp_nest(struct srdma_reading *r, void *obj, int type,
		   const void *data, size_t len)
{
	(void)type;
	return take_owner(r, &((struct snap_qp *)obj)->owner, data, len);
}

static const struct srdma_field qp_fields[] = {
	F(SWIFTRDMA_QP_A_DEV_INDEX, U32, snap_qp, dev, 0),
	F(SWIFTRDMA_QP_A_QPN, U32, snap_qp, qpn, 0),
	F(SWIFTRDMA_QP_A_SERIAL, U64, snap_qp, serial, 0),
	F(SWIFTRDMA_QP_A_TYPE, U32, snap_qp, type, 0),
	F(SWIFTRDMA_QP_A_STATE, U32, snap_qp, state, SNAP_STATE),
	F(SWIFTRDMA_QP_A_PORT, U32, snap_qp, port, SNAP_PORT),
	F(SWIFTRDMA_QP_A_UAR, U32, snap_qp, uar, SNAP_UAR),
	F(SWIFTRDMA_QP_A_JOB, U32, snap_qp, job, 0),
	N(SWIFTRDMA_QP_A_OWNER, SNAP_OWNER),
	F(SWIFTRDMA_QP_A_TID, U32, snap_qp, tid, SNAP_TID),
	F(SWIFTRDMA_QP_A_SEND_CQ, U32, snap_qp, send_cq, SNAP_SEND_CQ),
	F(SWIFTRDMA_QP_A_RECV_CQ, U32, snap_qp, recv_cq, SNAP_RECV_CQ),
	F(SWIFTRDMA_QP_A_MAX_SEND_WR, U32, snap_qp, max_send_wr, SNAP_CAP),
	F(SWIFTRDMA_QP_A_MAX_RECV_WR, U32, snap_qp, max_recv_wr, 0),
	F(SWIFTRDMA_QP_A_MAX_SEND_SGE, U32, snap_qp, max_send_sge, 0),
	F(SWIFTRDMA_QP_A_MAX_RECV_SGE, U32, snap_qp, max_recv_sge, 0),
	F(SWIFTRDMA_QP_A_MAX_INLINE, U32, snap_qp, max_inline, 0),
	F(SWIFTRDMA_QP_A_ADOPTED, FLAG, snap_qp, adopted, 0),
	F(SWIFTRDMA_QP_A_DOORBELLS, U64, snap_qp, doorbells, SNAP_DOORBELLS),
	F(SWIFTRDMA_QP_A_WRS, U64, snap_qp, wrs, SNAP_WRS),
	F(SWIFTRDMA_QP_A_LEVEL, U32, snap_qp, level, SNAP_LEVEL),
	F(SWIFTRDMA_QP_A_TCLASS_ASKED, U32, snap_qp, tclass_asked, 0),
	F(SWIFTRDMA_QP_A_TCLASS, U32, snap_qp, tclass, 0),
	F(SWIFTRDMA_QP_A_SL_ASKED, U32, snap_qp, sl_asked, 0),
	F(SWIFTRDMA_QP_A_SL, U32, snap_qp, sl, 0),
	F(SWIFTRDMA_QP_A_DEST_QPN, U32, snap_qp, dest_qpn, SNAP_DEST),
	F(SWIFTRDMA_QP_A_DGID, BIN, snap_qp, dgid, 0),
	F(SWIFTRDMA_QP_A_CLASS_PENDING, FLAG, snap_qp, class_pending, 0),
	F(SWIFTRDMA_QP_A_CLASS_ERROR, S32, snap_qp, class_error,
	  SNAP_CLASS_ERROR),
	F(SWIFTRDMA_QP_A_SINCE, U64, snap_qp, since, 0),
	F(SWIFTRDMA_QP_A_TIME, U64, snap_qp, time, 0),
	F(SWIFTRDMA_QP_A_WRS_SINCE, U64, snap_qp, wrs_since, SNAP_WRS_SINCE),
	F(SWIFTRDMA_QP_A_WRS_AMBIGUOUS, FLAG, snap_qp, wrs_ambiguous, 0),
	F(SWIFTRDMA_QP_A_WRS_ABSENT, U32, snap_qp, wrs_absent, SNAP_ABSENT),
	F(SWIFTRDMA_QP_A_DLID, U32, snap_qp, dlid, 0),
	F(SWIFTRDMA_QP_A_UDP_SPORT, U32, snap_qp, udp_sport, 0),
	F(SWIFTRDMA_QP_A_LAG_PORT, U32, snap_qp, lag_port, 0),
	F(SWIFTRDMA_QP_A_DEVX, FLAG, snap_qp, devx, 0),
	F(SWIFTRDMA_QP_A_OUTSTANDING_SAMPLES, U64, snap_qp, outstanding_samples,
	  SNAP_LOOKS),
	F(SWIFTRDMA_QP_A_OUTSTANDING_SUM, U64, snap_qp, outstanding_sum, 0),
	F(SWIFTRDMA_QP_A_OUTSTANDING_SQUARES, U64, snap_qp, outstanding_squares, 0),
	F(SWIFTRDMA_QP_A_PEER_WISH, U32, snap_qp, peer_wish, SNAP_PEER_WISH),
	F(SWIFTRDMA_QP_A_FOLLOWS, FLAG, snap_qp, follows, 0),
	F(SWIFTRDMA_QP_A_ENDS, U32, snap_qp, ends, 0),
	F(SWIFTRDMA_QP_A_PEER_LEVEL, U32, snap_qp, peer_level, SNAP_PEER_LEVEL),
	F(SWIFTRDMA_QP_A_REQUEST_BLOCKS, U32, snap_qp, request_blocks, SNAP_REQUESTS),
	F(SWIFTRDMA_QP_A_REQUEST_CHANGES, U64, snap_qp, request_changes, 0),
	F(SWIFTRDMA_QP_A_UNCOVERED_SAMPLES, U64, snap_qp, uncovered_samples, 0),
	F(SWIFTRDMA_QP_A_UNCOVERED_SUM, U64, snap_qp, uncovered_sum, 0),
	F(SWIFTRDMA_QP_A_UNCOVERED_SQUARES, U64, snap_qp, uncovered_squares, 0),
};

const struct srdma_set srdma_qp_set = {
	FIELDS(qp_fields),
	BIT(SWIFTRDMA_QP_A_DEV_INDEX) | BIT(SWIFTRDMA_QP_A_QPN) |
		BIT(SWIFTRDMA_QP_A_SERIAL),
	offsetof(struct snap_qp, has), qp_nest,
};

#define FIGURE(name, report, member) \
	F(SWIFTRDMA_REPORT_A_##name, U64, snap_##report##_report, sum.member, 0)
#define FIGURES(report)						\
	FIGURE(WRS, report, wrs),				\
	FIGURE(CALLS, report, calls),				\
	FIGURE(BYTES, report, bytes),				\
	FIGURE(RECV_WRS, report, recv_wrs),			\
	FIGURE(DONE, report, done),				\
	FIGURE(DROPPED, report, dropped),			\
	FIGURE(ERRORS, report, errors),				\
	FIGURE(SAMPLES, report, samples),			\
	FIGURE(LATENCY_WRS, report, latency_wrs),		\
	FIGURE(LATENCY_SUM, report, latency_sum),		\
	FIGURE(LATENCY_MAX, report, latency_max),		\
	FIGURE(HOL_WRS, report, hol_wrs),			\
	FIGURE(HOL_SUM, report, hol_sum),			\
	FIGURE(HOL_MAX, report, hol_max),			\
	FIGURE(SINCE, report, since),				\
	FIGURE(TIME, report, time)

static const struct srdma_field held_fields[] = {
	F(SWIFTRDMA_HELD_A_KNOB, U32, snap_held, knob, 0),
	F(SWIFTRDMA_HELD_A_PROCESSES, U32, snap_held, processes, 0),
	F(SWIFTRDMA_HELD_A_IN_FORCE, U32, snap_held, in_force, 0),
	F(SWIFTRDMA_HELD_A_POSTS, U64, snap_held, posts, SNAP_WAITS),
	F(SWIFTRDMA_HELD_A_WRS, U64, snap_held, wrs, 0),
	F(SWIFTRDMA_HELD_A_TIME, U64, snap_held, time, 0),
	F(SWIFTRDMA_HELD_A_PASSED, U64, snap_held, passed, 0),
	F(SWIFTRDMA_HELD_A_SPLIT, U64, snap_held, split, SNAP_SPLIT),
	F(SWIFTRDMA_HELD_A_WHOLE, U64, snap_held, whole, 0),
};

const struct srdma_set srdma_held_set = {
	FIELDS(held_fields), BIT(SWIFTRDMA_HELD_A_KNOB), offsetof(struct snap_held, has), NULL,
};

/* Knobs beyond SNAP_LIBRARY_KNOBS, which only a later module has, are left out. */
static int report_nest(struct srdma_reading *r, void *obj, int type, const void *data, size_t len)
{
	struct snap_job_report *report = obj;
	struct snap_held held = { 0 };
	int err = srdma_fill(&srdma_held_set, r, &held, data, len, NULL);

	(void)type;
	if (!err && report->n_held < SNAP_LIBRARY_KNOBS)
		report->held[report->n_held++] = held;
	return err;
}

static const struct srdma_field job_report_fields[] = {
	F(SWIFTRDMA_REPORT_A_DEV_INDEX, U32, snap_job_report, dev, 0),
	F(SWIFTRDMA_REPORT_A_JOB, U32, snap_job_report, job, 0),
	F(SWIFTRDMA_REPORT_A_PROCESSES, U32, snap_job_report, processes, 0),
	F(SWIFTRDMA_REPORT_A_LATENCY, BIN, snap_job_report, bucket, 0),
	F(SWIFTRDMA_REPORT_A_DISTRUSTED, FLAG, snap_job_report, distrusted, 0),
	F(SWIFTRDMA_REPORT_A_SLO_P99, U64, snap_job_report, slo_p99, 0),
	N(SWIFTRDMA_REPORT_A_HELD, 0),
	FIGURES(job),
};

const struct srdma_set srdma_job_report_set = {
	FIELDS(job_report_fields),
	BIT(SWIFTRDMA_REPORT_A_DEV_INDEX) | BIT(SWIFTRDMA_REPORT_A_JOB), NO_HAS, report_nest,
};

static const struct srdma_field qp_report_fields[] = {
	F(SWIFTRDMA_REPORT_A_DEV_INDEX, U32, snap_qp_report, dev, 0),
	F(SWIFTRDMA_REPORT_A_QPN, U32, snap_qp_report, qpn, 0),
	F(SWIFTRDMA_REPORT_A_QP_SERIAL, U64, snap_qp_report, serial, 0),
	F(SWIFTRDMA_REPORT_A_FLAGS, U32, snap_qp_report, flags, 0),
	F(SWIFTRDMA_REPORT_A_OUTSTANDING, U64, snap_qp_report, outstanding, SNAP_OUTSTANDING),
	F(SWIFTRDMA_REPORT_A_DOORBELLS, U64, snap_qp_report, doorbells, SNAP_DOORBELLS),
	F(SWIFTRDMA_REPORT_A_NOW_QPN, U32, snap_qp_report, now_qpn, 0),
	FIGURES(qp),
};

const struct srdma_set srdma_qp_report_set = {
	FIELDS(qp_report_fields),
	BIT(SWIFTRDMA_REPORT_A_DEV_INDEX) | BIT(SWIFTRDMA_REPORT_A_QPN) |
		BIT(SWIFTRDMA_REPORT_A_QP_SERIAL),
	offsetof(struct snap_qp_report, has), NULL,
};

static const struct srdma_field peer_fields[] = {
	F(SWIFTRDMA_PEER_A_DEV_INDEX, U32, io_peer, dev, 0),
	F(SWIFTRDMA_PEER_A_QPN, U32, io_peer, qpn, 0),
	F(SWIFTRDMA_PEER_A_QP_SERIAL, U64, io_peer, serial, 0),
	F(SWIFTRDMA_PEER_A_STATUS, U32, io_peer, status, 0),
	F(SWIFTRDMA_PEER_A_VERSION, U32, io_peer, version, 0),
	F(SWIFTRDMA_PEER_A_TRIES, U32, io_peer, tries, 0),
	F(SWIFTRDMA_PEER_A_TCLASS_ASKED, U32, io_peer, tclass_asked, 0),
	F(SWIFTRDMA_PEER_A_TCLASS, U32, io_peer, tclass, 0),
	F(SWIFTRDMA_PEER_A_SL_ASKED, U32, io_peer, sl_asked, 0),
	F(SWIFTRDMA_PEER_A_SL, U32, io_peer, sl, 0),
	F(SWIFTRDMA_PEER_A_LEVEL, U32, io_peer, level, SNAP_LEVEL),
	F(SWIFTRDMA_PEER_A_LEVEL_TCLASS, U32, io_peer, level_tclass, 0),
	F(SWIFTRDMA_PEER_A_LEVEL_SL, U32, io_peer, level_sl, 0),
	F(SWIFTRDMA_PEER_A_CLASS_PENDING, FLAG, io_peer, class_pending, 0),
	F(SWIFTRDMA_PEER_A_CLASS_ERROR, S32, io_peer, class_error, SNAP_CLASS_ERROR),
};

static const struct srdma_set peer_set = {
	FIELDS(peer_fields),
	BIT(SWIFTRDMA_PEER_A_DEV_INDEX) | BIT(SWIFTRDMA_PEER_A_QPN) |
		BIT(SWIFTRDMA_PEER_A_STATUS),
	offsetof(struct io_peer, has), NULL,
};

#define ANSWER_BITS (BIT(SWIFTRDMA_PEER_A_TCLASS_ASKED) | BIT(SWIFTRDMA_PEER_A_TCLASS) | \
		     BIT(SWIFTRDMA_PEER_A_SL_ASKED) | BIT(SWIFTRDMA_PEER_A_SL))

static int take_peer(struct srdma_reading *r, const void *data, size_t len)
{
	uint64_t seen;
	int err;

	r->peer = (struct io_peer){ 0 };
	err = srdma_fill(&peer_set, r, &r->peer, data, len, &seen);
	if (!err && r->peer.status == SWIFTRDMA_PEER_ANSWERED && !ALL(seen, ANSWER_BITS))
		err = -EBADMSG;
	r->has_peer = !err;
	return err;
}

static bool has_attr(const void *pos, size_t left, unsigned int type)
{
	const struct nlattr *a;
	bool bad = false;

	while ((a = srdma_next_attr(&pos, &left, &bad)))
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return true;
	return false;
}

/* A report names a job or a QP. */
static int take_report(struct srdma_reading *r, const void *data, size_t len)
{
	if (has_attr(data, len, SWIFTRDMA_REPORT_A_JOB))
		return TAKE(&srdma_job_report_set, job_reports, data, len);
	return TAKE(&srdma_qp_report_set, qp_reports, data, len);
}

static const struct srdma_field end_fields[] = {
	F(SWIFTRDMA_SNAPSHOT_A_GENERATION, U64, srdma_end, generation, 0),
	F(SWIFTRDMA_SNAPSHOT_A_TIME, U64, srdma_end, time, 0),
	F(SWIFTRDMA_SNAPSHOT_A_COUNT, U32, srdma_end, count, 0),
	F(SWIFTRDMA_SNAPSHOT_A_ARMED, FLAG, srdma_end, armed, 0),
};

const struct srdma_set srdma_end_set = {
	FIELDS(end_fields), BIT(SWIFTRDMA_SNAPSHOT_A_COUNT), NO_HAS, NULL,
};

static int take_qp(struct srdma_reading *r, const void *data, size_t len)
{
	struct snap_qp *qp = array_next(r->qps, *r->n_qps, r->cap_qps,
				   sizeof(*qp));
	uint64_t seen;
	int err;

	if (!qp)
		return -ENOMEM;
	err = srdma_fill(&srdma_qp_set, r, qp, data, len, &seen);
	if (err)
		return err;
	if (ALL(seen, SRDMA_CLASS_BITS))
		qp->has |= SNAP_CLASS;
	++*r->n_qps;
	return 0;
}

static int take_end(struct srdma_reading *r, const void *data, size_t len)
{
	struct srdma_end end = { 0 };
	int err = srdma_fill(&srdma_end_set, r, &end, data, len, NULL);

	if (err)
		return err;
	r->has_end = true;
	r->generation = end.generation;
	r->time = end.time;
	r->count = end.count;
	r->disarmed |= !end.armed;
	return 0;
}

static int take_object(struct srdma_reading *r, unsigned int type,
		       const void *data, size_t len)
{
	switch (type) {
	case SWIFTRDMA_A_QP:
		return take_qp(r, data, len);
	case SWIFTRDMA_A_DEV:
		return TAKE(&srdma_dev_set, devs, data, len);
	case SWIFTRDMA_A_PORT_OBJ:
		return take_port(r, data, len);
	case SWIFTRDMA_A_UAR_OBJ:
		return TAKE(&srdma_uar_set, uars, data, len);
	case SWIFTRDMA_A_JOB_OBJ:
		return srdma_take_job(r, data, len);
	case SWIFTRDMA_A_ACTION:
		return srdma_take_action(r, data, len);
	case SWIFTRDMA_A_LEVEL:
		return srdma_take_level(r, data, len);
	case SWIFTRDMA_A_REPORT:
		return take_report(r, data, len);
	case SWIFTRDMA_A_SNAPSHOT:
		return take_end(r, data, len);
	case SWIFTRDMA_A_LEASE:
		return srdma_take_lease(r, data, len);
	case SWIFTRDMA_A_PEER:
		return take_peer(r, data, len);
	case SWIFTRDMA_A_BATCH:
		if (len != sizeof(r->batch))
			return -EBADMSG;
		memcpy(&r->batch, data, len);
		r->has_batch = true;
	}
	return 0;
}

int srdma_parse(const void *attrs, size_t len, struct srdma_reading *r)
{
	const struct nlattr *a;
	bool bad = false;

	while ((a = srdma_next_attr(&attrs, &len, &bad))) {
		int err = take_object(r, a->nla_type & NLA_TYPE_MASK,
				      (const char *)a + NLA_HDRLEN,
				      a->nla_len - NLA_HDRLEN);

		if (err)
			return err;
	}
	return bad ? -EBADMSG : 0;
}
