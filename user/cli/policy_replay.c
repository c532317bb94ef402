// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * swiftrdma policy simulate FILE replay RECORDING: compares what the policies would have
 * done with what the recording says was done.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/event_text.h"
#include "cli/cmd_policy.h"
#include "io/recording.h"
#include "sim/replay.h"

struct replayed {
	struct cli *cli;
	const char *path;
	struct config cfg;
	struct replay rp;
	/* Two players read the recording; .was is one reading behind .is. */
	FILE *f[2];
	struct player *was, *is;
};

static double replayed_seconds(const struct replayed *p)
{
	return (double)(p->rp.last - p->rp.first) / 1e9;
}

static void format_value(struct text *t, const struct replay_side *side, unsigned int knob)
{
	if (side->has)
		vocab_format(t, side->v, vocab_knob(knob)->unit);
	else
		text_str(t, "none");
}

/* --- As it goes ------------------------------------------------------------------- */

static void event_key(struct json *j, const char *event, double at,
		      const char *job, unsigned int knob)
{
	json_begin(j, '{');
	json_key(j, "event");
	json_str(j, event);
	json_key(j, "seconds");
	json_real(j, at);
	json_key(j, "job");
	json_str(j, job);
	json_key(j, "knob");
	json_str(j, vocab_knob(knob)->name);
}

static void side_json(struct json *j, const char *key, const struct replay_side *side)
{
	if (!side->has)
		return;
	json_key(j, key);
	json_real(j, side->v);
}

static void say_done(struct replayed *p, const struct replay_knob *k)
{
	struct json *j = &p->cli->out.j;
	char job[SNAP_NAME], buf[64];
	struct text t;

	if (p->cli->out.json) {
		event_key(j, "done", replayed_seconds(p), k->job, k->knob);
		side_json(j, "value", &k->done);
		json_end(j, '}');
		return;
	}
	/* The name comes from a file, so it may have control characters. */
	text_init(&t, job, sizeof(job));
	text_tame(&t, k->job);
	text_init(&t, buf, sizeof(buf));
	format_value(&t, &k->done, k->knob);
	printf("%9.3f s  done:  job %s: %s %s\n", replayed_seconds(p), job,
	       view_knob_name(k->knob), buf);
}

static void say_would(struct replayed *p, const struct policy_decision *d)
{
	const struct replay_knob *k = replay_find(&p->rp, d->job, d->knob);
	const struct policy *by = &p->cfg.policies.v[d->policy];
	struct json *j = &p->cli->out.j;
	char quota[128], buf[64];
	struct text t;

	if (p->cli->out.json) {
		event_key(j, "would", replayed_seconds(p), d->job, d->knob);
		json_key(j, "policy");
		json_str(j, by->name);
		json_key(j, "tick");
		json_u64(j, d->tick);
		if (!d->release) {
			json_key(j, "value");
			json_real(j, d->new);
		}
		json_key(j, "undo");
		json_boolean(j, d->undo);
		if (k->recorded)
			side_json(j, "in_force", &k->done);
		json_key(j, "reason");
		json_str(j, d->reason);
		json_end(j, '}');
		return;
	}
	text_init(&t, quota, sizeof(quota));
	reason_quota(&t, d);
	text_init(&t, buf, sizeof(buf));
	format_value(&t, &k->done, d->knob);
	printf("%9.3f s  would: job %s: %s%s%s%s%s\n", replayed_seconds(p), d->job,
	       d->reason, quota, k->recorded ? " (in force: " : "",
	       k->recorded ? buf : "", k->recorded ? ")" : "");
}

static void say_all_done(struct replayed *p)
{
	size_t i;

	for (i = 0; i < p->rp.n_turned; i++)
		say_done(p, &p->rp.knobs[p->rp.turned[i]]);
}

static int step_reading(struct replayed *p)
{
	const struct snapshot *was = p->rp.readings ? player_snapshot(p->was) : NULL;
	size_t i;

	if (replay_step(&p->rp, was, player_snapshot(p->is)))
		return cli_no_memory();
	say_all_done(p);
	for (i = 0; i < p->rp.n_out; i++)
		say_would(p, &p->rp.out[i]);
	return CLI_OK;
}

/* Prints an event as monitor does, with the names of the reading before it. */
static int print_event(struct replayed *p)
{
	const struct snap_event *e = player_event(p->is);
	struct cli *cli = p->cli;
	const struct snapshot mine = cli->snap;
	double at;

	if (replay_event(&p->rp, player_time(p->is), e))
		return cli_no_memory();
	cli->snap = *player_snapshot(p->is);
	at = replayed_seconds(p);
	event_show(cli, &at, e);
	cli->snap = mine;
	say_all_done(p);
	return CLI_OK;
}

/* --- In the end --------------------------------------------------------------------- */

static void side_cell(struct cell *c, const struct replay_knob *k,
		      const struct replay_side *side)
{
	struct text t;

	text_init(&t, c->buf, sizeof(c->buf));
	format_value(&t, side, k->knob);
	cell_str(c, c->buf);
}

GETTER(knob)
{
	cell_str(c, vocab_knob(((const struct replay_knob *)row)->knob)->name);
}

GETTER(would_first)
{
	const struct replay_knob *k = row;

	if (k->would.first != REPLAY_NEVER)
		cell_u64(c, k->would.first);
}

GETTER(would_text)
{
	const struct replay_knob *k = row;

	side_cell(c, k, &k->would);
}

GETTER(done_first)
{
	const struct replay_knob *k = row;

	if (k->done.first != REPLAY_NEVER)
		cell_u64(c, k->done.first);
}

GETTER(done_text)
{
	const struct replay_knob *k = row;

	if (k->recorded)
		side_cell(c, k, &k->done);
}

GETTER(agreed)
{
	const struct replay_knob *k = row;
	uint64_t all = k->agreed + k->apart;

	if (k->recorded)
		cell_real(c, all ? (double)k->agreed / (double)all : 1);
}

#define KNOB(member)		MEMBER(struct replay_knob, member)
#define KNOB_IF(member, by)	MEMBER_IF(struct replay_knob, member, by)

static const struct column knob_columns[] = {
	{ "job", "JOB", 0, COL_LEFT, KNOB(job) },
	{ "knob", "KNOB", 0, COL_LEFT, .get = get_knob },
	{ "would_acts", "WOULD", 0, 0, KNOB(would.turns) },
	{ "would_first", "FIRST", SHOW_TIME, 0, .get = get_would_first },
	{ "would_value", NULL, 0, COL_JSON, KNOB_IF(would.v, would.has) },
	{ "would_text", "LAST", 0, COL_LEFT | COL_TEXT, .get = get_would_text },
	{ "done_acts", "DONE", 0, 0, KNOB_IF(done.turns, recorded) },
	{ "done_first", "FIRST", SHOW_TIME, 0, .get = get_done_first },
	{ "done_value", NULL, 0, COL_JSON, KNOB_IF(done.v, done.has) },
	{ "done_text", "LAST", 0, COL_LEFT | COL_TEXT, .get = get_done_text },
	{ "agreed", "AGREED", SHOW_RATIO, 0, .get = get_agreed },
};

const struct noun_table policy_replay_table = NOUN_TABLE("policy.replay", knob_columns);

static bool read_by(const struct replayed *p, unsigned int sig, size_t n)
{
	return replay_lacks(&p->rp, n) >> sig & 1;
}

/* Prints the signals that no reading has, and the policies that need them. */
static void say_absent(struct replayed *p)
{
	const struct policy_set *set = &p->cfg.policies;
	struct json *j = &p->cli->out.j;
	uint64_t lacks = 0;
	unsigned int sig;
	size_t n;

	for (n = 0; n < set->n; n++)
		lacks |= replay_lacks(&p->rp, n);
	if (p->cli->out.json) {
		json_key(j, "absent");
		json_begin(j, '[');
	}
	for (sig = 0; sig < SIGNALS; sig++) {
		bool first = true;

		if (!(lacks >> sig & 1))
			continue;
		if (p->cli->out.json) {
			json_begin(j, '{');
			json_key(j, "signal");
			json_str(j, vocab_signals[sig].name);
			json_key(j, "policies");
			json_begin(j, '[');
		} else {
			printf("absent from the recording: %s, used by ",
			       vocab_signals[sig].name);
		}
		for (n = 0; n < set->n; n++) {
			if (!read_by(p, sig, n))
				continue;
			if (p->cli->out.json)
				json_str(j, set->v[n].name);
			else
				printf("%s%s", first ? "" : ", ", set->v[n].name);
			first = false;
		}
		if (p->cli->out.json) {
			json_end(j, ']');
			json_end(j, '}');
		} else {
			printf("\n");
		}
	}
	if (p->cli->out.json)
		json_end(j, ']');
}

static int print_summary(struct replayed *p)
{
	struct cli *cli = p->cli;
	struct rows knobs = ROWS(knob_columns, p->rp.knobs, p->rp.n_knobs);
	struct json *j = &cli->out.j;
	const char *problem;
	uint64_t offset;
	int err = CLI_OK;

	problem = player_problem(p->is, &offset);
	if (cli->out.json) {
		json_end(j, ']');
		json_key(j, "readings");
		json_u64(j, p->rp.readings);
		json_key(j, "decisions");
		json_u64(j, p->rp.decisions);
		json_key(j, "recorded_events");
		json_u64(j, p->rp.events);
		json_key(j, "lost_events");
		json_boolean(j, p->rp.losses);
		out_list(cli, &cli->out, "knobs", &knobs);
		say_absent(p);
		if (problem) {
			json_key(j, "problem");
			json_str(j, problem);
			json_key(j, "problem_at");
			json_u64(j, offset);
		}
		json_end(j, '}');
		putc('\n', cli->out.f);
		return CLI_OK;
	}
	if (p->rp.n_knobs) {
		printf("\nwhat would have been done, against what was\n");
		err = cli_show(cli, &knobs);
	}
	if (!(p->rp.known & (1ULL << SIG_JOB_P99 | 1ULL << SIG_QP_QUEUE_DELAY |
			     1ULL << SIG_JOB_LATENCY)))
		printf("\nlatencies: this recording has none, neither p99 nor queue delay: no process had libswiftrdma, and the kernel measured none\n");
	say_absent(p);
	if (p->rp.losses)
		printf("events are missing, see 'lost' above; their number is not known\n");
	printf("%zu readings, %zu events, %zu decisions that would have been made\n",
	       p->rp.readings, p->rp.events, p->rp.decisions);
	return err;
}

/* --- Reading ------------------------------------------------------------------------ */

static int open_one(struct replayed *p, int i, struct player **player)
{
	uint32_t version;
	int err;

	p->f[i] = fopen(p->path, "re");
	if (!p->f[i])
		return cli_fail("%s: %s", p->path, strerror(errno));
	err = player_open(player, p->f[i], &version);
	if (!err)
		return CLI_OK;
	if (err == -ENOMEM)
		return cli_no_memory();
	if (err == -EPROTONOSUPPORT)
		return cli_fail("%s: the recording has version %u, and this swiftrdma reads version %d only; record anew, or replay it with the swiftrdma that wrote it",
				p->path, version, RECORDING_VERSION);
	return cli_fail("%s: not a recording of swiftrdma record", p->path);
}

static int open_both(struct replayed *p)
{
	int err = open_one(p, 0, &p->was);

	return err ? err : open_one(p, 1, &p->is);
}

/* Moves the second reader of the recording on to the next reading. */
static int follow_second(struct replayed *p)
{
	int got;

	do {
		got = player_next(p->was);
	} while (got == PLAYER_EVENT);
	return got < 0 ? cli_no_memory() : CLI_OK;
}

static int play_recording(struct replayed *p)
{
	struct out *o = &p->cli->out;
	struct json *j = &o->j;
	const char *problem;
	uint64_t offset;
	int err = open_both(p), got;

	if (err)
		return err;
	if (o->json) {
		*j = (struct json){ .f = o->f, .pretty = o->pretty, .first = true };
		json_begin(j, '{');
		json_key(j, "recording");
		json_str(j, p->path);
		json_key(j, "events");
		json_begin(j, '[');
	}
	while ((got = player_next(p->is)) > 0) {
		err = got == PLAYER_EVENT ? print_event(p) : step_reading(p);
		if (!err && got == PLAYER_READING)
			err = follow_second(p);
		if (err)
			return err;
	}
	if (got < 0)
		return cli_no_memory();
	problem = player_problem(p->is, &offset);
	if (problem)
		fprintf(stderr, "%s: byte %llu: %s; the records before it were read\n", p->path,
			(unsigned long long)offset, problem);
	return print_summary(p);
}

int policy_replay(struct cli *cli, const char *file, const char *recording, uint64_t hurry)
{
	const struct caps here = caps_here();
	struct replayed p = { .cli = cli, .path = recording };
	int i, err = policy_load(&p.cfg, file, &here, true);

	if (err)
		return err;
	if ((hurry && config_shorten_times(&p.cfg, (double)hurry)) ||
	    replay_begin(&p.rp, &p.cfg))
		err = cli_no_memory();
	else
		err = play_recording(&p);
	player_close(p.was);
	player_close(p.is);
	for (i = 0; i < 2; i++)
		if (p.f[i])
			fclose(p.f[i]);
	replay_end(&p.rp);
	config_free(&p.cfg);
	return err;
}
