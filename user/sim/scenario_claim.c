// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads the claim of a scenario, and which of its numbers are published or swept. */
#include "sim/scenario.h"

#include <string.h>

#include "sim/claim.h"

static const char *const figure_words[] = {
	[SIM_P99] = "p99", [SIM_WR_RATE] = "wr_rate", [SIM_BYTE_RATE] = "byte_rate",
	[SIM_SLO_MET] = "slo_met", [SIM_MISSES] = "misses", [SIM_PORT] = "port", NULL
};
static const char *const of_words[] = {
	[SIM_WITHOUT] = "without", [SIM_WITH] = "with", [SIM_GAIN] = "gain", NULL
};

static bool load_job_name(const struct scenario *sc, const struct node *n, struct diag *r,
			  uint32_t *job)
{
	const char *s;

	if (!get_text(r, n, "job", &s))
		return false;
	*job = scenario_job(sc, s);
	if (*job == SIM_NO_JOB)
		diag_node(r, n, 0, "the scenario has no job '%.31s'", s);
	return *job != SIM_NO_JOB;
}

static void load_bound(struct scenario *sc, const struct node *n, struct diag *r)
{
	static const char *const keys[] = {
		"figure", "job", "of", "at_least", "at_most", NULL
	};
	struct sim_bound *b = &sc->bounds[sc->n_bounds];
	const struct node *figure, *of, *job, *least, *most;
	unsigned int word = 0;
	enum unit unit;

	if (!check_map(r, n, "what it shows", keys))
		return;
	*b = (struct sim_bound){ .at_most = SIM_UNBOUNDED };
	figure = need(r, n, "figure", "what it shows", "figure: p99");
	of = need(r, n, "of", "what it shows", "of: gain");
	if (!figure || !of || !scenario_word(r, figure, "figure", figure_words, &word))
		return;
	b->figure = word;
	if (!scenario_word(r, of, "of", of_words, &word))
		return;
	b->of = word;
	job = node_get(n, "job");
	if (job && !sim_figure_of_job(b->figure))
		diag_node(r, job, 0, "'%s' is a figure of all jobs together; leave 'job:' out",
			  figure_words[b->figure]);
	if (sim_figure_of_job(b->figure)) {
		job = need(r, n, "job", "what it shows", "job: kv");
		if (!job || !load_job_name(sc, job, r, &b->job))
			return;
	}
	unit = sim_bound_unit(b);
	least = node_get(n, "at_least");
	most = node_get(n, "at_most");
	if (!least && !most)
		diag_node(r, n, -1, "a bound is missing: 'at_least', 'at_most', or both");
	if (least)
		get_value(r, least, "at_least", unit, 0, 1e15, &b->at_least);
	if (most)
		get_value(r, most, "at_most", unit, 0, 1e15, &b->at_most);
	sc->n_bounds++;
}

/*
 * A new entry for the number that @n names. NULL, with an error: no such number, or listed
 * before.
 */
static struct sim_values *values_for(struct scenario *sc, const struct node *n,
				     const char *what, struct diag *r, struct sim_param *p)
{
	struct sim_values *v = &sc->values[sc->n_values];
	size_t i;

	if (sim_param_named(sc, what, p)) {
		diag_node(r, n, 0,
			  "'%.40s' is not a number of this scenario; numbers are, for instance, 'kv.depth', 'nic.link' or 'window'",
			  what);
		return NULL;
	}
	for (i = 0; i < sc->n_values; i++)
		if (!strcmp(sc->values[i].name, what)) {
			diag_node(r, n, 0, "'%.40s' is already listed", what);
			return NULL;
		}
	if (sc->n_values == SIM_SWEPT) {
		diag_node(r, n, 0, "at most %d numbers are published or swept", SIM_SWEPT);
		return NULL;
	}
	memset(v, 0, sizeof(*v));
	strcpy(v->name, p->name);
	sc->n_values++;
	return v;
}

static void load_published(struct scenario *sc, const struct node *list, struct diag *r)
{
	const struct node *n;
	struct sim_param p;
	const char *s;

	if (!check_list(r, list, "published"))
		return;
	for (n = list->first; n; n = n->next)
		if (get_text(r, n, "a published number", &s))
			values_for(sc, n, s, r, &p);
}

static void load_swept(struct scenario *sc, const struct node *n, struct diag *r)
{
	const struct node *e;
	const char *name = n->key->text;
	struct sim_values *v;
	struct sim_param p;
	double is;

	v = values_for(sc, n->key, name, r, &p);
	if (!v || !check_list(r, n, name))
		return;
	if (!n->n || n->n > SIM_VALUES) {
		diag_node(r, n, -1, "1 to %d values", SIM_VALUES);
		return;
	}
	for (e = n->first; e; e = e->next) {
		if (!get_value(r, e, name, sim_param_unit(&p), 0, 1e15, &is))
			return;
		if (v->n && is <= v->v[v->n - 1]) {
			diag_node(r, e, 0, "values must increase; this one is not above the one before");
			return;
		}
		v->v[v->n++] = is;
	}
}

void scenario_load_claim(struct scenario *sc, const struct node *root, struct diag *r)
{
	const struct node *v, *n;

	v = node_get(root, "shows");
	if (v && check_list(r, v, "shows")) {
		if (v->n > SIM_BOUNDS)
			diag_node(r, v, -1, "a scenario has at most %d bounds", SIM_BOUNDS);
		for (n = v->first; n && sc->n_bounds < SIM_BOUNDS; n = n->next)
			load_bound(sc, n, r);
	}
	v = node_get(root, "published");
	if (v)
		load_published(sc, v, r);
	v = node_get(root, "sweep");
	if (!v)
		return;
	if (v->kind != NODE_MAP) {
		diag_node(r, v, -1, "'sweep' has numbers and their values, as in 'kv.depth: [2, 8, 32]'");
		return;
	}
	for (n = v->first; n; n = n->next)
		load_swept(sc, n, r);
}

void scenario_note_nic(struct scenario *sc, const struct node *nic)
{
	static const char *const keys[] = { "control_time", "link", "cache_bytes", "wqe_limit" };
	struct sim_param p;
	char name[32];
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(name, sizeof(name), "nic.%s", keys[i]);
		if (node_get(nic, keys[i]) && !sim_param_named(sc, name, &p))
			sc->nic_said |= 1u << p.kind;
	}
}
