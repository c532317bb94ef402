// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Metrics of UARs, QPs and owners. Of UARs and QPs, of which there may be thousands, those
 * that matter most have series of their own, and one series a device, labelled "rest", sums
 * up the others.
 */
#include <stdlib.h>

#include "exporter/metrics.h"

#define REST	"rest"

#define UAR(type_, name_, unit_, help_, member_, ...)				\
	{ .family = { "swiftrdma_uar_" name_, help_, EXPO_##type_, unit_ },	\
	  MEMBER_OF(struct snap_uar, member_), __VA_ARGS__ }
#define QP(type_, name_, unit_, help_, member_, ...)				\
	{ .family = { "swiftrdma_qp_" name_, help_, EXPO_##type_, unit_ },	\
	  MEMBER_OF(struct snap_qp, member_), __VA_ARGS__ }
#define SIGNAL_OF(name_, unit_, help_, signal_)					\
	{ .family = { "swiftrdma_" name_, help_, EXPO_GAUGE, unit_ },		\
	  .as = AS_SIGNAL, .signal = SIG_##signal_ }

/*
 * The figures that the rows of the rest have, as members of the same structures: each rest is
 * one made-up UAR and one made-up QP.
 */
static const struct metric uars[] = {
	UAR(GAUGE, "qps", NULL, "Queue pairs on the UAR.", qps),
	UAR(COUNTER, "doorbells", NULL, "Doorbells rung on the UAR.", doorbells,
	    .has = SNAP_DOORBELLS),
	UAR(COUNTER, "work_requests", NULL, "Work requests posted through the UAR.", wrs,
	    .has = SNAP_WRS, .of = OF_WRS),
	UAR(COUNTER, "wqebbs", NULL, "Blocks of 64 bytes posted through the UAR.", wrs,
	    .has = SNAP_WRS, .of = OF_WQEBBS),
	UAR(COUNTER, "sweeps", NULL, "Rounds in which the module's sampler read the UAR.", sweeps,
	    .has = SNAP_SWEEPS),
	UAR(COUNTER, "coactive_sweeps", NULL,
	    "Of these, those in which two or more of its queue pairs advanced.", coactive,
	    .has = SNAP_SWEEPS),
};

/* Of ranked UARs only. */
static const struct metric uar_signals[] = {
	SIGNAL_OF("uar_active_qps", NULL, "Queue pairs that posted work since the reading before.",
		  UAR_ACTIVE_QPS),
	SIGNAL_OF("uar_coactive_ratio", "ratio",
		  "Share of intervals in which two or more of its queue pairs advanced, smoothed over 10 seconds.",
		  UAR_COACTIVE),
	SIGNAL_OF("uar_owners", NULL, "Processes with queue pairs on the UAR.", UAR_OWNERS),
};

static const struct metric qps[] = {
	QP(COUNTER, "doorbells", NULL, "Doorbells of the queue pair.", doorbells,
	   .has = SNAP_DOORBELLS),
	QP(COUNTER, "work_requests", NULL, "Work requests posted to the queue pair.", wrs,
	   .has = SNAP_WRS, .of = OF_WRS),
	QP(COUNTER, "wqebbs", NULL, "Blocks of 64 bytes posted to the queue pair.", wrs,
	   .has = SNAP_WRS, .of = OF_WQEBBS),
};

static const struct metric qp_signals[] = {
	SIGNAL_OF("qp_wait_seconds", "seconds", "Mean time that a request waits behind others.",
		  QP_QUEUE_DELAY),
	SIGNAL_OF("qp_latency_seconds", "seconds", "Mean latency of requests.", QP_LATENCY),
	SIGNAL_OF("qp_outstanding", NULL, "Work requests that are outstanding.", QP_OUTSTANDING),
	SIGNAL_OF("qp_level", NULL, "Class level.", QP_LEVEL),
};

/* Numbers of QPs and UARs are reused. The start time of a series tells the objects apart. */
static void label_uar(struct metric_row *r, const struct figures *f, const struct snap_uar *u)
{
	const struct snapshot *snap = figures_snap(f);
	const struct snap_dev *d = reading_dev(snap, u->dev);
	char owner[OWNER_NAME];

	r->wqebbs = d && d->caps & SWIFTRDMA_DEV_CAP_WQEBBS;
	labels_add(&r->labels, "device", d ? d->name : "");
	labels_add_u64(&r->labels, "uar", u->index);
	if (snap_has(u, SNAP_OWNER) && u->owner < snap->n_owners)
		labels_add(&r->labels, "owner", owner_name(&snap->owners[u->owner], owner));
}

static void label_qp(struct metric_row *r, const struct figures *f, size_t row)
{
	const struct snapshot *snap = figures_snap(f);
	const struct snap_qp *qp = &snap->qps[row];
	const struct signal_qp_ref *ref = &f->sig.qps[row];
	const struct snap_dev *d = reading_dev(snap, qp->dev);
	char owner[OWNER_NAME];

	r->wqebbs = d && d->caps & SWIFTRDMA_DEV_CAP_WQEBBS;
	labels_add(&r->labels, "device", d ? d->name : "");
	if (snap_has(qp, SNAP_PORT))
		labels_add_u64(&r->labels, "port", qp->port);
	labels_add_u64(&r->labels, "qpn", qp->qpn);
	if (ref->job >= 0)
		labels_add(&r->labels, "job", snap->jobs[ref->job].name);
	if (snap_has(qp, SNAP_OWNER) && qp->owner < snap->n_owners)
		labels_add(&r->labels, "owner", owner_name(&snap->owners[qp->owner], owner));
}

static struct metric_row *next_rest(struct metric_rows *rows, const struct figures *f,
				    const struct tally_rest *rest, const char *label)
{
	struct metric_row *r = metric_row_next(rows);

	if (!r)
		return NULL;
	r->created = figures_clock(f, rest->since);
	r->wqebbs = rest->wqebbs;
	labels_add(&r->labels, "device", rest->device);
	labels_add(&r->labels, label, REST);
	return r;
}

static uint64_t has_work(const struct tally_work *w)
{
	return (w->has_wrs ? SNAP_WRS : 0) | (w->has_doorbells ? SNAP_DOORBELLS : 0);
}

static bool write_uars(const struct figures *f, struct expo *e)
{
	const struct snapshot *snap = figures_snap(f);
	size_t n = f->tally.n_rests;
	struct snap_uar *rests = calloc(n + 1, sizeof(*rests));
	struct metric_rows rows = { 0 };
	struct metric_row *r;
	bool ok = rests;

	for (size_t i = 0; i < f->uars.n && ok; i++) {
		const struct snap_uar *u = &snap->uars[f->uars.items[i].row];

		r = metric_row_next(&rows);
		ok = r;
		if (!ok)
			break;
		r->object = u;
		r->has = u->has;
		r->row = f->uars.items[i].row;
		r->created = figures_clock(f, u->since);
		label_uar(r, f, u);
	}
	if (ok)
		METRICS_TABLE(f, e, uar_signals, &rows);
	for (size_t i = 0; i < n && ok; i++) {
		const struct tally_rest *rest = &f->tally.rests[i];

		r = next_rest(&rows, f, rest, "uar");
		ok = r;
		if (!ok)
			break;
		rests[i] = (struct snap_uar){
			.qps = rest->uar_qps, .doorbells = rest->of_uars.doorbells,
			.wrs = rest->of_uars.wrs, .sweeps = rest->sweeps,
			.coactive = rest->coactive,
		};
		r->object = &rests[i];
		r->has = has_work(&rest->of_uars) | (rest->sweeps ? SNAP_SWEEPS : 0);
	}
	if (ok)
		METRICS_TABLE(f, e, uars, &rows);
	free(rests);
	free(rows.v);
	return ok;
}

static bool write_qps(const struct figures *f, struct expo *e)
{
	const struct snapshot *snap = figures_snap(f);
	size_t n = f->tally.n_rests;
	struct snap_qp *rests = calloc(n + 1, sizeof(*rests));
	struct metric_rows rows = { 0 };
	struct metric_row *r;
	bool ok = rests;

	for (size_t i = 0; i < f->qps.n && ok; i++) {
		const struct snap_qp *qp = &snap->qps[f->qps.items[i].row];

		r = metric_row_next(&rows);
		ok = r;
		if (!ok)
			break;
		r->object = qp;
		r->has = qp->has;
		r->row = f->qps.items[i].row;
		r->created = figures_clock(f, qp->since);
		label_qp(r, f, r->row);
	}
	if (ok)
		METRICS_TABLE(f, e, qp_signals, &rows);
	for (size_t i = 0; i < n && ok; i++) {
		const struct tally_rest *rest = &f->tally.rests[i];

		r = next_rest(&rows, f, rest, "qpn");
		ok = r;
		if (!ok)
			break;
		rests[i] = (struct snap_qp){
			.doorbells = rest->of_qps.doorbells, .wrs = rest->of_qps.wrs,
		};
		r->object = &rests[i];
		r->has = has_work(&rest->of_qps);
	}
	if (ok)
		METRICS_TABLE(f, e, qps, &rows);
	free(rests);
	free(rows.v);
	return ok;
}

/* How many UARs and QPs have no series of their own. */
static void write_rests(const struct figures *f, struct expo *e)
{
	struct expo_labels l;

	for (int of_qps = 0; of_qps < 2; of_qps++) {
		if (of_qps)
			METRIC(e, EXPO_GAUGE, "rest_qps", NULL,
			       "Queue pairs that the series qpn=\"rest\" sums up.");
		else
			METRIC(e, EXPO_GAUGE, "rest_uars", NULL,
			       "UARs that the series uar=\"rest\" sums up.");
		for (size_t i = 0; i < f->tally.n_rests; i++) {
			const struct tally_rest *rest = &f->tally.rests[i];

			labels_init(&l);
			labels_add(&l, "device", rest->device);
			expo_u64(e, &l, of_qps ? rest->qps : rest->uars, 0);
		}
	}
}

/* Processes that crowd on a UAR, as swiftrdma uar show tells them. */
static void write_crowds(const struct figures *f, struct expo *e)
{
	const struct snapshot *snap = figures_snap(f);
	struct expo_labels l;

	METRIC(e, EXPO_GAUGE, "crowding_processes", NULL,
	       "Processes with more contending queue pairs on a page than it has registers.");
	for (size_t d = 0; d < snap->n_devs; d++) {
		uint64_t n = 0;

		for (size_t i = 0; i < f->crowd.n_procs; i++)
			n += f->crowd.procs[i].dev == d && f->crowd.procs[i].state == CROWD_HARD;
		labels_init(&l);
		labels_add(&l, "device", snap->devs[d].name);
		expo_u64(e, &l, n, 0);
	}
}

bool metrics_top(struct figures *f, struct expo *e)
{
	write_crowds(f, e);
	write_rests(f, e);
	return write_uars(f, e) && write_qps(f, e);
}

/* --- owners ----------------------------------------------------------------------- */

#define OWNER(type_, name_, unit_, help_, member_, ...)				\
	{ .family = { "swiftrdma_owner_" name_, help_, EXPO_##type_, unit_ },	\
	  MEMBER_OF(struct tally_owner, member_), __VA_ARGS__ }

static const struct metric owners[] = {
	OWNER(GAUGE, "qps", NULL, "Queue pairs of the owner.", qps),
	OWNER(COUNTER, "doorbells", NULL, "Doorbells of the owner's queue pairs.", work.doorbells,
	      .has = SNAP_DOORBELLS),
	OWNER(COUNTER, "work_requests", NULL, "Work requests posted to the owner's queue pairs.",
	      work.wrs, .has = SNAP_WRS, .of = OF_WRS),
	OWNER(COUNTER, "wqebbs", NULL, "Blocks of 64 bytes posted to the owner's queue pairs.",
	      work.wrs, .has = SNAP_WRS, .of = OF_WQEBBS),
};

bool metrics_owners(struct figures *f, struct expo *e)
{
	struct metric_rows rows = { 0 };
	struct metric_row *r;
	bool ok;

	for (size_t i = 0; i < f->tally.n_owners && (r = metric_row_next(&rows)); i++) {
		const struct tally_owner *o = &f->tally.owners[i];

		r->object = o;
		r->has = has_work(&o->work);
		r->created = figures_clock(f, o->since);
		r->wqebbs = o->wqebbs;
		labels_add(&r->labels, "device", o->device);
		labels_add(&r->labels, "job", o->job);
		labels_add(&r->labels, "owner", o->owner);
	}
	ok = rows.n == f->tally.n_owners;
	METRICS_TABLE(f, e, owners, &rows);
	free(rows.v);
	return ok;
}
