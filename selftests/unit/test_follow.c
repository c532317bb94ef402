// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* core/follow.c finds the wishes of peers, and words the reason of the agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "core/follow.h"
#include "explain/ends.h"
#include "unit/snap_build.h"

static struct made scene;

static void wish(struct snap_qp *qp, uint32_t level)
{
	qp->has |= SNAP_PEER_WISH;
	qp->peer_wish = level;
}

static const char *reason(uint32_t job, uint32_t ceiling, bool by_order)
{
	static char buf[SNAP_REASON];
	struct follow_wishes w = follow_find(&scene.s, job);
	struct text t;

	text_init(&t, buf, sizeof(buf));
	follow_reason(&t, &scene.s, &w, ceiling, by_order);
	return buf;
}

static void test_find(void **state)
{
	(void)state;
	made_init(&scene, 1000);
	made_dev(&scene, 0);
	made_dev(&scene, 4);
	for (uint32_t i = 0; i < 4; i++)
		made_qp(&scene, i & 1 ? 4 : 0, 17 + i, 1 + i / 3);
	assert_false(follow_any(&scene.s, true));
	assert_int_equal(follow_find(&scene.s, 1).n, 0);
	wish(&scene.qps[0], 2);
	assert_true(follow_any(&scene.s, false));
	assert_string_equal(reason(1, 2, true), "peer wishes level 2 for QP 17 of rxe0; the order allows 2");
	wish(&scene.qps[1], 3);
	wish(&scene.qps[2], 1);
	wish(&scene.qps[3], 7);
	assert_int_equal(follow_find(&scene.s, 1).n, 3);
	assert_string_equal(reason(1, 0, false),
			    "peer wishes level 3 for QP 18 of rxe4, and peers of 2 more; the file allows 0");
	assert_int_equal(follow_find(&scene.s, 2).n, 1);
	assert_int_equal(follow_find(&scene.s, 3).n, 0);
}

/* In a reading of what has changed, only that is looked at, unless there were wishes before. */
static void test_changed(void **state)
{
	uint32_t changed[] = { 1 };

	(void)state;
	made_init(&scene, 1000);
	made_dev(&scene, 0);
	made_qp(&scene, 0, 17, 1);
	made_qp(&scene, 0, 18, 1);
	wish(&scene.qps[0], 2);
	scene.s.qps_since = 900;
	scene.s.changed = changed;
	scene.s.n_changed = 1;
	assert_false(follow_any(&scene.s, false));
	assert_true(follow_any(&scene.s, true));
	changed[0] = 0;
	assert_true(follow_any(&scene.s, false));
}

/* Each state has words, but for those in which nothing is missing. */
static void test_words(void **state)
{
	struct snap_qp qp = { 0 };

	(void)state;
	assert_null(ends_word(&qp));
	assert_null(ends_why_word(&qp));
	for (qp.ends = SWIFTRDMA_ENDS_WAITING; qp.ends < __SWIFTRDMA_ENDS_MAX; qp.ends++) {
		bool both = qp.ends == SWIFTRDMA_ENDS_BOTH;

		assert_string_equal(ends_word(&qp), both ? "both" :
				    qp.ends == SWIFTRDMA_ENDS_WAITING ? "waiting" : "one-sided");
		assert_int_equal(!ends_why_key(&qp), both);
		assert_int_equal(!ends_why_word(&qp), both);
		assert_int_equal(!ends_why_words(&qp), both);
	}
	/* Of a later module. */
	qp.ends = 200;
	assert_string_equal(ends_word(&qp), "one-sided");
	assert_string_equal(ends_why_key(&qp), "waiting");
}

/* Which end a state is about, where both ends may wish something. */
static void test_whose(void **state)
{
	struct snap_qp qp = { .has = SNAP_LEVEL, .level = 3, .ends = SWIFTRDMA_ENDS_BOTH };

	(void)state;
	assert_true(ends_is_wished_here(&qp));
	wish(&qp, 3);
	assert_true(ends_is_wished_here(&qp));
	wish(&qp, 4);
	assert_false(ends_is_wished_here(&qp));
	wish(&qp, 3);
	qp.follows = true;
	assert_false(ends_is_wished_here(&qp));
	qp = (struct snap_qp){ .ends = SWIFTRDMA_ENDS_NO_AGENT };
	wish(&qp, 3);
	assert_false(ends_is_wished_here(&qp));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find), cmocka_unit_test(test_changed),
		cmocka_unit_test(test_words), cmocka_unit_test(test_whose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
