// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* One agent a host, and who it is. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/lock.c"

#define NOBODY 65534

static char dir[] = "/tmp/test_lock.XXXXXX", path[64], why[512];

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	/* The directory of the lock is made. */
	snprintf(path, sizeof(path), "%s/run/agent.lock", dir);
	return 0;
}

static int teardown(void **state)
{
	char run[64];

	(void)state;
	snprintf(run, sizeof(run), "%s/run", dir);
	return unlink(path) || rmdir(run) || rmdir(dir);
}

/* Holds the lock until it is killed. */
static pid_t other(void)
{
	char byte;
	int p[2];
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (!pid) {
		byte = agent_lock(path, why, sizeof(why)) >= 0;
		if (write(p[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(p[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	close(p[0]);
	close(p[1]);
	return pid;
}

static void test_one(void **state)
{
	char want[512], text[32] = "";
	pid_t pid = other();
	FILE *f;
	int fd;

	(void)state;
	assert_int_equal(agent_lock(path, why, sizeof(why)), -EBUSY);
	snprintf(want, sizeof(want),
		 "another agent runs on this host: process %ld holds %s; stop it first, or try a file beside it with --dry-run",
		 (long)pid, path);
	assert_string_equal(why, want);
	/* It has not been changed by that. */
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_int_equal(atol(text), pid);
	/* However it ends. */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	fd = agent_lock(path, why, sizeof(why));
	assert_true(fd >= 0);
	memset(text, 0, sizeof(text));
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_int_equal(atol(text), getpid());
	close(fd);
}

/* A process that may only read locks the file against the agent, if it can. */
static pid_t reader(bool *has)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char byte;
	int fd, p[2];
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (!pid) {
		if (!geteuid() && setuid(NOBODY))
			_exit(1);
		fd = open(path, O_RDONLY);
		byte = fd >= 0 && !fcntl(fd, F_SETLK, &l);
		if (write(p[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(p[0], &byte, 1), 1);
	*has = byte;
	close(p[0]);
	close(p[1]);
	return pid;
}

/* Another user cannot keep the agent from starting. */
static void test_another_user(void **state)
{
	struct stat st;
	bool has;
	pid_t pid;
	int fd;

	(void)state;
	assert_int_equal(unlink(path), 0);
	/* For the other user everything but the file itself is open. */
	assert_int_equal(chmod(dir, 0755), 0);
	/* First a new file, then one that a version before left. */
	for (int i = 0; i < 2; i++) {
		fd = agent_lock(path, why, sizeof(why));
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		close(fd);
		/* Without root the other process is this user, which may read the file. */
		if (!geteuid()) {
			pid = reader(&has);
			assert_false(has);
			fd = agent_lock(path, why, sizeof(why));
			assert_true(fd >= 0);
			close(fd);
			kill(pid, SIGKILL);
			assert_int_equal(waitpid(pid, NULL, 0), pid);
		}
		assert_int_equal(chmod(path, 0644), 0);
	}
}

static void test_nowhere(void **state)
{
	(void)state;
	assert_int_equal(agent_lock("/proc/none/agent.lock", why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "no lock at /proc/none/agent.lock: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_another_user),
		cmocka_unit_test(test_nowhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
