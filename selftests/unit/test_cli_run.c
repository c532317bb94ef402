// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Into which cgroup swiftrdma run goes, and how; what environment it sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd_run.c"

static struct snap_rule kv_rules[2], other_rules[1];
static struct snap_job jobs[2];
static struct snapshot snap;
static char dir[64], path[SNAP_PATH], why[RUN_WHY];

static int setup(void **state)
{
	(void)state;
	memset(kv_rules, 0, sizeof(kv_rules));
	memset(other_rules, 0, sizeof(other_rules));
	jobs[0] = (struct snap_job){
		.id = 1, .name = "kv", .rules = kv_rules, .n_rules = 1,
	};
	jobs[1] = (struct snap_job){
		.id = 2, .name = "other", .rules = other_rules, .n_rules = 1,
	};
	kv_rules[0].order = 100;
	other_rules[0].order = 100;
	snap = (struct snapshot){ .jobs = jobs, .n_jobs = 2 };
	strcpy(dir, "/tmp/run.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static bool find(const char *glob, const char *own)
{
	strcpy(kv_rules[0].cgroup, glob);
	path[0] = why[0] = '\0';
	return job_cgroup_of(&snap, &jobs[0], 1000, own, path, why);
}

static void paths(void **state)
{
	static const struct {
		const char *glob, *path;
	} cases[] = {
		{ "/kv", "/kv" }, { "/kv*", "/kv" }, { "/kv/*", "/kv/run" },
		{ "/a/*/b", "/a/run/b" },
		{ "/kv?", "/kvx" }, { "*/kv", "/run/kv" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(find(cases[i].glob, "/user"));
		assert_string_equal(path, cases[i].path);
	}
	/* Who is there already stays. */
	assert_true(find("/kv*", "/kv/deep/in"));
	assert_string_equal(path, "/kv/deep/in");
	assert_false(find("/[kv]", "/user"));
	assert_non_null(strstr(why, "no rule of it has a cgroup as its only condition"));
}

static void rules_that_say_more(void **state)
{
	(void)state;
	strcpy(kv_rules[0].comm, "kv");
	assert_false(find("/kv", "/"));
	kv_rules[0].comm[0] = '\0';
	kv_rules[0].has_uid = true;
	kv_rules[0].uid = 1000;
	assert_true(find("/kv", "/"));
	kv_rules[0].uid = 1001;
	assert_false(find("/kv", "/"));
	/* The second one will do. */
	jobs[0].n_rules = 2;
	kv_rules[1].order = 200;
	strcpy(kv_rules[1].cgroup, "/kv2");
	assert_true(find("/kv", "/"));
	assert_string_equal(path, "/kv2");
}

static void another_jobs(void **state)
{
	(void)state;
	strcpy(other_rules[0].cgroup, "/kv*");
	other_rules[0].order = 99;
	assert_false(find("/kv", "/"));
	assert_non_null(strstr(why, "belongs to job other"));
	other_rules[0].order = 101;
	assert_true(find("/kv", "/"));
	/* Of equals the first of the snapshot, which is the older. */
	other_rules[0].order = 100;
	assert_true(find("/kv", "/"));
	/* Where we are is ours only if nobody else's rule is asked first. */
	other_rules[0].order = 99;
	strcpy(other_rules[0].cgroup, "/kv/x");
	assert_true(find("/kv*", "/kv/x"));
	assert_string_equal(path, "/kv");
}

static const char *file(const char *name, const char *text)
{
	static char at[2][128];
	static int turn;
	FILE *f;

	turn = !turn;
	snprintf(at[turn], sizeof(at[turn]), "%s/%s", dir, name);
	f = fopen(at[turn], "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return at[turn];
}

static void hierarchy(void **state)
{
	const char *v1 = file("v1", "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
	const char *own = file("own", "0::/user.slice\n");
	struct job_cgroups c;

	(void)state;
	assert_false(job_cgroups_find(&c, v1, own, why));
	assert_non_null(strstr(why, "cgroup v2) is not mounted"));
	v1 = file("hybrid",
		  "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		  "31 25 0:27 / /sys/fs/cgroup/two\\040words rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
	own = file("own", "3:cpu:/elsewhere\n0::/user.slice\n");
	assert_true(job_cgroups_find(&c, v1, own, why));
	assert_string_equal(c.mount, "/sys/fs/cgroup/two words");
	assert_string_equal(c.own, "/user.slice");
	v1 = file("ns", "31 25 0:27 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	assert_false(job_cgroups_find(&c, v1, own, why));
	assert_non_null(strstr(why, "cgroup namespace"));
	v1 = file("ok", "31 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	own = file("own", "3:cpu:/\n");
	assert_false(job_cgroups_find(&c, v1, own, why));
}

static void entering(void **state)
{
	struct job_cgroups c = { .own = "/here" };
	char buf[128], got[8] = "";
	FILE *f;

	(void)state;
	strcpy(c.mount, dir);
	assert_true(job_cgroup_enter(&c, "/here", why));
	/* Made on the way; a plain directory has nothing to be written to. */
	assert_false(job_cgroup_enter(&c, "/a/b", why));
	snprintf(buf, sizeof(buf), "%s/a/b", dir);
	assert_int_equal(access(buf, F_OK), 0);
	assert_non_null(strstr(why, "cgroup /a/b: No such file"));
	file("a/b/cgroup.procs", "");
	assert_true(job_cgroup_enter(&c, "/a/b", why));
	strcat(buf, "/cgroup.procs");
	f = fopen(buf, "r");
	assert_non_null(fgets(got, sizeof(got), f));
	fclose(f);
	assert_string_equal(got, "0");
}

static void environment(void **state)
{
	const char *good = file("good.yaml",
		"jobs:\n- {name: kv, class: latency, match: [{comm: kv}],\n"
		"   environment: {MLX5_TOTAL_UUARS: 512, WORDS: 'a b'}}\n"
		"- {name: split, class: throughput, chunk: 64KiB, match: [{comm: y}]}\n"
		"- {name: small, class: latency, huge_pages: no, match: [{comm: z}]}\n"
		"- {name: plain, class: latency, match: [{comm: x}]}\n");

	(void)state;
	unsetenv("SWIFTRDMA_HUGE_PAGES");
	assert_int_equal(add_job_environment("/no/such", false, "kv"), 0);
	assert_null(getenv("SWIFTRDMA_HUGE_PAGES"));
	assert_int_equal(add_job_environment("/no/such", true, "kv"), -1);
	unsetenv("MLX5_TOTAL_UUARS");
	assert_int_equal(add_job_environment(good, true, "kv"), 1);
	assert_string_equal(getenv("MLX5_TOTAL_UUARS"), "512");
	assert_string_equal(getenv("WORDS"), "a b");
	assert_string_equal(getenv("SWIFTRDMA_HUGE_PAGES"), "yes");
	/* The user's own setting stays. */
	assert_int_equal(add_job_environment(good, true, "small"), 1);
	assert_string_equal(getenv("SWIFTRDMA_HUGE_PAGES"), "yes");
	unsetenv("SWIFTRDMA_HUGE_PAGES");
	assert_int_equal(add_job_environment(good, true, "small"), 1);
	assert_string_equal(getenv("SWIFTRDMA_HUGE_PAGES"), "no");
	unsetenv("SWIFTRDMA_HUGE_PAGES");
	assert_null(getenv("SWIFTRDMA_CHUNK"));
	assert_int_equal(add_job_environment(good, true, "split"), 1);
	assert_string_equal(getenv("SWIFTRDMA_CHUNK"), "yes");
	unsetenv("SWIFTRDMA_CHUNK");
	unsetenv("MLX5_TOTAL_UUARS");
	assert_int_equal(add_job_environment(good, true, "plain"), 1);
	assert_null(getenv("MLX5_TOTAL_UUARS"));
	assert_int_equal(add_job_environment(good, false, "nobody"), 0);
	assert_int_equal(add_job_environment(good, true, "nobody"), -1);
	assert_int_equal(add_job_environment(file("bad.yaml",
		"jobs:\n- {name: kv, class: latency, match: [{comm: kv}],\n"
		"   environment: {9BAD: 1}}\n"), false, "kv"), -1);
	assert_int_equal(add_job_environment(file("worse.yaml",
		"jobs:\n- {name: kv, class: latency, match: [{comm: kv}],\n"
		"   environment: [x]}\n"), false, "kv"), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(paths), TEST(rules_that_say_more), TEST(another_jobs),
		TEST(hierarchy), TEST(entering), TEST(environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
