// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How the module divides a job's ceiling among its processes: the arithmetic, and what comes
 * of it when processes with token buckets obey it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../kmod/divide.c"

#define MANY	1000
#define NS_MS	1000000ULL
#define ENDLESS	1e12

static struct srdma_need need[MANY];

/* @n processes that want what @wants says. */
static void divide(const __u64 *wants, unsigned int n, __u64 total, __u64 least, __u64 turn)
{
	for (unsigned int i = 0; i < n; i++)
		need[i] = (struct srdma_need){
			.next = i + 1 < n ? &need[i + 1] : NULL, .want = wants[i],
		};
	srdma_divide(need, total, least, turn);
}

static __u64 sum_shares(unsigned int n)
{
	__u64 sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += need[i].share;
	return sum;
}

static void test_one(void **state)
{
	const __u64 wants[] = { 0, 5, 1000, 4294967295000000 };

	(void)state;
	srdma_divide(NULL, 1000, 0, 0);
	for (unsigned int i = 0; i < 4; i++) {
		divide(&wants[i], 1, 1000, 0, i);
		assert_int_equal(need[0].share, 1000);
	}
	divide(wants, 1, 0, 0, 3);
	assert_int_equal(need[0].share, 0);
	divide(wants, 1, 0, 1, 3);
	assert_int_equal(need[0].share, 1);
}

static void test_equal(void **state)
{
	const __u64 idle[4] = { 0 }, greedy[4] = { 1000, 1000, 1000, 1000 };

	(void)state;
	divide(idle, 4, 1000, 0, 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(need[i].share, 250);
	divide(greedy, 4, 1000, 0, 7);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(need[i].share, 250);
}

static void test_small_and_greedy(void **state)
{
	const __u64 wants[] = { 100, 1000, 0, 1000 };

	(void)state;
	/* 1000 / 128 = 7 are shared out equally, 1 each; the small one has what it wants. */
	divide(wants, 4, 1000, 0, 0);
	assert_int_equal(need[0].share, 100);
	assert_int_equal(need[2].share, 1);
	assert_int_equal(need[1].share + need[3].share, 899);
	assert_in_range(need[1].share, 449, 450);
	/* What nobody wants is shared out, too. */
	const __u64 little[] = { 100, 200 };

	divide(little, 2, 1000, 0, 0);
	assert_int_equal(need[0].share, 450);
	assert_int_equal(need[1].share, 550);
}

static void test_odd_units_go_round(void **state)
{
	__u64 wants[MANY], had[MANY] = { 0 };

	(void)state;
	for (unsigned int i = 0; i < MANY; i++)
		wants[i] = 7;
	for (unsigned int turn = 0; turn < MANY; turn++) {
		divide(wants, MANY, 7, 0, turn);
		assert_int_equal(sum_shares(MANY), 7);
		for (unsigned int i = 0; i < MANY; i++)
			had[i] += need[i].share;
	}
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(had[i], 7);
	/* Of a number of credits each has one at least. */
	divide(wants, MANY, 7, 1, 0);
	assert_int_equal(sum_shares(MANY), MANY);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(need[i].share, 1);
}

/* For any wants: all is shared out, nobody wants in vain what another has and does not. */
static void test_random(void **state)
{
	__u64 wants[MANY];

	(void)state;
	srandom(19);
	for (unsigned int round = 0; round < 2000; round++) {
		unsigned int n = 1 + (unsigned int)random() % (round % 50 ? 20 : MANY);
		__u64 total = (__u64)random() >> (unsigned int)random() % 31;
		__u64 least = (unsigned int)random() % 2, all = least * n, top = 0, base;

		total = total << (unsigned int)random() % 22;
		all = all > total ? all : total;
		for (unsigned int i = 0; i < n; i++)
			wants[i] = ((__u64)random() << 22) >> (unsigned int)random() % 53;
		divide(wants, n, total, least, (__u64)random());
		assert_int_equal(sum_shares(n), all);
		base = all / 128 / n > least ? all / 128 / n : least;
		for (unsigned int i = 0; i < n; i++) {
			assert_true(need[i].share >= base);
			top = need[i].share > top ? need[i].share : top;
		}
		/* One that got less than it wants has as much as any other, but for a unit. */
		for (unsigned int i = 0; i < n; i++)
			if (need[i].share < need[i].want)
				assert_true(need[i].share + 1 >= top);
	}
}

static void test_want(void **state)
{
	struct srdma_use u = { .used = 500, .window = 1000, .share = 500, .fair = 500 };

	(void)state;
	assert_int_equal(srdma_want(&u, 1000), 500);
	u.held = 200;	/* of 1000: it would have used a quarter more */
	assert_int_equal(srdma_want(&u, 1000), 625);
	u.held = 600;
	assert_int_equal(srdma_want(&u, 1000), 1000);
	u.used = 300;	/* it has stopped */
	assert_int_equal(srdma_want(&u, 1000), 300);
	u.held = 800;	/* no: large requests came to less */
	assert_int_equal(srdma_want(&u, 1000), 1000);
	u = (struct srdma_use){ .used = 3, .held = 10, .window = 1000, .share = 10, .fair = 500 };
	assert_int_equal(srdma_want(&u, 1000), 1000);	/* it has begun */
	u = (struct srdma_use){ .used = ~0ULL, .held = ~0ULL, .window = 1 };
	assert_int_equal(srdma_want(&u, 1000), 1000);
	u.held = 0;
	assert_int_equal(srdma_want(&u, 1000), 1000);
}

/* Processes that obey. Each would send @rate WRs a second, and sends what its bucket has. */
struct process {
	double rate, tokens, sent, held_ms;
	double total;
};

static struct process proc[MANY];

static void run_ms(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct process *p = &proc[i];
		double share = (double)need[i].share, wants = p->rate / 1000, burst, sends;

		burst = share / 200 > 1 ? share / 200 : 1;	/* 5 ms */
		p->tokens = p->tokens + share / 1000 < burst ? p->tokens + share / 1000 : burst;
		sends = wants < p->tokens ? wants : p->tokens;
		p->tokens -= sends;
		p->sent += sends;
		p->total += sends;
		if (wants > 0)
			p->held_ms += 1 - sends / wants;
	}
}

/* Until the next look, ms. */
static unsigned int look(unsigned int n, __u64 total, unsigned int window_ms, __u64 turn)
{
	__u64 moved;

	for (unsigned int i = 0; i < n; i++) {
		struct srdma_use u = {
			.used = (__u64)(proc[i].sent * 1000 / window_ms),
			.held = (__u64)(proc[i].held_ms * (double)NS_MS),
			.window = window_ms * NS_MS, .share = need[i].share, .fair = total / n,
		};

		need[i].want = srdma_want(&u, total);
		proc[i].sent = 0;
		proc[i].held_ms = 0;
	}
	moved = srdma_divide(need, total, 0, turn);
	assert_int_equal(sum_shares(n), total);
	return window_ms == SRDMA_LOOK_MS && moved > total / SRDMA_MOVED_PART ?
	       SRDMA_LOOK_SOON_MS : SRDMA_LOOK_MS;
}

static unsigned int window;	/* of the look to come, ms */

/* Run @ms; the WRs that all processes sent together. */
static double run(unsigned int n, __u64 total, unsigned int ms, unsigned int *since)
{
	static __u64 turn;
	double sum = 0;

	for (unsigned int i = 0; i < n; i++)
		proc[i].total = 0;
	for (unsigned int t = 0; t < ms; t++) {
		run_ms(n);
		if (++*since == window) {
			window = look(n, total, window, turn++);
			*since = 0;
		}
	}
	for (unsigned int i = 0; i < n; i++)
		sum += proc[i].total;
	return sum;
}

static void begin(unsigned int n, __u64 total)
{
	memset(proc, 0, sizeof(proc));
	window = SRDMA_LOOK_MS;
	for (unsigned int i = 0; i < n; i++)
		need[i] = (struct srdma_need){ .next = i + 1 < n ? &need[i + 1] : NULL };
	srdma_divide(need, total, 0, 0);
}

#define is_near(value, wanted, part) check_near(value, wanted, part, __LINE__)
static void check_near(double value, double wanted, double part, int line)
{
	if (value < wanted * (1 - part) || value > wanted * (1 + part))
		fail_msg("line %d: %f is not %f within %f", line, value, wanted, part);
}

static void test_steady(void **state)
{
	unsigned int since = 0;

	(void)state;
	begin(2, 100000);
	proc[0].rate = ENDLESS;
	proc[1].rate = 10000;
	run(2, 100000, 1000, &since);
	for (unsigned int s = 0; s < 5; s++) {
		is_near(run(2, 100000, 1000, &since), 100000, 0.03);
		is_near(proc[1].total, 10000, 0.03);
	}
	/* Fifty processes that want little use half of the rate together; one wants all. */
	begin(51, 100000);
	proc[0].rate = ENDLESS;
	for (unsigned int i = 1; i < 51; i++)
		proc[i].rate = 1000;
	since = 0;
	run(51, 100000, 1000, &since);
	is_near(run(51, 100000, 1000, &since), 100000, 0.03);
	is_near(proc[0].total, 50000, 0.06);
	is_near(proc[17].total, 1000, 0.03);
	/* All want more, 1000 of them. */
	begin(MANY, 100000);
	for (unsigned int i = 0; i < MANY; i++)
		proc[i].rate = ENDLESS;
	since = 0;
	run(MANY, 100000, 1000, &since);
	is_near(run(MANY, 100000, 1000, &since), 100000, 0.03);
	is_near(proc[999].total, 100, 0.03);
	/* Fewer than there are processes, for a time in which each has its turn. */
	begin(MANY, 100);
	for (unsigned int i = 0; i < MANY; i++)
		proc[i].rate = ENDLESS;
	since = 0;
	run(MANY, 100, 2000, &since);
	is_near(run(MANY, 100, 100000, &since), 10000, 0.03);
	is_near(proc[500].total, 10, 0.2);
}

/* From any moment between two looks on: what one stops sending, another one gets. */
static void test_change(void **state)
{
	(void)state;
	for (unsigned int ms = 0; ms < SRDMA_LOOK_MS + SRDMA_LOOK_SOON_MS; ms += 3) {
		unsigned int since = 0;

		begin(2, 100000);
		proc[0].rate = ENDLESS;
		run(2, 100000, 1000 + ms, &since);
		assert_true(proc[1].total == 0);
		proc[0].rate = 0;
		proc[1].rate = ENDLESS;
		is_near(run(2, 100000, 1000, &since), 100000, 0.10);
		is_near(run(2, 100000, 1000, &since), 100000, 0.03);
		/* A third of it each, and the rest to one that comes back. */
		proc[0].rate = ENDLESS;
		proc[1].rate = 33000;
		is_near(run(2, 100000, 1000, &since), 100000, 0.10);
		is_near(run(2, 100000, 1000, &since), 100000, 0.03);
		is_near(proc[1].total, 33000, 0.03);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_small_and_greedy),
		cmocka_unit_test(test_odd_units_go_round),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_want),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
