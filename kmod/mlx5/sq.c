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
 * The driver pins the queue until the QP is destroyed, so plain references to its first pages
 * are enough, which are dropped before that. The process writes to them at any time. What is read
 * is checked as far as the walk depends on it, and falsifies only the figures of that QP.
 */
#include <linux/mlx5/qp.h>
#include <linux/mm.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

#include "mlx5.h"

#define BLOCK	64

/* As the driver decides it, in qp_has_rq(). */
static bool has_receive_queue(const struct ib_qp_init_attr *attr)
{
	return attr->qp_type != IB_QPT_XRC_INI && !attr->srq && attr->cap.max_recv_wr;
}

/* The queue of a raw packet QP lies elsewhere, and its requests are of no interest. */
void srdma_sq_get(struct srdma_sq_memory *m, const struct ib_qp_init_attr *attr,
		  const struct mlx5_ib_create_qp *req)
{
	u64 addr = req->buf_addr;
	int n;

	m->n_pages = 0;
	if (attr->qp_type == IB_QPT_RAW_PACKET || !req->sq_wqe_count)
		return;
	/* The send queue follows the receive queue. */
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
	FOUND_OTHER,	/* no WQE of this QP with that index: overwritten, or never written */
	FOUND_NOTHING,	/* the place is not in the first pages */
};

struct wqe {
	u8 blocks;
	bool signalled;
};

/* Read the WQE with @index from a queue of @size blocks, a power of two. */
static enum found read_wqe(const struct srdma_sq_memory *m, u32 qpn, u32 size, u16 index,
			   struct wqe *w)
{
	u32 at = m->offset + (index & (size - 1)) * BLOCK, qpn_ds;
	const struct mlx5_wqe_ctrl_seg *ctrl;

	if (at >> PAGE_SHIFT >= m->n_pages)
		return FOUND_NOTHING;
	ctrl = page_address(m->page[at >> PAGE_SHIFT]) + offset_in_page(at);
	qpn_ds = be32_to_cpu(READ_ONCE(ctrl->qpn_ds));
	w->signalled = READ_ONCE(ctrl->fm_ce_se) & MLX5_WQE_CTRL_CQ_UPDATE;
	/* The size is in units of 16 bytes. */
	w->blocks = DIV_ROUND_UP(qpn_ds & MLX5_WQE_CTRL_DS_MASK, BLOCK / 16);
	if (qpn_ds >> MLX5_WQE_CTRL_QPN_SHIFT != qpn || !w->blocks ||
	    (u16)(be32_to_cpu(READ_ONCE(ctrl->opmod_idx_opcode)) >>
		  MLX5_WQE_CTRL_WQE_INDEX_SHIFT) != index)
		return FOUND_OTHER;
	return FOUND_WQE;
}

/*
 * Walk back from the first block that is not complete to the last WQE that writes a CQE. A
 * program may only overwrite what a CQE covers, so a WQE that was overwritten is covered.
 */
static void count_uncovered(const struct srdma_sq_memory *m, u32 qpn, const struct srdma_sq *sq,
			    struct srdma_wqes *wqes)
{
	u32 size = 1U << sq->log_size, n;
	struct wqe w;

	for (n = 0; n + wqes->blocks <= size; n += wqes->blocks) {
		switch (read_wqe(m, qpn, size, sq->completed - n - wqes->blocks, &w)) {
		case FOUND_NOTHING:
			return;
		case FOUND_OTHER:
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

void srdma_sq_look(const struct srdma_sq_memory *m, u32 qpn, const struct srdma_sq *sq,
		   u8 blocks, struct srdma_wqes *wqes)
{
	struct wqe w;

	*wqes = (struct srdma_wqes){ .blocks = blocks, .uncovered = SRDMA_UNCOVERED_UNKNOWN };
	if (sq->posted != sq->completed &&
	    read_wqe(m, qpn, 1U << sq->log_size, sq->completed, &w) == FOUND_WQE) {
		wqes->changed = blocks && w.blocks != blocks;
		wqes->blocks = w.blocks;
	}
	if (wqes->blocks && !wqes->changed)
		count_uncovered(m, qpn, sq, wqes);
}
