/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Wishes: the job and the objective that a process asked for by %SWIFTRDMA_IOC_ASK. Rules
 * with srdma_rule.asked match by them.
 */
#ifndef SRDMA_WISH_H
#define SRDMA_WISH_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include <rdma/swiftrdma_share.h>

struct pid;
struct srdma_owner;

/**
 * struct srdma_wish - what a process asked for; constant once it can be found
 * @node: in the table of wishes; RCU
 * @rcu: frees it
 * @pid: the process
 * @exec_id: task_struct.self_exec_id: a program that the process executes later has not asked
 * @slo_p99: ns, 0: no wish
 * @job: name, empty: no wish
 */
struct srdma_wish {
	struct hlist_node node;
	struct rcu_head rcu;
	const struct pid *pid;
	u64 exec_id;
	u64 slo_p99;
	char job[SWIFTRDMA_SHARE_JOB_LEN];
};

/* The wish of @o's process, NULL: it has none. RCU section. */
const struct srdma_wish *srdma_wish_of(const struct srdma_owner *o);
/*
 * Make @w the wish of process @pid; NULL: remove its wish. Callers exclude each other. The caller
 * has a reference on @pid for as long as there is a wish, and calls srdma_owners_asked()
 * afterwards.
 */
void srdma_wish_set(const struct pid *pid, struct srdma_wish *w);

#endif /* SRDMA_WISH_H */
