// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What an agent says it runs by, and who believes it. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/cli.h"
#include "policy/running.h"

#define POLICIES							\
	"ports:\n"							\
	"- {dev: rxe0, speed: 20Mbit/s}\n"				\
	"- {dev: \"it's\", port: 2, speed: 12345bit/s}\n"		\
	"jobs:\n"							\
	"- {name: kv, class: latency, match: [{uid: 5}], slo: {p99: 12345ns}}\n"	\
	"- {name: web, class: balanced, match: [{uid: 6}], slo: {p99: 1ms, byte_rate: 3Gbit/s}}\n" \
	"criteria: {port_busy: 70%, queue_delay: 7us, mine: 33/s}\n"

static char dir[64], run_file[96], policy_file[96];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/running.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(run_file, sizeof(run_file), "%s/agent.yaml", dir);
	snprintf(policy_file, sizeof(policy_file), "%s/policy.yaml", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(run_file);
	unlink(policy_file);
	return rmdir(dir);
}

static void load(struct config *cfg, const char *text)
{
	struct diag rep;

	diag_init(&rep, "f");
	if (!config_load_text(cfg, text, strlen(text), &rep)) {
		diag_print(&rep, stderr);
		fail();
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void write_running(const char *text, const char *file, uint32_t pid)
{
	struct config cfg;
	FILE *f = fopen(run_file, "we");

	assert_non_null(f);
	load(&cfg, text);
	assert_true(running_write(f, file, pid, &cfg));
	fclose(f);
	config_free(&cfg);
}

static void has_speeds(const struct config *cfg)
{
	assert_int_equal(cfg->n_speeds, 2);
	assert_string_equal(cfg->speeds[0].dev, "rxe0");
	assert_int_equal(cfg->speeds[0].port, 1);
	assert_int_equal(cfg->speeds[0].speed, 20000000);
	assert_string_equal(cfg->speeds[1].dev, "it's");
	assert_int_equal(cfg->speeds[1].port, 2);
	assert_int_equal(cfg->speeds[1].speed, 12345);
}

/* All criteria, those of the file's own too, and all speeds, to the bit. */
static void test_round_trip(void **state)
{
	struct config cfg;
	struct running r;
	char *text;
	size_t len, i;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	load(&cfg, POLICIES);
	assert_true(running_write(f, "/a b/it's: #1.yaml", 212, &cfg));
	fclose(f);
	assert_true(running_read(&r, text, len));
	assert_string_equal(r.file, "/a b/it's: #1.yaml");
	assert_int_equal(r.pid, 212);
	has_speeds(&r.cfg);
	assert_int_equal(r.cfg.n_slos, 2);
	assert_string_equal(r.cfg.slos[0].job, "kv");
	assert_int_equal(r.cfg.slos[0].p99, 12345);
	assert_true(r.cfg.slos[0].byte_rate == 0);
	assert_string_equal(r.cfg.slos[1].job, "web");
	assert_int_equal(r.cfg.slos[1].p99, 1000000);
	assert_true(r.cfg.slos[1].byte_rate == 3e9);
	assert_int_equal(r.cfg.criteria.n, cfg.criteria.n);
	for (i = 0; i < cfg.criteria.n; i++) {
		assert_string_equal(r.cfg.criteria.v[i].name, cfg.criteria.v[i].name);
		assert_int_equal(r.cfg.criteria.v[i].unit, cfg.criteria.v[i].unit);
		assert_true(r.cfg.criteria.v[i].v == cfg.criteria.v[i].v);
	}
	running_free(&r);
	config_free(&cfg);
	free(text);
}

static void test_not_one(void **state)
{
	static const char *const texts[] = {
		"", "file: x\n", "pid: 1\n", "file: x\npid: 0\n",
		"file: x\npid: 1\nports: [{dev: rxe0}]\n",
		"file: x\npid: 1\nslos: [{job: kv}]\n",
		"file: x\npid: 1\nslos: [{job: kv, slo: {}}]\n",
		"file: x\npid: 1\njobs: []\n", "file: [\n",
	};
	struct running r;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (running_read(&r, texts[i], strlen(texts[i])))
			fail_msg("believed: %s", texts[i]);
}

/* Only while its agent lives, who has it locked. */
static void test_alive(void **state)
{
	struct cli cli = { .run_file = run_file, .policy_file = policy_file };
	int fd;

	(void)state;
	write_running(POLICIES, "/p.yaml", 212);
	assert_int_equal(cli_running(&cli)->pid, 0);
	assert_int_equal(cli_signal_opts(&cli).n_speeds, 0);
	assert_true(cli_criterion(&cli, "port_busy") == 0.8);
	/* Looked up once an interval. */
	fd = open(run_file, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(cli_running(&cli)->pid, 0);
	cli_turn(&cli);
	assert_int_equal(cli_running(&cli)->pid, 212);
	assert_string_equal(cli_running(&cli)->file, "/p.yaml");
	has_speeds(&cli.running.cfg);
	assert_true(cli_criterion(&cli, "port_busy") == 0.7);
	close(fd);
	cli_turn(&cli);
	assert_int_equal(cli_running(&cli)->pid, 0);
	assert_int_equal(cli_signal_opts(&cli).n_speeds, 0);
	running_free(&cli.running);
}

/* Without an agent: what one would run by, if that can be read. */
static void test_default(void **state)
{
	struct cli cli = { .run_file = run_file, .policy_file = policy_file };

	(void)state;
	write_file(policy_file, POLICIES);
	assert_int_equal(cli_running(&cli)->pid, 0);
	assert_string_equal(cli_running(&cli)->file, policy_file);
	has_speeds(&cli.running.cfg);
	write_file(policy_file, "ports: 5\n");
	cli_turn(&cli);
	assert_string_equal(cli_running(&cli)->file, "");
	assert_true(cli_criterion(&cli, "port_busy") == 0.8);
	assert_int_equal(cli_signal_opts(&cli).n_speeds, 0);
	running_free(&cli.running);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip), TEST(test_not_one), TEST(test_alive),
		TEST(test_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
