// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs that the libraries in the processes of a job enforce. Each process has the whole value of
 * a knob that is no ceiling. A ceiling is divided among the job's processes on a device by what
 * they need: a work looks at what each of them sent, and for how long its posts were held, while
 * there is more than one. A report that is false moves shares between processes of its own job
 * only.
 */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "compat.h"
#include "knobs.h"
#include "share.h"

/* Shortest window that judge_needs() evaluates. */
#define WINDOW_MIN	(5 * NSEC_PER_MSEC)
/* More bits than any NIC sends in a ns; report.c bounds the whole life of a process by the same. */
#define USE_PER_NS_MAX	8192
/* Looks take at most 1/LOOK_PART of a CPU's time: with very many processes there are fewer. */
#define LOOK_PART	8

static void look_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(look, look_work);

static u64 n_looks;		/* srdma_share_lock */

bool srdma_knob_is_dev(const struct srdma_dev *dev, int share_knob)
{
	return share_knob == SWIFTRDMA_SHARE_KNOB_BIT_RATE && dev->caps & SWIFTRDMA_DEV_CAP_RATES;
}

/* Blocks in control */

static struct swiftrdma_block *job_block(const struct srdma_share *s)
{
	return s->control.map + SWIFTRDMA_SHARE_UP(sizeof(struct swiftrdma_control));
}

/*
 * Write the process's share of each knob in force into its block. With @less, the block
 * gets no knob that it lacks, and no value that is greater than the one it has.
 */
static void write_block(struct srdma_share *s, bool less)
{
	struct swiftrdma_knob_value now[SWIFTRDMA_SHARE_KNOBS] = {}, *is;
	struct swiftrdma_block *b = job_block(s);
	int i;

	is = b->knob[b->changes & 1];
	for (i = 0; i < SRDMA_JOB_KNOBS; i++) {
		const struct srdma_job_knob *knob = &s->jd->knob[i];

		if (!knob->until || (less && !is[i].until_ns))
			continue;
		now[i].value = s->knob[i].need.share;
		if (less)
			now[i].value = min(now[i].value, is[i].value);
		now[i].until_ns = knob->until + s->clock_offset;
	}
	srdma_latch(&b->changes, b->knob, now, sizeof(now));
}

void srdma_knobs_touch(struct srdma_share *s)
{
	struct swiftrdma_block *b = job_block(s);

	lockdep_assert_held(&srdma_share_lock);
	memcpy(b->knob[(b->changes + 1) & 1], b->knob[b->changes & 1], sizeof(b->knob[0]));
	/* As srdma_latch(): the copy is whole before it is current. */
	smp_store_release(&b->changes, b->changes + 1);
}

/*
 * Write what every process of the job may do. Shares that have become smaller are written
 * first: at no time do the shares add up to more than the job has.
 */
static void write_blocks(struct srdma_job_dev *jd)
{
	struct srdma_share *s;

	if (jd->report->processes > 1)
		list_for_each_entry(s, &jd->report->shares, job_node)
			write_block(s, true);
	list_for_each_entry(s, &jd->report->shares, job_node)
		write_block(s, false);
}

/*
 * Calls of the process that the knob acts on: the library reads control first in each of them.
 * Those that post are counted as of the last time when the report was read.
 */
static u64 count_uses(const struct srdma_share *s, int share_knob)
{
	switch (share_knob) {
	case SWIFTRDMA_SHARE_KNOB_PLACE:
		return atomic64_read(&s->created);
	case SWIFTRDMA_SHARE_KNOB_HUGE_PAGES:
		return atomic64_read(&s->registered);
	default:
		return s->given.wrs;
	}
}

/* Record which change the process has to answer. The caller has just read the report. */
static void expect_answer(struct srdma_share *s, int share_knob)
{
	s->knob[share_knob].asked = job_block(s)->changes;
	s->knob[share_knob].asked_uses = count_uses(s, share_knob);
}

/* Division */

/* Is one of the first @end knobs that libraries enforce in force? */
static bool has_knob(const struct srdma_job_dev *jd, int end)
{
	int i;

	for (i = 0; i < end; i++)
		if (jd->knob[i].until)
			return true;
	return false;
}

/* Each process has the whole value. */
static void share_whole(struct srdma_job_dev *jd, int share_knob)
{
	struct srdma_share *s;

	list_for_each_entry(s, &jd->report->shares, job_node)
		s->knob[share_knob].need.share = jd->knob[share_knob].value;
}

/* True: more than 1/SRDMA_MOVED_PART of the ceiling moved to other processes. */
static bool divide_knob(struct srdma_job_dev *jd, int share_knob)
{
	struct srdma_need *first = NULL, **end = &first;
	u64 total = jd->knob[share_knob].value;
	struct srdma_share *s;

	list_for_each_entry(s, &jd->report->shares, job_node) {
		*end = &s->knob[share_knob].need;
		end = &(*end)->next;
	}
	*end = NULL;
	return srdma_divide(first, total, share_knob == SWIFTRDMA_SHARE_KNOB_CREDITS, n_looks) >
	       total / SRDMA_MOVED_PART;
}

static bool divide_job(struct srdma_job_dev *jd)
{
	bool moved = false;
	int i;

	for (i = 0; i < SWIFTRDMA_SHARE_HELD; i++)
		if (jd->knob[i].until)
			moved |= divide_knob(jd, i);
	for (; i < SRDMA_JOB_KNOBS; i++)
		if (jd->knob[i].until)
			share_whole(jd, i);
	write_blocks(jd);
	return moved;
}

/* Starts a new window: the next look judges the process by what it uses from now on. */
static void begin_window(struct srdma_share *s, u64 now)
{
	int i;

	s->looked = now;
	s->looked_wrs = s->given.wrs;
	s->looked_bytes = s->given.bytes;
	for (i = 0; i < SWIFTRDMA_SHARE_HELD; i++)
		s->knob[i].looked_held = s->knob[i].held_ns;
}

/* The quotient of the division must fit 64 bits, whatever a report claims: else the CPU faults. */
static u64 per_second(u64 n, u64 window)
{
	if (div64_u64(n, window) >= USE_PER_NS_MAX)
		return USE_PER_NS_MAX * NSEC_PER_SEC;
	return mul_u64_u64_div_u64(n, NSEC_PER_SEC, window);
}

/*
 * What the process used of its share. The use of credits between two looks is not known, so a
 * process that never had to wait counts as having used three quarters of its credits, or as many
 * as are outstanding now if those are more.
 */
static u64 read_use(const struct srdma_share *s, int share_knob, u64 window, bool held)
{
	u64 share = s->knob[share_knob].need.share;

	switch (share_knob) {
	case SWIFTRDMA_SHARE_KNOB_WR_RATE:
		return per_second(s->given.wrs - s->looked_wrs, window);
	case SWIFTRDMA_SHARE_KNOB_BIT_RATE:
		return per_second((s->given.bytes - s->looked_bytes) * BITS_PER_BYTE, window);
	default:
		return held ? share : max(s->outstanding, share - share / 4);
	}
}

static void judge_needs(struct srdma_share *s, u64 now)
{
	const struct srdma_job_dev *jd = s->jd;
	u64 window = now - s->looked;
	int i;

	if (window < WINDOW_MIN)
		return;
	for (i = 0; i < SWIFTRDMA_SHARE_HELD; i++) {
		u64 total = jd->knob[i].value, held = s->knob[i].held_ns - s->knob[i].looked_held;
		struct srdma_use use = {
			.used = read_use(s, i, window, held), .held = held, .window = window,
			.share = s->knob[i].need.share,
			.fair = div_u64(total, jd->report->processes),
		};

		if (jd->knob[i].until)
			s->knob[i].need.want = srdma_want(&use, total);
	}
	begin_window(s, now);
}

/* A single process has all of its job's share, so its needs are not looked at. */
static bool is_to_look_at(const struct srdma_job_dev *jd)
{
	return has_knob(jd, SWIFTRDMA_SHARE_HELD) &&
	       (jd->report->processes > 1 || jd->report->has_left);
}

static void look_in(unsigned int ms)
{
	queue_delayed_work(system_dfl_wq, &look, msecs_to_jiffies(ms));
}

static void look_at_process(struct srdma_share *s, void *arg)
{
	if (srdma_share_end_gone(s) || !s->jd || !is_to_look_at(s->jd))
		return;
	srdma_report_read(s);
	judge_needs(s, ktime_get_ns());
}

/* What a look found. */
struct look_result {
	bool any, moved;
};

/* Divide the knobs of the job of @s, unless this look did so at another of its processes. */
static void look_at_job(struct srdma_share *s, void *arg)
{
	struct look_result *found = arg;

	if (!s->jd || s->jd->report->look == n_looks || !is_to_look_at(s->jd))
		return;
	s->jd->report->look = n_looks;
	s->jd->report->has_left = false;
	found->moved |= divide_job(s->jd);
	found->any = true;
}

static void look_work(struct work_struct *work)
{
	static bool was_soon;
	struct look_result found = {};
	u64 began = ktime_get_ns(), took;

	srdma_shares_walk(look_at_process, NULL);
	mutex_lock(&srdma_share_lock);
	n_looks++;
	mutex_unlock(&srdma_share_lock);
	srdma_shares_walk(look_at_job, &found);
	was_soon = found.moved && !was_soon;
	took = div_u64(ktime_get_ns() - began, NSEC_PER_MSEC) * LOOK_PART;
	if (found.any)
		look_in(max_t(u64, took, was_soon ? SRDMA_LOOK_SOON_MS : SRDMA_LOOK_MS));
}

/* What is in force */

/* Knobs that @to changes, a bit for each; in *@begun those that come into force. */
static u32 find_changed(const struct srdma_job_dev *jd, const struct srdma_job_knob *to, u32 *begun)
{
	u32 changed = 0;
	int i;

	*begun = 0;
	for (i = 0; i < SRDMA_JOB_KNOBS; i++) {
		if (to[i].value != jd->knob[i].value || !to[i].until != !jd->knob[i].until)
			changed |= BIT(i);
		if (to[i].until && !jd->knob[i].until)
			*begun |= BIT(i);
	}
	return changed;
}

/* Reset the needs of all processes for these knobs: they are not known yet. */
static void forget_needs(struct srdma_job_dev *jd, u32 knobs)
{
	struct srdma_share *s;
	int i;

	list_for_each_entry(s, &jd->report->shares, job_node)
		for (i = 0; i < SRDMA_JOB_KNOBS; i++)
			if (knobs & BIT(i))
				s->knob[i].need = (struct srdma_need){};
}

/*
 * The control files have the new values. Read the reports, so that later posts of a process show
 * whether it obeys, and how much it needs of the knobs in @begun.
 */
static void begin_answers(struct srdma_job_dev *jd, u32 changed, u32 begun)
{
	struct srdma_share *s;
	int i;

	list_for_each_entry(s, &jd->report->shares, job_node) {
		srdma_report_read(s);
		if (begun)
			begin_window(s, ktime_get_ns());
		for (i = 0; i < SRDMA_JOB_KNOBS; i++)
			if (changed & BIT(i))
				expect_answer(s, i);
		cond_resched();
	}
}

void srdma_knobs_set(struct srdma_job_dev *jd, const struct srdma_job_knob *to)
{
	u32 changed, begun;

	lockdep_assert_held(&srdma_ctl_lock);
	if (!memcmp(jd->knob, to, sizeof(jd->knob)))
		return;
	mutex_lock(&srdma_share_lock);
	changed = find_changed(jd, to, &begun);
	memcpy(jd->knob, to, sizeof(jd->knob));
	if (jd->report) {
		forget_needs(jd, begun);
		divide_job(jd);
		if (changed)
			begin_answers(jd, changed, begun);
		if (is_to_look_at(jd))
			look_in(SRDMA_LOOK_MS);
	}
	mutex_unlock(&srdma_share_lock);
}

void srdma_knobs_join(struct srdma_share *s)
{
	struct srdma_job_dev *jd = s->jd;
	int i;

	lockdep_assert_held(&srdma_share_lock);
	for (i = 0; i < SRDMA_JOB_KNOBS; i++)
		s->knob[i].need = (struct srdma_need){};
	begin_window(s, ktime_get_ns());
	if (!has_knob(jd, SRDMA_JOB_KNOBS))
		return;
	divide_job(jd);
	for (i = 0; i < SRDMA_JOB_KNOBS; i++)
		expect_answer(s, i);
	if (is_to_look_at(jd))
		look_in(SRDMA_LOOK_MS);
}

/*
 * The share of the process lies idle until the next look. Many processes of a job may end at
 * once, and a division for each of them would take its time.
 */
void srdma_knobs_leave(struct srdma_share *s, struct srdma_job_dev *from)
{
	static const struct swiftrdma_knob_value none[SWIFTRDMA_SHARE_KNOBS];
	struct swiftrdma_block *b = job_block(s);

	lockdep_assert_held(&srdma_share_lock);
	srdma_latch(&b->changes, b->knob, none, sizeof(none));
	if (!has_knob(from, SWIFTRDMA_SHARE_HELD) || !from->report->processes)
		return;
	from->report->has_left = true;
	look_in(SRDMA_LOOK_SOON_MS);
}

/* Answers */

u32 srdma_knob_state(const struct srdma_share *s, int share_knob)
{
	const struct swiftrdma_report *r = s->report.map;
	u32 state = READ_ONCE(r->knob[share_knob].state);

	if (!srdma_report_is_readable(r) || state > SWIFTRDMA_KNOB_STATE_UNABLE)
		return SWIFTRDMA_KNOB_STATE_NONE;
	return state;
}

bool srdma_knobs_possible(struct srdma_job_dev *jd, int share_knob)
{
	u32 able = 0, in_force;

	mutex_lock(&srdma_share_lock);
	srdma_knobs_count(jd, share_knob, &able, &in_force);
	mutex_unlock(&srdma_share_lock);
	return able;
}

void srdma_knobs_count(const struct srdma_job_dev *jd, int share_knob, u32 *able, u32 *in_force)
{
	const struct srdma_share *s;

	lockdep_assert_held(&srdma_share_lock);
	*able = 0;
	*in_force = 0;
	if (!jd->report)
		return;
	list_for_each_entry(s, &jd->report->shares, job_node) {
		u32 state = srdma_knob_state(s, share_knob);

		*able += state != SWIFTRDMA_KNOB_STATE_NONE;
		*in_force += state == SWIFTRDMA_KNOB_STATE_IN_FORCE;
	}
}

/* Has the library seen the last change of the knob, or does it have the current value? */
static bool has_answered(const struct srdma_share *s, int share_knob)
{
	const struct swiftrdma_report *r = s->report.map;

	return (s64)(READ_ONCE(r->control_seen) - s->knob[share_knob].asked) >= 0 ||
	       (s->jd->knob[share_knob].until &&
		READ_ONCE(r->knob[share_knob].value) == s->knob[share_knob].need.share);
}

static enum srdma_knob_answer read_answer(struct srdma_share *s, int share_knob)
{
	bool wanted = s->jd->knob[share_knob].until, obeys;
	u32 state = srdma_knob_state(s, share_knob);

	if (state == SWIFTRDMA_KNOB_STATE_NONE || state == SWIFTRDMA_KNOB_STATE_UNABLE)
		return SRDMA_KNOB_NOBODY;
	obeys = state == SWIFTRDMA_KNOB_STATE_IN_FORCE;
	if (wanted ? obeys && has_answered(s, share_knob) : !obeys)
		return SRDMA_KNOB_OBEYS;
	/* A process obeys if it has made no call since that the knob acts on. */
	srdma_report_read(s);
	return count_uses(s, share_knob) == s->knob[share_knob].asked_uses ? SRDMA_KNOB_OBEYS :
								   SRDMA_KNOB_WAITS;
}

void srdma_knobs_ask(struct srdma_job_dev *jd, int share_knob)
{
	struct srdma_share *s;

	lockdep_assert_held(&srdma_share_lock);
	if (!jd->report)
		return;
	list_for_each_entry(s, &jd->report->shares, job_node) {
		s->knob[share_knob].answer = read_answer(s, share_knob);
		cond_resched();
	}
}

enum srdma_knob_answer srdma_knob_answer(const struct srdma_job_dev *jd, const struct pid *pid,
					 int share_knob)
{
	const struct srdma_share *s = srdma_share_find(jd->dev, pid);

	return s && s->jd == jd ? s->knob[share_knob].answer : SRDMA_KNOB_NOBODY;
}

void srdma_knobs_exit(void)
{
	cancel_delayed_work_sync(&look);
}
