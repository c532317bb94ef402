// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Recorded snapshots: the same when read again, and readable when cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/record.h"
#include "unit/snap_build.h"

static char *bytes;
static size_t len;

/* Three readings: the scene, more traffic, and a QP that has gone. */
static struct made readings[3];

static void record(void)
{
	FILE *f = open_memstream(&bytes, &len);
	struct record r;
	size_t i;

	assert_non_null(f);
	made_scene(&readings[0], 1000, 0);
	made_scene(&readings[1], 1100, 250000);
	readings[1].qps[1].wrs = 123456789012ULL;
	made_scene(&readings[2], 1200, 260000);
	readings[2].s.n_qps = 2;
	readings[2].s.n_jobs = 2;
	readings[2].qps[0].doorbells = 5;
	snprintf(readings[2].jobs[1].name, SNAP_NAME, "other");
	assert_int_equal(record_begin(&r, f), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(record_write(&r, &readings[i].s), 0);
	record_end(&r);
	fclose(f);
}

static void same(const struct snapshot *a, const struct snapshot *b)
{
	size_t i, k;

	assert_int_equal(a->time, b->time);
	assert_int_equal(a->n_devs, b->n_devs);
	assert_int_equal(a->n_ports, b->n_ports);
	assert_int_equal(a->n_uars, b->n_uars);
	assert_int_equal(a->n_qps, b->n_qps);
	assert_int_equal(a->n_jobs, b->n_jobs);
	assert_string_equal(a->devs[0].name, b->devs[0].name);
	assert_int_equal(a->ports[0].tx_bytes, b->ports[0].tx_bytes);
	for (i = 0; i < a->n_qps; i++) {
		assert_int_equal(a->qps[i].qpn, b->qps[i].qpn);
		assert_int_equal(a->qps[i].wrs, b->qps[i].wrs);
		assert_int_equal(a->qps[i].doorbells, b->qps[i].doorbells);
		assert_int_equal(a->qps[i].has, b->qps[i].has);
		assert_int_equal(a->qps[i].job, b->qps[i].job);
	}
	for (i = 0; i < a->n_jobs; i++) {
		assert_string_equal(a->jobs[i].name, b->jobs[i].name);
		assert_int_equal(a->jobs[i].n_stats, b->jobs[i].n_stats);
		for (k = 0; k < a->jobs[i].n_stats; k++)
			assert_int_equal(a->jobs[i].stats[k].qps,
					 b->jobs[i].stats[k].qps);
	}
}

/* How many records of these bytes can be read. */
static size_t readable(const char *p, size_t n, const char **problem)
{
	FILE *f = fmemopen((void *)p, n ? n : 1, "r");
	struct record r;
	size_t got = 0;

	assert_non_null(f);
	*problem = "not a recording";
	if (n && !record_open(&r, f)) {
		while (record_next(&r) == 1) {
			if (got < 3)
				same(&r.last, &readings[got].s);
			got++;
		}
		*problem = r.problem;
		record_end(&r);
	}
	fclose(f);
	return got;
}

static void test_round_trip(void **state)
{
	const char *problem;

	(void)state;
	record();
	assert_int_equal(readable(bytes, len, &problem), 3);
	assert_null(problem);
	free(bytes);
}

/* Wherever it ends: what was whole is there, and it is said. */
static void test_cut_off(void **state)
{
	const char *problem;
	size_t n, got, before = 0, steps = 0;

	(void)state;
	record();
	for (n = 1; n < len; n++) {
		got = readable(bytes, n, &problem);
		assert_true(got == before || got == before + 1);
		/* Only between two records nothing is missing. */
		steps += got != before;
		if (n > 12 && got == before)
			assert_string_equal(problem, "the last record is cut off");
		before = got;
	}
	assert_int_equal(before, 2);
	assert_int_equal(steps, 2);
	free(bytes);
}

/* A bit that fell over is found, and what came before it is kept. */
static void test_damaged(void **state)
{
	const char *problem;
	size_t i;

	(void)state;
	record();
	for (i = 12; i < len; i++) {
		bytes[i] ^= 0x10;
		assert_true(readable(bytes, len, &problem) < 3);
		assert_non_null(problem);
		bytes[i] ^= 0x10;
	}
	bytes[8] = 2;
	assert_int_equal(readable(bytes, len, &problem), 0);
	free(bytes);
}

/* What stands still costs a byte a field. */
static void test_compact(void **state)
{
	size_t before;
	struct record r;
	FILE *f = open_memstream(&bytes, &len);

	(void)state;
	assert_non_null(f);
	made_scene(&readings[0], 1000, 0);
	assert_int_equal(record_begin(&r, f), 0);
	assert_int_equal(record_write(&r, &readings[0].s), 0);
	before = len;
	assert_int_equal(record_write(&r, &readings[0].s), 0);
	assert_true(len - before < 300);
	record_end(&r);
	fclose(f);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_compact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
