// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Making, connecting and destroying the pairs of QPs of a fleet. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fleet.h"
#include "stat.h"

int open_side(struct side *s, const char *dev, const struct options *o)
{
	int ret = vdev_open(&s->dev, dev);

	if (ret)
		return ret;
	s->buf = calloc(1, o->size);
	s->channel = ibv_create_comp_channel(s->dev.ctx);
	if (!s->buf || !s->channel)
		return fail_with(dev, errno);
	s->mr = ibv_reg_mr(s->dev.pd, s->buf, o->size,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	s->cq = ibv_create_cq(s->dev.ctx, (int)(4 * o->pairs * o->depth + 64), NULL, s->channel, 0);
	if (!s->mr || !s->cq)
		return fail_with(dev, errno);
	if (fcntl(s->dev.ctx->async_fd, F_SETFL, O_NONBLOCK))
		return fail_with("async_fd", errno);
	return -ibv_req_notify_cq(s->cq, 0);
}

static int make_end(struct fleet *f, struct end *e, int i)
{
	struct side *s = &f->side[i];
	struct ibv_qp_init_attr attr = {
		.qp_context = e,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {
			.max_send_wr = f->o->depth, .max_recv_wr = f->o->depth,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = f->o->uc ? IBV_QPT_UC : IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	e->outstanding = 0;
	e->draining = false;
	e->gen++;
	e->qp = ibv_create_qp(s->dev.pd, &attr);
	if (!e->qp)
		return fail_with("create QP", errno);
	e->addr = vdev_peer(&s->dev, e->qp, 0);
	e->addr.addr = (uintptr_t)s->buf;
	e->addr.rkey = s->mr->rkey;
	return vqp_init(&s->dev, e->qp);
}

/* vqp_rtr() and vqp_rts() are for RC; UC has no acknowledgements to set up. */
static int connect_uc(struct vdev *dev, struct ibv_qp *qp, const struct vpeer *to,
		      const struct vconn *c)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = dev->mtu,
		.dest_qp_num = to->qpn,
		.rq_psn = to->psn,
		.ah_attr = {
			.is_global = 1,
			.port_num = dev->port,
			.grh = {
				.dgid = to->gid, .sgid_index = dev->gid_index,
				.hop_limit = 64, .traffic_class = c->tclass,
			},
		},
	};
	int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);

	if (ret)
		return fail_with("modify to RTR", ret);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0;
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return ret ? fail_with("modify to RTS", ret) : 0;
}

static int connect_end(struct fleet *f, struct pair *p, int i)
{
	struct vdev *dev = &f->side[i].dev;
	struct ibv_qp *qp = p->end[i].qp;
	const struct vpeer *to = &p->end[!i].addr;
	/* The longest RNR timer: a send queue that waits for it is not drained meanwhile. */
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .min_rnr_timer = 0 };
	int ret;

	if (f->o->uc)
		return connect_uc(dev, qp, to, &f->o->conn);
	ret = vqp_rtr(dev, qp, to, &f->o->conn);
	if (!ret)
		ret = vqp_rts(qp, 0, &f->o->conn);
	if (!ret && p->stuck)
		ret = -ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
	return ret;
}

int make_pair(struct fleet *f, struct pair *p)
{
	int i, ret = 0;

	for (i = 0; !ret && i < 2; i++)
		ret = make_end(f, &p->end[i], i);
	for (i = 0; !ret && i < 2; i++)
		ret = connect_end(f, p, i);
	return ret;
}

/* The sender goes first, so that no sender waits for an answer of a QP that is gone. */
int destroy_pair(struct fleet *f, struct pair *p)
{
	uint64_t begun;
	int i, ret = 0;

	for (i = 0; i < 2; i++) {
		f->sum.abandoned += p->end[i].outstanding;
		begun = now_ns();
		ret = ret ? ret : ibv_destroy_qp(p->end[i].qp);
		note_call_time(f, begun);
	}
	return ret ? fail_with("destroy QP", ret) : 0;
}
