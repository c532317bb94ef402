// SPDX-License-Identifier: GPL-2.0
/*
 * JOB_SET, JOB_DEL, LEVEL_SET. This file checks the form of a request, and sets the message
 * of an error; job.c and override.c carry the request out.
 */
#include <linux/slab.h>

#include "netlink_priv.h"
#include "rule.h"

static struct netlink_range_validation uid_range = { .max = U32_MAX - 1 };

static const struct nla_policy rule_policy[SWIFTRDMA_RULE_A_SLO_P99_MIN + 1] = {
	[SWIFTRDMA_RULE_A_ORDER]	= { .type = NLA_U32 },
	[SWIFTRDMA_RULE_A_CGROUP]	= { .type = NLA_NUL_STRING,
					    .len = SWIFTRDMA_PATH_LEN - 1 },
	[SWIFTRDMA_RULE_A_COMM]		= { .type = NLA_NUL_STRING,
					    .len = SWIFTRDMA_COMM_LEN - 1 },
	[SWIFTRDMA_RULE_A_EXE]		= { .type = NLA_NUL_STRING,
					    .len = SWIFTRDMA_EXE_LEN - 1 },
	[SWIFTRDMA_RULE_A_UID]		= NLA_POLICY_FULL_RANGE(NLA_U32, &uid_range),
	[SWIFTRDMA_RULE_A_PID]		= NLA_POLICY_MIN(NLA_U32, 1),
	[SWIFTRDMA_RULE_A_ASKED]	= { .type = NLA_FLAG },
	[SWIFTRDMA_RULE_A_SLO_P99_MIN]	= NLA_POLICY_MIN(NLA_U64, 1),
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

/* The arguments that JOB_SET and JOB_DEL share: a job by name, and an origin. */
struct job_request {
	const char *name, *origin;
	u32 class;
};

#define JOB_ARG(name, member, ...)						\
	SRDMA_ARG(SWIFTRDMA_JOB_A_##name, job_request, member, __VA_ARGS__)
static const struct srdma_arg job_arg[] = {
	JOB_ARG(NAME, name, .missing = "the job's NAME is missing", .is_name = true,
		.wrong = "a job's name is 1 to 31 of A-Z a-z 0-9 _ . -"),
	JOB_ARG(ORIGIN, origin, .missing = "ORIGIN is missing: whose rules are these?",
		.is_name = true, .wrong = "an origin is 1 to 31 of A-Z a-z 0-9 _ . -"),
	JOB_ARG(CLASS, class),
};

static const struct srdma_args job_args = {
	SRDMA_ARGS(job_policy, job_arg),
	.repeatable = BIT_ULL(SWIFTRDMA_JOB_A_RULE),
};

static const struct srdma_args job_name_args = {
	.policy = job_name_policy, .max = ARRAY_SIZE(job_name_policy) - 1,
	.arg = job_arg, .n = 2,		/* NAME and ORIGIN */
};

#define RULE_ARG(name, member, ...)						\
	SRDMA_ARG(SWIFTRDMA_RULE_A_##name, srdma_rule_spec, member, __VA_ARGS__)
/* For a rule with an empty string, which would match no owner. */
#define EMPTY "an empty condition matches nothing: leave it out for any"
static const struct srdma_arg rule_arg[] = {
	RULE_ARG(ORDER, order),
	RULE_ARG(CGROUP, cgroup, .wrong = EMPTY),
	RULE_ARG(COMM, comm, .wrong = EMPTY),
	RULE_ARG(EXE, exe, .wrong = EMPTY),
	RULE_ARG(UID, uid, SRDMA_HAS(srdma_rule_spec, has_uid)),
	RULE_ARG(PID, pid, SRDMA_HAS(srdma_rule_spec, has_pid)),
	RULE_ARG(ASKED, asked),
	RULE_ARG(SLO_P99_MIN, slo_p99_min),
};

static const struct srdma_args rule_args = { SRDMA_ARGS(rule_policy, rule_arg) };

#define LEVEL_ARG(name, member, ...)						\
	SRDMA_ARG(SWIFTRDMA_LEVEL_A_##name, srdma_level_row, member, __VA_ARGS__)
static const struct srdma_arg level_arg[] = {
	LEVEL_ARG(LEVEL, level, .missing = "which level? LEVEL is missing"),
	LEVEL_ARG(DSCP, is.dscp, SRDMA_HAS(srdma_level_row, is.has_dscp)),
	LEVEL_ARG(SL, is.sl, SRDMA_HAS(srdma_level_row, is.has_sl)),
};

static const struct srdma_args level_args = { SRDMA_ARGS(level_policy, level_arg) };

static int parse_rule(struct srdma_rule_spec *r, const struct nlattr *nest,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[ARRAY_SIZE(rule_policy)];
	int ret = srdma_take_nest(&rule_args, nest, tb, r, extack);

	if (ret)
		return ret;
	if (!r->cgroup && !r->comm && !r->exe && !r->has_uid && !r->has_pid && !r->asked) {
		NL_SET_ERR_MSG_ATTR(extack, nest,
				    "a rule needs a condition: CGROUP, COMM, EXE, UID, PID or ASKED");
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

/* The job that a request names, and its attributes. */
static int parse_job(const struct srdma_args *args, struct job_request *job, struct nlattr **tb,
		     struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *nest = info->attrs[SWIFTRDMA_A_JOB_OBJ];
	int ret;

	ret = srdma_set_begin(skb, info, 0);
	if (ret)
		return ret;
	if (!nest)
		return srdma_missing(info->extack, NULL, SWIFTRDMA_A_JOB_OBJ,
				     "JOB_OBJ is missing");
	return srdma_take_nest(args, nest, tb, job, info->extack);
}

int srdma_job_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct job_request job = { .class = SWIFTRDMA_JOB_CLASS_NONE };
	struct netlink_ext_ack *extack = info->extack;
	struct nlattr *tb[ARRAY_SIZE(job_policy)];
	struct srdma_rule_spec *rules;
	int ret, n;

	ret = parse_job(&job_args, &job, tb, skb, info);
	if (ret)
		return ret;
	if (!strcmp(job.name, "unassigned")) {
		NL_SET_ERR_MSG_ATTR(extack, tb[SWIFTRDMA_JOB_A_NAME],
				    "\"unassigned\" is what no rule matches: it has none");
		return -EINVAL;
	}
	ret = parse_rules(info->attrs[SWIFTRDMA_A_JOB_OBJ], &rules, &n, extack);
	if (ret)
		return ret;
	ret = srdma_job_set(job.name, job.origin, job.class, rules, n);
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
	struct netlink_ext_ack *extack = info->extack;
	struct nlattr *tb[ARRAY_SIZE(job_name_policy)];
	struct job_request job = {};
	int ret;

	ret = parse_job(&job_name_args, &job, tb, skb, info);
	if (ret)
		return ret;
	ret = srdma_job_del(job.name, job.origin);
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
	struct nlattr *tb[ARRAY_SIZE(level_policy)];
	int ret = srdma_take_nest(&level_args, nest, tb, row, extack);

	if (!ret && !srdma_level_is_set(&row->is))
		return srdma_missing(extack, nest, SWIFTRDMA_LEVEL_A_DSCP,
				     "a level is a DSCP, an SL or both");
	return ret;
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
		struct srdma_level_row row = {};

		ret = parse_level(&row, nla, extack);
		if (ret)
			return ret;
		if (seen & BIT(row.level)) {
			NL_SET_ERR_MSG_ATTR(extack, nla, "this level is there twice");
			return -EINVAL;
		}
		/* No level may come twice, so there are never more rows than levels. */
		seen |= BIT(row.level);
		rows[n++] = row;
	}
	if (!n)
		return srdma_missing(extack, NULL, SWIFTRDMA_A_LEVEL, "no LEVEL to set");
	srdma_levels_set(rows, n);
	return 0;
}
