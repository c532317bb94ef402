// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What swiftrdma top shows, and what its keys do: all but the screen. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cmd_top.c"
#include "unit/cli_rig.h"
#include "unit/cli_words.h"
#include "unit/screen_stubs.h"

static struct top top;
static struct top_frame frame;

static int setup(void **state)
{
	(void)state;
	made_scene(&was, 1000, 0);
	made_scene(&is, 2000, 1250000);
	for (int i = 0; i < 2; i++) {
		struct made *m = i ? &is : &was;

		strcpy(m->owners[0].comm, "kv-server");
		strcpy(m->owners[0].cgroup, "/kv");
		strcpy(m->owners[1].comm, "\033[2J\xc3\xa9");
		m->uars[0].kind = m->uars[1].kind = 0;
		m->uars[0].has |= SNAP_OWNER;
		m->uars[1].has |= SNAP_OWNER;
		m->uars[1].owner = 1;
		m->ports[0].link_layer = 2;
		m->qps[0].has |= SNAP_CLASS;
	}
	is.qps[0].wrs = 1000;
	is.qps[1].wrs = 500;
	is.qps[2].wrs = 12500;
	is.uars[0].wrs = 1500;
	is.uars[1].wrs = 12500;
	rig_begin();
	rig_read();
	top_init(&top, 1000);
	strcpy(top.clock, "12:34:56");
	assert_int_equal(top_take(&top, &cli), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	top_free(&top);
	free(frame.text);
	free(frame.attr);
	memset(&frame, 0, sizeof(frame));
	rig_end();
	return 0;
}

/* The frame as text, blanks at the end of lines left out. */
static const char *drawn(unsigned int height, unsigned int width)
{
	static char text[64 * 1024];
	size_t n = 0;

	top.height = height;
	top.width = width;
	assert_int_equal(top_draw(&top, &frame), 0);
	assert_int_equal(frame.height, height);
	assert_int_equal(frame.width, width);
	for (unsigned int y = 0; y < height; y++) {
		size_t end = width;

		while (end && frame.text[y * width + end - 1] == ' ')
			end--;
		memcpy(text + n, frame.text + (size_t)y * width, end);
		n += end;
		text[n++] = '\n';
	}
	text[n] = '\0';
	return text;
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		top_key(&top, *keys == '\n' ? TOP_KEY_ENTER :
			      *keys == '\033' ? TOP_KEY_ESCAPE :
			      (unsigned char)*keys);
}

static void uars(void **state)
{
	(void)state;
	assert_string_equal(drawn(8, 80),
		"swiftrdma top 12:34:56  devices 1, UARs 2, QPs 3, jobs 3; every 1 s\n"
		"Most crowded: UAR 1 of rxe0, 2 QPs of kv-server (pid 100), coactive 100%\n"
		"[1 UARs] 2 QPs  3 Jobs  4 Ports  sort: WR/s\n"
		"DEV   UAR  KIND  QPS  ACTIVE     WR/s  DB/s  SHARE  COACTIVE  COMM       PID  CG\n"
		"rxe0    2  hw      1       1  12500/s   0/s  89.3%        0%  ?[2J??     200  -\n"
		"rxe0    1  hw      2       2   1500/s   0/s  10.7%      100%  kv-server  100  /k\n"
		"\n"
		"q quit  h help  1-4 views  <> sort  r reverse  / filter  s interval  p pause\n"
		);
	/* The row that is selected, the head that is sorted by, and a warning. */
	assert_int_equal(frame.attr[4 * 80], TOP_ATTR_SELECTED);
	assert_int_equal(frame.attr[4 * 80 + 79], TOP_ATTR_SELECTED);
	assert_int_equal(frame.attr[3 * 80], TOP_ATTR_HEAD);
	assert_int_equal(frame.attr[3 * 80 + 36], TOP_ATTR_BOLD);
	assert_int_equal(frame.attr[5 * 80 + 59], TOP_ATTR_WARN);
}

static void other_views(void **state)
{
	(void)state;
	press("2");
	assert_non_null(strstr(drawn(10, 80),
		"rxe0   19  RC    RTS      2  bulk  200  ?[2J??     12500/s"));
	press("3");
	assert_string_equal(drawn(7, 60),
		"swiftrdma top 12:34:56  devices 1, UARs 2, QPs 3, jobs 3; ev\n"
		"Most crowded: UAR 1 of rxe0, 2 QPs of kv-server (pid 100), c\n"
		" 1 UARs  2 QPs [3 Jobs] 4 Ports  sort: QPS\n"
		"JOB         CLASS       QPS  WR/s  DB/s\n"
		"kv          latency       2   0/s   0/s\n"
		"bulk        throughput    1   0/s   0/s\n"
		"q quit  h help  1-4 views  <> sort  r reverse  / filter  s i\n");
	press("\t");
	assert_non_null(strstr(drawn(10, 80), "rxe0     1  ethernet  20Mbit/s   50%  10Mbit/s"));
	top_key(&top, TOP_KEY_BACKTAB);
	assert_int_equal(top.view, TOP_JOBS);
}

/* The time in send queues, as the kernel measured it; above, nobody has it. */
static void queue_latency(void **state)
{
	(void)state;
	is.devs[0].caps = was.devs[0].caps = SWIFTRDMA_DEV_CAP_WRS | SWIFTRDMA_DEV_CAP_WQEBBS;
	for (size_t i = 0; i < 2; i++) {
		is.qps[i].has |= SNAP_LOOKS;
		was.qps[i].has |= SNAP_LOOKS;
		is.qps[i].outstanding_samples = 100;
		is.qps[i].outstanding_sum = 300;
		is.qps[i].outstanding_squares = 900;
	}
	rig_read();
	assert_int_equal(top_take(&top, &cli), 0);
	press("2");
	assert_non_null(strstr(drawn(10, 120), "Q-LATENCY"));
	assert_non_null(strstr(drawn(10, 120), "rxe0   17  RC    RTS      1  kv    100  kv-server   1000/s   0/s        3ms"));
	press("3");
	assert_non_null(strstr(drawn(10, 120), "Q-LATENCY"));
	assert_non_null(strstr(drawn(10, 120), "kv          latency       2      0/s   0/s        4ms"));
	/* By it, too. */
	while (strcmp(top.table[TOP_JOBS].cols[top_sorted_by(&top.table[TOP_JOBS])].key,
		      "queue_latency"))
		press(">");
	assert_non_null(strstr(drawn(10, 120), "sort: Q-LATENCY"));
}

static void sorting_keys(void **state)
{
	const struct top_table *t = &top.table[TOP_UARS];

	(void)state;
	press("r");
	assert_non_null(strstr(drawn(8, 80), "sort: WR/s reversed"));
	assert_int_equal(top_cell(t, 0, 1)->key, 1);
	press("r<<");
	assert_string_equal(t->cols[top_sorted_by(t)].key, "qps");
	assert_int_equal(top_cell(t, 0, 1)->key, 1);
	/* By name: comm, the same column round the other way. */
	while (strcmp(t->cols[top_sorted_by(t)].key, "comm"))
		press(">");
	assert_int_equal(top_cell(t, 0, 1)->key, 2);
	press("r");
	assert_int_equal(top_cell(t, 0, 1)->key, 1);
	/* Absent stays behind, whichever way round. */
	while (strcmp(t->cols[top_sorted_by(t)].key, "cgroup"))
		press(">");
	assert_int_equal(top_cell(t, 0, 1)->key, 1);
	press("r");
	assert_int_equal(top_cell(t, 0, 1)->key, 1);
	/* Columns that nobody has anything in are passed over. */
	for (int i = 0; i < 40; i++) {
		press(i < 20 ? ">" : "<");
		assert_string_not_equal(t->cols[top_sorted_by(t)].key, "threads");
	}
}

static void filters(void **state)
{
	const char *s;

	(void)state;
	press("2/KV");
	s = drawn(8, 80);
	assert_non_null(strstr(s, "\nfilter: KV\n"));
	assert_int_equal(frame.cursor_y, 7);
	assert_int_equal(frame.cursor_x, 10);
	press("\n");
	s = drawn(8, 80);
	assert_non_null(strstr(s, "filter: KV (2 of 3)"));
	assert_null(strstr(s, "bulk"));
	assert_int_equal(frame.cursor_y, -1);
	/* A column's whole value, and several words. */
	press("/");
	for (int i = 0; i < 5; i++)
		top_key(&top, TOP_KEY_BACKSPACE);
	press("uar=1 qpn=18\n");
	assert_int_equal(top.table[TOP_QPS].n_shown, 1);
	/* Given up: what was there stays. Escape alone takes it away. */
	press("/x\033");
	assert_int_equal(top.table[TOP_QPS].n_shown, 1);
	press("\033");
	assert_int_equal(top.table[TOP_QPS].n_shown, 3);
}

static void drill_down(void **state)
{
	(void)state;
	top_key(&top, TOP_KEY_DOWN);
	press("\n");
	assert_int_equal(top.view, TOP_QPS);
	assert_string_equal(top.table[TOP_QPS].filter, "dev=rxe0 uar=1");
	assert_int_equal(top.table[TOP_QPS].n_shown, 2);
	press("\n");
	assert_non_null(strstr(drawn(8, 80), "qp explain"));
	press("3");
	top_key(&top, TOP_KEY_DOWN);
	press("\n");
	assert_string_equal(top.table[TOP_QPS].filter, "job=bulk");
	assert_int_equal(top.table[TOP_QPS].n_shown, 1);
}

static void intervals(void **state)
{
	(void)state;
	press("s0.5\n");
	assert_int_equal(top.interval_ms, 500);
	assert_true(top.read_now);
	press("s200ms\n");
	assert_int_equal(top.interval_ms, 200);
	press("s0\n");
	assert_non_null(strstr(drawn(8, 80), "from 20ms to 3600s"));
	press("s5GB\n");
	assert_int_equal(top.interval_ms, 200);
	assert_non_null(strstr(drawn(8, 80), "every 0.2 s"));
	press("p");
	assert_true(top.paused);
	assert_non_null(strstr(drawn(8, 80), " paused"));
	press("p");
	assert_false(top.paused);
}

static void other_keys(void **state)
{
	(void)state;
	press("h");
	assert_non_null(strstr(drawn(24, 80), "the QPs of a UAR"));
	press("q");
	assert_false(top.quit);
	assert_null(strstr(drawn(24, 80), "the QPs of a UAR"));
	press("~");
	assert_non_null(strstr(drawn(24, 80), "this key has no function"));
	snprintf(top.trouble, sizeof(top.trouble), "the module is away");
	assert_non_null(strstr(drawn(24, 80), "\nthe module is away\n"));
	press("q");
	assert_true(top.quit);
}

/* Of many rows that one is seen that is selected, and after a resize, too. */
static void scrolling(void **state)
{
	(void)state;
	for (uint32_t i = 3; i < 60; i++)
		made_qp(&is, 0, 100 + i, 0)->uar = 1;
	cli.snap = is.s;
	assert_int_equal(signals_reserve(&cli.sig, &cli.snap), 0);
	signals_update(&cli.sig, NULL, &cli.snap,
		       &(struct signal_opts){ 0 });
	assert_int_equal(cli_crowd(&cli), 0);
	assert_int_equal(top_take(&top, &cli), 0);
	press("2");
	top_key(&top, TOP_KEY_PAGE_DOWN);
	assert_int_equal(top.table[TOP_QPS].selected, 19);
	top_key(&top, TOP_KEY_END);
	assert_non_null(strstr(drawn(8, 80), "rxe0  159 "));
	assert_int_equal(frame.attr[6 * 80], TOP_ATTR_SELECTED);
	drawn(24, 80);
	assert_int_equal(frame.attr[22 * 80], TOP_ATTR_SELECTED);
	drawn(6, 40);
	assert_int_equal(frame.attr[4 * 40], TOP_ATTR_SELECTED);
	top_key(&top, TOP_KEY_HOME);
	assert_non_null(strstr(drawn(8, 80), "rxe0   17 "));
	assert_int_equal(frame.attr[4 * 80], TOP_ATTR_SELECTED);
	/* Fewer rows than before: it stays on one there is. */
	top_key(&top, TOP_KEY_END);
	is.s.n_qps = 2;
	cli.snap = is.s;
	signals_update(&cli.sig, NULL, &cli.snap,
		       &(struct signal_opts){ 0 });
	assert_int_equal(cli_crowd(&cli), 0);
	assert_int_equal(top_take(&top, &cli), 0);
	assert_int_equal(top.table[TOP_QPS].selected, 1);
	drawn(8, 80);
}

static void printed(void **state)
{
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	press("2/kv-server\n");
	assert_int_equal(top_print(&top, f, 0), 0);
	fclose(f);
	assert_string_equal(text,
		"swiftrdma top 12:34:56  devices 1, UARs 2, QPs 3, jobs 3; every 1 s\n"
		"Most crowded: UAR 1 of rxe0, 2 QPs of kv-server (pid 100), coactive 100%\n"
		" 1 UARs [2 QPs] 3 Jobs  4 Ports  sort: WR/s  filter: kv-server (2 of 3)\n"
		"DEV   QPN  TYPE  STATE  UAR  JOB  PID  OWNER        WR/s  DB/s  TCLASS  ASKED  CGROUP\n"
		"rxe0   17  RC    RTS      1  kv   100  kv-server  1000/s   0/s       0      0  /kv\n"
		"rxe0   18  RC    RTS      1  kv   100  kv-server   500/s   0/s       -      -  /kv\n"
		"\n");
	free(text);
}

/* Long names are drawn in part. Filters and sorting use the whole name. */
static void long_names(void **state)
{
	static const char one[] = "/system.slice/databases.slice/kv-of-customers.service";
	static const char two[] = "/system.slice/databases.slice/kv-of-employees.service";
	const struct top_table *t = &top.table[TOP_UARS];

	(void)state;
	strcpy(is.owners[0].cgroup, two);
	strcpy(is.owners[1].cgroup, one);
	assert_int_equal(top_take(&top, &cli), 0);
	assert_null(strstr(drawn(8, 200), "employees"));
	while (strcmp(t->cols[top_sorted_by(t)].key, "cgroup"))
		press(">");
	assert_int_equal(top_cell(t, 0, 1)->key, 2);
	press("r");
	assert_int_equal(top_cell(t, 0, 1)->key, 1);
	press("/employees\n");
	assert_int_equal(t->n_shown, 1);
	assert_int_equal(top_cell(t, 0, 1)->key, 1);
	press("\033/cgroup=");
	press(one);
	press("\n");
	assert_int_equal(t->n_shown, 1);
	assert_int_equal(top_cell(t, 0, 1)->key, 2);
}

/* The numbers of the QPs that top -j has with these words, as in "17 18". */
static const char *json_qps(const char *line)
{
	struct run r = { .cli = &cli, .top = &top };
	struct args args = cli_words(line);
	struct json_object *all, *qps, *qpn;
	static char numbers[64];
	size_t size, n = 0;
	char *text;

	top_free(&top);
	top_init(&top, 1000);
	assert_int_equal(parse_top(&r, &args), CLI_OK);
	assert_int_equal(take_reading(&r), 0);
	cli.out.f = open_memstream(&text, &size);
	assert_int_equal(print_reading_json(&r), 0);
	fclose(cli.out.f);
	all = json_tokener_parse(text);
	assert_true(json_object_object_get_ex(all, "qps", &qps));
	numbers[0] = '\0';
	for (size_t i = 0; i < json_object_array_length(qps); i++) {
		assert_true(json_object_object_get_ex(json_object_array_get_idx(qps, i), "qpn",
						      &qpn));
		n += (size_t)snprintf(numbers + n, sizeof(numbers) - n, "%s%d", n ? " " : "",
				      json_object_get_int(qpn));
	}
	json_object_put(all);
	free(text);
	return numbers;
}

/* JSON has the rows that text has with the same words. */
static void json_words(void **state)
{
	(void)state;
	cli.out.json = true;
	assert_string_equal(json_qps("qps"), "19 17 18");
	assert_string_equal(json_qps("qps reverse"), "18 17 19");
	assert_string_equal(json_qps("qps sort qpn"), "19 18 17");
	assert_string_equal(json_qps("qps sort qpn reverse"), "17 18 19");
	assert_string_equal(json_qps("qps filter kv-server sort qpn"), "18 17");
	assert_string_equal(json_qps("filter job=bulk"), "19");
	assert_string_equal(json_qps("filter nobody"), "");
}

/* Any keys on any screen: ASan and the assertions in drawn() are the judges. */
static void any_key(void **state)
{
	static const int special[] = {
		TOP_KEY_UP, TOP_KEY_DOWN, TOP_KEY_LEFT, TOP_KEY_RIGHT,
		TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN, TOP_KEY_HOME, TOP_KEY_END,
		TOP_KEY_ENTER, TOP_KEY_ESCAPE, TOP_KEY_BACKSPACE,
		TOP_KEY_BACKTAB, 0x1000,
	};
	uint32_t seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		seed = seed * 1664525 + 1013904223;
		if (seed >> 31)
			top_key(&top, special[(seed >> 8) % 13]);
		else
			top_key(&top, (int)(seed >> 8) % 0x7f + 1);
		if (i % 16 == 0)
			drawn((seed >> 12) % 30 + 1, (seed >> 20) % 120 + 1);
		if (i % 512 == 0)
			assert_int_equal(top_take(&top, &cli), 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(uars), TEST(other_views), TEST(queue_latency), TEST(sorting_keys),
		TEST(filters), TEST(drill_down), TEST(intervals),
		TEST(other_keys), TEST(scrolling), TEST(printed),
		TEST(long_names), TEST(json_words),
		TEST(any_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
