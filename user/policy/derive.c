// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/derive.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A packet that is on the wire is not interrupted: the largest, with headers. */
#define PACKET_BITS (4122.0 * 8)

struct writer {
	const struct config *cfg;
	FILE *f;
};

static void put(struct writer *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(w->f, fmt, ap);
	va_end(ap);
}

static const char *quantity(char *buf, size_t cap, double v, enum unit unit)
{
	struct text t;

	text_init(&t, buf, cap);
	units_format_exact(&t, v, unit);
	return buf;
}

/* Has latency to lose: its class says so, or its target. */
static bool guarded(const struct config_job *j)
{
	return j->slo_p99 || j->class == SWIFTRDMA_JOB_CLASS_LATENCY ||
	       j->class == SWIFTRDMA_JOB_CLASS_BALANCED;
}

/* Has a rate to lose, which it was promised. */
static bool promised(const struct config_job *j)
{
	return j->slo_byte_rate > 0;
}

/* Has something to lose at a port, where a class is what helps. */
static bool wants_class(const struct config_job *j)
{
	return guarded(j) || promised(j);
}

static bool outranks(const struct config_job *a, const struct config_job *b)
{
	return a->rank && (!b->rank || a->rank < b->rank);
}

/* Yields to somebody who has more to lose. */
static bool yields(const struct config *cfg, const struct config_job *j)
{
	size_t i;

	if (guarded(j))
		return false;
	for (i = 0; i < cfg->n_jobs; i++)
		if (wants_class(&cfg->jobs[i]) && outranks(&cfg->jobs[i], j))
			return true;
	return false;
}

static bool leads(const struct config *cfg, const struct config_job *j)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (outranks(j, &cfg->jobs[i]))
			return true;
	return false;
}

/* Is its class raised, when a port is busy? */
static bool raised(const struct config *cfg, const struct config_job *j)
{
	return wants_class(j) && leads(cfg, j);
}

const struct config_job *derive_raises(const struct config *cfg)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (raised(cfg, &cfg->jobs[i]))
			return &cfg->jobs[i];
	return NULL;
}

/* Places in the order whose jobs' classes are raised, from @from up to @to. */
static uint32_t raised_ranks(const struct config *cfg, uint32_t from, uint32_t to)
{
	uint32_t rank, n = 0;
	size_t i;

	for (rank = from; rank <= to; rank++) {
		for (i = 0; i < cfg->n_jobs; i++)
			if (cfg->jobs[i].rank == rank &&
			    raised(cfg, &cfg->jobs[i]))
				break;
		n += i < cfg->n_jobs;
	}
	return n;
}

/*
 * A level for each place in the order that is to be told apart from those after it,
 * and no more: a switch has few queues. Where fewer levels are set than there are
 * such places, the last ones share the lowest. A step goes to the next that is set.
 */
static void put_level(struct writer *w, const struct config_job *job)
{
	const struct config *cfg = w->cfg;
	uint32_t level[SWIFTRDMA_LEVEL_MAX + 1], n = 0, l, before, step;
	uint32_t set = config_levels(cfg);

	for (l = 1; l <= SWIFTRDMA_LEVEL_MAX; l++)
		if (set & 1u << l)
			level[n++] = l;
	before = raised_ranks(cfg, 1, job->rank - 1);
	step = raised_ranks(cfg, job->rank, (uint32_t)cfg->n_jobs);
	if (before + step > n)
		step = n > before ? n - before : 1;
	put(w, "    do: job.level += 1\n    ceiling: %u\n", level[step - 1]);
}

/* What shows that the job suffers, and what it was promised. */
static const char *suffers(const struct config_job *j)
{
	return j->slo_p99 ? "job.p99 > job.slo_p99 * slo_near" :
			    "job.p99 rising";
}

/* The same at a port, where it may send less than it was promised as well. */
static void suffers_at_port(const struct config_job *j, char *buf, size_t cap)
{
	static const char slow[] = "job.byte_rate < job.slo_byte_rate";

	if (!promised(j))
		snprintf(buf, cap, "%s", suffers(j));
	else if (!guarded(j))
		snprintf(buf, cap, "%s", slow);
	else
		snprintf(buf, cap, "(%s or %s)", suffers(j), slow);
}

/* @rated: the rate counts too, which is a port's matter alone. */
static void promise(const struct config_job *j, bool rated, char *buf, size_t cap)
{
	char p99[40], rate[40];

	rated &= promised(j);

	quantity(p99, sizeof(p99), (double)j->slo_p99, UNIT_TIME);
	quantity(rate, sizeof(rate), j->slo_byte_rate, UNIT_BITRATE);
	if (j->slo_p99 && rated)
		snprintf(buf, cap, "%s has p99 <= %s and byte_rate >= %s",
			 j->name, p99, rate);
	else if (j->slo_p99)
		snprintf(buf, cap, "%s has p99 <= %s", j->name, p99);
	else if (rated)
		snprintf(buf, cap, "%s has byte_rate >= %s", j->name, rate);
	else
		snprintf(buf, cap, "%s is of class %s", j->name,
			 vocab_word_name(UNIT_CLASS, j->class));
}

static const char *first_below(const struct config *cfg,
			       const struct config_job *j)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (outranks(j, &cfg->jobs[i]))
			return cfg->jobs[i].name;
	return "others";
}

static const char *first_above(const struct config *cfg,
			       const struct config_job *j)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (wants_class(&cfg->jobs[i]) && outranks(&cfg->jobs[i], j))
			return cfg->jobs[i].name;
	return "others";
}

/* What is left for a job's name in a policy's. */
#define JOB_ROOM 18

/* FNV-1a, folded: of a long name the part that is cut tells, too. */
static unsigned int name_hash(const char *name)
{
	uint32_t h = 2166136261u;

	while (*name)
		h = (h ^ (unsigned char)*name++) * 16777619u;
	return (h ^ h >> 16) & 0xffff;
}

static void begin(struct writer *w, const char *what,
		  const struct config_job *j, const char *cause)
{
	char name[JOB_ROOM + 1];

	if (strlen(j->name) <= JOB_ROOM)
		strcpy(name, j->name);
	else
		snprintf(name, sizeof(name), "%.13s.%04x", j->name,
			 name_hash(j->name));
	put(w, "\n  - name: %s-%s\n    for: job %s\n    cause: %s\n", what,
	    name, j->name, cause);
}

static void begin_yield(struct writer *w, const char *what,
			const struct config_job *j, const char *cause)
{
	begin(w, what, j, cause);
	put(w, "    because: %s goes before %s\n", first_above(w->cfg, j),
	    j->name);
}

/* What there is before it, and the value that a criterion has in this file. */
static void put_criterion(struct writer *w, const char *before,
			  const char *name)
{
	const struct criterion *c =
		criteria_find(&w->cfg->criteria, name, strlen(name));
	char q[40];

	put(w, "%s%s\n", before, quantity(q, sizeof(q), c->v, c->unit));
}

static void hold(struct writer *w)
{
	put_criterion(w, "      hold: ", "undo_hold");
}

static void cooldown(struct writer *w)
{
	put_criterion(w, "    cooldown: ", "cooldown");
}

/*
 * A class makes way for what there is to send and no more, so that what the job
 * leaves of the port is the others' still. Who has nothing but a rate to lose would
 * fill a port by itself: where nobody measures its rate, others must send too. To be
 * there is not enough, since the kernel's own QPs are on every port.
 */
static void port(struct writer *w, const struct config_job *j)
{
	char why[160], when[96];

	promise(j, true, why, sizeof(why));
	suffers_at_port(j, when, sizeof(when));
	begin(w, "port", j, "port");
	put(w, "    because: %s and goes before %s\n", why,
	    first_below(w->cfg, j));
	put(w, "    when: port.util > port_busy and %s\n", when);
	put(w, "    fallback: port.util > port_busy and %s\n", guarded(j) ? "job.qps > 0" :
	    "(count(jobs of port where job.wr_rate > 0/s) > 1 or count(jobs of port where job.doorbell_rate > 0/s) > 1)");
	put_level(w, j);
	cooldown(w);
	put(w, "    undo:\n      when: port.util < port_calm\n");
	hold(w);
}

static void hol(struct writer *w, const struct config_job *j)
{
	char why[160];

	promise(j, false, why, sizeof(why));
	begin(w, "hol", j, "hol");
	put(w, "    because: %s and may share QPs\n", why);
	put(w, "    when: %s and port.util < port_busy and qp.queue_delay > queue_delay\n",
	    suffers(j));
	put(w, "    fallback: port.util < port_busy and qp.queue_delay > queue_delay\n");
	put(w, "    do: job.weight += 1\n    ceiling: 64\n");
	/* What so many do not help has another cause: its policy's turn. */
	put(w, "    max_steps: 8\n");
	cooldown(w);
	put(w, "    undo:\n      when: qp.queue_delay < queue_calm\n");
	hold(w);
	put(w, "      do: job.weight -= 1\n");
}

static void uar(struct writer *w, const struct config_job *j)
{
	char why[160];

	promise(j, false, why, sizeof(why));
	begin(w, "uar", j, "uar");
	put(w, "    because: %s and may share doorbell registers\n", why);
	put(w, "    when: dev.db_congestion > 0/s and uar.active_qps >= 2 and uar.coactive > uar_contended\n");
	put(w, "    fallback: uar.wr_rate > uar_wr_rate and uar.active_qps >= 2 and uar.coactive > uar_contended\n");
	put(w, "    do: migrate to lightest uar\n");
	cooldown(w);
	put(w, "    max_steps: %d\n", POLICY_MOVED);
	put_criterion(w, "    rate: ", "migrate_rate");
	put(w, "    undo:\n      when: uar.wr_rate < uar_wr_rate / 100\n      hold: 30s\n");
}

static void scale(struct writer *w, const struct config_job *j)
{
	char why[160];

	if (!j->slo_p99)
		return;
	promise(j, false, why, sizeof(why));
	begin(w, "scale", j, "cache");
	put(w, "    because: %s\n", why);
	put(w, "    when: dev.qpc_miss <= miss_low and dev.qps < qps_safe and job.p99 > job.slo_p99 * slo_near\n");
	put(w, "    fallback: dev.active_qps < qps_safe and job.p99 > job.slo_p99 * slo_near\n");
	put(w, "    do: scale to job.qps * 2\n    ceiling: 64\n    max_steps: 3\n");
	cooldown(w);
	put(w, "    undo:\n      when: dev.qpc_miss >= miss_high or job.p99 < job.slo_p99 * 50%%\n");
	put(w, "      fallback: job.p99 < job.slo_p99 * 50%%\n      hold: 10s\n");
}

static void merge(struct writer *w, const struct config_job *j)
{
	begin_yield(w, "merge", j, "cache");
	put(w, "    when: dev.qpc_miss >= miss_high and dev.qps > qps_warn and job.qps > 1\n");
	put(w, "    fallback: dev.active_qps > qps_warn and job.qps > 1\n");
	put(w, "    do: merge to job.qps / 2\n");
	cooldown(w);
	put(w, "    undo:\n      when: dev.qpc_miss <= miss_low and dev.qps < qps_safe\n");
	put(w, "      fallback: dev.active_qps < qps_safe\n");
	hold(w);
}

/*
 * How many work requests a NIC holds is not to be read anywhere. A job has too many
 * outstanding when its tail is long though no context is missed: it is given fewer,
 * until the tail is short.
 */
static void credits(struct writer *w, const struct config_job *j)
{
	begin_yield(w, "credits", j, "cache");
	put(w, "    when: dev.qpc_miss <= miss_low and job.p99 > base_latency * outstanding_wait and sum(qp.outstanding over qps of job) > outstanding_least\n");
	put(w, "    fallback: job.p99 > base_latency * outstanding_wait and sum(qp.outstanding over qps of job) > outstanding_least\n");
	put(w, "    do: job.credits = sum(qp.outstanding over qps of job) * 75%%\n");
	cooldown(w);
	put(w, "    undo:\n      when: sum(qp.outstanding over qps of job) < outstanding_least / 2\n");
	hold(w);
}

/*
 * Nobody can put a job's memory into larger pages for it. What it pushes out of
 * the cache, and what units wait for, grows with what it has outstanding.
 */
static void pages(struct writer *w, const struct config_job *j)
{
	begin_yield(w, "pages", j, "cache");
	put(w, "    when: dev.mtt_miss >= miss_high and dev.mtts > mtts_warn and job.mtts > mtts_many\n");
	put(w, "    fallback: dev.mtts > mtts_warn and job.mtts > mtts_many\n");
	put(w, "    do: job.credits = pages_credits\n");
	cooldown(w);
	put(w, "    undo:\n      when: job.mtts < mtts_many / 2 or dev.mtts < mtts_warn / 2\n");
	hold(w);
}

/*
 * Who creates no more than it would be left with, or for a moment, is not the storm.
 * While it is held up it still asks, which job.creates has too.
 */
static void storm(struct writer *w, const struct config_job *j)
{
	begin_yield(w, "storm", j, "pu");
	put(w, "    when: dev.create_rate + dev.modify_rate > control_storm and job.creates > create_limit\n");
	put_criterion(w, "    hold: ", "storm_hold");
	put_criterion(w, "    do: job.create_rate = ", "create_limit");
	cooldown(w);
	put(w, "    undo:\n      when: dev.create_rate + dev.modify_rate < control_calm and job.creates < create_limit / 2\n");
	hold(w);
}

char *derive_text(const struct config *cfg)
{
	struct writer w = { .cfg = cfg };
	char *text = NULL;
	size_t len = 0, i, n = 0;
	uint32_t rank;

	w.f = open_memstream(&text, &len);
	if (!w.f)
		return NULL;
	put(&w, "policies:");
	/* In the order of importance, and who has no place in it at the end. */
	for (rank = 1; rank <= cfg->n_jobs + 1; rank++)
		for (i = 0; i < cfg->n_jobs; i++) {
			const struct config_job *j = &cfg->jobs[i];

			if (j->rank != rank && (j->rank || rank <= cfg->n_jobs))
				continue;
			n += guarded(j) || yields(cfg, j);
			if (wants_class(j) && leads(cfg, j)) {
				port(&w, j);
				n++;
			}
			if (guarded(j)) {
				hol(&w, j);
				uar(&w, j);
				scale(&w, j);
			} else if (yields(cfg, j)) {
				storm(&w, j);
				merge(&w, j);
				pages(&w, j);
				credits(&w, j);
			}
		}
	if (!n)
		put(&w, " []");
	put(&w, "\n");
	if (fclose(w.f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* --- What cannot be met ------------------------------------------------------- */

static void check_latency(const struct config *cfg, const struct config_job *j,
			  struct report *r)
{
	double base = criteria_value(&cfg->criteria, "base_latency");
	double packet = 0, ns;
	char need[40], q[40], b[40], p[40];
	struct text t;
	size_t i;

	for (i = 0; i < cfg->n_speeds; i++) {
		ns = PACKET_BITS * 1e9 / (double)cfg->speeds[i].speed;
		if (!i || ns < packet)
			packet = ns;
	}
	if (!j->slo_p99 || (double)j->slo_p99 >= base + packet)
		return;
	text_init(&t, need, sizeof(need));
	units_format(&t, base + packet, UNIT_TIME);
	text_init(&t, q, sizeof(q));
	units_format(&t, (double)j->slo_p99, UNIT_TIME);
	text_init(&t, b, sizeof(b));
	units_format(&t, base, UNIT_TIME);
	text_init(&t, p, sizeof(p));
	units_format(&t, packet, UNIT_TIME);
	if (packet > 0)
		report_at(r, j->line, 1,
			  "job '%s': p99 <= %s cannot be met: %s for any request (base_latency) + %s for the packet that may be on the wire = %s",
			  j->name, q, b, p, need);
	else
		report_at(r, j->line, 1,
			  "job '%s': p99 <= %s cannot be met: no request is answered in less than %s; if this device is faster, set 'base_latency' under 'criteria:'",
			  j->name, q, b);
}

static void check_bandwidth(const struct config *cfg, struct report *r)
{
	char sum_text[256], have_text[40], over_text[40], q[40];
	double sum = 0, have = 0;
	unsigned int line = 0;
	bool several = false;
	struct text t, s;
	size_t i;

	text_init(&s, sum_text, sizeof(sum_text));
	for (i = 0; i < cfg->n_jobs; i++) {
		const struct config_job *j = &cfg->jobs[i];

		if (j->slo_byte_rate <= 0)
			continue;
		several = sum > 0;
		sum += j->slo_byte_rate;
		if (several)
			text_str(&s, " + ");
		text_str(&s, quantity(q, sizeof(q), j->slo_byte_rate,
				      UNIT_BITRATE));
		text_str(&s, " for ");
		text_str(&s, j->name);
		line = j->line;
	}
	/* The file's word is better than the device's, of a shaped port: of all there are. */
	for (i = 0; i < cfg->n_speeds; i++)
		have += (double)cfg->speeds[i].speed;
	if (!cfg->n_speeds)
		have = cfg->caps.speed;
	if (have <= 0 || sum <= have)
		return;
	if (several) {
		text_str(&s, " = ");
		units_format(&s, sum, UNIT_BITRATE);
	}
	text_init(&t, have_text, sizeof(have_text));
	units_format(&t, have, UNIT_BITRATE);
	text_init(&t, over_text, sizeof(over_text));
	units_format(&t, sum - have, UNIT_BITRATE);
	report_at(r, line, 1,
		  "more is promised than there is: %s; the ports have %s, %s less",
		  sum_text, have_text, over_text);
}

void derive_check(const struct config *cfg, struct report *r)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		check_latency(cfg, &cfg->jobs[i], r);
	check_bandwidth(cfg, r);
}
