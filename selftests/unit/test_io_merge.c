// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What changed, merged into what was there. */
#include "unit/io_rig.h"

static struct snap_qp qp(uint32_t qpn, uint64_t serial, uint64_t wrs)
{
	return (struct snap_qp){
		.qpn = qpn, .serial = serial, .wrs = wrs, .time = wrs,
	};
}

static void merge(void **state)
{
	struct fixture *f = *state;
	/* 5 changed twice; 1, 7 and 20 are new, 7 under a QPN that was there */
	struct snap_qp delta[] = {
		qp(20, 9, 1), qp(5, 2, 60), qp(7, 8, 1), qp(5, 2, 50),
		qp(1, 7, 1),
	};
	static const uint32_t qpns[] = { 1, 3, 5, 7, 7, 9, 20 };
	struct snap_qp *had = calloc(4, sizeof(*had));

	had[0] = qp(3, 1, 30);
	had[1] = qp(5, 2, 40);
	had[2] = qp(7, 3, 70);
	had[3] = qp(9, 4, 90);
	f->snap.qps = had;
	f->snap.n_qps = f->snap.cap_qps = 4;
	srdma_sort_qps(delta, 5);
	assert_int_equal(srdma_merge_qps(&f->snap, delta, 5), 1);
	assert_int_equal(f->snap.n_qps, 7);
	for (int i = 0; i < 7; i++)
		assert_int_equal(f->snap.qps[i].qpn, qpns[i]);
	assert_int_equal(f->snap.qps[2].wrs, 60);
	assert_int_equal(f->snap.qps[3].serial, 3);
	assert_int_equal(f->snap.qps[4].serial, 8);
	assert_int_equal(srdma_merge_qps(&f->snap, NULL, 0), 0);
	assert_int_equal(f->snap.n_qps, 7);
	assert_int_equal(f->snap.n_changed, 0);
}

/* Where no QP is new, the rows of those that were replaced are listed, each once. */
static void merge_lists_rows(void **state)
{
	struct fixture *f = *state;
	struct snap_qp delta[] = { qp(9, 9, 5), qp(9, 9, 6), qp(31, 31, 7), qp(32, 32, 8) };
	static const uint32_t rows[] = { 8, 30, 31 };
	size_t i;

	f->snap.qps = calloc(32, sizeof(*f->snap.qps));
	f->snap.n_qps = f->snap.cap_qps = 32;
	for (i = 0; i < 32; i++)
		f->snap.qps[i] = qp((uint32_t)i + 1, i + 1, 1);
	srdma_sort_qps(delta, 4);
	assert_int_equal(srdma_merge_qps(&f->snap, delta, 4), 0);
	assert_int_equal(f->snap.n_changed, 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(f->snap.changed[i], rows[i]);
	assert_int_equal(f->snap.qps[8].wrs, 6);
}

/* Against the obvious way: everything in one heap, sorted, the newest kept. */
static void merge_random(void **state)
{
	struct fixture *f = *state;
	struct snap_qp delta[64];
	uint64_t newest[64];

	srand(1);
	for (int round = 0; round < 200; round++) {
		size_t n = rand() % 64, known = 0, had;
		int added;

		f->snap.n_qps = 0;
		memset(newest, 0, sizeof(newest));
		for (int step = 0; step < 3; step++) {
			for (size_t i = 0; i < n; i++) {
				uint32_t k = rand() % 64;

				delta[i] = qp(k, k, step * 1000 + i + 1);
				newest[k] = step * 1000 + i + 1;
			}
			srdma_sort_qps(delta, n);
			had = f->snap.n_qps;
			added = srdma_merge_qps(&f->snap, delta, n);
			assert_int_equal(added, f->snap.n_qps > had);
		}
		for (uint32_t k = 0; k < 64; k++) {
			if (!newest[k])
				continue;
			assert_true(known < f->snap.n_qps);
			assert_int_equal(f->snap.qps[known].qpn, k);
			assert_int_equal(f->snap.qps[known++].wrs, newest[k]);
		}
		assert_int_equal(known, f->snap.n_qps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IO_TEST(merge),
		IO_TEST(merge_lists_rows),
	IO_TEST(merge_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
