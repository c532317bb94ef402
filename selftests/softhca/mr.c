// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys: who may touch what, and where it is.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "softhca.h"

#define SH_SYND_PROT	MLX5_CQE_SYNDROME_LOCAL_PROT_ERR
#define SH_MAX_PIECES	65536	/* of indirect keys, in one message */

static u8 sh_mkey_mode(const void *mkc)
{
	return MLX5_GET(mkc, mkc, access_mode_1_0) | MLX5_GET(mkc, mkc, access_mode_4_2) << 2;
}

/* Physical addresses, pages, or pieces of other keys; no signatures. */
static bool sh_mkey_known(const void *mkc)
{
	u8 mode = sh_mkey_mode(mkc);

	return (mode == MLX5_MKC_ACCESS_MODE_PA || mode == MLX5_MKC_ACCESS_MODE_MTT ||
		mode == MLX5_MKC_ACCESS_MODE_KLMS) && !MLX5_GET(mkc, mkc, bsf_en);
}

int sh_cmd_create_mkey(struct sh_cmd *c)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, c->in, memory_key_mkey_entry);
	u8 mode = sh_mkey_mode(mkc);
	u32 octwords = MLX5_GET(create_mkey_in, c->in, translations_octword_actual_size);
	u32 room = MLX5_GET(mkc, mkc, translations_octword_size);
	const __be64 *pas = MLX5_ADDR_OF(create_mkey_in, c->in, klm_pas_mtt);
	struct sh_mr *mr;
	int status;
	u32 i;

	if (octwords > (1U << 24) || room > (1U << 24) ||
	    (void *)pas + octwords * 16ULL > c->in + max_t(u32, c->inlen, 0))
		if (octwords)
			return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	if (!sh_mkey_known(mkc) || (mode == MLX5_MKC_ACCESS_MODE_KLMS &&
				    max(room, octwords) > 1U << SH_LOG_MAX_KLMS))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!sh_find(c->hca, SH_PD, MLX5_GET(mkc, mkc, pd)) && !MLX5_GET(mkc, mkc, free))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	mr = sh_new(c, SH_MKEY, sizeof(*mr), &status);
	if (!mr)
		return status;
	memcpy(mr->mkc, mkc, sizeof(mr->mkc));
	mr->start = MLX5_GET64(mkc, mkc, start_addr);
	mr->len = MLX5_GET64(mkc, mkc, len);
	mr->pd = MLX5_GET(mkc, mkc, pd);
	mr->qpn = MLX5_GET(mkc, mkc, qpn);
	mr->key = MLX5_GET(mkc, mkc, mkey_7_0);
	mr->mode = mode;
	mr->shift = MLX5_GET(mkc, mkc, log_page_size);
	mr->free = MLX5_GET(mkc, mkc, free);
	mr->length64 = MLX5_GET(mkc, mkc, length64);
	mr->lr = MLX5_GET(mkc, mkc, lr);
	mr->lw = MLX5_GET(mkc, mkc, lw);
	mr->rr = MLX5_GET(mkc, mkc, rr);
	mr->rw = MLX5_GET(mkc, mkc, rw);
	mr->atomic = MLX5_GET(mkc, mkc, a);
	mr->umr = MLX5_GET(mkc, mkc, umr_en);
	mr->rinval = MLX5_GET(mkc, mkc, en_rinval);
	/* Two translations of a page each in an octword. */
	mr->nmtt = 2 * max(room, octwords);
	if (mr->mode == MLX5_MKC_ACCESS_MODE_KLMS) {
		mr->nmtt = 0;
		mr->klm_room = max(room, octwords);
		if (octwords && sh_klm_load(mr, pas, octwords)) {
			sh_del(c->hca, SH_MKEY, mr);
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		}
	} else if (mr->nmtt) {
		mr->mtt = kvcalloc(mr->nmtt, sizeof(*mr->mtt), GFP_KERNEL);
		if (!mr->mtt) {
			sh_del(c->hca, SH_MKEY, mr);
			return MLX5_CMD_STAT_INT_ERR;
		}
		for (i = 0; i < 2 * octwords; i++)
			mr->mtt[i] = be64_to_cpu(pas[i]) & ~0xfffULL;
	}
	MLX5_SET(create_mkey_out, c->out, mkey_index, mr->obj.id);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_query_mkey(struct sh_cmd *c)
{
	struct sh_mr *mr = sh_find_own(c, SH_MKEY, MLX5_GET(query_mkey_in, c->in, mkey_index));

	if (!mr)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	memcpy(MLX5_ADDR_OF(query_mkey_out, c->out, memory_key_mkey_entry), mr->mkc,
	       sizeof(mr->mkc));
	return MLX5_CMD_STAT_OK;
}

void sh_mr_free(struct sh_hca *h, struct sh_mr *mr)
{
	sh_contention_forget_mr(h, mr);
	kvfree(mr->mtt);
	kvfree(mr->klm);
	sh_del(h, SH_MKEY, mr);
}

int sh_cmd_destroy_mkey(struct sh_cmd *c)
{
	struct sh_mr *mr = sh_find_own(c, SH_MKEY,
				       MLX5_GET(destroy_mkey_in, c->in, mkey_index));

	if (!mr)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sh_mr_free(c->hca, mr);
	return MLX5_CMD_STAT_OK;
}

static bool sh_mr_allows(const struct sh_mr *mr, enum sh_access access)
{
	switch (access) {
	case SH_LOCAL_READ:
		return mr->lr;
	case SH_LOCAL_WRITE:
		return mr->lw;
	case SH_REMOTE_READ:
		return mr->rr;
	case SH_REMOTE_WRITE:
		return mr->rw;
	default:
		return mr->atomic;
	}
}

static struct sh_mr *sh_mr_get(struct sh_hca *h, u32 key, u32 pd, u64 addr, u64 len,
			       enum sh_access access)
{
	struct sh_mr *mr = sh_find(h, SH_MKEY, key >> 8);

	if (!mr || mr->key != (key & 0xff) || mr->free || mr->pd != pd ||
	    !sh_mr_allows(mr, access) || addr + len < addr)
		return NULL;
	if (mr->length64 && mr->mode == MLX5_MKC_ACCESS_MODE_PA)
		return mr;
	if (addr < mr->start || addr - mr->start > mr->len || len > mr->len - (addr - mr->start))
		return NULL;
	return mr;
}

static void *sh_mr_map(struct sh_mr *mr, u64 addr, u64 *len)
{
	u64 size, at, pos, pa;

	if (mr->mode == MLX5_MKC_ACCESS_MODE_PA) {
		*len = min_t(u64, *len, PAGE_SIZE - (addr & (PAGE_SIZE - 1)));
		return sh_virt(addr, *len);
	}
	if (mr->shift < 12 || mr->shift > 40)
		return NULL;
	size = 1ULL << mr->shift;
	pos = addr - mr->start + (mr->start & (size - 1));
	if (pos >> mr->shift >= mr->nmtt)
		return NULL;
	pa = mr->mtt[pos >> mr->shift];
	at = pos & (size - 1);
	*len = min(*len, size - at);
	return pa ? sh_virt(pa + at, *len) : NULL;
}

/* What an indirect key needs of the keys in its list: it is the one that has rights for
 * others, and they, like a memory window's region, have theirs for whoever owns them.
 */
static enum sh_access sh_local(enum sh_access access)
{
	return access == SH_LOCAL_READ || access == SH_REMOTE_READ ? SH_LOCAL_READ :
								     SH_LOCAL_WRITE;
}

static bool sh_mr_check(struct sh_hca *h, u32 key, u32 pd, u64 addr, u64 len,
			enum sh_access access, int depth, u32 *pieces)
{
	struct sh_mr *mr = sh_mr_get(h, key, pd, addr, len, access);
	struct sh_piece p;

	if (!mr || mr->mode != MLX5_MKC_ACCESS_MODE_KLMS)
		return mr;
	if (depth == SH_MAX_INDIRECTION)
		return false;
	for (addr -= mr->start; len; addr += p.len, len -= p.len) {
		if (!sh_klm_at(mr, addr, &p) || ++*pieces > SH_MAX_PIECES)
			return false;
		p.len = min(p.len, len);
		if (!sh_mr_check(h, p.key, pd, p.addr, p.len, sh_local(access), depth + 1, pieces))
			return false;
	}
	return true;
}

/* May all of it be accessed by this key? */
bool sh_mr_ok(struct sh_hca *h, u32 key, u32 pd, u64 addr, u64 len, enum sh_access access)
{
	u32 pieces = 0;

	return sh_mr_check(h, key, pd, addr, len, access, 0, &pieces);
}

/* The memory at addr, for as much of len as lies in a row. */
void *sh_mr_at(struct sh_hca *h, u32 key, u32 pd, u64 addr, u64 *len, enum sh_access access)
{
	struct sh_piece p;
	struct sh_mr *mr;
	int depth;

	for (depth = 0; depth <= SH_MAX_INDIRECTION; depth++) {
		mr = sh_mr_get(h, key, pd, addr, *len, access);
		if (!mr)
			return NULL;
		if (mr->mode != MLX5_MKC_ACCESS_MODE_KLMS)
			return sh_mr_map(mr, addr, len);
		if (!sh_klm_at(mr, addr - mr->start, &p))
			return NULL;
		*len = min(*len, p.len);
		key = p.key;
		addr = p.addr;
		access = sh_local(access);
	}
	return NULL;
}

/* Checks all of a list before a byte of it moves: 0 or the syndrome. */
u8 sh_sgl_check(struct sh_hca *h, struct sh_sgl *sgl, u32 pd, enum sh_access access)
{
	u32 i;

	for (i = 0; i < sgl->n; i++) {
		struct sh_seg *s = &sgl->seg[i];

		if (!s->inl && s->len && !sh_mr_ok(h, s->lkey, pd, s->addr, s->len, access))
			return SH_SYND_PROT;
	}
	return 0;
}

void *sh_sgl_map(struct sh_hca *h, struct sh_sgl *sgl, u32 pd, u64 at, enum sh_access access,
		 u64 *len)
{
	u32 i;

	for (i = 0; i < sgl->n; i++) {
		struct sh_seg *s = &sgl->seg[i];

		if (at >= s->len) {
			at -= s->len;
			continue;
		}
		*len = min_t(u64, *len, s->len - at);
		if (s->inl)
			return s->inl + at;
		return sh_mr_at(h, s->lkey, pd, s->addr + at, len, access);
	}
	return NULL;
}

/* Keys that work requests made work requests may revoke, others not. */
int sh_mr_local_inval(struct sh_qp *qp, u32 key)
{
	struct sh_mr *mr = sh_find(qp->hca, SH_MKEY, key >> 8);

	if (!mr || mr->key != (key & 0xff) || mr->pd != qp->pd || !mr->umr)
		return -EINVAL;
	mr->free = true;
	return 0;
}

u8 sh_mr_remote_inval(struct sh_qp *qp, u32 key)
{
	struct sh_mr *mr = sh_find(qp->hca, SH_MKEY, key >> 8);

	if (!mr || mr->key != (key & 0xff) || mr->pd != qp->pd || mr->free || !mr->rinval)
		return MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR;
	mr->free = true;
	return 0;
}

static void sh_umr_fields(struct sh_mr *mr, u64 mask, const void *mkc)
{
	if (mask & MLX5_MKEY_MASK_LEN)
		mr->len = MLX5_GET64(mkc, mkc, len);
	if (mask & MLX5_MKEY_MASK_PAGE_SIZE)
		mr->shift = MLX5_GET(mkc, mkc, log_page_size);
	if (mask & MLX5_MKEY_MASK_START_ADDR)
		mr->start = MLX5_GET64(mkc, mkc, start_addr);
	if (mask & MLX5_MKEY_MASK_PD)
		mr->pd = MLX5_GET(mkc, mkc, pd);
	if (mask & MLX5_MKEY_MASK_QPN)
		mr->qpn = MLX5_GET(mkc, mkc, qpn);
	if (mask & MLX5_MKEY_MASK_KEY)
		mr->key = MLX5_GET(mkc, mkc, mkey_7_0);
	if (mask & MLX5_MKEY_MASK_LR)
		mr->lr = MLX5_GET(mkc, mkc, lr);
	if (mask & MLX5_MKEY_MASK_LW)
		mr->lw = MLX5_GET(mkc, mkc, lw);
	if (mask & MLX5_MKEY_MASK_RR)
		mr->rr = MLX5_GET(mkc, mkc, rr);
	if (mask & MLX5_MKEY_MASK_RW)
		mr->rw = MLX5_GET(mkc, mkc, rw);
	if (mask & MLX5_MKEY_MASK_A)
		mr->atomic = MLX5_GET(mkc, mkc, a);
	if (mask & MLX5_MKEY_MASK_FREE)
		mr->free = MLX5_GET(mkc, mkc, free);
}

/* Reads from the list of a UMR that is in memory. The driver's own QP for key changes
 * belongs to no protection domain.
 */
static bool sh_umr_read(struct sh_qp *qp, const struct mlx5_wqe_data_seg *seg, void *to, u64 bytes)
{
	u32 lkey = be32_to_cpu(seg->lkey), pd = qp->pd;
	u64 addr = be64_to_cpu(seg->addr);
	struct sh_mr *mr = sh_find(qp->hca, SH_MKEY, lkey >> 8);

	if (mr && qp->st == MLX5_QPC_ST_REG_UMR)
		pd = mr->pd;
	while (bytes) {
		u64 n = bytes;
		void *from = sh_mr_at(qp->hca, lkey, pd, addr, &n, SH_LOCAL_READ);

		if (!from)
			return false;
		memcpy(to, from, n);
		to += n;
		addr += n;
		bytes -= n;
	}
	return true;
}

/* The new list of translations: pages from octword @first on, or all the pieces. */
static u8 sh_umr_list(struct sh_mr *mr, const void *list, u32 first, u32 octwords)
{
	const __be64 *pa = list;
	u32 i;

	if (mr->mode == MLX5_MKC_ACCESS_MODE_KLMS)
		return first || sh_klm_load(mr, list, octwords) ? MLX5_CQE_SYNDROME_MW_BIND_ERR : 0;
	if (mr->mode != MLX5_MKC_ACCESS_MODE_MTT || 2 * ((u64)first + octwords) > mr->nmtt)
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	for (i = 0; i < 2 * octwords; i++)
		mr->mtt[2 * first + i] = be64_to_cpu(pa[i]) & ~0xfffULL;
	return 0;
}

/* A user's QP may change keys of its own protection domain only, and of those only where
 * an indirect one's pieces are, which are checked when they are used.
 */
static bool sh_umr_may(const struct sh_qp *qp, const struct sh_mr *mr, u32 octwords)
{
	if (!mr->umr)
		return false;
	if (!qp->obj.uid)
		return true;
	return mr->pd == qp->pd && mr->obj.uid == qp->obj.uid &&
	       (!octwords || mr->mode == MLX5_MKC_ACCESS_MODE_KLMS);
}

/* Changes a key in the order of the send queue: its attributes, and its
 * translations from the WQE or from a list in memory. 0 or the syndrome.
 */
u8 sh_mr_umr(struct sh_qp *qp, const void *wqe, u32 bytes, u32 key)
{
	const struct mlx5_wqe_umr_ctrl_seg *umr = wqe;
	const void *mkc = wqe + sizeof(*umr), *list = mkc + MLX5_ST_SZ_BYTES(mkc);
	struct sh_mr *mr = sh_find(qp->hca, SH_MKEY, key >> 8);
	u32 octwords, first = 0;
	void *read = NULL;
	u8 syndrome = 0;

	if (bytes < sizeof(*umr) + MLX5_ST_SZ_BYTES(mkc))
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	octwords = be16_to_cpu(umr->xlt_octowords);
	if (!mr || !sh_umr_may(qp, mr, octwords))
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	/* Named for what they forbid. */
	if ((umr->flags & MLX5_UMR_CHECK_NOT_FREE && !mr->free) ||
	    (umr->flags & MLX5_UMR_CHECK_FREE && mr->free))
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	if (umr->flags & MLX5_UMR_TRANSLATION_OFFSET_EN)
		first = be16_to_cpu(umr->xlt_offset) | be32_to_cpu(umr->xlt_offset_47_16) << 16;
	else if (umr->bsf_octowords)	/* signatures */
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	if (octwords && umr->flags & MLX5_UMR_INLINE) {
		if (list + octwords * 16 > wqe + bytes)
			return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	} else if (octwords) {
		if (list + sizeof(struct mlx5_wqe_data_seg) > wqe + bytes)
			return MLX5_CQE_SYNDROME_MW_BIND_ERR;
		read = kvmalloc(octwords * 16, GFP_KERNEL);
		if (!read || !sh_umr_read(qp, list, read, octwords * 16))
			syndrome = SH_SYND_PROT;
		list = read;
	}
	if (octwords && !syndrome)
		syndrome = sh_umr_list(mr, list, first, octwords);
	if (!syndrome)
		sh_umr_fields(mr, be64_to_cpu(umr->mkey_mask), mkc);
	kvfree(read);
	return syndrome;
}
