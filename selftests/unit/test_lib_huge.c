// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libswiftrdma: huge pages for memory that is registered. The files of /proc and /sys are ones
 * that the test writes, and madvise() notes what it is asked; but the last tests use the memory
 * of this host, where its kernel can do it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control_rig.h"
#include "lib/huge.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define HUGE SWIFTRDMA_SHARE_KNOB_HUGE_PAGES
#define MIB (1ull << 20)
#define PAGE 4096ull
#define RANGE (2 * MIB)
#define AT(n) (0x7f0000000000ull + (n) * RANGE)
#define POPULATE 23
#define COLLAPSE 25

#define PRESENT (1ull << 63)
#define SWAP (1ull << 62)
#define EXCLUSIVE (1ull << 56)

#define ASKED_MAX 4096

static int (*real_madvise)(void *at, size_t length, int advice);
static int (*real_disabled)(void);

static struct {
	char root[64];
	struct { uint64_t at, length; int advice; } asked[ASKED_MAX];
	int n;
	int disabled, unknown;	/* by prctl(); the kernel knows no MADV_COLLAPSE */
	int err, err_after;	/* of collapses from that one on */
	uint64_t takes;		/* ns of each collapse */
	int registered;
	uint64_t addr, length, iova, access;
	bool inner;		/* ibv_reg_mr() calls ibv_reg_mr_iova2() */
	struct ibv_mr mr;
} t;

/* --- the system ------------------------------------------------------------- */

static const char *path_of(const char *path)
{
	static char full[512];

	snprintf(full, sizeof(full), "%s%s", t.root, path);
	return full;
}

static void put(const char *path, const char *text)
{
	char dir[512];
	FILE *f;

	snprintf(dir, sizeof(dir), "%s", path_of(path));
	for (char *s = strchr(dir + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		mkdir(dir, 0755);
		*s = '/';
	}
	f = fopen(dir, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_mapping(const char *mode, uint64_t from, uint64_t to, const char *rest)
{
	FILE *f = fopen(path_of("/proc/self/maps"), mode);

	assert_non_null(f);
	fprintf(f, "%llx-%llx %s\n", (unsigned long long)from, (unsigned long long)to, rest);
	fclose(f);
}

#define ANON "rw-p 00000000 00:00 0 "

static void put_pages(uint64_t at, uint64_t bytes, uint64_t entry)
{
	int fd = open(path_of("/proc/self/pagemap"), O_WRONLY | O_CREAT, 0644);

	assert_true(fd >= 0);
	for (uint64_t i = 0; i < bytes / PAGE; i++)
		assert_int_equal(pwrite(fd, &entry, 8, (off_t)((at / PAGE + i) * 8)), 8);
	close(fd);
}

static int fake_madvise(void *at, size_t length, int advice)
{
	if (!length) {
		errno = EINVAL;
		return t.unknown ? -1 : 0;
	}
	assert_true(t.n < ASKED_MAX);
	t.asked[t.n].at = (uint64_t)at;
	t.asked[t.n].length = length;
	t.asked[t.n++].advice = advice;
	if (advice != COLLAPSE)
		return 0;
	rig.now += t.takes;
	if (!t.err || t.err_after-- > 0)
		return 0;
	errno = t.err;
	return -1;
}

static int fake_disabled(void)
{
	return t.disabled;
}

/* --- the next functions ------------------------------------------------------ */

static struct ibv_mr *reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				   unsigned int access)
{
	assert_ptr_equal(pd, &rig.pd);
	t.registered++;
	t.addr = (uint64_t)addr;
	t.length = length;
	t.iova = iova;
	t.access = access;
	return &t.mr;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	uint64_t iova = (uint64_t)addr;

	if (t.inner)
		return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
	return reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

static struct ibv_mr *reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				  int access)
{
	return reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

/* --- */

static int huge_setup(void **state)
{
	if (!real_madvise) {
		real_madvise = huge_madvise;
		real_disabled = huge_disabled;
	}
	memset(&t, 0, sizeof(t));
	strcpy(t.root, "/tmp/test_lib_huge.XXXXXX");
	assert_non_null(mkdtemp(t.root));
	put("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
	put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	put("/proc/meminfo", "MemTotal: 9000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n");
	put("/proc/self/cgroup", "0::/job\n");
	put("/sys/fs/cgroup/job/cgroup.procs", "");
	put("/proc/self/maps", "");
	put_mapping("w", AT(0), AT(100), ANON);
	put_pages(AT(0), 100 * RANGE, PRESENT | EXCLUSIVE);
	huge_root = t.root;
	huge_madvise = fake_madvise;
	huge_disabled = fake_disabled;
	if (ctl_setup(state))
		return -1;
	settings.huge_pages = true;
	next.reg_mr = reg_mr;
	next.reg_mr_iova = reg_mr_iova;
	next.reg_mr_iova2 = reg_mr_iova2;
	return 0;
}

static int huge_teardown(void **state)
{
	char cmd[128];

	settings.huge_pages = false;
	huge_root = "";
	snprintf(cmd, sizeof(cmd), "rm -rf %s", t.root);
	return rig_teardown(state) || system(cmd);
}

#define HUGE_TEST(f) cmocka_unit_test_setup_teardown(f, huge_setup, huge_teardown)

static void reg(uint64_t at, uint64_t length)
{
	int before = t.registered;

	errno = 77;
	assert_ptr_equal(ibv_reg_mr(&rig.pd, (void *)at, length, IBV_ACCESS_LOCAL_WRITE), &t.mr);
	assert_int_equal(errno, 77);
	assert_int_equal(t.registered, before + 1);
	assert_true(t.addr == at && t.length == length && t.iova == at);
	assert_int_equal(t.access, IBV_ACCESS_LOCAL_WRITE);
}

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

static void assert_counts(uint64_t regions, uint64_t ranges, uint64_t left)
{
	assert_int_equal(ctl.report->huge_regions, regions);
	assert_int_equal(ctl.report->huge_ranges, ranges);
	assert_int_equal(ctl.report->huge_left, left);
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
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IDLE);
	ctl_set_until(HUGE, 1, rig.now + S);
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(ctl.report->knob[HUGE].value, 1);
	assert_int_equal(ctl.report->control_seen, 1);
	/* Its time ends. */
	rig.now += S;
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	assert_int_equal(knob_state(HUGE), SWIFTRDMA_KNOB_STATE_IDLE);
	assert_int_equal(ctl.report->knob[HUGE].value, 0);
	/* The kernel's no is stronger than the environment's yes. */
	settings.huge_pages = true;
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	ctl_set(HUGE, 0);
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
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
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
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
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
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
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	put(one, "always [inherit] madvise never\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	put(all, "[always] madvise never\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	put(one, "always inherit madvise [never]\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	unlink(path_of(one));
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	unlink(path_of(all));
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
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
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	/* 64 MiB are left, and then less; in the cgroup itself, and in the one above it. */
	put("/sys/fs/cgroup/job/task/memory.max", "167108864\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	put("/sys/fs/cgroup/job/task/memory.max", "167108863\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	put("/sys/fs/cgroup/job/task/memory.max", "max\n");
	put("/sys/fs/cgroup/job/memory.high", "167108863\n");
	put("/sys/fs/cgroup/job/memory.current", "100000000\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	put("/sys/fs/cgroup/job/memory.high", "max\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	/* The root of a container. */
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/memory.max", "1000\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	unlink(path_of("/sys/fs/cgroup/memory.max"));
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	/* Limits that cannot be read may be close. */
	put("/proc/self/cgroup", "0::/elsewhere\n");
	reg(AT(0), RANGE);
	put("/proc/self/cgroup", "0::/../job\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	/* cgroup v1 */
	put("/proc/self/cgroup", "3:memory:/a\n1:cpu:/\n0::/\n");
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "100000000\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "100000001\n");
	reg(AT(0), RANGE);
	assert_collapsed(0, 0);
	/* No cgroups. */
	unlink(path_of("/proc/self/cgroup"));
	reg(AT(0), RANGE);
	assert_collapsed(0, 1);
}

static void test_time(void **state)
{
	(void)state;
	t.takes = 300 * MS;
	reg(AT(0), 100 * RANGE);
	assert_collapsed(0, 4);
	assert_counts(1, 4, 96);
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
		/* The report is not there in the child: to count would kill it. */
		ibv_reg_mr(&rig.pd, (void *)AT(0), RANGE, 0);
		_exit(t.n || t.registered != 1);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_counts(0, 0, 0);
}

/* --- the memory of this host ---------------------------------------------------- */

static int host_setup(void **state)
{
	if (huge_setup(state))
		return -1;
	huge_root = "";
	huge_madvise = real_madvise;
	huge_disabled = real_disabled;
	return 0;
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, huge_teardown)

static uint8_t *mapped;

/* Memory of @n whole ranges. */
static uint8_t *memory(int n, int flags)
{
	uint8_t *p = mmap(NULL, ((uint64_t)n + 1) * RANGE, PROT_READ | PROT_WRITE,
			  flags | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	mapped = p;
	return p + (-(uintptr_t)p & (RANGE - 1));
}

/* In pages of 4 KiB, with a pattern. */
static uint8_t *small_pages(int n)
{
	uint8_t *p = memory(n, MAP_PRIVATE);

	madvise(p, (uint64_t)n * RANGE, MADV_NOHUGEPAGE);
	for (uint64_t i = 0; i < (uint64_t)n * RANGE; i += 8)
		*(uint64_t *)(p + i) = i * 0x9e3779b97f4a7c15ull;
	return p;
}

static void assert_pattern(const uint8_t *p, int n)
{
	for (uint64_t i = 0; i < (uint64_t)n * RANGE; i += 8)
		assert_true(*(const uint64_t *)(p + i) == i * 0x9e3779b97f4a7c15ull);
}

/* The bytes in huge pages of the mapping that holds @p. */
static uint64_t huge_bytes(const uint8_t *p)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long long from = 0, to = 0, kb, sum = 0;
	char line[4096];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
			continue;
		if (sscanf(line, "AnonHugePages: %llu kB", &kb) == 1 && (uintptr_t)p >= from &&
		    (uintptr_t)p < to)
			sum += kb * 1024;
	}
	fclose(f);
	return sum;
}

/* Does this host collapse memory at all? */
static void needs_collapse(void)
{
	uint8_t *p = small_pages(1);
	bool able;

	madvise(p, RANGE, MADV_HUGEPAGE);
	able = !real_madvise(p, RANGE, COLLAPSE) && huge_memory_left() / RANGE >= 64 &&
	       huge_state(HUGE_YES) == SWIFTRDMA_KNOB_STATE_IN_FORCE;
	munmap(mapped, 2 * RANGE);
	if (!able)
		skip();
}

/* MADV_NOHUGEPAGE cannot be taken back but by MADV_HUGEPAGE. */
static void allow(uint8_t *p, int n)
{
	madvise(p, (uint64_t)n * RANGE, MADV_HUGEPAGE);
	assert_int_equal(huge_bytes(p), 0);
}

static void reg_real(uint8_t *p, uint64_t length)
{
	reg((uintptr_t)p, length);
}

static void test_host_collapses(void **state)
{
	uint8_t *p;

	(void)state;
	needs_collapse();
	p = small_pages(4);
	allow(p, 4);
	reg_real(p + PAGE, 4 * RANGE - PAGE);
	assert_int_equal(huge_bytes(p), 3 * RANGE);
	assert_counts(1, 3, 0);
	assert_pattern(p, 4);
	reg_real(p, 4 * RANGE);
	assert_int_equal(huge_bytes(p), 4 * RANGE);
	assert_counts(2, 7, 0);
	assert_pattern(p, 4);
	munmap(mapped, 5 * RANGE);
}

static void test_host_unused(void **state)
{
	uint8_t *p;

	(void)state;
	needs_collapse();
	if (geteuid())
		skip();
	p = memory(2, MAP_PRIVATE);
	reg_real(p, 2 * RANGE);
	assert_int_equal(huge_bytes(p), 2 * RANGE);
	for (uint64_t i = 0; i < 2 * RANGE; i++)
		assert_int_equal(p[i], 0);
	munmap(mapped, 3 * RANGE);
}

static void test_host_nohugepage(void **state)
{
	uint8_t *p;

	(void)state;
	needs_collapse();
	p = small_pages(2);
	reg_real(p, 2 * RANGE);
	assert_int_equal(huge_bytes(p), 0);
	assert_counts(1, 0, 2);
	assert_pattern(p, 2);
	munmap(mapped, 3 * RANGE);
}

static void test_host_disabled(void **state)
{
	uint8_t *p;

	(void)state;
	needs_collapse();
	p = small_pages(1);
	allow(p, 1);
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	reg_real(p, RANGE);
	assert_int_equal(huge_bytes(p), 0);
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
	reg_real(p, RANGE);
	assert_int_equal(huge_bytes(p), RANGE);
	assert_counts(2, 1, 1);
	munmap(mapped, 2 * RANGE);
}

static void test_host_shared(void **state)
{
	uint8_t *p;

	(void)state;
	needs_collapse();
	p = memory(2, MAP_SHARED);
	memset(p, 1, 2 * RANGE);
	reg_real(p, 2 * RANGE);
	assert_counts(1, 0, 2);
	munmap(mapped, 3 * RANGE);
}

/* While a child shares the pages, they stay; but for those that the parent wrote to since. */
static void test_host_fork(void **state)
{
	int status, pipes[2];
	uint8_t *p;
	char c;
	pid_t pid;

	(void)state;
	needs_collapse();
	p = small_pages(3);
	allow(p, 3);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		_exit(read(pipes[0], &c, 1) != 0);
	}
	for (uint64_t i = 0; i < RANGE; i += PAGE)
		((volatile uint8_t *)p)[i] = p[i];
	reg_real(p, 3 * RANGE);
	assert_int_equal(huge_bytes(p), RANGE);
	assert_counts(1, 1, 2);
	assert_pattern(p, 3);
	close(pipes[0]);
	close(pipes[1]);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	munmap(mapped, 4 * RANGE);
}

/* A page that a pipe holds is held as one that the kernel pinned. */
static void test_host_pinned(void **state)
{
	struct iovec v = { .iov_len = PAGE };
	int pipes[2];
	uint8_t *p;

	(void)state;
	needs_collapse();
	p = small_pages(3);
	allow(p, 3);
	assert_int_equal(pipe(pipes), 0);
	v.iov_base = p + RANGE + 7 * PAGE;
	assert_int_equal(vmsplice(pipes[1], &v, 1, 0), PAGE);
	reg_real(p, 3 * RANGE);
	assert_int_equal(huge_bytes(p), 2 * RANGE);
	assert_counts(1, 2, 1);
	assert_pattern(p, 3);
	close(pipes[0]);
	close(pipes[1]);
	munmap(mapped, 4 * RANGE);
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
		HOST_TEST(test_host_collapses),
		HOST_TEST(test_host_unused),
		HOST_TEST(test_host_nohugepage),
		HOST_TEST(test_host_disabled),
		HOST_TEST(test_host_shared),
		HOST_TEST(test_host_fork),
		HOST_TEST(test_host_pinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
