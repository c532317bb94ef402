// SPDX-License-Identifier: GPL-2.0
/*
 * ACT: checks a batch of overrides and puts all of it, or none, under a lease. results.c
 * then reports what became of each item.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "act.h"
#include "find.h"
#include "knobs.h"
#include "results.h"
#include "trace.h"

/* The token bucket of a higher rate would overflow the arithmetic in job.c. */
#define CREATE_RATE_MAX	1000000
/* Unit of the devices' rates, and the largest weight that they take. */
#define BIT_RATE_UNIT	1000000ULL
#define WEIGHT_MAX	100
#define WR_RATE_MAX	10000000000ULL
#define CREDITS_MAX	1000000

static u64 next_batch_id = 1;	/* srdma_ctl_lock */

/* Make the QP's srdma_qp_hw, which has a path's override, if the QP has none yet. */
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

	/* Clearing an override of a QP that is gone is not an error. */
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

/* A level stands for a DSCP and an SL, which the site's operator has to set first. */
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
	case SWIFTRDMA_KNOB_WR_RATE:
		*why = "wr_rate is 0 to 10000000000 per second";
		return item->value > WR_RATE_MAX ? -ERANGE : 0;
	case SWIFTRDMA_KNOB_CREDITS:
		*why = "credits are 1 to 1000000";
		return !item->clear && (!item->value || item->value > CREDITS_MAX) ? -ERANGE : 0;
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

static bool is_meant(const struct srdma_act_item *item, const struct srdma_dev *dev)
{
	return !item->has_dev || item->dev == dev->index;
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
	int place = srdma_share_knob(item->knob);
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev) {
		jd = is_meant(item, dev) ? xa_load(&dev->jobs, job->id) : NULL;
		if (jd && srdma_knobs_possible(jd, place))
			return true;
	}
	return false;
}

/* Is the knob one that neither a device nor a process of the job enforces? */
static bool nobody_can(const struct srdma_act_item *item, const struct srdma_job *job,
		       const char **why)
{
	if (item->clear)
		return false;
	switch (item->knob) {
	case SWIFTRDMA_KNOB_WEIGHT:
		*why = item->has_dev ? "this device has no scheduling elements for QPs" :
				       "no device here has scheduling elements for QPs";
		return !devices_can(item);
	case SWIFTRDMA_KNOB_BIT_RATE:
		*why =
		    "no device has scheduling elements, and no process of the job has libswiftrdma";
		return !devices_can(item) && !processes_can(item, job);
	case SWIFTRDMA_KNOB_WR_RATE:
	case SWIFTRDMA_KNOB_CREDITS:
		*why = "libswiftrdma enforces this, and no process of the job has it";
		return !processes_can(item, job);
	default:
		return false;
	}
}

/* The override that @item asks for, not part of any lease yet. */
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
		ret = -EOPNOTSUPP;
		if (nobody_can(item, job, why))
			goto err;
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

static int run_batch(struct srdma_act_lease *ask, const struct srdma_act_item *items, int n,
		     u64 *batch, int *bad, const char **why, struct srdma_override **made)
{
	struct srdma_batch *b;
	struct srdma_lease *l;
	int i, ret;

	*bad = -1;
	*why = "the module is disarmed or being disarmed";
	if (!READ_ONCE(srdma_armed))
		return -ESHUTDOWN;
	ret = check_lease(ask, &l, n, why);
	if (ret)
		return ret;
	*why = "too many overrides in force";
	if (!srdma_overrides_fit(n))
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
		l = srdma_lease_new(ask);
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
		srdma_lease_set(l, made[i], items[i].clear);
		made[i] = NULL;
	}
	if (ask->ttl_ms)
		srdma_lease_renew(l, ask->ttl_ms);
	else
		srdma_lease_end(l);
	if (n || !ask->ttl_ms)
		srdma_override_recompute();
	else
		srdma_override_renewed(l);
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
	ret = run_batch(ask, items, n, batch, bad, why, made);
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	for (i = 0; i < n; i++)
		if (made[i])
			srdma_override_free(made[i]);
	kfree(made);
	return ret;
}
