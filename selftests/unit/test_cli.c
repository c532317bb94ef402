// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The command's parts that need no module: words, numbers, rules, output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cli/action_set.c"
#include "cli/table.h"
#include "unit/cli_stubs.h"

static int read_devs(struct cli *cli, const struct io_want *want)
{
	static struct snap_dev devs[] = {
		{ .index = 0, .name = "rxe0" }, { .index = 1, .name = "rxe1" },
	};

	(void)want;
	cli->snap.devs = devs;
	cli->snap.n_devs = 2;
	return CLI_OK;
}

static int words_of(char *line, char **word, struct args *args)
{
	int n = 0;

	for (char *w = strtok(line, " "); w; w = strtok(NULL, " "))
		word[n++] = w;
	*args = (struct args){ word, n };
	return n;
}

static int prepare_line(const char *line, struct act *a)
{
	static char buf[512];
	static char *word[64];
	struct cli cli = { 0 };
	struct args args;

	strcpy(buf, line);
	words_of(buf, word, &args);
	stub_read = read_devs;
	return prepare_changes(&cli, &args, a);
}

static void action_grammar(void **state)
{
	struct act a = { .ttl_ms = 5000, .rank = 100 };

	(void)state;
	assert_int_equal(prepare_line("job kv level 3 max_qps 64 job b dev rxe1 create_rate 2k/s and dev rxe0 qpn 17 id 99 level 1 for 10s rank 7 reason because",
				      &a), CLI_OK);
	assert_int_equal(a.n, 4);
	assert_string_equal(a.actions[0].job, "kv");
	assert_int_equal(a.actions[0].knob, SWIFTRDMA_KNOB_LEVEL);
	assert_int_equal(a.actions[0].value, 3);
	assert_false(a.actions[0].has_dev);
	assert_string_equal(a.actions[1].job, "kv");
	assert_int_equal(a.actions[1].knob, SWIFTRDMA_KNOB_MAX_QPS);
	assert_string_equal(a.actions[2].job, "b");
	assert_true(a.actions[2].has_dev);
	assert_int_equal(a.actions[2].dev, 1);
	assert_int_equal(a.actions[2].value, 2000);
	assert_string_equal(a.actions[3].job, "");
	assert_int_equal(a.actions[3].qpn, 17);
	assert_int_equal(a.actions[3].serial, 99);
	assert_int_equal(a.ttl_ms, 10000);
	assert_int_equal(a.rank, 7);
	assert_string_equal(a.reason, "because");
	free_changes(&a);
}

/* Words and sizes are values, too. */
static void action_grammar_library(void **state)
{
	struct act a = { .ttl_ms = 5000, .rank = 100 };

	(void)state;
	assert_int_equal(prepare_line("job kv place by-thread chunk 64KiB huge_pages no job b place default chunk 4096 huge_pages yes",
				      &a), CLI_OK);
	assert_int_equal(a.n, 6);
	assert_int_equal(a.actions[0].knob, SWIFTRDMA_KNOB_PLACE);
	assert_int_equal(a.actions[0].value, 2);
	assert_int_equal(a.actions[1].knob, SWIFTRDMA_KNOB_CHUNK);
	assert_int_equal(a.actions[1].value, 65536);
	assert_int_equal(a.actions[2].knob, SWIFTRDMA_KNOB_HUGE_PAGES);
	assert_int_equal(a.actions[2].value, 0);
	assert_int_equal(a.actions[3].value, 0);
	assert_int_equal(a.actions[4].value, 4096);
	assert_int_equal(a.actions[5].value, 1);
	free_changes(&a);
}

static void action_grammar_clear(void **state)
{
	struct act a = { .clearing = true };

	(void)state;
	assert_int_equal(prepare_line("job kv and job b level lease 12", &a),
			 CLI_OK);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.actions[0].knob, 0);
	assert_int_equal(a.actions[1].knob, SWIFTRDMA_KNOB_LEVEL);
	assert_int_equal(a.lease, 12);
	assert_true(same_target(&(struct snap_action){ .job = "kv" },
				&a.actions[0]));
	assert_false(same_target(&(struct snap_action){ .job = "k" },
				 &a.actions[0]));
	free_changes(&a);
}

static void action_grammar_bad(void **state)
{
	static const char *const bad[] = {
		"job kv level 2.5", "job kv create_rate 0.5/s",
		"level 3", "job kv", "job kv level", "job kv level 8",
		"job kv level -1", "job kv level 3 for", "job kv level 3 for x",
		"job kv level 3 for 2h", "job kv level 3 for 3601s",
		"job kv level 3 rank 256", "dev rxe0 level 3", "qpn 5 level 3",
		"job kv qpn 5 dev rxe0 level 3", "job kv speed 3",
		"job kv level 3 lease 5", "all", "dev rxe0 qpn 16777216 level 1",
		"job 01234567890123456789012345678901 level 1",
		"job kv bit_rate 20ms", "job kv and level 3",
		"job kv place 1", "job kv place heaviest", "job kv huge_pages 2",
		"job kv chunk 2KiB", "job kv chunk 2GiB", "job kv chunk 65KiB", "job kv chunk 64k/s",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct act a = { .ttl_ms = 5000, .rank = 100 };

		assert_int_equal(prepare_line(bad[i], &a), CLI_USAGE);
		free_changes(&a);
	}
}

static void action_too_many(void **state)
{
	char *word[2 + 2 * (SWIFTRDMA_BATCH_MAX + 1)];
	struct args args = { word, sizeof(word) / sizeof(word[0]) };
	struct act a = { .ttl_ms = 5000 };
	struct cli cli = { 0 };

	(void)state;
	word[0] = "job";
	word[1] = "kv";
	for (int i = 2; i < args.n; i += 2) {
		word[i] = "level";
		word[i + 1] = "1";
	}
	assert_int_equal(prepare_changes(&cli, &args, &a), CLI_USAGE);
	free_changes(&a);
}

static void abbreviations(void **state)
{
	static const char *const list[] = { "show", "set", "setup", NULL };

	(void)state;
	assert_int_equal(args_match(list, "s"), 0);
	assert_int_equal(args_match(list, "se"), 1);
	assert_int_equal(args_match(list, "setu"), 2);
	assert_int_equal(args_match(list, "setx"), -1);
	assert_int_equal(args_match(list, ""), -1);
}

static void numbers(void **state)
{
	uint64_t v;
	uint32_t ms;

	(void)state;
	assert_true(args_number("0x1b", UINT32_MAX, &v));
	assert_int_equal(v, 27);
	assert_true(args_number("18446744073709551615", UINT64_MAX, &v));
	assert_false(args_number("18446744073709551616", UINT64_MAX, &v));
	assert_false(args_number("4294967296", UINT32_MAX, &v));
	assert_false(args_number("-1", UINT64_MAX, &v));
	assert_false(args_number(" 1", UINT64_MAX, &v));
	assert_false(args_number("", UINT64_MAX, &v));
	assert_false(args_number("1x", UINT64_MAX, &v));
	assert_int_equal(args_time_ms("10s", "for", &ms), CLI_OK);
	assert_int_equal(ms, 10000);
	assert_int_equal(args_time_ms("500ms", "for", &ms), CLI_OK);
	assert_int_equal(ms, 500);
	assert_int_equal(args_time_ms("2", "for", &ms), CLI_OK);
	assert_int_equal(ms, 2000);
	assert_int_equal(args_time_ms("1us", "for", &ms), CLI_USAGE);
	assert_int_equal(args_time_ms("0", "for", &ms), CLI_USAGE);
}

struct sample {
	uint64_t has, u64;
	uint32_t u32, dev, job, knob;
	double real;
	bool flag, known;
	char chars[8];
	const char *string;
	char *owned;
};

static const void *no_sample(const struct cli *cli, const void *row)
{
	(void)cli;
	(void)row;
	return NULL;
}

/* A member of each type, and each way in which it is absent. */
static void members(void **state)
{
#define SAMPLE(member)		MEMBER(struct sample, member)
#define SAMPLE_IF(member, by)	MEMBER_IF(struct sample, member, by)
#define SAMPLE_HAS(member, bit)	MEMBER_HAS(struct sample, member, bit)
	static const struct {
		struct column col;
		const char *want;
	} cases[] = {
		{ { SAMPLE(u32) }, "4294967295" }, { { SAMPLE(u64) }, "18446744073709551615" },
		{ { SAMPLE(real) }, "0.5" }, { { SAMPLE(flag) }, "yes" }, { { SAMPLE(known) }, "-" },
		{ { SAMPLE(chars) }, "chars" }, { { SAMPLE(string) }, "string" },
		{ { SAMPLE(owned) }, "-" },
		{ { MEMBER_AS(FROM_DEV, struct sample, dev) }, "rxe1" },
		{ { MEMBER_AS(FROM_JOB, struct sample, job) }, "#7" },
		{ { MEMBER_AS(FROM_KNOB, struct sample, knob) }, "level" },
		{ { SAMPLE_IF(u32, flag) }, "4294967295" }, { { SAMPLE_IF(u32, known) }, "-" },
		{ { SAMPLE_IF(flag, u32) }, "yes" }, { { SAMPLE_IF(flag, dev) }, "yes" },
		{ { SAMPLE_IF(flag, real) }, "yes" }, { { SAMPLE_IF(flag, owned) }, "-" },
		{ { SAMPLE_HAS(u32, 1ull << 40) }, "4294967295" },
		{ { SAMPLE_HAS(u32, 1ull << 40 | 2) }, "4294967295" },
		{ { SAMPLE_HAS(u32, 2 | 1ull << 41) }, "-" },
		{ { .of = no_sample, SAMPLE(u32) }, "-" },
		{ { SIGNAL(DEV_QPS) }, "-" },
	};
	static const struct sample row = {
		.has = 1ull << 40 | 1, .u64 = UINT64_MAX, .u32 = UINT32_MAX, .dev = 1, .job = 7,
		.knob = SWIFTRDMA_KNOB_LEVEL, .real = 0.5, .flag = true, .chars = "chars",
		.string = "string",
	};
	struct cli cli = { 0 };

	(void)state;
	read_devs(&cli, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char got[CELL_MAX];
		struct cell c;
		size_t n;

		cell_get(&cli, &cases[i].col, &row, &c);
		n = cell_format(got, &cases[i].col, &c);
		if (n != strlen(cases[i].want) || memcmp(got, cases[i].want, n))
			fail_msg("case %zu: '%.*s', not '%s'", i, (int)n, got, cases[i].want);
	}
}

struct thing {
	const char *name;
	uint64_t n;
	bool has;
};

#define THING(member)		MEMBER(struct thing, member)
#define THING_IF(member, by)	MEMBER_IF(struct thing, member, by)

GETTER(bad)
{
	cell_s64(c, -ETIMEDOUT);
	c->tone = TONE_BAD;
}

static const struct column inner[] = {
	{ "n", "N", 0, 0, THING_IF(n, has) },
};

GETTER(list)
{
	cell_table(c, ROWS(inner, (const struct thing *)row, 1));
}

static const struct column things[] = {
	{ "name", "NAME", 0, COL_LEFT, THING(name) },
	{ "n", "N", 0, 0, THING_IF(n, has) },
	{ "speed", "SPEED", SHOW_BITRATE, COL_DETAIL, THING_IF(n, has) },
	{ "error", "ERROR", SHOW_ERRNO, COL_LEFT, .get = get_bad },
	{ "rate", "RATE", SHOW_RATE, COL_RATE, THING_IF(n, has) },
	{ "list", NULL, 0, 0, .get = get_list },
	{ "raw", NULL, 0, COL_JSON, THING_IF(n, has) },
	{ "text", "TEXT", 0, COL_TEXT | COL_LEFT, THING(name) },
};

static const struct thing rows_of_three[] = {
	{ "a", 5, true }, { "longer", 1234567, true }, { "c", 0, false },
};

static char *render(struct out *o, const struct rows *rows)
{
	size_t size;
	char *text;

	o->f = open_memstream(&text, &size);
	assert_int_equal(out_rows(NULL, o, rows), 0);
	fclose(o->f);
	return text;
}

static bool not_c(const struct cli *cli, const void *row, const void *arg)
{
	(void)cli;
	return strcmp(((const struct thing *)row)->name, arg) != 0;
}

static void text_is_aligned(void **state)
{
	struct rows rows = ROWS(things, rows_of_three, 3);
	struct out o = { 0 };
	char *text;

	(void)state;
	rows.n_columns = 5;	/* without the nested table */
	text = render(&o, &rows);
	assert_string_equal(text,
			    "NAME          N  ERROR\n"
			    "a             5  ETIMEDOUT\n"
			    "longer  1234567  ETIMEDOUT\n"
			    "c             -  ETIMEDOUT\n");
	free(text);
	rows.want = not_c;
	rows.arg = "longer";
	o.details = true;
	text = render(&o, &rows);
	assert_string_equal(text,
			    "NAME  N   SPEED  ERROR\n"
			    "a     5  5bit/s  ETIMEDOUT\n"
			    "c     -       -  ETIMEDOUT\n");
	free(text);
}

static void text_nested_below(void **state)
{
	struct rows rows = ROWS(things, rows_of_three, 1);
	struct out o = { 0 };
	char *text = render(&o, &rows);

	(void)state;
	assert_string_equal(text,
			    "NAME  N  ERROR      TEXT\n"
			    "a     5  ETIMEDOUT  a\n"
			    "    N\n"
			    "    5\n");
	free(text);
}

static void nothing_to_show(void **state)
{
	struct rows rows = ROWS(things, rows_of_three, 0);
	struct out o = { 0 };
	char *text = render(&o, &rows);

	(void)state;
	assert_string_equal(text, "NAME  N  ERROR  TEXT\n");
	free(text);
	o.json = true;
	text = render(&o, &rows);
	assert_string_equal(text, "[]\n");
	free(text);
}

static void colours(void **state)
{
	struct rows rows = ROWS(things, rows_of_three, 1);
	struct out o = { .color = true };
	char *text = render(&o, &rows);

	(void)state;
	assert_non_null(strstr(text, "\033[31mETIMEDOUT\033[0m"));
	free(text);
}

static void json_rows_parse(void **state)
{
	struct rows rows = ROWS(things, rows_of_three, 3);

	(void)state;
	for (int pretty = 0; pretty < 2; pretty++) {
		struct out o = { .json = true, .pretty = pretty };
		char *text = render(&o, &rows);
		struct json_object *all = json_tokener_parse(text), *row, *v;

		assert_int_equal(json_object_array_length(all), 3);
		row = json_object_array_get_idx(all, 1);
		assert_true(json_object_object_get_ex(row, "n", &v));
		assert_int_equal(json_object_get_int64(v), 1234567);
		assert_true(json_object_object_get_ex(row, "error", &v));
		assert_int_equal(json_object_get_int64(v), -ETIMEDOUT);
		assert_true(json_object_object_get_ex(row, "list", &v));
		assert_int_equal(json_object_array_length(v), 1);
		assert_false(json_object_object_get_ex(row, "rate", &v));
		assert_false(json_object_object_get_ex(row, "text", &v));
		row = json_object_array_get_idx(all, 2);
		assert_false(json_object_object_get_ex(row, "n", &v));
		json_object_put(all);
		free(text);
	}
}

/* A process may call itself anything; what is printed stays valid and tame. */
static void hostile_names(void **state)
{
	static const struct thing hostile[] = {
		{ "\"\\\n\033[2J", 1, true }, { "\xff\xc3\xa9\xe2\x82", 1, true },
		{ "\xed\xa0\x80", 1, true },
		/* a terminal's CSI as U+009B, and as Latin-1 has it */
		{ "\xc2\x9b" "2J\x9b" "2J\xc3\x9b", 1, true },
	};
	struct rows rows = ROWS(things, hostile, 4);
	struct out o = { .json = true };
	struct json_tokener *tok = json_tokener_new();
	struct json_object *all, *v;
	char *text = render(&o, &rows);

	(void)state;
	json_tokener_set_flags(tok, JSON_TOKENER_VALIDATE_UTF8 |
			       JSON_TOKENER_STRICT);
	all = json_tokener_parse_ex(tok, text, strlen(text));
	assert_non_null(all);
	json_object_object_get_ex(json_object_array_get_idx(all, 0), "name",
				  &v);
	assert_string_equal(json_object_get_string(v), hostile[0].name);
	json_object_object_get_ex(json_object_array_get_idx(all, 1), "name",
				  &v);
	assert_string_equal(json_object_get_string(v),
			    "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
	json_object_put(all);
	json_tokener_free(tok);
	free(text);

	o.json = false;
	text = render(&o, &rows);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "?\xc3\xa9??"));
	assert_non_null(strstr(text, "??2J?2J\xc3\x9b"));
	free(text);
}

static void events(void **state)
{
	struct rows rows = ROWS(things, rows_of_three, 1);
	struct out o = { 0 };
	size_t size;
	char *text;

	(void)state;
	o.f = open_memstream(&text, &size);
	out_event(NULL, &o, NULL, "created", TONE_GOOD, &rows);
	o.json = true;
	rows.n_columns = 2;
	out_event(NULL, &o, NULL, "created", TONE_GOOD, &rows);
	fclose(o.f);
	assert_string_equal(text,
			    "created name a n 5 error ETIMEDOUT text a\n"
			    "{\"event\":\"created\",\"name\":\"a\",\"n\":5}\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(action_grammar),
		cmocka_unit_test(action_grammar_library),
		cmocka_unit_test(action_grammar_clear),
		cmocka_unit_test(action_grammar_bad),
		cmocka_unit_test(action_too_many),
		cmocka_unit_test(abbreviations),
		cmocka_unit_test(numbers),
		cmocka_unit_test(members),
		cmocka_unit_test(text_is_aligned),
		cmocka_unit_test(text_nested_below),
		cmocka_unit_test(nothing_to_show),
		cmocka_unit_test(colours),
		cmocka_unit_test(json_rows_parse),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
