// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "base/text.h"
#include "cli/cli.h"

#define ACTION(member)		MEMBER(struct snap_action, member)
#define ACTION_IF(member, by)	MEMBER_IF(struct snap_action, member, by)
#define DECISION(member)	.of = decision_of, MEMBER(struct snap_decision, member)
#define DECISION_HAS(member, bit) .of = decision_of, MEMBER_HAS(struct snap_decision, member, bit)
#define KNOB								\
	MEMBER_AS(FROM_KNOB, struct snap_action, knob),			\
	KNOWN_BY(struct snap_action, knob, UINT64_MAX)
#define SEEN_DEV								\
	.of = decision_of, MEMBER_AS(FROM_DEV, struct snap_decision, dev),	\
	KNOWN_BY(struct snap_decision, has, SNAP_SEEN_DEV)

/* The decision of the policy that asked for the action. */
static const void *decision_of(const struct cli *cli, const void *row)
{
	const struct snap_decision *d = &((const struct snap_action *)row)->decision;

	(void)cli;
	return d->policy[0] ? d : NULL;
}

static bool is_pending(const struct snap_action *a)
{
	return a->kind == SWIFTRDMA_ACTION_KIND_PENDING;
}

GETTER(kind)
{
	const struct snap_action *a = row;

	c->tone = is_pending(a) ? TONE_WARN : TONE_PLAIN;
	cell_str(c, is_pending(a) ? "pending" : "override");
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

	if (!a->job[0] || is_pending(a))
		cell_u64(c, a->qpn);
}

/* The value in the knob's unit, for text. */
GETTER(value_text)
{
	const struct snap_action *a = row;
	const struct vocab_knob *k = vocab_knob(a->knob);
	struct text t;

	if (a->clear) {
		cell_str(c, "cleared");
	} else if (a->has_value) {
		text_init(&t, c->buf, sizeof(c->buf));
		vocab_format(&t, a->value, k ? k->unit : UNIT_COUNT);
		cell_str(c, c->buf);
	}
}

GETTER(in_force)
{
	const struct snap_action *a = row;

	cell_flag(c, a->in_force);
	c->tone = TONE_GOOD;
}

GETTER(error)
{
	const struct snap_action *a = row;

	if (!a->error)
		return;
	cell_s64(c, a->error);
	c->tone = TONE_BAD;
}

/* The reason for a class error, where the errno alone is too vague. */
GETTER(why)
{
	const struct snap_action *a = row;

	if (a->knob == SWIFTRDMA_KNOB_LEVEL && !is_pending(a))
		cell_str(c, vocab_class_error(a->error));
}

GETTER(reading)
{
	const struct snap_reading *rd = row;

	if (rd->known)
		cell_real(c, (double)rd->value / 1e6);
}

static const struct column reading_columns[] = {
	{ "signal", "", 0, 0, MEMBER(struct snap_reading, signal) },
	{ "value", "", 0, 0, .get = get_reading },
};

GETTER(signals)
{
	const struct snap_decision *d = decision_of(cli, row);

	if (!d)
		return;
	cell_table(c, ROWS(reading_columns, d->readings, d->n_readings));
	c->kind = CELL_MAP;
}

static const struct column columns[] = {
	{ "kind", "KIND", 0, COL_LEFT, .get = get_kind },
	{ "job", "JOB", 0, COL_LEFT, ACTION(job) },
	{ "dev", "DEV", 0, COL_LEFT, .get = get_dev },
	{ "qpn", "QPN", 0, 0, .get = get_qpn },
	{ "id", "ID", 0, COL_DETAIL, ACTION_IF(serial, serial) },
	{ "knob", "KNOB", 0, COL_LEFT, KNOB },
	{ "value", NULL, 0, COL_JSON, ACTION_IF(value, has_value) },
	{ "value", "VALUE", 0, COL_LEFT | COL_TEXT, .get = get_value_text },
	{ "in_force", "FORCE", 0, COL_LEFT, .get = get_in_force },
	{ "lease", "LEASE", 0, 0, ACTION_IF(lease_id, lease_id) },
	{ "origin", "ORIGIN", 0, COL_LEFT, ACTION(lease_origin) },
	{ "rank", "RANK", 0, 0, ACTION_IF(lease_rank, lease_id) },
	{ "ttl_ms", "LEFT", SHOW_MS, 0, ACTION_IF(lease_ttl_ms, lease_id) },
	{ "qps", "QPS", 0, 0, ACTION(qps) },
	{ "qps_done", "DONE", 0, 0, ACTION(qps_done) },
	{ "qps_pending", "PENDING", 0, 0, ACTION(qps_pending) },
	{ "qps_unsupported", "CANNOT", 0, 0, ACTION(qps_unsupported) },
	{ "qps_unconnected", "LATER", 0, 0, ACTION(qps_unconnected) },
	{ "qps_unknown", "UNKNOWN", 0, 0, ACTION(qps_unknown) },
	{ "error", "ERROR", SHOW_ERRNO, COL_LEFT, .get = get_error },
	{ "syndrome", "SYNDROME", 0, COL_DETAIL, ACTION_IF(syndrome, syndrome) },
	{ "why", "WHY", 0, COL_LEFT | COL_DETAIL, .get = get_why },
	{ "policy", "POLICY", 0, COL_LEFT | COL_DETAIL, DECISION(policy) },
	{ "tick", "TICK", 0, COL_DETAIL, DECISION(tick) },
	{ "cooldown", "COOLDOWN", SHOW_TIME, COL_DETAIL, DECISION_HAS(cooldown, SNAP_COOLDOWN) },
	{ "steps_left", "STEPS-LEFT", 0, COL_DETAIL, DECISION_HAS(steps_left, SNAP_STEPS_LEFT) },
	{ "acts_left", "ACTS-LEFT", 0, COL_DETAIL, DECISION_HAS(acts_left, SNAP_ACTS_LEFT) },
	{ "seen_dev", "SEEN-DEV", 0, COL_LEFT | COL_DETAIL, SEEN_DEV },
	{ "seen_port", "SEEN-PORT", 0, COL_DETAIL, DECISION_HAS(port, SNAP_SEEN_PORT) },
	{ "seen_uar", "SEEN-UAR", 0, COL_DETAIL, DECISION_HAS(uar, SNAP_SEEN_UAR) },
	{ "seen_qpn", "SEEN-QPN", 0, COL_DETAIL, DECISION_HAS(qpn, SNAP_SEEN_QP) },
	{ "signals", NULL, 0, COL_JSON, .get = get_signals },
	{ "reason", "REASON", 0, COL_LEFT, ACTION(reason) },
};

static const struct column result_columns[] = {
	{ "job", "", 0, 0, ACTION(job) },
	{ "dev", "", 0, 0, .get = get_dev },
	{ "qpn", "", 0, 0, .get = get_qpn },
	{ "id", "", 0, COL_DETAIL, ACTION_IF(serial, serial) },
	{ "knob", "", 0, 0, KNOB },
	{ "value", "", 0, COL_JSON, ACTION_IF(value, has_value) },
	{ "value", "", 0, COL_TEXT, .get = get_value_text },
	{ "clear", "", 0, COL_JSON, ACTION(clear) },
	{ "lease", "", 0, 0, ACTION_IF(lease_id, lease_id) },
	{ "qps", "", 0, 0, ACTION(qps) },
	{ "qps_done", "", 0, 0, ACTION(qps_done) },
	{ "qps_pending", "", 0, 0, ACTION(qps_pending) },
	{ "qps_unsupported", "", 0, 0, ACTION(qps_unsupported) },
	{ "qps_unconnected", "", 0, 0, ACTION(qps_unconnected) },
	{ "qps_unknown", "", 0, 0, ACTION(qps_unknown) },
	{ "error", "", SHOW_ERRNO, 0, .get = get_error },
	{ "syndrome", "", 0, 0, ACTION_IF(syndrome, syndrome) },
	{ "why", "", 0, 0, .get = get_why },
	{ "policy", "", 0, COL_JSON, DECISION(policy) },
	{ "tick", "", 0, 0, DECISION(tick) },
	{ "cooldown", "", SHOW_TIME, 0, DECISION_HAS(cooldown, SNAP_COOLDOWN) },
	{ "steps_left", "", 0, 0, DECISION_HAS(steps_left, SNAP_STEPS_LEFT) },
	{ "acts_left", "", 0, 0, DECISION_HAS(acts_left, SNAP_ACTS_LEFT) },
	{ "seen_dev", "", 0, COL_JSON, SEEN_DEV },
	{ "seen_port", "", 0, COL_JSON, DECISION_HAS(port, SNAP_SEEN_PORT) },
	{ "seen_uar", "", 0, COL_JSON, DECISION_HAS(uar, SNAP_SEEN_UAR) },
	{ "seen_qpn", "", 0, COL_JSON, DECISION_HAS(qpn, SNAP_SEEN_QP) },
	{ "signals", "", 0, COL_JSON, .get = get_signals },
	{ "reason", "", 0, 0, ACTION(reason) },
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

static const struct noun_table action_table = NOUN_TABLE("action", columns);
static const struct noun_table signals_table = NOUN_TABLE("action.signals", reading_columns);
const struct noun_table action_result_table = NOUN_TABLE("action.result", result_columns);
static const struct noun_table *const tables[] = {
	&action_table, &signals_table, &action_result_table, NULL,
};

const struct noun noun_action = {
	.name = "action",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma action [ show ]\n"
	"       swiftrdma action set TARGET KNOB VALUE [ KNOB VALUE ... ]\n"
	"                            [ and TARGET KNOB VALUE ... ]\n"
	"                            [ for TIME ] [ rank N ] [ reason TEXT ]\n"
	"       swiftrdma action clear { all | TARGET [ KNOB ... ] } [ lease ID ]\n"
	"       swiftrdma action release LEASE\n"
	"\n"
	"TARGET := { job JOB [ dev DEV ] | dev DEV qpn QPN [ id ID ] }\n"
	"KNOB   := { level | follow | max_qps | create_rate | bit_rate | wr_rate | weight |\n"
	"            credits | place | chunk | huge_pages | qps | uar | udp_sport |\n"
	"            lag_port }\n"
	"\n"
	"show lists overrides, and for each the number of QPs that have the value\n"
	"(DONE), are tried again (PENDING), CANNOT have it in their state, get it LATER\n"
	"when they connect, or are UNKNOWN; it also lists QPs with a wrong class, with\n"
	"the reason. set makes all changes or none, for TIME (default 5s, at most 1h),\n"
	"and prints the lease; when the lease ends, every QP returns to what its\n"
	"application asked for. Of several leases the highest rank is in force (default\n"
	"100). clear removes the overrides of earlier set commands, or of lease ID;\n"
	"release ends a lease at once.\n",
	.tables = tables,
};
