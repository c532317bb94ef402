// SPDX-License-Identifier: GPL-2.0
/*
 * JOB_SET, JOB_DEL, LEVEL_SET: whether a request is well formed, and in words if
 * not. What it means is job.c's and override.c's to say.
 */
#include <linux/slab.h>

#include "netlink_priv.h"
#include "rule.h"

static struct netlink_range_validation uid_range = { .max = U32_MAX - 1 };

static const struct nla_policy rule_policy[SWIFTRDMA_RULE_A_PID + 1] = {
	[SWIFTRDMA_RULE_A_ORDER]	= { .type = NLA_U32 },
	[SWIFTRDMA_RULE_A_CGROUP]	= { .type = NLA_NUL_STRING,
					    .len = SWIFTRDMA_PATH_LEN - 1 },
	[SWIFTRDMA_RULE_A_COMM]		= { .type = NLA_NUL_STRING,
					    .len = SWIFTRDMA_COMM_LEN - 1 },
	[SWIFTRDMA_RULE_A_EXE]		= { .type = NLA_NUL_STRING,
					    .len = SWIFTRDMA_EXE_LEN - 1 },
	[SWIFTRDMA_RULE_A_UID]		= NLA_POLICY_FULL_RANGE(NLA_U32, &uid_range),
	[SWIFTRDMA_RULE_A_PID]		= NLA_POLICY_MIN(NLA_U32, 1),
};

static const struct nla_policy job_policy[SWIFTRDMA_JOB_A_RULE + 1] = {
	[SWIFTRDMA_JOB_A_NAME]		= SRDMA_NAME_POLICY,
	[SWIFTRDMA_JOB_A_ORIGIN]	= SRDMA_NAME_POLICY,
	[SWIFTRDMA_JOB_A_CLASS]		= NLA_POLICY_MAX(NLA_U32, SWIFTRDMA_JOB_CLASS_MAX),
	[SWIFTRDMA_JOB_A_RULE]		= NLA_POLICY_NESTED(rule_policy),
};

static const struct nla_policy job_name_policy[SWIFTRDMA_JOB_A_ORIGIN + 1] = {
	[SWIFTRDMA_JOB_A_NAME]		= SRDMA_NAME_POLICY,
	[SWIFTRDMA_JOB_A_ORIGIN]	= SRDMA_NAME_POLICY,
};

static const struct nla_policy level_policy[SWIFTRDMA_LEVEL_A_SL + 1] = {
	[SWIFTRDMA_LEVEL_A_LEVEL]	= NLA_POLICY_MAX(NLA_U32, SWIFTRDMA_LEVEL_MAX),
	[SWIFTRDMA_LEVEL_A_DSCP]	= NLA_POLICY_MAX(NLA_U32, 63),
	[SWIFTRDMA_LEVEL_A_SL]		= NLA_POLICY_MAX(NLA_U32, 15),
};

const struct nla_policy srdma_job_set_policy[SWIFTRDMA_A_JOB_OBJ + 1] = {
	[SWIFTRDMA_A_JOB_OBJ]		= NLA_POLICY_NESTED(job_policy),
};

const struct nla_policy srdma_job_del_policy[SWIFTRDMA_A_JOB_OBJ + 1] = {
	[SWIFTRDMA_A_JOB_OBJ]		= NLA_POLICY_NESTED(job_name_policy),
};

const struct nla_policy srdma_level_set_policy[SWIFTRDMA_A_LEVEL + 1] = {
	[SWIFTRDMA_A_LEVEL]		= NLA_POLICY_NESTED(level_policy),
};

/* NAME and ORIGIN, which JOB_SET and JOB_DEL both need. */
static int job_names(struct nlattr **tb, const struct nlattr *nest,
		     struct netlink_ext_ack *extack)
{
	struct nlattr *name = tb[SWIFTRDMA_JOB_A_NAME];
	struct nlattr *origin = tb[SWIFTRDMA_JOB_A_ORIGIN];

	if (!name)
		return srdma_missing(extack, nest, SWIFTRDMA_JOB_A_NAME,
				     "the job's NAME is missing");
	if (!origin)
		return srdma_missing(extack, nest, SWIFTRDMA_JOB_A_ORIGIN,
				     "ORIGIN is missing: whose rules are these?");
	if (!srdma_is_name(nla_data(name))) {
		NL_SET_ERR_MSG_ATTR(extack, name,
				    "a job's name is 1 to 31 of A-Z a-z 0-9 _ . -");
		return -EINVAL;
	}
	if (!srdma_is_name(nla_data(origin))) {
		NL_SET_ERR_MSG_ATTR(extack, origin,
				    "an origin is 1 to 31 of A-Z a-z 0-9 _ . -");
		return -EINVAL;
	}
	return 0;
}

/* NULL: not given. ERR_PTR: empty, which no owner's is. */
static const char *rule_string(struct nlattr *attr, struct netlink_ext_ack *extack)
{
	if (!attr)
		return NULL;
	if (!*(char *)nla_data(attr)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "an empty condition matches nothing: leave it out for any");
		return ERR_PTR(-EINVAL);
	}
	return nla_data(attr);
}

static int parse_rule(struct srdma_rule_spec *r, const struct nlattr *nest,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[SWIFTRDMA_RULE_A_PID + 1];
	int ret;

	ret = srdma_parse_nest(tb, SWIFTRDMA_RULE_A_PID, nest, rule_policy, 0, extack);
	if (ret)
		return ret;
	if (tb[SWIFTRDMA_RULE_A_ORDER])
		r->order = nla_get_u32(tb[SWIFTRDMA_RULE_A_ORDER]);
	r->cgroup = rule_string(tb[SWIFTRDMA_RULE_A_CGROUP], extack);
	r->comm = rule_string(tb[SWIFTRDMA_RULE_A_COMM], extack);
	r->exe = rule_string(tb[SWIFTRDMA_RULE_A_EXE], extack);
	if (IS_ERR(r->cgroup) || IS_ERR(r->comm) || IS_ERR(r->exe))
		return -EINVAL;
	if (tb[SWIFTRDMA_RULE_A_UID]) {
		r->has_uid = true;
		r->uid = nla_get_u32(tb[SWIFTRDMA_RULE_A_UID]);
	}
	if (tb[SWIFTRDMA_RULE_A_PID]) {
		r->has_pid = true;
		r->pid = nla_get_u32(tb[SWIFTRDMA_RULE_A_PID]);
	}
	if (!r->cgroup && !r->comm && !r->exe && !r->has_uid && !r->has_pid) {
		NL_SET_ERR_MSG_ATTR(extack, nest,
				    "a rule needs a condition: CGROUP, COMM, EXE, UID or PID");
		return -EINVAL;
	}
	return 0;
}

static int parse_rules(const struct nlattr *nest, struct srdma_rule_spec **rules,
		       int *n_rules, struct netlink_ext_ack *extack)
{
	int n = srdma_count_attrs(nla_data(nest), nla_len(nest), SWIFTRDMA_JOB_A_RULE);
	const struct nlattr *nla;
	int rem, ret, i = 0;

	if (!n)
		return srdma_missing(extack, nest, SWIFTRDMA_JOB_A_RULE,
				     "a job needs a RULE; JOB_DEL takes the rules back");
	if (n > SWIFTRDMA_RULES_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "more than 64 rules of one job and origin");
		return -E2BIG;
	}
	*rules = kcalloc(n, sizeof(**rules), GFP_KERNEL);
	if (!*rules)
		return -ENOMEM;
	nla_for_each_nested(nla, nest, rem) {
		if (nla_type(nla) != SWIFTRDMA_JOB_A_RULE)
			continue;
		ret = parse_rule(&(*rules)[i++], nla, extack);
		if (ret) {
			kfree(*rules);
			return ret;
		}
	}
	*n_rules = n;
	return 0;
}

int srdma_job_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *nest = info->attrs[SWIFTRDMA_A_JOB_OBJ];
	struct nlattr *tb[SWIFTRDMA_JOB_A_RULE + 1];
	struct netlink_ext_ack *extack = info->extack;
	u32 class = SWIFTRDMA_JOB_CLASS_NONE;
	struct srdma_rule_spec *rules;
	int ret, n;

	ret = srdma_set_begin(skb, info, 0);
	if (ret)
		return ret;
	if (!nest)
		return srdma_missing(extack, NULL, SWIFTRDMA_A_JOB_OBJ, "JOB_OBJ is missing");
	ret = srdma_parse_nest(tb, SWIFTRDMA_JOB_A_RULE, nest, job_policy,
			       BIT_ULL(SWIFTRDMA_JOB_A_RULE), extack);
	if (!ret)
		ret = job_names(tb, nest, extack);
	if (ret)
		return ret;
	if (tb[SWIFTRDMA_JOB_A_CLASS])
		class = nla_get_u32(tb[SWIFTRDMA_JOB_A_CLASS]);
	if (!strcmp(nla_data(tb[SWIFTRDMA_JOB_A_NAME]), "unassigned")) {
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_JOB_A_NAME],
				    "\"unassigned\" is what no rule matches: it has none");
		return -EINVAL;
	}
	ret = parse_rules(nest, &rules, &n, extack);
	if (ret)
		return ret;
	ret = srdma_job_set(nla_data(tb[SWIFTRDMA_JOB_A_NAME]),
			    nla_data(tb[SWIFTRDMA_JOB_A_ORIGIN]), class, rules, n);
	if (ret == -ENOSPC)
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_JOB_A_NAME],
				    "as many jobs as there can be (1024)");
	else if (ret)
		NL_SET_ERR_MSG(extack, "the job could not be set: nothing was changed");
	kfree(rules);
	return ret;
}

int srdma_job_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *nest = info->attrs[SWIFTRDMA_A_JOB_OBJ];
	struct nlattr *tb[SWIFTRDMA_JOB_A_ORIGIN + 1];
	struct netlink_ext_ack *extack = info->extack;
	int ret;

	ret = srdma_set_begin(skb, info, 0);
	if (ret)
		return ret;
	if (!nest)
		return srdma_missing(extack, NULL, SWIFTRDMA_A_JOB_OBJ, "JOB_OBJ is missing");
	ret = srdma_parse_nest(tb, SWIFTRDMA_JOB_A_ORIGIN, nest, job_name_policy, 0, extack);
	if (!ret)
		ret = job_names(tb, nest, extack);
	if (ret)
		return ret;
	ret = srdma_job_del(nla_data(tb[SWIFTRDMA_JOB_A_NAME]),
			    nla_data(tb[SWIFTRDMA_JOB_A_ORIGIN]));
	if (ret == -ENOENT)
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_JOB_A_NAME],
				    "no such job, or none of its rules is of this origin");
	else if (ret)
		NL_SET_ERR_MSG(extack, "the rules could not be taken back");
	return ret;
}

static int parse_level(struct srdma_level_row *row, const struct nlattr *nest,
		       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[SWIFTRDMA_LEVEL_A_SL + 1];
	int ret;

	ret = srdma_parse_nest(tb, SWIFTRDMA_LEVEL_A_SL, nest, level_policy, 0, extack);
	if (ret)
		return ret;
	if (!tb[SWIFTRDMA_LEVEL_A_LEVEL])
		return srdma_missing(extack, nest, SWIFTRDMA_LEVEL_A_LEVEL,
				     "which level? LEVEL is missing");
	if (!tb[SWIFTRDMA_LEVEL_A_DSCP] && !tb[SWIFTRDMA_LEVEL_A_SL])
		return srdma_missing(extack, nest, SWIFTRDMA_LEVEL_A_DSCP,
				     "a level is a DSCP, an SL or both");
	*row = (struct srdma_level_row){ .level = nla_get_u32(tb[SWIFTRDMA_LEVEL_A_LEVEL]) };
	if (tb[SWIFTRDMA_LEVEL_A_DSCP]) {
		row->is.has_dscp = true;
		row->is.dscp = nla_get_u32(tb[SWIFTRDMA_LEVEL_A_DSCP]);
	}
	if (tb[SWIFTRDMA_LEVEL_A_SL]) {
		row->is.has_sl = true;
		row->is.sl = nla_get_u32(tb[SWIFTRDMA_LEVEL_A_SL]);
	}
	return 0;
}

int srdma_level_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct srdma_level_row rows[SWIFTRDMA_LEVEL_MAX + 1];
	struct netlink_ext_ack *extack = info->extack;
	const struct nlattr *nla;
	int rem, ret, n = 0;
	u32 seen = 0;

	ret = srdma_set_begin(skb, info, BIT_ULL(SWIFTRDMA_A_LEVEL));
	if (ret)
		return ret;
	nlmsg_for_each_attr(nla, info->nlhdr, GENL_HDRLEN, rem) {
		struct srdma_level_row row;

		ret = parse_level(&row, nla, extack);
		if (ret)
			return ret;
		if (seen & BIT(row.level)) {
			NL_SET_ERR_MSG_ATTR(extack, nla, "this level is there twice");
			return -EINVAL;
		}
		/* So there are never more rows than levels. */
		seen |= BIT(row.level);
		rows[n++] = row;
	}
	if (!n)
		return srdma_missing(extack, NULL, SWIFTRDMA_A_LEVEL, "no LEVEL to set");
	srdma_levels_set(rows, n);
	return 0;
}
