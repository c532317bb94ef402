// SPDX-License-Identifier: GPL-2.0
/*
 * ACT: checks a batch of overrides and puts all of it, or none, under a lease. results.c
 * then reports what became of each item.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "act.h"
#include "find.h"
#include "knobs.h"
#include "moves.h"
#include "results.h"
#include "trace.h"

static u64 next_batch_id = 1;	/* srdma_ctl_lock */

/* Make the QP's srdma_qp_hw, which holds overrides of paths, unless the QP has one. */
static int make_qp_hw(struct srdma_qp *q, const char **why)
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
	ret = ops->path_check(q, srdma_path_part(item->target.knob), item->value, why);
	return ret ?: make_qp_hw(q, why);
}

/* Target the QP that the application knows, even if @item gave the number of its carrier. */
static int find_move(const struct srdma_qp *q, struct srdma_override *o, const char **why)
{
	struct srdma_move_target t;
	int ret = srdma_moves_find(q, &t, why);

	if (ret)
		return ret;
	o->target.key = t.qpn;
	o->target.serial = t.serial;
	o->from = t.from;
	return 0;
}

/* Find the QP that @item names, and enter its serial into @o. */
static int find_qp(const struct srdma_act_item *item, struct srdma_override *o,
		   const char **why)
{
	struct srdma_qp *q = srdma_qp_get_by_key(xa_load(&srdma_devs, item->target.dev),
						 item->target.key);
	bool same = q && (!item->has_serial || q->serial == item->target.serial);
	int ret = 0;

	/* Clearing an override of a QP that is gone is not an error. */
	if (item->clear && item->has_serial && !same)
		goto out;
	*why = "no such QP on this device: it may be gone";
	if (!q)
		return -ENOENT;
	o->target.serial = q->serial;
	if (!same) {
		*why = "the QP that was meant is gone, its number is another QP's now";
		ret = -ESTALE;
	} else if (!item->clear && test_bit(SRDMA_QP_DEVX, &q->flags)) {
		*why = "made past RDMA core (DEVX): nothing of this QP can be changed";
		ret = -EOPNOTSUPP;
	} else if (srdma_path_part(item->target.knob) >= 0 && !item->clear) {
		ret = check_path(item, q, why);
	} else if (item->target.knob == SWIFTRDMA_KNOB_UAR) {
		ret = find_move(q, o, why);
		/* The override of a process whose library has gone can be cleared all the same. */
		if (item->clear)
			ret = 0;
	}
out:
	srdma_qp_put(q);
	return ret;
}

static int check_knob_value(const struct srdma_act_item *item, const struct srdma_knob_info *k,
			    const char **why)
{
	struct srdma_level l;

	if (item->clear)
		return 0;
	*why = k->bounds;
	if (item->value < k->min || item->value > k->max ||
	    (k->power_of_two && !is_power_of_2(item->value)))
		return -ERANGE;
	if (item->target.knob != SWIFTRDMA_KNOB_LEVEL)
		return 0;
	/* A level stands for a DSCP and an SL, which the site's operator has to set first. */
	*why = "this level has no meaning yet: say first 'swiftrdma level set 3 dscp 26 sl 3'";
	l = srdma_level_get(item->value);
	return srdma_level_is_set(&l) ? 0 : -ENODATA;
}

static bool is_meant(const struct srdma_act_item *item, const struct srdma_dev *dev)
{
	return !item->has_dev || item->target.dev == dev->index;
}

/* Is there a device, among those that are meant, that enforces rates and weights? */
static bool devices_can(const struct srdma_act_item *item)
{
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev)
		if (is_meant(item, dev) && dev->caps & SWIFTRDMA_DEV_CAP_RATES)
			return true;
	return false;
}

/* Is there a process of the job, on a device that is meant, whose library enforces the knob? */
static bool processes_can(const struct srdma_act_item *item, const struct srdma_job *job)
{
	int share_knob = srdma_share_knob_of(item->target.knob);
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev) {
		jd = is_meant(item, dev) ? xa_load(&dev->jobs, job->id) : NULL;
		if (jd && srdma_knobs_possible(jd, share_knob))
			return true;
	}
	return false;
}

/* Is the knob one that neither a device nor a process of the job enforces? */
static bool nobody_can(const struct srdma_act_item *item, const struct srdma_knob_info *k,
		       const struct srdma_job *job, const char **why)
{
	if (item->clear || (!k->by_device && !k->by_library))
		return false;
	if (!k->by_device)
		*why = "libswiftrdma enforces this, and no process of the job has it";
	else if (k->by_library)
		*why =
		    "no device has scheduling elements, and no process of the job has libswiftrdma";
	else
		*why = item->has_dev ? "this device has no scheduling elements for QPs" :
				       "no device here has scheduling elements for QPs";
	return !(k->by_device && devices_can(item)) && !(k->by_library && processes_can(item, job));
}

/* Find the target of @o: a job, with a reference, or a QP. */
static int find_target(const struct srdma_act_item *item, struct srdma_override *o,
		       const char **why)
{
	const struct srdma_knob_info *k = &srdma_knob_table[item->target.knob];
	struct srdma_job *job;

	if (!item->job) {
		*why = "only level, uar, udp_sport and lag_port can be set for a single QP";
		return k->of_qp ? find_qp(item, o, why) : -EOPNOTSUPP;
	}
	*why = "uar, udp_sport and lag_port are of a single QP, not of a job";
	if (!k->of_job)
		return -EOPNOTSUPP;
	*why = "no such job: set one first";
	job = srdma_job_find(item->job);
	if (!job)
		return -ENOENT;
	srdma_job_get(job);
	o->target.job = job;
	return nobody_can(item, k, job, why) ? -EOPNOTSUPP : 0;
}

/* The override that @item asks for, not part of any lease yet. */
static struct srdma_override *make_override(const struct srdma_act_item *item,
					    const char **why)
{
	struct srdma_override *o;
	int ret = check_knob_value(item, &srdma_knob_table[item->target.knob], why);

	if (ret)
		return ERR_PTR(ret);
	*why = "no such device";
	if (item->has_dev && !xa_load(&srdma_devs, item->target.dev))
		return ERR_PTR(-ENODEV);
	*why = "out of memory";
	o = kzalloc(sizeof(*o), GFP_KERNEL);
	if (!o)
		return ERR_PTR(-ENOMEM);
	refcount_set(&o->refs, 1);
	o->target = item->target;
	o->target.any_dev = !item->has_dev;
	o->value = item->value;
	strscpy(o->reason, item->reason ?: "", sizeof(o->reason));
	o->decision = srdma_decision_get(item->decision);
	ret = find_target(item, o, why);
	if (!ret)
		return o;
	srdma_override_put(o);
	return ERR_PTR(ret);
}

/* Check the request's lease before anything is changed. */
static int check_lease(const struct srdma_act_lease *ask, struct srdma_lease **l, int n,
		       const char **why)
{
	*l = NULL;
	if (ask->id) {
		*l = srdma_lease_find(ask->id);
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
	return srdma_leases_full() ? -ENOSPC : 0;
}

/* Make the overrides of @b and put them under the lease. On error none is in force. */
static int run_batch(struct srdma_batch *b, struct srdma_act_lease *ask,
		     const struct srdma_act_item *items, int *bad, const char **why)
{
	struct srdma_override *o;
	struct srdma_lease *l;
	int i, ret;

	*why = "the module is disarmed or being disarmed";
	if (!READ_ONCE(srdma_armed))
		return -ESHUTDOWN;
	ret = check_lease(ask, &l, b->n, why);
	if (ret)
		return ret;
	*why = "too many overrides in force";
	if (!srdma_overrides_fit(b->n))
		return -ENOSPC;
	for (i = 0; i < b->n; i++) {
		o = make_override(&items[i], why);
		if (IS_ERR(o)) {
			*bad = i;
			return PTR_ERR(o);
		}
		b->items[i].override = o;
		b->items[i].clear = items[i].clear;
	}
	*why = "out of memory";
	if (!l) {
		l = srdma_lease_new(ask);
		if (!l)
			return -ENOMEM;
		trace_srdma_lease(l->id, l->rank, "new", ask->ttl_ms);
	} else if (ask->ttl_ms) {
		trace_srdma_lease(l->id, l->rank, "renew", ask->ttl_ms);
	}

	/* From here on nothing fails. */
	b->id = next_batch_id++;
	b->lease = l->id;
	b->rank = l->rank;
	ask->id = l->id;
	for (i = 0; i < b->n; i++) {
		o = b->items[i].override;
		trace_srdma_act(b->id, l->id, o->target.knob, o->value,
				items[i].job ?: "qp", o->reason);
		refcount_inc(&o->refs);
		srdma_lease_set(l, o, items[i].clear);
	}
	if (ask->ttl_ms)
		srdma_lease_renew(l, ask->ttl_ms);
	else
		srdma_lease_end(l);
	if (b->n || !ask->ttl_ms)
		srdma_override_recompute();
	else
		srdma_override_renewed(l);
	return 0;
}

int srdma_act(struct srdma_act_lease *ask, const struct srdma_act_item *items, int n,
	      u64 *batch, int *bad, const char **why)
{
	struct srdma_batch *b = srdma_batch_new(n);
	int ret;

	*bad = -1;
	*why = "out of memory";
	if (!b)
		return -ENOMEM;
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	ret = run_batch(b, ask, items, bad, why);
	*batch = b->id;
	if (!ret && n)
		srdma_batch_add(b);
	else
		srdma_batch_free(b);
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	return ret;
}
