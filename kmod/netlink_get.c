// SPDX-License-Identifier: GPL-2.0
/*
 * The commands that read one object, or all objects that the reader may see. The table at
 * the end has for each command the permission that it needs and the functions that find its
 * objects.
 */
#include <linux/ktime.h>
#include <rdma/ib_verbs.h>

#include "class.h"
#include "find.h"
#include "netlink_priv.h"
#include "path.h"
#include "share.h"

/* A nest's length has 16 bits, so no answer about one job can be longer. */
#define JOB_MSG_MAX	SZ_64K

struct srdma_dev *srdma_hold_named_dev(struct srdma_filter *f, const struct srdma_reader *who,
				       struct genl_info *info)
{
	struct srdma_dev *dev;
	int ret;

	down_read(&srdma_devs_sem);
	ret = srdma_filter_parse(f, info->attrs, who, info->extack);
	dev = ret ? ERR_PTR(ret) : srdma_filter_dev(f, info->extack);
	if (!IS_ERR(dev))
		srdma_dev_get(dev);
	up_read(&srdma_devs_sem);
	return dev;
}

/* A do request for an object of a device. */
int srdma_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct srdma_get *get = &srdma_gets[info->genlhdr->cmd];
	struct srdma_reader who = srdma_reader_of(skb);
	struct srdma_filter f;
	struct srdma_dev *dev;
	struct srdma_msg m;
	int ret;

	ret = srdma_refuse_twice(info->nlhdr, 0, info->extack);
	if (ret)
		return ret;
	dev = srdma_hold_named_dev(&f, &who, info);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (!info->attrs[SWIFTRDMA_A_CACHED])
		srdma_refresh(dev, srdma_get_kinds(get, info->attrs), who.admin);
	ret = srdma_reply_begin(&m, info, GENLMSG_DEFAULT_SIZE);
	if (ret)
		goto out;
	down_read(&srdma_devs_sem);
	if (srdma_dev_is_there(dev)) {
		ret = get->one(&m, dev, &f, &who, info);
	} else {
		NL_SET_ERR_MSG(info->extack, "the device has just gone");
		ret = -ENODEV;
	}
	up_read(&srdma_devs_sem);
	ret = srdma_reply_end(&m, info, ret);
out:
	srdma_dev_put(dev);
	return ret;
}

/* DEV_GET */

static int get_dev(struct srdma_msg *m, struct srdma_dev *dev, struct srdma_filter *f,
		   const struct srdma_reader *who, struct genl_info *info)
{
	srdma_fill_dev(m, dev, ktime_get_ns());
	return 0;
}

static int dump_dev(struct srdma_dump *d, struct srdma_dev *dev)
{
	struct srdma_msg m;

	srdma_dump_msg(&m, d);
	srdma_fill_dev(&m, dev, ktime_get_ns());
	return srdma_dump_msg_end(&m, d);
}

/* PORT_GET */

static int get_port(struct srdma_msg *m, struct srdma_dev *dev, struct srdma_filter *f,
		    const struct srdma_reader *who, struct genl_info *info)
{
	struct srdma_port_stat st;
	int ret;

	if (!srdma_filter_has(f, SWIFTRDMA_A_PORT))
		return srdma_missing(info->extack, NULL, SWIFTRDMA_A_PORT,
				     "which port? PORT is missing");
	if (!rdma_is_port_valid(dev->ibdev, f->port)) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SWIFTRDMA_A_PORT],
				    "the device has no such port");
		return -ENOENT;
	}
	ret = srdma_port_stat(dev, f->port, &st);
	if (ret == -EAGAIN)
		NL_SET_ERR_MSG(info->extack, "the ports of the device have not been read yet");
	else if (ret)
		NL_SET_ERR_MSG(info->extack, "the driver cannot tell the port's state");
	else
		srdma_fill_port(m, dev, f->port, &st);
	return ret;
}

static int dump_ports(struct srdma_dump *d, struct srdma_dev *dev)
{
	struct srdma_port_stat st;
	struct srdma_msg m;
	u32 port;
	int ret;

	rdma_for_each_port(dev->ibdev, port) {
		if (port < d->key || (srdma_filter_has(&d->f, SWIFTRDMA_A_PORT) &&
				      port != d->f.port))
			continue;
		d->key = port;
		/*
		 * Skip a port that its driver cannot read, or has not read yet: the others
		 * are still shown.
		 */
		if (srdma_port_stat(dev, port, &st))
			continue;
		srdma_dump_msg(&m, d);
		srdma_fill_port(&m, dev, port, &st);
		ret = srdma_dump_msg_end(&m, d);
		if (ret)
			return ret;
	}
	return 0;
}

/* UAR_GET */

static int get_uar(struct srdma_msg *m, struct srdma_dev *dev, struct srdma_filter *f,
		   const struct srdma_reader *who, struct genl_info *info)
{
	struct srdma_uar *u;
	int ret = 0;

	if (!srdma_filter_has(f, SWIFTRDMA_A_UAR))
		return srdma_missing(info->extack, NULL, SWIFTRDMA_A_UAR,
				     "which UAR? UAR is missing");
	rcu_read_lock();
	u = xa_load(srdma_dev_uar_table(dev), f->uar);
	/* A reader must not learn whether another user's UAR exists. */
	if (u && srdma_reader_owns(who, u->owner)) {
		srdma_fill_uar(m, u, who, srdma_counted_at(dev), NULL);
	} else {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SWIFTRDMA_A_UAR],
				    "no such UAR, or not yours");
		ret = -ENOENT;
	}
	rcu_read_unlock();
	return ret;
}

static int dump_uars(struct srdma_dump *d, struct srdma_dev *dev)
{
	struct xarray *uars = srdma_dev_uar_table(dev);
	u64 now = srdma_counted_at(dev);
	struct srdma_uar *u;
	struct srdma_msg m;
	int ret = 0;

	rcu_read_lock();
	for (u = xa_find(uars, &d->key, ULONG_MAX, XA_PRESENT); u;
	     u = xa_find_after(uars, &d->key, ULONG_MAX, XA_PRESENT)) {
		if (!srdma_reader_owns(&d->who, u->owner) ||
		    (srdma_filter_has(&d->f, SWIFTRDMA_A_UAR) && u->index != d->f.uar))
			continue;
		srdma_dump_msg(&m, d);
		srdma_fill_uar(&m, u, &d->who, now, NULL);
		ret = srdma_dump_msg_end(&m, d);
		if (ret)
			break;
	}
	rcu_read_unlock();
	return ret;
}

/* QP_GET */

/* Is there a filter that the walk itself does not check? */
static bool qp_filtered(const struct srdma_filter *f)
{
	return f->has & ~(BIT(SWIFTRDMA_A_DEV_INDEX) | BIT(SWIFTRDMA_A_SINCE));
}

/* Does the QP match the filters? RCU section, and a reference on the QP. */
static bool qp_matches(const struct srdma_qp *q, const struct srdma_filter *f,
		       const struct srdma_reader *who)
{
	const struct srdma_job_dev *jd;
	const struct srdma_uar *uar;

	if (!who->admin && !srdma_reader_owns(who, q->owner))
		return false;
	if (!qp_filtered(f))
		return true;
	if (srdma_filter_has(f, SWIFTRDMA_A_PORT) && READ_ONCE(q->port) != f->port)
		return false;
	if (srdma_filter_has(f, SWIFTRDMA_A_UAR)) {
		uar = srdma_qp_uar(q);
		if (!uar || uar->index != f->uar)
			return false;
	}
	if (srdma_filter_has(f, SWIFTRDMA_A_QPN) && q->qpn != f->qpn)
		return false;
	if (srdma_filter_has(f, SWIFTRDMA_A_PID) &&
	    pid_nr_ns(q->owner->pid, who->pid_ns) != f->pid)
		return false;
	if (srdma_filter_has(f, SWIFTRDMA_A_JOB)) {
		jd = rcu_dereference(q->job);
		if (!jd || jd->job->id != f->job)
			return false;
	}
	return true;
}

/* Refuse a do request that has a filter of dumps, or does not name a QP. */
static int check_qp_request(const struct srdma_filter *f, struct genl_info *info)
{
	static const u16 dump_only[] = {
		SWIFTRDMA_A_PID, SWIFTRDMA_A_JOB, SWIFTRDMA_A_SINCE,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(dump_only); i++) {
		if (!info->attrs[dump_only[i]])
			continue;
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[dump_only[i]],
				    "a filter of dumps only");
		return -EINVAL;
	}
	if (!srdma_filter_has(f, SWIFTRDMA_A_QPN))
		return srdma_missing(info->extack, NULL, SWIFTRDMA_A_QPN,
				     "which QP? QPN is missing");
	if (f->qpn <= SRDMA_LAST_SPECIAL_QPN && !srdma_filter_has(f, SWIFTRDMA_A_PORT))
		return srdma_missing(info->extack, NULL, SWIFTRDMA_A_PORT,
				     "every port has QPs 0 and 1: PORT is missing");
	return 0;
}

static int get_qp(struct srdma_msg *m, struct srdma_dev *dev, struct srdma_filter *f,
		  const struct srdma_reader *who, struct genl_info *info)
{
	struct srdma_qp *q;
	u32 key = f->qpn;
	int ret;

	ret = check_qp_request(f, info);
	if (ret)
		return ret;
	if (f->qpn <= SRDMA_LAST_SPECIAL_QPN) {
		key |= (u32)f->port << 24;
		f->has &= ~BIT(SWIFTRDMA_A_PORT);	/* the key contains the port */
	}
	q = srdma_qp_get_by_key(dev, key);
	rcu_read_lock();
	if (q && qp_matches(q, f, who)) {
		srdma_fill_qp(m, q, who, srdma_counted_at(dev));
	} else {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SWIFTRDMA_A_QPN],
				    "no such QP, or not yours");
		ret = -ENOENT;
	}
	rcu_read_unlock();
	srdma_qp_put(q);
	return ret;
}

static int dump_qp(struct srdma_qp *q, void *arg)
{
	struct srdma_dump *d = arg;
	/* Without SINCE the filter is 0, so every QP has changed. */
	bool changed = atomic64_read(&q->stamp) >= d->f.since;
	struct srdma_msg m;
	int ret = 0;

	if (!srdma_qp_hold(q))
		return 0;
	if (!qp_matches(q, &d->f, &d->who))
		goto out;
	if (!changed) {
		d->count++;
		goto out;
	}
	srdma_dump_msg(&m, d);
	srdma_fill_qp(&m, q, &d->who, d->counted_at);
	ret = srdma_dump_msg_end(&m, d);
out:
	srdma_qp_put(q);
	return ret;
}

static int dump_qps(struct srdma_dump *d, struct srdma_dev *dev)
{
	u64 since = 0;

	d->counted_at = srdma_counted_at(dev);
	/* If the filters let every QP pass, the walk itself counts and skips unchanged ones. */
	if (d->who.admin && !qp_filtered(&d->f))
		since = d->f.since;
	return srdma_walk_qps(dev, &d->key, since, &d->count, dump_qp, d);
}

/* JOB_GET */

int srdma_job_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *name = info->attrs[SWIFTRDMA_A_JOB];
	struct srdma_reader who = srdma_reader_of(skb);
	struct srdma_job *job;
	size_t size = NLMSG_GOODSIZE;
	struct srdma_msg m;
	unsigned long rule;
	int ret;

	ret = srdma_need_admin(&who, info->extack);
	if (!ret)
		ret = srdma_refuse_twice(info->nlhdr, 0, info->extack);
	if (ret)
		return ret;
	if (!name)
		return srdma_missing(info->extack, NULL, SWIFTRDMA_A_JOB,
				     "which job? JOB is missing");
	if (!info->attrs[SWIFTRDMA_A_CACHED])
		srdma_refresh_all(srdma_gets[SWIFTRDMA_CMD_JOB_GET].refresh, true);
again:
	ret = srdma_reply_begin(&m, info, size);
	if (ret)
		return ret;
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	job = srdma_job_find(nla_data(name));
	rule = 0;
	if (!job) {
		NL_SET_ERR_MSG_ATTR(info->extack, name, "no such job");
		ret = -ENOENT;
	} else if (!srdma_fill_job(&m, job, &who, &rule)) {
		ret = -EMSGSIZE;
	}
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	if (ret == -EMSGSIZE && 2 * size <= JOB_MSG_MAX) {
		/* The answer's length depends on the job's rules: retry with a larger buffer. */
		nlmsg_free(m.skb);
		size *= 2;
		goto again;
	}
	if (ret == -EMSGSIZE)
		GENL_SET_ERR_MSG(info, "more rules than one message holds: ask for a dump");
	return srdma_reply_end(&m, info, ret);
}

/*
 * A job whose rules do not fit an empty message goes on in the next message under the
 * same id, with the rest of its rules.
 */
static int dump_job(struct srdma_dump *d, const struct srdma_job *job)
{
	bool alone = !d->skb->len, all;
	unsigned long rule = d->sub;
	struct srdma_msg m;
	int ret;

	srdma_dump_msg(&m, d);
	all = srdma_fill_job(&m, job, &d->who, &rule);
	if (!all && !(alone && rule > d->sub))
		m.full = true;
	ret = srdma_msg_end(&m);
	if (ret)
		return ret;
	d->sub = rule;
	return all ? 0 : -EMSGSIZE;
}

/* The list is in order of id. */
static int dump_jobs(struct srdma_dump *d)
{
	struct srdma_job *job;
	int ret = 0;

	mutex_lock(&srdma_ctl_lock);
	list_for_each_entry(job, &srdma_jobs, node) {
		if (job->id < d->key || (srdma_filter_has(&d->f, SWIFTRDMA_A_JOB) &&
					 job->id != d->f.job))
			continue;
		srdma_dump_seek(d, job->id);
		ret = dump_job(d, job);
		if (ret)
			break;
		d->count++;
		srdma_dump_seek(d, job->id + 1);
	}
	mutex_unlock(&srdma_ctl_lock);
	return ret;
}

/* LEVEL_GET */

static int dump_levels(struct srdma_dump *d)
{
	struct srdma_level level;
	struct srdma_msg m;
	int ret;

	for (; d->key <= SWIFTRDMA_LEVEL_MAX; d->key++) {
		level = srdma_level_get(d->key);
		if (!srdma_level_is_set(&level))
			continue;
		srdma_dump_msg(&m, d);
		srdma_fill_level(&m, d->key, &level);
		ret = srdma_dump_msg_end(&m, d);
		if (ret)
			return ret;
	}
	return 0;
}

/* ACTION_GET: overrides, and QPs that do not have what an override wants */

static int dump_lease(struct srdma_dump *d, const struct srdma_lease *l)
{
	struct srdma_override *o;
	struct srdma_msg m;
	int ret;

	list_for_each_entry(o, &l->overrides, node) {
		if (o->id < d->sub)
			continue;
		d->sub = o->id;
		srdma_dump_msg(&m, d);
		srdma_fill_override(&m, o);
		ret = srdma_dump_msg_end(&m, d);
		if (ret)
			return ret;
		d->sub++;
	}
	return 0;
}

static int dump_leases(struct srdma_dump *d)
{
	struct srdma_lease *l;
	int ret = 0;

	mutex_lock(&srdma_ctl_lock);
	list_for_each_entry(l, &srdma_leases, node) {
		if (l->id < d->key)
			continue;
		srdma_dump_seek(d, l->id);
		ret = dump_lease(d, l);
		if (ret)
			break;
		srdma_dump_seek(d, l->id + 1);
	}
	mutex_unlock(&srdma_ctl_lock);
	return ret;
}

/*
 * The knob that the QP waits for, or cannot have; SWIFTRDMA_KNOB_UNSPEC: none. RCU section, or
 * the QP is held.
 */
static int pending_knob(const struct srdma_qp *q, int *err, char why[SRDMA_WHY_LEN])
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	enum srdma_standing s = srdma_class_standing(q);
	u32 syndrome;
	int part;

	*err = srdma_class_why(q, s, why, SRDMA_WHY_LEN);
	/* A QP whose change was never tried is not listed: it is not stuck. */
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
	/* If the device has no element for the job at all, the job's override reports that. */
	if (hw && READ_ONCE(hw->no_element) &&
	    srdma_rate_standing(q, err, &syndrome) == SRDMA_CANNOT) {
		srdma_refusal_text(syndrome, why, SRDMA_WHY_LEN);
		return SWIFTRDMA_KNOB_BIT_RATE;
	}
	return SWIFTRDMA_KNOB_UNSPEC;
}

static int dump_pending_qp(struct srdma_qp *q, void *arg)
{
	struct srdma_dump *d = arg;
	char why[SRDMA_WHY_LEN];
	int ret = 0, knob, err;
	struct srdma_msg m;

	/* Most QPs have what they should have: skip them without taking a reference. */
	if ((!READ_ONCE(q->attempts) && !READ_ONCE(q->class_error) && !srdma_qp_hw(q) &&
	     test_bit(SRDMA_QP_HAS_AV, &q->flags) && !srdma_class_is_futile(q)) ||
	    !srdma_qp_hold(q))
		return 0;
	knob = pending_knob(q, &err, why);
	if (knob != SWIFTRDMA_KNOB_UNSPEC) {
		srdma_dump_msg(&m, d);
		srdma_fill_pending(&m, q, knob, err, why);
		ret = srdma_dump_msg_end(&m, d);
	}
	srdma_qp_put(q);
	return ret;
}

static int dump_pending(struct srdma_dump *d, struct srdma_dev *dev)
{
	return srdma_walk_qps(dev, &d->key, 0, NULL, dump_pending_qp, d);
}

static int dump_actions(struct srdma_dump *d)
{
	int ret;

	if (!d->phase) {
		ret = dump_leases(d);
		if (ret)
			return ret;
		d->phase = 1;
		srdma_dump_seek(d, 0);
	}
	return srdma_dump_devs(d, dump_pending);
}

const struct srdma_get srdma_gets[SWIFTRDMA_CMD_MAX + 1] = {
	[SWIFTRDMA_CMD_DEV_GET] = {
		.refresh = BIT(SRDMA_REFRESH_DEV) | BIT(SRDMA_REFRESH_MRS),
		.one = get_dev, .dump_dev = dump_dev,
	},
	[SWIFTRDMA_CMD_PORT_GET] = {
		.refresh = BIT(SRDMA_REFRESH_PORTS),
		.one = get_port, .dump_dev = dump_ports,
	},
	[SWIFTRDMA_CMD_UAR_GET] = {
		.refresh = BIT(SRDMA_REFRESH_QPS),
		.one = get_uar, .dump_dev = dump_uars,
	},
	[SWIFTRDMA_CMD_QP_GET] = {
		.refresh = BIT(SRDMA_REFRESH_QPS),
		.one = get_qp, .dump_dev = dump_qps,
	},
	[SWIFTRDMA_CMD_JOB_GET] = {
		.admin = true,
		.refresh = BIT(SRDMA_REFRESH_QPS) | BIT(SRDMA_REFRESH_MRS),
		.dump = dump_jobs,
	},
	[SWIFTRDMA_CMD_ACTION_GET] = { .admin = true, .dump = dump_actions },
	[SWIFTRDMA_CMD_LEVEL_GET] = { .admin = true, .dump = dump_levels },
	[SWIFTRDMA_CMD_REPORT_GET] = {
		.collect = srdma_collect_reports, .dump = srdma_dump_reports,
	},
};
