// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Moves of QPs that a program posts to by ibv_wr_*(), and calls that keep a QP where it is. */
#include <infiniband/mlx5dv.h>

#include "move_step.h"

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

static int fake_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	called = obj_type & MLX5DV_OBJ_QP ? obj->qp.in : NULL;
	return 0;
}

/* The program gets the queues of the QP that carries the requests, and that QP stays. */
static void test_shown(void **state)
{
	struct mlx5dv_obj obj = { .qp = { .in = end[0].qp } };

	next_mlx5.init_obj = fake_init_obj;
	move_once();
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	assert_ptr_equal(called, now_of(&end[0]));
	assert_ptr_not_equal(called, end[0].qp);
	assert_ptr_equal(obj.qp.in, end[0].qp);
	refused(&end[0], -EOPNOTSUPP, "the program has had its queues shown by mlx5dv_init_obj()");
	goes_on();
	assert_int_equal(move_teardown(state), 0);
	assert_int_equal(move_setup(state), 0);
	obj = (struct mlx5dv_obj){ .cq = { .in = end[1].cq } };
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	refused(&end[1], -EOPNOTSUPP,
		"the program has had its completion queue shown by mlx5dv_init_obj()");
	goes_on();
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

/* Windows that are bound by the other two calls. */
static void test_window_bound(void **state)
{
	struct ibv_mw_bind bind = { .wr_id = 1 };
	struct ibv_mw mw = { .context = rig.ctx };

	(void)state;
	move_once();
	assert_int_equal(rig.ctx->ops.bind_mw(end[0].qp, &mw, &bind), 0);
	refused(&end[0], -EOPNOTSUPP, "memory windows are bound to it");
}

static void test_window_built(void **state)
{
	struct ibv_qp_ex *qpx = (struct ibv_qp_ex *)end[0].qp;
	struct ibv_mw mw = { .context = rig.ctx };

	(void)state;
	move_once();
	ibv_wr_start(qpx);
	ibv_wr_bind_mw(qpx, &mw, 1, &(struct ibv_mw_bind_info){ .length = 0 });
	assert_int_equal(ibv_wr_complete(qpx), 0);
	refused(&end[0], -EOPNOTSUPP, "memory windows are bound to it");
}

/* The library moves no QP where libmlx5 takes no locks. */
static void test_without_locks(void **state)
{
	struct ibv_parent_domain_init_attr domain = { .pd = &rig.pd };
	struct fake_srq srq = { .srq.context = rig.ctx };
	struct ibv_qp_init_attr attr = {
		.send_cq = end[0].cq, .recv_cq = end[0].cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp;

	(void)state;
	setenv("MLX5_SINGLE_THREADED", "1", 1);
	qp = ibv_create_qp(&rig.pd, &attr);
	unsetenv("MLX5_SINGLE_THREADED");
	assert_string_equal(swiftrdma_move_reason(qp), "libmlx5 has no locks (MLX5_SINGLE_THREADED), and "
			    "the library moves QPs in a thread of its own");
	ibv_destroy_qp(qp);
	move_once();
	/* A shared receive queue in a parent domain. */
	srq.srq.pd = ibv_alloc_parent_domain(rig.ctx, &domain);
	assert_non_null(srq.srq.pd);
	attr.srq = &srq.srq;
	qp = ibv_create_qp(&rig.pd, &attr);
	refused(&end[0], -EOPNOTSUPP,
		"receives of a shared queue in a parent domain complete in its completion queue");
	ibv_destroy_qp(qp);
	ibv_dealloc_pd(srq.srq.pd);
}

/* --- ibv_wr_*() -------------------------------------------------------------------------- */

static int setup_ex(void **state)
{
	end_ex = true;
	return move_setup(state);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TEST(test_wr, setup_ex),
		KIND_TEST(test_wr_refused, setup_ex),
		KIND_TEST(test_wr_meanwhile, setup_ex),
		KIND_TEST(test_wr_cannot, setup_ex),
		KIND_TEST(test_wr_anew, setup_ex),
		MOVE_TEST(test_pinned),
		MOVE_TEST(test_shown),
		MOVE_TEST(test_pinned_meanwhile),
		MOVE_TEST(test_window_meanwhile),
		MOVE_TEST(test_window_bound),
		KIND_TEST(test_window_built, setup_ex),
		MOVE_TEST(test_without_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
