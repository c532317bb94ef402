// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
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

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, get_name },
	{ "index", "INDEX", 0, 0, get_index },
	{ "provider", "PROVIDER", 0, COL_LEFT, get_provider },
	{ "ports", "PORTS", 0, 0, get_ports },
	{ "qps", "QPS", 0, 0, get_qps },
	{ "active_qps", "ACTIVE", 0, COL_RATE, get_active_qps },
	{ "uars", "UARS", 0, 0, get_uars },
	{ "cqs", "CQS", 0, 0, get_cqs },
	{ "mrs", "MRS", 0, 0, get_mrs },
	{ "create_rate", "CREATE/s", SHOW_RATE, COL_RATE, get_create_rate },
	{ "modify_rate", "MODIFY/s", SHOW_RATE, COL_RATE, get_modify_rate },
	{ "created", "CREATED", 0, 0, get_created },
	{ "destroyed", "DESTROYED", 0, 0, get_destroyed },
	{ "modified", "MODIFIED", 0, 0, get_modified },
	{ "rejected", "REJECTED", 0, 0, get_rejected },
	{ "create_failed", "FAILED", 0, COL_DETAIL, get_create_failed },
	{ "adopted", "ADOPTED", 0, COL_DETAIL, get_adopted },
	{ "untracked", "UNTRACKED", 0, COL_DETAIL, get_untracked },
	{ "live_changed", "LIVE", 0, COL_DETAIL, get_live_changed },
	{ "live_failed", "LIVE-FAILED", 0, COL_DETAIL, get_live_failed },
	{ "drain_max", "DRAIN-MAX", SHOW_TIME, COL_DETAIL, get_drain_max },
	{ "caps", "CAPS", 0, COL_LEFT | COL_DETAIL, get_caps },
	{ "since", NULL, 0, COL_JSON, get_since },
	{ "time", NULL, 0, COL_JSON, get_time },
};

static int show(struct cli *cli, struct args *args)
{
	struct io_want want = {
		.devs = true,
		.qps = cli->interval_ms,	/* active_qps counts them */
		.dev = args_next(args),
	};
	struct rows rows;
	int err = args_end(args);

	if (!err)
		err = cli_read(cli, &want);
	if (err)
		return err;
	rows = ROWS(columns, cli->snap.devs, cli->snap.n_devs);
	return cli_show(cli, &rows);
}

static const struct verb verbs[] = {
	{ "show", show }, { "list", show }, { 0 },
};

const struct noun noun_dev = {
	"dev", verbs,
	"Usage: swiftrdma dev [ show [ DEV ] ]\n"
	"\n"
	"Devices: how many QPs, UARs, CQs and MRs there are, and what became of\n"
	"the QPs. -d adds what the device can tell and do.\n",
};
