/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A provider without a device, for tests and measurements of libswiftrdma: a context, QPs
 * and CQs in memory. A request that is posted completes at once, or, where .hold is
 * set, when stub_complete() says so. Its locks are those of libmlx5: one in a QP, one in a CQ,
 * both held between start and end of a batch; .unlocked leaves them out.
 *
 * QPs in a thread domain have no locks: two threads in one, or two in the calls that ring its
 * register, are counted as a violation.
 *
 * Included once, by the program itself.
 */
#ifndef SELFTESTS_STUB_H
#define SELFTESTS_STUB_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#define STUB_CQES 8192
#define STUB_WRS 1024
#define STUB_RING 4096	/* requests that may be held */
#define STUB_SGES 8

static struct ibv_device stub_device = { .name = "stub0" };

static struct {
	int hold, unlocked;
	int fail_after;		/* number of requests of the next list that are posted; -1: all */
	int leave_bad;		/* failing, bad_wr is not written */
	int max_cqe;		/* a CQ is not resized to more; 0: there is no limit */
	uint32_t next_qpn;	/* the number of the next QP; 0: one that no QP has had */
	int fail_tds, fail_domains, fail_placed;	/* TDs, parent domains, QPs in these */
	int fail_destroy;	/* ibv_destroy_qp() */
	int tds, domains;	/* that there are */
	int misplaced;		/* freed before what uses them */
	int violations;
	/* A device that moves data, and whose queues are as large as they were asked for. */
	int real;
	int error_at;		/* the request that fails, from 1; 0: none */
	uint64_t error_in;	/* a byte of remote memory; requests of it fail; 0: none */
	int refuse_wrs;		/* QPs with a larger send queue cannot be created; 0: none */
	int overflows;		/* completions for which the CQ had no room */
	uint64_t wrs, largest;	/* requests that were executed, and the most bytes of one */
} stub = { .fail_after = -1 };

struct stub_cqe {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint32_t qpn, bytes;
	struct stub_qp *qp;	/* whose send queue was free up to .end when it is polled */
	uint32_t end;
};

struct stub_cq {
	struct ibv_cq_ex ex;
	pthread_spinlock_t lock;
	uint32_t head, tail;
	uint32_t size;
	struct stub_cqe cqe[STUB_CQES];
};

struct stub_td {
	struct ibv_td td;
	int ringing, domains;
};

struct stub_domain {
	struct ibv_pd pd;
	struct ibv_pd *asked;
	struct stub_td *td;
	struct stub_domain *next;
	int qps;
};

static struct stub_domain *stub_domains;

struct stub_wr {
	uint64_t wr_id;
	int signalled;
	/* Of .real. */
	enum ibv_wr_opcode opcode;
	uint32_t bytes, end;
	unsigned int flags;
	uint64_t remote;
	int sges;
	struct ibv_sge sge[STUB_SGES];
};

struct stub_qp {
	struct ibv_qp_ex ex;
	pthread_spinlock_t lock;
	int sig_all, built, error;
	int refused;		/* a call since wr_start was wrong */
	struct stub_domain *domain;	/* NULL: a plain PD */
	int in_sq, in_rq;	/* a thread is */
	uint32_t posted, done;	/* of .wr, where completions are held */
	uint32_t freed, max_wrs;
	struct stub_wr wr[STUB_RING], build[STUB_WRS];
};

static inline struct stub_cq *stub_cq(struct ibv_cq *cq)
{
	return (struct stub_cq *)cq;
}

static inline struct stub_qp *stub_qp(struct ibv_qp *qp)
{
	return (struct stub_qp *)qp;
}

static inline void stub_lock(pthread_spinlock_t *lock)
{
	if (!stub.unlocked)
		pthread_spin_lock(lock);
}

static inline void stub_unlock(pthread_spinlock_t *lock)
{
	if (!stub.unlocked)
		pthread_spin_unlock(lock);
}

static inline int stub_single(const struct stub_qp *q)
{
	return q->domain && q->domain->td;
}

/* A thread enters what libmlx5 does not guard in a thread domain. */
static inline void stub_enter(int *at)
{
	if (__atomic_exchange_n(at, 1, __ATOMIC_ACQUIRE))
		__atomic_fetch_add(&stub.violations, 1, __ATOMIC_RELAXED);
	sched_yield();
}

static inline void stub_leave(int *at)
{
	__atomic_store_n(at, 0, __ATOMIC_RELEASE);
}

static inline void stub_ring(const struct stub_qp *q)
{
	if (!stub_single(q))
		return;
	stub_enter(&q->domain->td->ringing);
	stub_leave(&q->domain->td->ringing);
}

static inline void stub_lock_sq(struct stub_qp *q)
{
	if (stub_single(q))
		stub_enter(&q->in_sq);
	else
		stub_lock(&q->lock);
}

static inline void stub_unlock_sq(struct stub_qp *q)
{
	if (stub_single(q))
		stub_leave(&q->in_sq);
	else
		stub_unlock(&q->lock);
}

static inline void stub_push(struct ibv_cq *ibcq, struct stub_cqe cqe)
{
	struct stub_cq *cq = stub_cq(ibcq);

	stub_lock(&cq->lock);
	stub.overflows += stub.real && cq->head - cq->tail >= cq->size;
	cq->cqe[cq->head++ % STUB_CQES] = cqe;
	stub_unlock(&cq->lock);
}

static inline void stub_move(const struct stub_wr *wr)
{
	char *remote = (char *)(uintptr_t)wr->remote;

	if (wr->opcode == IBV_WR_SEND)
		return;
	for (int i = 0; i < wr->sges; i++) {
		char *local = (char *)(uintptr_t)wr->sge[i].addr;

		if (wr->opcode == IBV_WR_RDMA_READ)
			memcpy(local, remote, wr->sge[i].length);
		else
			memcpy(remote, local, wr->sge[i].length);
		remote += wr->sge[i].length;
	}
}

static inline void stub_execute(struct stub_qp *q, const struct stub_wr *wr)
{
	enum ibv_wc_status status = q->error ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;

	stub.wrs++;
	if (!q->error && ((stub.error_at && !--stub.error_at) ||
			  (wr->opcode != IBV_WR_SEND &&
			   stub.error_in - wr->remote < wr->bytes))) {
		status = IBV_WC_REM_ACCESS_ERR;
		q->error = 1;
	}
	if (wr->bytes > stub.largest)
		stub.largest = wr->bytes;
	if (status == IBV_WC_SUCCESS)
		stub_move(wr);
	if (wr->signalled || status != IBV_WC_SUCCESS)
		stub_push(q->ex.qp_base.send_cq, (struct stub_cqe){
			.wr_id = wr->wr_id, .qpn = q->ex.qp_base.qp_num, .status = status,
			.opcode = status != IBV_WC_SUCCESS ? IBV_WC_RECV :
				  wr->opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ :
				  wr->opcode == IBV_WR_SEND ? IBV_WC_SEND : IBV_WC_RDMA_WRITE,
			.bytes = status != IBV_WC_SUCCESS ? 0 : wr->bytes,
			.qp = q, .end = wr->end,
		});
}

static inline void stub_done(struct stub_qp *q, const struct stub_wr *wr)
{
	if (stub.real)
		stub_execute(q, wr);
	else if (wr->signalled || q->error)
		stub_push(q->ex.qp_base.send_cq, (struct stub_cqe){
			.wr_id = wr->wr_id, .qpn = q->ex.qp_base.qp_num,
			.status = q->error ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS,
			/* Of an error the opcode means nothing. */
			.opcode = q->error ? IBV_WC_RECV : IBV_WC_RDMA_WRITE,
		});
}

static inline void stub_take(struct stub_qp *q, uint64_t wr_id, int signalled)
{
	struct stub_wr wr = { .wr_id = wr_id, .signalled = signalled || q->sig_all };

	if (stub.hold)
		q->wr[q->posted++ % STUB_RING] = wr;
	else
		stub_done(q, &wr);
}

/* False: the request has too many SGEs. */
static inline int stub_set_data(struct stub_wr *w, int n, const struct ibv_sge *sge)
{
	if (n > STUB_SGES)
		return 0;
	w->sges = n;
	for (int i = 0; i < n; i++) {
		w->sge[i] = sge[i];
		w->bytes += sge[i].length;
	}
	return 1;
}

/* Whether the send queue has room for @n requests. */
static inline int stub_has_room(const struct stub_qp *q, int n)
{
	return q->posted - q->freed + (uint32_t)n <= q->max_wrs;
}

static inline void stub_take_real(struct stub_qp *q, struct stub_wr w)
{
	w.signalled |= q->sig_all;
	w.end = q->posted + 1;
	q->wr[q->posted++ % STUB_RING] = w;
	if (!stub.hold)
		stub_done(q, &q->wr[q->done++ % STUB_RING]);
}

/* False: the send queue is full, or does not take the request. */
static inline int stub_post_real(struct stub_qp *q, const struct ibv_send_wr *wr)
{
	struct stub_wr w = {
		.wr_id = wr->wr_id, .signalled = wr->send_flags & IBV_SEND_SIGNALED,
		.opcode = wr->opcode, .flags = wr->send_flags, .remote = wr->wr.rdma.remote_addr,
	};

	if (!stub_has_room(q, 1) || !stub_set_data(&w, wr->num_sge, wr->sg_list))
		return 0;
	stub_take_real(q, w);
	return 1;
}

/* Completes the next @n held requests. */
static inline void stub_complete(struct ibv_qp *qp, int n)
{
	struct stub_qp *q = stub_qp(qp);

	while (n-- > 0 && q->done != q->posted)
		stub_done(q, &q->wr[q->done++ % STUB_RING]);
}

static int stub_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct stub_qp *q = stub_qp(qp);
	int left = stub.fail_after, ret = 0;

	stub_lock_sq(q);
	for (; wr; wr = wr->next) {
		if (!left-- || (stub.real && !stub_post_real(q, wr))) {
			if (!stub.leave_bad)
				*bad = wr;
			ret = ENOMEM;
			break;
		}
		if (!stub.real)
			stub_take(q, wr->wr_id, wr->send_flags & IBV_SEND_SIGNALED);
	}
	stub_ring(q);
	stub_unlock_sq(q);
	return ret;
}

static int stub_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct stub_qp *q = stub_qp(qp);

	if (stub_single(q))
		stub_enter(&q->in_rq);
	for (; wr; wr = wr->next) {
		if (!stub.fail_after--) {
			*bad = wr;
			stub_leave(&q->in_rq);
			return ENOMEM;
		}
		stub_push(qp->recv_cq, (struct stub_cqe){
			.wr_id = wr->wr_id, .qpn = qp->qp_num, .opcode = IBV_WC_RECV, .bytes = 8,
		});
	}
	stub_leave(&q->in_rq);
	return 0;
}

static int stub_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad)
{
	(void)srq;
	(void)wr;
	(void)bad;
	return 0;
}

static int stub_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)mw;
	if (!stub.fail_after)
		return ENOMEM;
	stub_lock_sq(stub_qp(qp));
	stub_take(stub_qp(qp), bind->wr_id, bind->send_flags & IBV_SEND_SIGNALED);
	stub_ring(stub_qp(qp));
	stub_unlock_sq(stub_qp(qp));
	return 0;
}

/* As libmlx5, which learns from a completion how far the send queue is free. */
static inline void stub_free(const struct stub_cqe *e)
{
	if (e->qp)
		__atomic_store_n(&e->qp->freed, e->end, __ATOMIC_RELAXED);
}

static int stub_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct stub_cq *cq = stub_cq(ibcq);
	int got;

	stub_lock(&cq->lock);
	for (got = 0; got < n && cq->tail != cq->head; got++, wc++) {
		const struct stub_cqe *e = &cq->cqe[cq->tail++ % STUB_CQES];

		wc->wr_id = e->wr_id;
		wc->status = e->status;
		wc->opcode = e->opcode;
		wc->qp_num = e->qpn;
		wc->byte_len = e->bytes;
		stub_free(e);
	}
	stub_unlock(&cq->lock);
	return got;
}

/* --- ibv_cq_ex ---------------------------------------------------------------- */

static int stub_next_poll(struct ibv_cq_ex *cqx)
{
	struct stub_cq *cq = (struct stub_cq *)cqx;
	const struct stub_cqe *e = &cq->cqe[cq->tail % STUB_CQES];

	if (cq->tail == cq->head)
		return ENOENT;
	cq->tail++;
	cqx->wr_id = e->wr_id;
	cqx->status = e->status;
	stub_free(e);
	return 0;
}

static void stub_end_poll(struct ibv_cq_ex *cqx)
{
	stub_unlock(&((struct stub_cq *)cqx)->lock);
}

static int stub_start_poll(struct ibv_cq_ex *cqx, struct ibv_poll_cq_attr *attr)
{
	int ret;

	(void)attr;
	stub_lock(&((struct stub_cq *)cqx)->lock);
	ret = stub_next_poll(cqx);
	if (ret)
		stub_end_poll(cqx);
	return ret;
}

static const struct stub_cqe *stub_current(struct ibv_cq_ex *cqx)
{
	struct stub_cq *cq = (struct stub_cq *)cqx;

	return &cq->cqe[(cq->tail - 1) % STUB_CQES];
}

static enum ibv_wc_opcode stub_read_opcode(struct ibv_cq_ex *cqx)
{
	return stub_current(cqx)->opcode;
}

static uint32_t stub_read_qp_num(struct ibv_cq_ex *cqx)
{
	return stub_current(cqx)->qpn;
}

static uint32_t stub_read_byte_len(struct ibv_cq_ex *cqx)
{
	return stub_current(cqx)->bytes;
}

static struct ibv_cq *stub_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
				     struct ibv_comp_channel *channel, int vector)
{
	struct stub_cq *cq = calloc(1, sizeof(*cq));

	(void)vector;
	cq->size = (uint32_t)cqe;
	cq->ex.context = ctx;
	cq->ex.cq_context = cq_context;
	cq->ex.channel = channel;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	return ibv_cq_ex_to_cq(&cq->ex);
}

static struct ibv_cq_ex *stub_create_cq_ex(struct ibv_context *ctx,
					   struct ibv_cq_init_attr_ex *attr)
{
	struct stub_cq *cq = stub_cq(stub_create_cq(ctx, (int)attr->cqe, NULL, NULL, 0));

	cq->ex.start_poll = stub_start_poll;
	cq->ex.next_poll = stub_next_poll;
	cq->ex.end_poll = stub_end_poll;
	cq->ex.read_opcode = stub_read_opcode;
	if (attr->wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cq->ex.read_qp_num = stub_read_qp_num;
	if (attr->wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cq->ex.read_byte_len = stub_read_byte_len;
	return &cq->ex;
}

static inline int stub_destroy_cq(struct ibv_cq *cq)
{
	free(stub_cq(cq));
	return 0;
}

/* --- ibv_qp_ex ------------------------------------------------------------------ */

static void stub_wr_start(struct ibv_qp_ex *qpx)
{
	struct stub_qp *q = (struct stub_qp *)qpx;

	stub_lock_sq(q);
	q->built = 0;
	q->refused = 0;
}

/* As libmlx5, reads wr_id and wr_flags now, and not when the data come. */
static void stub_build(struct ibv_qp_ex *qpx, enum ibv_wr_opcode opcode, uint64_t remote)
{
	struct stub_qp *q = (struct stub_qp *)qpx;

	if (q->built == STUB_WRS) {
		q->refused = 1;
		return;
	}
	q->build[q->built++] = (struct stub_wr){
		.wr_id = qpx->wr_id, .signalled = qpx->wr_flags & IBV_SEND_SIGNALED,
		.opcode = opcode, .flags = qpx->wr_flags, .remote = remote,
	};
}

static void stub_wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr)
{
	(void)rkey;
	stub_build(qpx, IBV_WR_RDMA_WRITE, addr);
}

static inline void stub_wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr,
					  __be32 imm)
{
	(void)rkey;
	(void)imm;
	stub_build(qpx, IBV_WR_RDMA_WRITE_WITH_IMM, addr);
}

static inline void stub_wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr)
{
	(void)rkey;
	stub_build(qpx, IBV_WR_RDMA_READ, addr);
}

static void stub_wr_send(struct ibv_qp_ex *qpx)
{
	stub_build(qpx, IBV_WR_SEND, 0);
}

static void stub_wr_set_sge_list(struct ibv_qp_ex *qpx, size_t n, const struct ibv_sge *sge)
{
	struct stub_qp *q = (struct stub_qp *)qpx;

	if (!stub.real)
		return;
	if (!q->built || q->build[q->built - 1].sges ||
	    !stub_set_data(&q->build[q->built - 1], (int)n, sge))
		q->refused = 1;
}

static void stub_wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr, uint32_t length)
{
	stub_wr_set_sge_list(qpx, 1, &(struct ibv_sge){
		.addr = addr, .length = length, .lkey = lkey,
	});
}

static inline void stub_wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr, size_t length)
{
	stub_wr_set_sge(qpx, 0, (uintptr_t)addr, (uint32_t)length);
}

/* Posts all of the batch, or nothing. */
static int stub_wr_complete(struct ibv_qp_ex *qpx)
{
	struct stub_qp *q = (struct stub_qp *)qpx;
	int ret = stub.fail_after < 0 && !q->refused ? 0 : ENOMEM;

	if (stub.real && !stub_has_room(q, q->built))
		ret = ENOMEM;
	for (int i = 0; !ret && i < q->built; i++)
		if (stub.real)
			stub_take_real(q, q->build[i]);
		else
			stub_take(q, q->build[i].wr_id, q->build[i].signalled);
	stub_ring(q);
	stub_unlock_sq(q);
	return ret;
}

static void stub_wr_abort(struct ibv_qp_ex *qpx)
{
	stub_unlock_sq((struct stub_qp *)qpx);
}

/* --- thread domains and parent domains ---------------------------------------------- */

static struct stub_domain *stub_domain(const struct ibv_pd *pd)
{
	struct stub_domain *d = stub_domains;

	while (d && &d->pd != pd)
		d = d->next;
	return d;
}

static struct ibv_td *stub_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr)
{
	struct stub_td *td;

	(void)attr;
	if (stub.fail_tds) {
		errno = ENOSPC;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	td->td.context = ctx;
	stub.tds++;
	return &td->td;
}

static int stub_dealloc_td(struct ibv_td *td)
{
	if (((struct stub_td *)td)->domains) {
		stub.misplaced++;
		return EBUSY;
	}
	stub.tds--;
	free(td);
	return 0;
}

static struct ibv_pd *stub_alloc_parent_domain(struct ibv_context *ctx,
					       struct ibv_parent_domain_init_attr *attr)
{
	struct stub_domain *d;

	if (stub.fail_domains) {
		errno = ENOMEM;
		return NULL;
	}
	d = calloc(1, sizeof(*d));
	d->pd.context = ctx;
	d->asked = attr->pd;
	d->td = (struct stub_td *)attr->td;
	if (d->td)
		d->td->domains++;
	d->next = stub_domains;
	stub_domains = d;
	stub.domains++;
	return &d->pd;
}

/* Plain PDs are the test's. */
static inline int stub_dealloc_pd(struct ibv_pd *pd)
{
	struct stub_domain *d = stub_domain(pd), **at = &stub_domains;

	if (!d)
		return 0;
	if (d->qps) {
		stub.misplaced++;
		return EBUSY;
	}
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	if (d->td)
		d->td->domains--;
	stub.domains--;
	free(d);
	return 0;
}

static struct ibv_qp *stub_new_qp(struct ibv_context *ctx, struct ibv_pd *pd,
				  struct ibv_qp_init_attr_ex *attr)
{
	static uint32_t qpn = 16;
	struct stub_domain *domain = stub_domain(pd);
	struct ibv_qp *qp;
	struct stub_qp *q;

	if (stub.refuse_wrs && attr->cap.max_send_wr > (uint32_t)stub.refuse_wrs) {
		attr->cap.max_send_wr = 0;
		errno = EINVAL;
		return NULL;
	}
	if (domain && stub.fail_placed) {
		attr->cap.max_send_wr = 0;
		errno = ENOMEM;
		return NULL;
	}
	q = calloc(1, sizeof(*q));
	qp = &q->ex.qp_base;
	q->domain = domain;
	if (domain)
		domain->qps++;
	qp->pd = pd;

	pthread_spin_init(&q->lock, PTHREAD_PROCESS_PRIVATE);
	qp->context = ctx;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->qp_type = attr->qp_type;
	qp->qp_num = stub.next_qpn ? stub.next_qpn : qpn++;
	stub.next_qpn = 0;
	q->sig_all = attr->sq_sig_all;
	q->max_wrs = attr->cap.max_send_wr;
	return qp;
}

static inline struct ibv_qp *stub_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return stub_new_qp(pd->context, pd, (struct ibv_qp_init_attr_ex *)attr);
}

static inline int stub_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
				struct ibv_qp_init_attr *init)
{
	(void)mask;
	attr->cap.max_send_wr = init->cap.max_send_wr = stub_qp(qp)->max_wrs;
	return 0;
}

static inline int stub_resize_cq(struct ibv_cq *cq, int cqe)
{
	if (stub.max_cqe && cqe > stub.max_cqe)
		return EINVAL;
	stub_cq(cq)->size = (uint32_t)cqe;
	return 0;
}

/* The QP of another process. */
static struct ibv_qp *stub_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	struct ibv_pd pd = { .context = ctx };
	struct ibv_qp *qp = stub_create_qp(&pd, &(struct ibv_qp_init_attr){ .qp_type = attr->qp_type });

	qp->qp_num = attr->qp_num;
	return qp;
}

static struct ibv_qp *stub_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = stub_new_qp(ctx, attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL,
					attr);
	struct stub_qp *q = stub_qp(qp);

	if (!qp)
		return NULL;
	q->ex.wr_start = stub_wr_start;
	q->ex.wr_rdma_write = stub_wr_rdma_write;
	q->ex.wr_rdma_write_imm = stub_wr_rdma_write_imm;
	q->ex.wr_rdma_read = stub_wr_rdma_read;
	q->ex.wr_send = stub_wr_send;
	q->ex.wr_set_sge = stub_wr_set_sge;
	q->ex.wr_set_sge_list = stub_wr_set_sge_list;
	q->ex.wr_set_inline_data = stub_wr_set_inline_data;
	q->ex.wr_complete = stub_wr_complete;
	q->ex.wr_abort = stub_wr_abort;
	return &q->ex.qp_base;
}

/* Like libmlx5, sets wr_complete anew at RESET and RTS. */
static inline int stub_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct stub_qp *q = stub_qp(qp);

	if (!(mask & IBV_QP_STATE))
		return 0;
	if (attr->qp_state == IBV_QPS_RESET) {
		q->done = q->posted;
		q->freed = q->posted;
		q->error = 0;
	}
	if (attr->qp_state == IBV_QPS_ERR)
		q->error = 1;
	if ((attr->qp_state == IBV_QPS_RESET || attr->qp_state == IBV_QPS_RTS) && q->ex.wr_start)
		q->ex.wr_complete = stub_wr_complete;
	return 0;
}

static inline int stub_destroy_qp(struct ibv_qp *qp)
{
	/* Like libmlx5, looks in the QP for the domain whose users it counts. */
	struct stub_domain *d = stub_domain(qp->pd);

	if (stub.fail_destroy)
		return EBUSY;
	if (d != stub_qp(qp)->domain)
		stub.misplaced++;
	if (d)
		d->qps--;
	if (qp->send_cq)
		for (int i = 0; i < STUB_CQES; i++)
			if (stub_cq(qp->send_cq)->cqe[i].qp == stub_qp(qp))
				stub_cq(qp->send_cq)->cqe[i].qp = NULL;
	free(stub_qp(qp));
	return 0;
}

static inline struct ibv_qp_ex *stub_to_qp_ex(struct ibv_qp *qp)
{
	return stub_qp(qp)->ex.wr_start ? &stub_qp(qp)->ex : NULL;
}

/* --- context ---------------------------------------------------------------------- */

static struct ibv_context *stub_open_device(struct ibv_device *device)
{
	struct verbs_context *v = calloc(1, sizeof(*v));

	v->sz = sizeof(*v);
	v->create_qp_ex = stub_create_qp_ex;
	v->open_qp = stub_open_qp;
	v->create_cq_ex = stub_create_cq_ex;
	v->alloc_td = stub_alloc_td;
	v->dealloc_td = stub_dealloc_td;
	v->alloc_parent_domain = stub_alloc_parent_domain;
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	v->context.device = device;
	v->context.ops.post_send = stub_post_send;
	v->context.ops.post_recv = stub_post_recv;
	v->context.ops.post_srq_recv = stub_post_srq_recv;
	v->context.ops.bind_mw = stub_bind_mw;
	v->context.ops.poll_cq = stub_poll_cq;
	return &v->context;
}

static inline int stub_close_device(struct ibv_context *ctx)
{
	free(verbs_get_ctx(ctx));
	return 0;
}

#endif /* SELFTESTS_STUB_H */
