/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the module's events reported since the exporter started: decisions and ends of leases. */
#ifndef SRDMA_EXPORTER_HISTORY_H
#define SRDMA_EXPORTER_HISTORY_H

#include "exporter/reader.h"

#define HISTORY_DECISIONS	1000	/* combinations of policy, job and knob */
#define HISTORY_PENDING		128	/* results that the module will report again */
#define HISTORY_EVENTS		256	/* the last events, with their contents */

enum history_result {
	HISTORY_DONE,
	HISTORY_PENDED,		/* some QPs were to be tried again */
	HISTORY_REFUSED,	/* some QPs cannot change, or an error */
	HISTORY_RESULTS,
};

/* Decisions of a policy about a knob of a job; .policy empty: changes by hand. */
struct history_decision {
	char policy[SNAP_NAME], job[SNAP_NAME];
	uint32_t knob;
	uint64_t sets, releases;
	uint64_t results[HISTORY_RESULTS];
	uint64_t first, last;		/* ns since 1970 */
};

struct history_key {
	uint64_t batch;
	uint32_t index;
};

struct history_event {
	uint64_t at;			/* as times of snapshots, ns */
	struct reader_event event;
};

struct history {
	struct history_event *events;	/* event i is at i % HISTORY_EVENTS; NULL: no memory */
	uint64_t n_events;
	uint64_t since;			/* ns since 1970 */
	struct history_decision *decisions;	/* by policy, job, knob */
	size_t n_decisions, cap_decisions;
	uint64_t decisions_over;	/* not counted in .decisions: there are too many */
	uint64_t leases_ended, leases_expired, losses, congestions;
	struct history_key pending[HISTORY_PENDING];
	size_t next_pending;
};

void history_init(struct history *h, uint64_t now);
void history_free(struct history *h);
/* The first event that is still there; they end before .n_events. */
static inline uint64_t history_first(const struct history *h)
{
	return h->n_events > HISTORY_EVENTS ? h->n_events - HISTORY_EVENTS : 0;
}

/* @at: as times of snapshots; @now: the time of day then, ns since 1970 */
void history_add(struct history *h, const struct reader_event *e, uint64_t at, uint64_t now);

#endif /* SRDMA_EXPORTER_HISTORY_H */
