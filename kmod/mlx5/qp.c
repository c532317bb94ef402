// SPDX-License-Identifier: GPL-2.0
/*
 * The UAR that a QP rings, and the place of its doorbell record.
 *
 * A library that manages its UARs itself gives the driver a flag, the index of the UAR and
 * the address of the record when it creates a QP. This module reads them from the same memory
 * shortly after the driver did. A process that changes them in between falsifies only the
 * figures of its own QP; the firmware has checked that the UAR belongs to the process for the
 * values that the driver read. The driver pins the page of the record until the QP is
 * destroyed, so a plain reference is enough here, which is dropped before that.
 *
 * For all other QPs (of older libraries, of the kernel, or older than this module) QUERY_QP
 * has both. Each takes a command, so a few are queried at a time, at the request of a reader.
 */
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

#include "adopt.h"
#include "class.h"
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

/* The special QPs have other numbers in the device. */
static bool has_number(const struct srdma_qp *q)
{
	return q->type != IB_QPT_SMI && q->type != IB_QPT_GSI;
}

/* Record that nothing more is to be queried of the QP. */
static void mark_sure(struct srdma_mlx5 *md, struct srdma_qp_hw *hw)
{
	if (!hw->sure) {
		hw->sure = true;
		atomic_inc(&md->n_sure);
	}
}

static void set_absent(struct srdma_qp_hw *hw, enum swiftrdma_absent why)
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

/*
 * Count by the record at @offset of @page. @sq: the queue; NULL: it is not read. This and the two
 * functions below return why @q cannot be counted.
 */
static enum swiftrdma_absent start_counting(struct srdma_mlx5 *md, struct srdma_qp *q,
					    struct page *page, bool held, unsigned long offset,
					    struct srdma_sq_memory *sq,
					    bool from_now, enum srdma_entry_state state)
{
	const __be32 *rec = page_address(page) + offset + SEND_DBR;

	if (!srdma_record_add(md, q, rec, held ? page : NULL, sq, from_now, state))
		return SWIFTRDMA_ABSENT_NONE;
	if (sq)
		srdma_sq_put(sq);
	if (held)
		put_page(page);
	return SWIFTRDMA_ABSENT_NO_MEMORY;
}

/* Count by a user's record, given by its address in the current process. */
static enum swiftrdma_absent count_user(struct srdma_mlx5 *md, struct srdma_qp *q,
					const struct ib_qp_init_attr *attr,
					const struct mlx5_ib_create_qp *req)
{
	struct srdma_sq_memory sq;
	u64 addr = req->db_addr;
	struct page *page;

	if (!IS_ALIGNED(addr, 2 * SEND_DBR) ||
	    get_user_pages_fast(addr & PAGE_MASK, 1, 0, &page) != 1)
		return SWIFTRDMA_ABSENT_NO_PAGE;
	if (PageHighMem(page)) {
		put_page(page);
		return SWIFTRDMA_ABSENT_NO_PAGE;
	}
	srdma_sq_get(&sq, attr, req);
	return start_counting(md, q, page, true, offset_in_page(addr), &sq, false,
			      SRDMA_ENTRY_IDLE);
}

/* Count by a record given by its DMA address. */
static enum swiftrdma_absent count_dma(struct srdma_mlx5 *md, struct srdma_qp *q, u64 dma)
{
	bool user = test_bit(SRDMA_QP_USER, &q->flags);
	/*
	 * A kernel QP's record lives as long as the QP; an UNSURE QP may be gone, so its
	 * page is held.
	 */
	bool hold = user || test_bit(SRDMA_QP_UNSURE, &q->flags);
	struct iommu_domain *domain = iommu_get_domain_for_dev(md->core->device);
	struct page *page;

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY)
		return SWIFTRDMA_ABSENT_NO_ADDRESS;
	if (!dma || !IS_ALIGNED(dma, 2 * SEND_DBR) || !pfn_valid(PHYS_PFN(dma)))
		return SWIFTRDMA_ABSENT_NO_PAGE;
	/* srdma_qp_lock() keeps the QP alive, and so its driver holds the page. */
	page = pfn_to_page(PHYS_PFN(dma));
	if (PageHighMem(page) || (hold && !get_page_unless_zero(compound_head(page))))
		return SWIFTRDMA_ABSENT_NO_PAGE;
	return start_counting(md, q, page, hold, offset_in_page(dma), NULL, true, SRDMA_ENTRY_ON);
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
		set_absent(hw, SWIFTRDMA_ABSENT_OFF);
	if (!has_send_queue(q) || attr->rwq_ind_tbl) {
		set_absent(hw, SWIFTRDMA_ABSENT_NO_QUEUE);
		mark_sure(md, hw);
		return;
	}
	if (!read_request(&req, attr, udata))
		return;
	if (req.flags & MLX5_QP_FLAG_TYPE_DCT) {
		set_absent(hw, SWIFTRDMA_ABSENT_NO_QUEUE);
		mark_sure(md, hw);
		return;
	}
	if (req.flags & MLX5_QP_FLAG_UAR_PAGE_INDEX)
		take_page(md, q, req.bfreg_index, SWIFTRDMA_UAR_KIND_DYNAMIC);
	if (md->sampling)
		set_absent(hw, count_user(md, q, attr, &req));
	if (hw->page)
		mark_sure(md, hw);
}

/* QPs that are at rest are not swept; in RESET the library zeroes the record. */
void srdma_mlx5_qp_modify(struct srdma_qp *q, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET && srdma_qp_hw(q))
		srdma_record_state(srdma_mlx5_of(q->dev), q, SRDMA_ENTRY_OFF);
}

/* In another state the device may accept a command that it has refused. */
static void forget_refusals(struct srdma_qp_hw *hw)
{
	int part;

	WRITE_ONCE(hw->no_element, 0);
	for (part = 0; part < SRDMA_PATH_PARTS; part++)
		WRITE_ONCE(hw->path[part].error, 0);
}

void srdma_mlx5_qp_modified(struct srdma_qp *q, const struct ib_qp_attr *attr, int mask, int ret)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(q->dev);

	if (!(mask & IB_QP_STATE) || !srdma_qp_hw(q))
		return;
	if (ret) {
		/* The reset was refused, so the QP goes on in its former state. */
		if (attr->qp_state == IB_QPS_RESET)
			srdma_record_state(md, q, SRDMA_ENTRY_ON);
		return;
	}
	if (attr->qp_state == IB_QPS_RESET) {
		srdma_outstanding_reset(q);
		srdma_path_lost(md, q);
		if (srdma_qp_hw(q)->element)
			WRITE_ONCE(srdma_qp_hw(q)->binding_unknown, true);
	}
	forget_refusals(srdma_qp_hw(q));
	if (attr->qp_state == IB_QPS_INIT)
		srdma_record_state(md, q, SRDMA_ENTRY_IDLE);
	else if (attr->qp_state == IB_QPS_RTS)
		srdma_record_state(md, q, SRDMA_ENTRY_ON);
	if (attr->qp_state == IB_QPS_RTS &&
	    (READ_ONCE(md->n_shapes) || READ_ONCE(q->dev->path_wants) ||
	     atomic_read(&md->n_paths)))
		srdma_pass_shape(q->dev);
}

void srdma_mlx5_detach(struct srdma_qp *q)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(q->dev);
	struct srdma_qp_hw *hw = srdma_qp_hw(q);

	if (!hw)
		return;
	srdma_record_del(md, q);
	srdma_path_lost(md, q);
	forget_refusals(hw);
	if (q->class_error == -EREMOTEIO)
		q->class_error = 0;
	if (hw->sure) {
		hw->sure = false;
		atomic_dec(&md->n_sure);
	}
}

/* Enter state, address and class of an adopted QP, read from its context. */
static void adopt_context(struct srdma_qp *q, const struct srdma_qpc *qpc)
{
	struct ib_qp_attr attr = {
		.qp_state = qpc->state,
		.port_num = qpc->port,
		.dest_qp_num = qpc->dest_qpn,
	};
	struct rdma_ah_attr *ah = &attr.ah_attr;
	bool port = rdma_is_port_valid(q->dev->ibdev, qpc->port);
	bool roce = port && rdma_port_get_link_layer(q->dev->ibdev, qpc->port) ==
			    IB_LINK_LAYER_ETHERNET;

	ah->type = roce ? RDMA_AH_ATTR_TYPE_ROCE : RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_sl(ah, roce ? qpc->eth_prio : qpc->sl);
	rdma_ah_set_dlid(ah, qpc->dlid);
	if (roce || qpc->grh) {
		/* A live change writes only the DSCP. */
		rdma_ah_set_grh(ah, NULL, qpc->flow_label, qpc->sgid_index, qpc->hop_limit,
				roce ? qpc->dscp << 2 | (qpc->tclass & 3) : qpc->tclass);
		rdma_ah_set_dgid_raw(ah, (void *)qpc->dgid);
	}
	if (roce)
		memcpy(ah->roce.dmac, qpc->dmac, sizeof(ah->roce.dmac));
	/* A QP that has no port yet has no address either. */
	if (port || qpc->state < IB_QPS_RTR || qpc->state == IB_QPS_ERR)
		srdma_class_adopt(q, &attr);
}

/* Query a QP by a command. srdma_qp_lock() is held. False: to be continued later. */
static bool query_locked(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	bool old = srdma_qp_unqueried(q), idle = old && srdma_adopt_idle(q);
	struct srdma_qp_hw *hw = srdma_qp_hw_make(q);
	struct srdma_qpc qpc;
	int ret;
	u8 kind;

	if (!hw)
		return true;
	if (!md->sampling)
		set_absent(hw, SWIFTRDMA_ABSENT_OFF);
	if (!has_send_queue(q) && !old) {
		set_absent(hw, SWIFTRDMA_ABSENT_NO_QUEUE);
		mark_sure(md, hw);
		return true;
	}
	ret = has_number(q) ? srdma_cmd_query_qp(md, q->qpn, &qpc) : -EOPNOTSUPP;
	if (srdma_may_pass(ret))
		return false;
	if (idle)
		set_bit(SRDMA_QP_QUERIED, &q->flags);
	if (idle && !ret)
		adopt_context(q, &qpc);
	if (!has_send_queue(q))
		set_absent(hw, SWIFTRDMA_ABSENT_NO_QUEUE);
	else if (ret && !hw->counted)
		set_absent(hw, SWIFTRDMA_ABSENT_REFUSED);
	if (!has_send_queue(q) || ret || hw->sure) {
		mark_sure(md, hw);
		return idle || !old;
	}
	kind = !test_bit(SRDMA_QP_USER, &q->flags) ? SWIFTRDMA_UAR_KIND_KERNEL :
	       test_bit(SRDMA_QP_ADOPTED, &q->flags) ? SWIFTRDMA_UAR_KIND_HW :
	       SWIFTRDMA_UAR_KIND_STATIC;
	take_page(md, q, qpc.uar_page, kind);
	if (hw->slot != SRDMA_NO_SLOT)
		srdma_record_page(md, q);
	else if (md->sampling)
		set_absent(hw, count_dma(md, q, qpc.dbr_addr));
	mark_sure(md, hw);
	return idle || !old;
}

/* Is nothing left to be queried of the QP? A DEVX QP is never queried. */
static bool is_sure(const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	return test_bit(SRDMA_QP_DEVX, &q->flags) ||
	       (hw && READ_ONCE(hw->sure) && !srdma_qp_unqueried(q));
}

/* Query one QP; 1: to be continued later. Of DEAD QPs, only UNSURE ones are queried. */
static u32 query_idle(struct srdma_mlx5 *md, struct srdma_qp *q, bool *may)
{
	u32 left = 1;

	if (is_sure(q))
		return 0;
	if (!*may || !srdma_qp_trylock(q))	/* its application is in a call: next time */
		return left;
	if ((test_bit(SRDMA_QP_DEAD, &q->flags) && !test_bit(SRDMA_QP_UNSURE, &q->flags)) ||
	    is_sure(q)) {
		left = 0;
	} else {
		*may = !has_number(q) || srdma_cmd_may_query(md);
		if (*may)
			left = !query_locked(md, q);
	}
	srdma_qp_unlock(q);
	return left;
}

u32 srdma_mlx5_query_qps(struct srdma_dev *dev)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	struct srdma_qp *q;
	bool may = true;
	u32 left = 0;

	if (!READ_ONCE(dev->unqueried) &&
	    atomic_read(&md->n_sure) + atomic_read(&dev->n_devx) >= atomic_read(&dev->n_qps))
		return 0;
	if (!mutex_trylock(&md->query_lock))
		return 1;
	WRITE_ONCE(dev->unqueried, false);
	smp_mb();	/* clear the flag before the QPs are read: pairs with query_later() */
	while (may && (q = srdma_walk_get(&w))) {
		left += query_idle(md, q, &may);
		srdma_qp_put(q);
		cond_resched();
	}
	if (left)
		WRITE_ONCE(dev->unqueried, true);
	mutex_unlock(&md->query_lock);
	return left;
}
