// SPDX-License-Identifier: GPL-2.0
/*
 * What became of what was asked for: how the class or the rate of a target stands,
 * and after the pass that follows a batch the event that says so.
 */
#include <linux/slab.h>

#include "find.h"
#include "netlink.h"

/* Batches whose results are to be told; batches_lock, a leaf. */
static LIST_HEAD(batches);
static DEFINE_SPINLOCK(batches_lock);

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
