// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Every member of every object comes back from a recording, and every change. */
#include <stdlib.h>

#include "io/merge.h"
#include "unit/notify.h"
#include "unit/record_rig.h"

/*
 * Objects of nothing but bytes that are not zero, each its own: a member that
 * is not recorded comes back as zero, and so does the padding between members, whose
 * bytes are known.
 */
#define GAPS_DEV	16
#define GAPS_PORT	0
#define GAPS_PRIO	4
#define GAPS_UAR 0
#define GAPS_QP		7
#define GAPS_STAT	4
#define GAPS_JOB_REPORT	35
#define GAPS_QP_REPORT	0
#define GAPS_RULE	1
#define GAPS_ACTION	12
#define GAPS_DECISION	4
#define GAPS_READING	7

static uint32_t noise;

static void fill(void *obj, size_t n)
{
	unsigned char *p = obj;

	while (n--) {
		noise = noise * 1103515245 + 12345;
		*p++ = (unsigned char)(1 + (noise >> 16) % 255);
	}
}

#define FILL_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

/* All that an object of this table may have. */
static uint64_t all_of(const struct srdma_set *set)
{
	uint64_t has = 0;
	size_t i;

	for (i = 0; i < set->n; i++)
		has |= set->fields[i].has;
	return has;
}

static void fill_rules(struct snap_job *j, struct snap_rule *rules, size_t n)
{
	size_t i;

	fill(rules, n * sizeof(*rules));
	for (i = 0; i < n; i++) {
		FILL_TEXT(rules[i].origin);
		FILL_TEXT(rules[i].cgroup);
		FILL_TEXT(rules[i].comm);
		FILL_TEXT(rules[i].exe);
		memset(&rules[i].has_uid, 1, 1);
		memset(&rules[i].has_pid, 1, 1);
		memset(&rules[i].asked, 1, 1);
	}
	j->rules = rules;
	j->n_rules = n;
}

static void fill_objects(struct made *m, uint32_t seed)
{
	/* More than one message has room for. */
	static struct snap_rule rules[2][150];
	size_t i;

	noise = seed;
	made_init(m, 0);
	fill(&m->s.generation, sizeof(m->s.generation));
	fill(&m->s.time, sizeof(m->s.time));
	m->s.n_devs = 2;
	m->s.n_ports = m->s.n_uars = m->s.n_qps = m->s.n_owners = 3;
	m->s.n_prios = 16;
	m->s.n_jobs = 2;
	fill(m->devs, sizeof(m->devs));
	fill(m->ports, sizeof(m->ports));
	fill(m->prios, sizeof(m->prios));
	fill(m->uars, sizeof(m->uars));
	fill(m->qps, sizeof(m->qps));
	fill(m->owners, sizeof(m->owners));
	fill(m->stats, sizeof(m->stats));
	m->s.n_job_reports = 2;
	m->s.n_qp_reports = 3;
	fill(m->job_reports, sizeof(m->job_reports));
	fill(m->qp_reports, sizeof(m->qp_reports));
	for (i = 0; i < 3; i++) {
		FILL_TEXT(m->ports[i].netdev);
		FILL_TEXT(m->owners[i].comm);
		FILL_TEXT(m->owners[i].exe);
		FILL_TEXT(m->owners[i].cgroup);
		FILL_TEXT(m->owners[i].kernel);
		memset(&m->qps[i].adopted, 1, 1);
		memset(&m->qps[i].class_pending, 1, 1);
		memset(&m->qps[i].wrs_ambiguous, 1, 1);
		memset(&m->qps[i].devx, 1, 1);
		memset(&m->qps[i].follows, 1, 1);
		m->ports[i].has = all_of(&srdma_port_set);
		m->uars[i].has = all_of(&srdma_uar_set);
		m->qps[i].has = all_of(&srdma_qp_set) | SNAP_CLASS;
		m->ports[i].index = (uint32_t)i + 1;
		m->qp_reports[i].has = all_of(&srdma_qp_report_set);
	}
	for (i = 0; i < 16; i++) {
		m->prios[i].dev = m->ports[i % 3].dev;
		m->prios[i].port = m->ports[i % 3].index;
	}
	for (i = 0; i < 2; i++) {
		struct snap_job *j = &m->jobs[i];

		FILL_TEXT(m->devs[i].name);
		FILL_TEXT(m->devs[i].provider);
		fill(j, sizeof(*j));
		FILL_TEXT(j->name);
		j->stats = m->stats[i];
		j->n_stats = 1 + i;
		j->stats[0].has = j->stats[1].has = all_of(&srdma_stat_set);
		fill_rules(j, rules[i], i ? 150 : 3);
		m->devs[i].has = all_of(&srdma_dev_set);
		memset(&m->job_reports[i].distrusted, 1, 1);
		m->job_reports[i].n_held = SNAP_LIBRARY_KNOBS;
		for (size_t k = 0; k < SNAP_LIBRARY_KNOBS; k++)
			m->job_reports[i].held[k].has = all_of(&srdma_held_set);
	}
	srdma_sort_others(&m->s);
	srdma_sort_qps(m->qps, 3);
	/* In the order in which a reader meets them. */
	for (i = 0; i < 3; i++)
		m->uars[i].owner = m->qps[i].owner = (uint32_t)i;
}

static void whole(const void *a, const void *b, size_t n, size_t gaps)
{
	const unsigned char *is = a, *was = b;
	size_t i, lost = 0;

	for (i = 0; i < n; i++) {
		lost += !is[i] && was[i];
		if (is[i])
			assert_int_equal(is[i], was[i]);
	}
	assert_int_equal(lost, gaps);
}

static void whole_snapshot(const struct snapshot *is, const struct snapshot *was)
{
	size_t i, k;

	assert_int_equal(is->generation, was->generation);
	assert_int_equal(is->time, was->time);
	assert_int_equal(is->admin, was->admin);
	assert_int_equal(is->armed, was->armed);
	assert_int_equal(is->n_devs, was->n_devs);
	assert_int_equal(is->n_ports, was->n_ports);
	assert_int_equal(is->n_prios, was->n_prios);
	assert_int_equal(is->n_uars, was->n_uars);
	assert_int_equal(is->n_qps, was->n_qps);
	assert_int_equal(is->n_owners, was->n_owners);
	assert_int_equal(is->n_jobs, was->n_jobs);
	assert_int_equal(is->n_job_reports, was->n_job_reports);
	assert_int_equal(is->n_qp_reports, was->n_qp_reports);
	for (i = 0; i < is->n_job_reports; i++)
		whole(&is->job_reports[i], &was->job_reports[i], sizeof(*is->job_reports),
		      GAPS_JOB_REPORT);
	for (i = 0; i < is->n_qp_reports; i++)
		whole(&is->qp_reports[i], &was->qp_reports[i], sizeof(*is->qp_reports),
		      GAPS_QP_REPORT);
	for (i = 0; i < is->n_devs; i++)
		whole(&is->devs[i], &was->devs[i], sizeof(*is->devs),
		      GAPS_DEV);
	for (i = 0; i < is->n_ports; i++)
		whole(&is->ports[i], &was->ports[i], sizeof(*is->ports),
		      GAPS_PORT);
	for (i = 0; i < is->n_prios; i++)
		whole(&is->prios[i], &was->prios[i], sizeof(*is->prios),
		      GAPS_PRIO);
	for (i = 0; i < is->n_uars; i++)
		whole(&is->uars[i], &was->uars[i], sizeof(*is->uars), GAPS_UAR);
	for (i = 0; i < is->n_qps; i++)
		whole(&is->qps[i], &was->qps[i], sizeof(*is->qps), GAPS_QP);
	for (i = 0; i < is->n_owners; i++)
		whole(&is->owners[i], &was->owners[i], sizeof(*is->owners), 0);
	for (i = 0; i < is->n_jobs; i++) {
		const struct snap_job *a = &is->jobs[i], *b = &was->jobs[i];

		assert_int_equal(a->id, b->id);
		assert_int_equal(a->class, b->class);
		assert_string_equal(a->name, b->name);
		assert_int_equal(a->since, b->since);
		assert_int_equal(a->time, b->time);
		assert_int_equal(a->n_stats, b->n_stats);
		for (k = 0; k < a->n_stats; k++)
			whole(&a->stats[k], &b->stats[k], sizeof(*a->stats),
			      GAPS_STAT);
		assert_int_equal(a->n_rules, b->n_rules);
		for (k = 0; k < a->n_rules; k++)
			whole(&a->rules[k], &b->rules[k], sizeof(*a->rules), GAPS_RULE);
	}
}

static void test_whole(void **state)
{
	struct recorder *r;
	struct player *p;
	size_t i;
	FILE *f;

	(void)state;
	r = begin(&f);
	for (i = 0; i < 3; i++) {
		fill_objects(&readings[i], (uint32_t)i + 7);
		/* Fewer, and then more again. */
		if (i == 1)
			readings[i].s.n_jobs = readings[i].s.n_qps = 1;
		recorder_snapshot(r, &readings[i].s);
	}
	finish(f, r);
	p = play(&f);
	for (i = 0; i < 3; i++) {
		fill_objects(&readings[i], (uint32_t)i + 7);
		if (i == 1)
			readings[i].s.n_jobs = readings[i].s.n_qps = 1;
		assert_int_equal(player_next(p), PLAYER_READING);
		assert_int_equal(player_time(p), readings[i].s.time);
		whole_snapshot(player_snapshot(p), &readings[i].s);
	}
	assert_int_equal(player_next(p), PLAYER_END);
	stop(f, p);
}

/* A QP that changes, one that comes, one that gets another owner, and one that goes. */
static void test_changes(void **state)
{
	static struct made want[5];
	struct recorder *r;
	struct player *p;
	size_t i, k;
	FILE *f;

	(void)state;
	r = begin(&f);
	for (i = 0; i < 5; i++) {
		made_scene(&want[i], 1000, 0);
		if (i > 0)
			want[i].qps[1].wrs = 77;
		if (i > 1) {
			made_qp(&want[i], 0, 30, 1)->owner = 1;
			want[i].owners[1].uid = 9;
		}
		if (i > 2)
			want[i].qps[0].owner = 1;
		if (i > 3)
			memmove(&want[i].qps[0], &want[i].qps[1],
				--want[i].s.n_qps * sizeof(struct snap_qp));
		recorder_snapshot(r, &want[i].s);
	}
	finish(f, r);
	p = play(&f);
	for (i = 0; i < 5; i++) {
		const struct snapshot *s;

		assert_int_equal(player_next(p), PLAYER_READING);
		s = player_snapshot(p);
		assert_int_equal(s->n_qps, want[i].s.n_qps);
		for (k = 0; k < s->n_qps; k++) {
			struct snap_qp qp = want[i].qps[k];

			assert_memory_equal(&s->owners[s->qps[k].owner],
					    &want[i].owners[qp.owner],
					    sizeof(struct snap_owner));
			qp.owner = s->qps[k].owner;
			assert_memory_equal(&s->qps[k], &qp, sizeof(qp));
		}
	}
	stop(f, p);
}

/* One reading of several attempts: the last one counts, whatever came before it. */
static void test_again(void **state)
{
	struct srdma_bytes b = { 0 };
	struct recorder *r;
	struct player *p;
	FILE *f;

	(void)state;
	make_readings();
	r = begin(&f);
	recorder_snapshot(r, &readings[0].s);
	/* Changes, which were not enough, as the QP that has gone shows. */
	assert_int_equal(srdma_encode(&b, &readings[1].s, &readings[0].s), 0);
	assert_int_equal(srdma_encode(&b, &readings[2].s, NULL), 0);
	recorder_put(r, RECORDING_READING, 5, b.p, b.len);
	/* The other way around: the module was loaded anew while it was read. */
	b.len = 0;
	assert_int_equal(srdma_encode(&b, &readings[2].s, NULL), 0);
	assert_int_equal(srdma_encode(&b, &readings[0].s, NULL), 0);
	recorder_put(r, RECORDING_READING, 6, b.p, b.len);
	free(b.p);
	finish(f, r);
	p = play(&f);
	assert_int_equal(player_next(p), PLAYER_READING);
	same(player_snapshot(p), &readings[0].s);
	assert_int_equal(player_next(p), PLAYER_READING);
	same(player_snapshot(p), &readings[2].s);
	assert_int_equal(player_next(p), PLAYER_READING);
	same(player_snapshot(p), &readings[0].s);
	assert_int_equal(player_next(p), PLAYER_END);
	stop(f, p);
}

/* Jobs that the reader was not allowed to see are not jobs that there are none of. */
static void test_unprivileged(void **state)
{
	struct recorder *r;
	struct player *p;
	FILE *f;

	(void)state;
	make_readings();
	r = begin(&f);
	readings[1].s.admin = false;
	readings[1].s.armed = false;
	recorder_snapshot(r, &readings[0].s);
	recorder_snapshot(r, &readings[1].s);
	finish(f, r);
	p = play(&f);
	assert_int_equal(player_next(p), PLAYER_READING);
	assert_true(player_snapshot(p)->admin);
	assert_int_equal(player_snapshot(p)->n_jobs, 3);
	assert_int_equal(player_next(p), PLAYER_READING);
	assert_false(player_snapshot(p)->admin);
	assert_int_equal(player_snapshot(p)->n_jobs, 0);
	stop(f, p);
}

/* The action is the only object of an event that no reading has. */
static void test_whole_action(void **state)
{
	static struct snap_action all;
	const struct snap_event e = { .kind = SNAP_EVENT_ACTION, .action = &all };
	struct recorder *r;
	struct player *p;
	size_t i;
	FILE *f;

	(void)state;
	noise = 9;
	fill(&all, sizeof(all));
	memset(&all.clear, 1, 1);
	memset(&all.has_dev, 1, 1);
	memset(&all.in_force, 1, 1);
	memset(&all.has_value, 1, 1);
	FILL_TEXT(all.job);
	FILL_TEXT(all.reason);
	FILL_TEXT(all.lease_origin);
	FILL_TEXT(all.decision.policy);
	all.decision.n_readings = SNAP_READINGS;
	for (i = 0; i < SNAP_READINGS; i++) {
		FILL_TEXT(all.decision.readings[i].signal);
		memset(&all.decision.readings[i].known, 1, 1);
	}
	all.decision.has = all_of(&srdma_decision_set);
	r = begin(&f);
	notify_record(r, 1, &e);
	finish(f, r);
	p = play(&f);
	assert_int_equal(player_next(p), PLAYER_EVENT);
	whole(player_event(p)->action, &all, sizeof(all),
	      GAPS_ACTION + GAPS_DECISION + SNAP_READINGS * GAPS_READING);
	stop(f, p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_whole_action),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_unprivileged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
