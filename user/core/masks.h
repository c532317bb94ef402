/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Truth masks of one object of each kind: which atoms are true, and which are known. truth.c
 * computes the masks, truth_query.c evaluates terms on them.
 */
#ifndef SRDMA_CORE_MASKS_H
#define SRDMA_CORE_MASKS_H

#include "core/truth.h"

#define ON_QPS (1u << OBJ_QP | 1u << OBJ_UAR)

struct masks {
	uint64_t t[OBJ_KINDS], k[OBJ_KINDS];
};

/* Sets the masks of @kind to those of the object at @row; -1: all is unknown. */
static inline void set_mask(const struct truth *t, enum obj_kind kind, int32_t row,
			    struct masks *m)
{
	m->t[kind] = row >= 0 ? t->rows[kind].t[row] : 0;
	m->k[kind] = row >= 0 ? t->rows[kind].k[row] : 0;
}

/* The truth of the atoms of kinds @from to @to of a term. */
static inline enum tri term_part(const struct prog_term *term, const struct masks *m,
				 enum obj_kind from, enum obj_kind to)
{
	uint64_t lack = 0, wrong = 0;
	unsigned int o;

	for (o = from; o <= to; o++) {
		lack |= term->need[o] & ~m->t[o];
		wrong |= term->need[o] & ~m->t[o] & m->k[o];
	}
	return !lack ? TRI_TRUE : wrong ? TRI_FALSE : TRI_UNKNOWN;
}

#endif /* SRDMA_CORE_MASKS_H */
