// SPDX-License-Identifier: GPL-2.0
/*
 * rdma_rxe, the software RoCE device: each ibv_post_send() ends in ops.post_send,
 * so doorbells are counted there; and the address vector of a connected QP can be
 * changed, in one of two ways.
 *
 * At once, where rxe takes an address vector in any state (since 6.4 it checks a
 * modify against the state only if that sets the state; rxe_qp.c, rxe_qp_from_attr).
 * It fills the vector with zeros before it writes the new one, and takes no lock:
 * a requester, responder or receiver that reads it meanwhile on another CPU finds no
 * address, and an error there is the end of the QP. So it is written while all other
 * CPUs are stopped. Code that was interrupted in the middle of reading it goes on
 * with the same addresses and either class. In rxe up to 7.3 nothing on the way of a
 * modify of nothing but the address vector sleeps or takes a lock.
 *
 * There SQD is of no use: rxe looks at the state of a slot that is not in use, so it never
 * finds a queue drained that is empty and has wrapped (rxe_req.c, req_check_sq_drain_done).
 *
 * On older kernels, with the send queue drained (IBA 10.3.1, SQD). What rxe does (6.1,
 * rxe_qp.c, rxe_req.c, rxe_comp.c) and what follows:
 *
 * While a QP drains, rxe refuses any state but ERR (rxe_qp_chk_attr), and with rnr_retry 7
 * and a peer that posts no receives the drain never ends. But this check uses cur_qp_state if
 * the caller gives it, as RTS->RTS legally may: such a modify returns a draining QP to RTS.
 *
 * Except for RC QPs, rxe runs a second completer beside one that may be running already
 * (rxe_qp_drain, __rxe_do_task), so the drain of a busy UC QP can lose a completion.
 * Therefore only RC QPs are changed live.
 *
 * rxe takes no lock in modify: srdma_qp_lock() excludes the application's modify.
 *
 * rxe sends the application an SQ_DRAINED event for which the application did not ask. A
 * filter in front of the QP's event handler drops it. The event comes after the change of
 * state, from another CPU, so the filter stays until the QP is destroyed or the module goes.
 *
 * rxe does not notice that the queue is drained when the last ACK comes after the change of
 * state (complete_ack() compares with a PSN that it updates only later). It does not look at
 * its queue when the QP is back in RTS either, until the next doorbell.
 */
#include <linux/etherdevice.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "driver_ops.h"
#include "find.h"
#include "provider.h"

static bool rxe_match(struct ib_device *ibdev)
{
	return ibdev->ops.driver_id == RDMA_DRIVER_RXE;
}

/* Any context. */
static void rxe_event_filter(struct ib_event *ev, void *ctx)
{
	struct ib_qp *ibqp = ev->element.qp;
	void (*handler)(struct ib_event *ev, void *ctx);
	bool swallow = false;
	struct srdma_dev *dev;
	struct srdma_qp *q;

	rcu_read_lock();
	dev = srdma_dev_of(ev->device);
	q = dev ? srdma_qp_find(dev, ibqp) : NULL;
	if (q) {
		handler = READ_ONCE(q->saved_handler);
		swallow = ev->event == IB_EVENT_SQ_DRAINED &&
			  !test_bit(SRDMA_QP_APP_SQD, &q->flags);
	}
	if (!q || !srdma_qp_is(q, ibqp)) {
		swallow = false;
		smp_rmb();	/* pairs with srdma_qp_leave() */
		/* The QP was just detached, which restored its handler. */
		handler = READ_ONCE(ibqp->event_handler);
		if (handler == rxe_event_filter)
			handler = NULL;
	}
	rcu_read_unlock();
	if (handler && !swallow)
		handler(ev, ctx);
}

static void rxe_filter_install(struct srdma_qp *q)
{
	if (test_and_set_bit(SRDMA_QP_FILTERED, &q->flags))
		return;
	WRITE_ONCE(q->saved_handler, q->ibqp->event_handler);
	smp_wmb();	/* an event that enters the filter finds the saved handler */
	WRITE_ONCE(q->ibqp->event_handler, rxe_event_filter);
}

static void rxe_detach(struct srdma_qp *q)
{
	if (test_and_clear_bit(SRDMA_QP_FILTERED, &q->flags))
		WRITE_ONCE(q->ibqp->event_handler, q->saved_handler);
}

/* Query the state from the device; -ENOTCONN: the QP has failed, or is not connected. */
static int rxe_query(struct srdma_qp *q, struct ib_qp_attr *attr)
{
	struct ib_qp_init_attr init;
	int ret = srdma_driver_query(q, attr, IB_QP_STATE, &init);

	if (ret)
		return ret;
	if (attr->qp_state < IB_QPS_RTR || attr->qp_state > IB_QPS_SQD) {
		q->state = attr->qp_state;
		return -ENOTCONN;
	}
	return 0;
}

static int rxe_to_state(struct srdma_qp *q, enum ib_qp_state state, int mask)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.cur_qp_state = IB_QPS_RTS,
	};

	return srdma_driver_modify(q, &attr, IB_QP_STATE | mask);
}

/*
 * Does the driver accept an attribute in a state that does not allow it, if the state
 * stays as it is? No version shows it, so it is tried with the destination QPN,
 * which only the change to RTR allows. The QP keeps the one that it has.
 */
static bool rxe_changes_at_once(struct srdma_qp *q, struct ib_qp_attr *now)
{
	return !srdma_driver_modify(q, now, IB_QP_DEST_QPN);
}

static int rxe_class_begin(struct srdma_qp *q)
{
	struct ib_qp_attr attr;
	int ret;

	if (q->type != IB_QPT_RC && q->type != IB_QPT_UC)
		return -EOPNOTSUPP;
	ret = rxe_query(q, &attr);
	if (ret)
		return ret;
	/*
	 * A modify to RTS was under way when the hook was put in place, and has ended
	 * since. adopt.c learns of a modify to RTR at the next modify.
	 */
	if (q->state == IB_QPS_RTR && test_bit(SRDMA_QP_ADOPTED, &q->flags))
		q->state = attr.qp_state;
	/* While all CPUs are stopped only code that is known to allow it may run. */
	if (rxe_changes_at_once(q, &attr))
		return srdma_driver_modify_is_drivers(q) ? 1 : -EOPNOTSUPP;
	if (q->type != IB_QPT_RC)
		return -EOPNOTSUPP;
	/* A QP in RTR cannot be drained; one in SQD is drained by its application. */
	if (q->state != IB_QPS_RTS)
		return -EBUSY;
	rxe_filter_install(q);
	return rxe_to_state(q, IB_QPS_SQD, 0);
}

static int rxe_class_poll(struct srdma_qp *q)
{
	struct ib_qp_attr attr;
	int ret = rxe_query(q, &attr);

	if (ret || !attr.sq_draining)
		return ret;
	srdma_driver_kick(q);
	return -EAGAIN;
}

/*
 * Return the QP to RTS with its old class. rxe may find the queue drained at the same time:
 * it tests and sets the state under a lock that modify does not take, so it could set SQD
 * after this modify, and the QP would send nothing any more. rxe does this in softirq, which
 * has ended when this function is called again; that modify is then the last one.
 *
 * A QP that fails between the query and the modify would be moved from ERR to RTS. The
 * window is two instructions wide, and no interface of rxe closes it.
 */
static void rxe_class_abort(struct srdma_qp *q)
{
	struct ib_qp_attr attr;

	if (rxe_query(q, &attr))
		return;
	if (!rxe_to_state(q, IB_QPS_RTS, IB_QP_CUR_STATE))
		srdma_driver_kick(q);
}

/*
 * rxe compares the destination's MAC with its own to find packets that stay on this host. If the
 * address was resolved before the hook was in place, the MAC is not known. The one set here only
 * has to give this comparison the right result.
 */
static void rxe_set_dmac(struct srdma_qp *q, struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *sgid = ah->grh.sgid_attr, *local;
	struct net_device *ndev;

	if (!is_zero_ether_addr(q->dmac)) {
		ether_addr_copy(ah->roce.dmac, q->dmac);
		return;
	}
	local = rdma_find_gid_by_port(q->ibqp->device, &ah->grh.dgid, sgid->gid_type,
				      rdma_ah_get_port_num(ah), NULL);
	if (IS_ERR(local))
		return;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(local);
	if (!IS_ERR_OR_NULL(ndev))
		ether_addr_copy(ah->roce.dmac, ndev->dev_addr);
	rcu_read_unlock();
	rdma_put_gid_attr(local);
}

/*
 * Build the QP's address vector with class @c. rxe_av_put() has to follow, after -errno as
 * well.
 */
static int rxe_av_get(struct srdma_qp *q, const struct srdma_class *c, struct ib_qp_attr *attr)
{
	struct rdma_ah_attr *ah = &attr->ah_attr;
	const struct ib_gid_attr *sgid;

	memset(attr, 0, sizeof(*attr));
	sgid = rdma_get_gid_attr(q->ibqp->device, q->port, q->sgid_index);
	if (IS_ERR(sgid))
		return PTR_ERR(sgid);
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_sl(ah, c->sl);
	rdma_ah_set_port_num(ah, q->port);
	rdma_ah_set_grh(ah, (union ib_gid *)q->dgid, q->flow_label, q->sgid_index,
			q->hop_limit, c->tclass);
	ah->grh.sgid_attr = sgid;
	rxe_set_dmac(q, ah);
	return 0;
}

static void rxe_av_put(struct ib_qp_attr *attr)
{
	if (attr->ah_attr.grh.sgid_attr)
		rdma_put_gid_attr(attr->ah_attr.grh.sgid_attr);
}

static int rxe_class_commit(struct srdma_qp *q, const struct srdma_class *c)
{
	struct ib_qp_attr attr;
	int back, ret;

	ret = rxe_av_get(q, c, &attr);
	if (!ret)
		ret = srdma_driver_modify(q, &attr, IB_QP_AV);
	rxe_av_put(&attr);
	back = rxe_to_state(q, IB_QPS_RTS, 0);
	if (!back)
		srdma_driver_kick(q);
	return ret ?: back;
}

struct rxe_changes {
	struct srdma_class_change *c;
	struct ib_qp_attr *attr;
	int n;
};

/* No other CPU runs, and interrupts are off. */
static int rxe_write_avs(void *arg)
{
	const struct rxe_changes *all = arg;
	int i;

	for (i = 0; i < all->n; i++) {
		if (!all->c[i].err)
			all->c[i].err = srdma_driver_modify(all->c[i].q, &all->attr[i], IB_QP_AV);
	}
	return 0;
}

static void rxe_class_change(struct srdma_class_change *c, int n)
{
	struct rxe_changes all = { .c = c, .n = n };
	int i;

	all.attr = kvmalloc_array(n, sizeof(*all.attr), GFP_KERNEL);
	for (i = 0; i < n; i++)
		c[i].err = all.attr ? rxe_av_get(c[i].q, &c[i].want, &all.attr[i]) : -ENOMEM;
	if (!all.attr)
		return;
	stop_machine(rxe_write_avs, &all, NULL);
	for (i = 0; i < n; i++)
		rxe_av_put(&all.attr[i]);
	kvfree(all.attr);
}

const struct srdma_provider_ops srdma_provider_rxe = {
	.name = "rxe",
	.caps = SWIFTRDMA_DEV_CAP_DOORBELLS | SWIFTRDMA_DEV_CAP_LIVE_CLASS |
		SWIFTRDMA_DEV_CAP_CONTEXTS,
	.wrap_post_send = true,
	.query_is_cheap = true,
	.match = rxe_match,
	.class_begin = rxe_class_begin,
	.class_poll = rxe_class_poll,
	.class_commit = rxe_class_commit,
	.class_change = rxe_class_change,
	.class_abort = rxe_class_abort,
	.detach = rxe_detach,
};
