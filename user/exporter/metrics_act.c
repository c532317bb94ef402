// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Metrics of the agent, of decisions and leases, and of what is in force. */
#include <string.h>

#include "exporter/metrics.h"

static void label_decision(struct expo_labels *l, const struct history_decision *d)
{
	const struct vocab_knob *knob = vocab_knob(d->knob);

	labels_init(l);
	labels_add(l, "policy", d->policy[0] ? d->policy : "none");
	labels_add(l, "job", d->job);
	labels_add(l, "knob", knob ? knob->name : "unknown");
}

static void write_decisions(const struct history *h, struct expo *e)
{
	struct expo_labels l;

	METRIC(e, EXPO_COUNTER, "decisions", NULL,
	       "Changes of knobs, by the policy that decided them; \"none\": no policy did.");
	for (size_t i = 0; i < h->n_decisions; i++)
		for (int set = 1; set >= 0; set--) {
			const struct history_decision *d = &h->decisions[i];

			label_decision(&l, d);
			labels_add(&l, "act", set ? "set" : "release");
			expo_u64(e, &l, set ? d->sets : d->releases, (int64_t)d->first);
		}
	METRIC(e, EXPO_GAUGE, "last_decision_timestamp_seconds", "seconds",
	       "When the last of these changes was made, in seconds since 1970.");
	for (size_t i = 0; i < h->n_decisions; i++) {
		label_decision(&l, &h->decisions[i]);
		expo_ns(e, &l, h->decisions[i].last, 0);
	}
}

static void write_results(const struct history *h, struct expo *e)
{
	static const char *const names[HISTORY_RESULTS] = { "done", "pending", "refused" };
	struct expo_labels l;

	METRIC(e, EXPO_COUNTER, "decision_results", NULL,
	       "Results of these changes: done on all queue pairs, pending on some, refused by some.");
	for (size_t i = 0; i < h->n_decisions; i++)
		for (int k = 0; k < HISTORY_RESULTS; k++) {
			label_decision(&l, &h->decisions[i]);
			labels_add(&l, "result", names[k]);
			expo_u64(e, &l, h->decisions[i].results[k], (int64_t)h->decisions[i].first);
		}
}

static void write_events(const struct history *h, struct expo *e)
{
	struct expo_labels l;

	METRIC(e, EXPO_COUNTER, "lease_ends", NULL,
	       "Leases that ended: that ran out, or that their holder ended.");
	for (int expired = 1; expired >= 0; expired--) {
		labels_init(&l);
		labels_add(&l, "cause", expired ? "expired" : "ended");
		expo_u64(e, &l, expired ? h->leases_expired : h->leases_ended - h->leases_expired,
			 (int64_t)h->since);
	}
	METRIC(e, EXPO_COUNTER, "event_losses", NULL,
	       "Times that events of the module were lost, so the counts of decisions and leases have gaps.");
	expo_u64(e, NULL, h->losses, (int64_t)h->since);
	METRIC(e, EXPO_COUNTER, "uncounted_decisions", NULL,
	       "Decisions without a series, because there were too many combinations of labels.");
	expo_u64(e, NULL, h->decisions_over, (int64_t)h->since);
}

/* --- what is in force ------------------------------------------------------------- */

static bool is_override(const struct snap_action *a)
{
	return a->kind == SWIFTRDMA_ACTION_KIND_OVERRIDE;
}

/* True: action @i is the first override of its lease. */
static bool is_first_of_lease(const struct figures *f, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_override(&f->actions[k]) && f->actions[k].lease_id == f->actions[i].lease_id)
			return false;
	return is_override(&f->actions[i]);
}

/*
 * True: action @i is the first override of its origin and rank. All leases of one origin and rank
 * share a series, because each new lease has a new id.
 */
static bool is_first_of_origin(const struct figures *f, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_override(&f->actions[k]) &&
		    f->actions[k].lease_rank == f->actions[i].lease_rank &&
		    !strcmp(f->actions[k].lease_origin, f->actions[i].lease_origin))
			return false;
	return is_override(&f->actions[i]);
}

static void write_leases(const struct figures *f, struct expo *e)
{
	struct expo_labels l;

	for (int left = 0; left < 2; left++) {
		if (left)
			METRIC(e, EXPO_GAUGE, "lease_remaining_seconds", "seconds",
			       "Time until the first of these leases ends, unless it is renewed.");
		else
			METRIC(e, EXPO_GAUGE, "leases", NULL, "Leases with an override.");
		for (size_t i = 0; i < f->n_actions; i++) {
			uint64_t n = 0, least = UINT64_MAX;

			if (!is_first_of_origin(f, i))
				continue;
			for (size_t k = i; k < f->n_actions; k++) {
				const struct snap_action *a = &f->actions[k];

				if (!is_first_of_lease(f, k) ||
				    a->lease_rank != f->actions[i].lease_rank ||
				    strcmp(a->lease_origin, f->actions[i].lease_origin) != 0)
					continue;
				n++;
				if (a->lease_ttl_ms < least)
					least = a->lease_ttl_ms;
			}
			labels_init(&l);
			labels_add(&l, "origin", f->actions[i].lease_origin);
			labels_add_u64(&l, "rank", f->actions[i].lease_rank);
			if (left)
				expo_ns(e, &l, least * 1000000, 0);
			else
				expo_u64(e, &l, n, 0);
		}
	}
}

/* The id of the lease is a label, because one origin may have two leases for one knob. */
static void label_override(struct expo_labels *l, const struct figures *f,
			   const struct snap_action *a)
{
	const struct vocab_knob *knob = vocab_knob(a->knob);
	const struct snap_dev *d = a->has_dev ? reading_dev(figures_snap(f), a->dev) : NULL;

	labels_init(l);
	labels_add(l, "device", d ? d->name : "");
	labels_add(l, "job", a->job);
	labels_add(l, "knob", knob ? knob->name : "unknown");
	labels_add(l, "origin", a->lease_origin);
	labels_add_u64(l, "rank", a->lease_rank);
	labels_add_u64(l, "lease", a->lease_id);
}

static void write_override(const struct figures *f, struct expo *e, const struct snap_action *a,
			   bool value)
{
	const struct vocab_knob *knob = vocab_knob(a->knob);
	struct expo_labels l;

	label_override(&l, f, a);
	if (!value)
		expo_u64(e, &l, a->in_force, 0);
	else
		expo_u64(e, &l, knob && knob->unit == UNIT_BITRATE ? a->value / 8 : a->value, 0);
}

/* Overrides of single QPs are only counted, because such an override has no series. */
static void write_overrides(const struct figures *f, struct expo *e)
{
	uint64_t of_qps = 0, pending = 0;

	for (int value = 0; value < 2; value++) {
		if (value)
			METRIC(e, EXPO_GAUGE, "override_value", NULL,
			       "Value of the knob by this lease; rates in bytes per second.");
		else
			METRIC(e, EXPO_GAUGE, "override_in_force", NULL,
			       "1: this lease's value of the knob is in force; 0: a lease of higher rank has another one.");
		for (size_t i = 0; i < f->n_actions; i++)
			if (is_override(&f->actions[i]) && f->actions[i].job[0])
				write_override(f, e, &f->actions[i], value);
	}
	for (size_t i = 0; i < f->n_actions; i++) {
		of_qps += is_override(&f->actions[i]) && !f->actions[i].job[0];
		pending += !is_override(&f->actions[i]);
	}
	METRIC(e, EXPO_GAUGE, "qp_overrides", NULL, "Overrides of single queue pairs.");
	expo_u64(e, NULL, of_qps, 0);
	METRIC(e, EXPO_GAUGE, "qps_pending", NULL,
	       "Queue pairs that do not have yet what is in force for them.");
	expo_u64(e, NULL, pending, 0);
}

/* The thresholds that the agent's policies go by, for rules that alert. */
static void write_criteria(const struct figures *f, struct expo *e)
{
	const struct criteria *c = &f->running.cfg.criteria;
	struct expo_labels l;

	METRIC(e, EXPO_GAUGE, "criterion", NULL,
	       "Thresholds of policies: ratios, counts, seconds, bytes per second and events per second.");
	for (size_t i = 0; i < c->n; i++) {
		double v = c->v[i].v;

		labels_init(&l);
		labels_add(&l, "name", c->v[i].name);
		expo_real(e, &l, c->v[i].unit == UNIT_TIME ? v / 1e9 :
			  c->v[i].unit == UNIT_BITRATE ? v / 8 : v, 0);
	}
}

void metrics_actions(struct figures *f, struct expo *e)
{
	METRIC(e, EXPO_GAUGE, "up", NULL, "1: the last reading of swiftrdma.ko succeeded.");
	expo_u64(e, NULL, f->up, 0);
	METRIC(e, EXPO_GAUGE, "module_armed", NULL,
	       "1: the module takes changes; 0: it is disarmed.");
	if (f->up)
		expo_u64(e, NULL, figures_snap(f)->armed, 0);
	METRIC(e, EXPO_GAUGE, "agent_up", NULL,
	       "1: a swiftrdma-agent runs that acts by policies; 0: none does.");
	if (f->opt.run_file)
		expo_u64(e, NULL, f->agent, 0);
	write_events(&f->history, e);
	if ((f->up && f->has_actions) || e->format == EXPO_LIST) {
		write_leases(f, e);
		write_overrides(f, e);
	}
	write_decisions(&f->history, e);
	write_results(&f->history, e);
	write_criteria(f, e);
}
