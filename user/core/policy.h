/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A policy has a state, which must be true for some object that a job uses, an action on
 * knobs, quotas, and an undo. policy_eval() reads no clock, allocates nothing, and writes
 * only the decisions and the run state.
 */
#ifndef SRDMA_CORE_POLICY_H
#define SRDMA_CORE_POLICY_H

#include "core/truth.h"

#include <rdma/swiftrdma.h>

#define POLICY_KNOBS	(SWIFTRDMA_KNOB_PLACE + 1)
#define POLICY_SET_MAX	256	/* policies of a set */
#define POLICY_STEPS	4	/* knobs that one action sets */
#define POLICY_FALLBACKS 4	/* states to evaluate while the first is unknown */
#define POLICY_READINGS	SWIFTRDMA_READINGS_MAX	/* readings kept with a decision */
#define POLICY_NO_PLACE	UINT32_MAX	/* the state reads no device, or no port */
#define POLICY_MOVED	64	/* QPs of a job that policies have moved to another UAR */

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
	/* Fallbacks are evaluated in order: the first state whose truth is known decides. */
	struct cond when, fallback[POLICY_FALLBACKS];
	unsigned int n_fallback;
	uint64_t hold;			/* ns for which the state must have been true */
	struct step act[POLICY_STEPS];
	unsigned int n_act;
	uint64_t cooldown;		/* ns between two acts on one job */
	uint32_t max_steps;		/* acts before an undo; 0: no limit */
	double rate;			/* acts a second, over all jobs; 0: no limit */
	/* Acts that may come at once: those of a second, also where a simulation shortens seconds. */
	double burst;
	struct cond undo_when, undo_fallback[POLICY_FALLBACKS];
	/* The contraries of the states of the undo. One that is true prevents the undo. */
	struct cond undo_not, undo_fallback_not[POLICY_FALLBACKS];
	unsigned int n_undo_fallback;
	uint64_t undo_hold, undo_cooldown;
	struct step undo[POLICY_STEPS];
	unsigned int n_undo;		/* 0: the undo releases all knobs of the action */
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
	/*
	 * True: the process of a QP finds the lightest UAR itself, and may make a new one, as
	 * libswiftrdma does. False: a decision names the UAR, and a QP stays on its UAR if no
	 * other one is lighter.
	 */
	bool lightest_by_process;
	/* Bit per class level that is set; 0: assume all are. */
	uint32_t levels;
	/* ns after an act in which policies of other causes do not act. */
	uint64_t settle;
	/* A knob that changes direction more often within this time is damped; 0: never. */
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
	/*
	 * QPs for which the condition was true at the last act and to which the act cannot apply:
	 * their libraries can never move them, or new QPs are not placed because the program has
	 * put all of these QPs in domains of its own.
	 */
	uint32_t passed_over;
	bool passed_over_logged;
	bool has_from[POLICY_STEPS];
	double from[POLICY_STEPS];	/* values of the knobs before the first act on each */
	uint32_t dev, port;	/* where the state was true at the last act; or POLICY_NO_PLACE */
	uint64_t tick;		/* of the last act or undo */
	/* The number of decisions of the last act that have not failed; 0 after an undo. */
	unsigned int standing;
};

/* Changes of direction of a knob of a job. */
struct policy_turns {
	int8_t way;		/* direction of the last change: 1, -1, 0 none yet */
	uint8_t damp;		/* cooldowns are 2^damp times as long */
	uint16_t n;
	uint64_t since, last;	/* times of the first and the last of them, ns */
};

/* A QP that a policy has moved, and the UAR to which. */
struct policy_moved {
	uint32_t dev, qpn;
	uint64_t serial;
	uint32_t uar, policy;	/* SWIFTRDMA_UAR_LIGHTEST: the process found it */
};

struct policy_reading {
	enum signal_id sig;
	double v;		/* NaN: absent */
};

/* The objects for which a state was true, and the readings there. */
struct policy_seen {
	bool has_dev, has_port, has_uar, has_qp;
	char dev[SNAP_DEVNAME];
	uint32_t dev_index, port, uar, qpn;
	unsigned int n_values;
	struct policy_reading values[POLICY_READINGS];
};

/* The reason of a policy's last decision, for issuing its overrides anew. */
struct policy_evidence {
	char reason[SNAP_REASON];
	struct policy_seen seen;
};

/* The cause of the last act that had one, and when that was. */
struct policy_caused {
	bool known;		/* there was such an act */
	enum cause cause;
	uint64_t at;
};

/* Run state of all policies on one job. */
struct policy_slot {
	bool used, seen;
	uint32_t job;
	char name[SNAP_NAME];
	uint64_t since;
	bool held[POLICY_KNOBS];
	double value[POLICY_KNOBS];
	uint32_t holder[POLICY_KNOBS];	/* the policy that holds the knob */
	struct policy_turns turns[POLICY_KNOBS];
	struct policy_moved moved[POLICY_MOVED];
	uint32_t n_moved;
	struct policy_caused caused;
	/*
	 * All acts at .caused.at have that cause. .cause_acts is the number of those that have not failed;
	 * when it falls to 0, .caused becomes .caused_before again.
	 */
	struct policy_caused caused_before;
	uint32_t cause_acts;
	/* Per policy; separate from the fields that every tick reads. */
	struct policy_run *runs;
	struct policy_evidence *evidence;
};

/* Acts left by a policy's rate, refilled over time. */
struct policy_budget {
	double left;
	uint64_t at;
};

/* A job in the schedule. Its policies are job_policies[first .. end). */
struct policy_entry {
	uint32_t job, slot;	/* row; place in .slots */
	uint32_t first, end;
};

struct policy_state {
	struct policy_slot *slots;
	struct policy_run *runs;
	struct policy_evidence *evidence;
	struct policy_budget *budgets;
	size_t n_slots, n_policies;
	struct truth truth;
	/* The schedule: jobs by rank, each with its slot and policies. */
	struct policy_entry *order;
	size_t cap_policies;		/* of .budgets */
	uint16_t *job_policies;
	size_t cap_order, n_order;
	uint64_t order_of;	/* the topology that the schedule was built for */
	bool ordered;
	uint64_t ticks;		/* number of evaluations */
	bool at_once;		/* holds and cooldowns are ignored */
	/*
	 * The number of moves that no decision will release, because the QP or its job is gone. The kernel
	 * keeps their overrides until the lease ends. The caller ends the lease, and sets this to 0.
	 */
	uint32_t forgotten;
};

/* A decision. policy_eval() leaves .seen and .reason to policy_explain(). */
struct policy_decision {
	uint64_t tick;			/* of policy_eval(), from 1 */
	uint32_t policy;
	uint32_t job_id;
	char job[SNAP_NAME];
	bool has_qp;			/* the target is a QP, not the job */
	uint32_t dev_index, qpn;
	uint64_t serial;
	bool undo, release;
	unsigned int knob;
	unsigned int step;		/* index of the policy's step */
	bool has_old;
	double old, new;		/* .new is unused if .release */
	uint64_t cooldown;		/* ns until the next decision may follow */
	uint32_t steps_left;		/* of max_steps; UINT32_MAX: no limit */
	uint32_t acts_left;		/* of rate, over all jobs; UINT32_MAX: no limit */
	unsigned int damped;		/* the cooldown is 2^damped times its own */
	uint32_t others;		/* bit per cause that was also true, with a smaller margin */
	/* For policy_explain(): the job's slot, and the state that decided, for which objects. */
	uint32_t slot;
	const struct cond *cond;	/* NULL: none, the policy is not for this job any more */
	struct binding at;
	struct policy_seen seen;
	char reason[SNAP_REASON];
};

void policy_state_init(struct policy_state *st);
void policy_state_free(struct policy_state *st);
/*
 * Makes room for evaluating @set on @s, and keeps the run state. The caller must call it
 * after each change of @set or @s. 0 or -ENOMEM.
 */
int policy_state_reserve(struct policy_state *st, const struct policy_set *set,
			 const struct signals *s);
/* The same for @jobs jobs, without a reading. */
int policy_state_reserve_jobs(struct policy_state *st,
			      const struct policy_set *set, size_t jobs);

/**
 * policy_eval - decide, without the reasons
 * @set: the policies
 * @st: their state, with room for @s
 * @s: the readings
 * @now: ns, of the snapshot's clock
 * @out: the decisions
 * @cap: room for them
 *
 * Work is bounded by the number of objects that the states read, and by policies times jobs. A
 * job's knob gets at most one decision: the first policy of the set that acts on the knob holds it
 * until its undo. Jobs are evaluated in the order of their ranks. Returns the number of decisions;
 * decisions that do not fit into @cap are made at a later call.
 */
size_t policy_eval(const struct policy_set *set, struct policy_state *st,
		   const struct signals *s, uint64_t now,
		   struct policy_decision *out, size_t cap);

/*
 * Writes .seen and .reason of @n decisions of policy_eval(). @st keeps a copy of each reason for
 * policy_held(). A caller that shows or sends decisions calls this function after policy_eval(),
 * before @set, @st, @s or the snapshot changes, because decisions point into these.
 */
void policy_explain(const struct policy_set *set, struct policy_state *st,
		    const struct signals *s, struct policy_decision *d, size_t n);

/*
 * Takes back a decision of policy_eval() that was not carried out. If no decision of its act was, the act
 * counts neither as a step, nor against the rate, nor for the cause. @set: the one passed to policy_eval().
 */
void policy_failed(const struct policy_set *set, struct policy_state *st,
		   const struct policy_decision *d);

/* Lists the overrides that should be in force, from entry *@pos on. Returns their number. */
size_t policy_held(const struct policy_state *st, size_t *pos, struct policy_decision *out,
		   size_t cap);
/* The number of all such overrides. */
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
 * A policy that has the name and the knobs of an old one takes over the state of that one.
 * @out gets a release for each override of an old policy that has no successor. Returns the
 * number of releases, also of those that did not fit into @cap.
 */
size_t policy_carry(const struct policy_set *set, struct policy_state *st,
		    const struct policy_set *old_set,
		    const struct policy_state *old,
		    struct policy_decision *out, size_t cap);

/**
 * policy_adopt - hold an override that is in force already
 * @set: the policies
 * @st: their state, with room for @snap
 * @snap: a reading
 * @o: the override, as the kernel tells it
 *
 * Another evaluator, which has ended, decided @o by a policy of the same name. The cooldown of the
 * policy restarts, and hold times count from now. False: no policy of @set can hold @o.
 */
bool policy_adopt(const struct policy_set *set, struct policy_state *st,
		  const struct snapshot *snap, const struct snap_action *o);

/* True: the policy is for this job. */
bool policy_applies(const struct policy *p, const char *job, uint32_t class);

/* reason.c: appends " [tick 7, next in 1 s, 2 steps left]". */
void reason_quota(struct text *t, const struct policy_decision *d);

/* margin.c: how far the condition's readings are beyond their bounds, 0 or more. */
double margin_cond(const struct truth_view *v, const struct cond *c, const struct binding *b);

#endif /* SRDMA_CORE_POLICY_H */
