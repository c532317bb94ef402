// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: sets of overrides that end together, at a time. Everything here is under
 * srdma_ctl_lock. act.c fills leases; override.c computes which overrides are in force.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "lease.h"
#include "notify.h"
#include "trace.h"

/* Limit on the overrides of all leases together, which bounds the cost of a recompute. */
#define OVERRIDES_MAX	65536

LIST_HEAD(srdma_leases);
LIST_HEAD(srdma_leases_strong);

static u32 n_leases, n_overrides;
static u32 n_agents;	/* leases of the agent; written under srdma_ctl_lock */
static u64 next_lease_id = 1, next_override_id = 1;

static u64 held_since;	/* ns, when srdma_leases_hold() was called; 0: leases expire */

static void expire_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(expire, expire_work);

bool srdma_agent_is_there(void)
{
	return READ_ONCE(n_agents);
}

static bool is_agents(const struct srdma_lease *l)
{
	return !strcmp(l->origin, SRDMA_AGENT);
}

static void override_drop(struct srdma_override *o)
{
	n_overrides--;
	srdma_override_drop(o);
}

struct srdma_lease *srdma_lease_find(u64 id)
{
	struct srdma_lease *l;

	list_for_each_entry(l, &srdma_leases, node)
		if (l->id == id)
			return l;
	return NULL;
}

/*
 * Does not recompute: overrides of QPs stay in force until the caller, before it releases
 * srdma_ctl_lock, calls srdma_override_recompute() once for all leases that it ends.
 */
static void lease_end(struct srdma_lease *l, bool expired)
{
	struct srdma_override *o, *next;

	trace_srdma_lease(l->id, l->rank, expired ? "expire" : "end", 0);
	srdma_notify(lease_ended, l, expired);
	list_for_each_entry_safe(o, next, &l->overrides, node)
		override_drop(o);
	list_del(&l->node);
	list_del(&l->strong_node);
	n_leases--;
	WRITE_ONCE(n_agents, n_agents - is_agents(l));
	kfree(l);
}

static void rearm_expiry(void)
{
	u64 now = ktime_get_ns(), first = U64_MAX;
	struct srdma_lease *l;

	list_for_each_entry(l, &srdma_leases, node)
		first = min(first, l->expires);
	if (first != U64_MAX)
		mod_delayed_work(system_percpu_wq, &expire,
				 nsecs_to_jiffies(first > now ? first - now : 0) + 1);
}

static void expire_work(struct work_struct *work)
{
	struct srdma_lease *l, *next;
	bool changed = false;
	u64 now;

	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	if (held_since)
		goto out;
	now = ktime_get_ns();
	list_for_each_entry_safe(l, next, &srdma_leases, node) {
		if (l->expires <= now) {
			pr_info("lease %llu of %s ran out: its overrides are taken back\n",
				l->id, l->origin);
			lease_end(l, true);
			changed = true;
		}
	}
	if (changed)
		srdma_override_recompute();
	rearm_expiry();
out:
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
}

void srdma_lease_end_all(void)
{
	struct srdma_lease *l, *next;

	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	list_for_each_entry_safe(l, next, &srdma_leases, node)
		lease_end(l, false);
	held_since = 0;
	srdma_override_recompute();
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
}

void srdma_leases_hold(void)
{
	mutex_lock(&srdma_ctl_lock);
	held_since = ktime_get_ns();
	mutex_unlock(&srdma_ctl_lock);
}

void srdma_leases_go_on(void)
{
	struct srdma_lease *l;
	u64 held;

	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	held = ktime_get_ns() - held_since;
	held_since = 0;
	list_for_each_entry(l, &srdma_leases, node) {
		l->expires += held;
		srdma_override_renewed(l);
	}
	rearm_expiry();
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
}

/* Drop all overrides of a job that is being deleted. */
static void forget_job(struct srdma_job *job)
{
	struct srdma_override *o, *next;
	struct srdma_lease *l;

	lockdep_assert_held(&srdma_ctl_lock);
	list_for_each_entry(l, &srdma_leases, node)
		list_for_each_entry_safe(o, next, &l->overrides, node)
			if (o->target.job == job)
				override_drop(o);
}

static bool same_target(const struct srdma_target *a, const struct srdma_target *b)
{
	if (a->knob != b->knob || a->job != b->job)
		return false;
	if (!a->job)
		return a->dev == b->dev && a->key == b->key && a->serial == b->serial;
	return a->any_dev == b->any_dev && (a->any_dev || a->dev == b->dev);
}

void srdma_lease_set(struct srdma_lease *l, struct srdma_override *o, bool clear)
{
	struct srdma_override *old, *next;

	list_for_each_entry_safe(old, next, &l->overrides, node)
		if (same_target(&old->target, &o->target))
			override_drop(old);
	if (clear) {
		srdma_override_put(o);
		return;
	}
	o->lease = l;
	o->id = next_override_id++;
	list_add_tail(&o->node, &l->overrides);
	n_overrides++;
}

/* Insert before the first lease that is not stronger. */
static void insert_strong(struct srdma_lease *l)
{
	struct list_head *at = &srdma_leases_strong;
	struct srdma_lease *other;

	list_for_each_entry(other, &srdma_leases_strong, strong_node) {
		if (other->rank <= l->rank) {
			at = &other->strong_node;
			break;
		}
	}
	list_add_tail(&l->strong_node, at);
}

struct srdma_lease *srdma_lease_new(const struct srdma_act_lease *ask)
{
	struct srdma_lease *l = kzalloc(sizeof(*l), GFP_KERNEL);

	if (!l)
		return NULL;
	INIT_LIST_HEAD(&l->overrides);
	l->id = next_lease_id++;
	l->rank = ask->rank;
	strscpy(l->origin, ask->origin ?: "", sizeof(l->origin));
	list_add_tail(&l->node, &srdma_leases);
	insert_strong(l);
	n_leases++;
	WRITE_ONCE(n_agents, n_agents + is_agents(l));
	return l;
}

void srdma_lease_renew(struct srdma_lease *l, u32 ttl_ms)
{
	lockdep_assert_held(&srdma_ctl_lock);
	l->expires = ktime_get_ns() + mul_u32_u32(ttl_ms, NSEC_PER_MSEC);
	rearm_expiry();
}

void srdma_lease_end(struct srdma_lease *l)
{
	lockdep_assert_held(&srdma_ctl_lock);
	lease_end(l, false);
	rearm_expiry();
}

bool srdma_leases_full(void)
{
	return n_leases >= SWIFTRDMA_LEASES_MAX;
}

bool srdma_overrides_fit(int n)
{
	return n_overrides + n <= OVERRIDES_MAX;
}

static const struct srdma_notifier notifier = {
	.job_removed = forget_job,
};

void __init srdma_lease_init(void)
{
	srdma_notify_register(&notifier);
}

/* All leases ended when the hook was removed, and no lease is given without the hook. */
void srdma_lease_exit(void)
{
	cancel_delayed_work_sync(&expire);
	WARN_ON(!list_empty(&srdma_leases));
}
