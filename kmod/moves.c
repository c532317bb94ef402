// SPDX-License-Identifier: GPL-2.0
/*
 * How SWIFTRDMA_KNOB_UAR reaches the library that moves the QP. Each QP has a block in the control
 * file of its process, and this file writes the knob into that block.
 *
 * The value in a block is the number of the QP whose UAR the library is to leave. A QP that moves
 * gets another number, so the library moves it once for each value, however often the kernel
 * writes that value.
 */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/string.h>

#include "find.h"
#include "knobs.h"
#include "moves.h"
#include "share.h"

/* More of the control file is mapped by steps of this many bytes. */
#define MAP_STEP	(16 * PAGE_SIZE)

/* Controls and slots */

static u64 block_offset(u32 i)
{
	return SWIFTRDMA_SHARE_UP(sizeof(struct swiftrdma_control)) +
	       (1 + (u64)i) * sizeof(struct swiftrdma_block);
}

/* The block of the QP in slot @i; NULL: it is not mapped. */
static struct swiftrdma_block *qp_block(const struct srdma_share *s, u32 i)
{
	u64 end = block_offset(i) + sizeof(struct swiftrdma_block);

	if (end > (u64)s->control.n_pages * PAGE_SIZE)
		return NULL;
	return s->control.map + block_offset(i);
}

static int map_block(struct srdma_share *s, u32 i)
{
	u64 end = block_offset(i) + sizeof(struct swiftrdma_block);

	if (qp_block(s, i))
		return 0;
	return srdma_share_file_grow(&s->control, roundup(end, MAP_STEP));
}

/* The slot of the QP, or of the one whose requests it carries; NULL: there is none. */
static struct srdma_share_slot *find_slot(struct srdma_share *s, const struct srdma_qp *q)
{
	struct srdma_share_slot *is;
	u32 i;

	for (i = 0; i < s->slots; i++) {
		is = &s->slot[i];
		if (is->generation && is->serial && !(is->flags & SWIFTRDMA_SLOT_DEAD) &&
		    (is->serial == q->serial || is->now_serial == q->serial))
			return is;
	}
	return NULL;
}

/* The attachment of the QP's process, after its report was read; NULL: there is none. */
static struct srdma_share *find_share(const struct srdma_qp *q)
{
	struct srdma_share *s = q->owner ? srdma_share_find(q->dev, q->owner->pid) : NULL;

	lockdep_assert_held(&srdma_share_lock);
	if (!s || !s->jd)
		return NULL;
	srdma_report_read(s);
	return s;
}

static int find_target(const struct srdma_qp *q, struct srdma_move_target *t, const char **why)
{
	struct srdma_share *s = find_share(q);
	struct srdma_share_slot *is = s ? find_slot(s, q) : NULL;

	*why = "libswiftrdma moves QPs, and the process of this QP does not have it";
	if (!is)
		return -EOPNOTSUPP;
	*why =
	    "libswiftrdma moves QPs only of processes that were started with SWIFTRDMA_MOVE=yes";
	if (srdma_knob_state(s, SWIFTRDMA_SHARE_KNOB_UAR) == SWIFTRDMA_KNOB_STATE_NONE)
		return -EOPNOTSUPP;
	*why = "out of memory";
	if (map_block(s, is - s->slot))
		return -ENOMEM;
	*t = (struct srdma_move_target){ .qpn = is->qpn, .serial = is->serial, .from = q->qpn };
	return 0;
}

int srdma_moves_find(const struct srdma_qp *q, struct srdma_move_target *t, const char **why)
{
	int ret;

	mutex_lock(&srdma_share_lock);
	ret = find_target(q, t, why);
	mutex_unlock(&srdma_share_lock);
	return ret;
}

/* Blocks */

/*
 * Another QP has the slot: clear both copies, so that a reader finds no knob of the former QP.
 * Then give the block to the new QP.
 */
static void claim_block(struct swiftrdma_block *b, const struct srdma_share_slot *is)
{
	int i;

	for (i = 0; i < 2; i++) {
		memset(b->knob[(b->changes + 1) & 1], 0, sizeof(b->knob[0]));
		/* Pairs with the process's load-acquire: the copy is clear before it is current. */
		smp_store_release(&b->changes, b->changes + 1);
	}
	WRITE_ONCE(b->qpn, is->qpn);
	/* Pairs with the process's load-acquire: the block is clear, and has the number. */
	smp_store_release(&b->generation, is->generation);
}

static void write_block(struct srdma_share *s, u32 i)
{
	struct swiftrdma_knob_value now[SWIFTRDMA_SHARE_KNOBS] = {};
	const struct srdma_share_slot *is = &s->slot[i];
	struct swiftrdma_control *c = s->control.map;
	struct swiftrdma_block *b = qp_block(s, i);

	if (!b)
		return;
	if (is->move.until)
		now[SWIFTRDMA_SHARE_KNOB_UAR] = (struct swiftrdma_knob_value){
			.value = is->move.from, .until_ns = is->move.until + s->clock_offset,
		};
	if (b->generation != is->generation)
		claim_block(b, is);
	srdma_latch(&b->changes, b->knob, now, sizeof(now));
	if (c->blocks_used <= i)
		WRITE_ONCE(c->blocks_used, i + 1);
	/* Pairs with the process's load-acquire: the block is written. */
	smp_store_release(&c->qp_changes, c->qp_changes + 1);
}

static bool is_same(const struct srdma_move_knob *a, const struct srdma_move_knob *b)
{
	return a->from == b->from && a->until == b->until && a->lease == b->lease;
}

/* Write those blocks of the process whose knobs have changed. */
static void write_changed_blocks(struct srdma_share *s)
{
	bool changed = false;
	u32 i;

	s->has_moves = false;
	for (i = 0; i < s->slots; i++) {
		struct srdma_share_slot *is = &s->slot[i];

		s->has_moves |= is->offered.until;
		if (is_same(&is->move, &is->offered))
			continue;
		is->move = is->offered;
		write_block(s, i);
		changed = true;
	}
	if (changed)
		srdma_knobs_touch(s);
}

/* What is in force */

static void visit_with_moves(void (*visit)(struct srdma_share *s))
{
	struct srdma_share *s;
	unsigned long id;

	lockdep_assert_held(&srdma_ctl_lock);
	mutex_lock(&srdma_share_lock);
	xa_for_each(&srdma_shares, id, s)
		if (s->has_moves)
			visit(s);
	mutex_unlock(&srdma_share_lock);
}

static void forget_offers(struct srdma_share *s)
{
	u32 i;

	for (i = 0; i < s->slots; i++)
		s->slot[i].offered = (struct srdma_move_knob){};
}

void srdma_moves_begin(void)
{
	visit_with_moves(forget_offers);
}

void srdma_moves_end(void)
{
	visit_with_moves(write_changed_blocks);
}

static bool take_offer(struct srdma_share_slot *is, const struct srdma_move_knob *k)
{
	u32 now = is->now_serial ? is->now_qpn : is->qpn;

	if (is->offered.until && is->offered.from != k->from && k->from != now)
		return false;
	if (!is->offered.until || (is->offered.from != now && k->from == now))
		is->offered = *k;
	return true;
}

bool srdma_moves_offer(const struct srdma_qp *q, u32 from, u64 lease, u64 until)
{
	struct srdma_move_knob k = { .from = from, .lease = lease, .until = until };
	struct srdma_share_slot *is = NULL;
	struct srdma_share *s;
	bool holds = false;

	lockdep_assert_held(&srdma_ctl_lock);
	mutex_lock(&srdma_share_lock);
	s = q->owner ? srdma_share_find(q->dev, q->owner->pid) : NULL;
	if (s)
		is = find_slot(s, q);
	if (is) {
		holds = take_offer(is, &k);
		s->has_moves = true;
	}
	mutex_unlock(&srdma_share_lock);
	return holds;
}

void srdma_moves_renewed(u64 lease, u64 until)
{
	struct srdma_share *s;
	unsigned long id;
	bool changed;
	u32 i;

	lockdep_assert_held(&srdma_ctl_lock);
	mutex_lock(&srdma_share_lock);
	xa_for_each(&srdma_shares, id, s) {
		changed = false;
		for (i = 0; s->has_moves && i < s->slots; i++) {
			struct srdma_share_slot *is = &s->slot[i];

			if (!is->move.until || is->move.lease != lease)
				continue;
			is->move.until = until;
			write_block(s, i);
			changed = true;
		}
		if (changed)
			srdma_knobs_touch(s);
	}
	mutex_unlock(&srdma_share_lock);
}

/* Answers */

/*
 * When the library creates a QP that it can never move, the library reports UNABLE as the answer to
 * no value. Such a QP gets no other answer, so nothing is waited for.
 */
static bool never_moves(const struct srdma_share_slot *is)
{
	return !is->uar_qpn && is->uar_state == SWIFTRDMA_KNOB_STATE_UNABLE;
}

static enum srdma_standing find_standing(const struct srdma_qp *q, int *error)
{
	struct srdma_share *s = find_share(q);
	const struct srdma_share_slot *is = s ? find_slot(s, q) : NULL;

	*error = 0;
	if (is && !is->move.until)
		return SRDMA_DONE;
	if (is && is->uar_qpn != is->move.from && !never_moves(is))
		return SRDMA_PENDING;
	if (is && is->uar_state == SWIFTRDMA_KNOB_STATE_IN_FORCE)
		return SRDMA_DONE;
	*error = -EOPNOTSUPP;
	return SRDMA_CANNOT;
}

enum srdma_standing srdma_moves_standing(const struct srdma_qp *q, int *error)
{
	enum srdma_standing is;

	mutex_lock(&srdma_share_lock);
	is = find_standing(q, error);
	mutex_unlock(&srdma_share_lock);
	return is;
}
