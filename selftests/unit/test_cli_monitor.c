// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What swiftrdma monitor shows where events were lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "unit/fake_io.c"

#include "cli/cmd_monitor.c"

static struct cli cli;
static int turn;

static int setup(void **state)
{
	(void)state;
	/* not of this test */
	(void)fake_disarm;
	(void)fake_pass;
	fake_reset();
	memset(&cli, 0, sizeof(cli));
	cli.out.json = true;
	turn = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	snapshot_free(&cli.snap);
	io_close(cli.io);
	fake_reset();
	return 0;
}

/* What it prints of @kind while @events happens, which ends with an error. */
static char *monitor(const char *kind,
		     int (*events)(void (*cb)(const struct snap_event *, void *),
				   void *arg))
{
	char *words[] = { (char *)kind };
	struct args args = { words, 1 };
	size_t len;
	char *text;

	fake.events = events;
	cli.out.f = open_memstream(&text, &len);
	assert_non_null(cli.out.f);
	assert_int_equal(noun_monitor.verbs[0].run(&cli, &args), CLI_ERROR);
	fclose(cli.out.f);
	return text;
}

static void happens(void (*cb)(const struct snap_event *, void *), void *arg,
		    enum snap_event_kind kind, uint32_t qpn)
{
	struct snap_owner owner = { .pid = 300, .comm = "kv" };
	struct snap_qp qp = { .has = SNAP_OWNER, .qpn = qpn, .serial = qpn,
			      .job = 1 };
	struct snap_event e = { .kind = kind, .qp = &qp, .owner = &owner };

	if (kind == SNAP_EVENT_LOST)
		e = (struct snap_event){ .kind = kind, .why = "so" };
	cb(&e, arg);
}

static void go(size_t i)
{
	struct snapshot *s = &fake.scene.s;

	memmove(&s->qps[i], &s->qps[i + 1],
		(--s->n_qps - i) * sizeof(*s->qps));
}

/* The beginning of a line; what follows is not of this test. */
static void line(char **at, const char *want)
{
	if (strncmp(*at, want, strlen(want)))
		fail_msg("not '%s' but\n%s", want, *at);
	*at = strchr(*at, '\n') + 1;
}

static int lossy(void (*cb)(const struct snap_event *, void *), void *arg)
{
	switch (turn++) {
	case 0:
		happens(cb, arg, SNAP_EVENT_QP_CREATED, 20);
		made_qp(&fake.scene, 0, 20, 1)->owner = 0;
		return 1;
	case 1:
		/* QP 17 went and QP 21 came; both of it was lost. */
		happens(cb, arg, SNAP_EVENT_LOST, 0);
		go(0);
		made_qp(&fake.scene, 0, 21, 1)->owner = 1;
		return 1;
	case 2:
		/* From before that; its end was lost as well. */
		happens(cb, arg, SNAP_EVENT_QP_CREATED, 22);
		return 1;
	case 3:
		return 0;
	case 4:
		/* Between that reading and the end of the loss. */
		happens(cb, arg, SNAP_EVENT_QP_CREATED, 21);
		happens(cb, arg, SNAP_EVENT_QP_DESTROYED, 17);
		happens(cb, arg, SNAP_EVENT_QP_DESTROYED, 21);
		go(3);
		return 3;
	case 5:
		happens(cb, arg, SNAP_EVENT_LOST, 0);
		return 1;
	case 6:
		return 0;
	}
	return -EIO;
}

static void test_loss(void **state)
{
	char *text = monitor("qp", lossy), *at = text;

	(void)state;
	line(&at, "{\"event\":\"created\",\"dev\":\"rxe0\",\"qpn\":20,");
	line(&at, "{\"event\":\"created\",\"dev\":\"rxe0\",\"qpn\":22,");
	line(&at, "{\"event\":\"lost\",\"reason\":\"so\",\"created\":1,\"destroyed\":2}\n");
	line(&at, "{\"event\":\"destroyed\",\"dev\":\"rxe0\",\"qpn\":17,\"id\":17}\n");
	assert_non_null(strstr(at, "\"job\":\"kv\",\"pid\":200,"));
	line(&at, "{\"event\":\"created\",\"dev\":\"rxe0\",\"port\":1,\"qpn\":21,\"id\":21,");
	line(&at, "{\"event\":\"destroyed\",\"dev\":\"rxe0\",\"qpn\":22,\"id\":22}\n");
	line(&at, "{\"event\":\"destroyed\",\"dev\":\"rxe0\",\"qpn\":21,");
	line(&at, "{\"event\":\"lost\",\"reason\":\"so\",\"created\":0,\"destroyed\":0}\n");
	assert_string_equal(at, "");
	free(text);
}

static int last_job;

static void of_job(void (*cb)(const struct snap_event *, void *), void *arg, uint32_t job)
{
	struct snap_qp qp = { .qpn = 30, .serial = 30, .job = job };
	struct snap_event e = { .kind = SNAP_EVENT_QP_CREATED, .qp = &qp };

	cb(&e, arg);
}

/* Jobs that come after the monitor, or are gone before it could ask. */
static int new_jobs(void (*cb)(const struct snap_event *, void *), void *arg)
{
	switch (turn++) {
	case 0:
		made_job(&fake.scene, 7, "late", 1);
		of_job(cb, arg, 7);
		of_job(cb, arg, 7);
		return 2;
	case 1:
		last_job = (int)fake.snapshots;
		for (uint32_t i = 0; i < 50; i++)
			of_job(cb, arg, 9 + i % 4);
		last_job = (int)fake.snapshots - last_job;
		return 50;
	}
	return -EIO;
}

static void test_names(void **state)
{
	char *text = monitor("qp", new_jobs), *at = text;

	(void)state;
	for (int i = 0; i < 52; i++) {
		char want[128];

		snprintf(want, sizeof(want), i < 2 ? "\"job\":\"late\"" : "\"job\":\"#%d\"", 9 + (i - 2) % 4);
		*strchr(at, '\n') = '\0';
		if (!strstr(at, want))
			fail_msg("not %s but %s", want, at);
		at += strlen(at) + 1;
	}
	/* One reading for each that is unknown, not for each event. */
	assert_int_equal(last_job, 4);
	free(text);
}

/* Who did not ask for QPs hears of none, but of the loss. */
static void test_other_kinds(void **state)
{
	char *text = monitor("lease", lossy), *at = text;

	(void)state;
	line(&at, "{\"event\":\"lost\",\"reason\":\"so\"}\n");
	line(&at, "{\"event\":\"lost\",\"reason\":\"so\"}\n");
	assert_string_equal(at, "");
	free(text);
}

static int reloading(void (*cb)(const struct snap_event *, void *), void *arg)
{
	switch (turn++) {
	case 0:
		fake.loaded = false;
		happens(cb, arg, SNAP_EVENT_LOST, 0);
		return 1;
	case 1:
		return 0;
	case 2:
		/* Another module: its QPs are none of those that were known. */
		fake.loaded = true;
		fake.scene.jobs[0].since = 500;
		happens(cb, arg, SNAP_EVENT_LOST, 0);
		return 1;
	case 3:
		fake.scene.qps[0].serial = 99;
		return 0;
	case 4:
		happens(cb, arg, SNAP_EVENT_LOST, 0);
		return 1;
	case 5:
		return 0;
	}
	return -EIO;
}

static void test_reload(void **state)
{
	char *text = monitor("qp", reloading), *at = text;

	(void)state;
	line(&at, "{\"event\":\"lost\",\"reason\":\"so\"}\n");
	line(&at, "{\"event\":\"lost\",\"reason\":\"so\"}\n");
	line(&at, "{\"event\":\"lost\",\"reason\":\"so\",\"created\":0,\"destroyed\":0}\n");
	assert_string_equal(at, "");
	free(text);
}

/* One that never falls silent is read again all the same. */
static int busy(void (*cb)(const struct snap_event *, void *), void *arg)
{
	if (turn++ == 300)
		return -EIO;
	happens(cb, arg, turn == 1 ? SNAP_EVENT_LOST : SNAP_EVENT_CONGESTION, 0);
	return 1;
}

static void test_busy(void **state)
{
	char *text = monitor("qp", busy), *at = text;

	(void)state;
	line(&at, "{\"event\":\"lost\",\"reason\":\"so\",\"created\":0,\"destroyed\":0}\n");
	assert_string_equal(at, "");
	free(text);
}

/* Many that come and go leave nothing behind. */
static void test_churn(void **state)
{
	struct qp_keys known = { 0 }, found = { 0 };
	struct snap_qp qp = { .dev = 1 };
	uint32_t i;

	(void)state;
	assert_true(qp_keys_take(&known, &fake.scene.s));
	for (i = 0; i < 100000; i++) {
		qp.qpn = i % 1000;
		qp.serial = 100 + i;
		assert_true(qp_keys_add(&known, &qp, false));
		assert_true(qp_keys_add(&known, &qp, true));
	}
	assert_true(known.cap <= 512);
	assert_true(qp_keys_compare(&found, &known, &fake.scene.s));
	assert_int_equal(found.n, 0);
	assert_false(qp_keys_has(&found, &qp, true));
	qp_keys_free(&known);
	qp_keys_free(&found);
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_loss), T(test_names), T(test_other_kinds), T(test_reload), T(test_busy),
		T(test_churn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
