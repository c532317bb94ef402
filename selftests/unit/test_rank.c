// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The objects that have series of their own: the greatest, and not others each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exporter/rank.h"

static struct rank rank;

static void offer(const double *keys, uint32_t n)
{
	rank_begin(&rank);
	for (uint32_t i = 0; i < n; i++) {
		const struct rank_item item = {
			.id = { .index = 100 + i }, .row = i, .key = { keys[i], 0, i },
		};

		rank_offer(&rank, &item);
	}
	rank_end(&rank);
}

static void greatest(void **state)
{
	const double keys[] = { 5, 1, 9, 7, 3 }, ties[] = { 2, 2, 2, 2 };

	(void)state;
	assert_int_equal(rank_init(&rank, 2), 0);
	offer(keys, 5);
	assert_int_equal(rank.n, 2);
	assert_true(rank_has(&rank, 2));
	assert_true(rank_has(&rank, 3));
	assert_false(rank_has(&rank, 0));
	assert_int_equal(rank.items[0].row, 2);
	rank_free(&rank);
	/* The next key decides where the first is the same. */
	assert_int_equal(rank_init(&rank, 2), 0);
	offer(ties, 4);
	assert_true(rank_has(&rank, 3) && rank_has(&rank, 2));
	rank_free(&rank);
}

/* One among them stays until another is clearly greater. */
static void staying(void **state)
{
	const double was[] = { 10, 9 }, near[] = { 10, 11 }, far[] = { 10, 13 };

	(void)state;
	assert_int_equal(rank_init(&rank, 1), 0);
	offer(was, 2);
	assert_true(rank_has(&rank, 0));
	offer(near, 2);
	assert_true(rank_has(&rank, 0));
	offer(far, 2);
	assert_true(rank_has(&rank, 1));
	rank_free(&rank);
}

static void none(void **state)
{
	const double keys[] = { 10, 9 };

	(void)state;
	assert_int_equal(rank_init(&rank, 0), 0);
	offer(keys, 2);
	assert_int_equal(rank.n, 0);
	rank_free(&rank);
	assert_int_equal(rank_init(&rank, 5), 0);
	offer(keys, 2);
	assert_int_equal(rank.n, 2);
	offer(keys, 0);
	assert_int_equal(rank.n, 0);
	rank_free(&rank);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(greatest),
		cmocka_unit_test(staying),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
