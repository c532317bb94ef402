// SPDX-License-Identifier: GPL-2.0
/*
 * Computes what is in force: for each knob of each target the override that wins over all
 * others. The result is a word per job and device (srdma_job_dev.level) with limits, rate
 * and weight, and words per QP (srdma_qp.level, srdma_path.want), which are read without
 * srdma_ctl_lock.
 */
#include "find.h"
#include "knobs.h"
#include "lease.h"
#include "moves.h"
#include "notify.h"
#include "pass.h"

/* Overrides of QPs that were dropped since the last recompute; srdma_ctl_lock. */
static LIST_HEAD(dropped);
static u32 epoch;	/* SRDMA_EPOCH or 0; srdma_ctl_lock */

/* Flags of a level: it has a DSCP, in bits 8 to 13; it has an SL, in bits 0 to 3. */
#define LEVEL_DSCP	BIT(15)
#define LEVEL_SL	BIT(7)

/*
 * DSCP and SL by level, in one word, so that a reader gets both of the same setting. 0: not
 * set.
 */
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
	srdma_pass_rescan();
}

/* The override of the level that wins, packed; 0: none. */
static u32 winning_level(const struct srdma_qp *q, const struct srdma_job_dev *jd)
{
	u32 of_qp = READ_ONCE(q->level);
	u32 of_job = jd ? READ_ONCE(jd->level) : 0;

	return of_qp && (!of_job || srdma_packed_rank(of_qp) >= srdma_packed_rank(of_job)) ?
	       of_qp : of_job;
}

int srdma_qp_local_level(const struct srdma_qp *q)
{
	return srdma_level_unpack(winning_level(q, rcu_dereference(q->job)));
}

/* A level that was never set here cannot be followed. Level 0 raises nothing. */
int srdma_qp_level(const struct srdma_qp *q)
{
	const struct srdma_job_dev *jd = rcu_dereference(q->job);
	int wish = READ_ONCE(q->ends.wish) - 1;
	u32 winner = winning_level(q, jd);
	int level = srdma_level_unpack(winner);
	struct srdma_level is;
	u32 follow;

	if (wish <= 0)
		return level;
	follow = jd ? READ_ONCE(jd->follow) : 0;
	if (!follow || (winner && srdma_packed_rank(winner) > srdma_packed_rank(follow)))
		return level;
	wish = min(wish, srdma_level_unpack(follow));
	if (wish <= max(level, 0))
		return level;
	is = srdma_level_get(wish);
	return srdma_level_is_set(&is) ? wish : level;
}

/* What is in force */

struct srdma_qp *srdma_target_qp(const struct srdma_target *t)
{
	struct srdma_dev *dev = xa_load(&srdma_devs, t->dev);
	struct srdma_qp *q = dev ? srdma_qp_get_by_key(dev, t->key) : NULL;

	if (q && q->serial != t->serial) {
		srdma_qp_put(q);
		q = NULL;
	}
	return q;
}

/* Overrides are offered in order of strength, so the first one wins. */
static void offer_to_job(struct srdma_override *o)
{
	const struct srdma_target *t = &o->target;
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev) {
		if (!t->any_dev && t->dev != dev->index)
			continue;
		jd = xa_load(&dev->jobs, t->job->id);
		if (jd && !jd->want[t->knob])
			jd->want[t->knob] = o;
	}
}

/* The word of @q that override @o writes; NULL: the QP does not have it. */
static u32 *word_of(const struct srdma_override *o, struct srdma_qp *q)
{
	int part = srdma_path_part(o->target.knob);
	struct srdma_qp_hw *hw;

	if (part < 0)
		return &q->level;
	/* act.c made the srdma_qp_hw for the first override of a path. */
	hw = srdma_qp_hw(q);
	return hw ? &hw->path[part].want : NULL;
}

/* Readers ignore the epoch bit, so only a change of the other bits touches the QP. */
static void write_word(struct srdma_qp *q, u32 *word, u32 to)
{
	u32 was = *word;

	WRITE_ONCE(*word, to);
	if ((was ^ to) & ~SRDMA_EPOCH)
		srdma_qp_touch(q);
}

/* Not in force if the QP has gone, or has no library any more. */
static void offer_move(struct srdma_override *o)
{
	struct srdma_qp *q = srdma_target_qp(&o->target);

	if (q)
		o->in_force = srdma_moves_offer(q, o->from, o->lease->id, o->lease->expires);
	srdma_qp_put(q);
}

/*
 * The first override offered wins; a later one with the same value and rank is in force as
 * well.
 */
static void offer_to_qp(struct srdma_override *o)
{
	u32 packed = srdma_pack(o->lease->rank, o->value) | epoch;
	struct srdma_qp *q = srdma_target_qp(&o->target);
	u32 *word = q ? word_of(o, q) : NULL;

	if (word) {
		if (srdma_path_part(o->target.knob) >= 0)
			q->dev->path_bids++;
		if (!*word || (*word & SRDMA_EPOCH) != epoch)
			write_word(q, word, packed);
		o->in_force = *word == packed;
	}
	srdma_qp_put(q);
}

/* Clear the word of a dropped override, unless this recompute has written another one. */
static void clear_qp_word(struct srdma_override *o)
{
	struct srdma_qp *q = srdma_target_qp(&o->target);
	u32 *word = q ? word_of(o, q) : NULL;

	if (word && *word && (*word & SRDMA_EPOCH) != epoch)
		write_word(q, word, 0);
	srdma_qp_put(q);
}

void srdma_override_put(struct srdma_override *o)
{
	if (!o || !refcount_dec_and_test(&o->refs))
		return;
	if (o->target.job)
		srdma_job_put(o->target.job);
	srdma_decision_put(o->decision);
	kfree(o);
}

void srdma_override_drop(struct srdma_override *o)
{
	list_del(&o->node);
	if (o->target.job)
		srdma_override_put(o);
	else
		list_add(&o->node, &dropped);
}

static u64 take_winner(struct srdma_override *o, u64 none)
{
	if (!o)
		return none;
	o->in_force = true;
	return o->value;
}

/* Have the libraries in the job's processes enforce what is theirs. */
static void apply_library_knobs(struct srdma_job_dev *jd)
{
	struct srdma_job_knob knobs[SRDMA_JOB_KNOBS] = {};
	struct srdma_override *o;
	int knob, share_knob;

	for (knob = 0; knob <= SWIFTRDMA_KNOB_MAX; knob++) {
		o = jd->want[knob];
		share_knob = srdma_share_knob_of(knob);
		if (!o || share_knob < 0 || srdma_knob_is_dev(jd->dev, share_knob))
			continue;
		o->in_force = true;
		knobs[share_knob] = (struct srdma_job_knob){
			.value = o->value, .until = o->lease->expires, .lease = o->lease->id,
		};
	}
	srdma_knobs_set(jd, knobs);
}

void srdma_override_renewed(const struct srdma_lease *l)
{
	struct srdma_job_knob knobs[SRDMA_JOB_KNOBS];
	struct srdma_job_dev *jd;
	unsigned long index, id;
	struct srdma_dev *dev;
	int i;

	lockdep_assert_held(&srdma_ctl_lock);
	xa_for_each(&srdma_devs, index, dev) {
		xa_for_each(&dev->jobs, id, jd) {
			memcpy(knobs, jd->knob, sizeof(knobs));
			for (i = 0; i < SRDMA_JOB_KNOBS; i++)
				if (knobs[i].until && knobs[i].lease == l->id)
					knobs[i].until = l->expires;
			srdma_knobs_set(jd, knobs);
		}
	}
	srdma_moves_renewed(l->id, l->expires);
}

static void visit_touch(struct srdma_qp *q, void *arg)
{
	srdma_qp_touch(q);
}

static u32 pack_winner(struct srdma_job_dev *jd, u32 knob)
{
	struct srdma_override *o = jd->want[knob];

	return o ? srdma_pack(o->lease->rank, take_winner(o, 0)) : 0;
}

static void apply_winners(struct srdma_job_dev *jd)
{
	u64 max_qps = take_winner(jd->want[SWIFTRDMA_KNOB_MAX_QPS], SRDMA_NO_LIMIT);
	u64 rate = take_winner(jd->want[SWIFTRDMA_KNOB_CREATE_RATE], SRDMA_NO_LIMIT);
	u32 level = pack_winner(jd, SWIFTRDMA_KNOB_LEVEL);
	u32 follow = pack_winner(jd, SWIFTRDMA_KNOB_FOLLOW);

	if (level != jd->level || follow != jd->follow) {
		WRITE_ONCE(jd->level, level);
		WRITE_ONCE(jd->follow, follow);
		srdma_job_walk(jd, visit_touch, NULL);
	}
	WRITE_ONCE(jd->bit_rate, take_winner(jd->want[SWIFTRDMA_KNOB_BIT_RATE], 0));
	WRITE_ONCE(jd->weight, take_winner(jd->want[SWIFTRDMA_KNOB_WEIGHT], 0));
	apply_library_knobs(jd);
	spin_lock(&jd->lock);
	jd->max_qps = max_qps;
	if (jd->create_rate != rate) {
		jd->create_rate = rate;
		jd->tokens = rate == SRDMA_NO_LIMIT ? 0 : rate * NSEC_PER_SEC;
		jd->tokens_at = ktime_get_ns();
	}
	spin_unlock(&jd->lock);
}

static void offer_all(void)
{
	struct srdma_override *o;
	struct srdma_lease *l;

	list_for_each_entry(l, &srdma_leases_strong, strong_node) {
		list_for_each_entry_reverse(o, &l->overrides, node) {
			o->in_force = false;
			if (o->target.job)
				offer_to_job(o);
			else if (o->target.knob == SWIFTRDMA_KNOB_UAR)
				offer_move(o);
			else
				offer_to_qp(o);
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
	epoch ^= SRDMA_EPOCH;
	xa_for_each(&srdma_devs, index, dev) {
		dev->path_bids = 0;
		xa_for_each(&dev->jobs, id, jd)
			memset(&jd->want, 0, sizeof(jd->want));
	}
	srdma_moves_begin();
	offer_all();
	srdma_moves_end();
	list_for_each_entry_safe(o, next, &dropped, node) {
		if (o->target.knob != SWIFTRDMA_KNOB_UAR)
			clear_qp_word(o);
		list_del(&o->node);
		srdma_override_put(o);
	}
	xa_for_each(&srdma_devs, index, dev) {
		WRITE_ONCE(dev->path_wants, dev->path_bids);
		xa_for_each(&dev->jobs, id, jd)
			apply_winners(jd);
	}
	srdma_pass_rescan();
}

static const struct srdma_notifier notifier = {
	.jobs_rechecked = srdma_override_recompute,
};

void __init srdma_override_init(void)
{
	srdma_notify_register(&notifier);
}
