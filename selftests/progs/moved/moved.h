/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef MOVED_H
#define MOVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "meet.h"
#include "verbs.h"

#define SLOTS 256		/* of each ring; a power of two */
#define SLOT 256		/* bytes */
#define RECVS 128
#define WINDOW 40		/* operations outstanding, at most */
#define FILLERS 12		/* reads outstanding besides, at most */
#define SENDS (2 * WINDOW + FILLERS + 3)	/* requests outstanding, at most */
#define EVERY 4			/* one in so many operations is signalled */
#define INLINE 64
#define CONNS_MAX 64

/* What the peer may write to and read from. */
struct shared {
	uint64_t sum;				/* the peer adds to it */
	_Atomic uint64_t taken;			/* messages of the peer */
	char written[SLOTS][SLOT];
	char constant[SLOT];
};

/* One connection. Only the thread that posts changes what is not atomic, if nothing else is said. */
struct conn {
	struct ibv_cq *cq;
	struct ibv_cq_ex *cqx;			/* the same, read entry by entry; NULL: it is not */
	struct ibv_comp_channel *channel;	/* the queue is polled after an event; NULL: at any time */
	bool few_an_event;			/* not until it is empty */
	struct ibv_srq *srq;			/* has the receives; NULL: the QP has */
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;			/* NULL: all is posted by ibv_post_send() */
	struct ibv_mr *mr;
	struct {
		struct shared shared;
		char out[SLOTS][SLOT], in[RECVS][SLOT], got[SLOTS][SLOT];
		uint64_t before[SLOTS];			/* results of additions */
		_Atomic uint64_t peer_taken;		/* as it was last read */
		char filler[SLOT];
	} mem __attribute__((aligned(4096)));
	struct vpeer peer;
	struct cm_end cm;			/* .id: the QPs are connected by rdma_cm */
	int port;				/* at which both ends meet by TCP */
	int peer_fd;
	pthread_mutex_t posting;
	_Atomic uint64_t posted, done, sent, received, adds, recv_posted, recv_done;
	_Atomic bool reads_credit;
	_Atomic unsigned int fillers;		/* outstanding */
	_Atomic bool polls_alone;		/* another thread polls */
	_Atomic bool posts_alone;		/* no other thread posts */
	uint64_t last_before;			/* of the thread that polls */
	_Atomic bool moving, over;
	bool told_over, peer_over;
	unsigned int moved, failed, busy;	/* of the thread that moves, and .last_error */
	int last_error;
	uint32_t seed;
};

/* The calling thread's. */
extern _Thread_local struct conn *c;
extern unsigned int conns;

/* --- connect.c ---- */

/* Opens the device @name, on which all connections create their QPs. Connections by rdma_cm open their own. */
bool open_device(const char *name, struct ibv_context **ctx);
/* Meets the peer by TCP, and connects the QPs by it or, with @address, by rdma_cm. @host NULL: listens. */
bool set_up(const char *host, const char *address);
/* Gives the peer @n bytes and takes as many. */
void swap_with_peer(void *mine, void *theirs, size_t n);
/* Ends the connection as the program asks, whatever QP carries it. */
void tear_down(void);

/* --- events.c ---- */

/* Starts a thread that takes the events of the device. */
void watch_events(struct ibv_context *ctx);
/* Adds a QP of which events may come. */
void watch_qp(struct ibv_qp *qp);
/*
 * Sets the program's only QP, which has a shared receive queue, to ERR. Ends the program as wrong unless
 * IBV_EVENT_QP_LAST_WQE_REACHED comes exactly once, after that.
 */
void expect_last_wqe(struct ibv_qp *qp);
/* Ends the thread. Ends the program as wrong if the thread hangs in ibv_get_async_event(). */
void stop_watching(void);

/* --- traffic.c ---- */

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
