// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What became of what was asked for. The kernel tells it by an event for each
 * action; of those that were lost, what it holds now says how far they are.
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

	/* The oldest are the least likely to be heard of. */
	if (a->n_due + add > AGENT_DUE)
		drop_due(a, 0, a->n_due + add - AGENT_DUE);
	for (i = 0; i < add; i++)
		a->due[a->n_due++] = (struct agent_due){
			batch, i, a->batch[i],
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
	drop_due(a, i, 1);
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

/* The override that it made, if that is there and nothing took its place. */
static const struct snap_action *override(const struct agent *a,
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

static bool concerns(const struct snap_action *asked, const char *job,
		     uint32_t dev, uint32_t qpn)
{
	if (!asked->job[0])
		return asked->dev == dev && asked->qpn == qpn;
	return !strcmp(asked->job, job) && (!asked->has_dev || asked->dev == dev);
}

/* Of what kind of action the kernel says how far its QPs are. */
static bool counts_qps(const struct snap_action *a)
{
	return !a->job[0] || a->knob == SWIFTRDMA_KNOB_LEVEL ||
	       a->knob == SWIFTRDMA_KNOB_BIT_RATE ||
	       a->knob == SWIFTRDMA_KNOB_WEIGHT;
}

/* Nothing is left of a release but the QPs that it has not reached. */
static struct snap_action released(const struct agent *a,
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
		r.qps += concerns(asked, job && snap->qps[i].job == job->id ?
				  job->name : "", snap->qps[i].dev,
				  snap->qps[i].qpn) &&
			 (asked->job[0] || !asked->serial ||
			  asked->serial == snap->qps[i].serial);
	for (i = 0; i < n; i++) {
		const struct snap_action *p = &held[i];

		if (p->kind != SWIFTRDMA_ACTION_KIND_PENDING ||
		    p->knob != asked->knob ||
		    !concerns(asked, p->job, p->dev, p->qpn))
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
	/* The QPs are those of the last reading, what waits is of now. */
	if (r.qps > r.qps_pending + r.qps_unsupported)
		r.qps_done = r.qps - r.qps_pending - r.qps_unsupported;
	else
		r.qps = r.qps_pending + r.qps_unsupported;
	return r;
}

static void tell(const struct agent *a, const struct agent_due *due,
		 const struct snap_action *held, size_t n)
{
	const struct snap_action *o;
	struct snap_action r;

	if (due->action.clear) {
		r = released(a, &due->action, held, n);
	} else {
		o = override(a, &due->action, held, n);
		if (!o) {
			log_msg(LOG_WARNING,
				"result (batch %llu/%u): job %s: not heard, and it no longer holds",
				(unsigned long long)due->batch, due->index + 1,
				due->action.job);
			return;
		}
		r = *o;
	}
	log_result(&r, due->batch, due->index);
}

/* Once, as the kernel tells it once: what is pending then is said to be. */
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
		tell(a, &a->due[i], held, n);
	a->n_due = 0;
	free(held);
}
