// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcaindirect FROM TO: indirect memory keys, which are lists of pieces of other keys'
 * memory. The one at TO is filled by its own QP; then FROM writes, reads and adds
 * through it. Prints "ok - NAME" or "not ok - NAME".
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/mlx5dv.h>

#include "verbs.h"

#define SIZE	8192
#define WAIT_S	20
#define PIECES	4
#define LEVELS	5	/* one more than the device has */
#define ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		 IBV_ACCESS_REMOTE_ATOMIC)

struct end {
	struct vdev dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *readonly, *other;
	struct ibv_pd *other_pd;
	struct mlx5dv_mkey *mkey[LEVELS];
	uint8_t *buf;
};

static struct end a, b;
static int failed;

static void tell(bool ok, const char *name)
{
	printf("%sok - %s\n", ok ? "" : "not ", name);
	failed |= !ok;
}

/* Of what was posted at @e; -1: none came. */
static int status_of(struct end *e)
{
	time_t end = time(NULL) + WAIT_S;
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(e->cq, 1, &wc);
	} while (!n && time(NULL) < end);
	return n == 1 ? (int)wc.status : -1;
}

static int open_end(struct end *e, const char *name)
{
	struct mlx5dv_mkey_init_attr init = {
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = PIECES,
	};
	int i;

	if (vdev_open(&e->dev, name) || posix_memalign((void **)&e->buf, 4096, SIZE))
		return complain("open");
	e->mr = ibv_reg_mr(e->dev.pd, e->buf, SIZE, ALL);
	e->readonly = ibv_reg_mr(e->dev.pd, e->buf, SIZE, 0);
	e->other_pd = ibv_alloc_pd(e->dev.ctx);
	e->other = e->other_pd ? ibv_reg_mr(e->other_pd, e->buf, SIZE, ALL) : NULL;
	e->cq = ibv_create_cq(e->dev.ctx, 16, NULL, NULL, 0);
	if (!e->mr || !e->readonly || !e->other || !e->cq)
		return complain("memory regions and a CQ");
	init.pd = e->dev.pd;
	for (i = 0; i < LEVELS; i++) {
		e->mkey[i] = mlx5dv_create_mkey(&init);
		if (!e->mkey[i])
			return complain("mlx5dv_create_mkey");
	}
	return 0;
}

static int make_qp(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RC, .pd = e->dev.pd,
		.cap = {
			.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 1,
			.max_inline_data = 256,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED,
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = e->dev.port,
		.qp_access_flags = ALL & ~IBV_ACCESS_LOCAL_WRITE,
	};

	e->qp = mlx5dv_create_qp(e->dev.ctx, &attr, &dv);
	if (!e->qp)
		return complain("mlx5dv_create_qp");
	return -ibv_modify_qp(e->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      IBV_QP_ACCESS_FLAGS);
}

/* Fresh QPs for each case: a failure ends the old ones. */
static int join(void)
{
	static const struct vconn conn = { .timeout = 13, .retry = 2, .rnr_retry = 3 };
	struct vpeer pa, pb;

	if (a.qp)
		ibv_destroy_qp(a.qp);
	if (b.qp)
		ibv_destroy_qp(b.qp);
	if (make_qp(&a) || make_qp(&b))
		return -1;
	pa = vdev_peer(&a.dev, a.qp, 0);
	pb = vdev_peer(&b.dev, b.qp, 0);
	return vqp_rtr(&a.dev, a.qp, &pb, &conn) ?: vqp_rtr(&b.dev, b.qp, &pa, &conn) ?:
	       vqp_rts(a.qp, 0, &conn) ?: vqp_rts(b.qp, 0, &conn);
}

/* Puts a list of @n pieces into a key of @b. Returns the status of that work request. */
static int fill(int key, uint32_t access, int n, struct ibv_sge *sge)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(b.qp);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(dv, b.mkey[key], access, n, sge);
	if (ibv_wr_complete(ex))
		return complain("mlx5dv_wr_mr_list");
	return status_of(&b);
}

static int fill_strided(int n, uint32_t repeat, struct mlx5dv_mr_interleaved *part)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(b.qp);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_interleaved(dv, b.mkey[0], ALL, repeat, n, part);
	if (ibv_wr_complete(ex))
		return complain("mlx5dv_wr_mr_interleaved");
	return status_of(&b);
}

/* What @a does with the bytes from @at on of a key of @b's; the status. */
static int reach(enum ibv_wr_opcode op, uint32_t len, uint64_t at, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)a.buf, .length = len, .lkey = a.mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = op, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = at;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = at;
		wr.wr.rdma.rkey = rkey;
	}
	if (ibv_post_send(a.qp, &wr, &bad))
		return complain("ibv_post_send");
	return status_of(&a);
}

static struct ibv_sge piece(uint32_t offset, uint32_t len, uint32_t key)
{
	return (struct ibv_sge){ .addr = (uintptr_t)b.buf + offset, .length = len, .lkey = key };
}

static void pattern(uint8_t *p, size_t n, uint32_t seed)
{
	for (; n; n--)
		*p++ = vrnd(&seed) >> 8;
}

/* Three pieces out of order, across pages, and what lies between is left alone. */
static void lists(void)
{
	struct ibv_sge sge[] = {
		piece(4090, 100, b.mr->lkey), piece(10, 7, b.mr->lkey), piece(6000, 501, b.mr->lkey),
	};
	uint8_t want[SIZE];

	pattern(a.buf, SIZE, 1);
	pattern(b.buf, SIZE, 2);
	memcpy(want, b.buf, SIZE);
	memcpy(want + 4090 + 50, a.buf, 50);
	memcpy(want + 10, a.buf + 50, 7);
	memcpy(want + 6000, a.buf + 57, 501);
	tell(!join() && fill(0, ALL, 3, sge) == IBV_WC_SUCCESS, "a list of three pieces");
	tell(reach(IBV_WR_RDMA_WRITE, 558, 50, b.mkey[0]->rkey) == IBV_WC_SUCCESS, "write to all but 50 bytes of it");
	tell(!memcmp(want, b.buf, SIZE), "... puts every byte in its piece, and no other");
	memset(a.buf, 0, SIZE);
	tell(reach(IBV_WR_RDMA_READ, 608, 0, b.mkey[0]->rkey) == IBV_WC_SUCCESS &&
	     !memcmp(a.buf, want + 4090, 100) && !memcmp(a.buf + 100, want + 10, 7) &&
	     !memcmp(a.buf + 107, want + 6000, 501), "read them all");
	tell(reach(IBV_WR_RDMA_WRITE, 1, 608, b.mkey[0]->rkey) == IBV_WC_REM_ACCESS_ERR, "no byte behind the last");
}

static void strided(void)
{
	struct mlx5dv_mr_interleaved part[] = {
		{ .addr = (uintptr_t)b.buf, .bytes_count = 3, .bytes_skip = 5, .lkey = b.mr->lkey },
		{ .addr = (uintptr_t)b.buf + 4094, .bytes_count = 5, .bytes_skip = 0, .lkey = b.mr->lkey },
	};
	uint8_t want[SIZE];
	int i;

	pattern(a.buf, SIZE, 3);
	pattern(b.buf, SIZE, 4);
	memcpy(want, b.buf, SIZE);
	for (i = 0; i < 10; i++) {
		memcpy(want + 8 * i, a.buf + 8 * i, 3);
		memcpy(want + 4094 + 5 * i, a.buf + 8 * i + 3, 5);
	}
	tell(!join() && fill_strided(2, 10, part) == IBV_WC_SUCCESS, "two pieces, ten times");
	tell(reach(IBV_WR_RDMA_WRITE, 80, 0, b.mkey[0]->rkey) == IBV_WC_SUCCESS &&
	     !memcmp(want, b.buf, SIZE), "... and the bytes are where they belong");
	tell(reach(IBV_WR_RDMA_WRITE, 81, 0, b.mkey[0]->rkey) == IBV_WC_REM_ACCESS_ERR, "there is no eleventh");
}

/* Keys of keys: byte 0 of the last is byte 8 of the first's memory. */
static void nested(void)
{
	struct ibv_sge sge = piece(0, 4096, b.mr->lkey);
	uint64_t sum = 37;
	int i;

	tell(!join() && fill(0, ALL, 1, &sge) == IBV_WC_SUCCESS, "a key");
	for (i = 1; i < LEVELS; i++) {
		struct ibv_sge of = { .addr = i == 1 ? 8 : 0, .length = 2048, .lkey = b.mkey[i - 1]->lkey };

		if (fill(i, ALL, 1, &of) != IBV_WC_SUCCESS)
			break;
	}
	tell(i == LEVELS, "... and four of each other");
	memcpy(b.buf + 8, &sum, sizeof(sum));
	tell(reach(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, b.mkey[LEVELS - 2]->rkey) == IBV_WC_SUCCESS &&
	     !memcmp(a.buf, &sum, sizeof(sum)), "add by the fourth");
	memcpy(&sum, b.buf + 8, sizeof(sum));
	tell(sum == 42, "... is done in the first's memory");
	tell(reach(IBV_WR_RDMA_READ, 8, 0, b.mkey[LEVELS - 1]->rkey) == IBV_WC_REM_ACCESS_ERR,
	     "the fifth is one too many");
}

static void rights(void)
{
	struct ibv_sge plain = piece(0, 64, b.mr->lkey), reads = piece(0, 64, b.readonly->lkey);
	struct ibv_sge other = piece(0, 64, b.other->lkey), long_one = piece(SIZE - 32, 64, b.mr->lkey);
	uint32_t key = b.mkey[0]->rkey;

	tell(!join() && fill(0, IBV_ACCESS_REMOTE_READ, 1, &plain) == IBV_WC_SUCCESS &&
	     reach(IBV_WR_RDMA_READ, 64, 0, key) == IBV_WC_SUCCESS &&
	     reach(IBV_WR_RDMA_WRITE, 64, 0, key) == IBV_WC_REM_ACCESS_ERR, "a key that may be read");
	tell(!join() && fill(0, ALL, 1, &reads) == IBV_WC_SUCCESS &&
	     reach(IBV_WR_RDMA_READ, 64, 0, key) == IBV_WC_SUCCESS &&
	     reach(IBV_WR_RDMA_WRITE, 64, 0, key) == IBV_WC_REM_ACCESS_ERR, "... of memory that may");
	tell(!join() && fill(0, ALL, 1, &other) == IBV_WC_SUCCESS &&
	     reach(IBV_WR_RDMA_READ, 64, 0, key) == IBV_WC_REM_ACCESS_ERR, "not of another protection domain's memory");
	tell(!join() && fill(0, ALL, 1, &long_one) == IBV_WC_SUCCESS &&
	     reach(IBV_WR_RDMA_READ, 32, 0, key) == IBV_WC_SUCCESS &&
	     reach(IBV_WR_RDMA_READ, 33, 0, key) == IBV_WC_REM_ACCESS_ERR, "not beyond a piece's region");
}

/* A UMR by a QP of another protection domain is refused. */
static void others(void)
{
	struct ibv_sge sge = piece(0, 64, b.other->lkey);
	struct ibv_pd *own = b.dev.pd;
	int status = -1;

	b.dev.pd = b.other_pd;
	if (!join())
		status = fill(0, ALL, 1, &sge);
	tell(status == IBV_WC_MW_BIND_ERR, "no other protection domain's QP may fill it");
	b.dev.pd = own;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: hcaindirect FROM TO\n");
		return 2;
	}
	if (open_end(&a, argv[1]) || open_end(&b, argv[2]))
		return 2;
	lists();
	strided();
	nested();
	rights();
	others();
	return failed;
}
