// SPDX-License-Identifier: GPL-2.0
/*
 * The channel between the two ends of a connection: questions, answers, and which messages count.
 *
 *	A				B
 *	HELLO	A's nonce	-->
 *		<--	WELCOME	A's nonce, B's nonce
 *	ASK	both		-->
 *		<--	ANSWER	both, and the class of B's QP
 *
 * QP 1 takes a Q_Key that everybody knows, so the source of a packet proves little. A message
 * counts only if it is for a QP that is connected to the QP that it names as its sender, and if
 * the packet's source is the address that this QP is connected to. Each end sends to the address
 * of its own QP, never to where a message came from, and believes nothing before the other end has
 * repeated a random number that was sent there. So a sender that does not receive the packets to
 * the peer's address, and does not guess 64 bits, learns nothing and is not believed. A sender
 * that receives them could also forge packets of the connection itself, which has no other
 * protection.
 *
 * B keeps nothing between WELCOME and ASK: its nonce is a keyed hash of A's nonce
 * and address. Wishes (peer_wish.c) begin with the same HELLO and WELCOME, and so do messages of
 * processes (peer_tell.c), which have TELL and TOLD in place of ASK and ANSWER.
 */
#include "class.h"
#include "debug.h"
#include "find.h"
#include "peer_priv.h"

/**
 * struct ask - a question under way, on the stack of the thread that asks
 * @node: in asks, under asks_lock
 * @done: a reply to the current step has come
 * @path: the peer
 * @nonce: of this end
 * @peer_nonce: of the other end, once WELCOME has come
 * @expect: the reply to the current step: SRDMA_PEER_WELCOME, SRDMA_PEER_ANSWER or
 *	SRDMA_PEER_TOLD
 * @answer: result. A reply writes it, under asks_lock, until the thread has left @asks.
 * @tell: a message of a process, and what became of it, written as @answer; NULL: a question
 */
struct ask {
	struct list_head node;
	struct completion done;
	struct srdma_peer_path path;
	__be64 nonce, peer_nonce;
	u8 expect;
	struct srdma_peer_answer *answer;
	struct srdma_peer_tell *tell;
};

static LIST_HEAD(asks);
static DEFINE_SPINLOCK(asks_lock);	/* a leaf; process context */

/* Answering */

/* The class of the QP; srdma_qp_lock() is held. */
static void fill_class(struct srdma_peer_msg *msg, const struct srdma_qp *q)
{
	struct srdma_class want;
	u32 flags = 0;

	rcu_read_lock();
	if (srdma_qp_desired(q, &want)) {
		flags |= SRDMA_PEER_LEVEL;
		msg->level = max(srdma_qp_level(q), 0);
		msg->want_tclass = want.tclass;
		msg->want_sl = want.sl;
	}
	rcu_read_unlock();
	if (srdma_qp_class_pending(q))
		flags |= SRDMA_PEER_PENDING;
	msg->tclass_asked = q->tclass_asked;
	msg->tclass = q->tclass;
	msg->sl_asked = q->sl_asked;
	msg->sl = q->sl;
	msg->class_error = cpu_to_be32(q->class_error);
	msg->flags = cpu_to_be32(flags);
}

/* Copy the path of the QP that @msg is for, and, if @msg is an ASK, its class into @reply. */
static int find_end(struct srdma_peer_port *port, const struct srdma_peer_source *from,
		    const struct srdma_peer_msg *msg, struct srdma_peer_path *path,
		    struct srdma_peer_msg *reply)
{
	struct srdma_qp *q = srdma_peer_lock_any_end(port, from, msg, path);

	if (IS_ERR(q))
		return PTR_ERR(q);
	if (msg->type == SRDMA_PEER_ASK)
		fill_class(reply, q);
	srdma_peer_unlock_end(q);
	return 0;
}

static int answer_request(struct srdma_peer_port *port, const struct srdma_peer_source *from,
			  const struct srdma_peer_msg *msg)
{
	struct srdma_peer_msg reply = {};
	struct srdma_peer_path path;
	u8 type = msg->type == SRDMA_PEER_HELLO ? SRDMA_PEER_WELCOME : SRDMA_PEER_ANSWER;
	int ret = find_end(port, from, msg, &path, &reply);

	if (ret)
		return ret;
	if (msg->version != srdma_peer_version(SRDMA_PEER_VERSION)) {
		memset(&reply, 0, sizeof(reply));
		type = SRDMA_PEER_REFUSE;
	} else if (type == SRDMA_PEER_ANSWER && !srdma_peer_knows_nonce(&path, msg)) {
		srdma_peer_count(port, SRDMA_PEER_FORGED);
		return 0;
	}
	srdma_peer_address(&reply, &path, type);
	if (type == SRDMA_PEER_WELCOME)
		reply.flags = cpu_to_be32((srdma_peer_wishless() ? 0 : SRDMA_PEER_TAKES_WISHES) |
					  (srdma_peer_deaf() ? 0 : SRDMA_PEER_TAKES_TELLS));
	reply.to_nonce = msg->from_nonce;
	/* An ANSWER has the nonce of the question, which may be that of the epoch before. */
	reply.from_nonce = type == SRDMA_PEER_ANSWER ? msg->to_nonce :
			   srdma_peer_make_nonce(&path, msg->from_nonce);
	srdma_peer_count(port, SRDMA_PEER_SERVED);
	srdma_peer_send(port, &path, &reply);
	return 0;
}

/* Asking */

static void take_answer(struct srdma_peer_answer *a, const struct srdma_peer_msg *msg)
{
	u32 flags = be32_to_cpu(msg->flags);

	a->status = SWIFTRDMA_PEER_ANSWERED;
	a->pending = flags & SRDMA_PEER_PENDING;
	a->level = flags & SRDMA_PEER_LEVEL ? msg->level : -1;
	a->tclass_asked = msg->tclass_asked;
	a->tclass = msg->tclass;
	a->sl_asked = msg->sl_asked;
	a->sl = msg->sl;
	a->want_tclass = msg->want_tclass;
	a->want_sl = msg->want_sl;
	a->class_error = (s32)be32_to_cpu(msg->class_error);
}

/* Is @msg a reply to the current step of @ask? asks_lock. */
static bool replies_to(const struct srdma_peer_msg *msg, const struct ask *ask)
{
	if (msg->to_nonce != ask->nonce ||
	    !srdma_peer_is_between(msg->from_qpn, msg->to_qpn, &ask->path))
		return false;
	if (msg->type == SRDMA_PEER_REFUSE)
		return true;
	if (msg->type == SRDMA_PEER_TOLD && (!ask->tell || msg->tell.id != ask->tell->id))
		return false;
	return msg->type == ask->expect && msg->from_nonce &&
	       (msg->type == SRDMA_PEER_WELCOME || msg->from_nonce == ask->peer_nonce);
}

/* Is @msg the message of the current step itself? asks_lock. */
static bool is_of(const struct srdma_peer_msg *msg, const struct ask *ask)
{
	return msg->from_nonce == ask->nonce && be32_to_cpu(msg->from_qpn) == ask->path.qpn &&
	       be32_to_cpu(msg->to_qpn) == ask->path.dest_qpn;
}

static void take_welcome(struct ask *ask, const struct srdma_peer_msg *msg)
{
	/* A module that does not know TELL counts as one of another version. */
	if (ask->tell && !(be32_to_cpu(msg->flags) & SRDMA_PEER_TAKES_TELLS))
		ask->answer->status = SWIFTRDMA_PEER_VERSION;
	else
		ask->peer_nonce = msg->from_nonce;
}

static void take_told(struct ask *ask, const struct srdma_peer_msg *msg)
{
	ask->answer->status = SWIFTRDMA_PEER_ANSWERED;
	ask->tell->told = msg->tell.told;
}

static void end_step(struct ask *ask, const struct srdma_peer_msg *msg, bool bounced)
{
	struct srdma_peer_answer *a = ask->answer;

	if (bounced) {
		a->status = SWIFTRDMA_PEER_NO_MODULE;
	} else {
		a->version = msg->version;
		if (msg->type == SRDMA_PEER_REFUSE)
			a->status = SWIFTRDMA_PEER_VERSION;
		else if (msg->type == SRDMA_PEER_WELCOME)
			take_welcome(ask, msg);
		else if (msg->type == SRDMA_PEER_TOLD)
			take_told(ask, msg);
		else
			take_answer(a, msg);
	}
	ask->expect = 0;
	complete(&ask->done);
}

/* Takes a reply, or a bounced message. -ENOENT: no question waits for it. */
static int take_reply(const struct srdma_peer_source *from, const struct srdma_peer_msg *msg,
		      bool bounced)
{
	int ret = -ENOENT;
	struct ask *ask;

	spin_lock(&asks_lock);
	list_for_each_entry(ask, &asks, node) {
		if (!ask->expect || !srdma_peer_came_from(from, &ask->path) ||
		    !(bounced ? is_of(msg, ask) : replies_to(msg, ask)))
			continue;
		end_step(ask, msg, bounced);
		ret = 0;
		break;
	}
	spin_unlock(&asks_lock);
	return ret;
}

/* Is the message a request? All others are replies. */
static bool is_request(const struct srdma_peer_msg *msg)
{
	return msg->type == SRDMA_PEER_HELLO || msg->type == SRDMA_PEER_ASK ||
	       (msg->type == SRDMA_PEER_WISH && !srdma_peer_wishless()) ||
	       (msg->type == SRDMA_PEER_TELL && !srdma_peer_deaf());
}

static int take_request(struct srdma_peer_port *port, const struct srdma_peer_source *from,
			const struct srdma_peer_msg *msg)
{
	switch (msg->type) {
	case SRDMA_PEER_WISH:
		return srdma_peer_hear(port, from, msg);
	case SRDMA_PEER_TELL:
		return srdma_peer_hear_tell(port, from, msg);
	default:
		return answer_request(port, from, msg);
	}
}

static int take_mad(struct srdma_peer_port *port, const struct srdma_peer_source *from,
		    const struct srdma_peer_msg *msg, bool bounced)
{
	int ret = -ENOENT;

	if (!bounced && is_request(msg)) {
		ret = take_request(port, from, msg);
		if (ret == -ENOENT)
			srdma_peer_count(port, SRDMA_PEER_STRANGE);
	} else if (bounced || msg->type < SRDMA_PEER_TYPES) {
		ret = take_reply(from, msg, bounced);
		if (ret == -ENOENT)
			ret = srdma_peer_wish_reply(from, msg, bounced);
		if (ret == -ENOENT)
			srdma_peer_count(port, SRDMA_PEER_UNASKED);
	}
	return ret;
}

static int send_step(struct ask *ask, struct srdma_dev *dev, u8 type)
{
	struct srdma_peer_msg msg = { .from_nonce = ask->nonce, .to_nonce = ask->peer_nonce };
	struct srdma_peer_port *port;
	int ret = -EAGAIN;

	port = srdma_peer_port_get(dev, rdma_ah_get_port_num(&ask->path.ah));
	if (!port)
		return -ENODEV;
	srdma_peer_address(&msg, &ask->path, type);
	if (type == SRDMA_PEER_TELL)
		msg.tell = *ask->tell;
	if (!ask->tell || srdma_peer_may_tell(port))
		ret = srdma_peer_send(port, &ask->path, &msg);
	srdma_peer_port_put(port);
	return ret;
}

/*
 * Send the message of a step until its reply comes. 0: it has come; -ETIMEDOUT: it has not;
 * -EINTR; -errno: nothing could be sent. If the port's own rate holds the message back, no reply
 * can come, and a process may hold its posts meanwhile, so the next try comes soon.
 */
static int run_step(struct ask *ask, struct srdma_dev *dev, u8 type)
{
	long left, wait, budget = SRDMA_PEER_TRIES * SRDMA_PEER_TRY_TIME;
	int ret;

	spin_lock(&asks_lock);
	reinit_completion(&ask->done);
	ask->expect = type + 1;
	spin_unlock(&asks_lock);
	for (; budget > 0; budget -= wait) {
		ret = send_step(ask, dev, type);
		if (ret && ret != -EAGAIN)
			return ret;
		ask->answer->tries += !ret;
		wait = ret ? SRDMA_PEER_HELD_TIME : SRDMA_PEER_TRY_TIME;
		left = wait_for_completion_killable_timeout(&ask->done, wait);
		if (left)
			return left < 0 ? -EINTR : 0;
	}
	return -ETIMEDOUT;
}

static u32 status_of_error(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return SWIFTRDMA_PEER_SILENT;
	case -ENODEV:
		return SWIFTRDMA_PEER_NO_CHANNEL;
	case -EADDRNOTAVAIL:
		return SWIFTRDMA_PEER_NO_ADDRESS;
	case -ENOTCONN:
		return SWIFTRDMA_PEER_UNCONNECTED;
	default:
		return SWIFTRDMA_PEER_UNREACHABLE;
	}
}

static int run_steps(struct ask *ask, struct srdma_dev *dev)
{
	int ret = run_step(ask, dev, SRDMA_PEER_HELLO);

	if (!ret && ask->peer_nonce)
		ret = run_step(ask, dev, ask->tell ? SRDMA_PEER_TELL : SRDMA_PEER_ASK);
	return ret;
}

int srdma_peer_exchange(struct srdma_qp *q, struct srdma_peer_answer *a,
			struct srdma_peer_tell *t)
{
	struct ask ask = { .answer = a, .tell = t, .nonce = srdma_peer_random_nonce() };
	int ret;

	memset(a, 0, sizeof(*a));
	a->level = -1;
	init_completion(&ask.done);
	srdma_qp_lock(q);
	ret = srdma_qp_in_table(q) ? srdma_peer_copy_path(q, &ask.path) : -ENOTCONN;
	srdma_qp_unlock(q);
	if (!ret) {
		spin_lock(&asks_lock);
		list_add(&ask.node, &asks);
		spin_unlock(&asks_lock);
		ret = run_steps(&ask, q->dev);
		spin_lock(&asks_lock);
		list_del(&ask.node);
		spin_unlock(&asks_lock);
	}
	if (ret && ret != -EINTR)
		a->status = status_of_error(ret);
	return ret == -EINTR ? ret : 0;
}

int srdma_peer_ask(struct srdma_qp *q, struct srdma_peer_answer *a)
{
	return srdma_peer_exchange(q, a, NULL);
}

void srdma_peer_init(void)
{
	srdma_peer_end_init();
	srdma_peer_mad_init(take_mad);
	srdma_peer_wish_init();
}
