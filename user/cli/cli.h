/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the nouns of the command share. */
#ifndef SRDMA_CLI_CLI_H
#define SRDMA_CLI_CLI_H

#include "cli/args.h"
#include "cli/out.h"
#include "core/signal.h"
#include "io/io.h"

/* Who says so, in rules and leases of this command. */
#define CLI_ORIGIN	"cli"

struct cli {
	struct io *io;
	struct out out;
	uint32_t interval_ms;	/* 0: totals only */
	struct snapshot snap, older;
	struct signals sig;
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
			 noun_policy, noun_record;

/* Connect, once. CLI_OK or, after saying why, CLI_ERROR. */
int cli_open(struct cli *cli);
/* Say what io has to say. Returns CLI_ERROR. */
int cli_io_error(const struct cli *cli);
int cli_no_memory(void);

/**
 * cli_read - read what is to be shown into cli->snap
 *
 * With --interval twice, that long apart, and rates in cli->sig.
 */
int cli_read(struct cli *cli, const struct io_want *want);
int cli_show(struct cli *cli, const struct rows *rows);

/* view.c: names for numbers, found in cli->snap. */
const struct snap_dev *view_dev(const struct cli *cli, uint32_t index);
void view_dev_name(const struct cli *cli, uint32_t index, struct cell *c);
const struct snap_job *view_job(const struct cli *cli, uint32_t id);
void view_word(enum unit unit, uint32_t value, struct cell *c);
/* The owner's fields; NULL: the object has none. */
const struct snap_owner *view_owner(const struct cli *cli, bool has,
				    uint32_t index);
void view_signal(const struct cli *cli, enum signal_id id, size_t row,
		 struct cell *c);
/* Index of the device called @name; says so if there is none. */
int view_find_dev(const struct cli *cli, const char *name, uint32_t *index);

/* qp.c: also what an event shows of a QP. */
struct rows qp_rows(const struct snapshot *snap);
/* action.c: how it went for one action, as its event says. */
struct rows action_result_rows(const struct snap_action *action);
/* Name of a knob, without its object: "level". */
const char *action_knob_name(uint32_t knob);

/* act.c: changes asked for. */
int act_set(struct cli *cli, struct args *args);
int act_clear(struct cli *cli, struct args *args);
int act_release(struct cli *cli, struct args *args);

#endif /* SRDMA_CLI_CLI_H */
