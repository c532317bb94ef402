/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * swiftrdma doctor. cmd_doctor.c reads the host, calls the judges, and prints their findings. Each
 * doctor_*.c judges one area and reads nothing itself.
 */
#ifndef SRDMA_CLI_DOCTOR_H
#define SRDMA_CLI_DOCTOR_H

#include "io/host_info.h"
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

/* In order of severity. */
enum doctor_verdict {
	DOCTOR_FINE,
	DOCTOR_UNSEEN,		/* could not be checked */
	DOCTOR_WARNING,
	DOCTOR_ERROR,
	DOCTOR_VERDICTS,
};

#define DOCTOR_OBJECT	(SNAP_PATH + SNAP_DEVNAME)	/* "CGROUP DEV" */
#define DOCTOR_SAYS	640
#define DOCTOR_MEND	384

struct finding {
	enum doctor_area area;
	enum doctor_verdict verdict;
	const char *rule;	/* identifies the check for programs: "pfc" */
	bool detail;		/* shown with --details only */
	char object[DOCTOR_OBJECT];	/* "mlx5_0/1 hca0" */
	char says[DOCTOR_SAYS];
	char mend[DOCTOR_MEND];	/* a command that helps; empty: none */
};

/* Why a policy cannot run on a device, or empty. */
struct doctor_policy {
	const char *name, *dev;
	char off[CONFIG_NOTE];
};

#define DOCTOR_LEVELS	(SWIFTRDMA_LEVEL_MAX + 1)

/* Input and findings. */
struct doctor {
	const struct host *host;
	const char *version;		/* of this command */

	bool answers;			/* the module answers; else see .io_words */
	int armed;			/* 0, -ESHUTDOWN, or why it could not be read */
	int events;			/* 0 or -errno */
	char io_words[256], event_words[256];
	const struct snapshot *snap;	/* empty if the module does not answer */
	struct io_level levels[DOCTOR_LEVELS];
	int n_levels;			/* or -errno */
	const struct snap_action *actions;
	size_t n_actions;
	int actions_error;

	const char *file;		/* policy file */
	bool file_there;
	const struct config *cfg;	/* NULL: the file is missing or has mistakes: */
	const struct diag *diag;
	const struct doctor_policy *policies;
	size_t n_policies;
	/* systemd units that jobs name, and their limits of locked memory. */
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

/*
 * Adds a finding. doctor_mend() and doctor_no_mend() refer to the last one. Root pastes the
 * command, so one that does not fit or has control characters is left out, and the finding says so.
 */
void doctor_say(struct doctor *d, enum doctor_area area,
		enum doctor_verdict verdict, const char *rule,
		const char *object, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
void doctor_mend(struct doctor *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_no_mend(struct doctor *d, const char *why);
void doctor_detail(struct doctor *d);
/* Does this object have a finding that is not fine? */
bool doctor_ails(const struct doctor *d, enum doctor_area area, const char *object);

/* NULL: the module does not know the device, or does not answer. */
const struct snap_dev *doctor_snap_dev(const struct doctor *d, const char *name);
bool doctor_is_mlx5(const struct host_dev *dev);
/* The kind that the module reports; if it reports none, the one in sysfs. */
enum host_function doctor_function(const struct doctor *d, const struct host_dev *dev);
/* "kv.service" of "/system.slice/kv.service"; NULL: not a unit, or a pattern. */
const char *doctor_service(const char *cgroup);

/* A shell comment behind a level command if the policy file sets levels too. */
const char *doctor_level_note(const struct doctor *d);

void doctor_module(struct doctor *d);
void doctor_kernel(struct doctor *d);
void doctor_agent(struct doctor *d);
void doctor_devices(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_policies(struct doctor *d);
void doctor_qos(struct doctor *d);

/* Shared by doctor_qos.c (Ethernet) and doctor_sl.c (InfiniBand). */

/* The levels that policies use, as far as known. Returns their number. */
size_t doctor_levels(const struct doctor *d, struct io_level *levels);
/* Bit per DSCP (or SL) that applications ask for on @port; *@qps: number of QPs. */
uint64_t doctor_asked(const struct doctor *d, const struct host_port *port,
		      bool sl, uint32_t *qps);
void doctor_sls(struct doctor *d, const struct host_port *port,
		const struct io_level *levels, size_t n);
/* doctor_lacking.c: levels without an SL on InfiniBand, without a DSCP on Ethernet. */
void doctor_lacking_sl(struct doctor *d, const struct host_port *port, const char *object,
		       const struct io_level *levels, size_t n);
void doctor_lacking_dscp(struct doctor *d, const struct host_net *net, const char *object,
			 const struct io_level *levels, size_t n);

#endif /* SRDMA_CLI_DOCTOR_H */
