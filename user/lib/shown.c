// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues whose memory a program gets by mlx5dv_init_obj(), in order to write and read the entries itself.
 * The library does not see what the program does there, so it never moves such a QP, and does not poll
 * such a CQ.
 */
#include <infiniband/mlx5dv.h>

#include "lib/lib.h"

/* The QP that carries the program's requests; it does not move any more. */
static struct ibv_qp *show_qp(struct ibv_qp *qp)
{
	struct move *m = move_of(qp_find(qp));

	return m ? move_pin_shown(m) : qp;
}

/* The register by its address in this process; 0: not known. The provider is libmlx5. */
static uintptr_t register_of(struct ibv_qp *qp)
{
	struct mlx5dv_qp shown = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &shown } };

	if (!FIND_MLX5(init_obj, "1.2") || next_mlx5.init_obj(&obj, MLX5DV_OBJ_QP))
		return 0;
	return (uintptr_t)shown.bf.reg;
}

uintptr_t (*move_register_of)(struct ibv_qp *qp) = register_of;

EXPORT int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	struct ibv_qp *qp = obj_type & MLX5DV_OBJ_QP ? obj->qp.in : NULL;
	struct cq *c = obj_type & MLX5DV_OBJ_CQ ? cq_find(obj->cq.in) : NULL;
	int ret;

	if (!FIND_MLX5(init_obj, "1.2"))
		return ENOSYS;
	if (c && *c->alive)
		c->shown = true;
	if (qp)
		obj->qp.in = show_qp(qp);
	ret = next_mlx5.init_obj(obj, obj_type);
	if (qp)
		obj->qp.in = qp;
	return ret;
}
