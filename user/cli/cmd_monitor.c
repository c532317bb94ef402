// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * swiftrdma monitor: prints events. After a loss of events it reads the QPs again and
 * prints the QPs that were created or destroyed in between as if their events had come.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/cli.h"
#include "cli/event_text.h"

/*
 * Reads of the socket after a loss, more than it has room for. The kernel queues no
 * event after the loss until the socket is empty, so the loss lies behind them.
 */
#define TURNS 128

/* Jobs to remember that were gone before their names could be read. */
#define NAMELESS 8

/* --- The QPs that are known ------------------------------------------------------- */

struct qp_key {
	uint32_t dev, qpn;
	uint64_t serial;
	bool gone;
	const struct snap_qp *qp;	/* only in the result of qp_keys_compare() */
};

/* In order of arrival until drop_gone() sorts them. */
struct qp_keys {
	struct qp_key *v;
	size_t n, cap;
};

/* Sorts the end of a QP behind its beginning. */
static int compare_qps(const void *x, const void *y)
{
	const struct qp_key *a = x, *b = y;
	int c = SNAP_CMP_QP(a, b);

	return c ? c : a->gone - b->gone;
}

static struct qp_key key_of(const struct snap_qp *qp, bool gone)
{
	return (struct qp_key){ qp->dev, qp->qpn, qp->serial, gone, qp };
}

static void qp_keys_free(struct qp_keys *k)
{
	free(k->v);
	*k = (struct qp_keys){ 0 };
}

/* Serials are never reused, so both keys of a QP that is gone can be dropped. */
static void drop_gone(struct qp_keys *k)
{
	size_t i, n = 0;

	if (k->n)
		qsort(k->v, k->n, sizeof(*k->v), compare_qps);
	for (i = 0; i < k->n; i++)
		if ((i + 1 == k->n || SNAP_CMP_QP(&k->v[i], &k->v[i + 1])) && !k->v[i].gone)
			k->v[n++] = k->v[i];
	k->n = n;
}

static bool reserve_keys(struct qp_keys *k, size_t n)
{
	return array_reserve(&k->v, &k->cap, n, sizeof(*k->v));
}

/* False: out of memory. */
static bool qp_keys_add(struct qp_keys *k, const struct snap_qp *qp, bool gone)
{
	if (k->n == k->cap) {
		drop_gone(k);
		/* Keep half of it free, or the array would soon be sorted again. */
		if (!reserve_keys(k, 2 * k->n + 1))
			return false;
	}
	k->v[k->n++] = key_of(qp, gone);
	return true;
}

/* Makes @k hold exactly the QPs of @snap. */
static bool qp_keys_take(struct qp_keys *k, const struct snapshot *snap)
{
	size_t i;

	if (!reserve_keys(k, snap->n_qps))
		return false;
	for (i = 0; i < snap->n_qps; i++)
		k->v[i] = key_of(&snap->qps[i], false);
	k->n = i;
	return true;
}

/* @found: out, sorted: QPs that only @snap has, and QPs that only @known has, marked as gone. */
static bool qp_keys_compare(struct qp_keys *found, struct qp_keys *known,
		     const struct snapshot *snap)
{
	size_t i = 0, k = 0;

	drop_gone(known);
	found->n = 0;
	if (!reserve_keys(found, snap->n_qps + known->n))
		return false;
	while (i < snap->n_qps || k < known->n) {
		struct qp_key is = { 0 };
		int c = -1;

		if (i < snap->n_qps)
			is = key_of(&snap->qps[i], false);
		if (i == snap->n_qps)
			c = 1;
		else if (k < known->n)
			c = SNAP_CMP_QP(&is, &known->v[k]);
		if (c < 0) {
			found->v[found->n++] = is;
		} else if (c > 0) {
			found->v[found->n] = known->v[k];
			found->v[found->n].qp = NULL;
			found->v[found->n++].gone = true;
		}
		i += c <= 0;
		k += c >= 0;
	}
	return true;
}

/* @k must be in order, as qp_keys_compare() leaves it. */
static bool qp_keys_has(const struct qp_keys *k, const struct snap_qp *qp, bool gone)
{
	struct qp_key key = key_of(qp, gone);

	return array_lookup(k->n, i, compare_qps(&k->v[i], &key)) < k->n;
}

/* --- The command ------------------------------------------------------------------ */

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
	bool stale;		/* events were lost since the last reading */
	bool away;		/* the module is unloaded, so nothing can be read */
	unsigned int turns;	/* reads of the socket since the loss */
	char why[64];		/* reason of the loss; empty: already printed */
	uint64_t module;	/* when the module was loaded, ns */
	struct qp_keys known;
	struct qp_keys found;	/* found by the last reading; their events may still come */
	bool full;		/* out of memory */
	struct snapshot names;	/* spare arrays to read device and job names into */
	uint32_t nameless[NAMELESS];
	unsigned int n_nameless;
};

/* A loss, and how many QPs the next reading found. */
struct loss {
	const char *why;
	bool has;
	size_t created, destroyed;
};

static const struct column loss_columns[] = {
	{ "reason", "", 0, 0, MEMBER(struct loss, why) },
	{ "created", "", 0, 0, MEMBER_IF(struct loss, created, has) },
	{ "destroyed", "", 0, 0, MEMBER_IF(struct loss, destroyed, has) },
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
	/* A loss is always shown: the output before it is incomplete. */
	return SHOW_ALL;
}

/* False: this event's QP was already shown after a loss. */
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

/* True for a job that was created and removed between two readings of the names. */
static bool is_nameless(const struct watch *w, uint32_t job)
{
	unsigned int i;

	for (i = 0; i < NAMELESS; i++)
		if (w->nameless[i] == job)
			return true;
	return false;
}

/* Reads the names again if the event's device or job is newer than the last reading. */
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
		/* A second loss: print the first one now. */
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

/* Reads the names of devices and jobs, and the QPs if their events are shown. */
static int read_all(struct watch *w)
{
	struct io_want want = {
		.devs = true, .jobs = true, .qps = w->show & SHOW_QP,
		.cached = { .devs = true, .jobs = true },
	};

	return io_snapshot(w->cli->io, &w->cli->snap, &want);
}

/* Starts from this reading. Job 0 is as old as the module. */
static void begin_watch(struct watch *w)
{
	const struct snapshot *snap = &w->cli->snap;

	w->module = snap->n_jobs ? snap->jobs[0].since : 0;
	memset(w->nameless, 0, sizeof(w->nameless));
	if (w->show & SHOW_QP && !qp_keys_take(&w->known, snap))
		w->full = true;
}

/* Only the key of a destroyed QP is known. */
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

	/* -ENODEV: the module is unloaded. */
	w->away = err == -ENODEV;
	w->stale = w->away;
	w->found.n = 0;
	/* After a reload serials begin anew, so the readings cannot be compared. */
	if (!err && w->show & SHOW_QP && snap->n_jobs && snap->jobs[0].since == w->module)
		show_changes(w);
	say_loss(w, (struct loss){ 0 });
	if (!err)
		begin_watch(w);
}

static int watch_events(struct cli *cli, struct watch *w)
{
	struct pollfd p = { .events = POLLIN };
	int got;

	p.fd = io_events_open(cli->io);
	if (p.fd < 0 || read_all(w) < 0)
		return cli_io_error(cli);
	begin_watch(w);
	while (!w->full) {
		if (poll(&p, 1, w->stale && !w->away ? 0 : -1) < 0 && errno != EINTR)
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

static int run_monitor(struct cli *cli, struct args *args)
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
			return args_bad("'%s': expected qp, action, lease or congestion", word);
		w.show |= k == 4 ? SHOW_ALL : 1u << k;
	}
	if (!w.show)
		w.show = SHOW_ALL;
	err = cli_open(cli);
	if (!err)
		err = watch_events(cli, &w);
	qp_keys_free(&w.known);
	qp_keys_free(&w.found);
	snapshot_free(&w.names);
	return err;
}

static const struct verb verbs[] = {
	{ "", run_monitor }, { 0 },
};

static const struct noun_table lost_table = NOUN_TABLE("monitor.lost", loss_columns);
static const struct noun_table *const tables[] = {
	&qp_table, &action_result_table, &event_lease_table, &event_congestion_table,
	&lost_table, NULL,
};

const struct noun noun_monitor = {
	.name = "monitor",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma monitor [ qp ] [ action ] [ lease ] [ congestion ]\n"
	"\n"
	"Prints events as they come, all kinds unless some are named; with -j one object\n"
	"per line. 'lost' means that events could not be delivered, or that the module was\n"
	"unloaded or loaded. If events could not be delivered, the QPs are read again, and\n"
	"QPs that were created or destroyed in the meantime follow. Ends on SIGINT. Needs\n"
	"CAP_NET_ADMIN.\n",
	.tables = tables,
};
