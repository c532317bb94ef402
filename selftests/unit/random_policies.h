/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random policies of the whole language, for tests of the evaluator. The same seed gives the
 * same. Readings and constants are few small numbers, so that they are often equal, and floats
 * have them exactly.
 */
#ifndef SELFTESTS_UNIT_RANDOM_POLICIES_H
#define SELFTESTS_UNIT_RANDOM_POLICIES_H

#include <stdarg.h>
#include <stdlib.h>

#include "policy/config.h"

#define MS 1000000ULL

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

/* A signal that is a quantity. Others name something, and have no order. */
static inline bool is_quantity(enum signal_id id)
{
	return vocab_signals[id].unit < UNIT_ID;
}

#define ANY_KIND ((1u << OBJ_KINDS) - 1)

/* A signal of an object whose kind has a bit in @kinds. */
static inline enum signal_id random_signal(unsigned int kinds)
{
	enum signal_id id;

	do
		id = random_below(SIGNALS);
	while (!(kinds >> vocab_signals[id].obj & 1));
	return id;
}

static inline enum signal_id random_quantity(unsigned int kinds)
{
	enum signal_id id;

	do
		id = random_signal(kinds);
	while (!is_quantity(id));
	return id;
}

/* A quantity of unit @unit, if one is found soon, else @other. */
static inline enum signal_id random_of_unit(enum unit unit, enum signal_id other)
{
	enum signal_id id;
	uint32_t i;

	for (i = 0; i < 50; i++) {
		id = random_quantity(ANY_KIND);
		if (vocab_signals[id].unit == unit)
			return id;
	}
	return other;
}

/* Word @n of those of a unit, which begin anew after the last. */
static inline const struct vocab_word *word_of(enum unit unit, uint32_t n)
{
	size_t i;

	for (i = 0;; i = (i + 1) % vocab_n_words)
		if (vocab_words[i].unit == unit && !n--)
			return &vocab_words[i];
}

/* An identifier has more digits than a float. */
#define RANDOM_ID 16777216

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
	case UNIT_ID:
		return RANDOM_ID + n;
	case UNIT_CLASS:
	case UNIT_STATE:
	case UNIT_TYPE:
		return word_of(vocab_signals[id].unit, n)->value;
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
	else if (unit == UNIT_ID)
		put("%u", RANDOM_ID + n);
	else if (unit >= UNIT_CLASS)
		put("%s", word_of(unit, n)->name);
	else
		put("%u", n * 64);
}

static inline void put_compare(void)
{
	static const char *const ops[] = { ">", ">=", "<", "<=", "==", "!=" };

	put(" %s ", ops[random_below(6)]);
}

/* "port.util > 50%", "qp.state == RTS" */
static inline void put_comparison(enum signal_id id)
{
	put("%s", vocab_signals[id].name);
	if (is_quantity(id))
		put_compare();
	else
		put(random_below(2) ? " == " : " != ");
	put_value(vocab_signals[id].unit, random_below(9));
}

/* What members of a quantifier are selected: what reads objects of @kinds. */
static inline void put_where(unsigned int kinds)
{
	put(" where ");
	if (random_below(3)) {
		put_comparison(random_signal(kinds));
		return;
	}
	put(random_below(2) ? "not (" : "(");
	put_comparison(random_signal(kinds));
	put(random_below(2) ? " and " : " or ");
	put_comparison(random_signal(kinds));
	put(random_below(2) ? ") or " : ") and ");
	put_comparison(random_signal(kinds));
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
	enum signal_id id = random_quantity(prog_sees(pairs[i].of));

	if (which == 4)
		put("count(%s", pairs[i].words);
	else
		put("%s(%s%s over %s", ops[which], vocab_signals[id].name,
		    random_below(4) ? "" : " * 2", pairs[i].words);
	if (random_below(2))
		put_where(prog_sees(pairs[i].of));
	put(")");
	if (!random_below(6)) {
		put(random_below(2) ? " rising" : " falling");
		return;
	}
	put_compare();
	if (which == 4)
		put("%u", random_below(4));
	else
		put_value(vocab_signals[id].unit, random_below(9));
}

/* A comparison of what is computed from one or two signals. */
static inline void put_arithmetic(enum signal_id id)
{
	const struct vocab_signal *s = &vocab_signals[id];
	const struct vocab_signal *other = &vocab_signals[random_of_unit(s->unit, id)];

	switch (random_below(5)) {
	case 0:
		put("-%s", s->name);
		put_compare();
		put("-");
		put_value(s->unit, random_below(9));
		return;
	case 1:
		/* A part of it. */
		other = &vocab_signals[random_of_unit(UNIT_RATIO, SIG_PORT_UTIL)];
		put("%s * %s", s->name, other->name);
		break;
	case 2:
		/* A multiple of another one. */
		put("%s / %s", s->name, other->name);
		put_compare();
		put("%u%%", 25 * random_below(9));
		return;
	case 3:
		put("%s", s->name);
		put_compare();
		put("%s", other->name);
		return;
	default:
		put("%s %s %s", s->name, random_below(2) ? "+" : "-", other->name);
		break;
	}
	put_compare();
	put_value(s->unit, random_below(9));
	if (random_below(2))
		put(random_below(2) ? " * 2" : " / 2");
}

static inline void put_for(void)
{
	put(" for %ums", 100 * (1 + random_below(3)));
}

/* What policies are really made of. */
static const char *const random_trends[] = {
	"job.p99 > job.p99_prev", "job.p99_prev < job.p99", "job.latency > job.latency_prev",
	"job.latency_prev < job.latency", "job.latency_prev > 3us",
	"job.byte_rate < job.slo_byte_rate", "job.slo_byte_rate * 2 >= job.byte_rate",
	"port.tx_rate > port.speed / 2", "not dev.qps < 128",
};

static inline void put_atom(void)
{
	enum signal_id id = random_quantity(ANY_KIND);
	uint32_t which = random_below(12);

	if (which >= 10) {
		put("%s", random_trends[random_below(9)]);
		return;
	}
	if (which == 0) {
		put("%s %s", vocab_signals[id].name, random_below(2) ? "rising" : "falling");
	} else if (which == 1) {
		put_aggregate();
	} else if (which == 2) {
		put_value(vocab_signals[id].unit, random_below(9));
		put_compare();
		put("%s", vocab_signals[id].name);
	} else if (which <= 5) {
		put_arithmetic(id);
	} else {
		put_comparison(random_signal(ANY_KIND));
	}
	if (!random_below(8))
		put_for();
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
	if (!random_below(8))
		put_for();
}

/* What a policy does, and steps of its undo in the opposite direction; NULL: none. */
static const struct random_action {
	const char *act, *undo;
} random_actions[] = {
	{ "job.level += 1", "job.level -= 1" },
	{ "job.level += job.qps / 64", "job.level -= 2" },
	{ "job.level = 2", NULL },
	{ "job.level = 3", "job.level -= 1" },
	{ "job.weight += 1", "job.weight -= 1" },
	{ "job.weight += job.qps / 64", "job.weight -= 1" },
	{ "job.weight -= 1", "job.weight += 2" },
	{ "job.weight = 1", NULL },
	{ "job.credits = 32", "job.credits += 16" },
	{ "job.credits -= 8", NULL },
	{ "job.max_qps = 64", "job.max_qps += 32" },
	{ "job.max_qps -= 16", "job.max_qps += 8" },
	{ "job.create_rate = 640/s", NULL },
	{ "job.create_rate -= 200/s", "job.create_rate += 100/s" },
	{ "job.create_rate -= job.creates / 2", "job.create_rate += 100/s" },
	{ "job.create_rate -= job.modifies", "job.create_rate += 200/s" },
	{ "job.max_qps -= job.qps / 16", "job.max_qps += 8" },
	{ "job.bit_rate = 2Mbit/s", "job.bit_rate += 10Mbit/s" },
	{ "job.wr_rate = 64k/s", NULL },
	{ "job.credits = dev.qps / 2", NULL },
	{ "job.max_qps = count(qps of job where qp.wr_rate > 100/s)", NULL },
	{ "place on lightest uar", NULL },
	{ "place by thread", NULL },
	{ "migrate to lightest uar", NULL },
	{ "migrate to lightest uar", NULL },
	{ "scale to job.qps * 2", NULL },
	{ "merge to job.qps / 2", "job.qps += 64" },
	{ "job.wr_rate = job.wr_rate / 2", "job.wr_rate = job.wr_rate * 2" },
};

/* Part of a policy from "do:" to its bounds. Returns the action. */
static inline const struct random_action *put_action(void)
{
	const size_t n = sizeof(random_actions) / sizeof(random_actions[0]);
	const struct random_action *a = &random_actions[random_below((uint32_t)n)];
	const bool two = !random_below(4) && !strstr(a->act, "job.weight");

	put(", do: \"%s%s\"", a->act, two ? ", job.weight += 2" : "");
	if (two && random_below(2))
		put(", ceiling: {job.weight: %u}", 2 + random_below(4));
	else if (!two && strstr(a->act, "job.level"))
		put(", floor: %u, ceiling: %u", random_below(2), 2 + random_below(4));
	else if (!two && strstr(a->act, "job.max_qps"))
		put(", floor: %u, ceiling: %u", random_below(33), 64 + random_below(64));
	return a;
}

/* An undo excludes the state, whose text is @length bytes from @from on: most are its contrary. */
static inline void put_undo(const struct random_action *a, size_t from, size_t length)
{
	put(", undo: {when: \"");
	if (random_below(4))
		put("not (%.*s)", (int)length, random_text + from);
	else
		put_state(1);
	put("\"");
	if (!random_below(4)) {
		put(", fallback: \"");
		put_state(1);
		put("\"");
	}
	if (a->undo && random_below(2))
		put(", do: \"%s\"", a->undo);
	put(", hold: %ums", 100 * (1 + random_below(5)));
	if (random_below(3))
		put(", cooldown: %ums", 100 * random_below(5));
	put("}}\n");
}

static inline void put_policy(unsigned int n)
{
	static const char *const whom[] = {
		"job", "job", "job", "job kv", "job bulk", "job of class latency",
		"job of class latency or balanced", "job of class throughput",
		"job of class best-effort", "job of class best-effort or throughput",
	};
	static const char *const causes[] = { "uar", "cache", "pu", "hol", "port" };
	const struct random_action *a;
	size_t from, to;
	unsigned int i;

	put("- {name: p%u, for: \"%s\", when: \"", n, whom[random_below(10)]);
	from = random_length;
	put_state(2);
	to = random_length;
	put("\"");
	if (random_below(3))
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
	if (random_below(2))
		put(", rank: %u", 1 + random_below(4));
	a = put_action();
	if (random_below(4))
		put(", cooldown: %ums", 100 * random_below(8));
	if (!random_below(3))
		put(", max_steps: %u", 1 + random_below(4));
	if (!random_below(4))
		put(", rate: %u/s", 1 + random_below(9));
	put_undo(a, from, to - from);
}

static inline void put_jobs(void)
{
	put("jobs: [{name: kv, class: latency, match: [{comm: kv}]},"
	    " {name: web, class: balanced, match: [{comm: web}]},"
	    " {name: bulk, class: throughput, match: [{comm: bulk}]},"
	    " {name: batch, class: best-effort, match: [{comm: batch}]}]\n");
	if (random_below(2))
		put("order: %s\n",
		    random_below(2) ? "batch > bulk, web" : "bulk > kv > web > batch");
}

static inline void put_criteria(void)
{
	put("levels: [{level: 1, dscp: 10}, {level: %u, dscp: 18}, {level: 5, dscp: 20}]\n",
	    2 + random_below(3));
	put("criteria: {settle: %ums, turns: %u, turns_within: %ums, ", 100 * random_below(8),
	    1 + random_below(3), 500 * (1 + random_below(8)));
	put("starve_qps: %u, starve_credits: %u, starve_rate: %uMbit/s}\n", random_below(50),
	    1 + random_below(50), 1 + random_below(9));
}

/* Loads what was put. */
static inline bool load_policies_put(struct config *cfg)
{
	const struct caps caps = caps_all();
	struct diag r;

	diag_init(&r, "random");
	return config_load_text_for(cfg, &caps, random_text, random_length, &r);
}

/* Loads a few random policies. False: they are no policies, which some states are not. */
static inline bool random_policies(struct config *cfg)
{
	unsigned int i, n = 1 + random_below(6);

	random_length = 0;
	put_criteria();
	put_jobs();
	put("policies:\n");
	for (i = 0; i < n; i++)
		put_policy(i);
	return load_policies_put(cfg);
}

#endif /* SELFTESTS_UNIT_RANDOM_POLICIES_H */
