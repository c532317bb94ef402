// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cli/event_text.h"

static const struct column lease_columns[] = {
	{ "lease", "", 0, 0, MEMBER(struct snap_event, lease) },
};

const struct noun_table event_lease_table = NOUN_TABLE("monitor.lease", lease_columns);

static const struct column lost_columns[] = {
	{ "reason", "", 0, 0, MEMBER(struct snap_event, why) },
};

static const void *dev_of_event(const struct cli *cli, const void *row)
{
	(void)cli;
	return ((const struct snap_event *)row)->dev;
}

/* The UAR with the most recent work requests. */
static const void *busiest_uar(const struct cli *cli, const void *row)
{
	const struct snap_event *e = row;

	(void)cli;
	return e->n_uars ? &e->uars[0] : NULL;
}

#define DEV(member)		.of = dev_of_event, MEMBER(struct snap_dev, member)
#define DEV_HAS(member, bit)	.of = dev_of_event, MEMBER_HAS(struct snap_dev, member, bit)
#define UAR(member)		.of = busiest_uar, MEMBER(struct snap_uar, member)
#define UAR_HAS(member, bit)	.of = busiest_uar, MEMBER_HAS(struct snap_uar, member, bit)

static const struct column congestion_columns[] = {
	{ "dev", "", 0, 0, DEV(name) },
	{ "level", "level", 0, 0, DEV_HAS(congestion_level, SNAP_CONGESTED) },
	{ "events", "events", 0, 0, DEV(congestions) },
	{ "uar", "uar", 0, 0, UAR(index) },
	{ "uar_qps", "qps", 0, 0, UAR(qps) },
	{ "uar_recent_wrs", "wqebbs", 0, 0, UAR_HAS(recent_wrs, SNAP_RECENT) },
	{ "busy_uars", "busy_uars", 0, 0, MEMBER(struct snap_event, n_uars) },
};

const struct noun_table event_congestion_table = NOUN_TABLE("monitor.congestion", congestion_columns);

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
			  a->qps_pending || a->qps_unknown ? TONE_WARN : TONE_GOOD, &rows);
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
