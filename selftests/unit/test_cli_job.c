// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What job set and level set understand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cli/cmd_job.c"
#include "unit/cli_stubs.h"

static int parse_words(struct job_args *job, char **word, int n)
{
	struct args args = { word, n };

	return job_parse(&args, job);
}

#define PARSE(job, ...)							\
	({								\
		char *word_[] = { __VA_ARGS__ };			\
									\
		parse_words(job, word_, sizeof(word_) / sizeof(*word_));\
	})

static struct snap_rule rules[SWIFTRDMA_RULES_MAX];

static struct job_args fresh_job(void)
{
	memset(rules, 0, sizeof(rules));
	return (struct job_args){ .name = "kv", .rules = rules };
}

static void rules_and_orders(void **state)
{
	struct job_args job = fresh_job();

	(void)state;
	assert_int_equal(PARSE(&job, "class", "best-effort", "order", "50",
			       "match", "cgroup=/kv/*,uid=0", "order", "7",
			       "match", "comm=a\\,b", "match", "exe=x,pid=12"),
			 CLI_OK);
	assert_int_equal(job.n_rules, 3);
	assert_int_equal(job.class, SWIFTRDMA_JOB_CLASS_BEST_EFFORT);
	assert_string_equal(rules[0].cgroup, "/kv/*");
	assert_true(rules[0].has_uid);
	assert_int_equal(rules[0].uid, 0);
	assert_int_equal(rules[0].order, 7);
	assert_string_equal(rules[1].comm, "a,b");
	assert_false(rules[1].has_uid);
	assert_int_equal(rules[1].order, 50);
	assert_string_equal(rules[2].exe, "x");
	assert_int_equal(rules[2].pid, 12);
}

static void wishes(void **state)
{
	struct job_args job = fresh_job();

	(void)state;
	assert_int_equal(PARSE(&job, "match", "uid=1,asked,slo_min=50us", "match", "asked",
			       "match", "cgroup=/kv,slo_min=1ms"), CLI_OK);
	assert_true(rules[0].asked);
	assert_int_equal(rules[0].slo_p99_min, 50000);
	assert_true(rules[1].asked);
	assert_int_equal(rules[1].slo_p99_min, 0);
	assert_false(rules[2].asked);
	assert_int_equal(rules[2].slo_p99_min, 1000000);
}

/* A number without a unit is refused. */
static void unitless_objective(void **state)
{
	struct job_args job = fresh_job();
	FILE *was = stderr;
	char *said;
	size_t size;
	int err;

	(void)state;
	stderr = open_memstream(&said, &size);
	err = PARSE(&job, "match", "uid=1,slo_min=50");
	fclose(stderr);
	stderr = was;
	assert_int_equal(err, CLI_USAGE);
	assert_string_equal(said,
			    "swiftrdma: slo_min: '50' has no unit; add one, as in slo_min=50us\n");
	free(said);
}

static void order_by_default(void **state)
{
	struct job_args job = fresh_job();

	(void)state;
	assert_int_equal(PARSE(&job, "match", "uid=1"), CLI_OK);
	assert_int_equal(rules[0].order, ORDER_DEFAULT);
	assert_false(job.has_class);
}

static void bad_rules(void **state)
{
	static char *const bad[] = {
		"uid", "uid=", "uid=x", "uid=4294967296", "pid=-1", "colour=red",
		"comm=0123456789abcdef", "order=3", "", "uid=1,,=",
		"uid=4294967295", "cgroup=kv", "exe=/usr/bin/x", "asked=1", "slo_min=50us",
		"uid=1,slo_min=0", "uid=1,slo_min=50", "uid=1,slo_min=5e4",
		"uid=1,slo_min=5Mbit/s", "uid=1,slo_min=",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct job_args job = fresh_job();

		assert_int_equal(PARSE(&job, "match", bad[i]), CLI_USAGE);
	}
}

static void bad_words(void **state)
{
	struct job_args job = fresh_job();

	(void)state;
	assert_int_equal(PARSE(&job, "match"), CLI_USAGE);
	job = fresh_job();
	assert_int_equal(PARSE(&job, "class", "latency"), CLI_USAGE);
	job = fresh_job();
	assert_int_equal(PARSE(&job, "class", "fast", "match", "uid=1"),
			 CLI_USAGE);
	job = fresh_job();
	assert_int_equal(PARSE(&job, "match", "uid=1", "priority", "3"),
			 CLI_USAGE);
	job = fresh_job();
	job.n_rules = SWIFTRDMA_RULES_MAX;
	assert_int_equal(PARSE(&job, "match", "uid=1"), CLI_USAGE);
}

static int run_word(int (*verb)(struct cli *cli, struct args *args), char *name)
{
	char *word[] = { name, "match", "uid=1" };
	struct args args = { word, verb == delete_job ? 1 : 3 };
	struct cli cli = { 0 };

	return verb(&cli, &args);
}

/* What passes goes on to a module, which is not there. */
static void job_names(void **state)
{
	static char *const bad[] = {
		"", "a b", "kv/1", "x23456789012345678901234567890xx",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(run_word(set_job, bad[i]), CLI_USAGE);
		assert_int_equal(run_word(delete_job, bad[i]), CLI_USAGE);
	}
	assert_int_equal(run_word(set_job, "kv-1_a.b"), CLI_ERROR);
	assert_int_equal(run_word(delete_job, "kv-1_a.b"), CLI_ERROR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_and_orders),
		cmocka_unit_test(wishes),
		cmocka_unit_test(order_by_default),
		cmocka_unit_test(unitless_objective),
		cmocka_unit_test(bad_rules),
		cmocka_unit_test(bad_words),
		cmocka_unit_test(job_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
