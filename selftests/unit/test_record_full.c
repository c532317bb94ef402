// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma record when its file takes no more bytes: the message names the file and the error. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/fake_io.c"

#include "cli/cli.h"

/* The file has room for its head, and not for a reading. */
#define ROOM	16

static char file[] = "/tmp/record_full.XXXXXX";

/* Runs the command with stderr in a pipe. Returns its status; @said has what it printed. */
static int record(char *said, size_t cap)
{
	char *words[] = { file, "count", "1" };
	struct args args = { words, 3 };
	struct cli cli = { .interval_ms = 1, .out.f = stdout };
	int err = dup(STDERR_FILENO), to[2], status;
	ssize_t n;

	signals_init(&cli.sig);
	assert_int_equal(pipe(to), 0);
	fflush(stderr);
	dup2(to[1], STDERR_FILENO);
	status = noun_record.verbs[0].run(&cli, &args);
	fflush(stderr);
	dup2(err, STDERR_FILENO);
	close(err);
	close(to[1]);
	n = read(to[0], said, cap - 1);
	close(to[0]);
	said[n > 0 ? n : 0] = '\0';
	snapshot_free(&cli.snap);
	signals_free(&cli.sig);
	io_close(cli.io);
	return status;
}

static void test_full(void **state)
{
	struct rlimit was, limit;
	char said[1024], want[128];
	int fd, status;

	(void)state;
	/* not of this test */
	(void)fake_disarm;
	fake_reset();
	fd = mkstemp(file);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = was;
	limit.rlim_cur = ROOM;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	status = record(said, sizeof(said));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	unlink(file);
	fake_reset();
	assert_int_equal(status, CLI_ERROR);
	snprintf(want, sizeof(want), "%s: File too large\n", file);
	if (!strstr(said, want))
		print_error("got: %s\n", said);
	assert_non_null(strstr(said, want));
	/* One message for one fault. */
	assert_null(strstr(strstr(said, want) + strlen(want), file));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
