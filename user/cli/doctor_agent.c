// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doctor: the agent, its policy file, and their rules, leases and levels in the module. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/doctor.h"

#define UNIT	"swiftrdma-agent"
#define ORIGIN	"agent"		/* of its rules and leases */

/* The agent that is no dry run; NULL: there is none. */
static const struct host_agent *find_acting(const struct host *h)
{
	for (size_t i = 0; i < h->n_agents; i++)
		if (!h->agents[i].dry_run)
			return &h->agents[i];
	return NULL;
}

static bool is_unit(const struct host *h)
{
	return !h->unit.error && !strcmp(h->unit.load, "loaded");
}

/* Adds the command that makes the agent read its file again. */
static void mend_by_agent_reload(struct doctor *d, const struct host_agent *a)
{
	if (is_unit(d->host) && d->host->unit.pid == a->pid)
		doctor_mend(d, "systemctl reload " UNIT);
	else
		doctor_mend(d, "kill -HUP %u", a->pid);
}

/* --- the file ------------------------------------------------------------------- */

static void judge_file(struct doctor *d)
{
	char line[sizeof(((struct finding *)NULL)->says)];

	if (!d->file_there) {
		doctor_say(d, DOCTOR_AGENT, DOCTOR_FINE, "file", d->file,
			   "there is no policy file, so the agent decides nothing");
		return;
	}
	for (size_t i = 0; d->diag && i < d->diag->n; i++) {
		bool warning = d->diag->v[i].warning;

		doctor_say(d, DOCTOR_AGENT,
			   warning ? DOCTOR_WARNING : DOCTOR_ERROR, "file",
			   d->file, "%s",
			   diag_line(d->diag, i, line, sizeof(line)));
		doctor_mend(d, "swiftrdma policy check %s", d->file);
	}
	if (d->cfg)
		doctor_say(d, DOCTOR_AGENT, DOCTOR_FINE, "file", d->file,
			   "no mistake; jobs: %zu, policies: %zu",
			   d->cfg->n_jobs, d->cfg->policies.n);
}

/* --- the process ------------------------------------------------------------------ */

static void mend_by_start(struct doctor *d)
{
	if (is_unit(d->host))
		doctor_mend(d, "systemctl enable --now " UNIT);
	else
		doctor_mend(d, "swiftrdma-agent --config %s", d->file);
}

/* Does the policy file give an agent anything to do? */
static bool needs_agent(const struct doctor *d)
{
	return d->cfg && (d->cfg->policies.n || d->cfg->n_jobs);
}

static void judge_none(struct doctor *d)
{
	const struct host_unit *u = &d->host->unit;

	if (is_unit(d->host) && !strcmp(u->active, "failed")) {
		doctor_say(d, DOCTOR_AGENT, DOCTOR_ERROR, "runs", UNIT,
			   "it failed and is not started again; journalctl -u "
			   UNIT " says why");
		doctor_mend(d, "systemctl reset-failed " UNIT " && systemctl start " UNIT);
	} else if (needs_agent(d)) {
		doctor_say(d, DOCTOR_AGENT, DOCTOR_WARNING, "runs", UNIT,
			   "the agent does not run, so %s has no effect; jobs: %zu, policies: %zu",
			   d->file, d->cfg->n_jobs, d->cfg->policies.n);
		mend_by_start(d);
	} else {
		doctor_say(d, DOCTOR_AGENT, DOCTOR_FINE, "runs", UNIT,
			   "the agent does not run, and has nothing to do");
	}
}

static void judge_several(struct doctor *d, const struct host_agent *first)
{
	const struct host *h = d->host;
	uint32_t stays = h->unit.pid ? h->unit.pid : first->pid;

	for (size_t i = 0; i < h->n_agents; i++) {
		const struct host_agent *a = &h->agents[i];

		if (a->dry_run || a->pid == stays)
			continue;
		doctor_say(d, DOCTOR_AGENT, DOCTOR_ERROR, "alone", UNIT,
			   "two agents run, process %u and process %u, and undo each other's changes",
			   stays, a->pid);
		doctor_mend(d, "kill %u", a->pid);
	}
}

static void judge_runs(struct doctor *d)
{
	const struct host *h = d->host;
	const struct host_agent *a = find_acting(h);

	if (!a && h->n_agents) {
		doctor_say(d, DOCTOR_AGENT, DOCTOR_WARNING, "runs", UNIT,
			   "process %u only logs what it would do (--dry-run)",
			   h->agents[0].pid);
		mend_by_start(d);
		return;
	}
	if (!a) {
		judge_none(d);
		return;
	}
	judge_several(d, a);
	if (is_unit(h) && h->unit.pid && !strcmp(h->unit.active, "active") &&
	    strncmp(h->unit.enabled, "enabled", 7)) {
		doctor_say(d, DOCTOR_AGENT, DOCTOR_WARNING, "runs", UNIT,
			   "the agent runs (process %u), but will not be started at the next boot",
			   a->pid);
		doctor_mend(d, "systemctl enable " UNIT);
		return;
	}
	doctor_say(d, DOCTOR_AGENT, DOCTOR_FINE, "runs", UNIT,
		   "the agent runs, process %u, with %s%s", a->pid, d->file,
		   h->unit.pid == a->pid ? ", as a service" : "");
}

/* --- its rules, leases and levels in the module --------------------------------------- */

static bool is_agents(const struct snap_job *job)
{
	for (size_t i = 0; i < job->n_rules; i++)
		if (!strcmp(job->rules[i].origin, ORIGIN))
			return true;
	return false;
}

static void judge_jobs(struct doctor *d, const struct host_agent *a)
{
	bool stale = false;

	for (size_t i = 0; i < d->cfg->n_jobs; i++) {
		const struct config_job *j = &d->cfg->jobs[i];
		const struct snap_job *job = reading_job_named(d->snap, j->name);

		if (!j->n_rules || (job && is_agents(job)))
			continue;
		doctor_say(d, DOCTOR_AGENT, DOCTOR_WARNING, "jobs", j->name,
			   "the module does not have this job of %s: the file changed, and the agent has not read it since",
			   d->file);
		mend_by_agent_reload(d, a);
		stale = true;
	}
	if (!stale && d->cfg->n_jobs) {
		doctor_say(d, DOCTOR_AGENT, DOCTOR_FINE, "jobs", UNIT,
			   "the module has all %zu jobs of the file",
			   d->cfg->n_jobs);
		doctor_detail(d);
	}
}

/* What a level means, in words. */
static const char *level_words(char *buf, size_t len, bool has_dscp,
			       uint32_t dscp, bool has_sl, uint32_t sl)
{
	if (has_dscp && has_sl)
		snprintf(buf, len, "DSCP %u and SL %u", dscp, sl);
	else if (has_dscp)
		snprintf(buf, len, "DSCP %u", dscp);
	else
		snprintf(buf, len, "SL %u", sl);
	return buf;
}

static bool is_alike(const struct config_level *want, const struct io_level *is)
{
	return is->has_dscp == want->has_dscp && is->has_sl == want->has_sl &&
	       (!is->has_dscp || is->dscp == want->dscp) && (!is->has_sl || is->sl == want->sl);
}

static void judge_levels(struct doctor *d, const struct host_agent *a)
{
	for (size_t i = 0; i < d->cfg->n_levels; i++) {
		const struct config_level *want = &d->cfg->levels[i];
		const struct io_level *is = NULL;
		char object[16], says[32], has[32];

		for (int k = 0; k < d->n_levels; k++)
			if (d->levels[k].level == want->level)
				is = &d->levels[k];
		if (is && is_alike(want, is))
			continue;
		level_words(says, sizeof(says), want->has_dscp, want->dscp,
			    want->has_sl, want->sl);
		snprintf(object, sizeof(object), "level %u", want->level);
		if (is)
			doctor_say(d, DOCTOR_AGENT, DOCTOR_WARNING, "levels",
				   object,
				   "%s says %s, and the module has %s",
				   d->file, says,
				   level_words(has, sizeof(has), is->has_dscp,
					       is->dscp, is->has_sl, is->sl));
		else
			doctor_say(d, DOCTOR_AGENT, DOCTOR_WARNING, "levels",
				   object,
				   "%s says %s, and the module has no such level",
				   d->file, says);
		mend_by_agent_reload(d, a);
	}
}

static void judge_lease(struct doctor *d)
{
	uint64_t lease = 0;
	uint32_t left = 0;
	size_t n = 0;

	for (size_t i = 0; i < d->n_actions; i++) {
		const struct snap_action *a = &d->actions[i];

		if (strcmp(a->lease_origin, ORIGIN))
			continue;
		lease = a->lease_id;
		left = a->lease_ttl_ms;
		n++;
	}
	if (n)
		doctor_say(d, DOCTOR_AGENT, DOCTOR_FINE, "lease", UNIT,
			   "the agent holds lease %llu, with %zu change%s and %u ms left",
			   (unsigned long long)lease, n, n == 1 ? "" : "s",
			   left);
	else
		doctor_say(d, DOCTOR_AGENT, DOCTOR_FINE, "lease", UNIT,
			   "the agent holds no lease: no policy wants a change now");
}

void doctor_agent(struct doctor *d)
{
	const struct host_agent *a = find_acting(d->host);

	judge_file(d);
	judge_runs(d);
	if (!a || !d->answers)
		return;
	if (!d->snap->admin || d->actions_error) {
		doctor_say(d, DOCTOR_AGENT, DOCTOR_UNSEEN, "lease", UNIT,
			   "the agent's jobs and lease are visible with CAP_NET_ADMIN only");
		return;
	}
	if (d->cfg) {
		judge_jobs(d, a);
		judge_levels(d, a);
	}
	judge_lease(d);
}
