// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each policy file that is shipped, in the scenario of the contention that it is
 * for, and what it claims to do about it as a bound.
 */
#include "unit/sim_rig.h"

static void run(const char *policies, const char *scenario)
{
	char path[64];

	snprintf(path, sizeof(path), "policies/%s", policies);
	load(scenario, path);
	printf("# %s.yaml\n", policies);
	run_both();
}

static void the_port(const char *policies)
{
	run(policies, "port");
	HOLDS("j2 p99, without to with", p99(&without, "j2") / p99(&with, "j2"), >=, 5);
	HOLDS("j2's target met", met(&with, "j2"), >=, 0.99);
	HOLDS("j1's rate", done(&with, "j1") / done(&without, "j1"), >=, 0.95);
}

static void test_port(void **state)
{
	(void)state;
	the_port("port");
}

static void test_paper_port(void **state)
{
	(void)state;
	the_port("paper-port");
}

static void test_paper_hol(void **state)
{
	(void)state;
	run("paper-hol", "hol");
	HOLDS("j2 p99, without to with", p99(&without, "j2") / p99(&with, "j2"), >=, 1.3);
	HOLDS("j2's target met", met(&with, "j2") - met(&without, "j2"), >, 0);
	HOLDS("j1's rate", done(&with, "j1") / done(&without, "j1"), >=, 0.98);
}

static void test_uar(void **state)
{
	(void)state;
	run("uar", "uar");
	HOLDS("gain", done(&with, "kv") / done(&without, "kv"), >=, 1.9);
}

/* Each of the four in cache.yaml where it is the one that is wanted. */
static void test_merge(void **state)
{
	(void)state;
	run("cache", "cache");
	HOLDS("misses without", without.qpc_miss, >=, 0.4);
	HOLDS("misses with", with.qpc_miss, <=, 0.172);
	HOLDS("kv's target met", met(&with, "kv"), >=, 0.99);
}

static void test_scale(void **state)
{
	(void)state;
	run("cache", "scale");
	HOLDS("kv p99, without to with", p99(&without, "kv") / p99(&with, "kv"), >=, 4);
	HOLDS("kv's rate", done(&with, "kv") / done(&without, "kv"), >=, 4);
	HOLDS("misses with", with.qpc_miss, <=, 0.15);
}

static void test_pages(void **state)
{
	(void)state;
	run("cache", "pages");
	HOLDS("kv p99, without to with", p99(&without, "kv") / p99(&with, "kv"), >=, 5);
	HOLDS("kv's target met", met(&with, "kv"), >=, 0.99);
}

static void test_throttle(void **state)
{
	(void)state;
	run("cache", "thrash");
	claims_hold();
}

static void test_control(void **state)
{
	(void)state;
	run("control", "storm");
	HOLDS("kv p99, without to with", p99(&without, "kv") / p99(&with, "kv"), >=, 5);
	HOLDS("kv's target met", met(&with, "kv"), >=, 0.99);
	/* batch alone, and once: it is not let go as long as it storms. */
	HOLDS("decisions", with.decisions, ==, 1);
}

/* The shortest file: all at once, from an order alone. */
static void test_order(void **state)
{
	(void)state;
	run("order", "all");
	HOLDS("kv p99, without to with", p99(&without, "kv") / p99(&with, "kv"), >=, 2);
	HOLDS("web p99, without to with", p99(&without, "web") / p99(&with, "web"), >=, 2);
	HOLDS("bulk's rate", done(&with, "bulk") / done(&without, "bulk"), >=, 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_paper_port),
		cmocka_unit_test(test_paper_hol),
		cmocka_unit_test(test_uar),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
