// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes that tables describe.
 */
#include <linux/atomic.h>

#include "attr.h"

/* srdma_put_u64() pads with SWIFTRDMA_A_PAD in every set. */
#define SAME_PAD(set)	static_assert(SWIFTRDMA_##set##_A_PAD == (int)SWIFTRDMA_A_PAD)
SAME_PAD(REPORT);
SAME_PAD(HELD);
SAME_PAD(SNAPSHOT);
SAME_PAD(DEV);
SAME_PAD(PORT);
SAME_PAD(PRIO);
SAME_PAD(UAR);
SAME_PAD(OWNER);
SAME_PAD(QP);
SAME_PAD(JOB);
SAME_PAD(RULE);
SAME_PAD(JOB_STAT);
SAME_PAD(LEASE);
SAME_PAD(ACTION);

u64 srdma_attr_value(const struct srdma_attr *a, const void *obj)
{
	const void *p = obj + a->offset;

	switch (a->kind) {
	case SRDMA_ATTR_U8:
		return READ_ONCE(*(const u8 *)p);
	case SRDMA_ATTR_U32:
		return READ_ONCE(*(const u32 *)p);
	case SRDMA_ATTR_U64:
		return READ_ONCE(*(const u64 *)p);
	case SRDMA_ATTR_ATOMIC:
		return (u32)atomic_read(p);
	case SRDMA_ATTR_ATOMIC64:
		return atomic64_read(p);
	default:
		return *(const char *)p;
	}
}

bool srdma_attr_known(const struct srdma_attr *a, const void *obj)
{
	u64 ones = a->kind == SRDMA_ATTR_U32 ? U32_MAX : U64_MAX;

	switch (a->when) {
	case SRDMA_ATTR_NONZERO:
		return srdma_attr_value(a, obj);
	case SRDMA_ATTR_NOT_ONES:
		return srdma_attr_value(a, obj) != ones;
	case SRDMA_ATTR_GATED:
		return *(const bool *)(obj + a->gate);
	default:
		return true;
	}
}

void srdma_put_attrs(struct srdma_msg *m, const struct srdma_attr_set *set, const void *obj)
{
	const struct srdma_attr *a;

	for (a = set->attr; a < set->attr + set->n; a++) {
		if (!a->type || !srdma_attr_known(a, obj))
			continue;
		if (a->kind == SRDMA_ATTR_TEXT)
			srdma_put_text(m, a->type, obj + a->offset);
		else if (a->kind == SRDMA_ATTR_U64 || a->kind == SRDMA_ATTR_ATOMIC64)
			srdma_put_u64(m, a->type, srdma_attr_value(a, obj));
		else
			srdma_put_u32(m, a->type, srdma_attr_value(a, obj));
	}
}
