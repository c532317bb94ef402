// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What swiftrdma record keeps of a made-up kernel, and what a replay shows of it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit/fake_io.c"

#include "cli/cli.h"
#include "cli/cmd_policy.h"
#include "io/recording.h"

static char file[] = "/tmp/record.XXXXXX";
static struct cli cli;
static struct snap_qp qp;
static struct snap_owner owner;

static int setup(void **state)
{
	int fd;

	(void)state;
	/* not of this test */
	(void)fake_disarm;
	fake_reset();
	memset(&cli, 0, sizeof(cli));
	cli.interval_ms = 1;
	cli.out.f = stdout;
	signals_init(&cli.sig);
	strcpy(file + sizeof(file) - 7, "XXXXXX");
	fd = mkstemp(file);
	if (fd < 0)
		return -1;
	close(fd);
	qp = (struct snap_qp){ .has = SNAP_OWNER, .qpn = 20, .serial = 20, .job = 1 };
	owner = (struct snap_owner){ .pid = 300, .comm = "kv" };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(file);
	snapshot_free(&cli.snap);
	signals_free(&cli.sig);
	io_close(cli.io);
	fake_reset();
	return 0;
}

static int record(const char *count)
{
	char *words[] = { file, "count", (char *)count };
	struct args args = { words, 3 };

	return noun_record.verbs[0].run(&cli, &args);
}

static void created(void)
{
	fake.event = (struct snap_event){
		.kind = SNAP_EVENT_QP_CREATED, .qp = &qp, .owner = &owner,
	};
	fake.events_due = 1;
}

static struct player *play(FILE **f)
{
	struct player *p;

	*f = fopen(file, "r");
	assert_non_null(*f);
	assert_int_equal(player_open(&p, *f, NULL), 0);
	return p;
}

static void test_events(void **state)
{
	static const int want[] = {
		PLAYER_READING, PLAYER_EVENT, PLAYER_READING, PLAYER_END,
	};
	const struct snap_event *e;
	struct player *p;
	uint64_t offset;
	size_t i;
	FILE *f;

	(void)state;
	created();
	assert_int_equal(record("2"), CLI_OK);
	assert_null(fake.recorder);
	p = play(&f);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(player_next(p), want[i]);
		if (want[i] != PLAYER_EVENT)
			continue;
		e = player_event(p);
		assert_int_equal(e->kind, SNAP_EVENT_QP_CREATED);
		assert_int_equal(e->qp->qpn, 20);
		assert_int_equal(e->owner->pid, 300);
		assert_true(player_time(p) > 0);
	}
	assert_null(player_problem(p, &offset));
	player_close(p);
	fclose(f);
}

/* One who may not listen records figures, and that there were no events. */
static void test_unprivileged(void **state)
{
	struct player *p;
	FILE *f;

	(void)state;
	fake.events_error = -EPERM;
	created();
	assert_int_equal(record("1"), CLI_OK);
	assert_int_equal(fake.events_due, 1);
	p = play(&f);
	assert_int_equal(player_next(p), PLAYER_EVENT);
	assert_int_equal(player_event(p)->kind, SNAP_EVENT_LOST);
	assert_string_equal(player_event(p)->why, "the fake says no");
	assert_int_equal(player_next(p), PLAYER_READING);
	assert_int_equal(player_next(p), PLAYER_END);
	player_close(p);
	fclose(f);
	fake.events_error = -EIO;
	assert_int_equal(record("1"), CLI_ERROR);
}

/* A replay of what is recorded then. */
static char *replay(bool json)
{
	size_t len;
	char *text;

	assert_int_equal(record("2"), CLI_OK);
	cli.out.json = json;
	cli.out.f = open_memstream(&text, &len);
	assert_non_null(cli.out.f);
	assert_int_equal(policy_replay(&cli, TOP "/user/policies/port.yaml", file, 0), CLI_OK);
	fclose(cli.out.f);
	return text;
}

/* The text of a replay, on stdout in part. */
static char *replay_text(void)
{
	static char text[8192];
	int out = dup(STDOUT_FILENO), to[2];
	ssize_t n;

	fflush(stdout);
	assert_int_equal(pipe(to), 0);
	dup2(to[1], STDOUT_FILENO);
	free(replay(false));
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(to[1]);
	n = read(to[0], text, sizeof(text) - 1);
	close(to[0]);
	assert_true(n > 0);
	text[n] = '\0';
	return text;
}

/* Nobody's QP is not somebody else's. */
static void test_no_owner(void **state)
{
	char *text;

	(void)state;
	created();
	fake.event.owner = NULL;
	text = replay(true);
	assert_non_null(strstr(text, "\"qpn\":20,"));
	assert_null(strstr(text, "\"pid\":"));
	free(text);
}

/* With the names that the reading before it has, in a list with the decisions. */
static void test_replay(void **state)
{
	char *text;

	(void)state;
	created();
	text = replay(true);
	assert_non_null(strstr(text, "\"events\":[{\"event\":\"created\",\"seconds\":"));
	assert_non_null(strstr(text, "\"dev\":\"rxe0\",\"qpn\":20,"));
	assert_non_null(strstr(text, "\"job\":\"kv\",\"pid\":300,"));
	assert_non_null(strstr(text, "\"recorded_events\":1,\"lost_events\":false"));
	free(text);
}

/* All that there are by the end, not a turn's worth of them. */
static void test_many(void **state)
{
	char *text;

	(void)state;
	created();
	fake.events_due = 100;
	text = replay(true);
	assert_int_equal(fake.events_due, 0);
	assert_non_null(strstr(text, "\"recorded_events\":100,"));
	free(text);
}

/* Whatever a file says of a job's name, a terminal does not obey it. */
static void test_name(void **state)
{
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .value = 3, .has_value = true,
		.job = "\033[31mkv", .lease_id = 1, .in_force = true,
	};
	const char *text;

	(void)state;
	fake.event = (struct snap_event){ .kind = SNAP_EVENT_ACTION, .action = &a };
	fake.events_due = 1;
	text = replay_text();
	assert_non_null(strstr(text, "done:  job ?[31mkv: level 3"));
	assert_null(strchr(text, '\033'));
}

/* Between two readings the kernel looked into the send queues. */
static int look(void (*cb)(const struct snap_event *, void *), void *arg)
{
	(void)cb;
	(void)arg;
	if (!fake.events_due)
		return 0;
	fake.events_due--;
	fake_pass(100, 0);
	for (size_t i = 0; i < fake.scene.s.n_qps; i++) {
		struct snap_qp *q = &fake.scene.qps[i];

		q->wrs += 50;
		q->outstanding_samples += 100;
		q->outstanding_sum += 200;
		q->outstanding_squares += 400;
	}
	return 1;
}

/* Latencies without the library are latencies, too. */
static void test_latencies(void **state)
{
	(void)state;
	assert_non_null(strstr(replay_text(), "latencies: this recording has none, neither p99 nor queue delay: no process had libswiftrdma, and the kernel measured none"));
	fake.scene.devs[0].caps = SWIFTRDMA_DEV_CAP_WRS | SWIFTRDMA_DEV_CAP_WQEBBS;
	for (size_t i = 0; i < fake.scene.s.n_qps; i++)
		fake.scene.qps[i].has |= SNAP_LOOKS;
	fake.events = look;
	fake.events_due = 1;
	assert_null(strstr(replay_text(), "this recording has none"));
	assert_int_equal(fake.events_due, 0);
}

/* The file takes its head and no reading. One message names the file and the error. */
static void test_full_disk(void **state)
{
	FILE *was_stderr = stderr;
	struct rlimit was, limit;
	char want[128], *said;
	size_t size;
	int status;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = was;
	limit.rlim_cur = 16;
	stderr = open_memstream(&said, &size);
	setrlimit(RLIMIT_FSIZE, &limit);
	status = record("1");
	setrlimit(RLIMIT_FSIZE, &was);
	fclose(stderr);
	stderr = was_stderr;
	assert_int_equal(status, CLI_ERROR);
	snprintf(want, sizeof(want), "swiftrdma: %s: File too large\n0 readings, 0 events\n", file);
	assert_string_equal(said, want);
	free(said);
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_events), T(test_unprivileged), T(test_replay),
		T(test_no_owner), T(test_many), T(test_name), T(test_latencies),
		T(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
