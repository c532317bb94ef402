// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/history.h"

#include <stdlib.h>
#include <string.h>

void history_init(struct history *h, uint64_t now)
{
	memset(h, 0, sizeof(*h));
	h->since = now;
}

void history_free(struct history *h)
{
	free(h->decisions);
	free(h->events);
	memset(h, 0, sizeof(*h));
}

static int compare_decisions(const struct history_decision *a, const struct history_decision *b)
{
	int d = strcmp(a->policy, b->policy);

	if (!d)
		d = strcmp(a->job, b->job);
	return d ? d : ARRAY_CMP(a->knob, b->knob);
}

/* NULL: there are too many, or no memory. */
static struct history_decision *get_decision(struct history *h, const struct snap_action *a,
					     uint64_t now)
{
	struct history_decision key = { .knob = a->knob, .first = now }, *d;
	size_t at;

	memcpy(key.policy, a->decision.policy, sizeof(key.policy));
	memcpy(key.job, a->job, sizeof(key.job));
	at = array_find(h->n_decisions, i, compare_decisions(&h->decisions[i], &key) < 0);
	if (at < h->n_decisions && !compare_decisions(&h->decisions[at], &key))
		return &h->decisions[at];
	if (h->n_decisions == HISTORY_DECISIONS ||
	    !array_reserve(&h->decisions, &h->cap_decisions, h->n_decisions + 1,
			   sizeof(*h->decisions)))
		return NULL;
	d = &h->decisions[at];
	memmove(d + 1, d, (h->n_decisions - at) * sizeof(*d));
	h->n_decisions++;
	*d = key;
	return d;
}

/*
 * The module reports a result that leaves QPs pending a second time, at the end of the pass. True:
 * @e is the second report. Batches count from 1.
 */
static bool was_pending(struct history *h, const struct reader_event *e)
{
	for (size_t i = 0; i < HISTORY_PENDING; i++) {
		if (h->pending[i].batch != e->batch || h->pending[i].index != e->index)
			continue;
		h->pending[i] = (struct history_key){ 0 };
		return e->batch;
	}
	return false;
}

static void add_action(struct history *h, const struct reader_event *e, uint64_t now)
{
	const struct snap_action *a = &e->action;
	bool again = was_pending(h, e);
	struct history_decision *d = get_decision(h, a, now);

	if (a->qps_pending)
		h->pending[h->next_pending++ % HISTORY_PENDING] = (struct history_key){
			e->batch, e->index
		};
	if (!d) {
		h->decisions_over += !again;
		return;
	}
	d->results[a->error || a->qps_unsupported ? HISTORY_REFUSED :
		   a->qps_pending ? HISTORY_PENDED : HISTORY_DONE]++;
	if (again)
		return;
	d->last = now;
	if (a->clear)
		d->releases++;
	else
		d->sets++;
}

static void keep_event(struct history *h, const struct reader_event *e, uint64_t at)
{
	if (!h->events)
		h->events = calloc(HISTORY_EVENTS, sizeof(*h->events));
	if (h->events)
		h->events[h->n_events++ % HISTORY_EVENTS] = (struct history_event){ at, *e };
}

void history_add(struct history *h, const struct reader_event *e, uint64_t at, uint64_t now)
{
	keep_event(h, e, at);
	switch (e->kind) {
	case SNAP_EVENT_ACTION:
		add_action(h, e, now);
		break;
	case SNAP_EVENT_LEASE_END:
		h->leases_ended++;
		h->leases_expired += e->expired;
		break;
	case SNAP_EVENT_CONGESTION:
		h->congestions++;
		break;
	case SNAP_EVENT_LOST:
		h->losses++;
		break;
	}
}
