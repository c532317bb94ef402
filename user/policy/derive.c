// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/derive.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits of the largest packet with headers. A packet on the wire is not preempted. */
#define PACKET_BITS (4122.0 * 8)

struct writer {
	const struct config *cfg;
	FILE *f;
};

static void put_text(struct writer *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void put_text(struct writer *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(w->f, fmt, ap);
	va_end(ap);
}

static const char *format_quantity(char *buf, size_t cap, double v, enum unit unit)
{
	struct text t;

	text_init(&t, buf, cap);
	units_format_exact(&t, v, unit);
	return buf;
}

/* Is the job sensitive to latency, by its class or its target? */
static bool has_latency(const struct config_job *j)
{
	return j->slo_p99 || j->class == SWIFTRDMA_JOB_CLASS_LATENCY ||
	       j->class == SWIFTRDMA_JOB_CLASS_BALANCED;
}

/* Does the job have a target rate? */
static bool has_rate_target(const struct config_job *j)
{
	return j->slo_byte_rate > 0;
}

/* Would a class level at a port help the job? */
static bool wants_class(const struct config_job *j)
{
	return has_latency(j) || has_rate_target(j);
}

static bool outranks(const struct config_job *a, const struct config_job *b)
{
	return a->rank && (!b->rank || a->rank < b->rank);
}

/* Does the job make way for a job that goes before it? */
static bool yields_class(const struct config *cfg, const struct config_job *j)
{
	size_t i;

	if (has_latency(j))
		return false;
	for (i = 0; i < cfg->n_jobs; i++)
		if (wants_class(&cfg->jobs[i]) && outranks(&cfg->jobs[i], j))
			return true;
	return false;
}

static bool leads_any(const struct config *cfg, const struct config_job *j)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (outranks(j, &cfg->jobs[i]))
			return true;
	return false;
}

/* Is the job's class raised when a port is busy? */
static bool is_raised(const struct config *cfg, const struct config_job *j)
{
	return wants_class(j) && leads_any(cfg, j);
}

const struct config_job *derive_raises(const struct config *cfg)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (is_raised(cfg, &cfg->jobs[i]))
			return &cfg->jobs[i];
	return NULL;
}

/* Number of ranks, from @from to @to, that have a job whose class is raised. */
static uint32_t raised_ranks(const struct config *cfg, uint32_t from, uint32_t to)
{
	uint32_t rank, n = 0;
	size_t i;

	for (rank = from; rank <= to; rank++) {
		for (i = 0; i < cfg->n_jobs; i++)
			if (cfg->jobs[i].rank == rank &&
			    is_raised(cfg, &cfg->jobs[i]))
				break;
		n += i < cfg->n_jobs;
	}
	return n;
}

/*
 * Uses one level for each rank that has to differ from the ranks after it, and no more: a
 * switch has few queues. If the file sets fewer levels than that, the last ranks share
 * the lowest level. Levels that are not set are skipped.
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
	put_text(w, "    do: job.level += 1\n    ceiling: %u\n", level[step - 1]);
}

/* The condition for a job whose latency suffers. */
static const char *latency_condition(const struct config_job *j)
{
	return j->slo_p99 ? "job.p99 > job.slo_p99 * slo_near" :
			    "job.p99 rising";
}

/* The same at a port, where a rate below the target also counts. */
static void suffers_at_port(const struct config_job *j, char *buf, size_t cap)
{
	static const char slow[] = "job.byte_rate < job.slo_byte_rate";

	if (!has_rate_target(j))
		snprintf(buf, cap, "%s", latency_condition(j));
	else if (!has_latency(j))
		snprintf(buf, cap, "%s", slow);
	else
		snprintf(buf, cap, "(%s or %s)", latency_condition(j), slow);
}

/* The targets of a job in words. @rated: with its rate, which only a port affects. */
static void write_promise(const struct config_job *j, bool rated, char *buf, size_t cap)
{
	char p99[40], rate[40];

	rated &= has_rate_target(j);

	format_quantity(p99, sizeof(p99), (double)j->slo_p99, UNIT_TIME);
	format_quantity(rate, sizeof(rate), j->slo_byte_rate, UNIT_BITRATE);
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

/* Bytes for the job's name in the name of a policy. */
#define JOB_ROOM 18

/* FNV-1a, folded, so that long names stay different after they were cut. */
static unsigned int name_hash(const char *name)
{
	uint32_t h = 2166136261u;

	while (*name)
		h = (h ^ (unsigned char)*name++) * 16777619u;
	return (h ^ h >> 16) & 0xffff;
}

static void begin_policy(struct writer *w, const char *what,
			 const struct config_job *j, const char *cause)
{
	char name[JOB_ROOM + 1];

	if (strlen(j->name) <= JOB_ROOM)
		strcpy(name, j->name);
	else
		snprintf(name, sizeof(name), "%.13s.%04x", j->name,
			 name_hash(j->name));
	put_text(w, "\n  - name: %s-%s\n    for: job %s\n    cause: %s\n", what,
		 name, j->name, cause);
}

static void begin_yield(struct writer *w, const char *what,
			const struct config_job *j, const char *cause)
{
	begin_policy(w, what, j, cause);
	put_text(w, "    because: %s goes before %s\n", first_above(w->cfg, j),
		 j->name);
}

/* Writes @before and the value of a criterion in this file. */
static void put_criterion(struct writer *w, const char *before,
			  const char *name)
{
	const struct criterion *c =
		criteria_find(&w->cfg->criteria, name, strlen(name));
	char q[40];

	put_text(w, "%s%s\n", before, format_quantity(q, sizeof(q), c->v, c->unit));
}

static void write_hold(struct writer *w)
{
	put_criterion(w, "      hold: ", "undo_hold");
}

static void write_cooldown(struct writer *w)
{
	put_criterion(w, "    cooldown: ", "cooldown");
}

/*
 * A class level serves a job first but leaves the rest of the port to other jobs. If the
 * rate of a job that has only a target rate is not measured, a busy port is no sign of
 * contention, because the job may fill the port alone. The condition then also needs other
 * jobs that send; QPs on the port are not enough, since the kernel has QPs on every port.
 */
static void derive_port(struct writer *w, const struct config_job *j)
{
	char why[160], when[96];

	write_promise(j, true, why, sizeof(why));
	suffers_at_port(j, when, sizeof(when));
	begin_policy(w, "port", j, "port");
	put_text(w, "    because: %s and goes before %s\n", why,
		 first_below(w->cfg, j));
	put_text(w, "    when: port.util > port_busy and %s\n", when);
	put_text(w, "    fallback: port.util > port_busy and %s\n", has_latency(j) ? "job.qps > 0" :
		 "(count(jobs of port where job.wr_rate > 0/s) > 1 or count(jobs of port where job.doorbell_rate > 0/s) > 1)");
	put_level(w, j);
	write_cooldown(w);
	put_text(w, "    undo:\n      when: port.util < port_calm\n");
	write_hold(w);
}

static void derive_hol(struct writer *w, const struct config_job *j)
{
	char why[160];

	write_promise(j, false, why, sizeof(why));
	begin_policy(w, "hol", j, "hol");
	put_text(w, "    because: %s and may share QPs\n", why);
	put_text(w, "    when: %s and port.util < port_busy and qp.queue_delay > queue_delay\n",
		 latency_condition(j));
	put_text(w, "    fallback: port.util < port_busy and qp.queue_delay > queue_delay\n");
	put_text(w, "    do: job.weight += 1\n    ceiling: 64\n");
	/* If so many steps do not help, another cause is to blame. */
	put_text(w, "    max_steps: 8\n");
	write_cooldown(w);
	put_text(w, "    undo:\n      when: qp.queue_delay < queue_calm\n");
	write_hold(w);
	put_text(w, "      do: job.weight -= 1\n");
}

static void derive_uar(struct writer *w, const struct config_job *j)
{
	char why[160];

	write_promise(j, false, why, sizeof(why));
	begin_policy(w, "uar", j, "uar");
	put_text(w, "    because: %s and may share doorbell registers\n", why);
	put_text(w, "    when: dev.db_congestion > 0/s and uar.active_qps >= 2 and uar.coactive > uar_contended\n");
	put_text(w, "    fallback: uar.wr_rate > uar_wr_rate and uar.active_qps >= 2 and uar.coactive > uar_contended\n");
	put_text(w, "    do: migrate to lightest uar\n");
	write_cooldown(w);
	put_text(w, "    max_steps: %d\n", POLICY_MOVED);
	put_criterion(w, "    rate: ", "migrate_rate");
	put_text(w, "    undo:\n      when: uar.wr_rate < uar_wr_rate / 100\n      hold: 30s\n");
}

static void derive_scale(struct writer *w, const struct config_job *j)
{
	char why[160];

	if (!j->slo_p99)
		return;
	write_promise(j, false, why, sizeof(why));
	begin_policy(w, "scale", j, "cache");
	put_text(w, "    because: %s\n", why);
	put_text(w, "    when: dev.qpc_miss <= miss_low and dev.qps < qps_safe and job.p99 > job.slo_p99 * slo_near\n");
	put_text(w, "    fallback: dev.active_qps < qps_safe and job.p99 > job.slo_p99 * slo_near\n");
	put_text(w, "    do: scale to job.qps * 2\n    ceiling: 64\n    max_steps: 3\n");
	write_cooldown(w);
	put_text(w, "    undo:\n      when: dev.qpc_miss >= miss_high or job.p99 < job.slo_p99 * 50%%\n");
	put_text(w, "      fallback: job.p99 < job.slo_p99 * 50%%\n      hold: 10s\n");
}

static void derive_merge(struct writer *w, const struct config_job *j)
{
	begin_yield(w, "merge", j, "cache");
	put_text(w, "    when: dev.qpc_miss >= miss_high and dev.qps > qps_warn and job.qps > 1\n");
	put_text(w, "    fallback: dev.active_qps > qps_warn and job.qps > 1\n");
	put_text(w, "    do: merge to job.qps / 2\n");
	write_cooldown(w);
	put_text(w, "    undo:\n      when: dev.qpc_miss <= miss_low and dev.qps < qps_safe\n");
	put_text(w, "      fallback: dev.active_qps < qps_safe\n");
	write_hold(w);
}

/*
 * The number of work requests that a NIC can hold is unknown. A job has too many
 * outstanding if its p99 is high though no QP context is missed: its credits are reduced
 * until p99 is low.
 */
static void derive_credits(struct writer *w, const struct config_job *j)
{
	begin_yield(w, "credits", j, "cache");
	put_text(w, "    when: dev.qpc_miss <= miss_low and job.p99 > base_latency * outstanding_wait and sum(qp.outstanding over qps of job) > outstanding_least\n");
	put_text(w, "    fallback: job.p99 > base_latency * outstanding_wait and sum(qp.outstanding over qps of job) > outstanding_least\n");
	put_text(w, "    do: job.credits = sum(qp.outstanding over qps of job) * 75%%\n");
	write_cooldown(w);
	put_text(w, "    undo:\n      when: sum(qp.outstanding over qps of job) < outstanding_least / 2\n");
	write_hold(w);
}

/*
 * The page size of a job's memory cannot be changed. But both the translations that the
 * job evicts from the cache and the waiting of processing units grow with its outstanding
 * work requests, so these are limited.
 */
static void derive_pages(struct writer *w, const struct config_job *j)
{
	begin_yield(w, "pages", j, "cache");
	put_text(w, "    when: dev.mtt_miss >= miss_high and dev.mtts > mtts_warn and job.mtts > mtts_many\n");
	put_text(w, "    fallback: dev.mtts > mtts_warn and job.mtts > mtts_many\n");
	put_text(w, "    do: job.credits = pages_credits\n");
	write_cooldown(w);
	put_text(w, "    undo:\n      when: job.mtts < mtts_many / 2 or dev.mtts < mtts_warn / 2\n");
	write_hold(w);
}

/*
 * A job that creates no more than the limit, or only for a moment, does not cause the
 * storm. job.creates also counts creations that admission refused.
 */
static void derive_storm(struct writer *w, const struct config_job *j)
{
	begin_yield(w, "storm", j, "pu");
	put_text(w, "    when: dev.create_rate + dev.modify_rate > control_storm and job.creates > create_limit\n");
	put_criterion(w, "    hold: ", "storm_hold");
	put_criterion(w, "    do: job.create_rate = ", "create_limit");
	write_cooldown(w);
	put_text(w, "    undo:\n      when: dev.create_rate + dev.modify_rate < control_calm and job.creates < create_limit / 2\n");
	write_hold(w);
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
	put_text(&w, "policies:");
	/* In the order of ranks; jobs without a rank come last. */
	for (rank = 1; rank <= cfg->n_jobs + 1; rank++)
		for (i = 0; i < cfg->n_jobs; i++) {
			const struct config_job *j = &cfg->jobs[i];

			if (j->rank != rank && (j->rank || rank <= cfg->n_jobs))
				continue;
			n += has_latency(j) || yields_class(cfg, j);
			if (wants_class(j) && leads_any(cfg, j)) {
				derive_port(&w, j);
				n++;
			}
			if (has_latency(j)) {
				derive_hol(&w, j);
				derive_uar(&w, j);
				derive_scale(&w, j);
			} else if (yields_class(cfg, j)) {
				derive_storm(&w, j);
				derive_merge(&w, j);
				derive_pages(&w, j);
				derive_credits(&w, j);
			}
		}
	if (!n)
		put_text(&w, " []");
	put_text(&w, "\n");
	if (fclose(w.f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* --- Targets that cannot be met ----------------------------------------------- */

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
		text_str(&s, format_quantity(q, sizeof(q), j->slo_byte_rate,
					     UNIT_BITRATE));
		text_str(&s, " for ");
		text_str(&s, j->name);
		line = j->line;
	}
	/* A speed in the file overrides the device's (a shaper): the least of all. */
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
		  "the target rates exceed the ports: %s; the ports have %s, %s less",
		  sum_text, have_text, over_text);
}

void derive_check(const struct config *cfg, struct report *r)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		check_latency(cfg, &cfg->jobs[i], r);
	check_bandwidth(cfg, r);
}
