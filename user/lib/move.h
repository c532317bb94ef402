/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma: a connected QP that moves to another register while it works.
 *
 * A QP cannot change its register, so a *shadow*, a second QP of the same kind, takes its place.
 * Both ends of the connection do this at the same time. They agree by messages that the modules
 * relay (channel.c); the decision itself and its acknowledgement are *marks*, empty SENDs on the new
 * connection, so a mark arrives if the new connection works. A mark takes a receive, which the library
 * posts for it. In a shared receive queue (SRQ) a mark could take a receive of the program, so an end with an
 * SRQ gets a message (MOVE_SWAPPED) in place of the mark.
 *
 * Invariants:
 *  - The program knows the QP that it created, by pointer and number, and no other. That QP stays
 *    until the program destroys it, because the peer's connection manager knows its number.
 *  - Before an end uses the new connection, nothing is outstanding in either send queue, every
 *    message that was sent has been received, and the receives that wait are posted on the new
 *    connection.
 *  - Up to the decision each step can be taken back, and the QP works as it did. The end that asked
 *    (A) decides; the other one (B) holds its posts until it knows the decision. When A decides, it
 *    resets its old QP. So if B goes on with the old connection by mistake, its requests fail; no
 *    request is executed twice, or lost without an error.
 *
 * Locks, outer first: .life of a move (which QPs there are, the protocol); lib_lock(); .lock of a CQ;
 * .lock of a move (what is posted where), which is also taken inside .sq of the QP. Inside .lock only
 * the provider's locks are taken, and that of a register. No lock is held while a message is sent.
 * A batch of ibv_wr_*() begins and ends under .lock, and has the QP's send queue in between (.building).
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
struct place_domain;
struct qp;

/* QPs of a process that move at the same time, and the entries that each may need in a CQ. */
#define MOVES_AT_ONCE 16
#define MOVE_CQES 4
#define MOVE_CQ_ROOM (MOVES_AT_ONCE * MOVE_CQES)
/* The most completions that the library keeps for a program. QPs on a larger CQ cannot move. */
#define MOVE_STASH_MAX (1u << 17)

#define MOVE_MAGIC 0x334d5653	/* "SVM3" */

enum move_type {
	MOVE_PREPARE = 1,	/* A: let us move; this is my shadow */
	MOVE_READY,		/* B: this is mine, and it is connected to yours */
	MOVE_FREEZE,		/* A: post nothing, and wait until nothing is outstanding */
	MOVE_DRAINED,		/* B: nothing is outstanding, and I have sent .sent messages. What do you decide? */
	MOVE_ABORT,		/* either: there is no such move, or not any more */
	MOVE_SWAPPED,		/* either, to an end with an SRQ: in place of the mark, from shadow to shadow */
};

/* In the byte order of the network. */
struct move_msg {
	uint32_t magic;
	uint32_t type;		/* enum move_type */
	uint32_t id;		/* of the move, random; chosen by the end that asks */
	uint32_t qpn, psn;	/* PREPARE, READY: of the shadow */
	uint32_t access;	/* PREPARE, READY: enum ibv_access_flags, what the sender's QP grants */
	uint32_t reason;	/* ABORT: errno */
	uint32_t srq;		/* PREPARE, READY: 1: the QP of the sender has an SRQ */
	/* DRAINED, SWAPPED: messages sent that take a receive of the peer, since the last RESET. */
	uint64_t sent;
};

/* A asks, B answers. */
enum move_state {
	MOVE_IDLE,
	MOVE_ASKING,	/* A: has sent PREPARE */
	MOVE_READYING,	/* A: has received READY; sends FREEZE */
	MOVE_FREEZING,	/* A: posts are held */
	MOVE_DECIDED,	/* A: has swapped and sent its mark; waits for B's */
	MOVE_PREPARED,	/* B: has sent READY */
	MOVE_DRAINING,	/* B: posts are held */
	MOVE_IN_DOUBT,	/* B: sends DRAINED again and again until it knows the decision */
	MOVE_LEAVING,	/* B: has swapped and sent its mark; posts go on */
};

struct move_recv {
	uint64_t wr_id;
	int num_sge;
};

/* What a batch of ibv_wr_*() has so far. */
struct move_batch {
	uint32_t n, sig, sent;
	bool windows;
};

struct move {
	/* Constant while the QP lives. */
	struct qp *q;
	struct ibv_qp *first;			/* the program's */
	struct ibv_qp_init_attr init;		/* of shadows */
	uint64_t ops;				/* enum ibv_qp_create_send_ops_flags; 0: no ibv_qp_ex */
	/* The provider's functions of .first, where it has any. Kept for the next QP of the struct. */
	struct wr_real *wr;
	struct move *next_free;

	/* The protocol; under .life. */
	pthread_mutex_t life;
	bool dead;				/* the QP is being destroyed */
	bool first_failed;			/* .first is in ERR: its RESET failed when a shadow replaced it */
	struct ibv_qp *now, *next, *old;	/* written under .lock, too */
	/* Their places in registers of the library; NULL: the provider chose. Written as the QPs. */
	struct place_domain *now_at, *next_at, *old_at;
	struct ibv_qp_attr attr;		/* as the program set it */
	int attr_mask;
	enum move_state state;
	bool active;				/* counted in moves_active */
	uint32_t id, psn, peer_qpn, peer_psn, peer_access;
	uint64_t peer_sent;
	bool peer_srq;				/* the peer has an SRQ: it gets MOVE_SWAPPED, and no mark */
	bool peer_drained, froze;
	bool tries_old;				/* B: a request shows whether the old connection works */
	uint64_t until_ns, again_ns;		/* when the state ends; when to send the message again */
	struct move_msg out;			/* the message to send; .type 0: none */
	uint32_t out_qpn;			/* the QP that sends it */
	bool wanted;				/* the program asked for a move */
	int result;				/* of the last move: 0 or -errno */
	const char *why;			/* why the last move failed; NULL: it did not */
	uint64_t ends;				/* moves that ended, either way */
	pthread_cond_t ended;			/* with .life */
	int pin_cancel;				/* what life_lock() returned to pinned.c */
	/* SWIFTRDMA_SHARE_KNOB_UAR: the number to leave, 0: not set; and how long it holds. */
	uint32_t knob_from;
	uint64_t knob_until;
	uint32_t knob_answered;			/* the value that was answered last */
	uint32_t by_knob;			/* the move under way is for this value; 0: for none */
	uint32_t knob_tries;
	uint64_t knob_again_ns;
	/* A: when posts were held, and when it was known that nothing is outstanding at either end. */
	uint64_t held_ns, drained_ns;
	uint32_t load;				/* requests outstanding when posts were held */

	/* What is posted where; under .lock. */
	pthread_mutex_t lock;
	pthread_cond_t thaw;
	bool frozen;
	bool silent;				/* the last message to the peer was not answered */
	bool building;				/* a thread builds a batch of ibv_wr_*() */
	struct move_batch batch;		/* of that thread, without .lock */
	bool broken;				/* an error, or a receive of which there is no copy */
	bool windows;				/* memory windows are bound to the QP */
	bool fence_out;
	uint32_t fence_at;			/* requests accepted before it */
	bool mark_sent, mark_failed, mark_heard;
	uint32_t mark_imm;
	uint32_t accepted, sig_accepted;	/* requests, as .posted and .sig_posted of the QP */
	uint64_t sent, received;		/* messages that took a receive, since RESET */
	uint32_t early;				/* received by the shadow already, and not in .received */
	uint32_t recv_head, recv_tail, recv_mask, recv_sges;
	struct move_recv *recv;
	struct ibv_sge *recv_sge;
	char fence, mark_out, mark_in;		/* their addresses are wr_ids */

	/* Async events of shadows that the program has and has not acknowledged. */
	_Atomic uint32_t events;
};

/* Figures of a device. .why lists the reasons for which moves did not take place, each once. */
#define MOVE_WHYS 16
#define MOVE_LOADED 8
struct move_figures {
	_Atomic uint64_t moved, rolled_back, refused;
	_Atomic uint64_t loaded;	/* moved with MOVE_LOADED requests outstanding when posts were held */
	/* Of moves that this end decided: how long posts were held until both ends were drained, and after that. */
	struct swiftrdma_hist drain, pause;
	const char *_Atomic why[MOVE_WHYS];
};

/* Steps at which SWIFTRDMA_MOVE_FAIL makes moves fail, for tests. */
enum move_step {
	MOVE_STEP_NONE, MOVE_STEP_SHADOW, MOVE_STEP_CONNECT, MOVE_STEP_DRAIN, MOVE_STEP_RECVS,
	MOVE_STEP_RESET,
};

/* SWIFTRDMA_MOVE_STOP lets so many moves pass the state before it stops the process. */
#define MOVES_BEFORE_STOP 4

/* --- move_faults.c: what tests ask of moves --------------------------------------- */

/* MOVE_STEP_NONE: @name is NULL, or no name of a step. */
enum move_step move_step_named(const char *name);
/* MOVE_IDLE: @name is NULL, or no name of a state. */
enum move_state move_state_named(const char *name);
/* True each second time that a move of this process comes to the step that SWIFTRDMA_MOVE_FAIL names. */
bool move_fails_at(enum move_step step);
/* Stops the process by SIGSTOP, once, in the state that SWIFTRDMA_MOVE_STOP names. .life is held. */
void move_stop_in(enum move_state state);

/* --- move.c: what is posted where ------------------------------------------------ */

/* What was asked for a QP, and what was added to it. */
struct move_ask {
	bool on;			/* it may move */
	const char *why;		/* why not; NULL: it may, or no QP of this process moves */
	struct ibv_qp_cap cap;		/* as the program asked */
	uint64_t ops;			/* its functions of ibv_wr_*() */
};

/* Raises what @attr asks for, if such a QP can move. */
struct move_ask move_ask(const struct context *c, struct ibv_qp_init_attr *attr);
/* Takes back what move_ask() did; false: nothing. */
bool move_unask(struct move_ask *ask, struct ibv_qp_init_attr *attr);
/*
 * Lets the QP move, which the provider created with @attr. Then lowers the sizes in @attr to what the
 * program may use.
 */
void move_adopt(struct ibv_qp *qp, struct ibv_qp_init_attr *attr, const struct move_ask *ask);
/* The QP is gone; with lib_lock() held. */
void move_free(struct move *m);
/* Waits until posts are not held and no batch is being built. .lock is held. */
void move_wait_to_post(struct move *m);
/* Takes .life, and disables cancellation of the calling thread. Returns what life_unlock() restores. */
int life_lock(struct move *m);
void life_unlock(struct move *m, int cancel);
/* Makes completions those of the program's QPs. Returns how many of @n the program may see. */
int move_keep(struct cq *c, struct ibv_wc *wc, int n);
/* For a forked child, where no QP moves: replaces the QP numbers, and drops nothing. Takes no lock. */
int move_rename(const struct cq *c, struct ibv_wc *wc, int n);
/* Posts to the QP that is in use. .lock is held. */
int move_ring(struct move *m, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int move_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int move_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int move_bind_mw(struct move *m, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* --- move_wr.c: posting by ibv_wr_*() -------------------------------------------------- */

/* move_ask() for ibv_create_qp_ex(). */
struct move_ask move_ask_ex(const struct context *c, struct ibv_qp_init_attr_ex *attr);
/* False: out of memory. With lib_lock() held, before .move of the QP is set. */
bool move_wr_adopt(struct move *m);
/* Puts the functions of move_wr.c in place of the provider's in .wr_real of a QP that can move. */
void move_wr_patch(struct qp *q);
/* Creates a QP with the attributes that the program's own one was created with. NULL: see errno. */
struct ibv_qp *move_create_like(const struct move *m, struct ibv_pd *pd);

/* --- move_calls.c: calls of the program ------------------------------------------- */

int move_modify(struct move *m, struct ibv_qp_attr *attr, int mask);
int move_query(struct move *m, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
/* The program destroys the QP: ends its move, and destroys the shadows. */
void move_destroy(struct move *m);
/* The program closes the context. */
void move_close(const struct context *c);

/* --- pinned.c: calls that keep a QP where it is ------------------------------------ */

/* Returns the QP that carries the program's requests, now and for good. */
struct ibv_qp *move_pin_shown(struct move *m);
int lib_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

/* --- move_swap.c: shadows; .life is held ------------------------------------------- */

/* NULL: the QP could move now; else why not, and *@err. */
const char *move_cannot(struct move *m, int *err);
/* Makes the shadow, or connects it to the peer's. 0 or -errno. */
int move_make_shadow(struct move *m);
int move_connect_shadow(struct move *m);
void move_drop_shadow(struct move *m);
void move_freeze(struct move *m);
void move_thaw(struct move *m);
/* 1: nothing is outstanding; 0: something still is; -errno: the QP cannot be drained. */
int move_drained(struct move *m);
/* Whether this end has received @sent messages of the peer; only the bits of @mask are compared. */
bool move_has_received(struct move *m, uint64_t sent, uint64_t mask);
/* Posts the receives on the shadow, takes it for the QP, sends the mark, and ends the old QP. 0 or -errno. */
int move_swap(struct move *m);
/* Takes what has completed out of the CQs, for the program to poll. */
void move_poll(struct move *m);
/* Posts a request of the library, which fails if the connection does not work. False: none can be posted. */
bool move_probe(struct move *m);
/* 1: it has succeeded; 0: it is outstanding; -1: it has failed, and nothing else has. */
int move_probed(struct move *m);
/* After a swap: drops the QP that was in use before, and destroys it if it is a shadow. */
void move_drop_old(struct move *m);
/* Destroys the shadow that is in use, if there is one: the program's QP is in RESET. */
void move_back_to_first(struct move *m);

/* --- move_knob.c: SWIFTRDMA_SHARE_KNOB_UAR ------------------------------------------ */

/* The state of the knob in the report of the device. */
uint32_t move_knob_state(const struct device *dev);
/* Control has changed: wakes the thread if the change is of a QP's knob. Takes no lock. */
void move_control_changed(const struct device *dev);
/* Reads the knobs of QPs. Called by the thread. */
void move_read_control(struct device *dev);
/* Reports that the QP can never move, which answers every value of the knob. */
void move_knob_unable(const struct qp *q);
/* .life is held. True: the QP is to be moved now for the knob. */
bool move_knob_wants(struct move *m);
/* A move for the knob has ended; .life is held. */
void move_knob_end(struct move *m);
/* Whether the QP still is to be moved for the knob, now or later. .life is held. */
bool move_knob_waits(const struct move *m);
/* Which QP carries the requests now; .life is held. */
void move_report(const struct move *m);
/* QPs of the process on the same page of registers, itself included; 0: not known. */
uint32_t move_sharing(const struct qp *q);
/* The register of a QP of libmlx5, by its address; 0: not known. Replaced by tests. */
extern uintptr_t (*move_register_of)(struct ibv_qp *qp);

/* --- move_steps.c: the protocol --------------------------------------------------- */

/* What a move waits for: nothing, a message, or completions, which the thread has to poll. */
enum move_pace { MOVE_AT_REST, MOVE_WAITS, MOVE_POLLS };

/* Goes on with a move, and sends its message, unless the message has to wait for other moves. */
enum move_pace move_turn(struct move *m);
/* A message of the peer came. */
void move_heard(struct move *m, const struct move_msg *msg);
/* channel_tell() has returned @err for a message of the move. .life is held. */
void move_told(struct move *m, enum move_type type, int err);
/* The program ends the connection: the move is given up, or ends. .life is held. */
void move_interrupt(struct move *m);
/*
 * The program makes another change to the QP: gives up a move that holds no posts yet, and waits for the
 * decision of any other one. .life is held.
 */
void move_settle(struct move *m);

/* --- move_tell.c: messages; .life is held ------------------------------------------ */

/* Before the first move of a round of the thread. Takes no lock. */
void move_round_begins(void);
/* True: the thread must not begin @m now, because another move holds posts and would wait. */
bool move_has_to_wait(const struct move *m);
/* Notes whether the peer left the last message unanswered. */
void move_note_silence(struct move *m, bool silent);
/* Sends the message of the move, if there is one; releases .life meanwhile. */
void move_flush(struct move *m);
/* Called by the thread: as above, unless the message has to wait for other moves. */
void move_flush_in_turn(struct move *m);

/* --- move_thread.c ----------------------------------------------------------------- */

/* Starts the thread that carries out moves; false: there is none. With lib_lock() held. */
bool move_thread_start(void);
/* Wakes the thread, which then looks at all moves. */
void move_kick(void);
/* What the thread does in one round; returns how long it may wait, ns, -1: for ever. */
int64_t move_round(void);
/* Begins a move, and waits for its end. */
int move_now(struct qp *q);
/* This process has forked: nothing moves from now on. */
extern _Atomic bool move_forked;
extern _Atomic uint32_t moves_active;

#pragma GCC visibility pop

#endif /* LIB_MOVE_H */
