// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run.h"
#include "policy/config.h"

static bool put(const struct config_job *job)
{
	for (size_t i = 0; i < job->n_env; i++) {
		if (setenv(job->env[i].name, job->env[i].value, 1)) {
			fprintf(stderr, "swiftrdma: %s: %s\n",
				job->env[i].name, strerror(errno));
			return false;
		}
	}
	return true;
}

int run_policy_environment(const char *file, bool asked, const char *job)
{
	struct config cfg;
	struct report r;
	int ret = 0;

	if (!asked && access(file, F_OK))
		return 0;
	report_init(&r, file);
	if (!config_load_file(&cfg, file, &r)) {
		report_print(&r, stderr);
		return -1;
	}
	for (size_t i = 0; i < cfg.n_jobs; i++)
		if (!strcmp(cfg.jobs[i].name, job))
			ret = put(&cfg.jobs[i]) ? 1 : -1;
	config_free(&cfg);
	if (asked && !ret) {
		fprintf(stderr, "swiftrdma: %s has no job '%s'\n", file, job);
		ret = -1;
	}
	return ret;
}
