/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef MOVED_H
#define MOVED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs.h"

#define SLOTS 256		/* of each ring; a power of two */
#define SLOT 256		/* bytes */
#define RECVS 128
#define WINDOW 40		/* operations outstanding, at most */
#define EVERY 4			/* one in so many operations is signalled */
#define INLINE 64

/* What the peer may write to and read from. */
struct shared {
	uint64_t sum;				/* the peer adds to it */
	_Atomic uint64_t taken;			/* messages of the peer */
	char written[SLOTS][SLOT];
	char constant[SLOT];
};

struct memory {
	struct shared shared;
	char out[SLOTS][SLOT], in[RECVS][SLOT], got[SLOTS][SLOT];
	uint64_t before[SLOTS];			/* results of additions */
	_Atomic uint64_t peer_taken;		/* as it was last read */
};

/* The connection; constant while there is traffic. */
extern struct ibv_cq *cq;
extern struct ibv_qp *qp;
extern struct ibv_mr *mr;
extern struct vpeer peer;
extern uint32_t seed;

/* --- connect.c ---- */

/* Meets the peer by TCP, and connects the QPs by it or, with @address, by rdma_cm. */
bool set_up(const char *name, const char *port, const char *host, const char *address);
/* Gives the peer @n bytes and takes as many. */
void swap_with_peer(void *mine, void *theirs, size_t n);
/* Ends the connection as the program asks, whatever QP carries it. */
void tear_down(void);
extern int peer_fd;

/* --- traffic.c ---- */

extern struct memory mem;
extern _Atomic uint64_t posted, done, received, adds;
extern _Atomic bool reads_credit;
/* Another thread polls; the main thread alone posts. */
extern _Atomic bool polls_alone, posts_alone;

/* Prints what was wrong, and ends the program. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Fills what the peer reads. */
void fill_constant(void);
void post_recvs(void);
bool takes_receive(uint64_t i);
/* All that may be posted, by one thread at a time. */
void post_ops(void);
/* Until the last operation is a signalled one, which is posted. */
void post_to_the_end(void);
bool poll_once(void);
/* The thread that posts has nothing to post at the moment. */
void wait_a_moment(void);

#endif
