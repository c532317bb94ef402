/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A QP whose requests are posted in pieces. The provider moves the data, and has queues of just
 * the size that it was asked for, so that an entry too many is seen.
 */
#ifndef UNIT_CHUNK_RIG_H
#define UNIT_CHUNK_RIG_H

#include <pthread.h>

#include "control_rig.h"

#define CHUNK SWIFTRDMA_SHARE_KNOB_CHUNK
#define KIB 1024u
#define MEMORY (1024 * KIB)

static char local[MEMORY], remote[MEMORY];

/* The rig's QP has no room; these have. */
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static bool by_wr;		/* new QPs are for ibv_wr_*() */

/* QPs by ibv_create_qp_ex() have the functions of ibv_wr_*(), too. */
static inline struct ibv_qp *new_qp(struct ibv_cq *on, uint32_t wrs, enum ibv_qp_type type,
				    int sig_all)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = on, .recv_cq = on, .qp_type = type, .sq_sig_all = sig_all,
		.cap = { .max_send_wr = wrs, .max_send_sge = 4 },
		.pd = &rig.pd, .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ,
	};
	struct ibv_qp *made = by_wr ? ibv_create_qp_ex(rig.ctx, &attr) :
			      ibv_create_qp(&rig.pd, (struct ibv_qp_init_attr *)&attr);

	assert_non_null(made);
	assert_int_equal(attr.cap.max_send_wr, wrs);
	return made;
}

static inline int setup(void **state)
{
	ctl_setup(state);
	stub.real = 1;
	for (uint32_t i = 0; i < MEMORY; i++) {
		local[i] = (char)(i * 7 + i / 251);
		remote[i] = (char)(i * 13 + i / 509);
	}
	ctl_set(CHUNK, 4096);
	cq = ibv_create_cq(rig.ctx, 64, NULL, NULL, 0);
	qp = new_qp(cq, 16, IBV_QPT_RC, 0);
	return 0;
}

static inline int teardown(void **state)
{
	if (qp)
		ibv_destroy_qp(qp);
	if (cq)
		ibv_destroy_cq(cq);
	settings.chunk = false;
	return rig_teardown(state);
}

#define CHUNK_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static inline void is_polled(uint64_t id, enum ibv_wc_status status, uint32_t bytes)
{
	struct ibv_wc wc = { 0 };

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.qp_num, qp->qp_num);
	if (status == IBV_WC_SUCCESS)
		assert_int_equal(wc.byte_len, bytes);
}

static inline void is_empty(void)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

/* Requests of each thread. */
#define THREAD_POSTS 2000

/*
 * Two threads post to the QP at once, and this one polls. @post_many gets 1 or 2, writes that
 * many times 64 KiB behind the start of .remote, and gives its requests that wr_id.
 */
static inline void post_by_two_threads(void *(*post_many)(void *))
{
	pthread_t thread[2];
	int seen[3] = { 0 };
	struct ibv_wc wc;

	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, post_many, (void *)(i + 1));
	for (int n = 0; n < 2 * THREAD_POSTS; n++) {
		while (!ibv_poll_cq(cq, 1, &wc))
			sched_yield();
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, 65536);
		assert_in_range(wc.wr_id, 1, 2);
		seen[wc.wr_id]++;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	is_empty();
	assert_int_equal(seen[1], THREAD_POSTS);
	assert_int_equal(seen[2], THREAD_POSTS);
	assert_memory_equal(local + 65536, remote + 65536, 2 * 65536);
	assert_int_equal(rig_figures(qp).done, 2 * THREAD_POSTS);
	assert_int_equal(rig_figures(qp).stopped, 0);
	assert_int_equal(stub.overflows, 0);
}

#endif /* UNIT_CHUNK_RIG_H */
