// SPDX-License-Identifier: GPL-2.0
/*
 * Wishes of peers: which level the other end of a connection wishes for a QP here, and what
 * came of it. A wish alone changes nothing. It is shown to this host's agent, and has an effect
 * as far as an override of SWIFTRDMA_KNOB_FOLLOW allows, which srdma_qp_level() works out.
 */
#include "class.h"
#include "debug.h"
#include "find.h"
#include "lease.h"
#include "peer_priv.h"

/*
 * A wish lapses after this time. Peers repeat it every 2 or 5 s, so three messages in a row may be
 * lost. It bounds how long a QP stays raised for a peer that has gone without a word.
 */
#define WISH_SECONDS	20

/* The level in force is at least the wished one: does the QP's class have it? */
static enum swiftrdma_ends judge_raised(const struct srdma_qp *q)
{
	switch (srdma_class_standing(q)) {
	case SRDMA_DONE:
		return SWIFTRDMA_ENDS_BOTH;
	case SRDMA_CANNOT:
		return SWIFTRDMA_ENDS_CANNOT;
	default:
		return SWIFTRDMA_ENDS_WAITING;
	}
}

enum swiftrdma_ends srdma_qp_judge_wish(const struct srdma_qp *q)
{
	const struct srdma_job_dev *jd = rcu_dereference(q->job);
	u32 follow = jd ? READ_ONCE(jd->follow) : 0;
	int wish = READ_ONCE(q->ends.wish) - 1;
	struct srdma_level is;

	if (srdma_giving_back(q->dev))
		return SWIFTRDMA_ENDS_NO_AGENT;
	if (srdma_qp_level(q) >= wish)
		return judge_raised(q);
	if (!follow)
		return srdma_agent_is_there() ? SWIFTRDMA_ENDS_NOT_FOLLOWED :
						SWIFTRDMA_ENDS_NO_AGENT;
	is = srdma_level_get(wish);
	if (srdma_level_unpack(follow) >= wish && !srdma_level_is_set(&is))
		return SWIFTRDMA_ENDS_NO_LEVEL;
	return SWIFTRDMA_ENDS_REFUSED;
}

/* srdma_qp_lock() is held. */
static void set_wish(struct srdma_qp *q, u8 wish)
{
	u8 was = q->ends.wish;

	WRITE_ONCE(q->ends.until, srdma_ends_seconds() + WISH_SECONDS);
	if (was == wish)
		return;
	WRITE_ONCE(q->ends.wish, wish);
	smp_mb();	/* pairs as in srdma_class_recheck() */
	if (wish)
		srdma_peer_wish_look();
	srdma_qp_touch(q);
	if (srdma_qp_class_pending(q))
		srdma_pass_qp(q);
}

void srdma_qp_expire_wish(struct srdma_qp *q)
{
	if (!READ_ONCE(q->ends.wish) || (s8)(srdma_ends_seconds() - READ_ONCE(q->ends.until)) < 0)
		return;
	/* The application of the QP may hold its lock, in a verb. The next look ends the wish. */
	if (!srdma_qp_trylock(q))
		return;
	if ((s8)(srdma_ends_seconds() - q->ends.until) >= 0)
		set_wish(q, 0);
	srdma_qp_unlock(q);
}

/* Store a wish in its QP, and write into @wish what came of it, for the reply. */
static void hear_wish(struct srdma_peer_port *port, const struct srdma_peer_source *from,
		      struct srdma_peer_wish *wish)
{
	struct srdma_peer_path path;
	struct srdma_qp *q;

	q = srdma_peer_lock_end(port, from, wish->from_qpn, wish->to_qpn, &path);
	if (IS_ERR(q)) {
		wish->ends = PTR_ERR(q) == -EBUSY ? SWIFTRDMA_ENDS_WAITING :
						    SWIFTRDMA_ENDS_UNKNOWN;
		return;
	}
	set_wish(q, min_t(u8, wish->level, SWIFTRDMA_LEVEL_MAX + 1));
	rcu_read_lock();
	wish->ends = wish->level ? srdma_qp_judge_wish(q) : SWIFTRDMA_ENDS_UNSPEC;
	wish->there = srdma_giving_back(q->dev) ? 0 : srdma_qp_level(q) + 1;
	rcu_read_unlock();
	srdma_peer_unlock_end(q);
}

int srdma_peer_hear(struct srdma_peer_port *port, const struct srdma_peer_source *from,
		    const struct srdma_peer_msg *msg)
{
	bool refused = msg->version != srdma_peer_version(SRDMA_PEER_VERSION);
	int i, n = min_t(int, msg->n_wishes, SRDMA_PEER_WISHES);
	struct srdma_peer_msg reply = {};
	struct srdma_peer_path path;
	struct srdma_qp *q;

	if (!n)
		return -ENOENT;
	q = srdma_peer_lock_any_end(port, from, msg, &path);
	if (IS_ERR(q))
		return PTR_ERR(q);
	srdma_peer_unlock_end(q);
	if (!refused && !srdma_peer_knows_nonce(&path, msg)) {
		srdma_peer_count(port, SRDMA_PEER_FORGED);
		return 0;
	}
	srdma_peer_address(&reply, &path, refused ? SRDMA_PEER_REFUSE : SRDMA_PEER_HEARD);
	reply.from_nonce = msg->to_nonce;
	reply.to_nonce = msg->from_nonce;
	if (!refused) {
		reply.n_wishes = n;
		memcpy(reply.wish, msg->wish, n * sizeof(reply.wish[0]));
		for (i = 0; i < n; i++)
			hear_wish(port, from, &reply.wish[i]);
		reply.next_nonce = srdma_peer_make_nonce(&path, msg->from_nonce);
	}
	srdma_peer_count(port, SRDMA_PEER_SERVED);
	srdma_peer_send(port, &path, &reply);
	return 0;
}
