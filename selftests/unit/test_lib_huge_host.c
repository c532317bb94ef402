// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libswiftrdma: huge pages in the memory of this host. Tests are skipped where its kernel cannot
 * collapse memory.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "huge_rig.h"

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
