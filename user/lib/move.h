/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma: a connected QP that moves to another register while it works.
 *
 * A QP cannot change its register, so a *shadow*, a second QP of the same kind, takes its place.
 * Both ends of the connection do this at the same time, by messages (channel.c).
 *
 * Invariants:
 *  - The program knows the QP that it created, by pointer and number, and no other. That QP stays
 *    until the program destroys it, because the peer's connection manager knows its number.
 *  - Nothing is outstanding in either send queue, and every message that was sent has been received,
 *    when an end gives up the old connection; receives that wait are posted on the new one before.
 *  - Before the swap each step can be taken back, and the QP works as it did. The end that asked
 *    decides about the swap; the other one waits for the decision, with its posts held.
 *
 * Locks, outer first: .life of a move (which QPs there are, the protocol), lib_lock(); .lock of a CQ;
 * .lock of a move (what is posted where). .lock is taken inside .sq of the QP, too. No lock is
 * held while a message is told.
 */
#ifndef LIB_MOVE_H
#define LIB_MOVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#pragma GCC visibility push(hidden)

struct context;
struct cq;
struct device;
struct qp;

/* Entries that a CQ gets for fences. */
#define MOVE_CQ_ROOM 64

#define MOVE_MAGIC 0x314d5653	/* "SVM1" */

enum move_type {
	MOVE_PREPARE = 1,	/* A: let us move; this is my shadow */
	MOVE_READY,		/* B: this is mine, and it is connected to yours */
	MOVE_FREEZE,		/* A: post nothing, and wait until nothing is outstanding */
	MOVE_DRAINED,		/* B: so it is, and I have sent so many messages. What do you decide? */
	MOVE_COMMIT,		/* A: the shadows from now on; I have sent so many messages */
	MOVE_DONE,		/* B: so it is here */
	MOVE_ABORT,		/* either: there is no such move, or not any more */
};

/* In the byte order of the network. */
struct move_msg {
	uint32_t magic;
	uint32_t type;		/* enum move_type */
	uint32_t id;		/* of the move, random; chosen by the end that asks */
	uint32_t qpn, psn;	/* PREPARE, READY: of the shadow */
	uint32_t access;	/* PREPARE, READY: enum ibv_access_flags of the sender's QP */
	uint32_t reason;	/* ABORT: errno */
	uint32_t reserved;	/* 0 */
	uint64_t sent;		/* DRAINED, COMMIT: messages that took a receive, since it is connected */
};

/* A asks, B answers. */
enum move_state {
	MOVE_IDLE,
	MOVE_ASKING,	/* A: told PREPARE */
	MOVE_FREEZING,	/* A: posts are held; told FREEZE */
	MOVE_DECIDED,	/* A: has swapped; tells COMMIT until DONE comes */
	MOVE_PREPARED,	/* B: told READY */
	MOVE_DRAINING,	/* B: posts are held */
	MOVE_IN_DOUBT,	/* B: tells DRAINED until the decision comes */
	MOVE_SETTLING,	/* B: heard COMMIT */
	MOVE_LEAVING,	/* B: has swapped; tells DONE */
};

struct move_recv {
	uint64_t wr_id;
	int num_sge;
};

struct move {
	/* Constant while the QP lives. */
	struct qp *q;
	struct ibv_qp *first;			/* the program's */
	struct ibv_qp_init_attr init;
	struct move *next_free;

	/* The protocol; under .life. */
	pthread_mutex_t life;
	bool dead;				/* the QP is being destroyed */
	struct ibv_qp *now, *next, *old;	/* written under .lock, too */
	struct ibv_qp_attr attr;		/* as the program set it */
	int attr_mask;
	enum move_state state;
	uint32_t id, psn, peer_qpn, peer_psn, peer_access;
	uint64_t peer_sent;
	bool peer_drained;
	uint64_t until_ns, again_ns;		/* when the state ends; when to tell again */
	unsigned int tries;
	struct move_msg out;			/* to be told; .type 0: nothing */
	bool wanted;				/* the program asked for a move */
	int result;				/* of the last move: 0 or -errno */
	uint64_t moves, failures;		/* ended so; moves of either end */
	pthread_cond_t ended;			/* with .life */
	uint64_t frozen_ns, longest_ns;		/* when posts were held; for how long at most */

	/* What is posted where; under .lock. */
	pthread_mutex_t lock;
	pthread_cond_t thaw;
	bool frozen;
	bool broken;				/* an error, or more receives than there can be */
	bool fence_out;
	uint32_t accepted, sig_accepted;	/* requests, as .posted and .sig_posted of the QP */
	uint64_t sent, received;		/* messages that took a receive, since RESET */
	uint32_t recv_head, recv_tail, recv_mask, recv_sges;
	struct move_recv *recv;
	struct ibv_sge *recv_sge;
	char fence;				/* its address is the fence's wr_id */

	/* Async events of shadows that the program has and has not acknowledged. */
	_Atomic uint32_t events;
};

/* --- move.c: what is posted where ------------------------------------------------ */

/* Raises what @attr asks for, if such a QP can move. False: it cannot. */
bool move_ask(const struct context *c, struct ibv_qp_init_attr *attr);
/* The QP was created with @attr. */
void move_adopt(struct ibv_qp *qp, const struct ibv_qp_init_attr *attr);
/* The QP is gone; with lib_lock() held. */
void move_free(struct move *m);
int move_modify(struct move *m, struct ibv_qp_attr *attr, int mask);
int move_query(struct move *m, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
/* The program destroys the QP: there is no other one any more. */
void move_destroy(struct move *m);
/* Makes completions those of the program's QPs. Returns how many of @n the program may see. */
int move_keep(const struct cq *c, struct ibv_wc *wc, int n);
int move_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int move_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* 0: the QP could move now; -errno. .life is held, as for all that follow. */
int move_possible(struct move *m);
/* Makes the shadow, or connects it to the peer's. 0 or -errno. */
int move_make_shadow(struct move *m);
int move_connect_shadow(struct move *m);
void move_drop_shadow(struct move *m);
void move_freeze(struct move *m);
void move_thaw(struct move *m);
/* 1: nothing is outstanding; 0: not yet; -errno: that will never be so. */
int move_drained(struct move *m);
/* Whether all that the peer sent is here. */
bool move_has_received(struct move *m, uint64_t sent);
/* Posts the receives on the shadow, and takes it for the QP. 0 or -errno. */
int move_swap(struct move *m);
/* After a swap: the QP from before it. */
void move_drop_old(struct move *m);

/* --- move_steps.c: the protocol --------------------------------------------------- */

/* What a move waits for: nothing, a message, or completions, which the thread has to poll. */
enum move_pace { MOVE_AT_REST, MOVE_WAITS, MOVE_POLLS };

/* Goes on with a move, and tells what is to be told. */
enum move_pace move_turn(struct move *m, uint64_t now);
/* A message of the peer came. */
void move_heard(struct move *m, const struct move_msg *msg, uint64_t now);
/* The program changes the QP, or ends it: the move is given up, or ends. .life is held. */
void move_interrupt(struct move *m);

/* --- move_thread.c ----------------------------------------------------------------- */

/* Starts the thread that carries out moves; false: there is none. With lib_lock() held. */
bool move_thread_start(void);
/* The thread looks at all moves. */
void move_kick(void);
/* What the thread does in one round; returns how long it may wait, ms, -1: for ever. */
int move_round(uint64_t now);
/* Begins a move, and waits for its end. */
int move_now(struct qp *q);
/* This process has forked: nothing moves from now on. */
extern _Atomic bool move_forked;
extern _Atomic uint64_t move_count, move_failures;

#pragma GCC visibility pop

#endif /* LIB_MOVE_H */
