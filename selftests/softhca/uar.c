// SPDX-License-Identifier: GPL-2.0
/*
 * UARs: pages of doorbell registers.
 *
 * The page is memory, and a register that is rung twice between two looks shows
 * the second value only. So a value says no more than "look": at every QP (or
 * CQ) of that page, whose doorbell records, written before the register, say
 * what is new. No request is ever lost that way.
 */
#include <linux/io.h>

#include "softhca.h"

#define SH_CQ_DB	0x20
#define SH_EQ_ARM	0x40
#define SH_EQ_CI	0x48
#define SH_BF_FIRST	0x800
#define SH_BF_STEP	0x100	/* two buffers a register */

int sh_cmd_alloc_uar(struct sh_cmd *c)
{
	struct sh_uar *u;
	int status, i;

	if (c->hca->knob.refuse_uars)
		return MLX5_CMD_STAT_LIM_ERR;
	u = sh_new(c, SH_UAR, sizeof(*u), &status);
	if (!u)
		return status;
	INIT_LIST_HEAD(&u->qps);
	INIT_LIST_HEAD(&u->cqs);
	u->page = c->hca->bar + (u64)u->obj.id * PAGE_SIZE;
	for (i = 0; i < PAGE_SIZE; i += 8)
		writeq(0, u->page + i);
	MLX5_SET(alloc_uar_out, c->out, uar, u->obj.id);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_dealloc_uar(struct sh_cmd *c)
{
	struct sh_uar *u = sh_find_own(c, SH_UAR, MLX5_GET(dealloc_uar_in, c->in, uar));

	if (!u)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (!list_empty(&u->qps) || !list_empty(&u->cqs))
		return MLX5_CMD_STAT_RES_BUSY;
	sh_del(c->hca, SH_UAR, u);
	return MLX5_CMD_STAT_OK;
}

static u64 sh_take64(void __iomem *at)
{
	return readq(at) ? xchg((__force u64 *)at, 0) : 0;
}

static u32 sh_take32(void __iomem *at)
{
	return readl(at) ? be32_to_cpu(xchg((__force __be32 *)at, 0)) : 0;
}

static bool sh_uar_look(struct sh_hca *h, struct sh_uar *u)
{
	bool cq_bell;
	struct sh_qp *qp;
	struct sh_cq *cq;
	u32 off, val, reg;
	u64 ring;

	cq_bell = sh_take64(u->page + SH_CQ_DB);
	val = sh_take32(u->page + SH_EQ_ARM);
	if (val)
		sh_eq_bell(h, val, true);
	val = sh_take32(u->page + SH_EQ_CI);
	if (val)
		sh_eq_bell(h, val, false);
	u->rung = 0;
	for (off = SH_BF_FIRST; off < PAGE_SIZE; off += SH_BF_STEP) {
		ring = sh_take64(u->page + off);
		if (!ring)
			continue;
		u->doorbells++;
		reg = (off - SH_BF_FIRST) / (2 * SH_BF_STEP);
		u->rung |= BIT(reg);
		/* A WQE's first eight bytes: its QP's number is in the last four. */
		sh_contention_rang(u, h, reg, (u32)be64_to_cpu((__force __be64)ring) >> 8);
	}
	if (cq_bell)
		list_for_each_entry(cq, &u->cqs, on_uar)
			sh_cq_bell(cq);
	if (u->rung)
		list_for_each_entry(qp, &u->qps, on_uar)
			sh_qp_kick(qp);
	return u->rung || cq_bell;
}

bool sh_uar_poll(struct sh_hca *h)
{
	struct sh_uar *u;
	struct sh_cq *cq;
	unsigned long id;
	bool busy = false;

	xa_for_each(&h->tab[SH_UAR].xa, id, u)
		busy |= sh_uar_look(h, u);
	if (h->rescan_cqs) {
		h->rescan_cqs = false;
		xa_for_each(&h->tab[SH_CQ].xa, id, cq)
			sh_cq_bell(cq);
	}
	return busy;
}
