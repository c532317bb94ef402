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

#define S(name, member, ...) \
	SRDMA_ATTR(SWIFTRDMA_REPORT_A_##name, srdma_share_slot, member, __VA_ARGS__)
static const struct srdma_attr slot_rows[] = {
	S(QPN, qpn),
	S(QP_SERIAL, serial),
	S(FLAGS, flags),
	S(LATENCY_MAX, latency_max),
	S(HOL_MAX, hol_max),
	S(NOW_QPN, now_qpn, .when = SRDMA_ATTR_NONZERO),
};

static const struct srdma_attr_set slot_attrs = SRDMA_ATTR_SET(slot_rows);

static bool reader_owns(const struct srdma_owner *owner, const void *who)
{
	return srdma_reader_owns(who, owner);
}

/* Reads only the reports of processes that the reader owns; with CAP_NET_ADMIN, all. */
void srdma_collect_reports(const struct srdma_reader *who)
{
	srdma_shares_collect(NULL, reader_owns, who);
}

static void fill_held(struct srdma_msg *m, const struct srdma_job_dev *jd, u32 knob)
{
	int share_knob = srdma_share_knob_of(knob);
	const struct srdma_held *held = share_knob < SWIFTRDMA_SHARE_HELD ?
					&jd->report->held[share_knob] : NULL;
	const struct srdma_job_report *r = jd->report;
	bool splits = knob == SWIFTRDMA_KNOB_CHUNK;
	struct nlattr *nest;
	u32 able, in_force;

	srdma_knobs_count(jd, share_knob, &able, &in_force);
	if (!able && !(held && held->posts) && !(splits && (r->split || r->whole)))
		return;
	nest = srdma_nest(m, SWIFTRDMA_REPORT_A_HELD);
	srdma_put_u32(m, SWIFTRDMA_HELD_A_KNOB, knob);
	srdma_put_u32(m, SWIFTRDMA_HELD_A_PROCESSES, able);
	srdma_put_u32(m, SWIFTRDMA_HELD_A_IN_FORCE, in_force);
	if (held) {
		srdma_put_u64(m, SWIFTRDMA_HELD_A_POSTS, held->posts);
		srdma_put_u64(m, SWIFTRDMA_HELD_A_WRS, held->wrs);
		srdma_put_u64(m, SWIFTRDMA_HELD_A_TIME, held->ns);
		srdma_put_u64(m, SWIFTRDMA_HELD_A_PASSED, held->passed);
	}
	if (splits) {
		srdma_put_u64(m, SWIFTRDMA_HELD_A_SPLIT, r->split);
		srdma_put_u64(m, SWIFTRDMA_HELD_A_WHOLE, r->whole);
	}
	srdma_nest_end(m, nest);
}

/* The smallest objective that is granted to a process of the job; 0: none is. */
static u64 strictest_slo(const struct srdma_job_report *r)
{
	const struct srdma_share *s;
	u64 slo = U64_MAX;

	list_for_each_entry(s, &r->shares, job_node)
		if (s->slo_p99)
			slo = min(slo, s->slo_p99);
	return slo == U64_MAX ? 0 : slo;
}

/* srdma_ctl_lock, srdma_share_lock. */
static void fill_job_report(struct srdma_msg *m, const struct srdma_job_dev *jd)
{
	const struct srdma_job_report *r = jd->report;
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_REPORT);
	u64 slo_p99;

	srdma_put_u32(m, SWIFTRDMA_REPORT_A_DEV_INDEX, jd->dev->index);
	srdma_put_u32(m, SWIFTRDMA_REPORT_A_JOB, jd->job->id);
	srdma_put_attrs(m, &srdma_report_attrs, r);
	srdma_put_attrs(m, &srdma_reported_attrs, &r->sum);
	if (r->distrusted)
		srdma_put_flag(m, SWIFTRDMA_REPORT_A_DISTRUSTED);
	srdma_put_data(m, SWIFTRDMA_REPORT_A_LATENCY, r->bucket, sizeof(r->bucket));
	srdma_put_u64(m, SWIFTRDMA_REPORT_A_TIME, ktime_get_ns());
	slo_p99 = strictest_slo(r);
	if (slo_p99)
		srdma_put_u64(m, SWIFTRDMA_REPORT_A_SLO_P99, slo_p99);
	fill_held(m, jd, SWIFTRDMA_KNOB_WR_RATE);
	fill_held(m, jd, SWIFTRDMA_KNOB_BIT_RATE);
	fill_held(m, jd, SWIFTRDMA_KNOB_CREDITS);
	fill_held(m, jd, SWIFTRDMA_KNOB_UAR);
	fill_held(m, jd, SWIFTRDMA_KNOB_PLACE);
	fill_held(m, jd, SWIFTRDMA_KNOB_CHUNK);
	fill_held(m, jd, SWIFTRDMA_KNOB_HUGE_PAGES);
	srdma_nest_end(m, nest);
}

/* WRs that were posted and neither completed nor dropped. False: this cannot be known. */
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
	if (s->dev->caps & SWIFTRDMA_DEV_CAP_DOORBELLS)
		srdma_put_u64(m, SWIFTRDMA_REPORT_A_DOORBELLS, slot->doorbells);
	srdma_put_u64(m, SWIFTRDMA_REPORT_A_SINCE, s->attached);
	srdma_put_u64(m, SWIFTRDMA_REPORT_A_TIME, s->collected);
	srdma_nest_end(m, nest);
}

static int dump_job_reports(struct srdma_dump *d, struct srdma_dev *dev)
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
			d->count++;	/* unchanged: counted, but not written */
			continue;
		}
		srdma_dump_msg(&m, d);
		fill_job_report(&m, jd);
		ret = srdma_dump_msg_end(&m, d);
		if (ret)
			return ret;
	}
	return 0;
}

/* Does the slot's QP still exist? */
static bool is_alive(const struct srdma_share *s, const struct srdma_share_slot *slot)
{
	struct srdma_qp *q = slot->serial ? srdma_qp_get_by_key(s->dev, slot->qpn) : NULL;
	bool alive = q && q->serial == slot->serial;

	if (q)
		srdma_qp_put(q);
	return alive;
}

static int dump_slots(struct srdma_dump *d, const struct srdma_share *s)
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
		srdma_dump_msg(&m, d);
		fill_qp_report(&m, s, slot);
		ret = srdma_dump_msg_end(&m, d);
		if (ret)
			return ret;
	}
	return 0;
}

static bool is_to_dump(const struct srdma_dump *d, const struct srdma_share *s)
{
	return srdma_reader_owns(&d->who, s->owner) && srdma_dev_is_there(s->dev) &&
	       srdma_reader_sees(&d->who, s->dev) &&
	       (!srdma_filter_has(&d->f, SWIFTRDMA_A_DEV_INDEX) || d->f.dev == s->dev->index);
}

/* Attachments in order of id; the cursor is the id of the next one. */
static int dump_qp_reports(struct srdma_dump *d)
{
	const struct srdma_share *s;
	unsigned long id;
	int ret = 0;

	do {
		id = d->key;
		mutex_lock(&srdma_share_lock);
		s = xa_find(&srdma_shares, &id, ULONG_MAX, XA_PRESENT);
		if (s)
			srdma_dump_seek(d, id);
		if (s && is_to_dump(d, s))
			ret = dump_slots(d, s);
		if (s && !ret)
			srdma_dump_seek(d, id + 1);
		mutex_unlock(&srdma_share_lock);
	} while (s && !ret);
	return ret;
}

static int dump_jobs(struct srdma_dump *d)
{
	int ret;

	mutex_lock(&srdma_ctl_lock);
	mutex_lock(&srdma_share_lock);
	ret = srdma_dump_devs(d, dump_job_reports);
	mutex_unlock(&srdma_share_lock);
	mutex_unlock(&srdma_ctl_lock);
	return ret;
}

/* Only CAP_NET_ADMIN gets sums of jobs, because a sum contains every process of the job. */
int srdma_dump_reports(struct srdma_dump *d)
{
	int ret = 0;

	if (!d->phase && d->who.admin)
		ret = dump_jobs(d);
	if (!d->phase && !ret) {
		d->phase = 1;
		srdma_dump_seek(d, 0);
	}
	return ret ?: dump_qp_reports(d);
}
