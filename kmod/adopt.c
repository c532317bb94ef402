// SPDX-License-Identifier: GPL-2.0
/*
 * Taking in the QPs that are older than the module: by a scan of RDMA core's own
 * table when the device is hooked, and, for one that was being created at that
 * moment and is in neither table yet, when it is first modified.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <rdma/restrack.h>

#include "adopt.h"
#include "compat.h"
#include "debug.h"
#include "enforce.h"
#include "find.h"
#include "trace.h"
#include "uar.h"

/* QPNs have 24 bits (IBA 10.2.4.3); special QPs have their port above them. */
#define MAX_QPN 0xffffff

/* QPs that there was no memory for and that the scan can bear in mind. */
#define LOST	64

/* Numbers at least to be looked at before it is asked whether any are left to be found. */
#define ASK_EVERY 4096

/* What modify would have told. Only where it costs no firmware command. */
void srdma_adopt_query(struct srdma_qp *q)
{
	struct ib_qp_init_attr *init;
	struct ib_qp_attr *attr;
	struct ib_qp *ibqp = q->ibqp;

	if (!q->dev->provider->query_is_cheap || !ibqp->device->ops.query_qp)
		return;
	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	init = kzalloc(sizeof(*init), GFP_KERNEL);
	if (attr && init &&
	    !ibqp->device->ops.query_qp(ibqp, attr, IB_QP_STATE | IB_QP_AV | IB_QP_CAP |
					IB_QP_DEST_QPN | IB_QP_PORT, init)) {
		srdma_qp_set_caps(q, &attr->cap);
		srdma_enforce_adopt(q, attr);
	}
	kfree(attr);
	kfree(init);
}

/*
 * The caller keeps the QP alive: by a restrack reference, or by being in its
 * modify. NULL: no memory, or it is there already.
 */
static struct srdma_qp *adopt_qp(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	bool user = !rdma_is_kernel_res(&ibqp->res);
	struct srdma_qp *q;

	q = srdma_qp_alloc(dev, ibqp, user);
	if (!q)
		return NULL;
	set_bit(SRDMA_QP_ADOPTED, &q->flags);
	q->owner = user && ibqp->res.task ? srdma_owner_task(ibqp->res.task) :
		   user ? NULL : srdma_owner_kernel(ibqp->res.kern_name);
	if (!q->owner)	/* its process is gone, another one holds the context */
		q->owner = srdma_owner_kernel("exited");
	if (!q->owner)
		goto err;
	srdma_qp_identify(q);
	RCU_INIT_POINTER(q->job, srdma_job_admit_adopted(dev, q->owner, &q->rules_gen));
	q->uar = srdma_uar_of(dev, ibqp, user);
	srdma_adopt_query(q);

	kref_get(&q->ref);	/* the caller's */
	if (srdma_qp_insert(q)) {
		srdma_qp_put(q);
		goto err_job;
	}
	atomic64_inc(&dev->adopted);
	srdma_qp_link(q);
	srdma_enforce_qp(q);
	return q;

err_job:
	srdma_job_unadmit(rcu_dereference_protected(q->job, 1));
err:
	srdma_qp_put(q);
	return NULL;
}

/* What RDMA core lists under an id, with a reference that holds its destroy up; NULL: nothing. */
static struct ib_qp *core_qp(struct srdma_dev *dev, u32 id)
{
	struct rdma_restrack_entry *res;

	res = rdma_restrack_get_byid(dev->ibdev, RDMA_RESTRACK_QP, id);
	return IS_ERR(res) ? NULL : container_of(res, struct ib_qp, res);
}

/**
 * struct scan - a device's scan
 * @dev: its device
 * @lost: ids for which there was no memory, which are unknown as long as they live
 * @n_lost: how many, also of those that @lost has no room for
 */
struct scan {
	struct srdma_dev *dev;
	u32 lost[LOST];
	u32 n_lost;
};

/* One id of the scan; false: stop. */
static bool adopt_id(struct scan *s, u32 id)
{
	struct srdma_dev *dev = s->dev;
	struct ib_qp *ibqp = core_qp(dev, id);
	struct srdma_qp *q = NULL;
	bool go_on;

	srdma_adopt_looked();
	if (!ibqp)
		return true;
	mutex_lock(&dev->adopt_lock);
	go_on = !dev->adopt_abort;
	if (go_on) {
		srdma_delay(SRDMA_DELAY_ADOPT);
		q = srdma_qp_get_by_key(dev, id);
		if (!q && !xa_load(&dev->left, id)) {
			/* Unless its modify was faster, there was no memory. */
			q = adopt_qp(dev, ibqp) ?: srdma_qp_get_by_key(dev, id);
			if (!q) {
				atomic64_inc(&dev->untracked);
				if (s->n_lost < LOST)
					s->lost[s->n_lost] = id;
				s->n_lost++;
			}
		}
	}
	/* At once: a destroy of this QP waits for it. */
	rdma_restrack_put(&ibqp->res);
	mutex_unlock(&dev->adopt_lock);
	if (q)
		srdma_qp_put(q);
	return go_on;
}

/* How many of the QPs we know RDMA core lists too, and did when last asked. */
static int known(struct srdma_dev *dev)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;
	int n = 0;

	while ((q = srdma_walk_get(&w))) {
		struct ib_qp *ibqp = core_qp(dev, srdma_qp_key(q));

		if (ibqp) {
			/* If it has not left by now, then it is that very QP. */
			if (ibqp == q->ibqp && srdma_qp_in_table(q) &&
			    test_and_set_bit(SRDMA_QP_LISTED, &q->flags))
				n++;
			rdma_restrack_put(&ibqp->res);
		}
		srdma_qp_put(q);
		cond_resched();
	}
	return n;
}

/*
 * How many QPs RDMA core lists that we do not know: never too few, though QPs
 * come and go. What was listed before the count and still is after it, as the same
 * QP, is among those counted. So 0 means that all there were then are known; one
 * that was on its way into the list is found at its modify.
 */
static int unknown(struct srdma_dev *dev)
{
	int all;

	known(dev);
	all = srdma_restrack_count(dev->ibdev, RDMA_RESTRACK_QP);
	return all - known(dev);
}

/* Of the unknown those that the scan has met. */
static int lost(struct scan *s)
{
	int n = 0;
	u32 i;

	for (i = 0; i < min_t(u32, s->n_lost, LOST); i++) {
		struct ib_qp *ibqp = core_qp(s->dev, s->lost[i]);
		struct srdma_qp *q;

		if (!ibqp)
			continue;
		q = srdma_qp_get_by_key(s->dev, s->lost[i]);
		if (q)
			srdma_qp_put(q);
		else
			n++;
		rdma_restrack_put(&ibqp->res);
	}
	return n;
}

/*
 * There is no list of the numbers to be had: all 2^24 would take seconds, so the
 * scan ends when nothing unknown is left. To ask that costs as much as looking
 * at some numbers for each QP there is; it is asked when all that were unknown
 * may have been met or have gone: after as many new ones, and every so often. Who
 * is between two steps of its creation just then counts as unknown, so it may take
 * some asking.
 */
static void scan(struct scan *s)
{
	struct srdma_dev *dev = s->dev;
	u32 id = 0;

	for (;;) {
		s64 met = atomic64_read(&dev->adopted);
		s64 left = unknown(dev) - lost(s);
		u32 until = id + ASK_EVERY + 8 * atomic_read(&dev->n_qps);

		if (left <= 0)
			return;
		for (; id < until && atomic64_read(&dev->adopted) - met < left; id++) {
			if (id > MAX_QPN)
				return;
			if (!adopt_id(s, id)) {
				pr_warn("%s: out of memory, some QPs older than the module are not tracked\n",
					dev->name);
				return;
			}
			if (!(id & 0xfff))
				cond_resched();
		}
	}
}

void srdma_dev_adopt(struct srdma_dev *dev)
{
	struct scan s = { .dev = dev };
	u32 port;

	rdma_for_each_port(dev->ibdev, port) {
		adopt_id(&s, port << 24);
		adopt_id(&s, port << 24 | 1);
	}
	scan(&s);

	mutex_lock(&dev->adopt_lock);
	WRITE_ONCE(dev->adopting, false);
	xa_destroy(&dev->left);
	mutex_unlock(&dev->adopt_lock);
}

void srdma_adopt(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	struct srdma_qp *q = adopt_qp(dev, ibqp);

	if (q)
		srdma_qp_put(q);
}
