// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/io.h"
#include "io/notification.h"
#include "io/parse.h"

static bool fill_event(uint8_t cmd, const struct srdma_reading *r,
		       struct snap_event *e)
{
	const struct snapshot *s = r->snap;

	switch (cmd) {
	case SWIFTRDMA_CMD_QP_CREATED_NTF:
	case SWIFTRDMA_CMD_QP_DESTROYED_NTF:
		e->kind = cmd == SWIFTRDMA_CMD_QP_CREATED_NTF ?
			SNAP_EVENT_QP_CREATED : SNAP_EVENT_QP_DESTROYED;
		if (!s->n_qps)
			return false;
		e->qp = &s->qps[0];
		if (snap_has(e->qp, SNAP_OWNER))
			e->owner = &s->owners[e->qp->owner];
		return true;
	case SWIFTRDMA_CMD_ACT_NTF:
		e->kind = SNAP_EVENT_ACTION;
		e->batch = r->batch;
		e->index = r->action_index;
		e->action = r->actions;
		return r->n_actions;
	case SWIFTRDMA_CMD_LEASE_NTF:
		e->kind = SNAP_EVENT_LEASE_END;
		e->lease = r->lease.id;
		e->expired = r->lease.expired;
		return r->has_lease;
	case SWIFTRDMA_CMD_CONGESTION_NTF:
		e->kind = SNAP_EVENT_CONGESTION;
		e->dev = s->devs;
		e->uars = s->uars;
		e->n_uars = s->n_uars;
		return s->n_devs;
	}
	return false;
}

int srdma_notification_parse(struct srdma_notification *n, uint8_t cmd,
			     const void *attrs, size_t len)
{
	struct snapshot *s = &n->snap;
	struct srdma_reading r = {
		.snap = s,
		.qps = &s->qps, .n_qps = &s->n_qps, .cap_qps = &s->cap_qps,
		.actions = n->actions,
		.cap_actions = n->cap_actions,
	};
	int err;

	s->n_devs = s->n_ports = s->n_prios = s->n_uars = s->n_qps = 0;
	s->n_jobs = s->n_owners = 0;
	n->event = (struct snap_event){ 0 };
	err = srdma_parse(attrs, len, &r);
	n->actions = r.actions;
	n->cap_actions = r.cap_actions;
	return err ? err : fill_event(cmd, &r, &n->event);
}

void srdma_notification_free(struct srdma_notification *n)
{
	free(n->actions);
	snapshot_free(&n->snap);
	memset(n, 0, sizeof(*n));
}
