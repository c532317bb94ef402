// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Which machine a policy file is judged for, and what each of its devices makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "cli/policy_target.c"
#include "unit/snap_build.h"

static struct made m;
static int opened;		/* what io_open() returns */
static struct running agent;
static struct cli cli;
static char file[] = "/tmp/test_cli_policy.XXXXXX";

int io_open(struct io **io)
{
	*io = (struct io *)&m;
	return opened;
}

const char *io_error(const struct io *io)
{
	(void)io;
	return "the moon is full";
}

int io_snapshot(struct io *io, struct snapshot *snap, const struct io_want *want)
{
	(void)io;
	assert_true(want->devs && want->ports && !want->qps);
	*snap = m.s;
	return 0;
}

int cli_open(struct cli *c)
{
	return io_open(&c->io) < 0 ? CLI_ERROR : CLI_OK;
}

const struct running *cli_running(struct cli *c)
{
	(void)c;
	return &agent;
}

/* rxe0 counts work requests, and rxe1 misses of translations. */
static int setup(void **state)
{
	static const char text[] =
		"levels: [{level: 1, dscp: 8}]\n"
		"jobs: [{name: kv, class: latency, match: [{comm: kv}]}]\n"
		"policies:\n"
#define POLICY(name, when, undo)						\
		"- {name: " name ", for: job kv, when: " when ", do: job.level = 1, " \
		"undo: {when: " undo "}}\n"
		POLICY("any", "port.util > 80%", "port.util < 60%")
		POLICY("missing", "dev.mtt_miss > 10%", "dev.mtt_miss < 5%")
		POLICY("posting", "qp.wr_rate > 10/s", "qp.wr_rate < 5/s")
		POLICY("both", "dev.mtt_miss > 10% and qp.wr_rate > 10/s", "dev.mtt_miss < 5%")
		POLICY("none", "dev.db_congestion > 2/s", "dev.db_congestion < 1/s");
	FILE *f = fdopen(mkstemp(strcpy(file, "/tmp/test_cli_policy.XXXXXX")), "w");

	(void)state;
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	made_init(&m, 100);
	made_dev(&m, 0)->caps = SWIFTRDMA_DEV_CAP_WRS;
	made_dev(&m, 1)->has = SNAP_MTT;
	made_port(&m, 0, 1);
	made_port(&m, 1, 1);
	memset(&cli, 0, sizeof(cli));
	memset(&agent, 0, sizeof(agent));
	opened = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(file);
}

static int where(struct policy_target *w, const char **job, ...)
{
	char *words[8] = { file };
	struct args args = { words, 1 };
	va_list ap;

	va_start(ap, job);
	while ((words[args.n] = va_arg(ap, char *)))
		args.n++;
	va_end(ap);
	return policy_target(&cli, &args, w, job);
}

static void test_words(void **state)
{
	struct policy_target w;
	const char *job;

	(void)state;
	assert_int_equal(where(&w, &job, "kv", "on", "anywhere", NULL), CLI_OK);
	assert_string_equal(job, "kv");
	assert_true(w.caps.signals == ~0ULL);
	assert_int_equal(where(&w, &job, "on", "anywhere", "job", "kv", NULL), CLI_OK);
	assert_string_equal(job, "kv");
	assert_int_equal(where(&w, &job, "on", "rxe1", NULL), CLI_OK);
	assert_null(job);
	assert_string_equal(w.only->name, "rxe1");
	assert_int_equal(where(&w, &job, "kv", "web", NULL), CLI_USAGE);
	assert_int_equal(where(&w, NULL, "kv", NULL), CLI_USAGE);
	assert_int_equal(where(&w, &job, "on", NULL), CLI_USAGE);
	assert_int_equal(where(&w, &job, "on", "rxe1", "on", "rxe0", NULL), CLI_USAGE);
	assert_int_equal(where(&w, &job, "on", "rxe7", NULL), CLI_ERROR);
}

static void test_machine(void **state)
{
	struct policy_target w;

	(void)state;
	assert_int_equal(where(&w, NULL, NULL), CLI_OK);
	assert_string_equal(w.text, "this machine's rxe0, rxe1; no agent runs here, so no policy is in effect");
	/* The library alone tells p99; work requests, one of the devices does. */
	assert_true(w.caps.library & 1ULL << SIG_JOB_P99);
	assert_false(w.caps.library & 1ULL << SIG_JOB_WR_RATE);
	assert_int_equal(where(&w, NULL, "on", "rxe1", NULL), CLI_OK);
	assert_true(w.caps.library & 1ULL << SIG_JOB_WR_RATE);
	agent.pid = 17;
	strcpy(agent.file, "/etc/x.yaml");
	assert_int_equal(where(&w, NULL, "on", "here", NULL), CLI_OK);
	assert_string_equal(w.text, "this machine's rxe0, rxe1; the agent (pid 17) runs /etc/x.yaml");
	m.s.n_devs = 0;
	assert_int_equal(where(&w, NULL, NULL), CLI_OK);
	assert_null(w.snap);
	assert_non_null(strstr(w.text, "which is assumed, for this machine has no RDMA device"));
	cli.io = NULL;
	opened = -ENOENT;
	assert_int_equal(where(&w, NULL, NULL), CLI_OK);
	assert_non_null(strstr(w.text, "this machine has no swiftrdma module loaded"));
	cli.io = NULL;
	opened = -EPERM;
	assert_int_equal(where(&w, NULL, NULL), CLI_OK);
	assert_non_null(strstr(w.text, "the moon is full"));
}

#define NO_MTT "nothing measures dev.mtt_miss here (swiftrdma_mlx5.ko does, for a ConnectX whose firmware counts it), and there is no 'fallback:' that works without it"

static void test_devices(void **state)
{
	static const struct {
		const char *off, *note;
	} want[] = {
		{ "", "" },
		{ "", "not on rxe0: " NO_MTT },
		{ "", "not on rxe1: nothing measures qp.wr_rate here (swiftrdma_mlx5.ko does, for a ConnectX), and there is no 'fallback:' that works without it" },
		/* What one measures does not help the other. */
		{ "nothing measures qp.wr_rate here (swiftrdma_mlx5.ko does, for a ConnectX), and there is no 'fallback:' that works without it", "" },
		{ "nothing measures dev.db_congestion here (swiftrdma_mlx5.ko does, for a ConnectX whose firmware counts it), and there is no 'fallback:' that works without it", "" },
	};
	char (*notes)[POLICY_NOTE];
	struct policy_target w;
	struct config cfg;

	(void)state;
	assert_int_equal(where(&w, NULL, NULL), CLI_OK);
	assert_int_equal(policy_judge(&cfg, &w, false, &notes), CLI_OK);
	assert_int_equal(cfg.policies.n, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(cfg.texts[i].off, want[i].off);
		assert_string_equal(notes[i], want[i].note);
	}
	free(notes);
	config_free(&cfg);
	/* Of one alone. */
	assert_int_equal(where(&w, NULL, "on", "rxe0", NULL), CLI_OK);
	assert_int_equal(policy_judge(&cfg, &w, false, &notes), CLI_OK);
	assert_string_equal(cfg.texts[1].off, NO_MTT);
	assert_string_equal(cfg.texts[2].off, "");
	assert_string_equal(notes[1], "");
	free(notes);
	config_free(&cfg);
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = { T(test_words), T(test_machine), T(test_devices) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
