// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Messages of a fleet, their completions, and the devices' asynchronous events. */
#include <errno.h>
#include <stdio.h>

#include "fleet.h"
#include "stat.h"

#define RNR_TIMER_NS 655360000	/* encoding 0, the longest: IB_RNR_TIMER_655_36 */

int post_recv(struct fleet *f, struct end *e)
{
	struct side *s = &f->side[e->id & 1];
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->buf, .length = f->o->size, .lkey = s->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = (uint64_t)e->gen << 32 | e->id, .sg_list = &sge, .num_sge = 1,
	};

	return -ibv_post_recv(e->qp, &wr, &bad);
}

static int post_send(struct fleet *f, struct pair *p, int i)
{
	struct side *s = &f->side[i];
	struct end *e = &p->end[i];
	const struct vpeer *to = &p->end[!i].addr;
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->buf, .length = f->o->size, .lkey = s->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uint64_t)e->gen << 32 | e->id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = p->stuck ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = to->addr, .rkey = to->rkey },
	};
	int ret = ibv_post_send(e->qp, &wr, &bad);

	if (ret)
		return fail_with("post", ret);
	e->outstanding++;
	f->sum.posted++;
	return 0;
}

/*
 * rxe finds a send queue that waits for receives drained for a moment whenever its RNR
 * timer expires. The stuck pairs start spread over one timer period, so that this never
 * happens to all of them at once.
 */
static bool begins_later(const struct fleet *f, const struct pair *p)
{
	uint64_t place = p - f->pairs;

	return p->stuck && now_ns() - f->begun < place * RNR_TIMER_NS / f->o->stuck;
}

/* Posts up to @n messages, round robin over the ends that have room. */
int send_messages(struct fleet *f, uint64_t n)
{
	uint64_t ends = 2 * f->o->pairs, looked;
	int ret = 0;

	for (looked = 0; !ret && n && looked < ends; looked++) {
		struct pair *p = &f->pairs[f->next / 2];
		int i = f->next % 2;

		f->next = (f->next + 1) % ends;
		if (p->gone || (i && (p->stuck || !f->o->both)) || p->end[i].draining ||
		    p->end[i].outstanding >= f->o->depth || begins_later(f, p))
			continue;
		ret = post_send(f, p, i);
		n--;
	}
	return ret;
}

static int handle_completion(struct fleet *f, const struct ibv_wc *wc)
{
	uint32_t id = (uint32_t)wc->wr_id;
	struct end *e = &f->pairs[id / 2].end[id & 1];

	if (e->gen != wc->wr_id >> 32 || f->pairs[id / 2].gone) {
		f->sum.late++;
		return 0;
	}
	if (wc->status) {
		fprintf(stderr, "fleet: pair %u: completion: %s\n", id / 2,
			ibv_wc_status_str(wc->status));
		f->sum.errors++;
		f->done = true;
	}
	/* The opcode is valid without an error only; after one the program ends. */
	if (!wc->status && wc->opcode & IBV_WC_RECV)
		return post_recv(f, e);
	e->outstanding--;
	f->sum.completed++;
	return 0;
}

int handle_completions(struct fleet *f, struct side *s)
{
	struct ibv_wc wc[16];
	struct ibv_cq *cq;
	void *ctx;
	int i, n, ret;

	if (ibv_get_cq_event(s->channel, &cq, &ctx))
		return fail_with("completion channel", errno);
	ibv_ack_cq_events(cq, 1);
	ret = ibv_req_notify_cq(cq, 0);
	while (!ret && (n = ibv_poll_cq(s->cq, 16, wc)) > 0)
		for (i = 0; !ret && i < n; i++)
			ret = handle_completion(f, &wc[i]);
	return ret;
}

/*
 * Only a doorbell makes rxe check whether a send queue is drained by now and, back in
 * RTS, take up what was posted meanwhile.
 */
void ring_doorbell(struct end *e)
{
	struct ibv_send_wr *bad;

	ibv_post_send(e->qp, NULL, &bad);
}

int handle_async_events(struct fleet *f, struct side *s)
{
	struct ibv_async_event ev;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct end *e;
	int ret = 0;

	while (!ret && !ibv_get_async_event(s->dev.ctx, &ev)) {
		if (ev.event_type != IBV_EVENT_SQ_DRAINED) {
			fprintf(stderr, "fleet: event: %s\n", ibv_event_type_str(ev.event_type));
			f->sum.other_events++;
			ibv_ack_async_event(&ev);
			continue;
		}
		e = ev.element.qp->qp_context;
		ibv_ack_async_event(&ev);
		if (!e->draining) {
			f->sum.drained++;
			fprintf(stderr, "fleet: pair %u: SQ_DRAINED of a QP that was not taken to SQD\n", e->id / 2);
			continue;
		}
		e->draining = false;
		ret = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
		if (ret)
			return fail_with("modify SQD to RTS", ret);
		ring_doorbell(e);
		f->sum.drains++;
	}
	return ret;
}

uint64_t count_outstanding(const struct fleet *f)
{
	uint64_t i, n = 0;

	for (i = 0; i < 2 * f->o->pairs; i++) {
		const struct pair *p = &f->pairs[i / 2];

		if (!p->gone)
			n += p->end[i % 2].outstanding + p->end[i % 2].draining;
	}
	return n;
}
