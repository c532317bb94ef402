// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The connection: by TCP and verbs, or by rdma_cm. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meet.h"
#include "moved.h"

#define CM_PORT "18601"
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)

struct ibv_cq *cq;
struct ibv_qp *qp;
struct ibv_mr *mr;
struct vpeer peer;
uint32_t seed;
int peer_fd = -1;

static struct vdev dev;
static struct cm_end cm;

void swap_with_peer(void *mine, void *theirs, size_t n)
{
	if (write(peer_fd, mine, n) != (ssize_t)n ||
	    recv(peer_fd, theirs, n, MSG_WAITALL) != (ssize_t)n)
		wrong("the other end is gone");
}

static struct ibv_qp_init_attr init_of(struct ibv_context *ctx)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * WINDOW + 3, .max_recv_wr = RECVS,
			 .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = INLINE },
	};

	cq = ibv_create_cq(ctx, 2 * WINDOW + 3 + RECVS, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	return init;
}

/* The memory of this end, for the peer. */
static struct vpeer own_memory(struct ibv_pd *pd)
{
	fill_constant();
	mr = ibv_reg_mr(pd, &mem, sizeof(mem), ACCESS);
	return (struct vpeer){ .addr = (uintptr_t)&mem.shared, .rkey = mr ? mr->rkey : 0 };
}

static bool set_up_by_verbs(const char *name)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .qp_access_flags = ACCESS };
	const char *retries = getenv("MOVED_RETRY");
	struct vconn conn = VCONN_DEFAULT;
	struct ibv_qp_init_attr init;
	struct vpeer own, at;

	if (vdev_open(&dev, name))
		return false;
	own = own_memory(dev.pd);
	init = init_of(dev.ctx);
	qp = mr && cq ? ibv_create_qp(dev.pd, &init) : NULL;
	if (!qp)
		return false;
	at = vdev_peer(&dev, qp, vrnd(&seed));
	at.addr = own.addr;
	at.rkey = own.rkey;
	swap_with_peer(&at, &peer, sizeof(at));
	conn.rd_atomic = 4;
	/* A dead peer shows after 2 s with 6 retries. For rxe 7 are no limit. */
	conn.timeout = 16;
	conn.retry = retries ? (uint8_t)atoi(retries) : 7;
	attr.port_num = dev.port;
	if (vqp_init(&dev, qp) || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
						IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
	    vqp_rtr(&dev, qp, &peer, &conn))
		return false;
	post_recvs();
	return !vqp_rts(qp, at.psn, &conn);
}

static bool set_up_by_cm(const char *address, bool listens)
{
	struct { uint64_t addr; uint32_t rkey; } mine, theirs;
	struct ibv_qp_init_attr init;
	struct ibv_pd *pd;
	struct vpeer own;

	if (cm_open(&cm, address, CM_PORT, listens))
		return false;
	pd = ibv_alloc_pd(cm.id->verbs);
	if (!pd)
		return false;
	own = own_memory(pd);
	init = init_of(cm.id->verbs);
	if (!mr || !cq || rdma_create_qp(cm.id, pd, &init))
		return false;
	qp = cm.id->qp;
	post_recvs();
	mine.addr = own.addr;
	mine.rkey = own.rkey;
	if (cm_connect(&cm, &mine, &theirs, sizeof(mine)))
		return false;
	peer.addr = theirs.addr;
	peer.rkey = theirs.rkey;
	return true;
}

bool set_up(const char *name, const char *port, const char *host, const char *address)
{
	peer_fd = meet(port, host);
	return peer_fd >= 0 && (address ? set_up_by_cm(address, !host) : set_up_by_verbs(name));
}

void tear_down(void)
{
	if (cm.id) {
		if (cm_disconnect(&cm))
			wrong("the connection does not end");
		rdma_destroy_qp(cm.id);
	} else if (ibv_destroy_qp(qp)) {
		wrong("the QP cannot be destroyed");
	}
	if (ibv_destroy_cq(cq))
		wrong("the queue cannot be destroyed");
	if (cm.id)
		cm_close(&cm);
}
