// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Many simulated hosts, and another order for all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "sim/fleet.h"

#define HOSTS 30

static struct scenario sc;

static int setup(void **state)
{
	struct diag r;

	(void)state;
	diag_init(&r, "fleet.yaml");
	if (scenario_load(&sc, TOP "/user/sim/scenarios/fleet.yaml", &r))
		return 0;
	diag_print(&r, stderr);
	return -1;
}

static void run(const char *policies, struct fleet_result *res)
{
	const struct caps all = caps_all();
	struct config cfg;
	struct diag r;

	if (!policies) {
		assert_int_equal(fleet_run(&sc, NULL, HOSTS, NULL, res), 0);
		return;
	}
	diag_init(&r, policies);
	if (!config_load_file_for(&cfg, &all, policies, &r)) {
		diag_print(&r, stderr);
		fail();
	}
	assert_int_equal(config_shorten_times(&cfg, sim_hurry(&sc, &cfg)), 0);
	assert_int_equal(fleet_run(&sc, &cfg, HOSTS, NULL, res), 0);
	config_free(&cfg);
}

/* Of the hosts, in percent. */
static double met(const struct fleet_result *res, size_t job)
{
	return 100.0 * res->job[job].met / HOSTS;
}

static void test_order(void **state)
{
	static struct fleet_result none, kv, web;

	(void)state;
	assert_string_equal(sc.jobs[0].name, "kv");
	assert_string_equal(sc.jobs[1].name, "web");
	run(NULL, &none);
	run(TOP "/user/sim/fleet.yaml", &kv);
	run(TOP "/user/sim/fleet-web.yaml", &web);
	printf("# kv on %.0f %% of hosts, %.0f %% where it is first, %.0f %% where web is\n",
	       met(&none, 0), met(&kv, 0), met(&web, 0));
	printf("# web on %.0f %%, %.0f %%, %.0f %%\n", met(&none, 1),
	       met(&kv, 1), met(&web, 1));
	assert_true(met(&none, 0) <= 20 && met(&none, 1) <= 20);
	assert_true(met(&kv, 0) >= 90);
	assert_true(met(&kv, 0) - met(&web, 0) >= 10);
	assert_true(met(&web, 1) >= met(&kv, 1));
	assert_true(kv.decisions > 0 && !none.decisions);
	assert_int_equal(kv.ticks, HOSTS * 60);
	assert_true(kv.cost.signals_ns > 0 && kv.cost.policies_ns > 0);
}

/* A host is the same whatever its policies are, and another than the next one. */
static void test_hosts(void **state)
{
	static struct scenario a, b;
	bool differ = false;
	uint32_t i;
	size_t k;

	(void)state;
	for (i = 0; i < 200; i++) {
		fleet_host(&sc, i, &a);
		fleet_host(&sc, i, &b);
		assert_memory_equal(&a, &b, sizeof(a));
		fleet_host(&sc, i + 1, &b);
		assert_true(a.seed && a.seed != b.seed);
		for (k = 0; k < sc.n_jobs; k++) {
			const struct sim_job *j = &a.jobs[k];

			assert_true(j->threads >= 1 &&
				    j->threads <= sc.jobs[k].threads);
			assert_true(j->rate >= sc.jobs[k].rate / 2 &&
				    j->rate <= sc.jobs[k].rate * 3 / 2);
			differ |= j->rate != b.jobs[k].rate;
		}
	}
	assert_true(differ);
}

static void test_same_again(void **state)
{
	static struct fleet_result a, b;

	(void)state;
	run(TOP "/user/sim/fleet.yaml", &a);
	run(TOP "/user/sim/fleet.yaml", &b);
	assert_memory_equal(a.job, b.job, sizeof(a.job));
	assert_int_equal(a.decisions, b.decisions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_same_again),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
