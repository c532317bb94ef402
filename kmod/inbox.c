// SPDX-License-Identifier: GPL-2.0
/*
 * Inboxes: where messages from the other ends of a process's connections wait for the process.
 *
 * The work that delivers a message also handles the connection manager's messages, so a delivery
 * waits for nothing: the attachment is found under RCU, and a full inbox drops it. The memory of
 * an inbox is a fixed number of messages, made when the process begins to listen, and charged to
 * it.
 */
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "inbox.h"
#include "share.h"

/* Remembered ids. A sender repeats a message for 1 s; only many peers send more in that time. */
#define IDS	256

struct message {
	u32 qpn, length;
	u8 bytes[SWIFTRDMA_TELL_BYTES];
};

/**
 * struct srdma_inbox - the inbox of an attachment
 * @rcu: frees it
 * @lock: a leaf; process context
 * @event: signalled for each message; NULL: the attachment has ended. This and all that follows
 *	is under @lock.
 * @first: place of the oldest message
 * @n: messages
 * @dropped: messages for which there was no room
 * @next_id: place of the next id
 * @id: of messages that came last; 0: none yet
 * @message: a ring
 */
struct srdma_inbox {
	struct rcu_head rcu;
	spinlock_t lock;	/* all that follows */
	struct eventfd_ctx *event;
	u32 first, n;
	u64 dropped;
	u32 next_id;
	u64 id[IDS];
	struct message message[SWIFTRDMA_INBOX_MESSAGES];
};

/*
 * The inbox of a process; NULL: it does not listen. RCU section. Without an event the attachment
 * has ended in the meantime.
 */
static struct srdma_inbox *find_inbox(const struct srdma_dev *dev, const struct pid *pid)
{
	struct srdma_share *s = srdma_share_find_rcu(dev, pid);
	struct srdma_inbox *inbox = s ? rcu_dereference(s->inbox) : NULL;

	/* A child may keep the context of a process that has gone, and so its attachment. */
	if (!inbox || !pid_task((struct pid *)pid, PIDTYPE_TGID))
		return NULL;
	return inbox;
}

static bool has_come(const struct srdma_inbox *inbox, u64 id)
{
	int i;

	for (i = 0; i < IDS; i++)
		if (inbox->id[i] == id)
			return true;
	return false;
}

static struct message *message_at(struct srdma_inbox *inbox, u32 i)
{
	return &inbox->message[(inbox->first + i) % SWIFTRDMA_INBOX_MESSAGES];
}

static enum srdma_told put_message(struct srdma_inbox *inbox, u32 qpn, u64 id, const u8 *bytes,
				   u32 length)
{
	struct message *m;

	if (has_come(inbox, id))
		return SRDMA_TOLD_IN;
	if (inbox->n == SWIFTRDMA_INBOX_MESSAGES) {
		inbox->dropped++;
		return SRDMA_TOLD_FULL;
	}
	m = message_at(inbox, inbox->n++);
	m->qpn = qpn;
	m->length = length;
	memcpy(m->bytes, bytes, length);
	inbox->id[inbox->next_id++ % IDS] = id;
	srdma_eventfd_signal(inbox->event);
	return SRDMA_TOLD_IN;
}

enum srdma_told srdma_inbox_put(const struct srdma_dev *dev, const struct pid *pid, u32 qpn,
				u64 id, const u8 *bytes, u32 length)
{
	enum srdma_told told = SRDMA_TOLD_NOBODY;
	struct srdma_inbox *inbox;

	rcu_read_lock();
	inbox = find_inbox(dev, pid);
	if (inbox) {
		spin_lock(&inbox->lock);
		if (inbox->event)
			told = put_message(inbox, qpn, id, bytes, length);
		spin_unlock(&inbox->lock);
	}
	rcu_read_unlock();
	return told;
}

static int take_message(struct srdma_inbox *inbox, struct swiftrdma_hear *h)
{
	const struct message *m = message_at(inbox, 0);

	h->dropped = inbox->dropped;
	if (!inbox->n)
		return -ENOMSG;
	h->qpn = m->qpn;
	h->length = m->length;
	memcpy(h->bytes, m->bytes, m->length);
	inbox->first++;
	inbox->n--;
	return 0;
}

int srdma_inbox_take(const struct srdma_dev *dev, struct swiftrdma_hear *h)
{
	struct srdma_inbox *inbox;
	int ret = -ENXIO;

	rcu_read_lock();
	inbox = find_inbox(dev, task_tgid(current));
	if (inbox) {
		spin_lock(&inbox->lock);
		if (inbox->event)
			ret = take_message(inbox, h);
		spin_unlock(&inbox->lock);
	}
	rcu_read_unlock();
	return ret;
}

static void give_back(struct srdma_inbox *inbox, const struct swiftrdma_hear *h)
{
	struct message *m;

	if (inbox->n == SWIFTRDMA_INBOX_MESSAGES) {
		inbox->dropped++;
		return;
	}
	inbox->first--;
	inbox->n++;
	m = message_at(inbox, 0);
	m->qpn = h->qpn;
	m->length = h->length;
	memcpy(m->bytes, h->bytes, h->length);
}

void srdma_inbox_give_back(const struct srdma_dev *dev, const struct swiftrdma_hear *h)
{
	struct srdma_inbox *inbox;

	rcu_read_lock();
	inbox = find_inbox(dev, task_tgid(current));
	if (inbox) {
		spin_lock(&inbox->lock);
		if (inbox->event)
			give_back(inbox, h);
		spin_unlock(&inbox->lock);
	}
	rcu_read_unlock();
}

/* Places in the ring are counted modulo 2^32, so the ring's length has to divide 2^32. */
static_assert(!(SWIFTRDMA_INBOX_MESSAGES & (SWIFTRDMA_INBOX_MESSAGES - 1)));

static struct srdma_inbox *inbox_new(struct eventfd_ctx *event)
{
	struct srdma_inbox *inbox = kzalloc(sizeof(*inbox), GFP_KERNEL_ACCOUNT);

	if (!inbox)
		return NULL;
	spin_lock_init(&inbox->lock);
	inbox->event = event;
	return inbox;
}

/* Makes the inbox, or gives it another eventfd. On success the inbox takes over @event. */
static int listen_by(struct srdma_share *s, struct eventfd_ctx *event)
{
	struct srdma_inbox *inbox = rcu_dereference_protected(s->inbox,
							      lockdep_is_held(&srdma_share_lock));
	struct eventfd_ctx *was;

	if (!inbox) {
		inbox = inbox_new(event);
		if (!inbox)
			return -ENOMEM;
		rcu_assign_pointer(s->inbox, inbox);
		return 0;
	}
	spin_lock(&inbox->lock);
	was = inbox->event;
	inbox->event = event;
	/* Messages that came before the change signal the new eventfd, too. */
	if (inbox->n)
		srdma_eventfd_signal(event);
	spin_unlock(&inbox->lock);
	eventfd_ctx_put(was);
	return 0;
}

int srdma_inbox_listen(struct srdma_dev *dev, int event_fd)
{
	struct eventfd_ctx *event = eventfd_ctx_fdget(event_fd);
	struct srdma_share *s;
	int ret = -ENXIO;

	if (IS_ERR(event))
		return PTR_ERR(event);
	mutex_lock(&srdma_share_lock);
	s = srdma_share_find(dev, task_tgid(current));
	if (s)
		ret = listen_by(s, event);
	mutex_unlock(&srdma_share_lock);
	if (ret)
		eventfd_ctx_put(event);
	return ret;
}

void srdma_inbox_close(struct srdma_inbox *inbox)
{
	struct eventfd_ctx *event;

	if (!inbox)
		return;
	spin_lock(&inbox->lock);
	event = inbox->event;
	inbox->event = NULL;
	spin_unlock(&inbox->lock);
	srdma_eventfd_signal(event);
	eventfd_ctx_put(event);
	kfree_rcu(inbox, rcu);
}
