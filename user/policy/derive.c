// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits of the largest packet with headers. A packet on the wire is not preempted. */
#define PACKET_BITS (4122.0 * 8)

/* True: the job is sensitive to latency, by its class or its target. */
static bool has_latency(const struct config_job *j)
{
	return j->slo_p99 || j->class == SWIFTRDMA_JOB_CLASS_LATENCY ||
	       j->class == SWIFTRDMA_JOB_CLASS_BALANCED;
}

static bool has_rate_target(const struct config_job *j)
{
	return j->slo_byte_rate > 0;
}

/* True: a class level at a port would help the job. */
static bool wants_class(const struct config_job *j)
{
	return has_latency(j) || has_rate_target(j);
}

static bool job_outranks(const struct config_job *a, const struct config_job *b)
{
	return a->rank && (!b->rank || a->rank < b->rank);
}

/* True: policies limit the job in favour of a job that is before it in the order. */
static bool yields_class(const struct config *cfg, const struct config_job *j)
{
	size_t i;

	if (has_latency(j))
		return false;
	for (i = 0; i < cfg->n_jobs; i++)
		if (wants_class(&cfg->jobs[i]) && job_outranks(&cfg->jobs[i], j))
			return true;
	return false;
}

static bool leads_any(const struct config *cfg, const struct config_job *j)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (job_outranks(j, &cfg->jobs[i]))
			return true;
	return false;
}

/* True: the job's class is raised when a port is busy. */
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

/* True: the job may have a level, by its own policies or because a peer asks for it. */
static bool may_be_raised(const struct config *cfg, const struct config_job *j)
{
	return is_raised(cfg, j) || (j->follows_order && leads_any(cfg, j));
}

/* The number of ranks from @from to @to that have a job which may be raised. */
static uint32_t raised_ranks(const struct config *cfg, uint32_t from, uint32_t to)
{
	uint32_t rank, n = 0;
	size_t i;

	for (rank = from; rank <= to; rank++) {
		for (i = 0; i < cfg->n_jobs; i++)
			if (cfg->jobs[i].rank == rank &&
			    may_be_raised(cfg, &cfg->jobs[i]))
				break;
		n += i < cfg->n_jobs;
	}
	return n;
}

/*
 * The class level to which a job is raised. Each rank that has to differ from the ranks after
 * it gets a level of its own, and no other level is used, because a switch has few queues. If
 * the file sets too few levels for that, the last ranks share the lowest one. Levels that are
 * not set are skipped.
 */
static uint32_t choose_level(const struct config *cfg, const struct config_job *job)
{
	uint32_t level[SWIFTRDMA_LEVEL_MAX + 1], n = 0, l, before, step;
	uint32_t set = config_levels(cfg);

	for (l = 1; l <= SWIFTRDMA_LEVEL_MAX; l++)
		if (set & 1u << l)
			level[n++] = l;
	before = raised_ranks(cfg, 1, job->rank - 1);
	step = raised_ranks(cfg, job->rank, (uint32_t)cfg->n_jobs);
	if (before + step > n)
		step = n > before ? n - before : 1;
	return level[step - 1];
}

uint32_t derive_ceiling(const struct config *cfg, const struct config_job *job)
{
	return leads_any(cfg, job) ? choose_level(cfg, job) : 0;
}

/*
 * The condition for a job whose latency suffers. job.p99 changes once per window, and "rising"
 * compares two successive readings, so "job.p99 rising" would be true in one reading of each
 * window only. The condition compares two windows instead.
 */
static const char *p99_condition(const struct config_job *j)
{
	return j->slo_p99 ? "job.p99 > job.slo_p99 * slo_near" : "job.p99 > job.p99_prev";
}

/*
 * The same condition on the mean, which the kernel measures for jobs without a library. If the
 * mean has reached a target for p99, the job misses the target. A mean below the target proves
 * nothing, so a rising mean also makes the condition true.
 */
static const char *mean_condition(const struct config_job *j)
{
	return j->slo_p99 ?
	       "(job.latency > job.slo_p99 * slo_near or job.latency > job.latency_prev)" :
	       "job.latency > job.latency_prev";
}

/* The same at a port, where a rate below the target also counts. @latency: one of the above. */
static void put_port_condition(FILE *f, const struct config_job *j, const char *latency)
{
	static const char slow[] = "job.byte_rate < job.slo_byte_rate";

	if (!has_rate_target(j))
		fputs(latency, f);
	else if (!has_latency(j))
		fputs(slow, f);
	else
		fprintf(f, "(%s or %s)", latency, slow);
}

/* The targets of a job in words. @rated: also its target rate, which only a busy port affects. */
static void put_promise(FILE *f, const struct config_job *j, bool rated)
{
	char q[40];

	rated &= has_rate_target(j);
	fputs(j->name, f);
	if (j->slo_p99)
		fprintf(f, " has p99 <= %s",
			units_text_exact(q, sizeof(q), (double)j->slo_p99, UNIT_TIME));
	if (rated)
		fprintf(f, " %s byte_rate >= %s", j->slo_p99 ? "and" : "has",
			units_text_exact(q, sizeof(q), j->slo_byte_rate, UNIT_BITRATE));
	if (!j->slo_p99 && !rated)
		fprintf(f, " is of class %s", vocab_word_name(UNIT_CLASS, j->class));
}

/* The first job that @j goes before. */
static const char *first_below(const struct config *cfg, const struct config_job *j)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (job_outranks(j, &cfg->jobs[i]))
			return cfg->jobs[i].name;
	return "others";
}

/* The first job that goes before @j and wants a class. */
static const char *first_above(const struct config *cfg, const struct config_job *j)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (wants_class(&cfg->jobs[i]) && job_outranks(&cfg->jobs[i], j))
			return cfg->jobs[i].name;
	return "others";
}

/* Bytes for the job's name in the name of a policy. */
#define JOB_ROOM 18

/* FNV-1a, folded to 16 bits. It keeps long names different after they were cut. */
static unsigned int name_hash(const char *name)
{
	uint32_t h = 2166136261u;

	while (*name)
		h = (h ^ (unsigned char)*name++) * 16777619u;
	return (h ^ h >> 16) & 0xffff;
}

/* Writes the job's part of the name of a policy. */
static void put_short_name(FILE *f, const char *name)
{
	if (strlen(name) <= JOB_ROOM)
		fputs(name, f);
	else
		fprintf(f, "%.13s.%04x", name, name_hash(name));
}

/* --- templates ---------------------------------------------------------------- */

/* Properties of a job. A template lists those that it requires. */
enum {
	RAISED = 1,
	LATENCY = 2,
	NO_LATENCY = 4,
	P99_TARGET = 8,
	YIELDS = 16,
};

static unsigned int find_traits(const struct config *cfg, const struct config_job *j)
{
	return (is_raised(cfg, j) ? RAISED : 0) | (has_latency(j) ? LATENCY : NO_LATENCY) |
	       (j->slo_p99 ? P99_TARGET : 0) | (yields_class(cfg, j) ? YIELDS : 0);
}

/* The policies, in the order in which those of a job are written. */
static const struct template {
	const char *name, *cause;
	unsigned int traits;	/* the job has to have all of them */
	const char *text;	/* put_word() replaces the words in braces */
} templates[] = {
	/* A class level serves a job first but leaves the rest of the port to other jobs. */
	{ "port", "port", RAISED | LATENCY,
	  "    because: {targets} and goes before {below}\n"
	  "    when: port.util > port_busy and {port_p99}\n"
	  "    fallback:\n"
	  "      - port.util > port_busy and {port_mean}\n"
	  "      - port.util > port_busy and job.qps > 0\n"
	  "    do: job.level += 1\n"
	  "    ceiling: {level}\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: port.util < port_calm\n"
	  "      hold: {undo_hold}\n" },
	/*
	 * If the rate of a job that has only a target rate is not measured, a busy port is no
	 * sign of contention, because the job may fill the port alone. The fallback then needs
	 * other jobs that send; QPs on the port are not enough, because the kernel has QPs on
	 * every port.
	 */
	{ "port", "port", RAISED | NO_LATENCY,
	  "    because: {targets} and goes before {below}\n"
	  "    when: port.util > port_busy and {port_p99}\n"
	  "    fallback: port.util > port_busy and (count(jobs of port where job.wr_rate > 0/s) > 1 or count(jobs of port where job.doorbell_rate > 0/s) > 1)\n"
	  "    do: job.level += 1\n"
	  "    ceiling: {level}\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: port.util < port_calm\n"
	  "      hold: {undo_hold}\n" },
	/* If 8 steps do not help, waiting in send queues is not the cause. */
	{ "hol", "hol", LATENCY,
	  "    because: {p99_target} and may share QPs\n"
	  "    when: {p99} and port.util < port_busy and qp.queue_delay > queue_delay\n"
	  "    fallback:\n"
	  "      - {mean} and port.util < port_busy and qp.queue_delay > queue_delay\n"
	  "      - port.util < port_busy and qp.queue_delay > queue_delay\n"
	  "    do: job.weight += 1\n"
	  "    ceiling: 64\n"
	  "    max_steps: 8\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: qp.queue_delay < queue_calm\n"
	  "      hold: {undo_hold}\n"
	  "      do: job.weight -= 1\n" },
	/* The device reports congestion only when it begins; uar.wr_rate shows whether it lasts. */
	{ "uar", "uar", LATENCY,
	  "    because: {p99_target} and may share doorbell registers\n"
	  "    when: (dev.db_congestion > 0/s or uar.wr_rate > uar_wr_rate) and uar.active_qps >= 2 "
	  "and uar.coactive > uar_contended\n"
	  "    fallback: uar.wr_rate > uar_wr_rate and uar.active_qps >= 2 and uar.coactive > uar_contended\n"
	  "    do: migrate to lightest uar\n"
	  "    cooldown: {cooldown}\n"
	  "    max_steps: {moved}\n"
	  "    rate: {migrate_rate}\n"
	  "    undo:\n"
	  "      when: uar.wr_rate < uar_wr_rate / 100\n"
	  "      hold: 30s\n" },
	/*
	 * New QPs of the job go to registers of their own, if there are any left. Existing QPs
	 * stay on their registers, so the policy helps only a job that creates QPs or reconnects.
	 */
	{ "place", "uar", LATENCY,
	  "    because: {p99_target} and may share doorbell registers\n"
	  "    when: (dev.db_congestion > 0/s or uar.wr_rate > uar_wr_rate) and uar.active_qps >= 2 "
	  "and uar.coactive > uar_contended\n"
	  "    fallback: uar.wr_rate > uar_wr_rate and uar.active_qps >= 2 and uar.coactive > uar_contended\n"
	  "    do: place on lightest uar\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: uar.wr_rate < uar_wr_rate / 100\n"
	  "      hold: 30s\n" },
	{ "scale", "cache", P99_TARGET,
	  "    because: {p99_target}\n"
	  "    when: dev.qpc_miss <= miss_low and dev.qps < qps_safe and job.p99 > job.slo_p99 * slo_near\n"
	  "    fallback:\n"
	  "      - dev.active_qps < qps_safe and job.p99 > job.slo_p99 * slo_near\n"
	  "      - dev.active_qps < qps_safe and job.latency > job.slo_p99 * slo_near\n"
	  "    do: scale to job.qps * 2\n"
	  "    ceiling: 64\n"
	  "    max_steps: 3\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: dev.qpc_miss >= miss_high or job.p99 < job.slo_p99 * 50%\n"
	  "      fallback:\n"
	  "        - job.p99 < job.slo_p99 * 50%\n"
	  "        - job.latency < job.slo_p99 * 50%\n"
	  "      hold: 10s\n" },
	/*
	 * A job that creates no more QPs than the limit, or only for a moment, does not cause
	 * the storm. job.creates also counts creations that admission refused.
	 */
	{ "storm", "pu", YIELDS,
	  "    because: {above} goes before {job}\n"
	  "    when: dev.create_rate + dev.modify_rate > control_storm and job.creates > create_limit\n"
	  "    hold: {storm_hold}\n"
	  "    do: job.create_rate = {create_limit}\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: dev.create_rate + dev.modify_rate < control_calm and job.creates < create_limit / 2\n"
	  "      hold: {undo_hold}\n" },
	{ "merge", "cache", YIELDS,
	  "    because: {above} goes before {job}\n"
	  "    when: dev.qpc_miss >= miss_high and dev.qps > qps_warn and job.qps > 1\n"
	  "    fallback: dev.active_qps > qps_warn and job.qps > 1\n"
	  "    do: merge to job.qps / 2\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: dev.qpc_miss <= miss_low and dev.qps < qps_safe\n"
	  "      fallback: dev.active_qps < qps_safe\n"
	  "      hold: {undo_hold}\n" },
	/*
	 * The page size of a job's memory cannot be changed. But both the translations that the
	 * job evicts from the cache and the waiting of processing units grow with its
	 * outstanding work requests, so these are limited.
	 */
	{ "pages", "cache", YIELDS,
	  "    because: {above} goes before {job}\n"
	  "    when: dev.mtt_miss >= miss_high and dev.mtts > mtts_warn and job.mtts > mtts_many\n"
	  "    fallback: dev.mtts > mtts_warn and job.mtts > mtts_many\n"
	  "    do: job.credits = pages_credits\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: job.mtts < mtts_many / 2 or dev.mtts < mtts_warn / 2\n"
	  "      hold: {undo_hold}\n" },
	/*
	 * The number of work requests that a NIC can hold is unknown. A job has too many
	 * outstanding if its p99 is high although few lookups of QP contexts miss: its credits
	 * are reduced until p99 is low.
	 */
	{ "credits", "cache", YIELDS,
	  "    because: {above} goes before {job}\n"
	  "    when: dev.qpc_miss <= miss_low and job.p99 > base_latency * outstanding_wait and sum(qp.outstanding over qps of job) > outstanding_least\n"
	  "    fallback:\n"
	  "      - job.p99 > base_latency * outstanding_wait and sum(qp.outstanding over qps of job) > outstanding_least\n"
	  "      - job.latency > base_latency * outstanding_wait and sum(qp.outstanding over qps of job) > outstanding_least\n"
	  "    do: job.credits = sum(qp.outstanding over qps of job) * 75%\n"
	  "    cooldown: {cooldown}\n"
	  "    undo:\n"
	  "      when: sum(qp.outstanding over qps of job) < outstanding_least / 2\n"
	  "      hold: {undo_hold}\n" },
};

/* Writes the text for a word of a template. A word that is not known here is a criterion. */
static void put_word(FILE *f, const struct config *cfg, const struct config_job *j,
		     const char *word)
{
	const struct criterion *c;
	char q[40];

	if (!strcmp(word, "job")) {
		fputs(j->name, f);
	} else if (!strcmp(word, "above")) {
		fputs(first_above(cfg, j), f);
	} else if (!strcmp(word, "below")) {
		fputs(first_below(cfg, j), f);
	} else if (!strcmp(word, "targets") || !strcmp(word, "p99_target")) {
		put_promise(f, j, *word == 't');
	} else if (!strcmp(word, "p99")) {
		fputs(p99_condition(j), f);
	} else if (!strcmp(word, "mean")) {
		fputs(mean_condition(j), f);
	} else if (!strcmp(word, "port_p99")) {
		put_port_condition(f, j, p99_condition(j));
	} else if (!strcmp(word, "port_mean")) {
		put_port_condition(f, j, mean_condition(j));
	} else if (!strcmp(word, "level")) {
		fprintf(f, "%u", choose_level(cfg, j));
	} else if (!strcmp(word, "moved")) {
		fprintf(f, "%d", POLICY_MOVED);
	} else {
		c = criteria_find(&cfg->criteria, word, strlen(word));
		fputs(units_text_exact(q, sizeof(q), c->v, c->unit), f);
	}
}

static void put_policy(FILE *f, const struct config *cfg, const struct config_job *j,
		       const struct template *t)
{
	const char *s = t->text, *open;
	char word[CRITERION_NAME];
	int len;

	fprintf(f, "\n  - name: %s-", t->name);
	put_short_name(f, j->name);
	fprintf(f, "\n    for: job %s\n    cause: %s\n", j->name, t->cause);
	while ((open = strchr(s, '{'))) {
		fwrite(s, 1, (size_t)(open - s), f);
		len = (int)strcspn(open + 1, "}");
		snprintf(word, sizeof(word), "%.*s", len, open + 1);
		put_word(f, cfg, j, word);
		s = open + 1 + len + 1;
	}
	fputs(s, f);
}

char *derive_text(const struct config *cfg)
{
	char *text = NULL;
	size_t len = 0, i, k, n = 0;
	uint32_t rank;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fputs("policies:", f);
	/* In the order of ranks; jobs without a rank come last. */
	for (rank = 1; rank <= cfg->n_jobs + 1; rank++)
		for (i = 0; i < cfg->n_jobs; i++) {
			const struct config_job *j = &cfg->jobs[i];

			if (j->rank != rank && (j->rank || rank <= cfg->n_jobs))
				continue;
			for (k = 0; k < sizeof(templates) / sizeof(templates[0]); k++) {
				if (templates[k].traits & ~find_traits(cfg, j))
					continue;
				put_policy(f, cfg, j, &templates[k]);
				n++;
			}
		}
	fputs(n ? "\n" : " []\n", f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* --- Targets that cannot be met ----------------------------------------------- */

static void check_latency(const struct config *cfg, const struct config_job *j,
			  struct diag *r)
{
	double base = criteria_value(&cfg->criteria, "base_latency");
	double packet = 0, ns;
	char need[40], q[40], b[40], p[40];
	size_t i;

	for (i = 0; i < cfg->n_speeds; i++) {
		ns = PACKET_BITS * 1e9 / (double)cfg->speeds[i].speed;
		if (!i || ns < packet)
			packet = ns;
	}
	if (!j->slo_p99 || (double)j->slo_p99 >= base + packet)
		return;
	units_text(q, sizeof(q), (double)j->slo_p99, UNIT_TIME);
	units_text(b, sizeof(b), base, UNIT_TIME);
	if (packet > 0)
		diag_at(r, j->line, 1,
			"job '%s': p99 <= %s cannot be met: %s for any request (base_latency) + %s for the packet that may be on the wire = %s",
			j->name, q, b, units_text(p, sizeof(p), packet, UNIT_TIME),
			units_text(need, sizeof(need), base + packet, UNIT_TIME));
	else
		diag_at(r, j->line, 1,
			"job '%s': p99 <= %s cannot be met: no request is answered in less than %s; if this device is faster, set 'base_latency' under 'criteria:'",
			j->name, q, b);
}

static void check_bandwidth(const struct config *cfg, struct diag *r)
{
	char sum_text[256], have_text[40], over_text[40], q[40];
	double sum = 0, have = 0;
	unsigned int line = 0;
	bool several = false;
	struct text s;
	size_t i;

	text_init(&s, sum_text, sizeof(sum_text));
	for (i = 0; i < cfg->n_jobs; i++) {
		const struct config_job *j = &cfg->jobs[i];

		if (j->slo_byte_rate <= 0)
			continue;
		several = sum > 0;
		sum += j->slo_byte_rate;
		text_add(&s, several ? " + " : "",
			 units_text_exact(q, sizeof(q), j->slo_byte_rate, UNIT_BITRATE),
			 " for ", j->name);
		line = j->line;
	}
	/* A speed in the file, of a shaper, overrides the devices' speeds. */
	for (i = 0; i < cfg->n_speeds; i++)
		have += (double)cfg->speeds[i].speed;
	if (!cfg->n_speeds)
		have = cfg->caps.speed;
	if (have <= 0 || sum <= have)
		return;
	if (several)
		text_add(&s, " = ", units_text(q, sizeof(q), sum, UNIT_BITRATE));
	diag_at(r, line, 1, "the target rates exceed the ports: %s; the ports have %s, %s less",
		sum_text, units_text(have_text, sizeof(have_text), have, UNIT_BITRATE),
		units_text(over_text, sizeof(over_text), sum - have, UNIT_BITRATE));
}

void derive_check(const struct config *cfg, struct diag *r)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		check_latency(cfg, &cfg->jobs[i], r);
	check_bandwidth(cfg, r);
}
