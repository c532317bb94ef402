/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * swiftrdma-agent: one thread with one event loop. agent.c does the work of one tick, loop.c times
 * the ticks. sync.c sets the job rules and levels of the policy file in the kernel. In a dry run
 * dry_run.c changes the reading instead, as if the jobs of the file were set.
 */
#ifndef SRDMA_AGENT_AGENT_H
#define SRDMA_AGENT_AGENT_H

#include "core/policy.h"
#include "explain/crowd.h"
#include "io/io.h"
#include "policy/config.h"

#define AGENT_ORIGIN "agent"
#define AGENT_CROWDED 32	/* processes reported at a time */
#define AGENT_DUE 512	/* actions whose results are outstanding */

struct agent_options {
	const char *config;
	const char *run_dir;	/* of RUNNING_FILE; NULL: none */
	bool once, dry_run, check, json;
	uint64_t interval;	/* ns; 0: that of the file */
	int log_level;
};

/* A process that crowds on a UAR. */
struct agent_crowded {
	uint32_t pid, dev;		/* pid 0: free */
	char comm[SNAP_COMM], name[SNAP_DEVNAME];
	unsigned int seen, gone;	/* checks in a row */
	bool now, said;
};

/* An action whose result is outstanding. */
struct agent_due {
	uint64_t batch;
	uint32_t index;			/* in the batch */
	bool logged;			/* a result with pending QPs was; the kernel may report another */
	struct snap_action action;
};

/* A property of a job that is in force. */
struct agent_setting {
	char job[SNAP_NAME];
	uint32_t job_id;
	unsigned int knob;		/* enum swiftrdma_knob */
	uint64_t value;
	char reason[SNAP_REASON];	/* empty: the policy file says so */
};

/* The settings in force, and those that should be, each in the order of the file. */
struct agent_settings {
	struct agent_setting *is, *want;
	size_t n_is, n_want, cap_is, cap_want;
	uint64_t lease;			/* of all in force; 0: none */
	uint64_t renewed;
	bool wished, followed;		/* some peer wished a level: in this reading; before */
};

struct agent {
	struct agent_options opt;
	struct config cfg;
	struct io *io;
	int events_fd;			/* -1: none */
	bool away_said;			/* logged that the module is away */
	bool need_sync;			/* levels and jobs have to be set */
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
	bool lost;			/* events were lost, perhaps results */
	int assumed;			/* last result of agent_assume() */
	bool dropped_said;		/* logged that it drops what libraries report */
	uint64_t ticks, acts;
	struct crowd crowd;
	struct agent_crowded crowded[AGENT_CROWDED];
	uint64_t looked;		/* time of the last check of UARs, ns */
	int published;			/* descriptor of RUNNING_FILE, locked; -1: none */
	uint64_t hint_from;		/* the first reading under this file, ns; 0: none yet */
	bool hinted;
	/* Bit per knob for which a missing library was logged. */
	uint32_t without_library;
	struct agent_settings settings;
	bool taken_over;		/* looked for overrides in force since it connected */
};

/* Takes over @cfg. */
void agent_init(struct agent *a, const struct agent_options *opt,
		struct config *cfg);
void agent_free(struct agent *a);
uint64_t agent_interval(const struct agent *a);

/**
 * agent_tick - connect if necessary, read, decide, act
 * @a: the agent
 *
 * 0; -ENODEV: the module is away, a later call may succeed; -EPERM: no later call will succeed;
 * -ENOMEM.
 */
int agent_tick(struct agent *a);
/* Handles the events on a->events_fd. */
void agent_events(struct agent *a);
/* Switches to another policy file; takes over @cfg. */
void agent_reload(struct agent *a, struct config *cfg);
/* Ends the lease, which releases its overrides at once. */
void agent_stop(struct agent *a);
/*
 * handover.c. agent_leave() renews the leases and leaves them to the next agent. agent_take_over()
 * takes over the overrides that an agent left in force, once after each connect; the policies'
 * state must have room for the last reading.
 */
void agent_leave(struct agent *a);
void agent_take_over(struct agent *a);
/* Renews the leases, which then live as long as the policy file says. */
void agent_renew(struct agent *a);
/* A status line. */
void agent_status(const struct agent *a, char *buf, size_t cap);

/* loop.c; both return the process's exit status. */
int agent_loop(struct agent *a);
int agent_once(struct agent *a);

/* sync.c: sets jobs, and levels if a->need_sync; a dry run only logs. */
void agent_sync(struct agent *a, const struct snapshot *snap);
/* Do the kernel's jobs equal those of the file? */
bool agent_in_sync(const struct config *cfg, const struct snapshot *snap);
/* True: @job has a rule of an agent, and the file does not name the job. */
bool agent_left_over(const struct config *cfg, const struct snap_job *job);
bool agent_rule(const struct snap_rule *rule);
struct snap_job *agent_find_job(const struct snapshot *snap, const char *name);

/*
 * dry_run.c: changes the last reading as if the jobs of the file were in the kernel. 0: they are
 * there already; 1: the reading was changed; -ENOMEM.
 */
int agent_assume(struct agent *a);

/* unmatched.c: warns about jobs whose rules match no QP. */
void agent_warn_unmatched(struct agent *a);

/*
 * settings.c, at each tick: sets the properties chunk, huge_pages and follow of jobs. @reports: the
 * last reading has reports of libraries. Without reports, chunk and huge_pages stay as they are
 * unless the file changed them.
 */
void agent_settings(struct agent *a, bool reports);
/* Does a job of the file have a property that libraries enforce? */
bool agent_has_settings(const struct config *cfg);
/* Renew the lease at a third of its life; each tick. */
void agent_settings_keep(struct agent *a);
/* Forgets the lease, which has ended, and the settings that were in force under it. */
void agent_settings_lost(struct agent *a);
/* End the lease, at once. */
void agent_settings_stop(struct agent *a);
/* Renew the lease, if there is one. */
void agent_settings_renew(struct agent *a);

/* Is there a process of the job whose library can enforce the knob? */
bool agent_has_library(const struct agent *a, const char *job, uint32_t knob);
/* ns: how long a lease lasts without being renewed. */
uint64_t agent_lease_life(const struct agent *a);

/* result.c: waits for results of actions. */
void agent_due_add(struct agent *a, uint64_t batch, size_t n);
void agent_due_event(struct agent *a, const struct snap_event *ev);
/* True: there is an action of which the kernel has reported no result. */
bool agent_awaits_results(const struct agent *a);
/* Works out the outstanding results from the kernel's present state. */
void agent_due_read(struct agent *a);

/* passed_over.c: logs which policies cannot move or place queue pairs of a job, and why. */
void agent_log_passed_over(struct agent *a, uint64_t now);

/* imbalance.c: reports processes that crowd on UARs. The signals must be computed. */
void agent_imbalance(struct agent *a);

/* publish.c: writes RUNNING_FILE, or removes it. */
void agent_publish(struct agent *a);
void agent_unpublish(struct agent *a);

#define AGENT_LOCK "/var/lib/swiftrdma/agent.lock"

/*
 * lock.c: takes the lock of this host's agent until the process ends. Returns a
 * descriptor, or -errno with the reason in @why; -EBUSY: another agent has it.
 */
int agent_lock(const char *path, char *why, size_t cap);

#endif /* SRDMA_AGENT_AGENT_H */
