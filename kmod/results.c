// SPDX-License-Identifier: GPL-2.0
/*
 * What became of what was asked for: how the class or the rate of a target stands,
 * and after the pass that follows a batch the event that says so.
 */
#include <linux/slab.h>

#include "enforce.h"
#include "find.h"
#include "netlink.h"

/* Batches whose results are to be told; batches_lock, a leaf. */
static LIST_HEAD(batches);
static DEFINE_SPINLOCK(batches_lock);

void srdma_tally_qp(struct srdma_qp *q, struct srdma_tally *t)
{
	t->qps++;
	if (test_bit(SRDMA_QP_DEVX, &q->flags)) {
		t->unsupported++;
		t->error = t->error ?: -EOPNOTSUPP;
	} else if (!srdma_qp_class_pending(q)) {
		t->done++;
	} else if (q->class_error == -EOPNOTSUPP) {
		t->unsupported++;
		t->error = t->error ?: q->class_error;
	} else {
		t->pending++;
		t->error = q->class_error ?: t->error;
	}
}

/* Before it has no path, in ERR none that matters, and RESET makes it forget. */
static bool has_path(const struct srdma_qp *q)
{
	u8 state = READ_ONCE(q->state);

	return !test_bit(SRDMA_QP_HAS_STATE, &q->flags) ||
	       (state >= IB_QPS_RTR && state <= IB_QPS_SQE);
}

bool srdma_path_pending(const struct srdma_qp *q, enum srdma_path_part part)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	const struct srdma_path *p = hw ? &hw->path[part] : NULL;
	u32 want = p ? READ_ONCE(p->want) : 0;

	if (!p || test_bit(SRDMA_QP_DEAD, &q->flags))
		return false;
	if (srdma_giving_back(q->dev))
		want = 0;
	return want ? !READ_ONCE(p->set) || READ_ONCE(p->value) != srdma_path_value(want) :
		      READ_ONCE(p->set) && has_path(q);
}
EXPORT_SYMBOL_GPL(srdma_path_pending);

void srdma_tally_path(struct srdma_qp *q, enum srdma_path_part part, struct srdma_tally *t)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	t->qps++;
	if (!srdma_path_pending(q, part)) {
		t->done++;
		return;
	}
	t->error = READ_ONCE(hw->path[part].error);
	/* What the device refused it would refuse again. */
	if (t->error)
		t->unsupported++;
	else
		t->pending++;
}

void srdma_tally_job(struct srdma_job *job, bool any_dev, u32 index,
		     struct srdma_tally *t)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long i;
	struct srdma_qp *q;

	xa_for_each(&srdma_devs, i, dev) {
		if (!any_dev && dev->index != index)
			continue;
		rcu_read_lock();
		jd = xa_load(&dev->jobs, job->id);
		if (jd) {
			spin_lock(&jd->lock);
			hlist_for_each_entry(q, &jd->qps, job_node)
				srdma_tally_qp(q, t);
			spin_unlock(&jd->lock);
		}
		rcu_read_unlock();
	}
}

/* Of QPs that are at work those that are in a scheduling element, or in none. */
static void tally_rates(struct srdma_job_dev *jd, struct srdma_tally *t)
{
	bool want = READ_ONCE(jd->bit_rate) || READ_ONCE(jd->weight), has;
	const struct srdma_qp_hw *hw;
	struct srdma_qp *q;

	spin_lock(&jd->lock);
	hlist_for_each_entry(q, &jd->qps, job_node) {
		hw = srdma_qp_hw(q);
		has = hw && READ_ONCE(hw->element);
		t->qps++;
		if (!(jd->dev->caps & SWIFTRDMA_DEV_CAP_RATES) ||
		    test_bit(SRDMA_QP_DEVX, &q->flags))
			t->unsupported++;
		else if (has == want || READ_ONCE(q->state) != IB_QPS_RTS)
			t->done++;
		else
			t->pending++;
	}
	spin_unlock(&jd->lock);
}

static void tally_job_rates(const struct srdma_batch_item *item, struct srdma_tally *t)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long i;

	xa_for_each(&srdma_devs, i, dev) {
		if (!item->any_dev && item->dev != i)
			continue;
		rcu_read_lock();
		jd = xa_load(&dev->jobs, item->job->id);
		if (jd)
			tally_rates(jd, t);
		rcu_read_unlock();
	}
}

static void tell_item(struct srdma_batch *b, int i)
{
	struct srdma_batch_item *item = &b->items[i];
	struct srdma_tally t = {};
	struct srdma_dev *dev;
	struct srdma_qp *q;

	down_read(&srdma_devs_sem);
	if (item->job && item->knob == SWIFTRDMA_KNOB_LEVEL) {
		srdma_tally_job(item->job, item->any_dev, item->dev, &t);
	} else if (item->job && (item->knob == SWIFTRDMA_KNOB_BIT_RATE ||
				 item->knob == SWIFTRDMA_KNOB_WEIGHT)) {
		tally_job_rates(item, &t);
	} else if (!item->job) {
		dev = xa_load(&srdma_devs, item->dev);
		q = dev ? srdma_qp_get_by_key(dev, item->key) : NULL;
		if (q && q->serial == item->serial && srdma_path_part(item->knob) >= 0)
			srdma_tally_path(q, srdma_path_part(item->knob), &t);
		else if (q && q->serial == item->serial)
			srdma_tally_qp(q, &t);
		else
			t.error = -ENOENT;
		if (q)
			srdma_qp_put(q);
	}
	up_read(&srdma_devs_sem);
	srdma_notify_act(b, i, &t);
}

void srdma_batches_tell(struct list_head *taken)
{
	struct srdma_batch *b, *next;
	int i;

	list_for_each_entry_safe(b, next, taken, node) {
		for (i = 0; i < b->n; i++)
			tell_item(b, i);
		srdma_batch_free(b);
	}
}

void srdma_batch_add(struct srdma_batch *b)
{
	spin_lock(&batches_lock);
	list_add_tail(&b->node, &batches);
	spin_unlock(&batches_lock);
	srdma_enforce_run();
}

void srdma_batches_take(struct list_head *taken)
{
	spin_lock(&batches_lock);
	list_splice_init(&batches, taken);
	spin_unlock(&batches_lock);
}

void srdma_batch_free(struct srdma_batch *b)
{
	int i;

	for (i = 0; i < b->n; i++) {
		if (b->items[i].job)
			srdma_job_put(b->items[i].job);
		srdma_decision_put(b->items[i].decision);
	}
	kvfree(b);
}

void srdma_batches_drop(void)
{
	struct srdma_batch *b, *next;

	list_for_each_entry_safe(b, next, &batches, node)
		srdma_batch_free(b);
}
