// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Computing the signals of only those QPs that changed gives the same signals as computing those
 * of all QPs. Readings go to two snapshots in turn, as those of an agent do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"
#include "explain/crowd.h"
#include "unit/snap_build.h"

#define QPS	48
#define ROUNDS	40
#define TICKS	120

static struct made kernel, reading[2];
static uint32_t changed[2][64];
static struct signals by_delta, in_full;
static struct crowd crowd_by_delta, crowd_in_full;
static unsigned int turn;

static uint32_t any(uint32_t n)
{
	return (uint32_t)rand() % n;
}

static int setup(void **state)
{
	(void)state;
	signals_init(&by_delta);
	signals_init(&in_full);
	crowd_init(&crowd_by_delta);
	crowd_init(&crowd_in_full);
	memset(reading, 0, sizeof(reading));
	turn = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	signals_free(&by_delta);
	signals_free(&in_full);
	crowd_free(&crowd_by_delta);
	crowd_free(&crowd_in_full);
	return 0;
}

/* --- the kernel ------------------------------------------------------------------ */

static void make_kernel(void)
{
	uint32_t i, dev;

	made_init(&kernel, 1000);
	kernel.s.n_owners = 4;
	for (i = 0; i < 4; i++)
		kernel.owners[i].pid = 100 + i;
	for (dev = 0; dev < 2; dev++) {
		made_dev(&kernel, dev)->caps = SWIFTRDMA_DEV_CAP_WQEBBS;
		made_port(&kernel, dev, 0);
		for (i = 0; i < 4; i++)
			made_uar(&kernel, dev, i)->kind = SWIFTRDMA_UAR_KIND_HW;
	}
	for (i = 0; i < 4; i++)
		for (dev = 0; dev < 2; dev++)
			made_stat(i < kernel.s.n_jobs ? &kernel.jobs[i] :
				  made_job(&kernel, i, "job", 1 + i % 4), dev, 10);
	for (i = 0; i < QPS; i++) {
		struct snap_qp *qp = made_qp(&kernel, i * 2 / QPS, 100 + 2 * i, any(5));

		qp->uar = any(5);
		qp->owner = any(4);
		qp->has |= SNAP_TID;
		qp->tid = any(6);
	}
}

/* The kernel sends a QP that changed, even if it is as it was before again. */
static void note_change(struct snap_qp *qp)
{
	static uint64_t generation;

	qp->time = kernel.s.time;
	/* A field that is no signal. */
	qp->wrs_since = ++generation;
}

static void work(struct snap_qp *qp)
{
	qp->wrs += any(1000);
	qp->doorbells += any(2) ? any(100) : 0;
	note_change(qp);
	if (!any(4)) {
		qp->has |= SNAP_LOOKS;
		qp->outstanding_samples += 20;
		qp->outstanding_sum += 20 * any(8);
		qp->outstanding_squares += 20 * 64;
	}
}

/* What rarely happens to a QP. */
static void change(struct snap_qp *qp)
{
	note_change(qp);
	switch (any(8)) {
	case 0:
		qp->uar = any(5);
		break;
	case 1:
		qp->job = any(5);
		break;
	case 2:
		qp->owner = any(4);
		break;
	case 3:
		qp->tid = any(6);
		break;
	case 4:
		qp->state = any(7);
		break;
	case 5:
		qp->has ^= 1ULL << any(17);
		break;
	case 6:
		qp->wrs = 0;
		break;
	case 7:
		qp->has &= ~(uint64_t)SNAP_LOOKS;
		break;
	}
}

static void remove_qp(uint32_t i)
{
	memmove(&kernel.qps[i], &kernel.qps[i + 1],
		(kernel.s.n_qps - i - 1) * sizeof(*kernel.qps));
	kernel.s.n_qps--;
}

/* Another QP gets the number that follows that of QP @i. */
static void add_qp(uint32_t i)
{
	if (kernel.s.n_qps == 64 || kernel.qps[i].qpn % 2)
		return;
	if (i + 1 < kernel.s.n_qps && kernel.qps[i + 1].dev == kernel.qps[i].dev &&
	    kernel.qps[i + 1].qpn == kernel.qps[i].qpn + 1)
		return;
	memmove(&kernel.qps[i + 1], &kernel.qps[i], (kernel.s.n_qps - i) * sizeof(*kernel.qps));
	kernel.qps[i + 1].qpn++;
	kernel.qps[i + 1].serial = kernel.s.time;
	kernel.qps[i + 1].since = kernel.s.time;
	kernel.s.n_qps++;
}

static void make_reports(void)
{
	uint32_t i;

	kernel.s.n_qp_reports = kernel.s.n_job_reports = 0;
	if (any(2))
		return;
	for (i = 0; i < 8; i++) {
		struct snap_qp_report *r = made_qp_report(&kernel, &kernel.qps[i]);

		r->outstanding = any(9);
		r->sum.wrs = kernel.qps[i].wrs;
		r->sum.hol_wrs = kernel.qps[i].wrs;
		r->sum.hol_sum = kernel.qps[i].wrs * 100;
	}
	made_job_report(&kernel, 1, 0, 1)->sum.wrs = kernel.qps[0].wrs;
}

static void next_state(void)
{
	uint32_t i, n = any(6);

	/* Now and then a reading comes at the time of the last one. */
	kernel.s.time += any(20) ? 100 * MS : 0;
	for (i = 0; i < n; i++)
		work(&kernel.qps[any(kernel.s.n_qps)]);
	if (!any(4))
		change(&kernel.qps[any(kernel.s.n_qps)]);
	if (!any(15))
		remove_qp(any(kernel.s.n_qps - 8) + 8);
	if (!any(15))
		add_qp(any(kernel.s.n_qps));
	if (!any(25))
		kernel.jobs[any(4)].class = 1 + any(4);
	if (!any(25))
		kernel.s.n_jobs = 3 + any(2);
	if (!any(25))
		kernel.s.n_uars = 7 + any(2);
	for (i = 0; i < 8; i++) {
		kernel.uars[i].time = kernel.s.time;
		kernel.uars[i].wrs += any(1000);
	}
	for (i = 0; i < 4; i++)
		kernel.jobs[i].time = kernel.s.time;
	for (i = 0; i < 2; i++)
		kernel.devs[i].time = kernel.ports[i].time = kernel.s.time;
	make_reports();
}

/* --- readings -------------------------------------------------------------------- */

static bool has_same_qps(const struct made *a, const struct made *b)
{
	size_t i;

	for (i = 0; i < a->s.n_qps; i++)
		if (SNAP_CMP_QP(&a->qps[i], &b->qps[i]))
			return false;
	return a->s.n_qps == b->s.n_qps;
}

/* Reads the kernel's state into the older of the two snapshots. */
static struct snapshot *read_kernel(void)
{
	struct made *to = &reading[turn];
	uint64_t since = has_same_qps(to, &kernel) ? to->s.time : 0;
	uint32_t *rows = changed[turn];
	size_t i, n = 0;

	for (i = 0; since && i < kernel.s.n_qps; i++)
		/* The kernel may send a QP that did not change after all. */
		if (memcmp(&to->qps[i], &kernel.qps[i], sizeof(*to->qps)) || !any(20))
			rows[n++] = (uint32_t)i;
	*to = kernel;
	made_point(to);
	to->s.qps_since = since;
	to->s.changed = rows;
	to->s.n_changed = n;
	turn = !turn;
	return &to->s;
}

static void assert_same_column(const struct signals *a, const struct signals *b, enum signal_id id)
{
	size_t i;

	for (i = 0; i < a->table[vocab_obj(id)].n; i++) {
		double x = signal_at(a, id, i), y = signal_at(b, id, i);

		if (x != y && (x == x || y == y))
			fail_msg("%s of row %zu: %g by delta, %g in full",
				 vocab_signals[id].name, i, x, y);
	}
}

static void assert_same(void)
{
	const struct signals *a = &by_delta, *b = &in_full;
	const struct snapshot *snap = a->snap;
	unsigned int id;

	for (id = 0; id < SIGNALS; id++)
		assert_same_column(a, b, id);
	assert_memory_equal(a->qps, b->qps, snap->n_qps * sizeof(*a->qps));
	assert_memory_equal(a->advanced, b->advanced, snap->n_qps);
	assert_memory_equal(a->uar_of, b->uar_of, snap->n_qps * sizeof(*a->uar_of));
	assert_int_equal(a->n_looks, b->n_looks);
}

static void assert_same_crowd(void)
{
	const struct crowd *a = &crowd_by_delta, *b = &crowd_in_full;
	size_t i;

	assert_int_equal(crowd_reserve(&crowd_by_delta, by_delta.snap), 0);
	/* Without the processes of the last time. */
	crowd_free(&crowd_in_full);
	assert_int_equal(crowd_reserve(&crowd_in_full, by_delta.snap), 0);
	crowd_update(&crowd_by_delta, &by_delta, 0.2);
	crowd_update(&crowd_in_full, &in_full, 0.2);
	assert_int_equal(a->n_procs, b->n_procs);
	assert_memory_equal(a->procs, b->procs, a->n_procs * sizeof(*a->procs));
	for (i = 0; i < by_delta.snap->n_uars; i++)
		assert_int_equal(a->uars[i].threads, b->uars[i].threads);
}

static void update(struct snapshot *older, struct snapshot *newer)
{
	static const struct signal_opts opts = { 0 };
	uint64_t since = newer->qps_since;

	assert_int_equal(signals_reserve(&by_delta, newer), 0);
	signals_update(&by_delta, older, newer, &opts);
	newer->qps_since = 0;
	assert_int_equal(signals_reserve(&in_full, newer), 0);
	signals_update(&in_full, older, newer, &opts);
	newer->qps_since = since;
}

static void test_random(void **state)
{
	int round, tick;

	for (round = 0; round < ROUNDS; round++) {
		struct snapshot *older = NULL, *newer;

		srand((unsigned int)round);
		teardown(state);
		setup(state);
		make_kernel();
		for (tick = 0; tick < TICKS; tick++) {
			next_state();
			newer = read_kernel();
			/* Now and then, a reading has nothing before it, or fails. */
			if (!any(30))
				older = NULL;
			if (!any(30)) {
				newer->time = 0;
				turn = !turn;
				continue;
			}
			update(older, newer);
			assert_same();
			if (!any(3))
				assert_same_crowd();
			older = newer;
		}
	}
}

/* A QP that did not change is not looked at: a wrong signal of it would stay. */
static void test_leaves_others_alone(void **state)
{
	struct snapshot *older = NULL, *newer;
	double v;
	int i;

	(void)state;
	srand(1);
	make_kernel();
	for (i = 0; i < 4; i++) {
		kernel.s.time += 100 * MS;
		newer = read_kernel();
		update(older, newer);
		older = newer;
	}
	signal_set(&by_delta, SIG_QP_TYPE, 3, 77);
	signal_set(&by_delta, SIG_QP_TYPE, 5, 77);
	kernel.s.time += 100 * MS;
	kernel.qps[5].wrs += 1000;
	newer = read_kernel();
	newer->changed[0] = 5;
	newer->n_changed = 1;
	update(older, newer);
	assert_true(signal_get(&by_delta, SIG_QP_TYPE, 3, &v) && v == 77);
	assert_true(signal_get(&by_delta, SIG_QP_TYPE, 5, &v) && v == 2);
	assert_true(signal_get(&by_delta, SIG_QP_WR_RATE, 5, &v) && v == 10000);
	assert_true(signal_get(&by_delta, SIG_QP_WR_RATE, 3, &v) && v == 0);
}

/* Nothing changed, and a snapshot to which no delta came before has no list. */
static void test_nothing_changed(void **state)
{
	struct snapshot *older = NULL, *newer;
	double v;
	int i;

	(void)state;
	make_kernel();
	for (i = 0; i < 4; i++) {
		kernel.s.time += 100 * MS;
		newer = read_kernel();
		if (i >= 2) {
			newer->changed = NULL;
			newer->n_changed = 0;
		}
		update(older, newer);
		assert_same();
		older = newer;
	}
	assert_true(newer->qps_since);
	assert_true(signal_get(&by_delta, SIG_QP_TYPE, 3, &v) && v == 2);
	assert_true(signal_get(&by_delta, SIG_QP_WR_RATE, 3, &v) && v == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leaves_others_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_changed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
