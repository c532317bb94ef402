/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A model with memory of its own, and a record of what it told. */
#ifndef SELFTESTS_MODEL_RIG_H
#define SELFTESTS_MODEL_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/model.h"

#define RIG_LOG 4096

struct rig {
	struct model m;
	void *mem;
	struct model_done done[RIG_LOG];	/* the first of them */
	size_t n_done;
	unsigned int raised, cleared;
	uint64_t last_congestion;
};

static void rig_done(void *ctx, const struct model_done *done)
{
	struct rig *r = ctx;

	if (r->n_done < RIG_LOG)
		r->done[r->n_done] = *done;
	r->n_done++;
}

static void rig_congestion(void *ctx, uint32_t uar, bool congested, uint64_t at)
{
	struct rig *r = ctx;

	(void)uar;
	r->last_congestion = at;
	congested ? r->raised++ : r->cleared++;
}

static const struct model_ops rig_ops = {
	.done = rig_done, .congestion = rig_congestion,
};

static const struct model_sizes rig_sizes = {
	.uars = 8, .qps = 16, .wrs = 4096, .elements = 4, .contexts = 64,
};

/* Nothing takes time: a test sets what it is about. */
static inline struct model_params rig_params(void)
{
	return (struct model_params) { .mtu = 1000 };
}

/* QPs 0..@qps-1 are open, on UAR 0, in class 0 and element 0. */
static inline struct rig *rig_new(const struct model_params *p, uint32_t qps)
{
	struct rig *r = calloc(1, sizeof(*r));
	uint32_t q;

	assert_non_null(r);
	/* Exactly as much as it asks for, and not zero: ASan and UBSan watch. */
	r->mem = malloc(model_bytes(&rig_sizes));
	assert_non_null(r->mem);
	memset(r->mem, 0xa5, model_bytes(&rig_sizes));
	assert_int_equal(model_init(&r->m, r->mem, &rig_sizes, p, &rig_ops, r), 0);
	for (q = 0; q < qps; q++) {
		struct model_qp_attr attr = { .qpn = q, .cq = q };

		assert_int_equal(model_qp_open(&r->m, q, &attr), 0);
	}
	return r;
}

static inline void rig_free(struct rig *r)
{
	free(r->mem);
	free(r);
}

/* The cookie is how many were posted before. */
static inline void rig_post(struct rig *r, uint32_t qp, uint32_t bytes, uint64_t now)
{
	assert_int_equal(model_post(&r->m, qp, MODEL_INLINE, bytes, 0, r->m.stats.posted, now), 0);
}

/* @n posts at once, which a unit or the port then works off. */
static inline void rig_burst(struct rig *r, uint32_t qp, unsigned int n, uint32_t bytes,
			     uint64_t now)
{
	while (n--)
		rig_post(r, qp, bytes, now);
}

static inline void rig_run(struct rig *r)
{
	uint64_t when;

	while (model_next(&r->m, &when))
		model_run_until(&r->m, when);
}

static inline void rig_class(struct rig *r, uint32_t qp, uint8_t cls, uint32_t element)
{
	struct model_qp_attr attr = {
		.qpn = qp, .cq = qp, .uar = r->m.qp[qp].uar, .cls = cls, .element = element,
	};

	assert_int_equal(model_qp_modify(&r->m, qp, &attr), 0);
}

/* Completion @i is that of WR @cookie, at @at. */
#define assert_done(r, i, what, when)				\
	do {							\
		assert_true((r)->n_done > (i));			\
		assert_int_equal((r)->done[i].cookie, what);	\
		assert_int_equal((r)->done[i].at, when);	\
	} while (0)

#endif
