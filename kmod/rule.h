/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_RULE_H
#define SRDMA_RULE_H

#include "job.h"

/**
 * struct srdma_rule - conditions on an owner
 * @job_node: in srdma_job.rules; srdma_ctl_lock
 * @node: in the list of all rules, by @order; RCU, written under srdma_ctl_lock
 * @rcu: frees it
 * @job: reference
 * @id: never reused, from 1
 * @order: rules of lower order are tried first
 * @origin: the program that set it, such as "agent" or "cli"
 * @cgroup: glob, or NULL
 * @comm: empty: any
 * @exe: empty: any
 * @has_uid: @uid is a condition
 * @has_pid: @pid is a condition
 * @asked: the owner's process must have asked for @job
 * @uid: effective
 * @pid: process, initial pid namespace
 * @slo_p99_min: ns, smallest objective that the rule grants to an owner that matches; 0: it grants
 *	none
 * @matches: QPs that it assigned to @job since that was last set; kept when other
 *	jobs change
 */
struct srdma_rule {
	struct list_head job_node;
	struct list_head node;
	struct rcu_head rcu;
	struct srdma_job *job;
	u32 id;
	u32 order;
	char origin[SWIFTRDMA_NAME_LEN];
	char *cgroup;
	char comm[SWIFTRDMA_COMM_LEN];
	char exe[SWIFTRDMA_EXE_LEN];
	bool has_uid, has_pid, asked;
	kuid_t uid;
	u32 pid;
	u64 slo_p99_min;
	atomic64_t matches;
};

/* A rule as JOB_SET describes it; strings are the caller's, NULL: any. */
struct srdma_rule_spec {
	u32 order;
	const char *cgroup, *comm, *exe;
	bool has_uid, has_pid, asked;
	u32 uid, pid;
	u64 slo_p99_min;
};

/* A new rule that is in no list, with a reference on @job; NULL: no memory. */
struct srdma_rule *srdma_rule_new(struct srdma_job *job, const char *origin,
				  const struct srdma_rule_spec *spec);
/* Free a rule that is in no list. */
void srdma_rule_free(struct srdma_rule *r);

/* The functions that follow need srdma_ctl_lock. */

/*
 * Replace the rules that @origin gave @job by those in @made, which are linked by
 * @job_node. At each moment an owner gets either its old match or its new one. May sleep.
 */
void srdma_rules_replace(struct srdma_job *job, const char *origin, struct list_head *made);
/* Remove the rules that @origin (NULL: any) gave @job, and return how many there were. */
int srdma_rules_remove(struct srdma_job *job, const char *origin);
/* Invalidate the cached match of every owner. */
void srdma_rules_changed(void);
/*
 * Generation of the rules, which only grows; stored after a change of them, under
 * srdma_ctl_lock.
 */
extern u32 srdma_rules_gen;

/*
 * Generation of the rules and of the wish of @o's process, which together decide @o's job. Both
 * numbers only grow, so no two states have the same sum.
 */
static inline u32 srdma_rules_gen_of(const struct srdma_owner *o)
{
	/*
	 * Pairs with srdma_rules_changed() and srdma_owners_asked(): the rules and the wish
	 * that are read next are of this generation or a younger one.
	 */
	return smp_load_acquire(&srdma_rules_gen) + smp_load_acquire(&o->wishes);
}

/*
 * Does any rule belong to a job of this name? Every job but "unassigned" has rules. @asked:
 * consider only rules with srdma_rule.asked.
 */
bool srdma_rules_name_job(const char *name, bool asked);

/* Match @o against all rules; the answer is of generation @gen or a later one. RCU section. */
struct srdma_rule *srdma_rule_search(struct srdma_owner *o, u32 gen);

/*
 * The rule that matches @o, NULL: none; and its generation in *@gen. RCU section. Every
 * creation of a QP calls this, and the match is nearly always cached.
 */
static inline struct srdma_rule *srdma_rule_of(struct srdma_owner *o, u32 *gen)
{
	*gen = srdma_rules_gen_of(o);
	/*
	 * The generation changes after a rule has left the list and before RCU may free it.
	 * So a cached rule of this generation or a later one, read in this RCU section,
	 * stays valid until the section ends.
	 */
	if (smp_load_acquire(&o->rules_gen) == *gen)
		return rcu_dereference(o->rule);
	return srdma_rule_search(o, *gen);
}

/* Have the rule that matches @q count it, once. The job's lock is held. */
void srdma_rule_count(struct srdma_qp *q);

#endif /* SRDMA_RULE_H */
