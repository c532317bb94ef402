// SPDX-License-Identifier: GPL-2.0
/*
 * The figures of devices, ports, UARs, jobs and reports. A row's order is that of the lines and
 * columns in debugfs; in messages the order has no meaning.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/pid.h>
#include <rdma/ib_verbs.h>

#include "debug.h"
#include "figures.h"
#include "find.h"
#include "mr.h"
#include "share.h"

#define D(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_DEV_A_##name, srdma_dev, member, __VA_ARGS__)
static const struct srdma_attr dev_rows[] = {
	D(INDEX, index),
	D(NAME, name),
	D(CAPS, caps),
	D(FUNCTION, function, .when = SRDMA_ATTR_NONZERO),
	D(SINCE, since),
	D(QPS, n_qps, .label = "qps"),
	D(CREATED, created, .label = "created"),
	D(CREATE_FAILED, create_failed, .label = "create_failed"),
	D(REJECTED, rejected, .label = "rejected"),
	D(DESTROYED, destroyed, .label = "destroyed"),
	D(MODIFIED, modified, .label = "modified"),
	D(ADOPTED, adopted, .label = "adopted"),
	D(UNTRACKED, untracked, .label = "untracked"),
	D(LIVE_CHANGED, live_changed, .label = "live_changed"),
	D(LIVE_FAILED, live_failed, .label = "live_failed"),
	D(DRAIN_MAX, drain_max, .label = "drain_max_ns"),
};

const struct srdma_attr_set srdma_dev_attrs = SRDMA_ATTR_SET(dev_rows);

#define F(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_DEV_A_##name, srdma_dev_figures, member, __VA_ARGS__)
#define IF(member)	SRDMA_IF(srdma_dev_figures, member)
#define PER(member)	.per = offsetof(struct srdma_dev_figures, member)
static const struct srdma_attr dev_figure_rows[] = {
	F(TIME, time),
	F(PORTS, ports, .label = "ports"),
	F(UARS, uars, .label = "uars"),
	F(CQS, cqs, .label = "cqs"),
	F(MRS, mrs, .label = "mrs"),
	F(MRS_UNKNOWN, mrs_unknown, .label = "mrs_unknown"),
	F(MR_BYTES, mr_bytes, .label = "mr_bytes"),
	F(MTTS, mtts, IF(mtts_known), .label = "mtts"),
	F(MTTS_UNKNOWN, mtts_unknown, IF(mtts_known), .label = "mtts_unknown"),
	F(MR_PAGE_MIN, mr_page_min, .when = SRDMA_ATTR_NONZERO, .label = "mr_page_min"),
	F(MR_PAGE_MAX, mr_page_max, .when = SRDMA_ATTR_NONZERO, .label = "mr_page_max"),
	F(QP_LIMIT, qp_limit, .label = "qp_limit"),
	F(CQ_LIMIT, cq_limit, .label = "cq_limit"),
	F(MR_LIMIT, mr_limit, .label = "mr_limit"),
	/* Figures that the provider has filled in. */
	F(UAR_LIMIT, st.uar_limit, .when = SRDMA_ATTR_NONZERO, .label = "uar_limit"),
	F(COMMANDS, st.commands, IF(has_stat), .label = "commands"),
	F(COMMAND_TIME, st.command_ns, IF(has_stat), PER(st.commands),
	  .label = "command_mean_ns"),
	F(SWEEPS, st.sweeps, IF(st.sampled), .label = "sweeps"),
	F(SWEEP_TIME, st.sweep_ns, IF(st.sampled), PER(st.sweeps), .label = "sweep_mean_ns"),
	F(SWEEP_GAP, st.gap_ns, IF(st.sampled), .label = "sweep_gap_max_ns"),
	F(RECORDS, st.records, IF(st.sampled), .label = "records"),
	F(HELD_PAGES, st.pages, IF(st.sampled), .label = "held_pages"),
	F(CONGESTIONS, st.congestions, IF(st.congestion), .label = "congestions"),
	F(CONGESTION_LEVEL, st.congestion_level, IF(congested), .label = "congestion_level"),
	F(CONGESTED_AT, st.congested_at, IF(congested)),
	F(DIAG_TIME, st.diag_at, IF(diagnosed)),
	F(MTT_HITS, st.mtt_hits, IF(st.mtt), .label = "mtt_hits"),
	F(MTT_MISSES, st.mtt_misses, IF(st.mtt), .label = "mtt_misses"),
	F(READ_STALL, st.read_stall, IF(st.stall), .label = "read_stall"),
	F(QPC_HITS, st.qpc_hits, IF(st.qpc), .label = "qpc_hits"),
	F(QPC_MISSES, st.qpc_misses, IF(st.qpc), .label = "qpc_misses"),
	F(PCIE_TIME, st.pcie_at, IF(st.pcie)),
	F(PCIE_STALLED_READS, st.stalled_reads, IF(st.pcie), .label = "pcie_stalled_reads"),
	F(PCIE_STALLED_WRITES, st.stalled_writes, IF(st.pcie), .label = "pcie_stalled_writes"),
	F(PCIE_STALLED_READ_SECONDS, st.stalled_read_s, IF(st.pcie),
	  .label = "pcie_stalled_read_seconds"),
	F(PCIE_STALLED_WRITE_SECONDS, st.stalled_write_s, IF(st.pcie),
	  .label = "pcie_stalled_write_seconds"),
	F(DEVX_QPS, st.devx_qps, IF(st.devx), .label = "devx_qps"),
	F(DEVX_CREATED, st.devx_created, IF(st.devx), .label = "devx_created"),
	F(DEVX_MISSED, st.devx_missed, IF(st.devx), .label = "devx_missed"),
};

const struct srdma_attr_set srdma_dev_figure_attrs = SRDMA_ATTR_SET(dev_figure_rows);

void srdma_dev_figures(struct srdma_dev *dev, u64 now, struct srdma_dev_figures *f)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);
	const struct ib_device_attr *limit = &dev->ibdev->attrs;
	struct srdma_mr_sum sum;

	memset(f, 0, sizeof(*f));
	f->time = now;
	f->ports = dev->ibdev->phys_port_cnt;
	f->uars = srdma_dev_uars(dev);
	f->cqs = srdma_dev_cqs(dev);
	f->qp_limit = limit->max_qp;
	f->cq_limit = limit->max_cq;
	f->mr_limit = limit->max_mr;

	srdma_mr_sum(dev, NULL, NULL, &sum);
	f->mrs = srdma_dev_mrs(dev);
	/* Regions of the kernel, and regions older than the hook. */
	f->mrs_unknown = f->mrs > sum.n ? f->mrs - sum.n : 0;
	f->mr_bytes = sum.bytes;
	f->mtts_known = srdma_mr_askable(dev);
	f->mtts = sum.mtts;
	f->mtts_unknown = sum.unasked;
	srdma_mr_pages(&sum, &f->mr_page_min, &f->mr_page_max);

	if (!ops->dev_stat)
		return;
	srdma_delay(SRDMA_DELAY_STAT);
	ops->dev_stat(dev, &f->st);
	f->has_stat = true;
	f->congested = f->st.congestion && f->st.congested_at;
	f->diagnosed = f->st.mtt || f->st.stall || f->st.qpc;
}

#define P(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_PORT_A_##name, srdma_port_stat, member, __VA_ARGS__)
#define PIF(member)	SRDMA_IF(srdma_port_stat, member)
static const char * const link_layers[] = {
	[IB_LINK_LAYER_INFINIBAND] = "ib", [IB_LINK_LAYER_ETHERNET] = "ethernet",
};

static const struct srdma_attr port_rows[] = {
	P(STATE, state, .label = "state", .width = 5),
	P(LINK_LAYER, link_layer, .label = "layer", .width = 8, .names = link_layers,
	  .n_names = ARRAY_SIZE(link_layers)),
	P(SPEED, speed, .when = SRDMA_ATTR_NONZERO, .label = "mbit_per_s", .width = 12,
	  .div = 1000 * 1000),
	P(NETDEV, netdev, PIF(has_netdev), .label = "netdev", .width = 15),
	P(TX_BYTES, tx_bytes, PIF(has_bytes), .label = "tx_bytes", .width = 16),
	P(RX_BYTES, rx_bytes, PIF(has_bytes), .label = "rx_bytes", .width = 18),
	P(TX_PACKETS, tx_packets, PIF(has_bytes), .label = "tx_packets", .width = 14),
	P(RX_PACKETS, rx_packets, PIF(has_bytes), .label = "rx_packets", .width = 14),
	P(ECN_MARKED, ecn_marked, PIF(has_cnp), .label = "ecn_marked", .width = 12),
	P(CNP_SENT, cnp_sent, PIF(has_cnp), .label = "cnp_sent", .width = 12),
	P(CNP_HANDLED, cnp_handled, PIF(has_cnp), .label = "cnp_handled", .width = 12),
	P(TIME, at),
};

const struct srdma_attr_set srdma_port_attrs = SRDMA_ATTR_SET(port_rows);

#define R(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_PRIO_A_##name, srdma_prio_stat, member, __VA_ARGS__)
static const struct srdma_attr prio_rows[] = {
	R(TX_BYTES, tx_bytes, .label = "tx_bytes", .width = 16),
	R(RX_BYTES, rx_bytes, .label = "rx_bytes", .width = 16),
	R(TX_PACKETS, tx_packets, .label = "tx_packets", .width = 12),
	R(RX_PACKETS, rx_packets, .label = "rx_packets", .width = 12),
	R(TX_PAUSES, tx_pauses, .label = "tx_pauses", .width = 10),
	R(RX_PAUSES, rx_pauses, .label = "rx_pauses", .width = 10),
	R(TX_PAUSE_TIME, tx_pause_ns, .label = "tx_pause_us", .width = 11, .div = 1000),
	R(RX_PAUSE_TIME, rx_pause_ns, .label = "rx_pause_us", .width = 11, .div = 1000),
};

const struct srdma_attr_set srdma_prio_attrs = SRDMA_ATTR_SET(prio_rows);

#define U(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_UAR_A_##name, srdma_uar_figures, member, __VA_ARGS__)
#define UIF(member)	SRDMA_IF(srdma_uar_figures, member)
static const char * const uar_kinds[] = {
	[SWIFTRDMA_UAR_KIND_HW] = "hw",
	[SWIFTRDMA_UAR_KIND_CONTEXT] = "context",
	[SWIFTRDMA_UAR_KIND_KERNEL] = "kernel",
	[SWIFTRDMA_UAR_KIND_STATIC] = "static",
	[SWIFTRDMA_UAR_KIND_DYNAMIC] = "dynamic",
	[SWIFTRDMA_UAR_KIND_DEDICATED] = "dedicated",
};

static const struct srdma_attr uar_rows[] = {
	U(DEV_INDEX, dev),
	U(INDEX, index, .label = "uar", .width = 8),
	U(KIND, kind, .label = "kind", .width = 9, .names = uar_kinds,
	  .n_names = ARRAY_SIZE(uar_kinds)),
	U(QPS, qps, .label = "qps", .width = 7),
	U(CREATED, created, .label = "created", .width = 10),
	U(DOORBELLS, doorbells, UIF(doorbells_known), .label = "doorbells", .width = 14),
	U(WRS, wrs, UIF(wrs_known), .label = "wrs", .width = 14),
	U(OWNERS, owners, UIF(page_known), .label = "owners", .width = 6),
	U(THREADS, threads, UIF(page_known), .label = "threads", .width = 7),
	U(SWEEPS, sweeps, UIF(sweeps_known), .label = "sweeps", .width = 10),
	U(ACTIVE, active, UIF(sweeps_known), .label = "active", .width = 10),
	U(COACTIVE, coactive, UIF(sweeps_known), .label = "coactive", .width = 10),
	U(CONTEXT_UARS, context_uars, .when = SRDMA_ATTR_NOT_ONES, .label = "ctx_uars",
	  .width = 8),
	U(CONTEXT_LIMIT, context_limit, .when = SRDMA_ATTR_NONZERO, .label = "limit",
	  .width = 6),
	U(CONTEXT, context, .when = SRDMA_ATTR_NOT_ONES),
	U(SINCE, since),
	U(TIME, time),
};

const struct srdma_attr_set srdma_uar_attrs = SRDMA_ATTR_SET(uar_rows);

void srdma_uar_figures(const struct srdma_uar *u, u64 now, struct srdma_uar_figures *f)
{
	const struct srdma_uar *context = u->context ?: u;
	const struct srdma_dev *dev = u->dev;
	bool kernel = u->kind == SWIFTRDMA_UAR_KIND_KERNEL && dev->wrapped_post_send;
	bool of_context = context->kind == SWIFTRDMA_UAR_KIND_CONTEXT;

	*f = (struct srdma_uar_figures) {
		.dev = dev->index,
		.index = u->index,
		.kind = srdma_uar_kind(u),
		.qps = atomic_read(&u->n_qps),
		.created = atomic64_read(&u->created),
		.doorbells_known = kernel || dev->caps & SWIFTRDMA_DEV_CAP_DOORBELLS,
		.doorbells = atomic64_read(&u->doorbells),
		.wrs_known = kernel || dev->caps & SWIFTRDMA_DEV_CAP_WRS,
		.wrs = atomic64_read(&u->wrs),
		.context = of_context ? context->index : U32_MAX,
		.context_uars = U32_MAX,
		.since = u->since,
		.time = now,
	};
	if (!u->context)
		return;
	f->page_known = true;
	f->owners = READ_ONCE(u->n_owners);
	f->threads = READ_ONCE(u->n_members);
	f->sweeps_known = dev->caps & SWIFTRDMA_DEV_CAP_WRS;
	f->sweeps = atomic64_read(&dev->sweeps) - u->sweeps0;
	f->active = READ_ONCE(u->active);
	f->coactive = READ_ONCE(u->coactive);
	if (!of_context)
		return;
	f->context_uars = READ_ONCE(context->n_pages);
	f->context_limit = READ_ONCE(context->limit);
}

#define J(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_JOB_STAT_A_##name, srdma_job_figures, member, __VA_ARGS__)
#define JIF(member)	SRDMA_IF(srdma_job_figures, member)
static const struct srdma_attr job_rows[] = {
	J(DEV_INDEX, dev),
	J(QPS, st.qps, .label = "qps", .width = 7),
	J(CREATED, st.created, .label = "created", .width = 10),
	J(DESTROYED, st.destroyed, .label = "destroyed", .width = 10),
	J(REJECTED, st.rejected, .label = "rejected", .width = 10),
	J(CREATES, st.creates, .label = "creates", .width = 10),
	J(MODIFIES, st.modifies, .label = "modifies", .width = 10),
	J(COMMANDS, st.commands, .label = "commands", .width = 10),
	J(COMMAND_TIME, st.command_ns, .label = "command_mean_ns", .width = 15,
	  .per = offsetof(struct srdma_job_figures, st.commands)),
	/* Shown only if user QPs are counted, too: else the sum would be of some members only. */
	J(DOORBELLS, st.doorbells, JIF(doorbells_known), .label = "doorbells", .width = 14),
	J(WRS, st.wrs, JIF(wrs_known), .label = "wrs", .width = 14),
	J(LEVEL, st.level, .when = SRDMA_ATTR_NOT_ONES, .label = "lvl", .width = 4),
	J(MAX_QPS, st.max_qps, .when = SRDMA_ATTR_NOT_ONES, .label = "max_qps", .width = 10),
	J(CREATE_RATE, st.create_rate, .when = SRDMA_ATTR_NOT_ONES, .label = "creates/s",
	  .width = 10),
	J(MOVED, st.moved, .label = "moved", .width = 10),
	J(BIT_RATE, st.bit_rate, .when = SRDMA_ATTR_NONZERO, .label = "bit_rate", .width = 16),
	J(WEIGHT, st.weight, .when = SRDMA_ATTR_NONZERO, .label = "weight", .width = 6),
	J(WR_RATE, st.wr_rate, .when = SRDMA_ATTR_NOT_ONES, .label = "wr_rate", .width = 11),
	J(CREDITS, st.credits, .when = SRDMA_ATTR_NOT_ONES, .label = "credits", .width = 7),
	J(PLACE, st.place, .when = SRDMA_ATTR_NOT_ONES, .label = "place", .width = 5),
	J(CHUNK, st.chunk, .when = SRDMA_ATTR_NOT_ONES, .label = "chunk", .width = 10),
	J(HUGE_PAGES, st.huge_pages, .when = SRDMA_ATTR_NOT_ONES, .label = "huge_pages",
	  .width = 10),
	J(FOLLOW, st.follow, .when = SRDMA_ATTR_NOT_ONES, .label = "follow", .width = 6),
	J(MRS, st.mr.n),
	J(MR_BYTES, st.mr.bytes),
	J(MTTS, st.mr.mtts, JIF(mtts_known)),
	J(MTTS_UNKNOWN, st.mr.unasked, JIF(mtts_known)),
	J(MR_PAGE_MIN, mr_page_min, .when = SRDMA_ATTR_NONZERO),
	J(MR_PAGE_MAX, mr_page_max, .when = SRDMA_ATTR_NONZERO),
};

const struct srdma_attr_set srdma_job_attrs = SRDMA_ATTR_SET(job_rows);

void srdma_job_figures(struct srdma_dev *dev, struct srdma_job_dev *jd,
		       struct srdma_job_figures *f)
{
	memset(f, 0, sizeof(*f));
	f->dev = dev->index;
	srdma_job_stat(jd, &f->st);
	f->doorbells_known = dev->caps & SWIFTRDMA_DEV_CAP_DOORBELLS;
	f->wrs_known = dev->caps & SWIFTRDMA_DEV_CAP_WRS;
	f->mtts_known = srdma_mr_askable(dev);
	srdma_mr_pages(&f->st.mr, &f->mr_page_min, &f->mr_page_max);
}

#define JR(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_REPORT_A_##name, srdma_job_report, member, __VA_ARGS__)
static const struct srdma_attr report_rows[] = {
	JR(PROCESSES, processes),
	JR(LATENCY_MAX, latency_max),
	JR(HOL_MAX, hol_max),
	JR(SINCE, since),
};

const struct srdma_attr_set srdma_report_attrs = SRDMA_ATTR_SET(report_rows);

#define RF(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_REPORT_A_##name, srdma_figures, member, __VA_ARGS__)
#define PER_WR(member)	.per = offsetof(struct srdma_figures, member)
static const struct srdma_attr reported_rows[] = {
	RF(WRS, wrs, .label = "wrs", .width = 14),
	RF(CALLS, calls),
	RF(BYTES, bytes, .label = "bytes", .width = 18),
	RF(RECV_WRS, recv_wrs, .label = "recv_wrs", .width = 14),
	RF(DONE, done, .label = "done", .width = 14),
	RF(DROPPED, dropped, .label = "dropped", .width = 10),
	RF(ERRORS, errors, .label = "errors", .width = 10),
	RF(SAMPLES, samples, .label = "samples", .width = 10),
	RF(LATENCY_WRS, latency_wrs),
	RF(LATENCY_SUM, latency_ns, .label = "latency_mean_ns", .width = 15, PER_WR(latency_wrs)),
	RF(HOL_WRS, hol_wrs),
	RF(HOL_SUM, hol_ns, .label = "hol_mean_ns", .width = 14, PER_WR(hol_wrs)),
};

const struct srdma_attr_set srdma_reported_attrs = SRDMA_ATTR_SET(reported_rows);

/* Attributes of number 0, which debugfs alone has. */
#define DF(s, member, ...)	SRDMA_ATTR(0, s, member, __VA_ARGS__)
#define RF_IF(member)		SRDMA_IF(srdma_report_figures, member)
static const char * const yes_no[] = { "no", "yes" };
static const struct srdma_attr report_figure_rows[] = {
	DF(srdma_report_figures, processes, .label = "processes", .width = 9),
	DF(srdma_report_figures, latency_max, RF_IF(measured), .label = "latency_max_ns",
	   .width = 14),
	DF(srdma_report_figures, hol_max, RF_IF(hol_measured), .label = "hol_max_ns",
	   .width = 14),
	DF(srdma_report_figures, distrusted, .label = "distrusted", .width = 10,
	   .names = yes_no, .n_names = ARRAY_SIZE(yes_no)),
};

const struct srdma_attr_set srdma_report_figure_attrs = SRDMA_ATTR_SET(report_figure_rows);

static const struct srdma_attr quantile_rows[] = {
	DF(srdma_report_figures, p50, RF_IF(measured), .label = "p50_ns", .width = 12),
	DF(srdma_report_figures, p99, RF_IF(measured), .label = "p99_ns", .width = 12),
};

const struct srdma_attr_set srdma_quantile_attrs = SRDMA_ATTR_SET(quantile_rows);

#define SF_IF(member)	SRDMA_IF(srdma_slot_figures, member)
static const struct srdma_attr slot_figure_rows[] = {
	DF(srdma_slot_figures, qpn, .label = "qpn", .width = 8),
	DF(srdma_slot_figures, serial, .label = "serial", .width = 10),
	DF(srdma_slot_figures, job, SF_IF(in_job), .label = "job", .width = 4),
	DF(srdma_slot_figures, pid, .label = "pid", .width = 7),
	DF(srdma_slot_figures, flags, .label = "flags", .width = 21),
	DF(srdma_slot_figures, outstanding, SF_IF(ordered), .label = "outstanding",
	   .width = 11),
	DF(srdma_slot_figures, latency_max, SF_IF(measured), .label = "latency_max_ns",
	   .width = 14),
	DF(srdma_slot_figures, hol_max, SF_IF(hol_measured), .label = "hol_max_ns",
	   .width = 14),
};

const struct srdma_attr_set srdma_slot_figure_attrs = SRDMA_ATTR_SET(slot_figure_rows);

/* The @percent quantile of weights that add up to @all, interpolated within its bucket. */
static u64 find_quantile(const struct srdma_job_report *r, u64 all, u32 percent)
{
	u64 rank = mul_u64_u64_div_u64(all, percent, 100) ?: 1, below = 0, floor;
	u32 i, last = SWIFTRDMA_HIST_BUCKETS - 1;

	for (i = 0; i < last && below + r->bucket[i] < rank; i++)
		below += r->bucket[i];
	floor = swiftrdma_hist_floor(i);
	/* The last bucket has no end. */
	if (i == last)
		return floor;
	return floor + mul_u64_u64_div_u64(rank - below, swiftrdma_hist_floor(i + 1) - floor,
					   r->bucket[i]);
}

void srdma_report_figures(const struct srdma_job_report *r, struct srdma_report_figures *f)
{
	u64 all = 0;
	u32 i;

	lockdep_assert_held(&srdma_share_lock);
	for (i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++)
		all += r->bucket[i];
	*f = (struct srdma_report_figures) {
		.processes = r->processes,
		.latency_max = r->latency_max,
		.hol_max = r->hol_max,
		.distrusted = r->distrusted,
		.measured = all,
		.hol_measured = r->sum.hol_wrs,
	};
	if (!all)
		return;
	f->p50 = find_quantile(r, all, 50);
	f->p99 = find_quantile(r, all, 99);
}

static void write_flags(u32 flags, char *to, size_t size)
{
	static const struct {
		u32 flag;
		const char *name;
	} names[] = {
		{ SWIFTRDMA_SLOT_NO_ORDER, "no_order" },
		{ SWIFTRDMA_SLOT_ERROR, "error" },
		{ SWIFTRDMA_SLOT_WR_API, "wr_api" },
		{ SWIFTRDMA_SLOT_CHUNK, "chunk" },
		{ SWIFTRDMA_SLOT_FIXED, "fixed" },
		{ SWIFTRDMA_SLOT_DOMAIN, "domain" },
	};
	size_t i, len = 0;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (flags & names[i].flag)
			len += scnprintf(to + len, size - len, "%s%s", len ? "," : "",
					 names[i].name);
	if (!len)
		strscpy(to, "-", size);
}

bool srdma_slot_figures(const struct srdma_share *s, const struct srdma_share_slot *slot,
			struct srdma_slot_figures *f)
{
	struct srdma_qp *q = slot->serial ? srdma_qp_get_by_key(s->dev, slot->qpn) : NULL;
	bool alive = q && q->serial == slot->serial;
	u64 over = slot->sum.done + slot->sum.dropped;

	lockdep_assert_held(&srdma_share_lock);
	if (q)
		srdma_qp_put(q);
	if (!alive)
		return false;
	*f = (struct srdma_slot_figures) {
		.qpn = slot->qpn,
		.serial = slot->serial,
		.in_job = s->jd,
		.job = s->jd ? s->jd->job->id : 0,
		.pid = pid_nr(s->pid),
		.ordered = !(slot->flags & SWIFTRDMA_SLOT_NO_ORDER),
		.outstanding = slot->sum.wrs > over ? slot->sum.wrs - over : 0,
		.measured = slot->sum.latency_wrs,
		.latency_max = slot->latency_max,
		.hol_measured = slot->sum.hol_wrs,
		.hol_max = slot->hol_max,
	};
	write_flags(slot->flags, f->flags, sizeof(f->flags));
	return true;
}
