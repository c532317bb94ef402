// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Logs the results of actions. The kernel sends an event for each action; after a loss
 * of events the results are worked out from the overrides in force.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "agent/agent.h"
#include "agent/log.h"

static void drop_due(struct agent *a, unsigned int first, unsigned int n)
{
	a->n_due -= n;
	memmove(&a->due[first], &a->due[first + n],
		(a->n_due - first) * sizeof(a->due[0]));
}

void agent_due_add(struct agent *a, uint64_t batch, size_t n)
{
	unsigned int add = (unsigned int)n, i;

	/* Drop the oldest: their results are the least likely to come. */
	if (a->n_due + add > AGENT_DUE)
		drop_due(a, 0, a->n_due + add - AGENT_DUE);
	for (i = 0; i < add; i++)
		a->due[a->n_due++] = (struct agent_due){
			.batch = batch, .index = i, .action = a->batch[i],
		};
}

void agent_due_event(struct agent *a, const struct snap_event *ev)
{
	unsigned int i;

	for (i = 0; i < a->n_due; i++)
		if (a->due[i].batch == ev->batch &&
		    a->due[i].index == ev->index)
			break;
	if (i == a->n_due)
		return;
	log_result(ev->action, ev->batch, ev->index);
	if (ev->action->qps_pending && !a->due[i].logged)
		a->due[i].logged = true;
	else
		drop_due(a, i, 1);
}

bool agent_awaits_results(const struct agent *a)
{
	for (unsigned int i = 0; i < a->n_due; i++)
		if (!a->due[i].logged)
			return true;
	return false;
}

static bool same_target(const struct snap_action *a,
			const struct snap_action *b)
{
	if (a->knob != b->knob)
		return false;
	if (!a->job[0])
		return a->dev == b->dev && a->qpn == b->qpn &&
		       (!a->serial || a->serial == b->serial);
	return !strcmp(a->job, b->job) && a->has_dev == b->has_dev &&
	       (!a->has_dev || a->dev == b->dev);
}

/* The override of an action, unless another one replaced it. */
static const struct snap_action *find_override(const struct agent *a,
					       const struct snap_action *asked,
					       const struct snap_action *held,
					       size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (held[i].kind == SWIFTRDMA_ACTION_KIND_OVERRIDE &&
		    held[i].lease_id == a->lease &&
		    held[i].value == asked->value &&
		    same_target(asked, &held[i]))
			return &held[i];
	return NULL;
}

static bool action_concerns(const struct snap_action *asked, const char *job,
			    uint32_t dev, uint32_t qpn)
{
	if (!asked->job[0])
		return asked->dev == dev && asked->qpn == qpn;
	return !strcmp(asked->job, job) && (!asked->has_dev || asked->dev == dev);
}

/* Does the kernel count QPs for this kind of action? */
static bool counts_qps(const struct snap_action *a)
{
	return !a->job[0] || (a->knob != SWIFTRDMA_KNOB_MAX_QPS &&
			      a->knob != SWIFTRDMA_KNOB_CREATE_RATE);
}

/* A release leaves no override, only QPs that are pending. */
static struct snap_action count_release(const struct agent *a,
					const struct snap_action *asked,
					const struct snap_action *held, size_t n)
{
	const struct snapshot *snap = &a->snap[a->cur];
	const struct snap_job *job = agent_find_job(snap, asked->job);
	struct snap_action r = *asked;
	size_t i;

	if (!counts_qps(asked))
		return r;
	for (i = 0; i < snap->n_qps; i++)
		r.qps += action_concerns(asked, job && snap->qps[i].job == job->id ?
					 job->name : "", snap->qps[i].dev,
					 snap->qps[i].qpn) &&
			 (asked->job[0] || !asked->serial ||
			  asked->serial == snap->qps[i].serial);
	for (i = 0; i < n; i++) {
		const struct snap_action *p = &held[i];

		if (p->kind != SWIFTRDMA_ACTION_KIND_PENDING ||
		    p->knob != asked->knob ||
		    !action_concerns(asked, p->job, p->dev, p->qpn))
			continue;
		if (p->error) {
			r.error = p->error;
			r.syndrome = p->syndrome;
		}
		if (p->error == -EOPNOTSUPP || p->error == -EREMOTEIO)
			r.qps_unsupported++;
		else
			r.qps_pending++;
	}
	/* r.qps is of the last reading, the pending ones are of now, so these may be more. */
	if (r.qps > r.qps_pending + r.qps_unsupported)
		r.qps_done = r.qps - r.qps_pending - r.qps_unsupported;
	else
		r.qps = r.qps_pending + r.qps_unsupported;
	return r;
}

static void log_missed_result(const struct agent *a, const struct agent_due *due,
			      const struct snap_action *held, size_t n)
{
	const struct snap_action *o;
	struct snap_action r;

	if (due->action.clear) {
		r = count_release(a, &due->action, held, n);
	} else {
		o = find_override(a, &due->action, held, n);
		if (!o) {
			log_msg(LOG_WARNING,
				"result (batch %llu/%u): job %s: the result was lost, and the override is no longer in force",
				(unsigned long long)due->batch, due->index + 1,
				due->action.job);
			return;
		}
		r = *o;
	}
	log_result(&r, due->batch, due->index);
}

/* Logs each outstanding result once. QPs that are still pending are logged as pending. */
void agent_due_read(struct agent *a)
{
	struct snap_action *held;
	unsigned int i;
	size_t n;

	if (!a->n_due)
		return;
	if (io_actions(a->io, &held, &n) < 0) {
		log_msg(LOG_WARNING, "%u results are not known: %s", a->n_due,
			io_error(a->io));
		a->n_due = 0;
		return;
	}
	for (i = 0; i < a->n_due; i++)
		if (!a->due[i].logged)
			log_missed_result(a, &a->due[i], held, n);
	a->n_due = 0;
	free(held);
}
