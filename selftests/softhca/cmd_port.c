// SPDX-License-Identifier: GPL-2.0
/*
 * The port: its addresses, and the registers behind ACCESS_REG.
 */
#include <linux/mlx5/port.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>

#include "softhca.h"

#define SH_SUBNET	0xfe80000000000000ULL
#define SH_PKEYS	128
#define SH_SPEED_EDR	0x20
#define SH_WIDTH_4X	0x2
#define SH_REG_WRITE	0
#define SH_CAPS_WRITABLE (IB_PORT_CM_SUP | IB_PORT_SNMP_TUNNEL_SUP | IB_PORT_VENDOR_CLASS_SUP)

static int sh_query_vport_context(struct sh_cmd *c)
{
	void *v = MLX5_ADDR_OF(query_hca_vport_context_out, c->out, hca_vport_context);
	struct sh_port *port = &c->hca->port;

	MLX5_SET(hca_vport_context, v, has_smi, 1);
	MLX5_SET(hca_vport_context, v, port_physical_state, port->up ? 5 : 3);
	MLX5_SET(hca_vport_context, v, vport_state, port->up ? 4 : 1);
	MLX5_SET64(hca_vport_context, v, system_image_guid, port->guid);
	MLX5_SET64(hca_vport_context, v, port_guid, port->guid);
	MLX5_SET64(hca_vport_context, v, node_guid, port->guid);
	MLX5_SET(hca_vport_context, v, cap_mask1, port->cap_mask);
	MLX5_SET(hca_vport_context, v, cap_mask1_field_select, SH_CAPS_WRITABLE);
	MLX5_SET(hca_vport_context, v, lid, port->lid);
	MLX5_SET(hca_vport_context, v, sm_lid, 1);
	MLX5_SET(hca_vport_context, v, subnet_timeout, 18);
	return MLX5_CMD_STAT_OK;
}

static int sh_modify_vport_context(struct sh_cmd *c)
{
	void *v = MLX5_ADDR_OF(modify_hca_vport_context_in, c->in, hca_vport_context);

	u32 mask = MLX5_GET(hca_vport_context, v, cap_mask1_field_select) & SH_CAPS_WRITABLE;
	struct sh_port *port = &c->hca->port;

	port->cap_mask &= ~mask;
	port->cap_mask |= MLX5_GET(hca_vport_context, v, cap_mask1) & mask;
	return MLX5_CMD_STAT_OK;
}

static int sh_query_gid(struct sh_cmd *c)
{
	u16 index = MLX5_GET(query_hca_vport_gid_in, c->in, gid_index);
	__be64 *gid = MLX5_ADDR_OF(query_hca_vport_gid_out, c->out, gid);
	u32 n = index == 0xffff ? SH_GIDS : 1;

	if (n == 1 && index >= SH_GIDS)
		return MLX5_CMD_STAT_IX_ERR;
	MLX5_SET(query_hca_vport_gid_out, c->out, gids_num, n);
	/* The subnet's prefix and the port's GUID; the others are empty. */
	if (n > 1 || !index) {
		gid[0] = cpu_to_be64(SH_SUBNET);
		gid[1] = cpu_to_be64(c->hca->port.guid);
	}
	return MLX5_CMD_STAT_OK;
}

static int sh_query_pkey(struct sh_cmd *c)
{
	u16 index = MLX5_GET(query_hca_vport_pkey_in, c->in, pkey_index);
	__be32 *pkey = MLX5_ADDR_OF(query_hca_vport_pkey_out, c->out, pkey);

	if (index != 0xffff && index >= SH_PKEYS)
		return MLX5_CMD_STAT_IX_ERR;
	if (!index || index == 0xffff)
		*pkey = cpu_to_be32(0xffff);
	return MLX5_CMD_STAT_OK;
}

static int sh_query_vport_state(struct sh_cmd *c)
{
	MLX5_SET(query_vport_state_out, c->out, admin_state, 1);
	MLX5_SET(query_vport_state_out, c->out, state, sh_port_active(c->hca));
	return MLX5_CMD_STAT_OK;
}

/* Of management queries one is answered, for the VL of each SL, as a subnet manager would
 * have set it; opensm asks for more.
 */
static int sh_mad_ifc(struct sh_cmd *c)
{
	__be64 sl2vl = cpu_to_be64(c->hca->port.sl2vl);
	struct ib_smp *mad;
	bool known;

	mad = MLX5_ADDR_OF(mad_ifc_out, c->out, response_mad_packet);
	memcpy(mad, MLX5_ADDR_OF(mad_ifc_in, c->in, mad), 256);
	known = mad->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE &&
		mad->method == IB_MGMT_METHOD_GET && mad->attr_id == IB_SMP_ATTR_SL_TO_VL_TABLE;
	mad->method |= IB_MGMT_METHOD_RESP;
	mad->status = known ? 0 : cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	if (known)
		memcpy(mad->data, &sl2vl, sizeof(sl2vl));
	return MLX5_CMD_STAT_OK;
}

static void sh_reg_ptys(void *r)
{
	if (softhca.eth) {
		u32 mode = MLX5E_PROT_MASK(MLX5E_100GBASE_CR4);

		MLX5_SET(ptys_reg, r, proto_mask, MLX5_PTYS_EN);
		MLX5_SET(ptys_reg, r, eth_proto_capability, mode);
		MLX5_SET(ptys_reg, r, eth_proto_admin, mode);
		MLX5_SET(ptys_reg, r, eth_proto_oper, mode);
		return;
	}
	MLX5_SET(ptys_reg, r, proto_mask, MLX5_PTYS_IB);
	MLX5_SET(ptys_reg, r, ib_link_width_capability, SH_WIDTH_4X);
	MLX5_SET(ptys_reg, r, ib_proto_capability, SH_SPEED_EDR);
	MLX5_SET(ptys_reg, r, ib_link_width_admin, SH_WIDTH_4X);
	MLX5_SET(ptys_reg, r, ib_proto_admin, SH_SPEED_EDR);
	MLX5_SET(ptys_reg, r, ib_link_width_oper, SH_WIDTH_4X);
	MLX5_SET(ptys_reg, r, ib_proto_oper, SH_SPEED_EDR);
}

/* Of management: what MPCNT has. */
#define SH_FEATURE(f)	mng_feature_cap_mask.enhanced_features.f

static int sh_access_reg(struct sh_cmd *c)
{
	void *in = MLX5_ADDR_OF(access_register_in, c->in, register_data);
	void *r = MLX5_ADDR_OF(access_register_out, c->out, register_data);
	bool write = c->op_mod == SH_REG_WRITE;
	int status;

	/* What a register holds starts as what the driver asked with. */
	memcpy(r, in, min_t(u32, c->inlen, SH_MIN_MBOX) - MLX5_ST_SZ_BYTES(access_register_in));
	if (sh_reg_qos(c, in, r, write, &status))
		return status;
	switch (MLX5_GET(access_register_in, c->in, register_id)) {
	case MLX5_REG_HOST_ENDIANNESS:
		return MLX5_CMD_STAT_OK;
	case MLX5_REG_NODE_DESC:
		if (write)
			memcpy(c->hca->node_desc, in, sizeof(c->hca->node_desc));
		memcpy(r, c->hca->node_desc, sizeof(c->hca->node_desc));
		return MLX5_CMD_STAT_OK;
	case MLX5_REG_PTYS:
		if (write)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		sh_reg_ptys(r);
		return MLX5_CMD_STAT_OK;
	case MLX5_REG_PMTU:
		MLX5_SET(pmtu_reg, r, max_mtu, SH_MTU);
		MLX5_SET(pmtu_reg, r, admin_mtu, SH_MTU);
		MLX5_SET(pmtu_reg, r, oper_mtu, SH_MTU);
		return MLX5_CMD_STAT_OK;
	case MLX5_REG_PVLC:
		MLX5_SET(pvlc_reg, r, vl_hw_cap, 4);
		MLX5_SET(pvlc_reg, r, vl_admin, 4);
		MLX5_SET(pvlc_reg, r, vl_operational, 4);
		return MLX5_CMD_STAT_OK;
	case MLX5_REG_PPCNT:
		return sh_reg_ppcnt(c, r, write);
	case MLX5_REG_MCAM:
		if (write)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		MLX5_SET(mcam_reg, r, SH_FEATURE(pcie_performance_group), 1);
		MLX5_SET(mcam_reg, r, SH_FEATURE(pcie_outbound_stalled), 1);
		return MLX5_CMD_STAT_OK;
	case MLX5_REG_MPCNT:
		return sh_reg_mpcnt(c, r, write);
	default:
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, sh_query_vport_context },
	{ MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT, sh_modify_vport_context },
	{ MLX5_CMD_OP_QUERY_HCA_VPORT_GID, sh_query_gid },
	{ MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY, sh_query_pkey },
	{ MLX5_CMD_OP_QUERY_VPORT_STATE, sh_query_vport_state },
	{ MLX5_CMD_OP_MAD_IFC, sh_mad_ifc },
	{ MLX5_CMD_OP_ACCESS_REG, sh_access_reg },
};

sh_cmd_fn sh_cmd_port(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}
