// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* action set, clear and release: sends changes, prints their results. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define RANK_DEFAULT	100

/*
 * How long to wait for results. QPs are drained one after the other and each drain may
 * be slow; action show lists the QPs that take longer.
 */
#define RESULT_MS	2000

struct act {
	/* arrays of SWIFTRDMA_BATCH_MAX; device names become indices once all words are read */
	struct snap_action *actions;
	char (*devs)[SNAP_DEVNAME];
	size_t n;
	size_t first;			/* of the target being read */
	struct snap_action target;
	char dev[SNAP_DEVNAME];
	bool has_target, has_qpn, all;
	uint32_t ttl_ms, rank;
	uint64_t lease;
	const char *reason;
	bool clearing;
};

/* Names of knobs, for args_match(). */
static int match_knob(const char *word, const struct vocab_knob **knob)
{
	const char *names[SWIFTRDMA_KNOB_MAX + 1] = { NULL };
	size_t n = 0;
	int k;

	for (; n < vocab_n_knobs && n < SWIFTRDMA_KNOB_MAX; n++)
		names[n] = strchr(vocab_knobs[n].name, '.') + 1;
	/* Also accept the spelling of policies, "job.level". */
	for (size_t i = 0; i < n; i++)
		if (!strcmp(vocab_knobs[i].name, word))
			word = names[i];
	k = args_match(names, word);
	*knob = k < 0 ? NULL : &vocab_knobs[k];
	return k;
}

enum { JOB, DEV, QPN, ID, AND, FOR, RANK, REASON, LEASE, ALL };

static const char *const keywords[] = {
	"job", "dev", "qpn", "id", "and", "for", "rank", "reason", "lease",
	"all", NULL,
};

/* Keywords are whole words: "r" might be rank, reason, or a knob to come. */
static int find_keyword(const char *word)
{
	if (word[0] == '-' && word[1] == '-')
		word += 2;
	for (int i = 0; keywords[i]; i++)
		if (!strcmp(keywords[i], word))
			return i;
	return -1;
}

static int finish_target(struct act *a)
{
	if (!a->has_target)
		return CLI_OK;
	if (a->n == a->first && !a->clearing)
		return args_bad("the change is missing: give a knob and a value, as in level 3");
	if (a->n == a->first) {
		/* clear without a knob: all of the target's */
		if (a->n == SWIFTRDMA_BATCH_MAX)
			return args_bad("at most %d changes at a time", SWIFTRDMA_BATCH_MAX);
		a->actions[a->n++] = (struct snap_action){ 0 };
	}
	if (a->has_qpn && a->target.job[0])
		return args_bad("a target is a job or a QP, not both");
	if (!a->has_qpn && !a->target.job[0])
		return args_bad("dev %s: give a qpn as well, or a job", a->dev);
	if (a->has_qpn && !a->dev[0])
		return args_bad("qpn %u needs a device: give dev DEV", a->target.qpn);
	for (; a->first < a->n; a->first++) {
		struct snap_action *to = &a->actions[a->first];

		memcpy(to->job, a->target.job, sizeof(to->job));
		memcpy(a->devs[a->first], a->dev, sizeof(a->dev));
		to->qpn = a->target.qpn;
		to->serial = a->target.serial;
	}
	return CLI_OK;
}

/* A target's word begins a new target if the current one already has knobs. */
static int open_target(struct act *a)
{
	int err = CLI_OK;

	if (a->has_target && a->n > a->first) {
		err = finish_target(a);
		a->has_target = false;
	}
	if (!a->has_target) {
		a->target = (struct snap_action){ 0 };
		a->dev[0] = '\0';
		a->has_qpn = false;
		a->has_target = true;
	}
	return err;
}

static int parse_target(struct args *args, struct act *a, int k)
{
	int err = open_target(a);

	if (err)
		return err;
	switch (k) {
	case JOB:
		return args_str(args, "job", a->target.job, sizeof(a->target.job));
	case DEV:
		return args_str(args, "dev", a->dev, sizeof(a->dev));
	case QPN:
		a->has_qpn = true;
		return args_u32(args, "qpn", 0xffffff, &a->target.qpn);
	}
	return args_u64(args, "id", &a->target.serial);
}

static int parse_action_word(struct args *args, struct act *a, int k)
{
	const char *s;
	int err;

	switch (k) {
	case AND:
		err = finish_target(a);
		a->has_target = false;
		return err;
	case FOR:
		if (args_value(args, "for", &s) || args_time_ms(s, "for", &a->ttl_ms))
			return CLI_USAGE;
		if (a->ttl_ms > SWIFTRDMA_LEASE_MAX_MS)
			return args_bad("for: '%s' is more than %us", s,
					SWIFTRDMA_LEASE_MAX_MS / 1000);
		return CLI_OK;
	case RANK:
		return args_u32(args, "rank", SWIFTRDMA_RANK_MAX, &a->rank);
	case REASON:
		if (args_value(args, "reason", &a->reason))
			return CLI_USAGE;
		if (strlen(a->reason) >= SNAP_REASON)
			return args_bad("reason: longer than %d bytes", SNAP_REASON - 1);
		return CLI_OK;
	case LEASE:
		return args_u64(args, "lease", &a->lease);
	}
	a->all = true;
	return CLI_OK;
}

/* A word that the knob's values have, or a number. */
static int args_knob(const char *s, const char *what, const struct vocab_knob *knob, double *v)
{
	char bounds[80];

	if (knob->unit >= UNIT_CLASS && !vocab_word(knob->unit, s, strlen(s), v))
		return CLI_OK;
	if (knob->unit >= UNIT_CLASS)
		return args_bad("%s: '%s' is not %s", what, s, units_describe(knob->unit));
	if (args_quantity(s, what, knob->unit, v))
		return CLI_USAGE;
	if (vocab_allows(knob, *v))
		return CLI_OK;
	if (knob->unit == UNIT_BYTES)
		return args_bad("%s: '%s' is not %s", what, s,
				vocab_bounds(knob, bounds, sizeof(bounds)));
	return args_bad("%s: '%s' is not between %g and %g", what, s, knob->min, knob->max);
}

static int parse_knob(struct args *args, struct act *a, const char *word)
{
	const struct vocab_knob *knob;
	struct snap_action *to;
	const char *s;
	double v;

	if (match_knob(word, &knob) < 0)
		return args_bad("'%s' is neither a knob nor a word of this command; knobs are level, follow, max_qps, create_rate, bit_rate, wr_rate, weight, credits, place, chunk, huge_pages, qps, uar, udp_sport and lag_port",
				word);
	if (!a->has_target)
		return args_bad("'%s' has no target: give one first, as in job kv or dev rxe0 qpn 17",
				word);
	if (a->n == SWIFTRDMA_BATCH_MAX)
		return args_bad("at most %d changes at a time", SWIFTRDMA_BATCH_MAX);
	to = &a->actions[a->n];
	*to = (struct snap_action){ .knob = knob->knob, .clear = a->clearing };
	if (!a->clearing) {
		if (args_value(args, word, &s) || args_knob(s, word, knob, &v))
			return CLI_USAGE;
		if (v != (double)(uint64_t)v)
			return args_bad("%s: '%s' is not a whole number", word, s);
		to->value = v;
	}
	a->n++;
	return CLI_OK;
}

static int parse_changes(struct args *args, struct act *a)
{
	char word[64];
	int err = CLI_OK;

	while (args_left(args) && !err) {
		const char *s = args_next(args);
		size_t n = strlen(s);
		int k;

		/* "level 3, job b ...": a comma is an and */
		if (!strcmp(s, ",")) {
			err = parse_action_word(args, a, AND);
			continue;
		}
		if (n >= sizeof(word))
			return args_bad("'%s' is too long", s);
		memcpy(word, s, n + 1);
		k = find_keyword(word);
		if (k < 0)
			err = parse_knob(args, a, word);
		else if (k <= ID)
			err = parse_target(args, a, k);
		else
			err = parse_action_word(args, a, k);
	}
	return err ? err : finish_target(a);
}

static void format_until(uint32_t ttl_ms, char *buf, size_t cap)
{
	time_t end = time(NULL) + ttl_ms / 1000;
	struct tm tm;

	localtime_r(&end, &tm);
	strftime(buf, cap, "%H:%M:%S", &tm);
}

static void print_lease(struct cli *cli, uint64_t lease, uint32_t ttl_ms)
{
	struct json j = {
		.f = stdout, .pretty = cli->out.pretty, .first = true,
	};
	char until[16];

	format_until(ttl_ms, until, sizeof(until));
	if (cli->out.json) {
		json_begin(&j, '{');
		json_key(&j, "lease");
		json_u64(&j, lease);
		json_key(&j, "ttl_ms");
		json_u64(&j, ttl_ms);
		json_end(&j, '}');
		putchar('\n');
	} else {
		printf("lease %llu for %gs, until %s\n",
		       (unsigned long long)lease, ttl_ms / 1e3, until);
	}
	fflush(stdout);
}

struct waiting {
	struct cli *cli;
	uint64_t batch;
	size_t left;
	const char *lost;	/* why results are missing; NULL: none are */
	bool failed;
};

/* Pending QPs are changed later, so they are no failure. */
static bool has_failed(const struct snap_action *a)
{
	return a->error && (a->qps_unsupported || !a->qps_pending);
}

static bool is_over(const struct snap_action *a)
{
	return !a->qps_pending && !a->qps_unknown;
}

static const char *result_word(const struct snap_action *a)
{
	if (has_failed(a))
		return "failed";
	if (!is_over(a))
		return a->qps_pending ? "pending" : "unknown";
	return a->qps_unconnected && !a->qps_done ? "later" : "done";
}

static void print_action_result(const struct snap_event *e, void *arg)
{
	struct waiting *w = arg;
	struct rows rows;
	bool failed;

	if (e->kind == SNAP_EVENT_LOST)
		w->lost = e->why ?: "events were lost";
	if (e->kind != SNAP_EVENT_ACTION || e->batch != w->batch || !w->left)
		return;
	w->left--;
	failed = has_failed(e->action);
	w->failed |= failed;
	rows = action_result_rows(e->action);
	out_event(w->cli, &w->cli->out, NULL, result_word(e->action),
		  failed ? TONE_BAD : is_over(e->action) ? TONE_GOOD : TONE_WARN, &rows);
}

/* On stderr, so that stdout has nothing but results. */
static void say_unknown(size_t n, const char *why)
{
	fprintf(stderr,
		"swiftrdma: results of %zu change%s are not known, %s: swiftrdma action show has them\n",
		n, n == 1 ? "" : "s", why);
}

static int wait_results(struct cli *cli, int fd, struct waiting *w)
{
	uint64_t end = cli_now_ms() + RESULT_MS, now;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (w->left && !w->lost && (now = cli_now_ms()) < end) {
		if (poll(&p, 1, end - now) < 0 && errno != EINTR)
			break;
		if (io_events_read(cli->io, print_action_result, w) < 0) {
			say_unknown(w->left, io_error(cli->io));
			return CLI_ERROR;
		}
	}
	if (w->left)
		say_unknown(w->left, w->lost ?: "they take longer");
	return w->failed ? CLI_ERROR : CLI_OK;
}

/* @lease 0: a new one. */
static int send_changes(struct cli *cli, struct act *a, uint64_t lease, uint32_t ttl_ms)
{
	struct waiting w = { .cli = cli, .left = a->n };
	/* Subscribe before sending, so that no result is missed. */
	int fd = io_events_open(cli->io);
	char why[256];

	if (fd < 0)
		snprintf(why, sizeof(why), "%s", io_error(cli->io));
	if (io_act(cli->io, &lease, ttl_ms, a->rank, CLI_ORIGIN, a->actions,
		   a->n, &w.batch) < 0)
		return cli_io_error(cli);
	if (!a->clearing)
		print_lease(cli, lease, ttl_ms);
	if (fd >= 0)
		return wait_results(cli, fd, &w);
	say_unknown(w.left, why);
	return CLI_OK;
}

/* Parse the words, then have the module resolve device names. */
static int prepare_changes(struct cli *cli, struct args *args, struct act *a)
{
	struct io_want want = { .devs = true, .cached = { .devs = true } };
	int err;

	a->actions = calloc(SWIFTRDMA_BATCH_MAX, sizeof(*a->actions));
	a->devs = calloc(SWIFTRDMA_BATCH_MAX, sizeof(*a->devs));
	if (!a->actions || !a->devs)
		return cli_no_memory();
	err = parse_changes(args, a);
	if (!err && !a->clearing && !a->n)
		err = args_bad("action set: give a target and a knob, as in job kv level 3");
	if (!err && !a->clearing && (a->lease || a->all))
		err = args_bad("action set: 'lease' and 'all' belong to action clear");
	if (!err && a->clearing && (a->ttl_ms || a->rank || a->reason))
		err = args_bad("action clear: 'for', 'rank' and 'reason' belong to action set");
	if (!err)
		err = cli_read(cli, &want);
	for (size_t i = 0; !err && i < a->n; i++) {
		a->actions[i].has_dev = a->devs[i][0];
		if (a->devs[i][0])
			err = view_find_dev(cli, a->devs[i], &a->actions[i].dev);
	}
	return err;
}

static void free_changes(struct act *a)
{
	free(a->actions);
	free(a->devs);
}

int act_set(struct cli *cli, struct args *args)
{
	struct act a = {
		.ttl_ms = SWIFTRDMA_LEASE_DEF_MS, .rank = RANK_DEFAULT,
	};
	int err;

	if (!args_left(args))
		return args_bad("action set: a target is missing; see swiftrdma action help");
	err = prepare_changes(cli, args, &a);
	for (size_t i = 0; !err && i < a.n && a.reason; i++)
		strcpy(a.actions[i].reason, a.reason);
	if (!err)
		err = send_changes(cli, &a, 0, a.ttl_ms);
	free_changes(&a);
	return err;
}

static bool same_target(const struct snap_action *a, const struct snap_action *want)
{
	if (strcmp(a->job, want->job))
		return false;
	if (want->has_dev && (!a->has_dev || a->dev != want->dev))
		return false;
	if (want->job[0])
		return true;
	return a->qpn == want->qpn && (!want->serial || a->serial == want->serial);
}

static bool is_to_clear(const struct act *a, const struct snap_action *there)
{
	if (there->kind != SWIFTRDMA_ACTION_KIND_OVERRIDE)
		return false;
	if (a->lease ? there->lease_id != a->lease
		     : strcmp(there->lease_origin, CLI_ORIGIN) != 0)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (same_target(there, &a->actions[i]) &&
		    (!a->actions[i].knob || a->actions[i].knob == there->knob))
			return true;
	return a->all;
}

/* Sends one batch per lease; each lease keeps its remaining time. */
static int clear_actions(struct cli *cli, const struct act *a,
			 struct snap_action *there, size_t n)
{
	struct act batch = { .actions = a->actions, .clearing = true };
	size_t cleared = 0;
	int err = CLI_OK, one;

	/* A lease that fails must not keep the other leases from being cleared. */
	for (size_t i = 0; i < n; i++) {
		uint64_t lease = there[i].lease_id;
		uint32_t ttl_ms = there[i].lease_ttl_ms;

		if (there[i].clear || !lease)
			continue;
		batch.n = 0;
		for (size_t k = i; k < n; k++) {
			if (!there[k].clear && there[k].lease_id == lease &&
			    batch.n < SWIFTRDMA_BATCH_MAX) {
				there[k].clear = true;
				batch.actions[batch.n++] = there[k];
			}
		}
		cleared += batch.n;
		one = send_changes(cli, &batch, lease, ttl_ms ? ttl_ms : 1);
		err = err ? err : one;
	}
	if (!err && !cleared)
		err = cli_fail("nothing to clear: see swiftrdma action show");
	return err;
}

int act_clear(struct cli *cli, struct args *args)
{
	struct act a = { .clearing = true };
	struct snap_action *there = NULL;
	size_t n = 0, kept = 0;
	int err;

	if (!args_left(args))
		return args_bad("action clear: a target is missing, as in action clear job kv or action clear all");
	err = prepare_changes(cli, args, &a);
	if (!err && !a.n && !a.all)
		a.all = true;	/* only a lease is named: clear all of it */
	if (!err && io_actions(cli->io, &there, &n) < 0)
		err = cli_io_error(cli);
	for (size_t i = 0; !err && i < n; i++)
		if (is_to_clear(&a, &there[i]))
			there[kept++] = there[i];
	if (!err)
		err = clear_actions(cli, &a, there, kept);
	free(there);
	free_changes(&a);
	return err;
}

int act_release(struct cli *cli, struct args *args)
{
	uint64_t lease;
	int err;

	if (!args_left(args))
		return args_bad("action release: the id of a lease is missing");
	err = args_u64(args, "lease", &lease);
	if (!err)
		err = args_end(args);
	if (!err && !lease)
		err = args_bad("there is no lease 0");
	if (!err)
		err = cli_open(cli);
	if (err)
		return err;
	if (io_act(cli->io, &lease, 0, 0, CLI_ORIGIN, NULL, 0, NULL) < 0)
		return cli_io_error(cli);
	return CLI_OK;
}
