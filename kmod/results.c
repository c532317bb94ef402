// SPDX-License-Identifier: GPL-2.0
/*
 * What became of what was asked for: how the class or the rate of a target stands,
 * and after the pass that follows a batch the event that says so.
 */
#include <linux/slab.h>

#include "compat.h"
#include "find.h"
#include "netlink.h"

/*
 * How long the results of all devices are waited for. A pass takes less than a second,
 * also where thousands of QPs are stuck.
 */
#define TELL_TIME	(3 * HZ)

/* Batches whose results are to be told, and how many there were; batches_lock, a leaf. */
static LIST_HEAD(batches);
static DEFINE_SPINLOCK(batches_lock);
static u64 last_seq;

static void tell_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(tell, tell_work);

/* What the device refused says more than what nobody can, and that more than the rest. */
static int weight(int error)
{
	return error == -EREMOTEIO ? 3 : error == -EOPNOTSUPP ? 2 : !!error;
}

static void tally(struct srdma_tally *t, enum srdma_standing s, int error, u32 syndrome)
{
	t->n[s]++;
	if ((s != SRDMA_CANNOT && s != SRDMA_PENDING) || weight(error) <= weight(t->error))
		return;
	t->error = error;
	t->syndrome = error == -EREMOTEIO ? syndrome : 0;
}

static u32 syndrome_of(const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	return hw ? READ_ONCE(hw->syndrome) : 0;
}

static void tally_class(const struct srdma_qp *q, struct srdma_tally *t)
{
	enum srdma_standing s = srdma_class_standing(q);
	int err = READ_ONCE(q->class_error);

	/* One that has no class was never tried. */
	tally(t, s, s == SRDMA_CANNOT && !err ? -EOPNOTSUPP : err, syndrome_of(q));
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

static enum srdma_standing path_standing(const struct srdma_qp *q, enum srdma_path_part part)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int err;

	if (!srdma_path_pending(q, part))
		return SRDMA_DONE;
	if (!has_path(q))
		return SRDMA_UNCONNECTED;
	err = READ_ONCE(hw->path[part].error);
	/* What the device refused it would refuse again. */
	return err && err != -EAGAIN && err != -ENOMEM ? SRDMA_CANNOT : SRDMA_PENDING;
}

static void tally_path(const struct srdma_qp *q, enum srdma_path_part part, struct srdma_tally *t)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	tally(t, path_standing(q, part), hw ? READ_ONCE(hw->path[part].error) : 0,
	      syndrome_of(q));
}

static void walk_job(struct srdma_job *job, bool any_dev, u32 index,
		     void (*visit)(struct srdma_qp *q, void *arg), struct srdma_tally *t)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long i;

	xa_for_each(&srdma_devs, i, dev) {
		if (!any_dev && dev->index != index)
			continue;
		jd = srdma_job_dev_get(dev, job->id);
		if (!jd)
			continue;
		srdma_job_walk(jd, visit, t);
		srdma_job_dev_put(jd);
	}
}

static void visit_class(struct srdma_qp *q, void *arg)
{
	tally_class(q, arg);
}

/* In an element or in none. */
enum srdma_standing srdma_rate_standing(const struct srdma_qp *q, int *error, u32 *syndrome)
{
	/* Of a QP on its list its job's lock keeps it, of any other the RCU section does. */
	const struct srdma_job_dev *jd = rcu_dereference_check(q->job, 1);
	bool want = READ_ONCE(jd->bit_rate) || READ_ONCE(jd->weight);
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	bool has = hw && READ_ONCE(hw->element);

	*syndrome = READ_ONCE(jd->shape_syndrome);
	*error = -EOPNOTSUPP;
	if (want && (!(jd->dev->caps & SWIFTRDMA_DEV_CAP_RATES) ||
		     test_bit(SRDMA_QP_DEVX, &q->flags)))
		return SRDMA_CANNOT;
	*error = want ? READ_ONCE(jd->shape_error) : 0;
	if (*error)
		return *error == -EREMOTEIO ? SRDMA_CANNOT : SRDMA_PENDING;
	if (has == want)
		return SRDMA_DONE;
	if (!test_bit(SRDMA_QP_HAS_STATE, &q->flags))
		return SRDMA_UNKNOWN;
	/* To be given one when it is at work; or it leaves when its application ends it. */
	if (READ_ONCE(q->state) != IB_QPS_RTS)
		return SRDMA_UNCONNECTED;
	*syndrome = syndrome_of(q);
	*error = hw && READ_ONCE(hw->no_element) ? -EREMOTEIO : 0;
	return *error ? SRDMA_CANNOT : SRDMA_PENDING;
}

static void visit_rate(struct srdma_qp *q, void *arg)
{
	enum srdma_standing s;
	u32 syndrome;
	int error;

	s = srdma_rate_standing(q, &error, &syndrome);
	tally(arg, s, error, syndrome);
}

static void tally_one(const struct srdma_target *target, struct srdma_tally *t)
{
	struct srdma_dev *dev = xa_load(&srdma_devs, target->dev);
	struct srdma_qp *q = dev ? srdma_qp_get_by_key(dev, target->key) : NULL;
	int part = srdma_path_part(target->knob);

	if (!q || q->serial != target->serial)
		t->error = -ENOENT;
	else if (part >= 0)
		tally_path(q, part, t);
	else
		tally_class(q, t);
	if (q)
		srdma_qp_put(q);
}

bool srdma_tallied(u32 knob)
{
	return knob == SWIFTRDMA_KNOB_LEVEL || knob == SWIFTRDMA_KNOB_BIT_RATE ||
	       knob == SWIFTRDMA_KNOB_WEIGHT || srdma_path_part(knob) >= 0;
}

void srdma_tally(const struct srdma_target *target, struct srdma_tally *t)
{
	if (!srdma_tallied(target->knob))
		return;
	if (!target->job)
		tally_one(target, t);
	else
		walk_job(target->job, target->any_dev, target->dev,
			 target->knob == SWIFTRDMA_KNOB_LEVEL ? visit_class : visit_rate, t);
}

static void tell_item(struct srdma_batch *b, int i)
{
	const struct srdma_batch_item *item = &b->items[i];
	struct srdma_target target = {
		.knob = item->knob, .job = item->job, .any_dev = item->any_dev,
		.dev = item->dev, .key = item->key, .serial = item->serial,
	};
	struct srdma_tally t = {};

	down_read(&srdma_devs_sem);
	srdma_tally(&target, &t);
	up_read(&srdma_devs_sem);
	srdma_notify_act(b, i, &t);
}

static bool concerns(const struct srdma_batch *b, const struct srdma_dev *dev)
{
	int i;

	for (i = 0; i < b->n; i++)
		if (b->items[i].any_dev || b->items[i].dev == dev->index)
			return true;
	return false;
}

/* Have all devices reached it? srdma_devs_sem. */
static bool is_over(const struct srdma_batch *b)
{
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev)
		if (atomic64_read(&dev->enforced) < b->seq && concerns(b, dev))
			return false;
	return true;
}

/* Those that are to be told now, into @due; how long until the next one is, 0: never. */
static unsigned long take_due(struct list_head *due)
{
	unsigned long now = jiffies, first = 0, left;
	struct srdma_batch *b, *next;

	down_read(&srdma_devs_sem);
	spin_lock(&batches_lock);
	list_for_each_entry_safe(b, next, &batches, node) {
		b->over = is_over(b);
		if (b->over || (!b->told && time_after_eq(now, b->added + TELL_TIME))) {
			list_move_tail(&b->node, due);
		} else if (!b->told) {
			left = b->added + TELL_TIME - now;
			first = first ? min(first, left) : left;
		}
	}
	spin_unlock(&batches_lock);
	up_read(&srdma_devs_sem);
	return first;
}

static void tell_work(struct work_struct *work)
{
	struct srdma_batch *b, *next;
	unsigned long wait;
	LIST_HEAD(due);
	int i;

	wait = take_due(&due);
	list_for_each_entry_safe(b, next, &due, node) {
		for (i = 0; i < b->n; i++)
			tell_item(b, i);
		list_del(&b->node);
		if (b->over) {
			srdma_batch_free(b);
			continue;
		}
		b->told = true;
		spin_lock(&batches_lock);
		list_add_tail(&b->node, &batches);
		spin_unlock(&batches_lock);
		wait = 1;	/* a pass may have ended while it was not there */
	}
	if (wait)
		queue_delayed_work(system_dfl_wq, &tell, wait);
}

u64 srdma_batches_asked(void)
{
	u64 seq;

	spin_lock(&batches_lock);
	seq = last_seq;
	spin_unlock(&batches_lock);
	return seq;
}

void srdma_batches_passed(void)
{
	if (!list_empty_careful(&batches))
		mod_delayed_work(system_dfl_wq, &tell, 0);
}

void srdma_batch_add(struct srdma_batch *b)
{
	struct srdma_dev *dev;
	unsigned long index;
	bool any = false;

	lockdep_assert_held(&srdma_devs_sem);
	b->added = jiffies;
	spin_lock(&batches_lock);
	b->seq = ++last_seq;
	xa_for_each(&srdma_devs, index, dev) {
		if (concerns(b, dev)) {
			srdma_enforce_run(dev);
			any = true;
		}
	}
	/* From here on it may be told and freed at any time. */
	list_add_tail(&b->node, &batches);
	spin_unlock(&batches_lock);
	if (any)
		queue_delayed_work(system_dfl_wq, &tell, TELL_TIME);
	else
		mod_delayed_work(system_dfl_wq, &tell, 0);
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

void srdma_batches_exit(void)
{
	struct srdma_batch *b, *next;

	cancel_delayed_work_sync(&tell);
	list_for_each_entry_safe(b, next, &batches, node)
		srdma_batch_free(b);
}
