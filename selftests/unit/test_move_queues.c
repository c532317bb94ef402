// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Moves of QPs whose completion queue is an extended one or has a channel, or that have an SRQ. */
#include "move_step.h"

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

/* The program calls ibv_start_poll(), the QP moves, and the program calls ibv_end_poll(). */
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

/* The program resets its QPs at different moments of a move, and connects them again. */
static void connect_anew_in_moves(void)
{
	for (int n = 0; n < 30; n++) {
		for (int i = 0; i < n; i++)
			step();
		ask(&end[0]);
		for (int i = 0; i < n; i++)
			step();
		connect_anew();
	}
}

/* Errors come as entries, too, and a queue that is reset has none of the QP's. */
static void test_entries_end(void **state)
{
	(void)state;
	connect_anew_in_moves();
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

/* The thread of B stops until A has given up waiting, and messages of A have taken receives of B's SRQ. */
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

/*
 * If the decision is not heard, an end with an SRQ has to try the old connection. Where the peer grants no
 * request for that, nothing is begun.
 */
static void test_srq_no_access(void **state)
{
	struct ibv_qp_attr attr = { .qp_access_flags = 0 };
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);
	static const char why[] =
		"an end has a shared receive queue, and is granted neither reads nor writes by its peer";

	(void)state;
	assert_int_equal(ibv_modify_qp(end[0].qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	end[0].quiet = end[1].quiet = true;
	for (int i = 0; i < 2; i++) {
		ask(&end[i % 2]);
		fab.mute_swapped = true;
		settle();
		fab.mute_swapped = false;
		/* The end that asks grants what the other one needs: that move is safe. */
		if (i) {
			assert_true(moved_together(was0, was1));
			break;
		}
		assert_false(moved_together(was0, was1));
		assert_int_equal(move_of_end(&end[0])->result, -EPERM);
		assert_string_equal(swiftrdma_move_reason(end[0].qp), why);
		assert_string_equal(swiftrdma_move_reason(end[1].qp), why);
		assert_false(end_frozen(&end[0]) || end_frozen(&end[1]));
	}
	assert_int_equal(end[0].errors + end[1].errors, 0);
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

/* Moves the QPs after the programs have posted their last requests, while these complete. */
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
	connect_anew_in_moves();
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

/*
 * A program arms the CQ of an end that moves, when the library keeps completions of it. @fail: the
 * fail_modify meanwhile. Returns the events that the CQ has of that.
 */
static unsigned int arm_while_kept(int fail, int *err)
{
	struct fake_cq *cq = (struct fake_cq *)end[0].cq;
	unsigned int events;

	ask(&end[0]);
	for (int n = 0; n < 1000 && !stash_keeps(cq_find(end[0].cq)); n++)
		step();
	assert_true(stash_keeps(cq_find(end[0].cq)));
	events = cq->events;
	fab.fail_modify = fail;
	*err = ibv_req_notify_cq(end[0].cq, 0);
	assert_true(fail <= 0 || !fab.fail_modify);
	fab.fail_modify = 0;
	return cq->events - events;
}

/*
 * A command of the device that fails once costs no event. A device that refuses each is told to the
 * program, which would wait for ever.
 */
static void test_events_refused(void **state)
{
	int err;

	(void)state;
	move_once();
	for (int at = 1; at <= 3; at++) {
		assert_int_equal(arm_while_kept(at, &err), 1);
		assert_int_equal(err, 0);
		settle();
	}
	assert_int_equal(arm_while_kept(-1, &err), 0);
	assert_int_equal(err, EIO);
	settle();
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TEST(test_entries, setup_few),
		KIND_TEST(test_entries, setup_all),
		KIND_TEST(test_entries_open, setup_few),
		KIND_TEST(test_entries_end, setup_all),
		KIND_TEST(test_entries_unknown, setup_unknown),
		KIND_TEST(test_events, setup_channel),
		KIND_TEST(test_events, setup_channel_entries),
		KIND_TEST(test_events_end, setup_channel),
		KIND_TEST(test_events_end, setup_channel_entries),
		KIND_TEST(test_events_in_use, setup_channel),
		KIND_TEST(test_events_refused, setup_channel),
		KIND_TEST(test_events_cannot, setup_channel),
		KIND_TEST(test_srq, setup_srq_here),
		KIND_TEST(test_srq, setup_srq_there),
		KIND_TEST(test_srq, setup_srqs),
		KIND_TEST(test_srq_lost, setup_srq_here),
		KIND_TEST(test_srq_lost, setup_srq_there),
		KIND_TEST(test_srq_lost, setup_srqs),
		KIND_TEST(test_srq_cut, setup_srq_here),
		KIND_TEST(test_srq_cut, setup_srq_there),
		KIND_TEST(test_srq_cut, setup_srqs),
		KIND_TEST(test_srq_mute, setup_srq_here),
		KIND_TEST(test_srq_mute, setup_srq_there),
		KIND_TEST(test_srq_mute, setup_srqs),
		KIND_TEST(test_srq_stalled, setup_srq_there),
		KIND_TEST(test_srq_stalled, setup_srqs),
		KIND_TEST(test_srq_no_access, setup_srq_there),
		KIND_TEST(test_srq_special, setup_srqs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
