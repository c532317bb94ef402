// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signals of devices, ports and UARs, and the order in which all are computed. */
#include "core/signal.h"

#include <string.h>

#include "base/array.h"

enum { SMOOTH_PORT, SMOOTH_UAR };
enum { NOW, BEFORE };

/* --- smoothed ratios ------------------------------------------------------------- */

/*
 * The smoothed value that an object had at the last reading. NULL: the object is new. @near: the
 * place that is tried first.
 */
static const struct signal_smooth *find_smoothed(const struct signals *s, unsigned int kind,
						 size_t near, uint32_t dev, uint32_t index)
{
	const struct signal_smooth *was = s->smooth[kind][BEFORE];
	const struct signal_smooth key = { .dev = dev, .index = index };
	size_t n = s->n_smooth[kind][BEFORE];
	size_t at = array_lookup_near(n, near, i, SNAP_CMP_INDEX(&was[i], &key));

	return at < n ? &was[at] : NULL;
}

/*
 * Moves the smoothed value of an object towards @raw: a first order low pass by backward
 * Euler, which is stable for every step and needs no exp().
 */
static double smooth_value(struct signals *s, unsigned int kind, uint32_t dev, uint32_t index,
			   bool known, double raw, uint64_t dt, uint64_t tau)
{
	size_t at = s->n_smooth[kind][NOW]++;
	struct signal_smooth *now = &s->smooth[kind][NOW][at];
	const struct signal_smooth *was = find_smoothed(s, kind, at, dev, index);

	*now = (struct signal_smooth){ .dev = dev, .index = index, .has = known, .v = raw };
	if (known && was && was->has)
		now->v = was->v + (raw - was->v) * (double)dt / (double)(tau + dt);
	return now->v;
}

/* Keeps the smoothed value of an object that was not read again. */
static void keep_smoothed(struct signals *s, unsigned int kind, uint32_t dev, uint32_t index)
{
	const struct signal_smooth *was = find_smoothed(s, kind, s->n_smooth[kind][NOW], dev,
							index);

	smooth_value(s, kind, dev, index, was && was->has, was ? was->v : 0, 0, 1);
}

/* Makes the values of the last reading those of the reading before. */
static void shift_smoothed(struct signals *s)
{
	unsigned int k;

	for (k = 0; k < 2; k++) {
		array_swap(s->smooth[k][NOW], s->smooth[k][BEFORE]);
		s->n_smooth[k][BEFORE] = s->n_smooth[k][NOW];
		s->n_smooth[k][NOW] = 0;
	}
}

/* --- devices --------------------------------------------------------------------- */

/* The signals that a device or port had in the reading before. */
struct held_row {
	double v[SIGNAL_COLUMNS];
};

/* Moves the signals of a device or port, which are doubles, to @was; leaves the row absent. */
static void take_row(struct signals *s, enum obj_kind kind, size_t row, struct held_row *was)
{
	struct signal_table *t = &s->table[kind];
	unsigned int n;

	for (n = 0; n < t->width; n++) {
		was->v[n] = t->column[n].d[row];
		t->column[n].d[row] = __builtin_nan("");
	}
}

/*
 * True: signals from figures that were read at @read may keep their values. A figure that is newer
 * than snap->time, because it was read for another process since, is not too old.
 */
static bool may_hold(const struct signals *s, uint64_t read)
{
	return s->snap->time < read || s->snap->time - read <= SIGNAL_HOLD_MAX;
}

/* Keeps the value of the reading before. */
static void hold_value(struct signals *s, enum signal_id id, size_t row, const struct held_row *was)
{
	signal_set(s, id, row, was->v[id - vocab_first(vocab_obj(id))]);
}

/* Misses per lookup between two readings. False: no lookups, or a counter stepped back. */
static bool miss_ratio(uint64_t hits_before, uint64_t misses_before, uint64_t hits,
		       uint64_t misses, double *ratio)
{
	uint64_t h = hits - hits_before, m = misses - misses_before;

	if (misses < misses_before || hits < hits_before || h + m < h || !(h + m))
		return false;
	*ratio = (double)m / (double)(h + m);
	return true;
}

/* Sets the signals of commands to the firmware, and of its events. */
static void set_firmware(struct signals *s, size_t i, const struct snap_dev *was,
			 const struct snap_dev *d)
{
	uint64_t has = was->has & d->has;

	if (has & SNAP_COMMANDS && d->commands > was->commands &&
	    d->command_time >= was->command_time)
		signal_set(s, SIG_DEV_COMMAND_TIME, i,
			   (double)(d->command_time - was->command_time) /
			   (double)(d->commands - was->commands));
	if (has & SNAP_CONGESTION)
		signal_set_rate(s, SIG_DEV_DB_CONGESTION, i, was->congestions, d->congestions,
				was->time, d->time);
}

/*
 * Sets the signals of the diagnostic counters. If the device was not queried again, its signals
 * keep their values for a while.
 * @held: the device's signals in the reading before; NULL: the row was another's.
 */
static void set_diag(struct signals *s, size_t i, const struct snap_dev *was,
		     const struct snap_dev *d, const struct held_row *held)
{
	uint64_t has = was->has & d->has;
	double ratio;

	if (d->diag_time && d->diag_time == was->diag_time) {
		if (!held || !may_hold(s, d->diag_time))
			return;
		if (has & SNAP_MTT)
			hold_value(s, SIG_DEV_MTT_MISS, i, held);
		if (has & SNAP_QPC)
			hold_value(s, SIG_DEV_QPC_MISS, i, held);
		return;
	}
	if (has & SNAP_MTT &&
	    miss_ratio(was->mtt_hits, was->mtt_misses, d->mtt_hits, d->mtt_misses, &ratio))
		signal_set(s, SIG_DEV_MTT_MISS, i, ratio);
	if (has & SNAP_QPC &&
	    miss_ratio(was->qpc_hits, was->qpc_misses, d->qpc_hits, d->qpc_misses, &ratio))
		signal_set(s, SIG_DEV_QPC_MISS, i, ratio);
}

static void update_devs(struct signals *s, const struct snapshot *old)
{
	const struct snapshot *snap = s->snap;
	size_t i, o = 0;

	for (i = 0; i < snap->n_devs; i++) {
		const struct snap_dev *d = &snap->devs[i], *was;
		struct held_row held;

		take_row(s, OBJ_DEV, i, &held);
		if (snap_has(d, SNAP_PCIE) && may_hold(s, d->pcie_time))
			signal_set(s, SIG_DEV_PCIE_STALL, i, d->pcie_stalled_reads / 100.0);
		signal_set(s, SIG_DEV_QPS, i, d->qps);
		signal_set(s, SIG_DEV_MRS, i, d->mrs);
		signal_set(s, SIG_DEV_CQS, i, d->cqs);
		if (snap_has(d, SNAP_MTTS) && !d->mtts_unknown)
			signal_set(s, SIG_DEV_MTTS, i, (double)d->mtts);
		if (!old || !array_seek(old->n_devs, o, ARRAY_CMP(old->devs[o].index, d->index)))
			continue;
		was = &old->devs[o];
		if (was->since != d->since)
			continue;
		signal_set_rate(s, SIG_DEV_CREATE_RATE, i, was->created, d->created, was->time,
				d->time);
		signal_set_rate(s, SIG_DEV_MODIFY_RATE, i, was->modified, d->modified, was->time,
				d->time);
		set_firmware(s, i, was, d);
		set_diag(s, i, was, d, o == i ? &held : NULL);
	}
}

/* --- ports ----------------------------------------------------------------------- */

bool signals_port_speed(const struct snap_port *p, const char *dev,
			const struct signal_opts *opts, double *speed)
{
	size_t i;

	for (i = 0; i < opts->n_speeds; i++) {
		const struct signal_speed *o = &opts->speeds[i];

		if (o->port == p->index && !strcmp(o->dev, dev)) {
			*speed = (double)o->speed;
			return true;
		}
	}
	if (!snap_has(p, SNAP_SPEED) || !p->speed)
		return false;
	*speed = (double)p->speed;
	return true;
}

/* Sums up received pause frames over priorities. False: they are not counted. */
static bool sum_pauses(const struct snapshot *snap, const struct snap_port *p, uint64_t *sum)
{
	bool any = false;
	size_t i;

	*sum = 0;
	for (i = 0; i < snap->n_prios; i++) {
		const struct snap_prio *prio = &snap->prios[i];

		if (prio->dev != p->dev || prio->port != p->index)
			continue;
		*sum += prio->rx_pauses;
		any = true;
	}
	return any;
}

/*
 * Signals from figures that are kept until the NIC is queried for them again, which is not at
 * each tick. @held: the port's signals in the reading before; NULL: the row was another's.
 */
static void set_port_details(struct signals *s, size_t i, const struct snapshot *old,
			     const struct snap_port *was, const struct held_row *held)
{
	const struct snap_port *p = &s->snap->ports[i];
	uint64_t before, now;

	if (!snap_has(p, SNAP_DETAIL) || !snap_has(was, SNAP_DETAIL))
		return;
	if (p->detail_time == was->detail_time) {
		if (held && may_hold(s, p->detail_time)) {
			hold_value(s, SIG_PORT_PAUSE_RATE, i, held);
			hold_value(s, SIG_PORT_CNP_RATE, i, held);
		}
		return;
	}
	if (sum_pauses(old, was, &before) && sum_pauses(s->snap, p, &now))
		signal_set_rate(s, SIG_PORT_PAUSE_RATE, i, before, now, was->detail_time,
				p->detail_time);
	if (snap_has(p, SNAP_CNP) && snap_has(was, SNAP_CNP))
		signal_set_rate(s, SIG_PORT_CNP_RATE, i, was->cnp_handled, p->cnp_handled,
				was->detail_time, p->detail_time);
}

/* Keeps the signals of a port whose counters were not read again, until they are too old. */
static void keep_port(struct signals *s, size_t i, const struct held_row *held)
{
	const struct snap_port *p = &s->snap->ports[i];

	if (!may_hold(s, p->time)) {
		/* The smoothing restarts from the next rate, the mean over the whole pause. */
		smooth_value(s, SMOOTH_PORT, p->dev, p->index, false, 0, 0, 1);
		return;
	}
	if (held) {
		hold_value(s, SIG_PORT_TX_RATE, i, held);
		hold_value(s, SIG_PORT_RX_RATE, i, held);
		hold_value(s, SIG_PORT_UTIL, i, held);
	}
	keep_smoothed(s, SMOOTH_PORT, p->dev, p->index);
}

static void set_port_rates(struct signals *s, size_t i, const struct snap_port *was,
			   const double *speed, uint64_t tau)
{
	const struct snap_port *p = &s->snap->ports[i];
	double tx = 0, rx = 0, util = 0;
	bool known;

	known = was && snap_has(p, SNAP_BYTES) && snap_has(was, SNAP_BYTES) &&
		signal_per_second(was->tx_bytes, p->tx_bytes, was->time, p->time, &tx) &&
		signal_per_second(was->rx_bytes, p->rx_bytes, was->time, p->time, &rx);
	if (known) {
		signal_set(s, SIG_PORT_TX_RATE, i, tx * 8);
		signal_set(s, SIG_PORT_RX_RATE, i, rx * 8);
	}
	known = known && speed;
	/* Links are full duplex, so the busier direction is the port's utilisation. */
	if (known)
		util = (tx > rx ? tx : rx) * 8 / *speed;
	util = smooth_value(s, SMOOTH_PORT, p->dev, p->index, known, util,
			    was ? p->time - was->time : 0, tau);
	if (known)
		signal_set(s, SIG_PORT_UTIL, i, util);
}

static void update_ports(struct signals *s, const struct snapshot *old,
			 const struct signal_opts *opts, uint64_t tau)
{
	const struct snapshot *snap = s->snap;
	size_t i, o = 0;

	for (i = 0; i < snap->n_ports; i++) {
		const struct snap_port *p = &snap->ports[i], *was = NULL;
		int32_t dev = signals_dev_row(snap, p->dev);
		const struct held_row *held;
		struct held_row before;
		bool has_speed;
		double speed;

		take_row(s, OBJ_PORT, i, &before);
		has_speed = signals_port_speed(p, dev < 0 ? "" : snap->devs[dev].name, opts, &speed);
		if (has_speed)
			signal_set(s, SIG_PORT_SPEED, i, speed);
		if (old && array_seek(old->n_ports, o, SNAP_CMP_INDEX(&old->ports[o], p)))
			was = &old->ports[o];
		held = o == i ? &before : NULL;
		if (was)
			set_port_details(s, i, old, was, held);
		if (was && was->time == p->time)
			keep_port(s, i, held);
		else
			set_port_rates(s, i, was, has_speed ? &speed : NULL, tau);
	}
}

/* --- UARs ------------------------------------------------------------------------ */

/*
 * The share of intervals in which two or more QPs of the UAR advanced: by the counts of the
 * module's sampler, which sweeps many times per reading, else by the QPs of this reading.
 * False: unknown.
 */
static bool uar_coactive(const struct snap_uar *u, const struct snap_uar *was,
			 struct signal_activity is, double *ratio)
{
	if (snap_has(u, SNAP_SWEEPS)) {
		if (!was || !snap_has(was, SNAP_SWEEPS) || was->since != u->since ||
		    u->sweeps <= was->sweeps || u->coactive < was->coactive)
			return false;
		*ratio = (double)(u->coactive - was->coactive) /
			 (double)(u->sweeps - was->sweeps);
		return true;
	}
	*ratio = is.active >= 2;
	return is.known > 0;
}

/* Counts the processes that own QPs of UAR @i. */
static uint32_t count_owners(struct signals *s, size_t i)
{
	const struct snapshot *snap = s->snap;
	uint32_t k, owners = 0;

	for (k = s->uar_first[i]; k < s->uar_first[i + 1]; k++) {
		const struct snap_qp *qp = &snap->qps[s->uar_qps[k]];

		if (!snap_has(qp, SNAP_OWNER) || qp->owner >= snap->n_owners ||
		    s->mark[qp->owner] == i + 1)
			continue;
		s->mark[qp->owner] = (uint32_t)(i + 1);
		owners++;
	}
	return owners;
}

/* Signals from the QPs of a UAR. */
static void set_uar_activity(struct signals *s, size_t i, const struct snap_uar *was,
			     uint64_t dt, uint64_t tau)
{
	const struct snap_uar *u = &s->snap->uars[i];
	const struct signal_activity is = s->uar_activity[i];
	double ratio = 0;
	bool known;

	signal_set(s, SIG_UAR_OWNERS, i,
		   snap_has(u, SNAP_OWNERS) ? u->owners : count_owners(s, i));
	known = uar_coactive(u, was, is, &ratio);
	ratio = smooth_value(s, SMOOTH_UAR, u->dev, u->index, known, ratio, dt, tau);
	if (known)
		signal_set(s, SIG_UAR_COACTIVE, i, ratio);
	if (is.known)
		signal_set(s, SIG_UAR_ACTIVE_QPS, i, is.active);
}

static void update_uars(struct signals *s, const struct snapshot *old, uint64_t tau)
{
	const struct snapshot *snap = s->snap;
	uint64_t dt = old && snap->time > old->time ? snap->time - old->time : 0;
	size_t i, o = 0;

	memset(s->mark, 0, snap->n_owners * sizeof(*s->mark));
	for (i = 0; i < snap->n_uars; i++) {
		const struct snap_uar *u = &snap->uars[i], *was = NULL;

		signal_set(s, SIG_UAR_QPS, i, u->qps);
		if (old && array_seek(old->n_uars, o, SNAP_CMP_INDEX(&old->uars[o], u)) &&
		    old->uars[o].since == u->since)
			was = &old->uars[o];
		set_uar_activity(s, i, was, dt, tau);
		if (!was)
			continue;
		if (was->has & u->has & SNAP_WRS)
			signal_set_rate(s, SIG_UAR_WR_RATE, i, was->wrs, u->wrs, was->time,
					u->time);
		if (was->has & u->has & SNAP_DOORBELLS)
			signal_set_rate(s, SIG_UAR_DOORBELL_RATE, i, was->doorbells, u->doorbells,
					was->time, u->time);
	}
}

/* --- a reading ------------------------------------------------------------------- */

static void clear_column(struct signals *s, enum signal_id id, size_t first)
{
	struct signal_table *t = &s->table[vocab_obj(id)];
	union signal_column c = t->column[id - vocab_first(vocab_obj(id))];
	size_t i;

	if (signal_is_float(id))
		for (i = first; i < t->n; i++)
			c.f[i] = __builtin_nanf("");
	else
		for (i = first; i < t->n; i++)
			c.d[i] = __builtin_nan("");
}

/* Makes all signals of objects from row @first on absent. */
static void clear_columns(struct signals *s, enum obj_kind kind, size_t first)
{
	unsigned int k;

	for (k = 0; k < s->table[kind].width; k++)
		clear_column(s, vocab_first(kind) + k, first);
}

static void resize_table(struct signals *s, enum obj_kind kind, size_t n)
{
	struct signal_table *t = &s->table[kind];
	size_t had = t->n;

	if (n == had)
		return;
	s->topology++;
	t->n = n;
	if (n < had)
		return;
	memset(t->key + had, 0xff, (n - had) * sizeof(*t->key));
	clear_columns(s, kind, had);
}

static void resize_tables(struct signals *s)
{
	resize_table(s, OBJ_DEV, s->snap->n_devs);
	resize_table(s, OBJ_PORT, s->snap->n_ports);
	resize_table(s, OBJ_UAR, s->snap->n_uars);
	resize_table(s, OBJ_QP, s->snap->n_qps);
	resize_table(s, OBJ_JOB, s->snap->n_jobs);
}

/*
 * The QPs that may differ from the reading before. An agent reads into two snapshots in turn, so
 * snap->changed lists the QPs that changed since the reading before @older. A QP that did not
 * change since then had the rate 0 at the last reading and has it now, so its signals stay.
 */
static struct signal_rows find_changed(const struct signals *s, const struct snapshot *older)
{
	const struct snapshot *snap = s->snap;

	if (older && snap->qps_since && snap->qps_since == s->read_before &&
	    older->time == s->read_at && older->n_qps == snap->n_qps && snap->time > older->time)
		return (struct signal_rows){ .list = snap->changed, .n = snap->n_changed };
	return (struct signal_rows){ .all = true, .n = snap->n_qps };
}

/*
 * Clears the columns in which a reading sets only some rows. Rows of devices and ports are cleared
 * one by one (take_row()), because they may keep values. So are rows of QPs (clear_qp()), unless
 * all QPs are set (@all).
 */
static void clear_tables(struct signals *s, bool all)
{
	clear_columns(s, OBJ_UAR, 0);
	clear_columns(s, OBJ_JOB, 0);
	if (all) {
		clear_columns(s, OBJ_QP, 0);
		s->n_looks = 0;
		return;
	}
	/* These do not come from the QP itself: see signal_report.c and signal_queue.c. */
	clear_column(s, SIG_QP_QUEUE_DELAY, 0);
	clear_column(s, SIG_QP_OUTSTANDING, 0);
	clear_column(s, SIG_QP_LATENCY, 0);
}

void signals_update(struct signals *s, const struct snapshot *older,
		    const struct snapshot *newer, const struct signal_opts *opts)
{
	uint64_t tau = opts->tau ? opts->tau : SIGNAL_TAU_DEFAULT;
	struct signal_rows qps;

	s->snap = newer;
	resize_tables(s);
	shift_smoothed(s);
	qps = signals_index(s, find_changed(s, older));
	clear_tables(s, qps.all);
	update_devs(s, older);
	update_ports(s, older, opts, tau);
	signals_qps(s, older, &qps);
	update_uars(s, older, tau);
	signals_reports(s, older, opts->window ? opts->window : SIGNAL_WINDOW);
	signals_jobs(s, older, opts);
	signals_queues(s, older, opts->looks_window ? opts->looks_window : SIGNAL_LOOKS_WINDOW);
	s->read_before = older && newer->time > older->time ? older->time : 0;
	s->read_at = newer->time;
}
