/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal to libswiftrdma: QPs in registers of the library, for place.c and place_post.c. */
#ifndef LIB_PLACED_H
#define LIB_PLACED_H

#include "lib/lib.h"

#pragma GCC visibility push(hidden)

struct place_register {
	/* Under lib_lock(). */
	struct place_register *next;
	struct ibv_td *td;
	struct ibv_td *spare;	/* the other register of the page, which stays unused; may be NULL */
	struct place_domain *domains;
	uintptr_t thread;	/* the thread whose QPs it gets; 0: those of any thread */
	uint32_t qps;
	uint64_t mark;		/* .rings when the present window began */
	uint64_t recent;	/* rings in the window before */

	/* Held while the register is rung; no other lock is taken under it. */
	struct bias lock __attribute__((aligned(CACHE_LINE)));
	_Atomic uint64_t rings;	/* calls that rang it; written under .lock */
};

/* The program's PD in one register. Under lib_lock(). */
struct place_domain {
	struct place_domain *next;
	struct place_register *reg;
	struct ibv_pd *asked;	/* the program's */
	struct ibv_pd *pd;	/* the parent domain of it */
	uint32_t qps;
};

struct placed {
	struct context *ctx;
	struct place_domain *domain;
	struct place_register *reg;
	struct placed_wr wr;	/* libmlx5's */
	enum bias_token batch;	/* from wr_start to wr_complete or wr_abort: of .sq */
	struct bias sq __attribute__((aligned(CACHE_LINE)));
	struct bias rq;
};

/* Before the register is rung; bias_unlock() after it. */
static inline enum bias_token ring_lock(struct place_register *r)
{
	enum bias_token token = bias_lock_kept(&r->lock);

	atomic_store_explicit(&r->rings,
			      atomic_load_explicit(&r->rings, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	return token;
}

#pragma GCC visibility pop

#endif /* LIB_PLACED_H */
