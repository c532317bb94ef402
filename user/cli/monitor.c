// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "cli/cli.h"

enum {
	SHOW_QP = 1 << 0,
	SHOW_ACTION = 1 << 1,
	SHOW_LEASE = 1 << 2,
	SHOW_CONGESTION = 1 << 3,
	SHOW_ALL = (1 << 4) - 1,
};

struct watch {
	struct cli *cli;
	unsigned int show;
	bool stale;	/* names of devices and jobs */
};

static void get_lease(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct io_event *)row)->lease);
}

static const struct column lease_columns[] = {
	{ "lease", "", 0, 0, get_lease },
};

static void get_why(const struct cli *cli, const void *row, struct cell *c)
{
	(void)row;
	cell_str(c, io_error(cli->io));
}

static const struct column lost_columns[] = {
	{ "reason", "", 0, 0, get_why },
};

static void get_dev(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct io_event *)row)->dev->name);
}

static void get_level(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_dev *dev = ((const struct io_event *)row)->dev;

	(void)cli;
	if (snap_has(dev, SNAP_CONGESTED))
		cell_u64(c, dev->congestion_level);
}

static void get_events(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct io_event *)row)->dev->congestions);
}

/* The UAR on which most was posted just then, and how much. */
static void get_busiest(const struct cli *cli, const void *row, struct cell *c)
{
	const struct io_event *e = row;

	(void)cli;
	if (e->n_uars)
		cell_u64(c, e->uars[0].index);
}

static void get_busiest_wrs(const struct cli *cli, const void *row, struct cell *c)
{
	const struct io_event *e = row;

	(void)cli;
	if (e->n_uars && snap_has(&e->uars[0], SNAP_RECENT))
		cell_u64(c, e->uars[0].recent_wrs);
}

static void get_busiest_qps(const struct cli *cli, const void *row, struct cell *c)
{
	const struct io_event *e = row;

	(void)cli;
	if (e->n_uars)
		cell_u64(c, e->uars[0].qps);
}

static void get_busy(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct io_event *)row)->n_uars);
}

static const struct column congestion_columns[] = {
	{ "dev", "", 0, 0, get_dev },
	{ "level", "level", 0, 0, get_level },
	{ "events", "events", 0, 0, get_events },
	{ "uar", "uar", 0, 0, get_busiest },
	{ "uar_qps", "qps", 0, 0, get_busiest_qps },
	{ "uar_recent_wrs", "wrs", 0, 0, get_busiest_wrs },
	{ "busy_uars", "busy_uars", 0, 0, get_busy },
};

/*
 * The columns of qp show want an owner in the snapshot; the event has its own,
 * so for the time being it stands in for the snapshot's.
 */
static void show_qp(struct watch *w, const struct io_event *e)
{
	struct cli *cli = w->cli;
	struct snap_owner *owners = cli->snap.owners;
	size_t n = cli->snap.n_owners;
	struct snap_owner owner;
	struct snap_qp qp = *e->qp;
	struct rows rows = qp_rows(&cli->snap);

	qp.owner = 0;
	if (e->owner) {
		owner = *e->owner;
		cli->snap.owners = &owner;
		cli->snap.n_owners = 1;
	}
	rows.base = &qp;
	out_event(cli, &cli->out,
		  e->kind == IO_EVENT_QP_CREATED ? "created" : "destroyed",
		  e->kind == IO_EVENT_QP_CREATED ? TONE_GOOD : TONE_WARN,
		  &rows);
	cli->snap.owners = owners;
	cli->snap.n_owners = n;
}

static void show_action(struct watch *w, const struct io_event *e)
{
	const struct snap_action *a = e->action;
	struct rows rows = action_result_rows(a);

	out_event(w->cli, &w->cli->out, "action",
		  a->error ? TONE_BAD : a->qps_pending ? TONE_WARN : TONE_GOOD,
		  &rows);
}

static void on_event(const struct io_event *e, void *arg)
{
	struct watch *w = arg;
	struct cli *cli = w->cli;
	struct rows rows;

	switch (e->kind) {
	case IO_EVENT_QP_CREATED:
	case IO_EVENT_QP_DESTROYED:
		if (w->show & SHOW_QP)
			show_qp(w, e);
		break;
	case IO_EVENT_ACTION:
		if (w->show & SHOW_ACTION)
			show_action(w, e);
		break;
	case IO_EVENT_LEASE_END:
		rows = ROWS(lease_columns, e, 1);
		if (w->show & SHOW_LEASE)
			out_event(cli, &cli->out,
				  e->expired ? "expired" : "ended",
				  TONE_PLAIN, &rows);
		break;
	case IO_EVENT_CONGESTION:
		rows = ROWS(congestion_columns, e, 1);
		if (w->show & SHOW_CONGESTION)
			out_event(cli, &cli->out, "congestion", TONE_BAD,
				  &rows);
		break;
	case IO_EVENT_LOST:
		/* Always: whoever reads this must not trust what came before. */
		rows = ROWS(lost_columns, e, 1);
		out_event(cli, &cli->out, "lost", TONE_BAD, &rows);
		w->stale = true;
		break;
	}
}

static int read_names(struct cli *cli)
{
	struct io_want want = { .devs = true, .jobs = true };

	return io_snapshot(cli->io, &cli->snap, &want);
}

static int watch(struct cli *cli, struct watch *w)
{
	struct pollfd p = { .events = POLLIN };

	p.fd = io_events_open(cli->io);
	if (p.fd < 0 || read_names(cli) < 0)
		return cli_io_error(cli);
	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			break;
		if (io_events_read(cli->io, on_event, w) < 0)
			return cli_io_error(cli);
		/* While the module is away there is nothing to read. */
		if (w->stale && read_names(cli) != -ENODEV)
			w->stale = false;
		if (ferror(stdout))
			break;
	}
	return CLI_ERROR;
}

static int run(struct cli *cli, struct args *args)
{
	static const char *const kinds[] = {
		"qp", "action", "lease", "congestion", "all", NULL,
	};
	struct watch w = { .cli = cli };
	int err;

	while (args_left(args)) {
		const char *word = args_next(args);
		int k = args_match(kinds, word);

		if (k < 0)
			return args_bad("'%s': expected qp, action, lease or congestion",
					word);
		w.show |= k == 4 ? SHOW_ALL : 1u << k;
	}
	if (!w.show)
		w.show = SHOW_ALL;
	err = cli_open(cli);
	return err ? err : watch(cli, &w);
}

static const struct verb verbs[] = {
	{ "", run }, { 0 },
};

const struct noun noun_monitor = {
	"monitor", verbs,
	"Usage: swiftrdma monitor [ qp ] [ action ] [ lease ] [ congestion ]\n"
	"\n"
	"Events as they come, all kinds unless some are named; with -j one object a\n"
	"line. 'lost' says that some could not be delivered, or that the module was\n"
	"unloaded or loaded. Ends on SIGINT. Needs CAP_NET_ADMIN.\n",
};
