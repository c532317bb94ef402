// SPDX-License-Identifier: GPL-2.0
/*
 * JOB_GET, LEVEL_GET: what was set, for those who may set it.
 */
#include <linux/cred.h>
#include <linux/ktime.h>

#include "netlink_priv.h"
#include "rule.h"

/* A nest's length has 16 bits, so no answer about one job can be longer. */
#define JOB_MSG_MAX	SZ_64K

/* JOB_GET */

static int put_rule(struct sk_buff *skb, const struct srdma_rule *r)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_JOB_A_RULE);

	if (!nest ||
	    nla_put_u32(skb, SWIFTRDMA_RULE_A_ORDER, r->order) ||
	    nla_put_string(skb, SWIFTRDMA_RULE_A_ORIGIN, r->origin) ||
	    (r->cgroup && nla_put_string(skb, SWIFTRDMA_RULE_A_CGROUP, r->cgroup)) ||
	    (r->comm[0] && nla_put_string(skb, SWIFTRDMA_RULE_A_COMM, r->comm)) ||
	    (r->exe[0] && nla_put_string(skb, SWIFTRDMA_RULE_A_EXE, r->exe)) ||
	    (r->has_uid && nla_put_u32(skb, SWIFTRDMA_RULE_A_UID,
				       from_kuid(&init_user_ns, r->uid))) ||
	    (r->has_pid && nla_put_u32(skb, SWIFTRDMA_RULE_A_PID, r->pid)) ||
	    nla_put_u64_64bit(skb, SWIFTRDMA_RULE_A_MATCHES, atomic64_read(&r->matches),
			      SWIFTRDMA_RULE_A_PAD)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

#define PUT_STAT(skb, name, value)						\
	nla_put_u64_64bit(skb, SWIFTRDMA_JOB_STAT_A_##name, value,		\
			  SWIFTRDMA_JOB_STAT_A_PAD)

static int put_mrs(struct sk_buff *skb, const struct srdma_dev *dev,
		   const struct srdma_mr_sum *sum)
{
	u64 smallest, largest;

	if (nla_put_u32(skb, SWIFTRDMA_JOB_STAT_A_MRS, sum->n) ||
	    PUT_STAT(skb, MR_BYTES, sum->bytes))
		return -EMSGSIZE;
	if (srdma_mr_askable(dev) &&
	    (PUT_STAT(skb, MTTS, sum->mtts) ||
	     nla_put_u32(skb, SWIFTRDMA_JOB_STAT_A_MTTS_UNKNOWN, sum->unasked)))
		return -EMSGSIZE;
	if (srdma_mr_pages(sum, &smallest, &largest) &&
	    (PUT_STAT(skb, MR_PAGE_MIN, smallest) || PUT_STAT(skb, MR_PAGE_MAX, largest)))
		return -EMSGSIZE;
	return 0;
}

static int put_stat(struct sk_buff *skb, struct srdma_dev *dev, struct srdma_job_dev *jd)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_JOB_A_STAT);
	u32 caps = dev->caps;
	struct srdma_job_stat st;

	if (!nest)
		return -EMSGSIZE;
	srdma_job_stat(jd, &st);
	if (nla_put_u32(skb, SWIFTRDMA_JOB_STAT_A_DEV_INDEX, dev->index) ||
	    nla_put_u32(skb, SWIFTRDMA_JOB_STAT_A_QPS, st.qps) ||
	    PUT_STAT(skb, CREATED, st.created) ||
	    PUT_STAT(skb, DESTROYED, st.destroyed) ||
	    PUT_STAT(skb, MOVED, st.moved) ||
	    PUT_STAT(skb, REJECTED, st.rejected))
		return -EMSGSIZE;
	/* A sum over user QPs that are not counted would be no sum. */
	if (caps & SWIFTRDMA_DEV_CAP_DOORBELLS && PUT_STAT(skb, DOORBELLS, st.doorbells))
		return -EMSGSIZE;
	if (caps & SWIFTRDMA_DEV_CAP_WRS && PUT_STAT(skb, WRS, st.wrs))
		return -EMSGSIZE;
	if (st.level >= 0 && nla_put_u32(skb, SWIFTRDMA_JOB_STAT_A_LEVEL, st.level))
		return -EMSGSIZE;
	if (st.max_qps != SRDMA_NO_LIMIT && PUT_STAT(skb, MAX_QPS, st.max_qps))
		return -EMSGSIZE;
	if (st.create_rate != SRDMA_NO_LIMIT && PUT_STAT(skb, CREATE_RATE, st.create_rate))
		return -EMSGSIZE;
	if (st.bit_rate && PUT_STAT(skb, BIT_RATE, st.bit_rate))
		return -EMSGSIZE;
	if (st.weight && nla_put_u32(skb, SWIFTRDMA_JOB_STAT_A_WEIGHT, st.weight))
		return -EMSGSIZE;
	if (put_mrs(skb, dev, &st.mr) ||
	    PUT_STAT(skb, CREATES, st.creates) ||
	    PUT_STAT(skb, MODIFIES, st.modifies) ||
	    PUT_STAT(skb, COMMANDS, st.commands) ||
	    PUT_STAT(skb, COMMAND_TIME, st.command_ns))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_stats(struct sk_buff *skb, const struct srdma_job *job,
		     const struct srdma_reader *who)
{
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev) {
		jd = xa_load(&dev->jobs, job->id);
		if (jd && srdma_reader_sees(who, dev) && put_stat(skb, dev, jd))
			return -EMSGSIZE;
	}
	return 0;
}

/*
 * A job with its rules from number *@rule on. -EMSGSIZE: it does not fit, and
 * *@rule is the first of the rest; what is there is whole, if that moved.
 */
static int fill_job(struct sk_buff *skb, const struct srdma_job *job,
		    const struct srdma_reader *who, unsigned long *rule)
{
	struct nlattr *nest = nla_nest_start(skb, SWIFTRDMA_A_JOB_OBJ);
	const struct srdma_rule *r;
	unsigned long i = 0;
	int ret = 0;

	lockdep_assert_held(&srdma_ctl_lock);
	if (!nest ||
	    nla_put_u32(skb, SWIFTRDMA_JOB_A_ID, job->id) ||
	    nla_put_string(skb, SWIFTRDMA_JOB_A_NAME, job->name) ||
	    nla_put_u32(skb, SWIFTRDMA_JOB_A_CLASS, job->class) ||
	    nla_put_u64_64bit(skb, SWIFTRDMA_JOB_A_SINCE, job->since,
			      SWIFTRDMA_JOB_A_PAD) ||
	    nla_put_u64_64bit(skb, SWIFTRDMA_JOB_A_TIME, ktime_get_ns(),
			      SWIFTRDMA_JOB_A_PAD) ||
	    put_stats(skb, job, who))
		return -EMSGSIZE;
	list_for_each_entry(r, &job->rules, job_node) {
		if (i++ < *rule)
			continue;
		ret = put_rule(skb, r);
		if (ret)
			break;
		(*rule)++;
	}
	nla_nest_end(skb, nest);
	return ret;
}

/* The answer is as long as the job's rules make it. */
static int job_reply(struct sk_buff **reply, struct genl_info *info,
		     const struct srdma_job *job, const struct srdma_reader *who)
{
	unsigned long rule;
	size_t size;
	void *hdr;

	for (size = NLMSG_GOODSIZE; size <= JOB_MSG_MAX; size *= 2) {
		*reply = genlmsg_new(size, GFP_KERNEL);
		if (!*reply)
			return -ENOMEM;
		rule = 0;
		hdr = genlmsg_put_reply(*reply, info, &srdma_genl_family, 0,
					SWIFTRDMA_CMD_JOB_GET);
		if (hdr && !fill_job(*reply, job, who, &rule)) {
			genlmsg_end(*reply, hdr);
			return 0;
		}
		nlmsg_free(*reply);
	}
	GENL_SET_ERR_MSG(info, "more rules than one message holds: ask for a dump");
	return -EMSGSIZE;
}

int srdma_job_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *name = info->attrs[SWIFTRDMA_A_JOB];
	struct srdma_reader who = srdma_reader_of(skb);
	struct srdma_job *job;
	struct sk_buff *reply;
	int ret;

	ret = srdma_need_admin(&who, info->extack);
	if (!ret)
		ret = srdma_refuse_twice(nlmsg_attrdata(info->nlhdr, GENL_HDRLEN),
					 nlmsg_attrlen(info->nlhdr, GENL_HDRLEN), 0,
					 info->extack);
	if (ret)
		return ret;
	if (!name)
		return srdma_missing(info->extack, NULL, SWIFTRDMA_A_JOB,
				     "which job? JOB is missing");

	if (!info->attrs[SWIFTRDMA_A_CACHED])
		srdma_refresh_all(srdma_refreshed_by(SWIFTRDMA_CMD_JOB_GET), true);
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	job = srdma_job_find(nla_data(name));
	if (job) {
		ret = job_reply(&reply, info, job, &who);
	} else {
		NL_SET_ERR_MSG_ATTR(info->extack, name, "no such job");
		ret = -ENOENT;
	}
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	return ret ?: genlmsg_reply(reply, info);
}

/*
 * A job that no empty message holds, for it has rules of many origins, goes on
 * in the next under the same id; only the rules are not repeated.
 */
static int dump_job(struct sk_buff *skb, struct netlink_callback *cb,
		    struct srdma_dump *d, const struct srdma_job *job)
{
	bool alone = !skb->len;
	unsigned long rule = d->sub;
	void *hdr;
	int ret;

	hdr = srdma_dump_put(skb, cb, SWIFTRDMA_CMD_JOB_GET);
	ret = hdr ? fill_job(skb, job, &d->who, &rule) : -EMSGSIZE;
	if (!ret || (alone && rule > d->sub)) {
		genlmsg_end(skb, hdr);
		d->sub = rule;
	} else {
		genlmsg_cancel(skb, hdr);
	}
	return ret;
}

/* In order of id, which is that of the list: younger ones are at its end. */
static int dump_jobs(struct sk_buff *skb, struct netlink_callback *cb,
		     struct srdma_dump *d)
{
	struct srdma_job *job;
	int ret = 0;

	mutex_lock(&srdma_ctl_lock);
	list_for_each_entry(job, &srdma_jobs, node) {
		if (job->id < d->key || (srdma_filter_has(&d->f, SWIFTRDMA_A_JOB) &&
					 job->id != d->f.job))
			continue;
		if (job->id != d->key) {
			d->key = job->id;
			d->sub = 0;
		}
		ret = dump_job(skb, cb, d, job);
		if (ret)
			break;
		d->count++;
		d->key = job->id + 1;
		d->sub = 0;
	}
	mutex_unlock(&srdma_ctl_lock);
	return ret;
}

int srdma_job_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return srdma_dump_run(skb, cb, true, dump_jobs);
}

/* LEVEL_GET */

static int dump_levels(struct sk_buff *skb, struct netlink_callback *cb,
		       struct srdma_dump *d)
{
	struct srdma_level level;
	struct nlattr *nest;
	void *hdr;

	for (; d->key <= SWIFTRDMA_LEVEL_MAX; d->key++) {
		level = srdma_level_get(d->key);
		if (!srdma_level_is_set(&level))
			continue;
		hdr = srdma_dump_put(skb, cb, SWIFTRDMA_CMD_LEVEL_GET);
		nest = hdr ? nla_nest_start(skb, SWIFTRDMA_A_LEVEL) : NULL;
		if (!nest ||
		    nla_put_u32(skb, SWIFTRDMA_LEVEL_A_LEVEL, d->key) ||
		    (level.has_dscp &&
		     nla_put_u32(skb, SWIFTRDMA_LEVEL_A_DSCP, level.dscp)) ||
		    (level.has_sl && nla_put_u32(skb, SWIFTRDMA_LEVEL_A_SL, level.sl))) {
			genlmsg_cancel(skb, hdr);
			return -EMSGSIZE;
		}
		nla_nest_end(skb, nest);
		genlmsg_end(skb, hdr);
		d->count++;
	}
	return 0;
}

int srdma_level_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return srdma_dump_run(skb, cb, true, dump_levels);
}
