// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SWIFTRDMA_SHARE_KNOB_UAR: what a block of a QP in control makes the library do, once, and what it
 * answers. Both ends are QPs of one process, on one register at first.
 */
#include "move_rig.h"

#define PAGE 4096

/* All QPs of the program's PD are on one register, and those of a parent domain on another. */
static uintptr_t register_by_pd(struct ibv_qp *qp)
{
	return qp->pd == &rig.pd ? PAGE : (uintptr_t)qp->pd * PAGE;
}

static int setup(void **state)
{
	place_is_mlx5 = every_device;
	move_register_of = register_by_pd;
	return move_setup(state);
}

static int setup_other_provider(void **state)
{
	place_is_mlx5 = no_device;
	return move_setup(state);
}

static int teardown(void **state)
{
	return move_teardown(state);
}

#define KNOB_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void step(void)
{
	for (int i = 0; i < 2; i++) {
		struct end *e = &end[i];

		while (!end_frozen(e) && e->posted - e->done < 20)
			end_post(e, 5);
		end_poll(e);
	}
	fabric_step();
	move_round();
	rig.now += MS;
}

static void steps(int n)
{
	while (n--)
		step();
}

static struct qp *qp_of(const struct end *e)
{
	return table_find(&qps, e->qp);
}

static const struct swiftrdma_slot_id *id_of(const struct end *e)
{
	return &qp_of(e)->slot->id;
}

static struct swiftrdma_block *block_of(const struct end *e)
{
	size_t i = (size_t)(qp_of(e)->slot - qp_of(e)->ctx->dev->slot);

	if (ctl.control->blocks_used <= i)
		ctl.control->blocks_used = (uint32_t)i + 1;
	return ctl.job + 1 + i;
}

/* As the kernel does it; @value 0: the knob ends. */
static void set_knob_until(const struct end *e, uint32_t value, uint64_t until)
{
	struct swiftrdma_block *b = block_of(e);
	uint64_t next = b->changes + 1;

	b->generation = id_of(e)->generation;
	b->qpn = id_of(e)->qpn;
	b->knob[next & 1][SWIFTRDMA_SHARE_KNOB_UAR] = (struct swiftrdma_knob_value){
		.value = value, .until_ns = value ? until : 0,
	};
	b->changes = next;
	ctl.control->qp_changes++;
}

static void set_knob(const struct end *e, uint32_t value)
{
	set_knob_until(e, value, FOREVER);
}

static uint32_t now_of(const struct end *e)
{
	return move_of_end(e)->now->qp_num;
}

static void is_answered(const struct end *e, uint32_t value, enum swiftrdma_knob_state state)
{
	assert_int_equal(id_of(e)->uar_qpn, value);
	assert_int_equal(id_of(e)->uar_state, state);
}

static uint64_t n_moved(const struct end *e)
{
	return qp_of(e)->ctx->dev->moves.moved;
}

static void all_right(void)
{
	uint64_t was[2] = { end[0].received, end[1].received };

	steps(200);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(end[i].errors, 0);
		assert_true(end[i].received > was[i] + 10);
	}
}

/* However often the same value is written. */
static void test_once(void **state)
{
	struct end *e = &end[0];
	uint32_t first = e->qp->qp_num, now;

	(void)state;
	assert_int_equal(knob_state(SWIFTRDMA_SHARE_KNOB_UAR), SWIFTRDMA_KNOB_STATE_IDLE);
	assert_int_equal(move_sharing(qp_of(e)), 2);
	steps(50);
	is_answered(e, 0, SWIFTRDMA_KNOB_STATE_NONE);
	set_knob(e, first);
	steps(300);
	now = now_of(e);
	assert_int_not_equal(now, first);
	is_answered(e, first, SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(id_of(e)->now_qpn, now);
	assert_int_equal(id_of(e)->moves, 1);
	assert_int_equal(move_sharing(qp_of(e)), 1);
	/* Both ends have moved, each to a register of the library. */
	assert_int_equal(n_moved(e), 2);
	assert_int_equal(move_sharing(qp_of(&end[1])), 1);
	assert_null(swiftrdma_move_reason(e->qp));
	for (int i = 0; i < 3; i++) {
		set_knob_until(e, first, FOREVER + 1 + (uint64_t)i);
		steps(100);
	}
	assert_int_equal(now_of(e), now);
	/* The knob ends: nothing moves back. The first number has been left for good. */
	set_knob(e, 0);
	steps(100);
	set_knob(e, first);
	steps(100);
	assert_int_equal(now_of(e), now);
	is_answered(e, first, SWIFTRDMA_KNOB_STATE_IN_FORCE);
	/* By its new number: it has the register for itself. */
	set_knob(e, now);
	steps(100);
	assert_int_equal(now_of(e), now);
	is_answered(e, now, SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_non_null(strstr(swiftrdma_move_reason(e->qp), "for itself"));
	assert_int_equal(n_moved(e), 2);
	all_right();
}

/* A block is obeyed only if it is of this QP, and holds. */
static void test_blocks_of_others(void **state)
{
	struct end *e = &end[0];
	uint32_t first = e->qp->qp_num;

	(void)state;
	set_knob(e, first);
	block_of(e)->generation++;
	steps(100);
	block_of(e)->generation--;
	block_of(e)->qpn++;
	ctl.control->qp_changes++;
	steps(100);
	set_knob_until(e, first, rig.now);
	steps(100);
	is_answered(e, 0, SWIFTRDMA_KNOB_STATE_NONE);
	assert_int_equal(now_of(e), first);
	/* More blocks than there are. */
	ctl.control->blocks_used = UINT32_MAX;
	set_knob_until(e, first, rig.now + 10 * S);
	steps(300);
	assert_int_not_equal(now_of(e), first);
	all_right();
}

/* A move that fails is not tried again while the knob holds. */
static void test_fails_once(void **state)
{
	struct end *e = &end[0];
	uint32_t first = e->qp->qp_num;

	(void)state;
	settings.move_fail = MOVE_STEP_SHADOW;
	set_knob(e, first);
	steps(300);
	if (now_of(e) != first) {	/* it is each second one that fails */
		assert_int_equal(id_of(e)->moves, 1);
		set_knob(e, 0);
		settings.move_fail = MOVE_STEP_NONE;
		all_right();
		return;
	}
	is_answered(e, first, SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_non_null(swiftrdma_move_reason(e->qp));
	set_knob_until(e, first, FOREVER + 1);
	steps(300);
	assert_int_equal(now_of(e), first);
	settings.move_fail = MOVE_STEP_NONE;
	set_knob(e, 0);
	steps(10);
	set_knob(e, first);
	steps(300);
	is_answered(e, first, SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_not_equal(now_of(e), first);
	all_right();
}

/* A device that makes no QP in a register of the library: the knob does not move the QP elsewhere. */
static void test_no_register(void **state)
{
	struct end *e = &end[0];
	uint32_t first = e->qp->qp_num;

	(void)state;
	stub.fail_domains = 1000;
	set_knob(e, first);
	steps(300);
	assert_int_equal(now_of(e), first);
	is_answered(e, first, SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_non_null(strstr(swiftrdma_move_reason(e->qp), "no register"));
	stub.fail_domains = 0;
	all_right();
}

/* Too many QPs move: it is tried again, but not for ever. */
static void test_busy(void **state)
{
	struct end *e = &end[0];
	uint32_t first = e->qp->qp_num;

	(void)state;
	moves_active = MOVES_AT_ONCE;
	set_knob(e, first);
	steps(600);
	assert_int_equal(now_of(e), first);
	is_answered(e, 0, SWIFTRDMA_KNOB_STATE_NONE);
	moves_active = 0;
	steps(1500);
	assert_int_not_equal(now_of(e), first);
	is_answered(e, first, SWIFTRDMA_KNOB_STATE_IN_FORCE);
	all_right();
}

/* In the end it is given up. */
static void test_busy_for_long(void **state)
{
	struct end *e = &end[0];
	uint32_t first = e->qp->qp_num;

	(void)state;
	moves_active = MOVES_AT_ONCE;
	set_knob(e, first);
	steps(10000);
	moves_active = 0;
	is_answered(e, first, SWIFTRDMA_KNOB_STATE_UNABLE);
	steps(3000);
	assert_int_equal(now_of(e), first);
	all_right();
}

/* The library has registers on mlx5 devices alone. */
static void test_other_provider(void **state)
{
	struct end *e = &end[0];
	uint32_t first = e->qp->qp_num;

	(void)state;
	assert_int_equal(knob_state(SWIFTRDMA_SHARE_KNOB_UAR), SWIFTRDMA_KNOB_STATE_UNABLE);
	set_knob(e, first);
	steps(100);
	assert_int_equal(now_of(e), first);
	is_answered(e, first, SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_non_null(strstr(swiftrdma_move_reason(e->qp), "no registers"));
	all_right();
}

/*
 * A QP that can never move answers before it is asked, because no thread may look at its knob later: the
 * answer to no value is the answer to every one.
 */
static void test_never_moves(void **state)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = end[0].cq, .recv_cq = end[0].cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};
	struct end other = { .qp = ibv_create_qp(&rig.pd, &init) };

	(void)state;
	is_answered(&other, 0, SWIFTRDMA_KNOB_STATE_UNABLE);
	set_knob(&other, other.qp->qp_num);
	steps(100);
	is_answered(&other, 0, SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_true(id_of(&other)->flags & SWIFTRDMA_SLOT_FIXED);
	/* The next QP in the slot can. */
	ibv_destroy_qp(other.qp);
	init.qp_type = IBV_QPT_RC;
	other.qp = ibv_create_qp(&rig.pd, &init);
	is_answered(&other, 0, SWIFTRDMA_KNOB_STATE_NONE);
	assert_false(id_of(&other)->flags & SWIFTRDMA_SLOT_FIXED);
	ibv_destroy_qp(other.qp);
	all_right();
}

static struct ibv_qp *fake_mlx5dv_create(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
					 struct mlx5dv_qp_init_attr *dv)
{
	(void)ctx;
	(void)dv;
	return fake_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
}

/* QPs of mlx5dv_create_qp() can never move. */
static void test_never_moves_of_mlx5dv(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_DRIVER };

	(void)state;
	next_mlx5.create_qp = fake_mlx5dv_create;
	for (size_t i = 0; i < 2; i++) {
		struct ibv_qp_init_attr_ex init = {
			.qp_type = types[i], .send_cq = end[0].cq, .recv_cq = end[0].cq,
			.cap = { .max_send_wr = 4, .max_recv_wr = 4 }, .pd = &rig.pd,
			.comp_mask = IBV_QP_INIT_ATTR_PD,
		};
		struct end other = { .qp = mlx5dv_create_qp(rig.ctx, &init, NULL) };

		is_answered(&other, 0, SWIFTRDMA_KNOB_STATE_UNABLE);
		assert_true(id_of(&other)->flags & SWIFTRDMA_SLOT_FIXED);
		assert_int_equal(swiftrdma_move_qp(other.qp), -EOPNOTSUPP);
		assert_string_equal(swiftrdma_move_reason(other.qp), "it was created by mlx5dv_create_qp()");
		/* The library counts it among the QPs on its register. */
		assert_int_equal(qp_find(other.qp)->reg, PAGE);
		ibv_destroy_qp(other.qp);
	}
	all_right();
}

/* What moved for another reason has no knob, and its report says which QP carries its requests. */
static void test_report(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct end *e = &end[0];

	(void)state;
	move_of_end(e)->wanted = true;
	steps(300);
	assert_int_equal(id_of(e)->now_qpn, now_of(e));
	assert_int_equal(id_of(&end[1])->now_qpn, now_of(&end[1]));
	assert_int_equal(id_of(e)->qpn, e->qp->qp_num);
	is_answered(e, 0, SWIFTRDMA_KNOB_STATE_NONE);
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(id_of(e)->now_qpn, 0);
	assert_int_equal(id_of(e)->moves, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KNOB_TEST(test_once),
		KNOB_TEST(test_blocks_of_others),
		KNOB_TEST(test_fails_once),
		KNOB_TEST(test_no_register),
		KNOB_TEST(test_busy),
		KNOB_TEST(test_busy_for_long),
		cmocka_unit_test_setup_teardown(test_other_provider, setup_other_provider, teardown),
		KNOB_TEST(test_never_moves),
		KNOB_TEST(test_never_moves_of_mlx5dv),
		KNOB_TEST(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
