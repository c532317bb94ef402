// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define DEV(member)		MEMBER(struct snap_dev, member)
#define DEV_HAS(member, bits)	MEMBER_HAS(struct snap_dev, member, bits)

GETTER(function)
{
	static const char *const names[] = {
		[SWIFTRDMA_FUNCTION_PF] = "pf",
		[SWIFTRDMA_FUNCTION_VF] = "vf",
		[SWIFTRDMA_FUNCTION_SF] = "sf",
		[SWIFTRDMA_FUNCTION_REPRESENTOR] = "representor",
	};
	uint32_t function = ((const struct snap_dev *)row)->function;

	if (function && function < sizeof(names) / sizeof(names[0]))
		cell_str(c, names[function]);
}

GETTER(caps)
{
	static const struct bit_name caps[] = {
		{ SWIFTRDMA_DEV_CAP_DOORBELLS, "doorbells" },
		{ SWIFTRDMA_DEV_CAP_WRS, "wrs" },
		{ SWIFTRDMA_DEV_CAP_LIVE_CLASS, "live-class" },
		{ SWIFTRDMA_DEV_CAP_CONTEXTS, "contexts" },
		{ SWIFTRDMA_DEV_CAP_UARS, "uars" },
		{ SWIFTRDMA_DEV_CAP_WQEBBS, "wqebbs" },
		{ SWIFTRDMA_DEV_CAP_CONGESTION, "congestion" },
		{ SWIFTRDMA_DEV_CAP_RATES, "rates" },
	};

	cell_bits(c, ((const struct snap_dev *)row)->caps, caps, sizeof(caps) / sizeof(caps[0]));
}

/* "64/1024": used and limit, in text. */
static void cell_budget(uint32_t n, bool has, uint32_t limit, struct cell *c)
{
	if (has) {
		snprintf(c->buf, sizeof(c->buf), "%u/%u", n, limit);
		cell_str(c, c->buf);
		if (limit && n > limit / 10 * 9)
			c->tone = TONE_WARN;
	} else {
		cell_u64(c, n);
	}
}

#define BUDGET(name, used, limit, bit)					\
	GETTER(name)							\
	{								\
		const struct snap_dev *dev = row;			\
									\
		cell_budget(dev->used, snap_has(dev, bit), dev->limit, c);	\
	}

BUDGET(qp_budget, qps, qp_limit, SNAP_LIMIT)
BUDGET(cq_budget, cqs, cq_limit, SNAP_LIMIT)
BUDGET(mr_budget, mrs, mr_limit, SNAP_LIMIT)
BUDGET(uar_budget, uars, uar_limit, SNAP_UAR_LIMIT)

static const void *owner_of_user(const struct cli *cli, const void *row)
{
	return &cli->snap.owners[((const struct crowd_proc *)row)->owner];
}

#define USER(member)		MEMBER(struct crowd_proc, member)
#define USER_IF(member, by)	MEMBER_IF(struct crowd_proc, member, by)
#define OWNER(member)		.of = owner_of_user, MEMBER(struct snap_owner, member)

static const struct column user_columns[] = {
	{ "pid", "PID", 0, 0, OWNER(pid) },
	{ "comm", "COMM", 0, COL_LEFT, OWNER(comm) },
	{ "qps", "QPS", 0, 0, USER(qps) },
	{ "uars", "UARS", 0, 0, USER(uars) },
	{ "most_on_uar", "MOST-ON-UAR", 0, 0, USER(worst_qps) },
	{ "threads", "THREADS", 0, 0, USER_IF(threads, threads) },
	{ "coactive", "COACTIVE", SHOW_RATIO, COL_RATE, USER_IF(worst_coactive, has_coactive) },
	{ "cgroup", "CGROUP", 0, COL_LEFT, OWNER(cgroup) },
};

static bool runs_on_dev(const struct cli *cli, const void *row, const void *arg)
{
	return &cli->snap.devs[((const struct crowd_proc *)row)->dev] == arg;
}

GETTER(users)
{
	cell_table(c, ROWS(user_columns, cli->crowd.procs, cli->crowd.n_procs));
	c->table.want = runs_on_dev;
	c->table.arg = row;
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, DEV(name) },
	{ "index", "INDEX", 0, 0, DEV(index) },
	{ "provider", "PROVIDER", 0, COL_LEFT, DEV(provider) },
	{ "function", "FUNCTION", 0, COL_LEFT, .get = get_function },
	{ "ports", "PORTS", 0, 0, DEV(ports) },
	{ "qps", NULL, 0, COL_JSON, DEV(qps) },
	{ "qp_limit", NULL, 0, COL_JSON, DEV_HAS(qp_limit, SNAP_LIMIT) },
	{ "qp_budget", "QPS", 0, COL_TEXT, .get = get_qp_budget },
	{ "active_qps", "ACTIVE", 0, COL_RATE, SIGNAL(DEV_ACTIVE_QPS) },
	{ "uars", NULL, 0, COL_JSON, DEV(uars) },
	{ "uar_limit", NULL, 0, COL_JSON, DEV_HAS(uar_limit, SNAP_UAR_LIMIT) },
	{ "uar_budget", "UARS", 0, COL_TEXT, .get = get_uar_budget },
	{ "cqs", NULL, 0, COL_JSON, DEV(cqs) },
	{ "cq_limit", NULL, 0, COL_JSON, DEV_HAS(cq_limit, SNAP_LIMIT) },
	{ "cq_budget", "CQS", 0, COL_TEXT, .get = get_cq_budget },
	{ "mrs", NULL, 0, COL_JSON, DEV(mrs) },
	{ "mr_limit", NULL, 0, COL_JSON, DEV_HAS(mr_limit, SNAP_LIMIT) },
	{ "mr_budget", "MRS", 0, COL_TEXT, .get = get_mr_budget },
	{ "mrs_unknown", "MRS-UNKNOWN", 0, COL_DETAIL, DEV_HAS(mrs_unknown, SNAP_MRS) },
	{ "mr_bytes", "MR-BYTES", SHOW_BYTES, COL_DETAIL, DEV_HAS(mr_bytes, SNAP_MRS) },
	{ "mtts", "MTTS", 0, COL_DETAIL, DEV_HAS(mtts, SNAP_MTTS) },
	{ "mtts_unknown", "MTTS-UNKNOWN", 0, COL_DETAIL, DEV_HAS(mtts_unknown, SNAP_MTTS) },
	{ "mr_page_min", "MR-PAGE-MIN", SHOW_BYTES, COL_DETAIL, DEV_HAS(mr_page_min, SNAP_MR_PAGES) },
	{ "mr_page_max", "MR-PAGE-MAX", SHOW_BYTES, COL_DETAIL, DEV_HAS(mr_page_max, SNAP_MR_PAGES) },
	{ "qpc_miss", "QPC-MISS", SHOW_RATIO, COL_RATE | COL_DETAIL, SIGNAL(DEV_QPC_MISS) },
	{ "mtt_miss", "MTT-MISS", SHOW_RATIO, COL_RATE, SIGNAL(DEV_MTT_MISS) },
	{ "db_congestion", "CONGEST/s", SHOW_RATE, COL_RATE, SIGNAL(DEV_DB_CONGESTION) },
	{ "pcie_stall", "PCIE-STALL", SHOW_RATIO, COL_RATE | COL_DETAIL, SIGNAL(DEV_PCIE_STALL) },
	{ "create_rate", "CREATE/s", SHOW_RATE, COL_RATE, SIGNAL(DEV_CREATE_RATE) },
	{ "modify_rate", "MODIFY/s", SHOW_RATE, COL_RATE, SIGNAL(DEV_MODIFY_RATE) },
	{ "created", "CREATED", 0, 0, DEV(created) },
	{ "destroyed", "DESTROYED", 0, 0, DEV(destroyed) },
	{ "modified", "MODIFIED", 0, 0, DEV(modified) },
	{ "rejected", "REJECTED", 0, 0, DEV(rejected) },
	{ "create_failed", "FAILED", 0, COL_DETAIL, DEV(create_failed) },
	{ "adopted", "ADOPTED", 0, COL_DETAIL, DEV(adopted) },
	{ "untracked", "UNTRACKED", 0, COL_DETAIL, DEV(untracked) },
	{ "devx_qps", "DEVX-QPS", 0, COL_DETAIL, DEV_HAS(devx_qps, SNAP_DEVX) },
	{ "devx_created", NULL, 0, COL_JSON, DEV_HAS(devx_created, SNAP_DEVX) },
	{ "devx_missed", "DEVX-MISSED", 0, COL_DETAIL, DEV_HAS(devx_missed, SNAP_DEVX) },
	{ "live_changed", "LIVE", 0, COL_DETAIL, DEV(live_changed) },
	{ "live_failed", "LIVE-FAILED", 0, COL_DETAIL, DEV(live_failed) },
	{ "drain_max", "DRAIN-MAX", SHOW_TIME, COL_DETAIL, DEV(drain_max) },
	{ "commands", "COMMANDS", 0, COL_DETAIL, DEV_HAS(commands, SNAP_COMMANDS) },
	{ "command_time", "COMMAND-TIME", SHOW_TIME, COL_DETAIL, DEV_HAS(command_time, SNAP_COMMANDS) },
	{ "sweeps", "SWEEPS", 0, COL_DETAIL, DEV_HAS(sweeps, SNAP_SWEEPS) },
	{ "sweep_time", "SWEEP-TIME", SHOW_TIME, COL_DETAIL, DEV_HAS(sweep_time, SNAP_SWEEPS) },
	{ "sweep_gap", "SWEEP-GAP", SHOW_TIME, COL_DETAIL, DEV_HAS(sweep_gap, SNAP_SWEEPS) },
	{ "records", "RECORDS", 0, COL_DETAIL, DEV_HAS(records, SNAP_SWEEPS) },
	{ "held_pages", "HELD-PAGES", 0, COL_DETAIL, DEV_HAS(held_pages, SNAP_SWEEPS) },
	{ "congestions", "CONGESTIONS", 0, COL_DETAIL, DEV_HAS(congestions, SNAP_CONGESTION) },
	{ "congestion_level", NULL, 0, COL_JSON, DEV_HAS(congestion_level, SNAP_CONGESTED) },
	{ "congested_at", NULL, 0, COL_JSON, DEV_HAS(congested_at, SNAP_CONGESTED) },
	{ "mtt_hits", NULL, 0, COL_JSON, DEV_HAS(mtt_hits, SNAP_MTT) },
	{ "mtt_misses", NULL, 0, COL_JSON, DEV_HAS(mtt_misses, SNAP_MTT) },
	{ "read_stall", NULL, 0, COL_JSON, DEV_HAS(read_stall, SNAP_READ_STALL) },
	{ "qpc_hits", NULL, 0, COL_JSON, DEV_HAS(qpc_hits, SNAP_QPC) },
	{ "qpc_misses", NULL, 0, COL_JSON, DEV_HAS(qpc_misses, SNAP_QPC) },
	{ "diag_time", NULL, 0, COL_JSON, DEV_HAS(diag_time, SNAP_MTT | SNAP_READ_STALL | SNAP_QPC) },
	{ "pcie_time", NULL, 0, COL_JSON, DEV_HAS(pcie_time, SNAP_PCIE) },
	{ "pcie_stalled_reads", NULL, 0, COL_JSON, DEV_HAS(pcie_stalled_reads, SNAP_PCIE) },
	{ "pcie_stalled_writes", NULL, 0, COL_JSON, DEV_HAS(pcie_stalled_writes, SNAP_PCIE) },
	{ "pcie_stalled_read_seconds", NULL, 0, COL_JSON, DEV_HAS(pcie_stalled_read_seconds, SNAP_PCIE) },
	{ "pcie_stalled_write_seconds", NULL, 0, COL_JSON, DEV_HAS(pcie_stalled_write_seconds, SNAP_PCIE) },
	{ "caps", "CAPS", 0, COL_LEFT | COL_DETAIL, .get = get_caps },
	{ "since", NULL, 0, COL_JSON, DEV(since) },
	{ "time", NULL, 0, COL_JSON, DEV(time) },
	/* the last column: shown for a single device only */
	{ "users", NULL, 0, 0, .get = get_users },
};

static int show_devs(struct cli *cli, struct args *args)
{
	struct io_want want = {
		.devs = true,
		.qps = cli->interval_ms,	/* active_qps counts them */
		.dev = args_next(args),
	};
	struct rows rows;
	int err = args_end(args);

	/* The users of a device follow from its QPs and their UARs. */
	if (want.dev)
		want.qps = want.uars = true;
	if (!err)
		err = cli_read(cli, &want);
	if (!err && want.dev)
		err = cli_crowd(cli);
	if (err)
		return err;
	rows = ROWS(columns, cli->snap.devs, cli->snap.n_devs);
	rows.n_columns -= !want.dev;
	return cli_show(cli, &rows);
}

static const struct verb verbs[] = {
	{ "show", show_devs }, { "list", show_devs }, { 0 },
};

const struct noun_table dev_table = NOUN_TABLE("dev", columns);
static const struct noun_table users_table = NOUN_TABLE("dev.users", user_columns);
static const struct noun_table *const tables[] = { &dev_table, &users_table, NULL };

const struct noun noun_dev = {
	.name = "dev",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma dev [ show [ DEV ] ]\n"
	"\n"
	"Shows devices: the numbers of QPs, UARs, CQs and MRs, with their limits, and\n"
	"the numbers of QPs created, destroyed, modified and rejected. With DEV also the\n"
	"processes that use it, those that crowd most on a UAR first. -d adds more\n"
	"figures and the device's capabilities.\n",
	.tables = tables,
};
