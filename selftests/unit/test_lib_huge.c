// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* libswiftrdma: which registered memory is collapsed to huge pages. */
#include <sys/wait.h>

#include "huge_rig.h"

/* The ranges that were to be collapsed, from AT(from) on, and no other. */
static void assert_collapsed(int from, int n)
{
	assert_int_equal(t.n, n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(t.asked[i].advice, COLLAPSE);
		assert_int_equal(t.asked[i].at, AT(from + i));
		assert_int_equal(t.asked[i].length, RANGE);
	}
	t.n = 0;
}

/* One range is registered, and collapsed or left as it is. */
static void reg_range(bool collapsed)
{
	reg(AT(0), RANGE);
	assert_collapsed(0, collapsed);
}

static void test_whole_ranges(void **state)
{
	(void)state;
	reg(AT(1), 4 * RANGE);
	assert_collapsed(1, 4);
	reg(AT(1) + PAGE, 4 * RANGE);
	assert_collapsed(2, 3);
	reg(AT(1) - PAGE, RANGE + PAGE);
	assert_collapsed(1, 1);
	assert_counts(3, 8, 0);
	/* No whole range. */
	reg(AT(1) + 1, 2 * RANGE - 2);
	reg(AT(1), RANGE - 1);
	assert_collapsed(0, 0);
	assert_counts(3, 8, 0);
}

static void test_the_mapping_ends_within_the_region(void **state)
{
	(void)state;
	put_mapping("w", AT(3) + PAGE, AT(6) - PAGE, ANON);
	reg(AT(0), 10 * RANGE);
	assert_collapsed(4, 1);
	assert_counts(1, 1, 9);
	/* A range that two mappings share is neither's. */
	put_mapping("w", AT(3), AT(4) + PAGE, ANON);
	put_mapping("a", AT(4) + PAGE, AT(6), ANON "                   [heap]");
	reg(AT(3), 3 * RANGE);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.asked[0].at, AT(3));
	assert_int_equal(t.asked[1].at, AT(5));
}

static void test_other_calls_and_kinds(void **state)
{
	(void)state;
	assert_ptr_equal(ibv_reg_mr_iova(&rig.pd, (void *)AT(1), RANGE, 5, 6), &t.mr);
	assert_true(t.addr == AT(1) && t.length == RANGE && t.iova == 5 && t.access == 6);
	assert_collapsed(1, 1);
	assert_ptr_equal(ibv_reg_mr_iova2(&rig.pd, (void *)AT(2), RANGE, 5, IBV_ACCESS_RELAXED_ORDERING),
			 &t.mr);
	assert_int_equal(t.access, IBV_ACCESS_RELAXED_ORDERING);
	assert_collapsed(2, 1);
	assert_int_equal(t.registered, 2);
	ibv_reg_mr_iova2(&rig.pd, (void *)AT(2), RANGE, 5, IBV_ACCESS_ON_DEMAND);
	ibv_reg_mr(&rig.pd, (void *)AT(2), RANGE, IBV_ACCESS_HUGETLB);
	/* Implicit ODP; and what ends beyond the end of the address space. */
	ibv_reg_mr(&rig.pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);
	ibv_reg_mr(&rig.pd, (void *)AT(2), SIZE_MAX, 0);
	ibv_reg_mr(&rig.pd, (void *)(UINTPTR_MAX - PAGE), RANGE, 0);
	assert_collapsed(0, 0);
	assert_int_equal(t.registered, 7);
	assert_counts(2, 2, 0);
}

/* libibverbs' own ibv_reg_mr() calls ibv_reg_mr_iova2(). */
static void test_nested_call_is_one_registration(void **state)
{
	(void)state;
	t.inner = true;
	reg(AT(1), 2 * RANGE);
	assert_collapsed(1, 2);
	assert_counts(1, 2, 0);
	reg(AT(5), RANGE);
	assert_collapsed(5, 1);
}

static void test_who_decides(void **state)
{
	(void)state;
	settings.huge_pages = false;
	reg_range(false);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IDLE);
	ctl_set_until(HUGE, 1, rig.now + S);
	reg_range(true);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(ctl.report->knob[HUGE].value, 1);
	assert_int_equal(ctl.report->control_seen, 1);
	/* Its time ends. */
	rig.now += S;
	reg_range(false);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IDLE);
	assert_int_equal(ctl.report->knob[HUGE].value, 0);
	/* The kernel's no is stronger than the environment's yes. */
	settings.huge_pages = true;
	reg_range(true);
	ctl_set(HUGE, 0);
	reg_range(false);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(ctl.report->knob[HUGE].value, 0);
	/* A registration of what is too small answers, too. */
	ctl_set(HUGE, 1);
	reg(AT(0), PAGE);
	assert_collapsed(0, 0);
	assert_int_equal(ctl.report->knob[HUGE].value, 1);
	assert_int_equal(ctl.report->control_seen, 3);
	/* Without a module there is no knob. */
	ctl_state(SWIFTRDMA_CONTROL_ENDED);
	reg_range(true);
	assert_counts(3, 3, 0);
}

/* A post answers control as a registration does; the knob costs posts no look at the clock. */
static uint64_t looks;

static uint64_t counting_clock(void)
{
	looks++;
	return rig.now;
}

static void test_posts(void **state)
{
	(void)state;
	settings.sample_every = 1 << 20;
	ctl_set(HUGE, 1);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	rig_post(rig.qp, 1, 1);
	sampling_reset(&((struct qp *)table_find(&qps, rig.qp))->sampling, 2);
	lib_clock = counting_clock;
	looks = 0;
	for (int i = 0; i < 100; i++)
		assert_int_equal(rig_post(rig.qp, 1, 1), 0);
	assert_in_range(looks, 0, 1);
	lib_clock = rig_clock;
	assert_int_equal(ctl.waits, 0);
}

static void test_mappings(void **state)
{
	static const struct {
		const char *line;
		int ranges;
	} lines[] = {
		{ ANON, 1 },
		{ "rwxp 00000000 00:00 0 ", 1 },
		{ ANON "                   [heap]", 1 },
		{ ANON "                   [anon:glibc: malloc]", 1 },
		{ ANON "                   [stack]", 0 },
		{ ANON "                   [anon_shmem:x]", 0 },
		{ "r--p 00000000 00:00 0 ", 0 },
		{ "---p 00000000 00:00 0 ", 0 },
		{ "rw-s 00000000 00:00 0 ", 0 },
		{ "rw-s 00000000 00:01 2053  /dev/zero (deleted)", 0 },
		{ "rw-p 00000000 00:01 2053  /memfd:x (deleted)", 0 },
		{ "rw-p 00000000 00:0f 9  /anon_hugepage (deleted)", 0 },
		{ "rw-p 00001000 fe:01 77  /usr/lib/x", 0 },
		{ "rw-p 00000000 00:00 0  /dev/x", 0 },
		{ "rubbish", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		put_mapping("w", AT(0), AT(1), lines[i].line);
		reg(AT(0), RANGE);
		assert_collapsed(0, lines[i].ranges);
	}
	assert_counts(16, 4, 12);
	/* No file at all. */
	unlink(path_of("/proc/self/maps"));
	reg_range(false);
}

/* Lines longer than the buffer, and a region far behind in the file. */
static void test_long_maps(void **state)
{
	char line[3000] = "rw-p 00000000 fe:01 77  /";

	(void)state;
	put("/proc/self/maps", "");
	memset(line + strlen(line), 'x', sizeof(line) - 1 - strlen(line));
	for (unsigned int i = 0; i < 500; i++)
		put_mapping("a", 0x10000 + 0x2000 * i, 0x11000 + 0x2000 * i, i % 7 ? ANON : line + i);
	put_mapping("a", AT(0), AT(1), line);
	put_mapping("a", AT(1), AT(3), ANON);
	put_mapping("a", AT(3), AT(4), line);
	put_mapping("a", AT(4), AT(5), ANON);
	reg(AT(0), 5 * RANGE);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.asked[0].at, AT(1));
	assert_int_equal(t.asked[2].at, AT(4));
	assert_counts(1, 3, 2);
}

static void test_pages(void **state)
{
	static const uint64_t others[] = {
		PRESENT,			/* shared with a child, or the page of zeros */
		SWAP,
		PRESENT | EXCLUSIVE | 1ull << 61,	/* a file's */
		1ull << 58,			/* guarded */
		PRESENT | EXCLUSIVE | 1ull << 57,	/* write-protected by userfaultfd */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		/* The last page of the second range of three. */
		put_pages(AT(1) + RANGE - PAGE, PAGE, others[i]);
		reg(AT(0), 3 * RANGE);
		assert_int_equal(t.n, 2);
		assert_int_equal(t.asked[0].at, AT(0));
		assert_int_equal(t.asked[1].at, AT(2));
		t.n = 0;
	}
	assert_counts(5, 10, 5);
	/* One page that was never used. */
	put_pages(AT(1) + RANGE - PAGE, PAGE, 0);
	reg(AT(0), 3 * RANGE);
	assert_collapsed(0, 3);
	/* A file that ends early. */
	assert_int_equal(truncate(path_of("/proc/self/pagemap"), AT(1) / PAGE * 8 + 4088), 0);
	reg(AT(0), 3 * RANGE);
	assert_collapsed(0, 1);
	unlink(path_of("/proc/self/pagemap"));
	reg(AT(0), 3 * RANGE);
	assert_collapsed(0, 0);
}

/* Of a range that was never used one page is allocated first. */
static void test_unused_memory(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	put_pages(AT(1), RANGE, 0);
	reg(AT(0), 2 * RANGE);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.asked[1].advice, POPULATE);
	assert_int_equal(t.asked[1].at, AT(1));
	assert_int_equal(t.asked[1].length, PAGE);
	assert_int_equal(t.asked[2].advice, COLLAPSE);
	assert_counts(1, 2, 0);
}

static void test_never(void **state)
{
	const char *all = "/sys/kernel/mm/transparent_hugepage/enabled";
	const char *one = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled";

	(void)state;
	put(all, "always madvise [never]\n");
	reg(AT(0), 3 * RANGE);
	assert_collapsed(0, 0);
	assert_counts(1, 0, 3);
	/* The setting of the size, in Linux 6.8. */
	put(one, "always inherit [madvise] never\n");
	reg_range(true);
	put(one, "always [inherit] madvise never\n");
	reg_range(false);
	put(all, "[always] madvise never\n");
	reg_range(true);
	put(one, "always inherit madvise [never]\n");
	reg_range(false);
	unlink(path_of(one));
	reg_range(true);
	unlink(path_of(all));
	reg_range(false);
}

static void test_states(void **state)
{
	const char *all = "/sys/kernel/mm/transparent_hugepage/enabled";

	(void)state;
	put(all, "always madvise [never]\n");
	ctl_set(HUGE, 1);
	rig_post(rig.qp, 1, 1);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_UNABLE);
	put(all, "[always] madvise never\n");
	reg(AT(0), RANGE);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_collapsed(0, 1);
	/* PR_SET_THP_DISABLE */
	t.disabled = 1;
	reg(AT(0), RANGE);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_collapsed(0, 0);
	ctl_set(HUGE, 0);
	reg(AT(0), RANGE);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	/* A kernel older than 6.1. */
	t.disabled = 0;
	t.unknown = 1;
	ctl_set(HUGE, 1);
	reg(AT(0), RANGE);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_NONE);
	assert_collapsed(0, 0);
	t.unknown = 0;
	put("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "rubbish\n");
	reg(AT(0), RANGE);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_NONE);
	assert_collapsed(0, 0);
}

static void test_memory_of_the_system(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    65535 kB\n");
	reg(AT(0), 4 * RANGE);
	assert_collapsed(0, 0);
	assert_counts(1, 0, 4);
	put("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    65536 kB\n");
	reg(AT(0), 4 * RANGE);
	assert_collapsed(0, 4);
	put("/proc/meminfo", "MemTotal: 9000000 kB\n");
	reg(AT(0), 4 * RANGE);
	assert_collapsed(0, 0);
}

/* Memory goes while ranges are collapsed: it is seen after 16 of them. */
static int greedy_madvise(void *at, size_t length, int advice)
{
	if (length)
		put("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    1000 kB\n");
	return fake_madvise(at, length, advice);
}

static void test_memory_runs_out(void **state)
{
	(void)state;
	huge_madvise = greedy_madvise;
	reg(AT(0), 100 * RANGE);
	assert_collapsed(0, 16);
	assert_counts(1, 16, 84);
}

static void test_limits_of_cgroups(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "1:cpu:/\n0::/job/task\n");
	put("/sys/fs/cgroup/job/task/memory.max", "max\n");
	put("/sys/fs/cgroup/job/task/memory.current", "100000000\n");
	reg_range(true);
	/* 64 MiB are left, and then less; in the cgroup itself, and in the one above it. */
	put("/sys/fs/cgroup/job/task/memory.max", "167108864\n");
	reg_range(true);
	put("/sys/fs/cgroup/job/task/memory.max", "167108863\n");
	reg_range(false);
	put("/sys/fs/cgroup/job/task/memory.max", "max\n");
	put("/sys/fs/cgroup/job/memory.high", "167108863\n");
	put("/sys/fs/cgroup/job/memory.current", "100000000\n");
	reg_range(false);
	put("/sys/fs/cgroup/job/memory.high", "max\n");
	reg_range(true);
	/* The root of a container. */
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/memory.max", "1000\n");
	reg_range(false);
	unlink(path_of("/sys/fs/cgroup/memory.max"));
	reg_range(true);
	/* Limits that cannot be read may be close. */
	put("/proc/self/cgroup", "0::/elsewhere\n");
	reg(AT(0), RANGE);
	put("/proc/self/cgroup", "0::/../job\n");
	reg_range(false);
	/* cgroup v1 */
	put("/proc/self/cgroup", "3:memory:/a\n1:cpu:/\n0::/\n");
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "100000000\n");
	reg_range(true);
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "100000001\n");
	reg_range(false);
	/* No cgroups. */
	unlink(path_of("/proc/self/cgroup"));
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
}

static void test_time(void **state)
{
	(void)state;
	t.takes = 300 * MS;
	/* As main() has set it in the environment. */
	reg(AT(0), 100 * RANGE);
	assert_collapsed(0, 10);
	settings.huge_seconds = HUGE_SECONDS;
	reg(AT(0), 100 * RANGE);
	assert_collapsed(0, 4);
	assert_counts(2, 14, 186);
	/* Each registration has as much. */
	reg(AT(0), 100 * RANGE);
	assert_collapsed(0, 4);
}

static void test_refusals(void **state)
{
	(void)state;
	/* No free huge page: nothing more is tried. */
	t.err = ENOMEM;
	t.err_after = 3;
	reg(AT(0), 100 * RANGE);
	assert_collapsed(0, 4);
	assert_counts(1, 3, 97);
	t.err = EBUSY;
	t.err_after = 0;
	reg(AT(0), 100 * RANGE);
	assert_collapsed(0, 1);
	/* Pinned pages: after 8 in a row the rest of the mapping is left, but not the next one. */
	t.err = EAGAIN;
	t.err_after = 5;
	reg(AT(0), 100 * RANGE);
	assert_collapsed(0, 13);
	put_mapping("w", AT(0), AT(20), ANON);
	put_mapping("a", AT(50), AT(70), ANON "  [heap]");
	t.err_after = 0;
	reg(AT(0), 100 * RANGE);
	assert_int_equal(t.n, 16);
	assert_int_equal(t.asked[8].at, AT(50));
}

static void test_forked_child(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		/* The child has no mapping of the report, so a library that counts there crashes. */
		ibv_reg_mr(&rig.pd, (void *)AT(0), RANGE, 0);
		_exit(t.n || t.registered != 1);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_counts(0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HUGE_TEST(test_whole_ranges),
		HUGE_TEST(test_the_mapping_ends_within_the_region),
		HUGE_TEST(test_other_calls_and_kinds),
		HUGE_TEST(test_nested_call_is_one_registration),
		HUGE_TEST(test_who_decides),
		HUGE_TEST(test_posts),
		HUGE_TEST(test_mappings),
		HUGE_TEST(test_long_maps),
		HUGE_TEST(test_pages),
		HUGE_TEST(test_unused_memory),
		HUGE_TEST(test_never),
		HUGE_TEST(test_states),
		HUGE_TEST(test_memory_of_the_system),
		HUGE_TEST(test_memory_runs_out),
		HUGE_TEST(test_limits_of_cgroups),
		HUGE_TEST(test_time),
		HUGE_TEST(test_refusals),
		HUGE_TEST(test_forked_child),
	};

	/* For test_time(). */
	setenv("SWIFTRDMA_HUGE_TIME", "3", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
