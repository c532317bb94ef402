// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>

#include "policy/expr.h"
#include "policy/schema.h"

/* Order of the first rule. The kernel applies rules of all jobs in this order. */
#define ORDER_FIRST 1000

/* @rule: zeroed. */
static bool load_rule(struct snap_rule *rule, const struct node *n, struct diag *r)
{
	static const char *const keys[] = {
		"cgroup", "comm", "exe", "uid", "pid", "asked", "slo_min", NULL
	};
	const char *slash;
	double asked = 0;
	bool ok = true;

	if (!check_map(r, n, "a match rule", keys))
		return false;
	if (!n->n) {
		diag_node(r, n, -1,
			  "an empty rule would match no process; give it cgroup, comm, exe, uid, pid or 'asked: true'");
		return false;
	}
	ok &= opt_string(r, n, "cgroup", rule->cgroup, sizeof(rule->cgroup));
	ok &= opt_string(r, n, "comm", rule->comm, sizeof(rule->comm));
	ok &= opt_string(r, n, "exe", rule->exe, sizeof(rule->exe));
	ok &= opt_uint(r, n, "uid", 0, UINT32_MAX - 1, &rule->uid);
	ok &= opt_uint(r, n, "pid", 1, 1u << 22, &rule->pid);
	ok &= opt_value(r, n, "asked", UNIT_SWITCH, 0, 1, &asked);
	ok &= opt_time(r, n, "slo_min", 1, 3600000000000ULL, &rule->slo_p99_min);
	rule->asked = asked > 0;
	rule->has_uid = node_get(n, "uid");
	rule->has_pid = node_get(n, "pid");
	if (rule->cgroup[0] && rule->cgroup[0] != '/' && rule->cgroup[0] != '*') {
		diag_node(r, node_get(n, "cgroup"), 0,
			  "cgroup '%.40s' matches no path; a path begins with '/', as in /system.slice/kv.service",
			  rule->cgroup);
		ok = false;
	}
	if (ok && !rule->cgroup[0] && !rule->comm[0] && !rule->exe[0] && !rule->has_uid &&
	    !rule->has_pid && !rule->asked) {
		diag_node(r, n, -1,
			  "this rule has no condition, and 'slo_min' is none; add cgroup, comm, exe, uid, pid or 'asked: true'");
		ok = false;
	}
	slash = strrchr(rule->exe, '/');
	if (slash) {
		diag_node(r, node_get(n, "exe"), 0,
			  "exe is the last part of the path; write '%s'", slash + 1);
		ok = false;
	}
	return ok;
}

static bool load_match(struct config_job *job, const struct node *n,
		       uint32_t *order, struct diag *r)
{
	const struct node *e;
	bool ok = true;

	if (!check_list(r, n, "match"))
		return false;
	if (!n->n || n->n > SWIFTRDMA_RULES_MAX) {
		diag_node(r, n, -1, "a job has 1 to %d match rules, not %zu",
			  SWIFTRDMA_RULES_MAX, n->n);
		return false;
	}
	job->rules = get_array(r, n->n, sizeof(*job->rules));
	for (e = n->first; e && job->rules; e = e->next) {
		struct snap_rule rule = { 0 };

		if (!load_rule(&rule, e, r)) {
			ok = false;
			continue;
		}
		rule.order = (*order)++;
		job->rules[job->n_rules++] = rule;
	}
	return ok;
}

bool get_slo(struct diag *r, const struct node *n, struct signal_slo *slo)
{
	static const char *const keys[] = { "p99", "byte_rate", NULL };
	bool ok;

	if (!check_map(r, n, "slo", keys))
		return false;
	if (!n->n) {
		diag_node(r, n, -1,
			  "an empty slo has no target; add one, for instance 'slo: {p99: 50us}'");
		return false;
	}
	ok = opt_value(r, n, "byte_rate", UNIT_BITRATE, 1, 1e14, &slo->byte_rate);
	return opt_time(r, n, "p99", 1, 3600000000000ULL, &slo->p99) && ok;
}

static void load_slo(struct config *cfg, struct config_job *job,
		     const struct node *n, struct diag *r)
{
	struct signal_slo *slo = &cfg->slos[cfg->n_slos];

	get_slo(r, n, slo);
	job->slo_byte_rate = slo->byte_rate;
	job->slo_p99 = slo->p99;
	memcpy(slo->job, job->name, sizeof(slo->job));
	cfg->n_slos++;
}

static bool is_variable_name(const char *s)
{
	return *s && (*s < '0' || *s > '9') &&
	       !s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")];
}

static void load_environment(struct config_job *job, const struct node *n,
			     struct diag *r)
{
	const struct node *e;

	if (n->kind != NODE_MAP) {
		diag_node(r, n, -1,
			  "environment is a map of names and values, as in {MLX5_TOTAL_UUARS: 512}");
		return;
	}
	if (n->n > CONFIG_ENV_MAX) {
		diag_node(r, n, -1, "at most %d variables, not %zu",
			  CONFIG_ENV_MAX, n->n);
		return;
	}
	job->env = get_array(r, n->n, sizeof(*job->env));
	for (e = n->first; e && job->env; e = e->next) {
		struct config_env *env = &job->env[job->n_env];

		if (!get_string(r, e->key, "a variable's name", env->name,
				sizeof(env->name)))
			continue;
		if (!is_variable_name(env->name))
			diag_node(r, e->key, -1,
				  "'%.40s' is not the name of a variable; use letters, digits and _, and no digit at the beginning",
				  env->name);
		else if (get_string(r, e, "a variable's value", env->value,
				    sizeof(env->value)))
			job->n_env++;
	}
}

/* Gives the job whose name is at offset @at of the order its rank. */
static void rank_job(struct config *cfg, const struct node *n, size_t at,
		     size_t len, uint32_t rank, struct diag *r)
{
	const char *name = n->text + at, *near;
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (strlen(cfg->jobs[i].name) == len &&
		    !memcmp(cfg->jobs[i].name, name, len))
			break;
	if (i == cfg->n_jobs) {
		near = suggest_job(cfg, name, len);
		if (near)
			diag_node(r, n, at,
				  "order: no job '%.*s'; did you mean '%s'?",
				  (int)len, name, near);
		else
			diag_node(r, n, at,
				  "order: no job '%.*s' under 'jobs:'; add it there",
				  (int)len, name);
		return;
	}
	if (cfg->jobs[i].rank) {
		diag_node(r, n, at, "order: job '%s' is named twice", cfg->jobs[i].name);
		return;
	}
	cfg->jobs[i].rank = rank;
	memcpy(cfg->ranks[cfg->n_ranks].job, cfg->jobs[i].name, SNAP_NAME);
	cfg->ranks[cfg->n_ranks++].rank = rank;
}

/* "kv > dlrm, web > bulk": commas separate jobs of equal rank. */
void load_order(struct config *cfg, const struct node *n, struct diag *r)
{
	static const char blanks[] = " \t\n";
	uint32_t rank = 1;
	const char *s;
	size_t i = 0;

	if (!get_text(r, n, "order, as in 'kv > dlrm, web > bulk',", &s))
		return;
	cfg->ranks = get_array(r, cfg->n_jobs, sizeof(*cfg->ranks));
	if (!cfg->ranks)
		return;
	for (;;) {
		size_t len;

		i += strspn(s + i, blanks);
		len = strcspn(s + i, " \t\n>,=");
		if (!len) {
			diag_node(r, n, i,
				  "order: a job's name is expected here, as in 'kv > dlrm, web > bulk'");
			return;
		}
		rank_job(cfg, n, i, len, rank, r);
		i += len;
		i += strspn(s + i, blanks);
		if (!s[i])
			return;
		if (s[i] != '>' && s[i] != ',' && s[i] != '=') {
			diag_node(r, n, i,
				  "order: '%.20s' is not understood; jobs are separated by '>', equals by ','",
				  s + i);
			return;
		}
		rank += s[i++] == '>';
	}
}

/* Reads the properties that libraries in the job's processes enforce. */
static void load_library(struct config_job *job, const struct node *n, struct diag *r)
{
	const struct vocab_knob *k = vocab_knob(SWIFTRDMA_KNOB_CHUNK);
	double chunk = 0, huge_pages = 1;
	char bounds[80];

	if (opt_value(r, n, "chunk", UNIT_BYTES, k->min, k->max, &chunk) && chunk > 0 &&
	    !vocab_allows(k, chunk))
		diag_node(r, node_get(n, "chunk"), 0, "chunk %s is not %s",
			  node_get(n, "chunk")->text, vocab_bounds(k, bounds, sizeof(bounds)));
	opt_value(r, n, "huge_pages", UNIT_SWITCH, 0, 1, &huge_pages);
	job->chunk = (uint32_t)chunk;
	job->huge_pages = huge_pages > 0;
}

/* "peers": the order determines the highest level, see derive_ceiling(). Else its number. */
static void load_follow(struct config_job *job, const struct node *n, struct diag *r)
{
	const char *s;

	job->follows = true;
	if (n->kind == NODE_SCALAR && !strcmp(n->text, "peers")) {
		job->follows_order = true;
		return;
	}
	if (!get_text(r, n, "follow, as in 'follow: peers',", &s))
		return;
	if (strspn(s, "0123456789") != strlen(s))
		diag_node(r, n, 0,
			  "follow: '%.20s' is not understood; write 'peers', for as far as the order allows, or the highest level, as in 'follow: 2'",
			  s);
	else
		get_uint(r, n, "follow", 0, SWIFTRDMA_LEVEL_MAX, &job->follow);
}

static void load_job(struct config *cfg, const struct node *n,
		     uint32_t *order, struct diag *r)
{
	static const char *const keys[] = {
		"name", "class", "match", "slo", "environment", "chunk", "huge_pages",
		"follow", NULL
	};
	struct config_job *job = &cfg->jobs[cfg->n_jobs];
	const struct node *v;
	double class;
	size_t i;

	check_map(r, n, "a job", keys);
	if (n->kind != NODE_MAP)
		return;
	job->line = n->line;
	v = need(r, n, "name", "a job", "name: kv");
	if (v && get_name(r, v, "a job's name", job->name)) {
		for (i = 0; i < cfg->n_jobs; i++)
			if (!strcmp(cfg->jobs[i].name, job->name))
				diag_node(r, v, 0,
					  "job '%s' is already defined in line %u; put all its rules under one 'match:'",
					  job->name, cfg->jobs[i].line);
		if (!strcmp(job->name, "unassigned"))
			diag_node(r, v, 0,
				  "'unassigned' is reserved for QPs without a job; choose another name");
	}
	v = need(r, n, "class", "a job", "class: latency");
	if (v && get_value(r, v, "class", UNIT_CLASS, 0, 100, &class))
		job->class = (uint32_t)class;
	/* A job with errors counts, too, so that config_free() frees its rules. */
	cfg->n_jobs++;
	v = need(r, n, "match", "a job", "match: [{comm: kv-server}]");
	if (v)
		load_match(job, v, order, r);
	v = node_get(n, "slo");
	if (v)
		load_slo(cfg, job, v, r);
	load_library(job, n, r);
	v = node_get(n, "follow");
	if (v)
		load_follow(job, v, r);
	v = node_get(n, "environment");
	if (v)
		load_environment(job, v, r);
}

void load_jobs(struct config *cfg, const struct node *n, struct diag *r)
{
	uint32_t order = ORDER_FIRST;
	const struct node *e;

	if (!check_list(r, n, "jobs"))
		return;
	if (n->n > SWIFTRDMA_JOBS_MAX - 1) {
		diag_node(r, n, -1, "%zu jobs; the kernel has room for %d",
			  n->n, SWIFTRDMA_JOBS_MAX - 1);
		return;
	}
	cfg->jobs = get_array(r, n->n, sizeof(*cfg->jobs));
	cfg->slos = get_array(r, n->n, sizeof(*cfg->slos));
	for (e = n->first; e && cfg->jobs && cfg->slos; e = e->next)
		load_job(cfg, e, &order, r);
}
