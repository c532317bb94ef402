// SPDX-License-Identifier: GPL-2.0
/*
 * Taking in the QPs that are older than the module: by a scan of RDMA core's own
 * table when the device is hooked, and, for one that was being created at that
 * moment and is in neither table yet, when it is first modified.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/slab.h>
#include <rdma/restrack.h>

#include "adopt.h"
#include "compat.h"
#include "debug.h"
#include "enforce.h"
#include "find.h"
#include "hook.h"
#include "trace.h"
#include "uar.h"

/* QPNs have 24 bits (IBA 10.2.4.3); special QPs have their port above them. */
#define MAX_QPN 0xffffff

/* QPs that were not taken in and that the scan can bear in mind. */
#define LOST	64

/* Numbers at least to be looked at before it is asked whether any are left to be found. */
#define ASK_EVERY 4096

/* QPs that are asked for at once where that takes a firmware command, and how often. */
#define LEARN	64
#define LEARN_EVERY (HZ / 10)

/*
 * Whether what RDMA core lists may be on its way out by a destroy that did not pass our
 * wrapper, for it began before the hook. RDMA core of some kernels lists a QP until its
 * driver is done with it, others take it off the list first.
 *
 * The object of a user's QP says it: -1 while one has it for itself, and that is whoever
 * makes or ends it; else how many calls are at it. An end that begins after that was
 * looked at finds our wrapper, which was put in place before it.
 *
 * The kernel's users say nothing, and the object of an XRC target may go before it. Of these
 * nothing but the number is believed, and nothing is done to them, until they are used.
 * Special QPs go with their device only, and devices do not go while one is hooked.
 */
enum liveness { LEAVING, UNSURE, ALIVE };

/* struct ib_uqp_object, which RDMA core keeps to itself, begins with it. */
static const struct ib_uobject *uobject_of(const struct ib_qp *ibqp)
{
	return (const struct ib_uobject *)ibqp->uobject;
}

static enum liveness liveness(const struct ib_qp *ibqp)
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

/* What modify would have told. -errno: the driver does not say. */
static int query(struct srdma_qp *q)
{
	struct ib_qp_init_attr *init;
	struct ib_qp_attr *attr;
	int ret = -ENOMEM;

	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	init = kzalloc(sizeof(*init), GFP_KERNEL);
	if (attr && init)
		ret = srdma_orig_query(q, attr, IB_QP_STATE | IB_QP_AV | IB_QP_CAP |
				       IB_QP_DEST_QPN | IB_QP_PORT, init);
	if (!ret) {
		srdma_qp_set_caps(q, &attr->cap);
		srdma_enforce_adopt(q, attr);
	}
	kfree(attr);
	kfree(init);
	return ret;
}

/* To be asked for when somebody reads, or when a class is wanted of it. */
static void ask_later(struct srdma_qp *q)
{
	WRITE_ONCE(q->dev->unlearned, true);
	smp_mb__before_atomic();	/* pairs with srdma_adopt_learn() */
	clear_bit(SRDMA_QP_ASKED, &q->flags);
}

/* Where that costs nothing it is asked for at once, but is sure only at rest. */
static void ask_now(struct srdma_qp *q)
{
	bool idle = srdma_adopt_idle(q);

	if (q->dev->query_is_cheap && !query(q) && idle)
		set_bit(SRDMA_QP_ASKED, &q->flags);
	else
		ask_later(q);
}

void srdma_adopt_ask_again(struct srdma_qp *q)
{
	bool wanted;

	if (q->dev->query_is_cheap) {
		query(q);
		return;
	}
	ask_later(q);
	rcu_read_lock();
	wanted = srdma_qp_level(q) >= 0;
	rcu_read_unlock();
	if (wanted) {
		WRITE_ONCE(q->dev->learn, true);
		srdma_enforce_run(q->dev);
	}
}

/*
 * The caller keeps the QP alive: by a restrack reference, or by being in its
 * modify. NULL: no memory, or it is there already.
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
	if (!q->owner)	/* its process is gone, another one holds the context */
		q->owner = srdma_owner_kernel("exited");
	if (!q->owner)
		goto err;
	q->qpn = ibqp->qp_num;
	q->key_port = ibqp->port;
	RCU_INIT_POINTER(q->job, srdma_job_admit_adopted(dev, q->owner, &q->rules_gen));
	if (sure) {
		srdma_qp_identify(q);
		q->uar = srdma_uar_of(dev, ibqp, user);
		ask_now(q);
	} else {
		/* PD and CQs may have gone before it. */
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
	srdma_qp_link(q);
	if (sure)
		srdma_enforce_qp(q);
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
 * It was used since the hook is in place, so its end is still to come, by our wrapper. The
 * QP is held.
 */
static void be_sure(struct srdma_qp *q)
{
	if (!srdma_qp_in_table(q) || !test_and_clear_bit(SRDMA_QP_UNSURE, &q->flags))
		return;
	atomic_dec(&q->dev->n_unsure);
	srdma_qp_identify(q);
	ask_now(q);
	clear_bit(SRDMA_QP_DEAD, &q->flags);
	srdma_qp_touch(q);
	srdma_enforce_qp(q);
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
		be_sure(q);
		srdma_qp_unlock(q);
	}
	srdma_qp_put(q);
	return is;
}

void srdma_adopt_forget(struct srdma_dev *dev, u32 key)
{
	struct srdma_qp *q = srdma_qp_get_by_key(dev, key);

	if (!q)
		return;
	srdma_qp_lock(q);
	if (test_bit(SRDMA_QP_UNSURE, &q->flags))
		srdma_qp_drop(q);
	else
		srdma_qp_unlock(q);
	srdma_qp_put(q);
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
 * @lost: ids for which there was no memory, or which are just being made or ended: these
 *	are unknown as long as they live, or until they are modified
 * @n_lost: how many, also of those that @lost has no room for
 */
struct scan {
	struct srdma_dev *dev;
	u32 lost[LOST];
	u32 n_lost;
};

static void lose(struct scan *s, u32 id)
{
	if (s->n_lost < LOST)
		s->lost[s->n_lost] = id;
	s->n_lost++;
}

/* One id of the scan; false: stop. */
static bool adopt_id(struct scan *s, u32 id)
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
		is = liveness(ibqp);
		if (!q && is == LEAVING) {
			lose(s, id);
		} else if (!q && !xa_load(&dev->left, id)) {
			/* Unless its modify was faster, there was no memory. */
			q = adopt_qp(dev, ibqp, is == ALIVE) ?: srdma_qp_get_by_key(dev, id);
			if (!q) {
				atomic64_inc(&dev->untracked);
				lose(s, id);
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

	smp_mb();	/* the wrappers, then what liveness() reads */
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
	struct srdma_qp *q;

	if (srdma_adopt_used(dev, ibqp))
		return;
	q = adopt_qp(dev, ibqp, true);
	if (q)
		srdma_qp_put(q);
}

/* Finding out */

/* Is it still listed? What RDMA core lists under its number may be another one. */
static bool has_gone(struct srdma_dev *dev, const struct srdma_qp *q)
{
	struct ib_qp *ibqp = core_qp(dev, srdma_qp_key(q));
	bool gone = ibqp != q->ibqp;

	if (ibqp)
		rdma_restrack_put(&ibqp->res);
	return gone;
}

/* The QP comes locked and leaves unlocked. */
static void recheck(struct srdma_qp *q)
{
	if (test_bit(SRDMA_QP_SEEN, &q->flags)) {
		be_sure(q);
	} else if (test_bit(SRDMA_QP_UNSURE, &q->flags) && has_gone(q->dev, q)) {
		srdma_qp_drop(q);
		return;
	}
	srdma_qp_unlock(q);
}

void srdma_adopt_recheck(struct srdma_dev *dev)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;

	while (atomic_read(&dev->n_unsure) && (q = srdma_walk_get(&w))) {
		if (test_bit(SRDMA_QP_UNSURE, &q->flags) && srdma_qp_trylock(q))
			recheck(q);
		srdma_qp_put(q);
		cond_resched();
	}
}

/* 1: not now. */
static u32 learn(struct srdma_qp *q, u32 *budget)
{
	u32 left = 1;

	if (!srdma_qp_trylock(q))
		return left;
	if (!srdma_qp_unlearned(q)) {
		left = 0;
	} else if (srdma_adopt_idle(q) && *budget) {
		--*budget;
		query(q);	/* a QP that the driver cannot describe is not asked about again */
		set_bit(SRDMA_QP_ASKED, &q->flags);
		left = 0;
	}
	srdma_qp_unlock(q);
	return left;
}

u32 srdma_adopt_learn(struct srdma_dev *dev)
{
	bool cheap = dev->query_is_cheap;
	u32 left = 0, budget = cheap ? U32_MAX : LEARN;
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_qp *q;

	if (!READ_ONCE(dev->unlearned))
		return 0;
	if ((!cheap && srdma_no_commands()) || !mutex_trylock(&dev->learn_lock))
		return 1;
	if (!cheap && time_before(jiffies, dev->learn_at)) {
		mutex_unlock(&dev->learn_lock);
		return 1;
	}
	dev->learn_at = jiffies + LEARN_EVERY;
	WRITE_ONCE(dev->unlearned, false);
	smp_mb();	/* then the QPs: pairs with ask_later() */
	while ((q = srdma_walk_get(&w))) {
		if (srdma_qp_unlearned(q))
			left += learn(q, &budget);
		srdma_qp_put(q);
		cond_resched();
	}
	if (left)
		WRITE_ONCE(dev->unlearned, true);
	mutex_unlock(&dev->learn_lock);
	return left;
}
