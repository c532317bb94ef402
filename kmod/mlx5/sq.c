// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues in the memory of processes. A WQE starts at a WQEBB, a block of 64 bytes, with a
 * control segment that has the WQE's index in the queue, its QP and its size, and whether its
 * completion writes a CQE. QUERY_QP tells how many blocks are complete; from there two things
 * can be read that neither this command nor the doorbell record tells:
 *
 * - how many blocks a request has: only if this is the same for all requests of a QP do counts
 *   of blocks tell times of requests;
 * - how many blocks are complete and not covered, because the last WQEs that were completed
 *   write no CQE. To the program such a request ends with a later one that writes a CQE.
 *
 * The module holds references to the first pages of the queue until the QP is destroyed. The
 * driver has pinned these pages for longer, so the module need not pin them. (A process that gives
 * the driver the queue in another way has other pages of its own referenced.) The process can
 * write to the pages at any time, so each value that bounds a walk is checked; wrong values
 * falsify only the figures of that QP and its job.
 */
#include <linux/mlx5/qp.h>
#include <linux/mm.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

#include "mlx5.h"

#define BLOCK	64

/* The most blocks of a WQE: its size in units of 16 bytes has six bits. */
#define WQE_BLOCKS	16

/*
 * The most blocks to walk back. Of a queue that is not held as a whole, only places that have so
 * many blocks before them are looked at. If a walk ended at the first page, long walks would be
 * missing, and their mean would be too short.
 */
#define WALK_BLOCKS	128

/* As the driver decides it, in qp_has_rq(). */
static bool has_receive_queue(const struct ib_qp_init_attr *attr)
{
	return attr->qp_type != IB_QPT_XRC_INI && !attr->srq && attr->cap.max_recv_wr;
}

/* The send queue of a raw packet or underlay QP is in a buffer of its own, and is not read. */
void srdma_sq_get(struct srdma_sq_memory *m, const struct ib_qp_init_attr *attr,
		  const struct mlx5_ib_create_qp *req)
{
	u64 addr = req->buf_addr;
	int n;

	m->n_pages = 0;
	if (attr->qp_type == IB_QPT_RAW_PACKET || attr->create_flags & IB_QP_CREATE_SOURCE_QPN ||
	    !req->sq_wqe_count)
		return;
	/* In the buffer the receive queue comes first. */
	if (has_receive_queue(attr)) {
		if (req->rq_wqe_shift > 31)
			return;
		addr += (u64)req->rq_wqe_count << req->rq_wqe_shift;
	}
	if (!IS_ALIGNED(addr, BLOCK))
		return;
	m->offset = offset_in_page(addr);
	n = DIV_ROUND_UP_ULL(m->offset + (u64)req->sq_wqe_count * BLOCK, PAGE_SIZE);
	n = get_user_pages_fast(addr & PAGE_MASK, min(n, SRDMA_SQ_PAGES), 0, m->page);
	m->n_pages = max(n, 0);
	for (n = 0; n < m->n_pages; n++)
		if (PageHighMem(m->page[n])) {
			srdma_sq_put(m);
			return;
		}
}

void srdma_sq_put(struct srdma_sq_memory *m)
{
	while (m->n_pages)
		put_page(m->page[--m->n_pages]);
}

enum found {
	FOUND_WQE,
	FOUND_NONE,	/* no WQE was ever written there */
	FOUND_OTHER,	/* a WQE of another index or QP, or a part of a larger one */
	FOUND_NOTHING,	/* the place is not in the pages that are held */
};

struct wqe {
	u8 blocks;
	bool signalled;
};

/* Read the WQE with @index from a queue of @size blocks, a power of two. */
static enum found read_wqe(const struct srdma_sq_memory *m, u32 qpn, u32 size, u16 index,
			   struct wqe *w)
{
	u32 at = m->offset + (index & (size - 1)) * BLOCK, qpn_ds, idx_opcode;
	const struct mlx5_wqe_ctrl_seg *ctrl;

	if (at >> PAGE_SHIFT >= m->n_pages)
		return FOUND_NOTHING;
	ctrl = page_address(m->page[at >> PAGE_SHIFT]) + offset_in_page(at);
	qpn_ds = be32_to_cpu(READ_ONCE(ctrl->qpn_ds));
	w->signalled = READ_ONCE(ctrl->fm_ce_se) & MLX5_WQE_CTRL_CQ_UPDATE;
	/* The size is in units of 16 bytes. */
	w->blocks = DIV_ROUND_UP(qpn_ds & MLX5_WQE_CTRL_DS_MASK, BLOCK / 16);
	idx_opcode = be32_to_cpu(READ_ONCE(ctrl->opmod_idx_opcode));
	if (!qpn_ds && !idx_opcode)
		return FOUND_NONE;
	if (qpn_ds >> MLX5_WQE_CTRL_QPN_SHIFT != qpn || !w->blocks ||
	    (u16)(idx_opcode >> MLX5_WQE_CTRL_WQE_INDEX_SHIFT) != index)
		return FOUND_OTHER;
	return FOUND_WQE;
}

/* Blocks of the queue that are in the pages that are held. */
static u32 blocks_held(const struct srdma_sq_memory *m)
{
	return ((u32)m->n_pages * PAGE_SIZE - m->offset) / BLOCK;
}

/*
 * Walk back from the first block that is not complete to the last WQE that writes a CQE. A
 * program may only overwrite what a CQE covers. So a WQE that had been overwritten when QUERY_QP
 * was answered is covered; of one that was overwritten after that, this is not known.
 */
static void count_uncovered(const struct srdma_sq_memory *m, u32 qpn, const struct srdma_sq *sq,
			    struct srdma_wqes *wqes)
{
	u32 size = 1U << sq->log_size, n, most = min_t(u32, size, WALK_BLOCKS);
	struct wqe w;
	u16 index;

	if (blocks_held(m) < size && (sq->completed & (size - 1)) < WALK_BLOCKS)
		return;
	for (n = 0; n + wqes->blocks <= most; n += wqes->blocks) {
		index = sq->completed - n - wqes->blocks;
		switch (read_wqe(m, qpn, size, index, &w)) {
		case FOUND_NOTHING:
			return;
		case FOUND_OTHER:
			if ((u16)(sq->posted - index) > size)
				wqes->uncovered = n;
			return;
		case FOUND_NONE:
			wqes->uncovered = n;
			return;
		case FOUND_WQE:
			break;
		}
		if (w.blocks != wqes->blocks) {
			wqes->changed = true;
			return;
		}
		if (w.signalled) {
			wqes->uncovered = n;
			return;
		}
	}
}

/* How many blocks has the last WQE before @index? 0: not known */
static u8 last_blocks(const struct srdma_sq_memory *m, u32 qpn, u32 size, u16 index)
{
	struct wqe w;
	u8 n;

	for (n = 1; n <= WQE_BLOCKS && n <= size; n++)
		if (read_wqe(m, qpn, size, index - n, &w) == FOUND_WQE && w.blocks == n)
			return n;
	return 0;
}

void srdma_sq_look(const struct srdma_sq_memory *m, u32 qpn, const struct srdma_sq *sq,
		   u8 blocks, struct srdma_wqes *wqes)
{
	u32 size = 1U << sq->log_size;
	struct wqe w;

	*wqes = (struct srdma_wqes){
		.readable = m->n_pages, .blocks = blocks, .uncovered = SRDMA_UNCOVERED_UNKNOWN,
	};
	if (!m->n_pages)
		return;
	if (sq->posted != sq->completed &&
	    read_wqe(m, qpn, size, sq->completed, &w) == FOUND_WQE) {
		wqes->changed = blocks && w.blocks != blocks;
		wqes->blocks = w.blocks;
	}
	if (!wqes->blocks)
		wqes->blocks = last_blocks(m, qpn, size, sq->completed);
	if (wqes->blocks && !wqes->changed)
		count_uncovered(m, qpn, sq, wqes);
	else if (!wqes->blocks && !sq->posted)
		wqes->uncovered = 0;	/* nothing was ever posted */
}
