// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What would be read if the jobs of the file were in the kernel: for a dry run,
 * which puts nothing there. Rules look at nothing but a QP's owner, so they are
 * asked here as the kernel asks them: those of the file and those that others set.
 *
 * All jobs are counted from the QPs there are, each reading alike. So the rates of one
 * are unknown for an interval in which a QP of it went, and what only the kernel sums
 * up, its memory regions, is absent or as it was.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"

/* Numbers of jobs that the kernel does not have: its own count from 0. */
#define NEW_JOB 0x80000000u

struct ask {
	const struct snap_rule *rule;
	uint32_t job;
	size_t nth;		/* the older one wins among equals */
};

struct assumed {
	struct ask *asks;
	size_t n;
	uint32_t *job_of;	/* by owner */
};

static bool matches(const struct snap_rule *r, const struct snap_owner *o)
{
	bool kernel = o->kernel[0];
	const char *comm = kernel ? o->kernel : o->comm;

	if (r->comm[0] && strncmp(r->comm, comm, SNAP_COMM - 1))
		return false;
	if (r->exe[0] && strcmp(r->exe, o->exe))
		return false;
	if (kernel)
		return !r->has_uid && !r->has_pid && !r->cgroup[0];
	return (!r->has_uid || r->uid == o->uid) &&
	       (!r->has_pid || r->pid == o->pid) &&
	       (!r->cgroup[0] || !fnmatch(r->cgroup, o->cgroup, 0));
}

static int by_order(const void *x, const void *y)
{
	const struct ask *a = x, *b = y;

	if (a->rule->order != b->rule->order)
		return a->rule->order < b->rule->order ? -1 : 1;
	return a->nth < b->nth ? -1 : 1;
}

/* Among those of the reading, to which it is added if it is not there. */
static int add_job(struct snapshot *snap, const struct config_job *want,
		   uint32_t id)
{
	struct snap_job *job = agent_find_job(snap, want->name);
	size_t n = snap->n_jobs;

	if (job) {
		job->class = want->class;
		return 0;
	}
	if (n == snap->cap_jobs) {
		job = realloc(snap->jobs, 2 * (n + 1) * sizeof(*job));
		if (!job)
			return -ENOMEM;
		memset(job + n, 0, (n + 2) * sizeof(*job));
		snap->jobs = job;
		snap->cap_jobs = 2 * (n + 1);
	}
	job = &snap->jobs[n];
	free(job->stats);
	job->n_rules = 0;
	/* One for each device, as the kernel has it. */
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

/* What has rules of others too stays. */
static bool goes(const struct config *cfg, const struct snap_job *job)
{
	size_t i;

	for (i = 0; i < job->n_rules; i++)
		if (!agent_rule(&job->rules[i]))
			return false;
	return agent_left_over(cfg, job);
}

/* Behind the others, since its arrays belong to the reading. */
static void drop_job(struct snapshot *snap, size_t i)
{
	struct snap_job job = snap->jobs[i];

	snap->n_jobs--;
	memmove(&snap->jobs[i], &snap->jobs[i + 1],
		(snap->n_jobs - i) * sizeof(job));
	snap->jobs[snap->n_jobs] = job;
}

static int lay_jobs(const struct config *cfg, struct snapshot *snap)
{
	size_t i;

	for (i = snap->n_jobs; i-- > 0;)
		if (goes(cfg, &snap->jobs[i]))
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
	qsort(s->asks, s->n, sizeof(*s->asks), by_order);
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
			if (matches(s->asks[k].rule, &snap->owners[i]))
				break;
		s->job_of[i] = k < s->n ? s->asks[k].job : 0;
	}
	return 0;
}

static int by_id(const void *key, const void *job)
{
	uint32_t a = *(const uint32_t *)key, b = ((const struct snap_job *)job)->id;

	return (a > b) - (a < b);
}

/* Its place, or the one behind all. */
static size_t place(const struct snapshot *snap, uint32_t id)
{
	const struct snap_job *job = bsearch(&id, snap->jobs, snap->n_jobs,
					     sizeof(*job), by_id);

	return job ? (size_t)(job - snap->jobs) : snap->n_jobs;
}

static void move_qps(const struct assumed *s, struct snapshot *snap)
{
	size_t i;

	for (i = 0; i < snap->n_qps; i++) {
		struct snap_qp *qp = &snap->qps[i];

		if (snap_has(qp, SNAP_OWNER) && qp->owner < snap->n_owners)
			qp->job = s->job_of[qp->owner];
	}
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

static void count_all(struct snapshot *snap)
{
	size_t i, k;

	for (i = 0; i < snap->n_jobs; i++)
		for (k = 0; k < snap->jobs[i].n_stats; k++) {
			struct snap_job_stat *st = &snap->jobs[i].stats[k];

			st->qps = 0;
			st->doorbells = st->wrs = 0;
		}
	for (i = 0; i < snap->n_qps; i++) {
		k = place(snap, snap->qps[i].job);
		if (k < snap->n_jobs)
			count_qp(&snap->jobs[k], &snap->qps[i]);
	}
}

int agent_assume(const struct config *cfg, struct snapshot *snap)
{
	struct assumed s = { 0 };
	int err;

	if (agent_in_sync(cfg, snap))
		return 0;
	/* The next reading is not to go on from what the kernel never said. */
	snap->generation = 0;
	err = lay_jobs(cfg, snap);
	if (!err)
		err = list_rules(&s, cfg, snap);
	if (!err)
		err = ask_owners(&s, snap);
	if (!err) {
		move_qps(&s, snap);
		count_all(snap);
	}
	free(s.asks);
	free(s.job_of);
	return err ? err : 1;
}
