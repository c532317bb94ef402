/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two halves of the channel: peer.c has the protocol, peer_mad.c the way of a message
 * between two hosts, or two devices of one.
 */
#ifndef SRDMA_PEER_PRIV_H
#define SRDMA_PEER_PRIV_H

#include <linux/completion.h>
#include <linux/ratelimit.h>
#include <linux/refcount.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "peer.h"

/* All members up to and including @to_nonce are the same in every version. */
#define SRDMA_PEER_VERSION	1

enum srdma_peer_type {
	SRDMA_PEER_HELLO = 1,	/* A, which has a question: my nonce is this */
	SRDMA_PEER_WELCOME,	/* B: I have heard your nonce, and mine is this */
	SRDMA_PEER_ASK,		/* A: I have heard your nonce; what is the class of your QP? */
	SRDMA_PEER_ANSWER,	/* B: this */
	SRDMA_PEER_REFUSE,	/* B: I speak another version */
	SRDMA_PEER_TYPES
};

/* Bits of srdma_peer_msg.flags, of an ANSWER. */
enum srdma_peer_flag {
	SRDMA_PEER_LEVEL	= 1 << 0,	/* a level is in force: level, want_... */
	SRDMA_PEER_PENDING	= 1 << 1,	/* the class is not what it should be */
};

/**
 * struct srdma_peer_msg - a message, the first bytes of the data of a vendor's MAD
 * @version: the sender's SRDMA_PEER_VERSION
 * @type: enum srdma_peer_type
 * @reserved: 0
 * @from_qpn: the sender's QP
 * @to_qpn: the receiver's, which has to be connected to the sender's
 * @from_nonce: the sender's, random
 * @to_nonce: the receiver's, as the sender has heard it; 0: not yet
 * @flags: enum srdma_peer_flag. This and what follows is 0, but in an ANSWER.
 * @tclass_asked: traffic class that the application asked for
 * @tclass: traffic class that is programmed
 * @sl_asked: service level that the application asked for
 * @sl: service level that is programmed
 * @want_tclass: what @level means on the sender's host
 * @want_sl: the same
 * @level: class level in force
 * @reserved2: 0
 * @class_error: -errno of the last attempt to change the class; 0: none
 */
struct srdma_peer_msg {
	u8 version, type;
	u8 reserved[2];
	__be32 from_qpn, to_qpn;
	__be64 from_nonce, to_nonce;
	__be32 flags;
	u8 tclass_asked, tclass, sl_asked, sl, want_tclass, want_sl, level, reserved2;
	__be32 class_error;
} __packed;

static_assert(sizeof(struct srdma_peer_msg) <= IB_MGMT_VENDOR_DATA);

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
 * @gid: address in that
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
	struct ratelimit_state in, out;

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

/*
 * Send @msg to the peer at @path. -EAGAIN: too many messages were sent of late; -errno. Process
 * context; no lock is held. On the way to a QP of this host, srdma_peer_take() is called.
 */
int srdma_peer_send(struct srdma_peer_port *port, const struct srdma_peer_path *path,
		    const struct srdma_peer_msg *msg);

/*
 * Take in a message that came to @port. -ENOENT: it is for no QP here that is connected to its
 * sender. Process context, also in ib_mad's work, which CM's messages wait for: does not wait
 * for a QP or a device. @bounced: it is our own, and came back because nobody there knows it.
 */
int srdma_peer_take(struct srdma_peer_port *port, const struct srdma_peer_source *from,
		    const struct srdma_peer_msg *msg, bool bounced);

/* peer_mad.c */
void srdma_peer_mad_init(void);

#endif /* SRDMA_PEER_PRIV_H */
