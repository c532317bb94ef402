// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Snapshots between the exporter's two processes, and recordings as a source. */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/record_rig.h"

#include "exporter/snap_copy.h"
#include "exporter/source.h"

static void through_a_socket(void **state)
{
	static struct made m;
	struct snapshot got = { 0 };
	int fd[2], turn;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	/* Twice, the second time with fewer of everything. */
	for (turn = 0; turn < 2; turn++) {
		made_scene(&m, 1000, 4711);
		made_job_report(&m, 1, 0, 3)->bucket[7] = 5;
		if (turn) {
			m.s.n_qps = 1;
			m.s.n_jobs = 2;
			m.s.n_job_reports = 0;
		}
		assert_int_equal(snap_send(fd[0], &m.s), 0);
		assert_int_equal(snap_receive(fd[1], &got), 0);
		same(&m.s, &got);
		assert_int_equal(got.n_owners, 2);
		assert_int_equal(got.owners[1].pid, 200);
		assert_int_equal(got.n_job_reports, !turn);
		if (!turn)
			assert_int_equal(got.job_reports[0].bucket[7], 5);
	}
	/* The sender ends in the middle. */
	assert_int_equal(send_bytes(fd[0], &m.s, sizeof(m.s)), 0);
	close(fd[0]);
	assert_int_equal(snap_receive(fd[1], &got), -EPIPE);
	assert_int_equal(send_bytes(fd[1], &m.s, sizeof(m.s)), -EPIPE);
	close(fd[1]);
	snapshot_free(&got);
}

/* Three readings, and an event after the first. */
static void write_recording(const char *path)
{
	FILE *f = fopen(path, "we");
	struct recorder *r;

	assert_non_null(f);
	r = recorder_open(f);
	assert_non_null(r);
	make_readings();
	for (int i = 0; i < 3; i++) {
		recorder_snapshot(r, &readings[i].s);
		if (!i)
			recorder_lost(r, readings[i].s.time, "too many");
	}
	finish(f, r);
}

static void recording(void **state)
{
	char path[] = "/tmp/test_source.XXXXXX";
	struct source s;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_recording(path);
	/* All at once: the last reading stays. */
	assert_int_equal(source_open_recording(&s, path, 0), 0);
	assert_int_equal(source_next(&s), SOURCE_NOTHING);
	assert_int_equal(source_ask(&s), 0);
	assert_int_equal(source_next(&s), SOURCE_READING);
	same(&s.snap, &readings[0].s);
	assert_int_equal(source_next(&s), SOURCE_EVENT);
	assert_int_equal(s.event.kind, SNAP_EVENT_LOST);
	assert_int_equal(source_next(&s), SOURCE_READING);
	assert_int_equal(source_next(&s), SOURCE_READING);
	same(&s.snap, &readings[2].s);
	assert_int_equal(source_next(&s), SOURCE_NOTHING);
	assert_true(s.ended);
	assert_int_equal(source_ask(&s), 0);
	assert_int_equal(source_next(&s), SOURCE_NOTHING);
	source_close(&s);
	/* As slow as never: only the first is due. */
	assert_int_equal(source_open_recording(&s, path, 1e-9), 0);
	assert_int_equal(source_ask(&s), 0);
	assert_int_equal(source_next(&s), SOURCE_READING);
	/* The event is of the same moment. */
	assert_int_equal(source_next(&s), SOURCE_EVENT);
	assert_int_equal(source_next(&s), SOURCE_NOTHING);
	assert_false(s.ended);
	source_close(&s);
	unlink(path);
}

static void cut_file(const char *path, long by)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - by), 0);
}

static void flip_bit(const char *path, long at)
{
	FILE *f = fopen(path, "r+e");
	int c;

	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	c = getc(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_true(putc(c ^ 0x10, f) != EOF);
	assert_int_equal(fclose(f), 0);
}

/* The source reports once that a recording ends early, after the records before that. */
static void damaged(void **state)
{
	char path[] = "/tmp/test_source.XXXXXX";
	unsigned long long at;
	struct source s;
	int fd = mkstemp(path), end = 0;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_recording(path);
	cut_file(path, 3);
	assert_int_equal(source_open_recording(&s, path, 0), 0);
	assert_int_equal(source_ask(&s), 0);
	assert_int_equal(source_next(&s), SOURCE_READING);
	assert_int_equal(source_next(&s), SOURCE_EVENT);
	assert_int_equal(source_next(&s), SOURCE_READING);
	assert_int_equal(source_next(&s), SOURCE_DAMAGED);
	assert_int_equal(sscanf(s.why, "byte %llu: the last record is cut off%n", &at, &end), 1);
	assert_true(end > 0);
	assert_true(s.ended);
	assert_int_equal(source_next(&s), SOURCE_NOTHING);
	assert_int_equal(source_ask(&s), 0);
	assert_int_equal(source_next(&s), SOURCE_NOTHING);
	source_close(&s);
	/* A damaged record in the middle. */
	write_recording(path);
	flip_bit(path, (long)at + 10);
	assert_int_equal(source_open_recording(&s, path, 0), 0);
	assert_int_equal(source_ask(&s), 0);
	for (int i = 0; i < 3; i++)
		assert_true(source_next(&s) > SOURCE_NOTHING);
	assert_int_equal(source_next(&s), SOURCE_DAMAGED);
	assert_non_null(strstr(s.why, ": a record is damaged"));
	source_close(&s);
	/* The first reading. */
	write_recording(path);
	flip_bit(path, 25);
	assert_int_equal(source_open_recording(&s, path, 0), -ENODATA);
	assert_string_equal(s.why, "byte 12: a record is damaged; no reading comes before it");
	source_close(&s);
	unlink(path);
}

static void not_a_recording(void **state)
{
	struct source s;

	(void)state;
	assert_int_equal(source_open_recording(&s, "/nowhere/rec", 0), -ENOENT);
	assert_string_equal(s.why, "No such file or directory");
	source_close(&s);
	assert_int_equal(source_open_recording(&s, "/proc/self/exe", 0), -EINVAL);
	assert_string_equal(s.why, "not a recording of swiftrdma record");
	source_close(&s);
}

/* A reader that is stopped does not hold up the end of the exporter. */
static void stopped_reader(void **state)
{
	struct source s;
	int status;

	(void)state;
	assert_int_equal(source_open_module(&s), 0);
	assert_int_equal(kill(s.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(s.pid, &status, WUNTRACED), s.pid);
	assert_true(WIFSTOPPED(status));
	alarm(60);
	source_close(&s);
	alarm(0);
	assert_int_equal(s.fd, -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(through_a_socket),
		cmocka_unit_test(recording),
		cmocka_unit_test(damaged),
		cmocka_unit_test(not_a_recording),
		cmocka_unit_test(stopped_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
