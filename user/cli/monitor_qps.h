/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which QPs there are, as far as it was told: what was not shows by comparing. */
#ifndef SRDMA_CLI_MONITOR_QPS_H
#define SRDMA_CLI_MONITOR_QPS_H

#include "core/snapshot.h"

struct qp_key {
	uint32_t dev, qpn;
	uint64_t serial;
	bool gone;
	const struct snap_qp *qp;	/* of what comparing found */
};

/* As they came, until they are sorted. */
struct qp_keys {
	struct qp_key *v;
	size_t n, cap;
};

void qp_keys_free(struct qp_keys *k);
/* False: out of memory. */
bool qp_keys_add(struct qp_keys *k, const struct snap_qp *qp, bool gone);
/* No more and no less than the QPs of @snap. */
bool qp_keys_take(struct qp_keys *k, const struct snapshot *snap);
/* What is in @snap alone, and, as gone, in @known alone; in order. */
bool qp_keys_compare(struct qp_keys *found, struct qp_keys *known,
		     const struct snapshot *snap);
/* Among those in order: this QP, come or gone? */
bool qp_keys_has(const struct qp_keys *k, const struct snap_qp *qp, bool gone);

#endif /* SRDMA_CLI_MONITOR_QPS_H */
