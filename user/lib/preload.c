// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The functions of libibverbs and libmlx5 that make and end contexts, QPs and CQs, under
 * the symbol versions that programs ask for. What programs call through pointers is
 * patched in context.c, wr_ex.c and cq.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>

#include "lib/huge.h"
#include "lib/lib.h"

/* In programs these are macros, which call one of the functions below. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct next next;
static pthread_once_t next_once = PTHREAD_ONCE_INIT;

#define FIND(member, version) \
	(next.member ? (void *)next.member : lookup_next("libibverbs.so.1", "ibv_" #member, "IBVERBS_" version))

static void look_up_next(void)
{
	next.open_device = FIND(open_device, "1.1");
	next.import_device = FIND(import_device, "1.10");
	next.close_device = FIND(close_device, "1.1");
	next.create_cq = FIND(create_cq, "1.1");
	next.resize_cq = FIND(resize_cq, "1.1");
	next.query_qp = FIND(query_qp, "1.1");
	next.destroy_cq = FIND(destroy_cq, "1.1");
	next.create_qp = FIND(create_qp, "1.1");
	next.alloc_pd = FIND(alloc_pd, "1.1");
	next.dealloc_pd = FIND(dealloc_pd, "1.1");
	next.modify_qp = FIND(modify_qp, "1.1");
	next.destroy_qp = FIND(destroy_qp, "1.1");
	next.qp_to_qp_ex = FIND(qp_to_qp_ex, "1.6");
	next.get_async_event = FIND(get_async_event, "1.1");
	next.ack_async_event = FIND(ack_async_event, "1.1");
	next.reg_mr = FIND(reg_mr, "1.1");
	next.reg_mr_iova = FIND(reg_mr_iova, "1.7");
	next.reg_mr_iova2 = FIND(reg_mr_iova2, "1.8");
}

/* Looks up the next functions of these names, once. False: libibverbs is not loaded. */
static bool find_next_functions(void)
{
	int err = errno;

	pthread_once(&next_once, look_up_next);
	errno = err;
	return next.open_device && next.close_device && next.create_qp && next.create_cq;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *ctx;
	struct context *c;

	if (!find_next_functions()) {
		errno = ENOSYS;
		return NULL;
	}
	ctx = next.open_device(device);
	c = ctx ? context_watch(ctx) : NULL;
	if (c)
		place_watch(c, ctx);
	return ctx;
}

/* The thread domains and registers of its opener are not known here: nothing is placed. */
EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct ibv_context *ctx;

	if (!find_next_functions() || !next.import_device) {
		errno = ENOSYS;
		return NULL;
	}
	ctx = next.import_device(cmd_fd);
	if (ctx)
		context_watch(ctx);
	return ctx;
}

EXPORT int ibv_close_device(struct ibv_context *ctx)
{
	struct context *c = context_find(ctx);

	find_next_functions();
	/* A forked child closes only its copy of the context: the QPs are the parent's. */
	if (settings.move && c && *c->alive)
		move_close(c);
	context_close(ctx);
	return next.close_device(ctx);
}

/* Starts to watch a context whose opening the library did not see. */
static struct context *context_of(struct ibv_context *ctx)
{
	struct context *c = context_find(ctx);

	if (!c)
		c = context_watch(ctx);
	return c && *c->alive ? c : NULL;
}

static struct ibv_cq *track_created_cq(struct ibv_context *ctx, struct ibv_cq *cq, uint32_t room,
				       uint32_t move_room)
{
	struct context *c = cq ? context_of(ctx) : NULL;
	struct cq *n = c ? cq_add(c, cq) : NULL;

	if (n) {
		cq_add_room(n, room);
		n->move_room = move_room;
	}
	return cq;
}

static struct ibv_cq *create_cq(struct ibv_context *ctx, int cqe, uint32_t added, void *cq_context,
				struct ibv_comp_channel *channel, int comp_vector)
{
	if (added && added > (uint32_t)(INT_MAX - cqe)) {
		errno = EINVAL;
		return NULL;
	}
	return next.create_cq(ctx, cqe + (int)added, cq_context, channel, comp_vector);
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	uint32_t room = 0, move_room = 0;
	struct context *c;
	struct ibv_cq *cq;

	find_next_functions();
	c = cqe > 0 ? context_of(ctx) : NULL;
	if (c) {
		room = chunk_cq_room(c, (uint32_t)cqe);
		move_room = settings.move ? MOVE_CQ_ROOM : 0;
	}
	cq = create_cq(ctx, cqe, room + move_room, cq_context, channel, comp_vector);
	if (!cq && move_room) {
		move_room = 0;
		cq = create_cq(ctx, cqe, room, cq_context, channel, comp_vector);
	}
	if (!cq && room) {
		room = 0;
		cq = next.create_cq(ctx, cqe, cq_context, channel, comp_vector);
	}
	return track_created_cq(ctx, cq, room, move_room);
}

/* Takes the entries that were added to a queue from it, if no QP has room in them. Returns how many. */
static uint32_t take_cq_room(struct cq *c)
{
	uint32_t taken = 0;

	if (!lib_lock())
		return 0;
	if (c->room == c->added) {
		taken = c->added;
		c->room = c->added = 0;
	}
	lib_unlock();
	return taken;
}

static void give_cq_room(struct cq *c, uint32_t room)
{
	if (!lib_lock())
		return;
	c->room = c->added = room;
	lib_unlock();
}

/*
 * A program that resizes a queue may use all entries that it finds there afterwards. So what was
 * added for pieces stays with the queue only if a QP has room in it.
 */
EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct cq *c = cq_find(cq);
	uint32_t added, taken;
	int ret;

	find_next_functions();
	if (!next.resize_cq)
		return ENOSYS;
	if (!c || !*c->alive)
		return next.resize_cq(cq, cqe);
	c->resized = true;
	taken = take_cq_room(c);
	added = cqe > 0 && c->added <= (uint32_t)(INT_MAX - cqe) ? c->added : 0;
	ret = next.resize_cq(cq, cqe + (int)added);
	if (ret && taken)
		give_cq_room(c, taken);
	return ret;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct cq *c = cq_find(cq);
	struct ibv_qp_attr attr;
	bool notifies;
	int ret;

	find_next_functions();
	notifies = c && notifier_destroy(c, &attr);
	ret = next.destroy_cq(cq);
	if (!ret && c)
		cq_remove(cq, c);
	else if (notifies)
		notifier_create(c, &attr);
	return ret;
}

bool track_qp(struct context *c, struct ibv_qp *qp, const struct qp_want *want)
{
	int err = errno;
	struct qp *q = qp_add(c, qp, want);
	struct ibv_qp_ex *qpx;
	bool all;

	find_next_functions();
	qpx = q && next.qp_to_qp_ex ? next.qp_to_qp_ex(qp) : NULL;
	all = q && (!qpx || wr_patch(q, qpx));
	errno = err;
	return all;
}

/* @got: what the provider gave; @asked: what counts where a provider does not tell. */
static struct ibv_qp *track_created_qp(struct ibv_context *ctx, struct ibv_qp *qp, uint32_t asked,
				       uint32_t got, bool sig_all)
{
	struct context *c = qp ? context_of(ctx) : NULL;

	if (c)
		track_qp(c, qp, &(struct qp_want){
			.max_send_wr = asked > got ? asked : got, .sig_all = sig_all, .ring = true,
			.own_domain = place_knows_pd(qp->pd),
		});
	return qp;
}

static struct ibv_qp *create_in_pd(struct context *c, struct ibv_pd *pd, void *attr)
{
	(void)c;
	return next.create_qp(pd, attr);
}

/* In a register of the library, or as the program asked. */
static struct ibv_qp *create_qp(struct context *c, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	uint32_t asked = attr->cap.max_send_wr;
	struct ibv_qp *qp = c ? place_create(c, pd, attr, create_in_pd) : NULL;

	if (qp)
		return qp;
	qp = next.create_qp(pd, attr);
	return track_created_qp(pd->context, qp, asked, attr->cap.max_send_wr, attr->sq_sig_all);
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct context *c = context_find(pd->context);
	struct chunk_ask ask = { 0 };
	struct move_ask moves;
	struct ibv_qp *qp;

	find_next_functions();
	moves = move_ask(c, attr);
	if (c) {
		place_read_control(c);
		ask = chunk_ask(c, attr);
	}
	qp = create_qp(c, pd, attr);
	if (!qp && chunk_unask(&ask, attr))
		qp = create_qp(c, pd, attr);
	if (!qp && move_unask(&moves, attr))
		qp = create_qp(c, pd, attr);
	if (qp)
		chunk_give(qp, attr, &ask);
	if (qp && settings.move)
		move_adopt(qp, attr, &moves);
	return qp;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct qp *q = qp_find(qp);
	struct move *m = move_of(q);
	struct ibv_qp_ex *qpx;
	int ret, err;

	find_next_functions();
	ret = m ? move_modify(m, attr, mask) : next.modify_qp(qp, attr, mask);
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

/* The program is told the size that it asked for. */
EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init)
{
	struct qp *q = qp_find(qp);
	struct move *m = move_of(q);
	int ret;

	find_next_functions();
	if (!next.query_qp)
		return ENOSYS;
	ret = m ? move_query(m, attr, mask, init) : next.query_qp(qp, attr, mask, init);
	if (ret || !q || !*q->alive || !q->asked_send_wr)
		return ret;
	attr->cap.max_send_wr = q->asked_send_wr;
	init->cap.max_send_wr = q->asked_send_wr;
	return ret;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct ibv_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;
	struct qp *q = qp_find(qp);
	struct placed *p = q ? q->placed : NULL;
	struct move *m = move_of(q);
	int ret;

	find_next_functions();
	if (m)
		move_destroy(m);
	if (p)
		placed_destroy(p, qp);
	ret = next.destroy_qp(qp);
	if (!ret && q) {
		stash_purge(send_cq, q->qpn);
		stash_purge(recv_cq, q->qpn);
		qp_remove(q);
	}
	if (p)
		placed_destroyed(p, qp, ret);
	return ret;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct context *own;
	int ret;

	find_next_functions();
	/* Before the provider frees it, because the next one may get its address. */
	own = place_forget_pd(pd);
	ret = next.dealloc_pd(pd);
	if (ret && own)
		place_remember_pd(own, pd);
	return ret;
}

/* --- async events ------------------------------------------------------------------ */

static bool is_of_qp(enum ibv_event_type type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_COMM_EST ||
	       type == IBV_EVENT_SQ_DRAINED || type == IBV_EVENT_PATH_MIG ||
	       type == IBV_EVENT_PATH_MIG_ERR || type == IBV_EVENT_QP_LAST_WQE_REACHED;
}

/*
 * Puts the program's QP into the event, in place of the QP that is in use for it. False: the event is of a
 * QP that is not in use, and the program must not see it.
 */
static bool translate_event(struct ibv_async_event *event)
{
	const struct context *c;
	bool in_use;
	struct move *m;
	struct qp *q;

	if (!is_of_qp(event->event_type))
		return true;
	c = context_find(event->element.qp->context);
	q = c && *c->alive ? context_qp(c, event->element.qp->qp_num) : NULL;
	m = move_of(q);
	if (!m)
		return true;
	pthread_mutex_lock(&m->lock);
	in_use = m->now == event->element.qp;
	if (in_use && m->now != m->first)
		atomic_fetch_add(&m->events, 1);
	pthread_mutex_unlock(&m->lock);
	if (in_use && event->element.qp == m->first)
		return true;
	/* Acknowledged at once: the library may destroy a shadow while the program still has the event. */
	next.ack_async_event(event);
	event->element.qp = m->first;
	return in_use;
}

/* Whether a call that reads an event from the descriptor would wait for one. */
static bool would_wait(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return !(fcntl(fd, F_GETFL) & O_NONBLOCK) && !poll(&p, 1, 0);
}

/*
 * If an event was there when the program called, the program may have waited for it by poll(). If the
 * program must not see that event, the call fails with EINTR, and does not wait for another event.
 */
EXPORT int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	bool may_wait;
	int ret;

	find_next_functions();
	if (!settings.move)
		return next.get_async_event(ctx, event);
	may_wait = would_wait(ctx->async_fd);
	while (!(ret = next.get_async_event(ctx, event)) && !translate_event(event))
		if (!may_wait && would_wait(ctx->async_fd)) {
			errno = EINTR;
			return -1;
		}
	return ret;
}

/*
 * translate_event() has acknowledged the events of shadows when they came. For as many events of the QP the
 * program's acknowledgement ends here.
 */
static bool is_acknowledged(const struct ibv_async_event *event)
{
	struct qp *q = settings.move && is_of_qp(event->event_type) ?
		       table_find(&qps, event->element.qp) : NULL;
	struct move *m = move_of(q);
	uint32_t n = m ? atomic_load(&m->events) : 0;

	while (n) {
		if (!atomic_compare_exchange_weak(&m->events, &n, n - 1))
			continue;
		pthread_mutex_lock(&m->life);
		pthread_cond_broadcast(&m->ended);
		pthread_mutex_unlock(&m->life);
		return true;
	}
	return false;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	find_next_functions();
	if (!is_acknowledged(event))
		next.ack_async_event(event);
}

/* --- memory regions ---------------------------------------------------------------- */

/*
 * Whether the thread is in one of the functions below. In libibverbs ibv_reg_mr() and
 * ibv_reg_mr_iova() call ibv_reg_mr_iova2(), which may be the one here.
 */
static _Thread_local bool registering __attribute__((tls_model("initial-exec")));

/* Returns what .registering was. */
static bool begin_registration(struct ibv_pd *pd, const void *addr, size_t length,
			       unsigned int access)
{
	bool nested = registering;

	find_next_functions();
	registering = true;
	if (!nested)
		huge_before_reg(context_of(pd->context), addr, length, access);
	return nested;
}

static struct ibv_mr *end_registration(bool nested, struct ibv_mr *mr)
{
	registering = nested;
	return mr;
}

static struct ibv_mr *no_function(void)
{
	errno = ENOSYS;
	return NULL;
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	bool nested = begin_registration(pd, addr, length, (unsigned int)access);

	return end_registration(nested, next.reg_mr ? next.reg_mr(pd, addr, length, access) :
				no_function());
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access)
{
	bool nested = begin_registration(pd, addr, length, (unsigned int)access);

	return end_registration(nested, next.reg_mr_iova ?
				next.reg_mr_iova(pd, addr, length, iova, access) : no_function());
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access)
{
	bool nested = begin_registration(pd, addr, length, access);

	return end_registration(nested, next.reg_mr_iova2 ?
				next.reg_mr_iova2(pd, addr, length, iova, access) : no_function());
}

/* --- libmlx5 -------------------------------------------------------------------- */

EXPORT struct ibv_qp *mlx5dv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				       struct mlx5dv_qp_init_attr *dv)
{
	static const struct move_ask never = { .why = "it was created by mlx5dv_create_qp()" };
	const struct context *c = context_find(ctx);
	uint32_t asked = attr->cap.max_send_wr;
	struct ibv_qp *qp;

	if (!FIND_MLX5(create_qp, "1.3")) {
		errno = ENOSYS;
		return NULL;
	}
	if (c)
		place_read_control(c);
	qp = track_created_qp(ctx, next_mlx5.create_qp(ctx, attr, dv), asked, attr->cap.max_send_wr,
			      attr->sq_sig_all);
	if (qp && settings.move)
		move_adopt(qp, (struct ibv_qp_init_attr *)attr, &never);
	return qp;
}

EXPORT struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr,
					  struct mlx5dv_cq_init_attr *dv)
{
	struct context *c = context_of(ctx);
	struct ibv_cq_ex *cqx;
	struct cq *cq;

	if (!FIND_MLX5(create_cq, "1.1")) {
		errno = ENOSYS;
		return NULL;
	}
	cqx = next_mlx5.create_cq(ctx, attr, dv);
	cq = cqx && c ? cq_add(c, ibv_cq_ex_to_cq(cqx)) : NULL;
	if (cq)
		cq_patch(cq, cqx);
	return cqx;
}
