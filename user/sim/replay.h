/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A recording, reading by reading: what policies would have done, against what
 * was done. What was done is what the kernel had in force of each job when it was
 * read, whoever asked for it, and between two readings what the events say that
 * was set and taken back.
 *
 * The loop is open: had something else been done, the readings after it would have
 * been others.
 */
#ifndef SRDMA_SIM_REPLAY_H
#define SRDMA_SIM_REPLAY_H

#include "core/event.h"
#include "policy/config.h"

#define REPLAY_DECISIONS 256
#define REPLAY_NEVER	UINT64_MAX

/* A knob of a job, as somebody set it: by the policies, or in the recording. */
struct replay_side {
	bool has;
	double v;
	uint32_t turns;
	uint64_t first;		/* ns after the first reading; REPLAY_NEVER */
};

struct replay_knob {
	char job[SNAP_NAME];
	unsigned int knob;	/* enum swiftrdma_knob */
	bool told;		/* a recording says what is in force of it */
	struct replay_side would, done;
	uint64_t agreed, apart;	/* ns */
	/* Whose is what was done, where an event said so; 0: not known. */
	uint64_t lease;
	uint32_t rank;
	bool several;		/* leases have asked for it since there was nothing */
};

struct replay {
	const struct config *cfg;
	struct signals sig;
	struct policy_state st;
	uint64_t first, last;
	size_t readings, decisions;
	size_t events, losses;	/* times that some were lost */
	uint64_t known;		/* bit per enum signal_id that was ever known */
	struct replay_knob *knobs;
	size_t n_knobs, cap_knobs;
	/* Of the last reading or event: what would have been done, and what had been. */
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

/* What happened between the reading before and the next, at @time (ns). */
int replay_event(struct replay *rp, uint64_t time, const struct snap_event *e);

/* The same knob of the same job; NULL: nobody touched it. */
const struct replay_knob *replay_find(const struct replay *rp, const char *job,
				      unsigned int knob);

/* Signals that policy @n looks at and that were never known. */
uint64_t replay_lacks(const struct replay *rp, size_t n);

#endif /* SRDMA_SIM_REPLAY_H */
