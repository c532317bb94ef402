// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/clock.h"
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
	if (rank_init(&f->uars, opt->top_uars) || rank_init(&f->qps, opt->top_qps)) {
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

/* By contention, then by work, then by QPs. */
static void rank_uars(struct figures *f)
{
	const struct snapshot *snap = figures_snap(f);

	rank_begin(&f->uars);
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
		rank_offer(&f->uars, &item);
	}
	rank_end(&f->uars);
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

static int compute(struct figures *f, const struct snapshot *older)
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
	rank_uars(f);
	rank_qps(f);
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
	/* The module was loaded anew, on a host that was, too. */
	if (older && older->time >= f->snap[next].time)
		older = NULL;
	f->cur = next;
	f->has_older = true;
	f->up = true;
	f->readings++;
	f->epoch = s->epoch;
	f->read_at = clock_monotonic();
	if (s->took)
		figures_time(&f->reading, s->took);
	return compute(f, older);
}

/* Of a module that is away nothing is known. */
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
		history_add(&f->history, &s->event, clock_realtime());
	}
	return 0;
}
