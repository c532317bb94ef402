// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libswiftrdma: what it makes of control, and rates. Time is simulated, so figures are exact. */
#include <sys/wait.h>

#include "control_rig.h"

#define WR_RATE SWIFTRDMA_SHARE_KNOB_WR_RATE
#define BIT_RATE SWIFTRDMA_SHARE_KNOB_BIT_RATE
#define CREDITS SWIFTRDMA_SHARE_KNOB_CREDITS

/* --- control ------------------------------------------------------------- */

static void test_states_at_first(void **state)
{
	(void)state;
	assert_int_equal(knob_state(WR_RATE), SWIFTRDMA_KNOB_STATE_IDLE);
	assert_int_equal(knob_state(BIT_RATE), SWIFTRDMA_KNOB_STATE_IDLE);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_IDLE);
	/* The rig's provider is not libmlx5. Huge pages depend on the host, see test_lib_huge.c. */
	assert_int_equal(knob_state(SWIFTRDMA_SHARE_KNOB_PLACE), SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_int_equal(knob_state(SWIFTRDMA_SHARE_KNOB_CHUNK), SWIFTRDMA_KNOB_STATE_IDLE);
	for (int k = CREDITS + 1; k < SWIFTRDMA_SHARE_KNOBS; k++)
		if (k != SWIFTRDMA_SHARE_KNOB_HUGE_PAGES && k != SWIFTRDMA_SHARE_KNOB_PLACE &&
		    k != SWIFTRDMA_SHARE_KNOB_CHUNK)
			assert_int_equal(knob_state(k), SWIFTRDMA_KNOB_STATE_NONE);
}

static int setup_off(void **state)
{
	ctl_setup(state);
	rig_teardown(state);
	settings.control = false;
	return rig_setup(state);
}

static void test_control_is_switched_off(void **state)
{
	uint64_t from = rig.now;

	(void)state;
	ctl_set(WR_RATE, 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(rig_post(rig.qp, 4, 1), 0);
	assert_int_equal(rig.now, from);
	for (int k = 0; k < SWIFTRDMA_SHARE_KNOBS; k++)
		assert_int_equal(knob_state(k), SWIFTRDMA_KNOB_STATE_NONE);
}

static void test_report_answers_control(void **state)
{
	(void)state;
	ctl_set(WR_RATE, 5000);
	ctl_set(BIT_RATE, 700000);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(ctl.report->control_seen, 2);
	assert_int_equal(knob_state(WR_RATE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(ctl.report->knob[WR_RATE].value, 5000);
	assert_int_equal(knob_state(BIT_RATE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(ctl.report->knob[BIT_RATE].value, 700000);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_IDLE);
	ctl_clear(WR_RATE);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(ctl.report->control_seen, 3);
	assert_int_equal(knob_state(WR_RATE), SWIFTRDMA_KNOB_STATE_IDLE);
	assert_int_equal(ctl.report->knob[WR_RATE].value, 0);
	assert_int_equal(knob_state(BIT_RATE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
}

/* While no knob is in force a post does not look at the clock. */
static uint64_t looks;

static uint64_t counting_clock(void)
{
	looks++;
	return rig.now;
}

static void test_no_clock_without_a_knob(void **state)
{
	(void)state;
	settings.sample_every = 1 << 20;
	ctl_set(WR_RATE, 1000000);
	rig_post(rig.qp, 1, 1);
	ctl_clear(WR_RATE);
	rig_post(rig.qp, 1, 1);
	rig_post(rig.qp, 1, 1);
	sampling_reset(&((struct qp *)table_find(&qps, rig.qp))->sampling, 3);
	lib_clock = counting_clock;
	looks = 0;
	for (int i = 0; i < 100; i++)
		rig_post(rig.qp, 1, 1);
	assert_in_range(looks, 0, 1);
	ctl_set(WR_RATE, 1000000);
	for (int i = 0; i < 100; i++)
		rig_post(rig.qp, 1, 1);
	assert_true(looks >= 100);
}

/* Past its time a knob ends by itself, whatever the file says. */
static void test_knob_ends_by_itself(void **state)
{
	uint64_t from;

	(void)state;
	ctl_set_until(WR_RATE, 10, rig.now + 300 * MS);
	rig_post(rig.qp, 1, 1);
	from = rig.now;
	rig_post(rig.qp, 1, 1);
	assert_int_equal(rig.now - from, 99 * MS + 1);
	rig_post(rig.qp, 16, 1);
	from = rig.now;
	/* 1.6 s of debt, but the knob ends while the post waits. */
	rig_post(rig.qp, 1, 1);
	assert_in_range(rig.now, 1 * MS + 300 * MS, 1 * MS + 310 * MS);
	assert_int_equal(knob_state(WR_RATE), SWIFTRDMA_KNOB_STATE_IDLE);
	from = rig.now;
	rig_post(rig.qp, 16, 1);
	rig_post(rig.qp, 16, 1);
	assert_int_equal(rig.now, from);
	/* The list of 1.6 s that waited: its debt was cut to a second. */
	assert_int_equal(held(WR_RATE)->passed, 1);
}

static void test_ended_control_frees(void **state)
{
	uint64_t from;

	(void)state;
	ctl_set(WR_RATE, 10);
	rig_post(rig.qp, 16, 1);
	ctl_state(SWIFTRDMA_CONTROL_ENDED);
	from = rig.now;
	rig_post(rig.qp, 16, 1);
	rig_post(rig.qp, 16, 1);
	assert_int_equal(rig.now, from);
	assert_int_equal(knob_state(WR_RATE), SWIFTRDMA_KNOB_STATE_IDLE);
}

static void end_control(void)
{
	ctl_state(SWIFTRDMA_CONTROL_ENDED);
}

static void raise_rate(void)
{
	ctl_set(WR_RATE, 1000000);
}

static void clear_rate(void)
{
	ctl_clear(WR_RATE);
}

/* A post that waits goes on within one slice of sleep. */
static void goes_on_when(void (*happens)(void))
{
	uint64_t from;

	ctl_set(WR_RATE, 2);
	rig_post(rig.qp, 2, 1);
	from = rig.now;
	ctl.meanwhile = happens;
	rig_post(rig.qp, 1, 1);
	assert_in_range(rig.now - from, 1, PACE_SLICE_NS);
	assert_int_equal(held(WR_RATE)->posts, 1);
	assert_int_equal(held(WR_RATE)->passed, 0);
	assert_int_equal(held(WR_RATE)->ns, rig.now - from);
}

static void test_ended_while_waiting(void **state)
{
	(void)state;
	goes_on_when(end_control);
}

static void test_raised_while_waiting(void **state)
{
	(void)state;
	goes_on_when(raise_rate);
}

static void test_cleared_while_waiting(void **state)
{
	(void)state;
	goes_on_when(clear_rate);
}

/* Not yet live: no knob holds, and the first post after that obeys. */
static void test_control_not_yet_live(void **state)
{
	uint64_t from = rig.now;

	(void)state;
	ctl_state(SWIFTRDMA_CONTROL_NONE);
	ctl_set(WR_RATE, 10);
	rig_post(rig.qp, 16, 1);
	rig_post(rig.qp, 16, 1);
	assert_int_equal(rig.now, from);
	ctl_state(SWIFTRDMA_CONTROL_LIVE);
	rig_post(rig.qp, 1, 1);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(rig.now - from, 99 * MS + 1);
}

/* --- rates ----------------------------------------------------------------- */

static void keeps_rate(uint64_t rate, int list)
{
	uint64_t n, burst;

	ctl_set(WR_RATE, rate);
	n = post_for(rig.qp, list, 2 * S);
	burst = rate / 1000 + 2 * (uint64_t)list;
	assert_in_range(n, 2 * rate - burst, 2 * rate + burst);
	assert_int_equal(held(WR_RATE)->passed, 0);
	assert_true(ctl.longest <= PACE_SLICE_NS);
}

static void test_rate_of_singles(void **state)
{
	(void)state;
	keeps_rate(20000, 1);
}

static void test_rate_of_lists(void **state)
{
	(void)state;
	keeps_rate(100000, 16);
}

static void test_low_rate(void **state)
{
	(void)state;
	keeps_rate(50, 1);
}

/* One bucket for all QPs of the device. */
static void test_rate_is_the_devices(void **state)
{
	struct ibv_qp *qp = rig_qp(rig.cq, 0);
	uint64_t end = rig.now + S, n = 0;

	(void)state;
	ctl_set(WR_RATE, 10000);
	for (; rig.now < end; n += 3) {
		rig_post(rig.qp, 1, 1);
		rig_post(qp, 2, 1);
		rig_poll();
	}
	assert_in_range(n, 9990, 10020);
	ibv_destroy_qp(qp);
}

static void test_bit_rate(void **state)
{
	uint64_t n;

	(void)state;
	/* A request of 8 bytes is 64 bits. */
	ctl_set(BIT_RATE, 6400000);
	n = post_for(rig.qp, 4, S);
	assert_in_range(n, 99900, 100110);
}

/* At 400 Gbit/s a request of 8 bytes takes 0.16 ns, and 64 MiB 1.3 ms. */
static void test_high_bit_rate(void **state)
{
	struct ibv_sge sge = { .length = 64 << 20 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint64_t from = rig.now;

	(void)state;
	ctl_set(BIT_RATE, 400000000000ull);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(ibv_post_send(rig.qp, &wr, &bad), 0);
		rig_poll();
	}
	/* 1000 * 1.342 ms, less the burst and the last one. */
	assert_in_range(rig.now - from, 1342 * MS - 4 * MS, 1342 * MS);
	from = rig.now;
	sge.length = 8;
	for (int i = 0; i < 1000000; i++) {
		ibv_post_send(rig.qp, &wr, &bad);
		rig_poll();
	}
	/* What is left of the last one, and 0.16 ms. */
	assert_in_range(rig.now - from, 1300000, 1510000);
}

static void test_the_lower_of_two_rates(void **state)
{
	uint64_t n;

	(void)state;
	ctl_set(WR_RATE, 30000);
	ctl_set(BIT_RATE, 640000);
	n = post_for(rig.qp, 1, S);
	assert_in_range(n, 9990, 10015);
	assert_true(held(BIT_RATE)->posts > 9000);
	ctl_set(BIT_RATE, 6400000);
	n = post_for(rig.qp, 1, S);
	assert_in_range(n, 29960, 30050);
}

/* What was not sent in time is not sent later, but for 1 ms of the rate. */
static void test_burst(void **state)
{
	uint64_t from, n = 0;

	(void)state;
	ctl_set(WR_RATE, 10000);
	rig_post(rig.qp, 1, 1);
	rig.now += 10 * S;
	for (from = rig.now; rig.now == from; n++)
		rig_post(rig.qp, 1, 1);
	assert_in_range(n, 10, 12);
}

/* A thread that is woken late makes up for it, within a bound. */
static void late(void)
{
	rig.now += 5 * MS;
}

static void test_late_wakeups_do_not_lower_the_rate(void **state)
{
	uint64_t n;

	(void)state;
	ctl.meanwhile = late;
	ctl_set(WR_RATE, 20000);
	n = post_for(rig.qp, 1, 2 * S);
	assert_in_range(n, 39000, 40400);
}

/* The wait is bounded, the call goes through, and the debt is bounded as well. */
static void test_bound_of_the_wait(void **state)
{
	uint64_t from;

	(void)state;
	ctl_set(WR_RATE, 2);
	rig_post(rig.qp, 64, 1);
	from = rig.now;
	errno = 77;
	assert_int_equal(rig_post(rig.qp, 64, 1), 0);
	assert_int_equal(errno, 77);
	assert_in_range(rig.now - from, S - 1, S + 1);
	from = rig.now;
	assert_int_equal(rig_post(rig.qp, 64, 1), 0);
	assert_in_range(rig.now - from, S - 1, S + 1);
	assert_int_equal(rig_poll(), 192);
	/* Two knobs together wait no longer than one. */
	ctl_set(BIT_RATE, 1);
	rig_post(rig.qp, 64, 1);
	from = rig.now;
	assert_int_equal(rig_post(rig.qp, 64, 1), 0);
	assert_in_range(rig.now - from, S - 1, S + 1);
	/* Not for ever: the debt is paid. */
	rig.now += 1001 * MS;
	ctl_clear(BIT_RATE);
	from = rig.now;
	rig_post(rig.qp, 1, 1);
	assert_int_equal(rig.now, from);
}

static void test_passed_calls_are_counted(void **state)
{
	(void)state;
	ctl_set(WR_RATE, 1);
	rig_post(rig.qp, 8, 1);
	for (int i = 0; i < 3; i++)
		rig_post(rig.qp, 8, 1);
	/* The debt is one second and the burst, so each waits for exactly as long as it may. */
	assert_int_equal(held(WR_RATE)->posts, 3);
	assert_int_equal(held(WR_RATE)->wrs, 24);
	assert_in_range(held(WR_RATE)->ns, 3 * S - 3, 3 * S + 3);
	/* Each left a debt of 8 s, which the next one did not wait for. */
	assert_int_equal(held(WR_RATE)->passed, 3);
}

/* One thread whose messages take 8.4 s each at the rate, and go once a second. */
static void test_one_thread_beyond_the_rate(void **state)
{
	struct ibv_sge sge = { .length = 1 << 20 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint64_t from;

	(void)state;
	ctl_set(BIT_RATE, 1000000);
	assert_int_equal(ibv_post_send(rig.qp, &wr, &bad), 0);
	from = rig.now;
	for (int i = 0; i < 17; i++)
		assert_int_equal(ibv_post_send(rig.qp, &wr, &bad), 0);
	assert_in_range(rig.now - from, 17 * S - 17, 17 * S + 17);
	assert_int_equal(held(BIT_RATE)->passed, 17);
	assert_int_equal(knob_state(BIT_RATE), SWIFTRDMA_KNOB_STATE_UNABLE);
	/* Messages that the rate allows once a second: it can be kept again. */
	sge.length = 100000;
	rig.now += 10 * S;
	for (int i = 0; i < 40; i++)
		assert_int_equal(ibv_post_send(rig.qp, &wr, &bad), 0);
	assert_int_equal(held(BIT_RATE)->passed, 17);
	assert_int_equal(knob_state(BIT_RATE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	/* A program that pauses for as long as its message takes keeps the rate, and no post waits. */
	sge.length = 1 << 20;
	for (int i = 0; i < 40; i++) {
		rig.now += 9 * S;
		assert_int_equal(ibv_post_send(rig.qp, &wr, &bad), 0);
	}
	assert_int_equal(held(BIT_RATE)->passed, 17);
	assert_int_equal(knob_state(BIT_RATE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	rig_poll();
}

/*
 * Several threads, of which each may wait for a second, post more than a rate of a few requests
 * a second allows: the library says that it cannot keep it, until the rate is another.
 */
static void charge_for_another_thread(void)
{
	pace_charge(table_find(&qps, rig.qp), 2, 0, 0);
}

static void test_rate_that_cannot_be_kept(void **state)
{
	(void)state;
	ctl_set(WR_RATE, 1);
	ctl.meanwhile = charge_for_another_thread;
	for (int i = 0; i < 40; i++)
		rig_post(rig.qp, 2, 1);
	ctl.meanwhile = NULL;
	assert_true(held(WR_RATE)->passed > 20);
	assert_int_equal(knob_state(WR_RATE), SWIFTRDMA_KNOB_STATE_UNABLE);
	ctl_set(WR_RATE, 1000);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(knob_state(WR_RATE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	for (int i = 0; i < 100; i++)
		rig_post(rig.qp, 1, 1);
	assert_int_equal(knob_state(WR_RATE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
}

/* What the provider did not take is not charged. */
static void test_failed_posts_are_not_charged(void **state)
{
	struct ibv_send_wr wr[8], *bad = NULL;
	uint64_t from;

	(void)state;
	ctl_set(WR_RATE, 100);
	ctl_set(BIT_RATE, 100 * 64);
	from = rig.now;
	stub.fail_after = 0;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(rig_post_bad(rig.qp, 8, 1, &bad, wr), ENOMEM);
		assert_ptr_equal(bad, &wr[0]);
	}
	assert_int_equal(rig.now, from);
	stub.fail_after = 3;
	assert_int_equal(rig_post_bad(rig.qp, 8, 1, &bad, wr), ENOMEM);
	assert_ptr_equal(bad, &wr[3]);
	stub.fail_after = -1;
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	/* The three, less the burst. */
	assert_in_range(rig.now - from, 29 * MS, 29 * MS + 3);
	assert_int_equal(rig_figures(rig.qp).wrs, 4);
	stub.leave_bad = 1;
	stub.fail_after = 0;
	bad = (void *)-1;
	assert_int_equal(rig_post_bad(rig.qp, 8, 1, &bad, wr), ENOMEM);
	assert_ptr_equal(bad, (void *)-1);
	assert_int_equal(rig_post_bad(rig.qp, 8, 1, NULL, wr), ENOMEM);
}

/*
 * A post that goes through at full debt is charged nothing; what it does not post is not taken
 * from the debt of the thread that charged it.
 */
static void test_failed_post_at_full_debt(void **state)
{
	struct ibv_send_wr wr[8], *bad;
	uint64_t from;

	(void)state;
	ctl_set(WR_RATE, 2);
	assert_int_equal(rig_post(rig.qp, 8, 1), 0);
	ctl.meanwhile = charge_for_another_thread;
	stub.fail_after = 2;
	assert_int_equal(rig_post_bad(rig.qp, 8, 1, &bad, wr), ENOMEM);
	assert_int_equal(held(WR_RATE)->passed, 1);
	ctl.meanwhile = NULL;
	stub.fail_after = -1;
	from = rig.now;
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_in_range(rig.now - from, 990 * MS, S + 1);
}

/* A call that fails before control is read again was not charged. */
static void test_failed_bind_without_a_charge(void **state)
{
	struct ibv_mw mw = { .context = rig.ctx, .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	struct qp *q = table_find(&qps, rig.qp);
	uint64_t from;

	(void)state;
	ctl_set(WR_RATE, 10);
	assert_int_equal(rig_post(rig.qp, 8, 1), 0);
	stub.fail_after = 0;
	q->quiet = *q->changes;
	for (int i = 0; i < 8; i++)
		assert_int_equal(rig.ctx->ops.bind_mw(rig.qp, &mw, &bind), ENOMEM);
	q->quiet = ~*q->changes;
	stub.fail_after = -1;
	from = rig.now;
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_in_range(rig.now - from, 799 * MS, 799 * MS + 1);
}

/* The debt of a rate that changes is the same number of requests. */
static void test_debt_follows_the_rate(void **state)
{
	uint64_t from;

	(void)state;
	ctl_set(WR_RATE, 100);
	rig_post(rig.qp, 50, 1);
	ctl_set(WR_RATE, 1000);
	from = rig.now;
	rig_post(rig.qp, 50, 1);
	assert_in_range(rig.now - from, 49 * MS, 49 * MS + 2);
	ctl_set(WR_RATE, 100);
	from = rig.now;
	rig_post(rig.qp, 1, 1);
	assert_in_range(rig.now - from, 508 * MS, 510 * MS);
}

/* 0 is no rate that a process can keep. */
static void test_values_at_the_ends(void **state)
{
	static const uint64_t rates[] = { 0, 1, UINT64_MAX, UINT64_MAX / 2, 1ull << 58 };

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t from = rig.now;

		ctl_set(WR_RATE, rates[i]);
		ctl_set(BIT_RATE, rates[i]);
		for (int k = 0; k < 4; k++)
			assert_int_equal(rig_post(rig.qp, 4, 1), 0);
		assert_in_range(rig.now - from, 0, 4 * S);
	}
	assert_int_equal(rig_poll(), 5 * 16);
}

static void test_receives_are_not_charged(void **state)
{
	struct ibv_recv_wr wr = { 0 }, *bad;
	uint64_t from = rig.now;

	(void)state;
	ctl_set(WR_RATE, 1);
	for (int i = 0; i < 100; i++)
		ibv_post_recv(rig.qp, &wr, &bad);
	assert_int_equal(rig.now, from);
}

static void test_bind_mw_is_charged(void **state)
{
	struct ibv_mw mw = { .context = rig.ctx, .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED };
	uint64_t from = rig.now;

	(void)state;
	ctl_set(WR_RATE, 100);
	for (int i = 0; i < 11; i++)
		assert_int_equal(rig.ctx->ops.bind_mw(rig.qp, &mw, &bind), 0);
	assert_in_range(rig.now - from, 99 * MS, 100 * MS);
}

static void test_counting_paces_too(void **state)
{
	struct ibv_qp *qp;

	(void)state;
	settings.mode = MODE_COUNT;
	qp = rig_qp(rig.cq, 0);
	ctl_set(WR_RATE, 1000);
	ctl_set(CREDITS, 1);
	assert_in_range(post_for(qp, 2, S), 990, 1010);
	assert_int_equal(knob_state(CREDITS), SWIFTRDMA_KNOB_STATE_UNABLE);
	ibv_destroy_qp(qp);
}

/* --- ibv_wr_*() ------------------------------------------------------------- */

static struct ibv_qp *qp_with_wr_api(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RC, .pd = &rig.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND, .cap.max_send_wr = 64,
	};

	return ibv_create_qp_ex(rig.ctx, &attr);
}

static int wr_post(struct ibv_qp_ex *qpx, int n)
{
	ibv_wr_start(qpx);
	for (int i = 0; i < n; i++) {
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(qpx);
		ibv_wr_set_sge(qpx, 0, 0, 8);
	}
	return ibv_wr_complete(qpx);
}

/* The provider's lock, held from wr_start to wr_complete, must be free while a post waits. */
static struct stub_qp *locked;

static void look_at_lock(void)
{
	assert_int_equal(pthread_spin_trylock(&locked->lock), 0);
	pthread_spin_unlock(&locked->lock);
}

static void test_wr_api(void **state)
{
	struct ibv_qp *qp = qp_with_wr_api();
	struct ibv_qp_ex *qpx = stub_to_qp_ex(qp);
	uint64_t end = rig.now + S, from, n = 0;

	(void)state;
	locked = stub_qp(qp);
	ctl.meanwhile = look_at_lock;
	ctl_set(WR_RATE, 1000);
	for (; rig.now < end; n += 3) {
		assert_int_equal(wr_post(qpx, 3), 0);
		rig_poll();
	}
	assert_in_range(n, 995, 1005);
	assert_in_range(held(WR_RATE)->wrs, n - 6, n);
	from = rig.now;
	rig.now += S;
	/* Neither an abort nor a failure is charged. */
	for (int i = 0; i < 100; i++) {
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		ibv_wr_abort(qpx);
	}
	stub.fail_after = 0;
	for (int i = 0; i < 100; i++)
		assert_int_equal(wr_post(qpx, 3), ENOMEM);
	stub.fail_after = -1;
	assert_int_equal(rig.now - from, S);
	/* A batch of 3 s, and of those that follow each one goes a second later. */
	ctl_set(WR_RATE, 1);
	rig.now += 2 * S;
	for (int i = 0; i < 3; i++)
		assert_int_equal(wr_post(qpx, 3), 0);
	assert_int_equal(held(WR_RATE)->passed, 2);
	rig_poll();
	rig.now += 2 * S;
	ctl_set(BIT_RATE, 6400);
	ctl_clear(WR_RATE);
	end = rig.now + S;
	for (n = 0; rig.now < end; n++) {
		assert_int_equal(wr_post(qpx, 1), 0);
		rig_poll();
	}
	assert_in_range(n, 99, 102);
	ibv_destroy_qp(qp);
}

/* --- threads, forks ----------------------------------------------------------- */

static _Atomic uint64_t shared_now;
static _Atomic uint64_t sent;

static uint64_t shared_clock(void)
{
	return shared_now;
}

static void shared_wait(uint64_t ns)
{
	uint64_t was = shared_now;

	/* All threads wait at the same time: the first to arrive moves the clock. */
	atomic_compare_exchange_strong(&shared_now, &was, was + (ns < MS ? ns : MS));
}

static void *post_until(void *arg)
{
	struct ibv_qp *qp = rig_qp(rig.cq, 0);
	uint64_t end = *(uint64_t *)arg;

	while (shared_now < end) {
		rig_post(qp, 4, 0);
		sent += 4;
	}
	ibv_destroy_qp(qp);
	return NULL;
}

static void test_threads_share_a_rate(void **state)
{
	uint64_t end = rig.now + S;
	pthread_t t[4];

	(void)state;
	shared_now = rig.now;
	sent = 0;
	lib_clock = shared_clock;
	lib_wait = shared_wait;
	ctl_set(WR_RATE, 20000);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, post_until, &end), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_in_range(sent, 20000 * 97 / 100, 20000 * 103 / 100);
	rig.now = shared_now;
}

/* A signal handler forks while a post waits: the child goes on, and touches no page. */
static pid_t forked;

static void fork_once(void)
{
	ctl.meanwhile = NULL;
	forked = fork();
	/* A child that waits on would do so for ever, or read control, which it has not. */
	if (!forked)
		alarm(20);
}

static void test_fork_while_waiting(void **state)
{
	struct swiftrdma_figures f;
	int status, polled;

	(void)state;
	ctl_set(WR_RATE, 2);
	rig_post(rig.qp, 2, 1);
	ctl.meanwhile = fork_once;
	assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	polled = rig_poll();
	if (!forked)
		_exit(polled == 3 && swiftrdma_read_qp(rig.qp, &f, sizeof(f)) == -ENOENT ? 0 : 1);
	assert_int_equal(polled, 3);
	assert_int_equal(waitpid(forked, &status, 0), forked);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CTL_TEST(test_states_at_first),
		cmocka_unit_test_setup_teardown(test_control_is_switched_off, setup_off, rig_teardown),
		CTL_TEST(test_report_answers_control),
		CTL_TEST(test_no_clock_without_a_knob),
		CTL_TEST(test_knob_ends_by_itself),
		CTL_TEST(test_ended_control_frees),
		CTL_TEST(test_ended_while_waiting),
		CTL_TEST(test_raised_while_waiting),
		CTL_TEST(test_cleared_while_waiting),
		CTL_TEST(test_control_not_yet_live),
		CTL_TEST(test_rate_of_singles),
		CTL_TEST(test_rate_of_lists),
		CTL_TEST(test_low_rate),
		CTL_TEST(test_rate_is_the_devices),
		CTL_TEST(test_bit_rate),
		CTL_TEST(test_high_bit_rate),
		CTL_TEST(test_the_lower_of_two_rates),
		CTL_TEST(test_burst),
		CTL_TEST(test_late_wakeups_do_not_lower_the_rate),
		CTL_TEST(test_bound_of_the_wait),
		CTL_TEST(test_passed_calls_are_counted),
		CTL_TEST(test_one_thread_beyond_the_rate),
		CTL_TEST(test_rate_that_cannot_be_kept),
		CTL_TEST(test_failed_posts_are_not_charged),
		CTL_TEST(test_failed_post_at_full_debt),
		CTL_TEST(test_failed_bind_without_a_charge),
		CTL_TEST(test_debt_follows_the_rate),
		CTL_TEST(test_values_at_the_ends),
		CTL_TEST(test_receives_are_not_charged),
		CTL_TEST(test_bind_mw_is_charged),
		CTL_TEST(test_counting_paces_too),
		CTL_TEST(test_wr_api),
		CTL_TEST(test_threads_share_a_rate),
		CTL_TEST(test_fork_while_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
