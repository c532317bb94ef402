// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * devxqp: QPs that are made past RDMA core, by the NIC's own command. Reads commands
 * from stdin and answers each with one line.
 *
 *	create		one more: "create QPN UAR-PAGE"
 *	plain		one by ibv_create_qp(): "plain QPN"
 *	destroy		the last of "create": "destroy QPN"
 *	churn N		N, each created and destroyed: "churn N"
 *	quit
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

#include "verbs.h"

#define MAX_QPS		512
#define PAGE		4096

/* The queue and the doorbell record of each, in a page of its own. */
#define LOG_SQ		4
#define DBR_OFFSET	2048

/* struct create_qp_in of the PRM, and in it the qpc: first bit and bits of a field. */
#define IN_BYTES	272
#define OUT_BYTES	16
#define QPC		0xc0
#define F_OPCODE	0x00, 16
#define F_ST		(QPC + 0x08), 8
#define F_PM_STATE	(QPC + 0x13), 2
#define F_PD		(QPC + 0x28), 24
#define F_LOG_SQ	(QPC + 0x51), 4
#define F_UAR_PAGE	(QPC + 0x68), 24
#define F_CQN_SND	(QPC + 0x3e8), 24
#define F_CQN_RCV	(QPC + 0x4e8), 24
#define F_DBR_ADDR_LOW	(QPC + 0x520), 32
#define F_RQ_TYPE	(QPC + 0x565), 3
#define F_DBR_UMEM_OK	(QPC + 0x683), 1
#define F_DBR_UMEM	(QPC + 0x720), 32
#define F_WQ_UMEM	0x840, 32
#define F_WQ_UMEM_OK	0x860, 1
#define F_OUT_QPN	0x48, 24

#define OP_CREATE_QP	0x500
#define ST_RC		0
#define MIGRATED	3
#define RQ_NONE		3

struct made {
	struct mlx5dv_devx_obj *obj;
	struct mlx5dv_devx_umem *umem;
	void *mem;
	uint32_t qpn;
};

static struct vdev dev;
static struct ibv_cq *cq;
static struct mlx5dv_devx_uar *uar;
static struct mlx5dv_pd pd_is;
static struct mlx5dv_cq cq_is;
static struct made qps[MAX_QPS];
static uint32_t n;

/* A field never crosses a dword. */
static void put(void *cmd, uint32_t at, uint32_t bits, uint32_t value)
{
	uint32_t shift = 32 - at % 32 - bits, word;
	uint8_t *p = (uint8_t *)cmd + at / 32 * 4;

	memcpy(&word, p, 4);
	word = htobe32(be32toh(word) | value << shift);
	memcpy(p, &word, 4);
}

static uint32_t get(const void *cmd, uint32_t at, uint32_t bits)
{
	uint32_t word;

	memcpy(&word, (const uint8_t *)cmd + at / 32 * 4, 4);
	return be32toh(word) >> (32 - at % 32 - bits) & ((1ull << bits) - 1);
}

static int create(void)
{
	uint8_t in[IN_BYTES] = { 0 }, out[OUT_BYTES] = { 0 };
	struct made *q = &qps[n];

	if (n == MAX_QPS)
		return -ENOSPC;
	q->mem = aligned_alloc(PAGE, PAGE);
	if (!q->mem)
		return complain("memory");
	memset(q->mem, 0, PAGE);
	q->umem = mlx5dv_devx_umem_reg(dev.ctx, q->mem, PAGE, IBV_ACCESS_LOCAL_WRITE);
	if (!q->umem)
		return complain("umem");
	put(in, F_OPCODE, OP_CREATE_QP);
	put(in, F_ST, ST_RC);
	put(in, F_PM_STATE, MIGRATED);
	put(in, F_PD, pd_is.pdn);
	put(in, F_LOG_SQ, LOG_SQ);
	put(in, F_UAR_PAGE, uar->page_id);
	put(in, F_CQN_SND, cq_is.cqn);
	put(in, F_CQN_RCV, cq_is.cqn);
	put(in, F_DBR_ADDR_LOW, DBR_OFFSET);
	put(in, F_RQ_TYPE, RQ_NONE);
	put(in, F_DBR_UMEM_OK, 1);
	put(in, F_DBR_UMEM, q->umem->umem_id);
	put(in, F_WQ_UMEM, q->umem->umem_id);
	put(in, F_WQ_UMEM_OK, 1);
	q->obj = mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out, sizeof(out));
	if (!q->obj)
		return complain("create");
	q->qpn = get(out, F_OUT_QPN);
	n++;
	return 0;
}

static int destroy(void)
{
	struct made *q = &qps[--n];

	if (mlx5dv_devx_obj_destroy(q->obj) || mlx5dv_devx_umem_dereg(q->umem))
		return complain("destroy");
	free(q->mem);
	return 0;
}

static int obey(const char *line)
{
	uint32_t times, i;
	struct ibv_qp *qp;

	if (!strcmp(line, "create\n")) {
		if (create())
			return -1;
		printf("create %u %u\n", qps[n - 1].qpn, uar->page_id);
	} else if (!strcmp(line, "plain\n")) {
		qp = vqp_sender(dev.pd, cq, 1);
		if (!qp)
			return complain("QP");
		printf("plain %u\n", qp->qp_num);
	} else if (!strcmp(line, "destroy\n") && n) {
		if (destroy())
			return -1;
		printf("destroy %u\n", qps[n].qpn);
	} else if (sscanf(line, "churn %" SCNu32, &times) == 1) {
		for (i = 0; i < times; i++)
			if (create() || destroy())
				return -1;
		printf("churn %u\n", times);
	} else {
		fprintf(stderr, "devxqp: what is %s", line);
		return -1;
	}
	return fflush(stdout);
}

int main(int argc, char **argv)
{
	struct mlx5dv_obj obj = { 0 };

	if (argc > 2 || vdev_open(&dev, argc == 2 ? argv[1] : NULL))
		return 2;
	cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	uar = mlx5dv_devx_alloc_uar(dev.ctx, 0);
	if (!cq || !uar) {
		complain("CQ and UAR");
		return 2;
	}
	obj.pd.in = dev.pd;
	obj.pd.out = &pd_is;
	obj.cq.in = cq;
	obj.cq.out = &cq_is;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD | MLX5DV_OBJ_CQ)) {
		complain("PD and CQ");
		return 2;
	}
	return obey_lines(obey) ? 1 : 0;
}
