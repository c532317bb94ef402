/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion queues in memory, with entries and events. Goes with move_fabric.h. */
#ifndef UNIT_FAKE_CQ_H
#define UNIT_FAKE_CQ_H

#define CQES 1024

struct fake_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	bool open;		/* between start_poll and end_poll */
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

/* Causes an event if the CQ is armed and not empty, as mlx5 does also for entries from before it was armed. */
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

#endif /* UNIT_FAKE_CQ_H */
