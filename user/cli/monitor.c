// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/event.h"

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

static unsigned int kind_of(const struct snap_event *e)
{
	switch (e->kind) {
	case SNAP_EVENT_QP_CREATED:
	case SNAP_EVENT_QP_DESTROYED:
		return SHOW_QP;
	case SNAP_EVENT_ACTION:
		return SHOW_ACTION;
	case SNAP_EVENT_LEASE_END:
		return SHOW_LEASE;
	case SNAP_EVENT_CONGESTION:
		return SHOW_CONGESTION;
	case SNAP_EVENT_LOST:
		break;
	}
	/* Always: whoever reads this must not trust what came before. */
	return SHOW_ALL;
}

static void on_event(const struct snap_event *e, void *arg)
{
	struct watch *w = arg;

	if (w->show & kind_of(e))
		event_show(w->cli, NULL, e);
	w->stale |= e->kind == SNAP_EVENT_LOST;
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
