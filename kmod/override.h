/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_OVERRIDE_H
#define SRDMA_OVERRIDE_H

#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "job.h"
#include "knob_table.h"

struct srdma_lease;

/**
 * struct srdma_decision - why a policy made an override, as user space described it
 * @refs: one per override, and one per item of an ACT
 * @tick: %SWIFTRDMA_DECISION_A_TICK
 * @policy: %SWIFTRDMA_DECISION_A_POLICY
 * @len: bytes of @attrs
 * @attrs: the payload of %SWIFTRDMA_ACTION_A_DECISION, validated by netlink_act.c
 *
 * Never changes. The kernel makes no use of it.
 */
struct srdma_decision {
	refcount_t refs;
	u64 tick;
	char policy[SWIFTRDMA_NAME_LEN];
	u16 len;
	u8 attrs[] __aligned(NLA_ALIGNTO);
};

/* NULL: there is none. */
static inline struct srdma_decision *srdma_decision_get(struct srdma_decision *d)
{
	if (d)
		refcount_inc(&d->refs);
	return d;
}

static inline void srdma_decision_put(struct srdma_decision *d)
{
	if (d && refcount_dec_and_test(&d->refs))
		kfree(d);
}

/*
 * Overrides are desired state. Each belongs to a lease; recomputing what is in
 * force is a pass over all of them, under srdma_ctl_lock, whenever the set
 * changes. Applying it is class.c's and enforce.c's, later and without that lock.
 */

/**
 * struct srdma_target - what an override applies to
 * @knob: enum swiftrdma_knob
 * @any_dev: the job on every device
 * @job: with a reference, or NULL: a QP
 * @dev: device index, unless @any_dev
 * @key: srdma_qp_key() of the QP
 * @serial: of the QP
 */
struct srdma_target {
	u32 knob;
	bool any_dev;
	struct srdma_job *job;
	u32 dev;
	u32 key;
	u64 serial;
};

/**
 * struct srdma_override - one knob of one target, wanted by one lease
 * @node: in srdma_lease.overrides
 * @refs: one of the lease, and one of the batch that made it until its results are reported
 * @id: never reused; a lease's overrides are in the order of it
 * @lease: its lease; not to be used after srdma_override_drop()
 * @target: knob and target
 * @value: in the knob's unit
 * @from: of %SWIFTRDMA_KNOB_UAR: srdma_move_target.from
 * @in_force: not outranked on at least one device
 * @reason: as given
 * @decision: why a policy made it, with a reference; NULL: not given
 */
struct srdma_override {
	struct list_head node;
	refcount_t refs;
	u64 id;
	struct srdma_lease *lease;
	struct srdma_target target;
	u64 value;
	u32 from;
	bool in_force;
	char reason[SWIFTRDMA_REASON_LEN];
	struct srdma_decision *decision;
};

void srdma_override_init(void);

/*
 * Work out what is in force: the overrides, the jobs or the devices have changed. srdma_ctl_lock.
 */
void srdma_override_recompute(void);
/* A lease was renewed: extend the knobs that it has in force in processes. srdma_ctl_lock. */
void srdma_override_renewed(const struct srdma_lease *l);
/*
 * Take the override out of its lease, with the lease's reference. A QP's override stays in
 * force until srdma_override_recompute() runs. The caller must run it before releasing
 * srdma_ctl_lock.
 */
void srdma_override_drop(struct srdma_override *o);
/* NULL: does nothing. */
void srdma_override_put(struct srdma_override *o);

/* The QP of @t, with a reference; NULL: it is gone. srdma_devs_sem or srdma_ctl_lock. */
struct srdma_qp *srdma_target_qp(const struct srdma_target *t);

/*
 * Epoch bit of the words of QPs (srdma_qp.level and srdma_path.want). Each recompute flips
 * it and writes it into every word it visits; a word without the current bit was not
 * visited, so no override applies to it any more. A recompute that changes nothing for a
 * QP changes only this bit of the word.
 */
#define SRDMA_EPOCH	BIT(30)

/* The level in force for @q, -1: none. RCU section. */
int srdma_qp_level(const struct srdma_qp *q);
/* The same, of this host's overrides alone, without the wish of the QP's peer. RCU section. */
int srdma_qp_local_level(const struct srdma_qp *q);

/*
 * An entry of the level table. A QP keeps its application's DSCP or SL if the level has none. A
 * level with neither was never set, and ACT refuses such a level. get: any context. set: validated
 * by the caller; takes srdma_ctl_lock.
 */
struct srdma_level {
	bool has_dscp, has_sl;
	u32 dscp, sl;
};

struct srdma_level srdma_level_get(u32 level);
static inline bool srdma_level_is_set(const struct srdma_level *l)
{
	return l->has_dscp || l->has_sl;
}

struct srdma_level_row {
	u32 level;
	struct srdma_level is;
};

void srdma_levels_set(const struct srdma_level_row *rows, int n);

#endif /* SRDMA_OVERRIDE_H */
