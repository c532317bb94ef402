/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libswiftrdma's registration of memory: the files of /proc and /sys are ones that a test
 * writes, madvise() notes what it is asked, and the next ibv_reg_mr() counts calls.
 */
#ifndef SELFTESTS_UNIT_HUGE_RIG_H
#define SELFTESTS_UNIT_HUGE_RIG_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

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

static void assert_counts(uint64_t regions, uint64_t ranges, uint64_t left)
{
	assert_int_equal(ctl.report->huge_regions, regions);
	assert_int_equal(ctl.report->huge_ranges, ranges);
	assert_int_equal(ctl.report->huge_left, left);
}

#endif /* SELFTESTS_UNIT_HUGE_RIG_H */
