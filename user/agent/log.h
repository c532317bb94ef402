/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Log of the agent. Messages go to stderr, prefixed with their level if stderr is the
 * journal. Decisions go there too, and with --log-json also to stdout, one object a line.
 */
#ifndef SRDMA_AGENT_LOG_H
#define SRDMA_AGENT_LOG_H

#include <syslog.h>

#include "core/policy.h"

void log_open(int level, bool json);
/* "err", "warning", "info", "debug"; -1: no such level. */
int log_level(const char *name);
/* Warnings and errors with the same @fmt are rate-limited. */
void log_msg(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* @batch: 0: the decision has no batch of its own, and no batch is logged. */
void log_decision(const struct policy *p, const struct policy_decision *d,
		  bool dry_run, uint64_t batch, uint64_t now);

/* A process that crowds on a UAR. */
struct log_crowd {
	const char *dev, *job, *comm;
	uint32_t pid, uar;	/* the most contended one */
	uint32_t qps, uars, most, active;
	double coactive;
	const char *advice;	/* NULL: none */
};

void log_crowded(const struct log_crowd *c, uint64_t now);
/*
 * Logs that @policy decides nothing about @qps queue pairs of @job, because @knob, which is qp.uar
 * or job.place, cannot apply to them.
 */
void log_passed_over(const char *policy, const char *job, unsigned int knob, uint32_t qps, uint64_t now);
void log_result(const struct snap_action *a, uint64_t batch, uint32_t index);

#endif /* SRDMA_AGENT_LOG_H */
