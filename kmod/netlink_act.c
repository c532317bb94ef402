// SPDX-License-Identifier: GPL-2.0
/*
 * ACT: a batch of knob changes under a lease. All of it is checked for form here,
 * and for meaning by lease.c, before any of it is done.
 */
#include <linux/slab.h>

#include "lease.h"
#include "netlink_priv.h"

static struct netlink_range_validation qpn_range = { .max = 0xffffff };
static struct netlink_range_validation ttl_range = { .max = SWIFTRDMA_LEASE_MAX_MS };
static struct netlink_range_validation id_range = { .min = 1, .max = U64_MAX };

static const struct nla_policy lease_policy[SWIFTRDMA_LEASE_A_ORIGIN + 1] = {
	[SWIFTRDMA_LEASE_A_ID]		= NLA_POLICY_FULL_RANGE(NLA_U64, &id_range),
	[SWIFTRDMA_LEASE_A_TTL_MS]	= NLA_POLICY_FULL_RANGE(NLA_U32, &ttl_range),
	[SWIFTRDMA_LEASE_A_RANK]	= NLA_POLICY_MAX(NLA_U32, SWIFTRDMA_RANK_MAX),
	[SWIFTRDMA_LEASE_A_ORIGIN]	= SRDMA_NAME_POLICY,
};

static const struct nla_policy reading_policy[SWIFTRDMA_READING_A_VALUE + 1] = {
	[SWIFTRDMA_READING_A_SIGNAL]	= SRDMA_NAME_POLICY,
	[SWIFTRDMA_READING_A_VALUE]	= { .type = NLA_S64 },
};

static const struct nla_policy decision_policy[SWIFTRDMA_DECISION_A_READING + 1] = {
	[SWIFTRDMA_DECISION_A_POLICY]	= SRDMA_NAME_POLICY,
	[SWIFTRDMA_DECISION_A_TICK]	= { .type = NLA_U64 },
	[SWIFTRDMA_DECISION_A_COOLDOWN]	= { .type = NLA_U64 },
	[SWIFTRDMA_DECISION_A_STEPS_LEFT] = { .type = NLA_U32 },
	[SWIFTRDMA_DECISION_A_ACTS_LEFT] = { .type = NLA_U32 },
	[SWIFTRDMA_DECISION_A_DEV_INDEX] = { .type = NLA_U32 },
	[SWIFTRDMA_DECISION_A_PORT]	= { .type = NLA_U32 },
	[SWIFTRDMA_DECISION_A_UAR]	= { .type = NLA_U32 },
	[SWIFTRDMA_DECISION_A_QPN]	= NLA_POLICY_FULL_RANGE(NLA_U32, &qpn_range),
	[SWIFTRDMA_DECISION_A_READING]	= NLA_POLICY_NESTED(reading_policy),
};

static const struct nla_policy action_policy[SWIFTRDMA_ACTION_A_DECISION + 1] = {
	[SWIFTRDMA_ACTION_A_KNOB]	= NLA_POLICY_RANGE(NLA_U32, SWIFTRDMA_KNOB_LEVEL,
							   SWIFTRDMA_KNOB_MAX),
	[SWIFTRDMA_ACTION_A_VALUE]	= { .type = NLA_U64 },
	[SWIFTRDMA_ACTION_A_CLEAR]	= { .type = NLA_FLAG },
	[SWIFTRDMA_ACTION_A_JOB]	= SRDMA_NAME_POLICY,
	[SWIFTRDMA_ACTION_A_DEV_INDEX]	= { .type = NLA_U32 },
	[SWIFTRDMA_ACTION_A_QPN]	= NLA_POLICY_FULL_RANGE(NLA_U32, &qpn_range),
	[SWIFTRDMA_ACTION_A_QP_SERIAL]	= { .type = NLA_U64 },
	[SWIFTRDMA_ACTION_A_REASON]	= { .type = NLA_NUL_STRING,
					    .len = SWIFTRDMA_REASON_LEN - 1 },
	[SWIFTRDMA_ACTION_A_DECISION]	= NLA_POLICY_NESTED(decision_policy),
};

const struct nla_policy srdma_act_policy[SWIFTRDMA_A_ACTION + 1] = {
	[SWIFTRDMA_A_LEASE]		= NLA_POLICY_NESTED(lease_policy),
	[SWIFTRDMA_A_ACTION]		= NLA_POLICY_NESTED(action_policy),
};

static int parse_lease(struct srdma_act_lease *lease, const struct nlattr *nest,
		       bool has_items, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[SWIFTRDMA_LEASE_A_ORIGIN + 1];
	int ret;

	ret = srdma_parse_nest(tb, SWIFTRDMA_LEASE_A_ORIGIN, nest, lease_policy, 0, extack);
	if (ret)
		return ret;
	lease->ttl_ms = SWIFTRDMA_LEASE_DEF_MS;
	if (tb[SWIFTRDMA_LEASE_A_TTL_MS])
		lease->ttl_ms = nla_get_u32(tb[SWIFTRDMA_LEASE_A_TTL_MS]);

	if (tb[SWIFTRDMA_LEASE_A_ID]) {
		struct nlattr *fixed = tb[SWIFTRDMA_LEASE_A_RANK] ?:
				       tb[SWIFTRDMA_LEASE_A_ORIGIN];

		lease->id = nla_get_u64(tb[SWIFTRDMA_LEASE_A_ID]);
		if (fixed) {
			NL_SET_ERR_MSG_ATTR(extack, fixed,
					    "RANK and ORIGIN are given once, to a new lease");
			return -EINVAL;
		}
		if (!lease->ttl_ms && has_items) {
			NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_LEASE_A_TTL_MS],
					    "TTL_MS 0 ends the lease: it takes no ACTION");
			return -EINVAL;
		}
		return 0;
	}

	if (!lease->ttl_ms)
		return srdma_missing(extack, nest, SWIFTRDMA_LEASE_A_ID,
				     "TTL_MS 0 ends a lease: which? ID is missing");
	if (!tb[SWIFTRDMA_LEASE_A_ORIGIN])
		return srdma_missing(extack, nest, SWIFTRDMA_LEASE_A_ORIGIN,
				     "a new lease needs an ORIGIN, an old one its ID");
	lease->origin = nla_data(tb[SWIFTRDMA_LEASE_A_ORIGIN]);
	if (!srdma_is_name(lease->origin)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_LEASE_A_ORIGIN],
				    "an origin is 1 to 31 of A-Z a-z 0-9 _ . -");
		return -EINVAL;
	}
	if (tb[SWIFTRDMA_LEASE_A_RANK])
		lease->rank = nla_get_u32(tb[SWIFTRDMA_LEASE_A_RANK]);
	return 0;
}

/* A job, on one device or all, or one QP of a device. */
static int parse_target(struct srdma_act_item *item, struct nlattr **tb,
			const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct nlattr *job = tb[SWIFTRDMA_ACTION_A_JOB];
	struct nlattr *qpn = tb[SWIFTRDMA_ACTION_A_QPN];
	struct nlattr *serial = tb[SWIFTRDMA_ACTION_A_QP_SERIAL];

	if (!job && !qpn)
		return srdma_missing(extack, nest, SWIFTRDMA_ACTION_A_JOB,
				     "no target: JOB, or DEV_INDEX and QPN");
	if (job && qpn) {
		NL_SET_ERR_MSG_ATTR(extack, qpn, "the target is either a JOB or a QPN");
		return -EINVAL;
	}
	if (serial && !qpn) {
		NL_SET_ERR_MSG_ATTR(extack, serial, "QP_SERIAL goes with a QPN");
		return -EINVAL;
	}
	if (tb[SWIFTRDMA_ACTION_A_DEV_INDEX]) {
		item->has_dev = true;
		item->dev = nla_get_u32(tb[SWIFTRDMA_ACTION_A_DEV_INDEX]);
	}
	if (job) {
		item->job = nla_data(job);
		return 0;
	}
	if (!item->has_dev)
		return srdma_missing(extack, nest, SWIFTRDMA_ACTION_A_DEV_INDEX,
				     "a QPN is one of a device: DEV_INDEX is missing");
	item->qpn = nla_get_u32(qpn);
	if (serial) {
		item->has_serial = true;
		item->serial = nla_get_u64(serial);
	}
	return 0;
}

static int parse_value(struct srdma_act_item *item, struct nlattr **tb,
		       const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct nlattr *value = tb[SWIFTRDMA_ACTION_A_VALUE];
	struct nlattr *clear = tb[SWIFTRDMA_ACTION_A_CLEAR];

	if (!value && !clear)
		return srdma_missing(extack, nest, SWIFTRDMA_ACTION_A_VALUE,
				     "a VALUE to set, or CLEAR, is missing");
	if (value && clear) {
		NL_SET_ERR_MSG_ATTR(extack, clear, "either a VALUE or CLEAR");
		return -EINVAL;
	}
	if (clear) {
		item->clear = true;
		return 0;
	}
	item->value = nla_get_u64(value);
	if (item->knob == SWIFTRDMA_KNOB_LEVEL && item->value > SWIFTRDMA_LEVEL_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, value, "a class level is 0 to 7");
		return -ERANGE;
	}
	return 0;
}

static int check_reading(const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[SWIFTRDMA_READING_A_VALUE + 1];
	int ret;

	ret = srdma_parse_nest(tb, SWIFTRDMA_READING_A_VALUE, nest, reading_policy, 0, extack);
	if (ret)
		return ret;
	if (!tb[SWIFTRDMA_READING_A_SIGNAL])
		return srdma_missing(extack, nest, SWIFTRDMA_READING_A_SIGNAL,
				     "a reading of what? SIGNAL is missing");
	if (!srdma_is_name(nla_data(tb[SWIFTRDMA_READING_A_SIGNAL]))) {
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_READING_A_SIGNAL],
				    "a signal is 1 to 31 of A-Z a-z 0-9 _ . -");
		return -EINVAL;
	}
	return 0;
}

static int check_readings(const struct nlattr *decision, struct netlink_ext_ack *extack)
{
	const struct nlattr *nla;
	int rem, ret, n = 0;

	nla_for_each_nested(nla, decision, rem) {
		if (nla_type(nla) != SWIFTRDMA_DECISION_A_READING)
			continue;
		if (n++ == SWIFTRDMA_READINGS_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, nla, "more than 12 readings in a decision");
			return -E2BIG;
		}
		ret = check_reading(nla, extack);
		if (ret)
			return ret;
	}
	return 0;
}

/* What it says is kept in the form it has here, which is bounded: no attribute is twice. */
static int parse_decision(struct srdma_act_item *item, const struct nlattr *nest,
			  struct netlink_ext_ack *extack)
{
	struct nlattr *tb[SWIFTRDMA_DECISION_A_READING + 1];
	struct nlattr *policy, *tick;
	struct srdma_decision *d;
	int ret;

	ret = srdma_parse_nest(tb, SWIFTRDMA_DECISION_A_READING, nest, decision_policy,
			       BIT_ULL(SWIFTRDMA_DECISION_A_READING), extack);
	if (!ret)
		ret = check_readings(nest, extack);
	if (ret)
		return ret;
	policy = tb[SWIFTRDMA_DECISION_A_POLICY];
	if (!policy)
		return srdma_missing(extack, nest, SWIFTRDMA_DECISION_A_POLICY,
				     "whose decision? POLICY is missing");
	tick = tb[SWIFTRDMA_DECISION_A_TICK];
	if (!tick)
		return srdma_missing(extack, nest, SWIFTRDMA_DECISION_A_TICK,
				     "a decision is of a tick: TICK is missing");
	if (!srdma_is_name(nla_data(policy))) {
		NL_SET_ERR_MSG_ATTR(extack, policy, "a policy is 1 to 31 of A-Z a-z 0-9 _ . -");
		return -EINVAL;
	}
	d = kmalloc(struct_size(d, attrs, nla_len(nest)), GFP_KERNEL_ACCOUNT);
	if (!d)
		return -ENOMEM;
	refcount_set(&d->refs, 1);
	d->tick = nla_get_u64(tick);
	strscpy(d->policy, nla_data(policy), sizeof(d->policy));
	d->len = nla_len(nest);
	memcpy(d->attrs, nla_data(nest), d->len);
	item->decision = d;
	return 0;
}

static int parse_item(struct srdma_act_item *item, const struct nlattr *nest,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[SWIFTRDMA_ACTION_A_DECISION + 1];
	struct nlattr *knob;
	int ret;

	ret = srdma_parse_nest(tb, SWIFTRDMA_ACTION_A_DECISION, nest, action_policy, 0,
			       extack);
	if (ret)
		return ret;
	knob = tb[SWIFTRDMA_ACTION_A_KNOB];
	if (!knob)
		return srdma_missing(extack, nest, SWIFTRDMA_ACTION_A_KNOB,
				     "which knob? KNOB is missing");
	item->knob = nla_get_u32(knob);
	if (item->knob != SWIFTRDMA_KNOB_LEVEL &&
	    item->knob != SWIFTRDMA_KNOB_MAX_QPS &&
	    item->knob != SWIFTRDMA_KNOB_CREATE_RATE &&
	    item->knob != SWIFTRDMA_KNOB_BIT_RATE &&
	    item->knob != SWIFTRDMA_KNOB_WEIGHT &&
	    srdma_path_part(item->knob) < 0) {
		NL_SET_ERR_MSG_ATTR(extack, knob, SRDMA_ENFORCED);
		return -EOPNOTSUPP;
	}
	if ((item->knob == SWIFTRDMA_KNOB_BIT_RATE || item->knob == SWIFTRDMA_KNOB_WEIGHT) &&
	    !tb[SWIFTRDMA_ACTION_A_CLEAR] && !srdma_rates_possible()) {
		NL_SET_ERR_MSG_ATTR(extack, knob,
				    "no device here enforces that: it takes scheduling elements for QPs");
		return -EOPNOTSUPP;
	}
	ret = parse_target(item, tb, nest, extack);
	if (!ret)
		ret = parse_value(item, tb, nest, extack);
	if (!ret && tb[SWIFTRDMA_ACTION_A_REASON])
		item->reason = nla_data(tb[SWIFTRDMA_ACTION_A_REASON]);
	if (!ret && tb[SWIFTRDMA_ACTION_A_DECISION])
		ret = parse_decision(item, tb[SWIFTRDMA_ACTION_A_DECISION], extack);
	return ret;
}

/* The @i-th ACTION, for a message that points at it. */
static const struct nlattr *nth_action(struct genl_info *info, int i)
{
	const struct nlattr *nla;
	int rem;

	nlmsg_for_each_attr(nla, info->nlhdr, GENL_HDRLEN, rem)
		if (nla_type(nla) == SWIFTRDMA_A_ACTION && !i--)
			return nla;
	return NULL;
}

static int act_reply(struct sk_buff *reply, struct genl_info *info,
		     const struct srdma_act_lease *lease, u64 batch)
{
	struct nlattr *nest;
	void *hdr;

	hdr = genlmsg_put_reply(reply, info, &srdma_genl_family, 0, SWIFTRDMA_CMD_ACT);
	nest = hdr ? nla_nest_start(reply, SWIFTRDMA_A_LEASE) : NULL;
	if (!nest ||
	    nla_put_u64_64bit(reply, SWIFTRDMA_LEASE_A_ID, lease->id,
			      SWIFTRDMA_LEASE_A_PAD) ||
	    nla_put_u32(reply, SWIFTRDMA_LEASE_A_TTL_MS, lease->ttl_ms)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	nla_nest_end(reply, nest);
	if (nla_put_u64_64bit(reply, SWIFTRDMA_A_BATCH, batch, SWIFTRDMA_A_PAD)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

/* @items has room for all of them. */
static int parse_items(struct srdma_act_item *items, struct genl_info *info)
{
	const struct nlattr *nla;
	int rem, ret, i = 0;

	nlmsg_for_each_attr(nla, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(nla) != SWIFTRDMA_A_ACTION)
			continue;
		ret = parse_item(&items[i++], nla, info->extack);
		if (ret)
			return ret;
	}
	return 0;
}

static void free_items(struct srdma_act_item *items, int n)
{
	int i;

	for (i = 0; items && i < n; i++)
		srdma_decision_put(items[i].decision);
	kvfree(items);
}

int srdma_act_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *nest = info->attrs[SWIFTRDMA_A_LEASE];
	struct netlink_ext_ack *extack = info->extack;
	struct srdma_act_item *items = NULL;
	struct srdma_act_lease lease = {};
	const char *why = NULL;
	struct sk_buff *reply;
	int ret, n, bad = -1;
	u64 batch = 0;

	ret = srdma_set_begin(skb, info, BIT_ULL(SWIFTRDMA_A_ACTION));
	if (ret)
		return ret;
	if (!nest)
		return srdma_missing(extack, NULL, SWIFTRDMA_A_LEASE,
				     "an ACT is under a lease: LEASE is missing");
	n = srdma_count_attrs(nlmsg_attrdata(info->nlhdr, GENL_HDRLEN),
			      nlmsg_attrlen(info->nlhdr, GENL_HDRLEN),
			      SWIFTRDMA_A_ACTION);
	if (n > SWIFTRDMA_BATCH_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, nth_action(info, SWIFTRDMA_BATCH_MAX),
				    "more than 256 items in one batch");
		return -E2BIG;
	}
	ret = parse_lease(&lease, nest, n, extack);
	if (ret)
		return ret;

	/* Everything that can fail comes before what cannot be taken back. */
	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	if (n) {
		items = kvcalloc(n, sizeof(*items), GFP_KERNEL);
		ret = items ? parse_items(items, info) : -ENOMEM;
		if (ret)
			goto err;
	}
	ret = srdma_act(&lease, items, n, &batch, &bad, &why);
	if (ret) {
		srdma_set_why(extack, bad < 0 ? nest : nth_action(info, bad),
			      why ?: "the batch was not applied");
		goto err;
	}
	free_items(items, n);
	return act_reply(reply, info, &lease, batch);

err:
	free_items(items, n);
	nlmsg_free(reply);
	return ret;
}
