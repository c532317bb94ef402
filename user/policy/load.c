// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/derive.h"
#include "policy/expr.h"
#include "policy/schema.h"

#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC 1000000000ULL

static void load_agent(struct config *cfg, const struct node *n, struct diag *r)
{
	static const char *const keys[] = {
		"interval", "lease", "rank", "smoothing", NULL
	};
	const struct node *v;

	check_map(r, n, "agent", keys);
	opt_time(r, n, "interval", NSEC_PER_MSEC, 60 * NSEC_PER_SEC, &cfg->interval);
	opt_time(r, n, "lease", 10 * NSEC_PER_MSEC, SWIFTRDMA_LEASE_MAX_MS * NSEC_PER_MSEC,
		 &cfg->lease);
	opt_uint(r, n, "rank", 0, SWIFTRDMA_RANK_MAX, &cfg->rank);
	opt_time(r, n, "smoothing", 1, 60 * NSEC_PER_SEC, &cfg->smoothing);
	/*
	 * The agent renews its lease after a third of the lease. With fewer than three ticks
	 * in a lease, one late tick would drop every override.
	 */
	v = node_get(n, "lease") ? node_get(n, "lease") : node_get(n, "interval");
	if (v && cfg->lease < 3 * cfg->interval)
		diag_node(r, v, 0,
			  "the lease (%llu ms) is shorter than three intervals (%llu ms); overrides would drop whenever a tick is late",
			  (unsigned long long)(cfg->lease / NSEC_PER_MSEC),
			  (unsigned long long)(3 * cfg->interval / NSEC_PER_MSEC));
}

static void load_levels(struct config *cfg, const struct node *n, struct diag *r)
{
	static const char *const keys[] = { "level", "dscp", "sl", NULL };
	const struct node *e, *v;
	size_t i;

	if (!check_list(r, n, "levels"))
		return;
	for (e = n->first; e; e = e->next) {
		struct config_level l = { 0 };
		bool ok;

		if (!check_map(r, e, "a level", keys))
			continue;
		v = need(r, e, "level", "a level", "level: 3");
		ok = v && get_uint(r, v, "level", 0, SWIFTRDMA_LEVEL_MAX, &l.level);
		l.has_dscp = node_get(e, "dscp");
		l.has_sl = node_get(e, "sl");
		ok &= opt_uint(r, e, "dscp", 0, 63, &l.dscp);
		ok &= opt_uint(r, e, "sl", 0, 15, &l.sl);
		if (!l.has_dscp && !l.has_sl) {
			diag_node(r, e, -1,
				  "a level lacks 'dscp:', 'sl:' or both; for instance 'dscp: 26'");
			ok = false;
		}
		for (i = 0; ok && i < cfg->n_levels; i++)
			if (cfg->levels[i].level == l.level) {
				diag_node(r, e, -1, "level %u is given twice; keep one of them",
					  l.level);
				ok = false;
			}
		if (ok)
			cfg->levels[cfg->n_levels++] = l;
	}
}

void load_ports(struct config *cfg, const struct node *n, struct diag *r)
{
	static const char *const keys[] = { "dev", "port", "speed", NULL };
	const struct node *e, *v;

	if (!check_list(r, n, "ports"))
		return;
	cfg->speeds = get_array(r, n->n, sizeof(*cfg->speeds));
	for (e = n->first; e && cfg->speeds; e = e->next) {
		struct signal_speed *s = &cfg->speeds[cfg->n_speeds];
		double speed;
		bool ok;
		size_t i;

		if (!check_map(r, e, "a port", keys))
			continue;
		s->port = 1;
		v = need(r, e, "dev", "a port", "dev: rxe0");
		ok = v && get_string(r, v, "dev", s->dev, sizeof(s->dev));
		ok &= opt_uint(r, e, "port", 1, 255, &s->port);
		v = need(r, e, "speed", "a port", "speed: 20Mbit/s");
		ok &= v && get_value(r, v, "speed", UNIT_BITRATE, 1, 1e14, &speed);
		if (!ok)
			continue;
		s->speed = (uint64_t)speed;
		for (i = 0; i < cfg->n_speeds; i++)
			if (cfg->speeds[i].port == s->port && !strcmp(cfg->speeds[i].dev, s->dev)) {
				diag_node(r, e, -1, "port %s/%u is given twice; keep one of them",
					  s->dev, s->port);
				ok = false;
			}
		cfg->n_speeds += ok;
	}
}

static const char *pick_known(size_t i, const void *arg)
{
	(void)arg;
	return i < criteria_n_known ? criteria_known[i].name : NULL;
}

/* A criterion of the file's own; its unit is that of its value. */
static void add_criterion(struct config *cfg, const struct node *e, struct diag *r)
{
	struct criterion *cr = &cfg->criteria.v[cfg->criteria.n];
	const char *near = suggest(e->key->text, e->key->len, pick_known, NULL);
	struct quantity q;
	const char *s;

	if (near) {
		diag_node(r, e->key, -1,
			  "unknown criterion '%.40s'; did you mean '%s'? A new criterion needs a less similar name",
			  e->key->text, near);
		return;
	}
	if (cfg->criteria.n == CRITERIA_MAX) {
		diag_node(r, e->key, -1,
			  "more than %d criteria; there is room for %zu of your own",
			  CRITERIA_MAX, CRITERIA_MAX - criteria_n_known);
		return;
	}
	if (e->key->len >= sizeof(cr->name) || !e->key->len ||
	    strspn(e->key->text, "abcdefghijklmnopqrstuvwxyz0123456789_") !=
		    e->key->len || e->key->text[0] < 'a') {
		diag_node(r, e->key, -1,
			  "a criterion's name is made of a-z, 0-9 and _ and begins with a letter");
		return;
	}
	if (!get_text(r, e, e->key->text, &s))
		return;
	if (units_parse(s, e->len, &q, NULL)) {
		diag_node(r, e, 0,
			  "%s: '%.40s' is no number with a unit; write for instance 5us, 80%% or 512",
			  e->key->text, s);
		return;
	}
	memcpy(cr->name, e->key->text, e->key->len + 1);
	cr->unit = q.unit;
	cr->v = q.v;
	cfg->criteria.n++;
}

void load_criteria(struct config *cfg, const struct node *n, struct diag *r)
{
	const struct node *e;
	size_t i;

	if (n->kind != NODE_MAP) {
		diag_node(r, n, -1,
			  "criteria is a map of names and values, as in 'port_busy: 70%%'");
		return;
	}
	for (e = n->first; e; e = e->next) {
		i = 0;
		while (i < criteria_n_known && strcmp(criteria_known[i].name, e->key->text))
			i++;
		if (i == criteria_n_known)
			add_criterion(cfg, e, r);
		else
			get_value(r, e, e->key->text, criteria_known[i].unit, 0, 1e15,
				  &cfg->criteria.v[i].v);
	}
}

/* Derives policies as text and loads that, so that policy compile prints what runs. */
static void load_derived(struct config *cfg, const struct node *order, struct diag *r)
{
	const struct config_job *raised = derive_raises(cfg);
	const struct node *list;
	struct diag inner;
	struct doc doc;
	char *text;

	if (raised && !(config_levels(cfg) & ~1u)) {
		diag_node(r, order, 0,
			  "order: at a busy port '%s' gets a higher class level, and this file does not define levels on the wire; add for instance '" LEVELS_EXAMPLE "', with values that your switches and hosts treat as more urgent",
			  raised->name);
		return;
	}
	text = derive_text(cfg);
	diag_init(&inner, "<derived>");
	if (!text) {
		diag_at(r, 0, 0, "out of memory");
		return;
	}
	inner.text = text;
	inner.text_len = strlen(text);
	cfg->derived = true;
	if (doc_parse(&doc, text, strlen(text), &inner)) {
		list = node_get(doc.root, "policies");
		if (list->n > POLICY_SET_MAX)
			diag_node(r, order, 0,
				  "order: %zu policies are derived from it for %zu jobs, and %d are possible; combine similar jobs into one (its 'match:' takes several rules, and a cgroup wildcards), or write 'policies:' for classes of jobs, as in 'for: job of class latency'",
				  list->n, cfg->n_jobs, POLICY_SET_MAX);
		else
			load_policies(cfg, list, &inner);
		doc_free(&doc);
	}
	if (inner.total)
		diag_node(r, order, 0,
			  "order: the policy derived from it is wrong, in '%.80s': %s; change its values under 'jobs:' or 'criteria:'",
			  inner.v[0].source + strspn(inner.v[0].source, " "),
			  inner.v[0].msg);
	free(text);
}

/* Sets the highest level that a peer may ask of a job, for jobs that get it from the order. */
static void load_ceilings(struct config *cfg, struct diag *r)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++) {
		struct config_job *job = &cfg->jobs[i];

		if (!job->follows)
			continue;
		if (!(config_levels(cfg) & ~1u))
			diag_at(r, job->line, 1,
				"job '%s' follows wishes of peers for a class level, and this file does not define levels on the wire; add for instance '" LEVELS_EXAMPLE "', with values that your switches and hosts treat as more urgent",
				job->name);
		else if (job->follows_order && !job->rank)
			diag_at(r, job->line, 1,
				"job '%s': 'follow: peers' goes as far as the order allows, and the order does not name the job; add it under 'order:', or write the highest level, as in 'follow: 2'",
				job->name);
		else if (job->follows_order)
			job->follow = derive_ceiling(cfg, job);
	}
}

static void load_sections(struct config *cfg, const struct node *root, struct diag *r)
{
	static const char *const keys[] = {
		"agent", "levels", "ports", "criteria", "jobs", "order", "policies", NULL
	};
	static void (*const load[])(struct config *cfg, const struct node *n, struct diag *r) = {
		load_agent, load_levels, load_ports, load_criteria, load_jobs, load_order,
		load_policies,
	};
	const struct node *n, *order = node_get(root, "order");
	size_t i;

	check_map(r, root, "a policy file", keys);
	for (i = 0; keys[i]; i++) {
		n = node_get(root, keys[i]);
		if (n)
			load[i](cfg, n, r);
	}
	if (!r->total && order)
		derive_check(cfg, r);
	if (!r->total)
		load_ceilings(cfg, r);
	if (!r->total && order && !node_get(root, "policies"))
		load_derived(cfg, order, r);
	/* check_config() would report a mistake in a section a second time. */
	if (!r->total)
		check_config(cfg, r);
}

/* Sets what all policies have in common. */
static void finish_set(struct config *cfg)
{
	const struct criteria *cr = &cfg->criteria;
	struct policy_set *set = &cfg->policies;

	set->ranks = cfg->ranks;
	set->n_ranks = cfg->n_ranks;
	set->levels = config_levels(cfg);
	set->settle = (uint64_t)criteria_value(cr, "settle");
	set->turns = (uint32_t)criteria_value(cr, "turns");
	set->turns_within = (uint64_t)criteria_value(cr, "turns_within");
	set->least[SWIFTRDMA_KNOB_QPS] = criteria_value(cr, "starve_qps");
	set->least[SWIFTRDMA_KNOB_CREDITS] = criteria_value(cr, "starve_credits");
	set->least[SWIFTRDMA_KNOB_BIT_RATE] = criteria_value(cr, "starve_rate");
	set->least[SWIFTRDMA_KNOB_MAX_QPS] = criteria_value(cr, "starve_qps");
}

bool config_load_text_for(struct config *cfg, const struct caps *caps,
			  const char *text, size_t len, struct diag *r)
{
	struct doc doc;

	memset(cfg, 0, sizeof(*cfg));
	cfg->caps = *caps;
	cfg->interval = CONFIG_INTERVAL_DEFAULT;
	cfg->lease = CONFIG_LEASE_DEFAULT;
	cfg->rank = CONFIG_RANK_DEFAULT;
	criteria_init(&cfg->criteria);
	r->text = text;
	r->text_len = len;
	if (doc_parse(&doc, text, len, r)) {
		/* An empty file is valid. */
		if (doc.root)
			load_sections(cfg, doc.root, r);
		doc_free(&doc);
	}
	r->text = NULL;
	diag_sort(r);
	if (r->total)
		config_free(cfg);
	else
		finish_set(cfg);
	return !r->total;
}

bool config_load_text(struct config *cfg, const char *text, size_t len,
		      struct diag *r)
{
	const struct caps caps = caps_here();

	return config_load_text_for(cfg, &caps, text, len, r);
}

bool config_load_file(struct config *cfg, const char *path, struct diag *r)
{
	const struct caps caps = caps_here();

	return config_load_file_for(cfg, &caps, path, r);
}

char *config_read(const char *path, size_t *len, struct diag *r)
{
	bool std = !strcmp(path, "-");
	size_t cap = DOC_BYTES_MAX + 1;
	FILE *f = std ? stdin : fopen(path, "re");
	char *text = f ? malloc(cap) : NULL;

	if (!f) {
		diag_at(r, 0, 0, "%s", strerror(errno));
		return NULL;
	}
	if (!text)
		diag_at(r, 0, 0, "out of memory");
	errno = 0;
	*len = text ? fread(text, 1, cap, f) : 0;
	if (text && ferror(f)) {
		diag_at(r, 0, 0, "%s", strerror(errno ? errno : EIO));
		free(text);
		text = NULL;
	}
	if (!std)
		fclose(f);
	return text;
}

bool config_load_file_for(struct config *cfg, const struct caps *caps,
			  const char *path, struct diag *r)
{
	size_t len;
	char *text = config_read(path, &len, r);
	bool ok;

	memset(cfg, 0, sizeof(*cfg));
	ok = text && config_load_text_for(cfg, caps, text, len, r);
	free(text);
	return ok;
}

static void free_texts(struct config_policy *t)
{
	unsigned int i;

	free(t->who);
	free(t->when);
	free(t->act);
	free(t->undo_when);
	free(t->undo_act);
	for (i = 0; i < POLICY_FALLBACKS; i++) {
		free(t->fallback[i]);
		free(t->undo_fallback[i]);
	}
}

void config_free(struct config *cfg)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++) {
		free(cfg->jobs[i].rules);
		free(cfg->jobs[i].env);
	}
	for (i = 0; i < cfg->policies.n; i++)
		free_texts(&cfg->texts[i]);
	free(cfg->jobs);
	free(cfg->speeds);
	free(cfg->slos);
	free(cfg->ranks);
	free(cfg->policies.v);
	prog_free(&cfg->policies.prog);
	free(cfg->texts);
	memset(cfg, 0, sizeof(*cfg));
}

uint32_t config_levels(const struct config *cfg)
{
	uint32_t set = 0;
	size_t i;

	for (i = 0; i < cfg->n_levels; i++)
		set |= 1u << cfg->levels[i].level;
	return set;
}

struct signal_opts config_signal_opts(const struct config *cfg)
{
	return (struct signal_opts){
		.speeds = cfg->speeds,
		.n_speeds = cfg->n_speeds,
		.slos = cfg->slos,
		.n_slos = cfg->n_slos,
		.tau = cfg->smoothing,
		.window = cfg->window,
		.looks_window = cfg->looks_window,
	};
}
