// SPDX-License-Identifier: GPL-2.0
/*
 * Transport of the channel's messages: management datagrams on QP 1 of a port, or, between two QPs
 * of this host, a function call.
 *
 * RDMA core's connection manager needs QP 1, too. peer_rate bounds the module's use of QP 1 in
 * both directions: a message that comes faster is dropped unread, and one that would leave faster
 * is not sent.
 *
 * The messages have a class of the vendors' range with an OUI that is administered locally.
 * Requests have the method Get, because RDMA core answers a Get of a class that nobody has
 * registered by sending it back with an error: so a host without the module is known as such
 * at once. RDMA core drops an answer for which no request waits, and it would find no waiting
 * request for this one, because its comparison of addresses fails for RoCE over IPv4. So requests
 * are sent without waiting, with the flag "RMPP active" in the header: RDMA core hands an answer
 * with that flag to the agent in any case. Replies have the method Send.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "debug.h"
#include "find.h"
#include "notify.h"
#include "param.h"
#include "peer_priv.h"

static bool peer = true;
module_param(peer, bool, 0444);
MODULE_PARM_DESC(peer, "exchange messages with the modules at the other ends of connections (Y)");

/*
 * The channel must not slow a storm of rdma_cm connections by more than 5 %. At this rate the
 * storm took 1.026 times as long on a CPU of 3 GHz, with rxe, whose packets cost instructions, too
 * (row peer_storm).
 */
SRDMA_PARAM(peer_rate, 500, 10, 100000,
	    "messages a second of the channel that a port takes in, and that it sends, 10 to 100000 (500)");

#define RATE_INTERVAL	(HZ / 10)

#define MGMT_CLASS	0x3b	/* vendors with an OUI have 0x30 to 0x4f (IBA 16.5) */
#define CLASS_VERSION	1
#define ATTR_ID		0xff53	/* attribute ids from 0xff00 on are the vendor's */

/* The second bit of the first byte makes an OUI a locally administered one. */
static const u8 oui[3] = { 'R', 'D', 'M' };

/* Devices of this host, in different network namespaces, that may have the same address. */
#define SAME_GID_MAX	8

static srdma_peer_take_fn *take_msg;	/* constant after init */
static LIST_HEAD(ports);
static DEFINE_MUTEX(ports_lock);	/* inside it only the lock of RDMA core's GID tables */

struct srdma_peer_port *srdma_peer_port_get(struct srdma_dev *dev, u32 number)
{
	struct srdma_peer_port *port, *found = NULL;

	mutex_lock(&ports_lock);
	list_for_each_entry(port, &ports, node) {
		if (port->dev == dev && port->port == number) {
			refcount_inc(&port->users);
			found = port;
			break;
		}
	}
	mutex_unlock(&ports_lock);
	return found;
}

void srdma_peer_port_put(struct srdma_peer_port *port)
{
	if (refcount_dec_and_test(&port->users))
		complete(&port->unused);
}

bool srdma_peer_counts(struct srdma_dev *dev, u32 number, u64 n[SRDMA_PEER_COUNTS])
{
	struct srdma_peer_port *port = srdma_peer_port_get(dev, number);
	int i;

	if (!port)
		return false;
	for (i = 0; i < SRDMA_PEER_COUNTS; i++)
		n[i] = atomic64_read(&port->n[i]);
	srdma_peer_port_put(port);
	return true;
}

/* May one more message pass? The limits of both directions follow peer_rate at once. */
static bool within_rate(struct ratelimit_state *rs, uint rate)
{
	WRITE_ONCE(rs->burst, max(rate / (HZ / RATE_INTERVAL), 1U));
	return __ratelimit(rs);
}

bool srdma_peer_may_wish(struct srdma_peer_port *port)
{
	return within_rate(&port->wishes, READ_ONCE(peer_rate) / 2);
}

bool srdma_peer_may_tell(struct srdma_peer_port *port)
{
	return within_rate(&port->tells, READ_ONCE(peer_rate) / 2);
}

/* Sending */

static bool has_gid(struct srdma_peer_port *port, const union ib_gid *gid)
{
	static const enum ib_gid_type types[] = {
		IB_GID_TYPE_IB, IB_GID_TYPE_ROCE, IB_GID_TYPE_ROCE_UDP_ENCAP,
	};
	const struct ib_gid_attr *attr;
	bool found = false;
	int i;

	for (i = 0; i < ARRAY_SIZE(types) && !found; i++) {
		attr = rdma_find_gid_by_port(port->agent->device, gid, types[i], port->port, NULL);
		if (IS_ERR(attr))
			continue;
		rdma_put_gid_attr(attr);
		found = true;
	}
	return found;
}

/* The ports of this host that have the address, with references. */
static int find_ports(const union ib_gid *gid, struct srdma_peer_port *found[SAME_GID_MAX])
{
	struct srdma_peer_port *port;
	int n = 0;

	mutex_lock(&ports_lock);
	list_for_each_entry(port, &ports, node) {
		if (n == SAME_GID_MAX || !has_gid(port, gid))
			continue;
		refcount_inc(&port->users);
		found[n++] = port;
	}
	mutex_unlock(&ports_lock);
	return n;
}

/* Hand the message to the QP if it is on this host. False: it is not. */
static bool send_here(struct srdma_peer_port *port, const struct srdma_peer_path *path,
		      const struct srdma_peer_msg *msg)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&path->ah);
	struct srdma_peer_port *found[SAME_GID_MAX];
	struct srdma_peer_source from = { .has_gid = true };
	const struct ib_gid_attr *own;
	bool taken = false;
	int i, n;

	if (!(rdma_ah_get_ah_flags(&path->ah) & IB_AH_GRH) || srdma_peer_wire())
		return false;
	own = rdma_get_gid_attr(port->agent->device, port->port, grh->sgid_index);
	if (IS_ERR(own))
		return false;
	from.gid = own->gid;
	rdma_put_gid_attr(own);
	n = find_ports(&grh->dgid, found);
	for (i = 0; i < n; i++) {
		taken = taken || take_msg(found[i], &from, msg, false) != -ENOENT;
		srdma_peer_port_put(found[i]);
	}
	return taken;
}

static void fill_mad(struct ib_vendor_mad *mad, const struct ib_mad_agent *agent,
		     const struct srdma_peer_msg *msg)
{
	bool reply = msg->type != SRDMA_PEER_HELLO && msg->type != SRDMA_PEER_ASK &&
		     msg->type != SRDMA_PEER_WISH && msg->type != SRDMA_PEER_TELL;
	struct ib_mad_hdr *hdr = &mad->mad_hdr;

	hdr->base_version = IB_MGMT_BASE_VERSION;
	hdr->mgmt_class = MGMT_CLASS;
	hdr->class_version = CLASS_VERSION;
	hdr->method = reply ? IB_MGMT_METHOD_SEND : IB_MGMT_METHOD_GET;
	hdr->tid = cpu_to_be64((u64)agent->hi_tid << 32 | get_random_u32());
	hdr->attr_id = cpu_to_be16(ATTR_ID);
	if (!reply) {
		mad->rmpp_hdr.rmpp_version = IB_MGMT_RMPP_VERSION;
		ib_set_rmpp_flags(&mad->rmpp_hdr, IB_MGMT_RMPP_FLAG_ACTIVE);
	}
	memcpy(mad->oui, oui, sizeof(oui));
	memcpy(mad->data, msg, sizeof(*msg));
}

static int send_mad(struct srdma_peer_port *port, const struct srdma_peer_path *path,
		    const struct srdma_peer_msg *msg)
{
	struct ib_mad_agent *agent = port->agent;
	struct rdma_ah_attr attr = path->ah;
	struct ib_mad_send_buf *buf;
	struct ib_ah *ah;
	int ret;

	ah = rdma_create_ah(agent->qp->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah))
		return PTR_ERR(ah);
	buf = ib_create_send_mad(agent, 1, 0, 0, IB_MGMT_VENDOR_HDR, IB_MGMT_VENDOR_DATA,
				 GFP_KERNEL, IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf)) {
		ret = PTR_ERR(buf);
		goto err_ah;
	}
	fill_mad(buf->mad, agent, msg);
	buf->ah = ah;
	ret = ib_post_send_mad(buf, NULL);
	if (ret)
		goto err_buf;
	srdma_peer_count(port, SRDMA_PEER_SENT);
	return 0;

err_buf:
	ib_free_send_mad(buf);
err_ah:
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	return ret;
}

int srdma_peer_send(struct srdma_peer_port *port, const struct srdma_peer_path *path,
		    const struct srdma_peer_msg *msg)
{
	if (srdma_peer_loses(msg->type) || send_here(port, path, msg))
		return 0;
	if (!within_rate(&port->out, READ_ONCE(peer_rate))) {
		srdma_peer_count(port, SRDMA_PEER_HELD);
		return -EAGAIN;
	}
	return send_mad(port, path, msg);
}

static void mad_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	rdma_destroy_ah(wc->send_buf->ah, RDMA_DESTROY_AH_SLEEPABLE);
	ib_free_send_mad(wc->send_buf);
}

/* Receiving */

/* Where the packet came from; false: it does not say. */
static bool find_source(struct srdma_peer_port *port, const struct ib_mad_recv_wc *recv,
			struct srdma_peer_source *from)
{
	const union rdma_network_hdr *hdr = (void *)recv->recv_buf.grh;
	const struct ib_wc *wc = recv->wc;
	enum rdma_network_type type = RDMA_NETWORK_IB;
	union ib_gid dgid;

	*from = (struct srdma_peer_source) { .slid = wc->slid };
	if (!(wc->wc_flags & IB_WC_GRH))
		return rdma_protocol_ib(port->agent->device, port->port);
	if (!rdma_protocol_ib(port->agent->device, port->port)) {
		if (wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE)
			type = wc->network_hdr_type;
		else
			type = ib_get_rdma_header_version(hdr) == 4 ? RDMA_NETWORK_IPV4 :
								      RDMA_NETWORK_IPV6;
	}
	from->has_gid = !ib_get_gids_from_rdma_hdr(hdr, type, &from->gid, &dgid);
	return from->has_gid;
}

/* RDMA core has compared class and OUI of a request, but not of an answer to a Get. */
static bool is_bounced(const struct ib_vendor_mad *mad)
{
	return mad->mad_hdr.method == IB_MGMT_METHOD_GET_RESP && mad->mad_hdr.status &&
	       mad->mad_hdr.mgmt_class == MGMT_CLASS && !memcmp(mad->oui, oui, sizeof(oui));
}

static void take_mad(struct srdma_peer_port *port, const struct ib_mad_recv_wc *recv)
{
	const struct ib_vendor_mad *mad = (void *)recv->recv_buf.mad;
	bool bounced = is_bounced(mad);
	struct srdma_peer_source from;
	struct srdma_peer_msg msg;

	if (!within_rate(&port->in, READ_ONCE(peer_rate))) {
		srdma_peer_count(port, SRDMA_PEER_FLOODED);
		return;
	}
	srdma_peer_count(port, SRDMA_PEER_RECEIVED);
	if (recv->wc->byte_len < sizeof(struct ib_grh) + IB_MGMT_MAD_SIZE)
		return;
	if (recv->wc->src_qp != 1) {
		srdma_peer_count(port, SRDMA_PEER_FORGED);
		return;
	}
	if (!bounced && ib_response_mad(&mad->mad_hdr))
		return;
	if (!find_source(port, recv, &from))
		return;
	memcpy(&msg, mad->data, sizeof(msg));
	take_msg(port, &from, &msg, bounced);
}

static void mad_received(struct ib_mad_agent *agent, struct ib_mad_send_buf *sent,
			 struct ib_mad_recv_wc *recv)
{
	struct srdma_peer_port *port = agent->context;

	/* A message may come while the agent is being registered: the peer tries again. */
	if (READ_ONCE(port->agent))
		take_mad(port, recv);
	ib_free_recv_mad(recv);
}

/* Ports */

static void limit_rate(struct ratelimit_state *rs)
{
	ratelimit_state_init(rs, RATE_INTERVAL, 1);
	/* Dropped messages are counted, not logged. */
	ratelimit_set_flags(rs, RATELIMIT_MSG_ON_RELEASE);
}

static void open_port(struct srdma_dev *dev, u32 number)
{
	struct ib_mad_reg_req req = {
		.mgmt_class = MGMT_CLASS, .mgmt_class_version = CLASS_VERSION,
	};
	struct srdma_peer_port *port;
	struct ib_mad_agent *agent;

	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return;
	refcount_set(&port->users, 1);
	init_completion(&port->unused);
	limit_rate(&port->in);
	limit_rate(&port->out);
	limit_rate(&port->wishes);
	limit_rate(&port->tells);
	port->port = number;
	port->dev = dev;
	srdma_dev_get(dev);
	memcpy(req.oui, oui, sizeof(oui));
	set_bit(IB_MGMT_METHOD_GET, req.method_mask);
	set_bit(IB_MGMT_METHOD_SEND, req.method_mask);
	agent = ib_register_mad_agent(dev->ibdev, number, IB_QPT_GSI, &req, 0, mad_sent,
				      mad_received, port, 0);
	if (IS_ERR(agent)) {
		pr_warn("%s: port %u has no channel to peers: %pe\n", dev->name, number, agent);
		srdma_dev_put(dev);
		kfree(port);
		return;
	}
	WRITE_ONCE(port->agent, agent);
	mutex_lock(&ports_lock);
	list_add_tail(&port->node, &ports);
	mutex_unlock(&ports_lock);
}

/* The port is out of the list. */
static void close_port(struct srdma_peer_port *port)
{
	srdma_peer_port_put(port);
	wait_for_completion(&port->unused);
	/* Ends sends, and waits for handlers that run. */
	ib_unregister_mad_agent(port->agent);
	srdma_dev_put(port->dev);
	kfree(port);
}

static void open_dev(struct srdma_dev *dev)
{
	u32 port;

	if (!peer)
		return;
	rdma_for_each_port(dev->ibdev, port)
		if (rdma_cap_ib_cm(dev->ibdev, port))
			open_port(dev, port);
}

static void close_dev(struct srdma_dev *dev)
{
	struct srdma_peer_port *port, *next;
	LIST_HEAD(gone);

	mutex_lock(&ports_lock);
	list_for_each_entry_safe(port, next, &ports, node)
		if (port->dev == dev)
			list_move(&port->node, &gone);
	mutex_unlock(&ports_lock);
	list_for_each_entry_safe(port, next, &gone, node)
		close_port(port);
}

static const struct srdma_notifier notifier = {
	.dev_added = open_dev,
	.dev_removed = close_dev,
};

void srdma_peer_mad_init(srdma_peer_take_fn *take)
{
	take_msg = take;
	srdma_notify_register(&notifier);
}
