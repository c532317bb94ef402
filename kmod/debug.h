/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Knobs of the debug build (-DSWIFTRDMA_DEBUG) that hold a race's window open or
 * leave out a step, so that tests can show that the step is needed. They are
 * not in the module that is installed.
 */
#ifndef SRDMA_DEBUG_H
#define SRDMA_DEBUG_H

#include <linux/types.h>

enum srdma_delay_point {
	SRDMA_DELAY_ENTRY,	/* in a wrapper, before it is under SRCU */
	SRDMA_DELAY_INSIDE,	/* under SRCU, before the driver's op */
	SRDMA_DELAY_EXIT,	/* after SRCU, before the return */
	SRDMA_DELAY_ADOPT,	/* between finding an old QP and taking it in */
	SRDMA_DELAY_LOCKED,	/* with a QP locked, before the driver's modify */
	SRDMA_DELAY_PUBLISHED,	/* a new QP is in the table, but of no job yet */
	SRDMA_DELAY_UNKNOWN,	/* in modify, which did not find its QP */
	SRDMA_DELAY_EMPTIED,	/* a job that goes has no QPs any more, but is there */
	SRDMA_DELAY_DEVX,	/* a QP made past RDMA core was seen, but is not entered */
	SRDMA_DELAY_LEFT,	/* a QP that goes is not in the table, but still the device's */
	SRDMA_DELAY_RULES,	/* a job has its new rules, and its old ones still */
	SRDMA_DELAY_VISIT,	/* at each QP that a job's sum visits */
	SRDMA_DELAY_STAMP,	/* a QP has changed, and the change's generation was read */
	SRDMA_DELAY_STAT,	/* a reader is about to ask a device's provider for its figures */
	SRDMA_DELAY_REGIONS,	/* at each process whose memory regions are added up */
};

/* Steps of disarm that can be left out, bits of parameter skip_grace. */
enum srdma_grace {
	SRDMA_GRACE_TASKS_ENTRY	= 1 << 0,
	SRDMA_GRACE_SRCU	= 1 << 1,
	SRDMA_GRACE_TASKS_EXIT	= 1 << 2,
};

#ifdef SWIFTRDMA_DEBUG
void srdma_delay(enum srdma_delay_point point);
bool srdma_skip_grace(enum srdma_grace step);
bool srdma_fail(void);		/* parameter fail_alloc: true at every n-th call */
bool srdma_never_drain(void);
void srdma_adopt_looked(void);	/* count one number; parameter adopt_looked */
bool srdma_no_commands(void);	/* readers may not send firmware commands now */
u32 srdma_ends_missed(void);	/* ends of QPs that count as missed by probes */
u64 srdma_coarse(u64 ns);	/* @ns as a coarse clock would read; any context */
bool srdma_as_representor(void);	/* physical functions count as representors */
bool srdma_peer_loses(u8 type);	/* a message to a peer is lost, by enum srdma_peer_type */
bool srdma_peer_wishless(void);	/* this module takes no wishes, as one that is older */
bool srdma_peer_deaf(void);	/* this module takes no messages for processes, the same */
bool srdma_peer_wire(void);	/* no message to a peer takes the short way */
u8 srdma_peer_version(u8 version);	/* the version that this module speaks */
#else
static inline void srdma_delay(enum srdma_delay_point point) {}
static inline bool srdma_skip_grace(enum srdma_grace step) { return false; }
static inline bool srdma_fail(void) { return false; }
static inline bool srdma_never_drain(void) { return false; }
static inline void srdma_adopt_looked(void) {}
static inline bool srdma_no_commands(void) { return false; }
static inline u32 srdma_ends_missed(void) { return 0; }
static inline u64 srdma_coarse(u64 ns) { return ns; }
static inline bool srdma_as_representor(void) { return false; }
static inline bool srdma_peer_loses(u8 type) { return false; }
static inline bool srdma_peer_wishless(void) { return false; }
static inline bool srdma_peer_deaf(void) { return false; }
static inline bool srdma_peer_wire(void) { return false; }
static inline u8 srdma_peer_version(u8 version) { return version; }
#endif

#endif /* SRDMA_DEBUG_H */
