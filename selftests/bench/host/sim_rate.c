// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many work requests a second the simulator gets done, on the host, with the
 * policies that are derived for its scenarios, from the first allocation to the last free.
 * Times are of the thread's CPU clock, which does not count waiting for a CPU. But others
 * on the machine share its caches and cores, for seconds at a time, and
 * that only ever adds time. So of several runs of the same work the fastest counts, and the
 * row tells of how many, and their median.
 *
 *   sim_rate		a row for each scenario, as in selftests/bench/run.sh
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/sim.h"

#define RUNS	20
#define GOAL	5e6	/* WR/s */

static const char *const scenarios[] = { "thrash", "cache", "uar" };

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct scenario sc;
static struct sim_result res;
static struct config cfg;

static bool load(const char *name)
{
	const struct caps all = caps_all();
	struct diag r;
	char path[64];

	snprintf(path, sizeof(path), "user/sim/scenarios/%s.yaml", name);
	diag_init(&r, path);
	if (scenario_load(&sc, path, &r) &&
	    config_load_file_for(&cfg, &all, "user/sim/policy.yaml", &r))
		return true;
	diag_print(&r, stderr);
	return false;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool row(const char *name)
{
	struct sim_options opt = { .cfg = &cfg };
	double rate[RUNS], best, from;
	uint64_t wrs = 0;
	int i;

	if (!load(name))
		return false;
	for (i = 0; i < RUNS; i++) {
		from = cpu();
		if (sim_run(&sc, &opt, &res))
			return false;
		rate[i] = (double)res.wrs / (cpu() - from);
		/* The same seed: else these are not runs of one thing. */
		if (i && res.wrs != wrs)
			return false;
		wrs = res.wrs;
	}
	qsort(rate, RUNS, sizeof(rate[0]), ascending);
	best = rate[RUNS - 1];
	printf("{\"bench\":\"sim_rate_%s\",\"value\":%.3g,\"unit\":\"1/s\",\"vs\":null,\"ratio\":null,\"goal\":\"value >= %g\",\"ok\":%s,\"best_of\":%d,\"median\":%.3g,\"wrs\":%llu,\"events_per_wr\":%.3g}\n",
	       name, best, GOAL, best >= GOAL ? "true" : "false", RUNS, rate[RUNS / 2],
	       (unsigned long long)wrs, (double)res.events / (double)wrs);
	fflush(stdout);
	config_free(&cfg);
	return true;
}

int main(void)
{
	size_t i;

	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!row(scenarios[i])) {
			fprintf(stderr, "sim_rate: %s cannot be simulated\n", scenarios[i]);
			return 1;
		}
	return 0;
}
