// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "agent/log.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int max_level = LOG_INFO;
static bool to_journal, to_json;

/*
 * Rate limit. An error at each reading would be logged ten times a second. Of warnings
 * and errors with the same format, BURST are logged in WINDOW_NS, then how many were
 * suppressed.
 */
#define KINDS		32
#define BURST		20
#define WINDOW_NS	10000000000ULL

static struct kind {
	const char *fmt;
	int level;
	uint64_t since;
	unsigned int said, left_out;
} kinds[KINDS];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* $JOURNAL_STREAM names the journal's socket; stderr may have been redirected. */
static bool stderr_is_journal(void)
{
	const char *env = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	if (!env || sscanf(env, "%llu:%llu", &dev, &ino) != 2)
		return false;
	return !fstat(2, &st) && st.st_dev == dev && st.st_ino == ino;
}

void log_open(int level, bool json)
{
	max_level = level;
	to_json = json;
	to_journal = stderr_is_journal();
	/* A reader of a pipe gets each decision at once. */
	setvbuf(stdout, NULL, _IOLBF, 0);
}

int log_level(const char *name)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {
		{ "err", LOG_ERR }, { "warning", LOG_WARNING },
		{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
	};
	size_t i;

	for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(levels[i].name, name))
			return levels[i].level;
	return -1;
}

static void write_line(int level, const char *line)
{
	if (to_journal)
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "swiftrdma-agent: %s\n", line);
}

/* The entry of a format; if none is free, the one whose window began first. */
static struct kind *kind_of(int level, const char *fmt)
{
	struct kind *k = &kinds[0];
	char line[256];
	size_t i;

	for (i = 0; i < KINDS; i++) {
		if (kinds[i].fmt == fmt)
			return &kinds[i];
		if (kinds[i].since < k->since)
			k = &kinds[i];
	}
	/* A message of this format may not come again soon, so the line names the format. */
	if (k->left_out) {
		snprintf(line, sizeof(line), "... and %u more like '%s'", k->left_out, k->fmt);
		write_line(k->level, line);
	}
	*k = (struct kind){ .fmt = fmt, .level = level };
	return k;
}

static bool too_often(int level, const char *fmt)
{
	struct kind *k = kind_of(level, fmt);
	uint64_t now = now_ns();
	char line[64];

	if (!k->since || now - k->since >= WINDOW_NS) {
		if (k->left_out) {
			snprintf(line, sizeof(line), "... and %u more like the next one",
				 k->left_out);
			write_line(level, line);
		}
		*k = (struct kind){ .fmt = fmt, .level = level, .since = now };
	}
	if (k->said < BURST) {
		k->said++;
		return false;
	}
	k->left_out++;
	return true;
}

void log_msg(int level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (level > max_level || (level <= LOG_WARNING && too_often(level, fmt)))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	write_line(level, line);
}

static void add_str(struct json_object *to, const char *key, const char *v)
{
	json_object_object_add(to, key, json_object_new_string(v));
}

static void add_u64(struct json_object *to, const char *key, uint64_t v)
{
	json_object_object_add(to, key, json_object_new_uint64(v));
}

static void add_bool(struct json_object *to, const char *key, bool v)
{
	json_object_object_add(to, key, json_object_new_boolean(v));
}

/* JSON knows no NaN, and json-c would write 1 as 1.0. */
static void add_real(struct json_object *to, const char *key, double v)
{
	struct json_object *o = NULL;

	if (fabs(v) < 1e15 && v == trunc(v)) {
		o = json_object_new_int64((int64_t)v);
	} else if (isfinite(v)) {
		o = json_object_new_double(v);
		json_object_set_serializer(o, json_object_double_to_json_string, "%.9g", NULL);
	}
	json_object_object_add(to, key, o);
}

static struct json_object *new_event(const char *event)
{
	struct json_object *o = json_object_new_object();

	add_str(o, "event", event);
	return o;
}

/* One line on stdout. Frees @o. */
static void put_json(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
					       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

/* Values of the signals of the state, by their names in policy files. */
static void add_values(struct json_object *to, const struct policy_decision *d)
{
	struct json_object *o = json_object_new_object();
	unsigned int i;

	for (i = 0; i < d->seen.n_values; i++)
		add_real(o, vocab_signals[d->seen.values[i].sig].name,
			 d->seen.values[i].v);
	json_object_object_add(to, "signals", o);
}

/* Other causes that were true but fit less. */
static void add_causes(struct json_object *to, const struct policy *p,
		       const struct policy_decision *d)
{
	struct json_object *rejected;
	unsigned int i;

	if (p->cause == CAUSE_NONE)
		return;
	add_str(to, "cause", cause_names[p->cause]);
	rejected = json_object_new_array();
	for (i = 1; i < CAUSES; i++)
		if (d->others & 1u << i)
			json_object_array_add(rejected,
					      json_object_new_string(cause_names[i]));
	json_object_object_add(to, "rejected", rejected);
}

/* The objects for which the state was true, besides the target. */
static void add_bindings(struct json_object *to, const struct policy_decision *d)
{
	if (d->seen.has_dev)
		add_str(to, "dev", d->seen.dev);
	if (d->seen.has_port)
		add_u64(to, "port", d->seen.port);
	if (d->seen.has_uar)
		add_u64(to, "uar", d->seen.uar);
	if (d->seen.has_qp)
		add_u64(to, "seen_qpn", d->seen.qpn);
}

static void add_quota(struct json_object *to, const struct policy_decision *d)
{
	add_u64(to, "cooldown", d->cooldown);
	if (d->steps_left != UINT32_MAX)
		add_u64(to, "steps_left", d->steps_left);
	if (d->acts_left != UINT32_MAX)
		add_u64(to, "acts_left", d->acts_left);
	if (d->damped)
		add_u64(to, "damped", d->damped);
}

static void put_decision(const struct policy *p, const struct policy_decision *d,
			 bool dry_run, uint64_t batch, uint64_t now)
{
	struct json_object *o = new_event("decision");

	add_u64(o, "time", now);
	add_u64(o, "tick", d->tick);
	add_bool(o, "dry_run", dry_run);
	if (batch)
		add_u64(o, "batch", batch);
	if (p)
		add_str(o, "policy", p->name);
	add_str(o, "job", d->job);
	add_bindings(o, d);
	add_str(o, "knob", vocab_knob(d->knob)->name);
	if (d->has_old)
		add_real(o, "old", d->old);
	add_real(o, "new", d->release ? NAN : d->new);
	add_bool(o, "undo", d->undo);
	if (p) {
		add_values(o, d);
		add_causes(o, p, d);
	}
	if (d->has_qp)
		add_u64(o, "qpn", d->qpn);
	add_quota(o, d);
	add_str(o, "reason", d->reason);
	put_json(o);
}

void log_decision(const struct policy *p, const struct policy_decision *d,
		  bool dry_run, uint64_t batch, uint64_t now)
{
	char quota[128], sent[40] = "";
	struct text t;

	text_init(&t, quota, sizeof(quota));
	reason_quota(&t, d);
	if (batch)
		snprintf(sent, sizeof(sent), " (batch %llu)", (unsigned long long)batch);
	if (dry_run)
		log_msg(LOG_INFO, "dry run, would act: job %s: %s%s", d->job,
			d->reason, quota);
	else
		log_msg(LOG_INFO, "act%s: job %s: %s%s", sent, d->job, d->reason, quota);
	if (to_json)
		put_decision(p, d, dry_run, batch, now);
}

void log_crowded(const struct log_crowd *c, uint64_t now)
{
	struct json_object *o;

	log_msg(LOG_WARNING,
		"dev %s: %s (pid %u, job %s) crowds on UAR %u: %u of its %u QPs are there, %u active, together in %.0f %% of the time; it uses %u UAR%s%s%s",
		c->dev, c->comm, c->pid, c->job, c->uar, c->most, c->qps,
		c->active, 100 * c->coactive, c->uars, c->uars > 1 ? "s" : "",
		c->advice ? ": " : "", c->advice ? c->advice : "");
	if (!to_json)
		return;
	o = new_event("uar_imbalance");
	add_u64(o, "time", now);
	add_str(o, "dev", c->dev);
	add_str(o, "job", c->job);
	add_str(o, "comm", c->comm);
	add_u64(o, "pid", c->pid);
	add_u64(o, "uar", c->uar);
	add_u64(o, "qps", c->qps);
	add_u64(o, "uars", c->uars);
	add_u64(o, "most_on_uar", c->most);
	add_u64(o, "active_qps", c->active);
	add_real(o, "coactive", c->coactive);
	if (c->advice)
		add_str(o, "advice", c->advice);
	put_json(o);
}

void log_passed_over(const char *policy, const char *job, unsigned int knob, uint32_t qps, uint64_t now)
{
	struct json_object *o;
	char why[256];

	if (knob == SWIFTRDMA_KNOB_UAR)
		snprintf(why, sizeof(why),
			 "of the queue pairs for which it is true, %u stay on their UARs, because the library in their process can never move them ('swiftrdma --details qp show': fixed; swiftrdma_move_reason() says why)",
			 qps);
	else
		snprintf(why, sizeof(why),
			 "new queue pairs are not placed, because its program has put all %u for which it is true in thread domains, and so chooses their UARs itself ('swiftrdma --details qp show': domain)",
			 qps);
	log_msg(LOG_INFO, "policy %s: job %s: %s", policy, job, why);
	if (!to_json)
		return;
	o = new_event("passed_over");
	add_u64(o, "time", now);
	add_str(o, "policy", policy);
	add_str(o, "job", job);
	add_str(o, "knob", vocab_knob(knob)->name);
	add_u64(o, "qps", qps);
	add_str(o, "reason", why);
	put_json(o);
}

static void put_result(const struct snap_action *a, const char *knob, uint64_t batch,
		       uint32_t index)
{
	struct json_object *o = new_event("result");

	add_u64(o, "batch", batch);
	add_u64(o, "index", index + 1);
	add_str(o, "job", a->job);
	add_str(o, "knob", knob);
	json_object_object_add(o, "value", a->clear ? NULL : json_object_new_uint64(a->value));
	add_u64(o, "qps", a->qps);
	add_u64(o, "qps_done", a->qps_done);
	add_u64(o, "qps_pending", a->qps_pending);
	add_u64(o, "qps_unsupported", a->qps_unsupported);
	add_u64(o, "qps_unconnected", a->qps_unconnected);
	add_u64(o, "qps_unknown", a->qps_unknown);
	json_object_object_add(o, "error", json_object_new_int(a->error));
	if (a->syndrome)
		add_u64(o, "syndrome", a->syndrome);
	put_json(o);
}

void log_result(const struct snap_action *a, uint64_t batch, uint32_t index)
{
	const struct vocab_knob *k = vocab_knob(a->knob);
	const char *knob = k ? k->name : "knob";
	const char *why = a->knob == SWIFTRDMA_KNOB_LEVEL ?
			  vocab_class_error(a->error) : NULL;
	char value[32] = "released", later[40] = "", unknown[48] = "";
	char refused[64], target[SNAP_NAME + 8], line[1024];

	if (!why && a->error)
		why = strerror(-a->error);
	if (!a->clear && a->knob == SWIFTRDMA_KNOB_UAR && a->value == SWIFTRDMA_UAR_LIGHTEST)
		snprintf(value, sizeof(value), "= lightest");
	else if (!a->clear)
		snprintf(value, sizeof(value), "= %llu",
			 (unsigned long long)a->value);
	if (a->job[0])
		snprintf(target, sizeof(target), "job %s", a->job);
	else
		snprintf(target, sizeof(target), "qp %u", a->qpn);
	if (a->qps_unconnected)
		snprintf(later, sizeof(later), ", %u when they connect",
			 a->qps_unconnected);
	if (a->qps_unknown)
		snprintf(unknown, sizeof(unknown), ", %u that are not known",
			 a->qps_unknown);
	if (a->error == -EREMOTEIO) {
		snprintf(refused, sizeof(refused),
			 "the device refuses it, syndrome 0x%08x", a->syndrome);
		why = refused;
	}
	/* No rate limit: there is one result for each action. */
	snprintf(line, sizeof(line),
		 "result (batch %llu/%u): %s: %s %s: %u QPs, %u done, %u to be tried again, %u that cannot change%s%s%s%s",
		 (unsigned long long)batch, index + 1, target, knob, value, a->qps,
		 a->qps_done, a->qps_pending, a->qps_unsupported, later,
		 unknown, why ? ": " : "", why ? why : "");
	if ((a->error ? LOG_WARNING : LOG_INFO) <= max_level)
		write_line(a->error ? LOG_WARNING : LOG_INFO, line);
	if (to_json)
		put_result(a, knob, batch, index);
}
