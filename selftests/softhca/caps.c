// SPDX-License-Identifier: GPL-2.0
/*
 * What the device says it can do, and nothing that it does not. Documentation/softhca.rst
 * has the test of each.
 */
#include "softhca.h"

/* What these headers do not name: in the second dword of the QoS capabilities,
 * and in the tenth to twelfth of the general ones.
 */
#define SH_NIC_QP_SCHEDULING BIT(30)
#define SH_QPC_EXTENSION BIT(29)
#define SH_RTS2RTS_UDP_SPORT BIT(14)
#define SH_RTS2RTS_LAG	BIT(13)
#define SH_RTS2RTS_DSCP	BIT(21)

/* What belongs to one link layer. Queues for frames and flow tables, but no offloads: so
 * mlx5_core makes no netdev, and ours is the port's.
 */
static void sh_caps_link(void *p)
{
	if (!softhca.eth) {
		MLX5_SET(cmd_hca_cap, p, ib_virt, 1);
		return;
	}
	MLX5_SET(cmd_hca_cap, p, roce, 1);
	MLX5_SET(cmd_hca_cap, p, ets, 1);
	MLX5_SET(cmd_hca_cap, p, qcam_reg, 1);
	MLX5_SET(cmd_hca_cap, p, cc_query_allowed, 1);
	/* They share one wire. */
	MLX5_SET(cmd_hca_cap, p, num_lag_ports, SH_LAG_PORTS);
	MLX5_SET(cmd_hca_cap, p, lag_tx_port_affinity, 1);
	MLX5_SET(cmd_hca_cap, p, nic_flow_table, 1);
	MLX5_SET(cmd_hca_cap, p, log_max_rq, 15);
	MLX5_SET(cmd_hca_cap, p, log_max_tis, 11);
	MLX5_SET(cmd_hca_cap, p, log_max_tis_per_sq, 0);	/* one */
	MLX5_SET(cmd_hca_cap, p, log_max_tir, 11);
	MLX5_SET(cmd_hca_cap, p, log_max_rqt, 9);
	MLX5_SET(cmd_hca_cap, p, log_max_rqt_size, 7);
	((__be32 *)p)[10] |= cpu_to_be32(SH_RTS2RTS_UDP_SPORT | SH_RTS2RTS_LAG);
	((__be32 *)p)[11] |= cpu_to_be32(SH_RTS2RTS_DSCP);
}

static void sh_caps_general(struct sh_hca *h, void *p)
{
	MLX5_SET(cmd_hca_cap, p, vhca_id, h->index);
	MLX5_SET(cmd_hca_cap, p, log_max_srq_sz, 14);
	MLX5_SET(cmd_hca_cap, p, log_max_qp_sz, 15);
	MLX5_SET(cmd_hca_cap, p, log_max_qp, 16);
	MLX5_SET(cmd_hca_cap, p, log_max_srq, 15);
	MLX5_SET(cmd_hca_cap, p, log_max_cq_sz, 22);
	MLX5_SET(cmd_hca_cap, p, log_max_cq, 16);
	MLX5_SET(cmd_hca_cap, p, log_max_eq_sz, 16);
	MLX5_SET(cmd_hca_cap, p, log_max_mkey, 17);
	MLX5_SET(cmd_hca_cap, p, log_max_eq, 6);
	MLX5_SET(cmd_hca_cap, p, max_indirection, SH_MAX_INDIRECTION);
	MLX5_SET(cmd_hca_cap, p, log_max_mrw_sz, 63);
	MLX5_SET(cmd_hca_cap, p, log_max_klm_list_size, SH_LOG_MAX_KLMS);
	MLX5_SET(cmd_hca_cap, p, max_sgl_for_optimized_performance, 4);
	MLX5_SET(cmd_hca_cap, p, log_max_ra_req_qp, 7);
	MLX5_SET(cmd_hca_cap, p, log_max_ra_res_qp, 7);
	MLX5_SET(cmd_hca_cap, p, gid_table_size, 0);	/* 8 */
	MLX5_SET(cmd_hca_cap, p, pkey_table_size, 0);	/* 128 */
	MLX5_SET(cmd_hca_cap, p, out_of_seq_cnt, 1);
	MLX5_SET(cmd_hca_cap, p, vport_counters, 1);
	MLX5_SET(cmd_hca_cap, p, mcam_reg, 1);
	MLX5_SET(cmd_hca_cap, p, retransmission_q_counters, 1);
	MLX5_SET(cmd_hca_cap, p, enhanced_error_q_counters, 1);
	MLX5_SET(cmd_hca_cap, p, rts2rts_qp_counters_set_id, 1);
	MLX5_SET(cmd_hca_cap, p, max_qp_cnt, 255);
	MLX5_SET(cmd_hca_cap, p, event_cap, 1);
	MLX5_SET(cmd_hca_cap, p, local_ca_ack_delay, 16);
	MLX5_SET(cmd_hca_cap, p, ports_check, 1);
	MLX5_SET(cmd_hca_cap, p, port_type,
		 softhca.eth ? MLX5_CAP_PORT_TYPE_ETH : MLX5_CAP_PORT_TYPE_IB);
	MLX5_SET(cmd_hca_cap, p, num_ports, 1);
	MLX5_SET(cmd_hca_cap, p, log_max_msg, 30);
	MLX5_SET(cmd_hca_cap, p, max_tc, 8);
	MLX5_SET(cmd_hca_cap, p, cqe_version, 1);
	MLX5_SET(cmd_hca_cap, p, cmdif_checksum, 0);
	/* User MRs then come by CREATE_MKEY, each a command of its own. */
	MLX5_SET(cmd_hca_cap, p, umr_modify_entity_size_disabled, 1);
	MLX5_SET(cmd_hca_cap, p, atomic, 1);
	MLX5_SET(cmd_hca_cap, p, cq_oi, 1);
	MLX5_SET(cmd_hca_cap, p, cq_resize, 1);
	MLX5_SET(cmd_hca_cap, p, cq_eq_remap, 1);
	MLX5_SET(cmd_hca_cap, p, qkv, 1);
	MLX5_SET(cmd_hca_cap, p, pkv, 1);
	MLX5_SET(cmd_hca_cap, p, set_deth_sqpn, 1);
	MLX5_SET(cmd_hca_cap, p, xrc, 1);
	MLX5_SET(cmd_hca_cap, p, ud, 1);
	MLX5_SET(cmd_hca_cap, p, uc, 1);
	MLX5_SET(cmd_hca_cap, p, rc, 1);
	MLX5_SET(cmd_hca_cap, p, uar_sz, ilog2(SH_BAR_SIZE >> 20));
	MLX5_SET(cmd_hca_cap, p, log_pg_sz, 12);
	MLX5_SET(cmd_hca_cap, p, bf, 1);
	MLX5_SET(cmd_hca_cap, p, log_bf_reg_size, 9);
	MLX5_SET(cmd_hca_cap, p, max_wqe_sz_sq, SH_MAX_WQE);
	MLX5_SET(cmd_hca_cap, p, max_wqe_sz_rq, 512);
	MLX5_SET(cmd_hca_cap, p, max_wqe_sz_sq_dc, SH_MAX_WQE);
	MLX5_SET(cmd_hca_cap, p, max_qp_mcg, 256);
	MLX5_SET(cmd_hca_cap, p, log_max_mcg, 8);
	MLX5_SET(cmd_hca_cap, p, log_max_transport_domain, 10);
	MLX5_SET(cmd_hca_cap, p, log_max_pd, 16);
	MLX5_SET(cmd_hca_cap, p, log_max_xrcd, 10);
	MLX5_SET(cmd_hca_cap, p, log_max_rmp, 15);
	MLX5_SET(cmd_hca_cap, p, log_max_sq, 15);
	MLX5_SET(cmd_hca_cap, p, log_max_wq_sz, 15);
	MLX5_SET(cmd_hca_cap, p, log_max_uctx, 12);
	MLX5_SET(cmd_hca_cap, p, log_max_umem, 16);
	MLX5_SET(cmd_hca_cap, p, max_num_eqs, SH_MSIX_VECTORS);
	MLX5_SET(cmd_hca_cap, p, device_frequency_mhz, 1000);
	MLX5_SET(cmd_hca_cap, p, device_frequency_khz, 1000000);
	MLX5_SET(cmd_hca_cap, p, num_vhca_ports, 1);
	sh_caps_link(p);
	/* Only a model of contention enforces shares and rates, and has what the
	 * diagnostic counters count.
	 */
	if (h->contention) {
		MLX5_SET(cmd_hca_cap, p, qos, 1);
		MLX5_SET(cmd_hca_cap, p, debug, 1);
		sh_diag_caps_general(p);
		((__be32 *)p)[9] |= cpu_to_be32(SH_QPC_EXTENSION);
		MLX5_SET64(cmd_hca_cap, p, general_obj_types, BIT_ULL(SH_OBJ_SCHED));
	}
}

static void sh_caps_qos(void *p)
{
	/* The device does not schedule send queues without a QP. The bit is set because
	 * libmlx5 reads the next two bits only if this one is set.
	 */
	MLX5_SET(qos_cap, p, nic_sq_scheduling, 1);
	MLX5_SET(qos_cap, p, nic_bw_share, 1);
	MLX5_SET(qos_cap, p, nic_rate_limit, 1);
	((__be32 *)p)[1] |= cpu_to_be32(SH_NIC_QP_SCHEDULING);
	MLX5_SET(qos_cap, p, log_max_qos_nic_queue_group, ilog2(SH_SCHEDS));
	MLX5_SET(qos_cap, p, nic_element_type,
		 ELEMENT_TYPE_CAP_MASK_TSAR | ELEMENT_TYPE_CAP_MASK_QUEUE_GROUP);
	MLX5_SET(qos_cap, p, nic_tsar_type, TSAR_TYPE_CAP_MASK_DWRR);
}

static void sh_caps_atomic(void *p)
{
	MLX5_SET(atomic_caps, p, supported_atomic_req_8B_endianness_mode_1, 1);
	MLX5_SET(atomic_caps, p, atomic_operations,
		 MLX5_ATOMIC_OPS_CMP_SWAP | MLX5_ATOMIC_OPS_FETCH_ADD);
	MLX5_SET(atomic_caps, p, atomic_size_qp, 8);	/* bytes */
}

static void sh_caps_event(void *p)
{
	__be64 *affiliated = MLX5_ADDR_OF(device_event_cap, p, user_affiliated_events);
	__be64 *unaffiliated = MLX5_ADDR_OF(device_event_cap, p, user_unaffiliated_events);

	affiliated[0] = cpu_to_be64(BIT_ULL(MLX5_EVENT_TYPE_SQ_DRAINED) |
				    BIT_ULL(MLX5_EVENT_TYPE_SRQ_LAST_WQE) |
				    BIT_ULL(MLX5_EVENT_TYPE_SRQ_RQ_LIMIT) |
				    BIT_ULL(MLX5_EVENT_TYPE_CQ_ERROR) |
				    BIT_ULL(MLX5_EVENT_TYPE_WQ_CATAS_ERROR) |
				    BIT_ULL(MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR) |
				    BIT_ULL(MLX5_EVENT_TYPE_WQ_ACCESS_ERROR));
	unaffiliated[0] = cpu_to_be64(BIT_ULL(MLX5_EVENT_TYPE_PORT_CHANGE) |
				      BIT_ULL(MLX5_EVENT_TYPE_DB_BF_CONGESTION));
}

void sh_caps_init(struct sh_hca *h)
{
	memset(h->hca_cap, 0, sizeof(h->hca_cap));
	memset(h->atomic_cap, 0, sizeof(h->atomic_cap));
	sh_caps_general(h, h->hca_cap);
	sh_caps_atomic(h->atomic_cap);
}

/* Kinds of capabilities that drivers and libraries ask about, of which this device has
 * none: all zeros. By their numbers, for not every kernel's headers name all of them.
 */
static bool sh_caps_none(u16 kind)
{
	static const u8 none[] = {
		0x01,	/* Ethernet offloads */
		0x02,	/* on-demand paging */
		0x06,	/* IPoIB offloads */
		0x08,	/* flow tables of the e-switch, */
		0x09,	/* the e-switch itself */
		0x0b,	/* vector calculations */
		0x0f,	/* device memory */
		0x11,	/* TLS */
		0x13,	/* emulation of virtio */
		0x15,	/* IPsec */
		0x1a,	/* encryption */
		0x1f,	/* MACsec */
		0x20,	/* more general ones */
		0x25,	/* choice of a port */
		0x26,	/* virtualization */
	};

	return kind <= U8_MAX && memchr(none, kind, sizeof(none));
}

int sh_cmd_query_hca_cap(struct sh_cmd *c)
{
	void *p = MLX5_ADDR_OF(query_hca_cap_out, c->out, capability);
	struct sh_hca *h = c->hca;
	bool max = !(c->op_mod & HCA_CAP_OPMOD_GET_CUR);

	switch (c->op_mod >> 1) {
	case MLX5_CAP_GENERAL:
		if (max)
			sh_caps_general(h, p);
		else
			memcpy(p, h->hca_cap, sizeof(h->hca_cap));
		return MLX5_CMD_STAT_OK;
	case MLX5_CAP_ATOMIC:
		if (max)
			sh_caps_atomic(p);
		else
			memcpy(p, h->atomic_cap, sizeof(h->atomic_cap));
		return MLX5_CMD_STAT_OK;
	case MLX5_CAP_ROCE:
		if (softhca.eth)
			sh_caps_roce(p);
		return MLX5_CMD_STAT_OK;
	case MLX5_CAP_FLOW_TABLE:
		if (softhca.eth)
			sh_caps_flow(p);
		return MLX5_CMD_STAT_OK;
	case MLX5_CAP_QOS:
		if (h->contention)
			sh_caps_qos(p);
		return MLX5_CMD_STAT_OK;
	case MLX5_CAP_DEBUG:
		if (h->contention)
			sh_diag_caps(h, p);
		return MLX5_CMD_STAT_OK;
	case MLX5_CAP_DEV_EVENT:
		sh_caps_event(p);
		return MLX5_CMD_STAT_OK;
	default:
		return sh_caps_none(c->op_mod >> 1) ? MLX5_CMD_STAT_OK :
						      MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
}

int sh_cmd_set_hca_cap(struct sh_cmd *c)
{
	void *p = MLX5_ADDR_OF(set_hca_cap_in, c->in, capability);
	struct sh_hca *h = c->hca;

	switch (c->op_mod >> 1) {
	case MLX5_CAP_GENERAL:
		memcpy(h->hca_cap, p, sizeof(h->hca_cap));
		return MLX5_CMD_STAT_OK;
	case MLX5_CAP_ATOMIC:
		/* The mode is all that there is to set; the driver sends no more. */
		MLX5_SET(atomic_caps, h->atomic_cap, atomic_req_8B_endianness_mode,
			 MLX5_GET(atomic_caps, p, atomic_req_8B_endianness_mode));
		return MLX5_CMD_STAT_OK;
	default:
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
}
