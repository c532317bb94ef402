// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Moves of QPs that a program posts to by ibv_wr_*(), or whose completion queue is an extended one. */
#include "move_step.h"

static void move_once(void)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

	ask(&end[0]);
	settle();
	assert_true(moved_together(was0, was1));
	goes_on();
}

/* --- what keeps a QP where it is ------------------------------------------------------ */

static struct ibv_qp *called;
static int refuses;

static int fake_port(struct ibv_qp *qp, uint8_t port)
{
	(void)port;
	called = qp;
	return refuses;
}

static int fake_query_port(struct ibv_qp *qp, uint8_t *port, uint8_t *active)
{
	called = qp;
	*port = *active = 1;
	return 0;
}

static int fake_udp_port(struct ibv_qp *qp, uint16_t port)
{
	(void)port;
	called = qp;
	return refuses;
}

static int fake_sched_elem(struct ibv_qp *qp, const struct mlx5dv_sched_leaf *requestor,
			   const struct mlx5dv_sched_leaf *responder)
{
	(void)requestor;
	(void)responder;
	called = qp;
	return refuses;
}

static int limit_rate(void)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = refuses ? 0 : 1000 };
	int ret = ibv_modify_qp_rate_limit(end[0].qp, &attr);

	called = ret ? now_of(&end[0]) : fab.limited;
	return ret;
}

static int set_port(void)
{
	return mlx5dv_modify_qp_lag_port(end[0].qp, 1);
}

static int set_udp_port(void)
{
	return mlx5dv_modify_qp_udp_sport(end[0].qp, 49152);
}

static int set_sched_elem(void)
{
	return mlx5dv_modify_qp_sched_elem(end[0].qp, NULL, NULL);
}

/* The call reaches the QP that carries the requests. It keeps the QP there, if it succeeds. */
static void test_pinned(void **state)
{
	static const struct {
		int (*set)(void);
		const char *why;
	} calls[] = {
		{ limit_rate, "the program has limited its rate by ibv_modify_qp_rate_limit()" },
		{ set_port, "the program has set its port by mlx5dv_modify_qp_lag_port()" },
		{ set_udp_port, "the program has set its UDP port by mlx5dv_modify_qp_udp_sport()" },
		{ set_sched_elem, "the program has scheduled it by mlx5dv_modify_qp_sched_elem()" },
	};
	uint8_t port, active;

	next_mlx5.modify_qp_lag_port = fake_port;
	next_mlx5.query_qp_lag_port = fake_query_port;
	next_mlx5.modify_qp_udp_sport = fake_udp_port;
	next_mlx5.modify_qp_sched_elem = fake_sched_elem;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		for (int n = 0; n < 3; n++) {
			move_once();
			assert_int_equal(mlx5dv_query_qp_lag_port(end[0].qp, &port, &active), 0);
			assert_ptr_equal(called, now_of(&end[0]));
			refuses = EINVAL;
			assert_int_equal(calls[i].set(), EINVAL);
			assert_ptr_equal(called, now_of(&end[0]));
			refuses = 0;
		}
		assert_int_equal(calls[i].set(), 0);
		assert_ptr_equal(called, now_of(&end[0]));
		assert_ptr_not_equal(called, end[0].qp);
		refused(&end[0], -EOPNOTSUPP, calls[i].why);
		/* The peer's wish is refused, too. */
		refused(&end[1], -EOPNOTSUPP,
			"the peer cannot, or its host has no module that relays messages");
		assert_int_equal(move_teardown(state), 0);
		assert_int_equal(move_setup(state), 0);
	}
}

/* A move that has not held posts yet is given up for the call. */
static void test_pinned_meanwhile(void **state)
{
	struct ibv_qp *was = end[0].qp;

	(void)state;
	ask(&end[0]);
	move_round();
	assert_int_equal(move_of_end(&end[0])->state, MOVE_ASKING);
	assert_int_equal(limit_rate(), 0);
	assert_ptr_equal(called, was);
	settle();
	assert_ptr_equal(now_of(&end[0]), was);
	assert_string_equal(swiftrdma_move_reason(end[0].qp), "the program changed the QP meanwhile");
	goes_on();
}

/* A window that is bound when the move has begun is not left behind. */
static void test_window_meanwhile(void **state)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;

	(void)state;
	end[0].quiet = end[1].quiet = true;
	for (int i = 0; i < 60; i++)
		step();
	ask(&end[0]);
	move_round();
	assert_int_equal(move_of_end(&end[0])->state, MOVE_ASKING);
	assert_int_equal(ibv_post_send(end[0].qp, &wr, &bad), 0);
	settle();
	assert_false(moved_together(was0, was1));
	assert_string_equal(swiftrdma_move_reason(end[0].qp), "memory windows are bound to it");
}

/* --- ibv_wr_*() -------------------------------------------------------------------------- */

static int setup_ex(void **state)
{
	end_ex = true;
	return move_setup(state);
}

static int teardown_ex(void **state)
{
	int ret = move_teardown(state);

	end_ex = false;
	return ret;
}

#define EX_TEST(f) cmocka_unit_test_setup_teardown(f, setup_ex, teardown_ex)

/* Batches and lists, mixed, that are aborted, too. */
static void test_wr(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		for (int n = 0; n < i; n++)
			step();
		move_once();
		assert_non_null(fake_to_qp_ex(now_of(&end[0])));
		/* The program's own QP has its functions when it has left RESET, by the library. */
		assert_ptr_not_equal(((struct ibv_qp_ex *)end[0].qp)->wr_complete, fake_wr_complete_error);
	}
	assert_int_equal(rig_device().errors, 0);
	assert_int_equal(rig_device().stopped, 0);
}

/* A refused batch is nothing. */
static void test_wr_refused(void **state)
{
	struct ibv_qp_ex *qpx = (struct ibv_qp_ex *)end[0].qp;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .num_sge = 1,
		.sg_list = &(struct ibv_sge){ .addr = (uintptr_t)end[0].out, .length = BYTES },
		.wr.rdma.remote_addr = (uintptr_t)&end[1].written,
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		ibv_wr_start(qpx);
		for (int n = 0; n < 2 * WRS; n++)
			end_build(&end[0], &wr);
		assert_int_equal(ibv_wr_complete(qpx), ENOMEM);
		move_once();
	}
}

/* While the program builds a batch of @n ms, in which it polls and posts receives, the peer asks. */
static void build_for(uint64_t n, bool moves)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);
	struct ibv_qp_ex *qpx = (struct ibv_qp_ex *)end[0].qp;
	uint64_t i = end[0].posted, began;

	while (end[0].done != i)
		end_poll(&end[0]), fabric_step();
	end[0].out[i % RING] = i;
	ibv_wr_start(qpx);
	end_build(&end[0], &(struct ibv_send_wr){
		.wr_id = i, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .num_sge = 1,
		.sg_list = &(struct ibv_sge){ .addr = (uintptr_t)&end[0].out[i % RING], .length = BYTES },
		.wr.rdma.remote_addr = (uintptr_t)&end[1].written,
	});
	ask(&end[1]);
	end[0].quiet = true;
	for (began = rig.now; rig.now - began < n * MS;) {
		step();
		assert_ptr_equal(now_of(&end[0]), was0);
	}
	assert_int_equal(end_frozen(&end[0]), moves);
	assert_int_equal(ibv_wr_complete(qpx), 0);
	end[0].posted++;
	settle();
	end[0].quiet = false;
	assert_int_equal(moved_together(was0, was1), moves);
	goes_on();
	if (!moves)
		assert_string_equal(swiftrdma_move_reason(end[0].qp), "requests did not complete in time");
}

static void test_wr_meanwhile(void **state)
{
	(void)state;
	/* So that the next operation is a write. */
	for (int i = 0; i < 6; i++) {
		end[0].quiet = end[1].quiet = true;
		while (end[0].posted % 3 != 1 || end[0].posted % 6 == 5)
			end_post(&end[0], end[0].posted % 6);
		while (end[0].done != end[0].posted)
			end_poll(&end[0]), end_poll(&end[1]), fabric_step();
		end[1].quiet = false;
		build_for(i % 2 ? 600 : 100, !(i % 2));
	}
}

/* What a shadow could not be made with, or for. */
static void test_wr_cannot(void **state)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = IBV_QPT_RC, .send_cq = end[0].cq, .recv_cq = end[0].cq, .pd = &rig.pd,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp;

	(void)state;
	qp = ibv_create_qp_ex(rig.ctx, &ex);
	assert_int_equal(swiftrdma_move_qp(qp), -EOPNOTSUPP);
	assert_string_equal(swiftrdma_move_reason(qp), "it was created with further attributes");
	assert_int_equal(ex.cap.max_send_wr, 4);
	ibv_destroy_qp(qp);
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ex.send_ops_flags |= 1ull << 40;
	qp = ibv_create_qp_ex(rig.ctx, &ex);
	assert_int_equal(swiftrdma_move_qp(qp), -EOPNOTSUPP);
	assert_string_equal(swiftrdma_move_reason(qp),
			    "it was created with operations that the library does not know");
	ibv_destroy_qp(qp);
	goes_on();
}

/* A QP that has moved is reset and connected anew: batches go to the program's own QP again. */
static void test_wr_anew(void **state)
{
	(void)state;
	for (int n = 0; n < 3; n++) {
		move_once();
		connect_anew();
	}
}

/* --- extended CQs ------------------------------------------------------------------------- */

#define FEW (IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM)

static int setup_few(void **state)
{
	end_entries = FEW;
	return move_setup(state);
}

static int setup_all(void **state)
{
	end_entries = IBV_WC_STANDARD_FLAGS;
	return move_setup(state);
}

static int setup_unknown(void **state)
{
	end_entries = FEW | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	return move_setup(state);
}

static int teardown_entries(void **state)
{
	int ret = move_teardown(state);

	end_entries = 0;
	return ret;
}

/* Entries that the library polled and those that the program polled are one queue. */
static void test_entries(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		for (int n = 0; n < i; n++)
			step();
		move_once();
	}
	assert_int_equal(rig_device().errors, 0);
	assert_int_equal(rig_device().stopped, 0);
	assert_int_equal(rig_device().unmatched, 0);
}

/* The program has its poll open while it waits for a move to end: the library polls all the same. */
static void test_entries_open(void **state)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);
	struct ibv_cq_ex *x = (struct ibv_cq_ex *)end[0].cq;
	struct ibv_poll_cq_attr attr = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		step();
	while (ibv_start_poll(x, &attr))
		fabric_step();
	ask(&end[1]);
	for (uint64_t began = rig.now; rig.now - began < 200 * MS; rig.now += MS) {
		fabric_step();
		end_poll(&end[1]);
		move_round();
	}
	assert_true(moved_together(was0, was1));
	assert_true(at_rest());
	end_take_entry(&end[0], x);
	while (!ibv_next_poll(x))
		end_take_entry(&end[0], x);
	ibv_end_poll(x);
	goes_on();
}

/* Errors come as entries, too, and a queue that is reset has none of the QP's. */
static void test_entries_end(void **state)
{
	(void)state;
	for (int n = 0; n < 30; n++) {
		for (int i = 0; i < n; i++)
			step();
		ask(&end[0]);
		for (int i = 0; i < n; i++)
			step();
		connect_anew();
	}
	move_once();
	fab.cut = true;
	sees_the_end(&end[0]);
	sees_the_end(&end[1]);
}

static void test_entries_unknown(void **state)
{
	(void)state;
	assert_int_equal(((struct fake_cq *)end[0].cq)->size, 2 * WRS);
	refused(&end[0], -EOPNOTSUPP, "the library cannot keep what its extended completion queue offers");
}

/* --- shared receive queues --------------------------------------------------------------- */

static int setup_srq(bool first, bool second, void **state)
{
	end_shares[0] = first;
	end_shares[1] = second;
	return move_setup(state);
}

static int setup_srq_here(void **state)
{
	return setup_srq(true, false, state);
}

static int setup_srq_there(void **state)
{
	return setup_srq(false, true, state);
}

static int setup_srqs(void **state)
{
	return setup_srq(true, true, state);
}

static int teardown_srq(void **state)
{
	int ret = move_teardown(state);

	end_shares[0] = end_shares[1] = false;
	return ret;
}

/* No message takes a receive but the program's, and each finds the program's. */
static void test_srq(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		for (int n = 0; n < i; n++)
			step();
		move_once();
		ask(&end[1]);
		settle();
		goes_on();
	}
	for (int n = 0; n < 3; n++) {
		move_once();
		connect_anew();
	}
	assert_int_equal(rig_device().stopped, 0);
}

/* The messages that stand for marks, too. */
static void test_srq_lost(void **state)
{
	unsigned int moved = 0, not = 0;

	(void)state;
	for (int how = LOSE_SILENT; how <= LOSE_KNOWN; how++) {
		for (int a = 1; a <= 8; a++) {
			for (int b = a; b <= 10; b++) {
				bool did = lose(a, b, how, 1);

				moved += did;
				not += !did;
			}
		}
	}
	assert_true(moved > 40);
	assert_true(not > 40);
}

/* The decision does not come through: both programs see an error, in bounded time, and not before. */
static void test_srq_cut(void **state)
{
	(void)state;
	ask(&end[0]);
	while (move_of_end(&end[0])->state != MOVE_DECIDED)
		step();
	fab.cut = fab.mute = true;
	sees_the_end(&end[0]);
	sees_the_end(&end[1]);
	fab.cut = fab.mute = false;
	connect_anew();
	move_once();
}

/* The decision is not told, as if a module were gone. The connection works: so both move. */
static void test_srq_mute(void **state)
{
	const struct ibv_qp *was0, *was1;

	(void)state;
	for (int n = 0; n < 4; n++) {
		goes_on();
		was0 = now_of(&end[0]);
		was1 = now_of(&end[1]);
		ask(&end[0]);
		fab.mute_swapped = true;
		assert_true(settle() < 60000);
		fab.mute_swapped = false;
		assert_true(moved_together(was0, was1));
	}
	goes_on();
}

/* B stands still until A waits no longer, and A's messages are in B's shared receive queue. */
static void test_srq_stalled(void **state)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

	(void)state;
	goes_on();
	ask(&end[0]);
	while (move_of_end(&end[0])->state != MOVE_DECIDED)
		step();
	fab.stands = true;
	while (move_of_end(&end[0])->state != MOVE_IDLE) {
		move_turn(move_of_end(&end[0]));
		rig.now += 100 * MS;
	}
	for (int i = 0; i < 9; i++)
		end_post(&end[0], 5);
	for (int i = 0; i < 20; i++) {
		fabric_step();
		end_poll(&end[i % 2]);
	}
	fab.stands = false;
	settle();
	assert_true(moved_together(was0, was1));
	goes_on();
}

/* Queues that complete elsewhere. */
static void test_srq_special(void **state)
{
	struct ibv_srq_init_attr_ex ex = { .comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_TM };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = end[0].cq, .recv_cq = end[0].cq, .srq = &end[0].srq.srq,
		.cap = { .max_send_wr = 4 },
	};
	struct ibv_qp *qp;

	(void)state;
	assert_null(verbs_get_ctx(rig.ctx)->create_srq_ex(rig.ctx, &ex));
	qp = ibv_create_qp(&rig.pd, &init);
	assert_int_equal(swiftrdma_move_qp(qp), -EOPNOTSUPP);
	assert_string_equal(swiftrdma_move_reason(qp),
			    "its context has shared receive queues for XRC or tag matching");
	assert_int_equal(init.cap.max_send_wr, 4);
	ibv_destroy_qp(qp);
}

#define SRQ_TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, teardown_srq)

/* --- completion channels --------------------------------------------------------------------- */

static int setup_channel(void **state)
{
	static struct ibv_comp_channel channel;

	end_channel = &channel;
	return move_setup(state);
}

static int setup_channel_entries(void **state)
{
	end_entries = FEW;
	return setup_channel(state);
}

static int teardown_channel(void **state)
{
	int ret = teardown_entries(state);

	end_channel = NULL;
	return ret;
}

/* Moves while what is outstanding completes, and nothing comes after it. */
static void move_at_the_end(struct end *e)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

	ask(e);
	end[0].quiet = end[1].quiet = true;
	settle();
	assert_true(moved_together(was0, was1));
	for (int i = 0; i < 100; i++)
		step();
	for (int i = 0; i < 2; i++) {
		assert_false(stash_keeps(cq_find(end[i].cq)));
		end[i].quiet = false;
	}
}

/* A program that polls only when an event has come misses no completion that the library keeps. */
static void test_events(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		for (int n = 0; n < 20 + i; n++)
			step();
		move_at_the_end(&end[i % 2]);
		move_once();
	}
	assert_int_equal(rig_device().errors, 0);
	assert_int_equal(rig_device().stopped, 0);
	assert_int_equal(rig_device().unmatched, 0);
}

/* The program's own calls find nothing of the library's in the queue. */
static void test_events_end(void **state)
{
	struct ibv_wc wc;

	(void)state;
	for (int n = 0; n < 30; n++) {
		for (int i = 0; i < n; i++)
			step();
		ask(&end[0]);
		for (int i = 0; i < n; i++)
			step();
		connect_anew();
	}
	fab.cut = true;
	sees_the_end(&end[0]);
	sees_the_end(&end[1]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ibv_req_notify_cq(end[i].cq, 0), 0);
		assert_int_equal(ibv_destroy_qp(end[i].qp), 0);
		end[i].qp = NULL;
		assert_int_equal(ibv_poll_cq(end[i].cq, 1, &wc), 0);
	}
}

/* A queue that cannot be destroyed still has events for what the library keeps. */
static void test_events_in_use(void **state)
{
	(void)state;
	move_once();
	assert_non_null(cq_find(end[0].cq)->notifier);
	fab.busy = true;
	assert_int_equal(ibv_destroy_cq(end[0].cq), EBUSY);
	fab.busy = false;
	assert_non_null(cq_find(end[0].cq)->notifier);
	for (int n = 0; n < 20; n++)
		step();
	move_at_the_end(&end[0]);
}

/* Without memory for it nothing moves. */
static void test_events_cannot(void **state)
{
	(void)state;
	fab.fail_pd = true;
	refused(&end[0], -ENOMEM, "the device made no second QP");
	fab.fail_pd = false;
	fab.fail_create = 1;
	refused(&end[0], -ENOMEM, "the device made no second QP");
	move_once();
}

#define CHANNEL_TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, teardown_channel)
#define ENTRIES_TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, teardown_entries)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENTRIES_TEST(test_entries, setup_few),
		ENTRIES_TEST(test_entries, setup_all),
		ENTRIES_TEST(test_entries_open, setup_few),
		ENTRIES_TEST(test_entries_end, setup_all),
		ENTRIES_TEST(test_entries_unknown, setup_unknown),
		CHANNEL_TEST(test_events, setup_channel),
		CHANNEL_TEST(test_events, setup_channel_entries),
		CHANNEL_TEST(test_events_end, setup_channel),
		CHANNEL_TEST(test_events_end, setup_channel_entries),
		CHANNEL_TEST(test_events_in_use, setup_channel),
		CHANNEL_TEST(test_events_cannot, setup_channel),
		SRQ_TEST(test_srq, setup_srq_here),
		SRQ_TEST(test_srq, setup_srq_there),
		SRQ_TEST(test_srq, setup_srqs),
		SRQ_TEST(test_srq_lost, setup_srq_here),
		SRQ_TEST(test_srq_lost, setup_srq_there),
		SRQ_TEST(test_srq_lost, setup_srqs),
		SRQ_TEST(test_srq_cut, setup_srq_here),
		SRQ_TEST(test_srq_cut, setup_srq_there),
		SRQ_TEST(test_srq_cut, setup_srqs),
		SRQ_TEST(test_srq_mute, setup_srq_here),
		SRQ_TEST(test_srq_mute, setup_srq_there),
		SRQ_TEST(test_srq_mute, setup_srqs),
		SRQ_TEST(test_srq_stalled, setup_srq_there),
		SRQ_TEST(test_srq_stalled, setup_srqs),
		SRQ_TEST(test_srq_special, setup_srqs),
		EX_TEST(test_wr),
		EX_TEST(test_wr_refused),
		EX_TEST(test_wr_meanwhile),
		EX_TEST(test_wr_cannot),
		EX_TEST(test_wr_anew),
		MOVE_TEST(test_pinned),
		MOVE_TEST(test_pinned_meanwhile),
		MOVE_TEST(test_window_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
