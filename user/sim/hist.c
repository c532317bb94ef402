// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/sim.h"

static unsigned int bucket(uint64_t v)
{
	unsigned int e;

	if (v < 16)
		return (unsigned int)v;
	e = 63 - (unsigned int)__builtin_clzll(v);
	return (e - 3) * 16 + (unsigned int)(v >> (e - 4) & 15);
}

void sim_hist_add_n(struct sim_hist *h, uint64_t v, uint64_t n)
{
	h->bucket[bucket(v)] += n;
	h->n += n;
}

void sim_hist_add(struct sim_hist *h, uint64_t v)
{
	sim_hist_add_n(h, v, 1);
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
