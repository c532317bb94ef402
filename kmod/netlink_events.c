// SPDX-License-Identifier: GPL-2.0
/*
 * Events. They are sent to the initial network namespace, to listeners with CAP_NET_ADMIN
 * there.
 */
#include <linux/ktime.h>
#include <net/net_namespace.h>

#include "netlink_priv.h"
#include "notify.h"

/* True while the multicast group exists; false for devices that go at unload. */
static bool events_on;

/* A kernel whose groups cannot require a capability gets no events: see compat.h. */
static bool anybody_listens(void)
{
	return SRDMA_HAVE_EVENTS && READ_ONCE(events_on) &&
	       genl_has_listeners(srdma_family, &init_net, 0);
}

/* False: there is no listener, or no memory. */
static bool begin_event(struct srdma_msg *m, u8 cmd)
{
	struct sk_buff *skb;

	if (!anybody_listens())
		return false;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb) {
		/* Listeners get ENOBUFS, because they missed an event. */
		genl_set_err(srdma_family, &init_net, 0, 0, -ENOBUFS);
		return false;
	}
	srdma_msg_begin(m, skb, 0, 0, 0, cmd);
	return true;
}

static void send_event(struct srdma_msg *m)
{
	if (srdma_msg_end(m))
		nlmsg_free(m->skb);
	else
		genlmsg_multicast_netns(srdma_family, &init_net, m->skb, 0, 0, GFP_KERNEL);
}

static const struct srdma_reader event_reader = {
	.admin = true,
	.net = &init_net,
	.pid_ns = &init_pid_ns,
};

static noinline void send_qp_event(u8 cmd, struct srdma_qp *q)
{
	struct srdma_msg m;

	if (!begin_event(&m, cmd))
		return;
	srdma_fill_qp(&m, q, &event_reader, ktime_get_ns());
	send_event(&m);
}

/* Called for every QP that is created or destroyed; usually there is no listener. */
static void qp_created(struct srdma_qp *q)
{
	if (anybody_listens())
		send_qp_event(SWIFTRDMA_CMD_QP_CREATED_NTF, q);
}

static void qp_destroyed(struct srdma_qp *q)
{
	if (anybody_listens())
		send_qp_event(SWIFTRDMA_CMD_QP_DESTROYED_NTF, q);
}

static void lease_ended(const struct srdma_lease *lease, bool expired)
{
	struct nlattr *nest;
	struct srdma_msg m;

	if (!begin_event(&m, SWIFTRDMA_CMD_LEASE_NTF))
		return;
	nest = srdma_nest(&m, SWIFTRDMA_A_LEASE);
	srdma_put_u64(&m, SWIFTRDMA_LEASE_A_ID, lease->id);
	srdma_put_u32(&m, SWIFTRDMA_LEASE_A_RANK, lease->rank);
	srdma_put_text(&m, SWIFTRDMA_LEASE_A_ORIGIN, lease->origin);
	if (expired)
		srdma_put_flag(&m, SWIFTRDMA_LEASE_A_EXPIRED);
	srdma_nest_end(&m, nest);
	send_event(&m);
}

static void action_done(const struct srdma_batch *b, int item, const struct srdma_tally *t)
{
	struct srdma_msg m;

	if (!begin_event(&m, SWIFTRDMA_CMD_ACT_NTF))
		return;
	srdma_fill_result(&m, b, item, t);
	send_event(&m);
}

/* Lists as many UARs as fit into the message. */
static void send_congestion(struct srdma_dev *dev, const struct srdma_busy *top, int n)
{
	u64 now = ktime_get_ns();
	struct srdma_msg m;
	bool is_there;
	u8 *whole;
	int i;

	if (!begin_event(&m, SWIFTRDMA_CMD_CONGESTION_NTF))
		return;
	down_read(&srdma_devs_sem);
	is_there = srdma_dev_is_there(dev);
	if (is_there)
		srdma_fill_dev(&m, dev, now);
	up_read(&srdma_devs_sem);
	if (!is_there) {
		nlmsg_free(m.skb);
		return;
	}
	for (i = 0; i < n && !m.full; i++) {
		whole = m.at;
		srdma_fill_uar(&m, top[i].uar, &event_reader, now, &top[i].recent);
		if (m.full) {
			srdma_msg_rewind(&m, whole);
			break;
		}
	}
	send_event(&m);
}

static const struct srdma_notifier notifier = {
	.qp_created = qp_created,
	.qp_destroyed = qp_destroyed,
	.lease_ended = lease_ended,
	.action_done = action_done,
	.congested = send_congestion,
};

void __init srdma_events_init(void)
{
	srdma_notify_register(&notifier);
	WRITE_ONCE(events_on, true);
}

void srdma_events_exit(void)
{
	WRITE_ONCE(events_on, false);
}
