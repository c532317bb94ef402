// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Locks of libswiftrdma whose holder is slow, or never comes back. The clock is the test's, and
 * moves each time that it is read.
 */
#include "control_rig.h"

#define OTHER ((uintptr_t)4711)	/* stands for another thread */

static struct {
	struct bias *lock;
	uint64_t step, reads, release_at;
} clk;

/* A waiting thread reads the clock at each step; the holder leaves after some of these. */
static uint64_t stepping_clock(void)
{
	if (++clk.reads == clk.release_at) {
		atomic_store(&clk.lock->inside, 0);
		atomic_store(&clk.lock->holder, 0);
	}
	rig.now += clk.step;
	return rig.now;
}

static void set_clock(struct bias *lock, uint64_t step, uint64_t release_at)
{
	clk.lock = lock;
	clk.step = step;
	clk.reads = 0;
	clk.release_at = release_at;
	lib_clock = stepping_clock;
}

/* A process that was stopped finds an hour gone; its holder was stopped, too. */
static void test_stopped_process(void **state)
{
	struct bias held = { .owner = BIAS_SHARED, .holder = OTHER };
	struct bias biased = { .owner = OTHER, .inside = 1 };

	(void)state;
	set_clock(&held, 3600 * S, 20);
	assert_int_equal(bias_lock(&held), BIAS_HELD);
	set_clock(&biased, 3600 * S, 20);
	assert_int_equal(bias_lock(&biased), BIAS_HELD);
	assert_int_equal(biased.owner, BIAS_SHARED);
}

/* Threads wait once for a holder that never leaves; then the lock is lost for all of them. */
static void check_lost(struct bias *lock)
{
	set_clock(lock, 10 * MS, 0);
	assert_int_equal(bias_lock(lock), BIAS_FAILED);
	assert_in_range(clk.reads, 100, 1000);
	clk.reads = 0;
	assert_int_equal(bias_lock(lock), BIAS_FAILED);
	assert_int_equal(clk.reads, 0);
	/* The holder comes back after all, and tries again. */
	atomic_store(&lock->inside, 0);
	atomic_store(&lock->holder, 0);
	assert_int_equal(bias_lock(lock), BIAS_FAILED);
	assert_int_equal(clk.reads, 0);
}

static void test_lost_lock(void **state)
{
	struct bias held = { .owner = BIAS_SHARED, .holder = OTHER };
	struct bias biased = { .owner = OTHER, .inside = 1 };

	(void)state;
	check_lost(&held);
	check_lost(&biased);
}

/* Requests are counted, and nothing else of the QP is told. */
static void test_lost_send_queue(void **state)
{
	struct qp *q = table_find(&qps, rig.qp);

	(void)state;
	q->sq.owner = BIAS_SHARED;
	q->sq.holder = OTHER;
	set_clock(&q->sq, 10 * MS, 0);
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_int_equal(rig_poll(), 2);
	assert_int_equal(rig_figures(rig.qp).wrs, 2);
	assert_int_equal(rig_figures(rig.qp).no_order, 1);
}

/* All completions come, those of the stash first; a blocked post polls the CQ no more. */
static void test_lost_cq(void **state)
{
	struct cq *c = cq_find(rig.cq);
	struct ibv_wc wc[8];

	(void)state;
	rig_poll();
	stub.hold = 1;
	assert_int_equal(rig_post(rig.qp, 3, 1), 0);
	stub_complete(rig.qp, 1);
	assert_true(stash_can(c));
	assert_int_equal(stash_fill(c, 16, true), 1);
	stub_complete(rig.qp, 2);
	c->lock.owner = BIAS_SHARED;
	c->lock.holder = OTHER;
	set_clock(&c->lock, 10 * MS, 0);
	assert_int_equal(ibv_poll_cq(rig.cq, 8, wc), 1);
	assert_false(stash_can(c));
	assert_int_equal(stash_fill(c, 16, true), 0);
	clk.reads = 0;
	assert_int_equal(ibv_poll_cq(rig.cq, 8, wc + 1), 2);
	assert_int_equal(clk.reads, 0);
	assert_int_equal(wc[1].wr_id, wc[0].wr_id + 1);
	assert_int_equal(wc[2].wr_id, wc[0].wr_id + 2);
	assert_int_equal(rig_figures(rig.qp).wcs, 3);
}

/* --- two threads fork at once --------------------------------------------------- */

static _Atomic int slow_fork;	/* 1: begins, 2: holds the lock, 3: the other one is done */
static __thread bool forks_slowly;

/* Runs after the library's handler: the fork of a large process takes its time. */
static void wait_for_the_other_fork(void)
{
	if (!forks_slowly)
		return;
	slow_fork = 2;
	while (slow_fork != 3)
		sched_yield();
}

static bool fork_once(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid > 0;
}

static void *fork_slowly(void *arg)
{
	forks_slowly = true;
	return fork_once() ? arg : NULL;
}

/* One of them does not get the lock in time, and must not keep the other from releasing it. */
static void test_two_forks_at_once(void **state)
{
	pthread_t thread;
	void *ok;

	(void)state;
	slow_fork = 1;
	assert_int_equal(pthread_create(&thread, NULL, fork_slowly, &slow_fork), 0);
	while (slow_fork != 2)
		sched_yield();
	assert_true(fork_once());
	slow_fork = 3;
	pthread_join(thread, &ok);
	assert_ptr_equal(ok, &slow_fork);
	assert_true(lib_lock());
	lib_unlock();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		RIG_TEST(test_stopped_process),
		RIG_TEST(test_lost_lock),
		RIG_TEST(test_lost_send_queue),
		CTL_TEST(test_lost_cq),
		RIG_TEST(test_two_forks_at_once),
	};

	/* Before the library's, so that it runs after it. */
	pthread_atfork(wait_for_the_other_fork, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
