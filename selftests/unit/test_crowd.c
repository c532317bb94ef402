// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Who crowds on which UARs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <rdma/swiftrdma.h>

#include "explain/crowd.h"
#include "unit/snap_build.h"

static struct made was, is;
static struct signals sig;
static struct crowd crowd;

/*
 * Process 100 has 6 QPs of 3 threads, 4 of them on UAR 1 and 2 on UAR 2; process
 * 200 has one QP on each of UARs 3 and 4; the kernel has one on UAR 5.
 */
static void scene(struct made *m, uint64_t ms)
{
	static const uint32_t uar[] = { 1, 1, 1, 1, 2, 2, 3, 4, 5 };

	made_init(m, ms);
	made_dev(m, 0)->qps = 9;
	for (uint32_t i = 1; i <= 5; i++)
		made_uar(m, 0, i)->kind = SWIFTRDMA_UAR_KIND_HW;
	for (uint32_t i = 0; i < 9; i++) {
		struct snap_qp *qp = made_qp(m, 0, 10 + i, 0);

		qp->uar = uar[i];
		qp->owner = i < 6 ? 0 : i < 8 ? 1 : 2;
		if (i < 6) {
			qp->has |= SNAP_TID;
			qp->tid = 100 + i % 3;
		}
		m->uars[uar[i] - 1].qps++;
	}
	m->s.n_owners = 3;
	m->owners[0].pid = 100;
	m->owners[1].pid = 200;
	strcpy(m->owners[2].kernel, "ib_core");
}

static int setup(void **state)
{
	(void)state;
	scene(&was, 1000);
	scene(&is, 2000);
	signals_init(&sig);
	crowd_init(&crowd);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	signals_free(&sig);
	crowd_free(&crowd);
	return 0;
}

static void post(size_t qp, uint64_t wrs)
{
	is.qps[qp].wrs += wrs;
	is.uars[is.qps[qp].uar - 1].wrs += wrs;
}

static void look(bool alone)
{
	struct signal_opts opts = { .tau = 1 };

	assert_int_equal(signals_reserve(&sig, &is.s), 0);
	signals_update(&sig, alone ? NULL : &was.s, &is.s, &opts);
	assert_int_equal(crowd_reserve(&crowd, &is.s), 0);
	crowd_update(&crowd, &sig, 0.1);
}

static void ranked(void **state)
{
	const struct crowd_proc *p;

	(void)state;
	post(0, 100);
	post(1, 100);
	post(2, 100);
	post(6, 600);
	post(7, 100);
	look(false);
	assert_int_equal(crowd.n_procs, 2);
	p = &crowd.procs[0];
	assert_int_equal(is.owners[p->owner].pid, 100);
	assert_int_equal(p->qps, 6);
	assert_int_equal(p->uars, 2);
	assert_int_equal(p->threads, 3);
	assert_int_equal(is.uars[p->worst].index, 1);
	assert_int_equal(p->worst_qps, 4);
	assert_int_equal(p->worst_active, 3);
	assert_true(p->has_coactive && p->worst_coactive == 1);
	assert_int_equal(p->state, CROWD_HARD);
	assert_int_equal(p->advice, CROWD_UUARS);
	assert_non_null(strstr(crowd_advise(p->advice), "MLX5_TOTAL_UUARS=512"));
	/* One QP on each: however busy, nothing is wrong with it. */
	p = &crowd.procs[1];
	assert_int_equal(is.owners[p->owner].pid, 200);
	assert_int_equal(p->state, CROWD_CALM);
	assert_int_equal(p->advice, CROWD_NOTHING);
	assert_null(crowd_advise(p->advice));
	/* Shares are of what went through in between. */
	assert_true(crowd.uars[0].has_share && crowd.uars[0].share == 0.3);
	assert_true(crowd.uars[2].share == 0.6 && crowd.uars[1].share == 0);
	assert_int_equal(crowd.uars[0].threads, 3);
	assert_int_equal(crowd.uars[1].threads, 2);
	assert_int_equal(crowd.uars[2].threads, 0);
	assert_ptr_equal(crowd_proc_of(&crowd, 5), &crowd.procs[0]);
	assert_ptr_equal(crowd_proc_of(&crowd, 7), &crowd.procs[1]);
	assert_null(crowd_proc_of(&crowd, 8));
}

/* The busiest UAR is the worst, not the fullest. */
static void busy_beats_full(void **state)
{
	(void)state;
	post(0, 100);
	post(4, 10);
	post(5, 10);
	look(false);
	assert_int_equal(is.uars[crowd.procs[0].worst].index, 2);
	/* Two QPs of a page may each have a register there. */
	assert_int_equal(crowd.procs[0].state, CROWD_TWO);
	assert_int_equal(crowd.procs[0].advice, CROWD_NOTHING);
}

static void idle_is_calm(void **state)
{
	(void)state;
	post(0, 100);
	look(false);
	assert_int_equal(crowd.procs[0].state, CROWD_CALM);
}

/* One reading, or no counters: that they share is known, no more. */
static void untold(void **state)
{
	(void)state;
	is.uars[0].wrs = 30;
	is.uars[2].wrs = 70;
	for (size_t i = 0; i < is.s.n_qps; i++)
		is.qps[i].has &= ~(SNAP_WRS | SNAP_DOORBELLS);
	look(true);
	assert_int_equal(crowd.procs[0].state, CROWD_UNTOLD);
	assert_int_equal(crowd.procs[0].worst_qps, 4);
	assert_int_equal(crowd.procs[0].advice, CROWD_UUARS);
	/* Shares of totals, where there are no rates. */
	assert_true(crowd.uars[0].share == 0.3);
	for (size_t i = 0; i < is.s.n_uars; i++)
		is.uars[i].has &= ~SNAP_WRS;
	look(true);
	assert_false(crowd.uars[0].has_share);
}

static void no_uars(void **state)
{
	(void)state;
	post(0, 1);
	post(1, 1);
	for (size_t i = 0; i < is.s.n_uars; i++)
		is.uars[i].kind = SWIFTRDMA_UAR_KIND_CONTEXT;
	look(false);
	assert_int_equal(crowd.procs[0].state, CROWD_CALM);
	assert_int_equal(crowd.procs[0].worst_qps, 4);
	assert_int_equal(crowd.procs[0].advice, CROWD_NOTHING);
}

static void nobody(void **state)
{
	(void)state;
	made_init(&is, 2000);
	look(true);
	assert_int_equal(crowd.n_procs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ranked, setup, teardown),
		cmocka_unit_test_setup_teardown(busy_beats_full, setup, teardown),
		cmocka_unit_test_setup_teardown(idle_is_calm, setup, teardown),
		cmocka_unit_test_setup_teardown(untold, setup, teardown),
		cmocka_unit_test_setup_teardown(no_uars, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
