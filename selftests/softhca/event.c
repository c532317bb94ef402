// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events, to every EQ that subscribed to their type.
 */
#include "softhca.h"

bool sh_event_subscribed(struct sh_hca *h, u8 type)
{
	struct sh_eq *eq;

	list_for_each_entry(eq, &h->eqs, link)
		if (eq->mask[type / 64] & BIT_ULL(type % 64))
			return true;
	return false;
}

void sh_event(struct sh_hca *h, u8 type, u8 sub, const void *data)
{
	struct sh_eq *eq;

	list_for_each_entry(eq, &h->eqs, link) {
		if (!(eq->mask[type / 64] & BIT_ULL(type % 64)))
			continue;
		if (!sh_eq_put(h, eq, type, sub, data))
			h->events_lost++;
	}
}

void sh_event_cmd(struct sh_hca *h, u32 vector)
{
	union ev_data d = { .cmd.vector = cpu_to_be32(vector) };

	sh_event(h, MLX5_EVENT_TYPE_CMD, 0, &d);
}

void sh_event_qp(struct sh_qp *qp, u8 type)
{
	union ev_data d = {
		.qp_srq.qp_srq_n = cpu_to_be32(qp->obj.id),
		.qp_srq.type = qp->st == SH_ST_SQ ? MLX5_EVENT_QUEUE_TYPE_SQ :
			       qp->st == SH_ST_RQ ? MLX5_EVENT_QUEUE_TYPE_RQ :
						    MLX5_EVENT_QUEUE_TYPE_QP,
	};

	sh_event(qp->hca, type, 0, &d);
}

void sh_event_srq(struct sh_srq *srq, u8 type)
{
	union ev_data d = { .qp_srq.qp_srq_n = cpu_to_be32(srq->obj.id) };

	sh_event(srq->hca, type, 0, &d);
}

void sh_event_cq_error(struct sh_cq *cq, u8 syndrome)
{
	union ev_data d = {
		.cq_err.cqn = cpu_to_be32(cq->obj.id),
		.cq_err.syndrome = syndrome,
	};

	sh_event(cq->hca, MLX5_EVENT_TYPE_CQ_ERROR, 0, &d);
}

void sh_event_port(struct sh_hca *h, bool up)
{
	union ev_data d = { .port.port = 1 << 4 };

	sh_event(h, MLX5_EVENT_TYPE_PORT_CHANGE,
		 up ? MLX5_PORT_CHANGE_SUBTYPE_ACTIVE : MLX5_PORT_CHANGE_SUBTYPE_DOWN, &d);
}

/* Level 1 when a doorbell queue is long, 0 when it is short again. */
void sh_event_congestion(struct sh_hca *h, u8 level)
{
	union ev_data d = { .cong.congestion_level = level };

	sh_event(h, MLX5_EVENT_TYPE_DB_BF_CONGESTION, 0, &d);
}
