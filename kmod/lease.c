// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: overrides that come and go together, and the ACT that makes them. All of
 * it is under srdma_ctl_lock. What of them is in force, override.c works out.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "find.h"
#include "hook.h"
#include "netlink.h"
#include "override.h"
#include "results.h"
#include "trace.h"

/* Overrides of all leases together: a bound on what a recompute costs. */
#define OVERRIDES_MAX	65536
/* Beyond this a bucket of one second would not fit its arithmetic's bounds. */
#define CREATE_RATE_MAX	1000000
/* What devices count rates in, and the most that a share of theirs may be. */
#define BIT_RATE_UNIT	1000000ULL
#define WEIGHT_MAX	100

LIST_HEAD(srdma_leases);
LIST_HEAD(srdma_leases_strong);

static u32 n_leases, n_overrides;
static u64 next_lease_id = 1, next_batch_id = 1;

static void expire_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(expire, expire_work);

static void override_drop(struct srdma_override *o)
{
	n_overrides--;
	srdma_override_drop(o);
}

static struct srdma_lease *lease_find(u64 id)
{
	struct srdma_lease *l;

	list_for_each_entry(l, &srdma_leases, node)
		if (l->id == id)
			return l;
	return NULL;
}

/* The caller recomputes, once for all that it ends. */
static void lease_end(struct srdma_lease *l, bool expired)
{
	struct srdma_override *o, *next;

	trace_srdma_lease(l->id, l->rank, expired ? "expire" : "end", 0);
	srdma_notify_lease(l, expired);
	list_for_each_entry_safe(o, next, &l->overrides, node)
		override_drop(o);
	list_del(&l->node);
	list_del(&l->strong_node);
	n_leases--;
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
	srdma_override_recompute();
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
}

void srdma_lease_forget_job(struct srdma_job *job)
{
	struct srdma_override *o, *next;
	struct srdma_lease *l;

	lockdep_assert_held(&srdma_ctl_lock);
	list_for_each_entry(l, &srdma_leases, node)
		list_for_each_entry_safe(o, next, &l->overrides, node)
			if (o->job == job)
				override_drop(o);
}

/* ACT */

/* Of a QP that nobody has asked after there is no place for it yet. */
static int path_place(struct srdma_qp *q, const char **why)
{
	struct srdma_qp_hw *hw;

	if (srdma_qp_hw(q))
		return 0;
	*why = "its application is modifying or destroying the QP: try again";
	if (!srdma_qp_trylock(q))
		return -EBUSY;
	hw = srdma_qp_hw_make(q);
	srdma_qp_unlock(q);
	*why = "out of memory";
	return hw ? 0 : -ENOMEM;
}

static int check_path(const struct srdma_act_item *item, struct srdma_qp *q, const char **why)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(q->dev);
	int ret;

	*why = "no part of a QP's path can be changed on this device";
	if (!ops->path_check)
		return -EOPNOTSUPP;
	ret = ops->path_check(q, srdma_path_part(item->knob), item->value, why);
	return ret ?: path_place(q, why);
}

static int find_qp(const struct srdma_act_item *item, struct srdma_override *o,
		   const char **why)
{
	struct srdma_dev *dev = xa_load(&srdma_devs, item->dev);
	struct srdma_qp *q = srdma_qp_get_by_key(dev, item->qpn);
	int ret = 0;

	/* Taking back what held for a QP that is gone is no mistake. */
	if (item->clear && item->has_serial && (!q || q->serial != item->serial)) {
		if (q)
			srdma_qp_put(q);
		o->key = item->qpn;
		o->serial = item->serial;
		return 0;
	}
	if (!q) {
		*why = "no such QP on this device: it may be gone";
		return -ENOENT;
	}
	o->key = item->qpn;
	o->serial = q->serial;
	if (item->has_serial && item->serial != o->serial) {
		*why = "the QP that was meant is gone, its number is another QP's now";
		ret = -ESTALE;
	} else if (!item->clear && test_bit(SRDMA_QP_DEVX, &q->flags)) {
		*why = "made past RDMA core (DEVX): nothing of this QP can be changed";
		ret = -EOPNOTSUPP;
	} else if (srdma_path_part(item->knob) >= 0 && !item->clear) {
		ret = check_path(item, q, why);
	}
	srdma_qp_put(q);
	return ret;
}

/* A level is a DSCP and an SL of this site, which nobody but its operator knows. */
static int check_level(const struct srdma_act_item *item, const char **why)
{
	struct srdma_level l;

	*why = "a class level is 0 to 7";
	if (item->value > SWIFTRDMA_LEVEL_MAX)
		return -ERANGE;
	*why = "this level has no meaning yet: say first 'swiftrdma level set 3 dscp 26 sl 3'";
	l = srdma_level_get(item->value);
	return item->clear || srdma_level_is_set(&l) ? 0 : -ENODATA;
}

static int check_value(const struct srdma_act_item *item, const char **why)
{
	switch (item->knob) {
	case SWIFTRDMA_KNOB_LEVEL:
		return check_level(item, why);
	case SWIFTRDMA_KNOB_MAX_QPS:
		*why = "max_qps is 0 to 2^32-1";
		return item->value > U32_MAX ? -ERANGE : 0;
	case SWIFTRDMA_KNOB_CREATE_RATE:
		*why = "create_rate is 0 to 1000000 per second";
		return item->value > CREATE_RATE_MAX ? -ERANGE : 0;
	case SWIFTRDMA_KNOB_BIT_RATE:
		*why = "bit_rate is 1000000 to 4294967295000000 bit/s";
		return !item->clear && (item->value < BIT_RATE_UNIT ||
					item->value > BIT_RATE_UNIT * U32_MAX) ? -ERANGE : 0;
	case SWIFTRDMA_KNOB_WEIGHT:
		*why = "a weight is 1 to 100";
		return !item->clear && (!item->value || item->value > WEIGHT_MAX) ? -ERANGE : 0;
	case SWIFTRDMA_KNOB_UDP_SPORT:
		*why = "a UDP source port is 1 to 65535";
		return !item->clear && (!item->value || item->value > U16_MAX) ? -ERANGE : 0;
	case SWIFTRDMA_KNOB_LAG_PORT:
		*why = "a LAG port is 1 to 15";
		return !item->clear && (!item->value || item->value > 15) ? -ERANGE : 0;
	default:
		*why = SRDMA_ENFORCED;
		return -EOPNOTSUPP;
	}
}

/* Rates and weights are the NIC's affair: is there one that could? */
static bool rates_on(bool any_dev, u32 dev)
{
	struct srdma_dev *d;
	unsigned long index;

	xa_for_each(&srdma_devs, index, d)
		if ((any_dev || dev == index) && d->caps & SWIFTRDMA_DEV_CAP_RATES)
			return true;
	return false;
}

bool srdma_rates_possible(void)
{
	bool possible;

	down_read(&srdma_devs_sem);
	possible = rates_on(true, 0);
	up_read(&srdma_devs_sem);
	return possible;
}

static bool nobody_can(const struct srdma_act_item *item, const char **why)
{
	if (item->clear || (item->knob != SWIFTRDMA_KNOB_BIT_RATE &&
			    item->knob != SWIFTRDMA_KNOB_WEIGHT))
		return false;
	*why = item->has_dev ? "this device has no scheduling elements for QPs" :
			       "no device here has scheduling elements for QPs";
	return !rates_on(!item->has_dev, item->dev);
}

/* An override as @item wants it, not part of any lease yet. */
static struct srdma_override *make_override(const struct srdma_act_item *item,
					    const char **why)
{
	struct srdma_override *o;
	struct srdma_job *job;
	int ret = check_value(item, why);

	if (ret)
		return ERR_PTR(ret);
	if (item->has_dev && !xa_load(&srdma_devs, item->dev)) {
		*why = "no such device";
		return ERR_PTR(-ENODEV);
	}
	if (nobody_can(item, why))
		return ERR_PTR(-EOPNOTSUPP);
	o = kzalloc(sizeof(*o), GFP_KERNEL);
	if (!o) {
		*why = "out of memory";
		return ERR_PTR(-ENOMEM);
	}
	o->knob = item->knob;
	o->value = item->value;
	o->any_dev = !item->has_dev;
	o->dev = item->dev;
	strscpy(o->reason, item->reason ?: "", sizeof(o->reason));
	o->decision = srdma_decision_get(item->decision);
	if (item->job && srdma_path_part(item->knob) >= 0) {
		*why = "udp_sport and lag_port are of a single QP, not of a job";
		ret = -EOPNOTSUPP;
		goto err;
	} else if (item->job) {
		job = srdma_job_find(item->job);
		if (!job) {
			*why = "no such job: set one first";
			ret = -ENOENT;
			goto err;
		}
		srdma_job_get(job);
		o->job = job;
	} else if (item->knob != SWIFTRDMA_KNOB_LEVEL && srdma_path_part(item->knob) < 0) {
		*why = "only level, udp_sport and lag_port can be set for a single QP";
		ret = -EOPNOTSUPP;
		goto err;
	} else {
		ret = find_qp(item, o, why);
		if (ret)
			goto err;
	}
	return o;

err:
	srdma_override_free(o);
	return ERR_PTR(ret);
}

static bool same_target(const struct srdma_override *a, const struct srdma_override *b)
{
	if (a->knob != b->knob || a->job != b->job)
		return false;
	if (!a->job)
		return a->dev == b->dev && a->key == b->key && a->serial == b->serial;
	return a->any_dev == b->any_dev && (a->any_dev || a->dev == b->dev);
}

static void lease_put_override(struct srdma_lease *l, struct srdma_override *o, bool clear)
{
	struct srdma_override *old, *next;

	list_for_each_entry_safe(old, next, &l->overrides, node)
		if (same_target(old, o))
			override_drop(old);
	if (clear) {
		srdma_override_free(o);
		return;
	}
	o->lease = l;
	list_add_tail(&o->node, &l->overrides);
	n_overrides++;
}

static struct srdma_batch *make_batch(const struct srdma_act_lease *lease,
				      struct srdma_override **made,
				      const struct srdma_act_item *items, int n)
{
	struct srdma_batch *b = kvzalloc(struct_size(b, items, n), GFP_KERNEL);
	int i;

	if (!b)
		return NULL;
	b->n = n;
	b->lease = *lease;
	b->lease.origin = NULL;
	for (i = 0; i < n; i++) {
		struct srdma_batch_item *to = &b->items[i];
		const struct srdma_override *o = made[i];

		to->knob = o->knob;
		to->value = o->value;
		to->clear = items[i].clear;
		to->job = o->job;
		if (to->job)
			srdma_job_get(to->job);
		to->any_dev = o->any_dev;
		to->dev = o->dev;
		to->key = o->key;
		to->serial = o->serial;
		strscpy(to->reason, o->reason, sizeof(to->reason));
		to->decision = srdma_decision_get(o->decision);
	}
	return b;
}

/* Before the first one that is not stronger. */
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

static struct srdma_lease *lease_new(const struct srdma_act_lease *ask)
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
	return l;
}

/* What can be said of the lease before anything is done. */
static int check_lease(const struct srdma_act_lease *ask, struct srdma_lease **l, int n,
		       const char **why)
{
	*l = NULL;
	if (ask->id) {
		*l = lease_find(ask->id);
		*why = "no such lease: it ran out or was ended";
		if (!*l)
			return -ENOENT;
		*why = "a batch that ends its lease carries no actions";
		return !ask->ttl_ms && n ? -EINVAL : 0;
	}
	*why = "a new lease needs a lifetime";
	if (!ask->ttl_ms)
		return -EINVAL;
	*why = "too many leases";
	return n_leases >= SWIFTRDMA_LEASES_MAX ? -ENOSPC : 0;
}

static int act(struct srdma_act_lease *ask, const struct srdma_act_item *items, int n,
	       u64 *batch, int *bad, const char **why, struct srdma_override **made)
{
	struct srdma_batch *b;
	struct srdma_lease *l;
	int i, ret;

	*bad = -1;
	*why = "the module is disarmed or being disarmed";
	if (!srdma_hook_armed())
		return -ESHUTDOWN;
	ret = check_lease(ask, &l, n, why);
	if (ret)
		return ret;
	*why = "too many overrides in force";
	if (n_overrides + n > OVERRIDES_MAX)
		return -ENOSPC;
	for (i = 0; i < n; i++) {
		made[i] = make_override(&items[i], why);
		if (IS_ERR(made[i])) {
			ret = PTR_ERR(made[i]);
			made[i] = NULL;
			*bad = i;
			return ret;
		}
	}
	*why = "out of memory";
	b = make_batch(ask, made, items, n);
	if (!b)
		return -ENOMEM;
	if (!l) {
		l = lease_new(ask);
		if (!l) {
			srdma_batch_free(b);
			return -ENOMEM;
		}
		trace_srdma_lease(l->id, l->rank, "new", ask->ttl_ms);
	} else if (ask->ttl_ms) {
		trace_srdma_lease(l->id, l->rank, "renew", ask->ttl_ms);
	}

	/* From here on nothing fails. */
	b->id = next_batch_id++;
	b->lease.id = l->id;
	*batch = b->id;
	ask->id = l->id;
	for (i = 0; i < n; i++) {
		trace_srdma_act(b->id, l->id, items[i].knob, items[i].value,
				items[i].job ?: "qp", made[i]->reason);
		lease_put_override(l, made[i], items[i].clear);
		made[i] = NULL;
	}
	if (ask->ttl_ms)
		l->expires = ktime_get_ns() + mul_u32_u32(ask->ttl_ms, NSEC_PER_MSEC);
	else
		lease_end(l, false);
	if (n || !ask->ttl_ms)
		srdma_override_recompute();
	rearm_expiry();
	if (n)
		srdma_batch_add(b);
	else
		srdma_batch_free(b);
	return 0;
}

int srdma_act(struct srdma_act_lease *ask, const struct srdma_act_item *items, int n,
	      u64 *batch, int *bad, const char **why)
{
	struct srdma_override **made = kcalloc(n ?: 1, sizeof(*made), GFP_KERNEL);
	int i, ret;

	*bad = -1;
	*why = "out of memory";
	if (!made)
		return -ENOMEM;
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	ret = act(ask, items, n, batch, bad, why, made);
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	for (i = 0; i < n; i++)
		if (made[i])
			srdma_override_free(made[i]);
	kfree(made);
	return ret;
}

/* Leases ended when the hook came out, and without it none is given. */
void srdma_lease_exit(void)
{
	cancel_delayed_work_sync(&expire);
	WARN_ON(!list_empty(&srdma_leases));
}
