// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Figures: what a process writes into its report, and what REPORT_GET makes of it. Each
 * test runs in a job of its own, which the suite's rules give it by its name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "attach.h"

#define ALL_FLAGS (SWIFTRDMA_SLOT_DEAD | SWIFTRDMA_SLOT_NO_ORDER | SWIFTRDMA_SLOT_ERROR | \
		   SWIFTRDMA_SLOT_WR_API | SWIFTRDMA_SLOT_CHUNK | SWIFTRDMA_SLOT_FIXED | \
		   SWIFTRDMA_SLOT_DOMAIN)

#define A(name) SWIFTRDMA_REPORT_A_##name

static struct vdev dev;
static struct share s;
static struct ibv_cq *cq;
static struct ibv_qp *qps[2];
static uint32_t job;
static uint64_t began;

/* As @comm, so that the rule of that name is ours. */
static int begin(const char *dev_name, const char *comm)
{
	struct swiftrdma_control_job now;
	int err;

	prctl(PR_SET_NAME, comm);
	if (vdev_open(&dev, dev_name))
		return 2;
	cq = ibv_create_cq(dev.ctx, 8, NULL, NULL, 0);
	for (int i = 0; i < 2; i++) {
		qps[i] = cq ? vqp_small(&dev, cq) : NULL;
		if (!qps[i])
			return 2;
	}
	began = now_ns();
	err = share_open(&s, dev_name, 16);
	point(!err, "%s: attach (%s)", comm, err ? strerrorname_np(-err) : "0");
	if (err || !control_job(&s, &now))
		return 1;
	point(!strcmp(now.name, comm), "%s: control tells the job", comm);
	job = now.job_id;
	return 0;
}

static void end(void)
{
	for (int i = 0; i < 2; i++)
		if (qps[i])
			ibv_destroy_qp(qps[i]);
	ibv_destroy_cq(cq);
	share_close(&s);
	vdev_close(&dev);
}

static struct reported job_now(void)
{
	struct reported r;

	read_job_report(dev.index, job, &r);
	return r;
}

static struct reported qp_now(int i)
{
	struct reported r;

	read_qp_report(dev.index, qps[i]->qp_num, &r);
	return r;
}

static bool says(const struct reported *r, int attr, uint64_t value)
{
	if (r->found && r->has[attr] && r->value[attr] == value)
		return true;
	printf("# attribute %d: %s%lu, wanted %lu\n", attr, r->has[attr] ? "" : "none ",
	       r->value[attr], value);
	return false;
}

static bool below(const struct reported *r, int attr, uint64_t bound)
{
	if (r->value[attr] <= bound)
		return true;
	printf("# attribute %d: %lu, above %lu\n", attr, r->value[attr], bound);
	return false;
}

static void fill_slot(struct swiftrdma_slot *slot, uint64_t n)
{
	slot->post_owner.wrs = 10 * n;
	slot->post_others.wrs = n;
	slot->post_owner.bytes = 640 * n;
	slot->post_owner.recv_wrs = 3 * n;
	slot->poll_owner.wrs = 8 * n;
	slot->poll_others.wrs = n;
	slot->poll_owner.dropped = n;
	slot->poll_others.errors = n;
	slot->latency = (struct swiftrdma_times){ 2 * n, 9 * n, 9000 * n, 2000 };
	slot->hol = (struct swiftrdma_times){ 2 * n, 9 * n, 900 * n, 200 };
}

static void fill_hist(struct swiftrdma_hist *h, uint64_t samples, uint64_t wrs, uint64_t ns)
{
	h->samples = samples;
	h->wrs = wrs;
	h->sum_ns = wrs * ns;
	h->max_ns = ns;
	h->bucket[swiftrdma_hist_bucket(ns)] = wrs;
}

/* That nothing can be told from: the sums of two slots and of what has none. */
static void sums(void)
{
	struct reported r;

	r = job_now();
	point(r.found && says(&r, A(PROCESSES), 1) && says(&r, A(WRS), 0),
	      "before there is a header, only the process is counted");
	share_begin(&s, 1);
	for (int i = 0; i < 2; i++)
		fill_slot(slot_begin(&s, (uint32_t)i, qps[i]->qp_num, (uint64_t)i + 1),
			  100 + (uint64_t)i);
	s.report->gone.wrs = 5;
	s.report->gone.done_wrs = 4;
	s.report->gone.bytes = 7;
	fill_hist(s.latency, 4, 1809, 1000);
	fill_hist(s.hol, 4, 1809, 100);
	r = job_now();
	point(r.n == 1 && says(&r, A(WRS), 11 * 201 + 5) && says(&r, A(BYTES), 640 * 201 + 7) &&
	      says(&r, A(RECV_WRS), 3 * 201) && says(&r, A(DONE), 9 * 201 + 4) &&
	      says(&r, A(DROPPED), 201) && says(&r, A(ERRORS), 201),
	      "a job's sums are those of its QPs, gone ones included");
	point(says(&r, A(SAMPLES), 4) && says(&r, A(LATENCY_WRS), 1809) &&
	      says(&r, A(LATENCY_SUM), 1809000) && says(&r, A(LATENCY_MAX), 1000) &&
	      says(&r, A(HOL_WRS), 1809) && says(&r, A(HOL_SUM), 180900) &&
	      says(&r, A(HOL_MAX), 100) && r.bucket[swiftrdma_hist_bucket(1000)] == 1809,
	      "... and its times those of the histograms");
	point(!r.has[A(DISTRUSTED)], "... and it is trusted");
	r = qp_now(1);
	point(r.n == 1 && says(&r, A(WRS), 11 * 101) && says(&r, A(DONE), 9 * 101) &&
	      says(&r, A(OUTSTANDING), 101) && says(&r, A(LATENCY_SUM), 9000 * 101) &&
	      says(&r, A(LATENCY_MAX), 2000) && says(&r, A(HOL_SUM), 900 * 101),
	      "a QP's are its own");
}

/* A queue of large requests: posted at once, sent in a second at the least. */
static void posts_much(void)
{
	const uint64_t wrs = 1024, posted = wrs << 30;
	struct swiftrdma_slot *slot;
	struct reported r = job_now();
	uint64_t bytes = r.value[A(BYTES)], until;

	slot = slot_begin(&s, 0, qps[0]->qp_num, 8);
	slot->post_owner.wrs = wrs;
	slot->post_owner.bytes = posted;
	r = job_now();
	point(r.value[A(BYTES)] < bytes + posted && !r.has[A(DISTRUSTED)],
	      "bytes that no NIC can have sent do not count at once, and the job is trusted");
	for (until = now_ns() + 60000000000ull; r.value[A(BYTES)] < bytes + posted && now_ns() < until;)
		r = job_now();
	point(says(&r, A(BYTES), bytes + posted) && !r.has[A(DISTRUSTED)], "... they count later");
}

/* QPs that no reader saw while they were there, and one that nobody has. */
static void passing(void)
{
	struct reported r;
	struct ibv_qp *qp;

	for (uint32_t i = 2; i < 4; i++) {
		qp = vqp_small(&dev, cq);
		slot_begin(&s, i, qp->qp_num, 2 + i)->post_owner.wrs = 10;
		ibv_destroy_qp(qp);
		if (i == 3)
			s.slot[i].id.flags = SWIFTRDMA_SLOT_DEAD;
	}
	r = job_now();
	point(says(&r, A(WRS), 11 * 300 + 26) && !r.has[A(DISTRUSTED)],
	      "QPs that came and went between two looks count");
	slot_begin(&s, 4, 0xabcdef, 6)->post_owner.wrs = 1000;
	slot_begin(&s, 5, 0xabcdee, 7)->post_owner.wrs = 1000;
	s.slot[5].id.flags = SWIFTRDMA_SLOT_DEAD;
	job_now();
	r = job_now();
	point(says(&r, A(WRS), 11 * 300 + 26), "numbers that no QP has do not");
	r = qp_now(1);
	point(says(&r, A(WRS), 1), "... nor for another QP");
}

static void changes(void)
{
	struct reported r;

	fill_slot(&s.slot[1], 200);
	r = job_now();
	point(says(&r, A(WRS), 11 * 300 + 5) && !r.has[A(DISTRUSTED)], "they grow with it");
	s.slot[1].id.flags = SWIFTRDMA_SLOT_NO_ORDER;
	r = qp_now(1);
	point(r.found && !r.has[A(OUTSTANDING)] && says(&r, A(FLAGS), SWIFTRDMA_SLOT_NO_ORDER),
	      "where the order is lost, nothing is outstanding that is known");
	ibv_destroy_qp(qps[1]);
	s.slot[1].id.flags |= SWIFTRDMA_SLOT_DEAD;
	r = qp_now(1);
	point(!r.found, "a QP that is gone is not told of");
	qps[1] = NULL;
	r = job_now();
	point(says(&r, A(WRS), 11 * 300 + 5), "its requests stay in the sums");
	/* The slot is used again. */
	s.slot[1].id.generation = 0;
	s.report->gone.wrs += 11 * 200;
	s.report->gone.done_wrs += 9 * 200;
	s.report->gone.dropped += 200;
	s.report->gone.errors += 200;
	s.report->gone.recv_wrs += 600;
	s.report->gone.bytes += 640 * 200;
	qps[1] = vqp_small(&dev, cq);
	slot_begin(&s, 1, qps[1]->qp_num, 3)->post_owner.wrs = 1;
	r = job_now();
	point(says(&r, A(WRS), 11 * 300 + 6) && !r.has[A(DISTRUSTED)],
	      "no request counts twice when a slot is used again");
	r = qp_now(1);
	point(says(&r, A(WRS), 1) && says(&r, A(DONE), 0), "the new QP has its own only");
	passing();
	share_begin(&s, 2);
	memset(s.slot, 0, s.slots * sizeof(*s.slot));
	memset(&s.report->gone, 0, sizeof(s.report->gone));
	memset(s.latency, 0, sizeof(*s.latency));
	memset(s.hol, 0, sizeof(*s.hol));
	s.report->gone.wrs = 4;
	r = job_now();
	point(says(&r, A(WRS), 11 * 300 + 30), "a report that is begun anew adds to the sums");
}

int test_figures(const char *dev_name)
{
	int ret = begin(dev_name, "honest");

	if (ret)
		return ret;
	sums();
	changes();
	posts_much();
	end();
	return !!failed_points;
}

/* Hostile processes. */

static void shrink(void)
{
	struct reported r;

	share_begin(&s, 1);
	fill_slot(slot_begin(&s, 0, qps[0]->qp_num, 1), 100);
	job_now();
	s.slot[0].post_owner.wrs = 1;
	r = job_now();
	point(says(&r, A(WRS), 1100) && r.has[A(DISTRUSTED)],
	      "shrink: a counter that steps back counts for nothing");
	r = qp_now(0);
	point(says(&r, A(WRS), 1100), "... nor for the QP");
	s.slot[0].post_owner.wrs = 1000;
	r = job_now();
	point(says(&r, A(WRS), 1100), "... until it has passed what it was");
}

/* More bytes than the requests can have. */
static void fat(void)
{
	struct reported r;

	share_begin(&s, 1);
	slot_begin(&s, 0, qps[0]->qp_num, 1)->post_owner.bytes = 1ull << 60;
	r = job_now();
	point(r.has[A(DISTRUSTED)], "fat: more bytes than any requests have are not believed");
}

/* All figures as large as they can be: no more than a NIC could have done since. */
static void check_bounds(const char *what, uint64_t reads)
{
	struct reported r = { 0 };
	uint64_t age, times;

	for (uint64_t i = 0; i < reads; i++)
		r = job_now();
	age = now_ns() - began;
	times = age > UINT64_MAX >> 20 ? UINT64_MAX : age << 20;
	point(r.has[A(DISTRUSTED)], "%s: the job is not trusted any more", what);
	/* Two looks in a row have the time of the first one in common. */
	point(below(&r, A(WRS), 2 * age) && below(&r, A(BYTES), 2048 * age) &&
	      below(&r, A(RECV_WRS), 2 * age) && below(&r, A(DONE), 2 * age) &&
	      below(&r, A(DROPPED), 2 * age) && below(&r, A(ERRORS), 2 * age) &&
	      below(&r, A(SAMPLES), 2 * age) && below(&r, A(LATENCY_WRS), 2 * age) &&
	      below(&r, A(HOL_WRS), 2 * age), "... its counts are bounded");
	point(below(&r, A(LATENCY_SUM), times) && below(&r, A(HOL_SUM), times) &&
	      below(&r, A(LATENCY_MAX), age) && below(&r, A(HOL_MAX), age),
	      "... so are its times");
	times = 0;
	for (int i = 0; i < SWIFTRDMA_HIST_BUCKETS; i++)
		times += r.bucket[i] > 2 * age ? 2 * age : r.bucket[i];
	point(times <= 2 * age, "... and its histogram");
	r = qp_now(0);
	age = now_ns() - began;
	times = age > UINT64_MAX >> 20 ? UINT64_MAX : age << 20;
	point(!r.found || (below(&r, A(WRS), 2 * age) && below(&r, A(BYTES), 2048 * age) &&
			   below(&r, A(DONE), 2 * age) && below(&r, A(LATENCY_MAX), age) &&
			   below(&r, A(LATENCY_SUM), times) && below(&r, A(FLAGS), ALL_FLAGS)),
	      "... and what is told of the QP");
}

static void huge(void)
{
	share_begin(&s, 1);
	memset(slot_begin(&s, 0, 0, 0), 0xff, sizeof(*s.slot));
	s.slot[0].id = (struct swiftrdma_slot_id){ .generation = 1, .qpn = qps[0]->qp_num,
						   .flags = ~0u & ~(uint32_t)SWIFTRDMA_SLOT_DEAD };
	memset(s.latency, 0xff, sizeof(*s.latency));
	memset(s.hol, 0xff, sizeof(*s.hol));
	memset(&s.report->gone, 0xff, sizeof(s.report->gone));
	check_bounds("huge", 50);
	/* Begun anew at each look. */
	for (uint64_t i = 2; i < 50; i++) {
		s.report->generation = i;
		job_now();
	}
	check_bounds("huge, begun anew", 1);
}

static void garbage(void)
{
	unsigned int *word = (unsigned int *)s.report;

	srandom(4711);
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < s.report_size / sizeof(*word); i++)
			word[i] = (unsigned int)random() << 1 ^ (unsigned int)random();
		share_begin(&s, (uint64_t)round / 4 + 1);
		if (round % 2)
			s.slot[0].id.qpn = qps[0]->qp_num;
		job_now();
	}
	s.report->slots_used = ~0u;
	check_bounds("garbage", 1);
}

/* QPs of another process, whose figures are read before and after. */
static void foreign(uint32_t victim)
{
	struct reported before, after, mine;
	struct swiftrdma_slot *slot;

	read_qp_report(dev.index, victim, &before);
	point(before.found && says(&before, A(WRS), 77), "foreign: the victim reports of its QP");
	share_begin(&s, 1);
	fill_slot(slot_begin(&s, 0, qps[0]->qp_num, 1), 10);
	slot = slot_begin(&s, 1, victim, 2);
	fill_slot(slot, 1000);
	job_now();
	mine = job_now();
	point(says(&mine, A(WRS), 110) && mine.has[A(DISTRUSTED)],
	      "another's QP counts for nothing, and the job is not trusted any more");
	read_qp_report(dev.index, victim, &after);
	point(after.n == 1 && !memcmp(before.value, after.value, sizeof(uint64_t) * A(TIME)),
	      "the victim's figures are as they were");
	read_job_report(dev.index, (uint32_t)strtoul(getenv("VICTIM_JOB"), NULL, 10), &after);
	point(says(&after, A(WRS), 77) && !after.has[A(DISTRUSTED)], "so are its job's");
	slot_begin(&s, 1, 0x1000000 | qps[1]->qp_num, 3)->post_owner.wrs = 5;
	slot_begin(&s, 2, 0, 4)->post_owner.wrs = 5;
	slot_begin(&s, 3, 1, 5)->post_owner.wrs = 5;
	job_now();
	mine = job_now();
	point(says(&mine, A(WRS), 110), "nor do numbers that no QP has");
}

int test_hostile(const char *dev_name)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = { { "shrink", shrink }, { "fat", fat }, { "huge", huge }, { "garbage", garbage } };
	const char *victim = getenv("VICTIM");
	int ret;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		ret = begin(dev_name, kinds[i].name);
		if (ret)
			return ret;
		kinds[i].run();
		end();
	}
	if (!victim)
		return !!failed_points;
	ret = begin(dev_name, "foreign");
	if (ret)
		return ret;
	foreign((uint32_t)strtoul(victim, NULL, 10));
	end();
	return !!failed_points;
}
