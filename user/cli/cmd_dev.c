// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define NUMBER(field)							\
	static void get_##field(const struct cli *cli, const void *row,	\
				struct cell *c)				\
	{								\
		(void)cli;						\
		cell_u64(c, ((const struct snap_dev *)row)->field);	\
	}

#define SOME(field, bit)							\
	static void get_##field(const struct cli *cli, const void *row,	\
				struct cell *c)				\
	{								\
		(void)cli;						\
		if (snap_has((const struct snap_dev *)row, bit))	\
			cell_u64(c, ((const struct snap_dev *)row)->field); \
	}

#define RATE(name, id)							\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		view_signal(cli, id, (const struct snap_dev *)row -	\
			    cli->snap.devs, c);				\
	}

NUMBER(index)
NUMBER(ports)
NUMBER(qps)
NUMBER(uars)
NUMBER(cqs)
NUMBER(mrs)
NUMBER(created)
NUMBER(create_failed)
NUMBER(rejected)
NUMBER(destroyed)
NUMBER(modified)
NUMBER(adopted)
NUMBER(untracked)
NUMBER(live_changed)
NUMBER(live_failed)
NUMBER(drain_max)
NUMBER(since)
NUMBER(time)
SOME(qp_limit, SNAP_LIMIT)
SOME(cq_limit, SNAP_LIMIT)
SOME(mr_limit, SNAP_LIMIT)
SOME(uar_limit, SNAP_UAR_LIMIT)
SOME(commands, SNAP_COMMANDS)
SOME(command_time, SNAP_COMMANDS)
SOME(sweeps, SNAP_SWEEPS)
SOME(sweep_time, SNAP_SWEEPS)
SOME(sweep_gap, SNAP_SWEEPS)
SOME(records, SNAP_SWEEPS)
SOME(held_pages, SNAP_SWEEPS)
SOME(congestions, SNAP_CONGESTION)
SOME(congestion_level, SNAP_CONGESTED)
SOME(congested_at, SNAP_CONGESTED)
SOME(mtt_hits, SNAP_MTT)
SOME(mtt_misses, SNAP_MTT)
SOME(read_stall, SNAP_READ_STALL)
SOME(qpc_hits, SNAP_QPC)
SOME(qpc_misses, SNAP_QPC)
SOME(mrs_unknown, SNAP_MRS)
SOME(mr_bytes, SNAP_MRS)
SOME(mtts, SNAP_MTTS)
SOME(mtts_unknown, SNAP_MTTS)
SOME(mr_page_min, SNAP_MR_PAGES)
SOME(mr_page_max, SNAP_MR_PAGES)
SOME(pcie_stalled_reads, SNAP_PCIE)
SOME(pcie_stalled_writes, SNAP_PCIE)
SOME(pcie_stalled_read_seconds, SNAP_PCIE)
SOME(pcie_stalled_write_seconds, SNAP_PCIE)
SOME(devx_qps, SNAP_DEVX)
SOME(devx_created, SNAP_DEVX)
SOME(devx_missed, SNAP_DEVX)
SOME(diag_time, SNAP_MTT | SNAP_READ_STALL | SNAP_QPC)
SOME(pcie_time, SNAP_PCIE)
RATE(db_congestion, SIG_DEV_DB_CONGESTION)
RATE(mtt_miss, SIG_DEV_MTT_MISS)
RATE(qpc_miss, SIG_DEV_QPC_MISS)
RATE(pcie_stall, SIG_DEV_PCIE_STALL)
RATE(active_qps, SIG_DEV_ACTIVE_QPS)
RATE(create_rate, SIG_DEV_CREATE_RATE)
RATE(modify_rate, SIG_DEV_MODIFY_RATE)

static void get_name(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct snap_dev *)row)->name);
}

static void get_provider(const struct cli *cli, const void *row,
			 struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct snap_dev *)row)->provider);
}

static void get_function(const struct cli *cli, const void *row,
			 struct cell *c)
{
	static const char *const names[] = {
		[SWIFTRDMA_FUNCTION_PF] = "pf",
		[SWIFTRDMA_FUNCTION_VF] = "vf",
		[SWIFTRDMA_FUNCTION_SF] = "sf",
		[SWIFTRDMA_FUNCTION_REPRESENTOR] = "representor",
	};
	uint32_t function = ((const struct snap_dev *)row)->function;

	(void)cli;
	if (function && function < sizeof(names) / sizeof(names[0]))
		cell_str(c, names[function]);
}

static void get_caps(const struct cli *cli, const void *row, struct cell *c)
{
	static const struct {
		uint32_t cap;
		const char *name;
	} caps[] = {
		{ SWIFTRDMA_DEV_CAP_DOORBELLS, "doorbells" },
		{ SWIFTRDMA_DEV_CAP_WRS, "wrs" },
		{ SWIFTRDMA_DEV_CAP_LIVE_CLASS, "live-class" },
		{ SWIFTRDMA_DEV_CAP_CONTEXTS, "contexts" },
		{ SWIFTRDMA_DEV_CAP_UARS, "uars" },
		{ SWIFTRDMA_DEV_CAP_WQEBBS, "wqebbs" },
		{ SWIFTRDMA_DEV_CAP_CONGESTION, "congestion" },
		{ SWIFTRDMA_DEV_CAP_RATES, "rates" },
	};
	const struct snap_dev *dev = row;
	size_t n = 0;

	(void)cli;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		if (dev->caps & caps[i].cap)
			c->words[n++] = caps[i].name;
	c->words[n] = NULL;
	c->kind = CELL_WORDS;
}

/* "64/1024": used and limit, in text. */
static void of_limit(uint32_t n, bool has, uint32_t limit, struct cell *c)
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
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		const struct snap_dev *dev = row;			\
									\
		(void)cli;						\
		of_limit(dev->used, snap_has(dev, bit), dev->limit, c);	\
	}

BUDGET(qp_budget, qps, qp_limit, SNAP_LIMIT)
BUDGET(cq_budget, cqs, cq_limit, SNAP_LIMIT)
BUDGET(mr_budget, mrs, mr_limit, SNAP_LIMIT)
BUDGET(uar_budget, uars, uar_limit, SNAP_UAR_LIMIT)

/* The owner of a process that uses the device. */
static const struct snap_owner *user_of(const struct cli *cli, const void *row)
{
	return &cli->snap.owners[((const struct crowd_proc *)row)->owner];
}

static void user_pid(const struct cli *cli, const void *row, struct cell *c)
{
	cell_u64(c, user_of(cli, row)->pid);
}

static void user_comm(const struct cli *cli, const void *row, struct cell *c)
{
	cell_str(c, user_of(cli, row)->comm);
}

static void user_cgroup(const struct cli *cli, const void *row, struct cell *c)
{
	cell_str(c, user_of(cli, row)->cgroup);
}

static void user_qps(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct crowd_proc *)row)->qps);
}

static void user_uars(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct crowd_proc *)row)->uars);
}

static void user_worst(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct crowd_proc *)row)->worst_qps);
}

static void user_threads(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	if (((const struct crowd_proc *)row)->threads)
		cell_u64(c, ((const struct crowd_proc *)row)->threads);
}

static void user_coactive(const struct cli *cli, const void *row, struct cell *c)
{
	const struct crowd_proc *p = row;

	(void)cli;
	if (p->has_coactive)
		cell_real(c, p->worst_coactive);
}

static const struct column user_columns[] = {
	{ "pid", "PID", 0, 0, user_pid },
	{ "comm", "COMM", 0, COL_LEFT, user_comm },
	{ "qps", "QPS", 0, 0, user_qps },
	{ "uars", "UARS", 0, 0, user_uars },
	{ "most_on_uar", "MOST-ON-UAR", 0, 0, user_worst },
	{ "threads", "THREADS", 0, 0, user_threads },
	{ "coactive", "COACTIVE", SHOW_RATIO, COL_RATE, user_coactive },
	{ "cgroup", "CGROUP", 0, COL_LEFT, user_cgroup },
};

static bool runs_on_dev(const struct cli *cli, const void *row, const void *arg)
{
	return &cli->snap.devs[((const struct crowd_proc *)row)->dev] == arg;
}

static void get_users(const struct cli *cli, const void *row, struct cell *c)
{
	c->kind = CELL_TABLE;
	c->table = ROWS(user_columns, cli->crowd.procs, cli->crowd.n_procs);
	c->table.want = runs_on_dev;
	c->table.arg = row;
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, get_name },
	{ "index", "INDEX", 0, 0, get_index },
	{ "provider", "PROVIDER", 0, COL_LEFT, get_provider },
	{ "function", "FUNCTION", 0, COL_LEFT, get_function },
	{ "ports", "PORTS", 0, 0, get_ports },
	{ "qps", NULL, 0, COL_JSON, get_qps },
	{ "qp_limit", NULL, 0, COL_JSON, get_qp_limit },
	{ "qp_budget", "QPS", 0, COL_TEXT, get_qp_budget },
	{ "active_qps", "ACTIVE", 0, COL_RATE, get_active_qps },
	{ "uars", NULL, 0, COL_JSON, get_uars },
	{ "uar_limit", NULL, 0, COL_JSON, get_uar_limit },
	{ "uar_budget", "UARS", 0, COL_TEXT, get_uar_budget },
	{ "cqs", NULL, 0, COL_JSON, get_cqs },
	{ "cq_limit", NULL, 0, COL_JSON, get_cq_limit },
	{ "cq_budget", "CQS", 0, COL_TEXT, get_cq_budget },
	{ "mrs", NULL, 0, COL_JSON, get_mrs },
	{ "mr_limit", NULL, 0, COL_JSON, get_mr_limit },
	{ "mr_budget", "MRS", 0, COL_TEXT, get_mr_budget },
	{ "mrs_unknown", "MRS-UNKNOWN", 0, COL_DETAIL, get_mrs_unknown },
	{ "mr_bytes", "MR-BYTES", SHOW_BYTES, COL_DETAIL, get_mr_bytes },
	{ "mtts", "MTTS", 0, COL_DETAIL, get_mtts },
	{ "mtts_unknown", "MTTS-UNKNOWN", 0, COL_DETAIL, get_mtts_unknown },
	{ "mr_page_min", "MR-PAGE-MIN", SHOW_BYTES, COL_DETAIL,
	  get_mr_page_min },
	{ "mr_page_max", "MR-PAGE-MAX", SHOW_BYTES, COL_DETAIL,
	  get_mr_page_max },
	{ "qpc_miss", "QPC-MISS", SHOW_RATIO, COL_RATE | COL_DETAIL,
	  get_qpc_miss },
	{ "mtt_miss", "MTT-MISS", SHOW_RATIO, COL_RATE, get_mtt_miss },
	{ "db_congestion", "CONGEST/s", SHOW_RATE, COL_RATE,
	  get_db_congestion },
	{ "pcie_stall", "PCIE-STALL", SHOW_RATIO, COL_RATE | COL_DETAIL,
	  get_pcie_stall },
	{ "create_rate", "CREATE/s", SHOW_RATE, COL_RATE, get_create_rate },
	{ "modify_rate", "MODIFY/s", SHOW_RATE, COL_RATE, get_modify_rate },
	{ "created", "CREATED", 0, 0, get_created },
	{ "destroyed", "DESTROYED", 0, 0, get_destroyed },
	{ "modified", "MODIFIED", 0, 0, get_modified },
	{ "rejected", "REJECTED", 0, 0, get_rejected },
	{ "create_failed", "FAILED", 0, COL_DETAIL, get_create_failed },
	{ "adopted", "ADOPTED", 0, COL_DETAIL, get_adopted },
	{ "untracked", "UNTRACKED", 0, COL_DETAIL, get_untracked },
	{ "devx_qps", "DEVX-QPS", 0, COL_DETAIL, get_devx_qps },
	{ "devx_created", NULL, 0, COL_JSON, get_devx_created },
	{ "devx_missed", "DEVX-MISSED", 0, COL_DETAIL, get_devx_missed },
	{ "live_changed", "LIVE", 0, COL_DETAIL, get_live_changed },
	{ "live_failed", "LIVE-FAILED", 0, COL_DETAIL, get_live_failed },
	{ "drain_max", "DRAIN-MAX", SHOW_TIME, COL_DETAIL, get_drain_max },
	{ "commands", "COMMANDS", 0, COL_DETAIL, get_commands },
	{ "command_time", "COMMAND-TIME", SHOW_TIME, COL_DETAIL,
	  get_command_time },
	{ "sweeps", "SWEEPS", 0, COL_DETAIL, get_sweeps },
	{ "sweep_time", "SWEEP-TIME", SHOW_TIME, COL_DETAIL, get_sweep_time },
	{ "sweep_gap", "SWEEP-GAP", SHOW_TIME, COL_DETAIL, get_sweep_gap },
	{ "records", "RECORDS", 0, COL_DETAIL, get_records },
	{ "held_pages", "HELD-PAGES", 0, COL_DETAIL, get_held_pages },
	{ "congestions", "CONGESTIONS", 0, COL_DETAIL, get_congestions },
	{ "congestion_level", NULL, 0, COL_JSON, get_congestion_level },
	{ "congested_at", NULL, 0, COL_JSON, get_congested_at },
	{ "mtt_hits", NULL, 0, COL_JSON, get_mtt_hits },
	{ "mtt_misses", NULL, 0, COL_JSON, get_mtt_misses },
	{ "read_stall", NULL, 0, COL_JSON, get_read_stall },
	{ "qpc_hits", NULL, 0, COL_JSON, get_qpc_hits },
	{ "qpc_misses", NULL, 0, COL_JSON, get_qpc_misses },
	{ "diag_time", NULL, 0, COL_JSON, get_diag_time },
	{ "pcie_time", NULL, 0, COL_JSON, get_pcie_time },
	{ "pcie_stalled_reads", NULL, 0, COL_JSON, get_pcie_stalled_reads },
	{ "pcie_stalled_writes", NULL, 0, COL_JSON, get_pcie_stalled_writes },
	{ "pcie_stalled_read_seconds", NULL, 0, COL_JSON,
	  get_pcie_stalled_read_seconds },
	{ "pcie_stalled_write_seconds", NULL, 0, COL_JSON,
	  get_pcie_stalled_write_seconds },
	{ "caps", "CAPS", 0, COL_LEFT | COL_DETAIL, get_caps },
	{ "since", NULL, 0, COL_JSON, get_since },
	{ "time", NULL, 0, COL_JSON, get_time },
	/* the last column: shown for a single device only */
	{ "users", NULL, 0, 0, get_users },
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

const struct noun noun_dev = {
	"dev", verbs,
	"Usage: swiftrdma dev [ show [ DEV ] ]\n"
	"\n"
	"Shows devices: the numbers of QPs, UARs, CQs and MRs, with their limits, and\n"
	"the numbers of QPs created, destroyed, modified and rejected. With DEV also the\n"
	"processes that use it, those that crowd most on a UAR first. -d adds more\n"
	"figures and the device's capabilities.\n",
};
