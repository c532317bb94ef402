/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The library over a provider without a device, and a clock that the test turns. */
#ifndef UNIT_LIB_RIG_H
#define UNIT_LIB_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/lib.h"
#include "stub.h"

static struct {
	struct ibv_context *ctx;
	struct ibv_pd pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint64_t now;
} rig;

static uint64_t rig_clock(void)
{
	return rig.now;
}

static const struct next stub_next = {
	.open_device = stub_open_device, .close_device = stub_close_device,
	.create_cq = stub_create_cq, .destroy_cq = stub_destroy_cq,
	.create_qp = stub_create_qp, .dealloc_pd = stub_dealloc_pd, .modify_qp = stub_modify_qp,
	.query_qp = stub_query_qp, .resize_cq = stub_resize_cq,
	.destroy_qp = stub_destroy_qp, .qp_to_qp_ex = stub_to_qp_ex,
};

static inline struct ibv_qp *rig_qp(struct ibv_cq *cq, int sig_all)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = sig_all,
		.cap.max_send_wr = STUB_WRS,
	};

	return ibv_create_qp(&rig.pd, &attr);
}

static inline int rig_setup(void **state)
{
	static int tests;

	(void)state;
	next = stub_next;
	/* A device of its own for each test. */
	snprintf(stub_device.name, sizeof(stub_device.name), "stub%d", tests++);
	memset(&stub, 0, sizeof(stub));
	stub.fail_after = -1;
	lib_clock = rig_clock;
	life_begin();
	settings.mode = MODE_LATENCY;
	settings.sample_every = 1;
	rig.now = 1000000;
	rig.ctx = ibv_open_device(&stub_device);
	rig.pd.context = rig.ctx;
	rig.cq = ibv_create_cq(rig.ctx, 1, NULL, NULL, 0);
	rig.qp = rig_qp(rig.cq, 0);
	return 0;
}

static inline int rig_teardown(void **state)
{
	(void)state;
	if (rig.qp)
		ibv_destroy_qp(rig.qp);
	ibv_destroy_cq(rig.cq);
	ibv_close_device(rig.ctx);
	return 0;
}

#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

#define LIST_MAX 64

/* A list of @n requests of 8 bytes; each @every-th is signalled, the last one first; 0: none. */
static inline int rig_post_bad(struct ibv_qp *qp, int n, int every, struct ibv_send_wr **bad,
			       struct ibv_send_wr *wr)
{
	static _Thread_local struct ibv_sge sge = { .length = 8 };
	static _Atomic uint64_t id;

	memset(wr, 0, (size_t)n * sizeof(*wr));
	for (int i = 0; i < n; i++) {
		wr[i].wr_id = ++id;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		if (every && !((n - 1 - i) % every))
			wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	return ibv_post_send(qp, wr, bad);
}

static inline int rig_post(struct ibv_qp *qp, int n, int every)
{
	struct ibv_send_wr wr[LIST_MAX], *bad;

	return rig_post_bad(qp, n, every, &bad, wr);
}

static inline int rig_poll(void)
{
	struct ibv_wc wc[32];
	int n, all = 0;

	while ((n = ibv_poll_cq(rig.cq, 32, wc)) > 0)
		all += n;
	return all;
}

static inline struct swiftrdma_figures rig_figures(struct ibv_qp *qp)
{
	struct swiftrdma_figures f;

	assert_int_equal(swiftrdma_read_qp(qp, &f, sizeof(f)), 0);
	return f;
}

static inline struct swiftrdma_figures rig_device(void)
{
	struct swiftrdma_figures f;

	assert_int_equal(swiftrdma_read_device(rig.ctx, &f, sizeof(f)), 0);
	return f;
}

static inline const struct swiftrdma_slot *rig_slot(struct ibv_qp *qp)
{
	return ((struct qp *)table_find(&qps, qp))->slot;
}

#endif /* UNIT_LIB_RIG_H */
