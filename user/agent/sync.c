// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The job rules and levels of the policy file against those in the kernel.
 * Only differences are sent, so that this can be asked after every change, and
 * only rules of our own origin are touched. Levels have no origin: they are set
 * when the file is taken up, and who changes one later has the last word.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/log.h"

static bool rule_same(const struct snap_rule *a, const struct snap_rule *b)
{
	return a->order == b->order && a->has_uid == b->has_uid &&
	       a->has_pid == b->has_pid && (!a->has_uid || a->uid == b->uid) &&
	       (!a->has_pid || a->pid == b->pid) &&
	       !strcmp(a->cgroup, b->cgroup) && !strcmp(a->comm, b->comm) &&
	       !strcmp(a->exe, b->exe);
}

static bool ours(const struct snap_rule *rule)
{
	return !strcmp(rule->origin, AGENT_ORIGIN);
}

static bool job_same(const struct config_job *want, const struct snap_job *job)
{
	size_t i, k, n = 0;

	if (want->class != job->class)
		return false;
	for (i = 0; i < job->n_rules; i++) {
		if (!ours(&job->rules[i]))
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

static const struct snap_job *find_job(const struct snapshot *snap,
				       const char *name)
{
	size_t i;

	for (i = 0; i < snap->n_jobs; i++)
		if (!strcmp(snap->jobs[i].name, name))
			return &snap->jobs[i];
	return NULL;
}

static bool wanted(const struct config *cfg, const char *name)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (!strcmp(cfg->jobs[i].name, name))
			return true;
	return false;
}

static void sync_jobs(struct agent *a, const struct snapshot *snap)
{
	size_t i, k;

	for (i = 0; i < a->cfg.n_jobs; i++) {
		const struct config_job *want = &a->cfg.jobs[i];
		const struct snap_job *job = find_job(snap, want->name);

		if (job && job_same(want, job))
			continue;
		if (io_job_set(a->io, want->name, AGENT_ORIGIN, want->class,
			       want->rules, want->n_rules) < 0)
			log_msg(LOG_ERR, "job %s is not set: %s", want->name,
				io_error(a->io));
		else
			log_msg(LOG_INFO, "job %s set: class %s, %zu rules",
				want->name,
				vocab_word_name(UNIT_CLASS, want->class),
				want->n_rules);
	}
	for (i = 0; i < snap->n_jobs; i++) {
		const struct snap_job *job = &snap->jobs[i];

		for (k = 0; k < job->n_rules && !ours(&job->rules[k]); k++)
			;
		if (k == job->n_rules || wanted(&a->cfg, job->name))
			continue;
		if (io_job_del(a->io, job->name, AGENT_ORIGIN) < 0)
			log_msg(LOG_ERR, "job %s is not removed: %s",
				job->name, io_error(a->io));
		else
			log_msg(LOG_INFO,
				"job %s removed: no longer in the policy file",
				job->name);
	}
}

/* All levels: what the file does not name is as it is by default. */
static void wanted_levels(const struct config *cfg,
			  struct io_level level[SWIFTRDMA_LEVEL_MAX + 1])
{
	uint32_t i;
	size_t k;

	for (i = 0; i <= SWIFTRDMA_LEVEL_MAX; i++)
		level[i] = (struct io_level){ .level = i, .dscp = 8 * i,
					      .sl = i };
	for (k = 0; k < cfg->n_levels; k++) {
		const struct config_level *l = &cfg->levels[k];

		level[l->level].dscp = l->dscp;
		level[l->level].sl = l->sl;
	}
}

static bool has_level(const struct io_level *have, int n,
		      const struct io_level *want)
{
	int i;

	for (i = 0; i < n; i++)
		if (have[i].level == want->level)
			return have[i].dscp == want->dscp &&
			       have[i].sl == want->sl;
	return false;
}

static void sync_levels(struct agent *a)
{
	struct io_level have[SWIFTRDMA_LEVEL_MAX + 1];
	struct io_level want[SWIFTRDMA_LEVEL_MAX + 1];
	size_t n = 0, i;
	int got = io_levels(a->io, have, SWIFTRDMA_LEVEL_MAX + 1);

	wanted_levels(&a->cfg, want);
	for (i = 0; i <= SWIFTRDMA_LEVEL_MAX; i++)
		if (!has_level(have, got, &want[i]))
			want[n++] = want[i];
	if (!n)
		return;
	if (io_levels_set(a->io, want, n) < 0) {
		log_msg(LOG_ERR, "levels are not set: %s", io_error(a->io));
		return;
	}
	for (i = 0; i < n; i++)
		log_msg(LOG_INFO, "level %u set: DSCP %u, SL %u",
			want[i].level, want[i].dscp, want[i].sl);
}

void agent_sync(struct agent *a, const struct snapshot *snap)
{
	/*
	 * A job's rules alone change nobody's traffic, and without them a dry
	 * run would see no jobs; what a level means on the wire is another
	 * matter.
	 */
	sync_jobs(a, snap);
	if (a->need_sync && !a->opt.dry_run)
		sync_levels(a);
	a->need_sync = false;
}
