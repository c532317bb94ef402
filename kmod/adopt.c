// SPDX-License-Identifier: GPL-2.0
/*
 * Adoption of QPs that are older than the module. A scan of RDMA core's own table finds
 * them when the device is hooked. A QP that was being created at that moment may be in
 * neither table yet; it is adopted when it is first modified.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/slab.h>
#include <rdma/restrack.h>

#include "adopt.h"
#include "class.h"
#include "compat.h"
#include "debug.h"
#include "driver_ops.h"
#include "find.h"
#include "lifecycle.h"
#include "pass.h"
#include "trace.h"
#include "uar.h"

/* QPNs have 24 bits (IBA 10.2.4.3); special QPs have their port above them. */
#define MAX_QPN 0xffffff

/* Numbers of QPs that could not be adopted, as many as the scan remembers. */
#define LOST	64

/* The scan looks at this many numbers at least before it counts unknown QPs again. */
#define ASK_EVERY 4096

/* QPs that one pass queries where a query is a firmware command, and the time between passes. */
#define QUERY_BATCH	64
#define QUERY_EVERY (HZ / 10)

/*
 * Liveness of a QP that RDMA core lists. LEAVING: a destroy may be under way that began before the
 * hook and so does not pass the wrapper. UNSURE: that cannot be known. Some kernels list a QP
 * until its driver has destroyed it, others take it off the list first.
 *
 * The usecnt of a user QP's uobject shows it: -1 while a create or destroy owns the object,
 * else the number of other calls that use it. A destroy that begins after this was read
 * finds the wrapper, which was put in place before.
 *
 * Kernel users have no such count, and the uobject of an XRC target may go before the QP.
 * The module uses nothing but the number of these, and changes nothing on them, until they
 * are used. Special QPs go with their device only, and a device does not go while it is
 * being hooked.
 */
enum liveness { LEAVING, UNSURE, ALIVE };

/*
 * ibqp->uobject points to a struct ib_uqp_object, which is private to RDMA core and begins
 * with a struct ib_uobject.
 */
static const struct ib_uobject *uobject_of(const struct ib_qp *ibqp)
{
	return (const struct ib_uobject *)ibqp->uobject;
}

static enum liveness read_liveness(const struct ib_qp *ibqp)
{
	const struct ib_uobject *uobj;

	if (ibqp->qp_type == IB_QPT_SMI || ibqp->qp_type == IB_QPT_GSI)
		return ALIVE;
	if (rdma_is_kernel_res(&ibqp->res) || ibqp->qp_type == IB_QPT_XRC_TGT)
		return UNSURE;
	uobj = uobject_of(ibqp);
	if (uobj && atomic_read(&uobj->usecnt) < 0)
		return LEAVING;
	return uobj && READ_ONCE(uobj->object) == ibqp ? ALIVE : UNSURE;
}

bool srdma_adopt_idle(const struct srdma_qp *q)
{
	const struct ib_uobject *uobj = uobject_of(q->ibqp);

	if (!test_bit(SRDMA_QP_USER, &q->flags) || q->type == IB_QPT_XRC_TGT || !uobj)
		return true;
	return !atomic_read(&uobj->usecnt);
}
EXPORT_SYMBOL_GPL(srdma_adopt_idle);

/* Query the driver for what modifies before the hook have set. -errno of the driver. */
static int query_driver(struct srdma_qp *q)
{
	struct ib_qp_init_attr *init;
	struct ib_qp_attr *attr;
	int ret = -ENOMEM;

	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	init = kzalloc(sizeof(*init), GFP_KERNEL);
	if (attr && init)
		ret = srdma_driver_query(q, attr, IB_QP_STATE | IB_QP_AV | IB_QP_CAP |
				       IB_QP_DEST_QPN | IB_QP_PORT, init);
	if (!ret) {
		srdma_qp_set_caps(q, &attr->cap);
		srdma_class_adopt(q, attr);
	}
	kfree(attr);
	kfree(init);
	return ret;
}

/* Have state and address queried later: when a reader asks, or when the QP should get a class. */
static void query_later(struct srdma_qp *q)
{
	WRITE_ONCE(q->dev->unqueried, true);
	smp_mb__before_atomic();	/* pairs with query_by_driver() */
	clear_bit(SRDMA_QP_QUERIED, &q->flags);
}

/*
 * Query at once where a query is no firmware command. The answer is final only if no call
 * of the QP's user was under way.
 */
static void query_now(struct srdma_qp *q)
{
	bool idle = srdma_adopt_idle(q);

	if (q->dev->query_is_cheap && !query_driver(q) && idle)
		set_bit(SRDMA_QP_QUERIED, &q->flags);
	else
		query_later(q);
}

void srdma_adopt_ask_again(struct srdma_qp *q)
{
	bool wanted;

	if (q->dev->query_is_cheap) {
		query_driver(q);
		return;
	}
	query_later(q);
	rcu_read_lock();
	wanted = srdma_qp_level(q) >= 0;
	rcu_read_unlock();
	if (wanted) {
		WRITE_ONCE(q->dev->query_wanted, true);
		srdma_pass_run(q->dev);
	}
}

/*
 * Enter @ibqp into the table. The caller keeps it alive, by a restrack reference or by
 * being in its modify. NULL: no memory, or the QP is in the table already.
 */
static struct srdma_qp *adopt_qp(struct srdma_dev *dev, struct ib_qp *ibqp, bool sure)
{
	bool user = !rdma_is_kernel_res(&ibqp->res);
	struct srdma_qp *q;

	q = srdma_qp_alloc(dev, ibqp, user);
	if (!q)
		return NULL;
	set_bit(SRDMA_QP_ADOPTED, &q->flags);
	q->owner = user && ibqp->res.task ? srdma_owner_task(ibqp->res.task) :
		   user ? NULL : srdma_owner_kernel(ibqp->res.kern_name);
	if (!q->owner)	/* the process has exited, another one holds the context */
		q->owner = srdma_owner_kernel("exited");
	if (!q->owner)
		goto err;
	q->qpn = ibqp->qp_num;
	q->key_port = ibqp->port;
	RCU_INIT_POINTER(q->job, srdma_job_admit_adopted(dev, q->owner, &q->rules_gen));
	if (sure) {
		srdma_qp_identify(q);
		q->uar = srdma_uar_of(dev, ibqp, user);
		query_now(q);
	} else {
		/* PD and CQs may have been destroyed before the QP. */
		q->uar = user ? NULL : srdma_uar_of(dev, ibqp, false);
		set_bit(SRDMA_QP_DEAD, &q->flags);
		set_bit(SRDMA_QP_UNSURE, &q->flags);
		atomic_inc(&dev->n_unsure);
	}

	kref_get(&q->ref);	/* the caller's */
	if (srdma_qp_insert(q)) {
		srdma_qp_put(q);
		goto err_job;
	}
	atomic64_inc(&dev->adopted);
	/* A walk that queries QPs may have begun since query_later() and passed this place. */
	if (srdma_qp_unqueried(q))
		WRITE_ONCE(dev->unqueried, true);
	srdma_qp_link(q);
	if (sure)
		srdma_pass_qp(q);
	return q;

err_job:
	if (!sure)
		atomic_dec(&dev->n_unsure);
	srdma_job_unadmit(rcu_dereference_protected(q->job, 1));
err:
	srdma_qp_put(q);
	return NULL;
}

/*
 * An UNSURE QP was used after the hook was put in place, so its destroy will pass the
 * wrapper. srdma_qp_lock() is held.
 */
static void mark_sure(struct srdma_qp *q)
{
	if (!srdma_qp_in_table(q) || !test_and_clear_bit(SRDMA_QP_UNSURE, &q->flags))
		return;
	atomic_dec(&q->dev->n_unsure);
	srdma_qp_identify(q);
	query_now(q);
	clear_bit(SRDMA_QP_DEAD, &q->flags);
	srdma_qp_touch(q);
	srdma_pass_qp(q);
}

bool srdma_adopt_used(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	struct srdma_qp *q = srdma_qp_get_by_key(dev, srdma_ib_qp_key(ibqp));
	bool is;

	if (!q)
		return false;
	is = q->ibqp == ibqp;
	if (is && test_bit(SRDMA_QP_UNSURE, &q->flags)) {
		srdma_qp_lock(q);
		mark_sure(q);
		srdma_qp_unlock(q);
	}
	srdma_qp_put(q);
	return is;
}

/* The QP that RDMA core lists under @id, with a reference that its destroy waits for; or NULL. */
static struct ib_qp *core_qp(struct srdma_dev *dev, u32 id)
{
	struct rdma_restrack_entry *res;

	res = rdma_restrack_get_byid(dev->ibdev, RDMA_RESTRACK_QP, id);
	return IS_ERR(res) ? NULL : container_of(res, struct ib_qp, res);
}

/**
 * struct scan - a device's scan
 * @dev: the device
 * @lost: numbers of QPs that were not adopted, for lack of memory or because they are being
 *	created or destroyed: they stay unknown until they are modified
 * @n_lost: how many, also of those for which @lost has no room
 */
struct scan {
	struct srdma_dev *dev;
	u32 lost[LOST];
	u32 n_lost;
};

static void remember_lost(struct scan *s, u32 id)
{
	if (s->n_lost < LOST)
		s->lost[s->n_lost] = id;
	s->n_lost++;
}

/* Adopt the QP of number @id, if there is one. False: the scan has to stop. */
static bool adopt_number(struct scan *s, u32 id)
{
	struct srdma_dev *dev = s->dev;
	struct ib_qp *ibqp = core_qp(dev, id);
	struct srdma_qp *q = NULL;
	enum liveness is;
	bool go_on;

	srdma_adopt_looked();
	if (!ibqp)
		return true;
	mutex_lock(&dev->adopt_lock);
	go_on = !dev->adopt_abort;
	if (go_on) {
		srdma_delay(SRDMA_DELAY_ADOPT);
		q = srdma_qp_get_by_key(dev, id);
		is = read_liveness(ibqp);
		if (!q && is == LEAVING) {
			remember_lost(s, id);
		} else if (!q && !xa_load(&dev->left, id)) {
			/*
			 * Another thread, in a modify of the QP, may have adopted it first.
			 * NULL from both: there was no memory.
			 */
			q = adopt_qp(dev, ibqp, is == ALIVE) ?: srdma_qp_get_by_key(dev, id);
			if (!q) {
				atomic64_inc(&dev->untracked);
				remember_lost(s, id);
			}
		}
	}
	/* Released at once: a destroy of the QP waits for this reference. */
	rdma_restrack_put(&ibqp->res);
	mutex_unlock(&dev->adopt_lock);
	srdma_qp_put(q);
	return go_on;
}

/* How many QPs of the table RDMA core listed at the previous count, and still lists. */
static int count_known(struct srdma_dev *dev)
{
	struct srdma_qp *q;
	int n = 0;

	srdma_for_each_qp(q, dev) {
		struct ib_qp *ibqp = core_qp(dev, srdma_qp_key(q));

		if (!ibqp)
			continue;
		/*
		 * The restrack reference holds up a destroy, so a QP still in the table is
		 * this one.
		 */
		if (ibqp == q->ibqp && srdma_qp_in_table(q) &&
		    test_and_set_bit(SRDMA_QP_LISTED, &q->flags))
			n++;
		rdma_restrack_put(&ibqp->res);
	}
	return n;
}

/*
 * How many QPs RDMA core lists that are not in the table. The result may be too large while
 * QPs come and go, but never too small: a known QP is subtracted only if RDMA core listed
 * it both before and after its own count. 0 therefore means that all QPs listed at that
 * moment are known. A QP that was just being created is adopted at its modify.
 */
static int count_unknown(struct srdma_dev *dev)
{
	int all;

	count_known(dev);
	all = srdma_restrack_count(dev->ibdev, RDMA_RESTRACK_QP);
	return all - count_known(dev);
}

/* How many of the unknown QPs the scan has met and could not adopt. */
static int count_lost(struct scan *s)
{
	int n = 0;
	u32 i;

	for (i = 0; i < min_t(u32, s->n_lost, LOST); i++) {
		struct ib_qp *ibqp = core_qp(s->dev, s->lost[i]);
		struct srdma_qp *q;

		if (!ibqp)
			continue;
		q = srdma_qp_get_by_key(s->dev, s->lost[i]);
		n += !q;
		srdma_qp_put(q);
		rdma_restrack_put(&ibqp->res);
	}
	return n;
}

/*
 * RDMA core exports no list of its QPs' numbers, and to try all 2^24 takes seconds. So the
 * scan ends when no unknown QP is left. Counting the unknown costs as much as looking at a
 * few numbers for each QP, so the scan counts when it has adopted as many QPs as were
 * unknown, and after a stretch of numbers that grows with the table. A QP in the middle of
 * its creation counts as unknown, so several counts may be needed.
 */
static void scan_numbers(struct scan *s)
{
	struct srdma_dev *dev = s->dev;
	u32 id = 0;

	for (;;) {
		s64 met = atomic64_read(&dev->adopted);
		s64 left = count_unknown(dev) - count_lost(s);
		u32 until = id + ASK_EVERY + 8 * atomic_read(&dev->n_qps);

		if (left <= 0)
			return;
		for (; id < until && atomic64_read(&dev->adopted) - met < left; id++) {
			if (id > MAX_QPN)
				return;
			if (!adopt_number(s, id)) {
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

	smp_mb();	/* install the wrappers before read_liveness() reads */
	rdma_for_each_port(dev->ibdev, port) {
		adopt_number(&s, port << 24);
		adopt_number(&s, port << 24 | 1);
	}
	scan_numbers(&s);

	mutex_lock(&dev->adopt_lock);
	WRITE_ONCE(dev->adopting, false);
	xa_destroy(&dev->left);
	mutex_unlock(&dev->adopt_lock);
}

void srdma_adopt(struct srdma_dev *dev, struct ib_qp *ibqp)
{
	struct srdma_qp *q;

	if (srdma_adopt_used(dev, ibqp))
		return;
	q = adopt_qp(dev, ibqp, true);
	srdma_qp_put(q);
}

/* Queries */

/* Has RDMA core dropped this QP from its list, or does it list another QP under the number? */
static bool is_unlisted(struct srdma_dev *dev, const struct srdma_qp *q)
{
	struct ib_qp *ibqp = core_qp(dev, srdma_qp_key(q));
	bool gone = ibqp != q->ibqp;

	if (ibqp)
		rdma_restrack_put(&ibqp->res);
	return gone;
}

/* The caller has locked the QP; this unlocks it. */
static void recheck_qp(struct srdma_qp *q)
{
	if (test_bit(SRDMA_QP_SEEN, &q->flags)) {
		mark_sure(q);
	} else if (test_bit(SRDMA_QP_UNSURE, &q->flags) && is_unlisted(q->dev, q)) {
		srdma_qp_drop(q);
		return;
	}
	srdma_qp_unlock(q);
}

/* Resolve UNSURE QPs: those used since the hook become sure, those not listed any more go. */
static void recheck_unsure(struct srdma_dev *dev)
{
	struct srdma_qp *q;

	if (!atomic_read(&dev->n_unsure))
		return;
	srdma_for_each_qp(q, dev)
		if (test_bit(SRDMA_QP_UNSURE, &q->flags) && srdma_qp_trylock(q))
			recheck_qp(q);
}

/* Returns 1 if the QP has to be queried again later. */
static u32 query_adopted(struct srdma_qp *q, u32 *budget)
{
	u32 left = 1;

	if (!srdma_qp_trylock(q))
		return left;
	if (!srdma_qp_unqueried(q)) {
		left = 0;
	} else if (srdma_adopt_idle(q) && *budget) {
		--*budget;
		/* A refusal is final: the driver cannot describe the QP. */
		left = srdma_may_pass(query_driver(q));
		if (!left)
			set_bit(SRDMA_QP_QUERIED, &q->flags);
	}
	srdma_qp_unlock(q);
	return left;
}

/* In place of srdma_provider_ops.query_qps() where a provider lacks it: queries the driver. */
static u32 query_by_driver(struct srdma_dev *dev)
{
	bool cheap = dev->query_is_cheap;
	u32 left = 0, budget = cheap ? U32_MAX : QUERY_BATCH;
	struct srdma_qp *q;

	if (!READ_ONCE(dev->unqueried))
		return 0;
	if ((!cheap && srdma_no_commands()) || !mutex_trylock(&dev->query_lock))
		return 1;
	if (!cheap && time_before(jiffies, dev->query_at)) {
		mutex_unlock(&dev->query_lock);
		return 1;
	}
	dev->query_at = jiffies + QUERY_EVERY;
	WRITE_ONCE(dev->unqueried, false);
	smp_mb();	/* clear the flag before the QPs are read: pairs with query_later() */
	srdma_for_each_qp(q, dev)
		if (srdma_qp_unqueried(q))
			left += query_adopted(q, &budget);
	if (left)
		WRITE_ONCE(dev->unqueried, true);
	mutex_unlock(&dev->query_lock);
	return left;
}

u32 srdma_adopt_query_qps(struct srdma_dev *dev)
{
	const struct srdma_provider_ops *ops = srdma_dev_provider(dev);

	recheck_unsure(dev);
	return ops->query_qps ? ops->query_qps(dev) : query_by_driver(dev);
}
