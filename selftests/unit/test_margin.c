// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How strongly a state holds, and which of several causes is acted on: tables of
 * readings. The job is kv of the usual scene: port 0, UAR 0, QPs 0 and 1.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/config.h"
#include "policy/derive.h"
#include "policy/doc.h"
#include "unit/eval_rig.h"
#include "unit/levels.h"

#define READINGS 8
#define KV 1

struct reading {
	enum signal_id sig;
	double v;
};

static void read_all(const struct reading *r)
{
	unsigned int i;

	for (i = 0; i < READINGS && r[i].v != 0; i++) {
		bool job = vocab_signals[r[i].sig].obj == OBJ_JOB;

		signal_set(&sig, r[i].sig, job ? KV : 0, r[i].v);
	}
}

static const struct margin_case {
	const char *state;
	struct reading r[READINGS];
	double margin;
} margins[] = {
	/* A signal and a constant, either way round. */
	{ "port.util > 80%", { { SIG_PORT_UTIL, 0.88 } }, 0.1 },
	{ "80% < port.util", { { SIG_PORT_UTIL, 0.88 } }, 0.1 },
	{ "not port.util <= 80%", { { SIG_PORT_UTIL, 0.88 } }, 0.1 },
	{ "uar.active_qps >= 2", { { SIG_UAR_ACTIVE_QPS, 2 } }, 0 },
	/* Sums: a storm. */
	{ "dev.create_rate + dev.modify_rate > control_storm",
	  { { SIG_DEV_CREATE_RATE, 2000 }, { SIG_DEV_MODIFY_RATE, 3000 } }, 4 },
	{ "not dev.create_rate + dev.modify_rate <= control_storm",
	  { { SIG_DEV_CREATE_RATE, 2000 }, { SIG_DEV_MODIFY_RATE, 3000 } }, 4 },
	/* Products and quotients, on either side. */
	{ "job.p99 > job.slo_p99 * 90%",
	  { { SIG_JOB_P99, 90e3 }, { SIG_JOB_SLO_P99, 50e3 } }, 1 },
	{ "job.slo_p99 * 90% < job.p99",
	  { { SIG_JOB_P99, 90e3 }, { SIG_JOB_SLO_P99, 50e3 } }, 1 },
	{ "job.p99 / job.slo_p99 > 90%",
	  { { SIG_JOB_P99, 90e3 }, { SIG_JOB_SLO_P99, 50e3 } }, 1 },
	{ "job.p99 > job.p99_prev",
	  { { SIG_JOB_P99, 60e3 }, { SIG_JOB_P99_PREV, 50e3 } }, 0.2 },
	{ "dev.active_qps > dev.qps / 2",
	  { { SIG_DEV_ACTIVE_QPS, 300 }, { SIG_DEV_QPS, 400 } }, 0.5 },
	/* Quantifiers. */
	{ "sum(qp.wr_rate over qps of dev) > 1k/s",
	  { { SIG_QP_WR_RATE, 4000 } }, 3 },
	/* What has held for a time holds as strongly as what it is made of. */
	{ "uar.coactive > 50% for 0s", { { SIG_UAR_COACTIVE, 0.9 } }, 0.8 },
	{ "(uar.coactive > 50% or uar.active_qps > 2) for 0s",
	  { { SIG_UAR_COACTIVE, 0.9 }, { SIG_UAR_ACTIVE_QPS, 8 } }, 3 },
	/* "and" is as strong as its weakest part, "or" as its strongest. */
	{ "port.util > 80% and uar.coactive > 50%",
	  { { SIG_PORT_UTIL, 0.88 }, { SIG_UAR_COACTIVE, 0.9 } }, 0.1 },
	{ "port.util > 80% or port.pause_rate > 100/s",
	  { { SIG_PORT_UTIL, 0.88 }, { SIG_PORT_PAUSE_RATE, 300 } }, 2 },
	{ "port.util > 80% or port.pause_rate > 100/s",
	  { { SIG_PORT_UTIL, 0.88 }, { SIG_PORT_PAUSE_RATE, 30 } }, 0.1 },
	/* Nothing is a multiple of a bound of zero: the rest decides. */
	{ "port.util > 80% and job.wr_rate > 0/s",
	  { { SIG_PORT_UTIL, 0.88 }, { SIG_JOB_WR_RATE, 1e-3 } }, 0.1 },
	{ "dev.db_congestion > 0/s", { { SIG_DEV_DB_CONGESTION, 70 } }, 1 },
	/* What is idle is no evidence. */
	{ "dev.active_qps < qps_safe", { { SIG_DEV_ACTIVE_QPS, 1e-9 } }, 0 },
	{ "dev.qpc_miss <= miss_low and dev.qps < qps_safe",
	  { { SIG_DEV_QPC_MISS, 1e-9 }, { SIG_DEV_QPS, 3 } }, 0 },
	{ "dev.active_qps < qps_safe and job.p99 > job.slo_p99 * 90%",
	  { { SIG_DEV_ACTIVE_QPS, 1e-9 }, { SIG_JOB_P99, 90e3 },
	    { SIG_JOB_SLO_P99, 50e3 } }, 0 },
	{ "job.qps < 8 and job.p99 > job.slo_p99 * 90%",
	  { { SIG_JOB_QPS, 2 }, { SIG_JOB_P99, 90e3 },
	    { SIG_JOB_SLO_P99, 50e3 } }, 1 },
	{ "port.util < port_busy and qp.queue_delay > queue_delay",
	  { { SIG_PORT_UTIL, 1e-9 }, { SIG_QP_QUEUE_DELAY, 6e3 } }, 0.2 },
	{ "not dev.active_qps >= qps_safe", { { SIG_DEV_ACTIVE_QPS, 1 } }, 0 },
	/* But for a job that gets less than it was promised. */
	{ "job.byte_rate < job.slo_byte_rate",
	  { { SIG_JOB_BYTE_RATE, 3e9 }, { SIG_JOB_SLO_BYTE_RATE, 4e9 } }, 0.25 },
	{ "job.slo_byte_rate > job.byte_rate",
	  { { SIG_JOB_BYTE_RATE, 3e9 }, { SIG_JOB_SLO_BYTE_RATE, 4e9 } }, 0.25 },
	/* What picks objects, and what has no bound. */
	{ "qp.state == RTS and port.util > 80%",
	  { { SIG_QP_STATE, 3 }, { SIG_PORT_UTIL, 0.88 } }, 0.1 },
	{ "job.qps != 3", { { SIG_JOB_QPS, 2 } }, 0 },
};

static void test_margins(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(margins) / sizeof(margins[0]); i++) {
		const struct truth_view v = { .t = &st.truth, .p = &set.prog, .s = &sig };
		const struct margin_case *c = &margins[i];
		struct policy *p;
		struct binding b;
		double m;

		setup(state);
		p = add("p", "job kv", c->state, "job.level += 1",
			"port.util < 1%");
		read_all(c->r);
		eval(1000);
		if (!truth_first(&v, &p->when, KV, &b))
			fail_msg("%s: not true", c->state);
		m = margin_cond(&v, &p->when, &b);
		if (fabs(m - c->margin) > 1e-6)
			fail_msg("%s: margin %g, not %g", c->state, m,
				 c->margin);
		teardown(state);
	}
}

/*
 * The states that policies are derived with, for a job with a target and for one that makes
 * way for it. Here all of them are about job kv, because only causes of one job are rivals.
 */
#define DERIVED_FROM							\
	"jobs:\n"							\
	"- {name: kv, class: latency, slo: {p99: 50us}, match: [{uid: 1}]}\n" \
	"- {name: bulk, class: throughput, match: [{uid: 2}]}\n"	\
	"order: kv > bulk\n"

static struct doc derived;
static const struct node *rivals;	/* a list of policies */

static int derive_rivals(void **state)
{
	const char *text = with_levels(DERIVED_FROM);
	struct config cfg;
	struct diag r;
	char *policies;

	(void)state;
	diag_init(&r, "derived");
	if (!config_load_text(&cfg, text, strlen(text), &r))
		return -1;
	policies = derive_text(&cfg);
	config_free(&cfg);
	if (!policies || !doc_parse(&derived, policies, strlen(policies), &r))
		return -1;
	free(policies);
	rivals = node_get(derived.root, "policies");
	return 0;
}

static int free_rivals(void **state)
{
	(void)state;
	doc_free(&derived);
	return 0;
}

static const char *word(const struct node *policy, const char *key)
{
	const struct node *n = node_get(policy, key);

	assert_true(n && n->kind == NODE_SCALAR);
	return n->text;
}

static enum cause cause_of(const struct node *policy)
{
	unsigned int i = 0;

	while (i < CAUSES && strcmp(cause_names[i], word(policy, "cause")))
		i++;
	assert_true(i < CAUSES);
	return i;
}

#define SLOW(by) { SIG_JOB_P99, 45e3 * (1 + (by)) }, { SIG_JOB_SLO_P99, 50e3 }

/* The job creates six times as many QPs as it may. */
#define CREATES { SIG_JOB_CREATES, 600 }

static const struct cause_case {
	const char *what;
	struct reading r[READINGS];
	enum cause cause;
	uint32_t others;
} causes[] = {
	{ "a storm five times beyond its bound, p99 a little",
	  { SLOW(0.1), CREATES, { SIG_DEV_CREATE_RATE, 3000 },
	    { SIG_DEV_MODIFY_RATE, 2000 }, { SIG_DEV_ACTIVE_QPS, 1 } },
	  CAUSE_PU, 1 << CAUSE_CACHE },
	{ "a storm that begins, QPs that meet",
	  { CREATES, { SIG_DEV_CREATE_RATE, 600 }, { SIG_DEV_MODIFY_RATE, 500 },
	    { SIG_DEV_DB_CONGESTION, 9 }, { SIG_UAR_ACTIVE_QPS, 8 },
	    { SIG_UAR_COACTIVE, 0.9 } },
	  CAUSE_UAR, 1 << CAUSE_PU },
	{ "a great storm, to which the job adds a little more than it may; QPs that meet",
	  { { SIG_JOB_CREATES, 110 }, { SIG_DEV_CREATE_RATE, 6000 },
	    { SIG_DEV_MODIFY_RATE, 500 }, { SIG_UAR_WR_RATE, 1e6 },
	    { SIG_UAR_ACTIVE_QPS, 8 }, { SIG_UAR_COACTIVE, 0.9 } },
	  CAUSE_UAR, 1 << CAUSE_PU },
	{ "a great storm that others make, a full port",
	  { SLOW(0.5), { SIG_JOB_CREATES, 90 }, { SIG_DEV_CREATE_RATE, 6000 },
	    { SIG_DEV_MODIFY_RATE, 500 }, { SIG_PORT_UTIL, 1 } },
	  CAUSE_PORT, 0 },
	{ "work waits in a QP, the cache is idle",
	  { SLOW(0.5), { SIG_PORT_UTIL, 0.1 }, { SIG_QP_QUEUE_DELAY, 20e3 },
	    { SIG_DEV_ACTIVE_QPS, 1e-9 } },
	  CAUSE_HOL, 1 << CAUSE_CACHE },
	{ "QPs meet, the cache is idle, p99 is near its target",
	  { SLOW(0.05), { SIG_DEV_DB_CONGESTION, 9 },
	    { SIG_UAR_ACTIVE_QPS, 8 }, { SIG_UAR_COACTIVE, 0.7 },
	    { SIG_DEV_ACTIVE_QPS, 1e-9 } },
	  CAUSE_UAR, 1 << CAUSE_CACHE },
	{ "a full port, a storm twice beyond its bound",
	  { SLOW(0.5), CREATES, { SIG_PORT_UTIL, 1 }, { SIG_DEV_CREATE_RATE, 2000 },
	    { SIG_DEV_MODIFY_RATE, 1e-9 } },
	  CAUSE_PU, 1 << CAUSE_PORT },
	{ "a full port, a storm a tenth beyond its bound",
	  { SLOW(0.5), CREATES, { SIG_PORT_UTIL, 1 }, { SIG_DEV_CREATE_RATE, 1100 },
	    { SIG_DEV_MODIFY_RATE, 1e-9 } },
	  CAUSE_PORT, 1 << CAUSE_PU },
	{ "a full port, twice as many translations as the cache holds",
	  { SLOW(0.5), { SIG_PORT_UTIL, 0.9 }, { SIG_DEV_MTTS, 524288 },
	    { SIG_JOB_MTTS, 393216 } },
	  CAUSE_CACHE, 1 << CAUSE_PORT },
	{ "a port that is nearly full, three times as many QPs as the cache holds",
	  { SLOW(0.5), { SIG_PORT_UTIL, 0.9 }, { SIG_DEV_QPS, 2000 }, { SIG_DEV_ACTIVE_QPS, 1536 },
	    { SIG_JOB_QPS, 100 } },
	  CAUSE_CACHE, 1 << CAUSE_PORT },
	{ "QPs meet, too many requests are outstanding",
	  { SLOW(0.5), { SIG_UAR_WR_RATE, 6e5 }, { SIG_UAR_ACTIVE_QPS, 8 },
	    { SIG_UAR_COACTIVE, 0.9 }, { SIG_QP_OUTSTANDING, 1024 } },
	  CAUSE_CACHE, 1 << CAUSE_UAR },
};

static void set_rivals(void)
{
	const struct node *n, *fallback, *f;
	struct policy *p;

	for (n = rivals->first; n; n = n->next) {
		p = add(word(n, "name"), "job kv", word(n, "when"), "job.level += 1",
			"port.util < 1%");
		p->cause = cause_of(n);
		fallback = node_get(n, "fallback");
		if (!fallback)
			continue;
		if (fallback->kind == NODE_SCALAR)
			add_fallback(p, fallback->text);
		else
			for (f = fallback->first; f; f = f->next)
				add_fallback(p, f->text);
	}
}

static void check_cause(const struct cause_case *c, bool turned)
{
	size_t n, i, got;

	set.settle = 1000 * MS;
	set_rivals();
	n = set.n;
	for (i = 0; turned && i < n / 2; i++) {
		struct policy t = pol[i];

		pol[i] = pol[n - 1 - i];
		pol[n - 1 - i] = t;
	}
	read_all(c->r);
	got = eval(1000);
	if (got != 1)
		fail_msg("%s: %zu decisions", c->what, got);
	if (pol[out[0].policy].cause != c->cause || out[0].others != c->others)
		fail_msg("%s: %s", c->what, out[0].reason);
}

/* Each cause has a state among the rivals. */
static void test_rivals(void **state)
{
	uint32_t causes = 0;

	(void)state;
	for (const struct node *n = rivals->first; n; n = n->next)
		causes |= 1u << cause_of(n);
	assert_int_equal(causes, (1u << CAUSES) - 1 - (1u << CAUSE_NONE));
}

/* Which policy stands first in the file does not matter. */
static void test_causes(void **state)
{
	unsigned int i;

	for (i = 0; i < 2 * sizeof(causes) / sizeof(causes[0]); i++) {
		setup(state);
		check_cause(&causes[i / 2], i % 2);
		teardown(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_margins),
		cmocka_unit_test(test_rivals),
		cmocka_unit_test(test_causes),
	};

	return cmocka_run_group_tests(tests, derive_rivals, free_rivals);
}
