/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * swiftrdma-agent: one thread, one loop. agent.c is what happens in one turn
 * of it and the only place that holds both io and policy; loop.c says when;
 * sync.c keeps the kernel's job rules and levels those of the policy file.
 */
#ifndef SRDMA_AGENT_AGENT_H
#define SRDMA_AGENT_AGENT_H

#include "core/crowd.h"
#include "core/policy.h"
#include "io/io.h"
#include "policy/config.h"

#define AGENT_ORIGIN "agent"
#define AGENT_CROWDED 32	/* processes that are told of at a time */
#define AGENT_BATCHES 64	/* own batches whose results may be due */

struct agent_options {
	const char *config;
	bool once, dry_run, check, json;
	uint64_t interval;	/* ns; 0: the file says */
	int log_level;
};

/* A process that crowds on a UAR. */
struct agent_crowded {
	uint32_t pid, dev;		/* pid 0: free */
	char comm[SNAP_COMM], name[SNAP_DEVNAME];
	unsigned int seen, gone;	/* looks in a row */
	bool now, said;
};

struct agent {
	struct agent_options opt;
	struct config cfg;
	struct io *io;
	int events_fd;			/* -1: none */
	bool away_said;			/* that the module is away */
	bool need_sync;			/* of all the file says */
	struct snapshot snap[2];
	unsigned int cur;		/* the newer of the two */
	unsigned int readings;		/* since the connection was made */
	struct signals sig;
	struct policy_state state;
	struct policy_decision decisions[SWIFTRDMA_BATCH_MAX];
	struct snap_action batch[SWIFTRDMA_BATCH_MAX];
	uint64_t lease;			/* 0: none */
	uint64_t renewed;
	uint64_t batches[AGENT_BATCHES];
	unsigned int n_batches;
	unsigned int results_due;
	uint64_t ticks, acts;
	struct crowd crowd;
	struct agent_crowded crowded[AGENT_CROWDED];
	uint64_t looked;		/* when UARs were, ns */
};

/* Takes over @cfg. */
void agent_init(struct agent *a, const struct agent_options *opt,
		struct config *cfg);
void agent_free(struct agent *a);
uint64_t agent_interval(const struct agent *a);

/**
 * agent_tick - connect if need be, read, decide, act
 *
 * 0; -ENODEV: the module is away, try again later; -EPERM: never will.
 */
int agent_tick(struct agent *a);
/* The events that wait on a->events_fd. */
void agent_events(struct agent *a);
/* Go on under another file; takes over @cfg. */
void agent_reload(struct agent *a, struct config *cfg);
/* Give up the lease, so that what it holds goes at once. */
void agent_stop(struct agent *a);
/* How things stand, in one line. */
void agent_status(const struct agent *a, char *buf, size_t cap);

/* loop.c; both return the process's exit status. */
int agent_loop(struct agent *a);
int agent_once(struct agent *a);

/* sync.c: the jobs, and if need be the levels too. */
void agent_sync(struct agent *a, const struct snapshot *snap);

/* imbalance.c: say who crowds on UARs, after the signals were computed. */
void agent_imbalance(struct agent *a);

/* privs.c: keep CAP_NET_ADMIN and nothing else. 0 or -errno. */
int privs_drop(void);

#endif /* SRDMA_AGENT_AGENT_H */
