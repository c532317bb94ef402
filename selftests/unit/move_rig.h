/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two ends of a connection in one process, over devices that carry messages in memory, one request
 * at a time, and modules that lose the messages that a test names. Both ends are of the one library
 * of this process, whose rounds the test calls.
 */
#ifndef UNIT_MOVE_RIG_H
#define UNIT_MOVE_RIG_H

#include <arpa/inet.h>

#include "control_rig.h"
#include "lib/channel.h"

#define WRS 32
#define RING 128
#define BYTES 8

/* --- a fabric ------------------------------------------------------------------- */

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
	int fail_create, fail_modify;
	bool fail_pd, busy;	/* no PD can be made, no CQ be destroyed */
	int pds;
	struct ibv_qp *limited;	/* by ibv_modify_qp_rate_limit() */
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

#define CQES 1024

struct fake_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	bool open;		/* a poll of entries is */
	bool armed;
	unsigned int events, head, tail, size;
	struct ibv_wc wc[CQES];
};

static struct ibv_cq *fake_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
				     struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq = calloc(1, sizeof(*cq));

	(void)vector;
	cq->cq = (struct ibv_cq){
		.context = ctx, .channel = channel, .cq_context = cq_context, .cqe = cqe,
	};
	cq->size = (unsigned int)cqe;
	return &cq->cq;
}

static int fake_destroy_cq(struct ibv_cq *cq)
{
	if (fab.busy)
		return EBUSY;
	free(cq);
	return 0;
}

/* What an entry has by the number of its request, so that another entry's would be noticed. */
static uint64_t fake_mix(uint64_t wr_id, unsigned int which)
{
	return (wr_id + 1) * 0x9e3779b97f4a7c15ull >> which;
}

/* As mlx5 does: for what is there when the CQ is armed, too. */
static void fake_event(struct fake_cq *cq)
{
	cq->events += cq->armed && cq->head != cq->tail;
	cq->armed &= cq->head == cq->tail;
}

static int fake_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct fake_cq *cq = (struct fake_cq *)ibcq;

	fab.wrong += solicited_only;
	cq->armed = true;
	fake_event(cq);
	return 0;
}

static void fake_push(struct ibv_cq *ibcq, struct ibv_wc wc)
{
	struct fake_cq *cq = (struct fake_cq *)ibcq;

	wc.vendor_err = (uint32_t)fake_mix(wc.wr_id, 1);
	wc.src_qp = (uint32_t)fake_mix(wc.wr_id, 2);
	wc.slid = (uint16_t)fake_mix(wc.wr_id, 3);
	wc.sl = (uint8_t)fake_mix(wc.wr_id, 4);
	wc.dlid_path_bits = (uint8_t)fake_mix(wc.wr_id, 5);

	fab.wrong += cq->head - cq->tail >= cq->size;
	cq->wc[cq->head++ % CQES] = wc;
	fake_event(cq);
}

static int fake_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)ibcq;
	int got;

	fab.wrong += cq->open;
	for (got = 0; got < n && cq->tail != cq->head; got++)
		wc[got] = cq->wc[cq->tail++ % CQES];
	return got;
}

/* --- entries of extended CQs --- */

static int fake_next_poll(struct ibv_cq_ex *cqx)
{
	struct fake_cq *cq = (struct fake_cq *)cqx;

	if (cq->tail == cq->head)
		return ENOENT;
	cqx->wr_id = cq->wc[cq->tail % CQES].wr_id;
	cqx->status = cq->wc[cq->tail++ % CQES].status;
	return 0;
}

static int fake_start_poll(struct ibv_cq_ex *cqx, struct ibv_poll_cq_attr *attr)
{
	struct fake_cq *cq = (struct fake_cq *)cqx;
	int ret = attr->comp_mask ? EINVAL : fake_next_poll(cqx);

	fab.wrong += cq->open;
	cq->open = !ret;
	return ret;
}

static void fake_end_poll(struct ibv_cq_ex *cqx)
{
	fab.wrong += !((struct fake_cq *)cqx)->open;
	((struct fake_cq *)cqx)->open = false;
}

static const struct ibv_wc *fake_entry(struct ibv_cq_ex *cqx)
{
	const struct fake_cq *cq = (struct fake_cq *)cqx;

	fab.wrong += !cq->open;
	return &cq->wc[(cq->tail - 1) % CQES];
}

#define FAKE_READ(type, name, value) \
static type fake_read_##name(struct ibv_cq_ex *cqx) \
{ \
	return (type)(value); \
}
FAKE_READ(enum ibv_wc_opcode, opcode, fake_entry(cqx)->opcode)
FAKE_READ(uint32_t, byte_len, fake_entry(cqx)->byte_len)
FAKE_READ(__be32, imm_data, fake_entry(cqx)->imm_data)
FAKE_READ(uint32_t, qp_num, fake_entry(cqx)->qp_num)
FAKE_READ(unsigned int, wc_flags, fake_entry(cqx)->wc_flags)
FAKE_READ(uint32_t, vendor_err, fake_entry(cqx)->vendor_err)
FAKE_READ(uint32_t, src_qp, fake_entry(cqx)->src_qp)
FAKE_READ(uint32_t, slid, fake_entry(cqx)->slid)
FAKE_READ(uint8_t, sl, fake_entry(cqx)->sl)
FAKE_READ(uint8_t, dlid_path_bits, fake_entry(cqx)->dlid_path_bits)

static struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct fake_cq *cq = (struct fake_cq *)fake_create_cq(ctx, (int)attr->cqe, attr->cq_context,
							      attr->channel, 0);
	struct ibv_cq_ex *x = &cq->ex;

	x->start_poll = fake_start_poll;
	x->next_poll = fake_next_poll;
	x->end_poll = fake_end_poll;
	x->read_opcode = fake_read_opcode;
	x->read_wc_flags = fake_read_wc_flags;
	x->read_vendor_err = fake_read_vendor_err;
#define FAKE_WITH(flag, member, name) do { \
	if (attr->wc_flags & IBV_WC_EX_WITH_##flag) \
		x->read_##member = fake_read_##name; \
} while (0)
	FAKE_WITH(BYTE_LEN, byte_len, byte_len);
	FAKE_WITH(IMM, imm_data, imm_data);
	FAKE_WITH(QP_NUM, qp_num, qp_num);
	FAKE_WITH(SRC_QP, src_qp, src_qp);
	FAKE_WITH(SLID, slid, slid);
	FAKE_WITH(SL, sl, sl);
	FAKE_WITH(DLID_PATH_BITS, dlid_path_bits, dlid_path_bits);
	return x;
}

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
	if (!there || (!fake_takes_receive(w->opcode) && w->opcode != IBV_WR_RDMA_READ &&
		       !(to->access & IBV_ACCESS_REMOTE_WRITE))) {
		wc.status = there ? IBV_WC_REM_ACCESS_ERR : IBV_WC_RETRY_EXC_ERR;
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
	} else if (w->opcode == IBV_WR_RDMA_READ && w->length) {
		memcpy(w->local, (char *)(uintptr_t)w->remote, w->length);
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
		errno = ENOMEM;
		return NULL;
	}
	f = calloc(1, sizeof(*f));
	f->qp.context = pd->context;
	f->qp.pd = pd;
	f->qp.send_cq = attr->send_cq;
	f->qp.recv_cq = attr->recv_cq;
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
	fake(qp)->ex.wr_set_sge = fake_wr_set_sge;
	fake(qp)->ex.wr_complete = fake_wr_complete_error;
	fake(qp)->ex.wr_abort = fake_wr_abort;
	return qp;
}

static int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *f = fake(qp);

	if (fab.fail_modify && !--fab.fail_modify)
		return EIO;
	if (mask & IBV_QP_DEST_QPN)
		f->dest = attr->dest_qp_num;
	if (mask & IBV_QP_ACCESS_FLAGS)
		f->access = attr->qp_access_flags;
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

/* --- the two ends -------------------------------------------------------------------- */

struct end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct fake_srq srq;
	struct end *peer;
	bool gone;			/* its program does nothing any more */
	bool quiet;			/* it posts no more sends */
	unsigned int polls;
	uint64_t posted, done, recv_posted, received, errors;
	uint64_t in[RING], out[RING], got[RING];
	uint64_t written;		/* by the peer */
	uint64_t number;		/* the peer reads it */
};

static struct end end[2];

static struct move *move_of_end(const struct end *e)
{
	return ((struct qp *)table_find(&qps, e->qp))->move;
}

static bool end_frozen(const struct end *e)
{
	return move_of_end(e) && move_of_end(e)->frozen;
}

static bool end_shares[2];	/* its receives are in a shared receive queue */

static bool end_shared(const struct end *e)
{
	return end_shares[e - end];
}

static void end_post_recv(struct end *e)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&e->in[e->recv_posted % RING], .length = BYTES };
	struct ibv_recv_wr wr = { .wr_id = e->recv_posted, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (end_shared(e) ? ibv_post_srq_recv(&e->srq.srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad)) {
		e->errors++;
		return;
	}
	e->recv_posted++;
}

static bool end_ex;		/* QPs have ibv_wr_*(); each second list is a batch of it */

static void end_build(const struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *qpx = (struct ibv_qp_ex *)e->qp;

	qpx->wr_id = wr->wr_id;
	qpx->wr_flags = wr->send_flags;
	if (wr->opcode == IBV_WR_SEND_WITH_IMM)
		ibv_wr_send_imm(qpx, wr->imm_data);
	else if (wr->opcode == IBV_WR_RDMA_WRITE)
		ibv_wr_rdma_write(qpx, 0, wr->wr.rdma.remote_addr);
	else
		ibv_wr_rdma_read(qpx, 0, wr->wr.rdma.remote_addr);
	ibv_wr_set_sge(qpx, 0, wr->sg_list->addr, wr->sg_list->length);
}

/* By the one way or the other, which a program may mix. */
static int end_send(const struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *qpx = (struct ibv_qp_ex *)e->qp;
	struct ibv_send_wr *bad;

	if (!end_ex || wr->wr_id % 2)
		return ibv_post_send(e->qp, wr, &bad);
	if (wr->wr_id % 8 == 4) {
		ibv_wr_start(qpx);
		end_build(e, wr);
		ibv_wr_abort(qpx);
	}
	ibv_wr_start(qpx);
	end_build(e, wr);
	return ibv_wr_complete(qpx);
}

/*
 * Operation i, of three: a send of i, with immediate data; a write of i, unsignalled; a read of the
 * peer's number, signalled.
 */
static void end_post(struct end *e, unsigned int last_signalled)
{
	uint64_t i = e->posted;
	struct ibv_sge sge = { .addr = (uintptr_t)&e->out[i % RING], .length = BYTES };
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
		.send_flags = i % 6 == 5 || i % 6 == last_signalled ? IBV_SEND_SIGNALED : 0,
	};

	e->out[i % RING] = i;
	switch (i % 3) {
	case 0:
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htonl((uint32_t)i);
		break;
	case 1:
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = (uintptr_t)&e->peer->written;
		break;
	default:
		sge.addr = (uintptr_t)&e->got[i % RING];
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = (uintptr_t)&e->peer->number;
	}
	if (end_send(e, &wr))
		e->errors++;
	else
		e->posted++;
}

static void end_take(struct end *e, const struct ibv_wc *wc)
{
	assert_int_equal(wc->qp_num, e->qp->qp_num);
	if (wc->status) {
		e->errors++;
		return;
	}
	if (wc->opcode == IBV_WC_RECV) {
		assert_int_equal(wc->wr_id, e->received);
		assert_int_equal(ntohl(wc->imm_data), 3 * e->received);
		assert_int_equal(e->in[wc->wr_id % RING], 3 * e->received);
		e->received++;
		/* The write before the send is there, and none of after the next one. */
		assert_true(e->received == 1 || e->written >= 3 * (e->received - 2) + 1);
		end_post_recv(e);
		return;
	}
	assert_true(wc->wr_id >= e->done);
	if (wc->wr_id % 3 == 2)
		assert_int_equal(e->got[wc->wr_id % RING], e->peer->number);
	e->done = wc->wr_id + 1;
}

static uint64_t end_entries;	/* flags of an extended CQ, read entry by entry; 0: an ordinary one */

/* The first error says no more than which request. */
static void end_take_entry(struct end *e, struct ibv_cq_ex *x)
{
	struct ibv_wc wc = { .wr_id = x->wr_id, .status = x->status, .qp_num = ibv_wc_read_qp_num(x) };

	if (!wc.status) {
		wc.opcode = ibv_wc_read_opcode(x);
		wc.byte_len = ibv_wc_read_byte_len(x);
		wc.imm_data = ibv_wc_read_imm_data(x);
		wc.wc_flags = ibv_wc_read_wc_flags(x);
	}
	assert_int_equal(ibv_wc_read_vendor_err(x), (uint32_t)fake_mix(wc.wr_id, 1));
	if (!wc.status && end_entries & IBV_WC_EX_WITH_SL) {
		assert_int_equal(ibv_wc_read_src_qp(x), (uint32_t)fake_mix(wc.wr_id, 2));
		assert_int_equal(ibv_wc_read_slid(x), (uint16_t)fake_mix(wc.wr_id, 3));
		assert_int_equal(ibv_wc_read_sl(x), (uint8_t)fake_mix(wc.wr_id, 4));
		assert_int_equal(ibv_wc_read_dlid_path_bits(x), (uint8_t)fake_mix(wc.wr_id, 5));
	}
	end_take(e, &wc);
}

/* Some at once; what is there after these comes with the next poll. */
static bool end_poll_entries(struct end *e)
{
	struct ibv_cq_ex *x = (struct ibv_cq_ex *)e->cq;
	struct ibv_poll_cq_attr attr = { 0 };
	int ret = ibv_start_poll(x, &attr), n = 0;

	if (ret) {
		assert_int_equal(ret, ENOENT);
		return false;
	}
	do {
		end_take_entry(e, x);
	} while (++n < 5 && !(ret = ibv_next_poll(x)));
	ibv_end_poll(x);
	return true;
}

static struct ibv_comp_channel *end_channel;	/* of the CQs; NULL: programs poll all the time */

/*
 * One completion for each event. A program relies on the event that arming the CQ causes where there
 * are more. It is slow, so the library polls most of what completes while a QP moves.
 */
static void end_wait(struct end *e)
{
	struct fake_cq *cq = (struct fake_cq *)e->cq;
	struct ibv_wc wc;

	if (++e->polls % 8)
		return;
	for (; cq->events; cq->events--) {
		assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
		if (ibv_poll_cq(e->cq, 1, &wc) > 0)
			end_take(e, &wc);
	}
}

static void end_poll_all(struct end *e)
{
	struct ibv_wc wc[4];
	int n;


	/* Each third time by ibv_poll_cq(), which a program may mix. */
	if (end_entries && ++e->polls % 3)
		while (end_poll_entries(e))
			;

	while ((n = ibv_poll_cq(e->cq, 4, wc)) > 0)
		for (int i = 0; i < n; i++)
			end_take(e, &wc[i]);
}

static void end_poll(struct end *e)
{
	if (end_channel)
		end_wait(e);
	else
		end_poll_all(e);
}

static uint32_t end_wrs = WRS;

static void end_create(struct end *e, uintptr_t number)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = end_wrs, .max_recv_wr = WRS,
						.max_send_sge = 1, .max_recv_sge = 1 },
	};

	*e = (struct end){ .peer = &end[1 - number], .number = 77 + number };
	if (end_entries)
		e->cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(rig.ctx, &(struct ibv_cq_init_attr_ex){
			.cqe = 2 * WRS, .cq_context = (void *)number, .wc_flags = end_entries,
			.channel = end_channel,
		}));
	else
		e->cq = ibv_create_cq(rig.ctx, 2 * WRS, (void *)number, end_channel, 0);
	assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
	init.send_cq = init.recv_cq = e->cq;
	e->srq.srq.context = rig.ctx;
	init.srq = end_shared(e) ? &e->srq.srq : NULL;
	if (end_ex) {
		struct ibv_qp_init_attr_ex ex = {
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.pd = &rig.pd, .send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM |
				IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ,
		};

		memcpy(&ex, &init, offsetof(struct ibv_qp_init_attr_ex, comp_mask));
		e->qp = ibv_create_qp_ex(rig.ctx, &ex);
		init.cap = ex.cap;
	} else {
		e->qp = ibv_create_qp(&rig.pd, &init);
	}
	assert_int_equal(init.cap.max_send_wr, end_wrs);
}

static int access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

static void end_connect(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .qp_access_flags = (unsigned int)access_flags,
		.dest_qp_num = e->peer->qp->qp_num,
	};

	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS), 0);
	for (int i = 0; i < WRS; i++)
		end_post_recv(e);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				       IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

static inline int move_setup(void **state)
{
	static int tests;

	(void)state;
	memset(&fab, 0, sizeof(fab));
	memset(&ctl, 0, sizeof(ctl));
	next = (struct next){
		.open_device = fake_open_device, .close_device = stub_close_device,
		.create_cq = fake_create_cq, .destroy_cq = fake_destroy_cq,
		.create_qp = fake_create_qp, .modify_qp = fake_modify_qp,
		.query_qp = fake_query_qp, .destroy_qp = fake_destroy_qp,
		.qp_to_qp_ex = fake_to_qp_ex,
		.alloc_pd = fake_alloc_pd, .dealloc_pd = fake_dealloc_pd,
	};
	lib_share = fake_share;
	lib_clock = rig_clock;
	life_begin();
	settings.mode = MODE_LATENCY;
	settings.control = true;
	settings.move = true;
	settings.move_thread = false;
	settings.move_fail = MOVE_STEP_NONE;
	rig.now = 1000 * S;
	snprintf(stub_device.name, sizeof(stub_device.name), "move%d", tests++);
	rig.ctx = ibv_open_device(&stub_device);
	rig.pd.context = rig.ctx;
	end_create(&end[0], 0);
	end_create(&end[1], 1);
	end_connect(&end[0]);
	end_connect(&end[1]);
	return 0;
}

static inline int move_teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		if (end[i].qp)
			ibv_destroy_qp(end[i].qp);
		ibv_destroy_cq(end[i].cq);
	}
	assert_null(fab.qps);
	assert_int_equal(fab.pds, 0);
	assert_int_equal(fab.wrong, 0);
	assert_int_equal(moves_active, 0);
	ibv_close_device(rig.ctx);
	settings.move = false;
	return 0;
}

#endif /* UNIT_MOVE_RIG_H */
