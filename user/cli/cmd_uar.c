// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define NUMBER(name, field, bit)					\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		const struct snap_uar *uar = row;			\
									\
		(void)cli;						\
		if ((bit) == 0 || snap_has(uar, bit))			\
			cell_u64(c, uar->field);			\
	}

#define RATE(name, id)							\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		view_signal(cli, id, (const struct snap_uar *)row -	\
			    cli->snap.uars, c);				\
	}

NUMBER(index, index, 0)
NUMBER(qps, qps, 0)
NUMBER(created, created, 0)
NUMBER(doorbells, doorbells, SNAP_DOORBELLS)
NUMBER(wrs, wrs, SNAP_WRS)
NUMBER(context, context, SNAP_CONTEXT_ID)
NUMBER(context_uars, context_uars, SNAP_CONTEXT)
NUMBER(context_limit, context_limit, SNAP_LIMIT)
NUMBER(sweeps, sweeps, SNAP_SWEEPS)
NUMBER(sweeps_active, active, SNAP_SWEEPS)
NUMBER(sweeps_coactive, coactive, SNAP_SWEEPS)
NUMBER(since, since, 0)
NUMBER(time, time, 0)
RATE(active_qps, SIG_UAR_ACTIVE_QPS)
RATE(wr_rate, SIG_UAR_WR_RATE)
RATE(doorbell_rate, SIG_UAR_DOORBELL_RATE)

/* A single reading is enough. */
static void get_owners(const struct cli *cli, const void *row, struct cell *c)
{
	double v;

	if (signal_get(&cli->sig, SIG_UAR_OWNERS,
		       (const struct snap_uar *)row - cli->snap.uars, &v))
		cell_u64(c, (uint64_t)v);
}

static const struct crowd_uar *crowd_of(const struct cli *cli, const void *row)
{
	return cli->crowd.uars ? &cli->crowd.uars[(const struct snap_uar *)row -
						  cli->snap.uars] : NULL;
}

static void get_threads(const struct cli *cli, const void *row, struct cell *c)
{
	const struct crowd_uar *u = crowd_of(cli, row);

	if (u && u->threads)
		cell_u64(c, u->threads);
}

static void get_share(const struct cli *cli, const void *row, struct cell *c)
{
	const struct crowd_uar *u = crowd_of(cli, row);

	if (u && u->has_share)
		cell_real(c, u->share);
}

/* QPs that post at the same time are what slows a UAR down. */
static void get_coactive(const struct cli *cli, const void *row, struct cell *c)
{
	view_signal(cli, SIG_UAR_COACTIVE,
		    (const struct snap_uar *)row - cli->snap.uars, c);
	if (c->kind == CELL_REAL && c->real > cli->crowd.calm)
		c->tone = TONE_WARN;
}

static void get_dev(const struct cli *cli, const void *row, struct cell *c)
{
	view_dev_name(cli, ((const struct snap_uar *)row)->dev, c);
}

static void get_wr_unit(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_uar *uar = row;

	if (snap_has(uar, SNAP_WRS))
		view_wr_unit(cli, uar->dev, c);
}

static void get_kind(const struct cli *cli, const void *row, struct cell *c)
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

	(void)cli;
	if (uar->kind < sizeof(names) / sizeof(names[0]))
		cell_str(c, names[uar->kind]);
	else
		cell_u64(c, uar->kind);
}

static const struct snap_owner *owner_of_uar(const struct cli *cli, const void *row)
{
	const struct snap_uar *uar = row;

	return view_owner(cli, snap_has(uar, SNAP_OWNER), uar->owner);
}

static void get_pid(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_owner *o = owner_of_uar(cli, row);

	if (o && !o->kernel[0])
		cell_u64(c, o->pid);
}

static void get_uid(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_owner *o = owner_of_uar(cli, row);

	if (o && !o->kernel[0])
		cell_u64(c, o->uid);
}

static void get_comm(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_owner *o = owner_of_uar(cli, row);

	if (o)
		cell_str(c, o->comm);
}

static void get_exe(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_owner *o = owner_of_uar(cli, row);

	if (o)
		cell_str(c, o->exe);
}

static void get_cgroup(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_owner *o = owner_of_uar(cli, row);

	if (o)
		cell_str(c, o->cgroup);
}

static void get_kernel(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_owner *o = owner_of_uar(cli, row);

	if (o)
		cell_str(c, o->kernel);
}

/* The QPs of one UAR, with these columns of qp show. */
static bool is_on_uar(const struct cli *cli, const void *row, const void *arg)
{
	const struct snap_qp *qp = row;
	const struct snap_uar *uar = arg;

	(void)cli;
	return qp->dev == uar->dev && snap_has(qp, SNAP_UAR) &&
	       qp->uar == uar->index;
}

static void get_members(const struct cli *cli, const void *row, struct cell *c)
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
	{ "dev", "DEV", 0, COL_LEFT, get_dev },
	{ "uar", "UAR", 0, 0, get_index },
	{ "kind", "KIND", 0, COL_LEFT, get_kind },
	{ "qps", "QPS", 0, 0, get_qps },
	{ "active_qps", "ACTIVE", 0, COL_RATE, get_active_qps },
	{ "owners", "OWNERS", 0, 0, get_owners },
	{ "threads", "THREADS", 0, 0, get_threads },
	{ "wr_rate", "WR/s", SHOW_RATE, COL_RATE | COL_WRS, get_wr_rate },
	{ "share", "SHARE", SHOW_RATIO, 0, get_share },
	{ "doorbell_rate", "DB/s", SHOW_RATE, COL_RATE, get_doorbell_rate },
	{ "coactive", "COACTIVE", SHOW_RATIO, COL_RATE, get_coactive },
	{ "created", "CREATED", 0, COL_DETAIL, get_created },
	{ "doorbells", "DOORBELLS", 0, 0, get_doorbells },
	{ "wrs", "WRS", 0, COL_WRS, get_wrs },
	{ "wr_unit", NULL, 0, COL_JSON, get_wr_unit },
	{ "pid", "PID", 0, 0, get_pid },
	{ "uid", "UID", 0, COL_DETAIL, get_uid },
	{ "comm", "COMM", 0, COL_LEFT, get_comm },
	{ "exe", "EXE", 0, COL_LEFT | COL_DETAIL, get_exe },
	{ "kernel", "KERNEL", 0, COL_LEFT | COL_DETAIL, get_kernel },
	{ "cgroup", "CGROUP", 0, COL_LEFT | COL_DETAIL, get_cgroup },
	{ "context", "CTX", 0, COL_DETAIL, get_context },
	{ "context_uars", "CTX-UARS", 0, COL_DETAIL, get_context_uars },
	{ "context_limit", "CTX-LIMIT", 0, COL_DETAIL, get_context_limit },
	{ "sweeps", NULL, 0, COL_JSON, get_sweeps },
	{ "sweeps_active", NULL, 0, COL_JSON, get_sweeps_active },
	{ "sweeps_coactive", NULL, 0, COL_JSON, get_sweeps_coactive },
	{ "since", NULL, 0, COL_JSON, get_since },
	{ "time", NULL, 0, COL_JSON, get_time },
	/* the last column: shown for a single UAR only */
	{ "members", NULL, 0, 0, get_members },
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

static bool is_wanted(const struct cli *cli, const void *row, const void *arg)
{
	const struct filter *f = arg;

	(void)cli;
	return !f->has_index ||
	       ((const struct snap_uar *)row)->index == f->index;
}

static bool any_wanted(const struct cli *cli, const struct filter *f)
{
	for (size_t i = 0; i < cli->snap.n_uars; i++)
		if (is_wanted(cli, &cli->snap.uars[i], f))
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
			return args_late_option(word);
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
	if (f.has_index && !any_wanted(cli, &f)) {
		fprintf(stderr, "swiftrdma: no UAR %u%s%s that you may see\n",
			f.index, want.dev ? " of " : "",
			want.dev ? want.dev : "");
		return CLI_ERROR;
	}
	rows = uar_rows(&cli->snap);
	rows.n_columns += f.has_index;
	rows.want = is_wanted;
	rows.arg = &f;
	err = sort_rows(cli, &rows, &sorting);
	if (!err)
		err = cli_show_own(cli, &rows);
	free(sorting.order);
	return err;
}

static const struct verb verbs[] = {
	{ "show", show_uars }, { "list", show_uars }, { 0 },
};

const struct noun noun_uar = {
	"uar", verbs,
	"Usage: swiftrdma uar [ show [ DEV ] [ INDEX ] [ sort KEY ] [ top N ] ]\n"
	"\n"
	"Shows UARs, or user contexts on a device without UARs (column KIND), their owners,\n"
	"and their shares of the device's work requests. With INDEX also the QPs on that\n"
	"UAR. -i SEC adds rates, and how often several QPs of a UAR advanced together.\n"
	"KEY is a column: sort wr_rate top 5.\n",
};
