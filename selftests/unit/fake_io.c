// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * io.h over a made-up kernel: one scene that a test changes between readings,
 * leases that run out on the scene's clock, jobs that are remembered, and
 * errors on request. Included by the test that wants it, so that its functions
 * are found before those of the real io.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/io.h"
#include "io/owner.h"
#include "unit/notify.h"
#include "unit/snap_build.h"

#define FAKE_ACTIONS 32

static struct fake {
	struct made scene;
	bool loaded, disarmed;
	int snapshot_error, act_error, events_error;
	char bad_job[SNAP_NAME];	/* a batch that names it is refused */
	char gone_job[SNAP_NAME];	/* the same, because the kernel has no such job any more */
	/* the lease, if any */
	uint64_t lease, lease_end, last_lease, last_batch;
	uint32_t ttl_ms, rank;
	/* what is in force, by job; -1: nothing */
	int level[8];
	struct snap_action got[FAKE_ACTIONS];
	size_t n_got, acts, renewals, ends, opens;
	size_t handles;			/* open, and half open */
	size_t tries;			/* that met act_error */
	size_t snapshots;		/* that were read */
	/* rules set and removed */
	char set[8][SNAP_NAME], removed[8][SNAP_NAME];
	size_t n_set, n_removed, n_levels_set;
	struct io_level levels[SWIFTRDMA_LEVEL_MAX + 1];
	struct snap_event event;
	unsigned int events_due;	/* the same one, so many times */
	/* instead of these, if there is one */
	int (*events)(void (*cb)(const struct snap_event *, void *), void *arg);
	struct io_want want;		/* of the last reading */
	struct snap_action held[FAKE_ACTIONS];	/* what io_actions() says */
	size_t n_held;
	struct io_peer peer;		/* what the other end of each connection says */
	struct recorder *recorder;	/* what is read goes there, too */
} fake;

struct io {
	int nothing;
};

static struct io the_io;

static void fake_expire(void)
{
	if (fake.lease && fake.scene.s.time > fake.lease_end) {
		fake.lease = 0;
		memset(fake.level, -1, sizeof(fake.level));
	}
}

int io_open(struct io **io)
{
	*io = &the_io;
	fake.handles++;
	if (!fake.loaded)
		return -ENOENT;
	fake.opens++;
	return 0;
}

void io_close(struct io *io)
{
	if (io)
		fake.handles--;
}

const char *io_error(const struct io *io)
{
	(void)io;
	return "the fake says no";
}

static void *copy(void *old, const void *from, size_t n, size_t size)
{
	void *p = realloc(old, n ? n * size : size);

	if (!p)
		abort();
	if (n)
		memcpy(p, from, n * size);
	return p;
}

static void free_jobs(struct snapshot *snap)
{
	size_t i;

	for (i = 0; i < snap->cap_jobs; i++) {
		free(snap->jobs[i].rules);
		free(snap->jobs[i].stats);
	}
}

int io_snapshot(struct io *io, struct snapshot *snap, const struct io_want *want)
{
	const struct snapshot *s = &fake.scene.s;
	size_t i;

	(void)io;
	if (want)
		fake.want = *want;
	if (!fake.loaded)
		return -ENODEV;
	if (fake.snapshot_error)
		return fake.snapshot_error;
	fake.snapshots++;
	fake_expire();
	free_jobs(snap);
#define COPY(what) \
	snap->what = copy(snap->what, s->what, s->n_##what, sizeof(*s->what)); \
	snap->n_##what = snap->cap_##what = s->n_##what
	COPY(devs);
	COPY(ports);
	COPY(uars);
	COPY(qps);
	COPY(jobs);
	COPY(owners);
	COPY(job_reports);
	COPY(qp_reports);
#undef COPY
	for (i = 0; i < snap->n_jobs; i++) {
		struct snap_job *j = &snap->jobs[i];

		j->stats = copy(NULL, j->stats, j->n_stats, sizeof(*j->stats));
		j->rules = copy(NULL, j->rules, j->n_rules, sizeof(*j->rules));
	}
	snap->time = s->time;
	snap->admin = s->admin;
	snap->armed = !fake.disarmed;
	if (fake.recorder)
		recorder_snapshot(fake.recorder, s);
	return 0;
}

void snapshot_free(struct snapshot *snap)
{
	free_jobs(snap);
	free(snap->devs);
	free(snap->ports);
	free(snap->uars);
	free(snap->qps);
	free(snap->changed);
	free(snap->qp_key);
	free(snap->jobs);
	srdma_owners_free(snap);
	free(snap->job_reports);
	free(snap->qp_reports);
	memset(snap, 0, sizeof(*snap));
}

static struct snap_job *fake_job(const char *name)
{
	size_t i;

	for (i = 0; i < fake.scene.s.n_jobs; i++)
		if (!strcmp(fake.scene.jobs[i].name, name))
			return &fake.scene.jobs[i];
	return NULL;
}

int io_act(struct io *io, uint64_t *lease, uint32_t ttl_ms, uint32_t rank,
	   const char *origin, const struct snap_action *actions, size_t n,
	   uint64_t *batch)
{
	size_t i;

	(void)io;
	(void)origin;
	if (!fake.loaded)
		return -ENODEV;
	if (fake.disarmed)
		return -ESHUTDOWN;
	if (fake.act_error) {
		fake.tries++;
		return fake.act_error;
	}
	fake_expire();
	if (*lease && *lease != fake.lease)
		return -ENOENT;
	for (i = 0; i < n; i++) {
		if (!fake_job(actions[i].job) || !strcmp(actions[i].job, fake.gone_job))
			return -ENOENT;
		if (!strcmp(actions[i].job, fake.bad_job))
			return -EINVAL;
	}
	if (*lease && !ttl_ms) {
		fake.lease = 0;
		fake.ends++;
		memset(fake.level, -1, sizeof(fake.level));
		return 0;
	}
	/* A lease keeps the rank that it began with. */
	if (!*lease) {
		*lease = fake.lease = ++fake.last_lease;
		fake.rank = rank;
	}
	fake.ttl_ms = ttl_ms;
	fake.lease_end = fake.scene.s.time + ttl_ms * MS;
	if (batch)
		*batch = ++fake.last_batch;
	fake.acts += n > 0;
	fake.renewals += !n;
	for (i = 0; i < n; i++) {
		const struct snap_action *a = &actions[i];

		if (fake.n_got < FAKE_ACTIONS)
			fake.got[fake.n_got++] = *a;
		fake.level[fake_job(a->job)->id] =
			a->clear ? -1 : (int)a->value;
	}
	return 0;
}

int io_armed(struct io *io)
{
	(void)io;
	return fake.disarmed ? -ESHUTDOWN : 0;
}

int io_job_set(struct io *io, const char *name, const char *origin,
	       uint32_t class, const struct snap_rule *rules, size_t n)
{
	struct snap_job *j = fake_job(name);
	size_t i;

	(void)io;
	if (fake.n_set < 8)
		snprintf(fake.set[fake.n_set++], SNAP_NAME, "%s", name);
	if (!j)
		j = made_job(&fake.scene, (uint32_t)fake.scene.s.n_jobs, name,
			     class);
	j->class = class;
	free(j->rules);
	j->rules = copy(NULL, rules, n, sizeof(*rules));
	j->n_rules = n;
	for (i = 0; i < n; i++)
		snprintf(j->rules[i].origin, SNAP_NAME, "%s", origin);
	return 0;
}

int io_job_del(struct io *io, const char *name, const char *origin)
{
	struct snap_job *j = fake_job(name);

	(void)io;
	(void)origin;
	if (fake.n_removed < 8)
		snprintf(fake.removed[fake.n_removed++], SNAP_NAME, "%s",
			 name);
	if (!j)
		return -ENOENT;
	j->n_rules = 0;
	return 0;
}

int io_levels(struct io *io, struct io_level *levels, size_t cap)
{
	size_t i, n = 0;

	(void)io;
	for (i = 0; n < cap && i <= SWIFTRDMA_LEVEL_MAX; i++)
		if (fake.levels[i].has_dscp || fake.levels[i].has_sl)
			levels[n++] = fake.levels[i];
	return (int)n;
}

int io_levels_set(struct io *io, const struct io_level *levels, size_t n)
{
	size_t i;

	(void)io;
	for (i = 0; i < n; i++)
		fake.levels[levels[i].level] = levels[i];
	fake.n_levels_set += n;
	return 0;
}

int io_actions(struct io *io, struct snap_action **actions, size_t *n)
{
	(void)io;
	*actions = copy(NULL, fake.held, fake.n_held, sizeof(*fake.held));
	*n = fake.n_held;
	return 0;
}

int io_peer(struct io *io, uint32_t dev, uint32_t qpn, struct io_peer *peer)
{
	(void)io;
	if (!fake.loaded)
		return -ENODEV;
	*peer = fake.peer;
	peer->dev = dev;
	peer->qpn = qpn;
	return 0;
}

int io_addresses(const struct snapshot *snap, struct pair_addr **addrs,
		 size_t *n)
{
	(void)snap;
	*addrs = NULL;
	*n = 0;
	return 0;
}

int io_events_open(struct io *io)
{
	(void)io;
	return fake.events_error ? fake.events_error : 1000;
}

int io_events_read(struct io *io, void (*cb)(const struct snap_event *, void *),
		   void *arg)
{
	(void)io;
	if (fake.events)
		return fake.events(cb, arg);
	if (!fake.events_due)
		return 0;
	fake.events_due--;
	if (fake.recorder)
		notify_record(fake.recorder, fake.scene.s.time, &fake.event);
	cb(&fake.event, arg);
	return 1;
}

void io_record(struct io *io, struct recorder *r)
{
	(void)io;
	fake.recorder = r;
}

static void fake_reset(void)
{
	size_t i;

	size_t handles = fake.handles;

	for (i = 0; i < fake.scene.s.n_jobs; i++)
		free(fake.scene.jobs[i].rules);
	memset(&fake, 0, sizeof(fake));
	fake.handles = handles;
	memset(fake.level, -1, sizeof(fake.level));
	fake.loaded = true;
	made_scene(&fake.scene, 1000, 0);
}

/* The module lets go: leases end, then its devices are gone from it. */
static inline void fake_disarm(void)
{
	fake.disarmed = true;
	fake.lease = 0;
	memset(fake.level, -1, sizeof(fake.level));
	fake.scene.s.n_qps = fake.scene.s.n_uars = 0;
	fake.scene.s.n_ports = fake.scene.s.n_devs = 0;
	for (size_t i = 0; i < fake.scene.s.n_jobs; i++)
		fake.scene.jobs[i].n_stats = 0;
}

/* Time goes by, in which the port sends at @share of its 20 Mbit/s. */
__attribute__((unused)) static void fake_pass(uint64_t ms, double share)
{
	struct snapshot *s = &fake.scene.s;
	size_t i;

	s->time += ms * MS;
	fake.scene.ports[0].tx_bytes +=
		(uint64_t)(2500.0 * (double)ms * share);
	for (i = 0; i < s->n_devs; i++)
		s->devs[i].time = s->time;
	for (i = 0; i < s->n_ports; i++)
		s->ports[i].time = s->time;
	for (i = 0; i < s->n_uars; i++)
		s->uars[i].time = s->time;
	for (i = 0; i < s->n_qps; i++)
		s->qps[i].time = s->time;
	for (i = 0; i < s->n_jobs; i++)
		s->jobs[i].time = s->time;
	for (i = 0; i < s->n_job_reports; i++)
		s->job_reports[i].sum.time = s->time;
}
