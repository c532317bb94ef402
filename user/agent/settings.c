// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Properties of jobs: chunk, huge_pages and follow. All three are overrides under one lease, which
 * is separate from the leases of policies, because those come and go.
 *
 * Libraries in the processes of a job enforce chunk and huge_pages, which are set while a process
 * of the job has a library that can enforce them. follow is set while the peer of a QP of the job
 * wishes a level. While any peer wishes a level, the agent keeps the lease even without an override
 * in it: from the lease the module knows that this host has an agent, and it tells the peer.
 */
#include <errno.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "base/array.h"
#include "core/follow.h"

#define NSEC_PER_MSEC 1000000ULL

static uint64_t job_property(const struct config_job *job, unsigned int knob)
{
	return knob == SWIFTRDMA_KNOB_CHUNK ? job->chunk : job->huge_pages;
}

bool agent_has_settings(const struct config *cfg)
{
	for (size_t i = 0; i < cfg->n_jobs; i++)
		if (cfg->jobs[i].chunk || cfg->jobs[i].huge_pages)
			return true;
	return false;
}

/* The setting of @v for the same job and knob; NULL: there is none. */
static struct agent_setting *find_setting(struct agent_setting *v, size_t n, uint32_t job_id,
					  unsigned int knob)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].job_id == job_id && v[i].knob == knob)
			return &v[i];
	return NULL;
}

static struct agent_setting *want_setting(struct agent *a, const struct config_job *job,
					  uint32_t job_id, unsigned int knob, uint64_t value)
{
	struct agent_setting *to = &a->settings.want[a->settings.n_want++];

	*to = (struct agent_setting){ .job_id = job_id, .knob = knob, .value = value };
	memcpy(to->job, job->name, sizeof(to->job));
	return to;
}

/*
 * Wants @knob of a job if a library enforces the knob there. A reading without reports does not
 * show libraries: after it the knob is wanted if it was in force before, with the file's value.
 */
static void want_library(struct agent *a, const struct config_job *job, uint32_t job_id,
			 unsigned int knob, bool reports)
{
	struct agent_settings *s = &a->settings;

	if (job_property(job, knob) &&
	    (reports ? agent_has_library(a, job->name, knob) :
		       find_setting(s->is, s->n_is, job_id, knob) != NULL))
		want_setting(a, job, job_id, knob, job_property(job, knob));
}

static void want_follow(struct agent *a, const struct config_job *job, uint32_t job_id)
{
	const struct snapshot *snap = &a->snap[a->cur];
	struct follow_wishes w = follow_find(snap, job_id);
	struct agent_setting *to;
	struct text t;

	if (!w.n)
		return;
	to = want_setting(a, job, job_id, SWIFTRDMA_KNOB_FOLLOW, job->follow);
	text_init(&t, to->reason, sizeof(to->reason));
	follow_reason(&t, snap, &w, job->follow, job->follows_order);
}

/* Lists the settings that should be in force. 0 or -ENOMEM. */
static int list_settings(struct agent *a, bool reports)
{
	struct agent_settings *s = &a->settings;
	const struct snapshot *snap = &a->snap[a->cur];

	s->n_want = 0;
	if (!array_reserve(&s->want, &s->cap_want, 3 * a->cfg.n_jobs, sizeof(*s->want)))
		return -ENOMEM;
	for (size_t i = 0; i < a->cfg.n_jobs; i++) {
		const struct config_job *job = &a->cfg.jobs[i];
		const struct snap_job *is = agent_find_job(snap, job->name);

		if (!is)
			continue;
		want_library(a, job, is->id, SWIFTRDMA_KNOB_CHUNK, reports);
		want_library(a, job, is->id, SWIFTRDMA_KNOB_HUGE_PAGES, reports);
		if (job->follows && s->wished)
			want_follow(a, job, is->id);
	}
	return 0;
}

static void log_setting(const struct agent *a, const struct agent_setting *v, bool clear)
{
	const struct vocab_knob *k = vocab_knob(v->knob);
	char value[32];
	struct text t;

	text_init(&t, value, sizeof(value));
	vocab_format(&t, (double)v->value, k->unit);
	if (clear)
		log_msg(LOG_INFO, "%sjob %s: %s released%s", a->opt.dry_run ? "dry run, would: " : "",
			v->job, k->name,
			v->knob == SWIFTRDMA_KNOB_FOLLOW ? ": no peer wishes a level any more" : "");
	else
		log_msg(LOG_INFO, "%sjob %s: %s = %s%s%s",
			a->opt.dry_run ? "dry run, would: " : "", v->job, k->name, value,
			v->reason[0] ? ": " : ", as the policy file says", v->reason);
}

static int send_setting(struct agent *a, const struct agent_setting *v, bool clear)
{
	uint32_t ttl = (uint32_t)(agent_lease_life(a) / NSEC_PER_MSEC);
	struct agent_settings *s = &a->settings;
	struct snap_action act = { .knob = v->knob, .clear = clear };
	uint64_t batch;
	int err = 0;

	act.value = clear ? 0 : v->value;
	memcpy(act.job, v->job, sizeof(act.job));
	strcpy(act.reason, v->reason[0] ? v->reason : "property of the job in the policy file");
	if (!a->opt.dry_run)
		err = io_act(a->io, &s->lease, ttl, a->cfg.rank, AGENT_ORIGIN, &act, 1, &batch);
	if (err < 0) {
		log_msg(LOG_WARNING, "not done: job %s: %s: %s", v->job, vocab_knob(v->knob)->name,
			io_error(a->io));
		return err;
	}
	s->renewed = a->snap[a->cur].time;
	log_setting(a, v, clear);
	return 0;
}

/* Does the job still exist? If not, the kernel dropped its overrides with it. */
static bool has_job(const struct snapshot *snap, const struct agent_setting *v)
{
	const struct snap_job *job = agent_find_job(snap, v->job);

	return job && job->id == v->job_id;
}

/* Releases what should not be in force any more. */
static void release_settings(struct agent *a)
{
	struct agent_settings *s = &a->settings;
	size_t left = 0;

	for (size_t i = 0; i < s->n_is; i++) {
		const struct agent_setting *v = &s->is[i];

		if (find_setting(s->want, s->n_want, v->job_id, v->knob)) {
			s->is[left++] = *v;
			continue;
		}
		/* A setting whose release fails ends with its job or with the lease. */
		if (has_job(&a->snap[a->cur], v))
			send_setting(a, v, true);
	}
	s->n_is = left;
}

static void add_settings(struct agent *a)
{
	struct agent_settings *s = &a->settings;

	for (size_t i = 0; i < s->n_want; i++) {
		const struct agent_setting *v = &s->want[i];
		struct agent_setting *is = find_setting(s->is, s->n_is, v->job_id, v->knob);

		if ((is && is->value == v->value) || send_setting(a, v, false) < 0)
			continue;
		if (is)
			is->value = v->value;
		else
			s->is[s->n_is++] = *v;
	}
}

void agent_settings_renew(struct agent *a)
{
	uint32_t ttl = (uint32_t)(agent_lease_life(a) / NSEC_PER_MSEC);
	struct agent_settings *s = &a->settings;
	uint64_t batch;
	int err;

	if (!a->io || !s->lease)
		return;
	err = io_act(a->io, &s->lease, ttl, a->cfg.rank, AGENT_ORIGIN, NULL, 0, &batch);
	/* A module that is being disarmed keeps its leases until the disarm has succeeded. */
	if (err == -ESHUTDOWN)
		return;
	if (err < 0)
		agent_settings_lost(a);
	else
		s->renewed = a->snap[a->cur].time;
}

void agent_settings_keep(struct agent *a)
{
	const struct agent_settings *s = &a->settings;

	if (a->snap[a->cur].time - s->renewed >= agent_lease_life(a) / 3)
		agent_settings_renew(a);
}

/* Takes a lease, by which the modules of peers learn that this host has an agent. */
static void show_presence(struct agent *a)
{
	uint32_t ttl = (uint32_t)(agent_lease_life(a) / NSEC_PER_MSEC);
	struct agent_settings *s = &a->settings;
	uint64_t batch;

	if (s->lease || a->opt.dry_run)
		return;
	if (io_act(a->io, &s->lease, ttl, a->cfg.rank, AGENT_ORIGIN, NULL, 0, &batch) < 0)
		s->lease = 0;
	s->renewed = a->snap[a->cur].time;
}

void agent_settings(struct agent *a, bool reports)
{
	struct agent_settings *s = &a->settings;

	s->wished = follow_any(&a->snap[a->cur], s->followed);
	if (!reports && !s->wished && !s->followed)
		return;
	if (list_settings(a, reports) < 0 ||
	    !array_reserve(&s->is, &s->cap_is, s->n_is + s->n_want, sizeof(*s->is))) {
		log_msg(LOG_ERR, "out of memory");
		return;
	}
	release_settings(a);
	add_settings(a);
	s->followed = s->wished;
	if (s->wished)
		show_presence(a);
	else if (!s->n_is)
		agent_settings_stop(a);
}

void agent_settings_lost(struct agent *a)
{
	a->settings.lease = 0;
	a->settings.n_is = 0;
}

void agent_settings_stop(struct agent *a)
{
	if (a->io && a->settings.lease)
		io_act(a->io, &a->settings.lease, 0, 0, AGENT_ORIGIN, NULL, 0, NULL);
	agent_settings_lost(a);
}
