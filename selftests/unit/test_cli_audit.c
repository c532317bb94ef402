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

/* What the other host says, and how often it was asked. */
static struct io_peer there;
static int there_error;
static unsigned int asked;

int io_peer(struct io *io, uint32_t dev, uint32_t qpn, struct io_peer *peer)
{
	(void)io;
	assert_int_equal(dev, 0);
	assert_in_range(qpn, 18, 26);
	asked++;
	*peer = there;
	return there_error;
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
	asked = 0;
	there_error = 0;
	there = (struct io_peer){ .status = SWIFTRDMA_PEER_SILENT };
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
	says("", "unknown: 1 QP (1 forced to a level) whose peer is on another host and did not answer: ");
	assert_null(strstr(text, "alike  "));
	assert_null(strstr(text, "with an end on another host"));
	says("all", "alike");
	says("all", "rxe0   18  kv");
	says("all", "unknown  cannot: peer (no answer)");
}

/* The peer on the other host answers. */
static void away(void **state)
{
	(void)state;
	there = (struct io_peer){
		.has = SNAP_LEVEL, .status = SWIFTRDMA_PEER_ANSWERED, .version = 1, .tries = 2,
		.tclass_asked = 8, .tclass = 66, .level = 2, .level_tclass = 64,
	};
	says("", "2 pairs with both ends on this host: 1 differs, 1 alike\n"
		 "1 pair with an end on another host: 1 differs, 0 alike\n");
	says("", "rxe0   18  kv    tclass      0       0   0  100::9   27  -        8      64  66  differ");
	assert_null(strstr(text, "unknown"));
	/* ECN is not a class. */
	m.qps[1].tclass = 65;
	says("all", "1 pair with an end on another host: 0 differ, 1 alike\n");
	there.class_pending = true;
	there.class_error = -EBUSY;
	there.tclass = 0;
	says("", "differ   cannot yet: not in RTS\n");
	json = true;
	says("", "\"dest_qpn\":27,\"peer_address\":\"100::9\",\"peer_qpn\":27,\"peer_level\":2,"
		 "\"peer_asked\":8,\"peer_forced\":64,\"peer_programmed\":0,\"peer_class_pending\":true");
	says("", "\"asked\":{\"alike\":0,\"differ\":1,\"unconnected\":0,");
	says("", "\"count\":{\"alike\":1,\"differ\":1,\"away\":0,");
}

static void cannot_ask(void **state)
{
	static const struct {
		uint32_t status;
		const char *sum, *why;
	} each[] = {
		{ SWIFTRDMA_PEER_NO_MODULE, "is on a host without the module", "cannot: peer (no module)" },
		{ SWIFTRDMA_PEER_VERSION, "speaks another version", "cannot: peer (another version)" },
		{ SWIFTRDMA_PEER_NO_ADDRESS, "the QP here is older than the module", "cannot: QP older than the module" },
		{ SWIFTRDMA_PEER_NO_CHANNEL, "was loaded with peer=0", "cannot: no channel" },
		{ SWIFTRDMA_PEER_UNREACHABLE, "nothing could be sent", "cannot: unreachable" },
		{ 99, "nothing could be sent", "cannot: unreachable" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		there.status = each[i].status;
		says("", each[i].sum);
		says("all", each[i].why);
	}
	json = true;
	there.status = SWIFTRDMA_PEER_NO_MODULE;
	says("", "\"no_module\":1,\"version\":0,\"silent\":0}");
	json = false;
	there_error = -ENOENT;
	says("all", "not connected any more");
	/* A module without the command, and a reader without the capability, do not ask. */
	there_error = -EOPNOTSUPP;
	says("all", "unknown  away");
	says("", "whose peer is on another host and was not asked: ");
	asked = 0;
	m.s.admin = false;
	says("all", "unknown  away");
	assert_int_equal(asked, 0);
}

/* No address is asked for each of its QPs once it is clear that nobody answers. */
static void gives_up(void **state)
{
	struct snap_qp last[2];

	(void)state;
	memcpy(last, &m.qps[3], sizeof(last));
	m.s.n_qps = 3;
	for (uint32_t qpn = 20; qpn < 26; qpn++)
		qp(0, qpn, 27, 9);
	memcpy(&m.qps[m.s.n_qps], last, sizeof(last));
	m.s.n_qps += 2;
	there.status = SWIFTRDMA_PEER_NO_MODULE;
	says("", "unknown: 7 QPs (1 forced to a level) whose peer is on a host without the module");
	assert_int_equal(asked, 1);
	asked = 0;
	there.status = SWIFTRDMA_PEER_SILENT;
	says("", "unknown: 7 QPs (1 forced to a level) whose peer is on another host and did not answer");
	assert_int_equal(asked, 3);
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
	says("", "\"count\":{\"alike\":1,\"differ\":1,\"away\":0,\"hidden\":0,\"loose\":0,\"nowhere\":0}");
	says("", "\"forced\":{\"alike\":1,\"differ\":1,\"away\":0,");
	says("all", "\"verdict\":\"unknown\",\"why\":\"cannot: peer (no answer)\"");
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
		TEST(flagged), TEST(away), TEST(cannot_ask), TEST(gives_up),
		TEST(nothing_to_flag), TEST(filters),
		TEST(as_json), TEST(not_yet), TEST(service_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
