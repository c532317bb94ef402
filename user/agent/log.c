// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "agent/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int max_level = LOG_INFO;
static bool to_journal, to_json;

/*
 * What goes wrong at each reading is said ten times a second. Of the warnings and
 * errors of one kind, which is a format, BURST are said in WINDOW_NS; then how many more
 * there were.
 */
#define KINDS		32
#define BURST		20
#define WINDOW_NS	10000000000ULL

static struct kind {
	const char *fmt;
	uint64_t since;
	unsigned int said, left_out;
} kinds[KINDS];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* systemd names the journal's socket; stderr may have been redirected since. */
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
	/* Whoever follows a pipe sees a decision when it is made. */
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

static void put(int level, const char *line)
{
	if (to_journal)
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "swiftrdma-agent: %s\n", line);
}

/* Its place; where none is free, that of the kind that was said least lately. */
static struct kind *kind_of(const char *fmt)
{
	struct kind *k = &kinds[0];
	size_t i;

	for (i = 0; i < KINDS; i++) {
		if (kinds[i].fmt == fmt)
			return &kinds[i];
		if (kinds[i].since < k->since)
			k = &kinds[i];
	}
	*k = (struct kind){ .fmt = fmt };
	return k;
}

static bool too_often(int level, const char *fmt)
{
	struct kind *k = kind_of(fmt);
	uint64_t now = now_ns();
	char line[64];

	if (!k->since || now - k->since >= WINDOW_NS) {
		if (k->left_out) {
			snprintf(line, sizeof(line), "... and %u more like the next one",
				 k->left_out);
			put(level, line);
		}
		*k = (struct kind){ .fmt = fmt, .since = now };
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
	put(level, line);
}

static void json_string(const char *key, const char *s)
{
	printf(",\"%s\":\"", key);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

/* What the state looked at, by the names it has in the policy file. */
static void json_values(const struct policy_decision *d)
{
	unsigned int i;

	printf(",\"signals\":{");
	for (i = 0; i < d->seen.n_values; i++) {
		printf("%s\"%s\":", i ? "," : "",
		       vocab_signals[d->seen.values[i].sig].name);
		if (d->seen.values[i].v != d->seen.values[i].v)
			printf("null");
		else
			printf("%.9g", d->seen.values[i].v);
	}
	putchar('}');
}

/* What else was wrong, but explains less. */
static void json_causes(const struct policy *p,
			const struct policy_decision *d)
{
	bool any = false;
	unsigned int i;

	if (p->cause == CAUSE_NONE)
		return;
	json_string("cause", cause_names[p->cause]);
	printf(",\"rejected\":[");
	for (i = 1; i < CAUSES; i++) {
		if (!(d->others & 1u << i))
			continue;
		printf("%s\"%s\"", any ? "," : "", cause_names[i]);
		any = true;
	}
	putchar(']');
}

/* The objects for which the state was true; the target is told apart. */
static void json_bindings(const struct policy_decision *d)
{
	if (d->seen.has_dev)
		json_string("dev", d->seen.dev);
	if (d->seen.has_port)
		printf(",\"port\":%u", d->seen.port);
	if (d->seen.has_uar)
		printf(",\"uar\":%u", d->seen.uar);
	if (d->seen.has_qp)
		printf(",\"seen_qpn\":%u", d->seen.qpn);
}

static void json_quota(const struct policy_decision *d)
{
	printf(",\"cooldown\":%llu", (unsigned long long)d->cooldown);
	if (d->steps_left != UINT32_MAX)
		printf(",\"steps_left\":%u", d->steps_left);
	if (d->acts_left != UINT32_MAX)
		printf(",\"acts_left\":%u", d->acts_left);
	if (d->damped)
		printf(",\"damped\":%u", d->damped);
}

void log_decision(const struct policy *p, const struct policy_decision *d,
		  bool dry_run, uint64_t batch, uint64_t now)
{
	char quota[128];
	struct text t;

	text_init(&t, quota, sizeof(quota));
	why_quota(&t, d);
	if (dry_run)
		log_msg(LOG_INFO, "dry run, would act: job %s: %s%s", d->job,
			d->reason, quota);
	else
		log_msg(LOG_INFO, "act (batch %llu): job %s: %s%s",
			(unsigned long long)batch, d->job, d->reason, quota);
	if (!to_json)
		return;
	printf("{\"event\":\"decision\",\"time\":%llu,\"tick\":%llu,\"dry_run\":%s",
	       (unsigned long long)now, (unsigned long long)d->tick,
	       dry_run ? "true" : "false");
	if (batch)
		printf(",\"batch\":%llu", (unsigned long long)batch);
	if (p)
		json_string("policy", p->name);
	json_string("job", d->job);
	json_bindings(d);
	json_string("knob", vocab_knob(d->knob)->name);
	if (d->has_old)
		printf(",\"old\":%.9g", d->old);
	if (d->release)
		printf(",\"new\":null");
	else
		printf(",\"new\":%.9g", d->new);
	printf(",\"undo\":%s", d->undo ? "true" : "false");
	if (p) {
		json_values(d);
		json_causes(p, d);
	}
	if (d->has_qp)
		printf(",\"qpn\":%u", d->qpn);
	json_quota(d);
	json_string("reason", d->reason);
	puts("}");
}

void log_crowded(const struct log_crowd *c, uint64_t now)
{
	log_msg(LOG_WARNING,
		"dev %s: %s (pid %u, job %s) crowds on UAR %u: %u of its %u QPs are there, %u active, together in %.0f %% of the time; it uses %u UAR%s%s%s",
		c->dev, c->comm, c->pid, c->job, c->uar, c->most, c->qps,
		c->active, 100 * c->coactive, c->uars, c->uars > 1 ? "s" : "",
		c->advice ? ": " : "", c->advice ? c->advice : "");
	if (!to_json)
		return;
	printf("{\"event\":\"uar_imbalance\",\"time\":%llu",
	       (unsigned long long)now);
	json_string("dev", c->dev);
	json_string("job", c->job);
	json_string("comm", c->comm);
	printf(",\"pid\":%u,\"uar\":%u,\"qps\":%u,\"uars\":%u,\"most_on_uar\":%u,\"active_qps\":%u,\"coactive\":%.9g",
	       c->pid, c->uar, c->qps, c->uars, c->most, c->active,
	       c->coactive);
	if (c->advice)
		json_string("advice", c->advice);
	puts("}");
}

void log_result(const struct snap_action *a, uint64_t batch, uint32_t index)
{
	const struct vocab_knob *k = vocab_knob(a->knob);
	const char *knob = k ? k->name : "knob";
	const char *why = a->knob == SWIFTRDMA_KNOB_LEVEL ?
			  vocab_class_error(a->error) : NULL;
	char value[32] = "released", later[40] = "", unknown[48] = "";
	char refused[64], line[1024];

	if (!why && a->error)
		why = strerror(-a->error);
	if (!a->clear)
		snprintf(value, sizeof(value), "= %llu",
			 (unsigned long long)a->value);
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
	/* As many as there were actions, and none of them alike: all are said. */
	snprintf(line, sizeof(line),
		 "result (batch %llu/%u): job %s: %s %s: %u QPs, %u done, %u to be tried again, %u that cannot change%s%s%s%s",
		 (unsigned long long)batch, index + 1, a->job, knob, value, a->qps,
		 a->qps_done, a->qps_pending, a->qps_unsupported, later,
		 unknown, why ? ": " : "", why ? why : "");
	if ((a->error ? LOG_WARNING : LOG_INFO) <= max_level)
		put(a->error ? LOG_WARNING : LOG_INFO, line);
	if (!to_json)
		return;
	printf("{\"event\":\"result\",\"batch\":%llu,\"index\":%u",
	       (unsigned long long)batch, index);
	json_string("job", a->job);
	json_string("knob", knob);
	if (a->clear)
		printf(",\"value\":null");
	else
		printf(",\"value\":%llu", (unsigned long long)a->value);
	printf(",\"qps\":%u,\"qps_done\":%u,\"qps_pending\":%u,\"qps_unsupported\":%u,\"qps_unconnected\":%u,\"qps_unknown\":%u,\"error\":%d",
	       a->qps, a->qps_done, a->qps_pending, a->qps_unsupported,
	       a->qps_unconnected, a->qps_unknown, a->error);
	if (a->syndrome)
		printf(",\"syndrome\":%u", a->syndrome);
	puts("}");
}
