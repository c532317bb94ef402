// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that obeys the knobs in its control as a library would, without sending anything:
 * a thread of it has a token bucket, and writes into the report what it would have sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"

#define KNOBS	__SWIFTRDMA_SHARE_KNOB_MAX
#define BURST_NS	5000000.0
#define WATCHED	64

/* NULL: no knob of a job. */
static const char *const names[KNOBS] = {
	[SWIFTRDMA_SHARE_KNOB_WR_RATE] = "wr_rate", [SWIFTRDMA_SHARE_KNOB_BIT_RATE] = "bit_rate",
	[SWIFTRDMA_SHARE_KNOB_CREDITS] = "credits", [SWIFTRDMA_SHARE_KNOB_PLACE] = "place",
	[SWIFTRDMA_SHARE_KNOB_CHUNK] = "chunk", [SWIFTRDMA_SHARE_KNOB_HUGE_PAGES] = "huge_pages",
};

static struct {
	struct share *share;
	pthread_t thread;
	bool runs, stop;
	double wants;		/* WR/s */
	unsigned int swing_ms;
	bool waits;		/* for credits */
	double tokens, fraction;
	uint64_t sent;
} lib;

static int find_name(const char *knob)
{
	int k = 0;

	while (k < KNOBS && (!names[k] || strcmp(names[k], knob)))
		k++;
	return k;
}

static uint64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool copy_block(const struct swiftrdma_control *c, struct swiftrdma_knob_value *to,
		       uint64_t *changes)
{
	const struct swiftrdma_block *b = (const void *)((const char *)c + c->job_off);

	if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != SWIFTRDMA_CONTROL_LIVE ||
	    b->generation != 1)
		return false;
	do {
		*changes = __atomic_load_n(&b->changes, __ATOMIC_ACQUIRE);
		memcpy(to, b->knob[*changes & 1], sizeof(b->knob[0]));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&b->changes, __ATOMIC_RELAXED) != *changes);
	return true;
}

static void report_knobs(const struct swiftrdma_knob_value *is, uint64_t changes, uint64_t now)
{
	struct swiftrdma_report *r = lib.share->report;

	for (int k = 0; k < KNOBS; k++) {
		bool in_force = is[k].until_ns > now;

		if (!names[k])
			continue;
		r->knob[k].value = in_force ? is[k].value : 0;
		r->knob[k].state = in_force ? SWIFTRDMA_KNOB_STATE_IN_FORCE :
					      SWIFTRDMA_KNOB_STATE_IDLE;
	}
	__atomic_store_n(&r->control_seen, changes, __ATOMIC_RELEASE);
}

/* What it sends of its share at @now. */
static double swing_at(uint64_t now)
{
	if (!lib.swing_ms)
		return 1;
	return now / (lib.swing_ms * 1000000ull) % 2 ? 1.5 : 0.5;
}

static void wait_for_credits(uint64_t ns, const struct swiftrdma_knob_value *credits, uint64_t now)
{
	struct swiftrdma_held *held = &lib.share->report->held[SWIFTRDMA_SHARE_KNOB_CREDITS];

	if (!lib.waits || credits->until_ns <= now)
		return;
	held->posts++;
	held->wrs++;
	held->ns += ns;
}

/* What it would have sent in @ns, and for how long it had to wait instead. */
static void send_for(uint64_t ns, const struct swiftrdma_knob_value *rate, uint64_t now)
{
	struct swiftrdma_held *held = &lib.share->report->held[SWIFTRDMA_SHARE_KNOB_WR_RATE];
	double wants = lib.wants * (double)ns / 1e9, sends = wants, burst;
	uint64_t whole;

	if (rate->until_ns > now) {
		burst = (double)rate->value * BURST_NS / 1e9;
		lib.tokens += swing_at(now) * (double)rate->value * (double)ns / 1e9;
		/* A stretch that nobody ran for is made up for, as time passed. */
		if (burst < (double)rate->value * (double)ns / 1e9)
			burst = (double)rate->value * (double)ns / 1e9;
		if (lib.tokens > (burst > 1 ? burst : 1))
			lib.tokens = burst > 1 ? burst : 1;
		if (sends > lib.tokens)
			sends = lib.tokens;
		lib.tokens -= sends;
		if (sends < wants) {
			held->posts++;
			held->wrs++;
			held->ns += (uint64_t)((double)ns * (1 - sends / wants));
		}
	}
	lib.fraction += sends;
	whole = (uint64_t)lib.fraction;
	lib.fraction -= (double)whole;
	lib.sent += whole;
	__atomic_store_n(&lib.share->report->gone.wrs, lib.sent, __ATOMIC_RELAXED);
}

static void *obey_knobs(void *arg)
{
	struct swiftrdma_knob_value is[SWIFTRDMA_SHARE_KNOBS];
	uint64_t last = monotonic(), now, changes;

	(void)arg;
	while (!__atomic_load_n(&lib.stop, __ATOMIC_ACQUIRE)) {
		usleep(1000);
		now = monotonic();
		if (!copy_block(lib.share->control, is, &changes))
			memset(is, 0, sizeof(is));
		report_knobs(is, changes, now);
		send_for(now - last, &is[SWIFTRDMA_SHARE_KNOB_WR_RATE], now);
		wait_for_credits(now - last, &is[SWIFTRDMA_SHARE_KNOB_CREDITS], now);
		last = now;
	}
	return NULL;
}

int knobs_library(struct share *s, bool on)
{
	if (lib.runs) {
		__atomic_store_n(&lib.stop, true, __ATOMIC_RELEASE);
		pthread_join(lib.thread, NULL);
		memset(s->report->knob, 0, sizeof(s->report->knob));
	}
	memset(&lib, 0, sizeof(lib));
	lib.share = s;
	lib.runs = on && !pthread_create(&lib.thread, NULL, obey_knobs, NULL);
	return lib.runs == on ? 0 : -EAGAIN;
}

void knobs_want(double rate)
{
	lib.wants = rate;
}

void knobs_swing(unsigned int ms)
{
	lib.swing_ms = ms;
}

void knobs_wait(bool on)
{
	lib.waits = on;
}

int knobs_say(struct share *s, const char *args)
{
	static const char *const states[] = { "none", "idle", "in_force", "unable" };
	struct swiftrdma_knob_value is[SWIFTRDMA_SHARE_KNOBS];
	char knob[16] = "", state[16] = "";
	uint64_t value = 0, changes;
	uint32_t i = 0;
	int k;

	sscanf(args, "%15s %15s %lu", knob, state, &value);
	k = find_name(knob);
	while (i < 4 && strcmp(states[i], state))
		i++;
	if (k == KNOBS || i == 4 || !copy_block(s->control, is, &changes))
		return -EINVAL;
	s->report->knob[k] = (struct swiftrdma_knob_report){ .state = i, .value = value };
	__atomic_store_n(&s->report->control_seen, changes, __ATOMIC_RELEASE);
	return 0;
}

void knobs_show(const struct share *s)
{
	struct swiftrdma_knob_value is[SWIFTRDMA_SHARE_KNOBS];
	uint64_t changes, now = monotonic();

	if (!copy_block(s->control, is, &changes)) {
		puts("knobs ended");
		return;
	}
	printf("knobs");
	for (int k = 0; k < KNOBS; k++)
		if (is[k].until_ns && names[k])
			printf(" %s %lu for %ld", names[k], (unsigned long)is[k].value,
			       ((long)is[k].until_ns - (long)now) / 1000000);
	putchar('\n');
}

/* The files of other processes, by their descriptors in /proc. */
static bool map_files(const void **to, char **paths, int n)
{
	for (int i = 0; i < n; i++) {
		int fd = open(paths[i], O_RDONLY);

		to[i] = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
		if (to[i] == MAP_FAILED)
			return false;
	}
	return true;
}

/*
 * Threads that sleep and wake, one on each CPU, while something is measured. Where one wakes late,
 * the machine gave the processes that are measured no time either, and the figure says
 * nothing of them.
 */
#define CPUS	64
#define LATE_NS	20000000

static struct {
	pthread_t thread[CPUS];
	int n;
	bool stop;
	unsigned int late;
} calm;

static void *wake_and_sleep(void *arg)
{
	uint64_t last = monotonic(), now;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)(uintptr_t)arg, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (!__atomic_load_n(&calm.stop, __ATOMIC_ACQUIRE)) {
		usleep(1000);
		now = monotonic();
		if (now - last > LATE_NS)
			__atomic_fetch_add(&calm.late, 1, __ATOMIC_RELAXED);
		last = now;
	}
	return NULL;
}

static void calm_begin(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(&calm, 0, sizeof(calm));
	while (calm.n < cpus && calm.n < CPUS &&
	       !pthread_create(&calm.thread[calm.n], NULL, wake_and_sleep,
			       (void *)(uintptr_t)calm.n))
		calm.n++;
}

static bool calm_end(void)
{
	__atomic_store_n(&calm.stop, true, __ATOMIC_RELEASE);
	while (calm.n)
		pthread_join(calm.thread[--calm.n], NULL);
	return !calm.late;
}

int knobs_calm(unsigned int ms)
{
	calm_begin();
	usleep(1000 * ms);
	if (!calm_end())
		puts("late");
	return 0;
}

static double sum_sent(const void **reports, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += (double)((const volatile struct swiftrdma_report *)reports[i])->gone.wrs;
	return sum;
}

int knobs_measure(unsigned int ms, char **paths, int n)
{
	const void *reports[WATCHED];
	uint64_t from, to;
	double before;

	if (n > WATCHED || !map_files(reports, paths, n))
		return 2;
	calm_begin();
	from = monotonic();
	before = sum_sent(reports, n);
	usleep(1000 * ms);
	to = monotonic();
	printf("%.0f", (sum_sent(reports, n) - before) * 1e9 / (double)(to - from));
	puts(calm_end() ? "" : " late");
	return 0;
}

/* At one moment: no control changed between the first that is read and the last. */
static bool read_all(const void **c, int n, int knob, uint64_t *sum)
{
	struct swiftrdma_knob_value is[SWIFTRDMA_SHARE_KNOBS];
	uint64_t changes[WATCHED], again;

	*sum = 0;
	for (int i = 0; i < n; i++) {
		if (!copy_block(c[i], is, &changes[i]))
			return false;
		*sum += is[knob].until_ns ? is[knob].value : 0;
	}
	for (int i = 0; i < n; i++)
		if (!copy_block(c[i], is, &again) || again != changes[i])
			return false;
	return true;
}

int knobs_watch(const char *knob, uint64_t total, unsigned int ms, char **paths, int n)
{
	const void *c[WATCHED];
	uint64_t end = monotonic() + ms * 1000000ull, sum, most = 0, seen = 0;
	int k = find_name(knob);

	if (k == KNOBS || n > WATCHED || !map_files(c, paths, n))
		return 2;
	while (monotonic() < end) {
		usleep(50);
		if (!read_all(c, n, k, &sum))
			continue;
		seen++;
		most = sum > most ? sum : most;
	}
	printf("# the shares were read %lu times, their sum was %lu at most\n", seen, most);
	point(seen > 100 && most <= total && most > total - total / 2,
	      "shares of %s add up to %lu at most", knob, total);
	return !!failed_points;
}
