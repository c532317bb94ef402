/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Devices that carry messages in memory, one request at a time, and modules that lose the messages that a
 * test names.
 */
#ifndef UNIT_MOVE_FABRIC_H
#define UNIT_MOVE_FABRIC_H

#include <arpa/inet.h>

#include "control_rig.h"
#include "lib/channel.h"

#define WRS 32
#define RING 128

struct fake_wr {
	uint64_t wr_id, value, remote;
	enum ibv_wr_opcode opcode;
	unsigned int flags, length;
	uint32_t imm;
	char *local;
};

struct fake_srq {
	struct ibv_srq srq;
	uint32_t head, tail;
	struct fake_wr rq[RING];
};

struct fake_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;		/* .wr_start NULL: it has none */
	};
	struct fake_wr build[RING];
	uint32_t built;
	bool building;
	enum ibv_qp_state state;
	uint32_t dest, max_send, max_recv, access;
	uint8_t reads_out, reads_in;	/* max_rd_atomic, max_dest_rd_atomic */
	uint32_t sq_head, sq_tail, rq_head, rq_tail;
	struct fake_wr sq[RING], rq[RING];
	struct fake_srq *srq;
	struct fake_qp *next;
};

static struct {
	struct fake_qp *qps;
	uint32_t next_qpn;
	bool cut;		/* nothing arrives */
	bool mute;		/* no message of the modules does */
	bool mute_swapped;	/* ... of these */
	bool stands;		/* messages wait */
	int fail_create, fail_modify;	/* this many calls from now; fail_modify -1: each */
	int create_error;		/* what fail_create fails with; 0: ENOMEM */
	bool fail_pd, busy;	/* no PD can be made, no CQ be destroyed */
	int pds;
	struct ibv_qp *limited;	/* by ibv_modify_qp_rate_limit() */
	unsigned int empty_reads;	/* that were executed */
	int wrong;		/* completions for which a CQ had no room, calls at the wrong time */
	/* Messages of the modules. */
	unsigned int tells;
	int lose[2];		/* the numbers of tells, from 1, that are lost; 0: none */
	enum { LOSE_SILENT, LOSE_ANSWER, LOSE_KNOWN } how;
	struct swiftrdma_hear box[32];
	unsigned int box_head, box_tail;
	int event;		/* the listener's */
} fab;

static struct fake_qp *fake_find(uint32_t qpn)
{
	struct fake_qp *f = fab.qps;

	while (f && f->qp.qp_num != qpn)
		f = f->next;
	return f;
}

static struct fake_qp *fake(struct ibv_qp *qp)
{
	return (struct fake_qp *)qp;
}

#include "fake_cq.h"

static void fake_flush(struct fake_qp *f)
{
	f->state = IBV_QPS_ERR;
	for (; f->sq_tail != f->sq_head; f->sq_tail++)
		fake_push(f->qp.send_cq, (struct ibv_wc){
			.wr_id = f->sq[f->sq_tail % RING].wr_id, .status = IBV_WC_WR_FLUSH_ERR,
			.qp_num = f->qp.qp_num });
	for (; f->rq_tail != f->rq_head; f->rq_tail++)
		fake_push(f->qp.recv_cq, (struct ibv_wc){
			.wr_id = f->rq[f->rq_tail % RING].wr_id, .status = IBV_WC_WR_FLUSH_ERR,
			.opcode = IBV_WC_RECV, .qp_num = f->qp.qp_num });
}

static int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *f = fake(qp);

	fab.wrong += f->building;
	for (; wr; wr = wr->next) {
		struct fake_wr w = {
			.wr_id = wr->wr_id, .opcode = wr->opcode, .flags = wr->send_flags,
			.remote = wr->wr.rdma.remote_addr, .imm = wr->imm_data,
		};

		if (f->sq_head - f->sq_tail >= f->max_send ||
		    (f->state != IBV_QPS_RTS && f->state != IBV_QPS_ERR)) {
			*bad = wr;
			return ENOMEM;
		}
		if (wr->num_sge) {
			w.local = (char *)(uintptr_t)wr->sg_list->addr;
			w.length = wr->sg_list->length;
		}
		f->sq[f->sq_head++ % RING] = w;
		if (f->state == IBV_QPS_ERR)
			fake_flush(f);
	}
	return 0;
}

static struct fake_wr fake_recv(const struct ibv_recv_wr *wr)
{
	return (struct fake_wr){
		.wr_id = wr->wr_id,
		.local = wr->num_sge ? (char *)(uintptr_t)wr->sg_list->addr : NULL,
		.length = wr->num_sge ? wr->sg_list->length : 0,
	};
}

static int fake_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_srq *srq = (struct fake_srq *)ibsrq;

	for (; wr; wr = wr->next) {
		if (srq->head - srq->tail >= WRS) {
			*bad = wr;
			return ENOMEM;
		}
		srq->rq[srq->head++ % RING] = fake_recv(wr);
	}
	return 0;
}

static int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *f = fake(qp);

	for (; wr; wr = wr->next) {
		if (f->rq_head - f->rq_tail >= f->max_recv || f->state == IBV_QPS_RESET || f->srq) {
			*bad = wr;
			return ENOMEM;
		}
		f->rq[f->rq_head++ % RING] = fake_recv(wr);
		if (f->state == IBV_QPS_ERR)
			fake_flush(f);
	}
	return 0;
}

/* --- ibv_wr_*() --- */

static void fake_wr_start(struct ibv_qp_ex *qpx)
{
	struct fake_qp *f = (struct fake_qp *)qpx;

	fab.wrong += f->building;
	f->building = true;
	f->built = 0;
}

static void fake_build(struct ibv_qp_ex *qpx, enum ibv_wr_opcode opcode, uint64_t remote, uint32_t imm)
{
	struct fake_qp *f = (struct fake_qp *)qpx;

	fab.wrong += !f->building;
	f->build[f->built++ % RING] = (struct fake_wr){
		.wr_id = qpx->wr_id, .flags = qpx->wr_flags, .opcode = opcode, .remote = remote, .imm = imm,
	};
}

static void fake_wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr)
{
	(void)rkey;
	fake_build(qpx, IBV_WR_RDMA_WRITE, addr, 0);
}

static void fake_wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr)
{
	(void)rkey;
	fake_build(qpx, IBV_WR_RDMA_READ, addr, 0);
}

static void fake_wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm)
{
	fake_build(qpx, IBV_WR_SEND_WITH_IMM, 0, imm);
}

static void fake_wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw, uint32_t rkey,
			    const struct ibv_mw_bind_info *info)
{
	(void)mw;
	(void)rkey;
	(void)info;
	fake_build(qpx, IBV_WR_BIND_MW, 0, 0);
}

static void fake_wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct fake_qp *f = (struct fake_qp *)qpx;
	struct fake_wr *w = &f->build[(f->built - 1) % RING];

	(void)lkey;
	fab.wrong += !f->building || !f->built;
	w->local = (char *)(uintptr_t)addr;
	w->length = length;
}

/* Posts all of the batch, or nothing. */
static int fake_wr_complete(struct ibv_qp_ex *qpx)
{
	struct fake_qp *f = (struct fake_qp *)qpx;

	fab.wrong += !f->building;
	f->building = false;
	if (f->sq_head - f->sq_tail + f->built > f->max_send)
		return ENOMEM;
	for (uint32_t i = 0; i < f->built; i++)
		f->sq[f->sq_head++ % RING] = f->build[i];
	if (f->state == IBV_QPS_ERR)
		fake_flush(f);
	return 0;
}

/* As libmlx5's of a QP that is not in RTS. */
static int fake_wr_complete_error(struct ibv_qp_ex *qpx)
{
	((struct fake_qp *)qpx)->building = false;
	return EINVAL;
}

static void fake_wr_abort(struct ibv_qp_ex *qpx)
{
	((struct fake_qp *)qpx)->building = false;
}

static struct ibv_qp_ex *fake_to_qp_ex(struct ibv_qp *qp)
{
	return fake(qp)->ex.wr_start ? &fake(qp)->ex : NULL;
}

static bool fake_takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* The receive that the next message to the QP takes; NULL: there is none. */
static struct fake_wr *fake_next_recv(struct fake_qp *to)
{
	struct fake_srq *srq = to->srq;

	if (srq)
		return srq->tail != srq->head ? &srq->rq[srq->tail % RING] : NULL;
	return to->rq_tail != to->rq_head ? &to->rq[to->rq_tail % RING] : NULL;
}

static enum ibv_wc_status fake_verdict(const struct fake_qp *f, const struct fake_qp *to,
				       const struct fake_wr *w)
{
	if (fake_takes_receive(w->opcode))
		return IBV_WC_SUCCESS;
	if (w->opcode != IBV_WR_RDMA_READ)
		return to->access & IBV_ACCESS_REMOTE_WRITE ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
	if (!f->reads_out)
		return IBV_WC_LOC_QP_OP_ERR;
	if (!to->reads_in)
		return IBV_WC_REM_INV_REQ_ERR;
	return to->access & IBV_ACCESS_REMOTE_READ ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
}

/* Executes the oldest request of the queue. False: it has to wait. */
static bool fake_execute(struct fake_qp *f)
{
	struct fake_wr *w = &f->sq[f->sq_tail % RING], *r = NULL;
	struct fake_qp *to = fake_find(f->dest);
	bool there = !fab.cut && to && to->dest == f->qp.qp_num &&
		     (to->state == IBV_QPS_RTR || to->state == IBV_QPS_RTS);
	struct ibv_wc wc = { .wr_id = w->wr_id, .qp_num = f->qp.qp_num };

	if (there && fake_takes_receive(w->opcode) && !fake_next_recv(to))
		return false;
	f->sq_tail++;
	wc.status = there ? fake_verdict(f, to, w) : IBV_WC_RETRY_EXC_ERR;
	if (wc.status) {
		fake_push(f->qp.send_cq, wc);
		fake_flush(f);
		return true;
	}
	if (fake_takes_receive(w->opcode)) {
		r = fake_next_recv(to);
		if (to->srq)
			to->srq->tail++;
		else
			to->rq_tail++;
		if (w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			memcpy((char *)(uintptr_t)w->remote, w->local, w->length);
		else if (w->length)
			memcpy(r->local, w->local, w->length);
		fake_push(to->qp.recv_cq, (struct ibv_wc){
			.wr_id = r->wr_id, .qp_num = to->qp.qp_num, .opcode = IBV_WC_RECV,
			.byte_len = w->length, .imm_data = w->imm,
			.wc_flags = w->opcode == IBV_WR_SEND ? 0 : IBV_WC_WITH_IMM });
	} else if (w->opcode == IBV_WR_RDMA_READ) {
		if (w->length)
			memcpy(w->local, (char *)(uintptr_t)w->remote, w->length);
		else
			fab.empty_reads++;
	} else if (w->length) {
		memcpy((char *)(uintptr_t)w->remote, w->local, w->length);
	}
	wc.opcode = w->opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ :
		    fake_takes_receive(w->opcode) ? IBV_WC_SEND : IBV_WC_RDMA_WRITE;
	if (w->flags & IBV_SEND_SIGNALED)
		fake_push(f->qp.send_cq, wc);
	return true;
}

static void fabric_step(void)
{
	for (struct fake_qp *f = fab.qps; f; f = f->next)
		if (f->state == IBV_QPS_RTS && f->sq_head != f->sq_tail)
			fake_execute(f);
}

#define FAKE_PD 0x7064

static struct ibv_pd *fake_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = fab.fail_pd ? NULL : calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->context = ctx;
	pd->handle = FAKE_PD;
	fab.pds++;
	return pd;
}

static int fake_dealloc_pd(struct ibv_pd *pd)
{
	/* Others are those of parent domains. */
	if (pd->handle != FAKE_PD)
		return stub_dealloc_pd(pd);
	free(pd);
	fab.pds--;
	return 0;
}

static struct ibv_qp *fake_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_qp *f;

	if (fab.fail_create && !--fab.fail_create) {
		errno = fab.create_error ? fab.create_error : ENOMEM;
		return NULL;
	}
	f = calloc(1, sizeof(*f));
	f->qp.context = pd->context;
	f->qp.pd = pd;
	f->qp.send_cq = attr->send_cq;
	f->qp.recv_cq = attr->recv_cq;
	f->qp.srq = attr->srq;
	f->qp.qp_type = attr->qp_type;
	f->qp.qp_num = 100 + fab.next_qpn++;
	f->max_send = attr->cap.max_send_wr;
	f->max_recv = attr->cap.max_recv_wr;
	f->srq = (struct fake_srq *)attr->srq;
	f->next = fab.qps;
	fab.qps = f;
	return &f->qp;
}

static struct ibv_qp *fake_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = fake_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);

	assert_ptr_equal(attr->pd->context, ctx);
	if (!qp)
		return NULL;
	fake(qp)->ex.wr_start = fake_wr_start;
	fake(qp)->ex.wr_rdma_write = fake_wr_rdma_write;
	fake(qp)->ex.wr_rdma_read = fake_wr_rdma_read;
	fake(qp)->ex.wr_send_imm = fake_wr_send_imm;
	fake(qp)->ex.wr_bind_mw = fake_wr_bind_mw;
	fake(qp)->ex.wr_set_sge = fake_wr_set_sge;
	fake(qp)->ex.wr_complete = fake_wr_complete_error;
	fake(qp)->ex.wr_abort = fake_wr_abort;
	return qp;
}

static int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *f = fake(qp);

	if (fab.fail_modify < 0 || (fab.fail_modify && !--fab.fail_modify))
		return EIO;
	if (mask & IBV_QP_DEST_QPN)
		f->dest = attr->dest_qp_num;
	if (mask & IBV_QP_ACCESS_FLAGS)
		f->access = attr->qp_access_flags;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		f->reads_out = attr->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		f->reads_in = attr->max_dest_rd_atomic;
	if (!(mask & IBV_QP_STATE))
		return 0;
	f->state = qp->state = attr->qp_state;
	/* As libmlx5 does. */
	if (f->ex.wr_start && f->state == IBV_QPS_RTS)
		f->ex.wr_complete = fake_wr_complete;
	if (f->ex.wr_start && f->state == IBV_QPS_RESET)
		f->ex.wr_complete = fake_wr_complete_error;
	if (f->state == IBV_QPS_ERR)
		fake_flush(f);
	if (f->state == IBV_QPS_RESET) {
		f->sq_tail = f->sq_head;
		f->rq_tail = f->rq_head;
		f->dest = 0;
	}
	return 0;
}

static int fake_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			 struct ibv_qp_init_attr *init)
{
	const struct fake_qp *f = fake(qp);

	(void)mask;
	attr->cap.max_send_wr = init->cap.max_send_wr = f->max_send;
	attr->cap.max_recv_wr = init->cap.max_recv_wr = f->max_recv;
	attr->dest_qp_num = f->dest;
	attr->qp_state = f->state;
	return 0;
}

static int fake_destroy_qp(struct ibv_qp *qp)
{
	struct fake_qp **at = &fab.qps;

	while (*at != fake(qp))
		at = &(*at)->next;
	*at = fake(qp)->next;
	free(fake(qp));
	return 0;
}

static int fake_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	if (!attr->rate_limit)
		return EINVAL;
	fab.limited = qp;
	return 0;
}

static int fake_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = { .wr_id = bind->wr_id, .opcode = IBV_WR_BIND_MW }, *bad;

	(void)mw;
	return fake_post_send(qp, &wr, &bad);
}

static struct ibv_srq *fake_create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr)
{
	(void)ctx;
	(void)attr;
	return NULL;
}

static struct ibv_context *fake_open_device(struct ibv_device *device)
{
	struct ibv_context *ctx = stub_open_device(device);

	verbs_get_ctx(ctx)->modify_qp_rate_limit = fake_rate_limit;
	verbs_get_ctx(ctx)->create_qp_ex = fake_create_qp_ex;
	verbs_get_ctx(ctx)->create_cq_ex = fake_create_cq_ex;
	verbs_get_ctx(ctx)->create_srq_ex = fake_create_srq_ex;
	ctx->ops.post_send = fake_post_send;
	ctx->ops.post_recv = fake_post_recv;
	ctx->ops.bind_mw = fake_bind_mw;
	ctx->ops.post_srq_recv = fake_post_srq_recv;
	ctx->ops.poll_cq = fake_poll_cq;
	ctx->ops.req_notify_cq = fake_req_notify_cq;
	return ctx;
}

/* --- the modules ------------------------------------------------------------------- */

static enum move_type told_type(const struct swiftrdma_tell *t)
{
	struct move_msg msg;

	memcpy(&msg, t->bytes, sizeof(msg));
	return ntohl(msg.type);
}

static void fake_signal(void)
{
	uint64_t one = 1;

	assert_int_equal(write(fab.event, &one, sizeof(one)), sizeof(one));
}

static int fake_tell(const struct swiftrdma_tell *t)
{
	struct fake_qp *from = fake_find(t->qpn), *to = from ? fake_find(from->dest) : NULL;
	bool lost;

	if (!from)
		return -ENOENT;
	if (from->state != IBV_QPS_RTR && from->state != IBV_QPS_RTS)
		return -ENOTCONN;
	fab.tells++;
	lost = fab.mute || (fab.mute_swapped && told_type(t) == MOVE_SWAPPED) || (int)fab.tells == fab.lose[0] || (int)fab.tells == fab.lose[1];
	if (lost && fab.how == LOSE_KNOWN)
		return -EHOSTUNREACH;
	/* A call of TELL waits for its answer. */
	if (lost || !to || to->dest != from->qp.qp_num)
		rig.now += 1000 * MS;
	if (!to || to->dest != from->qp.qp_num || (lost && fab.how == LOSE_SILENT))
		return -ETIMEDOUT;
	fab.box[fab.box_head % 32] = (struct swiftrdma_hear){ .qpn = to->qp.qp_num, .length = t->length };
	memcpy(fab.box[fab.box_head++ % 32].bytes, t->bytes, t->length);
	fake_signal();
	return lost ? -ETIMEDOUT : 0;
}

static int fake_share(unsigned long cmd, void *arg)
{
	struct swiftrdma_hear *h = arg;

	switch (cmd) {
	case SWIFTRDMA_IOC_LISTEN:
		fab.event = ((struct swiftrdma_listen *)arg)->event_fd;
		return 0;
	case SWIFTRDMA_IOC_TELL:
		return fake_tell(arg);
	case SWIFTRDMA_IOC_HEAR:
		if (fab.stands)
			fake_signal();
		if (fab.stands || fab.box_head == fab.box_tail)
			return -ENOMSG;
		*h = fab.box[fab.box_tail++ % 32];
		return 0;
	default:
		return ctl_share(cmd, arg);
	}
}

#endif /* UNIT_MOVE_FABRIC_H */
