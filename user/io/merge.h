/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Sorts the arrays of a snapshot and merges a delta into them. Pure. */
#ifndef SRDMA_IO_MERGE_H
#define SRDMA_IO_MERGE_H

#include "core/snapshot.h"

/* Sorts by (dev, qpn, serial), and two readings of a QP by time. */
void srdma_sort_qps(struct snap_qp *qps, size_t n);
/* Sorts all arrays but the QPs. */
void srdma_sort_others(struct snapshot *snap);

/**
 * srdma_merge_qps - replace the QPs that changed, add the new ones
 * @snap: sorted too
 * @delta: sorted; if a QP occurs twice, the last one counts
 * @n: QPs of it
 *
 * 0: QPs were replaced, and snap->changed lists their rows; 1: some were added, too, and
 * snap->changed is void; -ENOMEM, with @snap as it was.
 */
int srdma_merge_qps(struct snapshot *snap, const struct snap_qp *delta,
		    size_t n);

#endif /* SRDMA_IO_MERGE_H */
