// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One agent can replace another, for instance at an upgrade, without a QP losing its class. The
 * first agent leaves its lease alive; while the lease lives, the next agent takes over the
 * overrides under it. The two agents may have different policies. An agent that was without the
 * module for a while takes over its own overrides in the same way, if they are still in force.
 */
#include "agent/agent.h"

#include <stdlib.h>
#include <string.h>

#include "agent/log.h"

#define NSEC_PER_MSEC 1000000ULL

/*
 * True: @o is an override that a policy of an agent decided. A property of a job is not: it is
 * under another lease, and the agent just sets it again.
 */
static bool is_left(const struct snap_action *o)
{
	return o->kind == SWIFTRDMA_ACTION_KIND_OVERRIDE &&
	       !strcmp(o->lease_origin, AGENT_ORIGIN) && o->decision.policy[0];
}

/* The lease of an earlier agent, the youngest if there are several; 0: there is none. */
static uint64_t find_lease(const struct snap_action *v, size_t n, uint32_t *rank)
{
	uint64_t lease = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_left(&v[i]) || v[i].lease_id <= lease)
			continue;
		lease = v[i].lease_id;
		*rank = v[i].lease_rank;
	}
	return lease;
}

/* Sends the first @n actions of a->batch, which are releases, and renews the lease. */
static int send_releases(struct agent *a, size_t n)
{
	uint32_t ttl = (uint32_t)(agent_lease_life(a) / NSEC_PER_MSEC);
	int err = io_act(a->io, &a->lease, ttl, a->cfg.rank, AGENT_ORIGIN, a->batch, n, NULL);

	a->renewed = a->snap[a->cur].time;
	return err;
}

static void add_release(struct agent *a, size_t *n, const struct snap_action *o)
{
	struct snap_action *act = &a->batch[(*n)++];

	*act = (struct snap_action){
		.knob = o->knob, .clear = true,
		.has_dev = o->has_dev, .dev = o->dev, .qpn = o->qpn, .serial = o->serial,
	};
	memcpy(act->job, o->job, sizeof(act->job));
	strcpy(act->reason, "no policy of this agent holds it");
}

static void take_over_lease(struct agent *a, const struct snap_action *v, size_t n)
{
	const struct snapshot *snap = &a->snap[a->cur];
	size_t held = 0, released = 0, batch = 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (!is_left(&v[i]) || v[i].lease_id != a->lease)
			continue;
		if (policy_adopt(&a->cfg.policies, &a->state, snap, &v[i])) {
			held++;
			continue;
		}
		add_release(a, &batch, &v[i]);
		released++;
		if (batch < SWIFTRDMA_BATCH_MAX)
			continue;
		err = send_releases(a, batch);
		batch = 0;
	}
	if (!err)
		err = send_releases(a, batch);
	log_msg(LOG_INFO, "an agent left %zu overrides in force: %zu go on, %zu are released",
		held + released, held, released);
	/* With a->lease 0, all overrides that policies hold are sent again under a new lease. */
	if (err < 0)
		a->lease = 0;
}

void agent_take_over(struct agent *a)
{
	struct snap_action *v;
	uint32_t rank = 0;
	size_t n;

	if (a->taken_over || a->opt.once || a->opt.dry_run)
		return;
	a->taken_over = true;
	if (io_actions(a->io, &v, &n) < 0) {
		log_msg(LOG_WARNING, "what an agent left in force is not known: %s",
			io_error(a->io));
		return;
	}
	a->lease = find_lease(v, n, &rank);
	if (a->lease) {
		take_over_lease(a, v, n);
		/* A lease cannot change its rank: a new one replaces it, and the old expires. */
		if (rank != a->cfg.rank)
			a->lease = 0;
	}
	free(v);
}

void agent_leave(struct agent *a)
{
	agent_renew(a);
	if (a->lease)
		log_msg(LOG_INFO, "%zu overrides are left to the next agent, for %.3g s",
			policy_n_held(&a->state), (double)agent_lease_life(a) / 1e9);
}
