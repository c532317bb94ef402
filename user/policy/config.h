/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A policy file, read, checked and compiled into core's structures. All or
 * nothing: a file with one mistake gives no configuration at all.
 */
#ifndef SRDMA_POLICY_CONFIG_H
#define SRDMA_POLICY_CONFIG_H

#include "core/policy.h"
#include "policy/report.h"

#define CONFIG_INTERVAL_DEFAULT	100000000ULL	/* ns */
#define CONFIG_LEASE_DEFAULT	2000000000ULL	/* ns */
#define CONFIG_RANK_DEFAULT	10
#define CONFIG_COOLDOWN_DEFAULT	1000000000ULL	/* ns */
#define CONFIG_POLICIES_MAX	256

struct config_level {
	uint32_t level, dscp, sl;
};

/* What a program of the job is to be started with, by swiftrdma run. */
#define CONFIG_ENV_MAX	32

struct config_env {
	char name[64], value[256];
};

struct config_job {
	char name[SNAP_NAME];
	uint32_t class;			/* enum swiftrdma_job_class */
	struct snap_rule *rules;
	size_t n_rules;
	struct config_env *env;
	size_t n_env;
	unsigned int line;
};

/* Where in the file a policy stands, for what is checked across policies. */
struct config_place {
	unsigned int line, col;
};

struct config {
	uint64_t interval, lease;	/* ns */
	uint64_t smoothing;		/* ns; 0: the default */
	uint32_t rank;
	struct config_level levels[SWIFTRDMA_LEVEL_MAX + 1];
	size_t n_levels;
	struct signal_speed *speeds;
	size_t n_speeds;
	struct config_job *jobs;
	size_t n_jobs;
	struct signal_slo *slos;
	size_t n_slos;
	struct policy_set policies;
	struct config_place *places;	/* one per policy */
};

/* False: @r says why, @cfg is empty. */
bool config_load_text(struct config *cfg, const char *text, size_t len,
		      struct report *r);
/* @path "-" is standard input. */
bool config_load_file(struct config *cfg, const char *path, struct report *r);
void config_free(struct config *cfg);
struct signal_opts config_signal_opts(const struct config *cfg);

#endif /* SRDMA_POLICY_CONFIG_H */
