// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The connection: by TCP and verbs, or by rdma_cm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "moved.h"

#define CM_PORT "18601"
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)

static struct vdev dev;

void swap_with_peer(void *mine, void *theirs, size_t n)
{
	if (write(c->peer_fd, mine, n) != (ssize_t)n ||
	    recv(c->peer_fd, theirs, n, MSG_WAITALL) != (ssize_t)n)
		wrong("the other end is gone");
}

static struct ibv_srq *create_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = RECVS, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	if (!srq)
		wrong("no shared receive queue");
	return srq;
}

static struct ibv_qp_init_attr init_of(struct ibv_context *ctx, struct ibv_pd *pd)
{
	const char *events = getenv("MOVED_EVENTS");
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SENDS, .max_recv_wr = RECVS,
			 .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = INLINE },
	};

	if (getenv("MOVED_SRQ"))
		init.srq = c->srq = create_srq(pd);
	if (events) {
		c->channel = ibv_create_comp_channel(ctx);
		c->few_an_event = !strcmp(events, "few");
		if (!c->channel)
			wrong("no completion channel");
	}
	if (getenv("MOVED_ENTRIES")) {
		c->cqx = ibv_create_cq_ex(ctx, &(struct ibv_cq_init_attr_ex){
			.cqe = SENDS + RECVS, .channel = c->channel,
			.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM,
		});
		c->cq = c->cqx ? ibv_cq_ex_to_cq(c->cqx) : NULL;
	} else {
		c->cq = ibv_create_cq(ctx, SENDS + RECVS, NULL, c->channel, 0);
	}
	if (c->channel && c->cq && ibv_req_notify_cq(c->cq, 0))
		wrong("the queue cannot be armed");
	init.send_cq = init.recv_cq = c->cq;
	return init;
}

/* The memory of this end, for the peer. */
static struct vpeer own_memory(struct ibv_pd *pd)
{
	fill_constant();
	c->mr = ibv_reg_mr(pd, &c->mem, sizeof(c->mem), ACCESS);
	return (struct vpeer){ .addr = (uintptr_t)&c->mem.shared, .rkey = c->mr ? c->mr->rkey : 0 };
}

bool open_device(const char *name, struct ibv_context **ctx)
{
	if (vdev_open(&dev, name))
		return false;
	*ctx = dev.ctx;
	return true;
}

#define OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE | \
	     IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | \
	     IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp *create_qp(struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = init->qp_type, .cap = init->cap,
		.send_cq = init->send_cq, .recv_cq = init->recv_cq, .srq = init->srq, .pd = dev.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = OPS,
	};
	struct ibv_qp *qp;

	if (!getenv("MOVED_WR"))
		return ibv_create_qp(dev.pd, init);
	qp = ibv_create_qp_ex(dev.ctx, &ex);
	c->qpx = qp ? ibv_qp_to_qp_ex(qp) : NULL;
	return c->qpx ? qp : NULL;
}

static bool set_up_by_verbs(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .qp_access_flags = ACCESS };
	const char *retries = getenv("MOVED_RETRY");
	struct vconn conn = VCONN_DEFAULT;
	struct ibv_qp_init_attr init;
	struct vpeer own, at;

	own = own_memory(dev.pd);
	init = init_of(dev.ctx, dev.pd);
	c->qp = c->mr && c->cq ? create_qp(&init) : NULL;
	if (!c->qp)
		return false;
	at = vdev_peer(&dev, c->qp, vrnd(&c->seed));
	at.addr = own.addr;
	at.rkey = own.rkey;
	swap_with_peer(&at, &c->peer, sizeof(at));
	conn.rd_atomic = 4;
	/* A dead peer shows after 2 s with 6 retries. For rxe 7 are no limit. */
	conn.timeout = 16;
	conn.retry = retries ? (uint8_t)atoi(retries) : 7;
	attr.port_num = dev.port;
	if (vqp_init(&dev, c->qp) || ibv_modify_qp(c->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
						   IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
	    vqp_rtr(&dev, c->qp, &c->peer, &conn))
		return false;
	post_recvs();
	return !vqp_rts(c->qp, at.psn, &conn);
}

static bool set_up_by_cm(const char *address, bool listens)
{
	struct { uint64_t addr; uint32_t rkey; } mine, theirs;
	struct ibv_qp_init_attr init;
	struct ibv_pd *pd;
	struct vpeer own;

	if (cm_open(&c->cm, address, CM_PORT, listens))
		return false;
	pd = ibv_alloc_pd(c->cm.id->verbs);
	if (!pd)
		return false;
	own = own_memory(pd);
	init = init_of(c->cm.id->verbs, pd);
	if (!c->mr || !c->cq || rdma_create_qp(c->cm.id, pd, &init))
		return false;
	c->qp = c->cm.id->qp;
	post_recvs();
	mine.addr = own.addr;
	mine.rkey = own.rkey;
	if (cm_connect(&c->cm, &mine, &theirs, sizeof(mine)))
		return false;
	c->peer.addr = theirs.addr;
	c->peer.rkey = theirs.rkey;
	return true;
}

bool set_up(const char *host, const char *address)
{
	c->peer_fd = meet(c->port, host);
	return c->peer_fd >= 0 && (address ? set_up_by_cm(address, !host) : set_up_by_verbs());
}

void tear_down(void)
{
	if (c->cm.id) {
		if (cm_disconnect(&c->cm))
			wrong("the connection does not end");
		rdma_destroy_qp(c->cm.id);
	} else if (ibv_destroy_qp(c->qp)) {
		wrong("the QP cannot be destroyed");
	}
	if (c->srq && ibv_destroy_srq(c->srq))
		wrong("the shared receive queue cannot be destroyed");
	if (ibv_destroy_cq(c->cq))
		wrong("the queue cannot be destroyed");
	if (c->channel && ibv_destroy_comp_channel(c->channel))
		wrong("the channel cannot be destroyed");
	if (c->cm.id)
		cm_close(&c->cm);
}
