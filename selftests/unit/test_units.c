// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Quantities: what is written is what is read, in both directions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/vocab.h"

static void parses(const char *s, double v, enum unit unit)
{
	struct quantity q;

	assert_int_equal(units_parse(s, strlen(s), &q, NULL), 0);
	assert_true(q.v == v);
	assert_int_equal(q.unit, unit);
}

static void test_parse(void **state)
{
	(void)state;
	parses("5us", 5e3, UNIT_TIME);
	parses(" 1.5 ms ", 1.5e6, UNIT_TIME);
	parses("7ns", 7, UNIT_TIME);
	parses("2s", 2e9, UNIT_TIME);
	parses("20Mbit/s", 20e6, UNIT_BITRATE);
	parses("400 Gbit/s", 400e9, UNIT_BITRATE);
	parses("9600 bit/s", 9600, UNIT_BITRATE);
	parses("80%", 0.8, UNIT_RATIO);
	parses("97.3 %", 97.3 / 100, UNIT_RATIO);
	parses("100/s", 100, UNIT_RATE);
	parses("100 1/s", 100, UNIT_RATE);
	parses("3k/s", 3000, UNIT_RATE);
	parses("512", 512, UNIT_COUNT);
	parses("10k", 10000, UNIT_COUNT);
	parses("64KiB", 65536, UNIT_BYTES);
	parses("1.5 MiB", 1572864, UNIT_BYTES);
	parses("512B", 512, UNIT_BYTES);
}

static void refuses(const char *s, int err)
{
	struct quantity q;
	size_t at;

	assert_int_equal(units_parse(s, strlen(s), &q, &at), err);
}

static void test_refuse(void **state)
{
	(void)state;
	refuses("", -EINVAL);
	refuses("us", -EINVAL);
	refuses("-1", -EINVAL);
	refuses(".", -EINVAL);
	refuses("5.", -EINVAL);
	refuses("1e3", -ENOENT);
	refuses("1.2.3", -ENOENT);
	refuses("5 parsecs", -ENOENT);
	refuses("12345678901234567", -ERANGE);
	assert_string_equal(units_suggest("mbit", 4), "Mbit/s");
	assert_string_equal(units_suggest("usec", 4), "us");
	assert_string_equal(units_suggest("MB", 2), "MiB");
	assert_null(units_suggest("parsecs", 7));
}

static void shows(double v, enum unit unit, const char *want)
{
	char buf[64];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	units_format(&t, v, unit);
	assert_string_equal(buf, want);
}

static void test_format(void **state)
{
	(void)state;
	shows(0.9731, UNIT_RATIO, "97.3 %");
	shows(65536, UNIT_BYTES, "64 KiB");
	shows(1073741824, UNIT_BYTES, "1 GiB");
	shows(0.8, UNIT_RATIO, "80 %");
	shows(5e3, UNIT_TIME, "5 us");
	shows(1.25e6, UNIT_TIME, "1.25 ms");
	shows(19.46e6, UNIT_BITRATE, "19.5 Mbit/s");
	shows(1234.5, UNIT_RATE, "1234.5/s");
	shows(0, UNIT_TIME, "0 ns");
	shows(0.999999, UNIT_RATIO, "100 %");
	shows(4, UNIT_COUNT, "4");
}

static void test_round_trip(void **state)
{
	static const enum unit units[] = {
		UNIT_COUNT, UNIT_TIME, UNIT_BITRATE, UNIT_RATE, UNIT_RATIO,
	};
	static const double values[] = {
		0, 1, 3, 0.5, 0.8, 80, 999, 1000, 1001, 1500, 2000000,
		123456789, 20e6, 97.3 / 100, 0.001, 1e9, 25.5e9,
	};
	struct quantity q;
	char buf[64];
	struct text t;
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		for (k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			text_init(&t, buf, sizeof(buf));
			units_format_exact(&t, values[k], units[i]);
			assert_int_equal(units_parse(buf, t.len, &q, NULL), 0);
			assert_true(q.v == values[k]);
			assert_int_equal(q.unit, units[i]);
		}
}

static void test_text_cuts(void **state)
{
	char buf[6];
	struct text t;

	(void)state;
	text_init(&t, buf, sizeof(buf));
	text_str(&t, "abc");
	text_u64(&t, 18446744073709551615ULL);
	assert_string_equal(buf, "abc18");
	assert_true(t.cut);
}

static void test_vocab(void **state)
{
	double v;
	size_t i;

	(void)state;
	for (i = 0; i < SIGNALS; i++) {
		assert_int_equal(vocab_obj(i), vocab_signals[i].obj);
		assert_true(i >= vocab_first(vocab_signals[i].obj) &&
			    i < vocab_first(vocab_signals[i].obj) +
				vocab_width(vocab_signals[i].obj));
	}
	assert_int_equal(vocab_word(UNIT_CLASS, "latency", 7, &v), 0);
	assert_string_equal(vocab_word_name(UNIT_CLASS, v), "latency");
	assert_int_equal(vocab_word(UNIT_CLASS, "RTS", 3, &v), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_text_cuts),
		cmocka_unit_test(test_vocab),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
