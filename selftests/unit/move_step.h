/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Programs that work at both ends of move_rig.h, while the library moves their QPs. */
#ifndef UNIT_MOVE_STEP_H
#define UNIT_MOVE_STEP_H

#include "move_rig.h"

#define KIND_TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, move_teardown)
#define MOVE_TEST(f) cmocka_unit_test_setup_teardown(f, move_setup, move_teardown)

static unsigned int last_signalled = 5;

/* One request of each program, of each queue, and one round of the library. */
static inline void step(void)
{
	for (int i = 0; i < 2; i++) {
		struct end *e = &end[i];

		if (e->gone)
			continue;
		/* The library holds the posts of a program meanwhile, so that its thread waits. */
		while (!e->quiet && !end_frozen(e) && !e->errors && e->posted - e->done < 20)
			end_post(e, last_signalled);
		end_poll(e);
	}
	fabric_step();
	move_round();
	rig.now += MS;
}

static inline bool at_rest(void)
{
	return (end[0].gone || move_of_end(&end[0])->state == MOVE_IDLE) &&
	       (end[1].gone || move_of_end(&end[1])->state == MOVE_IDLE);
}

static inline void ask(struct end *e)
{
	move_of_end(e)->wanted = true;
}

/* Until no end moves; returns how long that took, ms. */
static inline uint64_t settle(void)
{
	uint64_t began = rig.now;

	do {
		step();
		assert_true(rig.now - began < 60 * S);
	} while (!at_rest());
	return (rig.now - began) / MS;
}

static inline struct ibv_qp *now_of(const struct end *e)
{
	return move_of_end(e)->now;
}

/* The programs' requests go through in both directions, without an error. */
static inline void goes_on(void)
{
	uint64_t was[2] = { end[0].received, end[1].received };

	for (int i = 0; i < 300; i++)
		step();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(end[i].errors, 0);
		assert_true(end[i].received > was[i] + 20);
		assert_false(end_frozen(&end[i]));
	}
	assert_true(at_rest());
}

/* The programs reset their QPs, as after an error, and connect them to each other again. */
static inline void connect_anew(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	for (int i = 0; i < 2; i++) {
		struct end *e = &end[i];

		assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
		end_poll_all(e);
		e->srq.tail = e->srq.head;
		e->posted = e->done = e->recv_posted = e->received = e->written = 0;
		e->errors = 0;
	}
	end_connect(&end[0]);
	end_connect(&end[1]);
	goes_on();
}

/* Both ends have done the same: moved, or not. */
static inline bool moved_together(const struct ibv_qp *was0, const struct ibv_qp *was1)
{
	bool moved = now_of(&end[0]) != was0;

	assert_int_equal(now_of(&end[1]) != was1, moved);
	return moved;
}

static inline void move_once(void)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

	ask(&end[0]);
	settle();
	assert_true(moved_together(was0, was1));
	goes_on();
}

/*
 * One move, of which the modules lose the messages number @a and @b. @asks: how many ends ask for it. Returns
 * whether both ends have moved.
 */
static inline bool lose(int a, int b, int how, int asks)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);
	bool moved;

	fab.tells = 0;
	fab.lose[0] = a;
	fab.lose[1] = b;
	fab.how = how;
	ask(&end[0]);
	if (asks > 1)
		ask(&end[1]);
	/* Silence ends by itself, in bounded time. */
	assert_true(settle() < 30000);
	moved = moved_together(was0, was1);
	/* Each end knows of the other that it has moved, too. */
	assert_true(!moved || (!move_of_end(&end[0])->result && !move_of_end(&end[1])->result));
	fab.lose[0] = fab.lose[1] = 0;
	goes_on();
	/* It works the next time. */
	was0 = now_of(&end[0]);
	was1 = now_of(&end[1]);
	ask(&end[1]);
	settle();
	assert_true(moved_together(was0, was1));
	goes_on();
	return moved;
}

/* An end sees what it would have seen: an error of what it posts. */
static inline void sees_the_end(struct end *e)
{
	uint64_t began = rig.now;

	while (!e->errors || end_frozen(e) || move_of_end(e)->state != MOVE_IDLE) {
		step();
		assert_true(rig.now - began < 60 * S);
	}
}

static inline void refused(struct end *e, int err, const char *why)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

	ask(e);
	settle();
	assert_false(moved_together(was0, was1));
	assert_int_equal(move_of_end(e)->result, err);
	assert_string_equal(swiftrdma_move_reason(e->qp), why);
	goes_on();
}

#endif /* UNIT_MOVE_STEP_H */
