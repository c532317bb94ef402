// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/sim.h"

void sim_hist_merge(struct sim_hist *h, const struct sim_hist *more)
{
	unsigned int i;

	h->n += more->n;
	for (i = 0; i < SIM_BUCKETS; i++)
		h->bucket[i] += more->bucket[i];
}

void sim_hist_subtract(struct sim_hist *h, const struct sim_hist *less)
{
	unsigned int i;

	h->n -= less->n;
	for (i = 0; i < SIM_BUCKETS; i++)
		h->bucket[i] -= less->bucket[i];
}

uint64_t sim_hist_quantile(const struct sim_hist *h, double q)
{
	uint64_t want = (uint64_t)(q * (double)h->n), seen = 0;
	unsigned int i, e;

	for (i = 0; i < SIM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen <= want)
			continue;
		if (i < 16)
			return i;
		/* The middle of the bucket: at most 3.2 % off. */
		e = i / 16 + 3;
		return (16ULL + i % 16) << (e - 4) | 1ULL << (e - 4) >> 1;
	}
	return 0;
}
