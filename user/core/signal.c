// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/signal.h"

#include <string.h>

enum { SMOOTH_PORT, SMOOTH_UAR };
enum { NOW, BEFORE };

static void set_rate(struct signals *s, enum signal_id id, size_t row,
		     uint64_t was, uint64_t is, uint64_t t0, uint64_t t1)
{
	double rate;

	if (signal_per_second(was, is, t0, t1, &rate))
		signal_set(s, id, row, rate);
}

/* The state at the reading before; NULL: the object is new. */
static const struct signal_smooth *smooth_before(const struct signals *s,
						 unsigned int kind,
						 uint32_t dev, uint32_t index)
{
	const struct signal_smooth *was = s->smooth[kind][BEFORE];
	size_t lo = 0, hi = s->n_smooth[kind][BEFORE];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (was[mid].dev < dev ||
		    (was[mid].dev == dev && was[mid].index < index))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == s->n_smooth[kind][BEFORE] || was[lo].dev != dev ||
	    was[lo].index != index)
		return NULL;
	return &was[lo];
}

/*
 * Moves the smoothed value of an object towards @raw: a first order low pass by backward
 * Euler, which is stable for every step and needs no exp().
 */
static double smooth_value(struct signals *s, unsigned int kind, uint32_t dev,
			   uint32_t index, bool known, double raw, uint64_t dt,
			   uint64_t tau)
{
	struct signal_smooth *now =
		&s->smooth[kind][NOW][s->n_smooth[kind][NOW]++];
	const struct signal_smooth *was = smooth_before(s, kind, dev, index);

	now->dev = dev;
	now->index = index;
	now->has = known;
	now->v = raw;
	if (known && was && was->has)
		now->v = was->v + (raw - was->v) * (double)dt /
				  (double)(tau + dt);
	return now->v;
}

/* Keeps the smoothed value of an object that was not read again. */
static void smooth_keep(struct signals *s, unsigned int kind, uint32_t dev,
			uint32_t index)
{
	const struct signal_smooth *was = smooth_before(s, kind, dev, index);

	smooth_value(s, kind, dev, index, was && was->has, was ? was->v : 0, 0, 1);
}

static void smooth_turn(struct signals *s)
{
	unsigned int k;

	for (k = 0; k < 2; k++) {
		struct signal_smooth *p = s->smooth[k][NOW];
		size_t cap = s->cap_smooth[k][NOW];

		s->smooth[k][NOW] = s->smooth[k][BEFORE];
		s->cap_smooth[k][NOW] = s->cap_smooth[k][BEFORE];
		s->smooth[k][BEFORE] = p;
		s->cap_smooth[k][BEFORE] = cap;
		s->n_smooth[k][BEFORE] = s->n_smooth[k][NOW];
		s->n_smooth[k][NOW] = 0;
	}
}

static void hold_value(struct signals *s, enum signal_id id, size_t row)
{
	double v;

	if (signal_get(s, id, row, &v))
		signal_set(s, id, row, v);
}

/* The share of @a in @a + @b. False: both are 0, or the sum overflows. */
static bool share_of(uint64_t a, uint64_t b, double *ratio)
{
	if (a + b < a || !(a + b))
		return false;
	*ratio = (double)a / (double)(a + b);
	return true;
}

/* Misses per lookup between two snapshots. False: no lookups, or counters stepped back. */
static bool miss_ratio(uint64_t hits_before, uint64_t misses_before, uint64_t hits,
		       uint64_t misses, double *ratio)
{
	return misses >= misses_before && hits >= hits_before &&
	       share_of(misses - misses_before, hits - hits_before, ratio);
}

static void dev_contention(struct signals *s, size_t i, const struct snap_dev *was,
			   const struct snap_dev *d, bool same)
{
	uint64_t has = was->has & d->has;
	double ratio;

	if (has & SNAP_COMMANDS && d->commands > was->commands &&
	    d->command_time >= was->command_time)
		signal_set(s, SIG_DEV_COMMAND_TIME, i,
			   (double)(d->command_time - was->command_time) /
			   (double)(d->commands - was->commands));
	if (has & SNAP_CONGESTION)
		set_rate(s, SIG_DEV_DB_CONGESTION, i, was->congestions,
			 d->congestions, was->time, d->time);
	/* The device was not queried again: keep the value. */
	if (d->diag_time && d->diag_time == was->diag_time) {
		if (same && has & SNAP_MTT)
			hold_value(s, SIG_DEV_MTT_MISS, i);
		if (same && has & SNAP_QPC)
			hold_value(s, SIG_DEV_QPC_MISS, i);
		return;
	}
	if (has & SNAP_MTT &&
	    miss_ratio(was->mtt_hits, was->mtt_misses, d->mtt_hits, d->mtt_misses, &ratio))
		signal_set(s, SIG_DEV_MTT_MISS, i, ratio);
	if (has & SNAP_QPC &&
	    miss_ratio(was->qpc_hits, was->qpc_misses, d->qpc_hits, d->qpc_misses, &ratio))
		signal_set(s, SIG_DEV_QPC_MISS, i, ratio);
}

/*
 * The sum is known once the device was queried for every region; before, it is too
 * small.
 */
static bool job_mtts(const struct snap_job *job, double *mtts)
{
	size_t i;

	*mtts = 0;
	for (i = 0; i < job->n_stats; i++) {
		const struct snap_job_stat *st = &job->stats[i];

		if (!snap_has(st, SNAP_MTTS) || st->mtts_unknown)
			return false;
		*mtts += (double)st->mtts;
	}
	return job->n_stats > 0;
}

static void update_devs(struct signals *s, const struct snapshot *old)
{
	const struct snapshot *snap = s->snap;
	size_t i, o = 0;

	for (i = 0; i < snap->n_devs; i++) {
		const struct snap_dev *d = &snap->devs[i], *was;

		if (snap_has(d, SNAP_PCIE))
			signal_set(s, SIG_DEV_PCIE_STALL, i,
				   d->pcie_stalled_reads / 100.0);

		signal_set(s, SIG_DEV_QPS, i, d->qps);
		signal_set(s, SIG_DEV_MRS, i, d->mrs);
		signal_set(s, SIG_DEV_CQS, i, d->cqs);
		if (snap_has(d, SNAP_MTTS) && !d->mtts_unknown)
			signal_set(s, SIG_DEV_MTTS, i, (double)d->mtts);
		while (old && o < old->n_devs && old->devs[o].index < d->index)
			o++;
		if (!old || o == old->n_devs || old->devs[o].index != d->index)
			continue;
		was = &old->devs[o];
		if (was->since != d->since)
			continue;
		set_rate(s, SIG_DEV_CREATE_RATE, i, was->created, d->created,
			 was->time, d->time);
		set_rate(s, SIG_DEV_MODIFY_RATE, i, was->modified, d->modified,
			 was->time, d->time);
		dev_contention(s, i, was, d, o == i);
	}
}

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
 * The NIC is queried for these figures less often than once a tick, so they are kept
 * until the next query. @same: the row is of the same port as before.
 */
static void port_details(struct signals *s, size_t i, const struct snapshot *old,
			 const struct snap_port *was, bool same)
{
	const struct snap_port *p = &s->snap->ports[i];
	uint64_t before, now;

	if (!snap_has(p, SNAP_DETAIL) || !snap_has(was, SNAP_DETAIL))
		return;
	if (p->detail_time == was->detail_time) {
		if (same) {
			hold_value(s, SIG_PORT_PAUSE_RATE, i);
			hold_value(s, SIG_PORT_CNP_RATE, i);
		}
		return;
	}
	if (sum_pauses(old, was, &before) && sum_pauses(s->snap, p, &now))
		set_rate(s, SIG_PORT_PAUSE_RATE, i, before, now,
			 was->detail_time, p->detail_time);
	if (snap_has(p, SNAP_CNP) && snap_has(was, SNAP_CNP))
		set_rate(s, SIG_PORT_CNP_RATE, i, was->cnp_handled,
			 p->cnp_handled, was->detail_time, p->detail_time);
}

/* Keeps the signals of a port whose counters were not read again. */
static void port_keep(struct signals *s, size_t i, bool same)
{
	const struct snap_port *p = &s->snap->ports[i];

	if (same) {
		hold_value(s, SIG_PORT_TX_RATE, i);
		hold_value(s, SIG_PORT_RX_RATE, i);
		hold_value(s, SIG_PORT_UTIL, i);
	}
	smooth_keep(s, SMOOTH_PORT, p->dev, p->index);
}

static void update_ports(struct signals *s, const struct snapshot *old,
			 const struct signal_opts *opts, uint64_t tau)
{
	const struct snapshot *snap = s->snap;
	size_t i, o = 0;

	for (i = 0; i < snap->n_ports; i++) {
		const struct snap_port *p = &snap->ports[i], *was = NULL;
		double speed = 0, tx = 0, rx = 0, util = 0;
		bool has_speed, known;
		int32_t dev;

		dev = signals_dev_row(snap, p->dev);
		has_speed = signals_port_speed(p, dev < 0 ? "" :
					       snap->devs[dev].name, opts,
					       &speed);
		if (has_speed)
			signal_set(s, SIG_PORT_SPEED, i, speed);
		while (old && o < old->n_ports &&
		       (old->ports[o].dev < p->dev ||
			(old->ports[o].dev == p->dev &&
			 old->ports[o].index < p->index)))
			o++;
		if (old && o < old->n_ports && old->ports[o].dev == p->dev &&
		    old->ports[o].index == p->index)
			was = &old->ports[o];
		if (was)
			port_details(s, i, old, was, o == i);
		if (was && was->time == p->time) {
			port_keep(s, i, o == i);
			continue;
		}
		known = was && snap_has(p, SNAP_BYTES) &&
			snap_has(was, SNAP_BYTES) &&
			signal_per_second(was->tx_bytes, p->tx_bytes, was->time,
				   p->time, &tx) &&
			signal_per_second(was->rx_bytes, p->rx_bytes, was->time,
				   p->time, &rx);
		if (known) {
			signal_set(s, SIG_PORT_TX_RATE, i, tx * 8);
			signal_set(s, SIG_PORT_RX_RATE, i, rx * 8);
		}
		known = known && has_speed;
		/* A link is full duplex: as busy as its busier direction. */
		if (known)
			util = (tx > rx ? tx : rx) * 8 / speed;
		util = smooth_value(s, SMOOTH_PORT, p->dev, p->index, known, util,
				    was ? p->time - was->time : 0, tau);
		if (known)
			signal_set(s, SIG_PORT_UTIL, i, util);
	}
}

static void qp_rates(struct signals *s, size_t i, const struct snap_qp *was,
		     uint64_t old_time)
{
	const struct snap_qp *qp = &s->snap->qps[i];
	uint64_t doorbells = was ? was->doorbells : 0;
	uint64_t wrs = was ? was->wrs : 0;
	/*
	 * qp->time is when the QP was read, and a QP that did not change is not
	 * read again. So use the time between the snapshots.
	 */
	uint64_t t0 = was ? old_time : qp->since;
	uint64_t t1 = was ? s->snap->time : qp->time;
	uint64_t has = was ? was->has & qp->has : qp->has;

	s->advanced[i] = 2;
	/*
	 * A new QP counts from 0 since its creation, unless it is older than the
	 * reading that did not have it.
	 */
	if (!was && qp->since < old_time)
		return;
	if (was && was->since != qp->since)
		return;
	if (has & SNAP_WRS) {
		set_rate(s, SIG_QP_WR_RATE, i, wrs, qp->wrs, t0, t1);
		if (qp->wrs >= wrs)
			s->advanced[i] = qp->wrs > wrs;
	}
	if (has & SNAP_DOORBELLS) {
		set_rate(s, SIG_QP_DOORBELL_RATE, i, doorbells, qp->doorbells,
			 t0, t1);
		if (qp->doorbells >= doorbells && s->advanced[i] != 1)
			s->advanced[i] = qp->doorbells > doorbells;
	}
}

static int qp_order(const struct snap_qp *a, const struct snap_qp *b)
{
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->qpn != b->qpn)
		return a->qpn < b->qpn ? -1 : 1;
	if (a->serial != b->serial)
		return a->serial < b->serial ? -1 : 1;
	return 0;
}

static void update_qps(struct signals *s, const struct snapshot *old)
{
	const struct snapshot *snap = s->snap;
	size_t i, o = 0;

	for (i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i], *was = NULL;

		s->advanced[i] = 2;
		while (old && o < old->n_qps && qp_order(&old->qps[o], qp) < 0)
			o++;
		if (old && o < old->n_qps && !qp_order(&old->qps[o], qp))
			was = &old->qps[o];
		if (old)
			qp_rates(s, i, was, old->time);
		if (snap_has(qp, SNAP_LEVEL))
			signal_set(s, SIG_QP_LEVEL, i, qp->level);
		if (snap_has(qp, SNAP_CLASS))
			signal_set(s, SIG_QP_TCLASS, i, qp->tclass);
		if (snap_has(qp, SNAP_STATE))
			signal_set(s, SIG_QP_STATE, i, qp->state);
		if (snap_has(qp, SNAP_UAR))
			signal_set(s, SIG_QP_UAR, i, qp->uar);
		if (snap_has(qp, SNAP_PORT))
			signal_set(s, SIG_QP_PORT, i, qp->port);
		if (snap_has(qp, SNAP_OWNER) && qp->owner < snap->n_owners &&
		    !snap->owners[qp->owner].kernel[0])
			signal_set(s, SIG_QP_PID, i,
				   snap->owners[qp->owner].pid);
		signal_set(s, SIG_QP_TYPE, i, qp->type);
		signal_set(s, SIG_QP_JOB, i, qp->job);
	}
}

/* Counts the active QPs of each device. */
static void update_active(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	size_t i = 0;

	while (i < snap->n_qps) {
		uint32_t dev = snap->qps[i].dev;
		int32_t row = s->qps[i].dev;
		bool known = false;
		double n = 0;

		for (; i < snap->n_qps && snap->qps[i].dev == dev; i++) {
			if (s->advanced[i] == 2)
				continue;
			known = true;
			n += s->advanced[i];
		}
		if (known && row >= 0)
			signal_set(s, SIG_DEV_ACTIVE_QPS, (size_t)row, n);
	}
}

/*
 * The share of intervals in which two or more QPs of the UAR advanced. The module's
 * sampler sweeps many times per reading, so its counts are preferred. False: unknown.
 */
static bool uar_coactive(const struct snap_uar *u, const struct snap_uar *was,
			 uint32_t seen, uint32_t active, double *ratio)
{
	if (snap_has(u, SNAP_SWEEPS)) {
		if (!was || !snap_has(was, SNAP_SWEEPS) || was->since != u->since ||
		    u->sweeps <= was->sweeps || u->coactive < was->coactive)
			return false;
		*ratio = (double)(u->coactive - was->coactive) /
			 (double)(u->sweeps - was->sweeps);
		return true;
	}
	*ratio = active >= 2;
	return seen > 0;
}

static void uar_members(struct signals *s, size_t i, const struct snap_uar *was,
			uint64_t dt, uint64_t tau)
{
	const struct snapshot *snap = s->snap;
	const struct snap_uar *u = &snap->uars[i];
	uint32_t k, owners = 0, active = 0, seen = 0;
	double ratio = 0;
	bool known;

	for (k = s->uar_first[i]; k < s->uar_first[i + 1]; k++) {
		const struct snap_qp *qp = &snap->qps[s->uar_qps[k]];
		uint8_t adv = s->advanced[s->uar_qps[k]];

		if (adv != 2) {
			seen++;
			active += adv;
		}
		if (snap_has(qp, SNAP_OWNER) && qp->owner < snap->n_owners &&
		    s->mark[qp->owner] != i + 1) {
			s->mark[qp->owner] = (uint32_t)(i + 1);
			owners++;
		}
	}
	signal_set(s, SIG_UAR_OWNERS, i,
		   snap_has(u, SNAP_OWNERS) ? u->owners : owners);
	known = uar_coactive(u, was, seen, active, &ratio);
	ratio = smooth_value(s, SMOOTH_UAR, u->dev, u->index, known, ratio, dt, tau);
	if (known)
		signal_set(s, SIG_UAR_COACTIVE, i, ratio);
	if (seen)
		signal_set(s, SIG_UAR_ACTIVE_QPS, i, active);
}

static void update_uars(struct signals *s, const struct snapshot *old,
			uint64_t tau)
{
	const struct snapshot *snap = s->snap;
	uint64_t dt = old && snap->time > old->time ?
		      snap->time - old->time : 0;
	size_t i, o = 0;

	memset(s->mark, 0, snap->n_owners * sizeof(*s->mark));
	for (i = 0; i < snap->n_uars; i++) {
		const struct snap_uar *u = &snap->uars[i], *was;

		signal_set(s, SIG_UAR_QPS, i, u->qps);
		while (old && o < old->n_uars &&
		       (old->uars[o].dev < u->dev ||
			(old->uars[o].dev == u->dev &&
			 old->uars[o].index < u->index)))
			o++;
		was = NULL;
		if (old && o < old->n_uars && old->uars[o].dev == u->dev &&
		    old->uars[o].index == u->index &&
		    old->uars[o].since == u->since)
			was = &old->uars[o];
		uar_members(s, i, was, dt, tau);
		if (!was)
			continue;
		if (was->has & u->has & SNAP_WRS)
			set_rate(s, SIG_UAR_WR_RATE, i, was->wrs, u->wrs,
				 was->time, u->time);
		if (was->has & u->has & SNAP_DOORBELLS)
			set_rate(s, SIG_UAR_DOORBELL_RATE, i, was->doorbells,
				 u->doorbells, was->time, u->time);
	}
}

static const struct snap_job_stat *stat_of(const struct snap_job *job, uint32_t dev)
{
	size_t i;

	for (i = 0; i < job->n_stats; i++)
		if (job->stats[i].dev == dev)
			return &job->stats[i];
	return NULL;
}

/* Work requests of a job on a device: the kernel's count, else that of its libraries. */
static enum signal_reported job_wrs(const struct signals *s, size_t i,
				    const struct snapshot *older, const struct snap_job *was,
				    const struct snap_job_stat *st, double *rate)
{
	const struct snap_job_stat *old = stat_of(was, st->dev);

	if (!snap_has(st, SNAP_WRS))
		return signals_reported_rate(s, older, i, st->dev,
					     offsetof(struct snap_figures, wrs), rate);
	return signal_per_second(old ? old->wrs : 0, st->wrs, was->time,
				 s->snap->jobs[i].time, rate) ? REPORTED : REPORTED_IN_PART;
}

/*
 * Adds up a job's counters over its devices. A new device counts from 0; if any counter
 * stepped back, or cannot be known, the sum is unknown.
 */
static void job_rates(struct signals *s, size_t i, const struct snapshot *older,
		      const struct snap_job *was)
{
	const struct snap_job *job = &s->snap->jobs[i];
	enum signal_reported wrs = REPORTED_NONE, bytes = REPORTED_NONE, is;
	double wr_sum = 0, byte_sum = 0, doorbell_sum = 0, r;
	bool doorbells = job->n_stats > 0;
	size_t k;

	for (k = 0; k < job->n_stats; k++) {
		const struct snap_job_stat *st = &job->stats[k], *old = stat_of(was, st->dev);

		is = wrs != REPORTED_IN_PART ? job_wrs(s, i, older, was, st, &r) : REPORTED_NONE;
		if (is == REPORTED)
			wr_sum += r;
		wrs = is != REPORTED_NONE ? is : wrs;
		is = bytes != REPORTED_IN_PART ?
		     signals_reported_rate(s, older, i, st->dev,
					   offsetof(struct snap_figures, bytes), &r) :
		     REPORTED_NONE;
		if (is == REPORTED)
			byte_sum += r;
		bytes = is != REPORTED_NONE ? is : bytes;
		doorbells = doorbells && snap_has(st, SNAP_DOORBELLS) &&
			    signal_per_second(old ? old->doorbells : 0, st->doorbells,
					      was->time, job->time, &r);
		if (doorbells)
			doorbell_sum += r;
	}
	if (wrs == REPORTED)
		signal_set(s, SIG_JOB_WR_RATE, i, wr_sum);
	if (bytes == REPORTED)
		signal_set(s, SIG_JOB_BYTE_RATE, i, byte_sum * 8);
	if (doorbells)
		signal_set(s, SIG_JOB_DOORBELL_RATE, i, doorbell_sum);
}

static void add_controls(struct snap_job_stat *sum, const struct snap_job_stat *st)
{
	sum->creates += st->creates + st->rejected;
	sum->modifies += st->modifies;
	sum->commands += st->commands;
	sum->command_time += st->command_time;
}

/*
 * Control path operations of the job's processes on all devices. QPs that admission
 * refused count too, or a storm would seem over while it is limited.
 */
static void job_controls(struct signals *s, size_t i, const struct snap_job *was)
{
	const struct snap_job *job = &s->snap->jobs[i];
	struct snap_job_stat is = { 0 }, old = { 0 };
	size_t k, o;

	for (k = 0; k < job->n_stats; k++) {
		const struct snap_job_stat *st = &job->stats[k];

		if (!snap_has(st, SNAP_COMMANDS))
			return;
		add_controls(&is, st);
		for (o = 0; o < was->n_stats; o++) {
			if (was->stats[o].dev != st->dev)
				continue;
			/* Stepped back: the device was removed in between. */
			if (!snap_has(&was->stats[o], SNAP_COMMANDS) ||
			    was->stats[o].commands > st->commands)
				return;
			add_controls(&old, &was->stats[o]);
		}
	}
	if (!job->n_stats)
		return;
	set_rate(s, SIG_JOB_CREATES, i, old.creates, is.creates, was->time,
		 job->time);
	set_rate(s, SIG_JOB_MODIFIES, i, old.modifies, is.modifies, was->time,
		 job->time);
	if (is.commands > old.commands && is.command_time >= old.command_time)
		signal_set(s, SIG_JOB_COMMAND_TIME, i,
			   (double)(is.command_time - old.command_time) /
			   (double)(is.commands - old.commands));
}

static void set_slo(struct signals *s, size_t job, const struct signal_slo *slo)
{
	if (slo->p99)
		signal_set(s, SIG_JOB_SLO_P99, job, (double)slo->p99);
	if (slo->byte_rate > 0)
		signal_set(s, SIG_JOB_SLO_BYTE_RATE, job, slo->byte_rate);
}

static void update_jobs(struct signals *s, const struct snapshot *old,
			const struct signal_opts *opts)
{
	const struct snapshot *snap = s->snap;
	size_t i, k, o = 0;

	for (i = 0; i < snap->n_jobs; i++) {
		const struct snap_job *job = &snap->jobs[i];
		double qps = 0, level = -1, mtts;

		for (k = 0; k < job->n_stats; k++) {
			const struct snap_job_stat *st = &job->stats[k];

			qps += st->qps;
			if (snap_has(st, SNAP_LEVEL) && st->level > level)
				level = st->level;
		}
		signal_set(s, SIG_JOB_QPS, i, qps);
		if (job_mtts(job, &mtts))
			signal_set(s, SIG_JOB_MTTS, i, mtts);
		if (level >= 0)
			signal_set(s, SIG_JOB_LEVEL, i, level);
		if (job->class)
			signal_set(s, SIG_JOB_CLASS, i, job->class);
		for (k = 0; k < opts->n_slos; k++)
			if (!strcmp(opts->slos[k].job, job->name))
				set_slo(s, i, &opts->slos[k]);
		while (old && o < old->n_jobs && old->jobs[o].id < job->id)
			o++;
		if (old && o < old->n_jobs && old->jobs[o].id == job->id &&
		    old->jobs[o].since == job->since) {
			job_rates(s, i, old, &old->jobs[o]);
			job_controls(s, i, &old->jobs[o]);
		}
	}
}

static void begin_table(struct signals *s, struct signal_table *t, size_t n)
{
	size_t i;

	if (t->n != n) {
		s->topology++;
		if (n > t->n) {
			memset(t->has + t->n, 0,
			       (n - t->n) * sizeof(*t->has));
			memset(t->key + t->n, 0xff,
			       (n - t->n) * sizeof(*t->key));
		}
	}
	for (i = 0; i < t->n_moved; i++)
		t->moved[t->list[i]] = 0;
	t->n_moved = 0;
	t->n = n;
	if (n)
		memset(t->fresh, 0, n * sizeof(*t->fresh));
}

/* Makes signals that this reading did not set unknown. */
static void drop_unread(struct signal_table *t)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		if (!(t->has[i] & ~t->fresh[i]))
			continue;
		t->has[i] &= t->fresh[i];
		signal_moved(t, i);
	}
}

void signals_update(struct signals *s, const struct snapshot *older,
		    const struct snapshot *newer,
		    const struct signal_opts *opts)
{
	const size_t n[OBJ_KINDS] = {
		[OBJ_DEV] = newer->n_devs,
		[OBJ_PORT] = newer->n_ports,
		[OBJ_UAR] = newer->n_uars,
		[OBJ_QP] = newer->n_qps,
		[OBJ_JOB] = newer->n_jobs,
	};
	uint64_t tau = opts->tau ? opts->tau : SIGNAL_TAU_DEFAULT;
	unsigned int k;

	s->snap = newer;
	s->readings++;
	for (k = 0; k < OBJ_KINDS; k++)
		begin_table(s, &s->table[k], n[k]);
	smooth_turn(s);
	signals_index(s);
	update_devs(s, older);
	update_ports(s, older, opts, tau);
	update_qps(s, older);
	update_active(s);
	update_uars(s, older, tau);
	signals_reports(s, older, opts->window ? opts->window : SIGNAL_WINDOW);
	update_jobs(s, older, opts);
	signals_queues(s, older);
	for (k = 0; k < OBJ_KINDS; k++)
		drop_unread(&s->table[k]);
}
