// SPDX-License-Identifier: GPL-2.0
/*
 * ACTION_GET: the overrides there are, and the QPs that they, or their end, have
 * not reached yet.
 */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "enforce.h"
#include "find.h"
#include "netlink_priv.h"

/* Overrides that are put in order at a time. */
#define GATHER	64

static int put_lease(struct sk_buff *skb, const struct srdma_lease *l)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_ACTION_A_LEASE);
	u64 now = ktime_get_ns();
	u64 left = l->expires > now ? l->expires - now : 0;

	if (!nest ||
	    nla_put_u64_64bit(skb, SWIFTRDMA_LEASE_A_ID, l->id, SWIFTRDMA_LEASE_A_PAD) ||
	    nla_put_u32(skb, SWIFTRDMA_LEASE_A_TTL_MS, div_u64(left, NSEC_PER_MSEC)) ||
	    nla_put_u32(skb, SWIFTRDMA_LEASE_A_RANK, l->rank) ||
	    nla_put_string(skb, SWIFTRDMA_LEASE_A_ORIGIN, l->origin))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_qp_name(struct sk_buff *skb, u32 dev, u32 qpn, u64 serial)
{
	if (nla_put_u32(skb, SWIFTRDMA_ACTION_A_DEV_INDEX, dev) ||
	    nla_put_u32(skb, SWIFTRDMA_ACTION_A_QPN, qpn) ||
	    nla_put_u64_64bit(skb, SWIFTRDMA_ACTION_A_QP_SERIAL, serial,
			      SWIFTRDMA_ACTION_A_PAD))
		return -EMSGSIZE;
	return 0;
}

static int put_override(struct sk_buff *skb, const struct srdma_override *o)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_ACTION);
	struct srdma_target target = {
		.knob = o->knob, .job = o->job, .any_dev = o->any_dev,
		.dev = o->dev, .key = o->key, .serial = o->serial,
	};
	struct srdma_tally t = {};
	int ret = 0;

	if (!nest ||
	    nla_put_u32(skb, SWIFTRDMA_ACTION_A_KIND, SWIFTRDMA_ACTION_KIND_OVERRIDE) ||
	    nla_put_u32(skb, SWIFTRDMA_ACTION_A_KNOB, o->knob) ||
	    nla_put_u64_64bit(skb, SWIFTRDMA_ACTION_A_VALUE, o->value,
			      SWIFTRDMA_ACTION_A_PAD))
		return -EMSGSIZE;
	if (!o->job)
		ret = put_qp_name(skb, o->dev, o->key & 0xffffff, o->serial);
	else if (nla_put_string(skb, SWIFTRDMA_ACTION_A_JOB, o->job->name) ||
		 (!o->any_dev &&
		  nla_put_u32(skb, SWIFTRDMA_ACTION_A_DEV_INDEX, o->dev)))
		ret = -EMSGSIZE;
	if (ret || put_lease(skb, o->lease) ||
	    (o->reason[0] &&
	     nla_put_string(skb, SWIFTRDMA_ACTION_A_REASON, o->reason)) ||
	    srdma_fill_decision(skb, o->decision) ||
	    (o->in_force && nla_put_flag(skb, SWIFTRDMA_ACTION_A_IN_FORCE)))
		return -EMSGSIZE;
	srdma_tally(&target, &t);
	if (srdma_tallied(o->knob) && srdma_fill_tally(skb, &t))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dump_override(struct sk_buff *skb, struct netlink_callback *cb,
			 const struct srdma_override *o)
{
	void *hdr = srdma_dump_put(skb, cb, SWIFTRDMA_CMD_ACTION_GET);

	if (!hdr || put_override(skb, o)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/*
 * The overrides of a lease from address @from on, lowest first, up to GATHER. An
 * override has no number, but while it lives its address is its own: in order
 * of it, one that lives through the dump comes exactly once.
 */
static int gather(const struct srdma_lease *l, unsigned long from,
		  struct srdma_override **found)
{
	struct srdma_override *o;
	int i, n = 0;

	list_for_each_entry(o, &l->overrides, node) {
		if ((unsigned long)o < from || (n == GATHER && o > found[n - 1]))
			continue;
		i = n < GATHER ? n++ : n - 1;
		for (; i > 0 && found[i - 1] > o; i--)
			found[i] = found[i - 1];
		found[i] = o;
	}
	return n;
}

static int dump_lease(struct sk_buff *skb, struct netlink_callback *cb,
		      struct srdma_dump *d, const struct srdma_lease *l)
{
	struct srdma_override *found[GATHER];
	int i, n, ret;

	while ((n = gather(l, d->sub, found))) {
		for (i = 0; i < n; i++) {
			d->sub = (unsigned long)found[i];
			ret = dump_override(skb, cb, found[i]);
			if (ret)
				return ret;
			d->sub++;
			d->count++;
		}
	}
	return 0;
}

static int dump_leases(struct sk_buff *skb, struct netlink_callback *cb,
		       struct srdma_dump *d)
{
	struct srdma_lease *l;
	int ret = 0;

	mutex_lock(&srdma_ctl_lock);
	list_for_each_entry(l, &srdma_leases, node) {
		if (l->id < d->key)
			continue;
		if (l->id != d->key) {
			d->key = l->id;
			d->sub = 0;
		}
		ret = dump_lease(skb, cb, d, l);
		if (ret)
			break;
		d->key = l->id + 1;
		d->sub = 0;
	}
	mutex_unlock(&srdma_ctl_lock);
	return ret;
}

/* What of a QP waits, or cannot be; RCU section, or the QP is held. */
static int pending_knob(const struct srdma_qp *q, int *err, char why[SRDMA_WHY_LEN])
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	enum srdma_standing s = srdma_class_standing(q);
	u32 syndrome;
	int part;

	*err = srdma_class_why(q, s, why, SRDMA_WHY_LEN);
	/* One that was never tried is on its way, not stuck. */
	if (s == SRDMA_CANNOT || s == SRDMA_UNKNOWN ||
	    (s == SRDMA_PENDING && (*err || READ_ONCE(q->attempts))))
		return SWIFTRDMA_KNOB_LEVEL;
	for (part = 0; hw && part < SRDMA_PATH_PARTS; part++) {
		*err = READ_ONCE(hw->path[part].error);
		if (!*err || !srdma_path_pending(q, part))
			continue;
		if (*err == -EREMOTEIO)
			srdma_refusal_text(READ_ONCE(hw->syndrome), why, SRDMA_WHY_LEN);
		else
			strscpy(why, "the device did not change it", SRDMA_WHY_LEN);
		return part == SRDMA_PATH_SPORT ? SWIFTRDMA_KNOB_UDP_SPORT :
						  SWIFTRDMA_KNOB_LAG_PORT;
	}
	/* Where there is no element at all, that is its job's affair. */
	if (hw && READ_ONCE(hw->no_element) &&
	    srdma_rate_standing(q, err, &syndrome) == SRDMA_CANNOT) {
		srdma_refusal_text(syndrome, why, SRDMA_WHY_LEN);
		return SWIFTRDMA_KNOB_BIT_RATE;
	}
	return SWIFTRDMA_KNOB_UNSPEC;
}

/* RCU section. */
static int put_pending(struct sk_buff *skb, const struct srdma_qp *q, int knob, int err,
		       const char *why)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_ACTION);
	const struct srdma_job_dev *jd = rcu_dereference(q->job);
	int level = knob == SWIFTRDMA_KNOB_LEVEL ? srdma_qp_level(q) : -1;

	if (!nest ||
	    nla_put_u32(skb, SWIFTRDMA_ACTION_A_KIND, SWIFTRDMA_ACTION_KIND_PENDING) ||
	    nla_put_u32(skb, SWIFTRDMA_ACTION_A_KNOB, knob) ||
	    put_qp_name(skb, q->dev->index, q->qpn, q->serial) ||
	    (jd && nla_put_string(skb, SWIFTRDMA_ACTION_A_JOB, jd->job->name)) ||
	    nla_put_s32(skb, SWIFTRDMA_ACTION_A_ERROR, err) ||
	    nla_put_string(skb, SWIFTRDMA_ACTION_A_REASON, why) ||
	    (hw && err == -EREMOTEIO &&
	     nla_put_u32(skb, SWIFTRDMA_ACTION_A_SYNDROME, READ_ONCE(hw->syndrome))))
		return -EMSGSIZE;
	/* Without a level it is the application's own class that it waits for. */
	if (level >= 0 && nla_put_u64_64bit(skb, SWIFTRDMA_ACTION_A_VALUE, level,
					    SWIFTRDMA_ACTION_A_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

struct pending_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct srdma_dump *d;
};

static int dump_pending_qp(struct srdma_qp *q, void *arg)
{
	struct pending_dump *p = arg;
	char why[SRDMA_WHY_LEN];
	int ret = 0, knob, err;
	void *hdr;

	/* Most have nothing to wait for. */
	if ((!READ_ONCE(q->attempts) && !READ_ONCE(q->class_error) && !srdma_qp_hw(q) &&
	     test_bit(SRDMA_QP_HAS_AV, &q->flags)) || !srdma_qp_hold(q))
		return 0;
	knob = pending_knob(q, &err, why);
	if (knob == SWIFTRDMA_KNOB_UNSPEC)
		goto out;
	hdr = srdma_dump_put(p->skb, p->cb, SWIFTRDMA_CMD_ACTION_GET);
	if (!hdr || put_pending(p->skb, q, knob, err, why)) {
		genlmsg_cancel(p->skb, hdr);
		ret = -EMSGSIZE;
		goto out;
	}
	genlmsg_end(p->skb, hdr);
	p->d->count++;
out:
	srdma_qp_put(q);
	return ret;
}

static int dump_pending(struct sk_buff *skb, struct netlink_callback *cb,
			struct srdma_dump *d, struct srdma_dev *dev)
{
	struct pending_dump p = { .skb = skb, .cb = cb, .d = d };

	return srdma_walk_qps(dev, &d->key, 0, NULL, dump_pending_qp, &p);
}

static int dump_actions(struct sk_buff *skb, struct netlink_callback *cb,
			struct srdma_dump *d)
{
	int ret;

	if (!d->phase) {
		ret = dump_leases(skb, cb, d);
		if (ret)
			return ret;
		d->phase = 1;
		d->key = 0;
	}
	return srdma_dump_devs(skb, cb, d, dump_pending);
}

int srdma_action_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return srdma_dump_run(skb, cb, true, dump_actions);
}
