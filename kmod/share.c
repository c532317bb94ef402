// SPDX-License-Identifier: GPL-2.0
/*
 * The attachments: whose they are, how many a user may have, when they end, and the wishes of
 * their processes. attach.c makes them, report.c reads what the processes write.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/sched/task.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/user_namespace.h>
#include <uapi/linux/fcntl.h>

#include "inbox.h"
#include "job.h"
#include "notify.h"
#include "param.h"
#include "rule.h"
#include "share.h"
#include "wish.h"

/*
 * Limits on the attachments of a user, and on the slots of all of these. An attachment takes 36
 * KiB and 0.7 KiB for each slot. By default the attachments of a user take at most 250 MiB, which
 * is charged to the memory cgroups of the processes. A job of several hundred processes on several
 * devices fits; where a process gets fewer slots than it asks for, the figures of some QPs come
 * only when the QP is gone.
 */
SRDMA_PARAM(max_attachments, 2048, 1, 65536,
	    "attachments of a user at most, each with 128 slots on average");
#define SLOTS_EACH	128
#define SLOTS_LEAST	16
/* An attachment gets at most 1/SLOTS_PART of the slots that are left to its user. */
#define SLOTS_PART	4

#define SHARE_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define PID_BITS	10
#define USER_BITS	6

/* A process may change its wish ASKS_AT_ONCE times at once, then once in ASK_TIME. */
#define ASKS_AT_ONCE	32
#define ASK_TIME	(100 * NSEC_PER_MSEC)

/* It may send TELLS_AT_ONCE messages to peers on a device at once, then one in TELL_TIME. */
#define TELLS_AT_ONCE	128
#define TELL_TIME	(4 * NSEC_PER_MSEC)

/* What it protects is written in share.h. */
DEFINE_MUTEX(srdma_share_lock);
DEFINE_XARRAY(srdma_shares);

static unsigned long last_id;			/* srdma_share_lock */
static DEFINE_HASHTABLE(by_pid, PID_BITS);	/* the same; read under RCU, too */

/* Users */

/**
 * struct srdma_share_user - a user who has attachments
 * @node: in users
 * @shares: struct srdma_share of those that can be found
 * @uid: charged_user()
 * @n: attachments, those that are being made included
 * @slots: of all of these
 *
 * srdma_share_lock.
 */
struct srdma_share_user {
	struct hlist_node node;
	struct list_head shares;
	kuid_t uid;
	u32 n;
	u64 slots;
};

static DEFINE_HASHTABLE(users, USER_BITS);

/*
 * The user who is charged: the effective user, or, in a user namespace that a user other than root
 * made, the maker of the outermost such namespace. Otherwise a user could pass the limits by
 * means of the subordinate users of a namespace.
 */
static kuid_t charged_user(void)
{
	const struct user_namespace *ns;
	kuid_t uid = current_euid();

	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
	return uid;
}

static struct srdma_share_user *user_get(kuid_t uid)
{
	struct srdma_share_user *u;

	hash_for_each_possible(users, u, node, __kuid_val(uid))
		if (uid_eq(u->uid, uid))
			return u;
	u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	if (!u)
		return NULL;
	INIT_LIST_HEAD(&u->shares);
	u->uid = uid;
	hash_add(users, &u->node, __kuid_val(uid));
	return u;
}

static void user_put(struct srdma_share_user *u)
{
	if (u->n)
		return;
	hash_del(&u->node);
	kfree(u);
}

/*
 * Charge one more attachment to the user, in place of @old (NULL: of none), and lower *@slots to
 * the slots that it gets. Each attachment that the user may still make is guaranteed SLOTS_LEAST.
 */
static int user_charge(struct srdma_share_user *u, const struct srdma_share *old, u32 *slots)
{
	u32 limit = READ_ONCE(max_attachments), n = u->n - !!old;
	u64 kept, left = (u64)limit * SLOTS_EACH;

	if (n >= limit)
		return -EDQUOT;
	kept = (u64)(limit - n - 1) * SLOTS_LEAST + u->slots - (old ? old->slots : 0);
	left = left > kept ? left - kept : 0;
	*slots = min_t(u64, *slots, max_t(u64, left / SLOTS_PART, SLOTS_LEAST));
	u->n++;
	u->slots += *slots;
	return 0;
}

static void user_uncharge(struct srdma_share_user *u, u32 slots)
{
	lockdep_assert_held(&srdma_share_lock);
	u->n--;
	u->slots -= slots;
	user_put(u);
}

/* End one attachment of the user whose process has gone. False: there is none. */
static bool user_end_gone(struct srdma_share_user *u)
{
	struct srdma_share *s;

	list_for_each_entry(s, &u->shares, user_node)
		if (srdma_share_end_gone(s))
			return true;
	return false;
}

/*
 * Find the attachment of the calling process to @dev. NULL: it has none, or the attachment
 * counts against the limits of another user than @u.
 */
static struct srdma_share *own_attachment(const struct srdma_share_user *u,
					  const struct srdma_dev *dev)
{
	struct srdma_share *s = srdma_share_find(dev, task_tgid(current));

	return s && s->user == u ? s : NULL;
}

/* Charge the calling process's user for an attachment to @dev. */
static struct srdma_share_user *charge_caller(const struct srdma_dev *dev, u32 *slots)
{
	struct srdma_share_user *u;
	bool again;
	int ret;

	do {
		again = false;
		mutex_lock(&srdma_share_lock);
		u = user_get(charged_user());
		ret = u ? user_charge(u, own_attachment(u, dev), slots) : -ENOMEM;
		if (ret == -EDQUOT)
			again = user_end_gone(u);
		else if (u)
			user_put(u);
		mutex_unlock(&srdma_share_lock);
	} while (again);
	return ret ? ERR_PTR(ret) : u;
}

/* Control */

void srdma_control_set_job(struct srdma_share *s)
{
	const struct srdma_job *job = s->jd ? s->jd->job : NULL;
	struct swiftrdma_control *c = s->control.map;
	struct swiftrdma_control_job now = {};
	const struct srdma_wish *wish;
	const struct srdma_rule *rule;
	bool has_job;
	u32 gen;

	if (job) {
		now.job_id = job->id;
		now.job_class = READ_ONCE(job->class);
		strscpy(now.name, job->name, sizeof(now.name));
	}
	rcu_read_lock();
	wish = srdma_wish_of(s->owner);
	rule = srdma_rule_of(s->owner, &gen);
	has_job = !wish || !wish->job[0] || !strcmp(wish->job, now.name);
	/* The objective is meant for the job that was asked for. */
	if (wish && has_job && rule && rule->job == job && rule->slo_p99_min &&
	    wish->slo_p99 >= rule->slo_p99_min)
		now.slo_p99_ns = wish->slo_p99;
	now.refused = wish && (!has_job || now.slo_p99_ns != wish->slo_p99);
	rcu_read_unlock();
	if (s->jd && s->slo_p99 != now.slo_p99_ns)
		s->jd->report->stamp = atomic64_read(&srdma_generation);
	s->slo_p99 = now.slo_p99_ns;
	srdma_latch(&c->changes, c->job, &now, sizeof(now));
}

static u64 job_block_end(void)
{
	return SWIFTRDMA_SHARE_UP(sizeof(struct swiftrdma_control)) +
	       sizeof(struct swiftrdma_block);
}

static void control_open(struct srdma_share *s)
{
	struct swiftrdma_control *c = s->control.map;
	struct swiftrdma_block *job;

	c->version = SWIFTRDMA_SHARE_VERSION;
	c->header_size = sizeof(*c);
	c->job_off = SWIFTRDMA_SHARE_UP(sizeof(*c));
	c->blocks_off = c->job_off + sizeof(struct swiftrdma_block);
	c->block_size = sizeof(struct swiftrdma_block);
	c->blocks = s->slots;
	c->state = SWIFTRDMA_CONTROL_LIVE;
	job = (void *)c + c->job_off;
	job->generation = 1;
	/* Pairs with the process's load-acquire: the header is whole before it is valid. */
	smp_store_release(&c->magic, SWIFTRDMA_CONTROL_MAGIC);
}

/* Processes */

struct srdma_share *srdma_share_find(const struct srdma_dev *dev, const struct pid *pid)
{
	struct srdma_share *s;

	lockdep_assert_held(&srdma_share_lock);
	hash_for_each_possible(by_pid, s, pid_node, (unsigned long)pid)
		if (s->dev == dev && s->pid == pid)
			return s;
	return NULL;
}

/* Any attachment of the process, the next after @s; NULL: there is none. */
static struct srdma_share *next_of_process(const struct pid *pid, struct srdma_share *s)
{
	if (!s)
		s = hlist_entry_safe(by_pid[hash_min((unsigned long)pid, PID_BITS)].first,
				     struct srdma_share, pid_node);
	else
		s = hlist_entry_safe(s->pid_node.next, struct srdma_share, pid_node);
	while (s && s->pid != pid)
		s = hlist_entry_safe(s->pid_node.next, struct srdma_share, pid_node);
	return s;
}

#define for_each_of_process(s, pid) \
	for (s = next_of_process(pid, NULL); s; s = next_of_process(pid, s))

/* Read the offset of the process's clock. An exiting process has no namespaces any more. */
static void read_clock_offset(struct srdma_share *s, struct task_struct *task)
{
#ifdef CONFIG_TIME_NS
	task_lock(task);
	if (task->nsproxy)
		s->clock_offset =
			timespec64_to_ns(&task->nsproxy->time_ns->offsets.monotonic);
	task_unlock(task);
#endif
}

void srdma_share_refresh(struct srdma_share *s)
{
	struct task_struct *task = get_pid_task(s->pid, PIDTYPE_TGID);
	struct srdma_owner *owner;

	lockdep_assert_held(&srdma_share_lock);
	if (!task)
		return;
	owner = srdma_owner_task(task);
	if (owner) {
		srdma_owner_put(s->owner);
		s->owner = owner;
	}
	read_clock_offset(s, task);
	put_task_struct(task);
}

static bool has_context(struct srdma_dev *dev, struct pid *pid)
{
	struct srdma_uar *u;
	unsigned long index;
	bool found = false;

	rcu_read_lock();
	xa_for_each(&dev->uars, index, u) {
		if (u->kind == SWIFTRDMA_UAR_KIND_CONTEXT && u->owner->pid == pid) {
			found = true;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/*
 * A context outlives the process that opened it where a child has inherited it. A zombie's
 * pid is still attached: its attachment ends when its parent has waited for it.
 */
static bool is_process_gone(const struct srdma_share *s)
{
	bool gone;

	rcu_read_lock();
	gone = !pid_task(s->pid, PIDTYPE_TGID);
	rcu_read_unlock();
	return gone;
}

/* Attachments */

static void share_release(struct srdma_share *s)
{
	srdma_share_file_close(&s->report);
	srdma_share_file_close(&s->control);
	srdma_owner_put(s->owner);
	put_pid(s->pid);
	srdma_dev_put(s->dev);
	kvfree_rcu(s, rcu);
}

void srdma_share_free(struct srdma_share *s)
{
	mutex_lock(&srdma_share_lock);
	user_uncharge(s->user, s->slots);
	mutex_unlock(&srdma_share_lock);
	share_release(s);
}

/* The process keeps its mappings; the module neither reads nor writes them any more. */
static void share_end(struct srdma_share *s)
{
	struct swiftrdma_control *c = s->control.map;

	lockdep_assert_held(&srdma_share_lock);
	srdma_report_collect(s);
	WRITE_ONCE(c->state, SWIFTRDMA_CONTROL_ENDED);
	srdma_report_detach(s);
	srdma_inbox_close(rcu_replace_pointer(s->inbox, NULL, lockdep_is_held(&srdma_share_lock)));
	xa_erase(&srdma_shares, s->id);
	hash_del_rcu(&s->pid_node);
	list_del(&s->user_node);
	user_uncharge(s->user, s->slots);
	if (!next_of_process(s->pid, NULL))
		srdma_wish_set(s->pid, NULL);
	share_release(s);
}

bool srdma_share_end_gone(struct srdma_share *s)
{
	bool gone = is_process_gone(s);

	if (gone)
		share_end(s);
	return gone;
}

/* Attachments made after the walk began are not visited, so that the walk ends. */
void srdma_shares_walk(void (*visit)(struct srdma_share *s, void *arg), void *arg)
{
	unsigned long id = 0, last = READ_ONCE(last_id);
	struct srdma_share *s;

	do {
		mutex_lock(&srdma_share_lock);
		s = xa_find(&srdma_shares, &id, last, XA_PRESENT);
		if (s)
			visit(s, arg);
		mutex_unlock(&srdma_share_lock);
		cond_resched();
		id++;
	} while (s);
}

/* Ends the attachment if this was the process's last context of the device. */
static void context_closed(struct srdma_dev *dev, struct srdma_owner *owner)
{
	struct srdma_share *s;

	mutex_lock(&srdma_share_lock);
	s = srdma_share_find(dev, owner->pid);
	if (s && !has_context(dev, owner->pid))
		share_end(s);
	mutex_unlock(&srdma_share_lock);
}

/*
 * Note that the process had the QP: what its library counted is read later. In the application's
 * call, so it takes no lock.
 */
static void qp_destroyed(struct srdma_qp *q)
{
	const struct pid *pid = q->owner ? q->owner->pid : NULL;
	struct srdma_share *s;

	rcu_read_lock();
	hash_for_each_possible_rcu(by_pid, s, pid_node, (unsigned long)pid)
		if (s->pid == pid && s->dev == q->dev)
			WRITE_ONCE(s->gone[q->qpn & s->gone_mask], q->qpn);
	rcu_read_unlock();
}

struct srdma_share *srdma_share_find_rcu(const struct srdma_dev *dev, const struct pid *pid)
{
	struct srdma_share *s;

	hash_for_each_possible_rcu(by_pid, s, pid_node, (unsigned long)pid)
		if (s->pid == pid && s->dev == dev)
			return s;
	return NULL;
}

/* A QP that was made past RDMA core was made past the library, too. */
static void qp_created(struct srdma_qp *q)
{
	struct srdma_share *s;

	if (!q->owner || test_bit(SRDMA_QP_DEVX, &q->flags))
		return;
	rcu_read_lock();
	s = srdma_share_find_rcu(q->dev, q->owner->pid);
	if (s)
		atomic64_inc(&s->created);
	rcu_read_unlock();
}

static void mr_registered(struct srdma_dev *dev)
{
	struct srdma_share *s;

	rcu_read_lock();
	s = srdma_share_find_rcu(dev, task_tgid(current));
	if (s)
		atomic64_inc(&s->registered);
	rcu_read_unlock();
}

static void end_of_dev(struct srdma_share *s, void *dev)
{
	if (s->dev == dev)
		share_end(s);
}

/* No new attachment to the device can be made. */
static void dev_removed(struct srdma_dev *dev)
{
	srdma_shares_walk(end_of_dev, dev);
}

struct collect {
	const struct srdma_dev *dev;
	bool (*wants)(const struct srdma_owner *owner, const void *arg);
	const void *arg;
};

static void collect_share(struct srdma_share *s, void *arg)
{
	const struct collect *c = arg;

	if ((c->dev && s->dev != c->dev) || (c->wants && !c->wants(s->owner, c->arg)))
		return;
	if (!srdma_share_end_gone(s))
		srdma_report_collect(s);
}

void srdma_shares_collect(const struct srdma_dev *dev,
			  bool (*wants)(const struct srdma_owner *owner, const void *arg),
			  const void *arg)
{
	struct collect c = { .dev = dev, .wants = wants, .arg = arg };

	srdma_shares_walk(collect_share, &c);
}

static void assign_job(struct srdma_share *s, void *arg)
{
	srdma_report_assign(s);
}

static void jobs_assigned(void)
{
	srdma_shares_walk(assign_job, NULL);
}

static int open_files(struct srdma_share *s)
{
	u64 bytes = swiftrdma_report_bytes(s->slots);
	int ret = srdma_share_file_open(&s->report, "swiftrdma-report", bytes, bytes, 0600, 0);

	if (ret)
		return ret;
	ret = srdma_share_file_open(&s->control, "swiftrdma-control",
				    swiftrdma_control_bytes(s->slots), job_block_end(), 0444,
				    F_SEAL_FUTURE_WRITE);
	if (ret)
		return ret;
	/* The seal prevents writes; this also prevents another mode, and opening for writing. */
	file_inode(s->control.file)->i_flags |= S_IMMUTABLE;
	return 0;
}

/*
 * Destroyed QPs are found by the lowest bits of their numbers. Drivers give numbers in turn, so
 * those that a process had of late are seldom in each other's place.
 */
static struct srdma_share *share_alloc(u32 slots)
{
	u32 places = roundup_pow_of_two(4 * slots);
	struct srdma_share *s = kvzalloc(struct_size(s, slot, slots) + places * sizeof(*s->gone),
					 SHARE_GFP);

	if (!s)
		return NULL;
	s->slots = slots;
	s->gone = (u32 *)&s->slot[slots];
	s->gone_mask = places - 1;
	return s;
}

static struct srdma_share *share_make(struct srdma_dev *dev, u32 slots)
{
	struct srdma_share *s = share_alloc(slots);
	int ret = -ENOMEM;

	if (!s)
		return ERR_PTR(-ENOMEM);
	s->attached = ktime_get_ns();
	s->collected = s->attached;
	s->owner = srdma_owner_current();
	if (s->owner)
		ret = open_files(s);
	if (ret) {
		srdma_share_file_close(&s->report);
		srdma_share_file_close(&s->control);
		srdma_owner_put(s->owner);
		kvfree(s);
		return ERR_PTR(ret);
	}
	s->dev = dev;
	s->pid = get_pid(task_tgid(current));
	control_open(s);
	return s;
}

struct srdma_share *srdma_share_new(struct srdma_dev *dev, u32 slots)
{
	struct srdma_share_user *user = charge_caller(dev, &slots);
	struct srdma_share *s;

	if (IS_ERR(user))
		return ERR_CAST(user);
	s = share_make(dev, slots);
	if (!IS_ERR(s)) {
		s->user = user;
		return s;
	}
	mutex_lock(&srdma_share_lock);
	user_uncharge(user, slots);
	mutex_unlock(&srdma_share_lock);
	return s;
}

static int share_insert(struct srdma_share *s)
{
	struct srdma_share *old = srdma_share_find(s->dev, s->pid);
	int ret;

	if (!has_context(s->dev, s->pid))
		return -ENXIO;
	ret = xa_err(xa_store(&srdma_shares, last_id + 1, s, GFP_KERNEL_ACCOUNT));
	if (ret)
		return ret;
	s->id = last_id + 1;
	WRITE_ONCE(last_id, s->id);
	hash_add_rcu(by_pid, &s->pid_node, (unsigned long)s->pid);
	list_add(&s->user_node, &s->user->shares);
	/* The new attachment is in the table already, so share_end() keeps the wish. */
	if (old) {
		s->asks_until = old->asks_until;
		s->tells_until = old->tells_until;
		share_end(old);
	}
	srdma_report_collect(s);
	return 0;
}

int srdma_share_insert(struct srdma_share *s)
{
	int ret;

	mutex_lock(&srdma_share_lock);
	ret = share_insert(s);
	mutex_unlock(&srdma_share_lock);
	return ret;
}

/* Wishes */

static bool is_wish(const struct srdma_wish *w, const char *job, u64 slo_p99)
{
	if (!w)
		return !job[0] && !slo_p99;
	return !strcmp(w->job, job) && w->slo_p99 == slo_p99;
}

static int pay_for_ask(struct pid *pid)
{
	struct srdma_share *s = next_of_process(pid, NULL);
	u64 now = ktime_get_ns(), until = max(s->asks_until, now) + ASK_TIME;

	if (until > now + ASKS_AT_ONCE * ASK_TIME)
		return -EAGAIN;
	for_each_of_process(s, pid)
		s->asks_until = until;
	return 0;
}

int srdma_share_pay_for_tell(struct srdma_dev *dev)
{
	u64 now = ktime_get_ns(), until;
	struct srdma_share *s;
	int ret = -ENXIO;

	mutex_lock(&srdma_share_lock);
	s = srdma_share_find(dev, task_tgid(current));
	if (s) {
		until = max(s->tells_until, now) + TELL_TIME;
		ret = until > now + TELLS_AT_ONCE * TELL_TIME ? -EAGAIN : 0;
		if (!ret)
			s->tells_until = until;
	}
	mutex_unlock(&srdma_share_lock);
	return ret;
}

/* Can this wish decide the job of a QP? */
static bool is_asked_for(const struct srdma_wish *w)
{
	return w && srdma_rules_name_job(w->job, true);
}

static int change_wish(struct pid *pid, struct srdma_wish *now)
{
	const struct srdma_wish *was;
	bool may_move = is_asked_for(now);
	struct srdma_share *s;

	rcu_read_lock();
	was = srdma_wish_of(next_of_process(pid, NULL)->owner);
	may_move |= is_asked_for(was);
	rcu_read_unlock();
	srdma_wish_set(pid, now);
	srdma_owners_asked(pid);
	for_each_of_process(s, pid)
		srdma_report_assign(s);
	if (may_move)
		srdma_job_asked();
	return 0;
}

static int ask_for_job(struct pid *pid, const char *job, u64 slo_p99)
{
	struct srdma_share *s = next_of_process(pid, NULL);
	struct srdma_wish *w = NULL;
	bool same;
	int ret;

	if (!s)
		return -ENXIO;
	srdma_share_refresh(s);
	rcu_read_lock();
	same = is_wish(srdma_wish_of(s->owner), job, slo_p99);
	rcu_read_unlock();
	if (same)
		return 0;
	ret = pay_for_ask(pid);
	if (ret)
		return ret;
	if (job[0] && !srdma_rules_name_job(job, false))
		return -ENOENT;
	if (job[0] || slo_p99) {
		w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
		if (!w)
			return -ENOMEM;
		w->pid = pid;
		w->exec_id = current->self_exec_id;
		w->slo_p99 = slo_p99;
		strscpy(w->job, job, sizeof(w->job));
	}
	return change_wish(pid, w);
}

int srdma_share_ask(const char *job, u64 slo_p99)
{
	int ret;

	mutex_lock(&srdma_share_lock);
	ret = ask_for_job(task_tgid(current), job, slo_p99);
	mutex_unlock(&srdma_share_lock);
	return ret;
}

static const struct srdma_notifier notifier = {
	.context_closed = context_closed,
	.qp_created = qp_created,
	.qp_destroyed = qp_destroyed,
	.mr_registered = mr_registered,
	.dev_removed = dev_removed,
	.jobs_assigned = jobs_assigned,
};

void __init srdma_share_init(void)
{
	srdma_notify_register(&notifier);
}

/* No device is left, so no attachment. */
void srdma_share_exit(void)
{
	WARN_ON(!xa_empty(&srdma_shares));
	srdma_knobs_exit();
}
