// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cli/event_text.h"

static void get_lease(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct snap_event *)row)->lease);
}

static const struct column lease_columns[] = {
	{ "lease", "", 0, 0, get_lease },
};

static void get_why(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct snap_event *)row)->why);
}

static const struct column lost_columns[] = {
	{ "reason", "", 0, 0, get_why },
};

static void get_dev(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct snap_event *)row)->dev->name);
}

static void get_level(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_dev *dev = ((const struct snap_event *)row)->dev;

	(void)cli;
	if (snap_has(dev, SNAP_CONGESTED))
		cell_u64(c, dev->congestion_level);
}

static void get_events(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct snap_event *)row)->dev->congestions);
}

/* The UAR with the most recent work requests, and their number. */
static void get_busiest(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_event *e = row;

	(void)cli;
	if (e->n_uars)
		cell_u64(c, e->uars[0].index);
}

static void get_busiest_wrs(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_event *e = row;

	(void)cli;
	if (e->n_uars && snap_has(&e->uars[0], SNAP_RECENT))
		cell_u64(c, e->uars[0].recent_wrs);
}

static void get_busiest_qps(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_event *e = row;

	(void)cli;
	if (e->n_uars)
		cell_u64(c, e->uars[0].qps);
}

static void get_busy(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, ((const struct snap_event *)row)->n_uars);
}

static const struct column congestion_columns[] = {
	{ "dev", "", 0, 0, get_dev },
	{ "level", "level", 0, 0, get_level },
	{ "events", "events", 0, 0, get_events },
	{ "uar", "uar", 0, 0, get_busiest },
	{ "uar_qps", "qps", 0, 0, get_busiest_qps },
	{ "uar_recent_wrs", "wqebbs", 0, 0, get_busiest_wrs },
	{ "busy_uars", "busy_uars", 0, 0, get_busy },
};

/*
 * The columns of qp show look up the owner in cli->snap. The event brings its owner
 * along, which replaces the snapshot's owners during the call.
 */
static void show_qp(struct cli *cli, const double *at, const struct snap_event *e)
{
	bool created = e->kind == SNAP_EVENT_QP_CREATED;
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
	} else {
		qp.has &= ~(uint64_t)SNAP_OWNER;
	}
	rows.base = &qp;
	out_event(cli, &cli->out, at, created ? "created" : "destroyed",
		  created ? TONE_GOOD : TONE_WARN, &rows);
	cli->snap.owners = owners;
	cli->snap.n_owners = n;
}

void event_show(struct cli *cli, const double *at, const struct snap_event *e)
{
	const struct snap_action *a = e->action;
	struct rows rows;

	switch (e->kind) {
	case SNAP_EVENT_QP_CREATED:
	case SNAP_EVENT_QP_DESTROYED:
		show_qp(cli, at, e);
		break;
	case SNAP_EVENT_ACTION:
		rows = action_result_rows(a);
		out_event(cli, &cli->out, at, "action", a->error ? TONE_BAD :
			  a->qps_pending || a->qps_unknown ? TONE_WARN :
			  TONE_GOOD, &rows);
		break;
	case SNAP_EVENT_LEASE_END:
		rows = ROWS(lease_columns, e, 1);
		out_event(cli, &cli->out, at, e->expired ? "expired" : "ended",
			  TONE_PLAIN, &rows);
		break;
	case SNAP_EVENT_CONGESTION:
		rows = ROWS(congestion_columns, e, 1);
		out_event(cli, &cli->out, at, "congestion", TONE_BAD, &rows);
		break;
	case SNAP_EVENT_LOST:
		rows = ROWS(lost_columns, e, 1);
		out_event(cli, &cli->out, at, "lost", TONE_BAD, &rows);
		break;
	}
}
