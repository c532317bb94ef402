// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When a move sends its message.
 *
 * One thread carries out all moves of the process. A message to a host that is gone keeps this thread for one or
 * two seconds, in which no other move goes on, and posts that another move holds stay held. Hence, while another
 * move holds posts, a message waits
 *  - if it is a PREPARE, READY or FREEZE: no end holds posts until the message comes;
 *  - if the last message to the same peer was not answered.
 * So each move that holds posts can delay the others by one message only: the first one that its own peer
 * does not answer.
 *
 * Such a message also waits for the next round of the thread if another message of this round was not answered.
 * Before that next message the thread receives what has come, and goes on with the moves that hold posts.
 */
#include <arpa/inet.h>

#include "lib/channel.h"
#include "lib/lib.h"

#define MS 1000000ull
/* A message that the peer did not answer is sent again after this time. */
#define SILENT_TIME	(1000 * MS)

/* A message of this round was not answered. Only the thread uses it. */
static bool silent_round;

void move_round_begins(void)
{
	silent_round = false;
}

/*
 * Whether the move of @q holds posts that the message of @m would keep held. A move whose peer is silent holds
 * posts for long, and is not waited for. If @q is the other end of the connection of @m, it may wait for that
 * very message. (If the peer is another host's QP of the same number, @q is held for longer, by one message.)
 */
static bool holds_peer(const struct qp *q, const struct move *m)
{
	struct move *o = __atomic_load_n(&q->key, __ATOMIC_ACQUIRE) ?
			 atomic_load_explicit(&q->move, memory_order_acquire) : NULL;
	bool does;

	if (!o || o == m || q->qpn == m->attr.dest_qp_num)
		return false;
	pthread_mutex_lock(&o->lock);
	does = o->frozen && !o->silent;
	pthread_mutex_unlock(&o->lock);
	return does;
}

static bool another_holds(const struct move *m)
{
	for (const struct qp *q = qp_all(); q; q = q->next_all)
		if (holds_peer(q, m))
			return true;
	return false;
}

bool move_has_to_wait(const struct move *m)
{
	return silent_round || another_holds(m);
}

static bool can_wait(const struct move *m)
{
	enum move_type type = ntohl(m->out.type);

	return m->silent || type == MOVE_PREPARE || type == MOVE_READY || type == MOVE_FREEZE;
}

void move_note_silence(struct move *m, bool silent)
{
	pthread_mutex_lock(&m->lock);
	m->silent = silent;
	pthread_mutex_unlock(&m->lock);
	if (silent)
		m->again_ns = lib_clock() + SILENT_TIME;
}

/* False: the message was not answered. */
static bool flush_message(struct move *m)
{
	const struct device *dev = m->q->ctx->dev;
	struct move_msg msg = m->out;
	uint32_t qpn = m->out_qpn;
	int err;

	if (!msg.type)
		return true;
	m->out.type = 0;
	pthread_mutex_unlock(&m->life);
	err = channel_tell(dev, qpn, &msg, sizeof(msg));
	pthread_mutex_lock(&m->life);
	move_note_silence(m, err == -ETIMEDOUT);
	if (m->id == ntohl(msg.id) && !m->dead)
		move_told(m, ntohl(msg.type), err);
	return err != -ETIMEDOUT;
}

void move_flush(struct move *m)
{
	flush_message(m);
}

void move_flush_in_turn(struct move *m)
{
	if (m->out.type && can_wait(m) && move_has_to_wait(m))
		return;
	if (!flush_message(m))
		silent_round = true;
}
