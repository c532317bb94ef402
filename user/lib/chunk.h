/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma: RDMA READs and WRITEs that are posted in pieces.
 *
 * Invariants:
 *  - The program's send queue and completion queue never lack an entry because of pieces. Both
 *    were created larger than the program asked, and pieces take only what was added.
 *  - All pieces of a request bear the address of one struct split as their wr_id, and the last one
 *    alone is signalled, if the request is. Whatever a program polls goes through chunk_keep() or
 *    chunk_keep_entry(), which put the program's wr_id back and drop what the program must not see.
 *  - The library counts and measures the program's requests; pieces have no sequence number.
 */
#ifndef LIB_CHUNK_H
#define LIB_CHUNK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#pragma GCC visibility push(hidden)

struct context;
struct cq;
struct device;
struct qp;

/* A request that was split, until it is complete. */
struct split {
	uint64_t wr_id;		/* the program's */
	uint32_t bytes;
	uint32_t end;		/* value of .done of the QP once this request is complete */
	uint32_t more;		/* pieces besides the first */
	_Atomic bool told;	/* the program has its error completion, or must not get one */
};

/* A request of the list that the provider gets. */
struct piece {
	struct ibv_send_wr wr;	/* must be the first member: bad_wr is cast to a struct piece */
	struct ibv_send_wr *of;	/* the program's request that this belongs to */
	struct split *split;	/* NULL: it is whole */
};

/* What a QP needs to post in pieces. Under .sq, but for .split, which pollers read. */
struct chunk_queue {
	struct chunk_queue *older;	/* of the same struct qp; a poller may be in it */
	struct cq *cq;			/* that the room was taken from */
	uint32_t room, requests, sges;	/* pieces that may be added, program's requests, SGEs of each */
	uint32_t used;			/* pieces that were added and are outstanding */
	uint32_t lost;			/* of .room: pieces that were outstanding at a RESET */
	/* .piece has a list that the provider is reading, or a batch of ibv_wr_*() is being built. */
	bool busy;
	uint32_t head, tail;		/* of .split: requests that were split, and of these complete */
	uint32_t began;			/* .head before the list that is being posted */
	uint32_t mask;
	struct split *split;
	struct piece *piece;		/* the list, while it is posted */
	struct ibv_sge *sge;
};

/*
 * The large requests of a batch of ibv_wr_*(). The size of a request comes only after the call that
 * begins it; where requests are split, the provider therefore gets that call when the size is known.
 */
struct chunk_batch {
	uint64_t chunk;		/* the size in force at wr_start; 0: none */
	bool able;		/* larger requests are split; else they are only counted */
	bool open;		/* a READ or a WRITE whose size has not come */
	bool deferred;		/* ... and that the provider does not have yet */
	/* Of that request, when the program began it. */
	enum ibv_wr_opcode opcode;
	uint32_t rkey;
	unsigned int flags;
	uint64_t addr, wr_id;
};

/* The pieces of a request, one after the other. */
struct chunk_walk {
	const struct split *split;
	uint64_t chunk;
	unsigned int flags;		/* of the request */
	uint64_t off;			/* of the next piece */
	const struct ibv_sge *sge;	/* where its data begin */
	uint32_t sge_off;
};

struct chunk_part {
	uint64_t off;
	unsigned int flags;
	int sges;
};

/* The sizes that a QP is created with. */
struct chunk_ask {
	struct ibv_qp_cap cap;	/* the program's */
	uint32_t room;		/* 0: as the program asked */
};

/* The size above which requests are split; 0: there is no knob. */
uint64_t chunk_size(const struct device *dev);

/* --- creation --------------------------------------------------------------- */

/* Entries to add to a CQ of @cqe entries; 0: none. */
uint32_t chunk_cq_room(struct context *c, uint32_t cqe);
/* Raises what @attr asks for, if requests of the QP may be split. */
struct chunk_ask chunk_ask(struct context *c, struct ibv_qp_init_attr *attr);
/* Puts the program's sizes back. True: chunk_ask() had raised them, so creation is to be tried again. */
bool chunk_unask(struct chunk_ask *ask, struct ibv_qp_init_attr *attr);
/* The QP was created: gives it the room for pieces, and sets the program's own size in @attr. */
void chunk_give(struct ibv_qp *qp, struct ibv_qp_init_attr *attr, const struct chunk_ask *ask);
/* The QP is gone; with lib_lock() held. */
void chunk_take_back(struct qp *q);
/*
 * The QP goes to RESET, so none of its pieces is outstanding any more. The caller holds .sq, and
 * must not have changed .done yet.
 */
void chunk_reset(struct qp *q);

/* Frees the room of requests that are complete. */
void chunk_reap(const struct qp *q, struct chunk_queue *k);

/* --- the knob ------------------------------------------------------------------ */

/* The knob is now @bytes; 0: there is no knob. */
void chunk_set(struct device *dev, uint64_t bytes);
/* QPs came or went: whether the knob can be obeyed may have changed. */
void chunk_report_state(struct device *dev);

/* --- posting, in chunk_post.c ------------------------------------------------------ */

/* Whether @wr has a request that is to be split. */
bool chunk_wants(const struct qp *q, const struct ibv_send_wr *wr);
/*
 * Returns the list that the provider gets, in memory of the QP; the first request has the number
 * @from. Called with .sq held.
 */
struct ibv_send_wr *chunk_build(struct qp *q, struct ibv_send_wr *wr, uint32_t from);
/*
 * The provider refused the list from @bad on; if that is no request of the list, the whole list.
 * Returns the program's request at which the refused part begins.
 */
struct ibv_send_wr *chunk_refused(struct qp *q, const struct ibv_send_wr *bad);
/* The list was posted, or a part of it. */
void chunk_posted(struct qp *q);

/* After wr_start: fills .build.large. @ordered: .sq is held, and the QP has its order. */
void chunk_begin(struct qp *q, bool ordered);
/* The request in .build.large has @bytes, in @sges SGEs. NULL: the request goes whole. */
struct split *chunk_split(struct qp *q, uint64_t bytes, size_t sges);
/* Makes the next piece, with SGEs at @to. False: it is the last one. */
bool chunk_next(struct chunk_walk *w, struct ibv_sge *to, struct chunk_part *part);
/* Ends a batch whose large requests could be split. Called with .sq held. */
void chunk_end(struct qp *q, bool posted);

/* --- polling ----------------------------------------------------------------------- */

/* Turns completions of pieces into completions of requests; returns how many are left, at the front. */
int chunk_keep(const struct cq *c, struct ibv_wc *wc, int n);
/* The entry that the provider has just read. False: the program must not see it. */
bool chunk_keep_entry(struct cq *c, struct ibv_cq_ex *cqx);

#pragma GCC visibility pop

#endif /* LIB_CHUNK_H */
