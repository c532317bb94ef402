// SPDX-License-Identifier: GPL-2.0
/*
 * Results: whether the QPs of a target have the class or rate that they should have, and
 * the event that reports this for each item of a batch, after the pass that follows it.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "class.h"
#include "find.h"
#include "knobs.h"
#include "moves.h"
#include "notify.h"
#include "pass.h"
#include "path.h"
#include "results.h"
#include "share.h"

/*
 * Time after which results are reported even if a device has not finished its pass. A pass
 * takes less than a second, even with thousands of stuck QPs.
 */
#define RESULTS_TIME	(3 * HZ)
/* How often the module checks until then whether the libraries in processes have answered. */
#define POLL_TIME	(HZ / 20)

/*
 * Batches whose results are not reported yet, and the last number given to one. Both under
 * batches_lock, a leaf.
 */
static LIST_HEAD(batches);
static DEFINE_SPINLOCK(batches_lock);
static u64 last_seq;

static void results_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(results, results_work);

/*
 * Which error to report of several: a device's refusal before an impossibility, and that
 * before all others.
 */
static int error_weight(int error)
{
	return error == -EREMOTEIO ? 3 : error == -EOPNOTSUPP ? 2 : !!error;
}

static void add_standing(struct srdma_tally *t, enum srdma_standing s, int error, u32 syndrome)
{
	t->n[s]++;
	if ((s != SRDMA_CANNOT && s != SRDMA_PENDING) ||
	    error_weight(error) <= error_weight(t->error))
		return;
	t->error = error;
	t->syndrome = error == -EREMOTEIO ? syndrome : 0;
}

static u32 syndrome_of(const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	return hw ? READ_ONCE(hw->syndrome) : 0;
}

static void tally_class(struct srdma_qp *q, void *t)
{
	enum srdma_standing s = srdma_class_standing(q);

	add_standing(t, s, srdma_class_error(q, s), syndrome_of(q));
}

static void tally_path(const struct srdma_qp *q, enum srdma_path_part part, struct srdma_tally *t)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	add_standing(t, srdma_path_standing(q, part), hw ? READ_ONCE(hw->path[part].error) : 0,
		     syndrome_of(q));
}

/* Is the QP in a scheduling element exactly if it should be in one? */
enum srdma_standing srdma_rate_standing(const struct srdma_qp *q, int *error, u32 *syndrome)
{
	/* The job stays, because its lock is held if the QP is on its list, else by RCU. */
	const struct srdma_job_dev *jd = rcu_dereference_check(q->job, 1);
	bool can = jd->dev->caps & SWIFTRDMA_DEV_CAP_RATES;
	/* On a device without elements libraries enforce a rate. */
	bool want = (can && READ_ONCE(jd->bit_rate)) || READ_ONCE(jd->weight);
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	bool has = hw && READ_ONCE(hw->element);
	/* After a RESET the next command that binds or unbinds the QP makes this known again. */
	bool known = !hw || !READ_ONCE(hw->binding_unknown);

	*syndrome = READ_ONCE(jd->shape_syndrome);
	*error = -EOPNOTSUPP;
	if (want && (!can || test_bit(SRDMA_QP_DEVX, &q->flags)))
		return SRDMA_CANNOT;
	*error = want ? READ_ONCE(jd->shape_error) : 0;
	if (*error)
		return *error == -EREMOTEIO ? SRDMA_CANNOT : SRDMA_PENDING;
	if (has == want && known)
		return SRDMA_DONE;
	if (!test_bit(SRDMA_QP_HAS_STATE, &q->flags))
		return SRDMA_UNKNOWN;
	/* The QP is bound when it gets to RTS, or leaves its element when it is destroyed. */
	if (READ_ONCE(q->state) != IB_QPS_RTS)
		return SRDMA_UNCONNECTED;
	*syndrome = syndrome_of(q);
	*error = hw && READ_ONCE(hw->no_element) ? -EREMOTEIO : 0;
	return *error ? SRDMA_CANNOT : SRDMA_PENDING;
}

static void tally_rate(struct srdma_qp *q, void *t)
{
	enum srdma_standing s;
	u32 syndrome;
	int error;

	s = srdma_rate_standing(q, &error, &syndrome);
	add_standing(t, s, error, syndrome);
}

/* For tally_library(): a knob of a job that libraries enforce. */
struct library_tally {
	const struct srdma_job_dev *jd;
	int share_knob;
	struct srdma_tally *t;
};

static void visit_library(struct srdma_qp *q, void *arg)
{
	const struct library_tally *l = arg;
	enum srdma_knob_answer a = SRDMA_KNOB_NOBODY;
	bool wanted = l->jd->knob[l->share_knob].until;

	if (q->owner)
		a = srdma_knob_answer(l->jd, q->owner->pid, l->share_knob);
	if (a == SRDMA_KNOB_WAITS)
		add_standing(l->t, SRDMA_PENDING, 0, 0);
	else if (a == SRDMA_KNOB_NOBODY && wanted)
		add_standing(l->t, SRDMA_CANNOT, -EOPNOTSUPP, 0);
	else
		add_standing(l->t, SRDMA_DONE, 0, 0);
}

static void tally_library(struct srdma_job_dev *jd, int share_knob, struct srdma_tally *t)
{
	struct library_tally l = { .jd = jd, .share_knob = share_knob, .t = t };

	mutex_lock(&srdma_share_lock);
	srdma_knobs_ask(jd, share_knob);
	srdma_job_walk(jd, visit_library, &l);
	mutex_unlock(&srdma_share_lock);
}

static void tally_job_dev(struct srdma_job_dev *jd, u32 knob, struct srdma_tally *t)
{
	int share_knob = srdma_share_knob_of(knob);

	if (share_knob >= 0 && !srdma_knob_is_dev(jd->dev, share_knob))
		tally_library(jd, share_knob, t);
	else
		srdma_job_walk(jd, knob == SWIFTRDMA_KNOB_LEVEL ? tally_class : tally_rate, t);
}

static void tally_job(const struct srdma_target *target, struct srdma_tally *t)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long i;

	xa_for_each(&srdma_devs, i, dev) {
		if (!target->any_dev && dev->index != target->dev)
			continue;
		jd = srdma_job_dev_get(dev, target->job->id);
		if (!jd)
			continue;
		tally_job_dev(jd, target->knob, t);
		srdma_job_dev_put(jd);
	}
}

static void tally_move(const struct srdma_qp *q, struct srdma_tally *t)
{
	enum srdma_standing s;
	int error;

	s = srdma_moves_standing(q, &error);
	add_standing(t, s, error, 0);
}

static void tally_one(const struct srdma_target *target, struct srdma_tally *t)
{
	struct srdma_qp *q = srdma_target_qp(target);
	int part = srdma_path_part(target->knob);

	if (!q) {
		t->error = -ENOENT;
		return;
	}
	if (part >= 0)
		tally_path(q, part, t);
	else if (target->knob == SWIFTRDMA_KNOB_UAR)
		tally_move(q, t);
	else
		tally_class(q, t);
	srdma_qp_put(q);
}

void srdma_tally(const struct srdma_target *target, struct srdma_tally *t)
{
	if (!srdma_knob_table[target->knob].tallied)
		return;
	if (!target->job)
		tally_one(target, t);
	else
		tally_job(target, t);
}

static void tally_item(const struct srdma_batch_item *item, struct srdma_tally *t)
{
	down_read(&srdma_devs_sem);
	srdma_tally(&item->override->target, t);
	up_read(&srdma_devs_sem);
}

static void notify_result(struct srdma_batch *b, int i)
{
	struct srdma_tally t = {};

	tally_item(&b->items[i], &t);
	srdma_notify(action_done, b, i, &t);
}

/* Is there a process that has not answered yet, and time to wait for it? */
static bool awaits_library(const struct srdma_batch *b)
{
	int i;

	if (b->notified || time_after_eq(jiffies, b->added + RESULTS_TIME))
		return false;
	for (i = 0; i < b->n; i++) {
		struct srdma_tally t = {};

		if (srdma_share_knob_of(b->items[i].override->target.knob) < 0)
			continue;
		tally_item(&b->items[i], &t);
		if (t.n[SRDMA_PENDING])
			return true;
	}
	return false;
}

static void wait_again(struct srdma_batch *b)
{
	spin_lock(&batches_lock);
	list_add_tail(&b->node, &batches);
	spin_unlock(&batches_lock);
}

static bool batch_concerns(const struct srdma_batch *b, const struct srdma_dev *dev)
{
	int i;

	for (i = 0; i < b->n; i++) {
		const struct srdma_target *t = &b->items[i].override->target;

		if (t->any_dev || t->dev == dev->index)
			return true;
	}
	return false;
}

/* Have all devices that the batch concerns made their pass? srdma_devs_sem. */
static bool batch_is_over(const struct srdma_batch *b)
{
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev)
		if (atomic64_read(&dev->enforced) < b->seq && batch_concerns(b, dev))
			return false;
	return true;
}

/*
 * Move the batches to be reported now to @due. Returns the time until the next one is due,
 * 0: none waits.
 */
static unsigned long take_due(struct list_head *due)
{
	unsigned long now = jiffies, first = 0, left;
	struct srdma_batch *b, *next;

	down_read(&srdma_devs_sem);
	spin_lock(&batches_lock);
	list_for_each_entry_safe(b, next, &batches, node) {
		b->over = batch_is_over(b);
		if (b->over || (!b->notified && time_after_eq(now, b->added + RESULTS_TIME))) {
			list_move_tail(&b->node, due);
		} else if (!b->notified) {
			left = b->added + RESULTS_TIME - now;
			first = first ? min(first, left) : left;
		}
	}
	spin_unlock(&batches_lock);
	up_read(&srdma_devs_sem);
	return first;
}

static void results_work(struct work_struct *work)
{
	struct srdma_batch *b, *next;
	unsigned long wait;
	LIST_HEAD(due);
	int i;

	wait = take_due(&due);
	list_for_each_entry_safe(b, next, &due, node) {
		list_del(&b->node);
		if (awaits_library(b)) {
			wait_again(b);
			wait = wait ? min_t(unsigned long, wait, POLL_TIME) : POLL_TIME;
			continue;
		}
		for (i = 0; i < b->n; i++)
			notify_result(b, i);
		if (b->over) {
			srdma_batch_free(b);
			continue;
		}
		b->notified = true;
		wait_again(b);
		wait = 1;	/* a pass may have ended while the batch was not in the list */
	}
	if (wait)
		queue_delayed_work(system_dfl_wq, &results, wait);
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
		mod_delayed_work(system_dfl_wq, &results, 0);
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
		if (batch_concerns(b, dev)) {
			srdma_pass_run(dev);
			any = true;
		}
	}
	/* From here on results_work() may report and free the batch at any time. */
	list_add_tail(&b->node, &batches);
	spin_unlock(&batches_lock);
	if (any)
		queue_delayed_work(system_dfl_wq, &results, RESULTS_TIME);
	else
		mod_delayed_work(system_dfl_wq, &results, 0);
}

struct srdma_batch *srdma_batch_new(int n)
{
	struct srdma_batch *b = kvzalloc(struct_size(b, items, n), GFP_KERNEL);

	if (b)
		b->n = n;
	return b;
}

void srdma_batch_free(struct srdma_batch *b)
{
	int i;

	for (i = 0; i < b->n; i++)
		srdma_override_put(b->items[i].override);
	kvfree(b);
}

void srdma_batches_exit(void)
{
	struct srdma_batch *b, *next;

	cancel_delayed_work_sync(&results);
	list_for_each_entry_safe(b, next, &batches, node)
		srdma_batch_free(b);
}
