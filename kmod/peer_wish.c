// SPDX-License-Identifier: GPL-2.0
/*
 * Sends wishes: which level the peer of a QP should have.
 *
 * All packets of a peer, including its responses, have the class of the peer's QP. So where an
 * override gives a connected QP a level above 0, this module sends a wish for the same level to
 * the module of the peer's host, which takes it in peer_heard.c, and repeats the wish every 2 or 5
 * seconds. A level that a peer's wish put in force causes no wish: two ends would keep each other
 * raised.
 *
 * One work item looks at all QPs, once a second while there is a wish, and soon after levels have
 * changed. It collects the wishes for each host, in a *link*, and sends them in messages of up to
 * SRDMA_PEER_WISHES wishes, one message after the other:
 *
 *	HELLO, WELCOME		the nonces, as peer.c
 *	WISH, HEARD		wishes, and what came of each, with the nonce for the next WISH
 *
 * All links together send at most half of peer_rate by a port: 13 wishes a message, 250 messages
 * a second, so 10,000 QPs take 3 s, and repeating them takes a seventh of the rate.
 *
 * Only the work writes the structures below, except for the reply.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "debug.h"
#include "find.h"
#include "notify.h"
#include "override.h"
#include "pass.h"
#include "peer_priv.h"

/* All in seconds. A nonce of the peer is good for 8 at least. */
#define NONCE_LIFE	7
#define REPEAT		5
#define REPEAT_FEW	2	/* where at most FEW QPs have wishes */
#define REPEAT_SOON	1	/* after the first answer: the peer's agent has seen it then */
#define REPEAT_LATE	30	/* to a host that has no module, or another version */
#define LINK_LIFE	30	/* of a link that has nothing to tell */

#define LOOK_TIME	HZ		/* between two looks at all QPs */
#define LOOK_LEAST	(HZ / 50)	/* the same, at least */
#define PACE_TIME	(HZ / 50)	/* until the rate is tried again */

#define FEW	100

/* Messages in a row without an answer after which the rest of a link's wishes is not tried. */
#define SILENT_MAX	3
/* Wishes of a link that are collected in one look. */
#define ITEMS_MAX	512

/* A wish that is to be sent. */
struct item {
	u64 serial;
	u32 qpn, dest_qpn;
	u8 level;	/* plus 1; 0: none */
};

/**
 * struct link - a host, or one of its ports, to which QPs of a port are connected
 * @node: in links
 * @dev: of the QPs here, with a reference
 * @path: path of one of the QPs
 * @item: wishes to send; the first @n_sent of them are in the message under way
 * @n: number of wishes in @item
 * @room: capacity of @item
 * @full: a wish did not fit @item
 * @n_sent: number of wishes in the message under way
 * @nonce: of this end, since the last HELLO
 * @peer_nonce: of the other end; 0: HELLO is next
 * @heard: seconds, when @peer_nonce came
 * @used: seconds, when there was something to tell last
 * @expect: the reply that is waited for: SRDMA_PEER_WELCOME or SRDMA_PEER_HEARD; 0: none.
 *	Written under links_lock. While it is set, @nonce, @peer_nonce and @path stay as they are.
 * @tries: of the message under way
 * @silent: messages in a row that were not answered
 * @sent_at: jiffies
 * @replied: @reply is valid; this and the next two under links_lock
 * @bounced: @reply is this host's own message, because the other host has no module
 * @reply: the reply
 */
struct link {
	struct list_head node;
	struct srdma_dev *dev;
	struct srdma_peer_path path;
	struct item *item;
	u32 n, room;
	bool full;
	u8 n_sent;
	__be64 nonce, peer_nonce;
	time64_t heard, used;
	u8 expect, tries, silent;
	unsigned long sent_at;
	bool replied, bounced;
	struct srdma_peer_msg reply;
};

static void tell_peers(struct work_struct *work);
static DECLARE_DELAYED_WORK(telling, tell_peers);

static LIST_HEAD(links);		/* written by the work alone, under links_lock */
static DEFINE_SPINLOCK(links_lock);	/* a leaf; process context */

/* Any thread asks the work for a look at all QPs. */
static bool look_wanted;
/* Written by the work. @n_asked: QPs whose peers may know a wish, at the last look. */
static u32 n_asked, looks;
static unsigned long looked_at;		/* jiffies; the work's */
static bool settling;			/* a disarm waits: look as often as possible */
static DECLARE_WAIT_QUEUE_HEAD(looked);

static void work_in(unsigned long delay)
{
	mod_delayed_work(system_dfl_wq, &telling, delay);
}

void srdma_peer_wish_look(void)
{
	WRITE_ONCE(look_wanted, true);
	work_in(0);
}

/* The state of a QP */

/* The level, plus 1, that this end wishes of the other; 0: none. */
static u8 level_to_wish(const struct srdma_qp *q)
{
	int level;

	rcu_read_lock();
	level = srdma_giving_back(q->dev) ? -1 : srdma_qp_local_level(q);
	rcu_read_unlock();
	return level > 0 ? level + 1 : 0;
}

static void set_state(struct srdma_qp *q, u8 state, u8 there)
{
	if (q->ends.state == state && q->ends.there == there)
		return;
	WRITE_ONCE(q->ends.state, state);
	WRITE_ONCE(q->ends.there, there);
	srdma_qp_touch(q);
}

static u32 repeat_after(u8 state, bool first)
{
	if (state == SWIFTRDMA_ENDS_NO_MODULE || state == SWIFTRDMA_ENDS_VERSION)
		return REPEAT_LATE;
	if ((first && state != SWIFTRDMA_ENDS_BOTH) || state == SWIFTRDMA_ENDS_WAITING)
		return REPEAT_SOON;
	return n_asked > FEW ? REPEAT : REPEAT_FEW;
}

/* The item was sent, or could not be sent; @state is the result. */
static void end_item(struct link *l, const struct item *it, u8 state, u8 there)
{
	struct srdma_qp *q = srdma_qp_get_by_key(l->dev, it->qpn);

	if (q && q->serial == it->serial) {
		WRITE_ONCE(q->ends.due, srdma_ends_seconds() +
			   repeat_after(state, q->ends.asked != it->level));
		WRITE_ONCE(q->ends.asked, it->level);
		WRITE_ONCE(q->ends.queued, 0);
		/* The level has changed on the way. */
		if (level_to_wish(q) != it->level)
			WRITE_ONCE(look_wanted, true);
		if (it->level)
			set_state(q, state, there);
		else
			set_state(q, SWIFTRDMA_ENDS_UNSPEC, 0);
	}
	srdma_qp_put(q);
}

static void drop_items(struct link *l, u32 n)
{
	l->n -= n;
	memmove(l->item, l->item + n, l->n * sizeof(*l->item));
	l->n_sent = 0;
}

static void end_items(struct link *l, u32 n, u8 state)
{
	u32 i;

	for (i = 0; i < n; i++)
		end_item(l, &l->item[i], state, 0);
	drop_items(l, n);
}

/* Links */

static bool same_link(const struct link *l, const struct srdma_dev *dev,
		      const struct srdma_peer_path *p)
{
	const struct rdma_ah_attr *a = &l->path.ah, *b = &p->ah;
	bool grh = rdma_ah_get_ah_flags(b) & IB_AH_GRH;

	if (l->dev != dev || rdma_ah_get_port_num(a) != rdma_ah_get_port_num(b) ||
	    grh != !!(rdma_ah_get_ah_flags(a) & IB_AH_GRH))
		return false;
	if (b->type == RDMA_AH_ATTR_TYPE_IB && rdma_ah_get_dlid(a) != rdma_ah_get_dlid(b))
		return false;
	return !grh || (a->grh.sgid_index == b->grh.sgid_index &&
			!memcmp(&a->grh.dgid, &b->grh.dgid, sizeof(a->grh.dgid)));
}

static struct link *get_link(struct srdma_dev *dev, const struct srdma_peer_path *p)
{
	struct link *l;

	list_for_each_entry(l, &links, node)
		if (same_link(l, dev, p))
			return l;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return NULL;
	l->dev = dev;
	srdma_dev_get(dev);
	l->path = *p;
	spin_lock(&links_lock);
	list_add_tail(&l->node, &links);
	spin_unlock(&links_lock);
	return l;
}

static void free_link(struct link *l)
{
	spin_lock(&links_lock);
	list_del(&l->node);
	spin_unlock(&links_lock);
	srdma_dev_put(l->dev);
	kvfree(l->item);
	kfree(l);
}

static bool add_item(struct link *l, const struct item *it)
{
	struct item *more;
	u32 room;

	if (l->n == l->room) {
		room = max(2 * l->room, 16U);
		more = room > ITEMS_MAX ? NULL : kvmalloc_array(room, sizeof(*more), GFP_KERNEL);
		if (!more) {
			l->full = true;
			return false;
		}
		if (l->n)
			memcpy(more, l->item, l->n * sizeof(*more));
		kvfree(l->item);
		l->item = more;
		l->room = room;
	}
	l->item[l->n++] = *it;
	return true;
}

/* Looking at QPs */

/* Queue what the QP has to tell. */
static void queue_wish(struct srdma_qp *q, u8 want)
{
	struct item it = { .serial = q->serial, .qpn = q->qpn, .level = want };
	struct srdma_peer_path path;
	struct link *l;
	int ret;

	/* The application of the QP may hold its lock, in a verb. The next look sends the wish. */
	if (!srdma_qp_trylock(q))
		return;
	ret = srdma_qp_in_table(q) ? srdma_peer_copy_path(q, &path) : -ENOTCONN;
	srdma_qp_unlock(q);
	if (ret) {
		WRITE_ONCE(q->ends.asked, 0);
		set_state(q, want && ret == -EADDRNOTAVAIL ? SWIFTRDMA_ENDS_NO_ADDRESS :
							     SWIFTRDMA_ENDS_UNSPEC, 0);
		return;
	}
	it.dest_qpn = path.dest_qpn;
	l = get_link(q->dev, &path);
	if (!l || !add_item(l, &it))
		return;
	WRITE_ONCE(q->ends.queued, 1);
	if (!q->ends.state)
		set_state(q, SWIFTRDMA_ENDS_WAITING, 0);
}

/* Returns whether the QP has to be looked at again. */
static bool look_at_qp(struct srdma_qp *q)
{
	u8 want = level_to_wish(q);

	srdma_qp_expire_wish(q);
	if (q->ends.asked)
		WRITE_ONCE(n_asked, n_asked + 1);
	if (!want && !q->ends.asked) {
		if (!q->ends.queued)
			set_state(q, SWIFTRDMA_ENDS_UNSPEC, 0);
		return q->ends.wish;
	}
	if (!q->ends.queued &&
	    (want != q->ends.asked || (s8)(srdma_ends_seconds() - q->ends.due) >= 0))
		queue_wish(q, want);
	return true;
}

static bool look_at_qps(void)
{
	struct srdma_dev *dev;
	unsigned long index;
	struct srdma_qp *q;
	bool busy = false;

	WRITE_ONCE(n_asked, 0);
	for (index = 0; (dev = srdma_dev_next(&index)); srdma_dev_put(dev))
		srdma_for_each_qp(q, dev)
			busy |= look_at_qp(q);
	looked_at = jiffies;
	WRITE_ONCE(looks, looks + 1);
	wake_up_all(&looked);
	return busy;
}

/* Messages */

static void fill_wishes(struct link *l, struct srdma_peer_msg *msg)
{
	u32 i;

	msg->n_wishes = l->n_sent;
	for (i = 0; i < l->n_sent; i++)
		msg->wish[i] = (struct srdma_peer_wish) {
			.from_qpn = cpu_to_be32(l->item[i].qpn),
			.to_qpn = cpu_to_be32(l->item[i].dest_qpn),
			.level = l->item[i].level,
		};
}

/* Send the message of the current step. -EAGAIN: there were too many; -errno. */
static int send_step(struct link *l, u8 type)
{
	struct srdma_peer_msg msg = {};
	struct srdma_peer_path path = l->path;
	struct srdma_peer_port *port;
	int ret = -EAGAIN;

	port = srdma_peer_port_get(l->dev, rdma_ah_get_port_num(&path.ah));
	if (!port)
		return -ENODEV;
	/* The message is between the QPs of its first wish. */
	path.qpn = l->item[0].qpn;
	path.dest_qpn = l->item[0].dest_qpn;
	srdma_peer_address(&msg, &path, type);
	fill_wishes(l, &msg);
	msg.from_nonce = l->nonce;
	msg.to_nonce = l->peer_nonce;
	if (srdma_peer_may_wish(port))
		ret = srdma_peer_send(port, &path, &msg);
	srdma_peer_port_put(port);
	return ret;
}

/* Choose the next message: a HELLO if the peer's nonce is too old, otherwise a WISH. */
static void begin_step(struct link *l)
{
	__be64 nonce = srdma_peer_random_nonce();

	l->n_sent = min_t(u32, l->n, SRDMA_PEER_WISHES);
	l->tries = 0;
	if (l->heard + NONCE_LIFE < ktime_get_seconds())
		l->peer_nonce = 0;
	spin_lock(&links_lock);
	if (!l->peer_nonce)
		l->nonce = nonce;
	l->expect = l->peer_nonce ? SRDMA_PEER_HEARD : SRDMA_PEER_WELCOME;
	l->replied = false;
	spin_unlock(&links_lock);
}

static u8 state_of_error(int err)
{
	return err == -ENODEV ? SWIFTRDMA_ENDS_NO_CHANNEL : SWIFTRDMA_ENDS_UNREACHABLE;
}

static void take_heard(struct link *l, const struct srdma_peer_msg *msg)
{
	const struct srdma_peer_wish *w;
	u32 i, n = l->n_sent;
	u8 state;

	for (i = 0; i < n; i++) {
		w = &msg->wish[i];
		state = w->ends < __SWIFTRDMA_ENDS_MAX ? w->ends : SWIFTRDMA_ENDS_WAITING;
		end_item(l, &l->item[i], i < msg->n_wishes ? state : SWIFTRDMA_ENDS_UNKNOWN,
			 min_t(u8, w->there, SWIFTRDMA_LEVEL_MAX + 1));
	}
	drop_items(l, n);
	l->silent = 0;
	l->peer_nonce = msg->next_nonce;
	l->heard = ktime_get_seconds();
}

/* The reply of the current step has come. */
static void end_step(struct link *l)
{
	const struct srdma_peer_msg *msg = &l->reply;

	if (l->bounced) {
		end_items(l, l->n, SWIFTRDMA_ENDS_NO_MODULE);
	} else if (msg->type == SRDMA_PEER_HEARD) {
		take_heard(l, msg);
	} else if (msg->type == SRDMA_PEER_WELCOME &&
		   be32_to_cpu(msg->flags) & SRDMA_PEER_TAKES_WISHES) {
		l->peer_nonce = msg->from_nonce;
		l->heard = ktime_get_seconds();
	} else {
		end_items(l, l->n, SWIFTRDMA_ENDS_VERSION);
	}
}

/*
 * No reply came. After a WISH the nonces may be old, for instance because the module there was
 * loaded anew, so HELLO follows.
 */
static void give_up_step(struct link *l)
{
	l->peer_nonce = 0;
	l->silent++;
	if (l->silent >= SILENT_MAX) {
		end_items(l, l->n, SWIFTRDMA_ENDS_SILENT);
		l->silent = 0;
	} else if (l->silent > 1) {
		end_items(l, l->n_sent, SWIFTRDMA_ENDS_SILENT);
	}
}

/* Advance a link. Returns the jiffies until the next call, 0: there is nothing to do. */
static unsigned long advance_link(struct link *l)
{
	bool replied;
	u8 expect;
	int ret;

	while (l->n) {
		spin_lock(&links_lock);
		expect = l->expect;
		replied = l->replied;
		if (replied)
			l->expect = 0;
		l->replied = false;
		spin_unlock(&links_lock);
		l->used = ktime_get_seconds();
		if (replied) {
			end_step(l);
			continue;
		}
		if (!expect) {
			begin_step(l);
			continue;
		}
		if (l->tries && time_before(jiffies, l->sent_at + SRDMA_PEER_TRY_TIME))
			return l->sent_at + SRDMA_PEER_TRY_TIME - jiffies;
		ret = l->tries < SRDMA_PEER_TRIES ? send_step(l, expect - 1) : -ETIMEDOUT;
		if (ret == -EAGAIN)
			return PACE_TIME;
		if (!ret) {
			l->tries++;
			l->sent_at = jiffies;
			continue;	/* the reply of a QP on this host is there already */
		}
		spin_lock(&links_lock);
		l->expect = 0;
		spin_unlock(&links_lock);
		if (ret == -ETIMEDOUT)
			give_up_step(l);
		else
			end_items(l, l->n, state_of_error(ret));
	}
	return 0;
}

/* Does the device still have the port of the link? */
static bool has_port(const struct link *l)
{
	struct srdma_peer_port *port;

	port = srdma_peer_port_get(l->dev, rdma_ah_get_port_num(&l->path.ah));
	if (port)
		srdma_peer_port_put(port);
	return port;
}

/* Advance all links, as advance_link(). *@full: a link had more wishes than it has room for. */
static unsigned long advance_links(bool *full)
{
	time64_t old = ktime_get_seconds() - LINK_LIFE;
	unsigned long wait = 0, w;
	struct link *l, *next;

	list_for_each_entry_safe(l, next, &links, node) {
		w = advance_link(l);
		if (w)
			wait = wait ? min(wait, w) : w;
		if (!l->n) {
			*full |= l->full;
			l->full = false;
			if (l->used < old || !has_port(l))
				free_link(l);
		}
		cond_resched();
	}
	return wait;
}

static void tell_peers(struct work_struct *work)
{
	static bool busy;	/* a QP is to be looked at again */
	unsigned long since, wait, next;
	bool full = false;

	since = jiffies - looked_at;
	if ((READ_ONCE(look_wanted) && since >= LOOK_LEAST) || (busy && since >= LOOK_TIME)) {
		WRITE_ONCE(look_wanted, false);
		smp_mb();	/* what changed before the request is seen */
		busy = look_at_qps();
	}
	wait = advance_links(&full);
	if (full || READ_ONCE(settling))
		WRITE_ONCE(look_wanted, true);
	since = jiffies - looked_at;
	next = READ_ONCE(look_wanted) ? LOOK_LEAST : busy || !list_empty(&links) ? LOOK_TIME : 0;
	if (next) {
		next = next > since ? next - since : 1;
		wait = wait ? min(wait, next) : next;
	}
	/* A reply that has come meanwhile has queued the work without a delay. */
	if (wait)
		queue_delayed_work(system_dfl_wq, &telling, wait);
}

static bool is_reply(const struct link *l, const struct srdma_peer_msg *msg, bool bounced)
{
	if (!l->expect || l->replied)
		return false;
	if (bounced)
		return msg->from_nonce == l->nonce && msg->type == l->expect - 1;
	if (msg->to_nonce != l->nonce)
		return false;
	if (msg->type == SRDMA_PEER_REFUSE)
		return true;
	return msg->type == l->expect && msg->from_nonce &&
	       (msg->type == SRDMA_PEER_WELCOME || msg->from_nonce == l->peer_nonce);
}

int srdma_peer_wish_reply(const struct srdma_peer_source *from, const struct srdma_peer_msg *msg,
			  bool bounced)
{
	int ret = -ENOENT;
	struct link *l;

	spin_lock(&links_lock);
	list_for_each_entry(l, &links, node) {
		if (!is_reply(l, msg, bounced) || !srdma_peer_came_from(from, &l->path))
			continue;
		l->reply = *msg;
		l->bounced = bounced;
		l->replied = true;
		ret = 0;
		break;
	}
	spin_unlock(&links_lock);
	if (!ret)
		work_in(0);
	return ret;
}

/* Has a look that began after the look number @since found no wish that a peer may know? */
static bool has_settled(u32 since)
{
	return (s32)(READ_ONCE(looks) - since) >= 2 && !READ_ONCE(n_asked);
}

void srdma_peer_wish_settle(void)
{
	u32 since = READ_ONCE(looks);

	if (!READ_ONCE(n_asked))
		return;
	WRITE_ONCE(settling, true);
	srdma_peer_wish_look();
	wait_event_timeout(looked, has_settled(since), HZ);
	WRITE_ONCE(settling, false);
}

static const struct srdma_notifier notifier = {
	.levels_changed = srdma_peer_wish_look,
};

void srdma_peer_wish_init(void)
{
	looked_at = jiffies - LOOK_TIME;
	srdma_notify_register(&notifier);
}

void srdma_peer_exit(void)
{
	struct link *l, *next;

	cancel_delayed_work_sync(&telling);
	list_for_each_entry_safe(l, next, &links, node)
		free_link(l);
}
