// SPDX-License-Identifier: GPL-2.0
/*
 * The class of a QP: which one the overrides in force (override.c) give it, and setting it
 * when the QP is connected. enforce.c changes QPs that are connected already.
 *
 * The class that the driver last took for a QP is compared with the desired one. So raising,
 * lowering and giving back are the same operation, and a failed attempt remains pending.
 */
#include <linux/export.h>
#include <linux/slab.h>

#include "class.h"
#include "notify.h"
#include "pass.h"

/* What a QP should have */

/* Without a GRH there is no traffic class. */
static bool takes_dscp(const struct srdma_qp *q, const struct srdma_level *l)
{
	return l->has_dscp && test_bit(SRDMA_QP_GRH, &q->flags);
}

/* On some links the service level stays the application's. */
static bool takes_sl(const struct srdma_qp *q, const struct srdma_level *l)
{
	return l->has_sl && !srdma_qp_keeps_sl(q);
}

bool srdma_qp_desired(const struct srdma_qp *q, struct srdma_class *c)
{
	int level = srdma_qp_level(q);
	struct srdma_level l;

	if (level < 0 || srdma_giving_back(q->dev)) {
		c->tclass = q->tclass_asked;
		c->sl = q->sl_asked;
		return false;
	}
	l = srdma_level_get(level);
	c->tclass = q->tclass_asked;
	if (takes_dscp(q, &l))
		c->tclass = l.dscp << 2 | (q->tclass_asked & 3);
	c->sl = takes_sl(q, &l) ? l.sl : q->sl_asked;
	return true;
}

static bool has_class(const struct srdma_qp *q)
{
	if (!test_bit(SRDMA_QP_HAS_AV, &q->flags) || test_bit(SRDMA_QP_DEAD, &q->flags))
		return false;
	return q->state == IB_QPS_RTR || q->state == IB_QPS_RTS || q->state == IB_QPS_SQD ||
	       q->state == IB_QPS_SQE;
}

bool srdma_qp_class_pending(const struct srdma_qp *q)
{
	struct srdma_class c;
	bool pending;

	if (!has_class(q))
		return false;
	rcu_read_lock();
	srdma_qp_desired(q, &c);
	pending = c.tclass != q->tclass || c.sl != q->sl;
	rcu_read_unlock();
	return pending;
}

bool srdma_class_is_futile(const struct srdma_qp *q)
{
	struct srdma_level l;
	bool futile = false;
	int level;

	if (!has_class(q))
		return false;
	rcu_read_lock();
	level = srdma_qp_level(q);
	if (level >= 0 && !srdma_giving_back(q->dev)) {
		l = srdma_level_get(level);
		futile = !takes_dscp(q, &l) && !takes_sl(q, &l);
	}
	rcu_read_unlock();
	return futile;
}

bool srdma_qp_connectable(const struct srdma_qp *q)
{
	return q->type == IB_QPT_RC || q->type == IB_QPT_UC || q->type == IB_QPT_XRC_INI ||
	       q->type == IB_QPT_XRC_TGT;
}

/* A QP of a driver's own type may or may not have an address; its state tells which. */
static enum srdma_standing judge_unaddressed(const struct srdma_qp *q)
{
	u8 state = READ_ONCE(q->state);

	if (test_bit(SRDMA_QP_DEVX, &q->flags))
		return SRDMA_CANNOT;
	if (!srdma_qp_connectable(q) && q->type != IB_QPT_DRIVER)
		return SRDMA_CANNOT;
	if (test_bit(SRDMA_QP_UNSURE, &q->flags) || !test_bit(SRDMA_QP_HAS_STATE, &q->flags))
		return SRDMA_UNKNOWN;
	if (state < IB_QPS_RTR)
		return srdma_qp_connectable(q) ? SRDMA_UNCONNECTED : SRDMA_UNKNOWN;
	if (state == IB_QPS_ERR || test_bit(SRDMA_QP_DEAD, &q->flags))
		return SRDMA_UNCONNECTED;
	return srdma_qp_connectable(q) ? SRDMA_UNKNOWN : SRDMA_CANNOT;
}

enum srdma_standing srdma_class_standing(const struct srdma_qp *q)
{
	struct srdma_class c;
	bool wanted;
	int err;

	rcu_read_lock();
	wanted = srdma_qp_desired(q, &c);
	rcu_read_unlock();
	if (!has_class(q))
		return wanted ? judge_unaddressed(q) : SRDMA_DONE;
	/* Equal classes prove nothing if the level has no value for the QP's link. */
	if (c.tclass == q->tclass && c.sl == q->sl)
		return srdma_class_is_futile(q) ? SRDMA_CANNOT : SRDMA_DONE;
	err = READ_ONCE(q->class_error);
	return err == -EOPNOTSUPP || err == -EREMOTEIO ? SRDMA_CANNOT : SRDMA_PENDING;
}

static const char *unaddressed_text(const struct srdma_qp *q, enum srdma_standing s)
{
	if (test_bit(SRDMA_QP_DEVX, &q->flags))
		return "made past RDMA core (DEVX): nothing of this QP can be changed";
	if (s == SRDMA_CANNOT)
		return "a QP of this type has no class: each of its work requests has its own";
	if (test_bit(SRDMA_QP_UNSURE, &q->flags))
		return "older than the module, perhaps on its way out: let alone until it is used";
	return "not known yet: the QP is older than the module";
}

int srdma_class_error(const struct srdma_qp *q, enum srdma_standing s)
{
	bool tried = has_class(q);

	/* An error of an earlier level does not apply to a level that needs no attempt. */
	if (s == SRDMA_CANNOT && !(tried && srdma_qp_class_pending(q)))
		return -EOPNOTSUPP;
	return tried ? READ_ONCE(q->class_error) : 0;
}

int srdma_class_why(const struct srdma_qp *q, enum srdma_standing s, char *buf, size_t len)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int err = srdma_class_error(q, s);

	if (!has_class(q))
		strscpy(buf, unaddressed_text(q, s), len);
	else if (s == SRDMA_CANNOT && !srdma_qp_class_pending(q))
		strscpy(buf, "the level has no value that this QP's link uses", len);
	else if (err == -EREMOTEIO)
		srdma_refusal_text(hw ? READ_ONCE(hw->syndrome) : 0, buf, len);
	else
		strscpy(buf, srdma_class_error_text(err), len);
	return err;
}

void srdma_refusal_text(u32 syndrome, char *buf, size_t len)
{
	snprintf(buf, len, "the device refuses it, syndrome 0x%08x; tried again after a change",
		 syndrome);
}

const char *srdma_class_error_text(int err)
{
	switch (err) {
	case 0:
		return "not tried yet";
	case -EREMOTEIO:
		return "the device refuses it";
	case -EOPNOTSUPP:
		return "the class of such a QP is set when it is connected, not later";
	case -ETIMEDOUT:
		return "the send queue did not drain in time: does the peer post receives?";
	case -EBUSY:
		return "cannot yet: not in RTS";
	case -EINTR:
		return "the application was modifying or destroying the QP";
	case -ENOTCONN:
		return "the QP is not connected any more";
	case -EAGAIN:
		return "not done yet: the device or the application was busy with the QP";
	default:
		return "the driver refused the new address vector";
	}
}

/* In the modify wrapper */

/* If no live change can restore the service level, do not change it at connect either. */
static bool own_sl(const struct srdma_qp *q, const struct rdma_ah_attr *ah)
{
	return ah->type == RDMA_AH_ATTR_TYPE_ROCE && READ_ONCE(q->dev->provider)->roce_tclass_only;
}

/* Set HAS_AV last: a reader that finds it compares the programmed class with the desired one. */
static void remember_av(struct srdma_qp *q, const struct rdma_ah_attr *ah)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);

	q->sl_asked = rdma_ah_get_sl(ah);
	q->tclass_asked = 0;
	q->dlid = rdma_ah_get_dlid(ah);
	clear_bit(SRDMA_QP_GRH, &q->flags);
	if (rdma_ah_get_ah_flags(ah) & IB_AH_GRH) {
		q->tclass_asked = grh->traffic_class;
		q->flow_label = grh->flow_label;
		q->sgid_index = grh->sgid_index;
		q->hop_limit = grh->hop_limit;
		memcpy(q->dgid, grh->dgid.raw, sizeof(q->dgid));
		set_bit(SRDMA_QP_GRH, &q->flags);
	}
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE)
		memcpy(q->dmac, ah->roce.dmac, sizeof(q->dmac));
	assign_bit(SRDMA_QP_ROCE, &q->flags, ah->type == RDMA_AH_ATTR_TYPE_ROCE);
	set_bit(SRDMA_QP_HAS_AV, &q->flags);
}

struct ib_qp_attr *srdma_class_av(struct srdma_qp *q, struct ib_qp_attr *attr)
{
	struct ib_qp_attr *forced;
	struct srdma_level l;
	int level;

	rcu_read_lock();
	level = srdma_qp_level(q);
	rcu_read_unlock();
	if (level < 0 || srdma_giving_back(q->dev))
		return attr;
	/* Without memory the QP connects with its own class, and enforce.c changes it later. */
	forced = kmemdup(attr, sizeof(*attr), GFP_KERNEL);
	if (!forced)
		return attr;
	l = srdma_level_get(level);
	if (l.has_dscp && rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH)
		forced->ah_attr.grh.traffic_class = l.dscp << 2 |
						    (attr->ah_attr.grh.traffic_class & 3);
	if (l.has_sl && !own_sl(q, &attr->ah_attr))
		rdma_ah_set_sl(&forced->ah_attr, l.sl);
	return forced;
}

static bool nothing_in_force(const struct srdma_qp *q)
{
	struct srdma_job_dev *jd;
	bool nothing;

	rcu_read_lock();
	jd = rcu_dereference(q->job);
	nothing = !READ_ONCE(q->level) && !READ_ONCE(jd->level) && !READ_ONCE(jd->follow);
	rcu_read_unlock();
	return nothing;
}

static void remember_class(struct srdma_qp *q, const struct rdma_ah_attr *ah)
{
	q->sl = rdma_ah_get_sl(ah);
	q->tclass = rdma_ah_get_ah_flags(ah) & IB_AH_GRH ? ah->grh.traffic_class : 0;
}

void srdma_class_refused(struct srdma_qp *q)
{
	assign_bit(SRDMA_QP_APP_SQD, &q->flags, q->state == IB_QPS_SQD);
}

void srdma_class_reset(struct srdma_qp *q)
{
	clear_bit(SRDMA_QP_HAS_AV, &q->flags);
	clear_bit(SRDMA_QP_SAW_AV, &q->flags);
	q->dest_qpn = 0;
	memset(q->dmac, 0, sizeof(q->dmac));
	WRITE_ONCE(q->ends.wish, 0);	/* it has no peer */
}

void srdma_class_recheck(struct srdma_qp *q)
{
	smp_mb();	/* store the class, then read the level: a rescan does the reverse */
	if (srdma_qp_class_pending(q))
		srdma_pass_qp(q);
}

void srdma_class_connected(struct srdma_qp *q, const struct ib_qp_attr *asked,
			   const struct ib_qp_attr *used)
{
	remember_class(q, &used->ah_attr);
	remember_av(q, &asked->ah_attr);
	set_bit(SRDMA_QP_SAW_AV, &q->flags);
	WRITE_ONCE(q->ends.wish, 0);	/* it was the former peer's */
	smp_mb();	/* pairs as in srdma_class_recheck() */
	/* The common case: no override, and the QP has the class that it asked for. */
	if (used == asked && nothing_in_force(q))
		return;
	srdma_notify(levels_changed);
	if (srdma_qp_class_pending(q))
		srdma_pass_qp(q);
}

void srdma_class_adopt(struct srdma_qp *q, const struct ib_qp_attr *attr)
{
	q->state = attr->qp_state;
	set_bit(SRDMA_QP_HAS_STATE, &q->flags);
	q->port = attr->port_num;
	/* The driver knows the class that was forced, not the one that was asked for. */
	if (q->state >= IB_QPS_RTR && q->state != IB_QPS_ERR && srdma_qp_connectable(q) &&
	    !test_bit(SRDMA_QP_SAW_AV, &q->flags)) {
		q->dest_qpn = attr->dest_qp_num;
		remember_class(q, &attr->ah_attr);
		remember_av(q, &attr->ah_attr);
	}
	srdma_qp_touch(q);
	if (srdma_qp_class_pending(q))
		srdma_pass_qp(q);
}
EXPORT_SYMBOL_GPL(srdma_class_adopt);
