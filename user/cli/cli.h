/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the nouns of the command share. */
#ifndef SRDMA_CLI_CLI_H
#define SRDMA_CLI_CLI_H

#include <time.h>

#include "cli/args.h"
#include "cli/out.h"
#include "core/crowd.h"
#include "core/signal.h"
#include "io/io.h"
#include "policy/running.h"

/* Who says so, in rules and leases of this command. */
#define CLI_ORIGIN	"cli"

struct cli {
	const char *version;
	struct io *io;
	struct out out;
	uint32_t interval_ms;	/* 0: totals only */
	struct snapshot snap, older, spare;
	struct signals sig;
	unsigned int steps;	/* of the reading that is under way */
	struct crowd crowd;	/* of .sig, after cli_crowd() */
	/* Where an agent says what it runs by, and what one would; NULL: nowhere */
	const char *run_file, *policy_file;
	struct running running;	/* after cli_running() */
	bool looked;
};

struct verb {
	const char *name;
	int (*run)(struct cli *cli, struct args *args);
};

/* The first verb is what a noun alone means. */
struct noun {
	const char *name;
	const struct verb *verbs;	/* ends with a NULL name */
	const char *help;
};

extern const struct noun noun_dev, noun_port, noun_uar, noun_qp, noun_job,
			 noun_action, noun_level, noun_monitor, noun_module,
			 noun_top, noun_run, noun_policy, noun_record,
			 noun_doctor;

/* Connect, once. CLI_OK or, after saying why, CLI_ERROR. */
int cli_open(struct cli *cli);
/* Say what io has to say. Returns CLI_ERROR. */
int cli_io_error(const struct cli *cli);
int cli_no_memory(void);

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
 * cli_read - read what is to be shown into cli->snap
 * @cli: the command
 * @want: what to read
 *
 * With --interval twice, that long apart, and rates in cli->sig; where UARs are
 * read also in between, so that uar.coactive says in what share of the readings
 * their QPs advanced together.
 */
int cli_read(struct cli *cli, const struct io_want *want);

/*
 * The same in pieces, for who has other things to do meanwhile: the reading
 * that an interval begins with, CLI_STEPS_MAX steps at most, the last of which
 * ends it. They return what io_snapshot() does, or -ENOMEM.
 */
#define CLI_STEPS_MAX	10
unsigned int cli_steps(uint32_t interval_ms);
int cli_begin(struct cli *cli, const struct io_want *want);
int cli_step(struct cli *cli, const struct io_want *want, bool last);
/* What was read last is what the next interval begins with. */
void cli_turn(struct cli *cli);
/* Rank who crowds on UARs, and count what shares each has. CLI_OK or, said. */
int cli_crowd(struct cli *cli);
int cli_show(struct cli *cli, const struct rows *rows);
/* Of what users see only their own of, in a reading of the jobs too: where nothing is, why. */
int cli_show_own(struct cli *cli, const struct rows *rows);

/*
 * running.c: what the agent runs by, or, where none does, would. Looked up once an
 * interval. Without a file the devices' own speeds and the known criteria.
 */
const struct running *cli_running(struct cli *cli);
struct signal_opts cli_signal_opts(struct cli *cli);
/* Of what was looked up, as by cli_crowd(). */
double cli_criterion(const struct cli *cli, const char *name);

/* view.c: names for numbers, found in cli->snap. */
const struct snap_dev *view_dev(const struct cli *cli, uint32_t index);
void view_dev_name(const struct cli *cli, uint32_t index, struct cell *c);
const struct snap_job *view_job(const struct cli *cli, uint32_t id);
void view_job_name(const struct cli *cli, uint32_t id, struct cell *c);
void view_word(enum unit unit, uint32_t value, struct cell *c);
/* The owner's fields; NULL: the object has none. */
const struct snap_owner *view_owner(const struct cli *cli, bool has,
				    uint32_t index);
void view_signal(const struct cli *cli, enum signal_id id, size_t row,
		 struct cell *c);
/* wrs.c: what "wrs" of something on this device are. */
void view_wr_unit(const struct cli *cli, uint32_t dev, struct cell *c);
/* Why the WRs of a QP are not counted, as a word or in some; NULL: they are. */
const char *view_absent(uint32_t why, bool words);
/* Those columns of @from that bear @keys, in text without --details too. */
size_t view_pick(const struct rows *from, const char *const *keys,
		 struct column *cols);
/* Index of the device called @name; says so if there is none. */
int view_find_dev(const struct cli *cli, const char *name, uint32_t *index);

/* qp.c: also what an event shows of a QP. */
struct rows qp_rows(const struct snapshot *snap);
/* explain.c */
int qp_explain(struct cli *cli, struct args *args);
/* audit.c */
int qp_audit(struct cli *cli, struct args *args);
/* Find who talks to whom in cli->snap. CLI_OK or, said. */
int cli_pairs(struct cli *cli, struct pairs *pairs);
/* All there is of a kind, with the columns that its noun shows. */
struct rows uar_rows(const struct snapshot *snap);
struct rows job_rows(const struct snapshot *snap);
struct rows port_rows(const struct snapshot *snap);

/* sort.c: */
struct sorting {
	const char *key;	/* of a column; NULL: as they come */
	uint32_t top;		/* that many at most; 0: all */
	uint32_t *order;	/* of the rows, to be freed */
};

/*
 * "sort KEY" or "top N", also with dashes: CLI_OK, CLI_USAGE, or -1 for a word
 * that is neither.
 */
int sort_parse(struct args *args, const char *word, struct sorting *s);
/*
 * Greatest first, names by alphabet, what is absent at the end. Filters the rows
 * on the way. CLI_OK or, after saying why, CLI_USAGE or CLI_ERROR.
 */
int sort_rows(const struct cli *cli, struct rows *rows, struct sorting *s);
/* action.c: how it went for one action, as its event says. */
struct rows action_result_rows(const struct snap_action *action);
/* Name of a knob, without its object: "level". */
const char *action_knob_name(uint32_t knob);

/* act.c: changes asked for. */
int act_set(struct cli *cli, struct args *args);
int act_clear(struct cli *cli, struct args *args);
int act_release(struct cli *cli, struct args *args);

#endif /* SRDMA_CLI_CLI_H */
