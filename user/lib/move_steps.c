// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The protocol by which both ends of a connection move at the same time.
 *
 *	A (asks)				B
 *	makes a shadow
 *	PREPARE	its number	-->
 *						makes a shadow, connects it
 *				<--	READY	its number
 *	connects its shadow
 *	FREEZE			-->
 *	holds posts; waits until nothing is outstanding (both)
 *				<--	DRAINED	messages sent
 *	has received these: posts its receives on the shadow, and takes it: decided
 *	mark: messages sent	==>
 *	ends the old connection			has received these: does the same; posts go on
 *				<==	mark
 *	posts go on
 *
 * --> are messages, which may be lost; ==> are empty SENDs on the new connection, which arrive if it
 * works.
 *
 * Up to the decision either end may give up, by ABORT or by silence: both go on with the old
 * connection, in which nothing was changed. An end that has sent DRAINED gives up only when it
 * receives ABORT, or after DOUBT_TIME. If the new connection does not carry A's mark for so long, it has
 * failed, as the old one would have on the same path. Both ends then get errors: A gets them from the
 * new connection, and B gets them from the old connection, because A has reset its end of it.
 *
 * A receives B's mark before it posts, so its messages find the receives of B's program.
 *
 * An end with a shared receive queue (SRQ) gets the message SWAPPED in place of the mark. The sender
 * repeats SWAPPED until it is delivered. If B has an SRQ and does not receive SWAPPED within DOUBT_TIME,
 * B posts a request to its old QP. The request fails if A has decided, since A has then
 * reset the old connection. If A grants no such request, B refuses to move.
 *
 * A message may have to wait for other moves of the process (move_tell.c).
 */
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>
#include <sys/random.h>

#include "lib/channel.h"
#include "lib/lib.h"

#define MS 1000000ull
#define ANSWER_TIME	(3000 * MS)	/* for an answer, while no posts are held */
#define DRAIN_TIME	(500 * MS)	/* for an end to drain, while its posts are held */
#define DOUBT_TIME	(10000 * MS)	/* B, for the decision */
#define MARK_TIME	(12000 * MS)	/* for a mark; longer than B may be in doubt */
#define AGAIN_TIME	(250 * MS)

_Atomic uint32_t moves_active;

static void enter_state(struct move *m, enum move_state state, uint64_t time)
{
	uint64_t now = lib_clock();

	m->state = state;
	m->until_ns = now + time;
	m->again_ns = now + AGAIN_TIME;
	move_stop_in(state);
}

/* What the peer may do at this QP. A read needs resources here, too, or it breaks the connection. */
static uint32_t granted_to_peer(const struct move *m)
{
	uint32_t access = m->attr.qp_access_flags;

	return m->attr.max_dest_rd_atomic ? access : access & ~(uint32_t)IBV_ACCESS_REMOTE_READ;
}

/* What this QP may do at the peer, for which a read needs resources of this QP. */
static uint32_t granted_by_peer(const struct move *m, const struct move_msg *msg)
{
	uint32_t access = ntohl(msg->access);

	return m->attr.max_rd_atomic ? access : access & ~(uint32_t)IBV_ACCESS_REMOTE_READ;
}

static void say_of(struct move *m, uint32_t id, enum move_type type, int reason)
{
	m->out = (struct move_msg){
		.magic = htonl(MOVE_MAGIC), .type = htonl(type), .id = htonl(id),
		.psn = htonl(m->psn), .access = htonl(granted_to_peer(m)),
		.qpn = htonl(m->next ? m->next->qp_num : 0), .reason = htonl((uint32_t)reason),
		.srq = htonl(!!m->init.srq), .sent = htobe64(m->sent),
	};
	m->out_qpn = m->now->qp_num;
}

static void say_to_peer(struct move *m, enum move_type type)
{
	say_of(m, m->id, type, 0);
}

/* --- the end of a move ----------------------------------------------------------------- */

/* Notes a reason for which a move did not take place, once. */
static void note_why(struct move_figures *f, const char *why)
{
	for (int i = 0; i < MOVE_WHYS; i++) {
		const char *was = NULL;

		if (atomic_compare_exchange_strong(&f->why[i], &was, why) || was == why)
			return;
	}
}

static void count_end(struct move *m)
{
	struct move_figures *f = &m->q->ctx->dev->moves;

	if (m->result) {
		atomic_fetch_add(m->froze ? &f->rolled_back : &f->refused, 1);
		note_why(f, m->why);
		return;
	}
	atomic_fetch_add(&f->moved, 1);
	atomic_fetch_add(&f->loaded, m->load >= MOVE_LOADED);
	if (!m->drained_ns)
		return;
	hist_add(&f->drain, m->drained_ns - m->held_ns, 1);
	hist_add(&f->pause, lib_clock() - m->drained_ns, 1);
}

/* @why: NULL if @result is 0. */
static void end_move(struct move *m, int result, const char *why)
{
	m->state = MOVE_IDLE;
	m->result = result;
	m->why = why;
	m->ends++;
	count_end(m);
	if (m->by_knob)
		move_knob_end(m);
	if (m->active)
		atomic_fetch_sub(&moves_active, 1);
	m->active = false;
	pthread_cond_broadcast(&m->ended);
}

/* Goes on with the old connection. */
static void give_up(struct move *m, int err, const char *why)
{
	move_thaw(m);
	move_drop_shadow(m);
	end_move(m, err, why);
}

static void give_up_and_say(struct move *m, int err, const char *why)
{
	say_of(m, m->id, MOVE_ABORT, -err);
	give_up(m, err, why);
}

/* Goes on with the new connection. */
static void finish_move(struct move *m, int err, const char *why)
{
	move_thaw(m);
	end_move(m, err, why);
	move_drop_old(m);
}

void move_interrupt(struct move *m)
{
	static const char why[] = "the program changed the QP meanwhile";

	m->wanted = false;
	switch (m->state) {
	case MOVE_IDLE:
		break;
	case MOVE_DECIDED:
	case MOVE_LEAVING:
		finish_move(m, 0, NULL);
		break;
	default:
		give_up_and_say(m, -EINTR, why);
		move_kick();
	}
}

void move_settle(struct move *m)
{
	if (m->state == MOVE_ASKING || m->state == MOVE_READYING || m->state == MOVE_PREPARED)
		move_interrupt(m);
	while (m->state != MOVE_IDLE && m->state != MOVE_LEAVING)
		pthread_cond_wait(&m->ended, &m->life);
}

static const char *why_of(int err, const char *otherwise)
{
	switch (-err) {
	case ECONNREFUSED:
		return "the peer's process has no library that can";
	case EOPNOTSUPP:
		return "the peer cannot, or its host has no module that relays messages";
	case EACCES:
		return "the last requests are unsignalled, and the peer grants neither reads nor writes";
	case ENOTCONN:
	case EADDRNOTAVAIL:
		return "the peer of the connection is not known, or not in RTS";
	case EAGAIN:
	case ENOBUFS:
		return "there are too many messages";
	case EDQUOT:
		return "the job of an end may have, or create, no more QPs (job.max_qps, job.create_rate)";
	case EPERM:
		return "an end has a shared receive queue, and is granted neither reads nor writes by its peer";
	case EBUSY:
		return "both ends asked for it at the same time, or too many QPs move";
	default:
		return otherwise;
	}
}

static const char forked[] = "the process has forked";

/*
 * Returns why an end must not go on draining, or 0. The time is checked first, so that a process that was
 * stopped for long does not decide a move that its peer has given up. After a fork the child, too, has the
 * QP that is in use, so that QP must stay.
 */
static int cannot_drain(const struct move *m)
{
	if (lib_clock() >= m->until_ns)
		return -ETIMEDOUT;
	return move_forked ? -EOPNOTSUPP : 0;
}

static void give_up_draining(struct move *m, int err)
{
	const char *why;

	if (err == -ETIMEDOUT)
		why = "requests did not complete in time";
	else if (move_forked)
		why = forked;
	else
		why = why_of(err, m->windows ? "memory windows are bound to it" : "a request failed");
	give_up_and_say(m, err, why);
}

/* --- A ------------------------------------------------------------------------------- */

/* False: as many QPs move as may at the same time. */
static bool activate_move(struct move *m)
{
	if (atomic_fetch_add(&moves_active, 1) >= MOVES_AT_ONCE) {
		atomic_fetch_sub(&moves_active, 1);
		return false;
	}
	m->active = true;
	return true;
}

static const char *why_no_shadow(const struct move *m, int err)
{
	if (err == -ENOSPC && m->by_knob)
		return "there is no register with less to do";
	return err == -EDQUOT ? why_of(err, NULL) : "the device made no second QP";
}

/* Makes the shadow, at either end. Returns NULL, or why there is none, and sets *@err. */
static const char *prepare_shadow(struct move *m, int *err)
{
	const char *why = move_cannot(m, err);

	m->froze = false;
	if (why)
		return why;
	if (!activate_move(m)) {
		*err = -EBUSY;
		return why_of(*err, NULL);
	}
	*err = move_make_shadow(m);
	return *err ? why_no_shadow(m, *err) : NULL;
}

static void begin_move(struct move *m)
{
	const char *why;
	int err;

	why = prepare_shadow(m, &err);
	m->wanted = false;
	if (why) {
		end_move(m, err, why);
		return;
	}
	if (getrandom(&m->id, sizeof(m->id), GRND_NONBLOCK) != sizeof(m->id))
		m->id = (uint32_t)lib_clock();
	m->id |= 1;
	m->peer_drained = false;
	enter_state(m, MOVE_ASKING, ANSWER_TIME);
	say_to_peer(m, MOVE_PREPARE);
}

static void take_peer(struct move *m, const struct move_msg *msg)
{
	m->peer_qpn = ntohl(msg->qpn);
	m->peer_psn = ntohl(msg->psn);
	m->peer_access = granted_by_peer(m, msg);
	m->peer_srq = msg->srq;
}

static void peer_is_ready(struct move *m, const struct move_msg *msg)
{
	int err;

	take_peer(m, msg);
	err = move_connect_shadow(m);
	if (err) {
		give_up_and_say(m, err, "the second QP cannot be connected");
		return;
	}
	enter_state(m, MOVE_READYING, ANSWER_TIME);
	say_to_peer(m, MOVE_FREEZE);
}

/* Decides, once both ends have nothing outstanding. */
static void try_to_decide(struct move *m)
{
	int ret = cannot_drain(m);

	if (!ret)
		ret = move_drained(m);
	if (ret > 0 && m->peer_drained && move_has_received(m, m->peer_sent, UINT64_MAX)) {
		m->drained_ns = lib_clock();
		ret = move_swap(m);
		if (!ret) {
			enter_state(m, MOVE_DECIDED, MARK_TIME);
			if (m->peer_srq)
				say_to_peer(m, MOVE_SWAPPED);
			return;
		}
	}
	if (ret < 0)
		give_up_draining(m, ret);
}

/* What became of this end's mark and the peer's. */
struct marks {
	bool sent, heard, failed;
	uint32_t imm;
};

static struct marks marks_of(struct move *m)
{
	struct marks marks;

	move_poll(m);
	pthread_mutex_lock(&m->lock);
	marks = (struct marks){ m->mark_sent, m->mark_heard, m->mark_failed || m->broken, m->mark_imm };
	pthread_mutex_unlock(&m->lock);
	return marks;
}

/* A mark arrives if the new connection works. SWAPPED may be lost, so it is repeated. */
static void say_swapped_again(struct move *m)
{
	uint64_t now = lib_clock();

	if (!m->peer_srq || now < m->again_ns)
		return;
	m->again_ns = now + AGAIN_TIME;
	say_to_peer(m, MOVE_SWAPPED);
}

static void wait_for_peer(struct move *m)
{
	struct marks marks = marks_of(m);

	if (marks.heard && (marks.sent || m->peer_srq)) {
		finish_move(m, 0, NULL);
	} else if (marks.failed) {
		finish_move(m, -EIO, "the connection failed while it moved");
	} else if (lib_clock() >= m->until_ns) {
		finish_move(m, -ETIMEDOUT, "the peer did not follow");
		move_probe(m);
	} else if (!marks.sent) {
		say_swapped_again(m);
	}
}

/* --- B ------------------------------------------------------------------------------- */

/*
 * An end with an SRQ that does not hear the decision tries the old connection, by an empty write or read
 * (try_old()). If the peer grants neither, the end could go back to a connection that A has ended, so it
 * refuses the move.
 */
static bool could_not_try_old(const struct move *m, const struct move_msg *msg)
{
	return m->init.srq &&
	       !(granted_by_peer(m, msg) & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
}

static const char *prepare_for_peer(struct move *m, const struct move_msg *msg, int *err)
{
	if (!could_not_try_old(m, msg))
		return prepare_shadow(m, err);
	m->froze = false;
	*err = -EPERM;
	return why_of(*err, NULL);
}

static void peer_asks(struct move *m, const struct move_msg *msg)
{
	uint32_t id = ntohl(msg->id);
	const char *why;
	int err;

	if (m->state != MOVE_IDLE && id == m->id)
		return;
	/*
	 * If both ends ask at the same time, the move with the larger id goes on. A peer that asks again
	 * has given up its earlier move, unless it had decided that move; then its mark has come.
	 */
	if ((m->state == MOVE_ASKING && id > m->id) || m->state == MOVE_PREPARED ||
	    m->state == MOVE_DRAINING)
		give_up(m, -EBUSY, why_of(-EBUSY, NULL));
	if (m->state == MOVE_LEAVING && marks_of(m).sent)
		finish_move(m, 0, NULL);
	if (m->state != MOVE_IDLE) {
		say_of(m, id, MOVE_ABORT, EBUSY);
		return;
	}
	why = prepare_for_peer(m, msg, &err);
	m->id = id;
	if (why) {
		say_of(m, id, MOVE_ABORT, -err);
		end_move(m, err, why);
		return;
	}
	m->wanted = false;
	take_peer(m, msg);
	err = move_connect_shadow(m);
	if (err) {
		give_up_and_say(m, err, "the second QP cannot be connected");
		return;
	}
	enter_state(m, MOVE_PREPARED, ANSWER_TIME);
	say_to_peer(m, MOVE_READY);
}

static void drain_for_peer(struct move *m)
{
	int ret = cannot_drain(m);

	if (!ret)
		ret = move_drained(m);
	if (ret > 0) {
		m->tries_old = false;
		enter_state(m, MOVE_IN_DOUBT, DOUBT_TIME);
		say_to_peer(m, MOVE_DRAINED);
	} else if (ret < 0) {
		give_up_draining(m, ret);
	}
}

/*
 * A has decided, so nothing is left but the new connection. If messages of A are missing here, or the
 * receives cannot be posted there, the connection ends with an error.
 */
static void follow_decision(struct move *m, bool all_here)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (!all_here || move_swap(m)) {
		next.modify_qp(m->now, &attr, IBV_QP_STATE);
		give_up(m, -EIO, "the peer has moved, and this end could not follow");
		return;
	}
	move_note_silence(m, false);
	move_thaw(m);
	enter_state(m, MOVE_LEAVING, MARK_TIME);
	if (m->peer_srq)
		say_to_peer(m, MOVE_SWAPPED);
	pthread_cond_broadcast(&m->ended);
}

static void end_in_doubt(struct move *m)
{
	give_up(m, -ETIMEDOUT, "the peer did not say what it decided");
	move_probe(m);
}

/*
 * SWAPPED may not come although the new connection works. So this end tries the old connection, in which A
 * does not answer any more if it has decided.
 */
static void try_old(struct move *m)
{
	if (m->init.srq && !m->tries_old && move_probe(m)) {
		m->tries_old = true;
		enter_state(m, MOVE_IN_DOUBT, DOUBT_TIME);
	} else {
		end_in_doubt(m);
	}
}

static void wait_for_decision(struct move *m)
{
	struct marks marks = marks_of(m);
	uint64_t now = lib_clock();
	int works;

	/* A had nothing outstanding, so its messages are here, or about to be seen. */
	if (marks.heard && move_has_received(m, marks.imm, UINT32_MAX)) {
		follow_decision(m, true);
	} else if (now >= m->until_ns && marks.heard) {
		follow_decision(m, false);
	} else if (now >= m->until_ns) {
		try_old(m);
	} else if (m->tries_old) {
		works = move_probed(m);
		if (works > 0)
			end_in_doubt(m);
		else if (works < 0)
			follow_decision(m, true);
	} else if (now >= m->again_ns && !marks.heard) {
		m->again_ns = now + AGAIN_TIME;
		say_to_peer(m, MOVE_DRAINED);
	}
}

static void await_mark(struct move *m)
{
	struct marks marks = marks_of(m);

	if (marks.sent)
		finish_move(m, 0, NULL);
	else if (marks.failed || lib_clock() >= m->until_ns)
		finish_move(m, -EIO, "the connection failed while it moved");
	else
		say_swapped_again(m);
}

/* --- both ------------------------------------------------------------------------------ */

static void await_wish(struct move *m)
{
	if (!m->wanted && !move_knob_wants(m))
		return;
	if (move_has_to_wait(m))
		m->by_knob = 0;
	else
		begin_move(m);
}

static void advance_move(struct move *m)
{
	switch (m->state) {
	case MOVE_IDLE:
		await_wish(m);
		break;
	case MOVE_ASKING:
	case MOVE_READYING:
	case MOVE_PREPARED:
		if (lib_clock() >= m->until_ns)
			give_up_and_say(m, -ETIMEDOUT, "the peer did not answer");
		break;
	case MOVE_FREEZING:
		try_to_decide(m);
		break;
	case MOVE_DECIDED:
		wait_for_peer(m);
		break;
	case MOVE_DRAINING:
		drain_for_peer(m);
		break;
	case MOVE_IN_DOUBT:
		wait_for_decision(m);
		break;
	case MOVE_LEAVING:
		await_mark(m);
		break;
	}
}

/*
 * The message of the state was delivered, or @err says why not. If it was delivered in spite of @err, the peer's
 * next message gets ABORT as an answer. If PREPARE was not delivered, no ABORT is sent: the peer holds no
 * posts then, and each message to a host that is gone takes a second.
 */
void move_told(struct move *m, enum move_type type, int err)
{
	static const char why[] = "a message was not delivered";

	if (type == MOVE_SWAPPED && !err) {
		pthread_mutex_lock(&m->lock);
		m->mark_sent = true;
		pthread_mutex_unlock(&m->lock);
	} else if (type == MOVE_FREEZE && m->state == MOVE_READYING && !err) {
		move_freeze(m);
		enter_state(m, MOVE_FREEZING, DRAIN_TIME);
	} else if (type == MOVE_PREPARE && m->state == MOVE_ASKING) {
		if (err)
			give_up(m, err, why_of(err, why));
	} else if ((type == MOVE_FREEZE && m->state == MOVE_READYING) ||
		   (type == MOVE_READY && m->state == MOVE_PREPARED)) {
		if (err)
			give_up_and_say(m, err, why_of(err, why));
	}
}

static enum move_pace pace_of(const struct move *m)
{
	switch (m->state) {
	case MOVE_IDLE:
		return m->out.type || m->wanted || move_knob_waits(m) ? MOVE_WAITS : MOVE_AT_REST;
	case MOVE_ASKING:
	case MOVE_READYING:
	case MOVE_PREPARED:
		return MOVE_WAITS;
	default:
		return MOVE_POLLS;
	}
}

enum move_pace move_turn(struct move *m)
{
	enum move_pace pace;

	pthread_mutex_lock(&m->life);
	move_flush_in_turn(m);
	if (!m->dead)
		advance_move(m);
	move_flush_in_turn(m);
	pace = m->dead ? MOVE_AT_REST : pace_of(m);
	pthread_mutex_unlock(&m->life);
	return pace;
}

static void hear_swapped(struct move *m, const struct move_msg *msg)
{
	pthread_mutex_lock(&m->lock);
	m->mark_heard = true;
	m->mark_imm = (uint32_t)be64toh(msg->sent);
	pthread_mutex_unlock(&m->lock);
}

static void hear_message(struct move *m, const struct move_msg *msg)
{
	enum move_type type = ntohl(msg->type);

	if (type == MOVE_PREPARE) {
		peer_asks(m, msg);
		return;
	}
	if (ntohl(msg->id) != m->id || m->state == MOVE_IDLE) {
		if (type == MOVE_READY || type == MOVE_DRAINED)
			say_of(m, ntohl(msg->id), MOVE_ABORT, ECANCELED);
		return;
	}
	switch (type) {
	case MOVE_READY:
		if (m->state == MOVE_ASKING)
			peer_is_ready(m, msg);
		break;
	case MOVE_FREEZE:
		if (m->state == MOVE_PREPARED) {
			move_freeze(m);
			enter_state(m, MOVE_DRAINING, DRAIN_TIME);
		}
		break;
	case MOVE_DRAINED:
		/* DRAINED may arrive before channel_tell() has returned for FREEZE. */
		if (m->state == MOVE_FREEZING || m->state == MOVE_READYING) {
			m->peer_drained = true;
			m->peer_sent = be64toh(msg->sent);
		}
		break;
	case MOVE_SWAPPED:
		if (m->init.srq && (m->state == MOVE_DECIDED || m->state == MOVE_IN_DOUBT))
			hear_swapped(m, msg);
		break;
	case MOVE_ABORT:
		if (m->state == MOVE_ASKING || m->state == MOVE_READYING || m->state == MOVE_FREEZING ||
		    m->state == MOVE_PREPARED || m->state == MOVE_DRAINING ||
		    (m->state == MOVE_IN_DOUBT && !marks_of(m).heard)) {
			int err = msg->reason ? -(int)ntohl(msg->reason) : -ECANCELED;

			give_up(m, err, why_of(err, "the peer gave it up"));
		}
		break;
	default:
		break;
	}
}

void move_heard(struct move *m, const struct move_msg *msg)
{
	pthread_mutex_lock(&m->life);
	move_note_silence(m, false);
	if (!m->dead)
		hear_message(m, msg);
	move_flush_in_turn(m);
	pthread_mutex_unlock(&m->life);
}
