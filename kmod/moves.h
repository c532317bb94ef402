/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SWIFTRDMA_KNOB_UAR, by which the library in a process moves single QPs to another UAR. override.c
 * decides which knobs are in force. moves.c writes them into the control file of the process, in
 * which each QP has a block.
 */
#ifndef SRDMA_MOVES_H
#define SRDMA_MOVES_H

#include <linux/types.h>

#include "standing.h"

struct srdma_lease;
struct srdma_qp;

/**
 * struct srdma_move_target - the QP that an override moves
 * @qpn: as the application knows it
 * @serial: of the same
 * @from: number of the QP that the action named. The number stands for one UAR, so the library
 *	moves away from it only once
 */
struct srdma_move_target {
	u32 qpn;
	u64 serial;
	u32 from;
};

/*
 * Find the QP of the application that is @q, or whose requests @q carries, and make room for its
 * block in control. -EOPNOTSUPP and @why: no library moves it; -ENOMEM. Takes srdma_share_lock.
 */
int srdma_moves_find(const struct srdma_qp *q, struct srdma_move_target *t, const char **why);

/*
 * Call begin(), then offer() for each override of the knob, the strongest first, then end(). @q is
 * the QP as the application knows it. The first override of a QP wins, unless a later one names
 * the QP that carries the requests now. True: the override wins so far. end() writes the changes
 * into the control files. srdma_ctl_lock; takes srdma_share_lock.
 */
void srdma_moves_begin(void);
bool srdma_moves_offer(const struct srdma_qp *q, u32 from, u64 lease, u64 until);
void srdma_moves_end(void);
/* A lease lasts longer. Context and locks are those of the function above. */
void srdma_moves_renewed(u64 lease, u64 until);

/*
 * The standing of the knob of @q, the QP as the application knows it. *@error is 0 or -errno. May
 * sleep; takes srdma_share_lock.
 */
enum srdma_standing srdma_moves_standing(const struct srdma_qp *q, int *error);

#endif /* SRDMA_MOVES_H */
