// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What qp audit says of made-up QPs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/qp_audit.c"
#include "unit/cli_stubs.h"
#include "unit/cli_words.h"
#include "unit/snap_build.h"

static struct made m;
static char *text;
static bool json;

static int read_scene(struct cli *cli, const struct io_want *want)
{
	/* The kernel is asked for all QPs: the peer may be anybody's. */
	assert_null(want->job);
	assert_null(want->dev);
	cli->snap = m.s;
	return CLI_OK;
}

int io_levels(struct io *io, struct io_level *levels, size_t cap)
{
	(void)io;
	for (uint32_t i = 0; i < cap; i++)
		levels[i] = (struct io_level){ i, 8 * i, i, true, true };
	return (int)cap;
}

int io_addresses(const struct snapshot *snap, struct pair_addr **addrs,
		 size_t *n)
{
	(void)snap;
	*addrs = calloc(2, sizeof(**addrs));
	*n = 2;
	for (uint32_t i = 0; i < 2; i++) {
		(*addrs)[i].dev = i;
		(*addrs)[i].gid[0] = 1;
		(*addrs)[i].gid[15] = (uint8_t)i;
	}
	return 0;
}

static int run_audit(const char *line)
{
	struct cli cli = { .out = { .json = json } };
	struct args args = cli_words(line);
	size_t size;
	int err;

	free(text);
	text = NULL;
	stub_read = read_scene;
	cli.out.f = open_memstream(&text, &size);
	err = qp_audit(&cli, &args);
	fclose(cli.out.f);
	return err;
}

static void says(const char *line, const char *want)
{
	assert_int_equal(run_audit(line), CLI_OK);
	if (!strstr(text, want))
		fail_msg("'%s' does not say '%s':\n%s", line, want, text);
}

static struct snap_qp *qp(uint32_t dev, uint32_t qpn, uint32_t dest, uint8_t to)
{
	struct snap_qp *q = made_qp(&m, dev, qpn, dev + 1);

	q->has |= SNAP_CLASS | SNAP_DEST;
	q->dest_qpn = dest;
	q->dgid[0] = 1;
	q->dgid[15] = to;
	q->owner = dev;
	return q;
}

/*
 * Of kv on rxe0: 17 to 27 of rxe1, and 18 to another host; 19 to 29, of bulk on rxe1.
 * 27 and 29 were forced to a level, their peers were not, or to the same.
 */
static int setup(void **state)
{
	struct snap_qp *q;

	(void)state;
	json = false;
	made_init(&m, 1000);
	for (uint32_t dev = 0; dev < 2; dev++) {
		made_dev(&m, dev);
		made_port(&m, dev, 0)->link_layer = 2;
		m.owners[dev].pid = 100 + dev;
	}
	m.s.n_owners = 2;
	made_job(&m, 1, "kv", 1);
	made_job(&m, 2, "bulk", 3);
	qp(0, 17, 27, 1);
	q = qp(0, 18, 27, 9);
	q->has |= SNAP_LEVEL;
	q = qp(0, 19, 29, 1);
	q->tclass = 64;
	q = qp(1, 27, 17, 0);
	q->has |= SNAP_LEVEL;
	q->level = 3;
	q->tclass_asked = 1;
	q->tclass = 97;
	q = qp(1, 29, 19, 0);
	q->has |= SNAP_LEVEL;
	q->level = 2;
	q->tclass = 64;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static void flagged(void **state)
{
	(void)state;
	says("", "rxe1   27  bulk  tclass      1      97  97  rxe0   17  kv       0       -   0  differ");
	says("", "2 pairs with both ends on this host: 1 differs, 1 alike\n");
	says("", "unknown: 1 QP (1 forced to a level) whose peer is on another host: run the audit there, too\n");
	assert_null(strstr(text, "alike  "));
	says("all", "alike");
	says("all", "rxe0   18  kv");
	says("all", "unknown  away");
}

static void nothing_to_flag(void **state)
{
	(void)state;
	m.qps[0].tclass = 99;
	says("", "2 pairs with both ends on this host: 0 differ, 2 alike\n");
	assert_null(strstr(text, "DEV"));
	m.s.n_qps = 0;
	says("", "0 pairs with both ends on this host: 0 differ, 0 alike\n");
	assert_null(strstr(text, "unknown"));
}

/* A pair is wanted if one of its ends is. */
static void filters(void **state)
{
	(void)state;
	says("job kv qpn 17", "1 pair with both ends on this host: 1 differs, 0 alike");
	says("dev rxe1 qpn 27", "1 pair with both ends on this host: 1 differs, 0 alike");
	says("qpn 19", "1 pair with both ends on this host: 0 differ, 1 alike");
	says("qpn 18", "0 pairs with both ends on this host");
	says("pid 101", "2 pairs");
	assert_null(strstr(text, "unknown"));
	says("all sort qpn top 1", "rxe1   29");
	assert_null(strstr(text, "rxe1   27"));
	assert_int_equal(run_audit("dev rxe7"), CLI_ERROR);
	assert_int_equal(run_audit("job none"), CLI_ERROR);
	assert_int_equal(run_audit("colour red"), CLI_USAGE);
	assert_int_equal(run_audit("sort colour"), CLI_USAGE);
}

static void as_json(void **state)
{
	(void)state;
	json = true;
	says("", "\"kind\":\"tclass\",\"level\":3,\"asked\":1,\"forced\":97,\"programmed\":97");
	says("", "\"peer_dev\":\"rxe0\",\"peer_qpn\":17");
	says("", "\"peer_asked\":0,\"peer_programmed\":0,\"verdict\":\"differ\"}]");
	says("", "\"count\":{\"alike\":1,\"differ\":1,\"away\":1,\"hidden\":0,\"loose\":0,\"nowhere\":0}");
	says("", "\"forced\":{\"alike\":1,\"differ\":1,\"away\":1,");
	says("all", "\"verdict\":\"unknown\",\"why\":\"away\"");
	/* who may not see the levels' table */
	m.s.admin = false;
	says("", "\"level\":3,\"asked\":1,\"programmed\":97");
}

/* One that could not be raised when its peer was. */
static void not_yet(void **state)
{
	(void)state;
	m.qps[0].has |= SNAP_LEVEL | SNAP_CLASS_ERROR;
	m.qps[0].level = 3;
	m.qps[0].class_pending = true;
	m.qps[0].class_error = -EBUSY;
	says("", "differ   cannot yet: not in RTS\n");
	json = true;
	says("", "\"verdict\":\"differ\",\"why\":\"cannot yet: not in RTS\"");
}

static void service_levels(void **state)
{
	(void)state;
	m.ports[0].link_layer = m.ports[1].link_layer = 1;
	m.qps[3].sl = 3;
	says("", "sl");
	says("", "2 pairs with both ends on this host: 1 differs, 1 alike\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(flagged), TEST(nothing_to_flag), TEST(filters),
		TEST(as_json), TEST(not_yet), TEST(service_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
