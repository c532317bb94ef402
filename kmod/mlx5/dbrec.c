// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbell records: memory in which a QP's library (or driver) says how far it has
 * filled the send queue, before it rings. The counter there has 16 bits and counts
 * WQEBBs, blocks of 64 bytes of which a work request takes one or more.
 *
 * Reading it costs the application nothing. What moved is summed up here; it goes on
 * to the QP and its UAR when somebody asks, and when the QP goes.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "mlx5.h"

static struct srdma_block *block_of(struct srdma_mlx5 *md, u32 slot)
{
	return xa_load(&md->blocks, slot / SRDMA_BLOCK);
}

int srdma_records_init(struct srdma_mlx5 *md)
{
	xa_init_flags(&md->blocks, XA_FLAGS_ACCOUNT);
	mutex_init(&md->grow_lock);
	spin_lock_init(&md->slot_lock);
	md->free = SRDMA_NO_SLOT;
	return 0;
}

/* All records were let go, and the sampler is gone. */
void srdma_records_exit(struct srdma_mlx5 *md)
{
	struct srdma_block *b;
	unsigned long n;

	WARN_ON(atomic_read(&md->n_records) || atomic_read(&md->held));
	xa_for_each(&md->blocks, n, b) {
		kfree(b->entry);
		kfree(b);
	}
	xa_destroy(&md->blocks);
}

static struct srdma_block *block_new(u32 first, u32 free)
{
	struct srdma_block *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!b)
		return NULL;
	b->entry = kcalloc(SRDMA_BLOCK, sizeof(*b->entry), GFP_KERNEL_ACCOUNT);
	if (!b->entry) {
		kfree(b);
		return NULL;
	}
	spin_lock_init(&b->lock);
	for (i = 0; i < SRDMA_BLOCK; i++)
		b->slot[i].next = i + 1 < SRDMA_BLOCK ? first + i + 1 : free;
	return b;
}

/* A block more, unless somebody else was faster. */
static int grow(struct srdma_mlx5 *md)
{
	u32 first = md->n_blocks * SRDMA_BLOCK;
	struct srdma_block *b;
	int ret = 0;

	static_assert(sizeof(struct srdma_entry) * SRDMA_BLOCK <= PAGE_SIZE);

	mutex_lock(&md->grow_lock);
	if (READ_ONCE(md->free) != SRDMA_NO_SLOT)
		goto out;
	first = md->n_blocks * SRDMA_BLOCK;
	b = block_new(first, SRDMA_NO_SLOT);
	ret = -ENOMEM;
	if (!b)
		goto out;
	ret = xa_err(xa_store(&md->blocks, md->n_blocks, b, GFP_KERNEL));
	if (ret) {
		kfree(b->entry);
		kfree(b);
		goto out;
	}
	smp_store_release(&md->n_blocks, md->n_blocks + 1);	/* who counts it finds it */
	spin_lock(&md->slot_lock);
	b->slot[SRDMA_BLOCK - 1].next = md->free;
	md->free = first;
	spin_unlock(&md->slot_lock);
out:
	mutex_unlock(&md->grow_lock);
	return ret;
}

static u32 slot_alloc(struct srdma_mlx5 *md)
{
	u32 slot;

	do {
		spin_lock(&md->slot_lock);
		slot = md->free;
		if (slot != SRDMA_NO_SLOT)
			md->free = block_of(md, slot)->slot[slot % SRDMA_BLOCK].next;
		spin_unlock(&md->slot_lock);
	} while (slot == SRDMA_NO_SLOT && !grow(md));
	return slot;
}

static void slot_free(struct srdma_mlx5 *md, u32 slot)
{
	spin_lock(&md->slot_lock);
	block_of(md, slot)->slot[slot % SRDMA_BLOCK].next = md->free;
	md->free = slot;
	spin_unlock(&md->slot_lock);
}

void srdma_record_push(struct srdma_entry *e, struct srdma_slot *s)
{
	u64 more = e->total - s->pushed;

	if (e->ambiguous)
		WRITE_ONCE(s->q->hw->ambiguous, true);
	if (!more)
		return;
	s->pushed = e->total;
	atomic64_add(more, &s->q->wrs);
	if (e->page)
		atomic64_add(more, &e->page->wrs);
	srdma_qp_touch(s->q);
}

/* With the block locked. The sampler may have slept until now. */
static void set_state(struct srdma_mlx5 *md, struct srdma_block *b, struct srdma_entry *e,
		      enum srdma_entry_state state)
{
	bool was = e->state == SRDMA_ENTRY_ON, is = state == SRDMA_ENTRY_ON;

	e->state = state;
	if (was == is)
		return;
	if (was) {
		b->n_on--;
		atomic_dec(&md->n_on);
		return;
	}
	if (!b->n_on++)
		b->swept = ktime_get_ns();
	if (atomic_inc_return(&md->n_on) == 1)
		wake_up(&md->wait);
}

int srdma_record_add(struct srdma_mlx5 *md, struct srdma_qp *q, const __be32 *rec,
		     struct page *held, bool from_now, enum srdma_entry_state state)
{
	u32 slot = slot_alloc(md);
	struct srdma_entry *e;
	struct srdma_block *b;

	if (slot == SRDMA_NO_SLOT)
		return -ENOMEM;
	b = block_of(md, slot);
	e = &b->entry[slot % SRDMA_BLOCK];
	q->hw->slot = slot;
	if (held && test_bit(SRDMA_QP_USER, &q->flags))
		atomic_inc(&md->held);
	atomic_inc(&md->n_records);

	spin_lock(&b->lock);
	b->slot[slot % SRDMA_BLOCK].q = q;
	b->slot[slot % SRDMA_BLOCK].held = held;
	b->slot[slot % SRDMA_BLOCK].pushed = 0;
	e->rec = rec;
	e->page = q->hw->page;
	e->total = 0;
	e->ambiguous = false;
	e->last = from_now ? be32_to_cpu(READ_ONCE(*rec)) : 0;
	set_state(md, b, e, state);
	spin_unlock(&b->lock);

	/* What went by while nobody looked is missing for good. */
	if (q->hw->counted)
		WRITE_ONCE(q->hw->ambiguous, true);
	else
		WRITE_ONCE(q->hw->wrs_since, from_now ? ktime_get_ns() : q->since);
	WRITE_ONCE(q->hw->absent, SWIFTRDMA_ABSENT_NONE);
	smp_store_release(&q->hw->counted, true);	/* and since when */
	return 0;
}

void srdma_record_del(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	u32 slot = q->hw->slot;
	struct srdma_entry *e;
	struct srdma_block *b;
	struct srdma_slot *s;
	struct page *held;
	u16 delta;

	if (slot == SRDMA_NO_SLOT)
		return;
	q->hw->slot = SRDMA_NO_SLOT;
	b = block_of(md, slot);
	e = &b->entry[slot % SRDMA_BLOCK];
	s = &b->slot[slot % SRDMA_BLOCK];

	spin_lock(&b->lock);
	if (e->state != SRDMA_ENTRY_OFF)
		srdma_record_look(e, &delta);
	srdma_record_push(e, s);
	set_state(md, b, e, SRDMA_ENTRY_OFF);
	e->rec = NULL;
	e->page = NULL;
	held = s->held;
	s->held = NULL;
	s->q = NULL;
	spin_unlock(&b->lock);

	slot_free(md, slot);
	atomic_dec(&md->n_records);
	if (held) {
		put_page(held);
		if (test_bit(SRDMA_QP_USER, &q->flags))
			atomic_dec(&md->held);
	}
}

void srdma_record_state(struct srdma_mlx5 *md, struct srdma_qp *q, enum srdma_entry_state state)
{
	u32 slot = q->hw->slot;
	struct srdma_entry *e;
	struct srdma_block *b;
	u16 delta;

	if (slot == SRDMA_NO_SLOT)
		return;
	b = block_of(md, slot);
	e = &b->entry[slot % SRDMA_BLOCK];
	spin_lock(&b->lock);
	if (e->state == SRDMA_ENTRY_OFF)
		e->last = 0;
	srdma_record_look(e, &delta);
	set_state(md, b, e, state);
	spin_unlock(&b->lock);
}

void srdma_record_page(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	u32 slot = q->hw->slot;
	struct srdma_block *b;
	struct srdma_entry *e;

	if (slot == SRDMA_NO_SLOT)
		return;
	b = block_of(md, slot);
	e = &b->entry[slot % SRDMA_BLOCK];
	spin_lock(&b->lock);
	/* The page has missed what was counted before. */
	if (!e->page && q->hw->page) {
		e->page = q->hw->page;
		atomic64_add(b->slot[slot % SRDMA_BLOCK].pushed, &e->page->wrs);
	}
	spin_unlock(&b->lock);
}
