/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events as the kernel would notify of them, for tests that are their own kernel. */
#ifndef SELFTESTS_UNIT_NOTIFY_H
#define SELFTESTS_UNIT_NOTIFY_H

#include <stdlib.h>

#include <netlink/genl/genl.h>

#include <rdma/swiftrdma.h>

#include "io/encode.h"
#include "io/recording.h"

static inline int notify_command(const struct snap_event *e)
{
	switch (e->kind) {
	case SNAP_EVENT_QP_CREATED:
		return SWIFTRDMA_CMD_QP_CREATED_NTF;
	case SNAP_EVENT_QP_DESTROYED:
		return SWIFTRDMA_CMD_QP_DESTROYED_NTF;
	case SNAP_EVENT_ACTION:
		return SWIFTRDMA_CMD_ACT_NTF;
	case SNAP_EVENT_LEASE_END:
		return SWIFTRDMA_CMD_LEASE_NTF;
	default:
		return SWIFTRDMA_CMD_CONGESTION_NTF;
	}
}

static inline int notify_put(struct nl_msg *msg, const struct snap_event *e)
{
	const struct srdma_lease lease = { .id = e->lease, .expired = e->expired };
	int err = 0;

	switch (e->kind) {
	case SNAP_EVENT_QP_CREATED:
	case SNAP_EVENT_QP_DESTROYED:
		return srdma_put_qp(msg, e->qp, e->owner);
	case SNAP_EVENT_ACTION:
		err = nla_put_u64(msg, SWIFTRDMA_A_BATCH, e->batch);
		return err ? err : srdma_put_action(msg, e->action, e->index);
	case SNAP_EVENT_LEASE_END:
		return srdma_put_lease(msg, SWIFTRDMA_A_LEASE, &lease);
	default:
		err = srdma_put_dev(msg, e->dev);
		for (size_t i = 0; i < e->n_uars && !err; i++)
			err = srdma_put_uar(msg, &e->uars[i], NULL);
		return err;
	}
}

/* The event goes to a recording as one that was read from the kernel does. */
static inline void notify_record(struct recorder *r, uint64_t time, const struct snap_event *e)
{
	struct nl_msg *msg;

	if (e->kind == SNAP_EVENT_LOST) {
		recorder_lost(r, time, e->why);
		return;
	}
	msg = nlmsg_alloc_size(65536);
	if (!msg || !genlmsg_put(msg, 0, 0, NLMSG_MIN_TYPE, 0, 0, notify_command(e),
				 SWIFTRDMA_GENL_VERSION) || notify_put(msg, e))
		abort();
	recorder_put(r, RECORDING_EVENT, time, nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_len);
	nlmsg_free(msg);
}

#endif /* SELFTESTS_UNIT_NOTIFY_H */
