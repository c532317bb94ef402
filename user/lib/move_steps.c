// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The protocol by which both ends of a connection move at the same time.
 *
 *	A (asks)				B
 *	makes a shadow
 *	PREPARE	its number	-->
 *						makes a shadow, connects it
 *				<--	READY	its number
 *	connects its shadow, holds posts
 *	FREEZE			-->
 *	waits until nothing is outstanding	holds posts, waits until nothing is outstanding
 *				<--	DRAINED	messages sent
 *	has received these: posts its receives on the shadow, and takes it: decided
 *	COMMIT	messages sent	-->
 *						has received these: the same; posts go on
 *				<--	DONE
 *	posts go on; gives up the old connection
 *						gives up the old connection
 *
 * Up to COMMIT either end may give up, by ABORT or by silence: both go on with the old connection, in
 * which nothing was changed. An end that has told DRAINED does not give up by itself: it tells DRAINED
 * until it hears COMMIT or ABORT. A has decided before it tells COMMIT, and tells it until DONE comes.
 * Each end posts its receives on the shadow before the other one may send there.
 *
 * A peer that has gone leaves an end with either connection for good; both are broken then, and the
 * program gets the errors that it would have got.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>
#include <sys/random.h>

#include "lib/channel.h"
#include "lib/lib.h"
#include "lib/move.h"

#define MS 1000000ull
#define ANSWER_TIME	(3000 * MS)	/* of what holds nothing */
#define DRAIN_TIME	(500 * MS)	/* posts are held for so long, until the decision */
#define DECIDED_TIME	(5000 * MS)	/* A, for DONE */
#define DOUBT_TIME	(10000 * MS)	/* B, for the decision; longer than A's tries to tell it */
#define AGAIN_TIME	(250 * MS)
#define LEAVE_TRIES	4

static void enter(struct move *m, enum move_state state, uint64_t time, uint64_t now)
{
	m->state = state;
	m->until_ns = now + time;
	m->again_ns = now + AGAIN_TIME;
	m->tries = 0;
}

static void say(struct move *m, enum move_type type, int reason)
{
	m->out = (struct move_msg){
		.magic = htonl(MOVE_MAGIC), .type = htonl(type), .id = htonl(m->id),
		.psn = htonl(m->psn), .access = htonl(m->attr.qp_access_flags),
		.qpn = htonl(m->next ? m->next->qp_num : 0), .reason = htonl((uint32_t)reason),
		.sent = htobe64(m->sent),
	};
}

static void end(struct move *m, int result)
{
	m->state = MOVE_IDLE;
	m->result = result;
	m->moves += !result;
	m->failures += !!result;
	atomic_fetch_add(result ? &move_failures : &move_count, 1);
	pthread_cond_broadcast(&m->ended);
}

/* Goes on with the old connection. */
static void give_up(struct move *m, int err)
{
	move_drop_shadow(m);
	move_thaw(m);
	end(m, err);
}

static void give_up_and_say(struct move *m, int err)
{
	say(m, MOVE_ABORT, -err);
	give_up(m, err);
}

static void finish(struct move *m)
{
	move_drop_old(m);
	move_thaw(m);
	end(m, 0);
}

void move_interrupt(struct move *m)
{
	m->out.type = 0;
	switch (m->state) {
	case MOVE_IDLE:
		break;
	case MOVE_DECIDED:
	case MOVE_LEAVING:
		finish(m);
		break;
	default:
		give_up(m, -EINTR);
	}
}

/* --- A ------------------------------------------------------------------------------- */

static void begin(struct move *m, uint64_t now)
{
	int err = move_possible(m);

	m->wanted = false;
	if (!err)
		err = move_make_shadow(m);
	if (err) {
		end(m, err);
		return;
	}
	if (getrandom(&m->id, sizeof(m->id), GRND_NONBLOCK) != sizeof(m->id))
		m->id = (uint32_t)now;
	m->id |= 1;
	m->peer_drained = false;
	enter(m, MOVE_ASKING, ANSWER_TIME, now);
	say(m, MOVE_PREPARE, 0);
}

static void take_peer(struct move *m, const struct move_msg *msg)
{
	m->peer_qpn = ntohl(msg->qpn);
	m->peer_psn = ntohl(msg->psn);
	m->peer_access = ntohl(msg->access);
}

static void peer_is_ready(struct move *m, const struct move_msg *msg, uint64_t now)
{
	int err;

	take_peer(m, msg);
	err = move_connect_shadow(m);
	if (err) {
		give_up_and_say(m, err);
		return;
	}
	move_freeze(m);
	enter(m, MOVE_FREEZING, DRAIN_TIME, now);
	say(m, MOVE_FREEZE, 0);
}

/* Decides, once both ends have nothing outstanding. */
static void drain(struct move *m, uint64_t now)
{
	int ret = move_drained(m);

	if (ret > 0 && m->peer_drained && move_has_received(m, m->peer_sent)) {
		ret = move_swap(m);
		if (!ret) {
			enter(m, MOVE_DECIDED, DECIDED_TIME, now);
			say(m, MOVE_COMMIT, 0);
			return;
		}
	}
	if (ret >= 0 && now >= m->until_ns)
		ret = -ETIMEDOUT;
	if (ret < 0)
		give_up_and_say(m, ret);
}

/* --- B ------------------------------------------------------------------------------- */

static void refuse(struct move *m, uint32_t id, int err)
{
	uint32_t own = m->id;

	m->id = id;
	say(m, MOVE_ABORT, -err);
	m->id = own;
}

static void peer_asks(struct move *m, const struct move_msg *msg, uint64_t now)
{
	uint32_t id = ntohl(msg->id);
	int err;

	/* Of two ends that ask at the same time the one with the larger number goes on. */
	if (m->state == MOVE_ASKING && id > m->id)
		give_up(m, -EBUSY);
	if (m->state != MOVE_IDLE) {
		if (id != m->id)
			refuse(m, id, -EBUSY);
		return;
	}
	err = move_possible(m);
	if (!err)
		err = move_make_shadow(m);
	if (err) {
		refuse(m, id, err);
		return;
	}
	m->id = id;
	take_peer(m, msg);
	err = move_connect_shadow(m);
	if (err) {
		give_up_and_say(m, err);
		return;
	}
	enter(m, MOVE_PREPARED, ANSWER_TIME, now);
	say(m, MOVE_READY, 0);
}

static void drain_for_peer(struct move *m, uint64_t now)
{
	int ret = move_drained(m);

	if (ret > 0) {
		enter(m, MOVE_IN_DOUBT, DOUBT_TIME, now);
		say(m, MOVE_DRAINED, 0);
	} else if (ret < 0 || now >= m->until_ns) {
		give_up_and_say(m, ret < 0 ? ret : -ETIMEDOUT);
	}
}

/*
 * A had nothing outstanding, so all of its messages are here, or in the CQ. If they are not, or the
 * receives cannot be posted, nothing is left that would be right: the connection ends with an error.
 */
static void settle(struct move *m, uint64_t now)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (!move_has_received(m, m->peer_sent) && now < m->until_ns)
		return;
	if (now >= m->until_ns || move_swap(m)) {
		next.modify_qp(m->now, &attr, IBV_QP_STATE);
		give_up(m, -EIO);
		return;
	}
	move_thaw(m);
	enter(m, MOVE_LEAVING, 0, now);
	say(m, MOVE_DONE, 0);
}

/* --- both ------------------------------------------------------------------------------ */

static void tell_again(struct move *m, enum move_type type, uint64_t now)
{
	if (now < m->again_ns)
		return;
	m->again_ns = now + AGAIN_TIME;
	say(m, type, 0);
}

static void advance(struct move *m, uint64_t now)
{
	switch (m->state) {
	case MOVE_IDLE:
		if (m->wanted && !m->dead)
			begin(m, now);
		break;
	case MOVE_ASKING:
	case MOVE_PREPARED:
		if (now >= m->until_ns)
			give_up_and_say(m, -ETIMEDOUT);
		break;
	case MOVE_FREEZING:
		drain(m, now);
		break;
	case MOVE_DECIDED:
		if (now >= m->until_ns)
			finish(m);
		else
			tell_again(m, MOVE_COMMIT, now);
		break;
	case MOVE_DRAINING:
		drain_for_peer(m, now);
		break;
	case MOVE_IN_DOUBT:
		if (now >= m->until_ns)
			give_up(m, -ETIMEDOUT);
		else
			tell_again(m, MOVE_DRAINED, now);
		break;
	case MOVE_SETTLING:
		settle(m, now);
		break;
	case MOVE_LEAVING:
		tell_again(m, MOVE_DONE, now);
		break;
	}
}

/* The message of the state was told, or not. */
static void told(struct move *m, enum move_type type, int err)
{
	switch (type) {
	case MOVE_PREPARE:
	case MOVE_READY:
	case MOVE_FREEZE:
		/* If it came all the same, the peer's next message is answered by ABORT. */
		if (err && (m->state == MOVE_ASKING || m->state == MOVE_PREPARED ||
			    m->state == MOVE_FREEZING))
			give_up(m, err);
		break;
	case MOVE_DONE:
		if (m->state == MOVE_LEAVING && (!err || ++m->tries == LEAVE_TRIES))
			finish(m);
		break;
	default:
		break;
	}
}

/* The old connection carries messages until it is given up. */
static uint32_t number_of(const struct move *m)
{
	return m->old ? m->old->qp_num : m->now->qp_num;
}

static void flush(struct move *m)
{
	const struct device *dev = m->q->ctx->dev;
	struct move_msg msg = m->out;
	uint32_t qpn = number_of(m);
	int err;

	if (!msg.type || m->dead)
		return;
	m->out.type = 0;
	pthread_mutex_unlock(&m->life);
	err = channel_tell(dev, qpn, &msg, sizeof(msg));
	pthread_mutex_lock(&m->life);
	if (m->id == ntohl(msg.id))
		told(m, ntohl(msg.type), err);
}

static enum move_pace pace_of(const struct move *m)
{
	switch (m->state) {
	case MOVE_IDLE:
		return m->out.type ? MOVE_WAITS : MOVE_AT_REST;
	case MOVE_FREEZING:
	case MOVE_DRAINING:
	case MOVE_SETTLING:
		return MOVE_POLLS;
	default:
		return MOVE_WAITS;
	}
}

enum move_pace move_turn(struct move *m, uint64_t now)
{
	enum move_pace pace;

	pthread_mutex_lock(&m->life);
	flush(m);
	if (!m->dead)
		advance(m, now);
	flush(m);
	pace = pace_of(m);
	pthread_mutex_unlock(&m->life);
	return pace;
}

static void heard(struct move *m, const struct move_msg *msg, uint64_t now)
{
	enum move_type type = ntohl(msg->type);

	if (type == MOVE_PREPARE) {
		peer_asks(m, msg, now);
		return;
	}
	if (ntohl(msg->id) != m->id || m->state == MOVE_IDLE) {
		if (type == MOVE_READY || type == MOVE_DRAINED)
			refuse(m, ntohl(msg->id), -ECANCELED);
		return;
	}
	switch (type) {
	case MOVE_READY:
		if (m->state == MOVE_ASKING)
			peer_is_ready(m, msg, now);
		break;
	case MOVE_FREEZE:
		if (m->state == MOVE_PREPARED) {
			move_freeze(m);
			enter(m, MOVE_DRAINING, DRAIN_TIME, now);
		}
		break;
	case MOVE_DRAINED:
		if (m->state == MOVE_FREEZING) {
			m->peer_drained = true;
			m->peer_sent = be64toh(msg->sent);
		}
		break;
	case MOVE_COMMIT:
		if (m->state == MOVE_IN_DOUBT) {
			m->peer_sent = be64toh(msg->sent);
			enter(m, MOVE_SETTLING, DRAIN_TIME, now);
		} else if (m->state == MOVE_LEAVING) {
			say(m, MOVE_DONE, 0);
		}
		break;
	case MOVE_DONE:
		if (m->state == MOVE_DECIDED)
			finish(m);
		break;
	case MOVE_ABORT:
		if (m->state == MOVE_ASKING || m->state == MOVE_FREEZING ||
		    m->state == MOVE_PREPARED || m->state == MOVE_DRAINING ||
		    m->state == MOVE_IN_DOUBT)
			give_up(m, ntohl(msg->reason) ? -(int)ntohl(msg->reason) : -ECANCELED);
		break;
	default:
		break;
	}
}

void move_heard(struct move *m, const struct move_msg *msg, uint64_t now)
{
	pthread_mutex_lock(&m->life);
	if (!m->dead)
		heard(m, msg, now);
	flush(m);
	pthread_mutex_unlock(&m->life);
}
