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
#include "debug.h"
#include "enforce.h"
#include "trace.h"
#include "uar.h"

/* QPNs have 24 bits (IBA 10.2.4.3); special QPs have their port above them. */
#define MAX_QPN 0xffffff

/* What modify would have told. Only where it costs no firmware command. */
static void adopt_query(struct srdma_qp *q)
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
	adopt_query(q);

	kref_get(&q->ref);	/* the caller's */
	if (srdma_qp_insert(q)) {
		srdma_qp_put(q);
		goto err_job;
	}
	if (q->uar) {
		atomic_inc(&q->uar->n_qps);
		atomic64_inc(&q->uar->created);
	}
	atomic64_inc(&dev->adopted);
	srdma_job_join(q);
	srdma_enforce_qp(q);
	trace_srdma_qp_create(q);
	return q;

err_job:
	srdma_job_unadmit(rcu_dereference_protected(q->job, 1));
err:
	srdma_qp_put(q);
	return NULL;
}

/* One id of the scan; false: stop. */
static bool adopt_id(struct srdma_dev *dev, u32 id, int *found)
{
	struct rdma_restrack_entry *res;
	struct srdma_qp *q = NULL;
	bool go_on;

	mutex_lock(&dev->adopt_lock);
	go_on = !dev->adopt_abort;
	if (go_on) {
		res = rdma_restrack_get_byid(dev->ibdev, RDMA_RESTRACK_QP, id);
		if (!IS_ERR(res)) {
			struct ib_qp *ibqp = container_of(res, struct ib_qp, res);

			(*found)++;
			srdma_delay(SRDMA_DELAY_ADOPT);
			q = srdma_qp_get_by_key(dev, id);
			if (!q && !xa_load(&dev->left, id)) {
				/* Unless its modify was faster, there was no memory. */
				q = adopt_qp(dev, ibqp) ?: srdma_qp_get_by_key(dev, id);
				if (!q)
					atomic64_inc(&dev->untracked);
			}
			/* At once: a destroy of this QP waits for it. */
			rdma_restrack_put(res);
		}
	}
	mutex_unlock(&dev->adopt_lock);
	if (q)
		srdma_qp_put(q);
	return go_on;
}

/*
 * The scan stops once it met as many QPs as there are. More may be made
 * meanwhile, but those pass through our wrapper.
 */
void srdma_dev_adopt(struct srdma_dev *dev)
{
	int total = rdma_restrack_count(dev->ibdev, RDMA_RESTRACK_QP, true);
	int found = 0;
	u32 port, id;

	rdma_for_each_port(dev->ibdev, port) {
		adopt_id(dev, port << 24, &found);
		adopt_id(dev, port << 24 | 1, &found);
	}
	for (id = 0; id <= MAX_QPN && found < total; id++) {
		if (!adopt_id(dev, id, &found)) {
			pr_warn("%s: out of memory, some QPs older than the module are not tracked\n",
				dev->name);
			break;
		}
		if (!(id & 0xfff))
			cond_resched();
	}

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
