/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contention model of one HCA, and what joins it to the device.
 *
 * The model (model/model.h) says when a work request is done; the device does
 * it then, in the order and with the checks it has anyway. Between them is one
 * number for each QP, sq_go: the WQEs before it may be executed. Without a model
 * that is all that were posted.
 */
#ifndef SOFTHCA_CONTENTION_H
#define SOFTHCA_CONTENTION_H

#include "model/model.h"
#include "softhca.h"

/* Doorbell registers of a UAR page: BlueFlame buffers at 0x800, 0xa00, ... */
#define SH_UAR_REGS	4
#define SH_DIAGS	7

/* All of it is under softhca.lock, like everything in the device. */
struct sh_contention {
	struct model model;
	void *mem;		/* the model's arrays */
	enum model_preset preset;
	u32 scale;		/* ns of the guest for a modelled one */
	u64 base_ns, base_ps;	/* the same moment on both clocks */
	u64 now;		/* ps: what the model was told in this look */
	struct list_head waiting;	/* QPs with WQEs that the model did not take yet */
	u64 timed, late;	/* WQEs executed; those later than late_ps */
	u64 lag_ps, lag_max_ps;	/* how late these were: summed, the worst */
	u64 second_ns;		/* when the present second began, */
	u64 second_ps, second_stalls;	/* on the model's clock, and its stalls then */
	u32 stalled_pct, stalled_seconds;	/* of the last one; in how many ever */
	u32 diag_n;		/* diagnostic counters that were asked for, and which */
	u8 diag[SH_DIAGS];
	u64 diag_base[SH_DIAGS];	/* of all: where they count from */
	struct sh_tx peek;	/* a WQE that is being looked at, not executed */
};

/* gauges.c */
void sh_gauges_add(struct sh_hca *h);

/* contention.c, for gauges.c and diag.c */
u64 sh_contention_clock(const struct sh_contention *c);
void sh_contention_rescale(struct sh_contention *c, u32 scale);

#endif
