// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How long contenders keep one another from a lock or register: growth.h's table. */
#include "model/internal.h"
#include "model/growth.h"

uint64_t model_growth(enum model_lock lock, uint32_t one, uint32_t n)
{
	if (!n)
		return 0;
	if (n > GROWTH_MAX)
		n = GROWTH_MAX;
	return (uint64_t)one * model_growth_q16[lock][n] >> 16;
}
