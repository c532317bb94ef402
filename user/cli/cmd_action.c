// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"
#include "core/text.h"

const char *action_knob_name(uint32_t knob)
{
	const struct vocab_knob *k = vocab_knob(knob);

	return k ? strchr(k->name, '.') + 1 : NULL;
}

#define GETTER(name)							\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)

#define NUMBER(name, field)						\
	GETTER(name)							\
	{								\
		(void)cli;						\
		cell_u64(c, ((const struct snap_action *)row)->field);	\
	}

NUMBER(qps, qps)
NUMBER(qps_done, qps_done)
NUMBER(qps_pending, qps_pending)
NUMBER(qps_unsupported, qps_unsupported)
NUMBER(qps_unconnected, qps_unconnected)
NUMBER(qps_unknown, qps_unknown)

static bool is_pending(const struct snap_action *a)
{
	return a->kind == SWIFTRDMA_ACTION_KIND_PENDING;
}

GETTER(kind)
{
	const struct snap_action *a = row;

	(void)cli;
	c->tone = is_pending(a) ? TONE_WARN : TONE_PLAIN;
	cell_str(c, is_pending(a) ? "pending" : "override");
}

GETTER(job)
{
	(void)cli;
	cell_str(c, ((const struct snap_action *)row)->job);
}

GETTER(dev)
{
	const struct snap_action *a = row;

	if (a->has_dev || !a->job[0])
		view_dev_name(cli, a->dev, c);
}

GETTER(qpn)
{
	const struct snap_action *a = row;

	(void)cli;
	if (!a->job[0] || is_pending(a))
		cell_u64(c, a->qpn);
}

GETTER(id)
{
	const struct snap_action *a = row;

	(void)cli;
	if (a->serial)
		cell_u64(c, a->serial);
}

GETTER(knob)
{
	const struct snap_action *a = row;
	const char *name = action_knob_name(a->knob);

	(void)cli;
	if (name)
		cell_str(c, name);
	else if (a->knob)
		cell_u64(c, a->knob);
}

GETTER(value)
{
	const struct snap_action *a = row;

	(void)cli;
	if (a->has_value)
		cell_u64(c, a->value);
}

/* The value in the knob's unit, for text. */
GETTER(value_text)
{
	const struct snap_action *a = row;
	const struct vocab_knob *k = vocab_knob(a->knob);
	struct text t;

	(void)cli;
	if (a->clear) {
		cell_str(c, "cleared");
	} else if (a->has_value) {
		text_init(&t, c->buf, sizeof(c->buf));
		vocab_format(&t, a->value, k ? k->unit : UNIT_COUNT);
		cell_str(c, c->buf);
	}
}

GETTER(clear)
{
	(void)cli;
	cell_flag(c, ((const struct snap_action *)row)->clear);
}

GETTER(in_force)
{
	const struct snap_action *a = row;

	(void)cli;
	cell_flag(c, a->in_force);
	c->tone = TONE_GOOD;
}

static bool has_lease(const struct snap_action *a)
{
	return a->lease_id != 0;
}

GETTER(lease)
{
	const struct snap_action *a = row;

	(void)cli;
	if (has_lease(a))
		cell_u64(c, a->lease_id);
}

GETTER(rank)
{
	const struct snap_action *a = row;

	(void)cli;
	if (has_lease(a))
		cell_u64(c, a->lease_rank);
}

GETTER(ttl)
{
	const struct snap_action *a = row;

	(void)cli;
	if (has_lease(a))
		cell_u64(c, a->lease_ttl_ms);
}

GETTER(origin)
{
	(void)cli;
	cell_str(c, ((const struct snap_action *)row)->lease_origin);
}

GETTER(error)
{
	const struct snap_action *a = row;

	(void)cli;
	if (!a->error)
		return;
	cell_s64(c, a->error);
	c->tone = TONE_BAD;
}

GETTER(syndrome)
{
	const struct snap_action *a = row;

	(void)cli;
	if (a->syndrome)
		cell_u64(c, a->syndrome);
}

/* The reason for a class error, where the errno alone is too vague. */
GETTER(why)
{
	const struct snap_action *a = row;

	(void)cli;
	if (a->knob == SWIFTRDMA_KNOB_LEVEL && !is_pending(a))
		cell_str(c, vocab_class_error(a->error));
}

GETTER(reason)
{
	(void)cli;
	cell_str(c, ((const struct snap_action *)row)->reason);
}

/* The decision of the policy that asked for the action. */

static bool has_decision(const struct snap_decision *d, uint64_t field)
{
	return d->policy[0] && (!field || snap_has(d, field));
}

#define DECISION(name, field, fill)					\
	GETTER(name)							\
	{								\
		const struct snap_decision *d =				\
			&((const struct snap_action *)row)->decision;	\
									\
		(void)cli;						\
		if (has_decision(d, field))					\
			fill;						\
	}

DECISION(policy, 0, cell_str(c, d->policy))
DECISION(tick, 0, cell_u64(c, d->tick))
DECISION(cooldown, SNAP_COOLDOWN, cell_u64(c, d->cooldown))
DECISION(steps_left, SNAP_STEPS_LEFT, cell_u64(c, d->steps_left))
DECISION(acts_left, SNAP_ACTS_LEFT, cell_u64(c, d->acts_left))
DECISION(seen_dev, SNAP_SEEN_DEV, view_dev_name(cli, d->dev, c))
DECISION(seen_port, SNAP_SEEN_PORT, cell_u64(c, d->port))
DECISION(seen_uar, SNAP_SEEN_UAR, cell_u64(c, d->uar))
DECISION(seen_qpn, SNAP_SEEN_QP, cell_u64(c, d->qpn))

GETTER(signal)
{
	(void)cli;
	cell_str(c, ((const struct snap_reading *)row)->signal);
}

GETTER(reading)
{
	const struct snap_reading *rd = row;

	(void)cli;
	if (rd->known)
		cell_real(c, (double)rd->value / 1e6);
}

static const struct column reading_columns[] = {
	{ "signal", "", 0, 0, get_signal },
	{ "value", "", 0, 0, get_reading },
};

GETTER(signals)
{
	const struct snap_decision *d = &((const struct snap_action *)row)->decision;

	(void)cli;
	if (!has_decision(d, 0))
		return;
	c->kind = CELL_MAP;
	c->table = ROWS(reading_columns, d->readings, d->n_readings);
}

static const struct column columns[] = {
	{ "kind", "KIND", 0, COL_LEFT, get_kind },
	{ "job", "JOB", 0, COL_LEFT, get_job },
	{ "dev", "DEV", 0, COL_LEFT, get_dev },
	{ "qpn", "QPN", 0, 0, get_qpn },
	{ "id", "ID", 0, COL_DETAIL, get_id },
	{ "knob", "KNOB", 0, COL_LEFT, get_knob },
	{ "value", NULL, 0, COL_JSON, get_value },
	{ "value", "VALUE", 0, COL_LEFT | COL_TEXT, get_value_text },
	{ "in_force", "FORCE", 0, COL_LEFT, get_in_force },
	{ "lease", "LEASE", 0, 0, get_lease },
	{ "origin", "ORIGIN", 0, COL_LEFT, get_origin },
	{ "rank", "RANK", 0, 0, get_rank },
	{ "ttl_ms", "LEFT", SHOW_MS, 0, get_ttl },
	{ "qps", "QPS", 0, 0, get_qps },
	{ "qps_done", "DONE", 0, 0, get_qps_done },
	{ "qps_pending", "PENDING", 0, 0, get_qps_pending },
	{ "qps_unsupported", "CANNOT", 0, 0, get_qps_unsupported },
	{ "qps_unconnected", "LATER", 0, 0, get_qps_unconnected },
	{ "qps_unknown", "UNKNOWN", 0, 0, get_qps_unknown },
	{ "error", "ERROR", SHOW_ERRNO, COL_LEFT, get_error },
	{ "syndrome", "SYNDROME", 0, COL_DETAIL, get_syndrome },
	{ "why", "WHY", 0, COL_LEFT | COL_DETAIL, get_why },
	{ "policy", "POLICY", 0, COL_LEFT | COL_DETAIL, get_policy },
	{ "tick", "TICK", 0, COL_DETAIL, get_tick },
	{ "cooldown", "COOLDOWN", SHOW_TIME, COL_DETAIL, get_cooldown },
	{ "steps_left", "STEPS-LEFT", 0, COL_DETAIL, get_steps_left },
	{ "acts_left", "ACTS-LEFT", 0, COL_DETAIL, get_acts_left },
	{ "seen_dev", "SEEN-DEV", 0, COL_LEFT | COL_DETAIL, get_seen_dev },
	{ "seen_port", "SEEN-PORT", 0, COL_DETAIL, get_seen_port },
	{ "seen_uar", "SEEN-UAR", 0, COL_DETAIL, get_seen_uar },
	{ "seen_qpn", "SEEN-QPN", 0, COL_DETAIL, get_seen_qpn },
	{ "signals", NULL, 0, COL_JSON, get_signals },
	{ "reason", "REASON", 0, COL_LEFT, get_reason },
};

static const struct column result_columns[] = {
	{ "job", "", 0, 0, get_job },
	{ "dev", "", 0, 0, get_dev },
	{ "qpn", "", 0, 0, get_qpn },
	{ "id", "", 0, COL_DETAIL, get_id },
	{ "knob", "", 0, 0, get_knob },
	{ "value", "", 0, COL_JSON, get_value },
	{ "value", "", 0, COL_TEXT, get_value_text },
	{ "clear", "", 0, COL_JSON, get_clear },
	{ "lease", "", 0, 0, get_lease },
	{ "qps", "", 0, 0, get_qps },
	{ "qps_done", "", 0, 0, get_qps_done },
	{ "qps_pending", "", 0, 0, get_qps_pending },
	{ "qps_unsupported", "", 0, 0, get_qps_unsupported },
	{ "qps_unconnected", "", 0, 0, get_qps_unconnected },
	{ "qps_unknown", "", 0, 0, get_qps_unknown },
	{ "error", "", SHOW_ERRNO, 0, get_error },
	{ "syndrome", "", 0, 0, get_syndrome },
	{ "why", "", 0, 0, get_why },
	{ "policy", "", 0, COL_JSON, get_policy },
	{ "tick", "", 0, 0, get_tick },
	{ "cooldown", "", SHOW_TIME, 0, get_cooldown },
	{ "steps_left", "", 0, 0, get_steps_left },
	{ "acts_left", "", 0, 0, get_acts_left },
	{ "seen_dev", "", 0, COL_JSON, get_seen_dev },
	{ "seen_port", "", 0, COL_JSON, get_seen_port },
	{ "seen_uar", "", 0, COL_JSON, get_seen_uar },
	{ "seen_qpn", "", 0, COL_JSON, get_seen_qpn },
	{ "signals", "", 0, COL_JSON, get_signals },
	{ "reason", "", 0, 0, get_reason },
};

struct rows action_result_rows(const struct snap_action *action)
{
	return ROWS(result_columns, action, 1);
}

static int show_actions(struct cli *cli, struct args *args)
{
	struct io_want want = { .devs = true, .cached = { .devs = true } };
	struct snap_action *actions;
	struct rows rows;
	size_t n;
	int err = args_end(args);

	if (!err)
		err = cli_read(cli, &want);
	if (err)
		return err;
	if (io_actions(cli->io, &actions, &n) < 0)
		return cli_io_error(cli);
	rows = ROWS(columns, actions, n);
	err = cli_show(cli, &rows);
	free(actions);
	return err;
}

static const struct verb verbs[] = {
	{ "show", show_actions }, { "list", show_actions }, { "set", act_set },
	{ "clear", act_clear }, { "release", act_release }, { 0 },
};

const struct noun noun_action = {
	"action", verbs,
	"Usage: swiftrdma action [ show ]\n"
	"       swiftrdma action set TARGET KNOB VALUE [ KNOB VALUE ... ]\n"
	"                            [ and TARGET KNOB VALUE ... ]\n"
	"                            [ for TIME ] [ rank N ] [ reason TEXT ]\n"
	"       swiftrdma action clear { all | TARGET [ KNOB ... ] } [ lease ID ]\n"
	"       swiftrdma action release LEASE\n"
	"\n"
	"TARGET := { job JOB [ dev DEV ] | dev DEV qpn QPN [ id ID ] }\n"
	"KNOB   := { level | max_qps | create_rate | bit_rate | wr_rate | weight |\n"
	"            credits | qps | uar | udp_sport | lag_port }\n"
	"\n"
	"show lists overrides, and for each the number of QPs that have the value\n"
	"(DONE), are tried again (PENDING), CANNOT have it in their state, get it LATER\n"
	"when they connect, or are UNKNOWN; it also lists QPs with a wrong class, with\n"
	"the reason. set makes all changes or none, for TIME (default 5s, at most 1h),\n"
	"and prints the lease; when the lease ends, every QP returns to what its\n"
	"application asked for. Of several leases the highest rank is in force (default\n"
	"100). clear removes the overrides of earlier set commands, or of lease ID;\n"
	"release ends a lease at once.\n",
};
