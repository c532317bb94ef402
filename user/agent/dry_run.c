// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Changes a snapshot as if the jobs of the policy file were in the kernel, where a dry run does not
 * set them. A rule depends only on a QP's owner, so the rules of the file, and the rules that
 * others set, are applied here as the kernel applies them.
 *
 * The figures of each job are sums over the QPs in the snapshot. When a QP is destroyed, its
 * counters leave the sums, so the rates of its job are unknown or too low for that interval.
 * Figures that only the kernel has, such as those of memory regions, are absent or unchanged.
 *
 * The kernel adds up what libraries report, latencies included, by its own jobs. If the file gives
 * a job other QPs than the job has in the kernel, these sums are dropped, and the p99 of the job is
 * unknown. The sums of all other jobs are kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "base/array.h"
#include "core/rule.h"

/* First id of a job that the kernel does not have. The kernel counts from 0. */
#define NEW_JOB 0x80000000u

struct ask {
	const struct snap_rule *rule;
	uint32_t job;
	size_t nth;		/* among equal orders the first rule wins */
};

struct assumed {
	struct ask *asks;
	size_t n;
	uint32_t *job_of;	/* by owner */
	bool *changed;		/* by row of a job: it gets or loses QPs */
};

static int compare_order(const void *x, const void *y)
{
	const struct ask *a = x, *b = y;

	if (a->rule->order != b->rule->order)
		return a->rule->order < b->rule->order ? -1 : 1;
	return a->nth < b->nth ? -1 : 1;
}

/* Adds a job of the file to the snapshot unless it is there. */
static int add_job(struct snapshot *snap, const struct config_job *want,
		   uint32_t id)
{
	struct snap_job *job = agent_find_job(snap, want->name);
	size_t n = snap->n_jobs, had = snap->cap_jobs;

	if (job) {
		job->class = want->class;
		return 0;
	}
	if (!array_reserve(&snap->jobs, &snap->cap_jobs, n + 1, sizeof(*job)))
		return -ENOMEM;
	/* New places have no arrays yet. */
	memset(snap->jobs + had, 0, (snap->cap_jobs - had) * sizeof(*job));
	job = &snap->jobs[n];
	free(job->stats);
	job->n_rules = 0;
	/* The kernel, too, has one entry for each device. */
	job->n_stats = snap->n_devs;
	job->stats = calloc(snap->n_devs + 1, sizeof(*job->stats));
	if (!job->stats) {
		job->n_stats = 0;
		return -ENOMEM;
	}
	for (n = 0; n < snap->n_devs; n++)
		job->stats[n] = (struct snap_job_stat){
			.has = SNAP_DOORBELLS | SNAP_WRS,
			.dev = snap->devs[n].index,
		};
	job->id = id;
	job->class = want->class;
	memcpy(job->name, want->name, sizeof(job->name));
	job->since = 0;
	job->time = snap->time;
	snap->n_jobs++;
	return 0;
}

/* A job that also has rules of another origin stays. */
static bool is_dropped(const struct config *cfg, const struct snap_job *job)
{
	size_t i;

	for (i = 0; i < job->n_rules; i++)
		if (!agent_rule(&job->rules[i]))
			return false;
	return agent_left_over(cfg, job);
}

/* Moves the job behind the last one in use, where the next reading reuses its arrays. */
static void drop_job(struct snapshot *snap, size_t i)
{
	struct snap_job job = snap->jobs[i];

	snap->n_jobs--;
	memmove(&snap->jobs[i], &snap->jobs[i + 1],
		(snap->n_jobs - i) * sizeof(job));
	snap->jobs[snap->n_jobs] = job;
}

static int replace_jobs(const struct config *cfg, struct snapshot *snap)
{
	size_t i;

	for (i = snap->n_jobs; i-- > 0;)
		if (is_dropped(cfg, &snap->jobs[i]))
			drop_job(snap, i);
	for (i = 0; i < cfg->n_jobs; i++)
		if (add_job(snap, &cfg->jobs[i], NEW_JOB + (uint32_t)i))
			return -ENOMEM;
	return 0;
}

static void add_rules(struct assumed *s, const struct snap_rule *rules,
		      size_t n, uint32_t job, bool file)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!file && agent_rule(&rules[i]))
			continue;
		s->asks[s->n] = (struct ask){ &rules[i], job, s->n };
		s->n++;
	}
}

static int list_rules(struct assumed *s, const struct config *cfg,
		      const struct snapshot *snap)
{
	size_t i, n = 1;

	for (i = 0; i < snap->n_jobs; i++)
		n += snap->jobs[i].n_rules;
	for (i = 0; i < cfg->n_jobs; i++)
		n += cfg->jobs[i].n_rules;
	s->asks = calloc(n, sizeof(*s->asks));
	if (!s->asks)
		return -ENOMEM;
	for (i = 0; i < snap->n_jobs; i++)
		add_rules(s, snap->jobs[i].rules, snap->jobs[i].n_rules,
			  snap->jobs[i].id, false);
	for (i = 0; i < cfg->n_jobs; i++)
		add_rules(s, cfg->jobs[i].rules, cfg->jobs[i].n_rules,
			  agent_find_job(snap, cfg->jobs[i].name)->id, true);
	qsort(s->asks, s->n, sizeof(*s->asks), compare_order);
	return 0;
}

static int ask_owners(struct assumed *s, const struct snapshot *snap)
{
	size_t i, k;

	s->job_of = calloc(snap->n_owners + 1, sizeof(*s->job_of));
	if (!s->job_of)
		return -ENOMEM;
	for (i = 0; i < snap->n_owners; i++) {
		for (k = 0; k < s->n; k++)
			if (rule_matches(s->asks[k].rule, &snap->owners[i]))
				break;
		s->job_of[i] = k < s->n ? s->asks[k].job : 0;
	}
	return 0;
}

/* The row of a job, or n_jobs. */
static size_t find_job_row(const struct snapshot *snap, uint32_t id)
{
	return array_lookup(snap->n_jobs, i, ARRAY_CMP(snap->jobs[i].id, id));
}

static int move_qps(struct assumed *s, struct snapshot *snap)
{
	size_t i;

	/* The last one stands for jobs that the file drops. */
	s->changed = calloc(snap->n_jobs + 1, sizeof(*s->changed));
	if (!s->changed)
		return -ENOMEM;
	for (i = 0; i < snap->n_qps; i++) {
		struct snap_qp *qp = &snap->qps[i];
		uint32_t to;

		if (!snap_has(qp, SNAP_OWNER) || qp->owner >= snap->n_owners)
			continue;
		to = s->job_of[qp->owner];
		if (to == qp->job)
			continue;
		s->changed[find_job_row(snap, qp->job)] = true;
		s->changed[find_job_row(snap, to)] = true;
		qp->job = to;
	}
	return 0;
}

/* Drops the reports of jobs that have other QPs in the kernel. False: there are none. */
static bool drop_reports(const struct assumed *s, struct snapshot *snap)
{
	size_t i, n = 0, row;

	for (i = 0; i < snap->n_job_reports; i++) {
		row = find_job_row(snap, snap->job_reports[i].job);
		if (row < snap->n_jobs && !s->changed[row])
			snap->job_reports[n++] = snap->job_reports[i];
	}
	if (n == snap->n_job_reports)
		return false;
	snap->n_job_reports = n;
	return true;
}

static void say_dropped(struct agent *a, const struct assumed *s, const struct snapshot *snap)
{
	char names[128];
	struct text t;
	size_t i;

	text_init(&t, names, sizeof(names));
	for (i = 0; i < snap->n_jobs; i++) {
		if (!s->changed[i])
			continue;
		text_str(&t, t.len ? ", " : "");
		text_str(&t, snap->jobs[i].name);
	}
	/* A job without QPs that the file drops changes no other job. */
	if (!t.len)
		return;
	a->dropped_said = true;
	log_msg(LOG_INFO,
		"dry run: the file changes whose processes these jobs have, so p99 and all else that libraries report by job is unknown of them: %s%s (logged once)",
		names, t.cut ? "..." : "");
}

static void count_qp(struct snap_job *job, const struct snap_qp *qp)
{
	size_t i;

	for (i = 0; i < job->n_stats; i++) {
		struct snap_job_stat *st = &job->stats[i];

		if (st->dev != qp->dev)
			continue;
		st->qps++;
		st->doorbells += qp->doorbells;
		st->wrs += qp->wrs;
		st->has &= qp->has | ~(uint64_t)(SNAP_DOORBELLS | SNAP_WRS);
	}
}

static void count_qps(struct snapshot *snap)
{
	size_t i, k;

	for (i = 0; i < snap->n_jobs; i++)
		for (k = 0; k < snap->jobs[i].n_stats; k++) {
			struct snap_job_stat *st = &snap->jobs[i].stats[k];

			st->qps = 0;
			st->doorbells = st->wrs = 0;
		}
	for (i = 0; i < snap->n_qps; i++) {
		k = find_job_row(snap, snap->qps[i].job);
		if (k < snap->n_jobs)
			count_qp(&snap->jobs[k], &snap->qps[i]);
	}
}

int agent_assume(struct agent *a)
{
	struct snapshot *snap = &a->snap[a->cur];
	const struct config *cfg = &a->cfg;
	struct assumed s = { 0 };
	int err;

	if (agent_in_sync(cfg, snap))
		return 0;
	/* Force a full dump next time: this snapshot is no longer the kernel's. */
	snap->generation = 0;
	snap->qps_since = 0;
	err = replace_jobs(cfg, snap);
	if (!err)
		err = list_rules(&s, cfg, snap);
	if (!err)
		err = ask_owners(&s, snap);
	if (!err)
		err = move_qps(&s, snap);
	if (!err) {
		count_qps(snap);
		if (drop_reports(&s, snap) && !a->dropped_said)
			say_dropped(a, &s, snap);
	}
	free(s.asks);
	free(s.job_of);
	free(s.changed);
	return err ? err : 1;
}
