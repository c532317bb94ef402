/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_OWNER_H
#define SRDMA_OWNER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include <rdma/swiftrdma.h>

struct cgroup;
struct srdma_rule;

/**
 * struct srdma_owner - the process or kernel user that created QPs, shared by all of them
 * @ref: one per UAR, per thread on a UAR page, per owner of memory regions on a device (mr.c), per
 *	attachment (share.c), and per QP that has SRDMA_QP_UAR_OWNER clear
 * @rcu: frees it, so that an RCU reader of a QP may follow qp->owner
 * @node: in the owner table, under its lock
 * @pid: the process, with a reference; NULL: a kernel user
 * @exec_id: task_struct.self_exec_id: another program is another owner
 * @cgroup_id: kernfs id of the cgroup at creation
 * @uid: effective
 * @comm: of the group leader; of a kernel user, its name as far as it fits
 * @exe: basename of the executable; kernel users: their name
 * @lock: serializes writers of @rule and @rules_gen; a leaf, taken inside srdma_job_dev.lock
 * @rule: the rule that matched under @rules_gen, NULL: unassigned. RCU.
 * @rules_gen: srdma_rules_gen_of() when @rule was found; stored after @rule, so a reader
 *	that reads this first gets that rule or a younger one
 * @wishes: grows when the wish of the process changes, see wish.h
 * @cgroup: path in the unified hierarchy, initial cgroup namespace
 *
 * Everything but the match cache is constant after publication. A process that
 * moves to another cgroup, changes uid or execs gets a new owner for the QPs it
 * creates from then on.
 */
struct srdma_owner {
	struct kref ref;
	struct rcu_head rcu;
	struct hlist_node node;
	struct pid *pid;
	u64 exec_id;
	u64 cgroup_id;
	kuid_t uid;
	char comm[TASK_COMM_LEN];
	char exe[SWIFTRDMA_EXE_LEN];
	spinlock_t lock;	/* @rule, @rules_gen */
	struct srdma_rule __rcu *rule;
	u32 rules_gen;
	u32 wishes;
	char cgroup[];
};

/* The process of @task, which the caller holds; NULL: no memory, or it has exited. May sleep. */
struct srdma_owner *srdma_owner_task(struct task_struct *task);
/* The calling process; the named kernel user. NULL: no memory. May sleep. */
static inline struct srdma_owner *srdma_owner_current(void)
{
	return srdma_owner_task(current);
}

struct srdma_owner *srdma_owner_kernel(const char *name);
/* Is @o, which the caller holds, the owner of the calling process? Does not search the table. */
bool srdma_owner_is_current(const struct srdma_owner *o);

void srdma_owner_put(struct srdma_owner *o);
static inline void srdma_owner_get(struct srdma_owner *o)
{
	kref_get(&o->ref);
}

static inline bool srdma_owner_is_kernel(const struct srdma_owner *o)
{
	return !o->pid;
}

/* The wish of process @pid has changed: invalidate the cached match of each of its owners. */
void srdma_owners_asked(struct pid *pid);

u32 srdma_owner_count(void);

#endif /* SRDMA_OWNER_H */
