/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * swiftrdma doctor: doctor.c reads and prints. Each of the other files judges one area
 * of what was read, and reads nothing itself.
 */
#ifndef SRDMA_CLI_DOCTOR_H
#define SRDMA_CLI_DOCTOR_H

#include "core/host.h"
#include "io/io.h"
#include "policy/config.h"

enum doctor_area {
	DOCTOR_MODULE,
	DOCTOR_KERNEL,
	DOCTOR_AGENT,
	DOCTOR_DEVICE,
	DOCTOR_LIMITS,
	DOCTOR_POLICY,
	DOCTOR_QOS,
	DOCTOR_AREAS,
};

extern const char *const doctor_areas[DOCTOR_AREAS + 1];

/* The worse, the greater. */
enum doctor_verdict {
	DOCTOR_FINE,
	DOCTOR_UNSEEN,		/* could not be looked at */
	DOCTOR_WARNING,
	DOCTOR_ERROR,
	DOCTOR_VERDICTS,
};

#define DOCTOR_OBJECT	128
#define DOCTOR_SAYS	640
#define DOCTOR_MEND	384

struct finding {
	enum doctor_area area;
	enum doctor_verdict verdict;
	const char *rule;	/* what was judged, for programs: "pfc" */
	bool detail;		/* of what is fine, more than most want to read */
	char object[DOCTOR_OBJECT];	/* "mlx5_0/1 hca0" */
	char says[DOCTOR_SAYS];
	char mend[DOCTOR_MEND];	/* a command; empty: none does */
};

/* Why a policy cannot run on a device, or empty. */
struct doctor_policy {
	const char *name, *dev;
	char off[CONFIG_NOTE];
};

#define DOCTOR_LEVELS	(SWIFTRDMA_LEVEL_MAX + 1)

/* What is judged, and what was found. */
struct doctor {
	const struct host *host;
	const char *version;		/* of this command */

	bool answers;			/* the module does; else .io_words */
	int armed;			/* 0, -ESHUTDOWN, -EPERM, ... */
	int events;			/* 0 or -errno */
	char io_words[256], event_words[256];
	const struct snapshot *snap;	/* empty where it does not answer */
	struct io_level levels[DOCTOR_LEVELS];
	int n_levels;			/* or -errno */
	const struct snap_action *actions;
	size_t n_actions;
	int actions_error;

	const char *file;		/* of policies */
	bool file_there;
	const struct config *cfg;	/* NULL: it is not there, or wrong: */
	const struct report *report;
	const struct doctor_policy *policies;
	size_t n_policies;
	/* Units of systemd that jobs are, and what they may lock. */
	struct doctor_unit {
		const char *job;
		char unit[SNAP_PATH];
		uint64_t memlock;
	} *units;
	size_t n_units;

	struct finding *found;
	size_t n, cap;
	bool no_memory;
};

/* A finding; what follows it goes to the last one. */
void doctor_say(struct doctor *d, enum doctor_area area,
		enum doctor_verdict verdict, const char *rule,
		const char *object, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
void doctor_mend(struct doctor *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_detail(struct doctor *d);
/* Is there something to mend of this object? */
bool doctor_ails(const struct doctor *d, enum doctor_area area,
		 const char *object);

/* NULL: the module does not have it, or does not answer. */
const struct snap_dev *doctor_snap_dev(const struct doctor *d, const char *name);
bool doctor_is_mlx5(const struct host_dev *dev);
/* "kv.service" of "/system.slice/kv.service"; NULL: this is none, or a pattern. */
const char *doctor_service(const char *cgroup);

/* What follows a command that sets a level, where the policy file does, too. */
const char *doctor_level_note(const struct doctor *d);

void doctor_module(struct doctor *d);
void doctor_kernel(struct doctor *d);
void doctor_agent(struct doctor *d);
void doctor_devices(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_policies(struct doctor *d);
void doctor_qos(struct doctor *d);

/* Between doctor_qos.c, of Ethernet ports, and doctor_sl.c, of InfiniBand's. */

/* Those that policies use, as far as that is known; their number. */
size_t doctor_levels(const struct doctor *d, struct io_level *levels);
/* DSCPs (or SLs) that applications ask for there; *qps: how many QPs do. */
uint64_t doctor_asked(const struct doctor *d, const struct host_port *port,
		      bool sl, uint32_t *qps);
void doctor_sls(struct doctor *d, const struct host_port *port,
		const struct io_level *levels, size_t n);

#endif /* SRDMA_CLI_DOCTOR_H */
