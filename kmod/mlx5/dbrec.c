// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbell records. A doorbell record is memory in which a QP's library, or driver, writes
 * how far it has filled the send queue, before it rings. The counter has 16 bits and counts
 * WQEBBs, blocks of 64 bytes; a work request takes one or more.
 *
 * Reading a record costs the application nothing. The sums of what was posted stay here, and
 * are added to the QP and its UAR at the request of a reader, and when the QP is destroyed.
 */
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "mlx5.h"

static struct srdma_block *block_of(struct srdma_mlx5 *md, u32 slot)
{
	return xa_load(&md->blocks, slot / SRDMA_BLOCK);
}

void srdma_records_init(struct srdma_mlx5 *md)
{
	xa_init_flags(&md->blocks, XA_FLAGS_ACCOUNT);
	mutex_init(&md->grow_lock);
	spin_lock_init(&md->slot_lock);
	md->free = SRDMA_NO_SLOT;
}

static void block_free(struct srdma_block *b)
{
	kfree(b->entry);
	kfree(b);
}

/* All records have been released, and the sampler has stopped. */
void srdma_records_exit(struct srdma_mlx5 *md)
{
	struct srdma_block *b;
	unsigned long n;

	WARN_ON(atomic_read(&md->n_records) || atomic_read(&md->held));
	xa_for_each(&md->blocks, n, b)
		block_free(b);
	xa_destroy(&md->blocks);
}

/* A block whose slots are a list that begins with number @first. */
static struct srdma_block *block_new(u32 first)
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
		b->slot[i].next = first + i + 1;
	return b;
}

/* Add a block, unless another thread has just added one. */
static int add_block(struct srdma_mlx5 *md)
{
	struct srdma_block *b;
	int ret = 0;
	u32 first;

	static_assert(sizeof(struct srdma_entry) * SRDMA_BLOCK <= PAGE_SIZE);

	mutex_lock(&md->grow_lock);
	if (READ_ONCE(md->free) != SRDMA_NO_SLOT)
		goto out;
	first = md->n_blocks * SRDMA_BLOCK;
	b = block_new(first);
	ret = -ENOMEM;
	if (!b)
		goto out;
	ret = xa_err(xa_store(&md->blocks, md->n_blocks, b, GFP_KERNEL));
	if (ret) {
		block_free(b);
		goto out;
	}
	smp_store_release(&md->n_blocks, md->n_blocks + 1);	/* readers find the block */
	spin_lock(&md->slot_lock);
	b->slot[SRDMA_BLOCK - 1].next = md->free;
	md->free = first;
	spin_unlock(&md->slot_lock);
out:
	mutex_unlock(&md->grow_lock);
	return ret;
}

/* Take a free slot and store its block in @b. Returns SRDMA_NO_SLOT if there is no memory. */
static u32 slot_alloc(struct srdma_mlx5 *md, struct srdma_block **b)
{
	u32 slot;

	do {
		spin_lock(&md->slot_lock);
		slot = md->free;
		if (slot != SRDMA_NO_SLOT) {
			*b = block_of(md, slot);
			md->free = (*b)->slot[slot % SRDMA_BLOCK].next;
		}
		spin_unlock(&md->slot_lock);
	} while (slot == SRDMA_NO_SLOT && !add_block(md));
	return slot;
}

static void slot_free(struct srdma_mlx5 *md, struct srdma_slot *s, u32 slot)
{
	spin_lock(&md->slot_lock);
	s->next = md->free;
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

/* The block is locked. Wakes the sampler for the first entry that is ON. */
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
		     struct page *held, const struct srdma_sq_memory *sq, bool from_now,
		     enum srdma_entry_state state)
{
	struct srdma_entry *e;
	struct srdma_block *b;
	struct srdma_slot *s;
	u32 slot;

	slot = slot_alloc(md, &b);
	if (slot == SRDMA_NO_SLOT)
		return -ENOMEM;
	e = &b->entry[slot % SRDMA_BLOCK];
	s = &b->slot[slot % SRDMA_BLOCK];
	q->hw->slot = slot;
	if (held && test_bit(SRDMA_QP_USER, &q->flags))
		atomic_inc(&md->held);
	atomic_inc(&md->n_records);

	spin_lock(&b->lock);
	s->q = q;
	s->held = held;
	if (sq)
		s->sq = *sq;
	else
		s->sq.n_pages = 0;
	s->pushed = 0;
	e->rec = rec;
	e->page = q->hw->page;
	e->total = 0;
	e->ambiguous = false;
	e->last = from_now ? be32_to_cpu(READ_ONCE(*rec)) : 0;
	set_state(md, b, e, state);
	spin_unlock(&b->lock);

	/* Requests posted while the record was not read are missing for good. */
	if (q->hw->counted)
		WRITE_ONCE(q->hw->ambiguous, true);
	else
		WRITE_ONCE(q->hw->wrs_since, from_now ? ktime_get_ns() : q->since);
	smp_store_release(&q->hw->counted, true);	/* The count begins at this time. */
	return 0;
}

void srdma_record_del(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	u32 slot = q->hw->slot;
	struct srdma_entry *e;
	struct srdma_block *b;
	struct srdma_slot *s;
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
	s->q = NULL;
	spin_unlock(&b->lock);

	/* No other thread uses the slot before slot_free(). */
	srdma_sq_put(&s->sq);
	if (s->held) {
		put_page(s->held);
		if (test_bit(SRDMA_QP_USER, &q->flags))
			atomic_dec(&md->held);
	}
	slot_free(md, s, slot);
	atomic_dec(&md->n_records);
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
	/* Add what was counted before the page was known. */
	if (!e->page && q->hw->page) {
		e->page = q->hw->page;
		atomic64_add(b->slot[slot % SRDMA_BLOCK].pushed, &e->page->wrs);
	}
	spin_unlock(&b->lock);
}

/* With the block locked. @q: the QP that has the slot, or NULL for any. */
static bool read_posted(struct srdma_block *b, u32 slot, const struct srdma_qp *q,
			struct srdma_posted *p)
{
	const struct srdma_entry *e = &b->entry[slot % SRDMA_BLOCK];
	const struct srdma_qp *owner = b->slot[slot % SRDMA_BLOCK].q;

	if (!owner || (q && owner != q) || e->state != SRDMA_ENTRY_ON || e->ambiguous)
		return false;
	p->slot = slot;
	p->record = be32_to_cpu(READ_ONCE(*e->rec));
	p->total = e->total + (u16)(p->record - e->last);
	return true;
}

struct srdma_qp *srdma_record_draw(struct srdma_mlx5 *md, struct srdma_posted *p)
{
	u32 blocks = smp_load_acquire(&md->n_blocks);	/* pairs with add_block() */
	u32 slot = reciprocal_scale(get_random_u32(), blocks * SRDMA_BLOCK);
	struct srdma_qp *q = NULL;
	struct srdma_block *b;

	if (!blocks)
		return NULL;
	b = block_of(md, slot);
	spin_lock(&b->lock);
	if (read_posted(b, slot, NULL, p)) {
		q = b->slot[slot % SRDMA_BLOCK].q;
		kref_get(&q->ref);	/* the entry goes before the QP does */
	}
	spin_unlock(&b->lock);
	return q;
}

bool srdma_record_posted(struct srdma_mlx5 *md, const struct srdma_qp *q, u32 slot,
			 struct srdma_posted *p)
{
	struct srdma_block *b = block_of(md, slot);
	bool ok;

	spin_lock(&b->lock);
	ok = read_posted(b, slot, q, p);
	spin_unlock(&b->lock);
	return ok;
}

bool srdma_record_wqes(struct srdma_mlx5 *md, const struct srdma_qp *q, u32 slot,
		       const struct srdma_sq *sq, u8 blocks, struct srdma_wqes *wqes)
{
	struct srdma_block *b = block_of(md, slot);
	struct srdma_slot *s = &b->slot[slot % SRDMA_BLOCK];
	bool ok;

	spin_lock(&b->lock);
	ok = s->q == q;
	if (ok)
		srdma_sq_look(&s->sq, q->qpn, sq, blocks, wqes);
	spin_unlock(&b->lock);
	return ok;
}
