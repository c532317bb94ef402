// SPDX-License-Identifier: GPL-2.0
/*
 * Reports of libraries in processes: read, bounded, added up. Nothing in a report is
 * trusted. A figure is read once, counts only if it has grown, and grows by no more than
 * any NIC could do in the time since the last look. So what a process invents falsifies
 * its own job's sums, within those bounds, and nothing else.
 */
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "find.h"
#include "job.h"
#include "knobs.h"
#include "share.h"

/*
 * Bounds on growth. A ConnectX-7 does 0.2 WRs and 50 bytes a ns; several times that, so that
 * nothing real is cut. Each WR that is outstanding adds a ns to the sums of times for
 * each ns; a million of them is more than applications have.
 */
#define WRS_PER_NS	1
#define BYTES_PER_NS	1024
#define OUTSTANDING_MAX	BIT_ULL(20)
/* Threads of a process that knobs hold at the same time; more than applications have. */
#define WAITERS_MAX	BIT_ULL(16)
/*
 * A sample reported now may stand for requests from before the last look, so each bound
 * allows this much more time.
 */
#define BURST_NS	(10 * NSEC_PER_MSEC)
/* The most that one request moves (InfiniBand Architecture Specification, volume 1, 9.4.2). */
#define BYTES_PER_WR	SZ_2G

#define SLOT_FLAGS	(SWIFTRDMA_SLOT_DEAD | SWIFTRDMA_SLOT_NO_ORDER |	\
			 SWIFTRDMA_SLOT_ERROR | SWIFTRDMA_SLOT_WR_API | \
			 SWIFTRDMA_SLOT_CHUNK | SWIFTRDMA_SLOT_FIXED | \
			 SWIFTRDMA_SLOT_DOMAIN)
#define QPN_MAX		0xffffff
/* Slots that are read before others may run. */
#define READ_BATCH	256

/* What a slot says, each field read once. */
struct slot_copy {
	u64 generation;
	u32 qpn, flags, now_qpn, uar_state, uar_qpn;
	struct srdma_figures f;
	u64 latency_max, hol_max;
};

/* Read, once, a u64 that a process may change at any time. */
static u64 read_figure(const u64 *p)
{
	return READ_ONCE(*p);
}

static u64 add_bounded(u64 a, u64 b)
{
	u64 sum;

	return check_add_overflow(a, b, &sum) ? U64_MAX : sum;
}

static u64 mul_bounded(u64 a, u64 b)
{
	u64 product;

	return check_mul_overflow(a, b, &product) ? U64_MAX : product;
}

static u64 what_is_left(u64 of, u64 used)
{
	return of > used ? of - used : 0;
}

/*
 * The most that each figure of @have may grow by at @now: by what a NIC could have done since
 * @from, when the last look began, and in all by what it could since @attached. The first bound
 * alone would cut true figures at two looks in quick succession, because a sample's weight is
 * counted as a whole. The second alone would let an idle process save up growth for years.
 */
static void bound_growth(struct srdma_figures *most, const struct srdma_figures *have,
			 u64 from, u64 attached, u64 now)
{
	u64 look = now - from + BURST_NS, age = now - attached, *m = (u64 *)most, i;
	const u64 *h = (const u64 *)have;
	u64 times = mul_bounded(age, OUTSTANDING_MAX);

	for (i = 0; i < SRDMA_FIGURES; i++)
		m[i] = min(look * WRS_PER_NS, what_is_left(age * WRS_PER_NS, h[i]));
	most->bytes = min(mul_bounded(look, BYTES_PER_NS),
			  what_is_left(mul_bounded(age, BYTES_PER_NS), have->bytes));
	/* A wait is counted as a whole at its end. */
	most->latency_ns = what_is_left(times, have->latency_ns);
	most->hol_ns = what_is_left(times, have->hol_ns);
}

/* A figure that the thread which owns a queue and all other threads count apart. */
static u64 read_both(const u64 *owner, const u64 *others)
{
	return add_bounded(read_figure(owner), read_figure(others));
}

/* False: it is unused, or its process is about to use it for another QP. */
static bool read_slot(const struct swiftrdma_slot *slot, struct slot_copy *copy)
{
	const struct swiftrdma_posted *p0 = &slot->post_owner, *p1 = &slot->post_others;
	const struct swiftrdma_polled *d0 = &slot->poll_owner, *d1 = &slot->poll_others;
	struct srdma_figures *f = &copy->f;

	/* Pairs with the store-release by which the process finishes a slot's identity. */
	copy->generation = smp_load_acquire(&slot->id.generation);
	if (!copy->generation)
		return false;
	copy->qpn = READ_ONCE(slot->id.qpn);
	copy->flags = READ_ONCE(slot->id.flags) & SLOT_FLAGS;
	/* Pairs with the process's store-release: the state answers this value, or a later one. */
	copy->uar_qpn = smp_load_acquire(&slot->id.uar_qpn);
	copy->uar_state = READ_ONCE(slot->id.uar_state);
	copy->now_qpn = READ_ONCE(slot->id.now_qpn);
	f->wrs = read_both(&p0->wrs, &p1->wrs);
	f->calls = read_both(&p0->calls, &p1->calls);
	f->bytes = read_both(&p0->bytes, &p1->bytes);
	f->recv_wrs = read_both(&p0->recv_wrs, &p1->recv_wrs);
	f->done = read_both(&d0->wrs, &d1->wrs);
	f->dropped = read_both(&d0->dropped, &d1->dropped);
	f->errors = read_both(&d0->errors, &d1->errors);
	f->samples = read_figure(&slot->latency.samples);
	f->latency_wrs = read_figure(&slot->latency.wrs);
	f->latency_ns = read_figure(&slot->latency.sum_ns);
	f->hol_wrs = read_figure(&slot->hol.wrs);
	f->hol_ns = read_figure(&slot->hol.sum_ns);
	copy->latency_max = read_figure(&slot->latency.max_ns);
	copy->hol_max = read_figure(&slot->hol.max_ns);
	smp_rmb();	/* all of it is of this generation */
	return READ_ONCE(slot->id.generation) == copy->generation;
}

/* Read the sums of QPs that have no slot any more, and the latencies of all QPs. */
static void read_header(const struct swiftrdma_report *r, struct srdma_figures *f)
{
	const struct swiftrdma_hist *latency = (void *)r + SWIFTRDMA_REPORT_LATENCY_OFF;
	const struct swiftrdma_hist *hol = (void *)r + SWIFTRDMA_REPORT_HOL_OFF;

	f->wrs = read_figure(&r->gone.wrs);
	f->calls = read_figure(&r->gone.calls);
	f->bytes = read_figure(&r->gone.bytes);
	f->recv_wrs = read_figure(&r->gone.recv_wrs);
	f->done = read_figure(&r->gone.done_wrs);
	f->dropped = read_figure(&r->gone.dropped);
	f->errors = read_figure(&r->gone.errors);
	f->samples = read_figure(&latency->samples);
	f->latency_wrs = read_figure(&latency->wrs);
	f->latency_ns = read_figure(&latency->sum_ns);
	f->hol_wrs = read_figure(&hol->wrs);
	f->hol_ns = read_figure(&hol->sum_ns);
}

/*
 * Raises @have towards @now, by no more than @most, and @gained by as much. A later reading
 * accepts the rest. False: the figure had grown by more than @most.
 */
static bool grow_figure(u64 *have, u64 now, u64 most, u64 *gained)
{
	u64 by = what_is_left(now, *have);
	bool possible = by <= most;

	if (!possible)
		by = most;
	*have += by;
	*gained = add_bounded(*gained, by);
	return possible;
}

/*
 * Bytes count when they are posted, and a send queue may hold more bytes than a NIC sends in
 * minutes. So more bytes than a NIC could have sent are possible, and are accepted later. More
 * bytes than the requests can have are impossible; requests that were posted between the two reads
 * may be missing in @now.
 */
static bool bytes_are_possible(const struct srdma_figures *now)
{
	u64 wrs = add_bounded(now->wrs, BURST_NS * WRS_PER_NS);

	return now->bytes <= mul_bounded(wrs, BYTES_PER_WR);
}

static bool grow_all(struct srdma_figures *have, const struct srdma_figures *now,
		     const struct srdma_figures *most, struct srdma_figures *gained)
{
	u64 *h = (u64 *)have, *g = (u64 *)gained;
	const u64 *n = (const u64 *)now, *m = (const u64 *)most;
	bool possible = bytes_are_possible(now);
	size_t i;

	for (i = 0; i < SRDMA_FIGURES; i++)
		possible &= grow_figure(&h[i], n[i], m[i], &g[i]) || &n[i] == &now->bytes;
	return possible;
}

static void add_figures(struct srdma_figures *sum, const struct srdma_figures *f)
{
	const u64 *by = (const u64 *)f;
	u64 *to = (u64 *)sum;
	size_t i;

	for (i = 0; i < SRDMA_FIGURES; i++)
		to[i] = add_bounded(to[i], by[i]);
}

/* No time that was measured is longer than the attachment is old. */
static bool grow_max(u64 *have, u64 now, u64 age)
{
	*have = max(*have, min(now, age));
	return now <= age;
}

static bool has_shrunk(const struct srdma_figures *have, const struct srdma_figures *now)
{
	const u64 *h = (const u64 *)have, *n = (const u64 *)now;
	size_t i;

	for (i = 0; i < SRDMA_FIGURES; i++)
		if (n[i] < h[i])
			return true;
	return false;
}

static bool had_qp(const struct srdma_share *s, u32 qpn)
{
	return READ_ONCE(s->gone[qpn & s->gone_mask]) == qpn;
}

/*
 * Does the process have the QP of the slot, or did it? Once found, this holds for the slot's
 * generation. Between the end of a QP and the mark in its slot, the number may be another
 * process's QP; so the slot counts as false only at the second look in a row.
 */
static void identify_slot(struct srdma_share *s, struct srdma_share_slot *is, bool is_dead)
{
	bool special = is->qpn <= 1, own;
	struct srdma_qp *q = special ? NULL : srdma_qp_get_by_key(s->dev, is->qpn);

	own = q && q->owner && q->owner->pid == s->pid;
	if (own && !is_dead)
		is->serial = q->serial;
	is->is_own |= own || (!special && had_qp(s, is->qpn));
	is->foreign = special || (q && !is->is_own && !is_dead) ? min(is->foreign + 1, 2) : 0;
	if (q)
		srdma_qp_put(q);
}

/*
 * Note which QP carries the requests, if the process has it. Each doorbell of such a QP counts
 * once, whichever slots have named the QP.
 */
static void identify_carrier(struct srdma_share *s, struct srdma_share_slot *is, u32 now_qpn)
{
	struct srdma_qp *q = now_qpn > 1 && now_qpn <= QPN_MAX && now_qpn != is->qpn ?
			     srdma_qp_get_by_key(s->dev, now_qpn) : NULL;
	bool own = q && q->owner && q->owner->pid == s->pid;
	u64 doorbells;

	is->now_serial = own ? q->serial : 0;
	is->now_qpn = own ? now_qpn : 0;
	if (own && s->dev->caps & SWIFTRDMA_DEV_CAP_DOORBELLS) {
		doorbells = atomic64_read(&q->doorbells);
		is->carried_doorbells += doorbells - q->carried_doorbells;
		q->carried_doorbells = doorbells;
	}
	if (q)
		srdma_qp_put(q);
}

/* Requests posted to the slot's QP that are not complete; 0 if this is unknown. */
static u64 outstanding_of(const struct srdma_share_slot *is)
{
	if (is->flags & (SWIFTRDMA_SLOT_DEAD | SWIFTRDMA_SLOT_NO_ORDER))
		return 0;
	return what_is_left(is->sum.wrs, add_bounded(is->sum.done, is->sum.dropped));
}

/*
 * Adds the outstanding requests of the slot's QP, if it still exists, and reads its doorbells.
 * True: the kernel's count of doorbells has changed.
 */
static bool look_at_qp(struct srdma_share *s, struct srdma_share_slot *is)
{
	bool counted = s->dev->caps & SWIFTRDMA_DEV_CAP_DOORBELLS;
	u64 outstanding = outstanding_of(is), was = is->doorbells;
	struct srdma_qp *q;

	if (!is->serial || !(outstanding || counted))
		return false;
	q = srdma_qp_get_by_key(s->dev, is->qpn);
	if (!q)
		return false;
	if (q->serial == is->serial) {
		s->outstanding = add_bounded(s->outstanding, outstanding);
		if (counted)
			is->doorbells = atomic64_read(&q->doorbells) + is->carried_doorbells;
	}
	srdma_qp_put(q);
	return is->doorbells != was;
}

/* Update what is known of slot @i. False: the slot has an impossible figure. */
static bool collect_slot(struct srdma_share *s, u32 i, const struct slot_copy *now, u64 stamp)
{
	struct srdma_share_slot *is = &s->slot[i];
	struct srdma_figures most, gained = {};
	u64 time = ktime_get_ns(), carried_by;
	bool is_dead = now->flags & SWIFTRDMA_SLOT_DEAD, possible, changed;

	if (now->qpn > QPN_MAX)
		return false;
	if (is->generation != now->generation) {
		memset(is, 0, sizeof(*is));
		is->generation = now->generation;
		is->qpn = now->qpn;
	}
	if (!is->is_own || (!is->serial && !is_dead))
		identify_slot(s, is, is_dead);
	if (!is->is_own)
		return is->foreign < 2;
	carried_by = is->now_serial;
	possible = now->qpn == is->qpn && !has_shrunk(&is->sum, &now->f);
	bound_growth(&most, &is->sum, s->collected, s->attached, time);
	possible &= grow_all(&is->sum, &now->f, &most, &gained);
	possible &= grow_max(&is->latency_max, now->latency_max, time - s->attached);
	possible &= grow_max(&is->hol_max, now->hol_max, time - s->attached);
	identify_carrier(s, is, is_dead ? 0 : now->now_qpn);
	changed = is->flags != now->flags || is->now_serial != carried_by ||
		  memchr_inv(&gained, 0, sizeof(gained));
	is->flags = now->flags;
	is->uar_qpn = now->uar_qpn;
	is->uar_state = now->uar_state;
	changed |= look_at_qp(s, is);
	if (changed)
		is->stamp = stamp;
	return possible;
}

/* Add the figures of the slots to @total. False: a slot has an impossible figure. */
static bool collect_slots(struct srdma_share *s, struct srdma_figures *total, u64 stamp)
{
	const struct swiftrdma_report *r = s->report.map;
	const struct swiftrdma_slot *slot = (void *)r + SWIFTRDMA_REPORT_SLOTS_OFF;
	u32 said = READ_ONCE(r->slots_used), used = min(said, s->slots), i;
	bool possible = said <= s->slots;
	struct slot_copy now;

	s->outstanding = 0;
	for (i = 0; i < used; i++) {
		if (i % READ_BATCH == READ_BATCH - 1)
			cond_resched();
		if (!read_slot(&slot[i], &now))
			continue;
		possible &= collect_slot(s, i, &now, stamp);
		if (!s->slot[i].is_own || now.qpn > QPN_MAX)
			continue;
		/* The histograms have the times already. */
		total->wrs = add_bounded(total->wrs, now.f.wrs);
		total->calls = add_bounded(total->calls, now.f.calls);
		total->bytes = add_bounded(total->bytes, now.f.bytes);
		total->recv_wrs = add_bounded(total->recv_wrs, now.f.recv_wrs);
		total->done = add_bounded(total->done, now.f.done);
		total->dropped = add_bounded(total->dropped, now.f.dropped);
		total->errors = add_bounded(total->errors, now.f.errors);
	}
	return possible;
}

/* Add the growth of the buckets to the job's; the growth of all is bounded as one figure. */
static bool collect_buckets(struct srdma_share *s, const struct swiftrdma_hist *hist,
			    struct srdma_job_report *to, u64 most)
{
	bool possible = true;
	u64 now, was;
	int i;

	for (i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++) {
		now = read_figure(&hist->bucket[i]);
		was = s->seen_bucket[i];
		possible &= now >= was &&
			    grow_figure(&s->seen_bucket[i], now, most, &to->bucket[i]);
		most -= s->seen_bucket[i] - was;
	}
	return possible;
}

/* A figure that grows in a job, and may not shrink. */
static bool grow_held(u64 *seen, const u64 *figure, u64 most, u64 *gained)
{
	u64 now = read_figure(figure);

	return now >= *seen && grow_figure(seen, now, most, gained);
}

/*
 * Posts that knobs held. False: there are more of them than is possible, or fewer than before.
 */
static bool collect_held(struct srdma_share *s, u64 look, u64 stamp)
{
	const struct swiftrdma_report *r = s->report.map;
	u64 most = look * WRS_PER_NS;
	bool possible = true;
	int i;

	for (i = 0; i < SWIFTRDMA_SHARE_HELD; i++) {
		struct srdma_held *seen = &s->seen_held[i], was = *seen;
		struct srdma_held *to = &s->jd->report->held[i];

		possible &= grow_held(&seen->posts, &r->held[i].posts, most, &to->posts);
		possible &= grow_held(&seen->wrs, &r->held[i].wrs, most, &to->wrs);
		possible &= grow_held(&seen->passed, &r->held[i].passed, most, &to->passed);
		possible &= grow_held(&seen->ns, &r->held[i].ns, mul_bounded(look, WAITERS_MAX),
				      &to->ns);
		s->knob[i].held_ns += seen->ns - was.ns;
		if (memcmp(seen, &was, sizeof(was)))
			s->jd->report->stamp = stamp;
	}
	return possible;
}

/* Large requests. False: there are more of them than is possible, or fewer than before. */
static bool collect_split(struct srdma_share *s, u64 look, u64 stamp)
{
	const struct swiftrdma_report *r = s->report.map;
	struct srdma_job_report *to = s->jd->report;
	u64 most = look * WRS_PER_NS, before = to->split + to->whole;
	bool possible = true;

	possible &= grow_held(&s->seen_split, &r->chunk_wrs, most, &to->split);
	possible &= grow_held(&s->seen_whole, &r->chunk_left, most, &to->whole);
	if (to->split + to->whole != before)
		to->stamp = stamp;
	return possible;
}

/* Stamp the job's report if the library's state of a knob has changed. */
static void collect_states(struct srdma_share *s, u64 stamp)
{
	const struct swiftrdma_report *r = s->report.map;
	int i;

	for (i = 0; i < SRDMA_JOB_KNOBS; i++) {
		u32 state = READ_ONCE(r->knob[i].state);

		if (state != s->knob[i].state)
			s->jd->report->stamp = stamp;
		s->knob[i].state = state;
	}
}

/* The report was begun anew. The job's sums have what was accepted of the former one. */
static void forget_seen(struct srdma_share *s, u64 generation)
{
	s->generation = generation;
	memset(&s->seen, 0, sizeof(s->seen));
	memset(s->seen_held, 0, sizeof(s->seen_held));
	s->seen_split = 0;
	s->seen_whole = 0;
	memset(s->seen_bucket, 0, sizeof(s->seen_bucket));
	memset(s->slot, 0, s->slots * sizeof(s->slot[0]));
}

bool srdma_report_is_readable(const struct swiftrdma_report *r)
{
	/* Pairs with the store-release by which the process finishes its header. */
	return smp_load_acquire(&r->magic) == SWIFTRDMA_REPORT_MAGIC &&
	       READ_ONCE(r->version) == SWIFTRDMA_SHARE_VERSION &&
	       READ_ONCE(r->slots_off) == SWIFTRDMA_REPORT_SLOTS_OFF &&
	       READ_ONCE(r->slot_size) == sizeof(struct swiftrdma_slot);
}

/* Times of the histograms, unlike totals of QPs, never step back. */
static bool times_have_shrunk(const struct srdma_figures *seen, const struct srdma_figures *now)
{
	return now->samples < seen->samples || now->latency_wrs < seen->latency_wrs ||
	       now->latency_ns < seen->latency_ns || now->hol_wrs < seen->hol_wrs ||
	       now->hol_ns < seen->hol_ns;
}

/* Add what is new in the report to the sums of the job that the process is in. */
void srdma_report_read(struct srdma_share *s)
{
	const struct swiftrdma_report *r = s->report.map;
	const struct swiftrdma_hist *latency = (void *)r + SWIFTRDMA_REPORT_LATENCY_OFF;
	const struct swiftrdma_hist *hol = (void *)r + SWIFTRDMA_REPORT_HOL_OFF;
	u64 stamp = atomic64_read(&srdma_generation), began = ktime_get_ns(), now;
	struct srdma_job_report *to = s->jd->report;
	struct srdma_figures total, most, gained = {};
	bool possible;

	if (!srdma_report_is_readable(r))
		return;
	if (READ_ONCE(r->generation) != s->generation)
		forget_seen(s, READ_ONCE(r->generation));
	read_header(r, &total);
	smp_rmb();	/* a slot that is in gone has generation 0, or a new one */
	possible = collect_slots(s, &total, stamp);
	possible &= !times_have_shrunk(&s->seen, &total);
	now = ktime_get_ns();
	bound_growth(&most, &s->given, s->collected, s->attached, now);
	possible &= grow_all(&s->seen, &total, &most, &gained);
	add_figures(&s->given, &gained);
	add_figures(&to->sum, &gained);
	possible &= collect_held(s, now - s->collected + BURST_NS, stamp);
	possible &= collect_split(s, now - s->collected + BURST_NS, stamp);
	collect_states(s, stamp);
	possible &= collect_buckets(s, latency, to, most.latency_wrs);
	possible &= grow_max(&to->latency_max, read_figure(&latency->max_ns), now - s->attached);
	possible &= grow_max(&to->hol_max, read_figure(&hol->max_ns), now - s->attached);
	s->collected = began;
	if (memchr_inv(&gained, 0, sizeof(gained)) || (!possible && !to->distrusted))
		to->stamp = stamp;
	to->distrusted |= !possible;
}

static bool report_alloc(struct srdma_job_dev *jd)
{
	if (jd->report)
		return true;
	jd->report = kvzalloc(sizeof(*jd->report), GFP_KERNEL);
	if (!jd->report)
		return false;
	jd->report->since = ktime_get_ns();
	INIT_LIST_HEAD(&jd->report->shares);
	return true;
}

void srdma_report_detach(struct srdma_share *s)
{
	lockdep_assert_held(&srdma_share_lock);
	if (!s->jd)
		return;
	list_del(&s->job_node);
	s->jd->report->processes--;
	s->jd->report->stamp = atomic64_read(&srdma_generation);
	srdma_knobs_leave(s, s->jd);
	srdma_job_dev_put(s->jd);
	s->jd = NULL;
}

void srdma_report_assign(struct srdma_share *s)
{
	struct srdma_job_dev *jd;
	u32 gen;

	lockdep_assert_held(&srdma_share_lock);
	srdma_share_refresh(s);
	jd = srdma_job_dev_of(s->dev, s->owner, &gen);
	if (jd == s->jd || !report_alloc(jd)) {
		srdma_job_dev_put(jd);
	} else {
		if (s->jd)
			srdma_report_read(s);	/* until now it was in the other job */
		srdma_report_detach(s);
		s->jd = jd;
		list_add_tail(&s->job_node, &jd->report->shares);
		jd->report->processes++;
		jd->report->stamp = atomic64_read(&srdma_generation);
		srdma_knobs_join(s);
	}
	srdma_control_set_job(s);
}

void srdma_report_collect(struct srdma_share *s)
{
	srdma_report_assign(s);
	if (s->jd)
		srdma_report_read(s);
}
