// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Properties of jobs that the libraries in their processes enforce: chunk and huge_pages. They
 * are overrides under a lease of their own, so that leases of policies may come and go. A
 * property is set while a process of the job has a library that can enforce it.
 */
#include <errno.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "core/array.h"

#define NSEC_PER_MSEC 1000000ULL

static uint64_t property(const struct config_job *job, unsigned int knob)
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

/* Lists the settings that should be in force. 0 or -ENOMEM. */
static int list_settings(struct agent *a)
{
	static const unsigned int knobs[] = { SWIFTRDMA_KNOB_CHUNK, SWIFTRDMA_KNOB_HUGE_PAGES };
	struct agent_settings *s = &a->settings;
	const struct snapshot *snap = &a->snap[a->cur];

	s->n_want = 0;
	if (!array_reserve(&s->want, &s->cap_want, 2 * a->cfg.n_jobs, sizeof(*s->want)))
		return -ENOMEM;
	for (size_t i = 0; i < a->cfg.n_jobs; i++) {
		const struct config_job *job = &a->cfg.jobs[i];
		const struct snap_job *is = agent_find_job(snap, job->name);

		for (size_t k = 0; is && k < 2; k++) {
			struct agent_setting *to = &s->want[s->n_want];

			if (!property(job, knobs[k]) ||
			    !agent_has_library(a, job->name, knobs[k]))
				continue;
			memcpy(to->job, job->name, sizeof(to->job));
			to->job_id = is->id;
			to->knob = knobs[k];
			to->value = property(job, knobs[k]);
			s->n_want++;
		}
	}
	return 0;
}

/* The setting of @v for the same job and knob; NULL: there is none. */
static struct agent_setting *find_setting(struct agent_setting *v, size_t n,
					  const struct agent_setting *key)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].job_id == key->job_id && v[i].knob == key->knob)
			return &v[i];
	return NULL;
}

static void log_setting(const struct agent *a, const struct agent_setting *v, bool clear)
{
	const struct vocab_knob *k = vocab_knob(v->knob);
	char value[32];
	struct text t;

	text_init(&t, value, sizeof(value));
	vocab_format(&t, (double)v->value, k->unit);
	if (clear)
		log_msg(LOG_INFO, "%sjob %s: %s released", a->opt.dry_run ? "dry run, would: " : "",
			v->job, k->name);
	else
		log_msg(LOG_INFO, "%sjob %s: %s = %s, as the policy file says",
			a->opt.dry_run ? "dry run, would: " : "", v->job, k->name, value);
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
	strcpy(act.reason, "property of the job in the policy file");
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

		if (find_setting(s->want, s->n_want, v)) {
			s->is[left++] = *v;
			continue;
		}
		/* What cannot be released is dropped with its job, or with the lease. */
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
		struct agent_setting *is = find_setting(s->is, s->n_is, v);

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

	if (!a->io || !s->lease)
		return;
	if (io_act(a->io, &s->lease, ttl, a->cfg.rank, AGENT_ORIGIN, NULL, 0, &batch) < 0)
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

void agent_settings(struct agent *a)
{
	struct agent_settings *s = &a->settings;

	if (list_settings(a) < 0 ||
	    !array_reserve(&s->is, &s->cap_is, s->n_is + s->n_want, sizeof(*s->is))) {
		log_msg(LOG_ERR, "out of memory");
		return;
	}
	release_settings(a);
	add_settings(a);
	if (!s->n_is)
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
