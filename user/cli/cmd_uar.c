// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define UAR(member)		MEMBER(struct snap_uar, member)
#define UAR_HAS(member, bits)	MEMBER_HAS(struct snap_uar, member, bits)
#define CROWD_IF(member, by)	.of = crowd_of_uar, MEMBER_IF(struct crowd_uar, member, by)
#define OWNER(member)		.of = owner_of_uar, MEMBER(struct snap_owner, member)
#define PROCESS(member)		.of = process_of_uar, MEMBER(struct snap_owner, member)

static const void *crowd_of_uar(const struct cli *cli, const void *row)
{
	return cli->crowd.uars ? &cli->crowd.uars[(const struct snap_uar *)row - cli->snap.uars] :
				 NULL;
}

static const void *owner_of_uar(const struct cli *cli, const void *row)
{
	const struct snap_uar *uar = row;

	return view_owner(cli, snap_has(uar, SNAP_OWNER), uar->owner);
}

static const void *process_of_uar(const struct cli *cli, const void *row)
{
	return view_process(owner_of_uar(cli, row));
}

/* A single reading is enough. */
GETTER(owners)
{
	double v;

	if (signal_get(&cli->sig, SIG_UAR_OWNERS,
		       (const struct snap_uar *)row - cli->snap.uars, &v))
		cell_u64(c, (uint64_t)v);
}

/* QPs that post at the same time are what slows a UAR down. */
GETTER(coactive)
{
	view_signal(cli, SIG_UAR_COACTIVE, row, c);
	if (c->kind == CELL_REAL && c->real > cli->crowd.calm)
		c->tone = TONE_WARN;
}

GETTER(kind)
{
	static const char *const names[] = {
		[SWIFTRDMA_UAR_KIND_HW] = "hw",
		[SWIFTRDMA_UAR_KIND_CONTEXT] = "context",
		[SWIFTRDMA_UAR_KIND_KERNEL] = "kernel",
		[SWIFTRDMA_UAR_KIND_STATIC] = "static",
		[SWIFTRDMA_UAR_KIND_DYNAMIC] = "dynamic",
		[SWIFTRDMA_UAR_KIND_DEDICATED] = "dedicated",
	};
	const struct snap_uar *uar = row;

	if (uar->kind < sizeof(names) / sizeof(names[0]))
		cell_str(c, names[uar->kind]);
	else
		cell_u64(c, uar->kind);
}

/* The QPs of one UAR, with these columns of qp show. */
static bool is_on_uar(const struct cli *cli, const void *row, const void *arg)
{
	const struct snap_qp *qp = row;
	const struct snap_uar *uar = arg;

	(void)cli;
	return qp->dev == uar->dev && snap_has(qp, SNAP_UAR) && qp->uar == uar->index;
}

GETTER(members)
{
	static const char *const keys[] = {
		"qpn", "type", "state", "job", "pid", "tid", "owner", "wr_rate",
		"doorbell_rate", "doorbells", "wrs", "cgroup", NULL,
	};
	static struct column cols[sizeof(keys) / sizeof(keys[0])];

	c->kind = CELL_TABLE;
	c->table = qp_rows(&cli->snap);
	if (!cli->out.json) {
		c->table.n_columns = view_pick(&c->table, keys, cols);
		c->table.columns = cols;
	}
	c->table.want = is_on_uar;
	c->table.arg = row;
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, DEV_NAME(struct snap_uar) },
	{ "uar", "UAR", 0, 0, UAR(index) },
	{ "kind", "KIND", 0, COL_LEFT, .get = get_kind },
	{ "qps", "QPS", 0, 0, UAR(qps) },
	{ "active_qps", "ACTIVE", 0, COL_RATE, SIGNAL(UAR_ACTIVE_QPS) },
	{ "owners", "OWNERS", 0, 0, .get = get_owners },
	{ "threads", "THREADS", 0, 0, CROWD_IF(threads, threads) },
	{ "wr_rate", "WR/s", SHOW_RATE, COL_RATE | COL_WRS, SIGNAL(UAR_WR_RATE) },
	{ "share", "SHARE", SHOW_RATIO, 0, CROWD_IF(share, has_share) },
	{ "doorbell_rate", "DB/s", SHOW_RATE, COL_RATE, SIGNAL(UAR_DOORBELL_RATE) },
	{ "coactive", "COACTIVE", SHOW_RATIO, COL_RATE, .get = get_coactive },
	{ "created", "CREATED", 0, COL_DETAIL, UAR(created) },
	{ "doorbells", "DOORBELLS", 0, 0, UAR_HAS(doorbells, SNAP_DOORBELLS) },
	{ "wrs", "WRS", 0, COL_WRS, UAR_HAS(wrs, SNAP_WRS) },
	{ "wr_unit", NULL, 0, COL_JSON, WR_UNIT(struct snap_uar) },
	{ "pid", "PID", 0, 0, PROCESS(pid) },
	{ "uid", "UID", 0, COL_DETAIL, PROCESS(uid) },
	{ "comm", "COMM", 0, COL_LEFT, OWNER(comm) },
	{ "exe", "EXE", 0, COL_LEFT | COL_DETAIL, OWNER(exe) },
	{ "kernel", "KERNEL", 0, COL_LEFT | COL_DETAIL, OWNER(kernel) },
	{ "cgroup", "CGROUP", 0, COL_LEFT | COL_DETAIL, OWNER(cgroup) },
	{ "context", "CTX", 0, COL_DETAIL, UAR_HAS(context, SNAP_CONTEXT_ID) },
	{ "context_uars", "CTX-UARS", 0, COL_DETAIL, UAR_HAS(context_uars, SNAP_CONTEXT) },
	{ "context_limit", "CTX-LIMIT", 0, COL_DETAIL, UAR_HAS(context_limit, SNAP_LIMIT) },
	{ "sweeps", NULL, 0, COL_JSON, UAR_HAS(sweeps, SNAP_SWEEPS) },
	{ "sweeps_active", NULL, 0, COL_JSON, UAR_HAS(active, SNAP_SWEEPS) },
	{ "sweeps_coactive", NULL, 0, COL_JSON, UAR_HAS(coactive, SNAP_SWEEPS) },
	{ "since", NULL, 0, COL_JSON, UAR(since) },
	{ "time", NULL, 0, COL_JSON, UAR(time) },
	/* the last column: shown for a single UAR only */
	{ "members", NULL, 0, 0, .get = get_members },
};

struct rows uar_rows(const struct snapshot *snap)
{
	struct rows rows = ROWS(columns, snap->uars, snap->n_uars);

	rows.n_columns--;
	return rows;
}

struct filter {
	bool has_index;
	uint32_t index;
};

static bool is_wanted_uar(const struct cli *cli, const void *row, const void *arg)
{
	const struct filter *f = arg;

	(void)cli;
	return !f->has_index || ((const struct snap_uar *)row)->index == f->index;
}

static bool any_wanted(const struct cli *cli, const struct filter *f)
{
	for (size_t i = 0; i < cli->snap.n_uars; i++)
		if (is_wanted_uar(cli, &cli->snap.uars[i], f))
			return true;
	return false;
}

static int parse_filter(struct args *args, struct io_want *want, struct filter *f,
			struct sorting *sorting)
{
	while (args_left(args)) {
		const char *word = args_next(args);
		int err = sort_parse(args, word, sorting);
		uint64_t n;

		if (err > 0)
			return err;
		if (!err)
			continue;
		if (!f->has_index && args_number(word, UINT32_MAX, &n)) {
			f->has_index = true;
			f->index = n;
		} else if (args_is_option(word)) {
			return args_no_option(word);
		} else if (!want->dev) {
			want->dev = word;
		} else {
			return args_bad("'%s' is not a number: a device is given already, so this must be the index of a UAR",
					word);
		}
	}
	return CLI_OK;
}

static int show_uars(struct cli *cli, struct args *args)
{
	struct io_want want = {
		.devs = true, .uars = true, .qps = true, .jobs = true,
		.cached = { .devs = true, .jobs = true },
	};
	struct sorting sorting = { 0 };
	struct filter f = { 0 };
	struct rows rows;
	int err = parse_filter(args, &want, &f, &sorting);

	if (!err)
		err = cli_read(cli, &want);
	if (!err)
		err = cli_crowd(cli);
	if (err)
		return err;
	if (f.has_index && !any_wanted(cli, &f))
		return cli_fail("no UAR %u%s%s that you may see", f.index, want.dev ? " of " : "",
				want.dev ? want.dev : "");
	rows = uar_rows(&cli->snap);
	rows.n_columns += f.has_index;
	rows.want = is_wanted_uar;
	rows.arg = &f;
	return cli_list(cli, &rows, &sorting);
}

static const struct verb verbs[] = {
	{ "show", show_uars }, { "list", show_uars }, { 0 },
};

const struct noun_table uar_table = NOUN_TABLE("uar", columns);
static const struct noun_table *const tables[] = { &uar_table, &qp_table, NULL };

const struct noun noun_uar = {
	.name = "uar",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma uar [ show [ DEV ] [ INDEX ] [ sort KEY ] [ top N ] ]\n"
	"\n"
	"Shows UARs, or user contexts on a device without UARs (column KIND), their owners,\n"
	"and their shares of the device's work requests. With INDEX also the QPs on that\n"
	"UAR. -i SEC adds rates, and how often several QPs of a UAR advanced together.\n"
	"KEY is a column: sort wr_rate top 5.\n",
	.tables = tables,
};
