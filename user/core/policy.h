/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Policies: a state that is to be true for some object a job uses, a knob of
 * that job to turn then, a quota, and a way back. policy_eval() is a pure
 * function of its arguments: no clock, no allocation, no output but @out and
 * the run state it is given.
 */
#ifndef SRDMA_CORE_POLICY_H
#define SRDMA_CORE_POLICY_H

#include "core/cond.h"

#include <rdma/swiftrdma.h>

#define POLICY_KNOBS (SWIFTRDMA_KNOB_MAX + 1)

enum step_op {
	STEP_ADD,
	STEP_SUB,
	STEP_SET,
	STEP_RELEASE,	/* drop the override: the application's own again */
};

struct step {
	enum step_op op;
	unsigned int knob;	/* enum swiftrdma_knob */
	double n;
};

struct policy {
	char name[SNAP_NAME];
	/* For whom: every job, those of a class, or one by name. */
	uint32_t class;			/* 0: any */
	char job[SNAP_NAME];		/* empty: any */
	struct cond when;
	uint64_t hold;			/* ns that it must have been true */
	struct step act;
	double floor, ceiling;
	uint64_t cooldown;		/* ns between two acts on one job */
	struct cond undo_when;
	uint64_t undo_hold, undo_cooldown;
	struct step undo;
};

struct policy_set {
	struct policy *v;
	size_t n;
};

/* One policy on one job. */
struct policy_run {
	bool active;		/* it holds its knob on this job */
	bool acted;
	bool was_true, undo_was_true;
	uint64_t true_since, undo_since, last;
	bool has_from;
	double from;		/* the knob before this policy touched it */
	uint32_t dev, port;	/* where it was seen true */
	char reason[SNAP_REASON];
};

struct policy_slot {
	bool used, seen;
	uint32_t job;
	char name[SNAP_NAME];
	uint64_t since;
	bool held[POLICY_KNOBS];
	double value[POLICY_KNOBS];
	uint32_t holder[POLICY_KNOBS];	/* policy, if held */
	struct policy_run *runs;	/* one per policy */
};

struct policy_state {
	struct policy_slot *slots;
	struct policy_run *runs;
	size_t n_slots, n_policies;
	bool at_once;		/* take holds and cooldowns as passed */
};

/* A decision, with what it rests on. */
struct policy_decision {
	uint32_t policy;
	uint32_t job_id;
	char job[SNAP_NAME];
	bool has_dev, has_port;
	char dev[SNAP_DEVNAME];		/* where the state was seen */
	uint32_t port;
	bool undo, release;
	unsigned int knob;
	bool has_old;
	double old, new;		/* .new: nothing if .release */
	unsigned int n_values;
	double values[COND_MAX];	/* of the clauses; NaN: absent */
	uint64_t cooldown;		/* ns until the next one may follow */
	char reason[SNAP_REASON];
};

void policy_state_init(struct policy_state *st);
void policy_state_free(struct policy_state *st);
/* Room for @jobs jobs under @set. 0 or -ENOMEM; keeps what is there. */
int policy_state_reserve(struct policy_state *st, const struct policy_set *set,
			 size_t jobs);

/**
 * policy_eval - decide
 * @now: ns, of the snapshot's clock
 *
 * Work is bounded by policies times (QPs plus ports plus jobs). At most one
 * change per job and knob: the first policy of the set that wants a knob has
 * it until it gives it back. Returns the number of decisions; what does not
 * fit into @cap is decided at a later call.
 */
size_t policy_eval(const struct policy_set *set, struct policy_state *st,
		   const struct signals *s, uint64_t now,
		   struct policy_decision *out, size_t cap);

/* The decision could not be carried out: the knob is where it was. */
void policy_failed(struct policy_state *st, const struct policy_decision *d);

/* Every override that should be in force now, from entry *@pos on. */
size_t policy_held(const struct policy_set *set, const struct policy_state *st,
		   size_t *pos, struct policy_decision *out, size_t cap);
size_t policy_n_held(const struct policy_state *st);

/**
 * policy_carry - take over the run state of another set of policies
 *
 * A policy of the same name that turns the same knob goes on where its
 * forerunner stood. Overrides held by policies that are gone come back in @out
 * as releases. Returns their number, also of those that did not fit into @cap.
 */
size_t policy_carry(const struct policy_set *set, struct policy_state *st,
		    const struct policy_set *old_set,
		    const struct policy_state *old,
		    struct policy_decision *out, size_t cap);

#endif /* SRDMA_CORE_POLICY_H */
