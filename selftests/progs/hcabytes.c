// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcabytes FROM TO: does every operation carry every byte, and no byte more?
 *
 * Both devices are opened here. For each transport, operation and size the source
 * gets a fresh pattern, the destination another, and after the completions the
 * whole destination is compared, with what surrounds the message. Prints a line
 * "ok - NAME" or "not ok - NAME" for each transport and operation.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs.h"

#define MAX_SIZE	(1 << 20)
#define EDGE		64
#define BUF		(MAX_SIZE + 2 * EDGE)
#define GRH		40
#define IMM		0x12345678
#define QKEY		0x11111111
#define WAIT_S		30

struct end {
	struct vdev dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *buf;
};

struct op {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool inl;
	int sges;
};

static const struct op ops[] = {
	{ "send", IBV_WR_SEND, false, 1 },
	{ "send of three pieces", IBV_WR_SEND, false, 3 },
	{ "send inline", IBV_WR_SEND, true, 1 },
	{ "send with immediate", IBV_WR_SEND_WITH_IMM, false, 1 },
	{ "write", IBV_WR_RDMA_WRITE, false, 1 },
	{ "write of three pieces", IBV_WR_RDMA_WRITE, false, 3 },
	{ "write inline", IBV_WR_RDMA_WRITE, true, 1 },
	{ "write with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, false, 1 },
	{ "read", IBV_WR_RDMA_READ, false, 1 },
	{ "read to three pieces", IBV_WR_RDMA_READ, false, 3 },
	{ "compare and swap", IBV_WR_ATOMIC_CMP_AND_SWP, false, 1 },
	{ "fetch and add", IBV_WR_ATOMIC_FETCH_AND_ADD, false, 1 },
};

static const uint32_t sizes[] = {
	0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 65, 127, 255, 511, 1000, 1024, 2048, 4055, 4095,
	4096, 4097, 8192, 65535, 65536, 262144 + 13, MAX_SIZE,
};

static uint32_t seed = 1;

static void fill(uint8_t *p, size_t n)
{
	for (; n; n--) {
		seed = seed * 1664525 + 1013904223;
		*p++ = seed >> 24;
	}
}

static int wait_for(struct ibv_cq *cq, struct ibv_wc *wc)
{
	time_t end = time(NULL) + WAIT_S;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			return -EIO;
	} while (!n && time(NULL) < end);
	if (!n) {
		fprintf(stderr, "no completion\n");
		return -ETIMEDOUT;
	}
	if (wc->status) {
		fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
		return -EIO;
	}
	return 0;
}

static int open_end(struct end *e, const char *name)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	int ret = vdev_open(&e->dev, name);

	if (ret)
		return ret;
	if (posix_memalign((void **)&e->buf, 4096, BUF))
		return -ENOMEM;
	e->mr = ibv_reg_mr(e->dev.pd, e->buf, BUF, access);
	e->cq = ibv_create_cq(e->dev.ctx, 64, NULL, NULL, 0);
	return e->mr && e->cq ? 0 : -ENOMEM;
}

static int make_qp(struct end *e, enum ibv_qp_type type, bool srq)
{
	struct ibv_srq_init_attr sattr = { .attr = { .max_wr = 16, .max_sge = 3 } };
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 16,
			.max_send_sge = 3, .max_recv_sge = 3, .max_inline_data = 256,
		},
		.qp_type = type,
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = e->dev.port,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (srq) {
		e->srq = ibv_create_srq(e->dev.pd, &sattr);
		if (!e->srq)
			return -errno;
		attr.srq = e->srq;
	}
	e->qp = ibv_create_qp(e->dev.pd, &attr);
	if (!e->qp)
		return -errno;
	if (type == IBV_QPT_UC)
		init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mask |= type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return -ibv_modify_qp(e->qp, &init, mask);
}

static int connect_end(struct end *e, struct end *to, enum ibv_qp_type type)
{
	static const struct vconn conn = VCONN_DEFAULT;
	struct vpeer peer = vdev_peer(&to->dev, to->qp, 0);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = e->dev.mtu,
		.dest_qp_num = peer.qpn,
		.ah_attr = { .dlid = peer.lid, .port_num = e->dev.port },
	};
	int ret;

	if (!peer.lid) {
		a.ah_attr.is_global = 1;
		a.ah_attr.grh.dgid = peer.gid;
		a.ah_attr.grh.sgid_index = e->dev.gid_index;
		a.ah_attr.grh.hop_limit = 64;
	}
	if (type == IBV_QPT_RC)
		return vqp_rtr(&e->dev, e->qp, &peer, &conn) ?: vqp_rts(e->qp, 0, &conn);
	if (type == IBV_QPT_UD) {
		e->ah = ibv_create_ah(e->dev.pd, &a.ah_attr);
		if (!e->ah)
			return -errno;
		ret = ibv_modify_qp(e->qp, &a, IBV_QP_STATE);
	} else {
		ret = ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
	}
	if (ret)
		return -ret;
	a.qp_state = IBV_QPS_RTS;
	return -ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static void drop_qp(struct end *e)
{
	if (e->qp)
		ibv_destroy_qp(e->qp);
	if (e->srq)
		ibv_destroy_srq(e->srq);
	if (e->ah)
		ibv_destroy_ah(e->ah);
	e->qp = NULL;
	e->srq = NULL;
	e->ah = NULL;
}

/* Cuts a message into pieces; the memory stays one. */
static int pieces(struct ibv_sge *sge, int n, struct ibv_mr *mr, uint8_t *at, uint32_t size)
{
	uint32_t part = size / n;
	int i;

	for (i = 0; i < n; i++) {
		sge[i].addr = (uintptr_t)at;
		sge[i].length = i == n - 1 ? size - part * (n - 1) : part;
		sge[i].lkey = mr->lkey;
		at += sge[i].length;
	}
	return n;
}

static bool is_atomic(const struct op *op)
{
	return op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool takes_recv(const struct op *op)
{
	return op->opcode == IBV_WR_SEND || op->opcode == IBV_WR_SEND_WITH_IMM ||
	       op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool has_imm(const struct op *op)
{
	return op->opcode == IBV_WR_SEND_WITH_IMM || op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static int post_recv(struct end *e, uint32_t size, int n)
{
	struct ibv_recv_wr wr = { .wr_id = 2 }, *bad;
	struct ibv_sge sge[3];

	wr.sg_list = sge;
	wr.num_sge = pieces(sge, n, e->mr, e->buf + EDGE, size);
	return e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad);
}

static bool same(const char *what, const uint8_t *got, const uint8_t *want, size_t n)
{
	size_t i;

	for (i = 0; i < n && got[i] == want[i]; i++)
		;
	if (i < n)
		fprintf(stderr, "%s: byte %zd is %#x, not %#x\n", what, (ssize_t)i - EDGE, got[i],
			want[i]);
	return i == n;
}

static int check_recv(struct end *to, const struct op *op, uint32_t size, uint32_t head)
{
	struct ibv_wc wc;
	int ret = wait_for(to->cq, &wc);

	if (ret)
		return ret;
	if (wc.wr_id != 2 || wc.byte_len != size + head || wc.qp_num != to->qp->qp_num) {
		fprintf(stderr, "received %u bytes, not %u\n", wc.byte_len, size + head);
		return -EIO;
	}
	if (has_imm(op) != !!(wc.wc_flags & IBV_WC_WITH_IMM) ||
	    (has_imm(op) && wc.imm_data != htobe32(IMM))) {
		fprintf(stderr, "wrong immediate\n");
		return -EIO;
	}
	return 0;
}

static int try(struct end *from, struct end *to, const struct op *op, uint32_t size, bool ud)
{
	static uint8_t want_from[BUF], want_to[BUF];
	uint8_t *a = from->buf + EDGE, *b = to->buf + EDGE;
	uint32_t head = ud ? GRH : 0;
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = op->opcode, .imm_data = htobe32(IMM),
		.send_flags = IBV_SEND_SIGNALED | (op->inl ? IBV_SEND_INLINE : 0),
	}, *bad;
	size_t len = size + 2 * EDGE + head;
	struct ibv_sge sge[3];
	struct ibv_wc wc;
	uint64_t old;
	int ret;

	fill(from->buf, len);
	fill(to->buf, len);
	memcpy(want_from, from->buf, len);
	memcpy(want_to, to->buf, len);
	memcpy(&old, b, sizeof(old));

	wr.sg_list = sge;
	wr.num_sge = pieces(sge, op->sges, from->mr, a, size);
	if (ud) {
		wr.wr.ud.ah = from->ah;
		wr.wr.ud.remote_qpn = to->qp->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (is_atomic(op)) {
		wr.wr.atomic.remote_addr = (uintptr_t)b;
		wr.wr.atomic.rkey = to->mr->rkey;
		/* Now it is equal, now not. */
		wr.wr.atomic.compare_add = op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ?
					   old + (seed >> 16 & 1) : seed;
		wr.wr.atomic.swap = ~old;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)b;
		wr.wr.rdma.rkey = to->mr->rkey;
	}

	if (takes_recv(op)) {
		ret = post_recv(to, size + head, op->sges);
		if (ret)
			return -ret;
	}
	ret = ibv_post_send(from->qp, &wr, &bad);
	if (ret) {
		fprintf(stderr, "post: %s\n", strerror(ret));
		return -ret;
	}
	ret = wait_for(from->cq, &wc);
	if (!ret && takes_recv(op))
		ret = check_recv(to, op, size, head);
	if (ret)
		return ret;

	if (op->opcode == IBV_WR_RDMA_READ || is_atomic(op))
		memcpy(want_from + EDGE, b == a ? want_to : want_to + EDGE, size);
	else
		memcpy(want_to + EDGE + head, want_from + EDGE, size);
	if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		uint64_t sum = old + wr.wr.atomic.compare_add;

		memcpy(want_to + EDGE, &sum, sizeof(sum));
	} else if (is_atomic(op) && wr.wr.atomic.compare_add == old) {
		memcpy(want_to + EDGE, &wr.wr.atomic.swap, 8);
	}
	/* What comes before a datagram is not its payload. */
	if (ud)
		memcpy(want_to + EDGE, b, GRH);
	return same("source", from->buf, want_from, len) &&
	       same("destination", to->buf, want_to, len) ? 0 : -EIO;
}

static bool possible(const struct op *op, enum ibv_qp_type type)
{
	if (type == IBV_QPT_RC)
		return true;
	if (op->opcode == IBV_WR_RDMA_READ || is_atomic(op))
		return false;
	return type == IBV_QPT_UC || op->opcode == IBV_WR_SEND ||
	       op->opcode == IBV_WR_SEND_WITH_IMM;
}

static int sweep(struct end *from, struct end *to, const struct op *op, enum ibv_qp_type type)
{
	uint32_t limit = type == IBV_QPT_UD ? 4096 : MAX_SIZE;
	unsigned int i, rounds = is_atomic(op) ? 16 : 1;
	int ret;

	if (op->inl)
		limit = 256;
	if (is_atomic(op)) {
		for (i = 0; i < rounds; i++) {
			ret = try(from, to, op, 8, false);
			if (ret)
				return ret;
		}
		return 0;
	}
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (sizes[i] > limit)
			break;
		ret = try(from, to, op, sizes[i], type == IBV_QPT_UD);
		if (ret) {
			fprintf(stderr, "at %u bytes\n", sizes[i]);
			return ret;
		}
	}
	return 0;
}

static int transport(struct end *a, struct end *b, const char *name, enum ibv_qp_type type,
		     bool srq)
{
	unsigned int i;
	int ret, failed = 0;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		if (!possible(&ops[i], type))
			continue;
		ret = make_qp(a, type, false) ?: make_qp(b, type, srq) ?:
		      connect_end(a, b, type) ?: connect_end(b, a, type);
		if (ret)
			fprintf(stderr, "connect: %s\n", strerror(-ret));
		else
			ret = sweep(a, b, &ops[i], type);
		printf("%s - %s: %s\n", ret ? "not ok" : "ok", name, ops[i].name);
		fflush(stdout);
		failed |= ret;
		drop_qp(a);
		drop_qp(b);
	}
	return failed;
}

int main(int argc, char **argv)
{
	static struct end a, b;
	int failed;

	if (argc != 3) {
		fprintf(stderr, "usage: hcabytes FROM TO\n");
		return 2;
	}
	if (open_end(&a, argv[1]) || open_end(&b, argv[2]))
		return 1;
	failed = transport(&a, &b, "RC", IBV_QPT_RC, false);
	failed |= transport(&a, &b, "RC with SRQ", IBV_QPT_RC, true);
	failed |= transport(&a, &b, "UC", IBV_QPT_UC, false);
	failed |= transport(&a, &b, "UD", IBV_QPT_UD, false);
	return !!failed;
}
