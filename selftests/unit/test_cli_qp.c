// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Which QPs qp show wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/cmd_qp.c"
#include "unit/cli_stubs.h"
#include "unit/cli_words.h"
#include "unit/snap_build.h"

static struct made scene;
static char shown[64];

static int read_scene(struct cli *cli, const struct io_want *want)
{
	(void)want;
	cli->snap = scene.s;
	return CLI_OK;
}

/* Leaves the QPNs of the list in shown[]. */
static int run(const char *line)
{
	struct cli cli = { .out.json = true };
	struct args args = cli_words(line);
	size_t size, len = 0;
	char *text;
	int err;

	stub_read = read_scene;
	cli.out.f = open_memstream(&text, &size);
	err = show_qps(&cli, &args);
	fclose(cli.out.f);
	shown[0] = '\0';
	for (const char *s = text; (s = strstr(s, "\"qpn\":")); s++)
		len += (size_t)snprintf(shown + len, sizeof(shown) - len, "%s%d", len ? " " : "",
					atoi(s + strlen("\"qpn\":")));
	free(text);
	return err;
}

/* QPs 17 and 18 of process 100, 19 of one in another pid namespace, a GSI. */
static int setup(void **state)
{
	struct snap_qp *gsi;

	(void)state;
	made_scene(&scene, 1000, 0);
	scene.owners[0].uid = 1000;
	strcpy(scene.owners[0].comm, "kv");
	strcpy(scene.owners[0].cgroup, "/kv/a");
	scene.owners[1].pid = 0;
	strcpy(scene.owners[2].kernel, "ib_core");
	scene.s.n_owners = 3;
	gsi = made_qp(&scene, 0, 1, 0);
	gsi->type = 1;
	gsi->owner = 2;
	gsi->has &= ~SNAP_UAR;
	return 0;
}

static void filters(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "", "17 18 19 1" }, { "pid 100", "17 18" },
		{ "pid 0", "19" }, { "pid 7", "" }, { "uid 1000", "17 18" },
		{ "uid 0", "19" }, { "comm kv", "17 18" },
		/* As the rules of jobs have it. */
		{ "comm ib_core", "1" }, { "comm ib_core uid 0", "" },
		{ "cgroup /kv*", "17 18" }, { "type gsi", "1" },
		{ "type RC state rts", "17 18 19" }, { "uar 2", "19" },
		{ "uar 0", "" }, { "port 1 pid 100 uar 1", "17 18" },
		{ "port 0", "" },
		/* greatest first, names by alphabet, what is absent at the end */
		{ "sort qpn", "19 18 17 1" }, { "sort uar", "19 17 18 1" },
		{ "sort comm top 2", "17 18" }, { "--sort=qpn --top=1", "19" },
		{ "top 2", "17 18" }, { "sort pid uar 1", "17 18" },
		{ "uar 2 sort qpn top 5", "19" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(run(cases[i].line), CLI_OK);
		if (strcmp(shown, cases[i].want))
			fail_msg("'%s': got '%s', wanted '%s'", cases[i].line,
				 shown, cases[i].want);
	}
}

static void bad_filters(void **state)
{
	static const char *const bad[] = {
		"pid", "pid -1", "pid x", "type XX", "state RTSS", "qpn 16777216",
		"colour red", "-j", "state averyveryverylongstate",
		"sort", "sort colour", "top", "top -1", "sort wr_rate",
		"comm", "comm averylongcommand",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(run(bad[i]), CLI_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(filters, setup),
		cmocka_unit_test_setup(bad_filters, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
