/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations that the files of the model share, by the file that defines each function. */
#ifndef SRDMA_MODEL_INTERNAL_H
#define SRDMA_MODEL_INTERNAL_H

#include "model/model.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>

static inline uint64_t div64_u64_rem(uint64_t a, uint64_t b, uint64_t *rem)
{
	*rem = a % b;
	return a / b;
}

static inline uint64_t div_u64(uint64_t a, uint32_t b)
{
	return a / b;
}
#endif

/* Sources of events other than units, in their order: the UARs, then the elements. */
#define SRC_ELEMENT(m)	((m)->n.uars)
#define SOURCES(n)	((n)->uars + (n)->elements)

/* 10 Tbit/s: no product of rates and times overflows. */
#define BPS_BOUND	(10 * MODEL_PS)

/*
 * MODEL_WHOLE inlines all functions that a function calls; MODEL_APART keeps a function out of
 * that. The model handles a work request in a few hundred cycles, and calls between its functions
 * were a twelfth of the instructions. So model_post() and model_step() are MODEL_WHOLE, and
 * functions that most work requests do not reach are MODEL_APART. Programs compile all files of
 * the model as one (user/Makefile), so functions of other files are inlined there; the kernel
 * module compiles each file by itself.
 */
#define MODEL_WHOLE	__attribute__((__flatten__))
#define MODEL_APART	__attribute__((__noinline__))

/* Lists of WRs */

#define EMPTY_LIST	((struct model_list){ MODEL_NONE, MODEL_NONE })

static inline void wr_push(struct model *m, struct model_list *l, uint32_t wr)
{
	m->wr[wr].next = MODEL_NONE;
	if (l->head == MODEL_NONE)
		l->head = wr;
	else
		m->wr[l->tail].next = wr;
	l->tail = wr;
}

static inline uint32_t wr_pop(struct model *m, struct model_list *l)
{
	uint32_t wr = l->head;

	l->head = m->wr[wr].next;
	return wr;
}

/* wqe.c: its WQE leaves the NIC */
void model_wqe_drop(struct model *m, uint32_t wr);

/* Frees a WR whose WQE has left the NIC. */
static inline void wr_put(struct model *m, uint32_t wr)
{
	m->wr[wr].next = m->free_wr;
	m->free_wr = wr;
}

/* Frees a WR, whether its WQE is in the NIC or not. */
static inline void wr_free(struct model *m, uint32_t wr)
{
	model_wqe_drop(m, wr);
	wr_put(m, wr);
}

/* Was its QP flushed or closed since? */
static inline bool wr_dead(const struct model *m, const struct model_wr *wr)
{
	return wr->epoch != m->qp[wr->qp].epoch;
}

static inline uint32_t model_random(struct model *m)
{
	return model_xorshift(&m->rng);
}

static inline void model_schedule(struct model *m, uint32_t src, uint64_t when)
{
	model_events_set(&m->next, src, when);
}

static inline void model_unschedule(struct model *m, uint32_t src)
{
	model_events_set(&m->next, src, MODEL_NEVER);
}

/* model.c: advances the clock; -EBUSY: an event before @now is still due */
int model_advance(struct model *m, uint64_t now);

/* uar.c: takes a posted WR; handles the event of a register */
void model_uar_add(struct model *m, uint32_t wr);
void model_uar_event(struct model *m, uint32_t u);
/* Reports that it became congested, or no longer is. */
void model_uar_congestion(struct model *m, uint32_t u);
/* Takes @q out of the register's queue, wherever in it. */
void model_uar_forget(struct model *m, uint32_t q);

/* wqe.c: a WR enters the NIC; a WR is done; discards @q's WRs that wait for a slot */
void model_wqe_add(struct model *m, uint32_t wr);
void model_wqe_done(struct model *m, uint32_t wr);
void model_wqe_forget(struct model *m, uint32_t q);

/* cache.c. Use of a context; false: it was a miss and is fetched now. */
bool model_cache_use(struct model *m, enum model_kind kind, uint64_t key);
/* The uses of a WR of @qp: its QP context, @mtt unless 0, its CQ context. How many were misses. */
unsigned int model_cache_misses(struct model *m, struct model_qp *qp, uint64_t mtt);
/* Prefetches what model_cache_misses() is likely to read. */
void model_cache_expect(const struct model *m, const struct model_qp *qp, uint64_t mtt);
/* Prefetches what model_cache_expect() itself reads to find the context of @mtt. */
void model_cache_expect_mtt(const struct model *m, uint64_t mtt);
/* The cache may have become smaller. */
void model_cache_fit(struct model *m);
/* All contexts leave it, since their sizes have changed. */
void model_cache_empty(struct model *m);
void model_cache_init(struct model *m);

/* unit.c: takes a WR to execute; handles the event of a unit */
void model_pu_add(struct model *m, uint32_t wr);
void model_pu_event(struct model *m, uint32_t k);
/* Schedules the events of all units anew, since there are more or fewer units now. */
void model_pu_fit(struct model *m);

/* port.c: takes a WR from a unit; handles the event of the port */
void model_port_add(struct model *m, uint32_t wr);
void model_port_event(struct model *m);
/* The first WR in the pipe is done. */
void model_pipe_event(struct model *m);
/* Puts the next packet on the wire, if there is one and it is free. */
void model_port_start(struct model *m);
/* Moves @q's WRs to another element and class. */
void model_port_move(struct model *m, uint32_t q, uint32_t element, uint8_t cls);
/* Discards @q's WRs there, except the one on the wire. */
void model_port_forget(struct model *m, uint32_t q);
/* The element may send again. */
void model_element_event(struct model *m, uint32_t e);

#endif
