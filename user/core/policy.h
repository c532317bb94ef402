/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A policy has a state, which must be true for some object that a job uses, an action on
 * knobs, quotas, and an undo. policy_eval() is a pure function of its arguments: no clock,
 * no allocation, no output but @out and the run state.
 */
#ifndef SRDMA_CORE_POLICY_H
#define SRDMA_CORE_POLICY_H

#include "core/truth.h"

#include <rdma/swiftrdma.h>

#define POLICY_KNOBS	(SWIFTRDMA_KNOB_UAR + 1)
#define POLICY_SET_MAX	256	/* policies of a set */
#define POLICY_STEPS	4	/* knobs that one action turns */
#define POLICY_READINGS	SWIFTRDMA_READINGS_MAX	/* readings kept with a decision */
#define POLICY_MOVED	16	/* QPs of a job that policies have moved to another UAR */

enum step_op {
	STEP_ADD,
	STEP_SUB,
	STEP_SET,
	STEP_RELEASE,	/* drop the override: the application's value holds */
	STEP_LIGHTEST,	/* qp.uar: the least busy one of its context */
};

struct step {
	enum step_op op;
	unsigned int knob;	/* enum swiftrdma_knob */
	double n;
	struct prog_code expr;	/* computes @n, unless empty */
	double floor, ceiling;
};

/* The kind of contention that a policy acts on. */
enum cause {
	CAUSE_NONE,
	CAUSE_UAR,
	CAUSE_CACHE,
	CAUSE_PU,
	CAUSE_HOL,
	CAUSE_PORT,
	CAUSES,
};

extern const char *const cause_names[CAUSES];

struct policy {
	char name[SNAP_NAME];
	/* Applies to all jobs, to jobs of some classes, or to one job. */
	uint32_t classes;		/* bit per class; 0: any */
	char job[SNAP_NAME];		/* empty: any */
	enum cause cause;
	bool off;			/* cannot run here; config_policy.off says why */
	struct cond when, fallback;
	uint64_t hold;			/* ns for which the state must have been true */
	struct step act[POLICY_STEPS];
	unsigned int n_act;
	uint64_t cooldown;		/* ns between two acts on one job */
	uint32_t max_steps;		/* acts before an undo; 0: no limit */
	double rate;			/* acts a second, over all jobs; 0: no limit */
	struct cond undo_when, undo_fallback;
	/* The contraries of both: they prevent the undo. */
	struct cond undo_not, undo_fallback_not;
	uint64_t undo_hold, undo_cooldown;
	struct step undo[POLICY_STEPS];
	unsigned int n_undo;		/* 0: release all knobs of its action */
};

/* Lower ranks are evaluated first, jobs without a rank last. */
struct policy_rank {
	char job[SNAP_NAME];
	uint32_t rank;
};

struct policy_set {
	struct policy *v;
	size_t n;
	struct prog prog;
	const struct policy_rank *ranks;
	size_t n_ranks;
	/* Bit per class level that is set; 0: assume all are. */
	uint32_t levels;
	/* ns after an act in which other causes do not act; 0: none. */
	uint64_t settle;
	/* A knob that turned more often within this time is damped; 0: never. */
	uint32_t turns;
	uint64_t turns_within;		/* ns */
	/* Lower bound of each knob of a best-effort job. */
	double least[POLICY_KNOBS];
};

/* Run state of one policy on one job. */
struct policy_run {
	bool active;		/* the policy holds a knob of this job */
	bool acted;
	bool was_true, undo_was_true;
	uint64_t true_since, undo_since, last;
	uint32_t steps;
	bool has_from[POLICY_STEPS];
	double from[POLICY_STEPS];	/* values of the knobs before its first act */
	uint32_t dev, port;	/* where the state was seen true */
	uint64_t tick;		/* of its last act */
};

/* Changes of direction of a knob of a job. */
struct policy_turns {
	int8_t way;		/* direction of the last change: 1, -1, 0 none yet */
	uint8_t damp;		/* cooldowns are 2^damp times as long */
	uint16_t n;
	uint64_t since;		/* time of the first of them, ns */
	uint64_t last;
};

struct policy_moved {
	uint32_t dev, qpn;
	uint64_t serial;
	uint32_t uar, policy;
};

struct policy_reading {
	enum signal_id sig;
	double v;		/* NaN: absent */
};

/* Where a state was seen true, and the readings there. */
struct policy_seen {
	bool has_dev, has_port, has_uar, has_qp;
	char dev[SNAP_DEVNAME];
	uint32_t dev_index, port, uar, qpn;
	unsigned int n_values;
	struct policy_reading values[POLICY_READINGS];
};

/* The reason of a decision in force, kept for sending it again. */
struct policy_evidence {
	char reason[SNAP_REASON];
	struct policy_seen seen;
};

struct policy_slot {
	bool used, seen;
	uint32_t job;
	char name[SNAP_NAME];
	uint64_t since;
	bool held[POLICY_KNOBS];
	double value[POLICY_KNOBS];
	uint32_t holder[POLICY_KNOBS];	/* policy, if held */
	struct policy_turns turns[POLICY_KNOBS];
	struct policy_moved moved[POLICY_MOVED];
	uint32_t n_moved;
	enum cause cause;	/* last acted on */
	bool caused;
	uint64_t cause_at;
	/* Per policy; separate from the fields that every tick reads. */
	struct policy_run *runs;
	struct policy_evidence *evidence;
};

/* Acts left by a policy's rate, refilled over time. */
struct policy_budget {
	double left;
	uint64_t at;
};

/* A job in the schedule of a tick. Its policies are whose[first .. end). */
struct policy_turn {
	uint32_t job, slot;
	uint32_t first, end;
	uint32_t asked;		/* tick of struct truth at which its answers were found */
	bool idle;		/* all its answers are idle */
	struct truth_rest rest;	/* union of their dependencies */
};

/*
 * Cached truth of a policy's state and undo on a job, valid until a condition that it
 * depends on changes.
 */
struct policy_answer {
	uint32_t undo_asked;	/* the tick of struct truth; 0: never */
	uint8_t is, undo_is;	/* enum tri */
	bool by_fallback, undo_by_fallback;
	/*
	 * Nothing is due before a condition that it depends on, or a knob of the job,
	 * changes: skip it until then.
	 */
	bool idle;
};

/* The port and device conditions that a policy's answers depend on. */
struct policy_rest {
	struct truth_rest when, undo;
};

struct policy_state {
	struct policy_slot *slots;
	struct policy_run *runs;
	struct policy_evidence *evidence;
	struct policy_budget *budgets;
	size_t n_slots, n_policies;
	struct truth truth;
	/* The schedule: jobs by rank, each with its slot and policies. */
	struct policy_turn *order;
	struct policy_rest *rests;	/* per policy */
	uint16_t *whose;
	struct policy_answer *answers;	/* one for each in .whose */
	size_t cap_order, n_order;
	uint64_t order_of;	/* the topology it was built for */
	bool ordered;
	uint64_t ticks;		/* number of evaluations */
	bool at_once;		/* ignore holds and cooldowns */
};

/* A decision, with its reason. */
struct policy_decision {
	uint64_t tick;			/* of policy_eval(), from 1 */
	uint32_t policy;
	uint32_t job_id;
	char job[SNAP_NAME];
	struct policy_seen seen;
	bool has_qp;			/* the target is a QP, not the job */
	uint32_t dev_index, qpn;
	uint64_t serial;
	bool undo, release;
	unsigned int knob;
	unsigned int step;		/* index of the policy's step */
	bool has_old;
	double old, new;		/* .new is unused if .release */
	uint64_t cooldown;		/* ns until the next one may follow */
	uint32_t steps_left;		/* of max_steps; UINT32_MAX: no limit */
	uint32_t acts_left;		/* of rate, over all jobs; the same */
	unsigned int damped;		/* the cooldown is 2^damped times its own */
	uint32_t others;		/* bit per cause that was true too, with a smaller margin */
	char reason[SNAP_REASON];
};

void policy_state_init(struct policy_state *st);
void policy_state_free(struct policy_state *st);
/*
 * Makes room for evaluating @set on @s, and keeps the run state. Call it after any change
 * of either. 0 or -ENOMEM.
 */
int policy_state_reserve(struct policy_state *st, const struct policy_set *set,
			 const struct signals *s);
/* The same for @jobs jobs, before the first reading. */
int policy_state_reserve_jobs(struct policy_state *st,
			      const struct policy_set *set, size_t jobs);

/**
 * policy_eval - decide
 * @set: the policies
 * @st: their state, with room for @s
 * @s: the readings
 * @now: ns, of the snapshot's clock
 * @out: the decisions
 * @cap: room for them
 *
 * Work is bounded by what changed plus policies times jobs. At most one change
 * per job and knob: the first policy of the set that wants a knob has it until
 * it gives it back. Jobs come in the order of their importance. Returns the
 * number of decisions; what does not fit into @cap is decided at a later call.
 */
size_t policy_eval(const struct policy_set *set, struct policy_state *st,
		   const struct signals *s, uint64_t now,
		   struct policy_decision *out, size_t cap);

/* Takes back a decision that could not be carried out. */
void policy_failed(struct policy_state *st, const struct policy_decision *d);

/* Lists the overrides that should be in force, from entry *@pos on. */
size_t policy_held(const struct policy_set *set, const struct policy_state *st,
		   size_t *pos, struct policy_decision *out, size_t cap);
size_t policy_n_held(const struct policy_state *st);

/**
 * policy_carry - take over the run state of another set of policies
 * @set: the new one
 * @st: its state
 * @old_set: the other one
 * @old: its state
 * @out: releases
 * @cap: room for them
 *
 * A policy of the same name that turns the same knobs goes on where its
 * forerunner stood. Overrides held by policies that are gone come back in @out
 * as releases. Returns their number, also of those that did not fit into @cap.
 */
size_t policy_carry(const struct policy_set *set, struct policy_state *st,
		    const struct policy_set *old_set,
		    const struct policy_state *old,
		    struct policy_decision *out, size_t cap);

/* Does the policy apply to this job? */
bool policy_applies(const struct policy *p, const char *job, uint32_t class);

/* reason.c: why a condition is true. */
void reason_cond(struct text *t, const struct prog *p, const struct truth *tr,
		 const struct cond *c, const struct signals *s,
		 const struct binding *b);
/* The readings of the condition's signals. Returns their number. */
unsigned int reason_values(struct policy_reading *out, unsigned int cap,
			   const struct prog *p, const struct cond *c,
			   const struct signals *s, const struct binding *b);
/* Adds those of the condition's signals that are unknown. Returns the new number. */
unsigned int reason_unknown(struct policy_reading *out, unsigned int n, unsigned int cap,
			    const struct prog *p, const struct cond *c,
			    const struct signals *s, const struct binding *b);
/* ", by fallback as job kv p99 unknown": why @when was not asked. */
void reason_fallback(struct text *t, const struct prog *p, const struct cond *when,
		     const struct signals *s, const struct binding *b);
/* " [tick 7, next in 1 s, 2 steps left]": for people, who read the rest before it. */
void reason_quota(struct text *t, const struct policy_decision *d);

/* margin.c: how far the readings are beyond their bounds, 0 or more. */
double margin_cond(const struct prog *p, const struct truth *tr,
		   const struct cond *c, const struct signals *s,
		   const struct binding *b);

#endif /* SRDMA_CORE_POLICY_H */
