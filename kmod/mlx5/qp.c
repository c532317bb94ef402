// SPDX-License-Identifier: GPL-2.0
/*
 * What a QP rings, and where its doorbell record is.
 *
 * A library that manages its UARs itself says so when it creates the QP: flag,
 * index, and the address of the record. That is read from the same memory as the
 * driver reads it from, a little later: a process that changes it in between
 * deceives us about itself, and the firmware has checked that the UAR is its own
 * only for what the driver read. The page of the record is pinned by the driver
 * until the QP is destroyed, so a plain reference is enough, and is dropped first.
 *
 * Of all others (older than us, the kernel's, an older library's) QUERY_QP tells, a
 * command each: they are asked when somebody reads, a few at a time.
 */
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

#include "enforce.h"
#include "find.h"
#include "mlx5.h"
#include "uar.h"

/* A UAR page of this hardware has two registers for users' QPs. */
#define REGISTERS	2

/* In a doorbell record the receive counter comes first. */
#define SEND_DBR	4

u32 srdma_mlx5_context_pages(struct ib_udata *udata)
{
	struct mlx5_ib_alloc_ucontext_req req;

	if (!udata || udata->inlen < sizeof(req) || ib_copy_from_udata(&req, udata, sizeof(req)))
		return 0;
	return DIV_ROUND_UP(req.total_num_bfregs, REGISTERS);
}

static bool has_send_queue(const struct srdma_qp *q)
{
	switch (q->type) {
	case IB_QPT_SMI:	/* there is another QP behind these two */
	case IB_QPT_GSI:
	case IB_QPT_XRC_TGT:
		return false;
	default:
		return true;
	}
}

/* Nothing of it is to be asked any more. */
static void be_sure(struct srdma_mlx5 *md, struct srdma_qp_hw *hw)
{
	if (!hw->sure) {
		hw->sure = true;
		atomic_inc(&md->n_sure);
	}
}

static void never_counted(struct srdma_qp_hw *hw, enum swiftrdma_absent why)
{
	WRITE_ONCE(hw->absent, why);
}

static void take_page(struct srdma_mlx5 *md, struct srdma_qp *q, u32 index, u8 kind)
{
	struct srdma_uar *page;

	if (!q->uar || q->hw->page)
		return;
	page = srdma_page_get(md->dev, q->uar, index, kind);
	if (page)
		srdma_page_join(q, page);
}

static void count(struct srdma_mlx5 *md, struct srdma_qp *q, struct page *page, bool held,
		  unsigned long offset, bool from_now, enum srdma_entry_state state)
{
	const __be32 *rec = page_address(page) + offset + SEND_DBR;

	if (!srdma_record_add(md, q, rec, held ? page : NULL, from_now, state))
		return;
	never_counted(q->hw, SWIFTRDMA_ABSENT_NO_MEMORY);
	if (held)
		put_page(page);
}

/* A user's record, by its address in the process that is here. */
static void count_user(struct srdma_mlx5 *md, struct srdma_qp *q, u64 addr)
{
	struct page *page;

	if (!IS_ALIGNED(addr, 2 * SEND_DBR) ||
	    get_user_pages_fast(addr & PAGE_MASK, 1, 0, &page) != 1) {
		never_counted(q->hw, SWIFTRDMA_ABSENT_NO_PAGE);
		return;
	}
	if (PageHighMem(page)) {
		put_page(page);
		never_counted(q->hw, SWIFTRDMA_ABSENT_NO_PAGE);
		return;
	}
	count(md, q, page, true, offset_in_page(addr), false, SRDMA_ENTRY_IDLE);
}

/* Any record, by the address that the device has. */
static void count_dma(struct srdma_mlx5 *md, struct srdma_qp *q, u64 dma)
{
	bool user = test_bit(SRDMA_QP_USER, &q->flags);
	struct iommu_domain *domain = iommu_get_domain_for_dev(md->core->device);
	struct page *page;

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY) {
		never_counted(q->hw, SWIFTRDMA_ABSENT_NO_ADDRESS);
		return;
	}
	if (!dma || !IS_ALIGNED(dma, 2 * SEND_DBR) || !pfn_valid(PHYS_PFN(dma))) {
		never_counted(q->hw, SWIFTRDMA_ABSENT_NO_PAGE);
		return;
	}
	/* The QP is held, so it lives, and so its driver holds the page. */
	page = pfn_to_page(PHYS_PFN(dma));
	if (PageHighMem(page) || (user && !get_page_unless_zero(compound_head(page)))) {
		never_counted(q->hw, SWIFTRDMA_ABSENT_NO_PAGE);
		return;
	}
	count(md, q, page, user, offset_in_page(dma), true, SRDMA_ENTRY_ON);
}

static bool read_request(struct mlx5_ib_create_qp *req, const struct ib_qp_init_attr *attr,
			 struct ib_udata *udata)
{
	size_t len = offsetofend(struct mlx5_ib_create_qp, bfreg_index);

	/* With an indirection table the data is another structure. */
	if (!udata || attr->rwq_ind_tbl || udata->inlen < len)
		return false;
	memset(req, 0, sizeof(*req));
	return !ib_copy_from_udata(req, udata, len);
}

void srdma_mlx5_qp_created(struct srdma_qp *q, const struct ib_qp_init_attr *attr,
			   struct ib_udata *udata)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(q->dev);
	struct srdma_qp_hw *hw = srdma_qp_hw_make(q);
	struct mlx5_ib_create_qp req;

	if (!hw)
		return;
	if (!md->sampling)
		never_counted(hw, SWIFTRDMA_ABSENT_OFF);
	if (!has_send_queue(q) || attr->rwq_ind_tbl) {
		never_counted(hw, SWIFTRDMA_ABSENT_NO_QUEUE);
		be_sure(md, hw);
		return;
	}
	if (!read_request(&req, attr, udata))
		return;
	if (req.flags & MLX5_QP_FLAG_TYPE_DCT) {
		never_counted(hw, SWIFTRDMA_ABSENT_NO_QUEUE);
		be_sure(md, hw);
		return;
	}
	if (req.flags & MLX5_QP_FLAG_UAR_PAGE_INDEX)
		take_page(md, q, req.bfreg_index, SWIFTRDMA_UAR_KIND_DYNAMIC);
	if (md->sampling)
		count_user(md, q, req.db_addr);
	if (hw->page)
		be_sure(md, hw);
}

/* QPs that are at rest are not swept; in RESET the library zeroes the record. */
void srdma_mlx5_qp_modify(struct srdma_qp *q, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET && srdma_qp_hw(q))
		srdma_record_state(srdma_mlx5_of(q->dev), q, SRDMA_ENTRY_OFF);
}

void srdma_mlx5_qp_modified(struct srdma_qp *q, const struct ib_qp_attr *attr, int mask, int ret)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(q->dev);

	if (!(mask & IB_QP_STATE) || !srdma_qp_hw(q))
		return;
	if (ret) {
		/* Refused: it goes on in the state that it had. */
		if (attr->qp_state == IB_QPS_RESET)
			srdma_record_state(md, q, SRDMA_ENTRY_ON);
		return;
	}
	if (attr->qp_state == IB_QPS_RESET)
		srdma_path_lost(md, q);
	if (attr->qp_state == IB_QPS_INIT)
		srdma_record_state(md, q, SRDMA_ENTRY_IDLE);
	else if (attr->qp_state == IB_QPS_RTS)
		srdma_record_state(md, q, SRDMA_ENTRY_ON);
	if (attr->qp_state == IB_QPS_RTS &&
	    (READ_ONCE(md->n_shapes) || READ_ONCE(q->dev->path_wants) ||
	     atomic_read(&md->n_paths)))
		srdma_enforce_shape(q->dev);
}

void srdma_mlx5_detach(struct srdma_qp *q)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(q->dev);
	struct srdma_qp_hw *hw = srdma_qp_hw(q);

	if (!hw)
		return;
	srdma_record_del(md, q);
	srdma_path_lost(md, q);
	if (hw->sure) {
		hw->sure = false;
		atomic_dec(&md->n_sure);
	}
}

/* A command's worth of knowledge about a QP, which is held and alive. */
static void confirm(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = srdma_qp_hw_make(q);
	struct srdma_qpc qpc;
	u8 kind;

	if (!hw)
		return;
	if (!md->sampling)
		never_counted(hw, SWIFTRDMA_ABSENT_OFF);
	if (!has_send_queue(q)) {
		never_counted(hw, SWIFTRDMA_ABSENT_NO_QUEUE);
		be_sure(md, hw);
		return;
	}
	if (srdma_cmd_query_qp(md, q->qpn, &qpc)) {
		if (!hw->counted)
			never_counted(hw, SWIFTRDMA_ABSENT_REFUSED);
		be_sure(md, hw);
		return;
	}
	kind = !test_bit(SRDMA_QP_USER, &q->flags) ? SWIFTRDMA_UAR_KIND_KERNEL :
	       test_bit(SRDMA_QP_ADOPTED, &q->flags) ? SWIFTRDMA_UAR_KIND_HW :
	       SWIFTRDMA_UAR_KIND_STATIC;
	take_page(md, q, qpc.uar_page, kind);
	if (hw->slot != SRDMA_NO_SLOT)
		srdma_record_page(md, q);
	else if (md->sampling)
		count_dma(md, q, qpc.dbr_addr);
	be_sure(md, hw);
}

static bool is_sure(const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	return hw && READ_ONCE(hw->sure);
}

void srdma_mlx5_confirm(struct srdma_mlx5 *md)
{
	struct srdma_walk w = SRDMA_WALK(&md->dev->qps, 0);
	struct srdma_qp *q;
	bool may = true;

	/* Of those made past RDMA core there is nothing to be asked. */
	if (atomic_read(&md->n_sure) + atomic_read(&md->dev->n_devx) >=
		    atomic_read(&md->dev->n_qps) ||
	    !mutex_trylock(&md->confirm_lock))
		return;
	while (may && (q = srdma_walk_get(&w))) {
		/* Its application has it: next time. */
		if (!is_sure(q) && srdma_qp_trylock(q)) {
			if (!test_bit(SRDMA_QP_DEAD, &q->flags) && !is_sure(q)) {
				may = !has_send_queue(q) || srdma_cmd_may(md);
				if (may)
					confirm(md, q);
			}
			srdma_qp_unlock(q);
		}
		srdma_qp_put(q);
		cond_resched();
	}
	mutex_unlock(&md->confirm_lock);
}
