/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A scenario without policies and with them, and what came of it for each job. */
#ifndef SELFTESTS_UNIT_SIM_RIG_H
#define SELFTESTS_UNIT_SIM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/claim.h"

/* Those that are shipped, one for each contention; fleet.yaml has a test of its own. */
static const char *const scenarios[] = {
	"all", "cache", "hol", "neighbour", "pages", "port", "rate", "scale", "storm",
	"thrash", "uar",
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static struct scenario sc;
static struct sim_result without, with;
static struct config cfg;

/* Policies of the tree, as they run in the scenario that was loaded. */
static inline void load_policies_for(const char *policies)
{
	struct caps caps = sim_caps(sc.device);
	struct diag r;
	char path[256];

	snprintf(path, sizeof(path), TOP "/user/%s.yaml", policies);
	diag_init(&r, path);
	if (!config_load_file_for(&cfg, &caps, path, &r)) {
		diag_print(&r, stderr);
		fail();
	}
	assert_int_equal(config_shorten_times(&cfg, sim_hurry(&sc, &cfg)), 0);
	scenario_take_jobs(&sc, &cfg, &r);
}

/* A scenario, and policies of the tree. */
static inline void load(const char *name, const char *policies)
{
	struct diag r;
	char path[256];

	snprintf(path, sizeof(path), TOP "/user/sim/scenarios/%s.yaml", name);
	diag_init(&r, path);
	if (!scenario_load(&sc, path, &r)) {
		diag_print(&r, stderr);
		fail();
	}
	assert_string_equal(sc.name, name);
	assert_true(strlen(sc.claim) > 20);
	load_policies_for(policies);
}

/* Without, and with what was loaded, which is freed. */
static inline void run_both(void)
{
	assert_int_equal(sim_run_both(&sc, &cfg, &without, &with), 0);
	config_free(&cfg);
	assert_int_equal(without.decisions, 0);
	assert_true(with.decisions > 0);
}

static inline size_t job(const char *name)
{
	uint32_t i = scenario_job(&sc, name);

	if (i == SIM_NO_JOB)
		fail_msg("no job %s", name);
	return i;
}

static inline double p99(const struct sim_result *r, const char *name)
{
	return (double)sim_hist_quantile(&r->job[job(name)].latency, 0.99) /
	       1000;
}

static inline double done(const struct sim_result *r, const char *name)
{
	return (double)r->job[job(name)].done;
}

static inline double met(const struct sim_result *r, const char *name)
{
	const struct sim_job_result *j = &r->job[job(name)];

	return (double)j->met / j->ticks;
}

/* What the scenario says that it shows. */
static inline void claims_hold(void)
{
	char text[160];
	size_t i;

	assert_true(sc.n_bounds > 0);
	for (i = 0; i < sc.n_bounds; i++) {
		sim_bound_text(&sc, &sc.bounds[i], &without, &with, text, sizeof(text));
		printf("# %s: %s\n", sc.name, text);
		if (!sim_holds(&sc.bounds[i], &without, &with))
			fail_msg("%s: %s", sc.name, text);
	}
}

#define HOLDS(what, value, op, bound)					\
	do {								\
		double v_ = (value);					\
		printf("# %s: " what ": %.3g, " #op " " #bound "\n",	\
		       sc.name, v_);					\
		assert_true(v_ op (bound));				\
	} while (0)

#endif /* SELFTESTS_UNIT_SIM_RIG_H */
