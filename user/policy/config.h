/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A policy file, read, checked and compiled into core's structures. All or
 * nothing: a file with one mistake gives no configuration at all.
 */
#ifndef SRDMA_POLICY_CONFIG_H
#define SRDMA_POLICY_CONFIG_H

#include "core/policy.h"
#include "policy/caps.h"
#include "policy/criteria.h"
#include "policy/report.h"

#define CONFIG_INTERVAL_DEFAULT	100000000ULL	/* ns */
#define CONFIG_LEASE_DEFAULT	2000000000ULL	/* ns */
#define CONFIG_RANK_DEFAULT	10
/* Where an agent is told nothing else. */
#define CONFIG_DEFAULT		"/etc/swiftrdma/policy.yaml"
#define CONFIG_COOLDOWN_DEFAULT	1000000000ULL	/* ns */
#define CONFIG_NOTE		160

/* What it does not have stays as the application asked for. */
struct config_level {
	uint32_t level, dscp, sl;
	bool has_dscp, has_sl;
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
	uint64_t slo_p99;		/* ns; 0: none */
	double slo_byte_rate;		/* bit/s; 0: none */
	uint32_t rank;			/* place in the order, from 1; 0: none */
	unsigned int line;
};

/* A policy as it is written, for whoever wants to read or print it. */
struct config_policy {
	unsigned int line, col;
	char *who, *when, *fallback, *act, *undo_when, *undo_fallback,
	     *undo_act;
	char because[CONFIG_NOTE];	/* the intent it comes from */
	char off[CONFIG_NOTE];		/* why it cannot run here; empty: it can */
	bool by_fallback;		/* here its fallback decides */
	uint32_t rank;			/* said to be its place; 0: not said */
};

struct config {
	struct caps caps;
	uint64_t interval, lease;	/* ns */
	uint64_t smoothing;		/* ns; 0: the default */
	uint32_t rank;
	struct config_level levels[SWIFTRDMA_LEVEL_MAX + 1];
	size_t n_levels;
	struct signal_speed *speeds;
	size_t n_speeds;
	struct criteria criteria;
	struct config_job *jobs;
	size_t n_jobs;
	struct signal_slo *slos;
	size_t n_slos;
	struct policy_rank *ranks;	/* jobs that the order names */
	size_t n_ranks;
	struct policy_set policies;
	struct config_policy *texts;	/* one per policy */
	bool derived;			/* the policies come from jobs and order */
};

/*
 * False: @r says why, @cfg is empty. True: @r may hold warnings. A file with an
 * order and without policies gets those that derive.h makes of it.
 */
bool config_load_text(struct config *cfg, const char *text, size_t len,
		      struct report *r);
/* The same for another system than this one. */
bool config_load_text_for(struct config *cfg, const struct caps *caps,
			  const char *text, size_t len, struct report *r);
/* @path "-" is standard input, here and below. NULL: @r says why; else for free(). */
char *config_read(const char *path, size_t *len, struct report *r);
bool config_load_file(struct config *cfg, const char *path, struct report *r);
bool config_load_file_for(struct config *cfg, const struct caps *caps,
			  const char *path, struct report *r);
void config_free(struct config *cfg);
struct signal_opts config_signal_opts(const struct config *cfg);
/* Divides every time of the policies and of the smoothing by @by. 0 or -ENOMEM. */
int config_hurry(struct config *cfg, double by);
/* Bit per class level that the file says the meaning of. */
uint32_t config_levels(const struct config *cfg);

#endif /* SRDMA_POLICY_CONFIG_H */
