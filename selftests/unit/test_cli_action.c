// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What action set says of results, and of those that it does not get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "cli/action_set.c"
#include "unit/cli_stubs.h"
#include "unit/cli_words.h"
#include "unit/fake_io.c"

static char *text, *said;	/* on stdout: events; on stderr */
static bool json;

static int read_scene(struct cli *cli, const struct io_want *want)
{
	return io_open(&cli->io) || io_snapshot(cli->io, &cli->snap, want) < 0 ?
	       CLI_ERROR : CLI_OK;
}

static int set(const char *line)
{
	struct cli cli = { .out.json = json };
	struct args args = cli_words(line);
	FILE *was = stderr;
	size_t size;
	int ret;

	free(text);
	free(said);
	cli.out.f = open_memstream(&text, &size);
	stderr = open_memstream(&said, &size);
	ret = act_set(&cli, &args);
	fclose(stderr);
	stderr = was;
	cli_end(&cli);
	return ret;
}

static int setup(void **state)
{
	(void)state;
	fake_reset();
	stub_read = read_scene;
	json = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	free(said);
	text = said = NULL;
	fake_reset();
	return 0;
}

static void send_result(void (*cb)(const struct snap_event *, void *), void *arg, int32_t error)
{
	struct snap_action a = { .knob = SWIFTRDMA_KNOB_LEVEL, .job = "kv", .error = error };
	struct snap_event e = {
		.kind = SNAP_EVENT_ACTION, .batch = fake.last_batch, .action = &a,
	};

	cb(&e, arg);
}

static int all_done(void (*cb)(const struct snap_event *, void *), void *arg)
{
	send_result(cb, arg, 0);
	return 1;
}

static int one_failed(void (*cb)(const struct snap_event *, void *), void *arg)
{
	send_result(cb, arg, -EINVAL);
	return 1;
}

static int lost(void (*cb)(const struct snap_event *, void *), void *arg)
{
	cb(&(struct snap_event){ .kind = SNAP_EVENT_LOST, .why = "the module was unloaded" }, arg);
	return 1;
}

static int failed_and_lost(void (*cb)(const struct snap_event *, void *), void *arg)
{
	send_result(cb, arg, -EINVAL);
	return lost(cb, arg);
}

static int nothing(void (*cb)(const struct snap_event *, void *), void *arg)
{
	(void)cb;
	(void)arg;
	usleep(10000);
	return 0;
}

static int refused(void (*cb)(const struct snap_event *, void *), void *arg)
{
	(void)cb;
	(void)arg;
	return -EIO;
}

static void known(void **state)
{
	(void)state;
	fake.events = all_done;
	assert_int_equal(set("job kv level 3 and job bulk level 1"), CLI_OK);
	assert_string_equal(said, "");
	assert_non_null(strstr(text, "done"));
	fake.events = one_failed;
	assert_int_equal(set("job kv level 3"), CLI_ERROR);
	assert_string_equal(said, "");
}

#define THEY_ARE "swiftrdma action show has them\n"

/* Where the kernel has no events, changes are made all the same. */
static void without_events(void **state)
{
	(void)state;
	fake.events_error = -EOPNOTSUPP;
	assert_int_equal(set("job kv level 3"), CLI_OK);
	assert_int_equal(fake.acts, 1);
	assert_string_equal(said, "swiftrdma: results of 1 change are not known, the fake says no: "
			    THEY_ARE);
	json = true;
	assert_int_equal(set("job kv level 3"), CLI_OK);
	assert_non_null(strstr(said, THEY_ARE));
}

static void lost_events(void **state)
{
	(void)state;
	fake.events = lost;
	assert_int_equal(set("job kv level 3 and job bulk level 1"), CLI_OK);
	assert_string_equal(said,
			    "swiftrdma: results of 2 changes are not known, the module was unloaded: "
			    THEY_ARE);
	json = true;
	assert_int_equal(set("job kv level 3"), CLI_OK);
	assert_non_null(strstr(said, THEY_ARE));
	/* What is known to have failed has failed. */
	fake.events = failed_and_lost;
	assert_int_equal(set("job kv level 3 and job bulk level 1"), CLI_ERROR);
	assert_non_null(strstr(said, "results of 1 change are not known"));
	fake.events = refused;
	assert_int_equal(set("job kv level 3"), CLI_ERROR);
	assert_non_null(strstr(said, THEY_ARE));
}

static void late_results(void **state)
{
	(void)state;
	fake.events = nothing;
	json = true;
	assert_int_equal(set("job kv level 3"), CLI_OK);
	assert_string_equal(said, "swiftrdma: results of 1 change are not known, they take longer: "
			    THEY_ARE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(known), TEST(without_events), TEST(lost_events), TEST(late_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
