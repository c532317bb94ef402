// SPDX-License-Identifier: GPL-2.0
/*
 * Messages between the two processes that hold the ends of a connection. To the channel such a
 * message is one more question, which begins with HELLO and WELCOME, as peer.c describes:
 *
 *	TELL	both nonces, an id, up to 128 bytes	-->
 *		<--	TOLD	both nonces, what became of the message
 *
 * The sender repeats a TELL whose TOLD has not come. The inbox knows the message by its id, which
 * is random, and does not take it twice; so the inbox never has the message twice. A sender
 * without a TOLD does not know whether the inbox has it.
 */
#include <linux/random.h>

#include "debug.h"
#include "find.h"
#include "inbox.h"
#include "peer_priv.h"
#include "share.h"

/* Put the message into the inbox of the process whose QP is @q. */
static u8 deliver_message(const struct srdma_qp *q, const struct srdma_peer_tell *t)
{
	const struct pid *pid = q->owner ? q->owner->pid : NULL;

	if (!pid || !t->length || t->length > SWIFTRDMA_TELL_BYTES)
		return SRDMA_TOLD_NOBODY;
	return srdma_inbox_put(q->dev, pid, q->qpn, be64_to_cpu(t->id), t->bytes, t->length);
}

int srdma_peer_hear_tell(struct srdma_peer_port *port, const struct srdma_peer_source *from,
			 const struct srdma_peer_msg *msg)
{
	bool refused = msg->version != srdma_peer_version(SRDMA_PEER_VERSION);
	struct srdma_peer_msg reply = {};
	struct srdma_peer_path path;
	struct srdma_qp *q;

	q = srdma_peer_lock_end(port, from, msg->from_qpn, msg->to_qpn, &path);
	if (IS_ERR(q))
		return PTR_ERR(q);
	if (!refused && !srdma_peer_knows_nonce(&path, msg)) {
		srdma_peer_unlock_end(q);
		srdma_peer_count(port, SRDMA_PEER_FORGED);
		return 0;
	}
	if (!refused) {
		reply.tell.id = msg->tell.id;
		reply.tell.told = deliver_message(q, &msg->tell);
	}
	srdma_peer_unlock_end(q);
	if (reply.tell.told == SRDMA_TOLD_IN)
		srdma_peer_count(port, SRDMA_PEER_DELIVERED);
	srdma_peer_address(&reply, &path, refused ? SRDMA_PEER_REFUSE : SRDMA_PEER_TOLD);
	reply.from_nonce = msg->to_nonce;
	reply.to_nonce = msg->from_nonce;
	srdma_peer_count(port, SRDMA_PEER_SERVED);
	srdma_peer_send(port, &path, &reply);
	return 0;
}

static int error_of(u8 told)
{
	switch (told) {
	case SRDMA_TOLD_IN:
		return 0;
	case SRDMA_TOLD_FULL:
		return -ENOBUFS;
	case SRDMA_TOLD_NOBODY:
		return -ECONNREFUSED;
	default:
		return -EPROTO;
	}
}

static int error_of_status(u32 status)
{
	switch (status) {
	case SWIFTRDMA_PEER_NO_MODULE:
	case SWIFTRDMA_PEER_VERSION:
		return -EOPNOTSUPP;
	case SWIFTRDMA_PEER_SILENT:
		return -ETIMEDOUT;
	case SWIFTRDMA_PEER_NO_CHANNEL:
		return -ENODEV;
	case SWIFTRDMA_PEER_NO_ADDRESS:
		return -EADDRNOTAVAIL;
	case SWIFTRDMA_PEER_UNCONNECTED:
		return -ENOTCONN;
	default:
		return -EHOSTUNREACH;
	}
}

/* The QP, if it is the calling process's, with a reference; NULL: it has none of that number. */
static struct srdma_qp *own_qp(struct srdma_dev *dev, u32 qpn)
{
	struct srdma_qp *q = srdma_qp_get_by_key(dev, qpn);

	if (q && q->owner && q->owner->pid == task_tgid(current))
		return q;
	srdma_qp_put(q);
	return NULL;
}

int srdma_peer_tell(struct srdma_dev *dev, u32 qpn, const u8 *bytes, u32 length)
{
	struct srdma_peer_tell t = { .length = length };
	struct srdma_peer_answer a;
	struct srdma_qp *q;
	int ret;

	ret = srdma_share_pay_for_tell(dev);
	if (ret)
		return ret;
	q = own_qp(dev, qpn);
	if (!q)
		return -ENOENT;
	get_random_bytes(&t.id, sizeof(t.id));
	t.id |= cpu_to_be64(1);
	memcpy(t.bytes, bytes, length);
	ret = srdma_peer_exchange(q, &a, &t);
	srdma_qp_put(q);
	if (ret)
		return ret;
	return a.status == SWIFTRDMA_PEER_ANSWERED ? error_of(t.told) : error_of_status(a.status);
}
