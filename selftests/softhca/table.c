// SPDX-License-Identifier: GPL-2.0
/*
 * Objects by id with finite tables, and access to the guest's memory.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "softhca.h"

static const struct {
	const char *name;
	u32 min, max;
} sh_limits[SH_KINDS] = {
	[SH_PD] = { "pd", 1, 1 << 16 },
	[SH_UAR] = { "uar", SH_FIRST_UAR, SH_UARS },
	[SH_XRCD] = { "xrcd", 1, 1 << 10 },
	[SH_TD] = { "transport_domain", 1, 1 << 10 },
	[SH_MKEY] = { "mkey", 2, 1 << 17 },
	[SH_EQ] = { "eq", 1, 1 << 7 },
	[SH_CQ] = { "cq", 1, 1 << 16 },
	[SH_QP] = { "qp", 0x40, 1 << 16 },
	[SH_SRQ] = { "srq", 1, 1 << 15 },
	[SH_UCTX] = { "uctx", 1, 1 << 12 },
	[SH_UMEM] = { "umem", 1, 1 << 16 },
	[SH_QCOUNTER] = { "q_counter", 1, 256 },
	[SH_SCHED] = { "sched_element", 1, SH_SCHEDS },
	[SH_TIS] = { "tis", 1, 1 << 12 },
	[SH_TIR] = { "tir", 1, 1 << 12 },
	[SH_RQT] = { "rqt", 1, 1 << 10 },
	[SH_FT] = { "flow_table", 1, 1 << 12 },
	[SH_FG] = { "flow_group", 1, 1 << 16 },
	[SH_FC] = { "flow_counter", 1, 1 << 10 },
};

void sh_tables_init(struct sh_hca *h)
{
	int i;

	for (i = 0; i < SH_KINDS; i++) {
		struct sh_table *t = &h->tab[i];

		xa_init_flags(&t->xa, XA_FLAGS_ALLOC);
		t->name = sh_limits[i].name;
		t->min = sh_limits[i].min;
		t->max = sh_limits[i].max - 1;
		t->next = t->min;
	}
}

/* Ids go up and come round late, so that one that is stale is found out. */
void *sh_new(struct sh_cmd *c, enum sh_kind kind, size_t size, int *status)
{
	struct sh_table *t = &c->hca->tab[kind];
	struct sh_obj *obj = kvzalloc(size, GFP_KERNEL);
	u32 id;

	if (!obj) {
		*status = MLX5_CMD_STAT_INT_ERR;
		return NULL;
	}
	if (xa_alloc_cyclic(&t->xa, &id, obj, XA_LIMIT(t->min, t->max), &t->next,
			    GFP_KERNEL) < 0) {
		kvfree(obj);
		*status = MLX5_CMD_STAT_LIM_ERR;
		return NULL;
	}
	obj->id = id;
	obj->uid = c->uid;
	t->count++;
	*status = MLX5_CMD_STAT_OK;
	return obj;
}

void *sh_find(struct sh_hca *h, enum sh_kind kind, u32 id)
{
	return xa_load(&h->tab[kind].xa, id);
}

/* The object, if whoever sent the command may touch it. */
void *sh_find_own(struct sh_cmd *c, enum sh_kind kind, u32 id)
{
	struct sh_obj *obj = sh_find(c->hca, kind, id);

	return obj && (!c->uid || c->uid == obj->uid || obj->uid == MLX5_SHARED_RESOURCE_UID) ?
	       obj : NULL;
}

/* A queue that a user's QP shares with others may be the driver's own. */
void *sh_find_shared(struct sh_cmd *c, enum sh_kind kind, u32 id)
{
	struct sh_obj *o = sh_find(c->hca, kind, id);

	return o && (!o->uid || sh_find_own(c, kind, id)) ? o : NULL;
}

void sh_del(struct sh_hca *h, enum sh_kind kind, void *p)
{
	struct sh_obj *obj = p;

	xa_erase(&h->tab[kind].xa, obj->id);
	h->tab[kind].count--;
	kvfree(obj);
}

/* Drops everything, as a reset does; how many objects that was. In an order in
 * which none refers to one that is gone.
 */
u32 sh_tables_destroy(struct sh_hca *h, bool tell)
{
	static const enum sh_kind order[] = {
		SH_FT, SH_FG, SH_FC, SH_TIR, SH_RQT, SH_QP, SH_TIS, SH_SRQ, SH_CQ, SH_EQ, SH_MKEY,
		SH_UMEM, SH_UAR, SH_SCHED, SH_QCOUNTER, SH_UCTX, SH_PD, SH_XRCD, SH_TD,
	};
	struct sh_mcg *mcg, *next;
	unsigned long id;
	u32 left = 0;
	void *obj;
	int i;

	BUILD_BUG_ON(ARRAY_SIZE(order) != SH_KINDS);
	for (i = 0; i < SH_KINDS; i++) {
		struct sh_table *t = &h->tab[order[i]];

		if (t->count && tell)
			pr_info("softhca: hca %d: %u of %s left\n", h->index, t->count, t->name);
		left += t->count;
		xa_for_each(&t->xa, id, obj) {
			switch (order[i]) {
			case SH_FT:
				sh_ft_free(h, obj);
				break;
			case SH_QP:
				sh_qp_free(h, obj);
				break;
			case SH_SRQ:
				sh_srq_free(h, obj);
				break;
			case SH_CQ:
				sh_cq_free(h, obj);
				break;
			case SH_EQ:
				sh_eq_free(h, obj);
				break;
			case SH_MKEY:
				sh_mr_free(h, obj);
				break;
			case SH_UMEM:
				sh_buf_free(&((struct sh_umem *)obj)->buf);
				fallthrough;
			default:
				sh_del(h, order[i], obj);
			}
		}
		xa_destroy(&t->xa);
	}
	list_for_each_entry_safe(mcg, next, &h->mcgs, link) {
		list_del(&mcg->link);
		kfree(mcg);
	}
	return left;
}

/* Memory of the guest that a device may touch: ordinary RAM, and nothing else.
 * The addresses come from the driver, but a mkey over all of memory makes them
 * the word of whoever uses that mkey.
 */
bool sh_phys_ok(u64 addr, u64 len)
{
	u64 end = addr + len;

	if (end < addr || !pfn_valid(PHYS_PFN(addr)) || !pfn_valid(PHYS_PFN(end - !!len)))
		return false;
	return end <= softhca.base || addr >= softhca.base + SH_WINDOW_SIZE;
}

void *sh_virt(u64 addr, u32 len)
{
	return sh_phys_ok(addr, len) ? phys_to_virt(addr) : NULL;
}

/* A queue of so many bytes that starts so many 64ths of a page into its first
 * page.
 */
int sh_buf_load(struct sh_cmd *c, struct sh_buf *b, const __be64 *pas, u64 bytes, u8 shift,
		u32 offset64)
{
	u32 offset, i;
	u64 n;

	if (shift < 12 || shift > 31 || offset64 >= 64)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	offset = offset64 << (shift - 6);
	n = (bytes + offset + (1ULL << shift) - 1) >> shift;
	if ((void *)pas + n * 8 > c->in + c->inlen)
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	b->pas = kvmalloc_array(n, sizeof(*b->pas), GFP_KERNEL);
	if (!b->pas)
		return MLX5_CMD_STAT_INT_ERR;
	for (i = 0; i < n; i++) {
		b->pas[i] = be64_to_cpu(pas[i]) & ~0xfffULL;
		if (!sh_phys_ok(b->pas[i], 1ULL << shift)) {
			sh_buf_free(b);
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		}
	}
	b->npas = n;
	b->shift = shift;
	b->offset = offset;
	return MLX5_CMD_STAT_OK;
}

/* The same from memory that user space registered for its own queues. */
int sh_buf_umem(struct sh_cmd *c, struct sh_buf *b, u32 id, u64 start, u64 bytes)
{
	struct sh_umem *u = sh_find_own(c, SH_UMEM, id);
	u64 from, last;

	if (!u)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	from = start + u->buf.offset;
	last = from + bytes;
	if (last < from || last > (u64)u->buf.npas << u->buf.shift)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	b->npas = ((last + (1ULL << u->buf.shift) - 1) >> u->buf.shift) - (from >> u->buf.shift);
	b->pas = kvmalloc_array(b->npas, sizeof(*b->pas), GFP_KERNEL);
	if (!b->pas)
		return MLX5_CMD_STAT_INT_ERR;
	memcpy(b->pas, u->buf.pas + (from >> u->buf.shift), b->npas * sizeof(*b->pas));
	b->shift = u->buf.shift;
	b->offset = from & ((1ULL << b->shift) - 1);
	return MLX5_CMD_STAT_OK;
}

void sh_buf_free(struct sh_buf *b)
{
	kvfree(b->pas);
	b->pas = NULL;
	b->npas = 0;
}

/* The caller keeps within the size the buffer was loaded with, and within one
 * of the power-of-two units that cannot cross a page.
 */
void *sh_buf_at(const struct sh_buf *b, u32 at)
{
	u64 pos = (u64)at + b->offset;
	u32 page = pos >> b->shift;

	if (WARN_ON_ONCE(page >= b->npas))
		return NULL;
	return phys_to_virt(b->pas[page] + (pos & ((1ULL << b->shift) - 1)));
}

/* A doorbell record: eight bytes that do not cross a page, maybe of registered memory. */
int sh_dbrec(struct sh_cmd *c, __be32 **rec, u64 addr, bool in_umem, u32 umem)
{
	struct sh_buf b = {};
	int status;

	if (!in_umem) {
		*rec = addr & 7 ? NULL : sh_virt(addr, 8);
		return *rec ? MLX5_CMD_STAT_OK : MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
	status = sh_buf_umem(c, &b, umem, addr & ~7ULL, 8);
	if (status)
		return status;
	*rec = sh_buf_at(&b, 0);
	sh_buf_free(&b);
	return MLX5_CMD_STAT_OK;
}
