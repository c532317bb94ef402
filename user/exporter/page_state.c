// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/page_state.h"

#include <math.h>
#include <stdio.h>

#include "exporter/port_class.h"

/* --- devices and ports ------------------------------------------------------------ */

static void put_devs(const struct figures *f, struct json *j)
{
	const struct snapshot *snap = figures_snap(f);

	page_open(j, "devs", '[');
	for (size_t i = 0; i < snap->n_devs; i++) {
		const struct snap_dev *d = &snap->devs[i];

		json_begin(j, '{');
		page_str(j, "name", d->name);
		page_str(j, "provider", d->provider);
		page_u64(j, "qps", d->qps);
		page_u64(j, "uars", d->uars);
		page_u64(j, "mrs", d->mrs);
		page_signal(j, "active_qps", f, SIG_DEV_ACTIVE_QPS, i);
		page_signal(j, "qpc_miss", f, SIG_DEV_QPC_MISS, i);
		page_signal(j, "mtt_miss", f, SIG_DEV_MTT_MISS, i);
		page_signal(j, "pcie_stall", f, SIG_DEV_PCIE_STALL, i);
		page_signal(j, "db_congestion", f, SIG_DEV_DB_CONGESTION, i);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void put_classes(const struct figures *f, size_t row, struct json *j)
{
	struct port_class c[PORT_CLASSES];
	size_t n = port_classes(f, row, c);

	page_open(j, "classes", '[');
	for (size_t i = 0; i < n; i++) {
		json_begin(j, '{');
		page_str(j, "name", c[i].name);
		page_real(j, "tx", c[i].tx);
		if (c[i].has_rx)
			page_real(j, "rx", c[i].rx);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static const char *dev_name(const struct snapshot *snap, uint32_t index)
{
	const struct snap_dev *d = reading_dev(snap, index);

	return d ? d->name : "?";
}

static void put_ports(const struct figures *f, struct json *j)
{
	const struct snapshot *snap = figures_snap(f);

	page_open(j, "ports", '[');
	for (size_t i = 0; i < snap->n_ports; i++) {
		json_begin(j, '{');
		page_str(j, "dev", dev_name(snap, snap->ports[i].dev));
		page_u64(j, "port", snap->ports[i].index);
		if (snap_has(&snap->ports[i], SNAP_NETDEV))
			page_str(j, "netdev", snap->ports[i].netdev);
		page_signal(j, "speed", f, SIG_PORT_SPEED, i);
		page_signal(j, "tx", f, SIG_PORT_TX_RATE, i);
		page_signal(j, "rx", f, SIG_PORT_RX_RATE, i);
		page_signal(j, "pauses", f, SIG_PORT_PAUSE_RATE, i);
		page_signal(j, "cnps", f, SIG_PORT_CNP_RATE, i);
		put_classes(f, i, j);
		json_end(j, '}');
	}
	json_end(j, ']');
}

/* --- UARs ------------------------------------------------------------------------- */

/* "calm", "some" or "hard", by the criteria that qp explain uses; NULL: not known. */
static const char *contention_of(const struct figures *f, size_t row)
{
	const struct snap_uar *u = &figures_snap(f)->uars[row];
	const struct reading r = figures_reading(f);
	double coactive;

	if (!signal_get(&f->sig, SIG_UAR_COACTIVE, row, &coactive))
		return NULL;
	if (!crowd_is_page(u->kind) || u->qps < 2 ||
	    coactive <= reading_criterion(&r, "uar_calm"))
		return "calm";
	return u->qps > CROWD_PAGE_QPS && coactive > reading_criterion(&r, "uar_contended") ?
	       "hard" : "some";
}

static void put_uar_owner(const struct figures *f, const struct snap_uar *u, struct json *j)
{
	const struct snapshot *snap = figures_snap(f);
	const struct snap_owner *o = reading_owner(snap, snap_has(u, SNAP_OWNER), u->owner);
	char owner[OWNER_NAME];

	if (!o)
		return;
	page_str(j, "owner", owner_name(o, owner));
	if (o->kernel[0])
		return;
	page_str(j, "comm", o->comm);
	page_u64(j, "pid", o->pid);
}

static void put_uar(const struct figures *f, size_t row, struct json *j)
{
	const struct snapshot *snap = figures_snap(f);
	const struct snap_uar *u = &snap->uars[row];
	const struct crowd_uar *c = f->crowd.uars ? &f->crowd.uars[row] : NULL;
	const struct snap_dev *d = reading_dev(snap, u->dev);
	const char *contention = contention_of(f, row);

	json_begin(j, '{');
	page_str(j, "dev", dev_name(snap, u->dev));
	page_u64(j, "uar", u->index);
	page_bool(j, "page", crowd_is_page(u->kind));
	page_bool(j, "kernel", u->kind == SWIFTRDMA_UAR_KIND_KERNEL);
	page_u64(j, "qps", u->qps);
	page_signal(j, "active", f, SIG_UAR_ACTIVE_QPS, row);
	page_signal(j, "coactive", f, SIG_UAR_COACTIVE, row);
	page_signal(j, "doorbells", f, SIG_UAR_DOORBELL_RATE, row);
	page_signal(j, "rate", f, SIG_UAR_WR_RATE, row);
	page_str(j, "unit", page_unit(d));
	if (contention)
		page_str(j, "contention", contention);
	if (c && c->threads)
		page_u64(j, "threads", c->threads);
	if (c && c->has_share)
		page_real(j, "share", c->share);
	if (snap_has(u, SNAP_OWNERS))
		page_u64(j, "owners", u->owners);
	put_uar_owner(f, u, j);
	json_end(j, '}');
}

static void put_uars(const struct figures *f, struct rank *uars, struct json *j)
{
	figures_rank_uars(f, uars);
	page_u64(j, "all_uars", figures_snap(f)->n_uars);
	page_open(j, "uars", '[');
	for (size_t i = 0; i < uars->n; i++)
		put_uar(f, uars->items[i].row, j);
	json_end(j, ']');
}

/* --- jobs ------------------------------------------------------------------------- */

/* Knobs in force of a job on a device, as the module tells them; recordings have these, too. */
static const struct {
	uint32_t knob;
	uint64_t has;
	size_t offset;
	bool narrow;		/* 32 bits */
} knobs[] = {
#define KNOB(id, bit, member)							\
	{ SWIFTRDMA_KNOB_##id, bit, offsetof(struct snap_job_stat, member),	\
	  sizeof(((struct snap_job_stat *)0)->member) == sizeof(uint32_t) }
	KNOB(LEVEL, SNAP_LEVEL, level), KNOB(FOLLOW, SNAP_FOLLOW, follow),
	KNOB(BIT_RATE, SNAP_BIT_RATE, bit_rate),
	KNOB(WR_RATE, SNAP_WR_RATE, wr_rate), KNOB(WEIGHT, SNAP_WEIGHT, weight),
	KNOB(CREDITS, SNAP_CREDITS, credits), KNOB(MAX_QPS, SNAP_MAX_QPS, max_qps),
	KNOB(CREATE_RATE, SNAP_CREATE_RATE, create_rate), KNOB(PLACE, SNAP_PLACE, place),
	KNOB(CHUNK, SNAP_CHUNK, chunk), KNOB(HUGE_PAGES, SNAP_HUGE_PAGES, huge_pages),
#undef KNOB
};

static void put_value(struct json *j, uint32_t knob, double v)
{
	const struct vocab_knob *k = vocab_knob(knob);
	char value[48];
	struct text t;

	text_init(&t, value, sizeof(value));
	vocab_format(&t, v, k ? k->unit : UNIT_COUNT);
	page_str(j, "knob", k ? k->name : "unknown");
	page_str(j, "value", value);
}

static void put_knobs(const struct figures *f, const struct snap_job_stat *st, struct json *j)
{
	for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++) {
		const void *at = (const char *)st + knobs[i].offset;

		if (!snap_has(st, knobs[i].has))
			continue;
		json_begin(j, '{');
		page_str(j, "dev", dev_name(figures_snap(f), st->dev));
		put_value(j, knobs[i].knob, knobs[i].narrow ? *(const uint32_t *)at :
			  (double)*(const uint64_t *)at);
		json_end(j, '}');
	}
}

static void put_latency(const struct figures *f, const struct snap_job *job, size_t row,
			struct json *j)
{
	const struct reading r = figures_reading(f);
	struct signal_quantile q;
	double p99, slo;

	page_signal(j, "p50", f, SIG_JOB_P50, row);
	page_signal(j, "p99", f, SIG_JOB_P99, row);
	page_signal(j, "slo_p99", f, SIG_JOB_SLO_P99, row);
	page_signal(j, "queue_latency", f, SIG_JOB_LATENCY, row);
	/* Why there is no p99: no library, or too few samples yet. */
	page_bool(j, "library", reading_quantile(&r, job, 0.99, &q));
	if (signal_get(&f->sig, SIG_JOB_P99, row, &p99) &&
	    signal_get(&f->sig, SIG_JOB_SLO_P99, row, &slo))
		page_bool(j, "met", p99 <= slo);
}

static void put_job(const struct figures *f, size_t row, struct json *j)
{
	const struct snap_job *job = &figures_snap(f)->jobs[row];
	const char *class = vocab_word_name(UNIT_CLASS, job->class);

	json_begin(j, '{');
	page_str(j, "name", job->name);
	page_str(j, "class", class ? class : "none");
	page_signal(j, "qps", f, SIG_JOB_QPS, row);
	page_signal(j, "rate", f, SIG_JOB_WR_RATE, row);
	if (job->n_stats)
		page_str(j, "unit", page_unit(reading_dev(figures_snap(f), job->stats[0].dev)));
	page_signal(j, "byte_rate", f, SIG_JOB_BYTE_RATE, row);
	page_signal(j, "slo_byte_rate", f, SIG_JOB_SLO_BYTE_RATE, row);
	put_latency(f, job, row, j);
	page_open(j, "in_force", '[');
	for (size_t i = 0; i < job->n_stats; i++)
		put_knobs(f, &job->stats[i], j);
	json_end(j, ']');
	json_end(j, '}');
}

static void put_jobs(const struct figures *f, struct json *j)
{
	const struct snapshot *snap = figures_snap(f);

	page_u64(j, "all_jobs", snap->n_jobs);
	page_open(j, "jobs", '[');
	for (size_t i = 0; i < snap->n_jobs && i < PAGE_JOBS; i++)
		put_job(f, i, j);
	json_end(j, ']');
}

/* --- leases ----------------------------------------------------------------------- */

static void put_target(const struct figures *f, const struct snap_action *a, struct json *j)
{
	if (a->job[0])
		page_str(j, "job", a->job);
	else
		page_u64(j, "qpn", a->qpn);
	if (a->has_dev)
		page_str(j, "dev", dev_name(figures_snap(f), a->dev));
}

static void put_action(const struct figures *f, const struct snap_action *a, struct json *j)
{
	put_target(f, a, j);
	put_value(j, a->knob, (double)a->value);
	if (a->reason[0])
		page_str(j, "reason", a->reason);
	if (a->decision.policy[0])
		page_str(j, "policy", a->decision.policy);
	page_u64(j, "qps", a->qps);
	page_u64(j, "done", a->qps_done);
	page_u64(j, "pending", a->qps_pending);
	page_u64(j, "cannot", a->qps_unsupported);
}

/* What is in force, and by whose lease until when: a renewal moves the end. */
static void put_overrides(const struct figures *f, struct json *j)
{
	size_t shown = 0;

	if (!f->has_actions)
		return;
	page_open(j, "overrides", '[');
	for (size_t i = 0; i < f->n_actions && shown < PAGE_OVERRIDES; i++) {
		const struct snap_action *a = &f->actions[i];

		if (a->kind != SWIFTRDMA_ACTION_KIND_OVERRIDE)
			continue;
		shown++;
		json_begin(j, '{');
		put_action(f, a, j);
		page_bool(j, "in_force", a->in_force);
		page_str(j, "origin", a->lease_origin);
		page_u64(j, "rank", a->lease_rank);
		page_u64(j, "lease", a->lease_id);
		page_u64(j, "left_ms", a->lease_ttl_ms);
		json_end(j, '}');
	}
	json_end(j, ']');
}

/* --- events ----------------------------------------------------------------------- */

/* The values by which a policy decided, as the command writes them. */
static void put_readings(const struct snap_decision *d, struct json *j)
{
	page_open(j, "values", '[');
	for (uint32_t i = 0; i < d->n_readings && i < SNAP_READINGS; i++) {
		const struct snap_reading *rd = &d->readings[i];
		char value[48] = "unknown";

		for (int s = 0; s < SIGNALS && rd->known; s++) {
			struct text t;

			if (strcmp(vocab_signals[s].name, rd->signal) != 0)
				continue;
			text_init(&t, value, sizeof(value));
			vocab_format(&t, (double)rd->value / 1e6, vocab_signals[s].unit);
		}
		json_begin(j, '{');
		page_str(j, "signal", rd->signal);
		page_str(j, "value", value);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static const char *error_text(const struct snap_action *a)
{
	const char *text = a->knob == SWIFTRDMA_KNOB_LEVEL ? vocab_class_error(a->error) : NULL;

	if (!text)
		text = strerrordesc_np(-a->error);
	return text ? text : "an unknown error";
}

static void put_event(const struct figures *f, uint64_t number, struct json *j)
{
	static const char *const kinds[] = {
		[SNAP_EVENT_ACTION] = "action", [SNAP_EVENT_LEASE_END] = "lease_end",
		[SNAP_EVENT_CONGESTION] = "congestion", [SNAP_EVENT_LOST] = "lost",
	};
	const struct history_event *h = &f->history.events[number % HISTORY_EVENTS];
	const struct reader_event *e = &h->event;

	if (e->kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[e->kind])
		return;
	json_begin(j, '{');
	page_u64(j, "n", number);
	page_ms(j, "t", figures_ms(f, h->at));
	page_str(j, "kind", kinds[e->kind]);
	if (e->kind == SNAP_EVENT_LEASE_END) {
		page_u64(j, "lease", e->lease);
		page_bool(j, "expired", e->expired);
	}
	if (e->kind == SNAP_EVENT_ACTION) {
		page_u64(j, "batch", e->batch);
		page_u64(j, "index", e->index);
		page_bool(j, "clear", e->action.clear);
		put_action(f, &e->action, j);
		if (e->action.error)
			page_str(j, "error", error_text(&e->action));
		put_readings(&e->action.decision, j);
	}
	json_end(j, '}');
}

void page_events(const struct figures *f, uint64_t from, struct json *j)
{
	uint64_t first = history_first(&f->history);

	page_open(j, "events", '[');
	for (uint64_t i = from > first ? from : first; i < f->history.n_events; i++)
		put_event(f, i, j);
	json_end(j, ']');
}

/* --- the whole -------------------------------------------------------------------- */

static void put_head(const struct figures *f, struct json *j)
{
	const struct snapshot *snap = figures_snap(f);

	page_u64(j, "reading", f->readings + f->failures);
	page_bool(j, "up", f->up);
	if (f->opt.recording)
		page_str(j, "recording", f->opt.recording);
	if (!f->up) {
		page_str(j, "why", f->why);
		return;
	}
	page_ms(j, "t", figures_ms(f, snap->time));
	page_bool(j, "admin", snap->admin);
	page_bool(j, "armed", snap->armed);
	if (f->opt.run_file)
		page_bool(j, "agent", f->agent);
	if (f->agent)
		page_str(j, "policy_file", f->running.file);
}

/* A value of a trend, rounded to more digits than a plot shows. */
static void put_float(struct json *j, float v)
{
	if (isnan(v))
		json_real(j, NAN);
	else
		json_real(j, v >= 10000 || v <= -10000 ? (double)rintf(v) :
			  (double)rintf(v * 1000) / 1000);
}

static void put_points(const struct figures *f, struct json *j)
{
	const struct trend *t = &f->trend;

	page_open(j, "points", '{');
	for (size_t i = 0; i < t->n_series && t->n; i++)
		if (t->series[i].last == t->n - 1) {
			json_key(j, t->series[i].name);
			put_float(j, t->series[i].v[(t->n - 1) % t->cap]);
		}
	json_end(j, '}');
}

void page_state(const struct figures *f, struct rank *uars, struct json *j)
{
	json_begin(j, '{');
	put_head(f, j);
	if (f->up) {
		put_devs(f, j);
		put_ports(f, j);
		put_uars(f, uars, j);
		put_jobs(f, j);
		put_overrides(f, j);
		put_points(f, j);
	}
	json_end(j, '}');
}

void page_trend(const struct figures *f, struct json *j)
{
	const struct trend *t = &f->trend;

	json_begin(j, '{');
	page_open(j, "t", '[');
	for (uint64_t i = trend_first(t); i < t->n; i++)
		json_s64(j, t->ms[i % t->cap]);
	json_end(j, ']');
	page_open(j, "series", '{');
	for (size_t k = 0; k < t->n_series; k++) {
		page_open(j, t->series[k].name, '[');
		for (uint64_t i = trend_first(t); i < t->n; i++)
			put_float(j, t->series[k].v[i % t->cap]);
		json_end(j, ']');
	}
	json_end(j, '}');
	page_events(f, 0, j);
	json_end(j, '}');
}
