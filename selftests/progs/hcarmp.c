// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcarmp DEVICE: receive queues that are made past RDMA core (RMP), their states, what is
 * refused. Prints "ok - NAME" or "not ok - NAME". Messages through one: UCX.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

#include "verbs.h"

/* Of the PRM, in dwords: create_rmp_in, whose context begins at dword 8, with the queue. */
#define CTX		8
#define WQ		(CTX + 12)
#define CREATE_DWORDS	(WQ + 48)
#define QUERY_DWORDS	(4 + CREATE_DWORDS)
#define OP_CREATE	0x90c
#define OP_MODIFY	0x90d
#define OP_QUERY	0x90f
#define READY		1
#define FAILED		3
#define LINKED		0
#define CYCLIC		1
#define STRIDING	2
#define LOG_SIZE	6
#define LOG_STRIDE	5
#define DBR		2048
#define LWM_BIT		1

static struct vdev dev;
static struct mlx5dv_devx_umem *umem;
static uint32_t pdn;
static int failed;

static void tell(bool ok, const char *name)
{
	printf("%sok - %s\n", ok ? "" : "not ", name);
	failed |= !ok;
}

static struct mlx5dv_devx_obj *create(uint32_t type, uint32_t pd, uint32_t log_stride, uint32_t at,
				      uint32_t *rmpn)
{
	__be32 in[CREATE_DWORDS] = { htobe32(OP_CREATE << 16) }, out[4] = {};
	struct mlx5dv_devx_obj *obj;

	in[CTX] = htobe32(READY << 20);
	in[WQ] = htobe32(type << 28);
	in[WQ + 2] = htobe32(pd);
	in[WQ + 5] = htobe32(DBR);
	in[WQ + 8] = htobe32(log_stride << 16 | LOG_SIZE);
	in[WQ + 10] = htobe32(umem->umem_id);
	in[WQ + 11] = htobe32(umem->umem_id);
	in[WQ + 13] = htobe32(at);
	obj = mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out, sizeof(out));
	if (obj)
		*rmpn = be32toh(out[2]) & 0xffffff;
	return obj;
}

static bool modify(struct mlx5dv_devx_obj *obj, uint32_t rmpn, uint32_t from, uint32_t to, uint32_t lwm)
{
	__be32 in[CREATE_DWORDS] = { htobe32(OP_MODIFY << 16) }, out[4] = {};

	in[2] = htobe32(from << 28 | rmpn);
	in[5] = htobe32(lwm ? LWM_BIT : 0);
	in[CTX] = htobe32(to << 20);
	in[WQ + 1] = htobe32(lwm);
	return !mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, sizeof(out));
}

/* State, type and low-water mark. */
static bool is(struct mlx5dv_devx_obj *obj, uint32_t rmpn, uint32_t state, uint32_t type, uint32_t lwm)
{
	__be32 in[4] = { htobe32(OP_QUERY << 16), 0, htobe32(rmpn) }, out[QUERY_DWORDS] = {};

	if (mlx5dv_devx_obj_query(obj, in, sizeof(in), out, sizeof(out)))
		return false;
	return (be32toh(out[CTX]) >> 20 & 0xf) == state && be32toh(out[WQ]) >> 28 == type &&
	       (be32toh(out[WQ + 1]) & 0xffff) == lwm && be32toh(out[WQ + 2]) == pdn &&
	       (be32toh(out[WQ + 8]) & 0x1f) == LOG_SIZE;
}

static void lives(uint32_t type, const char *name)
{
	uint32_t rmpn = 0;
	struct mlx5dv_devx_obj *obj = create(type, pdn, LOG_STRIDE, 0, &rmpn);
	char text[80];

	snprintf(text, sizeof(text), "a %s queue", name);
	tell(obj && is(obj, rmpn, READY, type, 0), text);
	if (!obj)
		return;
	tell(modify(obj, rmpn, READY, READY, 7) && is(obj, rmpn, READY, type, 7), "... with a low-water mark");
	tell(!modify(obj, rmpn, FAILED, READY, 0), "... not from a state that it is not in");
	tell(modify(obj, rmpn, READY, FAILED, 0) && is(obj, rmpn, FAILED, type, 7), "... to the error state");
	tell(!modify(obj, rmpn, FAILED, READY, 0), "... and not back");
	tell(!mlx5dv_devx_obj_destroy(obj), "... destroyed");
}

int main(int argc, char **argv)
{
	struct mlx5dv_pd pd = {};
	struct mlx5dv_obj what = {};
	uint32_t rmpn;
	void *mem;

	if (argc != 2) {
		fprintf(stderr, "usage: hcarmp DEVICE\n");
		return 2;
	}
	if (vdev_open(&dev, argv[1]) || posix_memalign(&mem, 4096, 4096))
		return 2;
	umem = mlx5dv_devx_umem_reg(dev.ctx, mem, 4096, IBV_ACCESS_LOCAL_WRITE);
	what.pd.in = dev.pd;
	what.pd.out = &pd;
	if (!umem || mlx5dv_init_obj(&what, MLX5DV_OBJ_PD)) {
		complain("a UMEM and a PD");
		return 2;
	}
	pdn = pd.pdn;
	lives(LINKED, "linked");
	lives(CYCLIC, "cyclic");
	tell(!create(STRIDING, pdn, LOG_STRIDE, 0, &rmpn), "none whose WQEs take several messages");
	tell(!create(CYCLIC, pdn + 4000, LOG_STRIDE, 0, &rmpn), "none of no protection domain");
	tell(!create(CYCLIC, pdn, 3, 0, &rmpn), "none with WQEs of 8 bytes");
	tell(!create(CYCLIC, pdn, LOG_STRIDE, 4096 - 64, &rmpn), "none beyond its memory");
	return failed;
}
