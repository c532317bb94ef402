// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcabad FROM TO: does each wrong request get the answer it deserves?
 *
 * One case, one fresh pair of RC QPs: the request, the completion status expected
 * at each end, the states after it. Prints "ok - NAME" or "not ok - NAME".
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs.h"

#define SIZE	8192
#define WAIT_S	20
#define NONE	-1

struct end {
	struct vdev dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *readonly;
	struct ibv_pd *other_pd;
	struct ibv_mr *other;
	uint8_t *buf;
};

static struct end a, b;
static int access_flags;

struct bad {
	const char *name;
	int (*post)(void);
	int here, there;	/* statuses, NONE for no completion */
	int flags;		/* of the responder's QP */
};

static int open_end(struct end *e, const char *name)
{
	int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC;

	if (vdev_open(&e->dev, name))
		return -1;
	if (posix_memalign((void **)&e->buf, 4096, SIZE))
		return -1;
	e->mr = ibv_reg_mr(e->dev.pd, e->buf, SIZE, all);
	e->readonly = ibv_reg_mr(e->dev.pd, e->buf, SIZE, 0);
	e->other_pd = ibv_alloc_pd(e->dev.ctx);
	e->other = e->other_pd ? ibv_reg_mr(e->other_pd, e->buf, SIZE, all) : NULL;
	e->cq = ibv_create_cq(e->dev.ctx, 64, NULL, NULL, 0);
	return e->mr && e->readonly && e->other && e->cq ? 0 : -1;
}

static int make_qp(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.cap = {
			.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = e->dev.port,
		.qp_access_flags = access_flags,
	};

	e->qp = ibv_create_qp(e->dev.pd, &attr);
	if (!e->qp)
		return -errno;
	return -ibv_modify_qp(e->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      IBV_QP_ACCESS_FLAGS);
}

static int join(struct end *e, struct end *to)
{
	/* 33 ms, twice; for receives that never come, three times. */
	static const struct vconn conn = { .timeout = 13, .retry = 2, .rnr_retry = 3 };
	struct vpeer peer = vdev_peer(&to->dev, to->qp, 0);

	return vqp_rtr(&e->dev, e->qp, &peer, &conn) ?: vqp_rts(e->qp, 0, &conn);
}

static int send_wr(enum ibv_wr_opcode op, uint64_t at, uint32_t len, uint32_t lkey, uint64_t raddr,
		   uint32_t rkey)
{
	struct ibv_sge sge = { .addr = at, .length = len, .lkey = lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = op, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = raddr;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = raddr;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(a.qp, &wr, &bad);
}

static int recv_wr(struct end *e, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)e->buf, .length = len, .lkey = lkey };
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(e->qp, &wr, &bad);
}

static int write_to(uint64_t raddr, uint32_t len, uint32_t rkey)
{
	return send_wr(IBV_WR_RDMA_WRITE, (uintptr_t)a.buf, len, a.mr->lkey, raddr, rkey);
}

static int bad_rkey(void)
{
	return write_to((uintptr_t)b.buf, 64, b.mr->rkey ^ 0x55);
}

static int free_rkey(void)
{
	return write_to((uintptr_t)b.buf, 64, 0xfffffff0);
}

static int beyond(void)
{
	return write_to((uintptr_t)b.buf + SIZE - 32, 64, b.mr->rkey);
}

static int before(void)
{
	return write_to((uintptr_t)b.buf - 1, 64, b.mr->rkey);
}

static int wrap(void)
{
	return write_to(UINT64_MAX - 3, 64, b.mr->rkey);
}

static int no_write(void)
{
	return write_to((uintptr_t)b.buf, 64, b.readonly->rkey);
}

static int other_pd(void)
{
	return write_to((uintptr_t)b.buf, 64, b.other->rkey);
}

static int no_read(void)
{
	return send_wr(IBV_WR_RDMA_READ, (uintptr_t)a.buf, 64, a.mr->lkey, (uintptr_t)b.buf,
		       b.readonly->rkey);
}

static int read_to_readonly(void)
{
	return send_wr(IBV_WR_RDMA_READ, (uintptr_t)a.buf, 64, a.readonly->lkey,
		       (uintptr_t)b.buf, b.mr->rkey);
}

static int bad_lkey(void)
{
	return send_wr(IBV_WR_RDMA_WRITE, (uintptr_t)a.buf, 64, a.mr->lkey ^ 0x55,
		       (uintptr_t)b.buf, b.mr->rkey);
}

static int lkey_beyond(void)
{
	return send_wr(IBV_WR_RDMA_WRITE, (uintptr_t)a.buf + SIZE, 1, a.mr->lkey,
		       (uintptr_t)b.buf, b.mr->rkey);
}

static int lkey_other_pd(void)
{
	return send_wr(IBV_WR_RDMA_WRITE, (uintptr_t)a.buf, 64, a.other->lkey,
		       (uintptr_t)b.buf, b.mr->rkey);
}

static int odd_atomic(void)
{
	return send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, (uintptr_t)a.buf, 8, a.mr->lkey,
		       (uintptr_t)b.buf + 4, b.mr->rkey);
}

static int write_refused(void)
{
	return write_to((uintptr_t)b.buf, 64, b.mr->rkey);
}

static int long_send(void)
{
	return recv_wr(&b, 63, b.mr->lkey) ?:
	       send_wr(IBV_WR_SEND, (uintptr_t)a.buf, 64, a.mr->lkey, 0, 0);
}

static int send_to_bad(void)
{
	return recv_wr(&b, 64, b.mr->lkey ^ 0x55) ?:
	       send_wr(IBV_WR_SEND, (uintptr_t)a.buf, 64, a.mr->lkey, 0, 0);
}

static int send_to_readonly(void)
{
	return recv_wr(&b, 64, b.readonly->lkey) ?:
	       send_wr(IBV_WR_SEND, (uintptr_t)a.buf, 64, a.mr->lkey, 0, 0);
}

static int no_receive(void)
{
	return send_wr(IBV_WR_SEND, (uintptr_t)a.buf, 64, a.mr->lkey, 0, 0);
}

static int nobody(void)
{
	ibv_destroy_qp(b.qp);
	b.qp = NULL;
	return write_to((uintptr_t)b.buf, 64, b.mr->rkey);
}

static int to_err(void)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };

	return ibv_modify_qp(a.qp, &err, IBV_QP_STATE) ?:
	       write_to((uintptr_t)b.buf, 64, b.mr->rkey);
}

#define ALL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static const struct bad cases[] = {
	{ "rkey with another low byte", bad_rkey, IBV_WC_REM_ACCESS_ERR, NONE, ALL },
	{ "rkey that never was", free_rkey, IBV_WC_REM_ACCESS_ERR, NONE, ALL },
	{ "write beyond the end", beyond, IBV_WC_REM_ACCESS_ERR, NONE, ALL },
	{ "write before the start", before, IBV_WC_REM_ACCESS_ERR, NONE, ALL },
	{ "write round the end of memory", wrap, IBV_WC_REM_ACCESS_ERR, NONE, ALL },
	{ "write where only reading is allowed", no_write, IBV_WC_REM_ACCESS_ERR, NONE, ALL },
	{ "rkey of another protection domain", other_pd, IBV_WC_REM_ACCESS_ERR, NONE, ALL },
	{ "read without the right", no_read, IBV_WC_REM_ACCESS_ERR, NONE, ALL },
	{ "read into what is not writable", read_to_readonly, IBV_WC_LOC_PROT_ERR, NONE, ALL },
	{ "lkey with another low byte", bad_lkey, IBV_WC_LOC_PROT_ERR, NONE, ALL },
	{ "local address beyond the end", lkey_beyond, IBV_WC_LOC_PROT_ERR, NONE, ALL },
	{ "lkey of another protection domain", lkey_other_pd, IBV_WC_LOC_PROT_ERR, NONE, ALL },
	{ "atomic that is not aligned", odd_atomic, IBV_WC_REM_INV_REQ_ERR, NONE, ALL },
	{ "write to a QP that allows none", write_refused, IBV_WC_REM_INV_REQ_ERR, NONE, 0 },
	{ "send longer than the receive", long_send, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR,
	  ALL },
	{ "receive with a wrong lkey", send_to_bad, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, ALL },
	{ "receive into what is not writable", send_to_readonly, IBV_WC_REM_OP_ERR,
	  IBV_WC_LOC_PROT_ERR, ALL },
	{ "send without a receive", no_receive, IBV_WC_RNR_RETRY_EXC_ERR, NONE, ALL },
	{ "write to a QP that is gone", nobody, IBV_WC_RETRY_EXC_ERR, NONE, ALL },
	{ "request after the error state", to_err, IBV_WC_WR_FLUSH_ERR, NONE, ALL },
};

static int poll_for(struct ibv_cq *cq, const struct ibv_qp *qp, int want)
{
	time_t end = time(NULL) + WAIT_S;
	struct ibv_wc wc;
	int n = 0;

	if (want == NONE)
		return 0;
	while (time(NULL) < end) {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n && (n < 0 || !qp || wc.qp_num == qp->qp_num))
			break;
	}
	if (n != 1) {
		fprintf(stderr, "no completion\n");
		return -ETIMEDOUT;
	}
	if ((int)wc.status != want) {
		fprintf(stderr, "%s, not %s\n", ibv_wc_status_str(wc.status),
			ibv_wc_status_str(want));
		return -EIO;
	}
	return 0;
}

static int in_error(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		return -EIO;
	if (attr.qp_state == IBV_QPS_ERR)
		return 0;
	fprintf(stderr, "state %d\n", attr.qp_state);
	return -EIO;
}

static int run(const struct bad *c)
{
	int ret;

	access_flags = c->flags;
	ret = make_qp(&a) ?: make_qp(&b) ?: join(&a, &b) ?: join(&b, &a);
	/* One more receive, to see the flush of what was not used. */
	ret = ret ?: recv_wr(&a, 64, a.mr->lkey);
	ret = ret ?: c->post();
	ret = ret ?: poll_for(a.cq, a.qp, c->here);
	ret = ret ?: poll_for(a.cq, a.qp, IBV_WC_WR_FLUSH_ERR);
	ret = ret ?: poll_for(b.cq, b.qp, c->there);
	ret = ret ?: in_error(a.qp);
	if (a.qp)
		ibv_destroy_qp(a.qp);
	if (b.qp)
		ibv_destroy_qp(b.qp);
	a.qp = NULL;
	b.qp = NULL;
	return ret;
}

/* In the error state receives come back first: they are older. */
static int run_err(const struct bad *c)
{
	int ret;

	access_flags = c->flags;
	ret = make_qp(&a) ?: make_qp(&b) ?: join(&a, &b) ?: join(&b, &a);
	ret = ret ?: c->post();
	ret = ret ?: poll_for(a.cq, a.qp, c->here) ?: in_error(a.qp);
	ibv_destroy_qp(a.qp);
	ibv_destroy_qp(b.qp);
	a.qp = NULL;
	b.qp = NULL;
	return ret;
}

int main(int argc, char **argv)
{
	int ret, failed = 0;
	uint8_t *was;
	size_t i;

	if (argc != 3) {
		fprintf(stderr, "usage: hcabad FROM TO\n");
		return 2;
	}
	was = malloc(SIZE);
	if (!was || open_end(&a, argv[1]) || open_end(&b, argv[2]))
		return 1;
	memset(a.buf, 0xa5, SIZE);
	memset(b.buf, 0x5a, SIZE);
	memcpy(was, b.buf, SIZE);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ret = cases[i].post == to_err ? run_err(&cases[i]) : run(&cases[i]);
		if (memcmp(was, b.buf, SIZE)) {
			fprintf(stderr, "memory was touched\n");
			memcpy(b.buf, was, SIZE);
			ret = -EIO;
		}
		printf("%s - %s\n", ret ? "not ok" : "ok", cases[i].name);
		fflush(stdout);
		failed |= ret;
	}
	return !!failed;
}
