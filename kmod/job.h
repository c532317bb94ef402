/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_JOB_H
#define SRDMA_JOB_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>

#include <rdma/swiftrdma_share.h>

#include "mr.h"
#include "tracker.h"

struct srdma_job_report;
struct srdma_override;
struct srdma_rule_spec;

/*
 * The control plane's one lock: jobs, rules, leases, overrides, levels. Taken inside
 * srdma_devs_sem, outside every spinlock. No path of an application takes it. Its holder may
 * sleep.
 */
extern struct mutex srdma_ctl_lock;

/* Limits are U64_MAX where there is none. */
#define SRDMA_NO_LIMIT	U64_MAX

/*
 * An override in force, packed into a word, so that it is read whole: bit 31 set, rank in
 * bits 16..23, value in bits 0..15. 0: no override.
 */
static inline u32 srdma_pack(u32 rank, u32 value)
{
	return BIT(31) | rank << 16 | value;
}

static inline u32 srdma_packed_rank(u32 packed)
{
	return packed >> 16 & 0xff;
}

static inline u16 srdma_packed_value(u32 packed)
{
	return packed;
}

/* The level of a packed override, -1: none. */
static inline int srdma_level_unpack(u32 packed)
{
	return packed ? srdma_packed_value(packed) : -1;
}

/**
 * struct srdma_job - a named set of owners
 * @ref: one of the list, one per rule, job_dev and override
 * @rcu: frees it
 * @node: in srdma_jobs; srdma_ctl_lock
 * @rules: srdma_ctl_lock
 * @id: never reused; 0 is "unassigned", which always exists
 * @class: enum swiftrdma_job_class
 * @name: constant
 * @since: ns
 */
struct srdma_job {
	struct kref ref;
	struct rcu_head rcu;
	struct list_head node;
	struct list_head rules;
	u32 id;
	u32 class;
	char name[SWIFTRDMA_NAME_LEN];
	u64 since;
};

/*
 * Knobs of a job that libraries enforce, by enum swiftrdma_share_knob. Those below
 * SWIFTRDMA_SHARE_HELD are divided among the job's processes; of the others each process has the
 * whole value.
 */
#define SRDMA_JOB_KNOBS	__SWIFTRDMA_SHARE_KNOB_MAX

/**
 * struct srdma_job_knob - a knob that is in force in libraries
 * @value: for all processes of the job on the device together, where the knob is divided
 * @until: ns, when the lease ends; 0: the knob is not in force
 * @lease: id of the lease
 */
struct srdma_job_knob {
	u64 value, until, lease;
};

/**
 * struct srdma_job_dev - a job on one device
 * @ref: one of srdma_dev.jobs, one per QP, admission under way and attachment
 * @rcu: frees it
 * @job: reference
 * @dev: reference
 * @lock: membership, counters and limits; taken inside srdma_ctl_lock, and two of one device
 *	in order of job id. Not taken when a doorbell rings.
 * @qps: srdma_qp.job_node; a new member is put first
 * @walks: struct srdma_job_walk of each walk under way
 * @sum: doorbells and work requests, while srdma_job_stat() adds them up. It starts with
 *	the members that have left.
 * @round: a member whose SRDMA_QP_SUMMED equals @round is not added to @sum: it was added already,
 *	or joined after the sum began. A sum begins by flipping @round; between sums the bits of
 *	all members equal it.
 * @n_qps: members, and admissions under way
 * @created: QPs that became the job's
 * @destroyed: of these, those that were destroyed as members
 * @moved: of these, those that became another job's
 * @rejected: refused by admission
 * @creates: QPs that its processes created; @created also counts QPs that were moved to
 *	the job or adopted
 * @doorbells: of former members, modulo 2^64: when a QP moves here from another job, its count
 *	until then is subtracted here
 * @wrs: the same
 * @max_qps: limit in force
 * @create_rate: limit in force, 1/s
 * @tokens: of the bucket, in 1/NSEC_PER_SEC of a QP
 * @tokens_at: ns, when it was last filled
 * @modifies: calls of modify of its QPs, by their application
 * @commands: calls of the driver's create, modify and destroy
 * @command_ns: time spent in them
 * @level: override in force, packed as srdma_pack()
 * @follow: the same, of the highest level to which wishes of peers raise QPs
 * @weight: in force, 0: none
 * @bit_rate: in force, bit/s, 0: none
 * @shape_error: -errno, why the device has no element for @bit_rate and @weight; 0: it has
 *	one, or it is not known yet
 * @shape_syndrome: the device's reason
 * @report: what libraries reported, NULL: nothing yet
 * @knob: in force in libraries
 * @want: by knob: the override that wins, while override.c works out what is in force
 *
 * The comments in the structure name the lock of each group.
 */
struct srdma_job_dev {
	struct kref ref;
	struct rcu_head rcu;

	/* Constant. */
	struct srdma_job *job;
	struct srdma_dev *dev;

	/* lock. */
	spinlock_t lock;	/* this group */
	struct hlist_head qps;
	struct list_head walks;
	struct {
		u64 doorbells, wrs;
	} sum;
	bool round;
	u32 n_qps;
	u64 created, destroyed, moved, rejected, creates;
	u64 doorbells, wrs;
	u64 max_qps, create_rate;
	u64 tokens, tokens_at;

	/* Atomic. */
	atomic64_t modifies, commands, command_ns;

	/* Written under srdma_ctl_lock, read without it. */
	u32 level, follow, weight;
	u64 bit_rate;

	/* Written by the provider's shape() alone, read by any thread. */
	int shape_error;
	u32 shape_syndrome;

	/* srdma_share_lock. */
	struct srdma_job_report *report;

	/* Written under srdma_ctl_lock and srdma_share_lock: one of them is enough to read. */
	struct srdma_job_knob knob[SRDMA_JOB_KNOBS];

	/* srdma_ctl_lock. */
	struct srdma_override *want[SWIFTRDMA_KNOB_MAX + 1];
};

/* Figures of a job on a device, for JOB_GET and debugfs. */
struct srdma_job_stat {
	u32 qps;
	u64 created, destroyed, moved, rejected, doorbells, wrs;
	u64 creates, modifies, commands, command_ns;
	u64 max_qps, create_rate;
	int level, follow;	/* -1: none in force */
	u64 bit_rate;		/* 0: none in force */
	u32 weight;		/* 0: none in force */
	u64 wr_rate, credits, chunk;	/* U64_MAX: none in force */
	u32 place, huge_pages;	/* U32_MAX: none in force */
	struct srdma_mr_sum mr;
};

int srdma_job_init(void);
void srdma_job_exit(void);

extern struct list_head srdma_jobs;		/* srdma_ctl_lock */

struct srdma_job *srdma_job_find(const char *name);	/* srdma_ctl_lock */
void srdma_job_put(struct srdma_job *job);
static inline void srdma_job_get(struct srdma_job *job)
{
	kref_get(&job->ref);
}

/*
 * Replace the rules that @origin gave job @name; the job is made if need be. On error nothing
 * is changed. -ENOMEM, -ENOSPC. Process context; takes srdma_devs_sem and srdma_ctl_lock.
 */
int srdma_job_set(const char *name, const char *origin, u32 class,
		  const struct srdma_rule_spec *rules, int n);
/* Remove the rules that @origin gave the job. -ENOENT: there is no such job, or no rule. */
int srdma_job_del(const char *name, const char *origin);

/* Put every job onto a new device; take all jobs off a device that goes. srdma_ctl_lock. */
int srdma_job_dev_added(struct srdma_dev *dev);
void srdma_job_dev_removed(struct srdma_dev *dev);

/*
 * Admission of a new QP of @owner: its job on @dev, with a reference and a place
 * reserved, or ERR_PTR(-EDQUOT). Any process context; no sleeping lock.
 */
struct srdma_job_dev *srdma_job_admit(struct srdma_dev *dev,
				      struct srdma_owner *owner, u32 *rules_gen);
void srdma_job_unadmit(struct srdma_job_dev *jd);

/* Make an admitted QP, which is in the table, a member of its job. */
void srdma_job_join(struct srdma_qp *q);
/* Queue a work that matches every QP against rules and leases again. Any context. */
void srdma_job_recheck(void);
/*
 * Queue a work that matches every QP against the rules again, because a process has asked for
 * another job. The work runs soon, but takes a bounded part of a CPU's time.
 */
void srdma_job_asked(void);
/* Admission of a QP that exists already: never refused. */
struct srdma_job_dev *srdma_job_admit_adopted(struct srdma_dev *dev,
					      struct srdma_owner *owner,
					      u32 *rules_gen);
void srdma_job_leave(struct srdma_qp *q);

/*
 * Charge a QP's job with a driver call that the QP's application caused and that began
 * at @began (local_clock()). This clock costs a fraction of ktime's. It may step back
 * between two CPUs; no time is added then.
 */
static inline void srdma_job_charge(struct srdma_qp *q, u64 began, bool modify)
{
	s64 ns = local_clock() - began;
	struct srdma_job_dev *jd;

	rcu_read_lock();
	jd = rcu_dereference(q->job);
	atomic64_inc(&jd->commands);
	if (modify)
		atomic64_inc(&jd->modifies);
	if (ns > 0)
		atomic64_add(ns, &jd->command_ns);
	rcu_read_unlock();
}

/*
 * The job that a new QP of this owner would get, with a reference; in *@gen the generation of the
 * rules that assign it. Process context; takes spinlocks only.
 */
struct srdma_job_dev *srdma_job_dev_of(struct srdma_dev *dev, struct srdma_owner *o, u32 *gen);
void srdma_job_dev_put(struct srdma_job_dev *jd);
/* srdma_ctl_lock. May sleep. */
void srdma_job_stat(struct srdma_job_dev *jd, struct srdma_job_stat *st);

/*
 * Call @visit for every member. @visit runs under @jd's lock and must not sleep. Members that come
 * meanwhile may be left out. The walk releases the lock every few members, because creating and
 * destroying a QP waits for it. May sleep; the caller has a reference on @jd.
 */
void srdma_job_walk(struct srdma_job_dev *jd, void (*visit)(struct srdma_qp *q, void *arg),
		    void *arg);
/* With a reference, NULL: there is none. srdma_devs_sem or srdma_ctl_lock. */
struct srdma_job_dev *srdma_job_dev_get(struct srdma_dev *dev, u32 job);

#endif /* SRDMA_JOB_H */
