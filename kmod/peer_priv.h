/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the channel: peer.c has the protocol and asks questions, peer_end.c has the
 * addresses and nonces, peer_wish.c sends wishes, peer_heard.c receives them, peer_tell.c relays
 * messages of processes, and peer_mad.c transports messages between two hosts, or two devices of
 * one host.
 */
#ifndef SRDMA_PEER_PRIV_H
#define SRDMA_PEER_PRIV_H

#include <linux/completion.h>
#include <linux/ratelimit.h>
#include <linux/refcount.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include <rdma/swiftrdma_share.h>

#include "peer.h"

/* All members up to and including @to_nonce are the same in every version. */
#define SRDMA_PEER_VERSION	1

/*
 * Messages may be lost, so a step is tried this often before the peer counts as silent. A try is
 * much longer than a round trip, even on an emulated machine.
 */
#define SRDMA_PEER_TRIES	4
#define SRDMA_PEER_TRY_TIME	(HZ / 4)
/* A message that the port's own rate holds back is tried again after this time. */
#define SRDMA_PEER_HELD_TIME	(HZ / 50)

enum srdma_peer_type {
	SRDMA_PEER_HELLO = 1,	/* A, which has a question: my nonce is this */
	SRDMA_PEER_WELCOME,	/* B: I have heard your nonce, and mine is this */
	SRDMA_PEER_ASK,		/* A: I have heard your nonce; what is the class of your QP? */
	SRDMA_PEER_ANSWER,	/* B: the class of my QP */
	SRDMA_PEER_REFUSE,	/* B: I speak another version */
	SRDMA_PEER_WISH,	/* A: I wish that your QPs had these levels */
	SRDMA_PEER_HEARD,	/* B: the result of each wish, enum swiftrdma_ends */
	SRDMA_PEER_TELL,	/* A: my process has a message for yours */
	SRDMA_PEER_TOLD,	/* B: what became of the message, enum srdma_told */
	SRDMA_PEER_TYPES
};

/* Bits of srdma_peer_msg.flags. */
enum srdma_peer_flag {
	SRDMA_PEER_LEVEL	= 1 << 0,	/* ANSWER: a level is in force: level, want_... */
	SRDMA_PEER_PENDING	= 1 << 1,	/* ANSWER: the class is not what it should be */
	SRDMA_PEER_TAKES_WISHES	= 1 << 2,	/* WELCOME: WISH is understood */
	SRDMA_PEER_TAKES_TELLS	= 1 << 3,	/* WELCOME: TELL is understood */
};

/* Wishes of one message. With more the message would not fit into a MAD. */
#define SRDMA_PEER_WISHES	13

/**
 * struct srdma_peer_wish - a level that A wishes for a QP of B
 * @from_qpn: A's QP
 * @to_qpn: B's, which has to be connected to A's
 * @level: level plus 1, 0: none any more
 * @ends: in HEARD: enum swiftrdma_ends
 * @there: in HEARD: level in force for B's QP plus 1, 0: none
 * @reserved: 0
 */
struct srdma_peer_wish {
	__be32 from_qpn, to_qpn;
	u8 level, ends, there, reserved;
} __packed;

/**
 * struct srdma_peer_tell - a message of a process
 * @id: random; the same in each try, and in the TOLD
 * @length: bytes
 * @told: in TOLD: enum srdma_told
 * @reserved: 0
 * @bytes: in TELL: the message
 */
struct srdma_peer_tell {
	__be64 id;
	u8 length, told;
	u8 reserved[2];
	u8 bytes[SWIFTRDMA_TELL_BYTES];
} __packed;

/**
 * struct srdma_peer_msg - a message, the first bytes of the data of a vendor's MAD
 * @version: the sender's SRDMA_PEER_VERSION
 * @type: enum srdma_peer_type
 * @reserved: 0
 * @from_qpn: the sender's QP
 * @to_qpn: the receiver's, which has to be connected to the sender's
 * @from_nonce: the sender's, random
 * @to_nonce: the receiver's, as the sender has heard it; 0: not yet
 * @flags: enum srdma_peer_flag; 0 except in WELCOME and ANSWER. The members that follow, up to
 *	@class_error, are 0 except in ANSWER.
 * @tclass_asked: traffic class that the application asked for
 * @tclass: traffic class that is programmed
 * @sl_asked: service level that the application asked for
 * @sl: service level that is programmed
 * @want_tclass: what @level means on the sender's host
 * @want_sl: the same
 * @level: class level in force
 * @reserved2: 0
 * @class_error: -errno of the last attempt to change the class; 0: none
 * @next_nonce: in HEARD: what @to_nonce of the next WISH may be
 * @n_wishes: number of wishes in WISH and HEARD. HELLO has the wishes of the first WISH that will
 *	follow. If @to_qpn is not connected to @from_qpn, the QP of one of the wishes has to be
 *	connected as that wish says.
 * @reserved3: 0
 * @wish: the wishes
 * @tell: in TELL and TOLD, in place of the wishes
 */
struct srdma_peer_msg {
	u8 version, type;
	u8 reserved[2];
	__be32 from_qpn, to_qpn;
	__be64 from_nonce, to_nonce;
	__be32 flags;
	u8 tclass_asked, tclass, sl_asked, sl, want_tclass, want_sl, level, reserved2;
	__be32 class_error;
	__be64 next_nonce;
	u8 n_wishes;
	u8 reserved3[3];
	union {
		struct srdma_peer_wish wish[SRDMA_PEER_WISHES];
		struct srdma_peer_tell tell;
	};
} __packed;

static_assert(sizeof(struct srdma_peer_msg) <= IB_MGMT_VENDOR_DATA);
static_assert(sizeof(struct srdma_peer_tell) <=
	      SRDMA_PEER_WISHES * sizeof(struct srdma_peer_wish));

/**
 * struct srdma_peer_path - where the peer of a QP is: a copy of what the QP is connected to
 * @ah: address vector, with the class that the application asked for
 * @qpn: the QP
 * @dest_qpn: its peer
 * @serial: the QP's
 */
struct srdma_peer_path {
	struct rdma_ah_attr ah;
	u32 qpn, dest_qpn;
	u64 serial;
};

/**
 * struct srdma_peer_source - where a message came from, as its packet says
 * @has_gid: it had a GRH
 * @gid: the sender's, from the GRH
 * @slid: source LID, on InfiniBand
 */
struct srdma_peer_source {
	bool has_gid;
	union ib_gid gid;
	u32 slid;
};

/**
 * struct srdma_peer_port - a port with QP 1
 * @node: in peer_mad.c's list, under ports_lock
 * @users: one of the list, one of each thread that sends by the port
 * @unused: no user is left
 * @dev: the device, with a reference
 * @port: its number
 * @agent: ib_mad's; NULL until it is registered, ends after @unused is complete
 * @in: messages that are taken in
 * @out: messages that are sent
 * @wishes: messages with wishes that are sent
 * @tells: messages of processes that are sent
 * @n: by enum srdma_peer_count
 */
struct srdma_peer_port {
	struct list_head node;
	refcount_t users;
	struct completion unused;

	/* Constant. */
	struct srdma_dev *dev;
	u32 port;
	struct ib_mad_agent *agent;	/* once it is in the list */

	/* Have their own locks. */
	struct ratelimit_state in, out, wishes, tells;

	/* Atomic. */
	atomic64_t n[SRDMA_PEER_COUNTS];
};

static inline void srdma_peer_count(struct srdma_peer_port *port, enum srdma_peer_count what)
{
	atomic64_inc(&port->n[what]);
}

/* A port, for as long as it takes to send a message; NULL: it has no channel. May sleep. */
struct srdma_peer_port *srdma_peer_port_get(struct srdma_dev *dev, u32 port);
void srdma_peer_port_put(struct srdma_peer_port *port);

/* May one more message with wishes be sent? They get half of the port's rate. */
bool srdma_peer_may_wish(struct srdma_peer_port *port);
/* May one more message of a process be sent? Such messages get half of the port's rate. */
bool srdma_peer_may_tell(struct srdma_peer_port *port);

/*
 * Send @msg to the peer at @path. -EAGAIN: too many messages were sent of late; -errno. Process
 * context; no lock is held. A message to a QP of this host is taken in before this returns.
 */
int srdma_peer_send(struct srdma_peer_port *port, const struct srdma_peer_path *path,
		    const struct srdma_peer_msg *msg);

/*
 * Handles a message that came to @port. -ENOENT: the message is for no QP here that is connected
 * to its sender. Process context. ib_mad's work calls the function, too, and messages of the
 * connection manager wait for that work, so the function does not wait for a QP or a device.
 * @bounced: the message is this host's own, and came back because the other host has no module.
 */
typedef int srdma_peer_take_fn(struct srdma_peer_port *port, const struct srdma_peer_source *from,
			       const struct srdma_peer_msg *msg, bool bounced);

/* peer_mad.c: messages that come are given to @take. */
void srdma_peer_mad_init(srdma_peer_take_fn *take);

/* peer_end.c */
void srdma_peer_end_init(void);

/*
 * Copy what the QP is connected to; srdma_qp_lock() is held. -EADDRNOTAVAIL: not known, because
 * the QP is older than the module; -ENOTCONN.
 */
int srdma_peer_copy_path(const struct srdma_qp *q, struct srdma_peer_path *p);
/* Is @from the address that the QP of @p is connected to? */
bool srdma_peer_came_from(const struct srdma_peer_source *from, const struct srdma_peer_path *p);
/* Is @p the path from @to_qpn here to @from_qpn there? */
bool srdma_peer_is_between(__be32 from_qpn, __be32 to_qpn, const struct srdma_peer_path *p);
/* Set version, type and QPs of @msg, which goes from the QP of @p to its peer. */
void srdma_peer_address(struct srdma_peer_msg *msg, const struct srdma_peer_path *p, u8 type);
/*
 * The QP @to_qpn of the port, if it is connected to the QP @from_qpn at the address @from:
 * locked, with a reference and its path. ERR_PTR: -ENOENT, or -EBUSY if its application is in a
 * call, which is not waited for.
 */
struct srdma_qp *srdma_peer_lock_end(struct srdma_peer_port *port,
				     const struct srdma_peer_source *from,
				     __be32 from_qpn, __be32 to_qpn, struct srdma_peer_path *path);
/*
 * As srdma_peer_lock_end(), for the QP that @msg names. If that QP is not connected to the
 * sender, for the first QP of the message's wishes that is: the sender cannot know which of these
 * the module here knows.
 */
struct srdma_qp *srdma_peer_lock_any_end(struct srdma_peer_port *port,
					 const struct srdma_peer_source *from,
					 const struct srdma_peer_msg *msg,
					 struct srdma_peer_path *path);
void srdma_peer_unlock_end(struct srdma_qp *q);
/* A new nonce of this end as the one that asks. Not 0. */
__be64 srdma_peer_random_nonce(void);
/*
 * make_nonce(): the current nonce of this end for the peer at @p, which sent @nonce.
 * knows_nonce(): does @msg have this nonce, or that of the epoch before?
 */
__be64 srdma_peer_make_nonce(const struct srdma_peer_path *p, __be64 nonce);
bool srdma_peer_knows_nonce(const struct srdma_peer_path *p, const struct srdma_peer_msg *msg);

/*
 * In peer.c. Ask the peer of @q for its class or, if @t is not NULL, give the peer that message.
 * The result is that of srdma_peer_ask(). If @a->status is ANSWERED, @t->told says what became of
 * the message.
 */
int srdma_peer_exchange(struct srdma_qp *q, struct srdma_peer_answer *a,
			struct srdma_peer_tell *t);

/* peer_tell.c: take in a message of type TELL. As srdma_peer_take_fn. */
int srdma_peer_hear_tell(struct srdma_peer_port *port, const struct srdma_peer_source *from,
			 const struct srdma_peer_msg *msg);

/* peer_heard.c: take in a message of type WISH. As srdma_peer_take_fn. */
int srdma_peer_hear(struct srdma_peer_port *port, const struct srdma_peer_source *from,
		    const struct srdma_peer_msg *msg);

/* peer_wish.c: take in what may be a reply to a message with wishes. -ENOENT: it is none. */
int srdma_peer_wish_reply(const struct srdma_peer_source *from, const struct srdma_peer_msg *msg,
			  bool bounced);
/* Have the work look soon for wishes to send, and for wishes that lapse. Any context. */
void srdma_peer_wish_look(void);
void srdma_peer_wish_init(void);

#endif /* SRDMA_PEER_PRIV_H */
