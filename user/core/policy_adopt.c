// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Takes over overrides that are in force, from what the kernel has of the decision. */
#include "core/decide.h"
#include "core/schedule.h"

#include <string.h>

/* The place of the step that sets @knob, or the number of steps. */
static unsigned int find_step(const struct policy *p, unsigned int knob)
{
	unsigned int i = 0;

	while (i < p->n_act && p->act[i].knob != knob)
		i++;
	return i;
}

/* The policy that decided @o, if it may still set the knob for @job. NULL: there is none. */
static const struct policy *find_holder(const struct policy_set *set, const struct snap_job *job,
					const struct snap_action *o)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct policy *p = &set->v[i];

		if (!strcmp(p->name, o->decision.policy))
			return !p->off && policy_applies(p, job->name, job->class) &&
			       find_step(p, o->knob) < p->n_act ? p : NULL;
	}
	return NULL;
}

/* The evidence for issuing the override anew. Its readings stay with the kernel. */
static void adopt_evidence(struct policy_evidence *to, const struct snapshot *snap,
			   const struct snap_action *o)
{
	const struct snap_decision *d = &o->decision;
	int32_t dev;

	memcpy(to->reason, o->reason, sizeof(to->reason));
	to->seen = (struct policy_seen){
		.has_port = d->has & SNAP_SEEN_PORT, .port = d->port,
		.has_uar = d->has & SNAP_SEEN_UAR, .uar = d->uar,
		.has_qp = d->has & SNAP_SEEN_QP, .qpn = d->qpn,
	};
	dev = d->has & SNAP_SEEN_DEV ? signals_dev_row(snap, d->dev) : -1;
	if (dev < 0)
		return;
	to->seen.has_dev = true;
	to->seen.dev_index = d->dev;
	memcpy(to->seen.dev, snap->devs[dev].name, sizeof(to->seen.dev));
}

static void adopt_run(struct policy_run *run, const struct policy *p, const struct snap_job *job,
		      const struct snap_action *o, uint64_t now)
{
	const struct snap_decision *d = &o->decision;
	unsigned int step = find_step(p, o->knob);

	run->active = true;
	run->acted = true;
	run->last = now;
	run->steps = d->has & SNAP_STEPS_LEFT && d->steps_left < p->max_steps ?
		     p->max_steps - d->steps_left : 1;
	run->has_from[step] = decide_base_value(job, o->knob, &run->from[step]);
	run->dev = d->has & SNAP_SEEN_DEV ? d->dev : POLICY_NO_PLACE;
	run->port = d->has & SNAP_SEEN_PORT ? d->port : POLICY_NO_PLACE;
}

bool policy_adopt(const struct policy_set *set, struct policy_state *st,
		  const struct snapshot *snap, const struct snap_action *o)
{
	const struct policy *p = NULL;
	struct policy_slot *slot;
	uint32_t n;
	size_t i;

	for (i = 0; i < snap->n_jobs; i++)
		if (snap->jobs[i].id && !strcmp(snap->jobs[i].name, o->job))
			break;
	/*
	 * The override of a moved QP is not adopted, so the QP moves back: the override does not
	 * say for which job the QP was moved.
	 */
	if (i < snap->n_jobs && o->knob < POLICY_KNOBS && o->knob != SWIFTRDMA_KNOB_UAR)
		p = find_holder(set, &snap->jobs[i], o);
	slot = p ? schedule_slot(st, &snap->jobs[i], i) : NULL;
	if (!slot || slot->held[o->knob])
		return false;
	n = (uint32_t)(p - set->v);
	slot->held[o->knob] = true;
	slot->holder[o->knob] = n;
	slot->value[o->knob] = (double)o->value;
	adopt_run(&slot->runs[n], p, &snap->jobs[i], o, snap->time);
	adopt_evidence(&slot->evidence[n], snap, o);
	if (p->cause != CAUSE_NONE) {
		slot->caused = (struct policy_caused){
			.known = true, .cause = p->cause, .at = snap->time,
		};
	}
	st->ordered = false;
	return true;
}
