// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: rules match owners, and every QP of a matching owner belongs to the job. Admission
 * limits and figures are kept per device. An application that creates a QP never waits for
 * a change of the rules: its QP gets the job of the rules that were in force when it
 * looked. If these have changed when the QP becomes a member, a work item assigns all QPs
 * again.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "debug.h"
#include "find.h"
#include "notify.h"
#include "pass.h"
#include "rule.h"
#include "trace.h"

/* What this lock protects is written in job.h. */
DEFINE_MUTEX(srdma_ctl_lock);
LIST_HEAD(srdma_jobs);

static u32 next_job_id;
static u32 n_jobs;

/* How many members a walk visits before it lets the job's lock go; these take some microseconds. */
#define WALK_CHUNK 64

/**
 * struct srdma_job_walk - a walk over a job's members, which lets the lock go now and then
 * @node: in srdma_job_dev.walks
 * @next: the member that it visits next; the thread that removes that member moves it on
 */
struct srdma_job_walk {
	struct list_head node;
	struct hlist_node *next;
};

static void reassign_work(struct work_struct *work);
static DECLARE_WORK(reassign, reassign_work);

/* Passes that processes cause by asking take at most 1/ASKED_PART of a CPU's time. */
#define ASKED_PART	32
#define ASKED_TIME	(HZ / 20)	/* between two passes, at least */

static void asked_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(asked, asked_work);
static unsigned long asked_next;	/* jiffies before which asked_work() does not run again */

/* Objects */

static void job_release(struct kref *ref)
{
	kfree_rcu(container_of(ref, struct srdma_job, ref), rcu);
}

void srdma_job_put(struct srdma_job *job)
{
	kref_put(&job->ref, job_release);
}

struct srdma_job *srdma_job_find(const char *name)
{
	struct srdma_job *job;

	lockdep_assert_held(&srdma_ctl_lock);
	list_for_each_entry(job, &srdma_jobs, node)
		if (!strcmp(job->name, name))
			return job;
	return NULL;
}

static void job_dev_free(struct rcu_head *rcu)
{
	struct srdma_job_dev *jd = container_of(rcu, struct srdma_job_dev, rcu);

	srdma_job_put(jd->job);
	kvfree(jd->report);
	kfree(jd);
}

static void job_dev_release(struct kref *ref)
{
	struct srdma_job_dev *jd = container_of(ref, struct srdma_job_dev, ref);

	/* Each member has a reference. */
	WARN_ON_ONCE(jd->n_qps || !hlist_empty(&jd->qps));
	srdma_dev_put(jd->dev);
	call_rcu(&jd->rcu, job_dev_free);
}

void srdma_job_dev_put(struct srdma_job_dev *jd)
{
	if (jd)
		kref_put(&jd->ref, job_dev_release);
}

struct srdma_job_dev *srdma_job_dev_get(struct srdma_dev *dev, u32 job)
{
	struct srdma_job_dev *jd;

	rcu_read_lock();
	jd = xa_load(&dev->jobs, job);
	if (jd && !kref_get_unless_zero(&jd->ref))
		jd = NULL;
	rcu_read_unlock();
	return jd;
}

static int job_dev_add(struct srdma_job *job, struct srdma_dev *dev)
{
	struct srdma_job_dev *jd = kzalloc(sizeof(*jd), GFP_KERNEL);
	int ret;

	if (!jd)
		return -ENOMEM;
	kref_init(&jd->ref);
	spin_lock_init(&jd->lock);
	INIT_LIST_HEAD(&jd->walks);
	jd->job = job;
	jd->dev = dev;
	jd->max_qps = SRDMA_NO_LIMIT;
	jd->create_rate = SRDMA_NO_LIMIT;
	ret = xa_err(xa_store(&dev->jobs, job->id, jd, GFP_KERNEL));
	if (ret) {
		kfree(jd);
		return ret;
	}
	srdma_job_get(job);
	srdma_dev_get(dev);
	if (!job->id)
		dev->unassigned = jd;
	return 0;
}

int srdma_job_dev_added(struct srdma_dev *dev)
{
	struct srdma_job *job;
	int ret = 0;

	lockdep_assert_held(&srdma_ctl_lock);
	list_for_each_entry(job, &srdma_jobs, node) {
		ret = job_dev_add(job, dev);
		if (ret)
			break;
	}
	return ret;
}

void srdma_job_dev_removed(struct srdma_dev *dev)
{
	struct srdma_job_dev *jd;
	unsigned long id;

	lockdep_assert_held(&srdma_ctl_lock);
	xa_for_each(&dev->jobs, id, jd) {
		xa_erase(&dev->jobs, id);
		srdma_job_dev_put(jd);
	}
}

static struct srdma_job *job_new(const char *name)
{
	struct srdma_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	kref_init(&job->ref);
	INIT_LIST_HEAD(&job->rules);
	strscpy(job->name, name, sizeof(job->name));
	job->since = ktime_get_ns();
	job->id = next_job_id++;
	return job;
}

/* Take the job out of every device. Its QPs must have been moved away. */
static void job_remove(struct srdma_job *job)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev) {
		jd = xa_erase(&dev->jobs, job->id);
		srdma_job_dev_put(jd);
	}
	list_del(&job->node);
	n_jobs--;
	srdma_job_put(job);
}

/* Put the job onto every device. */
static int job_insert(struct srdma_job *job)
{
	struct srdma_dev *dev;
	unsigned long index;
	int ret;

	list_add_tail(&job->node, &srdma_jobs);
	n_jobs++;
	xa_for_each(&srdma_devs, index, dev) {
		ret = job_dev_add(job, dev);
		if (ret) {
			job_remove(job);
			return ret;
		}
	}
	return 0;
}

struct srdma_job_dev *srdma_job_dev_of(struct srdma_dev *dev, struct srdma_owner *o, u32 *gen)
{
	struct srdma_job_dev *jd;
	struct srdma_rule *r;

	rcu_read_lock();
	r = srdma_rule_of(o, gen);
	jd = r ? xa_load(&dev->jobs, r->job->id) : NULL;
	if (!jd || !kref_get_unless_zero(&jd->ref)) {
		jd = dev->unassigned;
		kref_get(&jd->ref);
	}
	rcu_read_unlock();
	return jd;
}

/* Membership */

/* The bucket holds one second's worth of tokens. */
static bool take_token(struct srdma_job_dev *jd)
{
	u64 now = ktime_get_ns();
	u64 dt = min_t(u64, now - jd->tokens_at, NSEC_PER_SEC);

	jd->tokens = min(jd->tokens + dt * jd->create_rate,
			 jd->create_rate * NSEC_PER_SEC);
	jd->tokens_at = now;
	if (jd->tokens < NSEC_PER_SEC)
		return false;
	jd->tokens -= NSEC_PER_SEC;
	return true;
}

struct srdma_job_dev *srdma_job_admit(struct srdma_dev *dev,
				      struct srdma_owner *owner, u32 *gen)
{
	struct srdma_job_dev *jd = srdma_job_dev_of(dev, owner, gen);
	bool rate = false, full;
	u64 limit;
	u32 n;

	spin_lock(&jd->lock);
	limit = jd->max_qps;
	full = jd->n_qps >= limit;
	if (!full && jd->create_rate != SRDMA_NO_LIMIT) {
		rate = !take_token(jd);
		limit = jd->create_rate;
	}
	n = jd->n_qps;
	if (full || rate)
		jd->rejected++;
	else
		jd->n_qps++;
	spin_unlock(&jd->lock);
	if (!full && !rate)
		return jd;

	trace_srdma_reject(dev->name, jd->job->name, n, limit, rate);
	srdma_job_dev_put(jd);
	return ERR_PTR(-EDQUOT);
}

struct srdma_job_dev *srdma_job_admit_adopted(struct srdma_dev *dev,
					      struct srdma_owner *owner, u32 *gen)
{
	struct srdma_job_dev *jd = srdma_job_dev_of(dev, owner, gen);

	spin_lock(&jd->lock);
	jd->n_qps++;
	spin_unlock(&jd->lock);
	return jd;
}

void srdma_job_unadmit(struct srdma_job_dev *jd)
{
	spin_lock(&jd->lock);
	jd->n_qps--;
	spin_unlock(&jd->lock);
}

static void link_member(struct srdma_job_dev *jd, struct srdma_qp *q)
{
	hlist_add_head(&q->job_node, &jd->qps);
	assign_bit(SRDMA_QP_SUMMED, &q->flags, jd->round);
	jd->created++;
}

void srdma_job_join(struct srdma_qp *q)
{
	/* A QP that is on no list yet is not moved. */
	struct srdma_job_dev *jd = rcu_dereference_protected(q->job, 1);

	spin_lock(&jd->lock);
	link_member(jd, q);
	if (!test_bit(SRDMA_QP_ADOPTED, &q->flags))
		jd->creates++;
	if (jd != q->dev->unassigned)
		srdma_rule_count(q);
	spin_unlock(&jd->lock);

	smp_mb();	/* join, then read the generation: reassign_all() does the reverse */
	if (q->rules_gen != srdma_rules_gen_of(q->owner))
		srdma_job_asked();
}

static void sum_member(struct srdma_job_dev *jd, struct srdma_qp *q)
{
	if (test_bit(SRDMA_QP_SUMMED, &q->flags) == jd->round)
		return;
	assign_bit(SRDMA_QP_SUMMED, &q->flags, jd->round);
	jd->sum.doorbells += atomic64_read(&q->doorbells);
	jd->sum.wrs += atomic64_read(&q->wrs);
}

static void unlink_member(struct srdma_job_dev *jd, struct srdma_qp *q)
{
	struct srdma_job_walk *w;

	list_for_each_entry(w, &jd->walks, node)
		if (w->next == &q->job_node)
			w->next = q->job_node.next;
	sum_member(jd, q);
	hlist_del_init(&q->job_node);
	jd->n_qps--;
	jd->doorbells += atomic64_read(&q->doorbells);
	jd->wrs += atomic64_read(&q->wrs);
}

void srdma_job_leave(struct srdma_qp *q)
{
	struct srdma_job_dev *jd;
	bool left = false;

	rcu_read_lock();
	do {
		jd = rcu_dereference(q->job);
		spin_lock(&jd->lock);
		/* If the QP was moved before the lock was taken, try again with its new job. */
		if (jd == rcu_access_pointer(q->job)) {
			if (!hlist_unhashed(&q->job_node)) {
				unlink_member(jd, q);
				jd->destroyed++;
			}
			left = true;
		}
		spin_unlock(&jd->lock);
	} while (!left);
	rcu_read_unlock();
}

/*
 * Doorbells and work requests of the QP until now stay with its old job: the new one
 * subtracts them from its own total.
 */
static void job_move(struct srdma_qp *q, struct srdma_job_dev *to)
{
	struct srdma_job_dev *from = rcu_dereference_protected(q->job,
					lockdep_is_held(&srdma_ctl_lock));
	struct srdma_job_dev *a = from->job->id < to->job->id ? from : to;
	struct srdma_job_dev *b = a == from ? to : from;
	bool moved = false;

	spin_lock(&a->lock);
	spin_lock_nested(&b->lock, SINGLE_DEPTH_NESTING);
	if (!hlist_unhashed(&q->job_node)) {
		u64 doorbells = from->doorbells, wrs = from->wrs;

		unlink_member(from, q);
		from->moved++;
		to->doorbells -= from->doorbells - doorbells;
		to->wrs -= from->wrs - wrs;
		link_member(to, q);
		to->n_qps++;
		kref_get(&to->ref);
		rcu_assign_pointer(q->job, to);
		moved = true;
	}
	spin_unlock(&b->lock);
	spin_unlock(&a->lock);
	if (moved) {
		srdma_job_dev_put(from);
		srdma_qp_touch(q);
	}
}

/* Match every QP against the rules. srdma_devs_sem, srdma_ctl_lock. */
static void reassign_all(void)
{
	unsigned long index;
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	struct srdma_qp *q;
	u32 gen;

	lockdep_assert_held(&srdma_ctl_lock);
	smp_mb();	/* the new generation, then the table: pairs with srdma_job_join() */
	xa_for_each(&srdma_devs, index, dev) {
		srdma_for_each_qp(q, dev) {
			jd = srdma_job_dev_of(dev, q->owner, &gen);
			if (jd != rcu_access_pointer(q->job))
				job_move(q, jd);
			spin_lock(&jd->lock);
			/* A QP that is just joining its old job requests another pass. */
			if (jd == rcu_access_pointer(q->job) && !hlist_unhashed(&q->job_node))
				srdma_rule_count(q);
			spin_unlock(&jd->lock);
			srdma_job_dev_put(jd);
		}
	}
	srdma_notify(jobs_assigned);
	srdma_pass_rescan();
}

void srdma_job_recheck(void)
{
	schedule_work(&reassign);
}

static void reassign_work(struct work_struct *work)
{
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	srdma_notify(jobs_rechecked);
	reassign_all();
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
}

void srdma_job_asked(void)
{
	unsigned long now = jiffies, next = READ_ONCE(asked_next);

	queue_delayed_work(system_dfl_wq, &asked, time_after(next, now) ? next - now : 0);
}

static void asked_work(struct work_struct *work)
{
	u64 began, took;

	/* This work was queued while it ran, before it had set asked_next. */
	if (time_before(jiffies, asked_next)) {
		srdma_job_asked();
		return;
	}
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	began = ktime_get_ns();
	reassign_all();
	took = ktime_get_ns() - began;
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	WRITE_ONCE(asked_next, jiffies + ASKED_TIME + nsecs_to_jiffies(took * ASKED_PART));
}

static int job_set(const char *name, const char *origin, u32 class,
		   const struct srdma_rule_spec *specs, int n)
{
	struct srdma_job *job = srdma_job_find(name);
	struct srdma_rule *r, *next;
	bool is_new = !job;
	LIST_HEAD(made);
	int i, ret;

	if (job && !job->id)
		return -EINVAL;		/* "unassigned" has no rules */
	if (is_new) {
		if (n_jobs >= SWIFTRDMA_JOBS_MAX)
			return -ENOSPC;
		job = job_new(name);
		if (!job)
			return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		r = srdma_rule_new(job, origin, &specs[i]);
		if (!r) {
			ret = -ENOMEM;
			goto err;
		}
		list_add_tail(&r->job_node, &made);
	}
	if (is_new) {
		ret = job_insert(job);
		if (ret)
			goto err_inserted;
	}

	job->class = class;
	srdma_rules_replace(job, origin, &made);
	reassign_all();
	return 0;

err:
	if (is_new)
		srdma_job_put(job);
err_inserted:	/* after job_insert() */
	list_for_each_entry_safe(r, next, &made, job_node)
		srdma_rule_free(r);
	return ret;
}

int srdma_job_set(const char *name, const char *origin, u32 class,
		  const struct srdma_rule_spec *specs, int n)
{
	int ret;

	if (!n)
		return -EINVAL;
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	ret = job_set(name, origin, class, specs, n);
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	return ret;
}

int srdma_job_del(const char *name, const char *origin)
{
	struct srdma_job *job;
	int ret = -ENOENT;

	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	job = srdma_job_find(name);
	if (job && srdma_rules_remove(job, origin)) {
		ret = 0;
		srdma_rules_changed();
		reassign_all();
		if (list_empty(&job->rules)) {
			srdma_delay(SRDMA_DELAY_EMPTIED);
			srdma_notify(job_removed, job);
			job_remove(job);
			/* A pass up to now may have used the job's rates. */
			srdma_pass_rescan();
		}
	}
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	return ret;
}

void srdma_job_walk(struct srdma_job_dev *jd, void (*visit)(struct srdma_qp *q, void *arg),
		    void *arg)
{
	struct srdma_job_walk w;
	struct srdma_qp *q;
	int n;

	spin_lock(&jd->lock);
	w.next = jd->qps.first;
	list_add(&w.node, &jd->walks);
	while (w.next) {
		for (n = 0; w.next && n < WALK_CHUNK; n++) {
			q = hlist_entry(w.next, struct srdma_qp, job_node);
			w.next = w.next->next;
			visit(q, arg);
		}
		spin_unlock(&jd->lock);
		cond_resched();
		spin_lock(&jd->lock);
	}
	list_del(&w.node);
	spin_unlock(&jd->lock);
}

/* Would a new QP of this owner be the job's? */
static bool job_has_owner(struct srdma_owner *o, const void *arg)
{
	const struct srdma_job_dev *jd = arg;
	struct srdma_rule *r;
	u32 gen;

	r = srdma_rule_of(o, &gen);
	return jd->job->id == (r ? r->job->id : 0);
}

static void visit_sum(struct srdma_qp *q, void *arg)
{
	srdma_delay(SRDMA_DELAY_VISIT);
	sum_member(arg, q);
}

static u64 knob_or_none(const struct srdma_job_dev *jd, int share_knob)
{
	return jd->knob[share_knob].until ? jd->knob[share_knob].value : U64_MAX;
}

/*
 * A sum of doorbells and work requests begins with the sum of the former members. Each member of
 * that moment is added when it is visited, or when it leaves before its visit. So a sum is never
 * less than an earlier one.
 */
void srdma_job_stat(struct srdma_job_dev *jd, struct srdma_job_stat *st)
{
	lockdep_assert_held(&srdma_ctl_lock);
	spin_lock(&jd->lock);
	st->qps = jd->n_qps;
	st->created = jd->created;
	st->destroyed = jd->destroyed;
	st->moved = jd->moved;
	st->rejected = jd->rejected;
	st->creates = jd->creates;
	st->max_qps = jd->max_qps;
	st->create_rate = jd->create_rate;
	jd->sum.doorbells = jd->doorbells;
	jd->sum.wrs = jd->wrs;
	jd->round = !jd->round;
	spin_unlock(&jd->lock);
	srdma_job_walk(jd, visit_sum, jd);
	spin_lock(&jd->lock);
	st->doorbells = jd->sum.doorbells;
	st->wrs = jd->sum.wrs;
	spin_unlock(&jd->lock);
	srdma_mr_sum(jd->dev, job_has_owner, jd, &st->mr);
	st->modifies = atomic64_read(&jd->modifies);
	st->commands = atomic64_read(&jd->commands);
	st->command_ns = atomic64_read(&jd->command_ns);
	st->level = srdma_level_unpack(READ_ONCE(jd->level));
	st->follow = srdma_level_unpack(READ_ONCE(jd->follow));
	st->bit_rate = READ_ONCE(jd->bit_rate);
	st->weight = READ_ONCE(jd->weight);
	st->wr_rate = knob_or_none(jd, SWIFTRDMA_SHARE_KNOB_WR_RATE);
	st->credits = knob_or_none(jd, SWIFTRDMA_SHARE_KNOB_CREDITS);
	st->place = knob_or_none(jd, SWIFTRDMA_SHARE_KNOB_PLACE);
	st->chunk = knob_or_none(jd, SWIFTRDMA_SHARE_KNOB_CHUNK);
	st->huge_pages = knob_or_none(jd, SWIFTRDMA_SHARE_KNOB_HUGE_PAGES);
}

static void release_qp(struct srdma_qp *q)
{
	srdma_job_dev_put(rcu_dereference_protected(q->job, 1));
}

static const struct srdma_notifier notifier = {
	.qp_released = release_qp,
};

int srdma_job_init(void)
{
	struct srdma_job *job;
	int ret;

	asked_next = jiffies;
	srdma_notify_register(&notifier);
	mutex_lock(&srdma_ctl_lock);
	job = job_new("unassigned");
	ret = job ? job_insert(job) : -ENOMEM;
	mutex_unlock(&srdma_ctl_lock);
	return ret;
}

/* No device is left, so there is no QP; the netlink family is gone, so there is no new rule. */
void srdma_job_exit(void)
{
	struct srdma_job *job, *next;

	cancel_work_sync(&reassign);
	cancel_delayed_work_sync(&asked);
	mutex_lock(&srdma_ctl_lock);
	list_for_each_entry_safe(job, next, &srdma_jobs, node) {
		srdma_rules_remove(job, NULL);
		job_remove(job);
	}
	mutex_unlock(&srdma_ctl_lock);
}
