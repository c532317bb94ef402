// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma run: the library that it preloads, and what --check says of a program. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/run.h"

static char dir[] = "/tmp/run_lib.XXXXXX";

/* A file below dir, with its directories. */
static const char *file(const char *name, const void *data, size_t size)
{
	static char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *s = path + strlen(dir) + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(path, 0755);
		*s = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
	return path;
}

static void test_find(void **state)
{
	char link[PATH_MAX], exe[PATH_MAX], path[PATH_MAX];

	(void)state;
	snprintf(exe, sizeof(exe), "%s", file("bin/swiftrdma", "", 0));
	snprintf(link, sizeof(link), "%s/exe", dir);
	assert_int_equal(symlink(exe, link), 0);
	assert_false(run_lib_find(link, path, sizeof(path)));
	file("lib/libswiftrdma.so.1", "x", 1);
	assert_true(run_lib_find(link, path, sizeof(path)));
	snprintf(exe, sizeof(exe), "%s/lib/libswiftrdma.so.1", dir);
	assert_string_equal(path, exe);
	assert_false(run_lib_find(link, path, 8));
	assert_false(run_lib_find("/no/such/link", path, sizeof(path)));
	unlink(exe);
	snprintf(exe, sizeof(exe), "%s", file("lib/" MULTIARCH "/libswiftrdma.so.1", "x", 1));
	assert_true(run_lib_find(link, path, sizeof(path)));
	assert_string_equal(path, exe);
	snprintf(exe, sizeof(exe), "%s", file("lib64/libswiftrdma.so.1", "x", 1));
	assert_true(run_lib_find(link, path, sizeof(path)));
	assert_string_equal(path, exe);
}

static void test_preload(void **state)
{
	(void)state;
	unsetenv("LD_PRELOAD");
	assert_true(run_lib_preload("/a/lib.so.1"));
	assert_string_equal(getenv("LD_PRELOAD"), "/a/lib.so.1");
	assert_true(run_lib_preload("/a/lib.so.1"));
	assert_string_equal(getenv("LD_PRELOAD"), "/a/lib.so.1");
	setenv("LD_PRELOAD", "/b/other.so", 1);
	assert_true(run_lib_preload("/a/lib.so.1"));
	assert_string_equal(getenv("LD_PRELOAD"), "/a/lib.so.1:/b/other.so");
	unsetenv("LD_PRELOAD");
}

static char *told(const char *path)
{
	static char text[4096];
	struct run_seen seen;
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_non_null(f);
	assert_true(run_check(&seen, path));
	run_check_print(&seen, path, f);
	fclose(f);
	return text;
}

static void test_programs(void **state)
{
	struct run_seen seen;

	(void)state;
	assert_non_null(strstr(told("/usr/bin/ibv_rc_pingpong"), "plain verbs: seen"));
	assert_non_null(strstr(told("/usr/bin/ibv_rc_pingpong"), "ibv_wr_*: seen"));
	assert_null(strstr(told("/usr/bin/ibv_rc_pingpong"), "rdma_cm"));
	assert_non_null(strstr(told("/usr/bin/rping"), "rdma_cm: seen"));
	assert_non_null(strstr(told("/bin/true"), "no RDMA"));
	assert_false(run_check(&seen, "/no/such/program"));
	assert_false(run_check(&seen, "/tmp"));
}

/* The loader ignores LD_PRELOAD of a user whom the file gives capabilities. */
static void test_file_capabilities(void **state)
{
	/* Version 2, cap_net_raw+ep, as setcap(8) writes it. */
	static const unsigned char caps[20] = { 1, 0, 0, 2, 0, 0x20 };
	const char *path = file("raw", "\177ELF", 4);
	int status;

	(void)state;
	if (getuid() || setxattr(path, "security.capability", caps, sizeof(caps), 0))
		skip();
	chmod(dir, 0755);
	chmod(path, 0755);
	for (int user = 0; user < 2; user++) {
		pid_t pid = fork();

		if (!pid) {
			struct run_seen seen;

			_exit((user && setuid(65534)) || !run_check(&seen, path) ||
			      seen.privileged != user);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* A program cut off anywhere is no program, and nothing beyond its end is read. */
static void test_broken_files(void **state)
{
	static char whole[64 * 1024];
	struct run_seen seen;
	const char *path;
	FILE *f = fopen("/usr/bin/ibv_rc_pingpong", "r");
	size_t size = fread(whole, 1, sizeof(whole), f);

	(void)state;
	fclose(f);
	assert_non_null(strstr(told(file("script", "#!/bin/sh\n", 10)), "not a 64-bit ELF"));
	for (size_t n = 1; n < size; n += n < 128 ? 1 : 997) {
		path = file("cut", whole, n);
		assert_true(run_check(&seen, path));
		assert_false(seen.verbs && n < 4096);
	}
	memset(whole + 0x20, 0xff, 0x20);
	assert_true(run_check(&seen, file("wild", whole, size)));
	assert_true(seen.elf);
	assert_non_null(strstr(told(file("wild", whole, size)), "not seen: statically linked"));
}

/* An ELF file may name any program as its loader. run_check() must not run such a program. */
static void test_other_loader(void **state)
{
	static const char usual[] = "/lib64/ld-linux-x86-64.so.2";
	static char whole[64 * 1024];
	FILE *f = fopen("/usr/bin/ibv_rc_pingpong", "r");
	size_t size = fread(whole, 1, sizeof(whole), f);
	char script[PATH_MAX], *at, *text;

	(void)state;
	fclose(f);
	at = memmem(whole, size, usual, sizeof(usual));
	if (!at)
		skip();
	snprintf(script, sizeof(script), "#!/bin/sh\ntouch %s/ran\n", dir);
	assert_true(strlen(dir) + sizeof("/ld") <= sizeof(usual));
	assert_int_equal(chmod(file("ld", script, strlen(script)), 0755), 0);
	strcpy(at, file("ld", script, strlen(script)));
	text = told(file("other", whole, size));
	assert_non_null(strstr(text, "its loader is not that of swiftrdma"));
	assert_non_null(strstr(text, "plain verbs: seen"));
	snprintf(script, sizeof(script), "%s/ran", dir);
	assert_int_equal(access(script, F_OK), -1);
	assert_null(strstr(told("/usr/bin/ibv_rc_pingpong"), "loader"));
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[PATH_MAX];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_preload),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_other_loader),
		cmocka_unit_test(test_file_capabilities),
		cmocka_unit_test(test_broken_files),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
