// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sets the job rules and levels of the policy file in the kernel. Only differences are
 * sent, so that this can be called after every change. Only rules of origin "agent" are
 * changed: those of this agent or of an earlier one (lock.c). Levels have no origin: they
 * are set once per file, and a later change by others stays.
 *
 * A dry run sends nothing, because setting a job would move QPs out of limits and overrides that
 * are in force, and other programs would see the job. dry_run.c needs no jobs in the kernel.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "base/text.h"

static bool rule_same(const struct snap_rule *a, const struct snap_rule *b)
{
	return a->order == b->order && a->has_uid == b->has_uid &&
	       a->has_pid == b->has_pid && (!a->has_uid || a->uid == b->uid) &&
	       (!a->has_pid || a->pid == b->pid) &&
	       a->asked == b->asked && a->slo_p99_min == b->slo_p99_min &&
	       !strcmp(a->cgroup, b->cgroup) && !strcmp(a->comm, b->comm) &&
	       !strcmp(a->exe, b->exe);
}

bool agent_rule(const struct snap_rule *rule)
{
	return !strcmp(rule->origin, AGENT_ORIGIN);
}

static bool job_same(const struct config_job *want, const struct snap_job *job)
{
	size_t i, k, n = 0;

	if (want->class != job->class)
		return false;
	for (i = 0; i < job->n_rules; i++) {
		if (!agent_rule(&job->rules[i]))
			continue;
		n++;
		for (k = 0; k < want->n_rules; k++)
			if (rule_same(&want->rules[k], &job->rules[i]))
				break;
		if (k == want->n_rules)
			return false;
	}
	return n == want->n_rules;
}

struct snap_job *agent_find_job(const struct snapshot *snap, const char *name)
{
	size_t i;

	for (i = 0; i < snap->n_jobs; i++)
		if (!strcmp(snap->jobs[i].name, name))
			return &snap->jobs[i];
	return NULL;
}

static bool job_in_kernel(const struct snapshot *snap, const struct config_job *want)
{
	const struct snap_job *job = agent_find_job(snap, want->name);

	return job && job_same(want, job);
}

bool agent_left_over(const struct config *cfg, const struct snap_job *job)
{
	size_t i, k;

	for (k = 0; k < job->n_rules && !agent_rule(&job->rules[k]); k++)
		;
	for (i = 0; i < cfg->n_jobs; i++)
		if (!strcmp(cfg->jobs[i].name, job->name))
			return false;
	return k < job->n_rules;
}

bool agent_in_sync(const struct config *cfg, const struct snapshot *snap)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (!job_in_kernel(snap, &cfg->jobs[i]))
			return false;
	for (i = 0; i < snap->n_jobs; i++)
		if (agent_left_over(cfg, &snap->jobs[i]))
			return false;
	return true;
}

static void set_job(struct agent *a, const struct config_job *want)
{
	if (!a->opt.dry_run &&
	    io_job_set(a->io, want->name, AGENT_ORIGIN, want->class,
		       want->rules, want->n_rules) < 0)
		log_msg(LOG_ERR, "job %s could not be set: %s", want->name,
			io_error(a->io));
	else
		log_msg(LOG_INFO, a->opt.dry_run ?
			"dry run, would set job %s: class %s, %zu rules" :
			"job %s set: class %s, %zu rules", want->name,
			vocab_word_name(UNIT_CLASS, want->class),
			want->n_rules);
}

static void remove_job(struct agent *a, const struct snap_job *job)
{
	if (!a->opt.dry_run && io_job_del(a->io, job->name, AGENT_ORIGIN) < 0)
		log_msg(LOG_ERR, "job %s could not be removed: %s", job->name,
			io_error(a->io));
	else
		log_msg(LOG_INFO, a->opt.dry_run ?
			"dry run, would remove job %s: not in the policy file" :
			"job %s removed: no longer in the policy file",
			job->name);
}

static void sync_jobs(struct agent *a, const struct snapshot *snap)
{
	size_t i;

	for (i = 0; i < a->cfg.n_jobs; i++)
		if (!job_in_kernel(snap, &a->cfg.jobs[i]))
			set_job(a, &a->cfg.jobs[i]);
	for (i = 0; i < snap->n_jobs; i++)
		if (agent_left_over(&a->cfg, &snap->jobs[i]))
			remove_job(a, &snap->jobs[i]);
}

static bool has_level(const struct io_level *have, int n,
		      const struct config_level *want)
{
	int i;

	for (i = 0; i < n; i++)
		if (have[i].level == want->level)
			return have[i].has_dscp == want->has_dscp &&
			       have[i].has_sl == want->has_sl &&
			       have[i].dscp == want->dscp &&
			       have[i].sl == want->sl;
	return false;
}

static void log_class_level(const struct agent *a, const struct io_level *l)
{
	char text[64];
	struct text t;

	text_init(&t, text, sizeof(text));
	if (l->has_dscp) {
		text_str(&t, "DSCP ");
		text_u64(&t, l->dscp);
	}
	if (l->has_sl) {
		text_str(&t, l->has_dscp ? ", SL " : "SL ");
		text_u64(&t, l->sl);
	}
	log_msg(LOG_INFO, a->opt.dry_run ? "dry run, would set level %u: %s" :
		"level %u set: %s", l->level, text);
}

/* Sets the levels of the file. Other levels do not matter to its policies. */
static void sync_levels(struct agent *a)
{
	struct io_level have[SWIFTRDMA_LEVEL_MAX + 1];
	struct io_level want[SWIFTRDMA_LEVEL_MAX + 1];
	size_t n = 0, i;
	int got = io_levels(a->io, have, SWIFTRDMA_LEVEL_MAX + 1);

	for (i = 0; i < a->cfg.n_levels; i++) {
		const struct config_level *l = &a->cfg.levels[i];

		if (!has_level(have, got, l))
			want[n++] = (struct io_level){
				.level = l->level, .dscp = l->dscp,
				.sl = l->sl, .has_dscp = l->has_dscp,
				.has_sl = l->has_sl,
			};
	}
	if (!n)
		return;
	if (!a->opt.dry_run && io_levels_set(a->io, want, n) < 0) {
		log_msg(LOG_ERR, "levels could not be set: %s", io_error(a->io));
		return;
	}
	for (i = 0; i < n; i++)
		log_class_level(a, &want[i]);
}

void agent_sync(struct agent *a, const struct snapshot *snap)
{
	sync_jobs(a, snap);
	if (a->need_sync)
		sync_levels(a);
	a->need_sync = false;
}
