// SPDX-License-Identifier: GPL-2.0
/*
 * The two ends of a connection as messages name them: the address of the peer, the QP here that a
 * message is for, and the nonces by which each end proves that it receives what is sent to it.
 */
#include <linux/random.h>
#include <linux/siphash.h>

#include "class.h"
#include "debug.h"
#include "find.h"
#include "peer_priv.h"

/* A nonce of B is valid for one to two epochs. An epoch is longer than all tries of A. */
#define EPOCH_SECONDS	8

static siphash_aligned_key_t nonce_key;	/* constant after init */

int srdma_peer_copy_path(const struct srdma_qp *q, struct srdma_peer_path *p)
{
	u32 port = q->port;

	if (test_bit(SRDMA_QP_DEVX, &q->flags) || !srdma_qp_connectable(q))
		return -ENOTCONN;
	if (test_bit(SRDMA_QP_UNSURE, &q->flags))
		return -EADDRNOTAVAIL;
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags) && !test_bit(SRDMA_QP_SAW_AV, &q->flags))
		return -EADDRNOTAVAIL;
	if (test_bit(SRDMA_QP_DEAD, &q->flags) || !test_bit(SRDMA_QP_HAS_AV, &q->flags) ||
	    q->state < IB_QPS_RTR || q->state > IB_QPS_SQE)
		return -ENOTCONN;

	*p = (struct srdma_peer_path) {
		.qpn = q->qpn, .dest_qpn = q->dest_qpn, .serial = q->serial,
		.ah.type = rdma_ah_find_type(q->dev->ibdev, port),
	};
	rdma_ah_set_port_num(&p->ah, port);
	rdma_ah_set_sl(&p->ah, q->sl_asked);
	if (p->ah.type == RDMA_AH_ATTR_TYPE_ROCE)
		memcpy(p->ah.roce.dmac, q->dmac, sizeof(q->dmac));
	else
		rdma_ah_set_dlid(&p->ah, q->dlid);
	if (test_bit(SRDMA_QP_GRH, &q->flags)) {
		rdma_ah_set_grh(&p->ah, NULL, q->flow_label, q->sgid_index, q->hop_limit,
				q->tclass_asked);
		rdma_ah_set_dgid_raw(&p->ah, (void *)q->dgid);
	}
	return 0;
}

bool srdma_peer_came_from(const struct srdma_peer_source *from, const struct srdma_peer_path *p)
{
	bool grh = rdma_ah_get_ah_flags(&p->ah) & IB_AH_GRH;

	if (grh && from->has_gid)
		return !memcmp(&from->gid, &rdma_ah_read_grh(&p->ah)->dgid, sizeof(from->gid));
	return p->ah.type == RDMA_AH_ATTR_TYPE_IB && from->slid == rdma_ah_get_dlid(&p->ah);
}

bool srdma_peer_is_between(__be32 from_qpn, __be32 to_qpn, const struct srdma_peer_path *p)
{
	return be32_to_cpu(from_qpn) == p->dest_qpn && be32_to_cpu(to_qpn) == p->qpn;
}

void srdma_peer_address(struct srdma_peer_msg *msg, const struct srdma_peer_path *p, u8 type)
{
	msg->version = srdma_peer_version(SRDMA_PEER_VERSION);
	msg->type = type;
	msg->from_qpn = cpu_to_be32(p->qpn);
	msg->to_qpn = cpu_to_be32(p->dest_qpn);
}

/*
 * Make the nonce of this end, which answers the peer's @nonce in @epoch. It is never 0. A peer that
 * sends this nonce back receives what is sent to its address; that holds for all of its QPs.
 */
static __be64 make_nonce(const struct srdma_peer_path *p, __be64 nonce, u64 epoch)
{
	struct {
		u64 epoch;
		__be64 nonce;
		union ib_gid gid;
		u64 dlid;
	} of __aligned(SIPHASH_ALIGNMENT) = { .epoch = epoch, .nonce = nonce };

	if (rdma_ah_get_ah_flags(&p->ah) & IB_AH_GRH)
		of.gid = rdma_ah_read_grh(&p->ah)->dgid;
	if (p->ah.type == RDMA_AH_ATTR_TYPE_IB)
		of.dlid = rdma_ah_get_dlid(&p->ah);
	return cpu_to_be64(siphash(&of, sizeof(of), &nonce_key) | 1);
}

static u64 this_epoch(void)
{
	return ktime_get_seconds() / EPOCH_SECONDS;
}

__be64 srdma_peer_make_nonce(const struct srdma_peer_path *p, __be64 nonce)
{
	return make_nonce(p, nonce, this_epoch());
}

bool srdma_peer_knows_nonce(const struct srdma_peer_path *p, const struct srdma_peer_msg *msg)
{
	u64 epoch = this_epoch();

	return msg->to_nonce == make_nonce(p, msg->from_nonce, epoch) ||
	       msg->to_nonce == make_nonce(p, msg->from_nonce, epoch - 1);
}

__be64 srdma_peer_random_nonce(void)
{
	__be64 nonce;

	do
		get_random_bytes(&nonce, sizeof(nonce));
	while (!nonce);
	return nonce;
}

struct srdma_qp *srdma_peer_lock_end(struct srdma_peer_port *port,
				     const struct srdma_peer_source *from,
				     __be32 from_qpn, __be32 to_qpn, struct srdma_peer_path *path)
{
	struct srdma_qp *q;
	int ret;

	q = srdma_qp_get_by_key(port->dev, be32_to_cpu(to_qpn));
	if (!q)
		return ERR_PTR(-ENOENT);
	if (!srdma_qp_trylock(q)) {
		srdma_qp_put(q);
		return ERR_PTR(-EBUSY);
	}
	ret = srdma_qp_in_table(q) ? srdma_peer_copy_path(q, path) : -ENOTCONN;
	if (!ret && srdma_peer_is_between(from_qpn, to_qpn, path) &&
	    srdma_peer_came_from(from, path) && rdma_ah_get_port_num(&path->ah) == port->port)
		return q;
	srdma_peer_unlock_end(q);
	return ERR_PTR(-ENOENT);
}

void srdma_peer_unlock_end(struct srdma_qp *q)
{
	srdma_qp_unlock(q);
	srdma_qp_put(q);
}

struct srdma_qp *srdma_peer_lock_any_end(struct srdma_peer_port *port,
					 const struct srdma_peer_source *from,
					 const struct srdma_peer_msg *msg,
					 struct srdma_peer_path *path)
{
	struct srdma_qp *q = srdma_peer_lock_end(port, from, msg->from_qpn, msg->to_qpn, path);
	int i, n = min_t(int, msg->n_wishes, SRDMA_PEER_WISHES);
	bool busy = q == ERR_PTR(-EBUSY);

	for (i = 0; i < n && IS_ERR(q); i++) {
		q = srdma_peer_lock_end(port, from, msg->wish[i].from_qpn, msg->wish[i].to_qpn,
					path);
		busy |= q == ERR_PTR(-EBUSY);
	}
	return IS_ERR(q) && busy ? ERR_PTR(-EBUSY) : q;
}

void srdma_peer_end_init(void)
{
	get_random_bytes(&nonce_key, sizeof(nonce_key));
}
