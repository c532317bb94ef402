/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is true, and what is known, of one object of each kind. For truth.c, which
 * finds it out, and answer.c, which is asked.
 */
#ifndef SRDMA_CORE_MASKS_H
#define SRDMA_CORE_MASKS_H

#include "core/truth.h"

#define ON_QPS (1u << OBJ_QP | 1u << OBJ_UAR)

struct masks {
	uint64_t t[OBJ_KINDS], k[OBJ_KINDS];
};

static inline void mask_of(const struct truth *t, enum obj_kind kind,
			   int32_t row, struct masks *m)
{
	m->t[kind] = row >= 0 ? t->rows[kind].t[row] : 0;
	m->k[kind] = row >= 0 ? t->rows[kind].k[row] : 0;
}

/* The part of a term that is about objects of these kinds, @from .. @to. */
static inline enum tri part(const struct prog_term *term,
			    const struct masks *m, enum obj_kind from,
			    enum obj_kind to)
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
