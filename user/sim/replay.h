/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Replays a recording, reading by reading, and compares what the policies would have done
 * with what was done. What was done is the value that the kernel had in force for each job
 * at each reading, whoever set it, and between two readings the changes in the recorded
 * events. The loop is open: other actions would have led to other readings.
 */
#ifndef SRDMA_SIM_REPLAY_H
#define SRDMA_SIM_REPLAY_H

#include "core/event.h"
#include "policy/config.h"

#define REPLAY_DECISIONS 256
#define REPLAY_NEVER	UINT64_MAX

/* What one side, the policies or the recording, sets a knob of a job to. */
struct replay_side {
	bool has;
	double v;
	uint32_t turns;
	uint64_t first;		/* ns after the first reading; REPLAY_NEVER */
};

struct replay_knob {
	char job[SNAP_NAME];
	unsigned int knob;	/* enum swiftrdma_knob */
	bool recorded;		/* the recording has its value in force */
	struct replay_side would, done;
	uint64_t agreed, apart;	/* ns */
	/* The lease of the value that was set, from an event; 0: not known. */
	uint64_t lease;
	uint32_t rank;
	bool several;		/* several leases have set it since it had no override */
};

struct replay {
	const struct config *cfg;
	struct signals sig;
	struct policy_state st;
	uint64_t first, last;
	size_t readings, decisions;
	size_t events, losses;	/* times that events were lost */
	uint64_t known;		/* bit per enum signal_id that was known in some reading */
	struct replay_knob *knobs;
	size_t n_knobs, cap_knobs;
	/* At the last reading or event: decisions of the policies, and recorded changes. */
	struct policy_decision *out;
	size_t n_out;
	size_t *turned;		/* places in .knobs */
	size_t n_turned, cap_turned;
};

/* 0 or -ENOMEM, as replay_step(). @cfg stays the caller's. */
int replay_begin(struct replay *rp, const struct config *cfg);
void replay_end(struct replay *rp);

/* @was: the reading before; NULL: there is none. */
int replay_step(struct replay *rp, const struct snapshot *was,
		const struct snapshot *is);

/* Takes an event at @time (ns), between the reading before and the next. */
int replay_event(struct replay *rp, uint64_t time, const struct snap_event *e);

/* The same knob of the same job; NULL: neither side touched it. */
const struct replay_knob *replay_find(const struct replay *rp, const char *job,
				      unsigned int knob);

/* Signals that policy @n reads, not counting its fallbacks, and that were never known. */
uint64_t replay_lacks(const struct replay *rp, size_t n);

#endif /* SRDMA_SIM_REPLAY_H */
