// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The time of a contended lock or register: a power of the number of contenders. */
#include "model/internal.h"

#define ONE_Q32 (1ULL << 32)
#define LN2_Q32 2977044472ULL	/* ln 2 */

/* log2(@n), digit by digit: squaring doubles the logarithm. */
static uint64_t log2_q32(uint32_t n)
{
	int whole = 31 - __builtin_clz(n), i;
	uint64_t x = (uint64_t)n << (31 - whole);	/* 1 to 2, in 31 bits */
	uint64_t log = (uint64_t)whole << 32;

	for (i = 31; i >= 0; i--) {
		x = x * x >> 31;
		if (x >> 32) {
			x >>= 1;
			log |= 1ULL << i;
		}
	}
	return log;
}

/* 2^(@log), by the series of e^x. */
static uint64_t exp2_q16(uint64_t log)
{
	uint64_t x = (log & (ONE_Q32 - 1)) * LN2_Q32 >> 32;
	uint64_t term = ONE_Q32, sum = ONE_Q32;
	uint32_t k;

	for (k = 1; term; k++) {
		term = div_u64(term * x >> 32, k);
		sum += term;
	}
	return ((sum << (log >> 32)) + (1 << 15)) >> 16;
}

void model_crowd_init(struct model_crowd *c, uint32_t one_ps, uint32_t exp)
{
	uint32_t n;

	c->ps[0] = 0;
	for (n = 1; n <= MODEL_CROWD; n++)
		c->ps[n] = one_ps * exp2_q16(div_u64(log2_q32(n) * exp, 1000)) >> 16;
}
