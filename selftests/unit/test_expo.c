// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The formats of metrics, their negotiation, and the bound on series. */
#include "unit/expo_rig.h"

static const struct expo_family counter = {
	"srdma_work_seconds", "Time.", EXPO_COUNTER, "seconds",
};
static const struct expo_family info = { "srdma_thing", "A thing.", EXPO_INFO, NULL };
static const struct expo_family gauge = { "srdma_level", "A level.", EXPO_GAUGE, NULL };
static const struct expo_family histogram = {
	"srdma_wait_seconds", "Waits.", EXPO_HISTOGRAM, "seconds",
};

static void write_all(struct expo *e, enum expo_format format)
{
	static const uint64_t bound[] = { 500000, 1000000000 }, cumulative[] = { 2, 5 };
	const struct expo_histogram h = { bound, cumulative, 2, 6, 12.25 };
	struct expo_labels l;

	labels_init(&l);
	labels_add(&l, "job", "a\"b\\c");
	labels_add_u64(&l, "port", 1);
	expo_begin(e, format, EXPO_RESERVE + 100);
	expo_family(e, &info);
	expo_u64(e, &l, 1, 0);
	expo_family(e, &gauge);
	expo_family(e, &counter);
	expo_ns(e, &l, 1500000000, 1700000000250000000);
	expo_family(e, &histogram);
	expo_histogram(e, NULL, &h, 1700000000000000000);
	assert_true(expo_end(e));
}

static void text_format(void **state)
{
	static const char want[] =
		"# HELP srdma_thing_info A thing.\n"
		"# TYPE srdma_thing_info gauge\n"
		"srdma_thing_info{job=\"a\\\"b\\\\c\",port=\"1\"} 1\n"
		"# HELP srdma_work_seconds_total Time.\n"
		"# TYPE srdma_work_seconds_total counter\n"
		"srdma_work_seconds_total{job=\"a\\\"b\\\\c\",port=\"1\"} 1.5\n"
		"# HELP srdma_wait_seconds Waits.\n"
		"# TYPE srdma_wait_seconds histogram\n"
		"srdma_wait_seconds_bucket{le=\"0.0005\"} 2\n"
		"srdma_wait_seconds_bucket{le=\"1.0\"} 5\n"
		"srdma_wait_seconds_bucket{le=\"+Inf\"} 6\n"
		"srdma_wait_seconds_sum 12.25\n"
		"srdma_wait_seconds_count 6\n";
	struct expo e = { 0 };

	(void)state;
	write_all(&e, EXPO_TEXT);
	assert_int_equal(e.len, strlen(want));
	assert_memory_equal(e.buf, want, e.len);
	assert_int_equal(e.series, 7);
	expo_free(&e);
}

static void openmetrics(void **state)
{
	static const char want[] =
		"# HELP srdma_thing A thing.\n"
		"# TYPE srdma_thing info\n"
		"srdma_thing_info{job=\"a\\\"b\\\\c\",port=\"1\"} 1\n"
		"# HELP srdma_work_seconds Time.\n"
		"# TYPE srdma_work_seconds counter\n"
		"# UNIT srdma_work_seconds seconds\n"
		"srdma_work_seconds_total{job=\"a\\\"b\\\\c\",port=\"1\"} 1.5\n"
		"srdma_work_seconds_created{job=\"a\\\"b\\\\c\",port=\"1\"} 1700000000.25\n"
		"# HELP srdma_wait_seconds Waits.\n"
		"# TYPE srdma_wait_seconds histogram\n"
		"# UNIT srdma_wait_seconds seconds\n"
		"srdma_wait_seconds_bucket{le=\"0.0005\"} 2\n"
		"srdma_wait_seconds_bucket{le=\"1.0\"} 5\n"
		"srdma_wait_seconds_bucket{le=\"+Inf\"} 6\n"
		"srdma_wait_seconds_sum 12.25\n"
		"srdma_wait_seconds_count 6\n"
		"srdma_wait_seconds_created 1700000000\n"
		"# EOF\n";
	struct expo e = { 0 };

	(void)state;
	write_all(&e, EXPO_OPENMETRICS);
	assert_int_equal(e.len, strlen(want));
	assert_memory_equal(e.buf, want, e.len);
	expo_free(&e);
}

static void numbers(void **state)
{
	struct expo e = { 0 };
	char text[256];

	(void)state;
	expo_begin(&e, EXPO_TEXT, EXPO_RESERVE + 100);
	expo_family(&e, &gauge);
	expo_u64(&e, NULL, UINT64_MAX, 0);
	expo_ns(&e, NULL, 1, 0);
	expo_ns(&e, NULL, 12000000000, 0);
	expo_real(&e, NULL, 0.1, 0);
	expo_real(&e, NULL, -3, 0);
	expo_real(&e, NULL, __builtin_nan(""), 0);
	expo_real(&e, NULL, __builtin_inf(), 0);
	snprintf(text, sizeof(text), "%.*s", (int)e.len, e.buf);
	assert_string_equal(strstr(text, "gauge\n") + 6,
			    "srdma_level 18446744073709551615\nsrdma_level 0.000000001\n"
			    "srdma_level 12\nsrdma_level 0.1\nsrdma_level -3\nsrdma_level NaN\n"
			    "srdma_level +Inf\n");
	expo_free(&e);
}

/* What is dropped is dropped whole and counted; the reserve is not touched before its time. */
static void bound(void **state)
{
	static const uint64_t bound[] = { 1 }, cumulative[] = { 0 };
	const struct expo_histogram h = { bound, cumulative, 1, 0, 0 };
	struct expo e = { 0 };

	(void)state;
	expo_begin(&e, EXPO_OPENMETRICS, EXPO_RESERVE + 3);
	expo_family(&e, &counter);
	expo_u64(&e, NULL, 1, 1);
	expo_u64(&e, NULL, 1, 1);
	expo_u64(&e, NULL, 1, 0);
	expo_family(&e, &histogram);
	expo_histogram(&e, NULL, &h, 0);
	assert_int_equal(e.series, 3);
	assert_int_equal(e.all_dropped, 2 + 4);
	assert_int_equal(e.n_dropped, 2);
	assert_ptr_equal(e.dropped[0].family, &counter);
	assert_int_equal(e.dropped[0].n, 2);
	assert_int_equal(e.dropped[1].n, 4);
	expo_release(&e);
	expo_histogram(&e, NULL, &h, 0);
	assert_int_equal(e.series, 7);
	/* The header is written with the first sample, so a family that has none has no header. */
	assert_null(memmem(e.buf, e.len, "srdma_level", 11));
	expo_free(&e);
}

static void labels(void **state)
{
	struct expo_labels l;
	char longest[2 * EXPO_LABELS];

	(void)state;
	labels_init(&l);
	labels_add(&l, "a", "");
	assert_string_equal(l.text, "");
	labels_add(&l, "a", "x\ny\033z\xff");
	assert_string_equal(l.text, "a=\"x?y?z?\"");
	/* One that does not fit is left out, and does not break the others. */
	memset(longest, '"', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	labels_add(&l, "b", longest);
	labels_add(&l, "c", "d");
	assert_string_equal(l.text, "a=\"x?y?z?\",c=\"d\"");
}

static void negotiation(void **state)
{
	static const struct {
		const char *accept;
		enum expo_format format;
	} cases[] = {
		{ NULL, EXPO_TEXT },
		{ "", EXPO_TEXT },
		{ "*/*", EXPO_TEXT },
		{ "text/html,*/*;q=0.8", EXPO_TEXT },
		{ "application/openmetrics-text", EXPO_OPENMETRICS },
		/* Prometheus 2.42. */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  EXPO_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0;q=0.2, text/plain;version=0.0.4;q=0.5",
		  EXPO_TEXT },
		{ "application/openmetrics-text; version=0.0.1", EXPO_TEXT },
		{ "application/openmetrics-text;version=1.0.0;q=0", EXPO_TEXT },
		{ ",,;q=,application/openmetrics-text;q=x,", EXPO_TEXT },
		{ "application/openmetrics-text; version=\"1.0.0\"; q=1", EXPO_OPENMETRICS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(expo_negotiate(cases[i].accept), cases[i].format);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_format),
		cmocka_unit_test(openmetrics),
		cmocka_unit_test(numbers),
		cmocka_unit_test(bound),
		cmocka_unit_test(labels),
		cmocka_unit_test(negotiation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
