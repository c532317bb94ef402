/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Finds processes whose QPs crowd on UARs. A UAR belongs to one process, so the process
 * decides how its QPs are spread, and advice is for the process. The input is what the kernel
 * sees of an unmodified program: which QPs ring which UAR, which threads created the QPs,
 * and whether QPs advance in the same interval. The kernel does not see which thread posts.
 */
#ifndef SRDMA_EXPLAIN_CROWD_H
#define SRDMA_EXPLAIN_CROWD_H

#include "core/signal.h"

/*
 * libmlx5 gives a context at most 512 registers, two on a page. QPs share 12 of them
 * (MLX5_MED_BFREGS_TSHOLD); each of the others serves one QP.
 */
#define CROWD_UUARS_MAX	512
#define CROWD_UUARS_SHARED 12
#define CROWD_PAGE_QPS	2

enum crowd_state {
	CROWD_CALM,	/* no UAR has QPs that advance together */
	CROWD_UNTOLD,	/* QPs share a UAR; it is unknown whether they contend */
	CROWD_TWO,	/* two QPs contend on a page, which has two registers */
	CROWD_HARD,	/* more QPs contend on a page than it has registers */
};

enum crowd_advice {
	CROWD_NOTHING,	/* no advice: the process does not crowd, or nothing helps */
	CROWD_UUARS,	/* MLX5_TOTAL_UUARS gives each QP a register */
	CROWD_DOMAINS,	/* more QPs than registers: use a thread domain for each thread */
};

/* A process on a device. */
struct crowd_proc {
	uint32_t dev;			/* row */
	uint32_t owner;			/* index into snapshot.owners */
	uint32_t qps, uars, threads;	/* .threads 0: unknown */
	uint32_t worst;			/* row of its most contended UAR */
	uint32_t worst_qps, worst_active;
	bool has_active, has_coactive;
	double worst_coactive;
	enum crowd_state state;
	enum crowd_advice advice;
};

struct crowd_uar {
	uint32_t threads;	/* threads that created its QPs; 0: unknown */
	bool has_share;
	double share;		/* share of all WRs of its device */
};

/* A UAR on which a process has QPs. */
struct crowd_use {
	uint32_t proc;			/* index into crowd.found */
	uint32_t uar;			/* row */
};

struct crowd {
	const struct signals *sig;
	double calm;
	struct crowd_uar *uars;		/* by row of the snapshot */
	struct crowd_proc *procs;	/* worst first */
	size_t n_procs, cap_uars, cap_procs, cap_keys;
	uint64_t *keys;			/* scratch */
	/* Processes, sorted by device and owner, without state and advice; and their UARs. */
	struct crowd_proc *found;
	struct crowd_use *uses;
	size_t n_uses;
	/* Versions of the signals that .found and .uses come from: see struct signals. */
	uint64_t topology, ownership;
};

void crowd_init(struct crowd *c);
void crowd_free(struct crowd *c);
/* Room for a snapshot of @snap's size. 0 or -ENOMEM. */
int crowd_reserve(struct crowd *c, const struct snapshot *snap);

/**
 * crowd_update - rank the processes of @sig's snapshot
 * @c: the ranking
 * @sig: signals
 * @calm: a UAR is calm if its QPs advance together in at most this share of the time
 *
 * The caller must call crowd_reserve() first, because this function allocates nothing, and
 * must not change @sig and its snapshot while @c is read.
 */
void crowd_update(struct crowd *c, const struct signals *sig, double calm);

/* The process of the QP in row @qp; NULL: the process is not ranked. */
const struct crowd_proc *crowd_proc_of(const struct crowd *c, size_t qp);

/* True: a UAR of this kind is a page with doorbell registers, not a user context. */
bool crowd_is_page(uint32_t kind);
/* The advice in words, about "it", the process. NULL: none. */
const char *crowd_advise(enum crowd_advice advice);

#endif /* SRDMA_EXPLAIN_CROWD_H */
