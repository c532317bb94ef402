// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Moves of QPs whose peer grants neither writes nor reads, or reads alone. */
#include "move_step.h"

/* End 0 asks for a move. Neither program posts or polls until the move has ended. */
static void ask_quietly(void)
{
	ask(&end[0]);
	for (int n = 0; n < 30; n++) {
		fabric_step();
		move_round();
		rig.now += MS;
	}
}

/*
 * Only a fence, an empty write or read, tells when unsignalled requests at the end of the queue are
 * complete. The library cannot post a fence if the peer grants neither writes nor reads.
 */
static void test_no_access(void **state)
{
	struct ibv_qp_attr attr = { .qp_access_flags = 0 };

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_modify_qp(end[i].qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	end_post(&end[0], 5);
	ask_quietly();
	assert_true(at_rest());
	assert_int_equal(move_of_end(&end[0])->result, -EACCES);
	assert_true(!!strstr(swiftrdma_move_reason(end[0].qp), "unsignalled"));
	/* Of a signalled one it is. */
	end_poll(&end[1]);
	end[0].posted = 3;
	end_post(&end[0], 3);
	fabric_step();
	ask_quietly();
	assert_int_equal(move_of_end(&end[0])->result, 0);
}

/*
 * A peer may grant reads alone. Then the fence is a read, if both ends have resources for reads: without
 * them it would break the connection.
 */
static void test_reads_only(void **state)
{
	static const struct {
		uint8_t out, in;
		int result;
	} cases[] = { { 1, 1, 0 }, { 0, 1, -EACCES }, { 1, 0, -EACCES } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_qp_attr attr = {
			.qp_access_flags = IBV_ACCESS_REMOTE_READ,
			.max_rd_atomic = cases[i].out, .max_dest_rd_atomic = cases[i].in,
		};
		const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

		assert_int_equal(ibv_modify_qp(end[0].qp, &attr, IBV_QP_ACCESS_FLAGS |
					       IBV_QP_MAX_QP_RD_ATOMIC), 0);
		assert_int_equal(ibv_modify_qp(end[1].qp, &attr, IBV_QP_ACCESS_FLAGS |
					       IBV_QP_MAX_DEST_RD_ATOMIC), 0);
		end_post(&end[0], 5);
		ask_quietly();
		end_poll(&end[0]);
		end_poll(&end[1]);
		assert_true(at_rest());
		assert_int_equal(end[0].errors + end[1].errors, 0);
		assert_int_equal(end[1].received, 1);
		assert_int_equal(move_of_end(&end[0])->result, cases[i].result);
		assert_int_equal(fab.empty_reads > 0, !cases[i].result);
		assert_int_equal(moved_together(was0, was1), !cases[i].result);
		for (int n = 0; n < 2; n++)
			assert_int_equal(fake(now_of(&end[n]))->access, IBV_ACCESS_REMOTE_READ);
		assert_int_equal(move_teardown(state), 0);
		assert_int_equal(move_setup(state), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOVE_TEST(test_no_access),
		MOVE_TEST(test_reads_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
