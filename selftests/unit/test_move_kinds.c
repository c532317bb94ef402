// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Kinds of QPs and completion queues that move, or do not. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOVE_TEST(test_pinned),
		MOVE_TEST(test_pinned_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
