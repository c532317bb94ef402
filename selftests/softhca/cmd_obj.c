// SPDX-License-Identifier: GPL-2.0
/*
 * Commands for the HCA as a whole and for objects that have no file of their
 * own: PD, XRC domain, transport domain, user context, UMEM.
 */
#include "softhca.h"

#define SH_OUI		0x2c9

#define SH_SIMPLE(kind_name, op_name, kind, field)					\
static int sh_alloc_##kind_name(struct sh_cmd *c)					\
{											\
	struct sh_obj *o;								\
	int status;									\
											\
	o = sh_new(c, kind, sizeof(*o), &status);					\
	if (o)										\
		MLX5_SET(alloc_##op_name##_out, c->out, field, o->id);			\
	return status;									\
}											\
											\
static int sh_dealloc_##kind_name(struct sh_cmd *c)					\
{											\
	u32 id = MLX5_GET(dealloc_##op_name##_in, c->in, field);			\
	struct sh_obj *o = sh_find_own(c, kind, id);					\
											\
	if (!o)										\
		return MLX5_CMD_STAT_BAD_RES_ERR;					\
	if (sh_in_use(c->hca, kind, id))						\
		return MLX5_CMD_STAT_RES_BUSY;						\
	sh_del(c->hca, kind, o);							\
	return MLX5_CMD_STAT_OK;							\
}

/* Is it the protection domain, or the XRC domain, of something? */
static bool sh_in_use(struct sh_hca *h, enum sh_kind kind, u32 id)
{
	struct sh_srq *srq;
	struct sh_qp *qp;
	unsigned long i;

	if (kind != SH_PD && kind != SH_XRCD)
		return false;
	xa_for_each(&h->tab[SH_QP].xa, i, qp)
		if ((kind == SH_PD ? qp->pd : qp->xrcd) == id)
			return true;
	xa_for_each(&h->tab[SH_SRQ].xa, i, srq)
		if ((kind == SH_PD ? srq->pd : srq->xrcd) == id)
			return true;
	return false;
}

SH_SIMPLE(pd, pd, SH_PD, pd)
SH_SIMPLE(xrcd, xrcd, SH_XRCD, xrcd)
SH_SIMPLE(td, transport_domain, SH_TD, transport_domain)

static int sh_ok(struct sh_cmd *c)
{
	return MLX5_CMD_STAT_OK;
}

static int sh_init_hca(struct sh_cmd *c)
{
	c->hca->inited = true;
	sh_pci_uplink(c->hca);
	return MLX5_CMD_STAT_OK;
}

/* What a driver that died left behind goes with it. */
static int sh_teardown_hca(struct sh_cmd *c)
{
	c->hca->inited = false;
	return MLX5_CMD_STAT_OK;
}

static int sh_disable_hca(struct sh_cmd *c)
{
	c->hca->left += sh_tables_destroy(c->hca, true);
	sh_tables_init(c->hca);
	sh_caps_init(c->hca);
	return MLX5_CMD_STAT_OK;
}

static int sh_query_issi(struct sh_cmd *c)
{
	MLX5_SET(query_issi_out, c->out, supported_issi_dw0, 3);
	return MLX5_CMD_STAT_OK;
}

static int sh_query_adapter(struct sh_cmd *c)
{
	void *p = MLX5_ADDR_OF(query_adapter_out, c->out, query_adapter_struct);

	MLX5_SET(query_adapter_param_block, p, ieee_vendor_id, SH_OUI);
	MLX5_SET(query_adapter_param_block, p, vsd_vendor_id, PCI_VENDOR_ID_MELLANOX);
	strscpy(MLX5_ADDR_OF(query_adapter_param_block, p, vsd_contd_psid), "SOFTHCA0000001",
		16);
	return MLX5_CMD_STAT_OK;
}

static int sh_query_special_contexts(struct sh_cmd *c)
{
	MLX5_SET(query_special_contexts_out, c->out, resd_lkey, 0x1ff);
	MLX5_SET(query_special_contexts_out, c->out, null_mkey, 0x100);
	return MLX5_CMD_STAT_OK;
}

static int sh_create_uctx(struct sh_cmd *c)
{
	struct sh_obj *o;
	int status;

	o = sh_new(c, SH_UCTX, sizeof(*o), &status);
	if (o)
		MLX5_SET(create_uctx_out, c->out, uid, o->id);
	return status;
}

static int sh_destroy_uctx(struct sh_cmd *c)
{
	struct sh_obj *o = sh_find(c->hca, SH_UCTX, MLX5_GET(destroy_uctx_in, c->in, uid));

	if (!o)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sh_del(c->hca, SH_UCTX, o);
	return MLX5_CMD_STAT_OK;
}

static int sh_create_umem(struct sh_cmd *c)
{
	void *u = MLX5_ADDR_OF(create_umem_in, c->in, umem);
	u8 shift = MLX5_GET(umem, u, log_page_size) + 12;
	u64 n = MLX5_GET64(umem, u, num_of_mtt);
	u32 offset = MLX5_GET(umem, u, page_offset);
	struct sh_umem *umem;
	int status;

	if (shift > 31 || n > c->inlen || !n || offset >= (1ULL << shift))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	umem = sh_new(c, SH_UMEM, sizeof(*umem), &status);
	if (!umem)
		return status;
	status = sh_buf_load(c, &umem->buf, MLX5_ADDR_OF(umem, u, mtt), n << shift, shift, 0);
	if (status) {
		sh_del(c->hca, SH_UMEM, umem);
		return status;
	}
	umem->buf.offset = offset;
	MLX5_SET(create_umem_out, c->out, umem_id, umem->obj.id);
	return MLX5_CMD_STAT_OK;
}

static int sh_destroy_umem(struct sh_cmd *c)
{
	struct sh_umem *u = sh_find_own(c, SH_UMEM, MLX5_GET(destroy_umem_in, c->in, umem_id));

	if (!u)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sh_buf_free(&u->buf);
	sh_del(c->hca, SH_UMEM, u);
	return MLX5_CMD_STAT_OK;
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_ENABLE_HCA, sh_ok },
	{ MLX5_CMD_OP_DISABLE_HCA, sh_disable_hca },
	{ MLX5_CMD_OP_INIT_HCA, sh_init_hca },
	{ MLX5_CMD_OP_TEARDOWN_HCA, sh_teardown_hca },
	{ MLX5_CMD_OP_QUERY_ISSI, sh_query_issi },
	{ MLX5_CMD_OP_SET_ISSI, sh_ok },
	{ MLX5_CMD_OP_QUERY_PAGES, sh_ok },	/* needs none of the host's */
	{ MLX5_CMD_OP_MANAGE_PAGES, sh_ok },
	{ MLX5_CMD_OP_SET_DRIVER_VERSION, sh_ok },
	{ MLX5_CMD_OP_NOP, sh_ok },
	{ MLX5_CMD_OP_QUERY_HCA_CAP, sh_cmd_query_hca_cap },
	{ MLX5_CMD_OP_SET_HCA_CAP, sh_cmd_set_hca_cap },
	{ MLX5_CMD_OP_QUERY_ADAPTER, sh_query_adapter },
	{ MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS, sh_query_special_contexts },
	{ MLX5_CMD_OP_ALLOC_PD, sh_alloc_pd },
	{ MLX5_CMD_OP_DEALLOC_PD, sh_dealloc_pd },
	{ MLX5_CMD_OP_ALLOC_XRCD, sh_alloc_xrcd },
	{ MLX5_CMD_OP_DEALLOC_XRCD, sh_dealloc_xrcd },
	{ MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, sh_alloc_td },
	{ MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, sh_dealloc_td },
	{ MLX5_CMD_OP_CREATE_UCTX, sh_create_uctx },
	{ MLX5_CMD_OP_DESTROY_UCTX, sh_destroy_uctx },
	{ MLX5_CMD_OP_CREATE_UMEM, sh_create_umem },
	{ MLX5_CMD_OP_DESTROY_UMEM, sh_destroy_umem },
	{ MLX5_CMD_OP_ALLOC_UAR, sh_cmd_alloc_uar },
	{ MLX5_CMD_OP_DEALLOC_UAR, sh_cmd_dealloc_uar },
	{ MLX5_CMD_OP_CREATE_MKEY, sh_cmd_create_mkey },
	{ MLX5_CMD_OP_QUERY_MKEY, sh_cmd_query_mkey },
	{ MLX5_CMD_OP_DESTROY_MKEY, sh_cmd_destroy_mkey },
};

sh_cmd_fn sh_cmd_obj(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}

static const struct sh_cmd_entry sh_queue_table[] = {
	{ MLX5_CMD_OP_CREATE_EQ, sh_cmd_create_eq },
	{ MLX5_CMD_OP_DESTROY_EQ, sh_cmd_destroy_eq },
	{ MLX5_CMD_OP_QUERY_EQ, sh_cmd_query_eq },
	{ MLX5_CMD_OP_CREATE_CQ, sh_cmd_create_cq },
	{ MLX5_CMD_OP_MODIFY_CQ, sh_cmd_modify_cq },
	{ MLX5_CMD_OP_QUERY_CQ, sh_cmd_query_cq },
	{ MLX5_CMD_OP_DESTROY_CQ, sh_cmd_destroy_cq },
	{ MLX5_CMD_OP_CREATE_RMP, sh_cmd_create_rmp },
	{ MLX5_CMD_OP_MODIFY_RMP, sh_cmd_modify_rmp },
	{ MLX5_CMD_OP_QUERY_RMP, sh_cmd_query_rmp },
	{ MLX5_CMD_OP_DESTROY_RMP, sh_cmd_destroy_srq },
	{ MLX5_CMD_OP_CREATE_XRC_SRQ, sh_cmd_create_xrc_srq },
	{ MLX5_CMD_OP_QUERY_XRC_SRQ, sh_cmd_query_xrc_srq },
	{ MLX5_CMD_OP_ARM_XRC_SRQ, sh_cmd_arm_xrc_srq },
	{ MLX5_CMD_OP_DESTROY_XRC_SRQ, sh_cmd_destroy_srq },
};

sh_cmd_fn sh_cmd_queue(u16 op)
{
	return sh_cmd_lookup(sh_queue_table, ARRAY_SIZE(sh_queue_table), op);
}
