// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The functions of libibverbs and libmlx5 that make and end contexts, QPs and CQs, under
 * the symbol versions that programs ask for. What programs call through pointers is
 * patched in context.c, wr_ex.c and cq.c.
 */
#include "lib/lib.h"

struct next next;
static pthread_once_t next_once = PTHREAD_ONCE_INIT;

#define FIND(member, version) \
	(next.member ? (void *)next.member : lookup_next("libibverbs.so.1", "ibv_" #member, "IBVERBS_" version))

static void find_next(void)
{
	next.open_device = FIND(open_device, "1.1");
	next.import_device = FIND(import_device, "1.10");
	next.close_device = FIND(close_device, "1.1");
	next.create_cq = FIND(create_cq, "1.1");
	next.destroy_cq = FIND(destroy_cq, "1.1");
	next.create_qp = FIND(create_qp, "1.1");
	next.modify_qp = FIND(modify_qp, "1.1");
	next.destroy_qp = FIND(destroy_qp, "1.1");
	next.qp_to_qp_ex = FIND(qp_to_qp_ex, "1.6");
}

/* Not of this library: a program that has it is linked against one that does. */
static bool begin(void)
{
	int err = errno;

	pthread_once(&next_once, find_next);
	errno = err;
	return next.open_device && next.close_device && next.create_qp && next.create_cq;
}

static struct ibv_context *watched(struct ibv_context *ctx)
{
	if (ctx)
		context_watch(ctx);
	return ctx;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	if (!begin()) {
		errno = ENOSYS;
		return NULL;
	}
	return watched(next.open_device(device));
}

EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	if (!begin() || !next.import_device) {
		errno = ENOSYS;
		return NULL;
	}
	return watched(next.import_device(cmd_fd));
}

EXPORT int ibv_close_device(struct ibv_context *ctx)
{
	begin();
	context_close(ctx);
	return next.close_device(ctx);
}

/* One that was opened where the library could not see it is watched from here on. */
static struct context *context_of(struct ibv_context *ctx)
{
	struct context *c = context_find(ctx);

	if (!c)
		c = context_watch(ctx);
	return c && *c->alive ? c : NULL;
}

static struct ibv_cq *created_cq(struct ibv_context *ctx, struct ibv_cq *cq)
{
	struct context *c = cq ? context_of(ctx) : NULL;

	if (c)
		cq_add(c, cq);
	return cq;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	begin();
	return created_cq(ctx, next.create_cq(ctx, cqe, cq_context, channel, comp_vector));
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct cq *c = table_find(cq);
	int ret;

	begin();
	ret = next.destroy_cq(cq);
	if (!ret && c)
		cq_remove(cq, c);
	return ret;
}

void created_qp(struct context *c, struct ibv_qp *qp, const struct qp_want *want)
{
	int err = errno;
	struct qp *q = qp_add(c, qp, want);
	struct ibv_qp_ex *qpx;

	begin();
	qpx = q && next.qp_to_qp_ex ? next.qp_to_qp_ex(qp) : NULL;
	if (qpx)
		wr_patch(q, qpx);
	errno = err;
}

/* @attr says what the provider gave; @asked is for one that does not say. */
static struct ibv_qp *created(struct ibv_context *ctx, struct ibv_qp *qp, uint32_t asked,
			      uint32_t got, bool sig_all)
{
	struct context *c = qp ? context_of(ctx) : NULL;

	if (c)
		created_qp(c, qp, &(struct qp_want){
			.max_send_wr = asked > got ? asked : got, .sig_all = sig_all, .ring = true,
		});
	return qp;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	uint32_t asked = attr->cap.max_send_wr;
	struct ibv_context *ctx = pd->context;

	begin();
	return created(ctx, next.create_qp(pd, attr), asked, attr->cap.max_send_wr,
		       attr->sq_sig_all);
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct qp *q = qp_find(qp);
	struct ibv_qp_ex *qpx;
	int ret, err;

	begin();
	ret = next.modify_qp(qp, attr, mask);
	if (ret || !q || !*q->alive)
		return ret;
	err = errno;
	/* libmlx5 sets wr_complete anew when a QP comes to RESET or RTS. */
	qpx = q->wr_real && next.qp_to_qp_ex ? next.qp_to_qp_ex(qp) : NULL;
	if (qpx)
		wr_patch(q, qpx);
	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
		stash_purge(qp->send_cq, q->qpn);
		stash_purge(qp->recv_cq, q->qpn);
		qp_reset(q);
	}
	errno = err;
	return ret;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct ibv_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;
	struct qp *q = qp_find(qp);
	int ret;

	begin();
	ret = next.destroy_qp(qp);
	if (!ret && q) {
		stash_purge(send_cq, q->qpn);
		stash_purge(recv_cq, q->qpn);
		qp_remove(q);
	}
	return ret;
}

/* --- libmlx5 -------------------------------------------------------------------- */

EXPORT struct ibv_qp *mlx5dv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				       struct mlx5dv_qp_init_attr *dv)
{
	static struct ibv_qp *(*_Atomic real)(struct ibv_context *ctx,
					      struct ibv_qp_init_attr_ex *attr,
					      struct mlx5dv_qp_init_attr *dv);
	uint32_t asked = attr->cap.max_send_wr;

	if (!real)
		real = lookup_next("libmlx5.so.1", "mlx5dv_create_qp", "MLX5_1.3");
	if (!real) {
		errno = ENOSYS;
		return NULL;
	}
	return created(ctx, real(ctx, attr, dv), asked, attr->cap.max_send_wr, attr->sq_sig_all);
}

EXPORT struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr,
					  struct mlx5dv_cq_init_attr *dv)
{
	static struct ibv_cq_ex *(*_Atomic real)(struct ibv_context *ctx,
						 struct ibv_cq_init_attr_ex *attr,
						 struct mlx5dv_cq_init_attr *dv);
	struct context *c = context_of(ctx);
	struct ibv_cq_ex *cqx;
	struct cq *cq;

	if (!real)
		real = lookup_next("libmlx5.so.1", "mlx5dv_create_cq", "MLX5_1.1");
	if (!real) {
		errno = ENOSYS;
		return NULL;
	}
	cqx = real(ctx, attr, dv);
	cq = cqx && c ? cq_add(c, ibv_cq_ex_to_cq(cqx)) : NULL;
	if (cq)
		cq_patch(cq, cqx);
	return cqx;
}
