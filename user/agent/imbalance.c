// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reports processes that crowd on UARs, worst first, with advice. The agent cannot change
 * this itself: a library places QPs when it creates them. So it logs each process once
 * when crowding has lasted, and once when it is over.
 */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "base/text.h"

#define NSEC_PER_SEC 1000000000ULL
/* Checks in a row, one a second. */
#define SEEN_MIN 3
#define GONE_MIN 10

static const char *job_name_of(const struct snapshot *snap,
			       const struct crowd_proc *p)
{
	uint32_t dev = snap->devs[p->dev].index;
	size_t i, k;

	for (i = 0; i < snap->n_qps; i++)
		if (snap->qps[i].dev == dev && snap_has(&snap->qps[i], SNAP_OWNER) &&
		    snap->qps[i].owner == p->owner)
			break;
	for (k = 0; i < snap->n_qps && k < snap->n_jobs; k++)
		if (snap->jobs[k].id == snap->qps[i].job)
			return snap->jobs[k].name;
	return "unassigned";
}

static struct agent_crowded *find_crowded(struct agent *a, uint32_t dev, uint32_t pid)
{
	struct agent_crowded *gone = NULL;
	size_t i;

	for (i = 0; i < AGENT_CROWDED; i++) {
		struct agent_crowded *c = &a->crowded[i];

		if (c->pid == pid && c->dev == dev)
			return c;
		if (!c->pid)
			gone = c;
	}
	if (gone)
		*gone = (struct agent_crowded){ .pid = pid, .dev = dev };
	return gone;
}

static void report_crowding(const struct agent *a, const struct crowd_proc *p,
			    struct agent_crowded *c)
{
	const struct snapshot *snap = &a->snap[a->cur];
	struct log_crowd l = {
		.dev = snap->devs[p->dev].name, .job = job_name_of(snap, p),
		.comm = c->comm, .pid = c->pid,
		.uar = snap->uars[p->worst].index, .qps = p->qps,
		.uars = p->uars, .most = p->worst_qps,
		.active = p->worst_active, .coactive = p->worst_coactive,
		.advice = crowd_advise(p->advice),
	};
	struct text t;

	text_init(&t, c->comm, sizeof(c->comm));
	text_tame(&t, snap->owners[p->owner].comm);
	snprintf(c->name, sizeof(c->name), "%s", l.dev);
	log_crowded(&l, snap->time);
	c->said = true;
}

static void observe_process(struct agent *a, const struct crowd_proc *p)
{
	const struct snapshot *snap = &a->snap[a->cur];
	struct agent_crowded *c;

	c = find_crowded(a, snap->devs[p->dev].index, snap->owners[p->owner].pid);
	if (!c)
		return;
	c->gone = 0;
	c->now = true;
	c->seen++;
	if (!c->said && (c->seen >= SEEN_MIN || a->opt.once))
		report_crowding(a, p, c);
}

static void expire_crowded(struct agent *a)
{
	size_t i;

	for (i = 0; i < AGENT_CROWDED; i++) {
		struct agent_crowded *c = &a->crowded[i];

		if (!c->pid || c->now) {
			c->now = false;
			continue;
		}
		c->seen = 0;
		if (c->said && ++c->gone < GONE_MIN)
			continue;
		if (c->said)
			log_msg(LOG_INFO,
				"dev %s: %s (pid %u) no longer crowds on a UAR",
				c->name, c->comm, c->pid);
		c->pid = 0;
	}
}

void agent_imbalance(struct agent *a)
{
	const struct snapshot *snap = &a->snap[a->cur];
	size_t i;

	/* Ranking visits each QP several times, too much for every tick. */
	if (a->looked && snap->time - a->looked < NSEC_PER_SEC && !a->opt.once)
		return;
	a->looked = snap->time;
	if (crowd_reserve(&a->crowd, snap) < 0)
		return;
	crowd_update(&a->crowd, &a->sig,
		     criteria_value(&a->cfg.criteria, "uar_calm"));
	for (i = 0; i < a->crowd.n_procs; i++) {
		const struct crowd_proc *p = &a->crowd.procs[i];

		/* Sorted worst first: the others do not crowd. */
		if (p->state != CROWD_HARD)
			break;
		if (snap->owners[p->owner].pid)
			observe_process(a, p);
	}
	expire_crowded(a);
}
