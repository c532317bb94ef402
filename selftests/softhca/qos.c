// SPDX-License-Identifier: GPL-2.0
/*
 * Which class of the contention model's port a message goes in, and the registers
 * of an Ethernet port that say so: what is trusted (QPTS), DSCP to priority (QPDPM),
 * priority to traffic class (QTCT), groups and shares of those (QETCR), and which
 * priorities may be paused (PFCC).
 *
 * On InfiniBand the SL is the class, and there is nothing to set.
 */
#include "softhca.h"

#define SH_GROUPS	16

/* The model has strict classes, the highest first, and below them those that share.
 * Traffic classes in one group share, groups are strict: so only the lowest group
 * may have several.
 */
static int sh_qos_rank(struct sh_qos *q, const u8 *group)
{
	u8 members[SH_GROUPS] = {}, lowest = SH_GROUPS - 1, rank = 0, strict = 0, cls[8];
	int g, tc;

	for (tc = 0; tc < 8; tc++) {
		members[group[tc]]++;
		lowest = min(lowest, group[tc]);
	}
	for (g = 0; g < SH_GROUPS; g++) {
		if (members[g] > 1 && g != lowest)
			return -EINVAL;
		for (tc = 0; tc < 8; tc++) {
			if (group[tc] != g)
				continue;
			if (members[g] == 1)
				strict |= BIT(rank);
			cls[tc] = rank++;
		}
	}
	memcpy(q->cls, cls, sizeof(q->cls));
	memcpy(q->group, group, sizeof(q->group));
	q->strict = strict;
	return 0;
}

/* One traffic class for each priority, all strict, DSCP trusted: 8 code points to a
 * priority.
 */
void sh_qos_init(struct sh_qos *q)
{
	u8 group[8];
	int i;

	for (i = 0; i < 8; i++) {
		q->prio_tc[i] = i;
		group[i] = i;
		q->share[i] = 100;
	}
	for (i = 0; i < 64; i++)
		q->dscp_prio[i] = i / 8;
	q->trust = MLX5_QPTS_TRUST_DSCP;
	sh_qos_rank(q, group);
}

/* All of the mapping at once; 0 or -errno, and then nothing has changed. */
int sh_qos_set(struct sh_hca *h, const u8 *prio_tc, const u8 *group, const u8 *share)
{
	struct sh_qos *q = &h->qos;
	int err = sh_qos_rank(q, group);

	if (err)
		return err;
	memcpy(q->prio_tc, prio_tc, sizeof(q->prio_tc));
	memcpy(q->share, share, sizeof(q->share));
	sh_contention_reclass(h);
	return 0;
}

void sh_qos_model(const struct sh_qos *q, u8 *strict, u8 *weight)
{
	int tc;

	*strict = q->strict;
	for (tc = 0; tc < 8; tc++)
		weight[q->cls[tc]] = q->share[tc];
}

/* The priority of a message where @h sees it: of a connection, by the path, of a
 * datagram (@tx), by its address.
 */
u8 sh_qos_prio(const struct sh_hca *h, const struct sh_qp *qp, const struct sh_tx *tx)
{
	void *path = MLX5_ADDR_OF(qpc, (void *)qp->qpc, primary_address_path);
	bool connected = sh_qp_connected(qp) || sh_qp_lone(qp) || !tx;

	if (sh_false(h, SH_FALSE_PRIORITY))
		return 0;
	if (!softhca.eth)
		return (connected ? MLX5_GET(ads, path, sl) : tx->av.stat_rate_sl) & 7;
	if (h->qos.trust == MLX5_QPTS_TRUST_DSCP)
		return h->qos.dscp_prio[connected ? MLX5_GET(ads, path, dscp) :
					tx->av.tclass >> 2];
	return connected ? MLX5_GET(ads, path, eth_prio) : tx->av.stat_rate_sl >> 1 & 7;
}

u8 sh_qos_class_of(const struct sh_hca *h, u8 prio)
{
	return softhca.eth ? h->qos.cls[h->qos.prio_tc[prio]] : prio;
}

u8 sh_qos_class(const struct sh_qp *qp, const struct sh_tx *tx)
{
	return sh_qos_class_of(qp->hca, sh_qos_prio(qp->hca, qp, tx));
}

/* --- Registers ------------------------------------------------------------ */

static int sh_reg_qpts(struct sh_hca *h, void *in, void *r, bool write)
{
	u8 trust = MLX5_GET(qpts_reg, in, trust_state);

	if (write) {
		if (trust != MLX5_QPTS_TRUST_PCP && trust != MLX5_QPTS_TRUST_DSCP)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		h->qos.trust = trust;
		sh_contention_reclass(h);
	}
	MLX5_SET(qpts_reg, r, trust_state, h->qos.trust);
	return MLX5_CMD_STAT_OK;
}

static int sh_reg_qpdpm(struct sh_hca *h, void *in, void *r, bool write)
{
	void *entry;
	int i;

	for (i = 0; write && i < 64; i++) {
		entry = MLX5_ADDR_OF(qpdpm_reg, in, dscp[i]);
		if (!MLX5_GET16(qpdpm_dscp_reg, entry, e))
			continue;
		if (MLX5_GET16(qpdpm_dscp_reg, entry, prio) > 7)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		h->qos.dscp_prio[i] = MLX5_GET16(qpdpm_dscp_reg, entry, prio);
	}
	if (write)
		sh_contention_reclass(h);
	for (i = 0; i < 64; i++) {
		entry = MLX5_ADDR_OF(qpdpm_reg, r, dscp[i]);
		MLX5_SET16(qpdpm_dscp_reg, entry, e, 0);
		MLX5_SET16(qpdpm_dscp_reg, entry, prio, h->qos.dscp_prio[i]);
	}
	return MLX5_CMD_STAT_OK;
}

static int sh_reg_qtct(struct sh_hca *h, void *in, void *r, bool write)
{
	u8 prio = MLX5_GET(qtct_reg, in, prio);

	if (write) {
		h->qos.prio_tc[prio] = MLX5_GET(qtct_reg, in, tclass);
		sh_contention_reclass(h);
	}
	MLX5_SET(qtct_reg, r, tclass, h->qos.prio_tc[prio]);
	return MLX5_CMD_STAT_OK;
}

static int sh_reg_qetcr(struct sh_hca *h, void *in, void *r, bool write)
{
	u8 group[8], share[8];
	void *entry;
	int tc;

	memcpy(group, h->qos.group, sizeof(group));
	memcpy(share, h->qos.share, sizeof(share));
	for (tc = 0; write && tc < 8; tc++) {
		entry = MLX5_ADDR_OF(qetc_reg, in, tc_configuration[tc]);
		/* Rates are scheduling elements' here, a class has none. */
		if (MLX5_GET(ets_tcn_config_reg, entry, r) &&
		    MLX5_GET(ets_tcn_config_reg, entry, max_bw_units))
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		if (MLX5_GET(ets_tcn_config_reg, entry, g))
			group[tc] = MLX5_GET(ets_tcn_config_reg, entry, group);
		if (MLX5_GET(ets_tcn_config_reg, entry, b))
			share[tc] = MLX5_GET(ets_tcn_config_reg, entry, bw_allocation);
		if (share[tc] > 100)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
	if (write) {
		if (sh_qos_rank(&h->qos, group))
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		memcpy(h->qos.share, share, sizeof(share));
		sh_contention_reclass(h);
	}
	for (tc = 0; tc < 8; tc++) {
		entry = MLX5_ADDR_OF(qetc_reg, r, tc_configuration[tc]);
		memset(entry, 0, MLX5_ST_SZ_BYTES(ets_tcn_config_reg));
		MLX5_SET(ets_tcn_config_reg, entry, group, h->qos.group[tc]);
		MLX5_SET(ets_tcn_config_reg, entry, bw_allocation, h->qos.share[tc]);
	}
	return MLX5_CMD_STAT_OK;
}

/* Pause is for each priority; there is none for the whole port. */
static int sh_reg_pfcc(struct sh_hca *h, void *in, void *r, bool write)
{
	u8 tx = MLX5_GET(pfcc_reg, in, prio_mask_tx), rx = MLX5_GET(pfcc_reg, in, prio_mask_rx);

	if (write) {
		if (MLX5_GET(pfcc_reg, in, pptx) || MLX5_GET(pfcc_reg, in, pprx))
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		h->qos.pfc_tx = (h->qos.pfc_tx & ~tx) | (MLX5_GET(pfcc_reg, in, pfctx) & tx);
		h->qos.pfc_rx = (h->qos.pfc_rx & ~rx) | (MLX5_GET(pfcc_reg, in, pfcrx) & rx);
		sh_wire_forget(h);
	}
	memset(r, 0, MLX5_ST_SZ_BYTES(pfcc_reg));
	MLX5_SET(pfcc_reg, r, local_port, 1);
	MLX5_SET(pfcc_reg, r, prio_mask_tx, 0xff);
	MLX5_SET(pfcc_reg, r, prio_mask_rx, 0xff);
	MLX5_SET(pfcc_reg, r, pfctx, h->qos.pfc_tx);
	MLX5_SET(pfcc_reg, r, pfcrx, h->qos.pfc_rx);
	return MLX5_CMD_STAT_OK;
}

static int sh_reg_qcam(void *r)
{
	MLX5_SET(qcam_reg, r, qos_access_reg_cap_mask.reg_cap.qpdpm, 1);
	MLX5_SET(qcam_reg, r, qos_access_reg_cap_mask.reg_cap.qpts, 1);
	return MLX5_CMD_STAT_OK;
}

/* False: not one of these. */
bool sh_reg_qos(struct sh_cmd *c, void *in, void *r, bool write, int *status)
{
	struct sh_hca *h = c->hca;

	if (!softhca.eth)
		return false;
	switch (MLX5_GET(access_register_in, c->in, register_id)) {
	case MLX5_REG_QPTS:
		*status = sh_reg_qpts(h, in, r, write);
		return true;
	case MLX5_REG_QPDPM:
		*status = sh_reg_qpdpm(h, in, r, write);
		return true;
	case MLX5_REG_QTCT:
		*status = sh_reg_qtct(h, in, r, write);
		return true;
	case MLX5_REG_QETCR:
		*status = sh_reg_qetcr(h, in, r, write);
		return true;
	case MLX5_REG_PFCC:
		*status = sh_reg_pfcc(h, in, r, write);
		return true;
	case MLX5_REG_QCAM:
		*status = write ? MLX5_CMD_STAT_BAD_PARAM_ERR : sh_reg_qcam(r);
		return true;
	default:
		return false;
	}
}
