// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/schema.h"

#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC 1000000000ULL

void load_agent(struct config *cfg, const struct node *n, struct report *r)
{
	static const char *const keys[] = {
		"interval", "lease", "rank", "smoothing", NULL
	};
	const struct node *v;

	check_map(r, n, "agent", keys);
	v = node_get(n, "interval");
	if (v)
		get_time(r, v, "interval", NSEC_PER_MSEC, 60 * NSEC_PER_SEC,
			 &cfg->interval);
	v = node_get(n, "lease");
	if (v)
		get_time(r, v, "lease", 10 * NSEC_PER_MSEC,
			 SWIFTRDMA_LEASE_MAX_MS * NSEC_PER_MSEC, &cfg->lease);
	v = node_get(n, "rank");
	if (v)
		get_uint(r, v, "rank", 0, SWIFTRDMA_RANK_MAX, &cfg->rank);
	v = node_get(n, "smoothing");
	if (v)
		get_time(r, v, "smoothing", 1, 60 * NSEC_PER_SEC,
			 &cfg->smoothing);
	/*
	 * A lease is kept at a third of its life: with fewer than three ticks
	 * in it, one late tick would drop every override.
	 */
	v = node_get(n, "lease") ? node_get(n, "lease")
				 : node_get(n, "interval");
	if (v && cfg->lease < 3 * cfg->interval)
		report_node(r, v, 0,
			    "the lease (%llu ms) is shorter than three intervals (%llu ms); overrides would drop whenever a tick is late",
			    (unsigned long long)(cfg->lease / NSEC_PER_MSEC),
			    (unsigned long long)(3 * cfg->interval /
						 NSEC_PER_MSEC));
}

void load_levels(struct config *cfg, const struct node *n, struct report *r)
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
		ok = v && get_uint(r, v, "level", 0, SWIFTRDMA_LEVEL_MAX,
				   &l.level);
		l.dscp = 8 * l.level;
		l.sl = l.level;
		v = need(r, e, "dscp", "a level", "dscp: 26");
		if (v)
			ok &= get_uint(r, v, "dscp", 0, 63, &l.dscp);
		v = node_get(e, "sl");
		if (v)
			ok &= get_uint(r, v, "sl", 0, 15, &l.sl);
		for (i = 0; ok && i < cfg->n_levels; i++)
			if (cfg->levels[i].level == l.level) {
				report_node(r, e, -1,
					    "level %u is given twice; keep one of them",
					    l.level);
				ok = false;
			}
		if (ok)
			cfg->levels[cfg->n_levels++] = l;
	}
}

void load_ports(struct config *cfg, const struct node *n, struct report *r)
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
		v = node_get(e, "port");
		if (v)
			ok &= get_uint(r, v, "port", 1, 255, &s->port);
		v = need(r, e, "speed", "a port", "speed: 20Mbit/s");
		ok &= v && get_value(r, v, "speed", UNIT_BITRATE, 1, 1e14,
				     &speed);
		if (!ok)
			continue;
		s->speed = (uint64_t)speed;
		for (i = 0; i < cfg->n_speeds; i++)
			if (cfg->speeds[i].port == s->port &&
			    !strcmp(cfg->speeds[i].dev, s->dev)) {
				report_node(r, e, -1,
					    "port %s/%u is given twice; keep one of them",
					    s->dev, s->port);
				ok = false;
			}
		cfg->n_speeds += ok;
	}
}

static void load_root(struct config *cfg, const struct node *root,
		      struct report *r)
{
	static const char *const keys[] = {
		"agent", "levels", "ports", "jobs", "policies", NULL
	};
	static const struct {
		const char *key;
		void (*load)(struct config *cfg, const struct node *n,
			     struct report *r);
	} sections[] = {
		{ "agent", load_agent },
		{ "levels", load_levels },
		{ "ports", load_ports },
		{ "jobs", load_jobs },
		{ "policies", load_policies },
	};
	size_t i;

	check_map(r, root, "a policy file", keys);
	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		const struct node *n = node_get(root, sections[i].key);

		if (n)
			sections[i].load(cfg, n, r);
	}
	/* Across sections only what is whole in itself: no echo of errors. */
	if (!r->total)
		check_config(cfg, r);
}

bool config_load_text(struct config *cfg, const char *text, size_t len,
		      struct report *r)
{
	struct doc doc;

	memset(cfg, 0, sizeof(*cfg));
	cfg->interval = CONFIG_INTERVAL_DEFAULT;
	cfg->lease = CONFIG_LEASE_DEFAULT;
	cfg->rank = CONFIG_RANK_DEFAULT;
	if (!doc_parse(&doc, text, len, r))
		return false;
	load_root(cfg, doc.root, r);
	doc_free(&doc);
	report_sort(r);
	if (r->total)
		config_free(cfg);
	return !r->total;
}

bool config_load_file(struct config *cfg, const char *path, struct report *r)
{
	bool std = !strcmp(path, "-"), ok;
	size_t cap = DOC_BYTES_MAX + 1, len;
	FILE *f = std ? stdin : fopen(path, "re");
	char *text;

	memset(cfg, 0, sizeof(*cfg));
	if (!f) {
		report_at(r, 0, 0, "%s", strerror(errno));
		return false;
	}
	text = malloc(cap);
	if (!text) {
		report_at(r, 0, 0, "out of memory");
		if (!std)
			fclose(f);
		return false;
	}
	errno = 0;
	len = fread(text, 1, cap, f);
	if (ferror(f)) {
		report_at(r, 0, 0, "%s", strerror(errno ? errno : EIO));
		ok = false;
	} else {
		ok = config_load_text(cfg, text, len, r);
	}
	if (!std)
		fclose(f);
	free(text);
	return ok;
}

void config_free(struct config *cfg)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++) {
		free(cfg->jobs[i].rules);
		free(cfg->jobs[i].env);
	}
	free(cfg->jobs);
	free(cfg->speeds);
	free(cfg->slos);
	free(cfg->policies.v);
	free(cfg->places);
	memset(cfg, 0, sizeof(*cfg));
}

struct signal_opts config_signal_opts(const struct config *cfg)
{
	return (struct signal_opts){
		.speeds = cfg->speeds,
		.n_speeds = cfg->n_speeds,
		.slos = cfg->slos,
		.n_slos = cfg->n_slos,
		.tau = cfg->smoothing,
	};
}
