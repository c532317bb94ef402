/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A recording in memory, and three readings to write into it. */
#ifndef SELFTESTS_UNIT_RECORD_RIG_H
#define SELFTESTS_UNIT_RECORD_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/io.h"
#include "io/recorder.h"
#include "unit/snap_build.h"

static char *bytes;
static size_t len;

/* Three readings: the scene, more traffic, and a QP that has gone. */
static struct made readings[3];

static inline void make_readings(void)
{
	made_scene(&readings[0], 1000, 0);
	made_scene(&readings[1], 1100, 250000);
	readings[1].qps[1].wrs = 123456789012ULL;
	made_scene(&readings[2], 1200, 260000);
	readings[2].s.n_qps = 2;
	readings[2].s.n_jobs = 2;
	readings[2].qps[0].doorbells = 5;
	snprintf(readings[2].jobs[1].name, SNAP_NAME, "other");
}

static inline struct recorder *begin(FILE **f)
{
	struct recorder *r;

	*f = open_memstream(&bytes, &len);
	assert_non_null(*f);
	r = recorder_open(*f);
	assert_non_null(r);
	return r;
}

static inline void finish(FILE *f, struct recorder *r)
{
	assert_int_equal(recorder_close(r), 0);
	fclose(f);
}

static inline struct player *play(FILE **f)
{
	struct player *p;

	*f = fmemopen(bytes, len, "r");
	assert_non_null(*f);
	assert_int_equal(player_open(&p, *f, NULL), 0);
	return p;
}

static inline void stop(FILE *f, struct player *p)
{
	player_close(p);
	fclose(f);
	free(bytes);
}

static inline void same(const struct snapshot *a, const struct snapshot *b)
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

#endif
