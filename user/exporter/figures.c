// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/figures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/clock.h"
#include "exporter/port_class.h"
#include "io/io.h"

#define MS	1000000ULL

const uint64_t figures_bounds[FIGURES_BOUNDS] = {
	MS / 2, 1 * MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS, 50 * MS, 100 * MS, 200 * MS, 500 * MS,
	1000 * MS, 5000 * MS,
};

int figures_init(struct figures *f, const struct figures_options *opt)
{
	memset(f, 0, sizeof(*f));
	f->opt = *opt;
	f->began = clock_monotonic();
	f->epoch = clock_epoch();
	f->tally.max_owners = opt->max_owners;
	signals_init(&f->sig);
	crowd_init(&f->crowd);
	history_init(&f->history, clock_realtime());
	criteria_init(&f->running.cfg.criteria);
	if (rank_init(&f->uars, opt->top_uars) || rank_init(&f->qps, opt->top_qps) ||
	    trend_init(&f->trend, opt->recording ? TREND_REPLAY_POINTS : TREND_POINTS)) {
		figures_free(f);
		return -ENOMEM;
	}
	return 0;
}

void figures_free(struct figures *f)
{
	snapshot_free(&f->snap[0]);
	snapshot_free(&f->snap[1]);
	signals_free(&f->sig);
	crowd_free(&f->crowd);
	rank_free(&f->uars);
	rank_free(&f->qps);
	tally_free(&f->tally);
	history_free(&f->history);
	trend_free(&f->trend);
	running_free(&f->running);
	free(f->actions);
	memset(f, 0, sizeof(*f));
}

void figures_time(struct figures_times *t, uint64_t ns)
{
	t->bucket[array_find(FIGURES_BOUNDS, i, figures_bounds[i] < ns)]++;
	t->count++;
	t->sum += ns;
}

/* A policy file is read once; the agent's settings may change at any time. */
static void find_running(struct figures *f)
{
	struct running r;

	f->agent = running_find(&r, f->opt.run_file);
	if (!f->agent && f->by_policy)
		return;
	f->by_policy = !f->agent;
	if (!f->agent && !running_by_policy(&r, f->opt.policy_file)) {
		memset(&r, 0, sizeof(r));
		criteria_init(&r.cfg.criteria);
	}
	running_free(&f->running);
	f->running = r;
}

void figures_rank_uars(const struct figures *f, struct rank *r)
{
	const struct snapshot *snap = figures_snap(f);

	rank_begin(r);
	for (size_t i = 0; i < snap->n_uars; i++) {
		const struct snap_uar *u = &snap->uars[i];
		struct rank_item item = {
			.id = { u->dev, u->index, u->since }, .row = (uint32_t)i,
			.key = { 0, 0, u->qps },
		};
		double coactive, active, rate;

		if (signal_get(&f->sig, SIG_UAR_COACTIVE, i, &coactive) &&
		    signal_get(&f->sig, SIG_UAR_ACTIVE_QPS, i, &active))
			item.key[0] = coactive * active;
		if (signal_get(&f->sig, SIG_UAR_DOORBELL_RATE, i, &rate) ||
		    signal_get(&f->sig, SIG_UAR_WR_RATE, i, &rate))
			item.key[1] = rate;
		rank_offer(r, &item);
	}
	rank_end(r);
}

/* By work, then by what is outstanding. */
static void rank_qps(struct figures *f)
{
	const struct snapshot *snap = figures_snap(f);

	rank_begin(&f->qps);
	for (size_t i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i];
		struct rank_item item = {
			.id = { qp->dev, qp->qpn, qp->serial }, .row = (uint32_t)i,
		};
		double v;

		if (signal_get(&f->sig, SIG_QP_WR_RATE, i, &v) ||
		    signal_get(&f->sig, SIG_QP_DOORBELL_RATE, i, &v))
			item.key[0] = v;
		if (signal_get(&f->sig, SIG_QP_OUTSTANDING, i, &v))
			item.key[1] = v;
		rank_offer(&f->qps, &item);
	}
	rank_end(&f->qps);
}

static void add_port_points(struct figures *f, size_t row)
{
	const struct snapshot *snap = figures_snap(f);
	const struct snap_dev *dev = reading_dev(snap, snap->ports[row].dev);
	struct port_class classes[PORT_CLASSES];
	char name[SNAP_DEVNAME + 12];
	double v;
	size_t n;

	snprintf(name, sizeof(name), "%s/%u", dev ? dev->name : "?", snap->ports[row].index);
	if (signal_get(&f->sig, SIG_PORT_TX_RATE, row, &v))
		trend_set(&f->trend, TREND_TX, name, NULL, v);
	if (signal_get(&f->sig, SIG_PORT_RX_RATE, row, &v))
		trend_set(&f->trend, TREND_RX, name, NULL, v);
	n = port_classes(f, row, classes);
	for (size_t i = 0; i < n; i++) {
		trend_set(&f->trend, TREND_CLASS_TX, name, classes[i].name, classes[i].tx);
		if (classes[i].has_rx)
			trend_set(&f->trend, TREND_CLASS_RX, name, classes[i].name, classes[i].rx);
	}
}

/* Ports first: if there are more series than there is room for, jobs are left out. */
static void add_points(struct figures *f)
{
	const struct snapshot *snap = figures_snap(f);
	double v;

	trend_begin(&f->trend, figures_ms(f, snap->time));
	for (size_t i = 0; i < snap->n_ports; i++)
		add_port_points(f, i);
	for (size_t i = 0; i < snap->n_jobs; i++) {
		if (signal_get(&f->sig, SIG_JOB_P99, i, &v))
			trend_set(&f->trend, TREND_P99, snap->jobs[i].name, NULL, v);
		if (signal_get(&f->sig, SIG_JOB_SLO_P99, i, &v))
			trend_set(&f->trend, TREND_SLO, snap->jobs[i].name, NULL, v);
	}
}

static int compute_figures(struct figures *f, const struct snapshot *older)
{
	const struct snapshot *snap = figures_snap(f);
	struct signal_opts opts;

	find_running(f);
	opts = config_signal_opts(&f->running.cfg);
	opts.tau = FIGURES_TAU;
	if (signals_reserve(&f->sig, snap) || crowd_reserve(&f->crowd, snap))
		return -ENOMEM;
	signals_update(&f->sig, older, snap, &opts);
	crowd_update(&f->crowd, &f->sig,
		     criteria_value(&f->running.cfg.criteria, "uar_calm"));
	figures_rank_uars(f, &f->uars);
	rank_qps(f);
	add_points(f);
	return tally_add(&f->tally, older, &f->sig, &f->uars, &f->qps);
}

static int take_reading(struct figures *f, struct source *s)
{
	unsigned int next = !f->cur;
	const struct snapshot *older = f->has_older ? figures_snap(f) : NULL;

	array_swap(f->snap[next], s->snap);
	array_swap(f->actions, s->actions);
	f->n_actions = s->n_actions;
	f->has_actions = s->has_actions;
	array_swap(s->cap_actions, f->cap_actions);
	/* The times of the readings do not ascend, so the readings cannot be compared. */
	if (older && older->time >= f->snap[next].time)
		older = NULL;
	f->cur = next;
	f->has_older = true;
	f->compared = older;
	if (!f->readings)
		f->first = figures_snap(f)->time;
	f->up = true;
	f->readings++;
	f->epoch = s->epoch;
	f->read_at = clock_monotonic();
	if (s->took)
		figures_time(&f->reading, s->took);
	return compute_figures(f, older);
}

/* Nothing is known of a module that is away, so the next reading is compared with none. */
static int take_failure(struct figures *f, const struct source *s)
{
	f->up = false;
	f->failures++;
	f->has_older = false;
	f->read_at = clock_monotonic();
	memcpy(f->why, s->why, sizeof(f->why));
	find_running(f);
	return 0;
}

int figures_take(struct figures *f, struct source *s, int kind)
{
	f->reader_cpu = s->cpu;
	switch (kind) {
	case SOURCE_READING:
		return take_reading(f, s);
	case SOURCE_FAILED:
		return take_failure(f, s);
	case SOURCE_EVENT:
		history_add(&f->history, &s->event, s->at, (uint64_t)figures_clock(f, s->at));
	}
	return 0;
}
