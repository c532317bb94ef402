// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The memory that a process and the kernel share: buckets, and sizes that do not move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rdma/swiftrdma_share.h>

static void test_every_time_is_in_its_bucket(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint64_t ns = seed >> (i % 64);
		uint32_t b = swiftrdma_hist_bucket(ns);

		assert_in_range(b, 0, SWIFTRDMA_HIST_BUCKETS - 1);
		assert_true(swiftrdma_hist_floor(b) <= ns);
		if (b < SWIFTRDMA_HIST_BUCKETS - 1)
			assert_true(ns < swiftrdma_hist_floor(b + 1));
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	}
}

static void test_buckets_are_narrow(void **state)
{
	(void)state;
	assert_int_equal(swiftrdma_hist_floor(1), 64);
	assert_int_equal(swiftrdma_hist_floor(SWIFTRDMA_HIST_BUCKETS - 1), 1ull << 37);
	assert_true(swiftrdma_hist_floor(SWIFTRDMA_HIST_BUCKETS - 1) > 100000000000ull);
	for (uint32_t b = 1; b < SWIFTRDMA_HIST_BUCKETS - 1; b++) {
		uint64_t from = swiftrdma_hist_floor(b), to = swiftrdma_hist_floor(b + 1);

		assert_true(to > from);
		assert_true((to - from) * 100 <= from * 6);
		assert_int_equal(swiftrdma_hist_bucket(from), b);
		assert_int_equal(swiftrdma_hist_bucket(to - 1), b);
	}
	assert_int_equal(swiftrdma_hist_bucket(0), 0);
	assert_int_equal(swiftrdma_hist_bucket(UINT64_MAX), SWIFTRDMA_HIST_BUCKETS - 1);
}

static void test_coarse_buckets(void **state)
{
	(void)state;
	assert_int_equal(swiftrdma_coarse_bucket(0), 0);
	assert_int_equal(swiftrdma_coarse_bucket(127), 0);
	for (uint32_t b = 1; b < SWIFTRDMA_COARSE_BUCKETS - 1; b++) {
		assert_int_equal(swiftrdma_coarse_bucket(1ull << (b + 6)), b);
		assert_int_equal(swiftrdma_coarse_bucket((1ull << (b + 7)) - 1), b);
	}
	assert_int_equal(swiftrdma_coarse_bucket(1ull << 37), SWIFTRDMA_COARSE_BUCKETS - 1);
	assert_int_equal(swiftrdma_coarse_bucket(UINT64_MAX), SWIFTRDMA_COARSE_BUCKETS - 1);
}

static void test_files_hold_what_they_say(void **state)
{
	(void)state;
	assert_int_equal(SWIFTRDMA_REPORT_LATENCY_OFF, 640);
	assert_int_equal(SWIFTRDMA_REPORT_HOL_OFF, 640 + 8000);
	assert_int_equal(SWIFTRDMA_REPORT_SLOTS_OFF, 640 + 16000);
	assert_int_equal(swiftrdma_report_bytes(3), 640 + 16000 + 3 * 512);
	assert_int_equal(swiftrdma_control_bytes(3), 256 + 4 * 512);
	assert_int_equal(_IOC_SIZE(SWIFTRDMA_IOC_ATTACH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_time_is_in_its_bucket),
		cmocka_unit_test(test_buckets_are_narrow),
		cmocka_unit_test(test_coarse_buckets),
		cmocka_unit_test(test_files_hold_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
