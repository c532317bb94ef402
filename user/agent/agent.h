/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * swiftrdma-agent: one thread, one loop. agent.c is what happens in one turn
 * of it and the only place that holds both io and policy; loop.c says when;
 * sync.c keeps the kernel's job rules and levels those of the policy file;
 * assume.c does as if they were, in a dry run.
 */
#ifndef SRDMA_AGENT_AGENT_H
#define SRDMA_AGENT_AGENT_H

#include "core/crowd.h"
#include "core/policy.h"
#include "io/io.h"
#include "policy/config.h"

#define AGENT_ORIGIN "agent"
#define AGENT_CROWDED 32	/* processes that are told of at a time */
#define AGENT_DUE 512	/* results of own actions that are waited for */

struct agent_options {
	const char *config;
	const char *run_dir;	/* where to say what it runs by; NULL: nowhere */
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

/* An action whose result was not heard yet. */
struct agent_due {
	uint64_t batch;
	uint32_t index;			/* its place in there */
	struct snap_action action;
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
	struct agent_due due[AGENT_DUE];	/* oldest first */
	unsigned int n_due;
	bool lost;			/* events were, among them results */
	int assumed;			/* what agent_assume() said last */
	uint64_t ticks, acts;
	struct crowd crowd;
	struct agent_crowded crowded[AGENT_CROWDED];
	uint64_t looked;		/* when UARs were, ns */
	int published;			/* what it runs by, locked; -1: not said */
	uint64_t hint_from;		/* the first reading under this file, ns; 0: none yet */
	bool hinted;
};

/* Takes over @cfg. */
void agent_init(struct agent *a, const struct agent_options *opt,
		struct config *cfg);
void agent_free(struct agent *a);
uint64_t agent_interval(const struct agent *a);

/**
 * agent_tick - connect if need be, read, decide, act
 * @a: the agent
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

/* sync.c: the jobs, and if need be the levels too; in a dry run in words alone. */
void agent_sync(struct agent *a, const struct snapshot *snap);
/* Are the kernel's jobs those of the file? */
bool agent_in_sync(const struct config *cfg, const struct snapshot *snap);
/* One of ours that the file does not name. */
bool agent_left_over(const struct config *cfg, const struct snap_job *job);
bool agent_rule(const struct snap_rule *rule);
struct snap_job *agent_find_job(const struct snapshot *snap, const char *name);

/* assume.c: make @snap what it would be if they were. 0: it is; 1; or -ENOMEM. */
int agent_assume(const struct config *cfg, struct snapshot *snap);

/* hint.c: of jobs that match nothing */
void agent_hint(struct agent *a);

/* result.c: what became of what was asked for. */
void agent_due_add(struct agent *a, uint64_t batch, size_t n);
void agent_due_event(struct agent *a, const struct snap_event *ev);
/* Results that were not heard, from what the kernel holds now. */
void agent_due_read(struct agent *a);

/* imbalance.c: say who crowds on UARs, after the signals were computed. */
void agent_imbalance(struct agent *a);

/* publish.c: say what it runs by, or that it does not run any more. */
void agent_publish(struct agent *a);
void agent_unpublish(struct agent *a);

#define AGENT_LOCK "/var/lib/swiftrdma/agent.lock"

/*
 * lock.c: be the one agent of this host, until the process ends. A descriptor, or
 * -errno with the reason in words; -EBUSY: another is.
 */
int agent_lock(const char *path, char *why, size_t cap);

/* privs.c: keep CAP_NET_ADMIN and nothing else. 0 or -errno. */
int privs_drop(void);

#endif /* SRDMA_AGENT_AGENT_H */
