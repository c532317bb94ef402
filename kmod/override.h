/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_OVERRIDE_H
#define SRDMA_OVERRIDE_H

#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "job.h"

struct srdma_lease;

/**
 * struct srdma_decision - what a policy decided an override by, told as it came
 * @refs: an override's, and that of a batch whose results are still to be told
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
 * struct srdma_override - one knob of one target, wanted by one lease
 * @node: in srdma_lease.overrides
 * @lease: whose
 * @knob: enum swiftrdma_knob
 * @value: in the knob's unit
 * @job: target, with a reference; NULL: a QP
 * @any_dev: the job on every device
 * @dev: device index, unless @any_dev
 * @key: srdma_qp_key() of the QP
 * @serial: of the QP
 * @in_force: not outranked on at least one device
 * @reason: as given
 * @decision: what a policy decided it by, with a reference; NULL: nobody said
 */
struct srdma_override {
	struct list_head node;
	struct srdma_lease *lease;
	u32 knob;
	u64 value;
	struct srdma_job *job;
	bool any_dev;
	u32 dev;
	u32 key;
	u64 serial;
	bool in_force;
	char reason[SWIFTRDMA_REASON_LEN];
	struct srdma_decision *decision;
};

/*
 * Work out what is in force: the overrides, the jobs or the devices have changed.
 * srdma_ctl_lock.
 */
void srdma_override_recompute(void);
/*
 * Out of its lease, and freed. What one of a QP says holds until the next
 * srdma_override_recompute(), which is to follow before srdma_ctl_lock is let go.
 */
void srdma_override_drop(struct srdma_override *o);
/* One that never was part of a lease. */
void srdma_override_free(struct srdma_override *o);

/*
 * Of each two recomputes one sets this bit in the words of QPs (of level and path),
 * so that it knows which it has written. What is in force is otherwise the same word
 * before, during and after a recompute that changes nothing for its QP.
 */
#define SRDMA_ROUND	BIT(30)

/*
 * Class level packed into a word, so that it is read whole: bit 31 set, rank in
 * bits 8..15, level in bits 0..7. 0: no override.
 */
static inline u32 srdma_level_pack(u32 rank, u32 level)
{
	return BIT(31) | rank << 8 | level;
}

static inline u32 srdma_level_rank(u32 packed)
{
	return packed >> 8 & 0xff;
}

static inline int srdma_level_of(u32 packed)
{
	return packed ? (int)(packed & 0xff) : -1;
}

/* What is wanted of a part of a path: the rank in bits 16..23, the value below. */
static inline u32 srdma_path_pack(u32 rank, u32 value)
{
	return BIT(31) | rank << 16 | value;
}

static inline u32 srdma_path_rank(u32 packed)
{
	return packed >> 16 & 0xff;
}

static inline u16 srdma_path_value(u32 packed)
{
	return packed;
}

/* The part that a knob is about, -1: none. */
static inline int srdma_path_part(u32 knob)
{
	return knob == SWIFTRDMA_KNOB_UDP_SPORT ? SRDMA_PATH_SPORT :
	       knob == SWIFTRDMA_KNOB_LAG_PORT ? SRDMA_PATH_LAG : -1;
}

/* The level in force for a QP, -1: none. RCU section. */
int srdma_qp_level(const struct srdma_qp *q);

/*
 * The level table: what it does not say is as the application asked for. A level
 * that has neither was never set, and none in force is such a one. get: any context.
 * set: validated by the caller; takes srdma_ctl_lock.
 */
struct srdma_level {
	bool has_dscp, has_sl;
	u8 dscp, sl;
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
