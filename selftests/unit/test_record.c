// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Recorded snapshots and events: the same when read again, and readable when cut off. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "sim/record.h"
#include "sim/record_event.h"
#include "unit/snap_build.h"

static char *bytes;
static size_t len;

/* Three readings: the scene, more traffic, and a QP that has gone. */
static struct made readings[3];

/* One event of each kind, and one that is like the one before it. */
static struct snap_qp born = {
	.has = SNAP_OWNER | SNAP_STATE | SNAP_PORT, .qpn = 20, .serial = 20, .type = 2,
	.job = 1, .port = 1, .owner = 7, .max_send_wr = 128, .since = 1050 * MS,
};
static struct snap_owner parent = {
	.pid = 300, .uid = 5, .cgroup_id = 77, .comm = "kv", .exe = "kv", .cgroup = "/kv",
};
static struct snap_action done = {
	.kind = 1, .knob = 1, .value = 3, .job = "kv", .reason = "port: so", .has_value = true,
	.qps = 2, .qps_done = 2, .lease_id = 9, .lease_rank = 100,
	.decision = {
		.has = SNAP_SEEN_DEV | SNAP_COOLDOWN, .policy = "port", .tick = 7,
		.cooldown = 1000000000, .dev = 3, .n_readings = 2,
		.readings = { { "port.util", true, 973000 }, { "job.p99", false, 0 } },
	},
};
/* By hand: what the one before it was decided by is not its own. */
static struct snap_action by_hand = {
	.kind = 1, .knob = 1, .value = 2, .job = "kv", .has_value = true, .lease_id = 10,
};
static struct snap_action less = {
	.kind = 1, .knob = 1, .value = 2, .job = "kv", .has_value = true, .lease_id = 9,
	.decision = {
		.policy = "port", .tick = 8, .n_readings = 1,
		.readings = { { "port.util", true, -1 } },
	},
};
static struct snap_dev full = {
	.has = SNAP_CONGESTED, .name = "rxe0", .congestions = 4, .congestion_level = 2,
};
static struct snap_uar busy[2] = {
	{ .has = SNAP_RECENT, .index = 3, .qps = 4, .recent_wrs = 1000 },
	{ .has = SNAP_RECENT, .index = 2, .qps = 1, .recent_wrs = 10 },
};

static const struct snap_event events[] = {
	{ .kind = SNAP_EVENT_QP_CREATED, .qp = &born, .owner = &parent },
	{ .kind = SNAP_EVENT_QP_CREATED, .qp = &born, .owner = &parent },
	{ .kind = SNAP_EVENT_ACTION, .action = &done, .batch = 12, .index = 1 },
	{ .kind = SNAP_EVENT_CONGESTION, .dev = &full, .uars = busy, .n_uars = 2 },
	{ .kind = SNAP_EVENT_LOST, .why = "events came faster than they were read" },
	{ .kind = SNAP_EVENT_LEASE_END, .lease = 9, .expired = true },
	{ .kind = SNAP_EVENT_QP_DESTROYED, .qp = &born },
	{ .kind = SNAP_EVENT_ACTION, .action = &by_hand, .batch = 13 },
	{ .kind = SNAP_EVENT_ACTION, .action = &less, .batch = 14 },
};

/* What comes when: readings and events, by their place in these. */
static const struct {
	enum record_what what;
	size_t i;
} items[] = {
	{ RECORD_EVENT, 4 }, { RECORD_READING, 0 }, { RECORD_EVENT, 0 },
	{ RECORD_EVENT, 1 }, { RECORD_EVENT, 2 }, { RECORD_READING, 1 },
	{ RECORD_EVENT, 3 }, { RECORD_EVENT, 4 }, { RECORD_EVENT, 5 },
	{ RECORD_READING, 2 }, { RECORD_EVENT, 6 }, { RECORD_EVENT, 0 },
	{ RECORD_EVENT, 7 }, { RECORD_EVENT, 8 }, { RECORD_EVENT, 2 },
};

#define ITEMS (sizeof(items) / sizeof(items[0]))

static uint64_t event_time(size_t i)
{
	return (1000 + 10 * i) * MS;
}

static void make_readings(void)
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

static void record(void)
{
	FILE *f = open_memstream(&bytes, &len);
	struct record r;
	size_t i;

	assert_non_null(f);
	make_readings();
	assert_int_equal(record_begin(&r, f), 0);
	for (i = 0; i < ITEMS; i++)
		assert_int_equal(items[i].what == RECORD_READING ?
				 record_write(&r, &readings[items[i].i].s) :
				 record_write_event(&r, event_time(i),
						    &events[items[i].i]), 0);
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

static void same_event(const struct record_event *ev, size_t i)
{
	const struct snap_event *a = &ev->e, *b = &events[items[i].i];
	size_t k;

	assert_int_equal(ev->head.time, event_time(i));
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->batch, b->batch);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->lease, b->lease);
	assert_int_equal(a->expired, b->expired);
	assert_string_equal(a->why, b->why ? b->why : "");
	assert_int_equal(!!a->qp, !!b->qp);
	assert_int_equal(!!a->owner, !!b->owner);
	assert_int_equal(!!a->action, !!b->action);
	assert_int_equal(!!a->dev, !!b->dev);
	assert_int_equal(a->n_uars, b->n_uars);
	if (b->qp) {
		struct snap_qp qp = *b->qp;

		/* The owner comes with the event. */
		qp.owner = 0;
		assert_memory_equal(a->qp, &qp, sizeof(qp));
	}
	if (b->owner)
		assert_memory_equal(a->owner, b->owner, sizeof(*a->owner));
	if (b->action) {
		struct snap_action action = *a->action;

		/* Behind the last one may be what another event had. */
		for (k = action.decision.n_readings; k < SNAP_READINGS; k++)
			memset(&action.decision.readings[k], 0,
			       sizeof(action.decision.readings[k]));
		assert_memory_equal(&action, b->action, sizeof(action));
	}
	if (b->dev)
		assert_memory_equal(a->dev, b->dev, sizeof(*a->dev));
	for (k = 0; k < b->n_uars; k++)
		assert_memory_equal(&a->uars[k], &b->uars[k], sizeof(*a->uars));
}

/* How many records of these bytes can be read. */
static size_t readable(const char *p, size_t n, const char **problem)
{
	FILE *f = fmemopen((void *)p, n ? n : 1, "r");
	struct record r;
	size_t got = 0;
	int what;

	assert_non_null(f);
	*problem = "not a recording";
	if (n && !record_open(&r, f)) {
		for (; (what = record_next(&r)) > 0; got++) {
			assert_true(got < ITEMS);
			assert_int_equal(what, items[got].what);
			if (what == RECORD_READING)
				same(&r.last, &readings[items[got].i].s);
			else
				same_event(&r.event, got);
		}
		assert_int_equal(what, RECORD_END);
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
	assert_int_equal(readable(bytes, len, &problem), ITEMS);
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
	assert_int_equal(before, ITEMS - 1);
	assert_int_equal(steps, ITEMS - 1);
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
		assert_true(readable(bytes, len, &problem) < ITEMS);
		assert_non_null(problem);
		bytes[i] ^= 0x10;
	}
	free(bytes);
}

/*
 * Version 3 had readings alone: the same three, written before there was another.
 * What came into it since is nought. Version 4 had readings alone, too: of what it
 * knew more, these bytes have none, so of that version only the number is looked at.
 */
static unsigned char version3[] = {
	0x53, 0x52, 0x44, 0x4d, 0x41, 0x72, 0x65, 0x63, 0x03, 0x00, 0x00, 0x00,
	0xbf, 0x00, 0x00, 0x00, 0xca, 0xb6, 0x7e, 0x09, 0x06, 0x80, 0xa8, 0xd6,
	0xb9, 0x07, 0x02, 0x01, 0x90, 0x82, 0xc0, 0x01, 0x06, 0x04, 0x72, 0x78,
	0x65, 0x30, 0x02, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0x01, 0xa5, 0x08, 0x80,
	0x18, 0x02, 0x80, 0xb4, 0x89, 0x13, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0x00,
	0x02, 0x95, 0x0c, 0x06, 0x02, 0x04, 0x02, 0x80, 0xa8, 0xd6, 0xb9, 0x07,
	0x95, 0x0c, 0x06, 0x04, 0x02, 0x02, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0x03,
	0xfd, 0x83, 0x80, 0x80, 0x0c, 0xbe, 0x80, 0x01, 0x22, 0x22, 0x04, 0x06,
	0x02, 0x02, 0x02, 0x02, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0xfd, 0x83, 0x80,
	0x80, 0x0c, 0xbe, 0x80, 0x01, 0x24, 0x24, 0x04, 0x06, 0x02, 0x02, 0x02,
	0x02, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0xfd, 0x8b, 0x80, 0x80, 0x0c, 0xbe,
	0x80, 0x01, 0x26, 0x26, 0x04, 0x06, 0x02, 0x04, 0x04, 0x02, 0x02, 0x80,
	0xa8, 0xd6, 0xb9, 0x07, 0x02, 0x01, 0xc8, 0x01, 0x01, 0x90, 0x03, 0x03,
	0x3c, 0x0a, 0x75, 0x6e, 0x61, 0x73, 0x73, 0x69, 0x67, 0x6e, 0x65, 0x64,
	0x02, 0x02, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0x01, 0x06, 0x3f, 0x02, 0x02,
	0x02, 0x6b, 0x76, 0x02, 0x02, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0x05, 0x06,
	0x04, 0x3f, 0x04, 0x06, 0x04, 0x62, 0x75, 0x6c, 0x6b, 0x02, 0x02, 0x80,
	0xa8, 0xd6, 0xb9, 0x07, 0x05, 0x06, 0x02, 0x5e, 0x00, 0x00, 0x00, 0xaf,
	0x9c, 0x92, 0x04, 0x02, 0x80, 0x84, 0xaf, 0x5f, 0x01, 0x80, 0x80, 0x80,
	0x01, 0x80, 0x84, 0xaf, 0x5f, 0x01, 0xc0, 0x08, 0xa0, 0xc2, 0x1e, 0x80,
	0x84, 0xaf, 0x5f, 0x00, 0x02, 0x80, 0x08, 0x80, 0x84, 0xaf, 0x5f, 0x80,
	0x08, 0x80, 0x84, 0xaf, 0x5f, 0x03, 0x80, 0x80, 0x80, 0x80, 0x08, 0x80,
	0x84, 0xaf, 0x5f, 0x80, 0x80, 0x80, 0x80, 0x0a, 0xa8, 0xe8, 0xc8, 0xe9,
	0x97, 0x07, 0x80, 0x84, 0xaf, 0x5f, 0x80, 0x80, 0x80, 0x80, 0x08, 0x80,
	0x84, 0xaf, 0x5f, 0x02, 0x00, 0x00, 0x03, 0x20, 0x80, 0x84, 0xaf, 0x5f,
	0x00, 0x20, 0x80, 0x84, 0xaf, 0x5f, 0x00, 0x20, 0x80, 0x84, 0xaf, 0x5f,
	0x00, 0x56, 0x00, 0x00, 0x00, 0x0d, 0x19, 0xfe, 0x0c, 0x02, 0x80, 0x84,
	0xaf, 0x5f, 0x01, 0x80, 0x80, 0x80, 0x01, 0x80, 0x84, 0xaf, 0x5f, 0x01,
	0xc0, 0x08, 0xa0, 0x9c, 0x01, 0x80, 0x84, 0xaf, 0x5f, 0x00, 0x02, 0x80,
	0x08, 0x80, 0x84, 0xaf, 0x5f, 0x80, 0x08, 0x80, 0x84, 0xaf, 0x5f, 0x02,
	0x80, 0x80, 0x80, 0x80, 0x09, 0x0a, 0x80, 0x84, 0xaf, 0x5f, 0x80, 0x80,
	0x80, 0x80, 0x0a, 0xa7, 0xe8, 0xc8, 0xe9, 0x97, 0x07, 0x80, 0x84, 0xaf,
	0x5f, 0x02, 0x00, 0x00, 0x02, 0x20, 0x80, 0x84, 0xaf, 0x5f, 0x00, 0x24,
	0x05, 0x6f, 0x74, 0x68, 0x65, 0x72, 0x80, 0x84, 0xaf, 0x5f, 0x00,
};

static void read_old(unsigned char version)
{
	struct record r;
	size_t i;
	FILE *f;

	version3[8] = version;
	f = fmemopen(version3, sizeof(version3), "r");
	assert_non_null(f);
	assert_int_equal(record_open(&r, f), 0);
	assert_int_equal(r.version, version);
	for (i = 0; i < 3; i++) {
		assert_int_equal(record_next(&r), RECORD_READING);
		same(&r.last, &readings[i].s);
		assert_int_equal(r.last.qps[0].udp_sport, 0);
	}
	assert_int_equal(record_next(&r), RECORD_END);
	assert_null(r.problem);
	record_end(&r);
	fclose(f);
}

static void test_old_version(void **state)
{
	(void)state;
	make_readings();
	read_old(3);
	read_old(4);
}

/* Version 5 had no decisions. */
static void test_old_action(void **state)
{
	FILE *f = open_memstream(&bytes, &len);
	struct record r;

	(void)state;
	assert_non_null(f);
	assert_int_equal(record_begin(&r, f), 0);
	assert_int_equal(record_write_event(&r, 1, &events[7]), 0);
	record_end(&r);
	fclose(f);
	bytes[8] = 5;
	f = fmemopen(bytes, len, "r");
	assert_non_null(f);
	assert_int_equal(record_open(&r, f), 0);
	assert_int_equal(record_next(&r), RECORD_EVENT);
	assert_memory_equal(r.event.e.action, &by_hand, sizeof(by_hand));
	assert_int_equal(record_next(&r), RECORD_END);
	assert_null(r.problem);
	record_end(&r);
	fclose(f);
	free(bytes);
}

/* More readings than there is room for. */
static void test_too_many_readings(void **state)
{
	static struct snap_action many;
	const struct snap_event e = { .kind = SNAP_EVENT_ACTION, .action = &many };
	struct record_event ev = { 0 };
	struct record_buf buf = { 0 };
	struct record_source in;
	const struct record_event nothing = { 0 };

	(void)state;
	strcpy(many.decision.policy, "p");
	many.decision.n_readings = SNAP_READINGS;
	assert_true(record_event_put(&buf, &nothing, 1, &e));
	in = (struct record_source){ buf.p, buf.p + buf.len };
	assert_int_equal(record_event_get(&in, &ev), RECORD_EVENT);
	record_event_free(&ev);
	/* The last byte of the decision: its readings, doubled. */
	assert_int_equal(buf.p[buf.len - SNAP_READINGS - 1], 2 * SNAP_READINGS);
	buf.p[buf.len - SNAP_READINGS - 1] += 2;
	in = (struct record_source){ buf.p, buf.p + buf.len };
	assert_int_equal(record_event_get(&in, &ev), 0);
	record_event_free(&ev);
	free(buf.p);
}

/* Of another version: refused as such. */
static void test_version(void **state)
{
	struct record r;
	FILE *f;

	(void)state;
	record();
	bytes[8] = 1;
	f = fmemopen(bytes, len, "r");
	assert_non_null(f);
	assert_int_equal(record_open(&r, f), -EPROTONOSUPPORT);
	assert_int_equal(r.version, 1);
	rewind(f);
	bytes[8] = RECORD_VERSION + 1;
	assert_int_equal(fflush(f), 0);
	assert_int_equal(record_open(&r, f), -EPROTONOSUPPORT);
	rewind(f);
	bytes[0] = 's';
	assert_int_equal(fflush(f), 0);
	assert_int_equal(record_open(&r, f), -EINVAL);
	fclose(f);
	free(bytes);
}

/* What stands still costs a byte an object, what moves its members alone. */
static void test_compact(void **state)
{
	size_t before, objects;
	struct record r;
	FILE *f = open_memstream(&bytes, &len);
	struct snapshot *s = &readings[0].s;

	(void)state;
	assert_non_null(f);
	made_scene(&readings[0], 1000, 0);
	assert_int_equal(record_begin(&r, f), 0);
	assert_int_equal(record_write(&r, s), 0);
	before = len;
	assert_int_equal(record_write(&r, s), 0);
	objects = 1 + s->n_devs + s->n_ports + s->n_uars + s->n_qps +
		  s->n_owners + 2 * s->n_jobs;
	/* Length and checksum, what it is, and seven tables say how many they have. */
	assert_int_equal(len - before, 8 + 1 + 7 + objects);
	before = len;
	s->qps[1].wrs += 1000;
	assert_int_equal(record_write(&r, s), 0);
	assert_true(len - before <= 8 + 1 + 7 + objects + 7);
	/* An event like the one before it: its mask and time, and two objects. */
	assert_int_equal(record_write_event(&r, 1001 * MS, &events[0]), 0);
	assert_int_equal(record_flush(&r), 0);
	before = len;
	assert_int_equal(record_write_event(&r, 1002 * MS, &events[0]), 0);
	assert_int_equal(record_flush(&r), 0);
	assert_true(len - before <= 8 + 1 + 1 + 4 + 2);
	record_end(&r);
	fclose(f);
	free(bytes);
}

/* --- Whole ------------------------------------------------------------------- */

/*
 * Objects of nothing but bytes that are not nought, each its own: a member that
 * is not recorded comes back nought, and so do the gaps between members, whose
 * bytes are known.
 */
#define GAPS_DEV	16
#define GAPS_PORT	0
#define GAPS_PRIO	4
#define GAPS_UAR 0
#define GAPS_QP		8
#define GAPS_STAT	8
#define GAPS_ACTION	12
#define GAPS_DECISION	4
#define GAPS_READING	7

static uint32_t noise;

static void fill(void *obj, size_t n)
{
	unsigned char *p = obj;

	while (n--) {
		noise = noise * 1103515245 + 12345;
		*p++ = (unsigned char)(1 + (noise >> 16) % 255);
	}
}

#define FILL_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

static void fill_objects(struct made *m, uint32_t seed)
{
	size_t i;

	noise = seed;
	made_init(m, 0);
	fill(&m->s.generation, sizeof(m->s.generation));
	fill(&m->s.time, sizeof(m->s.time));
	m->s.admin = seed & 1;
	m->s.n_devs = 2;
	m->s.n_ports = m->s.n_uars = m->s.n_qps = m->s.n_owners = 3;
	m->s.n_prios = 16;
	m->s.n_jobs = 2;
	fill(m->devs, sizeof(m->devs));
	fill(m->ports, sizeof(m->ports));
	fill(m->prios, sizeof(m->prios));
	fill(m->uars, sizeof(m->uars));
	fill(m->qps, sizeof(m->qps));
	fill(m->owners, sizeof(m->owners));
	fill(m->stats, sizeof(m->stats));
	for (i = 0; i < 3; i++) {
		FILL_TEXT(m->ports[i].netdev);
		FILL_TEXT(m->owners[i].comm);
		FILL_TEXT(m->owners[i].exe);
		FILL_TEXT(m->owners[i].cgroup);
		FILL_TEXT(m->owners[i].kernel);
		memset(&m->qps[i].adopted, 1, 1);
		memset(&m->qps[i].class_pending, 1, 1);
		memset(&m->qps[i].wrs_ambiguous, 1, 1);
		memset(&m->qps[i].devx, 1, 1);
	}
	for (i = 0; i < 2; i++) {
		struct snap_job *j = &m->jobs[i];

		FILL_TEXT(m->devs[i].name);
		FILL_TEXT(m->devs[i].provider);
		fill(j, sizeof(*j));
		FILL_TEXT(j->name);
		j->stats = m->stats[i];
		j->n_stats = 1 + i;
		j->rules = NULL;
		j->n_rules = 0;
	}
}

static void whole(const void *a, const void *b, size_t n, size_t gaps)
{
	const unsigned char *is = a, *was = b;
	size_t i, nought = 0;

	for (i = 0; i < n; i++) {
		nought += !is[i];
		if (is[i])
			assert_int_equal(is[i], was[i]);
	}
	assert_int_equal(nought, gaps);
}

static void whole_snapshot(const struct snapshot *is, const struct snapshot *was)
{
	size_t i, k;

	assert_int_equal(is->generation, was->generation);
	assert_int_equal(is->time, was->time);
	assert_int_equal(is->admin, was->admin);
	assert_int_equal(is->n_devs, was->n_devs);
	assert_int_equal(is->n_ports, was->n_ports);
	assert_int_equal(is->n_prios, was->n_prios);
	assert_int_equal(is->n_uars, was->n_uars);
	assert_int_equal(is->n_qps, was->n_qps);
	assert_int_equal(is->n_owners, was->n_owners);
	assert_int_equal(is->n_jobs, was->n_jobs);
	/* Each text ends in one that is nought. */
	for (i = 0; i < is->n_devs; i++)
		whole(&is->devs[i], &was->devs[i], sizeof(*is->devs),
		      GAPS_DEV + 2);
	for (i = 0; i < is->n_ports; i++)
		whole(&is->ports[i], &was->ports[i], sizeof(*is->ports),
		      GAPS_PORT + 1);
	for (i = 0; i < is->n_prios; i++)
		whole(&is->prios[i], &was->prios[i], sizeof(*is->prios),
		      GAPS_PRIO);
	for (i = 0; i < is->n_uars; i++)
		whole(&is->uars[i], &was->uars[i], sizeof(*is->uars), GAPS_UAR);
	for (i = 0; i < is->n_qps; i++)
		whole(&is->qps[i], &was->qps[i], sizeof(*is->qps), GAPS_QP);
	for (i = 0; i < is->n_owners; i++)
		whole(&is->owners[i], &was->owners[i], sizeof(*is->owners), 4);
	for (i = 0; i < is->n_jobs; i++) {
		const struct snap_job *a = &is->jobs[i], *b = &was->jobs[i];

		assert_int_equal(a->id, b->id);
		assert_int_equal(a->class, b->class);
		assert_string_equal(a->name, b->name);
		assert_int_equal(a->since, b->since);
		assert_int_equal(a->time, b->time);
		assert_int_equal(a->n_stats, b->n_stats);
		for (k = 0; k < a->n_stats; k++)
			whole(&a->stats[k], &b->stats[k], sizeof(*a->stats),
			      GAPS_STAT);
	}
}

static void test_whole(void **state)
{
	FILE *f = open_memstream(&bytes, &len);
	struct record r;
	size_t i;

	(void)state;
	assert_non_null(f);
	assert_int_equal(record_begin(&r, f), 0);
	for (i = 0; i < 3; i++) {
		fill_objects(&readings[i], (uint32_t)i + 7);
		/* Fewer, and then more again. */
		if (i == 1)
			readings[i].s.n_jobs = readings[i].s.n_qps = 1;
		assert_int_equal(record_write(&r, &readings[i].s), 0);
	}
	record_end(&r);
	fclose(f);
	f = fmemopen(bytes, len, "r");
	assert_non_null(f);
	assert_int_equal(record_open(&r, f), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(record_next(&r), 1);
		whole_snapshot(&r.last, &readings[i].s);
	}
	assert_int_equal(record_next(&r), 0);
	assert_null(r.problem);
	record_end(&r);
	fclose(f);
	free(bytes);
}

/* The action is the only object of an event that no reading has. */
static void test_whole_action(void **state)
{
	static struct snap_action all;
	const struct snap_event e = { .kind = SNAP_EVENT_ACTION, .action = &all };
	FILE *f = open_memstream(&bytes, &len);
	struct record r;
	size_t i;

	(void)state;
	noise = 9;
	fill(&all, sizeof(all));
	memset(&all.clear, 1, 1);
	memset(&all.has_dev, 1, 1);
	memset(&all.in_force, 1, 1);
	memset(&all.has_value, 1, 1);
	FILL_TEXT(all.job);
	FILL_TEXT(all.reason);
	FILL_TEXT(all.lease_origin);
	FILL_TEXT(all.decision.policy);
	all.decision.n_readings = SNAP_READINGS;
	for (i = 0; i < SNAP_READINGS; i++) {
		FILL_TEXT(all.decision.readings[i].signal);
		memset(&all.decision.readings[i].known, 1, 1);
	}
	assert_non_null(f);
	assert_int_equal(record_begin(&r, f), 0);
	assert_int_equal(record_write_event(&r, 1, &e), 0);
	record_end(&r);
	fclose(f);
	f = fmemopen(bytes, len, "r");
	assert_non_null(f);
	assert_int_equal(record_open(&r, f), 0);
	assert_int_equal(record_next(&r), RECORD_EVENT);
	/* The number of readings has three bytes that are nought. */
	whole(r.event.e.action, &all, sizeof(all),
	      GAPS_ACTION + 3 + GAPS_DECISION + 1 + 3 +
	      SNAP_READINGS * (GAPS_READING + 1));
	record_end(&r);
	fclose(f);
	free(bytes);
}

/* A file of this one record. @file: room for 20 bytes more. */
static void open_body(struct record *r, FILE **f, unsigned char *file,
		      const unsigned char *body, size_t n)
{
	uint32_t crc = (uint32_t)crc32(0, body, (uInt)n);

	memset(file, 0, 20);
	memcpy(file, "SRDMArec", 8);
	file[8] = RECORD_VERSION;
	file[12] = (unsigned char)n;
	memcpy(file + 16, &crc, 4);
	memcpy(file + 20, body, n);
	*f = fmemopen(file, 20 + n, "r");
	assert_non_null(*f);
	assert_int_equal(record_open(r, *f), 0);
}

/*
 * Events that there are none of: a kind that nobody knows, more UARs than bytes, and
 * than any recording has; and a record that is neither event nor reading.
 */
static void test_no_event(void **state)
{
	static const struct {
		size_t n;
		unsigned char body[16];
	} records[] = {
		{ 3, { RECORD_EVENT, 0x02, 12 } },	/* kind: 6 */
		{ 6, { RECORD_EVENT, 0x82, 0x01, 8, 100, 0 } },	/* kind 4, 50 UARs */
		{ 10, { RECORD_EVENT, 0x82, 0x01, 8, 0xfe, 0xff, 0xff, 0xff, 0x1f, 0 } },
		{ 2, { RECORD_EVENT + 1, 0 } },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		unsigned char file[20 + sizeof(records[0].body)];
		struct record r;
		FILE *f;

		open_body(&r, &f, file, records[i].body, records[i].n);
		assert_int_equal(record_next(&r), RECORD_END);
		assert_string_equal(r.problem, "a record makes no sense");
		assert_int_equal(r.event.n_uars, 0);
		record_end(&r);
		fclose(f);
	}
}

/* What a file says of a bool need not be one. */
static void test_bool(void **state)
{
	/* A QP whose 25th and 26th members after the first moved, by 1 and 5. */
	static const unsigned char body[] = {
		RECORD_READING, 0x04, 0x0a,	/* admin: 5 */
		0, 0, 0, 0,
		1, 0x80, 0x80, 0x80, 0x30, 0x02, 0x0a,
		0, 0,
	};
	unsigned char file[20 + sizeof(body)];
	const struct snapshot *s;
	struct record r;
	uint8_t v;
	FILE *f;

	(void)state;
	open_body(&r, &f, file, body, sizeof(body));
	assert_int_equal(record_next(&r), 1);
	s = &r.last;
	assert_int_equal(s->n_qps, 1);
	/* Byte for byte: a bool that is neither would read as true. */
	memcpy(&v, &s->qps[0].adopted, 1);
	assert_int_equal(v, 1);
	memcpy(&v, &s->qps[0].class_pending, 1);
	assert_int_equal(v, 1);
	memcpy(&v, &s->admin, 1);
	assert_int_equal(v, 1);
	record_end(&r);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_old_version),
		cmocka_unit_test(test_old_action),
		cmocka_unit_test(test_too_many_readings),
		cmocka_unit_test(test_compact),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_whole_action),
		cmocka_unit_test(test_no_event),
		cmocka_unit_test(test_bool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
