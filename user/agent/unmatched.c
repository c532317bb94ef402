// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Warns, once per policy file, about jobs whose rules have matched no QP. */
#include "agent/agent.h"
#include "agent/log.h"

/* By then, services that start at boot have created their QPs. */
#define HINT_AFTER	60000000000ULL	/* ns */

static bool had_any(const struct snap_job *job)
{
	for (size_t i = 0; i < job->n_stats; i++) {
		const struct snap_job_stat *st = &job->stats[i];

		if (st->qps || st->created || st->moved || st->rejected)
			return true;
	}
	return false;
}

void agent_warn_unmatched(struct agent *a)
{
	const struct snapshot *snap = &a->snap[a->cur];
	size_t i;

	if (!a->hint_from)
		a->hint_from = snap->time;
	if (a->hinted || a->opt.dry_run || snap->time - a->hint_from < HINT_AFTER)
		return;
	a->hinted = true;
	for (i = 0; i < a->cfg.n_jobs; i++) {
		const char *name = a->cfg.jobs[i].name;
		const struct snap_job *job = agent_find_job(snap, name);

		if (job && !had_any(job))
			log_msg(LOG_WARNING,
				"job %s: its rules have matched no queue pair in a minute; 'swiftrdma qp show' lists the queue pairs with their owners, and swiftrdma-policy(5) describes rules",
				name);
	}
}
