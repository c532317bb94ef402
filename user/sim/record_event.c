// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/record_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* --- Writing ---------------------------------------------------------------------- */

static bool put(struct record_buf *to, size_t table, const void *was,
		const void *is)
{
	return record_put_object(to, &record_tables[table].of, was, is);
}

static bool put_uars(struct record_buf *to, const struct snap_event *e)
{
	size_t i;

	for (i = 0; i < e->n_uars; i++)
		if (!put(to, RECORD_UARS, record_nothing, &e->uars[i]))
			return false;
	return true;
}

static bool put_qp(struct record_buf *to, const struct record_event *was,
		   const struct snap_event *e)
{
	struct snap_qp qp = *e->qp;

	/* A place in a table that is not recorded: the owner follows. */
	qp.owner = 0;
	return put(to, RECORD_QPS, &was->qp, &qp) &&
	       (!e->owner || put(to, RECORD_OWNERS, &was->owner, e->owner));
}

static bool put_decision(struct record_buf *to, const struct snap_decision *was,
			 const struct snap_decision *is)
{
	uint32_t i;

	if (!record_put_object(to, &record_decision, was, is))
		return false;
	for (i = 0; i < is->n_readings; i++)
		if (!record_put_object(to, &record_reading, &was->readings[i],
				       &is->readings[i]))
			return false;
	return true;
}

bool record_event_put(struct record_buf *to, const struct record_event *was,
		      uint64_t time, const struct snap_event *e)
{
	struct record_event_head head = {
		.time = time,
		.kind = e->kind,
		.index = e->index,
		.batch = e->batch,
		.lease = e->lease,
		.expired = e->expired,
		.has_owner = e->owner,
		.uars = (uint32_t)e->n_uars,
		.decided = e->action && e->action->decision.policy[0],
	};
	struct text t;

	text_init(&t, head.why, sizeof(head.why));
	text_str(&t, e->why ? e->why : "");
	if (!record_put_object(to, &record_head, &was->head, &head))
		return false;
	switch (e->kind) {
	case SNAP_EVENT_QP_CREATED:
	case SNAP_EVENT_QP_DESTROYED:
		return put_qp(to, was, e);
	case SNAP_EVENT_ACTION:
		return record_put_object(to, &record_action, &was->action,
					 e->action) &&
		       (!head.decided || put_decision(to, &was->decision,
						      &e->action->decision));
	case SNAP_EVENT_CONGESTION:
		return put(to, RECORD_DEVS, &was->dev, e->dev) &&
		       put_uars(to, e);
	default:
		return true;
	}
}

/* --- Reading ---------------------------------------------------------------------- */

static bool get(struct record_source *in, size_t table, void *obj)
{
	return record_get_object(in, &record_tables[table].of, obj);
}

static int get_uars(struct record_source *in, struct record_event *ev)
{
	char *uars = (char *)ev->uars;
	size_t i, want = ev->head.uars;

	if (!record_may_have(in, want))
		return 0;
	/* They differ from nothing, each of them. */
	ev->n_uars = 0;
	if (!record_resize(&uars, &ev->n_uars, want, sizeof(*ev->uars)))
		return -ENOMEM;
	ev->uars = (struct snap_uar *)uars;
	for (i = 0; i < want; i++)
		if (!get(in, RECORD_UARS, &ev->uars[i]))
			return 0;
	return 1;
}

static bool get_decision(struct record_source *in, struct snap_decision *d)
{
	uint32_t i;

	if (!record_get_object(in, &record_decision, d) ||
	    d->n_readings > SNAP_READINGS)
		return false;
	for (i = 0; i < d->n_readings; i++)
		if (!record_get_object(in, &record_reading, &d->readings[i]))
			return false;
	return true;
}

static int get_action(struct record_source *in, struct record_event *ev)
{
	if (!record_get_object(in, &record_action, &ev->action))
		return 0;
	memset(&ev->action.decision, 0, sizeof(ev->action.decision));
	if (!ev->head.decided)
		return 1;
	if (!get_decision(in, &ev->decision))
		return 0;
	ev->action.decision = ev->decision;
	return 1;
}

/* What belongs to its kind, and nothing else. 1, 0 or -ENOMEM. */
static int get_objects(struct record_source *in, struct record_event *ev)
{
	struct snap_event *e = &ev->e;
	int got;

	switch (e->kind) {
	case SNAP_EVENT_QP_CREATED:
	case SNAP_EVENT_QP_DESTROYED:
		e->qp = &ev->qp;
		e->owner = ev->head.has_owner ? &ev->owner : NULL;
		return get(in, RECORD_QPS, &ev->qp) &&
		       (!e->owner || get(in, RECORD_OWNERS, &ev->owner));
	case SNAP_EVENT_ACTION:
		e->action = &ev->action;
		return get_action(in, ev);
	case SNAP_EVENT_CONGESTION:
		if (!get(in, RECORD_DEVS, &ev->dev))
			return 0;
		got = get_uars(in, ev);
		e->dev = &ev->dev;
		e->uars = ev->uars;
		e->n_uars = ev->n_uars;
		return got;
	case SNAP_EVENT_LEASE_END:
	case SNAP_EVENT_LOST:
		return 1;
	}
	return 0;
}

int record_event_get(struct record_source *in, struct record_event *ev)
{
	const struct record_event_head *head = &ev->head;
	int got;

	if (!record_get_object(in, &record_head, &ev->head))
		return 0;
	ev->e = (struct snap_event){
		.kind = (enum snap_event_kind)head->kind,
		.index = head->index,
		.batch = head->batch,
		.lease = head->lease,
		.expired = head->expired,
		.why = head->why,
	};
	got = get_objects(in, ev);
	return got > 0 ? RECORD_EVENT : got;
}

void record_event_free(struct record_event *ev)
{
	free(ev->uars);
	memset(ev, 0, sizeof(*ev));
}
