// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QP that moves: both ends, with traffic that is checked, and whatever may fail meanwhile. Each time
 * the traffic goes on as if nothing had been, or, if the connection fails, both programs see errors.
 */
#include "move_step.h"

static void test_moves(void **state)
{
	struct ibv_qp *was[2];

	(void)state;
	for (int i = 0; i < 20; i++) {
		was[0] = now_of(&end[0]);
		was[1] = now_of(&end[1]);
		for (int n = 0; n < i; n++)
			step();
		ask(&end[i % 2]);
		settle();
		assert_true(moved_together(was[0], was[1]));
		assert_int_equal(move_of_end(&end[0])->result, 0);
		assert_null(swiftrdma_move_reason(end[0].qp));
		for (int k = 0; i && k < 2; k++)
			assert_true(move_of_end(&end[k])->load >= MOVE_LOADED);
		goes_on();
	}
	assert_int_equal(rig_device().errors, 0);
	assert_int_equal(rig_device().stopped, 0);
}

/* Idle ends, and those of which only one sends. */
static void test_moves_idle(void **state)
{
	(void)state;
	end[0].gone = end[1].gone = true;
	ask(&end[0]);
	for (int i = 0; i < 100; i++)
		step();
	end[0].gone = end[1].gone = false;
	assert_true(moved_together(end[0].qp, end[1].qp));
	goes_on();
}

/* Each of the last signalled requests, so that the queue ends by more and fewer unsignalled ones. */
static void test_unsignalled(void **state)
{
	(void)state;
	for (last_signalled = 0; last_signalled < 6; last_signalled++) {
		const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

		for (unsigned int i = 0; i < 7 + last_signalled; i++)
			step();
		ask(&end[0]);
		settle();
		assert_true(moved_together(was0, was1));
		goes_on();
	}
	last_signalled = 5;
}

/* One end has nothing outstanding long before the other one. */
static void test_uneven(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

		end[i % 2].quiet = true;
		for (int n = 0; n < 60; n++)
			step();
		ask(&end[i / 2]);
		settle();
		assert_true(moved_together(was0, was1));
		end[i % 2].quiet = false;
		goes_on();
	}
}

static void test_both_ask(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

		ask(&end[0]);
		ask(&end[1]);
		settle();
		assert_true(moved_together(was0, was1));
		goes_on();
	}
}

/* --- messages that are lost ---------------------------------------------------------- */

/* Every single message, and every pair of messages, of moves that one end asks for, or both. */
static void test_lost(void **state)
{
	unsigned int moved = 0, not = 0;

	(void)state;
	for (int how = LOSE_SILENT; how <= LOSE_KNOWN; how++) {
		for (int asks = 1; asks <= 2; asks++) {
			for (int a = 1; a <= 7; a++) {
				for (int b = a; b <= 8; b++) {
					bool did = lose(a, b, how, asks);

					moved += did;
					not += !did;
				}
			}
		}
	}
	/* Some were the messages of the move, and some came when it was over. */
	assert_true(moved > 20);
	assert_true(not > 100);
}

/* --- steps that fail ------------------------------------------------------------------ */

/* Moves until one goes through, or the connection fails; returns how many were rolled back. */
static int try_steps(enum move_step step)
{
	int rolled_back = 0;

	settings.move_fail = step;
	for (int n = 0; n < 8 && !end[0].errors && !end[1].errors; n++) {
		const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

		ask(&end[n % 2]);
		settle();
		if (end[0].errors || end[1].errors)
			break;
		if (!moved_together(was0, was1)) {
			rolled_back++;
			assert_non_null(swiftrdma_move_reason(end[n % 2].qp));
		}
		goes_on();
	}
	settings.move_fail = MOVE_STEP_NONE;
	return rolled_back;
}

static void test_steps_fail(void **state)
{
	(void)state;
	assert_int_equal(move_step_named("shadow"), MOVE_STEP_SHADOW);
	assert_int_equal(move_step_named("connect"), MOVE_STEP_CONNECT);
	assert_int_equal(move_step_named("drain"), MOVE_STEP_DRAIN);
	assert_int_equal(move_step_named("receives"), MOVE_STEP_RECVS);
	assert_int_equal(move_step_named("reset"), MOVE_STEP_RESET);
	assert_int_equal(move_step_named("no such step"), MOVE_STEP_NONE);
	assert_int_equal(move_step_named(NULL), MOVE_STEP_NONE);
	assert_int_equal(move_state_named("asking"), MOVE_ASKING);
	assert_int_equal(move_state_named("leaving"), MOVE_LEAVING);
	assert_int_equal(move_state_named("idle"), MOVE_IDLE);
	assert_int_equal(move_state_named(NULL), MOVE_IDLE);
	for (enum move_step s = MOVE_STEP_SHADOW; s <= MOVE_STEP_DRAIN; s++)
		assert_in_range(try_steps(s), 3, 8);
}

/* The first time A fails, which is rolled back; then B, after A has decided: both see errors. */
static void test_recvs_fail(void **state)
{
	(void)state;
	assert_int_equal(try_steps(MOVE_STEP_RECVS), 1);
	sees_the_end(&end[0]);
	sees_the_end(&end[1]);
}

/* A QP that was left and cannot be reset is in the way of nothing, also when the program resets it. */
static void test_reset_fails(void **state)
{
	(void)state;
	for (int n = 0; n < 3; n++) {
		assert_int_equal(try_steps(MOVE_STEP_RESET), 0);
		assert_int_equal(end[0].errors + end[1].errors, 0);
		connect_anew();
	}
	assert_int_equal(rig_device().stopped, 0);
}

/* --- the peer, or the connection, ends ---------------------------------------------------- */

/* Each step of a move, counted in rounds. */
#define ROUNDS 40

/* From one step of a move to the next one that a test ends it at; each of them with FULL=1. */
static int stride(void)
{
	return getenv("FULL") ? 1 : 3;
}

/* After some traffic A asks for a move, which goes on for @n rounds. */
static void move_for(int n)
{
	for (int i = 0; i < 20; i++)
		step();
	ask(&end[0]);
	for (int i = 0; i < n; i++)
		step();
}

/* The peer's process is gone, with all that it had. */
static void kill_end(struct end *e)
{
	struct fake_qp *f, **at = &fab.qps;

	e->gone = true;
	pthread_mutex_lock(&move_of_end(e)->life);
	move_of_end(e)->dead = true;
	pthread_mutex_unlock(&move_of_end(e)->life);
	while ((f = *at)) {
		if (f->qp.send_cq == e->cq && &f->qp != e->qp) {
			*at = f->next;
			free(f);
			continue;
		}
		if (f->qp.send_cq == e->cq)
			f->state = IBV_QPS_RESET;
		at = &f->next;
	}
	move_of_end(e)->now = move_of_end(e)->first;
	move_of_end(e)->next = move_of_end(e)->old = NULL;
	if (move_of_end(e)->active)
		atomic_fetch_sub(&moves_active, 1);
	move_of_end(e)->active = false;
}

static void test_peer_killed(void **state)
{
	for (int who = 0; who < 2; who++) {
		for (int n = 0; n < ROUNDS; n++) {
			move_for(n);
			kill_end(&end[who]);
			sees_the_end(&end[1 - who]);
			assert_int_equal(move_teardown(state), 0);
			assert_int_equal(move_setup(state), 0);
		}
	}
}

enum program_end { DESTROYS, RESETS, FAILS, PROGRAM_ENDS };

/* Returns the number of @e's QP, of which alone completions may come from now on. */
static uint32_t end_program(struct end *e, enum program_end what)
{
	struct ibv_qp_attr attr = { .qp_state = what == RESETS ? IBV_QPS_RESET : IBV_QPS_ERR };
	uint32_t qpn = e->qp->qp_num;

	e->gone = true;
	if (what == DESTROYS) {
		assert_int_equal(ibv_destroy_qp(e->qp), 0);
		e->qp = NULL;
	} else {
		assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(e->qp->state, attr.qp_state);
		assert_int_equal(now_of(e)->state, attr.qp_state);
	}
	return qpn;
}

/*
 * The program destroys its QP, resets it, or sets it to ERR at each step of a move. Its queue then has completions
 * of its own QP only. @before: of so many moves before, each second one fails at the step @fails. @unpolled: the
 * fabric has delivered messages that the library has not polled yet.
 */
static void end_at_each_step(void **state, unsigned int before, enum move_step fails, bool unpolled)
{
	for (int what = 0; what < PROGRAM_ENDS; what++) {
		for (int who = 0; who < 2; who++) {
			for (int n = (what + who) % stride(); n < ROUNDS; n += stride()) {
				struct end *e = &end[who];
				struct ibv_wc wc;
				uint32_t qpn;

				settings.move_fail = fails;
				for (unsigned int i = 0; i < before; i++) {
					ask(&end[0]);
					settle();
				}
				move_for(n);
				if (unpolled)
					fabric_step();
				qpn = end_program(e, what);
				sees_the_end(&end[1 - who]);
				while (ibv_poll_cq(e->cq, 1, &wc) > 0)
					assert_int_equal(wc.qp_num, qpn);
				assert_int_equal(move_teardown(state), 0);
				assert_int_equal(move_setup(state), 0);
			}
		}
	}
}

static void test_program_ends(void **state)
{
	end_at_each_step(state, 0, MOVE_STEP_NONE, false);
	end_at_each_step(state, 0, MOVE_STEP_NONE, true);
}

/* The QP that is left is a shadow. If it cannot be reset, its receives are flushed into the queue. */
static void test_program_ends_later(void **state)
{
	end_at_each_step(state, 1, MOVE_STEP_RESET, true);
}

/* The link is down at each step. */
static void test_link_down(void **state)
{
	for (int n = 0; n < ROUNDS; n += stride()) {
		move_for(n);
		fab.cut = true;
		sees_the_end(&end[0]);
		sees_the_end(&end[1]);
		assert_int_equal(move_teardown(state), 0);
		assert_int_equal(move_setup(state), 0);
	}
}

/*
 * The same while both programs only wait for messages. If one end has moved and the other one has not,
 * both are told.
 */
static void test_link_down_idle(void **state)
{
	int apart = 0;

	for (int n = 0; n < ROUNDS; n += stride()) {
		const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

		for (int i = 0; i < 20; i++)
			step();
		end[0].quiet = end[1].quiet = true;
		for (int i = 0; i < 60; i++)
			step();
		ask(&end[0]);
		for (int i = 0; i < n; i++)
			step();
		fab.cut = true;
		settle();
		for (int i = 0; i < 20; i++)
			step();
		if ((now_of(&end[0]) != was0) != (now_of(&end[1]) != was1)) {
			apart++;
			assert_true(end[0].errors && end[1].errors);
		}
		assert_int_equal(move_teardown(state), 0);
		assert_int_equal(move_setup(state), 0);
	}
	assert_true(apart > 0);
}

/* --- what cannot move ------------------------------------------------------------------- */

static void test_refused(void **state)
{
	struct ibv_qp *qp;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = end[0].cq, .recv_cq = end[0].cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};

	(void)state;
	qp = ibv_create_qp(&rig.pd, &init);
	assert_int_equal(swiftrdma_move_qp(qp), -EOPNOTSUPP);
	assert_string_equal(swiftrdma_move_reason(qp), "it is no RC QP");
	ibv_destroy_qp(qp);

	move_of_end(&end[0])->windows = true;
	refused(&end[0], -EOPNOTSUPP, "memory windows are bound to it");
	refused(&end[1], -EOPNOTSUPP, "the peer cannot, or its host has no module that relays messages");
	move_of_end(&end[0])->windows = false;
	move_forked = true;
	refused(&end[0], -EOPNOTSUPP, "the process has forked");
	move_forked = false;
}

/*
 * The process of an end forks while the old QP is in use there. That end does not leave the QP any more, because
 * the child has it: the move is undone at both ends, and the reason is told.
 */
static void forks_in(enum move_state state, struct end *e)
{
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

	for (int i = 0; i < 20; i++)
		step();
	ask(&end[0]);
	for (int i = 0; move_of_end(e)->state != state; i++) {
		step();
		assert_true(i < 100);
	}
	move_forked = true;
	move_turn(move_of_end(e));
	move_forked = false;
	assert_int_equal(move_of_end(e)->state, MOVE_IDLE);
	assert_string_equal(swiftrdma_move_reason(e->qp), "the process has forked");
	settle();
	assert_false(moved_together(was0, was1));
	goes_on();
	move_once();
}

static void test_forks(void **state)
{
	(void)state;
	forks_in(MOVE_FREEZING, &end[0]);
	forks_in(MOVE_DRAINING, &end[1]);
}

static int close_nothing(struct ibv_context *ctx)
{
	(void)ctx;
	return 0;
}

/* What was posted when the process forked completes for the child by the number that the child knows. */
static void test_child_polls(void **state)
{
	struct cq *c = cq_find(end[0].cq);
	alive_t dead = 0, *alive = (alive_t *)c->alive;
	struct ibv_wc wc;

	(void)state;
	move_once();
	assert_ptr_not_equal(now_of(&end[0]), end[0].qp);
	end[0].quiet = end[1].quiet = true;
	for (int i = 0; i < 100; i++)
		step();
	end_post(&end[0], end[0].posted % 6);
	fabric_step();
	c->alive = &dead;
	assert_int_equal(ibv_poll_cq(end[0].cq, 1, &wc), 1);
	c->alive = alive;
	end_take(&end[0], &wc);
	end[0].quiet = end[1].quiet = false;
}

/* A forked child that closes the device touches nothing of the parent's QPs and moves. */
static void test_child_closes(void **state)
{
	struct context *c = context_find(rig.ctx);
	alive_t dead = 0, *alive = (alive_t *)c->alive;
	struct move *m = move_of_end(&end[0]);
	const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);

	(void)state;
	ask(&end[0]);
	while (move_of_end(&end[1])->state != MOVE_DRAINING)
		step();
	next.close_device = close_nothing;
	c->alive = &dead;
	/* In a child nothing unlocks what the parent's move thread had locked when the process forked. */
	pthread_mutex_lock(&m->life);
	assert_int_equal(ibv_close_device(rig.ctx), 0);
	pthread_mutex_unlock(&m->life);
	next.close_device = stub_close_device;
	c->alive = alive;
	c->key = rig.ctx;
	settle();
	assert_int_equal(m->result, 0);
	assert_true(moved_together(was0, was1));
	goes_on();
}

/* --- hosts that are gone ----------------------------------------------------------------- */

#define SILENT 4

/* A QP that is connected to a host which answers nothing. */
static struct ibv_qp *silent_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = end[0].cq, .recv_cq = end[0].cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .dest_qp_num = 0xdead };
	struct ibv_qp *qp = ibv_create_qp(&rig.pd, &init);

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	return qp;
}

static struct move *move_of_qp(const struct ibv_qp *qp)
{
	return ((struct qp *)table_find(&qps, qp))->move;
}

static bool all_refused(struct ibv_qp *const *qp)
{
	for (int i = 0; i < SILENT; i++)
		if (move_of_qp(qp[i])->wanted || move_of_qp(qp[i])->state != MOVE_IDLE)
			return false;
	return true;
}

/*
 * While the posts of one QP are held, moves to hosts that are gone are asked for. They wait, so the posts are held no
 * longer for them. Afterwards each is refused.
 */
static void test_silent_hosts(void **state)
{
	struct ibv_qp *qp[SILENT];

	(void)state;
	for (int i = 0; i < SILENT; i++)
		qp[i] = silent_qp();
	for (int n = 0; n < 12; n++) {
		const struct ibv_qp *was0 = now_of(&end[0]), *was1 = now_of(&end[1]);
		uint64_t held = 0, most = 0;

		for (int i = 0; i < 20; i++)
			step();
		ask(&end[n % 2]);
		for (int i = 0; i < n; i++)
			step();
		for (int i = 0; i < SILENT; i++)
			move_of_qp(qp[i])->wanted = true;
		while (move_of_end(&end[n % 2])->wanted || !at_rest() || !all_refused(qp)) {
			bool holds = end_frozen(&end[0]) || end_frozen(&end[1]);
			uint64_t began = rig.now;

			step();
			held = holds ? held + rig.now - began : 0;
			most = held > most ? held : most;
		}
		assert_true(most < 200 * MS);
		for (int i = 0; i < SILENT; i++)
			assert_int_equal(move_of_qp(qp[i])->result, -ETIMEDOUT);
		/* A move that waited for an answer when the thread was kept may have been late itself. */
		if (!moved_together(was0, was1))
			assert_int_equal(move_of_end(&end[n % 2])->result, -ETIMEDOUT);
		goes_on();
		move_once();
	}
	for (int i = 0; i < SILENT; i++)
		ibv_destroy_qp(qp[i]);
}

/* A message to a host that is gone takes one second, and between two of them the thread looks at all moves. */
static void test_silent_in_turn(void **state)
{
	struct ibv_qp *qp[SILENT];
	unsigned int rounds = 0;

	(void)state;
	for (int i = 0; i < SILENT; i++) {
		qp[i] = silent_qp();
		move_of_qp(qp[i])->wanted = true;
	}
	for (; !all_refused(qp); rounds++) {
		uint64_t began = rig.now;

		step();
		assert_true(rig.now - began <= 1001 * MS);
	}
	assert_true(rounds >= SILENT);
	goes_on();
	for (int i = 0; i < SILENT; i++)
		ibv_destroy_qp(qp[i]);
}

/* --- receives ---------------------------------------------------------------------------- */

/* Posts receives until no more are taken; returns how many were. */
static int post_recvs(struct end *e, int *err)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&e->in[0], .length = BYTES };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int n = -1;

	do {
		n++;
		wr.wr_id = e->recv_posted + (unsigned int)n;
		sge.addr = (uintptr_t)&e->in[wr.wr_id % RING];
		bad = NULL;
		*err = ibv_post_recv(e->qp, &wr, &bad);
	} while (!*err && n < 2 * WRS);
	assert_ptr_equal(bad, &wr);
	e->recv_posted += (unsigned int)n;
	return n;
}

/* A program may post until the queue is full, before, during and after a move. It moves all the same. */
static void test_recvs_full(void **state)
{
	int err;

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(post_recvs(&end[0], &err), 0);
		assert_int_equal(err, ENOMEM);
		move_once();
		end[1].quiet = true;
		for (int n = 0; n < 100; n++)
			step();
		end[1].quiet = false;
		assert_int_equal(post_recvs(&end[0], &err), 0);
		ask(&end[1]);
		while (move_of_end(&end[1])->state != MOVE_DECIDED)
			step();
		assert_int_equal(post_recvs(&end[0], &err), 0);
		assert_int_equal(post_recvs(&end[1], &err), 0);
		settle();
		assert_int_equal(move_of_end(&end[1])->result, 0);
		goes_on();
	}
}

/* Receives that were flushed make room for others, which are flushed, too. */
static void test_recv_in_error(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	int err;

	(void)state;
	move_once();
	assert_ptr_not_equal(now_of(&end[0]), end[0].qp);
	post_recvs(&end[0], &err);
	assert_int_equal(err, ENOMEM);
	assert_int_equal(ibv_modify_qp(end[0].qp, &attr, IBV_QP_STATE), 0);
	end_poll_all(&end[0]);
	assert_true(end[0].errors >= WRS);
	end[0].errors = 0;
	assert_int_equal(ibv_post_recv(end[0].qp, &wr, &bad), 0);
	end_poll_all(&end[0]);
	assert_int_equal(end[0].errors, 1);
	connect_anew();
}

/* A receive with too many pieces is refused by the provider, and is nothing either. */
static void test_recv_refused(void **state)
{
	struct ibv_sge sge[2] = { { .length = BYTES } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 }, *bad;

	(void)state;
	assert_int_equal(ibv_post_recv(end[0].qp, &wr, &bad), ENOMEM);
	move_once();
}

/* The limits of a job count the second QP that a move creates, at either end. */
static void test_job_full(void **state)
{
	static const char why[] =
		"the job of an end may have, or create, no more QPs (job.max_qps, job.create_rate)";

	(void)state;
	fab.create_error = EDQUOT;
	for (int creation = 1; creation <= 2; creation++) {
		fab.fail_create = creation;
		refused(&end[0], -EDQUOT, why);
	}
	/* -EAGAIN of the device is not told as -EAGAIN of the channel. */
	fab.create_error = EAGAIN;
	fab.fail_create = 1;
	refused(&end[0], -EAGAIN, "the device made no second QP");
	move_once();
}

/* The peer's QP cannot move at all, and its library says so at once. */
static void test_peer_cannot(void **state)
{
	struct qp *q = table_find(&qps, end[1].qp);
	struct move *m = atomic_exchange(&q->move, NULL);
	uint64_t began = rig.now;

	(void)state;
	ask(&end[0]);
	do {
		fabric_step();
		move_round();
		rig.now += MS;
	} while (move_of_end(&end[0])->state != MOVE_IDLE);
	assert_int_equal(move_of_end(&end[0])->result, -EOPNOTSUPP);
	assert_true(rig.now - began < 10 * MS);
	atomic_store(&q->move, m);
	goes_on();
}

/* The program's view: number, size of the queues, the peer's number. */
static void test_looks_the_same(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint32_t qpn = end[0].qp->qp_num;

	(void)state;
	ask(&end[0]);
	settle();
	assert_ptr_not_equal(now_of(&end[0]), end[0].qp);
	assert_int_equal(end[0].qp->qp_num, qpn);
	assert_int_equal(end[0].qp->state, IBV_QPS_RTS);
	assert_int_equal(ibv_query_qp(end[0].qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, end[1].qp->qp_num);
	assert_int_equal(attr.cap.max_send_wr, WRS);
	assert_int_equal(attr.cap.max_recv_wr, WRS);
	goes_on();
}

/* A queue that was reset is connected anew, and moves. */
static void test_connected_anew(void **state)
{
	(void)state;
	for (int n = 0; n < 3; n++) {
		for (int i = 0; i < 20; i++)
			step();
		ask(&end[n % 2]);
		settle();
		connect_anew();
	}
}

/* --- threads that the program cancels ----------------------------------------------------- */

static _Atomic int waits, went_on;

static void *post_while_frozen(void *arg)
{
	struct move *m = arg;

	pthread_mutex_lock(&m->lock);
	waits = 1;
	move_wait_to_post(m);
	went_on = 1;
	pthread_mutex_unlock(&m->lock);
	pthread_testcancel();
	return NULL;
}

/* A thread that is cancelled while a move holds its post ends after the post, without a lock. */
static void test_cancelled(void **state)
{
	struct move *m = move_of_end(&end[0]);
	pthread_t thread;
	void *result;

	(void)state;
	waits = went_on = 0;
	m->frozen = true;
	assert_int_equal(pthread_create(&thread, NULL, post_while_frozen, m), 0);
	while (!waits)
		sched_yield();
	/* pthread_cond_wait() in the other thread has released the lock. */
	pthread_mutex_lock(&m->lock);
	pthread_cancel(thread);
	m->frozen = false;
	pthread_cond_broadcast(&m->thaw);
	pthread_mutex_unlock(&m->lock);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(went_on, 1);
	assert_int_equal(pthread_mutex_trylock(&m->lock), 0);
	pthread_mutex_unlock(&m->lock);
	goes_on();
}

static void *cancelled_with_lock(void *arg)
{
	(void)arg;
	assert_true(lib_lock());
	pthread_cancel(pthread_self());
	pthread_testcancel();
	went_on = 1;
	lib_unlock();
	pthread_testcancel();
	return NULL;
}

static void test_cancelled_with_lock(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	went_on = 0;
	assert_int_equal(pthread_create(&thread, NULL, cancelled_with_lock, NULL), 0);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(went_on, 1);
	assert_true(lib_lock());
	lib_unlock();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOVE_TEST(test_moves),
		MOVE_TEST(test_moves_idle),
		MOVE_TEST(test_unsignalled),
		MOVE_TEST(test_uneven),
		MOVE_TEST(test_both_ask),
		MOVE_TEST(test_lost),
		MOVE_TEST(test_steps_fail),
		MOVE_TEST(test_recvs_fail),
		MOVE_TEST(test_reset_fails),
		MOVE_TEST(test_peer_killed),
		MOVE_TEST(test_program_ends), MOVE_TEST(test_program_ends_later),
		MOVE_TEST(test_link_down),
		MOVE_TEST(test_link_down_idle),
		MOVE_TEST(test_refused),
		MOVE_TEST(test_forks),
		MOVE_TEST(test_child_polls),
		MOVE_TEST(test_child_closes),
		MOVE_TEST(test_silent_hosts),
		MOVE_TEST(test_silent_in_turn),
		MOVE_TEST(test_recvs_full),
		MOVE_TEST(test_recv_in_error),
		MOVE_TEST(test_recv_refused),
		MOVE_TEST(test_cancelled), MOVE_TEST(test_cancelled_with_lock),
		MOVE_TEST(test_job_full),
		MOVE_TEST(test_peer_cannot),
		MOVE_TEST(test_looks_the_same),
		MOVE_TEST(test_connected_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
