// SPDX-License-Identifier: GPL-2.0
/*
 * REPORT_GET: what libraries in processes reported, by job and device, then by QP.
 */
#include <linux/ktime.h>

#include "figures.h"
#include "find.h"
#include "job.h"
#include "knobs.h"
#include "netlink_priv.h"
#include "share.h"

#define S(name, member) SRDMA_ATTR(SWIFTRDMA_REPORT_A_##name, srdma_share_slot, member)
static const struct srdma_attr slot_rows[] = {
	S(QPN, qpn),
	S(QP_SERIAL, serial),
	S(FLAGS, flags),
	S(LATENCY_MAX, latency_max),
	S(HOL_MAX, hol_max),
};

static const struct srdma_attr_set slot_attrs = SRDMA_ATTR_SET(slot_rows);

static bool reader_owns(const struct srdma_owner *owner, const void *who)
{
	return srdma_reader_owns(who, owner);
}

/* What a reader may not see, it does not cause to be read either. */
void srdma_collect_reports(const struct srdma_reader *who)
{
	srdma_shares_collect(NULL, reader_owns, who);
}

static void fill_held(struct srdma_msg *m, const struct srdma_job_dev *jd, u32 knob)
{
	int place = srdma_share_knob(knob);
	const struct srdma_held *held = &jd->report->held[place];
	struct nlattr *nest;
	u32 able, in_force;

	srdma_knobs_count(jd, place, &able, &in_force);
	if (!able && !held->posts)
		return;
	nest = srdma_nest(m, SWIFTRDMA_REPORT_A_HELD);
	srdma_put_u32(m, SWIFTRDMA_HELD_A_KNOB, knob);
	srdma_put_u32(m, SWIFTRDMA_HELD_A_PROCESSES, able);
	srdma_put_u32(m, SWIFTRDMA_HELD_A_IN_FORCE, in_force);
	srdma_put_u64(m, SWIFTRDMA_HELD_A_POSTS, held->posts);
	srdma_put_u64(m, SWIFTRDMA_HELD_A_WRS, held->wrs);
	srdma_put_u64(m, SWIFTRDMA_HELD_A_TIME, held->ns);
	srdma_put_u64(m, SWIFTRDMA_HELD_A_PASSED, held->passed);
	srdma_nest_end(m, nest);
}

/* srdma_ctl_lock, srdma_share_lock. */
static void fill_job_report(struct srdma_msg *m, const struct srdma_job_dev *jd)
{
	const struct srdma_job_report *r = jd->report;
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_REPORT);

	srdma_put_u32(m, SWIFTRDMA_REPORT_A_DEV_INDEX, jd->dev->index);
	srdma_put_u32(m, SWIFTRDMA_REPORT_A_JOB, jd->job->id);
	srdma_put_attrs(m, &srdma_report_attrs, r);
	srdma_put_attrs(m, &srdma_reported_attrs, &r->sum);
	if (r->distrusted)
		srdma_put_flag(m, SWIFTRDMA_REPORT_A_DISTRUSTED);
	srdma_put_data(m, SWIFTRDMA_REPORT_A_LATENCY, r->bucket, sizeof(r->bucket));
	srdma_put_u64(m, SWIFTRDMA_REPORT_A_TIME, ktime_get_ns());
	fill_held(m, jd, SWIFTRDMA_KNOB_WR_RATE);
	fill_held(m, jd, SWIFTRDMA_KNOB_BIT_RATE);
	fill_held(m, jd, SWIFTRDMA_KNOB_CREDITS);
	srdma_nest_end(m, nest);
}

/* WRs that were posted and of which nothing was heard. False: this cannot be known. */
static bool count_outstanding(const struct srdma_share_slot *slot, u64 *n)
{
	u64 over = slot->sum.done + slot->sum.dropped;

	if (slot->flags & SWIFTRDMA_SLOT_NO_ORDER)
		return false;
	*n = slot->sum.wrs > over ? slot->sum.wrs - over : 0;
	return true;
}

static void fill_qp_report(struct srdma_msg *m, const struct srdma_share *s,
			   const struct srdma_share_slot *slot)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_REPORT);
	u64 wrs;

	srdma_put_u32(m, SWIFTRDMA_REPORT_A_DEV_INDEX, s->dev->index);
	srdma_put_attrs(m, &slot_attrs, slot);
	srdma_put_attrs(m, &srdma_reported_attrs, &slot->sum);
	if (count_outstanding(slot, &wrs))
		srdma_put_u64(m, SWIFTRDMA_REPORT_A_OUTSTANDING, wrs);
	srdma_put_u64(m, SWIFTRDMA_REPORT_A_SINCE, s->attached);
	srdma_put_u64(m, SWIFTRDMA_REPORT_A_TIME, s->collected);
	srdma_nest_end(m, nest);
}

static int dump_job_reports(struct sk_buff *skb, struct netlink_callback *cb,
			    struct srdma_dump *d, struct srdma_dev *dev)
{
	struct srdma_job_dev *jd;
	struct srdma_msg m;
	unsigned long id;
	int ret;

	xa_for_each_start(&dev->jobs, id, jd, d->key) {
		d->key = id;
		if (!jd->report)
			continue;
		if (jd->report->stamp < d->f.since) {
			d->count++;	/* not written, but there */
			continue;
		}
		srdma_dump_msg(&m, skb, cb);
		fill_job_report(&m, jd);
		ret = srdma_dump_msg_end(&m, d);
		if (ret)
			return ret;
	}
	return 0;
}

/* Is the QP still there that the slot was of? */
static bool is_alive(const struct srdma_share *s, const struct srdma_share_slot *slot)
{
	struct srdma_qp *q = slot->serial ? srdma_qp_get_by_key(s->dev, slot->qpn) : NULL;
	bool alive = q && q->serial == slot->serial;

	if (q)
		srdma_qp_put(q);
	return alive;
}

static int dump_slots(struct sk_buff *skb, struct netlink_callback *cb, struct srdma_dump *d,
		      const struct srdma_share *s)
{
	const struct srdma_share_slot *slot;
	struct srdma_msg m;
	int ret;

	for (; d->sub < s->slots; d->sub++) {
		slot = &s->slot[d->sub];
		if (!slot->generation || !is_alive(s, slot))
			continue;
		if (slot->stamp < d->f.since) {
			d->count++;
			continue;
		}
		srdma_dump_msg(&m, skb, cb);
		fill_qp_report(&m, s, slot);
		ret = srdma_dump_msg_end(&m, d);
		if (ret)
			return ret;
	}
	return 0;
}

/* Attachments in order of id; the cursor is the id of the next one. */
static int dump_qp_reports(struct sk_buff *skb, struct netlink_callback *cb,
			   struct srdma_dump *d)
{
	const struct srdma_share *s;
	int ret;

	list_for_each_entry(s, &srdma_shares, node) {
		if (s->id < d->key || !srdma_reader_owns(&d->who, s->owner) ||
		    !srdma_dev_is_there(s->dev) || !srdma_reader_sees(&d->who, s->dev) ||
		    (srdma_filter_has(&d->f, SWIFTRDMA_A_DEV_INDEX) &&
		     d->f.dev != s->dev->index))
			continue;
		if (s->id != d->key) {
			d->key = s->id;
			d->sub = 0;
		}
		ret = dump_slots(skb, cb, d, s);
		if (ret)
			return ret;
		d->key = s->id + 1;
		d->sub = 0;
	}
	return 0;
}

/* Sums of jobs are for those who see every process of them. */
int srdma_dump_reports(struct sk_buff *skb, struct netlink_callback *cb, struct srdma_dump *d)
{
	int ret = 0;

	mutex_lock(&srdma_ctl_lock);
	mutex_lock(&srdma_share_lock);
	if (!d->phase) {
		if (d->who.admin)
			ret = srdma_dump_devs(skb, cb, d, dump_job_reports);
		if (!ret) {
			d->phase = 1;
			d->key = 0;
			d->sub = 0;
		}
	}
	if (!ret)
		ret = dump_qp_reports(skb, cb, d);
	mutex_unlock(&srdma_share_lock);
	mutex_unlock(&srdma_ctl_lock);
	return ret;
}
