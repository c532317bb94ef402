// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * swiftrdma monitor: events as they come. Where some were lost, the QPs are read
 * again, and those that came or went meanwhile are shown as if it had been heard.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/event.h"
#include "cli/monitor_qps.h"

/*
 * More than the socket has room for. Until it is empty the kernel puts nothing
 * there that came after the loss, so what was lost lies behind that.
 */
#define TURNS 128

/* Jobs that went before their names were read: so many are remembered. */
#define NAMELESS 8

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
	bool stale;		/* events were lost since it was read */
	bool away;		/* it could not be read again, the module is away */
	unsigned int turns;	/* at the events since then */
	char why[64];		/* they were lost; empty: it was said */
	uint64_t module;	/* since when that is there */
	struct qp_keys known;
	struct qp_keys found;	/* by reading again: their events may still come */
	bool full;		/* out of memory */
	struct snapshot names;	/* spare room for those of devices and jobs */
	uint32_t nameless[NAMELESS];
	unsigned int n_nameless;
};

/* A loss, with what reading again found. */
struct loss {
	const char *why;
	bool has;
	size_t created, destroyed;
};

static void get_reason(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct loss *)row)->why);
}

#define FOUND(field)							\
	static void get_##field(const struct cli *cli, const void *row,	\
				struct cell *c)				\
	{								\
		const struct loss *l = row;				\
									\
		(void)cli;						\
		if (l->has)						\
			cell_u64(c, l->field);				\
	}

FOUND(created)
FOUND(destroyed)

static const struct column loss_columns[] = {
	{ "reason", "", 0, 0, get_reason },
	{ "created", "", 0, 0, get_created },
	{ "destroyed", "", 0, 0, get_destroyed },
};

static void say_loss(struct watch *w, struct loss l)
{
	struct rows rows;

	if (!w->why[0])
		return;
	l.why = w->why;
	rows = ROWS(loss_columns, &l, 1);
	out_event(w->cli, &w->cli->out, NULL, "lost", TONE_BAD, &rows);
	w->why[0] = '\0';
}

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

/* False: reading again already showed it. */
static bool is_news(struct watch *w, const struct snap_event *e)
{
	bool gone = e->kind == SNAP_EVENT_QP_DESTROYED;

	if (!e->qp)
		return true;
	if (qp_keys_has(&w->found, e->qp, gone))
		return false;
	if (!qp_keys_add(&w->known, e->qp, gone))
		w->full = true;
	return true;
}

#define SWAP(a, b) do { __typeof__(a) t_ = (a); (a) = (b); (b) = t_; } while (0)

/* What came since the names were read, but was gone again, stays without one. */
static bool is_nameless(const struct watch *w, uint32_t job)
{
	unsigned int i;

	for (i = 0; i < NAMELESS; i++)
		if (w->nameless[i] == job)
			return true;
	return false;
}

/* The device and the job that an event is about may be younger than their names. */
static void read_names(struct watch *w, const struct snap_qp *qp)
{
	const struct io_want want = { .devs = true, .jobs = true };
	struct snapshot *snap = &w->cli->snap, *names = &w->names;

	if (view_dev(w->cli, qp->dev) && (view_job(w->cli, qp->job) || is_nameless(w, qp->job)))
		return;
	if (io_snapshot(w->cli->io, names, &want) < 0)
		return;
	SWAP(snap->devs, names->devs);
	SWAP(snap->n_devs, names->n_devs);
	SWAP(snap->cap_devs, names->cap_devs);
	SWAP(snap->jobs, names->jobs);
	SWAP(snap->n_jobs, names->n_jobs);
	SWAP(snap->cap_jobs, names->cap_jobs);
	if (!view_job(w->cli, qp->job))
		w->nameless[w->n_nameless++ % NAMELESS] = qp->job;
}

static void on_event(const struct snap_event *e, void *arg)
{
	struct watch *w = arg;

	if (e->kind == SNAP_EVENT_LOST) {
		/* Of two the first, which is not waited for any more. */
		say_loss(w, (struct loss){ 0 });
		snprintf(w->why, sizeof(w->why), "%s", e->why);
		w->stale = true;
		w->away = false;
		w->turns = 0;
	} else if (w->show & kind_of(e) && is_news(w, e)) {
		if (e->qp)
			read_names(w, e->qp);
		event_show(w->cli, NULL, e);
	}
}

/* Names of devices and jobs, and QPs if they are to be shown. */
static int read_all(struct watch *w)
{
	struct io_want want = {
		.devs = true, .jobs = true, .qps = w->show & SHOW_QP,
		.cached = { .devs = true, .jobs = true },
	};

	return io_snapshot(w->cli->io, &w->cli->snap, &want);
}

/* From here on it is told by events. Job 0 is as old as the module. */
static void begin(struct watch *w)
{
	const struct snapshot *snap = &w->cli->snap;

	w->module = snap->n_jobs ? snap->jobs[0].since : 0;
	memset(w->nameless, 0, sizeof(w->nameless));
	if (w->show & SHOW_QP && !qp_keys_take(&w->known, snap))
		w->full = true;
}

/* Of a QP that is gone no more is known than which it was. */
static void show_gone(struct watch *w, const struct qp_key *key)
{
	static const char *const keys[] = { "dev", "qpn", "id", NULL };
	const struct rows all = qp_rows(&w->cli->snap);
	struct column cols[3];
	struct snap_qp qp = {
		.dev = key->dev, .qpn = key->qpn, .serial = key->serial,
	};
	struct rows rows = ROWS(cols, &qp, 1);

	rows.n_columns = view_pick(&all, keys, cols);
	out_event(w->cli, &w->cli->out, NULL, "destroyed", TONE_WARN, &rows);
}

static void show_found(struct watch *w, const struct qp_key *key)
{
	struct snap_event e = { .kind = SNAP_EVENT_QP_CREATED, .qp = key->qp };
	const struct snapshot *snap = &w->cli->snap;

	if (key->gone) {
		show_gone(w, key);
		return;
	}
	if (snap_has(key->qp, SNAP_OWNER))
		e.owner = &snap->owners[key->qp->owner];
	event_show(w->cli, NULL, &e);
}

static void show_changes(struct watch *w)
{
	struct loss l = { .has = true };
	size_t i;

	if (!qp_keys_compare(&w->found, &w->known, &w->cli->snap)) {
		w->full = true;
		return;
	}
	for (i = 0; i < w->found.n; i++)
		l.destroyed += w->found.v[i].gone;
	l.created = w->found.n - l.destroyed;
	say_loss(w, l);
	for (i = 0; i < w->found.n; i++)
		show_found(w, &w->found.v[i]);
}

static void read_again(struct watch *w)
{
	const struct snapshot *snap = &w->cli->snap;
	int err = read_all(w);

	/* While the module is away there is nothing to read. */
	w->away = err == -ENODEV;
	w->stale = w->away;
	w->found.n = 0;
	/* QPs of one module are not those of another, their numbers begin anew. */
	if (!err && w->show & SHOW_QP && snap->n_jobs &&
	    snap->jobs[0].since == w->module)
		show_changes(w);
	say_loss(w, (struct loss){ 0 });
	if (!err)
		begin(w);
}

static int watch(struct cli *cli, struct watch *w)
{
	struct pollfd p = { .events = POLLIN };
	int got;

	p.fd = io_events_open(cli->io);
	if (p.fd < 0 || read_all(w) < 0)
		return cli_io_error(cli);
	begin(w);
	while (!w->full) {
		if (poll(&p, 1, w->stale && !w->away ? 0 : -1) < 0 &&
		    errno != EINTR)
			return CLI_ERROR;
		got = io_events_read(cli->io, on_event, w);
		if (got < 0)
			return cli_io_error(cli);
		if (w->stale && (w->away || !got || ++w->turns > TURNS))
			read_again(w);
		if (ferror(stdout))
			return CLI_ERROR;
	}
	return cli_no_memory();
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
	if (!err)
		err = watch(cli, &w);
	qp_keys_free(&w.known);
	qp_keys_free(&w.found);
	snapshot_free(&w.names);
	return err;
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
	"unloaded or loaded; in the first case the QPs are read again, and those that\n"
	"came or went unheard are shown after it. Ends on SIGINT. Needs CAP_NET_ADMIN.\n",
};
