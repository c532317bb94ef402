// SPDX-License-Identifier: GPL-2.0
/*
 * Stalls of the PCI bus: times in which the NIC had reads (of WQEs, contexts, translations
 * and data) or writes to send, and the host granted no credits. The register and its units:
 * NVIDIA, "Understanding mlx5 ethtool Counters", outbound_pci_stalled_rd.
 */
#include <linux/ktime.h>

#include "mlx5.h"

void srdma_pcie_init(struct srdma_mlx5 *md)
{
	md->has_pcie = srdma_mlx5_detail() && srdma_mlx5_is_pf(md) &&
		       MLX5_CAP_GEN(md->core, mcam_reg) &&
		       MLX5_CAP_MCAM_FEATURE(md->core, pcie_performance_group) &&
		       MLX5_CAP_MCAM_FEATURE(md->core, pcie_outbound_stalled);
}

#define GET(set, field) MLX5_GET(pcie_perf_cntrs_grp_data_layout, set, field)

static void read_pcie_counters(struct srdma_mlx5 *md)
{
	u32 in[MLX5_ST_SZ_DW(mpcnt_reg)] = {}, out[MLX5_ST_SZ_DW(mpcnt_reg)] = {};
	void *set = MLX5_ADDR_OF(mpcnt_reg, out, counter_set);
	struct srdma_pcie p = { .at = ktime_get_ns() };
	int ret;

	MLX5_SET(mpcnt_reg, in, grp, MLX5_PCIE_PERFORMANCE_COUNTERS_GROUP);
	ret = srdma_cmd_read_reg(md, in, out, sizeof(in), MLX5_REG_MPCNT);
	if (srdma_may_pass(ret)) {
		md->pcie_retry_at = p.at + SRDMA_RETRY_NS;
		return;
	}
	/* After a refusal the register is not read again. */
	if (ret) {
		WRITE_ONCE(md->has_pcie, false);
		return;
	}
	p.reads = GET(set, outbound_stalled_reads);
	p.writes = GET(set, outbound_stalled_writes);
	p.read_s = GET(set, outbound_stalled_reads_events);
	p.write_s = GET(set, outbound_stalled_writes_events);
	spin_lock(&md->told_lock);
	md->pcie = p;
	spin_unlock(&md->told_lock);
}

/* The register has figures of the last second, so one reading a second is enough. */
void srdma_pcie_refresh(struct srdma_mlx5 *md)
{
	u64 now = ktime_get_ns();

	if (md->has_pcie && now >= md->pcie_retry_at &&
	    (!md->pcie.at || now - md->pcie.at >= NSEC_PER_SEC) && srdma_cmd_may(md))
		read_pcie_counters(md);
}

void srdma_pcie_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st)
{
	spin_lock(&md->told_lock);
	if (READ_ONCE(md->has_pcie) && md->pcie.at) {
		st->pcie = true;
		st->pcie_at = md->pcie.at;
		st->stalled_reads = md->pcie.reads;
		st->stalled_writes = md->pcie.writes;
		st->stalled_read_s = md->pcie.read_s;
		st->stalled_write_s = md->pcie.write_s;
	}
	spin_unlock(&md->told_lock);
}
