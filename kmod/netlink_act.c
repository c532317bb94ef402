// SPDX-License-Identifier: GPL-2.0
/*
 * ACT: a batch of knob changes under a lease. This file checks the form of the whole
 * request, act.c its meaning, before anything is changed.
 */
#include <linux/slab.h>

#include "act.h"
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

#define LEASE_ARG(name, member, ...)						\
	SRDMA_ARG(SWIFTRDMA_LEASE_A_##name, srdma_act_lease, member, __VA_ARGS__)
static const struct srdma_arg lease_arg[] = {
	LEASE_ARG(ID, id),
	LEASE_ARG(TTL_MS, ttl_ms),
	LEASE_ARG(RANK, rank),
	LEASE_ARG(ORIGIN, origin, .is_name = true,
		  .wrong = "an origin is 1 to 31 of A-Z a-z 0-9 _ . -"),
};

static const struct srdma_args lease_args = { SRDMA_ARGS(lease_policy, lease_arg) };

struct reading_request {
	const char *signal;
};

static const struct srdma_arg reading_arg[] = {
	SRDMA_ARG(SWIFTRDMA_READING_A_SIGNAL, reading_request, signal, .is_name = true,
		  .missing = "a reading of what? SIGNAL is missing",
		  .wrong = "a signal is 1 to 31 of A-Z a-z 0-9 _ . -"),
};

static const struct srdma_args reading_args = { SRDMA_ARGS(reading_policy, reading_arg) };

struct decision_request {
	const char *policy;
	u64 tick;
};

#define DECISION_ARG(name, member, ...)						\
	SRDMA_ARG(SWIFTRDMA_DECISION_A_##name, decision_request, member, __VA_ARGS__)
static const struct srdma_arg decision_arg[] = {
	DECISION_ARG(POLICY, policy, .is_name = true,
		     .missing = "whose decision? POLICY is missing",
		     .wrong = "a policy is 1 to 31 of A-Z a-z 0-9 _ . -"),
	DECISION_ARG(TICK, tick, .missing = "a decision is of a tick: TICK is missing"),
};

static const struct srdma_args decision_args = {
	SRDMA_ARGS(decision_policy, decision_arg),
	.repeatable = BIT_ULL(SWIFTRDMA_DECISION_A_READING),
};

#define ITEM_ARG(name, member, ...)						\
	SRDMA_ARG(SWIFTRDMA_ACTION_A_##name, srdma_act_item, member, __VA_ARGS__)
static const struct srdma_arg item_arg[] = {
	ITEM_ARG(KNOB, target.knob, .missing = "which knob? KNOB is missing"),
	ITEM_ARG(VALUE, value),
	ITEM_ARG(CLEAR, clear),
	ITEM_ARG(JOB, job),
	ITEM_ARG(DEV_INDEX, target.dev, SRDMA_HAS(srdma_act_item, has_dev)),
	ITEM_ARG(QPN, target.key),
	ITEM_ARG(QP_SERIAL, target.serial, SRDMA_HAS(srdma_act_item, has_serial)),
	ITEM_ARG(REASON, reason),
};

static const struct srdma_args item_args = { SRDMA_ARGS(action_policy, item_arg) };

static int parse_lease(struct srdma_act_lease *lease, const struct nlattr *nest,
		       bool has_items, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[ARRAY_SIZE(lease_policy)], *fixed;
	int ret;

	ret = srdma_take_nest(&lease_args, nest, tb, lease, extack);
	if (ret)
		return ret;
	fixed = tb[SWIFTRDMA_LEASE_A_RANK] ?: tb[SWIFTRDMA_LEASE_A_ORIGIN];
	if (lease->id && fixed) {
		NL_SET_ERR_MSG_ATTR(extack, fixed,
				    "RANK and ORIGIN are given once, to a new lease");
		return -EINVAL;
	}
	if (lease->id && !lease->ttl_ms && has_items) {
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_LEASE_A_TTL_MS],
				    "TTL_MS 0 ends the lease: it takes no ACTION");
		return -EINVAL;
	}
	if (!lease->id && !lease->ttl_ms)
		return srdma_missing(extack, nest, SWIFTRDMA_LEASE_A_ID,
				     "TTL_MS 0 ends a lease: which? ID is missing");
	if (!lease->id && !lease->origin)
		return srdma_missing(extack, nest, SWIFTRDMA_LEASE_A_ORIGIN,
				     "a new lease needs an ORIGIN, an old one its ID");
	return 0;
}

/* Check that the target is a job, on one device or all, or one QP of a device. */
static int check_target(const struct srdma_act_item *item, struct nlattr **tb,
			const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct nlattr *qpn = tb[SWIFTRDMA_ACTION_A_QPN];

	if (!item->job && !qpn)
		return srdma_missing(extack, nest, SWIFTRDMA_ACTION_A_JOB,
				     "no target: JOB, or DEV_INDEX and QPN");
	if (item->job && qpn) {
		NL_SET_ERR_MSG_ATTR(extack, qpn, "the target is either a JOB or a QPN");
		return -EINVAL;
	}
	if (item->has_serial && !qpn) {
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_ACTION_A_QP_SERIAL],
				    "QP_SERIAL goes with a QPN");
		return -EINVAL;
	}
	if (qpn && !item->has_dev)
		return srdma_missing(extack, nest, SWIFTRDMA_ACTION_A_DEV_INDEX,
				     "a QPN is one of a device: DEV_INDEX is missing");
	return 0;
}

static int check_value_given(const struct srdma_act_item *item, struct nlattr **tb,
			     const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct nlattr *value = tb[SWIFTRDMA_ACTION_A_VALUE];

	if (!value && !item->clear)
		return srdma_missing(extack, nest, SWIFTRDMA_ACTION_A_VALUE,
				     "a VALUE to set, or CLEAR, is missing");
	if (value && item->clear) {
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_ACTION_A_CLEAR],
				    "either a VALUE or CLEAR");
		return -EINVAL;
	}
	if (item->target.knob == SWIFTRDMA_KNOB_LEVEL && item->value > SWIFTRDMA_LEVEL_MAX) {
		srdma_set_why(extack, value, srdma_knob_table[SWIFTRDMA_KNOB_LEVEL].bounds);
		return -ERANGE;
	}
	return 0;
}

static int check_readings(const struct nlattr *decision, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[ARRAY_SIZE(reading_policy)];
	struct reading_request r;
	const struct nlattr *nla;
	int rem, ret, n = 0;

	nla_for_each_nested(nla, decision, rem) {
		if (nla_type(nla) != SWIFTRDMA_DECISION_A_READING)
			continue;
		if (n++ == SWIFTRDMA_READINGS_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, nla, "more than 12 readings in a decision");
			return -E2BIG;
		}
		ret = srdma_take_nest(&reading_args, nla, tb, &r, extack);
		if (ret)
			return ret;
	}
	return 0;
}

/* Keep the attributes as they came. Their number is bounded, and so is their size. */
static int parse_decision(struct srdma_act_item *item, const struct nlattr *nest,
			  struct netlink_ext_ack *extack)
{
	struct nlattr *tb[ARRAY_SIZE(decision_policy)];
	struct decision_request r = {};
	struct srdma_decision *d;
	int ret;

	ret = srdma_take_nest(&decision_args, nest, tb, &r, extack);
	if (!ret)
		ret = check_readings(nest, extack);
	if (ret)
		return ret;
	d = kmalloc(struct_size(d, attrs, nla_len(nest)), GFP_KERNEL_ACCOUNT);
	if (!d)
		return -ENOMEM;
	refcount_set(&d->refs, 1);
	d->tick = r.tick;
	strscpy(d->policy, r.policy, sizeof(d->policy));
	d->len = nla_len(nest);
	memcpy(d->attrs, nla_data(nest), d->len);
	item->decision = d;
	return 0;
}

static int parse_item(struct srdma_act_item *item, const struct nlattr *nest,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[ARRAY_SIZE(action_policy)];
	int ret;

	ret = srdma_take_nest(&item_args, nest, tb, item, extack);
	if (ret)
		return ret;
	if (!srdma_knob_table[item->target.knob].name) {
		srdma_set_why(extack, tb[SWIFTRDMA_ACTION_A_KNOB], srdma_knob_unenforced);
		return -EOPNOTSUPP;
	}
	ret = check_target(item, tb, nest, extack);
	if (!ret)
		ret = check_value_given(item, tb, nest, extack);
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

static int reply_act(struct srdma_msg *m, struct genl_info *info,
		     const struct srdma_act_lease *lease, u64 batch)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_LEASE);

	srdma_put_u64(m, SWIFTRDMA_LEASE_A_ID, lease->id);
	srdma_put_u32(m, SWIFTRDMA_LEASE_A_TTL_MS, lease->ttl_ms);
	srdma_nest_end(m, nest);
	srdma_put_u64(m, SWIFTRDMA_A_BATCH, batch);
	return srdma_reply_end(m, info, 0);
}

/* @items has an element for each ACTION. */
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
	struct srdma_act_lease lease = { .ttl_ms = SWIFTRDMA_LEASE_DEF_MS };
	const char *why = NULL;
	int ret, n, bad = -1;
	struct srdma_msg m;
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

	/* Allocate the reply first: srdma_act() cannot be undone. */
	ret = srdma_reply_begin(&m, info, GENLMSG_DEFAULT_SIZE);
	if (ret)
		return ret;
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
	return reply_act(&m, info, &lease, batch);

err:
	free_items(items, n);
	return srdma_reply_end(&m, info, ret);
}
