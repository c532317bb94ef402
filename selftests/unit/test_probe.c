// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Verdicts of swiftrdma probe: how figures are compared, and what the worst one makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "probe/verdict.h"

static struct probe_finding f;

static int setup(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	return 0;
}

static bool is_off(enum probe_compare how, double assumed, double found)
{
	struct probe_figure *g = finding_compare(&f, how, "x", assumed, found, "figure");

	assert_non_null(g);
	return g->off;
}

static void test_exact(void **state)
{
	(void)state;
	assert_false(is_off(PROBE_EXACT, 5, 5));
	assert_int_equal(f.verdict, PROBE_AS_ASSUMED);
	assert_true(is_off(PROBE_EXACT, 5, 6));
	assert_int_equal(f.verdict, PROBE_DIFFERS);
	/* A later figure that is as assumed takes nothing back. */
	assert_false(is_off(PROBE_EXACT, 0, 0));
	assert_int_equal(f.verdict, PROBE_DIFFERS);
}

static void test_bounds(void **state)
{
	(void)state;
	assert_false(is_off(PROBE_NEAR, 100, 125));
	assert_false(is_off(PROBE_NEAR, 100, 75));
	assert_true(is_off(PROBE_NEAR, 100, 126));
	assert_true(is_off(PROBE_NEAR, 100, 74));
	assert_false(is_off(PROBE_AT_MOST, 10, 10));
	assert_true(is_off(PROBE_AT_MOST, 10, 10.5));
	assert_false(is_off(PROBE_AT_LEAST, 10, 10));
	assert_true(is_off(PROBE_AT_LEAST, 10, 9.5));
}

static void test_shown(void **state)
{
	(void)state;
	assert_false(is_off(PROBE_SHOWN, 0, 123));
	assert_int_equal(f.verdict, PROBE_AS_ASSUMED);
}

/* What was not measured is not as assumed. */
static void test_no_number(void **state)
{
	(void)state;
	assert_true(is_off(PROBE_AT_MOST, 10, NAN));
	assert_true(is_off(PROBE_NEAR, 10, NAN));
	assert_false(is_off(PROBE_SHOWN, 0, NAN));
}

static void test_full(void **state)
{
	(void)state;
	for (int i = 0; i < PROBE_FIGURES; i++)
		is_off(PROBE_SHOWN, 0, i);
	assert_null(finding_compare(&f, PROBE_EXACT, NULL, 1, 2, "too many"));
	assert_int_equal(f.n_figures, PROBE_FIGURES);
}

/* The sentence of the worst verdict stays. */
static void test_words(void **state)
{
	(void)state;
	finding_say(&f, "found %d", 1);
	assert_string_equal(f.found, "found 1");
	finding_cannot(&f, "no %s", "module");
	assert_int_equal(f.verdict, PROBE_CANNOT);
	assert_string_equal(f.found, "no module");
	finding_differs(&f, "refused");
	finding_cannot(&f, "later");
	assert_int_equal(f.verdict, PROBE_DIFFERS);
	assert_string_equal(f.found, "refused");
}

/* A figure that is off has a sentence, too. */
static void test_figure_words(void **state)
{
	(void)state;
	is_off(PROBE_EXACT, 1, 2);
	finding_say(&f, "2 of 1");
	assert_string_equal(f.found, "2 of 1");
	finding_cannot(&f, "not this");
	assert_string_equal(f.found, "2 of 1");
}

static void test_status(void **state)
{
	struct probe_finding all[3];

	(void)state;
	memset(all, 0, sizeof(all));
	assert_int_equal(findings_status(all, 0), 0);
	assert_int_equal(findings_status(all, 3), 0);
	finding_cannot(&all[1], "why");
	assert_int_equal(findings_status(all, 3), 1);
	finding_differs(&all[0], "how");
	assert_int_equal(findings_status(all, 3), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_exact, setup),
		cmocka_unit_test_setup(test_bounds, setup),
		cmocka_unit_test_setup(test_shown, setup),
		cmocka_unit_test_setup(test_no_number, setup),
		cmocka_unit_test_setup(test_full, setup),
		cmocka_unit_test_setup(test_words, setup),
		cmocka_unit_test_setup(test_figure_words, setup),
		cmocka_unit_test_setup(test_status, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
