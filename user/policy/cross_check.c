// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Checks that need all policies of a file. */
#include <stdlib.h>
#include <string.h>

#include "policy/expr.h"
#include "policy/schema.h"

/* True: a policy sets the knob to a value. */
static bool is_set_by_policy(const struct config *cfg, unsigned int knob)
{
	unsigned int k;
	size_t i;

	for (i = 0; i < cfg->policies.n; i++)
		for (k = 0; k < cfg->policies.v[i].n_act; k++)
			if (cfg->policies.v[i].act[k].knob == knob &&
			    cfg->policies.v[i].act[k].op == STEP_SET)
				return true;
	return false;
}

/* Reports steps of a knob that has no value to begin with. */
static void check_base(const struct config *cfg, size_t n, struct diag *r)
{
	const struct policy *p = &cfg->policies.v[n];
	const struct config_policy *at = &cfg->texts[n];
	unsigned int k;

	for (k = 0; k < p->n_act; k++) {
		const struct step *st = &p->act[k];
		const char *name = vocab_knob(st->knob)->name;

		if (st->op == STEP_SET || st->op == STEP_LIGHTEST ||
		    st->knob == SWIFTRDMA_KNOB_LEVEL ||
		    st->knob == SWIFTRDMA_KNOB_WEIGHT ||
		    is_set_by_policy(cfg, st->knob))
			continue;
		diag_at(r, at->line, at->col,
			"policy '%s' steps %s, which has no value until it is set; use '%s = n'",
			p->name, name, name);
	}
}

/* Reports a policy for a job that the file does not have. */
static void check_job(const struct config *cfg, size_t n, struct diag *r)
{
	const struct policy *p = &cfg->policies.v[n];
	const struct config_policy *at = &cfg->texts[n];
	const char *near;
	size_t k;

	if (!p->job[0])
		return;
	for (k = 0; k < cfg->n_jobs; k++)
		if (!strcmp(cfg->jobs[k].name, p->job))
			return;
	near = suggest_job(cfg, p->job, strlen(p->job));
	diag_at(r, at->line, at->col,
		near ? "policy '%s' is for job '%s', which is not under 'jobs:'; did you mean '%s'?" :
			 "policy '%s' is for job '%s', which is not under 'jobs:'; add it there",
		p->name, p->job, near);
}

/* Warns about a policy for a class that no job of the file has. */
static void check_class(const struct config *cfg, size_t n, struct diag *r)
{
	const struct policy *p = &cfg->policies.v[n];
	const struct config_policy *at = &cfg->texts[n];
	size_t k;

	if (!p->classes || !cfg->n_jobs)
		return;
	for (k = 0; k < cfg->n_jobs; k++)
		if (policy_applies(p, cfg->jobs[k].name, cfg->jobs[k].class))
			return;
	diag_warn(r, at->line, at->col,
		  "policy '%s' is for '%s', and this file has no such job; the policy waits for a job that is set by hand, as by 'swiftrdma job set'",
		  p->name, at->who);
}

/* True: both policies may apply to one job. */
static bool share_a_job(const struct policy *a, const struct policy *b)
{
	if (a->job[0] && b->job[0])
		return !strcmp(a->job, b->job);
	if (a->job[0] || b->job[0])
		return true;
	return !a->classes || !b->classes || (a->classes & b->classes);
}

static int step_direction(const struct step *s)
{
	return s->op == STEP_ADD ? 1 : s->op == STEP_SUB ? -1 : 0;
}

/*
 * Warns about policies that move a knob in opposite directions and may be true at once. The
 * first policy in the file then holds the knob, which may not be intended.
 */
static void check_pulls(const struct config *cfg, size_t n, struct diag *r)
{
	const struct policy *b = &cfg->policies.v[n];
	bool touch, sure;
	unsigned int i, k;
	size_t o;

	for (o = 0; o < n; o++) {
		const struct policy *a = &cfg->policies.v[o];

		if (!share_a_job(a, b) || (cfg->texts[o].rank && cfg->texts[n].rank &&
					   cfg->texts[o].rank != cfg->texts[n].rank))
			continue;
		for (i = 0; i < a->n_act; i++)
			for (k = 0; k < b->n_act; k++) {
				if (a->act[i].knob != b->act[k].knob ||
				    step_direction(&a->act[i]) * step_direction(&b->act[k]) >= 0 ||
				    !states_overlap(&cfg->policies.prog, &a->when, &b->when,
						    &touch, &sure))
					continue;
				diag_warn(r, cfg->texts[n].line, cfg->texts[n].col,
					  "policies '%s' and '%s' pull %s in opposite directions and can both be true; exclude one, or give each a 'rank:'",
					  a->name, b->name, vocab_knob(a->act[i].knob)->name);
			}
	}
}

/* Sorts policies that have a rank by their ranks; the others keep their places. */
static void sort_ranks(struct config *cfg)
{
	const struct config_policy *t = cfg->texts;
	size_t i, k, at;

	for (i = 1; i < cfg->policies.n; i++)
		for (at = i, k = i; t[at].rank && k-- > 0;) {
			if (!t[k].rank)
				continue;
			if (t[k].rank <= t[at].rank)
				break;
			array_swap(cfg->policies.v[k], cfg->policies.v[at]);
			array_swap(cfg->texts[k], cfg->texts[at]);
			at = k;
		}
}

void check_config(struct config *cfg, struct diag *r)
{
	size_t i;

	for (i = 0; i < cfg->policies.n; i++) {
		check_base(cfg, i, r);
		check_job(cfg, i, r);
		check_class(cfg, i, r);
		check_pulls(cfg, i, r);
	}
	sort_ranks(cfg);
}
