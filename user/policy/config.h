/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A policy file, read, checked and compiled into core's structures. A file with a mistake
 * gives no configuration.
 */
#ifndef SRDMA_POLICY_CONFIG_H
#define SRDMA_POLICY_CONFIG_H

#include "core/policy.h"
#include "policy/caps.h"
#include "policy/criteria.h"
#include "policy/diag.h"

#define CONFIG_INTERVAL_DEFAULT	100000000ULL	/* ns */
#define CONFIG_LEASE_DEFAULT	2000000000ULL	/* ns */
#define CONFIG_RANK_DEFAULT	10
/* The agent's default. */
#define CONFIG_DEFAULT		"/etc/swiftrdma/policy.yaml"
#define CONFIG_COOLDOWN_DEFAULT	1000000000ULL	/* ns */
#define CONFIG_NOTE		160

/* A field that is not set leaves the application's value. */
struct config_level {
	uint32_t level, dscp, sl;
	bool has_dscp, has_sl;
};

#define CONFIG_ENV_MAX	32

/* An environment variable that swiftrdma run sets for programs of the job. */
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
	uint32_t chunk;			/* bytes above which libraries split requests; 0: never */
	bool huge_pages;		/* libraries collapse memory before it is registered */
	bool follows;			/* takes levels that peers ask for, up to .follow */
	bool follows_order;		/* .follow is the level that the order allows the job */
	uint32_t follow;
	unsigned int line;
};

/* The text of a policy, for printing. */
struct config_policy {
	unsigned int line, col;
	char *who, *when, *act, *undo_when, *undo_act;
	char *fallback[POLICY_FALLBACKS + 1], *undo_fallback[POLICY_FALLBACKS + 1]; /* to NULL */
	char because[CONFIG_NOTE];	/* its 'because:' */
	char off[CONFIG_NOTE];		/* why the policy cannot run here; empty: it can */
	bool by_fallback;		/* only a fallback can be measured here */
	/* A signal of each fallback that nothing measures here; SIGNALS: there is none. */
	enum signal_id lacks[POLICY_FALLBACKS];
	/* Signals of its state that only libswiftrdma measures: "job.p99"; empty: none */
	char library[CONFIG_NOTE];
	/* Its knobs that only libswiftrdma enforces: "job.credits" */
	char library_knobs[CONFIG_NOTE];
	uint32_t rank;			/* its 'rank:'; 0: none */
};

struct config {
	struct caps caps;
	uint64_t interval, lease;	/* ns */
	uint64_t smoothing;		/* ns; 0: the default */
	uint64_t window, looks_window;	/* as in struct signal_opts */
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
	struct config_policy *texts;	/* per policy */
	bool derived;			/* the policies come from jobs and order */
};

/*
 * False: @r has the errors, @cfg is empty. True: @r may have warnings. A file that has an
 * order and no policies gets policies from derive.h.
 */
bool config_load_text(struct config *cfg, const char *text, size_t len,
		      struct diag *r);
/* The same for the capabilities of another system. */
bool config_load_text_for(struct config *cfg, const struct caps *caps,
			  const char *text, size_t len, struct diag *r);
/* Reads a file, which the caller frees; "-" is standard input. NULL, with an error. */
char *config_read(const char *path, size_t *len, struct diag *r);
bool config_load_file(struct config *cfg, const char *path, struct diag *r);
bool config_load_file_for(struct config *cfg, const struct caps *caps,
			  const char *path, struct diag *r);
void config_free(struct config *cfg);
struct signal_opts config_signal_opts(const struct config *cfg);
/*
 * Divides the times of the policies, the interval, the smoothing and the windows of latencies by
 * @by, and multiplies the rates of the policies by it. 0 or -ENOMEM.
 */
int config_shorten_times(struct config *cfg, double by);
/* Bit per class level that the file sets. */
uint32_t config_levels(const struct config *cfg);

#endif /* SRDMA_POLICY_CONFIG_H */
