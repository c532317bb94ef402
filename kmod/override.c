// SPDX-License-Identifier: GPL-2.0
/*
 * What is in force: of all overrides of all leases the one that wins for each knob
 * of each target. What comes out are a word per job and device
 * (srdma_job_dev.level), limits, rate and weight beside it, and a word per QP
 * (srdma_qp.level, srdma_path.want), which others read without srdma_ctl_lock.
 */
#include "enforce.h"
#include "find.h"
#include "lease.h"

/* Of QPs, dropped since the last recompute; srdma_ctl_lock, as the next one. */
static LIST_HEAD(dropped);
static u32 round;	/* SRDMA_ROUND, or 0 */

/* A level has a DSCP, in bits 8 to 13; it has an SL, in bits 0 to 3. */
#define LEVEL_DSCP	BIT(15)
#define LEVEL_SL	BIT(7)

/* By level; one word, so that a reader gets a pair that is one. 0: not set. */
static u16 levels[SWIFTRDMA_LEVEL_MAX + 1];

struct srdma_level srdma_level_get(u32 level)
{
	u16 packed = READ_ONCE(levels[level]);

	return (struct srdma_level){
		.has_dscp = packed & LEVEL_DSCP, .has_sl = packed & LEVEL_SL,
		.dscp = packed >> 8 & 0x3f, .sl = packed & 0xf,
	};
}

static u16 level_pack(const struct srdma_level *l)
{
	return (l->has_dscp ? LEVEL_DSCP | l->dscp << 8 : 0) | (l->has_sl ? LEVEL_SL | l->sl : 0);
}

void srdma_levels_set(const struct srdma_level_row *rows, int n)
{
	int i;

	mutex_lock(&srdma_ctl_lock);
	for (i = 0; i < n; i++)
		WRITE_ONCE(levels[rows[i].level], level_pack(&rows[i].is));
	mutex_unlock(&srdma_ctl_lock);
	srdma_enforce_rescan();
}

int srdma_qp_level(const struct srdma_qp *q)
{
	u32 own = READ_ONCE(q->level);
	struct srdma_job_dev *jd = rcu_dereference(q->job);
	u32 job = jd ? READ_ONCE(jd->level) : 0;

	if (own && (!job || srdma_level_rank(own) >= srdma_level_rank(job)))
		return srdma_level_of(own);
	return srdma_level_of(job);
}

/* What is in force */

static struct srdma_qp *override_qp(const struct srdma_override *o)
{
	struct srdma_dev *dev = xa_load(&srdma_devs, o->dev);
	struct srdma_qp *q = dev ? srdma_qp_get_by_key(dev, o->key) : NULL;

	if (q && q->serial != o->serial) {
		srdma_qp_put(q);
		q = NULL;
	}
	return q;
}

/* The strongest bids first. */
static void bid(struct srdma_override **slot, struct srdma_override *o)
{
	if (!*slot)
		*slot = o;
}

static void bid_job(struct srdma_override *o)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev) {
		if (!o->any_dev && o->dev != dev->index)
			continue;
		jd = xa_load(&dev->jobs, o->job->id);
		if (!jd)
			continue;
		if (o->knob == SWIFTRDMA_KNOB_LEVEL)
			bid(&jd->want.level, o);
		else if (o->knob == SWIFTRDMA_KNOB_MAX_QPS)
			bid(&jd->want.max_qps, o);
		else if (o->knob == SWIFTRDMA_KNOB_BIT_RATE)
			bid(&jd->want.bit_rate, o);
		else if (o->knob == SWIFTRDMA_KNOB_WEIGHT)
			bid(&jd->want.weight, o);
		else
			bid(&jd->want.create_rate, o);
	}
}

/* The word of @q that an override of it is about; NULL: it has none. */
static u32 *word_of(const struct srdma_override *o, struct srdma_qp *q)
{
	int part = srdma_path_part(o->knob);
	struct srdma_qp_hw *hw;

	if (part < 0)
		return &q->level;
	/* It was made for the first override of it. */
	hw = srdma_qp_hw(q);
	return hw ? &hw->path[part].want : NULL;
}

static u32 pack(const struct srdma_override *o)
{
	return o->knob == SWIFTRDMA_KNOB_LEVEL ? srdma_level_pack(o->lease->rank, o->value) :
						 srdma_path_pack(o->lease->rank, o->value);
}

/* What this recompute says of a QP. */
static void say(struct srdma_qp *q, u32 *word, u32 to)
{
	u32 was = *word;

	WRITE_ONCE(*word, to);
	if ((was ^ to) & ~SRDMA_ROUND)
		srdma_qp_touch(q);
}

/* Two that ask the same at the same rank are both in force. */
static void bid_qp(struct srdma_override *o)
{
	struct srdma_qp *q = override_qp(o);
	u32 *word = q ? word_of(o, q) : NULL;

	if (word) {
		if (srdma_path_part(o->knob) >= 0)
			q->dev->path_bids++;
		if (!*word || (*word & SRDMA_ROUND) != round)
			say(q, word, pack(o) | round);
		o->in_force = *word == (pack(o) | round);
	}
	if (q)
		srdma_qp_put(q);
}

/* Nobody wants of this QP any more what was just dropped, unless there was a bid. */
static void unbid_qp(struct srdma_override *o)
{
	struct srdma_qp *q = override_qp(o);
	u32 *word = q ? word_of(o, q) : NULL;

	if (word && *word && (*word & SRDMA_ROUND) != round)
		say(q, word, 0);
	if (q)
		srdma_qp_put(q);
}

void srdma_override_free(struct srdma_override *o)
{
	if (o->job)
		srdma_job_put(o->job);
	srdma_decision_put(o->decision);
	kfree(o);
}

void srdma_override_drop(struct srdma_override *o)
{
	list_del(&o->node);
	if (o->job)
		srdma_override_free(o);
	else
		list_add(&o->node, &dropped);
}

static u64 won(struct srdma_override *o, u64 none)
{
	if (!o)
		return none;
	o->in_force = true;
	return o->value;
}

static void visit_touch(struct srdma_qp *q, void *arg)
{
	srdma_qp_touch(q);
}

static void settle(struct srdma_job_dev *jd)
{
	struct srdma_override *o = jd->want.level;
	u64 max_qps = won(jd->want.max_qps, SRDMA_NO_LIMIT);
	u64 rate = won(jd->want.create_rate, SRDMA_NO_LIMIT);
	u32 level = 0;

	if (o)
		level = srdma_level_pack(o->lease->rank, won(o, 0));
	if (level != jd->level) {
		WRITE_ONCE(jd->level, level);
		srdma_job_walk(jd, visit_touch, NULL);
	}
	WRITE_ONCE(jd->bit_rate, won(jd->want.bit_rate, 0));
	WRITE_ONCE(jd->weight, won(jd->want.weight, 0));
	spin_lock(&jd->lock);
	jd->max_qps = max_qps;
	if (jd->create_rate != rate) {
		jd->create_rate = rate;
		jd->tokens = rate == SRDMA_NO_LIMIT ? 0 : rate * NSEC_PER_SEC;
		jd->tokens_at = ktime_get_ns();
	}
	spin_unlock(&jd->lock);
}

static void bid_all(void)
{
	struct srdma_override *o;
	struct srdma_lease *l;

	list_for_each_entry(l, &srdma_leases_strong, strong_node) {
		list_for_each_entry_reverse(o, &l->overrides, node) {
			o->in_force = false;
			if (o->job)
				bid_job(o);
			else
				bid_qp(o);
		}
	}
}

void srdma_override_recompute(void)
{
	struct srdma_override *o, *next;
	struct srdma_job_dev *jd;
	unsigned long index, id;
	struct srdma_dev *dev;

	lockdep_assert_held(&srdma_ctl_lock);
	round ^= SRDMA_ROUND;
	xa_for_each(&srdma_devs, index, dev) {
		dev->path_bids = 0;
		xa_for_each(&dev->jobs, id, jd)
			memset(&jd->want, 0, sizeof(jd->want));
	}
	bid_all();
	list_for_each_entry_safe(o, next, &dropped, node) {
		unbid_qp(o);
		list_del(&o->node);
		srdma_override_free(o);
	}
	xa_for_each(&srdma_devs, index, dev) {
		WRITE_ONCE(dev->path_wants, dev->path_bids);
		xa_for_each(&dev->jobs, id, jd)
			settle(jd);
	}
	srdma_enforce_rescan();
}
