// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Contexts: replaces the functions that programs call through a context's pointers. */
#include <stdlib.h>
#include <string.h>

#include "lib/lib.h"

/* Contexts are few and never freed; the struct of a closed one is used again. */
static struct context *_Atomic contexts;

struct context *context_find(const struct ibv_context *ctx)
{
	for (struct context *c = contexts; c; c = c->next)
		if (c->key == ctx)
			return c;
	return NULL;
}

bool context_uses(const struct device *dev)
{
	for (const struct context *c = contexts; c; c = c->next)
		if (c->key && c->dev == dev)
			return true;
	return false;
}

bool context_put_qpn(struct context *c, uint32_t qpn, struct qp *q)
{
	struct qpn_page *page;

	if (qpn >> 24)
		return false;
	page = c->qpns[qpn >> QPN_LOW_BITS];
	if (!page) {
		page = calloc(1, sizeof(*page));
		if (!page)
			return false;
		atomic_store_explicit(&c->qpns[qpn >> QPN_LOW_BITS], page, memory_order_release);
	}
	atomic_store_explicit(&page->qp[qpn & ((1 << QPN_LOW_BITS) - 1)], q, memory_order_release);
	return true;
}

void context_drop_qpn(struct context *c, uint32_t qpn, const struct qp *q)
{
	/* The number may be a newer QP's by now. */
	if (context_qp(c, qpn) == q)
		context_put_qpn(c, qpn, NULL);
}

#define PLACED_ATTRS (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

static struct ibv_qp *create_in_pd(struct context *c, struct ibv_pd *pd, void *attr)
{
	struct ibv_qp_init_attr_ex *a = attr;
	struct ibv_pd *asked = a->pd;
	struct ibv_qp *qp;

	a->pd = pd;
	qp = c->create_qp_ex(pd->context, a);
	a->pd = asked;
	return qp;
}

/* In a register of the library, or as the program asked. */
static struct ibv_qp *create_qp_ex(struct context *c, struct ibv_context *ctx,
				   struct ibv_qp_init_attr_ex *attr)
{
	uint32_t asked = attr->cap.max_send_wr;
	struct ibv_qp *qp = NULL;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_PD && !(attr->comp_mask & ~PLACED_ATTRS))
		qp = place_create(c, attr->pd, attr, create_in_pd);
	if (qp)
		return qp;
	qp = c->create_qp_ex(ctx, attr);
	if (qp && *c->alive) {
		struct qp_want want = {
			.max_send_wr = asked > attr->cap.max_send_wr ? asked : attr->cap.max_send_wr,
			.sig_all = attr->sq_sig_all, .ring = true,
			.own_domain = place_knows_pd(qp->pd),
		};

		track_qp(c, qp, &want);
	}
	return qp;
}

static struct ibv_qp *lib_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct context *c = context_find(ctx);
	struct ibv_qp_init_attr *base = (struct ibv_qp_init_attr *)attr;
	struct move_ask moves;
	struct chunk_ask ask;
	struct ibv_qp *qp;

	moves = move_ask_ex(c, attr);
	place_read_control(c);
	ask = chunk_ask(c, base);
	qp = create_qp_ex(c, ctx, attr);
	if (!qp && chunk_unask(&ask, base))
		qp = create_qp_ex(c, ctx, attr);
	if (!qp && move_unask(&moves, base))
		qp = create_qp_ex(c, ctx, attr);
	if (qp)
		chunk_give(qp, base, &ask);
	if (qp && settings.move)
		move_adopt(qp, base, &moves);
	return qp;
}

/* The receiving end of an XRC QP that another process made: nothing is posted to it. */
static struct ibv_qp *lib_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	struct context *c = context_find(ctx);
	struct ibv_qp *qp = c->open_qp(ctx, attr);

	if (qp && *c->alive)
		track_qp(c, qp, &(struct qp_want){ .opened = true });
	return qp;
}

/* Asks for the QP number of each entry, because completions are accounted to QPs. */
static struct ibv_cq_ex *lib_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct context *c = context_find(ctx);
	struct ibv_cq_init_attr_ex more = *attr;
	struct ibv_cq_ex *cqx = NULL;
	uint32_t room, asked;
	bool moves;
	struct cq *cq;
	int err;

	if (!*c->alive)
		return c->create_cq_ex(ctx, attr);
	room = chunk_cq_room(c, attr->cqe);
	more.cqe += room;
	asked = more.cqe;
	moves = entries_ask(&more);
	more.wc_flags |= IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_BYTE_LEN;
	if (moves)
		cqx = c->create_cq_ex(ctx, &more);
	if (!cqx) {
		moves = false;
		more.cqe = asked;
	}
	if (!cqx)
		cqx = c->create_cq_ex(ctx, &more);
	/* The provider may have refused the size, or the flags that were added. */
	if (!cqx && room) {
		more.cqe -= room;
		room = 0;
		cqx = c->create_cq_ex(ctx, &more);
	}
	if (!cqx && more.wc_flags != attr->wc_flags)
		cqx = c->create_cq_ex(ctx, attr);
	if (!cqx)
		return NULL;
	err = errno;
	cq = cq_add(c, ibv_cq_ex_to_cq(cqx));
	if (cq && !(moves && entries_patch(cq, cqx)))
		cq_patch(cq, cqx);
	if (cq)
		cq_add_room(cq, room);
	errno = err;
	return cqx;
}

/* Called for SRQs of types that ibv_create_srq() does not make. */
static struct ibv_srq *lib_create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr)
{
	struct context *c = context_find(ctx);

	atomic_store(&c->special_srqs, true);
	return c->create_srq_ex(ctx, attr);
}

static void replace_functions(struct context *c, struct ibv_context *ctx)
{
	struct verbs_context *v = verbs_get_ctx(ctx);

	c->real = ctx->ops;
	c->create_qp_ex = verbs_get_ctx_op(ctx, create_qp_ex) ? v->create_qp_ex : NULL;
	c->create_cq_ex = verbs_get_ctx_op(ctx, create_cq_ex) ? v->create_cq_ex : NULL;
	c->open_qp = verbs_get_ctx_op(ctx, open_qp) ? v->open_qp : NULL;
	c->create_srq_ex = verbs_get_ctx_op(ctx, create_srq_ex) ? v->create_srq_ex : NULL;
	c->alloc_parent_domain = verbs_get_ctx_op(ctx, alloc_parent_domain) ?
				 v->alloc_parent_domain : NULL;
	c->modify_qp_rate_limit = verbs_get_ctx_op(ctx, modify_qp_rate_limit) ?
				  v->modify_qp_rate_limit : NULL;
	/* The context must be known before its functions are replaced, because these look it up. */
	atomic_store_explicit(&c->key, ctx, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);

	/* Pointers that are not set stay unset, because programs test some of them. */
	if (ctx->ops.poll_cq)
		ctx->ops.poll_cq = lib_poll_cq;
	if (ctx->ops.req_notify_cq)
		ctx->ops.req_notify_cq = lib_req_notify_cq;
	if (ctx->ops.post_send)
		ctx->ops.post_send = lib_post_send;
	if (ctx->ops.post_recv)
		ctx->ops.post_recv = lib_post_recv;
	if (ctx->ops.post_srq_recv)
		ctx->ops.post_srq_recv = lib_post_srq_recv;
	if (ctx->ops.bind_mw)
		ctx->ops.bind_mw = lib_bind_mw;
	if (c->create_qp_ex)
		v->create_qp_ex = lib_create_qp_ex;
	if (c->create_cq_ex)
		v->create_cq_ex = lib_create_cq_ex;
	if (c->open_qp)
		v->open_qp = lib_open_qp;
	if (c->create_srq_ex)
		v->create_srq_ex = lib_create_srq_ex;
	if (c->alloc_parent_domain)
		v->alloc_parent_domain = lib_alloc_parent_domain;
	if (c->modify_qp_rate_limit)
		v->modify_qp_rate_limit = lib_modify_qp_rate_limit;
}

/* Forgets QPs that the program did not destroy before it closed the context. */
static void clear_qpns(struct context *c)
{
	for (int i = 0; i < QPN_PAGES; i++) {
		struct qpn_page *page = c->qpns[i];

		for (int k = 0; page && k < 1 << QPN_LOW_BITS; k++)
			page->qp[k] = NULL;
	}
}

static struct context *context_new(void)
{
	struct context *c;

	for (c = contexts; c; c = c->next) {
		if (!c->key) {
			clear_qpns(c);
			return c;
		}
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->qpns = calloc(QPN_PAGES, sizeof(*c->qpns));
	if (!c->qpns) {
		free(c);
		return NULL;
	}
	c->next = contexts;
	atomic_store_explicit(&contexts, c, memory_order_release);
	return c;
}

struct context *context_watch(struct ibv_context *ctx)
{
	int err = errno;
	const alive_t *alive = life_begin();
	struct context *c;

	if (!alive || !lib_lock()) {
		errno = err;
		return NULL;
	}
	c = context_find(ctx);
	if (!c) {
		struct device *dev = device_get(ctx->device->name);

		c = dev ? context_new() : NULL;
		if (c) {
			c->alive = alive;
			c->dev = dev;
			c->place = (struct place_context){ 0 };
			c->special_srqs = false;
			replace_functions(c, ctx);
		}
	}
	lib_unlock();
	errno = err;
	return c;
}

/* Called before the provider frees the context, because the next one may get its address. */
void context_close(struct ibv_context *ctx)
{
	struct context *c = context_find(ctx);

	if (!c)
		return;
	if (*c->alive)
		qp_remove_all(c);
	atomic_store_explicit(&c->key, NULL, memory_order_release);
}
