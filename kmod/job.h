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
 * The control plane's one lock: jobs, rules, leases, overrides, levels. Taken
 * inside srdma_devs_sem, outside every spinlock; never in an application's
 * path. Sleeping allowed.
 */
extern struct mutex srdma_ctl_lock;

/* Limits are U64_MAX where there is none. */
#define SRDMA_NO_LIMIT	U64_MAX

/*
 * Class level packed into a word, so that it is read whole: bit 31 set, rank in
 * bits 8..15, level in bits 0..7. 0: no override.
 */
static inline u32 srdma_level_pack(u32 rank, u32 level)
{
	return BIT(31) | rank << 8 | level;
}

static inline u32 srdma_level_rank(u32 packed)
{
	return packed >> 8 & 0xff;
}

static inline int srdma_level_of(u32 packed)
{
	return packed ? (int)(packed & 0xff) : -1;
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

/* Knobs of a job that libraries enforce, by enum swiftrdma_share_knob. */
#define SRDMA_JOB_KNOBS	SWIFTRDMA_SHARE_HELD

/**
 * struct srdma_job_knob - such a knob, in force
 * @value: of all processes of the job on the device
 * @until: ns, when the lease ends; 0: no knob is in force
 * @lease: id of the lease
 */
struct srdma_job_knob {
	u64 value, until, lease;
};

/**
 * struct srdma_job_dev - a job on one device
 * @ref: one of srdma_dev.jobs, one per QP and per admission under way
 * @rcu: frees it
 * @job: reference
 * @dev: reference
 * @lock: protects membership, counters and limits; taken inside srdma_ctl_lock,
 *	and two of one device in order of job id. Not taken when a doorbell rings.
 * @qps: srdma_qp.job_node; a new member is put first
 * @walks: struct srdma_job_walk of each walk under way
 * @round: a member whose SRDMA_QP_SUMMED equals this needs no adding to @sum: it was added,
 *	or came later. Flipped when a sum begins; between sums all members equal it.
 * @sum: doorbells and work requests, while srdma_job_stat() adds them up. It starts with
 *	the members that have left.
 * @n_qps: members, and admissions under way
 * @created: QPs that became the job's
 * @destroyed: of these, those that were destroyed as members
 * @moved: of these, those that became another job's
 * @rejected: refused by admission
 * @doorbells: of former members; modulo 2^64, so that a member that came with a
 *	count of its own is taken off here
 * @wrs: the same
 * @creates: QPs that its processes created; @created also counts QPs that were moved to
 *	the job or adopted
 * @modifies: calls of modify of its QPs, by their application; without @lock
 * @commands: calls of the driver's create, modify and destroy; the same
 * @command_ns: time spent in them; the same
 * @max_qps: limit in force
 * @create_rate: limit in force, 1/s
 * @tokens: of the bucket, in 1/NSEC_PER_SEC of a QP
 * @tokens_at: ns, when it was last filled
 * @level: override in force, packed; READ_ONCE, written under srdma_ctl_lock
 * @bit_rate: in force, bit/s, 0: none; READ_ONCE, the same
 * @weight: in force, 0: none; READ_ONCE, the same
 * @shape_error: -errno, why the device has no element for @bit_rate and @weight; 0: it has
 *	one, or it is not known yet; READ_ONCE, the provider's
 * @shape_syndrome: the device's reason
 * @report: what libraries reported, NULL: nothing yet; under srdma_share_lock
 * @knob: in force in libraries; written under srdma_ctl_lock and srdma_share_lock, so one of
 *	them is enough to read
 * @want: override.c, while it works out what is in force: the override that wins
 *	for each knob; srdma_ctl_lock
 */
struct srdma_job_dev {
	struct kref ref;
	struct rcu_head rcu;
	struct srdma_job *job;
	struct srdma_dev *dev;
	spinlock_t lock;	/* membership, counters, limits */
	struct hlist_head qps;
	struct list_head walks;
	bool round;
	struct {
		u64 doorbells, wrs;
	} sum;
	u32 n_qps;
	u64 created, destroyed, moved, rejected;
	u64 doorbells, wrs;
	u64 creates;
	atomic64_t modifies, commands, command_ns;
	u64 max_qps, create_rate;
	u64 tokens, tokens_at;
	u32 level;
	u32 weight;
	u64 bit_rate;
	int shape_error;
	u32 shape_syndrome;
	struct srdma_job_report *report;
	struct srdma_job_knob knob[SRDMA_JOB_KNOBS];
	struct {
		struct srdma_override *level, *max_qps, *create_rate, *bit_rate, *weight;
		struct srdma_override *wr_rate, *credits;
	} want;
};

/* Figures of a job on a device, for JOB_GET and debugfs. */
struct srdma_job_stat {
	u32 qps;
	u64 created, destroyed, moved, rejected, doorbells, wrs;
	u64 creates, modifies, commands, command_ns;
	u64 max_qps, create_rate;
	int level;		/* -1: none in force */
	u64 bit_rate;		/* 0: the same */
	u32 weight;		/* 0: the same */
	u64 wr_rate, credits;	/* U64_MAX: the same */
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
 * Replace the rules @origin gave job @name; the job is made if need be. All or
 * nothing. -ENOMEM, -ENOSPC. Process context; takes srdma_devs_sem and
 * srdma_ctl_lock.
 */
int srdma_job_set(const char *name, const char *origin, u32 class,
		  const struct srdma_rule_spec *rules, int n);
/* -ENOENT: no such job, or no rule of this origin. */
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
/* Have every QP matched against the rules and leases again, soon. Any context. */
void srdma_job_recheck(void);
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

/* The job that a new QP of this owner would get, with a reference. Any context. */
struct srdma_job_dev *srdma_job_dev_of(struct srdma_dev *dev, struct srdma_owner *o);
void srdma_job_dev_put(struct srdma_job_dev *jd);
/* srdma_ctl_lock. May sleep. */
void srdma_job_stat(struct srdma_job_dev *jd, struct srdma_job_stat *st);

/*
 * A visit to every member, with @jd's lock held: it must not sleep. Members that come
 * meanwhile may be left out. The lock is released every few members, because creating
 * and destroying a QP waits for it. May sleep; the caller holds @jd.
 */
void srdma_job_walk(struct srdma_job_dev *jd, void (*visit)(struct srdma_qp *q, void *arg),
		    void *arg);
/* With a reference, NULL: there is none. srdma_devs_sem or srdma_ctl_lock. */
struct srdma_job_dev *srdma_job_dev_get(struct srdma_dev *dev, u32 job);

#endif /* SRDMA_JOB_H */
