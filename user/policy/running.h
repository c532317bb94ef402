/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What an agent runs by, for commands that judge the same figures: which policy file,
 * the speeds that it gives ports, and its thresholds. The agent writes this at its
 * start and at each reload, in the language of policy files:
 *
 *   file: '/etc/swiftrdma/policy.yaml'
 *   pid: 212
 *   ports:
 *     - {dev: rxe0, port: 1, speed: 20Mbit/s}
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
	struct config cfg;		/* .speeds and .criteria, nothing else */
};

/* @file: of @cfg. False: @f took not all of it. */
bool running_write(FILE *f, const char *file, uint32_t pid, const struct config *cfg);
/* False: this is none. running_free() follows where it is one. */
bool running_read(struct running *r, const char *text, size_t len);
void running_free(struct running *r);

#endif /* SRDMA_POLICY_RUNNING_H */
