// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>

#include "policy/expr.h"
#include "policy/schema.h"

#define HOLD_MAX 3600000000000ULL	/* ns, an hour */

static bool get_cond(struct report *r, const struct node *n, const char *what,
		     struct cond *c)
{
	struct expr_error e;
	const char *s;

	if (!get_text(r, n, what, &s))
		return false;
	if (expr_cond(s, c, &e))
		return true;
	report_node(r, n, e.at, "%s", e.msg);
	return false;
}

static bool get_step(struct report *r, const struct node *n, const char *what,
		     struct step *step)
{
	struct expr_error e;
	const char *s;

	if (!get_text(r, n, what, &s))
		return false;
	if (expr_step(s, step, &e))
		return true;
	report_node(r, n, e.at, "%s", e.msg);
	return false;
}

static bool get_binding(struct report *r, const struct node *n,
			struct policy *p)
{
	struct expr_error e;
	const char *s;

	if (!get_text(r, n, "for", &s))
		return false;
	if (expr_binding(s, p, &e))
		return true;
	report_node(r, n, e.at, "%s", e.msg);
	return false;
}

static void load_bounds(struct policy *p, const struct node *n,
			struct report *r)
{
	const struct vocab_knob *k = vocab_knob(p->act.knob);
	const struct node *v;

	p->floor = k->min;
	p->ceiling = k->max;
	v = node_get(n, "floor");
	if (v)
		get_value(r, v, "floor", k->unit, k->min, k->max, &p->floor);
	v = node_get(n, "ceiling");
	if (v && get_value(r, v, "ceiling", k->unit, k->min, k->max,
			   &p->ceiling) && p->floor > p->ceiling)
		report_node(r, v, 0,
			    "the ceiling is below the floor; swap them");
	v = node_get(n, "do");
	if (p->act.op == STEP_SET &&
	    (p->act.n < p->floor || p->act.n > p->ceiling))
		report_node(r, v, 0,
			    "the value set is outside floor and ceiling; it would never be reached");
}

static void load_undo(struct policy *p, const struct node *n, bool has_act,
		      struct report *r)
{
	static const char *const keys[] = {
		"when", "hold", "do", "cooldown", NULL
	};
	const struct node *v;
	bool ok;

	p->undo_cooldown = p->cooldown;
	p->undo.op = STEP_RELEASE;
	p->undo.knob = p->act.knob;
	if (n->kind != NODE_MAP) {
		check_map(r, n, "undo", keys);
		return;
	}
	check_map(r, n, "undo", keys);
	v = node_get(n, "hold");
	if (v)
		get_time(r, v, "hold", 0, HOLD_MAX, &p->undo_hold);
	v = node_get(n, "cooldown");
	if (v)
		get_time(r, v, "cooldown", 0, HOLD_MAX, &p->undo_cooldown);
	v = node_get(n, "do");
	ok = v && get_step(r, v, "do", &p->undo);
	if (ok && has_act && p->undo.knob != p->act.knob)
		report_node(r, v, 0,
			    "undo turns another knob than the policy; give back %s",
			    vocab_knob(p->act.knob)->name);
	if (ok && has_act && p->undo.op == p->act.op && p->act.op != STEP_SET)
		report_node(r, v, 0,
			    "undo goes the same way as the policy; it should go back");
	v = need(r, n, "when", "undo", "when: port.util < 60%");
	if (v)
		get_cond(r, v, "when", &p->undo_when);
}

/*
 * Hysteresis is not left to the operator's luck: what turns a knob and what
 * turns it back must not both be true, nor have nothing between them.
 */
static void check_gap(const struct policy *p, const struct node *undo,
		      struct report *r)
{
	const struct node *when = node_get(undo, "when");
	bool touch;

	if (!when || !p->when.n || !p->undo_when.n)
		return;
	if (cond_overlap(&p->when, &p->undo_when, &touch))
		report_node(r, when, 0,
			    "undo's state can be true at the same time as the policy's; exclude it, as 'port.util < 60%%' does 'port.util > 80%%'");
	else if (touch && !p->undo_hold)
		report_node(r, when, 0,
			    "no gap between the policy's state and undo's: the knob would flap; leave a gap or give undo a 'hold: 1s'");
}

static void check_self(const struct policy *p, const struct node *n,
		       struct report *r)
{
	struct cond none = { .n = 0 };
	bool touch;

	if (!cond_overlap(&p->when, &none, &touch))
		report_node(r, n, 0,
			    "this state is never true: its clauses contradict each other");
}

static void load_policy(struct config *cfg, const struct node *n,
			struct report *r)
{
	static const char *const keys[] = {
		"name", "for", "when", "hold", "do", "floor", "ceiling",
		"cooldown", "undo", NULL
	};
	struct policy *p = &cfg->policies.v[cfg->policies.n];
	const struct node *v;
	bool has_act;
	size_t i;

	check_map(r, n, "a policy", keys);
	if (n->kind != NODE_MAP)
		return;
	cfg->places[cfg->policies.n].line = n->line;
	cfg->places[cfg->policies.n].col = n->col;
	p->cooldown = CONFIG_COOLDOWN_DEFAULT;
	v = need(r, n, "name", "a policy", "name: port");
	if (v && get_name(r, v, "a policy's name", p->name))
		for (i = 0; i < cfg->policies.n; i++)
			if (!strcmp(cfg->policies.v[i].name, p->name))
				report_node(r, v, 0,
					    "policy '%s' is there already, in line %u; choose another name",
					    p->name, cfg->places[i].line);
	v = need(r, n, "for", "a policy", "for: job of class latency");
	if (v)
		get_binding(r, v, p);
	v = need(r, n, "when", "a policy",
		 "when: port.util > 80% and job.qps > 0");
	if (v && get_cond(r, v, "when", &p->when))
		check_self(p, v, r);
	v = node_get(n, "hold");
	if (v)
		get_time(r, v, "hold", 0, HOLD_MAX, &p->hold);
	v = node_get(n, "cooldown");
	if (v)
		get_time(r, v, "cooldown", 0, HOLD_MAX, &p->cooldown);
	v = need(r, n, "do", "a policy", "do: job.level += 1");
	has_act = v && get_step(r, v, "do", &p->act);
	if (has_act && p->act.op == STEP_RELEASE) {
		report_node(r, v, 0,
			    "a policy sets a knob, only its undo releases it; write '%s += 1'",
			    vocab_knob(p->act.knob)->name);
		has_act = false;
	}
	if (has_act)
		load_bounds(p, n, r);
	v = need(r, n, "undo", "a policy",
		 "undo: {when: port.util < 60%, hold: 1s}");
	if (v) {
		load_undo(p, v, has_act, r);
		check_gap(p, v, r);
	}
	cfg->policies.n++;
}

void load_policies(struct config *cfg, const struct node *n, struct report *r)
{
	const struct node *e;

	if (!check_list(r, n, "policies"))
		return;
	if (n->n > CONFIG_POLICIES_MAX) {
		report_node(r, n, -1, "%zu policies; at most %d are possible",
			    n->n, CONFIG_POLICIES_MAX);
		return;
	}
	cfg->policies.v = get_array(r, n->n, sizeof(*cfg->policies.v));
	cfg->places = get_array(r, n->n, sizeof(*cfg->places));
	for (e = n->first; e && cfg->policies.v && cfg->places; e = e->next)
		load_policy(cfg, e, r);
}

static const char *pick_job(size_t i, const void *arg)
{
	const struct config *cfg = arg;

	return i < cfg->n_jobs ? cfg->jobs[i].name : NULL;
}

static bool someone_sets(const struct config *cfg, unsigned int knob)
{
	size_t i;

	for (i = 0; i < cfg->policies.n; i++)
		if (cfg->policies.v[i].act.knob == knob &&
		    cfg->policies.v[i].act.op == STEP_SET)
			return true;
	return false;
}

void check_config(const struct config *cfg, struct report *r)
{
	size_t i, k;

	for (i = 0; i < cfg->policies.n; i++) {
		const struct policy *p = &cfg->policies.v[i];
		const struct config_place *at = &cfg->places[i];
		const char *near;

		if (p->act.op != STEP_SET &&
		    p->act.knob != SWIFTRDMA_KNOB_LEVEL &&
		    !someone_sets(cfg, p->act.knob))
			report_at(r, at->line, at->col,
				  "policy '%s' steps %s, which has no value until it is set; use '%s = n'",
				  p->name, vocab_knob(p->act.knob)->name,
				  vocab_knob(p->act.knob)->name);
		if (!p->job[0])
			continue;
		for (k = 0; k < cfg->n_jobs; k++)
			if (!strcmp(cfg->jobs[k].name, p->job))
				break;
		if (k < cfg->n_jobs)
			continue;
		near = suggest(p->job, strlen(p->job), pick_job, cfg);
		report_at(r, at->line, at->col,
			  near ? "policy '%s' is for job '%s', which is not under 'jobs:'; did you mean '%s'?" :
				 "policy '%s' is for job '%s', which is not under 'jobs:'; add it there",
			  p->name, p->job, near);
	}
}
