// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What swiftrdma probe prints: a report that is JSON, and text with more where it matters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "probe/print.h"

static struct cli cli;
static struct probe probe;
static struct probe_finding found[3];
static char *text;
static size_t size;

static void make_finding(struct probe_finding *f, const char *check)
{
	memset(f, 0, sizeof(*f));
	f->check = check;
	f->assumed = "the assumption";
	f->source = "the source";
}

static int setup(void **state)
{
	struct probe_figure *g;

	(void)state;
	memset(&cli, 0, sizeof(cli));
	memset(&probe, 0, sizeof(probe));
	cli.version = "1.0";
	probe.nic.name = "mlx5_0";
	strcpy(probe.driver, "mlx5_core");
	strcpy(probe.firmware, "22.36.1010");
	strcpy(probe.board, "MT_0000000359");
	make_finding(&found[0], "dbrec");
	finding_compare(&found[0], PROBE_EXACT, "WQEBB", 5, 5, "record");
	finding_say(&found[0], "five of \"5\"");
	make_finding(&found[1], "dscp");
	finding_cannot(&found[1], "the port is InfiniBand");
	make_finding(&found[2], "registers");
	finding_compare(&found[2], PROBE_AT_LEAST, "times", 1.2, 1, "ratio");
	g = finding_compare(&found[2], PROBE_SHOWN, "1/s", 0, 3e6, "rate");
	g->has_model = true;
	g->model = 4e6;
	finding_say(&found[2], "no faster");
	cli.out.f = open_memstream(&text, &size);
	return cli.out.f ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static struct json_object *get(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no %s in %s", key, json_object_to_json_string(o));
	return v;
}

static const char *get_string(struct json_object *o, const char *key)
{
	return json_object_get_string(get(o, key));
}

static void test_json(void **state)
{
	struct json_object *root, *checks, *c, *g;

	(void)state;
	probe.simulated = true;
	cli.out.json = true;
	print_json(&cli, &probe, &cli.out, found, 3);
	fclose(cli.out.f);
	root = json_tokener_parse(text);
	assert_non_null(root);
	assert_string_equal(get_string(root, "dev"), "mlx5_0");
	assert_string_equal(get_string(root, "firmware"), "22.36.1010");
	assert_string_equal(get_string(root, "link_layer"), "InfiniBand");
	assert_true(json_object_get_boolean(get(root, "simulated")));
	assert_false(json_object_get_boolean(get(root, "module")));
	checks = get(root, "checks");
	assert_int_equal(json_object_array_length(checks), 3);
	c = json_object_array_get_idx(checks, 0);
	assert_string_equal(get_string(c, "verdict"), "as assumed");
	assert_string_equal(get_string(c, "found"), "five of \"5\"");
	c = json_object_array_get_idx(checks, 1);
	assert_string_equal(get_string(c, "verdict"), "cannot");
	assert_int_equal(json_object_array_length(get(c, "figures")), 0);
	c = json_object_array_get_idx(checks, 2);
	assert_string_equal(get_string(c, "verdict"), "differs");
	g = json_object_array_get_idx(get(c, "figures"), 0);
	assert_string_equal(get_string(g, "compare"), "at least");
	assert_true(json_object_get_double(get(g, "assumed")) == 1.2);
	assert_true(json_object_get_double(get(g, "found")) == 1);
	g = json_object_array_get_idx(get(c, "figures"), 1);
	assert_false(json_object_object_get_ex(g, "assumed", NULL));
	assert_true(json_object_get_double(get(g, "model")) == 4e6);
	json_object_put(root);
}

static const char *print_one(const struct probe_finding *f)
{
	print_finding(&cli, &cli.out, f);
	fclose(cli.out.f);
	return text;
}

static void test_brief(void **state)
{
	(void)state;
	assert_string_equal(print_one(&found[0]), "dbrec          as assumed  five of \"5\"\n");
}

/* What differs has its assumption, source and figures without being asked for them. */
static void test_differs(void **state)
{
	const char *s = print_one(&found[2]);

	(void)state;
	assert_non_null(strstr(s, "the assumption"));
	assert_non_null(strstr(s, "the source"));
	assert_non_null(strstr(s, "at least"));
	assert_non_null(strstr(s, "MODEL"));
}

static void test_details(void **state)
{
	const char *s;

	(void)state;
	cli.out.details = true;
	s = print_one(&found[0]);
	assert_non_null(strstr(s, "the assumption"));
	assert_non_null(strstr(s, "exactly"));
	assert_null(strstr(s, "MODEL"));
}

static void test_device(void **state)
{
	(void)state;
	probe.has_peer = true;
	probe.other.name = "mlx5_1";
	probe.nic.eth = true;
	print_device(&probe, &cli.out);
	print_sum(&probe, &cli.out, found, 3);
	fclose(cli.out.f);
	assert_non_null(strstr(text, "mlx5_0 to mlx5_1: driver mlx5_core, firmware 22.36.1010"));
	assert_non_null(strstr(text, "Ethernet"));
	assert_null(strstr(text, "imulated"));
	assert_null(strstr(text, "SIMULATED"));
	assert_non_null(strstr(text, "1 as assumed, 1 differs, 1 cannot be tried\n"));
}

static void test_simulated(void **state)
{
	(void)state;
	probe.simulated = true;
	print_device(&probe, &cli.out);
	print_sum(&probe, &cli.out, found, 3);
	fclose(cli.out.f);
	assert_non_null(strstr(text, "SIMULATED: the device is software"));
	assert_non_null(strstr(text, "cannot be tried (simulated)\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_brief, setup, teardown),
		cmocka_unit_test_setup_teardown(test_differs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_details, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_simulated, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
