// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sums of what was counted: figures of a QP and of a device, and quantiles. */
#include <string.h>

#include "lib/lib.h"

/* A quantile is reliable if this number of samples lies above it. */
#define ABOVE 10

static void from_sums(struct swiftrdma_figures *f, const struct swiftrdma_gone *s)
{
	*f = (struct swiftrdma_figures){
		.wrs = s->wrs, .bytes = s->bytes, .calls = s->calls, .recv_wrs = s->recv_wrs,
		.wcs = s->wcs, .done = s->done_wrs, .dropped = s->dropped,
		.recv_wcs = s->recv_wcs, .recv_bytes = s->recv_bytes, .errors = s->errors,
		.stopped = s->stopped,
	};
}

static uint64_t outstanding_of(const struct swiftrdma_gone *s)
{
	uint64_t ended = s->done_wrs + s->dropped;

	return s->wrs > ended ? s->wrs - ended : 0;
}

void figures_of_slot(struct swiftrdma_figures *f, const struct swiftrdma_slot *slot)
{
	struct swiftrdma_gone sum = { 0 };

	slot_add(&sum, slot);
	from_sums(f, &sum);
	f->no_order = !!(slot->id.flags & SWIFTRDMA_SLOT_NO_ORDER);
	f->outstanding = f->no_order ? 0 : outstanding_of(&sum);
}

/* Called with lib_lock() held, so that no QP comes or goes. */
void figures_of_device(struct swiftrdma_figures *f, const struct device *dev)
{
	struct swiftrdma_gone sum = dev->report->gone;
	uint64_t waiting = 0;

	for (uint32_t i = 0; i < dev->report->slots_used; i++) {
		const struct swiftrdma_slot *slot = &dev->slot[i];
		struct swiftrdma_figures one;

		if (!slot->id.generation)
			continue;
		slot_add(&sum, slot);
		figures_of_slot(&one, slot);
		if (!(slot->id.flags & SWIFTRDMA_SLOT_DEAD))
			waiting += one.outstanding;
	}
	from_sums(f, &sum);
	f->outstanding = waiting;
	f->recv_wrs += read_counter(&dev->report->srq_recv_wrs);
	f->qps = read_counter(&dev->report->qps);
	f->unmatched = read_counter(&dev->report->unmatched);
}

void quantile_of(const struct swiftrdma_hist *h, double q, struct swiftrdma_quantile *r)
{
	uint64_t total = 0, below = 0;

	*r = (struct swiftrdma_quantile){
		.samples = read_counter(&h->samples), .max_ns = read_counter(&h->max_ns),
		.samples_wanted = (uint64_t)(ABOVE / (1 - q) + 0.5),
	};
	for (uint32_t i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++)
		total += read_counter(&h->bucket[i]);
	r->wrs = total;
	if (!total)
		return;
	r->mean_ns = read_counter(&h->sum_ns) / total;
	for (uint32_t i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++) {
		below += read_counter(&h->bucket[i]);
		if ((double)below < q * (double)total)
			continue;
		r->ns = i == SWIFTRDMA_HIST_BUCKETS - 1 ? r->max_ns : swiftrdma_hist_floor(i + 1);
		/* The greatest time is known more exactly than the end of its bucket. */
		if (r->ns > r->max_ns)
			r->ns = r->max_ns;
		return;
	}
}
