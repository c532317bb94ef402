/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A job may follow the wishes of the peers of its QPs. The agent decides the ceiling (job.follow).
 * The module then raises each QP to the level that its own peer wishes, up to the ceiling.
 */
#ifndef SRDMA_CORE_FOLLOW_H
#define SRDMA_CORE_FOLLOW_H

#include "base/text.h"
#include "core/snapshot.h"

/* Wishes of peers of a job's QPs. */
struct follow_wishes {
	size_t n;		/* QPs whose peers wish a level */
	const struct snap_qp *qp;	/* one whose peer wishes the highest level */
};

/*
 * True: a peer of some QP wishes a level. @before: one did in the reading before; if none did, only
 * the QPs that have changed are examined.
 */
bool follow_any(const struct snapshot *snap, bool before);
struct follow_wishes follow_find(const struct snapshot *snap, uint32_t job);

/*
 * "peer wishes level 3 for QP 17 of rxe0, and peers of 4 more; the order allows 2". @w->n is not
 * 0. @by_order: @ceiling is from the order.
 */
void follow_reason(struct text *t, const struct snapshot *snap, const struct follow_wishes *w,
		   uint32_t ceiling, bool by_order);

#endif /* SRDMA_CORE_FOLLOW_H */
