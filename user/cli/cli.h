/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by all nouns of the command. */
#ifndef SRDMA_CLI_CLI_H
#define SRDMA_CLI_CLI_H

#include <time.h>

#include "cli/args.h"
#include "cli/out.h"
#include "core/signal.h"
#include "explain/crowd.h"
#include "explain/reading.h"
#include "io/io.h"
#include "policy/running.h"

/* Origin of the rules and leases that this command sets. */
#define CLI_ORIGIN	"cli"

struct cli {
	const char *version;
	struct io *io;
	struct out out;
	uint32_t interval_ms;	/* 0: totals only */
	struct snapshot snap, older, spare;
	struct signals sig;
	unsigned int steps;	/* done in the current interval */
	struct crowd crowd;	/* of .sig, after cli_crowd() */
	/* RUNNING_FILE of an agent, and the policy file to use without one; NULL: none */
	const char *run_file, *policy_file;
	struct running running;	/* after cli_running() */
	bool looked;
};

struct verb {
	const char *name;
	int (*run)(struct cli *cli, struct args *args);
};

/* A table that a noun prints, or that another table has as a column: "job.devs.held". */
struct noun_table {
	const char *name;
	const struct column *columns;
	size_t n;
};

#define NOUN_TABLE(name, columns) { name, columns, sizeof(columns) / sizeof((columns)[0]) }

/* Those that several nouns print. */
extern const struct noun_table dev_table, port_table, uar_table, qp_table, job_table,
			       qp_audit_table, qp_peer_table, action_result_table, event_lease_table,
			       event_congestion_table, policy_simulate_table,
			       policy_sweep_table, policy_hosts_table, policy_replay_table;

/* The first verb is the default. */
struct noun {
	const char *name;
	const struct verb *verbs;	/* ends with a NULL name */
	const char *help;
	const struct noun_table *const *tables;	/* ends with NULL; NULL: it prints none */
	const char *own;	/* an option that means something else after this noun; NULL: none */
};

extern const struct noun noun_dev, noun_port, noun_uar, noun_qp, noun_job,
			 noun_action, noun_level, noun_monitor, noun_module,
			 noun_top, noun_run, noun_policy, noun_record,
			 noun_doctor, noun_probe;

static inline int cli_io_error(const struct cli *cli)
{
	return cli_fail("%s", io_error(cli->io));
}

static inline int cli_no_memory(void)
{
	return cli_fail("out of memory");
}

/* Prints rows as the whole answer to a command. CLI_OK, or CLI_ERROR with a message. */
static inline int cli_show(struct cli *cli, const struct rows *rows)
{
	return out_rows(cli, &cli->out, rows) ? cli_no_memory() : CLI_OK;
}

/* Connects unless connected. CLI_OK, or CLI_ERROR with a message on stderr. */
int cli_open(struct cli *cli);

/* ns of CLOCK_MONOTONIC, as snapshots have it. */
static inline uint64_t cli_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t cli_now_ms(void)
{
	return cli_now() / 1000000;
}

/**
 * cli_read - read objects into cli->snap
 * @cli: the command
 * @want: what to read
 *
 * With --interval it reads twice, one interval apart, and computes rates into cli->sig.
 * UARs are also read in between: uar.coactive is the share of readings in which two or
 * more QPs of a UAR advanced.
 */
int cli_read(struct cli *cli, const struct io_want *want);

/*
 * cli_read() in steps, for callers with an event loop: cli_begin() takes the first
 * reading of an interval, cli_step() each further one, at most CLI_STEPS_MAX. Both
 * return the result of io_snapshot(), or -ENOMEM.
 */
#define CLI_STEPS_MAX	10
int cli_begin(struct cli *cli, const struct io_want *want);
/* Steps of an interval that has begun: one where the module itself counts uar.coactive. */
unsigned int cli_steps(const struct cli *cli, uint32_t interval_ms);
int cli_step(struct cli *cli, const struct io_want *want, bool last);
/* Makes the last reading the first one of the next interval. */
void cli_turn(struct cli *cli);
/* Ranks UARs by crowding into cli->crowd. CLI_OK, or CLI_ERROR with a message. */
int cli_crowd(struct cli *cli);

/*
 * thresholds.c: port speeds and criteria of the running agent, else of the policy file,
 * else the devices' own speeds and the default criteria. Looked up once per interval.
 */
const struct running *cli_running(struct cli *cli);
struct signal_opts cli_signal_opts(struct cli *cli);
/* The value of a criterion; cli_running() must have been called. */
double cli_criterion(const struct cli *cli, const char *name);

/* view_names.c: names of the objects in cli->snap. */
const struct snap_dev *view_dev(const struct cli *cli, uint32_t index);
void view_dev_name(const struct cli *cli, uint32_t index, struct cell *c);
const struct snap_job *view_job(const struct cli *cli, uint32_t id);
void view_job_name(const struct cli *cli, uint32_t id, struct cell *c);
void view_word(enum unit unit, uint32_t value, struct cell *c);
/* "level", without the object that the knob is of; NULL: the knob is unknown. */
const char *view_knob_name(uint32_t knob);
void view_knob(uint32_t knob, struct cell *c);
/* NULL: the object has no owner. */
const struct snap_owner *view_owner(const struct cli *cli, bool has, uint32_t index);
/* The owner, if it is a process; NULL: it is a user in the kernel, or unknown. */
static inline const struct snap_owner *view_process(const struct snap_owner *owner)
{
	return owner && !owner->kernel[0] ? owner : NULL;
}

/* Columns of an object that has members dev and has: its device, and the unit of its wrs. */
#define DEV_NAME(type)		MEMBER_AS(FROM_DEV, type, dev)
#define WR_UNIT(type)		MEMBER_AS(FROM_WR_UNIT, type, dev), KNOWN_BY(type, has, SNAP_WRS)

void view_signal(const struct cli *cli, enum signal_id id, const void *row, struct cell *c);
/* The unit of "wrs" on a device: "wr" or "wqebb"; nothing where they are not counted. */
void view_wr_unit(const struct cli *cli, uint32_t index, struct cell *c);
/* Copies the columns of @from with these keys, and shows them without --details too. */
size_t view_pick(const struct rows *from, const char *const *keys, struct column *cols);
/* Finds the index of a device. CLI_ERROR with a message if there is none. */
int view_find_dev(const struct cli *cli, const char *name, uint32_t *index);

/* The reading in cli->snap, and the one before it if there is an interval. */
struct reading cli_reading(const struct cli *cli);

/* view_report.c: what libraries reported. NULL, or false: the process, or job, has no library. */
const struct snap_qp_report *view_qp_report(const struct cli *cli, const struct snap_qp *qp);
const struct snap_job_report *view_job_report(const struct cli *cli, uint32_t job, uint32_t dev);
/* The report of @r's job in the reading before; NULL: there is none, or counting began anew. */
const struct snap_job_report *view_older_report(const struct cli *cli,
						const struct snap_job_report *r);
/* Totals of a QP. Its times, and the requests they are of, are the interval's, if there is one. */
bool view_qp_times(const struct cli *cli, const struct snap_qp *qp, struct snap_figures *f);
/* As above, for a job on a device. */
struct snap_figures view_job_times(const struct cli *cli, const struct snap_job_report *r);

/* False: the two cannot be compared, or there is no interval. */
bool view_unseen(const struct cli *cli, const struct snap_qp *qp, struct reading_unseen *u);
/*
 * p50 or p99 (@q) of a job, in the interval if there is one. Without .has, the .samples samples
 * are too few for it.
 */
bool view_quantile(const struct cli *cli, const struct snap_job *job, double q,
		   struct signal_quantile *to);

/* help_columns.c: prints what the columns of the noun's tables mean. */
int help_columns(struct cli *cli, const struct noun *noun);

/* cmd_qp.c: also the columns of QP events. */
struct rows qp_rows(const struct snapshot *snap);
/* qp_explain.c */
int qp_explain(struct cli *cli, struct args *args);
/* qp_audit.c */
int qp_audit(struct cli *cli, struct args *args);
/* qp_peer.c */
int qp_peer(struct cli *cli, struct args *args);
/* Finds the two QPs of each connection. CLI_OK, or CLI_ERROR with a message. */
int cli_pairs(struct cli *cli, struct pairs *pairs);
/* All objects of a kind, with the columns of its noun. */
struct rows uar_rows(const struct snapshot *snap);
struct rows job_rows(const struct snapshot *snap);
struct rows port_rows(const struct snapshot *snap);

/* sort.c: */
struct sorting {
	const char *key;	/* of a column; NULL: unsorted */
	uint32_t top;		/* number of rows at most; 0: all */
	uint32_t *order;	/* of the rows, to be freed */
};

/*
 * Reads "sort KEY" or "top N", also with dashes. CLI_OK, CLI_USAGE, or -1 for another
 * word.
 */
int sort_parse(struct args *args, const char *word, struct sorting *s);
/*
 * Sorts numbers from the greatest, names by alphabet, absent values last. Also applies
 * rows->want. CLI_OK, or CLI_USAGE or CLI_ERROR with a message on stderr.
 */
int sort_rows(const struct cli *cli, struct rows *rows, struct sorting *s);
/*
 * Sorts and shows objects of which an unprivileged user sees only some, and explains an
 * empty list. Frees @s->order.
 */
int cli_list(struct cli *cli, struct rows *rows, struct sorting *s);
/* cmd_action.c: the result of one action, from its event. */
struct rows action_result_rows(const struct snap_action *action);

/* action_set.c */
int act_set(struct cli *cli, struct args *args);
int act_clear(struct cli *cli, struct args *args);
int act_release(struct cli *cli, struct args *args);

#endif /* SRDMA_CLI_CLI_H */
