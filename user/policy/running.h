/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The settings of the running agent, for commands that judge the same figures: its policy
 * file, port speeds, targets of jobs and criteria. The agent writes them at its start and at
 * each reload, in the language of policy files:
 *
 *   file: '/etc/swiftrdma/policy.yaml'
 *   pid: 212
 *   ports:
 *     - {dev: rxe0, port: 1, speed: 20Mbit/s}
 *   slos:
 *     - {job: kv, slo: {p99: 50us}}
 *   criteria:
 *     port_busy: 80%
 */
#ifndef SRDMA_POLICY_RUNNING_H
#define SRDMA_POLICY_RUNNING_H

#include "policy/config.h"

#define RUNNING_DIR	"/run/swiftrdma"
#define RUNNING_FILE	RUNNING_DIR "/agent.yaml"
#define RUNNING_PATH	512

struct running {
	char file[RUNNING_PATH];	/* "-": standard input */
	uint32_t pid;
	struct config cfg;		/* only .speeds, .slos and .criteria */
};

/* @file: the policy file of @cfg. False: writing failed. */
bool running_write(FILE *f, const char *file, uint32_t pid, const struct config *cfg);
/* False: @text is not such a file. If true, the caller frees @r with running_free(). */
bool running_read(struct running *r, const char *text, size_t len);
void running_free(struct running *r);
/* The settings of the agent that holds its lock on the file @path. False: there is none. */
bool running_find(struct running *r, const char *path);
/* The settings of an agent that would run by the policy file @path. False: it is not valid. */
bool running_by_policy(struct running *r, const char *path);

#endif /* SRDMA_POLICY_RUNNING_H */
