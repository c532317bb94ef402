/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_RULE_H
#define SRDMA_RULE_H

#include "job.h"

/**
 * struct srdma_rule - conditions on an owner
 * @job_node: in srdma_job.rules; srdma_ctl_lock
 * @node: in the list of all rules, by @order; RCU, written under srdma_ctl_lock
 * @rcu: frees it
 * @job: whose it is; a reference
 * @id: never reused, from 1
 * @order: lower is asked first
 * @origin: who set it
 * @cgroup: glob, or NULL
 * @comm: empty: any
 * @exe: empty: any
 * @has_uid: @uid is a condition
 * @has_pid: @pid is one
 * @uid: effective
 * @pid: process, initial pid namespace
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
	bool has_uid, has_pid;
	kuid_t uid;
	u32 pid;
	atomic64_t matches;
};

/* One rule as JOB_SET asks for it; strings are the caller's, NULL: any. */
struct srdma_rule_spec {
	u32 order;
	const char *cgroup, *comm, *exe;
	bool has_uid, has_pid;
	u32 uid, pid;
};

/* A rule of no list yet, with a reference on @job; NULL: no memory. */
struct srdma_rule *srdma_rule_new(struct srdma_job *job, const char *origin,
				  const struct srdma_rule_spec *spec);
/* Such a one again. */
void srdma_rule_free(struct srdma_rule *r);

/* All that follow: srdma_ctl_lock. */

/*
 * @made, by their @job_node, instead of those that @origin gave @job. At each moment
 * every owner gets the answer that it got before or the one that it gets after this,
 * never that of neither. May sleep.
 */
void srdma_rules_replace(struct srdma_job *job, const char *origin, struct list_head *made);
/* Those that @origin gave @job; how many. */
int srdma_rules_remove(struct srdma_job *job, const char *origin);
/* All of them. */
void srdma_rules_drop(struct srdma_job *job);
/* From now on every owner asks anew. */
void srdma_rules_changed(void);
/*
 * Which rules are in force, as a number that only grows; stored after a change of
 * them, under srdma_ctl_lock.
 */
extern u32 srdma_rules_gen;

/* Ask all of them; the answer is of generation @gen, or of a later one. RCU section. */
struct srdma_rule *srdma_rule_search(struct srdma_owner *o, u32 gen);

/*
 * The rule that has this owner, NULL: none; and of which generation. RCU section.
 * Part of every QP's creation, and nearly always known.
 */
static inline struct srdma_rule *srdma_rule_of(struct srdma_owner *o, u32 *gen)
{
	/* Pairs with srdma_rules_changed(): of this generation, or a younger list. */
	*gen = smp_load_acquire(&srdma_rules_gen);
	/*
	 * The generation changes after a rule has left the list and before it is
	 * handed to RCU to be freed. So one that was found in this generation or
	 * a later one, and read in this RCU section, lives until its end.
	 */
	if (smp_load_acquire(&o->rules_gen) == *gen)
		return rcu_dereference(o->rule);
	return srdma_rule_search(o, *gen);
}

/* A member of a job, which its rule counts once. Its job's lock is held. */
void srdma_rule_count(struct srdma_qp *q);

#endif /* SRDMA_RULE_H */
