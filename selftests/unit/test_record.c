// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Recorded snapshots and events: the same when read again, and readable when cut off. */
#include <errno.h>
#include <stdlib.h>

#include "unit/notify.h"
#include "unit/record_rig.h"

/* One event of each kind, and one that is like the one before it. */
static struct snap_qp born = {
	.has = SNAP_OWNER | SNAP_STATE | SNAP_PORT | SNAP_CAP, .qpn = 20, .serial = 20, .type = 2,
	.job = 1, .port = 1, .max_send_wr = 128, .since = 1050 * MS,
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
	.has = SNAP_CONGESTION | SNAP_CONGESTED, .name = "rxe0", .congestions = 4, .congestion_level = 2,
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
	enum player_what what;
	size_t i;
} items[] = {
	{ PLAYER_EVENT, 4 }, { PLAYER_READING, 0 }, { PLAYER_EVENT, 0 },
	{ PLAYER_EVENT, 1 }, { PLAYER_EVENT, 2 }, { PLAYER_READING, 1 },
	{ PLAYER_EVENT, 3 }, { PLAYER_EVENT, 4 }, { PLAYER_EVENT, 5 },
	{ PLAYER_READING, 2 }, { PLAYER_EVENT, 6 }, { PLAYER_EVENT, 0 },
	{ PLAYER_EVENT, 7 }, { PLAYER_EVENT, 8 }, { PLAYER_EVENT, 2 },
};

#define ITEMS (sizeof(items) / sizeof(items[0]))

static uint64_t event_time(size_t i)
{
	return (1000 + 10 * i) * MS;
}

static void record(void)
{
	struct recorder *r;
	size_t i;
	FILE *f;

	r = begin(&f);
	make_readings();
	for (i = 0; i < ITEMS; i++) {
		if (items[i].what == PLAYER_READING)
			recorder_snapshot(r, &readings[items[i].i].s);
		else
			notify_record(r, event_time(i), &events[items[i].i]);
	}
	finish(f, r);
}

static void same_event(const struct player *p, size_t i)
{
	const struct snap_event *a = player_event(p), *b = &events[items[i].i];
	size_t k;

	assert_int_equal(player_time(p), event_time(i));
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->batch, b->batch);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->lease, b->lease);
	assert_int_equal(a->expired, b->expired);
	assert_string_equal(a->why ? a->why : "", b->why ? b->why : "");
	assert_int_equal(!!a->qp, !!b->qp);
	assert_int_equal(!!a->owner, !!b->owner);
	assert_int_equal(!!a->action, !!b->action);
	assert_int_equal(!!a->dev, !!b->dev);
	assert_int_equal(a->n_uars, b->n_uars);
	if (b->qp) {
		struct snap_qp qp = *b->qp;

		if (!b->owner)
			qp.has &= ~(uint64_t)SNAP_OWNER;
		assert_memory_equal(a->qp, &qp, sizeof(qp));
	}
	if (b->owner)
		assert_memory_equal(a->owner, b->owner, sizeof(*a->owner));
	if (b->action)
		assert_memory_equal(a->action, b->action, sizeof(*a->action));
	if (b->dev)
		assert_memory_equal(a->dev, b->dev, sizeof(*a->dev));
	for (k = 0; k < b->n_uars; k++)
		assert_memory_equal(&a->uars[k], &b->uars[k], sizeof(*a->uars));
}

/* How many records of these bytes can be read, and where reading ended. */
static size_t readable(const char *from, size_t n, const char **problem, uint64_t *offset)
{
	FILE *f = fmemopen((void *)from, n ? n : 1, "r");
	struct player *p;
	size_t got = 0;
	int what;

	assert_non_null(f);
	*problem = "not a recording";
	if (n && !player_open(&p, f, NULL)) {
		for (; (what = player_next(p)) > 0; got++) {
			assert_true(got < ITEMS);
			assert_int_equal(what, items[got].what);
			if (what == PLAYER_READING)
				same(player_snapshot(p), &readings[items[got].i].s);
			else
				same_event(p, got);
		}
		assert_int_equal(what, PLAYER_END);
		*problem = player_problem(p, offset);
		/* It stays so. */
		assert_int_equal(player_next(p), PLAYER_END);
		player_close(p);
	}
	fclose(f);
	return got;
}

static void test_round_trip(void **state)
{
	const char *problem;
	uint64_t offset;

	(void)state;
	record();
	assert_int_equal(readable(bytes, len, &problem, &offset), ITEMS);
	assert_null(problem);
	assert_int_equal(offset, len);
	free(bytes);
}

/* Wherever it ends: what was whole is there, and where it ends is said. */
static void test_cut_off(void **state)
{
	size_t n, got, before = 0, steps = 0;
	uint64_t offset = 12, whole = 12;
	const char *problem;

	(void)state;
	record();
	for (n = 1; n < len; n++) {
		got = readable(bytes, n, &problem, &offset);
		assert_true(got == before || got == before + 1);
		/* Only between two records nothing is missing. */
		steps += got != before;
		if (got != before)
			whole = n;
		if (n > 12 && got == before)
			assert_string_equal(problem, "the last record is cut off");
		assert_int_equal(offset, whole);
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
	uint64_t offset;
	size_t i;

	(void)state;
	record();
	for (i = 12; i < len; i++) {
		bytes[i] ^= 0x10;
		assert_true(readable(bytes, len, &problem, &offset) < ITEMS);
		assert_non_null(problem);
		assert_true(offset <= i);
		bytes[i] ^= 0x10;
	}
	free(bytes);
}

static int opened(uint32_t *version)
{
	struct player *p;
	FILE *f = fmemopen(bytes, len, "r");
	int err;

	assert_non_null(f);
	err = player_open(&p, f, version);
	assert_null(p);
	fclose(f);
	return err;
}

/* Of another version: refused as such. */
static void test_version(void **state)
{
	uint32_t version = 0;

	(void)state;
	record();
	bytes[8] = RECORDING_VERSION - 1;
	assert_int_equal(opened(&version), -EPROTONOSUPPORT);
	assert_int_equal(version, RECORDING_VERSION - 1);
	bytes[8] = RECORDING_VERSION + 1;
	assert_int_equal(opened(&version), -EPROTONOSUPPORT);
	assert_int_equal(version, RECORDING_VERSION + 1);
	bytes[0] = 's';
	assert_int_equal(opened(NULL), -EINVAL);
	len = 7;
	assert_int_equal(opened(NULL), -EINVAL);
	free(bytes);
}

/* Bytes that a reading and an event take, once like ones are in the file. */
#define READING_BYTES	120
#define MORE_BYTES	40
#define EVENT_BYTES	48

/* What stands still costs little: its QPs are not there, and the rest compresses. */
static void test_compact(void **state)
{
	struct snapshot *s = &readings[0].s;
	struct recorder *r;
	size_t before;
	FILE *f;

	(void)state;
	made_scene(&readings[0], 1000, 0);
	r = begin(&f);
	recorder_snapshot(r, s);
	before = len;
	recorder_snapshot(r, s);
	assert_in_range(len - before, 1, READING_BYTES);
	before = len;
	s->qps[1].wrs += 1000;
	recorder_snapshot(r, s);
	assert_in_range(len - before, 1, READING_BYTES + MORE_BYTES);
	notify_record(r, 1001 * MS, &events[0]);
	assert_int_equal(recorder_flush(r), 0);
	before = len;
	notify_record(r, 1002 * MS, &events[0]);
	assert_int_equal(recorder_flush(r), 0);
	assert_in_range(len - before, 1, EVENT_BYTES);
	finish(f, r);
	free(bytes);
}

/* A thousand QPs, none of which does anything, cost as much as none. */
static void test_idle(void **state)
{
	static struct snap_qp qps[1000];
	struct recorder *r;
	size_t before, i;
	FILE *f;

	(void)state;
	made_scene(&readings[0], 1000, 0);
	for (i = 0; i < 1000; i++) {
		qps[i] = readings[0].qps[0];
		qps[i].qpn = qps[i].serial = (uint32_t)i + 100;
	}
	readings[0].s.qps = qps;
	readings[0].s.n_qps = 1000;
	r = begin(&f);
	recorder_snapshot(r, &readings[0].s);
	for (i = 0; i < 1000; i++)
		qps[i].time += MS;
	/* Of the first reading zlib remembers the QPs alone. */
	recorder_snapshot(r, &readings[0].s);
	before = len;
	recorder_snapshot(r, &readings[0].s);
	assert_in_range(len - before, 1, READING_BYTES);
	finish(f, r);
	free(bytes);
}

static ssize_t refuse(void *cookie, const char *buf, size_t n)
{
	(void)cookie, (void)buf, (void)n;
	errno = ENOSPC;
	return -1;
}

/* A file that takes no more than the recording's head. */
static ssize_t take_head(void *cookie, const char *buf, size_t n)
{
	size_t *room = cookie;

	(void)buf;
	if (n > *room) {
		errno = ENOSPC;
		return -1;
	}
	*room -= n;
	return (ssize_t)n;
}

/* The recorder keeps the errno of a write that fails. @big: stdio has no room for the record. */
static void fill_up(bool big)
{
	static char why[100000];
	size_t room = 12;
	FILE *f = fopencookie(&room, "w", (cookie_io_functions_t){ .write = take_head });
	struct recorder *r;

	assert_non_null(f);
	r = recorder_open(f);
	assert_non_null(r);
	/* Hardly compresses. */
	for (size_t i = 0; i < sizeof(why) - 1; i++)
		why[i] = (char)(1 + (i * i * 2654435761U >> 13) % 255);
	why[big ? sizeof(why) - 1 : 10] = '\0';
	recorder_lost(r, 1, why);
	assert_int_equal(recorder_flush(r), -ENOSPC);
	/* Another error later does not replace the first. */
	errno = EBADF;
	assert_int_equal(recorder_flush(r), -ENOSPC);
	assert_int_equal(recorder_close(r), -ENOSPC);
	fclose(f);
}

static void test_write_error(void **state)
{
	(void)state;
	fill_up(false);
	fill_up(true);
}

/* A disk that is full is said, and stays said. */
static void test_full_disk(void **state)
{
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = refuse });
	struct recorder *r;

	(void)state;
	assert_non_null(f);
	assert_null(recorder_open(f));
	assert_int_equal(errno, ENOSPC);
	fclose(f);
	f = fopen("/dev/full", "w");
	assert_non_null(f);
	assert_null(recorder_open(f));
	fclose(f);
	r = begin(&f);
	made_scene(&readings[0], 1000, 0);
	recorder_put(r, RECORDING_LOST, 0, "", (size_t)1 << 40);
	recorder_snapshot(r, &readings[0].s);
	assert_int_equal(recorder_flush(r), -EFBIG);
	assert_int_equal(recorder_close(r), -EFBIG);
	fclose(f);
	assert_int_equal(len, 12);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_compact),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_write_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
