/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events of the kernel, with the structures of snapshots. */
#ifndef SRDMA_CORE_EVENT_H
#define SRDMA_CORE_EVENT_H

#include "core/snapshot.h"

/* What an event is. Recordings hold netlink messages, so these numbers are in no file. */
enum snap_event_kind {
	SNAP_EVENT_QP_CREATED,
	SNAP_EVENT_QP_DESTROYED,
	SNAP_EVENT_ACTION,
	SNAP_EVENT_LEASE_END,
	SNAP_EVENT_CONGESTION,
	SNAP_EVENT_LOST,	/* events were lost: read a snapshot */
};

/* Pointers are owned by the source of the event, which says how long they are valid. */
struct snap_event {
	enum snap_event_kind kind;
	const struct snap_qp *qp;		/* QP_* */
	const struct snap_owner *owner;		/* QP_* */
	const struct snap_action *action;	/* ACTION */
	uint64_t batch;				/* ACTION */
	uint32_t index;				/* ACTION: place in its batch */
	const struct snap_dev *dev;		/* CONGESTION */
	const struct snap_uar *uars;		/* CONGESTION: busiest first */
	size_t n_uars;
	uint64_t lease;				/* LEASE_END */
	bool expired;				/* LEASE_END: it ran out */
	const char *why;			/* LOST: in words */
};

#endif /* SRDMA_CORE_EVENT_H */
