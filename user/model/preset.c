// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parameters of a NIC and its host, by name: fitted or published. */
#include "model/internal.h"

static const char *const preset_names[MODEL_PRESETS] = {
	[MODEL_OFF] = "off", [MODEL_CX5] = "cx5", [MODEL_CX6] = "cx6",
};

int model_preset_named(const char *name)
{
	int i;

	for (i = 0; i < MODEL_PRESETS; i++)
		if (!strcmp(name, preset_names[i]))
			return i;
	return -1;
}

/*
 * Fitted on SMART's measurements of a ConnectX-6 (selftests/data/) by the benchmark
 * model_error: its --fit yields exactly these, and its rows say how far the model is
 * from what was measured. Nobody published such curves of a ConnectX-5, so that preset
 * differs only by its link.
 */
#define CX_PU_PS	145000		/* 16 units do 110 M WQEs/s */
#define CX_JITTER_PCT	60		/* without it, the knees of the curves are too sharp */
#define CX_WQES		755
#define CX_REFETCH_Q8	174		/* 0.7 */
#define CX_PIPE_PS	2424000		/* of a READ, both ways */
#define CX_UAR_PS	531950
#define CX_UAR_EXP	276
#define CX_QP_ALONE_PS	799397
#define CX_QP_PS	1164417
#define CX_QP_EXP	285
#define CX_POST_PS	224640		/* CPU time */
#define CX_HOLD_PS	196589		/* with a register's lock held */
#define CX_LOAD_Q8	26		/* 0.1 */
#define CX_SHARE_Q8	108		/* 0.4 */

/* Not fitted: 8 units fit as well. The cores are those of SMART's hosts. */
#define CX_PUS		16
#define CX_CORES	48		/* with two threads each */

/*
 * By hand, on the depth-8 curve of WRITEs against that of READs: a payload is fetched
 * beside the WQE.
 */
#define CX_PAYLOAD_PS	28000

/*
 * The measurement that the paper cites in 3.2 (Husky): 96.6 and 48 Gbit/s at
 * 17.2 and 49.1 % misses. With a WQE time as the unit, (1 + 0.491 r) /
 * (1 + 0.172 r) is 2.01 if r is 7; a WQE needs three contexts, so that each
 * fetch is a third of it, 0.34 us, as a read over PCIe is.
 */
#define CX_FETCH_PS	(7 * CX_PU_PS / 3)

/* Memory of a ConnectX-5 for contexts, from section 3.2 of the paper. */
#define CX_CACHE_BYTES	(2U << 20)
/*
 * The size of each context: 375 bytes for a connection (Kalia et al., NSDI'19, the source of
 * the paper's figure), 64 bytes each for the contexts of a CQ and a memory key in mlx5_ifc.h
 * (cqc, mkc), and a line of translations.
 */
#define CX_QPC_BYTES	375
#define CX_MTT_BYTES	(64 + 64)
#define CX_CQC_BYTES	64

/*
 * Congestion: a doorbell that would wait 5 us, the paper's bound of queueing
 * delay in section 4, even if one QP alone waited; cleared at half of that.
 */
#define CX_RAISE	(5000000 / CX_UAR_PS)
#define CX_CLEAR	(CX_RAISE / 2)

/* Assumed to be the time of some tens of WQEs, because no figure was published. */
#define CX_CTRL_PS	5000000

void model_preset(enum model_preset preset, struct model_params *p)
{
	memset(p, 0, sizeof(*p));
	p->seed = 1;
	p->mtu = 4096;		/* the largest of InfiniBand and RoCE */
	p->strict = 0xff;
	if (preset == MODEL_OFF)
		return;
	/* LRH, BTH, ICRC, VCRC of each InfiniBand packet (IBTA vol. 1, ch. 5) */
	p->header = 8 + 12 + 4 + 2;
	p->link_bps = preset == MODEL_CX5 ? 100000000000ULL : 200000000000ULL;
	p->uar_ps = CX_UAR_PS;
	p->uar_exp = CX_UAR_EXP;
	p->uar_hold_ps = CX_HOLD_PS;
	p->uar_raise = CX_RAISE;
	p->uar_clear = CX_CLEAR;
	p->cache_bytes = CX_CACHE_BYTES;
	p->entry_bytes[MODEL_QPC] = CX_QPC_BYTES;
	p->entry_bytes[MODEL_MTT] = CX_MTT_BYTES;
	p->entry_bytes[MODEL_CQC] = CX_CQC_BYTES;
	p->fetch_ps = CX_FETCH_PS;
	p->wqe_limit = CX_WQES;
	p->wqe_refetch_q8 = CX_REFETCH_Q8;
	p->pus = CX_PUS;
	p->pu_ps = CX_PU_PS;
	p->payload_ps = CX_PAYLOAD_PS;
	p->jitter_pct = CX_JITTER_PCT;
	p->ctrl_ps = CX_CTRL_PS;
	p->pipe_ps = CX_PIPE_PS;
	p->late_ps = CX_PIPE_PS;	/* late by a round trip */
}

void model_preset_host(enum model_preset preset, struct model_host *h)
{
	memset(h, 0, sizeof(*h));
	if (preset == MODEL_OFF)
		return;
	h->post_ps = CX_POST_PS;
	h->cores = CX_CORES;
	h->load_q8 = CX_LOAD_Q8;
	h->share_q8 = CX_SHARE_Q8;
	h->uar_lock_ps = CX_UAR_PS;
	h->uar_exp = CX_UAR_EXP;
	h->uar_hold_ps = CX_HOLD_PS;
	h->qp_alone_ps = CX_QP_ALONE_PS;
	h->qp_lock_ps = CX_QP_PS;
	h->qp_exp = CX_QP_EXP;
}
