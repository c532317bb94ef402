/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Questions to the module at the other end of a connection about its QP. The two modules exchange
 * management datagrams of a vendor's class on QP 1; nothing is configured.
 */
#ifndef SRDMA_PEER_H
#define SRDMA_PEER_H

#include "tracker.h"

/**
 * struct srdma_peer_answer - the peer of a QP, and the class of its QP
 * @status: enum swiftrdma_peer_status; what follows @version is known if it is ANSWERED
 * @version: version that the peer speaks, 0: not known
 * @tries: messages that were sent
 * @pending: its class is not what it should be
 * @level: level in force there, -1: none
 * @tclass_asked: traffic class that its application asked for
 * @tclass: traffic class that is programmed
 * @sl_asked: service level that its application asked for
 * @sl: service level that is programmed
 * @want_tclass: what @level means there
 * @want_sl: the same
 * @class_error: -errno of the last attempt to change its class; 0: none
 */
struct srdma_peer_answer {
	u32 status;
	u32 version, tries;
	bool pending;
	int level;
	u8 tclass_asked, tclass, sl_asked, sl, want_tclass, want_sl;
	int class_error;
};

/*
 * Ask the peer of @q, to which the caller has a reference. -EINTR: the caller is being killed.
 * Waits for 2 s at most, in process context; no lock is held.
 */
int srdma_peer_ask(struct srdma_qp *q, struct srdma_peer_answer *a);

/*
 * Send a message of 1 to SWIFTRDMA_TELL_BYTES bytes from the calling process to the process at the
 * other end of its QP @qpn. 0: the message is in that process's inbox. Otherwise the error that
 * swiftrdma_share.h names. Waits for 2 s at most, in process context; no lock is held.
 */
int srdma_peer_tell(struct srdma_dev *dev, u32 qpn, const u8 *bytes, u32 length);

/* What became of a port's messages. */
enum srdma_peer_count {
	SRDMA_PEER_SENT,	/* left by the port */
	SRDMA_PEER_RECEIVED,	/* came in by the port */
	SRDMA_PEER_SERVED,	/* were a peer's, and answered */
	SRDMA_PEER_STRANGE,	/* came not from the address of the QP's peer, or for no QP here */
	SRDMA_PEER_FORGED,	/* did not come from QP 1, or lacked the nonce */
	SRDMA_PEER_UNASKED,	/* replies that no request waits for, also duplicates */
	SRDMA_PEER_FLOODED,	/* exceeded peer_rate, and were dropped unread */
	SRDMA_PEER_HELD,	/* were not sent, because of peer_rate */
	SRDMA_PEER_DELIVERED,	/* were put into the inbox of a process */
	SRDMA_PEER_COUNTS
};

/* A port's counts; false: it has no channel. May sleep. */
bool srdma_peer_counts(struct srdma_dev *dev, u32 port, u64 n[SRDMA_PEER_COUNTS]);

/*
 * Wishes: where a level is in force for a connected QP, the peer's module is told that this end
 * wishes the same level there. The wish lapses unless it is repeated.
 */

/* For a QP whose peer wishes a level: are both ends raised, and if not, why? RCU section. */
enum swiftrdma_ends srdma_qp_judge_wish(const struct srdma_qp *q);
/* Forget the peer's wish if the peer has not repeated it in time. @q: with a reference. */
void srdma_qp_expire_wish(struct srdma_qp *q);
/*
 * Wait until all peers have heard that this host wishes no level any more, at most for a second.
 * The caller has suspended all overrides, and holds no lock that a device's removal takes.
 */
void srdma_peer_wish_settle(void);

void srdma_peer_init(void);
/* No device is left. */
void srdma_peer_exit(void);

#endif /* SRDMA_PEER_H */
