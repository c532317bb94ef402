// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "stat.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint64_t ran_ns(int pid)
{
	struct timespec ts;
	clockid_t clock;
	int err = clock_getcpuclockid(pid, &clock);

	if (err || clock_gettime(clock, &ts)) {
		fprintf(stderr, "process %d: %s\n", pid, strerror(err ? err : errno));
		exit(1);
	}
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint64_t idle_ns(void)
{
	FILE *f = fopen("/proc/timer_list", "re");
	uint64_t ns = 0;
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, " .idle_sleeptime : %" SCNu64, &ns) == 1;
	if (f)
		fclose(f);
	if (!found) {
		fputs("/proc/timer_list: no idle time\n", stderr);
		exit(1);
	}
	return ns;
}

int samples_add(struct samples *s, uint64_t v)
{
	uint64_t *grown;
	size_t cap;

	if (s->n == s->cap) {
		cap = s->cap ? 2 * s->cap : 1024;
		grown = realloc(s->v, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		s->v = grown;
		s->cap = cap;
	}
	s->v[s->n++] = v;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t samples_quantile(struct samples *s, double percent)
{
	size_t rank;

	if (!s->n)
		return 0;
	qsort(s->v, s->n, sizeof(*s->v), ascending);
	rank = ceil(percent / 100 * s->n);
	return s->v[rank ? rank - 1 : 0];
}

uint64_t number(const char *option, const char *arg, uint64_t min, uint64_t max)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(arg, &end, 0);
	if (errno || end == arg || *end || *arg == '-' || v < min || v > max) {
		fprintf(stderr, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64 "\n",
			option, arg, min, max);
		exit(2);
	}
	return v;
}
