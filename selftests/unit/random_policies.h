/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random policies of the whole language, and random readings, for tests of the evaluator. The
 * same seed gives the same. Readings and constants are few small numbers, so that they are
 * often equal, and floats have them exactly.
 */
#ifndef SELFTESTS_UNIT_RANDOM_POLICIES_H
#define SELFTESTS_UNIT_RANDOM_POLICIES_H

#include <stdarg.h>
#include <stdlib.h>

#include "policy/config.h"
#include "unit/snap_build.h"

static uint64_t random_state = 1;

/* A number below @n. */
static inline uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(random_state >> 33) % n;
}

#define RANDOM_TEXT	32768

static char random_text[RANDOM_TEXT];
static size_t random_length;

static inline void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	random_length += (size_t)vsnprintf(random_text + random_length,
					   RANDOM_TEXT - random_length, format, args);
	va_end(args);
	if (random_length >= RANDOM_TEXT)
		abort();
}

/* A signal whose unit has values that put_value() writes. */
static inline bool is_usual(enum signal_id id)
{
	switch (vocab_signals[id].unit) {
	case UNIT_COUNT:
	case UNIT_RATE:
	case UNIT_RATIO:
	case UNIT_TIME:
	case UNIT_BITRATE:
		return true;
	default:
		return false;
	}
}

#define ANY_KIND ((1u << OBJ_KINDS) - 1)

/* A signal of an object whose kind has a bit in @kinds. */
static inline enum signal_id random_signal(unsigned int kinds)
{
	enum signal_id id;

	do
		id = random_below(SIGNALS);
	while (!is_usual(id) || !(kinds >> vocab_signals[id].obj & 1));
	return id;
}

/* The value of reading @n, from 0 to 8, of a signal. */
static inline double reading_value(enum signal_id id, uint32_t n)
{
	switch (vocab_signals[id].unit) {
	case UNIT_RATIO:
		return n / 8.0;
	case UNIT_TIME:
		return n * 1000.0;
	case UNIT_BITRATE:
		return n * 1048576.0;
	default:
		return n * 64.0;
	}
}

static inline void put_value(enum unit unit, uint32_t n)
{
	if (unit == UNIT_RATIO)
		put("%g%%", n * 12.5);
	else if (unit == UNIT_TIME)
		put("%uus", n);
	else if (unit == UNIT_BITRATE)
		put("%ubit/s", n * 1048576);
	else if (unit == UNIT_RATE)
		put("%u/s", n * 64);
	else
		put("%u", n * 64);
}

static inline void put_compare(void)
{
	static const char *const ops[] = { ">", ">=", "<", "<=", "==", "!=" };

	put(" %s ", ops[random_below(6)]);
}

/* "max(qp.wr_rate over qps of uar where ...) > 5/s": members, their object, what is compared. */
static inline void put_aggregate(void)
{
	static const struct {
		enum obj_kind of, on;
		const char *words;
	} pairs[] = {
		{ OBJ_QP, OBJ_DEV, "qps of dev" }, { OBJ_QP, OBJ_PORT, "qps of port" },
		{ OBJ_QP, OBJ_UAR, "qps of uar" }, { OBJ_QP, OBJ_JOB, "qps of job" },
		{ OBJ_UAR, OBJ_DEV, "uars of dev" }, { OBJ_PORT, OBJ_DEV, "ports of dev" },
		{ OBJ_PORT, OBJ_JOB, "ports of job" }, { OBJ_JOB, OBJ_PORT, "jobs of port" },
	};
	static const char *const ops[] = { "max", "min", "sum", "mean" };
	uint32_t i = random_below(8), which = random_below(5);
	enum signal_id id, where;

	id = random_signal(1u << pairs[i].of);
	where = random_signal(1u << pairs[i].of);
	if (which == 4)
		put("count(%s", pairs[i].words);
	else
		put("%s(%s over %s", ops[which], vocab_signals[id].name, pairs[i].words);
	if (random_below(2)) {
		put(" where %s", vocab_signals[where].name);
		put_compare();
		put_value(vocab_signals[where].unit, random_below(9));
	}
	put(")");
	put_compare();
	if (which == 4)
		put("%u", random_below(4));
	else
		put_value(vocab_signals[id].unit, random_below(9));
}

static inline void put_atom(void)
{
	enum signal_id id = random_signal(ANY_KIND), other;
	const struct vocab_signal *s = &vocab_signals[id];
	uint32_t which = random_below(10), i;

	if (which == 0) {
		put("%s %s", s->name, random_below(2) ? "rising" : "falling");
	} else if (which == 1) {
		put_aggregate();
	} else if (which == 2) {
		put_value(s->unit, random_below(9));
		put_compare();
		put("%s", s->name);
	} else if (which <= 4) {
		/* Another signal of the same unit, if one is found soon. */
		other = id;
		for (i = 0; i < 50; i++) {
			other = random_signal(ANY_KIND);
			if (vocab_signals[other].unit == s->unit)
				break;
		}
		if (vocab_signals[other].unit != s->unit)
			other = id;
		put("%s %s %s", s->name, random_below(2) ? "+" : "-", vocab_signals[other].name);
		put_compare();
		put_value(s->unit, random_below(9));
		if (random_below(2))
			put(random_below(2) ? " * 2" : " / 2");
	} else {
		put("%s", s->name);
		put_compare();
		put_value(s->unit, random_below(9));
	}
	if (which > 1 && !random_below(8))
		put(" for %ums", 100 * (1 + random_below(3)));
}

static inline void put_state(unsigned int depth)
{
	if (!depth || !random_below(3)) {
		put_atom();
		return;
	}
	if (!random_below(5))
		put("not ");
	put("(");
	put_state(depth - 1);
	put(random_below(3) ? " and " : " or ");
	put_state(depth - 1);
	put(")");
}

static inline void put_action(void)
{
	static const char *const actions[] = {
		"job.level += 1", "job.level = 2", "job.weight += 1", "job.weight -= 1",
		"job.credits = 32", "job.max_qps = 64", "job.create_rate = 640/s",
		"job.bit_rate = 1Gbit/s", "job.wr_rate = 64k/s", "job.credits = dev.qps / 2",
		"place on lightest uar", "migrate to lightest uar", "scale to job.qps * 2",
		"merge to job.qps / 2", "job.wr_rate = job.wr_rate / 2",
	};

	const char *action = actions[random_below(15)];

	put("\"%s", action);
	if (!random_below(4) && !strstr(action, "job.weight"))
		put(", job.weight = 3");
	put("\"");
}

static inline void put_policy(unsigned int n)
{
	static const char *const whom[] = {
		"job", "job kv", "job bulk", "job of class latency",
		"job of class latency or balanced", "job of class throughput",
	};
	static const char *const causes[] = { "uar", "cache", "pu", "hol", "port" };
	size_t from, to;
	unsigned int i;

	put("- {name: p%u, for: \"%s\", when: \"", n, whom[random_below(6)]);
	from = random_length;
	put_state(2);
	to = random_length;
	put("\"");
	if (random_below(2))
		put(", cause: %s", causes[random_below(5)]);
	if (!random_below(3)) {
		put(", fallback: [\"");
		for (i = random_below(2); i < 2; i++) {
			put_state(1);
			put(i ? "\"]" : "\", \"");
		}
	}
	if (random_below(2))
		put(", hold: %ums", 100 * random_below(5));
	put(", do: ");
	put_action();
	if (random_below(2))
		put(", cooldown: %ums", 100 * random_below(8));
	if (!random_below(3))
		put(", max_steps: %u", 1 + random_below(4));
	if (!random_below(4))
		put(", rate: %u/s", 1 + random_below(5));
	/* An undo excludes the state: most are its contrary. */
	put(", undo: {when: \"");
	if (random_below(4))
		put("not (%.*s)", (int)(to - from), random_text + from);
	else
		put_state(1);
	put("\"");
	if (!random_below(4)) {
		put(", fallback: \"");
		put_state(1);
		put("\"");
	}
	put(", hold: %ums", 100 * (1 + random_below(5)));
	if (!random_below(3))
		put(", cooldown: %ums", 100 * random_below(5));
	put("}}\n");
}

/* Loads a few random policies. False: they are no policies, which some states are not. */
static inline bool random_policies(struct config *cfg)
{
	const struct caps caps = caps_all();
	unsigned int i, n = 1 + random_below(5);
	struct diag r;

	random_length = 0;
	put("levels: [{level: 1, dscp: 10}, {level: 2, dscp: 18}]\n"
	    "jobs: [{name: kv, class: latency, match: [{comm: kv}]},"
	    " {name: bulk, class: throughput, match: [{comm: bulk}]}]\n"
	    "policies:\n");
	for (i = 0; i < n; i++)
		put_policy(i);
	diag_init(&r, "random");
	return config_load_text_for(cfg, &caps, random_text, random_length, &r);
}

/*
 * Two devices, one with two ports, and QPs of four jobs and of none. QPs come and go, and what
 * they belong to is not always known.
 */
static inline void random_scene(struct made *m, uint64_t ms)
{
	static const char *const names[] = { "", "kv", "web", "bulk", "batch" };
	uint32_t i, qpn = 0;
	struct snap_qp *qp;

	made_init(m, ms);
	made_dev(m, 0);
	made_dev(m, 1);
	made_port(m, 0, 0);
	made_port(m, 0, 0)->index = 2;
	made_port(m, 1, 0);
	for (i = 0; i < 6; i++) {
		made_uar(m, i / 4, i % 4)->context = i / 2;
		m->uars[i].has |= SNAP_CONTEXT_ID;
	}
	for (i = 0; i < 5; i++) {
		m->jobs[i].id = i;
		m->jobs[i].class = i;
		snprintf(m->jobs[i].name, sizeof(m->jobs[i].name), "%s", names[i]);
		m->jobs[i].since = 1;
		m->jobs[i].time = m->s.time;
		m->jobs[i].stats = m->stats[i];
		m->jobs[i].n_stats = 2;
		m->stats[i][1].dev = 1;
		m->s.n_jobs++;
	}
	for (i = 0; i < 24; i++) {
		qpn += 1 + !random_below(40);
		if (!random_below(20))
			continue;
		qp = made_qp(m, i / 16, qpn, random_below(30) ? 1 + qpn % 4 : 0);
		qp->serial = qpn;
		if (qp->dev == 0)
			qp->port = 1 + qpn % 2;
		qp->uar = qpn % (i / 16 ? 2 : 4);
		if (!random_below(15))
			qp->has &= ~(uint64_t)SNAP_PORT;
		if (!random_below(15))
			qp->has &= ~(uint64_t)SNAP_UAR;
		if (qp->job)
			m->stats[qp->job][qp->dev].qps++;
	}
}

/* Sets readings of all objects, of which some are absent. They are the same for a while. */
static inline void random_readings(struct signals *s, uint8_t (*was)[64])
{
	enum signal_id id;
	uint32_t row, n;

	for (id = 0; id < SIGNALS; id++)
		for (row = 0; is_usual(id) && row < s->table[vocab_signals[id].obj].n; row++) {
			if (!random_below(6))
				was[id][row] = (uint8_t)random_below(10);
			n = was[id][row];
			if (n == 9)
				signal_set(s, id, row, __builtin_nan(""));
			else
				signal_set(s, id, row, reading_value(id, n));
		}
}

#endif /* SELFTESTS_UNIT_RANDOM_POLICIES_H */
